"""A shop in memory with a hardware register: the whole service, and a simulated MG register behind a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.core import Core
from dmtwisted.devices.driver import REGISTER
from dmtwisted.registers.drivers.mg import MgSettings
from dmtwisted.registers.wired.driver import wired_driver
from dmtwisted.registers.wired.interface import IMachine
from dmtwisted.registers.wired.mg import MgMachine
from protocols.registers.mg.digest import Login
from protocols.registers.mg.register import SERVICE, MgRegister
from protocols.simulators.mg_register import MgDevice, MgSite
from tests.memory_line import MemoryEndpoint
from tests.register_desk import Desk
from tests.shop import Shop


class BreakingDesk(Desk):
    """A line that breaks in the middle of a document."""

    cut: int | None = None
    """How many bytes of the next document arrive."""

    def _spoiling(self, deliver: Callable[[bytes], object]) -> Callable[[bytes], object]:
        def receive(data: bytes) -> None:
            cut = self.cut if data.startswith(b"POST") else None
            deliver(data[:cut])
            if cut is not None:
                self.cut = None
                self.endpoint.pumps[-1].serverIO.loseConnection()

        return receive


class IronShop(Shop):
    """A shop with the hardware register `iron`; the simulated one outlives the service.

    :param machine: in place of the MG register.
    """

    driver = "mg"

    def __init__(self, case: SynchronousTestCase, machine: IMachine | None = None, **settings: Any) -> None:
        self.desk: BreakingDesk | None = None
        self._machine = machine
        super().__init__(case)
        given = {"host": "10.0.0.7", "default_taxgrp": 1, **settings}
        adding = self.core.devices.add("iron", REGISTER, self.driver, given, confirm_real=True)
        self._case.successResultOf(Deferred.fromCoroutine(adding))

    def _open(self) -> Core:
        if self.desk is None:
            self.device = MgDevice(self.clock)
            self.desk = BreakingDesk(self.clock, MgSite(self.device))
        endpoint = self.desk.endpoint

        def machine(settings: MgSettings, _: object) -> IMachine:
            if self._machine is not None:
                return self._machine
            login = Login(settings.user, settings.password or SERVICE.password)
            return MgMachine(MgRegister(self.clock, endpoint, login), self.clock)

        core = Core(self._config, self.store, self.clock, self.state)
        core.dispatcher.programs.training &= self._warns
        core.devices.drivers[REGISTER, "mg"] = wired_driver("mg", "MG", MgSettings, machine, secrets=("password",))
        self._case.successResultOf(Deferred.fromCoroutine(core.open()))
        return core

    def cut(self, at: int) -> None:
        """Break the line after so many bytes of the next document."""
        assert self.desk is not None
        self.desk.cut = at

    @property
    def endpoint(self) -> MemoryEndpoint:
        """The line."""
        assert self.desk is not None
        return self.desk.endpoint

    def ask(self, body: dict[str, Any] | bytes, language: str = "uk") -> dict[str, Any]:
        """The answer to ``body``, however long it takes."""
        due = self.asked(body, language)
        self.endpoint.wait(due)
        answer: dict[str, Any] = json.loads(self._case.successResultOf(due))
        return answer

    def task(self, task: int, tag: str = "", **members: Any) -> dict[str, Any]:
        """The answer to a task of the hardware register."""
        return self.fiscal(task, tag, device="iron", **members)

    def crash(self) -> None:
        """Lose everything but the store and the register."""
        self.endpoint.hang_up()
        super().crash()
