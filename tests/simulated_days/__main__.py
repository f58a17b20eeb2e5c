"""Shop days, each from its own seed: ``python -m tests.simulated_days --days 1000``, or ``--seed N`` for one.

One seed prints its whole history, the same each time. Many days print a table; the exit status is 1 when anything
disagrees, and the seeds that found it are named.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import count
from multiprocessing import get_context

from tests.simulated_days.day import TASKS, Result, run


class Total:
    """What many days came to."""

    def __init__(self) -> None:
        self.begun, self.days, self.checks, self.steps, self.tasks, self.hours = time.monotonic(), 0, 0, 0, 0, 0.0
        self.counts: Counter[str] = Counter()
        self.points: Counter[str] = Counter()
        self.wrong: list[Result] = []

    def add(self, day: Result) -> None:
        """One more day."""
        self.days += 1
        self.checks += day.checks
        self.steps += day.steps
        self.tasks += day.tasks
        self.hours += day.hours
        self.counts.update(day.counts)
        self.points.update(day.points)
        if day.wrong:
            self.wrong.append(day)

    def words(self, jobs: int) -> str:
        """The table."""
        took = time.monotonic() - self.begun
        lines = [
            f"{self.days:,} shop days of {self.hours:,.0f} hours in {took:,.0f} s, "
            f"{self.days / took / jobs * 3600:,.0f} an hour and process",
            f"{self.tasks:,} tasks, {self.steps:,} steps, {self.checks:,} comparisons",
            *(f"  {times:10,}  {what}" for what, times in sorted(self.counts.items())),
            f"  {len(self.points):10,}  crash points came",
        ]
        lines += [f"  seed {day.seed}: {day.wrong[0]}" for day in self.wrong[:20]]
        return "\n".join([*lines, f"{len(self.wrong)} days disagree."])


def seeds(first: int, days: int, seconds: float) -> Iterator[int]:
    """The seeds of a run that is limited by days, by time, or by both."""
    until = time.monotonic() + seconds
    for seed in count(first):
        if (days and seed - first >= days) or (seconds and time.monotonic() > until):
            return
        yield seed


def main(arguments: list[str]) -> int:
    """Play what is asked for; 1 when anything disagrees."""
    parser = ArgumentParser(prog="python -m tests.simulated_days", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, help="play this day only, and print its history")
    parser.add_argument("--days", type=int, default=0, help="how many days; 100 when no time is given either")
    parser.add_argument("--seconds", type=float, default=0.0, help="begin no day after so many seconds")
    parser.add_argument("--first", type=int, default=1, help="the seed of the first day")
    parser.add_argument("--tasks", type=int, default=TASKS, help="how many tasks each till has")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    chosen = parser.parse_args(arguments)
    if chosen.seed is not None:
        day = run(chosen.seed, print, tasks=chosen.tasks)
        print(*(f"WRONG: {wrong}" for wrong in day.wrong), f"hash {day.hash}", sep="\n")
        return int(bool(day.wrong))
    total, play = Total(), partial(run, tasks=chosen.tasks)
    wanted = seeds(chosen.first, chosen.days or (0 if chosen.seconds else 100), chosen.seconds)
    if chosen.jobs == 1:
        for seed in wanted:
            total.add(play(seed))
    else:
        with get_context("spawn").Pool(chosen.jobs, maxtasksperchild=200) as pool:
            for day in pool.imap_unordered(play, wanted):
                total.add(day)
    print(total.words(chosen.jobs))
    return int(bool(total.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
