"""The document language: its commands are printed, invalid ones are refused, any form can be written in it."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pictures
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents.doccmd import (
    LARGEST_SIDE,
    LONGEST_TEXT,
    MOST_ELEMENTS,
    as_data_uri,
    read_doccmd,
    read_lines,
    write_doccmd,
)
from dmtwisted.documents.extent import MOST_BARCODES, MOST_CODE_BYTES, MOST_CODES, MOST_PICTURES
from dmtwisted.documents.forms import receipt_form
from dmtwisted.documents.model import (
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
from dmtwisted.documents.pictures import as_png
from dmtwisted.documents.template import SAMPLE
from dmtwisted.results import Refused, Res
from tests.language_check import english

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "printers.md"
ALIGNS: tuple[Align, ...] = ("left", "center", "right")


def png(width: int, height: int, kind: str = "PNG") -> str:
    """A white picture file in base64."""
    file = BytesIO()
    Pictures.new("1", (width, height), 1).save(file, kind)
    return b64encode(file.getvalue()).decode()


_NAMES = """
text align bold underline size pair left right center rule char qr data level module image barcode height label logo
feed cut partial drawer pin beep L M Q H Code ASCII BMP
"""
NAMES = tuple(_NAMES.split())
"""Commands and members of the document language, and names that its refusals have."""


class Refusals(SynchronousTestCase):
    """Tests of refusals and their paths."""

    def refusal(self, *commands: object) -> str:
        """Why a document is refused."""
        refused = self.assertRaises(Refused, read_doccmd, list(commands))
        self.assertIs(refused.res, Res.MALFORMED)
        return english(refused, *NAMES)


class CommandTests(Refusals):
    """Each command, with and without its members."""

    def read(self, **command: object) -> Element:
        """The result of one command."""
        (element,) = read_doccmd([command])
        return element

    def test_usual(self) -> None:
        """A missing member has its default."""
        for command, element in (
            ({"cmd": "text", "text": "Кава"}, Line("Кава")),
            ({"cmd": "pair", "left": "Кава", "right": "51.00"}, Pair("Кава", "51.00")),
            ({"cmd": "rule"}, Rule()),
            ({"cmd": "qr", "data": "x"}, Qr("x")),
            ({"cmd": "barcode", "kind": "ean13", "data": "4820000000017"}, Barcode("ean13", "4820000000017")),
            ({"cmd": "logo"}, Logo()),
            ({"cmd": "feed"}, Feed()),
            ({"cmd": "cut"}, Cut()),
            ({"cmd": "drawer"}, Drawer()),
            ({"cmd": "beep"}, Beep()),
        ):
            self.assertEqual(self.read(**command), element)

    def test_everything(self) -> None:
        """A given member is used."""
        for command, element in (
            (
                {"cmd": "text", "text": "Кава", "align": "right", "bold": True, "underline": True, "size": 2},
                Line("Кава", "right", True, 2, True),
            ),
            ({"cmd": "pair", "left": "а", "right": "б", "bold": True, "size": 2}, Pair("а", "б", True, 2)),
            ({"cmd": "rule", "char": "=-"}, Rule("=-")),
            ({"cmd": "qr", "data": "x", "level": "H", "module": 4, "align": "left"}, Qr("x", 4, "H", "left")),
            (
                {
                    "cmd": "barcode",
                    "kind": "code128",
                    "data": "A-1",
                    "height": 120,
                    "module": 3,
                    "label": False,
                    "align": "left",
                },
                Barcode("code128", "A-1", 120, 3, False, "left"),
            ),
            ({"cmd": "logo", "number": 7, "align": "right"}, Logo(7, "right")),
            ({"cmd": "feed", "lines": 3}, Feed(3)),
            ({"cmd": "cut", "partial": False}, Cut(False)),
            ({"cmd": "drawer", "pin": 5, "on_ms": 100, "off_ms": 300}, Drawer(5, 100, 300)),
            ({"cmd": "beep", "times": 3, "each_ms": 200}, Beep(3, 200)),
        ):
            self.assertEqual(self.read(**command), element)

    def test_spellings(self) -> None:
        """Numbers may be spelled as texts and null means absent, as everywhere in a request (specification 2.2)."""
        line = self.read(cmd="text", text=Decimal("17.50"), bold="1", size="2", align=None)
        self.assertEqual(line, Line("17.50", bold=True, size=2))
        self.assertEqual(self.read(cmd="feed", lines=""), Feed())

    def test_image(self) -> None:
        """A PNG or BMP file is black and white dots; a data URI is allowed too."""
        picture = Image(9, b"\xaa\x80\x55\x00")
        data = b64encode(as_png(picture)).decode()
        self.assertEqual(self.read(cmd="image", data=data), picture)
        self.assertEqual(
            self.read(cmd="image", data=f"data:image/png;base64,{data}", align="right"),
            Image(9, picture.data, "right"),
        )
        self.assertEqual(self.read(cmd="image", data=png(17, 2, "BMP")), Image(17, bytes(6)))

    def test_wide_image(self) -> None:
        """A picture that is wider than the paper is made smaller."""
        (element,) = read_doccmd([{"cmd": "image", "data": png(1000, 500)}], dots=384)
        assert isinstance(element, Image)
        self.assertEqual((element.width, element.height), (384, 192))

    def test_long_qr(self) -> None:
        """A long QR code has the lowest level of correction, unless one is given."""
        self.assertEqual(self.read(cmd="qr", data="A" * 2331), Qr("A" * 2331))
        self.assertEqual(self.read(cmd="qr", data="A" * 2332), Qr("A" * 2332, level="L"))


class RefusalTests(Refusals):
    """Invalid documents, and the texts of their refusals."""

    def test_paths(self) -> None:
        """Every mistake is reported with its path and what is expected there."""
        for command, reason in (
            ({"cmd": "text"}, "text: a text is expected"),
            ({"cmd": "text", "text": ["x"]}, "text: a text is expected"),
            ({"cmd": "text", "text": "x", "size": 3}, "size: a number from 1 to 2 is expected"),
            ({"cmd": "text", "text": "x", "bold": "yes"}, "bold: true or false is expected"),
            ({"cmd": "text", "text": "x", "align": "middle"}, "align: left, center or right is expected"),
            ({"cmd": "pair", "left": "x"}, "right: a text is expected"),
            ({"cmd": "rule", "char": ""}, "char: one or more characters that can be printed are expected"),
            ({"cmd": "rule", "char": "\n"}, "char: one or more characters that can be printed are expected"),
            ({"cmd": "rule", "char": "-" * 9}, "char: at most 8 characters are taken, not 9"),
            ({"cmd": "qr", "data": ""}, "data: a QR code takes 1 to 2953 bytes, not 0"),
            (
                {"cmd": "qr", "data": "К" * 700, "level": "H"},
                "data: a QR code of level H takes 1 to 1273 bytes, not 1400",
            ),
            ({"cmd": "qr", "data": "x", "level": "X"}, "level: L, M, Q or H is expected"),
            ({"cmd": "qr", "data": "x", "module": 17}, "module: a number from 1 to 16 is expected"),
            ({"cmd": "barcode", "data": "1"}, "kind: ean13, ean8 or code128 is expected"),
            (
                {"cmd": "barcode", "kind": "ean13", "data": "4820000000015"},
                "data: the check digit of EAN-13 is 5, 7 is expected",
            ),
            (
                {"cmd": "barcode", "kind": "ean8", "data": "96385070"},
                "data: the check digit of EAN-8 is 0, 4 is expected",
            ),
            ({"cmd": "barcode", "kind": "ean8", "data": "9638507"}, "data: EAN-8 takes exactly 8 digits"),
            (
                {"cmd": "barcode", "kind": "code128", "data": "Ґ"},
                "data: Code 128 takes one or more Latin letters, digits and signs of ASCII",
            ),
            ({"cmd": "image"}, "data: a PNG or BMP file is expected"),
            ({"cmd": "image", "data": "x"}, "data: base64 is expected"),
            ({"cmd": "image", "data": "Ґ"}, "data: base64 is expected"),
            ({"cmd": "image", "data": "R0lGODlh"}, "data: a PNG or BMP file is expected"),
            ({"cmd": "logo", "number": 100}, "number: a number from 1 to 99 is expected"),
            ({"cmd": "feed", "lines": 0}, "lines: a number from 1 to 255 is expected"),
            ({"cmd": "feed", "lines": 1.5}, "lines: a number is expected"),
            ({"cmd": "drawer", "pin": 3}, "pin: 2 or 5 is expected"),
            ({"cmd": "drawer", "on_ms": 300, "off_ms": 300}, "off_ms: a number from 301 to 510 is expected"),
            ({"cmd": "beep", "times": 10}, "times: a number from 1 to 9 is expected"),
        ):
            self.assertEqual(self.refusal({"cmd": "rule"}, command), f"doc.doccmd[1].{reason}")

    def test_unknown_command(self) -> None:
        """An unknown command is refused, and the known ones are named."""
        known = "text, pair, rule, qr, barcode, image, logo, feed, cut, drawer, beep can be given"
        self.assertEqual(self.refusal({"cmd": "bold"}), f"doc.doccmd[0].cmd: unknown command 'bold'; {known}")
        self.assertEqual(self.refusal({"text": "Кава"}), f"doc.doccmd[0].cmd: {known}")

    def test_unknown_member(self) -> None:
        """A member that the command does not have is refused: a spelling mistake would be ignored otherwise."""
        self.assertEqual(
            self.refusal({"cmd": "pair", "left": "а", "right": "б", "align": "left"}),
            "doc.doccmd[0].align: unknown member; left, right, bold, size can be given",
        )

    def test_structure(self) -> None:
        """The document is an array of objects."""
        self.assertEqual(self.refusal("cut"), "doc.doccmd[0]: an object is expected")
        values: tuple[object, ...] = (None, {}, "cut", 1)
        for value in values:
            refused = self.assertRaises(Refused, read_doccmd, value, "doc")
            self.assertEqual(english(refused, *NAMES), "doc: an array is expected")

    def test_broken_picture(self) -> None:
        """A file with the header of a picture and an invalid rest is refused with its path."""
        data = b64encode(b64decode(png(8, 8))[:40]).decode()
        self.assertIn("doc.doccmd[0].data: this is not a picture", self.refusal({"cmd": "image", "data": data}))

    @given(
        st.lists(
            st.dictionaries(
                st.sampled_from(
                    ("text", "left", "right", "char", "data", "kind", "align", "size", "module", "lines")
                ),
                st.recursive(
                    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.decimals(allow_nan=False),
                    lambda inner: (
                        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
                    ),
                    max_leaves=3,
                ),
                max_size=4,
            ),
            max_size=3,
        ),
        st.sampled_from(("text", "pair", "rule", "qr", "barcode", "image", "feed", "drawer", "beep", "", 7)),
    )
    def test_anything(self, commands: list[dict[str, object]], name: object) -> None:
        """Any value is a form, or is refused with a path."""
        try:
            form = read_doccmd([{**command, "cmd": name} for command in commands])
        except Refused as refused:
            self.assertIs(refused.res, Res.MALFORMED)
            self.assertTrue(english(refused, *NAMES).startswith("doc.doccmd["))
        else:
            self.assertEqual(len(form), len(commands))

    def test_not_json(self) -> None:
        """A document is the array itself; a text is refused, whatever is in it."""
        for text in ("[", "[{'cmd': 'cut'}]", '[{"cmd": "cut"}]', b"\xff", "[1e999999999]"):
            refused = self.assertRaises(Refused, read_doccmd, text)
            self.assertIn("doccmd", english(refused, *NAMES))


class LimitTests(Refusals):
    """Limits."""

    def test_elements(self) -> None:
        """10,000 commands are accepted, one more is not."""
        self.assertEqual(read_doccmd([{"cmd": "rule"}] * MOST_ELEMENTS), [Rule()] * MOST_ELEMENTS)
        self.assertEqual(
            self.refusal(*[{"cmd": "rule"}] * (MOST_ELEMENTS + 1)),
            "doc.doccmd: at most 10000 elements are taken, not 10001",
        )

    def test_text(self) -> None:
        """A text of 4096 characters is accepted, one more is not."""
        self.assertEqual(len(read_doccmd([{"cmd": "text", "text": "а" * LONGEST_TEXT}])), 1)
        self.assertEqual(
            self.refusal({"cmd": "text", "text": "а" * (LONGEST_TEXT + 1)}),
            "doc.doccmd[0].text: at most 4096 characters are taken, not 4097",
        )

    def test_paper(self) -> None:
        """A document of more than 20,000 lines is refused, by feeds, texts or line breaks."""
        documents: tuple[tuple[object, int], ...] = (
            ({"cmd": "feed", "lines": 255}, 78),
            ({"cmd": "text", "text": "\n" * 254}, 75),
            ({"cmd": "pair", "left": "а" * 3060, "right": "а" * 3060}, 78),
        )
        for command, index in documents:
            refused = self.refusal(*[command] * 100)
            self.assertEqual(refused, f"doc.doccmd[{index}]: the document is longer than 20000 lines")

    def test_codes(self) -> None:
        """100 QR codes are accepted, one more is not."""
        code = {"cmd": "qr", "data": "x"}
        self.assertEqual(len(read_doccmd([code] * MOST_CODES)), MOST_CODES)
        self.assertEqual(self.refusal(*[code] * (MOST_CODES + 1)), "doc.doccmd[100]: at most 100 QR codes are taken")
        long = {"cmd": "qr", "data": "ї" * 1024}
        self.assertEqual(len(read_doccmd([long] * (MOST_CODE_BYTES // 2048))), 8)
        self.assertEqual(self.refusal(*[long] * 9), "doc.doccmd[8]: the QR codes have more than 16384 bytes together")

    def test_barcodes(self) -> None:
        """1,000 bar codes are accepted, one more is not."""
        code = {"cmd": "barcode", "kind": "code128", "data": "1"}
        self.assertEqual(len(read_doccmd([code] * MOST_BARCODES)), MOST_BARCODES)
        refused = self.refusal(*[code] * (MOST_BARCODES + 1))
        self.assertEqual(refused, "doc.doccmd[1000]: at most 1000 bar codes are taken")

    def test_picture(self) -> None:
        """A picture is refused by the size in its header, before it is unpacked."""
        huge = bytearray(b64decode(png(8, 8)))
        huge[16:24] = (LARGEST_SIDE + 1).to_bytes(4) + (8).to_bytes(4)
        data = b64encode(huge).decode()
        self.assertEqual(
            self.refusal({"cmd": "image", "data": data}),
            "doc.doccmd[0].data: the picture is 4097 x 8 dots, at most 4096 a side are taken",
        )

    def test_pictures(self) -> None:
        """All pictures of a document have four million dots at most."""
        command = {"cmd": "image", "data": png(1000, 1000)}
        self.assertEqual(len(read_doccmd([command] * 4)), 4)
        self.assertEqual(
            self.refusal(*[command] * 5), "doc.doccmd[4]: the pictures have more than 4000000 dots together"
        )

    def test_tiny_pictures(self) -> None:
        """There are 100 pictures at most, however small."""
        command = {"cmd": "image", "data": png(1, 1)}
        self.assertEqual(len(read_doccmd([command] * MOST_PICTURES)), MOST_PICTURES)
        refused = self.refusal(*[command] * (MOST_PICTURES + 1))
        self.assertEqual(refused, "doc.doccmd[100]: at most 100 pictures are taken")


class LinesTests(SynchronousTestCase):
    """`doc.lines`: as the lines of a service report, with a style."""

    def test_kinds(self) -> None:
        """A line is text, a bar code or a QR code, according to its `qr_type`."""
        self.assertEqual(
            read_lines(
                [
                    {"t": "Кава\\nзернова"},
                    {"t": "4820000000017", "qr_type": 1},
                    {"t": "A-1", "qr_type": "2"},
                    {"t": "x", "qr_type": 100},
                    {},
                ]
            ),
            [Line("Кава\nзернова"), Barcode("ean13", "4820000000017"), Barcode("code128", "A-1"), Qr("x"), Line("")],
        )

    def test_style(self) -> None:
        """Texts have a style, codes a place; unknown members are ignored."""
        self.assertEqual(
            read_lines(
                [
                    {"t": "Кава", "bold": 1, "align": "center", "size": 2, "colour": "red"},
                    {"t": "x", "qr_type": 100, "align": "left"},
                    {"t": "1", "qr_type": 2, "align": "right", "bold": True},
                ]
            ),
            [Line("Кава", "center", True, 2), Qr("x", align="left"), Barcode("code128", "1", align="right")],
        )

    def test_refusals(self) -> None:
        """An invalid member is refused with its path."""
        for line, reason in (
            ({"t": "4820000000015", "qr_type": 1}, "t: the check digit of EAN-13 is 5, 7 is expected"),
            ({"t": [], "qr_type": 0}, "t: a text is expected"),
            ({"t": "x", "qr_type": 3}, "qr_type: 0, 1, 2 or 100 is expected"),
            ({"t": "x", "size": 9}, "size: a number from 1 to 2 is expected"),
            ({"t": "x", "align": "top"}, "align: left, center or right is expected"),
        ):
            refused = self.assertRaises(Refused, read_lines, [{}, {}, line])
            self.assertEqual(english(refused, *NAMES), f"doc.lines[2].{reason}")

    def test_too_many(self) -> None:
        """More than 10,000 lines are refused."""
        refused = self.assertRaises(Refused, read_lines, [{}] * 10_001)
        self.assertEqual(english(refused, *NAMES), "doc.lines: at most 10000 elements are taken, not 10001")


texts = st.text(max_size=60)
ascii_texts = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=40)
aligns = st.sampled_from(ALIGNS)
sizes = st.sampled_from((1, 2))
anything = st.lists(
    st.one_of(
        st.builds(Line, texts, aligns, st.booleans(), sizes, st.booleans()),
        st.builds(Pair, texts, texts, st.booleans(), sizes),
        st.builds(Rule, st.text("-=~ *", min_size=1, max_size=8)),
        st.builds(
            Qr, texts.filter(bool), st.none() | st.integers(1, 16), st.sampled_from(("L", "M", "Q", "H")), aligns
        ),
        st.builds(
            Barcode, st.just("code128"), ascii_texts, st.integers(1, 255), st.integers(2, 6), st.booleans(), aligns
        ),
        st.builds(Barcode, st.just("ean13"), st.just("4820000000017")),
        st.builds(Barcode, st.just("ean8"), st.just("96385074")),
        st.builds(
            Image, st.integers(1, 16), st.binary(min_size=2, max_size=8).map(lambda data: data * 2), aligns
        ).map(lambda image: Image(8 * image.stride, image.data, image.align)),
        st.builds(Logo, st.integers(1, 99), aligns),
        st.builds(Feed, st.integers(1, 255)),
        st.builds(Cut, st.booleans()),
        st.builds(Drawer, st.sampled_from((2, 5)), st.integers(2, 400), st.integers(401, 510)),
        st.builds(Beep, st.integers(1, 9), st.integers(50, 450)),
    ),
    max_size=6,
)


class WrittenTests(SynchronousTestCase):
    """Any form in the document language."""

    def test_short(self) -> None:
        """Members with their default are left out."""
        self.assertEqual(
            write_doccmd([Line("Кава", bold=True), Rule(), Cut(), Qr("x", level="L")]),
            [
                {"cmd": "text", "text": "Кава", "bold": True},
                {"cmd": "rule"},
                {"cmd": "cut"},
                {"cmd": "qr", "data": "x", "level": "L"},
            ],
        )

    def test_feed(self) -> None:
        """More blank lines than one command feeds are several commands; zero lines are no command."""
        self.assertEqual(
            write_doccmd([Feed(300), Feed(0)]), [{"cmd": "feed", "lines": 255}, {"cmd": "feed", "lines": 45}]
        )

    def test_receipt(self) -> None:
        """A receipt that is written and read again is the same form."""
        form = receipt_form(SAMPLE, "TEST_17")
        self.assertEqual(read_doccmd(write_doccmd(form)), form)

    def test_data_uri(self) -> None:
        """A till gets JSON in UTF-8 that can be sent to a printer as it is."""
        form = receipt_form(SAMPLE, "TEST_17")
        prefix = "data:application/json;charset=utf-8;base64,"
        uri = as_data_uri(form)
        self.assertTrue(uri.startswith(prefix))
        raw = b64decode(uri.removeprefix(prefix), validate=True)
        self.assertEqual(json.loads(raw.decode())[0], {"cmd": "text", "text": form[0].text, **HEAD})  # type: ignore[union-attr]
        self.assertEqual(read_doccmd(json.loads(raw)), form)

    @given(anything)
    def test_there_and_back(self, form: list[Element]) -> None:
        """Every form, written as JSON and read again, is the same form."""
        self.assertEqual(read_doccmd(json.loads(json.dumps(write_doccmd(form)))), form)


HEAD: dict[str, Any] = {"align": "center", "bold": True}
"""The style of the first line of a test receipt."""


class PageTests(SynchronousTestCase):
    """The page that explains the language."""

    def examples(self) -> list[str]:
        """Every JSON block of the page."""
        return re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)

    def test_examples(self) -> None:
        """Every example of the page is accepted, and every command has one."""
        said = set()
        for example in self.examples():
            document = json.loads(example)
            commands = document["doc"]["doccmd"] if isinstance(document, dict) and "doccmd" in document["doc"] else []
            lines = document["doc"].get("lines", []) if isinstance(document, dict) else []
            commands = document if isinstance(document, list) else commands
            self.assertEqual(len(read_doccmd(commands)), len(commands))
            self.assertEqual(len(read_lines(lines)), len(lines))
            said |= {command["cmd"] for command in commands}
        self.assertEqual(
            said, set(["text", "pair", "rule", "qr", "barcode", "image", "logo", "feed", "cut", "drawer", "beep"])
        )

    def test_members(self) -> None:
        """The page has every member that can be given."""
        page = PAGE.read_text(encoding="utf-8")
        for command in ("text", "pair", "rule", "qr", "barcode", "image", "logo", "feed", "cut", "drawer", "beep"):
            refused = self.assertRaises(Refused, read_doccmd, [{"cmd": command, "nonsense": 1}])
            known = english(refused, *NAMES).partition("; ")[2].removesuffix(" can be given").split(", ")
            (row,) = re.findall(rf"^\|`{command}`\|.*$", page, re.M)
            for member in known:
                self.assertIn(f"`{member}`", row)
