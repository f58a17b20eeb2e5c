"""The offline sessions of a register: how one begins, hands in its documents, and ends.

Packages: docs/reference/tax-service.md#packages.
"""

from __future__ import annotations

import msgspec
from twisted.logger import Logger

from dmtwisted.crash_points import reached
from dmtwisted.documents.documents import Document
from dmtwisted.registers import totals
from dmtwisted.registers.bookkeeping import UNTAGGED, Books
from dmtwisted.registers.channels.interface import Rejected, Unknown
from dmtwisted.registers.drafting import Drafting
from dmtwisted.registers.kept import OnlineCopy, Revocation, with_copy
from dmtwisted.registers.lost_online import begin_key, begin_to_send, lost_in, read_revocation, revocable
from dmtwisted.registers.totals import BY_ITSELF
from dmtwisted.results import Refused, Res, in_language
from dmtwisted.store.restored import read_mark
from dmtwisted.store.values import OperationRow, State
from dmtwisted.wording import wording

PACKAGE = 100
"""Documents of one package; the session's closing document follows in a package of its own."""

HOME_S = 8.0
"""Seconds of its caller's time in which a task hands in packages; the rest is for the session's end and the task."""


class OfflineSessions:
    """Begins and ends the sessions of one register.

    A package without the session's closing document is no operation: whether it arrived or not, the register stays
    offline and goes on selling, and the tax service says the next time how many of the documents it has. Only the
    closing document can leave an unknown outcome behind.
    """

    log = Logger()

    def __init__(self, books: Books, drafting: Drafting) -> None:
        self._books, self._drafting = books, drafting
        self._n, self._name, self._store, self._channel = books.n, books.name, books.store, books.channel
        # The last local number that the tax service confirmed; after a restart it is asked from the first one on.
        self._there = 0

    async def begin(self, source: str, language: str, lost: OperationRow | None = None, ask_s: float = 0.0) -> None:
        """Begin a session.

        :param ask_s: seconds for an answer of the tax service, with which the session does not begin; 0 asks nothing.
        :param lost: an operation whose document may have arrived; the session is to make it again.
        :raises Refused: when the register may not go offline; as `Books.fiscalise` does.
        """
        books, channel = self._books, self._channel
        opening = self._drafting.offline_begin(books.state, channel.key_days_left(), source)
        submission = await books.prepare(opening)
        if ask_s and await books.asking.there(ask_s):
            raise Refused(Res.OFFLINE_FORBIDDEN, note=wording("the tax service answers"))
        if lost is not None:
            revoking = await (self._revoking(opening) if channel.closes else channel.right_to_withdraw())
            submission.revocation = Revocation(lost.n, lost.documents[0].sent, revoking)
            await self._let_go(lost)
        await books.fiscalise([submission], UNTAGGED, begin_key(opening.number), b"", language)

    async def _revoking(self, opening: Document) -> bytes:
        """The opening document that revokes the last online one."""
        assert opening.offline is not None
        mark = msgspec.structs.replace(opening.offline, revokes=True)
        return await self._channel.prepare(msgspec.structs.replace(opening, offline=mark))

    async def _let_go(self, operation: OperationRow) -> None:
        """Free tag and number of a document that is to be made again offline; the state keeps what it was."""
        books = self._books
        after = books.state.copy()
        after.lost = lost_in(operation)
        copy = with_copy(operation.request, OnlineCopy(again=operation.documents[0].number + 1))
        await books.conclude(operation.n, State.REFUSED, register_state=totals.encode(after), request=copy)
        reached("offline.let-go")
        books.state = after

    async def begin_by_itself(self, refused: Refused, language: str, lost: OperationRow | None = None) -> bool:
        """Go offline because the tax service is away, if the register may; `False`: the document stays refused."""
        reached("offline.refused")
        try:
            await self.begin(BY_ITSELF, language, lost)
            reached("offline.begun")
        except Refused as cannot:
            self.log.info("{device}: cannot go offline: {why}", device=self._name, why=str(cannot))
            return False
        why = in_language(refused.aq_errortxt, "en") or str(refused)
        self.log.warn("{device} went offline by itself: {why}", device=self._name, why=why)
        return True

    async def begin_without(self, refused: Refused) -> bool:
        """Go offline though a document may have arrived, if that may be now; `False`: the refusal stands."""
        unresolved = await self._books.unresolved()
        kinds, one = self._channel.revocable, len(unresolved) == 1
        lost = unresolved[0] if one and revocable(unresolved[0], self._books.state, kinds) else None
        mark = await read_mark(self._store)
        if lost is None or (mark is not None and self._n in mark.registers) or await self._channel.answers():
            return False
        return await self.begin_by_itself(refused, "uk", lost)

    async def hand_in(self, within: float = 0.0) -> bool:
        """Hand in the next package of the session that is under way.

        :param within: seconds after which its answer is waited for no longer; 0 tries again while there is time.
        :returns: whether more may be waiting.
        :raises Refused: why nothing went on: 1050 when nothing left, 1084 when the outcome is unknown, or as it was
            refused. In each case the same documents are due next. 1074 when another document than ours has the first
            number.
        """
        offline, session = self._books.state.offline, self._books.state.session
        assert offline is not None and session is not None
        first, batch = offline.first, int(self._channel.batch or PACKAGE)
        if not self._channel.closes and self._there < first:
            await self._find_place(first, within)
        waiting = await self._store.sent_documents(self._n, max(first, self._there + 1), batch)
        if not waiting:
            return False
        package = [sent for _, sent in waiting]
        if offline.lost and waiting[0][0] == first:
            lost = await read_revocation(self._store, self._n, UNTAGGED, first)
            package[0] = await begin_to_send(self._store, self._channel, lost, first, package[0])
        asking = self._books.asking
        if within:
            outcome = await asking.asked(within, lambda: self._channel.upload(package, session))
        else:
            outcome = await self._channel.upload(package, session)
        reached("offline.package-sent")
        while isinstance(outcome, Unknown) and not within and await asking.pause():
            # It asks first how many of them have arrived.
            outcome = await self._channel.upload(package, session)
        if isinstance(outcome, Rejected):
            raise outcome.refused
        if isinstance(outcome, Unknown):
            raise Refused(Res.TAX_SERVICE_UNAVAILABLE, aq_errortxt=wording(outcome.why))
        self._there = waiting[-1][0]
        return len(waiting) == batch

    async def _find_place(self, first: int, within: float) -> None:
        """See which of the documents from ``first`` on is the tax service's last one, on protocol B.

        A restarted service does not know how many packages it has handed in, and a package says only of its own
        documents which of them are there.

        :raises Refused: as `IFiscalChannel.tip` does; 1084 when it takes longer than ``within`` seconds.
        """
        asking, channel = self._books.asking, self._channel
        tip = await (asking.asked(within, channel.tip) if within else channel.tip())
        if isinstance(tip, Unknown):
            raise Refused(Res.TAX_SERVICE_UNAVAILABLE, aq_errortxt=wording(tip.why))
        after = first
        while waiting := await self._store.sent_documents(self._n, after, PACKAGE):
            links = [channel.link(sent) for _, sent in waiting]
            if tip in links:
                self._there = waiting[links.index(tip)][0]
                return
            after = waiting[-1][0] + 1

    async def end_soon(self, language: str) -> bool:
        """End the session for a task that waits, if everything can be handed in within `HOME_S`.

        The session of a document that may have arrived online takes longer: more has to be asked.

        :returns: whether it has ended; `False`: documents still wait.
        :raises Refused: as `end` does.
        """
        clock, offline = self._books.clock, self._books.state.offline
        assert offline is not None
        if offline.lost and self._there < offline.first:
            return False
        until, took, more = clock.steady() + HOME_S, 0.0, True
        while more:
            begun = clock.steady()
            if until - begun <= took:
                # The next package would take as long as the last one.
                return False
            more = await self.hand_in(until - begun)
            took = clock.steady() - begun
        await self.end(language, BY_ITSELF)
        return True

    async def end(self, language: str, source: str = "") -> None:
        """Hand in everything that is waiting, then the session's closing document.

        :param source: `BY_ITSELF` when nobody asked for it.
        :raises Refused: 1054 when the register is online; as `hand_in` and `Books.fiscalise` do.
        """
        closing = self._drafting.offline_end(self._books.state, source)
        while await self.hand_in():
            pass
        submission = await self._books.prepare(closing)
        await self._books.fiscalise([submission], UNTAGGED, f"{closing.kind} {closing.number}", b"", language)
        reached("offline.ended")
