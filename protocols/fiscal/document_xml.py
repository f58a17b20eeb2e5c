"""Documents of every class to bytes and back (docs/reference/tax-service.md#element-order)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from protocols.fiscal import schema
from protocols.fiscal.check_xml import Check
from protocols.fiscal.schema import DocumentError, Fault
from protocols.fiscal.ticket_xml import Ticket
from protocols.fiscal.xml_tree import MalformedXml, Node, parse, write
from protocols.fiscal.zrep_xml import ZRep

Document = Check | ZRep

ADocument = TypeVar("ADocument", bound=Document)
AnyDocument = TypeVar("AnyDocument", Check, ZRep, Ticket)

_XSI = "http://www.w3.org/2001/XMLSchema-instance"

ROOTS: dict[type[Any], tuple[str, str]] = {
    Check: ("CHECK", "check01.xsd"),
    ZRep: ("ZREP", "zrep01.xsd"),
    Ticket: ("TICKET", "ticket01.xsd"),
}
"""The root element of each class of documents, and the schema named in it."""


def with_head(document: ADocument, **members: Any) -> ADocument:
    """``document`` with other values in its head."""
    if isinstance(document, Check):
        return replace(document, checkhead=replace(document.checkhead, **members))
    return replace(document, zrephead=replace(document.zrephead, **members))


def encode(document: Document | Ticket) -> bytes:
    """The bytes of a document; equal documents have equal bytes.

    :raises DocumentError: with the place, when a value cannot be written.
    """
    name, location = ROOTS[type(document)]
    attributes = {"xmlns:xsi": _XSI, "xsi:noNamespaceSchemaLocation": location}
    return write(schema.write(document, name, "", attributes))


def decode(data: bytes) -> Document:
    """The receipt or report that ``data`` holds.

    :raises DocumentError: with every fault when it is neither.
    """
    root = tree(data)
    if root.name == ROOTS[Check][0]:
        return schema.read(Check, root)
    if root.name == ROOTS[ZRep][0]:
        return schema.read(ZRep, root)
    raise DocumentError(Fault(root.name, "CHECK or ZREP is expected"))


def decode_as(section: type[AnyDocument], data: bytes) -> AnyDocument:
    """The document of the class ``section`` that ``data`` holds.

    :raises DocumentError: with every fault when it is not one.
    """
    root = tree(data)
    if root.name != ROOTS[section][0]:
        raise DocumentError(Fault(root.name, f"{ROOTS[section][0]} is expected"))
    return schema.read(section, root)


def tree(data: bytes) -> Node:
    """The elements of ``data``, unchecked.

    :raises DocumentError: when it is not XML.
    """
    try:
        return parse(data)
    except MalformedXml as error:
        raise DocumentError(Fault("", f"it is not XML ({error})")) from None
