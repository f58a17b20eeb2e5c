"""What a register does when an answer is lost, the store fails or the service dies, at every step of every document.

Each test compares a shop in which something went wrong with a twin in which nothing did: once the trouble is over,
nobody can tell them apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, product
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers import asking
from dmtwisted.registers.collisions import says_else
from dmtwisted.requests import read_json, read_task
from protocols.simulators import tax_service
from protocols.simulators.scenario import Scenario
from tests.shop import FailingStore, Shop, hurry, sale
from tests.specification import promises

if TYPE_CHECKING:
    _Case = SynchronousTestCase
else:
    _Case = object

PATIENCE = 8.0
"""Seconds for which a training register waits for an answer."""

MOMENT = 2**-10
"""The shortest time that matters here; like all times below it is exact in a binary float."""

TAG, OTHER_TAG = "the tag", "another tag"

NO_ANSWER = 1075


@dataclass(frozen=True)
class Fault:
    """A rule of the scenario, and what the caller hears of it how many seconds later."""

    then: str
    res: int
    res_action: int
    code: str | int = ""
    delay_ms: int = 0
    seconds: float = 0

    def rule(self, kind: str) -> dict[str, Any]:
        """The fault as a rule for documents of one kind."""
        return {"on": kind, "then": self.then, "code": self.code, "delay_ms": self.delay_ms}


REFUSED = (
    Fault("refuse", 1040, 3, code="9"),
    Fault("refuse", 1034, 1, code="1034"),
    Fault("refuse", 1035, 1, code="13", delay_ms=7875, seconds=7.875),
)
"""The tax service says no."""

UNREACHABLE = (Fault("unreachable", 1050, 1), Fault("unreachable", 1050, 1, delay_ms=3000, seconds=3))
"""Nothing was sent."""

LOST_BEFORE = (
    Fault("lost_before", NO_ANSWER, 2),
    Fault("lost_before", NO_ANSWER, 2, delay_ms=3000, seconds=3),
    Fault("silent", NO_ANSWER, 2, seconds=PATIENCE),
    Fault("refuse", NO_ANSWER, 2, code="9", delay_ms=8125, seconds=PATIENCE),
)
"""The outcome is unknown, and the document did not arrive."""

LOST_AFTER = (
    Fault("lost_after", NO_ANSWER, 2),
    Fault("lost_after", NO_ANSWER, 2, delay_ms=3000, seconds=3),
    Fault("garbage", NO_ANSWER, 2),
    Fault("accept", NO_ANSWER, 2, delay_ms=8125, seconds=PATIENCE),
)
"""The outcome is unknown, and the document did arrive."""


def standing(shop: Shop) -> dict[str, Any]:
    """The state of a register, without the times of day: numbers, cash, totals and what the tax service has."""
    status, x = shop.fiscal(18), shop.fiscal(10)
    keep = ("safe", "shift_status", "docno", "doccode", "shift_link")
    told = {name: status["info"][name] for name in keep}
    of_x = ("docno_from", "docno_to", "safe", "safe_start_shift", "receipt", "summary", "taxes", "pays", "money")
    told["x"] = {name: x["info"][name] for name in of_x} if x["res"] == 0 else x["res"]
    told["ledger"] = [(entry.kind, entry.number, entry.sum, entry.ref) for entry in shop.ledger()]
    return told


def result(answer: dict[str, Any]) -> tuple[int, int, int]:
    """The outcome of a task: ``res``, ``res_action``, ``task_status``."""
    return answer["res"], answer["res_action"], answer["task_status"]


class _Collisions(_Case):
    """What holds for every kind of document."""

    kind: str
    task: int
    members: ClassVar[dict[str, Any]] = {}
    again: int
    """What the register answers to one more document of the kind."""

    def setUp(self) -> None:
        """Nobody waits: the next task finds out what became of a lost answer."""
        hurry(self)

    def prepared(self) -> Shop:
        """A shop in which the document is due, and whose register cannot go offline."""
        shop = Shop(self)
        shop.settings(offline_allowed=False)
        shop.open_shift()
        self.assertEqual(shop.fiscal(3, cash={"type": 0, "sum": 500})["res"], 0)
        self.assertEqual(shop.sell("12.30")["res"], 0)
        return shop

    def asked(self, shop: Shop, tag: str = TAG) -> Deferred[bytes]:
        """The answer that is due for the document."""
        return shop.asked({"device": "test", "tag": tag, "type": 1, "fiscal": {"task": self.task, **self.members}})

    def ask(self, shop: Shop, tag: str = TAG) -> dict[str, Any]:
        """The answer to the document, which must be there at once."""
        answer: dict[str, Any] = json.loads(self.successResultOf(self.asked(shop, tag)))
        return answer

    def calm(self, *tags: str) -> dict[str, Any]:
        """The state of the twin in which the document was handed in under each of ``tags`` and nothing went wrong."""
        twin = self.prepared()
        for tag in tags:
            self.ask(twin, tag)
        return standing(twin)

    def struck(self, fault: Fault) -> Shop:
        """A shop in which the document met a fault, whose answer is checked to the moment."""
        shop = self.prepared()
        shop.scenario(fault.rule(self.kind))
        due = self.asked(shop)
        if fault.seconds:
            self.assertNoResult(due)
            shop.clock.advance(fault.seconds - MOMENT)
            self.assertNoResult(due)
            shop.clock.advance(MOMENT)
        answer = json.loads(self.successResultOf(due))
        self.assertEqual(result(answer), (fault.res, fault.res_action, 3), fault)
        self.assertEqual((answer["tag"], answer["info"]), (TAG, {}), fault)
        self.assertTrue(answer["errortxt"], fault)
        return shop

    def each_after(self, *faults: Fault) -> Iterator[tuple[Fault, Shop]]:
        """A shop after each of ``faults``, as it is and, after those that need no waiting, after a crash."""
        for fault in faults:
            yield fault, self.struck(fault)
            if fault.seconds:
                continue
            crashed = self.struck(fault)
            crashed.crash()
            yield fault, crashed

    def each_crash_during(self, *faults: Fault) -> Iterator[tuple[Fault, Shop]]:
        """A shop that died while its caller waited for the answer that each of ``faults`` makes late."""
        for fault in faults:
            shop = self.prepared()
            shop.scenario(fault.rule(self.kind))
            due = self.asked(shop)
            shop.clock.advance(1)
            self.assertNoResult(due)
            shop.crash()
            yield fault, shop

    # The tax service says no, or was not reached

    @promises("3.2.1.1", "3.2.1.2", "3.2.3.1", "3.2.3.4", "2.3.res_action", "3.3.only-success")
    def test_refused(self) -> None:
        """What was refused or never sent did not happen: nothing changed, and the tag finds nothing."""
        before = self.calm()
        for fault, shop in self.each_after(*REFUSED, *UNREACHABLE):
            self.assertEqual(len(shop.ledger(status="refused")), int(fault.then == "refuse"), fault)
            self.assertEqual(result(shop.look_up(TAG)), (1058, 1, 3), fault)
            self.assertEqual(standing(shop), before, fault)

    @promises("3.2.1.3")
    def test_refused_and_repeated(self) -> None:
        """What was refused or never sent can be sent again, under the same tag and under another one."""
        for tag in (TAG, OTHER_TAG):
            after = self.calm(tag)
            for fault, shop in self.each_after(*REFUSED, *UNREACHABLE):
                self.assertEqual(result(self.ask(shop, tag)), (0, 0, 1), fault)
                self.assertEqual(standing(shop), after, fault)

    # The outcome is unknown, and the document did not arrive

    @promises("3.2.2.1", "3.2.2.2", "3.2.2.3")
    def test_lost_before(self) -> None:
        """A document that was lost on its way is void: the next task shows it, whatever it is."""
        before = self.calm()
        for fault, shop in self.each_after(*LOST_BEFORE):
            self.assertEqual(standing(shop), before, fault)
            self.assertEqual(result(shop.look_up(TAG)), (1058, 1, 3), fault)
        for fault, shop in self.each_after(*LOST_BEFORE):
            self.assertEqual(result(shop.look_up(TAG)), (1058, 1, 3), fault)

    @promises("3.2.2.4")
    def test_lost_before_and_repeated(self) -> None:
        """A document that was lost on its way and is sent again, under either tag, happens once, with its number."""
        for tag in (TAG, OTHER_TAG):
            after = self.calm(tag)
            for fault, shop in self.each_after(*LOST_BEFORE):
                self.assertEqual(result(self.ask(shop, tag)), (0, 0, 1), fault)
                self.assertEqual(standing(shop), after, fault)
                self.assertEqual(result(shop.look_up(tag)), (0, 0, 2), fault)

    def test_lost_before_again_and_again(self) -> None:
        """A document that is lost on its way several times happens once."""
        after = self.calm(TAG)
        shop = self.prepared()
        shop.scenario({"on": self.kind, "then": "lost_before", "times": 3})
        for _ in range(3):
            self.assertEqual(result(self.ask(shop)), (NO_ANSWER, 2, 3))
        self.assertEqual(result(self.ask(shop)), (0, 0, 1))
        self.assertEqual(standing(shop), after)

    # The outcome is unknown, and the document did arrive

    @promises("3.2.2.1", "3.2.2.2", "3.2.2.3")
    def test_lost_after(self) -> None:
        """A document whose answer was lost counts: the next task shows it, whatever it is."""
        after = self.calm(TAG)
        for fault, shop in self.each_after(*LOST_AFTER):
            self.assertEqual(standing(shop), after, fault)
            self.assertEqual(result(shop.look_up(TAG)), (0, 0, 2), fault)
        for fault, shop in self.each_after(*LOST_AFTER):
            found = shop.look_up(TAG)
            self.assertEqual((result(found), found["task"], found["tag"]), ((0, 0, 2), self.task, TAG), fault)
            self.assertEqual(found["info"]["doccode"], shop.ledger(kind=self.kind)[-1].number, fault)
            self.assertEqual(standing(shop), after, fault)

    @promises("3.2.2.4", "3.3.2.1", "3.3.2.2")
    def test_lost_after_and_repeated(self) -> None:
        """A document whose answer was lost and that is sent again under its tag gets the answer and happens once."""
        after = self.calm(TAG)
        twin = self.prepared()
        wanted = self.ask(twin)
        for fault, shop in self.each_after(*LOST_AFTER):
            again = self.ask(shop)
            self.assertEqual(again, {**wanted, "task_status": 2}, fault)
            self.assertEqual(standing(shop), after, fault)
            self.assertEqual(self.ask(shop), again, fault)

    def test_lost_after_and_another_tag(self) -> None:
        """A document under another tag is one more; the lost one counts before it and is found."""
        after = self.calm(TAG, OTHER_TAG)
        for fault, shop in self.each_after(*LOST_AFTER):
            self.assertEqual(self.ask(shop, OTHER_TAG)["res"], self.again, fault)
            self.assertEqual(standing(shop), after, fault)
            self.assertEqual(result(shop.look_up(TAG)), (0, 0, 2), fault)
            self.assertEqual(shop.look_up(OTHER_TAG)["res"], 1058 if self.again else 0, fault)

    # Somebody waits

    def granted(self) -> None:
        """Let callers grant the time that the specification names."""
        self.patch(asking, "GRANTED_S", 20.0)

    @promises("4.7.clients.1")
    def test_settled_while_the_caller_waits(self) -> None:
        """A document whose answer was lost is asked for, or sent again, and answered as if nothing had happened."""
        self.granted()
        twin = self.prepared()
        wanted = self.ask(twin)
        after = standing(twin)
        for fault in (*LOST_BEFORE, *LOST_AFTER):
            shop = self.prepared()
            shop.scenario(fault.rule(self.kind))
            due = self.asked(shop)
            shop.clock.advance(fault.seconds)
            shop.settle(due)
            self.assertEqual(json.loads(self.successResultOf(due)), wanted, fault)
            self.assertEqual(standing(shop), after, fault)
            self.assertEqual(self.ask(shop), {**wanted, "task_status": 2}, fault)

    def test_dies_while_it_asks(self) -> None:
        """A service that dies while it asks knows at its start what became of the document."""
        self.granted()
        outcomes = {"lost_before": self.calm(), "lost_after": self.calm(TAG)}
        for then, wanted in outcomes.items():
            shop = self.prepared()
            shop.scenario({"on": self.kind, "then": then}, {"on": "probe", "then": "unreachable", "times": 2})
            due = self.asked(shop)
            self.assertNoResult(due)
            shop.crash()
            self.assertEqual(standing(shop), wanted, then)

    # The service dies while it waits

    def test_crash_before_it_happened(self) -> None:
        """A service that died before its document arrived starts as if the document had never been."""
        before, after = self.calm(), self.calm(TAG)
        late = (*LOST_BEFORE[1:], UNREACHABLE[1], REFUSED[-1])
        for fault, shop in self.each_crash_during(*late):
            self.assertTrue(shop.core.ready)
            self.assertEqual(result(shop.look_up(TAG)), (1058, 1, 3), fault)
            self.assertEqual(standing(shop), before, fault)
        for fault, shop in self.each_crash_during(*late):
            self.assertEqual(result(self.ask(shop)), (0, 0, 1), fault)
            self.assertEqual(standing(shop), after, fault)

    def test_crash_after_it_happened(self) -> None:
        """A service that died before it heard of its document knows of it when it starts again, however often."""
        after = self.calm(TAG)
        late = (
            LOST_AFTER[1],
            LOST_AFTER[3],
            Fault("accept", 0, 0, delay_ms=3000),
            Fault("garbage", 0, 0, delay_ms=2000),
        )
        for fault, shop in self.each_crash_during(*late):
            self.assertTrue(shop.core.ready)
            self.assertEqual(result(shop.look_up(TAG)), (0, 0, 2), fault)
            self.assertEqual(standing(shop), after, fault)
        for fault, shop in self.each_crash_during(*late):
            shop.crash()
            self.assertEqual(result(self.ask(shop)), (0, 0, 2), fault)
            self.assertEqual(standing(shop), after, fault)

    def test_crash_after_the_answer(self) -> None:
        """A service that died after it answered knows what it answered."""
        shop = self.prepared()
        first = self.ask(shop)
        before = standing(shop)
        shop.crash()
        self.assertEqual(standing(shop), before)
        self.assertEqual(self.ask(shop), {**first, "task_status": 2})

    # The store fails

    def _each_store_failure(self) -> Iterator[tuple[str, Shop, bool]]:
        """A shop whose store failed at each question that a document asks of it, and whether the document happened.

        The answer is 1082. When it is told, everything works again.
        """
        cases = [*product(("accept", "lost_before", "lost_after"), (False, True), (False,))]
        for then, done, broken in (*cases, ("accept", False, True), ("accept", True, True)):
            for n in count(1):
                shop = self.prepared()
                before = len(shop.ledger())
                shop.scenario({"on": self.kind, "then": then})
                store = FailingStore(self, shop)
                store.fail_at(n, done, broken)
                answer = self.ask(shop)
                if store.waits:
                    self.assertGreaterEqual(n, 3)
                    break
                told = f"{then}, question {n}, {done=}, {broken=}"
                self.assertEqual((answer["res"], answer["task_status"], answer["info"]), (1082, 3, {}), told)
                self.assertIn(answer["res_action"], (1, 2), told)
                store.repair()
                shop.scenario()
                yield told, shop, len(shop.ledger()) > before

    def test_store_fails_and_repeated(self) -> None:
        """Whenever the store fails, the same request succeeds once the store works, and happens once."""
        after = self.calm(TAG)
        for told, shop, happened in self._each_store_failure():
            self.assertEqual(result(self.ask(shop)), (0, 0, 2 if happened else 1), told)
            self.assertEqual(standing(shop), after, told)

    def test_store_fails_and_crash(self) -> None:
        """Whenever the store fails and the service dies, the document is found afterwards just if it happened."""
        outcomes = (self.calm(), self.calm(TAG))
        for told, shop, happened in self._each_store_failure():
            shop.crash()
            self.assertEqual(shop.look_up(TAG)["res"], 0 if happened else 1058, told)
            self.assertEqual(standing(shop), outcomes[happened], told)

    def test_store_fails_and_another_tag(self) -> None:
        """Whenever the store fails, the service goes on with the next document once the store works."""
        outcomes = (self.calm(OTHER_TAG), self.calm(TAG, OTHER_TAG))
        for told, shop, happened in self._each_store_failure():
            self.assertEqual(self.ask(shop, OTHER_TAG)["res"], self.again if happened else 0, told)
            self.assertEqual(standing(shop), outcomes[happened], told)

    def test_store_stays_broken(self) -> None:
        """While the store does not work, every document and look-up is answered 1082 and nothing leaves."""
        shop = self.prepared()
        before = self.calm()
        shop.store.broken = True
        for _ in range(2):
            self.assertEqual(result(self.ask(shop)), (1082, 1, 3))
            self.assertEqual(self.ask(shop, OTHER_TAG)["res"], 1082)
            self.assertEqual(shop.look_up(TAG)["res"], 1082)
        self.assertEqual(shop.ledger()[len(before["ledger"]) :], [])
        shop.store.broken = False
        self.assertEqual(standing(shop), before)

    def test_store_breaks_while_waiting(self) -> None:
        """A store that breaks while the tax service takes its time: 1082 at once, and the document counts."""
        after = self.calm(TAG)
        shop = self.prepared()
        shop.scenario({"on": self.kind, "then": "accept", "delay_ms": 1000})
        due = self.asked(shop)
        shop.store.broken = True
        self.assertNoResult(due)
        shop.clock.advance(1)
        self.assertEqual(json.loads(self.successResultOf(due))["res"], 1082)
        shop.store.broken = False
        self.assertEqual(result(self.ask(shop)), (0, 0, 2))
        self.assertEqual(standing(shop), after)

    # Late, but not too late

    def test_late(self) -> None:
        """An answer that takes its time is waited for, up to the register's patience."""
        after = self.calm(TAG)
        for delay in (125, 7875, 8000):
            shop = self.prepared()
            shop.scenario({"on": self.kind, "then": "accept", "delay_ms": delay})
            due = self.asked(shop)
            shop.clock.advance(delay / 1000 - MOMENT)
            self.assertNoResult(due)
            shop.clock.advance(MOMENT)
            self.assertEqual(result(json.loads(self.successResultOf(due))), (0, 0, 1), delay)
            self.assertEqual(standing(shop), after, delay)


class OpenTests(_Collisions, SynchronousTestCase):
    """An opening."""

    kind, task, again = "open", 0, 1096

    def prepared(self) -> Shop:
        """A shop that closed its first shift with cash in the drawer."""
        shop = super().prepared()
        self.assertEqual(shop.fiscal(11)["res"], 0)
        return shop


class FirstOpenTests(_Collisions, SynchronousTestCase):
    """The first opening of a register's life."""

    kind, task, again = "open", 0, 1096

    def prepared(self) -> Shop:
        """A shop that has done nothing, and so has no offline numbers."""
        return Shop(self)


class SaleTests(_Collisions, SynchronousTestCase):
    """A sale, partly in rounded cash."""

    kind, task, again = "sale", 1, 0
    members: ClassVar[dict[str, Any]] = {
        "cashier": "Оля",
        "receipt": {
            "sum": 70.2,
            "autoround": True,
            "rows": [{"code": "2", "name": "Чай", "cnt": 2, "price": 35.1, "taxgrp": 3}],
            "pays": [{"type": 2, "sum": 50}, {"type": 0, "sum": 20.2}],
        },
    }


class CashOutTests(_Collisions, SynchronousTestCase):
    """Cash out, twice of which there is enough; cash in goes the same way."""

    kind, task, again = "cash_out", 4, 0
    members: ClassVar[dict[str, Any]] = {"cash": {"type": 0, "sum": 120.25}}


class ZTests(_Collisions, SynchronousTestCase):
    """A Z-report with the closing of the shift after it."""

    kind, task, again = "z", 11, 1006


class PatienceTests(SynchronousTestCase):
    """How long the register waits for an answer of the tax service."""

    def test_setting(self) -> None:
        """The patience is a setting of the register; then it asks, and the caller gets its receipt."""
        for seconds in (2, 8):
            shop = Shop(self)
            shop.open_shift()
            shop.settings(wait_s=seconds)
            shop.scenario({"on": "sale", "then": "accept", "delay_ms": 60_000})
            due = shop.asked({"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": sale()}})
            shop.clock.advance(seconds - MOMENT)
            self.assertNoResult(due)
            shop.clock.advance(MOMENT)
            self.assertEqual(result(json.loads(self.successResultOf(due))), (0, 0, 1))


class ClosingTests(SynchronousTestCase):
    """The closing of the shift, which follows its Z unseen; what is not known at once the next task finds out."""

    def setUp(self) -> None:
        """Nobody waits."""
        hurry(self)

    def asked(self, *rules: dict[str, Any]) -> Shop:
        """A shop whose Z arrived, and whose closing met ``rules``."""
        shop = Shop(self)
        shop.open_shift()
        shop.sell(10)
        shop.scenario({"on": "z", "then": "accept"}, *rules)
        return shop

    def struck(self, then: str, **members: Any) -> Shop:
        """A shop whose closing met a fault: the outcome of the Z is open."""
        shop = self.asked({"on": "any", "then": then, **members})
        due = shop.asked({"device": "test", "tag": "z", "type": 1, "fiscal": {"task": 11}})
        if then == "silent":
            shop.clock.advance(PATIENCE - MOMENT)
            self.assertNoResult(due)
            shop.clock.advance(MOMENT)
        answer = json.loads(self.successResultOf(due))
        self.assertEqual(result(answer), (NO_ANSWER, 2, 3), then)
        self.assertEqual([entry.kind for entry in shop.ledger()], ["open", "sale", "z"])
        return shop

    def each(self) -> Iterator[tuple[str, Shop]]:
        """A shop after each fault, as it is and after a crash."""
        for then in ("lost_before", "lost_after", "silent", "garbage", "refuse", "unreachable"):
            yield then, self.struck(then)
            crashed = self.struck(then)
            crashed.crash()
            yield then, crashed

    def test_repeated(self) -> None:
        """The Z that is sent again gets its answer: it happened once, and the shift is closed."""
        for then, shop in self.each():
            again = shop.fiscal(11, "z")
            self.assertEqual((result(again), again["info"]["docno"]), ((0, 0, 2), "3"), then)
            self.assertEqual([entry.kind for entry in shop.ledger()], ["open", "sale", "z"], then)
            self.assertEqual(shop.fiscal(18)["info"]["shift_status"], 0, then)

    def test_asked_about(self) -> None:
        """The Z has its number, so the tax service is asked about the closing only."""
        shop, asked = self.struck("lost_after"), list[int]()
        channel = shop.built()._channel
        probe = channel.probe

        async def counted(number: int, sent: bytes) -> Any:
            asked.append(number)
            return await probe(number, sent)

        self.patch(channel, "probe", counted)
        self.assertEqual(result(shop.fiscal(11, "z")), (0, 0, 2))
        self.assertEqual(asked, [4])

    def test_found(self) -> None:
        """The Z is found by its tag, with the totals of the shift."""
        for then, shop in self.each():
            found = shop.look_up("z")
            self.assertEqual((result(found), found["info"]["summary"]["base_p"]), ((0, 0, 2), 10.0), then)

    def test_next_day(self) -> None:
        """The next shift opens with the number after the closing's."""
        for then, shop in self.each():
            opened = shop.fiscal(0)
            self.assertEqual((result(opened), opened["info"]["docno"]), ((0, 0, 1), "5"), then)
            self.assertEqual((opened["info"]["shift_link"], opened["info"]["safe"]), (2, 10.0), then)

    def test_shift_is_closed(self) -> None:
        """A receipt after the Z is refused with 1092, another Z with 1006, an X with 1081."""
        for then, shop in self.each():
            self.assertEqual(shop.sell()["res"], 1092, then)
            self.assertEqual(shop.fiscal(11, "other")["res"], 1006, then)
            self.assertEqual(shop.fiscal(10)["res"], 1081, then)

    def test_next_morning(self) -> None:
        """A closing that comes a night later gets a new time: the tax service takes none that is so old."""
        for then, shop in self.each():
            shop.clock.advance(12 * 3600)
            self.assertEqual(result(shop.fiscal(11, "z")), (0, 0, 2), then)
            self.assertEqual(shop.fiscal(0)["info"]["docno"], "5", then)

    def test_refused_for_long(self) -> None:
        """While the closing is refused the collision stays open: 1075, until it is taken."""
        shop = self.struck("refuse", times=0)
        for _ in range(3):
            self.assertEqual(result(shop.sell()), (1075, 2, 3))
            self.assertEqual(result(shop.fiscal(11, "z")), (1075, 2, 3))
        shop.scenario()
        self.assertEqual(result(shop.fiscal(11, "z")), (0, 0, 2))
        self.assertEqual(shop.fiscal(0)["info"]["docno"], "5")

    def test_crash_in_between(self) -> None:
        """A service that died between Z and closing closes the shift when it starts again."""
        for then in ("accept", "lost_before", "refuse", "unreachable"):
            shop = self.asked({"on": "any", "then": then, "delay_ms": 3000})
            due = shop.asked({"device": "test", "tag": "z", "type": 1, "fiscal": {"task": 11}})
            shop.clock.advance(1)
            self.assertNoResult(due)
            shop.crash()
            self.assertEqual(result(shop.look_up("z")), (0, 0, 2), then)
            self.assertEqual(shop.fiscal(0)["info"]["docno"], "5", then)


class OpenCollisionTests(SynchronousTestCase):
    """A collision that cannot be repaired yet."""

    def setUp(self) -> None:
        """Nobody waits."""
        hurry(self)
        self.shop = self.collided()

    def collided(self) -> Shop:
        """A shop whose second receipt was taken, the answer lost, and no question after it is answered."""
        shop = Shop(self)
        shop.open_shift()
        shop.sell(10)
        self.before = {task: shop.fiscal(task)["info"] for task in (18, 20)}
        shop.scenario({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "lost_before", "times": 0})
        self.assertEqual(result(shop.sell(20, TAG)), (NO_ANSWER, 2, 3))
        return shop

    def crash(self, *rules: dict[str, Any]) -> None:
        """Start the service again with a tax service that follows ``rules`` from its first moment."""

        def followed() -> Scenario:
            scenario = Scenario()
            scenario.replace({"rules": list(rules)})
            return scenario

        self.patch(tax_service, "Scenario", followed)
        self.shop.crash()

    @promises("3.2.2.1", "3.2.2.2")
    def test_everything_waits(self) -> None:
        """Until the last document is known every task, repeat and look-up is answered 1075, ``res_action`` 2."""
        shop = self.shop
        answers = [
            *(shop.sell(20, TAG), shop.sell(30, OTHER_TAG), shop.look_up(TAG), shop.look_up("nowhere")),
            *(shop.fiscal(10), shop.fiscal(11), shop.fiscal(0), shop.fiscal(3, cash={"sum": 1})),
            *(shop.sell(30, sum=1), shop.fiscal(1, TAG), shop.ask({"device": "test", "tag": TAG, "type": 1})),
        ]
        for answer in answers:
            self.assertEqual((result(answer), answer["info"]), ((1075, 2, 3), {}))
            self.assertTrue(answer["aq_errortxt"])
        self.assertEqual(len(shop.ledger()), 3)

    def test_status_and_number(self) -> None:
        """Status and number are answered meanwhile, as they were before, with the warning 1075 in two languages."""
        text = {
            "uk": "Колізію не усунуто: останній чек міг бути зареєстрований, повторіть його запит із тим самим tag",
            "en": "The collision is not repaired: the last receipt may exist, repeat its request with the same tag",
        }
        for task in (18, 20):
            for language, wtxt in text.items():
                answer = self.shop.ask({"device": "test", "type": 1, "fiscal": {"task": task}}, language)
                self.assertEqual(result(answer), (0, 0, 1))
                self.assertEqual(answer["warnings"], [{"code": 1075, "wtxt": wtxt}])
                self.assertEqual(answer["info"], self.before[task])

    def test_after_a_crash(self) -> None:
        """A restart does not make the collision forgotten, and the service is ready all the same."""
        self.crash({"on": "probe", "then": "garbage", "times": 0})
        self.assertTrue(self.shop.core.ready)
        self.assertEqual(result(self.shop.sell(30, OTHER_TAG)), (1075, 2, 3))
        self.assertEqual(self.shop.fiscal(18)["info"]["safe"], 10.0)
        self.shop.scenario()
        self.assertEqual(self.shop.sell(30, OTHER_TAG)["info"]["safe"], 60.0)

    @promises("3.2.2.3", "3.2.2.4")
    def test_repaired(self) -> None:
        """As soon as the tax service answers, the lost receipt counts and everything works."""
        self.shop.sell(20, TAG)
        self.shop.scenario()
        status = self.shop.fiscal(18)
        self.assertEqual([warning["code"] for warning in status["warnings"]], [3004])
        self.assertEqual((status["info"]["safe"], status["info"]["docno"]), (30.0, "3"))
        self.assertEqual(result(self.shop.sell(20, TAG)), (0, 0, 2))
        self.assertEqual(self.shop.fiscal(10)["info"]["summary"]["base_p"], 30.0)
        self.assertEqual(self.shop.sell(30)["info"]["docno"], "4")

    def test_silent_probe(self) -> None:
        """A question after the lost receipt is given up after the register's patience, and not before."""
        self.shop.scenario({"on": "probe", "then": "silent"})
        due = self.shop.asked({"device": "test", "tag": TAG, "type": 0})
        self.shop.clock.advance(PATIENCE - MOMENT)
        self.assertNoResult(due)
        self.assertEqual(self.shop.fiscal(18)["res"], 1105)
        self.shop.clock.advance(MOMENT)
        self.assertEqual(result(json.loads(self.successResultOf(due))), (1075, 2, 3))
        self.assertEqual(result(self.shop.look_up(TAG)), (0, 0, 2))

    def test_late_probe(self) -> None:
        """An answer to that question which is late is waited for, up to the register's patience."""
        for delay, codes in ((8000, [3004]), (8125, [1075])):
            shop = self.collided()
            shop.scenario({"on": "probe", "then": "accept", "delay_ms": delay})
            due = shop.asked({"device": "test", "type": 1, "fiscal": {"task": 18}})
            shop.clock.advance(PATIENCE - MOMENT)
            self.assertNoResult(due)
            shop.clock.advance(MOMENT)
            answer = json.loads(self.successResultOf(due))
            self.assertEqual([warning["code"] for warning in answer["warnings"]], codes, delay)

    def test_silent_at_start(self) -> None:
        """A tax service that is silent at the start keeps its register waiting; the service is ready after 3 s."""
        self.crash({"on": "probe", "then": "silent"})
        self.assertFalse(self.shop.core.ready)
        self.assertEqual(result(self.shop.look_up(TAG)), (1105, 1, 3))
        self.shop.clock.advance(3 - MOMENT)
        self.assertFalse(self.shop.core.ready)
        self.shop.clock.advance(MOMENT)
        self.assertTrue(self.shop.core.ready)
        self.shop.clock.advance(PATIENCE - 3 - MOMENT)
        self.assertEqual(result(self.shop.look_up(TAG)), (1105, 1, 3))
        self.shop.clock.advance(MOMENT)
        self.assertEqual(result(self.shop.look_up(TAG)), (0, 0, 2))

    @promises("2.3.res_action")
    def test_other_content(self) -> None:
        """The tag of the open collision with other content or on another task is refused: 1080."""
        for _ in range(2):
            self.assertEqual(result(self.shop.sell(21, TAG)), (1080, 3, 3))
            self.assertEqual(result(self.shop.fiscal(11, TAG)), (1080, 3, 3))
            self.assertEqual(result(self.shop.fiscal(3, TAG, cash={"sum": 20})), (1080, 3, 3))
        self.assertEqual(len(self.shop.ledger()), 3)

    def test_says_else(self) -> None:
        """Other content is another fingerprint, unless a fiscal request of the same task leaves the content out."""
        rows = self.shop.store.unresolved(self.shop.core.devices.by_name("test").row.n)
        [known] = self.successResultOf(Deferred.fromCoroutine(rows))
        for task, members, other in (
            (1, {"fiscal": {"task": 1, "receipt": sale(20)}}, True),
            (1, {"fiscal": {"task": 1}}, False),
            (1, {"fiscal": {"task": 2}}, True),
            (3, {"fiscal": {"task": 3, "cash": {"type": 0, "sum": 20}}}, True),
            (3, {"fiscal": {"task": 3}}, False),
            (1, {}, True),
        ):
            body = {"device": "test", "tag": TAG, "type": 1 if members else 0, **members}
            request, one = read_task(read_json(json.dumps(body).encode())), msgspec.structs.replace(known, task=task)
            told = [says_else(one, request, fingerprint) for fingerprint in (known.fingerprint, b"other")]
            self.assertEqual(told, [False, other], members)

    def test_other_content_when_repaired(self) -> None:
        """1080 is the answer too when the collision is repaired on the way; afterwards the receipt is returned."""
        self.shop.scenario()
        self.assertEqual(result(self.shop.sell(21, TAG)), (1080, 3, 3))
        again = self.shop.sell(21, TAG)
        self.assertEqual((result(again), again["warnings"][0]["code"]), ((0, 0, 2), 1051))
        self.assertEqual(again["info"]["printinfo"]["sum_topay"], 20.0)
        self.assertEqual(len(self.shop.ledger()), 3)

    def test_other_content_of_a_void_receipt(self) -> None:
        """After 1080 the tag of a receipt that never arrived is free for the other content."""
        self.shop.scenario({"on": "sale", "then": "lost_before"})
        self.shop.sell(30, OTHER_TAG)
        self.assertEqual(result(self.shop.sell(31, OTHER_TAG)), (1080, 3, 3))
        self.assertEqual(result(self.shop.sell(31, OTHER_TAG)), (0, 0, 1))
        self.assertEqual([entry.sum for entry in self.shop.ledger(kind="sale")], [1000, 2000, 3100])

    def test_two_registers(self) -> None:
        """A collision of one register is nothing to another one, whose tags are its own."""
        self.shop.add("bar")
        self.shop.open_shift("bar")
        self.assertEqual(result(self.shop.fiscal(1, TAG, "bar", receipt=sale(99))), (0, 0, 1))

    def test_store_fails_meanwhile(self) -> None:
        """A store that fails while a collision is open is reported as such, and makes nothing worse."""
        self.shop.store.broken = True
        for answer in (self.shop.sell(20, TAG), self.shop.look_up(TAG), self.shop.fiscal(10)):
            self.assertEqual(result(answer), (1082, 1, 3))
        self.shop.store.broken = False
        self.shop.scenario()
        self.assertEqual(result(self.shop.sell(20, TAG)), (0, 0, 2))
        self.assertEqual(len(self.shop.ledger()), 3)
