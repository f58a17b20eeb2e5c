"""A desk with one device: the real store, dispatcher and driver in memory, and a simulated device that can fail.

`Stand` describes a driver, its settings, and what simulates the device. The author of a driver writes one.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
from dmtwisted.devices.driver import Driver, Surroundings
from dmtwisted.dispatch import Dispatcher
from dmtwisted.results import Refused
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
    """A check that does not apply to a driver after all."""


def expect(kept: object, what: str) -> None:
    """Check that a promise is kept.

    :raises Broken: when ``kept`` is false.
    """
    if not kept:
        raise Broken(what)


def same(found: object, wanted: object, what: str) -> None:
    """Check that ``found`` is what was promised.

    :raises Broken: when it is something else.
    """
    if found != wanted:
        raise Broken(f"{what}: {wanted!r} was promised, {found!r} came")


@dataclass(frozen=True)
class FarEnd:
    """What simulates the device.

    ``device`` has a `scenario` and `entries()`, as `protocols.simulators` have. ``factory`` accepts connections; it
    is `None` where the driver has its own simulator. ``at_card`` prepares the device for a payment that stops at its
    card, where that is needed.
    """

    device: Any
    factory: Any = None
    at_card: Callable[[], None] | None = None


@dataclass(frozen=True)
class Stand:
    """A driver, and what the suite needs to check it.

    ``settings`` are those of a device as a person would enter them. ``far`` makes the simulated device in a world; it
    is `None` where the driver has its own simulator. ``build`` replaces the driver's own where the reactor alone
    cannot lead its line to memory; ``line`` says whether it still uses the reactor. ``wrong`` has settings that must
    be refused, with the path in the refusal. ``prepare`` does what a person would do before the first task.
    """

    driver: Driver
    settings: Mapping[str, Any]
    far: Callable[[World], FarEnd] | None = None
    build: Callable[[DeviceRow, Any, Surroundings, FarEnd], Any] | None = None
    wrong: tuple[tuple[Mapping[str, Any], str], ...] = ()
    prepare: Callable[[Any], None] | None = None
    line: bool = True
    shape: str = ""
    """The variant of the driver: another line, another way of working."""
    opens: bool = True
    """Of a register: whether the opening of a shift is a document of its own at the other end."""

    @property
    def has(self) -> frozenset[str]:
        """The words that a check may need."""
        line = ("line",) if self.far is not None and self.line else ()
        return frozenset({*self.driver.capabilities, *line})

    @property
    def title(self) -> str:
        """Its name in reports."""
        name = f"{self.driver.kind} {self.driver.name}"
        return f"{name} ({self.shape})" if self.shape else name


@implementer(ILogObserver)
@dataclass(eq=False)
class Heard:
    """The service's log at debug, and the unexpected exceptions in it."""

    text: str = ""
    faults: list[str] = field(default_factory=list)

    def write(self, text: str) -> int:
        """Add a line of the log."""
        self.text += text
        return len(text)

    def flush(self) -> None:
        """Nothing is buffered."""

    def __call__(self, event: LogEvent) -> None:
        """Collect an unexpected exception."""
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
        """Another program that accepts connections."""
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
        self.devices = Devices({(driver.kind, driver.name): driver}, around, 15.0, training=True)
        self.dispatcher = Dispatcher(self.devices, cast(Any, self.store), around.clock)
        self.now(self.devices.open())

    def _answer_call(self) -> IProtocol | None:
        if not self.is_on:
            return None
        if self.instead is not None:
            return self.instead()
        protocol: IProtocol | None = self._far.factory.buildProtocol(None)
        return protocol

    # The simulated device

    @property
    def device(self) -> Any:
        """The simulated device."""
        if self._far.device is not None:
            return self._far.device
        return self.devices.by_name(NAME).simulator

    @property
    def built(self) -> Any:
        """The working device, as the driver built it."""
        return self.devices.by_name(NAME).built

    def rules(self, *rules: Mapping[str, Any]) -> None:
        """What goes wrong next at the device; nothing without rules."""
        self.device.scenario.replace({"rules": [dict(rule) for rule in rules]})

    def rule(self, on: str, then: str, code: str = "", times: int = 1, delay_ms: int = 0) -> None:
        """The one thing that goes wrong next at the device."""
        self.rules({"on": on, "then": then, "code": code, "times": times, "delay_ms": delay_ms})

    def at_card(self) -> None:
        """Let the next payment stop at its card."""
        if self._far.at_card is not None:
            self._far.at_card()

    def entries(self, *kinds: str) -> list[Any]:
        """What the device has accepted, of ``kinds`` or of all."""
        found = [entry for entry in self.device.entries() if entry.status == "accepted"]
        return [entry for entry in found if not kinds or entry.kind in kinds]

    def switch_off(self) -> None:
        """The device is gone: its lines break, and connections are refused."""
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

    def underway(self, body: Mapping[str, Any], pause: float) -> Deferred[bytes]:
        """The answer that is due for a task after ``pause`` seconds; it may be that of a service that died."""
        due = self.asked(body)
        due.addErrback(lambda _: b"")
        self.run(pause)
        return due

    def check(self) -> str:
        """Why the device does not work; empty when it does."""
        try:
            self.wait(Deferred.fromCoroutine(self.built.check()))
        except Refused as refused:
            return refused.errortxt("en")
        return ""

    @contextmanager
    def failing(self, n: int, happens: bool = False) -> Iterator[None]:
        """Let the ``n``-th call of the store from now on fail, after its effect if it ``happens``."""
        self.store.fail_at(n, happens)
        yield
        self.store.fail_at(0, False)

    def answer(self, due: Deferred[bytes], longest: float = 600.0) -> Answer:
        """The answer of ``due``."""
        answer: Answer = json.loads(self.wait(due, longest))
        self.answered.append(answer)
        return answer

    def wait(self, due: Deferred[T], longest: float = 600.0) -> T:
        """The result of ``due``, while time passes from one timer to the next.

        :raises Broken: when it has no result in ``longest`` seconds.
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
                raise Broken(f"no result in {longest:g} s")
            self.world.advance(max(at - self.world.seconds(), 1e-6))
        if isinstance(came[0], Failure):
            came[0].raiseException()
        result: T = came[0]
        return result

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
        """The result of ``work``, which needs no time."""
        return self.wait(Deferred.fromCoroutine(work), 30.0)

    # The service

    def die(self) -> None:
        """The process ends at this moment; its lines break."""
        self.store.dead = self.reactor.dead = True
        self.world.hang_up()

    def restart(self) -> None:
        """End the process at this moment and start it again; it finds out about open operations."""
        if not self.store.dead:
            self.die()
        self.devices.close()
        self.world.advance(0)
        self._start()
        self.wait(Deferred.fromCoroutine(self.dispatcher.resolve()))

    def rows(self, key: str = "") -> list[OperationRow]:
        """The rows of the journal, oldest first; with one key when it is given."""
        query = OperationQuery(key=key, limit=10_000) if key else OperationQuery(limit=10_000)
        return list(reversed(self.now(self._store.find_operations(query)).operations))

    def states(self) -> list[str]:
        """The state of each operation in the journal, oldest first."""
        return [str(row.state) for row in self.rows()]

    def kept(self) -> bytes:
        """Everything that the store holds of operations and devices."""
        rows = b"".join(row.request + row.answer for row in self.rows())
        return rows + b"".join(row.settings for row in self.now(self._store.devices()))

    def faults(self) -> str:
        """Unexpected exceptions; empty when there was none."""
        return "; ".join(self.log.faults)

    def close(self) -> None:
        """Close everything."""
        self.devices.close()
        if hasattr(self._far.device, "close"):
            self._far.device.close()
        for call in self.world.getDelayedCalls():
            call.cancel()
        globalLogPublisher.removeObserver(self._watching)
        globalLogPublisher.removeObserver(self.log)
        shutil.rmtree(self._folder, ignore_errors=True)
