"""Large files beside the tills: little at once to the disk, and rests."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from io import BufferedWriter
from pathlib import Path
from types import SimpleNamespace

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store.sqlite.rows import SqliteRows
from dmtwisted.system import portions
from dmtwisted.system.portions import LONGEST_REST, PORTION, REST, PortionedFile


class PortionTests(SynchronousTestCase):
    """A disk that takes some time for each byte."""

    def setUp(self) -> None:
        """The disk, and what waits for it."""
        self.path = Path(self.mktemp())
        self.now, self.each = 0.0, 0.0
        self.rests: list[float] = []
        self.grown: list[int] = []
        self.patch(portions, "time", SimpleNamespace(perf_counter=lambda: self.now, sleep=self.rests.append))
        self.patch(portions, "_sync", self.sync)

    def sync(self, handle: int) -> None:
        """Bring to the disk what the file has more than the last time."""
        self.grown.append(self.path.stat().st_size - sum(self.grown))
        self.now += self.each

    def write(self, size: int, piece: int = PORTION // 64) -> None:
        """Write so many bytes."""
        with BufferedWriter(PortionedFile(self.path, "wb")) as stream:
            for at in range(0, size, piece):
                stream.write(bytes(min(piece, size - at)))

    def test_portions(self) -> None:
        """However much is written, little goes to the disk at once, and nothing of it is lost."""
        self.write(5 * PORTION + 7)
        self.assertEqual(self.path.stat().st_size, 5 * PORTION + 7)
        self.assertEqual(self.grown, [PORTION] * 5)

    def test_small(self) -> None:
        """A small file is left to its writer."""
        self.write(PORTION - 1)
        self.assertEqual((self.grown, self.rests), ([], []))

    def test_rests(self) -> None:
        """The slower the disk, the longer it is left alone after each portion, up to a second."""
        self.each = 0.02
        self.write(2 * PORTION)
        self.each = 10.0
        self.write(PORTION)
        self.assertEqual([round(rest, 6) for rest in self.rests], [0.02 * REST, 0.02 * REST, LONGEST_REST])

    def test_database(self) -> None:
        """A database is copied in portions too: at no moment has the whole copy to go to the disk."""
        source = Path(self.mktemp())
        with closing(sqlite3.connect(source)) as db:
            db.execute("CREATE TABLE paper (bytes BLOB)")
            db.execute("INSERT INTO paper VALUES (zeroblob(?))", (10 * PORTION,))
            db.commit()
        with SqliteRows(source, reading=True) as rows:
            rows.copy_to(self.path, lambda *_: None)
        self.assertEqual(self.path.stat().st_size, source.stat().st_size)
        # SQLite keeps two megabytes of what it has not written.
        self.assertLess(max(self.grown), 3 * PORTION)
        self.assertGreaterEqual(len(self.rests), 10)
