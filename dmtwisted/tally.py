"""Counters of tasks: how many, how they ended, how long they took and waited.

They cost two look-ups and four additions per task. All other figures of `/metrics` are collected on request
(`dmtwisted.metrics`).
"""

from __future__ import annotations

from bisect import bisect_left

from dmtwisted.requests import TYPE_DOC, TYPE_FISCAL, TYPE_LOOKUP, TYPE_PAY

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
"""Upper bounds of the classes of durations, in seconds; one more class has no bound."""

KINDS = {TYPE_FISCAL: "fiscal", TYPE_LOOKUP: "lookup", TYPE_PAY: "pay", TYPE_DOC: "doc"}
BATCH, OTHER = "pkg", "other"
"""Kinds of tasks, as labels."""

MOST_TASK, MOST_SERIES = 99, 2000
"""Limits of task numbers and of combinations that are counted separately, because callers choose both."""


class Durations:
    """A histogram of durations."""

    __slots__ = ("classes", "total")

    def __init__(self) -> None:
        self.classes = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.classes[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


class Tally:
    """Counts since the start of the process."""

    def __init__(self) -> None:
        self.tasks: dict[tuple[str, int, int], int] = {}
        """How many tasks by kind, number and result; -1 stands for an unknown number."""
        self.took: dict[str, Durations] = {}
        """How long tasks took, by kind."""
        self.waited: dict[str, Durations] = {}
        """How long tasks waited for their turn, by the kind of the device."""

    def ended(self, type: int, batch: bool, task: int, res: int, seconds: float) -> None:
        """A task was answered with ``res``."""
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
        """A new combination; beyond the limit all of them are counted together."""
        kind, task, res = key
        if not 0 <= task <= MOST_TASK:
            key = kind, -1, res
        if len(self.tasks) >= MOST_SERIES and key not in self.tasks:
            key = OTHER, -1, -1
        return self.tasks.get(key, 0), key

    def turn(self, kind: str, seconds: float) -> None:
        """A task got its turn at a device of ``kind``."""
        waited = self.waited.get(kind)
        if waited is None:
            waited = self.waited[kind] = Durations()
        waited.add(seconds)
