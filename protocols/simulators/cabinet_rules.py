"""The state of a register at the cabinet's server, and its next document (docs/reference/tax-cabinet.md#offline).

The order of the checks: block, online or offline, shift, signer, hash, local number, number of the Z-report, time,
content. Neither this order nor the following is published:

- A register without documents expects the local number 1, or 0 for an opening.
- Requests for numbers are accepted with any local number, within an offline session too.
- A session that takes too long is accepted to its end; the block begins with its closing document.
- An online copy is replaced by the first receipt of a session only, and a receipt that was made online only.
- A deletion needs a sale that was made online, is the last document and was registered after the last deletion.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from protocols.fiscal.cabinet.messages import Status
from protocols.fiscal.kinds import SESSION_ENDS, Kind
from protocols.simulators.fiscal_offline_rules import OfflineTime
from protocols.simulators.fiscal_register import Registration
from protocols.simulators.fiscal_rules import TOLERANCE_S, nothing

NUMBERS, PING = "numbers", "ping"
"""Kinds of documents besides `Kind`: a request for numbers to use offline, a test of the link."""

RESERVED = 150
"""Numbers given to a request that does not say how many."""

MOST_RESERVED = 2_000
"""Numbers that a register may hold at once."""

ALREADY_OPEN = "shift is already open"
ELSEWHERE = "this key opens a shift on another device fn"
ONE_SIGNER = "there can be only one signatory within a shift, shift closing can be a senior"
NO_ID_IN_MAC = "not ID in MAC"
ID_ONLINE = "offline id in online mode"
"""Texts of the real server."""


@dataclass(frozen=True)
class Refusal:
    """Why a document is refused."""

    status: Status
    text: str


class Claim(msgspec.Struct, frozen=True, gc=False):
    """The facts of a document that the rules check.

    ``issued`` is Kyiv time, ``amount`` kopecks. ``id`` is the reserved number of a document that was made offline,
    ``previous`` the hash of the document before it, ``hash`` its own.
    """

    kind: str
    local: int
    issued: datetime
    hash: str
    previous: str = ""
    id: str = ""
    amount: int = 0
    z: int = 0
    """Of a Z-report: its number."""
    size: int = RESERVED
    """Of a request for numbers: how many."""


@dataclass(frozen=True)
class Signer:
    """The key of a document; ``key`` is empty where nothing is signed."""

    key: str = ""
    name: str = ""


class Stored(msgspec.Struct, frozen=True, gc=False):
    """A registered document with its fiscal number."""

    claim: Claim
    number: str
    content: bytes


@dataclass(frozen=True)
class Outcome:
    """What became of an accepted document.

    :param cancelled: the online copy of the document, which it replaced.
    :param numbers: the reserved numbers that it asked for.
    """

    stored: Stored
    cancelled: Stored | None = None
    numbers: tuple[str, ...] = ()


class CabinetStanding:
    """The state of one register."""

    def __init__(self, registration: Registration) -> None:
        self.registration = registration
        self.shift: Signer | None = None
        """Who signed the opening of the open shift."""
        self.next_local = 1
        self.z = 0
        """The number of the last Z-report."""
        self.tip = ""
        """The hash that the next document must have."""
        self.last: Stored | None = None
        self.before: Stored | None = None
        """The document before the last one; `None` where the last one cannot be deleted."""
        self.last_signer = Signer()
        self.offline = OfflineTime()
        self.reserved: dict[str, None] = {}
        """Reserved numbers without a document, oldest first."""
        self.given = 0
        """Fiscal numbers that it has got, reserved ones included."""
        self.blocked_until: datetime | None = None
        self._online_copy: Stored | None = None
        """The last online document before a session that has its opening document only."""

    @property
    def online(self) -> bool:
        """Whether it is online, by its documents."""
        return self.offline.since is None

    def blocked(self, now: datetime) -> bool:
        """Whether the server accepts nothing from it."""
        return self.blocked_until is not None and now < self.blocked_until

    def block(self, now: datetime) -> None:
        """Accept nothing until the next month."""
        first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        self.blocked_until = (first + timedelta(days=32)).replace(day=1)

    def judge_block(self, now: datetime) -> Refusal | None:
        """Why no document is accepted; `None` without a block."""
        if not self.blocked(now):
            return None
        return Refusal(Status.ERROR_OFFLINE_168, "the device is blocked: more than 36 or 168 hours offline")

    def judge(
        self,
        claim: Claim,
        signer: Signer,
        now: datetime,
        elsewhere: bool = False,
        tolerance: float = TOLERANCE_S,
        content: Callable[[], Iterable[str]] = nothing,
    ) -> Refusal | None:
        """Why a document is refused as the next one; `None` when it is accepted.

        :param now: the server's Kyiv time. :param elsewhere: whether the key has an open shift on another register.
        :param tolerance: seconds by which an online document's time may differ; one that was made offline may be any
            time earlier. :param content: returns what is wrong with the document's content.
        """
        refusal = (
            self.judge_block(now)
            or self._judge_mode(claim)
            or self._judge_shift(claim, elsewhere)
            or self.judge_signer(claim.kind, signer)
            or self._judge_hash(claim)
            or self._judge_local(claim)
            or self._judge_z(claim)
            or self._judge_time(claim, now, tolerance)
        )
        if refusal is not None:
            return refusal
        wrong = Status.ERROR_XML_ZREPORT if claim.kind == Kind.Z else Status.ERROR_XML_CHK
        return next((Refusal(wrong, fault) for fault in content()), None)

    def _judge_mode(self, claim: Claim) -> Refusal | None:
        """Whether the register is online or offline, and the document's reserved number."""
        kind, begins = claim.kind, claim.kind == Kind.OFFLINE_BEGIN
        if kind in SESSION_ENDS and not claim.id:
            return Refusal(Status.ERROR_XML_CHK, NO_ID_IN_MAC)
        if begins and not self.online:
            return Refusal(Status.ERROR_TYPE, "the device is offline already")
        if not begins and claim.id and self.online:
            return Refusal(Status.ERROR_TYPE, ID_ONLINE)
        if kind in (Kind.OFFLINE_BEGIN, NUMBERS) and not self.registration.offline_allowed:
            return Refusal(Status.ERROR_TYPE, "offline mode is not allowed for the device")
        if kind == NUMBERS:
            if claim.id:
                return Refusal(Status.ERROR_TYPE, ID_ONLINE)
            wrong = not 0 < claim.size <= MOST_RESERVED
            return Refusal(Status.ERROR_XML_CHK, f"H SIZE: 1 to {MOST_RESERVED} are possible") if wrong else None
        if not claim.id and not self.online:
            return Refusal(Status.ERROR_OFFLINE_ID, "the device is offline, the document has no offline id")
        if claim.id and claim.id not in self.reserved:
            return Refusal(Status.ERROR_OFFLINE_ID, f"offline id {claim.id[:40]} is not reserved, or is used already")
        return None

    def _judge_shift(self, claim: Claim, elsewhere: bool) -> Refusal | None:
        if claim.kind in SESSION_ENDS or claim.kind == NUMBERS:
            return None
        if claim.kind != Kind.OPEN:
            if self.shift is None:
                return Refusal(Status.ERROR_NOT_OPEN_SHIFT, "the shift is not open")
            return None
        if self.shift is not None:
            return Refusal(Status.ERROR_CHECK, ALREADY_OPEN)
        return Refusal(Status.ERROR_CHECK, ELSEWHERE) if elsewhere else None

    def judge_signer(self, kind: str, signer: Signer) -> Refusal | None:
        """Why ``signer`` may not sign a document of the ``kind``."""
        operator = self.registration.operator(signer.key)
        if operator is None:
            return Refusal(Status.ERROR_NOT_REGISTERED_SIGNER, f"the signer {signer.key} is not registered")
        if self.shift is None or self.shift.key == signer.key or (kind == Kind.Z and operator.chief):
            return None
        return Refusal(Status.ERROR_CHECK, ONE_SIGNER)

    def _judge_hash(self, claim: Claim) -> Refusal | None:
        if claim.previous == self.tip:
            return None
        return Refusal(Status.ERROR_BAD_HASH_PREV, bad_hash(self.tip, claim.previous))

    def _judge_local(self, claim: Claim) -> Refusal | None:
        due = 0 if claim.kind == Kind.OPEN else self.next_local
        if claim.local == due or claim.kind == NUMBERS or self._replaces(claim):
            return None
        text = f"local number {claim.local}, {due} is expected"
        return Refusal(Status.ERROR_CHECK, text)

    def _replaces(self, claim: Claim) -> bool:
        """Whether it is the last online receipt, made again offline because its answer was lost."""
        copy = self._online_copy
        return copy is not None and (claim.kind, claim.local, claim.amount, claim.issued) == (
            *(copy.claim.kind, copy.claim.local),
            *(copy.claim.amount, copy.claim.issued),
        )

    def _judge_z(self, claim: Claim) -> Refusal | None:
        if claim.kind != Kind.Z or claim.z == self.z + 1:
            return None
        text = f"Z-report {claim.z} does not follow {self.z}"
        return Refusal(Status.ERROR_NOT_PREV_ZREPORT, text)

    def _judge_time(self, claim: Claim, now: datetime, tolerance: float) -> Refusal | None:
        early, last, at = (claim.issued - now).total_seconds(), self.offline.last, f"TS {claim.issued:%Y%m%d%H%M%S}"
        if early > tolerance or (not claim.id and -early > tolerance):
            return Refusal(Status.ERROR_XML_DATE, f"{at}, the server has {now:%Y%m%d%H%M%S}")
        if claim.id and last is not None and claim.issued < last:
            return Refusal(Status.ERROR_XML_DATE, f"{at} is before the previous document")
        return None

    def take(self, claim: Claim, content: bytes, signer: Signer, now: datetime) -> Outcome:
        """Change the state by an accepted document.

        :param now: the server's Kyiv time.
        """
        kind, numbers = claim.kind, tuple[str, ...]()
        cancelled = self._online_copy if self._replaces(claim) else None
        if claim.id:
            del self.reserved[claim.id]
        stored = Stored(claim, claim.id or self._give(), content)
        if kind == Kind.OPEN:
            self.next_local = 1
        elif kind != NUMBERS and cancelled is None:
            self.next_local += 1
        if kind == NUMBERS:
            numbers = self._reserve(claim.size)
        elif kind == Kind.OPEN:
            self.shift = signer
        elif kind == Kind.Z:
            self.shift, self.z = None, claim.z
        self._count_offline(claim, now)
        self.before, self.last, self.last_signer, self.tip = self.last, stored, signer, claim.hash
        return Outcome(stored, cancelled, numbers)

    def _count_offline(self, claim: Claim, now: datetime) -> None:
        last = self.last
        if not claim.id:
            return
        follows_online = claim.kind == Kind.OFFLINE_BEGIN and last is not None and not last.claim.id
        self._online_copy = last if follows_online else None
        self.offline.note(claim.kind, claim.issued)
        if claim.kind == Kind.OFFLINE_END:
            if self.offline.too_long:
                self.block(now)
            self.offline.end()

    def _give(self) -> str:
        """A new fiscal number; a restarted server finds the same one."""
        self.given += 1
        return short_text(f"{self.registration.number} {self.given}")

    def _reserve(self, size: int) -> tuple[str, ...]:
        """``size`` reserved numbers: those without a document are given again."""
        while len(self.reserved) < size:
            self.reserved[self._give()] = None
        return tuple(self.reserved)[:size]

    def judge_deletion(self, signer: Signer, id: str | None, now: datetime) -> Refusal | None:
        """Why the last document cannot be deleted; `None` when it is.

        :param id: its fiscal number; `None` when the request has none.
        """
        refusal = self.judge_block(now) or self.judge_signer("", signer)
        last = self.last
        if refusal is not None:
            return refusal
        if self.before is None or last is None:
            return Refusal(Status.ERROR_CHECK, "there is no document that can be deleted")
        if last.claim.kind != Kind.SALE or last.claim.id:
            return Refusal(Status.ERROR_CHECK, "only a sale that is the last online document can be deleted")
        if id is not None and id != last.number:
            return Refusal(Status.ERROR_CHECK, f"the last document is {last.number}, not {id[:40]}")
        return None

    def delete(self) -> Stored:
        """Delete the last document, which `judge_deletion` allowed; returns it."""
        deleted = self.last
        assert deleted is not None
        self.tip, self.next_local = deleted.claim.previous, deleted.claim.local
        self.last, self.before = self.before, None
        return deleted


def bad_hash(store: str, check: str) -> str:
    """The text of a refusal for the hash: the server's own and the received one."""
    return f"ERROR_BAD_HASH_PREV  store {store} chk {check}"


DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def short_text(seed: str) -> str:
    """A fiscal number as the server's: eleven letters and digits, here made from ``seed``."""
    rest, text = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:9]), ""
    while len(text) < 11:
        rest, digit = divmod(rest, len(DIGITS))
        text += DIGITS[digit]
    return text
