"""Hours of ordinary work on the simulated clock: what the service holds in its memory may not grow.

Nothing goes wrong, so nothing waits for a repeat. Tills pause at the end of each part; then everything that can be
reached from the service and from its modules is counted, and the timers that it has set.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from twisted.internet.defer import Deferred, gatherResults

from tests.simulated_days.day import Day, only_by
from tests.simulated_days.tills import Till

PARTS = 8
"""The parts of the time; after half of them everything has its usual size."""

TASKS, CHANCE = 10, 100
"""In the second half one more object may be held for so many tasks, and so many by chance."""

PAUSES = (1.0, 4.0, 8.0, 15.0)
"""Seconds between two customers."""

REST = 300.0
"""Seconds at the end of a part, in which everything that waits is told."""


@dataclass(frozen=True)
class Held:
    """What the service holds at one moment."""

    hours: float
    tasks: int
    objects: int
    timers: int


class Soak(Day):
    """A long day without faults."""

    def __init__(self, seed: int, hours: float) -> None:
        super().__init__(seed, None, 0)
        self.part_s = hours * 3600 / PARTS
        self.held: list[Held] = []
        self.modules: list[dict[str, Any]] = []

    async def _all(self) -> None:
        world = self.world
        await world.furnish()
        await world.subscribe()
        # What is imported later is not held by anybody's fault.
        self.modules = [vars(module) for name, module in sys.modules.items() if name.startswith("dmtwisted.")]
        for till in self.tills:
            if till.chief:
                await till.fiscal("open", {"task": 0})
        for _ in range(PARTS):
            await gatherResults([Deferred.fromCoroutine(self._sell(till)) for till in self.tills])
            await world.sleep(REST)
            self._count()
        await gatherResults([Deferred.fromCoroutine(till.finish()) for till in self.tills])
        await self._tell_all()
        self.judge.end()

    async def _sell(self, till: Till) -> None:
        world, until = self.world, self.world.clock.seconds() + self.part_s - REST
        while world.clock.seconds() < until:
            await world.sleep(till.dice.choice(PAUSES))
            await till.one(till.dice.random())

    def _count(self) -> None:
        world = self.world
        assert world.life is not None
        hours = (world.clock.seconds() - world.began) / 3600
        timers = len(world.clock.getDelayedCalls())
        self.held.append(Held(hours, len(self.judge.tasks), reached_from(world.life.core, *self.modules), timers))


def reached_from(*roots: Any) -> int:
    """How many objects these hold; the world around the service does not count."""
    gc.collect()
    shared = {id(vars(module)) for module in list(sys.modules.values())}
    seen, waiting = set[int](), [*roots]
    while waiting:
        one = waiting.pop()
        # A function knows all of its module, and holds what it encloses.
        inner = one.__closure__ or () if isinstance(one, FunctionType) else gc.get_referents(one)
        for found in inner:
            around = str(type(found).__module__).startswith(("tests.", "protocols.simulators."))
            if not (around or isinstance(found, type | ModuleType) or id(found) in seen or id(found) in shared):
                seen.add(id(found))
                waiting.append(found)
    return len(seen)


def grown(held: list[Held]) -> list[str]:
    """What grows, as sentences."""
    half, last = held[: len(held) // 2], held[-1]
    objects, timers = max(one.objects for one in half), max(one.timers for one in half)
    found = []
    if last.objects - objects > CHANCE + (last.tasks - half[-1].tasks) // TASKS:
        found.append(f"it holds {last.objects:,} objects, and held at most {objects:,} in the first half of the time")
    if last.timers > timers:
        found.append(f"it has set {last.timers} timers, and had set at most {timers} in the first half of the time")
    return found


def soak(seed: int, hours: float, tell: Callable[[str], None] = print) -> list[str]:
    """Let so many hours pass; what is wrong afterwards.

    :param tell: gets the table.
    """
    with only_by(seed) as take:
        day = Soak(seed, hours)
        take(day.world)
        result = day.run()
        tell("hours  tasks  objects  timers")
        for held in day.held:
            tell(f"{held.hours:5.2f} {held.tasks:6,} {held.objects:8,} {held.timers:7}")
        tell(f"{result.tasks:,} tasks, {result.checks:,} comparisons")
        return result.wrong or grown(day.held)
