"""What the journal holds of a terminal's operations, and the verbs by which it learns of them.

Two things are certain though the store may not know them: an outcome that it could not take is kept here and handed
in before anything else; and an approval of which no caller has heard is marked, so that a repeat finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec

from dmtwisted.clock import ServiceClock
from dmtwisted.results import Refused
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Intent, OperationQuery, OperationRow, Outcome, State, StoreFailed
from dmtwisted.terminals.answers import Caller, masked, told, told_refusal
from dmtwisted.terminals.interface import Approved, Order, Task, Verdict

KIND = "pay"
"""The kind of a terminal's operations in the journal."""

RECALLED, RECALLED_FOR_MS = 20, 7 * 86_400_000
"""Operations from which a driver learns after a start, and for how many milliseconds: terminals get exchanged."""

REMEMBERED = 500
"""Operations that are looked through for the one that a cancel names."""


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of an operation besides its answer: enough to ask after it, and to answer late."""

    order: Order
    caller: Caller
    sent: bool = False
    """Whether the request may have left; without it nothing was sent."""
    snapshot: bytes = b""
    verdict: Verdict | None = None
    unheard: bool = False
    """It ended when nobody was waiting for it any more."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Kept).decode


@dataclass(frozen=True)
class Operation:
    """One operation of a terminal; ``at`` is its begin in milliseconds since 1970."""

    n: int
    task: int
    at: int
    state: State
    kept: Kept
    answer: bytes = b""

    @property
    def open(self) -> bool:
        """Whether nobody knows its end."""
        return self.state in (State.INTENDED, State.UNKNOWN)


def operation_of(row: OperationRow) -> Operation:
    """The operation that a row of the journal tells of."""
    return Operation(row.n, row.task, row.at, row.state, _decode(row.request), row.answer)


class PayJournal:
    """The operations of one terminal. Every verb raises `StoreFailed` when the store did not confirm it."""

    def __init__(self, device_n: int, store: IStore, clock: ServiceClock) -> None:
        self._n, self._store, self._clock = device_n, store, clock
        self._untold: dict[int, Outcome] = {}

    async def begin(self, task: int, kept: Kept) -> Operation:
        """Keep an operation before its effect."""
        at = self._clock.now()
        intent = Intent(self._n, KIND, task, kept.caller.label.lower(), b"", at, [], _encode(kept))
        reserved = await self._store.reserve(intent)
        return Operation(reserved.n, task, at, State.INTENDED, kept)

    async def sent(self, operation: Operation, snapshot: bytes) -> Operation:
        """Keep that its request may leave from now on."""
        kept = msgspec.structs.replace(operation.kept, sent=True, snapshot=snapshot)
        await self._store.note(operation.n, _encode(kept))
        return replace(operation, kept=kept)

    async def hold(self, operation: Operation, verdict: Verdict) -> None:
        """Keep a verdict that the terminal may still take back: the operation stays open until its end is certain."""
        kept = msgspec.structs.replace(operation.kept, sent=True, verdict=masked(verdict), unheard=True)
        await self._store.note(operation.n, _encode(kept))

    async def end(self, operation: Operation, verdict: Verdict, heard: bool = True) -> Operation:
        """Keep how it ended; ``heard`` tells whether somebody is waiting to be told."""
        verdict, kept = masked(verdict), operation.kept
        kept = msgspec.structs.replace(kept, sent=True, verdict=verdict, unheard=not heard)
        done = isinstance(verdict, Approved)
        answer = told(kept.caller, operation.task, operation.at, kept.order, verdict)
        res = 0 if isinstance(verdict, Approved) else verdict.res
        return await self._conclude(operation, State.DONE if done else State.REFUSED, kept, res, answer)

    async def close(self, operation: Operation, refused: Refused) -> Operation:
        """Keep that nothing happened, and why."""
        return await self._refuse(operation, State.REFUSED, refused)

    async def doubt(self, operation: Operation, refused: Refused) -> Operation:
        """Keep that nobody knows how it ended, and what its caller heard."""
        return await self._refuse(operation, State.UNKNOWN, refused)

    async def _refuse(self, operation: Operation, state: State, refused: Refused) -> Operation:
        answer = told_refusal(operation.kept.caller, operation.task, operation.at, refused)
        return await self._conclude(operation, state, operation.kept, refused.res.code, answer)

    async def _conclude(self, operation: Operation, state: State, kept: Kept, res: int, answer: bytes) -> Operation:
        outcome = Outcome(
            n=operation.n,
            device_n=self._n,
            state=state,
            at=self._clock.now(),
            res=res,
            answer=answer,
            fiscal_numbers={},
            register_state=None,
            request=_encode(kept),
        )
        # Until the store confirms it, whoever waits will not hear of it.
        self._untold[operation.n] = msgspec.structs.replace(
            outcome, request=_encode(msgspec.structs.replace(kept, unheard=True))
        )
        await self._store.conclude(outcome)
        self._untold.pop(operation.n, None)
        return replace(operation, state=state, kept=kept, answer=answer)

    async def never_sent(self, operation: Operation, refused: Refused) -> None:
        """Keep that nothing happened, though the store fails just now."""
        try:
            await self.close(operation, refused)
        except StoreFailed:
            # It is handed in before anything else is asked of the store.
            return

    async def heard(self, operation: Operation) -> None:
        """Keep that a caller has been told how it ended."""
        if operation.kept.unheard:
            await self._store.note(operation.n, _encode(msgspec.structs.replace(operation.kept, unheard=False)))

    async def open_ones(self, hand_in: bool = True) -> list[Operation]:
        """Every operation whose end nobody knows, oldest first.

        :param hand_in: whether the store gets first what it did not confirm. Only in the device's turn: without it
            another service may have had the device meanwhile, and have stored an end of its own.
        """
        if hand_in:
            await self._hand_in()
        return [operation_of(row) for row in await self._store.unresolved(self._n) if row.kind == KIND]

    async def _hand_in(self) -> None:
        """Let the store have what it did not confirm before."""
        for n in list(self._untold):
            outcome = self._untold.get(n)
            if outcome is not None:
                await self._store.conclude(outcome)
                self._untold.pop(n, None)

    async def latest(self, label: str) -> Operation | None:
        """The latest operation with this label, of all for an empty one, whatever became of it."""
        await self._hand_in()
        row = await self._store.latest(self._n, KIND, label.lower())
        return None if row is None else operation_of(row)

    async def now(self, operation: Operation) -> Operation:
        """What the journal holds of ``operation`` by now."""
        found = await self._store.find_operations(OperationQuery(n=operation.n))
        return operation_of(found.operations[0]) if found.operations else operation

    async def last_ended(self) -> Operation | None:
        """The last operation that is not on its way just now."""
        states = [State.DONE, State.REFUSED, State.UNKNOWN]
        found = await self._store.find_operations(OperationQuery([self._n], [KIND], states, limit=1))
        return operation_of(found.operations[0]) if found.operations else None

    async def snapshots(self) -> list[bytes]:
        """What was asked of the terminal before its latest operations."""
        found = await self._store.find_operations(OperationQuery([self._n], [KIND], limit=RECALLED))
        since = self._clock.now() - RECALLED_FOR_MS
        return [operation_of(row).kept.snapshot for row in found.operations if row.at >= since]

    async def named(self, cancelid: str) -> Approved | None:
        """The approved operation of the open batch that a cancel with ``cancelid`` means, if it is one of ours."""
        query = OperationQuery([self._n], [KIND], [State.DONE], limit=REMEMBERED)
        for row in (await self._store.find_operations(query)).operations:
            if row.task == Task.SETTLEMENT:
                # Numbers begin anew with each batch (rule 14).
                return None
            verdict = operation_of(row).kept.verdict
            if isinstance(verdict, Approved) and verdict.cancelid.lstrip("0") == cancelid.lstrip("0"):
                return verdict
        return None
