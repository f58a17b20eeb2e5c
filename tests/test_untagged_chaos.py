"""A short run of the till without tags, and that it sees a receipt made in silence."""

from __future__ import annotations

import os
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers.unheard import Unheard
from tests.untagged_chaos import CALLER, STORE, TAX, main, run

ROUNDS = int(os.environ.get("DMTWISTED_UNTAGGED_ROUNDS", "60"))
"""Rounds of each test."""


class UntaggedChaosTests(SynchronousTestCase):
    """A till without tags whose answer is lost on every task."""

    def test_warned(self) -> None:
        """Every second receipt is named by a warning in the very answer that the till receives."""
        score = run(ROUNDS, 5)
        self.assertEqual((score.wrong, score.rounds), ([], ROUNDS))
        # A run in which little is lost and nothing is made twice would prove nothing.
        self.assertEqual(set(score.lost), {*TAX, *STORE, *CALLER})
        self.assertGreaterEqual(score.lost.total(), ROUNDS)
        self.assertGreater(score.seconds, ROUNDS / 3)

    def test_returned(self) -> None:
        """With `untagged_repeat` `return` there is no second receipt at all."""
        score = run(ROUNDS, 6, "return")
        self.assertEqual((score.wrong, score.receipts, score.seconds), ([], ROUNDS, 0))
        self.assertGreater(score.returned, ROUNDS / 3)

    def test_cabinet(self) -> None:
        """On protocol B neither."""
        score = run(ROUNDS // 2, 5, protocol="b")
        self.assertEqual((score.wrong, score.rounds), ([], ROUNDS // 2))
        self.assertGreater(score.seconds, ROUNDS / 6)
        score = run(ROUNDS // 2, 6, "return", "b")
        self.assertEqual((score.wrong, score.receipts, score.seconds), ([], ROUNDS // 2, 0))

    def test_same_seed(self) -> None:
        """The same seed gives the same run."""
        self.assertEqual(run(8, 3), run(8, 3))

    def test_sees_silence(self) -> None:
        """A register that says nothing, or that forgets what it knew when it dies, is found out."""

        def nothing(*_: object) -> list[object]:
            return []

        async def forgets(self: Unheard, state: Any) -> None:
            self.receipts = []

        for name, lie in (("due", nothing), ("recall", forgets)):
            patch: Any = self.patch(Unheard, name, lie)
            with redirect_stdout(StringIO()) as output:
                self.assertEqual(main(["--rounds", "30", "--seed", "8"]), 1)
            self.assertIn("in silence", output.getvalue())
            patch.restore()
