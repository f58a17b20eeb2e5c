"""Events on their way to subscribers: each of them, signed, in order, until it is taken or dead."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.devices.sharing import HOUSE
from dmtwisted.hooks import lanes, service, ways
from dmtwisted.hooks.cursors import Cursors
from dmtwisted.hooks.lanes import HOOK, Lane, Told
from dmtwisted.hooks.subscribers import Subscriber, Subscribers
from dmtwisted.messages.kinds import EventType
from dmtwisted.secrets import SecretsError
from dmtwisted.store.claims import Claim
from dmtwisted.store.values import CHANGE, DeadLetter, HookCursor, Letter, OperationQuery, StoreFailed
from tests.hook_desk import HOST, OK, SILENCE, HookShop, answer
from tests.store_contract import intent, outcome, paper

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
