"""The channel to the tax service's own fiscal server: documents signed here, handed in there (fiscal-server 2 to 9).

`prepare` writes a document as XML and signs it in a thread; these exact bytes are stored before they leave. A
document whose answer was lost is asked for by its number, and known again by the GUID that it was sent with: another
document under the same number is never taken for ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.clock import KYIV, ServiceClock
from dmtwisted.documents.catalogue import TaxGroup
from dmtwisted.documents.documents import Document, Header
from dmtwisted.registers.channels.interface import (
    Absent,
    Accepted,
    Away,
    ChannelOutcome,
    IFiscalChannel,
    OutletRecord,
    OutletRegister,
    Rejected,
    Unknown,
    unreachable,
)
from dmtwisted.registers.channels.known_outlet import KnownOutlet
from dmtwisted.registers.channels.protocol_a import refusal_of
from dmtwisted.registers.channels.proven import Proven
from dmtwisted.registers.channels.tax_documents import Desk, Outlet, dated, written
from dmtwisted.registers.channels.time_stamps import TimeStamps
from dmtwisted.registers.keys import ISigningKey
from dmtwisted.registers.totals import Session
from dmtwisted.results import Refused, Res
from protocols.fiscal import packages, verdicts
from protocols.fiscal.bodies import MOST_BYTES
from protocols.fiscal.check_xml import Check
from protocols.fiscal.client import Exchange, FiscalServer, skew
from protocols.fiscal.command_answers import RegistrarState, TaxObject, text_of
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.trust import Trust
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.document_kinds import kind_of
from protocols.fiscal.document_xml import Document as Paper
from protocols.fiscal.document_xml import decode, encode
from protocols.fiscal.kinds import Kind
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.signatures import Signed, WrongSignature
from protocols.fiscal.verdicts import Answered, Lost, Nothing, NotSent

OUTER_BYTES = 16 * 1024
"""What the signature around a package may add to its documents."""

WRONG_CLOCK_S = 1800.0
"""Seconds between our clock and the server's from which a refusal is 1121 (fiscal-server 10)."""

_GRANTING = (Kind.OPEN, Kind.OFFLINE_END)
"""Documents whose acceptance brings an offline session (fiscal-server 7.1)."""


@dataclass(frozen=True)
class Register:
    """One register as its settings name it.

    :param number: its fiscal number; 0 when the settings do not say.
    :param local: its number within the outlet. :param testing: whether its documents are tests.
    :param groups: its tax groups by code.
    """

    number: int
    local: int
    testing: bool
    groups: Mapping[int, TaxGroup]


@implementer(IFiscalChannel)
class TaxServiceChannel:
    """The way of one register to the fiscal server at ``address``.

    :param trust: whose signature on tickets is accepted; `None` accepts any that holds.
    :param outlet: whose documents they are, for what the settings do not say.
    :param stamps: where the stamps of online documents come from; `None`: they have none.
    """

    log = Logger()
    remote = True

    def __init__(
        self,
        register: Register,
        key: ISigningKey,
        exchange: Exchange,
        address: str,
        trust: Trust | None,
        clock: ServiceClock,
        outlet: KnownOutlet,
        stamps: TimeStamps | None = None,
    ) -> None:
        self._register, self._key, self._clock = register, key, clock
        self._known_outlet = outlet
        self._stamps = stamps
        self._trust = None if trust is None else Proven(trust)
        # The document that was signed last: it is the next one to leave, and reading signed bytes again costs.
        self._last_signed: tuple[bytes, Paper] | None = None
        self._server = FiscalServer(exchange, self._sign, self._opened, address, aside=clock.aside)
        # Seconds that the server's clock is before ours; `None` while it is doubtful whether anybody is there.
        self._skew: float | None = None
        self.desk = str(register.local)
        self.dtype = 0 if register.testing else 1

    # Signing

    async def prepare(self, document: Document) -> bytes:
        """The document as XML, signed: see `IFiscalChannel`.

        :raises Refused: 1093 without a fiscal number, 1094, 1095 or 1124 as the key is, 1121 when the clocks differ,
            1069 when it cannot be signed, and as `written` refuses.
        """
        await self._ready()
        self._key.allow(document)
        if document.offline is None:
            await self._check_clock()
        desk = Desk(
            number=self._register.number,
            local=self._register.local,
            testing=self._register.testing,
            outlet=await self._outlet_of(document.header, offline=document.offline is not None),
            cashier=self._key.subject,
            groups=self._register.groups,
        )
        return await self._signed(written(document, desk), document)

    async def again(self, document: Document, sent: bytes) -> bytes:
        """``sent`` with another time and the same GUID, signed: see `IFiscalChannel`."""
        await self._ready()
        self._key.allow(document)
        await self._check_clock()
        return await self._signed(encode(dated(await self._paper_of(sent), document.at)), document)

    async def _signed(self, content: bytes, document: Document) -> bytes:
        """The content, signed and where it is due stamped."""
        sent = await self._key.sign(lambda: content)
        if self._stamps is not None and document.offline is None:
            sent = await self._stamps.stamped(sent)
        self._last_signed = sent, decode(content)
        return sent

    async def _ready(self) -> None:
        if not self._register.number:
            raise Refused(Res.FISCAL_NUMBER_EMPTY)
        await self._key.ready()

    async def _sign(self, content: bytes) -> bytes:
        """Sign a command or a package."""
        return await self._key.sign(lambda: content)

    def _opened(self, message: bytes) -> Signed:
        """What the server signed."""
        try:
            verdict = verify(message, self._now(), self._trust)
        except CryptoError as error:
            raise WrongSignature(str(error)) from None
        if not verdict.valid or verdict.signer is None:
            raise WrongSignature("; ".join(map(str, verdict.faults)))
        return Signed(verdict.content, verdict.signer.key_id.hex(), verdict.signer.subject.common)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.seconds(), UTC)

    async def _outlet_of(self, header: Header, offline: bool) -> Outlet:
        """Who issues the document: as the settings say, and where they say nothing as the server registered it."""
        known = Outlet(tin="")
        if not (header.fis_code and header.name and header.shopname):
            known = await self._known_outlet.outlet(self._ask_outlet, offline)
        return Outlet(
            tin=header.fis_code or known.tin,
            # Whose own tax number is set, of that one the VAT number is told by the settings too.
            ipn=header.vat_code or ("" if header.fis_code else known.ipn),
            org_name=header.name or known.org_name,
            point_name=header.shopname or known.point_name,
            address=header.shopad or known.address,
        )

    async def _ask_outlet(self) -> Outlet:
        asked = await self._server.objects()
        if isinstance(asked, Answered):
            for found in asked.value.tax_objects:
                if any(one.num_fiscal == self._register.number for one in found.transactions_registrars):
                    return _outlet(found)
            raise Refused(Res.TAX_SERVICE_UNKNOWN_REGISTER)
        raise _unanswered(asked)

    async def tax_objects(self) -> list[OutletRecord]:
        """The outlets and registers that the key's owner has, for people to choose from; no number is needed yet.

        :raises Refused: 1094 or 1095 as the key is, 1069 when it cannot sign, and as the server refuses.
        """
        asked = await self._server.objects()
        if isinstance(asked, Answered):
            return [_outlet_record(found) for found in asked.value.tax_objects]
        if isinstance(asked, Nothing):
            # As for a key that is not registered yet.
            return []
        raise _unanswered(asked)

    # Documents

    async def submit(self, document: Document, sent: bytes) -> ChannelOutcome:
        """Hand in ``sent``: see `IFiscalChannel`."""
        try:
            paper = await self._paper_of(sent)
        except Refused as damaged:
            return Rejected(damaged)
        verdict = await self._server.register(sent, paper)
        if isinstance(verdict, verdicts.Accepted):
            # Tickets tell whole seconds of Kyiv's time; at the edge the server is asked.
            self._skew = (verdict.at.replace(tzinfo=KYIV) - self._now()).total_seconds()
            return Accepted(verdict.fiscal_number, _session(verdict.session))
        self._skew = None
        if isinstance(verdict, NotSent):
            return unreachable(verdict.why)
        if isinstance(verdict, verdicts.Unknown):
            return Unknown(verdict.why)
        refused = refusal_of(verdict, document.kind)
        if refused.res is Res.TAX_SERVICE_WRONG_DATE and await self._clock_is_wrong():
            refused = Refused(Res.CLOCK_DIFFERS, note=refused.note, aq_errortxt=refused.aq_errortxt)
        return Rejected(refused)

    async def _check_clock(self) -> None:
        """See that the server is there and its clock agrees with ours; asks only when either is doubtful.

        It is after the start, after a failure, and when the clocks differed.

        :raises Refused: 1121 when they are half an hour apart; 1050 when it does not answer: nothing left then.
        """
        if self._skew is not None and abs(self._skew) < WRONG_CLOCK_S:
            return
        asked = await self._server.state_of_server()
        if not isinstance(asked, Answered):
            raise Away(_why(asked))
        self._skew = skew(asked.value, self._now())
        if self._skew is not None and abs(self._skew) >= WRONG_CLOCK_S:
            raise Refused(Res.CLOCK_DIFFERS)

    async def _paper_of(self, sent: bytes) -> Paper:
        """The document in ``sent``, which is usually the one that was signed a moment ago."""
        if self._last_signed is not None and self._last_signed[0] == sent:
            return self._last_signed[1]
        return await self._clock.aside(_paper_in, sent)

    async def _clock_is_wrong(self) -> bool:
        asked = await self._server.state_of_server()
        off = skew(asked.value, self._now()) if isinstance(asked, Answered) else None
        return off is not None and abs(off) >= WRONG_CLOCK_S

    async def probe(self, number: int, sent: bytes) -> Accepted | Absent | Unknown:
        """What became of ``sent``: see `IFiscalChannel`."""
        asked = await self._server.look_up(self._register.number, number)
        if isinstance(asked, Nothing):
            return Absent()
        if not isinstance(asked, Answered):
            return Unknown(_why(asked))
        fiscal_number = text_of(asked.value.num_fiscal)
        if not fiscal_number:
            return Unknown(f"document {number} has no fiscal number yet", Res.PREVIOUS_NOT_PROCESSED)
        ours = await self._clock.aside(_paper_in, sent)
        if (ours.head.ordertaxnum or fiscal_number) != fiscal_number:
            return self._other(number, fiscal_number)
        fetched = await self._server.fetch(self._register.number, number, asked.value.doc_class == "ZRep")
        if isinstance(fetched, Lost):
            return Unknown(fetched.why)
        if isinstance(fetched, Answered):
            if not _same_guid(fetched.value.document, ours):
                return self._other(number, fiscal_number)
        else:
            # It is there, and the server does not show it: there is nothing to compare.
            self.log.warn("{register}: {number} is not shown", register=self._register.number, number=number)
        if kind_of(ours) not in _GRANTING:
            return Accepted(fiscal_number)
        state = await self._server.state(self._register.number)
        if not isinstance(state, Answered):
            return Unknown(_why(state))
        return Accepted(fiscal_number, _session_in(state.value))

    def _other(self, number: int, fiscal_number: str) -> Unknown:
        self.log.error("{register}: {number} is another document", register=self.desk, number=number)
        why = f"the server has another document under the number {number}: {fiscal_number}"
        return Unknown(why, Res.COLLISION_UNSOLVABLE)

    # Offline

    async def answers(self) -> bool:
        """Whether the server tells its time: see `IFiscalChannel`."""
        there = isinstance(await self._server.state_of_server(), Answered)
        if not there:
            self._skew = None
        return there

    async def ahead(self) -> float | None:
        """Seconds that the server's clock is before ours; `None` when nobody tells a time."""
        asked = await self._server.state_of_server()
        return skew(asked.value, self._now()) if isinstance(asked, Answered) else None

    async def upload(self, package: list[bytes], session: Session) -> ChannelOutcome:
        """Hand in documents that were made offline: see `IFiscalChannel`.

        The server is asked first how far it has them: real servers may not take a document twice.
        """
        try:
            return await self._upload(package, session)
        except Refused as refused:
            # The key was gone before the next package could be signed.
            return Rejected(refused)

    async def _upload(self, package: list[bytes], handed_in: Session) -> ChannelOutcome:
        papers = await self._clock.aside(_papers_in, package)
        asked = await self._server.state(self._register.number, verdicts.Session(handed_in.id, handed_in.seed))
        if isinstance(asked, (Lost, Nothing)):
            # Nothing of the package left.
            return unreachable(_why(asked))
        if isinstance(asked, verdicts.Refused):
            return Rejected(refusal_of(asked))
        there = sum(paper.head.ordernum < asked.value.next_local_num for paper in papers)
        if there:
            found = await self.probe(papers[there - 1].head.ordernum, package[there - 1])
            if there == 1 and _revokes(papers[0]) and _is_other(found):
                # The document under its number is the one that it revokes.
                there, found = 0, Accepted("")
            if not isinstance(found, Accepted):
                why = found.why if isinstance(found, Unknown) else "the server has gone on without these documents"
                return Rejected(Refused(Res.TAX_SERVICE_WRONG_HASH, aq_errortxt=why))
        session: verdicts.Session | None = None
        try:
            batches = list(packages.batches(package[there:], MOST_BYTES - OUTER_BYTES))
        except packages.BrokenPackage as error:
            return Rejected(Refused(Res.TAX_SERVICE_WRONG_DATA, note=str(error)))
        for batch in batches:
            verdict = await self._server.hand_in(await self._sign(packages.join(batch)))
            if isinstance(verdict, NotSent):
                return unreachable(verdict.why)
            if isinstance(verdict, verdicts.Unknown):
                return Unknown(verdict.why)
            if isinstance(verdict, verdicts.Refused):
                return Rejected(refusal_of(verdict))
            session = verdict.session or session
        last = papers[-1]
        granted = _session(session)
        if granted is None and kind_of(last) is Kind.OFFLINE_END:
            state = await self._server.state(self._register.number)
            if not isinstance(state, Answered):
                return Unknown(_why(state))
            granted = _session_in(state.value)
        return Accepted(last.head.ordertaxnum or "", granted)

    # The key and the way

    async def first_number(self) -> int:
        """The number that the server expects next: another program may have used the register (fiscal-server 6).

        :raises Refused: when the server cannot be asked.
        """
        await self._ready()
        asked = await self._server.state(self._register.number)
        if isinstance(asked, Answered):
            return max(asked.value.next_local_num, 1)
        if isinstance(asked, Nothing):
            return 1
        raise _unanswered(asked)

    def key_days_left(self) -> int | None:
        """Whole days until the key ends; `None` while none is known."""
        return self._key.days_left()

    async def check(self) -> None:
        """Ask the server how the register stands: see `IFiscalChannel`.

        :raises Refused: when there is no key, no way there, or the server does not know the register.
        """
        await self._ready()
        asked = await self._server.state(self._register.number)
        if isinstance(asked, Answered):
            return
        if isinstance(asked, Nothing):
            raise Refused(Res.TAX_SERVICE_UNKNOWN_REGISTER)
        raise _unanswered(asked)


def _paper_in(sent: bytes) -> Paper:
    """The document in signed bytes of ours.

    :raises Refused: 1069 when they are none; then they were damaged in the store.
    """
    try:
        return decode(read(sent).content or b"")
    except (CryptoError, DocumentError) as error:
        raise Refused(Res.SIGNING_FAILED, f"the stored document cannot be read ({error})") from error


def _papers_in(package: list[bytes]) -> list[Paper]:
    return [_paper_in(sent) for sent in package]


def _revokes(paper: Paper) -> bool:
    return isinstance(paper, Check) and bool(paper.checkhead.revokelastonlinedoc)


def _is_other(found: Accepted | Absent | Unknown) -> bool:
    return isinstance(found, Unknown) and found.res is Res.COLLISION_UNSOLVABLE


def _same_guid(one: Paper, other: Paper) -> bool:
    return one.head.uid.strip("{}").lower() == other.head.uid.strip("{}").lower()


def _session(session: verdicts.Session | None) -> Session | None:
    return Session(session.id, session.seed) if session is not None else None


def _session_in(state: RegistrarState) -> Session | None:
    return Session(*state.session) if state.session is not None else None


def _outlet(found: TaxObject) -> Outlet:
    return Outlet(
        tin=text_of(found.tin),
        ipn=text_of(found.ipn),
        org_name=found.org_name or "",
        point_name=found.name or "",
        address=found.address or "",
    )


def _outlet_record(found: TaxObject) -> OutletRecord:
    return OutletRecord(
        name=found.name or "",
        address=found.address or "",
        tin=text_of(found.tin),
        ipn=text_of(found.ipn),
        org_name=found.org_name or "",
        single_tax=found.single_tax,
        chief_cashier=found.chief_cashier,
        registers=[
            OutletRegister(str(one.num_fiscal), one.num_local, one.name or "", one.closed)
            for one in found.transactions_registrars
        ],
    )


def _why(asked: Nothing | verdicts.Refused | Lost) -> str:
    if isinstance(asked, Nothing):
        return "the server knows nothing of the register"
    if isinstance(asked, verdicts.Refused):
        return f"{asked.code if asked.code is not None else f'HTTP {asked.status}'}: {asked.text}"
    return asked.why


def _unanswered(asked: Nothing | verdicts.Refused | Lost) -> Refused:
    """What a question that brought nothing means: nothing was done, so a repeat is safe."""
    if isinstance(asked, verdicts.Refused):
        return refusal_of(asked)
    if isinstance(asked, NotSent):
        return Away(asked.why)
    return Refused(Res.TAX_SERVICE_UNAVAILABLE, aq_errortxt=_why(asked))
