"""The fiscal server's totals of a shift, and the check of a Z-report (docs/reference/tax-service.md#z-report).

Sums are kopecks. Taxes are the sums of the receipts' taxes, never calculated again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from protocols.fiscal.check_xml import Check, TaxRow
from protocols.fiscal.document_kinds import is_return, kind_of
from protocols.fiscal.kinds import Kind
from protocols.fiscal.offline import hryvnias
from protocols.fiscal.zrep_xml import Turnover, ZRep, ZTaxRow

TaxKey = tuple[int, str, int, bool]
"""Type, letter, rate and whether it is on top: the key of one line of taxes."""


@dataclass
class TaxSums:
    """One line of taxes."""

    name: str = ""
    turnover: int = 0
    discounted: int = 0
    source: int = 0
    sum: int = 0

    def add(self, row: TaxRow, sign: int) -> None:
        """Add a receipt's line; ``sign`` -1 subtracts it."""
        discounted = row.turnover if row.turnoverdiscount is None else row.turnoverdiscount
        self.name = self.name or row.name
        self.turnover += sign * row.turnover
        self.discounted += sign * discounted
        self.source += sign * (discounted if row.sourcesum is None else row.sourcesum)
        self.sum += sign * row.sum


@dataclass
class OrderSums:
    """Totals of sales, or of returns."""

    sum: int = 0
    count: int = 0
    rounded: int = 0
    exact: int = 0
    issued: int = 0
    received: int = 0
    pay_forms: dict[tuple[int, str], int] = field(default_factory=dict)
    taxes: dict[TaxKey, TaxSums] = field(default_factory=dict)

    def add(self, check: Check, sign: int) -> None:
        """Add a receipt; ``sign`` -1 subtracts it."""
        total = check.checktotal
        if total is None:
            return
        # Of a part payment the part counts, as its payments do.
        amount = (total.sum or 0) if total.partpaysum is None else total.partpaysum
        self.sum += sign * amount
        self.count += sign
        self.rounded += sign * (total.rndsum or 0)
        self.exact += sign * (amount if total.norndsum is None else total.norndsum)
        self.issued += sign * (total.pwnsumissued or 0)
        self.received += sign * (total.pwnsumreceived or 0)
        for pay in check.checkpay:
            form = (pay.payformcd, pay.payformnm)
            self.pay_forms[form] = self.pay_forms.get(form, 0) + sign * (pay.sum or 0)
        for tax in check.checktax:
            key = (tax.type, tax.letter or "", tax.prc, bool(tax.sign))
            self.taxes.setdefault(key, TaxSums()).add(tax, sign)

    def faults(self, stated: Turnover | None, path: str) -> Iterator[str]:
        """Where a report's section differs."""
        if stated is None:
            if self.count or self.sum:
                yield f"{path}: {hryvnias(self.sum)} очікується"
            return
        yield from _compare(f"{path}/SUM", self.sum, stated.sum)
        if stated.orderscnt != self.count:
            yield f"{path}/ORDERSCNT: {self.count} очікується, вказано {stated.orderscnt}"
        if stated.rndsum is not None:
            yield from _compare(f"{path}/RNDSUM", self.rounded, stated.rndsum)
        if stated.norndsum is not None:
            yield from _compare(f"{path}/NORNDSUM", self.exact, stated.norndsum)
        forms = {(row.payformcd, row.payformnm): row.sum for row in stated.payforms}
        for form in sorted(self.pay_forms.keys() | forms.keys()):
            place = f"{path}/PAYFORMS {form[0]} {form[1]}"
            yield from _compare(place, self.pay_forms.get(form, 0), forms.get(form, 0))
        yield from self._tax_faults({_key(row): row for row in stated.taxes}, f"{path}/TAXES")

    def _tax_faults(self, stated: dict[TaxKey, ZTaxRow], path: str) -> Iterator[str]:
        for key in sorted(self.taxes.keys() | stated.keys()):
            ours, row = self.taxes.get(key, TaxSums()), stated.get(key)
            place = f"{path} {key[0]} {key[1]} {hryvnias(key[2])}"
            if row is None:
                yield from _compare(place, ours.sum or ours.turnover, 0)
                continue
            yield from _compare(f"{place}/SUM", ours.sum, row.sum)
            yield from _compare(f"{place}/TURNOVER", ours.turnover, row.turnover)
            if row.turnoverdiscount is not None:
                yield from _compare(f"{place}/TURNOVERDISCOUNT", ours.discounted, row.turnoverdiscount)
            if row.sourcesum is not None:
                yield from _compare(f"{place}/SOURCESUM", ours.source, row.sourcesum)


@dataclass
class ShiftSums:
    """The totals of one shift, for `LastShiftTotals` and the check of a Z-report."""

    real: OrderSums = field(default_factory=OrderSums)
    ret: OrderSums = field(default_factory=OrderSums)
    cash: OrderSums = field(default_factory=OrderSums)
    commission: int = 0
    """Of cash paid out from cards."""
    service_in: int = 0
    service_out: int = 0

    def add(self, check: Check, sign: int = 1) -> None:
        """Add a document that moves money; ``sign`` -1 subtracts one that is revoked or reversed."""
        kind, total = kind_of(check), check.checktotal
        amount = (total.sum or 0) if total is not None else 0
        if kind is Kind.WITHDRAWAL:
            self.cash.add(check, sign)
            self.commission += sign * ((total.commission or 0) if total is not None else 0)
        elif kind in (Kind.CASH_IN, Kind.REINFORCEMENT):
            self.service_in += sign * amount
        elif kind is Kind.CASH_OUT:
            self.service_out += sign * amount
        elif kind in (Kind.SALE, Kind.RETURN, Kind.TRANSFER, Kind.PAWNSHOP):
            (self.ret if is_return(check) else self.real).add(check, sign)

    def faults(self, report: ZRep) -> Iterator[str]:
        """Where a Z-report differs from the receipts of the shift."""
        yield from self.real.faults(report.zreprealiz, "ZREPREALIZ")
        yield from self.ret.faults(report.zrepreturn, "ZREPRETURN")
        cash = report.zrepcash
        yield from _compare("ZREPCASH/SUM", self.cash.sum, cash.sum if cash is not None else 0)
        if cash is not None:
            if cash.orderscnt != self.cash.count:
                yield f"ZREPCASH/ORDERSCNT: {self.cash.count} очікується, вказано {cash.orderscnt}"
            if cash.commission is not None:
                yield from _compare("ZREPCASH/COMMISSION", self.commission, cash.commission)
        body = report.zrepbody
        stated_in = (body.serviceinput or 0) if body is not None else 0
        stated_out = (body.serviceoutput or 0) if body is not None else 0
        yield from _compare("ZREPBODY/SERVICEINPUT", self.service_in, stated_in)
        yield from _compare("ZREPBODY/SERVICEOUTPUT", self.service_out, stated_out)


def _key(row: ZTaxRow) -> TaxKey:
    return row.type, row.letter or "", row.prc, bool(row.sign)


def _compare(place: str, ours: int, stated: int) -> Iterator[str]:
    if ours != stated:
        yield f"{place}: {hryvnias(ours)} очікується, вказано {hryvnias(stated)}"
