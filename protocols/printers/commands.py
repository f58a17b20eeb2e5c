"""What a print job is made of: one value for each thing that the printer shall do, in order.

The same values serve every printer language. A job says what shall stand on the paper, a profile says what the
printer can do, and `protocols.printers.compose` brings both together::

    (Drawer(), Text("ФІСКАЛЬНИЙ ЧЕК", "center", bold=True), Text("Кава         51.00 А"), Qr("https://…"), Cut())

The lines are laid out already: nothing here wraps text or pairs a name with its amount.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Align = Literal["left", "center", "right"]
Font = Literal["A", "B"]
"""A: 12x24 dots, the usual one. B: narrower, 9x17 dots (printers.md 1.1)."""

Symbology = Literal["ean13", "ean8", "code128"]
QrLevel = Literal["L", "M", "Q", "H"]
"""How much of a QR code may be damaged: 7, 15, 25 or 30 per cent."""

LARGEST_SIZE = 8
"""The largest enlargement of a letter that printers know (printers.md 1.1, `GS !`)."""


@dataclass(frozen=True)
class Text:
    """A line of text in one style; a line feed in it begins a further line of the same style.

    ``width`` and ``height`` enlarge the letters, 1 to `LARGEST_SIZE`.
    """

    text: str
    align: Align = "left"
    bold: bool = False
    underline: bool = False
    inverted: bool = False
    """White on black; left out where the printer cannot do it."""
    width: int = 1
    height: int = 1
    font: Font = "A"

    def __post_init__(self) -> None:
        if not (1 <= self.width <= LARGEST_SIZE and 1 <= self.height <= LARGEST_SIZE):
            raise ValueError(f"letters are enlarged by 1 to {LARGEST_SIZE}")


@dataclass(frozen=True)
class Feed:
    """Blank lines."""

    lines: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.lines <= 255:
            raise ValueError("1 to 255 lines can be fed")


@dataclass(frozen=True)
class Barcode:
    """A bar code; ``height`` in dots, ``module`` the width of the thinnest bar in dots (2 to 6).

    An EAN is given with its check digit or without it.
    """

    kind: Symbology
    data: str
    height: int = 80
    module: int = 2
    label: bool = True
    """Whether its digits or letters stand under it."""
    align: Align = "center"

    def __post_init__(self) -> None:
        if not 1 <= self.height <= 255 or not 2 <= self.module <= 6:
            raise ValueError("a bar code is 1 to 255 dots high, its thinnest bar 2 to 6 dots wide")


@dataclass(frozen=True)
class Qr:
    """A QR code of a text, written in UTF-8; ``module`` is the side of one square in dots, 1 to 16.

    Without ``module`` it is worked out from the paper (printers.md 6.2).
    """

    data: str
    module: int | None = None
    level: QrLevel = "M"
    align: Align = "center"

    def __post_init__(self) -> None:
        if self.module is not None and not 1 <= self.module <= 16:
            raise ValueError("a square of a QR code is 1 to 16 dots wide")


@dataclass(frozen=True)
class Image:
    """A picture of ``width`` dots: rows from the top, each padded to whole bytes, the first dot in the highest bit.

    A set bit is a black dot.
    """

    width: int
    data: bytes
    align: Align = "center"

    def __post_init__(self) -> None:
        if self.width < 1 or not self.data or len(self.data) % self.stride:
            raise ValueError("a picture has whole rows of at least one dot")

    @property
    def stride(self) -> int:
        """Bytes in a row."""
        return (self.width + 7) // 8

    @property
    def height(self) -> int:
        """Rows."""
        return len(self.data) // self.stride


@dataclass(frozen=True)
class Logo:
    """A picture that is kept in the printer's own memory, 1 to 99."""

    number: int = 1
    align: Align = "center"

    def __post_init__(self) -> None:
        if not 1 <= self.number <= 99:
            raise ValueError("pictures in a printer are numbered 1 to 99")


@dataclass(frozen=True)
class Cut:
    """Feed what was printed past the knife and cut; a printer without a knife feeds as far as the tear bar."""

    partial: bool = True


@dataclass(frozen=True)
class Drawer:
    """Open the cash drawer by a pulse on ``pin`` 2 or 5; times in milliseconds, up to 510.

    Wherever it stands in a job it goes first, so that the drawer opens while the paper is printed (printers.md 6.2).
    """

    pin: Literal[2, 5] = 2
    on_ms: int = 50
    off_ms: int = 500

    def __post_init__(self) -> None:
        if not 2 <= self.on_ms < self.off_ms <= 510:
            raise ValueError("a pulse is 2 to 510 ms, shorter than the pause after it")


@dataclass(frozen=True)
class Beep:
    """Sound ``times`` (1 to 9) signals of ``each_ms`` (50 to 450), if the printer has a buzzer."""

    times: int = 1
    each_ms: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.times <= 9 or not 50 <= self.each_ms <= 450:
            raise ValueError("1 to 9 signals of 50 to 450 ms can be sounded")


@dataclass(frozen=True)
class Mark:
    """Ask the printer to tell when everything before this has been done.

    Every job ends with one where the printer can tell; further ones can be set between copies.
    """


Command = Text | Feed | Barcode | Qr | Image | Logo | Cut | Drawer | Beep | Mark
"""One thing that a printer shall do."""
