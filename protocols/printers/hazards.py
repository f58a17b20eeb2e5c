"""Real-time commands, which a printer obeys wherever they stand in its stream, the inside of a picture included.

The receive interrupt looks at every byte, before anything knows what the byte belongs to (printers.md 1.1, warning):

================== ===================================================
``10 04 n``        tell the state n, at once
``10 05 n``        go on after an error, or throw away what waits
``10 14 1 m t``    open the drawer at once; other functions behind 2, 8
================== ===================================================

So a picture must not contain such a triple, or printing it opens the drawer. `tame` takes one dot out of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# A third byte up to 8 is taken for valid: models differ in what they know.
_TRIPLE = re.compile(rb"\x10(?=[\x04\x05\x14][\x00-\x08])")


def hazards(data: bytes) -> list[int]:
    """The places in ``data`` where a real-time command begins."""
    return [found.start() for found in _TRIPLE.finditer(data)]


def tame(picture: bytes) -> bytes:
    """``picture`` without real-time commands: one black dot turns white where each of them began."""
    # The zero that ends one command may complete another one that began two bytes before it.
    while _TRIPLE.search(picture):
        picture = _TRIPLE.sub(b"\0", picture)
    return picture


@dataclass(frozen=True)
class RealTime:
    """A real-time command: its function and parameters, from byte 2 on."""

    function: int
    parameters: bytes


_FUNCTIONS = {0x04: (1, range(1, 9)), 0x05: (1, range(3)), 0x14: (3, (1, 2, 8))}
"""How many parameters follow a function, and what the first of them may be; anything else is no command."""


class RealTimeScanner:
    """The printer's receive interrupt: finds real-time commands in a stream cut anywhere."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, data: bytes) -> Iterator[tuple[bytes, RealTime | None]]:
        """``data`` in pieces, each with the real-time command that its last byte completed."""
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
        """What of ``begun`` can still become a command: all of it, or its last byte, or nothing."""
        possible = len(begun) == 1 or begun[1] in _FUNCTIONS
        if len(begun) == 3:
            possible = begun[2] in _FUNCTIONS[begun[1]][1]
        return begun if possible else begun[-1:] if begun[-1] == 0x10 else b""
