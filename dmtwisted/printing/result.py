"""The result of a print job, as far as it is known, and its texts for the caller.

============ ====================================================== =======================================
fate         what is certain                                        what the caller may do (``res_action``)
============ ====================================================== =======================================
printed      the printer, or its queue, confirmed it                go on
accepted     every byte was accepted; no confirmation comes         go on
not_printed  nothing that prints was sent                           repeat, once the reason is gone
unknown      it may be on paper, wholly or in part                  look at the paper; ask for a reprint
============ ====================================================== =======================================

The texts keep the rule of `dmtwisted.results` about stems: tills search every text for them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from dmtwisted.answers import Warning
from dmtwisted.results import Action, Refused, Res, Text

Fate = Literal["printed", "accepted", "not_printed", "unknown"]


class PrinterInfo(msgspec.Struct):
    """What became of a print job."""

    isprint: int
    state: Fate
    job: int


BUSY, NO_QUEUE, CANCELLED, CLOSED = "busy", "no_queue", "cancelled", "closed"
LATE, RESTART, AGAIN = "late", "restart", "again"
"""Reasons of the service itself; the others are those of `protocols.printers.delivery.CAUSES`."""

_NO_CONNECTION = frozenset({"unreachable", "silent", "lost", CANCELLED})
"""Reasons for which a job that was not printed ends with 100 (specification 7.4)."""

_WORDS = {
    "paper": Text("закінчився папір", "out of paper"),
    "cover": Text("відкрито кришку", "the cover is open"),
    "cutter": Text("заклинило ніж", "the cutter is jammed"),
    "mechanical": Text("збій механізму друку", "the printing mechanism failed"),
    "overheat": Text("перегрілася головка друку", "the print head is too hot"),
    "unrecoverable": Text("несправність, потрібен ремонт", "a failure that needs repair"),
    "offline": Text("пристрій не готовий до друку", "it is not ready to print"),
    "unreachable": Text("немає з’єднання", "it cannot be reached"),
    "silent": Text("пристрій не відповідає", "it does not answer"),
    "lost": Text("обірвалося з’єднання", "the connection was lost"),
    "noise": Text("незрозумілі відповіді пристрою", "its answers are not understood"),
    "stalled": Text("пристрій перестав приймати дані", "it stopped accepting data"),
    "unproven": Text("немає підтвердження друку", "it did not confirm printing"),
    "queue": Text("черга друку не довела завдання до кінця", "the print queue did not finish the job"),
    BUSY: Text("пристрій зайнятий іншим завданням", "it is busy with another job"),
    NO_QUEUE: Text("у системі немає такої черги друку", "the system has no such print queue"),
    CANCELLED: Text("пристрій не прийняв завдання вчасно", "it did not accept the job in time"),
    CLOSED: Text("пристрій переналаштовано або сервіс зупинено", "its settings were changed or the service stopped"),
    LATE: Text("друк не завершено за відведений час", "it was not finished in time"),
    RESTART: Text("сервіс зупинився посеред друку", "the service stopped during printing"),
    AGAIN: Text("результат попередньої спроби невідомий", "the result of the last attempt is unknown"),
}
_OTHER = Text("несправність друку", "a printing failure")
_IN_DOUBT = Text("невідомо, чи надруковано", "it is unknown whether it was printed")

_PROBLEMS = {
    "not-a-code": Text("код, якого не можна намалювати", "a code that cannot be drawn"),
    "too-wide": Text("код або малюнок, ширший за стрічку", "a code or picture wider than the strip"),
    "too-long": Text("надто довгий код", "a code that is too long"),
    "no-logo": Text("збережений логотип", "a stored logo"),
    "no-beeper": Text("звуковий сигнал", "a beep"),
    "no-drawer": Text("відкривання шухляди", "opening the drawer"),
}
"""What a printer can lack, in words (`protocols.printers.compose.ProblemKind`)."""
_CANNOT = Text("пристрій цього не вміє", "the device cannot do this")
_LETTERS = Text("знаків, які пристрій не вміє друкувати", "letters that the device cannot print")


REASONS = tuple(_WORDS)
"""Every known reason."""


def reason_text(reason: str) -> Text:
    """The text of a reason; a general one for an unknown reason, which may hold a stem that tills search for."""
    return _WORDS.get(reason, _OTHER)


class PrintResult(msgspec.Struct, frozen=True):
    """What is known of a job when its caller is answered."""

    n: int
    """The number of the job."""
    fate: Fate
    reason: str = ""
    unknown_letters: int = 0
    problems: tuple[str, ...] = ()
    """What was left out because the printer cannot do it, see `protocols.printers.compose.ProblemKind`."""
    stored: bool = True
    """Whether the fate is in the journal."""

    @property
    def on_paper(self) -> bool:
        """Whether the caller may rely on the paper: it is out, or accepted by a printer that confirms nothing."""
        return self.fate in ("printed", "accepted")

    def refused(self) -> Refused:
        """The same as an error (specification 7.1, 7.4)."""
        text = reason_text(self.reason)
        if self.fate == "unknown":
            doubt = Text(*(f"{known}: {why}" for known, why in zip(_IN_DOUBT, text, strict=True)))
            return Refused(Res.DEVICE_ERROR, doubt, action=Action.COLLISION)
        if self.reason in _NO_CONNECTION:
            return Refused(Res.PRINTER_CONNECT)
        if self.reason == NO_QUEUE:
            return Refused(Res.INTERNAL, text)
        return Refused(Res.DEVICE_ERROR, text, action=Action.REPEAT if self.reason in (BUSY, CLOSED) else None)

    def warnings(self, language: str) -> list[Warning]:
        """The warnings about a job that is on paper."""
        found = []
        if self.unknown_letters:
            text = f"{_LETTERS.for_language(language)}: {self.unknown_letters}"
            found.append(Warning(Res.DEVICE_ERROR.code, text))
        for problem in dict.fromkeys(self.problems):
            text = _PROBLEMS[problem].for_language(language) if problem in _PROBLEMS else problem
            found.append(Warning(Res.DEVICE_ERROR.code, f"{_CANNOT.for_language(language)}: {text}"))
        if not self.stored:
            found.append(Warning.of(Res.STORE_FAILED, language))
        return found
