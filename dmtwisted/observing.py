"""Asks devices whether they are there, between their tasks, so that a fault shows before a customer meets it.

Nobody waits for these questions, so they give way: none begins while a task runs, and each has a limit. Printers,
terminals and hardware registers have one line, so a task that comes during a question waits for its end, `LIMIT_S` at
most; a software register has a connection for each request, so its tasks do not wait at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Device, Devices
from dmtwisted.devices.driver import PRINTER, REGISTER, TERMINAL
from dmtwisted.events import Events
from dmtwisted.observed import Inquired, nothing
from dmtwisted.registers.channels.interface import Away
from dmtwisted.registers.interface import OnALine
from dmtwisted.results import Refused, Res, Text

EVERY_S, NEAR_S = 60.0, 2.0
"""Seconds between two questions to a device; and while somebody looks at the pages, or soon after it failed."""

LIMIT_S = 2.0
"""Seconds for one question."""

TICK_S = 0.5
"""Seconds between two looks at which device is due: with `NEAR_S` and `LIMIT_S` a fault shows within 5 s."""

CALMER = 10
"""A device that stays broken, with nobody looking, is asked after this part of the time for which it has been."""


class Observing:
    """Asks every device that can be asked; each one question at a time."""

    log = Logger()

    def __init__(self, devices: Devices, events: Events, clock: ServiceClock) -> None:
        self._devices, self._events, self._clock = devices, events, clock
        self._asked: dict[str, float] = {}
        self._questions: dict[str, Deferred[None]] = {}
        self._next: IDelayedCall | None = None
        self._running = False
        self.changed: Callable[[], None] = nothing
        """Called when what is known of a device changed."""

    def start(self) -> None:
        """Begin to ask."""
        self._running = True
        self._tick()

    def stop(self) -> None:
        """Ask no more, and give up the questions that are under way."""
        self._running = False
        if self._next is not None:
            self._next.cancel()
            self._next = None
        for question in list(self._questions.values()):
            question.cancel()

    def _tick(self) -> None:
        near = self._events.attended
        for device in self._devices:
            if isinstance(device.built, Inquired):
                device.built.observed.changed = self.changed
                if self._due(device, device.built, near):
                    self._ask(device, device.built)
        self._next = self._clock.callLater(TICK_S, self._tick)

    def _due(self, device: Device, built: Inquired, near: bool) -> bool:
        observed, dev_id = built.observed, device.row.dev_id
        if observed.asked is False or device.turns.busy or dev_id in self._questions:
            return False
        if self._devices.sharing.may_be_another(device.row.n):
            # Another service may be at work with it.
            return False
        if near:
            pause = NEAR_S
        elif observed.why is not None:
            pause = min(max(NEAR_S, observed.failed_for / CALMER), EVERY_S)
        else:
            pause = EVERY_S
        asked = self._asked.get(dev_id)
        since = None if asked is None else self._clock.steady() - asked
        if observed.why is None and observed.age is not None:
            # A task that worked just now tells as much as a question.
            since = observed.age if since is None else min(since, observed.age)
        return since is None or since >= pause

    def _ask(self, device: Device, built: Inquired) -> None:
        dev_id = device.row.dev_id
        question = Deferred.fromCoroutine(self._one(device, built))
        if not question.called:
            self._questions[dev_id] = question
        question.addErrback(lambda why: self.log.failure("{device}: a question failed", why, device=device.name))
        question.addBoth(lambda _: self._over(dev_id))

    async def _one(self, device: Device, built: Inquired) -> None:
        """One question, and what its answer shows."""
        observed = built.observed
        lends = device.kind != REGISTER or isinstance(built, OnALine)
        asking = Deferred.fromCoroutine(device.turns.lend(built.inquire) if lends else built.inquire())
        try:
            answered = await asking.addTimeout(LIMIT_S, self._clock, _late)
        except Refused as refused:
            if self._running:
                observed.failed(refused, task=False)
        except TimeoutError:
            observed.failed(_AWAY if isinstance(built, OnALine) else SILENT[device.kind], task=False)
        except CancelledError:
            # The service stops.
            return
        else:
            if answered:
                observed.worked(task=False)
            if observed.asked is None or answered is None:
                observed.asked = answered is not None
                self.changed()

    def _over(self, dev_id: str) -> None:
        self._questions.pop(dev_id, None)
        self._asked[dev_id] = self._clock.steady()


def _late(result: Any, seconds: float) -> Any:
    """A device that did not answer in time failed by that, whatever its driver calls it when it is given up."""
    return Failure(TimeoutError(seconds)) if isinstance(result, Failure) else result


_IN_TIME = Text(f"немає відповіді за {LIMIT_S:g} с", f"no answer in {LIMIT_S:g} s")

SILENT: dict[str, Refused] = {
    REGISTER: Refused(Res.TAX_SERVICE_UNREACHABLE, aq_errortxt=_IN_TIME),
    PRINTER: Refused(Res.PRINTER_CONNECT),
    TERMINAL: Refused(Res.TERMINAL_CONNECT, aq_errortxt=_IN_TIME),
}
"""What a device counts as that did not answer in time."""

_AWAY = Away(_IN_TIME, Res.DEVICE_ERROR)
