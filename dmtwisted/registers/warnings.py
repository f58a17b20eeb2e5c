"""The warnings in a register's answers: what needs attention before it becomes an error."""

from __future__ import annotations

from dmtwisted.answers import Warning
from dmtwisted.clock import day_of
from dmtwisted.registers.offline_time import HOUR, offline_left
from dmtwisted.registers.settings import RegisterSettings, coming
from dmtwisted.registers.totals import RECEIPTS, RegisterState
from dmtwisted.results import Res


def due_warnings(
    settings: RegisterSettings,
    state: RegisterState,
    now: int,
    key_days: int | None,
    unverified: bool,
    language: str,
    kind: str = "",
) -> list[Warning]:
    """The warnings that are due at ``now`` (milliseconds since 1970).

    :param kind: of the document that is made; empty for a task without one.
    :param key_days: whole days left of the signing key; `None` when nothing is signed.
    :param unverified: whether the tax service's answers count whoever signed them.
    """
    found = []
    if state.shift_open and now - state.opened_at > settings.warn_shift_h * HOUR:
        found.append(Warning.of(Res.SHIFT_OLD, language))
    elif settings.warn_midnight and _past_midnight(state, now, kind):
        found.append(Warning.of(Res.SHIFT_PAST_MIDNIGHT, language))
    if state.offline is not None:
        left = offline_left(settings, state, now)
        if left is not None and (left.ends_soon or now - state.offline.since >= settings.warn_offline_h * HOUR):
            found.append(Warning.of(Res.OFFLINE_TOO_LONG, language, left.words()))
        numbers = state.offline_numbers_left
        if numbers < settings.warn_offline_numbers:
            found.append(Warning.of(Res.OFFLINE_NUMBERS_EXHAUSTED, language, f"{numbers}"))
    if key_days is not None and key_days < settings.warn_key_days:
        found.append(Warning.of(Res.KEY_EXPIRES_SOON, language, f"{key_days}"))
    if unverified:
        found.append(Warning.of(Res.ANSWERS_UNVERIFIED, language))
    return found


def _past_midnight(state: RegisterState, now: int, kind: str) -> bool:
    """Whether a shift with operations, this one counted, is open since another day in Kyiv (docs/law.md, D5)."""
    traded = kind in RECEIPTS or state.last_receipt > state.totals.first_docno
    return state.shift_open and traded and day_of(now) != day_of(state.opened_at)


def coming_warnings(settings: RegisterSettings, now: int, language: str) -> list[Warning]:
    """What changes soon, on the Z of a shift: the next one may be the first to have it."""
    rows = coming(settings, day_of(now))
    told = "; ".join(f"{row.valid_from} {row.setting} = {row.value}" for row in rows)
    return [Warning.of(Res.SETTINGS_CHANGE, language, told)] if rows else []
