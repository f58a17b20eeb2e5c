"""Sales and returns as most tills send them, decoded in one step: what `dmtwisted.requests` reads member by member.

A body is taken only when nothing of it is in doubt: every member known and of its usual type, every amount certain to
the kopeck. Anything else is `None` here and read in `dmtwisted.requests`, which alone refuses, and keeps strays.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dmtwisted.requests import (
    LONG_BODY,
    LONGEST_ECHO,
    MAX_TAG,
    MOST_DISCOUNTS,
    MOST_PAYS,
    MOST_ROWS,
    MOST_STAMPS,
    Discount,
    FiscalRequest,
    Forms,
    PayRequest,
    ReceiptRequest,
    RowRequest,
    TaskRequest,
)

Amount = Annotated[float, Meta(ge=-1e9, le=1e9)]
"""A binary number that is near enough to the written one: times a thousand it is less than 0.001 beside it."""

SURE = 0.49
"""The distance from a whole number within which such a product certainly is rounded to it."""

_long_exponent = re.compile(rb"[eE][-+]?[0-9]{18}").search
"""A number with such an exponent is refused where it is read, but may be decoded as zero."""
_TO_ZERO, _LONG = bytes.maketrans(b"123456789", b"000000000"), b"0" * 18
"""A first look for so many digits, as the search takes ten times as long."""

Wish = Literal[0, 1, 2]
Flag = bool | Literal[0, 1]


class _Object(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    pass


class _Discount(_Object):
    disc: Amount = 0.0
    disc_type: Literal[0, 1] = 0
    disc_name: str = ""


class _Discounted(_Discount):
    discounts: Annotated[tuple[_Discount, ...], Meta(max_length=MOST_DISCOUNTS)] = ()


class _Row(_Discounted):
    name: str = ""
    code: str | int = ""
    code1: str = ""
    code2: str = ""
    code3: str = ""
    code_a: str = ""
    code_aa: Annotated[tuple[str, ...], Meta(max_length=MOST_STAMPS)] = ()
    cnt: Amount = 0.0
    price: Amount = 0.0
    cost: Amount = 0.0
    sum: Amount | None = None
    taxgrp: str | int = ""
    comment: str = ""


class _Pay(_Object):
    type: str | int = ""
    sum: Amount = 0.0
    change: Amount = 0.0
    commission: Amount = 0.0
    comment: str = ""
    comment_up: str = ""
    comment_down: str = ""
    paysys: str = ""
    rrn: str = ""
    cardmask: str = ""
    term_id: str = ""
    bank_id: str = ""
    bank_name: str = ""
    auth_code: str = ""
    oper_type: str = ""
    currency: str = ""


class _Receipt(_Discounted, kw_only=True):
    rows: Annotated[tuple[_Row, ...], Meta(min_length=1, max_length=MOST_ROWS)]
    pays: Annotated[tuple[_Pay, ...], Meta(max_length=MOST_PAYS)] = ()
    sum: Amount = 0.0
    round: Amount = 0.0
    autoround: Flag = False
    comment_up: str = ""
    comment_down: str = ""
    not_check_safe: Flag = False
    purchase_receipt_fisn: str = ""
    purchase_rro_fisn: str = ""
    purchase_receipt_dt: str = ""
    partpay_type: Literal[0, 1, 2, 3] = 0
    partpay_sum: Amount = 0.0
    partpay_receipt_fisn: str = ""


class _Fiscal(_Object):
    task: Literal[1, 2]
    receipt: _Receipt
    cashier: str = ""
    fisid: str = ""


class _Body(_Object):
    type: Literal[1]
    fiscal: _Fiscal
    device: Annotated[str, Meta(max_length=LONGEST_ECHO)] = ""
    tag: Annotated[str, Meta(max_length=MAX_TAG)] = ""
    source: str = ""
    need_pf_txt: Wish = 0
    need_pf_img: Wish = 0
    need_pf_pdf: Wish = 0
    need_pf_doccmd: Wish = 0
    ver: int | str = 0
    token: str = ""
    dt: int | str = ""


class _InDoubt(Exception):
    """An amount lies so near a half that its rounding needs its written digits."""


_decode = msgspec.json.Decoder(_Body).decode
_CODES: dict[str | int, str] = {"": "", **{n: str(n) for n in range(1000)}, **{str(n): str(n) for n in range(1000)}}
"""Codes of tax groups and payments in their usual spellings."""


def plain_sale(body: bytes) -> TaskRequest | None:
    """The request of ``body``, as `dmtwisted.requests.read_task` returns it without strays; `None` when in doubt."""
    if len(body) > LONG_BODY or (_LONG in body.translate(_TO_ZERO) and _long_exponent(body)):
        return None
    try:
        root = _decode(body)
        given = root.fiscal
        if "\0" in root.tag:
            return None
        return TaskRequest(
            root.device,
            1,
            root.tag,
            root.source,
            FiscalRequest(given.task, given.cashier, _receipt(given.receipt)),
            _forms(root),
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, _InDoubt, KeyError):
        return None


def _forms(root: _Body) -> Forms:
    if root.need_pf_txt or root.need_pf_img or root.need_pf_pdf or root.need_pf_doccmd:
        return Forms(root.need_pf_txt, root.need_pf_img, root.need_pf_pdf, root.need_pf_doccmd)
    return _FORMS_OF_SETTINGS


_FORMS_OF_SETTINGS = Forms()


def _whole(product: float) -> int:
    """The whole number that ``product`` is rounded to.

    :raises _InDoubt: near a half.
    """
    whole = round(product)
    if -SURE < product - whole < SURE:
        return whole
    raise _InDoubt


def _receipt(given: _Receipt) -> ReceiptRequest:
    return ReceiptRequest(
        _whole(given.sum * 100),
        _whole(given.round * 100) if given.round else 0,
        bool(given.autoround),
        _discounts(given) if given.disc or given.discounts else (),
        given.comment_up,
        given.comment_down,
        bool(given.not_check_safe),
        tuple(map(_row, given.rows)),
        tuple(map(_pay, given.pays)),
        given.purchase_receipt_fisn,
        given.purchase_rro_fisn,
        given.purchase_receipt_dt,
        given.partpay_type,
        _whole(given.partpay_sum * 100) if given.partpay_sum else 0,
        given.partpay_receipt_fisn,
    )


def _row(given: _Row) -> RowRequest:
    cost: int | None = _whole(given.cost * 100) if given.cost else 0
    if not cost:
        cost = None if given.sum is None else _whole(given.sum * 100)
    return RowRequest(
        given.name,
        str(given.code),
        given.code1,
        given.code2,
        given.code3,
        given.code_a,
        given.code_aa,
        _whole(given.cnt * 1000),
        _whole(given.price * 100),
        cost,
        _discounts(given) if given.disc or given.discounts else (),
        _CODES[given.taxgrp],
        given.comment,
    )


def _discounts(given: _Discounted) -> tuple[Discount, ...]:
    named = tuple(map(_discount, given.discounts))
    single = _discount(given)
    return (single, *named) if single.value else named


def _discount(given: _Discount) -> Discount:
    return Discount(_whole(given.disc * 100), given.disc_type == 1, given.disc_name)


def _pay(given: _Pay) -> PayRequest:
    return PayRequest(
        _CODES[given.type],
        _whole(given.sum * 100),
        _whole(given.change * 100) if given.change else 0,
        _whole(given.commission * 100) if given.commission else 0,
        given.comment,
        given.comment_up,
        given.comment_down,
        given.paysys,
        given.rrn,
        given.cardmask,
        given.term_id,
        given.bank_id,
        given.bank_name,
        given.auth_code,
        given.oper_type,
    )
