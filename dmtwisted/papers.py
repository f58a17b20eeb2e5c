"""The paper of a register's task on a printer; the task never fails because of it.

The paper of a document has a name, so that a repeat of the task prints only what was not printed. The name is valid
on all printers: neither a spare printer nor another one prints a second copy
(docs/reference/http-interface.md#printing-after-a-task).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from twisted.internet.defer import DeferredLock
from twisted.logger import Logger

from dmtwisted.answers import Warning, printed, warned
from dmtwisted.devices.devices import Device, Devices, PrinterDevice, usable
from dmtwisted.devices.driver import PRINTER
from dmtwisted.documents.model import Cut, Drawer, Element, Line
from dmtwisted.printing.result import PrintResult
from dmtwisted.printing.settings import HasSpare
from dmtwisted.registers.interface import Done
from dmtwisted.results import Refused, Res
from dmtwisted.store.values import StoreFailed
from dmtwisted.turns import acquire
from dmtwisted.wording import wording

DEFAULT_PRINTER = "prn"
"""The printer of ``/dm/execute-prn`` when the request names none."""


class Papers:
    """Prints the papers of tasks."""

    log = Logger()

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._under_way: dict[str, DeferredLock] = {}

    async def print(self, done: Done, printer: str, language: str) -> bytes:
        """The answer of a task that is done, after its paper went to ``printer``; never raises.

        ``isprint`` says whether it was printed, a warning why not. A default printer that does not exist is no reason
        for a warning: not every shop has one.

        :param printer: name or id.
        """
        try:
            return await self._print(done, printer, language)
        except Refused as refused:
            return warned(done.answer, [Warning.by(refused, language)])
        except StoreFailed as error:
            return warned(done.answer, [Warning.by(Refused(Res.STORE_FAILED, note=wording(error)), language)])
        except Exception as error:
            # The task is done and paid for; an internal error in printing must not make it look failed.
            self.log.failure("{paper}: an internal error in printing", paper=done.paper)
            return warned(done.answer, [Warning.by(Refused(Res.INTERNAL, type(error).__name__), language)])

    async def _print(self, done: Done, printer: str, language: str) -> bytes:
        assert done.form is not None
        try:
            device = self._printer(printer)
        except Refused:
            if printer == DEFAULT_PRINTER:
                return done.answer
            raise
        form = [*([Drawer()] if done.cash else []), *done.form(), Cut()]
        until = device.turns.deadline()
        lock = self._under_way.setdefault(done.paper, DeferredLock()) if done.paper else DeferredLock()
        await acquire(lock, until, self._devices.clock.reactor)
        try:
            result, troubles = await self._with_spare(device, form, done.paper, until)
        finally:
            lock.release()
            if not lock.locked:
                self._under_way.pop(done.paper, None)
        warnings = [Warning.by(trouble, language) for trouble in troubles]
        if result is None or not result.on_paper:
            return warned(done.answer, warnings)
        # Every receipt in cash opens the drawer, but not every printer has one.
        problems = tuple(problem for problem in result.problems if problem != "no-drawer")
        result = msgspec.structs.replace(result, problems=problems)
        return printed(done.answer, [*warnings, *result.warnings(language)])

    async def _with_spare(
        self, device: Device, form: Sequence[Element], paper: str, until: float
    ) -> tuple[PrintResult | None, list[Refused]]:
        """Print ``paper`` on ``device``, or on its spare printer when ``device`` certainly printed nothing.

        :returns: the last result, and the refusals on the way.
        """
        troubles: list[Refused] = []
        result: PrintResult | None = None
        for place in (device, self._spare_of(device)):
            if place is None:
                break
            try:
                result = await self._on(place, form, paper, until)
            except Refused as refused:
                # Nothing was sent before any of these.
                troubles.append(refused)
                continue
            if not result.on_paper:
                troubles.append(result.refused())
            if result.fate != "not_printed":
                break
        return result, troubles

    async def slip(self, text: str, printer: str) -> PrintResult:
        """Print a terminal's slip (docs/reference/printers.md#slips): its lines as they are, a form feed cuts.

        :raises Refused: 1091 for an unknown printer, 1105 when it is busy.
        """
        form: list[Element] = []
        for part in text.rstrip().split("\f"):
            form += [*(Line(line.rstrip("\r")) for line in part.strip("\n").split("\n")), Cut()]
        device = self._printer(printer)
        return await self._on(device, form, "", device.turns.deadline())

    def _printer(self, name: str) -> Device:
        """The printer of this name or id.

        :raises Refused: 1091 when it does not exist.
        """
        try:
            device = self._devices.by_name(name)
        except Refused:
            try:
                device = self._devices.by_id(name)
            except Refused:
                raise self._devices.unknown(name, PRINTER) from None
        if device.kind != PRINTER:
            raise self._devices.unknown(name, PRINTER)
        return device

    def _spare_of(self, device: Device) -> Device | None:
        name = device.settings.spare if isinstance(device.settings, HasSpare) else ""
        try:
            spare = self._printer(name) if name else None
        except Refused:
            self.log.warn("{device}: there is no printer {spare}", device=device.name, spare=name)
            return None
        return None if spare is device else spare

    async def _on(self, device: Device, form: Sequence[Element], paper: str, until: float) -> PrintResult:
        turns = device.turns
        await turns.take(until)
        try:
            # The device may have been changed during the wait; what was built before is closed then.
            service = usable(self._devices.by_id(device.row.dev_id), PrinterDevice).built
            everywhere = [printer.row.n for printer in self._devices if printer.kind == PRINTER]
            return await service.print(form, paper, everywhere, until)
        finally:
            turns.give_back()
