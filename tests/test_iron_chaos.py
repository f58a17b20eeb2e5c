"""A short run of the chaos at hardware registers for each protocol, and that the chaos sees what is wrong."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers.wired import differences, register
from dmtwisted.registers.wired.ics import IcsMachine
from dmtwisted.registers.wired.interface import Made, NotMade
from tests import iron_chaos
from tests.iron_chaos import main, run


class IronChaosTests(SynchronousTestCase):
    """Tasks with every fault."""

    def everybody_agrees(self, name: str) -> None:
        """Whatever goes wrong, the register's ledger, the store and the till agree about each task."""
        score = run(name, 200, 2)
        self.assertEqual(score.wrong, [])
        # A run that meets no trouble would prove nothing.
        seen = score.counts
        self.assertGreater(min(seen["kills"], seen["repeats"], len(score.faults) - 8), 1)

    def test_mg(self) -> None:
        """MG."""
        self.everybody_agrees("mg")

    def test_datecs(self) -> None:
        """Datecs, Ukrainian dialect."""
        self.everybody_agrees("datecs")

    def test_datecs_classic(self) -> None:
        """Datecs, classic dialect."""
        self.everybody_agrees("datecs_classic")

    def test_ics(self) -> None:
        """ICS."""
        self.everybody_agrees("ics")

    def test_maria(self) -> None:
        """Maria."""
        self.everybody_agrees("maria")

    def test_same_seed(self) -> None:
        """The same seed gives the same run."""
        self.assertEqual(run("maria", 12, 3), run("maria", 12, 3))

    def fails(self, *given: str) -> str:
        """The output of a run that must find something wrong."""
        with redirect_stdout(StringIO()) as output:
            self.assertEqual(main(["--protocol", "ics", "--receipts", *given]), 1)
        return output.getvalue()

    def test_sees_a_lie(self) -> None:
        """A machine that calls a lost receipt made, or not made, without asking is found out, and the run fails."""

        async def made(*_: Any) -> Made:
            return Made("77")

        async def not_made(*_: Any) -> NotMade:
            return NotMade()

        self.patch(iron_chaos, "PEACE", 3)
        self.patch(iron_chaos, "REPEATS", 5)
        for lie in (made, not_made):
            patch: Any = self.patch(IcsMachine, "became", lie)
            self.assertIn("DISAGREES", self.fails("60", "--seed", "8"))
            patch.restore()

    def test_sees_silence(self) -> None:
        """A register that never tells of differences, or always does, is found out."""
        self.patch(register, "differences", lambda *_: [])
        self.assertIn("somebody worked by hand", self.fails("400", "--seed", "1"))
        found = [differences._Z_BY_HAND]
        self.patch(register, "differences", lambda *_: found)
        self.assertIn("nobody worked by hand", self.fails("8", "--seed", "1"))
