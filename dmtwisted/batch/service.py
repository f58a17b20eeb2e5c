"""Runs sagas: the card is charged and the receipt is made, or neither (specification 4.6, docs/batch.md).

The steps of a sale or return, and what happens if the power fails after each of them:

1. the receipt is calculated and dropped, so that a mistake of the till is reported before a card is read;
2. the saga is stored with the request and the label of its payment. After a restart the terminal's journal has no
   such payment, and the saga is closed;
3. the terminal is asked to pay, and its service stores that under the label. After a restart the terminal is queried;
4. the approval is stored in the saga: from here on the payment is fiscalised, taken back, or left to a person;
5. the register makes the receipt under the till's own tag, with the card's data in the payments;
6. the saga is done. Printing comes afterwards and is not a part of it.

If the register refuses the receipt for good, the label of a cancel is stored after step 4, then the terminal is asked
to cancel, and the saga is closed without a receipt.

A task with the tag of an open saga, at any endpoint, continues the saga from its last durable step. So does the start
of the service, but then nothing is charged again, because there is no customer. A saga ends in one of four ways:
nothing happened; paid and fiscalised; paid and taken back; or it is listed among the unfinished operations.

Turns are taken in one order: register, terminal, printer. So two sagas never wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from uuid import uuid4

import msgspec
from twisted.logger import Logger

from dmtwisted import print_forms
from dmtwisted.answers import Warning, warned
from dmtwisted.batch.bank import Bank, open_still
from dmtwisted.batch.orders import (
    asks_only,
    cancel_order,
    counts_on_card,
    fingerprint,
    lacks_payment,
    no_terminal,
    pay_order,
    see_that_pay_fits,
    with_card,
    with_payment,
)
from dmtwisted.batch.saga import KIND, Saga, Sagas, Step, request_of, taking_back
from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.devices.devices import AnyRegister, Device, Devices, RegisterDevice, kind_name, register_settings
from dmtwisted.devices.driver import REGISTER
from dmtwisted.papers import DEFAULT_PRINTER, Papers
from dmtwisted.registers.interface import PRINTED, RETURN, SALE, TAGGED, X_REPORT, Z_REPORT, Done, Remembering
from dmtwisted.registers.settings import BatchSettings
from dmtwisted.registers.totals import UnheardReceipt
from dmtwisted.registers.unheard import caller, nobody, warning_of
from dmtwisted.requests import TYPE_FISCAL, TYPE_LOOKUP, TaskRequest, malformed
from dmtwisted.results import Action, Refused, Res, Text, joined, one_of
from dmtwisted.store.claims import ClaimedElsewhere
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import OperationQuery, State, StoreFailed
from dmtwisted.terminals.answers import masked
from dmtwisted.terminals.interface import Approved, Declined, Order, Task, Verdict
from dmtwisted.terminals.service import Caller
from dmtwisted.terminals.sums import another_sum
from dmtwisted.wording import wording

UNFINISHED = "GET /dm/api/v3/operations?state=unfinished"
"""Where a person sees the operations that the service could not finish."""

CANCELLED = Text("оплату скасовує сервіс", "the service cancels the payment")
"""What becomes of a payment of another sum: a till that is told of it need not cancel it."""

T = TypeVar("T")


class Batch:
    """Batch mode of all registers. The caller counts the task as running."""

    log = Logger()

    def __init__(
        self, devices: Devices, store: IStore, clock: ServiceClock, papers: Papers, publish: Callable[..., None]
    ) -> None:
        self._devices, self._store, self._clock, self._papers = devices, store, clock, papers
        self._sagas = Sagas(store, clock, publish)
        self._bank = Bank(devices, store)
        devices.sharing.taken.append(self._sagas.learn)

    # Requests and the start

    async def execute(self, request: TaskRequest, body: bytes, language: str) -> bytes:
        """The answer to a request to ``/dm/execute-pkg``.

        :raises Refused: when the task was not done.
        """
        if request.type not in (TYPE_FISCAL, TYPE_LOOKUP):
            raise malformed("type", one_of(TYPE_LOOKUP, TYPE_FISCAL))
        device = self._devices.by_name(request.device)
        if device.kind != REGISTER:
            raise malformed("device", _no_register(device))
        turns = device.turns
        await turns.take()
        try:
            device = self._devices.by_id(device.row.dev_id)
            assert device.kind == REGISTER
            settings = _settings_of(device)
            done = await self._in_turn(device, settings, request, body, language)
        finally:
            turns.give_back()
        done = done._replace(answer=self.warn(device.row.n, done.answer, language))
        if request.skipprint or done.form is None or request.task not in PRINTED:
            return done.answer
        return await self._papers.print(done, settings.printer or DEFAULT_PRINTER, language)

    def concerns(self, register_n: int, tag: str) -> bool:
        """Whether a request with this tag has to go through `carry_on` first, at any endpoint."""
        return bool(tag) and self._sagas.may_hold(register_n, tag)

    async def carry_on(self, device: AnyRegister, request: TaskRequest, language: str) -> Done | None:
        """Continue the open saga with the request's tag; the caller holds the register's turn.

        :returns: the receipt; `None` when there is no such saga, or when it was closed without a payment.
        :raises Refused: 1080 when ``request`` differs from the saga's own; why it stays open, with ``res_action`` 2;
            or why there is no receipt, when the payment was taken back.
        """
        held = await self._sagas.held(device.row.n, request.tag) if request.tag else None
        if held is None:
            return None
        return await self._certain(self._carry_on(device, request, language, *held))

    def warn(self, register_n: int, answer: bytes, language: str) -> bytes:
        """``answer`` of a register, with a warning while one of its sagas is open."""
        if not self._sagas.open_of(register_n):
            return answer
        return warned(answer, [Warning.of(Res.COLLISION_UNSOLVABLE, language, UNFINISHED)])

    async def resume(self) -> None:
        """Continue every saga that a crash left open; what stays open is listed among the unfinished operations."""
        caller.set(nobody)
        try:
            await self._sagas.load()
            await self._reopen()
        except StoreFailed as error:
            self.log.error("the open batches are not known yet: {why}", why=str(error))
        for register_n, tag in self._sagas.open_ones:
            device = self._register(register_n)
            if device is None:
                self.log.warn("batch {tag} is open, and its register is gone", tag=tag)
                continue
            try:
                async with device.turns.turn():
                    if not await self._devices.sharing.resume(register_n):
                        continue
                    now = self._devices.by_id(device.row.dev_id)
                    assert now.kind == REGISTER
                    asking = TaskRequest(device=now.name, type=TYPE_LOOKUP, tag=tag, source="")
                    await self.carry_on(now, asking, "uk")
            except (Refused, StoreFailed) as error:
                self.log.warn("{device}: batch {tag}: {why}", device=device.name, tag=tag, why=str(error))

    async def _reopen(self) -> None:
        """Open sagas again whose payment was given up and approved late (docs/reference/terminals.md#rule-18)."""
        for register_n, tag, n, saga in await self._sagas.given_up():
            if await self._bank.approved_late(saga.terminal_n, saga.label):
                self.log.warn("batch {tag}: its payment was approved late", tag=tag)
                try:
                    await self._sagas.end(register_n, tag, n, saga, State.UNKNOWN)
                except ClaimedElsewhere:
                    self.log.info("batch {tag} belongs to another service", tag=tag)

    async def settle(self, n: int) -> None:
        """Close an open saga after a person gave the money back, or knows that none was taken.

        If the register has the receipt, the saga is closed as done.

        :raises Refused: 1091 for an unknown saga, 5074 when it is not open, 1075 while the register cannot say
            whether there is a receipt.
        """
        found = await self._store.find_operations(OperationQuery(kinds=[KIND], n=n))
        if not found.operations:
            raise Refused(Res.UNKNOWN_DEVICE, note=wording(f"there is no operation {n}"))
        row = found.operations[0]
        device = self._register(row.device_n)
        if device is None:
            await self._settle(None, row.device_n, row.key, n)
        else:
            async with device.turns.owned():
                await self._settle(self._register(row.device_n), row.device_n, row.key, n)

    async def _settle(self, device: AnyRegister | None, register_n: int, tag: str, n: int) -> None:
        held = await self._sagas.held(register_n, tag)
        if held is None or held[0] != n:
            raise Refused(Res.NOTHING_TO_CONFIRM)
        saga = held[1]
        if device is not None and await self._known(device, request_of(saga, tag), saga.language) is not None:
            await self._sagas.end(register_n, tag, n, saga, State.DONE)
            return
        saga = msgspec.structs.replace(saga, step=Step.SETTLED)
        await self._sagas.end(register_n, tag, n, saga, State.REFUSED, Refused(Res.OPERATION_CANCELLED))

    # One request

    async def _in_turn(
        self, device: AnyRegister, settings: BatchSettings, request: TaskRequest, body: bytes, language: str
    ) -> Done:
        carried = await self.carry_on(device, request, language)
        if carried is not None:
            return carried
        if request.type == TYPE_LOOKUP:
            return await print_forms.look_up(device, request, language, self._clock)
        if request.tag and request.task in TAGGED:
            known = await self._known(device, request, language)
            if known is not None:
                return await self._repeated(device, request, known, language)
        if isinstance(device, RegisterDevice):
            see_that_pay_fits(request, settings)
            if request.task in (SALE, RETURN) and settings.terminal:
                amount = await self._amount(device, settings, request)
                if amount or request.pay is not None:
                    same = await self._unheard_like(device, request) if request.untagged else None
                    if same is not None:
                        if register_settings(device).untagged_repeat == "return":
                            return await self._returned(device, request, same, language)
                        request = msgspec.structs.replace(request, repeats=same.tag)
                    return await self._charge(device, settings, request, amount, body, language)
        done = await print_forms.perform(device, request, language, self._clock)
        if not settings.terminal and counts_on_card(request, settings):
            return done._replace(answer=warned(done.answer, [Warning.by(no_terminal(), language)]))
        if request.task in (X_REPORT, Z_REPORT) and settings.terminal:
            return await self._with_totals(settings, request, done, language)
        return done

    async def _known(self, device: AnyRegister, request: TaskRequest, language: str) -> Done | None:
        """The stored receipt of the request's tag; neither terminal nor register does anything for it."""
        try:
            return await print_forms.look_up(device, request, language, self._clock)
        except Refused as refused:
            if refused.res is not Res.TAG_NOT_FOUND:
                raise
            return None

    async def _unheard_like(self, device: RegisterDevice, request: TaskRequest) -> UnheardReceipt | None:
        """The unheard receipt with card whose request was the same; it is looked for before the card is charged."""
        if isinstance(device.built, Remembering):
            for receipt in device.built.unheard():
                saga = await self._sagas.finished(device.row.n, receipt.tag)
                if saga is not None and not _differs(request, saga):
                    return receipt
        return None

    async def _returned(
        self, device: RegisterDevice, request: TaskRequest, same: UnheardReceipt, language: str
    ) -> Done:
        """The answer of the unheard receipt ``same``; no money is taken."""
        asking = msgspec.structs.replace(request, tag=same.tag)
        known = await print_forms.look_up(device, asking, language, self._clock)
        return known._replace(answer=warned(known.answer, [warning_of(same, language, returned=True)]))

    async def _repeated(self, device: AnyRegister, request: TaskRequest, known: Done, language: str) -> Done:
        saga = await self._sagas.finished(device.row.n, request.tag)
        if saga is None:
            # The register itself compares a request that came to it unchanged.
            return await print_forms.perform(device, request, language, self._clock)
        return _known_to_differ(device, known, _differs(request, saga), language)

    async def _amount(self, device: RegisterDevice, settings: BatchSettings, request: TaskRequest) -> int:
        """The kopecks to charge, after the whole receipt was checked (step 1).

        :raises Refused: when the receipt is not allowed.
        """
        if lacks_payment(request, settings):
            assert request.fiscal is not None and request.fiscal.receipt is not None
            asked = request.fiscal.receipt
            request = with_payment(request, settings, device.built.owed(asked) + asked.round)
        receipt = await device.built.rehearse(request)
        return sum(pay.sum for pay in receipt.pays if pay.type in settings.pay_types)

    # The saga

    async def _charge(
        self,
        device: AnyRegister,
        settings: BatchSettings,
        request: TaskRequest,
        amount: int,
        body: bytes,
        language: str,
    ) -> Done:
        """Steps 2 to 6."""
        late = await self._sagas.last_refused(device.row.n, request.tag)
        if late is not None and late[1].step is Step.PAYING:
            n, saga = late
            if await self._bank.approved_late(saga.terminal_n, saga.label):
                # Given up, and approved after all: the money is there and is not taken again.
                await self._sagas.end(device.row.n, request.tag, n, saga, State.UNKNOWN)
                carried = await self.carry_on(device, request, language)
                if carried is not None:
                    return carried
        terminal = self._bank.named(settings.terminal)
        order = pay_order(request, amount, settings)
        saga = Saga(body, language, settings, terminal.row.n, order, str(uuid4()))
        n = await self._sagas.begin(device.row.n, request.task, request.tag, saga)
        reached("batch.intent-stored")
        return await self._certain(self._pay(device, request, n, saga))

    async def _certain(self, steps: Coroutine[Any, Any, T]) -> T:
        """The result of ``steps``; a failure in between has ``res_action`` 2, because something may have happened."""
        try:
            return await steps
        except StoreFailed as error:
            self.log.error("the store failed in a batch: {why}", why=str(error))
            raise Refused(Res.STORE_FAILED, action=Action.COLLISION, note=wording(error)) from error
        except Refused:
            raise
        except Exception as error:
            self.log.failure("an internal error in a batch")
            raise Refused(Res.INTERNAL, type(error).__name__, action=Action.COLLISION) from error

    async def _carry_on(
        self, device: AnyRegister, request: TaskRequest, language: str, n: int, saga: Saga
    ) -> Done | None:
        differs = _differs(request, saga)
        try:
            known = await self._known(device, request, language)
        except Refused as refused:
            if differs:
                raise Refused(Res.COLLISION_DIFFERS) from refused
            raise open_still(refused) from refused
        if known is not None:
            await self._sagas.end(device.row.n, request.tag, n, saga, State.DONE)
            return _known_to_differ(device, known, differs, language)
        if differs:
            raise Refused(Res.COLLISION_DIFFERS)
        return await self._go_on(device, request_of(saga, request.tag), n, saga)

    async def _go_on(self, device: AnyRegister, request: TaskRequest, n: int, saga: Saga) -> Done | None:
        """From the last durable step of an open saga; `None` when it is closed because nothing was paid."""
        if saga.step is Step.PAYING:
            verdict = await self._bank.outcome(saga.terminal_n, saga.label)
            if isinstance(verdict, Approved):
                return await self._paid(device, request, n, saga, verdict)
            never = Refused(Res.REQUEST_NOT_TAKEN) if verdict is None else verdict.refused()
            await self._sagas.end(device.row.n, request.tag, n, saga, State.REFUSED, never)
            reached("batch.never-paid")
            return None
        if saga.step is Step.TAKING_BACK:
            cancelled = Refused(Res.OPERATION_CANCELLED, aq_errortxt=saga.why)
            if saga.back:
                undone = await self._bank.outcome(saga.terminal_n, saga.back)
                if isinstance(undone, Approved):
                    return await self._taken_back(device, request, n, saga, undone, cancelled)
            return await self._take_back(device, request, n, saga, cancelled)
        return await self._after_payment(device, request, n, saga)

    async def _pay(self, device: AnyRegister, request: TaskRequest, n: int, saga: Saga) -> Done:
        """Steps 3 and 4."""
        try:
            verdict = await self._bank.ask(saga.terminal_n, saga.order, self._caller(request, saga, saga.label))
            reached("batch.paid")
        except Refused as refused:
            state = State.UNKNOWN if refused.action is Action.COLLISION else State.REFUSED
            await self._sagas.end(device.row.n, request.tag, n, saga, state, refused)
            raise
        if isinstance(verdict, Declined):
            # Nothing was paid, so the same tag may pay again (docs/reference/http-interface.md#repeats).
            declined = verdict.refused()
            await self._sagas.end(device.row.n, request.tag, n, saga, State.REFUSED, declined)
            reached("batch.declined")
            raise declined
        return await self._paid(device, request, n, saga, verdict)

    async def _paid(self, device: AnyRegister, request: TaskRequest, n: int, saga: Saga, verdict: Approved) -> Done:
        kept = masked(msgspec.structs.replace(verdict, slip=""))
        assert isinstance(kept, Approved)
        saga = msgspec.structs.replace(saga, step=Step.PAID, paid=kept)
        await self._sagas.note(n, saga)
        reached("batch.payment-noted")
        return await self._after_payment(device, request, n, saga)

    async def _after_payment(self, device: AnyRegister, request: TaskRequest, n: int, saga: Saga) -> Done:
        """Steps 5 and 6, or taking the payment back."""
        paid = saga.paid
        assert paid is not None
        if paid.kopecks != saga.order.sum:
            # A receipt over another sum is not the till's receipt (docs/reference/terminals.md#rule-9).
            other = another_sum(paid, saga.order.sum, Res.ANOTHER_SUM.action, CANCELLED)
            return await self._take_back(device, request, n, saga, other)
        whole = with_card(with_payment(request, saga.settings, saga.order.sum), saga.settings, paid)
        try:
            done = await print_forms.perform(device, whole, saga.language, self._clock)
        except Refused as refused:
            if refused.action is not Action.CORRECT:
                await self._stays_open(device, request, n, saga, refused)
                raise
            if saga.settings.auto_cancel:
                return await self._take_back(device, request, n, saga, refused)
            raise await self._stays_open(device, request, n, saga, refused) from refused
        reached("batch.receipt-made")
        await self._sagas.end(device.row.n, request.tag, n, saga, State.DONE)
        reached("batch.ended")
        return done

    async def _take_back(
        self, device: AnyRegister, request: TaskRequest, n: int, saga: Saga, refused: Refused
    ) -> Done:
        """There will be no receipt: take the payment back, and refuse with the reason."""
        paid = saga.paid
        assert paid is not None
        saga = taking_back(saga, refused)
        # A cancel cannot be cancelled; and a refund in place of a cancel that was not done could move the money twice
        # (docs/reference/terminals.md#rule-16).
        if saga.order.task == Task.CANCEL or not await self._bank.may_cancel(saga.terminal_n, saga.label, paid):
            raise await self._stays_open(device, request, n, saga, refused)
        saga = msgspec.structs.replace(saga, back=str(uuid4()))
        await self._sagas.note(n, saga)
        reached("batch.back-noted")
        try:
            caller = self._caller(request, saga, saga.back)
            verdict = await self._bank.ask(saga.terminal_n, cancel_order(saga.order, paid), caller)
        except Refused as not_back:
            self.log.error("a payment could not be taken back: {why}", why=str(not_back))
            raise await self._stays_open(device, request, n, saga, refused) from not_back
        if isinstance(verdict, Declined):
            self.log.error("a payment could not be taken back: {why}", why=str(verdict.refused()))
            raise await self._stays_open(device, request, n, saga, refused)
        reached("batch.back-given")
        return await self._taken_back(device, request, n, saga, verdict, refused)

    async def _taken_back(
        self, device: AnyRegister, request: TaskRequest, n: int, saga: Saga, undone: Approved, refused: Refused
    ) -> Done:
        assert saga.paid is not None
        if undone.kopecks != saga.paid.kopecks:
            raise await self._stays_open(device, request, n, saga, refused)
        await self._sagas.end(device.row.n, request.tag, n, saga, State.REFUSED, refused)
        reached("batch.back-ended")
        raise refused

    async def _stays_open(
        self, device: AnyRegister, request: TaskRequest, n: int, saga: Saga, refused: Refused
    ) -> Refused:
        """Store that a saga stays open; the refusal for its till."""
        await self._sagas.end(device.row.n, request.tag, n, saga, State.UNKNOWN, refused)
        reached("batch.stays-open")
        return Refused(
            refused.res,
            *refused.details,
            action=Action.COLLISION,
            aq_errortxt=refused.aq_errortxt,
            note=joined(refused.note, UNFINISHED),
        )

    def _caller(self, request: TaskRequest, saga: Saga, label: str) -> Caller:
        return Caller(saga.settings.terminal, request.source, "", label, saga.language)

    # X and Z

    async def _with_totals(self, settings: BatchSettings, request: TaskRequest, done: Done, language: str) -> Done:
        """The terminal's own report beside the register's, whose answer is valid in any case."""
        task = Task.TOTALS if request.task == X_REPORT else Task.SETTLEMENT
        try:
            terminal = self._bank.named(settings.terminal)
            if task == Task.SETTLEMENT and self._sagas.open_on(terminal.row.n):
                # After a settlement its payment cannot be cancelled (docs/reference/terminals.md#rule-14).
                raise Refused(Res.COLLISION_UNSOLVABLE, note=f"{settings.terminal}, {UNFINISHED}")
            order = Order(task=task, uid=str(uuid4()), merchant=settings.merchant)
            caller = Caller(settings.terminal, request.source, "", str(uuid4()), language)
            verdict: Verdict = await self._bank.ask(terminal.row.n, order, caller)
            if isinstance(verdict, Declined):
                raise verdict.refused()
        except Refused as refused:
            problem = refused
        except StoreFailed as error:
            problem = Refused(Res.STORE_FAILED, note=wording(error))
        except Exception as error:
            # The register's report is made; an internal error must not make it look failed.
            self.log.failure("{terminal}: an internal error in its report", terminal=settings.terminal)
            problem = Refused(Res.INTERNAL, type(error).__name__)
        else:
            return done
        return done._replace(answer=warned(done.answer, [Warning.by(problem, language)]))

    def _register(self, n: int) -> AnyRegister | None:
        return next((device for device in self._devices if device.kind == REGISTER and device.row.n == n), None)


def _no_register(device: Device) -> Text:
    kind = kind_name(device.kind)
    return Text(
        f"«{device.name}» це {kind.uk}; пакетний режим починається з каси",
        f'"{device.name}" is a {kind.en}; batch mode begins with a register',
    )


def _settings_of(device: AnyRegister) -> BatchSettings:
    """The settings of batch mode; the defaults for a register that cannot be used, which refuses its tasks."""
    return register_settings(device).batch or BatchSettings()


def _differs(request: TaskRequest, saga: Saga) -> bool:
    """Whether ``request``, which has the saga's tag, is a different one."""
    first = request_of(saga, request.tag)
    return not asks_only(request, first) and fingerprint(request) != fingerprint(first)


def _known_to_differ(device: AnyRegister, known: Done, differs: bool, language: str) -> Done:
    """The earlier answer, with a warning when the request is a different one (specification 7.2, 1051)."""
    if not differs:
        return known
    if register_settings(device).strict_tags:
        raise Refused(Res.TAG_KNOWN)
    return known._replace(answer=warned(known.answer, [Warning.of(Res.TAG_KNOWN, language)]))
