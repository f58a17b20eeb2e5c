"""The write-ahead log of a writer that died is written to the disk again before anything reads it.

When a disk reports an error for ``fsync``, the written pages may be lost, but the system does not write them again:
they stay in memory and count as written. The writer that gets the error is safe: SQLite undoes that commit, and the
next one overwrites the same place of the log. But if the writer dies in between, its successor sees a log in memory
that looks whole to its end. What the successor adds after that part would be lost with it in a power cut. So the
whole log is written again, the same bytes, and flushed, before it is trusted. That takes a moment, and only after a
crash: a writer that ends in order leaves no log.
"""

from __future__ import annotations

import os

PIECE = 1 << 20
"""Bytes at once."""


def write_again(path: str) -> int:
    """Write the log of the file ``path`` again; return how many bytes that were.

    The caller has the lock of the file: no other process may write meanwhile.

    :raises OSError: when the disk does not keep it. Then the log must not be trusted.
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
