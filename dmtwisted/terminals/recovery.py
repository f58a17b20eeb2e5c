"""How an operation ended whose answer was lost: the terminal is asked, and the request is never sent again.

Such an operation stays open until one of these is certain: how it ended, that the terminal never took it, or what a
person read on the slip. What is certain never becomes uncertain again.
See docs/reference/terminals.md#recovery-rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from dmtwisted.crash_points import reached
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.values import State, StoreFailed
from dmtwisted.terminals.answers import broken_off
from dmtwisted.terminals.interface import (
    Activity,
    Approved,
    Declined,
    Found,
    Keep,
    NeverStarted,
    TerminalProgress,
    Undecided,
    Verdict,
)
from dmtwisted.terminals.journal import Operation, PayJournal
from dmtwisted.terminals.sums import LESS, AnotherSum
from dmtwisted.wording import wording
from protocols.errors import Silent, WireError

LEAST_ASKING = 8.0
"""Seconds for asking although the operation's own time is over: a caller waits ten seconds longer than the terminal
(specification 4.7)."""

LATER_ASKING = 30.0
"""Seconds for asking before the next operation and at start."""

PERSISTENCE = 15.0
"""Seconds for trying again to reach the terminal while a caller waits: networks come back."""

BETWEEN_TRIES = 2.0
"""Seconds between two of these tries."""

SETTLED = "settled by a person"
"""``restxt`` of an operation that a person has closed."""

_MOST = 100
"""Operations that a late message of the terminal may still end."""


class Recovery:
    """The operations of one terminal whose end is unknown.

    :param driver: an `ITerminal`.
    """

    log = Logger()

    def __init__(
        self,
        name: str,
        journal: PayJournal,
        driver: Any,
        clock: IReactorTime,
        progressed: Callable[[TerminalProgress], None],
    ) -> None:
        self._name, self._journal, self._driver, self._clock = name, journal, driver, clock
        self._progressed = progressed
        self._early: bool = driver.keeps_early
        self._expected: dict[str, Operation] = {}
        self._asking_for = ""
        self._came_meanwhile: dict[str, Verdict] = {}
        self._closed = False

    async def resolve(self) -> None:
        """Find out how every open operation ended. The caller holds the device's turn.

        :raises Refused: 5022 when one of them stays open; the terminal takes no other one meanwhile.
        """
        for operation in await self._journal.open_ones():
            if not operation.record.sent:
                await self._journal.close(operation, Refused(Res.REQUEST_NOT_TAKEN))
                reached("payment.never-sent")
                continue
            found = await self.find_out(operation, None, LATER_ASKING)
            if isinstance(found, Refused) and found.action is Action.COLLISION:
                raise Refused(Res.TERMINAL_BUSY, note=f"# {operation.n}", aq_errortxt=found.aq_errortxt)

    async def find_out(self, operation: Operation, error: Exception | None, patience: float) -> Verdict | Refused:
        """What the terminal reports about an operation, stored; a refusal when it stays open or never started.

        A terminal that has approved a sum that cannot be right is not asked: only its slip is worth something then.

        :param error: what broke it; `None` when no caller waits for it any more.
        :param patience: seconds that asking may take.
        """
        known = self._journal.contradiction(operation)
        if known is not None:
            return await self._doubt(operation, known.refused(), str(known))
        uid = operation.record.order.uid
        self._expect(operation)
        self._asking_for = uid
        self._progressed(TerminalProgress(Activity.ASKING))
        try:
            found = await self._ask(operation, patience, PERSISTENCE if error is not None else 0.0)
            reached("payment.asked-after")
            # A late message of the operation itself is worth more than any answer about it.
            return await self._store(operation, self._came_meanwhile.pop(uid, found), error)
        except AnotherSum as other:
            return await self._doubt(operation, other.refused(), str(other))
        finally:
            self._asking_for = ""
            self._progressed(TerminalProgress(Activity.IDLE))
            if uid in self._came_meanwhile:
                self._take_late(uid, self._came_meanwhile.pop(uid))

    async def _ask(self, operation: Operation, patience: float, persistence: float) -> Found:
        """What the terminal answers in ``patience`` seconds; for a while failures are tried again."""
        asking: Deferred[Found] = Deferred.fromCoroutine(
            self._ask_again(operation, patience, min(patience, persistence))
        )
        try:
            return await asking.addTimeout(patience + 1, self._clock)
        except TimeoutError:
            return Undecided(f"no answer in {patience:g} s")

    async def _ask_again(self, operation: Operation, patience: float, persistence: float) -> Found:
        record, keep = operation.record, keeper(self._journal, lambda: operation, self._early)
        if self._early and record.verdict is not None:
            # The driver of an earlier process may have known it; this one does not.
            self._driver.remember(record.order.uid, record.verdict)
        # A timer, because the service's clock can be moved.
        tired = self._clock.callLater(persistence, lambda: None)
        try:
            while not self._closed:
                try:
                    found: Found = await self._driver.find_out(record.order, record.snapshot, keep, patience)
                    return found
                except AnotherSum:
                    raise
                except (Refused, WireError) as error:
                    if not persistence or not tired.active():
                        return Undecided(str(error), isinstance(error, Silent) and error.taken)
                await deferLater(self._clock, BETWEEN_TRIES)
        except (StoreFailed, CancelledError, AnotherSum):
            raise
        except Exception as error:
            self.log.failure("{device}: an internal error while asking the terminal", device=self._name)
            return Undecided(type(error).__name__)
        finally:
            if tired.active():
                tired.cancel()
        return Undecided("the device was closed")

    async def _store(self, operation: Operation, found: Found, error: Exception | None) -> Verdict | Refused:
        if isinstance(found, Approved | Declined):
            self._expected.pop(operation.record.order.uid, None)
            return await self._journal.end(operation, found, heard=error is not None)
        held = (await self._journal.now(operation)).record.verdict
        if held is not None and not self._early:
            # The driver made it durable, and then the line broke.
            return held
        if isinstance(found, NeverStarted):
            refused = Refused(Res.REQUEST_NOT_TAKEN, aq_errortxt=wording(error) if error is not None else "")
            await self._journal.close(operation, refused)
            reached("payment.never-taken")
            return refused
        return await self._doubt(operation, broken_off(error, Action.COLLISION, found.why, found.taken), found.why)

    async def _doubt(self, operation: Operation, refused: Refused, why: str) -> Refused:
        # Every caller that asks again gets this answer; the log has it once.
        other = self._journal.contradiction(operation)
        known = operation.state is State.UNKNOWN and (other is None or operation.record.other is not None)
        if not self._closed and not known:
            self.log.warn(
                "{device}: the end of operation {n} is unknown: {why}",
                device=self._name,
                n=operation.n,
                why=why,
            )
            await self._journal.doubt(operation, refused)
            reached("payment.doubt-stored")
        return refused

    async def settle(self, operation: Operation, approved: bool) -> None:
        """Close an open operation as a person reports who has read the slip.

        :raises Refused: 5074 when it is not open.
        """
        if not operation.open:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        said: Verdict = Approved(sum=operation.record.order.wanted, text=SETTLED)
        other = operation.record.other
        if other is not None and other.kopecks > 0:
            # The slip has what the terminal reported.
            said = msgspec.structs.replace(other, text=SETTLED, partial=LESS)
        if not approved:
            said = Declined.of(Res.REQUEST_NOT_TAKEN, text=SETTLED)
        await self._journal.settle(operation, said)

    def late(self, uid: str, verdict: Verdict) -> None:
        """Store a verdict that came after its operation was given up."""
        if uid == self._asking_for:
            self._came_meanwhile[uid] = verdict
        else:
            self._take_late(uid, verdict)

    def close(self) -> None:
        """Stop asking; open operations stay open in the journal."""
        self._closed = True

    def _expect(self, operation: Operation) -> None:
        self._expected[operation.record.order.uid] = operation
        while len(self._expected) > _MOST:
            del self._expected[next(iter(self._expected))]

    def _take_late(self, uid: str, verdict: Verdict) -> None:
        operation = self._expected.pop(uid, None)
        if operation is None:
            self.log.warn("{device}: a late verdict on an operation that is closed", device=self._name)
            return
        self.log.warn("{device}: a late verdict on operation {n}", device=self._name, n=operation.n)
        Deferred.fromCoroutine(self._complete(operation, verdict)).addErrback(
            lambda reason: self.log.failure("{device}: a late verdict was not stored", reason, device=self._name)
        )

    async def _complete(self, operation: Operation, verdict: Verdict) -> None:
        now = await self._journal.now(operation)
        # Only an operation that was closed without certainty is corrected.
        if now.open or (isinstance(verdict, Approved) and now.state is State.REFUSED):
            try:
                await self._journal.end(now, verdict, heard=False)
            except AnotherSum as other:
                await self._doubt(now, other.refused(), str(other))


def keeper(journal: PayJournal, operation: Callable[[], Operation], early: bool) -> Keep:
    """The function by which a driver makes a verdict durable.

    :param operation: the operation as it is at that moment.
    :param early: whether the terminal may still take the verdict back.
    """

    async def keep(verdict: Verdict) -> None:
        if early:
            await journal.hold(operation(), verdict)
            reached("payment.verdict-kept")
            return
        # No caller has received it yet; when one is about to, it is stored once more.
        await journal.end(operation(), verdict, heard=False)
        reached("payment.verdict-kept")

    return keep
