"""How texts and bodies are stored in Microsoft SQL Server.

The server ignores blanks at the end when it compares texts, whatever the collation. A text that ends with a blank is
stored with a mark after it, and read without the mark.
"""

from __future__ import annotations

from dmtwisted.store.values import StoreFailed

END = "\x1f"
"""After a text that ends with a blank, or with this character itself."""

BODY = "CONVERT(VARBINARY(MAX), %s)"
"""A place for bytes: the driver writes empty bytes as an empty text."""

EMPTY = "CONVERT(VARBINARY(MAX), '')"


def keep(text: str) -> str:
    """``text`` as it is stored, so that different texts differ for the server too.

    :raises StoreFailed: when it cannot be stored.
    """
    if "\0" in text:
        raise StoreFailed("a text with the character NUL cannot be stored")
    return text + END if text.endswith((" ", END)) else text


def kept(text: str) -> str:
    """The text from which `keep` made ``text``."""
    return text.removesuffix(END)
