"""A second calculation of receipts, independent of ours: written from the rules, with fractions, in hryvnias.

It imports no module of the service. It takes a receipt as a till writes it in JSON and returns what every sum has to
be, or which rules the receipt breaks. The rules are those of the specification (7.2, 8) and of the reference pages:

1. A row's amount is its ``cost``, else price times quantity; then its discounts are subtracted.
2. The rows add up to ``sum``; then the receipt's discounts are subtracted: a percentage of each row, or an amount in
   proportion to the rows; the last row takes the rest that rounding leaves.
3. Taxes are calculated for each tax group, by its algorithm, and rounded once.
4. Cash is rounded, by the till or by us; the payments without change add up to the amount to pay.

Rules are checked in this order, rows and payments one after the other. If a receipt breaks several rules of one
step, the rules do not say which is reported first, with two exceptions: a row's name comes before its other members,
and the range of the rounding before the question whether it is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any

KOPECK = Fraction(1, 100)
CASH = 0


@dataclass(frozen=True)
class Group:
    """A tax group: percentages of VAT and levy, and how the price contains them (docs/reference/tax-service.md#sums).

    ``unit`` is the excise for one unit (algorithm 3). ``on_top`` says that prices do not include VAT.
    """

    code: int
    letter: str
    vat: Fraction = Fraction(0)
    levy: Fraction = Fraction(0)
    algorithm: int = 0
    unit: Fraction = Fraction(0)
    on_top: bool = False


GROUPS = (
    Group(1, "А", vat=Fraction(20)),
    Group(2, "Б"),
    Group(3, "ГД", vat=Fraction(20), levy=Fraction(5), algorithm=2),
    Group(4, "В", vat=Fraction(7)),
    Group(5, "Е"),
    Group(6, "Ж", levy=Fraction(5), algorithm=2),
    Group(7, "З"),
    Group(8, "ИК", vat=Fraction(20), levy=Fraction("7.5")),
    Group(9, "Л", vat=Fraction(14)),
    Group(10, "М", vat=Fraction(18), levy=Fraction("1.5")),
)
"""The usual tax groups (docs/reference/http-interface.md#tax-groups; excise by algorithm 2, groups 8 and 10 by 0)."""

PAY_TYPES = frozenset((0, 1, 2, 3, 4, 5, 6, 8, *range(11, 21)))
"""The usual payment types (docs/reference/http-interface.md#payment-types)."""


@dataclass(frozen=True)
class Till:
    """A register's limits: its groups and payment types, those switched off, its rounding step of cash in kopecks."""

    step: int = 0
    groups: tuple[Group, ...] = GROUPS
    groups_off: frozenset[int] = frozenset()
    pay_types: frozenset[int] = PAY_TYPES
    pay_types_off: frozenset[int] = frozenset()
    default_group: int = 0


class Broken(Exception):
    """The receipt breaks rules; the answer is one of ``codes``."""

    def __init__(self, *codes: int) -> None:
        super().__init__(*codes)
        self.codes = frozenset(codes)


class Silent(Exception):
    """The rules do not define the sums of such a receipt."""


@dataclass(frozen=True)
class Row:
    """A row of the receipt, with all its discounts."""

    cost: Fraction
    disc: Fraction
    cnt: Fraction
    group: Group

    @property
    def left(self) -> Fraction:
        """What remains to pay for it."""
        return self.cost - self.disc


@dataclass(frozen=True)
class Tax:
    """The sums of one tax group."""

    turnover: Fraction
    vat: Fraction
    levy: Fraction
    on_top: Fraction


@dataclass(frozen=True)
class Paid:
    """One payment: the amount that the till keeps, and the amount handed over."""

    type: int
    kept: Fraction
    change: Fraction

    @property
    def tendered(self) -> Fraction:
        """The amount handed over."""
        return self.kept + self.change


@dataclass(frozen=True)
class Figures:
    """All sums of a receipt.

    ``pays`` is given when it is certain: of several payments in cash only ``kept_cash`` and ``change`` are.
    """

    rows: tuple[Row, ...]
    taxes: Mapping[int, Tax]
    before: Fraction
    taken_off: Fraction
    exact: Fraction
    owed: Fraction
    rounding: Fraction
    due: Fraction
    change: Fraction
    kept_cash: Fraction
    pays: tuple[Paid, ...] | None = field(default=None)


def nearest(value: Fraction, unit: Fraction = KOPECK) -> Fraction:
    """``value`` to the nearest multiple of ``unit``, halves away from zero."""
    steps = floor(abs(value) / unit + Fraction(1, 2)) * unit
    return steps if value >= 0 else -steps


def read(value: Any) -> Fraction:
    """The number that a till wrote; a missing one is zero."""
    return Fraction(0) if value in (None, "") else Fraction(str(value).strip())


def money(value: Any) -> Fraction:
    """The amount that a till wrote."""
    return nearest(read(value))


# Rows and discounts


def goods(receipt: Mapping[str, Any], till: Till) -> list[Row]:
    """The rows after their own discounts.

    :raises Broken: for the first row that breaks a rule.
    """
    return [_row(row, till) for row in receipt.get("rows") or ()]


def _row(row: Mapping[str, Any], till: Till) -> Row:
    if not str(row.get("name") or "").strip():
        raise Broken(1103)
    codes = set()
    price, cnt = money(row.get("price")), nearest(read(row.get("cnt")), Fraction(1, 1000))
    stated = money(row.get("cost")) or money(row.get("sum"))
    if price < 0 or cnt < 0 or stated < 0:
        codes.add(2000)
    product = nearest(price * cnt)
    cost = stated or product
    if not product or abs(product - cost) > 1:
        codes.add(1107)
    disc = sum((part(value, percent, cost) for value, percent in discounts(row)), Fraction(0))
    if not remains(cost - disc, disc, cnt):
        codes.add(1108)
    group = None
    try:
        group = _group(str(row.get("taxgrp") or "").strip(), till)
    except Broken as broken:
        codes |= broken.codes
    if codes or group is None:
        raise Broken(*codes)
    return Row(cost, disc, cnt, group)


def _group(spelled: str, till: Till) -> Group:
    if not till.groups:
        raise Broken(1078)
    code = int(spelled) if spelled.isdecimal() else till.default_group if not spelled else -1
    for group in till.groups:
        if group.code == code and code not in till.groups_off:
            return group
    raise Broken(1087)


def remains(left: Fraction, disc: Fraction, cnt: Fraction) -> bool:
    """Whether a row keeps a kopeck, and after a discount each of its units too."""
    return left >= KOPECK and (disc <= 0 or left >= KOPECK * cnt)


def discounts(of: Mapping[str, Any]) -> list[tuple[Fraction, bool]]:
    """The discounts of a row or of a receipt: how much, and whether it is a percentage."""
    entries: Iterable[Mapping[str, Any]] = (of, *(of.get("discounts") or ()))
    return [(money(entry.get("disc")), read(entry.get("disc_type")) == 1) for entry in entries if entry.get("disc")]


def part(value: Fraction, percent: bool, amount: Fraction) -> Fraction:
    """How much a discount takes off ``amount``."""
    return nearest(amount * value / 100) if percent else value


def spread(value: Fraction, percent: bool, rows: Sequence[Row]) -> list[Row]:
    """``rows`` with a discount of the whole receipt, distributed over them.

    :raises Broken: 1108 when a row, or a unit in it, would be less than a kopeck.
    """
    total = sum((row.left for row in rows), Fraction(0))
    if percent:
        shares = [part(value, True, row.left) for row in rows]
    else:
        shares = [nearest(value * row.left / total) for row in rows]
        rest = value - sum(shares, Fraction(0))
        able = [
            n
            for n, (row, share) in enumerate(zip(rows, shares, strict=True))
            if remains(row.left - share - rest, share + rest, row.cnt)
        ]
        shares[able[-1] if able else -1] += rest
    spread_rows = [
        Row(row.cost, row.disc + share, row.cnt, row.group) for row, share in zip(rows, shares, strict=True)
    ]
    if not all(remains(row.left, share, row.cnt) for row, share in zip(spread_rows, shares, strict=True)):
        raise Broken(1108)
    return spread_rows


def discounted(receipt: Mapping[str, Any], till: Till) -> list[Row]:
    """The rows with every discount.

    :raises Broken: when a row, the sum or a discount breaks a rule.
    """
    rows = goods(receipt, till)
    total = sum((row.left for row in rows), Fraction(0))
    asked = money(receipt.get("sum"))
    if not rows and asked:
        raise Broken(1097)
    if total != asked:
        raise Broken(1101)
    for value, percent in discounts(receipt):
        if not rows:
            raise Silent("a discount on nothing")
        rows = spread(value, percent, rows)
    return rows


# Taxes


def taxes(rows: Sequence[Row]) -> dict[int, Tax]:
    """The taxes by tax group, for what remains to pay of its rows."""
    found = {}
    for group in {row.group for row in rows}:
        own = [row for row in rows if row.group == group]
        left = sum((row.left for row in own), Fraction(0))
        found[group.code] = _tax(group, left, sum((row.cnt for row in own), Fraction(0)))
    return found


def _tax(group: Group, left: Fraction, cnt: Fraction) -> Tax:
    vat, levy = group.vat, group.levy
    if group.on_top:
        if group.algorithm:
            raise Silent("taxes on top by another algorithm than 0")
        added = nearest(left * vat / 100), nearest(left * levy / 100)
        return Tax(left, *added, on_top=added[0] + added[1])
    if group.algorithm == 0:
        return Tax(
            left, nearest(left * vat / (100 + vat + levy)), nearest(left * levy / (100 + vat + levy)), Fraction(0)
        )
    if group.algorithm == 1:
        extra = nearest(left * levy / 100)
        return Tax(left, nearest((left + extra) * vat / (100 + vat)), extra, on_top=extra)
    extra = nearest(left * levy / (100 + levy)) if group.algorithm == 2 else nearest(group.unit * cnt)
    if extra > left:
        raise Silent("more excise than price")
    return Tax(left, nearest((left - extra) * vat / (100 + vat)), extra, Fraction(0))


# Rounding, payments, change


def asked_rounding(receipt: Mapping[str, Any], till: Till) -> Fraction:
    """The rounding that the till calculated itself.

    :raises Broken: 1157, 1112, 1115.
    """
    rounding = money(receipt.get("round"))
    codes = set()
    if rounding and receipt.get("autoround"):
        codes.add(1157)
    if abs(rounding) > Fraction(99, 100):
        codes.add(1112)
    elif rounding and not till.step:
        codes.add(1115)
    if codes:
        raise Broken(*codes)
    return rounding


def _pays(receipt: Mapping[str, Any], till: Till, owed: Fraction) -> list[tuple[int, Fraction, Fraction]]:
    pays = []
    for pay in receipt.get("pays") or ():
        codes = set()
        spelled = str(pay.get("type") or CASH).strip()
        code = int(spelled) if spelled.isdecimal() else -1
        if code not in till.pay_types:
            codes.add(1110 if code in PAY_TYPES else 1088)
        elif code in till.pay_types_off:
            codes.add(1110)
        amount, change = money(pay.get("sum")), money(pay.get("change"))
        if amount < 0 or change < 0:
            codes.add(2000)
        if not amount and owed:
            codes.add(1109)
        if codes:
            raise Broken(*codes)
        if change and code != CASH:
            raise Silent("change out of something else than cash")
        if amount:
            pays.append((code, amount, change))
    return pays


def calculate(receipt: Mapping[str, Any], till: Till) -> Figures:
    """The sums of ``receipt``.

    :raises Broken: with the codes of the rules that the receipt breaks first.
    :raises Silent: when the rules do not define the sums.
    """
    rows = discounted(receipt, till)
    lines = taxes(rows)
    exact = sum((row.left for row in rows), Fraction(0))
    owed = exact + sum((line.on_top for line in lines.values()), Fraction(0))
    rounding = asked_rounding(receipt, till)
    if rounding and not rows:
        raise Broken(1097, 1102)
    pays = _pays(receipt, till, owed)
    several = sum(code == CASH for code, _, _ in pays) > 1
    if receipt.get("autoround"):
        pays, rounding = _autorounded(pays, owed, till)
    due = owed + rounding
    if due <= 0 < owed:
        raise Silent("all is rounded to nothing")
    kept = _kept(pays, due)
    change = sum((paid.change for paid in kept), Fraction(0))
    clear = not several or not (change or receipt.get("autoround"))
    return Figures(
        rows=tuple(rows),
        taxes=lines,
        before=sum((row.cost for row in rows), Fraction(0)),
        taken_off=sum((row.disc for row in rows), Fraction(0)),
        exact=exact,
        owed=owed,
        rounding=rounding,
        due=due,
        change=change,
        kept_cash=sum((paid.kept for paid in kept if paid.type == CASH), Fraction(0)),
        pays=tuple(kept) if clear else None,
    )


def _autorounded(
    pays: list[tuple[int, Fraction, Fraction]], owed: Fraction, till: Till
) -> tuple[list[tuple[int, Fraction, Fraction]], Fraction]:
    """The payments with rounded cash, and by how much it was rounded."""
    cash = [pay for pay in pays if pay[0] == CASH]
    if not cash or not till.step:
        return pays, Fraction(0)
    others = [pay for pay in pays if pay[0] != CASH]
    exact = owed - sum((amount for _, amount, _ in others), Fraction(0))
    to_pay = nearest(exact, till.step * KOPECK)
    given = sum((amount for _, amount, _ in cash), Fraction(0))
    if exact > 0 and to_pay <= 0:
        raise Silent("cash that is rounded to nothing")
    if given == exact and to_pay != exact:
        if any(change for _, _, change in cash):
            raise Silent("the exact amount is named together with change")
        # The sum in the request is exact to the kopeck: it is the amount due in cash, not the amount handed over.
        first = cash[0][1] + to_pay - exact
        if len(cash) == 1:
            pays = [(code, first if code == CASH else amount, change) for code, amount, change in pays]
        else:
            # The rules do not say which payment is rounded, only that each payment keeps more than zero.
            pays = [*others, (CASH, to_pay, Fraction(0))]
    return pays, to_pay - exact


def _kept(pays: list[tuple[int, Fraction, Fraction]], due: Fraction) -> list[Paid]:
    """The payments without change: the till may send the amount that it keeps, or the amount handed over.

    :raises Broken: 1102 when they do not add up to the amount due.
    """
    given = sum((amount for _, amount, _ in pays), Fraction(0))
    stated = sum((change for _, _, change in pays), Fraction(0))
    if given == due:
        return [Paid(code, amount, change) for code, amount, change in pays]
    if stated:
        if given - stated == due and all(change < amount for _, amount, change in pays):
            return [Paid(code, amount - change, change) for code, amount, change in pays]
        raise Broken(1102)
    back = given - due
    kept = []
    for code, amount, _ in pays:
        change = min(back, amount - KOPECK) if code == CASH and back > 0 else Fraction(0)
        kept.append(Paid(code, amount - change, change))
        back -= change
    if back:
        raise Broken(1102)
    return kept
