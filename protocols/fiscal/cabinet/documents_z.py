"""The Z-report: totals of a shift (docs/reference/tax-cabinet.md#z-report).

``…I`` is received, ``…O`` paid out. Zeros and idle tags may be absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from protocols.fiscal.cabinet.documents_types import Count, Day, Kopecks, Percent, TaxCode, Words


@dataclass(frozen=True, kw_only=True)
class TXS:
    """The turnover and the sums of one tax."""

    TAG: ClassVar = "TXS"
    tx: TaxCode
    ts: Day | None = None
    """The day on which the rate was set."""
    txpr: Percent | None = None
    txi: Kopecks | None = None
    txo: Kopecks | None = None
    dtpr: Percent | None = None
    dti: Kopecks | None = None
    dto: Kopecks | None = None
    txty: Count | None = None
    txal: Count | None = None
    smi: Kopecks | None = None
    smo: Kopecks | None = None


@dataclass(frozen=True, kw_only=True)
class ZM:
    """``M`` of a Z: the turnover of one means of payment."""

    TAG: ClassVar = "M"
    t: Count = 0
    nm: Words | None = None
    smi: Kopecks | None = None
    smo: Kopecks | None = None
    smim: Kopecks | None = None
    """What rounding took away of what was received."""
    smip: Kopecks | None = None
    """What rounding added to it."""
    smom: Kopecks | None = None
    smop: Kopecks | None = None


@dataclass(frozen=True, kw_only=True)
class IO:
    """Money put into the drawer and taken out of it."""

    TAG: ClassVar = "IO"
    t: Count = 0
    nm: Words | None = None
    smi: Kopecks | None = None
    smo: Kopecks | None = None


@dataclass(frozen=True, kw_only=True)
class NC:
    """How many sales and returns."""

    TAG: ClassVar = "NC"
    ni: Count = 0
    no: Count = 0


@dataclass(frozen=True, kw_only=True)
class OP:
    """Transfers of money: how many, and their sum; no register here makes them."""

    TAG: ClassVar = "OP"
    qp: Count | None = None
    qs: Kopecks | None = None


@dataclass(frozen=True, kw_only=True)
class EPZ:
    """Cash given out to card holders: how many times, commission, sum."""

    TAG: ClassVar = "EPZ"
    epc: Count | None = None
    epcs: Kopecks | None = None
    epsm: Kopecks | None = None


@dataclass(frozen=True, kw_only=True)
class Z:
    """A Z-report; ``no`` counts those of the register without a gap."""

    TAG: ClassVar = "Z"
    no: Count
    taxes: tuple[TXS, ...] = ()
    payments: tuple[ZM, ...] = ()
    cash: tuple[IO, ...] = ()
    counts: NC | None = None
    transfers: OP | None = None
    withdrawals: EPZ | None = None
