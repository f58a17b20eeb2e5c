"""A printer's jobs in the journal: what each of them prints, what became of it, and which paper it is.

A paper that was printed, or may have been, is not printed again under its name, on whichever printer. A job that
certainly printed nothing does not count, so a reprint that failed never opens the way for a second copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from twisted.internet.defer import DeferredLock
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.documents.model import Element, Line, Pair
from dmtwisted.printing.doccmd import LONGEST_TEXT, read_doccmd, write_doccmd
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
    """What the journal holds of a print job."""

    form: msgspec.Raw
    """The form in the document language; an empty array for the printer's own page of code tables."""
    paper: str = ""
    """The document of a register that it is the paper of."""
    replaces: int = 0
    """The job that this one was printed anew for."""
    fate: Fate | Literal[""] = ""
    """Empty until something is known."""
    reason: str = ""
    """A name that `dmtwisted.printing.result.reason_text` has words for."""


encode_job = msgspec.json.Encoder().encode
decode_job = msgspec.json.Decoder(Job).decode


def job_of(elements: Sequence[Element], paper: str = "") -> Job:
    """The job that prints ``elements``."""
    return Job(msgspec.Raw(msgspec.json.encode(write_doccmd(list(_storable(elements))))), paper)


def form_of(job: Job, dots: int) -> list[Element]:
    """The form that ``job`` prints; empty for the page of code tables."""
    # One by one: how much a document may hold was judged when it came, and a cut was added to it since.
    return [element for command in _commands(job) for element in read_doccmd([command], "form", dots)]


def _commands(job: Job) -> list[Any]:
    commands: list[Any] = msgspec.json.decode(job.form)
    return commands


def _storable(elements: Sequence[Element]) -> Iterator[Element]:
    """``elements`` without texts that are longer than the document language takes: a receipt may have such."""
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
        # What was known first is written first, whatever the store does about the order of questions.
        self._writing = DeferredLock()

    async def begin(self, task: int, key: str, job: Job) -> int:
        """Keep that ``job`` is about to be sent; its number.

        :raises StoreFailed: when that is not certain: nothing may be sent then.
        """
        intent = Intent(self._n, KIND, task, key, b"", self._clock.now(), [], encode_job(job))
        return (await self._store.reserve(intent)).n

    async def end(self, n: int, job: Job, fate: Fate, reason: str) -> bool:
        """Keep what is known of the job ``n``; whether the store confirmed it.

        What was printed is printed, so a store that fails changes nothing of what there is to tell.
        """
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
        """What became of ``paper`` here, or on one of the printers ``elsewhere``; `None` when it may be printed.

        :raises StoreFailed: when nobody can tell.
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
        """Say of the jobs that a crash left open that nobody knows what of them is on paper.

        :param under_way: the job that is not one of them.
        """
        for row in await self._store.unresolved(self._n):
            if row.state is State.INTENDED and row.n != under_way:
                await self.end(row.n, decode_job(row.request), "unknown", RESTART)
                reached("print.left-open")
