"""A fiscal channel: the way of a software register's documents to the tax service.

A submission has three outcomes: the document was accepted, it was refused, or the outcome is unknown. The engine
stores the exact bytes before they leave, so a channel can be asked what became of them after any crash.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
from zope.interface import Attribute, Interface

from dmtwisted.documents.documents import CASH_IN, CASH_OUT, RETURN, SALE, WITHDRAWAL, Document
from dmtwisted.registers.totals import RegisterState, Session
from dmtwisted.results import Refused, Res, Text, Words


@dataclass(frozen=True)
class Accepted:
    """The tax service took the document and gave it a number."""

    fiscal_number: str
    session: Session | None = None
    """An offline session for later, when the tax service granted one."""


@dataclass(frozen=True)
class Rejected:
    """The tax service certainly did not take the document; ``refused`` is the caller's answer."""

    refused: Refused


@dataclass(frozen=True)
class Unknown:
    """The document left, and no readable answer came."""

    why: Words
    res: Res = Res.COLLISION_NOT_REPAIRED
    """Of `probe`: why the outcome is still unknown; 1073 and 1074 need a person."""


ChannelOutcome = Accepted | Rejected | Unknown


@dataclass(frozen=True)
class Absent:
    """The tax service never saw a document with this number."""


class OutletRegister(msgspec.Struct):
    """A register as the tax service has it: both numbers go into the settings of `prro`."""

    fiscal_number: str
    local_number: int
    name: str
    closed: bool


class OutletRecord(msgspec.Struct):
    """An outlet as the tax service has it: `tin`, `ipn`, `org_name`, `name`, `address` stand in every document."""

    name: str
    address: str
    tin: str
    ipn: str
    org_name: str
    single_tax: bool
    chief_cashier: bool
    registers: list[OutletRegister]


@dataclass(frozen=True)
class SaidOfKey:
    """What the tax service says of a key that is not loaded."""

    outlets: list[OutletRecord]
    open_shifts: frozenset[str] = frozenset()
    """Fiscal numbers of registers whose shift is open at the tax service."""
    refused: Refused | None = None
    """Why it said nothing."""


class ServerSaid(msgspec.Struct, frozen=True):
    """What a server of the tax service says of a register; ``knows`` is null when it could not be asked."""

    url: str
    knows: bool | None
    text: str


class ProtocolFound(msgspec.Struct, frozen=True):
    """The protocol whose server alone knows a register, and what both servers say.

    ``protocol`` is `unknown` when that is not certain.
    """

    protocol: Literal["a", "b", "both", "neither", "unknown"]
    a: ServerSaid
    b: ServerSaid


class IFiscalChannel(Interface):
    """The way of one register to the tax service."""

    desk = Attribute("The register's number within its outlet, as offline numbers contain it.")
    remote = Attribute("Whether there is a link that can break, and that is checked while it is not used.")
    unverified = Attribute("Whether answers count whoever signed them, though documents leave this machine.")
    renews = Attribute("Whether what never arrived is sent again as other bytes, those of `again`.")
    dtype = Attribute("1 when documents are fiscal, 0 when they are for training.")
    closes = Attribute("Whether a document of its own closes a shift after its Z; else the Z does.")
    batch = Attribute("Documents made offline that are handed in at once, while tasks wait; 0: a package.")
    revocable = Attribute("Kinds of documents that may be made again offline while their answer is lost.")
    reserves = Attribute("Offline numbers to have in stock; 0 when the register calculates them.")

    async def prepare(document: Document) -> bytes:
        """The exact bytes to send, signed where documents are signed.

        :raises Refused: when the tax service has no such document, or it cannot be signed; nothing has happened then.
        """

    def left_out(document: Document) -> list[Text]:
        """What the tax service's form of the document has no place for, so that it is not sent."""

    async def again(document: Document, sent: bytes) -> bytes:
        """``sent``, which never arrived, with the time of ``document``; `probe` finds either of the two by the other.

        :raises Refused: as `prepare` does.
        """

    async def submit(document: Document, sent: bytes) -> ChannelOutcome:
        """Submit ``sent``, the bytes of ``document``."""

    async def probe(number: int, sent: bytes) -> Accepted | Absent | Unknown:
        """What became of ``sent``, the document with the local ``number``."""

    async def upload(package: list[bytes], session: Session) -> ChannelOutcome:
        """Submit documents of the offline ``session``, in their order; what arrived before is not submitted twice."""

    async def answers() -> bool:
        """Whether the tax service answers now; takes one time-out at most and has no effect.

        If it does not, it is asked once more before the next document is sent.
        """

    async def greet() -> None:
        """Ask the tax service whether it is there, beside documents: a pause after a failure does not hold it back.

        :raises Refused: when it is not there.
        """

    def link(sent: bytes) -> str:
        """The hash of ``sent``, which the next document names; empty when online documents form no chain."""

    def before(sent: bytes) -> str:
        """The hash of the document before ``sent``, which it names; empty when it names none."""

    async def right_to_withdraw() -> bytes:
        """What `withdraw` shows later, signed with the shift's key: no other one may; empty where nothing is asked.

        :raises Refused: when it cannot be signed.
        """

    async def withdraw(fiscal_number: str, right: bytes) -> None:
        """Have the last online document deleted, which was made again offline, where no document says so.

        :param right: of `right_to_withdraw`; empty: signed with the present key.
        :raises Refused: when it is not certain that it is deleted.
        """

    async def first_number() -> int:
        """The local number that the tax service expects next.

        :raises Refused: when it cannot be asked.
        """

    async def beginning(state: RegisterState) -> RegisterState:
        """``state``, of a register that has not used this channel, with the numbers that the tax service expects.

        :raises Refused: when it cannot be asked, or the register may not begin there.
        """

    async def tip() -> str:
        """The hash of the last document of the tax service; empty when there is none, or no chain.

        :raises Refused: when it cannot be asked.
        """

    def key_days_left() -> int | None:
        """Whole days for which the signing key is still valid; `None` when nothing is signed."""

    async def check() -> None:
        """Try the way there without effect.

        :raises Refused: when it does not work.
        """


class Unchained:
    """What channels share whose documents do not name the one before."""

    closes = True
    batch = 0
    revocable = frozenset({SALE, RETURN, CASH_IN, CASH_OUT, WITHDRAWAL})
    """Those that move money."""
    reserves = 0

    def link(self, sent: bytes) -> str:
        """No document names it: see `IFiscalChannel`."""
        return ""

    def before(self, sent: bytes) -> str:
        """It names none: see `IFiscalChannel`."""
        return ""

    async def right_to_withdraw(self) -> bytes:
        """Nothing is asked: see `IFiscalChannel`."""
        return b""

    async def withdraw(self, fiscal_number: str, right: bytes) -> None:
        """The opening of the session revokes the document: see `IFiscalChannel`."""

    async def tip(self) -> str:
        """There is no chain: see `IFiscalChannel`."""
        return ""


def numbered_from(state: RegisterState, number: int) -> RegisterState:
    """``state`` of a register that has not used a channel whose documents form no chain, where ``number`` is next."""
    number = max(number, state.next_number)
    return msgspec.structs.replace(state, next_number=number, local=None, chain="", session=None)


MALFORMED = Text("відповідь неправильної форми", "malformed answer")


class Away(Refused):
    """Nothing was sent, because a service that is needed only online is away: a repeat is safe, and so is offline.

    It is the tax service (1050; 1035 when its answer is malformed) or the time-stamp provider (1069).
    """

    def __init__(self, why: Words = "", res: Res = Res.TAX_SERVICE_UNREACHABLE) -> None:
        if "%s" in res.text.en:
            super().__init__(res, why)
        elif res is Res.TAX_SERVICE_ERROR:
            super().__init__(res, MALFORMED, aq_errortxt=why)
        else:
            super().__init__(res, aq_errortxt=why)


def unreachable(why: Words = "") -> Rejected:
    """The outcome of a document that did not leave."""
    return Rejected(Away(why))
