"""Letters are told, once if nothing fails, again if it does, and stay until then."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.outbox import CHECK_S, Later, Never, Outbox, pause_after
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import Letter, LetterRow

LEASE_S = 60.0


class OutboxTests(SynchronousTestCase):
    """One kind of letter, and a receiver that does what the test says."""

    def setUp(self) -> None:
        """An open store."""
        self.reactor = Clock()
        self.clock = ServiceClock(self.reactor)
        self.store = MemoryStore()
        self.successResultOf(Deferred.fromCoroutine(self.store.open()))
        self.told: list[bytes] = []
        self.fault: Exception | None = None
        self.waits: Deferred[None] | None = None
        self.outbox = self.begin()

    def begin(self) -> Outbox:
        """An outbox over the store, as after a start."""
        outbox = Outbox(self.store, self.clock)
        outbox.tell_by("marks", self.send, LEASE_S)
        outbox.start()
        return outbox

    async def send(self, letter: LetterRow) -> None:
        """The receiver."""
        self.told.append(letter.payload)
        if self.waits is not None:
            await self.waits
        if self.fault is not None:
            raise self.fault

    def post(self, payload: bytes, kind: str = "marks") -> None:
        """A letter that is due now."""
        self.successResultOf(Deferred.fromCoroutine(self.store.post([Letter(kind, 1, self.clock.now(), payload)])))
        self.outbox.posted()

    def left(self, dead: bool = False) -> list[LetterRow]:
        """What is stored."""
        return self.successResultOf(Deferred.fromCoroutine(self.store.find_letters(["marks"], dead, 10, 0)))

    def test_told(self) -> None:
        """A letter goes out at once, and is gone; letters of other kinds stay."""
        self.post(b"mail", "mail")
        self.post(b"a")
        self.assertEqual((self.told, self.left()), ([b"a"], []))
        due = self.successResultOf(Deferred.fromCoroutine(self.store.next_letter(["mail"])))
        self.assertEqual(due, self.clock.now())

    def test_again(self) -> None:
        """A letter that was not taken is tried after pauses that double, for as long as it takes."""
        self.fault = Later("silent")
        self.post(b"a")
        pauses = []
        for tries in range(2, 15):
            begun = self.reactor.seconds()
            while len(self.told) < tries:
                self.reactor.advance(1)
            pauses.append(self.reactor.seconds() - begun)
        self.assertTrue(3.9 <= pauses[0] <= 6, pauses)
        self.assertTrue(all(2800 <= pause <= 3601 for pause in pauses[-3:]), pauses)
        [row] = self.left()
        self.assertEqual(row.why, "silent")
        self.fault = None
        self.reactor.pump([10] * 400)
        self.assertEqual(self.left(), [])

    def test_dead(self) -> None:
        """What will never be taken is kept as dead, with the reason, and is not tried again."""
        self.fault = Never("no such mark")
        self.post(b"a")
        self.reactor.pump([60] * 100)
        self.assertEqual(self.told, [b"a"])
        self.assertEqual([(row.dead, row.why) for row in self.left(dead=True)], [(True, "no such mark")])

    def test_pause_in_milliseconds(self) -> None:
        """The next try comes when its pause is over, not before and not much later."""
        self.fault = Later("silent")
        self.post(b"a")
        [row] = self.left()
        left = (row.due - self.clock.now()) / 1000
        self.reactor.advance(left - 0.01)
        self.assertEqual(self.told, [b"a"])
        self.reactor.advance(0.02)
        self.assertEqual(self.told, [b"a", b"a"])

    def test_long_reason(self) -> None:
        """Of a long reason 400 characters are kept, for a letter that is tried again and for a dead one."""
        for fault, dead in ((Later("x" * 500), False), (Never("y" * 500), True)):
            self.fault = fault
            self.post(b"a")
            self.assertEqual([len(row.why) for row in self.left(dead)], [400])

    def test_posted_meanwhile(self) -> None:
        """A letter that is stored while the lane asks what is next goes out right after, not at the next look."""
        asked: Deferred[None] = Deferred()
        next_letter = self.store.next_letter

        async def slow(kinds: list[str]) -> int | None:
            due = await next_letter(kinds)
            await asked
            return due

        self.patch(self.store, "next_letter", slow)
        self.post(b"a")
        self.post(b"b")
        self.assertEqual(self.told, [b"a"])
        self.patch(self.store, "next_letter", next_letter)
        asked.callback(None)
        self.reactor.advance(0)
        self.assertEqual(self.told, [b"a", b"b"])
        # That was one letter more, which wakes nothing for ever.
        self.assertGreater(self.reactor.getDelayedCalls()[0].getTime() - self.reactor.seconds(), CHECK_S - 1)

    def test_one_look_is_pending(self) -> None:
        """However often letters were stored, the next look is one, and none after the end."""
        for payload in (b"a", b"b", b"c"):
            self.post(payload)
        self.assertEqual(len(self.reactor.getDelayedCalls()), 1)
        self.successResultOf(Deferred.fromCoroutine(self.outbox.stop()))
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_killed(self) -> None:
        """A letter whose teller died is told again by the next start, not before the lease is over."""
        self.waits = Deferred()
        self.post(b"a")
        self.waits = None
        self.outbox = self.begin()
        self.reactor.advance(LEASE_S - 1)
        self.assertEqual(self.told, [b"a"])
        self.reactor.advance(2)
        self.assertEqual((self.told, self.left()), ([b"a", b"a"], []))

    def test_killed_at_the_first(self) -> None:
        """Only the letter that was being told waits for its lease after a kill; the next one goes out at once."""
        self.waits = Deferred()
        letters = [Letter("marks", 1, self.clock.now(), payload) for payload in (b"a", b"b")]
        self.successResultOf(Deferred.fromCoroutine(self.store.post(letters)))
        self.outbox.posted()
        self.waits = None
        self.outbox = self.begin()
        self.assertEqual((self.told, [row.payload for row in self.left()]), ([b"a", b"b"], [b"a"]))

    def test_stop(self) -> None:
        """The end waits for the try under way; afterwards nothing is pending, and the letter is told or stored."""
        self.waits = Deferred()
        self.post(b"a")
        self.post(b"b")
        stopped = Deferred.fromCoroutine(self.outbox.stop())
        self.assertNoResult(stopped)
        self.waits.callback(None)
        self.successResultOf(stopped)
        self.assertEqual(([row.payload for row in self.left()], self.reactor.getDelayedCalls()), ([b"b"], []))

    def test_store_away(self) -> None:
        """While the database does not answer, letters wait; so does a letter that another service left."""
        self.store.broken = True
        self.outbox.posted()
        self.store.broken = False
        self.successResultOf(Deferred.fromCoroutine(self.store.post([Letter("marks", 1, self.clock.now(), b"a")])))
        self.reactor.advance(CHECK_S)
        self.assertEqual(self.told, [b"a"])

    def test_pauses_apart(self) -> None:
        """Many letters that failed together are not tried again together."""
        pauses = {pause_after(LetterRow(n, "marks", 1, 0, 3, False, "", b"")) for n in range(50)}
        self.assertGreater(len(pauses), 25)
        self.assertTrue(all(16_000 <= pause <= 20_000 for pause in pauses))
        self.assertLess(min(pauses), 16_500)

    def test_pauses_apart_each_time(self) -> None:
        """Two letters that fail together more than once are apart by another time after each."""
        apart = set()
        for attempts in range(12, 20):
            one, two = (pause_after(LetterRow(n, "marks", 1, 0, attempts, False, "", b"")) for n in (1, 2))
            apart.add(one - two)
        self.assertEqual(len(apart), 8)
