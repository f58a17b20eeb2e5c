"""A gRPC server of unary calls, for simulators."""

from __future__ import annotations

from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import H2Error
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IAddress, IDelayedCall, IProtocolNegotiationFactory, IReactorTime
from twisted.internet.protocol import Factory, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, WireError
from protocols.grpc.framing import GoAway, MessageReader, frame
from protocols.grpc.http2 import Headers, Http2, headers_of
from protocols.grpc.statuses import CallFailed, Code, escaped, seconds_of

CUT_S = 0.5
"""Seconds after half of an answer until the connection is closed in any case."""


@dataclass(frozen=True)
class Cut:
    """The connection breaks, after half of ``answer`` when there is one."""

    answer: bytes = b""


class Handler(Protocol):
    """Answers calls."""

    def __call__(self, path: str, request: bytes) -> Coroutine[Any, Any, bytes | Cut | None]:
        """The answer to one call; `None` for none at all.

        :raises CallFailed: to answer with a status.
        """


class _Asked:
    """A call that comes in, or is answered."""

    def __init__(self, headers: Headers) -> None:
        self.path = headers.get(":path", "")
        self.patience = seconds_of(headers.get("grpc-timeout", ""))
        self.reader = MessageReader()
        self.messages: list[bytes] = []
        self.work: Deferred[None] | None = None


class ServerConnection(Http2):
    """Answers the calls of one client."""

    log = Logger()

    def __init__(self, clock: IReactorTime, handler: Handler) -> None:
        super().__init__(client=False)
        self._clock, self._handler = clock, handler
        self._asked: dict[int, _Asked] = {}
        self._cutting: IDelayedCall | None = None

    def happened(self, event: Event) -> None:
        """Something happened on the connection."""
        if isinstance(event, RequestReceived):
            self._begun(event.stream_id, headers_of(event.headers))
        elif isinstance(event, DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self._message(event.stream_id, event.data)
        elif isinstance(event, StreamEnded):
            self._complete(event.stream_id)
        elif isinstance(event, StreamReset):
            self._drop(event.stream_id)

    def _begun(self, stream: int, headers: Headers) -> None:
        if headers.get(":method") == "POST" and headers.get("content-type", "").startswith("application/grpc"):
            self._asked[stream] = _Asked(headers)
        else:
            self._h2.send_headers(stream, [(":status", "415")], end_stream=True)

    def _message(self, stream: int, data: bytes) -> None:
        asked = self._asked.get(stream)
        if asked is None:
            return
        try:
            asked.messages += asked.reader.feed(data)
            if len(asked.messages) > 1:
                raise Garbled("more than one message")
        except Garbled as error:
            self._status(stream, Code.RESOURCE_EXHAUSTED, str(error))
            # The stream may have ended with what is wrong.
            with suppress(H2Error):
                self.reset(stream, ErrorCodes.NO_ERROR)

    def _complete(self, stream: int) -> None:
        asked = self._asked.get(stream)
        if asked is None:
            return
        if not asked.messages or asked.reader.rest:
            self._status(stream, Code.INTERNAL, "half a message")
            return
        asked.work = Deferred[None].fromCoroutine(self._work(stream, asked))

    async def _work(self, stream: int, asked: _Asked) -> None:
        def late(result: object, seconds: float) -> Failure:
            return Failure(CallFailed(Code.DEADLINE_EXCEEDED))

        handled = Deferred[bytes | Cut | None].fromCoroutine(self._handler(asked.path, asked.messages[0]))
        if asked.patience is not None:
            handled.addTimeout(asked.patience, self._clock, late)
        try:
            answer = await handled
        except CallFailed as failed:
            self._status(stream, failed.code, failed.text)
        except CancelledError:
            # The client has gone.
            return
        except Exception:
            self.log.failure("a call of {path} failed", path=asked.path)
            self._status(stream, Code.INTERNAL, "the server failed")
        else:
            self._give(stream, answer)

    def _give(self, stream: int, answer: bytes | Cut | None) -> None:
        if answer is None:
            return
        del self._asked[stream]
        if answer == Cut():
            self.break_off(LineLost("cut"))
            return
        self._h2.send_headers(stream, [(":status", "200"), ("content-type", "application/grpc")])
        if isinstance(answer, Cut):
            whole = frame(answer.answer)
            self.cut(stream, whole[: len(whole) // 2])
            # Some clients do not answer to the end of TLS.
            self._cutting = self._clock.callLater(CUT_S, self.transport.abortConnection)
        else:
            self.send(stream, frame(answer), [("grpc-status", "0")])
            self.flush()

    def _status(self, stream: int, code: int, text: str) -> None:
        del self._asked[stream]
        headers = [(":status", "200"), ("content-type", "application/grpc"), ("grpc-status", str(int(code)))]
        if text:
            headers.append(("grpc-message", escaped(text)))
        self._h2.send_headers(stream, headers, end_stream=True)
        self.flush()

    def _drop(self, stream: int) -> None:
        self.forget(stream)
        asked = self._asked.pop(stream, None)
        if asked is not None and asked.work is not None:
            asked.work.cancel()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is lost."""
        if self._cutting is not None and self._cutting.active():
            self._cutting.cancel()
        super().connectionLost(reason)

    def leaving(self, goaway: GoAway) -> None:
        """A client that leaves closes the connection itself."""

    def sent(self, stream: int) -> None:
        """An answer is written."""

    def ended(self, error: WireError) -> None:
        """The connection is lost: nobody waits for answers."""
        for stream in list(self._asked):
            self._drop(stream)


@implementer(IProtocolNegotiationFactory)
class ServerFactory(Factory):
    """Makes the connections of a server; under TLS it offers HTTP/2 alone."""

    noisy = False

    def __init__(self, clock: IReactorTime, handler: Handler) -> None:
        self._clock, self._handler = clock, handler

    def buildProtocol(self, addr: IAddress | None) -> ServerConnection:
        """One more client."""
        return ServerConnection(self._clock, self._handler)

    def acceptableProtocols(self) -> list[bytes]:
        """What ALPN offers."""
        return [b"h2"]
