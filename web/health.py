"""``/health/live`` and ``/health/ready``: whether the process runs and can take tasks
(docs/reference/http-interface.md#health).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
from twisted.web.resource import Resource
from twisted.web.server import Request

from web.answers import json_answer, not_allowed


class Probe(msgspec.Struct):
    """Whether the service is healthy."""

    status: Literal["ok", "not ready"]


class Health(Resource):
    """One probe: 200 while ``healthy`` says so, else 503."""

    isLeaf = True

    def __init__(self, healthy: Callable[[], bool], default_language: str) -> None:
        super().__init__()
        self._healthy, self._default_language = healthy, default_language

    def render(self, request: Request) -> bytes:
        """The state as JSON."""
        if request.method not in (b"GET", b"HEAD"):
            return not_allowed(request, b"GET, HEAD", self._default_language)
        healthy = self._healthy()
        return json_answer(request, 200 if healthy else 503, Probe("ok" if healthy else "not ready"))
