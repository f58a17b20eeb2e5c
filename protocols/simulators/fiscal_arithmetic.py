"""Checks the sums of a receipt, as the fiscal server does (docs/reference/tax-service.md#sums).

The real server's strictness is not published. Here goods less discounts plus taxes on top make the total, payments
make the total, rounding explains the rest; a tax may differ by `TAX_TOLERANCE`.
"""

from __future__ import annotations

from collections.abc import Iterator

from protocols.fiscal.check_xml import Check, CheckTotal, TaxRow
from protocols.fiscal.document_kinds import kind_of
from protocols.fiscal.kinds import Kind

TAX_TOLERANCE = 1
"""Kopecks by which a tax may differ from the calculated one; the real tolerance is not published."""

VAT = 0


def receipt_faults(check: Check) -> Iterator[str]:
    """What does not add up in a receipt."""
    kind, total = kind_of(check), check.checktotal
    if total is None or total.sum is None:
        return
    if total.sum < 0 and kind is not Kind.PAWNSHOP:
        yield "Сума документа від'ємна"
    if kind not in (Kind.SALE, Kind.RETURN):
        return
    exact = total.sum if total.norndsum is None else total.norndsum
    to_pay = total.sum if total.partpaysum is None else total.partpaysum
    if total.norndsum is not None and total.norndsum - (total.rndsum or 0) != to_pay:
        yield "NORNDSUM, RNDSUM та сума до сплати не узгоджені"
    if (total.sum if total.partpaysum is not None else exact) not in _possible(check, total):
        yield f"Обчислена сума чека не дорівнює зазначеній {exact / 100:.2f}"
    paid = sum(pay.sum or 0 for pay in check.checkpay)
    if paid != to_pay:
        yield f"Сума оплат {paid / 100:.2f} не дорівнює сумі чека {to_pay / 100:.2f}"
    for pay in check.checkpay:
        if pay.provided is not None and pay.provided - (pay.remains or 0) != pay.sum:
            yield f"Решта форми оплати {pay.payformcd} обчислена невірно"
    for tax in check.checktax:
        yield from _tax_faults(tax, check)
    if total.partpaysum is not None:
        yield from _part_faults(total, check)


def _part_faults(total: CheckTotal, check: Check) -> Iterator[str]:
    """A part payment: at most the price, its share of it, and the rows' shares of the part before rounding."""
    part = total.partpaysum if total.norndsum is None else total.norndsum
    assert part is not None and total.sum is not None
    if not 0 < part <= total.sum:
        yield f"Сума часткової сплати {part / 100:.2f} більша за суму чека {total.sum / 100:.2f}"
        return
    rows = [row.partpaysum for row in check.checkbody if row.partpaysum is not None]
    if sum(rows) != part:
        yield f"Сума часткової сплати рядків {sum(rows) / 100:.2f} не дорівнює {part / 100:.2f}"
    if total.partpaypercent is not None and abs(total.partpaypercent * total.sum - part * 10_000) > total.sum:
        yield f"Відсоток часткової сплати {total.partpaypercent / 100:.2f} обчислений невірно"


def _possible(check: Check, total: CheckTotal) -> set[int]:
    """Possible totals: a discount on the whole receipt may be in the rows, in the total, or in both."""
    goods = sum(row.cost or 0 for row in check.checkbody)
    in_rows = sum(row.discountsum or 0 for row in check.checkbody)
    in_total = total.discountsum or 0
    on_top = sum(tax.sum for tax in check.checktax if tax.sign)
    return {goods + on_top - discount for discount in (in_rows, in_total or in_rows, in_rows + in_total)}


def _tax_faults(tax: TaxRow, check: Check) -> Iterator[str]:
    base = tax.sourcesum if tax.sourcesum is not None else tax.turnoverdiscount
    if base is None:
        base = tax.turnover
        # With two taxes on one letter the base of this one is not known without ``sourcesum``.
        if sum(other.letter == tax.letter for other in check.checktax) > 1:
            return
    if tax.type != VAT:
        return
    whole = 10_000 + (0 if tax.sign else tax.prc)
    expected = (abs(base) * tax.prc * 2 + whole) // (whole * 2)
    if abs(abs(tax.sum) - expected) > TAX_TOLERANCE:
        yield f"Сума податку {tax.letter or tax.name} обчислена невірно"
