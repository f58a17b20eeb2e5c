"""The tables of faults and recovery rules agree with the tests."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from tests.terminal_matrix import FAULTS, LACKING, PAGE, RULES, WIRES, gaps, marked, page, shows, tables


class MatrixTests(SynchronousTestCase):
    """Marks, gaps and page."""

    def test_whole(self) -> None:
        """Each fault is met on each wire that can meet it, each rule is kept by a test, and the page says so."""
        found = list(marked())
        self.assertEqual(gaps(found), [])
        seen = {(mark, wire) for mark, wire, *_ in found}
        self.assertEqual(
            [pair for pair in LACKING if pair in seen], [], "what a wire cannot meet is tested after all"
        )
        text = PAGE.read_text("utf-8")
        self.assertEqual(page(text, found), text, "run python -m tests.terminal_matrix")
        self.assertIn(tables(found), text)

    def test_gaps(self) -> None:
        """A fault without a test on one wire is a gap, and so is a rule without a test."""
        found = [(fault, wire, "x.T.test", "") for fault in FAULTS for wire in WIRES]
        self.assertEqual(gaps(found), [f"rule {n}" for n in RULES])
        self.assertEqual(
            gaps([*found[1:], *((f"rule {n}", "", "x.T.test", "") for n in RULES)]),
            [f"{found[0][0]} at {found[0][1]}"],
        )

    def test_marks(self) -> None:
        """Only what is in the tables can be marked; a test may have several marks."""
        self.assertRaises(ValueError, shows, "rain")
        self.assertRaises(ValueError, shows, "rule 20")

        @shows("cut")
        @shows("rule 3", wire="zvt")
        def test() -> None:
            """Nothing."""

        self.assertEqual(test.shown_by, (("rule 3", "zvt"), ("cut", "")))  # type: ignore[attr-defined]
