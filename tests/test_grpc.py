"""gRPC calls in memory: what counts as processed, limits, deadlines, and connections that are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import RequestReceived, SettingsAcknowledged
from hyperframe.frame import GoAwayFrame, PingFrame
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.grpc import statuses
from protocols.grpc.channel import CONNECT_S, IDLE_S, PING_S, QUIET_S, Channel
from protocols.grpc.connection import PARTING_S
from protocols.grpc.framing import MOST_BYTES, FrameSplitter, GoAway, MessageReader, frame
from protocols.grpc.server import Cut, ServerConnection
from protocols.grpc.statuses import CallFailed, Code
from tests.grpc_pair import Connection, PairEndpoint

PATH = "/a.Service/method"
DEADLINE = 30.0

Answer = bytes | Cut | None


class GrpcCase(SynchronousTestCase):
    """A channel, and a server whose answers a test decides."""

    def setUp(self) -> None:
        """A server that answers by repeating."""
        self.clock = Clock()
        self.asked: list[tuple[str, bytes]] = []
        self.answer: Callable[[bytes], Answer | Deferred[Answer]] = lambda request: request
        self.endpoint = PairEndpoint(self.server)
        self.channel = Channel(self.clock, self.endpoint, "server.test", True)

    def server(self) -> Protocol | None:
        """One more connection's server."""
        return ServerConnection(self.clock, self.handle)

    async def handle(self, path: str, request: bytes) -> Answer:
        """Process one call."""
        self.asked.append((path, request))
        answer = self.answer(request)
        return await answer if isinstance(answer, Deferred) else answer

    def call(self, request: bytes = b"request", deadline: float = DEADLINE, run: bool = True) -> Deferred[bytes]:
        """Begin a call."""
        result = Deferred[bytes].fromCoroutine(self.channel(PATH, request, deadline))
        if run:
            self.endpoint.run()
        return result

    def failed(self, call: Deferred[bytes], kind: type[WireError]) -> Any:
        """The error that ended a call."""
        error = self.failureResultOf(call).value
        self.assertIs(type(error), kind, error)
        return error

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and carry everything over."""
        self.clock.advance(seconds)
        self.endpoint.run()

    @property
    def connection(self) -> Connection:
        """The newest connection."""
        return self.endpoint.connections[-1]


class CallTests(GrpcCase):
    """A call and its answer."""

    def test_answered(self) -> None:
        """The server gets path and request, the caller the answer."""
        self.assertEqual(self.successResultOf(self.call()), b"request")
        self.assertEqual(self.asked, [(PATH, b"request")])

    def test_empty(self) -> None:
        """Request and answer may be empty."""
        self.assertEqual(self.successResultOf(self.call(b"")), b"")

    def test_large(self) -> None:
        """Messages larger than every window arrive whole, both ways."""
        large = bytes(range(256)) * 4000
        self.assertEqual(self.successResultOf(self.call(large)), large)

    def test_status(self) -> None:
        """A status comes with its text; the call may have been processed."""

        def refuse(request: bytes) -> Answer:
            raise CallFailed(Code.UNAVAILABLE, "немає 100%\n")

        self.answer = refuse
        error = self.failed(self.call(), CallFailed)
        self.assertEqual((error.code, error.text), (14, "немає 100%\n"))

    def test_fault(self) -> None:
        """A server that fails says so, and takes the next call."""
        self.answer = lambda request: request[request[9999] :]
        self.assertEqual(self.failed(self.call(), CallFailed).code, Code.INTERNAL)
        self.assertEqual(len(self.flushLoggedErrors(IndexError)), 1)
        self.answer = lambda request: b"well"
        self.assertEqual(self.successResultOf(self.call()), b"well")

    def test_several(self) -> None:
        """Several calls at once share a connection, and each gets its own answer."""
        waiting: list[Deferred[Answer]] = [Deferred(), Deferred()]
        self.answer = lambda request: waiting[int(request)]
        calls = [self.call(b"0"), self.call(b"1")]
        waiting[1].callback(b"second")
        waiting[0].callback(b"first")
        self.endpoint.run()
        self.assertEqual([self.successResultOf(call) for call in calls], [b"first", b"second"])
        self.assertEqual(len(self.endpoint.connections), 1)

    def test_both_before_connected(self) -> None:
        """Calls that begin before there is a connection wait for the same one."""
        calls = [self.call(b"a", run=False), self.call(b"b", run=False)]
        self.endpoint.run()
        self.assertEqual([self.successResultOf(call) for call in calls], [b"a", b"b"])
        self.assertEqual(len(self.endpoint.connections), 1)

    def test_too_many(self) -> None:
        """A call above what the server takes at once is not sent."""
        self.answer = lambda request: None
        calls = [self.call() for _ in range(16)]
        self.failed(self.call(), NotReached)
        self.assertEqual(len(self.asked), 16)
        for call in calls:
            self.assertNoResult(call)

    def test_too_long(self) -> None:
        """An answer above the limit ends the call and takes no memory."""
        self.answer = lambda request: bytes(MOST_BYTES + 1)
        self.failed(self.call(), Garbled)

    def test_too_long_request(self) -> None:
        """A server refuses a request above its limit, and goes on."""
        self.assertEqual(self.failed(self.call(bytes(MOST_BYTES + 1)), CallFailed).code, Code.RESOURCE_EXHAUSTED)
        self.assertEqual(self.successResultOf(self.call()), b"request")
        self.assertEqual(self.asked, [(PATH, b"request")])

    def test_no_server(self) -> None:
        """Where nobody listens, nothing is sent."""
        self.endpoint.accept = lambda: None
        self.failed(self.call(), NotReached)


class TimeTests(GrpcCase):
    """Deadlines."""

    def test_silent(self) -> None:
        """A server that keeps silent is waited for until the deadline, and is told."""
        self.answer = lambda request: None
        call = self.call()
        self.clock.advance(DEADLINE - 0.1)
        self.assertNoResult(call)
        self.clock.advance(0.2)
        self.assertEqual(self.failed(call, Silent).seconds, DEADLINE)
        self.endpoint.run()
        self.assertEqual(self.successResultOf(self.call_after(b"next")), b"next")

    def call_after(self, request: bytes) -> Deferred[bytes]:
        """A call that is answered."""
        self.answer = lambda request: request
        return self.call(request)

    def test_late(self) -> None:
        """The answer that comes after the deadline does not pass for that of the next call."""
        late: Deferred[Answer] = Deferred()
        self.answer = lambda request: late
        first = self.call()
        # The server's own clock is late, too.
        self.clock.advance(DEADLINE)
        self.failed(first, Silent)
        second = self.call_after(b"second")
        self.assertEqual(self.successResultOf(second), b"second")

    def test_server_knows(self) -> None:
        """A server learns the deadline and gives up by itself."""
        self.answer = lambda request: Deferred()
        call = self.call(deadline=2.0, run=True)
        server = self.connection.server.protocol
        assert isinstance(server, ServerConnection)
        self.clock.advance(2.0)
        self.failed(call, Silent)
        self.assertEqual(server._asked, {})

    def test_given_up(self) -> None:
        """A caller that gives up ends the call at the server."""
        cancelled: list[bool] = []
        self.answer = lambda request: Deferred(lambda _: cancelled.append(True))
        call = self.call()
        call.cancel()
        self.endpoint.run()
        self.failed(call, LineLost)
        self.assertEqual(cancelled, [True])

    def test_no_settings(self) -> None:
        """A peer that accepts and says nothing gets no request."""
        silent = Protocol()
        self.endpoint.accept = lambda: silent
        call = self.call()
        self.pass_time(CONNECT_S - 0.1)
        self.assertNoResult(call)
        self.pass_time(0.2)
        self.failed(call, NotReached)
        self.assertNotIn(b"request", self.connection.client.written)
        self.assertFalse(self.connection.client.open)

    def test_short_deadline(self) -> None:
        """Connecting takes no longer than the deadline."""
        self.endpoint.accept = Protocol
        call = self.call(deadline=1.0)
        self.pass_time(1.0)
        self.failed(call, NotReached)

    def test_given_up_connecting(self) -> None:
        """A call that is given up before there is a connection was not sent."""
        self.endpoint.accept = Protocol
        call = self.call()
        call.cancel()
        self.failed(call, NotReached)


class KeptTests(GrpcCase):
    """A connection between calls."""

    def setUp(self) -> None:
        """One call was made."""
        super().setUp()
        self.successResultOf(self.call())

    def test_kept(self) -> None:
        """The next call uses the same connection, without a PING when the server was just heard."""
        before = len(self.connection.client.written)
        self.successResultOf(self.call())
        self.assertEqual(len(self.endpoint.connections), 1)
        self.assertNotIn(PingFrame(0, bytes(8)).serialize(), self.connection.client.written[before:])

    def test_asked(self) -> None:
        """A quiet connection is asked by a PING before a call."""
        self.pass_time(QUIET_S)
        call = self.call(run=False)
        self.assertEqual(self.connection.client.value(), PingFrame(0, bytes(8)).serialize())
        self.endpoint.run()
        self.successResultOf(call)
        self.assertEqual(len(self.endpoint.connections), 1)

    def test_dead(self) -> None:
        """Over a connection that died unnoticed nothing is sent: the call goes over a new one."""
        self.connection.room[self.connection.client] = 0
        dead = self.connection
        self.patch(dead, "pump", lambda: False)
        self.pass_time(QUIET_S)
        call = self.call()
        self.pass_time(PING_S - 0.1)
        self.assertNoResult(call)
        self.pass_time(0.2)
        self.assertEqual(self.successResultOf(call), b"request")
        self.assertEqual((len(self.asked), len(self.endpoint.connections)), (2, 2))

    def test_closed(self) -> None:
        """After the server has closed the connection the next call opens a new one."""
        self.connection.break_off()
        self.assertEqual(self.successResultOf(self.call()), b"request")
        self.assertEqual(len(self.endpoint.connections), 2)

    def test_closed_at_the_ping(self) -> None:
        """A connection that is closed while the PING waits for its answer costs nothing."""
        self.pass_time(QUIET_S)
        call = self.call(run=False)
        self.connection.break_off()
        self.endpoint.run()
        self.assertEqual(self.successResultOf(call), b"request")

    def test_idle(self) -> None:
        """A connection without calls is closed after a while."""
        self.clock.advance(IDLE_S - 0.1)
        self.endpoint.run()
        self.assertTrue(self.connection.client.open)
        self.pass_time(0.2)
        self.assertFalse(self.connection.client.open)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_idle_unheard(self) -> None:
        """A server that does not close its end is left after a few seconds more."""
        self.clock.advance(IDLE_S)
        self.connection.client.clear()
        self.clock.advance(PARTING_S)
        self.endpoint.run()
        self.assertFalse(self.connection.client.open)

    def test_busy_is_not_idle(self) -> None:
        """A connection with a call that waits stays open."""
        self.answer = lambda request: None
        call = self.call(deadline=2 * IDLE_S)
        self.pass_time(IDLE_S + 1)
        self.assertNoResult(call)
        self.assertTrue(self.connection.client.open)

    def test_close(self) -> None:
        """A channel that is closed takes leave; a call opens it again."""
        self.channel.close()
        self.endpoint.run()
        self.assertFalse(self.connection.client.open)
        self.assertEqual(self.successResultOf(self.call()), b"request")


class BrokenTests(GrpcCase):
    """Calls whose connection breaks, at every byte."""

    def outcomes(self, upward: int | None, downward: int | None, request: bytes) -> tuple[Any, bool]:
        """What the caller learns, and whether the server had processed the call."""
        self.setUp()
        self.endpoint.upward, self.endpoint.downward = upward, downward
        call = self.call(request)
        self.pass_time(DEADLINE)
        outcome: list[Any] = []
        call.addCallbacks(outcome.append, lambda failure: outcome.append(failure.value))
        return outcome[0], bool(self.asked)

    def judged(self, upward: int | None, downward: int | None, request: bytes) -> type[object]:
        """What a cut connection came to."""
        outcome, processed = self.outcomes(upward, downward, request)
        if isinstance(outcome, bytes):
            self.assertEqual((outcome, processed), (request, True))
        else:
            self.assertIsInstance(outcome, WireError)
        if isinstance(outcome, NotReached):
            self.assertFalse(processed, (upward, downward))
        return type(outcome)

    def test_every_byte(self) -> None:
        """Cut at any byte, either way: "not sent" is said only where the server cannot have the whole request."""
        request = bytes(700)
        self.successResultOf(self.call(request))
        up, down = len(self.connection.client.written), len(self.connection.server.written)
        kinds = [self.judged(cut, None, request) for cut in range(up)]
        self.assertEqual({*kinds}, {NotReached, LineLost})
        kinds = [self.judged(None, cut, request) for cut in range(down)]
        self.assertEqual({*kinds}, {NotReached, LineLost})
        # Before the server's settings nothing is sent; of the answer nothing may be missing.
        self.assertEqual((kinds[0], kinds[down - 30]), (NotReached, LineLost))

    def test_half_of_a_large_request(self) -> None:
        """A request that does not fit the window before the connection breaks was not processed."""
        large = bytes(200_000)
        self.assertIs(self.judged(70_000, None, large), NotReached)
        self.assertIs(self.judged(None, 60, large), NotReached)

    def test_cut_before(self) -> None:
        """A server that breaks off without a word may have processed the call."""
        self.answer = lambda request: Cut()
        self.failed(self.call(), LineLost)

    def test_cut_within(self) -> None:
        """Half of an answer is none."""
        self.answer = lambda request: Cut(request * 100)
        call = self.call()
        self.failed(call, LineLost)
        self.assertIn(b"request" * 49, self.connection.server.written)


class ScriptedServer(ServerConnection):
    """A server that does what a test says when a request begins."""

    def __init__(self, clock: Clock, case: ScriptTests) -> None:
        super().__init__(clock, case.handle)
        self.case = case

    def happened(self, event: Any) -> None:
        """Do it at the request."""
        if isinstance(event, RequestReceived):
            self.case.script(self, event.stream_id)
            self.flush()
        elif not isinstance(event, SettingsAcknowledged):
            return

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        self.transport.write(data)


class ScriptTests(GrpcCase):
    """Servers that behave in other ways."""

    def setUp(self) -> None:
        """Every server follows the script."""
        super().setUp()
        self.script: Callable[[ScriptedServer, int], None] = lambda server, stream: None
        self.scripts: list[Callable[[ScriptedServer, int], None]] = []

    def server(self) -> Protocol | None:
        """A scripted one."""
        if self.scripts:
            self.script = self.scripts.pop(0)
        return ScriptedServer(self.clock, self)

    def played(self, script: Callable[[ScriptedServer, int], None], kind: type[WireError]) -> Any:
        """The error of a call that a server answers so."""
        self.script = script
        return self.failed(self.call(), kind)

    def test_refused_stream(self) -> None:
        """REFUSED_STREAM says that nothing was processed."""
        self.played(resetting(ErrorCodes.REFUSED_STREAM), NotReached)

    def test_refused_after_headers(self) -> None:
        """REFUSED_STREAM after an answer has begun says nothing."""

        def script(server: ScriptedServer, stream: int) -> None:
            server._h2.send_headers(stream, OPENING)
            server._h2.reset_stream(stream, ErrorCodes.REFUSED_STREAM)

        self.played(script, LineLost)

    def test_other_resets(self) -> None:
        """After any other reset the call may have been processed."""
        for code in ErrorCodes:
            if code != ErrorCodes.REFUSED_STREAM:
                self.played(resetting(code), LineLost)

    def test_leaving_without(self) -> None:
        """A server that leaves with a lower stream did not process the call, whatever its reason."""
        for code in (0, 2, 11):
            self.played(sending(goaway(0, code)), NotReached)

    def test_leaving_with(self) -> None:
        """A server that leaves with our stream, and closes, may have processed the call."""

        def script(server: ScriptedServer, stream: int) -> None:
            server.raw(goaway(stream))
            server.transport.loseConnection()

        self.played(script, LineLost)

    def test_leaving_and_finishing(self) -> None:
        """A server that leaves finishes what it has begun; the next call goes over a new connection."""

        def script(server: ScriptedServer, stream: int) -> None:
            server.raw(goaway(0x7FFFFFFF) + goaway(stream))
            answer_well(server, stream)

        self.script = script
        self.assertEqual(self.successResultOf(self.call()), b"well")
        self.assertFalse(self.connection.client.open)
        self.assertEqual(self.successResultOf(self.call()), b"well")
        self.assertEqual(len(self.endpoint.connections), 2)

    def test_again(self) -> None:
        """A call that a kept connection did not get through is made once more: the server leaves."""
        self.script = answer_well
        self.successResultOf(self.call())
        self.script, self.scripts = lambda server, stream: server.raw(goaway(stream - 2)), [answer_well]
        self.assertEqual(self.successResultOf(self.call()), b"well")
        self.assertEqual(len(self.endpoint.connections), 2)

    def test_only_once_more(self) -> None:
        """A server that refuses the second time, too, is not asked again."""
        self.script = answer_well
        self.successResultOf(self.call())
        refused: list[int] = []

        def refuse(server: ScriptedServer, stream: int) -> None:
            refused.append(stream)
            server._h2.reset_stream(stream, ErrorCodes.REFUSED_STREAM)

        self.played(refuse, NotReached)
        self.assertEqual(len(refused), 2)

    def test_not_twice(self) -> None:
        """A call whose outcome is unknown is not made again."""
        self.script = answer_well
        self.successResultOf(self.call())
        asked: list[int] = []

        def script(server: ScriptedServer, stream: int) -> None:
            asked.append(stream)
            server._h2.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)

        self.played(script, LineLost)
        self.assertEqual(len(asked), 1)

    def test_no_grpc(self) -> None:
        """Answers that are none of gRPC prove nothing."""
        for headers in (
            [(":status", "503"), ("content-type", "text/html")],
            [(":status", "503"), ("content-type", "application/grpc"), ("grpc-status", "14")],
            [(":status", "200"), ("content-type", "text/html")],
            [(":status", "200")],
            [*OPENING],
            [*OPENING, ("grpc-status", "")],
            [*OPENING, ("grpc-status", "x")],
            [*OPENING, ("grpc-status", "1000")],
            [*OPENING, ("grpc-status", "0")],
        ):
            self.played(answering(headers), Garbled)

    def test_odd_messages(self) -> None:
        """An answer is one whole message that is not compressed."""
        for data in (b"", frame(b"one")[:-1], frame(b"one") * 2, b"\1" + frame(b"one")[1:], frame(b"one") + b"\0"):

            def script(server: ScriptedServer, stream: int, data: bytes = data) -> None:
                server._h2.send_headers(stream, OPENING)
                server._h2.send_data(stream, data)
                server._h2.send_headers(stream, [("grpc-status", "0")], end_stream=True)

            self.played(script, Garbled)

    def test_unknown_status(self) -> None:
        """A status that gRPC does not know is told as its number."""
        headers = [*OPENING, ("grpc-status", "42"), ("grpc-message", "%D1%97%zz")]
        error = self.played(answering(headers), CallFailed)
        self.assertEqual((error.code, error.text, str(error)), (42, "ї%zz", "gRPC status 42: ї%zz"))

    def test_headers_without_end(self) -> None:
        """Headers above the limit end the connection."""
        headers = [*OPENING, *((f"x-{number}", "y" * 1000) for number in range(20))]
        self.played(lambda server, stream: server._h2.send_headers(stream, headers), Garbled)
        self.assertFalse(self.connection.client.open)

    def test_noise(self) -> None:
        """Bytes that are no HTTP/2 end the connection, and the call may have been processed."""
        for noise in (b"HTTP/1.1 400 Bad Request\r\n\r\n", bytes(100) * 9, goaway(0)[:5], b"\0\0\4\7\0\0\0\0\0word"):
            self.script = sending(noise)
            call = self.call()
            self.pass_time(DEADLINE)
            self.assertNotIsInstance(self.failureResultOf(call).value, NotReached)

    def test_old_http(self) -> None:
        """A server of HTTP/1.1 gets no request."""

        class Old(Protocol):
            def dataReceived(self, data: bytes) -> None:
                assert self.transport is not None
                self.transport.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

        self.endpoint.accept = Old
        self.failed(self.call(), NotReached)

    def test_peer_that_does_not_read(self) -> None:
        """While the server does not read, the client reads no more either, so that its answers take no memory."""
        self.call()
        client = self.connection.client
        assert client.producer is not None
        client.producer.pauseProducing()
        self.assertEqual(client.producerState, "paused")
        client.producer.resumeProducing()
        self.assertEqual(client.producerState, "producing")


OPENING = [(":status", "200"), ("content-type", "application/grpc")]


def goaway(last: int, code: int = 0) -> bytes:
    """A GOAWAY, made by the library."""
    return GoAwayFrame(0, last_stream_id=last, error_code=code).serialize()


Script = Callable[[ScriptedServer, int], None]


def sending(data: bytes) -> Script:
    """Send bytes."""
    return lambda server, stream: server.raw(data)


def resetting(code: ErrorCodes) -> Script:
    """Reset the stream."""
    return lambda server, stream: server._h2.reset_stream(stream, code)


def answering(headers: list[tuple[str, str]]) -> Script:
    """Answer with headers alone."""
    return lambda server, stream: server._h2.send_headers(stream, headers, end_stream=True)


def answer_well(server: ScriptedServer, stream: int) -> None:
    """Answer a call."""
    server._h2.send_headers(stream, OPENING)
    server._h2.send_data(stream, frame(b"well"))
    server._h2.send_headers(stream, [("grpc-status", "0")], end_stream=True)


class ServerTests(GrpcCase):
    """The server's end."""

    def setUp(self) -> None:
        """A client by the library alone."""
        super().setUp()
        self.transport = StringTransport()
        self.end = ServerConnection(self.clock, self.handle)
        self.end.makeConnection(self.transport)
        self.client = H2Connection()
        self.client.initiate_connection()

    def answered(self, data: bytes, *more: tuple[str, str], method: str = "POST") -> dict[bytes, bytes]:
        """The headers that answer a request."""
        stream = self.client.get_next_available_stream_id()
        request = [(":method", method), (":scheme", "http"), (":path", PATH), (":authority", "x"), *more]
        self.client.send_headers(stream, request)
        self.client.send_data(stream, data, end_stream=True)
        self.end.dataReceived(self.client.data_to_send())
        events = self.client.receive_data(self.transport.value())
        self.transport.clear()
        return {name: value for event in events for name, value in getattr(event, "headers", [])}

    def test_other_content(self) -> None:
        """A request that is not gRPC's is answered with 415 and not processed."""
        for more, method in (((), "POST"), ((("content-type", "application/grpc"),), "GET")):
            self.assertEqual(self.answered(b"", *more, method=method)[b":status"], b"415")
        self.assertEqual(self.asked, [])

    def test_odd_messages(self) -> None:
        """Half a message, two, or a compressed one are refused; the connection goes on."""
        kind = ("content-type", "application/grpc")
        for data, status in ((b"", b"13"), (frame(b"x")[:-1], b"13"), (frame(b"x") * 2, b"8"), (b"\1\0\0\0\0", b"8")):
            self.assertEqual(self.answered(data, kind)[b"grpc-status"], status)
        self.assertEqual(self.asked, [])
        self.assertEqual(self.answered(frame(b"x"), kind)[b"grpc-status"], b"0")


class WireTests(SynchronousTestCase):
    """Prefixes, frames and texts."""

    def test_prefix(self) -> None:
        """Five bytes before a message, however the stream is cut."""
        stream = bytes.fromhex("00 00000002 6869") + bytes(5)
        self.assertEqual(frame(b"hi") + frame(b""), stream)
        reader = MessageReader()
        self.assertEqual([message for byte in stream for message in reader.feed(bytes([byte]))], [b"hi", b""])
        self.assertEqual(reader.rest, 0)

    def test_frames(self) -> None:
        """Frames come whole, however the stream is cut; the preface is one of them."""
        frames = [b"p" * 24, goaway(5, 2), PingFrame(0, b"12345678").serialize()]
        splitter = FrameSplitter(24)
        self.assertEqual([found for byte in b"".join(frames) for found in splitter.feed(bytes([byte]))], frames)
        self.assertEqual([GoAway.of(found) for found in frames], [None, GoAway(5, 2), None])

    def test_timeouts(self) -> None:
        """Times have at most eight digits and a unit."""
        self.assertEqual(
            [statuses.timeout_of(seconds) for seconds in (0.0001, 1.5, 1e9)], ["1m", "1500m", "99999999m"]
        )
        found = [
            statuses.seconds_of(text) for text in ("2H", "3M", "4S", "5m", "6u", "8n", "123456789S", "1", "-1S", "")
        ]
        self.assertEqual(found, [7200, 180, 4, 0.005, 6e-6, 8e-9, None, None, None, None])

    def test_texts(self) -> None:
        """Texts of statuses carry any letters as percent escapes."""
        text = 'про 100% "ї"\r\n~'
        self.assertEqual(statuses.escaped(text), '%D0%BF%D1%80%D0%BE 100%25 "%D1%97"%0D%0A~')
        self.assertEqual(statuses.unescaped(statuses.escaped(text)), text)
