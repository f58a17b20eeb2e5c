"""``/dm/api/v3/api-keys``: keys for programs, shown once (specification 5.5.2, design 10)."""

from __future__ import annotations

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.access.api_keys import ApiKeys
from dmtwisted.clock import stamp17
from dmtwisted.results import Refused, Res
from web.answers import error_answer, json_answer, language_of
from web.management import answer_errors, lasting, read_object


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a new key; ``key`` is one that is in use already, else one is made."""

    name: str
    key: str = ""


class KeyRecord(msgspec.Struct):
    """A key by its name."""

    id: str
    name: str
    dt: str


class KeyList(msgspec.Struct):
    """Every key, without the keys themselves."""

    api_keys: list[KeyRecord]


class KeyMade(msgspec.Struct):
    """A new key; no other answer shows it."""

    id: str
    name: str
    key: str


class ApiKeyApi:
    """Keys made, listed and deleted."""

    app = Klein()
    answer_errors(app)

    def __init__(self, keys: ApiKeys, default_language: str) -> None:
        self._keys, self.default_language = keys, default_language

    @app.route("/dm/api/v3/api-keys", methods=["POST"])
    async def make(self, request: IRequest) -> bytes:
        """A new key; this answer is the only one that shows it."""
        asked = read_object(request, NewKey)
        made, key = await lasting(self._keys.make(asked.name, asked.key))
        return json_answer(request, 201, KeyMade(made.id, made.name, key))

    @app.route("/dm/api/v3/api-keys", methods=["GET"])
    def list(self, request: IRequest) -> bytes:
        """Every key by its name, without the keys themselves."""
        records = [KeyRecord(key.id, key.name, stamp17(key.made_at)) for key in self._keys]
        return json_answer(request, 200, KeyList(records))

    @app.route("/dm/api/v3/api-keys/<id>/replace", methods=["POST"])
    async def replace(self, request: IRequest, id: str) -> bytes:
        """Another key under the same name; the old one opens nothing from now on."""
        made = await lasting(self._keys.replace(id))
        if made is None:
            return self._none(request)
        return json_answer(request, 200, KeyMade(made[0].id, made[0].name, made[1]))

    @app.route("/dm/api/v3/api-keys/<id>", methods=["DELETE"])
    async def delete(self, request: IRequest, id: str) -> bytes:
        """Forget a key: from now on it opens nothing."""
        if not await lasting(self._keys.remove(id)):
            return self._none(request)
        request.setResponseCode(204)
        return b""

    def _none(self, request: IRequest) -> bytes:
        refused = Refused(Res.MALFORMED, "there is no such key")
        return error_answer(request, 404, refused, language_of(request, self.default_language))
