"""Histories: days of random tasks, after which the register's totals are equal to the shop's own books.

Each history is a random walk, given by a seed, over all tasks that move money, with repeats, refusals, lost answers,
crashes and offline sessions. With ``DMTWISTED_DEEP=1`` in the environment there are many more histories.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from tests.demo import (
    CARD,
    CARD_DATA,
    SAFE,
    TILL,
    WITHOUT_RATE,
    Books,
    Comparison,
    Moves,
    hryvnias,
    kopecks,
    moves_of,
)
from tests.oracle import CASH, GROUPS, PAY_TYPES, Broken, Figures, Group, Silent, Till, calculate, discounted, goods
from tests.oracle import taxes as taxes_of
from tests.shop import Shop, hurry
from tests.specification import promises

SEEDS = 200 if os.environ.get("DMTWISTED_DEEP") == "1" else 5
"""Histories of each kind."""

SHIFTS, STEPS = 3, 40

OTHER_TAXES = (
    *GROUPS[:3],
    Group(21, "П", vat=Fraction(20), levy=Fraction(5), algorithm=1),
    Group(22, "Р", vat=Fraction(20), algorithm=3, unit=Fraction("0.35")),
    Group(23, "С", vat=Fraction(20), on_top=True),
    Group(24, "Т", vat=Fraction(7), levy=Fraction("7.5"), on_top=True),
)
"""Groups of every algorithm, and some whose prices are without tax (docs/reference/tax-service.md#sums)."""


def spelled(group: Group) -> dict[str, Any]:
    """A tax group as in a register's settings; percentages are in hundredths of a percent."""
    return {
        "code": group.code,
        "letter": group.letter,
        "name": f"Група {group.letter}",
        "tax_name": "ПДВ" if group.vat or group.code == WITHOUT_RATE else "",
        "percent": int(group.vat * 100),
        "ex_name": "Акциз" if group.levy or group.unit else "",
        "ex_percent": int(group.levy * 100),
        "algorithm": group.algorithm,
        "included": not group.on_top,
        "ex_rate": int(group.unit * 100),
    }


class Customers:
    """Makes receipts: every call returns another one; the same seed gives the same receipts."""

    def __init__(self, dice: random.Random, till: Till) -> None:
        self._dice, self._till = dice, till

    def receipt(self) -> tuple[dict[str, Any], Figures]:
        """A valid receipt and its sums."""
        while True:
            body = self._body()
            try:
                return body, calculate(body, self._till)
            except (Broken, Silent):
                # A discount that leaves nothing, or cash that is rounded to zero: try another receipt.
                continue

    def broken(self) -> tuple[dict[str, Any], frozenset[int]]:
        """A receipt with a mistake, and the codes that may answer it."""
        while True:
            body = self._body()
            slip = self._dice.choice(("sum", "round", "name", "group", "pay", "price"))
            if slip == "sum":
                body["sum"] = hryvnias(kopecks(body["sum"]) + self._dice.choice((-1, 1)))
            elif slip == "round":
                body["round"] = self._dice.choice((-1, 1.5))
            elif slip == "pay":
                body["pays"] = [*body["pays"], {"type": self._dice.choice((1, 7, 99)), "sum": 0.01}]
            elif body["rows"]:
                wrong = {"name": ("name", " "), "group": ("taxgrp", 99), "price": ("price", 0)}
                member, value = wrong[slip]
                self._dice.choice(body["rows"])[member] = value
            try:
                calculate(body, self._till)
            except Broken as broken:
                return body, broken.codes
            except Silent:
                continue

    def _body(self) -> dict[str, Any]:
        """A receipt as a till writes it; a row may become negative."""
        dice = self._dice
        body: dict[str, Any] = {"rows": [self._row() for _ in range(dice.choice((0, 1, 1, 2, 3, 6)))], "pays": []}
        try:
            body["sum"] = hryvnias(sum(kopecks(row.left) for row in goods(body, self._till)))
            if body["rows"] and dice.random() < 0.4:
                body.update(self._discount(kopecks(body["sum"])))
            rows = discounted(body, self._till)
            owed = sum(kopecks(row.left) for row in rows)
            owed += sum(kopecks(tax.on_top) for tax in taxes_of(rows).values())
        except (Broken, Silent):
            return {**body, "sum": 0}
        if owed:
            self._pay(body, owed)
        return body

    def _row(self) -> dict[str, Any]:
        dice = self._dice
        group = dice.choice(self._till.groups).code
        price = dice.choice((dice.randint(1, 300), dice.randint(1, 30_000), 9_999))
        cnt = dice.choice((1000, 1000 * dice.randint(1, 9), dice.randint(1, 4000)))
        # A code is sold in one group only (1111), so the code contains it.
        row = {
            "name": "Кава",
            "code": f"{group}-{dice.randrange(20)}",
            "price": hryvnias(price),
            "cnt": cnt / 1000,
            "taxgrp": group,
        }
        if dice.random() < 0.3:
            row.update(self._discount(price * cnt // 1000))
        return row

    def _discount(self, of: int) -> dict[str, Any]:
        dice = self._dice
        if dice.random() < 0.5:
            found = {"disc": hryvnias(dice.randint(-of // 4, of // 2)), "disc_type": 0}
        else:
            found = {"disc": hryvnias(dice.randint(-1000, 5000)), "disc_type": 1}
        return {"discounts": [{**found, "disc_name": "Знижка"}]} if dice.random() < 0.3 else found

    def _pay(self, body: dict[str, Any], owed: int) -> None:
        dice, step = self._dice, self._till.step
        codes = sorted(PAY_TYPES - {CASH})
        others = []
        cash = owed
        for _ in range(dice.choice((0, 0, 1, 1, 2))):
            if cash > 1:
                amount = dice.randint(1, cash - 1)
                others.append(self._payment(dice.choice(codes), amount))
                cash -= amount
        if dice.random() < 0.3:
            body["pays"] = [*others, self._payment(dice.choice(codes), cash)]
            return
        kept = cash
        how = dice.choice(("exact", "autoround", "round"))
        if how != "exact":
            kept = (2 * cash + step) // (2 * step) * step
        if how == "autoround":
            body["autoround"] = True
        elif how == "round":
            body["round"] = hryvnias(kept - cash)
        back = dice.choice((0, dice.randint(0, 50_000)))
        paid = dice.choice(
            (
                {"sum": hryvnias(kept + back)},
                {"sum": hryvnias(kept + back), "change": hryvnias(back)},
                {"sum": hryvnias(kept), "change": hryvnias(back)},
            )
        )
        body["pays"] = [*others, {"type": CASH, **paid}]
        dice.shuffle(body["pays"])

    def _payment(self, code: int, amount: int) -> dict[str, Any]:
        return {"type": code, "sum": hryvnias(amount), **(CARD_DATA if code == CARD else {})}


class History:
    """A till at a register, with its own books.

    :param faults: whether answers are lost and the service crashes.
    :param offline: whether the register goes offline sometimes.
    """

    def __init__(
        self, case: SynchronousTestCase, seed: int, till: Till = TILL, *, faults: bool = False, offline: bool = False
    ) -> None:
        self._case, self._till = case, till
        self._dice = random.Random(seed)
        self._customers = Customers(self._dice, till)
        self._shop = Shop(case)
        self._shop.settings(offline_allowed=offline)
        if till is not TILL:
            self._shop.settings(tax_groups=[spelled(group) for group in till.groups], rounding_step=till.step)
        self._books = Books(till)
        self._entries: list[Moves] = []
        self._done: dict[str, dict[str, Any]] = {}
        self._asked: dict[str, tuple[int, dict[str, Any]]] = {}
        self._offline, self._stornable = False, False
        self._steps: list[Callable[[], None]] = [
            *[self._sale] * 20,
            *[self._return] * 5,
            *[self._cash_in, self._cash_out, self._withdrawal, self._income, self._expense] * 2,
            *[self._storno, self._repeat, self._slip, self.compare] * 2,
            *([self._lost, self._refused, self._crash] * 2 if faults else ()),
            *([self._go_offline, self._go_online] if offline else ()),
        ]
        self.zs: list[dict[str, Any]] = []

    def run(self) -> None:
        """Run all shifts, and compare the summaries at the end."""
        for _ in range(SHIFTS):
            self._success(0, {})
            self._stornable = False
            for _ in range(STEPS):
                self._dice.choice(self._steps)()
            self.compare()
            self._close()
        self._compare_summaries()
        self._compare_with_tax_service()

    # Tasks

    def _ask(self, task: int, members: Mapping[str, Any], tag: str) -> dict[str, Any]:
        return self._shop.fiscal(task, tag, **members)

    def _success(self, task: int, members: dict[str, Any]) -> dict[str, Any]:
        """``info`` of a task, which must succeed."""
        tag = f"t{len(self._asked)}"
        answer = self._ask(task, members, tag)
        self._case.assertEqual((answer["res"], answer["task_status"]), (0, 1), (task, members, answer))
        self._asked[tag], self._done[tag] = (task, members), answer
        self._stornable = True
        info: dict[str, Any] = answer["info"]
        return info

    def _refusal(self, task: int, members: dict[str, Any], codes: frozenset[int]) -> None:
        """Send a task that must be refused with one of ``codes``."""
        answer = self._ask(task, members, "")
        self._case.assertIn(answer["res"], codes, (task, members))

    def _sale(self) -> None:
        body, _ = self._customers.receipt()
        self._success(1, {"receipt": body})
        self._books.receipt(body, sold=True)

    def _return(self) -> None:
        body, figures = self._customers.receipt()
        if self._dice.random() < 0.2:
            body["not_check_safe"] = True
        elif kopecks(figures.kept_cash) > self._books.safe:
            return self._refusal(2, {"receipt": body}, frozenset({1077}))
        self._success(2, {"receipt": body})
        self._books.receipt(body, sold=False)

    def _cash_in(self) -> None:
        cash = {"type": CASH, "sum": hryvnias(self._dice.randint(0, 100_000))}
        self._success(3, {"cash": cash})
        self._books.money([cash], came_in=True)

    def _cash_out(self) -> None:
        amount = self._some_cash()
        cash = {"type": CASH, "sum": hryvnias(amount)}
        if amount > self._books.safe:
            return self._refusal(4, {"cash": cash}, frozenset({1077}))
        self._success(4, {"cash": cash})
        self._books.money([cash], came_in=False)

    def _withdrawal(self) -> None:
        amount = self._some_cash()
        cash = {"type": CARD, "sum": hryvnias(amount), **CARD_DATA}
        if amount > self._books.safe:
            return self._refusal(14, {"cash": cash}, frozenset({1077}))
        self._success(14, {"cash": cash})
        self._books.withdrawal(cash)

    def _some_cash(self) -> int:
        """An amount near the cash in the drawer: all of it, a part, or a kopeck too much."""
        safe = max(self._books.safe, 0)
        return self._dice.choice((safe, self._dice.randint(0, safe), safe + 1))

    def _income(self) -> None:
        self._turnover(15)

    def _expense(self) -> None:
        self._turnover(16)

    def _turnover(self, task: int) -> None:
        codes = self._dice.sample(sorted(PAY_TYPES), self._dice.randint(1, 3))
        pays = [
            {"type": code, "sum": hryvnias(self._dice.randint(1, 20_000)), **(CARD_DATA if code == CARD else {})}
            for code in codes
        ]
        body = {"sum": hryvnias(sum(kopecks(paid["sum"]) for paid in pays)), "pays": pays}
        if task == 16 and sum(kopecks(paid["sum"]) for paid in pays if paid["type"] == CASH) > self._books.safe:
            return self._refusal(task, {"receipt": body}, frozenset({1077}))
        self._success(task, {"receipt": body})
        self._books.money(pays, came_in=task == 15)

    def _storno(self) -> None:
        """Cancel the last document if possible; else nothing happens."""
        answer = self._ask(17, {}, "")
        if self._stornable:
            self._case.assertEqual(answer["res"], 0, answer)
            self._books.storno()
            self._stornable = False
        else:
            self._case.assertNotEqual(answer["res"], 0)

    def _repeat(self) -> None:
        """Repeat the tag of a finished task: the answer is the same, and nothing happens."""
        tag = self._dice.choice(sorted(self._done))
        task, members = self._asked[tag]
        again = self._ask(task, members, tag)
        self._case.assertEqual(again, {**self._done[tag], "task_status": 2})

    def _slip(self) -> None:
        """Send a receipt that breaks a rule."""
        body, codes = self._customers.broken()
        self._refusal(self._dice.choice((1, 2)), {"receipt": body}, codes)

    # Faults

    def _lost(self) -> None:
        """The tax service's answer is lost: settled in time or not; the till repeats, or another task comes first."""
        then = self._dice.choice(("lost_before", "lost_after", "garbage"))
        body, _ = self._customers.receipt()
        tag = f"t{len(self._asked)}"
        self._asked[tag] = 1, {"receipt": body}
        self._shop.scenario({"on": "sale", "then": then})
        settled = self._dice.random() < 0.5
        patience = None if settled else hurry(self._case)
        answer = self._ask(1, {"receipt": body}, tag)
        if patience is not None:
            patience.restore()
        wanted = (False, 0) if settled else (True, 2)
        self._case.assertEqual((answer["res"] > 0, answer["res_action"]), wanted, answer)
        happened = settled or then != "lost_before"
        if self._dice.random() < 0.3:
            self._crash()
        if self._dice.random() < 0.7:
            again = self._ask(1, {"receipt": body}, tag)
            self._case.assertEqual((again["res"], again["task_status"]), (0, 2 if happened else 1), again)
            self._done[tag] = {**again, "task_status": 1}
            happened = True
        if happened:
            self._books.receipt(body, sold=True)
            self._stornable = True
        self.compare()

    def _refused(self) -> None:
        """The tax service refuses a receipt or cannot be reached: nothing is sold."""
        then: dict[str, Any] = self._dice.choice(({"then": "refuse", "code": "9"}, {"then": "unreachable"}))
        self._shop.scenario({"on": "sale", **then})
        answer = self._ask(1, {"receipt": self._customers.receipt()[0]}, "")
        self._case.assertNotEqual(answer["res"], 0)

    def _crash(self) -> None:
        self._shop.crash()

    def _go_offline(self) -> None:
        if not self._offline:
            self._go("go_offline")

    def _go_online(self) -> None:
        if self._offline:
            self._go("go_online")

    def _go(self, way: str) -> None:
        register = self._shop.core.devices.by_name("test").built
        self._case.successResultOf(Deferred.fromCoroutine(getattr(register, way)("uk")))
        self._offline = way == "go_offline"
        # The document that begins the offline session is the last one now.
        self._stornable = False

    # Checks

    def compare(self) -> None:
        """An X report is equal to the books."""
        self._assertTells(self._report(10), self._books.totals)

    def _report(self, task: int, **members: Any) -> dict[str, Any]:
        answer = self._ask(task, members, "")
        self._case.assertEqual(answer["res"], 0, answer)
        info: dict[str, Any] = answer["info"]
        return info

    def _assertTells(self, info: Mapping[str, Any], books: Moves) -> None:
        self._case.assertEqual(Comparison(books, {"the report": moves_of(info)}).differences(), [])

    def _close(self) -> None:
        """A Z report is equal too, and the next shift begins with empty books and the same cash."""
        z = self._success(11, {})
        self._assertTells(z, self._books.totals)
        self.zs.append(z)
        self._entries += self._books.entries
        self._books = Books(self._till, self._books.safe)
        self._go_online()
        self._shop.clock.advance(24 * 3600)

    def _compare_summaries(self) -> None:
        """A summary of consecutive Z reports is their sum, with the cash of now."""
        for first in range(len(self.zs)):
            for last in range(first, len(self.zs)):
                chosen = self.zs[first : last + 1]
                whole: Moves = Counter()
                for z in chosen:
                    whole.update(moves_of(z))
                whole[SAFE] = self._books.safe
                numbers = {"n_from": chosen[0]["shift_link"], "n_to": chosen[-1]["shift_link"]}
                days = {"dt_from": chosen[0]["dt"][:8], "dt_to": chosen[-1]["dt"][:8]}
                for task, members in ((12, numbers), (13, days), (12, {**numbers, "is_short": True})):
                    info = self._report(task, **members)
                    self._assertTells(info, whole)
                    listed = [] if members.get("is_short") else [(z["docno"], z["doccode"]) for z in chosen]
                    self._case.assertEqual([(line["docno"], line["doccode"]) for line in info["reports"]], listed)

    def _compare_with_tax_service(self) -> None:
        """The tax service has each receipt once, with its sum."""
        for kind, side in (("sale", "p"), ("return", "m")):
            booked = [entry for entry in self._entries if entry["receipt", 0, f"count_{side}"] > 0]
            self._case.assertEqual(
                [entry.sum for entry in self._shop.ledger(kind=kind)],
                [entry["summary", 0, f"calc_{side}"] for entry in booked],
            )


class HistoryTests(SynchronousTestCase):
    """The totals after histories."""

    def walk(self, kind: int, **what: Any) -> None:
        """Run histories of one kind; a failure names the seed."""
        for seed in range(SEEDS):
            history = History(self, 1000 * kind + seed, **what)
            try:
                history.run()
            except AssertionError as error:
                raise AssertionError(f"{error}\nhistory {1000 * kind + seed}, {what}") from error

    @promises("3.3.1.4", "3.3.2.1", "3.3.2.2")
    def test_days(self) -> None:
        """X, Z and summaries are the sums of all receipts, cash moves, withdrawals, incomes, expenses, stornos."""
        self.walk(1)

    @promises("3.2.2.1", "3.2.2.2", "3.2.2.3", "3.2.2.4")
    def test_faults(self) -> None:
        """After lost answers, refusals and crashes every receipt is in the totals once or not at all."""
        self.walk(2, faults=True)

    @promises("3.1b.1")
    def test_offline(self) -> None:
        """Offline receipts count like all others, and the tax service has each of them afterwards."""
        self.walk(3, offline=True)

    def test_other_taxes(self) -> None:
        """The sums are right for levies and taxes that are added to the price, and for another rounding step."""
        self.walk(4, till=Till(step=10, groups=OTHER_TAXES))
