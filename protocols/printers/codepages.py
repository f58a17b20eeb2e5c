"""Ukrainian letters in the one-byte tables of printers, and what is written instead (printers.md 1.2).

============ ======================= ==================================================
table        Ґ ґ Є є І і Ї ї №       replaced
============ ======================= ==================================================
``cp1251``   all                     ₴ by `грн`
``cp1125``   all                     also quotes, dashes and the apostrophe by plain ones
``cp866``    all but Ґ ґ І і         also І і by Latin letters, Ґ ґ by Г г
============ ======================= ==================================================

``raster`` is no table: its lines are drawn, see `protocols.printers.raster`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from unicodedata import category, combining, normalize

CodePage = Literal["cp1251", "cp1125", "cp866"]
CODE_PAGES: tuple[CodePage, ...] = ("cp1251", "cp1125", "cp866")
"""In the order in which they are preferred."""

UNKNOWN = "?"
"""What stands on the paper for a letter that the table does not have."""

_ALWAYS = {"₴": "грн"}
# windows-1251 has these, but a receipt is read by people and by other programs: a plain blank is the same blank.
_BLANKS = {"\xa0": " ", "\xad": "", "\t": " "}
_PLAIN = {
    "«": '"',
    "»": '"',
    "“": '"',
    "”": '"',
    "„": '"',
    "‟": '"',
    "‘": "'",
    "’": "'",
    "‚": "'",
    "ʼ": "'",
    "′": "'",
    "`": "'",
    "–": "-",
    "—": "-",
    "−": "-",
    "‐": "-",
    "‑": "-",
    "―": "-",
    "…": "...",
    "×": "x",
    "•": "*",
    "⁄": "/",
    "І": "I",
    "і": "i",
    "Ґ": "Г",
    "ґ": "г",
}
"""What is written when the table has no place for a letter."""


@dataclass(frozen=True)
class Spelled:
    """A text as a table writes it, and the letters that it could not write."""

    data: bytes
    unknown: tuple[str, ...] = ()


def spell(text: str, page: CodePage) -> Spelled:
    """``text``, a single line, as bytes of ``page``; nothing in it can be taken for a command."""
    composed = normalize("NFC", text)
    letters = [_letter(char, page) for char in composed]
    unknown = tuple(char for char, letter in zip(composed, letters, strict=True) if letter is None)
    return Spelled(b"".join(UNKNOWN.encode() if letter is None else letter for letter in letters), unknown)


def _empty(char: str) -> bool:
    """Whether ``char`` takes no place on paper: a soft hyphen, a joiner, a mark over the letter before."""
    return char == "\xad" or category(char) in ("Cf", "Mn", "Me")


@lru_cache(maxsize=4096)
def _letter(char: str, page: CodePage) -> bytes | None:
    """How ``page`` writes ``char``; `None` when it cannot."""
    if _empty(char):
        return b""
    for attempt in (_ALWAYS.get(char), _BLANKS.get(char), char, _PLAIN.get(char), _stripped(char)):
        if attempt is not None and attempt.isprintable():
            try:
                return attempt.encode(page)
            except UnicodeEncodeError:
                continue
    return b" " if category(char) == "Zs" else None


def _stripped(char: str) -> str | None:
    """``char`` taken apart, without its marks: é is e, ﬁ is fi."""
    parts = "".join(_PLAIN.get(part, part) for part in normalize("NFKD", char) if not combining(part))
    return parts if parts and parts != char else None
