"""A whole service in memory for the tests: all real parts, a simulated clock, ledgers in a folder."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.python.monkey import MonkeyPatcher
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.config import Config, ServiceConfig
from dmtwisted.core import Core
from dmtwisted.devices.devices import Unusable, UnusableDevice
from dmtwisted.registers import asking
from dmtwisted.registers.engine import SoftwareRegister
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import StoreFailed

MORNING = 1_789_970_400.0
"""Monday, 21 September 2026, 09:00 in Kyiv, in seconds since 1970."""


def hurry(case: SynchronousTestCase) -> MonkeyPatcher:
    """Let callers grant no time for asking: a lost answer stays unknown until the next task, or until restored."""
    patched: MonkeyPatcher = case.patch(asking, "GRANTED_S", asking.RESERVE_S)
    return patched


class Shop:
    """A service in training mode with one register, `test`.

    :param whole: with all devices of a new service in training mode: a printer and a terminal too.
    :param warns: whether answers warn of members that are ignored, as in training mode; most tests send some.
    """

    def __init__(self, case: SynchronousTestCase, whole: bool = False, warns: bool = False, **service: Any) -> None:
        self._case, self._warns = case, warns
        self.clock = Clock()
        self.clock.advance(MORNING)
        self.store = MemoryStore()
        self.state = Path(tempfile.mkdtemp())
        case.addCleanup(shutil.rmtree, self.state)
        # Windows removes no file that is open.
        case.addCleanup(lambda: self.core.devices.close())
        if not whole:
            # A service that finds a device in its store adds none.
            case.successResultOf(Deferred.fromCoroutine(self._make_register()))
        self._config = Config(service=ServiceConfig(**{"training": True, **service}))
        self.core = self._open()

    async def _make_register(self) -> None:
        await self.store.open()
        await self.store.add_device(str(uuid4()), "test", "register", "training", b"{}")

    def _open(self) -> Core:
        core = Core(self._config, self.store, self.clock, self.state)
        core.dispatcher.programs.training &= self._warns
        self._case.successResultOf(Deferred.fromCoroutine(core.open()))
        return core

    def crash(self) -> None:
        """Lose everything but the store and the ledgers, and start again, as after a kill."""
        for call in list(self.clock.getDelayedCalls()):
            call.cancel()
        self.core.devices.close()
        self.core = self._open()

    def asked(self, body: dict[str, Any] | bytes, language: str = "uk") -> Deferred[bytes]:
        """Send ``body``; the encoded answer to come."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return Deferred.fromCoroutine(self.core.dispatcher.execute(raw, language))

    def ask(self, body: dict[str, Any] | bytes, language: str = "uk") -> dict[str, Any]:
        """The answer to ``body``, which must come at once, or as soon as a lost answer was asked for."""
        due = self.asked(body, language)
        self.settle(due)
        answer: dict[str, Any] = json.loads(self._case.successResultOf(due))
        return answer

    def settle(self, due: Deferred[Any]) -> None:
        """Let time pass while a register asks for a document whose answer was lost."""
        while not due.called and any(self._asks(device.built) for device in self.core.devices):
            self.clock.advance(asking.PAUSE_S)

    def _asks(self, built: Any) -> bool:
        return isinstance(built, SoftwareRegister) and built._asking.under_way

    def fiscal(self, task: int, tag: str = "", device: str = "test", **members: Any) -> dict[str, Any]:
        """The answer to a task of ``type`` 1."""
        return self.ask({"ver": 6, "device": device, "tag": tag, "type": 1, "fiscal": {"task": task, **members}})

    def look_up(self, tag: str, device: str = "test") -> dict[str, Any]:
        """The answer to a look-up by ``tag``, in the shortened form."""
        return self.ask({"ver": 6, "device": device, "tag": tag})

    def open_shift(self, device: str = "test") -> None:
        """Open the shift."""
        self._case.assertEqual(self.fiscal(0, device=device)["res"], 0)

    def sell(self, amount: float | str = 100, tag: str = "", **receipt: Any) -> dict[str, Any]:
        """The answer to a sale of one item for cash; ``receipt`` replaces members of the receipt."""
        return self.fiscal(1, tag, receipt={**sale(amount), **receipt})

    def scenario(self, *rules: dict[str, Any], device: str = "test") -> None:
        """Set what the simulated tax service does next."""
        self.core.devices.by_name(device).simulator.scenario.replace({"rules": list(rules)})

    def ledger(self, device: str = "test", kind: str = "", status: str = "accepted") -> list[Any]:
        """The entries of the simulated tax service; only of one kind, if given."""
        entries = self.core.devices.by_name(device).simulator.entries()
        return [entry for entry in entries if kind in ("", entry.kind) and entry.status == status]

    def add(self, name: str) -> None:
        """Add a training register."""
        adding = self.core.devices.add(name, "register", "training", {})
        self._case.successResultOf(Deferred.fromCoroutine(adding))

    def built(self, device: str = "test") -> Any:
        """What the driver of a device built, for tests that look inside."""
        return self.core.devices.by_name(device).built

    def make_unusable(self, device: str, why: str) -> None:
        """Put a device into the state of one that could not be built."""
        devices = self.core.devices
        was = devices.by_name(device)
        was.built.close()
        devices._keep(UnusableDevice(was.row, was.driver, was.turns, was.settings, Unusable(ValueError(why))))

    def settings(self, device: str = "test", **changes: Any) -> None:
        """Change settings of a device."""
        devices = self.core.devices
        change = devices.change(devices.by_name(device).row.dev_id, None, changes)
        self._case.successResultOf(Deferred.fromCoroutine(change))


class FailingStore:
    """The store of a shop; one of the next calls of its registers can fail."""

    def __init__(self, case: SynchronousTestCase, shop: Shop) -> None:
        self._store = shop.store
        self._left, self._done, self._broken = 0, False, False
        for verb in (
            *("reserve", "conclude", "conclude_at_once", "accept_document"),
            *("find", "unresolved", "register_state"),
        ):
            case.patch(shop.store, verb, self._failing(getattr(shop.store, verb)))

    def fail_at(self, n: int, done: bool = False, broken: bool = False) -> None:
        """Fail at the ``n``-th call from now, and at each later one if ``broken``.

        :param done: whether the call has its effect all the same.
        """
        self._left, self._done, self._broken = n, done, broken

    def repair(self) -> None:
        """Fail no more."""
        self._left, self._store.broken = 0, False

    @property
    def waits(self) -> bool:
        """Whether the call that fails is still to come."""
        return self._left > 0

    def _failing(self, verb: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def ask(*arguments: Any) -> Any:
            self._left -= 1
            if self._left != 0:
                return await verb(*arguments)
            if self._done:
                await verb(*arguments)
            self._store.broken = self._broken
            raise StoreFailed("database or disk is full")

        return ask


def sale(amount: float | str = 100) -> dict[str, Any]:
    """A receipt with one item, paid in cash."""
    return {
        "sum": amount,
        "rows": [{"code": "1", "name": "Кава", "cnt": 1, "price": amount, "taxgrp": 1}],
        "pays": [{"type": 0, "sum": amount}],
    }
