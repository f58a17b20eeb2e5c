"""The stand of hardware registers: a simulated machine of any protocol, steered by scenarios."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from twisted.internet.task import Clock

from dmtwisted.conformance.desk import FarEnd, Stand
from dmtwisted.conformance.line import World
from dmtwisted.devices.driver import Driver
from protocols.simulators.iron import Iron
from protocols.simulators.ledger import ACCEPTED, Entry
from protocols.simulators.mg_register import MgDevice, MgSite
from protocols.simulators.register_scenario import ByScenario, entries
from protocols.simulators.scenario import Scenario

ADDRESS = {"host": "127.0.0.1", "default_taxgrp": 1}
"""Of this machine, so that the suite is in training mode with it."""


@dataclass
class Machine:
    """A machine as the suite sees it: what goes wrong next, and what was registered."""

    iron: Iron
    scenario: Scenario

    def entries(self) -> Iterator[Entry]:
        """Every document that was registered; its Z reports are behind the others."""
        yield from entries(self.iron, str)
        for z in range(1, self.iron.z + 1):
            yield Entry(len(self.iron.ledger) + z, "z", ACCEPTED, f"Z{z}", 0, "", "")


Simulated = Callable[[Clock], Any]
"""Makes a simulated machine: it has `iron` and `steer`."""


def wired(
    driver: Driver,
    simulated: Simulated,
    closes: bool = True,
    factory: Callable[[Any], Any] = lambda device: device,
    shape: str = "",
    **settings: Any,
) -> Stand:
    """A hardware register whose line goes over the reactor that it is given.

    :param closes: as of `ByScenario`. :param factory: makes what accepts connections out of the machine.
    """

    def far(world: World) -> FarEnd:
        device = simulated(world)
        machine = Machine(device.iron, Scenario())
        device.iron.settings = replace(device.iron.settings, epoch=0.0)
        device.steer = ByScenario(device.iron, machine.scenario, closes, lambda: getattr(device, "coming", None))
        return FarEnd(machine, factory(device))

    given = {**ADDRESS, **settings}
    wrong = ({"host": "", "serial_port": ""}, f"settings.{'serial_port' if 'serial_port' in settings else 'host'}")
    return Stand(
        driver, given, far, wrong=(wrong, ({"rounding_step": 50}, "settings.rounding_step")), shape=shape, opens=False
    )


def mg(driver: Driver) -> Stand:
    """MG registers over HTTP."""
    return wired(driver, MgDevice, factory=MgSite)
