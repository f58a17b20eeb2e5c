"""The PostgreSQL store on a real server: nothing is lost or done twice, whatever happens to server and network."""

from __future__ import annotations

from typing import Any
from unittest import skipIf

import psycopg2
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.trial.unittest import TestCase

from dmtwisted.store.interface import IStore
from dmtwisted.store.migrate import upgrade
from dmtwisted.store.postgres import PostgresStore
from dmtwisted.store.postgres_sessions import Patience
from dmtwisted.store.values import State, StoreFailed
from tests.postgres_server import MISSING, server
from tests.store_contract import TILL, StoreCase, StoreContract, intent

DATABASE = "tills"
_TABLES = "device, setting, operation, document, register, sold_code, claim"


def _empty_database() -> None:
    """Make the database, or empty the one that is there."""
    ours = server()
    if ours.run(f"SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"):
        ours.run(f"TRUNCATE {_TABLES} RESTART IDENTITY", DATABASE)
    else:
        ours.run(f"CREATE DATABASE {DATABASE}")
        upgrade(ours.url(DATABASE))


class _PostgresCase(StoreCase):
    """Stores on an empty database of the one server."""

    timeout = 30
    integrity_error = psycopg2.IntegrityError
    patience = Patience()

    def store(self, installation: str = "shop", port: int | None = None, **changes: Any) -> PostgresStore:
        """A store that is not open yet; the end of the test closes it."""
        url = server().url(DATABASE, port)
        store = PostgresStore(reactor, url, installation, changes.pop("patience", self.patience), **changes)
        self.addCleanup(lambda: Deferred.fromCoroutine(store.close()))
        return store

    async def opened_postgres(self, installation: str = "shop", **changes: Any) -> PostgresStore:
        """A store on an empty database."""
        _empty_database()
        store = self.store(installation, **changes)
        await store.open()
        return store

    async def opened(self) -> IStore:
        """A store on an empty database."""
        return await self.opened_postgres(size=4)

    def bypass(self, statement: str) -> None:
        """Run ``statement`` on the database."""
        server().run(statement, DATABASE)


@skipIf(MISSING, MISSING)
class PostgresStoreTests(_PostgresCase, StoreContract, TestCase):
    """The contract."""

    async def test_damaged_row(self) -> None:
        """A row that somebody has given no state at all fails the verb that meets it, and only that one."""
        store = await self.opened()
        await store.add_device("id-1", "till", "register", "training", b"{}")
        await self.operation(store, "b", State.DONE)
        # The database itself takes no value of another kind.
        self.assertRaises(psycopg2.Error, self.bypass, "UPDATE operation SET fingerprint = 1.5")
        self.bypass("UPDATE operation SET state = 'lost'")
        await self.refused(store.reserve(intent(TILL, "b")), StoreFailed)
        self.assertEqual(len(await store.devices()), 1)
