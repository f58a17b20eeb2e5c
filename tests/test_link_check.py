"""Before each document of an offline session the tax service is asked; if it answers, the register comes home first.

The registers here are set as new ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.changes import Area, record_of
from dmtwisted.devices.devices import register_settings
from dmtwisted.devices.driver import BadSettings
from dmtwisted.registers import totals
from dmtwisted.registers.offline_sessions import HOME_S, PACKAGE
from dmtwisted.registers.settings import FRESH
from dmtwisted.store.values import CHANGE, OperationQuery
from protocols.fiscal.bodies import MOST_BYTES, restore
from tests.batch_desk import Blows
from tests.prro_shop import FIRST, PrroShop
from tests.shop import sale
from tests.test_lost_online import BLOWS
from tests.test_offline_switch import GONE, HOUR, went

SLOW = ({"on": "any", "then": "accept", "delay_ms": 5000, "times": 0}, {"on": "probe", "then": "silent", "times": 0})
"""Nothing is answered in time."""

QUESTION = b'"ServerState"'


class LinkCase(SynchronousTestCase):
    """A new register `one` with an open shift, and every request that reaches its tax service."""

    settings: dict[str, Any] = {}  # noqa: RUF012

    def setUp(self) -> None:
        """Open."""
        self.shop = PrroShop(self, "one", **{**FRESH, **self.settings})
        # What it asks for its pages is counted in tests.test_needs.
        self.shop.core.observing.stop()
        self.asked = 0
        self.shop.far_end.recorder = self._recorded
        self.assertEqual(self.do(0)["res"], 0)

    def _recorded(self, at: Any, rules: Any, call: Any, played: Any) -> None:
        self.asked += QUESTION in restore(call.body, call.headers.get("content-encoding", ""), MOST_BYTES)

    def do(self, task: int, tag: str = "", **members: Any) -> dict[str, Any]:
        """The answer to a task, which comes at once."""
        return self.shop.fiscal(task, tag, "one", **members)

    def sell(self, amount: float = 50, tag: str = "") -> dict[str, Any]:
        """The answer to a sale."""
        return self.do(1, tag, receipt=sale(amount))

    def selling(self, amount: float = 50, tag: str = "") -> Deferred[bytes]:
        """The answer to come to a sale."""
        fiscal = {"task": 1, "receipt": sale(amount)}
        return self.shop.asked({"device": "one", "tag": tag, "type": 1, "fiscal": fiscal})

    def answer(self, due: Deferred[bytes]) -> dict[str, Any]:
        """The answer that has come."""
        answer: dict[str, Any] = json.loads(self.successResultOf(due))
        return answer

    def offline(self, *amounts: float) -> None:
        """Sell while the tax service cannot be reached, and let it be there again."""
        self.shop.rules(*GONE)
        for amount in amounts or (10,):
            self.assertEqual(self.sell(amount)["info"]["isoffline"], True)
        self.shop.rules()

    def go(self, way: str) -> int:
        """Ask the register to go offline or online: 0, or the code of the refusal."""
        return went(Deferred.fromCoroutine(getattr(self.shop.built(), f"go_{way}")("uk")))

    def state(self) -> dict[str, Any]:
        """The register's state, for programs."""
        state: dict[str, Any] = self.shop.done(self.shop.built().state())
        return state

    def returns(self) -> list[tuple[str, str, str]]:
        """The returns in the journal of changes: who, what, and which register."""
        query = OperationQuery(kinds=[CHANGE], key=Area.MODE)
        rows = self.shop.done(self.shop.store.find_operations(query)).operations
        return [(one.by, one.action, one.subject) for one in map(record_of, rows)]

    def ledger(self) -> list[tuple[str, int]]:
        """The documents that move money, as the tax service has them."""
        return [(entry.kind, entry.sum) for entry in self.shop.far_end.entries() if entry.sum]


class AskedTests(LinkCase):
    """The question, and what it costs."""

    def test_back_at_once(self) -> None:
        """The tax service is back: the next sale is online, and what was made offline is there before it."""
        self.offline(10, 20)
        answer = self.sell(30)
        self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, False))
        self.assertNotIn("offline_left", answer["info"])
        kinds = ["open", "offline_begin", "sale", "sale", "offline_end", "sale"]
        self.assertEqual(self.shop.kinds(), kinds)
        self.assertEqual(self.state()["online_status"], 0)

    def test_every_document(self) -> None:
        """The server is asked before each kind of document, and each comes home if it is the first after the break.

        Only a storno does not: it can take back the last receipt in the same session, not after its closing.
        """
        tasks: tuple[tuple[int, dict[str, Any]], ...] = (
            (1, {"receipt": sale(10)}),
            (2, {"receipt": {**sale(10), "purchase_receipt_fisn": "3000000002"}}),
            (3, {"cash": {"type": 0, "sum": 50}}),
            (4, {"cash": {"type": 0, "sum": 10}}),
            (17, {}),
            (11, {}),
            (0, {}),
        )
        self.offline(5)
        self.shop.rules(*GONE)
        for task, members in tasks:
            before = self.asked
            answer = self.do(task, **members)
            self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, True), answer)
            self.assertEqual(self.asked - before, task != 17, task)
        for task, members in tasks[:-1]:
            self.setUp()
            self.sell(40)
            self.offline(30)
            answer = self.do(task, **members)
            self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, task == 17), answer)

    def test_limit(self) -> None:
        """A server that does not answer costs each receipt the limit and no more; the next receipt asks it again."""
        for settings, limit in (({}, 1.0), ({"offline_probe_limit_s": 0.25}, 0.25)):
            self.setUp()
            self.shop.settings("one", **settings)
            self.offline()
            self.shop.rules(*SLOW)
            for _ in range(3):
                before = self.asked
                due = self.selling()
                self.shop.clock.advance(limit - 0.125)
                self.assertNoResult(due)
                self.shop.clock.advance(0.125)
                self.assertEqual(self.answer(due)["info"]["isoffline"], True)
                self.assertEqual(self.asked - before, 1)

    def test_first_document(self) -> None:
        """A document that could not be sent takes the register offline only if the server does not answer either."""
        self.shop.rules({"on": "sale", "then": "unreachable"})
        self.assertEqual(self.sell(10)["info"]["isoffline"], False)
        self.shop.rules({"on": "sale", "then": "unreachable", "times": 0})
        self.assertEqual(self.sell(20)["info"]["isoffline"], True)
        self.shop.rules()
        # A server that just cost a time-out is left alone, but not when a receipt would be offline otherwise.
        self.sell(30)
        self.shop.rules(*SLOW)
        due = Deferred.fromCoroutine(self.shop.built().answers())
        self.shop.clock.advance(25)
        self.assertFalse(self.successResultOf(due))
        self.shop.rules()
        self.assertEqual(self.sell(40)["info"]["isoffline"], False)

    def test_not_asked(self) -> None:
        """No question for what makes no document, for a repeat, and where the setting is off."""
        self.shop.rules(*GONE)
        first = self.sell(10, "a")
        self.shop.rules()
        before = self.asked
        self.assertEqual(self.sell(10, "a"), {**first, "task_status": 2})
        for task in (18, 20, 21, 10, 22):
            self.assertEqual(self.do(task)["res"], 0)
        self.shop.settings("one", offline_probe_before_receipt=False)
        self.assertEqual(self.sell(20)["info"]["isoffline"], True)
        self.assertEqual(self.asked, before)

    def test_new_and_earlier(self) -> None:
        """A new register asks; one of an earlier version, whose stored settings do not say, does not."""
        driver = self.shop.core.devices.drivers["register", "prro"]
        earlier, shown = driver.read({}), driver.schema("2026-11-23")["$defs"]["PrroSettings"]["properties"]
        added = self.shop.done(self.shop.core.devices.add("new", "register", "prro", {}, confirm_real=True))
        for name, value in FRESH.items():
            self.assertEqual((getattr(added.settings, name), shown[name]["default"]), (value, value))
            self.assertNotEqual(getattr(earlier, name), value)
        self.assertEqual(register_settings(added).offline_limit_h, 35)
        given = {"offline_probe_before_receipt": False}
        other = self.shop.done(self.shop.core.devices.add("other", "register", "prro", given, confirm_real=True))
        self.assertFalse(other.settings.offline_probe_before_receipt)


class TimeTests(LinkCase):
    """Coming home within the time that the caller of a task grants."""

    def test_too_many(self) -> None:
        """More documents than the time allows: the sale goes on offline, and the rest follows at once."""
        amounts = [1.0] * (2 * PACKAGE)
        self.offline(*amounts)
        self.shop.rules({"on": "any", "then": "accept", "delay_ms": 3000, "times": 0})
        due = self.selling(77)
        # One package, which takes two requests, and no second one that would not end in time.
        self.shop.clock.pump([0.125] * (6 * 8 - 1))
        self.assertNoResult(due)
        self.shop.clock.advance(0.125)
        self.assertEqual(self.answer(due)["info"]["isoffline"], True)
        self.shop.clock.pump([0.125] * 8 * 20)
        self.assertEqual(self.state()["online_status"], 0)
        self.assertEqual(self.ledger(), [*[("sale", 100)] * len(amounts), ("sale", 7700)])

    def test_many(self) -> None:
        """A server that takes packages at once gets all of them before the sale, which is online."""
        self.offline(*[1.0] * (PACKAGE + 10))
        self.assertEqual(self.sell(77)["info"]["isoffline"], False)
        self.assertEqual(self.ledger(), [*[("sale", 100)] * (PACKAGE + 10), ("sale", 7700)])

    def test_dies_on_the_way(self) -> None:
        """The server answers the question and then takes a package without an answer: the sale is made offline.

        The next sales are not kept waiting for that again, until a probe interval is over.
        """
        for then in ("silent", "lost_before", "lost_after"):
            self.setUp()
            self.offline(10)
            self.shop.rules(
                {"on": "any", "then": then, "delay_ms": 5000}, {"on": "any", "then": "silent", "times": 0}
            )
            due = self.selling(20)
            self.shop.clock.pump([0.25] * int(HOME_S * 4))
            self.assertEqual(self.answer(due)["info"]["isoffline"], True, then)
            before = self.asked
            self.assertEqual(self.answer(self.selling(20))["info"]["isoffline"], True, then)
            self.assertEqual(self.asked - before, 1)
            self.shop.rules()
            self.shop.clock.pump([1] * 90)
            self.assertEqual(self.sell(30)["info"]["isoffline"], False)
            self.assertEqual(self.ledger(), [("sale", 1000), *[("sale", 2000)] * 2, ("sale", 3000)])

    def test_refused(self) -> None:
        """The server refuses the package: the sale is made offline, and the register's state says why."""
        self.offline(10)
        self.shop.rules({"on": "any", "then": "refuse", "code": "9", "times": 0})
        self.assertEqual(self.sell(20)["info"]["isoffline"], True)
        self.assertIn("Tax service", self.state()["offline_error"])
        self.shop.rules()
        self.assertEqual(self.sell(30)["info"]["isoffline"], False)
        self.assertEqual(self.state()["offline_error"], "")

    def test_end_is_lost(self) -> None:
        """The answer to the closing is lost: it is asked for while the caller waits, and then the sale is made."""
        for then in ("lost_before", "lost_after"):
            self.setUp()
            self.offline(10)
            self.shop.rules({"on": "any", "then": "accept"}, {"on": "any", "then": then})
            self.assertEqual(self.sell(20, "a")["res"], 0, then)
            self.assertEqual(self.ledger(), [("sale", 1000), ("sale", 2000)], then)

    def test_end_stays_unknown(self) -> None:
        """Nobody can be asked what became of the closing: 1075 in time, and the repeat makes the sale once."""
        self.offline(10)
        # The questions before the closing are answered: after the link, and twice after the session.
        self.shop.rules(
            {"on": "any", "then": "accept"},
            {"on": "any", "then": "lost_after"},
            {"on": "probe", "then": "accept", "times": 3},
            {"on": "probe", "then": "unreachable", "times": 0},
        )
        due = self.selling(20, "a")
        self.shop.clock.pump([0.5] * 40)
        answer = self.answer(due)
        self.assertEqual((answer["res"], answer["res_action"]), (1075, 2))
        self.shop.rules()
        self.assertEqual(self.sell(20, "a")["res"], 0)
        self.assertEqual(self.ledger(), [("sale", 1000), ("sale", 2000)])

    def test_end_takes_all_the_time(self) -> None:
        """The closing is found when the caller's time is over: nothing is sold any more, and the repeat is online."""
        self.offline(10)
        self.shop.rules(
            {"on": "any", "then": "accept"},
            {"on": "any", "then": "lost_after"},
            {"on": "probe", "then": "accept", "times": 3},
            {"on": "probe", "then": "unreachable", "times": 17},
        )
        due = self.selling(20, "a")
        self.shop.clock.pump([0.5] * 40)
        answer = self.answer(due)
        self.assertEqual((answer["res"], self.state()["online_status"]), (1084, 0))
        self.assertEqual(self.sell(20, "a")["info"]["isoffline"], False)
        self.assertEqual(self.ledger(), [("sale", 1000), ("sale", 2000)])


class LostTests(LinkCase):
    """A session that began with a document whose answer was lost."""

    def test_not_while_it_waits(self) -> None:
        """More has to be asked before such a session ends: the next sale is still offline, and the end follows."""
        self.shop.settings("one", offline_after_lost_answer="revoke")
        self.shop.built()._channel._skew = 0.0
        self.shop.rules({"on": "sale", "then": "lost_after"}, *GONE)
        self.assertEqual(self.sell(50, "a")["info"]["isoffline"], True)
        self.shop.rules()
        self.assertEqual(self.sell(10)["info"]["isoffline"], True)
        self.shop.clock.pump([1] * 10)
        self.assertEqual(self.state()["online_status"], 0)
        self.assertEqual(self.ledger(), [("sale", 5000), ("sale", 5000), ("sale", 1000)])


class PowerCutTests(LinkCase):
    """The power goes, or the store fails, before and after every write of a sale that comes home first."""

    def each_blow(self) -> Iterator[str]:
        """The sale, with a blow at its first write, then at its second one, and so on."""
        for how in BLOWS:
            for n in count(1):
                self.setUp()
                self.offline(10, 20)
                blows = Blows(self, self.shop)
                blows.at(n, how)
                self.selling(30, "a")
                if not blows.struck:
                    self.assertGreaterEqual(n, 5)
                    break
                blows.never()
                if how.startswith("killed"):
                    self.shop.crash()
                yield f"{how} write {n}"

    def test_sale(self) -> None:
        """Wherever it stops, the repeat has one online receipt, and everything is there once, in order."""
        for told in self.each_blow():
            answer = self.sell(30, "a")
            self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, False), told)
            self.assertEqual(self.ledger(), [("sale", 1000), ("sale", 2000), ("sale", 3000)], told)
            self.assertEqual(self.shop.kinds().count("offline_end"), 1, told)
            n = self.shop.core.devices.by_name("one").row.n
            self.assertEqual(self.shop.done(self.shop.store.unresolved(n)), [], told)
            self.assertEqual(self.do(11)["res"], 0, told)


class ByHandTests(LinkCase):
    """Going offline by hand, and the return from there."""

    def test_while_it_answers(self) -> None:
        """While the tax service answers it is refused with 1052, and nothing is made."""
        register = self.shop.built()
        refused = self.failureResultOf(Deferred.fromCoroutine(register.go_offline("uk"))).value
        self.assertEqual(refused.res.code, 1052)
        self.assertIn("податкова відповідає", refused.errortxt())
        self.assertEqual(self.sell(10)["info"]["isoffline"], False)
        self.assertEqual(self.shop.kinds(), ["open", "sale"])

    def test_without_link(self) -> None:
        """Without an answer within the limit the register goes offline; the setting may allow it always."""
        self.shop.rules(*SLOW)
        due = Deferred.fromCoroutine(self.shop.built().go_offline("uk"))
        self.assertNoResult(due)
        self.shop.clock.advance(1)
        self.successResultOf(due)
        self.assertEqual(self.go("offline"), 1053)
        self.setUp()
        self.shop.settings("one", offline_by_hand="as_asked")
        self.assertEqual(self.go("offline"), 0)

    def test_without_numbers(self) -> None:
        """A register without a range of numbers does not go offline: 1056, whether or not there is a link."""
        fresh = PrroShop(self, "one", **FRESH)
        for rules in ((), GONE):
            fresh.rules(*rules)
            self.assertEqual(went(Deferred.fromCoroutine(fresh.built().go_offline("uk"))), 1056)

    def test_returns(self) -> None:
        """A session begun by hand ends by itself, also after a restart; journal and state say that it did."""
        for restart in (False, True):
            self.setUp()
            self.shop.rules(*GONE)
            self.assertEqual(self.go("offline"), 0)
            self.assertEqual(self.sell(10)["info"]["isoffline"], True)
            if restart:
                self.shop.crash()
            self.shop.clock.pump([1] * 70)
            self.assertEqual((self.state()["online_status"], self.returns()), (1, []))
            self.shop.rules()
            self.shop.clock.pump([1] * 70)
            self.assertEqual((self.state()["online_status"], self.state()["online_by_itself"]), (0, True))
            self.assertEqual(self.returns(), [("service", "went_online", "one")])
            self.assertEqual(self.ledger(), [("sale", 1000)])

    def test_who_returned(self) -> None:
        """A sale that comes home first is recorded as the service's own return; one by hand is not."""
        self.offline()
        self.assertEqual(self.go("online"), 0)
        self.assertEqual((self.returns(), self.state()["online_by_itself"]), ([], False))
        self.offline()
        self.sell()
        self.assertEqual(self.returns(), [("service", "went_online", "one")])


class LeftTests(LinkCase):
    """The time left, of the session and of the month."""

    def told(self, answer: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """The time left in an answer, and the text of its warning."""
        texts = [warning["wtxt"] for warning in answer["warnings"] if warning["code"] == 1062]
        self.assertEqual(len(texts), 1)
        return answer["info"]["offline_left"], texts[0]

    def test_every_answer(self) -> None:
        """Every answer that is given offline has both, and marks the smaller one."""
        self.shop.rules(*GONE)
        self.sell(100)
        self.shop.clock.advance(30 * HOUR)
        wanted = {"session_min": 300, "month_min": 138 * 60, "ends_first": "session", "ends_soon": False}
        text = "Каса офлайн, до обмеження лишилося: 5 год 0 хв сесії (закінчиться раніше), 138 год 0 хв місяця"
        tasks: tuple[tuple[int, dict[str, Any]], ...] = (
            (1, {"receipt": sale(10)}),
            (3, {"cash": {"type": 0, "sum": 5}}),
            (5, {"lines": [{"t": "x"}]}),
            (10, {}),
            (18, {}),
            (20, {}),
            (21, {}),
            (11, {}),
        )
        for task, members in tasks:
            self.assertEqual(self.told(self.do(task, **members)), (wanted, text), task)
        self.assertEqual(self.state()["offline_left"], wanted)
        self.shop.rules()
        self.go("online")
        self.assertEqual((self.state()["offline_left"], "offline_left" in self.do(18)["info"]), (None, False))

    def test_month_is_smaller(self) -> None:
        """The month's rest is marked when it is the smaller one; in the last two hours the warning calls to act."""
        self.shop.settings("one", warn_offline_h=24)
        self.shop.rules(*GONE)
        self.sell(10)
        books = self.shop.built()._books
        books.state.offline_month = totals.OfflineMonth("202609", 160 * HOUR * 1000)
        books.stored = totals.encode(books.state)
        self.shop.clock.advance(6 * HOUR - 60)
        self.assertEqual([warning["code"] for warning in self.do(18)["warnings"]], [])
        self.assertEqual(self.state()["offline_left"]["ends_first"], "month")
        self.shop.clock.advance(60)
        left, text = self.told(self.do(18))
        self.assertEqual(left, {"session_min": 29 * 60, "month_min": 120, "ends_first": "month", "ends_soon": True})
        self.assertTrue(
            text.endswith("2 год 0 хв місяця (закінчиться раніше). УВАГА: відновіть зв’язок або зробіть Z-звіт")
        )
        self.shop.clock.advance(3 * HOUR)
        self.assertEqual(self.state()["offline_left"]["month_min"], 0)

    def test_limit(self) -> None:
        """The hours of a session are a setting from 24 to 36; a sale is possible up to them, not after."""
        for hours in (24, 35, 36):
            self.setUp()
            self.shop.settings("one", offline_limit_h=hours)
            self.shop.rules(*GONE)
            self.sell(10)
            self.shop.clock.advance(hours * HOUR - 60)
            self.assertEqual(self.sell(10)["res"], 0, hours)
            self.shop.clock.advance(120)
            answer = self.sell(10)
            text = f"Час роботи офлайн вичерпано, дозволено лише Z-звіт: понад {hours} год"
            self.assertEqual((answer["res"], answer["errortxt"]), (1062, text))
            self.assertEqual(self.do(11)["res"], 0, hours)
        driver = self.shop.core.devices.drivers["register", "prro"]
        for outside in (23.9, 36.1):
            self.assertRaises(BadSettings, driver.read, {"offline_limit_h": outside})


class CountedTests(LinkCase):
    """The two ways to count offline time: from the opening until now, and to the last receipt or Z."""

    VECTORS = (
        # minutes from the opening to the last receipt, and to the next sale; what that is answered with
        (0, 34 * 60 + 59, 0),
        (0, 35 * 60 + 1, 1062),
        (60, 34 * 60 + 59, 0),
        (60, 35 * 60 + 1, 1062),
        (34 * 60 + 59, 35 * 60 + 1, 1062),
    )

    def test_session(self) -> None:
        """The longer way decides about a sale; the shorter one counts into the month, as at the tax service."""
        for last, now, res in self.VECTORS:
            self.setUp()
            self.shop.rules(*GONE)
            self.sell(1)
            self.shop.clock.advance(last * 60)
            self.assertEqual(self.sell(1)["res"], 0)
            self.shop.clock.advance((now - last) * 60)
            self.assertEqual(self.sell(1)["res"], res, (last, now))
            self.shop.rules()
            self.assertEqual(self.go("online"), 0)
            minutes = last if res else now
            self.assertEqual(self.month(), minutes * 60_000)
            record = self.shop.far_end.books.registers[FIRST].offline
            self.assertEqual(record.months, {"202609": minutes})

    def month(self) -> int:
        """Milliseconds of the month, in sessions that have ended."""
        spent: int = self.shop.built()._books.state.offline_month.spent
        return spent

    def test_month(self) -> None:
        """A session that would make the month longer than 168 hours ends at them; the next month begins in Kyiv."""
        for spent, res in ((166 * 60 + 1, 1042), (165 * 60 + 59, 0)):
            self.setUp()
            # From 21 September 09:00 to 30 September 22:00 in Kyiv.
            self.shop.clock.advance((9 * 24 + 13) * HOUR)
            self.assertEqual((self.do(11)["res"], self.do(0)["res"]), (0, 0))
            books = self.shop.built()._books
            books.state.offline_month = totals.OfflineMonth("202609", spent * 60_000)
            books.stored = totals.encode(books.state)
            self.shop.rules(*GONE)
            self.assertEqual(self.sell(1)["info"]["isoffline"], True)
            # Past midnight: the session counts where it began.
            self.shop.clock.advance(2 * HOUR)
            self.assertEqual(self.sell(1)["res"], res, spent)
            self.shop.rules()
            self.assertEqual(self.go("online"), 0)
        self.shop.rules(*GONE)
        self.assertEqual(self.sell(1)["info"]["offline_left"]["month_min"], 168 * 60)
