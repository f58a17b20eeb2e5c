"""Typed requests from JSON text, with the tolerance that tills rely on (docs/reference/http-interface.md#tolerance).

Numbers may be texts, an empty text may mean "not given", ``null`` means absent, and the last of two members of one
name counts (specification 2.2). Anything else is refused with 2000 and the member's path.

A member that no reader of the task asks for changes nothing; it is kept as a `Stray`. Which members a reader asks for
is found out by letting it read an `Outline` once, so that the readers are the only list of names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from dmtwisted.clock import SPAN_EXPECTED, span
from dmtwisted.money import TOO_LARGE, NotANumber, number, scaled
from dmtwisted.results import Refused, Res, Text, Words, at_most, each, one_of
from dmtwisted.security import mask_cards

MAX_BODY = 4 * 1024 * 1024
"""The longest request body, in bytes."""

MAX_DEPTH = 64
"""How deep objects and arrays of a request may be nested."""

MAX_TAG = 200
"""The longest ``tag``, in characters (specification 8)."""

LONG_BODY, MOST_VALUES = 64 * 1024, 50_000
"""Bytes from which a body is counted before it is decoded, and the commas and brackets that it may have: each value
costs much more than its bytes."""

MOST_ROWS, MOST_PAYS, MOST_DISCOUNTS, MOST_STAMPS = 1000, 100, 20, 1000
"""Rows and payments of a receipt, discounts of it and of a row, excise stamps of a row. The tax service takes no
document of more than 200 KB (docs/reference/tax-service.md#transport), which a thousand rows exceed."""

MOST_LINES = 2000
"""Lines of a service report."""

MOST_CONTENT = 1024 * 1024
"""Bytes of what a task is read to, which goes on through journal, document and answer; documents for printers are
none of it."""

TEXT_EXPECTED = Text("очікується текст", "a text is expected")
WHOLE_EXPECTED = Text("очікується ціле число", "a whole number is expected")
OBJECT_EXPECTED = Text("очікується об’єкт", "an object is expected")
ARRAY_EXPECTED = Text("очікується масив", "an array is expected")
TASK_EXPECTED = Text("очікується номер завдання", "a task number is expected")
BASE64_EXPECTED = Text("очікується base64", "base64 is expected")
NEGATIVE = Text("число не може бути від’ємним", "the number cannot be negative")
DISCOUNT_EXPECTED = Text("очікується 0 (сума) або 1 (відсоток)", "0 (amount) or 1 (percent) is expected")
_TOO_DEEP = Text(
    f"об’єкти й масиви вкладено глибше {MAX_DEPTH} рівнів", f"objects and arrays lie more than {MAX_DEPTH} deep"
)
_TOO_MUCH = Text(
    f"поля завдання разом довші за {MOST_CONTENT} байтів", f"the task's members together exceed {MOST_CONTENT} bytes"
)
_TOO_MANY_VALUES = Text(
    f"тіло запиту має понад {MOST_VALUES} ком і дужок", f"the body has more than {MOST_VALUES} commas and brackets"
)
_NOT_UTF8 = Text("тіло запиту не в UTF-8", "the body is not UTF-8")

BOM = b"\xef\xbb\xbf"
"""A byte-order mark, which is skipped."""
LONGEST_NUMBER = 400
"""Characters of a number with a fraction or exponent in a long body: a double that is written out has fewer."""


def _decimal(text: str) -> Decimal:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(TOO_LARGE.en)
    return Decimal(text)


_decode = msgspec.json.Decoder(float_hook=Decimal).decode
_decode_long = msgspec.json.Decoder(float_hook=_decimal).decode
T = TypeVar("T")


def malformed(path: str, reason: Words) -> Refused:
    """The refusal of a member: 2000 with the path and what is wrong there."""
    return Refused(Res.MALFORMED, each(reason, lambda one: f"{path}: {one}") if path else reason)


def too_long(most: int) -> Text:
    """What is wrong with a body of more than ``most`` bytes."""
    return Text(f"тіло запиту довше за {most} байтів", f"the body is longer than {most} bytes")


def more_than(most: int, given: int) -> Text:
    """What is wrong with an array of more than ``most`` entries."""
    return Text(f"щонайбільше {most} елементів, а не {given}", f"at most {most} elements are taken, not {given}")


def not_json(why: Exception | Text) -> Text:
    """What is wrong with a body that is not JSON; a parser's own words are English."""
    place = _PLACE.search(str(why))
    uk = why.uk if isinstance(why, Text) else f"байт {place[1]}" if place is not None else ""
    en = why.en if isinstance(why, Text) else str(why)
    return Text(f"тіло запиту не є JSON ({uk})" if uk else "тіло запиту не є JSON", f"the body is not JSON ({en})")


_PLACE = re.compile(r"byte (\d+)")


def read_moment(member: str, text: str, end: int) -> int | None:
    """The first (``end`` 0) or last (1) moment of the period that ``text`` spells; `None` when it is empty.

    :raises Refused: 2000 with the path ``member`` when it is not a period.
    """
    try:
        return span(text)[end] if text else None
    except ValueError:
        raise malformed(member, SPAN_EXPECTED) from None


def read_json(body: bytes) -> Members:
    """The root object of ``body``.

    :raises Refused: 2000 when it is too long, not UTF-8, not JSON, nested too deeply, or not an object.
    """
    if len(body) > MAX_BODY:
        raise malformed("", too_long(MAX_BODY))
    if body.startswith(BOM):
        body = body[len(BOM) :]
    check_count(body)
    is_long = len(body) > LONG_BODY
    try:
        root = _decode_long(body) if is_long else _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # What the decoder raises for text that is not UTF-8 depends on its version.
        raise malformed("", not_json(error) if _is_utf8(body) else _NOT_UTF8) from None
    except RecursionError:
        raise malformed("", _TOO_DEEP) from None
    except (ValueError, ArithmeticError):
        # A number that Python cannot hold; its own message would not help a till.
        raise malformed("", not_json(TOO_LARGE)) from None
    if not isinstance(root, dict):
        raise malformed("", Text("тіло запиту не є об’єктом JSON", "the body is not a JSON object"))
    # Fewer brackets than levels cannot lie too deep, so most requests skip the walk.
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and _lies_deeper(root):
        raise malformed("", _TOO_DEEP)
    return LongMembers(root, "") if is_long else Members(root, "")


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def check_count(body: bytes) -> None:
    """See that a long ``body`` has no more values than can be decoded at once.

    :raises Refused: 2000.
    """
    if len(body) > LONG_BODY and body.count(b",") + body.count(b"{") + body.count(b"[") > MOST_VALUES:
        raise malformed("", _TOO_MANY_VALUES)


def _lies_deeper(root: dict[str, Any]) -> bool:
    """Whether objects and arrays are nested deeper than `MAX_DEPTH`."""
    level: list[Any] = [root]
    for _ in range(MAX_DEPTH):
        level = [
            value
            for outer in level
            for value in (outer.values() if outer.__class__ is dict else outer)
            if value.__class__ is dict or value.__class__ is list
        ]
        if not level:
            return False
    return True


class Stray(NamedTuple):
    """A member that the task does not use: where it stands, and the names that its object may have."""

    path: str
    known: frozenset[str]

    @property
    def name(self) -> str:
        """Its own name, without the path."""
        return self.path.rpartition(".")[2]


MOST_STRAYS, LONGEST_NAME = 20, 60
"""How many strays of a request are kept, and how much of their names, because callers choose both."""

_INDEX = re.compile(r"\[\d+\]")


def _says_nothing(value: Any) -> bool:
    """Whether a member of this value means the same as no member."""
    if isinstance(value, dict):
        return all(map(_says_nothing, value.values()))
    return not value


class Members:
    """One JSON object, read member by member; knows its path in the request.

    :param strays: where strays are kept, by their paths without indexes; the objects of a request share it.
    """

    __slots__ = ("_path", "strays", "values")

    def __init__(self, values: dict[str, Any], path: str, strays: dict[str, Stray] | None = None) -> None:
        self.values, self._path = values, path
        self.strays = {} if strays is None else strays

    def check(self, reader: Reader) -> None:
        """Keep the members that ``reader`` does not ask for as strays."""
        known = _KNOWN.get(reader) or _known_to(reader, type(self))
        if not known.issuperset(self.values):
            self._keep_strays(self.values, self._path, known)

    def _keep_strays(self, values: dict[str, Any], path: str, known: frozenset[str]) -> None:
        above = f"{path}." if path else ""
        for name, value in values.items():
            if len(self.strays) >= MOST_STRAYS:
                return
            if name in known or _says_nothing(value):
                continue
            shown = "".join(letter if letter.isprintable() else "?" for letter in name[:LONGEST_NAME])
            stray = Stray(above + mask_cards(shown), known)
            self.strays.setdefault(_INDEX.sub("[]", stray.path), stray)

    def path(self, name: str) -> str:
        """The path of the member ``name``, for messages: ``fiscal.receipt.rows[0].name``."""
        return f"{self._path}.{name}" if self._path else name

    def has(self, name: str) -> bool:
        """Whether the member is there and not ``null``."""
        return self.values.get(name) is not None

    def value(self, name: str) -> Any:
        """The raw value of the member; `None` when absent."""
        return self.values.get(name)

    def text(self, name: str) -> str:
        """A text; a number is taken as it is written, absent is empty."""
        value = self.values.get(name)
        if value.__class__ is str:
            return value
        if value is None:
            return ""
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return str(value)
        raise malformed(self.path(name), TEXT_EXPECTED)

    def code(self, name: str) -> str:
        """A code, such as a payment type: `"2"` for 2, 2.0 and " 2 ", else the text itself."""
        value = self.values.get(name)
        if value.__class__ is int and -(2**53) <= value <= 2**53:
            return str(value)
        text = self.text(name).strip()
        try:
            return str(self.integer(name)) if text else ""
        except Refused:
            return text

    def texts(self, name: str, most: int = MOST_STAMPS) -> tuple[str, ...]:
        """An array of at most ``most`` texts; empty when absent."""
        if self.values.get(name) is None:
            return ()
        return tuple(entries.text(entry) for entries, entry in self._entries(name, most))

    def codes(self, name: str) -> tuple[str, ...]:
        """A code, or an array of codes; empty when absent."""
        if not isinstance(self.values.get(name), list):
            return (self.code(name),)
        return tuple(entries.code(entry) for entries, entry in self._entries(name, MOST_STAMPS))

    def _entries(self, name: str, most: int) -> Iterator[tuple[Members, str]]:
        """The entries of an array, each as a member of a name that gives its path."""
        named = {f"{name}[{index}]": value for index, value in enumerate(self._list(name, most))}
        entries = Members(named, self._path)
        yield from ((entries, entry) for entry in named)

    def integer(self, name: str, default: int = 0) -> int:
        """A whole number, also as text; ``default`` when absent or empty."""
        value = self.values.get(name)
        if value.__class__ is int:
            if abs(value) > 2**53:
                raise malformed(self.path(name), TOO_LARGE)
            return value
        if value is None or value == "":
            return default
        # As many tills write it; the way below takes ten times as long.
        if value.__class__ is str and len(value) <= 15 and value.isascii() and value.isdigit():
            return int(value)
        try:
            digits = number(value)
        except NotANumber as error:
            raise malformed(self.path(name), error.text) from None
        if isinstance(digits, Decimal) and (digits.adjusted() > 15 or digits != digits.to_integral_value()):
            raise malformed(self.path(name), WHOLE_EXPECTED)
        return int(digits)

    def amount(self, name: str) -> int:
        """An amount of money in kopecks; 0 when absent or empty."""
        return self._scaled(name, 100) or 0

    def amount_or_none(self, name: str) -> int | None:
        """An amount of money in kopecks; `None` when absent or empty."""
        return self._scaled(name, 100)

    def quantity(self, name: str) -> int:
        """A quantity in thousandths; 0 when absent or empty."""
        return self._scaled(name, 1000) or 0

    def _scaled(self, name: str, factor: int) -> int | None:
        value = self.values.get(name)
        if value is None or value == "":
            return None
        try:
            return scaled(value, factor)
        except NotANumber as error:
            raise malformed(self.path(name), error.text) from None

    def flag(self, name: str) -> bool:
        """A truth value: ``true``, 1, also as text; absent and empty are false."""
        value = self.values.get(name)
        if value is None:
            return False
        if isinstance(value, bool):
            return value
        spelled = str(value).strip().lower() if isinstance(value, str | int) else None
        if spelled in ("1", "true"):
            return True
        if spelled in ("", "0", "false"):
            return False
        raise malformed(self.path(name), one_of("true", "false"))

    def object(self, name: str) -> Members | None:
        """An object; `None` when absent or empty, which the rules treat alike (1098)."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, dict):
            return Members(value, self.path(name), self.strays) if value else None
        raise malformed(self.path(name), OBJECT_EXPECTED)

    def read(self, name: str, read: Callable[[Members], T]) -> T | None:
        """The object ``name`` as ``read`` returns it; `None` when absent."""
        members = self.object(name)
        if members is None:
            return None
        if read not in _CHOOSING and not (_KNOWN.get(read) or _known_to(read, Members)).issuperset(members.values):
            members.check(read)
        return read(members)

    def read_each(self, name: str, read: Callable[[Members], T], most: int) -> tuple[T, ...]:
        """Each object in the array ``name`` as ``read`` returns it, ``most`` of them; empty when absent."""
        entries = self._list(name, most)
        if not entries:
            return ()
        found, known, where = [], _KNOWN.get(read) or _known_to(read, Members), self.path(name)
        for index, value in enumerate(entries):
            path = f"{where}[{index}]"
            if not isinstance(value, dict):
                raise malformed(path, OBJECT_EXPECTED)
            if not known.issuperset(value):
                self._keep_strays(value, path, known)
            found.append(read(Members(value, path, self.strays)))
        return tuple(found)

    def _list(self, name: str, most: int) -> list[Any]:
        value = self.values.get(name)
        if value is None:
            return []
        if isinstance(value, list):
            if len(value) > most:
                raise malformed(self.path(name), more_than(most, len(value)))
            return value
        raise malformed(self.path(name), ARRAY_EXPECTED)


class LongMembers(Members):
    """The root of a long body: what a task is read to is measured."""

    __slots__ = ()


class Outline(dict[str, Any]):
    """The values of an object without members, which records the names that a reader asks for.

    :param given: the members by which a reader chooses what else it reads.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        super().__init__()
        self._given, self.names = given, set[str]()

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a member that was given, else ``default``."""
        self.names.add(name)
        return self._given.get(name, default)

    def __contains__(self, name: object) -> bool:
        """Always, so that a reader goes on and asks for it."""
        return True


Reader = Callable[[Any], Any] | tuple[Callable[..., Any], int, bool]
"""What reads an object: a function; where that chooses, also by which ``type`` or ``task`` and by which flag."""

_KNOWN: dict[Reader, frozenset[str]] = {}
"""The names of members that each reader asks for, once it was used."""


def _known_to(reader: Reader, kind: type[Members]) -> frozenset[str]:
    read, number, flag = reader if isinstance(reader, tuple) else (reader, 0, False)
    outline = Outline({"type": number, "task": number, "get_receipts": flag})
    # A reader that chooses checks its object itself, and must find something here.
    _KNOWN[reader] = frozenset({""})
    read(kind(outline, ""), *([flag] if read is read_task else []))
    _KNOWN[reader] = frozenset(outline.names) | SENT_ON_PURPOSE
    return _KNOWN[reader]


@cache
def every_name() -> frozenset[str]:
    """The names that any task uses in any place."""
    root: list[Reader] = [(read_task, kind, True) for kind in (TYPE_LOOKUP, TYPE_FISCAL, TYPE_DOC, TYPE_PAY)]
    whole: list[Reader] = [(_read_fiscal, -1, True), (_read_pay_task, -1, False)]
    parts: list[Reader] = [_read_receipt, _read_row, _read_pay, _read_discount, _read_line]
    names = (_KNOWN.get(reader) or _known_to(reader, Members) for reader in (*root, *whole, *parts))
    return frozenset().union(*names) - SENT_ON_PURPOSE


SENT_ON_PURPOSE = frozenset({"ver", "token", "dt", "fisid", "currency", "show_additional_info"})
"""Members without effect here that existing clients send (docs/reference/http-interface.md#ignored-members)."""


class Discount(msgspec.Struct, frozen=True):
    """A discount, or a surcharge when negative (docs/reference/http-interface.md#discounts).

    ``value`` is kopecks, or hundredths of a percent when ``percent``.
    """

    value: int
    percent: bool = False
    name: str = ""


class RowRequest(msgspec.Struct, frozen=True):
    """One item of a receipt, ``fiscal.receipt.rows[]`` (docs/reference/http-interface.md#rows).

    ``cnt`` is in thousandths, ``price`` and ``cost`` in kopecks; ``cost`` is `None` when the till did not send it.
    """

    name: str
    code: str
    code1: str
    code2: str
    code3: str
    code_a: str
    code_aa: tuple[str, ...]
    cnt: int
    price: int
    cost: int | None
    discounts: tuple[Discount, ...]
    taxgrp: str
    comment: str


class PayRequest(msgspec.Struct, frozen=True):
    """One payment, ``fiscal.receipt.pays[]`` or ``fiscal.cash``, in kopecks."""

    type: str
    sum: int
    change: int = 0
    commission: int = 0
    comment: str = ""
    comment_up: str = ""
    comment_down: str = ""
    paysys: str = ""
    rrn: str = ""
    cardmask: str = ""
    term_id: str = ""
    bank_id: str = ""
    bank_name: str = ""
    auth_code: str = ""
    oper_type: str = ""


class ReceiptRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """``fiscal.receipt``, in kopecks (docs/reference/http-interface.md#receipt).

    A request without ``purchase_receipt_dt`` and ``partpay_*`` is stored as it was before there were any, so that
    repeats compare.
    """

    sum: int
    round: int
    autoround: bool
    discounts: tuple[Discount, ...]
    comment_up: str
    comment_down: str
    not_check_safe: bool
    rows: tuple[RowRequest, ...]
    pays: tuple[PayRequest, ...]
    purchase_receipt_fisn: str
    purchase_rro_fisn: str
    purchase_receipt_dt: str = ""
    partpay_type: int = 0
    partpay_sum: int = 0
    partpay_receipt_fisn: str = ""


class LineRequest(msgspec.Struct, frozen=True):
    """One line of a service report, ``fiscal.lines[]``."""

    t: str
    qr_type: int


class ListRequest(msgspec.Struct, frozen=True):
    """The filter and page of a list of receipts."""

    dev_name: str
    dev_id: str
    pg_no: int
    pg_cnt: int
    dt_from: str
    dt_to: str
    dt_order: str


class FiscalRequest(msgspec.Struct, frozen=True):
    """``fiscal``: a task of a register; ``task`` is `None` when it is not given."""

    task: int | None
    cashier: str = ""
    receipt: ReceiptRequest | None = None
    cash: PayRequest | None = None
    n_from: int = 0
    n_to: int = 0
    dt_from: str = ""
    dt_to: str = ""
    is_short: bool = False
    lines: tuple[LineRequest, ...] = ()
    fiscal_number: str = ""
    receipts: ListRequest | None = None


class PayTask(msgspec.Struct, frozen=True):
    """``pay``: a task of a terminal, in kopecks; ``task`` is `None` when it is not given.

    ``cash`` is the cash that task 14 gives out; ``proceed`` is whether task 7 continues the payment.
    """

    task: int | None
    sum: int = 0
    cash: int = 0
    refundid: str = ""
    cancelid: str = ""
    merchant: str = ""
    agreement: str = ""
    parts: int = 0
    service: str = ""
    param: str = ""
    proceed: bool = True


class Forms(msgspec.Struct, frozen=True):
    """The print forms of the answer: 0 as in the settings, 1 none, 2 this one."""

    text: int = 0
    image: int = 0
    pdf: int = 0
    doccmd: int = 0


class Customer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who gets the receipt besides the till: an e-mail address and a telephone number, as they were given."""

    email: str = ""
    phone: str = ""


class TaskRequest(msgspec.Struct, frozen=True):
    """A whole request (specification 2.2)."""

    device: str
    type: int
    tag: str
    source: str
    fiscal: FiscalRequest | None = None
    forms: Forms = Forms()
    pay: PayTask | None = None
    doc: Members | None = None
    transaction_id: str = ""
    transaction_search: int = 0
    skipprint: bool = False
    untagged: bool = False
    """Whether the service generated the tag."""
    paid: bool = False
    """Set by batch mode: a terminal took the payment."""
    repeats: str = ""
    """Set by batch mode: the tag of the unheard receipt whose request had the same content."""
    customer: Customer | None = None

    @property
    def task(self) -> int:
        """The task's number for the answer; -1 when it is not given, 0 for documents, which have none."""
        if self.fiscal is not None and self.fiscal.task is not None:
            return self.fiscal.task
        if self.type == TYPE_PAY and self.pay is not None and self.pay.task is not None:
            return self.pay.task
        return 0 if self.type == TYPE_DOC else -1


TYPE_LOOKUP, TYPE_FISCAL, TYPE_DOC, TYPE_PAY = 0, 1, 2, 3
"""The kinds of task: the values of ``type`` (specification 2.2)."""

_MEANT = (("fiscal", TYPE_FISCAL), ("pay", TYPE_PAY))
"""Objects that no look-up has, each with the ``type`` that it goes with."""


def read_root(root: Members) -> TaskRequest:
    """The members of the root that every kind of task has.

    :raises Refused: 2000 when one of them is malformed, the tag is too long or the type is unknown.
    """
    kind = root.integer("type")
    if kind not in (TYPE_LOOKUP, TYPE_FISCAL, TYPE_DOC, TYPE_PAY):
        raise malformed("type", one_of(0, 1, 2, 3))
    if kind == TYPE_LOOKUP and root.value("type") in (None, ""):
        for name, meant in _MEANT:
            # A till that forgot it would take "nothing found" for an answer to its sale.
            if root.value(name) and isinstance(root.value(name), dict):
                raise malformed(
                    "type", Text(f"поля немає, разом із {name} це {meant}", f"is missing; with {name} it is {meant}")
                )
    tag = root.text("tag")
    if len(tag) > MAX_TAG:
        raise malformed("tag", at_most(MAX_TAG))
    if "\0" in tag:
        raise malformed("tag", Text("знак NUL не приймається", "the character NUL is not taken"))
    device = root.text("device")
    if len(device) > LONGEST_ECHO:
        raise malformed("device", at_most(LONGEST_ECHO))
    return TaskRequest(device=device, type=kind, tag=tag, source=root.text("source"), forms=_read_forms(root))


def read_task(root: Members, batch: bool = False) -> TaskRequest:
    """The whole request, typed and checked for structure; the device checks the content.

    :param batch: whether ``pay`` and ``skipprint`` beside a receipt are checked (specification 4.6); elsewhere they
        may be leftovers of a till's earlier request.
    :raises Refused: 2000 with the path of the first member that is invalid.
    """
    request = _read_task(root, batch)
    if root.__class__ is LongMembers:
        content = (request.device, request.source, request.transaction_id, request.fiscal, request.pay)
        if len(_packed(content)) > MOST_CONTENT:
            raise malformed("", _TOO_MUCH)
    return request


_packed = msgspec.msgpack.Encoder().encode


def _read_task(root: Members, batch: bool) -> TaskRequest:
    request = read_root(root)
    root.check((read_task, request.type, batch))
    if request.type == TYPE_FISCAL:
        fiscal = root.read("fiscal", _read_fiscal)
        if fiscal is not None:
            request = msgspec.structs.replace(request, fiscal=fiscal)
        if "userinfo" in root.values:
            request = msgspec.structs.replace(request, customer=_read_customer(root))
        if batch:
            pay = root.read("pay", _read_pay_task)
            return msgspec.structs.replace(request, pay=pay, skipprint=root.flag("skipprint"))
        if root.has("pay"):
            # The tag of an open batch goes on at every endpoint; a ``pay`` that is invalid is not from batch mode.
            with suppress(Refused):
                return msgspec.structs.replace(request, pay=root.read("pay", _read_pay_task))
        return request
    if request.type == TYPE_PAY:
        search = root.integer("transaction_search")
        if search not in (0, 1, 2):
            raise malformed("transaction_search", one_of(0, 1, 2))
        return msgspec.structs.replace(
            request,
            pay=root.read("pay", _read_pay_task),
            transaction_id=root.text("transaction_id"),
            transaction_search=search,
        )
    if request.type == TYPE_DOC:
        return msgspec.structs.replace(request, doc=root.object("doc"))
    return request


def echo_of(body: bytes, root: Members | None = None) -> TaskRequest:
    """What the answer to a refused request can repeat: device, type, task, tag, source.

    :param root: the root object, where the body was read before.
    """
    try:
        root = root or read_json(body)
    except Refused:
        return TaskRequest(device="", type=0, tag="", source="")
    fiscal, pay = None, None
    try:
        members = root.object("fiscal")
        if members is not None and members.has("task"):
            fiscal = FiscalRequest(task=members.integer("task"))
        members = root.object("pay")
        if members is not None and members.has("task"):
            pay = PayTask(task=members.integer("task"))
    except Refused:
        pass
    return TaskRequest(
        device=_or(root.text, "device", "")[:LONGEST_ECHO],
        type=_or(root.integer, "type", 0),
        tag=_or(root.text, "tag", "")[:LONGEST_ECHO],
        source=_or(root.text, "source", "")[:LONGEST_ECHO],
        fiscal=fiscal,
        pay=pay,
        transaction_id=_or(root.text, "transaction_id", "")[:LONGEST_ECHO],
    )


LONGEST_ECHO = 1000
"""Characters of a text that the answer to a refused request repeats."""


def _or(read: Callable[[str], T], name: str, default: T) -> T:
    try:
        return read(name)
    except Refused:
        return default


def _read_forms(root: Members) -> Forms:
    values = root.values
    if not (
        "need_pf_img" in values or "need_pf_txt" in values or "need_pf_pdf" in values or "need_pf_doccmd" in values
    ):
        return _FORMS_OF_SETTINGS
    wishes = [root.integer(name) for name in _WISHES]
    for name, wish in zip(_WISHES, wishes, strict=True):
        if wish not in (0, 1, 2):
            raise malformed(name, one_of(0, 1, 2))
    return Forms(*wishes)


_WISHES = ("need_pf_txt", "need_pf_img", "need_pf_pdf", "need_pf_doccmd")
_FORMS_OF_SETTINGS = Forms()


def _read_fiscal(fiscal: Members) -> FiscalRequest:
    """``fiscal`` of the task that it names; without a task of ours all that any of them reads."""
    task = _read_number(fiscal)
    lists = fiscal.flag("get_receipts")
    known = task if task in _FISCAL_TASKS else -1
    fiscal.check((_read_fiscal, known, lists))
    cashier, receipts = fiscal.text("cashier"), _read_list(fiscal) if lists else None
    receipt = fiscal.read("receipt", _read_receipt) if known in _WITH_RECEIPT else None
    cash = fiscal.read("cash", _read_pay) if known in _WITH_CASH else None
    if known in _TASKS_WITHOUT_MORE:
        return FiscalRequest(task=task, cashier=cashier, receipt=receipt, cash=cash, receipts=receipts)
    dates, short = known in (-1, 13), known in (-1, 12, 13)
    return FiscalRequest(
        task=task,
        cashier=cashier,
        receipt=receipt,
        cash=cash,
        n_from=fiscal.integer("n_from") if known in (-1, 12) else 0,
        n_to=fiscal.integer("n_to") if known in (-1, 12) else 0,
        dt_from=fiscal.text("dt_from") if dates else "",
        dt_to=fiscal.text("dt_to") if dates else "",
        is_short=short and fiscal.flag("is_short"),
        lines=fiscal.read_each("lines", _read_line, MOST_LINES) if known in (-1, 5) else (),
        fiscal_number=fiscal.text("fiscal_number") if known in (-1, 23) else "",
        receipts=receipts,
    )


def _read_customer(root: Members) -> Customer | None:
    """``userinfo``; what is no text counts as one that is no address: a receipt does not fail for it."""
    given = root.value("userinfo")
    if not isinstance(given, dict):
        return None if _says_nothing(given) else Customer(NO_ADDRESS)
    userinfo = Members(given, root.path("userinfo"), root.strays)
    userinfo.check(_read_userinfo)
    customer = _read_userinfo(userinfo)
    return customer if customer.email or customer.phone else None


def _read_userinfo(userinfo: Members) -> Customer:
    return Customer(*(_or(partial(_short, userinfo), name, NO_ADDRESS) for name in ("email", "phone")))


def _short(userinfo: Members, name: str) -> str:
    text = userinfo.text(name).strip()
    return text if len(text) <= LONGEST_ADDRESS else NO_ADDRESS


NO_ADDRESS = "?"
"""In place of a customer's address that is none."""

LONGEST_ADDRESS = 254
"""Characters of an e-mail address (RFC 5321, 4.5.3.1)."""


def _read_number(task: Members) -> int | None:
    """The task's number; an empty one is absent, and not task 0."""
    number = task.integer("task", _ABSENT)
    return None if number == _ABSENT else number


_ABSENT = -(2**60)
"""No number of a request: it would be too large."""


_TASKS_WITHOUT_MORE = frozenset({0, 1, 2, 3, 4, 10, 11, 14, 15, 16, 17, 18, 20, 21, 22})
_FISCAL_TASKS = _TASKS_WITHOUT_MORE | {5, 12, 13, 23}
_WITH_RECEIPT, _WITH_CASH = frozenset({-1, 1, 2, 3, 4, 15, 16}), frozenset({-1, 3, 4, 14})
"""Tasks that read a receipt or a cash operation; tills send leftovers of other tasks with the rest."""


def _read_pay_task(pay: Members) -> PayTask:
    """``pay`` of the task that it names; without a task of ours all that any of them reads."""
    task = _read_number(pay)
    known = task if task in _PAY_TASKS else -1
    pay.check((_read_pay_task, known, False))
    action = pay.integer("oper_action", 1) if known in (-1, 7) else 1
    if action not in (0, 1):
        raise malformed(pay.path("oper_action"), one_of(0, 1))
    return PayTask(
        task=task,
        sum=pay.amount("sum"),
        cash=pay.amount("cash") if known in (-1, 14) else 0,
        refundid=pay.text("refundid") or pay.text("rrn") if known in (-1, 2, 3) else "",
        cancelid=pay.text("cancelid") if known in (-1, 3) else "",
        merchant=pay.text("merch"),
        agreement=pay.text("agreementNum") if known in (-1, 16) else "",
        parts=pay.integer("parts") if known in (-1, 15) else 0,
        service=pay.text("srvnum") if known in (-1, 5) else "",
        param=pay.text("param") if known in (-1, 5) else "",
        proceed=action == 1,
    )


_CHOOSING: frozenset[Reader] = frozenset({_read_fiscal, _read_pay_task})
"""Readers that check their object themselves, because the names depend on the task."""

_PAY_TASKS = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 14, 15, 16, 17})
"""Tasks of terminals (specification 4.4)."""


def _read_line(line: Members) -> LineRequest:
    return LineRequest(t=line.text("t"), qr_type=line.integer("qr_type"))


def _read_list(fiscal: Members) -> ListRequest:
    return ListRequest(
        dev_name=fiscal.text("dev_name"),
        dev_id=fiscal.text("dev_id"),
        pg_no=fiscal.integer("pg_no"),
        pg_cnt=fiscal.integer("pg_cnt"),
        dt_from=fiscal.text("dt_from"),
        dt_to=fiscal.text("dt_to"),
        dt_order=fiscal.text("dt_order"),
    )


def _read_receipt(receipt: Members) -> ReceiptRequest:
    return ReceiptRequest(
        sum=receipt.amount("sum"),
        round=receipt.amount("round"),
        autoround=receipt.flag("autoround"),
        discounts=_read_discounts(receipt),
        comment_up=receipt.text("comment_up"),
        comment_down=receipt.text("comment_down"),
        not_check_safe=receipt.flag("not_check_safe"),
        rows=receipt.read_each("rows", _read_row, MOST_ROWS),
        pays=receipt.read_each("pays", _read_pay, MOST_PAYS),
        purchase_receipt_fisn=receipt.text("purchase_receipt_fisn"),
        purchase_rro_fisn=receipt.text("purchase_rro_fisn"),
        purchase_receipt_dt=receipt.text("purchase_receipt_dt"),
        partpay_type=receipt.integer("partpay_type"),
        partpay_sum=receipt.amount("partpay_sum"),
        partpay_receipt_fisn=receipt.text("partpay_receipt_fisn"),
    )


def _read_row(row: Members) -> RowRequest:
    cost = row.amount_or_none("cost")
    return RowRequest(
        name=row.text("name"),
        code=row.text("code"),
        code1=row.text("code1"),
        code2=row.text("code2"),
        code3=row.text("code3"),
        code_a=row.text("code_a"),
        code_aa=row.texts("code_aa"),
        cnt=row.quantity("cnt"),
        price=row.amount("price"),
        cost=cost if cost else row.amount_or_none("sum"),
        discounts=_read_discounts(row),
        taxgrp=_read_tax_group(row) if "taxgrps" in row.values else row.code("taxgrp"),
        comment=row.text("comment"),
    )


def _read_tax_group(row: Members) -> str:
    """``taxgrp``, or the one group of ``taxgrps``, its other spelling."""
    groups = {row.code("taxgrp"), *row.codes("taxgrps")}
    if len(groups - {""}) > 1:
        raise malformed(row.path("taxgrps"), Text("очікується одна податкова група", "one tax group is expected"))
    return max(groups)


def _read_discounts(members: Members) -> tuple[Discount, ...]:
    """``disc`` with its ``disc_type``, and the named ones of ``discounts``."""
    values = members.values
    if not ("disc" in values or "discounts" in values or "disc_type" in values or "disc_name" in values):
        return ()
    named = members.read_each("discounts", _read_discount, MOST_DISCOUNTS) if "discounts" in values else ()
    single = _read_discount(members)
    return (single, *named) if single.value else named


def _read_discount(members: Members) -> Discount:
    kind = members.integer("disc_type")
    if kind not in (0, 1):
        raise malformed(members.path("disc_type"), DISCOUNT_EXPECTED)
    # Kopecks and hundredths of a percent both have two decimals.
    return Discount(members.amount("disc"), kind == 1, members.text("disc_name"))


def _read_pay(pay: Members) -> PayRequest:
    return PayRequest(
        type=pay.code("type"),
        sum=pay.amount("sum"),
        change=pay.amount("change"),
        commission=pay.amount("commission"),
        comment=pay.text("comment"),
        comment_up=pay.text("comment_up"),
        comment_down=pay.text("comment_down"),
        paysys=pay.text("paysys"),
        rrn=pay.text("rrn"),
        cardmask=pay.text("cardmask"),
        term_id=pay.text("term_id"),
        bank_id=pay.text("bank_id"),
        bank_name=pay.text("bank_name"),
        auth_code=pay.text("auth_code"),
        oper_type=pay.text("oper_type"),
    )
