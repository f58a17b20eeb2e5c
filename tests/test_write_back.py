"""The log goes back into the file beside the sales, and does not grow for ever."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store.sqlite import write_back
from dmtwisted.store.sqlite.write_back import Log, WriteBack
from dmtwisted.store.sqlite.writer import connect, write_back_of

PATIENCE = 20.0
"""Seconds after which a test gives up."""


class _FileCase(SynchronousTestCase):
    """A file with a table of long rows, each on pages of its own, and its writer's connection."""

    def setUp(self) -> None:
        """An empty one, of whose log nothing is written back by SQLite itself."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        self.path = folder / "tills.db"
        self.database = connect(str(self.path))
        self.addCleanup(lambda: self.database.close())
        self.database.execute("PRAGMA wal_autocheckpoint=0")
        self.database.execute("CREATE TABLE row (n INTEGER PRIMARY KEY, body BLOB)")
        self.log = Log(str(self.path))
        self.addCleanup(self.log.close)

    def write(self, rows: int = 1) -> None:
        """So many commits of a row of about ten pages each."""
        for _ in range(rows):
            self.database.execute("INSERT INTO row (body) VALUES (?)", (bytes(40_000),))

    def pages(self) -> tuple[int, int]:
        """How many pages the log has, and how many of them are in the file, as SQLite itself sees it."""
        with closing(sqlite3.connect(self.path)) as database:
            found = database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return found[1], found[2]


class LogTests(_FileCase):
    """How long the log is, read from its frames."""

    def test_no_log(self) -> None:
        """Where there is no log there are no pages of it."""
        self.database.close()
        self.assertEqual(self.log.look(), 0)

    def test_grows(self) -> None:
        """Each look finds the same length as SQLite, however the log grew."""
        for rows in (0, 1, 7, 30, 1):
            self.write(rows)
            found = self.log.look()
            self.assertEqual(found, self.pages()[0])

    def test_enough(self) -> None:
        """Pages are counted when so many were added since, and not when one is missing."""
        self.write(5)
        self.log.done = self.log.look()
        self.write(5)
        added = self.log.look() - self.log.done
        self.assertEqual(self.log.look(added) - self.log.done, added)
        self.assertEqual(self.log.look(added + 1), self.log.done)

    def test_portion(self) -> None:
        """A portion is what takes a moment: it shrinks at once and doubles at most, and knows its bounds."""
        self.assertEqual(self.log.portion, write_back.LEAST)
        for pages, moments, portion in (
            (1000, 1, 2 * write_back.LEAST),
            (1000, 1, 4 * write_back.LEAST),
            (1000, 10, 100),
            (1000, 1000, write_back.LEAST),
            (0, 1000, write_back.LEAST),
            (1000, 0, 2 * write_back.LEAST),
        ):
            self.log.took(pages, moments * write_back.GENTLE)
            self.assertEqual(self.log.portion, portion)
        for _ in range(10):
            self.log.took(100_000, write_back.GENTLE)
        self.assertEqual(self.log.portion, write_back.MOST)

    def test_pause(self) -> None:
        """A disk that flushes slowly is left to the commits for a while; the log is never forgotten."""
        self.assertEqual(self.log.pause, write_back.PAUSE)
        quick, slow = write_back.SLOW, write_back.SLOW + 0.01
        for seconds, pause in ((quick, write_back.PAUSE), (slow, 0.09), (3.0, write_back.LONGEST_PAUSE)):
            self.log.took(100, seconds)
            self.assertAlmostEqual(self.log.pause, pause)

    def test_begins_anew(self) -> None:
        """When the log starts again, what is left of its earlier content does not count."""
        self.write(30)
        self.log.done = self.log.look()
        self.pages()
        self.write(2)
        found = self.log.look()
        self.assertEqual((found, self.log.done), (self.pages()[0], 0))
        self.assertLess(found, 60)


class WriteBackTests(_FileCase):
    """Written back by a thread."""

    def setUp(self) -> None:
        """A portion is a hundred pages."""
        super().setUp()
        self.patch(write_back, "LEAST", 100)
        self.patch(write_back, "MOST", 100)
        self.patch(write_back, "LONG", 300)
        self.patch(write_back, "LONGEST", 400)
        self.patch(write_back, "FEW", 20)
        self.patch(write_back, "PAUSE", 0.001)
        self.patch(write_back, "REST", 0.0)

    def threaded(self) -> WriteBack:
        """What a writer begins with."""
        found = write_back_of(self.database, str(self.path))
        assert found is not None
        self.addCleanup(found.finish)
        return found

    def until_written(self, beside: WriteBack) -> None:
        """Wait until nothing worth it is left."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with self.path.open("rb") as stream:
                # Of a row that is in the file the file has grown.
                if stream.seek(0, 2) >= self.database.execute("SELECT count(*) FROM row").fetchone()[0] * 30_000:
                    return
            self.assertLess(time.monotonic(), deadline)
            beside.written()
            time.sleep(0.005)

    def test_written_back(self) -> None:
        """What the writer has committed comes into the file though the writer never writes it back itself."""
        beside = self.threaded()
        self.write(30)
        self.assertLess(self.path.stat().st_size, 100_000)
        beside.written()
        self.until_written(beside)
        self.assertEqual(
            self.database.execute("SELECT count(*), sum(length(body)) FROM row").fetchone(), (30, 1_200_000)
        )

    def test_little_is_left_alone(self) -> None:
        """A log of a few pages is not worth the disk's time."""
        self.write(5)
        write_back.write_back(self.log)
        self.assertEqual(self.log.done, 0)
        self.assertLess(self.path.stat().st_size, 100_000)

    def test_gentle(self) -> None:
        """On a disk that writes a portion in no time the next one is larger."""
        self.patch(write_back, "MOST", 150)
        self.patch(write_back, "GENTLE", 1000.0)
        self.write(12)
        write_back.write_back(self.log)
        self.assertEqual((self.log.done, self.log.portion), (self.log.look(), 150))

    def test_begins_anew(self) -> None:
        """A long log starts again with the next commit, so it does not grow for ever."""
        sizes = []
        for _ in range(20):
            self.write(12)
            write_back.write_back(self.log)
            sizes.append(self.log.look())
        self.assertLess(max(sizes), 700)
        self.assertEqual(self.database.execute("SELECT count(*) FROM row").fetchone(), (240,))

    def test_nobody_kept_out(self) -> None:
        """When nothing came while pages were written, the next commit starts the log again; no one is blocked."""
        checkpoint = write_back._checkpoint
        asked: list[str] = []

        def counted(db: sqlite3.Connection, how: str) -> int:
            asked.append(how)
            return checkpoint(db, how)

        self.patch(write_back, "_checkpoint", counted)
        for _ in range(4):
            self.write(50)
            write_back.write_back(self.log)
            self.assertEqual(self.log.look(), self.log.done)
            self.write(1)
            self.assertLess(self.log.look(), 30)
        self.assertEqual(set(asked), {"PASSIVE"})

    def test_beside_reader(self) -> None:
        """While a reader is at an older moment, for minutes perhaps, the log waits, and the writer does not."""
        with closing(sqlite3.connect(self.path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM row").fetchone()
            self.write(60)
            asked: list[str] = []
            checkpoint = write_back._checkpoint

            def counted(db: sqlite3.Connection, how: str) -> int:
                asked.append(how)
                return checkpoint(db, how)

            self.patch(write_back, "_checkpoint", counted)
            for _ in range(3):
                write_back.write_back(self.log)
            self.assertEqual(set(asked), {"PASSIVE"})
            self.assertLess(len(asked), 6)
            self.write(1)
            self.assertEqual(reader.execute("SELECT count(*) FROM row").fetchone(), (0,))
        write_back.write_back(self.log)
        self.write(1)
        self.assertLess(self.log.look(), 60)

    def test_writer_goes_on(self) -> None:
        """The writer commits while its log is written back again and again; nothing of it is lost."""
        beside = self.threaded()
        for _ in range(150):
            self.write(2)
            beside.written()
        beside.finish()
        self.assertEqual(self.database.execute("SELECT count(*) FROM row").fetchone(), (300,))
        self.assertEqual(self.database.execute("PRAGMA integrity_check").fetchone(), ("ok",))

    def test_file_gone(self) -> None:
        """A thread that cannot open the file waits for the next time, and ends when asked to."""
        beside = WriteBack(str(self.path.parent / "gone" / "tills.db"))
        beside.written()
        time.sleep(0.01)
        beside.written()
        beside.finish()

    def test_finished_at_any_moment(self) -> None:
        """A `finish` just when the thread wakes, or is about to, is not mistaken for a commit."""
        for moment in ("wait", "clear", "is_set"):
            thread = WriteBack(str(self.path))
            wake, end = thread._wake, thread._end

            def ended(thread: WriteBack, call: Callable[..., Any], *arguments: Any) -> Any:
                thread._end.set()
                thread._wake.set()
                return call(*arguments)

            event = end if moment == "is_set" else wake
            self.patch(event, moment, partial(ended, thread, getattr(event, moment)))
            wake.set()
            runner = Thread(target=thread._run, daemon=True)
            runner.start()
            runner.join(PATIENCE)
            self.assertFalse(runner.is_alive(), moment)

    def test_unused(self) -> None:
        """A writer that never writes needs no thread; a database without a log has nothing to write back."""
        beside = self.threaded()
        self.assertIs(beside._thread, None)
        beside.finish()
        with closing(sqlite3.connect(":memory:")) as database:
            self.assertIs(write_back_of(database, ":memory:"), None)
