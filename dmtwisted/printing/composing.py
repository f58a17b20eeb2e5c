"""From a form to the bytes of its job: at once where that takes some milliseconds, else in a child process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dmtwisted.clock import ServiceClock
from dmtwisted.documents.doccmd import read_doccmd, read_lines
from dmtwisted.documents.model import Barcode, Element, Image, Line, Pair, Qr
from dmtwisted.printing.interface import IPrinterWay
from dmtwisted.printing.jobs import Job, job_of
from dmtwisted.printing.layout import commands
from dmtwisted.printing.letters import Letters
from dmtwisted.requests import Members, Stray
from protocols.printers.compose import Job as ComposedJob
from protocols.printers.compose import compose
from protocols.printers.profiles import Profile

SHORT = 300
"""Elements of a form, or hundreds of characters of its texts, that are composed at once."""

SMALL_CODE = 300
"""Bytes of the one QR code of such a form."""


class Composed(NamedTuple):
    """A job for a printer, as it is sent and as the journal keeps it."""

    sent: ComposedJob
    unknown: int
    """Letters that the printer does not have."""
    kept: Job


async def composed(elements: Sequence[Element], paper: str, way: IPrinterWay, clock: ServiceClock) -> Composed:
    """The job that prints ``elements`` on ``way``.

    :param paper: the name of the paper.
    :raises CrewFailed: when it takes too long or too much memory.
    """
    if _is_short(elements, way.profile):
        return _composed(elements, paper, way.profile)
    return await clock.apart(_composed, list(elements), paper, way.profile)


async def read(name: str, doc: Members, dots: int, clock: ServiceClock) -> list[Element]:
    """The form in ``doc``, of its member ``lines`` or ``doccmd``.

    :raises Refused: 2000 with the path of the first error.
    :raises CrewFailed: when it takes too long or too much memory.
    """
    value, path = doc.value(name), doc.path(name)
    if isinstance(value, list) and not _takes_long(value):
        form, strays = _read(name, value, path, dots)
    else:
        form, strays = await clock.apart(_read, name, value, path, dots)
    for where, stray in strays.items():
        doc.strays.setdefault(where, stray)
    return form


def _composed(elements: Sequence[Element], paper: str, profile: Profile) -> Composed:
    letters = Letters(profile.best_page())
    sent = compose(commands(elements, profile.columns(), letters, profile.dots), profile)
    return Composed(sent, letters.unknown + len(sent.unknown), job_of(elements, paper))


def _read(name: str, value: object, path: str, dots: int) -> tuple[list[Element], dict[str, Stray]]:
    strays: dict[str, Stray] = {}
    return (read_lines(value, path, strays) if name == "lines" else read_doccmd(value, path, dots)), strays


def _is_short(elements: Sequence[Element], profile: Profile) -> bool:
    """Whether nothing is drawn and little is written."""
    if len(elements) > SHORT or profile.best_page() == "raster":
        return False
    letters, codes = 0, 0
    for element in elements:
        if isinstance(element, Line):
            letters += len(element.text)
        elif isinstance(element, Pair):
            letters += len(element.left) + len(element.right)
        elif isinstance(element, Qr):
            codes += 1
            if codes > 1 or len(element.data) > SMALL_CODE or profile.qr == "raster":
                return False
        elif isinstance(element, Image) or (isinstance(element, Barcode) and profile.barcode == "raster"):
            return False
    return letters <= 100 * SHORT


def _takes_long(commands: list[Any]) -> bool:
    """Whether a document is long, or has pictures."""
    return len(commands) > SHORT or any(isinstance(one, dict) and one.get("cmd") == "image" for one in commands)
