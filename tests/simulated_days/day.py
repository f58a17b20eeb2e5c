"""One shop day: everything put together, from the opening to the books in peace."""

from __future__ import annotations

import gc
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, FirstError, gatherResults
from twisted.logger import globalLogPublisher
from twisted.python.failure import Failure

import dmtwisted.core
from dmtwisted import crash_points
from dmtwisted.batch.saga import KIND
from dmtwisted.secrets import Secrets
from tests.simulated_days.devices import Terminal
from tests.simulated_days.faults import Trouble
from tests.simulated_days.judge import Judge
from tests.simulated_days.tills import Till
from tests.simulated_days.world import World

LONGEST_S = 24 * 3600.0
"""Seconds of the simulated clock after which a day that does not end is a finding."""

TASKS = 60
"""Tasks of each till."""


@dataclass
class Result:
    """What a day came to; equal for two runs of one seed."""

    seed: int
    hash: str = ""
    wrong: list[str] = field(default_factory=list)
    checks: int = 0
    steps: int = 0
    tasks: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    points: dict[str, int] = field(default_factory=dict)
    hours: float = 0.0
    took: float = field(default=0.0, compare=False)
    """Seconds of the processor."""


def run(seed: int, tell: Callable[[str], None] | None = None, tasks: int = TASKS) -> Result:
    """The shop day of a seed.

    :param tell: called with each line of its history.
    """
    with only_by(seed) as take:
        day = Day(seed, tell, tasks)
        take(day.world)
        begun = time.process_time()
        result = day.run()
        result.took = time.process_time() - begun
        # While chance is still the seed's, all that is left of the day goes.
        del day
        return result


def part(first: int, step: int, days: int, seconds: float, tasks: int) -> list[Result]:
    """The days of one process: every ``step``-th seed, so many of them or for so long."""
    until, done = time.monotonic() + seconds, list[Result]()
    while len(done) < days if days else time.monotonic() < until:
        done.append(run(first + step * len(done), tasks=tasks))
    return done


class Day:
    """A world with its tills, its faults and its judge."""

    def __init__(self, seed: int, tell: Callable[[str], None] | None, tasks: int) -> None:
        self.world = World(seed, tell)
        self.judge, self.trouble = Judge(self.world), Trouble(self.world)
        self._tasks = tasks
        self.tills = [
            Till(self.world, self.judge, "t1", "r1", "pos1", chief=True),
            Till(self.world, self.judge, "t2", "r2", "pos2", chief=True),
            Till(self.world, self.judge, "t3", "r1", "pos1", chief=False),
            Till(self.world, self.judge, "t4", "r2", "pos1", chief=False),
        ]

    def run(self) -> Result:
        """Let the day pass."""
        world, judge = self.world, self.judge
        over: list[Any] = []
        Deferred.fromCoroutine(self._all()).addBoth(over.append)
        while not over and not world.wrong:
            world.next()
            if world.stepped:
                world.stepped = False
                judge.look()
            if world.clock.seconds() - world.began > LONGEST_S:
                world.disagree("the day does not end")
        if over and isinstance(over[0], Failure):
            why = over[0].value.subFailure if isinstance(over[0].value, FirstError) else over[0]
            world.disagree(f"the day broke off: {why.getErrorMessage()}\n{why.getTraceback()}")
        hours = (world.clock.seconds() - world.began) / 3600
        return Result(
            *(world.seed, world.trace.hash(), world.wrong, judge.checks, judge.steps, len(judge.tasks)),
            *(dict(world.counts), dict(world.reached_points), hours),
        )

    async def _all(self) -> None:
        world = self.world
        await world.furnish()
        await world.subscribe()
        Deferred.fromCoroutine(self.trouble.run())
        await gatherResults([Deferred.fromCoroutine(till.work(self._tasks)) for till in self.tills])
        self.trouble.calm()
        while world.life is None or not world.life.open or world.sleeps:
            await world.sleep(10.0)
        await world.sleep(60.0)
        await self._read_slips()
        # The next morning: a start goes on with everything that nobody asks for any more.
        await self._restart()
        await self._give_back()
        await gatherResults([Deferred.fromCoroutine(till.finish()) for till in self.tills])
        await self._tell_all()
        self.judge.end()

    async def _restart(self) -> None:
        assert self.world.life is not None
        self.world.life.kill("for the night")
        await self.world.sleep(60.0)

    async def _tell_all(self) -> None:
        """Let the receiver have what waits for its pause, as a person does who tests the subscriber."""
        life = self.world.life
        assert life is not None
        [subscriber] = life.core.hooks.subscribers
        await life.core.hooks.test(subscriber)
        for _ in range(60):
            await self.world.sleep(2.0)
            if not self.judge.missing_events():
                return

    async def _read_slips(self) -> None:
        """Settle the payments of which no wire can tell, as somebody does who reads the slip of the terminal."""
        world, life = self.world, self.world.life
        assert life is not None
        for name in self._untold:
            device: Any = life.core.devices.by_name(name)
            for row in await world.database.unresolved(device.row.n):
                async with device.turns.turn():
                    taken = self.judge.taken(name, row)
                    world.counts["payments settled by a person"] += 1
                    world.happened("person", f"{name} {row.n} taken: {taken}")
                    await device.built.settle(row, taken)

    async def _give_back(self) -> None:
        """Close the sagas whose money such a terminal cannot give back: somebody gives it back by hand."""
        world, life = self.world, self.world.life
        assert life is not None
        for row in await world.database.unresolved(None):
            task = self.judge.task_of(row) if row.kind == KIND else None
            if task is not None and task.terminal in self._untold:
                world.counts["sagas settled by a person"] += 1
                world.happened("person", f"saga {row.n}, {task.kopecks} goes back by hand")
                self.judge.given_back(task)
                await life.core.dispatcher.batch.settle(row.n)

    @property
    def _untold(self) -> list[str]:
        """The terminals that cannot be asked what became of an operation, or were asked with a wrong clock."""
        ends = self.world.far.items()
        return [name for name, far in ends if isinstance(far, Terminal) and (self.world.loose or not far.wire.tells)]


@contextmanager
def only_by(seed: int) -> Iterator[Callable[[World], None]]:
    """Whatever is random is drawn from the seed, and crash points report to the world that is given."""
    dice, worlds = Random(f"chance {seed}"), list[World]()
    secrets = Secrets(None)

    def reached(point: str) -> None:
        worlds[0].reached(point)

    def seen(event: Any) -> None:
        failure = event.get("log_failure")
        if failure is not None and worlds:
            worlds[0].disagree(f"an internal error: {failure.getTraceback()}")

    undone: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        undone.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    put(os, "urandom", dice.randbytes)
    put(random, "_urandom", dice.randbytes)
    put(dmtwisted.core, "Secrets", lambda _: secrets)
    passed = crash_points.reached
    for module in list(sys.modules.values()):
        if vars(module).get("reached") is passed:
            put(module, "reached", reached)
    # Nothing is written, for nobody reads the log of a thousand days.
    put(globalLogPublisher, "_observers", [seen])
    # What a dead life still waits for never comes, and it is no fault that it waits.
    put(sys, "unraisablehook", lambda _: None)
    collects = gc.isenabled()
    # What is left of a dead life is collected when the day is over, and not at a moment that is different each time.
    gc.disable()
    try:
        yield worlds.append
    finally:
        worlds.clear()
        # One generation of what waited wakes the next one.
        while gc.collect():
            pass
        for owner, name, value in reversed(undone):
            setattr(owner, name, value)
        if collects:
            gc.enable()
