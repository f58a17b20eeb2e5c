"""``/dm/execute`` and its neighbours: plain resources, because every sale passes them.

Klein's routing and the form parser of a POST together cost two thirds of a small request, so these paths use
neither (docs/performance.md). An answer is HTTP 200 and JSON whatever its ``res``
(docs/reference/http-interface.md#transport).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.http import OK
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from dmtwisted.devices.devices import TRUSTED
from dmtwisted.papers import DEFAULT_PRINTER
from dmtwisted.registers.unheard import Caller, caller
from dmtwisted.requests import MAX_BODY
from dmtwisted.system.logs import clean_request_id, new_request_id, request_id
from web.answers import JSON, allow_any_origin, language_of, not_allowed
from web.waiting import ARGUMENT, Places, prefers_later, unknown_place, waits

log = Logger()

Execute = Callable[..., Coroutine[Any, Any, bytes]]
Trusts = Callable[[Any], bool]


class Asked(NamedTuple):
    """What the head of a request says about its task; ``name`` is the id that the caller gave it."""

    name: str | None
    language: str
    more: tuple[str, ...]


class TaskResource(Resource):
    """One task endpoint; ``execute`` makes the answer from the body and the language.

    :param more: what ``execute`` gets of the request besides.
    :param trusts: whether the caller of a request may hear the names of all devices.
    :param places: where answers wait for callers that do not; without them every caller waits.
    """

    isLeaf = True

    def __init__(
        self,
        execute: Execute,
        default_language: str,
        more: Callable[[Request], tuple[str, ...]] | None = None,
        trusts: Trusts = lambda request: False,
        places: Places | None = None,
    ) -> None:
        super().__init__()
        self._trusts, self._places = trusts, places
        self._execute, self._default_language, self._more = execute, default_language, more

    def render(self, request: Request) -> int | bytes:
        """Execute a task, answer a preflight of a browser, or refuse another HTTP method."""
        allow_any_origin(request)
        if request.method == b"POST":
            return self._task(request)
        if request.method == b"OPTIONS":
            request.setResponseCode(204)
            return b""
        name = request.args.get(ARGUMENT) if self._places is not None and request.method == b"GET" else None
        if name is None:
            return not_allowed(request, b"POST, OPTIONS", self._default_language)
        return self._found(request, name[-1].decode("latin-1"))

    def asked(self, request: Any) -> Asked:
        """What the head of a request says about its task."""
        return Asked(
            clean_request_id(request.getHeader(b"x-request-id")),
            language_of(request, self._default_language),
            () if self._more is None else self._more(request),
        )

    def begin(
        self, request: Any, name: str, asked: Asked, body: bytes, received: Caller | None = None
    ) -> Deferred[bytes]:
        """Begin the task of a request; fires with the answer.

        :param name: the id of the request.
        :param received: whether the caller received the answer; that of ``request`` itself by default.
        """
        received = received or partial(_received, request)
        return Deferred.fromCoroutine(self._run(request, name, asked, body, received))

    async def _run(self, request: Any, name: str, asked: Asked, body: bytes, received: Caller) -> bytes:
        # A task has a context of its own: what is set here is for this one alone.
        request_id.set(name)
        TRUSTED.set(partial(self._trusts, request))
        caller.set(received)
        return await self._execute(body, asked.language, *asked.more)

    def _found(self, request: Request, name: str) -> int | bytes:
        """The answer of a task whose caller did not wait."""
        assert self._places is not None
        place, language = self._places.find(request.path, name), language_of(request, self._default_language)
        if place is None:
            return unknown_place(request, language)
        return place.tell(request, waits(request))

    def _task(self, request: Request) -> int:
        asked = self.asked(request)
        name = asked.name or new_request_id()
        content = request.content
        assert content is not None
        # One byte more than is accepted shows that a body is too long.
        body = content.read(MAX_BODY + 1)
        if self._places is not None and prefers_later(request):
            place = self._places.begin(request.path, name, partial(self.begin, request, name, asked, body))
            if place is not None:
                return place.tell(request, waits(request))
        answer = self.begin(request, name, asked, body)

        def send(answer: bytes) -> None:
            # The client may have disconnected; the task was done all the same.
            if request.channel is None:
                return
            headers = request.responseHeaders
            headers.setRawHeaders(b"content-type", JSON)
            headers.setRawHeaders(b"content-length", [b"%d" % len(answer)])
            headers.setRawHeaders(b"x-request-id", [name.encode()])
            request.write(answer)
            request.finish()

        def broken(reason: Failure) -> None:
            # A task is answered whatever happens to it; this is an error of the answering itself.
            log.failure("a task could not be answered", reason)
            if request.channel is not None:
                request.setResponseCode(500)
                request.finish()

        answer.addCallback(send).addErrback(broken)
        return NOT_DONE_YET


def _received(request: Any) -> bool | None:
    """Whether the answer was written: `None` not yet, false when the client disconnected before."""
    if request.finished:
        return bool(request.code == OK)
    return None if request.channel is not None else False


def printer_of(request: Request) -> tuple[str]:
    """The printer that the query names (docs/reference/http-interface.md#printing-after-a-task)."""
    named: list[bytes] = request.args.get(b"dev_id", [])
    return (named[-1].decode("utf-8", "replace") if named and named[-1] else DEFAULT_PRINTER,)
