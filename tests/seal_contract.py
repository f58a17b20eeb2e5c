"""What every store promises of its seals: a change of the journal from outside is noticed."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.defer import Deferred, gatherResults

from dmtwisted.store.interface import IStore
from dmtwisted.store.seals import content_hash
from dmtwisted.store.values import SealRow, State, StoreFailed
from dmtwisted.store.verification import Flaw, Verification, Wrong, verify
from tests.store_contract import AT, OTHER, TILL, StoreCase, intent, outcome, paper

HEAD = "UPDATE chain SET count = count - 1, hash = (SELECT chain FROM seal WHERE n = 3) WHERE device_n = 1"
"""The end of the chain of `TILL` in `SealContract.filled`, set back to where it was before the last receipt."""


def swapped(table: str, column: str, first: int, second: int) -> str:
    """The statement that exchanges the values of ``column`` between two rows."""
    other = f"(SELECT o.{column} FROM {table} o WHERE o.n = {first + second} - {table}.n)"
    return f"UPDATE {table} SET {column} = {other} WHERE n IN ({first}, {second})"


NOTICED: dict[str, tuple[tuple[str, ...], Flaw]] = {
    "an answer": (
        ("UPDATE operation SET answer = request, request = answer WHERE n = 2",),
        Flaw(Wrong.CHANGED, TILL, 2),
    ),
    "a sum": (("UPDATE document SET sum = sum - 1 WHERE number = 2 AND device_n = 1",), Flaw(Wrong.CHANGED, TILL, 2)),
    "the bytes that were sent": (
        ("UPDATE document SET sent = value WHERE number = 4 AND device_n = 1",),
        Flaw(Wrong.CHANGED, TILL, 5),
    ),
    "a time": (("UPDATE operation SET ended_at = ended_at + 1 WHERE n = 5",), Flaw(Wrong.CHANGED, TILL, 5)),
    "what was open again": (("UPDATE operation SET state = 'unknown' WHERE n = 5",), Flaw(Wrong.CHANGED, TILL, 5)),
    "nothing instead of an answer": (
        ("UPDATE operation SET answer = NULL WHERE n = 2",),
        Flaw(Wrong.CHANGED, TILL, 2),
    ),
    "the register of a receipt": (("UPDATE operation SET device_n = 2 WHERE n = 2",), Flaw(Wrong.CHANGED, TILL, 2)),
    "two of them": (
        ("UPDATE document SET sum = 0 WHERE device_n = 2", "UPDATE document SET sum = 0 WHERE number = 4"),
        Flaw(Wrong.CHANGED, OTHER, 3),
    ),
    "answers exchanged": ((swapped("operation", "answer", 1, 2),), Flaw(Wrong.CHANGED, TILL, 1)),
    "rows exchanged": (
        (
            "UPDATE document SET operation_n = 5 WHERE operation_n = 2 AND number = 2",
            "UPDATE document SET operation_n = 2 WHERE operation_n = 5 AND number = 4",
        ),
        Flaw(Wrong.CHANGED, TILL, 2),
    ),
    "a document put in": (
        (
            "INSERT INTO document (operation_n, device_n, number, kind, shift, at, sum, state, value, sent) "
            "SELECT operation_n, device_n, 99, kind, shift, at, sum, state, value, sent FROM document "
            "WHERE number = 2 AND device_n = 1",
        ),
        Flaw(Wrong.CHANGED, TILL, 2),
    ),
    "a document removed": (("DELETE FROM document WHERE number = 3",), Flaw(Wrong.CHANGED, TILL, 2)),
    "a receipt put in": (
        (
            'INSERT INTO operation (device_n, kind, task, "key", fingerprint, state, at, res) '
            "SELECT device_n, kind, task, 'more', fingerprint, state, at, res FROM operation WHERE n = 2",
        ),
        Flaw(Wrong.UNSEALED, TILL, 7),
    ),
    "a receipt put in with a seal before all others": (
        (
            'INSERT INTO operation (device_n, kind, task, "key", fingerprint, state, at, res) '
            "SELECT device_n, kind, task, 'more', fingerprint, state, at, res FROM operation WHERE n = 2",
            "INSERT INTO seal (n, device_n, operation_n, content, chain) "
            "SELECT -1, 1, 7, content, chain FROM seal WHERE n = 1",
        ),
        Flaw(Wrong.UNSEALED, TILL, 7),
    ),
    "a receipt removed": (
        ("DELETE FROM document WHERE operation_n = 2", "DELETE FROM operation WHERE n = 2"),
        Flaw(Wrong.REMOVED, TILL, 2),
    ),
    "a receipt removed with its seals": (
        (
            "DELETE FROM document WHERE operation_n = 2",
            "DELETE FROM operation WHERE n = 2",
            "DELETE FROM seal WHERE operation_n = 2",
        ),
        Flaw(Wrong.BROKEN, TILL, 5),
    ),
    "the last receipt removed": (
        ("DELETE FROM document WHERE operation_n = 5", "DELETE FROM operation WHERE n = 5"),
        Flaw(Wrong.REMOVED, TILL, 5),
    ),
    "the last receipt removed with its seal": (
        (
            "DELETE FROM document WHERE operation_n = 5",
            "DELETE FROM operation WHERE n = 5",
            "DELETE FROM seal WHERE operation_n = 5",
        ),
        Flaw(Wrong.CUT, TILL, 2),
    ),
    "the first receipt removed with its seal": (
        ("DELETE FROM operation WHERE n = 1", "DELETE FROM seal WHERE operation_n = 1"),
        Flaw(Wrong.BROKEN, TILL, 2),
    ),
    "all seals removed": (("DELETE FROM seal WHERE device_n = 2",), Flaw(Wrong.CUT, OTHER, 0)),
    "all seals removed with their end": (
        ("DELETE FROM seal WHERE device_n = 2", "DELETE FROM chain WHERE device_n = 2"),
        Flaw(Wrong.UNSEALED, OTHER, 3),
    ),
    "the end of a chain removed": (("DELETE FROM chain WHERE device_n = 2",), Flaw(Wrong.CUT, OTHER, 3)),
    "the begin of a chain": (("UPDATE chain SET anchor = hash WHERE device_n = 2",), Flaw(Wrong.BROKEN, OTHER, 3)),
    "seals exchanged": (
        (
            "UPDATE seal SET n = 100 WHERE n = 3",
            "UPDATE seal SET n = 3 WHERE n = 5",
            "UPDATE seal SET n = 5 WHERE n = 100",
        ),
        Flaw(Wrong.BROKEN, TILL, 5),
    ),
    "an old seal": (("UPDATE seal SET content = chain WHERE n = 2",), Flaw(Wrong.BROKEN, TILL, 2)),
    "the newest seal removed": (
        ("UPDATE operation SET res = 7 WHERE n = 2", "DELETE FROM seal WHERE n = 3"),
        Flaw(Wrong.CHANGED, TILL, 2),
    ),
    "a seal put in": (
        (
            "INSERT INTO seal (device_n, operation_n, content, chain) "
            "SELECT 1, 6, content, chain FROM seal WHERE n = 4",
        ),
        Flaw(Wrong.BROKEN, TILL, 6),
    ),
}
"""Changes behind the store's back, and the row that is named."""

UNNOTICED: dict[str, tuple[str, ...]] = {
    "an operation that is under way": ("UPDATE operation SET request = answer WHERE n = 6",),
    "one put in that is under way": (
        'INSERT INTO operation (device_n, kind, task, "key", fingerprint, state, at, res) '
        "SELECT device_n, kind, task, 'more', fingerprint, 'intended', at, res FROM operation WHERE n = 2",
    ),
    "the newest removed, and the end of the chain set back": (
        "DELETE FROM document WHERE operation_n = 5",
        "DELETE FROM operation WHERE n = 5",
        "DELETE FROM seal WHERE operation_n = 5",
        HEAD,
    ),
}
"""What no chain without a secret can notice (docs/databases.md)."""


class Late:
    """A store at work: one seal is not kept yet when its page is read for the first time.

    :param n: the number of that seal.
    """

    def __init__(self, store: IStore, n: int) -> None:
        self.chains, self.concluded = store.chains, store.concluded
        self._store, self._n, self._kept = store, n, False

    async def seals(self, after: int, limit: int) -> list[SealRow]:
        """As the store has them, but for the one that is late."""
        rows = await self._store.seals(after, limit + 1)
        kept = [row for row in rows if self._kept or row.n != self._n]
        self._kept = self._kept or len(kept) < len(rows)
        return kept[:limit]


class SealContract(StoreCase):
    """Whatever the database."""

    async def filled(self) -> IStore:
        """A store with six operations, four of them concluded; their seals are those of 1, 2, 2, 3 and 5."""
        store = await self.opened()
        await self.operation(store, "refused", State.REFUSED)
        await store.reserve(intent(TILL, "Z", paper(2, kind="z"), paper(3, kind="close"), request=b"asked"))
        await store.accept_document(2, 2, "F-2")
        await store.conclude(outcome(2, State.UNKNOWN, res=1084))
        await store.reserve(intent(OTHER, "a", paper(1)))
        await store.conclude(outcome(2, answer=b"second", fiscal_numbers={2: "F-2", 3: "F-3"}))
        await store.conclude(outcome(3, device_n=OTHER, answer=b"third", fiscal_numbers={1: "F-1"}))
        await self.operation(store, "crash", State.INTENDED)
        await self.operation(store, "Їжа 🧾", State.DONE, paper(4))
        await self.operation(store, "under way", State.INTENDED, kind="pkg", request=b"step 1")
        await store.note(6, b"step 2")
        return store

    async def sealed(self, store: IStore) -> list[int]:
        """The operation of each seal, in their order."""
        return [seal.operation_n for seal in await store.seals(0, 100)]

    async def test_untouched(self) -> None:
        """A journal that was not touched has no flaw, in pages of any size; so has an empty one."""
        store = await self.opened()
        self.assertIs(await verify(store), None)
        store = await self.filled()
        self.assertEqual(await self.sealed(store), [1, 2, 2, 3, 5])
        for page in (1, 2, 3, 100):
            self.assertIs(await verify(store, page), None)

    async def test_changed_by_us(self) -> None:
        """What the store itself changes of a concluded operation is sealed again; what is under way is not."""
        store = await self.opened()
        n = await self.operation(store, "a", State.INTENDED, paper(1), paper(2), request=b"1")
        await store.note(n, b"2")
        await store.accept_document(n, 1, "F-1")
        self.assertEqual(await self.sealed(store), [])
        await store.conclude(outcome(n, State.UNKNOWN))
        await store.accept_document(n, 2, "F-2")
        await store.note(n, b"3")
        await store.conclude(outcome(n, answer=b"{}", fiscal_numbers={1: "F-1", 2: "F-2"}, request=b"4"))
        await store.note(n, b"5")
        seals = await store.seals(0, 100)
        self.assertEqual([(seal.operation_n, seal.newest) for seal in seals], [*[(n, False)] * 4, (n, True)])
        self.assertIs(await verify(store), None)
        (chain,) = await store.chains()
        self.assertEqual((chain.device_n, chain.count, chain.hash), (TILL, 5, seals[-1].chain))

    async def test_content(self) -> None:
        """A row has the same hash in every database: that of its values, bodies and letters of any kind included."""
        store = await self.opened()
        papers = (paper(2**40, kind="z", sum=-(10**17), value=b"", sent=bytes(range(256))), paper(8, shift=2**33))
        meant = intent(TILL, "Їжа 🧾 o'Neil % \\", *papers, fingerprint=b"\x00\xff", task=2**31 - 1, request=b"\\x00")
        n = (await store.reserve(meant)).n
        await store.conclude(outcome(n, res=-1, answer=b"\x00'", fiscal_numbers={2**40: "Ї", 8: ""}))
        expected = content_hash(
            (
                *(n, TILL, 2**31 - 1, AT, AT + 1000, -1),
                *("fiscal", meant.key, b"\x00\xff", "done", b"\x00'", b"\\x00"),
            ),
            [
                (1, TILL, 2**40, 1, AT, -(10**17), "z", "done", "Ї", b"", bytes(range(256))),
                (2, TILL, 8, 2**33, AT, 12550, "sale", "done", "", b'{"v":1}', b"<CHECK/>"),
            ],
        )
        (seal,) = await store.seals(0, 100)
        self.assertEqual((seal.content, seal.actual), (expected, expected))
        # And without all that may be absent.
        bare = (await store.reserve(intent(TILL, "b", fingerprint=b""))).n
        await store.conclude(outcome(bare, State.REFUSED))
        expected = content_hash((bare, TILL, 1, AT, AT + 1000, 0, "fiscal", "b", b"", "refused", None, None), [])
        (seal,) = await store.seals(seal.n, 100)
        self.assertEqual((seal.content, seal.actual), (expected, expected))

    async def test_nothing_of_a_failure(self) -> None:
        """An outcome that is not kept leaves no seal."""
        store = await self.opened()
        first = await self.operation(store, "a", State.REFUSED, paper(1), paper(2))
        await self.operation(store, "b", State.UNKNOWN, paper(2))
        await self.refused(store.conclude(outcome(first, fiscal_numbers={1: "F-1", 2: "F-2"})), StoreFailed)
        self.assertEqual(len(await self.sealed(store)), 2)
        self.assertIs(await verify(store), None)

    async def test_at_once(self) -> None:
        """Outcomes that come at the same time, for one device and for several, are chained one after the other."""
        store = await self.opened()
        numbers = [
            (device_n, (await store.reserve(intent(device_n, f"tag {number}", paper(number)))).n)
            for number in range(20)
            for device_n in (TILL, OTHER)
        ]
        kept = [
            store.conclude(outcome(n, device_n=device_n, fiscal_numbers={number // 2: f"F-{n}"}))
            for number, (device_n, n) in enumerate(numbers)
        ]
        walking = Deferred.fromCoroutine(verify(store, 3))
        await gatherResults([Deferred.fromCoroutine(each) for each in kept])
        self.assertIs(await walking, None)
        self.assertIs(await verify(store), None)
        self.assertEqual(sorted(await self.sealed(store)), [n for _, n in numbers])
        self.assertEqual([chain.count for chain in await store.chains()], [20, 20])

    async def test_kept_late(self) -> None:
        """A seal stored after a later one of another device was read is not reported as missing."""
        store = await self.filled()
        for late in range(1, 6):
            for page in (1, 2, 100):
                self.assertIs(await verify(cast(IStore, Late(store, late)), page), None)
        # What stays away is missing, whatever else is late.
        self.bypass("DELETE FROM seal WHERE n = 2")
        for page in (1, 2, 100):
            self.assertEqual(await verify(cast(IStore, Late(store, 4)), page), Flaw(Wrong.BROKEN, TILL, 2))

    async def test_progress(self) -> None:
        """A verification reports its progress."""
        store = await self.filled()
        verification = Verification(store, 2)
        seen = []
        while not await verification.step():
            assert verification.walk is not None
            seen.append(verification.walk.seen)
        self.assertEqual(seen[:3], [2, 4, 5])
        self.assertEqual(verification.total, 5)

    async def tampered(self, statements: tuple[str, ...]) -> Flaw | None:
        """What is found after ``statements``, whatever the size of the pages."""
        store = await self.filled()
        for statement in statements:
            self.bypass(statement)
        flaws = [await verify(store, page) for page in (100, 1)]
        self.assertEqual(flaws[0], flaws[1])
        return flaws[0]


def _noticed(name: str) -> Any:
    async def test(self: SealContract) -> None:
        statements, flaw = NOTICED[name]
        self.assertEqual(await self.tampered(statements), flaw)

    test.__doc__ = f"Changed behind the store's back and noticed, the first bad row by its name: {name}."
    return test


def _unnoticed(name: str) -> Any:
    async def test(self: SealContract) -> None:
        self.assertIs(await self.tampered(UNNOTICED[name]), None)

    test.__doc__ = f"What seals without a secret do not tell, as the documentation says: {name}."
    return test


for _name in NOTICED:
    setattr(SealContract, f"test_{_name.replace(' ', '_')}_noticed", _noticed(_name))
for _name in UNNOTICED:
    setattr(SealContract, f"test_{_name.replace(' ', '_').replace(',', '')}_unnoticed", _unnoticed(_name))
