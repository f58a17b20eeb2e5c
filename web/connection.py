"""What a connection and a request may cost: time, length, memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import BytesIO
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.protocol import connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.http import HTTPChannel, _MalformedChunkedDataError
from twisted.web.http_headers import Headers
from twisted.web.server import Request

from dmtwisted.access.roles import NOBODY
from dmtwisted.requests import MAX_BODY

IDLE_CONNECTION = 120.0
"""Seconds that a connection may stay open without a request."""

REQUEST_PATIENCE = 60.0
"""Seconds within which a whole request has to arrive."""

LONGEST_LENGTH = 64
"""Bytes that a `Content-Length` header may have."""

_ABSOLUTE = re.compile(rb"https?://([^/?#]*)([^#]*).*", re.IGNORECASE | re.DOTALL)

SMALL_CHUNK, MOST_SMALL = 32, 4096
"""Bytes of a small piece of a body that comes in chunks, and how many of them there may be: each costs the same as a
large one."""

SHARE = 0.02
"""Seconds that a connection with waiting requests may have at once; then others come first."""

MOST_CONNECTIONS, MOST_OF_ONE = 480, 240
"""Open connections, and those of one address; a further one ends the one that was idle for longest."""

MOST_UNREAD = 16
"""Connections of one address that may wait for their answers to be read. Each keeps one answer, as nothing more is
read of a caller that does not read."""


class BoundedRequest(Request):
    """A request that keeps at most one byte more than is accepted; it reads the rest of a body and drops it.

    So a caller that sends too much still gets the reason, at no cost of memory.
    """

    _small = 0
    from_known_origin = False
    """Whether it comes from a page that the configuration lists; the gate sets it."""

    permit = NOBODY
    """What its caller may do; the gate sets it."""

    def gotLength(self, length: int | None) -> None:
        """The body begins: it stays in memory, for it is bounded."""
        self.content = BytesIO()

    def requestReceived(self, command: bytes, path: bytes, version: bytes) -> None:
        """The request is whole. A target with a host in it replaces the header `Host` (RFC 9112, 3.2.2)."""
        found = None if path.startswith(b"/") else _ABSOLUTE.fullmatch(path)
        if found is not None:
            self.requestHeaders.setRawHeaders(b"host", [found[1]])
            path = found[2] if found[2].startswith(b"/") else b"/" + found[2]
        super().requestReceived(command, path, version)

    def handleContentChunk(self, data: bytes) -> None:
        """A piece of the body."""
        if len(data) < SMALL_CHUNK:
            self._small += 1
            if self._small > MOST_SMALL:
                raise _MalformedChunkedDataError("too many small chunks")
        content = self.content
        assert content is not None
        room = MAX_BODY + 1 - content.tell()
        if room > 0:
            content.write(data[:room])


class Connections:
    """The open connections of a site."""

    log = Logger()

    def __init__(self) -> None:
        self._open: dict[str, dict[BoundedChannel, None]] = {}
        self._unread: dict[str, dict[BoundedChannel, None]] = {}
        self._count = 0

    def came(self, channel: BoundedChannel) -> None:
        """A connection was opened; if there are too many now, one is ended."""
        own = self._open.setdefault(channel.address, {})
        own[channel] = None
        self._count += 1
        if len(own) > MOST_OF_ONE:
            self._end_one(list(own), channel)
        elif self._count > MOST_CONNECTIONS:
            self._end_one([one for each in self._open.values() for one in each], channel)

    def went(self, channel: BoundedChannel) -> None:
        """A connection was closed."""
        self._count -= 1
        for of in (self._open, self._unread):
            own = of.get(channel.address, {})
            own.pop(channel, None)
            if not own:
                of.pop(channel.address, None)

    def waits(self, channel: BoundedChannel) -> None:
        """A connection has an answer that is not read; if an address has too many of them, the oldest is ended."""
        own = self._unread.setdefault(channel.address, {})
        own[channel] = None
        if len(own) > MOST_UNREAD:
            oldest = next(iter(own))
            self.log.warn("{address}: answers are not read, a connection is ended", address=channel.address)
            oldest.end()

    def reads(self, channel: BoundedChannel) -> None:
        """The caller has read its answers."""
        self._unread.get(channel.address, {}).pop(channel, None)

    def _end_one(self, among: list[BoundedChannel], newest: BoundedChannel) -> None:
        idle = [one for one in among if not one.working and one is not newest]
        ended = min(idle, key=lambda one: one.heard, default=newest)
        self.log.warn("{address}: too many connections, one is ended", address=ended.address)
        ended.end()


class BoundedChannel(HTTPChannel):
    """A connection whose requests arrive in time and have a plausible length.

    Nothing more is read or answered while the caller does not read its answers, and of many requests that came at
    once only some are answered before others have their turn.
    """

    _begun: float | None = None
    working = False
    """Whether a request is being answered."""
    heard = 0.0
    """When something came."""
    address = ""
    _now: Callable[[], float]
    _host: Any = None
    _turn = 0.0
    _resting: IDelayedCall | None = None
    _due: float | None = None
    """When it has been idle for too long; `None` while a request is answered, and afterwards."""
    _timer: IDelayedCall | None = None

    def getHost(self) -> Any:
        """The local address. Each request asks for it; the system is asked once."""
        if self._host is None:
            self._host = super().getHost()
        return self._host

    def connectionMade(self) -> None:
        """The connection is open."""
        self._now = self.factory.reactor.seconds
        super().connectionMade()
        self.address, self.heard = str(getattr(self.getPeer(), "host", "")), self._now()
        self._connections.came(self)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is closed; what has come and was not begun is forgotten."""
        self._buffer = b""
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None
        self._connections.went(self)
        super().connectionLost(reason)
        if self._timer is not None and self._timer.active():
            self._timer.cancel()

    def setTimeout(self, period: int | None) -> int | None:
        """As in Twisted. One timer stays and looks for itself when the time is over, because requests are many."""
        before, self.timeOut = self.timeOut, period
        if period is None:
            self._due = None
        else:
            self._due = self._now() + period
            if self._timer is None:
                self._timer = self.callLater(period, self._look_at_the_time)
        return before

    def resetTimeout(self) -> None:
        """The time begins anew, if it is not over."""
        if self._due is not None and self.timeOut is not None:
            self._due = self._now() + self.timeOut

    def _look_at_the_time(self) -> None:
        self._timer = None
        if self._due is None:
            return
        left = self._due - self._now()
        if left > 0:
            self._timer = self.callLater(left, self._look_at_the_time)
        else:
            self._due = None
            self.timeoutConnection()

    def dataReceived(self, data: bytes) -> None:
        """Bytes of a request; a request that takes too long to arrive is aborted."""
        if not self.working:
            now = self._now()
            if not self._busyReceiving:
                self._turn = self.heard = now
            if self._begun is None:
                # A lone end of line after a request begins no other one.
                self._begun = now if data.strip(b"\r\n") else None
            elif now - self._begun > REQUEST_PATIENCE:
                self.forceAbortClient()
                return
        super().dataReceived(data)

    def lineReceived(self, line: bytes) -> None:
        """A line of the head; one that continues the header before it is refused, as proxies read it differently."""
        if line[:1] in (b" ", b"\t"):
            self._respondToBadRequestAndDisconnect()
            return
        super().lineReceived(line)

    def headerReceived(self, line: bytes) -> bool:
        """A header; a length with too many digits is refused before it is parsed."""
        if len(line) > LONGEST_LENGTH and line[:15].lower() == b"content-length:":
            self._respondToBadRequestAndDisconnect()
            return False
        return bool(super().headerReceived(line))

    def allContentReceived(self) -> None:
        """The request is whole; its answer may take any time."""
        self._begun, self.working = None, True
        super().allContentReceived()

    def writeHeaders(self, version: bytes, code: bytes, reason: bytes, headers: Any) -> None:
        """The head of an answer in one write, because each write costs the transport the same."""
        if not isinstance(headers, Headers):
            super().writeHeaders(version, code, reason, headers)
            return
        head = [version, b" ", code, b" ", reason, b"\r\n"]
        for name, values in headers.getAllRawHeaders():
            for value in values:
                head += (name, b": ", value, b"\r\n")
        head.append(b"\r\n")
        assert self.transport is not None
        self.transport.write(b"".join(head))

    def requestDone(self, request: Any) -> None:
        """The answer was sent."""
        self.working = False
        if (self._buffer or self._dataBuffer) and self._resting is None and self._now() - self._turn > SHARE:
            self.paused = True
            self._resting = self.callLater(0, self._rested)
        super().requestDone(request)

    def _rested(self) -> None:
        self._resting = None
        self._go_on()

    def pauseProducing(self) -> None:
        """The caller does not read: it gets no further answer, and nothing more of it is read."""
        super().pauseProducing()
        self.paused = True
        self._networkProducer.pauseProducing()
        self._connections.waits(self)

    def resumeProducing(self) -> None:
        """The caller has read."""
        super().resumeProducing()
        self._networkProducer.resumeProducing()
        self._connections.reads(self)
        self._go_on()

    def _go_on(self) -> None:
        """Take the requests that have come, unless there is a reason to wait."""
        if not self._waitingForTransport and self._resting is None:
            self.paused = False
            if self._buffer:
                self.dataReceived(b"")

    def end(self) -> None:
        """End the connection now, whatever was not sent."""
        transport: Any = self.transport
        transport.abortConnection()

    @property
    def _connections(self) -> Connections:
        connections: Connections = self.factory.connections
        return connections
