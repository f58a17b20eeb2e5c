"""A form as a picture: the paper dot by dot, with readable codes, and no memory used when it is not needed."""

from __future__ import annotations

import subprocess
import sys
from base64 import b64decode
from importlib import import_module
from io import BytesIO
from typing import Any
from zlib import compress

from PIL import Image as Pictures
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from dmtwisted.documents.model import (
    MOST_ROWS,
    Align,
    Barcode,
    Beep,
    Cut,
    Drawer,
    Element,
    Feed,
    Image,
    Line,
    Logo,
    Pair,
    Qr,
    Rule,
)
from dmtwisted.documents.pictures import as_png, fitted, size_of
from dmtwisted.printing.codes import MOST_QR, sized_barcode, sized_qr
from dmtwisted.printing.image import ROW, Picture, as_data_uri, draw
from dmtwisted.printing.layout import TooLong
from dmtwisted.printing.text import render_text
from protocols.printers.commands import Text
from protocols.printers.raster import picture, text_lines

LINK = "https://cabinet.tax.gov.ua/cashregs/check?id=TEST_1&date=20260921&time=090000&fn=4000438533&sm=229.80"

ALIGNS: tuple[Align, ...] = ("left", "center", "right")

MODULES = (
    *(f"documents.{name}" for name in ("doccmd", "forms", "model", "pictures", "template")),
    *(f"printing.{name}" for name in ("codes", "image", "layout", "letters", "pdf", "text")),
)
"""All parts of forms."""


def opened(picture: Picture) -> Pictures.Image:
    """The file as another program reads it."""
    file = Pictures.open(BytesIO(picture.png))
    file.load()
    return file


def dots_of(*elements: Element, dots: int = 384) -> bytes:
    """The dots of a form, 1 for black."""
    return opened(draw(elements, dots)).convert("L").point(lambda shade: 255 - shade).convert("1").tobytes()


def drawn(text: Text, dots: int = 384) -> bytes:
    """The dots of a text as a printer prints it."""
    return b"".join(line.data for line in text_lines(text, dots)[0])


def read_codes(picture: Picture) -> set[tuple[str, str]]:
    """Kind and text of the codes that a scanner reads."""
    try:
        scanner: Any = import_module("pyzbar.pyzbar")
    except ImportError:
        raise SkipTest("no scanner: pyzbar, or the library zbar, is missing") from None
    return {(found.type, found.data.decode()) for found in scanner.decode(opened(picture).convert("L"))}


class SizeTests(SynchronousTestCase):
    """The size of a picture."""

    def test_width(self) -> None:
        """The picture is as wide as the paper, one bit for each dot."""
        for dots in (384, 512, 576):
            file = opened(draw([Line("Кава")], dots))
            self.assertEqual((file.format, file.mode, file.width, file.height), ("PNG", "1", dots, ROW))

    def test_resolution(self) -> None:
        """Its size is the real size: eight dots for each millimetre."""
        across, down = opened(draw([Line("Кава")])).info["dpi"]
        self.assertEqual((round(across), round(down)), (203, 203))

    def test_length(self) -> None:
        """Every line of the text form is a row, a large one twice as high."""
        form: list[Element] = [Line("Кава " * 20), Pair("а" * 60, "5.00"), Rule(), Feed(2), Line("Я", size=2)]
        rows = render_text(form, 32).count("\n") + 1
        self.assertEqual(draw(form, 384).height, rows * ROW)

    def test_empty(self) -> None:
        """An empty form is a picture of one line of dots."""
        self.assertEqual(opened(draw([])).size, (576, 1))

    def test_too_narrow(self) -> None:
        """Less than 24 columns of 12 dots are refused."""
        self.assertEqual(draw([Line("Кава")], 288).width, 288)
        self.assertRaises(ValueError, draw, [Line("Кава")], 287)

    def test_long(self) -> None:
        """A long form is drawn line by line, and one that no program could open is refused."""
        long = draw([Feed(250)] * (MOST_ROWS // 250), 384)
        self.assertEqual((long.height, long.png[:4]), (MOST_ROWS * ROW, b"\x89PNG"))
        self.assertRaises(TooLong, draw, [Feed(250)] * (MOST_ROWS // 250 + 1), 384)

    def test_many_lines(self) -> None:
        """A receipt of a thousand items is drawn like any other."""
        self.assertEqual(draw([Pair(f"Кава {number}", "5.00") for number in range(1000)], 384).height, 1000 * ROW)

    def test_too_many_codes(self) -> None:
        """More QR codes than a form may have are refused: they would take minutes."""
        self.assertRaises(TooLong, draw, [Qr("x")] * (MOST_QR + 1), 384)


class LetterTests(SynchronousTestCase):
    """Characters look as printed."""

    def test_as_printed(self) -> None:
        """A line has the same dots as a printer prints, in each style."""
        for side in ALIGNS:
            self.assertEqual(
                dots_of(Line("Їжак", side, bold=True, underline=True)),
                drawn(Text("Їжак", side, bold=True, underline=True)),
            )
        self.assertEqual(dots_of(Line("Їжак", size=2)), drawn(Text("Їжак", width=2, height=2)))
        self.assertEqual(dots_of(Line("Я" * 20, size=2)), drawn(Text("Я" * 20, height=2)))

    def test_ukrainian(self) -> None:
        """І Ї Є Ґ, ₴ and № have their own shapes, not those of a missing character."""
        letters = "ІіЇїЄєҐґ₴№"
        missing = {dots_of(Line("?")), drawn(Text("\uffff"))}
        pictures = {dots_of(Line(letter)) for letter in letters}
        self.assertEqual(len(pictures - missing), len(letters))
        self.assertEqual(draw([Line(letters)]).unknown, 0)

    def test_unknown(self) -> None:
        """A character that the font lacks is a question mark and is counted, and so is a control character."""
        picture = draw([Line("中a☕\x07"), Pair("文", "1")], 384)
        self.assertEqual(dots_of(Line("中")), dots_of(Line("?")))
        self.assertEqual(picture.unknown, 3)

    def test_cut(self) -> None:
        """A cut is a dashed line, as in the text form."""
        self.assertEqual(dots_of(Cut()), drawn(Text("- " * 16)))
        self.assertEqual(render_text([Cut()], 32), ("- " * 16).rstrip() + "\n")

    def test_beside_the_paper(self) -> None:
        """Commands that print nothing have no effect."""
        self.assertEqual(dots_of(Logo(), Drawer(), Line("Кава"), Beep()), dots_of(Line("Кава")))
        self.assertEqual(render_text([Logo(), Drawer(), Image(8, b"\xff"), Beep()], 32), "")


class CodeTests(SynchronousTestCase):
    """QR codes and bar codes."""

    def test_readable(self) -> None:
        """A scanner reads every code of a receipt at every width."""
        form: list[Element] = [
            Line("Чек"),
            Qr(LINK),
            Barcode("ean13", "4820000000017"),
            Line("-"),
            Barcode("ean8", "96385074"),
            Line("-"),
            Barcode("code128", "ABC-17"),
        ]
        for dots in (384, 512, 576):
            self.assertEqual(
                read_codes(draw(form, dots)),
                {
                    ("QRCODE", LINK),
                    ("EAN13", "4820000000017"),
                    ("EAN8", "96385074"),
                    ("CODE128", "ABC-17"),
                },
            )

    def test_long_codes(self) -> None:
        """A code that is too wide is drawn smaller; digits are encoded as pairs where that helps."""
        digits = "12345678901234567890"
        self.assertEqual(read_codes(draw([Barcode("code128", digits)], 384)), {("CODE128", digits)})
        self.assertEqual(read_codes(draw([Barcode("code128", "A" * 47)], 576)), {("CODE128", "A" * 47)})
        self.assertEqual(read_codes(draw([Qr("К" * 300, module=16)], 384)), {("QRCODE", "К" * 300)})

    def test_sizes(self) -> None:
        """A QR code has the requested size, else the paper's size; bars are never wider than requested."""
        asked, usual = sized_qr(Qr("x", module=2), 384), sized_qr(Qr("x"), 384)
        assert asked is not None and usual is not None
        self.assertEqual((asked.module, usual.module), (2, 6))
        wide = sized_barcode(Barcode("ean13", "4820000000017", module=3), 384)
        narrow = sized_barcode(Barcode("ean13", "4820000000017", module=6), 384)
        assert wide is not None and narrow is not None
        self.assertEqual((wide.module, narrow.module), (3, 3))

    def test_text_instead(self) -> None:
        """A code that does not fit at any size is printed as text, cut at the end of the line."""
        halves = dots_of(Line("A" * 32, "center"), Line("A" * 15, "center"))
        self.assertEqual(dots_of(Barcode("code128", "A" * 47)), halves)
        self.assertEqual(dots_of(Barcode("ean13", "1")), dots_of(Line("1", "center")))
        self.assertEqual(dots_of(Qr("К" * 2000)), dots_of(Line("К" * 2000)))

    def test_label(self) -> None:
        """The digits are printed below a bar code, unless they are switched off."""
        code = Barcode("ean8", "96385074", height=50)
        self.assertEqual(draw([code]).height, 50 + 4 + ROW)
        self.assertEqual(draw([Barcode("ean8", "96385074", height=50, label=False)]).height, 54)
        self.assertTrue(dots_of(code).endswith(dots_of(Line("96385074", "center"))))

    def test_place(self) -> None:
        """A code is aligned: its first black dot is at the left, in the middle or near the right."""
        firsts = []
        for side in ALIGNS:
            row = dots_of(Barcode("ean8", "96385074", align=side, label=False))[:48]
            firsts.append(f"{int.from_bytes(row):0384b}".index("1"))
        self.assertEqual(firsts, [0, (384 - 134) // 2, 384 - 134])


class PictureTests(SynchronousTestCase):
    """Pictures within a form."""

    def test_place(self) -> None:
        """A picture is drawn dot by dot in its place."""
        dots = dots_of(Image(4, b"\xf0\x90", "left"), Image(4, b"\xf0\x90"), Image(4, b"\xf0", "right"))
        rows = [dots[at : at + 48] for at in range(0, len(dots), 48)]
        middle = bytes(23) + b"\x03\xc0"
        self.assertEqual(rows[0], b"\xf0" + bytes(47))
        self.assertEqual(rows[1], b"\x90" + bytes(47))
        self.assertEqual(rows[2], middle + bytes(23))
        self.assertEqual(rows[4], bytes(47) + b"\x0f")

    def test_wide(self) -> None:
        """A picture that is wider than the paper is made smaller and keeps its place."""
        black = Image(768, b"\xff" * 96 * 4, "left")
        self.assertEqual(fitted(black, 384), Image(384, b"\xff" * 48 * 2, "left"))
        self.assertEqual(dots_of(black), b"\xff" * 48 * 2)
        self.assertIs(fitted(black, 768), black)

    def test_there_and_back(self) -> None:
        """A picture that is written as a file and read again has the same dots."""
        for width, data in ((9, b"\xaa\x80\x55\x00"), (16, b"\x12\x34"), (1, b"\x80")):
            image = Image(width, data)
            self.assertEqual(picture(as_png(image), 576), image)

    def test_size_of(self) -> None:
        """The size is read from the header of PNG and BMP files, before they are unpacked."""
        for kind in ("PNG", "BMP"):
            file = BytesIO()
            Pictures.new("RGB", (300, 20), "white").save(file, kind)
            self.assertEqual(size_of(file.getvalue()), (300, 20))
        old = b"BM" + bytes(12) + b"\x0c\0\0\0" + b"\x2c\x01\x14\x00" + bytes(8)
        self.assertEqual(size_of(old), (300, 20))
        top_down = b"BM" + bytes(12) + b"\x28\0\0\0" + b"\x2c\x01\0\0\xec\xff\xff\xff" + bytes(8)
        self.assertEqual(size_of(top_down), (300, 20))

    def test_not_a_picture(self) -> None:
        """Anything else has no size."""
        for source in (b"", b"GIF89a" + bytes(30), b"BM", b"\x89PNG\r\n\x1a\n", compress(b"x" * 100)):
            self.assertRaises(ValueError, size_of, source)


class DataUriTests(SynchronousTestCase):
    """The picture in an answer."""

    def test_exactly(self) -> None:
        """The picture follows the very words that tills cut off."""
        picture = draw([Line("Кава")])
        prefix = "data:image/png;base64,"
        uri = as_data_uri(picture)
        self.assertTrue(uri.startswith(prefix))
        self.assertEqual(b64decode(uri.removeprefix(prefix), validate=True), picture.png)


class MemoryTests(SynchronousTestCase):
    """Unused libraries are not loaded."""

    def test_idle(self) -> None:
        """All modules of forms can be imported without the libraries that draw and fill templates."""
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "import sys\n"
                + "".join(f"import dmtwisted.{module}\n" for module in MODULES)
                + "print([name for name in ('PIL', 'reportlab', 'jinja2', 'segno') if name in sys.modules])",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(done.stdout.strip(), "[]")
