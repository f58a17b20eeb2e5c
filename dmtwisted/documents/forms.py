"""What documents and reports say on paper, in the order of the law (docs/reference/tax-service.md#receipt-layout).

A form is the same for every printer. Lines without content are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from dmtwisted.clock import readable
from dmtwisted.documents import documents
from dmtwisted.documents.catalogue import FORMS
from dmtwisted.documents.documents import (
    Document,
    Good,
    Header,
    Payment,
    PaySum,
    Receipt,
    ReportSide,
    ShiftTotals,
    TaxLine,
)
from dmtwisted.documents.model import Align, Barcode, Element, Line, Pair, Qr, QrLevel, Rule
from dmtwisted.documents.qr import receipt_qr
from dmtwisted.money import hryvnias
from protocols.printers.symbols import check_digit

MAKER = "dmtwisted"
"""Who made the register, under the closing title."""

TEST = "ТЕСТОВИЙ НЕФІСКАЛЬНИЙ ДОКУМЕНТ"
COPY = "КОПІЯ"

FISCAL, PAYOUT, SERVICE = "ФІСКАЛЬНИЙ ЧЕК", "ВИДАТКОВИЙ ЧЕК", "СЛУЖБОВИЙ ЧЕК"
"""Closing titles: goods were sold, money was paid out to a customer, or the document concerns the shop alone."""


class _Wording(msgspec.Struct, frozen=True):
    """The words of one kind of document."""

    title: str
    closing: str = SERVICE
    operation: str = ""
    """The operation on the card, where the terminal does not name it."""
    due: str = ""
    """The label of the last total."""


_WORDINGS = {
    documents.OPEN: _Wording("ВІДКРИТТЯ ЗМІНИ"),
    documents.CLOSE: _Wording("ЗАКРИТТЯ ЗМІНИ"),
    documents.OFFLINE_BEGIN: _Wording("ПОЧАТОК ОФЛАЙН-СЕСІЇ"),
    documents.OFFLINE_END: _Wording("КІНЕЦЬ ОФЛАЙН-СЕСІЇ"),
    documents.NUMBERS: _Wording("ЗАПИТ ОФЛАЙН-НОМЕРІВ"),
    documents.SALE: _Wording("", FISCAL, "Оплата", "ДО СПЛАТИ"),
    documents.RETURN: _Wording("ПОВЕРНЕННЯ", PAYOUT, "Повернення", "ДО ВИДАЧІ"),
    documents.WITHDRAWAL: _Wording("ВИДАЧА ГОТІВКИ", PAYOUT, "Видача готівки"),
    documents.CASH_IN: _Wording("СЛУЖБОВЕ ВНЕСЕННЯ"),
    documents.CASH_OUT: _Wording("СЛУЖБОВА ВИДАЧА"),
    documents.INCOME: _Wording("НАДХОДЖЕННЯ КОШТІВ", SERVICE, "Оплата", "ДО СПЛАТИ"),
    documents.EXPENSE: _Wording("ВИДАТОК КОШТІВ", SERVICE, "Виплата", "ДО ВИДАЧІ"),
    documents.STORNO: _Wording("СТОРНО", SERVICE, "Скасування", "СУМА СТОРНО"),
}

# Receipts


def receipt_form(document: Document, fiscal_number: str, copy: bool = False) -> list[Element]:
    """The form of ``document``, accepted as ``fiscal_number``: every kind but a Z, which is a report."""
    header, wording, cash = document.header, _WORDINGS[document.kind], document.cash
    form = _head(header, document.cashier, document.dtype, copy)
    if wording.title:
        form += (Line(wording.title, "center", bold=True), Rule())
    form += _concerning(document)
    if document.receipt is not None:
        form += _receipt(document.receipt, document.kind, header)
    elif cash is not None:
        form += _texts(cash.comment_up)
        form += _payment(cash, wording.operation)
        form.append(Pair("СУМА", hryvnias(cash.sum), bold=True))
        form += _texts(cash.comment, cash.comment_down)
    form += _own_lines(header.lines_down)
    form += (Rule(), Pair(f"ЧЕК № {fiscal_number}", f"ВН {document.number}"), Line(readable(document.at)))
    if wording.closing != SERVICE:
        form.append(Qr(receipt_qr(document, fiscal_number)))
    control = document.offline.number.rpartition(".")[2] if document.offline is not None else ""
    form += _register(header, document.offline is not None, control)
    form += _closing(wording.closing)
    form += _notices(document.dtype, copy)
    return form


def _concerning(document: Document) -> Iterator[Element]:
    """The shift that is opened or closed, the receipt that is taken back, the purchase of a return."""
    receipt, reverses = document.receipt, document.reverses
    if document.kind in (documents.OPEN, documents.CLOSE):
        yield Line(f"Зміна № {document.shift}")
    if reverses is not None:
        yield Line(f"Скасовано чек № {reverses.fiscal_number}, ВН {reverses.number}")
        yield Rule()
    elif receipt is not None:
        named: list[Element] = []
        if receipt.purchase_receipt_fisn:
            named.append(Line(f"До чека № {receipt.purchase_receipt_fisn}"))
            if receipt.purchase_rro_fisn:
                named.append(Line(f"ФН ПРРО чека {receipt.purchase_rro_fisn}"))
        if receipt.part is not None and receipt.part.receipt_fisn:
            named.append(Line(f"Чек передплати № {receipt.part.receipt_fisn}"))
        yield from (*named, Rule()) if named else ()


def _receipt(receipt: Receipt, kind: str, header: Header) -> Iterator[Element]:
    wording = _WORDINGS[kind]
    if receipt.comment_up:
        yield Line(receipt.comment_up)
        yield Rule()
    for good in receipt.goods:
        yield from _good(good, header.marks_qr)
    if sum(good.disc != 0 for good in receipt.goods) > 1:
        yield _discount("Усього знижок", "Усього надбавок", receipt.sum_disc)
    if receipt.goods:
        yield Rule()
    for pay in receipt.pays:
        yield from _texts(pay.comment_up)
        yield from _payment(pay, wording.operation)
        yield from _texts(pay.comment, pay.comment_down)
    yield Rule()
    yield Pair("СУМА", hryvnias(receipt.sum_receipt), bold=True)
    for tax in receipt.taxes:
        yield from _tax(tax)
    on_top = sum(tax.on_top for tax in receipt.taxes)
    if on_top:
        yield Pair("Податки понад ціну", hryvnias(on_top))
    if receipt.part is not None:
        yield Pair(_PARTS[receipt.part.type], hryvnias(receipt.part.sum))
    if receipt.round:
        yield Pair("Заокруглення", hryvnias(receipt.round))
    yield Pair(wording.due, hryvnias(receipt.sum_topay), bold=True, size=2)
    shows_change = receipt.change and kind != documents.STORNO
    if shows_change:
        yield Pair("Отримано", hryvnias(sum(pay.tendered for pay in receipt.pays if pay.change)))
    if shows_change or (kind == documents.SALE and header.zero_change):
        # Shops expect it on every sale, also without change (docs/reference/http-interface.md#print-forms).
        yield Pair("Решта", hryvnias(receipt.change))
    if receipt.comment_down:
        yield Rule()
        yield Line(receipt.comment_down)


_PARTS = {
    documents.PREPAYMENT: "Передплата",
    documents.FURTHER: "Чергова сплата",
    documents.FINAL: "Остаточний розрахунок",
}
"""Kinds of part payment, as the tax service's samples name them."""

_SEPARATORS = {29: "<GS>"}
"""The separator of a DataMatrix, as a line shows it; the QR code has the mark as it is."""


def _good(good: Good, codes: bool) -> Iterator[Element]:
    yield Line(f"{quantity(good.cnt)} x {hryvnias(good.price)}")
    if good.code2:
        yield Line(f"УКТЗЕД {good.code2}")
    if good.code3:
        yield Line(f"ДКПП {good.code3}")
    if good.code1:
        yield Line(f"Штрих-код {good.code1}")
    for mark in good.marks:
        yield Line(f"Акцизна марка {mark.translate(_SEPARATORS)}")
        if codes:
            yield Qr(mark)
    yield Pair(good.name, f"{hryvnias(good.cost)} {good.taxlit}".rstrip())
    yield from _texts(good.comment)
    if good.disc:
        yield _discount("Знижка", "Надбавка", good.disc)


def _discount(less: str, more: str, amount: int) -> Pair:
    return Pair(less if amount > 0 else more, hryvnias(-amount))


def quantity(thousandths: int) -> str:
    """A quantity without trailing zeros: ``2``, ``1.25``."""
    whole, part = divmod(abs(thousandths), 1000)
    sign = "-" if thousandths < 0 else ""
    return f"{sign}{whole}.{part:03d}".rstrip("0") if part else f"{sign}{whole}"


def _payment(pay: Payment, operation: str) -> Iterator[Element]:
    """The bank's data of a payment, and the payment itself."""
    acquirer = f"{pay.bank_name} {pay.bank_id}".strip()
    card = (acquirer, pay.term_id, pay.cardmask, pay.paysys, pay.auth_code, pay.rrn)
    if any(card) and "".join(card).strip():
        for label, value in (
            ("Еквайр", acquirer),
            ("Термінал", pay.term_id),
            ("Комісія", hryvnias(pay.commission) if pay.commission else ""),
            ("Операція", pay.oper_type or operation),
            ("ЕПЗ", pay.cardmask),
            ("Платіжна система", pay.paysys),
            ("Код авторизації", pay.auth_code),
            ("Код транзакції RRN", pay.rrn),
        ):
            if value.strip():
                yield Pair(label, value)
    elif pay.commission:
        yield Pair("Комісія", hryvnias(pay.commission))
    form = pay.form or FORMS.get(pay.type)
    means = f"{form}: {pay.name}" if form else pay.name.upper()
    yield Pair(f"{means}, грн", hryvnias(pay.sum))


def _tax(tax: TaxLine) -> Iterator[Element]:
    if tax.tax_name:
        yield Pair(f"{tax.tax_name} {tax.tax_lit} {_percent(tax.tax_percent)}", hryvnias(tax.tax_sum))
    if tax.ex_name:
        yield Pair(_levy(tax.ex_name, tax.tax_lit, tax.ex_percent), hryvnias(tax.ex_sum))
    if not (tax.tax_name or tax.ex_name):
        yield Pair(f"{tax.tax_fname} {tax.tax_lit}", hryvnias(tax.tax_sum))


def _levy(name: str, letter: str, percent: int) -> str:
    """A levy with a fixed amount for each unit has no percentage."""
    return f"{name} {letter} {_percent(percent)}" if percent else f"{name} {letter}"


def _percent(hundredths: int) -> str:
    return f"{hryvnias(hundredths)}%"


# Reports


def report_form(
    title: str,
    header: Header,
    cashier: str,
    at: int,
    totals: ShiftTotals,
    *,
    number: int,
    fiscal_number: str,
    shift: int,
    dtype: int,
    isoffline: bool = False,
    copy: bool = False,
) -> list[Element]:
    """An X or a Z; a Z is fiscal once the tax service has numbered it, and an X has no number."""
    form = _head(header, cashier, dtype, copy)
    form += (
        Line(title, "center", bold=True, size=2),
        Pair("Зміна", f"№ {shift}"),
        *_totals(totals),
        *_own_lines(header.lines_down),
        Rule(),
    )
    if fiscal_number:
        form.append(Pair(f"ЗВІТ № {fiscal_number}", f"ВН {number}"))
    form.append(Line(readable(at)))
    form += _register(header, isoffline)
    form += _closing(f"ФІСКАЛЬНИЙ {title}" if fiscal_number else SERVICE)
    form += _notices(dtype, copy)
    return form


def summary_form(
    header: Header,
    cashier: str,
    at: int,
    period: str,
    totals: ShiftTotals,
    reports: Sequence[tuple[Document, str]],
    *,
    is_short: bool,
    dtype: int,
) -> list[Element]:
    """The totals of several Z-reports together; unless ``is_short``, also each of them with its turnover.

    :param reports: each Z with its fiscal number, in the order of the list.
    """
    form = _head(header, cashier, dtype)
    form += (
        Line("ПЕРІОДИЧНИЙ ЗВІТ", "center", bold=True, size=2),
        Pair("Період", period),
        Pair("Кількість змін", str(len(reports))),
        *_totals(totals),
    )
    if not is_short:
        form += _heading("ПЕРЕЛІК ЗМІН")
        for document, fiscal_number in reports:
            sold = document.report.calc_p if document.report is not None else 0
            form.append(Line(f"Зміна № {document.shift}, ВН {document.number}, {readable(document.at)}"))
            form.append(Pair(f"ФН {fiscal_number}", hryvnias(sold)))
    form += (*_own_lines(header.lines_down), Rule(), Line(readable(at)))
    form += (*_fiscal_number(header), *_closing(SERVICE), *_notices(dtype))
    return form


def _totals(totals: ShiftTotals) -> Iterator[Element]:
    if totals.last_docno:
        yield Pair("Документи", f"№ {totals.first_docno} - {totals.last_docno}")
    yield from _side("ПІДСУМКИ РЕАЛІЗАЦІЇ", "Сплачено", totals.side("p"))
    yield from _side("ПІДСУМКИ ПОВЕРНЕННЯ", "Видано", totals.side("m"))
    if totals.money:
        yield from _heading("СЛУЖБОВІ ОПЕРАЦІЇ")
        yield from _flows(totals.money)
    if totals.cash:
        yield from _heading("ВИДАЧА ГОТІВКИ З КАРТОК")
        yield Pair("Чеків", str(totals.count_14))
        yield from _flows(totals.cash)
    yield from _heading("КАСА")
    yield Pair("Готівка на початок", hryvnias(totals.safe_start))
    yield Pair("Готівка в касі", hryvnias(totals.safe), bold=True)


def _side(title: str, settled: str, side: ReportSide) -> Iterator[Element]:
    """The sales or returns of a report.

    :param settled: what to call the sum with rounding and the taxes that are not in the prices.
    """
    yield from _heading(title)
    yield Pair("Чеків", str(side.receipts))
    if side.last_docno:
        yield Pair("Останній чек", f"№ {side.last_docno}")
    yield Pair("Загальна сума", hryvnias(side.base), bold=True)
    if side.disc:
        yield _discount("Знижки", "Надбавки", side.disc)
    if side.calc != side.base:
        yield Pair(settled, hryvnias(side.calc))
    for _, name, amount, up, down in side.pays:
        if amount or up or down:
            yield Pair(f"- {name}", hryvnias(amount))
        if up:
            yield Pair("  заокруглено вгору", hryvnias(up))
        if down:
            yield Pair("  заокруглено вниз", hryvnias(-down))
    if any(base for _, _, _, base, *_ in side.taxes):
        yield Line("ПОДАТКИ")
    for _, tax, _, base, tax_base, levy_base, tax_sum, levy_sum in side.taxes:
        if not base:
            continue
        letter = tax.tax_lit
        yield Pair(f"{letter}: {tax.tax_fname}", hryvnias(base))
        if tax.tax_name:
            if tax_base != base:
                yield Pair(f"  База {tax.tax_name} {letter}", hryvnias(tax_base))
            yield Pair(f"  {tax.tax_name} {letter} {_percent(tax.tax_percent)}", hryvnias(tax_sum))
        if tax.ex_name:
            if levy_base != base:
                yield Pair(f"  База {tax.ex_name} {letter}", hryvnias(levy_base))
            yield Pair(f"  {_levy(tax.ex_name, letter, tax.ex_percent)}", hryvnias(levy_sum))


def _flows(lines: dict[int, PaySum]) -> Iterator[Element]:
    for _, line in sorted(lines.items()):
        if line.sum_p:
            yield Pair(f"Внесено: {line.name}", hryvnias(line.sum_p))
        if line.sum_m:
            yield Pair(f"Видано: {line.name}", hryvnias(line.sum_m))


# Free text


def service_form(header: Header, cashier: str, at: int, lines: Sequence[tuple[str, int]]) -> list[Element]:
    """The lines of a service report, task 5, between head and foot.

    :param lines: text and ``qr_type`` of each; bar codes have passed `check_barcode`.
    """
    form = _head(header, cashier, dtype=1)
    form += (_service_line(text, qr_type) for text, qr_type in lines)
    form += (*_own_lines(header.lines_down), Rule(), Line(readable(at)))
    form += (*_fiscal_number(header), *_closing(f"НЕФІСКАЛЬНИЙ {SERVICE}"))
    return form


def _service_line(text: str, qr_type: int) -> Element:
    """One line by its ``qr_type`` (docs/reference/http-interface.md#service-report)."""
    if qr_type == 1:
        return Barcode("ean13", text)
    if qr_type == 2:
        return Barcode("code128", text)
    return qr_code(text) if qr_type == 100 else Line(text)


def qr_code(text: str) -> Qr:
    """A QR code of ``text`` with the usual error correction, or with the lowest one where it would not fit."""
    return Qr(text) if len(text.encode("utf-8", "replace")) <= QR_CAPACITY["M"] else Qr(text, level="L")


LONGEST_BARCODE = 47
"""Characters of Code 128 at one dot a module on the widest usual paper: 576 dots, of which 55 carry no data."""

QR_CAPACITY: dict[QrLevel, int] = {"L": 2953, "M": 2331, "Q": 1663, "H": 1273}
"""Bytes that the largest QR code, version 40, holds at each level of error correction."""


def check_barcode(kind: str, data: str) -> None:
    """See that ``data`` can be printed as a code of ``kind``: ``ean13``, ``ean8``, ``code128`` or ``qr``.

    An EAN includes its check digit.
    :raises ValueError: when it cannot, with the reason.
    """
    if kind == "ean13":
        _check_ean(data, 13)
    elif kind == "ean8":
        _check_ean(data, 8)
    elif kind == "code128":
        if not (data and data.isascii() and data.isprintable()):
            raise ValueError("Code 128 takes one or more Latin letters, digits and signs of ASCII")
        if len(data) > LONGEST_BARCODE:
            raise ValueError(f"Code 128 takes at most {LONGEST_BARCODE} characters, not {len(data)}")
    elif kind == "qr":
        size = len(data.encode("utf-8", "replace"))
        if not 0 < size <= QR_CAPACITY["L"]:
            raise ValueError(f"a QR code takes 1 to {QR_CAPACITY['L']} bytes, not {size}")
    else:
        raise ValueError("ean13, ean8, code128 or qr is expected")


def _check_ean(data: str, length: int) -> None:
    if not (len(data) == length and data.isascii() and data.isdigit()):
        raise ValueError(f"EAN-{length} takes exactly {length} digits")
    expected = check_digit(data[:-1])
    if data[-1] != expected:
        raise ValueError(f"the check digit of EAN-{length} is {data[-1]}, {expected} is expected")


# The beginning and end of all forms


def _head(header: Header, cashier: str, dtype: int, copy: bool = False) -> list[Element]:
    form: list[Element] = [*_notices(dtype, copy), *_own_lines(header.lines_up)]
    number = f"ПН {header.vat_code}" if header.vat_code else f"ІД {header.fis_code}" if header.fis_code else ""
    form += _texts(header.name, header.shopname, header.shopad, number, align="center")
    if cashier:
        form.append(Line(f"Касир: {cashier}"))
    form.append(Rule())
    return form


def _own_lines(lines: Sequence[str]) -> Iterator[Element]:
    return (Line(line, "center") for line in lines)


def _texts(*texts: str, align: Align = "left") -> Iterator[Element]:
    return (Line(text, align) for text in texts if text)


def _heading(title: str) -> tuple[Element, ...]:
    return (Rule(), Line(title, bold=True))


def _register(header: Header, is_offline: bool, control: str = "") -> Iterator[Element]:
    """Online or offline, the control number of an offline document, and the register."""
    yield Line("ОФЛАЙН" if is_offline else "ОНЛАЙН")
    if control:
        yield Line(f"Контрольне число {control}")
    yield from _fiscal_number(header)


def _fiscal_number(header: Header) -> Iterator[Element]:
    if header.fisid:
        yield Line(f"ФН ПРРО {header.fisid}")


def _closing(title: str) -> tuple[Element, ...]:
    return (Line(title, "center", bold=True), Line(MAKER, "center"))


def _notices(dtype: int, copy: bool = False) -> Iterator[Element]:
    """The notices at the top and at the bottom: a test document, a copy."""
    if not dtype:
        yield Line(TEST, "center", bold=True)
    if copy:
        yield Line(COPY, "center", bold=True)
