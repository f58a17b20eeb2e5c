"""A ZVT terminal behind the terminal service."""

from __future__ import annotations

from typing import Any, ClassVar

from dmtwisted.clock import ServiceClock
from dmtwisted.results import Res
from dmtwisted.terminals.drivers.zvt import ZvtSettings
from dmtwisted.terminals.settings import Unreached
from dmtwisted.terminals.zvt import ZvtDriver
from protocols.simulators.zvt import TerminalSettings, ZvtTerminal
from tests.memory_line import MemoryEndpoint
from tests.terminal_desk import WAIT, CardPromises, DeskCase, FaultPromises


class ZvtDesk(DeskCase):
    """A desk with a ZVT terminal."""

    unreached = 5028
    settings: ClassVar[dict[str, Any]] = {"charset": "cp1125"}
    terminal_settings: ClassVar[dict[str, Any]] = {}

    def device(self) -> Any:
        self.zvt = ZvtTerminal(self.terminal, self.clock, TerminalSettings(**self.terminal_settings))
        return self.zvt.factory()

    def driver(self, endpoint: MemoryEndpoint, clock: ServiceClock) -> ZvtDriver:
        settings = ZvtSettings(host="192.0.2.1", wait_s=WAIT, **self.settings)
        unreached = Unreached(settings, Res.TERMINAL_UNREACHABLE, Res.COM_PORT_ERROR)
        return ZvtDriver(settings, endpoint, clock, self.clock, unreached)

    def taken(self) -> list[int]:
        entries = [entry for entry in self.terminal.entries() if entry.status == "accepted"]
        reversed_ones = {entry.ref for entry in entries if entry.kind == "cancel"}
        return [e.sum for e in entries if e.kind == "payment" and e.number not in reversed_ones]


class ZvtFaultTests(ZvtDesk, FaultPromises):
    """x"""
    settings: ClassVar[dict[str, Any]] = {"charset": "cp1125", "abort_payments": True}

class ZvtCardTests(ZvtDesk, CardPromises):
    """x"""


del FaultPromises, CardPromises
