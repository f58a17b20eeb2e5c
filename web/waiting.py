"""Tasks whose caller does not wait: ``Prefer: respond-async`` (RFC 7240), and the place to ask for the answer.

The task is the same, with the same rules of its tag; only its answer waits here. Places are in memory. After a
restart the place is unknown, and the tag tells what became of the task.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.server import NOT_DONE_YET, Request

from dmtwisted.registers.unheard import Caller
from dmtwisted.results import Refused, Res, Text
from web.answers import JSON, error_answer, json_answer

MOST_PLACES, MOST_BYTES = 1000, 32 << 20
"""Places at a time, and bytes of all answers in them; the oldest answers give way."""

KEPT_S = 600.0
"""Seconds for which an answer waits."""

LONGEST_WAIT = 60.0
"""Seconds for which one request waits for an answer."""

ASK_AGAIN = 1
"""Seconds after which a caller may ask again."""

ARGUMENT = b"answer"
"""The name of a place in an address."""

_SECONDS = re.compile(r"[0-9]{1,6}")
_EXPOSED = [b"x-request-id, location, retry-after, preference-applied"]

log = Logger()


class Accepted(msgspec.Struct):
    """The task is under way; `answer` is the address that has its answer when it ends."""

    status: str
    answer: str


def prefers_later(request: Request) -> bool:
    """Whether the caller does not wait for the answer of its task."""
    return "respond-async" in _preferences(request)


def waits(request: Request) -> float:
    """For how many seconds the caller waits all the same: ``wait`` in ``Prefer``, or in the address."""
    named = [wish.removeprefix("wait=").strip('"') for wish in _preferences(request) if wish.startswith("wait=")]
    named += [value.decode("latin-1") for value in request.args.get(b"wait", ())]
    seconds = [float(value) for value in named if _SECONDS.fullmatch(value)]
    return min(*seconds, LONGEST_WAIT) if seconds else 0.0


def _preferences(request: Request) -> list[str]:
    """The wishes in its headers ``Prefer``."""
    values = b",".join(request.requestHeaders.getRawHeaders(b"prefer", ())).decode("latin-1").lower()
    return [wish.replace(" ", "") for wish in re.split("[,;]", values)]


class Place:
    """Where the answer of one task waits.

    :param path: of the task's endpoint.
    :param request_id: of the request that brought the task.
    """

    def __init__(self, path: bytes, request_id: str, clock: IReactorTime) -> None:
        self.name = str(uuid4())
        self.path, self._request_id, self._clock = path, request_id, clock
        self.answer: bytes | None = None
        self.broken = False
        self.ended = 0.0
        self.left = False
        """Whether the answer gave way to others."""
        self._askers: dict[Request, IDelayedCall] = {}
        self._heard = False

    @property
    def over(self) -> bool:
        """Whether the task has ended."""
        return self.answer is not None or self.broken

    def received(self) -> bool | None:
        """Whether somebody received the answer: `None` while it waits."""
        late = self.over and self._clock.seconds() - self.ended >= KEPT_S
        return True if self._heard else False if self.left or self.broken or late else None

    def end(self, answer: bytes) -> None:
        """The task has ended with ``answer``."""
        self.answer = answer
        self._end()

    def fail(self, reason: Failure) -> None:
        """The task has no answer."""
        log.failure("a task could not be answered", reason)
        self.broken = True
        self._end()

    def tell(self, request: Request, wait: float) -> int:
        """Answer ``request`` when the task ends, or with 202 after ``wait`` seconds."""
        request.responseHeaders.setRawHeaders(b"access-control-expose-headers", _EXPOSED)
        request.setHeader(b"x-request-id", self._request_id.encode())
        if self.over:
            self._tell(request)
        elif wait <= 0:
            self._not_yet(request)
        else:
            self._askers[request] = self._clock.callLater(wait, self._not_yet, request)
            request.notifyFinish().addBoth(self._forget, request)
        return NOT_DONE_YET

    def _end(self) -> None:
        self.ended = self._clock.seconds()
        for asker in list(self._askers):
            self._tell(asker)

    def _tell(self, request: Request) -> None:
        if self.answer is None:
            request.setResponseCode(500)
        else:
            request.responseHeaders.setRawHeaders(b"content-type", JSON)
            request.setHeader(b"content-length", b"%d" % len(self.answer))
            request.write(self.answer)
            self._heard = True
        request.finish()

    def _not_yet(self, request: Request) -> None:
        address = b"%b?%b=%b" % (self.path, ARGUMENT, self.name.encode())
        request.setHeader(b"location", address)
        request.setHeader(b"retry-after", b"%d" % ASK_AGAIN)
        request.setHeader(b"preference-applied", b"respond-async")
        body = json_answer(request, 202, Accepted("running", address.decode("latin-1")))
        request.setHeader(b"content-length", b"%d" % len(body))
        request.write(body)
        request.finish()

    def _forget(self, _: object, request: Request) -> None:
        """It was answered, or its client has disconnected."""
        limit = self._askers.pop(request)
        if limit.active():
            limit.cancel()


class Places:
    """The places of the tasks of one service."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._places: dict[str, Place] = {}
        self._next: IDelayedCall | None = None

    def begin(self, path: bytes, request_id: str, begin: Callable[[Caller], Deferred[bytes]]) -> Place | None:
        """Begin a task whose answer waits; `None`, and nothing has begun, when too many are under way."""
        self._tidy()
        if len(self._places) >= MOST_PLACES:
            return None
        place = Place(path, request_id, self._clock)
        self._places[place.name] = place
        begin(place.received).addCallbacks(place.end, place.fail)
        if place.over:
            # It is answered at once, so nobody hears of the place.
            del self._places[place.name]
        elif self._next is None:
            self._tidy_later()
        return place

    def _tidy_later(self) -> None:
        """What waits in vain goes, also when no further task comes."""
        self._next = self._clock.callLater(KEPT_S, self._tidy_again)

    def _tidy_again(self) -> None:
        self._next = None
        self._tidy()
        if self._places:
            self._tidy_later()

    def find(self, path: bytes, name: str) -> Place | None:
        """The place with this name, of a task of this endpoint."""
        self._tidy()
        place = self._places.get(name)
        return place if place is not None and place.path == path else None

    def _tidy(self) -> None:
        """Let go what waits for too long, or is too much; what is under way stays."""
        over = [place for place in self._places.values() if place.over]
        over.sort(key=lambda place: place.ended)
        held, many, now = sum(len(place.answer or b"") for place in over), len(self._places), self._clock.seconds()
        for place in over:
            if many < MOST_PLACES and held <= MOST_BYTES and now - place.ended < KEPT_S:
                break
            held, many = held - len(place.answer or b""), many - 1
            place.left = True
            del self._places[place.name]


def unknown_place(request: Request, language: str) -> bytes:
    """404 with what to do."""
    return error_answer(request, 404, Refused(Res.NOT_NOW, note=_NO_PLACE), language)


_NO_PLACE = Text(
    "відповіді за цією адресою немає: минуло більш ніж 10 хвилин або сервіс перезапущено. Повторіть завдання з тим"
    " самим tag: його не буде виконано двічі",
    "there is no answer at this address: more than 10 minutes have passed, or the service was restarted. Repeat the"
    " task with the same tag: it is not done twice",
)
