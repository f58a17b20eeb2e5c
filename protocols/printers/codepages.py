"""Ukrainian letters in the code pages of printers, and their replacements (docs/reference/printers.md#code-pages).

============ ======================= ==================================================
code page    Ґ ґ Є є І і Ї ї №       replaced
============ ======================= ==================================================
``cp1251``   all                     ₴ by `грн`
``cp1125``   all                     also quotes, dashes and the apostrophe by plain ones
``cp866``    all but Ґ ґ І і         also І і by Latin letters, Ґ ґ by Г г
============ ======================= ==================================================

``raster`` is not a code page: its lines are drawn, see `protocols.printers.raster`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from unicodedata import category, combining, normalize

CodePage = Literal["cp1251", "cp1125", "cp866"]
CODE_PAGES: tuple[CodePage, ...] = ("cp1251", "cp1125", "cp866")
"""In order of preference."""

UNKNOWN = "?"
"""Printed for a character that the code page does not have."""

_ALWAYS = {"₴": "грн"}
# CP1251 has these, but plain blanks print the same and are safe for programs that read the receipt.
_BLANKS = {"\xa0": " ", "\xad": "", "\t": " "}
_PLAIN = {
    **dict.fromkeys("«»“”„‟", '"'),
    **dict.fromkeys("‘’‚ʼ′`", "'"),
    **dict.fromkeys("–—−‐‑―", "-"),
    "…": "...",
    **dict(zip("×•⁄ІіҐґ", "x*/IiГг", strict=True)),
}
"""Replacements for characters that the code page does not have."""


@dataclass(frozen=True)
class Spelled:
    """A text in the bytes of a code page, and the characters that it lacks."""

    data: bytes
    unknown: tuple[str, ...] = ()


def spell(text: str, page: CodePage) -> Spelled:
    """Encode ``text``, a single line, in ``page``; the result contains no command."""
    composed = normalize("NFC", text)
    letters = [_letter(char, page) for char in composed]
    unknown = tuple(char for char, letter in zip(composed, letters, strict=True) if letter is None)
    return Spelled(b"".join(UNKNOWN.encode() if letter is None else letter for letter in letters), unknown)


def zero_width(char: str) -> bool:
    """Whether ``char`` has no width: a soft hyphen, a joiner, a combining mark."""
    return category(char) in ("Cf", "Mn", "Me")


@lru_cache(maxsize=4096)
def _letter(char: str, page: CodePage) -> bytes | None:
    """``char`` in ``page``, possibly replaced; `None` when it cannot be written."""
    if zero_width(char):
        return b""
    for attempt in (_ALWAYS.get(char), _BLANKS.get(char), char, _PLAIN.get(char), _stripped(char)):
        if attempt is not None and attempt.isprintable():
            try:
                return attempt.encode(page)
            except UnicodeEncodeError:
                continue
    return b" " if category(char) == "Zs" else None


def _stripped(char: str) -> str | None:
    """``char`` decomposed, without marks: é becomes e, ﬁ becomes fi."""
    parts = "".join(_PLAIN.get(part, part) for part in normalize("NFKD", char) if not combining(part))
    return parts if parts and parts != char else None
