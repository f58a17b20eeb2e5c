"""From a document to its bytes and back, whatever class it is of (fiscal-server 4, 5, 8)."""

from __future__ import annotations

from typing import Any, TypeVar

from protocols.fiscal import schema
from protocols.fiscal.check_xml import Check
from protocols.fiscal.schema import DocumentError, Fault
from protocols.fiscal.ticket_xml import Ticket
from protocols.fiscal.xml_tree import Layout, MalformedXml, Node, parse, write
from protocols.fiscal.zrep_xml import ZRep

Document = Check | ZRep

AnyDocument = TypeVar("AnyDocument", Check, ZRep, Ticket)

_XSI = "http://www.w3.org/2001/XMLSchema-instance"

ROOTS: dict[type[Any], tuple[str, str]] = {
    Check: ("CHECK", "check01.xsd"),
    ZRep: ("ZREP", "zrep01.xsd"),
    Ticket: ("TICKET", "ticket01.xsd"),
}
"""The root element of each class of documents, and the schema that it names."""


def encode(document: Document | Ticket, layout: Layout = Layout.COMPACT) -> bytes:
    """The bytes of a document; the same document has always the same ones.

    :raises DocumentError: when a value cannot be written, with its place.
    """
    name, location = ROOTS[type(document)]
    attributes = {"xmlns:xsi": _XSI, "xsi:noNamespaceSchemaLocation": location}
    return write(schema.write(document, name, "", attributes), layout)


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

    :raises DocumentError: with every fault when it is none.
    """
    root = tree(data)
    if root.name != ROOTS[section][0]:
        raise DocumentError(Fault(root.name, f"{ROOTS[section][0]} is expected"))
    return schema.read(section, root)


def tree(data: bytes) -> Node:
    """The elements of ``data``, not yet checked.

    :raises DocumentError: when it is no XML.
    """
    try:
        return parse(data)
    except MalformedXml as error:
        raise DocumentError(Fault("", f"no XML ({error})")) from None
