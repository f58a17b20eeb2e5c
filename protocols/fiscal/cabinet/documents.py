"""Documents of protocol B to bytes and back (docs/reference/tax-cabinet.md#documents)::

    <?xml version="1.0" encoding="windows-1251"?><RQ V="1"><DAT DI="1" FN="4000000001" TN="34554363" V="1" ZN="1">
    <C T="0">…</C><TS>20260921090000</TS></DAT><MAC>hash of the document before</MAC></RQ>

without the line breaks. `documents_rows` has the operations of a receipt, `documents_z` the totals of a Z-report,
`documents_service` the documents without goods, `documents_checks` what has to add up.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from protocols.fiscal.cabinet.documents_rows import E, Row
from protocols.fiscal.cabinet.documents_types import Count, Moment, Words, Words64
from protocols.fiscal.cabinet.documents_xml import read, tree, write
from protocols.fiscal.cabinet.documents_z import Z
from protocols.fiscal.schema import DocumentError, Fault
from protocols.fiscal.xml_tree import write as write_tree


class Kind(IntEnum):
    """What a receipt is, ``C/@T`` (docs/reference/tax-cabinet.md#kinds)."""

    SALE = 0
    RETURN = 1
    CASH = 2
    """Cash in or out."""
    MIXED = 3
    TRANSFER = 4
    CURRENCY = 5
    CURRENCY_SUMMARY = 6
    TRANSFER_PAYOUT = 7
    """In older texts cash for a card holder."""
    WITHDRAWAL = 8
    """Cash for a card holder."""
    PAWNSHOP = 9
    DUTY_FREE_SALE = 10
    DUTY_FREE_RETURN = 11
    OPEN = 108
    OFFLINE = 109
    ONLINE = 110
    PING = 111
    NUMBERS = 112
    """The request for offline numbers."""


@dataclass(frozen=True, kw_only=True)
class C:
    """A receipt or a service document: its operations, in order."""

    TAG: ClassVar = "C"
    t: Count
    rows: tuple[Row, ...] = ()

    @property
    def end(self) -> E | None:
        """The end of the receipt; a document without goods may have none."""
        return next((row for row in reversed(self.rows) if isinstance(row, E)), None)


@dataclass(frozen=True, kw_only=True)
class Dat:
    """The data of one register: a receipt or a Z-report, and its time."""

    TAG: ClassVar = "DAT"
    INSIDE: ClassVar = ("ts",)
    fn: Words64
    """The fiscal number of the register."""
    tn: Words64
    """The payer's number, bare or as ``ПН …`` or ``ІД …``."""
    zn: Words64
    """The number of the register within the outlet."""
    di: Count
    """The local number."""
    v: Words64 = "1"
    dt: Count | None = None
    """The kind of the register; 0 is the usual one."""
    content: C | Z
    ts: Moment
    """Kyiv time, without a time zone."""


@dataclass(frozen=True, kw_only=True)
class MAC:
    """The hash of the document before, in hexadecimal; ``id`` is the number of a document made offline."""

    TAG: ClassVar = "MAC"
    id: Words64 | None = None
    text: Words64 = ""


@dataclass(frozen=True, kw_only=True)
class RQ:
    """One document, as it is signed and sent."""

    TAG: ClassVar = "RQ"
    SPELLED: ClassVar = {"ndv": "NDv", "prv": "PrV"}
    v: Words64 = "1"
    ndv: Words | None = None
    """The name of the software."""
    prv: Words | None = None
    """Its version."""
    dat: Dat
    mac: MAC | None = None
    """Absent in a ping."""


def encode(document: RQ) -> bytes:
    """The bytes of ``document`` in canonical form; equal documents have equal bytes.

    :raises DocumentError: with the place, when a value cannot be written.
    """
    return write_tree(write(document))


def decode(data: bytes) -> RQ:
    """The document that ``data`` holds, in any spelling.

    :raises DocumentError: with every fault when it is not one.
    """
    root = tree(data)
    if root.name != RQ.TAG:
        raise DocumentError(Fault(root.name, f"{RQ.TAG} is expected"))
    return read(RQ, root)


def mac_of(xml: bytes) -> str:
    """What the next document says about ``xml`` in its ``MAC``: SHA-256 of the bytes as they were sent."""
    return hashlib.sha256(xml).hexdigest()
