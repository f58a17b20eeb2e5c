"""A printer's jobs in the journal: what each of them prints, its result, and the name of its paper.

A paper that was printed, or may have been, is not printed again under its name on any printer. Jobs that certainly
printed nothing do not count; so a reprint that failed does not allow a second copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from twisted.internet.defer import DeferredLock
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.documents.doccmd import LONGEST_TEXT, read_doccmd, write_doccmd
from dmtwisted.documents.model import Element, Line, Pair
from dmtwisted.printing.result import AGAIN, RESTART, Fate, PrintResult
from dmtwisted.results import Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Intent, OperationQuery, OperationRow, Outcome, State, StoreFailed

KIND = "doc"
"""The kind of a printer's jobs in the journal."""

PRINT, REPRINT = 0, 1
"""``task`` of a job in the journal."""

_STATES: dict[Fate, State] = {
    "printed": State.DONE,
    "accepted": State.DONE,
    "not_printed": State.REFUSED,
    "unknown": State.UNKNOWN,
}


class Job(msgspec.Struct, frozen=True, omit_defaults=True):
    """A print job as the journal has it."""

    form: msgspec.Raw
    """The form in the document language; an empty array for the printer's own page of code tables."""
    paper: str = ""
    """The document of a register that it prints."""
    replaces: int = 0
    """The job that this reprint replaces."""
    fate: Fate | Literal[""] = ""
    """Empty until a result is known."""
    reason: str = ""
    """A name for `dmtwisted.printing.result.reason_text`."""


encode_job = msgspec.json.Encoder().encode
decode_job = msgspec.json.Decoder(Job).decode


def job_of(elements: Sequence[Element], paper: str = "") -> Job:
    """The job that prints ``elements``."""
    return Job(msgspec.Raw(msgspec.json.encode(write_doccmd(list(_storable(elements))))), paper)


def form_of(job: Job, dots: int) -> list[Element]:
    """The form that ``job`` prints; empty for the page of code tables."""
    # One by one: the limits of a document were checked in its request, and a cut was added to it since.
    commands: list[Any] = msgspec.json.decode(job.form)
    return [element for command in commands for element in read_doccmd([command], "form", dots)]


def _storable(elements: Sequence[Element]) -> Iterator[Element]:
    """``elements`` with texts cut to the limit of the document language, which those of a receipt may exceed."""
    for element in elements:
        if isinstance(element, Line) and len(element.text) > LONGEST_TEXT:
            for at in range(0, len(element.text), LONGEST_TEXT):
                yield msgspec.structs.replace(element, text=element.text[at : at + LONGEST_TEXT])
        elif isinstance(element, Pair) and len(element.left) > LONGEST_TEXT:
            last = len(element.left) - LONGEST_TEXT
            for at in range(0, last, LONGEST_TEXT):
                yield Line(element.left[at : min(at + LONGEST_TEXT, last)], bold=element.bold, size=element.size)
            yield msgspec.structs.replace(element, left=element.left[last:])
        else:
            yield element


class Jobs:
    """The jobs of one printer."""

    log = Logger()

    def __init__(self, device_n: int, name: str, store: IStore, clock: ServiceClock) -> None:
        self._n, self._name, self._store, self._clock = device_n, name, store, clock
        # Results are written in their order, even if the store does not keep the order of calls.
        self._writing = DeferredLock()

    async def begin(self, task: int, key: str, job: Job) -> int:
        """Store ``job`` before it is sent; returns its number.

        :raises StoreFailed: when that is not certain; then nothing may be sent.
        """
        intent = Intent(self._n, KIND, task, key, b"", self._clock.now(), [], encode_job(job))
        return (await self._store.reserve(intent)).n

    async def end(self, n: int, job: Job, fate: Fate, reason: str) -> bool:
        """Store the result of the job ``n``; returns whether the store confirmed it."""
        state = _STATES[fate]
        outcome = Outcome(
            n=n,
            device_n=self._n,
            state=state,
            at=self._clock.now(),
            res=Res.OK.code if state is State.DONE else PrintResult(n, fate, reason).refused().res.code,
            answer=b"",
            fiscal_numbers={},
            register_state=None,
            request=encode_job(msgspec.structs.replace(job, fate=fate, reason=reason)),
        )
        try:
            async with self._writing:
                await self._store.conclude(outcome)
        except StoreFailed as error:
            self.log.error(
                "{device}: job {n} is {fate}, and that was not stored: {why}",
                device=self._name,
                n=n,
                fate=fate,
                why=str(error),
            )
            return False
        return True

    async def known(self, paper: str, elsewhere: Sequence[int] = ()) -> PrintResult | None:
        """The result of ``paper`` on this printer or one of ``elsewhere``; `None` when it may be printed.

        :raises StoreFailed: when the store cannot be read.
        """
        devices = sorted({self._n, *elsewhere})
        states: list[State] = [state for state in State if state is not State.REFUSED]
        found = await self._store.find_operations(
            OperationQuery(devices=devices, kinds=[KIND], states=states, key=paper)
        )
        for row in found.operations:
            if row.state is State.DONE:
                return PrintResult(row.n, decode_job(row.request).fate or "accepted")
        return PrintResult(found.operations[0].n, "unknown", AGAIN) if found.operations else None

    async def row(self, n: int) -> OperationRow:
        """The job ``n``.

        :raises Refused: 1058 when this printer has no such job.
        """
        found = await self._store.find_operations(OperationQuery(devices=[self._n], kinds=[KIND], n=n))
        if not found.operations:
            raise Refused(Res.TAG_NOT_FOUND)
        return found.operations[0]

    async def latest(self) -> OperationRow | None:
        """The latest job; `None` when there was none."""
        return await self._store.latest(self._n, KIND, "")

    async def close_open(self, under_way: int | None) -> None:
        """Close the jobs that a crash left open as unknown.

        :param under_way: the job that is being delivered, which is not one of them.
        """
        for row in await self._store.unresolved(self._n):
            if row.state is State.INTENDED and row.n != under_way:
                await self.end(row.n, decode_job(row.request), "unknown", RESTART)
                reached("print.left-open")
