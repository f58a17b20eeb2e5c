"""The fiscal document as it is stored: everything that its answer, its copies and its print forms need.

Amounts are kopecks, quantities thousandths, percentages hundredths of a percent, times milliseconds since 1970.
Empty values are not stored.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from dmtwisted.documents.catalogue import CASH

OPEN, SALE, RETURN, CASH_IN, CASH_OUT = "open", "sale", "return", "cash_in", "cash_out"
OFFLINE_BEGIN, OFFLINE_END, NUMBERS = "offline_begin", "offline_end", "numbers"
WITHDRAWAL, INCOME, EXPENSE, STORNO, Z, CLOSE = "withdrawal", "income", "expense", "storno", "z", "close"
"""Kinds of documents, as scenarios name them. The document that closes the shift follows its Z, on protocol A;
on protocol B the Z itself does, and `NUMBERS` asks for numbers for documents made offline."""


class Good(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item as it was sold; ``disc`` includes its part of the receipt's discount."""

    name: str
    code: str = ""
    code1: str = ""
    code2: str = ""
    code3: str = ""
    code_a: str = ""
    code_aa: tuple[str, ...] = ()
    cnt: int
    price: int
    cost: int
    disc: int = 0
    taxgrp: int
    taxlit: str = ""
    comment: str = ""
    part: int = 0
    """Part payments only: its share of what is paid now."""

    @property
    def marks(self) -> tuple[str, ...]:
        """Its excise marks, each once, as the till sent them."""
        if not (self.code_a or self.code_aa):
            return ()
        # Not `isspace`: a separator of a DataMatrix is no blank.
        return tuple(dict.fromkeys(mark for mark in (self.code_a, *self.code_aa) if mark.strip(" ")))

    def discounted(self, share: int) -> Good:
        """The same item with ``share`` kopecks less."""
        return msgspec.structs.replace(self, disc=self.disc + share) if share else self


class Payment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A payment: ``sum`` stays in the shop, rounded; ``round`` is what the rounding added to the exact amount."""

    type: int
    name: str
    form: str = ""
    """The form of payment; empty is the usual one of the type."""
    sum: int
    tendered: int = 0
    change: int = 0
    round: int = 0
    commission: int = 0
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

    @property
    def exact(self) -> int:
        """The amount before rounding, as reports count it."""
        return self.sum - self.round


class TaxLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The taxes of one tax group."""

    gr_code: int
    base_sum: int
    base_tax_sum: int = 0
    base_ex_sum: int = 0
    tax_name: str = ""
    tax_fname: str = ""
    tax_lit: str = ""
    tax_percent: int = 0
    tax_sum: int = 0
    ex_name: str = ""
    ex_percent: int = 0
    ex_sum: int = 0
    on_top: int = 0
    """Taxes that the prices do not include, and that are added to the amount due."""


class PaySum(msgspec.Struct, omit_defaults=True):
    """Turnover of one payment type: `p` for sales and cash in, `m` for returns and cash out.

    Sums are exact; what rounding added (`u`) or took away (`d`) is separate
    (docs/reference/http-interface.md#x-and-z-reports).
    """

    name: str
    sum_p: int = 0
    sum_m: int = 0
    round_pu: int = 0
    round_pd: int = 0
    round_mu: int = 0
    round_md: int = 0


class TaxSum(msgspec.Struct, omit_defaults=True):
    """Turnover and taxes of one tax group: sums of the receipts' rounded taxes, never calculated again."""

    tax_name: str = ""
    tax_fname: str = ""
    tax_lit: str = ""
    tax_percent: int = 0
    ex_name: str = ""
    ex_percent: int = 0
    base_sum_p: int = 0
    base_sum_m: int = 0
    base_tax_sum_p: int = 0
    base_tax_sum_m: int = 0
    base_ex_sum_p: int = 0
    base_ex_sum_m: int = 0
    tax_sum_p: int = 0
    tax_sum_m: int = 0
    ex_sum_p: int = 0
    ex_sum_m: int = 0
    turnover_p: int = 0
    turnover_m: int = 0
    """Before discounts; `base_sum` is after them."""


class ReportSide(NamedTuple):
    """The half of a report that concerns sales, or returns."""

    receipts: int
    last_docno: int
    base: int
    disc: int
    calc: int
    pays: list[tuple[int, str, int, int, int]]
    """Code, name, exact sum, rounded up, rounded down."""
    taxes: list[tuple[int, TaxSum, int, int, int, int, int, int]]
    """Code, group, turnover, base, base of the tax, base of the levy, tax, levy."""


class ShiftTotals(msgspec.Struct, omit_defaults=True):
    """The totals of one shift, or of several together: the content of X, Z and summary reports."""

    count_p: int = 0
    count_m: int = 0
    count_14: int = 0
    last_docno_p: int = 0
    last_docno_m: int = 0
    base_p: int = 0
    base_m: int = 0
    disc_p: int = 0
    disc_m: int = 0
    calc_p: int = 0
    calc_m: int = 0
    first_docno: int = 0
    last_docno: int = 0
    safe_start: int = 0
    """Cash in the drawer when the shift was opened."""
    safe: int = 0
    """Cash in the drawer at the moment of the report."""
    pays: dict[int, PaySum] = {}
    """Sales and returns by payment type."""
    money: dict[int, PaySum] = {}
    """Cash in and out, income and expense, by payment type."""
    cash: dict[int, PaySum] = {}
    """Cash given out against cards (task 14)."""
    taxes: dict[int, TaxSum] = {}
    """Taxes by tax group."""

    def side(self, side: Literal["p", "m"]) -> ReportSide:
        """Sales (`p`) or returns (`m`), in the order of the codes."""

        def of(line: object, *names: str) -> Any:
            return (getattr(line, name.replace("*", side)) for name in names)

        taxes = ("turnover_*", "base_sum_*", "base_tax_sum_*", "base_ex_sum_*", "tax_sum_*", "ex_sum_*")
        return ReportSide._make(
            (
                *of(self, "count_*", "last_docno_*", "base_*", "disc_*", "calc_*"),
                [
                    (code, pay.name, *of(pay, "sum_*", "round_*u", "round_*d"))
                    for code, pay in sorted(self.pays.items())
                ],
                [(code, tax, *of(tax, *taxes)) for code, tax in sorted(self.taxes.items())],
            )
        )


PREPAYMENT, FINAL, FURTHER = 1, 2, 3
"""Kinds of part payment: the first part of a price, the last one, one between them."""


class PartPayment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which part of its price a receipt is for (docs/reference/tax-service.md#part-payments)."""

    type: int
    sum: int
    """The part, before rounding."""
    receipt_fisn: str = ""
    """The fiscal number of the prepayment's receipt; the prepayment itself has none."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was sold and how it was paid; for the sums see docs/reference/http-interface.md#arithmetic."""

    goods: tuple[Good, ...] = ()
    pays: tuple[Payment, ...] = ()
    taxes: tuple[TaxLine, ...] = ()
    sum_0: int = 0
    sum_disc: int = 0
    sum_receipt: int = 0
    round: int = 0
    sum_topay: int = 0
    change: int = 0
    comment_up: str = ""
    comment_down: str = ""
    purchase_receipt_fisn: str = ""
    """Returns only: the fiscal number of the purchase's receipt."""
    purchase_rro_fisn: str = ""
    """Returns only: the register of the purchase, when it is another one."""
    purchase_date: str = ""
    """Returns only: the day of the purchase at another register, ``yyyyMMdd``."""
    part: PartPayment | None = None
    """Set when a part of the price is paid; `sum_0` to `sum_receipt` are of the whole price."""

    @property
    def turnover(self) -> int:
        """What it adds to the turnover of a report: of a part payment the part."""
        return self.sum_receipt if self.part is None else self.part.sum

    @property
    def discount(self) -> int:
        """What it adds to the discounts of a report: of several part payments the last one has them."""
        return self.sum_disc if self.part is None or self.part.type == FINAL else 0

    @property
    def in_cash(self) -> int:
        """The cash among the payments."""
        cash = 0
        for pay in self.pays:
            if pay.type == CASH:
                cash += pay.sum
        return cash


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who issued the document, as the settings were at that moment."""

    fisid: str
    name: str = ""
    shopname: str = ""
    shopad: str = ""
    vat_code: str = ""
    fis_code: str = ""
    lines_up: tuple[str, ...] = ()
    """The shop's own lines at the top of every print form."""
    lines_down: tuple[str, ...] = ()
    """The shop's own lines at its end."""
    qr_minutes: bool = False
    """Whether the link of its QR code has the time without seconds."""
    marks_qr: bool = False
    """Whether each excise mark is printed as a QR code too."""
    zero_change: bool = True
    """Whether a sale has the line of the change without any change."""


class Caller(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the answer repeats of its request."""

    device: str
    source: str = ""
    tag: str = ""
    type: int = 1
    task: int
    untagged: bool = False
    """Whether the service made the tag, because the request had none."""
    paid: bool = False
    """Whether a terminal took the payment, in batch mode."""


class Reversed(msgspec.Struct, frozen=True):
    """The document that a storno takes back."""

    kind: str
    number: int
    fiscal_number: str


class OfflineMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fiscal number of a document made offline, and the hash of the document before it."""

    number: str
    hash: str = ""
    revokes: bool = False
    """Whether this opening document of a session revokes the last online document
    (docs/reference/tax-service.md#revoking)."""


class Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fiscal document, without the fiscal number that the tax service gives it."""

    kind: str
    number: int
    shift: int
    at: int
    cashier: str = ""
    header: Header
    caller: Caller
    dtype: int = 0
    """1 fiscal, 0 test."""
    receipt: Receipt | None = None
    """Of a sale, return, income or expense, or of the one that a storno takes back."""
    cash: Payment | None = None
    """Of a cash-in, cash-out or withdrawal, or of the one that a storno takes back."""
    report: ShiftTotals | None = None
    """Of a Z."""
    reverses: Reversed | None = None
    """Of a storno."""
    offline: OfflineMark | None = None
    """Of a document made offline."""
    drawer: int | None = None
    """Of an opening on a machine: the cash that it says is in its drawer."""
    place: int | None = None
    """On protocol B: its number within the shift, which is 0 for the opening."""
    previous: str = ""
    """On protocol B: the hash of the document before it; the very first one has none."""

    @property
    def has_total(self) -> bool:
        """Whether the document states a total, which then enters its control number."""
        return self.kind != STORNO and (self.receipt is not None or self.cash is not None)

    @property
    def moves_cash(self) -> bool:
        """Whether cash goes into the drawer or out of it."""
        if self.cash is not None:
            return self.cash.type == CASH or self.kind == WITHDRAWAL
        return self.receipt is not None and CASH in [pay.type for pay in self.receipt.pays]

    @property
    def total(self) -> int:
        """The total that the tax service reads: of a part payment the whole price."""
        if self.kind != STORNO and self.receipt is not None and self.receipt.part is not None:
            return self.receipt.sum_receipt
        return self.sum

    @property
    def sum(self) -> int:
        """The amount that the document moves; a storno states none
        (docs/reference/tax-service.md#document-kinds)."""
        if self.kind == STORNO:
            return 0
        if self.receipt is not None:
            return self.receipt.sum_topay
        return self.cash.sum if self.cash is not None else 0


LISTED = (SALE, RETURN, CASH_IN, CASH_OUT, WITHDRAWAL, INCOME, EXPENSE, STORNO, Z)
"""Documents that a list of receipts shows: all but those that open and close shifts and sessions."""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Document).decode
