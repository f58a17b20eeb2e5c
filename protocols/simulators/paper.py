"""The paper of a simulated printer, as text or as a picture.

The text has one line for each line on the paper; a code is shown by its content::

             ФІСКАЛЬНИЙ ЧЕК
    Кава зернова, 250 г      51.00 А
                [qr https://…]
    - - - - - - - - - - - - - - - -
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from protocols.lazy import LazyModule
from protocols.printers import raster
from protocols.printers.commands import Align, Barcode, Image, Qr, Text
from protocols.printers.compose import LINE_DOTS
from protocols.printers.symbols import NotDrawable

if TYPE_CHECKING:
    from PIL import Image as Pictures
else:
    Pictures = LazyModule("PIL.Image")

MOST_DOTS = 60_000
"""Dots of paper that are kept: 7.5 m; older paper is discarded."""

CUT_DOTS = 8


@dataclass(frozen=True)
class PrintedLine:
    """A line of text in runs of one style; ``dots`` is its paper feed."""

    runs: tuple[Text, ...]
    align: Align
    dots: int

    @property
    def text(self) -> str:
        """Its characters without their styles."""
        return "".join(run.text for run in self.runs)


@dataclass(frozen=True)
class PrintedBarcode:
    """A bar code; ``pairs`` if it encodes pairs of digits."""

    code: Barcode
    pairs: bool
    dots: int


@dataclass(frozen=True)
class PrintedQr:
    """A QR code with modules of ``module`` dots."""

    code: Qr
    module: int
    dots: int


@dataclass(frozen=True)
class PrintedImage:
    """A picture."""

    image: Image

    @property
    def dots(self) -> int:
        """Its height."""
        return self.image.height


@dataclass(frozen=True)
class Blank:
    """Blank paper."""

    dots: int


@dataclass(frozen=True)
class Cut:
    """A cut."""

    partial: bool
    dots: int = CUT_DOTS


Piece = PrintedLine | PrintedBarcode | PrintedQr | PrintedImage | Blank | Cut
"""One item on the paper."""


class Paper:
    """The paper of a printer ``dots`` wide, with ``columns`` characters of font A in a line."""

    def __init__(self, dots: int, columns: int) -> None:
        self.dots = dots
        self.columns = columns
        self._pieces: deque[Piece] = deque()
        self._length = 0

    def add(self, piece: Piece) -> None:
        """Add a printed ``piece``."""
        self._pieces.append(piece)
        self._length += piece.dots
        while self._length > MOST_DOTS and len(self._pieces) > 1:
            self._length -= self._pieces.popleft().dots

    def tear_off(self) -> None:
        """Remove all printed paper."""
        self._pieces.clear()
        self._length = 0

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All items, from the top."""
        return tuple(self._pieces)

    def lines(self) -> list[str]:
        """The printed lines as text, without indentation and blank lines."""
        return [
            text.strip() for piece in self._pieces if not isinstance(piece, Blank | Cut) and (text := _words(piece))
        ]

    def text(self) -> str:
        """The paper as text, each line ended by a line feed."""
        lines: list[str] = []
        for piece in self._pieces:
            if isinstance(piece, Blank):
                lines += [""] * round(piece.dots / LINE_DOTS)
            elif isinstance(piece, Cut):
                lines.append(("- " * self.columns)[: self.columns].rstrip())
            else:
                lines.append(self._aligned(piece))
        return "\n".join([*lines, ""])

    def png(self) -> bytes:
        """The paper as a PNG picture, black on white, one pixel for each dot."""
        return render_png(self._pieces, self.dots)

    def _aligned(self, piece: Piece) -> str:
        words = _words(piece)
        # A character of double width needs two columns.
        wide = sum(len(run.text) * run.width for run in piece.runs) if isinstance(piece, PrintedLine) else len(words)
        return (" " * raster.offset(_align(piece), wide, self.columns) + words).rstrip()


def _words(piece: Piece) -> str:
    if isinstance(piece, PrintedLine):
        return piece.text
    if isinstance(piece, PrintedBarcode):
        return f"[{piece.code.kind} {piece.code.data}]"
    if isinstance(piece, PrintedQr):
        return f"[qr {piece.code.data}]"
    return f"[image {piece.image.width}x{piece.image.height}]" if isinstance(piece, PrintedImage) else ""


def _align(piece: Piece) -> Align:
    if isinstance(piece, PrintedLine):
        return piece.align
    if isinstance(piece, PrintedImage):
        return piece.image.align
    return piece.code.align if isinstance(piece, PrintedBarcode | PrintedQr) else "left"


def render_png(pieces: Iterable[Piece], dots: int) -> bytes:
    """Draw ``pieces`` one below the other on paper of ``dots``, as a PNG."""
    drawn = [_drawn(piece, dots) for piece in pieces]
    height = max(1, sum(picture.height for picture in drawn))
    paper = bytearray()
    stride = (dots + 7) // 8
    for picture in drawn:
        paper += picture.data
    black = Pictures.frombytes("1", (dots, height), bytes(paper) or bytes(stride))
    out = BytesIO()
    black.point(lambda dot: 0 if dot else 255).save(out, "PNG")
    return out.getvalue()


def _drawn(piece: Piece, dots: int) -> Image:
    """Draw one piece as wide as the paper."""
    paper = Pictures.new("1", (dots, max(1, piece.dots)), 0)
    if isinstance(piece, PrintedLine):
        line = raster.joined(piece.runs)
        paper.paste(line, (raster.offset(piece.align, line.width, dots), 0))
    elif isinstance(piece, PrintedBarcode | PrintedQr):
        try:
            code = (
                raster.barcode(piece.code, dots, piece.pairs)
                if isinstance(piece, PrintedBarcode)
                else raster.qr(piece.code, piece.module, dots)
            )
        except NotDrawable:
            # A printer ignores a code that it cannot draw.
            code = None
        if code is not None:
            paper.paste(Pictures.frombytes("1", (code.width, code.height), code.data), (0, 0))
    elif isinstance(piece, PrintedImage):
        image = piece.image
        picture = Pictures.frombytes("1", (image.stride * 8, image.height), image.data)
        paper.paste(picture, (raster.offset(image.align, picture.width, dots), 0))
    elif isinstance(piece, Cut):
        for left in range(0, dots, 16):
            paper.paste(1, (left, CUT_DOTS // 2, left + 8, CUT_DOTS // 2 + 1))
    return Image(dots, paper.tobytes(), "left")
