"""The channel of a training register: the simulated tax service in the same process, with its scenario."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from dmtwisted.clock import kyiv, stamp14
from dmtwisted.documents.documents import Document
from dmtwisted.registers.channels.interface import (
    Absent,
    Accepted,
    Away,
    ChannelOutcome,
    IFiscalChannel,
    Rejected,
    Unchained,
    Unknown,
    numbered_from,
    unreachable,
)
from dmtwisted.registers.channels.protocol_a import refusal_by_code, refusal_by_words
from dmtwisted.registers.totals import RegisterState, Session
from dmtwisted.results import Refused, Res, Text
from dmtwisted.wording import wording
from protocols.fiscal.error_codes import Code
from protocols.simulators.scenario import FAILED_QUESTIONS, Rule, Then, fails_questions
from protocols.simulators.tax_service import DESK, OK, Paper, TaxService, Ticket

PACKAGE = "package"
"""The operation of submitting offline documents; no rule names it, so only rules for `any` apply."""

NO_SESSION = "no_session"
"""``code`` of a rule: the opening is accepted without an offline session."""

LAST_OF_PROTOCOL_A = 13
"""Error codes up to here are protocol A's; greater ones are codes of docs/result-codes.md."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Paper).decode


@implementer(IFiscalChannel)
class TrainingChannel(Unchained):
    """The way to a simulated tax service.

    :param patience: seconds to wait for an answer before the outcome counts as unknown.
    :param key_valid_to: last day, ``YYYY-MM-DD``, of a signing key that does not exist.
    """

    remote = unverified = renews = False
    dtype = 0
    desk = DESK

    def __init__(self, service: TaxService, clock: IReactorTime, patience: float, key_valid_to: str = "") -> None:
        self._service, self._clock, self._patience = service, clock, patience
        self._key_valid_to = key_valid_to
        # The last document that was prepared, which is submitted next almost always.
        self._made: tuple[bytes, Paper] | None = None

    async def prepare(self, document: Document) -> bytes:
        """The document as the simulated service reads it; nothing is signed here."""
        paper = Paper(
            register=document.header.fisid,
            kind=document.kind,
            number=document.number,
            sum=document.total,
            dt=stamp14(document.at),
            reverses=document.reverses.fiscal_number if document.reverses is not None else "",
            offline=document.offline.number if document.offline is not None else "",
            hash=document.offline.hash if document.offline is not None else "",
            has_total=document.has_total,
        )
        sent = _encode(paper)
        self._made = sent, paper
        return sent

    def left_out(self, document: Document) -> list[Text]:
        """Nothing: the simulated tax service takes our own documents."""
        return []

    async def again(self, document: Document, sent: bytes) -> bytes:
        """The document with its new time: see `IFiscalChannel`."""
        return await self.prepare(document)

    async def submit(self, document: Document, sent: bytes) -> ChannelOutcome:
        """Submit the document, with the effect of the scenario's next rule."""
        made = self._made
        paper = made[1] if made is not None and made[0] is sent else _decode(sent)
        rule = self._service.scenario.take(paper.kind)
        if rule is None:
            return _outcome(self._service.submit(paper), paper.kind)
        return await self._by_rule(
            rule, paper.kind, lambda: self._service.submit(paper), lambda code: self._service.refuse(paper, code)
        )

    async def answers(self) -> bool:
        """Always, unless a rule for `probe` says otherwise."""
        rule = self._service.scenario.take("probe")
        if rule is None or rule.then is Then.ACCEPT:
            return True
        await self._pause(self._patience if rule.then is Then.SILENT else rule.delay_ms / 1000)
        return False

    async def greet(self) -> None:
        """As the scenario says, which loses no rule by it: see `IFiscalChannel`."""
        rule = self._service.scenario.coming("probe", "any")
        if rule is not None and fails_questions(rule):
            raise Away(wording(FAILED_QUESTIONS[rule.then]))

    async def upload(self, package: list[bytes], session: Session) -> ChannelOutcome:
        """Submit offline documents; a rule for `any` applies to the whole package."""
        rule = self._service.scenario.take(PACKAGE)
        if rule is None:
            return _outcome(self._service.take_package(package), PACKAGE)
        return await self._by_rule(rule, PACKAGE, lambda: self._service.take_package(package), Ticket)

    def key_days_left(self) -> int | None:
        """Days until the day that the settings name."""
        if not self._key_valid_to:
            return None
        last = date.fromisoformat(self._key_valid_to)
        return (last - kyiv(int(self._clock.seconds() * 1000)).date()).days

    async def _by_rule(
        self, rule: Rule, operation: str, take: Callable[[], Ticket], refuse: Callable[[int], Ticket]
    ) -> ChannelOutcome:
        """The outcome of what is handed over, with the effect of ``rule``."""
        if rule.then is Then.UNREACHABLE:
            await self._pause(rule.delay_ms / 1000)
            return unreachable(wording("connection refused"))
        if rule.then is Then.REFUSE:
            return await self._answered(rule, _refusal(rule, refuse))
        if rule.then is Then.LOST_BEFORE:
            await self._pause(rule.delay_ms / 1000)
            return Unknown("the line broke after the document was sent")
        if rule.then is Then.SILENT:
            await self._pause(self._patience)
            return Unknown(f"no answer in {self._patience:g} s")
        ticket = take()
        if rule.code == NO_SESSION:
            ticket = msgspec.structs.replace(ticket, session="")
        if rule.then is Then.ACCEPT:
            return await self._answered(rule, _outcome(ticket, operation))
        await self._pause(rule.delay_ms / 1000)
        if rule.then is Then.GARBAGE:
            return Unknown("the answer cannot be read")
        return Unknown("the line broke before the answer came")

    async def probe(self, number: int, sent: bytes) -> Accepted | Absent | Unknown:
        """Look the number up in the ledger, unless a rule for `probe` says otherwise."""
        rule = self._service.scenario.take("probe")
        if rule is not None:
            silent = rule.then is Then.SILENT or rule.delay_ms / 1000 > self._patience
            await self._pause(self._patience if silent else rule.delay_ms / 1000)
            if silent or rule.then is not Then.ACCEPT:
                return Unknown(f"the question after document {number} was not answered")
        ticket = self._service.look_up(number)
        return Absent() if ticket is None else _accepted(ticket)

    async def first_number(self) -> int:
        """The number after the last one in the ledger, unless a rule for `probe` says otherwise."""
        if not await self.answers():
            raise Away(wording("the question after the next number was not answered"))
        return self._service.next_number

    async def beginning(self, state: RegisterState) -> RegisterState:
        """The number that is expected next: see `IFiscalChannel`."""
        return numbered_from(state, await self.first_number())

    async def check(self) -> None:
        """As its scenario says: see `greet`."""
        await self.greet()

    async def _answered(self, rule: Rule, outcome: ChannelOutcome) -> ChannelOutcome:
        """``outcome``, unless its answer takes too long."""
        if rule.delay_ms / 1000 > self._patience:
            await self._pause(self._patience)
            return Unknown(f"no answer in {self._patience:g} s")
        await self._pause(rule.delay_ms / 1000)
        return outcome

    async def _pause(self, seconds: float) -> None:
        """Wait, but never longer than for a real answer."""
        if seconds > 0:
            over: Deferred[None] = Deferred()
            self._clock.callLater(min(seconds, self._patience), over.callback, None)
            await over


def _outcome(ticket: Ticket, kind: str) -> ChannelOutcome:
    if ticket.code != OK:
        return Rejected(refusal_by_words(ticket.code, ticket.text, kind))
    return _accepted(ticket)


def _accepted(ticket: Ticket) -> Accepted:
    return Accepted(ticket.number, Session(ticket.session, ticket.seed) if ticket.session else None)


def _refusal(rule: Rule, refuse: Callable[[int], Ticket]) -> Rejected:
    """A refusal by protocol A's code, or by a number of the catalogue for what that protocol has no code for."""
    named = str(rule.code)
    code = int(named) if named.isascii() and named.isdigit() else int(Code.DOCUMENT_VALIDATION_ERROR)
    ticket = refuse(code)
    if code <= LAST_OF_PROTOCOL_A:
        return Rejected(refusal_by_code(ticket.code, ticket.text))
    try:
        return Rejected(Refused(Res.by_code(code)))
    except KeyError:
        return Rejected(Refused(Res.TAX_SERVICE_ERROR, aq_errortxt=named))
