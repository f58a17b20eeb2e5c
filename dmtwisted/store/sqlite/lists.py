"""Lists beside the queue: searches that read much of the history, where no till waits for them.

A page of years with its total counts every entry of an index. The writer does that in a thread with a separate
connection: SQLite releases the interpreter while it reads, and with the write-ahead log a reader and the writer do
not wait for each other.

A list is read when all earlier questions are committed and answered: it shows their results, and nothing that a crash
could take away. Lists are read one after the other.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

import msgspec

from dmtwisted.store.sqlite.wire import FAILED, Verb, frame, pack

Question = tuple[int, Verb, bytes]

IDLE = 10.0
"""Seconds without a list after which its connection is closed, which frees its memory."""

ENDING = 5.0
"""Seconds at the end in which lists may still be read; a list that takes longer is interrupted."""

LONGEST_LOG = 128 << 20
"""Bytes of the write-ahead log above which it is written back before the next list.

While a list is read, the log cannot start again from its beginning (`dmtwisted.store.sqlite.write_back`); during one
list after the other it would only grow.
"""

LOG_PATIENCE, BRIEF_PATIENCE = 50, 5
"""Milliseconds that a list may wait for others, and that writing the log back may wait, when a sale waits too."""

SWITCH = 0.0005
"""Seconds after which a list that runs in the interpreter itself gives way to the writer."""


def is_list(verb: Verb, body: bytes) -> bool:
    """Whether a question may read much; a search for one key or number does not."""
    try:
        if verb.name == "find_operations":
            (query,) = verb.decode_arguments(body)
            return query.n is None and not query.key
        if verb.name == "find_documents":
            (query,) = verb.decode_arguments(body)
            return query.number is None and not query.fiscal_number
    except msgspec.DecodeError:
        """The queue answers it with the error."""
    return verb.name in ("sent_documents", "seals", "concluded", "aged", "events")


class Lists:
    """The reader of the file ``path``.

    :param run: returns the answers to questions that are read in one transaction.
    :param answer: sends an answer; it is called in the reader's thread.
    """

    def __init__(
        self,
        path: str,
        run: Callable[[sqlite3.Connection, list[Question]], list[bytes]],
        answer: Callable[[bytes], None],
    ) -> None:
        self._path, self._run, self._send = path, run, answer
        self._asked: SimpleQueue[Question | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._db: sqlite3.Connection | None = None
        self._ending = False

    def ask(self, question: Question) -> None:
        """Read this after all earlier questions."""
        if self._thread is None:
            sys.setswitchinterval(SWITCH)
            self._thread = Thread(target=self._read_all, daemon=True)
            self._thread.start()
        self._asked.put(question)

    def finish(self) -> None:
        """Return when everything is answered and the file is closed; what takes longer than `ENDING` fails."""
        if self._thread is None:
            return
        self._asked.put(None)
        self._thread.join(ENDING)
        self._ending = True
        while self._thread.is_alive():
            # Between two statements there is nothing to interrupt: try again.
            if (db := self._db) is not None:
                with suppress(sqlite3.ProgrammingError):  # closed in this moment
                    db.interrupt()
            self._thread.join(0.05)

    def _read_all(self) -> None:
        while (question := self._next()) is not None:
            self._send(self._answer(question))
        self._close()

    def _next(self) -> Question | None:
        try:
            return self._asked.get(timeout=IDLE)
        except Empty:
            self._close()
        return self._asked.get()

    def _answer(self, question: Question) -> bytes:
        try:
            if self._ending:
                raise sqlite3.OperationalError("the database is being closed")
            if self._db is None:
                self._db = open_for_lists(self._path)
            if os.path.getsize(f"{self._path}-wal") > LONGEST_LOG:
                write_back(self._db)
            return b"".join(self._run(self._db, [question]))
        except Exception as error:
            # Any exception: the thread must live on for the next list.
            return frame(question[0], FAILED, pack(str(error)))

    def _close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def open_for_lists(path: str) -> sqlite3.Connection:
    """The file of this process's writer, opened for reading."""
    # Opened by the reader's thread, interrupted by the writer's.
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    for pragma in ("query_only=ON", f"busy_timeout={LOG_PATIENCE}", "temp_store=MEMORY"):
        db.execute(f"PRAGMA {pragma}").fetchall()
    return db


def write_back(db: sqlite3.Connection) -> None:
    """Bring the log into the file, so that the next commit starts the log again."""
    # Most of it while tills sell; what came meanwhile in the moment in which they wait. A reader of an older moment,
    # such as the check of all pages after a start, may take minutes: blocking the tills for it would be in vain.
    db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    db.execute(f"PRAGMA busy_timeout={BRIEF_PATIENCE}").fetchall()
    db.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    db.execute(f"PRAGMA busy_timeout={LOG_PATIENCE}").fetchall()
