"""Registers that went offline by themselves come back by themselves (fiscal-server 7.1, http-api 2.19).

Those that are online and may go offline are looked after too: a link that is found broken between two receipts is not
found out by a receipt whose outcome nobody knows then.
"""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Devices, RegisterDevice
from dmtwisted.devices.driver import REGISTER
from dmtwisted.results import Refused
from dmtwisted.store.values import StoreFailed

EVERY = 1.0
"""Seconds between two looks at which register is due."""

BREATH = 0.5
"""Seconds for which a register is the tills' between two packages; to them it is busy while one is under way."""

LANGUAGE = "uk"


class Homecoming:
    """Asks for every register that is away whether its far end is there again, and brings it home.

    The question needs no turn of the register: while nobody answers, the tills do not notice it. Handing in does, one
    package at a time.
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
        """Look after the registers from now on."""
        self._running = True
        self._loop.start(EVERY, now=False)

    def stop(self) -> None:
        """Look no more; a package that is under way ends like any task."""
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
            # Further away than one wait is only what a clock was set back before.
            elif not 0 < self._next[name] - now <= device.built.probe_s and name not in self._under_way:
                self._under_way.add(name)
                Deferred.fromCoroutine(self._try(device))

    async def _try(self, device: RegisterDevice) -> None:
        """Bring ``device`` home if that can be done now; never raises."""
        name = device.row.dev_id
        try:
            if await device.built.answers() and device.built.away:
                await self._bring_home(device)
        except (Refused, StoreFailed) as error:
            self.log.warn("{device} stays offline: {why}", device=device.name, why=str(error))
        except Exception:
            self.log.failure("{device} could not be brought home", device=device.name)
        finally:
            self._next[name] = self._clock.seconds() + device.built.probe_s
            self._under_way.discard(name)

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
