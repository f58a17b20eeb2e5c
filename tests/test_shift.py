"""What may be asked of a shift when: the whole table."""

from __future__ import annotations

from collections.abc import Callable

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers.shift import Shift, shift
from dmtwisted.results import Refused
from tests.specification import promises

ACTIONS: dict[str, Callable[[Shift], None]] = {
    "open": lambda asked: asked.open(),
    "trade": lambda asked: asked.trade(),
    "report": lambda asked: asked.report(),
    "close": lambda asked: asked.close(),
}


class ShiftTests(SynchronousTestCase):
    """Open or closed, and nothing in between."""

    def codes(self, is_open: bool) -> dict[str, int]:
        """The result of each action in this state of a shift: 0, or the code of the refusal."""
        return {name: self.code(shift(is_open), action) for name, action in ACTIONS.items()}

    def code(self, asked: Shift, action: Callable[[Shift], None]) -> int:
        """What one action gives."""
        try:
            action(asked)
        except Refused as refused:
            self.assertEqual(refused.action, 3)
            return refused.res.code
        return 0

    @promises("3.1a.1", "3.2.3.2")
    def test_closed(self) -> None:
        """A closed shift can be opened and nothing else."""
        self.assertEqual(self.codes(False), {"open": 0, "trade": 1092, "report": 1081, "close": 1006})

    @promises("3.1a.1", "3.2.3.2")
    def test_open(self) -> None:
        """An open shift takes everything but another opening."""
        self.assertEqual(self.codes(True), {"open": 1096, "trade": 0, "report": 0, "close": 0})

    def test_a_day(self) -> None:
        """Opening opens, closing closes, and what is in between changes nothing."""
        day = shift(False)
        steps = ("trade", "open", "open", "trade", "report", "trade", "close", "close", "trade", "open", "trade")
        self.assertEqual(
            [self.code(day, ACTIONS[step]) for step in steps], [1092, 0, 1096, 0, 0, 0, 0, 1006, 1092, 0, 0]
        )

    def test_refused_changes_nothing(self) -> None:
        """What was refused leaves the shift as it was, however often it is asked."""
        closed, opened = shift(False), shift(True)
        for _ in range(3):
            self.assertEqual(self.code(closed, ACTIONS["trade"]), 1092)
            self.assertEqual(self.code(closed, ACTIONS["close"]), 1006)
            self.assertEqual(self.code(opened, ACTIONS["open"]), 1096)
        self.assertEqual((self.code(closed, ACTIONS["open"]), self.code(opened, ACTIONS["close"])), (0, 0))

    def test_apart(self) -> None:
        """Two shifts do not know of each other."""
        first, second = shift(False), shift(False)
        first.open()
        self.assertEqual(self.code(second, ACTIONS["trade"]), 1092)
