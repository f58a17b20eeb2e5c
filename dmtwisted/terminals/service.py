"""The terminal service: every operation stored, no payment lost, none taken twice (terminals.md 3).

The path of an operation, and what happens if the power goes after each step:

1. the intent is stored: nothing was sent, so after a restart it is closed as never begun;
2. what tells it from the operation before it is asked of the terminal and stored: from here on it may have been sent,
   and after a restart the terminal is asked what became of it;
3. the request goes out;
4. the verdict is stored, then acknowledged where the wire has such a thing, then answered.

A break after step 2 is unknown until the terminal tells. While an operation is unknown the device takes no other one,
and nothing is ever sent again by us: a repeat belongs to the caller (rules 3 to 5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4, uuid5

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface.verify import verifyObject

from dmtwisted.answers import Answer, amount, refusal, render, repeated, with_member
from dmtwisted.clock import ServiceClock, stamp17
from dmtwisted.requests import PayTask, TaskRequest, malformed
from dmtwisted.results import Action, Refused, Res
from dmtwisted.security import mask_pan
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Intent, OperationRow, Outcome, State, StoreFailed
from dmtwisted.terminals.interface import (
    FINISH,
    IDLE,
    READ_CARD,
    READING,
    STORED,
    TASKS,
    Approved,
    Declined,
    Found,
    ITerminal,
    NeverStarted,
    Order,
    Progress,
    Undecided,
    Verdict,
)
from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError

KIND = "pay"
"""The kind of a terminal's operations in the journal."""

LABELS = UUID("6f2c3d5e-2f2b-5c55-9e0a-0d6d1c1b7a10")
"""The name space of the labels that we make ourselves (specification 2.2: UUID version 5)."""

NEW, STORED_ONLY, STORED_FIRST = 0, 1, 2
"""Values of ``transaction_search`` (specification 3.4)."""

CURRENCY = "ГРН"
"""``info.currency`` of every terminal (http-api 3.3)."""


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the journal holds of an operation besides its answer: enough to ask after it, and to answer late."""

    order: Order
    caller: Caller
    sent: bool = False
    """Whether the request may have left; without it nothing was sent."""
    snapshot: bytes = b""
    verdict: Verdict | None = None


class Caller(msgspec.Struct, frozen=True):
    """What an answer echoes of its request."""

    device: str
    source: str
    tag: str
    label: str
    language: str


encode_kept = msgspec.json.Encoder().encode
decode_kept = msgspec.json.Decoder(Kept).decode


class TerminalService:
    """One terminal at work. Its caller holds the device's turn, but for what says otherwise."""

    log = Logger()

    def __init__(self, device_n: int, name: str, store: IStore, driver: Any, clock: ServiceClock) -> None:
        verifyObject(ITerminal, driver)
        self._n, self._name = device_n, name
        self._store, self._driver, self._clock = store, driver, clock
        self._watchers: list[Callable[[Progress], None]] = []
        # `None` until the journal was asked whether something is open.
        self._open: bool | None = None
        self._held: OperationRow | None = None
        self.progress = Progress(IDLE)
        driver.listen(self._progressed, self._late)

    # Tasks

    async def perform(self, request: TaskRequest, language: str) -> bytes:
        """Do a task of ``type`` 3; refusals of the terminal are answers like any other, and stored.

        :raises Refused: when nothing was begun: a wrong request, a task that the terminal lacks, an open question.
        """
        pay = request.pay
        if pay is None:
            raise Refused(Res.MISSING_OBJECT, "pay")
        if pay.task is None:
            raise malformed("pay.task", "a task number is expected")
        if pay.task not in TASKS:
            raise Refused(Res.UNKNOWN_PAY_TASK, pay.task)
        if pay.task == STORED:
            return await self._stored(request)
        if pay.task not in self._driver.capabilities:
            raise Refused(Res.TASK_NOT_SUPPORTED, pay.task)
        order = order_of(pay)
        if request.transaction_search != NEW:
            known = await self._latest(request.transaction_id)
            if known is not None:
                return repeated(known.answer)
            if request.transaction_search == STORED_ONLY:
                raise Refused(Res.TRANSACTION_NOT_FOUND)
        caller = Caller(request.device, request.source, request.tag, label_of(request.transaction_id), language)
        if pay.task == FINISH:
            return await self._finish(request, caller, order, pay.proceed)
        if self._held is not None:
            raise Refused(Res.CONFIRMATION_ACTIVE)
        await self.resolve()
        row, kept = await self._reserve(order, caller)
        return await self._run(row, kept)

    async def pay(self, order: Order, caller: Caller) -> tuple[int, Verdict]:
        """An operation as a part of something larger: its number in the journal, and its verdict.

        :raises Refused: when the outcome is unknown (`res_action` 2), or nothing was begun.
        """
        if self._held is not None:
            raise Refused(Res.CONFIRMATION_ACTIVE)
        await self.resolve()
        row, kept = await self._reserve(order, caller)
        return row.n, await self._verdict(row, kept)

    async def _stored(self, request: TaskRequest) -> bytes:
        """Task 17: the stored operation with this label, or the last one of all when none is given."""
        known = await self._latest(request.transaction_id)
        if known is None:
            raise Refused(Res.TRANSACTION_NOT_FOUND)
        return repeated(known.answer)

    async def _latest(self, label: str) -> OperationRow | None:
        """The latest operation with this label, or of all for an empty one; an unknown one is asked after first."""
        known = await self._store.latest(self._n, KIND, label)
        if known is not None and known.state in (State.INTENDED, State.UNKNOWN):
            await self.resolve()
            known = await self._store.latest(self._n, KIND, label)
        return known

    async def _reserve(self, order: Order, caller: Caller) -> tuple[OperationRow, Kept]:
        kept = Kept(order, caller)
        at = self._clock.now()
        row = OperationRow(
            n=0,
            device_n=self._n,
            kind=KIND,
            task=order.task,
            key=caller.label,
            fingerprint=b"",
            state=State.INTENDED,
            at=at,
            res=0,
            answer=b"",
            documents=[],
            request=encode_kept(kept),
        )
        self._open = True
        reserved = await self._store.reserve(
            Intent(self._n, KIND, order.task, caller.label, b"", at, [], encode_kept(kept))
        )
        self._open = False
        return msgspec.structs.replace(row, n=reserved.n), kept

    async def _run(self, row: OperationRow, kept: Kept) -> bytes:
        """Perform what was reserved: the answer, whatever it is."""
        try:
            if kept.order.task == READ_CARD:
                return await self._hold(row, kept)
            verdict = await self._verdict(row, kept)
        except Refused as refused:
            return self._refusal(row, kept, refused)
        return self._answer(row, kept, verdict)

    async def _verdict(self, row: OperationRow, kept: Kept) -> Verdict:
        """The terminal's verdict, stored.

        :raises Refused: when nothing was begun, which is stored; with ``res_action`` 2 when nobody knows the end.
        """
        kept = await self._send_off(row, kept)

        async def keep(verdict: Verdict) -> None:
            await self._conclude(row, kept, verdict)

        try:
            verdict: Verdict = await self._driver.perform(kept.order, kept.snapshot, keep)
        except Refused as refused:
            await self._close(row, kept, refused)
            raise
        except WireError as error:
            found = await self._find_out(row, kept, error)
            if isinstance(found, Refused):
                raise found from error
            verdict = found
        except StoreFailed:
            self._open = True
            raise
        finally:
            self._progressed(Progress(IDLE))
        await self._conclude(row, kept, verdict)
        return verdict

    async def _send_off(self, row: OperationRow, kept: Kept) -> Kept:
        """Everything before the first byte of the request: afterwards the journal says that it may have left."""
        try:
            snapshot = b"" if kept.order.task in READING else await self._driver.snapshot(kept.order)
        except Refused as refused:
            await self._close(row, kept, refused)
            raise
        except WireError as error:
            not_sent = nothing_sent(error)
            await self._close(row, kept, not_sent)
            raise not_sent from error
        sent = msgspec.structs.replace(kept, sent=True, snapshot=snapshot)
        self._open = True
        await self._store.note(row.n, encode_kept(sent))
        return sent

    # Read a card and wait (tasks 6 and 7)

    async def _hold(self, row: OperationRow, kept: Kept) -> bytes:
        kept = await self._send_off(row, kept)
        try:
            card = await self._driver.hold(kept.order)
        except Refused as refused:
            await self._close(row, kept, refused)
            raise
        except WireError as error:
            found = await self._find_out(row, kept, error)
            if isinstance(found, Refused):
                raise found from error
            return self._answer(row, kept, found)
        self._held = msgspec.structs.replace(row, request=encode_kept(kept))
        # The answer tells of the card alone; the operation is stored when it has ended.
        return self._answer(row, kept, card)

    async def _finish(self, request: TaskRequest, caller: Caller, order: Order, proceed: bool) -> bytes:
        row, self._held = self._held, None
        if row is None:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        held = decode_kept(row.request)
        kept = msgspec.structs.replace(held, caller=msgspec.structs.replace(caller, label=held.caller.label))
        final = msgspec.structs.replace(row, task=FINISH)

        async def keep(verdict: Verdict) -> None:
            await self._conclude(final, kept, verdict)

        try:
            if not proceed:
                self._driver.interrupt()
            verdict = await self._driver.proceed(order, held.order, keep)
        except Refused as refused:
            await self._close(final, kept, refused)
            return self._refusal(final, kept, refused)
        except WireError as error:
            found = await self._find_out(final, kept, error)
            if isinstance(found, Refused):
                return self._refusal(final, kept, found)
            verdict = found
        finally:
            self._progressed(Progress(IDLE))
        await self._conclude(final, kept, verdict)
        return self._answer(final, kept, verdict)

    # What became of it

    async def resolve(self) -> None:
        """Ask the terminal after every operation whose end nobody knows.

        :raises Refused: with ``res_action`` 2 when one of them stays open; the terminal takes no other one meanwhile.
        """
        if self._open is False or self._held is not None:
            return
        for row in await self._store.unresolved(self._n):
            kept = decode_kept(row.request)
            if not kept.sent:
                await self._close(row, kept, Refused(Res.REQUEST_NOT_TAKEN))
                continue
            found = await self._find_out(row, kept, None)
            if isinstance(found, Refused):
                self._open = True
                raise found
        self._open = False

    async def settle(self, row: OperationRow, approved: bool) -> None:
        """Close an open operation as a person says it ended, who looked at the slip.

        :raises Refused: 1058 when it is not open.
        """
        if row.state not in (State.INTENDED, State.UNKNOWN):
            raise Refused(Res.TAG_NOT_FOUND)
        kept = decode_kept(row.request)
        said: Verdict = Approved(sum=kept.order.sum, text="settled by a person")
        if not approved:
            said = Declined.of(Res.REQUEST_NOT_TAKEN, text="settled by a person")
        await self._conclude(row, kept, said)
        self._open = None

    async def _find_out(self, row: OperationRow, kept: Kept, broken: WireError | None) -> Verdict | Refused:
        """What the terminal says of an operation, stored; a refusal when it stays open or never began."""

        async def keep(verdict: Verdict) -> None:
            await self._conclude(row, kept, verdict)

        why = str(broken) if broken is not None else ""
        found: Found
        if kept.order.task in READING:
            found = NeverStarted()
        else:
            try:
                found = await self._driver.find_out(kept.order, kept.snapshot, keep)
            except (Refused, WireError) as error:
                found = Undecided(str(error))
        if isinstance(found, Approved | Declined):
            await self._conclude(row, kept, found)
            return found
        if isinstance(found, NeverStarted):
            refused = Refused(Res.REQUEST_NOT_TAKEN, aq_errortxt=why)
            await self._close(row, kept, refused)
            return refused
        self.log.warn(
            "{device}: nobody knows what became of operation {n}: {why}", device=self._name, n=row.n, why=found.why
        )
        refused = in_doubt(broken, self._driver.wait_s, found.why)
        await self._store.conclude(
            self._outcome(row, State.UNKNOWN, refused.res.code, self._refusal(row, kept, refused))
        )
        self._open = True
        return refused

    async def _conclude(self, row: OperationRow, kept: Kept, verdict: Verdict) -> None:
        """Store a verdict with its answer."""
        verdict = masked(verdict)
        done = isinstance(verdict, Approved)
        res = 0 if isinstance(verdict, Approved) else verdict.res
        answer = self._answer(row, kept, verdict)
        self._open = True
        outcome = self._outcome(row, State.DONE if done else State.REFUSED, res, answer)
        whole = encode_kept(msgspec.structs.replace(kept, sent=True, verdict=verdict))
        await self._store.conclude(msgspec.structs.replace(outcome, request=whole))
        self._open = False

    async def _close(self, row: OperationRow, kept: Kept, refused: Refused) -> None:
        """Store that nothing happened, and why."""
        await self._store.conclude(
            self._outcome(row, State.REFUSED, refused.res.code, self._refusal(row, kept, refused))
        )
        self._open = False

    def _outcome(self, row: OperationRow, state: State, res: int, answer: bytes) -> Outcome:
        return Outcome(
            n=row.n,
            device_n=self._n,
            state=state,
            at=self._clock.now(),
            res=res,
            answer=answer,
            fiscal_numbers={},
            register_state=None,
        )

    # Beside a running operation

    def interrupt(self) -> None:
        """Ask the running operation to stop; needs no turn.

        :raises Refused: 5029 when the terminal has no such message.
        """
        self._driver.interrupt()

    def watch(self, told: Callable[[Progress], None]) -> Callable[[], None]:
        """Tell of every progress from now on; what is returned ends that."""
        self._watchers.append(told)
        return lambda: self._watchers.remove(told)

    def _progressed(self, progress: Progress) -> None:
        if progress != self.progress:
            self.progress = progress
            for told in list(self._watchers):
                told(progress)

    def _late(self, uid: str, verdict: Verdict) -> None:
        """A verdict of an operation that was given up: the stored row learns of it (rule 18)."""
        Deferred.fromCoroutine(self._take_late(uid, verdict)).addErrback(
            lambda reason: self.log.failure("{device}: a late verdict was not stored", reason, device=self._name)
        )

    async def _take_late(self, uid: str, verdict: Verdict) -> None:
        for row in await self._store.unresolved(self._n):
            kept = decode_kept(row.request)
            if kept.order.uid == uid:
                self.log.info("{device}: a late verdict on operation {n}", device=self._name, n=row.n)
                self._held = None
                await self._conclude(row, kept, verdict)

    async def serve(self, name: str) -> dict[str, object]:
        """A service method of the terminal: the members of ``info`` that tell of it (http-api 3.4).

        :raises Refused: 303 when the terminal lacks it.
        """
        if name not in self._driver.services:
            raise Refused(Res.UNKNOWN_TERMINAL_PROTOCOL, self._name, name)
        try:
            told: dict[str, object] = await self._driver.serve(name)
        except WireError as error:
            raise nothing_sent(error) from error
        return told

    async def last(self) -> bytes:
        """The stored answer of the last operation.

        :raises Refused: 5013 when there is none.
        """
        known = await self._latest("")
        if known is None:
            raise Refused(Res.TRANSACTION_NOT_FOUND)
        return repeated(known.answer)

    async def check(self) -> None:
        """Try the terminal: see `ITerminal.check`."""
        try:
            await self._driver.check()
        except WireError as error:
            raise nothing_sent(error) from error

    async def state(self) -> dict[str, object]:
        """How the terminal stands, for people."""
        return {
            "capabilities": sorted(self._driver.capabilities | {STORED}),
            "progress": self.progress.state,
            "in_doubt": bool(await self._store.unresolved(self._n)) and self._held is None,
        }

    async def look_up(self, request: TaskRequest) -> bytes:
        """Registers alone are looked up by tag (specification 4.3)."""
        raise malformed("type", f"{self._name} is a terminal and takes 3")

    def close(self) -> None:
        """Let go of the line."""
        self._driver.close()

    # Answers

    def _answer(self, row: OperationRow, kept: Kept, verdict: Verdict) -> bytes:
        if isinstance(verdict, Declined):
            return self._refusal(row, kept, verdict.refused())
        caller = kept.caller
        answer = render(
            Answer(
                source=caller.source,
                device=caller.device,
                tag=caller.tag,
                task_status=1,
                type=3,
                task=row.task,
                dt=stamp17(row.at),
                info=info_of(verdict),
            )
        )
        return with_member(answer, "transaction_id", caller.label)

    def _refusal(self, row: OperationRow, kept: Kept, refused: Refused) -> bytes:
        caller = kept.caller
        asked = TaskRequest(
            device=caller.device, type=3, tag=caller.tag, source=caller.source, pay=PayTask(task=row.task)
        )
        answer = refusal(asked, refused, caller.language, row.at)
        return with_member(answer, "transaction_id", caller.label)


def order_of(pay: PayTask) -> Order:
    """What the terminal is asked for, with a name of its own.

    :raises Refused: 2000 for a sum that cannot be, 1098 without what the task needs.
    """
    if pay.sum < 0 or pay.cash < 0:
        raise malformed("pay.sum" if pay.sum < 0 else "pay.cash", "the number cannot be negative")
    for task, member, value in (
        (1, "sum", pay.sum),
        (2, "sum", pay.sum),
        (2, "refundid", pay.refundid),
        (3, "cancelid", pay.cancelid),
        (4, "sum", pay.sum),
        (6, "sum", pay.sum),
        (14, "sum", pay.sum),
        (15, "sum", pay.sum),
        (16, "sum", pay.sum),
        (16, "agreementNum", pay.agreement),
    ):
        if pay.task == task and not value:
            raise Refused(Res.MISSING_OBJECT, f"pay.{member}")
    assert pay.task is not None
    return Order(
        task=pay.task,
        uid=str(uuid4()),
        sum=pay.sum,
        cash=pay.cash,
        rrn=pay.refundid,
        cancelid=pay.cancelid,
        merchant=pay.merchant,
        agreement=pay.agreement,
        parts=pay.parts,
        service=pay.service,
        param=pay.param,
    )


def label_of(given: str) -> str:
    """The ``transaction_id`` of an operation: as given when it is a UUID, else one of ours."""
    try:
        return str(UUID(given))
    except ValueError:
        return str(uuid5(LABELS, str(uuid4())))


def info_of(approved: Approved) -> dict[str, Any]:
    """``info`` of an answer (http-api 3.3); members without content stay out."""
    told = {
        "restxt": approved.text or "OK",
        "cardmask": approved.cardmask,
        "paysys": approved.paysys,
        "bankname": approved.bank,
        "sum": amount(approved.sum),
        "payid": approved.auth_code,
        "refundid": approved.rrn,
        "cancelid": approved.cancelid,
        "receipt": approved.slip,
        "sliptxt": approved.slip,
        "currency": CURRENCY,
        "term_id": approved.terminal_id,
        "merch": approved.merchant,
        "hstFld63Sf89": approved.agreement,
        "discountName": approved.discount,
        "partial": approved.partial,
    }
    needed = ("restxt", "cardmask", "paysys", "bankname", "sum", "payid", "refundid", "cancelid", "currency")
    return {name: value for name, value in told.items() if value or name in needed}


def masked(verdict: Verdict) -> Verdict:
    """``verdict`` with six and four digits of the card, whatever the terminal sent (rule 19)."""
    if isinstance(verdict, Declined):
        return verdict
    return msgspec.structs.replace(verdict, cardmask=mask_pan(verdict.cardmask))


def nothing_sent(error: WireError) -> Refused:
    """What a caller hears of a line that broke before the request was sent."""
    if isinstance(error, NotReached):
        return Refused(Res.TERMINAL_CONNECT, aq_errortxt=error.reason)
    if isinstance(error, Garbled):
        return Refused(Res.TERMINAL_ERROR, str(error))
    return Refused(Res.HANDSHAKE_SILENT, aq_errortxt=str(error))


def in_doubt(broken: WireError | None, wait_s: float, why: str) -> Refused:
    """What a caller hears of an operation whose end nobody knows (terminals.md 2.1)."""
    note = why if broken is None else str(broken)
    if isinstance(broken, LineLost):
        return Refused(Res.INTERNAL, note, action=Action.COLLISION, aq_errortxt=why)
    seconds = broken.seconds if isinstance(broken, Silent) else wait_s
    return Refused(Res.TERMINAL_SILENT, round(seconds * 1000), action=Action.COLLISION, aq_errortxt=why)
