"""What a connection and a request may cost: time, length, memory."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

from twisted.web.http import HTTPChannel
from twisted.web.http import Request as HTTPRequest
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


class BoundedRequest(Request):
    """A request that keeps at most one byte more than is accepted; it reads the rest of a body and drops it.

    So a caller that sends too much still gets the reason, at no cost of memory.
    """

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
        content = self.content
        assert content is not None
        room = MAX_BODY + 1 - content.tell()
        if room > 0:
            content.write(data[:room])


class BoundedChannel(HTTPChannel):
    """A connection whose requests arrive in time and have a plausible length."""

    _begun: float | None = None
    _working = False
    _host: Any = None

    def getHost(self) -> Any:
        """The local address. Each request asks for it; the system is asked once."""
        if self._host is None:
            self._host = super().getHost()
        return self._host

    def dataReceived(self, data: bytes) -> None:
        """Bytes of a request; a request that takes too long to arrive is aborted."""
        if not self._working:
            now = self._now()
            if self._begun is None:
                self._begun = now
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
        self._begun, self._working = None, True
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

    def requestDone(self, request: HTTPRequest) -> None:
        """The answer was sent."""
        self._working = False
        super().requestDone(request)

    def _now(self) -> float:
        return float(self.factory.reactor.seconds())
