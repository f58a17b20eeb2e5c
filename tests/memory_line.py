"""Connections between a register and a simulated terminal, in memory and on a simulated clock."""

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
"""Seconds of one step while time passes."""

Accept = Callable[[], IProtocol | None]


@implementer(IStreamClientEndpoint)
class MemoryEndpoint:
    """Connects each client to a protocol that ``accept`` makes; if it makes `None`, the connection is refused."""

    def __init__(self, clock: Clock, accept: Accept) -> None:
        self.clock, self.accept = clock, accept
        self.pumps: list[IOPump] = []
        self.sent: list[bytes] = []
        """The bytes that the register sent, one item for each connection."""

    def connect(self, factory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect at once."""
        server = self.accept()
        client = factory.buildProtocol(None)  # type: ignore[arg-type]
        if server is None or client is None:
            return fail(ConnectionRefusedError())
        number = len(self.sent)
        self.sent.append(b"")
        deliver = server.dataReceived

        def record(data: bytes) -> None:
            self.sent[number] += data
            deliver(data)

        server.dataReceived = record  # type: ignore[method-assign]
        local, remote = FakeTransport(client, False), FakeTransport(server, True)
        self.pumps.append(connect(server, remote, client, local, greet=False, clock=Clock()))
        return succeed(client)

    def flush(self) -> None:
        """Deliver all bytes written so far."""
        while any([pump.pump() for pump in self.pumps]):
            self.pumps = [
                each for each in self.pumps if not (each.clientIO.disconnected and each.serverIO.disconnected)
            ]

    def hang_up(self) -> None:
        """Break every open connection at the remote end."""
        for pump in self.pumps:
            pump.serverIO.loseConnection()
        self.flush()

    def advance(self, seconds: float) -> None:
        """Let time pass while bytes are delivered."""
        self.flush()
        for _ in range(round(seconds / STEP)):
            self.clock.advance(STEP)
            self.flush()

    def wait(self, result: Deferred[_Value], longest: float = 400.0) -> Deferred[_Value]:
        """Let time pass until ``result`` has fired; return it."""
        fired: list[bool] = []

        def note(value: object) -> object:
            fired.append(True)
            return value

        result.addBoth(note)
        for _ in range(round(longest / STEP)):
            self.flush()
            if fired:
                break
            self.clock.advance(STEP)
        self.flush()
        return result
