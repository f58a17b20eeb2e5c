"""A print form as plain text of any width, in the letters of windows-1251 (http-api 2.21).

The letters are replaced before the lines are wrapped, so what is sent is never wider than what was asked for.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable

from dmtwisted.documents.model import NARROWEST, Barcode, Cut, Element, Feed, Qr
from dmtwisted.printing.layout import Row, aligned, cut, lay_out
from dmtwisted.printing.letters import CHARSET, Letters, in_1251

__all__ = ["CHARSET", "NARROWEST", "as_data_uri", "render_text"]

TEAR = "- "
"""What a cut in the middle of a form is drawn with where there is no knife (printers.md 6.3)."""


def render_text(elements: Iterable[Element], width: int, letters: Letters | None = None) -> str:
    """The form as lines of at most ``width`` characters, each of them ended by a line feed.

    Pictures are left out, and so is what happens beside the paper.

    :param letters: given by who wants to know how many letters could not be written.
    :raises ValueError: when ``width`` is less than `NARROWEST`.
    """
    lines: list[str] = []
    if letters is None:
        letters = Letters()
    for laid in lay_out(elements, width, letters, enlarge=False):
        if type(laid) is Row:
            text, align = laid.text, laid.align
            if align == "left":
                lines.append(text)
            elif align == "right":
                lines.append(text.rjust(width))
            else:
                lines.append(" " * ((width - len(text)) // 2) + text)
        elif isinstance(laid, Qr):
            lines += cut(letters.written(laid.data), width)
        elif isinstance(laid, Barcode):
            lines += aligned(cut(letters.written(laid.data), width), "center", width)
        elif isinstance(laid, Feed):
            lines += [""] * laid.lines
        elif isinstance(laid, Cut):
            lines.append((TEAR * width)[:width].rstrip())
    return "\n".join([*lines, ""])


def as_data_uri(text: str) -> str:
    """``text`` as a data URI of windows-1251, with `?` for a letter that cannot be spelled in it."""
    return f"data:text/plain;charset={CHARSET};base64,{b64encode(in_1251(text)).decode()}"
