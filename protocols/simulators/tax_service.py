"""The tax service of one training register, in the same process.

It has the rules of the simulated fiscal server (`fiscal_rules`) for short JSON papers without rows of receipts and
reports. A document is in the ledger before it is answered, so a lost answer does not undo it.
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
"""Documents with a number that the shown ledger leaves out."""

DESK = "1"
"""The number of every training register within its outlet."""

KYIV = ZoneInfo("Europe/Kyiv")

_ANY_TIME = float("inf")
"""The tolerance for packages: tests move the training clock, and it restarts with the service."""


class Paper(msgspec.Struct, frozen=True):
    """A document for the training service; ``sum`` in kopecks, ``dt`` as ``yyyyMMddHHmmss``.

    ``reverses`` is the fiscal number of the document that a storno reverses.
    """

    register: str
    kind: str
    number: int
    sum: int
    dt: str
    reverses: str = ""
    offline: str = ""
    """The fiscal number that the register assigned offline."""
    hash: str = ""
    has_total: bool = False
    revokes: bool = False
    """Of an offline session's opening: whether the last online document is revoked."""


class Ticket(msgspec.Struct, frozen=True):
    """The answer: the fiscal number of the document, or an error code of protocol A and a text."""

    code: int
    number: str = ""
    text: str = ""
    session: str = ""
    """The next offline session and its seed, after the opening of a shift or the closing of a session."""
    seed: str = ""


class Places:
    """Finds the ledger entry of each local number from 1.

    Numbers have no gaps, but some entries between are refusals. So it stores only from which number on entries are
    ahead of numbers, and by how many: memory for each refusal, none for each document.
    """

    def __init__(self) -> None:
        self._count = 0
        self._firsts, self._ahead = array("Q"), array("Q")
        self._moved: dict[int, int] = {}

    def put(self, local: int, n: int) -> None:
        """The document with the number ``local`` is the entry ``n``, in place of an earlier one."""
        if local <= self._count:
            self._moved[local] = n
            return
        self._count += 1
        ahead = n - self._count
        if not self._ahead or self._ahead[-1] != ahead:
            self._firsts.append(self._count)
            self._ahead.append(ahead)

    def of(self, local: int) -> int | None:
        """The entry of that document; `None` if it never came."""
        if not 1 <= local <= self._count:
            return None
        if local in self._moved:
            return self._moved[local]
        return local + self._ahead[bisect_right(self._firsts, local) - 1]


class TaxService:
    """The tax service of one register.

    :param register: the fiscal number of the register.
    :param seconds: its clock, in seconds since 1970.
    :param ledger: the file of its entries; `None` keeps them in memory.
    """

    def __init__(self, register: str, seconds: Callable[[], float], ledger: Path | None = None) -> None:
        self.register = register
        self.scenario = Scenario()
        self._seconds = seconds
        self._ledger = Ledger(ledger)
        self._standing = Standing(Terms(register, DESK, register[-6:]), first_session=0)
        self._places = Places()
        for entry in self._ledger.entries():
            if entry.status == ACCEPTED:
                self._recall(entry)

    def submit(self, paper: Paper) -> Ticket:
        """Accept or refuse ``paper`` by the rules; either is in the ledger on return."""
        now = self._now()
        try:
            claim = _claim(paper)
        except ValueError as error:
            return self.refuse(paper, Code.DOCUMENT_VALIDATION_ERROR, str(error))
        refusal = self._judge_register(paper)
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
        """Accept the documents of an offline session in order, all or none.

        Accepted documents at the start are skipped, so a package whose answer was lost can be sent again.
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
            blocked = trial.blocked_until if paper.kind == Kind.OFFLINE_END else None
            until = f"{blocked:%Y%m%d%H%M%S}" if blocked else ""
            revoked = self._standing.last_online.number if paper.revokes and self._standing.last_online else ""
            ref = revoked or paper.reverses or str(paper.number)
            entry = self._ledger.add(
                *(paper.kind, ACCEPTED, paper.offline, paper.sum, ref, paper.dt), hash=hash, until=until
            )
            self._places.put(claim.local, entry.n)
            self._standing.take(claim, paper.offline, hash, now)
        return self._ticket(paper.kind, paper.offline)

    def refuse(self, paper: Paper, code: int, text: str = "") -> Ticket:
        """Refuse ``paper`` with ``code``."""
        self._ledger.add(paper.kind, REFUSED, "", paper.sum, str(paper.number), paper.dt)
        return Ticket(int(code), "", text)

    @property
    def next_number(self) -> int:
        """The local number that it expects."""
        return self._standing.next_local

    def look_up(self, number: int) -> Ticket | None:
        """The ticket of the document with the local ``number``; `None` if it never came."""
        entry = self._entry(number)
        return None if entry is None else self._ticket(entry.kind, entry.number)

    def _entry(self, number: int) -> Entry | None:
        n = self._places.of(number)
        return None if n is None else self._ledger.entry(n)

    def _has(self, number: int, hash: str) -> bool:
        """Whether it has the document with this local ``number`` and ``hash``."""
        entry = self._entry(number)
        return entry is not None and entry.hash == hash

    def _ticket(self, kind: str, number: str) -> Ticket:
        """The ticket of an accepted document; those of some kinds grant an offline session."""
        if kind in (Kind.OPEN, Kind.OFFLINE_END):
            return Ticket(OK, number, "", self._standing.offline.id, self._standing.offline.seed)
        return Ticket(OK, number)

    def entries(self) -> list[Entry]:
        """The ledger, oldest first, without `HIDDEN` documents and with numbers of its own.

        A session's opening that revoked a document is shown as its storno.
        """
        entries = (_shown(entry) for entry in self._ledger.entries())
        shown = (entry for entry in entries if entry.kind not in HIDDEN)
        return [msgspec.structs.replace(entry, n=n) for n, entry in enumerate(shown, 1)]

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def _now(self) -> datetime:
        return _kyiv(int(self._seconds()))

    def _judge_register(self, paper: Paper) -> Refusal | None:
        if paper.register == self.register:
            return None
        text = f"ПРРО з фіскальним номером {paper.register} не зареєстрований"
        return Refusal(Code.TRANSACTIONS_REGISTRAR_ABSENT, text)

    def _recall(self, entry: Entry) -> None:
        """Change the state by a document of the ledger."""
        standing, kind, offline = self._standing, entry.kind, bool(entry.hash)
        # A document that revokes another one has its number.
        revoked = standing.last_online if _revokes(entry) else None
        local = standing.next_local if revoked is None else revoked.local
        self._places.put(local, entry.n)
        # Only offline sessions need times; reading them takes longer than all the rest.
        issued = _moment(entry.dt) if offline else datetime.min
        claim = Claim(kind, local, issued, DESK, testing=True, offline=offline)
        standing.take(claim, entry.number, entry.hash, issued)
        if kind == Kind.OFFLINE_END:
            # The block was decided when it came.
            standing.blocked_until = _moment(entry.until) if entry.until else None


_decode = msgspec.json.Decoder(Paper).decode


def _refused(refusal: Refusal) -> Ticket:
    return Ticket(int(refusal.code), "", refusal.text)


def _revokes(entry: Entry) -> bool:
    """Whether it is a session's opening that revoked a document: it refers to a fiscal number."""
    return entry.kind == Kind.OFFLINE_BEGIN and not entry.ref.isdigit()


def _shown(entry: Entry) -> Entry:
    if not _revokes(entry):
        return entry
    return msgspec.structs.replace(entry, kind=Kind.STORNO.value)


def _claim(paper: Paper) -> Claim:
    """The facts of ``paper`` that the rules check; in training all documents are tests."""
    return Claim(
        paper.kind,
        paper.number,
        _moment(paper.dt),
        DESK,
        testing=True,
        reverses=paper.reverses,
        revokes=paper.revokes,
        offline=paper.offline != "",
        number=paper.offline,
        hash=paper.hash,
        total=paper.sum if paper.has_total else None,
    )


def _wrong(paper: Paper) -> tuple[str, ...]:
    """What is wrong with the sums of a paper."""
    return ("Сума документа від'ємна",) if paper.sum < 0 else ()


@lru_cache(maxsize=64)
def _moment(stamp: str) -> datetime:
    """The moment of ``yyyyMMddHHmmss``.

    :raises ValueError: when it is not a moment.
    """
    if len(stamp) != len("yyyyMMddHHmmss"):
        raise ValueError(f"{stamp!r} is not a moment")
    day = int(stamp[:4]), int(stamp[4:6]), int(stamp[6:8])
    return datetime(*day, int(stamp[8:10]), int(stamp[10:12]), int(stamp[12:]))


@lru_cache(maxsize=64)
def _kyiv(second: int) -> datetime:
    """A second since 1970 as Kyiv time."""
    return datetime.fromtimestamp(second, KYIV).replace(tzinfo=None)
