"""A register's books: its state, and the way of every document through the journal to the tax service.

What is stored at each step of a document, and what happens if the power goes after it:

1. the document is drawn up and its bytes are prepared; nothing is stored, nothing has happened;
2. the intent is stored, with the exact bytes and the local number: the next start asks the tax service about it;
3. the document is submitted; as after step 2. If its answer is lost, that is stored, and `asking` asks for it while
   the caller waits;
4. the outcome is stored together with the register's state, and only then the caller gets the answer.

What is made offline leaves the machine later, in a package: intent and outcome are stored together, after step 1.

`collisions` finds out what became of a document whose answer was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
from twisted.logger import Logger

from dmtwisted.answers import Warning, success
from dmtwisted.changes import Action as Did
from dmtwisted.changes import Area, Changes
from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.documents import documents
from dmtwisted.documents.documents import Document
from dmtwisted.observed import Observed
from dmtwisted.registers import infos, kept, totals
from dmtwisted.registers.asking import Asking, Became
from dmtwisted.registers.channels.interface import (
    Absent,
    Accepted,
    Away,
    ChannelOutcome,
    IFiscalChannel,
    Rejected,
    Unknown,
)
from dmtwisted.registers.customers import letters
from dmtwisted.registers.kept import Doubt, Kept, Moments, Reach, Revocation
from dmtwisted.registers.mark_rules import MarkRules, taken
from dmtwisted.registers.marks import released, sells
from dmtwisted.registers.offline_time import offline_left
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.registers.totals import BY_ITSELF, RegisterState, Session
from dmtwisted.registers.unheard import Unheard
from dmtwisted.registers.warnings import due_warnings
from dmtwisted.results import Action, Refused, Res, Text, joined
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentIntent, Intent, MarkMove, OperationRow, Outcome, State
from dmtwisted.wording import wording

VOIDS = 8
"""Void operations under one number that are remembered."""

AT_FAULT = frozenset(
    {
        Res.TAX_SERVICE_UNREACHABLE,
        Res.TAX_SERVICE_ERROR,
        Res.SIGNING_FAILED,
        Res.KEY_NOT_LOADED,
        Res.SIGNING_NOT_SET_UP,
        Res.CLOCK_DIFFERS,
        Res.REGISTER_ELSEWHERE,
        Res.FISCAL_NUMBER_EMPTY,
        Res.DEVICE_ERROR,
    }
)
"""Why no document of a register can be made, whatever it says."""

KIND, UNTAGGED = "fiscal", "untagged"
"""The kinds of a register's operations in the journal; those without a tag of the caller's have keys of our own."""


class Submission(msgspec.Struct):
    """A document on its way, and the exact bytes that are sent for it."""

    document: Document
    sent: bytes
    fiscal_number: str = ""
    session: Session | None = None
    moments: Moments | None = None
    """Set where the tax service is at the other end of a link."""
    revocation: Revocation | None = None
    """Of a session's opening document: what has to be known of the document that was lost before it."""
    step: MarkMove | None = None
    """What becomes of its excise marks when it is accepted."""
    reach: Reach | None = None
    """The customer, until the outcome is stored."""
    doubt: Doubt | None = None
    """Set when its answer was lost."""
    renewed: bool = False
    """Whether its bytes are others than those of the intent, which never arrived."""

    @property
    def stays_here(self) -> bool:
        """Whether it was made offline, and so is handed in later, in a package; the end of the session is not."""
        return self.document.offline is not None and self.document.kind != documents.OFFLINE_END


class _After(NamedTuple):
    """A register after an operation: its state, the same as it is stored, and the outcome that both belong to."""

    state: RegisterState
    stored: bytes
    outcome: Outcome


class Books:
    """The state of one register, and its operations in the journal; the register's other parts share them.

    ``state`` is the register after its last document, ``sold`` has the tax groups of the item codes of this shift.
    Both hold while ``stored`` is set; it is `None` until they are read, and after a write that was not confirmed.
    """

    log = Logger()

    def __init__(
        self,
        device_n: int,
        name: str,
        settings: RegisterSettings,
        store: IStore,
        channel: IFiscalChannel,
        clock: ServiceClock,
        asking: Asking,
        posted: Callable[[], None],
        observed: Observed,
    ) -> None:
        self._observed = observed
        self.rules, self._posted = MarkRules(settings), posted
        self.n, self.name, self._settings = device_n, name, settings
        self.store, self.channel, self.clock, self.asking = store, channel, clock, asking
        self.unheard = Unheard(device_n, name, store, clock)
        self.stored: bytes | None = None
        self.state = RegisterState()
        self.sold: dict[str, int] = {}
        self.is_new = True
        """Whether the store has nothing of this register yet."""
        self.guessed = False
        """Whether the state has a number that the tax service could not be asked for."""
        self.came_home = False
        """Whether it came back online by itself the last time, as far as it is known."""

    @property
    def settled(self) -> bool:
        """Whether no operation is open, as far as it is known."""
        return self.stored is not None and not self.guessed

    # Reading

    async def read(self) -> None:
        """Read state and item codes; ``stored`` is set by the caller, once every operation is settled."""
        stored = await self.store.register_state(self.n)
        self.is_new = stored is None
        self.state = totals.decode(stored) if stored else RegisterState()
        self.sold = await self.store.sold_codes(self.n, self.state.shift)
        await self.unheard.recall(self.state)

    async def current(self) -> RegisterState:
        """A copy of the state as it is stored, whether or not every operation is settled."""
        stored = self.stored or await self.store.register_state(self.n)
        return totals.decode(stored) if stored else RegisterState()

    async def unresolved(self) -> list[OperationRow]:
        """Operations whose outcome is unknown; batch mode keeps its own ones under this register too."""
        found = await self.store.unresolved(self.n)
        return [operation for operation in found if operation.kind in (KIND, UNTAGGED)]

    def warnings(self, language: str, kind: str = "") -> list[Warning]:
        """What should be seen to before it becomes an error.

        :param kind: of the document that is made; empty for a task without one.
        """
        channel, now = self.channel, self.clock.now()
        return due_warnings(
            self._settings, self.state, now, channel.key_days_left(), channel.unverified, language, kind
        )

    def _left_out(self, document: Document, language: str) -> list[Warning]:
        """That the tax service's document says less than the request did."""
        missing = self.channel.left_out(document)
        if not missing:
            return []
        return [Warning.by(Refused(Res.LEFT_OUT, joined(*missing, separator="; ")), language)]

    def after(self, submission: Submission) -> RegisterState:
        """The register as it will be when the document has been accepted."""
        state = self.state.copy()
        totals.apply(state, submission.document, "", submission.sent, link=self._link(submission))
        return state

    def _link(self, submission: Submission) -> str:
        return "" if submission.document.place is None else self.channel.link(submission.sent)

    # The way of a document, from top to bottom

    async def prepare(self, document: Document) -> Submission:
        """The document with the bytes to send.

        :raises Refused: when it cannot be signed; nothing is stored then.
        """
        try:
            sent = await self.channel.prepare(document)
        except Refused as refused:
            if refused.res in AT_FAULT:
                self._observed.failed(refused, lasting=not isinstance(refused, Away))
            raise
        return Submission(document, sent, moments=Moments(self.clock.now()) if self.channel.remote else None)

    async def fiscalise(
        self,
        submissions: Sequence[Submission],
        kind: str,
        key: str,
        fingerprint: bytes,
        language: str,
        warnings: Sequence[Warning] = (),
        heir_of: int = 0,
    ) -> bytes | OperationRow:
        """Store the intent, submit the documents, store the outcome.

        :param warnings: those of the answer, besides what should be seen to.
        :param heir_of: the operation that is made again, whose excise marks pass to this one.
        :returns: the answer, or the operation that has the key already.
        :raises Refused: 2101 when another receipt holds one of its excise marks; as `submit` does.
        """
        head = submissions[0].document
        reserving = self.rules.reserved(head, heir_of)
        if reserving is not None or not sells(head):
            submissions[0].step = self.rules.moved(head)
        reached("document.before-intent")
        intent = Intent(
            device_n=self.n,
            kind=kind,
            task=head.caller.task,
            key=key,
            fingerprint=fingerprint,
            at=head.at,
            documents=[
                DocumentIntent(
                    number=submission.document.number,
                    kind=submission.document.kind,
                    shift=submission.document.shift,
                    at=submission.document.at,
                    sum=submission.document.sum,
                    value=documents.encode(submission.document),
                    sent=submission.sent,
                )
                for submission in submissions
            ],
            request=_kept_of(submissions),
            marks=reserving,
        )
        try:
            after = None
            if all(submission.stays_here for submission in submissions):
                after = self._kept_here(submissions, self._all_warnings(head, language, warnings))
                reached("offline.made")
                reserved = await self.store.conclude_at_once(intent, after.outcome)
            else:
                reserved = await self.store.reserve(intent)
            if reserved.taken is not None:
                raise await taken(self.store, head, reserved.taken)
            if reserved.known is not None:
                return reserved.known
            if after is not None:
                reached("offline.stored")
                return await self._completed(head, after)
            reached("document.intent-stored")
            return await self.submit(reserved.n, submissions, self._all_warnings(head, language, warnings))
        except Refused:
            raise
        except BaseException:
            # How far it came is in the journal and at the tax service, and only there.
            self.stored = None
            raise

    def _all_warnings(self, head: Document, language: str, more: Sequence[Warning]) -> list[Warning]:
        return [*more, *self.warnings(language, head.kind), *self._left_out(head, language)]

    def _kept_here(self, submissions: Sequence[Submission], warnings: list[Warning]) -> _After:
        """What follows from documents made offline: they are accepted when they are stored."""
        for submission in submissions:
            assert submission.document.offline is not None
            submission.fiscal_number = submission.document.offline.number
        return self._after_all(0, submissions, warnings)

    async def submit(self, n: int, submissions: Sequence[Submission], warnings: list[Warning]) -> bytes:
        """Submit the documents of an operation in their order and store the outcome.

        :returns: the answer.
        :raises Refused: as the first document was; 1084 when it never arrived; with ``res_action`` 2, 1075 or 1074,
            when it stays unknown what became of one.
        """
        for index, submission in enumerate(submissions):
            if submission.fiscal_number:
                continue
            outcome: Became = await self._sent(submission, first=True)
            doubtful = False
            if isinstance(outcome, Unknown) or (index > 0 and isinstance(outcome, Rejected)):
                doubtful, outcome = True, await self._became(n, submissions, index, outcome)
            if isinstance(outcome, Accepted):
                submission.fiscal_number, submission.session = outcome.fiscal_number, outcome.session
                if index + 1 < len(submissions):
                    await self.store.accept_document(n, submission.document.number, outcome.fiscal_number)
                    reached("document.first-accepted")
            elif isinstance(outcome, Rejected | Absent) and index == 0:
                refused = outcome.refused if isinstance(outcome, Rejected) else Refused(Res.TAX_SERVICE_UNAVAILABLE)
                if doubtful:
                    await self.void(n, submission.document, refused.res)
                    self.stored = totals.encode(self.state)
                else:
                    gone = b"" if submission.reach is None else kept.without_reach(_kept_of(submissions))
                    step = released(submission.document)
                    await self.conclude(n, State.REFUSED, refused.res, request=gone, step=step)
                reached("document.refusal-stored")
                raise refused
            else:
                # The shift's closing after an accepted Z is due whatever came in between: it is tried again.
                res = outcome.res if isinstance(outcome, Unknown) else Res.COLLISION_NOT_REPAIRED
                raise Refused(res, action=Action.COLLISION, aq_errortxt=_why(outcome))
        return await self._complete(n, submissions, warnings)

    async def _became(
        self, n: int, submissions: Sequence[Submission], index: int, outcome: Unknown | Rejected
    ) -> Became:
        """What became of a document whose answer was lost, as far as that can be known while the caller waits."""
        submission = submissions[index]
        number = submission.document.number
        submission.doubt = doubt = submission.doubt or Doubt(self.clock.now())
        self.stored = None
        await self.conclude(n, State.UNKNOWN, Res.COLLISION_NOT_REPAIRED, request=_kept_of(submissions))
        reached("document.doubt-stored")
        self.log.warn(
            "{device}: the answer to document {number} was lost: {why}",
            device=self.name,
            number=number,
            why=_why(outcome).en,
        )
        found = await self.asking.became(
            number, lambda: submission.sent, outcome, lambda: self._once_more(n, submissions, index), due=index > 0
        )
        became = type(found).__name__.lower()
        self.log.warn("{device}: document {number} is {became}", device=self.name, number=number, became=became)
        if isinstance(found, Accepted):
            self._observed.worked()
            doubt.found = self.clock.now()
            if submission.moments is not None:
                submission.moments.answered = doubt.found
        return found

    async def _once_more(self, n: int, submissions: Sequence[Submission], index: int) -> ChannelOutcome:
        """The outcome of a document that never arrived, sent again: as the same bytes, or as others that are stored.

        :raises Refused: when there are no others now.
        """
        submission = submissions[index]
        if self.channel.renews:
            submission.sent = await self.channel.again(submission.document, submission.sent)
            submission.renewed = True
            await self.store.note(n, _kept_of(submissions))
        return await self._sent(submission, first=False)

    async def _sent(self, submission: Submission, first: bool) -> ChannelOutcome:
        """The outcome of one submission of a document."""
        reached("document.before-submit")
        waits = first and self.channel.remote
        outcome = await (self.asking.submitted(self._deliver, submission) if waits else self._deliver(submission))
        if isinstance(outcome, Accepted):
            if not submission.stays_here:
                self._observed.worked()
        elif isinstance(outcome, Rejected):
            self._observed.failed(outcome.refused, lasting=not isinstance(outcome.refused, Away))
        else:
            self._observed.failed(Refused(outcome.res, aq_errortxt=wording(outcome.why)))
        reached("document.submitted")
        return outcome

    async def _deliver(self, submission: Submission) -> ChannelOutcome:
        """Submit one document; what is made offline is accepted here and now."""
        document, times = submission.document, submission.moments
        if submission.stays_here:
            assert document.offline is not None
            return Accepted(document.offline.number)
        if times is not None:
            times.sent = self.clock.now()
        if document.kind == documents.OFFLINE_END:
            assert self.state.session is not None
            outcome = await self.channel.upload([submission.sent], self.state.session)
        else:
            outcome = await self.channel.submit(document, submission.sent)
        if times is not None and isinstance(outcome, Accepted):
            times.answered = self.clock.now()
        return outcome

    async def _complete(self, n: int, submissions: Sequence[Submission], warnings: list[Warning]) -> bytes:
        """Take accepted documents into the state, store both with the answer, and return the answer."""
        after = self._after_all(n, submissions, warnings)
        await self.store.conclude(after.outcome)
        return await self._completed(submissions[0].document, after)

    def _after_all(self, n: int, submissions: Sequence[Submission], warnings: list[Warning]) -> _After:
        """The outcome of an operation whose documents are accepted; changes nothing."""
        first, after, now = submissions[0], self.state.copy(), self.clock.now()
        head, info, fiscal_numbers = first.document, None, {}
        for submission in submissions:
            document, fiscal_number = submission.document, submission.fiscal_number
            fiscal_numbers[document.number] = fiscal_number
            link = self._link(submission)
            totals.apply(after, document, fiscal_number, submission.sent, submission.session, link)
            if info is None:
                info = infos.document_info(document, fiscal_number, after)
        after.unheard = self.unheard.stored()
        if info is not None and after.offline is not None:
            info.offline_left = offline_left(self._settings, after, now) or msgspec.UNSET
        answer = success(head.caller, head.at, info, warnings)
        stored = totals.encode(after)
        sold = {} if head.kind != documents.SALE else self._newly_sold(head)
        request, step, reach = _kept_of(submissions), first.step, first.reach
        told = [] if step is None else self.rules.letters(head, self.n, now)
        if reach is not None:
            request = kept.without_reach(request)
            told += letters(head, first.fiscal_number, reach, self.n, now)
        outcome = Outcome(
            n=n,
            device_n=self.n,
            state=State.DONE,
            at=now,
            res=0,
            answer=answer,
            fiscal_numbers=fiscal_numbers,
            register_state=stored,
            shift=head.shift,
            sold=sold,
            request=request,
            marks=step,
            letters=told,
        )
        return _After(after, stored, outcome)

    async def _completed(self, head: Document, after: _After) -> bytes:
        """Work with the new state from now on, for the outcome is stored; return the answer."""
        outcome = after.outcome
        if outcome.letters:
            self._posted()
        reached("document.outcome-stored")
        self.state, self.stored, self.is_new = after.state, after.stored, False
        sold = outcome.sold
        self.sold = {} if head.kind == documents.OPEN else {**self.sold, **sold} if sold else self.sold
        if head.kind == documents.OFFLINE_END:
            await self._back_online(head.caller.source == BY_ITSELF)
        return outcome.answer

    async def _back_online(self, by_itself: bool) -> None:
        """Tell that a session has ended; who ends one by hand keeps the record of that."""
        self.came_home = by_itself
        if by_itself:
            self.log.info("{device} is back online by itself", device=self.name)
            await Changes(self.store, self.clock).keep_own(Area.MODE, Did.WENT_ONLINE, self.name, self.n)

    def _newly_sold(self, sale: Document) -> dict[str, int]:
        """The item codes that this shift had not sold before, with their tax groups (1111)."""
        assert sale.receipt is not None
        return {good.code: good.taxgrp for good in sale.receipt.goods if good.code and good.code not in self.sold}

    async def void(self, n: int, document: Document, res: Res = Res.TAX_SERVICE_UNAVAILABLE) -> None:
        """Refuse an operation whose document never arrived; remember it, for it may have been asked for too early."""
        remembered = None
        if not self.is_new and document.offline is None and document.number == self.state.next_number:
            self.state.voids = (*self.state.voids, n)[-VOIDS:]
            remembered = totals.encode(self.state)
        await self.conclude(n, State.REFUSED, res, register_state=remembered, step=released(document))

    async def conclude(
        self,
        n: int,
        state: State,
        res: Res = Res.TAX_SERVICE_UNAVAILABLE,
        register_state: bytes | None = None,
        request: bytes = b"",
        step: MarkMove | None = None,
    ) -> None:
        """Store that an operation has no answer: it was refused, or its outcome is unknown."""
        await self.store.conclude(
            Outcome(
                n=n,
                device_n=self.n,
                state=state,
                at=self.clock.now(),
                res=res.code,
                register_state=register_state,
                request=request,
                marks=step,
            )
        )


def _why(outcome: Became) -> Text:
    """Why it is not known what became of a document."""
    if isinstance(outcome, Rejected):
        return outcome.refused.words()
    return wording(outcome.why if isinstance(outcome, Unknown) else "")


def _kept_of(submissions: Sequence[Submission]) -> bytes:
    head = submissions[0]
    if len(submissions) == 1 and not (head.moments or head.doubt or head.reach or head.revocation or head.renewed):
        return b""
    way = {each.document.number: each.moments for each in submissions if each.moments is not None}
    doubts = {each.document.number: each.doubt for each in submissions if each.doubt is not None}
    renewed = {each.document.number: each.sent for each in submissions if each.renewed}
    return kept.encode(Kept(way, head.revocation, reach=head.reach, doubts=doubts, renewed=renewed))
