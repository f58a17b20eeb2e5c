"""What is known of a print job, and the words in which a caller hears it.

============ =================================================== ==========================================
fate         what is certain                                     what a caller may do (``res_action``)
============ =================================================== ==========================================
printed      the printer, or the queue before it, proved it      go on
accepted     every byte was taken; this way tells no more yet    go on
not_printed  nothing that prints was sent                        repeat, once the reason is gone
unknown      it may be on paper, wholly or in part               look at the paper; ask for a reprint
============ =================================================== ==========================================

The words keep the rule of `dmtwisted.results` about stems: tills look for them in any text.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from dmtwisted.answers import Warning
from dmtwisted.results import Action, Refused, Res, Text
from protocols.printers.verdict import Verdict

Fate = Literal["printed", "accepted", "not_printed", "unknown"]


class PrinterInfo(msgspec.Struct):
    """What became of a print job."""

    isprint: int
    state: Fate
    job: int


BUSY, NO_QUEUE, CANCELLED, CLOSED, LATE, RESTART, AGAIN = (
    "busy",
    "no_queue",
    "cancelled",
    "closed",
    "late",
    "restart",
    "again",
)
"""Reasons that the service itself gives; the others are those of `protocols.printers.delivery.CAUSES`."""

_NO_CONNECTION = frozenset({"unreachable", "silent", "lost", CANCELLED})
"""Reasons for which a job that was not printed is 100 (specification 7.4)."""

_WORDS = {
    "paper": Text("закінчився папір", "out of paper"),
    "cover": Text("відкрито кришку", "the cover is open"),
    "cutter": Text("заклинило ніж", "the cutter is jammed"),
    "mechanical": Text("збій механізму друку", "the printing mechanism failed"),
    "overheat": Text("перегрілася головка друку", "the print head is too hot"),
    "unrecoverable": Text("несправність, потрібен ремонт", "a fault that needs repair"),
    "offline": Text("пристрій не готовий до друку", "it is not ready to print"),
    "unreachable": Text("немає з’єднання", "it is not reached"),
    "silent": Text("пристрій не відповідає", "it does not answer"),
    "lost": Text("обірвалося з’єднання", "the line broke"),
    "noise": Text("відповіді не тією мовою", "it answers in another language"),
    "stalled": Text("пристрій перестав приймати дані", "it stopped taking data"),
    "unproven": Text("немає підтвердження друку", "it did not confirm the print"),
    "queue": Text("черга друку не довела завдання до кінця", "the print queue did not see it through"),
    BUSY: Text("пристрій зайнятий іншим завданням", "it is busy with another job"),
    NO_QUEUE: Text("у системі немає такої черги друку", "the system has no such print queue"),
    CANCELLED: Text("пристрій не взяв завдання вчасно", "it did not take the job in time"),
    CLOSED: Text("пристрій переналаштовано або сервіс зупинено", "it was set up anew or the service ended"),
    LATE: Text("друк не завершено за відведений час", "it was not done in time"),
    RESTART: Text("сервіс зупинився посеред друку", "the service ended in the middle of it"),
    AGAIN: Text("попередня спроба не мала певного кінця", "the attempt before had no certain end"),
}
_OTHER = Text("несправність друку", "a fault in printing")
_IN_DOUBT = Text("невідомо, чи надруковано", "nobody knows whether it was printed")

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


def why(reason: str, language: str) -> str:
    """A reason in words.

    What nobody has words for is not told as it is: it may hold a stem that a till takes for something else.
    """
    return _WORDS.get(reason, _OTHER).for_language(language)


class NotPrinted(Refused):
    """Why nobody may count on a print; the details are in the language of whoever reads them."""

    def __init__(self, res: Res, reason: str, action: Action | None = None) -> None:
        super().__init__(res, reason, action=action)
        self.reason = reason

    def errortxt(self, language: str = "uk") -> str:
        """The published text with the reason in it; 100 says it all by itself."""
        words = why(self.reason, language)
        if self.action is Action.COLLISION:
            words = f"{_IN_DOUBT.for_language(language)}: {words}"
        return Refused(self.res, *(() if self.res is Res.PRINTER_CONNECT else (words,))).errortxt(language)


class Told(msgspec.Struct, frozen=True):
    """What is known of a job when its caller is answered."""

    n: int
    """The number of the job."""
    fate: Fate
    reason: str = ""
    unknown_letters: int = 0
    problems: tuple[str, ...] = ()
    """What the printer cannot do and did not, see `protocols.printers.compose.ProblemKind`."""
    stored: bool = True
    """Whether the journal learnt of the fate."""

    @property
    def on_paper(self) -> bool:
        """Whether the caller may count on the paper: it is out, or taken by a printer that does not tell."""
        return self.fate in ("printed", "accepted")

    def refused(self) -> NotPrinted:
        """The same as an error (specification 7.1, 7.4; design 5 for ``res_action``)."""
        if self.fate == "unknown":
            return NotPrinted(Res.DEVICE_ERROR, self.reason, Action.COLLISION)
        if self.reason in _NO_CONNECTION:
            return NotPrinted(Res.PRINTER_CONNECT, self.reason)
        if self.reason == NO_QUEUE:
            return NotPrinted(Res.INTERNAL, self.reason)
        return NotPrinted(Res.DEVICE_ERROR, self.reason, Action.REPEAT if self.reason in (BUSY, CLOSED) else None)

    def warnings(self, language: str) -> list[Warning]:
        """What is worth knowing of a job that is on paper."""
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


def fate_of(verdict: Verdict) -> Fate:
    """The fate that a verdict says."""
    return verdict.outcome.value
