"""An MS SQL database is looked at, checked, moved into and out of, in front of the stand-in for its server."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest import skipIf

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.store.carry.checking import check
from dmtwisted.store.carry.looking import look
from dmtwisted.store.carry.moving import move
from dmtwisted.store.migrate import upgrade
from dmtwisted.store.mssql.store import MssqlStore
from dmtwisted.store.opening import open_rows
from dmtwisted.store.revisions import MOVING, head
from dmtwisted.store.rows import CarryError
from dmtwisted.store.schema import shapes
from dmtwisted.store.values import StoreFailed
from tests import test_backup
from tests.mssql_double import PREFIX, installed
from tests.postgres_server import MISSING, PASSWORD, server
from tests.store_contract import OTHER, intent, outcome, paper
from tests.test_move import MoveCase, nobody, sums
from tests.test_mssql_store import url

_names = count(1)


def empty_database(case: SynchronousTestCase) -> str:
    """The name of an empty database on the stand-in, which goes with ``case``."""
    name = f"moved{next(_names)}"
    real = f"{PREFIX}{name}"
    server().run(f"CREATE DATABASE {real}")
    case.addCleanup(server().run, f"DROP DATABASE {real} WITH (FORCE)")
    server().run("CREATE SCHEMA dbo", real)
    return name


@skipIf(MISSING, MISSING)
class MssqlRowsTests(MoveCase, TestCase):
    """``dmtwisted db`` and an MS SQL database."""

    timeout = 60

    def setUp(self) -> None:
        """An empty database on the stand-in, beside the file with a history."""
        super().setUp()
        stand_in = installed()
        stand_in.__enter__()
        self.addCleanup(stand_in.__exit__, None, None, None)
        self.database = empty_database(self)
        self.target = url(self.database)

    def carry(self, source: str, target: str, report: object = nobody) -> int:
        """Move it, in this process."""
        with open_rows(source) as ours, open_rows(target) as theirs:
            return move(ours, theirs, lambda: upgrade(target), report).carried  # type: ignore[arg-type]

    def test_there_and_back(self) -> None:
        """Every row comes over and comes back, with its number, its bytes and the blanks at the end of its texts."""
        self.fill(120)
        before = sums(self.url)
        self.carry(self.url, self.target)
        self.assertEqual(sums(self.target), before)
        with open_rows(self.url) as ours, open_rows(self.target) as theirs:
            for shape in shapes():
                if shape.numbered:
                    self.assertEqual(theirs.counter(shape), ours.counter(shape), shape.name)
        back = self.other()
        self.carry(self.target, back)
        self.assertEqual(sums(back), before)

    def test_broken_off(self) -> None:
        """A move that was broken off goes on after the last portion that was kept; meanwhile no service starts."""
        self.fill(60)

        def break_off(doing: str, done: int, total: int) -> None:
            if doing == "document" and done:
                raise KeyboardInterrupt

        self.assertRaises(KeyboardInterrupt, self.carry, self.url, self.target, break_off)
        with open_rows(self.target) as rows:
            self.assertEqual(rows.revision(), MOVING)
        whole = sum(each.rows for each in sums(self.url).values())
        self.assertLess(self.carry(self.url, self.target), whole)
        self.assertEqual(sums(self.target), sums(self.url))

    def test_looked_at(self) -> None:
        """The content is reported, and every row and seal is checked; a row that was changed is named."""
        self.fill(20)
        self.carry(self.url, self.target)
        with open_rows(self.target, reading=True) as rows:
            status = look(rows)
            self.assertEqual((status.revision, status.rows["document"] > 20), (head(), True))
            self.assertNotIn(PASSWORD, status.name)
            faults = check(rows, nobody).faults
        with open_rows(self.url, reading=True) as rows:
            self.assertEqual(faults, check(rows, nobody).faults)
        server().run("UPDATE dbo.operation SET answer = 'x' WHERE n = 5", f"{PREFIX}{self.database}")
        with open_rows(self.target, reading=True) as rows:
            self.assertNotEqual(check(rows, nobody).faults, faults)

    async def test_in_use(self) -> None:
        """A database that a service works with is not moved, and no service starts on one that is being moved."""
        upgrade(self.target)
        store = MssqlStore(reactor, self.target, "shop", size=2)
        await store.open()
        with open_rows(self.target) as rows:
            error = self.assertRaises(CarryError, rows.keep_others_out, 0.1)
            self.assertIn("a service or another command works with it", str(error))
        with open_rows(self.target, reading=True) as rows:
            # Without snapshots a sale that is under way would look like a change from outside.
            self.assertRaises(CarryError, check, rows, nobody)
        await store.close()
        with open_rows(self.target) as rows:
            rows.keep_others_out(2.0)
            late = MssqlStore(reactor, self.target, "shop", size=2)
            await self.assertFailure(Deferred.fromCoroutine(late.open()), StoreFailed)

    def test_next_command(self) -> None:
        """The next command does not wait until the server has noticed that the session of the last one has ended."""
        upgrade(self.target)
        with open_rows(self.target) as rows:
            rows.keep_others_out(0)
            session: Any = rows
            self.addCleanup(session._connection.close)
            # Where it has not noticed yet, the session is still there.
            self.patch(session, "_connection", SimpleNamespace(close=lambda: None))
        with open_rows(self.target) as rows:
            rows.keep_others_out(0)

    async def test_next_numbers(self) -> None:
        """Rows stored after a move get numbers that no row ever had."""
        self.fill(5)
        self.carry(self.url, self.target)
        with open_rows(self.target) as rows:
            highest = {shape.name: rows.counter(shape) for shape in shapes() if shape.numbered}
        store = MssqlStore(reactor, self.target, "shop", size=2)
        await store.open()
        self.addCleanup(lambda: Deferred.fromCoroutine(store.close()))
        n = (await store.reserve(intent(OTHER, "next", paper(10**10)))).n
        self.assertEqual(n, highest["operation"] + 1)
        await store.conclude(outcome(n, device_n=OTHER, fiscal_numbers={10**10: "F"}))
        device = await store.add_device("next", "next", "printer", "training", b"{}")
        self.assertEqual(device.n, highest["device"] + 1)


@skipIf(MISSING, MISSING)
class MssqlBackupTests(test_backup.ServerTests):
    """``dmtwisted backup``, ``restore`` and ``db move`` as commands."""

    def setUp(self) -> None:
        """The driver connects to the stand-in."""
        super().setUp()
        stand_in = installed()
        stand_in.__enter__()
        self.addCleanup(stand_in.__exit__, None, None, None)

    def database(self, tables: bool = False) -> str:
        """The options of an empty database."""
        name = empty_database(self)
        file = self.folder / f"{name}.toml"
        file.write_text(f'[database]\nurl = "{url(name)}"\n', "utf-8")
        return str(file)
