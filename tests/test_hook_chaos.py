"""A small run of what goes wrong between service and receivers, in memory."""

from __future__ import annotations

from collections import Counter
from random import Random

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.hooks.cursors import Cursors
from tests.hook_desk import HOST, SILENCE, HookShop, answer
from tests.shop import sale

REGISTERS = ("test", "other", "third")
FAULTS = ("kill", "kill", "told", "500", "hang up", "silence", "store")


class ChaosTests(SynchronousTestCase):
    """Kills and faults around events, by chance."""

    def day(self, seed: int, rounds: int) -> tuple[Counter[str], list[tuple[str, str, str]]]:
        """The faults of a day with ``rounds`` of sales, and what came: id, register and tag."""
        dice, faults = Random(seed), Counter[str]()
        shop = HookShop(self)
        for name in REGISTERS[1:]:
            shop.add(name)
        for name in REGISTERS:
            shop.open_shift(name)
        shop.subscribe(events=("document.made",))
        for n in range(rounds):
            fault = dice.choice(FAULTS)
            faults[fault] += 1
            answers = shop.receivers.answers.setdefault(HOST, [])
            dying = None
            if fault == "500":
                answers.append(answer(500))
            elif fault == "hang up":
                answers.append(b"")
            elif fault == "silence":
                answers.append(SILENCE)
            elif fault == "told":
                # As if the process ended before it is stored.
                dying = self.patch(Cursors, "keep", lambda *_: Deferred())
            for sold in range(dice.randint(1, 4)):
                register = dice.choice(REGISTERS)
                answered = shop.fiscal(1, f"{n:03}-{sold}", register, receipt=sale(5))
                self.assertEqual(answered["res"], 0)
            shop.store.broken = fault == "store"
            shop.post(dice.choice((0, 0.25, 0.5, 3)))
            shop.store.broken = False
            if dying is not None:
                dying.restore()
            if fault in ("kill", "told"):
                shop.crash()
            shop.post(dice.choice((0, 1, 12)))
        shop.post(60)
        self.assertEqual(shop.wait(shop.core.hooks.dead(next(iter(shop.core.hooks.subscribers)).id)), [])
        events = [got.event for got in shop.receivers.of()]
        return faults, [(event["id"], event["device"]["name"], event["data"]["tag"]) for event in events]

    def test_nothing_lost(self) -> None:
        """Whatever fails, each event comes, those of a register first in order, and a repeat has the same id."""
        faults, came = self.day(20261124, 60)
        self.assertEqual(set(faults), set(FAULTS))
        first = list(dict.fromkeys(came))
        self.assertGreater(len(came), len(first))
        self.assertEqual(len({id for id, _, _ in first}), len(first))
        tags = {name: [tag for _, register, tag in first if register == name] for name in REGISTERS}
        for told in tags.values():
            self.assertEqual(told, sorted(told))
        every = sorted(tag for told in tags.values() for tag in told)
        rounds = {tag[:3] for tag in every}
        self.assertEqual(rounds, {f"{n:03}" for n in range(60)})
        for number in rounds:
            of_round = [tag for tag in every if tag[:3] == number]
            self.assertEqual(of_round, [f"{number}-{sold}" for sold in range(len(of_round))])
