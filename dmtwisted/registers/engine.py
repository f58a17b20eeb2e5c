"""The software register: documents out of requests, made once, numbered without gap, never done twice.

The path of a receipt, and what happens if the power goes after each step:

1. the document is built and its bytes prepared; nothing is kept, nothing has happened;
2. the intent is stored, with the exact bytes and the local number: at the next start the far end is asked;
3. the document is submitted; as after step 2;
4. the outcome is stored together with the register's state, and only then the caller hears of it.

A document whose answer was lost is asked for by its number before the register does anything else. The far end
has it: it is completed and its stored answer serves the repeat. The far end never saw it: it is refused and its
number is free again, so a till that sells anew without a tag does not get a second receipt out of us.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.answers import Answer, Warning, amount, render, repeated
from dmtwisted.clock import ServiceClock, stamp17
from dmtwisted.registers import documents, infos, totals
from dmtwisted.registers.arithmetic import Rates, cash_move, receipt
from dmtwisted.registers.catalogue import CASH
from dmtwisted.registers.channels.interface import Absent, Accepted, IFiscalChannel, Rejected, Unknown
from dmtwisted.registers.documents import Caller, Document, Header
from dmtwisted.registers.interface import (
    CASH_IN,
    CASH_OUT,
    NUMBER,
    OPEN_SHIFT,
    SALE,
    STATUS,
    TAGGED,
    X_REPORT,
    Z_REPORT,
    IRegister,
)
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.shift import shift
from dmtwisted.registers.totals import RegisterState
from dmtwisted.requests import FiscalRequest, PayRequest, TaskRequest, malformed
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentIntent, Intent, OperationRow, Outcome, State

KIND = "fiscal"
"""The kind of a register's operations in the journal."""

SHIFT_IS_OLD = 24 * 3600 * 1000
"""Milliseconds after which an open shift adds warning 3003."""

_fingerprint = msgspec.msgpack.Encoder().encode


@dataclass
class _Paper:
    """A document on its way: what it says, and the bytes that stand for it."""

    document: Document
    sent: bytes
    fiscal_number: str = ""


@implementer(IRegister)
class SoftwareRegister:
    """A register that is ours from the first sum to the last total; a channel takes its documents."""

    log = Logger()

    def __init__(
        self,
        device_n: int,
        name: str,
        fisid: str,
        settings: RegisterSettings,
        store: IStore,
        channel: IFiscalChannel,
        clock: ServiceClock,
    ) -> None:
        self._n, self._name, self._settings = device_n, name, settings
        self._store, self._channel, self._clock = store, channel, clock
        self._rates = Rates(settings)
        self._header = Header(
            fisid=fisid,
            name=settings.name,
            shopname=settings.shopname,
            shopad=settings.shopad,
            vat_code=settings.vat_code,
            fis_code=settings.fis_code,
        )
        # What the store holds; `None` when it must be read again because a write was not confirmed.
        self._stored: bytes | None = None
        self._state = RegisterState()

    # What the rooms above ask

    async def perform(self, request: TaskRequest, language: str) -> bytes:
        """Do one task: see `IRegister`."""
        fiscal = request.fiscal
        if fiscal is None:
            fiscal = FiscalRequest(task=None)
        if fiscal.task in TAGGED:
            return await self._fiscalise(request, fiscal, language)
        if fiscal.task is None:
            return await self._nameless(request)
        local = _LOCAL.get(fiscal.task)
        if local is None:
            raise Refused(Res.UNKNOWN_FISCAL_TASK, fiscal.task)
        warnings = await self._resolve_for_reading(fiscal.task, language)
        info = local(self, fiscal)
        return render(self._answer(request, self._clock.now(), info, warnings + self._warnings(language)))

    async def look_up(self, request: TaskRequest) -> bytes:
        """The stored answer of a tag: see `IRegister`."""
        await self.resolve()
        known = await self._store.find(self._n, KIND, request.tag) if request.tag else None
        if known is None:
            raise Refused(Res.TAG_NOT_FOUND)
        return repeated(known.answer)

    async def resolve(self) -> None:
        """Ask after every document whose outcome is unknown: see `IRegister`."""
        await self._settle(None, b"")

    async def _settle(self, request: TaskRequest | None, fingerprint: bytes) -> None:
        """Find out what became of everything unknown; nothing to do when nothing is.

        :raises Refused: 1080 when ``request`` reuses the tag of an open collision for something else, 1075 when
            the collision cannot be repaired now.
        """
        if self._stored is not None:
            return
        stored = await self._store.register_state(self._n)
        self._state = totals.decode(stored) if stored else RegisterState()
        unresolved = await self._store.unresolved(self._n)
        differs = request is not None and any(
            operation.key == request.tag and _says_else(operation, request, fingerprint) for operation in unresolved
        )
        try:
            for operation in unresolved:
                await self._find_out(operation)
        except Refused:
            if differs:
                raise Refused(Res.COLLISION_DIFFERS) from None
            raise
        # Only now: an exception on the way leaves the question open for the next task.
        self._stored = totals.encode(self._state)
        if differs:
            raise Refused(Res.COLLISION_DIFFERS)

    async def check(self) -> None:
        """Try the way to the far end: see `IRegister`."""
        await self._channel.check()

    async def state(self) -> dict[str, object]:
        """How the register stands: see `IRegister`."""
        stored = self._stored or await self._store.register_state(self._n)
        state = totals.decode(stored) if stored else RegisterState()
        return {
            "fisid": self._header.fisid,
            "dtype": self._channel.dtype,
            "shift_status": int(state.shift_open),
            "online_status": 0,
            "collision": self._stored is None and bool(await self._store.unresolved(self._n)),
            "safe": amount(state.safe),
            "docno": state.last.number,
        }

    def close(self) -> None:
        """A software register holds nothing; its channel's far end is closed by the driver."""

    # Tasks without a document

    async def _nameless(self, request: TaskRequest) -> bytes:
        """A body without ``fiscal.task``: a look-up when the tag is known, else incomplete."""
        await self.resolve()
        known = await self._known(request.tag)
        if known is not None:
            return repeated(known.answer)
        if request.fiscal is None:
            raise Refused(Res.MISSING_OBJECT, "fiscal")
        raise malformed("fiscal.task", "a task number is expected")

    async def _resolve_for_reading(self, task: int, language: str) -> list[Warning]:
        """Status and number are told even while a collision cannot be repaired; then with a warning."""
        try:
            await self.resolve()
        except Refused as refused:
            if task not in (STATUS, NUMBER) or refused.res is not Res.COLLISION_NOT_REPAIRED:
                raise
            return [Warning.of(refused.res, language)]
        return []

    def _x(self, fiscal: FiscalRequest) -> infos.ReportInfo:
        shift(self._state.shift_open).report()
        return infos.report_info(
            self._header,
            X_REPORT,
            fiscal.cashier,
            self._clock.now(),
            self._channel.dtype,
            self._state,
            number=0,
            fiscal_number="",
            shift=self._state.shift,
        )

    def _status(self, fiscal: FiscalRequest) -> infos.StatusInfo:
        return infos.status_info(
            self._header, STATUS, fiscal.cashier, self._clock.now(), self._channel.dtype, self._state
        )

    def _number(self, fiscal: FiscalRequest) -> infos.NumberInfo:
        return infos.number_info(
            self._header, NUMBER, fiscal.cashier, self._clock.now(), self._channel.dtype, self._state
        )

    # Tasks that make documents

    async def _fiscalise(self, request: TaskRequest, fiscal: FiscalRequest, language: str) -> bytes:
        fingerprint = hashlib.blake2b(_fingerprint(fiscal), digest_size=16).digest()
        await self._settle(request, fingerprint)
        try:
            drafts = self._drafts(request, fiscal)
        except Refused:
            # A tag that is known is answered whatever the rest of the request says (http-api 2.20).
            known = await self._known(request.tag)
            if known is None:
                raise
            return self._repeat(known, request, fingerprint, language)
        papers = [_Paper(draft, await self._channel.prepare(draft)) for draft in drafts]
        try:
            reserved = await self._store.reserve(
                Intent(
                    device_n=self._n,
                    kind=KIND,
                    task=request.task,
                    key=request.tag,
                    fingerprint=fingerprint,
                    at=drafts[0].at,
                    documents=[
                        DocumentIntent(
                            number=paper.document.number,
                            kind=paper.document.kind,
                            shift=paper.document.shift,
                            at=paper.document.at,
                            sum=paper.document.sum,
                            value=documents.encode(paper.document),
                            sent=paper.sent,
                        )
                        for paper in papers
                    ],
                )
            )
            if reserved.known is not None:
                return self._repeat(reserved.known, request, fingerprint, language)
            return await self._hand_in(reserved.n, papers, self._warnings(language))
        except Refused:
            raise
        except BaseException:
            # Nobody can say how far it came; the journal and the far end can.
            self._stored = None
            raise

    async def _hand_in(self, n: int, papers: list[_Paper], warnings: list[Warning]) -> bytes:
        """Submit the documents of an operation in their order and store what became of it."""
        for index, paper in enumerate(papers):
            if paper.fiscal_number:
                continue
            outcome = await self._channel.submit(paper.document, paper.sent)
            if isinstance(outcome, Accepted):
                paper.fiscal_number = outcome.fiscal_number
                if index + 1 < len(papers):
                    await self._store.accept_document(n, paper.document.number, outcome.fiscal_number)
            elif isinstance(outcome, Rejected) and index == 0:
                await self._conclude(n, State.REFUSED, outcome.refused.res.code)
                raise outcome.refused
            else:
                # The shift's closing after an accepted Z is due whatever came in between: it is tried again.
                why = outcome.why if isinstance(outcome, Unknown) else outcome.refused.errortxt("uk")
                self._stored = None
                await self._conclude(n, State.UNKNOWN, Res.TAX_SERVICE_UNAVAILABLE.code)
                self.log.warn(
                    "{device}: nobody knows what became of document {number}: {why}",
                    device=self._name,
                    number=paper.document.number,
                    why=why,
                )
                raise Refused(Res.TAX_SERVICE_UNAVAILABLE, action=Action.COLLISION, aq_errortxt=why)
        return await self._complete(n, papers, warnings)

    async def _complete(self, n: int, papers: list[_Paper], warnings: list[Warning]) -> bytes:
        """Take accepted documents into the state, store both with the answer, and return the answer."""
        after = totals.decode(self._stored or totals.encode(self._state))
        info = None
        for paper in papers:
            totals.apply(after, paper.document, paper.fiscal_number)
            if paper is papers[0]:
                info = self._info(paper, after)
        head = papers[0].document
        answer = render(
            Answer(
                source=head.caller.source,
                device=head.caller.device,
                tag=head.caller.tag,
                task_status=1,
                type=head.caller.type,
                task=head.caller.task,
                dt=stamp17(head.at),
                warnings=warnings,
                info=info,
            )
        )
        stored = totals.encode(after)
        await self._store.conclude(
            Outcome(
                n=n,
                device_n=self._n,
                state=State.DONE,
                at=self._clock.now(),
                res=0,
                answer=answer,
                fiscal_numbers={paper.document.number: paper.fiscal_number for paper in papers},
                register_state=stored,
            )
        )
        self._state, self._stored = after, stored
        return answer

    def _info(self, paper: _Paper, after: RegisterState) -> infos.CommonInfo:
        document = paper.document
        if document.kind != documents.Z:
            return infos.receipt_info(document, paper.fiscal_number, after)
        return infos.report_info(
            document.header,
            document.caller.task,
            document.cashier,
            document.at,
            document.dtype,
            after,
            number=document.number,
            fiscal_number=paper.fiscal_number,
            shift=document.shift,
        )

    async def _conclude(self, n: int, state: State, res: int) -> None:
        await self._store.conclude(
            Outcome(
                n=n,
                device_n=self._n,
                state=state,
                at=self._clock.now(),
                res=res,
                answer=b"",
                fiscal_numbers={},
                register_state=None,
            )
        )

    # Documents out of requests

    def _drafts(self, request: TaskRequest, fiscal: FiscalRequest) -> list[Document]:
        make = _PAPERS.get(request.task)
        if make is None:
            raise Refused(Res.UNKNOWN_FISCAL_TASK, request.task)
        return make(self, request, fiscal)

    def _draft(self, kind: str, request: TaskRequest, number: int = 0) -> Document:
        assert request.fiscal is not None
        return Document(
            kind=kind,
            number=number or self._state.next_number,
            shift=self._state.shift,
            at=self._clock.now(),
            cashier=request.fiscal.cashier,
            header=self._header,
            caller=Caller(
                device=request.device,
                source=request.source,
                tag=request.tag,
                type=request.type,
                task=request.task,
            ),
            dtype=self._channel.dtype,
        )

    def _open(self, request: TaskRequest, fiscal: FiscalRequest) -> list[Document]:
        shift(self._state.shift_open).open()
        return [self._draft(documents.OPEN, request)]

    def _sale(self, request: TaskRequest, fiscal: FiscalRequest) -> list[Document]:
        shift(self._state.shift_open).trade()
        if fiscal.receipt is None:
            raise Refused(Res.MISSING_OBJECT, "fiscal.receipt")
        value = receipt(fiscal.receipt, self._settings, self._rates, self._name)
        return [msgspec.structs.replace(self._draft(documents.SALE, request), receipt=value)]

    def _cash_in(self, request: TaskRequest, fiscal: FiscalRequest) -> list[Document]:
        return self._cash(documents.CASH_IN, request, fiscal)

    def _cash_out(self, request: TaskRequest, fiscal: FiscalRequest) -> list[Document]:
        drafts = self._cash(documents.CASH_OUT, request, fiscal)
        if self._settings.check_cash and drafts[0].sum > self._state.safe:
            raise Refused(Res.NOT_ENOUGH_CASH)
        return drafts

    def _cash(self, kind: str, request: TaskRequest, fiscal: FiscalRequest) -> list[Document]:
        shift(self._state.shift_open).trade()
        asked = fiscal.cash or _cash_of_receipt(fiscal)
        if asked is None:
            raise Refused(Res.MISSING_OBJECT, "fiscal.cash")
        pay_type = self._rates.pay_type(asked.type)
        if pay_type.code != CASH:
            raise Refused(Res.WRONG_PAYMENT_TYPE, asked.type)
        return [msgspec.structs.replace(self._draft(kind, request), cash=cash_move(asked, pay_type))]

    def _z(self, request: TaskRequest, fiscal: FiscalRequest) -> list[Document]:
        shift(self._state.shift_open).close()
        report = self._draft(documents.Z, request)
        return [report, self._draft(documents.CLOSE, request, report.number + 1)]

    # What is known already

    async def _known(self, tag: str) -> OperationRow | None:
        return await self._store.find(self._n, KIND, tag) if tag else None

    def _repeat(self, known: OperationRow, request: TaskRequest, fingerprint: bytes, language: str) -> bytes:
        """The earlier answer; with a warning when the request says something else than the earlier one."""
        if not _says_else(known, request, fingerprint):
            return repeated(known.answer)
        if self._settings.strict_tags:
            raise Refused(Res.TAG_KNOWN)
        return repeated(known.answer, Warning.of(Res.TAG_KNOWN, language))

    async def _find_out(self, operation: OperationRow) -> None:
        """Settle one operation that a lost answer or a crash left open."""
        papers = [_Paper(documents.decode(row.value), row.sent, row.fiscal_number) for row in operation.documents]
        for index, paper in enumerate(papers):
            if paper.fiscal_number:
                continue
            number = paper.document.number
            found = await self._channel.probe(number)
            if isinstance(found, Unknown):
                raise Refused(Res.COLLISION_NOT_REPAIRED, aq_errortxt=found.why)
            if isinstance(found, Absent):
                if index == 0:
                    self.log.info(
                        "{device}: document {number} never arrived; it is void",
                        device=self._name,
                        number=number,
                    )
                    await self._conclude(operation.n, State.REFUSED, Res.TAX_SERVICE_UNAVAILABLE.code)
                    return
                # An earlier document of the operation was taken, so this one is due: same bytes, first time.
                break
            self.log.info("{device}: document {number} had arrived", device=self._name, number=number)
            paper.fiscal_number = found.fiscal_number
        try:
            await self._hand_in(operation.n, papers, [])
        except Refused as refused:
            raise Refused(Res.COLLISION_NOT_REPAIRED, aq_errortxt=refused.aq_errortxt) from refused

    def _warnings(self, language: str) -> list[Warning]:
        if self._state.shift_open and self._clock.now() - self._state.opened_at > SHIFT_IS_OLD:
            return [Warning.of(Res.SHIFT_OLD, language)]
        return []

    def _answer(self, request: TaskRequest, at: int, info: object, warnings: list[Warning]) -> Answer:
        return Answer(
            source=request.source,
            device=request.device,
            tag=request.tag,
            task_status=1,
            type=request.type,
            task=request.task,
            dt=stamp17(at),
            warnings=warnings,
            info=info,
        )


_PAPERS = {
    OPEN_SHIFT: SoftwareRegister._open,
    SALE: SoftwareRegister._sale,
    CASH_IN: SoftwareRegister._cash_in,
    CASH_OUT: SoftwareRegister._cash_out,
    Z_REPORT: SoftwareRegister._z,
}
"""Tasks that make documents, and what makes them."""

_LOCAL: dict[int, Callable[[SoftwareRegister, FiscalRequest], infos.CommonInfo]] = {
    X_REPORT: SoftwareRegister._x,
    STATUS: SoftwareRegister._status,
    NUMBER: SoftwareRegister._number,
}
"""Tasks that are answered here, without the far end."""


def _says_else(known: OperationRow, request: TaskRequest, fingerprint: bytes) -> bool:
    """Whether ``request`` asks for something else than the operation that has its tag.

    A till that only wants to hear what became of its receipt may leave the receipt out (http-api 2.20).
    """
    fiscal = request.fiscal
    asks_only = known.task == request.task and fiscal is not None and not (fiscal.receipt or fiscal.cash)
    return not asks_only and known.fingerprint != fingerprint


def _cash_of_receipt(fiscal: FiscalRequest) -> PayRequest | None:
    """The amount of a cash-in or cash-out that a till put into a receipt (http-api 2.7)."""
    if fiscal.receipt is None:
        return None
    if fiscal.receipt.pays:
        return fiscal.receipt.pays[0]
    return PayRequest(type=str(CASH), sum=fiscal.receipt.sum)
