"""What of a sold receipt can still be given back, and the receipt of a return of a part of it.

The prices and discounts are those of the sale, so that all parts together give back exactly what was paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import msgspec

from dmtwisted.answers import amount, quantity
from dmtwisted.documents.catalogue import CASH
from dmtwisted.documents.documents import Good, Receipt
from dmtwisted.money import half_up
from dmtwisted.requests import Discount, ReceiptRequest, RowRequest


@dataclass(frozen=True)
class Left:
    """An item of the sale, and what of it was not given back yet: thousandths, kopecks, excise marks."""

    good: Good
    cnt: int
    cost: int
    disc: int
    marks: tuple[str, ...]


@dataclass(frozen=True)
class CardLeft:
    """The card payment of the sale: what of it was not given back yet."""

    type: int
    rrn: str
    sum: int


def left_of(sold: Receipt, returned: Iterable[Receipt]) -> list[Left]:
    """The items of a sale without those that were given back."""
    rows = [Left(good, good.cnt, good.cost, good.disc, good.marks) for good in sold.goods]
    for back in (good for receipt in returned for good in receipt.goods):
        # Of two rows with the same item the one with the same discount is meant, if there is one.
        same = [n for n, row in enumerate(rows) if _key(row.good) == _key(back) and row.cnt]
        for n in sorted(same, key=lambda n: (rows[n].cnt, rows[n].disc) != (back.cnt, back.disc)):
            row, cnt = rows[n], min(back.cnt, rows[n].cnt)
            share = (half_up(back.cost * cnt, back.cnt), half_up(back.disc * cnt, back.cnt))
            marks = tuple(mark for mark in row.marks if mark not in back.marks)
            rows[n] = replace(row, cnt=row.cnt - cnt, cost=row.cost - share[0], disc=row.disc - share[1], marks=marks)
            if cnt == back.cnt:
                break
            back = _rest(back, cnt, *share)
    return rows


def _key(good: Good) -> tuple[object, ...]:
    return good.code, good.name, good.price, good.taxgrp


def _rest(good: Good, cnt: int, cost: int, disc: int) -> Good:
    return msgspec.structs.replace(good, cnt=good.cnt - cnt, cost=good.cost - cost, disc=good.disc - disc)


def card_of(sold: Receipt, returned: Iterable[Receipt], types: Iterable[int]) -> CardLeft | None:
    """The only card payment of a sale that a terminal can refund by its RRN."""
    known = set(types) - {CASH}
    paid = [pay for pay in sold.pays if pay.type in known and pay.rrn]
    if len(paid) != 1:
        return None
    back = sum(pay.sum for receipt in returned for pay in receipt.pays if pay.type in known)
    return CardLeft(paid[0].type, paid[0].rrn, max(paid[0].sum - back, 0))


def row_back(left: Left, cnt: int, marks: tuple[str, ...]) -> RowRequest:
    """The row that gives back ``cnt`` thousandths of an item; at most what is left."""
    good, whole = left.good, cnt == left.cnt
    cost = left.cost if whole else half_up(good.cost * cnt, good.cnt)
    disc = left.disc if whole else half_up(good.disc * cnt, good.cnt)
    return RowRequest(
        name=good.name,
        code=good.code,
        code1=good.code1,
        code2=good.code2,
        code3=good.code3,
        code_a="",
        code_aa=marks,
        cnt=cnt,
        price=good.price,
        cost=cost,
        discounts=(Discount(disc),) if disc else (),
        taxgrp=str(good.taxgrp),
        comment="",
    )


def receipt_back(rows: Iterable[RowRequest], fiscal_number: str, register: str) -> ReceiptRequest:
    """The receipt of a return, without its payments."""
    return ReceiptRequest(
        sum=0,
        round=0,
        autoround=True,
        discounts=(),
        comment_up="",
        comment_down="",
        not_check_safe=False,
        rows=tuple(rows),
        pays=(),
        purchase_receipt_fisn=fiscal_number,
        purchase_rro_fisn=register,
    )


def as_sent(row: RowRequest) -> Mapping[str, object]:
    """A row as a request has it (docs/reference/http-interface.md#rows)."""
    money = {"price": row.price, "cost": row.cost or 0, "disc": sum(one.value for one in row.discounts)}
    texts = {name: getattr(row, name) for name in ("name", "code", "code1", "code2", "code3", "taxgrp")}
    marks = {"code_aa": list(row.code_aa)} if row.code_aa else {}
    return {**texts, **marks, "cnt": quantity(row.cnt), **{name: amount(one) for name, one in money.items()}}
