"""A print form as plain text of any width, in the letters of windows-1251 (http-api 2.21).

The letters are replaced before the lines are wrapped, so what is sent is never wider than what was asked for.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from textwrap import TextWrapper
from unicodedata import category, combining, normalize

from dmtwisted.printing.model import Align, Barcode, Element, Feed, Line, Pair, Qr, Rule

NARROWEST = 24
"""Columns below which a name and an amount have no room beside each other."""

CHARSET = "windows-1251"

_SPELLED = {
    "₴": "грн",
    "×": "x",
    "ʼ": "'",
    "′": "'",
    "−": "-",
    "‐": "-",
    "‑": "-",
    "―": "-",
    "⁄": "/",
    "\xa0": " ",
    "\xad": "",
    "\n": "\n",
}
"""What people write and windows-1251 lacks, or has and does not print."""


def render_text(elements: Iterable[Element], width: int) -> str:
    """The form as lines of at most ``width`` characters, each of them ended by a line feed.

    :raises ValueError: when ``width`` is less than `NARROWEST`.
    """
    if width < NARROWEST:
        raise ValueError(f"at least {NARROWEST} columns are expected")
    lines: list[str] = []
    for element in elements:
        if isinstance(element, Pair):
            lines += _pair(_plain(element.left), _plain(element.right), width)
        elif isinstance(element, Line):
            lines += _aligned(_wrapped(_plain(element.text), width), element.align, width)
        elif isinstance(element, Rule):
            lines.append((_plain(element.char) * width)[:width])
        elif isinstance(element, Qr):
            lines += _cut(_plain(element.data), width)
        elif isinstance(element, Barcode):
            lines += _aligned(_cut(_plain(element.data), width), "center", width)
        elif isinstance(element, Feed):
            lines += [""] * element.lines
    return "\n".join([*lines, ""])


def as_data_uri(text: str) -> str:
    """``text`` as a data URI of windows-1251, with `?` for a letter that cannot be spelled in it."""
    try:
        raw = text.encode(CHARSET)
    except UnicodeEncodeError:
        raw = "".join(map(_letter, normalize("NFC", text))).encode(CHARSET)
    return f"data:text/plain;charset={CHARSET};base64,{b64encode(raw).decode()}"


def _plain(text: str) -> str:
    """``text`` in letters that windows-1251 can write and a printer can print, and line feeds."""
    if text.isprintable() and _is_written(text):
        return text
    return "".join(map(_letter, normalize("NFC", "\n".join(text.splitlines()))))


@lru_cache(maxsize=4096)
def _letter(char: str) -> str:
    """The nearest thing to ``char`` that windows-1251 has; nothing for marks without a width of their own."""
    spelled = _SPELLED.get(char)
    if spelled is not None:
        return spelled
    if char.isprintable() and _is_written(char):
        return char
    if char.isspace():
        return " "
    if category(char) in ("Cf", "Mn", "Me"):
        return ""
    parts = "".join(_SPELLED.get(part, part) for part in normalize("NFKD", char) if not combining(part))
    return parts if parts and parts.isprintable() and _is_written(parts) else "?"


def _is_written(text: str) -> bool:
    try:
        text.encode(CHARSET)
    except UnicodeEncodeError:
        return False
    return True


def _wrapped(text: str, width: int) -> list[str]:
    """``text`` cut between words into lines of at most ``width``; a line that fits stays as it is."""
    if len(text) <= width and "\n" not in text:
        return [text.rstrip()]
    wrap = TextWrapper(width, break_on_hyphens=False).wrap
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line.rstrip()] if len(line) <= width else wrap(line) or [""]
    return lines


def _cut(text: str, width: int) -> list[str]:
    """``text`` cut after every ``width`` characters, so that it reads as one when it is put together again."""
    return [text[at : at + width] for at in range(0, len(text), width)] or [""]


def _aligned(lines: list[str], align: Align, width: int) -> list[str]:
    if align == "left":
        return lines
    if align == "right":
        return [line.rjust(width) for line in lines]
    return [" " * ((width - len(line)) // 2) + line for line in lines]


def _pair(left: str, right: str, width: int) -> list[str]:
    """``left``, wrapped, with ``right`` whole at the end of its last line, or below it when it is a long one."""
    if "\n" in left or "\n" in right:
        left, right = left.replace("\n", " "), right.replace("\n", " ")
    room = width - len(right) - 1
    if len(left) <= room:
        return [left + right.rjust(width - len(left))]
    if 2 * room < width:
        return _wrapped(left, width) + _aligned(_wrapped(right, width), "right", width)
    *above, last = _wrapped(left, room)
    return [*above, last + right.rjust(width - len(last))]
