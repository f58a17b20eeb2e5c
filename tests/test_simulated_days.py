"""Shop days from a seed hold every invariant, replay exactly, and find services that are broken on purpose."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted import dispatch
from dmtwisted.crash_points import POINTS
from dmtwisted.dispatch import Dispatcher
from tests.simulated_days.__main__ import main
from tests.simulated_days.broken import BROKEN, broken
from tests.simulated_days.day import run
from tests.simulated_days.faults import POINTS_OF_TASKS
from tests.simulated_days.soak import Held, grown, soak

SHORT = 25
"""Tasks of each till here."""

FINDERS = {"voids what is unknown": 8, "forgets the void": 2, "prints again": 2, "forgets open sagas": 11}
"""The seeds of days on which a fault shows; 1 for all others."""


class DayTests(SynchronousTestCase):
    """Days without and with faults of ours."""

    def test_days(self) -> None:
        """Whatever goes wrong on a shop day: nothing is lost, nothing is done twice, and all books agree."""
        kills = 0
        for seed in (1, 5, 7, 12):
            day = run(seed, tasks=SHORT)
            self.assertEqual(day.wrong, [], f"python -m tests.simulated_days --seed {seed} --tasks {SHORT}")
            kills += day.counts["kills"]
        self.assertGreater(kills, 3)

    def test_replays(self) -> None:
        """The same seed gives the same history, in any process; another seed gives another one."""
        first, again, other = (run(seed, tasks=SHORT) for seed in (3, 3, 4))
        self.assertEqual(first, again)
        self.assertNotEqual(first.hash, other.hash)
        command = [sys.executable, "-m", "tests.simulated_days", "--seed", "3", "--tasks", str(SHORT)]
        elsewhere = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True
        )
        self.assertEqual(elsewhere.stdout.splitlines()[-1], f"hash {first.hash}")

    def test_points(self) -> None:
        """The points at which days end are crash points of the service."""
        self.assertLessEqual(set(POINTS_OF_TASKS), set(POINTS))

    def test_command(self) -> None:
        """The command plays as many days as it is told, and says what came of them."""
        told = io.StringIO()
        with redirect_stdout(told):
            status = main(["--days", "1", "--first", "9", "--tasks", "5"])
        self.assertEqual(status, 0)
        self.assertIn("1 shop days", told.getvalue())
        self.assertIn("0 days disagree.", told.getvalue())


class SoakTests(SynchronousTestCase):
    """Hours of ordinary work."""

    def test_nothing_grows(self) -> None:
        """Ordinary work leaves nothing in the service's memory, and all books agree after it."""
        told = list[str]()
        # What a process keeps of its first day is not growth, and this may be the first one here.
        soak(1, 0.75, told.append)
        told.clear()
        self.assertEqual(soak(1, 0.75, told.append), [])
        self.assertEqual(len(told), 10)

    def test_leak(self) -> None:
        """A service that remembers every answer, or sets a timer that nobody cancels, is found."""
        steady = [Held(n, 1000 * n, 1600 + n, 13) for n in range(1, 9)]
        self.assertEqual(grown(steady), [])
        self.assertEqual(len(grown([replace(held, objects=held.objects + held.tasks // 5) for held in steady])), 1)
        self.assertEqual(len(grown([replace(held, timers=held.tasks) for held in steady])), 1)
        remembered = list[object]()

        def remembers(self: Dispatcher, *given: Any, **more: Any) -> Any:
            remembered.append(object())
            vars(dispatch).setdefault("remembered", remembered)
            return execute(self, *given, **more)

        execute = Dispatcher.execute
        self.patch(Dispatcher, "execute", remembers)
        self.addCleanup(vars(dispatch).pop, "remembered", None)
        self.assertEqual(len(soak(1, 0.75, lambda _: None)), 1)


class BrokenTests(SynchronousTestCase):
    """Each broken service is found."""


def _finds(name: str) -> None:
    def test(self: BrokenTests) -> None:
        with broken(name):
            day = run(FINDERS.get(name, 1), tasks=SHORT)
        self.assertNotEqual(day.wrong, [])

    test.__doc__ = f"A service is found that is broken so: {name}."
    setattr(BrokenTests, f"test_{name.replace(' ', '_')}", test)


for _name in BROKEN:
    _finds(_name)
