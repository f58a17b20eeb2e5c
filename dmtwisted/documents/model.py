"""A print form: a sequence of elements, each of them one thing on the paper.

A form does not know the width of the paper or the kind of printer: the renderer wraps, aligns and draws::

    Line("КОПІЯ", "center", bold=True)          |                КОПІЯ                 |
    Rule()                                      |--------------------------------------|
    Pair("Кава зернова, 250 г", "51.00 А")      |Кава зернова, 250 г            51.00 А|

Elements without a layout are the printer's own values: codes, pictures, and effects beside the paper.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from protocols.printers.commands import Align as Align
from protocols.printers.commands import Barcode as Barcode
from protocols.printers.commands import Beep as Beep
from protocols.printers.commands import Cut as Cut
from protocols.printers.commands import Drawer as Drawer
from protocols.printers.commands import Image as Image
from protocols.printers.commands import Logo as Logo
from protocols.printers.commands import Qr as Qr
from protocols.printers.commands import QrLevel as QrLevel
from protocols.printers.commands import Symbology as Symbology

NARROWEST = 24
"""Columns: on narrower paper a name and an amount do not fit beside each other."""

MOST_ROWS = 20_000
"""Rows of a form that can be drawn: no receipt has more, and no program opens a picture of more."""

Size = Literal[1, 2]
"""2 is twice as wide and high where that fits, else only twice as high (docs/reference/printers.md#layout)."""


class Line(msgspec.Struct, frozen=True):
    """A text. Line breaks are kept, and long lines are wrapped."""

    text: str
    align: Align = "left"
    bold: bool = False
    size: Size = 1
    underline: bool = False


class Pair(msgspec.Struct, frozen=True):
    """A text and, at the right edge of its last line, an amount, a number or a name."""

    left: str
    right: str
    bold: bool = False
    size: Size = 1


class Rule(msgspec.Struct, frozen=True):
    """A line across the paper."""

    char: str = "-"


class Feed(msgspec.Struct, frozen=True):
    """Blank lines."""

    lines: int = 1


Direct = Qr | Barcode | Feed | Image | Logo | Cut | Drawer | Beep
"""Elements that need no layout in rows."""

Element = Line | Pair | Rule | Direct
"""One thing on the paper, or an effect beside it."""
