"""The document ZREP: the totals of a shift (docs/reference/tax-service.md#z-report).

The columns of the currency report are those of the schemas of 2020 to 2023; no later change is known.
"""

from __future__ import annotations

from dataclasses import dataclass

from protocols.fiscal.check_xml import TaxRow
from protocols.fiscal.simple_types import (
    Code,
    Count,
    Date,
    Flag,
    Ipn,
    Money,
    Number,
    Text,
    Text64,
    Text128,
    Text256,
    Time,
    Tin,
    Version,
    Volume,
)


@dataclass(frozen=True, kw_only=True)
class ZRepHead:
    """``ZREPHEAD``: who issued the report, when, and under which numbers."""

    uid: Text
    tin: Tin
    ipn: Ipn | None = None
    orgnm: Text256
    pointnm: Text256
    pointaddr: Text256 | None = None
    orderdate: Date
    ordertime: Time
    ordernum: Number
    cashdesknum: Number
    cashregisternum: Number
    cashier: Text128 | None = None
    ver: Version = 1
    ordertaxnum: Text128 | None = None
    offline: Flag | None = None
    prevdochash: Text64 | None = None
    revoked: Flag | None = None
    testing: Flag | None = None


@dataclass(frozen=True, kw_only=True)
class PayFormRow:
    """``PAYFORMS/ROW``: the total of one way of payment."""

    payformcd: Code
    payformnm: Text
    sum: Money


@dataclass(frozen=True, kw_only=True)
class ZTaxRow(TaxRow):
    """``TAXES/ROW``: the sums of one tax of the receipts, never calculated again."""

    type: Code


@dataclass(frozen=True, kw_only=True)
class Turnover:
    """``ZREPREALIZ`` and ``ZREPRETURN``: sales, or returns."""

    sum: Money
    pwnsumissued: Money | None = None
    pwnsumreceived: Money | None = None
    rndsum: Money | None = None
    norndsum: Money | None = None
    orderscnt: Count
    pwnorderscntissued: Count | None = None
    pwnorderscntreceived: Count | None = None
    totalcurrencycost: Count | None = None
    totalcurrencysum: Money | None = None
    totalcurrencycommission: Money | None = None
    payforms: tuple[PayFormRow, ...] = ()
    taxes: tuple[ZTaxRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ZRepCash:
    """``ZREPCASH``: cash given out against cards."""

    sum: Money
    commission: Money | None = None
    orderscnt: Count


@dataclass(frozen=True, kw_only=True)
class CurrencyRow:
    """``ZREPVAL/DETAILS/ROW``: operations in one currency."""

    valnum: Code | None = None
    valcd: Number
    valsymcd: Text64
    valnm: Text | None = None
    coursebuy: Text64 | None = None
    coursesell: Text64 | None = None
    coursereg: Text64 | None = None
    buyvali: Money | None = None
    sellvali: Money | None = None
    buyvaln: Money | None = None
    sellvaln: Money | None = None
    storbuyvali: Money | None = None
    storsellvali: Money | None = None
    storbuyvaln: Money | None = None
    storsellvaln: Money | None = None
    cinvali: Money | None = None
    coutvali: Money | None = None
    unusvali: Money | None = None
    unusvaln: Money | None = None
    commission: Money | None = None
    inadvance: Money | None = None
    inattach: Money | None = None
    surrcollection: Money | None = None
    storunusvali: Money | None = None
    storunusvaln: Money | None = None
    storcinvali: Money | None = None
    storcoutvali: Money | None = None
    storcommission: Money | None = None
    valcrcd: Text64 | None = None
    crosssymcd: Text64 | None = None
    crosscourse: Text64 | None = None


@dataclass(frozen=True, kw_only=True)
class ZRepVal:
    """``ZREPVAL``: operations in foreign currency."""

    totalinadvance: Money | None = None
    totalinattach: Money | None = None
    totalsurrcollection: Money | None = None
    commission: Money | None = None
    calcdocscnt: Count
    acceptedn: Money | None = None
    issuedn: Money | None = None
    commissionn: Money | None = None
    transferscnt: Count | None = None
    details: tuple[CurrencyRow, ...] = ()
    taxes: tuple[ZTaxRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FuelPayFormRow(PayFormRow):
    """``ZREPFUEL/DETAILS/ROW/PAYFORMS/ROW``: fuel by way of payment."""

    amount: Volume


@dataclass(frozen=True, kw_only=True)
class FuelRow:
    """``ZREPFUEL/DETAILS/ROW``: one kind of fuel; volumes in hundredths of a millilitre."""

    name: Text
    accepted: Volume | None = None
    realizvol: Volume | None = None
    realizprk: Volume | None = None
    realizcost: Money | None = None
    remains: Volume | None = None
    payforms: tuple[FuelPayFormRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FuelRemainsRow:
    """``ZREPFUEL/REMAINS/ROW``: fuel left in a tank."""

    name: Text
    tanknum: Text64
    columnnum: Text64 | None = None
    faucetnum: Text64 | None = None
    remains: Volume


@dataclass(frozen=True, kw_only=True)
class ZRepFuel:
    """``ZREPFUEL``: sales of a filling station."""

    details: tuple[FuelRow, ...]
    remains: tuple[FuelRemainsRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ZRepBody:
    """``ZREPBODY``: money put into the drawer and taken out of it."""

    serviceinput: Money | None = None
    serviceoutput: Money | None = None
    vehiclern: Text64 | None = None


@dataclass(frozen=True, kw_only=True)
class ZRep:
    """``ZREP``: its sections, in order."""

    zrephead: ZRepHead
    zreprealiz: Turnover | None = None
    zrepreturn: Turnover | None = None
    zrepcash: ZRepCash | None = None
    zrepval: ZRepVal | None = None
    zrepfuel: ZRepFuel | None = None
    zrepbody: ZRepBody | None = None

    @property
    def head(self) -> ZRepHead:
        """The head, as of any document."""
        return self.zrephead
