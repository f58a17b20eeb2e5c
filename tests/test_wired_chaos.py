"""An MG register on a line where anything goes wrong at any time: a tag is one receipt, and all books agree."""

from __future__ import annotations

import os
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from protocols.simulators.register_line import Fault, What
from tests.iron_shop import IronShop
from tests.shop import sale

RECEIPTS = int(os.environ.get("DMTWISTED_CHAOS_RECEIPTS", "120"))
SEED = 20261124

ONES = (
    *(What.UNHEARD, What.REFUSED, What.LOST, What.BROKEN_BEFORE),
    *(What.SLOW, What.SHORT, What.GARBAGE, What.BROKEN_AFTER, What.DARK_BEFORE, What.DARK_AFTER),
)


class ChaosTests(SynchronousTestCase):
    """Receipts with faults from a seed."""

    def test_chaos(self) -> None:
        """The till repeats until it has an answer: the machine has each receipt once, with its number and sum."""
        chance, shop = Random(SEED), IronShop(self)
        device, iron = shop.device, shop.device.iron

        def steer(command: str) -> Fault | None:
            if chance.random() > (0.3 if command == "register" else 0.05):
                return None
            return Fault(chance.choice(ONES), chance.randrange(1, 60))

        wanted: dict[str, int] = {}
        answered: dict[str, str] = {}
        tries = restarts = 0
        for n in range(RECEIPTS):
            if n % 40 == 0:
                device.steer = lambda _: None
                if n:
                    self.assertEqual(shop.task(11)["warnings"], [])
                self.assertEqual(shop.task(0)["res"], 0)
            device.steer = steer
            # Each sum is of one receipt, so that the ledger can be compared.
            tag, kopecks = f"{n}", 10_000 + n
            wanted[tag] = kopecks
            for _ in range(60):
                tries += 1
                answer = shop.task(1, tag, receipt=sale(f"{kopecks / 100:.2f}"))
                if answer["res"] == 0:
                    answered[tag] = answer["info"]["doccode"]
                    break
                self.assertIn(answer["res_action"], (1, 2), answer["errortxt"])
                if chance.random() < 0.1:
                    restarts += 1
                    shop.crash()
                shop.clock.advance(chance.randrange(1, 30))
            else:
                self.fail(f"{tag} gets no answer")
        self.assertEqual([receipt.total for receipt in iron.ledger], list(wanted.values()))
        self.assertEqual([str(receipt.number) for receipt in iron.ledger], list(answered.values()))
        device.steer = lambda _: None
        self.assertEqual([each for each in shop.task(18)["warnings"] if each["code"] == 3011], [])
        self.assertGreater(tries, RECEIPTS)
        if RECEIPTS > 1000:
            print(f"{RECEIPTS} receipts, {tries} tries, {restarts} restarts, 0 doubled")
