"""The process that owns the SQLite file: the one internal queue of the specification (1.9).

It takes all waiting questions, runs them in one transaction, each verb wholly or not at all, commits, and only then
answers, searches included: no caller sees a row that a crash could still take away. One ``fdatasync`` serves all
callers of a batch. Questions that read much of the history go past the queue (`dmtwisted.store.sqlite.lists`).
``python -m dmtwisted.store.sqlite.writer FILE`` speaks :mod:`dmtwisted.store.sqlite.wire` on its standard input and
output, and ends when its input does.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import ExitStack
from io import FileIO
from threading import Lock
from typing import IO, NoReturn

from dmtwisted.crash_points import reached
from dmtwisted.store.interface import READS
from dmtwisted.store.sqlite.damage import SMALL, open_for_reading, quick_look
from dmtwisted.store.sqlite.file import LOCK_PATIENCE, Locked, take_lock
from dmtwisted.store.sqlite.left_log import write_again
from dmtwisted.store.sqlite.lists import Lists, Question, is_list
from dmtwisted.store.sqlite.wire import DONE, FAILED, READY, TABLE, TAKEN, Deframer, Verb, frame, pack
from dmtwisted.store.sqlite.write_back import LONGEST, WriteBack
from dmtwisted.store.values import NameTaken
from dmtwisted.system.memory import rarely_collect

PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    # FULL: the log is on the disk before a commit returns. NORMAL would lose answered receipts with the power.
    "PRAGMA synchronous=FULL",
    "PRAGMA busy_timeout=5000",
    "PRAGMA foreign_keys=ON",
    "PRAGMA wal_autocheckpoint=4000",
    "PRAGMA journal_size_limit=67108864",
    "PRAGMA temp_store=MEMORY",
)

MOST_AT_ONCE = 1 << 20
"""Bytes of questions that are taken at once."""

_output = Lock()


def main(path: str, reading: bool = False) -> int:
    """Serve ``path`` until the input ends.

    :param reading: serve what can be read of a damaged file; the file is not changed.
    """
    # The service ends this process by closing its input, after the last question.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if reading:
        return _serve_damaged(path)
    try:
        lock = take_lock(f"{path}.lock", LOCK_PATIENCE)
        write_again(path)
        db = connect(path)
        trouble = quick_look(db) if os.path.getsize(path) <= SMALL else ""
        # A file without write permission opens too, and would fail at the first sale.
        for statement in ("BEGIN IMMEDIATE", "PRAGMA user_version=0", "ROLLBACK"):
            db.execute(statement)
        if trouble:
            _give_up(trouble)
        _mark_used(lock)
    except (Locked, OSError, sqlite3.Error) as error:
        _give_up(str(error))
    rarely_collect()
    lists = lists_of(db, path)
    write_back = write_back_of(db, path)
    _serve(db, lists, write_back)
    for beside in (lists, write_back):
        if beside is not None:
            beside.finish()
    db.close()
    lock.close()
    return 0


def _give_up(why: str) -> NoReturn:
    """End with the file still open: closing it would bring the log into it, and a damaged file must not change."""
    _write(frame(READY, FAILED, pack(why)))
    os._exit(1)


def lists_of(db: sqlite3.Connection, path: str) -> Lists | None:
    """The lists of a file; `None` for a file without a write-ahead log, where a reader would block the writer.

    Some network file systems do not support that log.
    """
    return Lists(path, run_batch, _write) if db.execute("PRAGMA journal_mode").fetchone() == ("wal",) else None


def write_back_of(db: sqlite3.Connection, path: str) -> WriteBack | None:
    """What writes the log of a file back; `None` when it has none."""
    if db.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        return None
    # SQLite's own way, for which a sale waits, remains for a disk that does not keep up.
    db.execute(f"PRAGMA wal_autocheckpoint={4 * LONGEST}").fetchall()
    return WriteBack(path)


def _serve(db: sqlite3.Connection, lists: Lists | None, write_back: WriteBack | None = None) -> None:
    _write(frame(READY, DONE, b""))
    deframer = Deframer()
    # One buffer for all: the system would map and unmap so much memory for each question.
    waiting = memoryview(bytearray(MOST_AT_ONCE))
    questions = FileIO(0, closefd=False)
    while size := questions.readinto(waiting):
        batch = [(seq, TABLE[small], body) for seq, small, body in deframer.feed(waiting[:size])]
        if batch:
            serve_batch(db, lists, batch, _write)
            if write_back is not None:
                write_back.written()


def serve_batch(
    db: sqlite3.Connection, lists: Lists | None, batch: list[Question], answer: Callable[[bytes], None]
) -> None:
    """Answer ``batch``; its lists later, when they are read.

    :param lists: `None` when there are no writes, which a list could delay.
    """
    beside = [] if lists is None else [question for question in batch if is_list(*question[1:])]
    queued = [question for question in batch if question not in beside] if beside else batch
    if queued:
        answer(b"".join(run_batch(db, queued)))
    if lists is not None:
        for question in beside:
            lists.ask(question)


def _serve_damaged(path: str) -> int:
    with ExitStack() as held:
        try:
            held.enter_context(take_lock(f"{path}.lock", LOCK_PATIENCE))
        except Locked as error:
            _write(frame(READY, FAILED, pack(str(error))))
            return 1
        except OSError:
            """A disk without locks accepts no other writer either."""
        try:
            db = open_for_reading(path)
        except sqlite3.Error:
            # Each question then fails, as it would with the file.
            db = sqlite3.connect(":memory:", isolation_level=None)
        _serve(db, None)
        db.close()
    return 0


def _mark_used(lock: IO[str]) -> None:
    """Record in the lock file that the database has been used: when it is empty later, it is not a new one."""
    if not os.fstat(lock.fileno()).st_size:
        lock.write("in use since its first start\n")
        lock.flush()


def connect(path: str) -> sqlite3.Connection:
    """The file, opened for durable writing; the driver begins no transactions."""
    db = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    for pragma in PRAGMAS:
        db.execute(pragma).fetchall()
    return db


def run_batch(db: sqlite3.Connection, batch: list[Question], apart: bool = False) -> list[bytes]:
    """The answers to ``batch``, all of it in one transaction.

    :param apart: give each write its own savepoint, because one of them fails. The first try does without: savepoints
        are a tenth of the cost of a sale here, and a write hardly ever fails.
    """
    writes = any(verb.name not in READS for _, verb, _ in batch)
    try:
        db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
    except sqlite3.Error as error:
        return _not_written(db, batch, error)
    answers = []
    for seq, verb, body in batch:
        try:
            answers.append(frame(seq, DONE, _run_one(db, verb, body, apart)))
        except Exception as error:
            # Any exception: the question of one caller must not lose the receipts of others.
            if not db.in_transaction:
                # On a full disk SQLite undoes the whole transaction, with what had succeeded before.
                return _not_written(db, batch, error)
            if verb.name not in READS and not apart:
                # Half of it may be done, among the writes of others.
                db.execute("ROLLBACK")
                return run_batch(db, batch, apart=True)
            answers.append(frame(seq, TAKEN if isinstance(error, NameTaken) else FAILED, pack(str(error))))
    reached("writer.before-commit")
    try:
        db.execute("COMMIT")
    except sqlite3.Error as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        return _not_written(db, batch, error)
    reached("writer.committed")
    return answers


def _run_one(db: sqlite3.Connection, verb: Verb, body: bytes, apart: bool) -> bytes:
    if not apart or verb.name in READS:
        return pack(verb.run(db, *verb.decode_arguments(body)))
    db.execute("SAVEPOINT one")
    try:
        value = verb.run(db, *verb.decode_arguments(body))
    except Exception:
        if db.in_transaction:
            db.execute("ROLLBACK TO one")
            db.execute("RELEASE one")
        raise
    db.execute("RELEASE one")
    return pack(value)


def _not_written(db: sqlite3.Connection, batch: list[Question], error: Exception) -> list[bytes]:
    """The answers to ``batch`` when nothing of it was written because of ``error``.

    A till that asks for the outcome of its receipt must still get it: reads that came together with writes are run
    again, alone.
    """
    reads = [question for question in batch if question[1].name in READS]
    alone = len(reads) == len(batch)
    failed = [frame(seq, FAILED, pack(str(error))) for seq, verb, _ in batch if alone or verb.name not in READS]
    return failed if alone or not reads else failed + run_batch(db, reads)


def _write(data: bytes) -> None:
    view = memoryview(data)
    with _output:
        while view:
            view = view[os.write(1, view) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "reading" in sys.argv[2:]))
