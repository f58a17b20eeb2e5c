"""What every store promises of what grows old, and what a service on it promises at its door."""

from __future__ import annotations

from typing import Any

from twisted.internet import reactor
from twisted.internet.defer import Deferred

from dmtwisted.clock import ServiceClock
from dmtwisted.retention import DAY, Retention
from dmtwisted.secrets import Secrets
from dmtwisted.service_settings import ServiceSettings
from dmtwisted.store.interface import IStore
from dmtwisted.store.seals import GENESIS, removal
from dmtwisted.store.values import AgedPaper, AgedRow, Cut, OperationQuery, State
from dmtwisted.store.verification import Flaw, Wrong, verify
from tests.behaviour import OPERATIONS, SETTINGS, BehaviourCase
from tests.specification import promises
from tests.store_contract import AT, OTHER, TILL, StoreCase, intent, outcome, paper

CLOCK = "/dm/api/v3/training/clock"
DAY_S = 86_400
MINUTE = 60


def retention(store: IStore, at: int) -> Retention:
    """The retention of a service on ``store`` whose clock shows ``at``; its steps are small."""
    clock = ServiceClock(reactor)
    clock.offset = at / 1000 - clock.seconds()
    return Retention(store, ServiceSettings(store, Secrets(None), clock), clock, 3)


class RetentionContract(StoreCase):
    """Whatever the database."""

    async def left(self, store: IStore) -> list[str]:
        """The keys of all operations that are there, oldest first."""
        found = await store.find_operations(OperationQuery())
        return [row.key for row in found.operations[::-1]]

    async def test_aged(self) -> None:
        """Retention sees of each operation what it has to know, page by page."""
        store = await self.opened()
        await self.operation(store, "Z", State.DONE, paper(1, kind="z"), paper(2, kind="close", shift=3))
        await self.operation(store, "a", State.DONE, kind="pay")
        await self.operation(store, "tag", State.REFUSED, kind="pkg")
        await self.operation(store, "tag", State.INTENDED, paper(3))
        await self.operation(store, "b", State.UNKNOWN, kind="pay")
        rows = [
            AgedRow(
                *(1, TILL, "fiscal", State.DONE, AT, AT + 1000, False, False),
                [AgedPaper("z", 1, 1), AgedPaper("close", 2, 3)],
            ),
            AgedRow(2, TILL, "pay", State.DONE, AT, AT + 1000, False, False, []),
            AgedRow(3, TILL, "pkg", State.REFUSED, AT, AT + 1000, False, False, []),
            AgedRow(4, TILL, "fiscal", State.INTENDED, AT, None, True, False, [AgedPaper("sale", 3, 1)]),
            AgedRow(5, TILL, "pay", State.UNKNOWN, AT, AT + 1000, False, True, []),
        ]
        self.assertEqual(await store.aged(0, 100), rows)
        self.assertEqual(await store.aged(1, 2), rows[1:3])
        self.assertEqual(await store.aged(5, 2), [])

    async def test_cut(self) -> None:
        """What is cut is gone with its documents, and passes for no tampering; so does the new begin of the chain."""
        store = await self.opened()
        for number in range(1, 6):
            await self.operation(store, f"tag {number}", State.DONE, paper(number))
        self.assertTrue(await store.cut(Cut(TILL, GENESIS, [1, 3])))
        self.assertEqual(await self.left(store), ["tag 2", "tag 4", "tag 5"])
        self.assertEqual(await store.sent_documents(TILL, 1, 9), [(n, b"<CHECK/>") for n in (2, 4, 5)])
        self.assertIs(await verify(store, 2), None)
        seals = await store.seals(0, 100)
        self.assertEqual([seal.operation_n for seal in seals], [1, 2, 3, 4, 5, 1, 3])
        self.assertEqual([seal.content for seal in seals[5:]], [removal(1), removal(3)])
        renewed = {2: seals[1].content}
        self.assertTrue(await store.cut(Cut(TILL, GENESIS, [], [seal.n for seal in seals[:3]], renewed)))
        self.assertIs(await verify(store, 2), None)
        self.assertEqual([seal.operation_n for seal in await store.seals(0, 100)], [4, 5, 1, 3, 2, 0])
        (chain,) = await store.chains()
        self.assertEqual((chain.anchor, chain.removed, chain.count), (seals[2].chain, 3, 9))
        # A service that has not noticed it yet changes nothing.
        self.assertFalse(await store.cut(Cut(TILL, GENESIS, [4])))
        self.assertFalse(await store.cut(Cut(OTHER, GENESIS, [4])))
        self.assertEqual(await store.chains(), [chain])
        self.assertEqual(await self.left(store), ["tag 2", "tag 4", "tag 5"])
        self.assertIs((await store.reserve(intent(TILL, "tag 1", paper(6)))).known, None)

    async def test_changed_meanwhile(self) -> None:
        """An operation that was sealed again since retention read its seals keeps that newer seal."""
        store = await self.opened()
        await self.operation(store, "a", State.DONE, paper(1))
        await self.operation(store, "b", State.UNKNOWN, paper(2))
        await self.operation(store, "c", State.DONE, paper(3))
        seals = await store.seals(0, 100)
        await store.conclude(outcome(2, fiscal_numbers={2: "F-2"}))
        await store.cut(Cut(TILL, GENESIS, [3]))
        renewed = {seal.operation_n: seal.content for seal in seals}
        self.assertTrue(await store.cut(Cut(TILL, GENESIS, [], [seal.n for seal in seals], renewed)))
        self.assertIs(await verify(store), None)
        self.assertEqual([seal.operation_n for seal in await store.seals(0, 100)], [2, 3, 1, 0])

    async def after_cut(self, *statements: str) -> Flaw | None:
        """What is found after ``statements`` were run behind a cut: operations 2, 4 and 5 are left."""
        store = await self.opened()
        for number in range(1, 6):
            await self.operation(store, f"tag {number}", State.DONE, *([paper(number)] if number == 4 else []))
        await store.cut(Cut(TILL, GENESIS, [1, 3]))
        seals = await store.seals(0, 3)
        await store.cut(Cut(TILL, GENESIS, [], [seal.n for seal in seals], {2: seals[1].content}))
        for statement in statements:
            self.bypass(statement)
        return await verify(store)

    async def test_removed_after_cut(self) -> None:
        """What is deleted from outside is distinguished from what retention removed."""
        gone = "DELETE FROM document WHERE operation_n = 4", "DELETE FROM operation WHERE n = 4"
        self.assertEqual(await self.after_cut(*gone), Flaw(Wrong.REMOVED, TILL, 4))

    async def test_brought_back(self) -> None:
        """What retention removed and someone brought back is noticed."""
        again = (
            'INSERT INTO operation (n, device_n, kind, task, "key", fingerprint, state, at, ended_at, res) '
            "SELECT 3, device_n, kind, task, 'tag 3', fingerprint, state, at, ended_at, res "
            "FROM operation WHERE n = 5"
        )
        self.assertEqual(await self.after_cut(again), Flaw(Wrong.CHANGED, TILL, 3))

    async def test_more_cut(self) -> None:
        """Who removes the oldest seals as well, and says so in the table of chains, is noticed."""
        statements = (
            "DELETE FROM document WHERE operation_n = 4",
            "DELETE FROM operation WHERE n = 4",
            "UPDATE chain SET removed = removed + 1, anchor = (SELECT chain FROM seal WHERE operation_n = 4)",
            "DELETE FROM seal WHERE operation_n = 4",
        )
        self.assertEqual(await self.after_cut(*statements), Flaw(Wrong.CUT, TILL, 0))

    async def test_begin_denied(self) -> None:
        """The table of chains cannot say that nothing was ever removed."""
        self.assertEqual(await self.after_cut("UPDATE chain SET removed = 0"), Flaw(Wrong.CUT, TILL, 0))

    async def test_forget_codes(self) -> None:
        """The item codes of closed shifts are forgotten shift by shift, those of other registers are not."""
        store = await self.opened()
        n = await self.operation(store, "a", State.INTENDED)
        for shift in (3, 4, 5):
            await store.conclude(outcome(n, shift=shift, sold={str(code): 1 for code in range(shift)}))
        await store.conclude(outcome(n, device_n=OTHER, shift=3, sold={"1": 1}))
        self.assertEqual([await store.forget_codes(TILL, 5) for _ in range(3)], [3, 4, 0])
        self.assertEqual([len(await store.sold_codes(TILL, shift)) for shift in (3, 4, 5)], [0, 0, 5])
        self.assertEqual(len(await store.sold_codes(OTHER, 3)), 1)

    async def test_while_selling(self) -> None:
        """What has grown old goes while registers sell; the journal stays whole, seal by seal."""
        store = await self.opened()
        for number in range(1, 31):
            await self.operation(store, f"old {number}", State.DONE, paper(number))
        new = AT + 41 * DAY
        removing = Deferred.fromCoroutine(retention(store, new).remove())
        for number in range(31, 61):
            n = (await store.reserve(intent(TILL, f"new {number}", paper(number, at=new), at=new))).n
            await store.conclude(outcome(n, at=new, fiscal_numbers={number: f"F-{number}"}))
        await removing
        self.assertEqual(await self.left(store), [f"new {number}" for number in range(31, 61)])
        self.assertIs(await verify(store, 7), None)
        self.assertLess(len(await store.seals(0, 1000)), 100)


class RetentionBehaviour(BehaviourCase):
    """A service in training mode, whatever the database."""

    async def travel(self, seconds: float) -> None:
        """Move the clock; return when what has grown old is gone."""
        answer = await self.request("PUT", CLOCK, {"offset_s": seconds})
        self.assertEqual(answer.status, 200)
        assert self._core is not None
        retention = self._core.retention
        await self.until(lambda: retention.idle)
        self.assertIs(await verify(self.store), None)

    async def day(self, *tags: str) -> None:
        """A shift with sales under these tags."""
        self.assertEqual((await self.ask(0))["res"], 0)
        for tag in tags:
            self.assertEqual((await self.sell(tag))["res"], 0)
        self.assertEqual((await self.ask(11))["res"], 0)

    async def known(self, *tags: str) -> list[bool]:
        """The tags that have a receipt; the answer for the others is that there is none."""
        answers = [await self.execute({"ver": 6, "device": "test", "tag": tag, "type": 0}) for tag in tags]
        self.assertLessEqual({answer["res"] for answer in answers}, {0, 1058})
        return [answer["res"] == 0 for answer in answers]

    @promises("1.11a.1", "8.receipt-retention", "3.3.3.1", "1.11c.1.1")
    async def test_receipts(self) -> None:
        """A receipt is found for 40 days and not a minute longer; the last one of a register stays."""
        await self.day("a")
        await self.travel(20 * DAY_S)
        await self.day("b")
        await self.travel(40 * DAY_S - MINUTE)
        self.assertEqual(await self.known("a", "b"), [True, True])
        await self.travel(40 * DAY_S + MINUTE)
        self.assertEqual(await self.known("a", "b"), [False, True])
        await self.travel(300 * DAY_S)
        self.assertEqual(await self.known("a", "b"), [False, True])
        self.assertEqual((await self.ask(22))["res"], 0)
        # The tag is free again, and the register goes on where it was.
        await self.day("a")
        self.assertEqual(await self.known("a"), [True])

    @promises("1.11b.1", "8.operation-retention", "3.4.search1.no", "1.11c.1.2")
    async def test_payments_grow_old(self) -> None:
        """An operation of a terminal is found for 90 days and not a minute longer; the last one stays."""
        self.assertEqual((await self.pay("5d0b"))["res"], 0)
        await self.travel(50 * DAY_S)
        self.assertEqual((await self.pay("77aa"))["res"], 0)
        await self.travel(90 * DAY_S - MINUTE)
        self.assertEqual([(await self.pay(label, 1))["res"] for label in ("5d0b", "77aa")], [0, 0])
        await self.travel(90 * DAY_S + MINUTE)
        self.assertEqual([(await self.pay(label, 1))["res"] for label in ("5d0b", "77aa")], [5013, 0])
        await self.travel(300 * DAY_S)
        self.assertEqual([(await self.pay(label, 1))["res"] for label in ("5d0b", "77aa")], [5013, 0])

    async def test_other_days(self) -> None:
        """Both numbers of days are settings; the stored ones count, whichever service changed them."""
        self.assertEqual((await self.request("POST", SETTINGS, {"packdays": 3, "paydays": 5})).status, 200)
        await self.day("a")
        await self.pay("5d0b")
        await self.pay("77aa")
        await self.day("b")
        await self.travel(4 * DAY_S)
        self.assertEqual(await self.known("a", "b"), [False, True])
        self.assertEqual((await self.pay("5d0b", 1))["res"], 0)
        await self.travel(6 * DAY_S)
        self.assertEqual((await self.pay("5d0b", 1))["res"], 5013)

    async def test_journey_into_the_past(self) -> None:
        """In training mode a receipt that was made on a journey into the past is as old as its date, back at home."""
        await self.day("today")
        await self.travel(-50 * DAY_S)
        await self.day("a", "b")
        await self.travel(0)
        self.assertEqual(await self.known("today", "a", "b"), [True, False, True])

    async def test_open_shift(self) -> None:
        """Nothing of an open shift goes, however long ago it was opened; what it sold is still known."""
        await self.day("before")
        self.assertEqual((await self.ask(0))["res"], 0)
        await self.sell("a")
        await self.sell("b")
        await self.travel(100 * DAY_S)
        self.assertEqual(await self.known("before", "a", "b"), [False, True, True])
        self.assertEqual((await self.ask(17))["res"], 0)
        self.assertEqual((await self.ask(11))["res"], 0)

    async def test_reports_stay(self) -> None:
        """Z-reports stay for summary reports over what has no receipts any more."""
        for day in range(3):
            await self.travel(day * DAY_S)
            await self.day(f"day {day}")
        await self.travel(200 * DAY_S)
        self.assertEqual(await self.known("day 0", "day 1", "day 2"), [False, False, True])
        answer = await self.ask(12, n_from=1, n_to=3)
        self.assertEqual(answer["res"], 0)

    async def test_batch_grows_old(self) -> None:
        """The receipt of a batch stays as long as the batch, and that as long as its payment."""
        self.assertEqual((await self.ask(0))["res"], 0)
        card: dict[str, Any] = {"pays": [{"type": 2, "sum": 125.5}]}
        answer = await self.sell("card", path="/dm/execute-pkg", **card)
        self.assertEqual(answer["res"], 0, answer)
        self.assertEqual((await self.ask(11))["res"], 0)
        await self.day("cash")
        await self.day("last")
        await self.travel(80 * DAY_S)
        self.assertEqual(await self.known("card", "cash", "last"), [True, False, True])
        again = await self.sell("card", path="/dm/execute-pkg", **card)
        self.assertEqual((again["res"], again["task_status"]), (0, 2))
        await self.pay("77aa")
        await self.travel(100 * DAY_S)
        self.assertEqual(await self.known("card", "last"), [False, True])
        kinds = {each["kind"] for each in (await self.read(f"{OPERATIONS}?page_size=100"))["operations"]}
        self.assertNotIn("pkg", kinds)
