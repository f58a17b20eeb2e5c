"""Where a register stands with the tax service, and what is taken of it next (fiscal-server 6, 7, 8, 16).

Both far ends ask here: the simulated server, whose documents are signed XML, and that of the training registers,
whose papers are JSON. What only one of them can check it tells by itself, and `Standing.judge` asks after it in its
place. The order of the checks: block, time, local number, register within its outlet, shift, Z, test or fiscal, the
document's own sums, storno, offline rules. The real order is not published; this is the one of the emulator that is
known.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
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
    """Why a document is not taken."""

    code: Code
    text: str

    def packed(self) -> Refusal:
        """The refusal of the whole package in which the document came: only a wrong number keeps its own code."""
        keeps = self.code is Code.CHECK_LOCAL_NUMBER_INVALID
        return self if keeps else Refusal(Code.PACKAGE_VALIDATION_ERROR, self.text)


@dataclass(frozen=True)
class Terms:
    """What the tax service goes by with a register; the session number ``n`` has the id ``sessions`` + 00n."""

    register: str
    """Its fiscal number."""
    desk: str
    """Its number within the outlet."""
    sessions: str
    offline_allowed: bool = True


@dataclass(frozen=True)
class OpenShift:
    """The shift that is open; one holds either test documents or fiscal ones."""

    testing: bool
    opened_by: str = ""
    has_z: bool = False


class Last(msgspec.Struct, frozen=True, gc=False):
    """A document that was registered, as a later one may name it."""

    local: int
    kind: str
    number: str

    @property
    def settles(self) -> bool:
        """Whether it moves money, so that it can be taken back or revoked."""
        return self.kind not in UNSETTLED and self.kind != Kind.Z


def nothing() -> Iterable[str]:
    """What is wrong with a document of which nothing more is known."""
    return ()


class Standing:
    """Where one register stands.

    :param first_session: the number of the first offline session that it is granted.
    """

    def __init__(self, terms: Terms, first_session: int = 1) -> None:
        self.terms = terms
        self.next_local = 1
        self.shift: OpenShift | None = None
        self.last: Last | None = None
        self.last_online: Last | None = None
        """The last document that was registered online; `None` once it cannot be revoked any more."""
        self.revoking_skips = False
        """Whether a begin that revokes a document has the number after it; else it takes over that one's number."""
        self.offline = OfflineRecord()
        self.next_session = first_session
        self.blocked_until: datetime | None = None

    def trial(self) -> Self:
        """A copy on which a package can be tried without leaving a trace."""
        tried = copy.copy(self)
        tried.offline = copy.deepcopy(self.offline)
        return tried

    def blocked(self, now: datetime) -> bool:
        """Whether the server takes nothing from it."""
        return self.blocked_until is not None and now < self.blocked_until

    def judge_block(self, now: datetime) -> Refusal | None:
        """Why nothing at all is taken; `None` when something may be."""
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
        """Why a document is not taken as the next one; `None` when it is.

        :param now: the server's time in Kyiv. :param tolerance: seconds that the document's may differ; one in a
            package may be as old as it likes. :param sums: what is wrong with the document itself.
        """
        refusal = self.judge_block(now)
        if refusal is not None:
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
        wrong = next(self._wrong(claim, in_package, sums), None)
        return None if wrong is None else Refusal(Code.DOCUMENT_VALIDATION_ERROR, wrong)

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

    def _wrong(self, claim: Claim, in_package: bool, sums: Callable[[], Iterable[str]]) -> Iterator[str]:
        in_shift = self.shift is not None and claim.kind != Kind.OPEN and claim.kind not in SESSION_ENDS
        if in_shift and self.shift is not None and claim.testing != self.shift.testing:
            yield "Зміна містить або лише тестові, або лише фіскальні документи"
        yield from sums()
        if claim.kind == Kind.STORNO:
            last = self.last
            if last is None or last.number != claim.reverses or not last.settles or last.kind == Kind.STORNO:
                yield "Сторнувати можна лише останній документ"
        if in_package:
            if not claim.offline:
                yield "Документ сформовано в режимі онлайн"
            if claim.kind == Kind.OFFLINE_BEGIN:
                yield from self._begin_wrong(claim)
            yield from self.offline.faults(claim, self.terms.register)
        elif claim.offline:
            yield "Документ сформовано в режимі офлайн"
        elif claim.kind in SESSION_ENDS:
            yield "Офлайн сесія починається і завершується документами, сформованими в режимі офлайн"
        elif self.offline.under_way:
            yield "Офлайн сесію не завершено"

    def _begin_wrong(self, claim: Claim) -> Iterator[str]:
        if not self.terms.offline_allowed:
            yield "Робота в режимі офлайн не дозволена"
        last = self.last_online
        if claim.revokes and (last is None or not last.settles):
            yield f"Останній документ типу {last.kind if last is not None else '-'} не може бути відкликаний"

    def take(self, claim: Claim, number: str, hash: str, now: datetime, opened_by: str = "") -> None:
        """Go on with a document, registered as ``number``.

        :param hash: of the document as it was sent, when it was made offline. :param opened_by: of the opening of
            a shift: who did it, in words.
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
        """Take nothing more until the next month begins."""
        first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        self.blocked_until = (first + timedelta(days=32)).replace(day=1)
