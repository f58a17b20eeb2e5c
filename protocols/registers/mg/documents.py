"""Documents of MG registers as JSON (docs/reference/registers.md#mg).

One POST is one whole document: ``{"F": [{"S": {…}}, {"D": {…}}, {"P": {…}}]}``. Sums are numbers in hryvnias; here
they are kopecks, and quantities thousandths. Firmware sends slightly broken JSON; `read` repairs it.

The shape of journal entries, and errors with status 200, are readings (L).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from protocols.errors import Garbled
from protocols.registers.troubles import DeviceRefused, Meaning, Trouble

CASH_ROW, CARD_ROW = 1, 4
"""Rows of the table of payments in field data (M)."""


class Kind(Enum):
    """Kinds of documents, and the Z report in the journal."""

    SALE = "F"
    RETURN = "R"
    CASH = "IO"
    TEXT = "P"
    COPY = "L"
    Z = "Z1"


# Lines. Members that are None are not sent.


@dataclass(frozen=True)
class Sale:
    """A line of goods; ``tax`` is a row of the table of taxes from 1."""

    code: str
    name: str
    quantity: int
    price: int
    tax: int
    department: int | None = None
    group: int | None = None
    uktzed: str | None = None
    excise: tuple[str, ...] = ()


@dataclass(frozen=True)
class Discount:
    """A discount (negative) or markup, of the line before it or of all: a sum, or hundredths of a percent."""

    amount: int | None = None
    percent: int | None = None
    all: bool = False
    tax: int | None = None


@dataclass(frozen=True)
class Payment:
    """A payment: row of the table of payments, cash when absent; the rest of the sum when that is absent."""

    row: int | None = None
    amount: int | None = None
    rrn: str | None = None
    card: str | None = None
    bank: str | None = None
    terminal: str | None = None
    code: str | None = None
    fee: int | None = None


@dataclass(frozen=True)
class Comment:
    """A line of text in a receipt."""

    text: str


@dataclass(frozen=True)
class Barcode:
    """A bar code."""

    code: str
    type: int | None = None
    width: int | None = None
    height: int | None = None
    feed: int | None = None


@dataclass(frozen=True)
class Cash:
    """Cash put in, or taken out when negative."""

    amount: int
    row: int | None = None


@dataclass(frozen=True)
class Text:
    """A line of a document of text."""

    text: str
    attributes: int | None = None


Line: TypeAlias = Sale | Discount | Payment | Comment | Barcode | Cash | Text

_KEYS: dict[str, Any] = {
    "S": Sale,
    "D": Discount,
    "P": Payment,
    "C": Comment,
    "BC": Barcode,
    "IO": Cash,
    "N": Text,
}
_KEY_OF = {kind: key for key, kind in _KEYS.items()}

_NAMES = {
    Sale: {"quantity": "qty", "department": "dep", "group": "grp"},
    Discount: {"amount": "sum", "percent": "prc"},
    Payment: {"row": "no", "amount": "sum", "terminal": "term", "code": "authcode"},
    Comment: {"text": "cm"},
    Cash: {"amount": "sum", "row": "no"},
    Text: {"text": "cm", "attributes": "attr"},
}
"""Names of members that differ from ours."""

_PARTS = {"qty": 1000, "price": 100, "sum": 100, "prc": 100, "fee": 100}
_TEXTS = frozenset(("code", "name", "uktzed", "rrn", "card", "bank", "term", "authcode", "cm"))


@dataclass(frozen=True)
class Document:
    """A whole document."""

    kind: Kind
    lines: tuple[Line, ...]

    def encode(self) -> bytes:
        """The body of the POST."""
        return msgspec.json.encode({self.kind.value: [{_KEY_OF[type(line)]: _members(line)} for line in self.lines]})

    @classmethod
    def decode(cls, body: bytes) -> Document:
        """The document in a body.

        :raises Garbled: it is none.
        """
        found = read(body)
        kinds = [kind for kind in Kind if kind.value in found]
        if len(kinds) != 1:
            raise Garbled("not a document", body)
        return cls(kinds[0], tuple(lines_of(found[kinds[0].value])))


def lines_of(given: Any) -> Iterator[Line]:
    """The lines in the array of a document; lines of unknown kinds are left out.

    :raises Garbled: this is no such array.
    """
    for one in given if isinstance(given, list) else ():
        if not isinstance(one, dict):
            raise Garbled(f"no line: {one!r}")
        for key, value in one.items():
            if key in _KEYS and isinstance(value, dict):
                yield _line(_KEYS[key], value)


def _members(line: Any) -> dict[str, Any]:
    names = _NAMES.get(type(line), {})
    found: dict[str, Any] = {}
    for field in fields(line):
        value, name = getattr(line, field.name), names.get(field.name, field.name)
        if name == "excise":
            value = [{"stamp": stamp} for stamp in value] or None
        elif name == "all":
            value = int(value) or None
        elif value is not None and name in _PARTS:
            value = _number(value, _PARTS[name])
        if value is not None:
            found[name] = value
    return found


def _number(value: int, parts: int) -> int | float:
    """As few digits as it needs; a sum of kopecks has an exact shortest form as a float."""
    return value // parts if value % parts == 0 else value / parts


def _line(kind: Any, given: Mapping[str, Any]) -> Line:
    names = _NAMES.get(kind, {})
    values: dict[str, Any] = {}
    for field in fields(kind):
        name = names.get(field.name, field.name)
        value = given.get(name)
        if value is None:
            continue
        if name == "excise":
            stamps = value if isinstance(value, list) else ()
            value = tuple(str(each.get("stamp", "")) for each in stamps if isinstance(each, dict))
        elif name == "all":
            value = bool(whole(value))
        elif name in _TEXTS:
            value = str(value)
        else:
            value = parts_of(value, _PARTS.get(name, 1))
        values[field.name] = value
    try:
        line: Line = kind(**values)
    except TypeError:
        raise Garbled(f"a line without its members: {dict(given)!r}") from None
    return line


def parts_of(value: Any, parts: int) -> int:
    """A number, or its text, as a whole number of parts.

    :raises Garbled: it is none.
    """
    try:
        found = Decimal(str(value).strip()) * parts
        if found != int(found):
            raise ValueError(value)
        return int(found)
    except (InvalidOperation, ValueError, OverflowError):
        raise Garbled(f"no amount: {value!r}") from None


def whole(value: Any, default: int = 0) -> int:
    """A whole number, whatever it is written as; ``default`` when there is none."""
    if isinstance(value, bool):
        return int(value)
    try:
        return int(Decimal(str(value).strip()))
    except (InvalidOperation, ValueError, OverflowError):
        return default


# Reading.

_decoder = msgspec.json.Decoder(float_hook=Decimal)
_LITERAL = re.compile(r'("(?:[^"\\]|\\.)*")', re.DOTALL)
_REPAIRS = (
    (re.compile(r",(\s*[}\]])"), r"\1"),
    (re.compile(r"([{\[])\s*,"), r"\1"),
    (re.compile(r",(?:\s*,)+"), ","),
    (re.compile(r"([}\]])(\s*)([{\[])"), r"\1,\2\3"),
    (re.compile(r"([:\[,]\s*-?)0+(\d)"), r"\1\2"),
)
"""Commas that are too many or missing, and zeros before numbers."""
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrtu])')


def read(body: bytes) -> dict[str, Any]:
    """One JSON object, repaired when it is slightly broken.

    :raises Garbled: it cannot be read.
    """
    found = read_any(body)
    if not isinstance(found, dict):
        raise Garbled("not a JSON object", body)
    return found


def read_any(body: bytes) -> Any:
    """Any JSON, repaired when it is slightly broken.

    :raises Garbled: it cannot be read.
    """
    try:
        return _decoder.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError, InvalidOperation):
        pass
    try:
        return _decoder.decode(_repaired(body.decode("utf-8", "replace")))
    except (msgspec.MsgspecError, ValueError, RecursionError, InvalidOperation) as error:
        raise Garbled(f"not JSON ({error})", body) from None


def _repaired(text: str) -> str:
    text = text.strip("\ufeff\0 \t\r\n")
    parts = _LITERAL.split(text)
    for place, part in enumerate(parts):
        if place % 2:
            clean = "".join(letter if letter >= " " else " " for letter in part)
            parts[place] = _BAD_ESCAPE.sub(r"\\\\", clean)
        else:
            for pattern, right in _REPAIRS:
                part = pattern.sub(right, part)
            parts[place] = part
    return "".join(parts)


@dataclass(frozen=True)
class State:
    """What `/cgi/state` tells; ``chk_id`` is the number of the last journal entry."""

    model: str
    serial: str
    chk_id: int
    z: int
    shift_open: bool
    fiscalised: bool
    fiscal_mode: int
    time: int

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> State:
        """The state in an answer.

        :raises Garbled: it has no number of the last entry.
        """
        if "chkId" not in given:
            raise Garbled(f"not a state: {sorted(given)}")
        return cls(
            str(given.get("model", "")),
            str(given.get("serial", "")),
            parts_of(given["chkId"], 1),
            whole(given.get("currZ")),
            bool(whole(given.get("IsWrk"))),
            bool(whole(given.get("Fiscalization"))),
            whole(given.get("FskMode")),
            whole(given.get("time")),
        )


@dataclass(frozen=True)
class Entry:
    """An entry of the journal: a document as the register registered it; ``total`` is its sum, if it is told."""

    id: int
    number: int
    document: Document
    at: int
    total: int | None = None

    @classmethod
    def of(cls, given: Any) -> Entry:
        """The entry in an answer.

        :raises Garbled: it is none.
        """
        kind = next((kind for kind in Kind if isinstance(given, dict) and kind.value in given), None)
        if kind is None or "id" not in given:
            raise Garbled(f"no entry of the journal: {given!r}")
        total = parts_of(given["sum"], 100) if given.get("sum") is not None else None
        document = Document(kind, tuple(lines_of(given[kind.value])))
        return cls(parts_of(given["id"], 1), whole(given.get("no")), document, whole(given.get("datetime")), total)


def entries_of(given: Any) -> list[Entry]:
    """The entries of a journal, which may be one or a list.

    :raises Garbled: one of them is none.
    """
    return [Entry.of(each) for each in (given if isinstance(given, list) else [given])]


@dataclass(frozen=True)
class FormSum:
    """The turnover of a form of payment."""

    row: int
    name: str
    amount: int


def form_sums(given: Any) -> list[FormSum]:
    """The sums in an answer.

    :raises Garbled: it has none.
    """
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise Garbled("not the sums of payments")
    return [
        FormSum(whole(each.get("no")), str(each.get("name", "")), parts_of(each.get("sum", 0), 100)) for each in given
    ]


# Errors.

_T = Trouble
_ERRORS = {
    0x25: (_T.NO_PAPER, "no paper", "немає паперу"),
    0x31: (_T.WRONG_MODE, "the cashier is logged in already", "касира вже зареєстровано"),
    0x32: (_T.BAD_PASSWORD, "wrong password", "неправильний пароль"),
    0x8B: (_T.NO_PAPER, "no paper", "немає паперу"),
    0xA6: (_T.UNSENT, "three or more reports are unsent", "три або більше звітів не передано"),
    0xBD: (_T.CLOCK, "wrong date", "неправильна дата"),
    0xC2: (_T.BAD_SYNTAX, "wrong parameter", "неправильний параметр"),
    0xC3: (_T.NOT_FISCALISED, "not in fiscal mode", "не у фіскальному режимі"),
    0xC4: (_T.ARTICLE, "the code was sold with another name or tax", "код уже продано з іншою назвою або податком"),
    0xC7: (_T.WRONG_MODE, "the shift is not open", "зміну не відкрито"),
    0xCB: (_T.WRONG_MODE, "the sale is forbidden", "продаж заборонено"),
    0xCF: (_T.SHIFT_OVER, "a Z report is needed", "потрібен Z-звіт"),
    0xD3: (_T.CLOCK, "the date has changed", "змінилася дата"),
    0xD6: (_T.WRONG_MODE, "the daily report", "денний звіт"),
    0xD7: (_T.WRONG_MODE, "the daily report", "денний звіт"),
    0xDB: (_T.BAD_SYNTAX, "a negative sum", "від’ємна сума"),
    0xDD: (_T.WRONG_MODE, "nothing was sold", "немає продажів"),
    0xDF: (_T.WRONG_MODE, "wrong sum of the payment", "неправильна сума оплати"),
    0xE1: (_T.WRONG_MODE, "wrong sum of the payment", "неправильна сума оплати"),
    0xE8: (_T.BAD_SYNTAX, "the sum is zero", "нульова сума"),
    0xE9: (_T.OVERFLOW, "overflow", "переповнення"),
    0xEB: (_T.BAD_SYNTAX, "wrong quantity", "неправильна кількість"),
    0xED: (_T.BAD_SYNTAX, "wrong price", "неправильна ціна"),
    0xEE: (_T.ARTICLE, "no such article", "немає такого товару"),
    0xEF: (_T.WRONG_MODE, "cash is being moved", "триває рух готівки"),
    0xF0: (_T.WRONG_MODE, "there are sales", "є продажі"),
    0xF1: (_T.WRONG_MODE, "wrong form of payment", "неправильна форма оплати"),
    0xF4: (_T.BAD_SYNTAX, "the receipt is negative", "від’ємний чек"),
    0xF5: (_T.OVERFLOW, "the receipt is full", "чек заповнений"),
    0xF8: (_T.WRONG_MODE, "the receipt is not paid", "чек не оплачено"),
    0xF9: (_T.WRONG_MODE, "no cashier is logged in", "касира не зареєстровано"),
    0xFA: (_T.WRONG_MODE, "no right to do it", "недостатньо прав"),
    0xFC: (_T.WRONG_MODE, "not open", "не відкрито"),
    0xFE: (_T.WRONG_MODE, "already open", "уже відкрито"),
    0xFF: (_T.MEMORY_FULL, "the journal is full", "журнал заповнений"),
    **{code: (_T.WRONG_MODE, "no access to the table", "немає доступу до таблиці") for code in range(0x33, 0x40)},
}


def meaning(code: int) -> Meaning:
    """What an error means; `/desc` of the register has its own words."""
    return Meaning(*_ERRORS.get(code, (_T.UNKNOWN, "unknown error", "невідома помилка")))


def refusal_in(given: Any) -> DeviceRefused | None:
    """The error in an answer to a command: the first one, with the line that it is about."""
    errors = given.get("err") if isinstance(given, dict) else None
    if not isinstance(errors, list) or not errors:
        return None
    first = errors[0] if isinstance(errors[0], dict) else {}
    text = str(first.get("e", ""))
    code = int(text[1:], 16) if re.fullmatch(r"x[0-9A-Fa-f]{1,4}", text) else -1
    line = f", line {first['line']}" if "line" in first else ""
    return DeviceRefused(f"{text or '?'}{line}", meaning(code))


def encode_errors(*errors: tuple[int, int | None]) -> bytes:
    """An answer with errors: code, and the line if it is about one."""
    return msgspec.json.encode(
        {"err": [{"e": f"x{code:02X}"} | ({} if line is None else {"line": line}) for code, line in errors]}
    )
