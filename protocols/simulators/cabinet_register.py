"""A register at the simulated cabinet's server: what its documents say to the rules."""

from __future__ import annotations

from protocols.fiscal.cabinet.documents import RQ, C, mac_of
from protocols.fiscal.cabinet.documents import Kind as Type
from protocols.fiscal.cabinet.documents_rows import CashIn, CashOut, M
from protocols.fiscal.cabinet.documents_service import SERVICE, USUAL_SIZE, size_asked
from protocols.fiscal.cabinet.documents_z import Z
from protocols.fiscal.cabinet.messages import CheckType
from protocols.fiscal.kinds import Kind
from protocols.simulators.cabinet_rules import NUMBERS, PING, Claim

_KINDS = {
    Type.SALE: Kind.SALE,
    Type.RETURN: Kind.RETURN,
    Type.CASH: Kind.CASH_IN,
    Type.TRANSFER: Kind.TRANSFER,
    Type.CURRENCY: Kind.CURRENCY,
    Type.CURRENCY_SUMMARY: Kind.CURRENCY,
    Type.TRANSFER_PAYOUT: Kind.WITHDRAWAL,
    Type.WITHDRAWAL: Kind.WITHDRAWAL,
    Type.PAWNSHOP: Kind.PAWNSHOP,
    Type.DUTY_FREE_SALE: Kind.SALE,
    Type.DUTY_FREE_RETURN: Kind.RETURN,
    Type.OPEN: Kind.OPEN,
    Type.OFFLINE: Kind.OFFLINE_BEGIN,
    Type.ONLINE: Kind.OFFLINE_END,
    Type.PING: PING,
    Type.NUMBERS: NUMBERS,
}

OTHER = "document"
"""A receipt without a kind of its own."""


def kind_of(content: C | Z) -> str:
    """The kind of a document, as in rules and ledgers."""
    if isinstance(content, Z):
        return Kind.Z
    if content.t == Type.CASH and any(isinstance(row, CashOut) for row in content.rows):
        return Kind.CASH_OUT
    return _KINDS.get(Type(content.t), OTHER) if content.t in list(Type) else OTHER


def check_type_of(content: C | Z) -> CheckType:
    """The type with which a document is sent."""
    if isinstance(content, Z):
        return CheckType.ZREPORT
    return CheckType.SERVICECHK if content.t in SERVICE or content.t == Type.CASH else CheckType.CHK


def claim_of(document: RQ, content: bytes) -> Claim:
    """The facts of ``document``, whose bytes are ``content``."""
    inside, mac = document.dat.content, document.mac
    asked = size_asked(inside) if isinstance(inside, C) else None
    return Claim(
        kind=kind_of(inside),
        local=document.dat.di,
        issued=document.dat.ts,
        hash=mac_of(content),
        previous=mac.text.strip() if mac is not None else "",
        id=(mac.id or "") if mac is not None else "",
        amount=_amount(inside),
        z=inside.no if isinstance(inside, Z) else 0,
        size=USUAL_SIZE if asked is None else asked,
    )


def _amount(content: C | Z) -> int:
    """The sum of a receipt in kopecks, after rounding."""
    if isinstance(content, Z):
        return 0
    end = content.end
    if end is not None and end.vd:
        return 0
    moved = [row.sm for row in content.rows if isinstance(row, (CashIn, CashOut))]
    paid = [row.sm - (row.rm or 0) for row in content.rows if isinstance(row, M)]
    if moved or paid:
        return sum(moved or paid)
    return (end.sm or 0) if end is not None else 0
