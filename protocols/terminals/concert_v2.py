"""Concert V2, the serial protocol E/E+ of French bank terminals (docs/reference/concert-v2.md):
9600 8N1, RS-232 or USB.

Each message has a session of its own, opened by its sender. The till sends the request; when the customer is done,
which may take minutes, the terminal opens the second session::

    till      05                       ENQ: open a session
    terminal  06                       ACK (15 or 04: not now)
    till      02  34 characters  03 lrc
    terminal  06                       15: send it again
    till      04                       EOT
                    ...
    terminal  05
    till      06
    terminal  02  80 or 25 characters  03 lrc
    till      06                       15: send it again
    terminal  04

The check byte is the XOR of everything behind STX, ETX included. There is no query: the terminal
repeats an answer that was not acknowledged, but only while the line is open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias, TypeVar

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.checksums import lrc
from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.hiding import shown
from protocols.terminals.lines import ignore, open_line, stop
from protocols.terminals.stx_frames import ACK, EOT, ETX, NAK, STX, Damaged, Noise, Payload, PieceDeframer

ENQ = 0x05

BAUDRATE = 9600
ASK_LENGTH, SHORT_LENGTH, FULL_LENGTH = 34, 25, 80
MOST_CENTS = 99_999_999
"""The largest number of eight digits."""

# -- frames ---------------------------------------------------------------------------------------------------------


def frame(payload: bytes) -> bytes:
    """``payload`` as it travels."""
    return bytes((STX, *payload, ETX, lrc(payload + bytes((ETX,)))))


class Signal(Enum):
    """A single byte that controls a session."""

    ENQ = ENQ
    ACK = ACK
    NAK = NAK
    EOT = EOT

    def encode(self) -> bytes:
        """The byte."""
        return bytes((self.value,))


Piece: TypeAlias = Signal | Payload | Damaged | Noise

_SIGNALS = {signal.value: signal for signal in Signal}


class Deframer(PieceDeframer[Signal]):
    """Puts the pieces of a stream together, wherever it was cut."""

    longest = FULL_LENGTH + 1

    def _check(self, payload: bytes) -> int:
        return lrc(payload + bytes((ETX,)))

    def forget(self) -> bytes:
        """Drop and return an incomplete frame."""
        return self._take(len(self._buffer))

    def _next(self) -> Piece | None:
        first = self._buffer[0]
        if first in _SIGNALS:
            return _SIGNALS[self._take(1)[0]]
        if first == STX:
            return self._payload(Damaged)
        known = (n for n, byte in enumerate(self._buffer) if byte == STX or byte in _SIGNALS)
        return Noise(self._take(next(known, len(self._buffer))))


# -- messages -------------------------------------------------------------------------------------------------------


class Mode(Enum):
    """How the customer pays."""

    CARD = "1"
    CHEQUE = "C"
    AMEX = "2"
    CETELEM = "3"
    COFINOGA = "5"
    DINERS = "6"
    FRANFINANCE = "8"
    JCB = "9"
    ACCORD = "A"
    MONEO = "O"
    CUP = "U"
    FINTRAX = "F"
    OTHER = "0"


class Kind(Enum):
    """The operation."""

    DEBIT = "0"
    CREDIT = "1"
    CANCEL = "2"
    AUTOMATIC = "4"


@dataclass(frozen=True)
class ConcertRequest:
    """A request: 34 characters.

    ``register`` is the till's number (2 digits), ``full`` requests an answer with the card, ``currency`` is the ISO
    number, ``private`` 10 characters of the till's own. With ``at_once`` the terminal answers before the customer has
    paid, which proves nothing; ``force`` makes it contact the bank.
    """

    cents: int
    kind: Kind = Kind.DEBIT
    register: str = "01"
    full: bool = True
    mode: Mode = Mode.CARD
    currency: str = "978"
    private: str = ""
    at_once: bool = False
    force: bool = False

    def encode(self) -> bytes:
        """The payload.

        :raises ValueError: for an amount that eight digits do not hold.
        """
        if not 0 <= self.cents <= MOST_CENTS:
            raise ValueError(f"{self.cents} cents do not fit")
        return _bytes(
            f"{self.register:0>2.2}{self.cents:08d}{self.full:d}{self.mode.value}{self.kind.value}"
            f"{self.currency:0>3.3}{self.private:<10.10}A01{self.at_once:d}B01{self.force:d}"
        )

    @classmethod
    def decode(cls, payload: bytes) -> ConcertRequest:
        """The request in ``payload``, as the terminal reads it.

        :raises Garbled: for a wrong length or an unknown code.
        """
        text = payload.decode("latin-1")
        if len(text) != ASK_LENGTH or text[26:29] + text[30:33] != "A01B01":
            raise Garbled("not a request of Concert V2", payload)
        return cls(
            _number(text[2:10]),
            _coded(Kind, text[12]),
            text[:2],
            _flag(text[10]),
            _coded(Mode, text[11]),
            text[13:16],
            text[16:26].rstrip(),
            _flag(text[29]),
            _flag(text[33]),
        )


class Result(Enum):
    """The result of an operation."""

    DONE = "0"
    REFUSED = "7"
    NOT_VERIFIED = "9"


@dataclass(frozen=True)
class ConcertAnswer:
    """An answer: 25 characters, or 80 with the report about the card.

    ``result_code`` is the code as sent; `result` is `None` when it is unknown. ``report`` is the 55 characters about
    the card as they came (`None` in a short answer), the card's number first.
    """

    cents: int
    result_code: str
    register: str = "01"
    mode: str = "1"
    report: str | None = field(default=None, repr=False)
    currency: str = "978"
    private: str = ""

    @property
    def result(self) -> Result | None:
        """The result, when the code is known."""
        return Result(self.result_code) if self.result_code in {each.value for each in Result} else None

    @property
    def approved(self) -> bool:
        """Whether the operation was done."""
        return self.result is Result.DONE

    @property
    def card(self) -> str:
        """The card's number as the terminal masked it, at most six first and four last digits; may be empty."""
        pan = (self.report or "").split(" ", 1)[0][:19]
        if len(pan) <= 10 or not any(character.isdigit() for character in pan):
            return ""
        return pan[:6] + "".join("X" if each.isdigit() else each for each in pan[6:-4]) + pan[-4:]

    def encode(self) -> bytes:
        """The payload.

        :raises ValueError: for an amount that eight digits do not hold.
        """
        if not 0 <= self.cents <= MOST_CENTS:
            raise ValueError(f"{self.cents} cents do not fit")
        report = "" if self.report is None else f"{self.report:<55.55}"
        return _bytes(
            f"{self.register:0>2.2}{self.result_code:.1}{self.cents:08d}{self.mode:.1}{report}"
            f"{self.currency:0>3.3}{self.private:<10.10}"
        )

    @classmethod
    def decode(cls, payload: bytes) -> ConcertAnswer:
        """The answer in ``payload``, as the till reads it; errors contain none of it.

        :raises Garbled: for a wrong length or an amount that is not a number.
        """
        text = payload.decode("latin-1")
        if len(text) not in (SHORT_LENGTH, FULL_LENGTH):
            raise Garbled(f"an answer of {len(text)} characters")
        report, tail = (None, text[12:]) if len(text) == SHORT_LENGTH else (text[12:67], text[67:])
        return cls(_number(text[3:11]), text[2], text[:2], text[11], report, tail[:3], tail[3:].rstrip())

    def belongs_to(self, ask: ConcertRequest) -> bool:
        """Whether it can be the answer to ``ask``: register, amount and currency are the same."""
        return (self.register, self.cents, self.currency) == (ask.register, ask.cents, ask.currency)


_E = TypeVar("_E", bound=Enum)


def _bytes(text: str) -> bytes:
    return text.encode("latin-1", "replace")


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Garbled("an amount that is not a number")
    return int(text)


def _flag(text: str) -> bool:
    if text not in ("0", "1"):
        raise Garbled(f"a flag {text!r}")
    return text == "1"


def _coded(kind: type[_E], text: str) -> _E:
    try:
        return kind(text)
    except ValueError:
        raise Garbled(f"an unknown {kind.__name__.lower()} {text!r}") from None


# -- the line -------------------------------------------------------------------------------------------------------


class NotReady(NotReached):
    """The terminal answers that it is busy. It took nothing."""


class Unanswered(NotReached):
    """The call was not answered, so no request was sent."""


class NotTaken(NotReached):
    """The terminal could not read any copy of the request: it did nothing."""


class Interrupted(NotReached):
    """The till ended its call before the request."""


Keep: TypeAlias = Callable[[ConcertAnswer], object]
"""Stores an answer before it is acknowledged; may return a Deferred."""


@dataclass(frozen=True)
class Settings:
    """What is known of one terminal; times in seconds.

    :param register: the till's number, 2 digits; :param currency: ISO number.
    :param byte_wait: for an acknowledgement, and for a frame once its session is open.
    :param repeats: how often the till repeats a call that is not answered, or a frame after a NAK. A request that is
        not acknowledged is never repeated: there is no way to find out whether it was taken.
    :param answer_wait: how long the whole operation may take; the customer is part of it.
    :param full: request the report about the card.
    """

    register: str = "01"
    currency: str = "980"
    connect_wait: float = 5.0
    byte_wait: float = 1.0
    repeats: int = 3
    answer_wait: float = 300.0
    full: bool = True
    force: bool = False


DEFAULTS = Settings()


class _Phase(Enum):
    """The state of the line."""

    IDLE = auto()
    CALLING = auto()
    """ENQ is sent, the request is not."""
    ASKING = auto()
    """The request is sent and not acknowledged."""
    WAITING = auto()
    """The customer pays."""


class ConcertProtocol(Protocol):
    """The till's end of a line: one request at a time, and the terminal's own sessions whenever they come.

    :param late: called with every answer to no request of this line (docs/reference/terminals.md#rule-18); may return
        a Deferred. The answer is acknowledged when that is done.
    """

    log = Logger()

    def __init__(
        self, clock: IReactorTime, settings: Settings, late: Callable[[ConcertAnswer], object] = ignore
    ) -> None:
        self._clock, self._settings, self._late = clock, settings, late
        self._deframer = Deframer()
        self._phase = _Phase.IDLE
        self._asked: ConcertRequest | None = None
        self._keep: Keep | None = None
        self._due: Deferred[ConcertAnswer] | None = None
        self._pinged: Deferred[None] | None = None
        self._answer: ConcertAnswer | None = None
        self._hearing = self._keeping = self._taken = False
        self._left = self._left_to_hear = 0
        self._noise = b""
        self._timer: IDelayedCall | None = None
        self._deadline: IDelayedCall | None = None
        self.gone = False
        self.lost: Deferred[None] = Deferred()
        """Fires when the line is closed."""

    def ask(self, question: ConcertRequest, wait: float, keep: Keep | None = None) -> Deferred[ConcertAnswer]:
        """Call the terminal, send ``question``, and fire with its answer.

        The answer is acknowledged once ``keep`` is done with it.

        :param wait: seconds for the whole exchange from now on.
        :raises ValueError: the amount does not fit; nothing was sent.
        :raises NotReached: nothing was taken: `NotReady`, `Unanswered`, `NotTaken`, `Interrupted`.
        :raises Silent: no answer in time; the outcome is unknown.
        :raises LineLost: as `Silent`, because the line was closed.
        :raises Garbled: as `Silent`, because the answer cannot be read.
        """
        assert self._due is None and self._pinged is None
        question.encode()
        self._asked, self._keep = question, keep
        self._due = due = Deferred[ConcertAnswer](self._abandon)
        self._deadline = self._clock.callLater(wait, self._too_late, wait)
        self._begin()
        return due

    def ping(self) -> Deferred[None]:
        """Call the terminal and hang up when it answers.

        :raises NotReached: it does not, see `ask`.
        """
        assert self._due is None and self._pinged is None
        self._asked = None
        self._pinged = due = Deferred[None](self._abandon)
        self._begin()
        return due

    def interrupt(self) -> bool:
        """End the call; false when it is too late because the request is sent."""
        if self._phase is not _Phase.CALLING:
            return False
        self._say(Signal.EOT)
        self._fail(Interrupted("the call was ended"))
        return True

    def leave(self) -> None:
        """Close the line."""
        stop(self._timer)
        if self.transport is not None:
            self.transport.loseConnection()

    # The till's session.

    def _begin(self) -> None:
        if self.gone:
            self._fail(Unanswered("the line was closed before the call"))
            return
        self._left, self._noise, self._answer, self._taken = self._settings.repeats, b"", None, False
        self._phase = _Phase.CALLING
        if not self._hearing:
            self._call()

    def _call(self) -> None:
        self._say(Signal.ENQ)
        self._wait_for(self._unanswered)

    def _unanswered(self) -> None:
        """The call was not answered in time."""
        if self._left:
            self._left -= 1
            self._call()
            return
        self._say(Signal.EOT)
        heard = f", only {shown(self._noise)}" if self._noise else ""
        self._fail(Unanswered(f"no answer to the call{heard}"))

    def _called(self, signal: Signal) -> None:
        """Handle the answer to the call."""
        if signal is not Signal.ACK:
            self._fail(NotReady("the terminal is busy"))
        elif self._asked is None:
            self._say(Signal.EOT)
            self._phase = _Phase.IDLE
            stop(self._timer)
            pinged, self._pinged = self._pinged, None
            if pinged is not None:
                pinged.callback(None)
        else:
            self._phase, self._left = _Phase.ASKING, self._settings.repeats
            self._send()

    def _send(self) -> None:
        assert self._asked is not None
        self.log.debug("asked: {kind} {cents}", kind=self._asked.kind.name, cents=self._asked.cents)
        self._write(frame(self._asked.encode()))
        self._wait_for(self._unacknowledged)

    def _unacknowledged(self) -> None:
        """Wait for the answer: the terminal may have taken the request without acknowledging it."""
        self.log.warn("the request was not acknowledged")
        self._say(Signal.EOT)
        self._phase = _Phase.WAITING

    def _asking(self, signal: Signal) -> None:
        """Handle the acknowledgement of the request."""
        if signal is Signal.ACK:
            self._say(Signal.EOT)
            self._phase, self._taken = _Phase.WAITING, True
            stop(self._timer)
        elif signal is Signal.NAK and self._left:
            self._left -= 1
            self._send()
        elif signal is Signal.NAK:
            self._say(Signal.EOT)
            self._fail(NotTaken("the terminal could not read the request"))
        # An EOT has no documented meaning here; the acknowledgement is still awaited.

    # The terminal's session.

    def _hear(self) -> None:
        """The terminal opens a session."""
        if self._phase is _Phase.ASKING:
            # It opens a session only after it has read the request.
            self._phase, self._taken = _Phase.WAITING, True
        self._hearing, self._left_to_hear = True, self._settings.repeats
        self._say(Signal.ACK)
        self._wait_for(self._unheard)

    def _unheard(self) -> None:
        """The frame did not come, or is incomplete."""
        if self._deframer.forget() and self._left_to_hear:
            self._again()
        else:
            self._heard()

    def _again(self) -> None:
        self._left_to_hear -= 1
        self._say(Signal.NAK)
        self._wait_for(self._unheard)

    def _heard(self) -> None:
        """End the terminal's session: deliver its answer, or resume a call that it interrupted."""
        self._hearing = False
        stop(self._timer)
        if self._answer is not None:
            self._settle(self._answer)
        elif self._phase is _Phase.CALLING:
            self._call()

    def _message(self, payload: bytes) -> None:
        if self._keeping:
            return  # A repeat of the answer, which is acknowledged once it is stored.
        try:
            answer = ConcertAnswer.decode(payload)
        except Garbled as garbled:
            if self._phase is _Phase.WAITING and self._answer is None:
                self._fail(garbled)
            else:
                self.log.warn("{what}", what=garbled.what)
            return
        self.log.debug("answered: {code} {cents}", code=answer.result_code, cents=answer.cents)
        if self._phase is _Phase.ASKING:
            self._phase = _Phase.WAITING
        asked = self._asked
        if self._phase is _Phase.WAITING and self._answer is None and asked is not None and answer.belongs_to(asked):
            self._store(answer)
            return
        if answer == self._answer:
            self._acknowledge()
        else:
            self._hand_on(answer)

    def _hand_on(self, answer: ConcertAnswer) -> None:
        """Have a late answer kept, then acknowledge it."""

        def not_kept(reason: Failure) -> None:
            if reason.check(LookupError):
                # The terminal may say anything; only a fault of ours is one.
                self.log.warn("a late answer was not kept: {why}", why=reason.getErrorMessage())
            else:
                self.log.failure("a late answer was not kept", reason)

        maybeDeferred(self._late, answer).addCallbacks(lambda _: self._acknowledge(), not_kept)

    def _store(self, answer: ConcertAnswer) -> None:
        """Have the answer kept, then acknowledge it; until then the terminal repeats it."""
        due = self._due
        stop(self._deadline)
        stop(self._timer)
        self._keeping = True

        def kept(_: object) -> None:
            if self._due is not due:
                return
            self._keeping, self._answer = False, answer
            if self.gone:
                self._settle(answer)
            else:
                self._acknowledge()

        def not_kept(reason: Failure) -> None:
            if self._due is due:
                self._fail(reason)

        maybeDeferred(self._keep or ignore, answer).addCallbacks(kept, not_kept)

    def _acknowledge(self) -> None:
        """Acknowledge the frame and wait for the end of the session; silence ends it too."""
        self._hearing = True
        self._say(Signal.ACK)
        self._wait_for(self._heard)

    # Receiving.

    def dataReceived(self, data: bytes) -> None:
        """Take what came and act on every piece of it; what cannot be read is logged once."""
        told = False
        for piece in self._deframer.feed(data):
            match piece:
                case Signal():
                    self._signal(piece)
                case Payload():
                    self._message(piece.data)
                case Damaged():
                    if not told:
                        self.log.warn("a damaged frame of {length} bytes", length=len(piece.data))
                    told = True
                    self._damaged()
                case Noise():
                    if not told:
                        self.log.warn("noise on the line: {noise}", noise=shown(piece.data))
                    told = True
                    self._noise = (self._noise + piece.data)[:64]

    def _damaged(self) -> None:
        """Request the frame again, as often as a frame may be repeated."""
        if self._keeping or self._phase is _Phase.CALLING:
            return
        if not self._hearing:
            self._hearing, self._left_to_hear = True, self._settings.repeats
        if self._left_to_hear:
            self._again()

    def _signal(self, signal: Signal) -> None:
        if self._keeping:
            return
        if signal is Signal.ENQ:
            self._hear()
        elif self._hearing:
            if signal is Signal.EOT:
                self._heard()
        elif self._phase is _Phase.CALLING:
            self._called(signal)
        elif self._phase is _Phase.ASKING:
            self._asking(signal)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Fail the request that waits, unless its answer is here."""
        self.gone = True
        stop(self._timer)
        if self._answer is not None and self._due is not None:
            self._settle(self._answer)
        elif self._phase is _Phase.CALLING:
            self._fail(Unanswered(f"the line was closed: {reason.value}"))
        elif self._due is not None and not self._keeping:
            self._fail(LineLost(str(reason.value)))
        self.lost.callback(None)

    # The end of a question.

    def _too_late(self, wait: float) -> None:
        if self._phase is _Phase.CALLING:
            self._say(Signal.EOT)
            self._fail(Unanswered("no answer to the call"))
        else:
            self._fail(Silent(wait, self._taken))

    def _settle(self, answer: ConcertAnswer) -> None:
        due = self._end()
        if due is not None:
            due.callback(answer)

    def _fail(self, error: WireError | Failure) -> None:
        pinged, self._pinged = self._pinged, None
        due = self._end()
        self.leave()
        reason = error if isinstance(error, Failure) else Failure(error)
        if due is not None:
            due.errback(reason)
        if pinged is not None:
            pinged.errback(reason)

    def _abandon(self, _: object) -> None:
        if self._phase is _Phase.CALLING:
            self._say(Signal.EOT)
        self._pinged = None
        self._end()
        self.leave()

    def _end(self) -> Deferred[ConcertAnswer] | None:
        due, self._due = self._due, None
        self._phase = _Phase.IDLE
        self._asked = self._keep = None
        self._keeping = False
        stop(self._timer)
        stop(self._deadline)
        return due

    def _wait_for(self, silence: Callable[[], None]) -> None:
        """Have ``silence`` called when nothing comes in time."""
        stop(self._timer)
        self._timer = self._clock.callLater(self._settings.byte_wait, silence)

    def _say(self, signal: Signal) -> None:
        self._write(signal.encode())

    def _write(self, data: bytes) -> None:
        if self.transport is not None and not self.gone:
            self.transport.write(data)


class ConcertTerminal:
    """One terminal, with a line of its own for each operation.

    After `NotReached` and its subclasses nothing happened. After any other `WireError` the outcome is unknown and
    cannot be queried: a person has to look at the slip.

    :param endpoint: where the terminal is: a serial port, or any other stream of bytes.
    """

    def __init__(
        self,
        endpoint: IStreamClientEndpoint,
        clock: IReactorTime,
        settings: Settings = DEFAULTS,
        late: Callable[[ConcertAnswer], object] = ignore,
    ) -> None:
        self._endpoint, self._clock, self.settings, self._late = endpoint, clock, settings, late
        self._line: ConcertProtocol | None = None

    async def pay(self, cents: int, private: str = "", keep: Keep | None = None) -> ConcertAnswer:
        """Take ``cents`` from a card."""
        return await self._run(Kind.DEBIT, cents, private, keep)

    async def refund(self, cents: int, private: str = "", keep: Keep | None = None) -> ConcertAnswer:
        """Give ``cents`` back to a card."""
        return await self._run(Kind.CREDIT, cents, private, keep)

    async def cancel(self, cents: int, private: str = "", keep: Keep | None = None) -> ConcertAnswer:
        """Cancel an operation of ``cents``."""
        return await self._run(Kind.CANCEL, cents, private, keep)

    async def ping(self) -> None:
        """Check that the terminal answers.

        :raises NotReached: it does not.
        """
        line = await self._open()
        try:
            await line.ping()
        finally:
            line.leave()

    def interrupt(self) -> bool:
        """Stop the running operation; only possible before the request is sent."""
        return self._line is not None and self._line.interrupt()

    async def _run(self, kind: Kind, cents: int, private: str, keep: Keep | None) -> ConcertAnswer:
        settings = self.settings
        question = ConcertRequest(
            cents,
            kind,
            settings.register,
            settings.full,
            currency=settings.currency,
            private=private,
            force=settings.force,
        )
        line = await self._open()
        try:
            return await line.ask(question, settings.answer_wait, keep)
        finally:
            line.leave()

    async def _open(self) -> ConcertProtocol:
        """A line, once the one before it is closed: a serial port can be opened once."""
        before, self._line = self._line, None
        if before is not None:
            before.leave()
            await before.lost
        line = await open_line(
            self._endpoint,
            lambda: ConcertProtocol(self._clock, self.settings, self._late),
            self._clock,
            self.settings.connect_wait,
        )
        self._line = line
        return line
