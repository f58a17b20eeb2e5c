"""File locks and replacing of files, in the same way on every operating system."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path

LOCKED_BYTE = 1 << 30
"""The byte that is locked on Windows, far behind the content, which other processes can still read."""

REPLACE_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.4)
"""Seconds between tries to replace a file on Windows, where an open file cannot be replaced: virus scanners open new
files for a moment."""


MOST_NAMED = 1 << 20
"""Bytes of a file that a setting names."""

_QUIETLY = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_BINARY"))


def read_named(name: str, folders: Collection[Path] | None) -> bytes:
    """The content of a small regular file that a setting names; blocks.

    A link counts as the file at its end. Whether a file is absent or not allowed, the error is the same: a caller
    must not learn what is on the disk.

    :param folders: where it has to be; `None` is anywhere.
    :raises ValueError: when there is no such file, or one that may not be read.
    """
    try:
        if name.startswith(("\\\\", "//")):
            raise ValueError("another machine's file; asking for it would send our password there")
        file = os.path.realpath(name, strict=True)
        homes = [os.path.realpath(folder) for folder in folders or ()]
        if folders is not None and not any(Path(file).is_relative_to(home) for home in homes):
            raise ValueError("outside")
        # First looked at: to open a device may do something, and to open a pipe waits.
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise ValueError("not a file")
        with os.fdopen(os.open(file, _QUIETLY), "rb") as stream:
            content = stream.read(MOST_NAMED + 1) if stat.S_ISREG(os.fstat(stream.fileno()).st_mode) else None
        if content is None or len(content) > MOST_NAMED:
            raise ValueError("not a small file")
        return content
    except (OSError, ValueError):
        where = "" if folders is None else f" in {', '.join(map(str, folders))}"
        raise ValueError(f"there is no file of at most 1 MB with this name{where}") from None


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
