"""A database moves into another one: every row, once, whatever breaks off on the way."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing, redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import skipIf, skipUnless

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.commands import database as command
from dmtwisted.commands.main import main
from dmtwisted.store.carry import checking, moving
from dmtwisted.store.carry.archive import read_manifest
from dmtwisted.store.carry.checking import check
from dmtwisted.store.carry.moving import Moved, catch_up, move
from dmtwisted.store.carry.upgrading import upgrade_to
from dmtwisted.store.migrate import upgrade
from dmtwisted.store.opening import open_rows
from dmtwisted.store.postgres.rows import INDEXES, REFERENCES
from dmtwisted.store.postgres.store import PostgresStore
from dmtwisted.store.revisions import MOVING, head
from dmtwisted.store.rows import NOTES, SCHEMA, Away, CarryError
from dmtwisted.store.schema import all_tables, metadata, shapes
from dmtwisted.store.shapes import Key, Row, Shape, Sum
from dmtwisted.store.sqlite.file import sqlite_revision, take_lock
from dmtwisted.store.sqlite.rows import SqliteRows
from dmtwisted.store.sqlite.store import SqliteStore
from dmtwisted.store.sqlite.wire import FUNCTIONS
from dmtwisted.store.sqlite.writer import connect
from dmtwisted.store.values import StoreFailed
from tests import mssql_double
from tests.filler import fill
from tests.postgres_server import MISSING, PASSWORD, server
from tests.store_contract import MEGABYTE, ODD_TEXTS, TILL, intent, paper

_names = count(1)

KILLED_AGAIN_AND_AGAIN = """
import os, pathlib, signal, sys
from dmtwisted.store.carry import moving
from dmtwisted.store.opening import open_rows
from dmtwisted.store.carry.upgrading import upgrade_to

source, target, portion = sys.argv[1], sys.argv[2], int(sys.argv[3])
moving.PAGE = portion
runs = 0

def run(kill_at):
    left = kill_at

    def step(*_):
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    with open_rows(source) as ours, open_rows(target) as theirs:
        note = theirs.note
        theirs.note = lambda *given: (step(), note(*given), step())
        ended = theirs.end_notes
        theirs.end_notes = lambda *given: (step(), ended(*given))
        moved = moving.move(ours, theirs, lambda: upgrade_to(target, "head"), step)
    print(moved.carried)

for kill_at in [*map(int, sys.argv[4:]), 0]:
    child = os.fork()
    if not child:
        run(kill_at)
        sys.stdout.flush()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if kill_at and status != signal.SIGKILL:
        sys.exit(f"was not killed at {kill_at}: {status}")
    if not kill_at and status:
        sys.exit(f"the last run ended with {status}")
"""
"""Move, killed at the given steps of as many runs, then once to the end."""


def nobody(doing: str, done: int, total: int) -> None:
    """A report that is not used."""


def sums(url: str) -> dict[str, Sum]:
    """What every table of a database amounts to."""
    found = {}
    with open_rows(url, reading=True) as rows:
        for shape in shapes():
            found[shape.name] = Sum()
            for page in rows.walk(shape):
                found[shape.name].add(page)
    return found


def made_of(url: str) -> set[tuple[Any, ...]]:
    """The indexes and references of a database, each with the statement that makes it."""
    with open_rows(url) as rows:
        if url.startswith("sqlite"):
            return set(rows.ask("SELECT name, sql FROM sqlite_master WHERE type = 'index'"))
        # The server words conditions in another way each time it is given its own words.
        kinds = "SELECT indexrelid::regclass::text, indisunique, indkey::text, indpred IS NULL FROM pg_index"
        ours = "JOIN pg_class ON oid = indrelid WHERE relnamespace = current_schema()::regnamespace"
        return {*rows.ask(f"{kinds} {ours}"), *rows.ask(REFERENCES)}


class MoveCase(SynchronousTestCase):
    """A SQLite file with a short history, and empty databases to move it to."""

    def setUp(self) -> None:
        """The history."""
        self.folder = Path(self.mktemp()).absolute()
        self.folder.mkdir()
        self.path = self.folder / "tills.db"
        self.url = f"sqlite:///{self.path}"

    def fill(self, receipts: int) -> None:
        """So many receipts of some hundred bytes, and what a database may find hard to keep."""
        fill(self.path, receipts, answer=200, document=100)
        with closing(connect(str(self.path))) as db:
            for n, text in enumerate(ODD_TEXTS):
                FUNCTIONS["add_device"](db, f"odd-{n}", text, "printer", "training", b"\x00\xff")
                FUNCTIONS["reserve"](db, intent(TILL, text, paper(10**9 + n)))
            FUNCTIONS["reserve"](db, intent(TILL, "long", paper(10**12, value=MEGABYTE)))
            # The newest row is gone: its number must not be given once more.
            FUNCTIONS["remove_device"](db, FUNCTIONS["add_device"](db, "gone", "gone", "printer", "training", b"").n)

    def other(self) -> str:
        """The URL of another file."""
        return f"sqlite:///{self.folder}/other {next(_names)}.db"

    def postgres(self) -> str:
        """The URL of an empty database on a server."""
        name = f"moved{next(_names)}"
        server().run(f"CREATE DATABASE {name}")
        self.addCleanup(server().run, f"DROP DATABASE {name} WITH (FORCE)")
        return server().url(name)

    def move(self, source: str, target: str, anew: bool = False) -> Moved:
        """Move it."""
        with open_rows(source) as ours, open_rows(target) as theirs:
            return move(ours, theirs, lambda: upgrade_to(target, "head"), nobody, anew)

    def refused(self, source: str, target: str) -> str:
        """Why it is not moved."""
        return str(self.assertRaises(CarryError, self.move, source, target))


class FileTests(MoveCase):
    """From file to file."""

    def test_every_row(self) -> None:
        """Every row of every table arrives as it was, with the numbers that were ever given."""
        self.fill(50)
        target = self.other()
        moved = self.move(self.url, target)
        self.assertEqual(sums(target), sums(self.url))
        self.assertEqual(moved.sums, sums(self.url))
        self.assertEqual(moved.carried, sum(found.rows for found in moved.sums.values()))
        with open_rows(self.url) as ours, open_rows(target) as theirs:
            for shape in shapes():
                if shape.numbered:
                    self.assertEqual(theirs.counter(shape), ours.counter(shape), shape.name)
            self.assertNotIn(NOTES, theirs.tables())

    def test_nothing_forgotten(self) -> None:
        """Each table of the schema is carried, but for the one that says who works with what just now."""
        self.assertEqual(all_tables(), set(metadata.tables))
        self.assertEqual({shape.name for shape in shapes()}, set(metadata.tables) - {"claim"})

    def test_source_untouched(self) -> None:
        """The source is read and nothing else."""
        self.fill(20)
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = self.path.read_bytes()
        self.move(self.url, self.other())
        self.assertEqual(self.path.read_bytes(), before)

    def test_in_use(self) -> None:
        """While a service works with one of them nothing is moved."""
        self.fill(5)
        self.patch(moving, "PATIENCE", 0)
        target = self.other()
        for busy in (self.url, target):
            with take_lock(f"{busy.removeprefix('sqlite:///')}.lock", 0):
                self.assertIn("works with it", self.refused(self.url, target))
        self.assertFalse(Path(target.removeprefix("sqlite:///")).exists())

    def test_not_empty(self) -> None:
        """A target with rows, with tables of others, or of a newer version is left as it is."""
        self.fill(5)
        full, strange, ours = self.other(), self.other(), self.other()
        fill(Path(full.removeprefix("sqlite:///")), 1)
        with closing(sqlite3.connect(strange.removeprefix("sqlite:///"))) as db:
            db.execute("CREATE TABLE surgeon (name TEXT)")
        with closing(sqlite3.connect(ours.removeprefix("sqlite:///"))) as db:
            db.execute("CREATE TABLE operation (surgeon TEXT)")
        before = sums(full)
        self.assertIn("holds data already", self.refused(self.url, full))
        self.assertIn("other tables (surgeon)", self.refused(self.url, strange))
        self.assertIn("tables with our names", self.refused(self.url, ours))
        self.assertEqual(sums(full), before)

    def test_fresh_target(self) -> None:
        """A target with our tables and nothing in them is taken."""
        self.fill(5)
        target = self.other()
        upgrade(target)
        self.move(self.url, target)
        self.assertEqual(sums(target), sums(self.url))

    def test_no_source(self) -> None:
        """Where no database of ours is there is nothing to move, and none is made."""
        self.assertIn("is not a database of this service", self.refused(self.url, self.other()))
        self.assertFalse(self.path.exists())

    def test_not_finished(self) -> None:
        """No service works with a target before it is complete, and another move does not go on with it."""
        self.fill(20)
        target, other = self.other(), self.other()
        self.patch(moving, "compare", lambda *_: 1 / 0)
        self.assertRaises(ZeroDivisionError, self.move, self.url, target)
        with open_rows(target) as rows:
            self.assertEqual(rows.revision(), MOVING)
        store = SqliteStore(reactor, Path(target.removeprefix("sqlite:///")))
        refused = self.failureResultOf(Deferred.fromCoroutine(store.open()), StoreFailed)
        self.assertIn("dmtwisted db move", refused.getErrorMessage())
        fill(Path(other.removeprefix("sqlite:///")), 1)
        self.assertIn("is not finished", self.refused(other, target))

    def test_indexes(self) -> None:
        """What was put off while rows went in is made before the end, wherever it was killed, as in a new file."""
        self.fill(20)
        target, fresh = self.other(), self.other()
        upgrade(fresh)
        self.patch(moving, "catch_up", lambda *_: 1 / 0)
        self.assertRaises(ZeroDivisionError, self.move, self.url, target)
        self.assertNotEqual(made_of(target), made_of(fresh))
        self.patch(moving, "catch_up", lambda rows, _: (rows.catch_up(rows.put_off()[0]), 1 / 0))
        self.assertRaises(ZeroDivisionError, self.move, self.url, target)
        self.patch(moving, "catch_up", catch_up)
        self.assertEqual(self.move(self.url, target).carried, 0)
        self.assertEqual(made_of(target), made_of(fresh))
        self.assertEqual(sums(target), sums(self.url))

    def test_doubled_tag(self) -> None:
        """A source that holds what its indexes forbid is not moved to its end, and it is said what it is."""
        self.fill(20)
        with closing(connect(str(self.path))) as db:
            db.execute("DROP INDEX operation_fiscal_tag")
            db.execute('UPDATE operation SET "key" = (SELECT "key" FROM operation WHERE n = 7) WHERE n = 11')
        target = self.other()
        self.assertIn("UNIQUE constraint failed", self.refused(self.url, target))
        with open_rows(target) as rows:
            self.assertEqual(rows.revision(), MOVING)

    def test_damaged_source(self) -> None:
        """A source with a broken index, by which rows would be passed over, is not moved; why is one line."""
        self.fill(5)
        with closing(connect(str(self.path))) as db:
            FUNCTIONS["change_settings"](db, {"a": b"1", "b": b"2"})
            (root,) = db.execute(
                "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_setting_1'"
            ).fetchone()
        with self.path.open("r+b") as file:
            # The page says that it holds nothing.
            file.seek((root - 1) * 4096 + 3)
            file.write(bytes(2))
        complaint = self.refused(self.url, self.other())
        self.assertIn("is damaged, and is not moved", complaint)
        self.assertNotIn("\n", complaint)

    def test_begun_by_another_version(self) -> None:
        """A target with the tables of another version is not gone on with: they would pass for those of this one."""
        self.fill(5)
        for note, anew in ((None, False), ("0002", False), ("0002", True)):
            target = self.other()
            upgrade(target, "0002")
            with open_rows(target) as rows:
                rows.begin_notes()
                self.assertEqual(rows.notes()[SCHEMA], "0002")
                if note is None:
                    # As versions did that kept no such note.
                    rows.ask(f"DELETE FROM {NOTES} WHERE name = '{SCHEMA}'")
            self.assertIn("another version", str(self.assertRaises(CarryError, self.move, self.url, target, anew)))
            with open_rows(target) as rows:
                self.assertEqual(rows.revision(), MOVING)

    def test_log_again(self) -> None:
        """A file that was filled is one like any other afterwards: its writer finds a log."""
        self.fill(5)
        target = self.other()
        self.move(self.url, target)
        with closing(sqlite3.connect(target.removeprefix("sqlite:///"))) as db:
            self.assertEqual(db.execute("PRAGMA journal_mode").fetchone(), ("wal",))

    def test_reading_ahead(self) -> None:
        """A page that cannot be read ends the move with why; what came before it is there."""
        self.fill(20)
        target = self.other()
        self.patch(moving, "PAGE", 5)
        page = SqliteRows.page

        def broken(rows: SqliteRows, shape: Shape, after: Key | None, limit: int = 5) -> list[Row]:
            if shape.name == "operation" and after == (10,):
                raise CarryError("the disk has a scratch")
            return page(rows, shape, after, limit)

        self.patch(SqliteRows, "page", broken)
        self.assertEqual(self.refused(self.url, target), "the disk has a scratch")
        self.patch(SqliteRows, "page", page)
        with open_rows(target) as rows:
            self.assertEqual(rows.ask("SELECT count(*) FROM operation"), [(10,)])
        self.move(self.url, target)
        self.assertEqual(sums(target), sums(self.url))

    def test_changed_meanwhile(self) -> None:
        """A source that was changed while the move was interrupted is noticed; `--anew` copies it as it is."""
        self.fill(20)
        target = self.other()
        compare = moving.compare
        self.patch(moving, "compare", lambda *_: 1 / 0)
        self.assertRaises(ZeroDivisionError, self.move, self.url, target)
        self.patch(moving, "compare", compare)
        with closing(connect(str(self.path))) as db:
            db.execute("UPDATE operation SET request = x'00' WHERE n = 7")
        self.assertIn("operation n=7: differs", self.refused(self.url, target))
        self.move(self.url, target, anew=True)
        self.assertEqual(sums(target), sums(self.url))

    @skipUnless(hasattr(os, "fork"), "needs fork and kill -9")
    def test_killed_anywhere(self) -> None:
        """Killed around each portion, each note and the last step, a move goes on; no row is lost or doubled."""
        fill(self.path, 12, answer=20, document=20)
        target = self.other()
        # Each run is killed one step later than it could have come to: the one before brought at most one portion.
        killed_again_and_again(self.url, target, 5, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
        self.assertEqual(sums(target), sums(self.url))


def killed_again_and_again(source: str, target: str, portion: int, kills: list[int]) -> int:
    """Move with portions of so many rows, killed at these steps; how many rows the last run had to bring."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore",
            "-c",
            KILLED_AGAIN_AND_AGAIN,
            source,
            target,
            str(portion),
            *map(str, kills),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


@skipIf(MISSING, MISSING)
class ServerTests(MoveCase):
    """To a server and back."""

    def test_there_and_back(self) -> None:
        """SQLite, PostgreSQL, SQLite, each way killed four times on the way: the same rows, with the same hashes."""
        self.fill(3000)
        server_url, back = self.postgres(), self.other()
        # The first one while it puts off indexes, which takes two steps each.
        there = killed_again_and_again(self.url, server_url, 500, [9, 36, 20, 12])
        self.assertEqual(sums(server_url), sums(self.url))
        home = killed_again_and_again(server_url, back, 500, [3, 13, 20, 12])
        self.assertEqual(sums(back), sums(self.url))
        total = sum(found.rows for found in sums(self.url).values())
        self.assertTrue(0 < there < total and 0 < home < total, (there, home, total))
        with open_rows(self.url) as ours, open_rows(back) as theirs, open_rows(server_url) as between:
            for shape in shapes():
                if shape.numbered:
                    numbers = {rows.counter(shape) for rows in (ours, theirs, between)}
                    self.assertEqual(len(numbers), 1, shape.name)

    def test_indexes(self) -> None:
        """What was put off while rows went in is made before the end, as a new database has it."""
        self.fill(20)
        target, fresh = self.postgres(), self.postgres()
        upgrade(fresh)
        self.patch(moving, "catch_up", lambda rows, _: (rows.catch_up(rows.put_off()[0]), 1 / 0))
        self.assertRaises(ZeroDivisionError, self.move, self.url, target)
        with open_rows(target) as rows:
            self.assertEqual((len(rows.ask(INDEXES)), len(rows.ask(REFERENCES))), (1, 0))
        self.patch(moving, "catch_up", catch_up)
        self.move(self.url, target)
        self.assertEqual(made_of(target), made_of(fresh))
        with open_rows(target) as rows:
            rows.ask("SET enable_seqscan TO off")
            for index, condition in (
                ("operation_unresolved", "state IN ('intended', 'unknown')"),
                ("operation_latest", "device_n = 1 AND kind IN ('pay', 'doc')"),
                ("operation_fiscal_tag", "device_n = 1 AND kind = 'fiscal' AND key = 'a' AND state <> 'refused'"),
            ):
                rows.ask("DROP INDEX IF EXISTS operation_key, operation_list")
                plan = rows.ask(f"EXPLAIN SELECT n FROM operation WHERE {condition}")
                self.assertIn(index, str(plan))

    def test_in_use(self) -> None:
        """While a session of a service is there nothing is moved, in neither direction."""
        self.fill(5)
        self.patch(moving, "PATIENCE", 0)
        url = self.postgres()
        with closing(server().connect(url.rpartition("/")[2])) as service, service.cursor() as cursor:
            cursor.execute("SET application_name TO 'dmtwisted 0123456789ab.1'")
            self.assertIn("a service works with it", self.refused(self.url, url))
            self.assertIn("a service works with it", self.refused(url, self.other()))

    def test_service_meanwhile(self) -> None:
        """Nothing is moved into a database that a service began to work with while its schema was made."""
        self.fill(5)
        self.patch(moving, "PATIENCE", 0)
        url = self.postgres()

        def make() -> None:
            upgrade_to(url, "head")
            service = server().connect(url.rpartition("/")[2])
            self.addCleanup(service.close)
            with service.cursor() as cursor:
                cursor.execute("SET application_name TO 'dmtwisted 0123456789ab.1'")

        with open_rows(self.url) as ours, open_rows(url) as theirs:
            refused = self.assertRaises(CarryError, move, ours, theirs, make, nobody)
            self.assertIn("a service works with it", str(refused))
            self.assertEqual(theirs.count(shapes()[0]), 0)

    def test_end_on_the_disk(self) -> None:
        """The last step waits for the server's disk, and with it for all steps before."""
        self.fill(5)
        url = self.postgres()
        seen = []
        with open_rows(self.url) as ours, open_rows(url) as theirs:
            ask = theirs.ask

            def asked(statement: str) -> list[tuple[Any, ...]]:
                if statement.startswith("DROP TABLE"):
                    seen.extend(ask("SHOW synchronous_commit"))
                return ask(statement)

            self.patch(theirs, "ask", asked)
            move(ours, theirs, lambda: upgrade_to(url, "head"), nobody)
        self.assertEqual(seen, [("on",)])

    def test_check_broken_off(self) -> None:
        """A server that goes away while its rows are checked is no fault of the database."""
        self.fill(5)
        url = self.postgres()
        self.move(self.url, url)
        sessions = f"FROM pg_stat_activity WHERE datname = '{url.rpartition('/')[2]}'"

        def end_it(doing: str, done: int, total: int) -> None:
            if doing == "operation":
                server().run(f"SELECT pg_terminate_backend(pid) {sessions}")

        with open_rows(url, reading=True) as rows:
            self.assertRaises(Away, check, rows, end_it)

    def test_source_frozen(self) -> None:
        """A service that begins with the source in the middle of a move cannot write."""
        self.fill(5)
        url = self.postgres()
        self.move(self.url, url)
        name = url.rpartition("/")[2]
        with open_rows(url) as rows:
            rows.keep_others_out(0)
            rows.freeze()
            with closing(server().connect(name)) as service, service.cursor() as cursor:
                cursor.execute("SET lock_timeout TO 50")
                with self.assertRaisesRegex(Exception, "lock timeout"):
                    cursor.execute("UPDATE operation SET res = 1")
        server().run("UPDATE operation SET res = 1", name)

    def test_next_command(self) -> None:
        """The next command does not wait until the server has noticed that the session of the last one has ended."""
        url = self.postgres()
        for failed in (False, True):
            with open_rows(url) as rows:
                rows.keep_others_out(0)
                session: Any = rows
                self.addCleanup(session._connection.close)
                # Where it has not noticed yet, the session is still there.
                self.patch(session, "_connection", SimpleNamespace(close=lambda: None, closed=0))
                if failed:
                    rows.ask("BEGIN")
                    self.assertRaises(CarryError, rows.ask, "SELECT 1 / 0")
            with open_rows(url) as rows:
                rows.keep_others_out(0)

    def test_nul(self) -> None:
        """A text that PostgreSQL cannot store is reported with its row."""
        self.fill(5)
        with closing(connect(str(self.path))) as db:
            FUNCTIONS["change_settings"](db, {"a\0b": b""})
        complaint = self.refused(self.url, self.postgres())
        self.assertIn("setting name=a", complaint)
        self.assertIn("the character NUL", complaint)

    def test_away(self) -> None:
        """A server that cannot be reached is one line, without the password."""
        self.fill(5)
        complaint = self.refused(self.url, f"postgresql://till:{PASSWORD}@127.0.0.1:1/tills")
        self.assertIn("cannot be reached", complaint)
        self.assertNotIn(PASSWORD, complaint)

    def test_strange_tables(self) -> None:
        """A database with other tables is left as it is."""
        self.fill(5)
        url = self.postgres()
        server().run("CREATE TABLE surgeon (name text)", url.rpartition("/")[2])
        self.assertIn("other tables (surgeon)", self.refused(self.url, url))


@skipIf(MISSING, MISSING)
class StoreAfterMoveTests(MoveCase, TestCase):
    """A store on what was moved."""

    async def test_goes_on(self) -> None:
        """After a move the store works with the new database; a new row gets a number that no row ever had."""
        self.fill(20)
        url = self.postgres()
        self.move(self.url, url)
        with open_rows(self.url) as rows:
            last = {shape.name: rows.counter(shape) for shape in shapes() if shape.numbered}
        store = PostgresStore(reactor, url, "here")
        await store.open()
        try:
            added = await store.add_device("new", "new", "printer", "training", b"{}")
            reserved = await store.reserve(intent(TILL, "new", paper(10**13)))
        finally:
            await store.close()
        self.assertGreater(added.n, last["device"])
        self.assertGreater(reserved.n, last["operation"])


@skipIf(MISSING, MISSING)
class MssqlTests(MoveCase):
    """To the stand-in for MS SQL and back."""

    def test_there_and_back(self) -> None:
        """Every row arrives as it was, broken off on the way, is backed up, and comes back; numbers go on."""
        self.fill(30)
        with closing(connect(str(self.path))) as db:
            FUNCTIONS["remove_device"](db, 1)
        name = f"moved{next(_names)}"
        real, back = f"{mssql_double.PREFIX}{name}", self.other()
        server().run(f"CREATE DATABASE {real}")
        self.addCleanup(server().run, f"DROP DATABASE {real} WITH (FORCE)")
        server().run("CREATE SCHEMA dbo", real)
        server().run(f"ALTER DATABASE {real} SET search_path TO dbo")
        url = f"mssql://till:{PASSWORD}@127.0.0.1:{server().port}/{name}"
        with mssql_double.installed():
            compare = moving.compare
            self.patch(moving, "compare", lambda *_: 1 / 0)
            self.patch(moving, "PAGE", 16)
            self.assertRaises(ZeroDivisionError, self.move, self.url, url)
            self.patch(moving, "compare", compare)
            moved = self.move(self.url, url)
            self.assertEqual((moved.carried, moved.sums), (0, sums(self.url)))
            with open_rows(self.url) as ours, open_rows(url) as theirs:
                numbers = [(theirs.counter(shape), ours.counter(shape)) for shape in shapes() if shape.numbered]
                self.assertEqual([there - here for there, here in numbers], [0] * len(numbers))
            self.move(url, back)
            file = self.folder / "mssql.toml"
            file.write_text(f'[database]\nurl = "{url}"\n', "utf-8")
            kept = self.folder / "kept.tar.gz"
            with redirect_stdout(io.StringIO()), self.assertRaises(SystemExit) as ended:
                main(["backup", "--config", str(file), "--state", str(self.folder), "--to", str(kept)])
            self.assertFalse(ended.exception.code)
            tables = {name: (mark.rows, mark.sum) for name, mark in read_manifest(kept).tables.items()}
            self.assertEqual(tables, {name: (found.rows, found.hex) for name, found in moved.sums.items()})
            self.assertEqual(check(open_rows(url, reading=True), nobody).faults, [])
            self.assertIn("holds data already", self.refused(self.url, url))
        self.assertEqual(sums(back), sums(self.url))


class CommandTests(MoveCase):
    """``dmtwisted db``"""

    def db(self, *arguments: str) -> tuple[int, str, str]:
        """Status, output and complaint of the command."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), self.assertRaises(SystemExit) as ended:
            main(["db", *arguments])
        return int(str(ended.exception.code or 0)), out.getvalue(), err.getvalue()

    def configured(self) -> tuple[str, str]:
        """The options that name the database."""
        file = self.folder / "desk.toml"
        file.write_text(f"[database]\nurl = {json.dumps(self.url)}\n", "utf-8")
        return "--config", str(file)

    def test_move(self) -> None:
        """It reports both sides, the sums, and the line of the configuration that must be changed."""
        self.fill(10)
        target = self.folder / "new.db"
        status, out, _ = self.db("move", *self.configured(), "--to", f"sqlite:///{target}")
        self.assertEqual(status, 0)
        self.assertIn("moved and compared: equal", out)
        self.assertIn(f"url = {json.dumps(f'sqlite:///{target}')}", out)
        with SqliteRows(target, reading=True) as rows:
            [(request,)] = rows.ask("SELECT request FROM operation WHERE kind = 'change'")
            self.assertEqual(checking.check(rows, nobody).faults, [])
        told = json.loads(request)
        self.assertEqual((told["by"], told["action"]), ("command", "moved"))
        self.assertEqual(told["after"], {"database": f"SQLite file {target}"})
        status, _, err = self.db("move", *self.configured(), "--to", f"sqlite:///{target}")
        self.assertEqual((status, err.count("\n")), (1, 1))
        self.assertIn("holds data already", err)

    def test_move_nowhere(self) -> None:
        """Without a target, or with an unknown one, it says what is wrong."""
        self.assertIn("--to URL", self.db("move", *self.configured())[2])
        self.fill(1)
        status, _, err = self.db("move", *self.configured(), "--to", "mysql://u:sesame@h/d")
        self.assertEqual(status, 1)
        self.assertNotIn("sesame", err)

    def test_status(self) -> None:
        """It reports rows, period and unfinished operations, even while a service works; as JSON for programs."""
        self.fill(10)
        with take_lock(f"{self.path}.lock", 0):
            status, out, _ = self.db("status", *self.configured())
            self.assertEqual(status, 0)
            _, told, _ = self.db("status", *self.configured(), "--json")
        self.assertIn(f"schema {head()}: it is of this version", out)
        self.assertIn(f"{len(ODD_TEXTS) + 1} unfinished operations", out)
        self.assertIn("documents from 2023-11-15 00:13:20", out)
        found = json.loads(told)
        self.assertEqual(found["rows"]["operation"], 10 + len(ODD_TEXTS) + 1)
        self.assertEqual(found["unfinished"][0]["state"], "intended")

    def test_status_of_nothing(self) -> None:
        """Where there is no database it says so with status 1, and makes none."""
        status, _, err = self.db("status", *self.configured())
        self.assertEqual((status, self.path.exists()), (1, False))
        self.assertIn(f"there is no database {self.path}", err)

    def test_check(self) -> None:
        """A database that is whole has sums, and status 0."""
        self.fill(10)
        status, out, _ = self.db("check", *self.configured())
        self.assertEqual(status, 0, out)
        self.assertIn(sums(self.url)["operation"].hex[:32], out)

    def test_check_orphan(self) -> None:
        """A document whose operation was taken away is named, with status 1."""
        self.fill(10)
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("DELETE FROM operation WHERE n = 5")
        status, out, _ = self.db("check", *self.configured())
        self.assertEqual(status, 1)
        self.assertIn("document n=5: the row of operation that it belongs to is missing", out)

    def test_check_type(self) -> None:
        """A value of another type than its column has is named with its row."""
        self.fill(10)
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("UPDATE document SET value = 'text' WHERE n = 3")
        status, out, _ = self.db("check", *self.configured())
        self.assertEqual(status, 1)
        self.assertIn("document n=3: value is not of its type", out)

    def test_check_seals(self) -> None:
        """A row that was changed, removed or inserted from outside is named as the chain of seals reports it."""
        self.fill(10)
        changes = {
            "UPDATE operation SET answer = x'00' WHERE n = 5": "device 1, operation 5: it or one of its docu",
            "UPDATE document SET sum = 1 WHERE n = 6": "device 2, operation 6: it or one of its documents",
            "DELETE FROM seal WHERE n = 3": "device 3, operation 7: its seal does not follow",
            "UPDATE operation SET state = 'done' WHERE n = 11": "device 1, operation 11: it was inserted",
        }
        whole = self.path.read_bytes()
        for change, named in changes.items():
            self.path.write_bytes(whole)
            with closing(sqlite3.connect(self.path)) as db, db:
                db.execute(change)
            status, out, _ = self.db("check", *self.configured())
            self.assertEqual((status, named in out), (1, True), out)
            with closing(sqlite3.connect(self.path)) as db:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def test_check_put_in(self) -> None:
        """An operation that was put in is named, though it bears a seal that comes before all others."""
        self.fill(10)
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("UPDATE operation SET state = 'done' WHERE n = 11")
            db.execute("INSERT INTO seal (n, device_n, operation_n, content, chain) VALUES (-1, 1, 11, x'', x'')")
        status, out, _ = self.db("check", *self.configured())
        self.assertEqual(status, 1)
        self.assertIn("WRONG: device 1, operation 11: its seal does not follow from the one before", out)

    def test_check_seal_put_in(self) -> None:
        """A seal that was put in before all others is named, though its operation has one of ours."""
        self.fill(10)
        with closing(sqlite3.connect(self.path)) as db, db:
            [(device_n,)] = db.execute("SELECT device_n FROM operation WHERE n = 2").fetchall()
            db.execute(
                "INSERT INTO seal (n, device_n, operation_n, content, chain) VALUES (-1, ?, 2, x'', x'')", (device_n,)
            )
        status, out, _ = self.db("check", *self.configured())
        self.assertEqual(status, 1)
        self.assertIn(f"WRONG: device {device_n}, operation 2: its seal does not follow from the one before", out)

    def test_check_damaged(self) -> None:
        """Pages that were overwritten are found, and what can be read is read."""
        self.fill(300)
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        content = bytearray(self.path.read_bytes())
        middle = len(content) // 2 // 4096 * 4096
        content[middle : middle + 8192] = b"\xaa" * 8192
        self.path.write_bytes(content)
        status, out, err = self.db("check", *self.configured())
        self.assertEqual(status, 1, err)
        self.assertIn("WRONG: ", out)
        with open_rows(self.url, reading=True) as rows:
            self.assertNotIn("\n", "".join(rows.faults()))

    def test_upgrade_older(self) -> None:
        """A file of an older version is copied before it is brought up to date; no other process may use it then."""
        upgrade(self.url, "0001")
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("INSERT INTO setting VALUES ('a', x'00')")
        with take_lock(f"{self.path}.lock", 0):
            self.patch(command, "PATIENCE", 0)
            self.assertEqual(self.db("upgrade", *self.configured())[0], 1)
        status, out, err = self.db("upgrade", *self.configured())
        self.assertEqual(status, 0, err)
        self.assertIn(f"from schema 0001 to {head()}", out)
        [copy] = self.folder.glob("*.before-upgrade-*")
        self.assertIn(str(copy), out)
        self.assertEqual(sqlite_revision(copy), "0001")
        self.assertEqual(sqlite_revision(self.path), head())

    def test_upgrade(self) -> None:
        """A new database is made, and one that is of this version is left as it is."""
        status, out, _ = self.db("upgrade", *self.configured())
        self.assertEqual(status, 0)
        self.assertIn(f"from schema none to {head()}", out)
        before = self.path.read_bytes()
        status, out, _ = self.db("upgrade", *self.configured())
        self.assertEqual(status, 0)
        self.assertIn("of this version already", out)
        self.assertEqual(self.path.read_bytes(), before)
