"""The write-ahead log goes back into the SQLite file beside the queue: no sale waits while pages are written.

SQLite by itself writes the log back within the commit that made it long, and whoever waits for that commit waits for
thousands of pages and a flush of the whole file. Here a thread does it with a connection of its own, while the writer
goes on. Only what came meanwhile is written in a moment in which the writer is kept out, and only when the log would
not begin anew otherwise. While pages are flushed the disk is slow for the commits beside, so as many go at once as it
writes in a moment: few when they lie all over the file, as those of old receipts that are removed, and many when
they are written again and again, as those of sales.

How long the log is by now is read from its own frames (https://sqlite.org/fileformat2.html#walformat): those behind
the last one of this life of the log still bear another salt. The file of the log has none of SQLite's locks, so we
may open and close it.
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
"""Pages at which the log should begin anew, and at which it has to: below the `journal_size_limit` of the writer."""

FEW = 200
"""Pages for which the writer may be kept out: a few milliseconds."""

TRIES = 8
"""How often what came meanwhile is written, until nothing came: then the next commit begins the log anew."""

PAUSE, LONGEST_PAUSE = 0.02, 0.25
"""Seconds between two looks at the log while the writer writes."""

SLOW, REST = 0.03, 9.0
"""Seconds above which writing back was slow, and how much longer than what it took above them the pause after it is.

A disk that flushes slowly belongs to the commits. One that does not is best written to often: what comes together
in a longer pause is flushed at once, and then it is slow.
"""

PATIENCE = 10
"""Milliseconds for which a reader of an older moment may keep the writer out."""

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
        """The writer has committed something."""
        if not self._wake.is_set():
            self._wake.set()
            if self._thread is None:
                self._thread = Thread(target=self._run, daemon=True)
                self._thread.start()

    def finish(self) -> None:
        """Return when the file is let go of; the lock of the file is the next writer's then."""
        self._end.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with closing(Log(self._path)) as log:
            while not self._end.wait(log.pause):
                self._wake.wait()
                self._wake.clear()
                # Who ends says so before he wakes us: looking in between, his call is never taken for an older one.
                if self._end.is_set():
                    break
                try:
                    write_back(log)
                except (OSError, sqlite3.Error):
                    # A disk that is full or a file that is gone: the writer hears of it by itself.
                    log.close()


class Log:
    """The write-ahead log of the file ``path``: how much of it there is, and how much was written back.

    ``portion`` is how much of it is worth writing back, ``pause`` in how many seconds to look again.
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
        """Let go of the file."""
        db, self._db = self._db, None
        if db is not None:
            db.close()

    def took(self, pages: int, seconds: float) -> None:
        """So many pages were written back in so many seconds: the next portion is what takes `GENTLE`."""
        self.pause = min(max(PAUSE, REST * (seconds - SLOW)), LONGEST_PAUSE)
        if pages > 0:
            fit = int(pages * GENTLE / seconds) if seconds > 0 else MOST
            self.portion = max(min(fit, 2 * self.portion, MOST), LEAST)

    def look(self) -> int:
        """How many pages there are."""
        try:
            with open(self._path, "rb", buffering=0) as stream:
                return self._count(stream)
        except FileNotFoundError:
            return 0

    def _count(self, stream: IO[bytes]) -> int:
        head = stream.read(_HEAD)
        if len(head) < _HEAD:
            return 0
        (page,) = _SIZE.unpack_from(head, 8)
        salt = head[16 : 16 + _SALT]
        if salt != self._salt:
            self._salt, self.done = salt, 0
        each = _FRAME + page
        low, high = self.done, (os.fstat(stream.fileno()).st_size - _HEAD) // each
        while low < high:
            middle = (low + high) // 2
            stream.seek(_HEAD + middle * each + 8)
            if stream.read(_SALT) == salt:
                low = middle + 1
            else:
                high = middle
        return low


def write_back(log: Log) -> None:
    """Bring the log into the file when it has grown; begin it anew when it is long."""
    pages = log.look()
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
            # Somebody reads an older moment, perhaps for minutes: keeping the writer out would not help.
            return
    if LONGEST <= pages <= log.done + FEW:
        _checkpoint(db, "FULL")


def _checkpoint(db: sqlite3.Connection, how: str) -> int:
    """Write back; how many pages of the log are in the file by now."""
    _, _, done = db.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
    return max(int(done), 0)
