"""Rates, names, rounding and requisites that change on a day: a shift keeps those of its opening."""

# mypy: disallow-untyped-calls=False
# (trial's assertions have no annotations)

from __future__ import annotations

import base64
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import msgspec
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import day_of, kyiv
from dmtwisted.devices.driver import BadSettings
from dmtwisted.doctor import devices as doctor
from dmtwisted.doctor.findings import Finding, Level
from dmtwisted.registers.prro.settings import PrroSettings
from dmtwisted.registers.settings import RegisterSettings, coming, on_day
from dmtwisted.results import Refused, Res
from tests.demo import Books, Comparison, moves_of
from tests.oracle import GROUPS, Till
from tests.prro_shop import PrroShop
from tests.shop import MORNING, Shop, sale
from tests.test_history import Customers, spelled
from tests.test_oracle_more import calculated, said
from tests.test_pages import PageCase
from tests.web_case import DEVICES

TO_MIDNIGHT = 15 * 3600.0
"""Seconds from the beginning of every test, 21 September 2026 at 9:00, to midnight in Kyiv."""

TOMORROW = "2026-09-22"

NEW_RATES = {1: Fraction(21), 3: Fraction(22), 9: Fraction(15)}
"""VAT from tomorrow."""

OLD = Till(step=10)
NEW = Till(step=50, groups=tuple(replace(group, vat=NEW_RATES.get(group.code, group.vat)) for group in GROUPS))

ROWS: list[dict[str, Any]] = [
    *(
        {"valid_from": TOMORROW, "setting": f"tax_groups.{code}.percent", "value": int(rate * 100)}
        for code, rate in NEW_RATES.items()
    ),
    {"valid_from": TOMORROW, "setting": "rounding_step", "value": 50},
    {"valid_from": TOMORROW, "setting": "name", "value": "ТОВ «Нова назва»"},
    {"valid_from": TOMORROW, "setting": "shopad", "value": "м. Львів"},
    {"valid_from": TOMORROW, "setting": "pay_types.2.name", "value": "Платіжна картка"},
    {"valid_from": TOMORROW, "setting": "pay_types.2.payformcd", "value": 301},
]
"""What changes tomorrow."""


class MidnightTests(SynchronousTestCase):
    """A shift that is open at midnight, and the next one, beside the oracle."""

    maxDiff = None

    def trade(self, shop: Shop, till: Till, seed: int, books: Books) -> None:
        """Sell and take back; every sum is what the oracle says for the ``till``."""
        dice = random.Random(seed)
        customers = Customers(dice, till)
        for _ in range(60):
            body, figures = customers.receipt()
            task = dice.choice((1, 1, 2))
            answer = shop.fiscal(task, receipt={**body, "not_check_safe": True})
            self.assertEqual((answer["res"], answer["errortxt"]), (0, ""), body)
            self.assertEqual(said(answer["info"]), calculated(body, figures), body)
            books.receipt(body, sold=task == 1)

    def test_open_shift(self) -> None:
        """With a shift open at midnight the old rates hold to its Z, the first receipt of the next has the new."""
        shop = Shop(self)
        shop.settings(tax_groups=[spelled(group) for group in GROUPS], rounding_step=OLD.step, dated=ROWS)
        shop.open_shift()
        books = Books(OLD)
        self.trade(shop, OLD, 1, books)
        shop.clock.advance(TO_MIDNIGHT - 0.001)
        self.trade(shop, OLD, 2, books)
        shop.clock.advance(0.001)
        self.assertEqual(day_of(shop.core.clock.now()), TOMORROW)
        self.trade(shop, OLD, 3, books)
        # Neither a restart nor a change of something else changes the shift.
        shop.crash()
        self.trade(shop, OLD, 4, books)
        shop.settings(footer=["Дякуємо"])
        self.trade(shop, OLD, 5, books)
        z = shop.fiscal(11)["info"]
        self.assertEqual(Comparison(books.totals, {"Z": moves_of(z)}).differences(), [])
        shop.open_shift()
        books = Books(NEW, safe=books.safe)
        self.trade(shop, NEW, 6, books)
        shop.crash()
        self.trade(shop, NEW, 7, books)
        self.assertEqual(Comparison(books.totals, {"Z": moves_of(shop.fiscal(11)["info"])}).differences(), [])

    def test_to_the_millisecond(self) -> None:
        """A shift opened in the last millisecond of a day has the old rates, one opened at midnight the new."""
        for early, percent in ((0.001, 20.0), (0.0, 21.0)):
            shop = Shop(self)
            shop.settings(dated=ROWS)
            shop.clock.advance(TO_MIDNIGHT - early)
            shop.open_shift()
            shop.clock.advance(60)
            receipt = sale(121)
            receipt["rows"][0]["taxgrp"] = 1
            told = shop.fiscal(1, receipt=receipt)["info"]["printinfo"]["taxes"][0]
            self.assertEqual(told["tax_percent"], percent)

    def test_names(self) -> None:
        """Names of payments, the payer and the address on paper change with the next shift, not in the open one."""
        shop = Shop(self)
        shop.settings(dated=ROWS, pf_text=True)
        shop.open_shift()
        shop.clock.advance(TO_MIDNIGHT)
        old = ["Навчальна крамниця", "вул. Прикладна", ": Картка"]
        new = ["Нова назва", "Львів", ": Платіжна картка"]
        for there, absent in ((old, new), (new, old)):
            receipt = {**sale(10), "pays": [{"type": 2, "sum": 10}]}
            answers = [shop.fiscal(1, receipt=receipt), *(shop.fiscal(task) for task in (10, 11))]
            for answer, names in zip(answers, (3, 2, 2), strict=True):
                self.assertEqual(answer["res"], 0, answer)
                form = base64.b64decode(answer["pf_text"].partition(",")[2]).decode("cp1251")
                for name in there[:names]:
                    self.assertIn(name, form)
                for name in absent[:names]:
                    self.assertNotIn(name, form)
            shop.open_shift()


class TaxServiceTests(SynchronousTestCase):
    """The documents of a register at the tax service."""

    def setUp(self) -> None:
        """A register that sells by card and in cash, and may go offline."""
        self.shop = PrroShop(self, "one", pay_codes="tax")
        self.shop.settings("one", default_taxgrp=1, dated=ROWS)

    def do(self, task: int, **members: Any) -> dict[str, Any]:
        """A task that succeeds."""
        answer = self.shop.fiscal(task, device="one", **members)
        self.assertEqual(answer["res"], 0, answer)
        return answer

    def sell(self) -> None:
        """A sale with VAT by card."""
        receipt = sale(121)
        receipt["rows"][0]["taxgrp"] = 1
        self.do(1, receipt={**receipt, "pays": [{"type": 2, "sum": 121}]})

    def told(self, document: Any) -> tuple[Any, ...]:
        """Rate and VAT, code and name of the payment, payer of a sale."""
        tax, pay = document.checktax[0], document.checkpay[0]
        return tax.prc, tax.sum, pay.payformcd, pay.payformnm, document.head.orgnm

    def test_documents(self) -> None:
        """Rates, codes, names and requisites in sales and Z are those of the shift's opening, offline too."""
        old = (2000, 2017, 1, "Картка", "ТОВ «Крамниця»")
        new = (2100, 2100, 301, "Платіжна картка", "ТОВ «Нова назва»")
        self.do(0)
        self.sell()
        self.shop.clock.advance(TO_MIDNIGHT)
        self.sell()
        self.shop.rules(*({"on": on, "then": "unreachable", "times": 0} for on in ("any", "probe")))
        self.sell()
        self.shop.crash()
        self.sell()
        self.do(11)
        self.do(0)
        self.sell()
        self.shop.rules()
        going = Deferred.fromCoroutine(self.shop.built("one").go_online("uk"))
        self.shop.settle(going)
        self.successResultOf(going)
        self.sell()
        self.do(11)
        taken = list(zip(self.shop.kinds(), self.shop.taken(), strict=True))
        self.assertEqual([self.told(one) for kind, one in taken if kind == "sale"], [old] * 4 + [new] * 2)
        reports = [one for kind, one in taken if kind == "z"]
        for z, percent, code in zip(reports, (2000, 2100), (1, 301), strict=True):
            self.assertEqual([tax.prc for tax in z.zreprealiz.taxes], [percent])
            self.assertEqual([form.payformcd for form in z.zreprealiz.payforms], [code])
        names = [one.head.orgnm for kind, one in taken if kind in ("open", "close", "z")]
        self.assertEqual(names, [old[-1]] * 3 + [new[-1]] * 3)

    def test_change_during_a_shift(self) -> None:
        """In an open shift a change from another day is taken, one that would change the shift is 1100."""
        self.do(0)
        later = {"valid_from": "2026-10-01", "setting": "vat_code", "value": "123"}
        self.shop.settings("one", dated=[*ROWS, later])
        today = {"valid_from": "2026-09-21", "setting": "vat_code", "value": "123"}
        for changes in (
            {"dated": [*ROWS, today]},
            {"rounding_step": 50},
            {"name": "ТОВ «Інша»"},
            {"shopad": "м. Одеса"},
            {"pay_types": [{"code": 0, "name": "Гроші"}, {"code": 2, "name": "Картка"}]},
        ):
            self.assertIs(self.refused(changes).res, Res.SHIFT_MUST_BE_CLOSED, changes)
        # After midnight the rows are valid, but not for this shift: taking them back would not change it.
        self.shop.clock.advance(TO_MIDNIGHT)
        self.shop.settings("one", dated=[later])
        self.shop.settings("one", dated=[*ROWS, later])
        self.do(11)
        self.do(0)
        self.assertIs(self.refused({"dated": [later]}).res, Res.SHIFT_MUST_BE_CLOSED)

    def refused(self, changes: dict[str, Any]) -> Refused:
        """Why a change of settings is refused."""
        devices = self.shop.core.devices
        change = Deferred.fromCoroutine(devices.change(devices.by_name("one").row.dev_id, None, changes))
        value = self.failureResultOf(change, Refused).value
        assert isinstance(value, Refused)
        return value


class RowTests(SynchronousTestCase):
    """What a row may say."""

    ROW: ClassVar[dict[str, Any]] = {"valid_from": "2027-01-01", "setting": "tax_groups.1.percent", "value": 2100}

    def read(self, *rows: dict[str, Any], **members: Any) -> PrroSettings:
        """Settings with these rows."""
        return msgspec.convert({**members, "dated": list(rows)}, PrroSettings)

    def test_order(self) -> None:
        """The latest row whose day has come counts, whatever their order; others of the group stay."""
        rows = [{**self.ROW, "valid_from": day, "value": n} for n, day in ((3, "2028-01-01"), (1, "2026-01-01"))]
        settings = self.read(*rows, self.ROW)
        found = [on_day(settings, day).tax_groups[0].percent for day in ("2025-12-31", "2026-01-01", "2027-06-01")]
        self.assertEqual([*found, on_day(settings, "2028-01-01").tax_groups[0].percent], [2000, 1, 2100, 3])
        group = on_day(settings, "2028-01-01").tax_groups[0]
        self.assertEqual(replaced(group, percent=2000), settings.tax_groups[0])
        self.assertEqual(on_day(settings, "2028-01-01").tax_groups[1:], settings.tax_groups[1:])

    def test_wrong(self) -> None:
        """A row that cannot come true is refused, with the row in the text."""
        for changes, words in (
            ({"setting": "tax_groups.1.code"}, "tax_groups.1.code"),
            ({"setting": "tax_groups.77.percent"}, "tax_groups.77.percent"),
            ({"setting": "tax_groups.1.colour"}, "tax_groups.1.colour"),
            ({"setting": "tax_groups"}, "tax_groups"),
            ({"setting": "offline_allowed", "value": True}, "offline_allowed"),
            ({"setting": "rounding_step", "value": 5}, "rounding_step"),
            ({"setting": "rounding_step.1", "value": 50}, "rounding_step.1"),
            ({"value": "21"}, "tax_groups.1.percent"),
            ({"valid_from": "2027-02-30"}, "2027-02-30"),
            ({"valid_from": "01.01.2027"}, "valid_from"),
        ):
            error = self.assertRaises(msgspec.ValidationError, self.read, {**self.ROW, **changes})
            self.assertIn(words, str(error))
        self.assertRaises(msgspec.ValidationError, self.read, self.ROW, {**self.ROW, "value": 1})
        # What is checked of all settings is checked of each day's too.
        name = {"valid_from": "2027-01-01", "setting": "pay_types.2.name", "value": "Заокруглення"}
        self.assertRaises(msgspec.ValidationError, self.read, name, batch={"pay_types": [2]})

    def test_without_rows(self) -> None:
        """Settings of an earlier version are read as they are; a day changes nothing."""
        settings = RegisterSettings()
        self.assertIs(on_day(settings, "2030-01-01"), settings)

    def test_notice(self) -> None:
        """A change is told from thirty days before to the last day before, soonest first."""
        settings = self.read(self.ROW, {**self.ROW, "valid_from": "2026-12-20", "setting": "name", "value": "x"})
        found = {day: [row.valid_from[5:] for row in coming(settings, day)] for day in _DAYS}
        self.assertEqual(
            found,
            {
                "2026-11-19": [],
                "2026-11-20": ["12-20"],
                "2026-12-01": ["12-20"],
                "2026-12-02": ["12-20", "01-01"],
                "2026-12-19": ["12-20", "01-01"],
                "2026-12-20": ["01-01"],
                "2026-12-31": ["01-01"],
                "2027-01-01": [],
            },
        )


_DAYS = (
    *("2026-11-19", "2026-11-20", "2026-12-01", "2026-12-02"),
    *("2026-12-19", "2026-12-20", "2026-12-31", "2027-01-01"),
)


def replaced(group: Any, **changes: Any) -> Any:
    """A tax group with changes."""
    return msgspec.structs.replace(group, **changes)


class ToldTests(PageCase):
    """What changes soon is told."""

    SOON: ClassVar[dict[str, Any]] = {"valid_from": "2026-10-21", "setting": "tax_groups.1.percent", "value": 2100}
    LATER: ClassVar[dict[str, Any]] = {"valid_from": "2026-10-22", "setting": "name", "value": "ТОВ «Потім»"}

    def setUp(self) -> None:
        """A register with a change in thirty days, and one in thirty-one."""
        super().setUp()
        self.assertEqual(f"{kyiv(int(MORNING * 1000)):%Y-%m-%d}", "2026-09-21")
        self.path = f"{DEVICES}/{self.ids()['test']}"
        body = {"settings": {"dated": [self.SOON, self.LATER]}}
        self.assertEqual(self.request("PATCH", self.path, body).status, 200)

    def test_z(self) -> None:
        """A Z carries a warning with the row; other documents do not."""
        answers = [self.shop.fiscal(task) for task in (0, 10, 11)]
        told = [[one for one in answer["warnings"] if one["code"] == 3007] for answer in answers]
        self.assertEqual(told[:2], [[], []])
        [warning] = told[2]
        self.assertIn("2026-10-21 tax_groups.1.percent = 2100", warning["wtxt"])
        self.assertNotIn("Потім", warning["wtxt"])

    def test_state(self) -> None:
        """The state of the register has it, with the value of today."""
        state = self.request("GET", self.path).json["state"]
        self.assertEqual(state["coming"], [{**self.SOON, "was": 2000}])

    def test_doctor(self) -> None:
        """The doctor tells it, without a fault."""
        looked = Deferred.fromCoroutine(doctor.look(self.shop.core.devices, self.shop.core.clock))
        self.shop.clock.pump([1.0] * 60)
        found: list[Finding] = [one for one in self.successResultOf(looked) if "2026-10-21" in one.text.en]
        self.assertEqual([(one.level, one.about) for one in found], [(Level.GOOD, "test")])
        self.assertIn("tax_groups.1.percent", found[0].text.uk)

    def test_pages(self) -> None:
        """The pages of the register show it; the page of its settings all rows, also later ones."""
        for path in (f"/dm/main/registers/{self.ids()['test']}", f"/dm/devices/{self.ids()['test']}"):
            self.assertIn("2026-10-21 tax_groups.1.percent: 2000 → 2100", self.page(path).text)
        page = self.page(f"/dm/devices/{self.ids()['test']}")
        self.assertIn("2026-10-22 name", page.text)

    def test_overruled(self) -> None:
        """A setting that a row has replaced already is not changed beside it, where it would have no effect."""
        self.shop.clock.advance(31 * 86_400)
        changed: dict[str, dict[str, Any]] = {"settings": {"name": "ТОВ «Інша»"}}
        answer = self.request("PATCH", self.path, changed)
        self.assertEqual([error["path"] for error in answer.json["errors"]], ["settings.dated"])
        self.assertIn("2026-10-22", answer.json["errortxt"])
        self.assertEqual(self.request("PATCH", self.path, {"settings": {"shopname": "Кухня"}}).status, 200)
        changed["settings"]["dated"] = []
        self.assertEqual(self.request("PATCH", self.path, changed).status, 200)

    def test_journal(self) -> None:
        """The journal of changes has the rows before and after."""
        self.request("PATCH", self.path, {"settings": {"dated": [self.SOON]}})
        [newest, *_] = self.request("GET", "/dm/api/v3/changes?kind=device").json["changes"]
        self.assertEqual(newest["before"]["dated"], [self.SOON, self.LATER])
        self.assertEqual(newest["after"]["dated"], [self.SOON])

    def test_refused(self) -> None:
        """A row that cannot come true is refused at its field, in the caller's language."""
        failing = Deferred.fromCoroutine(
            self.shop.core.devices.change(
                self.ids()["test"], None, {"dated": [{**self.SOON, "setting": "check_cash"}]}
            )
        )
        error = self.failureResultOf(failing, BadSettings).value
        assert isinstance(error, BadSettings)
        self.assertIn("check_cash is no setting that can change on a day", error.text)
