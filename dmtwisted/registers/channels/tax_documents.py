"""Documents as the fiscal server takes them: CHECK and ZREP (docs/reference/tax-service.md#mapping).

The sums are those of the answer. Only the base of a tax is calculated again: the server's own formula has to give the
tax for it. A Z adds up the receipts, line by line.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from dmtwisted.clock import kyiv
from dmtwisted.documents import documents
from dmtwisted.documents.catalogue import CASH, VAT_INSIDE_LEVY, VAT_ON_LEVY, PayType, TaxGroup
from dmtwisted.documents.documents import Document, Good, OfflineMark, Payment, Receipt, ReportSide
from dmtwisted.money import half_up
from dmtwisted.registers.marks import written as written_mark
from dmtwisted.requests import malformed
from dmtwisted.results import Refused, Res, Text
from dmtwisted.wording import wording
from protocols.fiscal.check_goods import BodyRow, ExciseRow
from protocols.fiscal.check_head import CheckHead, DocSubType, DocType
from protocols.fiscal.check_xml import CardRow, Check, CheckTotal, PayRow, TaxRow
from protocols.fiscal.document_kinds import content_faults
from protocols.fiscal.document_xml import Document as XmlDocument
from protocols.fiscal.document_xml import encode, with_head
from protocols.fiscal.letters import writable
from protocols.fiscal.schema import DocumentError, Fault
from protocols.fiscal.zrep_xml import PayFormRow, Turnover, ZRep, ZRepBody, ZRepCash, ZRepHead, ZTaxRow

CASH_NAME, WITHDRAWAL_NAME = "ГОТІВКА", "Видача готівки"
"""The names of a withdrawal's payment and of its only row."""

_TYPES: dict[str, tuple[DocType, DocSubType | None]] = {
    documents.OPEN: (DocType.OPEN_SHIFT, None),
    documents.CLOSE: (DocType.CLOSE_SHIFT, None),
    documents.OFFLINE_BEGIN: (DocType.OFFLINE_BEGIN, None),
    documents.OFFLINE_END: (DocType.OFFLINE_END, None),
    documents.SALE: (DocType.SALE, DocSubType.SALE),
    documents.RETURN: (DocType.SALE, DocSubType.RETURN),
    documents.CASH_IN: (DocType.SALE, DocSubType.CASH_IN),
    documents.CASH_OUT: (DocType.SALE, DocSubType.CASH_OUT),
    documents.STORNO: (DocType.SALE, DocSubType.STORNO),
    documents.WITHDRAWAL: (DocType.WITHDRAWAL, DocSubType.SALE),
}
"""``DOCTYPE`` and ``DOCSUBTYPE`` of each kind that the server has (docs/reference/tax-service.md#document-kinds)."""


class Outlet(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who issues documents, as the tax service registered it."""

    number: int = 0
    """The fiscal number of the register that it was asked for, where the outlet is kept."""
    tin: str
    ipn: str = ""
    org_name: str = ""
    point_name: str = ""
    address: str = ""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """One register, for the heads of its documents.

    :param number: its fiscal number, :param local: its number within the outlet.
    :param testing: whether its documents are tests.
    :param cashier: the name on documents whose request has none.
    :param groups: its tax groups, :param payments: its payment types, by number; they do not change during a shift.
    """

    number: int
    local: int
    testing: bool
    outlet: Outlet
    cashier: str = ""
    groups: Mapping[int, TaxGroup] = field(default_factory=dict)
    payments: Mapping[int, PayType] = field(default_factory=dict)
    marks_gs: str = ""
    """Stands for the separator of excise marks."""

    def pay_code(self, pay_type: int) -> int:
        """``PAYFORMCD`` of a payment type; its number when the register has no such type any more."""
        known = self.payments.get(pay_type)
        return pay_type if known is None or known.payformcd is None else known.payformcd


def written(document: Document, desk: Desk) -> bytes:
    """The XML of ``document``, checked against the server's schema.

    :raises Refused: 307 when the server has no such document, 1097 or 1098 when it lacks what the server needs,
        2000 for a malformed code of goods, 1038 for anything else that the schema does not allow.
    """
    value = _report(document, desk) if document.kind == documents.Z else _check(document, desk)
    wrong = next(content_faults(value), None)
    if wrong is not None:
        raise _refused(wrong)
    try:
        return encode(value)
    except DocumentError as error:
        raise _refused(error.faults[0]) from None


def dated(document: XmlDocument, at: int) -> XmlDocument:
    """``document`` with another time, milliseconds since 1970; the rest is unchanged, its GUID too."""
    moment = kyiv(at)
    return with_head(document, orderdate=moment.date(), ordertime=moment.time().replace(microsecond=0))


_ROW_CODE = re.compile(r"CHECK/CHECKBODY/ROW\[(?P<row>[0-9]+)\]/(?P<name>UKTZED|DKPP)")
_MEMBERS = {"UKTZED": "code2", "DKPP": "code3"}


def _refused(fault: Fault) -> Refused:
    found = _ROW_CODE.fullmatch(fault.path)
    if found is None:
        return Refused(Res.TAX_SERVICE_WRONG_XML, note=wording(fault))
    return malformed(f"fiscal.receipt.rows[{int(found['row']) - 1}].{_MEMBERS[found['name']]}", wording(fault.text))


def one_line(text: str, longest: int | None = None) -> str | None:
    """``text`` on one line, in characters that the server can read; `None` when it is empty."""
    return writable(" ".join(text.split()), longest) or None


NO_DOCUMENT = Text("податкова не має такого документа", "the tax service has no such document")
NO_ITEMS = Text("податкова не приймає чека без товарів", "the tax service takes no receipt without items")


def _on_top(name: str) -> Text:
    return Text(
        f"податок «{name}» понад ціну податкова не приймає: у групі немає його type",
        f"the tax service takes no tax {name} on top of the price: the group has no type of it",
    )


_NUMBER_EXPECTED = Text("очікується фіскальний номер каси", "a register's fiscal number is expected")


def left_out(document: Document, number: int, groups: Mapping[int, TaxGroup]) -> Iterator[Text]:
    """What the XML of ``document`` lacks, for the person at the till.

    :param number: the fiscal number of the register, :param groups: its tax groups.
    """
    receipt = document.receipt
    if receipt is None or document.kind not in (documents.SALE, documents.RETURN):
        return
    for place, good in enumerate(receipt.goods, 1):
        if good.code3 and good.code2.strip() and good.code3.strip():
            yield Text(f"рядок {place}: УКТЗЕД без ДКПП", f"row {place}: UKTZED without DKPP")
    for tax in receipt.taxes:
        group = groups.get(tax.gr_code)
        for name in _unsent(group) if group is not None else ():
            yield Text(f"група {tax.gr_code}: без податку «{name}»", f"group {tax.gr_code}: without the tax {name}")
    register = receipt.purchase_rro_fisn.strip()
    if document.kind == documents.RETURN and register not in ("", str(number)) and not receipt.purchase_date:
        yield Text("без дати чека покупки", "without the date of the purchase's receipt")


# Heads


def _shared(document: Document, desk: Desk) -> dict[str, Any]:
    """The members that the heads of both classes share."""
    moment: datetime = kyiv(document.at)
    outlet, mark = desk.outlet, document.offline
    session = document.kind in (documents.OFFLINE_BEGIN, documents.OFFLINE_END)
    return {
        "uid": str(uuid.uuid4()).upper(),
        "tin": outlet.tin,
        "ipn": outlet.ipn or None,
        "orgnm": one_line(outlet.org_name, 256) or "",
        "pointnm": one_line(outlet.point_name, 256) or "",
        "pointaddr": one_line(outlet.address, 256),
        "orderdate": moment.date(),
        "ordertime": moment.time().replace(microsecond=0),
        "ordernum": document.number,
        "cashdesknum": desk.local,
        "cashregisternum": desk.number,
        "cashier": one_line(document.cashier or desk.cashier, 128),
        "ordertaxnum": mark.number if mark is not None else None,
        "offline": True if mark is not None else None,
        "prevdochash": (mark.hash or None) if mark is not None else None,
        # The documents that open and close a session are never tests, also around test documents.
        "testing": True if desk.testing and not session else None,
    }


def _head(document: Document, desk: Desk, **more: Any) -> CheckHead:
    doctype, subtype = _TYPES[document.kind]
    return CheckHead(doctype=doctype, docsubtype=subtype, **_shared(document, desk), **more)


# Receipts and service documents


def _check(document: Document, desk: Desk) -> Check:
    if document.kind not in _TYPES:
        raise Refused(Res.UNKNOWN_FISCAL_TASK, document.caller.task, note=NO_DOCUMENT)
    if document.kind in (documents.SALE, documents.RETURN):
        assert document.receipt is not None
        return _receipt(document, document.receipt, desk)
    if document.kind == documents.STORNO:
        assert document.reverses is not None
        return Check(checkhead=_head(document, desk, orderstornum=document.reverses.fiscal_number))
    if document.kind == documents.WITHDRAWAL:
        assert document.cash is not None
        return _withdrawal(document, document.cash, desk)
    if document.cash is not None:
        return Check(checkhead=_head(document, desk), checktotal=CheckTotal(sum=document.cash.sum))
    if document.kind == documents.OFFLINE_BEGIN and document.offline is not None:
        return Check(checkhead=replace(_head(document, desk), **_opening(document, document.offline, desk)))
    return Check(checkhead=_head(document, desk))


def _opening(document: Document, mark: OfflineMark, desk: Desk) -> dict[str, Any]:
    """What only a session's opening document says; its GUID is the same whether it revokes a document or not."""
    name = f"{desk.number} {mark.number} {document.at}"
    return {"uid": str(uuid.uuid5(_OPENINGS, name)).upper(), "revokelastonlinedoc": mark.revokes}


_OPENINGS = uuid.UUID("6f0d9c9e-8f0b-4c1e-9c50-3a2c0b6f7d11")
"""The namespace of the GUIDs of these documents."""


def _receipt(document: Document, receipt: Receipt, desk: Desk) -> Check:
    if not receipt.goods:
        raise Refused(Res.EMPTY_ROWS, note=NO_ITEMS)
    for tax in receipt.taxes:
        group = desk.groups.get(tax.gr_code)
        for name in _unsent_on_top(group) if group is not None and tax.on_top else ():
            raise Refused(Res.WRONG_TAX_GROUP, tax.gr_code, note=_on_top(name))
    comment = one_line(f"{receipt.comment_up} {receipt.comment_down}")
    head = _head(document, desk, comment=comment, **_purchase(document, receipt, desk))
    rounded = bool(receipt.round)
    total = CheckTotal(
        sum=document.total,
        rndsum=-receipt.round if rounded else None,
        norndsum=receipt.sum_topay - receipt.round if rounded else None,
        discounttype=0 if receipt.sum_disc else None,
        discountsum=receipt.sum_disc or None,
    )
    if receipt.part is not None:
        # The official samples have the share in sales without rounding alone.
        shared = document.kind == documents.SALE and not rounded
        total = replace(
            total,
            partpaytype=receipt.part.type,
            partpaypercent=half_up(receipt.part.sum * 10_000, receipt.sum_receipt) if shared else None,
            partpaysum=receipt.sum_topay,
            partpayordprepaynum=one_line(receipt.part.receipt_fisn, 128),
        )
    return Check(
        checkhead=head,
        checktotal=total,
        checkpay=tuple(_pay(pay, desk) for pay in receipt.pays),
        checktax=_receipt_taxes(receipt, desk),
        checkbody=tuple(_row(good, desk, receipt.part is not None) for good in receipt.goods),
    )


def purchase_of(receipt: Receipt) -> str:
    """The fiscal number of the receipt of the purchase, which a return names.

    :raises Refused: 1098 when it names none.
    """
    number = receipt.purchase_receipt_fisn.strip()
    if not number:
        raise Refused(Res.MISSING_OBJECT, "fiscal.receipt.purchase_receipt_fisn")
    return number


def _purchase(document: Document, receipt: Receipt, desk: Desk) -> dict[str, Any]:
    """The members of a return that name the receipt of the purchase."""
    if document.kind != documents.RETURN:
        return {}
    members: dict[str, Any] = {"orderretnum": one_line(purchase_of(receipt), 128)}
    register = receipt.purchase_rro_fisn.strip()
    if register and register != str(desk.number):
        if not register.isascii() or not register.isdigit():
            raise malformed("fiscal.receipt.purchase_rro_fisn", _NUMBER_EXPECTED)
        members["orderretcashregnum"] = int(register)
        if receipt.purchase_date:
            members["orderretdate"] = datetime.strptime(receipt.purchase_date, "%Y%m%d").date()
    return members


def _row(good: Good, desk: Desk, in_parts: bool) -> BodyRow:
    group = desk.groups.get(good.taxgrp)
    letters = "".join(dict.fromkeys(tax.letter for tax in _taxes_of(group)))
    return BodyRow(
        code=one_line(good.code, 64),
        barcode=one_line(good.code1, 64),
        uktzed=good.code2.strip() or None,
        # One of them stands in a row; goods have the first.
        dkpp=None if good.code2.strip() else good.code3.strip() or None,
        name=one_line(good.name, 1024),
        amount=good.cnt,
        price=good.price,
        letters=one_line(letters, 15),
        cost=good.cost,
        discounttype=0 if good.disc else None,
        discountsum=good.disc or None,
        partpaysum=good.part if in_parts else None,
        comment=one_line(good.comment),
        # Never cut or rewritten: what cannot be written was refused (`dmtwisted.registers.marks`).
        exciselabels=tuple(ExciseRow(exciselabel=written_mark(mark, desk.marks_gs)) for mark in good.marks),
    )


def _pay(pay: Payment, desk: Desk) -> PayRow:
    tendered = pay.tendered or pay.sum
    return PayRow(
        payformcd=desk.pay_code(pay.type),
        payformnm=one_line(pay.name) or str(pay.type),
        sum=pay.sum,
        provided=tendered,
        remains=pay.change or None,
        paysys=_card(pay),
    )


def _card(pay: Payment) -> tuple[CardRow, ...]:
    """The data of the card payment; none when there was no terminal."""
    if not any((pay.paysys, pay.rrn, pay.cardmask, pay.term_id, pay.auth_code)):
        return ()
    return (
        CardRow(
            name=one_line(pay.paysys),
            acquirepn=one_line(pay.bank_id, 64),
            acquirenm=one_line(pay.bank_name),
            acquiretransid=one_line(pay.rrn, 128),
            deviceid=one_line(pay.term_id, 128),
            epzdetails=one_line(pay.cardmask, 128),
            authcd=one_line(pay.auth_code, 64),
            sum=pay.sum,
            commission=pay.commission or None,
        ),
    )


def _withdrawal(document: Document, cash: Payment, desk: Desk) -> Check:
    return Check(
        checkhead=_head(document, desk),
        checktotal=CheckTotal(sum=cash.sum, notaxsum=cash.sum, commission=cash.commission),
        checkpay=(PayRow(payformcd=desk.pay_code(CASH), payformnm=CASH_NAME, sum=cash.sum, paysys=_card(cash)),),
        checkbody=(BodyRow(name=WITHDRAWAL_NAME, cost=cash.sum),),
    )


# Taxes


@dataclass(frozen=True)
class _Tax:
    """One tax of a group: its line in receipts and Z."""

    type: int
    is_levy: bool
    name: str
    letter: str
    percent: int
    on_top: bool


def _taxes_of(group: TaxGroup | None) -> tuple[_Tax, ...]:
    """The taxes of ``group`` that are sent: none, one or two; of two letters the second is the levy's."""
    if group is None:
        return ()
    found, letters = [], group.letter
    tax, levy = group.tax_type, group.levy_type
    if group.tax_name and tax is not None:
        found.append(_Tax(tax, False, group.tax_name, letters[:1], group.percent, not group.included))
    if group.ex_name and levy is not None:
        letter = letters[1:2] if group.tax_name and len(letters) > 1 else letters[:1]
        found.append(_Tax(levy, True, group.ex_name, letter, group.ex_percent, levy_on_top(group)))
    return tuple(found)


def _unsent(group: TaxGroup) -> list[str]:
    """The names of the taxes of ``group`` that the tax service has no type for."""
    taxes = ((group.tax_name, group.tax_type), (group.ex_name, group.levy_type))
    return [name for name, kind in taxes if name and kind is None]


def _unsent_on_top(group: TaxGroup) -> list[str]:
    """Those of them that are added to the price: without them the sums of a receipt do not agree."""
    on_top = [group.tax_name] if not group.included else []
    return [name for name in _unsent(group) if name in (*on_top, *([group.ex_name] if levy_on_top(group) else []))]


def levy_on_top(group: TaxGroup) -> bool:
    """Whether the levy of ``group`` is added to its prices."""
    return group.algorithm == VAT_ON_LEVY or (group.algorithm == VAT_INSIDE_LEVY and not group.included)


def _sources(group: TaxGroup, base_tax: int, base_levy: int, tax: int, levy: int) -> tuple[int, int]:
    """The bases of tax and levy: the server calculates ``base × rate / (100 + rate)``.

    Where one price includes both, each base is that price without the other one (docs/reference/tax-service.md#sums).
    """
    if group.algorithm == VAT_INSIDE_LEVY and group.included and group.ex_name:
        return base_tax - levy, base_levy - tax
    return base_tax, base_levy


def _lines(
    group: TaxGroup | None, turnover: int, base: int, base_tax: int, base_levy: int, tax: int, levy: int
) -> Iterable[TaxRow]:
    if group is None:
        return
    source_tax, source_levy = _sources(group, base_tax, base_levy, tax, levy)
    for line in _taxes_of(group):
        yield TaxRow(
            type=line.type,
            name=one_line(line.name, 64) or "",
            letter=one_line(line.letter, 1),
            prc=line.percent,
            sign=line.on_top,
            turnover=turnover,
            turnoverdiscount=base,
            sourcesum=source_levy if line.is_levy else source_tax,
            sum=levy if line.is_levy else tax,
        )


def _receipt_taxes(receipt: Receipt, desk: Desk) -> tuple[TaxRow, ...]:
    rows: list[TaxRow] = []
    for tax in receipt.taxes:
        turnover = sum(good.cost for good in receipt.goods if good.taxgrp == tax.gr_code)
        rows += _lines(
            desk.groups.get(tax.gr_code),
            *(turnover, tax.base_sum, tax.base_tax_sum, tax.base_ex_sum, tax.tax_sum, tax.ex_sum),
        )
    return _merged(rows)


def _merged(rows: Iterable[TaxRow]) -> tuple[TaxRow, ...]:
    """``rows`` with one line for each type, letter, rate and sign: two groups may share them."""
    found: dict[tuple[object, ...], TaxRow] = {}
    for row in rows:
        key = (row.type, row.letter, row.prc, row.sign)
        known = found.get(key)
        if known is not None:
            row = replace(
                known,
                turnover=known.turnover + row.turnover,
                turnoverdiscount=(known.turnoverdiscount or 0) + (row.turnoverdiscount or 0),
                sourcesum=(known.sourcesum or 0) + (row.sourcesum or 0),
                sum=known.sum + row.sum,
            )
        found[key] = row
    return tuple(found.values())


# The Z


def _report(document: Document, desk: Desk) -> ZRep:
    report = document.report
    assert report is not None
    money = report.money.values()
    given = sum(line.sum_m - line.sum_p for line in report.cash.values())
    return ZRep(
        zrephead=ZRepHead(**_shared(document, desk)),
        zreprealiz=_turnover(report.side("p"), desk) if report.count_p else None,
        zrepreturn=_turnover(report.side("m"), desk) if report.count_m else None,
        zrepcash=ZRepCash(sum=given, orderscnt=report.count_14) if report.count_14 else None,
        zrepbody=ZRepBody(
            serviceinput=sum(line.sum_p for line in money), serviceoutput=sum(line.sum_m for line in money)
        ),
    )


def _turnover(side: ReportSide, desk: Desk) -> Turnover:
    rounding = sum(up - down for *_, up, down in side.pays)
    taxes = _merged(row for code, _, *sums in side.taxes for row in _lines(desk.groups.get(code), *sums))
    return Turnover(
        sum=side.calc,
        rndsum=-rounding if rounding else None,
        norndsum=side.calc - rounding if rounding else None,
        orderscnt=side.receipts,
        payforms=_pay_forms(side, desk),
        taxes=tuple(ZTaxRow(**vars(row)) for row in taxes if row.turnover or row.sum),
    )


def _pay_forms(side: ReportSide, desk: Desk) -> tuple[PayFormRow, ...]:
    """One row for each code and name: payment types may share both."""
    found: dict[tuple[int, str], int] = {}
    for pay_type, name, exact, up, down in side.pays:
        if exact or up - down:
            row = desk.pay_code(pay_type), one_line(name) or str(pay_type)
            found[row] = found.get(row, 0) + exact + up - down
    return tuple(PayFormRow(payformcd=code, payformnm=name, sum=total) for (code, name), total in found.items())
