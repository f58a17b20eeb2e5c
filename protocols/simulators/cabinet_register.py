"""A register at the simulated cabinet's server: its documents, and the sums of its shift.

Its state and its next document follow the rules of `cabinet_rules`. This module adds what documents say to them, and
what has to add up (docs/reference/tax-cabinet.md#checks).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from protocols.fiscal.cabinet.documents import RQ, C, decode, mac_of
from protocols.fiscal.cabinet.documents import Kind as Type
from protocols.fiscal.cabinet.documents_checks import ShiftSums, receipt_faults
from protocols.fiscal.cabinet.documents_rows import CashIn, CashOut, M
from protocols.fiscal.cabinet.documents_service import SERVICE, USUAL_SIZE, size_asked
from protocols.fiscal.cabinet.documents_z import Z
from protocols.fiscal.cabinet.messages import CheckType, Status
from protocols.fiscal.kinds import Kind
from protocols.simulators.cabinet_rules import (
    NUMBERS,
    PING,
    CabinetStanding,
    Claim,
    Outcome,
    Refusal,
    Signer,
    Stored,
)
from protocols.simulators.fiscal_register import Registration

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


class CabinetRecord(CabinetStanding):
    """The state of a register, with the sums of its shift."""

    def __init__(self, registration: Registration) -> None:
        super().__init__(registration)
        self.sums = ShiftSums()

    def judge_head(self, document: RQ) -> Refusal | None:
        """Why a document with these data of the register is refused."""
        dat, registration = document.dat, self.registration
        if dat.tn.rpartition(" ")[2] not in (registration.tin, registration.ipn):
            return Refusal(Status.ERROR_XML, f"TN {dat.tn} is not the payer's number")
        # Programs are known that always send 0.
        if dat.zn not in ("0", str(registration.local)):
            return Refusal(Status.ERROR_XML, f"ZN {dat.zn}, {registration.local} is expected")
        return None

    def content_faults(self, document: RQ) -> Iterator[str]:
        """What does not add up in ``document``."""
        content = document.dat.content
        faults = self.sums.faults(content) if isinstance(content, Z) else receipt_faults(document.dat)
        return map(str, faults)

    def take_document(self, document: RQ, content: bytes, signer: Signer, now: datetime) -> Outcome:
        """Change the state by an accepted document.

        :param content: its bytes. :param now: the server's Kyiv time.
        """
        inside = document.dat.content
        outcome = self.take(claim_of(document, content), content, signer, now)
        if outcome.cancelled is not None:
            self._count(outcome.cancelled, -1)
        if isinstance(inside, Z):
            self.sums = ShiftSums()
        else:
            self.sums.add(inside)
        return outcome

    def delete(self) -> Stored:
        """Delete the last document; its sums too."""
        deleted = super().delete()
        self._count(deleted, -1)
        return deleted

    def _count(self, stored: Stored, sign: int) -> None:
        inside = decode(stored.content).dat.content
        if isinstance(inside, C):
            self.sums.add(inside, sign)
