"""Parsing instructions from a stream that may be split anywhere: the part common to both printer languages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from protocols.printers.instructions import Instruction, Letters

Taken = tuple[int, tuple[Instruction, ...]]
"""Bytes consumed, and their instructions."""

LONGEST = 1 << 20
"""Longest instruction in bytes; a longer one is noise, so that one lost byte cannot swallow everything after it."""

_LONGEST_RUN = 4096
"""Characters that are kept together; a line has at most a hundred."""

_RUN = re.compile(rb"[\x20-\xff]*")
"""A run of text; while it may continue, it is examined again with each piece."""

_NUL = 0


def word(number: int) -> bytes:
    """``number`` in two bytes, little-endian, as both languages write it."""
    return number.to_bytes(2, "little")


def number_of(data: bytes) -> int:
    """The number in ``data``, little-endian."""
    return int.from_bytes(data, "little")


class InstructionReader:
    """Bytes in, instructions out; no input makes it fail.

    A run of text is returned when something else follows it, and kept while it may continue.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def waiting(self) -> int:
        """Bytes kept because the rest of their instruction is missing."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Instruction]:
        """Yield the instructions that ``data`` completes."""
        self._buffer += data
        buffer, at = bytes(self._buffer), 0
        while at < len(buffer):
            if buffer[at] == _NUL:
                at += 1
                continue
            taken = self._letters(buffer, at) if buffer[at] >= 0x20 else self._take(buffer, at)
            if taken is None:
                break
            at += taken[0]
            # What was yielded must not be yielded again when the caller stops early.
            del self._buffer[: len(self._buffer) - (len(buffer) - at)]
            yield from taken[1]
        del self._buffer[: len(self._buffer) - (len(buffer) - at)]

    def reset(self) -> None:
        """Discard incomplete input."""
        self._buffer.clear()

    def _letters(self, buffer: bytes, at: int) -> Taken | None:
        run = _RUN.match(buffer, at, at + _LONGEST_RUN)
        end = run.end() if run else at
        if end == len(buffer) and end - at < _LONGEST_RUN:
            return None
        return end - at, (Letters(buffer[at:end]),)

    def _take(self, buffer: bytes, at: int) -> Taken | None:
        """The instruction that begins at ``at`` with a control character; `None` while it is incomplete."""
        raise NotImplementedError
