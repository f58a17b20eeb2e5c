"""The rounds with a failing disk: their plan, and two of each kind on request (`DMTWISTED_SLOW`)."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from unittest import skipUnless

from twisted.trial.unittest import SynchronousTestCase

from tests.crash.disk_rounds import KINDS, CountingWire, main, plan


class PlanTests(SynchronousTestCase):
    """The plan of the rounds."""

    def test_seed(self) -> None:
        """A seed gives the same plan each time, another seed another one; every kind occurs equally often."""
        self.assertEqual(plan(7, 16), plan(7, 16))
        self.assertNotEqual(plan(7, 16), plan(8, 16))
        self.assertEqual(set(Counter(turn.kind for turn in plan(7, 16)).values()), {2})
        self.assertEqual({turn.kind for turn in plan(7, 16)}, set(KINDS))

    def test_heard(self) -> None:
        """The answers that a till gets are counted by their codes."""
        results: Counter[int] = Counter()
        wire = CountingWire(results, 1)
        for res in (0, 1082, 1082):
            self.patch(CountingWire.__mro__[1], "ask", lambda *_, res=res: {"res": res})
            wire.ask("POST", "/dm/execute")
        self.assertEqual(results, Counter({1082: 2, 0: 1}))


class RoundsTests(SynchronousTestCase):
    """The rounds themselves."""

    @skipUnless(os.environ.get("DMTWISTED_SLOW"), "set DMTWISTED_SLOW=1 for real processes on a broken disk")
    @skipUnless(shutil.which("strace"), "needs strace")
    def test_nothing_lost(self) -> None:
        """Two rounds of each kind: nothing is lost or doubled, and every refusal is one that a till repeats."""
        self.assertEqual(main(["--rounds", "16", "--seed", "5"]), 0)
