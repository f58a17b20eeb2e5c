"""The software register: documents out of requests, made once, numbered without gap, never done twice.

The path of a receipt, and what happens if the power goes after each step:

1. the document is built and its bytes prepared; nothing is kept, nothing has happened;
2. the intent is stored, with the exact bytes and the local number: at the next start the far end is asked;
3. the document is submitted; as after step 2;
4. the outcome is stored together with the register's state, and only then the caller hears of it.

A document whose answer was lost is asked for by its number before the register does anything else. The far end
has it: it is completed and its stored answer serves the repeat. The far end never saw it: it is refused and its
number is free again, so a till that sells anew without a tag does not get a second receipt out of us.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import msgspec
from twisted.logger import Logger
from zope.interface import implementer

from dmtwisted.answers import Answer, Warning, amount, render, repeated
from dmtwisted.clock import ServiceClock, stamp17
from dmtwisted.registers import documents, infos, totals
from dmtwisted.registers.channels.interface import Absent, Accepted, IFiscalChannel, Rejected, Unknown
from dmtwisted.registers.channels.interface import Outcome as ChannelOutcome
from dmtwisted.registers.documents import Document, Header, Receipt
from dmtwisted.registers.drafting import LONGEST_OFFLINE, Drafting
from dmtwisted.registers.interface import NUMBER, STATUS, STORNO, TAGGED, Done, IRegister
from dmtwisted.registers.local import LocalTasks
from dmtwisted.registers.paper import DocumentPaper, with_forms
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.totals import RegisterState, Session
from dmtwisted.requests import FiscalRequest, ReceiptRequest, TaskRequest, malformed
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentIntent, DocumentQuery, Intent, OperationRow, Outcome, State

KIND, UNTAGGED = "fiscal", "untagged"
"""The kinds of a register's operations in the journal; those without a tag of the caller's have keys of our own."""

_fingerprint = msgspec.msgpack.Encoder().encode


@dataclass
class _Paper:
    """A document on its way: what it says, and the bytes that stand for it."""

    document: Document
    sent: bytes
    fiscal_number: str = ""
    session: Session | None = None


@implementer(IRegister)
class SoftwareRegister:
    """A register that is ours from the first sum to the last total; a channel takes its documents."""

    log = Logger()

    def __init__(
        self,
        device_n: int,
        name: str,
        fisid: str,
        settings: RegisterSettings,
        store: IStore,
        channel: IFiscalChannel,
        clock: ServiceClock,
    ) -> None:
        self._n, self._name, self._settings = device_n, name, settings
        self._store, self._channel, self._clock = store, channel, clock
        self._header = Header(
            fisid=fisid,
            name=settings.name,
            shopname=settings.shopname,
            shopad=settings.shopad,
            vat_code=settings.vat_code,
            fis_code=settings.fis_code,
            lines_up=settings.header,
            lines_down=settings.footer,
        )
        self._drafting = Drafting(name, settings, self._header, channel.dtype, channel.desk, clock)
        self._local = LocalTasks(device_n, self._header, channel.dtype, store, clock)
        # What the store holds; `None` when it must be read again because a write was not confirmed.
        self._stored: bytes | None = None
        self._state = RegisterState()
        self._sold: dict[str, int] = {}

    # What the rooms above ask

    async def perform(self, request: TaskRequest, language: str) -> Done:
        """Do one task: see `IRegister`."""
        done = await self._perform(request, language)
        return await with_forms(done, request.forms, self._settings, language, self._clock)

    async def look_up(self, request: TaskRequest) -> Done:
        """The stored answer of a tag: see `IRegister`."""
        await self.resolve()
        known = await self._known(request.tag)
        if known is None:
            raise Refused(Res.TAG_NOT_FOUND)
        done = self._again(known, repeated(known.answer))
        return await with_forms(done, request.forms, self._settings, "uk", self._clock)

    async def _perform(self, request: TaskRequest, language: str) -> Done:
        fiscal = request.fiscal
        if fiscal is None or fiscal.task is None:
            return await self._nameless(request)
        if fiscal.task in TAGGED or fiscal.task == STORNO:
            return await self._fiscalise(request, fiscal, language)
        if fiscal.task not in self._local:
            raise Refused(Res.UNKNOWN_FISCAL_TASK, fiscal.task)
        warnings = await self._resolve_for_reading(fiscal.task, language)
        info, form = await self._local.perform(request, fiscal, self._state)
        answer = render(
            Answer(
                source=request.source,
                device=request.device,
                tag=request.tag,
                task_status=1,
                type=request.type,
                task=request.task,
                dt=stamp17(self._clock.now()),
                warnings=warnings + self._warnings(language),
                info=info,
            )
        )
        return Done(answer, None if form is None else lambda: form)

    async def rehearse(self, request: TaskRequest) -> Receipt:
        """The receipt that a sale or return would make: see `IRegister`."""
        await self.resolve()
        draft = self._drafting.draft(request, self._state, self._sold)
        assert draft.receipt is not None
        return draft.receipt

    def owed(self, asked: ReceiptRequest) -> int:
        """What a receipt without its payments comes to: see `IRegister`."""
        return self._drafting.owed(asked)

    async def check_change(self, settings: RegisterSettings) -> None:
        """See that the settings may become ``settings`` now.

        :raises Refused: 1100 when batch mode would change during a shift (http-api 5).
        """
        stored = self._stored or await self._store.register_state(self._n)
        if settings.batch != self._settings.batch and stored and totals.decode(stored).shift_open:
            raise Refused(Res.SHIFT_MUST_BE_CLOSED)

    async def resolve(self) -> None:
        """Ask after every document whose outcome is unknown: see `IRegister`."""
        await self._settle(None, b"")

    async def _settle(self, request: TaskRequest | None, fingerprint: bytes) -> None:
        """Find out what became of everything unknown; nothing to do when nothing is.

        :raises Refused: 1080 when ``request`` reuses the tag of an open collision for something else, 1075 when
            the collision cannot be repaired now.
        """
        if self._stored is not None:
            return
        stored = await self._store.register_state(self._n)
        self._state = totals.decode(stored) if stored else await self._fresh()
        self._sold = await self._store.sold_codes(self._n, self._state.shift)
        unresolved = await self._unresolved()
        differs = request is not None and any(
            operation.key == request.tag and _says_else(operation, request, fingerprint) for operation in unresolved
        )
        try:
            for operation in unresolved:
                await self._find_out(operation)
        except Refused:
            if differs:
                raise Refused(Res.COLLISION_DIFFERS) from None
            raise
        # Only now: an exception on the way leaves the question open for the next task.
        self._stored = totals.encode(self._state)
        if differs:
            raise Refused(Res.COLLISION_DIFFERS)

    async def _fresh(self) -> RegisterState:
        """What a register remembers that never made a document here."""
        return RegisterState()

    async def _unresolved(self) -> list[OperationRow]:
        """Documents whose outcome is unknown; what others keep under this register is not ours to resolve."""
        found = await self._store.unresolved(self._n)
        return [operation for operation in found if operation.kind in (KIND, UNTAGGED)]

    async def check(self) -> None:
        """Try the way to the far end: see `IRegister`."""
        await self._channel.check()

    async def state(self) -> dict[str, object]:
        """How the register stands: see `IRegister`."""
        stored = self._stored or await self._store.register_state(self._n)
        state = totals.decode(stored) if stored else RegisterState()
        return {
            "fisid": self._header.fisid,
            "dtype": self._channel.dtype,
            "shift_status": int(state.shift_open),
            "shift": state.shift,
            "opened_at": state.opened_at,
            "online_status": int(state.offline is not None),
            "offline_since": state.offline.since if state.offline is not None else 0,
            "offline_numbers": state.offline_numbers_left,
            "collision": self._stored is None and bool(await self._unresolved()),
            "safe": amount(state.safe),
            "docno": state.last.number,
        }

    def close(self) -> None:
        """A software register holds nothing; its channel's far end is closed by the driver."""

    # Tasks without a document

    async def _nameless(self, request: TaskRequest) -> Done:
        """A body without ``fiscal.task``: a look-up when the tag is known, else incomplete."""
        await self.resolve()
        known = await self._known(request.tag)
        if known is not None:
            return self._again(known, repeated(known.answer))
        if request.fiscal is None:
            raise Refused(Res.MISSING_OBJECT, "fiscal")
        raise malformed("fiscal.task", "a task number is expected")

    async def _resolve_for_reading(self, task: int, language: str) -> list[Warning]:
        """Status and number are told even while a collision cannot be repaired; then with a warning."""
        try:
            await self.resolve()
        except Refused as refused:
            if task not in (STATUS, NUMBER) or refused.res is not Res.COLLISION_NOT_REPAIRED:
                raise
            return [Warning.of(refused.res, language)]
        return []

    # Tasks that make documents

    async def _fiscalise(self, request: TaskRequest, fiscal: FiscalRequest, language: str) -> Done:
        fingerprint = hashlib.blake2b(_fingerprint(fiscal), digest_size=16).digest()
        await self._settle(request, fingerprint)
        try:
            if fiscal.task == STORNO:
                draft = self._drafting.storno(request, self._state, await self._last_document())
            else:
                draft = self._drafting.draft(request, self._state, self._sold)
            papers = await self._papers(request, draft)
        except Refused:
            # A tag that is known is answered whatever the rest of the request says (http-api 2.20).
            known = await self._known(request.tag) if fiscal.task in TAGGED else None
            if known is None:
                raise
            return self._repeat(known, request, fingerprint, language)
        # A storno carries no tag: what it takes back is its key, so it cannot be done twice either.
        kind, key = (
            (KIND, request.tag) if fiscal.task in TAGGED else (UNTAGGED, f"storno of {self._state.last.number}")
        )
        done = await self._do(papers, kind, key, fingerprint, language)
        if isinstance(done, OperationRow):
            return self._repeat(done, request, fingerprint, language)
        return self._done(done, draft, papers[0].fiscal_number)

    async def _papers(self, request: TaskRequest, draft: Document) -> list[_Paper]:
        """``draft`` ready for the wire, after a Z with the closing of the shift."""
        papers = [await self._paper(draft)]
        if draft.kind == documents.Z:
            papers.append(await self._paper(self._drafting.closing(request, self._with(papers[0]))))
        return papers

    async def _paper(self, draft: Document) -> _Paper:
        return _Paper(draft, await self._channel.prepare(draft))

    def _with(self, paper: _Paper) -> RegisterState:
        """The register as it will be when ``paper`` has been accepted."""
        after = totals.decode(totals.encode(self._state))
        totals.apply(after, paper.document, "", paper.sent)
        return after

    async def _do(
        self, papers: list[_Paper], kind: str, key: str, fingerprint: bytes, language: str
    ) -> bytes | OperationRow:
        """Store the intent, hand the documents in, store the outcome: the answer, or who has the key already."""
        head = papers[0].document
        try:
            reserved = await self._store.reserve(
                Intent(
                    device_n=self._n,
                    kind=kind,
                    task=head.caller.task,
                    key=key,
                    fingerprint=fingerprint,
                    at=head.at,
                    documents=[
                        DocumentIntent(
                            number=paper.document.number,
                            kind=paper.document.kind,
                            shift=paper.document.shift,
                            at=paper.document.at,
                            sum=paper.document.sum,
                            value=documents.encode(paper.document),
                            sent=paper.sent,
                        )
                        for paper in papers
                    ],
                )
            )
            if reserved.known is not None:
                return reserved.known
            return await self._hand_in(reserved.n, papers, self._warnings(language))
        except Refused:
            raise
        except BaseException:
            # Nobody can say how far it came; the journal and the far end can.
            self._stored = None
            raise

    async def _deliver(self, paper: _Paper) -> ChannelOutcome:
        """Where a document goes: to the far end, or into the drawer of what was made offline."""
        if paper.document.kind == documents.OFFLINE_END:
            return await self._hand_in_offline(paper)
        if paper.document.offline is not None:
            return Accepted(paper.document.offline.number)
        return await self._channel.submit(paper.document, paper.sent)

    async def _hand_in_offline(self, end: _Paper) -> ChannelOutcome:
        """Hand in everything since the offline session began, with its end, package after package.

        Packages that arrived stay there when a later one does not: the far end passes over what it has, so the
        next try may begin anew (fiscal-server 7.3).
        """
        assert self._state.offline is not None
        outcome: ChannelOutcome = Unknown("nothing was sent")
        first = self._state.offline.first
        while True:
            waiting = await self._store.sent_documents(self._n, first, PACKAGE)
            package = [sent for _, sent in waiting]
            last = len(package) < PACKAGE
            outcome = await self._channel.upload([*package, end.sent] if last else package)
            if last or not isinstance(outcome, Accepted):
                return outcome
            first = waiting[-1][0] + 1

    async def _hand_in(self, n: int, papers: list[_Paper], warnings: list[Warning]) -> bytes:
        """Submit the documents of an operation in their order and store what became of it."""
        for index, paper in enumerate(papers):
            if paper.fiscal_number:
                continue
            outcome = await self._deliver(paper)
            if isinstance(outcome, Accepted):
                paper.fiscal_number, paper.session = outcome.fiscal_number, outcome.session
                if index + 1 < len(papers):
                    await self._store.accept_document(n, paper.document.number, outcome.fiscal_number)
            elif isinstance(outcome, Rejected) and index == 0:
                await self._conclude(n, State.REFUSED, outcome.refused.res.code)
                raise outcome.refused
            else:
                # The shift's closing after an accepted Z is due whatever came in between: it is tried again.
                why = outcome.why if isinstance(outcome, Unknown) else outcome.refused.errortxt("uk")
                self._stored = None
                await self._conclude(n, State.UNKNOWN, Res.TAX_SERVICE_UNAVAILABLE.code)
                self.log.warn(
                    "{device}: nobody knows what became of document {number}: {why}",
                    device=self._name,
                    number=paper.document.number,
                    why=why,
                )
                raise Refused(Res.TAX_SERVICE_UNAVAILABLE, action=Action.COLLISION, aq_errortxt=why)
        return await self._complete(n, papers, warnings)

    async def _complete(self, n: int, papers: list[_Paper], warnings: list[Warning]) -> bytes:
        """Take accepted documents into the state, store both with the answer, and return the answer."""
        after = totals.decode(self._stored or totals.encode(self._state))
        info = None
        for paper in papers:
            totals.apply(after, paper.document, paper.fiscal_number, paper.sent, paper.session)
            if paper is papers[0]:
                info = infos.document_info(paper.document, paper.fiscal_number, after)
        head = papers[0].document
        answer = render(
            Answer(
                source=head.caller.source,
                device=head.caller.device,
                tag=head.caller.tag,
                task_status=1,
                type=head.caller.type,
                task=head.caller.task,
                dt=stamp17(head.at),
                warnings=warnings,
                info=info,
            )
        )
        stored = totals.encode(after)
        sold = {} if head.kind != documents.SALE else self._newly_sold(head)
        await self._store.conclude(
            Outcome(
                n=n,
                device_n=self._n,
                state=State.DONE,
                at=self._clock.now(),
                res=0,
                answer=answer,
                fiscal_numbers={paper.document.number: paper.fiscal_number for paper in papers},
                register_state=stored,
                shift=head.shift,
                sold=sold,
            )
        )
        self._state, self._stored = after, stored
        self._sold = {} if head.kind == documents.OPEN else {**self._sold, **sold} if sold else self._sold
        return answer

    def _newly_sold(self, sale: Document) -> dict[str, int]:
        """The item codes that this shift had not sold before, with their tax groups (1111)."""
        assert sale.receipt is not None
        return {good.code: good.taxgrp for good in sale.receipt.goods if good.code and good.code not in self._sold}

    async def _last_document(self) -> Document | None:
        found = await self._store.find_documents(
            DocumentQuery(devices=[self._n], number=self._state.last_receipt, limit=1)
        )
        return documents.decode(found.documents[0].value) if found.documents else None

    async def _conclude(self, n: int, state: State, res: int) -> None:
        await self._store.conclude(
            Outcome(
                n=n,
                device_n=self._n,
                state=state,
                at=self._clock.now(),
                res=res,
                answer=b"",
                fiscal_numbers={},
                register_state=None,
            )
        )

    # What is known already

    async def _known(self, tag: str) -> OperationRow | None:
        return await self._store.find(self._n, KIND, tag) if tag else None

    def _repeat(self, known: OperationRow, request: TaskRequest, fingerprint: bytes, language: str) -> Done:
        """The earlier answer; with a warning when the request says something else than the earlier one."""
        warning = None
        if _says_else(known, request, fingerprint):
            if self._settings.strict_tags:
                raise Refused(Res.TAG_KNOWN)
            warning = Warning.of(Res.TAG_KNOWN, language)
        return self._again(known, repeated(known.answer, warning))

    def _again(self, known: OperationRow, answer: bytes) -> Done:
        """The ``answer`` of a task that was done before, with the paper that belongs to it."""
        row = known.documents[0]
        return self._done(answer, documents.decode(row.value), row.fiscal_number)

    async def _find_out(self, operation: OperationRow) -> None:
        """Settle one operation that a lost answer or a crash left open."""
        papers = [_Paper(documents.decode(row.value), row.sent, row.fiscal_number) for row in operation.documents]
        for index, paper in enumerate(papers):
            if paper.fiscal_number:
                continue
            number = paper.document.number
            found = await self._ask_after(paper)
            if isinstance(found, Unknown):
                raise Refused(Res.COLLISION_NOT_REPAIRED, aq_errortxt=found.why)
            if isinstance(found, Absent):
                if index == 0:
                    self.log.info(
                        "{device}: document {number} never arrived; it is void",
                        device=self._name,
                        number=number,
                    )
                    await self._conclude(operation.n, State.REFUSED, Res.TAX_SERVICE_UNAVAILABLE.code)
                    return
                # An earlier document of the operation was taken, so this one is due: same bytes, first time.
                break
            self.log.info("{device}: document {number} had arrived", device=self._name, number=number)
            paper.fiscal_number, paper.session = found.fiscal_number, found.session
        try:
            await self._hand_in(operation.n, papers, [])
        except Refused as refused:
            raise Refused(Res.COLLISION_NOT_REPAIRED, aq_errortxt=refused.aq_errortxt) from refused

    async def _ask_after(self, paper: _Paper) -> Accepted | Absent | Unknown:
        """What became of a document; one made offline never left, so there is nobody to ask."""
        if paper.document.offline is not None and paper.document.kind != documents.OFFLINE_END:
            return Absent()
        return await self._channel.probe(paper.document.number, paper.sent)

    # Offline and back

    async def go_offline(self, language: str) -> None:
        """Number documents ourselves from now on: see `IRegister`."""
        await self.resolve()
        begin = self._drafting.offline_begin(self._state, self._channel.key_days_left())
        await self._do([await self._paper(begin)], UNTAGGED, f"{begin.kind} {begin.number}", b"", language)

    async def go_online(self, language: str) -> None:
        """Hand in what was made offline: see `IRegister`."""
        await self.resolve()
        end = self._drafting.offline_end(self._state)
        await self._do([await self._paper(end)], UNTAGGED, f"{end.kind} {end.number}", b"", language)

    def _warnings(self, language: str) -> list[Warning]:
        """What should be seen to before it becomes an error."""
        settings, state, now = self._settings, self._state, self._clock.now()
        found = []
        if state.shift_open and now - state.opened_at > settings.warn_shift_h * HOUR:
            found.append(Warning.of(Res.SHIFT_OLD, language))
        if state.offline is not None:
            hours = (now - state.offline.since) / HOUR
            if hours > settings.warn_offline_h:
                left = max(0, int(LONGEST_OFFLINE / HOUR - hours))
                found.append(Warning.of(Res.OFFLINE_TOO_LONG, language, _left(language, left, "год", "h")))
            numbers = state.offline_numbers_left
            if numbers < settings.warn_offline_numbers:
                note = _left(language, numbers, "номерів", "numbers")
                found.append(Warning.of(Res.OFFLINE_NUMBERS_EXHAUSTED, language, note))
        days = self._channel.key_days_left()
        if days is not None and days < settings.warn_key_days:
            found.append(Warning.of(Res.KEY_EXPIRES_SOON, language, _left(language, days, "дн.", "days")))
        return found

    def _done(self, answer: bytes, document: Document, fiscal_number: str) -> Done:
        """What there is to tell and to print of ``document``, accepted as ``fiscal_number``."""
        return Done(
            answer,
            DocumentPaper(document, fiscal_number, self._settings.template),
            f"{document.header.fisid}/{document.number}",
            document.moves_cash,
        )


def _left(language: str, number: int, uk: str, en: str) -> str:
    return f"{number} {en} left" if language == "en" else f"лишилося {number} {uk}"


HOUR = 3_600_000
"""Milliseconds."""

PACKAGE = 99
"""Documents of one upload; the tax service takes 100, and the end of the session is the last (fiscal-server 7.3)."""


def _says_else(known: OperationRow, request: TaskRequest, fingerprint: bytes) -> bool:
    """Whether ``request`` asks for something else than the operation that has its tag.

    A till that only wants to hear what became of its receipt may leave the receipt out (http-api 2.20).
    """
    fiscal = request.fiscal
    asks_only = known.task == request.task and fiscal is not None and not (fiscal.receipt or fiscal.cash)
    return not asks_only and known.fingerprint != fingerprint
