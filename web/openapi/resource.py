"""``/dm/api/v3/openapi.json`` and ``/dm/api/v3/postman.json``: the document, made on demand.

Until the first request the service has neither the document nor the code that makes it in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.clock import ServiceClock
from web.answers import json_answer
from web.management import answer_errors

OPENAPI = b"/dm/api/v3/openapi.json"
POSTMAN = b"/dm/api/v3/postman.json"

Paths = Callable[[], Mapping[bytes, Klein | None]]


class DocumentApi:
    """The description of the interface for programs.

    :param paths: every path of the service, with the routes of those that have some.
    """

    app = Klein()
    answer_errors(app)

    def __init__(self, paths: Paths, clock: ServiceClock, default_language: str) -> None:
        self._paths, self._clock, self.default_language = paths, clock, default_language
        self._made: dict[bytes, bytes] = {}

    @app.route(OPENAPI.decode(), methods=["GET"])
    async def openapi(self, request: IRequest) -> bytes:
        """This document, OpenAPI 3.1."""
        return await self._document(request, OPENAPI)

    @app.route(POSTMAN.decode(), methods=["GET"])
    async def postman(self, request: IRequest) -> bytes:
        """The same as a Postman collection."""
        return await self._document(request, POSTMAN)

    async def _document(self, request: IRequest, which: bytes) -> bytes:
        made = self._made.get(which)
        if made is None:
            # The first time takes a while; tills must not wait for it.
            made = self._made[which] = await self._clock.aside(_made, which, self._paths)
        return json_answer(request, 200, msgspec.Raw(made))


def _made(which: bytes, paths: Paths) -> bytes:
    from web.openapi.document import make_document
    from web.openapi.postman import make_collection
    from web.openapi.routes import routes_of

    document = make_document(routes_of(paths()))
    return msgspec.json.encode(document if which == OPENAPI else make_collection(document))
