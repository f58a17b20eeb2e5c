"""``info`` of a register's answers, as docs/reference/http-interface.md#registers describes it."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import msgspec

from dmtwisted import __version__
from dmtwisted.answers import Number, amount, percent, quantity
from dmtwisted.clock import readable, stamp14
from dmtwisted.documents.catalogue import CASH
from dmtwisted.documents.documents import (
    Document,
    Good,
    Header,
    Payment,
    PaySum,
    Receipt,
    ShiftTotals,
    TaxLine,
)
from dmtwisted.documents.qr import mac_of, receipt_qr
from dmtwisted.money import hryvnias
from dmtwisted.registers.offline_time import OfflineLeft
from dmtwisted.registers.totals import RegisterState

DEVINFO = f"dmtwisted {__version__}"

_RECEIPT, _SERVICE = 0, 1
"""``fisdoctype``: goods or money for them, and documents that only move cash."""

T = TypeVar("T", bound=msgspec.Struct)


class Occasion(NamedTuple):
    """For which task, by whom and when an answer is made."""

    header: Header
    task: int
    cashier: str
    at: int
    dtype: int

    @classmethod
    def of(cls, document: Document) -> Occasion:
        """The occasion on which ``document`` was made."""
        return cls(document.header, document.caller.task, document.cashier, document.at, document.dtype)


class Billing(msgspec.Struct):
    """A service of the shop's own has no subscription that could end."""

    paid_date_to: str = "20991231235959"
    enough_to_renew_subscription: int = 1


class LastCheck(msgspec.Struct):
    """The last document that was accepted."""

    packnum: int
    docnum: int
    fisnum: str
    packtype: int


class PrintHeader(msgspec.Struct):
    """The head of every print form."""

    name: str
    shopname: str
    shopad: str
    vat_code: str
    fis_code: str
    dt: str
    isOffline: bool
    fisid: str
    cashier: str


class PrintGood(msgspec.Struct):
    """An item in ``printinfo``."""

    name: str
    code: str
    code1: str
    code2: str
    code3: str
    code_a: str
    code_aa: tuple[str, ...]
    cnt: Number
    price: Number
    cost: Number
    disc: Number
    taxgrp: int
    taxlit: str
    comment: str


class PrintPay(msgspec.Struct):
    """A payment in ``printinfo``."""

    type: int
    typen: str
    sum: Number
    currency: str
    info: str
    comment: str
    comment_up: str
    comment_down: str
    paysys: str
    rrn: str
    cardmask: str
    term_id: str
    bank_id: str
    auth_code: str
    round: Number
    change: Number


class PrintTax(msgspec.Struct):
    """The taxes of a tax group in ``printinfo``."""

    gr_code: int
    base_sum: Number
    tax_name: str
    tax_fname: str
    tax_lit: str
    tax_percent: Number
    tax_sum: Number
    ex_name: str
    ex_percent: Number
    ex_sum: Number


class PrintInfo(msgspec.Struct):
    """What a receipt says on paper."""

    name: str
    shopname: str
    shopad: str
    vat_code: str
    fis_code: str
    comment_up: str
    comment_down: str
    goods: list[PrintGood]
    sum_0: Number
    sum_disc: Number
    sum_receipt: Number
    round: Number
    change: Number
    sum_topay: Number
    pays: list[PrintPay]
    taxes: list[PrintTax]
    fisn: str
    dt: str
    qr: str
    isOffline: bool
    mac: str
    fisid: str
    manuf: str
    cashier: str
    task: int
    fisdoctype: int
    safe: Number
    docno: str
    userdata1: str = ""
    userdata2: str = ""
    userdata3: str = ""
    partpay_type: int | msgspec.UnsetType = msgspec.UNSET
    partpay_sum: Number | msgspec.UnsetType = msgspec.UNSET
    partpay_receipt_fisn: str | msgspec.UnsetType = msgspec.UNSET
    """Only of part payments."""


class CommonInfo(msgspec.Struct, kw_only=True):
    """The members of every answer (docs/reference/http-interface.md#common-info)."""

    task: int
    fisid: str
    dataid: int
    doccode: str
    dt: str
    cashier: str
    dtype: int
    isprint: int = 0
    ispay: int = 0
    isoffline: bool
    safe: Number
    shift_link: int
    shift_prev_link: int
    vacant_off_nums: int
    docno: str
    devinfo: str = DEVINFO
    billing: Billing = msgspec.field(default_factory=Billing)
    lastcheck: LastCheck
    printheader: PrintHeader
    offline_left: OfflineLeft | msgspec.UnsetType = msgspec.UNSET
    """Only while the register is offline."""


class ReceiptInfo(CommonInfo, kw_only=True):
    """Receipts, cash in and out, the opening."""

    cancelid: str = ""
    qr: str
    qr1: str = ""
    mac: str
    edrpou: str
    userdata1: str = ""
    userdata2: str = ""
    userdata3: str = ""
    printinfo: PrintInfo


class ReportPay(msgspec.Struct):
    """A line of ``pays``, ``money`` or ``cash`` of a report."""

    type: int
    name: str
    sum_p: Number
    sum_m: Number
    round_pu: Number
    round_pd: Number
    round_mu: Number
    round_md: Number


class ReportTax(msgspec.Struct):
    """A line of ``taxes`` of a report."""

    gr_code: int
    base_sum_p: Number
    base_sum_m: Number
    base_tax_sum_p: Number
    base_tax_sum_m: Number
    base_ex_sum_p: Number
    base_ex_sum_m: Number
    tax_name: str
    tax_fname: str
    tax_lit: str
    tax_percent: Number
    tax_sum_p: Number
    tax_sum_m: Number
    ex_name: str
    ex_percent: Number
    ex_sum_p: Number
    ex_sum_m: Number


class ReportCounts(msgspec.Struct):
    """``receipt`` of a report."""

    count_p: int
    count_m: int
    count_14: int
    count_transfer: int
    last_docno_p: int
    last_docno_m: int


class ReportSummary(msgspec.Struct):
    """``summary`` of a report: turnover, levies, discounts, turnover with rounding."""

    base_p: Number
    base_m: Number
    taxex_p: Number
    taxex_m: Number
    disc_p: Number
    disc_m: Number
    calc_p: Number
    calc_m: Number


class SummaryLine(msgspec.Struct):
    """One Z of a summary report: ``docsum`` is its turnover, with rounding."""

    dt: str
    docno: str
    doccode: str
    docsum: Number

    @classmethod
    def of(cls, document: Document, fiscal_number: str, totals: ShiftTotals) -> SummaryLine:
        """The line of the Z ``document``."""
        return cls(stamp14(document.at), str(document.number), fiscal_number, amount(totals.calc_p))


class ReportInfo(CommonInfo, kw_only=True):
    """X, Z and summary reports."""

    docno_from: int
    docno_to: int
    safe_start_shift: Number
    receipt: ReportCounts
    summary: ReportSummary
    taxes: list[ReportTax]
    pays: list[ReportPay]
    money: list[ReportPay]
    cash: list[ReportPay] = []
    money_transfer: list[ReportPay] = []
    reports: list[SummaryLine] = []


class StatusInfo(CommonInfo, kw_only=True):
    """Task 18."""

    edrpou: str
    isFis: int
    shift_status: int
    shift_dt: str
    online_status: int
    sign_status: int = 0
    """Always 0."""


class LastNumbersInfo(CommonInfo, kw_only=True):
    """Task 21: local numbers of the last sale and return of the shift, number of the last Z."""

    last_receipt_no: int
    last_back_no: int
    last_z_no: int


class NumberInfo(CommonInfo, kw_only=True):
    """Task 20: the fiscal number is in ``fisid``."""

    edrpou: str


def document_info(document: Document, fiscal_number: str, after: RegisterState) -> CommonInfo:
    """``info`` of any document, accepted as ``fiscal_number``; ``after`` is the register with it."""
    if document.report is None:
        return receipt_info(document, fiscal_number, after)
    return report_info(
        Occasion.of(document),
        after,
        document.report,
        number=document.number,
        fiscal_number=fiscal_number,
        shift=document.shift,
    )


def receipt_info(document: Document, fiscal_number: str, after: RegisterState) -> ReceiptInfo:
    """``info`` of ``document``, accepted as ``fiscal_number``; ``after`` is the register with it."""
    header, caller = document.header, document.caller
    common = _common(header, caller.task, document.cashier, document.at, document.dtype, after)
    number, mac = str(document.number), mac_of(document)
    qr = receipt_qr(document, fiscal_number)
    return ReceiptInfo(
        **common,
        dataid=document.number,
        doccode=fiscal_number,
        docno=number,
        ispay=int(caller.paid),
        shift_link=document.shift,
        shift_prev_link=document.shift - 1,
        qr=qr,
        mac=mac,
        edrpou=header.fis_code,
        printinfo=_print_info(document, fiscal_number, number, qr, mac, common["safe"], common["printheader"].dt),
    )


def report_info(
    occasion: Occasion,
    state: RegisterState,
    totals: ShiftTotals,
    *,
    shift: int,
    number: int = 0,
    fiscal_number: str = "",
    reports: list[SummaryLine] | None = None,
) -> ReportInfo:
    """``info`` of an X, a Z or a summary report over ``totals``; only a Z has a number."""
    return ReportInfo(
        **_common(*occasion, state),
        dataid=number,
        doccode=fiscal_number,
        docno=str(number) if number else "",
        shift_link=shift,
        shift_prev_link=shift - 1,
        docno_from=totals.first_docno,
        docno_to=totals.last_docno,
        safe_start_shift=amount(totals.safe_start),
        receipt=ReportCounts(
            count_p=totals.count_p,
            count_m=totals.count_m,
            count_14=totals.count_14,
            count_transfer=0,
            last_docno_p=totals.last_docno_p,
            last_docno_m=totals.last_docno_m,
        ),
        summary=_shown(
            ReportSummary,
            totals,
            taxex_p=amount(sum(tax.ex_sum_p for tax in totals.taxes.values())),
            taxex_m=amount(sum(tax.ex_sum_m for tax in totals.taxes.values())),
        ),
        taxes=[_shown(ReportTax, sums, gr_code=code) for code, sums in sorted(totals.taxes.items())],
        pays=_report_pays(totals.pays),
        money=_report_pays(totals.money),
        cash=_report_pays(totals.cash),
        reports=reports or [],
    )


def status_info(occasion: Occasion, state: RegisterState) -> StatusInfo:
    """``info`` of task 18."""
    return StatusInfo(
        **_common(*occasion, state),
        **_last(state),
        edrpou=occasion.header.fis_code,
        isFis=occasion.dtype,
        shift_status=int(state.shift_open),
        shift_dt=stamp14(state.opened_at) if state.shift_open else "",
        online_status=int(state.offline is not None),
    )


def number_info(occasion: Occasion, state: RegisterState) -> NumberInfo:
    """``info`` of task 20."""
    return NumberInfo(**_common(*occasion, state), **_last(state), edrpou=occasion.header.fis_code)


def last_numbers_info(occasion: Occasion, state: RegisterState) -> LastNumbersInfo:
    """``info`` of task 21."""
    return LastNumbersInfo(
        **_common(*occasion, state),
        **_last(state),
        last_receipt_no=state.totals.last_docno_p,
        last_back_no=state.totals.last_docno_m,
        last_z_no=state.z_number,
    )


def _common(header: Header, task: int, cashier: str, at: int, dtype: int, state: RegisterState) -> dict[str, Any]:
    """The members of every answer, made on this `Occasion`."""
    last = state.last
    isoffline = state.offline is not None
    return {
        "task": task,
        "fisid": header.fisid,
        "dt": stamp14(at),
        "cashier": cashier,
        "dtype": dtype,
        "isoffline": isoffline,
        "safe": amount(state.safe),
        "vacant_off_nums": state.offline_numbers_left,
        "lastcheck": LastCheck(last.number, last.number, last.fiscal_number, last.task),
        "printheader": PrintHeader(
            header.name,
            header.shopname,
            header.shopad,
            header.vat_code,
            header.fis_code,
            readable(at),
            isoffline,
            header.fisid,
            cashier,
        ),
    }


def _last(state: RegisterState) -> dict[str, Any]:
    """The document members of an answer without a document: those of the last one."""
    return {
        "dataid": state.last.number,
        "doccode": state.last.fiscal_number,
        "docno": str(state.last.number) if state.last.number else "",
        "shift_link": state.shift,
        "shift_prev_link": state.z_number,
    }


def _print_info(
    document: Document, fiscal_number: str, number: str, qr: str, mac: str, safe: Number, dt: str
) -> PrintInfo:
    """``printinfo``; its many members are in their order, because names take most of the time of making it."""
    header, cash = document.header, document.cash
    receipt = document.receipt or _of_cash(document)
    info = PrintInfo(
        header.name,
        header.shopname,
        header.shopad,
        header.vat_code,
        header.fis_code,
        receipt.comment_up,
        receipt.comment_down,
        list(map(_print_good, receipt.goods)),
        amount(receipt.sum_0),
        amount(receipt.sum_disc),
        amount(receipt.sum_receipt),
        amount(receipt.round),
        amount(receipt.change),
        amount(receipt.sum_topay),
        list(map(_print_pay, receipt.pays)),
        list(map(_print_tax, receipt.taxes)),
        fiscal_number,
        dt,
        qr,
        document.offline is not None,
        mac,
        header.fisid,
        DEVINFO,
        document.cashier,
        document.caller.task,
        _SERVICE if cash is not None else _RECEIPT,
        safe,
        number,
    )
    part = receipt.part
    if part is not None:
        info.partpay_type = part.type
        info.partpay_sum = amount(part.sum)
        info.partpay_receipt_fisn = part.receipt_fisn
    return info


def _of_cash(document: Document) -> Receipt:
    """A document without goods in the shape of a receipt."""
    cash = document.cash
    if cash is None:
        return Receipt()
    return Receipt(
        pays=(cash,),
        sum_0=cash.sum,
        sum_receipt=cash.sum,
        sum_topay=cash.sum,
        comment_up=cash.comment_up,
        comment_down=cash.comment_down,
    )


def _print_good(good: Good) -> PrintGood:
    return PrintGood(
        good.name,
        good.code,
        good.code1,
        good.code2,
        good.code3,
        good.code_a,
        good.code_aa,
        quantity(good.cnt),
        amount(good.price),
        amount(good.cost),
        amount(good.disc),
        good.taxgrp,
        good.taxlit,
        good.comment,
    )


def _print_pay(pay: Payment) -> PrintPay:
    info = ""
    if pay.type == CASH:
        # Tills print this line as it is, with the change even when there is none.
        info = f"Отримано {hryvnias(pay.tendered)} Решта {hryvnias(pay.change)}"
    return PrintPay(
        pay.type,
        pay.name,
        amount(pay.sum),
        "ГРН",
        info,
        pay.comment,
        pay.comment_up,
        pay.comment_down,
        pay.paysys,
        pay.rrn,
        pay.cardmask,
        pay.term_id,
        pay.bank_id,
        pay.auth_code,
        amount(pay.round),
        amount(pay.change),
    )


def _print_tax(tax: TaxLine) -> PrintTax:
    return PrintTax(
        tax.gr_code,
        amount(tax.base_sum),
        tax.tax_name,
        tax.tax_fname,
        tax.tax_lit,
        percent(tax.tax_percent),
        amount(tax.tax_sum),
        tax.ex_name,
        percent(tax.ex_percent),
        amount(tax.ex_sum),
    )


def _report_pays(sums: dict[int, PaySum]) -> list[ReportPay]:
    return [_shown(ReportPay, line, type=code) for code, line in sorted(sums.items())]


def _shown(cls: type[T], source: object, **members: object) -> T:
    """``source`` in the shape ``cls``: its whole numbers are kopecks or hundredths of a percent."""
    for name in cls.__struct_fields__:
        if name not in members:
            value = getattr(source, name)
            if isinstance(value, int):
                value = percent(value) if name.endswith("percent") else amount(value)
            members[name] = value
    return cls(**members)
