"""Lists are read beside the queue: a sale does not wait for them, and they show what was answered."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from threading import Semaphore, current_thread
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store.interface import READS
from dmtwisted.store.schema import ddl
from dmtwisted.store.sqlite import lists, writer
from dmtwisted.store.sqlite.lists import Lists, Question, is_list, open_for_lists
from dmtwisted.store.sqlite.wire import BY_NAME, DONE, FAILED, FUNCTIONS, READY, Deframer, failure, frame, pack
from dmtwisted.store.sqlite.writer import connect, run_batch, serve_batch
from dmtwisted.store.values import DocumentQuery, OperationQuery, State
from tests.store_contract import ARGUMENTS, TILL, intent, outcome, paper
from tests.test_writer import ask

ALL = OperationQuery()

PATIENCE = 20.0
"""Seconds after which a test gives up."""


class _FileCase(SynchronousTestCase):
    """A database in a file, its writer's connection, and its lists."""

    def setUp(self) -> None:
        """An empty one."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        self.path = folder / "tills.db"
        self.database = connect(str(self.path))
        for statement in ddl():
            self.database.execute(statement)
        self.told: SimpleQueue[bytes] = SimpleQueue()
        self.verbs: dict[int, Any] = {}
        self.lists = Lists(str(self.path), run_batch, self.told.put)
        # In this order: the reader closes the file before its writer does.
        self.addCleanup(self.database.close)
        self.addCleanup(lambda: self.lists.finish())

    def held(self, begun: Callable[[], object], go_on: Callable[[], object]) -> None:
        """Have each list stop in the middle: it has seen its moment of the file, and waits to go on."""

        def run(db: sqlite3.Connection, questions: list[Question]) -> list[bytes]:
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM operation").fetchone()
            begun()
            go_on()
            db.execute("COMMIT")
            return run_batch(db, questions)

        self.lists = Lists(str(self.path), run, self.told.put)

    def batch(self, *questions: Question) -> None:
        """Questions that came together."""
        self.verbs.update({seq: verb for seq, verb, _ in questions})
        serve_batch(self.database, self.lists, list(questions), self.told.put)

    def answers(self) -> dict[int, Any]:
        """The next answers that are sent together: the value of each, or the words of its failure."""
        return {
            seq: self.verbs[seq].decode_value(body) if status == DONE else str(failure(status, body))
            for seq, status, body in Deframer().feed(self.told.get(timeout=PATIENCE))
        }

    def sold(self, n: int) -> None:
        """A sale that was answered."""
        self.batch(ask(1, "reserve", intent(TILL, f"tag {n}", paper(n))))
        reserved = self.answers()[1]
        self.batch(ask(2, "conclude", outcome(reserved.n, fiscal_numbers={n: f"F{n}"})))
        self.assertEqual(self.answers(), {2: None})


class BesideTests(_FileCase):
    """What a list and a sale have to do with each other."""

    def test_sale_beside_list(self) -> None:
        """A sale is kept and answered while a list is being read; the list is answered later."""
        begun, go_on = Semaphore(0), Semaphore(0)
        self.held(begun.release, lambda: go_on.acquire(timeout=PATIENCE))
        self.batch(ask(9, "find_operations", ALL))
        self.assertTrue(begun.acquire(timeout=PATIENCE))
        self.sold(1)
        self.assertTrue(self.told.empty())
        go_on.release()
        self.assertEqual(list(self.answers()), [9])

    def test_shows_what_was_answered(self) -> None:
        """A list that is asked for after an answered sale shows it, each time."""
        for n in range(1, 30):
            self.sold(n)
            self.batch(ask(8, "find_operations", ALL), ask(9, "find_documents", DocumentQuery()))
            found = {**self.answers(), **self.answers()}
            self.assertEqual((found[8].total, found[9].total), (n, n))
            self.assertEqual(found[8].operations[0].key, f"tag {n}")
            self.assertEqual(found[9].documents[0].number, n)

    def test_same_batch(self) -> None:
        """A list that came together with a sale shows it: the sale is committed and answered before."""
        self.batch(
            ask(1, "find_operations", ALL),
            ask(2, "reserve", intent(TILL, "a", paper(1))),
            ask(3, "aged", 0, 100),
            ask(4, "settings"),
        )
        self.assertEqual(sorted(self.answers()), [2, 4])
        self.assertEqual(self.answers()[1].total, 1)
        self.assertEqual(len(self.answers()[3]), 1)

    def test_only_what_is_committed(self) -> None:
        """A list shows nothing that a crash could still take away."""
        self.sold(1)
        self.database.execute("BEGIN IMMEDIATE")
        FUNCTIONS["reserve"](self.database, intent(TILL, "not yet", paper(2)))
        self.lists.ask(ask(9, "find_operations", ALL))
        self.verbs[9] = BY_NAME["find_operations"]
        self.assertEqual(self.answers()[9].total, 1)
        self.database.execute("ROLLBACK")

    def test_one_after_the_other(self) -> None:
        """Lists are answered in the order in which they came."""
        self.batch(*(ask(seq, "find_operations", ALL) for seq in range(1, 20)))
        self.assertEqual([seq for _ in range(1, 20) for seq in self.answers()], list(range(1, 20)))

    def test_full_disk(self) -> None:
        """When nothing can be written a list that came together with a sale is answered."""
        self.sold(1)
        self.database.execute("PRAGMA query_only=ON")
        self.batch(ask(1, "reserve", intent(TILL, "b", paper(2))), ask(2, "find_operations", ALL))
        self.assertIn("readonly", self.answers()[1])
        self.assertEqual(self.answers()[2].total, 1)


class ReaderTests(_FileCase):
    """The connection and the thread of lists."""

    def test_which(self) -> None:
        """What may read much is a list; what names its row, asks for few, or writes is not."""
        questions: dict[str, tuple[Any, ...]] = {name: (arguments,) for name, arguments in ARGUMENTS.items()}
        questions["find_operations"] = ((ALL,), (OperationQuery([TILL], limit=1),))
        questions["find_documents"] = ((DocumentQuery(),), (DocumentQuery(kinds=["z"]),))
        beside = {name for name, asked in questions.items() for each in asked if is_list(BY_NAME[name], pack(each))}
        self.assertEqual(
            beside, {"find_operations", "find_documents", "sent_documents", "seals", "concluded", "aged", "events"}
        )
        self.assertTrue(beside < READS)
        for query in (OperationQuery(n=1), OperationQuery(key="a"), OperationQuery([TILL], ["pay"], key="a")):
            self.assertFalse(is_list(BY_NAME["find_operations"], pack((query,))), query)
        for papers in (DocumentQuery(number=1), DocumentQuery(fiscal_number="F")):
            self.assertFalse(is_list(BY_NAME["find_documents"], pack((papers,))), papers)

    def test_bad_arguments(self) -> None:
        """A list that asks for nonsense fails, and the next one is read."""
        self.batch(ask(1, "find_operations", 7), ask(2, "aged", "a", "b"), ask(3, "find_operations", ALL))
        found = {**self.answers(), **self.answers(), **self.answers()}
        self.assertIn("Expected", found[1])
        self.assertIn("Expected", found[2])
        self.assertEqual(found[3].total, 0)

    def test_only_reads(self) -> None:
        """Nothing is written by the connection of lists."""
        with closing(open_for_lists(str(self.path))) as database:
            for name, arguments in ARGUMENTS.items():
                if name not in READS:
                    self.assertRaises(sqlite3.OperationalError, FUNCTIONS[name], database, *arguments)

    def test_nothing_kept(self) -> None:
        """When no lists are asked for any more, their connection is closed; the next list opens it again."""
        self.patch(lists, "IDLE", 0.01)
        opened: list[sqlite3.Connection] = []

        def open_and_remember(path: str) -> sqlite3.Connection:
            opened.append(open_for_lists(path))
            return opened[-1]

        self.patch(lists, "open_for_lists", open_and_remember)
        for n in range(2):
            self.batch(ask(9, "find_operations", ALL))
            self.assertEqual(self.answers()[9].total, 0)
            while len(opened) == n + 1 and not self._closed(opened[n]):
                time.sleep(0.005)
        self.assertEqual(len(opened), 2)

    @staticmethod
    def _closed(database: sqlite3.Connection) -> bool:
        try:
            database.execute("SELECT 1").fetchone()
        except sqlite3.ProgrammingError:
            return True
        return False

    def test_no_thread_without_lists(self) -> None:
        """Sales and look-ups alone need no reader."""
        self.sold(1)
        self.batch(ask(3, "find", TILL, "fiscal", "tag 1"), ask(4, "unresolved", None))
        self.assertEqual(self.answers()[3].state, State.DONE)
        self.assertIs(self.lists._thread, None)

    def test_log_bounded(self) -> None:
        """Lists without a pause do not let the log grow for ever: it is written back between two of them."""
        begun, go_on = Semaphore(0), Semaphore(0)
        self.held(begun.release, lambda: go_on.acquire(timeout=PATIENCE))
        self.database.execute("PRAGMA wal_autocheckpoint=10")
        self.database.execute("PRAGMA journal_size_limit=100000")
        self.patch(lists, "LONGEST_LOG", 200_000)
        sizes = []
        self.batch(ask(9, "find_operations", ALL))
        for n in range(1, 41):
            if n % 4 == 1:
                self.assertTrue(begun.acquire(timeout=PATIENCE))
            # A list is being read whenever a till sells.
            self.batch(ask(1, "reserve", intent(TILL, f"tag {n}", paper(n, value=bytes(20_000)))))
            self.assertEqual(list(self.answers()), [1])
            if n % 4 == 0:
                sizes.append(os.path.getsize(f"{self.path}-wal"))
                self.batch(ask(9, "find_operations", ALL))
                go_on.release()
                self.assertEqual(list(self.answers()), [9])
        self.assertTrue(begun.acquire(timeout=PATIENCE))
        go_on.release()
        self.assertGreater(max(sizes), 200_000)
        self.assertLess(max(sizes), 800_000, sizes)

    def test_nobody_waits_for_a_reader(self) -> None:
        """While a reader is at an older moment, the log is left as it is, and the tills are not blocked for it."""
        self.sold(1)
        with closing(sqlite3.connect(self.path)) as reader, closing(open_for_lists(str(self.path))) as database:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM operation").fetchone()
            self.sold(2)
            said: list[str] = []
            database.set_trace_callback(said.append)
            lists.write_back(database)
            waits = [said[place - 1] for place, text in enumerate(said) if "RESTART" in text]
            self.assertEqual(waits, [f"PRAGMA busy_timeout={lists.BRIEF_PATIENCE}"])
            self.assertLess(lists.BRIEF_PATIENCE, 10)
            self.assertEqual(database.execute("PRAGMA busy_timeout").fetchone(), (lists.LOG_PATIENCE,))

    def test_written_before_anybody_waits(self) -> None:
        """What the log holds is in the file before the tills are made to wait for its new beginning."""
        self.sold(1)
        sizes = [self.path.stat().st_size]

        def look(statement: str) -> None:
            if "RESTART" in statement:
                sizes.append(self.path.stat().st_size)

        with closing(open_for_lists(str(self.path))) as database:
            database.set_trace_callback(look)
            lists.write_back(database)
        sizes.append(self.path.stat().st_size)
        self.assertLess(sizes[0], sizes[1])
        self.assertEqual(sizes[1], sizes[2])

    def test_long_log(self) -> None:
        """The log is written back before a list when it is longer than its limit, and not before."""
        self.sold(1)
        length = os.path.getsize(f"{self.path}-wal")
        written: list[int] = []
        self.patch(lists, "write_back", lambda database: written.append(lists.LONGEST_LOG))
        for limit in (length + 1, length, length - 1):
            self.patch(lists, "LONGEST_LOG", limit)
            self.batch(ask(9, "find_operations", ALL))
            self.assertEqual(self.answers()[9].total, 1)
        self.assertEqual(written, [length - 1])

    def test_thread(self) -> None:
        """The reader gives way to the writer within a millisecond, and keeps no process alive that failed."""
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(0.1)
        seen: list[tuple[float, bool]] = []

        def run(db: sqlite3.Connection, questions: list[Question]) -> list[bytes]:
            seen.append((sys.getswitchinterval(), current_thread().daemon))
            return run_batch(db, questions)

        self.lists = Lists(str(self.path), run, self.told.put)
        self.batch(ask(9, "find_operations", ALL))
        self.answers()
        ((pause, daemon),) = seen
        self.assertLess(pause, 0.001)
        self.assertTrue(daemon)


class TotalTests(_FileCase):
    """How many there are in all."""

    def test_any_page(self) -> None:
        """The total is the same on every page, full or not, empty ones behind the last included."""
        for n in range(1, 6):
            self.sold(n)
        for limit in (0, 1, 2, 3, 5, 6):
            for offset in (0, 1, 2, 4, 5, 6):
                asked = {
                    "find_operations": OperationQuery(limit=limit, offset=offset),
                    "find_documents": DocumentQuery(limit=limit, offset=offset),
                }
                for verb, query in asked.items():
                    self.assertEqual(FUNCTIONS[verb](self.database, query).total, 5, f"{verb} {limit} {offset}")
        for none in (OperationQuery([TILL + 1]), OperationQuery([TILL + 1], offset=5)):
            self.assertEqual(FUNCTIONS["find_operations"](self.database, none).total, 0)

    def test_counted_when_needed(self) -> None:
        """A page with room left needs no count: it shows by itself where the list ends."""
        for n in range(1, 4):
            self.sold(n)
        statements: list[str] = []
        self.database.set_trace_callback(statements.append)
        for limit, offset, counts in ((3, 0, 2), (4, 0, 0), (2, 2, 0), (2, 4, 2)):
            statements.clear()
            FUNCTIONS["find_operations"](self.database, OperationQuery(limit=limit, offset=offset))
            FUNCTIONS["find_documents"](self.database, DocumentQuery(limit=limit, offset=offset))
            self.assertEqual(sum("count(*)" in each for each in statements), counts, f"{limit} {offset}")


class EndTests(_FileCase):
    """The input of the writer has ended."""

    def test_answered(self) -> None:
        """Lists that were asked for before the end are answered; then the reader has closed the file."""
        self.batch(*(ask(seq, "find_operations", ALL) for seq in range(1, 6)))
        self.lists.finish()
        self.assertEqual([seq for _ in range(5) for seq in self.answers()], [1, 2, 3, 4, 5])
        self.database.close()
        self.assertFalse(Path(f"{self.path}-wal").exists())

    def test_in_time(self) -> None:
        """A list that still runs when the input ends is answered, and so is the one behind it."""
        begun = Semaphore(0)

        def slow(db: sqlite3.Connection, questions: list[Question]) -> list[bytes]:
            begun.release()
            db.execute(
                "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 500000) SELECT max(x) FROM c"
            ).fetchone()
            return run_batch(db, questions)

        self.lists = Lists(str(self.path), slow, self.told.put)
        self.batch(ask(1, "find_operations", ALL), ask(2, "find_operations", ALL))
        self.assertTrue(begun.acquire(timeout=PATIENCE))
        self.lists.finish()
        self.assertEqual(self.answers()[1].total, 0)
        self.assertEqual(self.answers()[2].total, 0)

    def test_broken_off(self) -> None:
        """A list that takes too long at the end is broken off, and those behind it fail at once."""
        self.patch(lists, "ENDING", 0.02)
        begun = Semaphore(0)

        def endless(db: sqlite3.Connection, questions: list[Question]) -> list[bytes]:
            begun.release()
            db.execute(
                "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
            ).fetchone()
            return []

        self.lists = Lists(str(self.path), endless, self.told.put)
        self.batch(ask(1, "find_operations", ALL), ask(2, "find_operations", ALL))
        self.assertTrue(begun.acquire(timeout=PATIENCE))
        self.lists.finish()
        self.assertEqual(self.answers(), {1: "interrupted"})
        self.assertEqual(self.answers(), {2: "the database is being closed"})

    def test_process(self) -> None:
        """The process answers every list before it ends, and leaves no log."""
        self.sold(1)
        self.database.close()
        asked = [ask(seq, "find_documents", DocumentQuery()) for seq in range(1, 11)]
        ended = subprocess.run(
            [sys.executable, "-m", "dmtwisted.store.sqlite.writer", str(self.path)],
            input=b"".join(frame(seq, verb.index, body) for seq, verb, body in asked),
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            timeout=60,
            check=True,
        )
        frames = list(Deframer().feed(ended.stdout))
        self.assertEqual([(seq, status) for seq, status, _ in frames], [(n, DONE) for n in range(READY, 11)])
        self.assertNotIn(FAILED, {status for _, status, _ in frames})
        self.assertEqual(BY_NAME["find_documents"].decode_value(frames[1][2]).total, 1)
        self.assertFalse(Path(f"{self.path}-wal").exists())


class NoLogTests(_FileCase):
    """A file that has no log, as on some file systems."""

    def test_in_the_queue(self) -> None:
        """Where a reader would keep the writer waiting lists are read by the writer itself."""
        self.database.execute("PRAGMA journal_mode=DELETE").fetchall()
        self.assertIs(writer.lists_of(self.database, str(self.path)), None)
        self.database.execute("PRAGMA journal_mode=WAL").fetchall()
        self.assertIsNot(writer.lists_of(self.database, str(self.path)), None)
        self.verbs[1] = BY_NAME["find_operations"]
        serve_batch(self.database, None, [ask(1, "find_operations", ALL)], self.told.put)
        self.assertEqual(self.answers()[1].total, 0)
