"""The same service on every database: one suite of promises for each of them."""

from __future__ import annotations

from pathlib import Path
from unittest import skipIf

from twisted.internet import reactor
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.config import DATABASES
from dmtwisted.store.interface import IStore
from dmtwisted.store.mssql.store import MssqlStore
from dmtwisted.store.postgres.store import PostgresStore
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.sqlite.store import SqliteStore
from tests import test_mssql_store
from tests.behaviour import Behaviour
from tests.mssql_double import installed
from tests.postgres_server import MISSING, server
from tests.retention_contract import RetentionBehaviour
from tests.test_sqlite_store import empty_database

DATABASE = "behaviour"


class MemoryBehaviourTests(Behaviour, RetentionBehaviour, TestCase):
    """The service with a store in memory."""

    async def setUp(self) -> None:  # type: ignore[override]
        """One store for all starts."""
        self._kept = MemoryStore()
        await super().setUp()

    def make_store(self) -> IStore:
        """Return that store."""
        return self._kept


class SqliteBehaviourTests(Behaviour, RetentionBehaviour, TestCase):
    """The service on a SQLite file."""

    async def setUp(self) -> None:  # type: ignore[override]
        """An empty file."""
        self._file = Path(self.mktemp()).absolute()
        self._file.write_bytes(empty_database())
        await super().setUp()

    def make_store(self) -> IStore:
        """A store with its own writer process."""
        return SqliteStore(reactor, self._file)


@skipIf(MISSING, MISSING)
class PostgresBehaviourTests(Behaviour, RetentionBehaviour, TestCase):
    """The service on a PostgreSQL server."""

    async def setUp(self) -> None:  # type: ignore[override]
        """An empty database."""
        server().empty(DATABASE)
        await super().setUp()

    def make_store(self) -> IStore:
        """A store with its own sessions; each start is the same installation."""
        return PostgresStore(reactor, server().url(DATABASE), "shop", size=2)


@skipIf(MISSING, MISSING)
class MssqlBehaviourTests(Behaviour, RetentionBehaviour, TestCase):
    """The service on the stand-in for an MS SQL server."""

    async def setUp(self) -> None:  # type: ignore[override]
        """An empty database."""
        stand_in = installed()
        stand_in.__enter__()
        self.addCleanup(stand_in.__exit__, None, None, None)
        test_mssql_store.empty_database()
        await super().setUp()

    def make_store(self) -> IStore:
        """A store with its own sessions; each start is the same installation."""
        return MssqlStore(reactor, test_mssql_store.url(), "shop", size=2)


class PageTests(SynchronousTestCase):
    """The page `docs/databases.md`."""

    def test_kinds(self) -> None:
        """The table of differences has a column for each kind of database, with the beginning of its URL."""
        page = Path(__file__).parent.parent / "docs" / "databases.md"
        rows = [line[1:-1].split("|") for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
        kinds, urls = rows[0][1:], rows[2][1:]
        self.assertEqual([kind.strip() for kind in kinds], ["SQLite", "PostgreSQL", "MS SQL"])
        self.assertEqual([scheme in url for scheme, url in zip(DATABASES, urls, strict=True)], [True] * 3)
        table = rows[: next(n for n, row in enumerate(rows) if row[0].strip() == "proven on") + 1]
        self.assertEqual({len(row) for row in table}, {4})
