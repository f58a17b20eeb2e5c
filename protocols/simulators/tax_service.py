"""The tax service's end, in process: what it takes of one training register.

The rules are those of the simulated fiscal server (`fiscal_rules`), asked of JSON papers that say little: what stands
in receipts and reports it does not see. What it took it wrote into its ledger first; a lost answer does not undo it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from protocols.fiscal.error_codes import Code
from protocols.fiscal.kinds import SESSION_ENDS, Kind
from protocols.fiscal.offline import document_hash
from protocols.fiscal.packages import MOST_DOCUMENTS
from protocols.simulators.fiscal_offline_rules import Claim
from protocols.simulators.fiscal_rules import TOLERANCE_S, Refusal, Standing, Terms
from protocols.simulators.ledger import ACCEPTED, REFUSED, Entry, Ledger
from protocols.simulators.scenario import Scenario

OK = 0

HIDDEN = SESSION_ENDS | {Kind.CLOSE}
"""Documents that take a number and are no entries that people look for."""

DESK = "1"
"""The number of every training register within its outlet."""

KYIV = ZoneInfo("Europe/Kyiv")

_ANY_TIME = float("inf")
"""The tolerance for packages: the clock of training is moved to and fro, and starts anew with the service."""


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
    revokes: bool = False
    """Of the begin of an offline session: whether the last document that came online is to be revoked."""


class Ticket(msgspec.Struct, frozen=True):
    """What the tax service answers: its number for the document, or an error code of protocol A and a text."""

    code: int
    number: str = ""
    text: str = ""
    session: str = ""
    """An offline session for later, and its seed: with the opening of a shift and the end of a session."""
    seed: str = ""


class Places:
    """Which entry of a ledger holds the document with each local number from 1.

    Numbers run without gap, and entries of refusals lie between them now and then. So what is kept is only from which
    number on entries are ahead of numbers, and by how many: memory for each refusal, none for each document.
    """

    def __init__(self) -> None:
        self._count = 0
        self._firsts, self._ahead = array("Q"), array("Q")
        self._moved: dict[int, int] = {}

    def put(self, local: int, n: int) -> None:
        """The document with the number ``local`` is the entry ``n``; one that had it before is passed over."""
        if local <= self._count:
            self._moved[local] = n
            return
        self._count += 1
        ahead = n - self._count
        if not self._ahead or self._ahead[-1] != ahead:
            self._firsts.append(self._count)
            self._ahead.append(ahead)

    def of(self, local: int) -> int | None:
        """The entry of that document; `None` when it never came."""
        if not 1 <= local <= self._count:
            return None
        if local in self._moved:
            return self._moved[local]
        return local + self._ahead[bisect_right(self._firsts, local) - 1]


class TaxService:
    """The tax service as one register meets it.

    :param register: the fiscal number of the register.
    :param seconds: the time that it has, in seconds since 1970.
    :param ledger: the file of its entries; `None` keeps them in memory.
    """

    def __init__(self, register: str, seconds: Callable[[], float], ledger: Path | None = None) -> None:
        self.register = register
        self.scenario = Scenario()
        self._seconds = seconds
        self._ledger = Ledger(ledger)
        self._standing = Standing(Terms(register, DESK, register[-6:]), first_session=0)
        # A probe reads a few lines of the ledger, not the file.
        self._places = Places()
        for entry in self._ledger.entries():
            if entry.status == ACCEPTED:
                self._recall(entry)

    def submit(self, paper: Paper) -> Ticket:
        """Take ``paper`` or refuse it by the rules; either is in the ledger when this returns."""
        now, refusal = self._now(), self._judge_register(paper)
        try:
            claim = _claim(paper)
        except ValueError as error:
            return self.refuse(paper, Code.DOCUMENT_VALIDATION_ERROR, str(error))
        refusal = refusal or self._standing.judge(claim, now, TOLERANCE_S, sums=partial(_wrong, paper))
        if refusal is not None:
            return self.refuse(paper, refusal.code, refusal.text)
        number = f"TEST_{self.register}{paper.number:08d}"
        ref = paper.reverses or str(paper.number)
        entry = self._ledger.add(paper.kind, ACCEPTED, number, paper.sum, ref, paper.dt)
        self._places.put(claim.local, entry.n)
        self._standing.take(claim, number, "", now)
        return self._ticket(paper.kind, number)

    def take_package(self, package: list[bytes]) -> Ticket:
        """Take the documents of an offline session in their order, all of them or none.

        What was taken before is passed over when it is the same, so that a package whose answer was lost can be
        sent again.
        """
        now, trial = self._now(), self._standing.trial()
        fresh: list[tuple[Paper, Claim, str]] = []
        if not 0 < len(package) <= MOST_DOCUMENTS:
            return _refused(Refusal(Code.PACKAGE_VALIDATION_ERROR, f"{len(package)} документів у пакеті"))
        for position, sent in enumerate(package, 1):
            where, hash = f"Помилка обробки документа за № {position} в пакеті: ", document_hash(sent)
            try:
                paper = _decode(sent)
                claim = _claim(paper)
            except (ValueError, msgspec.MsgspecError) as error:
                return _refused(Refusal(Code.PACKAGE_VALIDATION_ERROR, f"{where}{error}"))
            if not fresh and self._has(paper.number, hash):
                continue
            refusal = self._judge_register(paper) or trial.judge(
                *(claim, now, _ANY_TIME), in_package=True, sums=partial(_wrong, paper)
            )
            if refusal is not None:
                return _refused(Refusal(refusal.packed().code, where + refusal.text))
            trial.take(claim, paper.offline, hash, now)
            fresh.append((paper, claim, hash))
        for paper, claim, hash in fresh:
            until = f"{trial.blocked_until:%Y%m%d%H%M%S}" if trial.blocked_until and _ends(paper.kind) else ""
            revoked = self._standing.last_online.number if paper.revokes and self._standing.last_online else ""
            ref = revoked or paper.reverses or str(paper.number)
            entry = self._ledger.add(
                *(paper.kind, ACCEPTED, paper.offline, paper.sum, ref, paper.dt), hash=hash, until=until
            )
            self._places.put(claim.local, entry.n)
            self._standing.take(claim, paper.offline, hash, now)
        return self._ticket(paper.kind, paper.offline)

    def refuse(self, paper: Paper, code: int, text: str = "") -> Ticket:
        """Refuse ``paper`` with ``code``, whatever the rules say."""
        self._ledger.add(paper.kind, REFUSED, "", paper.sum, str(paper.number), paper.dt)
        return Ticket(int(code), "", text)

    @property
    def next_number(self) -> int:
        """The local number that it expects next."""
        return self._standing.next_local

    def look_up(self, number: int) -> Ticket | None:
        """The ticket of the document with the local ``number``; `None` when it never came."""
        entry = self._entry(number)
        return None if entry is None else self._ticket(entry.kind, entry.number)

    def _entry(self, number: int) -> Entry | None:
        n = self._places.of(number)
        return None if n is None else self._ledger.entry(n)

    def _has(self, number: int, hash: str) -> bool:
        """Whether it has the very document with the local ``number`` and the ``hash``."""
        entry = self._entry(number)
        return entry is not None and entry.hash == hash

    def _ticket(self, kind: str, number: str) -> Ticket:
        """The ticket of a document that was taken; some grant an offline session, and do so when asked again."""
        if kind in (Kind.OPEN, Kind.OFFLINE_END):
            return Ticket(OK, number, "", self._standing.offline.id, self._standing.offline.seed)
        return Ticket(OK, number)

    def entries(self) -> list[Entry]:
        """The ledger, oldest first, numbered anew without the closings.

        The begin of a session that revoked a document is told as a storno of it.
        """
        shown = (_shown(entry) for entry in self._ledger.entries())
        told = (entry for entry in shown if entry.kind not in HIDDEN)
        return [msgspec.structs.replace(entry, n=n) for n, entry in enumerate(told, 1)]

    def close(self) -> None:
        """Let go of the ledger."""
        self._ledger.close()

    def _now(self) -> datetime:
        return _kyiv(int(self._seconds()))

    def _judge_register(self, paper: Paper) -> Refusal | None:
        if paper.register == self.register:
            return None
        text = f"ПРРО з фіскальним номером {paper.register} не зареєстрований"
        return Refusal(Code.TRANSACTIONS_REGISTRAR_ABSENT, text)

    def _recall(self, entry: Entry) -> None:
        """Go on with a document of the ledger."""
        standing, kind, offline = self._standing, entry.kind, bool(entry.hash)
        # What revokes a document takes over its number.
        revoked = standing.last_online if _revokes(entry) else None
        local = standing.next_local if revoked is None else revoked.local
        self._places.put(local, entry.n)
        # Times mean something within offline sessions only; reading them takes longer than all the rest.
        issued = _moment(entry.dt) if offline else datetime.min
        claim = Claim(kind, local, issued, DESK, testing=True, offline=offline)
        standing.take(claim, entry.number, entry.hash, issued)
        if _ends(kind):
            # Whether it blocked was decided when it came.
            standing.blocked_until = _moment(entry.until) if entry.until else None


_decode = msgspec.json.Decoder(Paper).decode


def _refused(refusal: Refusal) -> Ticket:
    return Ticket(int(refusal.code), "", refusal.text)


def _ends(kind: str) -> bool:
    return kind == Kind.OFFLINE_END


def _revokes(entry: Entry) -> bool:
    """Whether it is the begin of a session that revoked a document: it refers to a fiscal number."""
    return entry.kind == Kind.OFFLINE_BEGIN and not entry.ref.isdigit()


def _shown(entry: Entry) -> Entry:
    if not _revokes(entry):
        return entry
    return msgspec.structs.replace(entry, kind=Kind.STORNO.value)


def _claim(paper: Paper) -> Claim:
    """What the rules ask of ``paper``; everything in training is a test."""
    return Claim(
        *(paper.kind, paper.number, _moment(paper.dt), DESK, True),
        reverses=paper.reverses,
        revokes=paper.revokes,
        offline=bool(paper.offline),
        number=paper.offline,
        hash=paper.hash,
        total=paper.sum if paper.has_total else None,
    )


def _wrong(paper: Paper) -> tuple[str, ...]:
    """All that a paper says of its sums."""
    return ("Сума документа від'ємна",) if paper.sum < 0 else ()


@lru_cache(maxsize=64)
def _moment(stamp: str) -> datetime:
    """The moment that ``yyyyMMddHHmmss`` names.

    :raises ValueError: when it names none.
    """
    if len(stamp) != len("yyyyMMddHHmmss"):
        raise ValueError(f"{stamp!r} is no moment")
    day = int(stamp[:4]), int(stamp[4:6]), int(stamp[6:8])
    return datetime(*day, int(stamp[8:10]), int(stamp[10:12]), int(stamp[12:]))


@lru_cache(maxsize=64)
def _kyiv(second: int) -> datetime:
    """A second since 1970 as Kyiv's time."""
    return datetime.fromtimestamp(second, KYIV).replace(tzinfo=None)
