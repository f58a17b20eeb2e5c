"""The terminal's side of a saga: a terminal known by its number, asked in its turn, and what its journal says."""

from __future__ import annotations

from dmtwisted.devices.devices import Device, Devices, TerminalDevice, usable
from dmtwisted.devices.driver import TERMINAL
from dmtwisted.results import Action, Refused, Res
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import OperationQuery, State
from dmtwisted.terminals.interface import Approved, Order, Task, Verdict
from dmtwisted.terminals.journal import KIND, operation_of
from dmtwisted.terminals.service import Caller, TerminalService

LOOKED_THROUGH = 500
"""Operations of a terminal among which a payment that shall be taken back has to be."""


class Bank:
    """The terminals, for whoever began something on one and must find that very one again."""

    def __init__(self, devices: Devices, store: IStore) -> None:
        self._devices, self._store = devices, store

    def named(self, name: str) -> Device:
        """The terminal that the settings name.

        :raises Refused: 1091 with the name when there is none, 430 when it cannot be used.
        """
        try:
            device = self._devices.by_name(name)
        except Refused:
            raise Refused(Res.UNKNOWN_DEVICE, note=f"batch.terminal {name}") from None
        if device.kind != TERMINAL:
            raise Refused(Res.UNKNOWN_DEVICE, note=f"batch.terminal {name}: {device.kind}")
        return device

    async def ask(self, terminal_n: int, order: Order, caller: Caller) -> Verdict:
        """Let a terminal do something, when its turn comes.

        :raises Refused: with ``res_action`` 2 when nobody knows what became of it; else nothing happened.
        """
        device = self._numbered(terminal_n)
        if device is None:
            raise Refused(Res.UNKNOWN_DEVICE, note=caller.device)
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

        A terminal that was deleted, or that cannot be used any more, has left a journal.

        :raises Refused: with ``res_action`` 2 when that is not certain now.
        """
        device = self._numbered(terminal_n)
        if not isinstance(device, TerminalDevice):
            return await self._from_journal(terminal_n, label)
        try:
            await device.turns.take()
            try:
                return await self._service(device).outcome(label)
            finally:
                device.turns.give_back()
        except Refused as refused:
            raise open_still(refused) from refused

    async def _from_journal(self, terminal_n: int, label: str) -> Verdict | None:
        row = await self._store.latest(terminal_n, KIND, label)
        if row is None:
            return None
        operation = operation_of(row)
        if operation.open and operation.record.sent:
            raise Refused(Res.UNKNOWN_DEVICE, action=Action.COLLISION, note=operation.record.caller.device)
        return operation.record.verdict

    async def approved_late(self, terminal_n: int, label: str) -> bool:
        """Whether an operation that was given up turned out to be approved afterwards (terminals.md 3, rule 18)."""
        row = await self._store.latest(terminal_n, KIND, label)
        return row is not None and isinstance(operation_of(row).record.verdict, Approved)

    async def may_cancel(self, terminal_n: int, label: str, paid: Approved) -> bool:
        """Whether a cancel would mean this operation and no other.

        Numbers of receipts begin anew with every batch of the terminal: after a settlement the number of this one is,
        or will be, somebody else's (rule 14).
        """
        if not paid.cancelid:
            return False
        query = OperationQuery(devices=[terminal_n], kinds=[KIND], states=[State.DONE], limit=LOOKED_THROUGH)
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


def open_still(refused: Refused) -> Refused:
    """``refused`` as it is told while money may lie at the terminal: the same tag goes on from here."""
    return Refused(
        refused.res,
        *refused.details,
        action=Action.COLLISION,
        aq_errortxt=refused.aq_errortxt,
        note=refused.note,
    )
