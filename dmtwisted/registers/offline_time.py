"""How long a register may stay offline: what is left of its session and of its month.

A session under way counts from its opening document until now. The tax service's server counts it to the last receipt
or Z, which is never longer; so does the month, of sessions that have ended
(docs/reference/tax-service.md#offline-limits).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from dmtwisted.documents import law
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.totals import RegisterState
from dmtwisted.results import Text

MINUTE, HOUR = 60_000, 3_600_000
"""Milliseconds."""

LONGEST_MONTH_OFFLINE = law.OFFLINE_MONTH_H * HOUR
"""Milliseconds offline in a calendar month; beyond them the tax service blocks the register
(docs/reference/tax-service.md#offline-limits)."""

SOON_MIN = 120
"""Minutes left from which answers call for action."""


class OfflineLeft(msgspec.Struct, frozen=True):
    """Whole minutes for which a register may still make receipts offline; `ends_first` names the fewer ones."""

    session_min: int
    month_min: int
    ends_first: Literal["session", "month"]
    ends_soon: bool

    def words(self) -> Text:
        """Both times, the fewer one marked; near the end what to do."""
        uk, en = (
            left.format(
                *divmod(self.session_min, 60),
                first if self.ends_first == "session" else "",
                *divmod(self.month_min, 60),
                first if self.ends_first == "month" else "",
                act if self.ends_soon else "",
            )
            for left, first, act in (
                (
                    "{} год {} хв сесії{}, {} год {} хв місяця{}{}",
                    " (закінчиться раніше)",
                    ". УВАГА: відновіть зв’язок або зробіть Z-звіт",
                ),
                (
                    "{} h {} min of the session{}, {} h {} min of the month{}{}",
                    " (ends first)",
                    ". ATTENTION: get online or make a Z-report",
                ),
            )
        )
        return Text(uk, en)


def longest_session(settings: RegisterSettings) -> int:
    """Milliseconds offline after which only the shift may be closed."""
    return int(settings.offline_limit_h * HOUR)


def month_spent(state: RegisterState, now: int) -> int:
    """Milliseconds that a register was offline in the month of its session, or of ``now``, the session included."""
    if state.offline is None:
        return state.offline_month.before(now)
    return state.offline_month.before(state.offline.since) + max(0, now - state.offline.since)


def offline_left(settings: RegisterSettings, state: RegisterState, now: int) -> OfflineLeft | None:
    """What is left at ``now``; `None` when the register is online."""
    if state.offline is None:
        return None
    session = longest_session(settings) - max(0, now - state.offline.since)
    month = LONGEST_MONTH_OFFLINE - month_spent(state, now)
    ends_first: Literal["session", "month"] = "session" if session <= month else "month"
    ends_soon = min(session, month) <= SOON_MIN * MINUTE
    return OfflineLeft(max(session, 0) // MINUTE, max(month, 0) // MINUTE, ends_first, ends_soon)
