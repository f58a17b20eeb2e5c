"""One layout for text, printer, picture and PDF: the same words in the same lines, in the medium's characters."""

from __future__ import annotations

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents.model import (
    NARROWEST,
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
    Size,
)
from dmtwisted.printing.layout import Laid, Row, commands, lay_out
from dmtwisted.printing.letters import Letters
from dmtwisted.printing.text import render_text
from protocols.printers import commands as printer
from protocols.printers.codepages import CODE_PAGES, CodePage, spell
from protocols.printers.compose import compose
from protocols.printers.profiles import PROFILES

ALIGNS: tuple[Align, ...] = ("left", "center", "right")
PAGES: tuple[CodePage | Literal["raster"], ...] = (*CODE_PAGES, "raster")
SIZES: tuple[Size, ...] = (1, 2)


def laid(*elements: Element, columns: int = 32) -> list[Laid]:
    """A form laid out with the characters of pictures."""
    return list(lay_out(elements, columns, Letters("raster")))


class RowTests(SynchronousTestCase):
    """Rows of text and their style."""

    def test_too_narrow(self) -> None:
        """Less than 24 columns are refused before the layout."""
        with self.assertRaisesRegex(ValueError, "24"):
            lay_out([Line("Кава")], NARROWEST - 1, Letters())

    def test_style(self) -> None:
        """Every line of a wrapped text has its style, and no blanks for its alignment."""
        self.assertEqual(
            laid(Line("м. Київ, вул. Сагайдачного, буд. 12", "center", bold=True, underline=True)),
            [
                Row("м. Київ, вул. Сагайдачного, буд.", "center", bold=True, underline=True),
                Row("12", "center", bold=True, underline=True),
            ],
        )

    def test_pair(self) -> None:
        """A pair is a row from edge to edge."""
        self.assertEqual(laid(Pair("СУМА", "51.00", bold=True)), [Row("СУМА" + " " * 23 + "51.00", bold=True)])

    def test_rule(self) -> None:
        """A rule is a row from edge to edge."""
        self.assertEqual(laid(Rule("=-"), columns=25), [Row("=-" * 12 + "=")])

    def test_the_rest_stays(self) -> None:
        """Codes, pictures, blank lines and commands need no layout."""
        rest: list[Element] = [
            Qr("x"),
            Barcode("ean8", "96385074"),
            Image(8, b"\xff"),
            Logo(2),
            Feed(3),
            Cut(),
            Drawer(),
            Beep(),
        ]
        self.assertEqual(laid(*rest), rest)


class LargeTests(SynchronousTestCase):
    """Letters of twice the size, only where they fit (docs/reference/printers.md#layout)."""

    def test_fitting_line(self) -> None:
        """A text that fits half of the columns is printed in double width and height."""
        self.assertEqual(laid(Line("Я" * 16, size=2)), [Row("Я" * 16, width=2, height=2)])

    def test_long_line(self) -> None:
        """A longer one is printed only in double height, and wrapped as usual."""
        self.assertEqual(laid(Line("Я" * 17, size=2)), [Row("Я" * 17, height=2)])
        self.assertEqual(laid(Line("Я" * 33, size=2)), [Row("Я" * 32, height=2), Row("Я", height=2)])

    def test_lines_of_one_text(self) -> None:
        """All lines of a text have the same size: one long line makes all of them narrow."""
        self.assertEqual(laid(Line("ЗВІТ\n" + "Я" * 17, size=2)), [Row("ЗВІТ", height=2), Row("Я" * 17, height=2)])

    def test_fitting_pair(self) -> None:
        """A pair that fits half of the columns, with a blank between, has double width, from edge to edge."""
        self.assertEqual(laid(Pair("ДО СПЛАТИ", "229.80", size=2)), [Row("ДО СПЛАТИ 229.80", width=2, height=2)])
        self.assertEqual(laid(Pair("УСЬОГО", "9.80", size=2)), [Row("УСЬОГО      9.80", width=2, height=2)])

    def test_long_pair(self) -> None:
        """A longer one has only double height."""
        self.assertEqual(
            laid(Pair("ДО СПЛАТИ", "1229.80", size=2)), [Row("ДО СПЛАТИ" + " " * 16 + "1229.80", height=2)]
        )

    def test_odd_columns(self) -> None:
        """With 25 columns a large row has twelve."""
        self.assertEqual(laid(Pair("УСЬОГО", "59.80", size=2), columns=25), [Row("УСЬОГО 59.80", width=2, height=2)])
        self.assertEqual(laid(Line("Я" * 13, size=2), columns=25), [Row("Я" * 13, height=2)])


texts = st.text(alphabet="аб ₴…№I\n", max_size=70)
forms = st.lists(
    st.one_of(
        st.builds(Line, texts, st.sampled_from(ALIGNS), st.booleans(), st.sampled_from(SIZES), st.booleans()),
        st.builds(Pair, texts, texts, st.booleans(), st.sampled_from(SIZES)),
        st.builds(Rule, st.sampled_from(("-", "= "))),
        st.builds(Feed, st.integers(0, 3)),
    ),
    max_size=8,
)


class AgreementTests(SynchronousTestCase):
    """A form has the same lines in every medium."""

    @given(forms, st.integers(NARROWEST, 64))
    def test_text_and_rows(self, form: list[Element], columns: int) -> None:
        """The text form has the same words in the same lines as the rows that are printed large."""
        rows: list[str] = []
        for part in lay_out(form, columns, Letters()):
            if isinstance(part, Row):
                rows.append(part.text)
                self.assertLessEqual(len(part.text) * part.width, columns)
            elif isinstance(part, Feed):
                rows += [""] * part.lines
        lines = render_text(form, columns).split("\n")[:-1]
        self.assertEqual([line.split() for line in lines], [row.split() for row in rows])

    def test_commands(self) -> None:
        """A print job is made of the rows and of the other elements; the printer has nothing to wrap."""
        form: list[Element] = [
            Line("Кава", "center", True, 2, True),
            Pair("а", "1"),
            Feed(300),
            Feed(0),
            Qr("x"),
            Cut(),
        ]
        self.assertEqual(
            commands(form, 24, Letters()),
            [
                printer.Text("Кава", "center", bold=True, underline=True, width=2, height=2),
                printer.Text("а" + " " * 22 + "1"),
                printer.Feed(255),
                printer.Feed(45),
                Qr("x"),
                Cut(),
            ],
        )

    def test_wide_picture(self) -> None:
        """A picture that is wider than the paper is made smaller when the paper is known."""
        wide = Image(768, b"\xff" * 96 * 2, "right")
        self.assertEqual(commands([wide], 32, Letters()), [wide])
        self.assertEqual(commands([wide], 32, Letters(), dots=384), [Image(384, b"\xff" * 48, "right")])

    def test_every_printer(self) -> None:
        """On each printer the job has no problem and no lost character that was not counted before."""
        form: list[Element] = [Line("Ціна 5 ₴ … «Їжак» ґ", size=2), Pair("Кава ☕", "5 ₴"), Rule()]
        for profile in PROFILES.values():
            letters = Letters(profile.best_page())
            job = compose(commands(form, profile.columns_a, letters), profile)
            self.assertEqual(job.problems, (), profile.name)
            self.assertEqual(letters.unknown + len(job.unknown), 0 if profile.best_page() == "raster" else 1)

    def test_ten_thousand_lines(self) -> None:
        """A form of 10,000 lines is laid out line by line."""
        form = [Pair(f"Кава номер {number}", "5.00") for number in range(10_000)]
        self.assertEqual(render_text(form, 48).count("\n"), 10_000)
        self.assertEqual(len(commands(form, 48, Letters("cp866"))), 10_000)


class LettersTests(SynchronousTestCase):
    """Texts in the characters of a medium."""

    def test_tables(self) -> None:
        """A character that a code page lacks is spelled, so that a line is as long as on paper."""
        text = "Їжак ґ «5 ₴…» № І"
        self.assertEqual(Letters("cp1251").written(text), "Їжак ґ «5 грн…» № І")
        self.assertEqual(Letters("cp1125").written(text), 'Їжак ґ "5 грн..." № І')
        self.assertEqual(Letters("cp866").written(text), 'Їжак г "5 грн..." № I')
        self.assertEqual(Letters("raster").written(text), text)

    def test_unknown(self) -> None:
        """A character that cannot be written is `?` and is counted, over all texts of a form."""
        for page in CODE_PAGES:
            letters = Letters(page)
            self.assertEqual((letters.written("中\x07a"), letters.written("☕"), letters.unknown), ("??a", "?", 3))

    def test_unknown_to_draw(self) -> None:
        """For pictures only control characters are unknown here: the font is checked when they are drawn."""
        letters = Letters("raster")
        self.assertEqual((letters.written("中\x07☕\ud800"), letters.unknown), ("中?☕?", 2))

    def test_without_width(self) -> None:
        """Characters without a width leave no gap, blanks of any width are one column."""
        for page in PAGES:
            letters = Letters(page)
            written = letters.written("за\u0301мок ка\xadва\u200b 1\u202f000\xa0а\tб")
            self.assertEqual((written, letters.unknown), ("замок кава 1 000 а б", 0), page)

    def test_lines_stay(self) -> None:
        """Line breaks of any kind are line feeds, whatever else is replaced."""
        for page in PAGES:
            self.assertEqual(Letters(page).written("а\r\nб\n\nв\x07"), "а\nб\n\nв?", page)

    def test_counted_by_text_forms(self) -> None:
        """A caller that renders a text form can pass the characters and count the lost ones afterwards."""
        letters = Letters()
        self.assertEqual(render_text([Line("中文"), Pair("☕", "5 ₴")], 24, letters), "??\n?" + " " * 18 + "5 грн\n")
        self.assertEqual(letters.unknown, 3)

    @given(st.text(max_size=40), st.sampled_from(CODE_PAGES))
    def test_any_text(self, text: str, page: CodePage) -> None:
        """Any text is written, each character in its own column, and writing it again changes nothing."""
        for line in Letters(page).written(text).split("\n"):
            spelled = spell(line, page)
            self.assertEqual((spelled.data.decode(page), spelled.unknown), (line, ()))
            again = Letters(page)
            self.assertEqual((again.written(line), again.unknown), (line, 0))
