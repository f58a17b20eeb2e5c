"""Questions that go to a database server together."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store import gathering
from dmtwisted.store.gathering import SLOW, Gathering


class GatheringTests(SynchronousTestCase):
    """Groups of questions that are letters, about devices that are numbers."""

    def setUp(self) -> None:
        """Nothing is asked."""
        self.clock = Clock()
        self.groups: list[str] = []
        self.due: list[Deferred[list[Any]]] = []
        self.gathering = Gathering(self.clock, self._asked)

    async def _asked(self, group: list[str]) -> list[Any]:
        self.groups.append("".join(group))
        self.due.append(Deferred())
        return await self.due[-1]

    def ask(self, letters: str) -> list[Deferred[Any]]:
        """Ask each letter about a device of its own."""
        return [self.gathering.ask(ord(letter.lower()), letter) for letter in letters]

    def answer(self, at: int) -> None:
        """Answer a group with its letters."""
        self.due[at].callback(list(self.groups[at]))

    def test_together(self) -> None:
        """A lone question goes at once; what comes meanwhile goes together; each caller gets its own answer."""
        asked = self.ask("abcd")
        self.assertEqual(self.groups, ["a"])
        self.answer(0)
        self.assertEqual(self.groups, ["a", "bcd"])
        self.answer(1)
        self.assertEqual([self.successResultOf(each) for each in asked], ["a", "b", "c", "d"])
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.ask("e")
        self.assertEqual(self.groups[2:], ["e"])

    def test_next_goes_first(self) -> None:
        """The next group is on its way before the callers of the last one go on."""
        first, _ = self.ask("ab")
        seen: list[str] = []
        first.addCallback(lambda _: seen.extend(self.groups))
        self.answer(0)
        self.assertEqual(seen, ["a", "b"])

    def test_one_device(self) -> None:
        """A device is in one group at a time, and once in it."""
        self.ask("abB")
        self.answer(0)
        self.ask("c")
        self.clock.advance(SLOW)
        self.assertEqual(self.groups, ["a", "b", "c"])
        self.answer(1)
        self.answer(2)
        self.assertEqual(self.groups, ["a", "b", "c", "B"])

    def test_slow(self) -> None:
        """A group that takes long does not hold up the next one, and its end starts no second one beside that."""
        self.ask("ab")
        self.clock.advance(SLOW * 0.99)
        self.assertEqual(self.groups, ["a"])
        self.clock.advance(SLOW * 0.02)
        self.assertEqual(self.groups, ["a", "b"])
        self.ask("c")
        self.answer(0)
        self.assertEqual(self.groups, ["a", "b"])
        self.answer(1)
        self.assertEqual(self.groups, ["a", "b", "c"])

    def test_slow_device(self) -> None:
        """A slow group holds up those that ask about its devices, and nobody else."""
        self.ask("a")
        self.clock.advance(SLOW)
        self.ask("bA")
        self.clock.advance(SLOW)
        self.assertEqual(self.groups, ["a", "b"])
        self.answer(1)
        self.ask("c")
        self.assertEqual(self.groups, ["a", "b", "c"])
        self.answer(0)
        self.answer(2)
        self.assertEqual(self.groups, ["a", "b", "c", "A"])
        self.answer(3)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_most(self) -> None:
        """A group has a limit."""
        self.patch(gathering, "MOST", 2)
        self.ask("abcd")
        self.answer(0)
        self.answer(1)
        self.assertEqual(self.groups, ["a", "bc", "d"])

    def test_failure(self) -> None:
        """Of a group that fails every caller gets the reason, and the next group goes."""
        asked = self.ask("abcd")
        self.answer(0)
        self.due[1].errback(ValueError("away"))
        for each in asked[1:]:
            self.failureResultOf(each, ValueError)
        self.ask("e")
        self.assertEqual(self.groups, ["a", "bcd", "e"])
