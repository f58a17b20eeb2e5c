"""Changes in the state of devices, published as events while there is a listener.

Devices send no events: a printer's late result, a register that went offline and a terminal that waits for a card
show in their state only. So while there is a listener the state of every device is read from time to time, and at
once after each of its tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from dmtwisted.devices.devices import Device, Devices, TerminalDevice
from dmtwisted.devices.driver import PRINTER, REGISTER
from dmtwisted.events import Event, Events
from dmtwisted.observed import Inquired
from dmtwisted.results import Refused
from dmtwisted.store.values import StoreFailed
from dmtwisted.terminals.interface import TerminalProgress
from dmtwisted.terminals.service import TerminalService

PAUSE = 3.0
"""Seconds between two readings of every device; each one queries the store for printers and terminals."""


async def state_of(device: Device) -> dict[str, Any]:
    """The state of ``device``, and whether a task is running.

    :raises StoreFailed: when the store cannot be read.
    """
    observed = device.built.observed.state() if isinstance(device.built, Inquired) else {"health": "unknown"}
    return {"busy": device.turns.busy, **observed, **await device.built.state()}


class Watching:
    """Reads the state of devices between `start` and `stop`, and publishes changes."""

    log = Logger()

    def __init__(self, devices: Devices, events: Events, clock: IReactorTime) -> None:
        self._devices, self._events, self._clock = devices, events, clock
        self._known: dict[str, bytes] = {}
        self._jobs: dict[str, object] = {}
        self._offline: dict[str, bool] = {}
        self._progress: dict[str, tuple[TerminalService, Callable[[], None]]] = {}
        self._next: IDelayedCall | None = None
        self._watching = False

    def start(self) -> None:
        """Begin; the first state of a device is not a change."""
        if not self._watching:
            self._watching = True
            self._events.listen(self._heard)
            self._sweep(first=True)

    def stop(self) -> None:
        """End."""
        if not self._watching:
            return
        self._watching = False
        self._events.leave(self._heard)
        if self._next is not None and self._next.active():
            self._next.cancel()
        self._next = None
        for _, unwatch in self._progress.values():
            unwatch()
        self._progress.clear()
        self._known.clear()
        self._jobs.clear()
        self._offline.clear()

    def _heard(self, event: Event) -> None:
        if event.kind in ("task_begun", "task_ended"):
            for device in self._devices:
                if device.name == event.data["device"]:
                    # The task may still hold the device's turn, so the state is read a moment later.
                    self._clock.callLater(0, self._look, device.row.dev_id)

    def _sweep(self, first: bool = False) -> None:
        there = {device.row.dev_id: device for device in self._devices}
        for dev_id in [known for known in self._known if known not in there]:
            self._forget(dev_id)
        for dev_id in there:
            self._look(dev_id, first)
        self._next = self._clock.callLater(PAUSE, self._sweep)

    def _forget(self, dev_id: str) -> None:
        del self._known[dev_id]
        self._jobs.pop(dev_id, None)
        self._offline.pop(dev_id, None)
        if dev_id in self._progress:
            self._progress.pop(dev_id)[1]()
        self._events.publish("device", dev_id=dev_id, gone=True)

    def _look(self, dev_id: str, first: bool = False) -> None:
        if self._watching:
            Deferred.fromCoroutine(self._looked(dev_id, first)).addErrback(
                lambda failure: self.log.failure("the state of a device could not be read", failure)
            )

    async def _looked(self, dev_id: str, first: bool) -> None:
        try:
            device = self._devices.by_id(dev_id)
            self._follow(device)
            state = await state_of(device)
        except (Refused, StoreFailed):
            # The device or the store is gone; the next reading finds out.
            return
        encoded = msgspec.json.encode([device.name, state])
        before = self._known.get(dev_id)
        if not self._watching or encoded == before:
            return
        self._known[dev_id] = encoded
        job, had = state.get("last_job"), self._jobs.get(dev_id)
        self._jobs[dev_id] = job
        offline, was = bool(state.get("online_status")), self._offline.get(dev_id, False)
        self._offline[dev_id] = offline
        if first:
            return
        self._events.publish("device", device=device.name, dev_id=dev_id, kind=device.kind, state=state)
        if device.kind == PRINTER and job != had and job is not None:
            self._events.publish("job", device=device.name, dev_id=dev_id, job=job)
        if device.kind == REGISTER and offline != was:
            by_itself = bool(state.get("offline_by_itself" if offline else "online_by_itself"))
            named = {"device": device.name, "dev_id": dev_id}
            self._events.publish("offline", **named, offline=offline, by_itself=by_itself)

    def _follow(self, device: Device) -> None:
        """Follow the progress of a terminal; a device that was built again has another service to follow."""
        followed = self._progress.get(device.row.dev_id)
        if not isinstance(device, TerminalDevice) or (followed is not None and followed[0] is device.built):
            return
        if followed is not None:
            followed[1]()
        unwatch = device.built.watch(partial(self._progressed, device.row.dev_id))
        self._progress[device.row.dev_id] = device.built, unwatch

    def _progressed(self, dev_id: str, progress: TerminalProgress) -> None:
        try:
            name = self._devices.by_id(dev_id).name
        except Refused:
            return
        self._events.publish("progress", device=name, dev_id=dev_id, state=progress.state, text=progress.text)
