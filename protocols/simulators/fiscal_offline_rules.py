"""The rules of offline sessions (docs/reference/tax-service.md#offline-sessions)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from protocols.fiscal.kinds import SESSION_ENDS, Kind
from protocols.fiscal.offline import control_number, fiscal_number, hryvnias

LONGEST_SESSION_MIN = 36 * 60
LONGEST_MONTH_MIN = 168 * 60
"""Minutes offline, in one session and in a calendar month."""

UNSETTLED = SESSION_ENDS | {Kind.OPEN, Kind.CLOSE}
"""Documents that do not count for the duration of a session (docs/reference/tax-service.md#offline-limits)."""


class Claim(msgspec.Struct, frozen=True, gc=False):
    """The facts of a document that the rules check, from XML or from JSON of the training service.

    ``kind`` is a `Kind`, or another word for a document that moves money. ``issued`` is Kyiv time.
    """

    kind: str
    local: int
    issued: datetime
    desk: str
    """The register's number within its outlet."""
    testing: bool = False
    reverses: str = ""
    """Of a reversal: the fiscal number of the reversed document."""
    revokes: bool = False
    """Of a session's opening: whether the last online document is revoked."""
    offline: bool = False
    number: str = ""
    """The fiscal number that the register assigned offline."""
    hash: str = ""
    """Of the previous document of the session."""
    total: int | None = None
    """Kopecks, `None` without a total (docs/reference/tax-service.md#offline-numbers)."""


@dataclass
class OfflineTime:
    """How long a register was offline, by its documents (docs/reference/tax-service.md#offline-limits)."""

    since: datetime | None = None
    last_settlement: datetime | None = None
    last: datetime | None = None
    months: dict[str, float] = field(default_factory=dict)
    """Minutes offline by month, ``yyyymm``; a session counts in the month in which it began."""

    @property
    def minutes(self) -> float:
        """Duration of the session, to its last receipt or Z-report."""
        if self.since is None or self.last_settlement is None:
            return 0.0
        return max((self.last_settlement - self.since).total_seconds() / 60, 0.0)

    def month_minutes(self) -> float:
        """Minutes offline in the session's month, including the session."""
        month = f"{self.since:%Y%m}" if self.since is not None else ""
        return self.months.get(month, 0.0) + self.minutes

    @property
    def too_long(self) -> bool:
        """Whether the session or the month is longer than allowed."""
        return self.minutes > LONGEST_SESSION_MIN or self.month_minutes() > LONGEST_MONTH_MIN

    def note(self, kind: str, issued: datetime) -> None:
        """Count a document of the session."""
        self.last = issued
        if kind == Kind.OFFLINE_BEGIN:
            self.since, self.last_settlement = issued, None
        elif kind not in UNSETTLED:
            self.last_settlement = issued

    def end(self) -> None:
        """End the session; it counts for its month."""
        if self.since is not None:
            month = f"{self.since:%Y%m}"
            self.months[month] = self.months.get(month, 0.0) + self.minutes
        self.since = self.last_settlement = self.last = None


@dataclass
class OfflineRecord(OfflineTime):
    """The state of a register's offline sessions."""

    id: str = ""
    """The granted session; empty before the first opening of a shift."""
    seed: str = ""
    """Its secret."""
    ordinal: int = 0
    """Documents of that session at the server."""
    hash: str = ""
    """Of its last document; empty after its opening document."""

    @property
    def under_way(self) -> bool:
        """Whether the session is open at the server."""
        return self.ordinal > 0

    def faults(self, claim: Claim, register: str) -> Iterator[str]:
        """What is wrong with a claim as the next document of the session."""
        if not self.id:
            yield "Офлайн сесію не надано"
            return
        if (claim.kind == Kind.OFFLINE_BEGIN) != (self.ordinal == 0):
            yield "Офлайн сесія починається документом про її початок, і лише нею"
            return
        if claim.hash != self.hash:
            yield "Геш попереднього документа не збігається"
        if claim.number != self._number(claim, register):
            yield "Невірний фіскальний номер офлайн документа"
        if self.last is not None and claim.issued < self.last:
            yield "Дата і час документа менші, ніж у попереднього"

    def _number(self, claim: Claim, register: str) -> str:
        amount = "" if claim.total is None else hryvnias(claim.total)
        control = control_number(
            self.seed,
            f"{claim.issued:%d%m%Y}",
            f"{claim.issued:%H%M%S}",
            *(claim.local, register, claim.desk, amount, claim.hash),
        )
        return fiscal_number(self.id, self.ordinal + 1, control)

    def take(self, claim: Claim, hash: str) -> None:
        """Add a registered document with its own ``hash``."""
        self.ordinal += 1
        self.hash = "" if claim.kind == Kind.OFFLINE_BEGIN else hash
        self.note(claim.kind, claim.issued)

    def grant(self, id: str) -> None:
        """Grant the session ``id``; the previous one is closed."""
        self.end()
        self.id, self.seed, self.ordinal, self.hash = id, seed_of(id), 0, ""


def seed_of(session: str) -> str:
    """The seed of a session: a restarted server has to find the same one."""
    return str(zlib.crc32(session.encode()) * 100_003 + 1)
