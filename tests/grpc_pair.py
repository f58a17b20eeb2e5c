"""A gRPC client and its server in memory, with a connection that can be cut at any byte."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionDone, ConnectionLost, ConnectionRefusedError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.internet.protocol import Protocol
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from zope.interface import implementer


class End(StringTransport):
    """One end of the connection: what it wrote waits here until it is carried over."""

    def __init__(self, protocol: Protocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.open = True
        self.written = b""
        """All bytes so far."""

    def taken(self) -> bytes:
        """What was written since the last time."""
        data = bytes(self.value())
        self.clear()
        self.written += data
        return data

    def abortConnection(self) -> None:
        """Throw away what waits, and close."""
        self.clear()
        self.disconnecting = True

    def lose(self, clean: bool) -> None:
        """Tell the protocol that the connection is lost."""
        if self.open:
            self.open = False
            self.protocol.connectionLost(Failure(ConnectionDone() if clean else ConnectionLost()))


class Connection:
    """A connection between two protocols.

    :param upward: bytes that are carried to the server before the connection breaks; `None` for all.
    :param downward: the same to the client.
    """

    def __init__(self, client: Protocol, server: Protocol, upward: int | None, downward: int | None) -> None:
        self.client, self.server = End(client), End(server)
        self.room = {self.client: upward, self.server: downward}
        server.makeConnection(self.server)
        client.makeConnection(self.client)

    def pump(self) -> bool:
        """Carry what was written over; whether there was anything."""
        moved = False
        for end, other in ((self.client, self.server), (self.server, self.client)):
            if not (self.client.open and self.server.open) or other.producerState == "paused":
                continue
            data = end.taken()
            room = self.room[end]
            if room is not None:
                data, self.room[end] = data[:room], room - len(data)
            if data:
                moved = True
                other.protocol.dataReceived(data)
            if (self.room[end] or 0) < 0:
                self.break_off(False)
            elif end.disconnecting and not end.value():
                self.break_off(True)
        return moved

    def break_off(self, clean: bool = False) -> None:
        """Break the connection."""
        self.client.lose(clean)
        self.server.lose(clean)


@implementer(IStreamClientEndpoint)
class PairEndpoint:
    """Connects clients to servers that ``accept`` makes; `None` refuses."""

    def __init__(self, accept: Callable[[], Protocol | None]) -> None:
        self.accept = accept
        self.upward: int | None = None
        self.downward: int | None = None
        self.connections: list[Connection] = []

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect at once."""
        server = self.accept()
        if server is None:
            return fail(ConnectionRefusedError())
        client = protocolFactory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 1))
        assert isinstance(client, Protocol)
        self.connections.append(Connection(client, server, self.upward, self.downward))
        return succeed(client)

    def run(self) -> None:
        """Carry everything over."""
        while any([connection.pump() for connection in self.connections]):
            pass
