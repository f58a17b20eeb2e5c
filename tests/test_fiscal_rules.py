"""One table of cases for both far ends: the simulated fiscal server and that of training take and refuse the same."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal import packages
from protocols.fiscal.check_xml import Check
from protocols.fiscal.client import FiscalServer as Client
from protocols.fiscal.document_xml import Document, decode, encode, with_head
from protocols.fiscal.offline import control_number, document_hash, fiscal_number
from protocols.fiscal.signatures import open_unsigned, unsigned
from protocols.fiscal.verdicts import Accepted, PackageTaken, Refused
from protocols.simulators.fiscal_in_process import InProcessExchange
from protocols.simulators.fiscal_register import Registration
from protocols.simulators.fiscal_server import FiscalServer
from protocols.simulators.tax_service import Paper, TaxService
from tests.fiscal_papers import KYIV, REGISTER, TIN, Shop

START = datetime(2026, 9, 21, 9, tzinfo=KYIV).timestamp()
HOUR, DAY = 3600, 24 * 3600
TO_OCTOBER = 10 * DAY

TAKEN, OPENED, NOT_OPENED, NO_Z, NUMBER, Z_THERE, INVALID, PACKAGE = 0, 4, 5, 6, 7, 8, 9, 10
"""Error codes of protocol A, as the tax service publishes them."""

AMOUNT, TAX = 5000, 833


@dataclass(frozen=True)
class Doc:
    """A document; ``of`` is what a storno names: ``last``, or ``first`` for the opening."""

    kind: str
    ahead: int = 0
    """How far its local number is from the one that is due."""
    late: float = 0.0
    """Seconds by which its time is behind the server's."""
    of: str = "last"
    amount: int = AMOUNT
    revokes: bool = False
    hash: str | None = None
    """Another hash than that of the document before it."""
    control: int = 0
    """How far its control number is from the right one."""
    offline: bool = True
    """Whether it says in a package that it was made offline."""


@dataclass(frozen=True)
class Online:
    """A document that comes alone, and the code that answers it."""

    doc: Doc
    code: int = TAKEN


@dataclass(frozen=True)
class Package:
    """Documents that come together; hours pass between them."""

    docs: tuple[Doc, ...]
    code: int = TAKEN
    hours: float = 0.0


@dataclass(frozen=True)
class Alone:
    """An offline document that comes as if it were none."""

    doc: Doc
    code: int


@dataclass(frozen=True)
class Again:
    """The last package once more, or ``count`` documents of it."""

    count: int = 100
    code: int = TAKEN


@dataclass(frozen=True)
class Wait:
    """Time passes."""

    seconds: float


Step = Online | Package | Alone | Again | Wait


def online(*kinds: str) -> tuple[Online, ...]:
    """Documents that are all taken."""
    return tuple(Online(Doc(kind)) for kind in kinds)


def refused(kind: str, code: int, **more: Any) -> Online:
    """A document that is not taken."""
    return Online(Doc(kind, **more), code)


def package(*kinds: str | Doc, code: int = TAKEN, hours: float = 0.0) -> Package:
    """A package of documents, each by its kind or with what is wrong about it."""
    return Package(tuple(Doc(kind) if isinstance(kind, str) else kind for kind in kinds), code, hours)


BEGIN, END = "offline_begin", "offline_end"
LONG = package(BEGIN, "sale", END, hours=36.1)

CASES: dict[str, tuple[Step, ...]] = {
    "two days": online("open", "sale", "cash_in", "z", "close", "open", "sale", "sale", "z", "close"),
    "a number again": (*online("open", "sale"), refused("sale", NUMBER, ahead=-1), *online("sale")),
    "a number left out": (*online("open"), refused("sale", NUMBER, ahead=1), *online("sale")),
    "the first number": (refused("open", NUMBER, ahead=1), *online("open")),
    "opened twice": (*online("open"), refused("open", OPENED), *online("z"), refused("open", OPENED)),
    "nothing while closed": (
        *(refused(kind, NOT_OPENED) for kind in ("sale", "cash_in", "z", "close")),
        *online("open", "z", "close"),
        *(refused(kind, NOT_OPENED) for kind in ("sale", "cash_in", "z", "close")),
    ),
    "closed without Z": (*online("open", "sale"), refused("close", NO_Z), *online("z", "close")),
    "after the Z": (*online("open", "z"), refused("sale", Z_THERE), refused("z", Z_THERE), *online("close")),
    "too late and too early": (
        *online("open"),
        *(refused("sale", INVALID, late=late) for late in (1801, -1801, 3 * DAY)),
        *(Online(Doc("sale", late=late)) for late in (1800, -1800)),
    ),
    "time before number": (*online("open"), refused("sale", INVALID, late=3600, ahead=5), *online("sale")),
    "number before shift": (refused("sale", NUMBER, ahead=1), refused("sale", NOT_OPENED)),
    "shift before sums": (refused("cash_in", NOT_OPENED, amount=-1),),
    "less than nothing": (*online("open"), refused("cash_in", INVALID, amount=-1)),
    "storno": (*online("open", "sale", "storno", "sale", "z", "close"),),
    "storno of a storno": (*online("open", "sale", "storno"), refused("storno", INVALID)),
    "storno of an opening": (*online("open"), refused("storno", INVALID), *online("sale", "z")),
    "storno of another": (*online("open", "sale"), refused("storno", INVALID, of="first"), *online("storno")),
    "session": (*online("open"), package(BEGIN, "sale", "cash_in", END), *online("sale", "z", "close")),
    "two sessions": (*online("open"), package(BEGIN, "sale", END), package(BEGIN, "sale", END), *online("sale")),
    "shifts within a session": (
        *online("open", "sale"),
        package(BEGIN, "sale", "z", "close", "open", "sale", END),
        *online("sale", "z"),
    ),
    "closed within a session": (
        *online("open", "z"),
        package(BEGIN, "close", END),
        refused("sale", NOT_OPENED),
        *online("open"),
    ),
    "Z before, opening and closing between": (*online("open", "z"), package(BEGIN, END), *online("close")),
    "session in parts": (
        *online("open"),
        package(BEGIN, "sale"),
        refused("sale", INVALID),
        package("sale", END),
        *online("sale"),
    ),
    "storno within a session": (*online("open"), package(BEGIN, "sale", "storno", "sale", END), *online("z")),
    "storno over an opening": (
        *online("open", "sale"),
        package(BEGIN, "storno", code=PACKAGE),
        package(BEGIN, "sale", END),
    ),
    "package again": (*online("open"), package(BEGIN, "sale"), Again(), package("sale", END), Again(), Again(1)),
    "package again, cut otherwise": (
        *online("open"),
        package(BEGIN, "sale"),
        Again(1),
        package("cash_in", "sale", "sale"),
        Again(2),
        package(END),
        *online("sale"),
    ),
    "no session yet": (package(BEGIN, code=PACKAGE), *online("open"), package(BEGIN, END)),
    "no opening": (*online("open"), package("sale", code=PACKAGE), package(END, code=PACKAGE), *online("sale")),
    "two openings": (*online("open"), package(BEGIN, BEGIN, code=PACKAGE), package(BEGIN, END)),
    "wrong number in a package": (
        *online("open"),
        package(BEGIN, Doc("sale", ahead=1), code=NUMBER),
        package(Doc(BEGIN, ahead=-1), code=NUMBER),
        package(BEGIN, "sale", END),
    ),
    "wrong hash": (
        *online("open"),
        package(BEGIN, "sale", Doc("sale", hash="0" * 64), code=PACKAGE),
        package(BEGIN, Doc("sale", hash="0" * 64), code=PACKAGE),
        package(BEGIN, "sale", Doc("sale", hash=""), code=PACKAGE),
    ),
    "wrong control number": (*online("open"), package(BEGIN, Doc("sale", control=1), END, code=PACKAGE)),
    "wrong shift in a package": (
        *online("open"),
        package(BEGIN, "close", code=PACKAGE),
        package(BEGIN, "open", code=PACKAGE),
        package(BEGIN, "z", "sale", code=PACKAGE),
        package(BEGIN, "z", "close", "sale", code=PACKAGE),
        *online("sale"),
    ),
    "online document in a package": (
        *online("open"),
        package(BEGIN, Doc("sale", offline=False), code=PACKAGE),
        *online("sale"),
    ),
    "offline document alone": (
        *online("open"),
        Alone(Doc("sale"), INVALID),
        Alone(Doc(BEGIN), INVALID),
        *online("sale"),
    ),
    "back in time": (*online("open"), package(BEGIN, Doc("sale", late=1), code=PACKAGE), package(BEGIN, "sale")),
    "a day old": (
        *online("open"),
        package(Doc(BEGIN, late=DAY), Doc("sale", late=DAY), END),
        *online("sale"),
    ),
    "a hundred": (
        *online("open"),
        package(BEGIN, *["sale"] * 100, code=PACKAGE),
        package(BEGIN, *["sale"] * 99),
        package(END),
    ),
    "36 hours": (*online("open"), package(BEGIN, "sale", END, hours=36), *online("sale")),
    "more than 36 hours": (
        *online("open"),
        LONG,
        refused("sale", INVALID),
        refused("z", INVALID, ahead=7),
        package(BEGIN, code=PACKAGE),
        Again(),
        Wait(TO_OCTOBER),
        *online("sale"),
        package(BEGIN, "sale", END),
        *online("sale", "z"),
    ),
    "only receipts count": (*online("open"), package(BEGIN, "sale"), Wait(40 * HOUR), package(END), *online("sale")),
    "more than 168 hours": (
        *online("open"),
        *[package(BEGIN, "sale", END, hours=33.5)] * 5,
        *online("sale"),
        package(BEGIN, "sale", END, hours=1),
        refused("sale", INVALID),
        Wait(TO_OCTOBER),
        *online("sale"),
    ),
    "revoked": (
        *online("open", "sale"),
        package(Doc(BEGIN, revokes=True), "sale", END),
        *online("z", "close"),
    ),
    "an opening is not revoked": (*online("open"), package(Doc(BEGIN, revokes=True), code=PACKAGE)),
    "a Z is not revoked": (*online("open", "z"), package(Doc(BEGIN, revokes=True), code=PACKAGE)),
    "nothing left to revoke": (
        *online("open", "sale"),
        package(BEGIN, END),
        package(Doc(BEGIN, revokes=True), code=PACKAGE),
        *online("sale"),
        package(Doc(BEGIN, revokes=True), END),
    ),
}
"""What is handed in, and the code that answers it."""


@dataclass
class Place:
    """How far a till has come."""

    due: int = 1
    session: str = ""
    seed: str = ""
    ordinal: int = 0
    hash: str = ""
    numbers: tuple[tuple[str, str], ...] = ()
    """Kinds and fiscal numbers of what was taken."""


class Till(ABC):
    """A till at one of the far ends; it numbers its documents as registers do."""

    def __init__(self, case: SynchronousTestCase) -> None:
        self.case, self.clock, self.place = case, Clock(), Place()
        self.clock.advance(START)
        self.folder = Path(case.mktemp()).absolute()
        self.folder.mkdir()
        self.last: tuple[bytes, ...] = ()
        self.start()

    @abstractmethod
    def start(self) -> None:
        """The training service, started on its files."""

    @abstractmethod
    def made(self, doc: Doc, number: int, at: datetime, reverses: str) -> Any:
        """A document without what makes it an offline one."""

    @abstractmethod
    def marked(self, document: Any, number: str, hash: str) -> Any:
        """The same, made offline."""

    @abstractmethod
    def sent(self, document: Any) -> bytes:
        """Its bytes."""

    @abstractmethod
    def submit(self, sent: bytes) -> tuple[int, str, tuple[str, str] | None]:
        """Hand it in: code, fiscal number and session."""

    @abstractmethod
    def hand_over(self, sent: Iterable[bytes]) -> tuple[int, tuple[str, str] | None]:
        """Hand a package in: code and session."""

    @abstractmethod
    def entries(self) -> list[tuple[str, str, int]]:
        """The ledger: kinds, what became of them, kopecks."""

    def play(self, step: Step) -> None:
        """Do a step and see that it is answered as expected."""
        if isinstance(step, Wait):
            self.clock.advance(step.seconds)
        elif isinstance(step, Online):
            document, _ = self._document(step.doc, self.place)
            code, number, session = self.submit(self.sent(document))
            self._expect(step, code)
            if code == TAKEN:
                self._take(self.place, step.doc.kind, number)
                self._grant(session)
        elif isinstance(step, Alone):
            before = dataclasses.replace(self.place)
            sent, _ = self._offline(step.doc, before)
            self._expect(step, self.submit(sent)[0])
        elif isinstance(step, Again):
            self._expect(step, self.hand_over(self.last[: step.count])[0])
        else:
            self._package(step)

    def _package(self, step: Package) -> None:
        after = dataclasses.replace(self.place)
        sent: list[bytes] = []
        for doc in step.docs:
            if sent and doc.kind not in (BEGIN, END):
                self.clock.advance(step.hours * HOUR)
            if doc.revokes and step.code == TAKEN:
                # It takes over the number of what it revokes.
                after.due -= 1
            content, number = self._offline(doc, after)
            sent.append(content)
            self._take(after, doc.kind, number)
        code, session = self.hand_over(sent)
        self._expect(step, code)
        if code == TAKEN:
            self.place, self.last = after, tuple(sent)
            self._grant(session)

    def _document(self, doc: Doc, place: Place) -> tuple[Any, datetime]:
        at = datetime.fromtimestamp(self.clock.seconds() - doc.late, KYIV).replace(tzinfo=None)
        numbers = place.numbers or (("", "?"),)
        reverses = numbers[0 if doc.of == "first" else -1][1] if doc.kind == "storno" else ""
        return self.made(doc, place.due + doc.ahead, at, reverses), at

    def _offline(self, doc: Doc, place: Place) -> tuple[bytes, str]:
        document, at = self._document(doc, place)
        if not doc.offline:
            return self.sent(document), ""
        hash = place.hash if doc.hash is None else doc.hash
        total = f"{doc.amount / 100:.2f}" if doc.kind in ("sale", "cash_in") else ""
        control = control_number(
            *(place.seed, f"{at:%d%m%Y}", f"{at:%H%M%S}", place.due + doc.ahead, str(REGISTER), "1", total, hash)
        )
        number = fiscal_number(place.session, place.ordinal + 1, control + doc.control)
        sent = self.sent(self.marked(document, number, hash))
        place.ordinal, place.hash = place.ordinal + 1, "" if doc.kind == BEGIN else document_hash(sent)
        return sent, number

    def _take(self, place: Place, kind: str, number: str) -> None:
        place.due, place.numbers = place.due + 1, (*place.numbers, (kind, number))

    def _grant(self, session: tuple[str, str] | None) -> None:
        if session is not None and session[0] != self.place.session:
            self.place.session, self.place.seed = session
            self.place.ordinal, self.place.hash = 0, ""

    def _expect(self, step: Online | Package | Alone | Again, code: int) -> None:
        self.case.assertEqual(code, step.code, f"{self.name}: {step}")

    name: ClassVar[str]


class PaperTill(Till):
    """A register at the training service."""

    name = "training"

    def start(self) -> None:
        self.service = TaxService(str(REGISTER), self.clock.seconds, self.folder / "ledger")
        self.case.addCleanup(self.service.close)

    def made(self, doc: Doc, number: int, at: datetime, reverses: str) -> Paper:
        settles = doc.kind in ("sale", "cash_in")
        return Paper(
            *(str(REGISTER), doc.kind, number, doc.amount if settles else 0, f"{at:%Y%m%d%H%M%S}", reverses),
            has_total=settles,
            revokes=doc.revokes,
        )

    def marked(self, document: Paper, number: str, hash: str) -> Paper:
        return msgspec.structs.replace(document, offline=number, hash=hash)

    def sent(self, document: Paper) -> bytes:
        return msgspec.json.encode(document)

    def submit(self, sent: bytes) -> tuple[int, str, tuple[str, str] | None]:
        ticket = self.service.submit(msgspec.json.decode(sent, type=Paper))
        return ticket.code, ticket.number, (ticket.session, ticket.seed) if ticket.session else None

    def hand_over(self, sent: Iterable[bytes]) -> tuple[int, tuple[str, str] | None]:
        ticket = self.service.take_package(list(sent))
        return ticket.code, (ticket.session, ticket.seed) if ticket.session else None

    def entries(self) -> list[tuple[str, str, int]]:
        return [(entry.kind, entry.status, entry.sum) for entry in self.service.entries()]


class XmlTill(Till):
    """A till at the simulated fiscal server; it knows its shift's receipts, as the Z-report has to."""

    name = "server"

    def start(self) -> None:
        registrations = (Registration(REGISTER, tin=TIN),)
        self.server = FiscalServer(self.clock, registrations, self.folder / "ledger", self.folder / "documents")
        self.case.addCleanup(self.server.close)
        exchange = InProcessExchange(self.server, self.clock, 30)
        self.client = Client(exchange, unsigned, open_unsigned, "http://fs/fs", lambda: "UID")
        if not hasattr(self, "shop"):
            self.shop = Shop(self.clock.seconds, testing=True)

    def made(self, doc: Doc, number: int, at: datetime, reverses: str) -> Document:
        makers: dict[str, Callable[[], Document]] = {
            "open": self.shop.open,
            "close": self.shop.close,
            "sale": self.shop.sale,
            "cash_in": lambda: self.shop.cash(doc.amount, 2),
            "storno": lambda: self.shop.storno(reverses),
            "z": self._z,
            BEGIN: lambda: Check(checkhead=self.shop.head(102, revokelastonlinedoc=doc.revokes or None)),
            END: lambda: Check(checkhead=self.shop.head(103)),
        }
        if doc.kind == "open":
            self.sold, self.put = 0, 0
        document = makers[doc.kind]()
        self.sold += (doc.kind == "sale") - (doc.kind == "storno")
        self.put += doc.amount if doc.kind == "cash_in" else 0
        return with_head(document, ordernum=number, orderdate=at.date(), ordertime=at.time().replace(microsecond=0))

    sold = put = 0

    def _z(self) -> Document:
        return self.shop.z(*[(AMOUNT, TAX)] * self.sold, cash_in=self.put)

    def play(self, step: Step) -> None:
        sold = (self.sold, self.put)
        super().play(step)
        if not isinstance(step, Wait | Again) and step.code:
            self.sold, self.put = sold
        if isinstance(step, Package) and not step.code and step.docs[0].revokes:
            self.sold -= any(kind == "sale" for kind, _ in self.place.numbers[-len(step.docs) - 1 : -len(step.docs)])

    def marked(self, document: Document, number: str, hash: str) -> Document:
        return with_head(document, ordertaxnum=number, offline=True, prevdochash=hash or None)

    def sent(self, document: Document) -> bytes:
        return encode(document)

    def submit(self, sent: bytes) -> tuple[int, str, tuple[str, str] | None]:
        verdict = self._result(self.client.register(sent, decode(sent)))
        if isinstance(verdict, Refused):
            return verdict.code or -1, "", None
        assert isinstance(verdict, Accepted), verdict
        session = verdict.session
        return TAKEN, verdict.fiscal_number, (session.id, session.seed) if session is not None else None

    def hand_over(self, sent: Iterable[bytes]) -> tuple[int, tuple[str, str] | None]:
        verdict = self._result(self.client.hand_in(packages.join(sent)))
        if isinstance(verdict, Refused):
            return verdict.code or -1, None
        assert isinstance(verdict, PackageTaken), verdict
        session = verdict.session
        return TAKEN, (session.id, session.seed) if session is not None else None

    def _result(self, asking: Any) -> Any:
        return self.case.successResultOf(Deferred.fromCoroutine(asking))

    def entries(self) -> list[tuple[str, str, int]]:
        return [(entry.kind, entry.status, entry.sum) for entry in self.server.entries()]


class RulesTests(SynchronousTestCase):
    """The rules that both far ends keep."""

    tills = (XmlTill, PaperTill)

    def played(self, kind: type[XmlTill] | type[PaperTill], steps: Iterable[Step], restarts: bool) -> Till:
        """A till after ``steps``."""
        till = kind(self)
        for step in steps:
            till.play(step)
            if restarts:
                till.start()
        return till

    def test_same(self) -> None:
        """Every case of the table is answered alike, and both ledgers say the same of it."""
        for name, steps in CASES.items():
            server, training = (self.played(kind, steps, False).entries() for kind in self.tills)
            self.assertEqual(training, server, name)

    def test_restarts(self) -> None:
        """A restart of the server after each document changes nothing."""
        for name, steps in CASES.items():
            for kind in self.tills:
                wanted = self.played(kind, steps, False).entries()
                self.assertEqual(self.played(kind, steps, True).entries(), wanted, (name, kind.name))
