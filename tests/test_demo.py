"""The day in the shop ends without a difference, and a difference would be reported."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from tests.demo import SAFE, Books, Comparison, Moves, main, moves_of, pay, receipt, row, sales
from tests.oracle import GROUPS, PAY_TYPES
from tests.specification import promises

COUNT = ("receipt", 0, "count_p")


class DayTests(SynchronousTestCase):
    """The day on the real service."""

    @promises("1.2.1.1", "1.3.1.1", "1.4.1", "1.5.1.1")
    def test_books_agree(self) -> None:
        """After a day with all kinds of receipts, X, Z and both summaries are equal to the shop's own books."""
        said, complained = io.StringIO(), io.StringIO()
        with redirect_stdout(said), redirect_stderr(complained):
            status = main(["--quiet"])
        self.assertEqual((status, complained.getvalue()), (0, ""), said.getvalue())
        self.assertTrue(
            said.getvalue().endswith("\n49 documents, 84 values, 4 reports: all agree\n"), said.getvalue()
        )

    def test_no_service(self) -> None:
        """A service that cannot start is reported with its output, and the exit status is 1."""
        said, complained = io.StringIO(), io.StringIO()
        with redirect_stdout(said), redirect_stderr(complained):
            status = main(["--quiet", "--port", "65536"])
        self.assertEqual((status, said.getvalue()), (1, ""))
        self.assertRegex(complained.getvalue(), "^demo: the service does not start:\n(.*\n)*.*65536")


class SalesTests(SynchronousTestCase):
    """The parts of the day."""

    def test_all_kinds(self) -> None:
        """Forty sales use every tax group, every payment type, every kind of discount and rounding."""
        bodies = [body for _, body in sales()]
        rows = [row for body in bodies for row in body["rows"]]
        pays = [pay for body in bodies for pay in body["pays"]]
        self.assertEqual(len(bodies), 40)
        self.assertEqual({row["taxgrp"] for row in rows}, {group.code for group in GROUPS})
        self.assertEqual({pay["type"] for pay in pays}, PAY_TYPES)
        for kind in (rows, bodies):
            discounts = {(one.get("disc_type", 0), one["disc"] > 0) for one in kind if "disc" in one}
            self.assertTrue(discounts >= {(0, True), (1, True)}, discounts)
            self.assertTrue(any("discounts" in one for one in kind))
        self.assertTrue(
            {(0, False), (1, False)} <= {(row.get("disc_type", 0), row.get("disc", 0) > 0) for row in rows}
        )
        for member in ("autoround", "round", "comment_up", "comment_down"):
            self.assertTrue(any(body.get(member) for body in bodies), member)
        for member in ("code_a", "code_aa", "comment"):
            self.assertTrue(any(row.get(member) for row in rows), member)
        self.assertIn([], [body["rows"] for body in bodies])
        self.assertTrue(any(len(body["pays"]) == 3 for body in bodies))

    def test_same_every_time(self) -> None:
        """The day is the same each time."""
        self.assertEqual(list(sales()), list(sales()))


class BooksTests(SynchronousTestCase):
    """The shop's own books, by examples calculated by hand."""

    def setUp(self) -> None:
        self.books = Books()

    def assertMoved(self, **moves: int) -> None:
        """Assert these totals; they are named ``section_code_member``."""
        said = {"_".join(str(part) for part in key if part != ""): value for key, value in self.books.totals.items()}
        self.assertEqual({name: said.get(name, 0) for name in moves}, moves)

    def test_excise(self) -> None:
        """Of 259.90 with excise 5 % and VAT 20 %, 12.38 are excise and 41.25 are VAT."""
        self.books.receipt(receipt([row("wine")], pay()), sold=True)
        self.assertMoved(
            taxes_3_base_sum_p=25990,
            taxes_3_base_ex_sum_p=25990,
            taxes_3_ex_sum_p=1238,
            taxes_3_base_tax_sum_p=24752,
            taxes_3_tax_sum_p=4125,
            summary_0_taxex_p=1238,
        )

    def test_levy_inside(self) -> None:
        """Of 1999.99 with VAT 20 % and levy 7.5 %, 313.72 are VAT and 117.65 are the levy."""
        self.books.receipt(receipt([row("ring")], pay()), sold=True)
        self.assertMoved(taxes_8_base_sum_p=199_999, taxes_8_tax_sum_p=31_372, taxes_8_ex_sum_p=11_765)

    def test_rounding(self) -> None:
        """Of 79.83 paid with a note of 100, 80.00 stay in the drawer, and 0.17 is rounding."""
        body = {
            "sum": 79.83,
            "autoround": True,
            "rows": [{"name": "Кава", "cnt": 1, "price": 79.83, "taxgrp": 1}],
            "pays": [{"type": 0, "sum": 100}],
        }
        self.books.receipt(body, sold=True)
        self.assertMoved(pays_0_sum_p=7983, pays_0_round_pu=17, pays_0_round_pd=0, safe_0=8000, summary_0_calc_p=8000)

    def test_discount_is_spread(self) -> None:
        """10.00 off three equal items take 3.33 twice, and the rest from the last one."""
        rows = [{"name": "Кава", "cnt": 1, "price": 20, "taxgrp": group} for group in (1, 2, 4)]
        self.books.receipt(receipt(rows, pay(), disc=10), sold=True)
        self.assertMoved(
            taxes_1_base_sum_p=1667, taxes_2_base_sum_p=1667, taxes_4_base_sum_p=1666, summary_0_disc_p=1000
        )

    def test_storno(self) -> None:
        """After a storno the books are as before."""
        self.books.receipt(receipt([row("bag")], pay()), sold=True)
        before = self.books.totals
        self.books.receipt(receipt([row("ring")], pay()), sold=False)
        self.assertNotEqual(self.books.totals, before)
        self.books.storno()
        self.assertEqual(self.books.totals, before)


class ComparisonTests(SynchronousTestCase):
    """The comparison of books and reports."""

    def test_differences(self) -> None:
        """A value that differs, is missing or is extra is reported, with both amounts and the report."""
        books: Moves = Counter({SAFE: 50_000, COUNT: 40, ("pays", 0, "sum_p"): 12})
        good = Counter(books)
        bad: Moves = Counter({SAFE: 50_000, COUNT: 41, ("pays", 2, "sum_p"): 5})
        comparison = Comparison(books, {"X": good, "Z": bad})
        self.assertEqual(
            comparison.differences(),
            [
                "pays 0 sum_p: 0.12 in the books, 0.00 in Z",
                "pays 2 sum_p: 0.00 in the books, 0.05 in Z",
                "receipt count_p: 40 in the books, 41 in Z",
            ],
        )
        lines = str(comparison).splitlines()
        self.assertEqual([line.endswith("differs") for line in lines], [False, True, True, True, False])
        self.assertEqual(Comparison(books, {"X": good}).differences(), [])

    def test_told(self) -> None:
        """Every amount of a report is read: payments with roundings, cash, taxes, summary, counts, safe."""
        line = {"type": 0, "name": "Готівка", "sum_p": "1.5", "sum_m": 0, "round_pu": "0.01"}
        tax = {"gr_code": 3, "tax_name": "ПДВ", "tax_percent": 20, "base_ex_sum_p": "2.0", "tax_sum_m": "0.1"}
        info: dict[str, Any] = {
            "safe": "7.0",
            "docno": "9",
            "pays": [line],
            "money": [line],
            "cash": [{"type": 2, "name": "Картка", "sum_m": "5.25"}],
            "taxes": [tax],
            "summary": {"base_p": "1.5", "calc_p": "0.0"},
            "receipt": {"count_p": 1, "count_m": 0, "last_docno_p": 8},
        }
        self.assertEqual(
            moves_of(info),
            {
                SAFE: 700,
                COUNT: 1,
                ("summary", 0, "base_p"): 150,
                ("pays", 0, "sum_p"): 150,
                ("pays", 0, "round_pu"): 1,
                ("money", 0, "sum_p"): 150,
                ("money", 0, "round_pu"): 1,
                ("cash", 2, "sum_m"): 525,
                ("taxes", 3, "base_ex_sum_p"): 200,
                ("taxes", 3, "tax_sum_m"): 10,
            },
        )
