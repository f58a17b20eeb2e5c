"""Receipts by the thousand, each calculated twice: by the register and by the oracle.

A usual run tries 2,000 receipts; with ``DMTWISTED_DEEP=1`` in the environment it tries a million.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Literal, cast

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents.catalogue import CASH, PAY_TYPES, TAX_GROUPS, PayType, TaxGroup
from dmtwisted.documents.documents import Receipt
from dmtwisted.registers.arithmetic import Rates, receipt
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.requests import ReceiptRequest, read_json, read_task
from dmtwisted.results import Refused, Res
from tests import oracle
from tests.oracle import Broken, Figures, Group, Silent, Till
from tests.specification import promises

settings.register_profile(
    "receipts", deadline=None, max_examples=2_000, suppress_health_check=(HealthCheck.too_slow,), print_blob=True
)
settings.register_profile("deep", settings.get_profile("receipts"), max_examples=1_000_000)

PROFILE = settings.get_profile("deep" if os.environ.get("DMTWISTED_DEEP") == "1" else "receipts")

OWN_GROUPS = (
    *oracle.GROUPS,
    Group(21, "П", vat=Fraction(20), levy=Fraction(5), algorithm=1),
    Group(22, "Р", vat=Fraction(20), algorithm=3, unit=Fraction("1.05")),
    Group(23, "С", vat=Fraction(20), on_top=True),
    Group(24, "Т", vat=Fraction(7), levy=Fraction("7.5"), on_top=True),
)
"""The groups of the field, and one for each other way of calculating."""

TILLS = (
    *(Till(step=step) for step in (0, 10, 50)),
    Till(step=50, default_group=2, groups_off=frozenset({4, 9}), pay_types_off=frozenset({3, 13})),
    Till(step=10, groups=OWN_GROUPS),
)


def settings_of(till: Till) -> RegisterSettings:
    """The settings of a register that allows what ``till`` allows."""
    return RegisterSettings(
        tax_groups=tuple(
            TaxGroup(
                code=group.code,
                name=f"Група {group.letter}",
                letter=group.letter,
                tax_name="ПДВ" if group.vat else "",
                percent=int(group.vat * 100),
                ex_name="Акциз" if group.levy or group.unit else "",
                ex_percent=int(group.levy * 100),
                algorithm=group.algorithm,
                included=not group.on_top,
                ex_rate=int(group.unit * 100),
                enabled=group.code not in till.groups_off,
            )
            for group in till.groups
        ),
        default_taxgrp=till.default_group,
        pay_types=tuple(PayType(code, f"Оплата {code}", code not in till.pay_types_off) for code in till.pay_types),
        rounding_step=cast(Literal[0, 10, 50], till.step),
    )


REGISTERS = {till: (settings_of(till), Rates(settings_of(till))) for till in TILLS}


def asked(members: dict[str, Any]) -> ReceiptRequest:
    """The receipt that a till spelled, as the service understands it."""
    body = {"device": "till", "type": 1, "fiscal": {"task": 1, "receipt": {"comment_up": "", **members}}}
    fiscal = read_task(read_json(json.dumps(body).encode())).fiscal
    assert fiscal is not None and fiscal.receipt is not None
    return fiscal.receipt


def calculated(members: dict[str, Any], till: Till) -> Receipt:
    """What our register makes of the receipt."""
    register_settings, rates = REGISTERS[till]
    return receipt(asked(members), register_settings, rates, "till")


@contextmanager
def told_with(members: dict[str, Any], till: Till) -> Iterator[None]:
    """A failure in this block shows the receipt, which trial would not."""
    try:
        yield
    except Exception as error:
        allowed = f"step {till.step}, groups without {set(till.groups_off)}"
        raise AssertionError(f"{error!r}\n{json.dumps(members, ensure_ascii=False)}\n{allowed}") from error


# What tills send

Spell = Callable[[int], Any]
"""How a till writes kopecks."""

SPELLINGS: tuple[Spell, ...] = (
    lambda kopecks: kopecks / 100,
    lambda kopecks: kopecks // 100 if kopecks % 100 == 0 else kopecks / 100,
    lambda kopecks: f"{'-' if kopecks < 0 else ''}{abs(kopecks) // 100}.{abs(kopecks) % 100:02d}",
)

PRICES = st.one_of(
    st.integers(1, 300), st.integers(1, 30_000), st.sampled_from((1, 2, 50, 99, 100, 999, 10_000, 9_999_999))
)
COUNTS = st.one_of(st.integers(1, 9).map(lambda count: count * 1000), st.integers(100, 4000))
PERCENTS = st.one_of(st.sampled_from((500, 1000, 5000, 3333, -1000)), st.integers(-3000, 10_000))


def whole(value: Fraction) -> int:
    """Hryvnias of the oracle as kopecks."""
    kopecks = value * 100
    assert kopecks.denominator == 1
    return int(kopecks)


@st.composite
def discounts(draw: st.DrawFn, of: int, spell: Spell) -> dict[str, Any]:
    """The members of a discount, or surcharge, on ``of`` kopecks; often there is none."""
    kind = draw(st.sampled_from((*["none"] * 8, *["amount"] * 3, *["percent"] * 3, "surcharge", "rest")))
    if kind == "none":
        return {}
    if kind == "percent":
        value, percent = draw(PERCENTS), 1
    elif kind == "rest":
        value, percent = of - draw(st.integers(0, 3)), 0
    else:
        value, percent = draw(st.integers(0, max(of // 2, 0))), 0
        value = -value if kind == "surcharge" else value
    members = {"disc": spell(value), "disc_type": percent}
    return {"discounts": [{**members, "disc_name": "знижка"}]} if draw(st.booleans()) else members


@st.composite
def rows(draw: st.DrawFn, till: Till, spell: Spell) -> dict[str, Any]:
    """One item."""
    price, cnt = draw(PRICES), draw(COUNTS)
    group = draw(st.sampled_from(till.groups))
    cost = whole(oracle.nearest(Fraction(price * cnt, 100_000)))
    members: dict[str, Any] = {
        "name": "Кава",
        "price": spell(price),
        "cnt": cnt // 1000 if cnt % 1000 == 0 else cnt / 1000,
        "taxgrp": str(group.code) if draw(st.booleans()) else group.code,
    }
    stated = draw(st.sampled_from(("no", "no", "zero", "cost", "sum", "off")))
    if stated == "zero":
        members["cost"] = 0
    elif stated == "off":
        cost = max(1, cost + draw(st.integers(-100, 100)))
        members["cost"] = spell(cost)
    elif stated != "no":
        members[stated] = spell(cost)
    return {**members, **draw(discounts(cost, spell))}


@st.composite
def pays(
    draw: st.DrawFn, till: Till, owed: int, rounding: int, autoround: bool, spell: Spell
) -> list[dict[str, Any]]:
    """Payments for ``owed`` kopecks, in one of the ways that tills have."""
    cashless = st.sampled_from(sorted(till.pay_types - {CASH}))
    how = draw(st.sampled_from(("cash", "cash", "cashless", "mixed", "mixed", "notes", "odd")))
    if how == "odd":
        entries = st.tuples(
            st.sampled_from((0, 0, 2, "2", "", 99, 7)), st.integers(0, 2 * owed + 1), st.integers(0, 9)
        )
        return [
            {"type": code, "sum": spell(amount), "change": spell(change)}
            for code, amount, change in draw(st.lists(entries, max_size=3))
        ]
    if how == "cashless":
        return [{"type": draw(cashless), "sum": spell(owed + rounding)}]
    by_card = draw(st.integers(1, max(owed - 1, 1))) if how == "mixed" and owed > 1 else 0
    exact_cash = owed - by_card
    due = exact_cash + rounding
    if autoround:
        due = whole(oracle.nearest(Fraction(exact_cash, 100), Fraction(till.step or 1, 100)))
    others = [{"type": draw(cashless), "sum": spell(by_card)}] if by_card else []
    extra = draw(st.one_of(st.just(0), st.integers(0, 5000), st.sampled_from((1, 50, 10_000))))
    form = draw(st.sampled_from(("kept", "tendered", "both", "exact")))
    if form == "kept":
        cash: list[dict[str, Any]] = [{"type": 0, "sum": spell(due), "change": spell(extra)}]
    elif form == "both":
        cash = [{"type": 0, "sum": spell(due + extra), "change": spell(extra)}]
    elif form == "tendered":
        cash = [{"type": 0, "sum": spell(due + extra)}]
    else:
        cash = [{"type": 0, "sum": spell(exact_cash if autoround else due)}]
    if how == "notes":
        total = {"kept": due, "exact": exact_cash if autoround else due}.get(form, due + extra)
        first = draw(st.integers(1, max(total - 1, 1)))
        cash = [{"type": 0, "sum": spell(first)}, {"type": "0", "sum": spell(total - first)}]
    return [*cash, *others] if draw(st.booleans()) else [*others, *cash]


SLIPS: tuple[dict[str, Any], ...] = (
    {"round": 1},
    {"round": "-1.00"},
    {"round": 0.99},
    {"round": -0.5, "autoround": True},
    {"sum": 0},
    {"rows": []},
    {"pays": []},
    {"pays": [{"type": 0, "sum": 0}]},
    {"pays": [{"type": 77, "sum": 1}]},
    {"disc": 1_000_000},
    {"disc": 100, "disc_type": 1},
    {"autoround": True},
)
ROW_SLIPS: tuple[dict[str, Any], ...] = (
    {"name": ""},
    {"name": "  "},
    {"price": 0},
    {"cnt": 0},
    {"cnt": 0.001},
    {"cnt": 0.001, "price": 4},
    {"price": -1},
    {"cost": 99_999},
    {"taxgrp": 99},
    {"taxgrp": 4},
    {"taxgrp": ""},
    {"taxgrp": "Б"},
    {"disc": 100, "disc_type": 1},
)
"""What goes wrong at tills."""


@st.composite
def receipts(draw: st.DrawFn) -> tuple[dict[str, Any], Till]:
    """A receipt as a till spells it, mostly a right one, and the register that it is sent to."""
    till = draw(st.sampled_from(TILLS))
    spell = draw(st.sampled_from(SPELLINGS))
    made: dict[str, Any] = {"rows": draw(st.lists(rows(till, spell), max_size=5))}
    try:
        total = whole(sum((row.left for row in oracle.goods(made, till)), Fraction(0)))
    except Broken:
        total = 1000
    made["sum"] = spell(total)
    if made["rows"]:
        made.update(draw(discounts(total, spell)))
    try:
        left = oracle.discounted(made, till)
        owed = whole(
            sum((row.left for row in left), Fraction(0))
            + sum((line.on_top for line in oracle.taxes(left).values()), Fraction(0))
        )
    except (Broken, Silent):
        owed = total
    rounding, autoround = 0, draw(st.booleans())
    if till.step and not autoround and made["rows"] and draw(st.booleans()):
        rounding = whole(oracle.nearest(Fraction(owed, 100), Fraction(till.step, 100))) - owed
        made["round"] = spell(rounding)
    if autoround:
        made["autoround"] = True
    if owed:
        made["pays"] = draw(pays(till, owed, rounding, autoround, spell))
    slip = draw(st.sampled_from(("no", "no", "no", "no", "no", "receipt", "row", "sum")))
    if slip == "receipt":
        made.update(draw(st.sampled_from(SLIPS)))
    elif slip == "row" and made["rows"]:
        made["rows"][draw(st.integers(0, len(made["rows"]) - 1))].update(draw(st.sampled_from(ROW_SLIPS)))
    elif slip == "sum":
        made["sum"] = spell(total + draw(st.sampled_from((-1, 1))))
    return made, till


MONEY = st.one_of(
    st.none(),
    st.integers(-(10**13), 10**13),
    st.integers(-100, 100),
    st.decimals(-1000, 1000, allow_nan=False, places=3).map(str),
    st.sampled_from(("", "0.01", "-0.01", "9999999999999.99", 0.1 + 0.2)),
)
CODES = st.one_of(st.integers(-1, 25), st.integers(0, 25).map(str), st.text(max_size=3), st.none())
TEXTS = st.one_of(st.none(), st.text(max_size=8), st.sampled_from(("Кава", "a\\nb", "\0", "4149439999991234")))
WILD_DISCOUNTS: dict[str, st.SearchStrategy[Any]] = {"disc": MONEY, "disc_type": st.sampled_from((0, 1, "1", None))}
WILD_ROWS = st.fixed_dictionaries(
    {"name": st.one_of(st.just("Кава"), TEXTS), "price": MONEY, "cnt": MONEY, "taxgrp": CODES},
    optional={
        "cost": MONEY,
        "sum": MONEY,
        "code": TEXTS,
        "code_aa": st.lists(TEXTS, max_size=2),
        "comment": TEXTS,
        "discounts": st.lists(st.fixed_dictionaries(WILD_DISCOUNTS), max_size=2),
        **WILD_DISCOUNTS,
    },
)
WILD_PAYS = st.fixed_dictionaries(
    {"type": CODES, "sum": MONEY}, optional={"change": MONEY, "commission": MONEY, "cardmask": TEXTS, "rrn": TEXTS}
)
WILD_RECEIPTS = st.fixed_dictionaries(
    {"sum": MONEY, "rows": st.lists(WILD_ROWS, max_size=3), "pays": st.lists(WILD_PAYS, max_size=3)},
    optional={
        "round": MONEY,
        "autoround": st.booleans(),
        "discounts": st.lists(st.fixed_dictionaries(WILD_DISCOUNTS), max_size=2),
        "comment_up": TEXTS,
        "comment_down": TEXTS,
        **WILD_DISCOUNTS,
    },
)


class CatalogueTests(SynchronousTestCase):
    """The tables of tax groups and payment types, against those of the oracle."""

    def test_tax_groups(self) -> None:
        """Groups 1 to 10 have the letters, rates and algorithms of the field."""
        self.assertEqual(
            [(group.code, group.letter, group.percent, group.ex_percent) for group in TAX_GROUPS],
            [(group.code, group.letter, group.vat * 100, group.levy * 100) for group in oracle.GROUPS],
        )
        self.assertEqual([group.algorithm for group in TAX_GROUPS], [group.algorithm for group in oracle.GROUPS])
        self.assertTrue(all(group.included and group.enabled for group in TAX_GROUPS))

    def test_tax_names(self) -> None:
        """A group has a name for its VAT and its levy where it has them, and always one in full."""
        for group in TAX_GROUPS:
            self.assertTrue(group.name)
            self.assertTrue(group.tax_name or not group.percent, group)
            self.assertEqual(bool(group.ex_name), bool(group.ex_percent), group)
        self.assertEqual((TAX_GROUPS[1].tax_name, TAX_GROUPS[1].name, TAX_GROUPS[1].letter), ("", "Без ПДВ", "Б"))

    def test_pay_types(self) -> None:
        """Payment types have the codes of the field, each with a name, all of them enabled."""
        self.assertEqual({pay_type.code for pay_type in PAY_TYPES}, oracle.PAY_TYPES)
        self.assertEqual(len({pay_type.name for pay_type in PAY_TYPES}), len(PAY_TYPES))
        self.assertTrue(all(pay_type.enabled for pay_type in PAY_TYPES))


class ReceiptTests(SynchronousTestCase):
    """Receipts of tills, calculated twice."""

    def assertAgrees(self, told: Receipt, figures: Figures) -> None:
        """Every sum, tax and total of the receipt is the oracle's."""
        self.assertEqual(
            {
                "rows": [(good.cost, good.disc, good.taxgrp, good.taxlit) for good in told.goods],
                "sum_0": told.sum_0,
                "sum_disc": told.sum_disc,
                "sum_receipt": told.sum_receipt,
                "round": told.round,
                "sum_topay": told.sum_topay,
                "change": told.change,
                "cash": sum(pay.sum for pay in told.pays if pay.type == CASH),
                "taxes": [(tax.gr_code, tax.base_sum, tax.tax_sum, tax.ex_sum) for tax in told.taxes],
            },
            {
                "rows": [
                    (whole(row.cost), whole(row.disc), row.group.code, row.group.letter) for row in figures.rows
                ],
                "sum_0": whole(figures.before),
                "sum_disc": whole(figures.taken_off),
                "sum_receipt": whole(figures.exact),
                "round": whole(figures.rounding),
                "sum_topay": whole(figures.due),
                "change": whole(figures.change),
                "cash": whole(figures.kept_cash),
                "taxes": [
                    (code, whole(tax.turnover), whole(tax.vat), whole(tax.levy))
                    for code, tax in sorted(figures.taxes.items())
                ],
            },
        )
        if figures.pays is not None:
            self.assertEqual(
                [(pay.type, pay.sum, pay.change, pay.tendered) for pay in told.pays],
                [(pay.type, whole(pay.kept), whole(pay.change), whole(pay.tendered)) for pay in figures.pays],
            )

    def assertSound(self, told: Receipt) -> None:
        """Whatever the receipt is, its parts add up."""
        on_top = sum(tax.on_top for tax in told.taxes)
        self.assertEqual(sum(good.cost for good in told.goods), told.sum_0)
        self.assertEqual(sum(good.disc for good in told.goods), told.sum_disc)
        self.assertEqual(told.sum_0 - told.sum_disc, told.sum_receipt)
        self.assertEqual(told.sum_receipt + on_top + told.round, told.sum_topay)
        self.assertEqual(sum(pay.sum for pay in told.pays), told.sum_topay)
        self.assertEqual(sum(pay.change for pay in told.pays), told.change)
        self.assertEqual(sum(tax.base_sum for tax in told.taxes), told.sum_receipt)
        self.assertEqual([tax.gr_code for tax in told.taxes], sorted({good.taxgrp for good in told.goods}))
        self.assertTrue(abs(told.round) <= 99)
        if told.pays:
            self.assertEqual(sum(pay.round for pay in told.pays), told.round)
            self.assertEqual(sum(pay.exact for pay in told.pays), told.sum_receipt + on_top)
        for good in told.goods:
            self.assertGreaterEqual(good.cost - good.disc, 1)
        in_cash = any(pay.type == CASH for pay in told.pays)
        for pay in told.pays:
            self.assertGreaterEqual(pay.sum, 0)
            self.assertGreaterEqual(pay.change, 0)
            self.assertEqual(pay.tendered, pay.sum + pay.change)
            self.assertTrue(not pay.round or not in_cash or pay.type == CASH)

    @promises("8.minimum-price", "8.rounding")
    @PROFILE
    @given(receipts())
    def test_agrees(self, case: tuple[dict[str, Any], Till]) -> None:
        """Register and oracle agree on every receipt: on each sum, or on the rule that it breaks."""
        members, till = case
        with told_with(members, till):
            told, code = None, 0
            try:
                told = calculated(members, till)
            except Refused as refused:
                code = refused.res.code
            try:
                figures = oracle.calculate(members, till)
            except Broken as broken:
                event(f"refused with {code}")
                self.assertIn(code, broken.codes)
            except Silent as silent:
                event(f"the rules are silent: {silent}")
                self.assertTrue(told is not None or code in {res.code for res in Res})
            else:
                event("a receipt")
                self.assertEqual(code, 0)
                assert told is not None
                self.assertAgrees(told, figures)
            if told is not None:
                self.assertSound(told)

    @settings(PROFILE, max_examples=PROFILE.max_examples // 4)
    @given(WILD_RECEIPTS, st.sampled_from(TILLS))
    def test_anything(self, members: dict[str, Any], till: Till) -> None:
        """Whatever arrives comes to a receipt that adds up, or to a refusal of the catalogue."""
        with told_with(members, till):
            try:
                told = calculated(members, till)
            except Refused as refused:
                self.assertIs(Res.by_code(refused.res.code), refused.res)
                self.assertTrue(refused.errortxt("uk") and refused.errortxt("en"))
            else:
                self.assertSound(told)
