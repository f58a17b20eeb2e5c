"""``/dm/execute`` and its neighbours: plain resources, for they are on the way of every sale.

Klein's routing and the form parser of a POST together cost two thirds of a small request, so these paths stand in
front of both (docs/performance.md). An answer is HTTP 200 and JSON whatever its ``res`` (http-api 0.3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from dmtwisted.papers import DEFAULT_PRINTER
from dmtwisted.requests import MAX_BODY
from dmtwisted.system.logs import clean_request_id, new_request_id, request_id
from web.answers import JSON, allow_any_origin, language_of, not_allowed

log = Logger()

Execute = Callable[..., Coroutine[Any, Any, bytes]]


class TaskResource(Resource):
    """One task endpoint; ``execute`` makes the answer out of the body and the language.

    :param prints: whether the paper goes to the printer that ``dev_id`` names, and ``execute`` is told which.
    """

    isLeaf = True

    def __init__(self, execute: Execute, default_language: str, prints: bool = False) -> None:
        super().__init__()
        self._execute, self._default_language, self._prints = execute, default_language, prints

    def render(self, request: Request) -> int | bytes:
        """A task, a pre-flight of a browser, or a method that is not there."""
        allow_any_origin(request)
        if request.method == b"POST":
            return self._task(request)
        if request.method == b"OPTIONS":
            request.setResponseCode(204)
            return b""
        return not_allowed(request, b"POST, OPTIONS", self._default_language)

    def _task(self, request: Request) -> int:
        name = clean_request_id(request.getHeader(b"x-request-id")) or new_request_id()
        content = request.content
        assert content is not None
        # One byte more than is taken tells a body that is too long from one that is just not.
        body = content.read(MAX_BODY + 1)
        language = language_of(request, self._default_language)
        # The task runs in a copy of this context, so its log lines carry the name and nobody else's do.
        before = request_id.set(name)
        more = (_printer(request),) if self._prints else ()
        answer = Deferred.fromCoroutine(self._execute(body, language, *more))
        request_id.reset(before)

        def send(answer: bytes) -> None:
            # The caller may have hung up: the task went on, only its answer has nobody to go to.
            if request.channel is None:
                return
            headers = request.responseHeaders
            headers.setRawHeaders(b"content-type", JSON)
            headers.setRawHeaders(b"content-length", [b"%d" % len(answer)])
            headers.setRawHeaders(b"x-request-id", [name.encode()])
            request.write(answer)
            request.finish()

        def broken(reason: Failure) -> None:
            # Tasks are answered whatever happens to them; this is a fault in answering itself.
            log.failure("a task could not be answered", reason)
            if request.channel is not None:
                request.setResponseCode(500)
                request.finish()

        answer.addCallback(send).addErrback(broken)
        return NOT_DONE_YET


def _printer(request: Request) -> str:
    """The printer that the query names (http-api 4)."""
    named: list[bytes] = request.args.get(b"dev_id", [])
    return named[-1].decode("utf-8", "replace") if named and named[-1] else DEFAULT_PRINTER
