"""The channel of a training register: the simulated tax service in process, with its scenario (design 8)."""

from __future__ import annotations

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from dmtwisted.clock import stamp14
from dmtwisted.registers.channels.interface import (
    Absent,
    Accepted,
    IFiscalChannel,
    Outcome,
    Rejected,
    Unknown,
    unreachable,
)
from dmtwisted.registers.channels.protocol_a import rejection
from dmtwisted.registers.documents import Document
from dmtwisted.results import Refused, Res
from protocols.simulators.scenario import Rule, Then
from protocols.simulators.tax_service import OK, Paper, TaxService, Ticket

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Paper).decode


@implementer(IFiscalChannel)
class TrainingChannel:
    """The way to a tax service that is not there.

    :param patience: seconds to wait for an answer before the outcome counts as unknown.
    """

    dtype = 0

    def __init__(self, service: TaxService, clock: IReactorTime, patience: float) -> None:
        self._service, self._clock, self._patience = service, clock, patience

    async def prepare(self, document: Document) -> bytes:
        """The document as the simulated service reads it; nothing is signed here."""
        return _encode(
            Paper(document.header.fisid, document.kind, document.number, document.sum, stamp14(document.at))
        )

    async def submit(self, document: Document, sent: bytes) -> Outcome:
        """Hand the paper over, as the next rule of the scenario wants it."""
        paper = _decode(sent)
        rule = self._service.scenario.take(paper.kind)
        if rule is None:
            return _outcome(self._service.submit(paper))
        if rule.then is Then.UNREACHABLE:
            await self._pause(rule.delay_ms / 1000)
            return unreachable("connection refused")
        if rule.then is Then.REFUSE:
            refused = _refuse(self._service, paper, rule)
            return await self._answered(rule, refused)
        if rule.then is Then.LOST_BEFORE:
            await self._pause(rule.delay_ms / 1000)
            return Unknown("the line broke after the document was sent")
        if rule.then is Then.SILENT:
            await self._pause(self._patience)
            return Unknown(f"no answer in {self._patience:g} s")
        ticket = self._service.submit(paper)
        if rule.then is Then.ACCEPT:
            return await self._answered(rule, _outcome(ticket))
        await self._pause(rule.delay_ms / 1000)
        if rule.then is Then.GARBAGE:
            return Unknown("the answer cannot be read")
        return Unknown("the line broke before the answer came")

    async def probe(self, number: int) -> Accepted | Absent | Unknown:
        """Look the number up in the ledger, unless a rule for `probe` stands in the way."""
        rule = self._service.scenario.take("probe")
        if rule is not None:
            silent = rule.then is Then.SILENT
            await self._pause(self._patience if silent else rule.delay_ms / 1000)
            if rule.then is not Then.ACCEPT:
                return Unknown(f"the question after document {number} was not answered")
        ticket = self._service.look_up(number)
        return Absent() if ticket is None else Accepted(ticket.number)

    async def check(self) -> None:
        """Nothing can be in the way of a service in the same process."""

    async def _answered(self, rule: Rule, outcome: Outcome) -> Outcome:
        """``outcome``, unless its answer takes longer than anybody waits."""
        if rule.delay_ms / 1000 > self._patience:
            await self._pause(self._patience)
            return Unknown(f"no answer in {self._patience:g} s")
        await self._pause(rule.delay_ms / 1000)
        return outcome

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            over: Deferred[None] = Deferred()
            self._clock.callLater(seconds, over.callback, None)
            await over


def _outcome(ticket: Ticket) -> Outcome:
    return Accepted(ticket.number) if ticket.code == OK else Rejected(rejection(ticket.code, ticket.text))


def _refuse(service: TaxService, paper: Paper, rule: Rule) -> Rejected:
    """A refusal by protocol A's code, or by a number of the catalogue for what that protocol has no code for."""
    code = int(rule.code) if rule.code.isascii() and rule.code.isdigit() else 9
    ticket = service.refuse(paper, code)
    if code > 13:
        try:
            return Rejected(Refused(Res.by_code(code)))
        except KeyError:
            return Rejected(Refused(Res.TAX_SERVICE_ERROR, aq_errortxt=rule.code))
    return Rejected(rejection(ticket.code, ticket.text))
