"""The channel to the tax service's own fiscal server: docs/reference/tax-service.md.

`prepare` writes a document as XML and signs it in a thread; these exact bytes are stored before they leave. A
document whose answer was lost is looked up by its number and recognised by its GUID: another document under the same
number is never taken for ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.clock import KYIV, ServiceClock
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, Header
from dmtwisted.registers.channels.breaker import Breaker
from dmtwisted.registers.channels.evidence import Evidence
from dmtwisted.registers.channels.interface import (
    Absent,
    Accepted,
    Away,
    ChannelOutcome,
    IFiscalChannel,
    OutletRecord,
    OutletRegister,
    Rejected,
    SaidOfKey,
    Unchained,
    Unknown,
    numbered_from,
    unreachable,
)
from dmtwisted.registers.channels.known_outlet import KnownOutlet
from dmtwisted.registers.channels.opening import Opening
from dmtwisted.registers.channels.protocol_a import refusal_by_code, refusal_of
from dmtwisted.registers.channels.tax_documents import Desk, Outlet, dated, left_out, written
from dmtwisted.registers.channels.time_stamps import TimeStamps
from dmtwisted.registers.keys import ISigningKey
from dmtwisted.registers.prro.trust import Trusted
from dmtwisted.registers.terms import Terms
from dmtwisted.registers.totals import RegisterState, Session
from dmtwisted.results import Refused, Res, Text
from dmtwisted.system.machine import machine_id
from dmtwisted.wording import wording
from protocols.fiscal import packages, verdicts
from protocols.fiscal.bodies import MOST_BYTES
from protocols.fiscal.check_xml import Check
from protocols.fiscal.client import FiscalServer, skew
from protocols.fiscal.command_answers import RegistrarState, TaxObject, text_of
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.document_kinds import kind_of
from protocols.fiscal.document_xml import Document as XmlDocument
from protocols.fiscal.document_xml import decode, encode
from protocols.fiscal.error_codes import Code
from protocols.fiscal.kinds import Kind
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.signatures import Sign
from protocols.fiscal.verdicts import Answered, Lost, Malformed, Nothing, NotSent

OUTER_BYTES = 16 * 1024
"""What the signature around a package can add to its documents."""

WRONG_CLOCK_S = 1800.0
"""Seconds between our clock and the server's from which a refusal is 1121 (docs/reference/tax-service.md#time)."""

MOST_ASKED = 20
"""Registers of one key whose shifts are asked for."""

_GRANTING = (Kind.OPEN, Kind.OFFLINE_END)
"""Documents whose acceptance grants an offline session (docs/reference/tax-service.md#offline-sessions)."""


@dataclass(frozen=True)
class Register:
    """One register as its settings describe it.

    :param number: its fiscal number; 0 when the settings have none.
    :param local: its number within the outlet. :param testing: whether its documents are tests.
    :param terms: gives its tax groups and payment types, as they are valid for its shift.
    :param marks_gs: stands for the separator of excise marks.
    :param device_register: whether the server is told which machine uses the register.
    """

    number: int
    local: int
    testing: bool
    terms: Callable[[], Terms]
    marks_gs: str = ""
    device_register: Literal["off", "on", "take_over"] = "off"


@implementer(IFiscalChannel)
class TaxServiceChannel(Unchained):
    """The way of one register to the fiscal server at ``address``.

    :param trusted: whose signature on answers is accepted. :param evidence: keeps the answers that are not.
    :param outlet: who issues the documents, where the settings do not say.
    :param stamps: gives time stamps to online documents; `None`: they have none.
    """

    log = Logger()
    remote, renews = True, False

    def __init__(
        self,
        register: Register,
        key: ISigningKey,
        exchange: Breaker,
        address: str,
        trusted: Trusted,
        evidence: Evidence,
        clock: ServiceClock,
        outlet: KnownOutlet,
        stamps: TimeStamps | None = None,
    ) -> None:
        self._register, self._key, self._clock = register, key, clock
        self._known_outlet = outlet
        self._stamps = stamps
        self._address = address
        self._opened = Opening(trusted, evidence, register.number, address, clock)
        # The message that was signed last and its XML: it is the next one to leave, and taking it apart takes time.
        self._last_signed = (b"", b"")
        self._exchange = exchange
        self._server = FiscalServer(exchange, self._sign, self._opened, address, aside=clock.aside)
        self._greeted = FiscalServer(exchange.greet, self._sign, self._opened, address, aside=clock.aside)
        # Seconds that the server's clock is ahead of ours; `None` while it is doubtful whether the server is there.
        self._skew: float | None = None
        self.desk = str(register.local)
        self.dtype = 0 if register.testing else 1

    # Signing

    async def prepare(self, document: Document) -> bytes:
        """The document as XML, signed: see `IFiscalChannel`.

        :raises Refused: 1093 without a fiscal number, 1094, 1095 or 1124 as the key is, 1121 when the clocks differ,
            1069 when it cannot be signed, 2104 and 1043 when another device uses the register, and as `written`
            refuses.
        """
        await self._ready()
        self._key.allow(document)
        if document.offline is None:
            await self._check_clock()
            if self._register.device_register != "off":
                await self._check_device(document)
        terms = self._register.terms()
        desk = Desk(
            number=self._register.number,
            local=self._register.local,
            testing=self._register.testing,
            outlet=await self._outlet_of(document.header, offline=document.offline is not None),
            cashier=self._key.subject,
            groups=terms.groups,
            payments=terms.payments,
            marks_gs=self._register.marks_gs,
        )
        return await self._signed(written(document, desk), document)

    def left_out(self, document: Document) -> list[Text]:
        """What the XML of the document lacks: see `IFiscalChannel`."""
        return list(left_out(document, self._register.number, self._register.terms().groups))

    async def again(self, document: Document, sent: bytes) -> bytes:
        """``sent`` with another time and the same GUID, signed: see `IFiscalChannel`."""
        await self._ready()
        self._key.allow(document)
        await self._check_clock()
        return await self._signed(encode(dated(await self._document_in(sent), document.at)), document)

    async def _signed(self, content: bytes, document: Document) -> bytes:
        """The content, signed, and stamped if the settings say so."""
        sent = await self._key.sign(lambda: content)
        if self._stamps is not None and document.offline is None:
            sent = await self._stamps.stamped(sent)
        self._last_signed = sent, content
        return sent

    async def _ready(self) -> None:
        if not self._register.number:
            raise Refused(Res.FISCAL_NUMBER_EMPTY)
        await self._key.ready()

    async def _sign(self, content: bytes) -> bytes:
        """Sign a command or a package."""
        return await self._key.sign(lambda: content)

    @property
    def unverified(self) -> bool:
        """Whether answers count whoever signed them: see `IFiscalChannel`."""
        return self._opened.unverified

    @property
    def signer(self) -> str:
        """Who signed the last answer that was accepted."""
        return self._opened.signer

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.seconds(), UTC)

    async def _outlet_of(self, header: Header, offline: bool) -> Outlet:
        """Who issues the document: as the settings say, and for the rest as the server registered it."""
        known = Outlet(tin="")
        if not (header.fis_code and header.name and header.shopname):
            known = await self._known_outlet.outlet(self._ask_outlet, offline)
        return Outlet(
            tin=header.fis_code or known.tin,
            # If the settings have the tax number, they also decide about the VAT number.
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
        """The outlets and registers of the key's owner, for people to choose from; no fiscal number is needed yet.

        :raises Refused: 1094 or 1095 as the key is, 1069 when it cannot sign, and as the server refuses.
        """
        return await _objects(self._server)

    async def said_of(self, sign: Sign) -> SaidOfKey:
        """What the server says of another key, with which ``sign`` signs; nothing is changed there."""
        server = FiscalServer(self._exchange, sign, self._opened, self._address, aside=self._clock.aside)
        try:
            outlets = await _objects(server)
        except Refused as refused:
            return SaidOfKey([], refused=refused)
        numbers = [one.fiscal_number for found in outlets for one in found.registers if not one.closed]
        found = [number for number in numbers[:MOST_ASKED] if await _has_open_shift(server, number)]
        return SaidOfKey(outlets, frozenset(found))

    # Documents

    async def submit(self, document: Document, sent: bytes) -> ChannelOutcome:
        """Hand in ``sent``: see `IFiscalChannel`."""
        try:
            xml = await self._document_in(sent)
        except Refused as damaged:
            return Rejected(damaged)
        verdict = await self._server.register(sent, xml)
        if isinstance(verdict, verdicts.Accepted):
            # Tickets have whole seconds in Kyiv's time; in doubt the server is asked.
            self._skew = (verdict.at.replace(tzinfo=KYIV) - self._now()).total_seconds()
            return Accepted(verdict.fiscal_number, _session(verdict.session))
        self._skew = None
        if isinstance(verdict, NotSent):
            return unreachable(wording(verdict.why))
        if isinstance(verdict, verdicts.Unknown):
            return Unknown(verdict.why)
        refused = refusal_of(verdict, document.kind)
        if refused.res is Res.TAX_SERVICE_WRONG_DATE and abs(await self.ahead() or 0.0) >= WRONG_CLOCK_S:
            refused = Refused(Res.CLOCK_DIFFERS, note=refused.note, aq_errortxt=refused.aq_errortxt)
        return Rejected(refused)

    async def _check_clock(self) -> None:
        """See that the server is there and its clock agrees with ours.

        It is asked only when that is doubtful: after the start, after a failure, and when the clocks differed.

        :raises Refused: 1121 when they are half an hour apart; 1050 when it does not answer: nothing left then.
        """
        if self._skew is not None and abs(self._skew) < WRONG_CLOCK_S:
            return
        asked = await self._server.state_of_server()
        if not isinstance(asked, Answered):
            raise _away(asked)
        self._skew = skew(asked.value, self._now())
        if self._skew is not None and abs(self._skew) >= WRONG_CLOCK_S:
            raise Refused(Res.CLOCK_DIFFERS)

    async def _check_device(self, document: Document) -> None:
        """See that no other device uses the register: its opening tells the server ours, and the numbers agree.

        The server knows our device from then on; told again it answers the same, so nothing is kept here.

        :raises Refused: 2104 when it knows another device, 1043 when it expects another number, 430 when this machine
            cannot be named, and as the server refuses; nothing of the document left then.
        """
        register = self._register
        if document.kind == documents.OPEN:
            try:
                ours = await self._clock.aside(machine_id)
            except OSError as error:
                raise Refused(Res.DEVICE_ERROR, wording(error)) from error
            asked = await self._server.device(register.number, ours, register.device_register == "take_over")
            if not isinstance(asked, Answered):
                raise Refused(Res.TAX_SERVICE_UNKNOWN_REGISTER) if isinstance(asked, Nothing) else _unanswered(asked)
            if (asked.value.device_id or ours).lower() != ours:
                raise Refused(Res.REGISTER_ELSEWHERE)
        # The closing follows a Z that the server does not have yet.
        if document.kind != documents.CLOSE:
            state = await self._state()
            if state is not None and state.next_local_num != document.number:
                text = f"номер документа повинен дорівнювати {state.next_local_num}"
                raise refusal_by_code(Code.CHECK_LOCAL_NUMBER_INVALID, text)

    async def _document_in(self, sent: bytes) -> XmlDocument:
        """The document in ``sent``, usually the one that was signed last."""
        message, content = self._last_signed
        if message == sent:
            return _document_of(content)
        return await self._clock.aside(_read_document, sent)

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
        ours = await self._clock.aside(_read_document, sent)
        if (ours.head.ordertaxnum or fiscal_number) != fiscal_number:
            return self._other(number, fiscal_number)
        fetched = await self._server.fetch(self._register.number, number, asked.value.doc_class == "ZRep")
        if isinstance(fetched, Lost):
            return Unknown(fetched.why)
        if isinstance(fetched, Answered):
            if not _same_guid(fetched.value.document, ours):
                return self._other(number, fiscal_number)
        else:
            # It is there, but the server does not show it, so there is nothing to compare.
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
        """Whether the server returns its time: see `IFiscalChannel`."""
        there = isinstance(await self._server.state_of_server(), Answered)
        if not there:
            self._skew = None
        return there

    async def greet(self) -> None:
        """Whether the server returns its time, whatever pause lasts: see `IFiscalChannel`."""
        asked = await self._greeted.state_of_server()
        if not isinstance(asked, Answered):
            self._skew = None
            raise _away(asked)

    async def ahead(self) -> float | None:
        """Seconds that the server's clock is ahead of ours; `None` when it returns no time."""
        asked = await self._server.state_of_server()
        return skew(asked.value, self._now()) if isinstance(asked, Answered) else None

    async def upload(self, package: list[bytes], session: Session) -> ChannelOutcome:
        """Submit documents that were made offline: see `IFiscalChannel`.

        The server is asked first which of them it has: real servers may not take a document twice.
        """
        try:
            return await self._upload(package, session)
        except Refused as refused:
            # The key was removed before the next package could be signed.
            return Rejected(refused)

    async def _upload(self, package: list[bytes], handed_in: Session) -> ChannelOutcome:
        documents = await self._clock.aside(lambda: [_read_document(sent) for sent in package])
        asked = await self._server.state(self._register.number, verdicts.Session(handed_in.id, handed_in.seed))
        if isinstance(asked, (Lost, Nothing)):
            # Nothing of the package left.
            return Rejected(_away(asked))
        if isinstance(asked, verdicts.Refused):
            return Rejected(refusal_of(asked))
        there = sum(each.head.ordernum < asked.value.next_local_num for each in documents)
        if there:
            found = await self.probe(documents[there - 1].head.ordernum, package[there - 1])
            other = isinstance(found, Unknown) and found.res is Res.COLLISION_UNSOLVABLE
            if other and there == 1 and _revokes(documents[0]):
                # The document under its number is the one that it is to revoke.
                there, found = 0, Accepted("")
            if not isinstance(found, Accepted):
                why = found.why if isinstance(found, Unknown) else "the server has gone on without these documents"
                return Rejected(Refused(Res.TAX_SERVICE_WRONG_HASH, aq_errortxt=wording(why)))
        session: verdicts.Session | None = None
        try:
            batches = list(packages.batches(package[there:], MOST_BYTES - OUTER_BYTES))
        except packages.BrokenPackage as error:
            return Rejected(Refused(Res.TAX_SERVICE_WRONG_DATA, note=wording(error)))
        for batch in batches:
            verdict = await self._server.hand_in(await self._sign(packages.join(batch)))
            if isinstance(verdict, NotSent):
                return unreachable(wording(verdict.why))
            if isinstance(verdict, verdicts.Unknown):
                return Unknown(verdict.why)
            if isinstance(verdict, verdicts.Refused):
                return Rejected(refusal_of(verdict))
            session = verdict.session or session
        last = documents[-1]
        granted = _session(session)
        if granted is None and kind_of(last) is Kind.OFFLINE_END:
            state = await self._server.state(self._register.number)
            if not isinstance(state, Answered):
                return Unknown(_why(state))
            granted = _session_in(state.value)
        return Accepted(last.head.ordertaxnum or "", granted)

    # The key and the link

    async def first_number(self) -> int:
        """The number that the server expects next: another program may have used the register.

        :raises Refused: when the server cannot be asked.
        """
        state = await self._state()
        return 1 if state is None else max(state.next_local_num, 1)

    async def _state(self) -> RegistrarState | None:
        """The state of the register at the server; `None` when the server does not know the register."""
        await self._ready()
        asked = await self._server.state(self._register.number)
        if isinstance(asked, Nothing):
            return None
        if isinstance(asked, Answered):
            return asked.value
        raise _unanswered(asked)

    async def beginning(self, state: RegisterState) -> RegisterState:
        """The number that is expected next: see `IFiscalChannel`."""
        return numbered_from(state, await self.first_number())

    def key_days_left(self) -> int | None:
        """Whole days until the key ends; `None` while none is known."""
        return self._key.days_left()

    async def check(self) -> None:
        """Ask the server for the state of the register: see `IFiscalChannel`.

        :raises Refused: when there is no key, no connection, or the server does not know the register.
        """
        if await self._state() is None:
            raise Refused(Res.TAX_SERVICE_UNKNOWN_REGISTER)


def _read_document(sent: bytes) -> XmlDocument:
    """The document in our signed bytes.

    :raises Refused: 1069 when they cannot be read: they were damaged in the store.
    """
    try:
        return _document_of(read(sent).content or b"")
    except CryptoError as error:
        raise _unreadable(error) from error


def _document_of(content: bytes) -> XmlDocument:
    """The document in its XML; raises as `_read_document`."""
    try:
        return decode(content)
    except DocumentError as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> Refused:
    return Refused(Res.SIGNING_FAILED, wording(f"the stored document cannot be read ({error})"))


def _revokes(document: XmlDocument) -> bool:
    return isinstance(document, Check) and bool(document.checkhead.revokelastonlinedoc)


def _same_guid(one: XmlDocument, other: XmlDocument) -> bool:
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


async def _objects(server: FiscalServer) -> list[OutletRecord]:
    asked = await server.objects()
    if isinstance(asked, Answered):
        return [_outlet_record(found) for found in asked.value.tax_objects]
    if isinstance(asked, Nothing):
        # The key is not registered yet.
        return []
    raise _unanswered(asked)


async def _has_open_shift(server: FiscalServer, number: str) -> bool:
    asked = await server.state(int(number))
    return isinstance(asked, Answered) and text_of(asked.value.shift_state) == "1"


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


def _away(asked: Nothing | verdicts.Refused | Lost) -> Away:
    """The refusal of what was not sent, because the query before it has no result."""
    if isinstance(asked, Malformed):
        return Away(wording(asked.why), Res.TAX_SERVICE_ERROR)
    return Away(wording(_why(asked)))


def _unanswered(asked: Nothing | verdicts.Refused | Lost) -> Refused:
    """The refusal for a query without a result: nothing was done, so a repeat is safe."""
    if isinstance(asked, verdicts.Refused):
        return refusal_of(asked)
    if isinstance(asked, NotSent | Malformed):
        return _away(asked)
    return Refused(Res.TAX_SERVICE_UNAVAILABLE, aq_errortxt=wording(_why(asked)))
