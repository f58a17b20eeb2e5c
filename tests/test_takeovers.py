"""A device passes from one service to another: nothing that either of them remembers of it does any harm."""

from __future__ import annotations

from unittest import skipIf

from twisted.internet import reactor
from twisted.internet.task import deferLater
from twisted.trial.unittest import TestCase

from dmtwisted.core import Core
from dmtwisted.results import Refused, Res
from dmtwisted.store.claims import Claim
from dmtwisted.store.postgres import PostgresStore
from dmtwisted.store.values import State, StoreFailed
from tests.postgres_server import MISSING
from tests.shop import sale
from tests.store_contract import OTHER, TILL, intent
from tests.test_postgres_store import QUICK, ServiceCase, Wire, WireCase


@skipIf(MISSING, MISSING)
class BreakTests(WireCase, TestCase):
    """The session of the claims breaks, and with it go the locks."""

    patience = QUICK

    async def test_short_break(self) -> None:
        """A service that is there keeps its device, also while no task comes: one may be under way all the time."""
        first = await self.opened_postgres(size=2)
        second = self.store("bar", size=2)
        await second.open()
        await self.operation(first, "a", State.INTENDED)
        self.bypass("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted")
        begun = reactor.seconds()
        while reactor.seconds() - begun < 3 * QUICK.takeover:
            self.assertIs(await second.claims.claim(TILL), Claim.ELSEWHERE)
            await deferLater(reactor, 0.02)

    async def test_break_at_the_end(self) -> None:
        """A service that ends reaches for nothing any more."""
        first = await self.opened_postgres(size=2)
        for device_n in (TILL, OTHER):
            self.assertIs(await first.claims.claim(device_n), Claim.OURS)
        holder = first._holder
        assert holder is not None
        first.claims.lost(holder)
        first.claims.end()
        first.claims.back(holder)
        # What was under way with the claims is over then.
        await first.claims.release()
        self.assertEqual([device_n for device_n in (TILL, OTHER) if first.claims.holds(device_n)], [])


class _TakeoverCase(ServiceCase):
    """A service behind a wire that can be cut, and one beside it."""

    async def cut_off(self, wire: Wire, store: PostgresStore) -> None:
        """Keep the service with that store away from the database."""
        wire.closed = True
        wire.cut()
        await self.until(lambda: not store.alive)

    async def back(self, wire: Wire, store: PostgresStore, device_n: int) -> None:
        """Let the service come back, to a device that another one had and let go of."""
        wire.closed = False
        self.assertIs(await store.claims.claim(device_n, stubborn=True), Claim.TAKEN)

    async def takes(self, service: Core, name: str) -> None:
        """Wait until ``service`` has the device."""
        while True:
            try:
                async with service.devices.by_name(name).turns.owned():
                    return
            except Refused as refused:
                self.assertIs(refused.res, Res.DEVICE_BUSY)
                await deferLater(reactor, 0.02)


@skipIf(MISSING, MISSING)
class DeviceTests(_TakeoverCase, TestCase):
    """The device itself."""

    async def test_taken_within_a_task(self) -> None:
        """A device that another service had during a task of ours is built anew before its next task."""
        wire = Wire()
        store = await self.behind(wire)
        first, second = await self.service(store), await self.service(self.store("bar", size=2))
        self.assertEqual((await self.told(first, 0, "open"))[0], 0)
        device = first.devices.by_name("test")
        await device.turns.take()
        await self.cut_off(wire, store)
        await self.takes(second, "test")
        changed = await second.devices.change(device.row.dev_id, None, {"rounding_step": 10})
        await self.end(second)
        await self.back(wire, store, device.row.n)
        complaint = await self.refused(store.reserve(intent(device.row.n, "a")), StoreFailed)
        self.assertIn("read anew", str(complaint))
        device.turns.give_back()
        self.assertEqual((await self.told(first, 1, "b", receipt=sale()))[0], 0)
        self.assertEqual(first.devices.by_name("test").row, changed.row)
