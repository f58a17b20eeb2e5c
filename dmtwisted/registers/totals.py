"""What a register remembers between two documents: numbers, shift, cash and the shift's totals.

The state changes only by `apply`, once for each accepted document, and is stored in the same transaction as the
document's outcome; so X, Z and the sum of the receipts cannot part.
"""

from __future__ import annotations

import msgspec

from dmtwisted.registers.catalogue import CASH
from dmtwisted.registers.documents import CASH_IN, CASH_OUT, CLOSE, OPEN, SALE, Document, Payment, Z


class PaySum(msgspec.Struct, omit_defaults=True):
    """Turnover of one payment type in kopecks; `p` for sales and cash in, `m` for returns and cash out.

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


class ShiftTotals(msgspec.Struct, omit_defaults=True):
    """The totals of one shift."""

    count_p: int = 0
    count_m: int = 0
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
    pays: dict[int, PaySum] = {}
    money: dict[int, PaySum] = {}
    taxes: dict[int, TaxSum] = {}


class LastDocument(msgspec.Struct, omit_defaults=True):
    """The last document that was accepted."""

    number: int = 0
    fiscal_number: str = ""
    task: int = 0


class RegisterState(msgspec.Struct, omit_defaults=True):
    """A register between two documents."""

    next_number: int = 1
    """The local number of the next document."""
    z_number: int = 0
    """The number of the last Z."""
    shift_open: bool = False
    opened_at: int = 0
    safe: int = 0
    """Cash in the drawer, in kopecks; carries over a Z."""
    safe_start: int = 0
    """Cash in the drawer when the shift was opened."""
    last: LastDocument = msgspec.field(default_factory=LastDocument)
    totals: ShiftTotals = msgspec.field(default_factory=ShiftTotals)

    @property
    def shift(self) -> int:
        """The number of the current shift's Z; of the next one while the shift is closed."""
        return self.z_number + 1


encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(RegisterState).decode


def apply(state: RegisterState, document: Document, fiscal_number: str) -> None:
    """Take ``document``, accepted as ``fiscal_number``, into ``state``."""
    state.next_number = document.number + 1
    state.last = LastDocument(document.number, fiscal_number, document.caller.task)
    if document.kind == OPEN:
        state.shift_open = True
        state.opened_at = document.at
        state.safe_start = state.safe
        state.totals = ShiftTotals(first_docno=document.number)
    state.totals.last_docno = document.number
    if document.kind == SALE:
        _add_sale(state, document)
    elif document.kind == CASH_IN:
        _add_money(state, document.cash, 1)
    elif document.kind == CASH_OUT:
        _add_money(state, document.cash, -1)
    elif document.kind == Z:
        state.z_number = document.shift
    elif document.kind == CLOSE:
        state.shift_open = False


def _add_sale(state: RegisterState, document: Document) -> None:
    receipt, totals = document.receipt, state.totals
    assert receipt is not None
    totals.count_p += 1
    totals.last_docno_p = document.number
    totals.base_p += receipt.sum_receipt
    totals.disc_p += receipt.sum_disc
    totals.calc_p += receipt.sum_topay
    for pay in receipt.pays:
        line = totals.pays.get(pay.type)
        if line is None:
            line = totals.pays[pay.type] = PaySum(pay.name)
        line.sum_p += pay.exact
        line.round_pu += max(pay.round, 0)
        line.round_pd += max(-pay.round, 0)
        if pay.type == CASH:
            state.safe += pay.sum
    for tax in receipt.taxes:
        sums = totals.taxes.get(tax.gr_code)
        if sums is None:
            sums = totals.taxes[tax.gr_code] = TaxSum(
                tax.tax_name, tax.tax_fname, tax.tax_lit, tax.tax_percent, tax.ex_name, tax.ex_percent
            )
        sums.base_sum_p += tax.base_sum
        sums.base_tax_sum_p += tax.base_tax_sum
        sums.base_ex_sum_p += tax.base_ex_sum
        sums.tax_sum_p += tax.tax_sum
        sums.ex_sum_p += tax.ex_sum


def _add_money(state: RegisterState, cash: Payment | None, direction: int) -> None:
    assert cash is not None
    line = state.totals.money.get(cash.type)
    if line is None:
        line = state.totals.money[cash.type] = PaySum(cash.name)
    if direction > 0:
        line.sum_p += cash.sum
    else:
        line.sum_m += cash.sum
    state.safe += direction * cash.sum
