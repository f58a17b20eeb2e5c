"""The rounds with a PostgreSQL server that is taken away: their plan, their disks, and the shortest of them."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import skipIf

from twisted.trial.unittest import SynchronousTestCase

from tests.crash.postgres_rounds import FULL_DISKS, OUTAGES, Tally, fill, main, plan, small_disk, table
from tests.postgres_server import MISSING

KINDS = (*OUTAGES, *FULL_DISKS)


class PlanTests(SynchronousTestCase):
    """What happens when."""

    def test_seed(self) -> None:
        """A seed gives the same plan each time, another seed another one."""
        self.assertEqual(plan(7, 20, KINDS), plan(7, 20, KINDS))
        self.assertNotEqual(plan(7, 20, KINDS), plan(8, 20, KINDS))

    def test_kinds(self) -> None:
        """Every kind has its turn, under load, for a while."""
        rounds = plan(1, 12, KINDS)
        self.assertEqual([turn.kind for turn in rounds], [*KINDS, *KINDS])
        self.assertTrue(all(0.2 <= turn.after <= 0.8 and 0 <= turn.lasts <= 1.5 for turn in rounds))

    def test_table(self) -> None:
        """The tallies are a table for a page."""
        told = table({"fast": Tally(2, 30, 4, 1, 1.04, 1.26)})
        self.assertEqual(told.splitlines()[-1], "| fast | 2 | 30 | 4 | 1 | 1.0 s | 1.3 s |")


class DiskTests(SynchronousTestCase):
    """The small disks."""

    def test_full(self) -> None:
        """A full disk takes nothing more until there is room again, and it is gone afterwards."""
        folder = Path(self.mktemp()).absolute()
        with small_disk(folder, "1m") as disk:
            if disk is None:
                # Who may mount nothing has none: not root, or root within bounds. The rounds say so.
                return
            ballast = fill(disk)
            more = disk / "more"
            self.assertRaises(OSError, more.write_bytes, b"x")
            ballast.unlink()
            more.write_bytes(b"x")
        self.assertEqual(list(folder.iterdir()), [])


@skipIf(MISSING, MISSING)
class RoundsTests(SynchronousTestCase):
    """The real service on a real server."""

    def test_short(self) -> None:
        """With its sessions killed and its server restarted the service sells on; nothing is lost or doubled."""
        self.assertEqual(main(["--rounds", "2", "--seed", "8", "--only", "sessions", "--only", "immediate"]), 0)

    def test_every_kind(self) -> None:
        """The same for every kind, full disks and a takeover by a second service included."""
        if os.environ.get("DMTWISTED_SLOW") != "1":
            self.skipTest("set DMTWISTED_SLOW=1 to take the server away in every way")
        self.assertEqual(main(["--rounds", str(len(KINDS)), "--takeovers", "1", "--seed", "9"]), 0)
