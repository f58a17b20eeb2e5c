"""What goes wrong on the line of a simulated register: one fault for one command, chosen by a function.

The function gets the name of the command's class and returns a `Fault` or `None`, so a test names the command and
chaos draws lots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.internet.protocol import Factory
from twisted.internet.task import deferLater

from protocols.registers.numbered import IDeframer, Numbered, Sign
from protocols.registers.numbered_device import DeviceEnd, Played
from protocols.simulators.iron import Iron


class What(Enum):
    """A fault; ``n`` is the amount in it."""

    UNHEARD = auto()
    """The command does not arrive."""
    REFUSED = auto()
    """The command arrives damaged and is asked for again."""
    SLOW = auto()
    """Busy signals for n seconds, then the answer."""
    STORM = auto()
    """n busy signals at once, then the answer."""
    LOST = auto()
    """It is executed and the answer does not arrive."""
    SHORT = auto()
    """It is executed and only the first n bytes of the answer arrive."""
    DAMAGED = auto()
    """It is executed and byte n of the answer arrives with another value."""
    GARBAGE = auto()
    """n bytes of garbage stand before the answer."""
    BROKEN_BEFORE = auto()
    """The line breaks before the command arrives."""
    BROKEN_AFTER = auto()
    """The line breaks after n bytes of the answer."""
    DARK_BEFORE = auto()
    """The power fails before the command is executed, for n seconds."""
    DARK_AFTER = auto()
    """The power fails after the command was executed and before its answer, for n seconds."""


@dataclass(frozen=True)
class Fault:
    """One fault of one command."""

    what: What
    n: float = 0


Steer: TypeAlias = Callable[[str], Fault | None]

NOT_EXECUTED = frozenset({What.UNHEARD, What.REFUSED, What.BROKEN_BEFORE, What.DARK_BEFORE})
DARK = frozenset({What.DARK_BEFORE, What.DARK_AFTER})


def well(_: str) -> Fault | None:
    """Nothing goes wrong."""
    return None


class Line(Protocol):
    """The register's end of a line, as faults see it."""

    def send(self, data: bytes) -> None:
        """Write to the line, while there is one."""

    def sign_busy(self) -> None:
        """Send a busy signal."""

    def hang_up(self) -> None:
        """Close the line."""


class SimulatedRegister(Factory):
    """A simulated register as a factory of its lines.

    :param steer: may be replaced at any time.
    """

    def __init__(self, iron: Iron, clock: IReactorTime, steer: Steer = well) -> None:
        self.iron, self.clock, self.steer = iron, clock, steer
        self.heard: list[str] = []
        """The names of the commands that were executed."""
        self.dark_until = 0.0
        self._lines: list[Any] = []

    def line(self) -> Any:
        """The register's end of a new line."""
        raise NotImplementedError

    def forget(self) -> None:
        """The power was off."""

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """A line; `None` while the power is off."""
        if self.clock.seconds() < self.dark_until:
            return None
        line = self.line()
        self._lines.append(line)
        return line

    def go_dark(self, seconds: float) -> None:
        """Cut the power: every line breaks, and the last command is forgotten."""
        self.dark_until = self.clock.seconds() + seconds
        self.forget()
        self.iron.power_cut()
        lines, self._lines = self._lines, []
        for line in lines:
            line.hang_up()

    def answer(self, line: Line, whole: bytes, fault: Fault | None) -> None:
        """Send an answer, or what a fault leaves of it."""
        match fault:
            case Fault(What.LOST):
                pass
            case Fault(What.SHORT, n):
                line.send(whole[: int(n)])
            case Fault(What.DAMAGED, n):
                place = int(n) % len(whole)
                line.send(whole[:place] + bytes([whole[place] ^ 0x22]) + whole[place + 1 :])
            case Fault(What.GARBAGE, n):
                line.send(b"\x7f" * int(n) + whole)
            case Fault(What.STORM, n):
                for _ in range(int(n)):
                    line.sign_busy()
                line.send(whole)
            case Fault(What.BROKEN_AFTER, n):
                line.send(whole[: int(n)])
                line.hang_up()
            case Fault(What.DARK_AFTER, n):
                self.go_dark(n)
            case _:
                line.send(whole)


_Frame = TypeVar("_Frame", bound=Numbered)


class RegisterDevice(SimulatedRegister, Generic[_Frame]):
    """A register whose commands bear numbers."""

    def __init__(self, iron: Iron, clock: IReactorTime, steer: Steer = well) -> None:
        super().__init__(iron, clock, steer)
        self.played = Played()

    def deframer(self) -> IDeframer[_Frame]:
        """For a new line."""
        raise NotImplementedError

    def name_of(self, frame: _Frame) -> str:
        """The name of a command."""
        raise NotImplementedError

    def obey(self, frame: _Frame) -> bytes:
        """Execute a command; the frame of its answer."""
        raise NotImplementedError

    def forget(self) -> None:
        """The number of the last command is lost with the power."""
        self.played = Played()


class FaultyEnd(DeviceEnd[_Frame]):
    """The register's end of a line on which things go wrong."""

    def __init__(self, device: RegisterDevice[_Frame]) -> None:
        super().__init__(device.clock, device.deframer(), device.played)
        self._device = device
        self._fault: Fault | None = None

    def heard(self, frame: _Frame) -> None:
        """Let go wrong what is to go wrong before the command is executed."""
        if self._played.running:
            super().heard(frame)
            return
        self._fault = fault = self._device.steer(self._device.name_of(frame))
        if fault is None or fault.what not in NOT_EXECUTED:
            super().heard(frame)
        elif fault.what is What.REFUSED:
            self.sign(Sign.REFUSED)
        elif fault.what is What.BROKEN_BEFORE:
            self.hang_up()
        elif fault.what is What.DARK_BEFORE:
            self._device.go_dark(fault.n)

    def execute(self, frame: _Frame) -> Deferred[bytes]:
        """Execute at once; a slow answer waits."""
        answer = self._device.obey(frame)
        self._device.heard.append(self._device.name_of(frame))
        if self._fault is not None and self._fault.what is What.SLOW:
            return deferLater(self._clock, self._fault.n, lambda: answer)
        return succeed(answer)

    def sign_busy(self) -> None:
        """Send a busy signal."""
        self.sign(Sign.BUSY)

    def answer(self, frame: bytes) -> None:
        """Send the answer, or what is left of it."""
        fault, self._fault = self._fault, None
        self._device.answer(self, frame, fault)
