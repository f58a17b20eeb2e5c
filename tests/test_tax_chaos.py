"""A short run of the chaos at the tax service, and that the chaos sees what is wrong."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers.channels.interface import Absent, Accepted
from dmtwisted.registers.channels.tax_service import TaxServiceChannel
from tests import tax_chaos
from tests.specification import promises
from tests.tax_chaos import main, run, run_session


class TaxChaosTests(SynchronousTestCase):
    """Receipts with every fault, at a register of the driver `prro`."""

    @promises("3.2.0.1", "3.2.1.3", "3.2.2.3", "3.2.2.4")
    def test_everybody_agrees(self) -> None:
        """Whatever goes wrong, the server's books, the journal and the till agree document by document."""
        score = run(60, 13)
        self.assertEqual(score.wrong, [])
        self.assertEqual((score.receipts, score.made + score.dropped), (60, 60))
        # A run that meets no trouble would prove nothing.
        self.assertGreater(min(score.offline, score.repeats, score.kills, score.sessions, score.settled), 1)
        self.assertEqual({kind[0] for kind in score.answers}, {"0", "1", "2", "3"})

    def test_revoking(self) -> None:
        """So they do where a lost answer takes the register offline; a revoked original counts as nothing."""
        score = run(50, 8, revoke=True)
        self.assertEqual(score.wrong, [])
        self.assertEqual((score.receipts, score.made + score.dropped), (50, 50))
        self.assertGreater(min(score.revoked, score.offline, score.kills), 1)

    def test_cabinet(self) -> None:
        """On protocol B everybody agrees too: the chain has no break, each reserved number is used once or kept."""
        for seed, revoke in ((13, False), (9, True)):
            score = run(40, seed, revoke, "b")
            self.assertEqual(score.wrong, [])
            self.assertEqual((score.receipts, score.made + score.dropped), (40, 40))
            self.assertGreater(min(score.offline, score.repeats, score.sessions, score.settled), 0)
        self.assertGreater(score.revoked, 0)

    def test_cabinet_session(self) -> None:
        """There a session goes up document by document, over a link that comes and goes."""
        score = run_session(60, 3, 3, "b")
        self.assertEqual((score.wrong, score.made, score.offline, score.sessions), ([], 60, 60, 1))

    def test_session(self) -> None:
        """A session goes up over a link that comes and goes, without gap or repeat."""
        score = run_session(105, 3, 3)
        self.assertEqual((score.wrong, score.made, score.offline), ([], 105, 105))
        self.assertGreaterEqual(score.flaps, 3)
        self.assertEqual(score.sessions, 1)

    def test_same_seed(self) -> None:
        """The same seed gives the same run."""
        self.assertEqual(run(6, 3), run(6, 3))

    def test_sees_a_lie(self) -> None:
        """A register that calls a lost document void, or accepted, without asking is found out, and the run fails."""

        async def absent(_: object, number: int, sent: bytes) -> Absent:
            return Absent()

        async def accepted(_: object, number: int, sent: bytes) -> Accepted:
            return Accepted("3000000077")

        # A client with a wrong answer would go on asking.
        self.patch(tax_chaos, "PEACE", 2)
        self.patch(tax_chaos, "REPEATS", 4)
        for lie in (absent, accepted):
            patch: Any = self.patch(TaxServiceChannel, "probe", lie)
            with redirect_stdout(StringIO()) as output:
                self.assertEqual(main(["--receipts", "5", "--documents", "0", "--seed", "8"]), 1)
            self.assertIn("DISAGREES", output.getvalue())
            patch.restore()
