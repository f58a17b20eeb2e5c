"""Texts and bodies as they are kept in Microsoft SQL Server.

The server compares texts as if blanks at their ends were not there, whatever the collation. Texts that end so are
kept with a mark behind them, and come back without it.
"""

from __future__ import annotations

from dmtwisted.store.values import StoreFailed

END = "\x1f"
"""Behind a text that ends with a blank, or with this sign itself."""

BODY = "CONVERT(VARBINARY(MAX), %s)"
"""A place for bytes: the driver writes none at all as an empty text."""

EMPTY = "CONVERT(VARBINARY(MAX), '')"


def keep(text: str) -> str:
    """``text`` as it is kept, so that no two texts are the same to the server.

    :raises StoreFailed: when it is none that could be kept.
    """
    if "\0" in text:
        raise StoreFailed("a text with the sign NUL cannot be kept")
    return text + END if text.endswith((" ", END)) else text


def kept(text: str) -> str:
    """The text that `keep` made ``text`` of."""
    return text.removesuffix(END)
