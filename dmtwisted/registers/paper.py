"""The print forms in an answer: text, picture, PDF and document language, all made of one form (http-api 2.21)."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger

from dmtwisted.answers import Warning, warned, with_member
from dmtwisted.clock import ServiceClock
from dmtwisted.documents.document_form import document_form
from dmtwisted.documents.documents import Document
from dmtwisted.documents.model import Element
from dmtwisted.documents.template import with_template
from dmtwisted.printing.text import as_data_uri, render_text
from dmtwisted.registers.interface import Done
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.requests import Forms
from dmtwisted.results import Res, Text

log = Logger()

AS_SET, WANTED = 0, 2
"""Values of ``need_pf_*``; 1 is "none" (http-api 1.2)."""


class DocumentPaper:
    """The form of a document with the shop's own template around it, made when somebody wants it.

    ``trouble`` says after that why the template added nothing; it is never in the document's way.
    """

    def __init__(self, document: Document, fiscal_number: str, template: str, copy: bool = False) -> None:
        self._document, self._fiscal_number = document, fiscal_number
        self._template, self._copy = template, copy
        self.trouble = ""

    def __call__(self) -> list[Element]:
        form = document_form(self._document, self._fiscal_number, self._copy)
        if not self._template:
            return form
        whole, self.trouble = with_template(form, self._template, self._document, self._fiscal_number, self._copy)
        return whole


async def with_forms(
    done: Done, wishes: Forms, settings: RegisterSettings, language: str, clock: ServiceClock
) -> Done:
    """``done`` with the print forms that the request or the settings want in its answer."""
    if done.form is None:
        return done
    wanted = [
        (name, draw, takes_long)
        for name, wish, is_set, draw, takes_long in (
            ("pf_text", wishes.text, settings.pf_text, _text, False),
            ("pf_image", wishes.image, settings.pf_image, _image, True),
            ("pf_pdf", wishes.pdf, settings.pf_pdf, _pdf, True),
            ("pf_doccmd", wishes.doccmd, settings.pf_doccmd, _doccmd, False),
        )
        if wish == WANTED or (wish == AS_SET and is_set)
    ]
    if not wanted:
        return done
    form = done.form()
    answer = done.answer
    warnings = []
    trouble = getattr(done.form, "trouble", "")
    if trouble:
        warnings.append(Warning(Res.DEVICE_ERROR.code, _TEMPLATE.for_language(language) + trouble))
    for name, draw, takes_long in wanted:
        try:
            drawn = await clock.aside(draw, form, settings) if takes_long else draw(form, settings)
        except Exception as error:
            # Too long, or a fault in drawing: the task is done, and its other forms are there.
            log.failure("{name} could not be drawn", name=name)
            warnings.append(Warning(Res.DEVICE_ERROR.code, f"{name}: {error}"))
        else:
            answer = with_member(answer, name, drawn)
    return done._replace(answer=warned(answer, warnings))


_TEMPLATE = Text("шаблон друку не застосовано: ", "the print template was left out: ")

Draw = Callable[[list[Element], RegisterSettings], str]


def _text(form: list[Element], settings: RegisterSettings) -> str:
    return as_data_uri(render_text(form, settings.pf_charcount))


def _image(form: list[Element], settings: RegisterSettings) -> str:
    # Only who wants a picture pays for the library that draws it.
    from dmtwisted.printing import image

    return image.as_data_uri(image.draw(form, settings.pf_dots))


def _pdf(form: list[Element], settings: RegisterSettings) -> str:
    from dmtwisted.printing import pdf

    return pdf.as_data_uri(pdf.draw(form, 58 if settings.pf_dots < 512 else 80))


def _doccmd(form: list[Element], settings: RegisterSettings) -> str:
    from dmtwisted.documents import doccmd

    return doccmd.as_data_uri(form)
