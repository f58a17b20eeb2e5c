"""The rules of an offline session, as the fiscal server holds a register to them (fiscal-server 7)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from protocols.fiscal.check_xml import Check
from protocols.fiscal.document_kinds import SETTLEMENTS, Kind, kind_of
from protocols.fiscal.document_xml import Document
from protocols.fiscal.offline import control_number, document_hash, fiscal_number

LONGEST_SESSION_MIN = 36 * 60
LONGEST_MONTH_MIN = 168 * 60
"""Minutes offline, in one session and in a calendar month."""


@dataclass
class OfflineRecord:
    """Where a register stands with its offline sessions."""

    id: str = ""
    """The session that is granted; empty before the first opening of a shift."""
    seed: str = ""
    """Its secret."""
    ordinal: int = 0
    """Documents of that session that the server has."""
    hash: str = ""
    """Of its last document; empty right after its begin."""
    since: datetime | None = None
    last_settlement: datetime | None = None
    last: datetime | None = None
    months: dict[str, float] = field(default_factory=dict)
    """Minutes offline by month, ``yyyymm``."""

    @property
    def under_way(self) -> bool:
        """Whether the server has the begin of the session and not its end."""
        return self.ordinal > 0

    @property
    def minutes(self) -> float:
        """How long the session has lasted: to its last receipt or Z-report."""
        if self.since is None or self.last_settlement is None:
            return 0.0
        return max((self.last_settlement - self.since).total_seconds() / 60, 0.0)

    def month_minutes(self) -> float:
        """Minutes offline in the session's month, with the session itself."""
        month = f"{self.since:%Y%m}" if self.since is not None else ""
        return self.months.get(month, 0.0) + self.minutes

    def faults(self, document: Document, register: int) -> Iterator[str]:
        """What is wrong with ``document`` as the next one of the session."""
        head, kind = document.head, kind_of(document)
        if not self.id:
            yield "Офлайн сесію не надано"
            return
        if (kind is Kind.OFFLINE_BEGIN) != (self.ordinal == 0):
            yield "Офлайн сесія починається документом про її початок, і лише нею"
            return
        if (head.prevdochash or "") != self.hash:
            yield "Геш попереднього документа не збігається"
        if head.ordertaxnum != self._number(document, register):
            yield "Невірний фіскальний номер офлайн документа"
        issued = datetime.combine(head.orderdate, head.ordertime)
        if self.last is not None and issued < self.last:
            yield "Дата і час документа менші, ніж у попереднього"

    def _number(self, document: Document, register: int) -> str:
        head = document.head
        amount = ""
        if isinstance(document, Check) and document.checktotal is not None and document.checktotal.sum is not None:
            kopecks = document.checktotal.sum
            amount = f"{'-' if kopecks < 0 else ''}{abs(kopecks) // 100}.{abs(kopecks) % 100:02d}"
        control = control_number(
            self.seed,
            f"{head.orderdate:%d%m%Y}",
            f"{head.ordertime:%H%M%S}",
            head.ordernum,
            str(register),
            str(head.cashdesknum),
            amount,
            head.prevdochash or "",
        )
        return fiscal_number(self.id, self.ordinal + 1, control)

    def take(self, document: Document, sent: bytes) -> None:
        """Go on with ``document``, which was registered."""
        kind = kind_of(document)
        issued = datetime.combine(document.head.orderdate, document.head.ordertime)
        self.ordinal += 1
        self.hash = "" if kind is Kind.OFFLINE_BEGIN else document_hash(sent)
        self.last = issued
        if kind is Kind.OFFLINE_BEGIN:
            self.since, self.last_settlement = issued, None
        elif kind in SETTLEMENTS or kind is Kind.Z:
            self.last_settlement = issued

    def grant(self, id: str) -> None:
        """Grant the session ``id``; the one before is over and counts into its month."""
        if self.since is not None:
            month = f"{self.since:%Y%m}"
            self.months[month] = self.months.get(month, 0.0) + self.minutes
        self.id, self.seed, self.ordinal, self.hash = id, seed_of(id), 0, ""
        self.since = self.last_settlement = self.last = None


def seed_of(session: str) -> str:
    """The seed that belongs to a session's id here: a server that starts anew has to find the same one."""
    return str(zlib.crc32(session.encode()) * 100_003 + 1)
