"""What there is on a shop day: one clock, the store, the devices at the far ends, and the service in its lives.

The service can be killed at any call of the store, at any crash point and at any moment between. A kill takes every
object of the service: the next life is built from the store alone. The devices go on, as real ones would.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from hashlib import blake2b
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, fail
from twisted.internet.interfaces import IDelayedCall, IProtocol, IProtocolFactory, IReactorTime
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from zope.interface import implementer

from dmtwisted.config import Config, ServiceConfig
from dmtwisted.core import Core
from dmtwisted.devices.driver import Driver, Surroundings
from dmtwisted.messages.bodies import message_of
from dmtwisted.store.interface import IStore
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import DeviceRow, EventRow, StoreFailed
from protocols.simulators.in_process import InProcessEndpoint, Pipe
from tests.shop import MORNING
from tests.simulated_days import devices

WRITES = frozenset(
    {
        *("reserve", "conclude", "conclude_at_once", "note", "accept_document", "change_settings", "record"),
        *("keep_cursors", "post", "take_letters", "put_letter", "drop_letter"),
    }
)
"""The verbs at which a blow can fall."""

KILLED_BEFORE, KILLED_AFTER, FAILED_BEFORE, FAILED_AFTER = (
    "killed before",
    "killed after",
    "failed before",
    "failed after",
)
BLOWS = (KILLED_BEFORE, KILLED_AFTER, FAILED_BEFORE, FAILED_AFTER)
"""What can happen at a write: the service or the write dies, before or after it is durable."""

OUTCOMES = frozenset({"conclude", "conclude_at_once"})
"""The verbs after which the judge looks: nothing else can happen before they are answered."""

LATENCY = 0.004
"""Seconds that a verb of the store takes at most."""

DAY_ONE = MORNING - 86_400 * 200
"""Shop days are drawn from the year that begins here: days of 23 and 25 hours are among them."""


class Trace:
    """The history of a day: its hash, and its lines when they are wanted."""

    def __init__(self, tell: Callable[[str], None] | None) -> None:
        self._hash, self._tell, self.count = blake2b(digest_size=16), tell, 0

    def add(self, line: str) -> None:
        """What happened next."""
        self.count += 1
        self._hash.update(line.encode())
        if self._tell is not None:
            self._tell(line)

    def hash(self) -> str:
        """Equal for two runs in which the same happened, in the same order and at the same times."""
        return self._hash.hexdigest()


@implementer(IReactorTime)
class LifeClock:
    """The reactor of one life: its timers die with it. ``wall`` is the time of day, which people can set."""

    def __init__(self, world: World, life: Life) -> None:
        self._clock, self._life = world.clock, life
        self.seconds = world.clock.seconds
        self.wall = lambda: world.clock.seconds() + world.leap

    def callLater(
        self, delay: float, callable: Callable[..., object], *args: object, **kwargs: object
    ) -> IDelayedCall:
        """As a reactor does, as long as the service lives."""
        return self._clock.callLater(delay, self._if_alive, callable, args, kwargs)

    def getDelayedCalls(self) -> Sequence[IDelayedCall]:
        """As a reactor does."""
        return self._clock.getDelayedCalls()

    def _if_alive(self, callable: Callable[..., object], args: Any, kwargs: Any) -> None:
        if not self._life.dead:
            callable(*args, **kwargs)


class LifeStore(IStore):
    """The store as one life has it: each verb takes its time, and blows fall at writes."""

    def __init__(self, world: World, life: Life) -> None:
        self._world, self._life = world, life

    async def open(self) -> None:
        """The database is there already."""

    async def close(self) -> None:
        """And it stays."""

    def _ask(self, verb: str, arguments: tuple[Any, ...]) -> Deferred[Any]:
        life, world = self._life, self._world
        if life.dead:
            return Deferred()
        blow = world.blow_at(verb)
        if blow == KILLED_BEFORE:
            life.kill(f"before {verb}")
            return Deferred()
        if blow == FAILED_BEFORE or world.disk_full:
            return self._later(fail(StoreFailed("database or disk is full")))
        answer = world.database._ask(verb, arguments)
        world.stepped |= verb in OUTCOMES
        if blow == KILLED_AFTER:
            life.kill(f"after {verb}")
            answer.addErrback(lambda _: None)
            return Deferred()
        if blow == FAILED_AFTER:
            answer.addErrback(lambda _: None)
            answer = fail(StoreFailed("the writer of the database ended"))
        return self._later(answer)

    def _later(self, answer: Deferred[Any]) -> Deferred[Any]:
        due: Deferred[Any] = Deferred()
        self._world.clock.callLater(self._world.dice.random() * LATENCY, self._arrive, answer, due)
        return due

    def _arrive(self, answer: Deferred[Any], due: Deferred[Any]) -> None:
        if self._life.dead:
            answer.addErrback(lambda _: None)
        else:
            answer.chainDeferred(due)


class LifeEndpoint(InProcessEndpoint):
    """The line of one life to a device, which goes on when the service is dead."""

    def __init__(self, world: World, life: Life, device: IProtocolFactory) -> None:
        super().__init__(device, world.clock)
        self._life = life

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Open a line; a dead service opens none."""
        if self._life.dead:
            return Deferred()

        def opened(near: Any) -> Any:
            self._life.lines.append(near.transport)
            return near

        return super().connect(protocolFactory).addCallback(opened)


class Life:
    """One run of the service, from its start to its kill.

    After the kill nothing of it has an effect: timers stay silent, store and lines neither take nor answer anything.
    """

    def __init__(self, world: World) -> None:
        self.world, self.dead, self.open = world, False, False
        self.clock, self.store = LifeClock(world, self), LifeStore(world, self)
        self.lines: list[Pipe] = []
        self.callers: list[Deferred[bytes | None]] = []
        self.core = Core(world.config, self.store, self.clock, None)
        # Drawing in a child process would be a second process.
        self.core.clock.crew = None
        self.core.hooks.line = lambda host, port: self.endpoint(world.receiver)
        self.core.devices.drivers = world.drivers(self)

    def start(self) -> None:
        """Begin to open; tills are served as soon as that is done."""
        Deferred.fromCoroutine(self.core.open()).addCallbacks(self._opened, self._not_opened)

    def _opened(self, _: None) -> None:
        self.open = True
        self.world.happened("service", "open")

    def _not_opened(self, why: Failure) -> None:
        why.trap(StoreFailed)
        self.kill("the store failed at the start")

    def endpoint(self, device: Any) -> LifeEndpoint:
        """A line to a device."""
        return LifeEndpoint(self.world, self, device)

    async def never_after_death(self, seconds: float) -> None:
        """Wait; a dead service waits for ever."""
        over: Deferred[None] = Deferred()
        self.clock.callLater(seconds, over.callback, None)
        await over

    def ask(self, execute: Coroutine[Any, Any, bytes]) -> Deferred[bytes | None]:
        """The answer to a task; `None` when the service dies first."""
        answer: Deferred[bytes | None] = Deferred()
        self.callers.append(answer)

        def ended(result: Any) -> None:
            if not self.dead:
                self.callers.remove(answer)
                answer.callback(result)

        Deferred.fromCoroutine(execute).addBoth(ended)
        return answer

    def kill(self, where: str) -> None:
        """End here and now: callers are hung up on, devices see their lines break."""
        if self.dead:
            return
        self.dead, self.open = True, False
        world = self.world
        world.happened("service", f"killed {where}")
        for near in self.lines:
            near.protocol = None
            if near.other is not None and world.dice.random() < 0.5:
                near.other._incoming.clear()
            near.loseConnection()
        callers, self.callers = self.callers, []
        for caller in callers:
            world.clock.callLater(0, caller.callback, None)
        world.bury(self)


class World:
    """Everything of one shop day.

    :param tell: called with each line of the history.
    """

    def __init__(self, seed: int, tell: Callable[[str], None] | None = None) -> None:
        self.seed, self.dice, self.trace = seed, Random(f"shop day {seed}"), Trace(tell)
        self.clock = Clock()
        self.clock.advance(DAY_ONE + 86_400 * self.dice.randrange(365))
        self.began, self.leap = self.clock.seconds(), 0.0
        self.loose = self.dice.random() < 0.3
        """Whether the clock is set by more than the two minutes by which it may differ from a terminal's."""
        self.database = MemoryStore()
        self.config = Config(service=ServiceConfig(training=False))
        self.counts: Counter[str] = Counter()
        self.reached_points: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.stepped = False
        self.peace = False
        self.disk_full = False
        self._blow, self._blow_in = "", 0
        self._point, self._point_in = "", 0
        self.graves: list[Life] = []
        """Dead lives; kept so that nothing of them is collected during the day."""
        self._wakes = 0.0
        self.first_event = 0
        """The place after which the receiver gets events."""
        self.receiver = devices.Receiver(self)
        self.far = devices.far_ends(self)
        self.life: Life | None = None

    # History

    def happened(self, who: str, what: str) -> None:
        """A step of the day: the judge looks after it."""
        self.trace.add(f"{self.clock.seconds() - self.began:11.4f} {who}: {what}")
        self.stepped = True

    def disagree(self, what: str) -> None:
        """An invariant does not hold."""
        if what not in self.wrong:
            self.wrong.append(what)
            self.trace.add(f"{self.clock.seconds() - self.began:11.4f} WRONG: {what}")

    # Lives

    async def furnish(self) -> None:
        """Put the devices into the store, as the first day of the shop did."""
        await self.database.open()
        for name, far in self.far.items():
            settings = json.dumps(far.settings).encode()
            await self.database.add_device(f"id-{name}", name, far.kind, far.driver, settings)
        self.open()

    def open(self) -> None:
        """Begin a life."""
        self.life = Life(self)
        self.life.start()

    def bury(self, life: Life) -> None:
        """A life is over; the next one begins in some seconds."""
        self.graves.append(life)
        self.counts["kills"] += 1
        self._blow = self._point = ""
        self.clock.callLater(self.dice.uniform(0.2, 6.0), self.open)

    def drivers(self, life: Life) -> dict[tuple[str, str], Driver]:
        """The drivers, whose devices outlive the service."""
        known = life.core.devices.drivers
        found = dict(known)

        def build(row: DeviceRow, settings: Any, around: Surroundings) -> Any:
            return self.far[row.name].build(life, row, settings, around)

        for far in self.far.values():
            key = far.kind, far.driver
            found[key] = replace(known[key], build=build, simulator=None)
        return found

    async def subscribe(self) -> None:
        """Let the receiver have every event from now on."""
        while self.life is None or not self.life.open:
            await self.sleep(0.05)
        url = "http://accounts.example:8080/events"
        await self.life.core.hooks.add("accounts", url, allow_local="accounts.example")
        self.first_event = (await self.database.last_event()).n

    def is_message(self, row: EventRow) -> bool:
        """Whether an event of the store is one for subscribers."""
        assert self.life is not None
        return message_of(row, self.life.core._device_name) is not None

    # Blows

    def strike(self, blow: str, n: int) -> None:
        """Let the ``n``-th write from now be the last, or fail."""
        self._blow, self._blow_in = blow, n

    def strike_at(self, point: str, n: int) -> None:
        """Kill the service when it comes to a crash point for the ``n``-th time."""
        self._point, self._point_in = point, n

    def spare(self) -> None:
        """Cancel the blows that did not fall."""
        self._blow = self._point = ""

    def blow_at(self, verb: str) -> str:
        """The blow that falls at this verb, if any."""
        if not self._blow or verb not in WRITES:
            return ""
        self._blow_in -= 1
        if self._blow_in > 0:
            return ""
        blow, self._blow = self._blow, ""
        self.counts[f"store {blow}"] += 1
        self.happened("store", f"{blow} {verb}")
        return blow

    def reached(self, point: str) -> None:
        """A crash point, in place of `dmtwisted.crash_points.reached`."""
        life = self.life
        if life is None or life.dead:
            return
        self.reached_points[point] += 1
        if point == self._point:
            self._point_in -= 1
            if self._point_in <= 0:
                life.kill(f"at {point}")

    # Time

    def sleep(self, seconds: float) -> Deferred[None]:
        """Fires after so many seconds."""
        over: Deferred[None] = Deferred()
        self.clock.callLater(seconds, over.callback, None)
        return over

    def nap(self, seconds: float) -> None:
        """The machine of the service sleeps; the devices go on, and what they say waits on the line.

        When it wakes, it does at once what was due meanwhile, in the same order.
        """
        life, now = self.life, self.clock.seconds()
        if life is None or life.dead or self.sleeps:
            return
        self._wakes = now + seconds
        parts = life.clock, life.store
        due = [call for call in self.clock.calls if getattr(call.func, "__self__", None) in parts]
        for place, call in enumerate(due):
            if call.getTime() < self._wakes:
                call.reset(seconds + place * 1e-6)
        for near in life.lines:
            near.pauseProducing()
            self.clock.callLater(seconds, near.resumeProducing)

    @property
    def sleeps(self) -> bool:
        """Whether the machine sleeps."""
        return self.clock.seconds() < self._wakes

    def next(self) -> None:
        """Let time pass to the next thing that happens."""
        clock = self.clock
        clock.advance(max(0.0, clock.calls[0].getTime() - clock.seconds()))
