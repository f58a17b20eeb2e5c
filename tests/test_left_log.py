"""The log of a writer that died: written again before it is trusted, or not trusted at all."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from shutil import copyfile

from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.store.sqlite import left_log
from dmtwisted.store.sqlite import store as sqlite
from dmtwisted.store.sqlite.file import sqlite_revision, take_lock
from dmtwisted.store.sqlite.left_log import write_again
from dmtwisted.store.sqlite.store import SqliteStore
from dmtwisted.store.sqlite.writer import connect
from dmtwisted.store.values import StoreFailed


class LeftLogTests(TestCase):
    """A database whose writer was killed: file and log, and no process at work."""

    timeout = 60

    def setUp(self) -> None:
        """Commit, and take the files away as they are then."""
        there = Path(self.mktemp())
        self.path = Path(self.mktemp()).resolve()
        with closing(connect(str(there))) as db:
            db.execute("CREATE TABLE sale (n INTEGER)")
            db.execute("INSERT INTO sale VALUES (1)")
            for ending in ("", "-wal"):
                copyfile(f"{there}{ending}", f"{self.path}{ending}")
        self.log = Path(f"{self.path}-wal")
        self.assertTrue(self.log.stat().st_size)

    def test_same_bytes(self) -> None:
        """The log has the same bytes afterwards, in however many pieces, and what was committed is there."""
        before = self.log.read_bytes()
        self.patch(left_log, "PIECE", 1000)
        self.assertEqual(write_again(str(self.path)), len(before))
        self.assertEqual(self.log.read_bytes(), before)
        with closing(sqlite3.connect(self.path)) as db:
            self.assertEqual(db.execute("SELECT n FROM sale").fetchall(), [(1,)])

    def test_kept_by_the_disk(self) -> None:
        """It returns only when the disk has said that it keeps all of it."""
        kept: list[int] = []
        self.patch(os, "fsync", lambda descriptor: kept.append(os.fstat(descriptor).st_size))
        write_again(str(self.path))
        self.assertEqual(kept, [self.log.stat().st_size])

    def test_none(self) -> None:
        """Without a log, or with an empty one, nothing is done."""
        self.patch(os, "fsync", self.fail)
        self.log.write_bytes(b"")
        self.assertEqual(write_again(str(self.path)), 0)
        self.log.unlink()
        self.assertEqual(write_again(str(self.path)), 0)

    async def opened(self) -> str:
        """Why a store does not open; empty when it does."""
        store = SqliteStore(reactor, self.path)
        try:
            await store.open()
        except StoreFailed as error:
            return str(error)
        await store.close()
        return ""

    async def test_not_kept(self) -> None:
        """A disk that does not keep it is not built upon: the store does not open, and the log stays as it was."""
        before = self.log.read_bytes()

        def refuse(descriptor: int) -> None:
            raise OSError(5, "Input/output error")

        with_it = os.fsync
        self.patch(os, "fsync", refuse)
        self.assertIn("Input/output error", await self.opened())
        self.assertEqual(self.log.read_bytes(), before)
        self.patch(os, "fsync", with_it)

    async def test_before_anybody_looks(self) -> None:
        """It is done before the file is opened: the last one to close the file writes the log into it."""
        done: list[str] = []

        def look(path: Path) -> str | None:
            done.append("looked")
            return sqlite_revision(path)

        self.patch(sqlite, "write_again", lambda path: done.append("written"))
        self.patch(sqlite, "sqlite_revision", look)
        await self.opened()
        self.assertEqual(done, ["written", "looked"])

    def test_looking(self) -> None:
        """Reading the revision alone leaves file and log as they are."""
        before = self.path.read_bytes(), self.log.read_bytes()
        self.assertIs(sqlite_revision(self.path), None)
        self.assertEqual((self.path.read_bytes(), self.log.read_bytes()), before)

    async def test_writer_at_work(self) -> None:
        """The log of a running writer is its own: no other process writes to it."""
        self.patch(sqlite, "write_again", self.fail)
        with take_lock(f"{self.path}.lock", 0):
            self.patch(sqlite, "sqlite_revision", lambda path: "from another version")
            self.assertIn("from another version", await self.opened())


class PowerTests(SynchronousTestCase):
    """What a power cut leaves after a disk has lost a commit whose writer died: bytes of real logs, by pages."""

    PAGE = 4096

    def setUp(self) -> None:
        """A commit that the disk has, a large one that it lost, and a successor that commits behind it."""
        folder = Path(self.mktemp())
        folder.mkdir()
        first, self.second = folder / "first.db", folder / "second.db"
        with closing(connect(str(first))) as db:
            db.execute("CREATE TABLE sale (name TEXT, filler BLOB)")
            db.execute("INSERT INTO sale VALUES ('kept', '')")
            self.on_disk = Path(f"{first}-wal").read_bytes()
            db.execute("INSERT INTO sale VALUES ('lost', zeroblob(40000))")
            for ending in ("", "-wal"):
                copyfile(f"{first}{ending}", f"{self.second}{ending}")
        self.in_memory = Path(f"{self.second}-wal").read_bytes()
        self.file = self.second.read_bytes()
        with closing(connect(str(self.second))) as db:
            db.execute("INSERT INTO sale VALUES ('answered', '')")
            self.later = Path(f"{self.second}-wal").read_bytes()

    def after_the_cut(self, before: bytes) -> list[str]:
        """The sales that are there when the disk had ``before``, and then got just what the successor changed."""
        image = bytearray(self.later)
        for at in range(0, len(image), self.PAGE):
            page = slice(at, at + self.PAGE)
            if self.later[page] == self.in_memory[page]:
                image[page] = before[page].ljust(len(image[page]), b"\0")
        path = Path(self.mktemp())
        path.write_bytes(self.file)
        Path(f"{path}-wal").write_bytes(image)
        with closing(sqlite3.connect(path)) as db:
            return [name for (name,) in db.execute("SELECT name FROM sale")]

    def test_built_upon(self) -> None:
        """Had the log not been written again, what was answered behind the lost commit would be gone with it."""
        self.assertEqual(self.after_the_cut(self.on_disk), ["kept"])

    def test_written_again(self) -> None:
        """With the log written again before, everything that was answered is there."""
        self.assertEqual(self.after_the_cut(self.in_memory), ["kept", "lost", "answered"])
