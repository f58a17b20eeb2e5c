"""What HTTP/2 carries for gRPC, and where frames of HTTP/2 begin and end.

A message has five bytes before it, in any number of DATA frames::

    00 | 00 00 00 07 | 7 bytes of message
    |    length
    compressed or not: 01 is refused, since no compression is offered

A frame of HTTP/2 has nine bytes before its payload: length (3), type (1), flags (1), stream (4). The connection reads
frames one by one, because `GOAWAY` is read here: the HTTP/2 library takes no more frames after it, while a server
that leaves finishes the calls that it has begun.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from protocols.errors import Garbled

MOST_BYTES = 4 * 1024 * 1024
"""The longest message that is read; gRPC's own default."""

MOST_PAYLOAD = 1 << 14
"""The longest payload of a frame: HTTP/2's default, which is never raised."""

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""The first bytes of a client."""

_PREFIX, _HEADER = 5, 9
_GOAWAY = 7


def frame(message: bytes) -> bytes:
    """``message`` with its prefix."""
    return b"\0" + len(message).to_bytes(4, "big") + message


class MessageReader:
    """Reads messages from pieces of a stream.

    :param most: bytes of the longest message.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._held = bytearray()

    @property
    def rest(self) -> int:
        """Bytes of a message that is not whole yet."""
        return len(self._held)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that ``data`` ends.

        :raises Garbled: when one is compressed, or too long.
        """
        self._held += data
        while len(self._held) >= _PREFIX:
            length = int.from_bytes(self._held[1:_PREFIX], "big")
            if self._held[0]:
                raise Garbled("a compressed message", bytes(self._held[:_PREFIX]))
            if length > self._most:
                raise Garbled(f"a message of {length} bytes")
            end = _PREFIX + length
            if len(self._held) < end:
                return
            message = bytes(self._held[_PREFIX:end])
            del self._held[:end]
            yield message


class FrameSplitter:
    """Cuts a stream into frames.

    :param preface: bytes before the first frame, given as a frame of their own.
    """

    def __init__(self, preface: int = 0) -> None:
        self._preface = preface
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that ``data`` ends, with their headers.

        :raises Garbled: when one is longer than HTTP/2 allows.
        """
        self._held += data
        while len(self._held) >= (self._preface or _HEADER):
            end = self._preface or _HEADER + int.from_bytes(self._held[:3], "big")
            if end > _HEADER + MOST_PAYLOAD:
                raise Garbled("no frame of HTTP/2", bytes(self._held[:_HEADER]))
            if len(self._held) < end:
                return
            whole = bytes(self._held[:end])
            del self._held[:end]
            self._preface = 0
            yield whole


@dataclass(frozen=True)
class GoAway:
    """The peer takes no more calls.

    :param last: the highest stream that it may have processed; those above it certainly were not.
    :param code: HTTP/2's reason, 0 without one.
    """

    last: int
    code: int

    @classmethod
    def of(cls, data: bytes) -> GoAway | None:
        """The `GOAWAY` that a whole frame is, if it is one.

        :raises Garbled: when it is too short.
        """
        if len(data) < _HEADER or data[3] != _GOAWAY or data.startswith(PREFACE):
            return None
        if len(data) < _HEADER + 8 or int.from_bytes(data[5:9], "big") & 0x7FFFFFFF:
            raise Garbled("no GOAWAY", data[:_HEADER])
        last, code = data[_HEADER : _HEADER + 4], data[_HEADER + 4 : _HEADER + 8]
        return cls(int.from_bytes(last, "big") & 0x7FFFFFFF, int.from_bytes(code, "big"))
