"""What a document is on a machine: a slip, or a refusal before anything happens."""

from __future__ import annotations

from typing import NoReturn

from dmtwisted.documents import documents
from dmtwisted.documents.catalogue import CASH
from dmtwisted.documents.documents import Document, Good, Payment, Receipt
from dmtwisted.money import half_up, hryvnias
from dmtwisted.registers.wired.interface import Slip, SlipLine, SlipPayment
from dmtwisted.registers.wired.settings import WiredSettings
from dmtwisted.requests import malformed
from dmtwisted.results import Refused, Res, Text

NO_COMMAND = frozenset({documents.OPEN, documents.CLOSE})
"""Documents of which a machine knows nothing: its shift opens with the first slip, and a Z closes it."""

NOT_IN_PARTS = Text(
    "апаратний реєстратор не пробиває оплату частинами", "a hardware register makes no receipt of part payments"
)


def slip_of(document: Document, settings: WiredSettings) -> Slip:
    """What the machine is to register for ``document``.

    :raises Refused: when a machine has no such slip, or the settings do not say what something is called there.
    """
    kind, receipt, cash = document.kind, document.receipt, document.cash
    if kind in (documents.SALE, documents.RETURN) and receipt is not None:
        return _of_receipt(kind, document.cashier, receipt, settings)
    if kind in (documents.CASH_IN, documents.CASH_OUT) and cash is not None:
        return Slip(
            kind=kind,
            cashier=document.cashier,
            total=cash.sum,
            above=_lines(cash.comment_up),
            below=_lines(cash.comment_down),
        )
    if kind == documents.Z:
        return Slip(kind=kind, cashier=document.cashier)
    not_there(document)


def not_there(document: Document) -> NoReturn:
    """Refuse a document that a machine cannot make.

    :raises Refused: 1158 for a storno, 1052 for going offline, else 307.
    """
    if document.kind == documents.STORNO:
        raise Refused(Res.STORNO_FORBIDDEN)
    if document.kind in (documents.OFFLINE_BEGIN, documents.OFFLINE_END):
        raise Refused(Res.OFFLINE_FORBIDDEN)
    raise Refused(Res.UNKNOWN_FISCAL_TASK, document.caller.task)


def _of_receipt(kind: str, cashier: str, receipt: Receipt, settings: WiredSettings) -> Slip:
    if receipt.part is not None:
        raise malformed("fiscal.receipt.partpay_type", NOT_IN_PARTS)
    if not receipt.goods:
        raise Refused(Res.EMPTY_ROWS)
    for tax in receipt.taxes:
        if tax.on_top:
            algorithm = next(group.algorithm for group in settings.tax_groups if group.code == tax.gr_code)
            raise Refused(Res.TAX_ALGORITHM_UNSUPPORTED, tax.gr_code, algorithm)
    lines = tuple(_line(good, settings) for good in receipt.goods)
    total = sum(line.cost - line.discount for line in lines)
    if total != receipt.sum_topay:
        paid, sold = hryvnias(receipt.sum_topay), hryvnias(total)
        text = Text(f"оплачено {paid}, апарат порахує {sold}", f"{paid} is paid, the machine reckons {sold}")
        raise malformed("fiscal.receipt.pays", text)
    payments = tuple(_payment(pay, kind, settings) for pay in receipt.pays)
    return Slip(
        kind=kind,
        cashier=cashier,
        lines=lines,
        payments=payments,
        total=total,
        change=sum(pay.sum for pay in payments) - total,
        purchase=receipt.purchase_receipt_fisn.strip() if kind == documents.RETURN else "",
        above=_lines(receipt.comment_up),
        below=_lines(receipt.comment_down),
    )


def _line(good: Good, settings: WiredSettings) -> SlipLine:
    there = settings.taxes_there.get(good.taxgrp)
    if there is None:
        raise Refused(Res.WRONG_TAX_GROUP, good.taxgrp, note="tax_map")
    # A till may state another amount than the machine reckons; the difference is a discount there.
    cost = half_up(good.price * good.cnt, 1000)
    return SlipLine(
        name=good.name,
        quantity=good.cnt,
        price=good.price,
        cost=cost,
        tax=there,
        discount=cost - (good.cost - good.disc),
        code=good.code.strip(),
        uktzed=good.code2.strip(),
        marks=good.marks,
        text=good.comment,
    )


def _payment(pay: Payment, kind: str, settings: WiredSettings) -> SlipPayment:
    form = settings.forms_there.get(pay.type)
    if form is None:
        raise Refused(Res.CODE_NOT_ENABLED, pay.type, note="form_map")
    # Change is given out of cash, and never at a return.
    cash = pay.type == CASH
    return SlipPayment(
        form=form,
        sum=pay.tendered if cash and kind == documents.SALE else pay.sum,
        cash=cash,
        rrn=pay.rrn,
        card=pay.cardmask,
        bank=pay.bank_name or pay.bank_id,
        terminal=pay.term_id,
        auth_code=pay.auth_code,
    )


def _lines(text: str) -> tuple[str, ...]:
    """The lines of a comment that say anything."""
    return tuple(line for line in map(str.rstrip, text.splitlines()) if line)
