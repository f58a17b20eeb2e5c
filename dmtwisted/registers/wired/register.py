"""A hardware register: the engine of the software register with a machine in place of the tax service."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from dmtwisted.answers import Warning
from dmtwisted.devices.driver import Surroundings
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.registers.bookkeeping import Books, Submission, _After
from dmtwisted.registers.channels.interface import ChannelOutcome, Rejected
from dmtwisted.registers.engine import OPEN_COLLISIONS, SoftwareRegister
from dmtwisted.registers.interface import LAST_COPY, SERVICE_REPORT, STATUS, X_REPORT, Done
from dmtwisted.registers.mark_rules import service_of
from dmtwisted.registers.wired.channel import WiredChannel, drawer_in
from dmtwisted.registers.wired.differences import differences, told
from dmtwisted.registers.wired.interface import Figures, IMachine
from dmtwisted.registers.wired.refusals import NotNow, refusal
from dmtwisted.registers.wired.settings import WiredSettings
from dmtwisted.requests import FiscalRequest, TaskRequest
from dmtwisted.results import Action, Refused, Res, Text
from dmtwisted.store.values import DeviceRow, OperationRow
from protocols.errors import WireError

DAY_MS = 86_400_000

ASKS_S = 25.0
"""Seconds for which a machine is asked about a lost answer, from when it was lost."""


class WiredBooks(Books):
    """Books that are compared with those of a machine."""

    differing: tuple[Text, ...] = ()
    """Where the machine differed when it was looked at last."""
    due = True
    """Whether the next answer tells of it."""

    async def prepare(self, document: Document) -> Submission:
        """As any register's; a shift begins with the cash that is in the machine's drawer."""
        submission = await super().prepare(document)
        if document.kind == documents.OPEN:
            submission.document = msgspec.structs.replace(document, drawer=drawer_in(submission.sent))
        return submission

    async def _deliver(self, submission: Submission) -> ChannelOutcome:
        """As any register's; some machines do not say that a Z report is due after 24 hours."""
        outcome, document = await super()._deliver(submission), submission.document
        over = self.state.shift_open and document.at - self.state.opened_at >= DAY_MS
        if over and document.kind != documents.Z and isinstance(outcome, Rejected):
            refused = outcome.refused
            if isinstance(refused, NotNow):
                return Rejected(Refused(Res.SHIFT_MUST_BE_CLOSED, aq_errortxt=refused.words()))
        return outcome

    async def _completed(self, head: Document, after: _After) -> bytes:
        """As any register's; a shift begins with the machine's drawer, so what differed before it differs no more."""
        answer = await super()._completed(head, after)
        if head.kind == documents.OPEN:
            self.differing = ()
        return answer

    def warnings(self, language: str, kind: str = "") -> list[Warning]:
        """As of any register, and where the machine differs, where that is due."""
        found = super().warnings(language, kind)
        if self.differing and (self.due or kind in (documents.OPEN, documents.Z)):
            found.append(Warning.by(Refused(Res.MACHINE_DIFFERS, told(self.differing)), language))
        self.due = False
        return found


class WiredRegister(SoftwareRegister):
    """A register whose documents a machine makes."""

    _books: WiredBooks
    books_kind = WiredBooks

    def __init__(self, row: DeviceRow, settings: WiredSettings, around: Surroundings, machine: IMachine) -> None:
        self._machine, self._there = machine, settings
        self._way = WiredChannel(machine, settings, self._saw)
        super().__init__(
            *(row.n, row.name, settings.fiscal_number, settings, around.store, self._way, around.clock),
            marks=service_of(settings, around),
            posted=around.posted,
            ways=around.ways,
            asks_s=ASKS_S,
        )

    @property
    def differing(self) -> tuple[Text, ...]:
        """Where the machine differs: see `OnALine`."""
        return self._books.differing

    def _saw(self, figures: Figures) -> None:
        books = self._books
        if books.stored is not None:
            books.differing = tuple(differences(figures, books.state, self._there.forms_there))

    async def perform(self, request: TaskRequest, language: str) -> Done:
        """As any register, once it is known which machine it is."""
        if not self._fisid:
            # A document that needs the machine is refused below.
            with suppress(Refused):
                self._fisid = (await self._way.know()).fiscal_number
                self._calendar.name(self._fisid)
        return await super().perform(request, language)

    async def _settled(self, request: TaskRequest | None = None, fingerprint: bytes = b"") -> None:
        """As any register; as long as a person has to look, the tag may be repeated."""
        try:
            await super()._settled(request, fingerprint)
        except Refused as refused:
            if refused.res is Res.COLLISION_UNSOLVABLE:
                refused.action = Action.COLLISION
            raise

    async def _report(self, request: TaskRequest, fiscal: FiscalRequest, language: str) -> Done:
        """As any register; the machine prints reports and copies itself."""
        if fiscal.task not in (X_REPORT, STATUS, LAST_COPY, SERVICE_REPORT):
            return await super()._report(request, fiscal, language)
        if fiscal.task in (X_REPORT, STATUS):
            self._books.due = True
        try:
            await self.resolve()
            await self._way.look()
        except Refused:
            # The status is told anyway, and what is open stands in its way elsewhere.
            if fiscal.task != STATUS:
                raise
        done = await super()._report(request, fiscal, language)
        await self._print(fiscal)
        return done

    async def _print(self, fiscal: FiscalRequest) -> None:
        try:
            if fiscal.task == X_REPORT:
                await self._machine.x_report()
            elif fiscal.task == LAST_COPY:
                await self._machine.copy_last()
            elif fiscal.task == SERVICE_REPORT and not any(line.qr_type for line in fiscal.lines):
                await self._machine.print_text(tuple(line.t for line in fiscal.lines))
        except WireError as error:
            raise refusal(error, "x" if fiscal.task == X_REPORT else "") from error

    async def settle(self, row: OperationRow, made: bool) -> None:
        """Close an open operation as a person says: see `OnALine`."""
        open_ones = [found for found in await self._books.unresolved() if found.n == row.n]
        if not open_ones:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        self._books.stored = None
        try:
            return await self.resolve()
        except Refused as refused:
            if refused.res not in OPEN_COLLISIONS:
                raise
        self._way.said = {document.number: made for document in open_ones[0].documents}
        try:
            await self.resolve()
        finally:
            self._way.said = {}

    async def state(self) -> dict[str, object]:
        """As any register, which machine it is, and where it differs."""
        about = self._way.about
        return {
            **await super().state(),
            "model": "" if about is None else about.model,
            "serial": "" if about is None else about.serial,
            "machine_number": "" if about is None else about.fiscal_number,
            "firmware": "" if about is None else about.firmware,
            "differs": told(self._books.differing)._asdict() if self._books.differing else None,
        }

    async def let_go(self) -> None:
        """Close the line until its next use: see `OnALine`."""
        await self._machine.let_go()

    def close(self) -> None:
        """Close the line."""
        super().close()
        self._machine.close()
