"""The link in the QR code of a receipt."""

from __future__ import annotations

from dmtwisted.clock import stamp14
from dmtwisted.documents.documents import Document
from protocols.fiscal.qr_link import qr_link


def receipt_qr(document: Document, fiscal_number: str) -> str:
    """The link to ``document``, accepted as ``fiscal_number``."""
    header = document.header
    issued = stamp14(document.at)[: 12 if header.qr_minutes else 14]
    return qr_link(fiscal_number, issued, header.fisid, document.total, mac_of(document))


def mac_of(document: Document) -> str:
    """The control hash of a document made offline; empty online."""
    return document.offline.hash if document.offline is not None else ""
