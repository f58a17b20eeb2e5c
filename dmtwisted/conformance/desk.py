"""A desk with one device: the real store, dispatcher and driver in memory, and a far end that can be made to fail.

`Stand` says what stands on it: a driver, its settings, and what plays the device. A driver's author writes one.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IProtocol
from twisted.logger import ILogObserver, LogEvent, globalLogPublisher
from twisted.python.failure import Failure
from zope.interface import implementer

from dmtwisted.clock import ServiceClock
from dmtwisted.conformance.line import DeskReactor, World
from dmtwisted.conformance.mortal import Mortal
from dmtwisted.devices.devices import Devices
from dmtwisted.devices.drivers import Driver, Surroundings
from dmtwisted.dispatch import Dispatcher
from dmtwisted.secrets import Secrets
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import DeviceRow, OperationQuery, OperationRow
from dmtwisted.system.logs import observer

T = TypeVar("T")

MORNING = 1_789_970_400.0
"""Monday, 21 September 2026, 09:00 in Kyiv, in seconds since 1970."""

NAME = "it"
"""The device on a desk."""

Answer = dict[str, Any]

WAIT = 20.0
"""Seconds that an operation may take on a stand."""

OPERATION = 1.0
"""Seconds that a simulated payment takes, the customer included."""


class Broken(AssertionError):
    """A promise that was not kept."""


class NotHere(Exception):
    """A check that turns out not to concern a driver."""


def expect(kept: object, what: str) -> None:
    """See that a promise is kept.

    :raises Broken: when ``kept`` is false.
    """
    if not kept:
        raise Broken(what)


def same(found: object, wanted: object, what: str) -> None:
    """See that ``found`` is what was promised.

    :raises Broken: when it is something else.
    """
    if found != wanted:
        raise Broken(f"{what}: {wanted!r} was promised, {found!r} came")


@dataclass(frozen=True)
class FarEnd:
    """What plays the device.

    ``device`` has a `scenario` and `entries()`, as `protocols.simulators` have; ``factory`` makes what answers
    calls, and is `None` where the driver brings its far end itself; ``at_card`` readies the device for a payment that
    stops at its card, where it has to be told.
    """

    device: Any
    factory: Any = None
    at_card: Callable[[], None] | None = None


@dataclass(frozen=True)
class Stand:
    """A driver, and what it needs to be looked at.

    ``settings`` are those of a device as they would be entered; ``far`` makes the far end in a world, and is `None`
    where the driver has its simulator within; ``build`` stands in for the driver's own where its line cannot be led
    to memory by the reactor alone, and ``line`` says whether it still goes over the reactor; ``wrong`` holds settings
    that must be refused, with the path that the refusal names; ``prepare`` does what a person would before the first
    task.
    """

    driver: Driver
    settings: Mapping[str, Any]
    far: Callable[[World], FarEnd] | None = None
    build: Callable[[DeviceRow, Any, Surroundings, FarEnd], Any] | None = None
    wrong: tuple[tuple[Mapping[str, Any], str], ...] = ()
    prepare: Callable[[Any], None] | None = None
    line: bool = True
    shape: str = ""
    """Which of several shapes of the same driver this is: another line, another way of working."""

    @property
    def has(self) -> frozenset[str]:
        """The words that a check may need."""
        line = ("line",) if self.far is not None and self.line else ()
        return frozenset({*self.driver.capabilities, *line})

    @property
    def title(self) -> str:
        """What it is called in reports."""
        name = f"{self.driver.kind} {self.driver.name}"
        return f"{name} ({self.shape})" if self.shape else name


@implementer(ILogObserver)
@dataclass(eq=False)
class Heard:
    """What the service wrote into its log, at debug, and faults of ours in it."""

    text: str = ""
    faults: list[str] = field(default_factory=list)

    def write(self, text: str) -> int:
        """A line of the log."""
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Nothing is kept back."""

    def __call__(self, event: LogEvent) -> None:
        """Look for an exception that nobody expected."""
        failure = event.get("log_failure")
        if failure is not None:
            self.faults.append(f"{failure.type.__name__}: {failure.value}")


class Desk:
    """One device at work. Each check has a desk of its own."""

    def __init__(self, stand: Stand) -> None:
        self.stand = stand
        self.world = World()
        self.world.advance(MORNING)
        self.weather = self.world.weather
        self.is_on = True
        self.instead: Callable[[], IProtocol] | None = None
        """Something else that answers calls."""
        self.answered: list[Answer] = []
        self._far = stand.far(self.world) if stand.far is not None else FarEnd(None)
        self._folder = Path(tempfile.mkdtemp(prefix="conform-"))
        self._store = MemoryStore()
        self.log = Heard()
        self._watching = observer(cast(Any, self.log), "text", "debug")
        globalLogPublisher.addObserver(self._watching)
        globalLogPublisher.addObserver(self.log)
        self.now(self._store.open())
        self._start()
        self.now(self.devices.add(NAME, stand.driver.kind, stand.driver.name, dict(stand.settings)))
        if stand.prepare is not None:
            stand.prepare(self)

    def _start(self) -> None:
        self.store = Mortal(self._store)
        self.reactor = DeskReactor(self.world, self._answer_call)
        clock, store = ServiceClock(self.reactor), cast(Any, self.store)
        around = Surroundings(self.reactor, clock, store, self._folder, Secrets(self._folder))
        driver = self.stand.driver
        build = self.stand.build
        if build is not None:
            stood, far = build, self._far
            driver = replace(driver, build=lambda row, settings, around: stood(row, settings, around, far))
        self.devices = Devices({(driver.kind, driver.name): driver}, around, 15.0)
        self.dispatcher = Dispatcher(self.devices, cast(Any, self.store), around.clock)
        self.now(self.devices.open())

    def _answer_call(self) -> IProtocol | None:
        if not self.is_on:
            return None
        if self.instead is not None:
            return self.instead()
        protocol: IProtocol | None = self._far.factory.buildProtocol(None)
        return protocol

    # The far end

    @property
    def device(self) -> Any:
        """What plays the device."""
        if self._far.device is not None:
            return self._far.device
        return self.devices.by_name(NAME).simulator

    @property
    def built(self) -> Any:
        """The working device, as the driver built it."""
        return self.devices.by_name(NAME).built

    def rules(self, *rules: Mapping[str, Any]) -> None:
        """What goes wrong next at the far end; nothing without any."""
        self.device.scenario.replace({"rules": [dict(rule) for rule in rules]})

    def rule(self, on: str, then: str, code: str = "", times: int = 1, delay_ms: int = 0) -> None:
        """The one thing that goes wrong next at the far end."""
        self.rules({"on": on, "then": then, "code": code, "times": times, "delay_ms": delay_ms})

    def at_card(self) -> None:
        """The next payment is to stop at its card."""
        if self._far.at_card is not None:
            self._far.at_card()

    def entries(self, *kinds: str) -> list[Any]:
        """What the far end has accepted, of ``kinds`` or of all."""
        found = [entry for entry in self.device.entries() if entry.status == "accepted"]
        return [entry for entry in found if not kinds or entry.kind in kinds]

    def switch_off(self) -> None:
        """The device is gone: its lines break, and nobody takes a call."""
        self.is_on = False
        self.world.hang_up()

    def switch_on(self) -> None:
        """The device is back, the line is good, and nothing goes wrong any more."""
        self.is_on, self.instead = True, None
        self.weather.calm()
        self.rules()

    # Asking

    def asked(self, body: Mapping[str, Any], **ways: Any) -> Deferred[bytes]:
        """The answer that is due for a task."""
        content = json.dumps({"device": NAME, "source": "till", **body}).encode()
        return Deferred.fromCoroutine(self.dispatcher.execute(content, "en", **ways))

    def ask(self, body: Mapping[str, Any], **ways: Any) -> Answer:
        """The answer to a task, however long it takes."""
        return self.answer(self.asked(body, **ways))

    def answer(self, due: Deferred[bytes], longest: float = 600.0) -> Answer:
        """The answer that ``due`` comes to."""
        answer: Answer = json.loads(self.wait(due, longest))
        self.answered.append(answer)
        return answer

    def wait(self, due: Deferred[T], longest: float = 600.0) -> T:
        """What comes of ``due``, with time passing from one moment at which something happens to the next.

        :raises Broken: when nothing comes of it in ``longest`` seconds.
        """
        came: list[Any] = []
        due.addBoth(came.append)
        end = self.world.seconds() + longest
        while True:
            self.world.advance(0)
            if came:
                break
            calls = self.world.getDelayedCalls()
            at = min((call.getTime() for call in calls), default=end + 1)
            if at > end:
                raise Broken(f"nothing came of it in {longest:g} s")
            self.world.advance(max(at - self.world.seconds(), 1e-6))
        if isinstance(came[0], Failure):
            came[0].raiseException()
        told: T = came[0]
        return told

    def run(self, seconds: float) -> None:
        """Let time pass."""
        quiet: Deferred[None] = Deferred()
        self.world.callLater(seconds, quiet.callback, None)
        self.wait(quiet, seconds + 1)

    def until(self, holds: Callable[[], object], what: str, longest: float = 60.0) -> None:
        """Let time pass in small steps until something holds.

        :raises Broken: when it never does.
        """
        for _ in range(round(longest / 0.05)):
            if holds():
                return
            self.world.advance(0.05)
        raise Broken(f"never came: {what}")

    def now(self, work: Any) -> Any:
        """What comes of ``work`` at once."""
        return self.wait(Deferred.fromCoroutine(work), 30.0)

    # The service

    def die(self) -> None:
        """The process ends in the middle of whatever it does; its lines break."""
        self.store.dead = self.reactor.dead = True
        self.world.hang_up()

    def restart(self) -> None:
        """End the process, whatever it does, and start it again; it asks after what is open."""
        if not self.store.dead:
            self.die()
        self.devices.close()
        self.world.advance(0)
        self._start()
        self.wait(Deferred.fromCoroutine(self.dispatcher.resolve()))

    def rows(self, key: str = "") -> list[OperationRow]:
        """What the journal holds, oldest first; under one key when it is given."""
        query = OperationQuery(key=key, limit=10_000) if key else OperationQuery(limit=10_000)
        return list(reversed(self.now(self._store.find_operations(query)).operations))

    def states(self) -> list[str]:
        """How each operation of the journal stands, oldest first."""
        return [str(row.state) for row in self.rows()]

    def kept(self) -> bytes:
        """Everything that the store holds of operations and devices."""
        rows = b"".join(row.request + row.answer for row in self.rows())
        return rows + b"".join(row.settings for row in self.now(self._store.devices()))

    def faults(self) -> str:
        """Exceptions that nobody expected; empty when there was none."""
        return "; ".join(self.log.faults)

    def close(self) -> None:
        """Let everything go."""
        self.devices.close()
        if hasattr(self._far.device, "close"):
            self._far.device.close()
        for call in self.world.getDelayedCalls():
            call.cancel()
        globalLogPublisher.removeObserver(self._watching)
        globalLogPublisher.removeObserver(self.log)
        shutil.rmtree(self._folder, ignore_errors=True)
