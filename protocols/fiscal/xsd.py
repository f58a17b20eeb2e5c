"""XSD files of the documents, made from their sections (docs/reference/tax-service.md#element-order).

They are not the tax service's own files, but state the known order, names, types and required elements. Validators
read them, and the simulated server sends them for the command `Schemas`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from protocols.fiscal.document_xml import ROOTS
from protocols.fiscal.schema import MOST_ROWS, ROW, ROWNUM, Element, choice_of, elements
from protocols.fiscal.simple_types import SimpleType

_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">\n'


@cache
def schema_of(document: type[Any]) -> bytes:
    """The XSD of a class of documents: `Check`, `ZRep` or `Ticket`."""
    root, _ = ROOTS[document]
    types: dict[str, str] = {}
    body = "".join(_section(root, document, "", types, 1))
    return (_HEAD + body + "".join(types[name] for name in sorted(types)) + "</xs:schema>\n").encode()


def _section(name: str, section: type[Any], occurs: str, types: dict[str, str], depth: int) -> Iterator[str]:
    space = "  " * depth
    yield f'{space}<xs:element name="{name}"{occurs}>\n{space}  <xs:complexType>\n'
    yield from _sequence(section, types, depth + 2)
    if name == ROW:
        number = (
            f'<xs:restriction base="xs:integer"><xs:minInclusive value="1"/><xs:maxInclusive value="{MOST_ROWS}"/>'
        )
        yield f'{space}    <xs:attribute name="{ROWNUM}" use="required"><xs:simpleType>{number}</xs:restriction>'
        yield "</xs:simpleType></xs:attribute>\n"
    yield f"{space}  </xs:complexType>\n{space}</xs:element>\n"


def _sequence(section: type[Any], types: dict[str, str], depth: int) -> Iterator[str]:
    space = "  " * depth
    yield f"{space}<xs:sequence>\n"
    choice = choice_of(section)
    for element in elements(section):
        if choice and element.name == choice[0]:
            yield f'{space}  <xs:choice minOccurs="0">\n'
        yield from _element(element, types, depth + 1)
        if choice and element.name == choice[-1]:
            yield f"{space}  </xs:choice>\n"
    yield f"{space}</xs:sequence>\n"


def _element(element: Element, types: dict[str, str], depth: int) -> Iterator[str]:
    space, occurs = "  " * depth, "" if element.required else ' minOccurs="0"'
    if element.simple is not None:
        name = element.simple.name.replace(" ", "-")
        types.setdefault(name, _simple(name, element.simple))
        yield f'{space}<xs:element name="{element.name}" type="{name}"{occurs}/>\n'
        return
    assert element.section is not None
    if not element.rows:
        yield from _section(element.name, element.section, occurs, types, depth)
        return
    yield f'{space}<xs:element name="{element.name}"{occurs}>\n{space}  <xs:complexType>\n{space}    <xs:sequence>\n'
    rows = ' minOccurs="0" maxOccurs="unbounded"'
    yield from _section(ROW, element.section, rows, types, depth + 3)
    yield f"{space}    </xs:sequence>\n{space}  </xs:complexType>\n{space}</xs:element>\n"


def _simple(name: str, kind: SimpleType) -> str:
    base, facets = "xs:string", []
    if kind.bounds is not None:
        least, most = kind.bounds
        base = "xs:integer"
        facets = [f'<xs:minInclusive value="{least}"/>', f'<xs:maxInclusive value="{most}"/>']
    if kind.pattern:
        facets.append(f"<xs:pattern value={quoteattr(kind.pattern)}/>")
    if kind.longest:
        facets.append(f'<xs:maxLength value="{kind.longest}"/>')
    inside = "".join(facets)
    return (
        f'  <xs:simpleType name="{escape(name)}"><xs:restriction base="{base}">{inside}</xs:restriction>'
        "</xs:simpleType>\n"
    )
