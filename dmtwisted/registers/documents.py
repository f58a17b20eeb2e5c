"""The fiscal document as we keep it: everything that its answer, its copies and its print forms need.

Amounts are kopecks, quantities thousandths, percentages hundredths of a percent, times milliseconds since 1970.
Values that are empty are left out of what is stored.
"""

from __future__ import annotations

import msgspec

OPEN, SALE, CASH_IN, CASH_OUT, Z, CLOSE = "open", "sale", "cash_in", "cash_out", "z", "close"
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


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who issued the document, as it stood at that moment."""

    fisid: str
    name: str = ""
    shopname: str = ""
    shopad: str = ""
    vat_code: str = ""
    fis_code: str = ""


class Caller(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the answer tells back of its request."""

    device: str
    source: str = ""
    tag: str = ""
    type: int = 1
    task: int


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
    cash: Payment | None = None

    @property
    def sum(self) -> int:
        """The amount that the document moves, in kopecks."""
        if self.receipt is not None:
            return self.receipt.sum_topay
        return self.cash.sum if self.cash is not None else 0


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Document).decode
