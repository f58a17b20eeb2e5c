"""A fiscal channel: where a software register hands in its finished documents (design 3).

Whatever the far end is, one submission has three outcomes: it took the document, it refused it, or nobody knows.
The engine stores the exact bytes before they leave, so a channel may be asked what became of them after any crash.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
from zope.interface import Attribute, Interface

from dmtwisted.documents.documents import Document
from dmtwisted.registers.totals import Session
from dmtwisted.results import Refused, Res


@dataclass(frozen=True)
class Accepted:
    """The far end took the document and gave it a number."""

    fiscal_number: str
    session: Session | None = None
    """An offline session for later, when the far end granted one."""


@dataclass(frozen=True)
class Rejected:
    """The far end certainly did not take the document; ``refused`` is what the caller hears."""

    refused: Refused


@dataclass(frozen=True)
class Unknown:
    """The document left and no answer came that could be read."""

    why: str
    res: Res = Res.COLLISION_NOT_REPAIRED
    """Of a document that was asked for: why it cannot be told now; 1073 and 1074 need a person."""


ChannelOutcome = Accepted | Rejected | Unknown


@dataclass(frozen=True)
class Absent:
    """The far end never saw a document with this number."""


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


class IFiscalChannel(Interface):
    """The way of one register to its far end."""

    desk = Attribute("The register's number within its outlet, as offline numbers contain it.")
    remote = Attribute("Whether there is a link that can break, which is to be looked after while it is not used.")
    dtype = Attribute("1 when documents are fiscal, 0 when they are for training.")

    async def prepare(document: Document) -> bytes:
        """The exact bytes to send: the place where documents are signed.

        :raises Refused: when the far end has no such document, or nobody can sign it; nothing has happened then.
        """

    async def again(document: Document, sent: bytes) -> bytes:
        """``sent``, which never arrived, made anew at the time of ``document``; `probe` knows either by the other.

        :raises Refused: as `prepare` does.
        """

    async def submit(document: Document, sent: bytes) -> ChannelOutcome:
        """Hand in ``sent``, which stands for ``document``."""

    async def probe(number: int, sent: bytes) -> Accepted | Absent | Unknown:
        """What became of ``sent``, the document with the local ``number``."""

    async def upload(package: list[bytes], session: Session) -> ChannelOutcome:
        """Hand in documents of the offline ``session``, in their order; what is there already is not taken twice."""

    async def answers() -> bool:
        """Whether the far end is there now; costs one time-out at most and has no effect.

        After a no the next document is not sent before the far end was asked once more.
        """

    async def first_number() -> int:
        """The local number that the far end expects next.

        :raises Refused: when it cannot be asked.
        """

    def key_days_left() -> int | None:
        """Whole days that the signing key is still good for; `None` when nothing is signed."""

    async def check() -> None:
        """Try the way there without effect.

        :raises Refused: when it does not work.
        """


class Away(Refused):
    """Nothing was sent for want of somebody who is needed online only: a repeat is safe, and so is going offline.

    It is the far end (1050), or who gives time stamps (1069).
    """

    def __init__(self, why: str = "", res: Res = Res.TAX_SERVICE_UNREACHABLE) -> None:
        if "%s" in res.text.en:
            super().__init__(res, why)
        else:
            super().__init__(res, aq_errortxt=why)


def unreachable(why: str = "") -> Rejected:
    """The outcome of what did not leave."""
    return Rejected(Away(why))
