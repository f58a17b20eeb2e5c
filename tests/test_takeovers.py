"""A device passes from one service to another: nothing that either of them remembers of it does any harm."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from unittest import skipIf

import msgspec
from twisted.internet import reactor
from twisted.internet.task import LoopingCall, deferLater
from twisted.trial.unittest import TestCase

from dmtwisted.batch.saga import KIND as SAGA
from dmtwisted.batch.saga import Step, saga_of
from dmtwisted.closing import ShiftClosing
from dmtwisted.core import Core
from dmtwisted.devices.devices import PrinterDevice, TerminalDevice, usable
from dmtwisted.documents.model import Line
from dmtwisted.hooks import cursors
from dmtwisted.hooks.service import Hooks
from dmtwisted.hooks.subscribers import Subscriber
from dmtwisted.printing.jobs import KIND as JOB
from dmtwisted.results import Refused, Res
from dmtwisted.store.claims import Claim
from dmtwisted.store.postgres.store import PostgresStore
from dmtwisted.store.values import OperationQuery, OperationRow, State, StoreFailed
from dmtwisted.terminals.journal import KIND as PAYMENT
from tests.batch_desk import sale as card_sale
from tests.hook_desk import HOST, SILENCE, URL, Receivers
from tests.postgres_server import MISSING
from tests.shop import hurry, sale
from tests.store_contract import OTHER, TILL, intent, outcome
from tests.test_postgres_store import TAKING, ServiceCase, Wire, WireCase

DAY = 86400.0


@skipIf(MISSING, MISSING)
class BreakTests(WireCase, TestCase):
    """The session of the claims breaks, and with it go the locks."""

    patience = TAKING

    async def test_short_break(self) -> None:
        """A service that is there keeps its device, also while no task comes: one may be under way all the time."""
        first = await self.opened_postgres(size=2)
        pause = 1.5
        second = self.store("bar", size=2, patience=replace(TAKING, takeover=pause))
        await second.open()
        await self.operation(first, "a", State.INTENDED)
        self.bypass("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted")
        begun = reactor.seconds()
        while reactor.seconds() - begun < 2 * pause:
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
        self.sessions = store.alive
        wire.closed = True
        wire.cut()
        await self.until(lambda: not store.alive)

    async def back(self, wire: Wire, store: PostgresStore, device_n: int) -> None:
        """Let the service come back with all of its sessions, to a device that another one had and released."""
        wire.closed = False
        await self.until(lambda: store.alive == self.sessions)
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

    async def quick_terminal(self, service: Core) -> None:
        """The training terminal answers at once."""
        await service.devices.change(service.devices.by_name("pos").row.dev_id, None, {"operation_s": 0.0})

    async def sold(self, service: Core, tag: str, device: str = "test") -> int:
        """Result code of a sale by card."""
        body = json.dumps(card_sale(tag, device=device)).encode()
        answer = json.loads(await service.dispatcher.execute(body, "uk", batch=True))
        return int(answer["res"])

    async def rows(self, service: Core, kind: str) -> list[OperationRow]:
        """The operations of a kind, newest first."""
        return (await service.store.find_operations(OperationQuery(kinds=[kind], limit=100))).operations

    async def away(self, *_: Any) -> Any:
        """A verb of a store whose server is away."""
        raise StoreFailed("the database server is away")


@skipIf(MISSING, MISSING)
class DeviceTests(_TakeoverCase, TestCase):
    """The device itself: its settings, its name."""

    async def test_taken_within_a_task(self) -> None:
        """A device that another service had during a task of ours is built again before its next task."""
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
        self.assertIn("read again", str(complaint))
        device.turns.give_back()
        self.assertEqual((await self.told(first, 1, "b", receipt=sale()))[0], 0)
        self.assertEqual(first.devices.by_name("test").row, changed.row)

    async def test_names_exchanged(self) -> None:
        """Devices that exchanged their names at another service are found by the new ones with the first takeover."""
        first = await self.service(await self.opened_postgres(size=2))
        added = await first.devices.add("two", "register", "training", {})
        for name in ("test", "two"):
            self.assertEqual((await self.told(first, 0, "open", name))[0], 0)
        second = await self.service(self.store("bar", size=2))
        one, two = first.devices.by_name("test").row.dev_id, added.row.dev_id
        for dev_id, name in ((one, "spare"), (two, "test"), (one, "two")):
            await first.devices.change(dev_id, name, {})
        await self.end(first)
        async with second.devices.by_id(one).turns.owned():
            pass
        for name, dev_id in (("test", two), ("two", one)):
            self.assertEqual(second.devices.by_name(name).row.dev_id, dev_id)
            self.assertEqual((await self.told(second, 18, device=name))[0], 0)
            self.assertEqual(second.devices.by_name(name).row.dev_id, dev_id)
        self.assertEqual(len(list(second.devices)), 4)


@skipIf(MISSING, MISSING)
class UnfinishedTests(_TakeoverCase, TestCase):
    """What was under way when the device passed to the other service."""

    async def test_open_saga(self) -> None:
        """A card that was charged at one service is not charged again when the other one is asked for the receipt."""
        first = await self.service(await self.opened_postgres(size=2))
        await self.quick_terminal(first)
        register = first.devices.by_name("test")
        await first.devices.change(register.row.dev_id, None, {"offline_allowed": False})
        self.assertEqual((await self.told(first, 0, "open"))[0], 0)
        second = await self.service(self.store("bar", size=2))
        silent = [{"on": on, "then": "silent", "times": 0} for on in ("sale", "probe")]
        first.devices.by_name("test").simulator.scenario.replace({"rules": silent})
        hurry(self)
        self.assertEqual(await self.sold(first, "t"), Res.COLLISION_NOT_REPAIRED.code)
        await self.end(first)
        self.assertEqual(await self.sold(second, "t"), 0)
        for kind in (PAYMENT, SAGA):
            self.assertEqual([row.state for row in await self.rows(second, kind)], [State.DONE], kind)

    async def test_approved_late(self) -> None:
        """A payment that was approved late is found again at the start, whatever another service has."""
        earlier = await self.service(await self.opened_postgres("bar", size=2))
        await self.quick_terminal(earlier)
        batch = {"terminal": "pos", "printer": "prn"}
        ours = await earlier.devices.add("two", "register", "training", {"batch": batch})
        await self.given_up(earlier, "two")
        await self.end(earlier)
        first = await self.service(self.store("shop", size=2))
        await self.given_up(first, "test")
        second = await self.service(self.store("bar", size=2))
        states = {row.device_n: row.state for row in await self.rows(second, SAGA)}
        # The receipt was there already.
        theirs = first.devices.by_name("test").row.n
        self.assertEqual(states, {ours.row.n: State.DONE, theirs: State.REFUSED})

    async def given_up(self, service: Core, device: str) -> None:
        """A sale by card in the journal as if its payment had been given up before it was approved."""
        self.assertEqual((await self.told(service, 0, "open", device))[0], 0)
        self.assertEqual(await self.sold(service, "t", device), 0)
        row = (await self.rows(service, SAGA))[0]
        request = msgspec.json.encode(msgspec.structs.replace(saga_of(row), step=Step.PAYING, paid=None))
        await service.store.conclude(outcome(row.n, State.REFUSED, device_n=row.device_n, request=request))

    async def test_untold_end(self) -> None:
        """An end that a service could not store does not replace what another one stored since."""
        wire = Wire()
        store = await self.behind(wire, size=4)
        first, second = await self.service(store), await self.service(self.store("bar", size=4))
        await self.quick_terminal(first)
        pos = first.devices.by_name("pos")
        asked = {"ver": 6, "device": "pos", "type": 3, "transaction_id": "p", "pay": {"task": 1, "sum": 5}}
        patched = self.patch(store, "conclude", self.away)
        answer = json.loads(await first.dispatcher.execute(json.dumps(asked).encode(), "uk"))
        self.assertEqual(answer["res"], Res.STORE_FAILED.code)
        patched.restore()
        await self.cut_off(wire, store)
        await self.takes(second, "pos")
        [row] = await self.rows(second, PAYMENT)
        async with second.devices.by_name("pos").turns.owned():
            # A person who looked at the slip.
            await usable(second.devices.by_name("pos"), TerminalDevice).built.settle(row, False)
        await self.end(second)
        await self.back(wire, store, pos.row.n)
        # As the page of devices asks, outside of any task.
        await pos.built.state()
        self.assertEqual([row.state for row in await self.rows(first, PAYMENT)], [State.REFUSED])

    async def test_left_print_job(self) -> None:
        """A print job whose outcome the other service did not store is reported as unknown."""
        store = await self.opened_postgres(size=2)
        first, second = await self.service(store), await self.service(self.store("bar", size=2))
        printer = first.devices.by_name("prn")
        patched = self.patch(store, "conclude", self.away)
        async with printer.turns.owned():
            self.assertFalse((await usable(printer, PrinterDevice).built.print([Line("Кава")])).stored)
        patched.restore()
        await self.end(first)
        await self.takes(second, "prn")
        self.assertEqual([row.state for row in await self.rows(second, JOB)], [State.UNKNOWN])

    async def test_auto_close(self) -> None:
        """A service that lost its register does not close the shift that another one has opened since."""
        wire = Wire()
        store = await self.behind(wire)
        first, second = await self.service(store), await self.service(self.store("bar", size=2))
        register = first.devices.by_name("test")
        await first.devices.change(register.row.dev_id, None, {"auto_close": "00:01"})
        first.clock.offset = -2 * DAY
        self.assertEqual((await self.told(first, 0, "open"))[0], 0)
        first.clock.offset = 0.0
        await self.cut_off(wire, store)
        await self.takes(second, "test")
        second.clock.offset = -1.5 * DAY
        self.assertEqual((await self.told(second, 11, "close"))[0], 0)
        second.clock.offset = 0.0
        self.assertEqual((await self.told(second, 0, "morning"))[0], 0)
        await self.end(second)
        await self.back(wire, store, register.row.n)
        await ShiftClosing(first.devices, first.dispatcher, first.clock).close_due()
        state = await first.devices.by_name("test").built.state()
        self.assertEqual((state["shift_status"], state["shift"]), (1, 2))


@skipIf(MISSING, MISSING)
class EventTests(_TakeoverCase, TestCase):
    """The events of the device, on their way to a subscriber of which the first service alone was told."""

    def setUp(self) -> None:
        """A receiver in memory."""
        super().setUp()
        self.receivers = Receivers(reactor)
        self.patch(Hooks, "line", staticmethod(self.receivers.line))
        self.patch(cursors, "AGAIN_S", 0.05)
        pump = LoopingCall(self.receivers.flush)
        pump.start(0.01)
        self.addCleanup(pump.stop)

    async def subscribe(self, service: Core, name: str = "accounts") -> Subscriber:
        """A new subscriber of receipts."""
        return (await service.hooks.add(name, URL, allow_local=HOST, events=("document.made",)))[0]

    async def sell(self, service: Core, *tags: str) -> None:
        """Sell once for each tag."""
        for tag in tags:
            self.assertEqual((await self.told(service, 1, tag, receipt=sale()))[0], 0)

    def tags(self) -> list[str]:
        """The tags of what came, in its order."""
        return [got.event["data"]["tag"] for got in self.receivers.got]

    async def came(self, *tags: str) -> None:
        """Wait until these have come, and no other."""
        await self.until(lambda: len(self.tags()) >= len(tags))
        await deferLater(reactor, 0.3)
        self.assertEqual(self.tags(), [*tags])

    async def test_in_order(self) -> None:
        """When a service ends in order, the other one goes on: each event once."""
        first = await self.service(await self.opened_postgres(size=2))
        second = await self.service(self.store("bar", size=2))
        await self.subscribe(first)
        self.assertEqual((await self.told(first, 0, "open"))[0], 0)
        await self.sell(first, "a", "b")
        await self.came("a", "b")
        await self.end(first)
        await self.sell(second, "c", "d")
        await self.came("a", "b", "c", "d")

    async def test_answer_lost(self) -> None:
        """Of a service that is cut off only the event comes again whose answer was lost; what waited comes too."""
        wire = Wire()
        store = await self.behind(wire)
        first, second = await self.service(store), await self.service(self.store("bar", size=2))
        await self.subscribe(first)
        self.assertEqual((await self.told(first, 0, "open"))[0], 0)
        await self.sell(first, "a")
        await self.came("a")
        self.receivers.answers[HOST] = [SILENCE]
        await self.sell(first, "b", "c")
        await self.came("a", "b")
        await self.cut_off(wire, store)
        await self.takes(second, "test")
        await self.sell(second, "d")
        await self.came("a", "b", "b", "c", "d")

    async def test_late_cursor(self) -> None:
        """What a service could not store in time is stored when it is back, and sets back nobody."""
        wire = Wire()
        store = await self.behind(wire)
        first, second = await self.service(store), await self.service(self.store("bar", size=2))
        await self.subscribe(first)
        self.assertEqual((await self.told(first, 0, "open"))[0], 0)
        device_n = first.devices.by_name("test").row.n
        patched = self.patch(store, "keep_cursors", self.away)
        await self.sell(first, "a")
        await self.came("a")
        await self.cut_off(wire, store)
        await self.takes(second, "test")
        await self.sell(second, "b", "c")
        await self.came("a", "a", "b", "c")
        await self.end(second)
        await self.back(wire, store, device_n)
        patched.restore()
        await self.until(lambda: not first.hooks._common.cursors._busy)
        await self.sell(first, "d")
        await self.came("a", "a", "b", "c", "d")

    async def test_subscribers(self) -> None:
        """What one service changes of subscribers the other one neither undoes nor goes on without."""
        first = await self.service(await self.opened_postgres(size=2))
        second = await self.service(self.store("bar", size=2))
        gone = await self.subscribe(first, "gone")
        self.assertEqual((await self.told(first, 0, "open"))[0], 0)
        await self.subscribe(second, "of the second")
        self.assertTrue(await second.hooks.remove(gone.id))
        await self.subscribe(first, "of the first")
        for service in (first, second):
            await service.hooks.subscribers.refresh()
            names = [one.name for one in service.hooks.subscribers]
            self.assertEqual(names, ["of the second", "of the first"])
        await self.sell(first, "a")
        await self.came("a", "a")
