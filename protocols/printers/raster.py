"""Text and codes as pictures, for printers that cannot print them (docs/reference/printers.md#pictures).

Characters have the cells of the printer's own fonts, 12x24 dots (A) and 9x17 (B), so that a drawn line has as many
columns as a printed one. Bold draws each dot twice, one dot apart, as print heads do. The font comes with the
package, so a line gives the same bytes on every machine with the same Pillow.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from protocols.lazy import LazyModule
from protocols.printers.codepages import zero_width
from protocols.printers.commands import Align, Barcode, Font, Image, Qr, Text
from protocols.printers.symbols import BAR_QUIET, QR_QUIET, bars, code128_in_pairs, complete_ean, squares

if TYPE_CHECKING:
    from PIL import Image as Pictures
    from PIL import ImageDraw, ImageFont
else:
    Pictures, ImageDraw, ImageFont = LazyModule("PIL.Image"), LazyModule("PIL.ImageDraw"), LazyModule("PIL.ImageFont")

CELLS: dict[Font, tuple[int, int]] = {"A": (12, 24), "B": (9, 17)}
"""Width and height of a character in dots."""

# The sizes at which a character of the font is as wide as its cell.
_POINTS: dict[Font, int] = {"A": 20, "B": 14}
_LEADING = 4
"""White dots below a drawn line, so that characters of two lines do not touch."""


def text_lines(text: Text, dots: int) -> tuple[list[Image], tuple[str, ...]]:
    """Draw the lines of ``text`` as wide as the paper; also return the characters that the font does not have.

    A line that is too long continues on the next one, as on a printer.
    """
    cell_width, cell_height = CELLS[text.font]
    columns = max(1, dots // (cell_width * text.width))
    unknown: list[str] = []
    pictures: list[Image] = []
    for line in normalize("NFC", text.text).split("\n"):
        letters = [_known(char, text.font, unknown) for char in line if not zero_width(char)]
        for start in range(0, max(1, len(letters)), columns):
            drawn = _line(letters[start : start + columns], text)
            paper = Pictures.new("1", (dots, (cell_height + _LEADING) * text.height), 0)
            paper.paste(drawn, (offset(text.align, drawn.width, dots), 0))
            pictures.append(_image(paper))
    return pictures, tuple(unknown)


def joined(runs: Iterable[Text]) -> Pictures.Image:
    """Draw runs of different styles as one line with a common base; missing characters become `?`."""
    parts = [_line([_known(char, run.font, []) for char in run.text if not zero_width(char)], run) for run in runs]
    line = Pictures.new(
        "1", (max(1, sum(part.width for part in parts)), max((part.height for part in parts), default=1))
    )
    left = 0
    for part in parts:
        line.paste(part, (left, line.height - part.height))
        left += part.width
    return line


def barcode(code: Barcode, dots: int, pairs: bool | None = None) -> Image | None:
    """Draw a bar code as wide as the paper, its label below it; `None` when it does not fit.

    :param pairs: whether a Code 128 encodes pairs of digits; by default when possible.
    :raises NotDrawable: when this kind of code cannot encode the data.
    """
    modules = bars(code.kind, code.data, code128_in_pairs(code.data) if pairs is None else pairs)
    if (len(modules) + 2 * BAR_QUIET) * code.module > dots:
        return None
    data = code.data if code.kind == "code128" else complete_ean(code.kind, code.data)
    label = _line([_letter(char, "A") for char in data], Text(data)) if code.label else None
    height = code.height + (label.height + 2 if label else 0)
    paper = Pictures.new("1", (dots, height), 0)
    left = offset(code.align, len(modules) * code.module, dots)
    row = b"".join((b"\xff" if bar == "1" else b"\0") * code.module for bar in modules)
    paper.paste(Pictures.frombytes("L", (len(row), 1), row).resize((len(row), code.height)).convert("1"), (left, 0))
    if label:
        paper.paste(label, (max(0, left + (len(row) - label.width) // 2), code.height + 2))
    return _image(paper)


def qr(code: Qr, module: int, dots: int) -> Image:
    """Draw a QR code as wide as the paper, with its quiet zone above and below.

    :raises NotDrawable: when the text is too long for a QR code.
    """
    rows = squares(code.data.encode(), code.level)
    side = len(rows) * module
    grey = Pictures.frombytes("L", (len(rows), len(rows)), b"".join(rows)).point(lambda dot: 255 * dot)
    paper = Pictures.new("1", (dots, side + 2 * QR_QUIET * module), 0)
    paper.paste(
        grey.resize((side, side), Pictures.Resampling.NEAREST).convert("1"),
        (offset(code.align, side, dots), QR_QUIET * module),
    )
    return _image(paper)


def picture(source: bytes, dots: int, align: Align = "center") -> Image:
    """A picture file (PNG, BMP, …) as black and white dots, shrunk when it is wider than the paper.

    :raises ValueError: when Pillow cannot read it, or it is too large.
    """
    try:
        opened = Pictures.open(BytesIO(source))
        if opened.width * opened.height > _LARGEST_PICTURE:
            raise ValueError("the picture is too large")
        # Without a white background a transparent corner would print black.
        layers = opened.convert("RGBA")
        flat = Pictures.new("RGBA", layers.size, "white")
        flat.alpha_composite(layers)
    except (OSError, SyntaxError, Pictures.DecompressionBombError):
        raise ValueError("this is not a picture that can be read") from None
    grey = flat.convert("L")
    if grey.width > dots:
        grey = grey.resize((dots, max(1, grey.height * dots // grey.width)))
    black = grey.point(lambda shade: 255 - shade).convert("1")
    return Image(black.width, black.tobytes(), align)


_LARGEST_PICTURE = 16_000_000
"""Dots; a larger picture is a mistake or an attack."""


def _line(letters: list[Pictures.Image], text: Text) -> Pictures.Image:
    """Draw letters side by side, in the style of ``text``."""
    cell_width, cell_height = CELLS[text.font]
    drawn = Pictures.new("1", (max(1, cell_width * len(letters)), cell_height), 0)
    for place, letter in enumerate(letters):
        drawn.paste(letter, (place * cell_width, 0))
    if text.bold:
        once = drawn.copy()
        drawn.paste(1, (1, 0), once.crop((0, 0, once.width - 1, once.height)) if once.width > 1 else None)
    if text.underline:
        ImageDraw.Draw(drawn).line((0, cell_height - 1, drawn.width, cell_height - 1), 1)
    if text.inverted and letters:
        drawn = drawn.point(lambda dot: 0 if dot else 255)
    return drawn.resize((drawn.width * text.width, drawn.height * text.height), Pictures.Resampling.NEAREST)


def _known(char: str, font: Font, unknown: list[str]) -> Pictures.Image:
    if category(char) == "Zs":
        return _letter(" ", font)
    if category(char) in ("Cc", "Cn", "Co", "Cs") or _dots_of(char) == _dots_of("\uffff"):
        unknown.append(char)
        return _letter("?", font)
    return _letter(char, font)


@lru_cache(maxsize=1024)
def _dots_of(char: str) -> bytes:
    """The dots of ``char``; the font draws the same box for every character that it does not have."""
    return _letter(char, "A").tobytes()


@lru_cache(maxsize=2048)
def _letter(char: str, font: Font) -> Pictures.Image:
    """One character in its cell, 1 for black."""
    cell = Pictures.new("1", CELLS[font], 0)
    draw = ImageDraw.Draw(cell)
    draw.fontmode = "1"
    draw.text((0, 0), char, 1, font=_font(font))
    return cell


@lru_cache(maxsize=2)
def _font(font: Font) -> ImageFont.FreeTypeFont:
    data = files("protocols.printers").joinpath("fonts/DejaVuSansMono.ttf").read_bytes()
    # Every build of Pillow has the basic layout, which suffices for single characters.
    return ImageFont.truetype(BytesIO(data), _POINTS[font], layout_engine=ImageFont.Layout.BASIC)


def offset(align: Align, width: int, dots: int) -> int:
    """The dots to the left of an item of ``width`` on paper of ``dots``."""
    room = max(0, dots - width)
    return {"left": 0, "center": room // 2, "right": room}[align]


def _image(drawn: Pictures.Image) -> Image:
    return Image(drawn.width, drawn.tobytes(), "left")
