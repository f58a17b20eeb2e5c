"""``GET /dm/api/v3/events``: events of the service as server-sent events.

Browsers read this format by themselves (`EventSource`): each event has an id, a kind and JSON::

    id: 19e1b2c3d4-17
    event: task_ended
    data: {"device":"test","type":1,"task":1,"tag":"...","res":0,"errortxt":""}

docs/web-interface.md#events lists the kinds. ``missed`` in a ``hello`` says that events may have been lost since the
id that the client sent; the client then loads everything again. A comment is sent every `HEARTBEAT` seconds, so that
both ends notice a broken connection.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from twisted.internet.interfaces import IDelayedCall, IPushProducer
from twisted.python.failure import Failure
from twisted.web.resource import IResource, Resource
from twisted.web.server import NOT_DONE_YET, Request
from zope.interface import implementer

from dmtwisted.access.login import Access
from dmtwisted.access.roles import Permit
from dmtwisted.access.throttle import THIS_MACHINE, group_of
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Devices
from dmtwisted.events import Event, Events
from dmtwisted.results import Refused, Res, Text
from dmtwisted.watching import Watching
from web.answers import error_answer, language_of, not_allowed
from web.rights import may, permit_of

HEARTBEAT = 15.0
"""Seconds between two comments."""

RETRY = 2000
"""Milliseconds after which a browser connects again."""

MOST_LISTENERS = 64
"""The most connections at a time, so that forgotten pages cannot exhaust the service."""

MOST_OF_ONE, MOST_OF_A_SIDE = 16, 48
"""The most from one address of the network, where a page has one: behind a proxy there may be several computers. This
machine and the network leave some of all to each other."""

DEAD_AFTER = 3 * HEARTBEAT
"""Seconds after which a connection ends whose other end takes no bytes."""

NEEDS = {
    **dict.fromkeys(("document", "payment"), "GET /dm/api/v3/receipts"),
    "login": "GET /dm/api/v3/changes",
}
"""Kinds of events for those alone who may use a route."""

ASK_AGAIN = 30
"""Seconds after which a refused listener may try again."""


class EventStream(Resource):
    """The connections of all listeners; devices are watched while there is one."""

    isLeaf = True

    def __init__(
        self, devices: Devices, events: Events, access: Access, clock: ServiceClock, default_language: str
    ) -> None:
        super().__init__()
        self._events, self._clock, self._default_language = events, clock, default_language
        self._devices, self._access = devices, access
        access.listeners.append(self._send_away)
        self._watching = Watching(devices, events, clock)
        self._service = f"{clock.now():x}"
        self._connections: set[Connection] = set()

    def render(self, request: Request) -> int | bytes:
        """Start to send events."""
        if request.method != b"GET":
            return not_allowed(request, b"GET", self._default_language)
        who = group_of(str(getattr(request.getClientAddress(), "host", "")))
        note = self._crowd(who)
        if note:
            request.setHeader(b"retry-after", b"%d" % ASK_AGAIN)
            refused = Refused(Res.NOT_NOW, note=note)
            return error_answer(request, 503, refused, language_of(request, self._default_language))
        permit, asked = permit_of(request), request.args or {}
        connection = Connection(request, self._events, self._clock, self._filter(permit), who)
        self._connections.add(connection)
        connection.page = asked.get(b"page") == [b"1"]
        self._events.pages += connection.page
        request.notifyFinish().addBoth(self._left, connection)
        self._watching.start()
        connection.begin(self._service)
        # Numbers of customers go to who asks for them and may see receipts, not to pages.
        if asked.get(b"phones") == [b"1"] and may(permit, "GET /dm/api/v3/receipts"):
            self._events.operate(connection.take)
        return NOT_DONE_YET

    def _crowd(self, who: str) -> Text | None:
        """Why one more listener of ``who`` is too many; nobody who listens already has to leave."""
        here = [connection.who == THIS_MACHINE for connection in self._connections]
        of_one = sum(connection.who == who for connection in self._connections)
        if who != THIS_MACHINE and of_one >= MOST_OF_ONE:
            return _TOO_MANY_OF_ONE
        side = here.count(who == THIS_MACHINE)
        return _TOO_MANY if len(here) >= MOST_LISTENERS or side >= MOST_OF_A_SIDE else None

    def _send_away(self) -> None:
        """Close the connections whose permits have ended."""
        for connection in list(self._connections):
            if not self._access.still_allows(connection.permit):
                connection.close()

    def _filter(self, permit: Permit) -> Callable[[Event], bool]:
        """Whether an event is of a device that ``permit`` covers, and tells nothing that it may not read."""

        unseen = {kind for kind, route in NEEDS.items() if not may(permit, route)}

        def concerns(event: Event) -> bool:
            if event.kind in unseen:
                return False
            if not permit.bound:
                return True
            dev_id, name = event.data.get("dev_id"), event.data.get("device")
            if dev_id is None and name is not None:
                dev_id = next((device.row.dev_id for device in self._devices if device.name == name), None)
            return dev_id is not None and permit.covers(dev_id)

        return concerns

    def _left(self, reason: Failure | None, connection: Connection) -> None:
        connection.end()
        self._connections.discard(connection)
        self._events.pages -= connection.page
        if not self._connections:
            self._watching.stop()


_TOO_MANY = Text("забагато слухачів", "too many listeners")
_TOO_MANY_OF_ONE = Text(
    "забагато слухачів із цього комп’ютера, завершіть зайві сторінки",
    "too many listeners from this computer, close some pages",
)


@implementer(IPushProducer)
class Connection:
    """One listener. It misses events while it is too slow, and gets a ``hello`` with ``missed`` afterwards.

    One that takes nothing at all for `DEAD_AFTER` seconds is closed, so that it keeps no other one away.

    :param concerns: whether the listener may hear of an event.
    :param who: its address, as `group_of` has it.
    """

    def __init__(
        self, request: Request, events: Events, clock: ServiceClock, concerns: Callable[[Event], bool], who: str
    ) -> None:
        self._request, self._events, self._clock, self._concerns = request, events, clock, concerns
        self.permit, self.who = permit_of(request), who
        self._paused_for = 0.0
        self._paused = self._lost = False
        self._beat: IDelayedCall | None = None
        self._service = ""
        self.page = False

    def begin(self, service: str) -> None:
        """Send ``hello``, the missed events, and then each new one.

        :param service: a name of this run of the service; another name means a restart.
        """
        request, self._service = self._request, service
        _end_when_dead(request.channel)
        request.setHeader(b"content-type", b"text/event-stream; charset=utf-8")
        request.setHeader(b"cache-control", b"no-store")
        # A proxy must not buffer events.
        request.setHeader(b"x-accel-buffering", b"no")
        since = (request.getHeader(b"last-event-id") or b"").decode("latin-1")
        request.registerProducer(self, True)
        before, missed = self._events.listen(self._send, since)
        request.write(b"retry: %d\n" % RETRY)
        self._hello(missed)
        for event in before:
            self._send(event)
        self._beat = self._clock.callLater(HEARTBEAT, self._heartbeat)

    def end(self) -> None:
        """The connection is closed."""
        self._events.leave(self._send)
        self._events.retire(self.take)
        if self._beat is not None and self._beat.active():
            self._beat.cancel()

    def _hello(self, missed: bool) -> None:
        self._write(b"event: hello\ndata: %b\n\n" % _encode({"service": self._service, "missed": missed}))

    def close(self) -> None:
        """End the connection: the listener may not hear any more."""
        self.end()
        self._request.unregisterProducer()
        self._request.finish()

    def _send(self, event: Event) -> None:
        if not self._concerns(event):
            return
        self._write(
            b"id: %b\nevent: %b\ndata: %b\n\n" % (event.name.encode(), event.kind.encode(), _encode(event.data))
        )

    def take(self, event: Event) -> bool:
        """Send an event of a customer; whether the listener gets it."""
        if self._paused or not self._concerns(event):
            return False
        self._send(event)
        return True

    def _heartbeat(self) -> None:
        self._paused_for = self._paused_for + HEARTBEAT if self._paused else 0.0
        if self._paused_for >= DEAD_AFTER:
            self._request.channel.forceAbortClient()
            return
        self._write(b": still here\n\n")
        self._beat = self._clock.callLater(HEARTBEAT, self._heartbeat)

    def _write(self, data: bytes) -> None:
        if self._paused:
            self._lost = True
        else:
            self._request.write(data)

    # The listener's connection (IPushProducer)

    def pauseProducing(self) -> None:
        """The client is too slow."""
        self._paused = True

    def resumeProducing(self) -> None:
        """The client is ready again."""
        self._paused = False
        if self._lost:
            self._lost = False
            self._hello(missed=True)

    def stopProducing(self) -> None:
        """The client has disconnected."""
        self.end()


_encode = msgspec.json.Encoder().encode


def _end_when_dead(transport: Any) -> None:
    """Let the system end a connection whose other end acknowledges nothing: it was switched off, or is out of reach.

    The heartbeats are what it does not acknowledge; without this the system tries for a quarter of an hour.
    """
    while hasattr(transport, "transport"):
        # Over TLS the socket is further below.
        transport = transport.transport
    handle = getattr(transport, "getHandle", lambda: None)()
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    if isinstance(handle, socket.socket) and option is not None:
        with suppress(OSError):
            handle.setsockopt(socket.IPPROTO_TCP, option, int(DEAD_AFTER * 1000))


class Announcing(Resource):
    """A resource whose successful changes are published: devices created and deleted, operations settled."""

    isLeaf = True
    asks_itself = True

    def __init__(self, inner: IResource, events: Events) -> None:
        super().__init__()
        self._inner, self._events = inner, events

    def render(self, request: Request) -> int | bytes:
        """Pass the request on, and publish an event when it has changed something."""
        if request.method not in (b"GET", b"HEAD", b"OPTIONS") and self._events.watched:
            method, path = request.method.decode("latin-1"), request.path.decode("latin-1")

            def finished(_: object) -> None:
                if request.code < 400:
                    self._events.publish("changed", method=method, path=path)

            request.notifyFinish().addCallbacks(finished, lambda _: None)
        answer: int | bytes = self._inner.render(request)
        return answer
