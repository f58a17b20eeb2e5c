"""The till's end of a line on which commands bear numbers: Datecs and ICS (docs/reference/registers.md#links).

A register executes a number once. The same number again brings its last answer again, whatever command it carries and
also after a new connection. So the same bytes are sent again when an answer is lost, and a number is never used for a
second command: see `Numbers`, `NumberedLink.greet` and ``again`` of `NumberedLink.ask`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeAlias, TypeVar

from twisted.internet import protocol
from twisted.internet.defer import Deferred, fail
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.hiding import shown
from protocols.registers.troubles import NotTaken

MOST_NOISE = 512
"""Bytes in a row outside frames after which the peer does not speak this protocol."""

log = Logger()


class Sign(Enum):
    """One byte between frames."""

    TAKEN = "ACK"
    REFUSED = "NAK"
    BUSY = "SYN"


@dataclass(frozen=True)
class Damaged:
    """A frame that was cut short or whose sum is wrong."""

    data: bytes


@dataclass(frozen=True)
class Noise:
    """Bytes that belong to no frame."""

    data: bytes


class Numbered(Protocol):
    """A frame."""

    @property
    def number(self) -> int:
        """Of the command; the answer repeats it."""

    @property
    def code(self) -> int:
        """Of the command; the answer repeats it."""


_Frame = TypeVar("_Frame", bound=Numbered)
_Found_co = TypeVar("_Found_co", covariant=True)

Piece: TypeAlias = _Found_co | Sign | Damaged | Noise


class IDeframer(Protocol[_Found_co]):
    """Takes frames and signs out of a stream cut anywhere."""

    @property
    def inside(self) -> bool:
        """Whether a frame has begun and not ended."""

    def feed(self, data: bytes) -> Sequence[Piece[_Found_co]]:
        """Everything that ``data`` completes; never fails."""

    def forget(self) -> Sequence[Piece[_Found_co]]:
        """Drop an incomplete frame: its end did not come in time. What silence proves to be one is returned."""


class Numbers:
    """The numbers of one register's commands, on all its lines.

    :param used: the number used last, when it is known.
    """

    def __init__(self, first: int, last: int, used: int | None = None) -> None:
        self._first, self._last = first, last
        self.used = last if used is None else used

    @property
    def next(self) -> int:
        """The number after the one used last."""
        return self._first if self.used >= self._last else self.used + 1


@dataclass(frozen=True)
class Patience:
    """How long a link waits, in seconds.

    :param reply_wait: for the first byte of an answer, for the next busy signal, and for the next byte of a frame.
        Twice as much behind a converter from TCP to a serial line.
    :param repeats: how often the same bytes are sent again.
    """

    reply_wait: float
    repeats: int

    def doubled(self) -> Patience:
        """For a register behind a converter."""
        return Patience(2 * self.reply_wait, self.repeats)


class NumberedLink(protocol.Protocol, Generic[_Frame]):
    """One command at a time, sent again with the same number until it is answered.

    An answer that comes too late bears another number than the next command, so the line stays open after `Silent`.

    :param numbers: one object for all lines to the same register.
    """

    def __init__(
        self, clock: IReactorTime, deframer: IDeframer[_Frame], numbers: Numbers, patience: Patience
    ) -> None:
        self._clock, self._deframer, self._numbers, self._patience = clock, deframer, numbers, patience
        self._due: Deferred[_Frame] | None = None
        self._frame = b""
        self._number, self._code, self._any_code = 0, 0, False
        self._left = 0
        self._taken = self._unsure = False
        self._noise = b""
        self._began = 0.0
        self._timer: IDelayedCall | None = None
        self._deadline: IDelayedCall | None = None
        self.gone = False
        """Whether the line is closed."""
        self.lost: Deferred[None] = Deferred()
        """Fires when the line is closed."""

    def encode(self, number: int, code: int, data: bytes) -> bytes:
        """The frame of a command."""
        raise NotImplementedError

    def ask(self, code: int, data: bytes, limit: float, again: bool = False) -> Deferred[_Frame]:
        """Send a command and fire with its answer.

        :param limit: seconds for the whole exchange; a busy signal does not make them more.
        :param again: the bytes are those of the last command, whose line broke before its answer, and nothing was
            sent since. They get the same number: a register that has executed them only repeats its answer. One that
            lost its power meanwhile executes them again, so this is for commands that may be executed twice.
        :raises ValueError: the data does not fit; nothing was sent.
        :raises NotReached: nothing was sent, or (`NotTaken`) the register refused every copy; it did nothing.
        :raises Silent: no answer in time; the outcome is unknown.
        :raises LineLost: as `Silent`, because the line was closed.
        :raises Garbled: as `Silent`, because what came is not this protocol or answers another command.
        """
        return self._ask(code, data, limit, again, False)

    def greet(self, code: int, data: bytes, limit: float) -> Deferred[_Frame]:
        """Send the first command of a new line, one that only reads, and take any answer to its number.

        Its number may by chance be the one used last, by a process before this one; then the answer is an old one and
        means nothing. From the second command on no number is the one used last.
        """
        return self._ask(code, data, limit, False, True)

    def leave(self) -> None:
        """Close the line."""
        if self.transport is not None:
            self.transport.loseConnection()

    def _ask(self, code: int, data: bytes, limit: float, again: bool, any_code: bool) -> Deferred[_Frame]:
        assert self._due is None
        if self.gone or self.transport is None:
            return fail(NotReached("the line was closed before the command"))
        number = self._numbers.used if again else self._numbers.next
        self._frame = self.encode(number, code, data)
        self._numbers.used = self._number = number
        self._code, self._any_code = code, any_code
        self._left = self._patience.repeats
        self._taken = self._unsure = False
        self._noise = b""
        self._began = self._clock.seconds()
        self._due = due = Deferred[_Frame](self._abandon)
        self._deadline = self._clock.callLater(limit, self._too_long)
        self._send()
        return due

    def _send(self) -> None:
        log.debug("command {code:02x}, number {number:02x}", code=self._code, number=self._number)
        self._arm()
        assert self.transport is not None
        self.transport.write(self._frame)

    def _arm(self) -> None:
        """Wait for the next byte."""
        if self._timer is not None and self._timer.active():
            self._timer.reset(self._patience.reply_wait)
        else:
            self._timer = self._clock.callLater(self._patience.reply_wait, self._quiet)

    def _quiet(self) -> None:
        """Nothing came in time."""
        due = self._due
        for piece in self._deframer.forget():
            self._piece(piece)
        if self._due is due:
            self._unsure = True
            self._again(Silent(self._clock.seconds() - self._began, self._taken))

    def _again(self, error: WireError) -> None:
        if self._left:
            self._left -= 1
            self._send()
        else:
            self._fail(error)

    def _too_long(self) -> None:
        self._fail(Silent(self._clock.seconds() - self._began, self._taken))

    # Receiving.

    def dataReceived(self, data: bytes) -> None:
        """Act on everything that ``data`` completes."""
        for piece in self._deframer.feed(data):
            if self._due is None:
                log.debug("unasked: {piece}", piece=type(piece).__name__)
            else:
                self._piece(piece)
        if self._due is not None and self._deframer.inside:
            self._arm()

    def _piece(self, piece: Piece[_Frame]) -> None:
        match piece:
            case Sign.REFUSED:
                self._again(Silent(self._clock.seconds() - self._began, True) if self._unsure else NotTaken())
            case Sign():
                self._taken = self._unsure = True
                self._noise = b""
                self._arm()
            case Damaged():
                # The same bytes are sent again when the line is quiet: what follows may belong to this frame.
                log.warn("a damaged frame: {data}", data=shown(piece.data))
                self._unsure = True
            case Noise():
                self._overhear(piece.data)
            case _:
                self._answered(piece)

    def _overhear(self, data: bytes) -> None:
        if not self._noise:
            log.warn("noise on the line: {data}", data=shown(data))
        self._noise = (self._noise + data)[: MOST_NOISE + 1]
        self._unsure = True
        if len(self._noise) > MOST_NOISE:
            self._fail(Garbled("the device does not speak this protocol", self._noise))
            self.leave()

    def _answered(self, frame: _Frame) -> None:
        self._noise = b""
        if frame.number != self._number:
            log.debug("a late answer, number {number:02x}", number=frame.number)
        elif frame.code == self._code or self._any_code:
            due = self._end()
            if due is not None:
                due.callback(frame)
        else:
            self._fail(Garbled(f"the answer to command {frame.code:02X} bears the number of {self._code:02X}"))

    # The end of a command.

    def _fail(self, error: WireError) -> None:
        due = self._end()
        if due is not None:
            due.errback(Failure(error))

    def _abandon(self, _: Deferred[_Frame]) -> None:
        self._end()

    def _end(self) -> Deferred[_Frame] | None:
        due, self._due = self._due, None
        for call in (self._timer, self._deadline):
            if call is not None and call.active():
                call.cancel()
        return due

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        """Fail the command that waits."""
        self.gone = True
        clean = reason.check(ConnectionDone) is not None
        self._fail(LineLost("the register closed the line" if clean else str(reason.value)))
        self.lost.callback(None)
