"""The tax service's end, in process: the rules by which it takes the documents of one register.

It knows protocol A's error codes and checks in its order: local number, then shift, then Z (fiscal-server 8, 16).
What it took it wrote into its ledger first; a lost answer does not undo it.
"""

from __future__ import annotations

from array import array
from pathlib import Path

import msgspec

from protocols.simulators.ledger import ACCEPTED, REFUSED, Entry, Ledger
from protocols.simulators.scenario import Scenario

OK = 0
SHIFT_ALREADY_OPENED = 4
SHIFT_NOT_OPENED = 5
LAST_DOCUMENT_MUST_BE_Z = 6
LOCAL_NUMBER_INVALID = 7
Z_ALREADY_REGISTERED = 8
DOCUMENT_INVALID = 9

CLOSE = "close"
"""The document that closes the shift after its Z. It takes a number and is no entry that people look for."""

_LAST_WAS_Z, _OPENED, _CLOSED = "z", "opened", "closed"


class Paper(msgspec.Struct, frozen=True):
    """A document as the tax service reads it; ``sum`` in kopecks, ``dt`` as ``yyyyMMddHHmmss``."""

    register: str
    kind: str
    number: int
    sum: int
    dt: str


class Ticket(msgspec.Struct, frozen=True):
    """What the tax service answers: its number for the document, or an error code of protocol A and a text."""

    code: int
    number: str = ""
    text: str = ""


class TaxService:
    """The tax service as one register meets it.

    :param register: the fiscal number of the register.
    :param ledger: the file of its entries; `None` keeps them in memory.
    """

    def __init__(self, register: str, ledger: Path | None = None) -> None:
        self.register = register
        self.scenario = Scenario()
        self._ledger = Ledger(ledger)
        self._next = 1
        self._shift = _CLOSED
        # The place in the ledger of each local number from 1: a probe reads one line, not the file.
        self._places = array("Q")
        for entry in self._ledger.entries():
            if entry.status == ACCEPTED:
                self._took(entry)

    def submit(self, paper: Paper) -> Ticket:
        """Take ``paper`` or refuse it by the rules; either is in the ledger when this returns."""
        code, text = self._judge(paper)
        if code != OK:
            return self.refuse(paper, code, text)
        number = f"TEST_{self.register}{paper.number:08d}"
        self._took(self._ledger.add(paper.kind, ACCEPTED, number, paper.sum, str(paper.number), paper.dt))
        return Ticket(OK, number)

    def refuse(self, paper: Paper, code: int, text: str = "") -> Ticket:
        """Refuse ``paper`` with ``code``, whatever the rules say."""
        self._ledger.add(paper.kind, REFUSED, "", paper.sum, str(paper.number), paper.dt)
        return Ticket(code, "", text)

    def look_up(self, number: int) -> Ticket | None:
        """The ticket of the document with the local ``number``; `None` when it never came."""
        if not 1 <= number <= len(self._places):
            return None
        return Ticket(OK, self._ledger.entry(self._places[number - 1]).number)

    def entries(self) -> list[Entry]:
        """The ledger, oldest first, numbered anew without the closings."""
        shown = (entry for entry in self._ledger.entries() if entry.kind != CLOSE)
        return [msgspec.structs.replace(entry, n=n) for n, entry in enumerate(shown, 1)]

    def close(self) -> None:
        """Let go of the ledger."""
        self._ledger.close()

    def _judge(self, paper: Paper) -> tuple[int, str]:
        if paper.number != self._next:
            return LOCAL_NUMBER_INVALID, f"Локальний номер документа повинен дорівнювати {self._next}"
        if paper.kind == "open":
            if self._shift != _CLOSED:
                return SHIFT_ALREADY_OPENED, "Зміну вже відкрито"
        elif self._shift == _CLOSED:
            return SHIFT_NOT_OPENED, "Зміну не відкрито"
        elif paper.kind == CLOSE:
            if self._shift != _LAST_WAS_Z:
                return LAST_DOCUMENT_MUST_BE_Z, "Останнім документом зміни має бути Z-звіт"
        elif self._shift == _LAST_WAS_Z:
            return Z_ALREADY_REGISTERED, "Z-звіт зміни вже зареєстровано"
        if paper.sum < 0:
            return DOCUMENT_INVALID, "Сума документа від'ємна"
        return OK, ""

    def _took(self, entry: Entry) -> None:
        self._next = int(entry.ref) + 1
        self._places.append(entry.n)
        if entry.kind in ("open", "z", CLOSE):
            self._shift = {"open": _OPENED, "z": _LAST_WAS_Z, CLOSE: _CLOSED}[entry.kind]
