"""A print form as plain text: any text fits the width and can be encoded in windows-1251."""

from __future__ import annotations

from base64 import b64decode

from hypothesis import example, given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents.model import NARROWEST, Barcode, Element, Feed, Line, Pair, Qr, Rule
from dmtwisted.printing.text import as_data_uri, render_text

W = 24
"""The narrowest paper, on which everything must be wrapped."""

WRITTEN = "".join(bytes([code]).decode("cp1251") for code in (*range(0x21, 0x7F), *range(0xC0, 0x100)))
"""Characters that windows-1251 has, and that are not changed."""


def rendered(*elements: Element, width: int = W) -> list[str]:
    """The lines of a form, without their line feeds."""
    return render_text(elements, width).split("\n")[:-1]


class WidthTests(SynchronousTestCase):
    """The allowed widths of a form."""

    def test_too_narrow(self) -> None:
        """Less than 24 columns are refused, and the allowed number is named."""
        with self.assertRaisesRegex(ValueError, "24"):
            render_text([Line("Кава")], NARROWEST - 1)

    def test_narrowest(self) -> None:
        """24 columns are enough."""
        self.assertEqual(rendered(Line("Кава"), width=NARROWEST), ["Кава"])

    def test_line_feeds(self) -> None:
        """Every line ends with one line feed, the last one too; a form without elements is empty."""
        self.assertEqual(render_text([Line("а"), Line("б")], W), "а\nб\n")
        self.assertEqual(render_text([], W), "")


class LineTests(SynchronousTestCase):
    """Texts."""

    def test_alignment(self) -> None:
        """A text is at the left, in the middle or at the right; no blanks are added after it."""
        self.assertEqual(
            rendered(Line("Кава"), Line("Кава", "center"), Line("Кава!", "center"), Line("Кава", "right")),
            ["Кава", " " * 10 + "Кава", " " * 9 + "Кава!", " " * 20 + "Кава"],
        )

    def test_style(self) -> None:
        """Plain text has neither bold nor large letters."""
        self.assertEqual(rendered(Line("Кава", bold=True, size=2)), ["Кава"])

    def test_words(self) -> None:
        """A text that is too long is cut between words, and each part is aligned."""
        text = "м. Київ, вул. Сагайдачного, буд. 12"
        self.assertEqual(rendered(Line(text)), ["м. Київ, вул.", "Сагайдачного, буд. 12"])
        self.assertEqual(rendered(Line(text, "right")), [" " * 11 + "м. Київ, вул.", "   Сагайдачного, буд. 12"])

    def test_long_word(self) -> None:
        """A word that is longer than the line is cut at the end of the line."""
        self.assertEqual(rendered(Line("а" * 50)), ["а" * 24, "а" * 24, "аа"])

    def test_hyphens(self) -> None:
        """A word with a hyphen is not cut."""
        self.assertEqual(rendered(Line("Сік виноградно-яблучний")), ["Сік виноградно-яблучний"])
        self.assertEqual(rendered(Line("Новий сік виноградно-яблучний")), ["Новий сік", "виноградно-яблучний"])

    def test_own_layout(self) -> None:
        """A line that fits keeps its blanks, so that a form that was laid out before stays as it is."""
        self.assertEqual(rendered(Line("  Цукор      2   ")), ["  Цукор      2"])

    def test_line_breaks(self) -> None:
        """Line breaks of any kind begin a new line, and an empty text is an empty line."""
        self.assertEqual(rendered(Line("а\nб\r\nв\n\nг"), Line("")), ["а", "б", "в", "", "г", ""])

    def test_line_breaks_and_words(self) -> None:
        """Each line of a text with line breaks is wrapped by itself."""
        self.assertEqual(rendered(Line("коротко\n" + "слово " * 5)), ["коротко", "слово слово слово слово", "слово"])


class PairTests(SynchronousTestCase):
    """A text with its amount."""

    def test_one_line(self) -> None:
        """The amount ends at the right edge, even with only one blank before it."""
        self.assertEqual(rendered(Pair("Кава", "51.00 А")), ["Кава" + " " * 13 + "51.00 А"])
        self.assertEqual(rendered(Pair("К" * 16, "51.00 А")), ["К" * 16 + " 51.00 А"])

    def test_long_text(self) -> None:
        """A text that does not fit beside its amount is wrapped; the amount is on the last line."""
        self.assertEqual(rendered(Pair("К" * 17, "51.00 А")), ["К" * 16, "К                51.00 А"])
        self.assertEqual(
            rendered(Pair("Коньяк витриманий п'ять зірок", "155.00")),
            ["Коньяк витриманий", "п'ять зірок       155.00"],
        )

    def test_long_value(self) -> None:
        """An amount that is longer than half of the line is printed below its text, at the right edge."""
        self.assertEqual(
            rendered(Pair("Код транзакції", "012345678901")), ["Код транзакції", " " * 12 + "012345678901"]
        )
        self.assertEqual(rendered(Pair("ЕПЗ", "414950******1234")), ["ЕПЗ     414950******1234"])

    def test_longest_value(self) -> None:
        """An amount that is longer than the line is wrapped too."""
        self.assertEqual(
            rendered(Pair("Еквайр", 'АТ КБ "ПриватБанк" відділення S12345678')),
            ["Еквайр", '      АТ КБ "ПриватБанк"', "    відділення S12345678"],
        )

    def test_line_breaks(self) -> None:
        """A line break in a name is a blank: otherwise the amount would be separated from it."""
        self.assertEqual(rendered(Pair("Кава\nзернова", "5.00")), ["Кава зернова" + " " * 8 + "5.00"])

    def test_blank_text(self) -> None:
        """A name of only blanks still has its amount."""
        self.assertEqual(rendered(Pair(" " * 40, "5.00")), [" " * 20 + "5.00"])


class OtherElementTests(SynchronousTestCase):
    """Rules, codes and blank lines."""

    def test_rule(self) -> None:
        """A rule goes from edge to edge, with any character."""
        self.assertEqual(rendered(Rule(), Rule("="), Rule("- "), width=25), ["-" * 25, "=" * 25, "- " * 12 + "-"])

    def test_feed(self) -> None:
        """Blank lines are blank."""
        self.assertEqual(rendered(Feed(), Feed(2)), ["", "", ""])

    def test_qr(self) -> None:
        """A QR code is its link, which can be read by joining the lines."""
        link = "https://cabinet.tax.gov.ua/cashregs/check?id=1&sm=2.00"
        self.assertEqual(rendered(Qr(link)), [link[:24], link[24:48], link[48:]])

    def test_barcodes(self) -> None:
        """A bar code is its digits or letters, centred."""
        self.assertEqual(
            rendered(Barcode("ean13", "4820000000017"), Barcode("code128", "A" * 30)),
            ["     4820000000017", "A" * 24, "         AAAAAA"],
        )


class LetterTests(SynchronousTestCase):
    """Characters that windows-1251 has, and substitutes for the others."""

    def test_ukrainian(self) -> None:
        """Ukrainian letters, quotation marks, dashes and № are not changed."""
        for text in ("ҐґЄєІіЇї", "«» „” ’ – — №", "ґанок з'їзд"):
            self.assertEqual(rendered(Line(text)), [text])

    def test_spelled(self) -> None:
        """A character that windows-1251 lacks is replaced by characters that it has."""
        for text, spelled in (
            ("5 ₴", "5 грн"),
            ("2 × 3", "2 x 3"),
            ("м\u02bcята", "м'ята"),
            ("−5", "-5"),
            ("½ л", "1/2 л"),
            ("м²", "м2"),
            ("Café", "Cafe"),
            ("ﬁ", "fi"),
            ("1\xa0000", "1 000"),
            ("1\u202f000", "1 000"),
            ("а\tб", "а б"),
        ):
            self.assertEqual(rendered(Line(text)), [spelled], ascii(text))

    def test_without_width(self) -> None:
        """Characters without a width leave no gap: hyphenation, joiners, stress."""
        self.assertEqual(rendered(Line("за\u0301мок ка\xadва\u200b")), ["замок кава"])

    def test_composed(self) -> None:
        """Letters in two parts are joined: й stays й."""
        self.assertEqual(rendered(Line("чаи\u0306 і\u0308жа")), ["чай їжа"])

    def test_unknown(self) -> None:
        """A character without a substitute is a question mark, and so is a control character."""
        self.assertEqual(rendered(Line("中 ☕ \x07 \ud800 \x98")), ["? ? ? ? ?"])

    def test_width_after_spelling(self) -> None:
        """A line is wrapped as it is sent: substitutes count with their length."""
        self.assertEqual(rendered(Pair("К" * 17, "1234₴")), ["К" * 16, "К" + " " * 16 + "1234грн"])
        self.assertEqual(rendered(Rule("₴")), ["грн" * 8])


class DataUriTests(SynchronousTestCase):
    """The text in an answer."""

    PREFIX = "data:text/plain;charset=windows-1251;base64,"

    def decoded(self, text: str) -> str:
        """``text`` as a till reads it."""
        uri = as_data_uri(text)
        self.assertTrue(uri.startswith(self.PREFIX))
        return b64decode(uri.removeprefix(self.PREFIX), validate=True).decode("cp1251")

    def test_exactly(self) -> None:
        """The text is base64 of its bytes in windows-1251, on one line."""
        self.assertEqual(as_data_uri("Чек №1\n"), self.PREFIX + "1+XqILkxCg==")

    def test_rendered(self) -> None:
        """A rendered form is received character by character, with line feeds."""
        text = render_text([Line("ФІСКАЛЬНИЙ ЧЕК\nґ"), Rule()], W)
        self.assertEqual(self.decoded(text), text)

    def test_any_text(self) -> None:
        """A text that was not rendered is encoded too, and keeps its lines."""
        self.assertEqual(self.decoded("5 ₴\n中\n"), "5 грн\n?\n")


words = st.text(alphabet=WRITTEN, min_size=1, max_size=40)
sentences = st.lists(words, min_size=1, max_size=8).map(" ".join)
anything = st.text(max_size=80)
widths = st.integers(NARROWEST, 120)


def elements(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Element]]:
    """Forms whose texts are ``texts``."""
    return st.lists(
        st.one_of(
            st.builds(Line, texts, st.sampled_from(("left", "center", "right"))),
            st.builds(Pair, texts, texts),
            st.builds(Qr, texts),
            st.builds(Barcode, st.just("code128"), texts),
            st.builds(Rule, st.sampled_from(("-", "=", "₴"))),
            st.builds(Feed, st.integers(0, 3)),
        ),
        max_size=6,
    )


def texts_of(form: list[Element]) -> str:
    """All texts of a form, without blanks."""
    said = []
    for element in form:
        if isinstance(element, Line):
            said.append(element.text)
        elif isinstance(element, Pair):
            said += [element.left, element.right]
        elif isinstance(element, Qr | Barcode):
            said.append(element.data)
    return "".join("".join(said).split())


class AnyFormTests(SynchronousTestCase):
    """Properties of every form."""

    @given(elements(anything), widths)
    @example([Pair(" " * 60, "₴" * 30)], NARROWEST)
    def test_width(self, form: list[Element], width: int) -> None:
        """No line is longer than the width, and no text makes the form fail."""
        for line in rendered(*form, width=width):
            self.assertLessEqual(len(line), width)

    @given(elements(anything), widths)
    def test_letters(self, form: list[Element], width: int) -> None:
        """Every rendered text is in windows-1251 and can be printed."""
        text = render_text(form, width)
        text.encode("cp1251")
        self.assertTrue(text.replace("\n", "").isprintable())

    @given(elements(sentences).map(lambda form: [part for part in form if not isinstance(part, Rule)]), widths)
    def test_nothing_lost(self, form: list[Element], width: int) -> None:
        """Every letter of every text is in the form, in order."""
        self.assertEqual("".join(render_text(form, width).split()), texts_of(form))

    @given(anything)
    def test_data_uri(self, text: str) -> None:
        """Any text can be sent."""
        self.assertTrue(as_data_uri(text).isascii())
