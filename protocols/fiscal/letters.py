"""Which characters a document of the tax service can hold, and what becomes of the others (fiscal-server 4).

Documents are written in windows-1251. XML itself forbids control characters; everything that the code page lacks has
to be replaced before signing, since what was signed cannot be mended.
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
"""Characters that shops use, and that have a neighbour in the code page."""


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
    """``text`` as a document can hold it: composed letters, near neighbours, and ``?`` for the rest.

    :param longest: characters that the element takes; what is over is cut off.
    """
    composed = unicodedata.normalize("NFC", text).translate(_INSTEAD)
    kept = _FORBIDDEN.sub("?", composed.encode(CODE_PAGE, "replace").decode(CODE_PAGE))
    return kept if longest is None else kept[:longest]
