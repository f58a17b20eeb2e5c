"""The memory of a long-running process."""

from __future__ import annotations

import gc
import sys
from contextlib import suppress

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
"""Parameters of ``mallopt`` (malloc.h of the GNU C library)."""

LARGE = 1 << 20
"""Bytes of a block that goes back to the system as soon as it is free."""


def rarely_collect() -> None:
    """Exclude the objects of the start from garbage collection, and collect the rest rarely.

    Tasks leave few cycles, so rare collections keep pauses out of sales (docs/performance.md).
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    gc.enable()


def return_large_blocks() -> None:
    """Make the GNU C library give each large free block back to the system, as other systems do.

    By default it keeps blocks of up to 32 MB once one was freed, and does so for each thread: ten threads that have
    each made the hash of one password keep 190 MB.
    """
    if sys.platform != "linux":
        return
    import ctypes

    # Another C library has no such call, and gives large blocks back anyway.
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(MMAP_THRESHOLD, LARGE)
        mallopt(TRIM_THRESHOLD, 2 * LARGE)
