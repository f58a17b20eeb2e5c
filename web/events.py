"""``GET /dm/api/v3/events``: events of the service as server-sent events.

Browsers read this format by themselves (`EventSource`): each event has an id, a kind and JSON::

    id: 19e1b2c3d4-17
    event: task_ended
    data: {"device":"test","type":1,"task":1,"tag":"...","res":0,"errortxt":""}

docs/web-interface.md#events lists the kinds. With ``?stored=1`` the events are those of the store, which outlive a
restart (docs/events.md). ``missed`` in a ``hello`` says that events may have been lost since the
id that the client sent; the client then loads everything again. A comment is sent every `HEARTBEAT` seconds, so that
both ends notice a broken connection.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IPushProducer
from twisted.logger import Logger
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
from dmtwisted.messages.feed import Feed
from dmtwisted.messages.kinds import Message
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.values import StoreFailed
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

STORED = (
    ("settings.", "GET /dm/api/v3/changes"),
    *((kind, "GET /dm/api/v3/receipts") for kind in ("document.", "shift.", "offline.", "payment.", "terminal.")),
    *((kind, "GET /dm/api/v3/receipts") for kind in ("batch.", "paper.")),
)
"""The same for stored events, by how their types begin."""

PORTION = 100
"""Stored events that are sent together."""

ASK_AGAIN = 30
"""Seconds after which a refused listener may try again."""


class EventStream(Resource):
    """The connections of all listeners; devices are watched while there is one."""

    isLeaf = True

    def __init__(
        self,
        devices: Devices,
        events: Events,
        feed: Feed,
        access: Access,
        clock: ServiceClock,
        default_language: str,
    ) -> None:
        super().__init__()
        self._events, self._clock, self._default_language = events, clock, default_language
        self._devices, self._access = devices, access
        access.listeners.append(self._send_away)
        self._watching = Watching(devices, events, clock)
        self._service = f"{clock.now():x}"
        self._connections: set[Line] = set()
        self._feed = feed

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
        if asked.get(b"stored") == [b"1"]:
            stored = StoredConnection(request, self._feed, self._clock, stored_filter(permit), who)
            self._connections.add(stored)
            request.notifyFinish().addBoth(self._left, stored)
            stored.begin(self._service)
            return NOT_DONE_YET
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

    def _left(self, reason: Failure | None, connection: Line) -> None:
        connection.end()
        self._connections.discard(connection)
        self._events.pages -= connection.page
        if not any(isinstance(other, Connection) for other in self._connections):
            self._watching.stop()


def stored_filter(permit: Permit) -> Callable[[Message], bool]:
    """Whether a stored event is of a device that ``permit`` covers, and tells nothing that it may not read."""
    unseen = tuple(begin for begin, route in STORED if not may(permit, route))

    def concerns(message: Message) -> bool:
        if message.type.startswith(unseen):
            return False
        return not permit.bound or (bool(message.device.id) and permit.covers(message.device.id))

    return concerns


_TOO_MANY = Text("забагато слухачів", "too many listeners")
_TOO_MANY_OF_ONE = Text(
    "забагато слухачів із цього комп’ютера, завершіть зайві сторінки",
    "too many listeners from this computer, close some pages",
)


@implementer(IPushProducer)
class Line:
    """The connection of one listener.

    One that takes nothing at all for `DEAD_AFTER` seconds is closed, so that it keeps no other one away.

    :param who: its address, as `group_of` has it.
    """

    page = False
    """Whether it is an open page."""

    def __init__(self, request: Request, clock: ServiceClock, who: str) -> None:
        self._request, self._clock = request, clock
        self.permit, self.who = permit_of(request), who
        self._paused_for = 0.0
        self._paused = False
        self._beat: IDelayedCall | None = None
        self._service = ""

    def begin(self, service: str) -> None:
        """Send ``hello`` and the events.

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
        self._beat = self._clock.callLater(HEARTBEAT, self._heartbeat)
        self._go_on(since)

    def _go_on(self, since: str) -> None:
        """Send everything after the event with this id."""
        raise NotImplementedError

    def end(self) -> None:
        """The connection is closed."""
        if self._beat is not None and self._beat.active():
            self._beat.cancel()

    def _hello(self, missed: bool, place: str = "") -> None:
        begin = b"id: %b\n" % place.encode() if place else b""
        data = _encode({"service": self._service, "missed": missed})
        self._write(b"%bevent: hello\ndata: %b\n\n" % (begin, data))

    def close(self) -> None:
        """End the connection: the listener may not hear any more."""
        self.end()
        self._request.unregisterProducer()
        self._request.finish()

    def _event(self, name: str, kind: str, data: bytes) -> None:
        self._write(b"id: %b\nevent: %b\ndata: %b\n\n" % (name.encode(), kind.encode(), data))

    def _heartbeat(self) -> None:
        self._paused_for = self._paused_for + HEARTBEAT if self._paused else 0.0
        if self._paused_for >= DEAD_AFTER:
            self._request.channel.forceAbortClient()
            return
        self._write(b": still here\n\n")
        self._beat = self._clock.callLater(HEARTBEAT, self._heartbeat)

    def _write(self, data: bytes) -> None:
        if not self._paused:
            self._request.write(data)

    # The listener's connection (IPushProducer)

    def pauseProducing(self) -> None:
        """The client is too slow."""
        self._paused = True

    def resumeProducing(self) -> None:
        """The client is ready again."""
        self._paused = False

    def stopProducing(self) -> None:
        """The client has disconnected."""
        self.end()


class Connection(Line):
    """A listener to what happens now. It misses events while it is too slow, and then gets a ``hello`` with
    ``missed``.

    :param concerns: whether the listener may hear of an event.
    """

    def __init__(
        self, request: Request, events: Events, clock: ServiceClock, concerns: Callable[[Event], bool], who: str
    ) -> None:
        super().__init__(request, clock, who)
        self._events, self._concerns = events, concerns
        self._lost = False

    def _go_on(self, since: str) -> None:
        before, missed = self._events.listen(self._send, since)
        self._request.write(b"retry: %d\n" % RETRY)
        self._hello(missed)
        for event in before:
            self._send(event)

    def end(self) -> None:
        """The connection is closed."""
        self._events.leave(self._send)
        self._events.retire(self.take)
        super().end()

    def _send(self, event: Event) -> None:
        if self._concerns(event):
            self._event(event.name, event.kind, _encode(event.data))

    def take(self, event: Event) -> bool:
        """Send an event of a customer; whether the listener gets it."""
        if self._paused or not self._concerns(event):
            return False
        self._send(event)
        return True

    def _write(self, data: bytes) -> None:
        if self._paused:
            self._lost = True
        super()._write(data)

    def resumeProducing(self) -> None:
        """The client is ready again."""
        super().resumeProducing()
        if self._lost:
            self._lost = False
            self._hello(missed=True)


class StoredConnection(Line):
    """A listener to the events of the store: it misses none, and gets each once, in order.

    A slow one gets the next part when it has taken the one before.
    """

    log = Logger()

    def __init__(
        self, request: Request, feed: Feed, clock: ServiceClock, concerns: Callable[[Message], bool], who: str
    ) -> None:
        super().__init__(request, clock, who)
        self._feed, self._concerns = feed, concerns
        self._ready: Deferred[None] | None = None
        self._ended = False
        self._pumping: Deferred[None] | None = None

    def _go_on(self, since: str) -> None:
        self._request.write(b"retry: %d\n" % RETRY)
        self._pumping = Deferred.fromCoroutine(self._pump(since))
        self._pumping.addErrback(self._broken)

    async def _pump(self, since: str) -> None:
        place, missed = await self._feed.resume(since) if since else (await self._feed.end(), False)
        # Who is cut off before the first event comes back with this id, and misses nothing either.
        self._hello(missed, await self._feed.name(place))
        while not self._ended:
            batch = await self._feed.read(place, PORTION)
            if batch.gone and not missed:
                missed = True
                self._hello(missed)
            for message in batch.messages:
                if self._concerns(message):
                    self._event(message.id, message.type, message.body)
            place = batch.until
            if self._held:
                self._ready = Deferred()
                await self._ready
            elif len(batch.messages) < PORTION:
                # What comes is read once for all: who asked again by itself would never wait while tills sell.
                await self._feed.more(place, HEARTBEAT)

    @property
    def _held(self) -> bool:
        return self._paused and not self._ended

    def _broken(self, why: Failure) -> None:
        """The store cannot be read, or the listener is gone; who comes back goes on where it was."""
        if why.check(StoreFailed, CancelledError) is None:
            self.log.failure("events could not be sent", why)
        if not self._ended:
            self.close()

    def _write(self, data: bytes) -> None:
        # Of a part that has begun nothing is left out: it is small.
        if not self._ended:
            self._request.write(data)

    def _heartbeat(self) -> None:
        if self._paused and self._paused_for + HEARTBEAT < DEAD_AFTER:
            # What waits already would only grow.
            self._paused_for += HEARTBEAT
            self._beat = self._clock.callLater(HEARTBEAT, self._heartbeat)
        else:
            super()._heartbeat()

    def end(self) -> None:
        """The connection is closed."""
        super().end()
        self._ended = True
        if self._pumping is not None:
            self._pumping.cancel()

    def resumeProducing(self) -> None:
        """The client is ready again."""
        super().resumeProducing()
        if self._ready is not None:
            ready, self._ready = self._ready, None
            ready.callback(None)


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
