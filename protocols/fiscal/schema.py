"""The tax service's schemas as data (docs/reference/tax-service.md#element-order).

A section is a frozen dataclass whose fields have the order and, in lower case, the names of its elements. The type of
a field says the rest::

    orderdate: Date                      <ORDERDATE>        required
    comment: Text | None = None          <COMMENT>          may be absent
    ver: Version = 1                     <VER>              required; the value that is written
    checktotal: CheckTotal | None = None <CHECKTOTAL>…      a section inside
    checkpay: tuple[PayRow, ...] = ()    <CHECKPAY><ROW ROWNUM="1">…

Neighbours that exclude each other stand in ``CHOICE`` of the section.

Reading, writing and the check that names the place of every fault follow this one description.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from protocols.fiscal.simple_types import SimpleType
from protocols.fiscal.xml_tree import Node

ROW, ROWNUM = "ROW", "ROWNUM"

MOST_ROWS = 999_999
"""The highest number of a row."""

T = TypeVar("T")


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a document; ``path`` like ``CHECK/CHECKBODY/ROW[2]/PRICE``."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}" if self.path else self.text


class DocumentError(ValueError):
    """A document that breaks its schema; ``faults`` has at least one."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__("; ".join(map(str, faults[:5])))
        self.faults = faults


@dataclass(frozen=True)
class Element:
    """One element of a section."""

    field: str
    name: str
    required: bool
    simple: SimpleType | None = None
    section: type[Any] | None = None
    rows: bool = False
    """Whether it contains numbered rows, each a section."""


_known: dict[type[Any], tuple[Element, ...]] = {}


def elements(section: type[Any]) -> tuple[Element, ...]:
    """The elements of a section, in order."""
    if section not in _known:
        hints = get_type_hints(section, include_extras=True)
        _known[section] = tuple(_element(field, hints[field.name]) for field in dataclasses.fields(section))
    return _known[section]


def _element(field: dataclasses.Field[Any], hint: Any) -> Element:
    name, optional = field.name.upper(), False
    if get_origin(hint) in (Union, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
        optional = True
    if get_origin(hint) is Annotated:
        return Element(field.name, name, not optional, simple=hint.__metadata__[0])
    if get_origin(hint) is tuple:
        required = field.default is dataclasses.MISSING
        return Element(field.name, name, required, section=get_args(hint)[0], rows=True)
    return Element(field.name, name, not optional, section=hint)


def faults(section: type[Any], node: Node, path: str) -> Iterator[Fault]:
    """Everything that is wrong with ``node`` as a ``section``, in document order."""
    if node.text.strip():
        yield Fault(path, "there is text between the elements")
    known = {element.name: place for place, element in enumerate(elements(section))}
    place, seen = -1, set[str]()
    for child in node.children:
        inside = f"{path}/{child.name}"
        if child.name not in known:
            yield Fault(inside, "an element of this name is not expected here")
            continue
        if child.name in seen:
            yield Fault(inside, "the element occurs twice")
            continue
        seen.add(child.name)
        if known[child.name] < place:
            yield Fault(inside, f"the element belongs before {elements(section)[place].name}")
        place = max(place, known[child.name])
        yield from _element_faults(elements(section)[known[child.name]], child, inside)
    for element in elements(section):
        if element.required and element.name not in seen:
            yield Fault(f"{path}/{element.name}", "the element is required")
    yield from _choice_faults(section, seen, path)


def choice_of(section: type[Any]) -> tuple[str, ...]:
    """The elements of a section that exclude each other."""
    found: tuple[str, ...] = getattr(section, "CHOICE", ())
    return found


def _choice_faults(section: type[Any], seen: set[str], path: str) -> Iterator[Fault]:
    first, *others = [name for name in choice_of(section) if name in seen] or [""]
    for name in others:
        yield Fault(f"{path}/{name}", f"the element excludes {first}")


def _element_faults(element: Element, node: Node, path: str) -> Iterator[Fault]:
    for name in node.attributes:
        yield Fault(f"{path}/@{name}", "an attribute is not expected here")
    if element.simple is not None:
        if node.children:
            yield Fault(path, "a text is expected, not elements")
            return
        try:
            element.simple.read(node.text)
        except ValueError as error:
            yield Fault(path, str(error))
    elif element.rows:
        yield from _row_faults(element, node, path)
    elif element.section is not None:
        yield from faults(element.section, node, path)


def _row_faults(element: Element, node: Node, path: str) -> Iterator[Fault]:
    assert element.section is not None
    if node.text.strip():
        yield Fault(path, "there is text between the rows")
    for position, row in enumerate(node.children, 1):
        inside = f"{path}/{row.name}[{position}]"
        if row.name != ROW:
            yield Fault(inside, "only rows are expected here")
            continue
        number = row.attributes.get(ROWNUM, "")
        if not (number.isascii() and number.isdigit() and len(number) < 7 and 1 <= int(number) <= MOST_ROWS):
            yield Fault(f"{inside}/@{ROWNUM}", f"a number from 1 to {MOST_ROWS} is expected")
        for name in row.attributes.keys() - {ROWNUM}:
            yield Fault(f"{inside}/@{name}", "an attribute is not expected here")
        yield from faults(element.section, row, inside)


def read(section: type[T], node: Node) -> T:
    """The value of ``node``.

    :raises DocumentError: with every fault when it is not a ``section``.
    """
    found = tuple(faults(section, node, node.name))
    if found:
        raise DocumentError(*found)
    return _read(section, node)


def _read(section: type[T], node: Node) -> T:
    values: dict[str, Any] = {}
    for element in elements(section):
        child = node.child(element.name)
        if child is None:
            continue
        if element.simple is not None:
            values[element.field] = element.simple.read(child.text)
        elif element.section is not None:
            inner = element.section
            rows = tuple(_read(inner, row) for row in child.children) if element.rows else ()
            values[element.field] = rows if element.rows else _read(inner, child)
    return section(**values)


def write(value: Any, name: str, path: str = "", attributes: dict[str, str] | None = None) -> Node:
    """The element ``name`` for ``value``.

    :param path: its place in the document; its name when empty.
    :raises DocumentError: with the place, when a value cannot be written.
    """
    path = path or name
    children: list[Node] = []
    for element in elements(type(value)):
        held = getattr(value, element.field)
        inside = f"{path}/{element.name}"
        if held is None or held == ():
            if element.required:
                raise DocumentError(Fault(inside, "the element is required"))
        elif element.simple is not None:
            try:
                children.append(Node(element.name, element.simple.write(held)))
            except ValueError as error:
                raise DocumentError(Fault(inside, str(error))) from None
        elif element.rows:
            rows = enumerate(held, 1)
            nodes = (write(row, ROW, f"{inside}/{ROW}[{number}]", {ROWNUM: str(number)}) for number, row in rows)
            children.append(Node(element.name, children=tuple(nodes)))
        else:
            children.append(write(held, element.name, inside))
    for fault in _choice_faults(type(value), {child.name for child in children}, path):
        raise DocumentError(fault)
    return Node(name, "", tuple(children), attributes or {})
