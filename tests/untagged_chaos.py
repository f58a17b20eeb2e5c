"""A till without tags that loses answers: ``python -m tests.untagged_chaos --rounds 2000 --seed 1 --repeat warn``.

Each round is one task of a till that never heard of tags: when it has no success it sends the same body again. In
every round the first answer is lost, and often further ones: the tax service's answer is lost, the client disconnects
before or while its answer is written, the service is killed before or after a write or stopped, the store fails, the
register is built again. Another till works in between, and hears warnings that are not meant for it.

At the end of a round the till has received one success. The simulated tax service may have more receipts of that
round: each of them must be named by a warning in that very answer. With ``--repeat return`` there must be none. The
exit status is 1 when a receipt was made in silence.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest import TestResult

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers.unheard import Caller, caller, heard, nobody
from tests.batch_desk import Blows
from tests.shop import Shop, sale

Answer = dict[str, Any]

SHIFT = 250
"""Rounds in a shift."""

ATTEMPTS = 6
"""How often a till sends a task; the last answer is not lost."""

KINDS = {1: "sale", 2: "return", 3: "cash_in", 4: "cash_out"}

PURCHASE = "3000000077"
"""The receipt that returns name; this shop does not have it."""

TAX = ("lost_after", "lost_after", "lost_before", "silent", "garbage")
STORE = ("killed before", "killed after", "failed before", "failed after")
CALLER = ("gone", "gone late", "killed unanswered", "stopped", "built again")
"""What can happen to an answer: at the tax service, at a write, on the way to the till."""


@dataclass
class Score:
    """The results of a run; the same seed gives the same results."""

    rounds: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    """Lost answers by cause."""
    receipts: int = 0
    seconds: int = 0
    """Second receipts that a warning named."""
    returned: int = 0
    spare: int = 0
    """Warnings of receipts of earlier rounds, which the till had heard of."""
    wrong: list[str] = field(default_factory=list)
    """Every second receipt without a warning."""


class Day:
    """A shop with one register and a till without tags."""

    def __init__(self, case: SynchronousTestCase, seed: int, repeat: str, protocol: str) -> None:
        self.dice, self.score, self.repeat = Random(seed), Score(), repeat
        self.shop = Shop(case, training_protocol=protocol)
        self.case = case
        self.shop.settings(offline_allowed=False, untagged_repeat=repeat, check_cash=False)
        self.blows = Blows(case, self.shop)
        self._others = 0

    def ask(self, body: dict[str, Any], hears: Caller = heard) -> Answer | None:
        """The answer to ``body``; `None` when the service died first."""
        token = caller.set(hears)
        due = self.shop.asked(body, "en")
        caller.reset(token)
        came: list[bytes] = []
        due.addCallback(came.append)
        for _ in range(100):
            if came or (self.blows.struck and self.blows.killed):
                break
            self.shop.clock.advance(0.5)
        if self.blows.struck and self.blows.killed:
            self.restart()
            return None
        self.blows.never()
        self.blows.struck = False
        answer: Answer = json.loads(came[0])
        return answer

    def restart(self) -> None:
        """The service starts again, as after a kill."""
        self.blows.never()
        self.blows.struck = False
        self.shop.scenario()
        self.shop.crash()
        self.shop.clock.advance(4)

    def lose(self, body: dict[str, Any]) -> Answer | None:
        """Send ``body`` and lose its answer; the answer all the same when nothing was lost."""
        how = self.dice.choice((*TAX, *STORE, *CALLER))
        self.score.lost[how] += 1
        hears: Caller = heard
        if how in TAX:
            # Every second one cannot be asked for while the till waits.
            unanswered = [{"on": "probe", "then": "unreachable", "times": 0}] * (self.score.lost[how] % 2)
            self.shop.scenario({"on": KINDS[body["fiscal"]["task"]], "then": how}, *unanswered)
        elif how in STORE:
            self.blows.at(self.dice.randint(1, 3), how)
        else:
            # Until it is known that the client is gone, its answer may be on its way.
            state: list[bool | None] = [None if how != "gone" else False]
            hears = lambda: state[0]  # noqa: E731
        answer = self.ask(body, hears)
        self.shop.scenario()
        if how == "killed unanswered":
            self.restart()
        elif how == "stopped":
            self.done(self.shop.core.devices.remember())
            self.restart()
        elif how == "built again":
            self.shop.settings(warn_shift_h=self.dice.uniform(30, 90))
        elif how == "gone late":
            if self.dice.random() < 0.5:
                self.other()
            state[0] = False
        return None if how in CALLER or answer is None or answer["res"] else answer

    def other(self) -> None:
        """Another till, with tags, does something in between; its answer may be lost too."""
        self._others += 1
        body: dict[str, Any] = {"device": "test", "type": 1, "fiscal": {"task": 18}}
        if self.dice.random() < 0.6:
            body = {**body, "tag": f"other {self._others}", "fiscal": {"task": 1, "receipt": sale(7)}}
        self.ask(body, self.dice.choice((heard, heard, nobody)))

    def done(self, coroutine: Any) -> Any:
        """The result of ``coroutine``."""
        return self.case.successResultOf(Deferred.fromCoroutine(coroutine))

    def round(self, n: int) -> None:
        """One task of the till, until it has received a success."""
        dice, score = self.dice, self.score
        task, amount = dice.choice((1, 1, 1, 1, 2, 3, 4)), f"{(1000 + n) // 100}.{(1000 + n) % 100:02d}"
        members = {"receipt": sale(amount)} if task < 3 else {"cash": {"type": 0, "sum": amount}}
        if task == 2:
            members["receipt"]["purchase_receipt_fisn"] = PURCHASE
        body = {"device": "test", "type": 1, "fiscal": {"task": task, **members}}
        answer: Answer | None = None
        for attempt in range(ATTEMPTS):
            lost = attempt == 0 or (attempt < ATTEMPTS - 1 and dice.random() < 0.5)
            answer = self.lose(body) if lost else self.ask(body)
            if answer is not None and answer["res"] == 0:
                break
            self.shop.clock.advance(dice.choice((0.5, 2, 20, 90)))
            if dice.random() < 0.3:
                self.other()
        score.rounds += 1
        self.judge(n, KINDS[task], answer)

    def judge(self, n: int, kind: str, answer: Answer | None) -> None:
        """Compare what the tax service has of a round with the one answer that the till received."""
        score = self.score
        made = [entry.number for entry in self.shop.ledger(kind=kind) if entry.sum == 1000 + n]
        if answer is None or answer["res"]:
            score.wrong.append(f"{n}: never done: {answer}")
            return
        told = " ".join(warning["wtxt"] for warning in answer["warnings"] if warning["code"] == 3004)
        silent = [number for number in made if number != answer["info"]["doccode"] and number not in told]
        score.receipts += len(made)
        score.seconds += len(made) - 1 - len(silent)
        score.returned += answer["task_status"] == 2
        score.spare += told.count("receipt ") - sum(number in told for number in made)
        if answer["info"]["doccode"] not in made:
            score.wrong.append(f"{n}: the till got {answer['info']['doccode']}, the tax service has {made}")
        if silent:
            score.wrong.append(f"{n}: {silent} were made in silence, beside {answer['info']['doccode']}: {told}")
        if self.repeat == "return" and len(made) > 1:
            score.wrong.append(f"{n}: a second receipt, though the first is returned: {made}")

    def run(self, rounds: int) -> None:
        """All rounds, in shifts."""
        for n in range(rounds):
            if n % SHIFT == 0:
                for task in (11, 0):
                    self.ask({"device": "test", "type": 1, "tag": f"{task} {n}", "fiscal": {"task": task}})
            self.round(n)


class _Stage(SynchronousTestCase):
    """A test case that owns the folder and the patches."""

    play: Any = None

    def runTest(self) -> None:
        """Run nothing."""
        type(self).play(self)
        self.flushLoggedErrors()


def run(rounds: int, seed: int, repeat: str = "warn", protocol: str = "a") -> Score:
    """``rounds`` tasks without tags; the same seed gives the same run.

    :param repeat: the setting `untagged_repeat`. :param protocol: of the tax service.
    """
    days: list[Day] = []

    def play(case: SynchronousTestCase) -> None:
        days.append(Day(case, seed, repeat, protocol))
        days[0].run(rounds)

    result = TestResult()
    type("Stage", (_Stage,), {"play": staticmethod(play)})().run(result)
    for _, trouble in (*result.errors, *result.failures):
        raise AssertionError(trouble)
    return days[0].score


def words(score: Score) -> str:
    """The results as text."""
    causes = ", ".join(f"{name} {count}" for name, count in sorted(score.lost.items()))
    lines = [
        f"{score.rounds} rounds, {score.lost.total()} lost answers ({causes})",
        f"{score.receipts} receipts, {score.seconds} second ones named by a warning in the very answer",
        f"{score.returned} earlier receipts returned, {score.spare} warnings more than needed",
        *(f"WRONG: {wrong}" for wrong in score.wrong[:20]),
        f"{len(score.wrong)} wrong",
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run and print the results; 1 when a receipt was made in silence."""
    parser = ArgumentParser(prog="python -m tests.untagged_chaos", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=2000, help="tasks of the till")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same run")
    parser.add_argument("--repeat", choices=("warn", "return"), default="warn", help="untagged_repeat")
    parser.add_argument("--protocol", choices=("a", "b"), default="a", help="that of the tax service")
    chosen = parser.parse_args(arguments)
    begun = time.monotonic()
    score = run(chosen.rounds, chosen.seed, chosen.repeat, chosen.protocol)
    print(f"{words(score)}\n{time.monotonic() - begun:.0f} s")
    return int(bool(score.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
