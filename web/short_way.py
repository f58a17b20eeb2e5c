"""The short way of an ordinary task: a sale needs little of what HTTP can do, and every sale passes here.

`ShortChannel` takes a POST to a task endpoint that arrived as a whole, with usual headers only, and that no rule of
the site concerns. Everything else goes the way of `twisted.web`, and so does what comes while a task runs. Both ways
give the same bytes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from time import time
from typing import Any

from twisted.internet.tcp import Server
from twisted.python.failure import Failure
from twisted.web.http import INTERNAL_SERVER_ERROR, OK, datetimeToString, parse_qs
from twisted.web.server import version

from dmtwisted.system.logs import new_request_id
from web.connection import BoundedChannel
from web.tasks import Asked, TaskResource, log

USUAL = frozenset(
    (
        *(b"host", b"content-length", b"content-type", b"connection", b"user-agent", b"x-request-id"),
        *(b"accept", b"accept-charset", b"accept-encoding", b"accept-language", b"cache-control", b"pragma"),
    )
)
"""Headers that change nothing, or only what `Head` and `Asked` know of."""

LONGEST_HEAD, MOST_HEADERS = 4096, 30
"""Bytes and headers of a head for the short way; twisted.web allows more."""

_HEAD = re.compile(rb"POST (/[!-~]*) HTTP/1\.1\r\n((?:[A-Za-z-]+:[^\x00-\x1f\x7f]*\r\n){1,%d})\r\n" % MOST_HEADERS)
_LENGTH = re.compile(rb"\r\ncontent-length: ?([0-9]{1,7})\r\n", re.IGNORECASE)
_MOST_DIGITS = 7
_KEEP = b"keep-alive"

_ALWAYS = (
    b"Server: %b\r\nDate: %%b\r\nAccess-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: x-request-id\r\n"
    % version
)
_DONE = (
    b"HTTP/1.1 200 OK\r\n%b"
    b"Content-Type: application/json\r\nContent-Length: %%d\r\nX-Request-Id: %%b\r\n\r\n%%b" % _ALWAYS
)
_BROKEN = (
    b"HTTP/1.1 500 Internal Server Error\r\n%bContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    % _ALWAYS
)


class Head:
    """The head of an ordinary request, whatever length it names: a till sends the same one again and again."""

    def __init__(self, target: bytes, headers: dict[bytes, bytes], before: bytes, after: bytes) -> None:
        self.path, asks, query = target.partition(b"?")
        self.args: dict[bytes, list[bytes]] = parse_qs(query, 1) if asks else {}
        self._headers = headers
        self._before, self._after, self._start = before, after, len(before)
        self.host = headers.get(b"host")
        self.asked: Asked | None = None
        """What it says about the task; known when it is known which endpoint it leads to."""

    @classmethod
    def of(cls, data: bytes) -> Head | None:
        """The head that ``data`` begins with; `None` when it is not an ordinary one."""
        found = _HEAD.match(data, 0, LONGEST_HEAD)
        length = None if found is None else _LENGTH.search(data, 0, found.end())
        if found is None or length is None:
            return None
        headers: dict[bytes, bytes] = {}
        for line in found[2].split(b"\r\n")[:-1]:
            name, _, value = line.partition(b":")
            name = name.lower()
            if name in headers or name not in USUAL:
                return None
            headers[name] = value.strip(b" ")
        if headers.get(b"connection", _KEEP).lower() != _KEEP:
            return None
        return cls(found[1], headers, data[: length.start(1)], data[length.end(1) : found.end()])

    def body_in(self, data: bytes) -> bytes | None:
        """The body, when ``data`` is a whole request with this head."""
        if not data.startswith(self._before):
            return None
        end = data.find(b"\r", self._start, self._start + _MOST_DIGITS + 1)
        length = data[self._start : end]
        if end < 0 or not length.isdigit() or not data.startswith(self._after, end):
            return None
        body = data[end + len(self._after) :]
        return body if 0 < len(body) == int(length) else None

    def getHeader(self, name: bytes) -> bytes | None:
        """As of a request of Twisted."""
        return self._headers.get(name)

    def getCookie(self, name: bytes) -> None:
        """As of a request of Twisted: an ordinary one has no cookie."""


class ShortRequest:
    """A request on the short way, as far as its task asks for it."""

    __slots__ = ("_date", "channel", "code", "finished", "getCookie", "getHeader", "name")

    def __init__(self, channel: ShortChannel, head: Head, name: str) -> None:
        self.channel: ShortChannel | None = channel
        self.name, self.code, self.finished = name, OK, 0
        self.getHeader, self.getCookie = head.getHeader, head.getCookie
        self._date = _date(int(time()))

    def send(self, answer: bytes) -> None:
        """Send the answer, unless the client has disconnected; the task was done all the same."""
        self._end(_DONE % (self._date, len(answer), self.name.encode(), answer))

    def broken(self, reason: Failure) -> None:
        """A task is answered whatever happens to it; this is an error of the answering itself."""
        log.failure("a task could not be answered", reason)
        self.code = INTERNAL_SERVER_ERROR
        self._end(_BROKEN % self._date)

    def _end(self, whole: bytes) -> None:
        channel, self.channel = self.channel, None
        if channel is not None:
            self.finished = int(channel.send(whole))
            channel.answered(self)

    def connectionLost(self, reason: Failure) -> None:
        """The client has disconnected."""
        self.channel = None


class ShortChannel(BoundedChannel):
    """A connection that takes ordinary tasks the short way."""

    transport: Any
    _head: Head | None = None

    def dataReceived(self, data: bytes) -> None:
        """Begin a task, if ``data`` is one and nothing else is under way."""
        if (
            self.working
            or self._begun is not None
            or self._buffer
            or self.paused
            or self._busyReceiving
            or self.transport.disconnecting
            or not self._takes(data)
        ):
            super().dataReceived(data)

    def _takes(self, data: bytes) -> bool:
        head = self._head
        body = None if head is None else head.body_in(data)
        if head is None or body is None:
            head = Head.of(data)
            body = None if head is None else head.body_in(data)
            if head is None or body is None:
                return False
        task: TaskResource | None = self.factory.task_for(head)
        if task is None:
            return False
        asked = head.asked
        if asked is None:
            asked = head.asked = task.asked(head)
            self._head = head
        # From here on it is as if twisted.web had read the request: what comes meanwhile waits, with its limits.
        self._turn = self.heard = self._now()
        self.working = self._handlingRequest = True
        self._savedTimeOut = self.setTimeout(None)
        self.setRawMode()
        request = ShortRequest(self, head, asked.name or new_request_id())
        self.requests.append(request)
        task.begin(request, request.name, asked, body).addCallback(request.send).addErrback(request.broken)
        return True

    def send(self, data: bytes) -> bool:
        """Send ``data``, at once as much as the system takes: to wait for the next turn costs more than to send.

        :returns: false when the connection turns out to be lost.
        """
        transport, alive = self.transport, True
        if isinstance(transport, Server) and not (
            transport.dataBuffer or transport._tempDataBuffer or transport.disconnecting
        ):
            sent = transport.writeSomeData(data)
            if isinstance(sent, int):
                data = data[sent:]
            else:
                # It shows again when Twisted writes, and is handled there.
                alive = False
        if data:
            transport.write(data)
        return alive

    def answered(self, request: ShortRequest) -> None:
        """The answer was written."""
        if self._dataBuffer:
            self.requestDone(request)
            return
        # Nothing came meanwhile, so nothing was paused, and this is all that is left to do.
        self.requests.clear()
        self.working = self._handlingRequest = False
        self.setLineMode()
        self.setTimeout(self._savedTimeOut)


@lru_cache(maxsize=4)
def _date(second: int) -> bytes:
    """The header `Date`; many answers have the same second."""
    date: bytes = datetimeToString(second)
    return date
