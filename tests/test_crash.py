"""The judge of the kill rounds sees every fault, and two of the rounds are played when asked for."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.crash.books import Entry, Findings, Sold, compare_books
from tests.crash.kill_rounds import VICTIMS, main, plan

SOLD = [
    Sold("till", "a", 100, "2", "TEST_2"),
    Sold("till", "b", 200, "3", "TEST_3"),
    Sold("till", "c", 300, "4", "TEST_4"),
]
BOOK = [Entry("open", 1, "TEST_1", 0), *(Entry("sale", int(s.docno), s.doccode, s.sum) for s in SOLD)]


class PlanTests(SynchronousTestCase):
    """Whom to kill when."""

    def test_seed(self) -> None:
        """A seed gives the same plan each time, another seed another one."""
        self.assertEqual(plan(7, 20), plan(7, 20))
        self.assertEqual(plan(7, 20)[:5], plan(7, 5))
        self.assertNotEqual(plan(7, 20), plan(8, 20))

    def test_victims(self) -> None:
        """In a hundred rounds every kind of kill happens, under 50 to 400 ms of load."""
        rounds = plan(1, 100)
        self.assertEqual({turn.victim for turn in rounds}, set(VICTIMS))
        self.assertTrue(all(0.05 <= turn.after <= 0.4 for turn in rounds))


class CompareBooksTests(SynchronousTestCase):
    """The books of one register against each other."""

    def test_in_order(self) -> None:
        """Books that agree give no finding."""
        found = compare_books("till", SOLD, BOOK, BOOK)
        self.assertFalse(found)
        self.assertEqual(str(found), "lost 0, doubled 0, gaps 0")

    def test_lost(self) -> None:
        """A sale that was answered and is not in the ledger is lost."""
        book = BOOK[:-1]
        self.assertEqual(len(compare_books("till", SOLD, book, book).lost), 1)

    def test_other_sum(self) -> None:
        """A sale that is in the ledger with another sum is lost, and no till has the receipt there."""
        book = [*BOOK[:-1], Entry("sale", 4, "TEST_4", 301)]
        found = compare_books("till", SOLD, book, book)
        self.assertEqual((len(found.lost), len(found.doubled)), (1, 1))

    def test_doubled(self) -> None:
        """A sale that is in the ledger under a second number is doubled."""
        book = [*BOOK, Entry("sale", 5, "TEST_5", 300)]
        found = compare_books("till", SOLD, book, book)
        self.assertEqual((len(found.lost), len(found.doubled), len(found.gaps)), (0, 1, 0))

    def test_same_number_twice(self) -> None:
        """A receipt that is in the ledger twice is doubled, and the numbers do not go on."""
        found = compare_books("till", SOLD, [*BOOK, BOOK[-1]], BOOK)
        self.assertEqual((len(found.doubled), len(found.gaps)), (1, 1))

    def test_shared_receipt(self) -> None:
        """Two tags that were answered with the same receipt: one of the sales is lost."""
        sold = [*SOLD, Sold("till", "d", 300, "4", "TEST_4")]
        self.assertTrue(compare_books("till", sold, BOOK, BOOK).lost)

    def test_gap(self) -> None:
        """A number that was left out is a gap."""
        sold = [*SOLD[:-1], Sold("till", "c", 300, "5", "TEST_5")]
        book = [*BOOK[:-1], Entry("sale", 5, "TEST_5", 300)]
        found = compare_books("till", sold, book, book)
        self.assertEqual((len(found.lost), len(found.doubled), len(found.gaps)), (0, 0, 1))

    def test_not_in_journal(self) -> None:
        """A receipt of the ledger that the journal does not have is lost."""
        self.assertEqual(len(compare_books("till", SOLD, BOOK, BOOK[:-1]).lost), 1)

    def test_only_in_journal(self) -> None:
        """A receipt of the journal that the tax service never took is wrong as well."""
        found = compare_books("till", SOLD[:-1], BOOK[:-1], BOOK)
        self.assertEqual(str(found), "lost 0, doubled 0, gaps 0, otherwise wrong 1")
        self.assertTrue(found)

    def test_added_once(self) -> None:
        """What is found again is not counted again."""
        found, more = Findings(lost=["a"]), Findings(lost=["a", "b"], gaps=["c"])
        found.add(more)
        found.add(more)
        self.assertEqual(str(found), "lost 2, doubled 0, gaps 1")


class RoundsTests(SynchronousTestCase):
    """The real service."""

    if os.environ.get("DMTWISTED_SLOW") != "1":
        skip = "set DMTWISTED_SLOW=1 to kill the real service"

    def test_two_rounds(self) -> None:
        """Two rounds of kill -9 under load lose nothing, double nothing and leave no gap."""
        self.assertEqual(main(["--rounds", "2", "--seed", "8"]), 0)
