"""The cabinet's server over gRPC: messages, and both ends of a connection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from protocols.errors import NotReached, WireError
from protocols.fiscal.cabinet.messages import METHODS, Check, CheckResponse, Operator, RroInfoResponse
from protocols.grpc.connection import ClientConnection
from protocols.grpc.framing import MessageReader, frame
from protocols.grpc.server import ServerConnection
from protocols.protobuf import MalformedMessage
from tests.fuzz.target import Broken, Target, same_however_cut, until

SHAPES = tuple(dict.fromkeys(shape for pair in METHODS.values() for shape in pair))
OPENING = [(":status", "200"), ("content-type", "application/grpc")]
MOST_WRITTEN = 50
"""Bytes that one received byte may make an end write: an answer to a PING, or a reset."""


class Line(StringTransport):
    """A transport that can be cut."""

    def abortConnection(self) -> None:
        """Cut."""
        self.disconnecting = True


def messages(data: bytes) -> None:
    """A message is read and its encoding is read back as the same, or it is refused."""
    for shape in SHAPES:
        try:
            message = shape.decode(data)
        except MalformedMessage:
            continue
        if shape.decode(message.encode()) != message:
            raise Broken(f"{message!r} does not come back")


def prefixes(data: bytes) -> None:
    """Messages of a stream are the same however it is cut."""

    def read(pieces: Iterable[bytes]) -> list[Any]:
        return until(Exception, MessageReader(1000).feed, pieces)

    for message in same_however_cut(read, data):
        if isinstance(message, bytes) and list(MessageReader().feed(frame(message))) != [message]:
            raise Broken(f"{message!r} does not come out of its frame")


def fed(end: Any, line: Line, pieces: Iterable[bytes]) -> None:
    """Deliver pieces while the connection stands."""
    total = 0
    for piece in pieces:
        if line.disconnecting:
            break
        end.dataReceived(piece)
        total += len(piece)
    if len(line.value()) > 1000 + MOST_WRITTEN * total:
        raise Broken(f"{len(line.value())} bytes for {total}")


def till(data: bytes) -> None:
    """A call ends once, the same however the stream is cut; "not reached" only where no answer had begun."""

    def read(pieces: Iterable[bytes]) -> tuple[object, ...]:
        clock, line = Clock(), Line()
        end = ClientConnection(clock, "server.test", "https", 300)
        end.makeConnection(line)
        end.ready().addErrback(lambda failure: None)
        end.dataReceived(SETTINGS)
        ends: list[Any] = []
        call = end.call("/a/b", b"request", 30).addBoth(ends.append)
        ping = end.ping().addErrback(lambda failure: None)
        fed(end, line, pieces)
        clock.advance(30)
        end.connectionLost(Failure(ConnectionResetError()))
        ping.cancel()
        call.cancel()
        clock.advance(400)
        if len(ends) != 1:
            raise Broken(f"{len(ends)} ends: {ends!r}")
        if not isinstance(ends[0], bytes) and not ends[0].check(WireError):
            raise Broken(f"it ended in {ends[0]!r}")
        if clock.getDelayedCalls():
            raise Broken("something waits on")
        value = ends[0].value if isinstance(ends[0], Failure) else ends[0]
        return type(value), value if isinstance(value, bytes) else isinstance(value, NotReached)

    same_however_cut(read, data)


def server(data: bytes) -> None:
    """The calls that a server takes are the same however the stream is cut."""

    def read(pieces: Iterable[bytes]) -> list[tuple[str, bytes]]:
        clock, line, taken = Clock(), Line(), list[tuple[str, bytes]]()

        async def handle(path: str, request: bytes) -> bytes:
            taken.append((path, request))
            return request

        end = ServerConnection(clock, handle)
        end.makeConnection(line)
        fed(end, line, pieces)
        end.connectionLost(Failure(ConnectionResetError()))
        clock.advance(400)
        if clock.getDelayedCalls():
            raise Broken("something waits on")
        return taken

    same_however_cut(read, data)


def _peer(client: bool) -> H2Connection:
    peer = H2Connection(H2Configuration(client_side=client))
    peer.initiate_connection()
    return peer


SETTINGS = _peer(client=False).data_to_send()


def _answers() -> tuple[bytes, ...]:
    """What a server may send to a call, by the library alone."""
    found = []
    for ending in ("answer", "status", "reset", "leave", "ping"):
        peer, asker = _peer(client=False), _peer(client=True)
        asker.send_headers(1, [(":method", "POST"), (":scheme", "https"), (":path", "/"), (":authority", "x")])
        peer.receive_data(asker.data_to_send())
        peer.data_to_send()
        if ending == "answer":
            peer.send_headers(1, OPENING)
            peer.send_data(1, frame(b"answer"))
            peer.send_headers(1, [("grpc-status", "0")], end_stream=True)
        elif ending == "status":
            peer.send_headers(1, [*OPENING, ("grpc-status", "14"), ("grpc-message", "%20")], end_stream=True)
        elif ending == "reset":
            peer.reset_stream(1, ErrorCodes.REFUSED_STREAM)
        elif ending == "leave":
            peer.close_connection(last_stream_id=0)
        else:
            peer.ping(b"12345678")
            peer.increment_flow_control_window(1000)
        found.append(peer.data_to_send())
    return tuple(found)


def _request() -> bytes:
    """What a client sends, by the library alone."""
    peer = _peer(client=True)
    headers = [(":method", "POST"), (":scheme", "https"), (":path", "/a/b"), (":authority", "x"), ("te", "trailers")]
    peer.send_headers(1, [*headers, ("grpc-timeout", "1S"), ("content-type", "application/grpc")])
    peer.send_data(1, frame(b"request"), end_stream=True)
    return peer.data_to_send()


MESSAGES = (
    Check("4000000001", 20260921090502, b"\x30\x80", 1, 1, "eYme-jhnkWQ").encode(),
    CheckResponse(status=-12, error_message="ні").encode(),
    RroInfoResponse(operators=(Operator("a", -1, True), Operator()), lnum=7).encode(),
    bytes.fromhex("fb06 0801 0a0161 fb06fc06 fc06 0d01020304"),
)
FRAMES = tuple(bytes.fromhex(f"000008{kind:02x}0000000000") + bytes(8) for kind in range(10))
MORE_FRAMES = (b"\0\0\4\x03\0\0\0\0\1\0\0\0\7", b"\0\0\0\x09\4\0\0\0\1", b"\0\0\0\0\1\0\0\0\1", b"\0\0\0\4\1\0\0\0\0")

TARGETS = (
    Target("cabinet-messages", messages, MESSAGES, (b"\x0b", b"\x0c", b"\x6a\0", b"\xff" * 9 + b"\1")),
    Target("grpc-prefixes", prefixes, (frame(b"one") + frame(b""), b"\1\0\0\0\0"), (), 512),
    Target("grpc-till", till, _answers(), (*FRAMES, *MORE_FRAMES), 1024),
    Target("grpc-server", server, (_request(),), (*FRAMES, *MORE_FRAMES), 1024),
)
