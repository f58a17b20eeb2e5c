"""What became of an operation whose answer was lost: the terminal is asked, and never told again (rules 3 to 6, 18).

An operation is in doubt until one of these is certain: how it ended, that the terminal never took it, or what a
person read on the slip. What is certain is never made uncertain again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from dmtwisted.crash_points import reached
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.values import State, StoreFailed
from dmtwisted.terminals.answers import broken_off, masked
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
from protocols.errors import WireError

LEAST_ASKING = 8.0
"""Seconds that asking after an operation has, though the operation's own time is over: a caller waits for ten seconds
longer than the terminal (specification 4.7)."""

LATER_ASKING = 30.0
"""Seconds that asking has before the next operation and at start."""

PERSISTENCE = 15.0
"""Seconds for which a terminal that cannot be asked is tried again while a caller waits: networks come back."""

BETWEEN_TRIES = 2.0
"""Seconds between two of these tries."""

SETTLED = "settled by a person"
"""``restxt`` of an operation whose end a person told."""

_MOST = 100
"""Operations in doubt for which a late word of the terminal is still listened for."""


class Doubts:
    """The operations of one terminal that may have happened.

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
        self._listened_for: dict[str, Operation] = {}
        self._asking_after = ""
        self._heard_meanwhile: dict[str, Verdict] = {}
        self._closed = False

    async def resolve(self) -> None:
        """Ask after every operation whose end nobody knows. Its caller holds the device's turn.

        :raises Refused: 5022 when one of them stays open; the terminal takes no other one meanwhile (rule 5).
        """
        for operation in await self._journal.open_ones():
            if not operation.kept.sent:
                await self._journal.close(operation, Refused(Res.REQUEST_NOT_TAKEN))
                reached("payment.never-sent")
                continue
            found = await self.find_out(operation, None, LATER_ASKING)
            if isinstance(found, Refused) and found.action is Action.COLLISION:
                raise Refused(Res.TERMINAL_BUSY, note=f"# {operation.n}", aq_errortxt=found.aq_errortxt)

    async def find_out(self, operation: Operation, error: Exception | None, patience: float) -> Verdict | Refused:
        """What the terminal says of an operation, stored; a refusal when it stays open or never began.

        :param error: what broke it; `None` when its caller is not waiting any more.
        :param patience: seconds that asking may take.
        """
        uid = operation.kept.order.uid
        self._listen_for(operation)
        self._asking_after = uid
        self._progressed(TerminalProgress(Activity.ASKING))
        try:
            found = await self._ask(operation, patience, PERSISTENCE if error is not None else 0.0)
            reached("payment.asked-after")
            # The operation's own late word goes before any answer about it.
            return await self._store(operation, self._heard_meanwhile.pop(uid, found), error)
        finally:
            self._asking_after = ""
            self._progressed(TerminalProgress(Activity.IDLE))
            if uid in self._heard_meanwhile:
                self._take_late(uid, self._heard_meanwhile.pop(uid))

    async def _ask(self, operation: Operation, patience: float, persistence: float) -> Found:
        """What the terminal says in ``patience`` seconds; one that cannot be asked is tried again for a while."""
        asking: Deferred[Found] = Deferred.fromCoroutine(
            self._ask_again(operation, patience, min(patience, persistence))
        )
        try:
            return await asking.addTimeout(patience + 1, self._clock)
        except TimeoutError:
            return Undecided(f"no answer in {patience:g} s")

    async def _ask_again(self, operation: Operation, patience: float, persistence: float) -> Found:
        kept, keep = operation.kept, keeping(self._journal, lambda: operation, self._early)
        if self._early and kept.verdict is not None:
            # What a driver knew of it may be lost with the process that it lived in.
            self._driver.remember(kept.order.uid, kept.verdict)
        # The service's clock can be moved, so it is a timer that tells.
        tired = self._clock.callLater(persistence, lambda: None)
        try:
            while not self._closed:
                try:
                    found: Found = await self._driver.find_out(kept.order, kept.snapshot, keep, patience)
                    return found
                except (Refused, WireError) as error:
                    if not persistence or not tired.active():
                        return Undecided(str(error))
                await self._pause(BETWEEN_TRIES)
        except (StoreFailed, CancelledError):
            raise
        except Exception as error:
            self.log.failure("{device}: a fault of ours in asking", device=self._name)
            return Undecided(type(error).__name__)
        finally:
            if tired.active():
                tired.cancel()
        return Undecided("the terminal was let go of")

    def _pause(self, seconds: float) -> Deferred[None]:
        over: Deferred[None] = Deferred(lambda _: call.cancel())
        call = self._clock.callLater(seconds, over.callback, None)
        return over

    async def _store(self, operation: Operation, found: Found, error: Exception | None) -> Verdict | Refused:
        if isinstance(found, Approved | Declined):
            self._listened_for.pop(operation.kept.order.uid, None)
            verdict = masked(found)
            await self._journal.end(operation, verdict, heard=error is not None)
            return verdict
        kept = (await self._journal.now(operation)).kept.verdict
        if kept is not None and not self._early:
            # A driver made it durable, and was then broken off.
            return kept
        if isinstance(found, NeverStarted):
            refused = Refused(Res.REQUEST_NOT_TAKEN, aq_errortxt=str(error) if error is not None else "")
            await self._journal.close(operation, refused)
            reached("payment.never-taken")
            return refused
        refused = broken_off(error, self._driver.wait_s, Action.COLLISION, found.why)
        # Who asks again and again hears it each time; the log has it once.
        if not self._closed and operation.state is not State.UNKNOWN:
            self.log.warn(
                "{device}: nobody knows what became of operation {n}: {why}",
                device=self._name,
                n=operation.n,
                why=found.why,
            )
            await self._journal.doubt(operation, refused)
            reached("payment.doubt-stored")
        return refused

    async def settle(self, operation: Operation, approved: bool) -> None:
        """Close an open operation as a person says it ended, who looked at the slip.

        :raises Refused: 5074 when it is not open.
        """
        if not operation.open:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        said: Verdict = Approved(sum=operation.kept.order.wanted, text=SETTLED)
        if not approved:
            said = Declined.of(Res.REQUEST_NOT_TAKEN, text=SETTLED)
        await self._journal.end(operation, said, heard=False)

    def late(self, uid: str, verdict: Verdict) -> None:
        """A verdict of an operation that was given up: the stored row learns of it (rule 18)."""
        if uid == self._asking_after:
            self._heard_meanwhile[uid] = verdict
        else:
            self._take_late(uid, verdict)

    def close(self) -> None:
        """Ask no more; what is open stays open in the journal."""
        self._closed = True

    def _listen_for(self, operation: Operation) -> None:
        self._listened_for[operation.kept.order.uid] = operation
        while len(self._listened_for) > _MOST:
            del self._listened_for[next(iter(self._listened_for))]

    def _take_late(self, uid: str, verdict: Verdict) -> None:
        operation = self._listened_for.pop(uid, None)
        if operation is None:
            self.log.warn("{device}: a late verdict on an operation that is closed", device=self._name)
            return
        self.log.warn("{device}: a late verdict on operation {n}", device=self._name, n=operation.n)
        Deferred.fromCoroutine(self._complete(operation, verdict)).addErrback(
            lambda reason: self.log.failure("{device}: a late verdict was not stored", reason, device=self._name)
        )

    async def _complete(self, operation: Operation, verdict: Verdict) -> None:
        now = await self._journal.now(operation)
        # What was closed for want of better knowledge is corrected; what is certain already stays.
        if now.open or (isinstance(verdict, Approved) and now.state is State.REFUSED):
            await self._journal.end(operation, verdict, heard=False)


def keeping(journal: PayJournal, operation: Callable[[], Operation], early: bool) -> Keep:
    """What a driver makes a verdict durable with.

    :param operation: tells whose it is by then.
    :param early: whether the terminal may still take it back.
    """

    async def keep(verdict: Verdict) -> None:
        if early:
            await journal.hold(operation(), verdict)
            reached("payment.verdict-kept")
            return
        # Nobody has heard of it yet: that is kept once more, when somebody is about to.
        await journal.end(operation(), verdict, heard=False)
        reached("payment.verdict-kept")

    return keep
