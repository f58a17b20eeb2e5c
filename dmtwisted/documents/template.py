"""A shop's template: its own lines above and below a receipt (docs/print-forms.md).

A template is a Jinja template; each line of its result is one element on the paper. A line that begins with ``%``
says which one::

    %logo
    %center %bold Кав'ярня на Подолі
    %receipt
    {% if sum >= 500 %}
    %center Наступна кава дешевша на 10 %
    {% endif %}
    %qr https://example.com/review?check={{ number }}

Lines above ``%receipt`` are printed above the receipt, the others below. The receipt itself stays as it is. Marks
count in the template's own text only, never in values, so that the name of a cashier cannot be taken for one.

The language is a part of Jinja in its sandbox: values, conditions, loops over items, payments and taxes that are not
nested, some filters. Nothing can be called, assigned or multiplied, so the work is bounded by the length of template
and receipt. If a template fails, the receipt is printed without it, and the reason is returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import msgspec

from dmtwisted.clock import kyiv
from dmtwisted.documents import documents
from dmtwisted.documents.doccmd import read_doccmd
from dmtwisted.documents.documents import Caller, Document, Good, Header, Payment, Receipt, TaxLine
from dmtwisted.documents.forms import FISCAL, PAYOUT, quantity
from dmtwisted.documents.model import Element, Image, Line, Pair
from dmtwisted.documents.qr import receipt_qr
from dmtwisted.results import Refused, Res

if TYPE_CHECKING:
    from jinja2 import Template as JinjaTemplate
    from jinja2.nodes import Template

LONGEST_TEMPLATE = 65_536
"""Characters of a template, a logo in base64 among them."""

LONGEST_FILLED = 131_072
"""Characters of a template with its values."""

PIECE = 6
"""Characters as which each piece of a filled template counts besides its own."""

MOST_PARTS = 500
"""Values, conditions and the like of a template."""

MOST_LOOPS = 8
"""Loops of a template."""

MOST_ITEMS = 1_000
"""Items of a receipt that a template sees."""

LONGEST_VALUE = 250
"""Characters of a value that a template sees."""

MOST_PRINTED = 100
"""Elements that a template adds to a receipt."""

MOST_IMAGES = 4
"""Pictures among them."""

TEMPLATED = (documents.SALE, documents.RETURN)
"""Documents that a template can add to: receipts only."""


class BrokenTemplate(ValueError):
    """A template cannot be read, or its lines cannot be printed."""


class Item(msgspec.Struct, frozen=True):
    """One item of the receipt for a template; amounts in hryvnias."""

    name: str
    code: str
    barcode: str
    quantity: Decimal
    price: Decimal
    cost: Decimal
    discount: Decimal
    total: Decimal
    """``cost`` after its discount."""
    tax: str
    comment: str


class Paid(msgspec.Struct, frozen=True):
    """One payment of the receipt for a template."""

    type: int
    name: str
    sum: Decimal
    card: str


class Tax(msgspec.Struct, frozen=True):
    """One tax group of the receipt for a template."""

    letter: str
    name: str
    sum: Decimal


class Values(msgspec.Struct, frozen=True):
    """All values for a template; texts are without line breaks, amounts in hryvnias."""

    kind: str
    """``sale`` or ``return``."""
    number: str
    """The fiscal number."""
    local_number: int
    date: str
    """``dd.mm.yyyy``."""
    time: str
    """``HH:MM:SS``."""
    sum: Decimal
    """The amount to be paid."""
    discount: Decimal
    rounding: Decimal
    change: Decimal
    cashier: str
    seller: str
    shop: str
    address: str
    register: str
    """The fiscal number of the register."""
    device: str
    link: str
    """The content of the receipt's QR code."""
    is_test: bool
    is_offline: bool
    is_copy: bool
    items: tuple[Item, ...]
    payments: tuple[Paid, ...]
    taxes: tuple[Tax, ...]


def with_template(
    form: Sequence[Element], source: str, document: Document, fiscal_number: str, copy: bool = False
) -> tuple[list[Element], str]:
    """``form`` with the lines of the template, and the reason if the template failed, else an empty text.

    Only receipts (`TEMPLATED`) get them. Never raises, because the document is fiscal already.
    """
    if not source.strip() or document.kind not in TEMPLATED:
        return list(form), ""
    try:
        above, below = _additions(source, values_of(document, fiscal_number, copy))
    except Exception as error:
        # Any error, also of memory or recursion: the receipt is printed without the template.
        return list(form), str(error) or type(error).__name__
    return [*above, *form, *below], ""


def check_template(source: str) -> None:
    """Check that a template can be read and printed with an ordinary receipt.

    :raises BrokenTemplate: with the reason and, if known, the line.
    """
    if source.strip():
        _additions(source, values_of(SAMPLE, "1234567890"))


def values_of(document: Document, fiscal_number: str, copy: bool = False) -> Values:
    """The values of a receipt for a template."""
    receipt = document.receipt if document.receipt is not None else Receipt()
    header, moment = document.header, kyiv(document.at)
    return Values(
        kind=document.kind,
        number=fiscal_number,
        local_number=document.number,
        date=moment.strftime("%d.%m.%Y"),
        time=moment.strftime("%H:%M:%S"),
        sum=_amount(receipt.sum_topay),
        discount=_amount(receipt.sum_disc),
        rounding=_amount(receipt.round),
        change=_amount(receipt.change),
        cashier=_text(document.cashier),
        seller=_text(header.name),
        shop=_text(header.shopname),
        address=_text(header.shopad),
        register=_text(header.fisid),
        device=_text(document.caller.device),
        link=receipt_qr(document, fiscal_number),
        is_test=not document.dtype,
        is_offline=document.offline is not None,
        is_copy=copy,
        items=tuple(_item(good) for good in receipt.goods[:MOST_ITEMS]),
        payments=tuple(_paid(pay) for pay in receipt.pays[:MOST_ITEMS]),
        taxes=tuple(_tax(tax) for tax in receipt.taxes[:MOST_ITEMS]),
    )


SAMPLE = Document(
    kind=documents.SALE,
    number=17,
    shift=3,
    at=1_789_970_400_000,
    cashier="Олена",
    header=Header(fisid="4000438533", name='ТОВ "Ромашка"', shopname="Кав'ярня", shopad="м. Київ"),
    caller=Caller(device="test", task=1),
    receipt=Receipt(
        goods=(Good(name="Кава", code="1", cnt=2000, price=2550, cost=5100, disc=100, taxgrp=1, taxlit="А"),),
        pays=(Payment(type=0, name="Готівка", sum=5000, tendered=10000, change=5000),),
        taxes=(TaxLine(gr_code=1, base_sum=5000, tax_fname="ПДВ 20%", tax_lit="А", tax_sum=833),),
        sum_0=5100,
        sum_disc=100,
        sum_receipt=5000,
        sum_topay=5000,
        change=5000,
    ),
)
"""An ordinary receipt, to check a template with."""


# Values


def _amount(kopecks: int) -> Decimal:
    return Decimal(kopecks).scaleb(-2)


def _text(text: str) -> str:
    return " ".join(text[:LONGEST_VALUE].split())


def _item(good: Good) -> Item:
    return Item(
        name=_text(good.name),
        code=_text(good.code),
        barcode=_text(good.code1),
        quantity=Decimal(quantity(good.cnt)),
        price=_amount(good.price),
        cost=_amount(good.cost),
        discount=_amount(good.disc),
        total=_amount(good.cost - good.disc),
        tax=_text(good.taxlit),
        comment=_text(good.comment),
    )


def _paid(pay: Payment) -> Paid:
    return Paid(type=pay.type, name=_text(pay.name), sum=_amount(pay.sum), card=_text(pay.cardmask))


def _tax(tax: TaxLine) -> Tax:
    return Tax(letter=_text(tax.tax_lit), name=_text(tax.tax_fname), sum=_amount(tax.tax_sum + tax.ex_sum))


# The language

_PARTS = frozenset(
    [
        "Template",
        "Output",
        "TemplateData",
        "Name",
        "Const",
        "If",
        "For",
        "Getattr",
        "Getitem",
        "Filter",
        "Keyword",
        "Test",
        "Compare",
        "Operand",
        "And",
        "Or",
        "Not",
        "Neg",
        "Concat",
        "CondExpr",
    ]
)
"""Nodes of Jinja that can be used. Its sandbox alone would also allow calls, assignments and endless repetition."""

_FILTERS = ("capitalize", "default", "length", "lower", "trim", "truncate", "upper")
_TESTS = ("defined", "divisibleby", "even", "odd")
_LOOPED = ("items", "payments", "taxes")
_NAMES = (*Values.__struct_fields__, "loop")
_LOOP = ("index", "index0", "first", "last", "length")
_MEMBERS = frozenset((*Item.__struct_fields__, *Paid.__struct_fields__, *Tax.__struct_fields__, *_LOOP))

# In place of the two marks where they come from a value; no font has them.
_VALUE_PERCENT, _VALUE_BAR = "\ue000", "\ue001"


def _additions(source: str, values: Values) -> tuple[list[Element], list[Element]]:
    """The elements that a template adds above and below the receipt.

    :raises BrokenTemplate: when it cannot be read, or adds what cannot be printed.
    """
    compiled = _language().compiled(source)
    if isinstance(compiled, BrokenTemplate):
        raise compiled
    return _printed(_language().filled(compiled, values))


class _Language:
    """Jinja's sandbox, with the filters, tests and nodes that a template may use."""

    def __init__(self) -> None:
        # Lazy: Jinja takes some MB, and most shops have no template.
        from jinja2 import StrictUndefined, TemplateError, nodes
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        self._error, self._nodes = TemplateError, nodes
        self._environment = environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_as_value,
            cache_size=0,
        )
        environment.globals.clear()
        environment.filters = {name: environment.filters[name] for name in _FILTERS}
        environment.tests = {name: environment.tests[name] for name in _TESTS}
        self.compiled = lru_cache(maxsize=32)(self._compiled)
        """The template, ready to be filled, or the reason why it is broken."""

    def _compiled(self, source: str) -> JinjaTemplate | BrokenTemplate:
        if len(source) > LONGEST_TEMPLATE:
            return BrokenTemplate(f"the template is longer than {LONGEST_TEMPLATE} characters")
        try:
            tree = self._environment.parse(source)
            self._check(tree)
            return self._environment.from_string(tree)
        except BrokenTemplate as broken:
            return broken
        except (self._error, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return BrokenTemplate(_reason(error))

    def filled(self, template: JinjaTemplate, values: Values) -> str:
        """The text of a template with ``values``.

        :raises BrokenTemplate: when it cannot be filled, or becomes too long.
        """
        length, parts = 0, []
        try:
            for part in template.generate({name: getattr(values, name) for name in Values.__struct_fields__}):
                # Pieces count too: they take time without a letter in them.
                length += len(part) + PIECE
                if length > LONGEST_FILLED:
                    raise BrokenTemplate(f"the filled template is longer than {LONGEST_FILLED} characters")
                parts.append(part)
        except BrokenTemplate:
            raise
        except (self._error, TypeError, ValueError, ArithmeticError) as error:
            raise BrokenTemplate(_reason(error)) from None
        return "".join(parts)

    def _check(self, tree: Template) -> None:
        """Check that a template has allowed nodes only, and not too many.

        :raises BrokenTemplate: with the line of the first one that is not allowed.
        """
        nodes = self._nodes
        found, loops = list(tree.find_all(nodes.Node)), list(tree.find_all(nodes.For))
        if len(found) >= MOST_PARTS:
            raise BrokenTemplate(f"the template has more than {MOST_PARTS} parts")
        names = {*_NAMES, *(loop.target.name for loop in loops if isinstance(loop.target, nodes.Name))}
        for node in found:
            reason = ""
            if type(node).__name__ not in _PARTS:
                reason = f"{type(node).__name__} cannot be used in a template"
            elif isinstance(node, nodes.For):
                if len(loops) > MOST_LOOPS or node.recursive or node.find(nodes.For) is not None:
                    reason = f"at most {MOST_LOOPS} loops can be used, none inside of another"
                elif not (isinstance(node.iter, nodes.Name) and node.iter.name in _LOOPED):
                    reason = f"a loop goes over {', '.join(_LOOPED)}"
                elif not isinstance(node.target, nodes.Name) or node.target.name in _NAMES:
                    reason = "a loop needs a name of its own, such as item"
            elif isinstance(node, nodes.Name) and node.name not in names:
                reason = f"there is no value {node.name}"
            elif isinstance(node, nodes.Getattr) and node.attr not in _MEMBERS:
                reason = f"there is no value {node.attr}"
            if reason:
                raise BrokenTemplate(f"line {node.lineno}: {reason}")


_language = cache(_Language)


def _as_value(value: object) -> str:
    """A value as it is written: nothing in it ends a line or is taken for a mark."""
    if not isinstance(value, str | int | Decimal):
        # An undefined value raises its own error here.
        str(value)
        raise TypeError("only texts and numbers can be printed")
    text = " ".join(str(value).splitlines())
    return text.replace("%", _VALUE_PERCENT).replace("|", _VALUE_BAR)


def _reason(error: Exception) -> str:
    line = getattr(error, "lineno", None)
    words = str(getattr(error, "message", None) or error) or type(error).__name__
    return f"line {line}: {words}" if line else words


# Lines and marks

_STYLES: dict[str, tuple[str, object]] = {
    "left": ("align", "left"),
    "center": ("align", "center"),
    "right": ("align", "right"),
    "bold": ("bold", True),
    "underline": ("underline", True),
    "big": ("size", 2),
}
_CODES = ("ean13", "ean8", "code128")
_TAKEN_TITLES = (FISCAL, PAYOUT)
"""Titles that only the register may print."""


def _printed(text: str) -> tuple[list[Element], list[Element]]:
    """The elements above and below the receipt.

    :raises BrokenTemplate: with the line that cannot be printed.
    """
    sides: list[list[Element]] = [[]]
    images = 0
    for line in text.split("\n"):
        if not line.strip():
            continue
        if line.strip() == "%receipt":
            sides.append([])
            if len(sides) > 2:
                raise BrokenTemplate("%receipt is there twice")
            continue
        for element in _elements(line.rstrip()):
            sides[-1].append(element)
            images += isinstance(element, Image)
        if sum(map(len, sides)) > MOST_PRINTED or images > MOST_IMAGES:
            raise BrokenTemplate(f"at most {MOST_PRINTED} lines and {MOST_IMAGES} pictures can be added")
    return (sides[0], sides[1]) if len(sides) == 2 else ([], sides[0])


_MALFORMED = Res.MALFORMED.text.en.removesuffix("%s")
"""What stands before the reason of a malformed member."""


def _elements(line: str) -> Iterator[Element]:
    style: dict[str, object] = {}
    word, rest = _mark(line)
    while word in _STYLES:
        name, value = _STYLES[word]
        style[name] = value
        word, rest = _mark(rest)
    command = _command(word, rest, line)
    try:
        found = read_doccmd([{**command, **style}], "template")
    except Refused as refused:
        reason = refused.errortxt("en").removeprefix(_MALFORMED).removeprefix("template[0].")
        raise BrokenTemplate(f"{_quoted(line)}: {reason}") from None
    for element in found:
        said = f"{element.left} {element.right}" if isinstance(element, Pair) else ""
        said = element.text if isinstance(element, Line) else said
        if any(title in " ".join(said.upper().split()) for title in _TAKEN_TITLES):
            raise BrokenTemplate(f"{_quoted(line)}: only the register may print this title")
        yield element


def _mark(line: str) -> tuple[str, str]:
    """The word of the mark at the start of a line, empty for a plain text, and the rest."""
    if line.startswith("%%"):
        return "", line[1:]
    if not line.startswith("%"):
        return "", line
    word, _, rest = line[1:].partition(" ")
    return word or "%", rest


def _command(word: str, rest: str, line: str) -> dict[str, object]:
    """One line as a command of the document language."""
    if word == "pair":
        left, bar, right = rest.partition("|")
        if not bar:
            raise BrokenTemplate(f"{_quoted(line)}: a pair is written as LEFT | RIGHT")
        return {"cmd": "pair", "left": _shown(left).strip(), "right": _shown(right).strip()}
    value = _shown(rest).strip()
    if word == "":
        return {"cmd": "text", "text": _shown(rest)}
    if word == "qr" or word == "image":
        return {"cmd": word, "data": value}
    if word in _CODES:
        return {"cmd": "barcode", "kind": word, "data": value}
    if word == "rule":
        return {"cmd": "rule", "char": value or "-"}
    if word == "feed":
        return {"cmd": "feed", "lines": value or "1"}
    if word == "logo":
        return {"cmd": "logo", "number": value or "1"}
    raise BrokenTemplate(f"{_quoted(line)}: there is no mark %{word}")


def _shown(text: str) -> str:
    return text.replace(_VALUE_PERCENT, "%").replace(_VALUE_BAR, "|")


def _quoted(line: str) -> str:
    shown = _shown(line)
    return f"“{shown if len(shown) <= 40 else shown[:39] + '…'}”"
