"""Real-time commands, which a printer obeys anywhere in its input, also inside a picture.

The receive interrupt sees each byte before the parser does (docs/reference/printers.md#real-time-commands):

================== ===================================================
``10 04 n``        return state n immediately
``10 05 n``        continue after an error, or clear the buffer
``10 14 1 m t``    open the drawer immediately; 2 and 8 do other things
================== ===================================================

A picture with such a triple could open the drawer, so `tame` removes one dot from each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Models differ in the values that they accept as a third byte; none above 8 is known.
_TRIPLE = re.compile(rb"\x10(?=[\x04\x05\x14][\x00-\x08])")


def hazards(data: bytes) -> list[int]:
    """The positions in ``data`` where a real-time command begins."""
    return [found.start() for found in _TRIPLE.finditer(data)]


def tame(picture: bytes) -> bytes:
    """``picture`` without real-time commands: one black dot of each becomes white."""
    # The zero written here can complete another triple that began before it.
    while _TRIPLE.search(picture):
        picture = _TRIPLE.sub(b"\0", picture)
    return picture


@dataclass(frozen=True)
class RealTime:
    """A real-time command: its function (the second byte) and its parameters."""

    function: int
    parameters: bytes


_FUNCTIONS = {0x04: (1, range(1, 9)), 0x05: (1, range(3)), 0x14: (3, (1, 2, 8))}
"""Parameters that follow a function, and valid values of the first one; anything else is not a command."""


class RealTimeScanner:
    """The printer's receive interrupt: finds real-time commands in a stream that may be split anywhere."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, data: bytes) -> Iterator[tuple[bytes, RealTime | None]]:
        """Split ``data`` into pieces, each with the real-time command that its last byte completes."""
        start = 0
        for place, byte in enumerate(data):
            if not self._begun and byte != 0x10:
                continue
            self._begun = begun = self._longest_begin(self._begun + bytes([byte]))
            if len(begun) > 2 and len(begun) == 2 + _FUNCTIONS[begun[1]][0]:
                self._begun = b""
                yield data[start : place + 1], RealTime(begun[1], begun[2:])
                start = place + 1
        if start < len(data):
            yield data[start:], None

    @staticmethod
    def _longest_begin(begun: bytes) -> bytes:
        """The part of ``begun`` that can still become a command: all of it, its last byte, or nothing."""
        possible = len(begun) == 1 or begun[1] in _FUNCTIONS
        if len(begun) == 3:
            possible = begun[2] in _FUNCTIONS[begun[1]][1]
        return begun if possible else begun[-1:] if begun[-1] == 0x10 else b""
