"""Prepayment and part payment: what a till sends, what it is answered, and what the paper and the reports say."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents import documents
from dmtwisted.documents.forms import receipt_form
from dmtwisted.requests import read_json, read_task
from dmtwisted.results import Refused
from tests.shop import Shop
from tests.test_print_forms import COFFEE_ALONE, lines_of, printed, sale
from tests.test_tax_documents import read_receipt

Told = dict[str, Any]

ROWS = [{"code": "1", "name": "Книга", "cnt": 1, "price": 115, "taxgrp": 1}]


class PartPaymentTests(SynchronousTestCase):
    """A shop that takes 15.00 of 115.00 first."""

    def setUp(self) -> None:
        """A register that is open, with a prepayment."""
        self.shop = Shop(self)
        self.shop.open_shift()
        self.first = self.done(self.pay(1, 15))

    def pay(self, kind: int | str, amount: float, first: str = "", task: int = 1, tag: str = "", **more: Any) -> Told:
        """The answer to a part of 115.00 in cash."""
        members = {"partpay_type": kind, "partpay_sum": amount, "partpay_receipt_fisn": first}
        receipt = {"sum": 115, "rows": ROWS, "pays": [{"type": 0, "sum": amount}], **members, **more}
        return self.shop.fiscal(task, tag, receipt={name: value for name, value in receipt.items() if value != ""})

    def done(self, answer: Told) -> Told:
        """``info`` of an answer that tells of success."""
        self.assertEqual((answer["res"], answer["errortxt"]), (0, ""))
        info: Told = answer["info"]
        return info

    def assertRefused(self, answer: Told, code: int, *words: str) -> None:
        """The task was refused for good, with these words."""
        self.assertEqual((answer["res"], answer["res_action"]), (code, 3), answer["errortxt"])
        for word in words:
            self.assertIn(word, answer["errortxt"])

    def test_answers(self) -> None:
        """The answer has the price, the part and what was paid, and its copy too; the drawer has the money."""
        final = self.done(self.pay(2, 85, self.first["doccode"]))
        copied = self.done(self.shop.fiscal(23, fiscal_number=final["doccode"]))
        for info in (final, copied):
            paper = info["printinfo"]
            told = [paper[name] for name in ("sum_0", "sum_receipt", "partpay_type", "partpay_sum", "sum_topay")]
            self.assertEqual(told, [115.0, 115.0, 2, 85.0, 85.0])
            self.assertEqual(paper["partpay_receipt_fisn"], self.first["doccode"])
            self.assertEqual((paper["taxes"][0]["tax_sum"], paper["pays"][0]["sum"]), (14.17, 85.0))
        self.assertEqual(final["safe"], 100.0)
        self.assertEqual(self.first["printinfo"]["partpay_receipt_fisn"], "")

    def test_without(self) -> None:
        """The answer to any other receipt has none of these members."""
        paper = self.done(self.shop.sell(50))["printinfo"]
        self.assertEqual([name for name in paper if name.startswith("partpay")], [])

    def test_link(self) -> None:
        """The link finds the receipt by the total of its document."""
        self.assertIn("&sm=115.00", self.first["qr"])

    def test_report(self) -> None:
        """X counts the parts, and the discount once, with the last of them."""
        rows = [{**ROWS[0], "disc": 15}]
        self.done(self.pay(3, 35, self.first["doccode"], sum=100, rows=rows))
        self.done(self.pay(2, 50, self.first["doccode"], sum=100, rows=rows))
        report = self.done(self.shop.fiscal(10))
        summary = report["summary"]
        self.assertEqual((summary["base_p"], summary["calc_p"], summary["disc_p"]), (100.0, 100.0, 15.0))
        self.assertEqual((report["receipt"]["count_p"], report["safe"]), (3, 100.0))
        self.assertEqual(report["taxes"][0]["tax_sum_p"], 2.5 + 5.83 + 8.33)

    def test_owed(self) -> None:
        """Batch mode charges the card with the part, and asks for the prepayment's number before that."""
        asked = {"sum": 115, "rows": ROWS, "partpay_type": 3, "partpay_sum": 15}
        self.assertEqual(self.shop.built().owed(read_receipt(asked)), 1500)
        body = {
            "device": "test",
            "type": 1,
            "fiscal": {"task": 1, "receipt": {**asked, "pays": [{"type": 2, "sum": 15}]}},
        }
        rehearsing = self.shop.built().rehearse(read_task(read_json(json.dumps(body).encode())))
        refused = self.failureResultOf(Deferred.fromCoroutine(rehearsing), Refused).value
        self.assertEqual(refused.details, ("fiscal.receipt.partpay_receipt_fisn",))

    def test_storno(self) -> None:
        """A storno takes the part back."""
        self.done(self.shop.fiscal(17))
        report = self.done(self.shop.fiscal(10))
        self.assertEqual((report["summary"]["base_p"], report["safe"]), (0.0, 0.0))

    def test_offline(self) -> None:
        """A part that was paid offline is taken at the return."""
        self.shop.settings(offline_allowed=True)
        register = self.shop.built()
        self.successResultOf(Deferred.fromCoroutine(register.go_offline("uk")))
        self.done(self.pay(2, 85, self.first["doccode"]))
        self.successResultOf(Deferred.fromCoroutine(register.go_online("uk")))
        self.assertEqual([entry.sum for entry in self.shop.ledger(kind="sale")], [11500, 11500])

    def test_members(self) -> None:
        """Kind, part and first receipt have to fit together; nothing is made of what does not."""
        code = self.first["doccode"]
        for members, words in (
            ((4, 15), "partpay_type: очікується 1, 2 або 3"),
            ((0, 15), "partpay_type"),
            ((0, 0, code), "partpay_type"),
            (("x", 15), "partpay_type"),
            ((1, 0), "partpay_sum"),
            ((1, -1), "partpay_sum"),
            ((1, 115.01), "partpay_sum: очікується сума від 0.01 до ціни 115.00, а не 115.01"),
            ((1, 15, code), "partpay_receipt_fisn: передплата не називає іншого чека"),
        ):
            self.assertRefused(self.pay(*members), 2000, "fiscal.receipt.", words)
        self.assertRefused(self.pay(1, 15, pays=[{"type": 2, "sum": 115}]), 1102)
        self.assertRefused(self.pay(1, 5, task=15, sum=115, rows=[]), 2000, "fiscal.receipt.partpay_type")
        self.assertEqual(len(self.shop.ledger(kind="sale")), 1)

    def test_first_receipt(self) -> None:
        """A further payment names the prepayment; a number of this register has to be one, of another is believed."""
        self.assertRefused(self.pay(2, 100), 1098, "fiscal.receipt.partpay_receipt_fisn")
        self.assertRefused(self.pay(2, 100.01, self.first["doccode"]), 2000, "partpay_receipt_fisn")
        plain = self.done(self.shop.sell(115))
        self.assertRefused(self.pay(2, 100, plain["doccode"]), 2000, "це не чек передплати")
        further = self.done(self.pay(3, 10, self.first["doccode"]))
        self.assertRefused(self.pay(2, 85, further["doccode"]), 2000, "це не чек передплати")
        self.done(self.pay(2, 90, self.first["doccode"]))
        self.done(self.pay(2, 100, "1317959"))

    def test_return(self) -> None:
        """A return of a part takes the number of the prepayment from the receipt that it names, or from the till."""
        final = self.done(self.pay(2, 100, self.first["doccode"]))
        back = self.done(self.pay(2, 100, task=2, purchase_receipt_fisn=final["doccode"]))
        self.assertEqual(back["printinfo"]["partpay_receipt_fisn"], self.first["doccode"])
        self.assertEqual(back["safe"], 15.0)
        self.assertRefused(self.pay(2, 10, task=2, purchase_receipt_fisn="77"), 1098, "partpay_receipt_fisn")
        told = self.done(self.pay(3, 10, "1317959", task=2, purchase_receipt_fisn="77"))
        self.assertEqual(told["printinfo"]["partpay_receipt_fisn"], "1317959")
        self.assertEqual(self.done(self.pay(1, 5, task=2))["safe"], 0.0)

    def test_repeat(self) -> None:
        """A repeat of the tag gets the same answer; another part under it is other content."""
        made = self.pay(1, 15, tag="part")
        self.assertEqual(self.pay(1, 15, tag="part"), {**made, "task_status": 2})
        self.shop.settings(strict_tags=True)
        self.assertEqual(self.pay(1, 16, tag="part")["res"], 1051)


class PaperTests(SynchronousTestCase):
    """What a part payment says on paper."""

    def test_lines(self) -> None:
        """Price, taxes, the kind of part with its sum and the sum to pay; the number of the prepayment at the top."""
        for kind, name, first in (
            (1, "Передплата", ""),
            (3, "Чергова сплата", "7"),
            (2, "Остаточний розрахунок", "7"),
        ):
            part = documents.PartPayment(type=kind, sum=1534, receipt_fisn=first)
            receipt = msgspec.structs.replace(COFFEE_ALONE, part=part, sum_topay=1530, round=-4)
            for width in (32, 48):
                lines = lines_of(receipt_form(sale(receipt), "TEST_17"), width)
                place = lines.index("СУМА 51.00")
                self.assertEqual(
                    lines[place : place + 5],
                    ["СУМА 51.00", "ПДВ А 20.00% 8.50", f"{name} 15.34", "Заокруглення -0.04", "ДО СПЛАТИ 15.30"],
                )
                self.assertEqual("Чек передплати № 7" in lines, bool(first))
        self.assertNotIn("передплати", "\n".join(printed(sale())))
