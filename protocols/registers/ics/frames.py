"""Frames of ICS registers, found in a stream cut anywhere (docs/reference/registers.md#ics).

===== === ==== ==== == ===== ======
10 02 NUM CODE DATA CS 10 03 CRC
===== === ==== ==== == ===== ======

CS makes the sum of the bytes NUM to CS zero. Each 10 from NUM to CS is doubled. Some registers do not double a CS of
10: their frame ends in ``10 10 03``, which may as well be two bytes of data. Such a frame is taken when what follows
is not the rest of a longer one, or when nothing follows.

EP-09 and EP-11 add CRC-16/KERMIT over NUM to CS, before doubling, and 03; it is not doubled (L). Without it a lost or
added byte of 00 is not noticed here, but where the fields are read. Between frames a
register sends 06 (taken), 15 (send again) and 16 (busy).
"""

from __future__ import annotations

from dataclasses import dataclass

from protocols.checksums import crc_kermit
from protocols.registers.numbered import Damaged, Noise, Piece, Sign

DLE, STX, ETX = 0x10, 0x02, 0x03
ACK, NAK, SYN = 0x06, 0x15, 0x16

FIRST_NUMBER, LAST_NUMBER = 0x01, 0xFF

LONGEST = 300
"""Bytes of NUM to CS; more without an end are no frame."""

_SHORTEST = 3
_SIGNS = {ACK: Sign.TAKEN, NAK: Sign.REFUSED, SYN: Sign.BUSY}


@dataclass(frozen=True)
class IcsFrame:
    """A command, or an answer, whose data begins with its status."""

    number: int
    code: int
    data: bytes = b""

    def encode(self, crc: bool = False) -> bytes:
        """The frame as it travels.

        :raises ValueError: it is too long.
        """
        body = bytes((self.number, self.code)) + self.data
        body += bytes([-sum(body) & 0xFF])
        if len(body) > LONGEST:
            raise ValueError(f"{len(self.data)} bytes of data do not fit into a frame")
        doubled = body.replace(bytes([DLE]), bytes([DLE, DLE]))
        end = bytes((DLE, ETX))
        return bytes((DLE, STX)) + doubled + end + (_crc(body) if crc else b"")


def _crc(body: bytes) -> bytes:
    return crc_kermit(body + bytes([ETX])).to_bytes(2, "little")


class Deframer:
    """See `protocols.registers.numbered.IDeframer`.

    :param crc: whether frames have a CRC.
    """

    def __init__(self, crc: bool = False) -> None:
        self._crc = crc
        self._buffer = bytearray()
        self._short: tuple[IcsFrame, int] | None = None

    @property
    def inside(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[Piece[IcsFrame]]:
        """Everything that ``data`` completes; never fails."""
        self._buffer += data
        pieces: list[Piece[IcsFrame]] = []
        while self._buffer:
            piece = self._next()
            if piece is None:
                break
            pieces.append(piece)
        return pieces

    def forget(self) -> list[Piece[IcsFrame]]:
        """Drop an incomplete frame; nothing follows, so one that may have ended has."""
        short = self._short
        if short is None:
            self._buffer.clear()
            return []
        rest = bytes(self._buffer[short[1] :])
        self._buffer.clear()
        self._short = None
        return [short[0], *self.feed(rest)]

    def _next(self) -> Piece[IcsFrame] | None:
        self._short = None
        first = self._buffer[0]
        if first in _SIGNS:
            del self._buffer[0]
            return _SIGNS[first]
        if first != DLE:
            return Noise(self._take(self._outside()))
        if len(self._buffer) < 2:
            return None
        if self._buffer[1] != STX:
            return Noise(self._take(1))
        return self._frame()

    def _outside(self) -> int:
        """The place of the next byte that begins something."""
        return next((n for n, byte in enumerate(self._buffer) if byte == DLE or byte in _SIGNS), len(self._buffer))

    def _frame(self) -> Piece[IcsFrame] | None:
        buffer, body, at = self._buffer, bytearray(), 2
        while at < len(buffer):
            if buffer[at] != DLE:
                body.append(buffer[at])
                at += 1
            elif at + 1 == len(buffer):
                return None
            elif buffer[at + 1] == DLE:
                body.append(DLE)
                at += 2
                self._maybe_ended(body, at)
            elif buffer[at + 1] == ETX:
                return self._ended(body, at + 2)
            else:
                return self._lost(at)
            if len(body) > LONGEST:
                return self._lost(at)
        return None

    def _ended(self, body: bytearray, end: int) -> Piece[IcsFrame] | None:
        if self._crc and len(self._buffer) < end + 2:
            return None
        if not self._right(body, end):
            return self._lost(end)
        self._take(end + 2 * self._crc)
        self._short = None
        return _of(body)

    def _maybe_ended(self, body: bytearray, at: int) -> None:
        """Remember the frame that ends here if its CS was not doubled."""
        end = at + 1
        if self._buffer[at:end] == bytes([ETX]) and self._short is None and self._right(body, end):
            self._short = _of(body), end + 2 * self._crc

    def _right(self, body: bytearray, end: int) -> bool:
        if len(body) < _SHORTEST or sum(body) & 0xFF:
            return False
        return not self._crc or bytes(self._buffer[end : end + 2]) == _crc(bytes(body))

    def _lost(self, count: int) -> Piece[IcsFrame]:
        """What came is no frame up to ``count``, except for one that ended earlier."""
        if self._short is not None:
            (frame, end), self._short = self._short, None
            self._take(end)
            return frame
        lost = self._take(count)
        return Damaged(lost) if len(lost) > _SHORTEST else Noise(lost)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken


def _of(body: bytearray) -> IcsFrame:
    return IcsFrame(body[0], body[1], bytes(body[2:-1]))
