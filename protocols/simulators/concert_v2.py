"""A simulated Concert V2 terminal: the device's end of the wire (docs/reference/concert-v2.md#simulator).

- A call while it works is answered with NAK.
- It begins the operation when it has read the request, and its own session when the operation is over.
- It sends an answer that is not acknowledged four times in all, then forgets it: there is no query.
- An operation goes on when the line breaks.
- It ignores the flag for an answer at once: it answers when the customer is done.
- A `busy` rule of the scenario is answered with result 9, because the request is read by then; a `probe` rule
  applies to the next call.
"""

from __future__ import annotations

from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure

from protocols.errors import Garbled
from protocols.simulators.scenario import Then
from protocols.simulators.terminal import Busy, Cause, Ending, Operation, Outcome
from protocols.simulators.terminal_line import UNHEARD, TerminalDevice, TerminalLine
from protocols.terminals.concert_v2 import (
    ConcertAnswer,
    ConcertRequest,
    Deframer,
    Kind,
    Result,
    Signal,
    frame,
)
from protocols.terminals.lines import stop
from protocols.terminals.stx_frames import (
    Damaged,
    Payload,
)

REPEATS = 3
"""How often the device repeats its call or its answer."""

BYTE_WAIT = 1.0
"""Seconds that it waits for an acknowledgement, and for the end of the till's session."""

UNVERIFIED = frozenset({Cause.NO_LINK, Cause.JOURNAL_FULL, Cause.SETTLE_FIRST, Cause.NO_PAPER, Cause.READER})
"""Causes for which the bank was not asked: result 9 instead of 7."""

SPOILT = 0x55
"""What `garbage` does to a check byte."""


class ConcertDevice(TerminalDevice["_ConcertLine"]):
    """The device: one terminal behind any stream of bytes."""

    def line(self) -> _ConcertLine:
        """See `TerminalDevice.line`."""
        return _ConcertLine(self)

    def answer(self, ask: ConcertRequest, outcome: Outcome) -> ConcertAnswer:
        """The answer for ``outcome``."""
        code = Result.DONE.value
        if not outcome.approved:
            code = (Result.NOT_VERIFIED if outcome.cause in UNVERIFIED else Result.REFUSED).value
            if outcome.cause is Cause.BANK and outcome.code == Result.NOT_VERIFIED.value:
                code = outcome.code
        cents = outcome.amount if outcome.approved else ask.cents
        card = outcome.card.pan.replace("*", "X") if outcome.card is not None else ""
        report = f"{card:<19}".ljust(55, "0") if ask.full else None
        return ConcertAnswer(cents, code, ask.register, ask.mode.value, report, ask.currency, "0" * 10)


class _ConcertLine(TerminalLine):
    """One line to the device."""

    def __init__(self, device: ConcertDevice) -> None:
        self._device = device
        self._deframer = Deframer()
        self._called = False
        self._outbox: bytes | None = None
        self._calling = self._telling = False
        self._tries = 0

    def dataReceived(self, data: bytes) -> None:
        """Read what the till sends."""
        for piece in self._deframer.feed(data):
            if self._gone:
                return
            match piece:
                case Signal.ENQ:
                    self._probed()
                case Signal.EOT:
                    self._till_is_done()
                case Signal.ACK | Signal.NAK:
                    self._reacted(piece)
                case Payload():
                    self._read(piece.data)
                case Damaged() if self._called:
                    self._say(Signal.NAK)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """See `TerminalLine.connectionLost`."""
        super().connectionLost(reason)
        self._outbox = None

    # The till's session.

    def _probed(self) -> None:
        terminal = self._device.terminal
        if terminal.running is not None or self._outbox is not None:
            self._say(Signal.NAK)
            return
        fate = terminal.probe()
        match fate.line:
            case Then.SILENT:
                return
            case Then.LOST_BEFORE | Then.LOST_AFTER:
                self._hang_up()
            case Then.REFUSE:
                self._say(Signal.NAK)
            case Then.GARBAGE:
                self._write(b"\xff\x00\xff")
            case _:
                self._called = True
                self._say(Signal.ACK)

    def _read(self, payload: bytes) -> None:
        if not self._called:
            return
        try:
            ask = ConcertRequest.decode(payload)
        except Garbled:
            self._say(Signal.NAK)
            return
        self._called = False
        try:
            operation = self._operation(ask)
        except Busy:
            self._say(Signal.ACK)
            refusal = ConcertAnswer(
                ask.cents, Result.NOT_VERIFIED.value, ask.register, ask.mode.value, None, ask.currency
            )
            self._tell_later(frame(refusal.encode()))
            return
        if operation.fate not in UNHEARD:
            self._say(Signal.ACK)
        operation.ending.addCallback(self._ended, ask)

    def _operation(self, ask: ConcertRequest) -> Operation:
        terminal = self._device.terminal
        if ask.kind is Kind.CREDIT:
            return terminal.refund(ask.cents)
        if ask.kind is Kind.CANCEL:
            return terminal.cancel(amount=ask.cents)
        return terminal.purchase(ask.cents)

    def _ended(self, ending: Ending, ask: ConcertRequest) -> None:
        if ending.line in (Then.LOST_BEFORE, Then.LOST_AFTER):
            self._hang_up()
        elif ending.outcome is not None:
            answer = self._device.answer(ask, ending.outcome).encode()
            if ending.outcome.told:
                # Eight characters hold no negative number; a till reads them as they come.
                answer = answer[:3] + ending.outcome.told.encode("ascii", "replace")[:8].zfill(8) + answer[11:]
            whole = frame(answer)
            if ending.line is Then.GARBAGE:
                whole = whole[:-1] + bytes((whole[-1] ^ SPOILT,))
            self._tell_later(whole)

    def _till_is_done(self) -> None:
        """After the till's session the device may open its own."""
        self._called = False
        if self._outbox is not None and not self._calling and not self._telling:
            self._call()

    # The device's session.

    def _tell_later(self, whole: bytes) -> None:
        if self._gone:
            return
        self._outbox, self._tries = whole, 0
        # The till's EOT may be here already or on its way.
        self._later(self._device.clock, BYTE_WAIT, self._till_is_done)

    def _call(self) -> None:
        self._calling = True
        self._tries += 1
        if self._tries > REPEATS + 1:
            self._forget()
            return
        self._say(Signal.ENQ)
        self._later(self._device.clock, BYTE_WAIT, self._call)

    def _tell(self) -> None:
        self._tries += 1
        if self._tries > REPEATS + 1 or self._outbox is None:
            self._forget()
            return
        self._write(self._outbox)
        self._later(self._device.clock, BYTE_WAIT, self._tell)

    def _reacted(self, signal: Signal) -> None:
        """Handle the acknowledgement of the call or of the answer."""
        if self._calling:
            if signal is Signal.ACK:
                self._calling, self._telling, self._tries = False, True, 0
                self._tell()
        elif self._telling:
            if signal is Signal.ACK:
                self._forget()
            else:
                self._tell()

    def _forget(self) -> None:
        stop(self._timer)
        self._outbox = None
        self._calling = self._telling = False
        self._say(Signal.EOT)

    def _say(self, signal: Signal) -> None:
        self._write(signal.encode())
