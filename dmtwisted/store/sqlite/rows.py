"""The rows of a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

from dmtwisted.store.rows import NOTES, PAGE, PUT_OFF, STOP_FIRST, CarryError, Rows
from dmtwisted.store.schema import shapes
from dmtwisted.store.shapes import Key, Row, Shape
from dmtwisted.store.sqlite.file import Locked, sqlite_revision, take_lock
from dmtwisted.system.portions import PORTION, Portions

COPY_PAGES = 256
"""Pages that are copied at once: a portion for the disk."""

CACHE_KIB = 262144
"""Memory for pages, in KiB: keys come in no order, and their indexes should stay in memory while rows go in."""

FILLING = "TRUNCATE"
"""The journal mode while a file is filled: rows are appended, and new pages have no old content to keep. Through the
log every row would be written twice."""

IN_NO_ORDER = (
    "SELECT m.name, m.sql FROM sqlite_master m JOIN pragma_index_info(m.name) i "
    "WHERE m.type = 'index' AND m.sql > '' AND i.name = 'key'"
)
"""The indexes over the keys of callers. All others grow at their ends, which costs less than reading all rows again
for each of them."""


class SqliteRows(Rows):
    """The file ``path``.

    :param reading: open it for reading only, which is possible while the service writes.
    :param alone: no other process can write to it, not even to complete what its log holds.
    """

    notes_columns = "(name TEXT PRIMARY KEY, value TEXT NOT NULL)"

    def __init__(self, path: str | Path, reading: bool = False, alone: bool = False) -> None:
        self._path = Path(path)
        self.name = f"SQLite file {self._path}"
        self._lock: IO[str] | None = None
        self._reading, self._alone = reading, alone
        self._opened: sqlite3.Connection | None = None

    @property
    def _db(self) -> sqlite3.Connection:
        """The file, opened at the first use: `keep_others_out` comes before."""
        if self._opened is None:
            if self._reading and not self._path.exists():
                raise CarryError(f"{self._path}: there is no such file")
            try:
                mode = "ro&immutable=1" if self._alone else "ro" if self._reading else "rwc"
                uri = f"{self._path.absolute().as_uri()}?mode={mode}"
                # A thread reads pages ahead, one after the other: never two at once.
                self._opened = db = sqlite3.connect(
                    uri, uri=True, isolation_level=None, timeout=10, check_same_thread=False
                )
                if not self._reading:
                    filling = db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (NOTES,)).fetchone()
                    db.execute(f"PRAGMA journal_mode={FILLING if filling else 'WAL'}").fetchall()
                    # With the log, NORMAL cannot damage the file; the progress of a move is in the same transaction.
                    db.execute(f"PRAGMA synchronous={'FULL' if filling else 'NORMAL'}")
                    db.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
                    # Pages of indexes change again and again: they go into the file now and then, not each time.
                    db.execute("PRAGMA wal_autocheckpoint=50000")
                    db.execute("PRAGMA foreign_keys=ON")
                else:
                    # See one moment of it, whatever the service writes meanwhile.
                    db.execute("BEGIN")
            except sqlite3.Error as error:
                raise CarryError(f"{self._path}: {error}") from error
        return self._opened

    def close(self) -> None:
        """Close the file, and release its lock."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def keep_others_out(self, patience: float) -> None:
        """Take the lock that a service holds while it runs."""
        if self._lock is None:
            try:
                self._lock = take_lock(f"{self._path}.lock", patience)
            except Locked as locked:
                who = locked.owner or "a service or another command"
                raise CarryError(f"{self._path}: {who} works with it", STOP_FIRST) from None
            except OSError as error:
                raise CarryError(f"{self._path}: {error.strerror or error}") from None

    def freeze(self) -> None:
        """Nothing to do: a process with the lock is alone with the file."""

    def revision(self) -> str | None:
        try:
            return sqlite_revision(self._path)
        except (OSError, sqlite3.Error) as error:
            raise CarryError(f"{self._path}: {error}") from error

    def tables(self) -> set[str]:
        """All tables but those of SQLite itself."""
        return {
            name for (name,) in self.ask("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith("sqlite_")
        }  # fmt: skip

    def size(self) -> int:
        files = (self._path, Path(f"{self._path}-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(statement).fetchall()
        except sqlite3.Error as error:
            raise CarryError(f"{self._path}: {error}") from error

    def page(self, shape: Shape, after: Key | None, limit: int = PAGE) -> list[Row]:
        where = "" if after is None else f"WHERE ({shape.order}) > ({', '.join('?' * len(after))})"
        statement = f"SELECT {shape.listed} FROM {shape.name} {where} ORDER BY {shape.order} LIMIT {limit}"
        try:
            return self._db.execute(statement, after or ()).fetchall()
        except sqlite3.Error as error:
            begin = "its first row" if after is None else shape.name_of(after)
            raise CarryError(f"{self._path}: {shape.name}, after {begin}: {error}") from error

    def add(self, shape: Shape, rows: list[Row]) -> None:
        places = ", ".join("?" * len(shape.columns))
        try:
            self._db.executemany(f"INSERT INTO {shape.name} ({shape.listed}) VALUES ({places})", rows)
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            raise CarryError(f"{self._path}: {shape.name}: {error}") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.ask("BEGIN IMMEDIATE")
        try:
            yield
            self.ask("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def counter(self, shape: Shape) -> int:
        found = self.ask(f"SELECT seq FROM sqlite_sequence WHERE name = '{shape.name}'")
        return int(found[0][0]) if found else 0

    def set_counter(self, shape: Shape, number: int) -> None:
        number = max(number, self.counter(shape))
        self.ask(f"DELETE FROM sqlite_sequence WHERE name = '{shape.name}'")
        self.ask(f"INSERT INTO sqlite_sequence (name, seq) VALUES ('{shape.name}', {number})")

    def begin_notes(self) -> None:
        """Make them; from now on rows go in as `FILLING` says."""
        super().begin_notes()
        self.ask(f"PRAGMA journal_mode={FILLING}")
        self.ask("PRAGMA synchronous=FULL")

    def put_off_all(self) -> None:
        """Indexes over keys that come in no order."""
        for name, statement in self.ask(IN_NO_ORDER):
            self.note(f"{PUT_OFF[0]}{name}", statement)
            self.ask(f"DROP INDEX {name}")

    def note(self, name: str, value: str) -> None:
        self._db.execute(f"INSERT OR REPLACE INTO {NOTES} (name, value) VALUES (?, ?)", (name, value))

    def end_notes(self, revision: str, last: Callable[[], object] = lambda: None) -> None:
        """The last step of a move."""
        # To the disk, with all that went before.
        self._db.execute("PRAGMA synchronous=FULL")
        super().end_notes(revision, last)
        self.ask("PRAGMA wal_checkpoint(TRUNCATE)")
        self.ask("PRAGMA journal_mode=WAL")

    def clear(self) -> None:
        for shape in reversed(shapes()):
            self.ask(f"DELETE FROM {shape.name}")
        self.ask("DELETE FROM claim")

    def copy_to(self, path: Path, report: Callable[[str, int, int], None]) -> None:
        """Copy the whole file as it is at this moment; a service can write meanwhile."""

        def copied(_: int, left: int, total: int) -> None:
            report("copy", total - left, total)
            portions.wrote(PORTION)

        try:
            with path.open("wb") as written, closing(sqlite3.connect(path)) as copy:
                portions = Portions(written.fileno())
                # It would flush the whole file at its end, and the commits of sales would wait for that.
                copy.execute("PRAGMA synchronous=OFF")
                # The pages are those of our transaction: commits meanwhile do not restart the copy.
                self._db.backup(copy, pages=COPY_PAGES, progress=copied)
                copy.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.Error as error:
            raise CarryError(f"{self._path}: {error}") from error

    def settle(self) -> None:
        """Bring everything from the log into the file, and to the disk."""
        self.ask("PRAGMA wal_checkpoint(TRUNCATE)")
        self.ask("PRAGMA journal_mode=DELETE")

    def faults(self) -> Iterator[str]:
        """What ``integrity_check`` and ``foreign_key_check`` find."""
        try:
            for (line,) in self._db.execute("PRAGMA integrity_check(20)"):
                if line != "ok":
                    yield " ".join(line.split())
            for table, n, parent, _ in self._db.execute("PRAGMA foreign_key_check").fetchmany(20):
                yield f"{table} n={n}: the row of {parent} that it belongs to is missing"
        except sqlite3.Error as error:
            yield str(error)
