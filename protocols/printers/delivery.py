"""Delivers one job to a printer over one connection and returns its outcome.

============= ==========================================================================================
printed       the printer proved it
accepted      all bytes were taken (the printer answered a query after the job); this printer proves nothing
not printed   nothing that prints was sent: the job can be repeated
unknown       part of it was sent and the proof is missing: it may be on paper, wholly or in part
============= ==========================================================================================

The steps (docs/reference/printers.md#delivery): query the state, at most twice; send, pausing when the printer or the
line requires it; wait for the proof. Every failure ends in one of the four outcomes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import cast

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import (
    IAddress,
    IConsumer,
    IDelayedCall,
    IHalfCloseableProtocol,
    IPushProducer,
    IReactorTime,
    IStreamClientEndpoint,
)
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.printers.compose import Job, compose
from protocols.printers.profiles import Profile
from protocols.printers.status import PrinterStatus
from protocols.printers.talk import talk
from protocols.printers.verdict import Outcome, Verdict

CHUNK = 1024
"""Bytes written at once: between two chunks the printer may request a pause."""

POLL = 0.25
"""Seconds between two queries to a printer that does not report its progress."""

MOST_NOISE = 4096
MOST_ANSWERS = 65536
"""Bytes after which the connection is ended."""


@dataclass(frozen=True)
class Patience:
    """Time limits in seconds."""

    begin: float = 5.0
    """Until the first byte of a job: the connection and the queries."""
    status: float = 1.0
    """For the answers to a state query, which is sent twice."""
    stall: float = 10.0
    """While the printer takes no bytes."""
    completion: float = 10.0
    """For the proof, in addition to the printing time."""


CAUSES = {
    "paper": "the printer is out of paper",
    "cover": "the printer's cover is open",
    "cutter": "the printer's cutter is jammed",
    "mechanical": "the printer reports a mechanical error",
    "overheat": "the printer's head is too hot",
    "unrecoverable": "the printer reports an error that requires switching it off and on",
    "offline": "the printer is offline",
    "unreachable": "the connection failed",
    "silent": "the printer does not answer, although this model should",
    "busy": "the printer takes no data or is busy with an earlier job",
    "lost": "the connection was lost",
    "noise": "the printer sends data without end or in another language",
    "stalled": "the printer stopped taking data",
    "unproven": "everything was sent, but the proof did not come in time",
    "cancelled": "the caller stopped waiting",
}
"""Why a job failed: the words of `protocols.printers.status.Reason`, and those of the connection."""


@dataclass(frozen=True)
class DeliveryVerdict(Verdict):
    """The outcome of a job, its cause, and the last state of the printer."""

    cause: str = ""
    """A key of `CAUSES`; empty when the job succeeded."""
    status: PrinterStatus | None = None
    """`None` when it is unknown."""
    sent: int = 0
    """Bytes of the job that were written to the line."""


def verdict(outcome: Outcome, cause: str = "", status: PrinterStatus | None = None, sent: int = 0) -> DeliveryVerdict:
    """The verdict, with the text of its cause."""
    return DeliveryVerdict(outcome, CAUSES.get(cause, cause), None, cause, status, sent)


@implementer(IPushProducer, IHalfCloseableProtocol)
class Delivery(Protocol):
    """The client side of one job; `done` fires with the verdict and never fails.

    :param bytes_per_second: the highest rate, for serial lines without flow control; 0 is unlimited.
    :param drawer_high_is_open: the wiring of the drawer's switch.
    """

    log = Logger()

    def __init__(
        self,
        job: Job,
        clock: IReactorTime,
        patience: Patience = Patience(),
        bytes_per_second: int = 0,
        drawer_high_is_open: bool = True,
    ) -> None:
        self.done: Deferred[DeliveryVerdict] = Deferred(self._cancelled)
        self.taken: Deferred[None] = Deferred()
        """Fires when all bytes are written to the line; may never fire, never fails."""
        self._job = job
        self._clock = clock
        self._patience = patience
        self._rate = bytes_per_second
        self._talk = talk(job, drawer_high_is_open)
        self._step = _Step.CONNECTING
        self._timer: IDelayedCall | None = None
        self._pause: IDelayedCall | None = None
        self._sent = 0
        self._answered = 0
        self._line_full = False
        self._asked_again = False
        self._begin_by = clock.seconds() + patience.begin
        self._deadline = 0.0

    # Asking

    def connectionMade(self) -> None:
        if self._step is _Step.OVER:
            self._hang_up()
            return
        self._step = _Step.ASKING
        if not self._job.profile.answers:
            self._write(self._job.opening)
            self._send()
            return
        self._write(self._talk.open())
        self._wait_for_answer(self._patience.status)

    def _wait_for_answer(self, seconds: float) -> None:
        """Wait for ``seconds``, or as long as the job may still begin."""
        self._wait(max(min(seconds, self._begin_by - self._clock.seconds()), 0), self._no_answer)

    def _no_answer(self) -> None:
        talk = self._talk
        if not self._asked_again:
            self._asked_again = True
            self._write(talk.open_again())
            self._wait_for_answer(self._patience.status)
        elif talk.status.reason is not None and not self._job.at_once:
            self._end(Outcome.NOT_PRINTED, talk.status.reason)
        elif not (talk.stopped or (self._job.profile.reliable and not talk.ready)):
            self._send()
        elif self._clock.seconds() < self._begin_by:
            # It may be about to finish an earlier job.
            self._wait_for_answer(self._patience.begin)
        else:
            self._end(Outcome.NOT_PRINTED, "busy" if talk.stopped or talk.heard else "silent")

    def _check_state(self) -> None:
        """Send the job, or end it, when all queries are answered."""
        talk = self._talk
        if talk.state_known and talk.status.reason is not None and not self._job.at_once:
            self._end(Outcome.NOT_PRINTED, talk.status.reason)
        elif talk.ready and not talk.stopped:
            self._send()
        elif talk.polls and talk.state_known and self._pause is None:
            self._pause = self._clock.callLater(POLL, self._poll)

    def _poll(self) -> None:
        """Query whether earlier jobs are finished; this kind of printer does not report it."""
        self._pause = None
        self._write(self._talk.question())

    # Sending

    def _send(self) -> None:
        self._step = _Step.SENDING
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._talk.begin()
        self._wait(self._patience.stall, self._stalled)
        self._produce(True)
        self._pump()

    def _pump(self) -> None:
        """Write until the printer or the line requests a pause."""
        while self._step is _Step.SENDING and not (self._line_full or self._talk.stopped or self._pause):
            chunk = self._job.data[self._sent : self._sent + CHUNK]
            if not chunk:
                self._finish()
                return
            self._sent += len(chunk)
            self._wait(self._patience.stall, self._stalled)
            if self._rate:
                self._pause = self._clock.callLater(len(chunk) / self._rate, self._paused)
            self._write(chunk)

    def _paused(self) -> None:
        self._pause = None
        self._wait(self._patience.stall, self._stalled)
        self._pump()

    def pauseProducing(self) -> None:
        """The line is full."""
        self._line_full = True

    def resumeProducing(self) -> None:
        """The line takes data again."""
        self._line_full = False
        if self._step is _Step.SENDING:
            self._wait(self._patience.stall, self._stalled)
            self._pump()

    def stopProducing(self) -> None:
        """The line is closed; `connectionLost` follows."""

    def _stalled(self) -> None:
        if self._sent:
            self._end(Outcome.UNKNOWN, "stalled")
        else:
            self._end(Outcome.NOT_PRINTED, "busy")

    # The proof

    @property
    def begun(self) -> bool:
        """Whether a byte of the job itself was written to the line."""
        return self._sent > 0

    @property
    def closing(self) -> bool:
        """Whether all was written, and the line is being closed."""
        return self._step is _Step.CLOSING

    @property
    def _paper(self) -> float:
        """Seconds that printing the job takes at most."""
        return self._job.dots / self._job.profile.dots_per_second

    def _finish(self) -> None:
        self._produce(False)
        self._step = _Step.ARRIVING
        self.taken.callback(None)
        if self.done.called:
            # The caller cancelled while `taken` was fired.
            return
        # A printer that has not answered any query will not send its proof either.
        if not self._talk.heard and (self._job.profile.answers or not self._talk.proves):
            self._close()
            return
        if not self._talk.proves:
            # There is no proof, but an answer to a query after the job shows that all of it arrived.
            self._write(self._talk.question())
            self._wait(self._patience.stall + self._paper, self._stalled)
            return
        self._step = _Step.PROVING
        self._deadline = self._clock.seconds() + self._patience.completion + self._paper
        self._prove()

    def _arrived(self) -> None:
        """The whole job is in the printer; check that it can print."""
        reason = self._talk.status.reason
        if reason is not None and not self._job.at_once:
            self._end(Outcome.UNKNOWN, reason)
        else:
            self._close()

    def _close(self) -> None:
        """Close the line when it is drained; that it closed cleanly is all that can be known.

        A network takes the bytes for a printer that reads none. Only a printer that reads comes to the end of the
        line and closes it too, so one that never answered is given that end alone.
        """
        self._step = _Step.CLOSING
        self._wait(self._patience.stall, self._stalled)
        transport = self.transport
        assert transport is not None
        shut = None if self._talk.heard else getattr(transport, "loseWriteConnection", None)
        (shut or transport.loseConnection)()

    def writeConnectionLost(self) -> None:
        """All bytes and the end of the line are on their way to the printer."""
        if self._step is _Step.CLOSING:
            self._wait(2 * self._patience.status + self._paper, self._unproven)

    def readConnectionLost(self) -> None:
        """The printer has closed its end."""
        self.connectionLost(Failure(ConnectionDone()))

    def _prove(self) -> None:
        left = self._deadline - self._clock.seconds()
        if self._talk.proven:
            self._end(Outcome.PRINTED)
        elif left <= 0:
            # Query the state once more, to put the cause into the verdict.
            self._step = _Step.LAST_LOOK
            self._write(self._talk.question())
            self._wait(self._patience.status, self._unproven)
        elif self._talk.polls:
            self._write(self._talk.question())
            self._wait(min(left, POLL), self._prove)
        else:
            self._wait(left, self._prove)

    def _unproven(self) -> None:
        self._end(Outcome.UNKNOWN, self._talk.status.reason or "unproven")

    # The line

    def dataReceived(self, data: bytes) -> None:
        if self._step is _Step.OVER:
            return
        self.log.debug("received {bytes}", bytes=data.hex(" "))
        self._answered += len(data)
        said = self._talk.hear(data)
        if self._talk.noise > MOST_NOISE or self._answered > MOST_ANSWERS:
            self._give_up("noise")
            return
        if self._talk.proven and self._step in (_Step.PROVING, _Step.LAST_LOOK):
            self._end(Outcome.PRINTED)
            return
        if said and self._step is _Step.ASKING:
            # The printer answers: give the answer in turn a time limit of its own.
            self._write(said)
            self._asked_again = False
            self._wait_for_answer(self._patience.status)
        if self._step is _Step.ASKING:
            self._check_state()
        elif self._step is _Step.ARRIVING and self._talk.answered:
            self._arrived()
        elif self._step is _Step.SENDING:
            self._pump()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._step is _Step.CLOSING and reason.check(ConnectionDone):
            self._end(Outcome.ACCEPTED)
        else:
            self._give_up("lost")

    def _cancelled(self, done: Deferred[DeliveryVerdict]) -> None:
        self._give_up("cancelled")

    def _give_up(self, cause: str) -> None:
        self._end(Outcome.UNKNOWN if self._sent else Outcome.NOT_PRINTED, cause)

    def _end(self, outcome: Outcome, cause: str = "") -> None:
        if self._step is _Step.OVER:
            return
        step, self._step = self._step, _Step.OVER
        for call in (self._timer, self._pause):
            if call is not None and call.active():
                call.cancel()
        self._timer = self._pause = None
        if step is _Step.SENDING:
            self._produce(False)
        if step is not _Step.CONNECTING:
            self._hang_up(outcome is not Outcome.PRINTED)
        status = self._talk.status if self._talk.status.known else None
        self.done.callback(verdict(outcome, cause, status, self._sent))

    def _hang_up(self, at_once: bool = True) -> None:
        """Close the line; ``at_once`` also discards unsent data, so that it is not printed later."""
        transport = self.transport
        assert transport is not None
        abort = getattr(transport, "abortConnection", None) if at_once else None
        (abort or transport.loseConnection)()

    def _produce(self, begin: bool) -> None:
        """Register for the line's flow control, or end that; a line in memory has none."""
        consumer = self.transport
        if begin and hasattr(consumer, "registerProducer"):
            cast(IConsumer, consumer).registerProducer(self, True)
        elif not begin and hasattr(consumer, "unregisterProducer"):
            cast(IConsumer, consumer).unregisterProducer()

    def _write(self, data: bytes) -> None:
        assert self.transport is not None
        if data:
            self.log.debug("sent {bytes}", bytes=data[:CHUNK].hex(" "))
            self.transport.write(data)

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = self._clock.callLater(seconds, then)


class _Step(Enum):
    """The progress of a delivery."""

    CONNECTING = 0
    ASKING = 1
    SENDING = 2
    ARRIVING = 3
    PROVING = 4
    LAST_LOOK = 5
    CLOSING = 6
    OVER = 7


class Inquiry(Protocol):
    """Queries the state of a printer without printing; `done` fires with it.

    It fails with `Silent` without an answer, with `Garbled` after noise alone, with `LineLost` when the line breaks.
    """

    def __init__(
        self,
        profile: Profile,
        clock: IReactorTime,
        patience: Patience = Patience(),
        drawer_high_is_open: bool = True,
    ) -> None:
        self.done: Deferred[PrinterStatus] = Deferred(self._cancelled)
        self._talk = talk(compose((), profile), drawer_high_is_open, only_asks=True)
        self._clock = clock
        self._patience = patience
        self._timer: IDelayedCall | None = None
        self._again = False

    def connectionMade(self) -> None:
        assert self.transport is not None
        self.transport.write(self._talk.open())
        self._timer = self._clock.callLater(self._patience.status, self._no_answer)

    def _no_answer(self) -> None:
        if not self._again:
            self._again = True
            assert self.transport is not None
            self.transport.write(self._talk.open_again())
            self._timer = self._clock.callLater(self._patience.status, self._no_answer)
        elif self._talk.heard:
            self._end(self._talk.status)
        elif self._talk.noise:
            self._end(Garbled("not a printer's answer"))
        else:
            self._end(Silent(2 * self._patience.status))

    def dataReceived(self, data: bytes) -> None:
        if self.done.called:
            return
        self._talk.hear(data)
        if self._talk.state_known:
            self._end(self._talk.status)
        elif self._talk.noise > MOST_NOISE:
            self._end(Garbled("not a printer's answer", data))

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._end(LineLost(reason.getErrorMessage()))

    def _cancelled(self, done: Deferred[PrinterStatus]) -> None:
        self._end(None)

    def _end(self, result: PrinterStatus | WireError | None) -> None:
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self.transport is not None:
            self.transport.loseConnection()
        if self.done.called:
            return
        if isinstance(result, WireError):
            self.done.errback(result)
        elif result is not None:
            self.done.callback(result)


def deliver(
    endpoint: IStreamClientEndpoint, delivery: Delivery, clock: IReactorTime, patience: Patience = Patience()
) -> Deferred[DeliveryVerdict]:
    """Connect to the printer, make ``delivery`` and close; never fails.

    Most printers serve one connection at a time, so the caller must wait for the verdict before the next call.
    """
    connecting = endpoint.connect(_OneConnection(delivery)).addTimeout(patience.begin, clock)

    def not_reached(failure: Failure) -> DeliveryVerdict:
        delivery.log.info("cannot reach the printer: {why}", why=failure.getErrorMessage())
        return verdict(Outcome.NOT_PRINTED, "unreachable")

    return connecting.addCallbacks(lambda _: delivery.done, not_reached)


def inquire(
    endpoint: IStreamClientEndpoint,
    profile: Profile,
    clock: IReactorTime,
    patience: Patience = Patience(),
    drawer_high_is_open: bool = True,
) -> Deferred[PrinterStatus]:
    """Connect to the printer, query its state and close.

    It fails with `NotReached`, or as `Inquiry` does.
    """
    inquiry = Inquiry(profile, clock, patience, drawer_high_is_open)
    left = patience.begin - 2 * patience.status
    connecting = endpoint.connect(_OneConnection(inquiry)).addTimeout(left, clock)

    def not_reached(failure: Failure) -> Failure:
        return Failure(NotReached(failure.getErrorMessage()))

    return connecting.addCallbacks(lambda _: inquiry.done, not_reached)


class _OneConnection(Factory):
    """Returns the one protocol that it was given."""

    noisy = False

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol

    def buildProtocol(self, addr: IAddress | None) -> Protocol:
        return self._protocol
