"""The short way of a task against the way of twisted.web: the same requests, the same bytes, the same connection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import gmtime
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.main import CONNECTION_LOST
from twisted.internet.tcp import Server
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web import http

from dmtwisted.devices.devices import TRUSTED
from dmtwisted.registers.unheard import caller
from dmtwisted.requests import MAX_BODY
from dmtwisted.system import logs
from dmtwisted.system.logs import request_id
from tests.shop import Shop
from tests.test_connection import BUFFER, Slow
from tests.web_case import PIECE, fiscal, sale
from web import short_way
from web.answers import _encode
from web.connection import IDLE_CONNECTION, REQUEST_PATIENCE, SHARE, BoundedChannel
from web.short_way import LONGEST_HEAD, MOST_HEADERS, ShortChannel
from web.site import Door
from web.tasks import TaskResource

PATHS = (b"/dm/execute", b"/dm/execute-prn", b"/dm/execute-pkg")
USUAL = (b"Host: localhost:3939", b"Content-Type: application/json")
BODY = b'{"device": "test"}'


def post(
    *headers: bytes, body: bytes = BODY, length: bytes | None = None, line: bytes = b"POST /dm/execute HTTP/1.1"
) -> bytes:
    """A request with these headers, and the usual ones unless they are among them."""
    named = {header.partition(b":")[0].strip().lower() for header in headers}
    lines = [line, *(usual for usual in USUAL if usual.partition(b":")[0].lower() not in named), *headers]
    if not named & {b"content-length", b"transfer-encoding"}:
        lines.append(b"Content-Length: " + (b"%d" % len(body) if length is None else length))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


HARMLESS = short_way.USUAL - {b"content-length", b"connection", b"host"}

ORDINARY = {
    "plain": post(),
    "no host": post().replace(b"Host: localhost:3939\r\n", b""),
    "no headers": b"POST /dm/execute HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    "small letters": post().replace(b"Host", b"host").replace(b"Content-Length", b"content-length"),
    "large letters": post().replace(b"Host", b"HOST").replace(b"Content-Length", b"CONTENT-LENGTH"),
    "no blanks": post(body=b"{}").replace(b": ", b":"),
    "blanks around": post(b"Accept-Language:    en   "),
    "kept open": post(b"Connection: Keep-Alive"),
    "English": post(b"Accept-Language: en-GB,en;q=0.9,uk;q=0.1"),
    "no known language": post(b"Accept-Language: de"),
    "an empty language": post(b"Accept-Language:"),
    "letters of others": post("User-Agent: Каса".encode(), "Accept-Language: укр".encode()),
    "its own id": post(b"X-Request-Id: till-5.7_x"),
    "another id": post(b"x-request-id: " + b"a" * 64),
    "an id too long": post(b"X-Request-Id: " + b"a" * 65),
    "an id with signs": post(b"X-Request-Id: a b"),
    "an empty id": post(b"X-Request-Id:"),
    "all headers": post(
        *(b"%b: x" % name for name in sorted(short_way.USUAL - {b"content-length", b"connection", b"host"}))
    ),
    "a length with zeros": post(length=b"0000018"),
    "a query": post(line=b"POST /dm/execute?x=1&y HTTP/1.1"),
    "an empty query": post(line=b"POST /dm/execute? HTTP/1.1"),
    "a printer": post(line=b"POST /dm/execute-prn?dev_id=kitchen HTTP/1.1"),
    "printers": post(line=b"POST /dm/execute-prn?dev_id=a&dev_id=%D0%BA+b;dev_id= HTTP/1.1"),
    "no printer": post(line=b"POST /dm/execute-prn HTTP/1.1"),
    "a batch": post(line=b"POST /dm/execute-pkg HTTP/1.1"),
    "a mark": post(line=b"POST /dm/execute?a#b HTTP/1.1"),
    "not JSON": post(body=b"\r\n\r\n\x00\xff"),
    "a request in a request": post(body=post()),
}
"""Requests for the short way."""

STRANGE = {
    "several hosts": post(b"Host: localhost", b"Host: localhost"),
    "a strange host": post(b"Host: evil.example"),
    "no name": post(b"Host: a b"),
    "an empty host": post(b"Host:"),
    "a cookie": post(b"Cookie: DMUIToken=abc"),
    "a key": post(b"X-Api-Key: abc"),
    "an origin": post(b"Origin: http://shop.example"),
    "expects": post(b"Expect: 100-continue"),
    "another header": post(b"X-Till: 5"),
    "a bad name": post(b"X Till: 5"),
    "no colon": post(b"Till"),
    "no name at all": post(b": 5"),
    "a blank before the colon": post(b"Accept : x"),
    "continued": post(b"Accept: x\r\n y"),
    "a tab": post(b"Accept:\tx"),
    "a NUL": post(b"Accept: a\x00b"),
    "a line feed": post(b"Accept: a\nX-Api-Key: b"),
    "a return": post(b"Accept: a\rb"),
    "twice": post(b"Accept: a", b"accept: b"),
    "two languages": post(b"Accept-Language: en", b"Accept-Language: uk"),
    "two ids": post(b"X-Request-Id: a", b"X-Request-Id: b"),
    "closes": post(b"Connection: close"),
    "closes and more": post(b"Connection: keep-alive close"),
    "upgrades": post(b"Connection: upgrade", b"Upgrade: websocket"),
    "an old version": post(line=b"POST /dm/execute HTTP/1.0"),
    "no such version": post(line=b"POST /dm/execute HTTP/1.2"),
    "small version": post(line=b"POST /dm/execute http/1.1"),
    "small method": post(line=b"post /dm/execute HTTP/1.1"),
    "two blanks": post(line=b"POST  /dm/execute HTTP/1.1"),
    "a blank behind": post(line=b"POST /dm/execute HTTP/1.1 "),
    "no target": post(line=b"POST HTTP/1.1"),
    "a whole address": post(line=b"POST http://localhost:3939/dm/execute HTTP/1.1"),
    "a strange whole address": post(line=b"POST http://evil.example/dm/execute HTTP/1.1"),
    "another method": post(line=b"PUT /dm/execute HTTP/1.1"),
    "reads": post(line=b"GET /dm/execute HTTP/1.1"),
    "asks before": post(b"Origin: http://a", line=b"OPTIONS /dm/execute HTTP/1.1"),
    "another path": post(line=b"POST /dm/execute/ HTTP/1.1"),
    "a coded path": post(line=b"POST /dm/%65xecute HTTP/1.1"),
    "a probe": post(line=b"POST /health/live HTTP/1.1"),
    "an empty line before": b"\r\n" + post(),
    "two empty lines before": b"\r\n\r\n" + post(),
    "bare line feeds": post().replace(b"\r\n", b"\n"),
    "chunks": post(b"Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n"),
    "chunks and a length": post(b"Transfer-Encoding: chunked", b"Content-Length: 12", body=b"2\r\n{}\r\n0\r\n\r\n"),
    "another coding": post(b"Transfer-Encoding: gzip", b"Content-Length: 18"),
    "identity": post(b"Transfer-Encoding: identity", b"Content-Length: 18"),
    "no length": post(b"Transfer-Encoding: identity"),
    "an empty body": post(body=b""),
    "two lengths": post(b"Content-Length: 18", b"Content-Length: 18"),
    "different lengths": post(b"Content-Length: 18", b"Content-Length: 3"),
    **{
        f"the length {length!r}": post(length=length)
        for length in (
            b"",
            b"+18",
            b"-1",
            b"1 8",
            b"0x12",
            b"18.0",
            b"1" * 80,
            b"18,18",
            b"\t18",
            b"18 ",
            b" 18",
            "١٨".encode(),
        )
    },
    "too short": post(length=b"17"),
    "too long": post(length=b"19"),
    "much too long": post(length=b"9999999"),
    "a length of eight digits": post(length=b"00000018"),
    "a long head": post(b"User-Agent: " + b"x" * LONGEST_HEAD),
    "a far too long head": post(b"User-Agent: " + b"x" * 20_000),
    "many headers": post(*(b"a-%b: x" % (b"b" * n) for n in range(1, MOST_HEADERS + 1))),
    "far too many headers": post(*(b"a%d: x" % n for n in range(600))),
    "two at once": post() + post(b"Accept-Language: en"),
    "one and the beginning of another": post() + post()[:30],
    "one and a bad one": post() + b"\r\n\r\nGET\r\n\r\n",
    "only a beginning": post()[:-1],
    "only a head": post()[: -len(BODY)],
    "noise": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "nothing": b"",
    "too much": post(body=b"x" * (MAX_BODY + 1)),
    "as much as may be": post(body=b"x" * MAX_BODY),
}
"""Requests for the way of twisted.web."""


def pieces(data: bytes) -> list[bytes]:
    """``data`` as a socket delivers it."""
    return [data[start : start + PIECE] for start in range(0, len(data), PIECE)] or [b""]


class _Way:
    """One way: a service of its own, and what its tasks were given."""

    def __init__(self, case: SynchronousTestCase, channel: type[BoundedChannel], **service: Any) -> None:
        self.case = case
        self.shop = Shop(case)
        self.door = Door(self.shop.core)
        self.door.protocol = channel
        self.given: list[tuple[object, ...]] = []
        self.held: list[Deferred[bytes]] | None = None
        self.heard: list[Any] = []
        self.channel, self.transport = self.connect()

    def tell(self) -> None:
        """Let tasks say what they were given instead of doing anything."""
        for found in self.door.exact.values():
            if isinstance(found, TaskResource):
                found._execute = self._told

    async def _told(self, body: bytes, language: str, *more: str) -> bytes:
        self.given.append((body, language, more, request_id.get(), TRUSTED.get()(), caller.get()()))
        self.heard.append(caller.get())
        if self.held is not None:
            self.held.append(Deferred())
            return await self.held[-1]
        return _encode((len(body), language, more))

    def connect(self) -> tuple[Any, Slow]:
        """A connection: the server's end, and the transport."""
        address = IPv4Address("TCP", "192.0.2.1", 50000)
        channel: Any = self.door.buildProtocol(address)
        transport = Slow(peerAddress=address, lenient=True)
        channel.makeConnection(transport)
        self.case.addCleanup(self.lose, channel)
        return channel, transport

    def lose(self, channel: Any) -> None:
        """The connection is closed."""
        if channel.transport is not None:
            channel.connectionLost(Failure(ConnectionDone()))
            channel.transport = None


class _Case(SynchronousTestCase):
    """Both ways."""

    def setUp(self) -> None:
        """Two services in one second, with one id for all requests."""
        self.patch(http, "gmtime", lambda at=5: gmtime(at))
        self.patch(short_way, "time", lambda: 5.5)
        self.patch(logs._ids, "getrandbits", lambda bits: 7)
        self.short, self.long = self.ways = [_Way(self, ShortChannel), _Way(self, BoundedChannel)]
        self.took: list[bool] = []
        takes = ShortChannel._takes

        def watched(channel: ShortChannel, data: bytes) -> bool:
            self.took.append(takes(channel, data))
            return self.took[-1]

        self.patch(ShortChannel, "_takes", watched)

    def same(self, name: str, *made: Any) -> None:
        """What both ways made is the same."""
        self.assertEqual(made[0], made[1], name)

    def sent(self, way: _Way, arriving: Iterable[bytes]) -> tuple[bytes, bool, list[Any]]:
        """What a new connection of ``way`` answers, whether it is open then, and what its tasks were given."""
        way.given = []
        channel, transport = way.connect()
        for piece in arriving:
            if not transport.disconnecting:
                channel.dataReceived(piece)
        way.shop.clock.advance(0)
        told = transport.value(), transport.disconnecting, way.given
        way.lose(channel)
        return told

    def compare(self, name: str, arriving: Sequence[bytes]) -> tuple[bytes, bool, list[Any]]:
        """Both ways answer the same."""
        ways = [self.sent(way, arriving) for way in self.ways]
        self.same(name, *ways)
        return ways[0]


class SameTests(_Case):
    """The same bytes."""

    def setUp(self) -> None:
        """Tasks say what they were given."""
        super().setUp()
        for way in self.ways:
            way.tell()

    def test_ordinary(self) -> None:
        """Ordinary requests take the short way, once their host is known, one after another and among others."""
        self.compare("first", [post()])
        for name, data in ORDINARY.items():
            self.took.clear()
            told, closed, given = self.compare(name, [data, data, post(body=b"{}"), data])
            self.assertEqual((closed, len(given), self.took), (False, 4, [True] * 4), name)
            self.assertEqual(told.count(b"HTTP/1.1 200 OK"), 4, name)

    def test_strange(self) -> None:
        """Others do not, and an ordinary one behind them is answered as ever."""
        self.compare("first", [post()])
        for name, data in STRANGE.items():
            self.took.clear()
            self.compare(name, pieces(data))
            self.assertNotIn(True, self.took, name)
            self.compare(f"{name} first", [*pieces(data), post()])
            self.compare(f"{name} second", [post(), *pieces(data), post(), post()])
            self.compare(f"{name} at once", pieces(data + post()))

    def test_cut(self) -> None:
        """A request may be cut anywhere, and so may two."""
        for data in (post(b"Accept-Language: en"), post() + post(line=b"POST /dm/execute-prn?dev_id=x HTTP/1.1")):
            for place in range(1, len(data)):
                self.compare(f"cut at {place}", [data[:place], data[place:], post()])
        whole = post(b"X-Request-Id: x")
        self.compare("each byte", [*(whole[n : n + 1] for n in range(len(whole))), whole])

    def test_changed_head(self) -> None:
        """A head is taken for the one before it only when it is the same but for the length."""
        whole = post(b"Accept-Language: en", b"X-Request-Id: one")
        self.compare("first", [post()])
        for n in range(len(whole)):
            for byte in (b"\r", b" ", b"9", b"x", b":"):
                data = whole[:n] + byte + whole[n + 1 :]
                self.compare(f"{byte!r} at {n}", [whole, data, whole])
            self.compare(f"without byte {n}", [whole, whole[:n] + whole[n + 1 :], whole])

    def test_broken(self) -> None:
        """A task that fails is answered with 500 and logged, on both ways."""

        async def broken(*given: object) -> bytes:
            raise ZeroDivisionError

        for way in self.ways:
            for path in PATHS:
                found: Any = way.door.exact[path]
                found._execute = broken
        self.compare("broken", [post(), post(), post(b"Connection: close")])
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 6)

    def test_rules_of_the_site(self) -> None:
        """A rule that concerns tasks holds from the next request on."""
        for name, wish in (("extAccess", False), ("task_keys", True)):
            for way in self.ways:
                way.channel, way.transport = way.connect()
            for value in (not wish, wish, not wish):
                for way in self.ways:
                    changing = way.shop.core.settings.change({name: value})
                    self.successResultOf(Deferred.fromCoroutine(changing))
                    way.channel.dataReceived(post())
                self.same(f"{name} {value}", *(way.transport.value() for way in self.ways))
            for way in self.ways:
                told = way.transport.value()
                self.assertEqual((told.count(b" 200 OK"), told.count(b" 40")), (2, 1))

    def test_forgotten_host(self) -> None:
        """A name that is not allowed any more is refused, though the head is known."""
        self.compare("first", [post()])
        for way in self.ways:
            way.channel, way.transport = way.connect()
            way.channel.dataReceived(post(b"Host: till.example"))
            way.door._usual_hosts.add(b"till.example")
            way.channel.dataReceived(post(b"Host: till.example"))
            way.shop.core.hosts.forget()
            way.channel.dataReceived(post(b"Host: till.example"))
            told = way.transport.value()
            self.assertEqual((told.count(b" 200 OK"), told.count(b" 421 ")), (1, 2))


class SaleTests(_Case):
    """Real tasks."""

    def test_day(self) -> None:
        """A day of sales, refusals and repeats is answered alike."""
        tasks = [
            fiscal(0, "o"),
            sale("a"),
            sale("a"),
            sale("b", sum=1),
            {},
            [],
            fiscal(18),
            fiscal(11, "z"),
            sale("c"),
        ]
        bodies = [_encode(task) for task in tasks]
        self.compare("day", [post(), *(post(b"Accept-Language: en", body=body) for body in bodies)])
        self.assertEqual(self.took.count(True), len(bodies))


class MeanwhileTests(_Case):
    """What happens while a task runs, and afterwards."""

    def setUp(self) -> None:
        """Tasks that end when they are told to."""
        super().setUp()
        for way in self.ways:
            way.tell()
            self.sent(way, [post()])
            way.held = []
        self.open = [way.connect() for way in self.ways]
        self.took.clear()

    def send(self, data: bytes) -> None:
        """``data`` arrives on both."""
        for channel, _ in self.open:
            channel.dataReceived(data)

    def finish(self, answer: bytes = b"{}") -> None:
        """The task ends on both."""
        for way in self.ways:
            assert way.held
            way.held.pop(0).callback(answer)
        self.check()

    def advance(self, seconds: float) -> None:
        """Time passes on both."""
        for way in self.ways:
            way.shop.clock.advance(seconds)
        self.check()

    def check(self) -> None:
        """Both ends are in the same state."""
        self.same("written", *(transport.value() for _, transport in self.open))
        self.same("state", *((to.disconnecting, to.aborted, to.producerState) for _, to in self.open))
        self.same("channel", *((ours.working, ours.heard, len(ours.requests), ours.timeOut) for ours, _ in self.open))
        self.same("given", *(way.given[1:] for way in self.ways))
        self.same("heard", *([ask() for ask in way.heard] for way in self.ways))

    def test_kept(self) -> None:
        """What comes meanwhile is kept, with an end to it, and answered afterwards."""
        self.send(post())
        self.send(post(b"X-Request-Id: second") + post(line=b"GET /health/live HTTP/1.1"))
        self.send(post(b"X-Request-Id: third")[:40])
        self.check()
        self.send(b"x" * 20_000)
        self.check()
        self.assertEqual([to.producerState for _, to in self.open], ["paused"] * 2)
        self.finish()
        self.finish()
        self.assertEqual(self.took[0], True)
        self.assertEqual([to.producerState for _, to in self.open], ["producing"] * 2)

    def test_whole_meanwhile(self) -> None:
        """A whole task that came meanwhile is answered next, in a context of its own."""
        self.send(post(b"X-Request-Id: one"))
        self.send(post(b"X-Request-Id: two"))
        self.finish()
        self.assertEqual([way.given[-1][3] for way in self.ways], ["two"] * 2)
        self.finish()
        self.assertEqual(self.took, [True, True])
        self.assertEqual(request_id.get(), "")

    def test_disconnected(self) -> None:
        """A caller that leaves gets nothing, and its task knows."""
        self.send(post())
        self.assertEqual([way.heard[-1]() for way in self.ways], [None] * 2)
        for way, (channel, _) in zip(self.ways, self.open, strict=True):
            way.lose(channel)
            way.lose(way.channel)
            left: list[Any] = list(way.shop.clock.getDelayedCalls())
            self.assertFalse(
                [call for call in left if isinstance(getattr(call.func, "__self__", None), BoundedChannel)]
            )
        self.assertEqual([way.heard[-1]() for way in self.ways], [False] * 2)
        self.finish()
        self.assertEqual([to.value() for _, to in self.open], [b""] * 2)

    def test_broken(self) -> None:
        """A caller that got no answer of its task did not hear it."""
        self.send(post())
        for way in self.ways:
            assert way.held
            way.held.pop(0).errback(ValueError())
        self.check()
        self.assertEqual([way.heard[-1]() for way in self.ways], [False] * 2)
        self.flushLoggedErrors(ValueError)

    def test_idle(self) -> None:
        """While a task runs nothing is timed out; afterwards a silent connection is."""
        self.advance(IDLE_CONNECTION - 1)
        self.send(post())
        self.advance(2 * IDLE_CONNECTION)
        self.finish()
        self.advance(IDLE_CONNECTION - 0.1)
        self.assertEqual([to.disconnecting for _, to in self.open], [False] * 2)
        self.advance(0.1)
        self.assertEqual([to.disconnecting for _, to in self.open], [True] * 2)
        self.send(post())
        self.advance(20)
        self.assertEqual([to.aborted for _, to in self.open], [True] * 2)

    def test_patience(self) -> None:
        """A request that comes in pieces after one on the short way has its own time."""
        self.send(post())
        self.finish()
        self.advance(REQUEST_PATIENCE - 1)
        self.send(post()[:20])
        self.advance(REQUEST_PATIENCE + 1)
        self.send(b"x")
        self.check()
        self.assertEqual([to.aborted for _, to in self.open], [True] * 2)

    def test_unread(self) -> None:
        """With a long answer that is not read nothing more is read of the caller; then it goes on."""
        self.send(post())
        self.finish(b"x" * (BUFFER + 1))
        self.assertEqual([to.producerState for _, to in self.open], ["paused"] * 2)
        self.send(post(b"X-Request-Id: next"))
        self.check()
        self.same("read", *(to.read() for _, to in self.open))
        self.check()
        self.finish()
        self.assertEqual([to.producerState for _, to in self.open], ["producing"] * 2)

    def test_share(self) -> None:
        """Of requests that wait only some are answered before others have their turn."""
        self.send(post())
        for _ in range(3):
            self.send(post() + post())
        self.advance(2 * SHARE)
        self.finish()
        self.advance(0)
        for _ in range(6):
            self.finish()
            self.advance(0)
        self.assertEqual([len(way.given) for way in self.ways], [8] * 2)


class _Socket(Server):
    """A connection whose system takes a number of bytes at once; `None` when it is broken."""

    def __init__(self, takes: int | None) -> None:
        self.takes, self.now, self.later = takes, b"", b""
        self._tempDataBuffer: list[bytes] = []

    def writeSomeData(self, data: bytes) -> int | ConnectionLost:
        """Take some of it."""
        if self.takes is None:
            return CONNECTION_LOST
        self.now += data[: self.takes]
        return len(data[: self.takes])

    def write(self, data: bytes) -> None:
        """Take the rest, for a later turn."""
        self.later += data


class SendTests(SynchronousTestCase):
    """The answer leaves at once."""

    def sent(self, transport: _Socket) -> tuple[bytes, bytes]:
        """What is sent now, and later."""
        channel = ShortChannel()
        channel.transport = transport
        channel.send(b"answer")
        return transport.now, transport.later

    def test_at_once(self) -> None:
        """The rest, and everything of a connection that is broken, is left to Twisted."""
        self.assertEqual(self.sent(_Socket(100)), (b"answer", b""))
        self.assertEqual(self.sent(_Socket(2)), (b"an", b"swer"))
        self.assertEqual(self.sent(_Socket(0)), (b"", b"answer"))
        self.assertEqual(self.sent(_Socket(None)), (b"", b"answer"))

    def test_in_order(self) -> None:
        """It does not overtake what waits, and a connection that is being closed is left to Twisted."""
        for name, value in (("dataBuffer", b"x"), ("_tempDataBuffer", [b"x"]), ("disconnecting", True)):
            transport = _Socket(100)
            setattr(transport, name, value)
            self.assertEqual(self.sent(transport), (b"", b"answer"), name)
