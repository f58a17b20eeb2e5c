"""The device's end of a line on which commands bear numbers: for simulators, and where the service is the register.

See `protocols.registers.numbered`. A number that comes again gets the last answer again and is not executed. While
a command runs, busy signals go out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from twisted.internet import protocol
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.registers.numbered import Damaged, IDeframer, Noise, Numbered, Sign

_Frame = TypeVar("_Frame", bound=Numbered)

log = Logger()


@dataclass
class Played:
    """What a register remembers of its last command, on all its lines."""

    number: int | None = None
    answer: bytes = b""
    running: bool = False
    line: DeviceEnd[Any] | None = None
    """Where the answer of the running command goes."""


class DeviceEnd(protocol.Protocol, Generic[_Frame]):
    """One line of a register.

    :param played: one object for all lines of the register.
    """

    signs: ClassVar[Mapping[Sign, bytes]]
    """The bytes of the signs that this protocol has."""

    busy_every = 0.06

    def __init__(self, clock: IReactorTime, deframer: IDeframer[_Frame], played: Played) -> None:
        self._clock, self._deframer, self._played = clock, deframer, played
        self._busy: IDelayedCall | None = None
        self._gone = False

    def execute(self, frame: _Frame) -> Deferred[bytes]:
        """Execute a command that is new; fire with the whole frame of its answer."""
        raise NotImplementedError

    def dataReceived(self, data: bytes) -> None:
        """Act on every frame that ``data`` completes; the till's end of a damaged one is asked for again."""
        for piece in self._deframer.feed(data):
            match piece:
                case Damaged():
                    # It may hold a password.
                    log.debug("a damaged frame of {length} bytes", length=len(piece.data))
                    self.sign(Sign.REFUSED)
                case Sign() | Noise():
                    pass
                case _:
                    self.heard(piece)

    def heard(self, frame: _Frame) -> None:
        """A command came: execute it, or answer as the last time."""
        if self._played.running:
            if frame.number == self._played.number:
                self._take_over()
            else:
                log.debug("a command while another runs")
        elif frame.number == self._played.number:
            self.answer(self._played.answer)
        else:
            self._played.number, self._played.running, self._played.line = frame.number, True, self
            self.sign(Sign.TAKEN)
            running = self.execute(frame)
            running.addCallbacks(self._done, self._broken)
            if self._played.running:
                self._signal()

    def answer(self, frame: bytes) -> None:
        """Send an answer."""
        self.send(frame)

    def sign(self, sign: Sign) -> None:
        """Send a sign, where this protocol has it."""
        self.send(self.signs.get(sign, b""))

    def send(self, data: bytes) -> None:
        """Write to the line, while there is one."""
        if data and self.transport is not None and not self._gone:
            self.transport.write(data)

    def hang_up(self) -> None:
        """Close the line."""
        self._gone = True
        if self.transport is not None:
            self.transport.loseConnection()

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        """Write nothing more; the command that runs goes on, and its answer is kept."""
        self._gone = True
        self._stop()

    def _take_over(self) -> None:
        """The running command came again, perhaps on another line: it is answered here."""
        if self._played.line is not None:
            self._played.line._stop()
        self._played.line = self
        self._signal()

    def _signal(self) -> None:
        self._busy = self._clock.callLater(self.busy_every, self._signal)
        self.sign(Sign.BUSY)

    def _done(self, answer: bytes) -> None:
        self._played.answer, self._played.running = answer, False
        line, self._played.line = self._played.line or self, None
        line._stop()
        line.answer(answer)

    def _broken(self, reason: Failure) -> None:
        log.failure("a command failed", reason)
        line, self._played.line = self._played.line or self, None
        self._played.number, self._played.running = None, False
        line._stop()

    def _stop(self) -> None:
        if self._busy is not None and self._busy.active():
            self._busy.cancel()
