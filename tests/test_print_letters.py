"""Ukrainian letters on printers: code pages, substitutes for missing letters, and drawn lines."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from protocols.printers.codepages import CODE_PAGES, CodePage, spell
from protocols.printers.commands import Font, Image, Text
from protocols.printers.raster import CELLS, picture, text_lines
from tests.vectors.printers import LETTERS


class SpellTests(SynchronousTestCase):
    """A text as bytes of a code page."""

    def test_vectors(self) -> None:
        """Ukrainian letters have their golden bytes."""
        for vector in LETTERS:
            spelled = spell(vector.text, vector.page)
            self.assertEqual((spelled.data, spelled.unknown), (vector.data, ()), vector.id)

    def test_cp866(self) -> None:
        """CP866 lacks І and Ґ: Latin I and Г replace them, without a warning."""
        spelled = spell("Ґанок і Їжак, ІНН", "cp866")
        self.assertEqual(spelled.data.decode("cp866"), "Ганок i Їжак, IНН")
        self.assertEqual(spelled.unknown, ())

    def test_quotes_and_dashes(self) -> None:
        """Quotes, dashes and apostrophes are plain ones where the code page has no others."""
        for page in ("cp866", "cp1125"):
            self.assertEqual(spell("«м’ята» — “п’ять” …", page).data.decode(page), '"м\'ята" - "п\'ять" ...')
        self.assertEqual(spell("«м’ята» —", "cp1251").data, "«м’ята» —".encode("cp1251"))

    def test_hryvnia(self) -> None:
        """The hryvnia sign is written out in every code page."""
        for page in CODE_PAGES:
            self.assertEqual(spell("51.00 ₴", page).data.decode(page), "51.00 грн")

    def test_unknown(self) -> None:
        """A character without a substitute is a question mark, counted each time."""
        spelled = spell("чай 茶 茶", "cp1251")
        self.assertEqual((spelled.data.decode("cp1251"), spelled.unknown), ("чай ? ?", ("茶", "茶")))

    def test_composed(self) -> None:
        """A letter in two parts is one letter, and a foreign accent is left out."""
        self.assertEqual(spell("и\u0306 i\u0308 café", "cp1251").data.decode("cp1251"), "й i cafe")

    def test_no_commands(self) -> None:
        """Control characters in a text cannot become commands."""
        spelled = spell("a\x1b@\x10\x04\x01\x00b", "cp1251")
        self.assertEqual(spelled.data, b"a?@????b")
        self.assertEqual(len(spelled.unknown), 5)

    @settings(max_examples=300, deadline=None)
    @given(st.text(max_size=40), st.sampled_from(CODE_PAGES))
    def test_any_text(self, text: str, page: CodePage) -> None:
        """Any text can be written, never with a control character, and every new `?` is counted."""
        spelled = spell(text, page)
        self.assertTrue(all(byte >= 0x20 for byte in spelled.data))
        if "?" not in text and not spelled.unknown:
            self.assertNotIn(b"??", spelled.data)
        self.assertGreaterEqual(spelled.data.count(b"?"), len(spelled.unknown))


class DrawnTests(SynchronousTestCase):
    """Lines as pictures."""

    def test_every_ukrainian_letter(self) -> None:
        """The font has every letter that a receipt needs, and no two of them look the same."""
        letters = "АБВГҐДЕЄЖЗИІЇЙКЛМНОПРСТУФХЦЧШЩЬЮЯабвгґдеєжзиіїйклмнопрстуфхцчшщьюя₴№—«»’"
        pictures = {}
        for letter in letters:
            (drawn,), unknown = text_lines(Text(letter), 24)
            self.assertEqual(unknown, (), letter)
            pictures[drawn.data] = letter
        self.assertEqual(len(pictures), len(letters))

    def test_unknown(self) -> None:
        """A letter that the font lacks is drawn as a question mark and counted."""
        (drawn,), unknown = text_lines(Text("茶"), 24)
        (question,), _ = text_lines(Text("?"), 24)
        self.assertEqual((drawn, unknown), (question, ("茶",)))

    def test_columns(self) -> None:
        """A drawn line has as many columns as a printed one, and a longer one is wrapped."""
        cases: tuple[tuple[Font, int, int], ...] = (("A", 384, 32), ("A", 576, 48), ("B", 384, 42))
        for font, dots, columns in cases:
            self.assertEqual(dots // CELLS[font][0], columns)
            self.assertEqual(len(text_lines(Text("x" * columns, font=font), dots)[0]), 1)
            self.assertEqual(len(text_lines(Text("x" * (columns + 1), font=font), dots)[0]), 2)

    def test_enlarged(self) -> None:
        """Enlarged letters take the space of several."""
        (drawn,), _ = text_lines(Text("x" * 16, width=2, height=3), 384)
        self.assertEqual((drawn.width, drawn.height), (384, (24 + 4) * 3))
        self.assertEqual(len(text_lines(Text("x" * 17, width=2), 384)[0]), 2)

    def test_styles(self) -> None:
        """Each style changes the drawing."""
        plain = Text("Сума")
        styled = [
            Text("Сума", bold=True),
            Text("Сума", underline=True),
            Text("Сума", inverted=True),
            Text("Сума", font="B"),
            Text("Сума", align="right"),
            Text("Сума", align="center"),
        ]
        drawn = {text_lines(text, 384)[0][0].data for text in [plain, *styled]}
        self.assertEqual(len(drawn), 1 + len(styled))

    def test_lines(self) -> None:
        """A line feed begins a new line, an empty one is a line as well."""
        self.assertEqual(len(text_lines(Text("a\n\nb"), 384)[0]), 3)

    def test_same_bytes(self) -> None:
        """The same line is the same bytes each time."""
        self.assertEqual(text_lines(Text("Ґанок"), 384), text_lines(Text("Ґанок"), 384))


class PictureTests(SynchronousTestCase):
    """Picture files as dots."""

    def test_png(self) -> None:
        """Black is black and transparent is white; a picture that is too wide is made smaller."""
        from io import BytesIO

        from PIL import Image as Pictures

        source = Pictures.new("RGBA", (16, 2), (0, 0, 0, 0))
        source.paste((0, 0, 0, 255), (0, 0, 8, 2))
        file = BytesIO()
        source.save(file, "PNG")
        self.assertEqual(picture(file.getvalue(), 384), Image(16, b"\xff\x00\xff\x00", "center"))
        self.assertEqual(picture(file.getvalue(), 8), Image(8, b"\xf0", "center"))

    def test_no_picture(self) -> None:
        """A file that is not a picture is refused with a reason."""
        for wrong in (b"", b"GIF89a", b"\x89PNG\r\n\x1a\n" + bytes(30)):
            self.assertRaises(ValueError, picture, wrong, 384)
