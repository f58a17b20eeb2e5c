"""``/dm/api/v3/operations`` and ``/dm/api/v3/jobs``: the journal in pages, and actions on its entries."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.batch.saga import KIND as SAGA
from dmtwisted.batch.service import Batch
from dmtwisted.changes import Action, Area, Changes
from dmtwisted.clock import stamp17
from dmtwisted.devices.devices import Device, Devices, PrinterDevice, RegisterDevice, TerminalDevice, usable
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL, BadSettings
from dmtwisted.papers import DEFAULT_PRINTER, Papers
from dmtwisted.printing.jobs import KIND as JOB
from dmtwisted.printing.jobs import decode_job
from dmtwisted.printing.result import Fate, PrintResult, reason_text
from dmtwisted.registers.bookkeeping import KIND as RECEIPT
from dmtwisted.registers.interface import OnALine
from dmtwisted.registers.lost_online import OnlineCopyRecord, online_copy_of
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import OperationQuery, OperationRow, State
from dmtwisted.terminals.service import TerminalService
from dmtwisted.unfinished import FISCAL, OPEN
from dmtwisted.wording import wording
from web.answers import StoredAnswer, json_answer, language_of, stored_answer
from web.filters import LARGEST_NUMBER, PageOf, devices_of, given_in, moment_of, page_of
from web.management import HttpRefusal, answer_errors, lasting, read_object
from web.rights import permit_of, refusal_of_printer

KINDS = ("fiscal", "untagged", "pay", "doc", "pkg")
"""What an operation can be (`dmtwisted.store.schema`)."""

FILTERS = ("device", "key", "kind", "state", "from", "to", "page", "page_size")
"""The filters of a list (docs/reference/http-interface.md#lists)."""

_ADVICE = {
    "fiscal": Text(
        "Повторіть запит із тим самим tag: сервіс спершу з’ясує, чи чек пробито.",
        "Repeat the request with the same tag: the service first finds out whether the receipt was made.",
    ),
    "pay": Text(
        "Перевірте сліп термінала й укажіть, чим закінчилася операція.",
        "Check the terminal's slip and say how the operation ended.",
    ),
    "doc": Text(
        "Перевірте, чи документ надруковано; якщо ні, надрукуйте ще раз.",
        "Check whether the paper came out; if not, print it again.",
    ),
    "pkg": Text(
        "Повторіть запит із тим самим tag, сервіс продовжить із того самого кроку. Якщо покупець уже пішов, "
        "поверніть гроші на терміналі й закрийте операцію: settle, refused.",
        "Repeat the request with the same tag: the service continues from the same step. If the customer has left, "
        "refund the payment at the terminal and close the operation: settle, refused.",
    ),
}
_USUAL_ADVICE = Text(
    "Нічого робити не треба: сервіс з’ясує результат перед наступним завданням цього пристрою.",
    "Nothing to do: the service finds out before the next task of this device.",
)


class OperationRecord(msgspec.Struct, omit_defaults=True):
    """One operation of the journal; `answer` is what its caller got, `advice` what a person can do.

    A refused operation has `online_copy` when its document was issued again offline under the same key.
    """

    id: int
    device: str
    kind: str
    task: int
    key: str
    state: State
    dt: str
    res: int | None
    answer: StoredAnswer
    advice: str = ""
    online_copy: OnlineCopyRecord | None = None


class OperationList(msgspec.Struct):
    """A page of the journal."""

    paging: PageOf
    operations: list[OperationRecord]


class JobRecord(msgspec.Struct):
    """One print job; it has `advice` while its outcome is unknown."""

    id: int
    device: str
    task: int
    key: str
    state: State
    dt: str
    res: int | None
    advice: str | msgspec.UnsetType
    fate: Fate
    reason: str
    paper: str
    replaces: int | None


class JobList(msgspec.Struct):
    """A page of print jobs."""

    paging: PageOf
    jobs: list[JobRecord]


class JournalApi:
    """Operations and print jobs."""

    app = Klein()
    answer_errors(app)

    def __init__(
        self,
        store: IStore,
        devices: Devices,
        batch: Batch,
        papers: Papers,
        changes: Changes,
        default_language: str,
    ) -> None:
        self._store, self._devices, self._batch, self._papers = store, devices, batch, papers
        self._changes = changes
        self.default_language = default_language

    @app.route("/dm/api/v3/operations", methods=["GET"])
    async def operations(self, request: IRequest) -> bytes:
        """Operations of every kind, newest first."""
        language = language_of(request, self.default_language)
        found, paging = await self._found(request)
        listed = [self._operation(row, language) for row in found]
        return json_answer(request, 200, OperationList(paging, listed))

    @app.route("/dm/api/v3/jobs", methods=["GET"])
    async def jobs(self, request: IRequest) -> bytes:
        """Print jobs, newest first."""
        language = language_of(request, self.default_language)
        found, paging = await self._found(request, JOB)
        return json_answer(request, 200, JobList(paging, [self._job(row, language) for row in found]))

    @app.route("/dm/api/v3/jobs/<int:n>/reprint", methods=["POST"])
    async def reprint(self, request: IRequest, n: int) -> bytes:
        """Print a job again; the new job refers to it."""
        row = await self._row(request, n, JOB)
        device = self._device(row, PRINTER)

        async def again() -> PrintResult:
            async with device.turns.owned():
                return await usable(self._device(row, PRINTER), PrinterDevice).built.reprint(n)

        return await self._printed(request, await lasting(again()))

    @app.route("/dm/api/v3/operations/<int:n>/slip", methods=["POST"])
    async def slip(self, request: IRequest, n: int) -> bytes:
        """Print the slip of a stored payment on a printer of the service, as the terminal sent it."""
        asked = read_object(request, SlipPrint)
        text = slip_of(await self._row(request, n, "pay"))
        if not text:
            raise Refused(Res.OPERATION_NOT_FOUND, note=wording("no slip is stored with this operation"))
        why_not = refusal_of_printer(permit_of(request), asked.printer, self._devices)
        if why_not is not None:
            raise HttpRefusal(403, why_not)
        return await self._printed(request, await lasting(self._papers.slip(text, asked.printer)))

    @app.route("/dm/api/v3/operations/<int:n>/settle", methods=["POST"])
    async def settle(self, request: IRequest, n: int) -> bytes:
        """Say how a payment ended when the terminal cannot answer, or a receipt when a hardware register cannot.

        What the device proves counts more. A batch can only be refused: its money was refunded by hand, or none was
        taken.
        """
        asked = read_object(request, Settlement)
        if asked.outcome not in ("approved", "refused"):
            raise BadSettings("outcome", "approved or refused is expected")
        row = await self._row(request, n, "pay", SAGA, *FISCAL)
        language = language_of(request, self.default_language)
        if row.kind == SAGA:
            if asked.outcome != "refused":
                raise BadSettings("outcome", "refused is expected; to get a receipt, repeat the same tag")

            async def closed() -> None:
                async with self._settling(row, approved=False):
                    await self._batch.settle(n)

            await lasting(closed())
            return json_answer(request, 200, self._operation(await self._row(request, n, SAGA), language))
        self._settles(row)
        device = self._device(row, TERMINAL if row.kind == "pay" else REGISTER)

        async def settled() -> None:
            async with device.turns.owned():
                settles = self._settles(row)
                approved = asked.outcome == "approved"
                async with self._settling(row, approved):
                    await settles.settle(await self._row(request, n, row.kind), approved)

        await lasting(settled())
        return json_answer(request, 200, self._operation(await self._row(request, n, row.kind), language))

    def _settles(self, row: OperationRow) -> TerminalService | OnALine:
        """What closes an open operation as a person says.

        :raises Refused: 430 when the device cannot be used, 1091 for a register that finds every outcome out itself.
        """
        if row.kind == "pay":
            return usable(self._device(row, TERMINAL), TerminalDevice).built
        register = usable(self._device(row, REGISTER), RegisterDevice).built
        if isinstance(register, OnALine):
            return register
        raise Refused(Res.UNKNOWN_DEVICE, note=wording("any task of this register finds the outcome out"))

    def _settling(self, row: OperationRow, approved: bool) -> AbstractAsyncContextManager[object]:
        """The record of what a person says of an operation."""
        before = {"operation": row.n, "kind": row.kind, "tag": row.key, "state": row.state}
        action = Action.APPROVED if approved else Action.REFUSED
        return self._changes.about(
            Area.SETTLEMENT, action, before, subject=self._name(row), id=str(row.n), device_n=row.device_n
        )

    async def _printed(self, request: IRequest, job: PrintResult) -> bytes:
        """The record of a job that is on paper.

        :raises Refused: when it is not.
        """
        if not job.on_paper:
            raise job.refused()
        language = language_of(request, self.default_language)
        return json_answer(request, 200, self._job(await self._row(request, job.n, JOB), language))

    async def _found(self, request: IRequest, kind: str = "") -> tuple[Sequence[OperationRow], PageOf]:
        query, page = _query(request, self._devices, kind)
        found = await self._store.find_operations(query)
        return found.operations, PageOf(page, query.limit, found.total)

    async def _row(self, request: IRequest, n: int, *kinds: str) -> OperationRow:
        n = min(n, LARGEST_NUMBER)
        only = devices_of("", self._devices, permit_of(request))
        found = await self._store.find_operations(OperationQuery(devices=only, kinds=list(kinds), n=n))
        if not found.operations:
            raise Refused(Res.UNKNOWN_DEVICE, note=wording(f"there is no operation {n}"))
        return found.operations[0]

    def _device(self, row: OperationRow, kind: str) -> Device:
        for device in self._devices:
            if device.row.n == row.device_n and device.kind == kind:
                return device
        raise Refused(Res.UNKNOWN_DEVICE, note=wording("it was deleted"))

    def _name(self, row: OperationRow) -> str:
        return next((device.name for device in self._devices if device.row.n == row.device_n), "")

    def _operation(self, row: OperationRow, language: str) -> OperationRecord:
        lost = row.kind == RECEIPT and row.state is State.REFUSED
        return OperationRecord(
            id=row.n,
            device=self._name(row),
            kind=row.kind,
            task=row.task,
            key=row.key,
            state=row.state,
            dt=stamp17(row.at),
            res=row.res,
            answer=stored_answer(row.answer),
            advice=_advice(row, language),
            online_copy=online_copy_of(row.request, language) if lost else None,
        )

    def _job(self, row: OperationRow, language: str) -> JobRecord:
        job = decode_job(row.request)
        return JobRecord(
            id=row.n,
            device=self._name(row),
            task=row.task,
            key=row.key,
            state=row.state,
            dt=stamp17(row.at),
            res=row.res,
            advice=_advice(row, language) or msgspec.UNSET,
            fate=job.fate or "unknown",
            reason=job.reason and reason_text(job.reason).for_language(language),
            paper=job.paper,
            replaces=job.replaces or None,
        )


def _advice(row: OperationRow, language: str) -> str:
    """What a person can do about an operation; empty when it has ended."""
    return _ADVICE.get(row.kind, _USUAL_ADVICE).for_language(language) if row.state in OPEN else ""


class SlipPrint(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an order to print a slip."""

    printer: str = DEFAULT_PRINTER


class _Answered(msgspec.Struct):
    """The part of a stored answer that has the slip."""

    info: dict[str, Any] = {}


_answered = msgspec.json.Decoder(_Answered).decode


def slip_of(row: OperationRow) -> str:
    """The slip in a payment's stored answer; empty when there is none."""
    return str(_answered(row.answer).info.get("receipt", "")) if row.answer else ""


class Settlement(msgspec.Struct, forbid_unknown_fields=True):
    """The body that says how an operation ended."""

    outcome: str


def _query(request: IRequest, devices: Devices, kind: str) -> tuple[OperationQuery, int]:
    """The query of a request for the journal, and the number of its page.

    :param kind: the only kind of the list; empty for all kinds.
    :raises BadSettings: with the name of the first filter that does not fit.
    """
    given = given_in(request, FILTERS)
    page, size = page_of(given)
    return OperationQuery(
        devices=devices_of(given.get("device", ""), devices, permit_of(request)),
        kinds=_kinds(given.get("kind", ""), kind),
        states=_states(given.get("state", "")),
        key=given.get("key", ""),
        at_from=moment_of(given, "from", 0),
        at_to=moment_of(given, "to", 1),
        limit=size,
        offset=(page - 1) * size,
    ), page


def _kinds(named: str, only: str) -> list[str]:
    known = (only,) if only else KINDS
    if named and named not in known:
        raise BadSettings("kind", f"{' or '.join(known)} is expected")
    return [only or named] if only or named else []


def _states(text: str) -> list[State]:
    if not text:
        return []
    if text == "unfinished":
        return list(OPEN)
    try:
        return [State(text)]
    except ValueError:
        raise BadSettings("state", f"unfinished or one of {', '.join(State)} is expected") from None
