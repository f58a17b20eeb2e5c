"""One end of an HTTP/2 connection on a Twisted transport; `h2` keeps the state of the protocol."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import Event
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings
from twisted.internet.interfaces import IPushProducer
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, WireError
from protocols.grpc.framing import PREFACE, FrameSplitter, GoAway

MOST_HEADER_BYTES = 16 * 1024
"""All headers of a message together, unpacked."""

MOST_STREAMS = 16
"""Calls at once that a server takes on one connection."""

Headers = dict[str, str]


def headers_of(found: object) -> Headers:
    """Headers as text; of a name that comes twice the last value."""
    assert isinstance(found, list)
    return {bytes(name).decode("latin-1"): bytes(value).decode("latin-1") for name, value in found}


@dataclass
class _Unsent:
    data: memoryview
    trailers: list[tuple[str, str]] | None


@implementer(IPushProducer)
class Http2(Protocol):
    """One end of a connection.

    It reads no more while the peer does not read: each answer to a PING or SETTINGS would take memory.

    :param client: which end.
    """

    transport: Any

    def __init__(self, client: bool) -> None:
        self._h2 = H2Connection(H2Configuration(client_side=client, header_encoding=None))
        chosen = {SettingCodes.ENABLE_PUSH: 0, SettingCodes.MAX_HEADER_LIST_SIZE: MOST_HEADER_BYTES}
        if not client:
            chosen[SettingCodes.MAX_CONCURRENT_STREAMS] = MOST_STREAMS
        self._h2.local_settings = Settings(client=client, initial_values=chosen)
        self._h2.decoder.max_header_list_size = MOST_HEADER_BYTES
        self._splitter = FrameSplitter(0 if client else len(PREFACE))
        self._unsent: dict[int, _Unsent] = {}
        self._registered = self._parting = self._over = False

    @abstractmethod
    def happened(self, event: Event) -> None:
        """Something happened on the connection."""

    @abstractmethod
    def sent(self, stream: int) -> None:
        """All of a stream was given to the transport."""

    @abstractmethod
    def leaving(self, goaway: GoAway) -> None:
        """The peer takes no more calls."""

    @abstractmethod
    def ended(self, error: WireError) -> None:
        """The connection is lost, or closed for what came; called once."""

    def connectionMade(self) -> None:
        """Send the first bytes."""
        # A frame that waits for the acknowledgement of another one would cost up to 40 ms.
        with suppress(AttributeError):
            self.transport.setTcpNoDelay(True)
        self._h2.initiate_connection()
        self.flush()

    def dataReceived(self, data: bytes) -> None:
        """Read frames."""
        if not self._registered and not self._parting and not self._over:
            # During its handshake TLS pauses a producer that writes: one that then reads no more would wait for ever.
            self.transport.registerProducer(self, True)
            self._registered = True
        try:
            for frame in self._splitter.feed(data):
                if self._parting or self._over:
                    return
                self._frame(frame)
        except (H2Error, Garbled) as error:
            self.flush()
            self.break_off(Garbled(f"no HTTP/2: {error}"))
            return
        self.flush()

    def _frame(self, frame: bytes) -> None:
        goaway = GoAway.of(frame)
        if goaway is not None:
            self.leaving(goaway)
            return
        for event in self._h2.receive_data(frame):
            self.happened(event)
        if not self._over:
            self._pump()

    def send(self, stream: int, data: bytes, trailers: list[tuple[str, str]] | None = None) -> None:
        """Send ``data`` as the windows allow, then the end of the stream, with ``trailers`` if any."""
        self._unsent[stream] = _Unsent(memoryview(data), trailers)
        self._pump()

    def _pump(self) -> None:
        for stream, unsent in list(self._unsent.items()):
            while unsent.data:
                room = min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
                if room <= 0:
                    break
                piece, unsent.data = unsent.data[:room], unsent.data[room:]
                self._h2.send_data(stream, bytes(piece), end_stream=not unsent.data and unsent.trailers is None)
            if unsent.data:
                continue
            if unsent.trailers is not None:
                self._h2.send_headers(stream, unsent.trailers, end_stream=True)
            del self._unsent[stream]
            self.sent(stream)

    def forget(self, stream: int) -> None:
        """Send no more of a stream that is closed."""
        self._unsent.pop(stream, None)

    def reset(self, stream: int, code: ErrorCodes = ErrorCodes.CANCEL) -> None:
        """Close a stream before its end."""
        self.forget(stream)
        if not self._parting and not self._over:
            self._h2.reset_stream(stream, code)
            self.flush()

    def flush(self) -> None:
        """Write what is to be sent."""
        data = self._h2.data_to_send()
        if data and not self._over:
            self.transport.write(data)

    def close(self) -> None:
        """Take leave, and close the connection when all is written."""
        if not self._parting and not self._over:
            self._parting = True
            self._h2.close_connection()
            self.flush()
            self._lose()

    def cut(self, stream: int, data: bytes) -> None:
        """Close the connection without leave, after ``data`` of a stream that does not end."""
        room = min(self._h2.local_flow_control_window(stream), self._h2.max_outbound_frame_size)
        self._h2.send_data(stream, data[:room])
        self.flush()
        self._end(LineLost("cut"))
        self._lose()

    def _lose(self) -> None:
        if self._registered:
            # TLS would wait for more of a producer.
            self.transport.unregisterProducer()
        self.transport.loseConnection()

    def break_off(self, error: WireError) -> None:
        """Close the connection at once."""
        if not self._over:
            self._end(error)
            self.transport.abortConnection()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """End what is left."""
        if not self._over:
            self._end(LineLost(str(reason.value) or type(reason.value).__name__))

    def _end(self, error: WireError) -> None:
        self._over = True
        self._unsent.clear()
        self.ended(error)

    def pauseProducing(self) -> None:
        """Read no more until the peer has read."""
        self.transport.pauseProducing()

    def resumeProducing(self) -> None:
        """Read again."""
        self.transport.resumeProducing()

    def stopProducing(self) -> None:
        """The connection is lost, of which `connectionLost` tells."""
