"""The schema of the accountant's XML file, made of the structs that write it: ``python -m tools.accounts_schema``."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from dmtwisted.documents.accounts import ELEMENTS, Item, Moved, Numbered, Paid, Paper, Taxed, ZPaid, ZReport, ZTaxed

PAGE = Path(__file__).parent.parent / "docs" / "accounts.xsd"

TYPES: dict[Any, str] = {str: "xs:string", int: "xs:integer", bool: "xs:boolean", Decimal: "xs:decimal"}


def schema() -> str:
    """The whole schema."""
    return "\n".join(_schema()) + "\n"


def _schema() -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<!-- python -m tools.accounts_schema writes this file; do not edit it. -->"
    yield '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified">'
    yield '<xs:element name="accounts"><xs:complexType>'
    yield '<xs:choice minOccurs="0" maxOccurs="unbounded">'
    yield '<xs:element name="document" type="Paper"/><xs:element name="z" type="ZReport"/>'
    yield "</xs:choice>"
    yield '<xs:attribute name="version" type="xs:integer" fixed="1" use="required"/>'
    yield '<xs:attribute name="made" type="xs:dateTime" use="required"/>'
    yield "</xs:complexType></xs:element>"
    yield from _type(Paper, (Item, Paid, Taxed))
    yield from _type(ZReport, (ZPaid, ZTaxed))
    for part in (Item, Paid, Taxed, ZPaid, ZTaxed):
        yield from _type(part, ())
    yield '<xs:complexType name="Mark"><xs:simpleContent><xs:extension base="xs:string">'
    yield '<xs:attribute name="encoding" type="xs:string" fixed="base64"/>'
    yield "</xs:extension></xs:simpleContent></xs:complexType>"
    yield "</xs:schema>"


def _type(struct: type[Numbered], parts: tuple[type[Numbered], ...]) -> Iterator[str]:
    yield f'<xs:complexType name="{struct.__name__}">'
    words = " ".join((struct.__doc__ or "").split())
    yield f"<xs:annotation><xs:documentation>{words}</xs:documentation></xs:annotation>"
    yield "<xs:sequence>"
    for part in parts:
        yield f'<xs:element name="{ELEMENTS[part]}" type="{part.__name__}" minOccurs="0" maxOccurs="unbounded"/>'
    if struct is Item:
        yield '<xs:element name="mark" type="Mark" minOccurs="0" maxOccurs="unbounded"/>'
    yield "</xs:sequence>"
    said = () if parts else (*Moved.__struct_fields__, "marks")
    for name, kind in get_type_hints(struct).items():
        if name in struct.__struct_fields__ and name not in said:
            yield _attribute(name, kind)
    yield "</xs:complexType>"


def _attribute(name: str, kind: Any) -> str:
    needed = kind is not str and get_origin(kind) is not UnionType
    use = ' use="required"' if needed else ""
    if get_origin(kind) is Literal:
        values = "".join(f'<xs:enumeration value="{value}"/>' for value in get_args(kind))
        restriction = f'<xs:restriction base="xs:string">{values}</xs:restriction>'
        return f'<xs:attribute name="{name}"{use}><xs:simpleType>{restriction}</xs:simpleType></xs:attribute>'
    [plain] = {part for part in get_args(kind) or (kind,) if part is not NoneType}
    return f'<xs:attribute name="{name}" type="{"xs:dateTime" if name == "dt" else TYPES[plain]}"{use}/>'


if __name__ == "__main__":
    PAGE.write_text(schema(), "utf-8")
