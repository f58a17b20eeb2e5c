"""File locks and replacing of files, in the same way on every operating system."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

LOCKED_BYTE = 1 << 30
"""The byte that is locked on Windows, far behind the content, which other processes can still read."""

REPLACE_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Seconds between tries to replace a file on Windows, where an open file cannot be replaced: virus scanners open new
files for a moment."""


def describe_error(error: OSError) -> str:
    """The file and the reason, on one line."""
    return f"{error.filename or 'a file'}: {error.strerror or error}"


def lock_byte(descriptor: int, locking: Callable[[int], None]) -> None:
    """Lock the one byte that represents the file.

    :param locking: locks the byte at the position of the descriptor. That is the end of a file opened for appending,
        so without the seek two processes would lock two different bytes.
    :raises OSError: when another process has it.
    """
    os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
    locking(descriptor)


if sys.platform == "win32":
    import msvcrt

    def lock_file(descriptor: int) -> None:
        """Lock the file as long as it is open.

        :raises OSError: when another process has it.
        """
        lock_byte(descriptor, lambda at: msvcrt.locking(at, msvcrt.LK_NBLCK, 1))

else:
    import fcntl

    def lock_file(descriptor: int) -> None:
        """Lock the file as long as it is open.

        :raises OSError: when another process has it.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def replace(
    fresh: Path,
    name: Path,
    platform: str = sys.platform,
    rename: Callable[[Path, Path], None] = os.replace,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Replace the file ``name`` with ``fresh``; blocks for less than a second.

    :raises OSError: when that fails.
    """
    for pause in REPLACE_PAUSES if platform == "win32" else ():
        try:
            rename(fresh, name)
        except PermissionError:
            sleep(pause)
        else:
            return
    rename(fresh, name)
