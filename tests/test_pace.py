"""Long work beside the tills: how much at once, and how long it rests."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.pace import BRIEF, LEAST, LONG, LONGEST_REST, QUIET, QUIET_REST, REST, UNFELT, WAITING, Pace

COST = 0.00001
"""Seconds for which each one of a step keeps the store."""


class PaceTests(SynchronousTestCase):
    """A work that may do 5000 at once, on a database that takes `COST` for each."""

    def setUp(self) -> None:
        """It begins."""
        self.pace, self.now, self.intents = Pace(5000), 0.0, 0

    def steps(self, count: int, waiting: float = 0.0, selling: bool = False, cost: float = COST) -> float:
        """So many steps, each of which had to wait so many seconds; the last rest."""
        for _ in range(count):
            self.intents += selling
            own = self.pace.size * cost
            self.now += own + waiting
            rest = self.pace.rest(self.now, own + waiting, own, self.pace.size, self.intents)
            self.now += rest
        return rest

    def test_selling(self) -> None:
        """While tills sell a step takes no longer than `BRIEF`, and rests for as long as it says."""
        rest = self.steps(20, selling=True)
        self.assertEqual(self.pace.size, int(BRIEF / COST))
        self.assertAlmostEqual(rest, REST * self.pace.size * COST, 6)

    def test_quiet(self) -> None:
        """When no till has sold for a while, steps are long and rests short; the first sale ends that."""
        self.steps(20, selling=True)
        self.now += QUIET
        rest = self.steps(20)
        self.assertEqual(self.pace.size, int(LONG / COST))
        self.assertAlmostEqual(rest, QUIET_REST * LONG, 6)
        self.steps(1, selling=True)
        self.assertEqual(self.pace.size, int(BRIEF / COST))

    def test_waits(self) -> None:
        """Where callers have to wait anyway, a step takes a small part of that time, and leaves the store alone."""
        self.steps(20, selling=True)
        rest = self.steps(20, waiting=0.03, selling=True)
        self.assertEqual(self.pace.size, round((BRIEF + UNFELT * 0.03) / COST))
        self.assertAlmostEqual(rest, REST * self.pace.size * COST + WAITING * 0.03, 6)
        self.assertEqual(self.steps(20, waiting=60.0, selling=True), LONGEST_REST)
        self.assertEqual(self.pace.size, int(LONG / COST))

    def test_slower(self) -> None:
        """A database that has become slower makes steps smaller, down to a least one."""
        self.steps(20, selling=True)
        self.steps(20, selling=True, cost=1.0)
        self.assertEqual(self.pace.size, LEAST)

    def test_one_slow(self) -> None:
        """One step that was slow, as a disk may be now and then, changes nothing."""
        self.steps(20, selling=True)
        size = self.pace.size
        self.steps(1, selling=True, cost=1.0)
        self.assertEqual(self.pace.size, size)

    def test_grows_slowly(self) -> None:
        """Nothing is known of the database at first: steps double at most."""
        sizes = []
        for _ in range(5):
            sizes.append(self.pace.size)
            self.steps(1, selling=True)
        self.assertEqual(sizes, [LEAST, 2 * LEAST, 4 * LEAST, int(BRIEF / COST), int(BRIEF / COST)])

    def test_most(self) -> None:
        """No step is larger than it may be, however quick it is; not even the first."""
        pace = Pace(3)
        for _ in range(5):
            self.assertEqual(pace.size, 3)
            self.assertEqual(pace.rest(0.0, 0.0, 0.0, 3, 0), 0.0)

    def test_clock_set_back(self) -> None:
        """The clock may be set back meanwhile: a rest is never negative."""
        self.assertEqual(self.pace.rest(-5000.0, -5000.0, 0.0, 10, 1), 0.0)
        self.assertEqual(self.pace.rest(-5000.0, 0.01, 0.01, 0, 1), 0.01 * REST)
