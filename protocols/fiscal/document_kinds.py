"""The kinds of documents and their sections (docs/reference/tax-service.md#document-kinds)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from protocols.fiscal.check_head import DocSubType, DocType
from protocols.fiscal.check_xml import Check, CheckTotal
from protocols.fiscal.document_xml import Document
from protocols.fiscal.kinds import Kind
from protocols.fiscal.schema import Fault
from protocols.fiscal.zrep_xml import ZRep


@dataclass(frozen=True)
class Shape:
    """The sections of a kind of document, without the head."""

    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


_GOODS = Shape(
    frozenset({"checktotal", "checkpay", "checkbody"}),
    frozenset({"checktax", "checkptks", "checkdutyfree", "checkdutyfreeremains"}),
)
_MONEY = Shape(frozenset({"checktotal"}), frozenset({"checkpay", "checkbody"}))

SHAPES = {
    Kind.OPEN: Shape(),
    Kind.CLOSE: Shape(),
    Kind.OFFLINE_BEGIN: Shape(),
    Kind.OFFLINE_END: Shape(),
    Kind.SALE: _GOODS,
    Kind.RETURN: _GOODS,
    Kind.CASH_IN: _MONEY,
    Kind.REINFORCEMENT: _MONEY,
    Kind.CASH_OUT: _MONEY,
    Kind.STORNO: Shape(optional=_GOODS.required | _GOODS.optional),
    Kind.TRANSFER: _GOODS,
    Kind.CURRENCY: Shape(frozenset({"checkbody"}), frozenset({"checktotal", "checkpay", "checktax", "checkptks"})),
    Kind.WITHDRAWAL: Shape(frozenset({"checktotal", "checkpay", "checkbody"}), frozenset({"checktax"})),
    Kind.PAWNSHOP: _GOODS,
}
"""Sections of each kind of CHECK."""

_BY_TYPE: dict[int, Kind] = {
    DocType.TRANSFER: Kind.TRANSFER,
    DocType.CURRENCY: Kind.CURRENCY,
    DocType.WITHDRAWAL: Kind.WITHDRAWAL,
    DocType.PAWNSHOP: Kind.PAWNSHOP,
    DocType.OPEN_SHIFT: Kind.OPEN,
    DocType.CLOSE_SHIFT: Kind.CLOSE,
    DocType.OFFLINE_BEGIN: Kind.OFFLINE_BEGIN,
    DocType.OFFLINE_END: Kind.OFFLINE_END,
}

_BY_SUBTYPE: dict[int, Kind] = {
    DocSubType.SALE: Kind.SALE,
    DocSubType.RETURN: Kind.RETURN,
    DocSubType.CASH_IN: Kind.CASH_IN,
    DocSubType.REINFORCEMENT: Kind.REINFORCEMENT,
    DocSubType.CASH_OUT: Kind.CASH_OUT,
    DocSubType.STORNO: Kind.STORNO,
}

_MOVES: frozenset[int] = frozenset(
    {DocSubType.CASH_IN, DocSubType.REINFORCEMENT, DocSubType.CASH_OUT, DocSubType.STORNO}
)
"""Subtypes with the same meaning in an exchange office as in a shop."""


def kind_of(document: Document) -> Kind | None:
    """The kind of ``document``; `None` for an unknown type."""
    if isinstance(document, ZRep):
        return Kind.Z
    head = document.checkhead
    subtype = -1 if head.docsubtype is None else head.docsubtype
    if head.doctype == DocType.SALE or (head.doctype == DocType.CURRENCY and subtype in _MOVES):
        return _BY_SUBTYPE.get(subtype)
    return _BY_TYPE.get(head.doctype)


def is_return(document: Document) -> bool:
    """Whether money goes back to the customer: subtype 1 of any type."""
    return isinstance(document, Check) and document.checkhead.docsubtype == DocSubType.RETURN


def content_faults(document: Document) -> Iterator[Fault]:
    """Sections that ``document`` has against its kind, or lacks."""
    kind = kind_of(document)
    if kind is None:
        yield Fault("CHECK/CHECKHEAD/DOCTYPE", "a document of this type and subtype is not known")
        return
    if isinstance(document, ZRep):
        yield from _number_faults("ZREP/ZREPHEAD", document.head.offline, document.head.ordertaxnum)
        return
    shape = SHAPES[kind]
    for section in fields(Check)[1:]:
        given, path = bool(getattr(document, section.name)), f"CHECK/{section.name.upper()}"
        if given and section.name not in shape.required | shape.optional:
            yield Fault(path, f"a document of the kind {kind} has no such section")
        elif not given and section.name in shape.required:
            yield Fault(path, f"a document of the kind {kind} needs this section")
    if "checktotal" in shape.required and document.checktotal is not None and document.checktotal.sum is None:
        yield Fault("CHECK/CHECKTOTAL/SUM", f"a document of the kind {kind} needs a sum")
    if document.checktotal is not None:
        yield from _part_faults(document.checktotal)
    yield from _head_faults(document, kind)


def _part_faults(total: CheckTotal) -> Iterator[Fault]:
    """What a part payment lacks: its kind, its sum, but for the first the number of the prepayment."""
    kind, path = total.partpaytype, "CHECK/CHECKTOTAL"
    if kind is None and total.partpaysum is None:
        return
    if kind not in (1, 2, 3):
        yield Fault(f"{path}/PARTPAYTYPE", "a part payment is 1, 2 or 3")
    elif kind != 1 and not total.partpayordprepaynum:
        yield Fault(f"{path}/PARTPAYORDPREPAYNUM", "a further or final payment names the prepayment")
    if total.partpaysum is None:
        yield Fault(f"{path}/PARTPAYSUM", "a part payment needs its sum")


def _head_faults(document: Document, kind: Kind) -> Iterator[Fault]:
    assert isinstance(document, Check)
    head, path = document.checkhead, "CHECK/CHECKHEAD"
    if kind is Kind.RETURN and not head.orderretnum:
        yield Fault(f"{path}/ORDERRETNUM", "a return names its receipt")
    if kind is Kind.STORNO and not head.orderstornum:
        yield Fault(f"{path}/ORDERSTORNUM", "a storno names the document that it reverses")
    if head.revokelastonlinedoc is not None and kind is not Kind.OFFLINE_BEGIN:
        yield Fault(f"{path}/REVOKELASTONLINEDOC", "only the opening of an offline session revokes a document")
    if kind in (Kind.OFFLINE_BEGIN, Kind.OFFLINE_END):
        if head.testing:
            yield Fault(f"{path}/TESTING", "an offline session is never a test")
        if not head.offline:
            yield Fault(f"{path}/OFFLINE", "a session's opening and closing are offline documents")
    yield from _number_faults(path, head.offline, head.ordertaxnum)


def _number_faults(path: str, offline: bool | None, number: str | None) -> Iterator[Fault]:
    if bool(offline) != bool(number):
        yield Fault(f"{path}/ORDERTAXNUM", "offline documents have a fiscal number, and only they")
