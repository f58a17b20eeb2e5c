"""Offline and back: numbers of our own, nothing lost on the way home, nothing handed in twice."""

from __future__ import annotations

import re
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.results import Refused, Res
from dmtwisted.store.interface import READS
from dmtwisted.store.values import Intent, StoreFailed
from protocols.fiscal.offline import control_number, document_hash, fiscal_number
from tests.shop import FailingStore, Shop, hurry
from tests.specification import promises
from tests.vectors.fiscal_offline import CONTROL_NUMBERS

HOUR = 3600


class ControlNumberTests(SynchronousTestCase):
    """`protocols.fiscal.offline`."""

    def test_vectors(self) -> None:
        """Every published control number comes out, leading zeros dropped."""
        for vector in CONTROL_NUMBERS:
            seed, date, time, number, register, desk, *rest = vector.parts.split(",")
            amount = next((part for part in rest if "." in part), "")
            hash = next((part for part in rest if "." not in part), "")
            session, ordinal, _ = vector.fiscal_number.split(".")
            control = control_number(seed, date, time, int(number), register, desk, amount, hash)
            self.assertEqual(fiscal_number(session, int(ordinal), control), vector.fiscal_number, vector.source)

    def test_never_zero(self) -> None:
        """A control number is between 1 and 9999."""
        found = {control_number("1", "01012026", "000000", n, "4000000001", "1") for n in range(30_000)}
        self.assertEqual((min(found), max(found)), (1, 9999))

    def test_hash(self) -> None:
        """The hash is SHA-256 of the bytes, in lower-case hex (FIPS 180-2, the example `abc`)."""
        wanted = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        self.assertEqual(document_hash(b"abc"), wanted)


class OfflineCase(SynchronousTestCase):
    """A shop with an open shift and one receipt."""

    def setUp(self) -> None:
        """Open and sell."""
        self.shop = Shop(self)
        self.shop.open_shift()
        self.shop.sell(10, "online-1")

    def go(self, way: str) -> int:
        """Ask the register to go offline or online: 0, or the code of the refusal."""
        register = self.shop.core.devices.by_name("test").built
        done = Deferred.fromCoroutine(getattr(register, f"go_{way}")("uk"))

        def code_of(reason: Failure) -> int:
            reason.trap(Refused)
            refused = reason.value
            assert isinstance(refused, Refused)
            return int(refused.res.code)

        done.addCallbacks(lambda _: 0, code_of)
        return int(self.successResultOf(done))

    def numbers(self) -> list[str]:
        """The fiscal numbers that the tax service has, in its order."""
        return [entry.number for entry in self.shop.ledger()]


class GoOfflineTests(OfflineCase):
    """The way out."""

    @promises("3.1b.1")
    def test_offline_receipt(self) -> None:
        """An offline receipt has a number of the register's own, is marked offline and is not sent."""
        before = self.numbers()
        self.assertEqual(self.go("offline"), 0)
        info = self.shop.sell(20, "off-1")["info"]
        self.assertTrue(re.fullmatch(r"\d+\.2\.\d{1,4}", info["doccode"]), info["doccode"])
        self.assertEqual((info["isoffline"], info["printinfo"]["isOffline"], info["docno"]), (True, True, "4"))
        self.assertEqual(self.shop.fiscal(18)["info"]["online_status"], 1)
        self.assertEqual(self.numbers(), before)

    def test_hash_chain(self) -> None:
        """The first receipt after the begin carries no hash, every later one the hash of the one before it."""
        self.go("offline")
        first = self.shop.sell(20)["info"]
        second = self.shop.sell(20)["info"]
        self.assertEqual(first["mac"], "")
        self.assertEqual(len(second["mac"]), 64)
        self.assertEqual(second["printinfo"]["mac"], second["mac"])
        self.assertTrue(second["qr"].endswith(f"&mac={second['mac']}"), second["qr"])

    def test_forbidden(self) -> None:
        """Without permission in the settings the register stays online: 1052."""
        self.shop.settings(offline_allowed=False)
        self.assertEqual(self.go("offline"), Res.OFFLINE_FORBIDDEN.code)

    def test_twice(self) -> None:
        """Going offline while offline is 1053, going online while online 1054."""
        self.assertEqual(self.go("online"), Res.ALREADY_ONLINE.code)
        self.go("offline")
        self.assertEqual(self.go("offline"), Res.ALREADY_OFFLINE.code)

    def test_no_numbers(self) -> None:
        """A register that never opened a shift online has no offline numbers: 1056."""
        shop = self.shop = Shop(self)
        self.assertEqual(self.go("offline"), Res.NO_OFFLINE_NUMBERS.code)
        self.assertEqual(shop.fiscal(18)["info"]["vacant_off_nums"], 0)

    @promises("8.key-expiry")
    def test_key_about_to_expire(self) -> None:
        """With less than three days left of the signing key the register cannot go offline; with three it can."""
        self.shop.settings(key_valid_to="2026-09-23")
        self.assertEqual(self.go("offline"), Res.KEY_EXPIRES_SOON.code)
        self.shop.settings(key_valid_to="2026-09-24")
        self.assertEqual(self.go("offline"), 0)

    def test_numbers_count_down(self) -> None:
        """`vacant_off_nums` counts the numbers that are left."""
        self.go("offline")
        left = self.shop.sell(1)["info"]["vacant_off_nums"]
        self.assertEqual(self.shop.sell(1)["info"]["vacant_off_nums"], left - 1)

    @promises("3.1c.1", "8.offline.2")
    def test_too_long(self) -> None:
        """After 35 hours offline only the shift may be closed: 1062 for a receipt, a Z goes through."""
        self.go("offline")
        self.shop.clock.advance(35 * HOUR)
        self.assertEqual(self.shop.sell(1)["res"], 0)
        self.shop.clock.advance(1)
        self.assertEqual(self.shop.sell(1)["res"], Res.OFFLINE_TOO_LONG.code)
        self.assertEqual(self.shop.fiscal(11)["res"], 0)
        self.assertEqual(self.go("online"), 0)

    def test_warnings(self) -> None:
        """Answers warn of hours offline, numbers left and days of the key before they run out, with the figure."""
        self.shop.settings(warn_offline_numbers=20_000, warn_shift_h=1000, key_valid_to="2026-09-27")
        self.go("offline")
        self.shop.clock.advance(30 * HOUR)
        told = {warning["code"]: warning["wtxt"] for warning in self.shop.sell(1)["warnings"]}
        self.assertEqual(set(told), {1062, 1117, 1122})
        left = "5 год 0 хв сесії (закінчиться раніше), 138 год 0 хв місяця"
        self.assertEqual(told[1062], f"Каса офлайн, до обмеження лишилося: {left}")
        self.assertEqual(told[1122], "Каса офлайн, офлайн-номерів лишилося: 9999")
        self.assertEqual(told[1117], "Строк ключа підпису спливає, лишилося днів: 5")


class GoOnlineTests(OfflineCase):
    """The way home."""

    def make_offline(self, receipts: int) -> list[str]:
        """Go offline and sell; the fiscal numbers of what was sold."""
        self.assertEqual(self.go("offline"), 0)
        return [self.shop.sell(n + 1, f"off-{n}")["info"]["doccode"] for n in range(receipts)]

    def test_all_handed_in(self) -> None:
        """Coming back hands every document in once, in order, over any number of packages."""
        for receipts in (0, 1, 97, 98, 99, 250):
            before = self.numbers()
            made = self.make_offline(receipts)
            self.assertEqual(self.go("online"), 0)
            self.assertEqual(self.numbers(), before + made)
            self.assertEqual(self.shop.fiscal(18)["info"]["online_status"], 0)
            made_online = self.shop.sell(1)["info"]["doccode"]
            self.assertTrue(made_online.startswith("TEST_"), made_online)
            self.shop = Shop(self)
            self.shop.open_shift()

    def test_shifts_inside(self) -> None:
        """A shift may be closed and opened while offline; the tax service takes all of it."""
        self.make_offline(2)
        self.assertEqual(self.shop.fiscal(11)["res"], 0)
        self.shop.open_shift()
        self.shop.sell(7)
        self.assertEqual(self.go("online"), 0)
        kinds = [entry.kind for entry in self.shop.ledger()]
        self.assertEqual(kinds, ["open", "sale", "sale", "sale", "z", "open", "sale"])

    def test_faults_on_the_way(self) -> None:
        """Whatever breaks while handing in, the next try completes it: nothing lost, nothing twice."""
        hurry(self)
        for then in ("unreachable", "lost_before", "lost_after", "garbage", "silent", "refuse"):
            for package in range(3):
                self.shop = Shop(self)
                self.shop.open_shift()
                made = self.make_offline(230)
                rules = [{"on": "any", "then": "accept"}] * package + [{"on": "any", "then": then}]
                self.shop.scenario(*rules)
                register = self.shop.built()
                done = Deferred.fromCoroutine(register.go_online("uk"))
                self.shop.clock.advance(8)
                self.failureResultOf(done, Refused)
                self.shop.crash()
                again = self.go("online")
                self.assertIn(again, (0, Res.ALREADY_ONLINE.code), (then, package))
                self.assertEqual(self.numbers()[1:], made, (then, package))
                after = self.shop.sell(5)
                self.assertEqual((after["res"], after["info"]["isoffline"]), (0, False), (then, package))

    def test_second_session(self) -> None:
        """Each session has an id of its own, also when the answer to the end of the first one was lost."""
        first = self.make_offline(1)[0].split(".")[0]
        # The documents arrive; the answer to the end is lost.
        self.shop.scenario({"on": "any", "then": "accept"}, {"on": "any", "then": "lost_after"})
        self.go("online")
        self.shop.crash()
        self.assertEqual(self.go("offline"), 0)
        second = self.shop.sell(1)["info"]["doccode"].split(".")[0]
        self.assertNotEqual(first, second)
        self.assertEqual(self.go("online"), 0)

    def test_one_write(self) -> None:
        """An offline receipt is stored by one write, with its outcome; so are both documents of a Z."""
        self.go("offline")
        asked: list[str] = []
        ask = self.shop.store._ask

        def watched(verb: str, arguments: tuple[Any, ...]) -> Any:
            if verb not in READS:
                asked.append(verb)
            return ask(verb, arguments)

        self.patch(self.shop.store, "_ask", watched)
        self.assertEqual(self.shop.sell(9, "a")["info"]["isoffline"], True)
        self.assertEqual(self.shop.fiscal(11, "z")["res"], 0)
        self.assertEqual(asked, ["conclude_at_once"] * 2)

    def test_killed_beside_its_write(self) -> None:
        """Killed before the one write nothing is there; killed after it, the repeat gets the receipt."""
        self.go("offline")
        for done in (False, True):
            failing = FailingStore(self, self.shop)
            failing.fail_at(1, done=done, broken=True)
            self.assertEqual(self.shop.sell(9, f"{done}")["res"], Res.STORE_FAILED.code)
            failing.repair()
            self.shop.crash()
            n = self.shop.core.devices.by_name("test").row.n
            self.assertEqual(self.successResultOf(Deferred.fromCoroutine(self.shop.store.unresolved(n))), [])
            numbers = self.numbers()
            answer = self.shop.sell(9, f"{done}")
            self.assertEqual((answer["res"], answer["task_status"]), (0, 2 if done else 1))
            self.assertEqual(answer["info"]["docno"], "5" if done else "4")
            self.assertEqual(numbers, self.numbers())
        self.assertEqual(self.go("online"), 0)

    def test_intent_of_an_earlier_version(self) -> None:
        """An offline receipt of which only the intent was stored is void, and its tag makes it with its number."""
        self.go("offline")
        store: Any = self.shop.store

        async def reserves(intent: Intent, _: object) -> None:
            await store.reserve(intent)
            raise StoreFailed("killed")

        patched = self.patch(store, "conclude_at_once", reserves)
        self.assertEqual(self.shop.sell(9, "cut")["res"], Res.STORE_FAILED.code)
        patched.restore()
        self.shop.crash()
        answer = self.shop.sell(9, "cut")
        self.assertEqual((answer["res"], answer["task_status"], answer["info"]["docno"]), (0, 1, "4"))
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.numbers()[-1], answer["info"]["doccode"])

    def test_tags_while_offline(self) -> None:
        """A tag is done once offline as online, and is known after coming back."""
        self.go("offline")
        first = self.shop.sell(9, "same")
        self.assertEqual(self.shop.sell(9, "same"), {**first, "task_status": 2})
        self.go("online")
        self.assertEqual(self.shop.sell(9, "same"), {**first, "task_status": 2})
