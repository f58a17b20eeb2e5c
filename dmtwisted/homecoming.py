"""Registers that went offline by themselves come back by themselves.

The links of online registers that may go offline are checked too: a broken link that is found between two receipts
does not cost a receipt with an unknown outcome (docs/reference/http-interface.md#offline-and-online). A link that
works is used for new offline numbers, where they are reserved in advance and few are left.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Devices, RegisterDevice
from dmtwisted.devices.driver import REGISTER
from dmtwisted.registers.interface import Reserves
from dmtwisted.results import Refused
from dmtwisted.store.values import StoreFailed

EVERY = 1.0
"""Seconds between two checks of which register is due."""

BREATH = 0.5
"""Seconds between two packages in which tills can use the register; during a package it is busy."""

LANGUAGE = "uk"


class Homecoming:
    """Asks the tax service for every register that is away, and brings the register back online.

    Asking takes no turn of the register, so tills do not notice it while there is no answer. Handing in takes the
    turn, one package at a time.
    """

    log = Logger()

    def __init__(self, devices: Devices, clock: ServiceClock) -> None:
        self._devices, self._clock = devices, clock
        self._next: dict[str, float] = {}
        self._under_way: set[str] = set()
        self._breaths: set[IDelayedCall] = set()
        self._running = False
        self._loop = LoopingCall(self.look)
        self._loop.clock = clock

    def start(self) -> None:
        """Begin to check the registers."""
        self._running = True
        self._loop.start(EVERY, now=False)

    def stop(self) -> None:
        """Stop; a package that is under way ends like any task."""
        self._running = False
        if self._loop.running:
            self._loop.stop()
        for breath in list(self._breaths):
            breath.cancel()
        self._breaths.clear()

    def look(self) -> None:
        """Try every register that is due."""
        now = self._clock.seconds()
        for device in self._devices:
            name = device.row.dev_id
            if not isinstance(device, RegisterDevice) or not (device.built.away or device.built.watched):
                self._next.pop(name, None)
            elif name not in self._next:
                self._next[name] = now + device.built.probe_s
            # The time is more than one wait away only after the clock was set back.
            elif not 0 < self._next[name] - now <= device.built.probe_s and name not in self._under_way:
                self._under_way.add(name)
                Deferred.fromCoroutine(self._try(device))

    async def _try(self, device: RegisterDevice) -> None:
        """Bring ``device`` back online if that is possible now; never raises."""
        name = device.row.dev_id
        try:
            if await device.built.answers():
                if device.built.away:
                    await self._bring_home(device)
                elif _short(device):
                    await self._stock_up(device)
        except (Refused, StoreFailed) as error:
            self.log.warn("{device} stays offline: {why}", device=device.name, why=str(error))
        except Exception:
            self.log.failure("{device} could not be brought back online", device=device.name)
        finally:
            self._next[name] = self._clock.seconds() + device.built.probe_s
            self._under_way.discard(name)

    async def _stock_up(self, device: RegisterDevice) -> None:
        """Have numbers reserved for when the link breaks."""
        async with device.turns.owned():
            now = self._devices.by_id(device.row.dev_id)
            if isinstance(now, RegisterDevice) and isinstance(now.built, Reserves):
                await now.built.stock_up(LANGUAGE)

    async def _bring_home(self, device: RegisterDevice) -> None:
        while self._running:
            async with device.turns.owned():
                # The device may have been changed or deleted while its turn was waited for.
                now = self._devices.by_id(device.row.dev_id)
                assert now.kind == REGISTER
                more = await now.built.come_home(LANGUAGE)
            if not more:
                return
            over: Deferred[None] = Deferred()
            breath = self._clock.callLater(BREATH, over.callback, None)
            self._breaths.add(breath)
            await over
            self._breaths.discard(breath)


def _short(device: RegisterDevice) -> bool:
    return isinstance(device.built, Reserves) and device.built.short
