"""A register's task with the print forms in its answer: text, picture, PDF and document language."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger

from dmtwisted.answers import Warning, warned, with_member
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import AnyRegister, register_settings
from dmtwisted.documents import doccmd
from dmtwisted.documents.model import Element, Line, Pair
from dmtwisted.printing import image, pdf, text
from dmtwisted.registers.interface import Done
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.requests import Forms, TaskRequest
from dmtwisted.results import Res, Text, joined
from dmtwisted.wording import wording

log = Logger()

AS_SET, WANTED = 0, 2
"""Values of ``need_pf_*``; 1 is "none" (docs/reference/http-interface.md#print-forms)."""

_NO_WISH = Forms()
"""Of most requests."""


async def perform(device: AnyRegister, request: TaskRequest, language: str, clock: ServiceClock) -> Done:
    """Do one task on a register.

    :raises Refused: as `IRegister.perform` does.
    """
    done = await device.built.perform(request, language)
    wanted = _wanted(done, request.forms, device.settings)
    return await _with_forms(done, wanted, register_settings(device), language, clock) if wanted else done


async def look_up(device: AnyRegister, request: TaskRequest, language: str, clock: ServiceClock) -> Done:
    """The stored answer for the request's tag.

    :raises Refused: as `IRegister.look_up` does.
    """
    done = await device.built.look_up(request)
    wanted = _wanted(done, request.forms, device.settings)
    return await _with_forms(done, wanted, register_settings(device), language, clock) if wanted else done


def _wanted(done: Done, wishes: Forms, settings: object) -> list[str]:
    """The members of the answer for the print forms that the request or the settings want."""
    if done.form is None or not isinstance(settings, RegisterSettings):
        return []
    if wishes == _NO_WISH and not (settings.pf_text or settings.pf_image or settings.pf_pdf or settings.pf_doccmd):
        return []
    return [
        name
        for name, wish, is_set in (
            ("pf_text", wishes.text, settings.pf_text),
            ("pf_image", wishes.image, settings.pf_image),
            ("pf_pdf", wishes.pdf, settings.pf_pdf),
            ("pf_doccmd", wishes.doccmd, settings.pf_doccmd),
        )
        if wish == WANTED or (wish == AS_SET and is_set)
    ]


async def _with_forms(
    done: Done, wanted: list[str], settings: RegisterSettings, language: str, clock: ServiceClock
) -> Done:
    assert done.form is not None
    form, answer, warnings = done.form(), done.answer, []
    trouble = getattr(done.form, "trouble", "")
    if trouble:
        warnings.append(Warning(Res.DEVICE_ERROR.code, joined(_TEMPLATE, wording(trouble)).for_language(language)))
    for name in wanted:
        try:
            drawn = await _drawn(name, form, settings, clock)
        except Exception as error:
            # It is too long, or drawing failed: the task is done, and its other forms can be drawn.
            log.failure("{name} could not be drawn", name=name)
            warnings.append(Warning(Res.DEVICE_ERROR.code, joined(name, wording(error)).for_language(language)))
        else:
            answer = with_member(answer, name, drawn)
    return done._replace(answer=warned(answer, warnings))


_TEMPLATE = Text("шаблон друку не застосовано", "the print template was left out")


async def _drawn(name: str, form: list[Element], settings: RegisterSettings, clock: ServiceClock) -> str:
    """The form for the member ``name``; short texts are made at once, the rest in a child process."""
    draw, setting = _DRAWINGS[name]
    arguments = [form] if setting is None else [form, getattr(settings, setting)]
    if name in _TEXTS and len(form) <= SHORT and sum(map(_letters, form)) <= LETTERS:
        return draw(*arguments)
    return await clock.apart(draw, *arguments)


def _text(form: list[Element], columns: int) -> str:
    return text.as_data_uri(text.render_text(form, columns))


def _image(form: list[Element], dots: int) -> str:
    return image.as_data_uri(image.draw(form, dots))


def _pdf(form: list[Element], dots: int) -> str:
    return pdf.as_data_uri(pdf.draw(form, pdf.paper_of(dots)))


_DRAWINGS: dict[str, tuple[Callable[..., str], str | None]] = {
    "pf_text": (_text, "pf_charcount"),
    "pf_image": (_image, "pf_dots"),
    "pf_pdf": (_pdf, "pf_dots"),
    "pf_doccmd": (doccmd.as_data_uri, None),
}
"""By the member of the answer: what draws the form, and the setting that it depends on."""

_TEXTS = frozenset({"pf_text", "pf_doccmd"})

SHORT, LETTERS = 500, 50_000
"""Elements, and characters of names and texts, of a form that takes some milliseconds to write."""


def _letters(element: Element) -> int:
    if isinstance(element, Line):
        return len(element.text)
    return len(element.left) if isinstance(element, Pair) else 0
