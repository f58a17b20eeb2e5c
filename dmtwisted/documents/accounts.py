"""What an accountant takes away: the documents of a period as tables for CSV, or as one XML file.

Columns of a table and attributes of an element are the members of one struct, so both forms have the same names
(`docs/accounts.xsd`). Amounts are hryvnias, quantities have thousandths, times are those of Kyiv.
"""

from __future__ import annotations

import csv
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from io import StringIO
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

import msgspec

from dmtwisted.clock import kyiv
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, Payment, ReportSide, ShiftTotals

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""

BOM = b"\xef\xbb\xbf"
"""The mark by which a spreadsheet knows UTF-8."""

_IN = (documents.SALE, documents.CASH_IN, documents.INCOME)
"""Kinds of documents that bring money in; the others take it out."""


class Numbered(msgspec.Struct, frozen=True, kw_only=True):
    """What every line names: the register, and the document by both of its numbers."""

    device: str
    register: str
    number: int
    fiscal_number: str
    dt: str


class Moved(Numbered, frozen=True, kw_only=True):
    """What every line names of a document that moves money."""

    kind: str
    direction: Literal["in", "out"]


class Paper(Moved, frozen=True, kw_only=True):
    """A document that moves money: ``direction`` says whether in or out.

    A storno moves what it takes back the other way. ``sum`` = ``goods`` - ``discount`` + ``taxes_on_top`` +
    ``rounding``. A return names its sale in ``sale``, a storno the document that it takes back in ``takes_back``.
    """

    shift: int
    test: bool
    offline: bool
    cashier: str
    tag: str
    goods: Decimal
    discount: Decimal
    taxes_on_top: Decimal
    rounding: Decimal
    sum: Decimal
    change: Decimal
    sale: str
    takes_back: str


class Item(Moved, frozen=True, kw_only=True):
    """A row of a receipt; ``sum`` is before ``discount``. In CSV several marks are separated by line feeds."""

    row: int
    code: str
    name: str
    barcode: str
    uktzed: str
    dkpp: str
    marks: tuple[str, ...]
    quantity: Decimal
    price: Decimal
    sum: Decimal
    discount: Decimal
    tax_group: int
    tax_letter: str


class Paid(Moved, frozen=True, kw_only=True):
    """A payment; ``sum`` is what stayed in the shop or left it, ``rounding`` a part of it."""

    type: int
    name: str
    sum: Decimal
    rounding: Decimal
    commission: Decimal
    card: str
    rrn: str
    authorisation: str
    terminal: str
    bank: str


class Taxed(Moved, frozen=True, kw_only=True):
    """The taxes of one tax group in a receipt."""

    group: int
    letter: str
    base: Decimal
    tax_percent: Decimal
    tax: Decimal
    levy: str
    levy_percent: Decimal
    levy_tax: Decimal


class ZReport(Numbered, frozen=True, kw_only=True):
    """A Z; ``difference`` is its sales and returns against the receipts of its shift.

    It is empty when receipts of the shift are no longer stored.
    """

    shift: int
    test: bool
    offline: bool
    cashier: str
    sales: int
    sales_sum: Decimal
    returns: int
    returns_sum: Decimal
    cash_in: Decimal
    cash_out: Decimal
    withdrawals: Decimal
    drawer_before: Decimal
    drawer: Decimal
    difference: Decimal | None


class ZPaid(Numbered, frozen=True, kw_only=True):
    """Sales or returns of a Z by one payment type."""

    side: Literal["sales", "returns"]
    type: int
    name: str
    sum: Decimal
    rounding: Decimal


class ZTaxed(Numbered, frozen=True, kw_only=True):
    """Sales or returns of a Z by one tax group."""

    side: Literal["sales", "returns"]
    group: int
    letter: str
    base: Decimal
    tax_percent: Decimal
    tax: Decimal
    levy: str
    levy_percent: Decimal
    levy_tax: Decimal


TABLES: Mapping[str, type[Numbered]] = {
    "documents": Paper,
    "items": Item,
    "payments": Paid,
    "taxes": Taxed,
    "z": ZReport,
    "z_payments": ZPaid,
    "z_taxes": ZTaxed,
}
"""Tables by their names."""

ELEMENTS: Mapping[type[Numbered], str] = {
    Paper: "document",
    Item: "item",
    Paid: "payment",
    Taxed: "tax",
    ZReport: "z",
    ZPaid: "payment",
    ZTaxed: "tax",
}
"""Elements by what they tell."""


def money(kopecks: int) -> Decimal:
    """Kopecks as hryvnias."""
    return Decimal(kopecks).scaleb(-2)


@dataclass
class Accounts:
    """Turns documents, oldest first, into lines; checks each Z by the receipts before it."""

    _sums: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """By register and shift: sales, returns, and the number of both."""
    _whole: set[tuple[int, int]] = field(default_factory=set)

    def incomplete(self, register: int, document: Document) -> bool:
        """Whether the document is a Z whose shift began before the first document."""
        return document.kind == documents.Z and (register, document.shift) not in self._whole

    def count(self, register: int, document: Document) -> None:
        """Count a document, and what a storno takes back."""
        sums = self._sums.setdefault((register, document.shift), [0, 0, 0])
        kind, sign = document.kind, 1
        if document.kind == documents.OPEN:
            self._whole.add((register, document.shift))
        elif document.reverses is not None:
            kind, sign = document.reverses.kind, -1
        if document.receipt is not None and kind in (documents.SALE, documents.RETURN):
            sums[kind == documents.RETURN] += sign * document.receipt.sum_topay
            sums[2] += sign

    def lines(self, register: int, document: Document, fiscal_number: str) -> list[Numbered]:
        """The lines of a document, its own first; counts it."""
        self.count(register, document)
        if document.kind not in documents.LISTED:
            return []
        named = {
            "device": document.caller.device,
            "register": document.header.fisid,
            "number": document.number,
            "fiscal_number": fiscal_number,
            "dt": f"{kyiv(document.at):%Y-%m-%dT%H:%M:%S}",
        }
        if document.report is not None:
            sums = self._sums.pop((register, document.shift))
            self._whole.discard((register, document.shift))
            return [*_z(document, document.report, sums, named)]
        return [*_paper(document, named)]


def _paper(document: Document, named: dict[str, object]) -> Iterator[Numbered]:
    receipt, cash, reverses = document.receipt, document.cash, document.reverses
    came_in = (reverses.kind if reverses else document.kind) in _IN
    named = {**named, "kind": document.kind, "direction": "in" if came_in is not bool(reverses) else "out"}
    facts: dict[str, object] = {
        "shift": document.shift,
        "test": not document.dtype,
        "offline": document.offline is not None,
        "cashier": document.cashier,
        "tag": document.caller.tag,
        "goods": money(receipt.turnover + receipt.discount if receipt else 0),
        "discount": money(receipt.discount if receipt else 0),
        "taxes_on_top": money(sum(tax.on_top for tax in receipt.taxes) if receipt else 0),
        "rounding": money(receipt.round if receipt else 0),
        "sum": money(receipt.sum_topay if receipt else cash.sum if cash else 0),
        "change": money(receipt.change if receipt else 0),
        "sale": receipt.purchase_receipt_fisn if receipt else "",
        "takes_back": reverses.fiscal_number if reverses else "",
    }
    yield msgspec.convert({**named, **facts}, Paper)
    if cash is not None:
        yield _paid(cash, named)
    if receipt is None:
        return
    for row, good in enumerate(receipt.goods, 1):
        item = {
            "row": row,
            "code": good.code,
            "name": good.name,
            "barcode": good.code1,
            "uktzed": good.code2,
            "dkpp": good.code3,
            "marks": tuple(dict.fromkeys(mark for mark in (good.code_a, *good.code_aa) if mark)),
            "quantity": Decimal(good.cnt).scaleb(-3),
            "price": money(good.price),
            "sum": money(good.cost),
            "discount": money(good.disc),
            "tax_group": good.taxgrp,
            "tax_letter": good.taxlit,
        }
        yield msgspec.convert({**named, **item}, Item)
    for pay in receipt.pays:
        yield _paid(pay, named)
    for tax in receipt.taxes:
        taxed = {
            "group": tax.gr_code,
            "letter": tax.tax_lit,
            "base": money(tax.base_sum),
            "tax_percent": money(tax.tax_percent),
            "tax": money(tax.tax_sum),
            "levy": tax.ex_name,
            "levy_percent": money(tax.ex_percent),
            "levy_tax": money(tax.ex_sum),
        }
        yield msgspec.convert({**named, **taxed}, Taxed)


def _paid(pay: Payment, named: dict[str, object]) -> Paid:
    paid = {
        "type": pay.type,
        "name": pay.name,
        "sum": money(pay.sum),
        "rounding": money(pay.round),
        "commission": money(pay.commission),
        "card": pay.cardmask,
        "rrn": pay.rrn,
        "authorisation": pay.auth_code,
        "terminal": pay.term_id,
        "bank": pay.bank_name,
    }
    return msgspec.convert({**named, **paid}, Paid)


def _z(document: Document, report: ShiftTotals, sums: list[int], named: dict[str, object]) -> Iterator[Numbered]:
    kept = sums[2] == report.count_p + report.count_m
    facts = {
        "shift": document.shift,
        "test": not document.dtype,
        "offline": document.offline is not None,
        "cashier": document.cashier,
        "sales": report.count_p,
        "sales_sum": money(report.calc_p),
        "returns": report.count_m,
        "returns_sum": money(report.calc_m),
        "cash_in": money(sum(line.sum_p for line in report.money.values())),
        "cash_out": money(sum(line.sum_m for line in report.money.values())),
        "withdrawals": money(sum(line.sum_m for line in report.cash.values())),
        "drawer_before": money(report.safe_start),
        "drawer": money(report.safe),
        "difference": money(report.calc_p - report.calc_m - sums[0] + sums[1]) if kept else None,
    }
    yield msgspec.convert({**named, **facts}, ZReport)
    sides = [({**named, "side": name}, report.side(side)) for name, side in _SIDES]
    for of_side, told in sides:
        yield from _z_payments(told, of_side)
    for of_side, told in sides:
        yield from _z_taxes(told, of_side)


_SIDES: tuple[tuple[str, Literal["p", "m"]], ...] = (("sales", "p"), ("returns", "m"))


def _z_payments(side: ReportSide, named: dict[str, object]) -> Iterator[ZPaid]:
    for code, name, exact, up, down in side.pays:
        paid = {"type": code, "name": name, "sum": money(exact + up - down), "rounding": money(up - down)}
        if exact or up or down:
            yield msgspec.convert({**named, **paid}, ZPaid)


def _z_taxes(side: ReportSide, named: dict[str, object]) -> Iterator[ZTaxed]:
    for code, tax, turnover, base, _, _, tax_sum, levy_sum in side.taxes:
        taxed = {
            "group": code,
            "letter": tax.tax_lit,
            "base": money(base),
            "tax_percent": money(tax.tax_percent),
            "tax": money(tax_sum),
            "levy": tax.ex_name,
            "levy_percent": money(tax.ex_percent),
            "levy_tax": money(levy_sum),
        }
        if turnover or base:
            yield msgspec.convert({**named, **taxed}, ZTaxed)


# CSV


def csv_head(table: str, semicolons: bool) -> bytes:
    """The first line: the names of the columns, after the mark by which a spreadsheet knows UTF-8."""
    return BOM + csv_rows([TABLES[table].__struct_fields__], semicolons)


def csv_lines(table: str, lines: Iterable[Numbered], semicolons: bool) -> bytes:
    """Those of the lines that belong to the table; with ``semicolons`` as spreadsheets in Ukrainian expect it."""
    kind = TABLES[table]
    rows = [msgspec.structs.astuple(line) for line in lines if type(line) is kind]
    return csv_rows([[csv_cell(value, semicolons) for value in row] for row in rows], semicolons)


def spreadsheet(rows: Iterable[Sequence[object]]) -> bytes:
    """A table as CSV for spreadsheets in Ukrainian: semicolons, decimal commas, the mark of UTF-8."""
    return BOM + csv_rows(([csv_cell(value, semicolons=True) for value in row] for row in rows), semicolons=True)


def csv_rows(rows: Iterable[Sequence[str]], semicolons: bool) -> bytes:
    """Rows of cells as CSV."""
    text = StringIO()
    csv.writer(text, delimiter=";" if semicolons else ",").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def csv_cell(value: object, semicolons: bool) -> str:
    """The cell of a value, which no spreadsheet takes for a formula."""
    if isinstance(value, tuple):
        value = "\n".join(value)
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA) else value
    text = _plain(value)
    return text.replace(".", ",") if semicolons else text


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return "" if value is None else str(value)


# XML


def xml_head(made: int) -> bytes:
    """The beginning of the file, made at ``made``."""
    made_at = f"{kyiv(made):%Y-%m-%dT%H:%M:%S}"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<accounts version="1" made="{made_at}">\n'.encode()


XML_END = b"</accounts>\n"


def xml_lines(lines: Sequence[Numbered]) -> bytes:
    """A document with its lines as one element."""
    if not lines:
        return b""
    head, *parts = lines
    name, inside = ELEMENTS[type(head)], "".join(map(_part, parts))
    return f"<{name}{_attributes(head, ())}>\n{inside}</{name}>\n".encode()


_SAID = (*Moved.__struct_fields__, "marks")
"""What the element around a part says already, or what is within it."""


def _part(line: Numbered) -> str:
    name, marks = ELEMENTS[type(line)], "".join(map(_mark, line.marks)) if isinstance(line, Item) else ""
    return f"  <{name}{_attributes(line, _SAID)}>{marks}</{name}>\n"


def _attributes(line: Numbered, without: Sequence[str]) -> str:
    facts = ((name, getattr(line, name)) for name in line.__struct_fields__ if name not in without)
    return "".join(
        f" {name}={quoteattr(_FORBIDDEN.sub(chr(0xFFFD), _plain(value)), _BREAKS)}"
        for name, value in facts
        if value not in (None, "")
    )


_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold; documents of old versions may have it in a text."""

_BREAKS = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
"""What a reader would turn into blanks."""


def _mark(mark: str) -> str:
    if mark.isprintable():
        return f"<mark>{escape(mark)}</mark>"
    # XML has no way to write the separators of a bar code.
    return f'<mark encoding="base64">{b64encode(mark.encode()).decode()}</mark>'
