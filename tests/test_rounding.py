"""Cash rounding by the law's table (docs/law.md, C1 to C3), and what a new register does by itself."""

# mypy: disallow-untyped-calls=False
# (trial's assertions have no annotations)

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.devices.devices import register_settings
from dmtwisted.devices.drivers import find_drivers
from tests.oracle import nearest
from tests.prro_shop import PrroShop
from tests.shop import Shop
from tests.test_pages import PageCase
from tests.test_register_more import BY_CARD
from tests.web_case import DEVICES

KOPECKS = 1000
"""The whole part of each sum, 10 hryvnias."""

DRAWER = 10_000
"""Hryvnias in the drawer at first."""


def by_law(kopecks: int, step: int) -> int:
    """A sum in cash by the National Bank's table for the ``step``, as its text lists the endings."""
    hryvnias, ending = divmod(kopecks, 100)
    if step == 50:
        tables = ((range(25), 0), (range(25, 75), 50), (range(75, 100), 100))
        return hryvnias * 100 + next(rounded for endings, rounded in tables if ending in endings)
    tens, last = divmod(ending, 10)
    return hryvnias * 100 + tens * 10 + (10 if last >= 5 else 0)


def vat(kopecks: int) -> int:
    """The VAT of 20 % in a price."""
    return int(nearest(Fraction(kopecks, 100) * 20 / 120) * 100)


def receipt(kopecks: int, *pays: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A receipt over one item with VAT."""
    row = {"code": "1", "name": "Кава", "cnt": 1, "price": kopecks / 100, "taxgrp": 1}
    return {"sum": kopecks / 100, "rows": [row], "pays": list(pays), **members}


class TableTests(SynchronousTestCase):
    """Every ending of a sum."""

    def setUp(self) -> None:
        """A shop with cash in the drawer."""
        self.shop = Shop(self)
        self.shop.open_shift()
        self.shop.fiscal(3, cash={"type": 0, "sum": DRAWER})

    def kopecks(self, value: float) -> int:
        """An amount of an answer."""
        return round(value * 100)

    def test_every_ending(self) -> None:
        """Sales and returns in cash round by the table; drawer and reports follow; taxes are of the exact sum."""
        for step in (50, 10):
            self.shop.settings(rounding_step=step)
            self.shop.fiscal(11)
            self.shop.open_shift()
            safe = first = self.kopecks(self.shop.fiscal(18)["info"]["safe"])
            wanted = {1: [0, 0, 0], 2: [0, 0, 0]}
            for kopecks in range(KOPECKS, KOPECKS + 100):
                due = by_law(kopecks, step)
                for task, sign in ((1, 1), (2, -1)):
                    asked = receipt(kopecks, {"type": 0, "sum": kopecks / 100}, autoround=True)
                    answer = self.shop.fiscal(task, receipt=asked)
                    self.assertEqual(answer["res"], 0, answer)
                    told = answer["info"]["printinfo"]
                    figures = [told["sum_receipt"], told["round"], told["sum_topay"], told["taxes"][0]["tax_sum"]]
                    exact = [kopecks, due - kopecks, due, vat(kopecks)]
                    self.assertEqual([self.kopecks(one) for one in figures], exact, (step, kopecks, task))
                    safe += sign * due
                    self.assertEqual(self.kopecks(answer["info"]["safe"]), safe)
                    wanted[task] = [
                        had + more for had, more in zip(wanted[task], (kopecks, due, vat(kopecks)), strict=True)
                    ]
            z = self.shop.fiscal(11)["info"]
            for task, side in ((1, "p"), (2, "m")):
                summary, taxes = z["summary"], z["taxes"][0]
                told = [summary[f"base_{side}"], summary[f"calc_{side}"], taxes[f"tax_sum_{side}"]]
                self.assertEqual([self.kopecks(one) for one in told], wanted[task], (step, side))
            self.assertEqual(self.kopecks(z["safe"]), safe)
            self.assertEqual(safe - first, wanted[1][1] - wanted[2][1])

    def test_mixed(self) -> None:
        """Of a sum paid by card and in cash only the rest in cash is rounded, in a sale and in a return."""
        by_card = 430
        for kopecks in range(KOPECKS, KOPECKS + 100):
            cash = kopecks - by_card
            for task in (1, 2):
                asked = receipt(
                    kopecks, {**BY_CARD, "sum": by_card / 100}, {"type": 0, "sum": cash / 100}, autoround=True
                )
                answer = self.shop.fiscal(task, receipt=asked)
                self.assertEqual(answer["res"], 0, answer)
                told = answer["info"]["printinfo"]
                paid = {pay["type"]: self.kopecks(pay["sum"]) for pay in told["pays"]}
                self.assertEqual(paid, {2: by_card, 0: by_law(cash, 50)}, (kopecks, task))
                self.assertEqual(self.kopecks(told["sum_topay"]), by_card + by_law(cash, 50))

    def test_till_rounds(self) -> None:
        """A till that rounds itself says so in `round`, and its payments are the rounded sum: every ending."""
        for kopecks in range(KOPECKS, KOPECKS + 100):
            due = by_law(kopecks, 50)
            asked = receipt(kopecks, {"type": 0, "sum": due / 100}, round=(due - kopecks) / 100)
            for task in (1, 2):
                told = self.shop.fiscal(task, receipt=asked)
                self.assertEqual(told["res"], 0, told)
                figures = [told["info"]["printinfo"][name] for name in ("sum_receipt", "sum_topay")]
                self.assertEqual([self.kopecks(one) for one in figures], [kopecks, due])

    def test_refused(self) -> None:
        """A till's rounding that does not fit is refused with both sums in the text, in both languages."""
        cash = {"type": 0, "sum": 10.0}
        cases = [
            (50, receipt(1024, cash), 1102, ("10.24", "10.00", "0.50")),
            (50, receipt(1024, cash, round=-0.2), 1102, ("10.04", "10.00", "0.50")),
            (50, receipt(1124, cash, round=-1.24), 1112, ("11.24", "10.00")),
            (0, receipt(1024, cash, round=-0.24), 1115, ("10.24", "10.00")),
            (0, receipt(1024, cash), 1102, ("10.24", "10.00")),
        ]
        for step, asked, code, sums in cases:
            self.shop.settings(rounding_step=step)
            for language in ("uk", "en"):
                body = {"ver": 6, "device": "test", "type": 1, "fiscal": {"task": 1, "receipt": asked}}
                answer = self.shop.ask(body, language)
                self.assertEqual(answer["res"], code, answer)
                for amount in sums:
                    self.assertIn(amount, answer["errortxt"], (step, code))


class NewRegisterTests(PageCase):
    """What a register does that is added now."""

    def made(self, **settings: Any) -> Any:
        """The settings of a new register at the tax service."""
        body = {"device": str(uuid4()), "kind": "register", "driver": "prro", "settings": settings}
        answer = self.request("POST", DEVICES, {**body, "confirm_real": True})
        self.assertEqual(answer.status, 201, answer.body)
        return answer.json["settings"]

    def test_proposed(self) -> None:
        """A new register at the tax service rounds to 50 kopecks; 10 and none stay what was asked for."""
        self.assertEqual(self.made()["rounding_step"], 50)
        self.assertEqual([self.made(rounding_step=step)["rounding_step"] for step in (0, 10, 50)], [0, 10, 50])
        asked = {"device": "by a program", "prro_type": 1, "confirm_real": True}
        answer = self.request("POST", "/dm/main/api/v1/prro", asked).json
        self.assertEqual((answer["res"], answer["settings"]["rounding_step"]), (0, 50))

    def test_form(self) -> None:
        """The form of a new register shows 50, and so does the schema that programs read."""
        page = self.get("/dm/devices/new?kind=register&driver=prro").body.decode()
        field = page.partition('data-field="rounding_step"')[2].partition("</select>")[0]
        self.assertRegex(field, r'value="50"[^>]* selected')
        (driver,) = [one for one in self.get("/dm/api/v3/drivers").json["drivers"] if one["driver"] == "prro"]
        self.assertEqual(
            driver["settings_schema"]["$defs"]["PrroSettings"]["properties"]["rounding_step"]["default"], 50
        )

    def test_by_day(self) -> None:
        """Before 1 October 2025 it was 10 kopecks."""
        fresh = find_drivers()["register", "prro"].fresh
        self.assertEqual([fresh(day)["rounding_step"] for day in ("2025-09-30", "2025-10-01")], [10, 50])


class KeptTests(SynchronousTestCase):
    """What a register does that was there before."""

    def test_kept(self) -> None:
        """A register that was stored without the setting does not round, also after a change of another setting."""
        shop = PrroShop(self)
        stored = json.dumps({"fiscal_number": "4000000009"}).encode()
        adding = shop.store.add_device("old", "old", "register", "prro", stored)
        self.successResultOf(Deferred.fromCoroutine(adding))
        shop.crash()
        self.assertEqual(register_settings(shop.core.devices.by_name("old")).rounding_step, 0)
        shop.settings("old", shopname="Кав’ярня")
        self.assertEqual(register_settings(shop.core.devices.by_name("old")).rounding_step, 0)
