"""The tax service is away: the register goes offline by itself, sells on, and comes back by itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers import totals
from dmtwisted.registers.channels import tax_service
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import OperationQuery, State, StoreFailed
from tests.prro_shop import FIRST, PrroShop, keys
from tests.shop import FailingStore, Shop, sale
from tests.specification import promises

HOUR = 3600
AWAY = {"on": "any", "then": "unreachable", "times": 0}
GONE = ({"on": "any", "then": "unreachable", "times": 0}, {"on": "probe", "then": "unreachable", "times": 0})
"""Nothing gets through: neither documents nor questions."""


def went(due: Deferred[Any]) -> int:
    """0, or the code of the refusal that ``due`` came to."""
    came: list[Any] = []

    def code_of(reason: Failure) -> int:
        reason.trap(Refused)
        assert isinstance(reason.value, Refused)
        return reason.value.res.code

    due.addCallbacks(lambda _: 0, code_of).addBoth(came.append)
    assert came, "it is not done at once"
    return int(came[0])


class SwitchCase(SynchronousTestCase):
    """A training register with an open shift."""

    def setUp(self) -> None:
        """Open."""
        self.shop = Shop(self)
        self.shop.open_shift()

    def state(self) -> totals.RegisterState:
        """What the store has of the register."""
        stored = self.successResultOf(Deferred.fromCoroutine(self.shop.store.register_state(1)))
        assert stored is not None
        return totals.decode(stored)

    def set_state(self, **members: Any) -> None:
        """Give the register another past, as after a restart."""
        state = self.state()
        for name, value in members.items():
            setattr(state, name, value)
        books = self.shop.built()._books
        books.state, books.stored = state, totals.encode(state)

    def is_online(self) -> bool:
        """Whether the register is online."""
        return bool(self.shop.fiscal(18)["info"]["online_status"] == 0)

    def go(self, way: str) -> int:
        """Ask the register to go offline or online: 0, or the code of the refusal."""
        register = self.shop.built()
        return went(Deferred.fromCoroutine(getattr(register, f"go_{way}")("uk")))

    def numbers(self) -> list[str]:
        """The fiscal numbers that the tax service has, in its order."""
        return [entry.number for entry in self.shop.ledger()]


class SwitchTests(SwitchCase):
    """The way out."""

    @promises("3.2.0.1")
    def test_receipt_goes_through(self) -> None:
        """A sale that could not be sent is made offline at once: success, with the register's own number."""
        self.shop.scenario(AWAY)
        answer = self.shop.sell(20, "a")
        self.assertEqual((answer["res"], answer["res_action"], answer["task_status"]), (0, 0, 1))
        info = answer["info"]
        self.assertEqual((info["isoffline"], info["printinfo"]["isOffline"]), (True, True))
        self.assertRegex(info["doccode"], r"^\d+\.2\.\d{1,4}$")
        self.assertEqual(info["docno"], "3")
        self.assertEqual(self.shop.sell(20, "a"), {**answer, "task_status": 2})
        self.assertEqual(len(self.numbers()), 1)

    def test_every_kind(self) -> None:
        """So is every other document, a Z with its closing too, and an opening after it."""
        self.shop.scenario(AWAY)
        for task, members in (
            (3, {"cash": {"type": 0, "sum": 500}}),
            (1, {"receipt": sale(10)}),
            (2, {"receipt": sale(10)}),
            (4, {"cash": {"type": 0, "sum": 100}}),
            (17, {}),
            (11, {}),
            (0, {}),
        ):
            answer = self.shop.fiscal(task, **members)
            self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, True), task)
        self.shop.scenario()
        self.assertEqual(self.go("online"), 0)
        kinds = [entry.kind for entry in self.shop.ledger()]
        self.assertEqual(kinds, ["open", "cash_in", "sale", "return", "cash_out", "storno", "z", "open"])

    def test_z_begins_it(self) -> None:
        """A Z may be the first that does not get through."""
        self.shop.scenario(AWAY)
        self.assertEqual(self.shop.fiscal(11)["res"], 0)
        self.shop.scenario()
        self.assertEqual(self.go("online"), 0)
        self.assertEqual([entry.kind for entry in self.shop.ledger()], ["open", "z"])
        self.assertEqual(self.shop.fiscal(0)["info"]["docno"], "6")

    @promises("3.2.1.1", "3.2.1.3")
    def test_not_allowed(self) -> None:
        """Where the settings forbid it, where there are no numbers and where the key ends: 1050, `res_action` 1."""
        self.shop.settings(offline_allowed=False)
        self.shop.scenario(AWAY)
        self.assertEqual((self.refused()["res"], self.refused()["res_action"]), (1050, 1))
        self.shop.settings(offline_allowed=True, key_valid_to="2026-09-22")
        self.shop.scenario(AWAY)
        self.assertEqual((self.refused()["res"], self.refused()["res_action"]), (1050, 1))
        fresh = Shop(self)
        fresh.scenario(AWAY)
        answer = fresh.fiscal(0)
        self.assertEqual((answer["res"], answer["res_action"]), (1050, 1))
        self.assertEqual(fresh.fiscal(18)["info"]["online_status"], 0)

    def test_sent_once(self) -> None:
        """Where it may not go offline, a document that could not be sent is not tried again by itself."""
        self.shop.settings(offline_allowed=False)
        self.shop.scenario({"on": "sale", "then": "unreachable"})
        self.assertEqual(self.refused()["res"], 1050)
        self.assertEqual(self.shop.ledger(kind="sale"), [])

    def refused(self) -> dict[str, Any]:
        """The answer to a sale that is not made."""
        answer = self.shop.sell(5)
        self.assertTrue(self.is_online())
        return answer

    @promises("3.2.2.1")
    def test_unknown_is_settled_first(self) -> None:
        """A document that left is looked up; while there is no answer nothing is made a second time offline: 1075."""
        self.shop.scenario({"on": "sale", "then": "lost_after"}, *GONE)
        for tag in ("a", "a", "b"):
            answer = self.shop.sell(20, tag)
            self.assertEqual((answer["res"], answer["res_action"]), (1075, 2))
        self.shop.scenario(AWAY)
        self.assertEqual(self.shop.sell(20, "a")["task_status"], 2)
        answer = self.shop.sell(30, "b")
        self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, True))
        self.shop.scenario()
        self.assertEqual(self.go("online"), 0)
        self.assertEqual([entry.sum for entry in self.shop.ledger(kind="sale")], [2000, 3000])

    @promises("4.7.register.2")
    def test_one_wait(self) -> None:
        """A connection that takes its time to fail costs that time once, not for each receipt."""
        self.shop.scenario({**AWAY, "delay_ms": 3000})
        body = {"device": "test", "type": 1, "fiscal": {"task": 1, "receipt": sale()}}
        due = self.shop.asked(body)
        self.assertNoResult(due)
        self.shop.clock.advance(3)
        self.assertEqual(json.loads(self.successResultOf(due))["res"], 0)
        self.assertEqual(self.shop.ask(body)["res"], 0)

    def test_told(self) -> None:
        """The register's state has the time since when it is offline, and that it went by itself."""
        register = self.shop.built()
        self.shop.scenario(AWAY)
        self.shop.sell()
        told = self.successResultOf(Deferred.fromCoroutine(register.state()))
        self.assertEqual((told["online_status"], told["offline_by_itself"]), (1, True))
        self.assertEqual(told["offline_since"], int(self.shop.clock.seconds() * 1000))


class PowerCutTests(SwitchCase):
    """The power goes, or the store fails, at each step of the way out and of the way home."""

    def each_failure(self, act: Any, before: Any = None) -> Iterator[tuple[str, Any]]:
        """``act`` with the store failing at its first question, then at its second one, ..., and what came of it."""
        for done in (False, True):
            for n in count(1):
                self.setUp()
                if before is not None:
                    before()
                store = FailingStore(self, self.shop)
                store.fail_at(n, done)
                came = act()
                waits = store.waits
                store.repair()
                if waits:
                    self.assertGreaterEqual(n, 3)
                    break
                yield f"question {n}, {done=}", came

    def test_way_out(self) -> None:
        """Wherever it stops, the repeated sale is made once, and the tax service takes all of it afterwards."""
        for crash in (False, True):
            for told, answer in self.each_failure(self.sell_away):
                self.assertEqual(answer["res"], Res.STORE_FAILED.code, told)
                if crash:
                    self.shop.crash()
                    self.shop.scenario(AWAY)
                again = self.shop.sell(20, "a")
                self.assertEqual((again["res"], again["info"]["isoffline"]), (0, True), told)
                self.shop.scenario()
                self.assertEqual(self.go("online"), 0, told)
                self.assertEqual([entry.sum for entry in self.shop.ledger(kind="sale")], [2000], told)
                self.assertEqual(self.numbers()[-1], again["info"]["doccode"], told)

    def sell_away(self) -> dict[str, Any]:
        """The answer to a sale that begins the session."""
        self.shop.scenario(AWAY)
        return self.shop.sell(20, "a")

    def test_way_home(self) -> None:
        """Wherever it stops, the register comes home in the end, and each document is there once."""
        for crash in (False, True):
            for told, came in self.each_failure(self.come_home, self.sell_offline):
                self.assertIsInstance(came, StoreFailed, told)
                if crash:
                    self.shop.crash()
                self.assertIn(self.go("online"), (0, 1054, 1085), told)
                self.assertEqual([entry.sum for entry in self.shop.ledger(kind="sale")], [2000], told)
                answer = self.shop.sell(5)
                self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, False), told)

    def sell_offline(self) -> None:
        """Make a session with one sale; the tax service is there again."""
        self.sell_away()
        self.shop.scenario()

    def come_home(self) -> Any:
        """Why the register does not come home."""
        going = Deferred.fromCoroutine(self.shop.built().go_online("uk"))
        came: list[Any] = []
        going.addErrback(lambda reason: reason.value).addBoth(came.append)
        return came[0]


class HomecomingTests(SwitchCase):
    """The way back online, which the register takes by itself too."""

    def away(self, receipts: int = 2) -> None:
        """Go offline by itself and sell."""
        self.shop.scenario(*GONE)
        for _ in range(receipts):
            self.assertEqual(self.shop.sell(10)["res"], 0)

    def test_comes_back(self) -> None:
        """Once a minute it is tried; when the tax service answers everything is handed in, in order, once."""
        self.away(3)
        self.shop.clock.pump([1] * 130)
        self.assertFalse(self.is_online())
        self.shop.scenario()
        self.shop.clock.pump([1] * 61)
        self.assertTrue(self.is_online())
        self.assertEqual([entry.kind for entry in self.shop.ledger()], ["open", "sale", "sale", "sale"])
        self.assertFalse(self.shop.sell(5)["info"]["isoffline"])

    def test_interval(self) -> None:
        """The seconds between two tries are a setting."""
        self.shop.settings(offline_probe_s=10)
        self.away()
        self.shop.scenario()
        self.shop.clock.pump([1] * 10)
        self.assertFalse(self.is_online())
        self.shop.clock.pump([1] * 2)
        self.assertTrue(self.is_online())

    def test_who_was_sent(self) -> None:
        """A register that a person sent offline comes back too when the tax service answers."""
        self.assertEqual(self.go("offline"), 0)
        self.shop.scenario(*GONE)
        self.shop.clock.pump([60] * 10)
        self.assertFalse(self.is_online())
        self.shop.scenario()
        self.shop.clock.pump([1] * 62)
        self.assertTrue(self.is_online())

    def test_restart(self) -> None:
        """After a restart it is still tried."""
        self.away()
        self.shop.crash()
        self.shop.clock.pump([1] * 62)
        self.assertTrue(self.is_online())
        self.assertEqual(len(self.shop.ledger(kind="sale")), 2)

    def test_tills_in_between(self) -> None:
        """While many packages go up the tills are served in between, and what they sell goes up too."""
        self.away(250)
        self.shop.scenario({"on": "any", "then": "accept", "delay_ms": 500, "times": 0})
        served = busy = 0
        # The first try is a minute after it was seen to be away.
        self.shop.clock.pump([1] * 60)
        while self.shop.built().away:
            answer = self.shop.sell(1)
            served += answer["res"] == 0
            busy += answer["res"] == Res.DEVICE_BUSY.code
            self.shop.clock.advance(0.125)
        self.assertGreater(served, 5)
        self.assertTrue(busy)
        self.assertTrue(self.is_online())
        self.assertEqual(len(self.shop.ledger(kind="sale")), 250 + served)

    def test_silent(self) -> None:
        """A query without an answer holds up no till, and there is one at a time."""
        self.away()
        self.shop.scenario({"on": "any", "then": "silent", "times": 0}, {"on": "probe", "then": "silent", "times": 0})
        self.shop.clock.pump([1] * 62)
        self.assertEqual(self.shop.sell(5)["res"], 0)

    def test_lost_on_the_way(self) -> None:
        """Whatever is lost on the way, the next tries complete it; the tills sell on unless the end is open."""
        for then in ("unreachable", "lost_before", "lost_after", "garbage", "refuse"):
            for package in range(3):
                self.setUp()
                self.away(120)
                accept = {"on": "any", "then": "accept"}
                self.shop.scenario(*[accept] * package, {"on": "any", "then": then})
                self.shop.clock.pump([1] * 62)
                happened = package == 2 and then in ("lost_after", "garbage")
                self.assertEqual(self.is_online(), happened, (then, package))
                if package < 2:
                    self.assertEqual(self.shop.sell(7)["info"]["isoffline"], True, (then, package))
                self.shop.clock.pump([1] * 62)
                self.assertTrue(self.is_online(), (then, package))
                self.assertEqual(len(self.shop.ledger(kind="sale")), 121 if package < 2 else 120, (then, package))

    def test_refused(self) -> None:
        """The register's state says why the tax service refuses, until it accepts."""
        self.away()
        self.shop.scenario({"on": "any", "then": "refuse", "code": "1042", "times": 0})
        self.shop.clock.pump([1] * 62)
        register = self.shop.built()
        told = self.successResultOf(Deferred.fromCoroutine(register.state()))
        self.assertIn("blocked", told["offline_error"])
        self.shop.scenario()
        self.shop.clock.pump([1] * 62)
        told = self.successResultOf(Deferred.fromCoroutine(register.state()))
        self.assertEqual((told["offline_error"], told["offline_since"]), ("", 0))

    def test_stop(self) -> None:
        """A service that stops between two packages leaves nothing behind that would still happen."""
        self.away(150)
        self.shop.scenario()
        self.shop.clock.pump([0.125] * 485)
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.close()))
        self.assertEqual(self.shop.clock.getDelayedCalls(), [])


class LimitTests(SwitchCase):
    """Each limit from both sides."""

    @promises("8.offline.2", "3.1c.1")
    def test_35_hours(self) -> None:
        """35 hours are allowed, a second more is 1062 for all but a Z; then nothing may be opened."""
        self.shop.scenario(*GONE)
        self.shop.sell()
        self.shop.clock.advance(35 * HOUR)
        self.assertEqual(self.shop.sell()["res"], 0)
        self.shop.clock.advance(1)
        answer = self.shop.sell()
        self.assertEqual((answer["res"], answer["res_action"]), (1062, 3))
        self.assertEqual(self.shop.fiscal(3, cash={"sum": 1})["res"], 1062)
        self.assertEqual(self.shop.fiscal(11)["res"], 0)
        self.assertEqual(self.shop.fiscal(0)["res"], 1062)
        self.shop.scenario()
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.shop.fiscal(0)["res"], 0)

    @promises("8.offline.1")
    def test_168_hours(self) -> None:
        """The hours of a month are counted: the last one is allowed, then 1042, and no session begins any more."""
        month = totals.OfflineMonth("202609", 166 * HOUR * 1000)
        self.set_state(offline_month=month)
        self.assertEqual(self.go("offline"), 0)
        self.shop.clock.advance(2 * HOUR)
        self.assertEqual(self.shop.sell()["res"], 0)
        self.shop.clock.advance(1)
        self.assertEqual(self.shop.sell()["res"], 1042)
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.state().offline_month, totals.OfflineMonth("202609", 168 * HOUR * 1000))
        self.assertEqual(self.go("offline"), 1042)
        self.shop.scenario(AWAY)
        answer = self.shop.sell()
        self.assertEqual((answer["res"], answer["res_action"]), (1050, 1))

    def test_next_month(self) -> None:
        """With the next month, in Kyiv, the hours begin again."""
        self.set_state(offline_month=totals.OfflineMonth("202609", 168 * HOUR * 1000))
        # 21 September 09:00 to 30 September 23:59:59.
        self.shop.clock.advance(9 * 24 * HOUR + 15 * HOUR - 1)
        self.assertEqual(self.go("offline"), 1042)
        self.shop.clock.advance(1)
        self.assertEqual(self.go("offline"), 0)

    def test_duration(self) -> None:
        """A session lasts to its last receipt or Z, not to the moment of the return."""
        self.go("offline")
        self.shop.scenario(*GONE)
        self.shop.clock.advance(HOUR)
        self.shop.sell()
        self.shop.clock.advance(5 * HOUR)
        self.shop.scenario()
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.state().offline_month.spent, HOUR * 1000)

    def test_numbers(self) -> None:
        """The last offline number but two goes to a receipt, then 1122; a Z with its closing is still possible."""
        self.go("offline")
        state = self.state()
        assert state.offline is not None
        state.offline.ordinal = totals.SESSION_NUMBERS - 3
        self.set_state(offline=state.offline)
        self.assertEqual(self.shop.sell()["info"]["vacant_off_nums"], 2)
        answer = self.shop.sell()
        self.assertEqual((answer["res"], answer["res_action"]), (1122, 1))
        answer = self.shop.fiscal(11)
        self.assertEqual((answer["res"], answer["info"]["vacant_off_nums"]), (0, 1))

    @promises("8.key-expiry")
    def test_key(self) -> None:
        """With three days left of the key a receipt goes offline, with less it is refused."""
        self.shop.scenario(AWAY)
        self.shop.settings(key_valid_to="2026-09-23")
        self.shop.scenario(AWAY)
        self.assertEqual(self.shop.sell()["res"], 1050)
        self.shop.settings(key_valid_to="2026-09-24")
        self.shop.scenario(AWAY)
        self.assertEqual(self.shop.sell()["res"], 0)


class PrroCase(SynchronousTestCase):
    """A register at the tax service with an open shift."""

    def setUp(self) -> None:
        """Open."""
        self.shop = PrroShop(self, "one")
        self.assertEqual(self.do(0)["res"], 0)

    def do(self, task: int, tag: str = "", **members: Any) -> dict[str, Any]:
        """The answer to a task of the register."""
        return self.shop.fiscal(task, tag, "one", **members)

    def sell(self, amount: float = 50, tag: str = "") -> dict[str, Any]:
        """The answer to a sale."""
        return self.do(1, tag, receipt=sale(amount))

    def go(self, way: str) -> int:
        """Ask the register to go offline or online: 0, or the code of the refusal."""
        return went(Deferred.fromCoroutine(getattr(self.shop.built(), f"go_{way}")("uk")))


class TaxServiceTests(PrroCase):
    """The same at the tax service, signed."""

    def test_away_and_back(self) -> None:
        """Sales, Z and the next opening are made offline, and taken as one chain when the link is back."""
        self.shop.rules(*GONE)
        for amount in (10, 20):
            self.assertEqual(self.sell(amount)["info"]["isoffline"], True)
        self.assertEqual([self.do(11)["res"], self.do(0)["res"], self.sell(30)["res"]], [0, 0, 0])
        self.shop.clock.pump([1] * 61)
        self.assertEqual(self.shop.kinds(), ["open"])
        self.shop.rules()
        self.shop.clock.pump([1] * 62)
        kinds = ["open", "offline_begin", "sale", "sale", "z", "close", "open", "sale", "offline_end"]
        self.assertEqual(self.shop.kinds(), kinds)
        self.assertFalse(self.sell(40)["info"]["isoffline"])
        self.assertFalse(self.shop.taken()[1].checkhead.revokelastonlinedoc)

    def test_stays_here(self) -> None:
        """A receipt that stays here is signed and stored; its XML is not taken apart again."""
        self.shop.rules(*GONE)
        self.sell(10)
        read: list[bytes] = []
        self.patch(tax_service, "decode", read.append)
        self.assertEqual(self.sell(20)["info"]["isoffline"], True)
        self.assertEqual(read, [])

    def test_dead_server(self) -> None:
        """A server that cannot be reached in time costs one time-out: what comes after it is offline at once."""
        self.shop.rules(*({**rule, "delay_ms": 5000} for rule in GONE))
        body = {"device": "one", "tag": "a", "type": 1, "fiscal": {"task": 1, "receipt": sale()}}
        due = self.shop.asked(body)
        self.shop.clock.advance(5)
        self.assertEqual(json.loads(self.successResultOf(due))["info"]["isoffline"], True)
        self.assertEqual(self.sell(5)["res"], 0)

    def test_link_is_watched(self) -> None:
        """A server that answers nothing but errors is found out between two receipts: the next one is offline."""
        outage = [{"on": on, "then": "refuse", "code": "503", "times": 0} for on in ("any", "probe")]
        self.shop.rules(*outage)
        self.shop.clock.pump([1] * 62)
        self.assertEqual(self.sell(10)["info"]["isoffline"], True)
        self.shop.clock.pump([1] * 62)
        self.shop.rules()
        self.shop.clock.pump([1] * 62)
        self.assertEqual(self.shop.kinds(), ["open", "offline_begin", "sale", "offline_end"])
        # A look that was answered changes nothing.
        self.shop.clock.pump([1] * 62)
        self.assertEqual(self.sell(20)["info"]["isoffline"], False)

    def test_month_is_counted_alike(self) -> None:
        """Sessions of 36 hours with their Z are taken; a Z after that blocks the register until the month ends."""
        for late, res in ((0, 0), (60, 1042)):
            self.setUp()
            self.shop.rules(*GONE)
            self.assertEqual(self.sell()["res"], 0)
            self.shop.clock.advance(36 * HOUR + late)
            self.assertEqual(self.do(11)["res"], 0)
            self.shop.rules()
            self.shop.clock.pump([1] * 62)
            self.assertEqual(self.do(0)["res"], res, late)

    @promises("3.1d.1.1", "3.1d.1.2", "3.1d.1.3")
    def test_emergency(self) -> None:
        """A key that was replaced in an emergency: the sale is 1124 and the register does not go offline for a Z."""
        (self.shop.state / "secret.key").unlink()
        self.shop.crash()
        self.shop.load_key("one", keys().other)
        self.shop.rules(*GONE)
        self.assertEqual(self.sell()["res"], 1124)
        answer = self.do(11)
        self.assertEqual((answer["res"], answer["res_action"]), (1050, 1))
        self.assertEqual(self.go("offline"), 1124)
        self.shop.rules()
        self.assertEqual(self.do(11)["res"], 0)

    @promises("8.date-mismatch")
    def test_clock(self) -> None:
        """Half an hour between our clock and the server's is 1121, a second less is not; nothing was sold."""
        for skew in (1799, -1799):
            self.shop.far_end.skew_s = skew
            self.assertEqual(self.sell()["res"], 0)
        sold = self.shop.kinds()
        for skew in (1800, -1800):
            self.shop.far_end.skew_s = skew
            self.shop.crash()
            answer = self.sell()
            self.assertEqual((answer["res"], answer["res_action"]), (1121, 3), skew)
        self.assertEqual(self.shop.kinds(), sold)
        self.shop.far_end.skew_s = 0
        self.assertEqual(self.sell()["res"], 0)

    def test_words(self) -> None:
        """An online document while the session is open there is 1047, as a wrong offline number is."""
        self.shop.rules(*GONE)
        self.sell()
        self.shop.rules()
        # The first package arrives, the end does not leave; then the register forgets that it is offline.
        accept = {"on": "any", "then": "accept"}
        self.shop.rules({"on": "probe", "then": "accept", "times": 2}, accept, *GONE)
        self.go("online")
        self.shop.rules()
        books = self.shop.built()._books
        books.state.offline = None
        books.stored = totals.encode(books.state)
        self.assertEqual(self.sell()["res"], 1047)


class LateArrivalTests(PrroCase):
    """A document that was taken for void and arrives all the same."""

    def late(self, mark: str = "") -> Callable[[], None]:
        """Sell; the server says that it never saw the sale, and registers it then. What was stored of it."""
        record = self.shop.far_end.books.registers[FIRST]
        self.shop.rules({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
        bill = sale(50)
        bill["rows"][0] |= {"code_a": mark} if mark else {}
        self.assertEqual(self.do(1, "a", receipt=bill)["res"], 1075)
        self.shop.rules()
        stored = record.documents.pop(2)
        record.next_local = 2
        self.assertEqual(self.shop.look_up("a", "one")["res"], 1058)

        def arrive() -> None:
            record.documents[2], record.next_local = stored, 3

        return arrive

    def test_repeat(self) -> None:
        """The till that repeats its tag gets the receipt that arrived late; there is one."""
        for crash in (False, True):
            self.setUp()
            arrive = self.late()
            if crash:
                self.shop.crash()
            arrive()
            again = self.sell(50, "a")
            self.assertEqual((again["res"], again["task_status"], again["info"]["docno"]), (0, 2, "2"))
            self.assertEqual(self.sell(60, "b")["info"]["docno"], "3")
            self.assertEqual(self.shop.kinds(), ["open", "sale", "sale"])

    def test_another(self) -> None:
        """Another sale comes after it, with the next number, and both count."""
        self.late()()
        self.assertEqual(self.sell(60, "b")["info"]["docno"], "3")
        self.assertEqual(self.shop.look_up("a", "one")["task_status"], 2)
        self.assertEqual(self.do(10)["info"]["summary"]["base_p"], 110.0)
        self.assertEqual(self.shop.kinds(), ["open", "sale", "sale"])

    def test_mark(self) -> None:
        """The excise mark of such a sale is free while it is void, and sold when it has arrived."""
        self.shop.settings("one", marks_check="local")
        # A register that doubts the link would ask for the time first.
        self.shop.built()._channel._skew = 0.0
        arrive = self.late("mark")
        self.assertEqual(self.shop.done(self.shop.store.find_marks(["mark"])), [])
        arrive()
        self.assertEqual(self.sell(60, "b")["info"]["docno"], "3")
        self.assertEqual([one.state for one in self.shop.done(self.shop.store.find_marks(["mark"]))], ["sold"])

    def test_not_explained(self) -> None:
        """Where no document of ours explains the number, it is 1043 and nothing changes, as often as it is tried."""
        record = self.shop.far_end.books.registers[FIRST]
        arrive = self.late()
        for number in (4, 1):
            record.next_local = number
            for _ in range(2):
                answer = self.sell(60, "b")
                self.assertEqual((answer["res"], answer["res_action"]), (1043, 3))
        arrive()
        self.assertEqual(self.sell(60, "b")["info"]["docno"], "3")

    def test_another_program(self) -> None:
        """The number is that of a document of another program: 1043, sent once, and the void sale stays void."""
        self.late()
        self.shop.far_end.books.registers[FIRST].next_local = 3
        channel, sent = self.shop.built()._channel, list[bytes]()
        submit = channel.submit

        async def counted(document: Any, bytes_: bytes) -> Any:
            sent.append(bytes_)
            return await submit(document, bytes_)

        self.patch(channel, "submit", counted)
        answer = self.sell(60, "b")
        self.assertEqual((answer["res"], answer["res_action"], len(sent)), (1043, 3, 1))
        rows = self.shop.done(self.shop.store.find_operations(OperationQuery(key="a"))).operations
        self.assertEqual([row.state for row in rows], [State.REFUSED])

    def test_made_anew(self) -> None:
        """Once the number has gone to another document, the void one is forgotten."""
        self.late()
        self.assertEqual(self.sell(60, "b")["info"]["docno"], "2")
        self.assertEqual(self.shop.built()._books.state.voids, ())
