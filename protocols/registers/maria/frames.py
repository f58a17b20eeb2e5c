"""Frames of Maria, found in a stream cut anywhere (docs/reference/registers.md#maria).

== ==== === == ======
FD text LEN FE CRC
== ==== === == ======

Text is 4 to 252 bytes of CP866 without FD, FE and FF, or 3 bytes in WRK and PRN; LEN is its length + 1. In CRC mode
two bytes of CRC-16/KERMIT over FD to FE follow, low byte first. Who does not know the mode sends the CRC, which is
noise to a register without it, and takes frames as they are at FE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from protocols.checksums import crc_kermit
from protocols.registers.numbered import Damaged, Noise

START, END = 0xFD, 0xFE
SHORTEST, LONGEST = 3, 252

FLUSH = bytes((START, START, END, END, END, END))
"""Ends whatever the register is reading; it answers `SOFTBLOCK` or `READY`."""

WAKE = b"U"
"""Sent twice after opening, at least `WAKE_PAUSE` apart, so that the register finds the speed."""

WAKE_PAUSE = 0.002

CHARSET = "cp866"

_FORBIDDEN = frozenset((0xFD, 0xFE, 0xFF))


@dataclass(frozen=True)
class Spoken:
    """What is in a frame."""

    text: bytes


Piece: TypeAlias = Spoken | Damaged | Noise


def frame(text: bytes, crc: bool) -> bytes:
    """``text`` as it travels.

    :raises ValueError: it does not fit.
    """
    if not SHORTEST <= len(text) <= LONGEST or _FORBIDDEN & set(text):
        raise ValueError(f"{len(text)} bytes do not fit into a frame")
    whole = bytes((START, *text, len(text) + 1, END))
    return whole + crc_kermit(whole).to_bytes(2, "little") if crc else whole


class Deframer:
    """Takes frames out of the bytes of a line.

    :param crc: whether frames have a CRC; `None` when that is not known, then it is not checked.
    """

    def __init__(self, crc: bool | None = None) -> None:
        self.crc = crc
        self._buffer = bytearray()

    @property
    def inside(self) -> bool:
        """Whether a frame has begun and not ended."""
        return bool(self._buffer)

    def feed(self, data: bytes) -> list[Piece]:
        """Everything that ``data`` completes; never fails."""
        self._buffer += data
        pieces: list[Piece] = []
        while self._buffer:
            piece = self._next()
            if piece is None:
                break
            pieces.append(piece)
        return pieces

    def forget(self) -> None:
        """Drop an incomplete frame."""
        self._buffer.clear()

    def _next(self) -> Piece | None:
        start = self._buffer.find(START)
        if start:
            return Noise(self._take(start if start > 0 else len(self._buffer)))
        end = self._buffer.find(END, 1, LONGEST + 3)
        # The length of the longest text is FD too.
        again = self._buffer.find(START, 1, LONGEST + 1 if end < 0 else min(end, LONGEST + 1))
        if again > 0:
            return self._lost(again)
        if end < 0:
            return self._lost(LONGEST + 3) if len(self._buffer) >= LONGEST + 3 else None
        whole = bytes(self._buffer[: end + 1])
        text = whole[1:-2]
        if len(text) < SHORTEST or whole[-2] != len(text) + 1:
            return self._lost(end + 1)
        if self.crc:
            if len(self._buffer) < end + 3:
                return None
            if int.from_bytes(self._buffer[end + 1 : end + 3], "little") != crc_kermit(whole):
                return self._lost(end + 1)
            del self._buffer[end + 1 : end + 3]
        del self._buffer[: end + 1]
        return Spoken(text)

    def _lost(self, count: int) -> Damaged | Noise:
        lost = self._take(count)
        return Damaged(lost) if len(lost) > SHORTEST else Noise(lost)

    def _take(self, count: int) -> bytes:
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken
