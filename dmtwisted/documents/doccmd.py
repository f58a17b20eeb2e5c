"""The document language: a form as a JSON array of commands (docs/reference/printers.md#document-language).

    [{"cmd": "text", "text": "КАВ'ЯРНЯ", "align": "center", "bold": true, "size": 2},
     {"cmd": "pair", "left": "Кава", "right": "51.00"},
     {"cmd": "rule"},
     {"cmd": "qr", "data": "https://example.com/menu"},
     {"cmd": "cut"}]

A document with an error is refused with the path before anything is printed. A member that the command does not have
is refused too, so that a typing error does not get lost.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Literal, get_args

import msgspec

from dmtwisted.documents.extent import MOST_DOTS, Extent
from dmtwisted.documents.forms import QR_CAPACITY, check_barcode, qr_code
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
    QrLevel,
    Rule,
    Size,
    Symbology,
)
from dmtwisted.documents.pictures import as_png, size_of
from dmtwisted.requests import (
    ARRAY_EXPECTED,
    BASE64_EXPECTED,
    OBJECT_EXPECTED,
    TEXT_EXPECTED,
    Members,
    Stray,
    malformed,
    more_than,
)
from dmtwisted.results import Text, at_most, from_to, joined, one_of
from dmtwisted.wording import wording
from protocols.printers import raster

MOST_ELEMENTS = 10_000
"""Commands of one document."""

LONGEST_TEXT = 4096
"""Characters of one text."""

LARGEST_SIDE = 4096
"""Dots of a side of a picture: half a metre of paper."""

WIDEST = 576
"""Dots of the widest paper (docs/reference/printers.md#paper), to which wider pictures are reduced."""

LONGEST_RULE = 8
"""Characters of the pattern of a rule."""

_encode = msgspec.json.Encoder().encode


def read_doccmd(value: object, path: str = "doc.doccmd", dots: int = WIDEST) -> list[Element]:
    """The form of a document.

    :param value: the decoded array.
    :param path: its path in the request, for refusals.
    :param dots: width of the paper, to which wider pictures are reduced.
    :raises Refused: 2000 with the path of the first error: ``doc.doccmd[3].data``.
    """
    return _read_each(value, path, lambda members: _command(members, dots))


def read_lines(value: object, path: str = "doc.lines", strays: dict[str, Stray] | None = None) -> list[Element]:
    """The form of ``doc.lines``: the lines of a service report with styles, ``{t, qr_type, bold, align, size}``.

    :param strays: where members are kept that no line uses.
    :raises Refused: 2000 with the path of the first error: ``doc.lines[2].t``.
    """

    def read(members: _Strict) -> Element:
        members.check(_styled_line)
        return _styled_line(members)

    return _read_each(value, path, read, strays)


def write_doccmd(form: Sequence[Element]) -> list[dict[str, Any]]:
    """``form`` in the document language, without members that have their default."""
    return [command for element in form for command in _written(element)]


def as_data_uri(form: Sequence[Element]) -> str:
    """``form`` in the document language as a data URI of JSON in UTF-8."""
    return f"data:application/json;charset=utf-8;base64,{b64encode(_encode(write_doccmd(form))).decode()}"


_USUAL: dict[type[Element], tuple[str, dict[str, object]]] = {
    Line: ("text", {"text": None, "align": "left", "bold": False, "underline": False, "size": 1}),
    Pair: ("pair", {"left": None, "right": None, "bold": False, "size": 1}),
    Rule: ("rule", {"char": "-"}),
    Qr: ("qr", {"data": None, "level": "M", "module": None, "align": "center"}),
    Barcode: ("barcode", {"kind": None, "data": None, "height": 80, "module": 2, "label": True, "align": "center"}),
    Image: ("image", {"data": None, "align": "center"}),
    Feed: ("feed", {"lines": 1}),
    Logo: ("logo", {"number": 1, "align": "center"}),
    Cut: ("cut", {"partial": True}),
    Drawer: ("drawer", {"pin": 2, "on_ms": 50, "off_ms": 500}),
    Beep: ("beep", {"times": 1, "each_ms": 100}),
}
"""The name of each element, and the defaults of its members; `None` for required ones."""

_MEMBERS = {name: tuple(usual) for name, usual in _USUAL.values()}


# Reading


def _read_each(
    value: object, path: str, read: Callable[[_Strict], Element], strays: dict[str, Stray] | None = None
) -> list[Element]:
    if not isinstance(value, list):
        raise malformed(path, ARRAY_EXPECTED)
    if len(value) > MOST_ELEMENTS:
        raise malformed(path, more_than(MOST_ELEMENTS, len(value)))
    form: list[Element] = []
    extent = Extent()
    for index, entry in enumerate(value):
        where = f"{path}[{index}]"
        if not isinstance(entry, dict):
            raise malformed(where, OBJECT_EXPECTED)
        members = _Strict(entry, where, strays)
        element = read(members)
        too_much = extent.add(element, members.dots)
        if too_much is not None:
            raise malformed(where, too_much)
        form.append(element)
    return form


_UNKNOWN_MEMBER = Text("невідоме поле", "unknown member")
_PRINTABLE = Text(
    "очікується один або кілька друкованих знаків", "one or more characters that can be printed are expected"
)


def _can_be(names: Iterable[str]) -> Text:
    listed = ", ".join(names)
    return Text(f"можна: {listed or 'жодного'}", f"{listed or 'none'} can be given")


class _Strict(Members):
    """The members of one command, with checks that several commands need."""

    __slots__ = ("dots",)

    def __init__(self, values: dict[str, Any], path: str, strays: dict[str, Stray] | None = None) -> None:
        super().__init__(values, path, strays)
        self.dots = 0
        """Dots of the picture of this command, in its file."""

    def only(self, *names: str) -> None:
        """Check that no other members are given."""
        for name in self.values:
            if name != "cmd" and name not in names:
                raise malformed(self.path(name), joined(_UNKNOWN_MEMBER, _can_be(names), separator="; "))

    def needed(self, name: str, longest: int = LONGEST_TEXT) -> str:
        """A required text, which may be empty."""
        if not self.has(name):
            raise malformed(self.path(name), TEXT_EXPECTED)
        text = self.text(name)
        if len(text) > longest:
            raise malformed(self.path(name), at_most(longest, len(text)))
        return text

    def within(self, name: str, usual: int, least: int, most: int) -> int:
        """A whole number in a range; ``usual`` when absent."""
        number = self.integer(name, usual)
        if not least <= number <= most:
            raise malformed(self.path(name), from_to(least, most))
        return number

    def choice(self, name: str, usual: str, choices: tuple[str, ...]) -> Any:
        """One of ``choices``; ``usual`` when absent."""
        word = self.text(name) or usual
        if word not in choices:
            raise malformed(self.path(name), one_of(*choices))
        return word

    def align(self, usual: Align) -> Align:
        """The alignment."""
        found: Align = self.choice("align", usual, get_args(Align))
        return found

    def size(self) -> Size:
        """The size of the letters."""
        return 2 if self.within("size", 1, 1, 2) == 2 else 1

    def code(self, name: str, kind: str = "") -> str:
        """The text of a bar code or QR code of ``kind``."""
        data = self.text(name)
        try:
            check_barcode(kind, data)
        except ValueError as error:
            raise malformed(self.path(name), wording(error)) from None
        return data

    def picture(self, name: str, dots: int) -> Image:
        """A PNG or BMP file in base64."""
        text = self.text(name)
        if text.startswith("data:image/"):
            text = text.partition(";base64,")[2]
        try:
            source = b64decode(text, validate=True)
        except (NotBase64, ValueError):
            raise malformed(self.path(name), BASE64_EXPECTED) from None
        try:
            width, height = size_of(source)
            if not (0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE and width * height <= MOST_DOTS):
                raise ValueError(f"the picture is {width} x {height} dots, at most {LARGEST_SIDE} a side are taken")
            self.dots = width * height
            return _picture(source, dots)
        except ValueError as error:
            raise malformed(self.path(name), wording(error)) from None


_picture = lru_cache(maxsize=8)(raster.picture)
"""Cached, because a shop's logo is the same each time."""


def _command(members: _Strict, dots: int) -> Element:
    name = members.text("cmd")
    read = _COMMANDS.get(name)
    if read is None:
        unknown = Text(f"невідома команда «{name}»", f"unknown command {name!r}") if name else ""
        raise malformed(members.path("cmd"), joined(unknown, _can_be(_COMMANDS), separator="; "))
    members.only(*_MEMBERS[name])
    return read(members, dots)


def _text(members: _Strict, dots: int) -> Line:
    return Line(
        members.needed("text"),
        members.align("left"),
        members.flag("bold"),
        members.size(),
        members.flag("underline"),
    )


def _pair(members: _Strict, dots: int) -> Pair:
    return Pair(members.needed("left"), members.needed("right"), members.flag("bold"), members.size())


def _rule(members: _Strict, dots: int) -> Rule:
    char = members.needed("char", LONGEST_RULE) if members.has("char") else "-"
    if not char.isprintable() or not char:
        raise malformed(members.path("char"), _PRINTABLE)
    return Rule(char)


def _qr(members: _Strict, dots: int) -> Qr:
    data = members.code("data", "qr")
    level: QrLevel = members.choice("level", qr_code(data).level, get_args(QrLevel))
    size = len(data.encode("utf-8", "replace"))
    if size > QR_CAPACITY[level]:
        raise malformed(
            members.path("data"),
            Text(
                f"QR-код рівня {level} вміщує від 1 до {QR_CAPACITY[level]} байтів, а не {size}",
                f"a QR code of level {level} takes 1 to {QR_CAPACITY[level]} bytes, not {size}",
            ),
        )
    module = members.within("module", 0, 1, 16) if members.has("module") else None
    return Qr(data, module, level, members.align("center"))


def _barcode(members: _Strict, dots: int) -> Barcode:
    kind: Symbology = members.choice("kind", "", get_args(Symbology))
    return Barcode(
        kind,
        members.code("data", kind),
        members.within("height", 80, 1, 255),
        members.within("module", 2, 2, 6),
        members.flag("label") if members.has("label") else True,
        members.align("center"),
    )


def _image(members: _Strict, dots: int) -> Image:
    align = members.align("center")
    image = members.picture("data", dots)
    return Image(image.width, image.data, align)


def _logo(members: _Strict, dots: int) -> Logo:
    return Logo(members.within("number", 1, 1, 99), members.align("center"))


def _feed(members: _Strict, dots: int) -> Feed:
    return Feed(members.within("lines", 1, 1, 255))


def _cut(members: _Strict, dots: int) -> Cut:
    return Cut(members.flag("partial") if members.has("partial") else True)


def _drawer(members: _Strict, dots: int) -> Drawer:
    pin: Literal[2, 5] = 5 if members.choice("pin", "2", ("2", "5")) == "5" else 2
    on = members.within("on_ms", 50, 2, 509)
    return Drawer(pin, on, members.within("off_ms", 500, on + 1, 510))


def _beep(members: _Strict, dots: int) -> Beep:
    return Beep(members.within("times", 1, 1, 9), members.within("each_ms", 100, 50, 450))


_COMMANDS: dict[str, Callable[[_Strict, int], Element]] = {
    "text": _text,
    "pair": _pair,
    "rule": _rule,
    "qr": _qr,
    "barcode": _barcode,
    "image": _image,
    "logo": _logo,
    "feed": _feed,
    "cut": _cut,
    "drawer": _drawer,
    "beep": _beep,
}
"""The commands, in the order of the reference page."""


_LINE_KINDS = {0: "", 1: "ean13", 2: "code128", 100: "qr"}


def _styled_line(members: _Strict) -> Element:
    kind = _LINE_KINDS.get(members.integer("qr_type"))
    if kind is None:
        raise malformed(members.path("qr_type"), one_of(*_LINE_KINDS))
    if kind == "":
        text = members.needed("t") if members.has("t") else ""
        # A till may write a line break as two characters (docs/reference/http-interface.md#characters).
        return Line(text.replace("\\n", "\n"), members.align("left"), members.flag("bold"), members.size())
    data, align = members.code("t", kind), members.align("center")
    if kind == "qr":
        return replace(qr_code(data), align=align)
    return Barcode("ean13" if kind == "ean13" else "code128", data, align=align)


# Writing


def _written(element: Element) -> Iterator[dict[str, Any]]:
    if isinstance(element, Image):
        align = {} if element.align == "center" else {"align": element.align}
        yield {"cmd": "image", "data": b64encode(as_png(element)).decode(), **align}
    elif isinstance(element, Feed):
        for fed in range(0, element.lines, 255):
            yield {"cmd": "feed", "lines": min(255, element.lines - fed)}
    else:
        name, usual = _USUAL[type(element)]
        members = {member: getattr(element, member) for member in usual}
        yield {"cmd": name, **{member: value for member, value in members.items() if value != usual[member]}}
