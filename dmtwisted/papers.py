"""The paper of a register's task on a printer: beside the task, which never fails for it (http-api 4)."""

from __future__ import annotations

from dmtwisted.answers import Warning, printed, warned
from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.drivers import PRINTER
from dmtwisted.printing.model import Cut, Drawer, Element
from dmtwisted.printing.service import PrinterService, Told, letters_warning
from dmtwisted.registers.interface import Done
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import StoreFailed

DEFAULT_PRINTER = "prn"
"""The printer of ``/dm/execute-prn`` when the request names none (http-api 4)."""


class Papers:
    """Brings papers to printers."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices

    async def print(self, done: Done, printer: str, language: str) -> bytes:
        """The answer of a task that is done, after its paper went to ``printer``: ``isprint`` tells how that went.

        Without a printer of that name the answer stays as it is: not every shop has one.
        """
        assert done.form is not None
        try:
            device = self._printer(printer)
        except Refused:
            return done.answer
        form = [*([Drawer()] if done.cash else []), *done.form(), Cut()]
        try:
            told = await self._on(device, form, done.paper)
            if told.fate == "not_printed" and device.built.spare:
                told = await self._on(self._printer(device.built.spare), form, done.paper)
        except Refused as refused:
            return warned(done.answer, [_warning(refused, language)])
        except StoreFailed:
            return warned(done.answer, [_warning(Refused(Res.STORE_FAILED), language)])
        if not told.on_paper:
            return warned(done.answer, [_warning(told.refused(), language)])
        return printed(done.answer, letters_warning(told, language))

    def _printer(self, name: str) -> Device:
        try:
            device = self._devices.by_name(name)
        except Refused:
            device = self._devices.by_id(name)
        if device.kind != PRINTER or not isinstance(device.built, PrinterService):
            raise Refused(Res.UNKNOWN_DEVICE)
        return device

    async def _on(self, device: Device, form: list[Element], paper: str) -> Told:
        turns = device.turns
        await turns.take()
        try:
            # Who waited for its turn may have waited for a change: the device as it was is closed then.
            service: PrinterService = self._devices.by_id(device.row.dev_id).built
            return await service.print(form, paper)
        finally:
            turns.give_back()


def _warning(refused: Refused, language: str) -> Warning:
    return Warning(refused.res.code, refused.errortxt(language))
