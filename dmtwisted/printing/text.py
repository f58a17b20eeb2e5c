"""A print form as plain text of any width, in the letters of windows-1251.

Letters are replaced before lines are wrapped, so the text is never wider than requested.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable

from dmtwisted.documents.model import Barcode, Cut, Element, Feed, Qr
from dmtwisted.printing.layout import Row, aligned, cut, lay_out
from dmtwisted.printing.letters import CHARSET, Letters, in_1251

TEAR = "- "
"""The pattern of a cut within a form, for paper without a cutter (docs/reference/printers.md#slips)."""


def render_text(elements: Iterable[Element], width: int, letters: Letters | None = None) -> str:
    """The form as lines of at most ``width`` characters, each with a line feed at its end.

    Pictures, drawer and beeper are left out.

    :param letters: counts the letters that could not be written.
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
    """``text`` as a data URI of windows-1251, with `?` for a letter that it does not have."""
    return f"data:text/plain;charset={CHARSET};base64,{b64encode(in_1251(text)).decode()}"
