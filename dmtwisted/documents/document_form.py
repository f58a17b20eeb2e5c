"""The print form of any fiscal document."""

from __future__ import annotations

from dmtwisted.documents.documents import Document
from dmtwisted.documents.forms import receipt_form, report_form
from dmtwisted.documents.model import Element


def document_form(document: Document, fiscal_number: str, copy: bool = False) -> list[Element]:
    """What the printer shall print of ``document``, accepted as ``fiscal_number``."""
    if document.report is None:
        return receipt_form(document, fiscal_number, copy=copy)
    return report_form(
        Z_TITLE,
        document.header,
        document.cashier,
        document.at,
        document.report,
        number=document.number,
        fiscal_number=fiscal_number,
        shift=document.shift,
        dtype=document.dtype,
        copy=copy,
        isoffline=document.offline is not None,
    )


X_TITLE, Z_TITLE = "X-ЗВІТ", "Z-ЗВІТ"
"""Titles of the reports; a till looks for the first one (http-api 2.9)."""
