"""A reactor whose network and COM ports all lead to one simulated device in memory, on a clock that a test moves.

A driver that opens its line over the given reactor (`protocols.serial`, Twisted's endpoints) needs nothing else:
every address leads to the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionRefusedError, UserError
from twisted.internet.interfaces import IDelayedCall, IProtocol, IProtocolFactory, IReactorTime
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from zope.interface import implementer

from protocols.errors import NotReached
from protocols.serial import ISerialLines, SerialAddress, SerialSettings
from protocols.simulators.in_process import InProcessAddress, Pipe

CONNECTING = 0.001
"""Seconds until a connection is accepted."""

Answering = Callable[[], IProtocol | None]
"""Makes the device's protocol for a connection; `None` refuses it."""


class Weather:
    """What happens to the device's bytes on the line; everything is off at first."""

    def __init__(self) -> None:
        self.calm()

    def calm(self) -> None:
        """All bytes arrive as they were sent."""
        self.one_by_one = False
        """Each byte arrives alone."""
        self.twice = False
        """Everything arrives twice."""
        self.late_s = 0.0
        """Seconds by which bytes are late."""
        self.hang_after = -1
        """The line breaks after this many bytes from the device, from now on; -1 is never."""
        self.noise = b""
        """What arrives once before the next bytes."""
        self.break_when: Callable[[], object] = _never
        """When this is true, bytes are lost and the line breaks."""

    def pass_on(self, pipe: FarPipe, data: bytes, write: Callable[[bytes], None]) -> None:
        """Pass ``data`` on with the disturbances."""
        if self.break_when():
            pipe.loseConnection()
            return
        if self.noise:
            data, self.noise = self.noise + data, b""
        if self.hang_after >= 0:
            if len(data) > self.hang_after:
                write(data[: self.hang_after])
                self.hang_after = 0
                pipe.loseConnection()
                return
            self.hang_after -= len(data)
        if self.twice:
            data += data
        pieces = [data[at : at + 1] for at in range(len(data))] if self.one_by_one else [data]
        for piece in pieces:
            if self.late_s:
                pipe.clock.callLater(self.late_s, write, piece)
            else:
                write(piece)


class NearPipe(Pipe):
    """The driver's end of a line, with the methods that drivers call on a TCP transport."""

    def __init__(self, clock: Clock, lost: Callable[[Failure], object]) -> None:
        super().__init__(clock)
        self._lost = lost
        self.heard = b""
        """What the driver wrote."""

    def write(self, data: bytes) -> None:
        """As any pipe; the driver's bytes are remembered."""
        if not self.disconnecting:
            self.heard += data
        super().write(data)

    def setTcpNoDelay(self, enabled: bool) -> None:
        """There is nothing to wait for in memory."""

    def setTcpKeepAlive(self, enabled: bool) -> None:
        """A line in memory never breaks silently."""

    def _close(self) -> None:
        was_open = not self._closed
        super()._close()
        if was_open:
            self._lost(Failure(ConnectionDone()))

    @property
    def open(self) -> bool:
        """Whether the line is still there."""
        return not self._closed


class FarPipe(Pipe):
    """The device's end of a line, with its disturbances."""

    def __init__(self, clock: Clock, weather: Weather) -> None:
        super().__init__(clock)
        self.clock, self._weather = clock, weather
        self.said = 0
        """How many bytes the device sent."""

    def write(self, data: bytes) -> None:
        """Send ``data`` with the disturbances."""
        self.said += len(data)
        if data:
            self._weather.pass_on(self, bytes(data), super().write)


class Connector:
    """A connection that is being opened."""

    stopped = False

    def stopConnecting(self) -> None:
        """Stop connecting."""
        self.stopped = True

    disconnect = stopConnecting

    def getDestination(self) -> InProcessAddress:
        """The address."""
        return InProcessAddress()


class World(Clock):
    """The time of one desk, and every line on it."""

    def __init__(self) -> None:
        super().__init__()
        self.weather = Weather()
        self.lines: list[NearPipe] = []
        """Every line that was opened, oldest first."""

    @property
    def heard(self) -> int:
        """How many bytes the driver wrote so far, on all lines."""
        return sum(len(line.heard) for line in self.lines)

    @property
    def said(self) -> int:
        """How many bytes the device sent so far, on all lines."""
        return sum(line.other.said for line in self.lines if isinstance(line.other, FarPipe))

    @property
    def open_lines(self) -> int:
        """How many lines are open."""
        return sum(line.open for line in self.lines)

    def hang_up(self) -> None:
        """Break every open line at the device; what was sent before arrives."""
        for line in self.lines:
            if line.other is not None:
                line.other.loseConnection()
        self.advance(0)


@implementer(IReactorTime, ISerialLines)
class DeskReactor:
    """The reactor of one process; nothing happens in a dead process."""

    def __init__(self, world: World, answering: Answering) -> None:
        self._world, self._answering = world, answering
        self.dead = False

    def seconds(self) -> float:
        """As a reactor's."""
        return float(self._world.seconds())

    def callLater(
        self, delay: float, callable: Callable[..., object], *args: object, **kwargs: object
    ) -> IDelayedCall:
        """As a reactor's."""

        def call() -> None:
            if not self.dead:
                callable(*args, **kwargs)

        return self._world.callLater(delay, call)

    def getDelayedCalls(self) -> Sequence[IDelayedCall]:
        """As a reactor's."""
        return self._world.getDelayedCalls()

    def connectTCP(
        self, host: str, port: int, factory: Any, timeout: float = 30, bindAddress: object = None
    ) -> object:
        """As a reactor's; every address leads to the device."""
        connector = Connector()

        def connect() -> None:
            if connector.stopped:
                factory.clientConnectionFailed(connector, Failure(UserError()))
                return
            near = self._open(factory, InProcessAddress(), lambda why: factory.clientConnectionLost(connector, why))
            if near is None:
                factory.clientConnectionFailed(connector, Failure(ConnectionRefusedError()))

        factory.doStart()
        factory.startedConnecting(connector)
        # The device loses a closed line before the next one is open.
        self.callLater(CONNECTING, connect)
        return connector

    def connectSerial(self, settings: SerialSettings, factory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open a COM port; without a device there is no such port.

        :raises NotReached: the Deferred fails with it.
        """
        opened: Deferred[IProtocol] = Deferred()

        def connect() -> None:
            near = self._open(factory, SerialAddress(settings.port), lambda _: None)
            if near is None:
                opened.errback(NotReached(f"{settings.port}: there is no such port"))
            else:
                opened.callback(near)

        self.callLater(CONNECTING, connect)
        return opened

    def _open(self, factory: Any, address: Any, lost: Callable[[Failure], object]) -> IProtocol | None:
        far = self._answering()
        near: IProtocol | None = factory.buildProtocol(address) if far is not None else None
        if far is None or near is None:
            return None
        here, there = NearPipe(self._world, lost), FarPipe(self._world, self._world.weather)
        here.other, there.other = there, here
        here.protocol, there.protocol = near, far
        self._world.lines.append(here)
        far.makeConnection(there)
        near.makeConnection(here)
        return near


def _never() -> bool:
    return False
