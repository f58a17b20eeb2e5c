"""The operations of one terminal in the journal, and the steps by which the journal learns of them.

Three outcomes need care. One that the store did not confirm is held here and stored before anything else. One that
no caller has received is marked, so that a repeat gets it. And the sum of each is compared with the one that was
asked for (`dmtwisted.terminals.sums`), because no driver has another way to a durable outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from dmtwisted.answers import res_of, warned
from dmtwisted.clock import ServiceClock
from dmtwisted.results import Refused
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Intent, OperationQuery, OperationRow, Outcome, State, StoreFailed
from dmtwisted.terminals.answers import Caller, answer_of, charged_before, masked, refusal_of
from dmtwisted.terminals.interface import LABELLED, Approved, Order, Task, Verdict
from dmtwisted.terminals.sums import AnotherSum, checked

KIND = "pay"
"""The kind of a terminal's operations in the journal."""

RECALLED, RECALLED_FOR_MS = 20, 7 * 86_400_000
"""Operations from which a driver learns after a start, and how old they may be in milliseconds: terminals get
exchanged."""

MOVING: tuple[tuple[int, ...], ...] = (
    (Task.PAYMENT, Task.READ_CARD, Task.FINISH),
    (Task.REFUND,),
    (Task.TRANSFER,),
    (Task.CASH_ISSUE,),
    (Task.INSTALMENTS,),
    (Task.INSTALMENTS_REFUND,),
)
"""Tasks that move money when they are approved; those of one set do the same."""

REMEMBERED = 500
"""Operations that are searched for the one that a cancel names, or for the last one with a label."""


class Charged(msgspec.Struct, frozen=True):
    """An earlier operation under the same label that moved money, of which the answer warns."""

    sum: int
    at: int
    """When it began."""
    rrn: str


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the journal keeps of an operation besides its answer: enough to recover it and to answer late."""

    order: Order
    caller: Caller
    sent: bool = False
    """Whether the request may have been sent."""
    snapshot: bytes = b""
    verdict: Verdict | None = None
    unheard: bool = False
    """It ended when no caller was waiting for it any more."""
    before: Charged | None = None
    other: Approved | None = None
    """The approval over a sum that cannot be right, for which a person has to read the slip."""

    def warned(self, answer: bytes) -> bytes:
        """``answer`` of this operation, with a warning when its label was charged before."""
        if self.before is None:
            return answer
        charged = charged_before(self.before.sum, self.before.at, self.before.rrn, self.caller.language)
        return warned(answer, [charged])


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Record).decode


@dataclass(frozen=True)
class Operation:
    """One operation of a terminal; ``at`` is its start in milliseconds since 1970."""

    n: int
    task: int
    at: int
    state: State
    record: Record
    answer: bytes = b""

    @property
    def open(self) -> bool:
        """Whether its end is unknown."""
        return self.state in (State.INTENDED, State.UNKNOWN)


def operation_of(row: OperationRow) -> Operation:
    """The operation of a row of the journal."""
    return Operation(row.n, row.task, row.at, row.state, _decode(row.request), row.answer)


class PayJournal:
    """The operations of one terminal. Every method raises `StoreFailed` when the store did not confirm it."""

    def __init__(self, device_n: int, store: IStore, clock: ServiceClock) -> None:
        self._n, self._store, self._clock = device_n, store, clock
        self._unconfirmed: dict[int, Outcome] = {}
        self._contradicted: dict[int, AnotherSum] = {}

    async def begin(self, task: int, record: Record) -> Operation:
        """Store an operation before its effect."""
        at = self._clock.now()
        intent = Intent(self._n, KIND, task, record.caller.label.lower(), b"", at, [], _encode(record))
        reserved = await self._store.reserve(intent)
        return Operation(reserved.n, task, at, State.INTENDED, record)

    async def sent(self, operation: Operation, snapshot: bytes) -> Operation:
        """Store that its request may be sent from now on."""
        record = msgspec.structs.replace(operation.record, sent=True, snapshot=snapshot)
        await self._store.note(operation.n, _encode(record))
        return replace(operation, record=record)

    async def hold(self, operation: Operation, verdict: Verdict) -> None:
        """Store a verdict that the terminal may still take back: the operation stays open.

        :raises AnotherSum: as `end`.
        """
        verdict = self._checked(operation, verdict)
        record = msgspec.structs.replace(operation.record, sent=True, verdict=verdict, unheard=True)
        await self._store.note(operation.n, _encode(record))

    async def end(self, operation: Operation, verdict: Verdict, heard: bool = True) -> Verdict:
        """Store how it ended, and return that; ``heard`` says whether a caller is waiting for it.

        :raises AnotherSum: when the terminal approved a sum that cannot be right, now or before; nothing is stored.
        """
        verdict = self._checked(operation, verdict)
        await self._end(operation, verdict, heard)
        return verdict

    async def settle(self, operation: Operation, verdict: Verdict) -> None:
        """Store how it ended, as a person says."""
        self._contradicted.pop(operation.n, None)
        await self._end(operation, verdict, heard=False)

    async def _end(self, operation: Operation, verdict: Verdict, heard: bool) -> None:
        old = operation.record
        record = msgspec.structs.replace(old, sent=True, verdict=verdict, unheard=not heard)
        answer = old.warned(answer_of(old.caller, operation.task, operation.at, old.order, verdict))
        state = State.DONE if isinstance(verdict, Approved) else State.REFUSED
        res = res_of(answer)
        await self._conclude(operation, state, record, res, answer)

    def _checked(self, operation: Operation, verdict: Verdict) -> Verdict:
        known = self.contradiction(operation)
        if known is not None:
            raise known
        try:
            return checked(operation.record.order, masked(verdict))
        except AnotherSum as other:
            # Whatever its driver makes of that now, the operation is a person's.
            self._contradicted[operation.n] = other
            raise

    def contradiction(self, operation: Operation) -> AnotherSum | None:
        """The approval of this operation over a sum that cannot be right, if the terminal reported one."""
        record = operation.record
        stored = None if record.other is None else AnotherSum(record.other, record.order.wanted)
        return self._contradicted.get(operation.n, stored)

    async def close(self, operation: Operation, refused: Refused) -> Operation:
        """Store that nothing happened, and why."""
        return await self._refuse(operation, State.REFUSED, refused)

    async def doubt(self, operation: Operation, refused: Refused) -> Operation:
        """Store that the end is unknown, and what the caller was answered."""
        other = self.contradiction(operation)
        if other is not None:
            record = msgspec.structs.replace(operation.record, sent=True, verdict=None, other=other.approved)
            operation = replace(operation, record=record)
        return await self._refuse(operation, State.UNKNOWN, refused)

    async def _refuse(self, operation: Operation, state: State, refused: Refused) -> Operation:
        record = operation.record
        answer = record.warned(refusal_of(record.caller, operation.task, operation.at, refused))
        return await self._conclude(operation, state, record, refused.res.code, answer)

    async def _conclude(
        self, operation: Operation, state: State, record: Record, res: int, answer: bytes
    ) -> Operation:
        outcome = Outcome(
            n=operation.n,
            device_n=self._n,
            state=state,
            at=self._clock.now(),
            res=res,
            answer=answer,
            fiscal_numbers={},
            register_state=None,
            request=_encode(record),
        )
        # Until the store confirms it, the caller that waits does not get it.
        self._unconfirmed[operation.n] = msgspec.structs.replace(
            outcome, request=_encode(msgspec.structs.replace(record, unheard=True))
        )
        await self._store.conclude(outcome)
        self._unconfirmed.pop(operation.n, None)
        return replace(operation, state=state, record=record, answer=answer)

    async def never_sent(self, operation: Operation, refused: Refused) -> None:
        """Store that nothing happened, though the store fails just now."""
        try:
            await self.close(operation, refused)
        except StoreFailed:
            # It is stored before anything else is asked of the store.
            return

    async def heard(self, operation: Operation) -> None:
        """Store that a caller has received its answer."""
        if operation.record.unheard:
            await self._store.note(operation.n, _encode(msgspec.structs.replace(operation.record, unheard=False)))

    async def open_ones(self, hand_in: bool = True) -> list[Operation]:
        """Every operation whose end is unknown, oldest first.

        :param hand_in: whether to store first what the store did not confirm. Only in the device's turn: otherwise
            another service may have had the device meanwhile, and may have stored its own end.
        """
        if hand_in:
            await self._hand_in()
        return [operation_of(row) for row in await self._store.unresolved(self._n) if row.kind == KIND]

    async def _hand_in(self) -> None:
        """Store what the store did not confirm before."""
        for n in list(self._unconfirmed):
            outcome = self._unconfirmed.get(n)
            if outcome is not None:
                await self._store.conclude(outcome)
                self._unconfirmed.pop(n, None)

    async def latest(self, label: str) -> Operation | None:
        """The latest operation with this label, of all that have one for an empty label, in whatever state."""
        await self._hand_in()
        row = await self._store.latest(self._n, KIND, label.lower())
        if row is None or row.task in LABELLED:
            return None if row is None else operation_of(row)
        found = await self._find(OperationQuery([self._n], [KIND], limit=REMEMBERED))
        return next((operation for operation in found if operation.task in LABELLED), None)

    async def now(self, operation: Operation) -> Operation:
        """``operation`` as the journal has it now."""
        return next(await self._find(OperationQuery(n=operation.n)), operation)

    async def charged(self, task: int, label: str) -> Charged | None:
        """The latest operation like ``task`` with this label that moved money."""
        alike = next((tasks for tasks in MOVING if task in tasks), ())
        query = OperationQuery([self._n], [KIND], [State.DONE], key=label.lower())
        for operation in await self._find(query) if alike else ():
            verdict = operation.record.verdict
            if operation.task not in alike or not isinstance(verdict, Approved):
                continue
            # Of a payment that stopped at its card the first operation has the card only.
            if operation.task != Task.READ_CARD or verdict.rrn or verdict.cancelid:
                return Charged(verdict.kopecks, operation.at, verdict.rrn)
        return None

    async def last_ended(self) -> Operation | None:
        """The last operation that does not run just now."""
        states = [State.DONE, State.REFUSED, State.UNKNOWN]
        return next(await self._find(OperationQuery([self._n], [KIND], states, limit=1)), None)

    async def snapshots(self) -> list[bytes]:
        """The snapshots before the terminal's latest operations."""
        since = self._clock.now() - RECALLED_FOR_MS
        found = await self._find(OperationQuery([self._n], [KIND], limit=RECALLED))
        return [operation.record.snapshot for operation in found if operation.at >= since]

    async def named(self, cancelid: str) -> Approved | None:
        """The approved operation of the open batch that a cancel with ``cancelid`` means, if it is one of ours."""
        for operation in await self._find(OperationQuery([self._n], [KIND], [State.DONE], limit=REMEMBERED)):
            if operation.task == Task.SETTLEMENT:
                # Each batch numbers its operations again (docs/reference/terminals.md#rule-14).
                return None
            verdict = operation.record.verdict
            if isinstance(verdict, Approved) and verdict.cancelid.lstrip("0") == cancelid.lstrip("0"):
                return verdict
        return None

    async def _find(self, query: OperationQuery) -> Iterator[Operation]:
        found = await self._store.find_operations(msgspec.structs.replace(query, counted=False))
        return map(operation_of, found.operations)
