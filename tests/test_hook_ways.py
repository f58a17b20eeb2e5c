"""The parts that bring events to one subscriber, each on its own: lanes, ways, cursors and subscribers."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace
from twisted.internet.defer import Deferred, DeferredSemaphore
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.changes import record_of
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.hooks import ways
from dmtwisted.hooks.cursors import Cursors
from dmtwisted.hooks.lanes import HOOK, Failed, Told
from dmtwisted.hooks.subscribers import Subscriber, Subscribers
from dmtwisted.messages.feed import LOOK_S, Feed
from dmtwisted.messages.kinds import DeviceName
from dmtwisted.outbox import pause_ms
from dmtwisted.secrets import Secrets, SecretsError
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import CHANGE, DeadLetter, HookCursor, Letter, OperationQuery, StoreFailed
from tests.hook_desk import HOST, URL
from tests.store_contract import AT, OTHER, TILL, intent, outcome, paper

DAY_S = 86_400.0


class WayCase(SynchronousTestCase):
    """The events on their way to one subscriber, from a real store; the test says what comes of each try."""

    def setUp(self) -> None:
        """Nothing has happened yet."""
        self.reactor = Clock()
        self.reactor.advance(AT / 1000)
        self.clock = ServiceClock(self.reactor)
        self.store = MemoryStore()
        self.now(self.store.open())
        self.feed = Feed(self.store, self.clock, lambda n: DeviceName(f"id {n}", f"till {n}", "register"))
        self.cursors = Cursors(self.store, self.clock)
        self.limit_reads()
        self.sent: list[int] = []
        """The places of the events that were tried."""
        self.results: list[Exception | Deferred[None]] = []
        """What comes of the next tries; of those after them ``always``."""
        self.always: Exception | None = None
        self.gone: list[str] = []
        self.number = self.looks = 0
        self.ours: list[int] | None = None
        self.common = ways.Common(
            *(self.feed, self.cursors, self.clock, DeferredSemaphore(8)),
            *(self.send, self.is_gone, lambda: self.ours, self.alone),
        )

    def limit_reads(self) -> None:
        """Let reading fail that never ends."""
        whole, reads = self.store.events, iter(range(500))

        async def events(after: int, limit: int, devices: list[int]) -> Any:
            self.assertIsNotNone(next(reads, None), "it reads without end")
            return await whole(after, limit, devices)

        self.patch(self.store, "events", events)

    def now(self, asked: Any) -> Any:
        """What comes at once."""
        return self.successResultOf(Deferred.fromCoroutine(asked))

    async def send(self, subscriber: Subscriber, id: str, body: bytes) -> None:
        """One try."""
        self.sent.append(int(id.partition("-")[0]))
        self.assertLess(len(self.sent), 100, "it sends without end")
        result = self.results.pop(0) if self.results else self.always
        if isinstance(result, Deferred):
            await result
        elif result is not None:
            raise result

    async def is_gone(self, id: str) -> None:
        """The receiver has said that its address is gone."""
        self.gone.append(id)

    async def alone(self) -> None:
        """It is looked whether another service has stopped."""
        self.looks += 1

    def sell(self, *devices: int) -> None:
        """A receipt of each of these devices; the first event has the place 1."""
        for device_n in devices:
            self.number += 1
            n = self.now(self.store.reserve(intent(device_n, f"{self.number}", paper(self.number)))).n
            numbers = {self.number: f"F-{self.number}"}
            self.now(self.store.conclude(outcome(n, device_n=device_n, fiscal_numbers=numbers)))

    def way(self, *known: HookCursor, **members: Any) -> ways.Way:
        """A subscriber at work, whose lanes were so far."""
        one = ways.Way(self.subscriber(**members), self.common, {each.device_n: each for each in known}, set())
        one.start()
        self.addCleanup(one.stop)
        self.reactor.advance(0)
        return one

    def subscriber(self, **members: Any) -> Subscriber:
        """One that was added before everything."""
        return Subscriber(**{"id": "s", "name": "n", "url": URL, "secret": "", "made_at": AT, "since": 0, **members})

    def kept(self) -> list[HookCursor]:
        """The cursors in the store."""
        found: list[HookCursor] = self.now(self.store.hook_cursors())
        return found

    def later(self, ms: int) -> None:
        """Let so many milliseconds pass."""
        self.reactor.rightNow = round(self.reactor.rightNow * 1000 + ms) / 1000
        self.reactor.advance(0)


class LaneTests(WayCase):
    """One event after the other."""

    def test_taken(self) -> None:
        """Each event goes out once, and how far that is is durable before the next one."""
        self.sell(TILL, OTHER, TILL)
        first = Deferred[None]()
        self.results = [first, Deferred()]
        self.way(HookCursor("s", TILL, 0, 1, 2, 3, 4, "no"))
        self.assertEqual((self.sent, self.kept()), ([1, 2], []))
        writing = Deferred[None]()
        whole = self.patch(self.store, "keep_cursors", lambda *_: writing)
        first.callback(None)
        self.reactor.advance(60)
        self.assertEqual(self.sent, [1, 2])
        whole.restore()
        writing.callback(None)
        self.assertEqual(self.sent, [1, 2, 3])
        self.assertEqual(self.kept(), [HookCursor("s", TILL, 3, self.clock.now())])

    def test_not_taken(self) -> None:
        """An event that was not taken is tried after its pause, not earlier; with the first success all is well."""
        self.sell(TILL)
        self.results = [Failed("no"), Failed("x" * 1000)]
        self.way()
        begun, due = self.clock.now(), 0
        for attempts, why in ((1, "no"), (2, "x" * 400)):
            due = self.clock.now() + pause_ms(1, attempts, 14_400_000)
            self.assertEqual(self.kept(), [HookCursor("s", TILL, 0, 0, attempts, begun, due, why)])
            self.later(due - self.clock.now() - 1)
            self.assertEqual(len(self.sent), attempts)
            self.later(101)
        self.assertEqual((self.sent, self.kept()), ([1, 1, 1], [HookCursor("s", TILL, 1, self.clock.now())]))

    def test_asked_pause(self) -> None:
        """A receiver gets the pause that it asks for, if longer than ours, up to four hours, for all devices."""
        own = pause_ms(1, 1, 14_400_000)
        for asked, pause in ((100.0, 100_000), (0.0, own), (1e6, 14_400_000)):
            self.setUp()
            self.sell(TILL)
            self.results = [Failed("later", asked)]
            way = self.way()
            due = self.clock.now() + pause
            self.assertEqual([(one.attempts, one.due) for one in self.kept()], [(1, due)], asked)
            self.sell(OTHER)
            self.later(pause - 1000)
            self.assertEqual((self.sent, way.pause(0)), ([1], 1.0), asked)
            self.later(1101)
            self.assertEqual(sorted(self.sent), [1, 1, 2], asked)
            way.stop()

    def test_dead(self) -> None:
        """Dead is what failed 29 times in a row and is older than three days; the next one follows at once."""
        old = 3 * 86_400_000
        for failed, age, dead in ((27, old + 1, False), (28, old, False), (28, old + 1, True)):
            self.setUp()
            self.sell(TILL, TILL)
            happened = AT + 1000
            self.later(happened + age - self.clock.now())
            self.results = [Failed("no"), Deferred()]
            way = self.way(HookCursor("s", TILL, 0, 0, failed, 5, 0, "never"))
            now, letters = self.clock.now(), self.now(self.store.find_letters([HOOK], True, 9, 0))
            self.assertEqual((len(letters), self.sent), (dead, [1, 2] if dead else [1]))
            if dead:
                told = msgspec.json.decode(letters[0].payload, type=Told)
                self.assertEqual((told.subscriber, told.at, told.type), ("s", happened, "document.made"))
                self.assertEqual((letters[0].device_n, letters[0].due, letters[0].why), (TILL, now, "no"))
                self.assertEqual(self.kept(), [HookCursor("s", TILL, 1, 0, 29, 5, 0, "no")])
            way.stop()

    def test_gone(self) -> None:
        """An address that is gone is told; that is no failure of the event, which is tried a little later."""
        self.sell(TILL)
        self.results = [Failed("gone", gone=True)]
        self.way()
        self.assertEqual((self.gone, self.sent, self.kept()), (["s"], [1], []))
        self.reactor.advance(4.9)
        self.assertEqual(self.sent, [1])
        self.reactor.advance(0.2)
        self.assertEqual(self.sent, [1, 1])

    def test_faults(self) -> None:
        """A fault of ours or of the database makes an event wait for seconds, not for ever, and not at once."""
        self.sell(TILL)
        self.results = [StoreFailed("away"), RuntimeError("a mistake")]
        self.way()
        for tries in (1, 2):
            self.reactor.advance(4.9)
            self.assertEqual(self.sent, [1] * tries)
            self.reactor.advance(0.2)
        self.assertEqual((self.sent, len(self.flushLoggedErrors(RuntimeError))), ([1, 1, 1], 1))

    def test_read_once(self) -> None:
        """A device that is behind reads by itself; what is then read for all devices does not come twice."""
        self.sell(TILL, OTHER, OTHER, TILL)
        self.results = [Deferred()]
        way = self.way(HookCursor("s", TILL, 0), HookCursor("s", OTHER, 3))
        self.assertEqual((way.waiting().number, way.waiting().more), (2, False))
        self.sell(OTHER, TILL)
        self.reactor.advance(LOOK_S)
        self.assertEqual((way.waiting().number, way.waiting().more, self.sent), (3, False, [1, 5]))

    def test_lost(self) -> None:
        """What waits for a device that another service has now is forgotten here, and read again when it is ours."""
        self.sell(TILL, TILL)
        self.ours = [TILL, OTHER]
        self.always = Failed("no")
        way = self.way()
        self.ours = [OTHER]
        self.reactor.advance(30)
        self.assertEqual((self.sent, way.waiting().number, way.waiting().more), ([1], 0, True))
        self.ours, self.always = [TILL, OTHER], None
        way.owned(TILL)
        self.assertEqual(self.sent, [1, 1, 2])

    def test_stopped(self) -> None:
        """After the stop nothing goes out, nothing is stored, and no timer is left."""
        self.sell(TILL, OTHER, TILL)
        ended: list[str] = []
        self.results = [Deferred(lambda _: ended.append("cancelled")), Failed("no"), Failed("no")]
        way = self.way()
        way.hurry()
        kept = self.kept()
        way.stop()
        self.reactor.advance(LOOK_S)
        self.assertEqual((ended, self.reactor.getDelayedCalls()), (["cancelled"], []))
        self.sell(3)
        for device_n in (TILL, 3):
            way.owned(device_n)
        self.assertEqual((self.sent, self.kept()), ([1, 2, 2], kept))

    def test_closed(self) -> None:
        """An end in order waits for the tries that are under way and begins none; how far it came is durable."""
        self.sell(3, TILL, OTHER, TILL, OTHER)
        first, second = Deferred[None](), Deferred[None]()
        self.results = [Failed("no"), first, second]
        way = self.way()
        closing = Deferred.fromCoroutine(way.close())
        first.callback(None)
        self.assertNoResult(closing)
        second.errback(Failed("no"))
        self.successResultOf(closing)
        self.assertEqual(self.sent, [1, 2, 3])
        self.assertEqual([(one.device_n, one.told, one.attempts) for one in self.kept()], [(TILL, 2, 0), (3, 0, 1)])
        self.reactor.advance(LOOK_S)
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_behind(self) -> None:
        """What a device that is behind has read counts as handed out only when it is."""
        self.sell(TILL, OTHER)
        self.always = Failed("no")
        way = self.way(HookCursor("s", TILL, 0), HookCursor("s", OTHER, 2))
        self.now(way.close())
        self.assertEqual([(one.device_n, one.told) for one in self.kept()], [(TILL, 0)])

    def test_hurry(self) -> None:
        """What waits for its pause is tried at once when a person asks for it, whatever the receiver asks for."""
        self.sell(TILL, OTHER)
        self.results = [Failed("no"), Failed("later", 3600.0)]
        way = self.way()
        self.assertEqual(self.sent, [1, 2])
        way.hurry()
        self.assertEqual(sorted(self.sent), [1, 1, 2, 2])
        self.assertEqual(way.waiting(), ways.Waiting(0, False, 0, self.clock.now(), 0, "", 0))


class WayTests(WayCase):
    """What holds for all devices of a subscriber."""

    def test_room(self) -> None:
        """A lane holds 50 events, fewer when there are many lanes, and one at least."""
        for most, devices, room in ((0, 1, 50), (0, 80, 25), (4, 1, 4), (4, 5, 1)):
            if most:
                self.patch(ways, "MOST_HELD", most)
            way = self.way()
            for device_n in range(1, devices + 1):
                way.owned(device_n)
            self.assertEqual(way.room, room)
            way.stop()

    def test_pause(self) -> None:
        """A try waits for its own moment and for the one that the receiver asks for, a tenth of a second or more."""
        way, now = self.way(), self.clock.now()
        for due, held, pause in (
            *((0, 0, None), (now, 0, None), (now + 1, 0, 0.1), (now + 2500, 0, 2.5)),
            *((0, now + 4000, 4.0), (now + 5000, now + 4000, 5.0)),
        ):
            way.hold(held)
            self.assertEqual(way.pause(due), pause)

    def test_few_at_once(self) -> None:
        """Two requests to one receiver at once; what waits for its turn meanwhile respects the pause it asks for."""
        self.sell(1, 2, 3)
        first, second = Deferred[None](), Deferred[None]()
        self.results = [first, second]
        self.way()
        self.assertEqual(self.sent, [1, 2])
        first.errback(Failed("the receiver answered 429", 60.0))
        second.callback(None)
        self.reactor.advance(59)
        self.assertEqual(self.sent, [1, 2])
        self.reactor.advance(2)
        self.assertEqual(sorted(self.sent), [1, 1, 2, 3])

    def test_changed(self) -> None:
        """A new address is tried at once; any other change leaves the pause, and holds for what waits."""
        for members, tries in (
            *(({"url": URL + "/x"}, 2), ({"allow_local": HOST}, 2), ({"ca": "x"}, 2)),
            *(({"name": "other"}, 1), ({"events": ("shift.opened",)}, 1), ({"devices": ("id 9",)}, 1)),
        ):
            self.setUp()
            self.sell(TILL)
            self.always = Failed("no")
            way = self.way()
            way.change(self.subscriber(**members))
            self.assertEqual(len(self.sent), tries, members)
            wanted = not ("events" in members or "devices" in members)
            self.assertEqual(way.waiting().number, wanted)
            self.reactor.advance(100)
            self.assertEqual(len(self.sent) > 1, wanted)
            way.stop()

    def test_taken_over(self) -> None:
        """From another service a device is gone on with where that one has stopped; its own try of it ends."""
        self.sell(TILL, TILL, TILL)
        ended: list[Deferred[None]] = []
        self.results = [Deferred(ended.append)]
        way = self.way()
        way.taken_over(TILL, HookCursor("s", TILL, 2))
        self.assertEqual((len(ended), self.sent), (1, [1, 3]))
        way.taken_over(OTHER, None)
        self.sell(OTHER)
        self.reactor.advance(LOOK_S)
        self.assertEqual(self.sent, [1, 3, 4])
        self.reactor.pump([1.0] * 60)
        self.assertEqual(self.sent, [1, 3, 4])

    def test_nothing_ours(self) -> None:
        """Without a device it looks every second whether it has one, every minute whether another service stopped."""
        self.ours = []
        self.sell(TILL)
        self.way()
        self.reactor.pump([1.0] * 59)
        self.assertEqual(self.looks, 0)
        self.reactor.advance(1)
        self.assertEqual(self.looks, 1)
        self.reactor.pump([1.0] * 5)
        self.ours = [TILL]
        self.assertEqual(self.sent, [])
        self.reactor.advance(1)
        self.assertEqual(self.sent, [1])

    def test_another_one(self) -> None:
        """A device that is ours now is begun with a minute later at most, also when nothing happens there."""
        self.ours = [OTHER]
        self.sell(TILL, OTHER)
        self.way()
        self.ours = [OTHER, TILL]
        self.assertEqual(self.sent, [2])
        self.reactor.pump([1.0] * 61)
        self.assertEqual(self.sent, [2, 1])

    def test_ours_again(self) -> None:
        """Nothing is read over when a device is another service's for the time of one reading."""
        self.ours = [TILL, OTHER]
        self.way()
        self.ours = [OTHER]
        self.sell(TILL, OTHER)
        whole = self.feed.read

        async def read(after: int, limit: int, devices: list[int]) -> Any:
            batch = await whole(after, limit, devices)
            self.ours = [TILL, OTHER]
            return batch

        self.patch(self.feed, "read", read)
        self.reactor.advance(LOOK_S)
        self.assertEqual(sorted(self.sent), [1, 2])

    def test_noted(self) -> None:
        """What a subscriber does not want is noted after many events, and at the end: no start reads it again."""
        self.patch(ways, "SAVED_AFTER", 3)
        notes: list[list[int]] = []
        whole = self.store.keep_cursors

        async def keep(cursors: list[HookCursor], dead: list[DeadLetter]) -> Any:
            notes.append([one.told for one in cursors])
            return await whole(cursors, dead)

        self.patch(self.store, "keep_cursors", keep)
        way = self.way(HookCursor("s", TILL, 0), HookCursor("s", OTHER, 0), events=("shift.opened",))
        for expected in ([], [], [[3, 3]], [[3, 3]]):
            self.sell(TILL)
            self.reactor.advance(LOOK_S)
            self.assertEqual(notes, expected)
        self.assertEqual({n: one.told for n, one in way.known().items()}, {TILL: 3, OTHER: 3})
        self.now(way.close())
        self.now(way.close())
        self.assertEqual(notes, [[3, 3], [4, 4]])
        self.assertEqual([(one.device_n, one.told) for one in self.kept()], [(TILL, 4), (OTHER, 4)])

    def test_waiting(self) -> None:
        """A person sees how much waits and since when, the longest failure with its reason, and the next try."""
        way = self.way()
        self.assertEqual(way.waiting(), ways.Waiting(0, False, 0, 0, 0, "", 0))
        self.sell(TILL)
        self.reactor.advance(LOOK_S)
        taken = self.clock.now()
        self.results = [Failed("first"), Failed("second"), Deferred()]
        self.sell(TILL)
        self.reactor.advance(LOOK_S)
        since = self.clock.now()
        self.reactor.advance(1)
        self.sell(OTHER, 3, 3)
        self.reactor.advance(LOOK_S)
        dues = [one.due for one in self.kept() if one.attempts]
        self.assertEqual(len(dues), 2)
        self.assertEqual(way.waiting(), ways.Waiting(4, False, AT + 1000, taken, since, "first", min(dues)))
        way.hold(max(dues) + 60_000)
        self.assertEqual(way.waiting().next, max(dues) + 60_000)

    def test_not_read(self) -> None:
        """What cannot be read, also by a mistake of ours, is asked for every five seconds; then everything comes."""
        for error in (StoreFailed("away"), RuntimeError("a mistake")):
            self.setUp()
            asked: list[int] = []

            async def events(after: int, *_: Any, asked: list[int] = asked, error: Exception = error) -> Any:
                asked.append(after)
                if len(asked) < 9:
                    raise error
                await Deferred()

            broken = self.patch(self.store, "events", events)
            way = self.way()
            self.reactor.pump([1.0] * 12)
            self.assertEqual(asked, [0, 0, 0])
            broken.restore()
            self.sell(TILL)
            self.reactor.pump([1.0] * 5)
            self.assertEqual(self.sent, [1])
            way.stop()
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 3)


class CursorTests(WayCase):
    """How far subscribers are, made durable."""

    def setUp(self) -> None:
        """A database of which the test says when it is ready."""
        super().setUp()
        self.written: list[tuple[list[HookCursor], list[DeadLetter]]] = []
        self.writing: list[Deferred[None]] = []

        async def keep(cursors: list[HookCursor], dead: list[DeadLetter]) -> None:
            self.written.append((cursors, dead))
            self.writing.append(Deferred())
            await self.writing[-1]

        self.patch(self.store, "keep_cursors", keep)

    def test_together(self) -> None:
        """What comes while a transaction is under way shares the next one, the newest place of each device alone."""
        one, two, three = (HookCursor("s", TILL, told) for told in (1, 2, 3))
        dead = DeadLetter(Letter(HOOK, TILL, 0, b""), "no")
        first = self.cursors.keep([one])
        others = [self.cursors.keep([two], [dead]), self.cursors.keep([three]), self.cursors.keep([])]
        self.assertEqual(self.written, [([one], [])])
        self.writing[0].callback(None)
        self.assertIsNone(self.successResultOf(first))
        for each in others:
            self.assertNoResult(each)
        self.assertEqual(self.written[1:], [([three], [dead])])
        self.writing[1].callback(None)
        self.assertEqual([self.successResultOf(each) for each in others], [None] * 3)
        self.successResultOf(self.cursors.keep([]))
        self.assertEqual(len(self.written), 2)
        last = self.cursors.keep([], [dead])
        self.assertEqual(self.written[2:], [([], [dead])])
        self.writing[2].callback(None)
        self.successResultOf(last)

    def test_away(self) -> None:
        """A database that does not answer is asked again after five seconds, until it does or the service ends."""
        one = HookCursor("s", TILL, 1)
        kept = self.cursors.keep([one])
        for times in (1, 2):
            self.writing[-1].errback(StoreFailed("away"))
            self.reactor.advance(4.9)
            self.assertEqual(len(self.written), times)
            self.reactor.advance(0.2)
        self.assertEqual(self.written, [([one], [])] * 3)
        self.writing[-1].callback(None)
        self.successResultOf(kept)
        self.cursors.end()
        self.assertEqual(self.reactor.getDelayedCalls(), [])

    def test_end(self) -> None:
        """At the end the database is asked once more, and who waits hears that nothing is durable."""
        kept = self.cursors.keep([HookCursor("s", TILL, 1)])
        self.writing[0].errback(StoreFailed("away"))
        self.cursors.end()
        self.assertEqual(len(self.written), 2)
        self.assertNoResult(kept)
        self.writing[1].errback(StoreFailed("away"))
        self.failureResultOf(kept, StoreFailed)
        self.assertEqual(self.reactor.getDelayedCalls(), [])


class SubscriberTests(WayCase):
    """Who gets events, without what is sent."""

    def setUp(self) -> None:
        """Nobody yet."""
        super().setUp()
        self.secrets = Secrets(None)
        self.changes: list[str] = []
        self.known = self.opened("a")

    def opened(self, service: str) -> Subscribers:
        """The subscribers as a service on this database has them."""
        known = Subscribers(self.store, self.secrets, self.clock, frozenset({"document.made", "shift.opened"}))
        known.changed = lambda: self.changes.append(service)
        self.now(known.open())
        return known

    def add(self, **members: Any) -> Subscriber:
        """A new one."""
        made: Subscriber = self.now(
            self.known.add(**{"name": "n", "url": URL, "since": 0, "allow_local": HOST, **members})
        )[0]
        return made

    def test_wants(self) -> None:
        """Without a list it wants everything, with one what is in it."""
        one = self.subscriber()
        self.assertEqual((one.wants("shift.opened"), one.wants_of("id 1"), one.wants_of("")), (True, True, True))
        one = self.subscriber(events=("document.made",), devices=("id 1",))
        self.assertEqual([one.wants(kind) for kind in ("document.made", "shift.opened")], [True, False])
        self.assertEqual([one.wants_of(id) for id in ("id 1", "id 2", "")], [True, False, False])

    def test_hidden(self) -> None:
        """The path of an address, which may be a secret, is in no text about a subscriber."""
        self.assertEqual(repr(self.subscriber(secret="sealed")), f"Subscriber('n', http://{HOST}:8080)")

    def test_checked(self) -> None:
        """What is added or changed has these limits; what is refused leaves everything as it was."""
        one, pem = self.add(), "-----BEGIN CERTIFICATE-----"
        new: dict[str, Any] = {"name": "n", "url": URL, "since": 0, "allow_local": HOST}
        for path, good, bad in (
            ("name", "n" * 100, "n" * 101),
            ("name", "x y", "x\ny"),
            ("name", "x", "  "),
            ("allow_local", HOST.ljust(1000), HOST.ljust(1001)),
            ("allow_local", f"{HOST}, 10.0.0.0/8", "not a host!"),
            ("ca", pem.ljust(65_536), pem.ljust(65_537)),
            ("ca", "", "x"),
            ("events", ("shift.opened", "document.made"), ("shift.opened", "document.eaten")),
            ("url", URL.ljust(2000, "x"), URL.ljust(2001, "x")),
            ("url", "https://x.example/", "http://x.example/"),
        ):
            changed = self.now(self.known.change(one.id, {path: good}))
            self.assertEqual((getattr(changed, path), self.known.by_id(one.id)), (good, changed))
            for asked in (self.known.change(one.id, {path: bad}), self.known.add(**{**new, path: bad})):
                refused = self.failureResultOf(Deferred.fromCoroutine(asked), BadSettings).value
                self.assertEqual(refused.path, "events[1]" if path == "events" else path)
            self.assertEqual(list(self.known), [changed])

    def test_most(self) -> None:
        """There are fifty at most."""
        ids = [self.add().id for _ in range(50)]
        asked = self.known.add("n", "https://x.example/", 0)
        self.failureResultOf(Deferred.fromCoroutine(asked), BadSettings)
        self.assertEqual([one.id for one in self.known], ids)
        self.assertTrue(self.now(self.known.remove(ids[0])))
        ids = [*ids[1:], self.add().id]
        self.assertEqual([one.id for one in self.known], ids)

    def test_unknown(self) -> None:
        """One that is not there is neither changed nor removed, and is no other one."""
        one = self.add()
        self.assertEqual((self.known.by_id("x"), self.known.by_id(one.id)), (None, one))
        self.assertIsNone(self.now(self.known.change("x", {"name": "y"})))
        self.assertIsNone(self.now(self.known.rotate("x")))
        self.assertFalse(self.now(self.known.remove("x")))
        self.now(self.known.gone("x"))
        self.assertEqual(list(self.known), [one])

    def test_gone(self) -> None:
        """An address that is gone disables, once; with the next enabling, and only then, that is forgotten."""
        one = self.add()
        gone_at = self.clock.now()
        seen = []
        for changes in ({}, {"name": "m"}, {"enabled": True}, {"enabled": True}, {"enabled": False}, {}):
            if changes:
                self.now(self.known.change(one.id, changes))
            else:
                self.now(self.known.gone(one.id))
            after = self.known.by_id(one.id)
            assert after is not None
            seen.append((after.enabled, after.gone_at))
            self.reactor.advance(1)
        self.assertEqual(seen, [*[(False, gone_at)] * 2, *[(True, 0)] * 2, *[(False, 0)] * 2])

    def test_replaced(self) -> None:
        """For a day, to the millisecond, the secret before signs beside the new one."""
        one, secret = self.now(self.known.add("n", "https://x.example/", 0))
        self.assertEqual(self.known.secrets_of(one), [secret])
        until = self.clock.now() + 86_400_000
        rotated, new = self.now(self.known.rotate(one.id))
        self.assertEqual((rotated.old_until, self.known.by_id(one.id)), (until, rotated))
        self.later(86_400_000 - 1)
        self.assertEqual(self.known.secrets_of(rotated), [new, secret])
        self.later(1)
        self.assertEqual(self.known.secrets_of(rotated), [new])
        # A sealed secret serves no other subscriber.
        with self.assertRaises(SecretsError):
            self.known.secrets_of(replace(rotated, id="x"))

    def test_journal(self) -> None:
        """The journal says what was done to which subscriber, and how it was before and after."""
        one = self.add(events=("document.made",))
        self.add(name="other")
        self.now(self.known.change(one.id, {"name": "m", "url": "https://x.example/secret"}))
        self.now(self.known.rotate(one.id))
        self.now(self.known.gone(one.id))
        self.now(self.known.remove(one.id))
        rows = self.now(self.store.find_operations(OperationQuery(kinds=[CHANGE]))).operations
        records = sorted((row.n, record_of(row)) for row in rows)
        found = [(record.action.value, record.subject, record.id == one.id) for _, record in records]
        self.assertEqual(
            found,
            [
                *(("created", "n", True), ("created", "other", False), ("changed", "m", True)),
                *(("replaced", "m", True), ("changed", "m", True), ("deleted", "m", True)),
            ],
        )
        made, _, changed, replaced, gone, deleted = [(record.before, record.after) for _, record in records]
        whole = {"name": "n", "place": f"http://{HOST}:8080", "url": "changed", "enabled": True, "secret": "changed"}
        whole |= {"events": ["document.made"], "devices": [], "allow_local": HOST, "ca": "", "gone": False}
        self.assertEqual(made, ({}, whole))
        self.assertEqual(deleted[1], {})
        self.assertEqual((deleted[0]["name"], deleted[0]["gone"]), ("m", True))
        self.assertEqual((changed[0]["name"], changed[1]["name"], changed[1]["url"]), ("n", "m", "changed"))
        self.assertEqual((set(replaced[1]), gone[1]), ({"secret"}, {"enabled": False, "gone": True}))

    def test_other_service(self) -> None:
        """Changes of another service on the database are seen, told once, and never undone."""
        other = self.opened("b")
        mine = self.add()
        theirs = self.now(other.add("theirs", "https://x.example/", 0))[0]
        self.assertEqual(list(self.known), [mine])
        self.changes.clear()
        for _ in range(2):
            self.now(self.known.refresh())
        self.assertEqual((list(self.known), self.changes), ([mine, theirs], ["a"]))
        self.now(other.remove(theirs.id))
        self.now(self.known.change(mine.id, {"enabled": False}))
        self.assertEqual([one.name for one in self.known], ["n"])
        self.changes.clear()
        self.store.broken = True
        self.failureResultOf(Deferred.fromCoroutine(self.known.remove(mine.id)), StoreFailed)
        self.assertEqual(self.changes, ["a"])
