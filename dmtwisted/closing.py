"""Shifts closed at a set time, for registers whose settings have one (`auto_close`)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock, kyiv
from dmtwisted.devices.devices import Device, Devices, RegisterDevice, register_settings
from dmtwisted.dispatch import Dispatcher
from dmtwisted.registers.interface import Z_REPORT
from dmtwisted.registers.unheard import caller, nobody
from dmtwisted.results import Refused

EVERY = 20.0
"""Seconds between two checks."""


class ShiftClosing:
    """Sends a Z-report to every register whose time has come, as a till would."""

    log = Logger()

    def __init__(self, devices: Devices, dispatcher: Dispatcher, clock: ServiceClock) -> None:
        self._devices, self._dispatcher, self._clock = devices, dispatcher, clock
        self._loop = LoopingCall(lambda: Deferred.fromCoroutine(self.close_due()))
        self._loop.clock = clock

    def start(self) -> None:
        """Begin to check."""
        self._loop.start(EVERY, now=False)

    def stop(self) -> None:
        """Stop."""
        if self._loop.running:
            self._loop.stop()

    async def close_due(self) -> None:
        """Close every shift that was opened before its register's closing time and is still open after it."""
        for device in self._devices:
            if not isinstance(device, RegisterDevice) or not register_settings(device).auto_close:
                continue
            try:
                await self._close_if_due(device)
            except Refused as refused:
                self.log.debug("{device}: not closed now: {why}", device=device.name, why=str(refused))
            except Exception:
                self.log.failure("{device}: could not be closed", device=device.name)

    def _due(self, device: Device, state: dict[str, Any]) -> bool:
        closing = register_settings(device).auto_close
        if not closing or not state.get("shift_status"):
            return False
        opened_at: int = state["opened_at"]
        return opened_at < _last_time(closing, self._clock.now())

    async def _close_if_due(self, device: Device) -> None:
        if not self._due(device, await device.built.state()):
            return
        # Another service may have used the register since, so that the shift is another one.
        async with device.turns.owned():
            device = self._devices.by_id(device.row.dev_id)
            state: dict[str, Any] = await device.built.state()
        if not self._due(device, state):
            return
        # The tag contains the number of the shift, so a closing whose answer was lost is not done twice.
        body = {
            "device": device.name,
            "source": "auto_close",
            "tag": f"auto_close-{state['shift']}",
            "type": 1,
            "fiscal": {"task": Z_REPORT},
        }
        caller.set(nobody)
        await self._dispatcher.execute(msgspec.json.encode(body), "uk")


def _last_time(closing: str, now: int) -> int:
    """The last moment, in milliseconds, at which clocks in Kyiv showed ``closing``, ``HH:MM``."""
    hour, minute = map(int, closing.split(":"))
    moment = kyiv(now).replace(hour=hour, minute=minute, second=0)
    if moment.timestamp() * 1000 > now:
        moment -= timedelta(days=1)
    return int(moment.timestamp() * 1000)
