"""A short run of the shop with excise marks that is killed, and that it sees what goes wrong."""

from __future__ import annotations

import os
from contextlib import redirect_stdout
from io import StringIO

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers import bookkeeping, mark_rules
from tests.mark_chaos import SERVICE, STORE, TAX, main, run

KILLS = int(os.environ.get("DMTWISTED_MARK_KILLS", "25"))
"""Kills of the run."""


class MarkChaosTests(SynchronousTestCase):
    """Bottles that are sold and taken back while the service is killed."""

    def test_kills(self) -> None:
        """No mark is sold twice, none is spent without a document, and the marks service hears of each sale."""
        score = run(KILLS, 7)
        self.assertEqual((score.wrong, score.kills), ([], KILLS))
        # A run in which little happens would prove nothing.
        self.assertGreater(score.sales, KILLS / 2)
        self.assertGreater(score.returns, KILLS / 2)
        self.assertGreater(score.taken, KILLS / 5)
        if KILLS >= 25:
            self.assertTrue({name.split(": ")[1] for name in score.faults} >= {*STORE, *TAX, *SERVICE})

    def test_seen(self) -> None:
        """A mark that is not reserved, not released or not told is found."""
        for owner, name, value in (
            (mark_rules.MarkRules, "reserved", lambda *_: None),
            (bookkeeping, "released", lambda *_: None),
            (mark_rules.MarkRules, "letters", lambda *_: []),
        ):
            patched = self.patch(owner, name, value)
            self.assertNotEqual(run(60, 7).wrong, [], name)
            patched.restore()

    def test_command(self) -> None:
        """The command says how much was tried and what was wrong."""
        with redirect_stdout(StringIO()) as said:
            self.assertEqual(main(["--kills", "1"]), 0)
        self.assertIn("0 wrong", said.getvalue())
