"""A shop that mails its receipts and is killed again and again: ``python -m tests.mail_chaos --kills 1000 --seed 1``.

Each round is a sale with an address, and something goes wrong: the service is killed before or after a write
of journal or outbox, or at some answer of the mail server; the disk fails, the tax service's answer is lost, the mail
server is away, says no, or breaks off. The till repeats its tag until it has a clear answer.

Afterwards every receipt that is registered must have been mailed to its customer, and nothing else; once, and once
more at most for each blow of its round, with the same bytes. The exit status is 1 when anything disagrees.
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

from tests.batch_desk import WRITES, Blows
from tests.mail_desk import MAIL, MailShop
from tests.shop import sale

Answer = dict[str, Any]

LETTERS = ("take_letters", "put_letter", "drop_letter")
ATTEMPTS = 30

STORE = ("killed before", "killed after", "failed before", "failed after")
TAX = ("lost_after", "lost_before", "silent", "refuse", "unreachable")
SERVER = ("away", "451 RCPT", "452 DATA", "550 MAIL", "breaks off", "killed")


@dataclass
class Score:
    """The results of a run; the same seed gives the same results."""

    rounds: int = 0
    kills: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    sales: int = 0
    refused: int = 0
    repeated: int = 0
    """E-mails that came once more."""
    wrong: list[str] = field(default_factory=list)


class Day:
    """The shop, its till, its mail server."""

    def __init__(self, case: SynchronousTestCase, seed: int) -> None:
        self.case, self.dice, self.score = case, Random(seed), Score()
        self.shop = MailShop(case)
        self.server = self.shop.server
        # TLS and the drawing of the PDF are tested elsewhere, and take most of the time.
        self.server.encrypts = False
        self.shop.configure(**MAIL)
        self.shop.configure(smtp_security="plain", smtp_password=MAIL["smtp_password"])
        self.shop.open_shift()
        self.blows = Blows(case, self.shop, (*WRITES, *LETTERS))
        self._kills_at_break = False
        self.lost = 0
        """Blows of this round, each of which may make an e-mail come once more."""

    def fallen(self) -> bool:
        """Whether the service was killed."""
        return (self.blows.struck and self.blows.killed) or (self.server.broke and self._kills_at_break)

    def restart(self) -> None:
        """The service starts again, as after a kill."""
        self.score.kills += 1
        self.calm()
        self.shop.crash()
        self.shop.clock.advance(4)

    def calm(self) -> None:
        """Nothing goes wrong any more."""
        self.blows.never()
        self.blows.struck = self.server.broke = self.server.away = self._kills_at_break = False
        self.server.cut = None
        self.server.refused.clear()
        self.shop.scenario()

    def advance(self, seconds: float) -> None:
        """Time passes, while bytes are delivered."""
        self.server.flush()
        if not self.fallen():
            self.shop.clock.advance(seconds)
            self.server.flush()

    def ask(self, body: Answer) -> Answer | None:
        """The answer to ``body``; `None` when the service died."""
        came: list[bytes] = []
        self.shop.asked(body, "en").addCallback(came.append)
        for _ in range(200):
            if self.fallen() or came:
                break
            self.advance(0.5)
        if self.fallen():
            self.restart()
            return None
        answer: Answer = json.loads(came[0])
        return answer

    def spoil(self) -> None:
        """Something goes wrong in this round."""
        how = self.dice.choice(("kill", "kill", "kill", "server", "server", "store", "tax"))
        if how in ("kill", "store"):
            which = self.dice.choice(STORE[:2] if how == "kill" else STORE[2:])
            self.blows.at(self.dice.randint(1, 5), which)
            self.lost += 1
        elif how == "tax":
            which = self.dice.choice(TAX)
            unanswered = [{"on": "probe", "then": "unreachable", "times": self.dice.randint(1, 4)}]
            rule = {"on": "any", "then": which, "code": "1038" if which == "refuse" else ""}
            self.shop.scenario(rule, *unanswered[: self.dice.randint(0, 1)])
        else:
            which = self.dice.choice(SERVER)
            code, _, step = which.partition(" ")
            if code.isdigit():
                self.server.refused[step] = int(code), "not now"
            elif which == "away":
                self.server.away = True
            else:
                # Without TLS there are seven answers up to the one to the message.
                self.server.cut = self.dice.randint(1, 7), self.dice.random() < 0.5
                self._kills_at_break = which == "killed"
                self.lost += 1
        self.score.faults[f"{how}: {which}"] += 1

    def round(self) -> None:
        """One sale of a till, until it has a clear answer, and then the books."""
        self.score.rounds += 1
        self.lost = 0
        tag = f"t{self.score.rounds}"
        to = f"{tag}@customer.example"
        fiscal = {"task": 1, "receipt": sale(5)}
        body = {"device": "test", "tag": tag, "type": 1, "fiscal": fiscal, "userinfo": {"email": to}}
        self.server.taken.clear()
        self.spoil()
        answer = self.clear(body)
        if answer is None:
            self.score.wrong.append(f"{tag}: no clear answer")
            return
        for _ in range(self.dice.randint(0, 12)):
            self.advance(10)
            if self.fallen():
                self.restart()
        self.calm_unless_killed()
        self.finish()
        if answer["res"] == 0:
            # One more repeat sends nothing more.
            self.ask(body)
            self.finish()
        self.judge(tag, to)

    def calm_unless_killed(self) -> None:
        """The end of the fault."""
        if self.fallen():
            self.restart()
        self.calm()

    def finish(self) -> None:
        """Let everything be told."""
        for _ in range(800):
            self.advance(10)
            if not self.find("find_letters", ["mail"], False, 1, 0):
                return

    def clear(self, body: Answer) -> Answer | None:
        """The answer that says for good what became of the sale."""
        for _ in range(ATTEMPTS):
            answer = self.ask(body)
            if answer is not None and (answer["res"] == 0 or answer["res_action"] == 3):
                return answer
            self.advance(self.dice.choice((0.5, 2, 20)))
            if self.fallen():
                self.restart()
        return None

    def judge(self, tag: str, to: str) -> None:
        """Compare the journal with what came to the customer."""
        score, came = self.score, [content for receiver, content in self.server.taken if receiver == to]
        registered = self.find("find", 1, "fiscal", tag)
        if registered is not None:
            score.sales += 1
            number = registered.documents[0].fiscal_number
            if not came:
                score.wrong.append(f"{tag}: {number} is registered and was not mailed")
            elif len(set(came)) > 1 or number not in str(self.server.mails[0]["Subject"]):
                score.wrong.append(f"{tag}: what came is not {number}")
            score.repeated += max(len(came) - 1, 0)
            if len(came) > 1 + self.lost:
                score.wrong.append(f"{tag}: mailed {len(came)} times after {self.lost} blows")
        else:
            score.refused += 1
            if came:
                score.wrong.append(f"{tag}: mailed, but not registered")
        if len(came) != len(self.server.taken):
            score.wrong.append(f"{tag}: {self.server.taken} came to others")
        for dead in (False, True):
            if left := self.find("find_letters", ["mail"], dead, 10, 0):
                score.wrong.append(f"{tag}: {left} are left")

    def find(self, verb: str, *arguments: Any) -> Any:
        """What the store has."""
        return self.case.successResultOf(Deferred.fromCoroutine(getattr(self.shop.store, verb)(*arguments)))


class _Stage(SynchronousTestCase):
    """A test case that owns the folder and the patches."""

    play: Any = None

    def runTest(self) -> None:
        """Run nothing."""
        type(self).play(self)
        self.flushLoggedErrors()


def run(kills: int, seed: int) -> Score:
    """Rounds until the service was killed so often; the same seed gives the same run."""
    days: list[Day] = []

    def play(case: SynchronousTestCase) -> None:
        days.append(Day(case, seed))
        while days[0].score.kills < kills and not days[0].score.wrong:
            days[0].round()

    result = TestResult()
    type("Stage", (_Stage,), {"play": staticmethod(play)})().run(result)
    for _, trouble in (*result.errors, *result.failures):
        raise AssertionError(trouble)
    return days[0].score


def main(arguments: list[str]) -> int:
    """Run and print the results; 1 when anything disagrees."""
    parser = ArgumentParser(prog="python -m tests.mail_chaos", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=1000, help="how often the service is killed")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same run")
    chosen = parser.parse_args(arguments)
    begun = time.monotonic()
    score = run(chosen.kills, chosen.seed)
    faults = ", ".join(f"{name} {count}" for name, count in sorted(score.faults.items()))
    print(f"{score.rounds} rounds, {score.kills} kills ({faults})")
    print(f"{score.sales} sales, {score.refused} refused, {score.repeated} e-mails came again")
    print(*(f"WRONG: {wrong}" for wrong in score.wrong[:20]), sep="\n")
    print(f"{len(score.wrong)} wrong, {time.monotonic() - begun:.0f} s")
    return int(bool(score.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
