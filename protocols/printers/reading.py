"""Taking instructions out of a stream that is cut anywhere: what both printer languages have in common."""

from __future__ import annotations

import re
from collections.abc import Iterator

from protocols.printers.instructions import Instruction, Letters

Taken = tuple[int, tuple[Instruction, ...]]
"""How many bytes were used, and what they say."""

LONGEST = 1 << 20
"""Bytes of one instruction; what announces more is taken for noise, or a lost byte could swallow a whole day."""

_LONGEST_RUN = 4096
"""Letters that are kept together; a line of paper has at most a hundred."""

_RUN = re.compile(rb"[\x20-\xff]*")
"""Letters in a row: while more of them may come they are looked at again with each piece."""

_NUL = 0


class InstructionReader:
    """Bytes in, instructions out; no bytes make it fail.

    Letters are told when something else follows them: as long as they may go on, they are kept.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def waiting(self) -> int:
        """Bytes that are kept because the rest of their instruction has not come."""
        return len(self._buffer)

    def feed(self, data: bytes) -> Iterator[Instruction]:
        """The instructions that ``data`` completes."""
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
            # What was told must not be told again when the caller stops in the middle.
            del self._buffer[: len(self._buffer) - (len(buffer) - at)]
            yield from taken[1]
        del self._buffer[: len(self._buffer) - (len(buffer) - at)]

    def reset(self) -> None:
        """Forget what has begun."""
        self._buffer.clear()

    def _letters(self, buffer: bytes, at: int) -> Taken | None:
        run = _RUN.match(buffer, at, at + _LONGEST_RUN)
        end = run.end() if run else at
        if end == len(buffer) and end - at < _LONGEST_RUN:
            return None
        return end - at, (Letters(buffer[at:end]),)

    def _take(self, buffer: bytes, at: int) -> Taken | None:
        """The instruction that begins at ``at`` with a control character; `None` while it is not complete."""
        raise NotImplementedError
