"""What every store promises of changes of the service: each is kept with its record, and the record is sealed."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from dmtwisted.store.interface import IStore
from dmtwisted.store.values import CHANGE, Change, NameTaken, OperationQuery, OperationRow, State, StoreFailed
from dmtwisted.store.verification import Flaw, Wrong, verify
from tests.store_contract import AT, TILL, StoreCase, paper

CHANGES = OperationQuery(kinds=[CHANGE])

NOTICED: dict[str, tuple[tuple[str, ...], Flaw]] = {
    "changed": (("UPDATE operation SET request = fingerprint WHERE n = 2",), Flaw(Wrong.CHANGED, 0, 2)),
    "dated otherwise": (("UPDATE operation SET at = at + 1 WHERE n = 2",), Flaw(Wrong.CHANGED, 0, 2)),
    "removed": (("DELETE FROM operation WHERE n = 2",), Flaw(Wrong.REMOVED, 0, 2)),
    "removed with its seal": (
        ("DELETE FROM operation WHERE n = 2", "DELETE FROM seal WHERE operation_n = 2"),
        Flaw(Wrong.BROKEN, 0, 4),
    ),
    "put in": (
        (
            'INSERT INTO operation (device_n, kind, task, "key", fingerprint, state, at, ended_at, res, request) '
            'SELECT device_n, kind, task, "key", fingerprint, state, at, ended_at, res, request FROM operation '
            "WHERE n = 2",
        ),
        Flaw(Wrong.UNSEALED, 0, 6),
    ),
    "reordered": (
        (
            "UPDATE seal SET n = 100 WHERE operation_n = 2",
            "UPDATE seal SET n = 2 WHERE operation_n = 4",
            "UPDATE seal SET n = 4 WHERE n = 100",
        ),
        Flaw(Wrong.BROKEN, 0, 4),
    ),
    "given to another device": (("UPDATE operation SET device_n = 1 WHERE n = 2",), Flaw(Wrong.CHANGED, 0, 2)),
}
"""What someone did to the record of a change behind the store's back, and what is found."""


def change(number: int = 0, subject: str = "settings", device_n: int = 0) -> Change:
    """A change that is like no other."""
    return Change(subject, AT + number, b'{"n":%d}' % number, device_n)


class ChangeContract(StoreCase):
    """Whatever the database."""

    async def changes(self, store: IStore, query: OperationQuery = CHANGES) -> list[OperationRow]:
        """The records, oldest first."""
        found = await store.find_operations(query)
        self.assertEqual(found.total, len(found.operations))
        return found.operations[::-1]

    async def test_recorded(self) -> None:
        """Each verb that changes the service keeps the record that it is given, under the device that it changed."""
        store = await self.opened()
        stays = await store.add_device("id-0", "other", "printer", "escpos", b"{}", None)
        device = await store.add_device("id-1", "till", "register", "training", b"{}", change(1, "device"))
        await store.change_device(device.n, "till 2", b"[]", change(2, "device", stays.n))
        await store.change_settings({"a": b"1"}, change(3))
        n = await store.record(change(4, "mode", device.n))
        await store.remove_device(device.n, change(5, "device"))
        kept = await self.changes(store)
        self.assertEqual(
            [(row.n, row.device_n, row.kind, row.key, row.state, row.at, row.res, row.request) for row in kept],
            [
                (number, place, CHANGE, subject, State.DONE, AT + number, 0, b'{"n":%d}' % number)
                for number, place, subject in (
                    (1, device.n, "device"),
                    (2, device.n, "device"),
                    (3, 0, "settings"),
                    (4, device.n, "mode"),
                    (5, device.n, "device"),
                )
            ],
        )
        self.assertEqual(n, 4)
        self.assertEqual([seal.operation_n for seal in await store.seals(0, 100)], [1, 2, 3, 4, 5])
        self.assertIs(await verify(store, 2), None)
        self.assertEqual((await store.devices(), await store.settings()), ([stays], {"a": b"1"}))

    async def test_found(self) -> None:
        """Changes are found by kind, device, subject and time, and continued below a number; never by accident."""
        store = await self.opened()
        await self.operation(store, "sale", State.DONE, paper(1))
        for number, subject, device_n in ((2, "device", TILL), (3, "settings", 0), (4, "device", 2)):
            self.assertEqual(await store.record(change(number, subject, device_n)), number)
        for query, numbers in (
            (OperationQuery(), [1]),
            (OperationQuery(devices=[TILL]), [1]),
            (OperationQuery(states=[State.DONE]), [1]),
            (OperationQuery(n=3), []),
            (CHANGES, [2, 3, 4]),
            (OperationQuery([TILL], [CHANGE]), [2]),
            (OperationQuery([0], [CHANGE]), [3]),
            (OperationQuery(kinds=[CHANGE], key="device"), [2, 4]),
            (OperationQuery(kinds=[CHANGE], at_from=AT + 3, at_to=AT + 3), [3]),
            (OperationQuery(kinds=[CHANGE], below=4), [2, 3]),
            (OperationQuery(kinds=[CHANGE], key="device", below=4), [2]),
        ):
            self.assertEqual([row.n for row in await self.changes(store, query)], numbers, query)
        self.assertEqual(await store.unresolved(None), [])

    async def test_ended_later(self) -> None:
        """A record that was begun gets its outcome, and both are sealed."""
        store = await self.opened()
        n = await store.record(Change("certificate", AT, b"begun"))
        await store.note(n, b"done")
        self.assertEqual([row.request for row in await self.changes(store)], [b"done"])
        self.assertEqual([seal.operation_n for seal in await store.seals(0, 100)], [n, n])
        self.assertIs(await verify(store), None)

    async def test_both_or_neither(self) -> None:
        """A change whose record cannot be kept is not made; a change that is refused leaves no record."""
        store = await self.opened()
        device = await store.add_device("id-1", "till", "register", "training", b"{}")
        other = await store.add_device("id-2", "prn", "printer", "escpos", b"{}")
        await self.refused(store.add_device("id-3", "till", "printer", "escpos", b"{}", change()), NameTaken)
        await self.refused(store.change_device(other.n, "till", b"[]", change()), NameTaken)
        self.assertEqual(await self.changes(store), [])
        self.bypass("ALTER TABLE seal RENAME TO elsewhere")
        self.addCleanup(self.bypass, "ALTER TABLE elsewhere RENAME TO seal")
        for asked in (
            store.add_device("id-3", "new", "printer", "escpos", b"{}", change()),
            store.change_device(device.n, "new", b"[]", change()),
            store.remove_device(device.n, change()),
            store.change_settings({"a": b"1"}, change()),
            store.record(change()),
        ):
            await self.refused(asked, StoreFailed)
        self.assertEqual(await store.devices(), [device, other])
        self.assertEqual((await store.settings(), await self.changes(store)), ({}, []))

    async def test_at_once(self) -> None:
        """Changes of one device at the same time are kept one after the other, each as its record says."""
        store = await self.opened()
        device = await store.add_device("id-1", "till", "register", "training", b"{}")
        asked = [
            store.change_device(device.n, "till", b"%d" % number, change(number, "device")) for number in range(20)
        ]
        await gatherResults([Deferred.fromCoroutine(each) for each in asked])
        kept = await self.changes(store)
        self.assertEqual(sorted(row.at - AT for row in kept), list(range(20)))
        [now] = await store.devices()
        self.assertEqual(kept[-1].request, b'{"n":%s}' % now.settings)
        self.assertIs(await verify(store, 3), None)

    async def tampered(self, statements: tuple[str, ...]) -> Flaw | None:
        """What is found after ``statements``; the changes 1, 2, 4 and 5 are of the service, 3 of a device."""
        store = await self.opened()
        for number in (1, 2, 3, 4, 5):
            await store.record(change(number, device_n=7 if number == 3 else 0))
        for statement in statements:
            self.bypass(statement)
        return await verify(store)


def _noticed(name: str) -> Any:
    async def test(self: ChangeContract) -> None:
        statements, flaw = NOTICED[name]
        self.assertEqual(await self.tampered(statements), flaw)

    test.__doc__ = f"The record of a change, behind the store's back, is {name}: that is noticed, and it is named."
    return test


for _name in NOTICED:
    setattr(ChangeContract, f"test_{_name.replace(' ', '_')}_noticed", _noticed(_name))
