"""Write the write-ahead log back into the SQLite file beside the queue, so that no sale waits for it.

SQLite itself writes the log back within the commit that made it long; the caller of that commit then waits for
thousands of pages and a flush of the whole file. Here a thread does it with a separate connection, while the writer
goes on. The writer is blocked only for what came meanwhile, and only when the log would otherwise not start again
from its beginning. While pages are flushed, the disk is slow for the commits beside it. So each portion is what the
disk writes in a moment: few pages when they are spread over the file, like those of removed old receipts; many when
the same pages are written again and again, like those of sales.

The length of the log is read from its own frames (https://sqlite.org/fileformat2.html#walformat): frames after the
last valid one still have an older salt. SQLite holds no locks on the file of the log, so we may open and close it.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from contextlib import closing
from threading import Event, Thread
from typing import IO

LEAST, MOST = 80, 4000
"""Pages of the log, up to 16 MB, that are worth writing back."""

GENTLE = 0.003
"""Seconds that writing them back may take."""

LONG, LONGEST = 12_000, 15_500
"""Pages at which the log should start again, and at which it must: below the `journal_size_limit` of the writer."""

FEW = 200
"""Pages for which the writer may be blocked: a few milliseconds."""

TRIES = 8
"""How often what came meanwhile is written, until nothing comes: then the next commit starts the log again."""

PAUSE, LONGEST_PAUSE = 0.02, 0.25
"""Seconds between two checks of the log while the writer writes."""

SLOW, REST = 0.03, 9.0
"""Seconds above which writing back counts as slow; the pause after it is the excess times this factor.

A disk that flushes slowly is left to the commits. A fast disk is best written to often: what collects during a longer
pause is flushed at once, and is then slow.
"""

PATIENCE = 10
"""Milliseconds for which a reader of an older moment may block the writer."""

_HEAD, _FRAME, _SALT = 32, 24, 8
"""Bytes of the head of the log and of each frame, and of the salt in both."""

_SIZE = struct.Struct(">I")


class WriteBack:
    """The log of the file ``path``, written back by a thread from its first use until `finish`."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._wake, self._end = Event(), Event()
        self._thread: Thread | None = None

    def written(self) -> None:
        """Called when the writer has committed something."""
        if not self._wake.is_set():
            self._wake.set()
            if self._thread is None:
                self._thread = Thread(target=self._run, daemon=True)
                self._thread.start()

    def finish(self) -> None:
        """Return when the file is closed; then the next writer may take its lock."""
        self._end.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with closing(Log(self._path)) as log:
            while not self._end.wait(log.pause):
                self._wake.wait()
                self._wake.clear()
                # `finish` sets the end before it wakes us, so its call is never mistaken for an older one.
                if self._end.is_set():
                    break
                try:
                    write_back(log)
                except (OSError, sqlite3.Error):
                    # A full disk or a missing file: the writer notices that by itself.
                    log.close()


class Log:
    """The write-ahead log of the file ``path``: how much of it there is, and how much was written back.

    ``portion`` is how many pages are worth writing back, ``pause`` the seconds until the next check.
    """

    def __init__(self, path: str) -> None:
        self._file, self._path = path, f"{path}-wal"
        self._db: sqlite3.Connection | None = None
        self._salt = b""
        self.done = 0
        self.portion = LEAST
        self.pause = PAUSE

    def connection(self) -> sqlite3.Connection:
        """The file, opened until `close`."""
        if self._db is None:
            self._db = sqlite3.connect(self._file, isolation_level=None)
            for pragma in (f"busy_timeout={PATIENCE}", "synchronous=FULL"):
                self._db.execute(f"PRAGMA {pragma}").fetchall()
        return self._db

    def close(self) -> None:
        """Close the file."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def took(self, pages: int, seconds: float) -> None:
        """Record how long ``pages`` took: the next portion is what takes `GENTLE`."""
        self.pause = min(max(PAUSE, REST * (seconds - SLOW)), LONGEST_PAUSE)
        if pages > 0:
            fit = int(pages * GENTLE / seconds) if seconds > 0 else MOST
            self.portion = max(min(fit, 2 * self.portion, MOST), LEAST)

    def look(self, enough: int = 0) -> int:
        """How many pages there are; ``done`` when fewer than ``enough`` were added since."""
        try:
            with open(self._path, "rb", buffering=0) as stream:
                return self._count(stream, enough)
        except FileNotFoundError:
            return 0

    def _count(self, stream: IO[bytes], enough: int) -> int:
        head = stream.read(_HEAD)
        if len(head) < _HEAD:
            return 0
        (page,) = _SIZE.unpack_from(head, 8)
        salt = head[16 : 16 + _SALT]
        if salt != self._salt:
            self._salt, self.done = salt, 0
        each = _FRAME + page

        def written(frame: int) -> bool:
            stream.seek(_HEAD + frame * each + 8)
            return stream.read(_SALT) == salt

        low, high = self.done, (os.fstat(stream.fileno()).st_size - _HEAD) // each
        # Nearly always too few were added: one frame shows that.
        if enough and not written(low + enough - 1):
            return low
        while low < high:
            middle = (low + high) // 2
            if written(middle):
                low = middle + 1
            else:
                high = middle
        return low


def write_back(log: Log) -> None:
    """Bring the log into the file when it has grown; let it start again when it is long."""
    pages = log.look(log.portion)
    if pages - log.done < log.portion:
        return
    db = log.connection()
    for _ in range(TRIES if pages >= LONG else 1):
        before, begun = log.done, time.perf_counter()
        log.done = _checkpoint(db, "PASSIVE")
        log.took(log.done - before, time.perf_counter() - begun)
        pages = log.look()
        if pages <= log.done:
            return
        if log.done <= before:
            # A reader is at an older moment, perhaps for minutes: blocking the writer would not help.
            return
    if LONGEST <= pages <= log.done + FEW:
        _checkpoint(db, "FULL")


def _checkpoint(db: sqlite3.Connection, how: str) -> int:
    """Write back; return how many pages of the log are in the file now."""
    _, _, done = db.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
    return max(int(done), 0)
