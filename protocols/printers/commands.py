"""The commands of a print job, in order, for every printer language.

A job says what to print, a profile says what the printer can do, and `protocols.printers.compose` combines them::

    (Drawer(), Text("ФІСКАЛЬНИЙ ЧЕК", "center", bold=True), Text("Кава         51.00 А"), Qr("https://…"), Cut())

The lines are laid out already: nothing here wraps text or aligns amounts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Align = Literal["left", "center", "right"]
ALIGNS: tuple[Align, ...] = get_args(Align)
Font = Literal["A", "B"]
"""A is 12x24 dots, B 9x17 dots (docs/reference/printers.md#commands)."""

Symbology = Literal["ean13", "ean8", "code128"]
QrLevel = Literal["L", "M", "Q", "H"]
"""Error correction: a QR code stays readable with 7, 15, 25 or 30 % of it damaged."""
QR_LEVELS: tuple[QrLevel, ...] = get_args(QrLevel)

LARGEST_SIZE = 8
"""The largest character size (docs/reference/printers.md#commands)."""


@dataclass(frozen=True)
class Text:
    """A line of text in one style; a line feed begins another line in the same style.

    ``width`` and ``height`` are multiples of the normal size, 1 to `LARGEST_SIZE`.
    """

    text: str
    align: Align = "left"
    bold: bool = False
    underline: bool = False
    inverted: bool = False
    """White on black; ignored where the printer does not support it."""
    width: int = 1
    height: int = 1
    font: Font = "A"

    def __post_init__(self) -> None:
        if not (1 <= self.width <= LARGEST_SIZE and 1 <= self.height <= LARGEST_SIZE):
            raise ValueError(f"the size of characters is 1 to {LARGEST_SIZE}")


@dataclass(frozen=True)
class Feed:
    """Blank lines."""

    lines: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.lines <= 255:
            raise ValueError("1 to 255 lines can be fed")


@dataclass(frozen=True)
class Barcode:
    """A bar code; ``height`` in dots, ``module`` is the width of the thinnest bar in dots (2 to 6).

    The check digit of an EAN may be omitted.
    """

    kind: Symbology
    data: str
    height: int = 80
    module: int = 2
    label: bool = True
    """Whether its text is printed below it."""
    align: Align = "center"

    def __post_init__(self) -> None:
        if not 1 <= self.height <= 255 or not 2 <= self.module <= 6:
            raise ValueError("a bar code is 1 to 255 dots high, its thinnest bar is 2 to 6 dots wide")


@dataclass(frozen=True)
class Qr:
    """A QR code of a text in UTF-8; ``module`` is the side of one square in dots, 1 to 16.

    Without ``module`` the size is fitted to the paper (docs/reference/printers.md#codes).
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
    """A picture of ``width`` dots: rows from the top, each padded to whole bytes.

    The highest bit is the leftmost dot; a set bit is black.
    """

    width: int
    data: bytes
    align: Align = "center"

    def __post_init__(self) -> None:
        if self.width < 1 or not self.data or len(self.data) % self.stride:
            raise ValueError("a picture consists of whole rows of at least one dot")

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
    """A picture stored in the printer's memory, 1 to 99."""

    number: int = 1
    align: Align = "center"

    def __post_init__(self) -> None:
        if not 1 <= self.number <= 99:
            raise ValueError("stored pictures are numbered 1 to 99")


@dataclass(frozen=True)
class Cut:
    """Feed to the cutter and cut; a printer without a cutter feeds to the tear bar."""

    partial: bool = True


@dataclass(frozen=True)
class Drawer:
    """Open the cash drawer by a pulse on ``pin`` 2 or 5; times in milliseconds, up to 510.

    It is moved to the start of its job, so that the drawer opens while the paper is printed
    (docs/reference/printers.md#delivery).
    """

    pin: Literal[2, 5] = 2
    on_ms: int = 50
    off_ms: int = 500

    def __post_init__(self) -> None:
        if not 2 <= self.on_ms < self.off_ms <= 510:
            raise ValueError("a pulse is at least 2 ms and shorter than the pause after it, which is at most 510 ms")


@dataclass(frozen=True)
class Beep:
    """Sound ``times`` (1 to 9) signals of ``each_ms`` (50 to 450) ms, if the printer has a buzzer."""

    times: int = 1
    each_ms: int = 100

    def __post_init__(self) -> None:
        if not 1 <= self.times <= 9 or not 50 <= self.each_ms <= 450:
            raise ValueError("a buzzer sounds 1 to 9 signals of 50 to 450 ms")


@dataclass(frozen=True)
class Mark:
    """Ask the printer to answer when everything before this has been executed.

    Every job ends with one if the printer supports it; more can be placed between copies.
    """


Command = Text | Feed | Barcode | Qr | Image | Logo | Cut | Drawer | Beep | Mark
"""One step of a print job."""
