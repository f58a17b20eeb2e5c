"""Documents as the tax service's second server takes them (docs/reference/tax-cabinet.md#mapping).

The sums are those of the answer, as on protocol A; nothing is calculated again but the taxable turnover of part
payments in a Z. What the format has no place for is refused, or told by `left_out`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, NamedTuple

from dmtwisted.clock import kyiv
from dmtwisted.documents import catalogue, documents
from dmtwisted.documents.catalogue import TaxGroup
from dmtwisted.documents.documents import Document, Good, Payment, Receipt, ShiftTotals
from dmtwisted.money import half_up
from dmtwisted.registers.channels.tax_documents import (
    CASH_NAME,
    NO_DOCUMENT,
    NO_ITEMS,
    WITHDRAWAL_NAME,
    Desk,
    levy_on_top,
    one_line,
    purchase_of,
)
from dmtwisted.registers.marks import written as written_mark
from dmtwisted.requests import malformed
from dmtwisted.results import Refused, Res, Text
from dmtwisted.wording import wording
from protocols.fiscal.cabinet.documents import MAC, RQ, C, Dat, Kind, encode
from protocols.fiscal.cabinet.documents_rows import (
    CA,
    CASH,
    CASHLESS,
    INCLUDED,
    OF_INCOME,
    ON_TOP,
    OTHER,
    TX,
    CashIn,
    CashOut,
    D,
    E,
    L,
    M,
    P,
    Row,
    S,
)
from protocols.fiscal.cabinet.documents_service import USUAL_SIZE, asking_for_numbers
from protocols.fiscal.cabinet.documents_z import EPZ, IO, NC, TXS, ZM, Z
from protocols.fiscal.schema import DocumentError, Fault

_SERVICE = {
    documents.OPEN: Kind.OPEN,
    documents.OFFLINE_BEGIN: Kind.OFFLINE,
    documents.OFFLINE_END: Kind.ONLINE,
}
"""Documents without content."""

NO_CODE = "0"
"""The code of an item that has none."""

EXEMPT, NOT_TAXABLE = "0", "-1"
UNTAXED = (EXEMPT, NOT_TAXABLE)

_LETTERS = "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЮЯҐЄІЇЙЬ"
"""The letter of tax 1, of tax 2 and so on; the order from the seventh on is ours."""

_LOOK_ALIKES = str.maketrans("ABEKMHOPCTXI", "АВЕКМНОРСТХІ")
"""Latin letters that tills write for Cyrillic ones."""


def written(document: Document, desk: Desk, numbers: int = USUAL_SIZE) -> bytes:
    """The XML of ``document``, with its place in the shift and the hash of the document before.

    :param numbers: how many offline numbers a request for them asks for.

    :raises Refused: 307 when the server has no such document, 1087 for taxes that it cannot tell apart, 1097 or 1098
        when the document lacks what the server needs, 2000 for a malformed code of goods, 1038 for anything else
        that cannot be written.
    """
    dat = Dat(
        fn=str(desk.number),
        tn=desk.outlet.tin,
        zn=str(desk.local),
        di=document.place or 0,
        content=asking_for_numbers(numbers) if document.kind == documents.NUMBERS else _content(document, desk),
        ts=_moment(document),
    )
    number = document.offline.number if document.offline is not None else None
    try:
        return encode(RQ(dat=dat, mac=MAC(id=number, text=document.previous)))
    except DocumentError as error:
        raise _refused(error.faults[0]) from None


def _moment(document: Document) -> datetime:
    return kyiv(document.at).replace(microsecond=0, tzinfo=None)


_ITEM_CODE = re.compile(r"RQ/DAT/C/P\[(?P<row>[0-9]+)\]/@CZD")


def _refused(fault: Fault) -> Refused:
    found = _ITEM_CODE.fullmatch(fault.path)
    if found is None:
        return Refused(Res.TAX_SERVICE_WRONG_XML, note=wording(fault))
    return malformed(f"fiscal.receipt.rows[{int(found['row']) - 1}].code2", wording(fault.text))


_NO_TESTS = Text("цей сервер не має тестових документів", "this server has no test documents")


def _content(document: Document, desk: Desk) -> C | Z:
    if desk.testing:
        # Sent without the mark that only protocol A has, a test would be a real document.
        raise Refused(Res.UNKNOWN_FISCAL_TASK, document.caller.task, note=_NO_TESTS)
    if document.kind in _SERVICE:
        return C(t=_SERVICE[document.kind])
    if document.kind == documents.Z:
        assert document.report is not None
        return _report(document, document.report, desk)
    if document.kind in (documents.SALE, documents.RETURN):
        assert document.receipt is not None
        return _receipt(document, document.receipt, desk)
    if document.kind in (documents.CASH_IN, documents.CASH_OUT):
        assert document.cash is not None
        return _moved(document.cash, document.kind == documents.CASH_IN, desk)
    if document.kind == documents.WITHDRAWAL:
        assert document.cash is not None
        return _withdrawal(document, document.cash, desk)
    raise Refused(Res.UNKNOWN_FISCAL_TASK, document.caller.task, note=NO_DOCUMENT)


def left_out(document: Document, number: int, groups: Mapping[int, TaxGroup]) -> Iterator[Text]:
    """What the XML of ``document`` lacks, for the person at the till.

    :param number: the fiscal number of the register, :param groups: its tax groups.
    """
    receipt = document.receipt
    if receipt is None or document.kind not in (documents.SALE, documents.RETURN):
        return
    for place, good in enumerate(receipt.goods, 1):
        if good.code3.strip():
            yield Text(f"рядок {place}: без ДКПП", f"row {place}: without DKPP")
        if receipt.part is None and not _is_product(good):
            yield Text(f"рядок {place}: без ціни одиниці", f"row {place}: without the price of a unit")
    if receipt.part is not None:
        yield Text("без повної ціни та номера чека передплати", "without the whole price and the prepayment's number")
    if document.kind == documents.RETURN and receipt.purchase_rro_fisn.strip() not in ("", str(number)):
        yield Text("без каси та дати чека покупки", "without register and date of the purchase's receipt")


# Receipts


class _Rows:
    """The operations of a receipt, numbered as they are added."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add(self, kind: Callable[..., Row], **members: Any) -> int:
        """Add an operation; its number."""
        number = len(self.rows) + 1
        self.rows.append(kind(n=number, **members))
        return number

    def comment(self, *texts: str) -> None:
        """Add the texts that are not empty."""
        for text in texts:
            line = one_line(text)
            if line:
                self.add(L, text=line)

    def end(self, document: Document, desk: Desk, **members: Any) -> None:
        """Add the end of the receipt."""
        self.add(E, no=document.place or 0, fn=str(desk.number), ts=_moment(document), **members)


def _receipt(document: Document, receipt: Receipt, desk: Desk) -> C:
    if not receipt.goods:
        raise Refused(Res.EMPTY_ROWS, note=NO_ITEMS)
    returned = document.kind == documents.RETURN
    original = one_line(purchase_of(receipt)) if returned else None
    taxes = {code: _tax_of(code, desk) for code in dict.fromkeys(good.taxgrp for good in receipt.goods)}
    rows = _Rows()
    rows.comment(receipt.comment_up)
    for index, good in enumerate(receipt.goods):
        tax = taxes[good.taxgrp]
        if receipt.part is not None and not tax.in_parts:
            raise malformed(f"fiscal.receipt.rows[{index}].taxgrp", _NOT_IN_PARTS)
        _add_good(rows, good, tax.code, returned, receipt.part is not None, desk)
    for pay in receipt.pays:
        rows.add(M, **_payment(pay, desk))
        rows.comment(pay.comment_up, pay.comment, pay.comment_down)
    rows.comment(receipt.comment_down)
    cashier = document.cashier or desk.cashier
    rows.comment(f"Касир: {cashier}" if cashier.strip() else "")
    total = receipt.sum_topay - receipt.round
    stated = _merged(TX(**taxes[line.gr_code].members, txsm=line.tax_sum, dtsm=line.ex_sum) for line in receipt.taxes)
    taxed = sum((tax.txsm or 0) + (tax.dtsm or 0) for tax in stated)
    rows.end(document, desk, rno=original, sm=total, se=total - taxed, taxes=stated)
    return C(t=Kind.RETURN if returned else Kind.SALE, rows=tuple(rows.rows))


def _add_good(rows: _Rows, good: Good, tax: str, returned: bool, in_parts: bool, desk: Desk) -> None:
    """An item with its discount and comment; of a part payment the item has its share, without quantity and price."""
    number = rows.add(
        P,
        c=one_line(good.code, 64) or NO_CODE,
        cd=one_line(good.code1, 64),
        czd=good.code2.strip() or None,
        nm=one_line(good.name, 1024) or "",
        sm=good.part if in_parts else good.cost,
        q=None if in_parts or good.cnt == 1000 else good.cnt,
        # The server may multiply; `cost` may differ from the product, and counts (specification 8).
        prc=good.price if not in_parts and _is_product(good) else None,
        tx=tax,
        rt=0 if returned else None,
        # Never cut or rewritten: what cannot be written was refused (`dmtwisted.registers.marks`).
        marks=tuple(CA(ca=written_mark(mark, desk.marks_gs)) for mark in good.marks),
    )
    if good.disc and not in_parts:
        rows.add(D if good.disc > 0 else S, tr=0, ty=0, ni=number, tx=tax, sm=abs(good.disc))
    rows.comment(good.comment)


def _is_product(good: Good) -> bool:
    return half_up(good.price * good.cnt, 1000) == good.cost


def _payment(pay: Payment, desk: Desk) -> dict[str, Any]:
    return {
        "t": _means(pay.type, desk),
        "nm": _name(pay.type, pay.name),
        "sm": pay.tendered or pay.sum,
        "rm": pay.change or None,
        "smb": pay.exact if pay.round else None,
        "smm": -pay.round if pay.round < 0 else None,
        "smp": pay.round if pay.round > 0 else None,
        **_card(pay),
    }


def _means(pay_type: int, desk: Desk) -> int:
    """``T`` of a payment type: cash, or by its form something else or a cashless instrument."""
    if pay_type == catalogue.CASH:
        return CASH
    known = desk.payments.get(pay_type)
    form = (known.form if known is not None else "") or catalogue.FORMS.get(pay_type, "")
    return OTHER if form.strip().upper() == catalogue.OTHER else CASHLESS


def _name(pay_type: int, name: str) -> str:
    return one_line(name) or str(pay_type)


def _card(pay: Payment) -> dict[str, Any]:
    """The data of the card payment; none when there was no terminal."""
    if not any((pay.paysys, pay.rrn, pay.cardmask, pay.term_id, pay.auth_code)):
        return {}
    return {
        "rrn": one_line(pay.rrn, 64),
        "psnm": one_line(pay.paysys),
        "pa": one_line(f"{pay.bank_name} {pay.bank_id}"),
        "pb": one_line(pay.term_id),
        "pc": one_line(pay.oper_type),
        "pd": one_line(pay.cardmask),
        "pe": one_line(pay.auth_code),
        "pf": pay.commission or None,
    }


def _moved(cash: Payment, came_in: bool, desk: Desk) -> C:
    row = CashIn if came_in else CashOut
    moved = row(n=1, t=_means(cash.type, desk), nm=_name(cash.type, cash.name), sm=cash.sum)
    return C(t=Kind.CASH, rows=(moved, E(n=2)))


def _withdrawal(document: Document, cash: Payment, desk: Desk) -> C:
    rows = _Rows()
    rows.add(P, c=NO_CODE, nm=WITHDRAWAL_NAME, sm=cash.sum)
    rows.add(M, t=CASH, nm=CASH_NAME, sm=cash.sum, **{"pf": cash.commission or None, **_card(cash)})
    rows.end(document, desk, sm=cash.sum)
    return C(t=Kind.WITHDRAWAL, rows=tuple(rows.rows))


# Taxes


@dataclass(frozen=True, kw_only=True)
class _Tax:
    """The one tax of a group, with VAT and levy together."""

    code: str
    vat: int = 0
    levy: int = 0
    kind: int = INCLUDED
    algorithm: int = 0
    in_parts: bool = field(default=True, compare=False)
    """Whether a part of a price can be sold: the Z has to state its turnover (`_turnovers`)."""

    @property
    def members(self) -> dict[str, Any]:
        """Its attributes in receipts and Z."""
        return {
            "tx": self.code,
            "txpr": self.vat,
            "dtpr": self.levy,
            "txty": self.kind,
            "txal": self.algorithm,
        }


_NOT_IN_PARTS = Text(
    "частинами продають лише товари групи з названим податком або звільнені від податку",
    "only goods of a group with a named tax, or exempt ones, are sold in parts",
)


def _letterless(letter: str) -> Text:
    return Text(
        f"літера групи «{letter}» не позначає податку на сервері кабінету",
        f"the letter {letter!r} of the group is no tax of the cabinet's server",
    )


def _shared(letter: str, code: int) -> Text:
    return Text(
        f"літеру «{letter}» має також група {code}, з іншими податками",
        f"group {code}, with other taxes, has the letter {letter} too",
    )


_ON_TOP_OF_INCOME = Text(
    "податок на дохід понад ціну сервер кабінету не приймає",
    "the cabinet's server takes no tax on income on top of the price",
)


def _tax_of(code: int, desk: Desk) -> _Tax:
    """The tax of a group.

    :raises Refused: 1087 when the server could not tell it from that of another group, or has no place for it.
    """
    group = desk.groups.get(code)
    if group is None:
        return _Tax(code=EXEMPT)
    found = _plain_tax(group)
    if found.code in UNTAXED:
        return found
    for other in desk.groups.values():
        if other.enabled and _taxed(other) and _number_of(other) == found.code and _plain_tax(other) != found:
            raise Refused(Res.WRONG_TAX_GROUP, code, note=_shared(group.letter[:1], other.code))
    return found


def _taxed(group: TaxGroup) -> bool:
    return bool(group.tax_name or group.ex_name or group.percent or group.ex_percent or group.ex_rate)


def _number_of(group: TaxGroup) -> str:
    """The number of the group's first letter; empty when it has none."""
    letter = group.letter[:1].upper().translate(_LOOK_ALIKES)
    return str(_LETTERS.index(letter) + 1) if letter and letter in _LETTERS else ""


def _plain_tax(group: TaxGroup) -> _Tax:
    if not _taxed(group):
        outside = "об'єкт" in group.name.lower().replace("’", "'").replace("ʼ", "'")
        return _Tax(code=NOT_TAXABLE if outside else EXEMPT, in_parts=not outside)
    number = _number_of(group)
    if not number:
        raise Refused(Res.WRONG_TAX_GROUP, group.code, note=_letterless(group.letter))
    of_income = bool(group.tax_name) and group.tax_type is None
    if of_income and (not group.included or levy_on_top(group)):
        raise Refused(Res.WRONG_TAX_GROUP, group.code, note=_ON_TOP_OF_INCOME)
    return _Tax(
        code=number,
        vat=group.percent,
        levy=group.ex_rate if group.algorithm == catalogue.VAT_AFTER_EXCISE else group.ex_percent,
        kind=OF_INCOME if of_income else INCLUDED if group.included else ON_TOP,
        algorithm=group.algorithm,
        in_parts=bool(group.tax_name or group.ex_name),
    )


def _merged(taxes: Iterable[TX]) -> tuple[TX, ...]:
    """One line for each tax: two groups may have the same."""
    found: dict[str, TX] = {}
    for tax in taxes:
        known = found.get(tax.tx)
        if known is not None:
            tax = replace(tax, txsm=(known.txsm or 0) + (tax.txsm or 0), dtsm=(known.dtsm or 0) + (tax.dtsm or 0))
        found[tax.tx] = tax
    return tuple(found.values())


# The Z


def _report(document: Document, report: ShiftTotals, desk: Desk) -> Z:
    given = sum(line.sum_m - line.sum_p for line in report.cash.values())
    return Z(
        no=document.shift,
        taxes=_tax_totals(report, desk, kyiv(document.at).date()),
        payments=_payment_totals(report, desk),
        cash=tuple(
            IO(t=_means(code, desk), nm=_name(code, line.name), smi=line.sum_p, smo=line.sum_m)
            for code, line in sorted(report.money.items())
        ),
        counts=NC(ni=report.count_p, no=report.count_m),
        withdrawals=EPZ(epc=report.count_14, epsm=given) if report.count_14 else None,
    )


class _Side(NamedTuple):
    """Of a tax, in sales or in returns."""

    turnover: int = 0
    vat: int = 0
    levy: int = 0

    def plus(self, other: _Side) -> _Side:
        return _Side(*(one + more for one, more in zip(self, other, strict=True)))


def _tax_totals(report: ShiftTotals, desk: Desk, day: date) -> tuple[TXS, ...]:
    sold, returned = (_turnovers(report, side, desk) for side in ("p", "m"))
    found = []
    for tax in dict.fromkeys((*sold, *returned)):
        came, went = sold.get(tax, _Side()), returned.get(tax, _Side())
        if any((*came, *went)):
            line = TXS(ts=day, **tax.members)
            line = replace(line, smi=came.turnover, txi=came.vat, dti=came.levy)
            found.append(replace(line, smo=went.turnover, txo=went.vat, dto=went.levy))
    return tuple(sorted(found, key=lambda line: int(line.tx)))


def _turnovers(report: ShiftTotals, side: Any, desk: Desk) -> dict[_Tax, _Side]:
    """The sums of each tax: turnover after discounts, VAT, levy.

    Of part payments a report knows the turnover of taxed groups by the base of their tax; the exempt one takes what
    remains of all that was sold.
    """
    lines = report.side(side)
    found: dict[_Tax, _Side] = {}
    remaining = lines.base
    for code, _, _, base, base_tax, base_levy, vat, levy in lines.taxes:
        group = desk.groups.get(code)
        tax = _tax_of(code, desk)
        if group is not None and tax.code not in UNTAXED:
            base = _taxed_turnover(group, base, base_tax, base_levy, levy)
        if tax.code == EXEMPT:
            base = 0
        remaining -= base
        found[tax] = found.get(tax, _Side()).plus(_Side(base, vat, levy))
    exempt = _Tax(code=EXEMPT)
    if remaining or exempt in found:
        found[exempt] = found.get(exempt, _Side()).plus(_Side(remaining))
    return found


def _taxed_turnover(group: TaxGroup, base: int, base_tax: int, base_levy: int, levy: int) -> int:
    """What was sold of a taxed group, by the bases of its taxes."""
    if group.ex_name:
        return base_levy
    if not group.tax_name:
        return base
    added = {catalogue.VAT_ON_LEVY: -levy, catalogue.VAT_INSIDE_LEVY: 0}
    return base_tax + added.get(group.algorithm, levy)


def _payment_totals(report: ShiftTotals, desk: Desk) -> tuple[ZM, ...]:
    """One line for each means and name: payment types may share both."""
    found: dict[tuple[int, str], ZM] = {}
    for code, line in sorted(report.pays.items()):
        means = _means(code, desk), _name(code, line.name)
        known = found.get(means, ZM(t=means[0], nm=means[1]))
        found[means] = replace(
            known,
            smi=(known.smi or 0) + line.sum_p + line.round_pu - line.round_pd,
            smo=(known.smo or 0) + line.sum_m + line.round_mu - line.round_md,
            smim=(known.smim or 0) + line.round_pd or None,
            smip=(known.smip or 0) + line.round_pu or None,
            smom=(known.smom or 0) + line.round_md or None,
            smop=(known.smop or 0) + line.round_mu or None,
        )
    return tuple(found.values())
