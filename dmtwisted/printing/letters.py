"""Texts in the letters of a medium, and the number of letters that it does not have.

============ ============================================================================================
``cp1251``   the text form, and printers with that table: all of Ukrainian; other letters are replaced
``cp1125``   printers with that table: quotes and dashes are replaced too
``cp866``    printers with that table: І and Ґ are replaced by look-alikes too
``raster``   pictures, PDF, and printers whose lines are drawn: all that the font has
============ ============================================================================================

Letters are replaced before lines are wrapped, because a replacement can be longer.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal
from unicodedata import category, combining, normalize

from protocols.printers.codepages import UNKNOWN, CodePage, spell

CHARSET = "windows-1251"

_SPELLED = {
    "₴": "грн",
    **dict.fromkeys("ʼ′", "'"),
    **dict.fromkeys("−‐‑―", "-"),
    **dict(zip("×⁄\xa0\n", "x/ \n", strict=True)),
    "\xad": "",
}
"""Replacements for common characters that windows-1251 does not have, or does not print."""

_PRINTABLE = "".join(filter(str.isprintable, bytes(range(256)).decode(CHARSET, "ignore")))
# On the path of a sale: one search takes a third of a check and an encoding.
_as_it_is = re.compile(f"[{re.escape(_PRINTABLE)}]*").fullmatch
"""Whether all of a text is in windows-1251 and can be printed."""


class Letters:
    """Writes the texts of one form in the letters of ``page``.

    A letter that cannot be written becomes `?` and is counted in ``unknown``.
    """

    __slots__ = ("_page", "unknown")

    def __init__(self, page: CodePage | Literal["raster"] = "cp1251") -> None:
        self._page = page
        self.unknown = 0

    def written(self, text: str) -> str:
        """``text`` in letters of one column, and line feeds; a second call changes nothing."""
        page = self._page
        if page == "cp1251" or page == "raster":
            if _as_it_is(text):
                return text
            letter = _letter if page == "cp1251" else _drawn
            return self._joined(map(letter, normalize("NFC", "\n".join(text.splitlines()))))
        return "\n".join(self._spelled(line, page) for line in text.splitlines())

    def _joined(self, letters: map[str | None]) -> str:
        found = list(letters)
        self.unknown += found.count(None)
        return "".join(UNKNOWN if letter is None else letter for letter in found)

    def _spelled(self, line: str, page: CodePage) -> str:
        spelled = spell(line, page)
        self.unknown += len(spelled.unknown)
        return spelled.data.decode(page)


def in_1251(text: str) -> bytes:
    """``text`` in windows-1251, its lines unchanged, `?` for a letter that it does not have."""
    try:
        return text.encode(CHARSET)
    except UnicodeEncodeError:
        letters = map(_letter, normalize("NFC", text))
        return "".join(UNKNOWN if letter is None else letter for letter in letters).encode(CHARSET)


@lru_cache(maxsize=4096)
def _letter(char: str) -> str | None:
    """The nearest character to ``char`` in windows-1251; empty for marks without a width."""
    spelled = _SPELLED.get(char)
    if spelled is not None:
        return spelled
    if _as_it_is(char):
        return char
    if char.isspace():
        return " "
    if category(char) in ("Cf", "Mn", "Me"):
        return ""
    parts = "".join(_SPELLED.get(part, part) for part in normalize("NFKD", char) if not combining(part))
    return parts if parts and _as_it_is(parts) else None


@lru_cache(maxsize=4096)
def _drawn(char: str) -> str | None:
    """``char`` as it is drawn; whether the font has it is seen when it is drawn."""
    if char == "\n" or char == " ":
        return char
    if char.isspace():
        return " "
    if char == "\xad" or category(char) in ("Cf", "Mn", "Me"):
        return ""
    return char if char.isprintable() else None
