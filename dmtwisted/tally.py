"""What is counted on the way of every task: how many, how they ended, how long they took and waited.

Two look-ups and four additions for a task; everything else that `/metrics` tells is asked when somebody looks
(`dmtwisted.metrics`).
"""

from __future__ import annotations

from bisect import bisect_left

from dmtwisted.requests import TYPE_DOC, TYPE_FISCAL, TYPE_LOOKUP, TYPE_PAY

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of the classes of durations, in seconds; one more class has no bound."""

KINDS = {TYPE_FISCAL: "fiscal", TYPE_LOOKUP: "lookup", TYPE_PAY: "pay", TYPE_DOC: "doc"}
BATCH, OTHER = "pkg", "other"
"""Kinds of tasks, as they are told."""

MOST_TASK, MOST_SERIES = 99, 2000
"""The greatest number of a task that is told, and how many combinations are kept apart: callers choose both."""


class Durations:
    """How often something took how long."""

    __slots__ = ("classes", "total")

    def __init__(self) -> None:
        self.classes = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """It took so many seconds."""
        self.classes[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


class Tally:
    """Counts since the start of the process."""

    def __init__(self) -> None:
        self.tasks: dict[tuple[str, int, int], int] = {}
        """How many tasks by kind, number and result; -1 stands for a number that is no task's."""
        self.took: dict[str, Durations] = {}
        """How long tasks took, by kind."""
        self.waited: dict[str, Durations] = {}
        """How long tasks waited for their turn, by the kind of the device."""

    def ended(self, type: int, batch: bool, task: int, res: int, seconds: float) -> None:
        """A task was answered with ``res`` after so many seconds."""
        kind = BATCH if batch else KINDS.get(type, OTHER)
        key = kind, task, res
        known = self.tasks.get(key)
        if known is None:
            known, key = self._new(key)
        self.tasks[key] = known + 1
        took = self.took.get(kind)
        if took is None:
            took = self.took[kind] = Durations()
        took.add(seconds)

    def _new(self, key: tuple[str, int, int]) -> tuple[int, tuple[str, int, int]]:
        """A combination that was not there before; of too many the rest are counted together."""
        kind, task, res = key
        if not 0 <= task <= MOST_TASK:
            key = kind, -1, res
        if len(self.tasks) >= MOST_SERIES and key not in self.tasks:
            key = OTHER, -1, -1
        return self.tasks.get(key, 0), key

    def turn(self, kind: str, seconds: float) -> None:
        """A task at a device of that kind got its turn after so many seconds."""
        waited = self.waited.get(kind)
        if waited is None:
            waited = self.waited[kind] = Durations()
        waited.add(seconds)
