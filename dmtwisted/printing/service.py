"""The printing service: it reports what really happened to a job, and prints no job twice.

The steps of a job, and what happens if the power fails after each of them:

1. the line is taken: one job at a time, from its first byte to its verdict;
2. the job is stored with everything that it prints: after a restart its outcome is unknown and it is not sent again,
   because some of it may be on paper;
3. it is delivered: as after step 2;
4. the result is stored, then returned. That is the verdict, or what is certain after `DELIVERY` seconds; a later
verdict is stored when it comes.

A paper has a name. Under a name that was printed, or may have been, nothing is printed again; a person who looked at
the paper asks for a reprint, which names the job that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import msgspec
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface.verify import verifyObject

from dmtwisted.answers import success
from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.documents.model import Cut, Drawer, Element
from dmtwisted.observed import Observed
from dmtwisted.printing.composing import Composed, composed, read
from dmtwisted.printing.interface import IPrinterWay
from dmtwisted.printing.jobs import PRINT, REPRINT, Job, Jobs, decode_job, form_of, job_of
from dmtwisted.printing.result import (
    AGAIN,
    BUSY,
    CANCELLED,
    CLOSED,
    LATE,
    NO_QUEUE,
    RESTART,
    Fate,
    PrinterInfo,
    PrintResult,
)
from dmtwisted.printing.test_page import test_page
from dmtwisted.printing.under_way import UnderWay
from dmtwisted.requests import Members, TaskRequest, malformed
from dmtwisted.results import Refused, Res, Text, Words, joined, one_of
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import State
from dmtwisted.system.crew import CrewFailed
from dmtwisted.turns import MINI_QUEUE, acquire
from dmtwisted.wording import wording
from protocols.errors import WireError
from protocols.printers.queues import UnknownQueue
from protocols.printers.status import PrinterStatus

DELIVERY = 5.0
"""Seconds after which the caller is answered, delivered or not (specification 8)."""

OWN_REASONS = frozenset({BUSY, CLOSED, RESTART, AGAIN})
"""Reasons for which a job was not printed that say nothing about the printer."""

TEST_PAGE, FINDER = 1, 2
"""Values of ``doc.test``: the test page; the code tables, to find the right number."""


class PrinterService:
    """The service of one printer; the caller holds the device's turn."""

    log = Logger()

    def __init__(self, device_n: int, name: str, store: IStore, way: IPrinterWay, clock: ServiceClock) -> None:
        verifyObject(IPrinterWay, way)
        self._name, self._way, self._clock = name, way, clock
        self._jobs = Jobs(device_n, name, store, clock)
        # Taken until the verdict of a job, which may come after its answer.
        self._line = DeferredLock()
        self._under_way: UnderWay | None = None
        self._on_line: int | None = None
        self._closed = False
        self.observed = Observed(clock)
        self.status: PrinterStatus | None = None
        """What it answered when it was asked last; `None` when it says nothing of its paper, cover and drawer."""
        self._drawer_open: float | None = None

    # Tasks

    async def perform(self, request: TaskRequest, language: str, until: float | None = None) -> bytes:
        """Do a task of ``type`` 2 (docs/reference/http-interface.md#printers).

        :param until: as for `print`.
        :raises Refused: when it was not printed, or the outcome is unknown.
        """
        if request.doc is None:
            raise Refused(Res.MISSING_OBJECT, "doc")
        result = await self._print_doc(request.doc, until)
        if not result.on_paper:
            raise result.refused()
        info = PrinterInfo(1, result.fate, result.n)
        return success(request, self._clock.now(), info, result.warnings(language))

    async def _print_doc(self, doc: Members, until: float | None) -> PrintResult:
        """Print what ``doc`` asks for: one of ``opendrawer``, ``test``, ``lines``, ``doccmd``."""
        doc.check(_wishes)
        wishes = _wishes(doc)
        asked = [name for name, given in wishes.items() if given]
        if len(asked) != 1:
            raise malformed("doc", joined(one_of(*wishes), _given(asked), separator=""))
        [name] = asked
        path = doc.path(name)
        if name == "opendrawer":
            return await self.print([Drawer()], until=until)
        if name == "test":
            return await self._test(wishes[name], path, until)
        with _drawing():
            form = await read(name, doc, self._way.dots, self._clock)
        return await self.print([*form, Cut()] if name == "lines" else form, until=until)

    async def _test(self, test: int, path: str, until: float | None) -> PrintResult:
        if test == TEST_PAGE:
            return await self.print(test_page(self._name, self._way.columns, self._clock.now()), until=until)
        if test == FINDER:
            await self._take_line(until)
            return await self._deliver(PRINT, str(uuid4()), self._finder())
        raise malformed(path, _TESTS)

    async def print(
        self,
        elements: Sequence[Element],
        paper: str = "",
        elsewhere: Sequence[int] = (),
        until: float | None = None,
    ) -> PrintResult:
        """Print ``elements``; the paper of a document is printed once.

        :param paper: the name of the paper; empty for a paper without one.
        :param elsewhere: the other printers on which it may have been printed.
        :param until: the deadline of the caller (`Turns.deadline`), who may have waited for the printer's turn.
        :raises Refused: 1105 when an earlier job keeps the printer busy for the whole mini-queue, 430 when it takes
            too long to draw.
        :raises StoreFailed: when the job could not be stored, so it was not sent.
        """
        if paper:
            known = await self._jobs.known(paper, elsewhere)
            if known is not None and not known.on_paper and known.n == self._on_line:
                known = await self._after_delivery(paper, elsewhere, known, until)
            if known is not None:
                return known
        with _drawing():
            work = await composed(elements, paper, self._way, self._clock)
        await self._take_line(until)
        return await self._deliver(PRINT, paper or str(uuid4()), work)

    async def _after_delivery(
        self, paper: str, elsewhere: Sequence[int], known: PrintResult, until: float | None
    ) -> PrintResult | None:
        """The result of ``paper``, which is being delivered, after its verdict; ``known`` if that takes long."""
        soon = self._clock.steady() + DELIVERY
        try:
            await self._take_line(soon if until is None else min(soon, until))
        except Refused:
            return known
        self._line.release()
        return await self._jobs.known(paper, elsewhere)

    async def reprint(self, n: int) -> PrintResult:
        """Print the job ``n`` again, on a person's request; the new job names it.

        A job that was still being delivered at the request, and was printed since, is not printed again.

        :raises Refused: 1058 when this printer has no such job, 1105 when the printer stays busy.
        :raises StoreFailed: when the new job could not be stored, so it was not sent.
        """
        asked = await self._jobs.row(n)
        job = decode_job(asked.request)
        with _drawing():
            form = await self._clock.apart(form_of, job, self._way.dots)
            work = await composed(form, job.paper, self._way, self._clock) if form else self._finder()
        await self._take_line()
        try:
            row = await self._jobs.row(n)
        except BaseException:
            self._line.release()
            raise
        if asked.state is not State.DONE and row.state is State.DONE:
            self._line.release()
            return PrintResult(n, decode_job(row.request).fate or "accepted")
        fresh = msgspec.structs.replace(job, replaces=n, fate="", reason="")
        return await self._deliver(REPRINT, row.key, work._replace(kept=fresh))

    def _finder(self) -> Composed:
        """The page of code tables, which the journal keeps as an empty form."""
        return Composed(self._way.finder(), 0, job_of([]))

    # The line

    async def _take_line(self, until: float | None = None) -> None:
        """Wait until the job before has its verdict; the caller gives the line back.

        :raises Refused: 1105 at ``until``, or after `MINI_QUEUE` seconds (specification 1.9).
        """
        until = self._clock.steady() + MINI_QUEUE if until is None else until
        await acquire(self._line, until, self._clock.reactor)

    async def _deliver(self, task: int, key: str, composed: Composed) -> PrintResult:
        """Store and deliver a job on the line, which is given back when the verdict is stored."""
        work, unknown, job = composed
        reached("print.before-job")
        try:
            n = await self._jobs.begin(task, key, job)
            reached("print.job-stored")
            under_way = UnderWay(self._way.deliver(work))
        except BaseException:
            self._line.release()
            raise
        self._under_way, self._on_line = under_way, n
        ending = Deferred.fromCoroutine(self._store_verdict(n, job, under_way))
        if self._closed:
            under_way.give_up()
        await under_way.wait(DELIVERY, self._clock)
        if not under_way.begun:
            # Nothing was sent, so it can be given up for certain.
            under_way.give_up()
        result = PrintResult(n, "unknown", LATE, unknown, tuple(problem.kind for problem in work.problems))
        if under_way.verdict is None:
            result = _by_now(result, under_way)
            result = msgspec.structs.replace(result, stored=await self._jobs.end(n, job, result.fate, result.reason))
        if under_way.verdict is None:
            # The verdict may still come, and is stored then; the caller gets what is certain now.
            ending.addErrback(self._broken)
            self._note(result)
            return result
        reason, stored = await ending
        return msgspec.structs.replace(result, fate=under_way.verdict.outcome.value, reason=reason, stored=stored)

    def _note(self, result: PrintResult) -> None:
        """What the fate of a job shows about the printer."""
        if result.on_paper:
            self.observed.worked()
        elif result.reason not in OWN_REASONS:
            self.observed.failed(result.refused())

    async def _store_verdict(self, n: int, job: Job, under_way: UnderWay) -> tuple[str, bool]:
        """Wait for the verdict, store it, and give the line to the next job.

        :returns: the reason, and whether the verdict was stored.
        """
        try:
            verdict = await under_way.ended
            reached("print.delivered")
            fate: Fate = verdict.outcome.value
            reason = verdict.reason
            if reason == CANCELLED and self._closed:
                reason = CLOSED
            if fate in ("not_printed", "unknown"):
                self.log.warn("{device}: job {n} is {fate}: {why}", device=self._name, n=n, fate=fate, why=reason)
            self._note(PrintResult(n, fate, reason))
            stored = await self._jobs.end(n, job, fate, reason)
            reached("print.outcome-stored")
            return reason, stored
        finally:
            self._under_way = self._on_line = None
            self._line.release()

    def _broken(self, failure: Failure) -> None:
        self.log.failure("{device}: the verdict of a job was not stored", failure, device=self._name)

    # Beside tasks

    async def resolve(self) -> None:
        """Close the jobs that a crash left open as unknown; they are not sent again."""
        await self._jobs.close_open(self._on_line)

    async def check(self) -> None:
        """Query the printer's status, without printing, when no job is being delivered.

        :raises Refused: when it would not print, or stays busy.
        """
        try:
            await self._take_line(self._clock.steady() + DELIVERY)
        except Refused:
            raise PrintResult(0, "not_printed", BUSY).refused() from None
        await self._ask()

    async def _ask(self) -> bool | None:
        """Query the status on the line, which is given back then; `None` when the printer says nothing.

        :raises Refused: when it would not print.
        """
        try:
            self.status = status = await self._way.status()
        except UnknownQueue:
            raise PrintResult(0, "not_printed", NO_QUEUE).refused() from None
        except (WireError, CancelledError):
            raise PrintResult(0, "not_printed", "silent").refused() from None
        finally:
            self._line.release()
        if status is None:
            return None
        if not status.drawer_open:
            self._drawer_open = None
        elif self._drawer_open is None:
            self._drawer_open = self._clock.steady()
        if status.reason is not None:
            raise PrintResult(0, "not_printed", status.reason).refused()
        return True

    @property
    def drawer_open_for(self) -> float:
        """Seconds for which the drawer was open, each time that the printer was asked."""
        return 0.0 if self._drawer_open is None else self._clock.steady() - self._drawer_open

    async def inquire(self) -> bool | None:
        """Whether it would print, as `check`, but not while a job waits for its verdict: see `Inquired`.

        :raises Refused: when it would not print.
        """
        if not self._way.asked:
            return None
        if self._line.locked:
            return False
        self._line.acquire()
        return await self._ask()

    async def state(self) -> dict[str, object]:
        """The last job, without querying the printer."""
        known = await self._jobs.latest()
        if known is None:
            return {"last_job": None}
        job = decode_job(known.request)
        return {"last_job": {"id": known.n, "fate": job.fate or "unknown", "reason": job.reason}}

    def close(self) -> None:
        """Give up the job that is being delivered, and close the line."""
        self._closed = True
        if self._under_way is not None:
            self._under_way.give_up()
        self._way.close()


@contextmanager
def _drawing() -> Iterator[None]:
    """Within it a form is drawn; nothing is stored or sent yet.

    :raises Refused: 430 when it has no result.
    """
    try:
        yield
    except CrewFailed as error:
        raise Refused(Res.DEVICE_ERROR, wording(error)) from error


def _by_now(result: PrintResult, under_way: UnderWay) -> PrintResult:
    """What is certain of a job that was begun and has no verdict yet."""
    if under_way.trouble:
        return msgspec.structs.replace(result, reason=under_way.trouble)
    if under_way.taken:
        return msgspec.structs.replace(result, fate="accepted", reason="")
    return result


def _wishes(doc: Members) -> dict[str, Any]:
    return {
        "opendrawer": doc.flag("opendrawer"),
        "test": doc.integer("test"),
        "lines": doc.value("lines"),
        "doccmd": doc.value("doccmd"),
    }


def _given(asked: Sequence[str]) -> Words:
    if not asked:
        return ""
    return Text(f", а не {' і '.join(asked)} разом", f", not {' and '.join(asked)} at once")


_TESTS = one_of(
    Text("1 (сторінка можливостей)", "1 (a page of what it can do)"), Text("2 (таблиці кодів)", "2 (the code tables)")
)
