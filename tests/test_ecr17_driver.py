"""x"""
from __future__ import annotations
from typing import Any, ClassVar
from dmtwisted.clock import ServiceClock
from dmtwisted.results import Res
from dmtwisted.terminals.drivers.ecr17 import Ecr17Settings
from dmtwisted.terminals.settings import Unreached
from dmtwisted.terminals.ecr17 import Ecr17Driver
from protocols.simulators.ecr17 import Ecr17Device
from tests.memory_line import MemoryEndpoint
from tests.terminal_desk import WAIT, CardPromises, DeskCase, FaultPromises


class Ecr17Desk(DeskCase):
    """A desk."""

    unreached = 5028
    settings: ClassVar[dict[str, Any]] = {"lrc": "std"}

    def device(self) -> Any:
        return Ecr17Device(self.terminal, self.clock)

    def driver(self, endpoint: MemoryEndpoint, clock: ServiceClock) -> Any:
        settings = Ecr17Settings(host="192.0.2.1", port=10000, wait_s=WAIT, **self.settings)
        unreached = Unreached(settings, Res.TERMINAL_UNREACHABLE, Res.COM_PORT_ERROR)
        return Ecr17Driver(settings, endpoint, clock, self.clock, unreached)


class FaultTests(Ecr17Desk, FaultPromises):
    """x"""

class CardTests(Ecr17Desk, CardPromises):
    """x"""


del FaultPromises, CardPromises
