"""The register's state: a document changes the state that follows it, and never the one before."""

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.registers import totals
from dmtwisted.registers.bookkeeping import Books
from tests.shop import Shop, sale


class BeforeTests(SynchronousTestCase):
    """What was true before a document stays as it was: a failure of the store goes back to it."""

    def setUp(self) -> None:
        self.shop = Shop(self)
        self.shop.settings(offline_allowed=True)

    @property
    def books(self) -> Books:
        """Of the register."""
        books: Books = self.shop.built()._books
        return books

    def does(self, task: int, **members: Any) -> None:
        """The task is done; the state of before is the same object with the same content."""
        before, was = self.books.state, totals.encode(self.books.state)
        self.assertEqual(self.shop.fiscal(task, **members)["res"], 0)
        self.assertIsNot(self.books.state, before)
        self.assertNotEqual(totals.encode(self.books.state), was)
        self.assertEqual(totals.encode(before), was)

    def test_every_kind(self) -> None:
        """No document of a day changes the state of before, on lines that are new, known or taken back."""
        card = {"type": 2, "sum": 20, "rrn": "1"}
        moved = {"sum": 30, "pays": [{"type": 0, "sum": 30}]}
        self.does(0)
        for _ in range(2):
            self.does(3, cash={"type": 0, "sum": 500})
            self.does(1, receipt=sale(100.03))
            self.does(1, receipt={**sale(20), "pays": [card]})
            self.does(2, receipt=sale(10.02))
            self.does(4, cash={"type": 0, "sum": 5})
            self.does(14, cash=card)
            self.does(15, receipt=moved)
            self.does(16, receipt=moved)
            self.does(17)
        self.does(1, receipt=sale(100.03))
        self.does(17)
        self.does(11)

    def test_offline(self) -> None:
        """No document made offline changes the state of before."""
        self.does(0)
        self.shop.scenario({"on": "any", "then": "unreachable", "times": 0})
        for _ in range(3):
            self.does(1, receipt=sale(20))
        self.assertTrue(self.books.state.offline)
        self.does(11)

    def test_copy(self) -> None:
        """A copy is equal to what it was made of, also after it was stored."""
        self.does(0)
        self.does(1, receipt=sale(20))
        copy = self.books.state.copy()
        self.assertEqual(copy, self.books.state)
        self.assertEqual(totals.decode(totals.encode(copy)), copy)
