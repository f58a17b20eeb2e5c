"""What a connection costs the system: it reads once, and writes in one piece."""

from __future__ import annotations

from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.http import HTTPChannel
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request, Site

from web import connection
from web.connection import MOST_SMALL, MOST_UNREAD, SHARE, BoundedChannel, BoundedRequest, Connections

BUFFER = 1 << 16
"""Bytes that a transport keeps before it asks its producer to wait."""


class HeadTests(SynchronousTestCase):
    """The head of an answer."""

    def test_as_twisted_writes_it(self) -> None:
        """It is the same as twisted.web's own, with every value of a header, in one piece."""
        headers = Headers({"Server": ["x"], "set-cookie": ["a=1", "b=2"], "content-length": ["3"]})
        told: list[bytes] = []
        for kind, given in ((BoundedChannel, headers), (HTTPChannel, headers), (BoundedChannel, [(b"a", b"1\n2")])):
            channel = kind()
            channel.transport = transport = StringTransport()
            channel.writeHeaders(b"HTTP/1.1", b"200", b"OK", given)
            told.append(transport.value())
        self.assertEqual(told[0], told[1])
        self.assertEqual(told[2], b"HTTP/1.1 200 OK\r\nA: 1 2\r\n\r\n")


class HostTests(SynchronousTestCase):
    """Our own end of a connection."""

    def test_asked_once(self) -> None:
        """The system is asked for it with the first request, not with each."""
        asked: list[int] = []

        class Transport(StringTransport):
            def getHost(self) -> Any:
                asked.append(1)
                return super().getHost()

        channel = BoundedChannel()
        channel.transport = Transport()
        self.assertEqual(channel.getHost(), channel.getHost())
        self.assertEqual(len(asked), 1)


class Large(Resource):
    """Answers each request with 64 KB and one byte, at once or when asked to."""

    isLeaf = True

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0
        self.took = 0.0
        self.clock = Clock()
        self.waiting: list[Request] | None = None

    def render(self, request: Request) -> bytes | int:
        """The answer."""
        self.asked += 1
        self.clock.advance(self.took)
        if self.waiting is not None:
            self.waiting.append(request)
            return NOT_DONE_YET
        return b"x" * (BUFFER + 1)


class Slow(StringTransport):
    """A transport whose other end reads only when it is told to."""

    aborted = False

    def write(self, data: bytes) -> None:
        """Keep ``data``; with too much of it the producer has to wait."""
        super().write(data)
        if len(self.value()) > BUFFER and self.producer is not None:
            self.producer.pauseProducing()

    def writeSequence(self, data: Any) -> None:
        """As `write`."""
        self.write(b"".join(data))

    def read(self) -> bytes:
        """All that is there, after which there is room again."""
        data: bytes = self.value()
        self.clear()
        assert self.producer is not None
        self.producer.resumeProducing()
        return data

    def abortConnection(self) -> None:
        """The server has ended the connection."""
        self.aborted = True
        super().abortConnection()


GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class BoundedSite(Site):
    """A site with our connections."""

    protocol: Any = BoundedChannel

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.connections = Connections()


class _SiteCase(SynchronousTestCase):
    """A site with large answers, and connections to it."""

    def setUp(self) -> None:
        """A site that answers much."""
        self.large = Large()
        self.site = BoundedSite(self.large, requestFactory=BoundedRequest, timeout=600, reactor=self.large.clock)

    def connect(self, host: str = "192.0.2.1") -> tuple[Any, Slow]:
        """A connection: the server's end, and the transport."""
        address = IPv4Address("TCP", host, 50000)
        channel: Any = self.site.buildProtocol(address)
        transport = Slow(peerAddress=address)
        channel.callLater = self.large.clock.callLater
        channel.makeConnection(transport)
        self.addCleanup(self.lose, channel)
        return channel, transport

    def lose(self, channel: Any) -> None:
        """The connection is closed."""
        if channel.transport is not None:
            channel.connectionLost(Failure(ConnectionDone()))
            channel.transport = None


class UnreadTests(_SiteCase):
    """Requests that come faster than their answers are read."""

    def test_pipeline(self) -> None:
        """Of 3,000 requests at once one is answered, and the next one when that answer was read."""
        channel, transport = self.connect()
        channel.dataReceived(GET * 3000)
        self.assertEqual((self.large.asked, transport.producerState), (1, "paused"))
        self.large.clock.advance(1)
        self.assertEqual(self.large.asked, 1)
        for answered in range(2, 12):
            self.assertLess(len(transport.read()), BUFFER + 500)
            self.assertEqual(self.large.asked, answered)

    def test_read_at_once(self) -> None:
        """A caller that reads gets every answer of a pipeline."""
        channel, transport = self.connect()
        channel.dataReceived(GET * 50)
        told = b""
        for _ in range(50):
            told += transport.read()
        self.assertEqual((self.large.asked, told.count(b"HTTP/1.1 200 OK")), (50, 50))
        self.assertEqual(transport.producerState, "producing")

    def test_answered_later(self) -> None:
        """It is the same when answers are not ready at once, and requests come meanwhile."""
        self.large.waiting = []
        channel, transport = self.connect()
        channel.dataReceived(GET * 2)
        channel.dataReceived(GET)
        for answered in (1, 2, 3):
            self.assertEqual(self.large.asked, answered)
            self.large.waiting.pop().write(b"y" * (BUFFER + 1))
            self.assertEqual(transport.producerState, "paused")
            [request] = channel.requests
            request.finish()
            self.assertEqual(self.large.asked, answered)
            transport.read()
        self.assertEqual(self.large.asked, 3)

    def test_others_have_their_turn(self) -> None:
        """Requests that came at once are answered for a moment, the rest in later turns."""
        channel, transport = self.connect()
        self.patch(transport, "write", lambda data: None)
        self.large.took = 0.6 * SHARE
        answered, rested = [], channel._rested

        def turn() -> None:
            answered.append(self.large.asked)
            rested()

        self.patch(channel, "_rested", turn)
        channel.dataReceived(GET * 10)
        self.assertEqual(self.large.asked, 2)
        self.large.clock.advance(0)
        self.assertEqual((answered, self.large.asked), ([2, 4, 6, 8], 10))

    def test_idle_afterwards(self) -> None:
        """A connection whose answer was read slowly serves a request after a long pause."""
        channel, transport = self.connect()
        channel.dataReceived(GET)
        transport.read()
        self.large.clock.advance(connection.REQUEST_PATIENCE + 1)
        channel.dataReceived(GET)
        self.assertEqual((self.large.asked, transport.aborted), (2, False))

    def test_line_end_afterwards(self) -> None:
        """A lone end of line after a request begins none that would have to arrive in time."""
        channel, transport = self.connect()
        channel.dataReceived(GET + b"\r\n")
        transport.read()
        self.large.clock.advance(connection.REQUEST_PATIENCE + 1)
        channel.dataReceived(GET)
        self.assertEqual((self.large.asked, transport.aborted), (2, False))

    def test_many_unread(self) -> None:
        """Of one address a few connections may have answers that are not read; the oldest is ended then."""
        pairs = [self.connect() for _ in range(MOST_UNREAD + 1)]
        for channel, _ in pairs:
            channel.dataReceived(GET)
        self.assertEqual([transport.aborted for _, transport in pairs], [True] + [False] * MOST_UNREAD)
        self.lose(pairs[0][0])
        pairs[1][1].read()
        another, _ = self.connect()
        another.dataReceived(GET)
        self.assertFalse(any(transport.aborted for _, transport in pairs[1:]))

    def test_small_chunks(self) -> None:
        """A body of very many tiny chunks is refused at once."""
        channel, transport = self.connect()
        channel.dataReceived(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        channel.dataReceived(b"1\r\nx\r\n" * MOST_SMALL)
        self.assertEqual(transport.value(), b"")
        channel.dataReceived(b"1\r\nx\r\n" * 5)
        self.assertTrue(transport.value().startswith(b"HTTP/1.1 400"))
        self.assertEqual(self.large.asked, 0)


class CountTests(_SiteCase):
    """How many connections there may be."""

    def test_one_address(self) -> None:
        """A further connection of one address ends the one of it that was idle for longest, none of others."""
        self.patch(connection, "MOST_OF_ONE", 3)
        other, ours = self.connect("192.0.2.2"), [self.connect() for _ in range(3)]
        self.large.clock.advance(1)
        self.large.waiting = []
        ours[0][0].dataReceived(GET)
        ours.append(self.connect())
        self.assertEqual([transport.aborted for _, transport in (other, *ours)], [False, False, True, False, False])

    def test_all(self) -> None:
        """Of all connections it is the same; where each has a request under way, the newest is ended."""
        self.patch(connection, "MOST_CONNECTIONS", 3)
        pairs = [self.connect(f"192.0.2.{n}") for n in range(3)]
        self.large.waiting = []
        for channel, _ in pairs:
            channel.dataReceived(GET)
        pairs.append(self.connect("192.0.2.9"))
        self.assertEqual([transport.aborted for _, transport in pairs], [False, False, False, True])
        self.lose(pairs[3][0])
        self.lose(pairs[0][0])
        self.assertFalse(self.connect("192.0.2.9")[1].aborted)
