"""The write-ahead log that a writer left behind when it died, brought to the disk once more before anybody reads it.

A disk that reports an error when it is told to keep what was written may have lost it, and the system does not try
again: the pages stay in memory, and pass for written. The writer that hears of it is safe, for SQLite takes that
commit back and its next one overwrites the very same place of the log. Not so its successor, when it dies in between:
in memory the log looks whole to the end, commit and all, and what is written behind that part would be lost with it
when the power goes. So whatever is in the log is written again, as the same bytes, and kept by the disk, before it is
believed. It costs a moment, and only after a crash: a writer that ends well leaves no log.
"""

from __future__ import annotations

import os

PIECE = 1 << 20
"""Bytes at once."""


def write_again(path: str) -> int:
    """Write the log of the file ``path`` once more; how many bytes that were.

    Whoever calls has the lock of the file: nobody else may write meanwhile.

    :raises OSError: when the disk does not keep it. Then nobody may build upon it.
    """
    try:
        stream = open(f"{path}-wal", "r+b", buffering=0)  # noqa: SIM115 - closed below
    except FileNotFoundError:
        return 0
    at = 0
    with stream:
        while data := stream.read(PIECE):
            stream.seek(at)
            view = memoryview(data)
            while view:
                view = view[stream.write(view) :]
            at += len(data)
        if at:
            os.fsync(stream.fileno())
    return at
