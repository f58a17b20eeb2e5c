"""The link under the QR code of a receipt."""

from __future__ import annotations

from dmtwisted.clock import stamp14
from dmtwisted.documents.documents import Document
from dmtwisted.money import hryvnias

CABINET = "https://cabinet.tax.gov.ua/cashregs/check"
"""Where the tax service shows a receipt to its buyer (docs/reference/tax-service.md#qr-link)."""


def receipt_qr(document: Document, fiscal_number: str) -> str:
    """The link to ``document``, accepted as ``fiscal_number``."""
    moment, mac = stamp14(document.at), mac_of(document)
    return (
        f"{CABINET}?id={fiscal_number}&date={moment[:8]}&time={moment[8:]}"
        f"&fn={document.header.fisid}&sm={hryvnias(document.sum)}{f'&mac={mac}' if mac else ''}"
    )


def mac_of(document: Document) -> str:
    """The control hash of a document made offline; empty online."""
    return document.offline.hash if document.offline is not None else ""
