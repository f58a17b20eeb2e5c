"""Write a large file beside the tills: in portions that the disk takes in a moment, with rests.

What is written stays in memory until the system brings it to the disk, all at once. The commit of a sale then waits
for hundreds of megabytes.
"""

from __future__ import annotations

import os
import time
from io import FileIO
from typing import Any

PORTION = 1 << 20
"""Bytes that are brought to the disk together."""

REST, LONGEST_REST = 2.0, 1.0
"""The rest after a portion as a multiple of the time that it took, and the longest one in seconds."""

_sync = getattr(os, "fdatasync", os.fsync)


class Portions:
    """The portions of one file that grows."""

    def __init__(self, handle: int) -> None:
        self._handle, self._waiting = handle, 0
        self._begun = time.perf_counter()

    def wrote(self, size: int) -> None:
        """Record that ``size`` bytes were written: when they are a portion, bring it to the disk and rest.

        :raises OSError: when the disk does not take it.
        """
        self._waiting += size
        if self._waiting >= PORTION:
            self._waiting = 0
            _sync(self._handle)
            time.sleep(min((time.perf_counter() - self._begun) * REST, LONGEST_REST))
            self._begun = time.perf_counter()


class PortionedFile(FileIO):
    """A file for writing, in portions; give it to a `BufferedWriter`, because it may write less than it is given."""

    def __init__(self, file: Any, mode: str) -> None:
        super().__init__(file, mode)
        self._portions = Portions(self.fileno())

    def write(self, data: Any) -> int:
        """Write as much of ``data`` as the system takes; return how much that was."""
        size = super().write(data)
        self._portions.wrote(size)
        return size
