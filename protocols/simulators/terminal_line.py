"""What the simulated terminals of several wires share: callers that are turned away, and lines that break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from twisted.internet.interfaces import IAddress, IDelayedCall, IReactorTime
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.python.failure import Failure

from protocols.simulators.scenario import Then
from protocols.simulators.terminal import Terminal
from protocols.terminals.lines import stop

UNHEARD = frozenset({Then.SILENT, Then.LOST_BEFORE})
"""Fates at which a wire does not even acknowledge the request."""

_Line = TypeVar("_Line", bound=Protocol)


class TerminalDevice(Factory, Generic[_Line]):
    """A simulated terminal as a factory; its lines come and go.

    :param terminal: holds the state; its scenario decides what goes wrong.
    :param clock: for pauses; the same one that the terminal has.
    """

    def __init__(self, terminal: Terminal, clock: IReactorTime) -> None:
        self.terminal, self.clock = terminal, clock

    def line(self) -> _Line:
        """The terminal's end of a new line."""
        raise NotImplementedError

    def buildProtocol(self, addr: IAddress | None) -> _Line | None:
        """A line for a caller; `None` turns the caller away because the scenario says `unreachable`."""
        return self.line() if self.terminal.takes_call() else None


class TerminalLine(Protocol):
    """The terminal's end of one line."""

    garbage = b""
    """What the scenario's `garbage` sends."""
    _gone = False
    _timer: IDelayedCall | None = None

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Write nothing more; the operation that runs goes on."""
        self._gone = True
        stop(self._timer)

    def suffer(self, line: Then) -> None:
        """Do to the line what the scenario wants instead of an answer."""
        if line is Then.GARBAGE:
            self._write(self.garbage)
        elif line is not Then.SILENT:
            self._hang_up()

    def _later(self, clock: IReactorTime, seconds: float, act: Callable[[], object]) -> None:
        """Call ``act`` later, instead of what was to be called before."""
        stop(self._timer)
        self._timer = clock.callLater(seconds, act)

    def _write(self, data: bytes) -> None:
        if self.transport is not None and not self._gone:
            self.transport.write(data)

    def _hang_up(self) -> None:
        self._gone = True
        stop(self._timer)
        if self.transport is not None:
            self.transport.loseConnection()
