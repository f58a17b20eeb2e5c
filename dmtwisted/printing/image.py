"""A print form as a picture: a PNG of one bit per dot, as wide as the paper and as long as the form.

The letters are those that printers draw (`protocols.printers.raster`), so the picture looks like the paper. Each line
is compressed at once: a form of 10,000 lines takes some seconds, for a thread, and not more memory than the file.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterable

import msgspec

from dmtwisted.documents.model import MOST_ROWS, Align, Barcode, Cut, Element, Feed, Image, Qr
from dmtwisted.documents.pictures import fitted, lines_of, png_file
from dmtwisted.printing.codes import MOST_QR, sized_barcode, sized_qr
from dmtwisted.printing.layout import Row, TooLong, cut, lay_out
from dmtwisted.printing.letters import Letters
from dmtwisted.printing.text import TEAR
from protocols.printers.commands import Text
from protocols.printers.raster import offset, text_lines

COLUMN = 12
"""Dots of a column."""

ROW = 28
"""Dots of a row of letters of normal size, with the white below."""


class Picture(msgspec.Struct, frozen=True):
    """A drawn form: the file, its size in dots, and the number of letters that could not be drawn."""

    png: bytes
    width: int
    height: int
    unknown: int = 0


def draw(elements: Iterable[Element], dots: int = 576) -> Picture:
    """The form on paper of ``dots``, in columns of 12, without stored logos, drawer and beeper.

    :raises ValueError: when the paper has less than 24 columns.
    :raises TooLong: when the form has more than `MOST_ROWS` rows, or more than `MOST_QR` QR codes.
    """
    letters, paper, qr_codes = Letters("raster"), _Paper(dots), 0
    for laid in lay_out(elements, dots // COLUMN, letters):
        if isinstance(laid, Row):
            paper.write(laid)
        elif isinstance(laid, Qr):
            qr_codes += 1
            if qr_codes > MOST_QR:
                raise TooLong(f"more than {MOST_QR} QR codes")
            paper.qr(laid, letters)
        elif isinstance(laid, Barcode):
            paper.barcode(laid, letters)
        elif isinstance(laid, Image):
            paper.picture(laid)
        elif isinstance(laid, Feed):
            paper.feed(laid.lines * ROW)
        elif isinstance(laid, Cut):
            paper.write(Row((TEAR * paper.columns)[: paper.columns]))
    return Picture(paper.png(), dots, paper.height, letters.unknown + paper.unknown)


def as_data_uri(picture: Picture) -> str:
    """``picture`` as a data URI."""
    return f"data:image/png;base64,{b64encode(picture.png).decode()}"


class _Paper:
    """The paper below the print head."""

    def __init__(self, dots: int) -> None:
        self.dots, self.columns = dots, dots // COLUMN
        self.height = self.unknown = 0
        self._stride = (dots + 7) // 8
        self._packer = zlib.compressobj(6)
        self._packed: list[bytes] = []

    def write(self, row: Row) -> None:
        """A row of letters."""
        text = Text(row.text, row.align, row.bold, row.underline, width=row.width, height=row.height)
        lines, unknown = text_lines(text, self.dots)
        self.unknown += len(unknown)
        for line in lines:
            self._add(line.data)

    def qr(self, code: Qr, letters: Letters) -> None:
        """A QR code, or its text where it does not fit."""
        drawn = sized_qr(code, self.dots)
        if drawn is None:
            self._write_all(letters.written(code.data), "left")
            return
        self.feed(drawn.quiet)
        for row in drawn.rows:
            line = "".join(("1" if square else "0") * drawn.module for square in row)
            self._add(self._placed(int(line, 2), drawn.side, code.align) * drawn.module)
        self.feed(drawn.quiet)

    def barcode(self, code: Barcode, letters: Letters) -> None:
        """A bar code with its text under it, or the text alone where it does not fit."""
        drawn = sized_barcode(code, self.dots)
        if drawn is not None:
            line = "".join(bar * drawn.module for bar in drawn.modules)
            self._add(self._placed(int(line, 2), drawn.width, code.align) * code.height)
            self.feed(4)
        if drawn is None or code.label:
            self._write_all(letters.written(code.data), code.align)

    def picture(self, image: Image) -> None:
        """A picture."""
        image = fitted(image, self.dots)
        for at in range(0, len(image.data), image.stride):
            bits = int.from_bytes(image.data[at : at + image.stride]) >> (8 * image.stride - image.width)
            self._add(self._placed(bits, image.width, image.align))

    def feed(self, dots: int) -> None:
        """White paper."""
        self._add(bytes(self._stride * max(0, dots)))

    def png(self) -> bytes:
        """The drawn picture as a file."""
        if not self.height:
            self.feed(1)
        return png_file(self.dots, self.height, b"".join((*self._packed, self._packer.flush())))

    def _write_all(self, text: str, align: Align) -> None:
        for part in cut(text, self.columns):
            self.write(Row(part, align))

    def _placed(self, bits: int, width: int, align: Align) -> bytes:
        """A line of dots at its place between the edges."""
        left = offset(align, width, self.dots)
        return (bits << (8 * self._stride - left - width)).to_bytes(self._stride)

    def _add(self, data: bytes) -> None:
        self.height += len(data) // self._stride
        if self.height > MOST_ROWS * ROW:
            raise TooLong(f"more than {MOST_ROWS} rows")
        self._packed.append(self._packer.compress(lines_of(data, self._stride)))
