"""The fiscal document as we keep it: everything that its answer, its copies and its print forms need.

Amounts are kopecks, quantities thousandths, percentages hundredths of a percent, times milliseconds since 1970.
Values that are empty are left out of what is stored.
"""

from __future__ import annotations

import msgspec

from dmtwisted.documents.catalogue import CASH

OPEN, SALE, RETURN, CASH_IN, CASH_OUT = "open", "sale", "return", "cash_in", "cash_out"
OFFLINE_BEGIN, OFFLINE_END = "offline_begin", "offline_end"
WITHDRAWAL, INCOME, EXPENSE, STORNO, Z, CLOSE = "withdrawal", "income", "expense", "storno", "z", "close"
"""Kinds of documents, as scenarios and ledgers name them (design 8); the closing of the shift follows its Z."""


class Good(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An item as it was sold; ``disc`` is all that was taken off it, its part of the receipt's discount too."""

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

    def discounted(self, share: int) -> Good:
        """The same item with ``share`` kopecks less."""
        return msgspec.structs.replace(self, disc=self.disc + share) if share else self


class Payment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A payment as the shop keeps it.

    ``sum`` is what stays, rounded; ``tendered`` what was given; ``change`` what went back; ``round`` how much
    the rounding added to the exact amount.
    """

    type: int
    name: str
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
        """The amount before rounding, as reports count it (http-api 2.9)."""
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
    """What of these taxes is not in the prices and is added to what is to be paid."""


class PaySum(msgspec.Struct, omit_defaults=True):
    """Turnover of one payment type in kopecks; `p` for sales and what came in, `m` for returns and what went out.

    Sums are exact; what rounding added (`u`) or took away (`d`) stands beside them (http-api 2.9).
    """

    name: str
    sum_p: int = 0
    sum_m: int = 0
    round_pu: int = 0
    round_pd: int = 0
    round_mu: int = 0
    round_md: int = 0


class TaxSum(msgspec.Struct, omit_defaults=True):
    """Turnover and taxes of one tax group in kopecks: sums of the receipts' rounded taxes, never reckoned anew."""

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
    """Before discounts, which `base_sum` is after."""


class ShiftTotals(msgspec.Struct, omit_defaults=True):
    """The totals of one shift, or of several together; what X, Z and the summary reports say (http-api 2.9)."""

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


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was sold and how it was paid (design 10: `sum_0`, `sum_disc`, `sum_receipt`, `sum_topay`)."""

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
    """Of a return: the fiscal number of the receipt of the purchase."""
    purchase_rro_fisn: str = ""
    """Of a return: the register of the purchase, when it is another one."""


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who issued the document, as it stood at that moment."""

    fisid: str
    name: str = ""
    shopname: str = ""
    shopad: str = ""
    vat_code: str = ""
    fis_code: str = ""
    lines_up: tuple[str, ...] = ()
    """Lines of the shop's own at the top of every print form."""
    lines_down: tuple[str, ...] = ()
    """Lines of the shop's own at its end."""


class Caller(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the answer tells back of its request."""

    device: str
    source: str = ""
    tag: str = ""
    type: int = 1
    task: int
    untagged: bool = False
    """Whether the tag is ours, since the request had none."""
    paid: bool = False
    """Whether a terminal took the payment for it, in batch mode."""


class Reversed(msgspec.Struct, frozen=True):
    """The document that a storno takes back."""

    kind: str
    number: int
    fiscal_number: str


class OfflineMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a document made offline carries: its own fiscal number, and the hash of the one before it."""

    number: str
    hash: str = ""
    revokes: bool = False
    """Of a begin: whether it revokes the last online document (fiscal-server 7.2)."""


class Document(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fiscal document, complete but for the number that the far end gives it."""

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
    """What was sold, returned, taken in or paid out."""
    cash: Payment | None = None
    """The money of a cash-in, cash-out or withdrawal."""
    report: ShiftTotals | None = None
    """The totals of a Z."""
    reverses: Reversed | None = None
    """The document that a storno takes back; its receipt or cash is here too."""

    offline: OfflineMark | None = None
    """Set when the register numbered the document itself."""

    @property
    def has_total(self) -> bool:
        """Whether the document states a total, which then enters its control number (fiscal-server 7.4)."""
        return self.kind != STORNO and (self.receipt is not None or self.cash is not None)

    @property
    def moves_cash(self) -> bool:
        """Whether money goes into the drawer or out of it."""
        if self.cash is not None:
            return self.cash.type == CASH or self.kind == WITHDRAWAL
        return self.receipt is not None and any(pay.type == CASH for pay in self.receipt.pays)

    @property
    def sum(self) -> int:
        """The amount that the document moves, in kopecks; a storno is registered with none (fiscal-server 4.10)."""
        if self.kind == STORNO:
            return 0
        if self.receipt is not None:
            return self.receipt.sum_topay
        return self.cash.sum if self.cash is not None else 0


LISTED = (SALE, RETURN, CASH_IN, CASH_OUT, WITHDRAWAL, INCOME, EXPENSE, STORNO, Z)
"""Documents that a list of receipts shows: all but opening and closing."""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Document).decode
