"""A shop with excise marks that is killed again and again: ``python -m tests.mark_chaos --kills 1000 --seed 1``.

Two registers sell and take back the same few bottles; a simulated marks service is asked before each sale and told
after it. In every round something goes wrong: the service is killed before or after a write, of the journal or of the
outbox, the disk fails, the tax service's answer is lost, the marks service is away or its answer is lost. The till
repeats its tag until it has a clear answer.

After every round the documents that the tax service accepted are read in their order: no mark may be sold twice
without a return in between, the store must hold exactly the marks that are sold, and the marks service must have been
told of each sale: accepted once, and repeated at most once for each kill or lost answer. The exit status is 1 when
anything disagrees.
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

from dmtwisted.documents import documents
from dmtwisted.registers import marks_service
from dmtwisted.registers.marks_service import ASK_S
from dmtwisted.store.values import DocumentQuery
from protocols.simulators.ledger import ACCEPTED, REFUSED
from protocols.simulators.marks_service import REPEATED, InProcessMarks, Mark, MarksService
from tests.batch_desk import WRITES, Blows
from tests.shop import Shop

Answer = dict[str, Any]

REGISTERS = ("test", "two")
BOTTLES = [f"T25і {n}\x1dx" for n in range(6)]
LETTERS = ("take_letters", "put_letter", "drop_letter")
ATTEMPTS = 30

STORE = ("killed before", "killed after", "failed before", "failed after")
TAX = ("lost_after", "lost_before", "silent", "refuse", "unreachable")
SERVICE = ("lost_after", "lost_before", "silent", "unreachable", "garbage")


@dataclass
class Score:
    """The results of a run; the same seed gives the same results."""

    rounds: int = 0
    kills: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    sales: int = 0
    returns: int = 0
    taken: int = 0
    """Sales that were refused because the mark was sold."""
    repeated: int = 0
    """Marks that the service was told once more."""
    wrong: list[str] = field(default_factory=list)


class Day:
    """The shop, its tills and what they know."""

    def __init__(self, case: SynchronousTestCase, seed: int) -> None:
        self.case, self.dice, self.score = case, Random(seed), Score()
        self.shop = Shop(case)
        self.service = MarksService(self.shop.clock)
        case.patch(marks_service, "to_service", lambda reactor: InProcessMarks(self.service, ASK_S))
        self.shop.add("two")
        for device in REGISTERS:
            self.shop.settings(
                device, marks_check="service", marks_url="http://localhost", marks_gs="|", check_cash=False
            )
            self.shop.open_shift(device)
        for bottle in BOTTLES:
            self.service.put(Mark(bottle))
        self.blows = Blows(case, self.shop, (*WRITES, *LETTERS))
        self._tags = self._read = 0
        self._held: dict[str, tuple[int, int]] = {}
        self._sold = Counter[str]()
        self.lost = 0
        """Kills and lost answers, each of which may make the service be told once more."""

    def ask(self, body: Answer) -> Answer | None:
        """The answer to ``body``; `None` when the service died."""
        due = self.shop.asked(body, "en")
        came: list[bytes] = []
        due.addCallback(came.append)
        for _ in range(200):
            if self.fallen() or came:
                break
            self.shop.clock.advance(0.5)
        if self.fallen():
            self.restart()
            return None
        answer: Answer = json.loads(came[0])
        return answer

    def fallen(self) -> bool:
        """Whether the service was killed."""
        return self.blows.struck and self.blows.killed

    def restart(self) -> None:
        """The service starts again, as after a kill."""
        self.score.kills += 1
        self.lost += 1
        self.blows.never()
        self.blows.struck = False
        for device in REGISTERS:
            self.shop.scenario(device=device)
        self.shop.crash()
        self.shop.clock.advance(4)

    def spoil(self, device: str) -> None:
        """Something goes wrong in this round."""
        how = self.dice.choice(("kill", "kill", "kill", "store", "tax", "service"))
        if how in ("kill", "store"):
            which = self.dice.choice(STORE[:2] if how == "kill" else STORE[2:])
            self.blows.at(self.dice.randint(1, 5), which)
        elif how == "tax":
            which = self.dice.choice(TAX)
            unanswered = [{"on": "probe", "then": "unreachable", "times": self.dice.randint(1, 4)}]
            rule = {"on": "any", "then": which, "code": "1038" if which == "refuse" else ""}
            self.shop.scenario(rule, *unanswered[: self.dice.randint(0, 1)], device=device)
        else:
            which = self.dice.choice(SERVICE)
            self.lost += 1
            self.service.scenario.replace({"rules": [{"on": "sale", "then": which}]})
        self.score.faults[f"{how}: {which}"] += 1

    def round(self) -> None:
        """One task of a till, until it has a clear answer, and then the books."""
        self.score.rounds += 1
        self._tags += 1
        task, device = self.dice.choice((1, 1, 2)), self.dice.choice(REGISTERS)
        sold = {row.mark for row in self.find("find_marks", BOTTLES)}
        fitting = [bottle for bottle in BOTTLES if (bottle in sold) == (task == 2)]
        # Now and then a till sells what is sold, or takes back what is not.
        pool = fitting if len(fitting) > 1 and self.dice.random() < 0.8 else BOTTLES
        bottles = self.dice.sample(pool, self.dice.randint(1, 2))
        body = {
            "device": device,
            "tag": f"t{self._tags}",
            "type": 1,
            "fiscal": {"task": task, "receipt": bill(bottles)},
        }
        self.spoil(device)
        answer = self.clear(body)
        self.blows.never()
        self.blows.struck = False
        for name in REGISTERS:
            self.shop.scenario(device=name)
        self.service.scenario.replace({"rules": []})
        if answer is None:
            self.score.wrong.append(f"{body['tag']}: no clear answer")
        elif answer["res"] == 0:
            self.score.sales += task == 1
            self.score.returns += task == 2
            if task == 2:
                # People put what came back into stock again.
                for bottle in bottles:
                    self.service.put(Mark(bottle))
        elif answer["res"] == 2101:
            self.score.taken += 1
        self.judge(f"{body['tag']} {task} {device} {bottles}")

    def clear(self, body: Answer) -> Answer | None:
        """The answer that says for good what became of the task."""
        for _ in range(ATTEMPTS):
            answer = self.ask(body)
            if answer is not None and (answer["res"] == 0 or answer["res_action"] == 3):
                return answer
            self.shop.clock.advance(self.dice.choice((0.5, 2, 20)))
        return None

    def judge(self, what: str) -> None:
        """Compare the documents, the store and the marks service."""
        for _ in range(100):
            self.shop.clock.advance(10)
            if self.fallen():
                self.restart()
            if not self.find("find_letters", ["marks"], False, 1, 0):
                break
        wrong, held, sold = self.score.wrong, self._held, self._sold
        for row in self.fresh():
            document = documents.decode(row.value)
            assert document.receipt is not None
            for mark in document.receipt.goods[0].marks:
                if document.kind == documents.SALE:
                    if mark in held:
                        wrong.append(f"{what}: {mark} is sold by {held[mark]} and by {row.device_n}, {row.number}")
                    held[mark] = row.device_n, row.number
                    sold[mark] += 1
                else:
                    held.pop(mark, None)
        rows = self.find("find_marks", BOTTLES)
        kept = {row.mark: (row.device_n, row.number) for row in rows}
        if kept != held or any(row.state != "sold" for row in rows):
            wrong.append(f"{what}: the store holds {rows}, the documents {held}")
        for status in (False, True):
            if left := self.find("find_letters", ["marks"], status, 10, 0):
                wrong.append(f"{what}: {left} are left")
        entries = list(self.service.ledger.entries())
        told = Counter(entry.number for entry in entries if entry.status == ACCEPTED)
        if told != sold or any(entry.status == REFUSED for entry in entries):
            wrong.append(f"{what}: the marks service was told {told}, sold were {sold}")
        self.score.repeated = sum(entry.status == REPEATED for entry in entries)
        if self.score.repeated > 2 * self.lost:
            wrong.append(f"{what}: {self.score.repeated} repeats after {self.lost} kills and lost answers")

    def fresh(self) -> list[Any]:
        """The sales and returns that were accepted since the last round, of all registers, in their order."""
        query = DocumentQuery(kinds=["sale", "return"], newest_first=False, limit=1000, offset=self._read)
        found = self.find("find_documents", query).documents
        self._read += len(found)
        return sorted(found, key=lambda row: (row.at, row.number))

    def find(self, verb: str, *arguments: Any) -> Any:
        """What the store has."""
        return self.case.successResultOf(Deferred.fromCoroutine(getattr(self.shop.store, verb)(*arguments)))


def bill(bottles: list[str]) -> Answer:
    """A receipt over these bottles."""
    total = 10 * len(bottles)
    row = {"code": "", "name": "Коньяк", "cnt": len(bottles), "price": 10, "taxgrp": 1, "code_aa": bottles}
    return {"sum": total, "rows": [row], "pays": [{"type": 2, "sum": total}], "purchase_receipt_fisn": "1"}


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
    parser = ArgumentParser(prog="python -m tests.mark_chaos", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=1000, help="how often the service is killed")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same run")
    chosen = parser.parse_args(arguments)
    begun = time.monotonic()
    score = run(chosen.kills, chosen.seed)
    faults = ", ".join(f"{name} {count}" for name, count in sorted(score.faults.items()))
    print(f"{score.rounds} rounds, {score.kills} kills ({faults})")
    print(f"{score.sales} sales, {score.returns} returns, {score.taken} refused as sold, {score.repeated} told again")
    print(*(f"WRONG: {wrong}" for wrong in score.wrong[:20]), sep="\n")
    print(f"{len(score.wrong)} wrong, {time.monotonic() - begun:.0f} s")
    return int(bool(score.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
