"""Numbers that the law fixes, each written once; `docs/law.md` has the rules with their sources.

A number that changes on a day has a row for each day (`Since`), so the next change is one more row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Since(NamedTuple):
    """A value, and the first day in Kyiv (``yyyy-MM-dd``) on which it is valid; empty is since ever."""

    valid_from: str
    value: int


def on(day: str, rows: Sequence[Since]) -> int:
    """The value of ``rows`` that is valid on ``day``."""
    return max(row for row in rows if row.valid_from <= day).value


CASH_STEPS = (Since("", 10), Since("2025-10-01", 50))
"""To how many kopecks cash is rounded (rule C1)."""

OFFLINE_H, OFFLINE_MONTH_H = 36, 168
"""Hours offline in a row, and in a calendar month (rule O1)."""

OFFLINE_STOP_H = 35
"""Hours offline after which only the shift may be closed: an hour less than the law allows (specification 8)."""

LONGEST_PROBE_S = 1800
"""Seconds between two tries to come back: what was made offline is handed in within an hour (rule O6)."""

MARK_LENGTH = 64
"""Characters of an excise mark in the tax document (rule M1)."""

UKTZED_LENGTH = 10
"""Digits of the commodity code of excisable goods (rule G1)."""
