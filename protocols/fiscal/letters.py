"""The characters of documents, and replacements for others (docs/reference/tax-service.md#documents).

Documents are written in windows-1251, and XML forbids control characters. Other characters are replaced before
signing, because a signed document cannot be corrected.
"""

from __future__ import annotations

import re
import unicodedata

CODE_PAGE = "windows-1251"

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")

_INSTEAD = str.maketrans(
    {
        "₴": "грн",
        "ʼ": "’",
        "′": "'",
        "″": '"',
        "−": "-",
        "‐": "-",
        "‑": "-",
        "‒": "-",
        "×": "x",
        "½": "1/2",
        "\u2007": " ",
        "\u2009": " ",
        "\u202f": " ",
        "\u200b": "",
        "\ufeff": "",
    }
)
"""Characters that shops use, with a similar one in the code page."""


def trouble(text: str) -> str:
    """Why ``text`` cannot be written as it is; empty when it can."""
    found = _FORBIDDEN.search(text)
    if found is not None:
        return f"the control character U+{ord(found[0]):04X} is forbidden in XML"
    try:
        text.encode(CODE_PAGE)
    except UnicodeEncodeError as error:
        return f"the character U+{ord(text[error.start]):04X} is not in {CODE_PAGE}"
    return ""


def writable(text: str, longest: int | None = None) -> str:
    """``text`` in characters of a document: composed letters, similar ones, ``?`` for the rest.

    :param longest: characters that the element allows; the rest is cut off.
    """
    composed = unicodedata.normalize("NFC", text).translate(_INSTEAD)
    kept = _FORBIDDEN.sub("?", composed.encode(CODE_PAGE, "replace").decode(CODE_PAGE))
    return kept if longest is None else kept[:longest]
