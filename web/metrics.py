"""``/metrics``: the figures of the service in the text format of Prometheus."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.web.resource import Resource
from twisted.web.server import Request

from dmtwisted.core import Core
from dmtwisted.metrics import TYPE, render
from web.answers import answer_later, not_allowed

FRESH = 2.0
"""Seconds for which an answer is sent again, so that frequent callers do not load the store."""


class MetricsPage(Resource):
    """The current figures."""

    isLeaf = True

    def __init__(self, core: Core, default_language: str) -> None:
        super().__init__()
        self._core, self._default_language = core, default_language
        self._text, self._at = b"", -FRESH
        self._waiting: list[Deferred[bytes]] = []

    def render(self, request: Request) -> int | bytes:
        """The figures as text."""
        if request.method not in (b"GET", b"HEAD"):
            return not_allowed(request, b"GET, HEAD", self._default_language)
        headers = {b"content-type": [TYPE], b"cache-control": [b"no-store"]}
        return answer_later(request, Deferred.fromCoroutine(self._figures()), headers)

    async def _figures(self) -> bytes:
        """The answer, made once for all concurrent callers."""
        now = float(self._core.reactor.seconds())
        if now - self._at < FRESH:
            return self._text
        mine: Deferred[bytes] = Deferred()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            Deferred.fromCoroutine(render(self._core)).addBoth(self._made_now)
        return await mine

    def _made_now(self, made: bytes | Failure) -> None:
        waiting, self._waiting = self._waiting, []
        if isinstance(made, bytes):
            self._text, self._at = made, float(self._core.reactor.seconds())
        for one in waiting:
            one.callback(made) if isinstance(made, bytes) else one.errback(made)
