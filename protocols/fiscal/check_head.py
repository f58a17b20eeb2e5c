"""The head of every document of class CHECK (docs/reference/tax-service.md#element-order)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from protocols.fiscal.simple_types import (
    Count,
    Date,
    Flag,
    Ipn,
    Number,
    Text,
    Text64,
    Text128,
    Text256,
    Time,
    Tin,
    Version,
)


class DocType(IntEnum):
    """``DOCTYPE``: the type of a document."""

    SALE = 0
    """Goods and services: a sale, a return, money into and out of the drawer, a reversal."""
    TRANSFER = 1
    CURRENCY = 2
    WITHDRAWAL = 3
    """Cash paid out from a card."""
    PAWNSHOP = 4
    OPEN_SHIFT = 100
    CLOSE_SHIFT = 101
    OFFLINE_BEGIN = 102
    OFFLINE_END = 103


class DocSubType(IntEnum):
    """``DOCSUBTYPE``: the operation of a document of goods and services, or of currency."""

    SALE = 0
    RETURN = 1
    CASH_IN = 2
    """Money into the drawer, or an advance."""
    REINFORCEMENT = 3
    CASH_OUT = 4
    """Money out of the drawer, or its collection."""
    STORNO = 5


@dataclass(frozen=True, kw_only=True)
class CheckHead:
    """``CHECKHEAD``: issuer, time and numbers of a document."""

    doctype: Count
    docsubtype: Count | None = None
    uid: Text
    """A GUID of the document, in capitals."""
    tin: Tin
    ipn: Ipn | None = None
    """Present when the payer pays VAT."""
    orgnm: Text256
    pointnm: Text256
    pointaddr: Text256 | None = None
    orderdate: Date
    ordertime: Time
    ordernum: Number
    """The local number of the document."""
    cashdesknum: Number
    """The register's number within its outlet."""
    cashregisternum: Number
    """The register's fiscal number."""
    orderretcashregnum: Number | None = None
    """Of a return: the register that issued the receipt, if it is another one."""
    orderretdate: Date | None = None
    orderretnum: Text128 | None = None
    """Of a return: the fiscal number of the receipt."""
    orderstornum: Text128 | None = None
    """Of a reversal: the fiscal number of the reversed document."""
    opertypenm: Text128 | None = None
    vehiclern: Text64 | None = None
    revokelastonlinedoc: Flag | None = None
    """Of an offline session's opening: whether the last online document is revoked."""
    cashier: Text128 | None = None
    logourl: Text256 | None = None
    comment: Text | None = None
    ver: Version = 1
    ordertaxnum: Text128 | None = None
    """The fiscal number; set by the register only offline."""
    offline: Flag | None = None
    prevdochash: Text64 | None = None
    """SHA-256 of the previous document, see `protocols.fiscal.offline`."""
    revoked: Flag | None = None
    storned: Flag | None = None
    testing: Flag | None = None
