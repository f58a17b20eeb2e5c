"""The terminal's side of a saga: payments in the terminal's turn, and the terminal's journal."""

from __future__ import annotations

from dmtwisted.devices.devices import Device, Devices, TerminalDevice, usable
from dmtwisted.devices.driver import TERMINAL
from dmtwisted.results import Action, Refused, Res, joined
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import OperationQuery, State
from dmtwisted.terminals.interface import Approved, Order, Task, Verdict
from dmtwisted.terminals.journal import KIND, operation_of
from dmtwisted.terminals.service import Caller, TerminalService

LOOKED_THROUGH = 500
"""A payment can be taken back only if it is among so many of the terminal's latest operations."""


class Bank:
    """The terminals of sagas, found again by their numbers."""

    def __init__(self, devices: Devices, store: IStore) -> None:
        self._devices, self._store = devices, store

    def named(self, name: str) -> Device:
        """The terminal that the settings name.

        :raises Refused: 1091 with the name when it does not exist or is not a terminal.
        """
        try:
            device = self._devices.by_name(name)
        except Refused:
            raise _no_terminal(self._devices.unknown(name, TERMINAL)) from None
        if device.kind != TERMINAL:
            raise _no_terminal(self._devices.unknown(name, TERMINAL))
        return device

    async def ask(self, terminal_n: int, order: Order, caller: Caller) -> Verdict:
        """Send an order to a terminal, in its turn.

        :raises Refused: with ``res_action`` 2 when the outcome is unknown; else nothing happened.
        """
        device = self._numbered(terminal_n)
        if device is None:
            raise _no_terminal(self._devices.unknown(caller.device, TERMINAL))
        await device.turns.take()
        try:
            service = self._service(device)
            if order.task not in service.driver.capabilities:
                raise Refused(Res.TASK_NOT_SUPPORTED, order.task)
            _, verdict = await service.pay(order, caller)
            return verdict
        finally:
            device.turns.give_back()

    async def outcome(self, terminal_n: int, label: str) -> Verdict | None:
        """How the operation with this label ended; `None` when it never began.

        The journal answers for a terminal that was deleted or cannot be used any more.

        :raises Refused: with ``res_action`` 2 when that is not certain now.
        """
        device = self._numbered(terminal_n)
        if not isinstance(device, TerminalDevice):
            row = await self._store.latest(terminal_n, KIND, label)
            if row is None:
                return None
            operation = operation_of(row)
            if operation.open and operation.record.sent:
                raise Refused(Res.UNKNOWN_DEVICE, action=Action.COLLISION, note=operation.record.caller.device)
            return operation.record.verdict
        try:
            await device.turns.take()
            try:
                return await self._service(device).outcome(label)
            finally:
                device.turns.give_back()
        except Refused as refused:
            raise open_still(refused) from refused

    async def approved_late(self, terminal_n: int, label: str) -> bool:
        """Whether an operation that was given up was approved afterwards (docs/reference/terminals.md#rule-18)."""
        row = await self._store.latest(terminal_n, KIND, label)
        return row is not None and isinstance(operation_of(row).record.verdict, Approved)

    async def may_cancel(self, terminal_n: int, label: str, paid: Approved) -> bool:
        """Whether a cancel would mean this operation and no other.

        A terminal numbers its receipts from the start again after each settlement, so another operation may have the
        same number then (docs/reference/terminals.md#rule-14).
        """
        if not paid.cancelid:
            return False
        query = OperationQuery(
            devices=[terminal_n], kinds=[KIND], states=[State.DONE], limit=LOOKED_THROUGH, counted=False
        )
        for row in (await self._store.find_operations(query)).operations:
            if row.key == label:
                return True
            verdict = operation_of(row).record.verdict
            again = isinstance(verdict, Approved) and verdict.cancelid == paid.cancelid
            if row.task == Task.SETTLEMENT or again:
                return False
        return False

    def _numbered(self, n: int) -> Device | None:
        return next((device for device in self._devices if device.row.n == n), None)

    def _service(self, device: Device) -> TerminalService:
        """The terminal as it is now: it may have been changed while its turn was waited for."""
        return usable(self._devices.by_id(device.row.dev_id), TerminalDevice).built


def _no_terminal(unknown: Refused) -> Refused:
    """``unknown`` with the setting that names the terminal."""
    return Refused(Res.UNKNOWN_DEVICE, note=joined("batch.terminal", unknown.note))


def open_still(refused: Refused) -> Refused:
    """``refused`` while the terminal may have money: a repeat of the same tag goes on from here."""
    return Refused(
        refused.res,
        *refused.details,
        action=Action.COLLISION,
        aq_errortxt=refused.aq_errortxt,
        note=refused.note,
    )
