"""The ledger holds what happened, in order, and what a crash cut short never happened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from protocols.simulators.ledger import ACCEPTED, REFUSED, STRIDE, Entry, Ledger

OPENED = ("open", ACCEPTED, "TEST_1", 0, "1", "20260921090000")
SOLD = ("sale", ACCEPTED, "TEST_2", 12550, "2", "20260921090101")
TOO_LATE = ("return", REFUSED, "", 500, "3", "20260921235959")


class _Ledger:
    """What a ledger promises wherever its entries are kept."""

    assertEqual: Any

    def ledger(self) -> Ledger:
        """A new ledger."""
        raise NotImplementedError

    def test_empty(self) -> None:
        """At first nothing has happened."""
        ledger = self.ledger()
        self.assertEqual((len(ledger), list(ledger.entries())), (0, []))

    def test_added(self) -> None:
        """An entry comes back as it was added, with its number."""
        ledger = self.ledger()
        self.assertEqual(ledger.add(*OPENED), Entry(1, "open", "accepted", "TEST_1", 0, "1", "20260921090000"))
        self.assertEqual(ledger.add(*SOLD).n, 2)

    def test_in_order(self) -> None:
        """Entries are returned oldest first, refused ones between the others."""
        ledger = self.ledger()
        added = [ledger.add(*entry) for entry in (OPENED, TOO_LATE, SOLD)]
        self.assertEqual(list(ledger.entries()), added)
        self.assertEqual([entry.n for entry in added], [1, 2, 3])
        self.assertEqual(len(ledger), 3)

    def test_by_number(self) -> None:
        """Each entry is found by its number."""
        ledger = self.ledger()
        added = [ledger.add(*entry) for entry in (SOLD, OPENED, TOO_LATE)]
        self.assertEqual([ledger.entry(n) for n in (3, 1, 2)], [added[2], added[0], added[1]])

    def test_many(self) -> None:
        """Each of many entries is found by its number."""
        ledger = self.ledger()
        added = [ledger.add(*SOLD[:4], str(n), SOLD[5]) for n in range(3 * STRIDE + 5)]
        self.assertEqual([ledger.entry(n) for n in range(1, len(added) + 1)], added)
        self.assertEqual((len(ledger), list(ledger.entries())), (len(added), added))

    def test_any_text(self) -> None:
        """Texts come back as they were, line breaks and letters of any script too."""
        ledger = self.ledger()
        added = ledger.add("sale", ACCEPTED, 'Ї"\n\\№', 1, "р\r\n", "")
        self.assertEqual((ledger.entry(1), list(ledger.entries())), (added, [added]))
        self.assertEqual((added.number, added.ref), ('Ї"\n\\№', "р\r\n"))

    def test_reading_while_it_grows(self) -> None:
        """A reader gets the entries from before its reading began."""
        ledger = self.ledger()
        ledger.add(*OPENED)
        reading = ledger.entries()
        self.assertEqual(next(reading).kind, "open")
        ledger.add(*SOLD)
        self.assertEqual(list(reading), [])
        self.assertEqual(len(list(ledger.entries())), 2)


class MemoryTests(_Ledger, SynchronousTestCase):
    """Without a path a ledger is in memory."""

    def ledger(self) -> Ledger:
        """A new ledger in memory."""
        return Ledger()


class FileTests(_Ledger, SynchronousTestCase):
    """With a path a ledger is a file of lines, and outlives the process."""

    def ledger(self) -> Ledger:
        """A ledger in a new file, in a folder that is not there yet."""
        self.path = Path(self.mktemp()).absolute() / "training" / "till.ledger"
        return self.opened()

    def opened(self) -> Ledger:
        """The ledger in the file of before."""
        ledger = Ledger(self.path)
        self.addCleanup(ledger.close)
        return ledger

    def test_lines(self) -> None:
        """Each entry is one line of JSON, in the file as soon as it was added."""
        ledger = self.ledger()
        ledger.add(*SOLD)
        self.assertEqual(
            self.path.read_bytes(),
            b'{"n":1,"kind":"sale","status":"accepted","number":"TEST_2","sum":12550,"ref":"2","dt":"20260921090101"}\n',
        )
        ledger.add(*OPENED)
        self.assertEqual(self.path.read_bytes().count(b"\n"), 2)

    def test_reopened(self) -> None:
        """A ledger that is opened again holds what it held, and numbers on."""
        ledger = self.ledger()
        before = [ledger.add(*OPENED), ledger.add(*SOLD)]
        ledger.close()
        again = self.opened()
        self.assertEqual((len(again), list(again.entries())), (2, before))
        self.assertEqual(again.entry(2), before[1])
        after = again.add(*TOO_LATE)
        self.assertEqual((after.n, again.entry(3)), (3, after))
        self.assertEqual(list(self.opened().entries()), [*before, after])

    def test_not_closed(self) -> None:
        """What was added is there for the next process, whether or not this one closed the ledger."""
        ledger = self.ledger()
        before = ledger.add(*OPENED)
        self.assertEqual(list(self.opened().entries()), [before])

    def test_cut_anywhere(self) -> None:
        """A line that a crash cut short anywhere is dropped, and its number is given to the next entry."""
        ledger = self.ledger()
        before = ledger.add(*OPENED)
        start = self.path.stat().st_size
        ledger.add(*SOLD)
        ledger.close()
        whole = self.path.read_bytes()
        for end in range(start, len(whole)):
            self.path.write_bytes(whole[:end])
            again = self.opened()
            self.assertEqual((len(again), list(again.entries())), (1, [before]), end)
            self.assertEqual(again.add(*TOO_LATE).n, 2)
            again.close()
            self.assertEqual([entry.kind for entry in self.opened().entries()], ["open", "return"], end)

    def test_cut_first_line(self) -> None:
        """A ledger whose first line was cut short is empty."""
        ledger = self.ledger()
        ledger.add(*OPENED)
        ledger.close()
        self.path.write_bytes(self.path.read_bytes()[:-1])
        again = self.opened()
        self.assertEqual((len(again), list(again.entries())), (0, []))
        self.assertEqual(self.path.read_bytes(), b"")

    def test_closed(self) -> None:
        """A ledger that was closed can be read and takes no more entries; closing it again does nothing."""
        ledger = self.ledger()
        before = ledger.add(*OPENED)
        for _ in range(2):
            ledger.close()
            self.assertRaises(ValueError, ledger.add, *SOLD)
            self.assertEqual((ledger.entry(1), list(ledger.entries()), len(ledger)), (before, [before], 1))


class ForeignFileTests(SynchronousTestCase):
    """A file that is no ledger."""

    def test_left_alone(self) -> None:
        """A file that holds anything else is refused and stays as it was, to the last byte."""
        for content in (b"root:x:0:0", b"first\nsecond", b"\n", b"[1]\n"):
            path = Path(self.mktemp())
            path.write_bytes(content)
            self.assertRaises(ValueError, Ledger, path)
            self.assertEqual(path.read_bytes(), content)

    def test_cut_short(self) -> None:
        """A first entry that a crash cut short, at whatever byte, is no reason to refuse the ledger."""
        whole = Path(self.mktemp())
        ledger = Ledger(whole)
        ledger.add(*OPENED)
        ledger.close()
        line = whole.read_bytes()
        for length in range(len(line)):
            path = Path(self.mktemp())
            path.write_bytes(line[:length])
            again = Ledger(path)
            self.assertEqual(len(again), 0)
            again.close()
