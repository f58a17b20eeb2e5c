"""The document CHECK: receipts, money in and out, shifts, sessions (docs/reference/tax-service.md#documents)."""

from __future__ import annotations

from dataclasses import dataclass

from protocols.fiscal.check_goods import BodyRow
from protocols.fiscal.check_head import CheckHead
from protocols.fiscal.simple_types import (
    Count,
    Flag,
    Letter,
    Moment,
    Money,
    Number,
    Percent,
    Rate,
    Text,
    Text15,
    Text64,
    Text128,
    Text256,
)


@dataclass(frozen=True, kw_only=True)
class CheckTotal:
    """``CHECKTOTAL``: the sum to pay, its rounding, discount and part payment."""

    sum: Money | None = None
    pwnsumissued: Money | None = None
    pwnsumreceived: Money | None = None
    rndsum: Money | None = None
    """The exact sum less the rounded one."""
    norndsum: Money | None = None
    """The exact sum."""
    notaxsum: Money | None = None
    commission: Money | None = None
    usagetype: Count | None = None
    subcheck: Money | None = None
    discounttype: Count | None = None
    discountpercent: Percent | None = None
    discountsum: Money | None = None
    partpaytype: Count | None = None
    """1 prepayment, 2 final payment, 3 next instalment."""
    partpaypercent: Percent | None = None
    partpaysum: Money | None = None
    partpayordprepaynum: Text128 | None = None
    """The fiscal number of the prepayment's receipt."""


@dataclass(frozen=True, kw_only=True)
class CardRow:
    """``PAYSYS/ROW``: a card payment, as on the terminal's slip."""

    taxnum: Text64 | None = None
    name: Text | None = None
    """The payment system."""
    acquireid: Text64 | None = None
    acquirepn: Text64 | None = None
    acquirenm: Text | None = None
    acquiretransid: Text128 | None = None
    """The RRN."""
    postransdate: Moment | None = None
    postransnum: Text128 | None = None
    deviceid: Text128 | None = None
    """The terminal."""
    epzdetails: Text128 | None = None
    """The masked card number."""
    authcd: Text64 | None = None
    clientinfo: Text256 | None = None
    sum: Money | None = None
    commission: Money | None = None


@dataclass(frozen=True, kw_only=True)
class PayRow:
    """``CHECKPAY/ROW``: one way of payment; code and name are the shop's own."""

    payformcd: Count
    payformnm: Text
    sum: Money | None = None
    provided: Money | None = None
    """The money given by the customer."""
    remains: Money | None = None
    """The change."""
    paysys: tuple[CardRow, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TaxRow:
    """``CHECKTAX/ROW``: one tax of one letter and rate."""

    type: Count
    """0 VAT, 1 excise, 2 pension fund."""
    name: Text64
    letter: Letter | None = None
    prc: Percent
    sign: Flag | None = None
    """True when the tax is not in the prices."""
    turnover: Money
    """Before discounts."""
    turnoverdiscount: Money | None = None
    """After discounts."""
    sourcesum: Money | None = None
    """The base of the tax."""
    sum: Money


@dataclass(frozen=True, kw_only=True)
class Ptks:
    """``CHECKPTKS``: the payment kiosk that accepted a transfer."""

    ptkspn: Text64 | None = None
    ptksnm: Text | None = None
    paysystempn: Text64 | None = None
    paysystemnm: Text | None = None
    acquireid: Text64 | None = None
    acquirepn: Text64 | None = None
    acquirenm: Text | None = None
    acquiretransid: Text128 | None = None
    postransdate: Moment | None = None
    postransnum: Text128 | None = None
    deviceid: Text128 | None = None
    epzdetails: Text128 | None = None
    authcd: Text64 | None = None
    terminalnum: Text64 | None = None
    terminaladdr: Text | None = None
    opernum: Text64 | None = None
    opersysnum: Text64 | None = None
    bankcd: Text15 | None = None
    banknm: Text | None = None


@dataclass(frozen=True, kw_only=True)
class DutyFreeRow:
    """``CHECKDUTYFREE/ROW``: a duty-free payment in a currency."""

    passportdoc: Text64
    passportcountry: Text64
    valcd: Number
    valsymcd: Text64
    valnm: Text | None = None
    valcourse: Rate | None = None
    sum: Money
    provided: Money | None = None


@dataclass(frozen=True, kw_only=True)
class DutyFreeRemainsRow:
    """``CHECKDUTYFREEREMAINS/ROW``: change of a duty-free payment."""

    valcd: Number
    valsymcd: Text64
    valnm: Text | None = None
    valcourse: Rate | None = None
    valsum: Money
    sum: Money


@dataclass(frozen=True, kw_only=True)
class Check:
    """``CHECK``: its sections, in order."""

    checkhead: CheckHead
    checktotal: CheckTotal | None = None
    checkpay: tuple[PayRow, ...] = ()
    checktax: tuple[TaxRow, ...] = ()
    checkptks: Ptks | None = None
    checkdutyfree: tuple[DutyFreeRow, ...] = ()
    checkdutyfreeremains: tuple[DutyFreeRemainsRow, ...] = ()
    checkbody: tuple[BodyRow, ...] = ()

    @property
    def head(self) -> CheckHead:
        """The head, as of any document."""
        return self.checkhead
