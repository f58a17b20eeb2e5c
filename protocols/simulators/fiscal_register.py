"""One register at the simulated fiscal server: its owner, its operators and its documents.

Its state and its next document follow the rules of `fiscal_rules`. This module adds what only the server checks: the
right of the key, the payer, the sections of the XML, the sums of receipts and Z-reports.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Self

from protocols.fiscal.check_xml import Check
from protocols.fiscal.document_kinds import content_faults, kind_of
from protocols.fiscal.document_xml import Document
from protocols.fiscal.error_codes import Code
from protocols.fiscal.kinds import SETTLEMENTS, Kind
from protocols.fiscal.offline import document_hash
from protocols.fiscal.zrep_xml import ZRep
from protocols.simulators.fiscal_archive import ArchivedDocument
from protocols.simulators.fiscal_arithmetic import receipt_faults
from protocols.simulators.fiscal_offline_rules import Claim
from protocols.simulators.fiscal_rules import Refusal, Standing, Terms
from protocols.simulators.fiscal_totals import ShiftSums


@dataclass(frozen=True)
class Operator:
    """A key that may sign for a register; ``key`` is its identifier, empty where nothing is signed."""

    key: str
    name: str = ""
    chief: bool = False


@dataclass(frozen=True)
class Registration:
    """The registration of a register; without ``operators`` every key may use it."""

    number: int
    local: int = 1
    tin: str = "34554363"
    ipn: str = ""
    org_name: str = "Тестовий платник"
    point_name: str = "Тестова торгова точка"
    address: str = "Україна, м. Київ"
    name: str = "Каса 1"
    offline_allowed: bool = True
    closed: bool = False
    operators: tuple[Operator, ...] = ()

    def operator(self, key: str) -> Operator | None:
        """The operator with ``key``; `None` without a right to the register."""
        if not self.operators:
            return Operator(key, chief=True)
        return next((operator for operator in self.operators if operator.key == key), None)


@dataclass(frozen=True)
class Stored:
    """A registered document."""

    number: str
    local: int
    kind: Kind
    document: Document
    sent: bytes
    content: bytes
    shift: int
    revoked: bool = False
    storned: bool = False


@dataclass
class ShiftRecord:
    """One shift; times are Kyiv time."""

    id: int
    open_number: str
    opened: datetime
    open_key: str
    open_name: str
    testing: bool
    first_local: int
    sums: ShiftSums = field(default_factory=ShiftSums)
    z_number: str = ""
    close_number: str = ""
    closed: datetime | None = None
    close_key: str = ""
    close_name: str = ""


class RegisterRecord(Standing):
    """The state of a register, with its shifts and documents."""

    def __init__(self, registration: Registration) -> None:
        super().__init__(_terms(registration))
        self._registration = registration
        self.open_shift: ShiftRecord | None = None
        self.shifts: list[ShiftRecord] = []
        self.documents: MutableMapping[int, Stored] = {}
        """By local number."""
        self.revoked: tuple[Stored, ...] = ()
        """Revoked documents, oldest first; another document may have the local number now."""
        self.device = ""

    @property
    def registration(self) -> Registration:
        """Its registration."""
        return self._registration

    @registration.setter
    def registration(self, changed: Registration) -> None:
        self._registration, self.terms = changed, _terms(changed)

    def trial(self) -> Self:
        """A copy on which a package is tried."""
        tried = super().trial()
        tried.open_shift = deepcopy(self.open_shift)
        tried.shifts = list(self.shifts)
        tried.documents = ChainMap({}, self.documents)
        return tried

    def judge_document(
        self, document: Document, key: str, now: datetime, tolerance: float, in_package: bool = False
    ) -> Refusal | None:
        """Why ``document`` is refused as the next one; `None` when it is accepted.

        :param now: the server's Kyiv time. :param tolerance: seconds by which an online document's may differ.
        """
        refusal = self.judge_sender(document.head.tin, key, now)
        if refusal is not None:
            return refusal
        wrong = next(content_faults(document), None)
        if wrong is not None:
            return Refusal(Code.DOCUMENT_VALIDATION_ERROR, f"Помилки валідації XML: {wrong}")
        return self.judge(claim_of(document), now, tolerance, in_package, lambda: self._sums_wrong(document))

    def judge_sender(self, tin: str, key: str, now: datetime) -> Refusal | None:
        """Why no document with this ``key`` and payer ``tin`` is accepted; `None` when one may be."""
        if self.registration.operator(key) is None:
            return Refusal(
                Code.OPERATOR_ACCESS_TO_TRANSACTIONS_REGISTRAR_NOT_GRANTED,
                f"Ключ {key} не має доступу до ПРРО {self.registration.number}",
            )
        refusal = self.judge_block(now)
        if refusal is None and tin != self.registration.tin:
            return Refusal(Code.INVALID_TIN, "Код платника не дорівнює коду господарської одиниці")
        return refusal

    def _sums_wrong(self, document: Document) -> Iterator[str]:
        if isinstance(document, ZRep):
            if self.open_shift is not None:
                for fault in self.open_shift.sums.faults(document):
                    yield f"Z-звіт: {fault}"
        else:
            yield from receipt_faults(document)

    def take_document(
        self, document: Document, registered: ArchivedDocument, now: datetime, key: str, name: str
    ) -> None:
        """Change the state by ``document``, which was registered."""
        claim, kind, shift, number = claim_of(document), kind_of(document), self.open_shift, registered.number
        assert kind is not None
        if kind is Kind.OPEN:
            self.open_shift = shift = ShiftRecord(
                *(self.registration.number % 10_000 * 10_000 + len(self.shifts) + 1, number, now, key, name),
                testing=claim.testing,
                first_local=claim.local,
            )
            self.shifts.append(shift)
        self._count(document, kind, shift, number)
        self.documents[claim.local] = Stored(
            *(number, claim.local, kind, document, registered.sent, registered.content),
            shift=shift.id if shift is not None else 0,
        )
        if kind is Kind.CLOSE and shift is not None:
            shift.close_number, shift.closed, shift.close_key, shift.close_name = number, now, key, name
            self.open_shift = None
        hash = document_hash(registered.sent) if claim.offline else ""
        self.take(claim, number, hash, now, f"{name}, ключ {key}")

    def _count(self, document: Document, kind: Kind, shift: ShiftRecord | None, number: str) -> None:
        """Change the shift's sums and earlier documents by the document."""
        if _revokes(document):
            self._revoke()
        if shift is None:
            return
        if kind is Kind.Z:
            shift.z_number = number
        elif kind is Kind.STORNO and self.last is not None:
            back = self.documents[self.last.local]
            self.documents[self.last.local] = replace(back, storned=True)
            if isinstance(back.document, Check):
                shift.sums.add(back.document, -1)
        elif kind in SETTLEMENTS and isinstance(document, Check):
            shift.sums.add(document)

    def _revoke(self) -> None:
        if self.last_online is None:
            return
        revoked = replace(self.documents[self.last_online.local], revoked=True)
        self.documents[revoked.local] = revoked
        self.revoked += (revoked,)
        if self.open_shift is not None and isinstance(revoked.document, Check) and not revoked.storned:
            self.open_shift.sums.add(revoked.document, -1)


def claim_of(document: Document) -> Claim:
    """The facts of ``document`` that the rules check."""
    head, kind, total = document.head, kind_of(document), None
    reverses: str | None = None
    if isinstance(document, Check):
        total = document.checktotal.sum if document.checktotal is not None else None
        reverses = document.checkhead.orderstornum
    return Claim(
        kind=kind.value if kind is not None else "",
        local=head.ordernum,
        issued=datetime.combine(head.orderdate, head.ordertime),
        desk=str(head.cashdesknum),
        testing=bool(head.testing),
        reverses=reverses or "",
        revokes=_revokes(document),
        offline=bool(head.offline),
        number=head.ordertaxnum or "",
        hash=head.prevdochash or "",
        total=total,
    )


def _revokes(document: Document) -> bool:
    """Whether ``document`` revokes the last online document."""
    return isinstance(document, Check) and bool(document.checkhead.revokelastonlinedoc)


def _terms(registration: Registration) -> Terms:
    number = registration.number
    prefix = f"{number % 1_000_000:d}"
    return Terms(str(number), str(registration.local), prefix, registration.offline_allowed)
