"""What has to add up in documents of protocol B (docs/reference/tax-cabinet.md#checks).

The real server's strictness is not published. `receipt_faults` is what status -9 stands for, `ShiftSums` what -10
does; a document that cannot be read at all is -7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, unique

from protocols.fiscal.cabinet.documents import RQ, C, Dat, Kind
from protocols.fiscal.cabinet.documents_rows import (
    CP,
    ON_TOP,
    PTKS,
    RST,
    TX,
    VD,
    CashIn,
    CashOut,
    D,
    E,
    H,
    L,
    M,
    P,
    Row,
    S,
)
from protocols.fiscal.cabinet.documents_service import SERVICE
from protocols.fiscal.cabinet.documents_z import Z

TAX_TOLERANCE = 1
"""Kopecks by which a tax may differ from the calculated one; the real tolerance is not published."""

ROW_TOLERANCE = 1
"""Kopecks by which an amount may differ from price by quantity, which tills round in several ways."""

UNTAXED = frozenset({"0", "-1"})
"""Exempt, not taxable."""


@unique
class Flaw(Enum):
    """What is wrong with a document that can be read."""

    KIND = "the kind is unknown"
    CONTENT = "an operation does not belong in such a document"
    ROW_NUMBERS = "operations are numbered from 1 without a gap"
    END = "the end is incomplete or misplaced"
    ORIGINAL = "a return names the receipt of the purchase"
    ROW_AMOUNT = "price by quantity is not the amount"
    REFERENCE = "an operation that is meant does not exist"
    DISCOUNT = "a discount exceeds its items"
    TOTAL = "operations do not make the total"
    PAYMENTS = "payments do not make the total"
    CHANGE = "change is at most what was handed over"
    ROUNDING = "rounding does not explain a payment"
    TAX = "a tax is not the calculated one"
    TAX_MISSING = "items and taxes do not name the same taxes"
    WITHOUT_TAXES = "the total without taxes is not the total less the taxes"
    MAC = "the MAC or its number"
    Z_TAXES = "taxes of the Z-report"
    Z_PAYMENTS = "payments of the Z-report"
    Z_CASH = "cash in and out of the Z-report"
    Z_COUNTS = "numbers of receipts of the Z-report"
    Z_WITHDRAWALS = "cash for card holders of the Z-report"


@dataclass(frozen=True)
class ContentFault:
    """One flaw of a document, and its place."""

    flaw: Flaw
    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


def mac_faults(document: RQ, id_offline: str) -> Iterator[ContentFault]:
    """What is wrong with the ``MAC``, whose hash is not looked at.

    :param id_offline: the number that came beside the document, empty for one made online.
    """
    content, mac = document.dat.content, document.mac
    if isinstance(content, C) and content.t == Kind.PING:
        if mac is not None and (mac.text or mac.id):
            yield ContentFault(Flaw.MAC, "RQ/MAC", "a ping has none")
        return
    if mac is None:
        yield ContentFault(Flaw.MAC, "RQ/MAC", "the tag is required")
    elif (mac.id or "") != id_offline:
        yield ContentFault(Flaw.MAC, "RQ/MAC/@ID", f"{id_offline or 'no number'} is expected: not ID in MAC")


# Receipts


def receipt_faults(dat: Dat) -> Iterator[ContentFault]:
    """Everything that does not add up in a receipt or a service document; a Z-report has `ShiftSums.faults`."""
    content = dat.content
    if isinstance(content, Z):
        return
    path = "RQ/DAT/C"
    try:
        kind = Kind(content.t)
    except ValueError:
        yield ContentFault(Flaw.KIND, f"{path}/@T", f"{content.t} is no kind of document")
        return
    yield from _number_faults(content, path)
    for row in content.rows:
        if not isinstance(row, _BELONGS.get(kind, _ANY)):
            yield ContentFault(Flaw.CONTENT, _place(row, path), "the operation does not belong here")
    if kind in SERVICE:
        return
    end = content.end
    if end is None or content.rows[-1] is not end or sum(isinstance(row, E) for row in content.rows) > 1:
        yield ContentFault(Flaw.END, f"{path}/E", "one end is expected, after everything else")
        return
    if kind is Kind.CASH:
        yield from _cash_faults(content, path)
    elif kind in _GOODS:
        yield from _end_faults(dat, end, path)
        if not end.vd:
            yield from _goods_faults(kind, _Receipt(content, end), path)


_TRADE = (P, CP, VD, D, S, M, RST, L, H, PTKS, E)
_ANY = (*_TRADE, CashIn, CashOut)
_GOODS = frozenset({Kind.SALE, Kind.RETURN, Kind.WITHDRAWAL, Kind.DUTY_FREE_SALE, Kind.DUTY_FREE_RETURN})
_RETURNS = frozenset({Kind.RETURN, Kind.DUTY_FREE_RETURN})
_BELONGS: dict[Kind, tuple[type[Row], ...]] = {
    **dict.fromkeys(_GOODS, _TRADE),
    Kind.CASH: (CashIn, CashOut, L, H, E),
    # Some programs state the cash in the drawer when they open a shift.
    Kind.OPEN: (CashIn, CashOut, L, E),
    Kind.OFFLINE: (E,),
    Kind.ONLINE: (E,),
    Kind.PING: (E,),
    Kind.NUMBERS: (H, E),
}
"""The operations of a kind; others of the kinds that no register here makes are not looked at."""


def _place(row: Row, path: str) -> str:
    return f"{path}/{row.TAG}[N={row.n}]"


def _number_faults(content: C, path: str) -> Iterator[ContentFault]:
    expected = 1
    for row in content.rows:
        if row.n is None:
            continue
        if row.n != expected:
            yield ContentFault(Flaw.ROW_NUMBERS, f"{path}/{row.TAG}/@N", f"{expected} is expected, not {row.n}")
            return
        expected += 1


def _cash_faults(content: C, path: str) -> Iterator[ContentFault]:
    moves = [row for row in content.rows if isinstance(row, CashIn | CashOut)]
    if not moves:
        yield ContentFault(Flaw.CONTENT, path, "cash in or out is expected")
    for row in moves:
        if row.sm < 0:
            yield ContentFault(Flaw.TOTAL, _place(row, path), "the amount is negative")


def _end_faults(dat: Dat, end: E, path: str) -> Iterator[ContentFault]:
    needed = {"NO": end.no, "FN": end.fn, "TS": end.ts, **({} if end.vd else {"SM": end.sm})}
    for name, value in needed.items():
        if value is None:
            yield ContentFault(Flaw.END, f"{path}/E/@{name}", "the attribute is required")
    if end.fn is not None and end.fn != dat.fn:
        yield ContentFault(Flaw.END, f"{path}/E/@FN", f"{dat.fn} is expected, not {end.fn}")
    if end.ts is not None and end.ts != dat.ts:
        yield ContentFault(Flaw.END, f"{path}/E/@TS", "the time of the document is expected")


class _Receipt:
    """The operations of a receipt that count: without those that it takes back itself."""

    def __init__(self, content: C, end: E) -> None:
        voids = [row for row in content.rows if isinstance(row, VD)]
        void = {place for row in voids for place in _meant(row)}
        self.rows = [row for row in content.rows if row.n not in void]
        self.missing = [(row, n) for row in voids for n in _meant(row) if n not in {one.n for one in content.rows}]
        self.end = end
        self.items = [row for row in self.rows if isinstance(row, P | CP)]
        self.pays = [row for row in self.rows if isinstance(row, M)]
        self.changes: list[tuple[D | S, list[P]]] = []
        for place, row in enumerate(self.rows):
            if isinstance(row, D | S):
                self.changes.append((row, _changed(row, self.rows[:place])))

    @property
    def taxes(self) -> list[TX | E]:
        """The taxes, also an only one among the attributes of the end."""
        return [*([self.end] if self.end.tx is not None else []), *self.end.taxes]

    def bases(self) -> dict[str, int]:
        """The amount after discounts by its tax."""
        found: dict[str, int] = {}
        for row in self.items:
            if row.tx is not None:
                found[row.tx] = found.get(row.tx, 0) + (row.sm if isinstance(row, P) else -row.sm)
        for change, items in self.changes:
            for item, share in zip(items, _shares(change.sm, items), strict=True):
                if item.tx is not None:
                    found[item.tx] = found.get(item.tx, 0) + (share if isinstance(change, S) else -share)
        return found


def _meant(row: VD | D | S) -> list[int]:
    return [*([row.ni] if row.ni is not None else []), *(one.ni for one in row.rows)]


def _changed(row: D | S, before: list[Row]) -> list[P]:
    """The items whose price a discount or surcharge changes."""
    items = [one for one in before if isinstance(one, P)]
    meant = _meant(row)
    if meant:
        return [one for one in items if one.n in meant]
    taxes = {*([row.tx] if row.tx is not None else []), *(one.tx for one in row.taxes)}
    if row.tr:
        return [one for one in items if not taxes or one.tx in taxes]
    return items[-1:]


def _shares(amount: int, items: list[P]) -> list[int]:
    """``amount`` in proportion to ``items``; the last one takes what rounding leaves."""
    total = sum(item.sm for item in items)
    shares = [_half_up(amount * item.sm, total) if total else 0 for item in items]
    if shares:
        shares[-1] += amount - sum(shares)
    return shares


def _half_up(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)


def _goods_faults(kind: Kind, receipt: _Receipt, path: str) -> Iterator[ContentFault]:
    if kind in _RETURNS and not receipt.end.rno:
        yield ContentFault(Flaw.ORIGINAL, f"{path}/E/@RNO", "the receipt of the purchase is expected")
    if not any(isinstance(row, P) for row in receipt.rows):
        yield ContentFault(Flaw.CONTENT, f"{path}/P", "an item is expected")
    for row, number in receipt.missing:
        yield ContentFault(Flaw.REFERENCE, _place(row, path), f"there is no operation {number}")
    for item in receipt.items:
        yield from _row_faults(item, path)
    for change, items in receipt.changes:
        known = {item.n for item in items}
        lost = [number for number in _meant(change) if number not in known]
        if lost or not items:
            yield ContentFault(Flaw.REFERENCE, _place(change, path), f"there is no item {lost or 'before'}")
        if isinstance(change, D) and not 0 <= change.sm <= sum(item.sm for item in items):
            yield ContentFault(Flaw.DISCOUNT, _place(change, path), f"{change.sm} exceeds the items")
    yield from _total_faults(receipt, path)
    for pay in receipt.pays:
        yield from _pay_faults(pay, path)
    yield from _tax_faults(receipt, path)


def _row_faults(item: P | CP, path: str) -> Iterator[ContentFault]:
    if item.sm < 0:
        yield ContentFault(Flaw.ROW_AMOUNT, _place(item, path), "the amount is negative")
    if item.prc is None:
        return
    expected = _half_up(item.prc * (1000 if item.q is None else item.q), 1000)
    if abs(item.sm - expected) > ROW_TOLERANCE:
        yield ContentFault(Flaw.ROW_AMOUNT, f"{_place(item, path)}/@SM", f"{expected} is expected, not {item.sm}")


def _total_faults(receipt: _Receipt, path: str) -> Iterator[ContentFault]:
    total = receipt.end.sm
    if total is None:
        return
    goods = sum(row.sm if isinstance(row, P) else -row.sm for row in receipt.items)
    goods += sum(row.sm if isinstance(row, S) else -row.sm for row, _ in receipt.changes)
    due = goods + sum(on_top(tax) for tax in receipt.taxes)
    if due != total:
        yield ContentFault(Flaw.TOTAL, f"{path}/E/@SM", f"{due} is expected, not {total}")
    kept = sum(pay.sm - (pay.rm or 0) - rounding(pay) for pay in receipt.pays)
    if kept != total:
        yield ContentFault(Flaw.PAYMENTS, f"{path}/M", f"{total} is expected, not {kept}")
    taxes = sum((tax.txsm or 0) + (tax.dtsm or 0) for tax in receipt.taxes)
    if receipt.end.se is not None and receipt.end.se != total - taxes:
        text = f"{total - taxes} is expected, not {receipt.end.se}"
        yield ContentFault(Flaw.WITHOUT_TAXES, f"{path}/E/@SE", text)


def rounding(pay: M) -> int:
    """What rounding added to the payment."""
    return (pay.smp or 0) - (pay.smm or 0)


def on_top(tax: TX | E) -> int:
    """What the tax adds to the prices: all of it, or with algorithm 1 the levy."""
    if tax.txty == ON_TOP:
        return (tax.txsm or 0) + (tax.dtsm or 0 if tax.txal in (0, 1, None) else 0)
    return (tax.dtsm or 0) if tax.txal == 1 else 0


def _pay_faults(pay: M, path: str) -> Iterator[ContentFault]:
    change = pay.rm or 0
    if not 0 <= change <= pay.sm:
        yield ContentFault(Flaw.CHANGE, f"{_place(pay, path)}/@RM", f"{change} out of {pay.sm}")
    kept = pay.sm - change
    if (pay.smp and pay.smm) or (pay.smb is not None and pay.smb + rounding(pay) != kept):
        yield ContentFault(Flaw.ROUNDING, _place(pay, path), f"{pay.smb} rounded by {rounding(pay)} is not {kept}")


# Taxes


def _tax_faults(receipt: _Receipt, path: str) -> Iterator[ContentFault]:
    """Each tax by its algorithm, but for those that share items with a second tax."""
    bases = receipt.bases()
    second = {item.tx1 for item in receipt.items if item.tx1 is not None}
    both = second | {item.tx for item in receipt.items if item.tx1 is not None}
    stated = [tax.tx or "" for tax in receipt.taxes]
    for name in sorted({*bases, *second} ^ set(stated)):
        yield ContentFault(Flaw.TAX_MISSING, f"{path}/E/TX", f"{name} is of items or of taxes alone")
    if len(set(stated)) < len(stated):
        yield ContentFault(Flaw.TAX_MISSING, f"{path}/E/TX", "a tax occurs twice")
    for tax in receipt.taxes:
        name = tax.tx or ""
        if name not in bases or name in both:
            continue
        quantity = sum(1000 if item.q is None else item.q for item in receipt.items if item.tx == name)
        vat, levy = expected_taxes(tax, bases[name], quantity)
        for attribute, found, expected in (("TXSM", tax.txsm, vat), ("DTSM", tax.dtsm, levy)):
            if abs((found or 0) - expected) > TAX_TOLERANCE:
                text = f"{expected} is expected, not {found or 0}"
                yield ContentFault(Flaw.TAX, f"{path}/E/TX[TX={name}]/@{attribute}", text)


def expected_taxes(tax: TX | E, base: int, quantity: int) -> tuple[int, int]:
    """VAT and levy on ``base`` kopecks and ``quantity`` thousandths (docs/reference/tax-cabinet.md#taxes)."""
    percent, levy_percent = tax.txpr or 0, tax.dtpr or 0
    if tax.tx in UNTAXED:
        return 0, 0
    outside = tax.txty == ON_TOP
    if tax.txal in (0, None):
        whole = 10_000 + (0 if outside else percent + levy_percent)
        return _half_up(base * percent, whole), _half_up(base * levy_percent, whole)
    if tax.txal == 1:
        levy = _half_up(base * levy_percent, 10_000)
        base += levy
    else:
        levy = _half_up(base * levy_percent, 10_000 + levy_percent) if tax.txal == 2 else _for_units(tax, quantity)
        base -= levy
    return _half_up(base * percent, 10_000 + (0 if outside else percent)), levy


def _for_units(tax: TX | E, quantity: int) -> int:
    """The excise for each unit, whose rate is in hryvnias where others have a percentage."""
    return _half_up((tax.dtpr or 0) * quantity, 1000)


# The Z-report


@dataclass
class TaxSums:
    """Turnover, VAT and levy of one tax: received and paid out."""

    turnover: list[int] = field(default_factory=lambda: [0, 0])
    vat: list[int] = field(default_factory=lambda: [0, 0])
    levy: list[int] = field(default_factory=lambda: [0, 0])


@dataclass
class PaymentSums:
    """What was kept of one means of payment, and its rounding down and up: received and paid out."""

    kept: list[int] = field(default_factory=lambda: [0, 0])
    down: list[int] = field(default_factory=lambda: [0, 0])
    up: list[int] = field(default_factory=lambda: [0, 0])


@dataclass
class ShiftSums:
    """The server's totals of one shift: every accepted document is added, and the Z-report compared."""

    taxes: dict[str, TaxSums] = field(default_factory=dict)
    payments: dict[tuple[int, str], PaymentSums] = field(default_factory=dict)
    cash: dict[int, list[int]] = field(default_factory=dict)
    counts: list[int] = field(default_factory=lambda: [0, 0])
    withdrawals: list[int] = field(default_factory=lambda: [0, 0])
    """How many, and their sum."""

    def add(self, content: C, sign: int = 1) -> None:
        """Add a receipt; ``sign`` -1 takes it out again."""
        end = content.end
        if content.t == Kind.CASH:
            for row in content.rows:
                if isinstance(row, CashIn | CashOut):
                    self.cash.setdefault(row.t, [0, 0])[isinstance(row, CashOut)] += sign * row.sm
        elif end is None or end.vd:
            return
        elif content.t == Kind.WITHDRAWAL:
            self.withdrawals[0] += sign
            self.withdrawals[1] += sign * (end.sm or 0)
        elif content.t in _GOODS:
            self._add_goods(_Receipt(content, end), content.t in _RETURNS, sign)

    def _add_goods(self, receipt: _Receipt, out: bool, sign: int) -> None:
        self.counts[out] += sign
        for pay in receipt.pays:
            sums = self.payments.setdefault((pay.t, pay.nm or ""), PaymentSums())
            sums.kept[out] += sign * (pay.sm - (pay.rm or 0))
            sums.down[out] += sign * (pay.smm or 0)
            sums.up[out] += sign * (pay.smp or 0)
        for name, base in receipt.bases().items():
            self.taxes.setdefault(name, TaxSums()).turnover[out] += sign * base
        for tax in receipt.taxes:
            line = self.taxes.setdefault(tax.tx or "", TaxSums())
            line.vat[out] += sign * (tax.txsm or 0)
            line.levy[out] += sign * (tax.dtsm or 0)

    def faults(self, report: Z) -> Iterator[ContentFault]:
        """Where a Z-report differs; what it leaves out is zero."""
        counts = report.counts
        stated = [counts.ni, counts.no] if counts is not None else [0, 0]
        yield from _differ(Flaw.Z_COUNTS, "NC", ("NI", "NO"), self.counts, stated)
        yield from self._tax_faults(report)
        yield from self._payment_faults(report)
        moved: dict[int, list[int]] = {}
        for line in report.cash:
            sums = moved.setdefault(line.t, [0, 0])
            sums[0] += line.smi or 0
            sums[1] += line.smo or 0
        for kind in sorted({*self.cash, *moved}):
            ours, theirs = self.cash.get(kind, [0, 0]), moved.get(kind, [0, 0])
            yield from _differ(Flaw.Z_CASH, f"IO[T={kind}]", ("SMI", "SMO"), ours, theirs)
        given = report.withdrawals
        stated = [given.epc or 0, given.epsm or 0] if given is not None else [0, 0]
        yield from _differ(Flaw.Z_WITHDRAWALS, "EPZ", ("EPC", "EPSM"), self.withdrawals, stated)

    def _tax_faults(self, report: Z) -> Iterator[ContentFault]:
        stated: dict[str, TaxSums] = {}
        for line in report.taxes:
            sums = stated.setdefault(line.tx, TaxSums())
            for pair, received, paid in (
                (sums.turnover, line.smi, line.smo),
                (sums.vat, line.txi, line.txo),
                (sums.levy, line.dti, line.dto),
            ):
                pair[0] += received or 0
                pair[1] += paid or 0
        for name in sorted({*self.taxes, *stated}):
            ours, theirs = self.taxes.get(name, TaxSums()), stated.get(name, TaxSums())
            path = f"TXS[TX={name}]"
            yield from _differ(Flaw.Z_TAXES, path, ("SMI", "SMO"), ours.turnover, theirs.turnover)
            yield from _differ(Flaw.Z_TAXES, path, ("TXI", "TXO"), ours.vat, theirs.vat)
            yield from _differ(Flaw.Z_TAXES, path, ("DTI", "DTO"), ours.levy, theirs.levy)

    def _payment_faults(self, report: Z) -> Iterator[ContentFault]:
        stated: dict[tuple[int, str], PaymentSums] = {}
        for line in report.payments:
            sums = stated.setdefault((line.t, line.nm or ""), PaymentSums())
            for pair, received, paid in (
                (sums.kept, line.smi, line.smo),
                (sums.down, line.smim, line.smom),
                (sums.up, line.smip, line.smop),
            ):
                pair[0] += received or 0
                pair[1] += paid or 0
        for means in sorted({*self.payments, *stated}):
            ours, theirs = self.payments.get(means, PaymentSums()), stated.get(means, PaymentSums())
            path = f"M[T={means[0]} {means[1]}]"
            yield from _differ(Flaw.Z_PAYMENTS, path, ("SMI", "SMO"), ours.kept, theirs.kept)
            yield from _differ(Flaw.Z_PAYMENTS, path, ("SMIM", "SMOM"), ours.down, theirs.down)
            yield from _differ(Flaw.Z_PAYMENTS, path, ("SMIP", "SMOP"), ours.up, theirs.up)


def _differ(
    flaw: Flaw, path: str, names: tuple[str, str], ours: Iterable[int], stated: Iterable[int]
) -> Iterator[ContentFault]:
    for name, one, other in zip(names, ours, stated, strict=True):
        if one != other:
            yield ContentFault(flaw, f"RQ/DAT/Z/{path}/@{name}", f"{one} is expected, not {other}")
