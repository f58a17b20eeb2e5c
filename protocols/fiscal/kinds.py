"""Kinds of documents, named as in scenarios and ledgers (docs/reference/tax-service.md#document-kinds)."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The kind of a document."""

    OPEN = "open"
    CLOSE = "close"
    OFFLINE_BEGIN = "offline_begin"
    OFFLINE_END = "offline_end"
    SALE = "sale"
    RETURN = "return"
    CASH_IN = "cash_in"
    REINFORCEMENT = "reinforcement"
    CASH_OUT = "cash_out"
    STORNO = "storno"
    TRANSFER = "transfer"
    CURRENCY = "currency"
    WITHDRAWAL = "withdrawal"
    PAWNSHOP = "pawnshop"
    Z = "z"


SESSION_ENDS = frozenset({Kind.OFFLINE_BEGIN, Kind.OFFLINE_END})
"""The offline session's opening and closing documents; they belong to no shift."""

SETTLEMENTS = frozenset(Kind) - SESSION_ENDS - {Kind.OPEN, Kind.CLOSE, Kind.Z}
"""Documents that move money: the tax service calls them financially significant."""
