"""The ways to a printer: a direct line, and the queues of an operating system."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from dmtwisted.printing.interface import Delivering, IPrinterWay
from dmtwisted.printing.result import CANCELLED, NO_QUEUE
from protocols.errors import Garbled, Silent, WireError
from protocols.printers.codepages import CODE_PAGES
from protocols.printers.compose import Job
from protocols.printers.delivery import Delivery, DeliveryVerdict, Patience, deliver, inquire
from protocols.printers.finder import finder
from protocols.printers.profiles import Profile
from protocols.printers.queues import Condition, IPrintQueue, QueueState, UnknownQueue
from protocols.printers.status import PrinterStatus
from protocols.printers.verdict import Outcome, Verdict

BEGIN, ANSWER = 4.9, 1.0
"""Seconds until a job begins, so that it is delivered within a caller's wait (specification 8); and for one query."""

WATCHED = 2.5
"""Seconds that a job in a queue is watched; cancelling it and asking why fit into the rest of a caller's wait."""


class _Profiled:
    """The paper and the language of a printer, from its profile."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.asked = profile, profile.answers
        self.columns, self.dots, self.page = profile.columns(), profile.dots, profile.best_page()

    def finder(self) -> Job:
        """The page of code tables; the one of the oldest table for a printer whose lines are drawn."""
        page = self.page if self.page != "raster" else CODE_PAGES[-1]
        return finder(replace(self.profile, page=page, code_tables={**self.profile.code_tables, page: 0}), page)

    def close(self) -> None:
        """There is nothing to release between two jobs."""


class _LineDelivery(Delivery):
    """A delivery whose progress can be read."""

    @property
    def trouble(self) -> str:
        """Why the printer does not print, by its last status, or why it is not known to print."""
        return self._talk.status.reason or ("unproven" if self.closing and not self._talk.heard else "")

    @property
    def waits_for_proof(self) -> bool:
        """Whether a confirmation is still to come after the last byte was written."""
        return self._talk.proves and (self._talk.heard or not self._job.profile.answers)


@implementer(IPrinterWay)
class LineWay(_Profiled):
    """Over TCP, a serial port or a device file, with queries to the printer itself.

    :param time_to_live: seconds for which a job may make no progress, or wait for its confirmation beyond the time
        that its paper takes.
    :param bytes_per_second: for serial lines without flow control; 0 is as fast as the line.
    """

    log = Logger()

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
        self._patience = Patience(BEGIN, ANSWER, time_to_live, time_to_live)
        self._rate, self._high = bytes_per_second, drawer_high_is_open
        self._asking: Deferred[PrinterStatus] | None = None

    def deliver(self, job: Job) -> Delivering:
        """Begin to deliver ``job``."""
        delivery = _LineDelivery(job, self._clock, self._patience, self._rate, self._high)
        done = maybeDeferred(deliver, self._endpoint, delivery, self._clock, self._patience)

        def failed(failure: Failure) -> DeliveryVerdict:
            self.log.failure("a line failed", failure)
            outcome = Outcome.UNKNOWN if delivery.begun else Outcome.NOT_PRINTED
            return DeliveryVerdict(outcome, cause="lost" if delivery.begun else "unreachable")

        taken: Deferred[None] = Deferred()

        def written(_: None) -> None:
            # Without a confirmation the verdict itself comes with the last byte, and not before.
            if delivery.waits_for_proof:
                taken.callback(None)

        delivery.taken.addCallback(written)
        return Delivering(
            taken,
            done.addErrback(failed).addCallback(_short),
            lambda: delivery.begun,
            lambda: delivery.trouble,
        )

    async def status(self) -> PrinterStatus | None:
        """Query the printer; for a family that does not answer such queries silence is not an error."""
        asking = self._asking = inquire(self._endpoint, self.profile, self._clock, self._patience, self._high)
        try:
            return await asking
        except (Silent, Garbled):
            if self.profile.reliable:
                raise
            return None
        finally:
            self._asking = None

    def close(self) -> None:
        """Stop querying."""
        if self._asking is not None:
            self._asking.cancel()


def _short(verdict: DeliveryVerdict) -> Verdict:
    """The verdict with the name of its cause; the printer's own status explains more than the end of the line."""
    reported = verdict.status.reason if verdict.status is not None else None
    if verdict.cause in ("stalled", CANCELLED) and verdict.outcome is Outcome.UNKNOWN and reported is not None:
        return Verdict(verdict.outcome, reported)
    return Verdict(verdict.outcome, verdict.cause)


@implementer(IPrinterWay)
class QueueWay(_Profiled):
    """Through a queue of the operating system, which takes all bytes at once.

    A queue that has the bytes may still be asked to cancel the job. So only the verdict counts.
    """

    log = Logger()

    def __init__(self, profile: Profile, queue: IPrintQueue, patience: float = WATCHED) -> None:
        super().__init__(profile)
        self.asked = True
        self._queue, self._patience = queue, patience

    def deliver(self, job: Job) -> Delivering:
        """Hand ``job`` over."""
        title = f"dmtwisted {uuid4()}"
        done = maybeDeferred(self._queue.deliver, job.stream, title, self._patience)
        # A queue may print a job at once, so it counts as begun from the first moment.
        return Delivering(Deferred(), done.addCallbacks(self._named, self._not_taken), lambda: True, lambda: "")

    def _not_taken(self, failure: Failure) -> Verdict:
        if failure.check(UnknownQueue):
            self.log.error("{why}", why=failure.getErrorMessage())
            return Verdict(Outcome.NOT_PRINTED, NO_QUEUE)
        if failure.check(WireError):
            self.log.info("the print service cannot be reached: {why}", why=failure.getErrorMessage())
            return Verdict(Outcome.NOT_PRINTED, "unreachable")
        self.log.failure("a queue failed", failure)
        return Verdict(Outcome.UNKNOWN, "queue")

    def _named(self, verdict: Verdict) -> Verdict | Deferred[Verdict]:
        """The verdict with the name of its cause; the queue's own message is for the log."""
        if verdict.reason:
            self.log.info(
                "job {job} is {outcome}: {why}", job=verdict.job, outcome=verdict.outcome, why=verdict.reason
            )
        if verdict.outcome in (Outcome.PRINTED, Outcome.ACCEPTED):
            return Verdict(verdict.outcome, "", verdict.job)
        named = Verdict(verdict.outcome, "queue", verdict.job)
        if verdict.outcome is Outcome.UNKNOWN:
            return named

        def explained(state: QueueState) -> Verdict:
            return replace(named, reason=STATUS[state.condition].reason or named.reason)

        # Why a job was cancelled is in the state of the queue, not in the result of the job.
        return self._queue.state(ANSWER).addCallbacks(explained, lambda _: named)

    async def status(self) -> PrinterStatus | None:
        """The state of the printer by its queue."""
        state = await self._queue.state(self._patience)
        return STATUS[state.condition]


STATUS = {
    Condition.OK: PrinterStatus(online=True),
    Condition.COVER_OPEN: PrinterStatus(online=False, cover_open=True),
    Condition.PAPER_OUT: PrinterStatus(online=False, paper="out"),
    Condition.OFFLINE: PrinterStatus(online=False),
    Condition.STOPPED: PrinterStatus(online=False),
}
"""The conditions of a queue as the status of a printer."""
