"""The channel to the server of the tax service's cabinet, protocol B: docs/reference/tax-cabinet.md.

Every document names the hash of the one before, online too, and the server knows which document it has last. So what
became of a lost answer is found out by that one document: it is ours, or the one before ours, or a stranger's.

`prepare` signs a document in a thread; these exact bytes are stored before they leave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec
from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.clock import ServiceClock, day_of
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document, Header
from dmtwisted.registers.channels.breaker import CallBreaker
from dmtwisted.registers.channels.cabinet_documents import left_out, written
from dmtwisted.registers.channels.cabinet_refusals import code_of, refusal_of, tip_in
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
    Unknown,
    unreachable,
)
from dmtwisted.registers.channels.tax_documents import Desk, Outlet
from dmtwisted.registers.terms import Terms
from dmtwisted.registers.totals import RegisterState, Session
from dmtwisted.results import Refused, Res, Text, joined
from dmtwisted.wording import wording
from protocols.fiscal import verdicts
from protocols.fiscal.cabinet.client import CabinetServer
from protocols.fiscal.cabinet.documents import RQ, C, decode, mac_of
from protocols.fiscal.cabinet.documents import Kind as Type
from protocols.fiscal.cabinet.documents_service import SERVICE, USUAL_SIZE, decode_numbers
from protocols.fiscal.cabinet.documents_z import Z
from protocols.fiscal.cabinet.messages import Check, CheckResponse, CheckType, RroInfoResponse, Status
from protocols.fiscal.schema import DocumentError
from protocols.fiscal.signatures import Open, Sign, Signed, WrongSignature
from protocols.fiscal.verdicts import Answered, Lost, Malformed, NotSent

if TYPE_CHECKING:
    # They load the cryptography, which a training register does without.
    from dmtwisted.registers.channels.known_outlet import KnownOutlet
    from dmtwisted.registers.channels.time_stamps import TimeStamps

WRONG_CLOCK_S = 1800.0
"""Seconds between our clock and the server's from which documents are refused with 1121."""

TRIES = 3
"""How often a document is sent that the server could not save."""

AT_ONCE = 5
"""Documents made offline that are handed in while tasks wait; each takes a call of its own."""

STOCK = 500
"""Offline numbers to have in stock (*ours*); a server that refuses so many is asked for the usual 150."""

TOO_MANY = frozenset({Status.ERROR_TYPE, Status.ERROR_XML, Status.ERROR_XML_CHK})
"""Statuses that may say that more numbers were asked for than the server gives."""

REGISTERED = 1
"""``status_rro`` of a register that may be used."""

MAY_HAVE_ARRIVED = frozenset({Status.ERROR_CHECK, Status.ERROR_NOT_OPEN_SHIFT})
"""Statuses of a Z-report that closed the shift already, when it is sent once more."""


@dataclass(frozen=True)
class CabinetRegister:
    """One register as its settings describe it.

    :param number: its fiscal number, empty when the settings have none. :param local: its number within the outlet.
    :param testing: whether its documents are tests, which the server does not have.
    :param terms: gives its tax groups and payment types, as they are valid for its shift.
    :param marks_gs: stands for the separator of excise marks.
    :param dtype: 1 when documents are fiscal, 0 when they are for training.
    """

    number: str
    local: int
    testing: bool
    terms: Callable[[], Terms]
    marks_gs: str = ""
    dtype: int = 1


class Key(Protocol):
    """What the channel needs of a key (`dmtwisted.registers.keys.ISigningKey`)."""

    @property
    def subject(self) -> str:
        """Whom the certificate names."""

    async def ready(self) -> None:
        """See that there is a key that can sign."""

    async def sign(self, content: Callable[[], bytes]) -> bytes:
        """What ``content`` makes, signed."""

    def allow(self, document: Document) -> None:
        """See that ``document`` may be signed in its shift."""

    def days_left(self) -> int | None:
        """Whole days for which the key is still valid."""

    def describe(self, warn_days: int) -> dict[str, object] | None:
        """The key, by ``key_id`` among others."""


class Signatures(NamedTuple):
    """How messages are opened.

    :param open: verifies what the server signed. :param content: returns the content of what we signed.
    :param unverified: whether the server's answers count whoever signed them.
    :param remote: whether there is a link that can break.
    """

    open: Open
    content: Callable[[bytes], bytes]
    unverified: Callable[[], bool]
    remote: bool = True


class _Tip(NamedTuple):
    """The last document of the server; all empty when it has none."""

    hash: str = ""
    number: str = ""
    content: bytes = b""


@implementer(IFiscalChannel)
class CabinetChannel:
    """The way of one register to the cabinet's server.

    :param call: makes the calls; may be given a pause. :param patience: seconds for a call.
    :param outlet: who issues the documents, where the settings do not say.
    :param stamps: gives time stamps to online documents; `None`: they have none.
    """

    log = Logger()
    renews = closes = False
    batch = AT_ONCE
    revocable = frozenset({documents.SALE})
    """Only a sale can be deleted there."""

    def __init__(
        self,
        register: CabinetRegister,
        key: Key,
        call: CallBreaker,
        patience: float,
        signatures: Signatures,
        clock: ServiceClock,
        outlet: KnownOutlet | None = None,
        stamps: TimeStamps | None = None,
    ) -> None:
        self._register, self._key, self._clock, self._signatures = register, key, clock, signatures
        self._known_outlet, self._stamps = outlet, stamps
        self._call, self._patience = call, patience
        self._server = CabinetServer(call, self._sign_number, patience)
        self._greeted = CabinetServer(call.greet, self._sign_number, patience)
        # The message that was signed last and its XML: it is the next one to leave, and taking it apart takes time.
        self._last_signed = (b"", b"")
        # The register's number, signed: by which key and on which day, and the message.
        self._number_signed = (("", ""), b"")
        # The hash of the last document that the server is known to have; `None` while that is doubtful.
        self._tip: str | None = None
        # Seconds that the server's clock is ahead of ours, as its last signature says; `None` when it says nothing.
        self._skew: float | None = None
        self.reserves = STOCK
        self.desk = str(register.local)
        self.dtype, self.remote = register.dtype, signatures.remote

    @property
    def unverified(self) -> bool:
        """Whether answers count whoever signed them: see `IFiscalChannel`."""
        return self._signatures.unverified()

    # Signing

    async def prepare(self, document: Document) -> bytes:
        """The document as XML, signed: see `IFiscalChannel`.

        :raises Refused: 1093 without a fiscal number, 1094, 1095 or 1124 as the key is, 1121 when the clocks differ,
            1069 when it cannot be signed, 1050 while the register's numbers are not known, and as `written` refuses.
        """
        await self._ready()
        if document.place is None:
            # The next task asks again.
            await self.beginning(RegisterState())
            raise Away(wording("the register's numbers are not known yet"))
        self._key.allow(document)
        if document.offline is None:
            await self._check_clock()
        outlet = await self._outlet_of(document.header, offline=document.offline is not None)
        register, terms = self._register, self._register.terms()
        desk = Desk(
            number=int(register.number),
            local=register.local,
            testing=register.testing,
            outlet=outlet,
            cashier=self._key.subject,
            groups=terms.groups,
            payments=terms.payments,
            marks_gs=register.marks_gs,
        )
        made = b""

        def content() -> bytes:
            nonlocal made
            made = written(document, desk, self.reserves)
            return made

        sent = await self._key.sign(content)
        if self._stamps is not None and document.offline is None:
            sent = await self._stamps.stamped(sent)
        self._last_signed = sent, made
        return sent

    def left_out(self, document: Document) -> list[Text]:
        """What the XML of the document lacks: see `IFiscalChannel`."""
        return list(left_out(document, int(self._register.number or 0), self._register.terms().groups))

    async def again(self, document: Document, sent: bytes) -> bytes:
        """The document with its new time, signed: see `IFiscalChannel`."""
        return await self.prepare(document)

    async def _ready(self) -> None:
        if not self._register.number:
            raise Refused(Res.FISCAL_NUMBER_EMPTY)
        await self._key.ready()

    async def _sign_number(self, number: bytes) -> bytes:
        """The register's number, signed with this key on this day: signing it for each question would take time."""
        await self._ready()
        known = self._key.describe(0) or {}
        which = (str(known.get("key_id", "")), day_of(self._clock.now()))
        if self._number_signed[0] != which:
            self._number_signed = which, await self._key.sign(lambda: number)
        return self._number_signed[1]

    async def _outlet_of(self, header: Header, offline: bool) -> Outlet:
        """Who issues the document: as the settings say, and for the rest as the server registered it."""
        known = Outlet(tin="")
        if self._known_outlet is not None and not header.fis_code:
            known = await self._known_outlet.outlet(self._ask_outlet, offline)
        return Outlet(
            tin=header.fis_code or known.tin,
            ipn=header.vat_code or ("" if header.fis_code else known.ipn),
            org_name=header.name or known.org_name,
            point_name=header.shopname or known.point_name,
            address=header.shopad or known.address,
        )

    async def _ask_outlet(self) -> Outlet:
        return _outlet(await self.info())

    async def info(self, sign: Sign | None = None) -> RroInfoResponse:
        """The registration of the register.

        :param sign: signs with another key.
        :raises Refused: as the server refuses, 1050 or 1084 when it does not answer.
        """
        if not self._register.number:
            raise Refused(Res.FISCAL_NUMBER_EMPTY)
        server = self._server if sign is None else CabinetServer(self._call, sign, self._patience)
        asked = await server.info(self._register.number)
        if isinstance(asked, Answered):
            return asked.value
        raise _unanswered(asked)

    async def tax_objects(self) -> list[OutletRecord]:
        """The outlet of this register, as the server has it: it has no question after others.

        :raises Refused: as `info` does.
        """
        return [_outlet_record(await self.info(), self._register.number)]

    async def said_of(self, sign: Sign) -> SaidOfKey:
        """What the server says of another key, with which ``sign`` signs; nothing is changed there."""
        try:
            info = await self.info(sign)
        except Refused as refused:
            return SaidOfKey([], refused=refused)
        is_open = frozenset({self._register.number}) if info.open_shift else frozenset[str]()
        return SaidOfKey([_outlet_record(info, self._register.number)], is_open)

    # The chain

    def link(self, sent: bytes) -> str:
        """The hash of the XML in ``sent``: see `IFiscalChannel`."""
        return mac_of(self._xml_in(sent))

    def before(self, sent: bytes) -> str:
        """The hash that ``sent`` names: see `IFiscalChannel`."""
        mac = _document_of(self._xml_in(sent)).mac
        return mac.text.strip().lower() if mac is not None else ""

    def _xml_in(self, sent: bytes) -> bytes:
        message, content = self._last_signed
        return content if message == sent else self._signatures.content(sent)

    async def _last(self) -> _Tip | verdicts.Refused | Lost:
        """The last document of the server."""
        asked = await self._server.last(self._register.number)
        if not isinstance(asked, Answered):
            return asked
        answer = asked.value
        if not answer.data_sign:
            return _Tip() if not answer.id else verdicts.Unknown("the answer has no document")
        try:
            content = (await self._opened(answer.data_sign)).content
        except WrongSignature as error:
            return verdicts.Unknown(f"the answer's signature is wrong ({error})")
        return _Tip(mac_of(content), answer.id, content)

    async def _opened(self, message: bytes) -> Signed:
        signed = await self._clock.aside(self._signatures.open, message)
        if signed.at is not None:
            self._skew = (signed.at - datetime.fromtimestamp(self._clock.seconds(), UTC)).total_seconds()
        return signed

    async def tip(self) -> str:
        """The hash of the server's last document: see `IFiscalChannel`."""
        self._tip = (await self._known_last()).hash
        return self._tip

    async def _known_last(self) -> _Tip:
        await self._ready()
        last = await self._last()
        if isinstance(last, _Tip):
            return last
        raise _unanswered(last)

    async def first_number(self) -> int:
        """The local number after that of the server's last document."""
        last = await self._known_last()
        return _document_of(last.content).dat.di + 1 if last.content else 1

    async def beginning(self, state: RegisterState) -> RegisterState:
        """Go on after the server's last document, if that is a Z-report: see `IFiscalChannel`.

        :raises Refused: 1100 when another program has left a shift open there, or anything else after its Z.
        """
        last = await self._known_last()
        if not last.content:
            return msgspec.structs.replace(state, local=1, chain="", z_number=0, session=None)
        document = _document_of(last.content)
        if not isinstance(document.dat.content, Z):
            raise Refused(Res.SHIFT_MUST_BE_CLOSED, note=USED_BEFORE)
        return msgspec.structs.replace(
            state, local=document.dat.di + 1, chain=last.hash, z_number=document.dat.content.no, session=None
        )

    # Documents

    async def submit(self, document: Document, sent: bytes) -> ChannelOutcome:
        """Hand in ``sent``: see `IFiscalChannel`."""
        try:
            return await self._submit(sent)
        except Refused as damaged:
            return Rejected(damaged)

    async def _submit(self, sent: bytes) -> ChannelOutcome:
        """Hand in ``sent``.

        :raises Refused: 1069 when it cannot be read.
        """
        document = _document_of(self._xml_in(sent))
        check = self._check_of(document, sent)
        verdict = await self._server.send(check)
        for _ in range(TRIES - 1):
            if not (isinstance(verdict, verdicts.Refused) and verdict.code == Status.ERROR_SAVE):
                break
            verdict = await self._server.send(check)
        self._tip = None
        if isinstance(verdict, Answered):
            outcome = await self._accepted(verdict.value, document)
            if isinstance(outcome, Accepted):
                self._tip = self.link(sent)
            return outcome
        if isinstance(verdict, NotSent):
            return unreachable(wording(verdict.why))
        if isinstance(verdict, verdicts.Unknown):
            return Unknown(verdict.why)
        return await self._refused(verdict, document, sent)

    async def _refused(self, verdict: verdicts.Refused, document: RQ, sent: bytes) -> ChannelOutcome:
        """What a refusal of the server comes to."""
        if verdict.code == Status.ERROR_UNKNOWN:
            # It may have come after the document was taken.
            return Unknown(verdict.text or "the server reports an unknown error")
        is_z = isinstance(document.dat.content, Z)
        doubtful = verdict.code == Status.ERROR_SAVE or (is_z and verdict.code in MAY_HAVE_ARRIVED)
        if doubtful or tip_in(verdict) == self.link(sent):
            # An earlier copy of the same bytes may have arrived.
            found = await self.probe(0, sent)
            if isinstance(found, Accepted) or (isinstance(found, Unknown) and not is_z):
                return found
        refused = refusal_of(verdict)
        if verdict.code == Status.ERROR_XML_DATE and abs(await self.ahead() or 0.0) >= WRONG_CLOCK_S:
            refused = Refused(Res.CLOCK_DIFFERS, note=refused.note, aq_errortxt=refused.aq_errortxt)
        if verdict.code == Status.ERROR_BAD_HASH_PREV:
            note = joined(code_of(verdict), OTHER_PROGRAM, separator="; ")
            refused = Refused(refused.res, note=note, aq_errortxt=refused.aq_errortxt)
        asks = isinstance(document.dat.content, C) and document.dat.content.t == Type.NUMBERS
        if asks and verdict.code in TOO_MANY:
            self.reserves = USUAL_SIZE
        return Rejected(refused)

    async def _accepted(self, answer: CheckResponse, document: RQ) -> Accepted | Unknown:
        """The acceptance that an answer contains, if the server signed it."""
        try:
            number = (await self._opened(answer.id_sign)).content.decode("utf-8", "replace").strip()
            if not answer.id or number != answer.id:
                return Unknown(f"the signed number is {number!r}, not {answer.id!r}")
            if not answer.data_sign:
                return Accepted(answer.id)
            given = (await self._opened(answer.data_sign)).content
        except WrongSignature as error:
            return Unknown(f"the answer's signature is wrong ({error})")
        content = document.dat.content
        if not (isinstance(content, C) and content.t == Type.NUMBERS):
            return Accepted(answer.id)
        try:
            return Accepted(answer.id, Session("", "", decode_numbers(given)))
        except DocumentError as error:
            # The document is taken, so it counts; the numbers are asked for once more.
            self.log.error("{register}: no offline numbers: {why}", register=self._register.number, why=str(error))
            return Accepted(answer.id)

    def _check_of(self, document: RQ, sent: bytes) -> Check:
        dat, mac = document.dat, document.mac
        return Check(
            rro_fn=self._register.number,
            date_time=int(f"{dat.ts:%Y%m%d%H%M%S}"),
            check_sign=sent,
            local_number=dat.di,
            check_type=_check_type(dat.content),
            id_offline=(mac.id or "") if mac is not None else "",
        )

    async def probe(self, number: int, sent: bytes) -> Accepted | Absent | Unknown:
        """What became of ``sent``: see `IFiscalChannel`; the server's last document says it."""
        last = await self._last()
        if not isinstance(last, _Tip):
            return Unknown(wording(_why(last)))
        self._tip = last.hash
        if last.hash == self.link(sent):
            return Accepted(last.number)
        if last.hash == self.before(sent):
            return Absent()
        self.log.error("{register}: another document is the last one", register=self._register.number)
        return Unknown(f"the server's last document is another one: {last.number}", Res.COLLISION_UNSOLVABLE)

    async def right_to_withdraw(self) -> bytes:
        """The register's number, signed: see `IFiscalChannel`."""
        return await self._sign_number(self._register.number.encode("ascii"))

    async def withdraw(self, fiscal_number: str, right: bytes) -> None:
        """Delete the last document, a sale, if it has this number: see `IFiscalChannel`."""

        async def signed(number: bytes) -> bytes:
            return right or await self._sign_number(number)

        self._tip = None
        server = CabinetServer(self._call, signed, self._patience)
        asked = await server.delete(fiscal_number, self._register.number)
        if not isinstance(asked, Answered):
            raise _unanswered(asked)

    # Offline

    async def upload(self, package: list[bytes], session: Session) -> ChannelOutcome:
        """Submit documents that were made offline, one after another: see `IFiscalChannel`.

        The server is asked first which of them it has, unless that is known from the last one.
        """
        try:
            return await self._upload(package)
        except Refused as refused:
            # A document that cannot be read, or the key was removed.
            return Rejected(refused)

    async def _upload(self, package: list[bytes]) -> ChannelOutcome:
        there, outcome = 0, Accepted("")
        if self._tip is None or self._tip != self.before(package[0]):
            last = await self._last()
            if not isinstance(last, _Tip):
                # Nothing of them left.
                return Rejected(_unanswered(last))
            links = [self.link(sent) for sent in package]
            if last.hash in links:
                there, outcome = links.index(last.hash) + 1, Accepted(last.number)
            elif last.hash != self.before(package[0]):
                why = f"the server's last document is another one: {last.number}"
                return Rejected(Refused(Res.TAX_SERVICE_WRONG_HASH, note=OTHER_PROGRAM, aq_errortxt=wording(why)))
        for sent in package[there:]:
            found = await self._submit(sent)
            if not isinstance(found, Accepted):
                return found
            outcome = found
        return outcome

    # The key and the link

    async def answers(self) -> bool:
        """Whether the server returns the register's state: see `IFiscalChannel`.

        A refusal in its own words proves as well that it works.
        """
        try:
            asked = await self._server.status(self._register.number)
        except Refused:
            return False
        return isinstance(asked, Answered | verdicts.Refused)

    async def greet(self) -> None:
        """Whether the server returns the register's state, whatever pause lasts: see `IFiscalChannel`."""
        asked = await self._greeted.status(self._register.number)
        if isinstance(asked, Lost):
            raise _away(asked)

    async def ahead(self) -> float | None:
        """Seconds that the server's clock is ahead of ours; `None` when its signatures say nothing of it."""
        self._skew = None
        asked = await self._server.last(self._register.number)
        if isinstance(asked, Answered) and asked.value.id_sign:
            try:
                await self._opened(asked.value.id_sign)
            except WrongSignature:
                return None
        return self._skew

    async def _check_clock(self) -> None:
        """See that the server's clock agrees with ours, as far as it was said.

        :raises Refused: 1121 when they are half an hour apart.
        """
        if abs(self._skew or 0.0) >= WRONG_CLOCK_S and abs(await self.ahead() or 0.0) >= WRONG_CLOCK_S:
            raise Refused(Res.CLOCK_DIFFERS)

    def key_days_left(self) -> int | None:
        """Whole days until the key ends; `None` while none is known."""
        return self._key.days_left()

    async def check(self) -> None:
        """Ask the server for the registration: see `IFiscalChannel`.

        :raises Refused: when there is no key, no connection, or the server does not know the register.
        """
        await self._ready()
        await self.info()


USED_BEFORE = Text(
    "цією касою вже працювала інша програма: закрийте зміну (Z-звіт) у ній",
    "another program has used this register: close its shift (Z-report) there",
)

OTHER_PROGRAM = Text(
    "останній документ на сервері не наш: з’ясуйте, яка ще програма працює цією касою, і закрийте в ній зміну",
    "the server's last document is not ours: find out which other program uses this register, close its shift there",
)


def _document_of(content: bytes) -> RQ:
    """The document in its XML.

    :raises Refused: 1069 when it cannot be read: it was damaged in the store.
    """
    try:
        return decode(content)
    except DocumentError as error:
        raise Refused(Res.SIGNING_FAILED, wording(f"the stored document cannot be read ({error})")) from error


def _check_type(content: C | Z) -> CheckType:
    if isinstance(content, Z):
        return CheckType.ZREPORT
    return CheckType.SERVICECHK if content.t in SERVICE or content.t == Type.CASH else CheckType.CHK


def _outlet(info: RroInfoResponse) -> Outlet:
    return Outlet(
        tin=info.tins, ipn=info.pn, org_name=info.name_pay or info.name, point_name=info.name_to, address=info.addr
    )


def _outlet_record(info: RroInfoResponse, number: str) -> OutletRecord:
    return OutletRecord(
        name=info.name_to,
        address=info.addr,
        tin=info.tins,
        ipn=info.pn,
        org_name=info.name_pay or info.name,
        single_tax=info.single_tax,
        chief_cashier=False,
        registers=[OutletRegister(number, info.lnum, info.name, info.status_rro != REGISTERED)],
    )


def _why(asked: verdicts.Refused | Lost) -> str:
    return f"{asked.code}: {asked.text}" if isinstance(asked, verdicts.Refused) else asked.why


def _away(asked: Lost) -> Away:
    """The refusal of what was not sent, because the query before it has no result."""
    if isinstance(asked, Malformed):
        return Away(wording(asked.why), Res.TAX_SERVICE_ERROR)
    return Away(wording(asked.why))


def _unanswered(asked: verdicts.Refused | Lost) -> Refused:
    """The refusal for a query without a result: nothing was done, so a repeat is safe."""
    if isinstance(asked, verdicts.Refused):
        return refusal_of(asked)
    if isinstance(asked, NotSent | Malformed):
        return _away(asked)
    return Refused(Res.TAX_SERVICE_UNAVAILABLE, aq_errortxt=wording(asked.why))
