"""A register's books: every document is stored before it leaves, and what became of it before anybody hears of it.

The path of a document, and what happens if the power goes after each step:

1. the document is built and its bytes prepared; nothing is kept, nothing has happened;
2. the intent is stored, with the exact bytes and the local number: at the next start the far end is asked;
3. the document is submitted; as after step 2;
4. the outcome is stored together with the register's state, and only then the caller hears of it.

A document whose answer was lost is asked for by its number before the register does anything else. The far end
has it: it is completed and its stored answer serves the repeat. The far end never saw it: it is refused and its
number is free again, so a till that sells anew without a tag does not get a second receipt out of us.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec
from twisted.logger import Logger

from dmtwisted.answers import Answer, Warning, render
from dmtwisted.clock import ServiceClock, stamp17
from dmtwisted.crash_points import reached
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.registers import infos, moments, totals
from dmtwisted.registers.channels.interface import Absent, Accepted, IFiscalChannel, Rejected, Unknown
from dmtwisted.registers.channels.interface import Outcome as ChannelOutcome
from dmtwisted.registers.lost_online import OnlineCopy, Revocation, lost_in, with_copy, with_revocation
from dmtwisted.registers.moments import Moments
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.totals import LostOnline, RegisterState, Session
from dmtwisted.registers.warnings import due_warnings
from dmtwisted.requests import TaskRequest
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.restored import compared, read_mark
from dmtwisted.store.values import DocumentIntent, Intent, OperationRow, Outcome, State

KIND, UNTAGGED = "fiscal", "untagged"
"""The kinds of a register's operations in the journal; those without a tag of the caller's have keys of our own."""

VOIDS = 8
"""Void operations under one number that are remembered."""

STALE_MS = 15 * 60 * 1000
"""From this age on a document that comes late is dated anew; half of what the tax service may allow."""

_EXPECTED = re.compile(r"дорівнювати\D{0,3}(\d+)")
"""The number that the far end expects, at the end of its refusal (fiscal-server 6)."""


@dataclass
class Paper:
    """A document on its way: what it says, and the bytes that stand for it."""

    document: Document
    sent: bytes
    fiscal_number: str = ""
    session: Session | None = None
    moments: Moments | None = None
    """Set where a far end is at the other side of a link."""
    revocation: Revocation | None = None
    """Of a begin: what has to be known of the document that was lost before it."""


class Books:
    """The journal, the numbers and the state of one software register."""

    log = Logger()

    def __init__(
        self,
        device_n: int,
        name: str,
        settings: RegisterSettings,
        store: IStore,
        channel: IFiscalChannel,
        clock: ServiceClock,
    ) -> None:
        self._n, self._name, self._settings = device_n, name, settings
        self._store, self._channel, self._clock = store, channel, clock
        # What the store holds; `None` when it must be read again because a write was not confirmed.
        self._stored: bytes | None = None
        self._state = RegisterState()
        self._ever_stored = False
        self._sold: dict[str, int] = {}

    # What became of everything so far

    async def _settle(self, request: TaskRequest | None, fingerprint: bytes) -> None:
        """Find out what became of everything unknown; nothing to do when nothing is.

        :raises Refused: 1080 when ``request`` reuses the tag of an open collision for something else, 1075 when
            the collision cannot be repaired now.
        """
        if self._stored is not None:
            return
        stored = await self._store.register_state(self._n)
        self._ever_stored = stored is not None
        self._state = totals.decode(stored) if stored else await self._fresh()
        self._sold = await self._store.sold_codes(self._n, self._state.shift)
        unresolved = await self._unresolved()
        if self._state.lost is not None and self._state.offline is None:
            unresolved = await self._take_back(self._state.lost, unresolved)
        differs = request is not None and any(
            operation.key == request.tag and says_else(operation, request, fingerprint) for operation in unresolved
        )
        try:
            for operation in unresolved:
                await self._find_out(operation)
        except Refused:
            if differs:
                raise Refused(Res.COLLISION_DIFFERS) from None
            raise
        await self._compare()
        await self._make_again()
        # Only now: an exception on the way leaves the question open for the next task.
        self._stored = totals.encode(self._state)
        if differs:
            raise Refused(Res.COLLISION_DIFFERS)

    async def _let_go(self, operation: OperationRow) -> None:
        """Free tag and number of a document that is to be made again offline; the state keeps what it was."""
        after = totals.decode(totals.encode(self._state))
        after.lost = lost_in(operation)
        copy = with_copy(operation.request, OnlineCopy(again=operation.documents[0].number + 1))
        code = Res.TAX_SERVICE_UNAVAILABLE.code
        await self._conclude(operation.n, State.REFUSED, code, totals.encode(after), copy)
        reached("offline.let-go")
        self._state = after

    async def _take_back(self, lost: LostOnline, unresolved: list[OperationRow]) -> list[OperationRow]:
        """Open the operation again that was let go for a session that never began; all that is open then."""
        for operation in unresolved:
            # The begin: it never left.
            await self._find_out(operation)
        self._state.lost = None
        kept = totals.encode(self._state)
        await self._conclude(lost.operation, State.UNKNOWN, Res.TAX_SERVICE_UNAVAILABLE.code, kept, lost.request)
        reached("offline.taken-back")
        return await self._unresolved()

    async def _make_again(self) -> None:
        """Make the document offline for which the session began; nothing to do when there is none."""

    async def _compare(self) -> None:
        """In a restored database: stand where the far end does, or do nothing.

        :raises Refused: 1074 when the far end has documents that the backup knows nothing of; when it cannot be
            asked, as it answers.
        """
        mark = await read_mark(self._store)
        if mark is None or self._n not in mark.registers:
            return
        theirs, ours = await self._channel.first_number(), self._state.next_number
        # While we were offline at that moment our documents of that session may not have been handed in.
        if theirs > ours:
            self.log.error(
                "{device}: the far end expects {theirs}, the restored database {ours}: documents are missing here",
                device=self._name,
                theirs=theirs,
                ours=ours,
            )
            why = f"restored from a backup: the next number is {ours} here and {theirs} at the tax service"
            raise Refused(Res.COLLISION_UNSOLVABLE, aq_errortxt=why)
        await compared(self._store, self._n)
        self.log.info("{device} stands where its far end does, at {ours}", device=self._name, ours=ours)

    async def _fresh(self) -> RegisterState:
        """What a register remembers that never made a document here."""
        return RegisterState()

    async def _unresolved(self) -> list[OperationRow]:
        """Documents whose outcome is unknown; what others keep under this register is not ours to resolve."""
        found = await self._store.unresolved(self._n)
        return [operation for operation in found if operation.kind in (KIND, UNTAGGED)]

    async def _find_out(self, operation: OperationRow) -> None:
        """Settle one operation that a lost answer or a crash left open."""
        way = moments.decode(operation.request)
        papers = [
            Paper(documents.decode(row.value), row.sent, row.fiscal_number, moments=way.get(row.number))
            for row in operation.documents
        ]
        late: Paper | None = None
        for index, paper in enumerate(papers):
            if paper.fiscal_number:
                continue
            number = paper.document.number
            found = await self._ask_after(paper)
            reached("collision.asked")
            if isinstance(found, Unknown):
                raise Refused(found.res, aq_errortxt=found.why)
            if isinstance(found, Absent):
                if index == 0:
                    self.log.info(
                        "{device}: document {number} never arrived; it is void",
                        device=self._name,
                        number=number,
                    )
                    await self._void(operation.n, paper.document)
                    reached("collision.voided")
                    return
                # An earlier document of the operation was taken, so this one is due.
                late = paper
                break
            self.log.info("{device}: document {number} had arrived", device=self._name, number=number)
            paper.fiscal_number, paper.session = found.fiscal_number, found.session
            if paper.moments is not None:
                paper.moments.answered = self._clock.now()
        try:
            if late is not None:
                await self._freshen(late)
            await self._hand_in(operation.n, papers, [])
        except Refused as refused:
            raise Refused(Res.COLLISION_NOT_REPAIRED, aq_errortxt=refused.aq_errortxt) from refused

    async def _freshen(self, paper: Paper) -> None:
        """Date a document anew that follows another one and never arrived, when too much time has gone by since.

        The tax service takes no online document of an hour ago, and the shift could never be closed. Its stored bytes
        stay as they are: whichever of both arrives, the far end is asked after it by them.
        """
        now = self._clock.now()
        if paper.document.offline is None and now - paper.document.at >= STALE_MS:
            paper.document = msgspec.structs.replace(paper.document, at=now)
            paper.sent = await self._channel.again(paper.document, paper.sent)

    async def _ask_after(self, paper: Paper) -> Accepted | Absent | Unknown:
        """What became of a document; one made offline never left, so there is nobody to ask."""
        if paper.document.offline is not None and paper.document.kind != documents.OFFLINE_END:
            return Absent()
        return await self._channel.probe(paper.document.number, paper.sent)

    async def _void(self, n: int, document: Document) -> None:
        """Let go of an operation whose document never arrived; remember it, for it may have been asked for early."""
        remembered = None
        if self._ever_stored and document.offline is None and document.number == self._state.next_number:
            self._state.voids = (*self._state.voids, n)[-VOIDS:]
            remembered = totals.encode(self._state)
        await self._conclude(n, State.REFUSED, Res.TAX_SERVICE_UNAVAILABLE.code, remembered)

    async def _late_arrival(self, refused: Refused) -> bool:
        """Explain why the far end expects another number than ours: whether a document that was void arrived late.

        The far end was asked too early then, and said that it never saw it. Its operation is opened again, and
        settled like any other whose outcome is unknown. Whatever else may be behind it needs a person.
        """
        expected = _EXPECTED.search(refused.aq_errortxt)
        if expected is not None and int(expected[1]) != self._state.next_number + 1:
            return False
        for n in reversed(self._state.voids):
            # Open again, its documents can be read; a crash from here on finds it open, and asks once more.
            self._stored = None
            await self._conclude(n, State.UNKNOWN, Res.TAX_SERVICE_UNAVAILABLE.code)
            found = [operation for operation in await self._unresolved() if operation.n == n]
            document = found[0].documents[0]
            if isinstance(await self._channel.probe(document.number, document.sent), Accepted):
                self.log.warn("{device}: document {number} arrived late", device=self._name, number=document.number)
                return True
            await self._conclude(n, State.REFUSED, Res.TAX_SERVICE_UNAVAILABLE.code)
        return False

    # Documents on their way

    async def _paper(self, draft: Document) -> Paper:
        sent = await self._channel.prepare(draft)
        return Paper(draft, sent, moments=Moments(self._clock.now()) if self._channel.remote else None)

    async def _do(
        self, papers: list[Paper], kind: str, key: str, fingerprint: bytes, language: str
    ) -> bytes | OperationRow:
        """Store the intent, hand the documents in, store the outcome: the answer, or who has the key already."""
        head = papers[0].document
        reached("document.before-intent")
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
                    request=_way_of(papers),
                )
            )
            if reserved.known is not None:
                return reserved.known
            reached("document.intent-stored")
            return await self._hand_in(reserved.n, papers, self._warnings(language))
        except Refused:
            raise
        except BaseException:
            # Nobody can say how far it came; the journal and the far end can.
            self._stored = None
            raise

    async def _hand_in(self, n: int, papers: list[Paper], warnings: list[Warning]) -> bytes:
        """Submit the documents of an operation in their order and store what became of it."""
        for index, paper in enumerate(papers):
            if paper.fiscal_number:
                continue
            reached("document.before-submit")
            outcome = await self._deliver(paper)
            reached("document.submitted")
            if isinstance(outcome, Accepted):
                paper.fiscal_number, paper.session = outcome.fiscal_number, outcome.session
                if index + 1 < len(papers):
                    await self._store.accept_document(n, paper.document.number, outcome.fiscal_number)
                    reached("document.first-accepted")
            elif isinstance(outcome, Rejected) and index == 0:
                await self._conclude(n, State.REFUSED, outcome.refused.res.code)
                reached("document.refusal-stored")
                raise outcome.refused
            else:
                # The shift's closing after an accepted Z is due whatever came in between: it is tried again.
                why = outcome.why if isinstance(outcome, Unknown) else outcome.refused.errortxt("uk")
                self._stored = None
                await self._conclude(n, State.UNKNOWN, Res.TAX_SERVICE_UNAVAILABLE.code, request=_way_of(papers))
                reached("document.doubt-stored")
                self.log.warn(
                    "{device}: nobody knows what became of document {number}: {why}",
                    device=self._name,
                    number=paper.document.number,
                    why=why,
                )
                raise Refused(Res.TAX_SERVICE_UNAVAILABLE, action=Action.COLLISION, aq_errortxt=why)
        return await self._complete(n, papers, warnings)

    async def _deliver(self, paper: Paper) -> ChannelOutcome:
        """Where a document goes: to the far end, or into the drawer of what was made offline."""
        if paper.document.offline is not None and paper.document.kind != documents.OFFLINE_END:
            return Accepted(paper.document.offline.number)
        if paper.moments is not None:
            paper.moments.sent = self._clock.now()
        if paper.document.kind == documents.OFFLINE_END:
            assert self._state.session is not None
            outcome = await self._channel.upload([paper.sent], self._state.session)
        else:
            outcome = await self._channel.submit(paper.document, paper.sent)
        if paper.moments is not None and isinstance(outcome, Accepted):
            paper.moments.answered = self._clock.now()
        return outcome

    async def _complete(self, n: int, papers: list[Paper], warnings: list[Warning]) -> bytes:
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
                request=_way_of(papers),
            )
        )
        reached("document.outcome-stored")
        self._state, self._stored = after, stored
        self._sold = {} if head.kind == documents.OPEN else {**self._sold, **sold} if sold else self._sold
        return answer

    def _newly_sold(self, sale: Document) -> dict[str, int]:
        """The item codes that this shift had not sold before, with their tax groups (1111)."""
        assert sale.receipt is not None
        return {good.code: good.taxgrp for good in sale.receipt.goods if good.code and good.code not in self._sold}

    async def _conclude(
        self, n: int, state: State, res: int, register_state: bytes | None = None, request: bytes = b""
    ) -> None:
        await self._store.conclude(
            Outcome(
                n=n,
                device_n=self._n,
                state=state,
                at=self._clock.now(),
                res=res,
                answer=b"",
                fiscal_numbers={},
                register_state=register_state,
                request=request,
            )
        )

    def _with(self, paper: Paper) -> RegisterState:
        """The register as it will be when ``paper`` has been accepted."""
        after = totals.decode(totals.encode(self._state))
        totals.apply(after, paper.document, "", paper.sent)
        return after

    def _warnings(self, language: str) -> list[Warning]:
        """What should be seen to before it becomes an error."""
        return due_warnings(self._settings, self._state, self._clock.now(), self._channel.key_days_left(), language)


def _way_of(papers: list[Paper]) -> bytes:
    way = moments.encode({paper.document.number: paper.moments for paper in papers if paper.moments is not None})
    kept = papers[0].revocation
    return way if kept is None else with_revocation(way, kept)


def says_else(known: OperationRow, request: TaskRequest, fingerprint: bytes) -> bool:
    """Whether ``request`` asks for something else than the operation that has its tag.

    A till that only wants to hear what became of its receipt may leave the receipt out (http-api 2.20).
    """
    fiscal = request.fiscal
    asks_only = known.task == request.task and fiscal is not None and not (fiscal.receipt or fiscal.cash)
    return not asks_only and known.fingerprint != fingerprint
