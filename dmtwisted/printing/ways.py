"""The ways to a printer: a line that we speak over ourselves, and the queues of an operating system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from dmtwisted.printing.interface import Delivering, IPrinterWay
from dmtwisted.printing.service import UNKNOWN_QUEUE
from protocols.errors import WireError
from protocols.printers.codepages import CODE_PAGES
from protocols.printers.commands import Command
from protocols.printers.compose import Job, compose
from protocols.printers.delivery import Delivery, DeliveryVerdict, Patience, carry, inquire
from protocols.printers.finder import finder
from protocols.printers.profiles import Profile
from protocols.printers.queues import Condition, IPrintQueue, QueueState, UnknownQueue
from protocols.printers.status import PrinterStatus
from protocols.printers.verdict import Outcome, Verdict

CONNECT, ANSWER = 3.0, 1.0
"""Seconds for a connection, and for each of two questions: together what a caller waits (specification 8)."""


class _Profiled:
    """What every way knows of the paper."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.columns, self.dots, self.page = profile.columns(), profile.dots, profile.best_page()

    def compose(self, commands: Sequence[Command]) -> Job:
        """The job that does ``commands`` on this printer."""
        return compose(commands, self.profile)

    def finder(self) -> Job:
        """The page of code tables; for a printer whose lines are drawn, the one of the oldest table."""
        page = self.page if self.page != "raster" else CODE_PAGES[-1]
        return finder(replace(self.profile, page=page, code_tables={**self.profile.code_tables, page: 0}), page)

    def close(self) -> None:
        """Nothing is held between two jobs."""


@implementer(IPrinterWay)
class LineWay(_Profiled):
    """Over TCP, a serial port or a device file: we ask the printer itself.

    :param time_to_live: seconds that a job may stand still in the middle, or wait for its proof.
    :param bytes_per_second: for serial lines without flow control; 0 sends as fast as the line takes it.
    """

    def __init__(
        self,
        profile: Profile,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        time_to_live: float,
        bytes_per_second: int = 0,
        drawer_high_is_open: bool = True,
    ) -> None:
        super().__init__(profile)
        self._endpoint, self._clock = endpoint, clock
        self._patience = Patience(CONNECT, ANSWER, time_to_live, time_to_live)
        self._rate, self._high = bytes_per_second, drawer_high_is_open

    def deliver(self, job: Job) -> Delivering:
        """Begin to deliver ``job``."""
        delivery = Delivery(job, self._clock, self._patience, self._rate, self._high)
        done = carry(self._endpoint, delivery, self._clock, self._patience)
        return Delivering(delivery.taken, done.addCallback(_short), lambda: delivery.begun)

    async def status(self) -> PrinterStatus | None:
        """Ask the printer how it is."""
        return await inquire(self._endpoint, self.profile, self._clock, self._patience, self._high)


def _short(verdict: DeliveryVerdict) -> Verdict:
    """The verdict with the name of its cause, which the service has words for."""
    return Verdict(verdict.outcome, verdict.cause)


@implementer(IPrinterWay)
class QueueWay(_Profiled):
    """Through a queue of the operating system: it takes all bytes at once and tells what it knows."""

    log = Logger()

    def __init__(self, profile: Profile, queue: IPrintQueue, patience: float) -> None:
        super().__init__(profile)
        self._queue, self._patience = queue, patience

    def deliver(self, job: Job) -> Delivering:
        """Hand ``job`` over."""
        taken: Deferred[None] = Deferred()
        title = f"dmtwisted {uuid4()}"
        done = self._queue.deliver(job.stream, title, self._patience, lambda: taken.callback(None))
        # A queue that is handed a job may print it at once: from the first moment it counts as begun.
        return Delivering(taken, done.addErrback(self._not_taken).addCallback(self._with_cause), lambda: True)

    def _not_taken(self, failure: Failure) -> Verdict:
        if failure.check(UnknownQueue):
            return Verdict(Outcome.NOT_PRINTED, f"{UNKNOWN_QUEUE}: {failure.value}")
        if failure.check(WireError):
            return Verdict(Outcome.NOT_PRINTED, "unreachable")
        self.log.failure("a queue failed", failure)
        return Verdict(Outcome.UNKNOWN, "lost")

    def _with_cause(self, verdict: Verdict) -> Verdict | Deferred[Verdict]:
        """What stands in the way of a job that was taken back: the queue knows it, the job's end does not."""
        known = verdict.reason == "unreachable" or verdict.reason.startswith(UNKNOWN_QUEUE)
        if known or verdict.outcome is not Outcome.NOT_PRINTED:
            return verdict

        def told(state: QueueState) -> Verdict:
            return Verdict(verdict.outcome, STATUS[state.condition].reason or verdict.reason, verdict.job)

        return self._queue.state(ANSWER).addCallbacks(told, lambda _: verdict)

    async def status(self) -> PrinterStatus | None:
        """What the queue knows of its printer."""
        state = await self._queue.state(self._patience)
        return STATUS[state.condition]


STATUS = {
    Condition.OK: PrinterStatus(online=True),
    Condition.COVER_OPEN: PrinterStatus(online=False, cover_open=True),
    Condition.PAPER_OUT: PrinterStatus(online=False, paper="out"),
    Condition.OFFLINE: PrinterStatus(online=False),
    Condition.STOPPED: PrinterStatus(online=False),
}
"""What a queue tells, as a printer would say it itself."""
