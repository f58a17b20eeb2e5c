"""Events for listeners: ids, gaps, devices, and the format that browsers read."""

from __future__ import annotations

import json
import socket
from types import SimpleNamespace
from typing import Any
from unittest import SkipTest

from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.error import ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.events import KEPT, LINGER, LONGEST, Event, Events
from dmtwisted.requests import TaskRequest
from dmtwisted.watching import PAUSE
from tests.shop import Shop
from tests.web_case import DEVICES, WebCase, request_bytes
from web.events import ASK_AGAIN, HEARTBEAT, MOST_LISTENERS, MOST_OF_A_SIDE, MOST_OF_ONE, RETRY, _end_when_dead
from web.site import Door

EVENTS = "/dm/api/v3/events"


class EventsTests(SynchronousTestCase):
    """The publisher without a service."""

    def setUp(self) -> None:
        """A publisher and a listener."""
        self.clock = Clock()
        self.clock.advance(1000)
        self.events = Events(self.clock)
        self.received: list[Event] = []

    def test_nobody_listens(self) -> None:
        """Without listeners nothing is watched, and events are not kept."""
        self.assertFalse(self.events.watched)
        self.events.publish("task_ended")
        self.assertEqual(self.events.listen(self.received.append), ([], False))
        self.assertEqual(self.received, [])

    def test_in_order(self) -> None:
        """A listener gets every event once, in order, each with its own id."""
        self.events.listen(self.received.append)
        for n in range(3):
            self.events.publish("device", n=n)
        self.assertEqual([event.data["n"] for event in self.received], [0, 1, 2])
        self.assertEqual(len({event.name for event in self.received}), 3)

    def test_comes_back(self) -> None:
        """A listener that returns within a minute gets the events that it missed, each once."""
        self.events.listen(self.received.append)
        self.events.publish("device", n=1)
        self.events.leave(self.received.append)
        self.clock.advance(LINGER)
        self.assertTrue(self.events.watched)
        self.events.publish("device", n=2)
        missed, lost = self.events.listen(self.received.append, self.received[-1].name)
        self.assertEqual(([event.data["n"] for event in missed], lost), ([2], False))

    def test_bounded(self) -> None:
        """A tag or name without end is kept and sent by its beginning and end, and no text shows a card number."""
        self.events.listen(self.received.append)
        card = "4111.1111.1111.1111"
        self.events.begun(TaskRequest(device="x" * 1_000_000, type=1, tag=card + "y" * 1_000_000, source=""))
        self.events.publish("warning", device="till", dev_id="41111111-1111-1111", text=f"card {card}")
        begun, warned = (event.data for event in self.received)
        self.assertLess(len(begun["device"]) + len(begun["tag"]), 2 * LONGEST + 100)
        self.assertTrue(begun["tag"].startswith("4111.11**.****.1111yyy"))
        self.assertEqual((warned["text"], warned["dev_id"]), ("card 4111.11**.****.1111", "41111111-1111-1111"))

    def test_comes_back_late(self) -> None:
        """A listener that returns after more than a minute learns that it may have missed events."""
        self.events.listen(self.received.append)
        self.events.publish("device")
        self.events.leave(self.received.append)
        self.clock.advance(LINGER + 0.1)
        self.assertFalse(self.events.watched)
        self.assertEqual(self.events.listen(self.received.append, self.received[-1].name), ([], True))

    def test_missed_too_much(self) -> None:
        """A listener that missed more than is kept learns so, and does not get a part as if it were all."""
        self.events.listen(self.received.append)
        self.events.publish("device")
        first = self.received[0].name
        for _ in range(KEPT):
            self.events.publish("device")
        events, lost = self.events.listen(self.received.append, first)
        self.assertEqual((len(events), lost), (KEPT, False))
        self.events.publish("device")
        self.assertEqual(self.events.listen(self.received.append, first), ([], True))

    def test_strange_names(self) -> None:
        """An id that was never given is reported as a gap, whatever it looks like."""
        self.events.listen(self.received.append)
        self.events.publish("device")
        epoch = self.received[0].name.rpartition("-")[0]
        for name in ("x", "-", f"{epoch}-", f"{epoch}-2", f"{epoch}--1", f"{epoch}-1x", "0-1", f"{epoch}-٣"):
            self.assertEqual(self.events.listen(self.received.append, name), ([], True), name)

    def test_a_listener_fails(self) -> None:
        """A failing listener stops neither other listeners nor the publisher."""

        def fail(event: Event) -> None:
            raise ValueError("not today")

        self.events.listen(fail)
        self.events.listen(self.received.append)
        self.events.publish("device")
        self.assertEqual(len(self.received), 1)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_unreadable_answer(self) -> None:
        """An unreadable answer is not published and stops nothing."""
        self.events.listen(self.received.append)
        self.events.ended(TaskRequest(device="test", type=1, tag="", source=""), b"{")
        self.assertEqual(self.received, [])
        self.assertEqual(len(self.flushLoggedErrors()), 1)


class TaskEventsTests(SynchronousTestCase):
    """Events of tasks."""

    def setUp(self) -> None:
        """A shop and a listener."""
        self.shop = Shop(self)
        self.received: list[Event] = []
        self.shop.core.dispatcher.events.listen(self.received.append)

    def new_events(self) -> list[tuple[str, dict[str, Any]]]:
        """The events since the last call."""
        events, self.received[:] = list(self.received), []
        return [(event.kind, event.data) for event in events]

    def test_opening_and_closing(self) -> None:
        """A task has events when it comes and when it is answered; opening and Z have one of the shift as well."""
        self.shop.fiscal(0, "open-1")
        named = {"device": "test", "type": 1, "task": 0, "tag": "open-1"}
        self.assertEqual(
            self.new_events(),
            [
                ("task_begun", named),
                ("task_ended", {**named, "res": 0, "errortxt": ""}),
                ("shift", {"device": "test", "open": True}),
            ],
        )
        self.shop.fiscal(11)
        self.assertIn(("shift", {"device": "test", "open": False}), self.new_events())

    def test_refused(self) -> None:
        """The event of a refused task has its code and text; it opens no shift."""
        self.shop.open_shift()
        self.new_events()
        self.shop.fiscal(0)
        [_, (kind, data)] = self.new_events()
        self.assertEqual((kind, data["res"]), ("task_ended", 1096))
        self.assertTrue(data["errortxt"])

    def test_warning(self) -> None:
        """Warnings of answers are published."""
        self.shop.open_shift()
        self.shop.core.clock.offset = 90_000
        self.new_events()
        self.shop.sell()
        warnings = [data for kind, data in self.new_events() if kind == "warning"]
        self.assertEqual([warning["code"] for warning in warnings], [3003])
        self.assertTrue(warnings[0]["text"])

    def test_no_task(self) -> None:
        """A body that is not a task has an event only when it is answered, because it has no device."""
        self.shop.ask(b"{")
        self.assertEqual([kind for kind, _ in self.new_events()], ["task_ended"])


class Stream:
    """A browser's end of an event stream."""

    def __init__(self, case: WebCase, since: str = "", host: str = "127.0.0.1", path: str = EVENTS) -> None:
        peer = (IPv6Address if ":" in host else IPv4Address)("TCP", host, 50000)
        self.protocol: Any = case.door.buildProtocol(peer)
        self.protocol.callLater = case.shop.clock.callLater
        self.transport = StringTransport(peerAddress=peer, lenient=True)
        self.protocol.makeConnection(self.transport)
        headers = [("Last-Event-ID", since)] if since else []
        self.protocol.dataReceived(request_bytes("GET", path, headers=headers))
        self.gone = False
        case.addCleanup(self.hang_up)
        self.head, _, rest = self.transport.value().decode().partition("\r\n\r\n")
        self.transport.clear()
        self._text = _unchunked(rest) if "chunked" in self.head.lower() else rest

    def text(self) -> str:
        """The messages since the last call, as a browser parses them."""
        text = self._text + _unchunked(self.transport.value().decode())
        self._text = ""
        self.transport.clear()
        return text

    def events(self) -> list[tuple[str, str, Any]]:
        """Id, kind and data of every event since the last call."""
        found = []
        for block in self.text().split("\n\n"):
            members = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
            if "data" in members:
                found.append((members.get("id", ""), members.get("event", ""), json.loads(members["data"])))
        return found

    def kinds(self) -> list[str]:
        """The kinds of events since the last call."""
        return [kind for _, kind, _ in self.events()]

    def hang_up(self) -> None:
        """Close the connection."""
        if not self.gone:
            self.gone = True
            self.protocol.connectionLost(Failure(ConnectionLost()))


def _unchunked(text: str) -> str:
    whole = ""
    data = text.encode()
    while data:
        size, _, data = data.partition(b"\r\n")
        length = int(size, 16)
        whole, data = whole + data[:length].decode(), data[length + 2 :]
    return whole


class StreamTests(WebCase):
    """``GET /dm/api/v3/events``"""

    def setUp(self) -> None:
        """A service with all devices of a new one in training mode."""
        self.shop = Shop(self, whole=True)
        self.door = Door(self.shop.core)

    def test_greets(self) -> None:
        """The answer is an uncached stream; it begins with the pause before a retry and a `hello`."""
        stream = Stream(self)
        self.assertIn("HTTP/1.1 200", stream.head)
        self.assertIn("content-type: text/event-stream; charset=utf-8", stream.head.lower())
        self.assertIn("cache-control: no-store", stream.head.lower())
        text = stream.text()
        self.assertTrue(text.startswith(f"retry: {RETRY}\nevent: hello\n"), text)
        self.assertIn('"missed":false', text)

    def test_tells(self) -> None:
        """A task appears on the stream with an id, and so does each change of its device."""
        stream = Stream(self)
        stream.text()
        self.open_shift()
        self.shop.clock.advance(0)
        events = stream.events()
        self.assertEqual(
            [kind for _, kind, _ in events], ["task_begun", "task_ended", "shift", "device"], [e[1:] for e in events]
        )
        self.assertTrue(all(name for name, _, _ in events))
        state = events[-1][2]["state"]
        self.assertEqual((state["shift_status"], state["busy"]), (1, False))

    def test_comes_back(self) -> None:
        """A page whose connection broke sends the last id that it knows, and gets the events after it."""
        stream = Stream(self)
        self.open_shift()
        [known, *_] = [name for name, kind, _ in stream.events() if kind == "task_ended"]
        stream.hang_up()
        self.shop.fiscal(18)
        again = Stream(self, known).events()
        self.assertEqual([kind for _, kind, _ in again[:4]], ["hello", "shift", "task_begun", "task_ended"])
        self.assertFalse(again[0][2]["missed"])

    def test_attended(self) -> None:
        """A page counts as somebody who looks until its connection ends; a program does not."""
        events = self.shop.core.dispatcher.events
        Stream(self)
        self.assertFalse(events.attended)
        pages = [Stream(self, path=f"{EVENTS}?page=1") for _ in range(2)]
        pages[0].hang_up()
        self.assertTrue(events.attended)
        pages[1].hang_up()
        self.assertFalse(events.attended)

    def test_restart(self) -> None:
        """After a restart the hello event names another run of the service, and says that events may be missing."""
        stream = Stream(self)
        self.open_shift()
        events = stream.events()
        stream.hang_up()
        self.shop.clock.advance(1)
        self.shop.crash()
        self.door = Door(self.shop.core)
        [(_, _, hello)] = Stream(self, events[-1][0]).events()
        self.assertTrue(hello["missed"])
        self.assertNotEqual(hello["service"], events[0][2]["service"])

    def test_heartbeat(self) -> None:
        """An idle stream gets a keep-alive comment in time, and again."""
        stream = Stream(self)
        stream.text()
        self.shop.clock.pump([HEARTBEAT - 0.1])
        self.assertNotIn(":", stream.text())
        for _ in range(2):
            self.shop.clock.pump([1.0] * int(HEARTBEAT))
            self.assertIn(": still here\n\n", stream.text())

    def test_leaves_nothing(self) -> None:
        """When the last listener has left, devices are no longer watched and no timer runs."""
        before = len(self.shop.clock.getDelayedCalls())
        stream = Stream(self)
        self.assertGreaterEqual(len(self.shop.clock.getDelayedCalls()), before + 2)
        stream.hang_up()
        # The server's own time-out of the connection ends with it.
        self.assertLessEqual(len(self.shop.clock.getDelayedCalls()), before)
        self.shop.clock.advance(LINGER + 1)
        self.assertFalse(self.shop.core.dispatcher.events.watched)

    def test_device_changes(self) -> None:
        """A device that is added, changes, or is deleted has an event; an unchanged one has none."""
        stream = Stream(self)
        stream.text()
        self.shop.clock.advance(PAUSE)
        self.assertEqual(stream.kinds(), [])
        self.request("POST", DEVICES, {"device": "kitchen", "kind": "printer", "driver": "training"})
        self.assertEqual(stream.kinds(), ["changed"])
        self.shop.clock.advance(PAUSE)
        [(_, kind, data)] = stream.events()
        self.assertEqual((kind, data["device"], data["kind"]), ("device", "kitchen", "printer"))
        self.request("DELETE", f"{DEVICES}/{data['dev_id']}")
        self.shop.clock.advance(PAUSE)
        events = [(kind, data) for _, kind, data in stream.events()]
        self.assertEqual(events[-1], ("device", {"dev_id": data["dev_id"], "gone": True}))

    def test_refused_change(self) -> None:
        """A refused change changes nothing and has no event."""
        stream = Stream(self)
        stream.text()
        self.assertEqual(self.request("DELETE", f"{DEVICES}/nobody").status, 404)
        self.assertEqual(stream.kinds(), [])

    def test_offline(self) -> None:
        """A register that goes offline or online has an event; a new stream does not begin with one."""
        self.open_shift()
        stream = Stream(self)
        path = f"{DEVICES}/{self.dev_id}"
        for way, offline in (("go-offline", True), ("go-online", False)):
            self.assertEqual(self.request("POST", f"{path}/{way}").status, 200)
            self.shop.clock.advance(PAUSE)
            changes = [data for _, kind, data in stream.events() if kind == "offline"]
            told = [(data["device"], data["offline"], data["by_itself"]) for data in changes]
            self.assertEqual(told, [("test", offline, False)])
            self.assertNotIn("offline", Stream(self).kinds())

    def test_offline_by_itself(self) -> None:
        """The event says that a register went by itself, and that it returned by itself from wherever it was sent."""
        self.open_shift()
        self.shop.settings(offline_probe_before_receipt=True)
        stream = Stream(self)
        away = [{"on": on, "then": "unreachable", "times": 0} for on in ("any", "probe")]
        for by_itself in (True, False):
            self.shop.scenario(*away)
            if not by_itself:
                self.request("POST", f"{DEVICES}/{self.dev_id}/go-offline")
            self.shop.sell()
            self.shop.clock.advance(PAUSE)
            self.shop.scenario()
            self.shop.sell()
            self.shop.clock.advance(PAUSE)
            changes = [data for _, kind, data in stream.events() if kind == "offline"]
            told = [(data["offline"], data["by_itself"]) for data in changes]
            self.assertEqual(told, [(True, by_itself), (False, True)])

    def test_print_job(self) -> None:
        """A print job has an event with its fate."""
        stream = Stream(self)
        stream.text()
        self.shop.asked({"device": "prn", "type": 2, "doc": {"test": 1}})
        for _ in range(20):
            self.shop.clock.advance(1)
        jobs = [data["job"] for _, kind, data in stream.events() if kind == "job"]
        self.assertEqual(jobs[-1]["fate"], "printed")

    def test_terminal_progress(self) -> None:
        """Each step of a terminal's operation has an event, and its idle state in the end."""
        stream = Stream(self)
        stream.text()
        self.shop.asked({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
        for _ in range(30):
            self.shop.clock.advance(1)
        states = [data["state"] for _, kind, data in stream.events() if kind == "progress"]
        self.assertEqual((states[0], states[-1]), ("connecting", "idle"))
        self.assertIn("bank", states)

    def test_changed_terminal(self) -> None:
        """A terminal with new settings is followed as before, and once only."""
        stream = Stream(self)
        device = self.shop.core.devices.by_name("pos")
        self.request("PATCH", f"{DEVICES}/{device.row.dev_id}", {"settings": {"wait_s": 60}})
        self.shop.clock.advance(PAUSE)
        stream.text()
        self.shop.asked({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
        self.shop.clock.advance(0)
        states = [data["state"] for _, kind, data in stream.events() if kind == "progress"]
        self.assertEqual(states[:1], ["connecting"])
        self.assertEqual(len(states), len(dict.fromkeys(states)))

    def test_slow_listener(self) -> None:
        """A slow listener delays nothing: it misses events, and learns so afterwards."""
        stream = Stream(self)
        stream.text()
        channel: Any = stream.transport.producer
        channel.pauseProducing()
        self.open_shift()
        self.assertEqual(stream.text(), "")
        channel.resumeProducing()
        [(_, kind, hello)] = stream.events()
        self.assertEqual((kind, hello["missed"]), ("hello", True))

    def refused(self, host: str) -> str:
        """The text of the refusal for one more listener at ``host``, which may return."""
        stream = Stream(self, host=host)
        self.assertIn("HTTP/1.1 503", stream.head)
        self.assertIn(f"Retry-After: {ASK_AGAIN}", stream.head.title())
        answer = json.loads(stream.text())
        self.assertEqual(answer["res"], 2100)
        return str(answer["errortxt"])

    def test_crowd(self) -> None:
        """This machine and the network fill the service together, not alone; nobody who listens has to leave."""
        here = [Stream(self) for _ in range(MOST_OF_A_SIDE)]
        self.assertIn("забагато слухачів", self.refused("127.0.0.1"))
        there = [Stream(self, host=f"192.168.1.{n}") for n in range(MOST_LISTENERS - MOST_OF_A_SIDE)]
        self.assertIn("забагато слухачів", self.refused("192.168.1.200"))
        self.open_shift()
        self.assertTrue(all("shift" in stream.kinds() for stream in here + there))
        here[0].hang_up()
        self.assertIn("HTTP/1.1 200", Stream(self, host="192.168.1.200").head)

    def test_one_address(self) -> None:
        """One address of the network, or one /64 of IPv6, keeps neither this machine nor its neighbours away."""
        for hosts, other in (
            (["192.168.1.20"] * MOST_OF_ONE, "192.168.1.21"),
            ([f"2001:db8::{n:x}" for n in range(1, MOST_OF_ONE + 1)], "2001:db8:0:1::1"),
        ):
            streams = [Stream(self, host=host) for host in hosts]
            self.assertIn("із цього комп’ютера", self.refused(hosts[0]))
            for host in (other, "127.0.0.1"):
                self.assertIn("HTTP/1.1 200", Stream(self, host=host).head)
            streams[0].hang_up()
            self.assertIn("HTTP/1.1 200", Stream(self, host=hosts[0]).head)
            for stream in streams:
                stream.hang_up()

    def test_takes_nothing(self) -> None:
        """A listener that takes no bytes at all is closed after three heartbeats; one that is slow is not."""
        stream = Stream(self)
        channel: Any = stream.transport.producer
        aborted: list[str] = []
        channel.forceAbortClient = lambda: aborted.append("closed")
        for _ in range(3):
            channel.pauseProducing()
            self.shop.clock.advance(HEARTBEAT)
            channel.resumeProducing()
            self.shop.clock.advance(HEARTBEAT)
        self.assertEqual(aborted, [])
        channel.pauseProducing()
        self.shop.clock.pump([HEARTBEAT] * 3)
        self.assertEqual(aborted, ["closed"])

    def test_switched_off(self) -> None:
        """The system is told to close a connection whose other end acknowledges no heartbeat, over TLS too."""
        option = getattr(socket, "TCP_USER_TIMEOUT", None)
        if option is None:
            raise SkipTest("this system has no such limit for a connection")
        with socket.socket() as handle:
            wire = SimpleNamespace(getHandle=lambda: handle)
            for transport in (wire, SimpleNamespace(transport=SimpleNamespace(transport=wire))):
                handle.setsockopt(socket.IPPROTO_TCP, option, 0)
                _end_when_dead(transport)
                self.assertEqual(handle.getsockopt(socket.IPPROTO_TCP, option), 45_000)
        _end_when_dead(SimpleNamespace())

    def test_method(self) -> None:
        """Events can only be read."""
        answer = self.request("POST", EVENTS, {})
        self.assertEqual((answer.status, answer.header("allow")), (405, "GET"))
