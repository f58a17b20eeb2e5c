"""What is printed of any fiscal document: its form, with the shop's own template around it."""

from __future__ import annotations

from dmtwisted.documents.documents import Document
from dmtwisted.documents.forms import receipt_form, report_form
from dmtwisted.documents.model import Element
from dmtwisted.documents.template import with_template

X_TITLE, Z_TITLE = "X-ЗВІТ", "Z-ЗВІТ"
"""Titles of the reports; a till looks for the first one (docs/reference/http-interface.md#x-and-z-reports)."""


def document_form(document: Document, fiscal_number: str, copy: bool = False) -> list[Element]:
    """The form of ``document``, accepted as ``fiscal_number``, without a template."""
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


class DocumentPaper:
    """Makes the form when it is called. Afterwards ``trouble`` says why the template was left out, if it was."""

    def __init__(self, document: Document, fiscal_number: str, template: str, copy: bool = False) -> None:
        self._document, self._fiscal_number = document, fiscal_number
        self._template, self._copy = template, copy
        self.trouble = ""

    def __call__(self) -> list[Element]:
        form = document_form(self._document, self._fiscal_number, self._copy)
        if self._template:
            form, self.trouble = with_template(form, self._template, self._document, self._fiscal_number, self._copy)
        return form
