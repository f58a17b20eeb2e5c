"""Lines between a register and a simulated terminal, in memory and on a clock that tests turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionRefusedError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.internet.task import Clock
from twisted.test.iosim import FakeTransport, IOPump, connect
from zope.interface import implementer

_Value = TypeVar("_Value")

STEP = 0.05
"""Seconds between two looks at the lines while time passes."""

Far = Callable[[], IProtocol | None]


@implementer(IStreamClientEndpoint)
class MemoryEndpoint:
    """Connects whoever asks to a protocol that ``far`` makes; `None` of it is a refused connection."""

    def __init__(self, clock: Clock, far: Far) -> None:
        self.clock, self.far = clock, far
        self.pumps: list[IOPump] = []
        self.heard: list[bytes] = []
        """What the register wrote, one item for each connection."""

    def connect(self, factory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open a line at once."""
        server = self.far()
        client = factory.buildProtocol(None)  # type: ignore[arg-type]
        if server is None or client is None:
            return fail(ConnectionRefusedError())
        number = len(self.heard)
        self.heard.append(b"")
        deliver = server.dataReceived

        def listen(data: bytes) -> None:
            self.heard[number] += data
            deliver(data)

        server.dataReceived = listen  # type: ignore[method-assign]
        near, away = FakeTransport(client, False), FakeTransport(server, True)
        self.pumps.append(connect(server, away, client, near, greet=False, clock=Clock()))
        return succeed(client)

    def flush(self) -> None:
        """Let everything written so far arrive."""
        while any([pump.pump() for pump in self.pumps]):
            self.pumps = [
                each for each in self.pumps if not (each.clientIO.disconnected and each.serverIO.disconnected)
            ]

    def hang_up(self) -> None:
        """Break every open line from the far side."""
        for pump in self.pumps:
            pump.serverIO.loseConnection()
        self.flush()

    def advance(self, seconds: float) -> None:
        """Let time pass, with the lines working."""
        self.flush()
        for _ in range(round(seconds / STEP)):
            self.clock.advance(STEP)
            self.flush()

    def wait(self, result: Deferred[_Value], longest: float = 400.0) -> Deferred[_Value]:
        """Let time pass until ``result`` has come or failed; it is handed back for the test to look at."""
        came: list[bool] = []

        def note(value: object) -> object:
            came.append(True)
            return value

        result.addBoth(note)
        for _ in range(round(longest / STEP)):
            self.flush()
            if came:
                break
            self.clock.advance(STEP)
        self.flush()
        return result
