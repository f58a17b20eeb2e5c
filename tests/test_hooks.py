"""Events on their way to subscribers: each of them, signed, in order, until it is taken or dead."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace
from twisted.internet.defer import Deferred, DeferredSemaphore
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.changes import record_of
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.devices.sharing import HOUSE
from dmtwisted.hooks import lanes, service, ways
from dmtwisted.hooks.cursors import Cursors
from dmtwisted.hooks.lanes import HOOK, Failed, Lane, Told
from dmtwisted.hooks.subscribers import Subscriber, Subscribers
from dmtwisted.messages.feed import LOOK_S, Feed
from dmtwisted.messages.kinds import DeviceName, EventType
from dmtwisted.outbox import pause_ms
from dmtwisted.secrets import Secrets, SecretsError
from dmtwisted.store.claims import Claim
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import CHANGE, DeadLetter, HookCursor, Letter, OperationQuery, StoreFailed
from tests.hook_desk import HOST, OK, SILENCE, URL, HookShop, answer
from tests.store_contract import AT, OTHER, TILL, intent, outcome, paper

DAY_S = 86_400.0


class HookCase(SynchronousTestCase):
    """A shop with an open shift and one subscriber."""

    def setUp(self) -> None:
        self.shop = HookShop(self)
        self.shop.open_shift()
        self.one, self.secret = self.shop.subscribe(events=("document.made",))
        self.receivers = self.shop.receivers

    def sell(self, *tags: str, device: str = "test") -> None:
        """Sell once for each tag."""
        for tag in tags:
            row = {"code": "1", "name": "x", "cnt": 1, "price": 5, "taxgrp": 1}
            receipt = {"sum": 5, "rows": [row], "pays": [{"type": 0, "sum": 5}]}
            self.assertEqual(self.shop.fiscal(1, tag, device, receipt=receipt)["res"], 0)

    def tags(self, host: str = HOST) -> list[str]:
        """The tags of the documents that came, in their order."""
        events = [one.event for one in self.receivers.of(host)]
        return [event["data"]["tag"] for event in events if event["type"] == "document.made"]

    def waiting(self) -> Any:
        """What waits for the subscriber."""
        return self.shop.core.hooks.waiting(self.one.id)

    def dead(self) -> list[Any]:
        """What the subscriber never took."""
        found: list[Any] = self.shop.wait(self.shop.core.hooks.dead(self.one.id))
        return found

    def other_service(self) -> Subscribers:
        """The subscribers as another service on the database has them."""
        core = self.shop.core
        known = Subscribers(self.shop.store, core.secrets, core.clock, frozenset(EventType))
        self.shop.wait(known.open())
        return known

    def needs(self, code: str) -> list[Any]:
        """What needs a person."""
        return [need for need in self.shop.wait(self.shop.core.needs.look()) if need.code == code]


class DeliveryTests(HookCase):
    """What goes well."""

    def test_signed(self) -> None:
        """A sale is posted as JSON with the three headers; the signature is that of its secret."""
        self.sell("a")
        self.shop.post()
        [got] = self.receivers.got
        self.assertEqual(got.event["type"], "document.made")
        self.assertEqual((got.event["id"], got.event["device"]["name"]), (got.id, "test"))
        self.assertEqual(got.headers["content-type"], "application/json")
        self.assertEqual(int(got.headers["webhook-timestamp"]), int(self.shop.clock.seconds()) - 2)
        self.assertTrue(got.signed_with(self.secret))

    def test_from_now_on(self) -> None:
        """A subscriber gets nothing that happened before it was added."""
        self.sell("a")
        self.shop.post()
        self.shop.subscribe("later", "http://later.example/")
        self.sell("b")
        self.shop.post()
        self.assertEqual((self.tags(), self.tags("later.example")), (["a", "b"], ["b"]))

    def test_wanted(self) -> None:
        """A subscriber gets the types and the devices that it wants."""
        self.shop.add("other")
        self.shop.open_shift("other")
        dev_id = self.shop.core.devices.by_name("other").row.dev_id
        self.shop.subscribe("closer", "http://closer.example/", events=("shift.opened",))
        self.shop.subscribe("otherer", "http://other.example/", devices=(dev_id,))
        self.sell("a")
        self.sell("b", device="other")
        self.shop.post()
        self.assertEqual(
            (self.tags(), self.tags("closer.example"), self.tags("other.example")), (["a", "b"], [], ["b"])
        )

    def test_goes_on(self) -> None:
        """After an end in order and a start it goes on where it was: nothing twice, nothing left out."""
        self.sell("a")
        self.shop.post()
        self.shop.stop()
        self.shop.crash()
        self.sell("b")
        self.shop.post()
        self.assertEqual(self.tags(), ["a", "b"])

    def test_kill(self) -> None:
        """After a kill between delivery and cursor the last event comes again with its id, and the order stays."""
        self.sell("a")
        self.shop.post()

        points: list[str] = []
        reached = self.patch(lanes, "reached", points.append)
        dying = self.patch(Cursors, "keep", lambda *_: Deferred())
        self.sell("b", "c")
        self.shop.post()
        self.assertEqual(self.tags(), ["a", "b"])
        self.assertEqual(points, ["hook.told"])
        dying.restore()
        reached.restore()
        self.shop.crash()
        self.shop.post()
        self.assertEqual(self.tags(), ["a", "b", "b", "c"])
        self.assertEqual(self.receivers.got[1].id, self.receivers.got[2].id)

    def test_paused(self) -> None:
        """One that was disabled for a while, also over a kill, goes on where it was."""
        self.sell("a")
        self.shop.post()
        for tag, kill in (("b", False), ("c", True)):
            self.shop.wait(self.shop.core.hooks.subscribers.change(self.one.id, {"enabled": False}))
            self.assertIsNone(self.waiting())
            self.sell(tag)
            self.shop.post()
            if kill:
                self.shop.crash()
                self.shop.post()
            self.shop.wait(self.shop.core.hooks.subscribers.change(self.one.id, {"enabled": True}))
            self.shop.post()
        self.assertEqual(self.tags(), ["a", "b", "c"])

    def test_late_start(self) -> None:
        """While the database does not say how far everybody is nobody gets anything; then it goes on there."""
        self.sell("a")
        self.shop.post()

        async def away() -> Any:
            raise StoreFailed("away")

        broken = self.patch(self.shop.store, "hook_cursors", away)
        self.shop.crash()
        self.sell("b")
        self.shop.post(9)
        self.assertEqual(self.tags(), ["a"])
        broken.restore()
        self.shop.post(6)
        self.assertEqual(self.tags(), ["a", "b"])

    def test_kill_meanwhile(self) -> None:
        """The first event of a device that was under way at a kill comes, however far the other devices were."""
        self.shop.add("other")
        self.shop.open_shift("other")
        self.shop.post()
        self.receivers.answers[HOST] = [SILENCE]
        self.sell("b", device="other")
        self.shop.post(1)
        self.sell("a")
        self.shop.post(1)
        self.shop.crash()
        self.shop.post()
        self.assertEqual(self.tags(), ["b", "a", "b"])

    def test_end(self) -> None:
        """An end in order waits for what is under way; afterwards nobody gets anything, however it is asked for."""
        hooks = self.shop.core.hooks
        self.receivers.answers[HOST] = [SILENCE]
        self.sell("a")
        self.shop.post(1)
        ending = Deferred.fromCoroutine(hooks.stop())
        self.shop.post(5)
        self.assertNoResult(ending)
        self.shop.post(5)
        self.successResultOf(ending)
        for enabled in (False, True):
            self.shop.wait(hooks.subscribers.change(self.one.id, {"enabled": enabled}))
        self.shop.post(60)
        self.assertEqual(self.tags(), ["a"])

    def test_given_up(self) -> None:
        """At a quick end nothing more goes out, and the database is asked for nothing any more."""
        asked: list[int] = []

        async def away(*_: Any) -> Any:
            asked.append(1)
            raise StoreFailed("away")

        self.receivers.answers[HOST] = [OK, answer(500)]
        self.shop.subscribe("slow", "http://slow.example/", events=("document.made",))
        self.receivers.always["slow.example"] = SILENCE
        self.patch(self.shop.store, "keep_cursors", away)
        self.sell("a")
        self.shop.post(1)
        self.shop.core.hooks.give_up()
        self.receivers.always.clear()
        before = len(asked)
        self.sell("b")
        self.shop.post(60)
        self.assertEqual((self.tags(), self.tags("slow.example"), len(asked) - before), (["a"], ["a"], 0))

    def test_test(self) -> None:
        """A test that is taken lets what waits be tried at once, another one does not; a disabled one gets it too."""
        hooks = self.shop.core.hooks
        self.receivers.answers[HOST] = [answer(500), answer(503, b"later"), OK]
        self.sell("a")
        self.shop.post(1)
        tested = self.shop.wait(hooks.test(self.one))
        self.assertEqual(tested, service.Tested(False, 503, "later", "the receiver answered 503"))
        self.shop.post(0.5)
        self.assertEqual(self.tags(), ["a"])
        self.assertEqual(self.shop.wait(hooks.test(self.one)), service.Tested(True, 204, "", ""))
        self.shop.post(0.5)
        self.assertEqual(self.tags(), ["a", "a"])
        disabled = self.shop.wait(hooks.subscribers.change(self.one.id, {"enabled": False}))
        self.assertTrue(self.shop.wait(hooks.test(disabled)).taken)

    def test_no_try(self) -> None:
        """What keeps a try from being made is the reason that a person sees."""
        for error, why in ((SecretsError("the key is missing"), "the key is missing"), (ValueError(), "ValueError")):

            def fail(one: Subscriber, error: Exception = error) -> list[str]:
                raise error

            broken = self.patch(self.shop.core.hooks.subscribers, "secrets_of", fail)
            tested = self.shop.wait(self.shop.core.hooks.test(self.one))
            self.assertEqual(tested, service.Tested(False, 0, "", why))
            broken.restore()
        # No such list is stored any more; an older version may have stored one.
        tested = self.shop.wait(self.shop.core.hooks.test(replace(self.one, allow_local="not a host!")))
        self.assertEqual(tested, service.Tested(False, 0, "", "host! is not a host name"))


class FailureTests(HookCase):
    """What goes wrong at the receiver."""

    def test_order(self) -> None:
        """A later event of a device waits for the earlier one; those of other devices do not."""
        self.shop.add("other")
        self.shop.open_shift("other")
        self.shop.post()
        self.receivers.got.clear()
        self.receivers.answers[HOST] = [answer(500)]
        self.sell("a", "b")
        self.shop.post(1)
        self.sell("c", device="other")
        self.shop.post(2)
        self.assertEqual(self.tags(), ["a", "c"])
        waiting = self.waiting()
        self.assertEqual((waiting.number, waiting.why), (2, "the receiver answered 500"))
        self.shop.post(5)
        self.assertEqual(self.tags(), ["a", "c", "a", "b"])
        self.assertEqual((self.waiting().number, self.waiting().why), (0, ""))

    def test_pauses(self) -> None:
        """The pauses between tries double from five seconds to four hours; a kill changes nothing of that."""
        self.receivers.always[HOST] = answer(500)
        self.sell("a")
        began, came = self.shop.clock.seconds(), []
        for number in range(14):
            count = len(self.receivers.got)
            # Most of the shortest pause in one step.
            idle = 0.8 * min(5 * 2 ** (number - 1), 4 * 3600) - 10 if number else 0
            if idle > 10:
                self.shop.post(idle, idle)
                self.assertEqual(len(self.receivers.got), count)
            for _ in range(2000):
                self.shop.post(10, 10)
                if len(self.receivers.got) > count:
                    break
            came.append(self.shop.clock.seconds())
            self.shop.crash()
        pauses = [later - earlier for earlier, later in pairwise(came)]
        for number, pause in enumerate(pauses):
            whole = min(5 * 2**number, 4 * 3600)
            self.assertTrue(0.8 * whole - 10 <= pause <= whole + 20, (number, pause))
        self.assertLess(came[0] - began, 15)

    def test_idle_pause(self) -> None:
        """While a receiver that takes nothing is not tried, what is sold costs no work for it."""
        self.receivers.always[HOST] = answer(500)
        self.patch(ways, "MOST_HELD", 1)
        self.sell("a", "b", "c")
        self.shop.post(12)
        tried = len(self.receivers.got)
        worked = []
        whole = Lane._work

        async def counted(lane: Lane) -> None:
            worked.append(lane)
            await whole(lane)

        self.patch(Lane, "_work", counted)
        self.sell("d", "e")
        self.shop.post(1)
        self.assertEqual((worked, len(self.receivers.got)), ([], tried))
        self.receivers.always.clear()
        self.shop.post(60)
        self.assertEqual(list(dict.fromkeys(self.tags())), ["a", "b", "c", "d", "e"])

    def test_retry_after(self) -> None:
        """A receiver that asks for a pause gets one, for all devices."""
        self.shop.add("other")
        self.shop.open_shift("other")
        self.shop.post()
        self.receivers.got.clear()
        self.receivers.answers[HOST] = [answer(429, b"", "Retry-After: 100")]
        self.sell("a")
        self.shop.post()
        self.sell("b", device="other")
        self.shop.post(95)
        self.assertEqual(self.tags(), ["a"])
        self.shop.post(10)
        self.assertEqual(sorted(self.tags()), ["a", "a", "b"])

    def test_silent(self) -> None:
        """A receiver that does not answer within ten seconds has not taken the event."""
        self.receivers.answers[HOST] = [SILENCE]
        self.sell("a")
        self.shop.post(9)
        self.assertEqual(self.waiting().why, "")
        self.shop.post(2)
        self.assertIn("10", self.waiting().why)
        self.shop.post(6)
        self.assertEqual(self.tags(), ["a", "a"])

    def test_not_taken(self) -> None:
        """Only 2xx counts: redirects are not followed, and what breaks off before its status is tried again."""
        self.receivers.answers[HOST] = [
            answer(302, b"", "Location: http://elsewhere.example/"),
            b"",
            answer(200, b"x" * 9000),
        ]
        self.sell("a")
        self.shop.post()
        self.assertIn("redirects are not followed", self.waiting().why)
        self.shop.post(30)
        self.assertEqual(self.tags(), ["a", "a", "a"])
        self.assertEqual((len(self.receivers.got), self.waiting().number), (3, 0))

    def test_gone(self) -> None:
        """410 disables the subscriber; enabled again, it gets what it has missed."""
        self.receivers.answers[HOST] = [answer(410)]
        self.sell("a", "b")
        self.shop.post()
        one = self.shop.core.hooks.subscribers.by_id(self.one.id)
        assert one is not None
        self.assertEqual((one.enabled, self.tags()), (False, ["a"]))
        self.assertGreater(one.gone_at, 0)
        [need] = [need for need in self.shop.wait(self.shop.core.needs.look()) if need.code == "webhook_gone"]
        self.assertIn("accounts", need.text.en)
        self.shop.post(DAY_S, 600)
        self.assertEqual(self.tags(), ["a"])
        self.shop.wait(self.shop.core.hooks.subscribers.change(self.one.id, {"enabled": True}))
        self.shop.post()
        self.assertEqual(self.tags(), ["a", "a", "b"])
        self.assertEqual(
            [need for need in self.shop.wait(self.shop.core.needs.look()) if need.code == "webhook_gone"], []
        )

    def test_removed(self) -> None:
        """A removed subscriber gets nothing more, not even a try that was waiting or under way."""
        self.receivers.answers[HOST] = [answer(500)]
        self.sell("a")
        self.shop.post(1)
        self.receivers.always[HOST] = SILENCE
        self.shop.post(5)
        before = len(self.receivers.got)
        self.assertTrue(self.shop.wait(self.shop.core.hooks.remove(self.one.id)))
        self.sell("b")
        self.shop.post(DAY_S, 600)
        self.shop.crash()
        self.shop.post(60)
        self.assertEqual(len(self.receivers.got), before)
        self.assertEqual(self.shop.wait(self.shop.store.hook_cursors()), [])

    def test_removed_meanwhile(self) -> None:
        """Nothing is left of a removed subscriber, not even what was being stored when it was removed."""
        stored, whole = Deferred[None](), self.shop.store.keep_cursors

        async def keep(*arguments: Any) -> Any:
            await stored
            return await whole(*arguments)

        self.patch(self.shop.store, "keep_cursors", keep)
        self.sell("a")
        self.shop.post()
        removing = Deferred.fromCoroutine(self.shop.core.hooks.remove(self.one.id))
        self.assertNoResult(removing)
        stored.callback(None)
        self.assertTrue(self.successResultOf(removing))
        self.assertEqual(self.shop.wait(self.shop.store.hook_cursors()), [])

    def test_dead(self) -> None:
        """What is not taken for three days is dead, the next one follows; dead ones can be sent again and removed."""
        self.receivers.always[HOST] = answer(500)
        self.sell("a")
        self.shop.post(2.9 * DAY_S, 900)
        self.assertEqual(self.dead(), [])
        self.sell("b")
        self.shop.post(0.5 * DAY_S, 900)
        [dead] = self.dead()
        self.assertEqual(
            (dead.told.type, dead.why, self.waiting().number), ("document.made", "the receiver answered 500", 1)
        )
        self.assertEqual(dead.told.body, self.receivers.got[0].body)
        [need] = [need for need in self.shop.wait(self.shop.core.needs.look()) if need.code == "webhooks"]
        self.assertIn("1", need.text.en)
        # Still nobody takes it: it is dead again.
        self.assertTrue(self.shop.wait(self.shop.core.hooks.again(self.one.id)))
        self.shop.post()
        self.assertEqual([one.waits for one in self.dead()], [False])
        self.receivers.always[HOST] = OK
        self.receivers.got.clear()
        self.shop.wait(self.shop.core.hooks.again(self.one.id, dead.n))
        self.shop.post()
        self.assertEqual((self.tags(), self.dead()), (["a"], []))
        self.shop.post(5 * 3600, 60)
        self.assertEqual(self.tags(), ["a", "b"])
        self.assertFalse(self.shop.wait(self.shop.core.hooks.drop(self.one.id, dead.n)))

    def test_holiday(self) -> None:
        """A service that was off for a week tries what is old as often as what is new."""
        self.receivers.always[HOST] = answer(500)
        self.sell("a")
        self.shop.post()
        self.shop.stop()
        self.shop.clock.advance(7 * DAY_S)
        self.shop.crash()
        self.shop.post(60)
        self.assertEqual(self.dead(), [])
        self.receivers.always[HOST] = OK
        self.shop.post(300)
        self.assertEqual(self.waiting().number, 0)

    def test_bounded(self) -> None:
        """With twenty silent subscribers at most eight requests wait at once, two of each; another one is served."""
        for n in range(20):
            host = f"slow{n}.example"
            self.receivers.always[host] = SILENCE
            self.shop.subscribe(f"slow {n}", f"http://{host}/")
        for name in "bcd":
            self.shop.add(name)
            self.shop.open_shift(name)
        self.sell("a")
        self.shop.post(8)
        self.shop.post(120, 1)
        self.assertEqual(self.tags(), ["a"])
        self.assertEqual(self.receivers.most, 8)

    def test_long_backlog(self) -> None:
        """A backlog longer than what a lane holds comes whole and in order."""
        self.receivers.always[HOST] = answer(500)
        tags = [f"t{n}" for n in range(130)]
        self.sell(*tags)
        self.shop.post()
        self.assertEqual((self.waiting().number, self.waiting().more), (50, True))
        self.receivers.got.clear()
        self.receivers.always[HOST] = OK
        self.shop.post(60)
        self.assertEqual(self.tags(), tags)

    def test_held_together(self) -> None:
        """The more devices wait for a subscriber that is away, the fewer events each holds; all come in order."""
        self.patch(ways, "MOST_HELD", 4)
        self.receivers.always[HOST] = answer(500)
        for name in "bc":
            self.shop.add(name)
            self.shop.open_shift(name)
        for n in range(3):
            for device in ("test", "b", "c"):
                self.sell(f"{device}{n}", device=device)
        self.shop.post()
        self.assertEqual((self.waiting().number, self.waiting().more), (3, True))
        self.receivers.got.clear()
        self.receivers.always[HOST] = OK
        self.shop.post(60)
        for device in ("test", "b", "c"):
            self.assertEqual(
                [tag for tag in self.tags() if tag.startswith(device)], [f"{device}{n}" for n in range(3)]
            )

    def test_fault(self) -> None:
        """A fault while it is looked whether another service has stopped delays the events, and no more."""
        faults = [StoreFailed("away"), RuntimeError("a mistake")]

        async def own_house() -> bool:
            if faults:
                raise faults.pop()
            return False

        self.patch(self.shop.core.devices.sharing, "own_house", own_house)
        self.sell("a")
        self.shop.post()
        self.sell("b")
        self.shop.post(30)
        self.assertEqual((self.tags(), len(self.flushLoggedErrors(RuntimeError))), (["a", "b"], 1))

    def test_store_away(self) -> None:
        """While the database does not take the cursor, nothing further goes out; then it goes on, nothing twice."""
        self.sell("a")
        self.shop.store.broken = True
        self.shop.post()
        self.shop.store.broken = False
        self.shop.post(10)
        self.sell("b")
        self.shop.post()
        self.assertEqual(self.tags(), ["a", "b"])


class LeftTests(HookCase):
    """What was never taken, of several subscribers, more than is read at a time."""

    def setUp(self) -> None:
        """Five letters of one subscriber behind five of another one."""
        super().setUp()
        self.patch(service, "MOST", 2)
        self.other, _ = self.shop.subscribe("other", "http://other.example/", events=("document.made",))
        self.left(self.one.id, 5)
        self.left(self.other.id, 5)

    def left(self, id: str, count: int, at: int = 0) -> None:
        """Events that this subscriber never took."""
        at = at or self.shop.core.clock.now()
        for n in range(count):
            body = msgspec.json.encode({"id": f"{n}", "data": {"tag": f"{n}"}, "type": "document.made"})
            told = Told(id, f"{n}", "document.made", at, body)
            letter = DeadLetter(Letter(HOOK, 1, at, msgspec.json.encode(told)), "500")
            self.shop.wait(self.shop.store.keep_cursors([HookCursor(id, 1, 0)], [letter]))

    def defer(self, n: int) -> None:
        """Let a letter wait for an hour."""
        self.shop.wait(self.shop.store.put_letter(n, self.shop.core.clock.now() + 3_600_000, False, "500"))

    def kept(self) -> dict[str, int]:
        """How many letters each subscriber has."""
        found: dict[str, int] = {}
        for dead in (False, True):
            for row in self.shop.wait(self.shop.store.find_letters([HOOK], dead, 100, 0)):
                id = msgspec.json.decode(row.payload, type=Told).subscriber
                found[id] = found.get(id, 0) + 1
        return found

    def cursors(self) -> set[str]:
        """Whose cursors are kept."""
        return {one.subscriber for one in self.shop.wait(self.shop.store.hook_cursors())}

    def test_removed(self) -> None:
        """With a subscriber all goes that it never took, however much that is; the others keep theirs."""
        self.defer(self.shop.wait(self.shop.core.hooks.dead(self.other.id))[0].n)
        self.assertTrue(self.shop.wait(self.shop.core.hooks.remove(self.other.id)))
        self.assertEqual(self.kept(), {self.one.id: 5})
        self.assertEqual(self.cursors(), {self.one.id})

    def test_behind(self) -> None:
        """What another one never took hides nothing: it is listed, and all of it is sent again."""
        self.assertEqual(
            [dead.told.id for dead in self.shop.wait(self.shop.core.hooks.dead(self.other.id))], ["0", "1"]
        )
        self.assertTrue(self.shop.wait(self.shop.core.hooks.again(self.other.id)))
        self.shop.post()
        self.assertEqual(self.tags("other.example"), ["0", "1", "2", "3", "4"])
        self.assertEqual(self.kept(), {self.one.id: 5})

    def test_asked(self) -> None:
        """What a person asks for is sent again or removed, of that subscriber only; the answer says whether it is."""
        hooks = self.shop.core.hooks
        [mine, *_], [first, second] = (self.shop.wait(hooks.dead(one.id)) for one in (self.one, self.other))
        for id, n in ((self.other.id, mine.n), ("nobody", first.n), ("nobody", None)):
            self.assertFalse(self.shop.wait(hooks.again(id, n)))
        for id, n in ((self.other.id, mine.n), ("nobody", first.n)):
            self.assertFalse(self.shop.wait(hooks.drop(id, n)))
        self.shop.post()
        self.assertEqual((self.receivers.got, self.kept()), ([], {self.one.id: 5, self.other.id: 5}))
        self.defer(second.n)
        waits = [(dead.n, dead.waits) for dead in self.shop.wait(hooks.dead(self.other.id))]
        self.assertEqual(waits, [(second.n, True), (first.n, False)])
        self.assertTrue(self.shop.wait(hooks.drop(self.other.id, first.n)))
        self.assertTrue(self.shop.wait(hooks.again(self.other.id, second.n)))
        self.shop.post()
        self.assertEqual((self.tags("other.example"), self.tags()), (["1"], []))
        self.assertEqual(self.kept(), {self.one.id: 5, self.other.id: 3})
        self.assertFalse(self.shop.wait(hooks.remove("nobody")))
        self.assertEqual(self.kept(), {self.one.id: 5, self.other.id: 3})

    def test_still_away(self) -> None:
        """One dead letter finds out that nobody takes it, for all of them; the next request tries again at once."""
        hooks = self.shop.core.hooks
        self.receivers.always["other.example"] = answer(500)
        self.shop.wait(hooks.again(self.other.id))
        self.shop.wait(hooks.again(self.one.id))
        self.shop.post()
        self.assertEqual((self.tags("other.example"), self.tags()), (["0"], ["0", "1", "2", "3", "4"]))
        self.assertEqual(
            [(dead.waits, dead.why) for dead in self.shop.wait(hooks.dead(self.other.id))],
            [(False, "the receiver answered 500"), (False, "500")],
        )
        self.receivers.always.clear()
        self.receivers.got.clear()
        self.shop.wait(hooks.again(self.other.id))
        self.shop.post()
        self.assertEqual(self.tags("other.example"), ["0", "1", "2", "3", "4"])

    def test_not_there(self) -> None:
        """What was never taken is not sent to one that is disabled or removed, however it is asked for."""
        hooks = self.shop.core.hooks
        self.shop.wait(hooks.subscribers.change(self.other.id, {"enabled": False}))
        self.left("nobody", 1)
        for id in (self.other.id, "nobody"):
            self.assertTrue(self.shop.wait(hooks.again(id)))
            self.shop.post()
            dead = self.shop.wait(hooks.dead(id))
            self.assertEqual({(one.waits, one.why) for one in dead}, {(False, "the subscriber is disabled")})
        self.assertEqual(self.receivers.got, [])

    def test_old(self) -> None:
        """Dead letters are kept as long as receipts, to the millisecond; what is left of nobody goes at once."""
        packdays = self.shop.core.settings.now.packdays
        before = self.shop.core.clock.now() - packdays * 86_400_000
        self.left(self.one.id, 1, at=before)
        self.left(self.one.id, 2, at=before - 1)
        self.left("nobody", 1)
        new, _ = self.shop.wait(self.other_service().add("new", "https://new.example/", 0))
        self.left(new.id, 1)
        self.shop.wait(self.shop.core.hooks.forget_old())
        self.assertEqual(self.kept(), {self.one.id: 6, self.other.id: 5, new.id: 1})
        self.assertEqual(self.cursors(), {self.one.id, self.other.id, new.id})

    def test_broken_off(self) -> None:
        """What is left of a removal that was broken off goes with what is too old."""
        broken = self.patch(self.shop.store, "drop_cursors", self.away)
        self.shop.wait(self.assertFailing(self.shop.core.hooks.remove(self.other.id)))
        broken.restore()
        self.left(self.one.id, 3, at=1)
        self.shop.wait(self.shop.core.hooks.forget_old())
        self.assertEqual((self.kept(), self.cursors()), ({self.one.id: 5}, {self.one.id}))

    async def away(self, *_: Any) -> Any:
        """A verb of a store that is away."""
        raise StoreFailed("away")

    async def assertFailing(self, asked: Any) -> None:
        """See that it fails."""
        try:
            await asked
        except StoreFailed:
            return
        self.fail("it did not fail")


class SharedTests(HookCase):
    """Several services on the database, of which this is one."""

    def setUp(self) -> None:
        """This one has everything."""
        super().setUp()
        self.sharing = self.shop.core.devices.sharing
        self.here = {HOUSE, *(device.row.n for device in self.shop.core.devices)}
        self.claims = HeldClaims(set(self.here))
        self.patch(self.sharing, "_claims", self.claims)

    def test_lost_for_a_moment(self) -> None:
        """What is stored while a lost session comes back, device by device, is told: nothing is read over."""
        self.sell("a")
        self.shop.post()
        self.claims.held = {HOUSE}
        self.sell("b")
        self.shop.post()
        self.claims.held = set(self.here)
        self.shop.post()
        self.sell("c")
        self.shop.post(5)
        self.assertEqual(self.tags(), ["a", "b", "c"])

    def test_nothing_ours(self) -> None:
        """A service without any device tells nothing, and begins soon after it has one."""
        self.claims.held = set()
        self.sell("a", "b")
        self.shop.post(70)
        self.assertEqual(self.tags(), [])
        self.claims.held = set(self.here)
        self.shop.post(5)
        self.assertEqual(self.tags(), ["a", "b"])

    def test_resumed(self) -> None:
        """A device that is claimed late at a start is not left waiting for somebody's next event."""
        self.claims.held = {HOUSE}
        self.sell("a")
        self.shop.post()
        self.assertEqual(self.tags(), [])
        self.claims.held = set(self.here)
        device_n = self.shop.core.devices.by_name("test").row.n
        self.assertTrue(self.shop.wait(self.sharing.resume(device_n)))
        self.shop.post()
        self.assertEqual(self.tags(), ["a"])

    def last(self) -> int:
        """The place of the newest event."""
        place: int = self.shop.wait(self.shop.store.last_event()).n
        return place

    def test_taken_over(self) -> None:
        """A device that another service had goes on where that one has stopped, to where the subscriber is now."""
        device = self.shop.core.devices.by_name("test").row
        self.sell("a")
        self.shop.post()
        self.claims.held = {HOUSE}
        self.sell("b")
        told = self.last()
        self.sell("c")
        self.shop.wait(self.shop.store.keep_cursors([HookCursor(self.one.id, device.n, told)], []))
        moved = {"url": "http://new.example/", "allow_local": "new.example"}
        self.shop.wait(self.other_service().change(self.one.id, moved))
        self.claims.taken = {device.n}
        self.shop.wait(self.sharing.own(device.n, device.dev_id))
        self.shop.post()
        self.assertEqual((self.tags(), self.tags("new.example")), (["a"], ["c"]))

    def test_taken_over_paused(self) -> None:
        """The same for a subscriber that is disabled meanwhile."""
        device = self.shop.core.devices.by_name("test").row
        self.sell("a")
        self.shop.post()
        self.shop.wait(self.shop.core.hooks.subscribers.change(self.one.id, {"enabled": False}))
        self.sell("b")
        self.shop.wait(self.shop.store.keep_cursors([HookCursor(self.one.id, device.n, self.last())], []))
        self.sell("c")
        self.claims.taken = {device.n}
        self.shop.wait(self.sharing.own(device.n, device.dev_id))
        self.shop.wait(self.shop.core.hooks.subscribers.change(self.one.id, {"enabled": True}))
        self.shop.post()
        self.assertEqual(self.tags(), ["a", "c"])

    def test_house(self) -> None:
        """The events of no device, and of deleted ones, are told by one service; another goes on when that stops."""
        self.shop.subscribe("all", "http://all.example/", events=("settings.changed", "document.made"))
        self.shop.add("other")
        self.claims.held |= {device.row.n for device in self.shop.core.devices}
        self.shop.post()
        self.receivers.got.clear()
        self.claims.held.remove(HOUSE)
        self.sell("a")
        self.shop.wait(self.shop.core.devices.remove(self.shop.core.devices.by_name("test").row.dev_id))
        # Of a device that only the other service has had.
        n = self.shop.wait(self.shop.store.reserve(intent(99, "b", paper(1)))).n
        self.shop.wait(self.shop.store.conclude(outcome(n, device_n=99, fiscal_numbers={1: "F-1"})))
        self.shop.wait(self.shop.core.hooks.subscribers.change(self.one.id, {"name": "books"}))
        self.shop.post()
        self.assertEqual(self.receivers.of("all.example"), [])
        self.claims.taken = {HOUSE}
        self.shop.post(70, 1)
        events = [one.event for one in self.receivers.of("all.example")]
        self.assertEqual(
            sorted((event["type"], event["data"].get("subject", "")) for event in events),
            [*[("document.made", "")] * 2, ("settings.changed", "books"), ("settings.changed", "test")],
        )

    def test_deleted(self) -> None:
        """What waits of a device is told also when the device is deleted meanwhile."""
        self.receivers.answers[HOST] = [answer(500)]
        self.sell("a")
        self.shop.post(1)
        self.shop.wait(self.shop.core.devices.remove(self.shop.core.devices.by_name("test").row.dev_id))
        self.shop.post(10)
        self.assertEqual(self.tags(), ["a", "a"])

    def test_added_elsewhere(self) -> None:
        """A subscriber that another service adds gets its events from this one too, a minute later at most."""
        vars(self.shop.store)["claims"] = self.claims
        self.shop.crash()
        asked = self.other_service().add("new", "http://new.example/", self.last(), allow_local="new.example")
        self.shop.wait(asked)
        self.sell("a")
        self.shop.post(50, 1)
        self.assertEqual(self.tags("new.example"), [])
        self.shop.post(15, 1)
        self.assertEqual((self.tags("new.example"), self.tags()), (["a"], ["a"]))
        hooks = self.shop.core.hooks
        self.shop.wait(hooks.stop())
        late, _ = self.shop.wait(self.other_service().add("late", "https://late.example/", 0))
        self.shop.post(70, 1)
        self.assertIsNone(hooks.subscribers.by_id(late.id))


class HeldClaims:
    """Claims of which the test says what is held, and what another service had before."""

    def __init__(self, held: set[int]) -> None:
        self.held = held
        self.taken: set[int] = set()

    def holds(self, device_n: int) -> bool:
        """Whether the device is ours."""
        return device_n in self.held

    async def claim(self, device_n: int) -> Claim:
        """Ours, or not."""
        if device_n in self.taken:
            return Claim.TAKEN
        return Claim.OURS if device_n in self.held else Claim.ELSEWHERE

    def renewed(self, device_n: int) -> None:
        """It is ours from now on."""
        self.taken.discard(device_n)
        self.held.add(device_n)

    async def resume(self, device_n: int) -> bool:
        """The same at a start."""
        return device_n in self.held


class SecretTests(HookCase):
    """Secrets."""

    def test_rotation(self) -> None:
        """For a day after a rotation both secrets sign, then the new one alone."""
        rotated = self.shop.wait(self.shop.core.hooks.subscribers.rotate(self.one.id))
        assert rotated is not None
        self.assertNotEqual(rotated[1], self.secret)
        self.sell("a")
        self.shop.post()
        self.assertTrue(all(self.receivers.got[-1].signed_with(each) for each in (self.secret, rotated[1])))
        self.shop.clock.advance(DAY_S)
        self.sell("b")
        self.shop.post()
        signed = [self.receivers.got[-1].signed_with(each) for each in (self.secret, rotated[1])]
        self.assertEqual(
            (signed, len(self.receivers.got[-1].headers["webhook-signature"].split())), ([False, True], 1)
        )

    def test_sealed(self) -> None:
        """The store has no secret in clear, nor has the journal of changes."""
        kept = self.shop.wait(self.shop.store.settings())["subscribers"]
        self.assertNotIn(self.secret[6:30].encode(), kept)
        found = self.shop.wait(self.shop.store.find_operations(OperationQuery(kinds=[CHANGE]))).operations
        rows = b"".join(row.request for row in found)
        self.assertIn(b"accounts.example", rows)
        for hidden in (self.secret[6:30].encode(), b"8080/events"):
            self.assertNotIn(hidden, rows)


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
