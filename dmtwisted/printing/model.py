"""A print form: a sequence of elements, each of them one thing on the paper.

Nothing here knows how wide the paper is or what it is made of: who renders a form wraps, aligns and draws::

    Line("КОПІЯ", "center", bold=True)          |                КОПІЯ                 |
    Rule()                                      |--------------------------------------|
    Pair("Кава зернова, 250 г", "51.00 А")      |Кава зернова, 250 г            51.00 А|
"""

from __future__ import annotations

from typing import Literal

import msgspec

Align = Literal["left", "center", "right"]
Size = Literal[1, 2]
Symbology = Literal["ean13", "code128"]


class Line(msgspec.Struct, frozen=True):
    """A text. Line breaks in it are kept, and what is too long is wrapped."""

    text: str
    align: Align = "left"
    bold: bool = False
    size: Size = 1


class Pair(msgspec.Struct, frozen=True):
    """A text and, at the right edge of its last line, what belongs to it: an amount, a number, a name."""

    left: str
    right: str
    bold: bool = False
    size: Size = 1


class Rule(msgspec.Struct, frozen=True):
    """A line across the paper."""

    char: str = "-"


class Qr(msgspec.Struct, frozen=True):
    """A QR code."""

    data: str


class Barcode(msgspec.Struct, frozen=True):
    """A bar code, with its digits or letters under it."""

    kind: Symbology
    data: str


class Feed(msgspec.Struct, frozen=True):
    """Blank lines."""

    lines: int = 1


Element = Line | Pair | Rule | Qr | Barcode | Feed
"""One thing on the paper."""
