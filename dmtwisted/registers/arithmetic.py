"""The sums of a receipt: rows, discounts, taxes, rounding, payments and change.

Whole numbers throughout: kopecks, thousandths of a unit, hundredths of a percent. Every value is rounded once, halves
up, and totals add up rounded values (docs/reference/http-interface.md#arithmetic).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from dmtwisted.clock import span
from dmtwisted.documents import catalogue
from dmtwisted.documents.catalogue import CARD, CASH, VAT_INSIDE_LEVY, PayType, TaxGroup
from dmtwisted.documents.documents import FINAL, FURTHER, PREPAYMENT, Good, PartPayment, Payment, Receipt, TaxLine
from dmtwisted.money import half_up, hryvnias
from dmtwisted.registers.marks import check_row_marks
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.texts import all_plain, check_receipt, check_row, pay_texts, printable
from dmtwisted.requests import NEGATIVE, Discount, PayRequest, ReceiptRequest, RowRequest, malformed
from dmtwisted.results import Refused, Res, Text, joined, one_of
from dmtwisted.security import mask_pan

ROW_TOLERANCE = 100
"""Price times quantity may differ from the row's amount by this many kopecks (specification 7.2, 1107)."""

LEAST_PRICE = 1
"""What a discount must leave of a row, and of each unit in it, in kopecks (specification 8)."""

LARGEST_ROUNDING = 99
"""The rounding amount is between minus and plus this many kopecks (specification 8)."""


class Rates:
    """The tax groups and payment types of one register, found by their codes."""

    def __init__(self, settings: RegisterSettings) -> None:
        self._groups = {str(group.code): group for group in settings.tax_groups}
        self._pay_types = {str(code): pay_type for code, pay_type in settings.payments.items()}
        self._default_group = str(settings.default_taxgrp) if settings.default_taxgrp else ""
        self.groups: dict[str | int, TaxGroup] = {}
        """The enabled tax groups, by their codes in both forms; the register's default also as an empty text."""
        for text, group in self._groups.items():
            if group.enabled:
                self.groups[text] = self.groups[group.code] = group
                if text == self._default_group:
                    self.groups[""] = group
        self.pay_types = {code: pay_type for code, pay_type in self._pay_types.items() if pay_type.enabled}
        """The enabled payment types, by their codes; cash also by an empty one."""
        if str(CASH) in self.pay_types:
            self.pay_types[""] = self.pay_types[str(CASH)]
        self.marks_gs = settings.marks_gs

    def group(self, code: str, device: str) -> TaxGroup:
        """The enabled tax group ``code``; an empty code means the register's default.

        :raises Refused: 1078 without any groups, 1087 for one that is unknown or not enabled.
        """
        found = self.groups.get(code)
        if found is not None:
            return found
        if not self._groups:
            raise Refused(Res.TAX_GROUPS_MISSING, device)
        raise Refused(Res.WRONG_TAX_GROUP, code or self._default_group, note=_enabled(self._groups))

    def letter(self, code: int) -> str:
        """The letter of the tax group ``code``; empty when the register has no such group any more."""
        group = self._groups.get(str(code))
        return group.letter if group is not None else ""

    def pay_type(self, code: str) -> PayType:
        """The enabled payment type ``code``.

        :raises Refused: 1088 for an unknown one, 1110 for one that is not enabled.
        """
        found = self.pay_types.get(code)
        if found is not None:
            return found
        code = code or str(CASH)
        if code not in self._pay_types and code not in _KNOWN_PAY_TYPES:
            raise Refused(Res.WRONG_PAYMENT_TYPE, code, note=_enabled(self._pay_types))
        raise Refused(Res.CODE_NOT_ENABLED, code, note=_enabled(self._pay_types))


def _enabled(known: Mapping[str, TaxGroup] | Mapping[str, PayType]) -> Text:
    """Which of the ``known`` codes a receipt may have."""
    codes = ", ".join(code for code, one in known.items() if one.enabled)
    if not codes:
        return Text("не ввімкнено жодного коду", "no code is enabled")
    return Text(f"ввімкнено коди {codes}", f"enabled codes are {codes}")


_KNOWN_PAY_TYPES = {str(pay_type.code) for pay_type in catalogue.PAY_TYPES}


def receipt(asked: ReceiptRequest, settings: RegisterSettings, rates: Rates, device: str) -> Receipt:
    """The receipt that ``asked`` describes.

    :raises Refused: for the first rule of specification 7.2 that it breaks.
    """
    plain = all_plain(asked)
    goods, before = [], 0
    for index, row in enumerate(asked.rows):
        good = good_of(row, index, rates, device, plain)
        goods.append(good)
        before += good.cost - good.disc
    if not goods and asked.sum:
        raise Refused(Res.EMPTY_ROWS)
    if before != asked.sum:
        raise Refused(
            Res.RECEIPT_SUM_DIFFERS,
            note=Text(
                f"рядки разом {hryvnias(before)}, fiscal.receipt.sum {hryvnias(asked.sum)}",
                f"the rows make {hryvnias(before)}, fiscal.receipt.sum is {hryvnias(asked.sum)}",
            ),
        )
    exact = before
    if asked.discounts:
        goods = _spread(asked.discounts, goods)
        exact = sum(good.cost - good.disc for good in goods)
    return _receipt(asked, goods, exact, settings, rates, plain)


def owed(asked: ReceiptRequest, rates: Rates, device: str) -> int:
    """The amount due of a receipt without its payments, in kopecks, before any rounding.

    :raises Refused: for the first rule of specification 7.2 that its items break.
    """
    goods = _spread(asked.discounts, [good_of(row, index, rates, device) for index, row in enumerate(asked.rows)])
    exact = sum(good.cost - good.disc for good in goods)
    if _part_payment(asked, exact) is not None:
        return asked.partpay_sum
    return exact + sum(line.on_top for line in taxes(goods, rates))


def turnover(asked: ReceiptRequest, settings: RegisterSettings, rates: Rates, device: str) -> Receipt:
    """The receipt of an income or expense: an amount and its payments, with or without items.

    :raises Refused: for the first rule of specification 7.2 that it breaks.
    """
    if asked.sum < 0:
        raise Refused(Res.INCOME_NEGATIVE)
    if _part_payment(asked, asked.sum) is not None:
        raise malformed("fiscal.receipt.partpay_type", _NO_GOODS_IN_PARTS)
    for index, pay in enumerate(asked.pays):
        if pay.change < 0:
            raise Refused(Res.INCOME_CHANGE_NEGATIVE, index)
        if rates.pay_type(pay.type).code == CARD and not (pay.paysys and pay.rrn and pay.cardmask):
            raise Refused(Res.INCOME_CARD_DATA_MISSING, index)
    if asked.rows:
        return receipt(asked, settings, rates, device)
    return _receipt(asked, [], asked.sum, settings, rates, all_plain(asked))


def _receipt(
    asked: ReceiptRequest, goods: Sequence[Good], exact: int, settings: RegisterSettings, rates: Rates, plain: bool
) -> Receipt:
    """The receipt over ``goods``, whose sum after every discount is ``exact``.

    :param plain: whether its texts are seen to be plain already.
    """
    if not plain:
        check_receipt(asked)
    part = _part_payment(asked, exact)
    if part is None:
        lines, owed = taxes(goods, rates), exact
        for line in lines:
            owed += line.on_top
    else:
        goods = _in_parts(goods, part.sum, exact)
        lines, owed = _part_taxes(goods, rates), part.sum
    rounding = _asked_rounding(asked, owed, settings) if asked.round else 0
    payments = _payments(asked, owed, rounding, settings.rounding_step, rates)
    due = change = sum_0 = sum_disc = 0
    for payment in payments:
        due += payment.sum
        change += payment.change
    for good in goods:
        sum_0 += good.cost
        sum_disc += good.disc
    return Receipt(
        goods=tuple(goods),
        pays=tuple(payments),
        taxes=tuple(lines),
        sum_0=sum_0 if goods else exact,
        sum_disc=sum_disc,
        sum_receipt=exact,
        round=due - owed,
        sum_topay=due,
        change=change,
        comment_up=asked.comment_up if plain else printable(asked.comment_up),
        comment_down=asked.comment_down if plain else printable(asked.comment_down),
        purchase_receipt_fisn=asked.purchase_receipt_fisn,
        purchase_rro_fisn=asked.purchase_rro_fisn,
        purchase_date=_day(asked.purchase_receipt_dt) if asked.purchase_receipt_dt else "",
        part=part,
    )


def _day(stamp: str) -> str:
    """The day of the purchase by its ``stamp``, which may have the time too, with or without milliseconds.

    :raises Refused: 2000 when it has none.
    """
    try:
        if len(stamp) not in (8, 14, 17) or not stamp.isdigit():
            raise ValueError
        span(stamp[:14])
    except ValueError:
        raise malformed("fiscal.receipt.purchase_receipt_dt", DAY_EXPECTED) from None
    return stamp[:8]


DAY_EXPECTED = Text("очікується yyyyMMdd або yyyyMMddHHmmss", "yyyyMMdd or yyyyMMddHHmmss is expected")
"""What is wrong with a text that is no day."""


# Rows


def good_of(row: RowRequest, index: int, rates: Rates, device: str, plain: bool = False) -> Good:
    """The item that a row describes, before discounts of the whole receipt.

    :param plain: whether its texts are seen to be plain already.
    :raises Refused: for the first rule of specification 7.2 that it breaks.
    """
    if not row.name.strip():
        raise Refused(Res.NAME_EMPTY, note=f"fiscal.receipt.rows[{index}].name")
    if not plain:
        check_row(row, index)
    if row.code_a or row.code_aa:
        check_row_marks(row, index, rates.marks_gs)
    cnt, price, stated = row.cnt, row.price, row.cost or 0
    if cnt < 0 or price < 0 or stated < 0:
        member = "cnt" if cnt < 0 else "price" if price < 0 else "cost"
        raise malformed(f"fiscal.receipt.rows[{index}].{member}", NEGATIVE)
    calculated = half_up(price * cnt, 1000)
    cost = stated or calculated
    if not calculated or not -ROW_TOLERANCE <= calculated - cost <= ROW_TOLERANCE:
        raise Refused(
            Res.ROW_SUM_DIFFERS,
            note=f"fiscal.receipt.rows[{index}]: price × cnt = {hryvnias(calculated)}, cost = {hryvnias(cost)}",
        )
    disc = sum(_part(discount, cost) for discount in row.discounts) if row.discounts else 0
    if disc and not _leaves_enough(cost, disc, cnt):
        raise Refused(Res.DISCOUNT_TOO_LARGE, note=f"fiscal.receipt.rows[{index}].disc")
    group = rates.groups.get(row.taxgrp) or rates.group(row.taxgrp, device)
    return Good(
        name=row.name if plain else printable(row.name),
        code=row.code,
        code1=row.code1,
        code2=row.code2,
        code3=row.code3,
        code_a=row.code_a,
        code_aa=row.code_aa,
        cnt=cnt,
        price=price,
        cost=cost,
        disc=disc,
        taxgrp=group.code,
        taxlit=group.letter,
        comment=row.comment if plain else printable(row.comment),
    )


def _leaves_enough(amount: int, disc: int, cnt: int) -> bool:
    """Whether a row of ``amount`` costs enough after ``disc``, and each of its ``cnt`` thousandths of a unit too.

    Without a discount a unit may cost less: 1.4 × 0.01 is 0.01.
    """
    left = amount - disc
    return left >= LEAST_PRICE and (disc <= 0 or left * 1000 >= LEAST_PRICE * cnt)


def _part(discount: Discount, amount: int) -> int:
    return half_up(amount * discount.value, 10_000) if discount.percent else discount.value


# Discounts on the whole receipt


def _spread(discounts: Sequence[Discount], goods: list[Good]) -> list[Good]:
    """``goods`` with their parts of the discounts on the whole receipt.

    A percentage is taken off each row; an amount is spread in proportion, and the last row that can bear it takes the
    remainder of the rounding.
    """
    for discount in discounts:
        amounts = [good.cost - good.disc for good in goods]
        total = sum(amounts)
        if discount.percent:
            shares = [_part(discount, amount) for amount in amounts]
        elif total:
            shares = [half_up(discount.value * amount, total) for amount in amounts]
            rest = discount.value - sum(shares)
            shares[_bearer(amounts, shares, rest, goods)] += rest
        else:
            shares = []
        rows = zip(amounts, shares, goods, strict=True)
        if not all(_leaves_enough(amount, share, good.cnt) for amount, share, good in rows):
            raise Refused(Res.DISCOUNT_TOO_LARGE, note="fiscal.receipt.disc")
        goods = [good.discounted(share) for good, share in zip(goods, shares, strict=True)]
    return goods


def _bearer(amounts: list[int], shares: list[int], rest: int, goods: list[Good]) -> int:
    """The last row that can take ``rest`` more kopecks of a discount, else the last one."""
    rows = reversed(range(len(goods)))
    return next((n for n in rows if _leaves_enough(amounts[n], shares[n] + rest, goods[n].cnt)), -1)


# Taxes


def taxes(goods: Sequence[Good], rates: Rates) -> list[TaxLine]:
    """The taxes of each tax group among ``goods``, by the group's algorithm, in the order of the groups' codes.

    :raises Refused: 1079 when the algorithm of a group does not exist.
    """
    bases: dict[int, list[int]] = {}
    for good in goods:
        base = bases.get(good.taxgrp)
        if base is None:
            base = bases[good.taxgrp] = [0, 0]
        base[0] += good.cost - good.disc
        base[1] += good.cnt
    return [_tax(rates.groups.get(code) or rates.group(str(code), ""), *bases[code]) for code in sorted(bases)]


def _tax(group: TaxGroup, base: int, quantity: int) -> TaxLine:
    """The taxes on ``base`` kopecks and ``quantity`` thousandths of one group."""
    percent, levy_percent, algorithm = group.percent, group.ex_percent, group.algorithm
    if algorithm not in catalogue.ALGORITHMS:
        raise Refused(
            Res.TAX_ALGORITHM_UNSUPPORTED, Text(group.letter or str(group.code), str(group.code)), algorithm
        )
    levy_on_top = algorithm == catalogue.VAT_ON_LEVY or (algorithm == VAT_INSIDE_LEVY and not group.included)
    if not (levy_percent or group.ex_rate):
        levy = 0
    elif levy_on_top:
        levy = half_up(base * levy_percent, 10_000)
    elif algorithm == VAT_INSIDE_LEVY:
        levy = half_up(base * levy_percent, 10_000 + percent + levy_percent)
    elif algorithm == catalogue.VAT_AFTER_LEVY:
        levy = half_up(base * levy_percent, 10_000 + levy_percent)
    else:
        levy = half_up(group.ex_rate * quantity, 1000)
    tax_base = base
    if algorithm == catalogue.VAT_ON_LEVY:
        tax_base = base + levy
    elif algorithm != VAT_INSIDE_LEVY:
        tax_base = base - levy
    if not percent:
        tax = 0
    elif not group.included:
        tax = half_up(tax_base * percent, 10_000)
    elif algorithm == VAT_INSIDE_LEVY:
        tax = half_up(tax_base * percent, 10_000 + percent + levy_percent)
    else:
        tax = half_up(tax_base * percent, 10_000 + percent)
    return TaxLine(
        on_top=(levy if levy_on_top else 0) + (0 if group.included else tax),
        gr_code=group.code,
        base_sum=base,
        base_tax_sum=tax_base if group.tax_name else 0,
        base_ex_sum=base if group.ex_name else 0,
        tax_name=group.tax_name,
        tax_fname=group.name,
        tax_lit=group.letter,
        tax_percent=percent,
        tax_sum=tax,
        ex_name=group.ex_name,
        ex_percent=levy_percent,
        ex_sum=levy,
    )


# Part payments


def _part_payment(asked: ReceiptRequest, price: int) -> PartPayment | None:
    """Which part of ``price`` is paid now; `None` for all of it.

    :raises Refused: 2000 when its members do not fit together.
    """
    kind, amount, first = asked.partpay_type, asked.partpay_sum, asked.partpay_receipt_fisn.strip()
    if not (kind or amount or first):
        return None
    if kind not in (PREPAYMENT, FINAL, FURTHER):
        raise malformed("fiscal.receipt.partpay_type", one_of(PREPAYMENT, FINAL, FURTHER))
    if not 0 < amount <= price:
        raise malformed(
            "fiscal.receipt.partpay_sum",
            Text(
                f"очікується сума від 0.01 до ціни {hryvnias(price)}, а не {hryvnias(amount)}",
                f"a sum from 0.01 to the price {hryvnias(price)} is expected, not {hryvnias(amount)}",
            ),
        )
    if kind == PREPAYMENT and first:
        raise malformed("fiscal.receipt.partpay_receipt_fisn", _NOT_OF_A_PREPAYMENT)
    return PartPayment(type=kind, sum=amount, receipt_fisn=first)


_NO_GOODS_IN_PARTS = Text("частинами платять лише продаж", "only a sale is paid in parts")
_NOT_OF_A_PREPAYMENT = Text("передплата не називає іншого чека", "a prepayment names no other receipt")
_PLAIN_TAXES_EXPECTED = Text(
    "частинами продають лише товари з податками у відсотках, включеними в ціну",
    "only goods with taxes in percent that the prices include are sold in parts",
)


def _in_parts(goods: Sequence[Good], part: int, price: int) -> list[Good]:
    """``goods`` with their shares of ``part`` in proportion; together they are ``part``, and none exceeds its row."""
    found, price_so_far, part_so_far = [], 0, 0
    for good in goods:
        price_so_far += good.cost - good.disc
        share = half_up(part * price_so_far, price) - part_so_far
        part_so_far += share
        found.append(msgspec.structs.replace(good, part=share))
    return found


def _part_taxes(goods: Sequence[Good], rates: Rates) -> list[TaxLine]:
    """The taxes on the shares of ``goods`` that are paid now; the turnover of each group stays that of the price.

    :raises Refused: 2000 for a tax of which the tax service does not say how a part of it is reckoned.
    """
    for index, good in enumerate(goods):
        group = rates.group(str(good.taxgrp), "")
        if not group.included or group.algorithm in (catalogue.VAT_ON_LEVY, catalogue.VAT_AFTER_EXCISE):
            raise malformed(f"fiscal.receipt.rows[{index}].taxgrp", _PLAIN_TAXES_EXPECTED)
    paid = [msgspec.structs.replace(good, cost=good.part, disc=0) for good in goods]
    whole = {line.gr_code: line.base_sum for line in taxes(goods, rates)}
    return [msgspec.structs.replace(line, base_sum=whole[line.gr_code]) for line in taxes(paid, rates)]


# Rounding and payments


def _asked_rounding(asked: ReceiptRequest, exact: int, settings: RegisterSettings) -> int:
    """The rounding that the till calculated itself, of the amount due ``exact``."""
    if asked.autoround:
        raise Refused(Res.ROUND_WITH_AUTOROUND)
    before, after = hryvnias(exact), hryvnias(exact + asked.round)
    sums = Text(f"без заокруглення {before}, з ним {after}", f"{before} without rounding, {after} with it")
    if abs(asked.round) > LARGEST_ROUNDING:
        raise Refused(Res.ROUNDING_OUT_OF_RANGE, note=sums)
    if not settings.rounding_step:
        raise Refused(Res.ROUNDING_NOT_ENABLED, note=sums)
    return asked.round


def rounded(amount: int, step: int) -> int:
    """``amount`` to the nearest multiple of ``step`` kopecks, halves up; as it is without a step."""
    return half_up(amount, step) * step if step else amount


def _payments(asked: ReceiptRequest, exact: int, rounding: int, step: int, rates: Rates) -> list[Payment]:
    """The payments without change and with the rounding, which the cash bears."""
    pays: list[tuple[PayRequest, PayType]] = []
    given = 0
    for index, pay in enumerate(asked.pays):
        pay_type = rates.pay_types.get(pay.type) or rates.pay_type(pay.type)
        if pay.sum < 0 or pay.change < 0:
            raise malformed(f"fiscal.receipt.pays[{index}].{'sum' if pay.sum < 0 else 'change'}", NEGATIVE)
        if pay.sum:
            pays.append((pay, pay_type))
            given += pay.sum
        elif exact:
            raise Refused(Res.ZERO_PAYMENT, Text(pay_type.name, str(pay_type.code)))
    if given == exact and not (rounding or asked.autoround):
        return [_payment(pay, pay_type, pay.sum, pay.sum + pay.change, pay.change, 0) for pay, pay_type in pays]
    sums = [pay.sum for pay, _ in pays]
    shares = [0] * len(pays)
    in_cash = [pay_type.code == CASH for _, pay_type in pays]
    if asked.autoround and any(in_cash):
        cash = sum(amount for amount, is_cash in zip(sums, in_cash, strict=True) if is_cash)
        exact_cash = exact - (given - cash)
        rounding = rounded(exact_cash, step) - exact_cash
        if cash == exact_cash:
            # Cash to the kopeck is the amount due, not the money given.
            shares = _shares(rounding, sums, in_cash)
            sums = [amount + share for amount, share in zip(sums, shares, strict=True)]
    if rounding and pays and not any(shares):
        shares[in_cash.index(True) if any(in_cash) else 0] = rounding
    changes = _changes(sums, [pay.change for pay, _ in pays], in_cash, exact + rounding, step)
    return [
        _payment(pay, pay_type, amount - change, amount, change, share)
        for (pay, pay_type), amount, change, share in zip(pays, sums, changes, shares, strict=True)
    ]


def _shares(rounding: int, sums: list[int], in_cash: list[bool]) -> list[int]:
    """Each payment's share of ``rounding``: the first cash payment takes all of it, unless it is too small."""
    shares = []
    for amount, is_cash in zip(sums, in_cash, strict=True):
        shares.append(max(rounding, -amount) if is_cash else 0)
        rounding -= shares[-1]
    return shares


def _changes(sums: list[int], stated: list[int], in_cash: list[bool], due: int, step: int) -> list[int]:
    """The change out of each payment; raises each of ``sums`` to the money given.

    Tills send the amount that stays, with the change beside it, or the amount given, with or without the change
    (docs/reference/http-interface.md#payments); all of these are the same receipt.
    """
    given = sum(sums)
    if given == due:
        for index, change in enumerate(stated):
            sums[index] += change
        return stated
    if any(stated):
        if given - sum(stated) == due and all(change < amount for change, amount in zip(stated, sums, strict=True)):
            return stated
        raise _pays_differ(due, given, step)
    excess = given - due
    changes = []
    for amount, is_cash in zip(sums, in_cash, strict=True):
        changes.append(min(excess, amount - 1) if is_cash and excess > 0 else 0)
        excess -= changes[-1]
    if excess:
        raise _pays_differ(due, given, step)
    return changes


def _pays_differ(due: int, given: int, step: int) -> Refused:
    sums = Text(
        f"до сплати {hryvnias(due)}, fiscal.receipt.pays {hryvnias(given)}",
        f"to pay {hryvnias(due)}, fiscal.receipt.pays {hryvnias(given)}",
    )
    rounds = Text(f"крок заокруглення {hryvnias(step)}", f"rounding step {hryvnias(step)}") if step else _NO_ROUNDING
    return Refused(Res.PAYS_DIFFER, note=joined(sums, rounds, separator=", "))


_NO_ROUNDING = Text("заокруглення вимкнено", "rounding is off")


def _payment(pay: PayRequest, pay_type: PayType, kept: int, tendered: int, change: int, rounding: int) -> Payment:
    payment = Payment(
        type=pay_type.code,
        name=pay_type.name,
        form=pay_type.form,
        sum=kept,
        tendered=tendered,
        change=change,
        round=rounding,
        commission=pay.commission,
    )
    # Most have no texts, and Python calls anything with more than fifteen named arguments by a much slower way.
    if not any(pay_texts(pay)):
        return payment
    return msgspec.structs.replace(
        payment,
        comment=pay.comment,
        comment_up=pay.comment_up,
        comment_down=pay.comment_down,
        paysys=pay.paysys,
        rrn=pay.rrn,
        cardmask=mask_pan(pay.cardmask),
        term_id=pay.term_id,
        bank_id=pay.bank_id,
        bank_name=pay.bank_name,
        auth_code=pay.auth_code,
        oper_type=pay.oper_type,
    )


def withdrawal(asked: PayRequest, rates: Rates) -> Payment:
    """The money of a cash withdrawal against a card, task 14.

    :raises Refused: 1119 when it is not by card, 1120 or 1063 when an amount is negative.
    """
    pay_type = rates.pay_type(asked.type or str(CARD))
    if pay_type.code == CASH:
        raise Refused(Res.CASH_WITHDRAWAL_NEEDS_CARD)
    if asked.commission < 0:
        raise Refused(Res.COMMISSION_NEGATIVE)
    return cash_move(asked, pay_type)


def cash_move(asked: PayRequest, pay_type: PayType) -> Payment:
    """The money of a service cash-in or cash-out, `fiscal.cash`.

    :raises Refused: 1063 when the amount is negative.
    """
    if asked.sum < 0:
        raise Refused(Res.CASH_NEGATIVE)
    return _payment(asked, pay_type, asked.sum, asked.sum, 0, 0)
