"""The client's end of a gRPC connection.

=======================================================  ==========================
what ended a call                                        its error
=======================================================  ==========================
anything, before all of the request was written          `NotReached`
`REFUSED_STREAM`; `GOAWAY` with a lower stream           `NotReached`
a status other than OK                                   `CallFailed`
no answer in time                                        `Silent`
another reset; the connection lost                       `LineLost`
an answer that is none                                   `Garbled`
=======================================================  ==========================

A server cannot process half of a request: its length comes first. An answer that has begun proves that the call was
received, whatever comes after it.
"""

from __future__ import annotations

from contextlib import suppress

from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    Event,
    PingAckReceived,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import H2Error
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.grpc.framing import MOST_BYTES, GoAway, MessageReader, frame
from protocols.grpc.http2 import Headers, Http2, headers_of
from protocols.grpc.statuses import CallFailed, Code, timeout_of, unescaped

PARTING_S = 5.0
"""Seconds that the server has to close its end."""


class _Call:
    """A call that is due."""

    def __init__(self, stream: int, answer: Deferred[bytes], most: int) -> None:
        self.stream, self.answer = stream, answer
        self.written = False
        self.headers: Headers = {}
        self.reader = MessageReader(most)
        self.messages: list[bytes] = []

    @property
    def processed(self) -> bool:
        """Whether the server may have processed it."""
        return self.written or bool(self.headers)


class ClientConnection(Http2):
    """Carries calls to one server.

    :param authority: the server's name, with its port when that is not the usual one.
    :param scheme: `https` or `http`.
    :param idle: seconds without a call after which the connection is closed.
    :param most: bytes of the longest answer.
    """

    def __init__(self, clock: IReactorTime, authority: str, scheme: str, idle: float, most: int = MOST_BYTES) -> None:
        super().__init__(client=True)
        self._clock, self._authority, self._scheme = clock, authority, scheme
        self._idle, self._most = idle, most
        self._calls: dict[int, _Call] = {}
        self._pings: list[Deferred[None]] = []
        self._ready: Deferred[None] | None = Deferred()
        self._leaving = False
        self._heard = 0.0
        self._closing: IDelayedCall | None = None

    @property
    def usable(self) -> bool:
        """Whether another call can be made."""
        return not self._over and not self._leaving

    @property
    def quiet_s(self) -> float:
        """Seconds since the server was last heard."""
        return self._clock.seconds() - self._heard

    def ready(self) -> Deferred[None]:
        """Wait for the server's settings: then it speaks HTTP/2. To be called once.

        :raises WireError: when the connection ends before.
        """
        assert self._ready is not None
        return self._ready

    def ping(self) -> Deferred[None]:
        """Wait for the answer to a PING.

        :raises WireError: when the connection ends before.
        """
        answer: Deferred[None] = Deferred(self._pings.remove)
        self._pings.append(answer)
        self._h2.ping(bytes(8))
        self.flush()
        return answer

    def call(self, path: str, request: bytes, deadline: float) -> Deferred[bytes]:
        """Send a request and wait for its answer, at most ``deadline`` seconds.

        :raises NotReached: when the server certainly has not processed it.
        :raises WireError: any other: it may have.
        """
        answer: Deferred[bytes] = Deferred(lambda _: self._give_up(call))
        headers = [
            (":method", "POST"),
            (":scheme", self._scheme),
            (":path", path),
            (":authority", self._authority),
            ("te", "trailers"),
            ("grpc-timeout", timeout_of(deadline)),
            ("content-type", "application/grpc"),
            ("user-agent", "dmtwisted"),
        ]
        try:
            if not self.usable:
                raise NotReached("the connection is closed")
            stream = self._h2.get_next_available_stream_id()
            self._h2.send_headers(stream, headers)
        except H2Error as error:
            raise NotReached(str(error)) from error
        self._calls[stream] = call = _Call(stream, answer, self._most)
        self._rest()
        self.send(stream, frame(request))
        self.flush()

        def late(result: bytes | Failure, seconds: float) -> bytes | Failure:
            return Failure(Silent(seconds, bool(call.headers))) if call.processed else result

        return answer.addTimeout(deadline, self._clock, late)

    def dataReceived(self, data: bytes) -> None:
        """Read frames."""
        self._heard = self._clock.seconds()
        super().dataReceived(data)

    def happened(self, event: Event) -> None:
        """Something happened on the connection."""
        if isinstance(event, RemoteSettingsChanged) and self._ready is not None:
            ready, self._ready = self._ready, None
            self._rest()
            ready.callback(None)
        elif isinstance(event, PingAckReceived):
            pings, self._pings = self._pings, []
            for ping in pings:
                ping.callback(None)
        elif isinstance(event, DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self._message(event.stream_id, event.data)
        elif isinstance(event, ResponseReceived | TrailersReceived):
            self._headers(event.stream_id, headers_of(event.headers))
        elif isinstance(event, StreamEnded):
            self._answered(event.stream_id)
        elif isinstance(event, StreamReset):
            self._refused(event.stream_id, event.error_code)

    def _message(self, stream: int, data: bytes) -> None:
        call = self._calls.get(stream)
        if call is None:
            return
        try:
            call.messages += call.reader.feed(data)
            if len(call.messages) > 1:
                raise Garbled("more than one message")
        except Garbled as error:
            self._fail(call, error)

    def _headers(self, stream: int, headers: Headers) -> None:
        call = self._calls.get(stream)
        if call is None:
            return
        call.headers.update(headers)
        status, kind = call.headers.get(":status"), call.headers.get("content-type", "")
        if status != "200" or not kind.startswith("application/grpc"):
            self._fail(call, Garbled(f"HTTP status {status} with {kind or 'no content type'}"))

    def _answered(self, stream: int) -> None:
        call = self._calls.get(stream)
        if call is None:
            return
        status = call.headers.get("grpc-status", "")
        if not (status.isascii() and status.isdigit() and len(status) < 4):
            self._fail(call, Garbled(f"grpc-status {status or 'is missing'}"))
        elif int(status) != Code.OK:
            self._fail(call, CallFailed(int(status), unescaped(call.headers.get("grpc-message", ""))))
        elif len(call.messages) != 1 or call.reader.rest or not call.written:
            self._fail(call, Garbled("an answer without its message"))
        else:
            self._settle(call)
            call.answer.callback(call.messages[0])

    def _refused(self, stream: int, code: int | None) -> None:
        self.forget(stream)
        call = self._calls.get(stream)
        if call is None:
            return
        self._settle(call)
        if code == ErrorCodes.REFUSED_STREAM and not call.headers:
            call.answer.errback(NotReached("the server refused the call"))
        else:
            call.answer.errback(_outcome(call, LineLost(f"the server gave the call up (HTTP/2 error {code})")))

    def leaving(self, goaway: GoAway) -> None:
        """The server takes no more calls, and finishes those up to the last stream that it names."""
        self._leaving = True
        for call in list(self._calls.values()):
            if call.stream > goaway.last and not call.headers:
                self.forget(call.stream)
                self._settle(call)
                call.answer.errback(NotReached(f"the server leaves (HTTP/2 error {goaway.code})"))
        self._rest()

    def sent(self, stream: int) -> None:
        """A request is written."""
        self._calls[stream].written = True

    def ended(self, error: WireError) -> None:
        """The connection is lost."""
        self._rest()
        waiting = [*self._pings, *([self._ready] if self._ready is not None else [])]
        self._pings, self._ready = [], None
        for deferred in waiting:
            deferred.errback(error)
        calls, self._calls = list(self._calls.values()), {}
        for call in calls:
            call.answer.errback(_outcome(call, error))

    def _give_up(self, call: _Call) -> None:
        self._fail(call, LineLost("given up"))

    def _fail(self, call: _Call, error: WireError) -> None:
        """End a call before its stream ends."""
        self._settle(call)
        # The stream may have ended with what is wrong.
        with suppress(H2Error):
            self.reset(call.stream)
        call.answer.errback(_outcome(call, error))

    def _settle(self, call: _Call) -> None:
        del self._calls[call.stream]
        self._rest()

    def _rest(self) -> None:
        """Close the connection when it is of no more use, and after a while without calls."""
        self._stop_waiting()
        if self._over or self._calls:
            return
        if self._leaving:
            self.leave()
        else:
            self._closing = self._clock.callLater(self._idle, self.leave)

    def _stop_waiting(self) -> None:
        if self._closing is not None and self._closing.active():
            self._closing.cancel()
        self._closing = None

    def leave(self) -> None:
        """Close the connection; calls that are due lose their answers."""
        self._leaving = True
        self.close()
        # TLS would wait for the server's leave.
        self._stop_waiting()
        self._closing = self._clock.callLater(PARTING_S, self.transport.abortConnection)


def _outcome(call: _Call, error: WireError) -> WireError:
    if call.processed or isinstance(error, NotReached):
        return error
    return NotReached(str(error))
