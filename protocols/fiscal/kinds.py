"""What documents do, in the words of scenarios and ledgers where these have one (fiscal-server 4.10)."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a document does."""

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
"""Begin and end of an offline session; they belong to no shift."""

SETTLEMENTS = frozenset(Kind) - SESSION_ENDS - {Kind.OPEN, Kind.CLOSE, Kind.Z}
"""Documents that move money: the tax service calls them financially significant."""
