"""``GET /dm/api/v3/events``: what happens in the service as server-sent events.

The wire is the one that browsers read by themselves (`EventSource`): each event has an id, a kind and JSON::

    id: 19e1b2c3d4-17
    event: task_ended
    data: {"device":"test","type":1,"task":1,"tag":"...","res":0,"errortxt":""}

============== =========================================== =============================================
kind           when                                        data
============== =========================================== =============================================
hello          first of every connection                   service, missed
task_begun     a task came in                              device, type, task, tag
task_ended     a task was answered                         the same, res, errortxt
shift          a shift was opened or closed                device, open
warning        an answer carried a warning                 device, code, text
device         a device stands otherwise, came or went     device, dev_id, kind, state; or dev_id, gone
job            a print job began, or its fate is known     device, dev_id, job
offline        a register went offline, or came back       device, dev_id, offline
progress       a terminal does something else              device, dev_id, state, text
unfinished     a batch stays open until a person acts        operation, tag, why
changed        somebody changed what the service keeps     method, path
============== =========================================== =============================================

``missed`` in a ``hello`` says that events may have been lost since the id that the client named: it then looks at
everything anew. A comment is sent every `HEARTBEAT` seconds, so that a line that broke is noticed at both ends.
"""

from __future__ import annotations

import msgspec
from twisted.internet.interfaces import IDelayedCall, IPushProducer
from twisted.python.failure import Failure
from twisted.web.resource import IResource, Resource
from twisted.web.server import NOT_DONE_YET, Request
from zope.interface import implementer

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Devices
from dmtwisted.events import Event, Events
from dmtwisted.results import Refused, Res
from dmtwisted.watching import Watching
from web.answers import error_answer, language_of, not_allowed

HEARTBEAT = 15.0
"""Seconds between two signs of life."""

RETRY = 2000
"""Milliseconds after which a browser connects anew."""

MOST_LISTENERS = 64
"""Connections at a time; one more is told to come later, so that forgotten pages cannot use up the service."""


class EventStream(Resource):
    """Every listener's connection, and the looking at devices while there is one."""

    isLeaf = True

    def __init__(self, devices: Devices, events: Events, clock: ServiceClock, default_language: str) -> None:
        super().__init__()
        self._events, self._clock, self._default_language = events, clock, default_language
        self._watching = Watching(devices, events, clock)
        self._service = f"{clock.now():x}"
        self._connections: set[Connection] = set()

    def render(self, request: Request) -> int | bytes:
        """Begin to tell."""
        if request.method != b"GET":
            return not_allowed(request, b"GET", self._default_language)
        if len(self._connections) >= MOST_LISTENERS:
            refused = Refused(Res.DEVICE_BUSY, note="too many listeners")
            return error_answer(request, 503, refused, language_of(request, self._default_language))
        connection = Connection(request, self._events, self._clock)
        self._connections.add(connection)
        request.notifyFinish().addErrback(self._left, connection)
        self._watching.start()
        connection.begin(self._service)
        return NOT_DONE_YET

    def _left(self, reason: Failure, connection: Connection) -> None:
        connection.end()
        self._connections.discard(connection)
        if not self._connections:
            self._watching.stop()


@implementer(IPushProducer)
class Connection:
    """One listener. What comes while it does not keep up is left out, and it is told so afterwards."""

    def __init__(self, request: Request, events: Events, clock: ServiceClock) -> None:
        self._request, self._events, self._clock = request, events, clock
        self._paused = self._lost = False
        self._beat: IDelayedCall | None = None
        self._service = ""

    def begin(self, service: str) -> None:
        """Greet, tell what was missed, and tell on.

        :param service: a name of this run of the service: another one means that it was started anew.
        """
        request, self._service = self._request, service
        request.setHeader(b"content-type", b"text/event-stream; charset=utf-8")
        request.setHeader(b"cache-control", b"no-store")
        # What stands between us and the browser shall not collect events until there are many of them.
        request.setHeader(b"x-accel-buffering", b"no")
        since = (request.getHeader(b"last-event-id") or b"").decode("latin-1")
        request.registerProducer(self, True)
        before, missed = self._events.listen(self._told, since)
        request.write(b"retry: %d\n" % RETRY)
        self._hello(missed)
        for event in before:
            self._told(event)
        self._beat = self._clock.callLater(HEARTBEAT, self._sign_of_life)

    def end(self) -> None:
        """The line is gone."""
        self._events.leave(self._told)
        if self._beat is not None and self._beat.active():
            self._beat.cancel()

    def _hello(self, missed: bool) -> None:
        self._write(b"event: hello\ndata: %b\n\n" % _encode({"service": self._service, "missed": missed}))

    def _told(self, event: Event) -> None:
        self._write(
            b"id: %b\nevent: %b\ndata: %b\n\n" % (event.name.encode(), event.kind.encode(), _encode(event.data))
        )

    def _sign_of_life(self) -> None:
        self._write(b": still here\n\n")
        self._beat = self._clock.callLater(HEARTBEAT, self._sign_of_life)

    def _write(self, data: bytes) -> None:
        if self._paused:
            self._lost = True
        else:
            self._request.write(data)

    # The listener's line (IPushProducer)

    def pauseProducing(self) -> None:
        """It does not keep up."""
        self._paused = True

    def resumeProducing(self) -> None:
        """It is ready again."""
        self._paused = False
        if self._lost:
            self._lost = False
            self._hello(missed=True)

    def stopProducing(self) -> None:
        """It is gone."""
        self.end()


_encode = msgspec.json.Encoder().encode


class Announcing(Resource):
    """A resource whose successful changes are told to listeners: devices made and deleted, operations settled."""

    isLeaf = True

    def __init__(self, inner: IResource, events: Events) -> None:
        super().__init__()
        self._inner, self._events = inner, events

    def render(self, request: Request) -> int | bytes:
        """Let the request through, and tell when it has changed something."""
        if request.method not in (b"GET", b"HEAD", b"OPTIONS") and self._events.watched:
            method, path = request.method.decode("latin-1"), request.path.decode("latin-1")

            def finished(_: object) -> None:
                if request.code < 400:
                    self._events.publish("changed", method=method, path=path)

            request.notifyFinish().addCallbacks(finished, lambda _: None)
        answer: int | bytes = self._inner.render(request)
        return answer
