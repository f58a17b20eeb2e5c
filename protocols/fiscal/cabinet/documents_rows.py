"""The operations inside a receipt, each with its running number ``N`` (docs/reference/tax-cabinet.md#rows)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from protocols.fiscal.cabinet.documents_types import (
    Count,
    Kopecks,
    Moment,
    Percent,
    TaxCode,
    Thousandths,
    Uktzed,
    Words,
    Words64,
)


@dataclass(frozen=True, kw_only=True)
class CA:
    """The excise stamp of one unit of an item."""

    TAG: ClassVar = "CA"
    ca: Words64


@dataclass(frozen=True, kw_only=True)
class _Item:
    """An item with its price; ``sm`` is before discounts."""

    n: Count
    c: Words64 | None = None
    """Its code in the shop."""
    cd: Words64 | None = None
    """Its bar code."""
    czd: Uktzed | None = None
    """UKTZED."""
    nm: Words
    sm: Kopecks
    q: Thousandths | None = None
    """Absent for one unit."""
    prc: Kopecks | None = None
    """For one unit."""
    tx: TaxCode | None = None
    tx1: TaxCode | None = None
    """A second tax, independent of the first."""
    rt: Count | None = None
    """In a return what is paid for: 0 goods, 1 service, 2 pledge, 3 win."""
    db: Kopecks | None = None
    """Advance received before."""
    dc: Kopecks | None = None
    """Advance that is settled."""
    oa: Words | None = None
    """Transfers of money, up to ``op``; no register here makes them."""
    ob: Words | None = None
    oc: Words | None = None
    od: Words | None = None
    oe: Words | None = None
    of: Words | None = None
    og: Words | None = None
    oh: Words | None = None
    oi: Words | None = None
    oj: Words | None = None
    ok: Words | None = None
    ol: Words | None = None
    om: Words | None = None
    on: Words | None = None
    oo: Words | None = None
    op: Words | None = None
    qmtq: Thousandths | None = None
    """Duty-free shops, up to ``qmav``: quantity and weight of tobacco, strength and volume of alcohol."""
    qmtw: Thousandths | None = None
    qmas: Thousandths | None = None
    qmav: Thousandths | None = None
    marks: tuple[CA, ...] = ()


@dataclass(frozen=True, kw_only=True)
class P(_Item):
    """An item that is sold, or returned in a return."""

    TAG: ClassVar = "P"


@dataclass(frozen=True, kw_only=True)
class CP(_Item):
    """An item of this receipt that is taken back; its attributes repeat those of the item."""

    TAG: ClassVar = "CP"


@dataclass(frozen=True, kw_only=True)
class NI:
    """The number of one operation that is meant."""

    TAG: ClassVar = "NI"
    ni: Count


@dataclass(frozen=True, kw_only=True)
class OfTax:
    """The tax of items that are meant."""

    TAG: ClassVar = "TX"
    tx: TaxCode


@dataclass(frozen=True, kw_only=True)
class VD:
    """Operations of this receipt that are void."""

    TAG: ClassVar = "VD"
    n: Count
    ni: Count | None = None
    rows: tuple[NI, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Change:
    """A change of the price of items: those of ``ni``, of ``rows`` or of ``tx``, else of what precedes it."""

    n: Count
    tr: Count | None = None
    """0 the item before, 1 the subtotal, 2 special."""
    ty: Count | None = None
    """0 an amount, 1 a percentage."""
    st: Kopecks | None = None
    """The subtotal."""
    ni: Count | None = None
    tx: TaxCode | None = None
    pr: Percent | None = None
    sm: Kopecks
    dn: Words | None = None
    """The code of a privilege."""
    nm: Words | None = None
    rows: tuple[NI, ...] = ()
    taxes: tuple[OfTax, ...] = ()


@dataclass(frozen=True, kw_only=True)
class D(_Change):
    """A discount."""

    TAG: ClassVar = "D"


@dataclass(frozen=True, kw_only=True)
class S(_Change):
    """A surcharge."""

    TAG: ClassVar = "S"


@dataclass(frozen=True, kw_only=True)
class Card:
    """The data of a card payment, on a payment or, when one means pays all, on the end of the receipt."""

    rrn: Words64 | None = None
    psnm: Words | None = None
    """Payment system."""
    pa: Words | None = None
    """Acquirer."""
    pb: Words | None = None
    """Terminal."""
    pc: Words | None = None
    """Operation."""
    pd: Words | None = None
    """Card, masked."""
    pe: Words | None = None
    """Authorisation."""
    pf: Kopecks | None = None
    """Commission."""


CASH, OTHER, CASHLESS = 0, 1, 2
"""Means of payment, ``T``."""


@dataclass(frozen=True, kw_only=True)
class M(Card):
    """A payment; ``sm`` is what the customer hands over, ``sm`` less ``rm`` what the shop keeps."""

    TAG: ClassVar = "M"
    n: Count
    t: Count = CASH
    nm: Words | None = None
    sm: Kopecks
    smb: Kopecks | None = None
    """What was due before rounding."""
    smm: Kopecks | None = None
    """What rounding took away."""
    smp: Kopecks | None = None
    """What rounding added."""
    rm: Kopecks | None = None
    """Change."""
    pscl: Words | None = None
    """Foreign currency, up to ``exrt``; no register here takes it."""
    pscc: Words | None = None
    crcd: Words | None = None
    nc: Words | None = None
    crsm: Words | None = None
    exrt: Words | None = None


@dataclass(frozen=True, kw_only=True)
class RST:
    """Change in foreign currency; no register here gives it."""

    TAG: ClassVar = "RST"
    n: Count
    nm: Words | None = None
    sm: Kopecks | None = None
    crcd: Words | None = None
    nc: Words | None = None
    crsm: Words | None = None
    exrt: Words | None = None


@dataclass(frozen=True, kw_only=True)
class CashIn:
    """``I``: money put into the drawer."""

    TAG: ClassVar = "I"
    n: Count
    t: Count = CASH
    nm: Words | None = None
    sm: Kopecks


@dataclass(frozen=True, kw_only=True)
class CashOut:
    """``O``: money taken out of the drawer."""

    TAG: ClassVar = "O"
    n: Count
    t: Count = CASH
    nm: Words | None = None
    sm: Kopecks


@dataclass(frozen=True, kw_only=True)
class L:
    """A comment, in the tag or, as some programs write it, in ``nm``."""

    TAG: ClassVar = "L"
    n: Count
    nm: Words | None = None
    text: Words = ""


@dataclass(frozen=True, kw_only=True)
class H:
    """Service data that is not printed: Base64, or how many offline numbers are asked for."""

    TAG: ClassVar = "H"
    n: Count | None = None
    size: Count | None = None
    text: Words = ""


@dataclass(frozen=True, kw_only=True)
class PTKS:
    """The kiosk of a receipt."""

    TAG: ClassVar = "PTKS"
    n: Count | None = None
    text: Words = ""


@dataclass(frozen=True, kw_only=True)
class _Taxed:
    """One tax of a receipt: VAT and, with it, an excise or levy."""

    txpr: Percent | None = None
    txsm: Kopecks | None = None
    dtpr: Percent | None = None
    """Excise or levy."""
    dtsm: Kopecks | None = None
    txty: Count | None = None
    """0 in the price, 1 on top of it, 2 on income."""
    txal: Count | None = None
    """How both share an amount (docs/reference/tax-cabinet.md#taxes)."""


INCLUDED, ON_TOP, OF_INCOME = 0, 1, 2
"""Kinds of taxes, ``TXTY``."""


@dataclass(frozen=True, kw_only=True)
class TX(_Taxed):
    """One of several taxes of a receipt."""

    TAG: ClassVar = "TX"
    tx: TaxCode


@dataclass(frozen=True, kw_only=True)
class E(_Taxed, Card):
    """The end of a receipt; an only tax may be among its attributes."""

    TAG: ClassVar = "E"
    n: Count
    no: Count | None = None
    """The number of the receipt."""
    rno: Words64 | None = None
    """Of a return: the receipt of the purchase."""
    sm: Kopecks | None = None
    """The total before rounding."""
    se: Kopecks | None = None
    """The total without taxes."""
    fn: Words64 | None = None
    ts: Moment | None = None
    tx: TaxCode | None = None
    cs: Count | None = None
    """The number of the cashier."""
    vd: Count | None = None
    """1: the whole receipt is void."""
    taxes: tuple[TX, ...] = ()


Row = P | CP | VD | D | S | M | RST | CashIn | CashOut | L | H | PTKS | E
