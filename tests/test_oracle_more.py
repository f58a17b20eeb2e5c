"""Receipts by the thousand through the whole register: every answer, and the totals of them all, as the oracle says.

A usual run sends 16,000 receipts, sales, returns, incomes and expenses; with ``DMTWISTED_DEEP=1`` in the
environment it sends a million.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from tests.demo import Books, Comparison, kopecks, moves_of
from tests.oracle import CASH, GROUPS, Figures, Group, Till
from tests.shop import Shop
from tests.specification import promises
from tests.test_history import Customers, spelled

RECEIPTS = 1_000_000 if os.environ.get("DMTWISTED_DEEP") == "1" else 16_000

DAY = 1000
"""Receipts of a shift."""

SALE, RETURN, INCOME, EXPENSE = 1, 2, 15, 16

EVERY_ALGORITHM = (
    *(Group(n, letter, vat=Fraction(20), levy=Fraction(5), algorithm=n) for n, letter in enumerate("АБВ")),
    Group(3, "Г", vat=Fraction(20), unit=Fraction("0.35"), algorithm=3),
    Group(4, "Д", vat=Fraction(7)),
)

TILLS = (
    Till(step=50),
    Till(step=10, groups=EVERY_ALGORITHM),
    Till(step=50, groups=tuple(replace(group, on_top=True) for group in EVERY_ALGORITHM)),
    Till(step=10, groups=(*GROUPS[:2], *(replace(group, on_top=True) for group in GROUPS[2:]))),
)
"""The groups of the field, each algorithm with prices that hold their tax, the same without it, and a mixture."""


def said(info: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of an answer, in kopecks."""
    paper = info["printinfo"]
    kept: dict[int, int] = {}
    for paid in paper["pays"]:
        kept[paid["type"]] = kept.get(paid["type"], 0) + kopecks(paid["sum"])
    return {
        **{name: kopecks(paper[name]) for name in ("sum_0", "sum_disc", "sum_receipt", "round", "sum_topay")},
        "change": kopecks(paper["change"]),
        "goods": [(kopecks(good["cost"]), kopecks(good["disc"]), good["taxgrp"]) for good in paper["goods"]],
        "pays": kept,
        "taxes": [
            (tax["gr_code"], *(kopecks(tax[name]) for name in ("base_sum", "tax_sum", "ex_sum")))
            for tax in paper["taxes"]
        ],
    }


def calculated(body: Mapping[str, Any], figures: Figures) -> dict[str, Any]:
    """The same sums by the oracle."""
    kept: dict[int, int] = {}
    for paid in body["pays"]:
        if paid["type"] == CASH:
            kept[CASH] = kopecks(figures.kept_cash)
        else:
            kept[paid["type"]] = kept.get(paid["type"], 0) + kopecks(paid["sum"])
    return {
        "sum_0": kopecks(figures.before),
        "sum_disc": kopecks(figures.taken_off),
        "sum_receipt": kopecks(figures.exact),
        "round": kopecks(figures.rounding),
        "sum_topay": kopecks(figures.due),
        "change": kopecks(figures.change),
        "goods": [(kopecks(row.cost), kopecks(row.disc), row.group.code) for row in figures.rows],
        "pays": kept,
        "taxes": [
            (code, kopecks(tax.turnover), kopecks(tax.vat), kopecks(tax.levy))
            for code, tax in sorted(figures.taxes.items())
        ],
    }


class AnswerTests(SynchronousTestCase):
    """What the register answers to receipts that keep the rules."""

    maxDiff = None

    def day(self, till: Till, seed: int) -> None:
        """A shift of receipts."""
        dice = random.Random(seed)
        customers, books = Customers(dice, till), Books(till)
        shop = Shop(self)
        shop.settings(tax_groups=[spelled(group) for group in till.groups], rounding_step=till.step)
        shop.open_shift()
        for _ in range(DAY):
            body, figures = customers.receipt()
            task = dice.choice((SALE, SALE, SALE, RETURN, RETURN, INCOME, EXPENSE))
            answer = shop.fiscal(task, receipt={**body, "not_check_safe": True})
            sent = json.dumps({"seed": seed, "task": task, "receipt": body}, ensure_ascii=False)
            self.assertEqual((answer["res"], answer["errortxt"]), (0, ""), sent)
            self.assertEqual(said(answer["info"]), calculated(body, figures), sent)
            if task in (SALE, RETURN):
                books.receipt(body, sold=task == SALE)
            else:
                kept = calculated(body, figures)["pays"]
                books.money(
                    [{"type": code, "sum": Fraction(paid, 100)} for code, paid in kept.items()],
                    came_in=task == INCOME,
                )
            self.assertEqual(kopecks(answer["info"]["safe"]), books.safe, sent)
        self.assertEqual(
            Comparison(books.totals, {f"Z of {seed}": moves_of(shop.fiscal(11)["info"])}).differences(), []
        )

    @promises("2.2.fiscal.receipt.sum", "2.2.fiscal.receipt.disc", "2.2.fiscal.receipt.rows.3")
    def test_every_answer(self) -> None:
        """Each sum of each answer is the oracle's, for all four algorithms, and the Z is what they come to."""
        for seed in range(RECEIPTS // DAY):
            self.day(TILLS[seed % len(TILLS)], seed)
