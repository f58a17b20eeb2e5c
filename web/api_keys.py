"""``/dm/api/v3/api-keys``: keys for programs, shown once (specification 5.5b)."""

from __future__ import annotations

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.access.api_keys import ApiKey, ApiKeys
from dmtwisted.access.roles import Role
from dmtwisted.clock import stamp17
from dmtwisted.devices.devices import Devices
from dmtwisted.results import Text
from web.answers import json_answer, language_of
from web.management import HttpRefusal, answer_errors, lasting, read_object
from web.users import granted, known_devices


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a new key; ``key`` is one that a program uses already, in any format, else a key is created."""

    name: str
    key: str = ""
    role: Role = Role.ADMINISTRATOR
    devices: list[str] = []


class KeyChange(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a change; what is not sent stays."""

    name: str | None = None
    role: Role | None = None
    devices: list[str] | None = None


class KeyRecord(msgspec.Struct):
    """A key without its secret part; a weak one could be guessed. `devices` are ids, for the roles that need them."""

    id: str
    name: str
    dt: str
    weak: bool
    role: Role
    devices: list[str]


class KeyList(msgspec.Struct):
    """Every key, without the keys themselves."""

    api_keys: list[KeyRecord]


class KeyMade(msgspec.Struct, omit_defaults=True):
    """A new key; no other answer shows it. `warning` is there when the key could be guessed."""

    id: str
    name: str
    key: str
    warning: str = ""


class ApiKeyApi:
    """Creates, lists and deletes keys."""

    app = Klein()
    answer_errors(app)

    def __init__(self, keys: ApiKeys, devices: Devices, default_language: str) -> None:
        self._keys, self._devices, self.default_language = keys, devices, default_language

    @app.route("/dm/api/v3/api-keys", methods=["POST"])
    async def make(self, request: IRequest) -> bytes:
        """A new key; this answer is the only one that shows it."""
        asked = read_object(request, NewKey)
        devices = known_devices(self._devices, asked.devices)
        made, key = await lasting(self._keys.make(asked.name, asked.key, asked.role, devices))
        warning = WEAK.for_language(language_of(request, self.default_language)) if made.weak else ""
        return json_answer(request, 201, KeyMade(made.id, made.name, key, warning))

    @app.route("/dm/api/v3/api-keys", methods=["GET"])
    def list(self, request: IRequest) -> bytes:
        """Every key by its name, without the keys themselves."""
        return json_answer(request, 200, KeyList([_record(key) for key in self._keys]))

    @app.route("/dm/api/v3/api-keys/<id>", methods=["PATCH"])
    async def change(self, request: IRequest, id: str) -> bytes:
        """Change the name, role or devices of a key, which stays the same."""
        asked = read_object(request, KeyChange)
        changes = granted(self._devices, asked.role, asked.devices)
        if asked.name is not None:
            changes["name"] = asked.name
        key = await lasting(self._keys.change(id, changes))
        if key is None:
            raise HttpRefusal(404, NO_SUCH_KEY)
        return json_answer(request, 200, _record(key))

    @app.route("/dm/api/v3/api-keys/<id>/replace", methods=["POST"])
    async def replace(self, request: IRequest, id: str) -> bytes:
        """A new key under the same name; the old one stops working at once."""
        made = await lasting(self._keys.replace(id))
        if made is None:
            raise HttpRefusal(404, NO_SUCH_KEY)
        return json_answer(request, 200, KeyMade(made[0].id, made[0].name, made[1]))

    @app.route("/dm/api/v3/api-keys/<id>", methods=["DELETE"])
    async def delete(self, request: IRequest, id: str) -> bytes:
        """Delete a key; it stops working at once."""
        if not await lasting(self._keys.remove(id)):
            raise HttpRefusal(404, NO_SUCH_KEY)
        request.setResponseCode(204)
        return b""


def _record(key: ApiKey) -> KeyRecord:
    return KeyRecord(key.id, key.name, stamp17(key.made_at), key.weak, key.role, [*key.devices])


NO_SUCH_KEY = Text("такого ключа немає", "there is no such key")

WEAK = Text(
    "Цей ключ можна вгадати: замініть його довгим випадковим, щойно програма це дозволить",
    "This key could be guessed: replace it with a long random one as soon as the program allows it",
)
