"""A register's task with the print forms in its answer: text, picture, PDF and document language."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger

from dmtwisted.answers import Warning, warned, with_member
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Device
from dmtwisted.documents import doccmd
from dmtwisted.documents.model import Element
from dmtwisted.printing import image, pdf, text
from dmtwisted.registers.interface import Done
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.requests import Forms, TaskRequest
from dmtwisted.results import Res, Text

log = Logger()

AS_SET, WANTED = 0, 2
"""Values of ``need_pf_*``; 1 is "none" (docs/reference/http-interface.md#print-forms)."""


async def perform(device: Device, request: TaskRequest, language: str, clock: ServiceClock) -> Done:
    """Do one task on a register.

    :raises Refused: as `IRegister.perform` does.
    """
    done: Done = await device.built.perform(request, language)
    return await _with_forms(done, request.forms, device.settings, language, clock)


async def look_up(device: Device, request: TaskRequest, language: str, clock: ServiceClock) -> Done:
    """The stored answer for the request's tag.

    :raises Refused: as `IRegister.look_up` does.
    """
    done: Done = await device.built.look_up(request)
    return await _with_forms(done, request.forms, device.settings, language, clock)


async def _with_forms(done: Done, wishes: Forms, settings: object, language: str, clock: ServiceClock) -> Done:
    """``done`` with the print forms that the request or the settings want in its answer."""
    if done.form is None or not isinstance(settings, RegisterSettings):
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
            # It is too long, or drawing failed: the task is done, and its other forms can be drawn.
            log.failure("{name} could not be drawn", name=name)
            warnings.append(Warning(Res.DEVICE_ERROR.code, f"{name}: {error}"))
        else:
            answer = with_member(answer, name, drawn)
    return done._replace(answer=warned(answer, warnings))


_TEMPLATE = Text("шаблон друку не застосовано: ", "the print template was left out: ")

Draw = Callable[[list[Element], RegisterSettings], str]


def _text(form: list[Element], settings: RegisterSettings) -> str:
    return text.as_data_uri(text.render_text(form, settings.pf_charcount))


def _image(form: list[Element], settings: RegisterSettings) -> str:
    return image.as_data_uri(image.draw(form, settings.pf_dots))


def _pdf(form: list[Element], settings: RegisterSettings) -> str:
    return pdf.as_data_uri(pdf.draw(form, 58 if settings.pf_dots < 512 else 80))


def _doccmd(form: list[Element], settings: RegisterSettings) -> str:
    return doccmd.as_data_uri(form)
