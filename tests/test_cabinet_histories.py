"""Histories of a training register on protocol B: whatever happens, the chain has no gap and each sale is there once.

With ``DMTWISTED_DEEP=1`` in the environment there are many more histories.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.results import Refused
from dmtwisted.store.values import StoreFailed
from tests.shop import FailingStore, Shop, hurry, sale

SEEDS = 2000 if os.environ.get("DMTWISTED_DEEP") == "1" else 60
"""Histories."""

STEPS = 8

GONE = ({"on": "any", "then": "unreachable", "times": 0}, {"on": "probe", "then": "unreachable", "times": 0})


class History:
    """One history: a shop, and what its till believes."""

    def __init__(self, case: SynchronousTestCase, seed: int, revokes: bool) -> None:
        self.case, self.dice = case, random.Random(seed)
        self.shop = Shop(case, training_protocol="b")
        self.store = FailingStore(case, self.shop)
        self.revokes = revokes
        self.told: dict[str, int] = {}
        """The kopecks of each sale that was answered with success, by its tag."""
        self.open: dict[str, tuple[int, dict[str, Any]]] = {}
        """Tasks whose outcome the till does not know."""
        self.n = 0
        self.wake()

    def wake(self) -> None:
        """Let the register be one that makes lost sales again offline, if this history is about such a one."""
        self.shop.built()._revokes = self.revokes
        self.shop.built()._asking._tries = 2 if self.revokes else 0

    def run(self) -> None:
        """Some steps, and then a quiet end."""
        self.do(0)
        steps: list[Callable[[], None]] = [
            *(self.sell, self.sell, self.cash, self.lost_after, self.lost_before, self.refused, self.crash),
            *(self.gone, self.back, self.offline, self.online, self.day, self.broken, self.long_away, self.half_home),
        ]
        for _ in range(STEPS):
            self.dice.choice(steps)()
        self.end()

    def do(self, task: int, **members: Any) -> None:
        """Do a task; what is not known afterwards is asked for at the end."""
        self.n += 1
        self.ask(f"t{self.n}", task, members)

    def ask(self, tag: str, task: int, members: dict[str, Any]) -> bool:
        try:
            answer = self.shop.fiscal(task, tag, **members)
        except Exception:
            self.open[tag] = task, members
            raise
        if answer["res"] == 0:
            self.open.pop(tag, None)
            if task == 1:
                self.told[tag] = round(members["receipt"]["sum"] * 100)
            return True
        if answer["res_action"] == 3 and answer["res"] not in (1074, 1016):
            self.open.pop(tag, None)
        else:
            self.open[tag] = task, members
        return False

    def sell(self) -> None:
        self.do(1, receipt=sale(self.dice.randint(1, 9) * 10))

    def cash(self) -> None:
        self.do(3, cash={"type": 0, "sum": self.dice.randint(1, 9)})

    def rule(self, then: str, **more: Any) -> None:
        on = self.dice.choice(("sale", "any", "cash_in"))
        later = GONE if self.dice.random() < 0.3 else ()
        self.shop.scenario({"on": on, "then": then, **more}, *later)

    def lost_after(self) -> None:
        self.rule(self.dice.choice(("lost_after", "garbage")))
        self.hurried(self.sell)

    def lost_before(self) -> None:
        self.rule("lost_before")
        self.hurried(self.sell)

    def hurried(self, step: Callable[[], object]) -> None:
        """The step, sometimes with a caller who grants no time."""
        if self.dice.random() < 0.5:
            step()
            return
        patched = hurry(self.case)
        step()
        patched.restore()

    def refused(self) -> None:
        self.rule("refuse", code=str(self.dice.choice((1, 2, 3, 4, 9, 12, 15))))
        self.sell()

    def crash(self) -> None:
        self.shop.crash()
        self.wake()

    def gone(self) -> None:
        self.shop.scenario(*GONE)

    def back(self) -> None:
        self.shop.scenario()

    def go(self, way: str) -> str:
        going = Deferred.fromCoroutine(getattr(self.shop.built(), f"go_{way}")("uk"))
        self.shop.settle(going)
        trouble: list[str] = []

        def note(failure: Failure) -> None:
            failure.trap(Refused, StoreFailed)
            trouble.append(str(failure.value))

        going.addErrback(note)
        self.case.successResultOf(going)
        return "".join(trouble)

    def offline(self) -> None:
        self.go("offline")

    def online(self) -> None:
        self.go("online")

    def half_home(self) -> None:
        """The link breaks on the way home."""
        then = self.dice.choice(("lost_after", "lost_before", "unreachable", "refuse"))
        passed = [{"on": "any", "then": "accept"}] * self.dice.randrange(4)
        self.shop.scenario(*passed, {"on": "any", "then": then}, {"on": "probe", "then": "unreachable", "times": 2})
        self.hurried(lambda: self.go("online"))

    def day(self) -> None:
        """The shift ends, and the next one begins."""
        self.do(11)
        self.do(0)

    def broken(self) -> None:
        """The store fails at one of the next writes; after that the service is started again."""
        self.store.fail_at(self.dice.randint(1, 6), done=self.dice.random() < 0.5)
        self.sell()
        self.store.repair()
        self.crash()

    def long_away(self) -> None:
        self.shop.clock.advance(self.dice.randint(1, 30) * 3600)

    def end(self) -> None:
        """Everything is settled; the Z agrees with the server and with the till."""
        self.shop.scenario()
        for _ in range(3):
            if self.shop.fiscal(18)["info"]["online_status"]:
                self.go("online")
        for tag, (task, members) in list(self.open.items()):
            self.ask(tag, task, members)
        case, shop = self.case, self.shop
        case.assertEqual(self.open, {})
        status = shop.fiscal(18)
        case.assertEqual((status["res"], status["info"]["online_status"]), (0, 0), status)
        server = shop.core.devices.by_name("test").simulator
        [standing] = server.books.registers.values()
        state = shop.built()._books.state
        case.assertEqual(state.chain, standing.tip)
        case.assertEqual((state.local, state.z_number), (standing.next_local, standing.z))
        case.assertEqual(state.shift_open, standing.shift is not None)
        reserved = set(state.session.numbers) if state.session is not None else set()
        case.assertEqual(reserved - set(standing.reserved), set())
        accepted = [entry for entry in server.entries() if entry.status == "accepted"]
        gone = {entry.ref for entry in accepted if entry.kind == "storno"}
        sales = [entry.sum for entry in accepted if entry.kind == "sale" and entry.number not in gone]
        case.assertEqual(sorted(sales), sorted(self.told.values()))


class HistoryTests(SynchronousTestCase):
    """Random histories, each given by a seed."""

    def check(self, revokes: bool) -> None:
        """Run them all."""
        for seed in range(SEEDS):
            try:
                History(self, seed, revokes).run()
            except Exception as error:
                raise AssertionError(f"history {seed}") from error
            finally:
                self.doCleanups()

    def test_waiting(self) -> None:
        """A register that waits while nobody can be asked."""
        self.check(revokes=False)

    def test_revoking(self) -> None:
        """A register that makes a lost sale again offline."""
        self.check(revokes=True)
