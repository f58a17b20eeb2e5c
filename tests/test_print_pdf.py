"""A form as a PDF: the same lines, as text that can be searched, on a page as wide as the paper."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO

from pypdf import PdfReader
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents.forms import receipt_form
from dmtwisted.documents.model import (
    MOST_ROWS,
    Barcode,
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
from dmtwisted.documents.template import SAMPLE
from dmtwisted.printing.codes import MOST_QR
from dmtwisted.printing.layout import TooLong
from dmtwisted.printing.pdf import Pdf, as_data_uri, draw
from dmtwisted.printing.text import render_text

POINT_MM = 25.4 / 72


def lines_of(pdf: Pdf) -> list[str]:
    """The text of all pages, line by line, as another program reads it."""
    text = "\n".join(page.extract_text() for page in PdfReader(BytesIO(pdf.data)).pages)
    return [line.strip() for line in text.split("\n") if line.strip()]


def sizes_of(pdf: Pdf) -> list[tuple[float, float]]:
    """Width and height of the pages in millimetres."""
    pages = PdfReader(BytesIO(pdf.data)).pages
    return [
        (round(float(page.mediabox.width) * POINT_MM, 1), round(float(page.mediabox.height) * POINT_MM, 1))
        for page in pages
    ]


def drawing_of(pdf: Pdf) -> str:
    """The drawing commands of the first page."""
    contents = PdfReader(BytesIO(pdf.data)).pages[0].get_contents()
    assert contents is not None
    return contents.get_data().decode("latin-1")


class TextTests(SynchronousTestCase):
    """The text of the page is the text of the form."""

    def test_receipt(self) -> None:
        """A receipt has all lines of its text form in order, except for the link in its code."""
        form = receipt_form(SAMPLE, "TEST_17")
        for paper, columns in ((58, 32), (80, 48)):
            text = render_text([part for part in form if not isinstance(part, Qr)], columns)
            lines = lines_of(draw(form, 58 if paper == 58 else 80))
            # Characters of double width are read with other blanks between them.
            self.assertEqual([line.split() for line in lines], [line.split() for line in text.split("\n") if line])

    def test_ukrainian(self) -> None:
        """Every Ukrainian letter, ₴ and № can be found and copied."""
        letters = "АаБбВвГгҐґДдЕеЄєЖжЗзИиІіЇїЙйКкЛл ЬьЮюЯя №₴«»’—…"
        self.assertEqual(lines_of(draw([Line(letters)])), [letters])

    def test_styles(self) -> None:
        """Bold, underlined and large text is text, and the line after it is plain again."""
        form = [Line("Жирний", bold=True), Line("Великий", size=2), Line("Лінія", underline=True), Line("Звичайний")]
        self.assertEqual(lines_of(draw(form)), ["Жирний", "Великий", "Лінія", "Звичайний"])
        drawing = drawing_of(draw([Line("Жирний", bold=True), Line("Звичайний")]))
        bold, plain, _ = drawing.split(" Tj")
        self.assertIn("2 Tr", bold)
        # The state is restored between the two.
        self.assertIn("Q", plain)

    def test_unknown(self) -> None:
        """A character that the font lacks is a question mark and is counted, and so is a control character."""
        pdf = draw([Line("中a\x07")])
        self.assertEqual((lines_of(pdf), pdf.unknown), (["?a?"], 2))

    def test_cut(self) -> None:
        """A cut is a dashed line; commands that print nothing have no effect."""
        pdf = draw([Logo(), Drawer(), Line("а"), Cut(), Line("б")], 58)
        self.assertEqual(lines_of(pdf), ["а", ("- " * 16).strip(), "б"])


class PageTests(SynchronousTestCase):
    """The size of the page."""

    def test_width(self) -> None:
        """The page is as wide as the paper, and as long as its lines of 3.5 mm and the margins."""
        form = [Line("Кава")] * 10
        self.assertEqual(sizes_of(draw(form, 58)), [(58.0, 43.0)])
        self.assertEqual(sizes_of(draw(form, 80)), [(80.0, 43.0)])
        self.assertEqual(sizes_of(draw([Line("Кава", size=2), Feed(3)], 80)), [(80.0, 25.5)])

    def test_columns(self) -> None:
        """Another number of columns fills the same width with other letters, and changes the length of the page."""
        self.assertEqual(sizes_of(draw([Line("Кава")] * 10, 80, 96)), [(80.0, 25.5)])
        self.assertEqual(lines_of(draw([Rule()], 80, 60)), ["-" * 60])
        self.assertRaises(ValueError, draw, [], 80, 23)

    def test_empty(self) -> None:
        """An empty form is a page of margins."""
        self.assertEqual(sizes_of(draw([])), [(80.0, 8.0)])

    def test_long(self) -> None:
        """A form of 10,000 lines continues on further pages without a lost line; a PDF page has at most 5080 mm."""
        pdf = draw([Pair(f"Кава {number}", "5.00") for number in range(10_000)])
        sizes = sizes_of(pdf)
        self.assertEqual((pdf.pages, len(sizes)), (8, 8))
        self.assertLess(max(height for _, height in sizes), 5080)
        self.assertEqual(sum(height - 8 for _, height in sizes), 10_000 * 3.5)
        last = PdfReader(BytesIO(pdf.data)).pages[-1].extract_text().split("\n")[-1]
        self.assertEqual(last.split(), ["Кава", "9999", "5.00"])

    def test_too_long(self) -> None:
        """An absurdly long form is refused, and so are more QR codes than a form may have."""
        self.assertRaises(TooLong, draw, [Feed(250)] * (MOST_ROWS // 250 + 1))
        self.assertRaises(TooLong, draw, [Qr("x")] * (MOST_QR + 1))

    def test_same_bytes(self) -> None:
        """The same form is always the same file, so a repeated answer is the same."""
        form = receipt_form(SAMPLE, "TEST_17")
        self.assertEqual(draw(form).data, draw(form).data)


class CodeTests(SynchronousTestCase):
    """Codes and pictures are drawn, not written."""

    def rectangles(self, *elements: Element) -> int:
        """How many rectangles the file of a form has."""
        return drawing_of(draw(elements)).count(" re")

    def test_qr(self) -> None:
        """A QR code is made of squares, and its quiet zone takes space too."""
        self.assertGreater(self.rectangles(Qr("https://example.com")), 100)
        # 25 squares and eight of quiet zone, six dots each, eight dots for each millimetre.
        self.assertEqual(sizes_of(draw([Qr("https://example.com")])), [(80.0, round((25 + 8) * 6 / 8 + 8, 1))])

    def test_barcode(self) -> None:
        """A bar code is made of its bars: 30 of EAN-13, 22 of EAN-8; its digits are text."""
        self.assertEqual(self.rectangles(Barcode("ean13", "4820000000017")), 30)
        self.assertEqual(self.rectangles(Barcode("ean8", "96385074")), 22)
        self.assertEqual(lines_of(draw([Barcode("ean8", "96385074")])), ["96385074"])

    def test_text_instead(self) -> None:
        """A code that cannot be drawn is printed as text."""
        self.assertEqual(lines_of(draw([Barcode("ean13", "17")])), ["17"])
        self.assertEqual(lines_of(draw([Qr("К" * 2000)], 80)), ["К" * 48] * 41 + ["К" * 32])

    def test_picture(self) -> None:
        """A picture is in the file with its own dots."""
        page = PdfReader(BytesIO(draw([Image(16, b"\xf0\x0f\x0f\xf0")]).data)).pages[0]
        self.assertEqual([image.image.size for image in page.images if image.image is not None], [(16, 2)])


class DataUriTests(SynchronousTestCase):
    """The PDF in an answer."""

    def test_exactly(self) -> None:
        """The file follows its kind in base64."""
        pdf = draw([Line("Кава")])
        prefix = "data:application/pdf;base64,"
        uri = as_data_uri(pdf)
        self.assertTrue(uri.startswith(prefix))
        self.assertEqual(b64decode(uri.removeprefix(prefix), validate=True), pdf.data)
