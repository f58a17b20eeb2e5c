"""Sums on the wire: text with two decimals, behind a point or a comma (docs/reference/privatbank-json.md#amounts)."""

from __future__ import annotations

import re
from typing import Annotated

from protocols.terminals.typed_members import Wire

_AMOUNT = re.compile(r"(?P<whole>[0-9]{1,12})(?:[.,](?P<part>[0-9]{1,2}))?")


def amount_text(kopecks: int) -> str:
    """An amount as the terminal reads it: point and two decimals."""
    return f"{kopecks // 100}.{kopecks % 100:02d}"


def kopecks_of(text: str) -> int:
    """The kopecks of ``"0.60"``, ``"0,60"`` or ``"350"``.

    :raises ValueError: for anything else.
    """
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise ValueError(f"not an amount: {text!r}")
    return int(found["whole"]) * 100 + int((found["part"] or "0").ljust(2, "0"))


def _or_none(text: str) -> int | None:
    try:
        return kopecks_of(text)
    except ValueError:
        return None


def _or_blank(kopecks: int | None) -> str:
    return "" if kopecks is None else amount_text(kopecks)


def _none_if_blank(text: str) -> int | None:
    return kopecks_of(text) if text else None


Kopecks = Annotated[int, Wire(amount_text, kopecks_of)]
"""An amount that must be there."""

LOOSE_KOPECKS = Wire(amount_text, _or_none)

OptionalKopecks = Annotated[int | None, Wire(_or_blank, _or_none)]
"""An amount in an answer: `None` when it is blank or unreadable, because the rest of the answer still counts."""

KopecksOrBlank = Annotated[int | None, Wire(_or_blank, _none_if_blank)]
"""An amount that must be there, but may be blank."""
