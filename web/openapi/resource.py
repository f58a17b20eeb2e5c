"""``/dm/api/v3/openapi.json`` and ``/dm/api/v3/postman.json``: the document, made when somebody asks for it.

A service that nobody asks keeps neither the document nor what makes it in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest
from twisted.web.resource import IResource

from dmtwisted.clock import ServiceClock
from web.answers import json_answer
from web.management import answer_errors

OPENAPI = b"/dm/api/v3/openapi.json"
POSTMAN = b"/dm/api/v3/postman.json"

Resources = Callable[[], Iterable[tuple[bytes, IResource]]]


class DocumentApi:
    """The interface, told to machines.

    :param resources: what the service answers with, to find the routes in.
    """

    app = Klein()
    answer_errors(app)

    def __init__(self, resources: Resources, clock: ServiceClock, default_language: str) -> None:
        self._resources, self._clock, self.default_language = resources, clock, default_language
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
            # It takes a while the first time, and tills do not wait for it.
            made = self._made[which] = await self._clock.aside(_made, which, self._resources)
        return json_answer(request, 200, msgspec.Raw(made))


def _made(which: bytes, resources: Resources) -> bytes:
    from web.openapi.document import make_document
    from web.openapi.postman import make_collection
    from web.openapi.routes import routes_of

    document = make_document(routes_of(resources()))
    return msgspec.json.encode(document if which == OPENAPI else make_collection(document))
