"""The rows of a receipt: goods, services, transfers, fuel, currency (docs/reference/tax-service.md#element-order)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from protocols.fiscal.simple_types import (
    Count,
    Dkpp,
    Flag,
    Ipn,
    Letter,
    Moment,
    Money,
    Number,
    Percent,
    Quantity,
    Rate,
    Text,
    Text15,
    Text64,
    Text128,
    Text1024,
    Tin,
    Uktzed,
    UnitCode,
)


@dataclass(frozen=True, kw_only=True)
class ExciseRow:
    """``EXCISELABELS/ROW``: one excise stamp."""

    exciselabel: Text64


@dataclass(frozen=True, kw_only=True)
class BodyRow:
    """``CHECKBODY/ROW``: one item, or one operation of another kind."""

    CHOICE: ClassVar = ("UKTZED", "DKPP")
    """Elements that exclude each other."""

    code: Text64 | None = None
    barcode: Text64 | None = None
    uktzed: Uktzed | None = None
    dkpp: Dkpp | None = None
    name: Text1024 | None = None
    description: Text | None = None
    unitcd: UnitCode | None = None
    unitnm: Text64 | None = None
    amount: Quantity | None = None
    tobaccoweight: Quantity | None = None
    tobaccoqt: Quantity | None = None
    alcostrength: Quantity | None = None
    alcovol: Quantity | None = None
    price: Money | None = None
    letters: Text15 | None = None
    """Of its taxes."""
    cost: Money | None = None
    """Price by quantity, before any discount."""

    recipientnm: Text | None = None
    recipientipn: Ipn | None = None
    bankcd: Text15 | None = None
    banknm: Text | None = None
    bankrs: Text64 | None = None
    paydetails: Text | None = None
    paypurpose: Text128 | None = None
    payernm: Text | None = None
    payeripn: Ipn | None = None
    payerpactnum: Text | None = None
    paydetailsp: Text | None = None
    basispay: Text | None = None
    ptksdeptnum: Text64 | None = None
    providernm: Text | None = None
    providertin: Tin | None = None
    providerrcprs: Text64 | None = None
    transferid: Text128 | None = None
    payouttype: Letter | None = None

    fuelordernum: Text128 | None = None
    fuelunitnm: Text | None = None
    fueltanknum: Text64 | None = None
    fuelcolumnnum: Text64 | None = None
    fuelfaucetnum: Text64 | None = None
    fuelsalesign: Flag | None = None

    valcd: Number | None = None
    valsymcd: Text64 | None = None
    valnm: Text | None = None
    valopertype: Count | None = None
    """0 buying, 1 its reversal, 2 selling, 3 its reversal, 4 reverse, 5 conversion, 6 and 7 their reversals."""
    valoutcd: Number | None = None
    valoutsymcd: Text64 | None = None
    valoutnm: Text | None = None
    valcourse: Rate | None = None
    valcoursedate: Moment | None = None
    valforeignsum: Money | None = None
    valnationalsum: Money | None = None
    valcommission: Money | None = None
    valopercnt: UnitCode | None = None
    valrefusesell: Flag | None = None
    pwndir: Flag | None = None
    """Pawnshop: false for money given out, true for money received."""

    usagetype: Count | None = None
    discounttype: Count | None = None
    subtotal: Money | None = None
    discountnum: Number | None = None
    discounttax: Letter | None = None
    discountpercent: Percent | None = None
    discountsum: Money | None = None
    partpaysum: Money | None = None
    comment: Text | None = None
    exciselabels: tuple[ExciseRow, ...] = ()
