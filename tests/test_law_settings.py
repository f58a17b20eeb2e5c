"""Rules of the law that a shop switches on: UKTZED of excisable goods, storno, midnight, the change of zero."""

# mypy: disallow-untyped-calls=False
# (trial's assertions have no annotations)

from __future__ import annotations

import base64
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.devices.drivers import find_drivers
from dmtwisted.registers.prro.settings import PrroSettings
from tests.shop import Shop, sale


def receipt(*groups: tuple[int, str]) -> dict[str, Any]:
    """A receipt over an item of each tax group with its UKTZED code."""
    rows = [
        {"code": str(n), "name": f"Товар {n}", "cnt": 1, "price": 10, "taxgrp": group, "code2": code}
        for n, (group, code) in enumerate(groups)
    ]
    return {"sum": 10 * len(rows), "rows": rows, "pays": [{"type": 0, "sum": 10 * len(rows)}]}


class ExciseTests(SynchronousTestCase):
    """`excise_needs_uktzed`."""

    def setUp(self) -> None:
        """An open register."""
        self.shop = Shop(self)
        self.shop.open_shift()

    def codes(self, answer: dict[str, Any]) -> list[int]:
        """The codes of the warnings."""
        return [one["code"] for one in answer["warnings"]]

    def test_off(self) -> None:
        """By default an item with excise is sold as any other, as before."""
        for code in ("", "2208", "2208601100"):
            answer = self.shop.fiscal(1, receipt=receipt((3, code)))
            self.assertEqual((answer["res"], self.codes(answer)), (0, []))

    def test_warn(self) -> None:
        """With `warn` it is sold, and the rows without a code of ten digits are named; the others are not."""
        self.shop.settings(excise_needs_uktzed="warn")
        answer = self.shop.fiscal(1, receipt=receipt((3, ""), (1, ""), (6, "2208"), (3, "2208601100"), (8, "")))
        self.assertEqual((answer["res"], self.codes(answer)), (0, [3009]))
        self.assertTrue(answer["warnings"][0]["wtxt"].endswith(": 1, 3"), answer["warnings"])
        answer = self.shop.fiscal(1, receipt=receipt((3, " 2208601100 "), (1, "")))
        self.assertEqual((answer["res"], self.codes(answer)), (0, []))

    def test_refuse(self) -> None:
        """With `refuse` it is 2000 at the row's member and no number is used; a return is taken all the same."""
        self.shop.settings(excise_needs_uktzed="refuse")
        before = self.shop.fiscal(18)["info"]["docno"]
        for code in ("", "2208", "00123", "220860110", "22086011001", "22086O1100"):
            answer = self.shop.fiscal(1, receipt=receipt((1, ""), (3, code)))
            self.assertEqual(answer["res"], 2000, code)
            self.assertIn("fiscal.receipt.rows[1].code2", answer["errortxt"])
        self.assertEqual(self.shop.fiscal(18)["info"]["docno"], before)
        answers = [
            self.shop.fiscal(1, receipt=receipt((3, "2208601100"))),
            self.shop.fiscal(2, receipt=receipt((3, ""))),
        ]
        self.assertEqual([answer["res"] for answer in answers], [0, 0])

    def test_by_type(self) -> None:
        """Whether a levy is excise is what its type says, else its name."""
        group = {"code": 3, "name": "X", "ex_name": "Збір", "ex_percent": 500, "algorithm": 2}
        for kind, warned in ((None, [3009]), (1, [3009]), (2, [])):
            self.shop.settings(excise_needs_uktzed="warn", tax_groups=[{**group, "ex_type": kind}])
            self.assertEqual(self.codes(self.shop.fiscal(1, receipt=receipt((3, "")))), warned)


class StornoTests(SynchronousTestCase):
    """`storno_allowed`."""

    def test_forbidden(self) -> None:
        """Where it is switched off a storno is 1158 and the sale stays; a return is possible."""
        shop = Shop(self)
        shop.open_shift()
        shop.sell(10)
        shop.settings(storno_allowed=False)
        answer = shop.fiscal(17)
        self.assertEqual((answer["res"], answer["res_action"]), (1158, 3))
        self.assertEqual(shop.fiscal(18)["info"]["safe"], 10.0)
        self.assertEqual(shop.fiscal(2, receipt=sale(10))["res"], 0)
        shop.settings(storno_allowed=True)
        self.assertEqual(shop.fiscal(17)["res"], 0)


class MidnightTests(SynchronousTestCase):
    """`warn_midnight`."""

    def codes(self, shop: Shop, task: int, **members: Any) -> list[int]:
        """The codes of the warnings of a task that succeeds."""
        answer = shop.fiscal(task, **members)
        self.assertEqual(answer["res"], 0, answer)
        return [one["code"] for one in answer["warnings"]]

    def test_warned(self) -> None:
        """A shift with operations that is open after midnight in Kyiv warns in each answer until its Z."""
        shop = Shop(self)
        shop.settings(warn_midnight=True)
        shop.clock.advance(11 * 3600)
        shop.open_shift()
        self.assertEqual(self.codes(shop, 1, receipt=sale(10)), [])
        shop.clock.advance(4 * 3600 - 0.001)
        self.assertEqual(self.codes(shop, 1, receipt=sale(10)), [])
        shop.clock.advance(0.001)
        for task, members in ((18, {}), (10, {}), (1, {"receipt": sale(10)}), (3, {"cash": {"type": 0, "sum": 1}})):
            self.assertEqual(self.codes(shop, task, **members), [3008], task)
        self.codes(shop, 11)
        shop.open_shift()
        self.assertEqual(self.codes(shop, 1, receipt=sale(10)), [])

    def test_first_sale(self) -> None:
        """The first sale after midnight is one; a shift without operations is none, nor is the setting left off."""
        shop = Shop(self)
        shop.settings(warn_midnight=True)
        shop.open_shift()
        self.codes(shop, 1, receipt=sale(10))
        self.codes(shop, 11)
        shop.open_shift()
        shop.clock.advance(16 * 3600)
        self.assertEqual(self.codes(shop, 18), [])
        self.assertEqual(self.codes(shop, 1, receipt=sale(10)), [3008])
        shop.settings(warn_midnight=False)
        self.assertEqual(self.codes(shop, 18), [])

    def test_old_shift(self) -> None:
        """After a day 3003 says it."""
        shop = Shop(self)
        shop.settings(warn_midnight=True)
        shop.open_shift()
        shop.clock.advance(24 * 3600 + 1)
        self.assertEqual(self.codes(shop, 1, receipt=sale(10)), [3003])

    def test_new_register(self) -> None:
        """A new register at the tax service warns, one that is there does not."""
        self.assertIs(find_drivers()["register", "prro"].fresh("2026-11-23")["warn_midnight"], True)
        self.assertIs(PrroSettings().warn_midnight, False)


class ChangeTests(SynchronousTestCase):
    """`print_zero_change`."""

    def paper(self, shop: Shop, given: float) -> str:
        """The text form of a sale of 10 hryvnias."""
        asked = {**sale(10), "pays": [{"type": 0, "sum": given}]}
        answer = shop.fiscal(1, receipt=asked)
        self.assertEqual(answer["res"], 0, answer)
        return base64.b64decode(answer["pf_text"].partition(",")[2]).decode("cp1251")

    def test_left_out(self) -> None:
        """Without it a sale has the line of the change only when there is change; copies are as the original."""
        shop = Shop(self)
        shop.settings(pf_text=True)
        shop.open_shift()
        self.assertIn("Решта", self.paper(shop, 10))
        shop.settings(print_zero_change=False)
        self.assertNotIn("Решта", self.paper(shop, 10))
        shop.settings(print_zero_change=True)
        copy = shop.fiscal(22)
        self.assertNotIn("Решта", base64.b64decode(copy["pf_text"].partition(",")[2]).decode("cp1251"))
        shop.settings(print_zero_change=False)
        self.assertIn("Решта", self.paper(shop, 50))
