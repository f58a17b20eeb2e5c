"""What a machine's refusals and broken lines are to a caller."""

from __future__ import annotations

from dmtwisted.documents import documents
from dmtwisted.registers.channels.interface import Away
from dmtwisted.results import Action, Refused, Res, Text
from dmtwisted.wording import wording
from protocols.errors import WireError
from protocols.registers.troubles import DeviceRefused, Trouble

_CODES = {
    Trouble.NO_PAPER: Res.NO_PAPER,
    Trouble.SHIFT_OVER: Res.SHIFT_MUST_BE_CLOSED,
    Trouble.CASH_SHORT: Res.NOT_ENOUGH_CASH,
    Trouble.BUSY: Res.DEVICE_BUSY,
}
"""Whatever is not here is a device error with the machine's code."""

_REPORTS = {documents.Z: Res.Z_REPORT_FAILED, "x": Res.X_REPORT_FAILED}

_AT_FAULT = frozenset({Trouble.BAD_PASSWORD, Trouble.NO_PAPER, Trouble.COVER_OPEN, Trouble.PRINTER, Trouble.BUSY})
"""What has nothing to do with a report."""


class NotThere(Away):
    """The machine is not reached, or does not answer a question: nothing has happened, a repeat is right."""

    def __init__(self, error: WireError) -> None:
        super().__init__(wording(error), Res.DEVICE_ERROR)
        self.action = Action.REPEAT


class NotNow(Refused):
    """The machine does not do it in the mode that it is in, and does not say what is in the way."""


def refusal(error: WireError, kind: str = "") -> Refused:
    """The answer for a failure before any effect.

    :param kind: of the document, or ``x`` for a report of that name.
    """
    if not isinstance(error, DeviceRefused):
        return NotThere(error)
    meaning = error.meaning
    told = Text(f"{error.code} {meaning.ukrainian}", f"{error.code} {meaning.english}")
    res = _CODES.get(meaning.trouble)
    if res is None and kind in _REPORTS and meaning.trouble not in _AT_FAULT:
        res = _REPORTS[kind]
    if res is not None:
        return Refused(res, aq_errortxt=told)
    # Words of the machine stand apart: tills search the text of the result for words.
    kind_of = NotNow if meaning.trouble is Trouble.WRONG_MODE else Refused
    return kind_of(Res.DEVICE_ERROR, error.code, aq_errortxt=Text(meaning.ukrainian, meaning.english))
