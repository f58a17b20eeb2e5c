"""Everything behind the door, put together: store, clock, devices, dispatcher."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface.verify import verifyObject

from dmtwisted.clock import ServiceClock
from dmtwisted.closing import ShiftClosing
from dmtwisted.config import Config
from dmtwisted.devices.devices import Devices
from dmtwisted.devices.drivers import REGISTER, Surroundings, find_drivers
from dmtwisted.dispatch import Dispatcher
from dmtwisted.store.interface import IStore

TRAINING_REGISTER = "test"
"""The register that a fresh service in training mode has (design 7)."""


class Core:
    """The rooms of the house; `web` asks them, nobody here asks `web`.

    :param state: the folder for the files of devices; `None` keeps them in memory.
    """

    log = Logger()

    def __init__(self, config: Config, store: IStore, reactor: Any, state: Path | None) -> None:
        verifyObject(IStore, store)
        self.config, self.store = config, store
        self.clock = ServiceClock(reactor)
        around = Surroundings(reactor, self.clock, store, state)
        self.devices = Devices(find_drivers(), around, config.service.turn_wait_s)
        self.dispatcher = Dispatcher(self.devices, store, self.clock)
        self._closing = ShiftClosing(self.devices, self.dispatcher, self.clock)
        self.ready = False

    async def open(self) -> None:
        """Open the store and every device, and ask once after all that is unknown.

        :raises StoreFailed: when the store cannot be opened.
        """
        await self.store.open()
        await self.devices.open()
        if self.config.service.training and not list(self.devices):
            await self.devices.add(TRAINING_REGISTER, REGISTER, "training", {})
        self._closing.start()
        # A far end that does not answer must not keep the door shut: who asks is told what is unknown.
        Deferred.fromCoroutine(self._ask_what_is_unknown())

    async def _ask_what_is_unknown(self) -> None:
        await self.dispatcher.resolve()
        self.ready = True

    async def close(self) -> None:
        """Refuse new tasks, let the running ones end, close devices and store."""
        self.ready = False
        self._closing.stop()
        await self.dispatcher.finish()
        self.devices.close()
        await self.store.close()
