"""Sums on the wire: text with two decimals, behind a point or a comma (docs/reference/privatbank-json.md#amounts)."""

from __future__ import annotations

import re
from typing import Annotated

from protocols.terminals.amounts import NOT_A_SUM
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


def _reported(text: str) -> int | None:
    try:
        return kopecks_of(text) if text.strip() else None
    except ValueError:
        return NOT_A_SUM


def _or_blank(kopecks: int | None) -> str:
    return "" if kopecks is None else amount_text(kopecks)


def _none_if_blank(text: str) -> int | None:
    return kopecks_of(text) if text else None


Kopecks = Annotated[int, Wire(amount_text, kopecks_of)]
"""An amount that must be there."""

LOOSE_KOPECKS = Wire(amount_text, _reported)

OptionalKopecks = Annotated[int | None, Wire(_or_blank, _reported)]
"""An amount in an answer: `None` when it is blank, `NOT_A_SUM` when it is none, for the rest still counts."""

KopecksOrBlank = Annotated[int | None, Wire(_or_blank, _none_if_blank)]
"""An amount that must be there, but may be blank."""
