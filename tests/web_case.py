"""HTTP requests to a service in memory: bytes in, bytes out, no network.

`Connection` is the client's end of a connection to the real `Door`: the same code parses HTTP, checks limits and
keeps connections open as for a client on the network.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from io import StringIO
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.interfaces import IReactorTime
from twisted.internet.testing import StringTransport
from twisted.logger import globalLogPublisher
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.system.logs import observer
from tests.contract import contract
from tests.shop import Shop
from web.site import Door

EXECUTE = "/dm/execute"
DEVICES = "/dm/api/v3/devices"

JSON_TYPE = ("Content-Type", "application/json")
"""The content type that every till sends."""

Headers = Iterable[tuple[str, str]]
PIECE = 1 << 16
"""How many bytes arrive at once, as from a socket."""


@dataclass(frozen=True)
class HttpAnswer:
    """One answer as received; the names in ``headers`` are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header that may occur at most once; `None` without it."""
        found = [value for known, value in self.headers if known == name]
        assert len(found) < 2, f"{name} came twice: {found}"
        return found[0] if found else None

    @property
    def json(self) -> Any:
        """The decoded body: whole numbers as `int`, numbers with a fraction as `Decimal`, with their digits."""
        return exact_json(self.body)


def exact_json(text: bytes | str) -> Any:
    """``text`` decoded so that the spelling of each number shows: ``2`` is an `int`, ``2.0`` a `Decimal`.

    A name that occurs twice in an object is an error.
    """
    return json.loads(text, parse_float=Decimal, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    assert len(members) == len(pairs), f"a name stands twice: {[name for name, _ in pairs]}"
    return members


def request_bytes(method: str, path: str, body: bytes = b"", headers: Headers = ()) -> bytes:
    """A request with ``Host`` and ``Content-Length``, unless they are in ``headers``."""
    lines = list(headers)
    names = {name.lower() for name, _ in lines}
    if "host" not in names:
        lines.insert(0, ("Host", "localhost:3939"))
    if body and not names & {"content-length", "transfer-encoding"}:
        lines.append(("Content-Length", str(len(body))))
    head = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def chunked(body: bytes, size: int) -> bytes:
    """``body`` in chunks of ``size`` bytes, for ``Transfer-Encoding: chunked``."""
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])


def multipart(**parts: bytes) -> tuple[bytes, str]:
    """A form with a file or text for each of ``parts``, and its content type."""
    body = b"".join(
        b'--b17\r\nContent-Disposition: form-data; name="%b"; filename="x"\r\n\r\n%b\r\n' % (name.encode(), part)
        if name not in ("password", "names")
        else b'--b17\r\nContent-Disposition: form-data; name="%b"\r\n\r\n%b\r\n' % (name.encode(), part)
        for name, part in parts.items()
    )
    return body + b"--b17--\r\n", "multipart/form-data; boundary=b17"


class Connection:
    """The client's end of a connection to the door."""

    def __init__(self, door: Door, clock: IReactorTime) -> None:
        self._protocol: Any = door.buildProtocol(IPv4Address("TCP", "127.0.0.1", 50000))
        # The site takes the time of its connections from the global reactor.
        self._protocol.callLater = clock.callLater
        self._transport = StringTransport(peerAddress=IPv4Address("TCP", "127.0.0.1", 50000), lenient=True)
        self._protocol.makeConnection(self._transport)
        self._over = False
        self._asked: list[tuple[str, str]] = []

    @property
    def is_open(self) -> bool:
        """Whether the server keeps the connection open."""
        return not self._transport.disconnecting

    def send(self, data: bytes) -> None:
        """Deliver ``data`` in pieces, as from a socket; nothing arrives after the server has closed."""
        for start in range(0, len(data), PIECE):
            if self.is_open:
                self._protocol.dataReceived(data[start : start + PIECE])

    def ask(self, method: str, path: str, body: bytes = b"", headers: Headers = ()) -> None:
        """Send a whole request."""
        self.asked(method, path)
        self.send(request_bytes(method, path, body, headers))

    def asked(self, method: str, path: str) -> None:
        """Record the method and path of the request that is sent next."""
        self._asked.append((method, path))

    def answers(self) -> list[HttpAnswer]:
        """Every answer since the last call.

        Each is compared with the OpenAPI document: no test gets an answer that a client could not expect.
        """
        rest = self._transport.value()
        self._transport.clear()
        found = []
        while rest:
            method, path = self._asked[0] if self._asked else ("", "")
            answer, rest = _take(rest, method)
            if answer.status >= 200 and self._asked:
                self._asked.pop(0)
                kind = answer.header("content-type")
                wrong = contract().check(method, path, answer.status, kind, answer.body)
                assert not wrong, wrong
            found.append(answer)
        return found

    def hang_up(self) -> None:
        """Break the connection, as when a cable is pulled; or finish what the server has closed."""
        if not self._over:
            self._over = True
            self._protocol.connectionLost(Failure(ConnectionLost() if self.is_open else ConnectionDone()))


def _take(data: bytes, method: str) -> tuple[HttpAnswer, bytes]:
    """The first answer in ``data``, which holds whole answers only, and the rest."""
    head, separator, rest = data.partition(b"\r\n\r\n")
    assert separator, f"no end of the headers: {data!r}"
    status_line, *lines = head.decode("latin-1").split("\r\n")
    version, status, _ = status_line.split(" ", 2)
    assert version in ("HTTP/1.1", "HTTP/1.0"), status_line
    headers = tuple((name.lower(), value) for name, value in (line.split(": ", 1) for line in lines))
    names = dict(headers)
    if method == "HEAD" or int(status) < 200 or int(status) == 204:
        body = b""
    elif names.get("transfer-encoding") == "chunked":
        body, rest = _take_chunks(rest)
    elif "content-length" in names:
        length = int(names["content-length"])
        assert len(rest) >= length, f"{length} bytes were promised: {data!r}"
        body, rest = rest[:length], rest[length:]
    else:
        # Only a connection that is about to close may leave out the length.
        body, rest = rest, b""
    return HttpAnswer(int(status), headers, body), rest


def _take_chunks(data: bytes) -> tuple[bytes, bytes]:
    body = b""
    while True:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        body, data = body + data[:length], data[length + 2 :]
        if not length:
            return body, data


class WebCase(SynchronousTestCase):
    """Tests that send HTTP requests to a service in memory."""

    def setUp(self) -> None:
        """A service in training mode with the register `test`."""
        self.shop = Shop(self)
        self.door = Door(self.shop.core)

    def connect(self) -> Connection:
        """A new connection to the door; it is closed after the test."""
        connection = Connection(self.door, self.shop.clock)
        self.addCleanup(connection.hang_up)
        return connection

    def request(self, method: str, path: str, body: object = None, headers: Headers = ()) -> HttpAnswer:
        """The answer to a request on its own connection, which must come at once.

        ``body`` is sent as JSON unless it is bytes.
        """
        connection = self.connect()
        if body is None:
            connection.ask(method, path, headers=headers)
        else:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.ask(method, path, raw, [JSON_TYPE, *headers])
        [answer] = connection.answers()
        return answer

    def execute(self, body: object, path: str = EXECUTE, headers: Headers = ()) -> Any:
        """The decoded answer to a task: HTTP 200 and JSON, as every task is answered."""
        answer = self.request("POST", path, body, headers)
        self.assertEqual((answer.status, answer.header("content-type")), (200, "application/json"))
        return answer.json

    def fiscal(self, task: int, tag: str = "", **members: object) -> Any:
        """The decoded answer to a task of the register `test`."""
        return self.execute(fiscal(task, tag, **members))

    def sell(self, tag: str = "", **receipt: object) -> Any:
        """The decoded answer to a sale of 125.50 for cash; ``receipt`` replaces members of the receipt."""
        return self.execute(sale(tag, **receipt))

    def open_shift(self) -> Any:
        """The decoded answer to the opening of the shift."""
        answer = self.fiscal(0)
        self.assertEqual(answer["res"], 0)
        return answer

    def logged(self, format: str = "text") -> StringIO:
        """The service's log from now to the end of the test, debug level included."""
        stream = StringIO()
        watching = observer(stream, format, "debug")
        globalLogPublisher.addObserver(watching)
        self.addCleanup(globalLogPublisher.removeObserver, watching)
        return stream

    @property
    def dev_id(self) -> str:
        """The id of the register `test`."""
        [device] = [each for each in self.request("GET", DEVICES).json["devices"] if each["device"] == "test"]
        found: str = device["dev_id"]
        return found


def fiscal(task: int, tag: str = "", **members: object) -> dict[str, object]:
    """A task of the register `test`, as tills send it."""
    return {
        "ver": 6,
        "source": "till 1",
        "device": "test",
        "tag": tag,
        "type": 1,
        "fiscal": {"task": task, "cashier": "Олена", **members},
    }


def sale(tag: str = "", **receipt: object) -> dict[str, object]:
    """A sale of one coffee for 125.50, paid in cash."""
    row = {"code": "1", "name": "Кава", "cnt": 1, "price": 125.5, "taxgrp": 1}
    usual = {"sum": 125.5, "rows": [row], "pays": [{"type": 0, "sum": 125.5}]}
    return fiscal(1, tag, receipt={**usual, **receipt})
