"""What a receipt would come to, for a page that has no arithmetic of its own.

Nothing is done and nothing is kept; the register is not asked, so no till waits.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import field

from dmtwisted.answers import Number, amount
from dmtwisted.documents.catalogue import CARD, CASH
from dmtwisted.documents.documents import Receipt
from dmtwisted.money import decimal_text
from dmtwisted.registers.arithmetic import Rates, good_of, owed, receipt
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.requests import PayRequest, ReceiptRequest
from dmtwisted.results import Refused


def _zero() -> Number:
    return amount(0)


class RowSum(msgspec.Struct):
    """What a row comes to; ``trouble`` says what the cashier has to correct."""

    cost: Number = field(default_factory=_zero)
    disc: Number = field(default_factory=_zero)
    letter: str = ""
    trouble: str = ""


class TaxSum(msgspec.Struct):
    """A tax of the receipt."""

    letter: str
    name: str
    sum: Number


class BasketSums(msgspec.Struct):
    """What a receipt would come to.

    ``sum``, ``autoround`` and ``pays`` go into `fiscal.receipt` beside its rows. ``cash`` is what is due in cash,
    ``short`` what is missing of it.
    """

    rows: list[RowSum]
    trouble: str = ""
    sum: Number = field(default_factory=_zero)
    autoround: bool = True
    pays: list[dict[str, Any]] = []
    before: Number = field(default_factory=_zero)
    disc: Number = field(default_factory=_zero)
    round: Number = field(default_factory=_zero)
    topay: Number = field(default_factory=_zero)
    card: Number = field(default_factory=_zero)
    cash: Number = field(default_factory=_zero)
    change: Number = field(default_factory=_zero)
    short: Number = field(default_factory=_zero)
    taxes: list[TaxSum] = []


def reckon(
    asked: ReceiptRequest,
    settings: RegisterSettings,
    device: str,
    language: str,
    card: int | None = 0,
    given: int | None = None,
    card_type: int | None = None,
) -> BasketSums:
    """The sums of a receipt without payments.

    :param card: kopecks that are paid by card, at most what is due; `None` is all.
    :param given: kopecks that the customer gives; `None` is what is due.
    :param card_type: the payment type of the card; `None` is the register's usual one.
    """
    rates = Rates(settings)
    rows, sums = [], []
    for index, row in enumerate(asked.rows):
        try:
            good = good_of(row, index, rates, device)
        except Refused as refused:
            rows.append(RowSum(trouble=refused.res.cashier.for_language(language)))
            continue
        sums.append(good.cost - good.disc)
        rows.append(RowSum(amount(good.cost), amount(good.disc), good.taxlit))
    if not rows or len(sums) < len(rows):
        return BasketSums(rows)
    try:
        return _whole(asked, settings, rates, device, rows, sum(sums), card, given, card_type)
    except Refused as refused:
        return BasketSums(rows, trouble=refused.res.cashier.for_language(language))


def _whole(
    asked: ReceiptRequest,
    settings: RegisterSettings,
    rates: Rates,
    device: str,
    rows: list[RowSum],
    before: int,
    card: int | None,
    given: int | None,
    card_type: int | None,
) -> BasketSums:
    exact = owed(asked, rates, device)
    by_card = exact if card is None else min(card, exact)
    usual = settings.batch.pay_types if settings.batch is not None else ()
    code = card_type if card_type is not None else usual[0] if usual else CARD

    def made(cash: int) -> tuple[ReceiptRequest, Receipt]:
        pays = ((str(code), by_card), (str(CASH), cash))
        whole = msgspec.structs.replace(
            asked, sum=before, autoround=True, pays=tuple(PayRequest(kind, each) for kind, each in pays if each)
        )
        return whole, receipt(whole, settings, rates, device)

    request, value = made(exact - by_card)
    due, short = value.in_cash, 0
    if given is not None and due:
        short = max(due - given, 0)
        if not short:
            request, value = made(given)
    return BasketSums(
        rows,
        sum=amount(before),
        pays=[{"type": int(pay.type), "sum": amount(pay.sum)} for pay in request.pays],
        before=amount(value.sum_0),
        disc=amount(value.sum_disc),
        round=amount(value.round),
        topay=amount(value.sum_topay),
        card=amount(by_card),
        cash=amount(due),
        change=amount(value.change),
        short=amount(short),
        taxes=[
            TaxSum(line.tax_lit, _named(line.tax_name, line.tax_percent), amount(line.tax_sum))
            for line in value.taxes
        ],
    )


def _named(name: str, percent: int) -> str:
    return f"{name} {decimal_text(percent, 2).removesuffix('.0')} %" if name else ""
