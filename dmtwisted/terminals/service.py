"""The terminal service: every operation stored, no payment lost, none taken twice.

The path of an operation, and what happens if the power fails after each step:

1. the intent is stored: nothing was sent, so after a restart it is closed as never started;
2. the terminal's state before the operation is read and stored: from here on the request may have been sent, and
   after a restart the terminal is asked how it ended;
3. the request is sent;
4. the verdict is stored, then acknowledged where the wire has an acknowledgement, then answered.

The end of an operation that breaks after step 2 is unknown until the terminal reports it
(`dmtwisted.terminals.recovery`). Meanwhile the device takes no other operation, and the service never sends the
request again: a repeat belongs to the caller (docs/reference/terminals.md#recovery-rules).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from zope.interface.verify import verifyObject

from dmtwisted.answers import repeated
from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.observed import Observed
from dmtwisted.requests import TASK_EXPECTED, TaskRequest, malformed
from dmtwisted.results import Action, Refused, Res, one_of
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import OperationRow, State, StoreFailed
from dmtwisted.terminals.answers import (
    Caller,
    answer_of,
    broken_off,
    masked,
    masked_card,
    no_protocol,
    nothing_sent,
    refusal_of,
)
from dmtwisted.terminals.interface import (
    READING,
    TASKS,
    Activity,
    Approved,
    Declined,
    IInquired,
    ITerminal,
    Order,
    ReadCard,
    Task,
    TerminalProgress,
    Verdict,
)
from dmtwisted.terminals.journal import KIND, Operation, PayJournal, Record, operation_of
from dmtwisted.terminals.orders import label_of, order_of, same_order
from dmtwisted.terminals.recovery import LEAST_ASKING, Recovery, keeper
from dmtwisted.wording import wording
from protocols.errors import WireError

__all__ = ["KIND", "Caller", "TerminalService"]

NEW, STORED_ONLY, STORED_FIRST = 0, 1, 2
"""Values of ``transaction_search`` (specification 3.4)."""

REPEATED_WITHIN = 600.0
"""Seconds within which the same request under the same label is a repeat of one whose answer was lost."""


@dataclass(eq=False)
class Run:
    """A running operation; after a stop at the card, ``operation`` becomes the one of task 7."""

    operation: Operation
    card: Approved | None = None
    over: bool = False
    """It has ended, though its end may not be stored yet."""
    outcome: Deferred[Verdict | Refused] = field(default_factory=Deferred)


AT_FAULT = frozenset(
    res.code
    for res in (
        Res.BANK_DOWN,
        Res.NO_BANK_CONNECTION,
        Res.NO_PAPER,
        Res.TERMINAL_JOURNAL_FULL,
        Res.SETTLEMENT_REQUIRED,
    )
)
"""Why no payment would succeed, though the terminal answers."""

UNREACHED = frozenset(
    {Res.TERMINAL_CONNECT, Res.TERMINAL_SILENT, Res.TERMINAL_UNREACHABLE, Res.TERMINAL_ADDRESS_UNREACHABLE}
)
"""With these it does not answer."""


class TerminalService:
    """One terminal at work. The caller holds the device's turn, except where a section says otherwise."""

    log = Logger()

    def __init__(self, device_n: int, name: str, store: IStore, driver: Any, clock: ServiceClock) -> None:
        verifyObject(ITerminal, driver)
        self._name, self._clock = name, clock
        self.driver = driver
        self._journal = PayJournal(device_n, store, clock)
        self._recovery = Recovery(name, self._journal, driver, clock, self._progressed)
        self._watchers: list[Callable[[TerminalProgress], None]] = []
        self._running: Run | None = None
        # The run that stops at its card, between tasks 6 and 7.
        self._waiting: Run | None = None
        self._unwanted = False
        self._recalled = False
        self.progress = TerminalProgress(Activity.IDLE)
        self.observed = Observed(clock)
        driver.listen(self._moved, self._recovery.late)

    # Tasks

    async def perform(self, request: TaskRequest, language: str) -> bytes:
        """Do a task of ``type`` 3."""
        pay = request.pay
        task = pay.task if pay is not None and pay.task is not None else -1
        if task == Task.TOTALS:
            # It carries no label: one that is given neither finds it nor hides an operation.
            request = msgspec.structs.replace(request, transaction_id="", transaction_search=NEW)
        caller = Caller(request.device, request.source, request.tag, label_of(request.transaction_id), language)
        try:
            return await self._perform(request, caller)
        except Refused as refused:
            return refusal_of(caller, task, self._clock.now(), refused)
        except StoreFailed as error:
            self.log.error("{device}: the store failed: {why}", device=self._name, why=str(error))
            return refusal_of(caller, task, self._clock.now(), Refused(Res.STORE_FAILED, note=wording(error)))

    async def _perform(self, request: TaskRequest, caller: Caller) -> bytes:
        pay = request.pay
        if pay is None:
            raise Refused(Res.MISSING_OBJECT, "pay")
        if pay.task is None:
            raise malformed("pay.task", TASK_EXPECTED)
        if pay.task not in TASKS:
            raise Refused(Res.UNKNOWN_PAY_TASK, pay.task, note=one_of(*sorted(TASKS)))
        labelled = bool(request.transaction_id.strip())
        if pay.task == Task.STORED:
            return await self._stored(caller.label if labelled else "")
        if pay.task not in self.driver.capabilities:
            raise Refused(
                Res.TASK_NOT_SUPPORTED, pay.task, note=one_of(*sorted({*self.driver.capabilities, Task.STORED}))
            )
        order = order_of(pay)
        if labelled:
            try:
                known = await self._known(order, caller.label, request.transaction_search)
            except StoreFailed as error:
                # There may be an operation under this label already, with an unknown end.
                raise Refused(Res.STORE_FAILED, action=Action.COLLISION, note=wording(error)) from error
            if known is not None:
                return await self._again(known)
        if request.transaction_search == STORED_ONLY:
            raise Refused(Res.TRANSACTION_NOT_FOUND)
        if pay.task == Task.FINISH:
            return await self._finish(caller, labelled, order.sum, pay.proceed)
        run = await self._begin(order, caller, labelled and request.transaction_search == NEW)
        try:
            verdict = await (self._stop_at_card(run) if pay.task == Task.READ_CARD else self._run(run))
        except Refused as refused:
            return run.operation.record.warned(refusal_of(caller, pay.task, run.operation.at, refused))
        record = run.operation.record
        return record.warned(answer_of(caller, pay.task, run.operation.at, record.order, verdict))

    async def pay(self, order: Order, caller: Caller) -> tuple[int, Verdict]:
        """An operation as a part of a larger task: its number in the journal, and its verdict.

        :raises Refused: with ``res_action`` 2 when the end is unknown; else nothing happened.
        """
        run = await self._begin(order, caller)
        return run.operation.n, await self._run(run)

    async def outcome(self, label: str) -> Verdict | None:
        """How the operation with this label ended; `None` when there was none, or the terminal never took it.

        :raises Refused: with ``res_action`` 2 when the end is unknown.
        """
        known = await self._found(label)
        if known is None:
            return None
        if known.open:
            raise broken_off(None, Action.COLLISION)
        await self._journal.heard(known)
        return known.record.verdict

    async def _begin(self, order: Order, caller: Caller, again: bool = False) -> Run:
        """Store the intent, unless another operation is in the way.

        :param again: whether to look for an earlier one that moved money under the same label.
        :raises Refused: 5073 while a payment stops at its card, 5022 while the end of an operation is unknown.
            Neither is stored: a refusal must not follow the open operation of the same label.
        """
        if self._waiting is not None:
            raise Refused(Res.CONFIRMATION_ACTIVE)
        await self.resolve()
        await self._recall()
        if order.task == Task.CANCEL:
            order = await self._whole_or_part(order)
        before = await self._journal.charged(order.task, caller.label) if again else None
        self._running = run = Run(await self._journal.begin(order.task, Record(order, caller, before=before)))
        reached("payment.intent-stored")
        return run

    async def _recall(self) -> None:
        """Let the driver learn from earlier operations, once after the start."""
        if not self._recalled:
            for snapshot in await self._journal.snapshots():
                self.driver.recall(snapshot)
            self._recalled = True

    async def _whole_or_part(self, order: Order) -> Order:
        """A cancel may name a sum; the journal knows whether that is the whole operation."""
        meant = await self._journal.named(order.cancelid)
        if meant is not None and order.sum in (0, meant.kopecks):
            return msgspec.structs.replace(order, sum=meant.kopecks)
        return msgspec.structs.replace(order, part=order.sum > 0)

    # Stored operations

    async def _stored(self, label: str) -> bytes:
        """Task 17: the stored operation with this label, or the last one of all without a label."""
        known = await self._found(label)
        if known is None:
            raise Refused(Res.TRANSACTION_NOT_FOUND)
        return await self._again(known)

    async def _known(self, order: Order, label: str, search: int) -> Operation | None:
        """The operation whose answer a request gets instead of a new operation (specification 3.4).

        ``transaction_search`` 0 asks for a new one. The same request gets the answer of an operation whose end stays
        unknown, because the terminal takes nothing then, and a lost approval where the settings say so.
        """
        latest = await self._journal.latest(label)
        if latest is None:
            return None
        waiting = self._waiting
        if order.task == Task.FINISH and waiting is not None and waiting.operation.n == latest.n:
            return None
        if search != NEW:
            return await self._found(label)
        recent = self._clock.now() - latest.at <= REPEATED_WITHIN * 1000
        returned = self.driver.return_lost_answer and (recent or latest.open)
        if not same_order(latest.record.order, order) or not (returned or latest.open):
            return None
        if latest.open:
            latest = await self._found(label)
        if latest is None or latest.open:
            return latest
        return latest if returned and latest.state is State.DONE and latest.record.unheard else None

    async def _found(self, label: str) -> Operation | None:
        """The latest operation with this label, of all for an empty one; an open one is resolved first."""
        known = await self._journal.latest(label)
        if known is None or not known.open:
            return known
        if self._waiting is not None:
            raise Refused(Res.CONFIRMATION_ACTIVE)
        try:
            await self.resolve()
        except Refused as refused:
            self.log.info("{device}: operation {n}: {why}", device=self._name, n=known.n, why=str(refused))
        return await self._journal.latest(label)

    async def _again(self, known: Operation) -> bytes:
        if not known.answer:
            raise broken_off(None, Action.COLLISION)
        await self._journal.heard(known)
        return repeated(known.answer)

    # One operation

    async def _run(self, run: Run) -> Verdict:
        """The terminal's verdict, stored.

        :raises Refused: when nothing was started, which is stored; with ``res_action`` 2 when the end is unknown.
        """
        try:
            await self._send_off(run)
            record = run.operation.record
            keep = keeper(self._journal, lambda: run.operation, self.driver.keeps_early)
            return await self._end_of(run, self.driver.perform(record.order, record.snapshot, keep))
        finally:
            self._at_rest()

    async def _send_off(self, run: Run) -> None:
        """Everything before the first byte of the request; afterwards the journal says that it may have been sent."""
        self._unwanted = False
        self._progressed(TerminalProgress(Activity.CONNECTING))
        operation = run.operation
        try:
            snapshot = await self.driver.snapshot(operation.record.order)
            reached("payment.snapshot-asked")
            if self._unwanted:
                raise Refused(Res.OPERATION_CANCELLED)
        except Refused as refused:
            if refused.res is not Res.OPERATION_CANCELLED:
                self._failed(refused, refused.res in UNREACHED)
            await self._journal.close(operation, refused)
            raise
        except WireError as error:
            never = nothing_sent(error)
            self._failed(never)
            await self._journal.close(operation, never)
            raise never from error
        if operation.task in READING:
            return
        try:
            run.operation = await self._journal.sent(operation, snapshot)
            reached("payment.send-noted")
        except StoreFailed:
            # A repeat has to learn that nothing was taken, not that the store failed then.
            await self._journal.never_sent(operation, Refused(Res.REQUEST_NOT_TAKEN))
            raise

    async def _end_of(self, run: Run, ending: Awaitable[Verdict]) -> Verdict:
        """The driver's verdict, or what the terminal answers after a break; stored.

        :raises Refused: as `_run`.
        """
        try:
            try:
                try:
                    verdict = masked(await ending)
                finally:
                    run.over = True
                self._heard(verdict)
                reached("payment.verdict-heard")
                verdict = await self._journal.end(run.operation, verdict)
            except StoreFailed:
                raise
            except Exception as error:
                why = self._journal.contradiction(run.operation) or error
                if isinstance(why, Refused):
                    self._failed(why, why.res in UNREACHED)
                    await self._journal.close(run.operation, why)
                    raise
                if not isinstance(why, WireError | CancelledError):
                    self.log.failure("{device}: an internal error", device=self._name)
                return await self._after_break(run.operation, why)
            reached("payment.outcome-stored")
            return verdict
        except StoreFailed as error:
            # It may have happened: a repeat has to find that out first.
            self.log.error("{device}: an outcome was not stored: {why}", device=self._name, why=str(error))
            raise Refused(Res.STORE_FAILED, action=Action.COLLISION, note=wording(error)) from error

    def _failed(self, why: Refused, line: bool = True) -> None:
        """The line failed, or the terminal refused; an open port is no sign that a failed line is well again."""
        port_only = IInquired.providedBy(self.driver) and cast(Any, self.driver).port_only
        self.observed.failed(why, lasting=line and bool(port_only))

    def _heard(self, verdict: Verdict) -> None:
        """What a verdict shows about the terminal."""
        if isinstance(verdict, Declined) and verdict.res in AT_FAULT:
            self.observed.failed(verdict.refused(), lasting=True)
        else:
            self.observed.worked()

    async def _after_break(self, operation: Operation, error: Exception) -> Verdict:
        self._failed(broken_off(error, Action.COLLISION))
        if operation.task in READING:
            refused = broken_off(error, Action.REPEAT)
            await self._journal.close(operation, refused)
            raise refused from error
        left = self.driver.wait_s - (self._clock.now() - operation.at) / 1000
        verdict = or_raised(await self._recovery.find_out(operation, error, max(left, LEAST_ASKING)))
        self._heard(verdict)
        return verdict

    def _at_rest(self) -> None:
        self._running = None
        self._progressed(TerminalProgress(Activity.IDLE))

    # Read a card and wait (tasks 6 and 7)

    async def _stop_at_card(self, run: Run) -> Verdict:
        """The card that was read, or the end of the payment when it did not stop.

        From here on the payment is watched without a caller: if it is not continued, the terminal decides, and its
        decision is stored.
        """
        try:
            await self._send_off(run)
            record = run.operation.record
            keep = keeper(self._journal, lambda: run.operation, self.driver.keeps_early)
            read = await self.driver.read_card(record.order, record.snapshot, keep)
        except BaseException:
            self._at_rest()
            raise
        assert isinstance(read, ReadCard)
        run.card = None if read.card is None else masked_card(read.card)
        self._waiting = run if read.card is not None else None
        Deferred.fromCoroutine(self._watch(run, read.ended))
        if run.card is not None and not run.over:
            return run.card
        return or_raised(await run.outcome)

    async def _watch(self, run: Run, ended: Deferred[Verdict]) -> None:
        outcome: Verdict | Refused
        try:
            outcome = await self._end_of(run, ended)
        except Refused as refused:
            outcome = refused
        except Exception as error:
            self.log.failure("{device}: an internal error", device=self._name)
            outcome = Refused(Res.INTERNAL, type(error).__name__, action=Action.COLLISION)
        self._waiting = None
        self._at_rest()
        run.outcome.callback(outcome)

    async def _finish(self, caller: Caller, labelled: bool, wanted: int, proceed: bool) -> bytes:
        """Task 7: its own operation in the journal, so that its label finds how the payment ended."""
        run = self._waiting
        if run is None or run.card is None:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        first, card = run.operation, run.card
        order = first.record.order
        if not labelled:
            caller = msgspec.structs.replace(caller, label=first.record.caller.label)
        if proceed and wanted:
            order = msgspec.structs.replace(order, corrected=wanted)
        record = msgspec.structs.replace(first.record, order=order, caller=caller)
        finishing = await self._journal.begin(Task.FINISH, record)
        if run.over:
            # It ended by itself at this very moment: both operations get that end.
            outcome = await run.outcome
            await self._copy(finishing, outcome)
        else:
            run.operation = finishing
            await self._keep_card(first, card)
            await self._go_on(order, proceed)
            outcome = await run.outcome
        if isinstance(outcome, Refused):
            return record.warned(refusal_of(caller, Task.FINISH, finishing.at, outcome))
        return record.warned(answer_of(caller, Task.FINISH, finishing.at, order, outcome))

    async def _copy(self, operation: Operation, outcome: Verdict | Refused) -> None:
        if not isinstance(outcome, Refused):
            await self._journal.end(operation, outcome)
        elif outcome.action is not Action.COLLISION:
            await self._journal.close(operation, outcome)

    async def _keep_card(self, first: Operation, card: Approved) -> None:
        """Store the card as the end of task 6: from now on the money belongs to task 7."""
        try:
            await self._journal.end(first, card)
        except StoreFailed as error:
            self.log.error("{device}: the card was not stored: {why}", device=self._name, why=str(error))

    async def _go_on(self, order: Order, proceed: bool) -> None:
        try:
            await (self.driver.proceed(order) if proceed else self.driver.interrupt())
        except (Refused, WireError) as error:
            # Only the end of the payment shows whether it came in time.
            self.log.warn("{device}: task 7: {why}", device=self._name, why=str(error))

    # Operations with an unknown end

    async def resolve(self) -> None:
        """Find out from the terminal how every open operation ended.

        :raises Refused: 5022 when one of them stays open; the terminal takes no other one meanwhile.
        """
        if self._waiting is None:
            await self._recovery.resolve()

    async def settle(self, row: OperationRow, approved: bool) -> None:
        """Close an open operation as a person reports who has read the slip.

        :raises Refused: 5073 while a payment stops at its card, 5074 when the operation is not open.
        """
        if self._waiting is not None:
            raise Refused(Res.CONFIRMATION_ACTIVE)
        await self._recovery.settle(operation_of(row), approved)

    # While an operation runs: none of these methods needs the device's turn.

    async def interrupt(self) -> None:
        """Ask the running operation to stop; its end shows whether that was in time.

        See docs/reference/terminals.md#interrupt.

        :raises Refused: 5074 when nothing runs, 5029 when the terminal has no such message, 5000 when it refuses.
        """
        if self._running is None:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        self._unwanted = True
        operation = self._running.operation
        if not operation.record.sent and operation.task not in READING:
            # Its request was not sent yet, and now it will not be.
            return
        try:
            await self.driver.interrupt()
        except WireError as error:
            raise Refused(Res.TERMINAL_ERROR, wording(error), action=Action.REPEAT) from error

    def watch(self, watcher: Callable[[TerminalProgress], None]) -> Callable[[], None]:
        """Call ``watcher`` at each change of the progress; the returned function ends that."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def _moved(self, progress: TerminalProgress) -> None:
        """The terminal's progress in an operation; during a ping or a question it does not count."""
        if self._running is not None:
            self._progressed(progress)

    def _progressed(self, progress: TerminalProgress) -> None:
        if progress != self.progress:
            self.progress = progress
            for watcher in list(self._watchers):
                watcher(progress)

    @property
    def at_work(self) -> bool:
        """Whether an operation runs; a question about an earlier one does not count."""
        return self._running is not None

    def status(self) -> dict[str, object]:
        """``info`` of ``transaction-status``: what the terminal does, and for which operation."""
        doing: dict[str, object] = {"state": self.progress.state, "text": self.progress.text}
        if self._running is not None:
            operation = self._running.operation
            doing |= {"task": operation.task, "transaction_id": operation.record.caller.label}
        return doing

    async def last(self) -> bytes:
        """The stored answer of the last operation that does not run just now.

        :raises Refused: 5013 when there is none.
        """
        known = await self._journal.last_ended()
        if known is None:
            raise Refused(Res.TRANSACTION_NOT_FOUND)
        return repeated(known.answer)

    # Service methods and management

    def has(self, name: str) -> bool:
        """Whether the terminal's protocol has a service method."""
        return name in self.driver.services

    async def serve(self, name: str) -> dict[str, object]:
        """Do a service method of the terminal; return the members of ``info``.

        :raises Refused: 303 when the protocol lacks it, 5073 while a payment stops at its card.
        """
        if not self.has(name):
            raise Refused(Res.UNKNOWN_TERMINAL_PROTOCOL, note=no_protocol(self._name, self.driver.protocol))
        if self._waiting is not None:
            raise Refused(Res.CONFIRMATION_ACTIVE)
        try:
            served: dict[str, object] = await self.driver.serve(name)
        except WireError as error:
            raise nothing_sent(error) from error
        return served

    async def check(self) -> None:
        """See `ITerminal.check`.

        :raises Refused: when the terminal would not work now.
        """
        if self._waiting is not None:
            raise Refused(Res.CONFIRMATION_ACTIVE)
        try:
            await self.driver.check()
        except WireError as error:
            raise nothing_sent(error) from error

    async def inquire(self) -> bool | None:
        """Whether the terminal is there, unless a payment waits at its card: see `Inquired`.

        :raises Refused: when it is not.
        """
        if self._waiting is not None:
            return False
        if not IInquired.providedBy(self.driver):
            return None
        try:
            found: bool | None = await self.driver.inquire()
        except WireError as error:
            raise nothing_sent(error) from error
        return found

    async def state(self) -> dict[str, object]:
        """The state of the terminal, for people."""
        running = self._running.operation.n if self._running is not None else 0
        return {
            "capabilities": sorted(self.driver.capabilities | {Task.STORED}),
            "progress": self.progress.state,
            "in_doubt": any(operation.n != running for operation in await self._journal.open_ones(hand_in=False)),
        }

    def close(self) -> None:
        """Close the line; a running operation stays open in the journal until the next service finds out its end."""
        self._recovery.close()
        self.driver.close()


def or_raised(outcome: Verdict | Refused) -> Verdict:
    """A verdict; a refusal is raised."""
    if isinstance(outcome, Refused):
        raise outcome
    return outcome
