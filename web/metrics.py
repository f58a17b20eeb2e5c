"""``/metrics``: the service in figures, for Prometheus and whatever reads its format."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from dmtwisted.core import Core
from web.answers import not_allowed, plain_answer

FRESH = 2.0
"""Seconds for which an answer is given again: who asks more often does not ask the store more often."""


class MetricsPage(Resource):
    """The figures of now."""

    isLeaf = True
    log = Logger()

    def __init__(self, core: Core, default_language: str) -> None:
        super().__init__()
        self._core, self._default_language = core, default_language
        self._text, self._at = b"", -FRESH
        self._waiting: list[Deferred[bytes]] = []

    def render(self, request: Request) -> int | bytes:
        """Tell them."""
        if request.method not in (b"GET", b"HEAD"):
            return not_allowed(request, b"GET, HEAD", self._default_language)
        Deferred.fromCoroutine(self._figures()).addCallbacks(
            self._send, self._failed, callbackArgs=(request,), errbackArgs=(request,)
        )
        return NOT_DONE_YET

    async def _figures(self) -> bytes:
        """The answer, made once for all who ask at the same time."""
        now = float(self._core.reactor.seconds())
        if now - self._at < FRESH:
            return self._text
        mine: Deferred[bytes] = Deferred()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            # Imported when somebody looks: the idle service does not carry it.
            from dmtwisted.metrics import told

            Deferred.fromCoroutine(told(self._core)).addBoth(self._made_now)
        return await mine

    def _made_now(self, made: bytes | Failure) -> None:
        waiting, self._waiting = self._waiting, []
        if isinstance(made, bytes):
            self._text, self._at = made, float(self._core.reactor.seconds())
        for one in waiting:
            one.callback(made) if isinstance(made, bytes) else one.errback(made)

    def _send(self, text: bytes, request: Request) -> None:
        if request.channel is None:
            return
        from dmtwisted.metrics import TYPE

        body = plain_answer(request, TYPE, text)
        request.setHeader(b"content-length", b"%d" % len(body))
        if request.method != b"HEAD":
            request.write(body)
        request.finish()

    def _failed(self, failure: Failure, request: Request) -> None:
        self.log.failure("the figures could not be told", failure)
        if request.channel is not None:
            request.setResponseCode(500)
            request.finish()
