"""Frames of Datecs registers, found in a stream cut anywhere (docs/reference/registers.md#datecs-frame).

====== === === === ==== == ======= == ============ ==
host   01  LEN SEQ CMD  DATA       05 four nibbles 03
device 01  LEN SEQ CMD  DATA 04 ST 05 four nibbles 03
====== === === === ==== == ======= == ============ ==

LEN is 20 + the bytes from LEN to 05. The sum of these bytes has 16 bits; each of its nibbles is sent + 30, highest
first. ST is six bytes with bit 7 set. Between frames a device sends 15 (send again) and 16 (busy). Inside a
frame neither of them occurs, nor 01: where one does, the frame before it was cut short.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocols.registers.numbered import Damaged, Noise, Piece, Sign

START, MARK, STATUS, END = 0x01, 0x05, 0x04, 0x03
NAK, SYN = 0x15, 0x16

FIRST_NUMBER, LAST_NUMBER, LAST_OLD_NUMBER = 0x20, 0xFF, 0x7F
"""Older descriptions end at 7F; every register takes numbers up to there."""

_OFFSET = 0x20
_SHORTEST = 4
"""LEN, SEQ, CMD and 05."""
LONGEST_DATA = 0xFF - _OFFSET - _SHORTEST

_NEVER_INSIDE = frozenset({START, NAK, SYN})
_SIGNS = {NAK: Sign.REFUSED, SYN: Sign.BUSY}
_DAMAGED_AFTER = 5
"""Bytes of a frame without which its loss is noise: its number has come."""


@dataclass(frozen=True)
class DatecsFrame:
    """A command, or an answer when it has a ``status``."""

    number: int
    code: int
    data: bytes = b""
    status: bytes = b""

    def encode(self) -> bytes:
        """The frame as it travels.

        :raises ValueError: it is too long, or there are bytes in it that a frame cannot carry.
        """
        body = self.data + (bytes([STATUS]) + self.status if self.status else b"")
        if len(body) > LONGEST_DATA:
            raise ValueError(f"{len(self.data)} bytes of data do not fit into a frame")
        if any(byte < 0x20 and byte not in (0x09, 0x0A, 0x0D) for byte in self.data):
            raise ValueError("control characters do not fit into a frame")
        length = _OFFSET + _SHORTEST + len(body)
        counted = bytes([length, self.number, self.code]) + body + bytes([MARK])
        return bytes([START]) + counted + check(counted) + bytes([END])

    @classmethod
    def decode(cls, frame: bytes) -> DatecsFrame | None:
        """What is in ``frame``; `None` when it is damaged."""
        if len(frame) < _SHORTEST + 6 or frame[0] != START or frame[-1] != END or frame[-6] != MARK:
            return None
        counted = frame[1:-5]
        if frame[1] != _OFFSET + len(counted) or frame[-5:-1] != check(counted):
            return None
        body = counted[3:-1]
        data, mark, status = body.partition(bytes([STATUS]))
        if mark and (len(status) != 6 or any(byte < 0x80 for byte in status)):
            return None
        return cls(frame[2], frame[3], data, status)


def check(counted: bytes) -> bytes:
    """The four bytes behind 05."""
    total = sum(counted) & 0xFFFF
    return bytes(0x30 + (total >> shift & 0xF) for shift in (12, 8, 4, 0))


class Deframer:
    """See `protocols.registers.numbered.IDeframer`."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def inside(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[Piece[DatecsFrame]]:
        """Everything that ``data`` completes; never fails."""
        self._buffer += data
        pieces: list[Piece[DatecsFrame]] = []
        while self._buffer:
            piece = self._next()
            if piece is None:
                break
            pieces.append(piece)
        return pieces

    def forget(self) -> list[Piece[DatecsFrame]]:
        """Drop an incomplete frame."""
        self._buffer.clear()
        return []

    def _next(self) -> Piece[DatecsFrame] | None:
        first = self._buffer[0]
        if first in _SIGNS:
            del self._buffer[0]
            return _SIGNS[first]
        if first != START:
            return Noise(self._take(self._next_start()))
        if len(self._buffer) < 2:
            return None
        # Up to 05, the sum and 03; a shorter LEN is the byte that is damaged.
        whole = max(self._buffer[1] - _OFFSET, _SHORTEST) + 6
        cut = self._next_start(whole)
        if cut < min(whole, len(self._buffer)):
            return self._lost(cut)
        if len(self._buffer) < whole:
            return None
        frame = DatecsFrame.decode(bytes(self._buffer[:whole]))
        if frame is None:
            return self._lost(whole)
        del self._buffer[:whole]
        return frame

    def _lost(self, count: int) -> Damaged | Noise:
        lost = self._take(count)
        return Damaged(lost) if count >= _DAMAGED_AFTER else Noise(lost)

    def _next_start(self, most: int | None = None) -> int:
        """The place of the next byte that begins something, behind the first."""
        end = len(self._buffer) if most is None else min(most, len(self._buffer))
        return next((n for n in range(1, end) if self._buffer[n] in _NEVER_INSIDE), end)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken
