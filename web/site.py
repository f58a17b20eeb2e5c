"""The whole door: which path leads where, and how much of a request is let in."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from twisted.web.http import Request as HTTPRequest
from twisted.web.resource import IResource, Resource
from twisted.web.server import Request, Site

from dmtwisted.core import Core
from dmtwisted.requests import MAX_BODY
from web.answers import not_found
from web.devices import DeviceApi
from web.health import Health
from web.tasks import TaskResource
from web.training import TrainingApi

IDLE_CONNECTION = 120.0
"""Seconds that a connection may stay open without a request."""


class BoundedRequest(Request):
    """A request that keeps at most one byte more than is taken; the rest of a body is read and dropped.

    So whoever sends too much still hears why, and memory does not pay for it.
    """

    def gotLength(self, length: int | None) -> None:
        """The body begins: it stays in memory, for it is bounded."""
        self.content = BytesIO()

    def handleContentChunk(self, data: bytes) -> None:
        """A piece of the body."""
        content = self.content
        assert content is not None
        room = MAX_BODY + 1 - content.tell()
        if room > 0:
            content.write(data[:room])


class Nothing(Resource):
    """Every path that leads nowhere."""

    isLeaf = True

    def render(self, request: Request) -> bytes:
        """404 as JSON."""
        return not_found(request)


class Door(Site):
    """The site: task endpoints and probes by their exact path, everything else by the start of it."""

    def __init__(self, core: Core) -> None:
        language = core.config.service.language
        # Without the flag twisted.web parses the content type of every POST as if it were mail (docs/performance.md).
        super().__init__(
            Nothing(), requestFactory=BoundedRequest, timeout=IDLE_CONNECTION, parsePOSTFormSubmission=False
        )
        execute = core.dispatcher.execute
        tasks = TaskResource(execute, language)
        self._exact: dict[bytes, IResource] = {
            b"/dm/execute": tasks,
            b"/dm/execute-prn": tasks,
            b"/dm/execute-pkg": tasks,
            b"/health/live": Health(lambda: True),
            b"/health/ready": Health(lambda: core.ready),
        }
        devices = DeviceApi(core.devices, language).app.resource()
        self._starts: list[tuple[bytes, Any]] = [
            (b"/dm/api/v3/devices", devices),
            (b"/dm/api/v3/drivers", devices),
        ]
        if core.config.service.training:
            self._starts.append((b"/dm/api/v3/training", TrainingApi(core.clock, language).app.resource()))

    def getResourceFor(self, request: Request) -> IResource:
        """Where ``request`` leads."""
        request.site = self
        path = request.path
        exact = self._exact.get(path)
        if exact is not None:
            return exact
        for start, resource in self._starts:
            if path == start or path.startswith(start + b"/"):
                found: IResource = resource
                return found
        return self.resource  # type: ignore[no-any-return]

    def log(self, request: HTTPRequest) -> None:
        """Tasks log themselves, with more than an access log would tell."""
