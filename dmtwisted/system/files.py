"""What files need to be the same on every system: locks that keep other processes away, names that change hands."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

LOCKED_BYTE = 1 << 30
"""Where Windows' lock lies: one byte, far behind whatever is in the file, which others may then still read."""

REPLACE_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Seconds between tries to take over a name on Windows, where whoever looks at a file keeps it from being replaced:
virus scanners do, for a moment, just when it was written."""


def describe_error(error: OSError) -> str:
    """The file and the reason, on one line."""
    return f"{error.filename or 'a file'}: {error.strerror or error}"


def lock_byte(descriptor: int, locking: Callable[[int], None]) -> None:
    """Lock the one byte that stands for the file.

    :param locking: locks a byte from where the descriptor stands, which is at the end of a file opened for appending:
        two processes would lock two bytes, and both have the file.
    :raises OSError: when another process has it.
    """
    os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
    locking(descriptor)


if sys.platform == "win32":
    import msvcrt

    def lock_file(descriptor: int) -> None:
        """Keep others away as long as the file is open.

        :raises OSError: when another process has it.
        """
        lock_byte(descriptor, lambda at: msvcrt.locking(at, msvcrt.LK_NBLCK, 1))

else:
    import fcntl

    def lock_file(descriptor: int) -> None:
        """Keep others away as long as the file is open.

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
    """Let ``fresh`` take over ``name``; blocks for less than a second at worst.

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
