"""Batch mode: the card and the receipt as one act (specification 4.6, http-api 5).

The saga of a sale or return, and what happens if the power goes after each step:

1. the receipt is drawn up and thrown away again: a till's mistake is told before anybody holds a card;
2. the saga is stored, with the request as it came: after a restart nothing was charged, and it is closed;
3. the payment is named and the name stored: after a restart the terminal is asked what became of it;
4. the terminal is asked to pay; its service stores that for itself, under that name;
5. that it paid is stored: from here on the payment is either fiscalised, taken back, or seen by a person;
6. the register fiscalises, under the till's own tag, with the card's data in the payments;
7. the saga is done. Printing comes after it and is no part of it.

A repeat of the tag goes on where the saga stands; so does the service when it starts. It ends in one of four ways:
nothing happened; paid and fiscalised; paid and taken back; or it stands among the unfinished operations.

Turns are taken in one order, register, terminal, printer, so that two sagas never wait for each other.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b
from typing import Any
from uuid import UUID, uuid4, uuid5

import msgspec
from twisted.logger import Logger

from dmtwisted.answers import Warning, warned
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.drivers import REGISTER, TERMINAL
from dmtwisted.papers import DEFAULT_PRINTER, Papers
from dmtwisted.registers.documents import Receipt
from dmtwisted.registers.interface import PRINTED, RETURN, SALE, X_REPORT, Z_REPORT, Done
from dmtwisted.registers.settings import BatchSettings
from dmtwisted.requests import (
    TYPE_FISCAL,
    TYPE_LOOKUP,
    FiscalRequest,
    PayRequest,
    PayTask,
    ReceiptRequest,
    TaskRequest,
    malformed,
    read_json,
    read_task,
)
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Intent, OperationRow, Outcome, State, StoreFailed
from dmtwisted.terminals.interface import (
    CANCEL,
    PAYMENT,
    REFUND,
    SETTLEMENT,
    TOTALS,
    Approved,
    Declined,
    Order,
    Verdict,
)
from dmtwisted.terminals.service import Caller, TerminalService

KIND = "pkg"
"""The kind of a saga in the journal; it belongs to the register."""

LABELS = UUID("0d5b8a52-7f0e-5d0a-b0a0-2a3f8d9f6c11")
"""The name space of the payments of sagas."""


class Step(StrEnum):
    """How far a saga came."""

    BEGUN = "begun"
    """Nothing was asked of the terminal."""
    PAYING = "paying"
    """The payment has a name; it may have been asked for."""
    PAID = "paid"
    """The terminal took the money; there is no receipt yet."""
    TAKING_BACK = "taking_back"
    """The receipt was refused for good, and the cancel of the payment has a name."""


class Saga(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the journal holds of a saga."""

    register: int
    body: bytes
    """The request as it came."""
    language: str
    step: Step = Step.BEGUN
    terminal: str = ""
    label: str = ""
    """The name of the payment in the terminal's journal, or of its cancel."""
    paid: Approved | None = None
    why: str = ""
    """What keeps it from its end, for people."""


encode_saga = msgspec.json.Encoder().encode
decode_saga = msgspec.json.Decoder(Saga).decode


class Batch:
    """Runs sagas. Whoever asks has counted the task among the running ones."""

    log = Logger()

    def __init__(self, devices: Devices, store: IStore, clock: ServiceClock, papers: Papers) -> None:
        self._devices, self._store, self._clock, self._papers = devices, store, clock, papers
        self._open: dict[int, set[int]] = {}

    def warn(self, register_n: int, answer: bytes, language: str) -> bytes:
        """``answer`` of a register, with a warning while one of its sagas waits for a person."""
        if not self._open.get(register_n):
            return answer
        return warned(answer, [Warning.of(Res.COLLISION_UNSOLVABLE, language, UNFINISHED)])

    async def execute(self, request: TaskRequest, body: bytes, language: str) -> bytes:
        """The answer to a request to ``/dm/execute-pkg``.

        :raises Refused: when it was not fiscalised.
        """
        if request.type not in (TYPE_FISCAL, TYPE_LOOKUP):
            raise malformed("type", "batch mode takes 0 and 1")
        device = self._devices.by_name(request.device)
        if device.kind != REGISTER:
            raise malformed("device", f"{device.name} is a {device.kind}; batch mode begins with a register")
        turns = device.turns
        await turns.take()
        try:
            device = self._devices.by_id(device.row.dev_id)
            settings: BatchSettings = device.settings.batch or BatchSettings()
            done = await self._in_turn(device, settings, request, body, language)
        finally:
            turns.give_back()
        if request.skipprint or done.form is None or request.task not in PRINTED:
            return done.answer
        return await self._papers.print(done, settings.printer or DEFAULT_PRINTER, language)

    async def _in_turn(
        self, device: Device, settings: BatchSettings, request: TaskRequest, body: bytes, language: str
    ) -> Done:
        if request.type == TYPE_FISCAL and request.task in (SALE, RETURN):
            known = await self._known(device, request)
            if known is not None:
                return known
            row = await self._store.latest(device.row.n, KIND, request.tag)
            if row is not None and row.state in (State.INTENDED, State.UNKNOWN):
                if row.fingerprint != fingerprint(request):
                    raise Refused(Res.COLLISION_DIFFERS)
                return await self._go_on(device, row, repeated=True)
            if settings.terminal and await self._amount(device, settings, request):
                return await self._begin(device, settings, request, body, language)
        if request.type == TYPE_LOOKUP:
            found: Done = await device.built.look_up(request)
            return found
        done: Done = await device.built.perform(request, language)
        if request.task in (X_REPORT, Z_REPORT) and settings.terminal:
            return await self._with_totals(settings, request, done, language)
        return done

    async def _known(self, device: Device, request: TaskRequest) -> Done | None:
        """What a tag that is fiscalised already answers: neither the card nor the register is asked again."""
        try:
            done: Done = await device.built.look_up(request)
        except Refused as refused:
            if refused.res is not Res.TAG_NOT_FOUND:
                raise
            return None
        return done

    async def _amount(self, device: Device, settings: BatchSettings, request: TaskRequest) -> int:
        """What the terminal is asked for, in kopecks, after the whole receipt was seen to be right (step 1)."""
        whole = with_payments(request, settings, device.built)
        receipt: Receipt = await device.built.rehearse(whole)
        return sum(pay.sum for pay in receipt.pays if pay.type in settings.pay_types)

    # The saga

    async def _begin(
        self, device: Device, settings: BatchSettings, request: TaskRequest, body: bytes, language: str
    ) -> Done:
        pay_order(request, 0, settings.merchant)
        saga = Saga(device.row.n, body, language, terminal=settings.terminal)
        intent = Intent(
            device_n=device.row.n,
            kind=KIND,
            task=request.task,
            key=request.tag,
            fingerprint=fingerprint(request),
            at=self._clock.now(),
            documents=[],
            request=encode_saga(saga),
        )
        reserved = await self._store.reserve(intent)
        return await self._pay(device, settings, request, reserved.n, saga)

    async def _go_on(self, device: Device, row: OperationRow, repeated: bool) -> Done:
        """From the last durable step of a saga that a break left open.

        :param repeated: whether the till asked again, so that somebody is there to hold a card.
        """
        saga = decode_saga(row.request)
        request = msgspec.structs.replace(read_task(read_json(saga.body)), tag=row.key)
        settings: BatchSettings = device.settings.batch or BatchSettings()
        if saga.step is Step.PAID:
            return await self._fiscalise(device, settings, request, row.n, saga)
        verdict = None if saga.step is Step.BEGUN else await self._outcome(saga)
        if saga.step is Step.TAKING_BACK:
            return await self._taken_back(row.n, saga, request, verdict)
        if isinstance(verdict, Approved):
            return await self._paid(device, settings, request, row.n, saga, verdict)
        if repeated:
            return await self._pay(device, settings, request, row.n, saga)
        refused = Refused(Res.REQUEST_NOT_TAKEN)
        await self._end(row.n, saga, State.REFUSED, refused)
        raise refused

    async def _outcome(self, saga: Saga) -> Verdict | None:
        """What became of the saga's last operation on the terminal; `None` when it never began.

        :raises Refused: when the terminal cannot tell now.
        """
        terminal = self._terminal(saga.terminal)
        await terminal.turns.take()
        try:
            return await self._service(terminal).outcome(saga.label)
        finally:
            terminal.turns.give_back()

    async def _pay(self, device: Device, settings: BatchSettings, request: TaskRequest, n: int, saga: Saga) -> Done:
        """Steps 3 to 5."""
        amount = await self._amount(device, settings, request)
        saga = msgspec.structs.replace(saga, step=Step.PAYING, label=str(uuid5(LABELS, str(uuid4()))))
        order = pay_order(request, amount, settings.merchant)
        terminal = self._terminal(saga.terminal)
        try:
            await terminal.turns.take()
        except Refused as refused:
            await self._end(n, saga, State.REFUSED, refused)
            raise
        try:
            await self._store.note(n, encode_saga(saga))
            _, verdict = await self._service(terminal).pay(order, caller_of(request, saga))
            if isinstance(verdict, Approved) and verdict.sum and verdict.sum != amount:
                verdict = await self._undo(terminal, request, saga, verdict)
        except Refused as refused:
            if refused.action is Action.COLLISION:
                await self._end(n, saga, State.UNKNOWN, refused)
            else:
                await self._end(n, saga, State.REFUSED, refused)
            raise
        finally:
            terminal.turns.give_back()
        if isinstance(verdict, Declined):
            # Nothing was paid, so the same tag may pay anew (design 10).
            declined = verdict.refused()
            await self._end(n, saga, State.REFUSED, declined)
            raise declined
        return await self._paid(device, settings, request, n, saga, verdict)

    async def _undo(self, terminal: Device, request: TaskRequest, saga: Saga, paid: Approved) -> Verdict:
        """Take back what is less than was asked for: a receipt over another sum is not the till's receipt."""
        order = Order(task=CANCEL, uid=str(uuid4()), cancelid=paid.cancelid, rrn=paid.rrn, sum=paid.sum)
        _, undone = await self._service(terminal).pay(order, caller_of(request, saga))
        if isinstance(undone, Approved):
            return Declined.of(Res.BANK_AMOUNT_NOT_ALLOWED, text=paid.partial)
        raise Refused(Res.BANK_AMOUNT_NOT_ALLOWED, action=Action.COLLISION, aq_errortxt=undone.text)

    async def _paid(
        self, device: Device, settings: BatchSettings, request: TaskRequest, n: int, saga: Saga, paid: Approved
    ) -> Done:
        saga = msgspec.structs.replace(saga, step=Step.PAID, paid=paid)
        await self._store.note(n, encode_saga(saga))
        return await self._fiscalise(device, settings, request, n, saga)

    async def _fiscalise(
        self, device: Device, settings: BatchSettings, request: TaskRequest, n: int, saga: Saga
    ) -> Done:
        """Steps 6 and 7."""
        assert saga.paid is not None
        whole = with_card(with_payments(request, settings, device.built), settings, saga.paid)
        try:
            done: Done = await device.built.perform(whole, saga.language)
        except Refused as refused:
            if refused.action is Action.CORRECT and settings.auto_cancel:
                return await self._take_back(n, saga, request, refused)
            # The payment stands; the same tag goes on from here.
            await self._end(n, saga, State.UNKNOWN, refused)
            raise
        await self._end(n, saga, State.DONE, None)
        return done

    async def _take_back(self, n: int, saga: Saga, request: TaskRequest, refused: Refused) -> Done:
        """The receipt will never be: give the money back, and tell the till why there is no receipt."""
        paid = saga.paid
        assert paid is not None
        saga = msgspec.structs.replace(
            saga, step=Step.TAKING_BACK, label=str(uuid5(LABELS, str(uuid4()))), why=refused.errortxt("uk")
        )
        order = Order(task=CANCEL, uid=str(uuid4()), cancelid=paid.cancelid, rrn=paid.rrn, sum=paid.sum)
        verdict: Verdict | None = None
        try:
            terminal = self._terminal(saga.terminal)
            await terminal.turns.take()
            try:
                await self._store.note(n, encode_saga(saga))
                _, verdict = await self._service(terminal).pay(order, caller_of(request, saga))
            finally:
                terminal.turns.give_back()
        except Refused as not_taken_back:
            self.log.error("a payment could not be taken back: {why}", why=str(not_taken_back))
        if isinstance(verdict, Approved):
            await self._end(n, saga, State.REFUSED, refused)
            raise refused
        await self._end(n, saga, State.UNKNOWN, refused)
        raise Refused(refused.res, *refused.details, action=Action.COLLISION, note=UNFINISHED)

    async def _taken_back(self, n: int, saga: Saga, request: TaskRequest, verdict: Verdict | None) -> Done:
        """What a saga comes to whose payment was being taken back."""
        refused = Refused(Res.OPERATION_CANCELLED, aq_errortxt=saga.why)
        if verdict is None:
            return await self._take_back(n, saga, request, refused)
        if isinstance(verdict, Approved):
            await self._end(n, saga, State.REFUSED, None)
            raise refused
        # The terminal will not: a person has to give the money back.
        raise Refused(Res.OPERATION_CANCELLED, action=Action.COLLISION, note=UNFINISHED, aq_errortxt=saga.why)

    async def _end(self, n: int, saga: Saga, state: State, refused: Refused | None) -> None:
        """Store how a saga ended, or that it stays open."""
        open_ones = self._open.setdefault(saga.register, set())
        (open_ones.add if state is State.UNKNOWN else open_ones.discard)(n)
        saga = msgspec.structs.replace(saga, why=refused.errortxt("uk") if refused is not None else saga.why)
        await self._store.conclude(
            Outcome(
                n=n,
                device_n=saga.register,
                state=state,
                at=self._clock.now(),
                res=refused.res.code if refused is not None else 0,
                answer=b"",
                fiscal_numbers={},
                register_state=None,
                request=encode_saga(saga),
            )
        )

    # X and Z

    async def _with_totals(self, settings: BatchSettings, request: TaskRequest, done: Done, language: str) -> Done:
        """The terminal's own report beside the register's; the register's answer stands whatever becomes of it."""
        task = TOTALS if request.task == X_REPORT else SETTLEMENT
        try:
            terminal = self._terminal(settings.terminal)
            await terminal.turns.take()
            try:
                order = Order(task=task, uid=str(uuid4()), merchant=settings.merchant)
                caller = Caller(terminal.name, request.source, "", str(uuid5(LABELS, str(uuid4()))), language)
                _, verdict = await self._service(terminal).pay(order, caller)
            finally:
                terminal.turns.give_back()
            if isinstance(verdict, Declined):
                raise verdict.refused()
        except Refused as refused:
            return done._replace(answer=warned(done.answer, [Warning(refused.res.code, refused.errortxt(language))]))
        return done

    # At start

    async def resume(self) -> None:
        """Go on with every saga that a break left open; what stays open is seen among the unfinished operations."""
        for device in self._devices:
            if device.kind != REGISTER:
                continue
            for row in await self._store.unresolved(device.row.n):
                if row.kind != KIND:
                    continue
                self._open.setdefault(row.device_n, set()).add(row.n)
                try:
                    async with device.turns.turn():
                        await self._go_on(device, row, repeated=False)
                except (Refused, StoreFailed) as error:
                    self.log.warn(
                        "{device}: batch {tag} is open: {why}", device=device.name, tag=row.key, why=str(error)
                    )

    def _terminal(self, name: str) -> Device:
        device = self._devices.by_name(name)
        if device.kind != TERMINAL or not isinstance(device.built, TerminalService):
            raise Refused(Res.UNKNOWN_DEVICE, note=name)
        return device

    def _service(self, terminal: Device) -> TerminalService:
        """The terminal as it is now: whoever waited for its turn may have waited for a change."""
        service: Any = self._devices.by_id(terminal.row.dev_id).built
        assert isinstance(service, TerminalService)
        return service


def fingerprint(request: TaskRequest) -> bytes:
    """What tells a repeat of a request from another one under the same tag."""
    return blake2b(msgspec.msgpack.encode((request.fiscal, request.pay)), digest_size=16).digest()


UNFINISHED = "GET /dm/api/v3/operations?state=unfinished"
"""Where a person sees what the service could not end by itself."""


def caller_of(request: TaskRequest, saga: Saga) -> Caller:
    """The caller of a saga's payment, under the payment's name."""
    return Caller(saga.terminal, request.source, "", saga.label, saga.language)


def pay_order(request: TaskRequest, amount: int, merchant: str) -> Order:
    """What the terminal is asked for: a payment, or what ``pay`` of a return says (http-api 5).

    :raises Refused: 1098 for a return without it, 2000 for one that is no refund and no cancel.
    """
    if request.task == SALE:
        return Order(task=PAYMENT, uid=str(uuid4()), sum=amount, merchant=merchant)
    pay: PayTask | None = request.pay
    if pay is None:
        raise Refused(Res.MISSING_OBJECT, "pay")
    if pay.task not in (REFUND, CANCEL):
        raise malformed("pay.task", "2 (refund) or 3 (cancel) is expected")
    needed, value = ("refundid", pay.refundid) if pay.task == REFUND else ("cancelid", pay.cancelid)
    if not value:
        raise Refused(Res.MISSING_OBJECT, f"pay.{needed}")
    return Order(
        task=pay.task,
        uid=str(uuid4()),
        sum=amount,
        rrn=pay.refundid,
        cancelid=pay.cancelid,
        merchant=pay.merchant or merchant,
    )


def with_payments(request: TaskRequest, settings: BatchSettings, register: Any) -> TaskRequest:
    """``request`` with a payment by card over all of it when a sale names none (http-api 5)."""
    fiscal = request.fiscal
    if fiscal is None or fiscal.receipt is None or fiscal.receipt.pays or request.task != SALE:
        return request
    receipt = fiscal.receipt
    if not receipt.rows or not settings.pay_types:
        return request
    pay = PayRequest(type=str(settings.pay_types[0]), sum=register.owed(receipt))
    return _with_receipt(request, msgspec.structs.replace(receipt, pays=(pay,)))


def with_card(request: TaskRequest, settings: BatchSettings, paid: Approved) -> TaskRequest:
    """``request`` with the card's data in each payment that went to the terminal."""
    fiscal = request.fiscal
    assert fiscal is not None and fiscal.receipt is not None
    types = {str(pay_type) for pay_type in settings.pay_types}
    pays = tuple(
        msgspec.structs.replace(
            pay,
            paysys=paid.paysys,
            rrn=paid.rrn,
            cardmask=paid.cardmask,
            term_id=paid.terminal_id,
            bank_name=paid.bank,
            auth_code=paid.auth_code,
        )
        if pay.type in types
        else pay
        for pay in fiscal.receipt.pays
    )
    whole = _with_receipt(request, msgspec.structs.replace(fiscal.receipt, pays=pays))
    return msgspec.structs.replace(whole, paid=True)


def _with_receipt(request: TaskRequest, receipt: ReceiptRequest) -> TaskRequest:
    fiscal: FiscalRequest | None = request.fiscal
    assert fiscal is not None
    return msgspec.structs.replace(request, fiscal=msgspec.structs.replace(fiscal, receipt=receipt))
