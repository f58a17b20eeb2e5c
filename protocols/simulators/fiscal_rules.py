"""The state of a register at the tax service, and its next document (docs/reference/tax-service.md#error-codes).

The simulated server with signed XML and the training service with JSON both use these rules; the caller of
`Standing.judge` adds its own check of sums. The order of the checks: block, time, local number, register within its
outlet, shift, Z, test or fiscal, sums, reversal, offline rules. It is that of the known emulator; the real one is not
published.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Self

import msgspec

from protocols.fiscal.error_codes import Code
from protocols.fiscal.kinds import SESSION_ENDS, Kind
from protocols.simulators.fiscal_offline_rules import UNSETTLED, Claim, OfflineRecord

TOLERANCE_S = 1800.0
"""Seconds by which a document's time may differ from the server's; the real figure is not published."""


@dataclass(frozen=True)
class Refusal:
    """Why a document is refused."""

    code: Code
    text: str

    def packed(self) -> Refusal:
        """The refusal of a package with the document: only a wrong number keeps its code."""
        keeps = self.code is Code.CHECK_LOCAL_NUMBER_INVALID
        return self if keeps else Refusal(Code.PACKAGE_VALIDATION_ERROR, self.text)


@dataclass(frozen=True)
class Terms:
    """The tax service's settings of a register; the session number ``n`` has the id ``sessions`` + 00n."""

    register: str
    """Its fiscal number."""
    desk: str
    """Its number within the outlet."""
    sessions: str
    offline_allowed: bool = True


@dataclass(frozen=True)
class OpenShift:
    """The open shift; all its documents are test documents, or none."""

    testing: bool
    opened_by: str = ""
    has_z: bool = False


class Last(msgspec.Struct, frozen=True, gc=False):
    """A registered document that a later one may name."""

    local: int
    kind: str
    number: str

    @property
    def settles(self) -> bool:
        """Whether it moves money, so it can be reversed or revoked."""
        return self.kind not in UNSETTLED and self.kind != Kind.Z


def nothing() -> Iterable[str]:
    """No further check of a document."""
    return ()


class Standing:
    """The state of one register.

    :param first_session: the number of its first offline session.
    """

    def __init__(self, terms: Terms, first_session: int = 1) -> None:
        self.terms = terms
        self.next_local = 1
        self.shift: OpenShift | None = None
        self.last: Last | None = None
        self.last_online: Last | None = None
        """The last online document; `None` once it cannot be revoked."""
        self.revoking_skips = False
        """Whether an opening document that revokes another one has the next number instead of that document's."""
        self.offline = OfflineRecord()
        self.next_session = first_session
        self.blocked_until: datetime | None = None

    def trial(self) -> Self:
        """A copy on which a package is tried."""
        tried = copy.copy(self)
        tried.offline = copy.deepcopy(self.offline)
        return tried

    def blocked(self, now: datetime) -> bool:
        """Whether the server accepts nothing from it."""
        return self.blocked_until is not None and now < self.blocked_until

    def judge_block(self, now: datetime) -> Refusal | None:
        """Why no document is accepted; `None` without a block."""
        if not self.blocked(now):
            return None
        return Refusal(
            Code.DOCUMENT_VALIDATION_ERROR,
            f"ПРРО {self.terms.register} заблоковано: перевищено тривалість роботи офлайн (36/168 годин)",
        )

    def judge(
        self,
        claim: Claim,
        now: datetime,
        tolerance: float,
        in_package: bool = False,
        sums: Callable[[], Iterable[str]] = nothing,
    ) -> Refusal | None:
        """Why a document is refused as the next one; `None` when it is accepted.

        :param now: the server's Kyiv time. :param tolerance: seconds by which the document's may differ; in a package
            it may be any time earlier. :param sums: returns what is wrong with the document's sums.
        """
        if self.blocked_until is not None and (refusal := self.judge_block(now)) is not None:
            return refusal
        early = (claim.issued - now).total_seconds()
        if early > tolerance or (not in_package and -early > tolerance):
            return Refusal(
                Code.DOCUMENT_VALIDATION_ERROR,
                f"Дата і час документа {claim.issued:%d.%m.%Y %H:%M:%S} не відповідають часу сервера",
            )
        due, last = self.next_local, self.last_online
        if claim.revokes and not self.revoking_skips and last is not None and last.settles:
            due = last.local
        if claim.local != due:
            return Refusal(
                Code.CHECK_LOCAL_NUMBER_INVALID,
                f"Некоректний локальний номер документа {claim.local} для ПРРО з фіскальним номером "
                f"{self.terms.register}. Номер документа повинен дорівнювати {due}",
            )
        if claim.desk != self.terms.desk:
            return Refusal(Code.DOCUMENT_VALIDATION_ERROR, "Локальний номер ПРРО не відповідає реєстрації")
        refusal = self._judge_shift(claim.kind)
        if refusal is not None:
            return refusal
        wrong = self._wrong(claim, in_package, sums)
        return Refusal(Code.DOCUMENT_VALIDATION_ERROR, wrong) if wrong else None

    def _judge_shift(self, kind: str) -> Refusal | None:
        shift = self.shift
        if kind in SESSION_ENDS:
            return None
        if kind == Kind.OPEN:
            if shift is None:
                return None
            opener = f": {shift.opened_by}" if shift.opened_by else ""
            return Refusal(Code.SHIFT_ALREADY_OPENED, f"Зміну відкрито{opener}")
        if shift is None:
            return Refusal(Code.SHIFT_NOT_OPENED, "Зміну для ПРРО наразі не відкрито")
        if kind == Kind.CLOSE:
            if shift.has_z:
                return None
            return Refusal(Code.LAST_DOCUMENT_MUST_BE_Z_REP, "Останній документ перед закриттям - Z-звіт")
        if shift.has_z:
            return Refusal(Code.Z_REP_ALREADY_REGISTERED, "Z-звіт для поточної зміни вже зареєстровано")
        return None

    def _wrong(self, claim: Claim, in_package: bool, sums: Callable[[], Iterable[str]]) -> str:
        """The first thing that is wrong with a document; empty when nothing is."""
        shift, kind = self.shift, claim.kind
        if shift is not None and claim.testing != shift.testing and kind != Kind.OPEN and kind not in SESSION_ENDS:
            return "Зміна містить або лише тестові, або лише фіскальні документи"
        for fault in sums():
            return fault
        if kind == Kind.STORNO:
            last = self.last
            if last is None or last.number != claim.reverses or not last.settles or last.kind == Kind.STORNO:
                return "Сторнувати можна лише останній документ"
        if in_package:
            return self._wrong_in_package(claim)
        if claim.offline:
            return "Документ сформовано в режимі офлайн"
        if kind in SESSION_ENDS:
            return "Офлайн сесія починається і завершується документами, сформованими в режимі офлайн"
        return "Офлайн сесію не завершено" if self.offline.under_way else ""

    def _wrong_in_package(self, claim: Claim) -> str:
        if not claim.offline:
            return "Документ сформовано в режимі онлайн"
        if claim.kind == Kind.OFFLINE_BEGIN and not self.terms.offline_allowed:
            return "Робота в режимі офлайн не дозволена"
        last = self.last_online
        if claim.kind == Kind.OFFLINE_BEGIN and claim.revokes and (last is None or not last.settles):
            return f"Останній документ типу {last.kind if last is not None else '-'} не може бути відкликаний"
        return next(self.offline.faults(claim, self.terms.register), "")

    def take(self, claim: Claim, number: str, hash: str, now: datetime, opened_by: str = "") -> None:
        """Change the state by a document, registered as ``number``.

        :param hash: of the sent bytes of an offline document. :param opened_by: the operator who opened the shift.
        """
        kind, last = claim.kind, Last(claim.local, claim.kind, number)
        if kind == Kind.OPEN:
            self.shift = OpenShift(claim.testing, opened_by)
            if not self.offline.id and self.terms.offline_allowed:
                self.grant()
        elif kind == Kind.Z and self.shift is not None:
            self.shift = replace(self.shift, has_z=True)
        elif kind == Kind.CLOSE:
            self.shift = None
        if claim.offline:
            self.last_online = None
            self.offline.take(claim, hash)
            if kind == Kind.OFFLINE_END:
                if self.offline.too_long:
                    self.block(now)
                self.grant()
        else:
            self.last_online = last
        self.next_local, self.last = claim.local + 1, last

    def grant(self) -> None:
        """Grant the next offline session."""
        self.offline.grant(f"{self.terms.sessions}{self.next_session:03d}")
        self.next_session += 1

    def block(self, now: datetime) -> None:
        """Accept nothing until the next month."""
        first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        self.blocked_until = (first + timedelta(days=32)).replace(day=1)
