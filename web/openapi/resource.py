"""``/dm/api/v3/openapi.json`` and ``/dm/api/v3/postman.json``: the document, made when somebody asks for it.

A service that nobody asks keeps neither the document nor what makes it in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from klein import Klein
from twisted.web.iweb import IRequest
from twisted.web.resource import IResource

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

    def __init__(self, resources: Resources, default_language: str) -> None:
        self._resources, self.default_language = resources, default_language

    @app.route(OPENAPI.decode(), methods=["GET"])
    def openapi(self, request: IRequest) -> bytes:
        """This document, OpenAPI 3.1."""
        from web.openapi.document import make_document
        from web.openapi.routes import routes_of

        return json_answer(request, 200, make_document(routes_of(self._resources())))

    @app.route(POSTMAN.decode(), methods=["GET"])
    def postman(self, request: IRequest) -> bytes:
        """The same as a Postman collection."""
        from web.openapi.document import make_document
        from web.openapi.postman import make_collection
        from web.openapi.routes import routes_of

        return json_answer(request, 200, make_collection(make_document(routes_of(self._resources()))))
