"""The till's end of a line to an ECR17 terminal: acknowledgements, repeats and deadlines.

See docs/reference/ecr17.md#timings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.hiding import shown
from protocols.terminals.ecr17.answers import (
    Acknowledged,
    CloseAnswer,
    Ecr17Answer,
    PaymentAnswer,
    PreauthorisationAnswer,
    Receipt,
    ServiceAnswer,
    ServicePart,
    TerminalState,
    decode_answer,
)
from protocols.terminals.ecr17.fields import ANY_TERMINAL
from protocols.terminals.ecr17.frames import (
    LONGEST_NOISE,
    MOST_DAMAGED,
    Acknowledgement,
    Deframer,
    DisplayText,
    Lrc,
    control,
    frame,
)
from protocols.terminals.ecr17.requests import Request
from protocols.terminals.lines import ignore, notify, stop
from protocols.terminals.stx_frames import (
    ACK,
    NAK,
    Damaged,
    Noise,
    Payload,
)


class NotTaken(NotReached):
    """The terminal was reached, but it did not take the request: nothing happened."""


class NotOperative(NotTaken):
    """The terminal answers that it cannot work now; ``state`` says why."""

    def __init__(self, state: TerminalState) -> None:
        super().__init__(f"the terminal is in state {state.value} ({state.name.lower()})")
        self.state = state


Keep: TypeAlias = Callable[[Ecr17Answer], object]
"""Stores a final answer before it is acknowledged; may return a Deferred."""


@dataclass(frozen=True)
class Settings:
    """What is known of one terminal; times in seconds.

    :param lrc: the check byte's variant; with `None` the status request finds it.
    :param terminal: its number, `ANY_TERMINAL` when it does not matter.
    :param register: the till's own number, 8 digits.
    :param connect_wait: how long opening the line may take.
    :param ack_wait: after this a request without acknowledgement is sent again.
    :param repeats: how often the same frame may be sent again.
    :param repeat_money: send requests that move money again after silence too. A slow terminal would then receive the
        payment twice, so this is off: such a request is sent again only after a NAK, which proves that it was not
        taken.
    :param answer_wait: how long the whole operation may take.
    :param pause: between the status request and the request that moves money, to see whether the terminal closes.
    :param ready_every: pause between two queries of `Ecr17Terminal.recover`.
    :param receipt_wait: how long to wait for receipts after an answer; each of them restarts it.
    """

    lrc: Lrc | None = None
    terminal: str = ANY_TERMINAL
    register: str = "00000001"
    connect_wait: float = 5.0
    ack_wait: float = 2.0
    repeats: int = 3
    repeat_money: bool = False
    answer_wait: float = 300.0
    pause: float = 0.2
    ready_every: float = 3.0
    receipt_wait: float = 0.0


DEFAULTS = Settings()

MOVES_MONEY = (PaymentAnswer, PreauthorisationAnswer, CloseAnswer)
"""Answers that matter after their line was lost."""

MOST_PIECES = 64
"""Of the answer of a service; receipts are its longest part."""

log = Logger()


class Ecr17Protocol(Protocol):
    """The till's end of a line to an ECR17 terminal: one question at a time.

    :param progress: called with every text of the terminal's display.
    :param receipt: called with every `Receipt`.
    :param late: called with every final answer to no request of this line (docs/reference/terminals.md#rule-18); may
        return a Deferred. The answer is acknowledged when that is done.
    """

    def __init__(
        self,
        clock: IReactorTime,
        settings: Settings,
        lrc: Lrc = Lrc.STD,
        progress: Callable[[str], object] = ignore,
        receipt: Callable[[Receipt], object] = ignore,
        late: Callable[[Ecr17Answer], object] = ignore,
    ) -> None:
        self._clock, self._settings = clock, settings
        self._deframer = Deframer(lrc)
        self._progress, self._receipt, self._late = progress, receipt, late
        self._due: Deferred[Ecr17Answer] | None = None
        self._question: Request | None = None
        self._payload = b""
        self._keep: Keep | None = None
        self._taken = self._keeping = self._unsure = False
        self._left = 0
        self._noise = b""
        self._damaged = 0
        self._pieces: list[str] = []
        self._timer: IDelayedCall | None = None
        self._deadline: IDelayedCall | None = None
        self._leaving: IDelayedCall | None = None
        self._asked_at = 0.0
        self._last_answer: Ecr17Answer | None = None
        self.gone = False
        """Whether the line is closed."""
        self.lost: Deferred[None] = Deferred()
        """Fires when the line is closed."""

    @property
    def lrc(self) -> Lrc:
        """The variant of the check byte that both sides use."""
        return self._deframer.lrc

    def ask(
        self, question: Request, wait: float, keep: Keep | None = None, repeats: int | None = None
    ) -> Deferred[Ecr17Answer]:
        """Send ``question`` and fire with its final answer.

        The answer is acknowledged once ``keep`` is done with it. Cancelling closes the line: a late answer must not
        be taken for the answer to the next question.

        :param wait: seconds for the whole exchange from now on.
        :raises ValueError: an amount does not fit; nothing was sent.
        :raises NotTaken: the terminal refused every copy of the frame; it did nothing.
        :raises Silent: no acknowledgement or no answer in time; the outcome is unknown.
        :raises LineLost: as `Silent`, because the line was closed.
        :raises Garbled: as `Silent`, because what came is not ECR17.
        """
        assert self._due is None
        self._payload = question.encode()
        stop(self._leaving)
        self._question, self._keep = question, keep
        self._taken = self._keeping = self._unsure = False
        self._left = self._settings.repeats if repeats is None else repeats
        self._noise, self._pieces = b"", []
        self._due = due = Deferred[Ecr17Answer](self._abandon)
        self._asked_at = self._clock.seconds()
        if self.gone:
            self._fail(NotTaken("the line was closed before the request"))
            return due
        self._deadline = self._clock.callLater(wait, lambda: self._fail(Silent(wait, self._taken)))
        self._send()
        return due

    def leave(self, wait: float) -> None:
        """Close the line when nothing has come for ``wait`` seconds."""
        stop(self._leaving)
        if wait > 0 and not self.gone:
            self._leaving = self._clock.callLater(wait, self._close)
        else:
            self._close()

    # Sending.

    def _send(self) -> None:
        log.debug("request {code}, {length} bytes", code=chr(self._payload[9]), length=len(self._payload))
        self._write(frame(self._payload, self.lrc))
        self._await_acknowledgement()

    def _await_acknowledgement(self) -> None:
        stop(self._timer)
        self._timer = self._clock.callLater(self._settings.ack_wait, self._unacknowledged)

    def _unacknowledged(self) -> None:
        """The frame was not acknowledged in time."""
        assert self._question is not None
        self._timer = None
        self._unsure = True
        if self._left:
            self._left -= 1
            if self._question.money and not self._settings.repeat_money:
                self._await_acknowledgement()
            else:
                self._send()
            return
        self._fail(Silent(self._clock.seconds() - self._asked_at))

    def _refused(self) -> None:
        """The terminal could not read the frame, so it did nothing."""
        if self._left:
            self._left -= 1
            self._send()
        elif self._unsure:
            # An earlier copy met silence: it may have been taken.
            self._fail(Silent(self._clock.seconds() - self._asked_at))
        else:
            self._fail(NotTaken("the terminal refused the request every time"))

    # Receiving.

    def dataReceived(self, data: bytes) -> None:
        """Take what came and act on every piece of it; what cannot be read is logged once."""
        told = False
        for piece in self._deframer.feed(data):
            if self._damaged > MOST_DAMAGED:
                return
            match piece:
                case Payload():
                    self._noise, self._damaged = b"", 0
                    self._message(piece.data)
                case Acknowledgement():
                    self._acknowledged(piece)
                case DisplayText():
                    # A terminal that shows something to its customer has taken the request.
                    self._unsure = True
                    notify(self._progress, piece.text)
                case Damaged():
                    if not told:
                        log.warn("a damaged frame of {length} bytes", length=len(piece.data))
                    told = self._unsure = True
                    self._damaged += 1
                    if self._damaged > MOST_DAMAGED:
                        self._fail(Garbled("too many damaged frames", piece.data[:LONGEST_NOISE]))
                    elif not self._keeping:
                        self._write(control(NAK, self.lrc))
                case Noise():
                    if not told:
                        log.warn("noise on the line: {noise}", noise=shown(piece.data))
                    told = True
                    self._overhear(piece.data)

    def _overhear(self, data: bytes) -> None:
        self._noise = (self._noise + data)[: LONGEST_NOISE + 1]
        # Before the first acknowledgement nothing proves that this is an ECR17 terminal
        # (docs/reference/terminals.md#rule-17).
        if self._due is None or self._keeping or (self._taken and len(self._noise) <= LONGEST_NOISE):
            return
        self._fail(Garbled("this is not ECR17", self._noise))

    def _acknowledged(self, piece: Acknowledgement) -> None:
        if self._due is None or self._taken:
            log.debug("an acknowledgement of nothing")
        elif not piece.sure:
            # A damaged acknowledgement: wait, and send nothing twice.
            self._unsure = True
            self._left = 0
        elif not piece.taken:
            self._refused()
        else:
            stop(self._timer)
            self._taken = True
            assert self._question is not None
            if not self._question.answers:
                self._settle(Acknowledged())

    def _message(self, payload: bytes) -> None:
        code = chr(payload[9]) if len(payload) > 9 else ""
        log.debug("message {code}, {length} bytes", code=code, length=len(payload))
        if self._keeping:
            return  # A repeat of the answer, which is acknowledged once it is stored.
        due, question = self._due, self._question
        ours = due is not None and self._taken and question is not None and code in question.answers
        try:
            answer = decode_answer(payload)
        except Garbled as garbled:
            if ours:
                self._fail(garbled)
            else:
                self._write(control(ACK, self.lrc))
            return
        if ours and isinstance(answer, ServicePart):
            self._piece(answer)
            return
        if ours:
            self._store(answer)
            return
        if isinstance(answer, MOVES_MONEY) and answer != self._last_answer:
            # It answers an earlier request, whose line was lost. If the acknowledgement of ours was lost instead, the
            # terminal can be queried for its last result.
            self._unsure = True
            self._hand_on(answer)
            return
        self._write(control(ACK, self.lrc))
        if isinstance(answer, Receipt):
            if self._leaving is not None and self._leaving.active():
                self.leave(self._settings.receipt_wait)
            notify(self._receipt, answer)

    def _piece(self, part: ServicePart) -> None:
        """Put the answer of a service together from its pieces; each is acknowledged."""
        if self._pieces and part.n == len(self._pieces) and part.xml == self._pieces[-1]:
            self._write(control(ACK, self.lrc))  # Our acknowledgement of it was lost.
            return
        if part.n != len(self._pieces) + 1 or part.n > MOST_PIECES:
            self._fail(Garbled(f"piece {part.n} after {len(self._pieces)} of a service's answer"))
            return
        self._pieces.append(part.xml)
        if part.more:
            self._write(control(ACK, self.lrc))
        else:
            self._store(ServiceAnswer("".join(self._pieces)))

    def _hand_on(self, answer: Ecr17Answer) -> None:
        """Have a late answer kept, then acknowledge it."""

        def not_kept(reason: Failure) -> None:
            log.failure("a late answer was not kept", reason)

        kept = maybeDeferred(self._late, answer)
        kept.addCallbacks(lambda _: self._write(control(ACK, self.lrc)), not_kept)

    def _store(self, answer: Ecr17Answer) -> None:
        """Have the answer kept, then acknowledge it; until then the terminal repeats it."""
        due = self._due
        stop(self._deadline)
        self._keeping = True

        def kept(_: object) -> None:
            if self._due is due:
                self._write(control(ACK, self.lrc))
                self._settle(answer)

        def not_kept(reason: Failure) -> None:
            if self._due is due:
                self._fail(reason)

        maybeDeferred(self._keep or ignore, answer).addCallbacks(kept, not_kept)

    # The end of a question.

    def _settle(self, answer: Ecr17Answer) -> None:
        self._last_answer = answer
        due = self._end()
        if due is not None:
            due.callback(answer)

    def _fail(self, error: WireError | Failure) -> None:
        due = self._end()
        self._close()
        if due is not None:
            due.errback(error if isinstance(error, Failure) else Failure(error))

    def _abandon(self, _: Deferred[Ecr17Answer]) -> None:
        self._end()
        self._close()

    def _end(self) -> Deferred[Ecr17Answer] | None:
        due, self._due = self._due, None
        self._question = self._keep = None
        self._taken = self._keeping = False
        stop(self._timer)
        stop(self._deadline)
        return due

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Fail the request that waits, unless its answer is here and being stored."""
        self.gone = True
        stop(self._leaving)
        if self._due is not None and not self._keeping:
            clean = reason.check(ConnectionDone) is not None
            self._fail(LineLost("the terminal closed the line" if clean else str(reason.value)))
        self.lost.callback(None)

    def _write(self, data: bytes) -> None:
        if self.transport is not None:
            self.transport.write(data)

    def _close(self) -> None:
        stop(self._leaving)
        if self.transport is not None:
            self.transport.loseConnection()
