"""What the peers keep: one SQLite file, the intent and the outcome of a task committed one after the other."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from time import time
from typing import Any

from tests.peers.receipts import Refused, Register, Task, answer_of, document_of, taken

log = logging.getLogger("peer")

FIRST_FISCAL_NUMBER = 4_000_000_001

TABLES = """
CREATE TABLE IF NOT EXISTS register (name TEXT PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS operation (
    n INTEGER PRIMARY KEY,
    device TEXT NOT NULL,
    tag TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    at REAL NOT NULL,
    number INTEGER NOT NULL,
    document TEXT NOT NULL,
    state TEXT NOT NULL,
    fiscal_number TEXT,
    answer TEXT,
    UNIQUE (device, tag),
    UNIQUE (device, number)
);
"""


class Books:
    """One connection, one transaction at a time."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.executescript(TABLES)
        self._lock = threading.Lock()

    def committed(self, *works: Callable[[sqlite3.Connection], Any]) -> list[Any]:
        """What ``works`` return, when all of them are on the disk."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                done = [work(self._db) for work in works]
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
            return done

    def registers(self) -> dict[str, Register]:
        """The registers by their names."""
        rows = self._db.execute("SELECT state FROM register").fetchall()
        found = [Register(**json.loads(state)) for (state,) in rows]
        return {register.name: register for register in found}

    def add(self, name: str) -> Register:
        """A new register."""
        count = self._db.execute("SELECT count(*) FROM register").fetchone()[0]
        register = Register(name, str(FIRST_FISCAL_NUMBER + count))
        self._db.execute("INSERT INTO register VALUES (?, ?)", (name, json.dumps(vars(register))))
        return register

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


class SharedBooks(Books):
    """The same, where a thread commits all that waits at once: the first thing to do when the disk is too slow."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._waiting: SimpleQueue[tuple[Callable[[sqlite3.Connection], Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def later(self, work: Callable[[sqlite3.Connection], Any]) -> Future[Any]:
        """What ``work`` returns, when it is on the disk."""
        due: Future[Any] = Future()
        self._waiting.put((work, due))
        return due

    def _work(self) -> None:
        going = True
        while going:
            batch = [self._waiting.get()]
            while not self._waiting.empty():
                batch.append(self._waiting.get())
            going = None not in batch
            asked = [one for one in batch if one is not None]
            if not asked:
                continue
            try:
                done = self.committed(*(work for work, _ in asked))
            except Exception as error:
                for _, due in asked:
                    due.set_exception(error)
            else:
                for (_, due), value in zip(asked, done, strict=True):
                    due.set_result(value)

    def close(self) -> None:
        """Commit what waits and let go of the file."""
        self._waiting.put(None)
        self._thread.join()
        super().close()


@dataclass
class Operation:
    """A task on its way."""

    n: int
    task: Task
    document: dict[str, Any]
    known: str | None
    """The answer that its tag has already."""


class Desk:
    """The steps of a task; the caller holds the register's lock and commits."""

    def __init__(self, books: Books, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._registers = books.registers()
        self._books = books

    def register(self, name: str) -> None:
        """Make the register ``name`` when there is none."""
        if name not in self._registers:
            self._registers[name] = self._books.add(name)

    def names(self) -> list[str]:
        """The registers."""
        return list(self._registers)

    def intent(self, task: Task) -> Callable[[sqlite3.Connection], Operation]:
        """What stores the document before it leaves.

        :raises Refused: when there is no such register, or the task may not be done.
        """
        register = self._registers.get(task.device)
        if register is None:
            raise Refused(4, f"no register {task.device}")
        document = document_of(task, register, self._clock())
        text = json.dumps(document, ensure_ascii=False)
        fingerprint = hashlib.sha256(repr(task.fiscal).encode()).digest()

        def store(db: sqlite3.Connection) -> Operation:
            known = db.execute(
                "SELECT n, answer FROM operation WHERE device = ? AND tag = ? AND state = 'done'",
                (task.device, task.tag),
            ).fetchone()
            if known is not None:
                return Operation(known[0], task, document, known[1])
            added = db.execute(
                "INSERT INTO operation (device, tag, fingerprint, at, number, document, state) "
                "VALUES (?, ?, ?, ?, ?, ?, 'intended')",
                (task.device, task.tag, fingerprint, document["at"], document["number"], text),
            )
            assert added.lastrowid is not None
            return Operation(added.lastrowid, task, document, None)

        return store

    def submit(self, operation: Operation) -> str:
        """The fiscal number of the document."""
        return f"TEST_{operation.document['fisid']}{operation.document['number']:08d}"

    def outcome(self, operation: Operation, fiscal_number: str) -> Callable[[sqlite3.Connection], str]:
        """What stores the answer and the register before the caller hears of it."""
        name = operation.task.device
        after = taken(self._registers[name], operation.document)
        told = answer_of(operation.task, operation.document, fiscal_number, after)
        answer = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        state = json.dumps(vars(after))

        def store(db: sqlite3.Connection) -> str:
            db.execute(
                "UPDATE operation SET state = 'done', fiscal_number = ?, answer = ? WHERE n = ?",
                (fiscal_number, answer, operation.n),
            )
            db.execute("UPDATE register SET state = ? WHERE name = ?", (state, name))
            self._registers[name] = after
            return answer

        return store

    def told(self, task: Task | None, res: int, begun: float) -> None:
        """One line of log for a task, as the service writes it."""
        if task is not None:
            took = (self._clock() - begun) * 1000
            log.info("%s %d/%d tag=%s res=%d %.1f ms", task.device, task.type, task.fiscal.task, task.tag, res, took)

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock()


def repeated(answer: str) -> str:
    """The answer that was given before, as one that is repeated."""
    return answer.replace('"task_status":1', '"task_status":2', 1)
