"""Every offline history: words of eight kinds of steps, at a register of each protocol, with the same oracle.

A history begins with all steps of one word; every word of `EVERY` steps has its turn, and further steps follow until
there are between four and eight. After a quiet end the books of the tax service, the journal and the till agree
document by document (`tests.tax_chaos`). With ``DMTWISTED_DEEP=1`` in the environment all words are run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.results import Refused
from tests.prro_shop import keys
from tests.shop import hurry, sale
from tests.tax_chaos import DAYS, DEVICE, Day

EVERY, LONGEST = 4, 8
"""Steps of the words that are all run, and of the longest histories."""

SHORT = 16
"""Histories of each protocol without ``DMTWISTED_DEEP``."""

FROM, TO = (int(n) for n in os.environ.get("DMTWISTED_HISTORIES", "0:4096").split(":"))
"""The words to run: a long run can be shared out."""

GONE = ({"on": "any", "then": "unreachable", "times": 0}, {"on": "probe", "then": "unreachable", "times": 0})
AWAY_H = 13
"""Hours of a long absence: the third one in a session is beyond the limit."""


class History:
    """One history at a register.

    :param day: a shop, and the comparison of all books. :param dice: decides what the word leaves open.
    """

    def __init__(self, case: SynchronousTestCase, day: Day, dice: Random) -> None:
        self.case, self.day, self.dice, self.shop = case, day, dice, day.shop
        self.day.answered, self.day.dropped = {}, []
        self.open: dict[str, tuple[int, dict[str, Any]]] = {}
        """Tasks whose outcome the till does not know."""
        self.n, self.cut, self.other = 0, False, False

    def run(self, word: tuple[str, ...]) -> None:
        """All steps, then a quiet end and the comparison."""
        self.do(0)
        self.do(3, cash={"type": 0, "sum": 500})
        self.sale()
        self.sold = next(iter(self.day.answered.values()))
        for step in word:
            getattr(self, step)()
        self.end()

    def do(self, task: int, **members: Any) -> None:
        """One task."""
        self.n += 1
        self.ask(f"t{self.n}", task, members)

    def ask(self, tag: str, task: int, members: dict[str, Any]) -> None:
        """Send a task, again if it was sent before."""
        answer = self.shop.fiscal(task, tag, DEVICE, **members)
        kopecks = round(members["receipt"]["sum"] * 100) if task == 1 else 0
        self.open.pop(tag, None)
        if answer["res"] and (answer["res_action"] != 3 or answer["res"] == 1016):
            self.open[tag] = task, members
        elif kopecks and answer["res"]:
            self.day.dropped.append(kopecks)
        elif kopecks:
            self.day.answered[kopecks] = answer["info"]["doccode"]

    # The steps

    def sale(self) -> None:
        """A sale whose sum no other one has."""
        self.do(1, receipt=sale((1000 + self.n) / 100))

    def back(self) -> None:
        """A part of the first sale is returned."""
        self.do(2, receipt={**sale(1), "purchase_receipt_fisn": self.sold})

    def cash(self) -> None:
        """Cash is put into the drawer."""
        self.do(3, cash={"type": 0, "sum": 5})

    def lost(self) -> None:
        """The answer to a sale is lost; sometimes nobody can be asked for it, or the caller grants no time."""
        then = self.dice.choice(("lost_after", "lost_before", "garbage"))
        later = GONE if self.dice.random() < 0.5 else ()
        if not self.cut:
            self.shop.rules({"on": "any", "then": then}, *later)
        patched = hurry(self.case) if self.dice.random() < 0.5 else None
        self.sale()
        if patched is not None:
            patched.restore()
        if not self.cut:
            self.shop.rules()

    def link(self) -> None:
        """The line is cut, or comes back: sometimes for some documents only."""
        self.cut = not self.cut
        passed = [{"on": "any", "then": "accept"}] * self.dice.randrange(4)
        self.shop.rules(*(GONE if self.cut else ()))
        if not self.cut and self.dice.random() < 0.5:
            self.shop.rules(*passed, {"on": "any", "then": self.dice.choice(("lost_after", "lost_before"))})
            self.home()
            self.shop.rules()

    def kill(self) -> None:
        """The service dies and starts again; sometimes in the middle of a write."""
        if self.dice.random() < 0.5:
            self.day.blows.at(self.dice.randint(1, 4), self.dice.choice(("killed before", "killed after")))
            members = {"receipt": sale((1000 + self.n) / 100)}
            self.n += 1
            tag = f"t{self.n}"
            self.open[tag] = 1, members
            self.shop.asked({"ver": 6, "device": DEVICE, "tag": tag, "type": 1, "fiscal": {"task": 1, **members}})
            self.day._spare()
        self.shop.crash()

    def away(self) -> None:
        """Hours in which nobody sells."""
        self.shop.clock.advance(AWAY_H * 3600)

    def key(self) -> None:
        """The shift ends, another key comes, a shift begins; sometimes the old key fails first."""
        who = keys().cashier if self.other else keys().other
        if self.dice.random() < 0.5:
            self.do(11)
        else:
            key = self.shop.built(DEVICE)._key
            key._kept = msgspec.structs.replace(key._kept, valid_to=0)
        loading = Deferred.fromCoroutine(
            self.shop.built(DEVICE).load_key(keys().file(who), "", [who.certificate.raw])
        )
        loading.addCallbacks(self._changed, _refused)
        self.case.successResultOf(loading)
        self.do(11)
        self.do(0)

    def _changed(self, _: object) -> None:
        self.other = not self.other

    def home(self) -> None:
        """Bring the register home, if that is possible."""
        going = Deferred.fromCoroutine(self.shop.built(DEVICE).go_online("uk"))
        self.shop.settle(going)
        going.addErrback(_refused)
        self.case.successResultOf(going)

    def end(self) -> None:
        """Everything works, and every till asks until it knows."""
        self.day.calm()
        for _ in range(2):
            self.shop.clock.advance(31)
            self.home()
            # A session that was too long blocks the register.
            self.day.calm()
            for tag, (task, members) in list(self.open.items()):
                self.ask(tag, task, members)
        self.case.assertEqual(self.open, {})
        self.home()
        self.day.calm()
        self.day.compare()
        self.case.assertEqual(self.day.score.wrong, [])
        self.case.assertEqual(sorted(self.day.dropped), sorted(set(self.day.dropped)))


def _refused(failure: Failure) -> None:
    failure.trap(Refused)


STEPS = ("sale", "back", "cash", "lost", "link", "kill", "away", "key")


def words() -> Iterator[tuple[int, tuple[str, ...]]]:
    """The histories to run, with their seeds: all that begin with each word, or some of them."""
    whole = list(product(STEPS, repeat=EVERY))
    deep = os.environ.get("DMTWISTED_DEEP") == "1"
    for seed in range(FROM, TO) if deep else Random(1).sample(range(len(whole)), SHORT):
        dice = Random(seed)
        yield seed, (*whole[seed], *dice.choices(STEPS, k=dice.randint(0, LONGEST - EVERY)))


class HistoryTests(SynchronousTestCase):
    """Sale, return, cash, lost answer, cut, kill, long absence and change of the key, in every order."""

    def check(self, protocol: str) -> None:
        """Run them all on a protocol; every second register makes lost sales again offline."""
        for seed, word in words():
            settings = {"offline_after_lost_answer": "revoke"} if seed % 2 else {}
            try:
                day = DAYS[protocol](self, seed, offline_probe_s=3600.0, **settings)
                History(self, day, Random(f"{seed} {protocol}")).run(word)
            except Exception as error:
                raise AssertionError(f"history {seed}: {', '.join(word)}") from error
            finally:
                self.doCleanups()

    def test_a(self) -> None:
        """On protocol A nothing is lost, doubled or left out."""
        self.check("a")

    def test_b(self) -> None:
        """Nor is anything on protocol B; its chain has no break, and each reserved number is used once."""
        self.check("b")
