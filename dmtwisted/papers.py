"""The paper of a register's task on a printer: beside the task, which never fails for it (http-api 4).

A paper that comes from a document has a name, so that a repeat of the task prints only what was not printed. The name
counts on all printers together: neither a spare printer nor another one that is named makes a second copy of it.
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

DEFAULT_PRINTER = "prn"
"""The printer of ``/dm/execute-prn`` when the request names none (http-api 4)."""


class Papers:
    """Brings papers to printers."""

    log = Logger()

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._under_way: dict[str, DeferredLock] = {}

    async def print(self, done: Done, printer: str, language: str) -> bytes:
        """The answer of a task that is done, after its paper went to ``printer``.

        ``isprint`` tells how that went, a warning why it went wrong. Where the default printer does not exist nothing
        is said: not every shop has one.

        :param printer: name or id; never raises, whatever it is.
        """
        try:
            return await self._brought(done, printer, language)
        except Refused as refused:
            return warned(done.answer, [_warning(refused, language)])
        except StoreFailed as error:
            return warned(done.answer, [_warning(Refused(Res.STORE_FAILED, note=str(error)), language)])
        except Exception as error:
            # The task is done and paid for; a fault of ours on the way to the paper must not make it look failed.
            self.log.failure("{paper}: a fault of ours in printing", paper=done.paper)
            return warned(done.answer, [_warning(Refused(Res.INTERNAL, type(error).__name__), language)])

    async def _brought(self, done: Done, printer: str, language: str) -> bytes:
        assert done.form is not None
        try:
            device = self._printer(printer)
        except Refused:
            if printer == DEFAULT_PRINTER:
                return done.answer
            raise
        form = [*([Drawer()] if done.cash else []), *done.form(), Cut()]
        lock = self._under_way.setdefault(done.paper, DeferredLock()) if done.paper else DeferredLock()
        async with lock:
            try:
                told, troubles = await self._somewhere(device, form, done.paper)
            finally:
                if not lock.waiting:
                    self._under_way.pop(done.paper, None)
        warnings = [_warning(trouble, language) for trouble in troubles]
        if told is None or not told.on_paper:
            return warned(done.answer, warnings)
        # A drawer belongs to the form of every receipt in cash, but not to every printer.
        had = tuple(problem for problem in told.problems if problem != "no-drawer")
        return printed(done.answer, [*warnings, *msgspec.structs.replace(told, problems=had).warnings(language)])

    async def _somewhere(
        self, device: Device, form: Sequence[Element], paper: str
    ) -> tuple[PrintResult | None, list[Refused]]:
        """What became of ``paper`` on ``device``, or on its spare when ``device`` certainly printed nothing.

        :returns: what is known in the end, and what went wrong on the way there.
        """
        troubles: list[Refused] = []
        told: PrintResult | None = None
        for place in (device, self._spare_of(device)):
            if place is None:
                break
            try:
                told = await self._on(place, form, paper)
            except Refused as refused:
                # All of these come before anything was sent.
                troubles.append(refused)
                continue
            if not told.on_paper:
                troubles.append(told.refused())
            if told.fate != "not_printed":
                break
        return told, troubles

    async def slip(self, text: str, printer: str) -> PrintResult:
        """Print a terminal's slip as it came (printers.md 6.3): its lines as they are, a form feed cuts.

        :raises Refused: 1091 for a printer that is not there, 1105 when it is busy.
        """
        form: list[Element] = []
        for part in text.rstrip().split("\f"):
            form += [*(Line(line.rstrip("\r")) for line in part.strip("\n").split("\n")), Cut()]
        return await self._on(self._printer(printer), form, "")

    def _printer(self, name: str) -> Device:
        """The printer of this name or id.

        :raises Refused: 1091 when there is none.
        """
        try:
            device = self._devices.by_name(name)
        except Refused:
            device = self._devices.by_id(name)
        if device.kind != PRINTER:
            raise Refused(Res.UNKNOWN_DEVICE)
        return device

    def _spare_of(self, device: Device) -> Device | None:
        name = device.settings.spare if isinstance(device.settings, HasSpare) else ""
        try:
            spare = self._printer(name) if name else None
        except Refused:
            self.log.warn("{device}: there is no printer {spare}", device=device.name, spare=name)
            return None
        return None if spare is device else spare

    async def _on(self, device: Device, form: Sequence[Element], paper: str) -> PrintResult:
        turns = device.turns
        await turns.take()
        try:
            # Who waited for its turn may have waited for a change: the device as it was is closed then.
            service = usable(self._devices.by_id(device.row.dev_id), PrinterDevice).built
            everywhere = [printer.row.n for printer in self._devices if printer.kind == PRINTER]
            return await service.print(form, paper, everywhere)
        finally:
            turns.give_back()


def _warning(refused: Refused, language: str) -> Warning:
    return Warning(refused.res.code, refused.errortxt(language))
