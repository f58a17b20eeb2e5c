"""What became of documents whose answer was lost and was not found while the caller waited: the next task asks.

The tax service is asked by the document's number. It has the document: the operation is completed, and its stored
answer serves the repeat. It never saw the document: the operation is refused and the number is free again, so a till
that sells again without a tag does not get a second receipt.
"""

from __future__ import annotations

import re

import msgspec
from twisted.logger import Logger

from dmtwisted.crash_points import reached
from dmtwisted.documents import documents
from dmtwisted.registers import kept, totals
from dmtwisted.registers.bookkeeping import Books, Submission
from dmtwisted.registers.channels.interface import Absent, Accepted, Unknown
from dmtwisted.registers.drafting import Drafting
from dmtwisted.registers.kept import Doubt
from dmtwisted.registers.totals import LostOnline, RegisterState
from dmtwisted.requests import TaskRequest
from dmtwisted.results import Refused, Res, Text, in_language
from dmtwisted.store.restored import compared, read_mark
from dmtwisted.store.values import OperationRow, State
from dmtwisted.wording import wording

STALE_MS = 15 * 60 * 1000
"""From this age on a document that is sent late gets a new time; half of what the tax service may allow."""

OTHER_PROTOCOL = Text(
    "зміну чи офлайн-сесію розпочато за іншим протоколом: поверніть його і завершіть її",
    "the shift or offline session was begun by another protocol: set that one again and end it",
)

MOST_COMPARED = 100
"""Documents made offline that are compared at once."""

CANNOT_BEGIN = frozenset({Res.SHIFT_MUST_BE_CLOSED, Res.COLLISION_UNSOLVABLE})
"""Why a register may not begin on a channel, as its tax service has answered."""

_EXPECTED = re.compile(r"дорівнювати\D{0,3}(\d+)")
"""The number that the tax service expects, at the end of its refusal (docs/reference/tax-service.md#numbers)."""


class Collisions:
    """Settles the operations of one register whose outcome is unknown."""

    log = Logger()

    def __init__(self, books: Books, drafting: Drafting) -> None:
        self._books, self._drafting = books, drafting
        self._n, self._name, self._store, self._channel = books.n, books.name, books.store, books.channel

    async def settle(self, request: TaskRequest | None = None, fingerprint: bytes = b"") -> None:
        """Settle every operation whose outcome is unknown; nothing to do when the books know of none.

        :raises Refused: 1080 when ``request`` reuses the tag of an open collision for something else, 1075 when
            the collision cannot be repaired now.
        """
        books = self._books
        if books.settled:
            return
        books.stored, books.guessed = None, False
        await books.read()
        if books.is_new or self._channel.closes == (books.state.local is not None):
            books.state = await self._first_state(books.state)
        unresolved = await books.unresolved()
        if books.state.lost is not None and books.state.offline is None:
            unresolved = await self._take_back(books.state.lost, unresolved)
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
        books.stored = totals.encode(books.state)
        if differs:
            raise Refused(Res.COLLISION_DIFFERS)

    async def _first_state(self, state: RegisterState) -> RegisterState:
        """``state``, of a register that has no documents on its channel, with the numbers that are expected there.

        The tax service knows them, as another program may have used the register. Until it can be asked they are a
        guess, and a wrong guess is refused there.
        """
        if not self._books.is_new and (state.shift_open or state.offline is not None):
            raise Refused(Res.SHIFT_MUST_BE_CLOSED, note=OTHER_PROTOCOL)
        if not self._channel.remote and self._channel.closes:
            return state
        try:
            return await self._channel.beginning(state)
        except Refused as refused:
            if refused.res in CANNOT_BEGIN:
                raise
            self._books.guessed = True
            return state

    async def _take_back(self, lost: LostOnline, unresolved: list[OperationRow]) -> list[OperationRow]:
        """Open the operation again that was let go for a session that never began; all that is open then."""
        for operation in unresolved:
            # The session's opening document: it never left.
            await self._find_out(operation)
        state = self._books.state
        state.lost = None
        await self._books.conclude(
            lost.operation, State.UNKNOWN, register_state=totals.encode(state), request=lost.request
        )
        reached("offline.taken-back")
        return await self._books.unresolved()

    async def _find_out(self, operation: OperationRow) -> None:
        """Settle one operation that a lost answer or a crash left open."""
        stored = kept.decode(operation.request)
        times = stored.way
        submissions = [
            Submission(
                documents.decode(row.value),
                stored.renewed.get(row.number, row.sent),
                row.fiscal_number,
                moments=times.get(row.number),
                doubt=stored.doubts.get(row.number),
                renewed=row.number in stored.renewed,
            )
            for row in operation.documents
        ]
        submissions[0].reach = stored.reach
        # Whether marks are checked may have been set otherwise since, and a void document has released its own.
        submissions[0].step = self._books.rules.moved(submissions[0].document, again=True)
        late: Submission | None = None
        for index, submission in enumerate(submissions):
            if submission.fiscal_number:
                continue
            number = submission.document.number
            # A document made offline never left, so there is nothing to ask.
            found = Absent() if submission.stays_here else await self._channel.probe(number, submission.sent)
            reached("collision.asked")
            if isinstance(found, Unknown):
                raise Refused(found.res, aq_errortxt=wording(found.why))
            if isinstance(found, Absent):
                if index == 0:
                    self.log.info(
                        "{device}: document {number} never arrived; it is void", device=self._name, number=number
                    )
                    await self._books.void(operation.n, submission.document)
                    reached("collision.voided")
                    return
                # An earlier document of the operation was taken, so this one is due.
                late = submission
                break
            self.log.info("{device}: document {number} had arrived", device=self._name, number=number)
            submission.fiscal_number, submission.session = found.fiscal_number, found.session
            now = self._books.clock.now()
            submission.doubt = Doubt(submission.doubt.lost if submission.doubt is not None else 0, now, later=True)
            if submission.moments is not None:
                submission.moments.answered = now
        try:
            if late is not None:
                await self._freshen(late)
            await self._books.submit(operation.n, submissions, [])
        except Refused as refused:
            raise Refused(Res.COLLISION_NOT_REPAIRED, aq_errortxt=refused.aq_errortxt) from refused
        head = submissions[0]
        self._books.unheard.found(head.document, head.fiscal_number, operation.fingerprint)

    async def _freshen(self, submission: Submission) -> None:
        """Give a document that follows another one and never arrived a new time, when it is too old to be taken.

        The tax service takes no online document of an hour ago, and the shift could never be closed. Its stored bytes
        stay as they are: they are enough to ask about it, whichever of the two arrives.
        """
        now, document = self._books.clock.now(), submission.document
        if document.offline is None and now - document.at >= STALE_MS:
            submission.document = msgspec.structs.replace(document, at=now)
            submission.sent = await self._channel.again(submission.document, submission.sent)

    async def _compare(self) -> None:
        """In a restored database: see that the tax service expects the number that is due here.

        :raises Refused: 1074 when the tax service has documents that the backup does not have; when it cannot be
            asked, as it answers.
        """
        mark = await read_mark(self._store)
        if mark is None or self._n not in mark.registers:
            return
        if not self._channel.closes:
            await self._compare_chain()
            return
        theirs, ours = await self._channel.first_number(), self._books.state.next_number
        # A smaller number is right: documents of an offline session may not have been handed in at that moment.
        if theirs > ours:
            self.log.error(
                "{device}: the restored database lacks documents: next is {ours} here, {theirs} at the tax service",
                device=self._name,
                theirs=theirs,
                ours=ours,
            )
            why = f"restored from a backup: the next number is {ours} here and {theirs} at the tax service"
            raise Refused(Res.COLLISION_UNSOLVABLE, aq_errortxt=wording(why))
        await compared(self._store, self._n)
        self.log.info("{device} agrees with its tax service on the number {ours}", device=self._name, ours=ours)

    async def _compare_chain(self) -> None:
        """As `_compare`, where documents name the one before: the tax service's last document is one of ours.

        While documents made offline wait it is any of them, or the one before the session.
        """
        tip, state = await self._channel.tip(), self._books.state
        known = {state.chain}
        after = state.offline.first if state.offline is not None else state.next_number
        while tip not in known:
            waiting = await self._store.sent_documents(self._n, after, MOST_COMPARED)
            if not waiting:
                self.log.error("{device}: the restored database lacks documents", device=self._name)
                why = "restored from a backup: the tax service has a last document that is not in it"
                raise Refused(Res.COLLISION_UNSOLVABLE, aq_errortxt=wording(why))
            known |= {self._channel.before(sent) for _, sent in waiting}
            after = waiting[-1][0] + 1
        await compared(self._store, self._n)
        self.log.info("{device} agrees with its tax service on the last document", device=self._name)

    async def _make_again(self) -> None:
        """Make the document offline for which the session began: same tag, content and answer, another number."""
        books = self._books
        lost, offline = books.state.lost, books.state.offline
        if lost is None or offline is None:
            return
        again = self._drafting.again(documents.decode(lost.value), books.state)
        submission = await books.prepare(again)
        submission.reach = kept.decode(lost.request).reach
        done = await books.fiscalise(
            [submission], lost.kind, lost.key, lost.fingerprint, "uk", heir_of=lost.operation
        )
        reached("offline.made-again")
        assert isinstance(done, bytes), "the tag of a document that is made again was freed"
        assert again.offline is not None
        books.unheard.found(again, again.offline.number, lost.fingerprint)
        self.log.warn(
            "{device}: document {lost}, whose answer was lost, was made again offline as {again}",
            device=self._name,
            lost=offline.first,
            again=again.number,
        )

    async def arrived_late(self, refused: Refused) -> bool:
        """Whether a document that was void arrived late, so that the tax service expects another number than ours.

        The tax service was asked too early and said that it never saw it. Its operation is opened again, and settled
        like any other whose outcome is unknown. Every other reason for that number needs a person.
        """
        books = self._books
        expected = _EXPECTED.search(in_language(refused.aq_errortxt, "en"))
        if expected is not None and int(expected[1]) != books.state.next_number + 1:
            return False
        for n in reversed(books.state.voids):
            # Open again, its documents can be read; a crash from here on finds it open, and asks once more.
            books.stored = None
            await books.conclude(n, State.UNKNOWN)
            found = [operation for operation in await books.unresolved() if operation.n == n]
            document = found[0].documents[0]
            if isinstance(await self._channel.probe(document.number, document.sent), Accepted):
                self.log.warn("{device}: document {number} arrived late", device=self._name, number=document.number)
                return True
            await books.conclude(n, State.REFUSED)
        return False


def says_else(known: OperationRow, request: TaskRequest, fingerprint: bytes) -> bool:
    """Whether ``request`` asks for something else than the operation that has its tag.

    A till that only wants to know what became of its receipt may leave the receipt out.
    """
    fiscal = request.fiscal
    asks_only = known.task == request.task and fiscal is not None and not (fiscal.receipt or fiscal.cash)
    return not asks_only and known.fingerprint != fingerprint
