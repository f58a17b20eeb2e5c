"""The tax service's end, in process: the rules by which it takes the documents of one register.

It knows protocol A's error codes and checks in its order: local number, then shift, then Z (fiscal-server 8, 16).
What it took it wrote into its ledger first; a lost answer does not undo it.
"""

from __future__ import annotations

import zlib
from array import array
from pathlib import Path

import msgspec

from protocols.fiscal.offline import control_number, document_hash, fiscal_number
from protocols.simulators.ledger import ACCEPTED, REFUSED, Entry, Ledger
from protocols.simulators.scenario import Scenario

OK = 0
SHIFT_ALREADY_OPENED = 4
SHIFT_NOT_OPENED = 5
LAST_DOCUMENT_MUST_BE_Z = 6
LOCAL_NUMBER_INVALID = 7
Z_ALREADY_REGISTERED = 8
DOCUMENT_INVALID = 9
PACKAGE_INVALID = 10

CLOSE, OFFLINE_BEGIN, OFFLINE_END = "close", "offline_begin", "offline_end"
HIDDEN = frozenset({CLOSE, OFFLINE_BEGIN, OFFLINE_END})
"""Documents that take a number and are no entries that people look for."""

DESK = "1"
"""The number of every training register within its outlet."""

_LAST_WAS_Z, _OPENED, _CLOSED = "z", "opened", "closed"


class Paper(msgspec.Struct, frozen=True):
    """A document as the tax service reads it; ``sum`` in kopecks, ``dt`` as ``yyyyMMddHHmmss``.

    ``reverses`` is the fiscal number of the document that a storno takes back.
    """

    register: str
    kind: str
    number: int
    sum: int
    dt: str
    reverses: str = ""
    offline: str = ""
    """The fiscal number that the register gave it offline."""
    hash: str = ""
    has_total: bool = False


class Ticket(msgspec.Struct, frozen=True):
    """What the tax service answers: its number for the document, or an error code of protocol A and a text."""

    code: int
    number: str = ""
    text: str = ""
    session: str = ""
    """An offline session for later, and its seed: with the opening of a shift and the end of a session."""
    seed: str = ""


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
        self._last = ""
        self._sessions = 0
        self._ordinal, self._hash = 0, ""
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
        if paper.offline:
            return self.refuse(paper, DOCUMENT_INVALID, "Документ сформовано в режимі офлайн")
        number = f"TEST_{self.register}{paper.number:08d}"
        ref = paper.reverses or str(paper.number)
        self._took(self._ledger.add(paper.kind, ACCEPTED, number, paper.sum, ref, paper.dt))
        return self._ticket(paper.kind, number)

    def take_package(self, package: list[bytes]) -> Ticket:
        """Take the documents of an offline session in their order, all of them or none.

        Each is checked as if it came alone, and for its place in the session: number, control, hash of the one
        before (fiscal-server 7). What was taken before is passed over when it is the same, so that a package
        whose answer was lost can be sent again.
        """
        papers = [_decode(sent) for sent in package]
        fresh = [paper for paper in papers if paper.number >= self._next]
        for paper in papers[: len(papers) - len(fresh)]:
            known = self.look_up(paper.number)
            if known is None or known.number != paper.offline:
                return Ticket(PACKAGE_INVALID, "", f"Документ {paper.number} зареєстровано іншим")
        before = (self._next, self._shift, self._last, self._ordinal, self._hash)
        for paper, sent in zip(fresh, package[len(papers) - len(fresh) :], strict=True):
            code, text = self._judge_offline(paper)
            if code != OK:
                self._next, self._shift, self._last, self._ordinal, self._hash = before
                return Ticket(PACKAGE_INVALID, "", f"{paper.number}: {text}")
            self._step(paper.kind, paper.offline)
            self._chain(paper.kind, document_hash(sent))
        self._next, self._shift, self._last, self._ordinal, self._hash = before
        for paper, sent in zip(fresh, package[len(papers) - len(fresh) :], strict=True):
            ref = paper.reverses or str(paper.number)
            hash = document_hash(sent)
            self._took(self._ledger.add(paper.kind, ACCEPTED, paper.offline, paper.sum, ref, paper.dt, hash))
        return self._ticket(papers[-1].kind, papers[-1].offline)

    def refuse(self, paper: Paper, code: int, text: str = "") -> Ticket:
        """Refuse ``paper`` with ``code``, whatever the rules say."""
        self._ledger.add(paper.kind, REFUSED, "", paper.sum, str(paper.number), paper.dt)
        return Ticket(code, "", text)

    @property
    def next_number(self) -> int:
        """The local number that it expects next."""
        return self._next

    def look_up(self, number: int) -> Ticket | None:
        """The ticket of the document with the local ``number``; `None` when it never came."""
        if not 1 <= number <= len(self._places):
            return None
        entry = self._ledger.entry(self._places[number - 1])
        return self._ticket(entry.kind, entry.number)

    def _ticket(self, kind: str, number: str) -> Ticket:
        """The ticket of a document that was taken; some grant an offline session, and do so when asked again."""
        if kind in ("open", OFFLINE_END):
            return Ticket(OK, number, "", self._session, _seed_of(self._session))
        return Ticket(OK, number)

    def entries(self) -> list[Entry]:
        """The ledger, oldest first, numbered anew without the closings."""
        shown = (entry for entry in self._ledger.entries() if entry.kind not in HIDDEN)
        return [msgspec.structs.replace(entry, n=n) for n, entry in enumerate(shown, 1)]

    @property
    def _session(self) -> str:
        """The id of the session that is granted now."""
        return f"{self.register[-6:]}{self._sessions:03d}"

    def close(self) -> None:
        """Let go of the ledger."""
        self._ledger.close()

    def _judge_offline(self, paper: Paper) -> tuple[int, str]:
        if (paper.kind == OFFLINE_BEGIN) != (self._ordinal == 0):
            return DOCUMENT_INVALID, "Сесія офлайн починається документом про перехід"
        if paper.hash != self._hash:
            return DOCUMENT_INVALID, "Геш попереднього документа не збігається"
        control = control_number(
            _seed_of(self._session),
            f"{paper.dt[6:8]}{paper.dt[4:6]}{paper.dt[:4]}",
            paper.dt[8:],
            paper.number,
            self.register,
            DESK,
            f"{paper.sum // 100}.{paper.sum % 100:02d}" if paper.has_total else "",
            paper.hash,
        )
        if paper.offline != fiscal_number(self._session, self._ordinal + 1, control):
            return DOCUMENT_INVALID, "Невірний номер офлайн-документа"
        return self._judge(paper)

    def _judge(self, paper: Paper) -> tuple[int, str]:
        if paper.number != self._next:
            return LOCAL_NUMBER_INVALID, f"Локальний номер документа повинен дорівнювати {self._next}"
        if paper.kind in (OFFLINE_BEGIN, OFFLINE_END):
            return OK, ""
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
        elif paper.kind == "storno" and paper.reverses != self._last:
            return DOCUMENT_INVALID, "Сторнувати можна лише останній документ"
        if paper.sum < 0:
            return DOCUMENT_INVALID, "Сума документа від'ємна"
        return OK, ""

    def _took(self, entry: Entry) -> None:
        # Local numbers run without gap, so they count the documents that were taken.
        self._places.append(entry.n)
        self._step(entry.kind, entry.number)
        if entry.hash:
            self._chain(entry.kind, entry.hash)
        if entry.kind == OFFLINE_END:
            self._sessions += 1
            self._ordinal, self._hash = 0, ""

    def _chain(self, kind: str, hash: str) -> None:
        """Where the offline session stands after a document."""
        self._ordinal += 1
        self._hash = "" if kind == OFFLINE_BEGIN else hash

    def _step(self, kind: str, number: str) -> None:
        """Where the register stands after a document."""
        self._next += 1
        self._last = number
        if kind in ("open", "z", CLOSE):
            self._shift = {"open": _OPENED, "z": _LAST_WAS_Z, CLOSE: _CLOSED}[kind]


_decode = msgspec.json.Decoder(Paper).decode


def _seed_of(session: str) -> str:
    """The secret of a session; a simulator that starts anew has to find the same one."""
    return str(zlib.crc32(session.encode()) * 100_003 + 1)
