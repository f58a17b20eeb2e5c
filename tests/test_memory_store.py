"""The store that forgets keeps every promise of a store while it lives."""

from __future__ import annotations

import sqlite3

from twisted.trial.unittest import TestCase

from dmtwisted.store import events
from dmtwisted.store.interface import IStore
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import EventPage, State, StoreFailed
from tests.change_contract import ChangeContract
from tests.event_contract import EventContract
from tests.mark_contract import MarkContract
from tests.retention_contract import RetentionContract
from tests.seal_contract import SealContract
from tests.store_contract import ARGUMENTS, OTHER, TILL, StoreCase, StoreContract, intent


class _Memory(StoreCase):
    """A store in memory for each test."""

    integrity_error = sqlite3.IntegrityError

    async def opened(self) -> IStore:
        """A store that was just made."""
        self.store = MemoryStore()
        await self.store.open()
        return self.store

    def bypass(self, statement: str) -> None:
        """Run ``statement`` in its database."""
        database = self.store._db
        assert database is not None
        database.execute(statement)


class MemoryStoreTests(_Memory, StoreContract, TestCase):
    """The contract."""


class MemoryChangeTests(_Memory, ChangeContract, TestCase):
    """Changes of the service."""


class MemorySealTests(_Memory, SealContract, RetentionContract, MarkContract, TestCase):
    """The contracts of seals and of what grows old."""


class MemoryEventTests(_Memory, EventContract, TestCase):
    """Events."""

    async def test_look(self) -> None:
        """A question looks at a limited part, and says how far it came."""
        store = await self.opened()
        self.patch(events, "SCANNED", 2)
        for number in range(1, 8):
            await self.sold(store, number)
        await self.sold(store, 8, OTHER)
        self.assertEqual((await store.events(0, 100, [OTHER])), EventPage([], 3, b""))
        self.assertEqual([event.operation.key for event in await self.all_of(store, 100, OTHER)], ["tag 8"])


class ForgettingTests(_Memory, TestCase):
    """What it does for tests, beyond the contract."""

    async def test_reopened(self) -> None:
        """What was stored is there after close and open, as if a service had started again."""
        store = await self.opened()
        n = (await store.reserve(intent(TILL, "a"))).n
        await store.close()
        await store.open()
        self.assertEqual([known.n for known in await store.unresolved(None)], [n])

    async def test_apart(self) -> None:
        """Two stores have nothing in common."""
        first, second = await self.opened(), await self.opened()
        await first.change_settings({"a": b"1"})
        self.assertEqual(await second.settings(), {})

    async def test_broken(self) -> None:
        """A broken store fails every verb and changes nothing; repaired, it goes on."""
        store = await self.opened()
        n = (await store.reserve(intent(TILL, "a"))).n
        self.store.broken = True
        for verb, arguments in ARGUMENTS.items():
            await self.refused(getattr(store, verb)(*arguments), StoreFailed)
        self.store.broken = False
        self.assertEqual([(known.n, known.state) for known in await store.unresolved(None)], [(n, State.INTENDED)])
        self.assertEqual((await store.devices(), await store.settings()), ([], {}))
