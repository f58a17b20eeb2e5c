"""Messages out: what programs learn of every outcome, in which words, in order, and after which interruptions."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.messages import feed as feeding
from dmtwisted.messages.bodies import iso, message_of
from dmtwisted.messages.feed import LOOK_S, Feed
from dmtwisted.messages.kinds import DeviceName
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import EVENT, Change, EventRow, State, StoreFailed
from dmtwisted.terminals.interface import Task
from tests.store_contract import AT, OTHER, TILL, intent, outcome, paper, row
from tests.test_events import Stream
from tests.web_case import WebCase
from web.events import DEAD_AFTER, HEARTBEAT
from web.site import Door

STORED = "/dm/api/v3/events/stored"
STREAM = "/dm/api/v3/events?stored=1"


def event(kind: str, task: int, state: State = State.DONE, request: bytes = b"{}", **changes: Any) -> EventRow:
    """An event of an operation of `TILL`."""
    operation = row(7, intent(TILL, "tag", kind=kind, task=task), state)
    return EventRow(3, TILL, bytes(range(32)), state, True, replace(operation, request=request, **changes))


def name(n: int) -> DeviceName:
    """The name of a device."""
    return DeviceName("id", "test", "register")


class BodyTests(SynchronousTestCase):
    """Bodies from rows."""

    def body(self, row: EventRow) -> Any:
        """The body of an event."""
        made = message_of(row, name)
        assert made is not None
        body = json.loads(made.body)
        self.assertEqual((body["id"], body["type"]), (made.id, made.type))
        return body

    def pay(self, task: int, state: State = State.DONE, **verdict: Any) -> Any:
        """The body of a payment's event."""
        record = {"order": {"task": task, "uid": "u"}, "caller": {"label": "T-1"}, "snapshot": "AAE="}
        stored = {"type": "approved", **verdict} if verdict else None
        return self.body(event("pay", task, state, json.dumps({**record, "verdict": stored}).encode()))

    def test_envelope(self) -> None:
        """Every event has an id of its place and its seal, a type, a moment in UTC and a device."""
        body = self.body(event("fiscal", 1))
        self.assertEqual(
            {member: body[member] for member in ("id", "type", "timestamp", "device")},
            {
                "id": "3-00010203",
                "type": "document.made",
                "timestamp": "2026-09-21T06:00:01.000Z",
                "device": {"id": "id", "name": "test", "kind": "register"},
            },
        )

    def test_terminal(self) -> None:
        """A task of a terminal says what became of money; a card that was only read moved none."""
        for task, verdict, kind in (
            (Task.PAYMENT, {"sum": 1995, "rrn": "1"}, "payment.made"),
            (Task.READ_CARD, {"sum": 1995}, "terminal.done"),
            (Task.READ_CARD, {"sum": 1995, "rrn": "1"}, "payment.made"),
            (Task.CANCEL, {"sum": 1995}, "payment.refunded"),
            (Task.REFUND, {"sum": 1995}, "payment.refunded"),
            (Task.SETTLEMENT, {"sum": 0}, "terminal.settled"),
            (Task.TOTALS, {"sum": 0}, "terminal.done"),
        ):
            self.assertEqual(self.pay(task, **verdict)["type"], kind, task)
        self.assertEqual(self.pay(Task.PAYMENT, State.REFUSED)["type"], "payment.refused")
        self.assertEqual(self.pay(Task.PAYMENT, State.UNKNOWN)["type"], "payment.unknown")

    def test_every_task_with_money(self) -> None:
        """Each task that charges a card is told as a payment, each that gives money back as a refund."""
        charging = {Task.PAYMENT, Task.TRANSFER, Task.FINISH, Task.CASH_ISSUE, Task.INSTALMENTS}
        giving_back = {Task.REFUND, Task.CANCEL, Task.INSTALMENTS_REFUND}
        for task in range(1, 30):
            made = self.pay(task, sum=1995)["type"]
            self.assertEqual(made == "payment.made", task in charging, task)
            self.assertEqual(made == "payment.refunded", task in giving_back, task)

    def test_without_verdict(self) -> None:
        """Without a verdict of the terminal no sum is told; the result code of a refusal is."""
        data = self.body(event("pay", 1, State.REFUSED, self.record(), res=5014))["data"]
        self.assertEqual((data.get("sum", 0), data["res"]), (0, 5014))

    def test_later_outcome(self) -> None:
        """A payment that has another outcome by now tells neither its sum nor its code."""
        for now in ({"last": False}, {"state": State.UNKNOWN}):
            late = replace(event("pay", 1, State.DONE, self.record(sum=1995, rrn="1"), res=7), **now)
            data = self.body(late)["data"]
            self.assertEqual((data.get("sum", 0), data.get("rrn", ""), data["res"]), (0, "", 0), now)
            self.assertIs(data["superseded"], True)

    def record(self, **verdict: Any) -> bytes:
        """A payment in the journal."""
        record = {"order": {"task": 1, "uid": "u"}, "caller": {"label": "T-1"}, "snapshot": "AAE="}
        return json.dumps({**record, "verdict": {"type": "approved", **verdict} if verdict else None}).encode()

    def test_batch(self) -> None:
        """A batch tells its payment; it is over, or waits for a person."""
        for state, kind in (
            (State.DONE, "batch.ended"),
            (State.REFUSED, "batch.ended"),
            (State.UNKNOWN, "batch.unknown"),
        ):
            made = self.body(event("pkg", 1, state, b'{"label": "L-1"}'))
            self.assertEqual(
                (made["type"], made["data"]["transaction_id"], made["data"]["tag"]), (kind, "L-1", "tag")
            )

    def test_paper(self) -> None:
        """A job of a printer tells its document and why it failed, unless it has another outcome by now."""
        request = b'{"paper": "F-1", "reason": "cover_open"}'
        for state, kind in (
            (State.DONE, "paper.printed"),
            (State.REFUSED, "paper.failed"),
            (State.UNKNOWN, "paper.unknown"),
        ):
            row = event("doc", 0, state, request)
            made = self.body(row)
            self.assertEqual((made["type"], made["data"]["job"], made["data"]["document"]), (kind, 7, "F-1"))
            self.assertEqual(made["data"]["reason"], "cover_open")
            self.assertNotIn("reason", self.body(replace(row, last=False))["data"])

    def test_card(self) -> None:
        """A payment has what the bank named, and the card only masked."""
        data = self.pay(1, sum=1995, rrn="0042", cardmask="4111111111111111", auth_code="A1", slip="SLIP")["data"]
        self.assertEqual(
            (data["sum"], data["rrn"], data["auth_code"], data["transaction_id"]), (19.95, "0042", "A1", "T-1")
        )
        self.assertNotIn("4111111111111111", json.dumps(data))
        self.assertNotIn("SLIP", json.dumps(data))

    def test_superseded(self) -> None:
        """An outcome that another one replaced keeps its type, and says nothing that is the other one's."""
        late = replace(event("fiscal", 1, State.REFUSED), last=False)
        late = replace(late, operation=replace(late.operation, state=State.DONE, res=0, answer=b"{}"))
        body = self.body(late)
        self.assertEqual((body["type"], body["data"]["superseded"]), ("document.refused", True))
        self.assertNotIn("superseded", self.body(event("fiscal", 1))["data"])

    def test_own_keys(self) -> None:
        """A key of the service's own is no tag."""
        self.assertEqual(self.body(event("untagged", 5))["data"]["tag"], "")
        self.assertEqual(self.body(event("fiscal", 1))["data"]["tag"], "tag")

    def test_changes(self) -> None:
        """A change is told when it is over, once, without address."""
        record = {
            "by": "login",
            "action": "changed",
            "name": "anna",
            "address": "10.0.0.7",
            "after": {"packdays": 50},
        }
        made = self.body(event("change", 0, request=json.dumps(record).encode()))
        self.assertEqual((made["type"], made["data"]["after"]), ("settings.changed", {"packdays": 50}))
        self.assertNotIn("10.0.0.7", json.dumps(made))
        begun = event("change", 0, request=json.dumps({**record, "outcome": "begun"}).encode())
        self.assertIs(message_of(begun, name), None)
        self.assertIs(message_of(replace(begun, last=False), name), None)

    def test_unreadable(self) -> None:
        """What cannot be read, or is of a later version, is left out; nothing fails."""
        for bad in (event("pay", 1, request=b"{"), event(EVENT, 0), event("later", 0)):
            self.assertIs(message_of(bad, name), None)

    def test_iso(self) -> None:
        """Milliseconds stay."""
        self.assertEqual(iso(AT + 7), "2026-09-21T06:00:00.007Z")


class FeedTests(SynchronousTestCase):
    """Readers of the store."""

    def setUp(self) -> None:
        """A feed over a store with three receipts."""
        self.clock = Clock()
        self.store = MemoryStore()
        self.now(self.store.open())
        self.feed = Feed(self.store, self.clock, name)
        for number in (1, 2, 3):
            self.sell(number)

    def now(self, asked: Any) -> Any:
        """What comes at once."""
        return self.successResultOf(Deferred.fromCoroutine(asked))

    def sell(self, number: int, device_n: int = TILL) -> None:
        """A receipt."""
        n = self.now(self.store.reserve(intent(device_n, f"tag {number}", paper(number)))).n
        self.now(self.store.conclude(outcome(n, device_n=device_n, fiscal_numbers={number: f"F-{number}"})))

    def tags(self, after: int, *devices: int) -> list[str]:
        """The tags of the next messages."""
        return [
            json.loads(message.body)["data"]["tag"] for message in self.now(self.feed.read(after, 100, devices))[0]
        ]

    def test_near(self) -> None:
        """Readers that wait are woken by what comes, and read it from memory, the same as from the store."""
        waiting = [Deferred.fromCoroutine(self.feed.more(3, 60.0)) for _ in range(2)]
        self.clock.advance(0)
        self.sell(4, OTHER)
        self.sell(5)
        third = Deferred.fromCoroutine(self.feed.more(3, 60.0))
        stored = (self.tags(3), self.tags(3, TILL), self.tags(4), self.tags(0))
        found: list[Any] = []
        waiting[0].addCallback(
            lambda more: found.append((more, self.tags(3), self.tags(3, TILL), self.tags(4), self.tags(0)))
        )
        asked = self.patched_reads()
        self.clock.advance(LOOK_S)
        self.assertEqual(found, [(True, *stored)])
        # One look for all, and one reader that was behind what is kept.
        self.assertEqual(asked, [3, 0])
        self.assertTrue(self.successResultOf(waiting[1]) and self.successResultOf(third))

    def patched_reads(self) -> list[int]:
        """The places from which the store is read from now on."""
        asked: list[int] = []
        whole = self.store.events

        async def events(after: int, limit: int, devices: list[int]) -> Any:
            asked.append(after)
            return await whole(after, limit, devices)

        self.patch(self.store, "events", events)
        return asked

    def test_nobody_waits(self) -> None:
        """While nobody waits nothing is read; a wait ends with its time, and leaves no timer."""
        waiting = Deferred.fromCoroutine(self.feed.more(3, 1.0))
        self.clock.pump([0.1] * 11)
        self.assertFalse(self.successResultOf(waiting))
        asked = self.patched_reads()
        self.clock.pump([LOOK_S] * 4)
        self.assertEqual((asked, self.clock.getDelayedCalls()), ([], []))

    def test_bounded(self) -> None:
        """What is kept for readers has a limit; who is behind it reads the store."""
        self.patch(feeding, "KEPT", 1)
        waiting = Deferred.fromCoroutine(self.feed.more(3, 60.0))
        found: list[str] = []
        waiting.addCallback(lambda _: found.extend(self.tags(3)))
        self.sell(4)
        self.sell(5)
        self.clock.advance(0)
        self.assertEqual(found, ["tag 4", "tag 5"])

    def test_many_at_once(self) -> None:
        """When much came at once it is read page by page without a pause between."""
        self.patch(feeding, "PAGE", 2)
        waiting = Deferred.fromCoroutine(self.feed.more(3, 60.0))
        other = Deferred.fromCoroutine(self.feed.more(5, 60.0))
        for number in (4, 5, 6):
            self.sell(number)
        self.clock.advance(0)
        self.assertTrue(self.successResultOf(waiting))
        self.clock.advance(0)
        self.assertTrue(self.successResultOf(other))

    def test_far_behind(self) -> None:
        """Who reads a long history rests as long as each page took: tills have the rest of the time."""
        whole = self.store.events
        takes = [feeding.STRETCH, 0.01, 1.0, feeding.STRETCH / 2]

        async def events(after: int, limit: int, devices: list[int]) -> Any:
            self.clock.rightNow += takes.pop(0)
            return await whole(after, limit, devices)

        self.patch(self.store, "events", events)
        for rest in (feeding.STRETCH, 0.01, LOOK_S):
            reading = Deferred.fromCoroutine(self.feed.read(0))
            self.clock.advance(0.9 * rest)
            self.assertNoResult(reading)
            self.clock.advance(0.2 * rest)
            self.assertEqual(len(self.successResultOf(reading).messages), 3)
        self.assertEqual(len(self.now(self.feed.read(0)).messages), 3)

    def test_store_away(self) -> None:
        """A store that fails delays readers and ends none; they get what came meanwhile."""
        waiting = Deferred.fromCoroutine(self.feed.more(3, 60.0))
        self.store.broken = True
        self.clock.advance(0)
        self.assertNoResult(waiting)
        self.store.broken = False
        self.sell(4)
        self.clock.advance(feeding.PAUSE_S)
        self.assertTrue(self.successResultOf(waiting))

    def test_stopped(self) -> None:
        """When the service stops nobody waits any more."""
        waiting = Deferred.fromCoroutine(self.feed.more(3, 60.0))
        self.feed.stop()
        self.assertFalse(self.successResultOf(waiting))
        self.failureResultOf(Deferred.fromCoroutine(self.feed.more(3, 60.0)), StoreFailed)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_soon(self) -> None:
        """Who says that something may have been stored makes those that wait look at once; nobody waits: nothing."""
        self.feed.soon()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        waiting = Deferred.fromCoroutine(self.feed.more(3, 60.0))
        self.clock.advance(0)
        self.sell(4)
        self.feed.soon()
        # The end of the wait, and one look.
        self.assertEqual(len(self.clock.getDelayedCalls()), 2)
        self.clock.advance(0)
        self.assertTrue(self.successResultOf(waiting))

    def test_there_already(self) -> None:
        """Who is behind what others have seen waits for nothing."""
        first, last = (Deferred.fromCoroutine(self.feed.more(after, 60.0)) for after in (3, 4))
        self.sell(4)
        self.clock.advance(0)
        self.assertTrue(self.successResultOf(first))
        self.assertNoResult(last)
        self.assertTrue(self.now(self.feed.more(3, 60.0)))
        self.assertNoResult(Deferred.fromCoroutine(self.feed.more(4, 60.0)))

    def test_memory(self) -> None:
        """In memory are the last messages only, as many bytes as there may be; who is behind them reads the store."""
        size = len(self.now(self.feed.read(2)).messages[0].body)
        self.patch(feeding, "KEPT", 2 * size)
        self.follow(3, 99)
        self.clock.advance(0)
        for number in range(4, 9):
            self.sell(number)
            self.clock.advance(LOOK_S)
        asked = self.patched_reads()
        self.assertEqual((self.tags(6), asked), (["tag 7", "tag 8"], []))
        self.assertEqual((self.tags(5), asked), (["tag 6", "tag 7", "tag 8"], [5]))
        one = self.now(self.feed.read(6, 1))
        self.assertEqual(([message.place for message in one.messages], one.until, one.gone), ([7], 7, False))

    def follow(self, place: int, until: int) -> None:
        """A reader from one place to another, which reads all that comes."""

        async def read() -> None:
            after = place
            while after < until and await self.feed.more(after, 600.0):
                after = (await self.feed.read(after)).until

        Deferred.fromCoroutine(read())

    def test_nobody_for_a_while(self) -> None:
        """What came while nobody waited is in the store only; memory begins anew with the next reader."""
        size = len(self.now(self.feed.read(2)).messages[0].body)
        self.patch(feeding, "KEPT", 2 * size + size // 2)
        self.follow(3, 5)
        for number in (4, 5):
            self.sell(number)
            self.clock.advance(LOOK_S)
        self.clock.advance(LOOK_S)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.sell(6)
        self.follow(6, 99)
        for number in (7, 8):
            self.sell(number)
            self.clock.advance(LOOK_S)
        asked = self.patched_reads()
        self.assertEqual((self.tags(6), asked), (["tag 7", "tag 8"], []))
        self.sell(9)
        self.clock.advance(LOOK_S)
        self.assertEqual(self.tags(5), ["tag 6", "tag 7", "tag 8", "tag 9"])

    def test_other_timers(self) -> None:
        """A wait that ends by what came leaves no timer, nor a place in the line of those that wait."""
        waiting = Deferred.fromCoroutine(self.feed.more(3, 60.0))
        self.sell(4)
        self.clock.advance(0)
        self.assertTrue(self.successResultOf(waiting))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_resume(self) -> None:
        """A reader goes on after the event that it names; an id of another store, as before a restore, is noticed."""
        ids = [message.id for message in self.now(self.feed.read(0)).messages]
        self.assertEqual(self.now(self.feed.resume(ids[1])), (2, False))
        for plain in ("2", "02", "2".zfill(18)):
            self.assertEqual(self.now(self.feed.resume(plain)), (2, False), plain)
        for strange in ("2-00000000", "9-00000000", "4", "-", "x", "٣", "9" * 30, "2".zfill(19)):
            self.assertEqual(self.now(self.feed.resume(strange)), (3, True), strange)
        assert self.store._db is not None
        self.store._db.execute("DELETE FROM seal WHERE n = 1")
        self.assertEqual(self.now(self.feed.resume(ids[0])), (1, True))


class AgedCase(WebCase):
    """A shop in which events of devices are kept for less time than receipts."""

    def age(self) -> None:
        """Sell before and after a fault of the register, of which retention has removed the event."""
        store, clock = self.shop.store, self.shop.core.clock
        self.open_shift()
        self.sell("A-1")
        fault = Change("device.changed", clock.now(), b'{"health":"bad"}', self.device_n, EVENT)
        self.successResultOf(Deferred.fromCoroutine(store.record(fault)))
        self.sell("A-2")
        clock.offset = 31 * 86400
        removing = Deferred.fromCoroutine(self.shop.core.retention.remove())
        for _ in range(100):
            self.shop.clock.advance(0.1)
        self.assertGreater(self.successResultOf(removing), 0)

    @property
    def device_n(self) -> int:
        """The number of the register."""
        return self.shop.core.devices.by_name("test").row.n


class ShopTests(AgedCase):
    """Events of a service, for programs that ask."""

    def page(self, query: str = "") -> Any:
        """A page of events."""
        answer = self.request("GET", STORED + query)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def types(self, query: str = "") -> list[str]:
        """The types on a page."""
        return [event["type"] for event in self.page(query)["events"]]

    def test_day(self) -> None:
        """A day's documents are told in order, with what accounting needs; a repeat of a tag tells nothing new."""
        before = self.page()["next"]
        self.open_shift()
        first, again = self.sell("A-1"), self.sell("A-1")
        self.assertEqual((first["res"], again["res"]), (0, 0))
        self.shop.fiscal(11)
        found = self.page(f"?after={before}&device=test")["events"]
        self.assertEqual([event["type"] for event in found], ["shift.opened", "document.made", "shift.closed"])
        sold = found[1]["data"]
        self.assertEqual((sold["tag"], sold["task"], sold["res"]), ("A-1", 1, 0))
        [document] = sold["documents"]
        self.assertEqual((document["kind"], document["sum"], document["shift"]), ("sale", 125.5, 1))
        self.assertEqual((document["number"], document["fiscal_number"]), (2, first["info"]["doccode"]))
        self.assertEqual([document["kind"] for document in found[2]["data"]["documents"]], ["z", "close"])
        self.assertEqual(found[1]["device"], {"id": self.dev_id, "name": "test", "kind": "register"})

    def test_filters(self) -> None:
        """A page is narrowed by type and device, limited, and goes on at `next`."""
        self.open_shift()
        for n in range(3):
            self.sell(f"A-{n}")
        self.assertEqual(self.types("?type=shift.opened,shift.closed"), ["shift.opened"])
        found, after = [], "0"
        for _ in range(3):
            page = self.page(f"?after={after}&limit=1&type=document.made")
            found += [event["data"]["tag"] for event in page["events"]]
            after = page["next"]
        self.assertEqual(found, ["A-0", "A-1", "A-2"])
        for bad in ("type=x", "limit=0", "limit=1001", "wait=61", "device=nobody", "page=1"):
            self.assertEqual(self.request("GET", f"{STORED}?{bad}").status, 422, bad)

    def test_missed(self) -> None:
        """Who names an event that is not in this database learns that something may be missing."""
        self.open_shift()
        self.assertTrue(self.page("?after=1-00000000")["missed"])
        self.assertFalse(self.page(f"?after={self.page()['events'][0]['id']}")["missed"])

    def test_gone(self) -> None:
        """Who comes back from before an event that retention has removed learns it, and nobody else."""
        before = self.page()["next"]
        self.age()
        page = self.page(f"?after={before}&type=document.made")
        first, second = page["events"]
        self.assertEqual((first["data"]["tag"], second["data"]["tag"], page["missed"]), ("A-1", "A-2", True))
        self.assertTrue(self.page(f"?after={first['id']}")["missed"])
        self.assertFalse(self.page(f"?after={second['id']}")["missed"])

    def test_place_of_no_event(self) -> None:
        """`next` names the database also where nothing was told: a restored one is noticed by who waited in vain."""
        self.open_shift()
        for query in ("?type=paper.printed", f"?after={self.page()['next']}"):
            place, _, chain = self.page(query)["next"].partition("-")
            self.assertTrue(chain, query)
            strange = f"{place}-{int(chain, 16) ^ 1:08x}"
            self.assertEqual([self.page(f"?after={one}")["missed"] for one in (place, strange)], [False, True])

    def test_wait(self) -> None:
        """A question waits for the next event, and answers as soon as it is stored; else when its time is over."""
        self.open_shift()
        after = self.page()["next"]
        asking = self.connect()
        asking.ask("GET", f"{STORED}?after={after}&wait=30&type=document.made")
        self.shop.clock.pump([1.0] * 5)
        self.assertEqual(asking.answers(), [])
        self.sell("A-1")
        self.shop.clock.pump([LOOK_S] * 2)
        [answer] = asking.answers()
        self.assertEqual([event["data"]["tag"] for event in answer.json["events"]], ["A-1"])
        idle = self.connect()
        idle.ask("GET", f"{STORED}?after={answer.json['next']}&wait=30&type=document.made")
        self.shop.clock.pump([1.0] * 31)
        [answer] = idle.answers()
        self.assertEqual((answer.json["events"], answer.json["more"]), ([], False))

    def test_settings(self) -> None:
        """A changed setting is an event, without its secrets."""
        before = self.page()["next"]
        self.request("POST", "/dm/main/api/v1/settings", {"packdays": 41, "token": "very-secret"})
        [changed] = self.page(f"?after={before}")["events"]
        self.assertEqual((changed["type"], changed["data"]["area"]), ("settings.changed", "settings"))
        self.assertEqual(changed["data"]["after"]["packdays"], 41)
        self.assertNotIn("very-secret", json.dumps(changed))

    def test_offline(self) -> None:
        """A document that could not be sent is told as refused, and its offline twin as made, under the same tag."""
        self.open_shift()
        self.shop.settings(offline_allowed=True)
        before = self.page()["next"]
        self.shop.scenario({"on": "any", "then": "unreachable", "times": 0})
        self.assertEqual(self.sell("A-1")["res"], 0)
        found = self.page(f"?after={before}&type=document.refused,offline.begun,document.made")["events"]
        self.assertEqual([event["type"] for event in found], ["document.refused", "offline.begun", "document.made"])
        self.assertEqual([event["data"]["tag"] for event in found], ["A-1", "", "A-1"])

    def test_needs(self) -> None:
        """What needs a person is told when it begins, and when it is over."""
        before = self.page()["next"]
        self.shop.core.clock.offset = 0
        self.open_shift()
        self.shop.core.clock.offset = 25 * 3600
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.needs.look()))
        raised = self.page(f"?after={before}&type=need.raised&device=test")["events"]
        self.assertTrue(raised)
        self.assertTrue(all(event["data"]["text"]["uk"] for event in raised))
        self.shop.core.clock.offset = 0
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.needs.look()))
        ended = [event["data"]["code"] for event in self.page(f"?after={before}&type=need.ended")["events"]]
        self.assertLessEqual({event["data"]["code"] for event in raised}, set(ended))


class StreamTests(AgedCase):
    """The stream of stored events."""

    def stream(self, since: str = "") -> Stream:
        """A program's connection."""
        return Stream(self, since, path=STREAM)

    def sold(self, stream: Stream) -> list[str]:
        """The tags that a stream tells."""
        self.shop.clock.advance(LOOK_S)
        return [data["data"]["tag"] for _, kind, data in stream.events() if kind == "document.made"]

    def test_live(self) -> None:
        """A new program hears of everything from now on, each once."""
        self.open_shift()
        self.sell("A-0")
        stream = self.stream()
        self.assertEqual([kind for _, kind, _ in stream.events()], ["hello"])
        self.sell("A-1")
        self.assertEqual(self.sold(stream), ["A-1"])
        self.sell("A-2")
        self.assertEqual(self.sold(stream), ["A-2"])

    def test_restart(self) -> None:
        """A program that comes back after a crash of the service gets all that it missed, then what happens now."""
        self.open_shift()
        stream = self.stream()
        self.sell("A-1")
        self.shop.clock.advance(LOOK_S)
        known = stream.events()[-1][0]
        stream.hang_up()
        for n in range(2, 9):
            self.sell(f"A-{n}")
        self.shop.crash()
        self.door = Door(self.shop.core)
        again = self.stream(known)
        self.assertEqual(self.sold(again), [f"A-{n}" for n in range(2, 9)])
        self.sell("A-9")
        self.assertEqual(self.sold(again), ["A-9"])

    def test_one_look_for_all(self) -> None:
        """However many programs hear of a sale, the store is asked once."""
        self.open_shift()
        streams = [self.stream() for _ in range(3)]
        self.shop.clock.advance(LOOK_S)
        asked: list[int] = []
        whole = self.shop.core.store.events

        async def events(after: int, limit: int, devices: list[int]) -> Any:
            asked.append(after)
            return await whole(after, limit, devices)

        self.patch(self.shop.core.store, "events", events)
        self.sell("A-1")
        self.assertEqual([self.sold(stream) for stream in streams], [["A-1"]] * 3)
        # Each of the three has let the time of one look pass.
        self.assertEqual(len(asked), 3)

    def test_cut_off_early(self) -> None:
        """A program that is cut off before its first event comes back where it began."""
        self.open_shift()
        stream = self.stream()
        [(known, kind, _)] = stream.events()
        self.assertEqual(kind, "hello")
        stream.hang_up()
        self.sell("A-1")
        self.assertEqual(self.sold(self.stream(known)), ["A-1"])

    def test_missed(self) -> None:
        """The greeting says whether something may be missing."""
        self.open_shift()
        self.assertEqual([data["missed"] for _, _, data in self.stream("1-00000000").events()], [True])

    def test_gone(self) -> None:
        """A program that was away for longer than retention lasts is greeted again where something is gone."""
        stream = self.stream()
        [(known, _, _)] = stream.events()
        stream.hang_up()
        self.age()
        told = self.stream(known).events()
        self.assertEqual([data["missed"] for _, kind, data in told if kind == "hello"], [False, True])
        self.assertEqual([data["data"]["tag"] for _, kind, data in told if kind == "document.made"], ["A-1", "A-2"])

    def test_slow(self) -> None:
        """A slow program costs one part at a time; it misses nothing, and one that is dead is closed."""
        self.open_shift()
        stream = self.stream()
        stream.text()
        channel: Any = stream.transport.producer
        channel.pauseProducing()
        for n in range(5):
            self.sell(f"A-{n}")
        self.shop.clock.advance(LOOK_S)
        first = self.sold(stream)
        for n in range(5, 9):
            self.sell(f"A-{n}")
        self.shop.clock.advance(HEARTBEAT)
        self.assertEqual(self.sold(stream), [])
        channel.resumeProducing()
        self.assertEqual(first + self.sold(stream), [f"A-{n}" for n in range(9)])
        channel.pauseProducing()
        self.shop.clock.pump([HEARTBEAT] * (int(DEAD_AFTER / HEARTBEAT) + 1))
        self.assertTrue(stream.transport.disconnecting or stream.transport.disconnected)

    def test_leaves_nothing(self) -> None:
        """When the last program has left, the store is not asked any more."""
        before = len(self.shop.clock.getDelayedCalls())
        stream = self.stream()
        stream.hang_up()
        self.shop.clock.advance(LOOK_S)
        self.assertLessEqual(len(self.shop.clock.getDelayedCalls()), before)
