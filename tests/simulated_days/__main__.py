"""Shop days, each from its own seed: ``python -m tests.simulated_days --days 1000``, or ``--seed N`` for one.

One seed prints its whole history, the same each time. Many days print a table; the exit status is 1 when anything
disagrees, and the seeds that found it are named. ``--soak 8`` is eight hours without faults: memory may not grow.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable
from multiprocessing import get_context

from tests.simulated_days.day import TASKS, Result, part, run
from tests.simulated_days.soak import soak


class Total:
    """What many days came to."""

    def __init__(self) -> None:
        self.begun, self.hours, self.took = time.monotonic(), 0.0, 0.0
        self.days = self.checks = self.steps = self.tasks = 0
        self.counts: Counter[str] = Counter()
        self.points: Counter[str] = Counter()
        self.wrong: list[Result] = []

    def add(self, days: Iterable[Result]) -> None:
        """Some more days."""
        for day in days:
            self.days += 1
            self.checks += day.checks
            self.steps += day.steps
            self.tasks += day.tasks
            self.hours += day.hours
            self.took += day.took
            self.counts.update(day.counts)
            self.points.update(day.points)
            if day.wrong:
                self.wrong.append(day)

    def words(self) -> str:
        """The table."""
        took = time.monotonic() - self.begun
        lines = [
            f"{self.days:,} shop days of {self.hours:,.0f} hours in {took:,.0f} s, "
            f"{self.days / (self.took or 1) * 3600:,.0f} in an hour of one processor",
            f"{self.tasks:,} tasks, {self.steps:,} steps, {self.checks:,} comparisons",
            *(f"  {times:10,}  {what}" for what, times in sorted(self.counts.items())),
            f"  {len(self.points):10,}  crash points came",
        ]
        lines += [f"  seed {day.seed}: {day.wrong[0]}" for day in self.wrong[:20]]
        return "\n".join([*lines, f"{len(self.wrong)} days disagree."])


def main(arguments: list[str]) -> int:
    """Play what is asked for; 1 when anything disagrees."""
    parser = ArgumentParser(prog="python -m tests.simulated_days", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seed", type=int, help="play this day only, and print its history")
    parser.add_argument("--days", type=int, default=0, help="how many days; 100 when no time is given either")
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="begin no day after so many seconds; days go first"
    )
    parser.add_argument("--first", type=int, default=1, help="the seed of the first day")
    parser.add_argument("--tasks", type=int, default=TASKS, help="how many tasks each till has")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--soak", type=float, default=0.0, help="so many hours of ordinary work, from the first seed")
    chosen = parser.parse_args(arguments)
    if chosen.soak:
        wrong = soak(chosen.first, chosen.soak)
        print(*wrong, sep="\n", end="\n" if wrong else "")
        return int(bool(wrong))
    if chosen.seed is not None:
        day = run(chosen.seed, print, tasks=chosen.tasks)
        print(*(f"WRONG: {wrong}" for wrong in day.wrong), f"hash {day.hash}", sep="\n")
        return int(bool(day.wrong))
    total, jobs = Total(), chosen.jobs
    days = chosen.days or (0 if chosen.seconds else 100)
    parts = [(chosen.first + n, jobs, len(range(n, days, jobs)), chosen.seconds, chosen.tasks) for n in range(jobs)]
    if jobs == 1:
        total.add(part(*parts[0]))
    else:
        with get_context("spawn").Pool(jobs) as pool:
            for done in pool.starmap(part, parts):
                total.add(done)
    print(total.words())
    return int(bool(total.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
