"""A short run of the mail chaos, and that it sees what is wrong."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.mail.service import CustomerPost
from dmtwisted.registers import bookkeeping
from dmtwisted.store.values import LetterRow
from tests.mail_chaos import main, run


class ChaosTests(SynchronousTestCase):
    """Kills and faults around receipts with a customer."""

    def test_everybody_gets_their_receipt(self) -> None:
        """Whatever fails, each registered receipt is mailed, and at most once more for each blow."""
        score = run(12, 20260921)
        self.assertEqual((score.wrong, score.kills), ([], 12))
        self.assertGreater(score.sales, 12)

    def test_same_seed(self) -> None:
        """The same seed gives the same run."""
        self.assertEqual(run(3, 3), run(3, 3))

    def test_sees_a_loss(self) -> None:
        """An outbox that forgets, or a register that stores no letters, is found out, and the run fails."""

        async def forgets(post: CustomerPost, letter: LetterRow) -> None:
            """Say that it was told."""

        for place, name, lie in ((CustomerPost, "mail", forgets), (bookkeeping, "letters", lambda *_: [])):
            patch = self.patch(place, name, lie)
            with redirect_stdout(StringIO()) as output:
                self.assertEqual(main(["--kills", "5", "--seed", "1"]), 1)
            self.assertIn("is registered and was not mailed", output.getvalue())
            patch.restore()
