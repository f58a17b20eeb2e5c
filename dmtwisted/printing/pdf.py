"""A print form as a PDF, as wide as the paper roll and as long as the form, with real text.

The page is measured in the dots of the picture, twelve to a column, so both show the same lines. The font is embedded
with a table of its letters, so that a receipt can be searched and copied. A form that exceeds the longest page of a
PDF (5 m) continues on the next page.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from dmtwisted.documents.model import MOST_ROWS, Barcode, Cut, Element, Feed, Image, Qr
from dmtwisted.documents.pictures import as_png, fitted
from dmtwisted.printing.codes import MOST_QR, Bars, Squares, sized_barcode, sized_qr
from dmtwisted.printing.image import COLUMN, ROW
from dmtwisted.printing.layout import Row, TooLong, cut, lay_out
from dmtwisted.printing.letters import Letters
from dmtwisted.printing.text import TEAR
from protocols.printers.codepages import UNKNOWN
from protocols.printers.raster import offset

if TYPE_CHECKING:
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

Paper = Literal[58, 80]
"""Width of the roll in millimetres."""

_POINTS_PER_MM = 72 / 25.4
_PRINTED_MM: dict[Paper, int] = {58: 48, 80: 72}
"""The printable width of the roll (docs/reference/printers.md#paper)."""
_USUAL_COLUMNS: dict[Paper, int] = {58: 32, 80: 48}
_MARGIN_MM = 4
"""White above and below."""
_LONGEST_PAGE_MM = 5000
"""PDF allows 14,400 points, 5080 mm."""

_FONT = "DejaVuSansMono"
_ADVANCE = 1233 / 2048
"""Width of a letter of the font, as a part of its size."""
_BASELINE = 19
"""Dots from the top of a row to the foot of its letters."""
_BOLDER = 0.7
"""Dots by which the outline of a bold letter is thicker: the font comes in one weight."""

# The fonts of the library must not be used for two documents at once.
_drawing = Lock()


class Pdf(msgspec.Struct, frozen=True):
    """A drawn form: the file, the number of pages, and of letters that could not be drawn."""

    data: bytes
    pages: int
    unknown: int = 0


_Piece = Row | Squares | Bars | Image | Feed


class _Placed(msgspec.Struct, frozen=True):
    """A piece, its distance from the left edge and its height, in dots."""

    piece: _Piece
    left: int
    height: int


class _Library(NamedTuple):
    """What is used of the library, and the letters of the font that it has."""

    canvas: type[Canvas]
    image: type[ImageReader]
    letters: frozenset[str]


def draw(elements: Iterable[Element], paper: Paper = 80, columns: int | None = None) -> Pdf:
    """The form on a roll of ``paper`` millimetres; the same form gives the same bytes.

    :param columns: letters in a line of the printable width; 32 on 58 mm and 48 on 80 mm when not given.
    :raises ValueError: when there are less than 24 columns.
    :raises TooLong: when the form has more than `MOST_ROWS` rows, or more than `MOST_QR` QR codes.
    """
    columns = columns or _USUAL_COLUMNS[paper]
    letters = Letters("raster")
    placed = list(_placed(lay_out(elements, columns, letters), columns, letters))
    if sum(piece.height for piece in placed) > MOST_ROWS * ROW:
        raise TooLong(f"more than {MOST_ROWS} rows")
    dot = _PRINTED_MM[paper] * _POINTS_PER_MM / (columns * COLUMN)
    pages = _pages(placed, int(_LONGEST_PAGE_MM * _POINTS_PER_MM / dot))
    with _drawing:
        library = _library()
        file = BytesIO()
        canvas = library.canvas(file, invariant=1, pageCompression=1, lang="uk")
        canvas.setTitle("dmtwisted")
        unknown = sum(_draw_page(library, canvas, page, paper, dot) for page in pages)
        canvas.save()
    return Pdf(file.getvalue(), len(pages), letters.unknown + unknown)


def paper_of(dots: int) -> Paper:
    """The paper of a register whose picture is ``dots`` wide."""
    return 58 if dots < 512 else 80


def as_data_uri(pdf: Pdf) -> str:
    """``pdf`` as a data URI."""
    return f"data:application/pdf;base64,{b64encode(pdf.data).decode()}"


def _placed(laid: Iterable[object], columns: int, letters: Letters) -> Iterator[_Placed]:
    """Everything that can be drawn, with its place."""
    dots, qr_codes = columns * COLUMN, 0
    for part in laid:
        if isinstance(part, Row):
            yield _row(part, dots)
        elif isinstance(part, Feed):
            yield _Placed(part, 0, max(0, part.lines) * ROW)
        elif isinstance(part, Cut):
            yield _row(Row((TEAR * columns)[:columns]), dots)
        elif isinstance(part, Image):
            image = fitted(part, dots)
            yield _Placed(image, offset(image.align, image.width, dots), image.height)
        elif isinstance(part, Qr):
            qr_codes += 1
            if qr_codes > MOST_QR:
                raise TooLong(f"more than {MOST_QR} QR codes")
            drawn = sized_qr(part, dots)
            if drawn is None:
                yield from (_row(Row(text), dots) for text in cut(letters.written(part.data), columns))
            else:
                yield _Placed(drawn, offset(part.align, drawn.side, dots), drawn.side + 2 * drawn.quiet)
        elif isinstance(part, Barcode):
            bars = sized_barcode(part, dots)
            if bars is not None:
                yield _Placed(bars, offset(part.align, bars.width, dots), part.height)
                # White below a code, where its text begins.
                yield _Placed(Feed(), 0, 4)
            if bars is None or part.label:
                texts = cut(letters.written(part.data), columns)
                yield from (_row(Row(text, part.align), dots) for text in texts)


def _row(row: Row, dots: int) -> _Placed:
    return _Placed(row, offset(row.align, len(row.text) * COLUMN * row.width, dots), ROW * row.height)


def _pages(placed: list[_Placed], longest: int) -> list[list[_Placed]]:
    pages: list[list[_Placed]] = [[]]
    used = 0
    for piece in placed:
        if used + piece.height > longest and pages[-1]:
            pages.append([])
            used = 0
        pages[-1].append(piece)
        used += piece.height
    return pages


def _draw_page(library: _Library, canvas: Canvas, page: list[_Placed], paper: Paper, dot: float) -> int:
    """Draw one page; returns the number of letters that the font does not have."""
    margin = _MARGIN_MM * _POINTS_PER_MM
    height = sum(piece.height for piece in page) * dot + 2 * margin
    canvas.setPageSize((paper * _POINTS_PER_MM, height))
    canvas.translate((paper - _PRINTED_MM[paper]) / 2 * _POINTS_PER_MM, height - margin)
    canvas.scale(dot, dot)
    down = unknown = 0
    for placed in page:
        piece = placed.piece
        if isinstance(piece, Row):
            unknown += _draw_row(canvas, piece, placed.left, down, library.letters)
        elif isinstance(piece, Squares):
            _draw_squares(canvas, piece, placed.left, down + piece.quiet)
        elif isinstance(piece, Bars):
            _draw_bars(canvas, piece, placed.left, down, placed.height)
        elif isinstance(piece, Image):
            picture = library.image(BytesIO(as_png(piece)))
            canvas.drawImage(picture, placed.left, -down - piece.height, piece.width, piece.height)
        down += placed.height
    canvas.showPage()
    return unknown


def _draw_row(canvas: Canvas, row: Row, left: int, down: int, known: frozenset[str]) -> int:
    text, unknown = row.text, 0
    if not known.issuperset(text):
        unknown = sum(letter not in known for letter in text)
        text = "".join(letter if letter in known else UNKNOWN for letter in text)
    if not text:
        return 0
    foot = -down - _BASELINE * row.height
    line = canvas.beginText(left, foot)
    line.setFont(_FONT, COLUMN / _ADVANCE * row.height)
    line.setHorizScale(100 * row.width / row.height)
    if row.bold:
        canvas.saveState()
        canvas.setLineWidth(_BOLDER * row.height)
        line.setTextRenderMode(2)
    line.textOut(text)
    canvas.drawText(line)
    if row.bold:
        canvas.restoreState()
    if row.underline:
        canvas.rect(left, foot - 3, len(text) * COLUMN * row.width, 1, stroke=0, fill=1)
    return unknown


def _draw_squares(canvas: Canvas, code: Squares, left: int, down: int) -> None:
    path = canvas.beginPath()
    for line, row in enumerate(code.rows):
        for first, length in _runs(row):
            top = -down - (line + 1) * code.module
            path.rect(left + first * code.module, top, length * code.module, code.module)
    canvas.drawPath(path, stroke=0, fill=1)


def _runs(modules: bytes) -> Iterator[tuple[int, int]]:
    """The start and the length of each run of black modules."""
    for run in re.finditer(rb"\x01+", modules):
        yield run.start(), run.end() - run.start()


def _draw_bars(canvas: Canvas, code: Bars, left: int, down: int, height: int) -> None:
    path = canvas.beginPath()
    for first, length in _runs(bytes(map(int, code.modules))):
        path.rect(left + first * code.module, -down - height, length * code.module, height)
    canvas.drawPath(path, stroke=0, fill=1)


@cache
def _library() -> _Library:
    # Lazy: it takes 10 MB.
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfbase.pdfmetrics import registerFont
    from reportlab.pdfbase.ttfonts import TTFont
    from reportlab.pdfgen.canvas import Canvas

    data = files("protocols.printers").joinpath("fonts/DejaVuSansMono.ttf").read_bytes()
    font = TTFont(_FONT, BytesIO(data))
    registerFont(font)
    return _Library(Canvas, ImageReader, frozenset(map(chr, font.face.charToGlyph)))
