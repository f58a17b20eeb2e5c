"""``/dm/api/v3/users``: the people who may log in, and what each may do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.access.login import Access, Person, TryLater, WrongLogin
from dmtwisted.access.roles import Role
from dmtwisted.devices.devices import Devices
from dmtwisted.devices.driver import BadSettings
from dmtwisted.results import Text
from web.answers import Done, json_answer
from web.management import HttpRefusal, answer_errors, lasting, read_object
from web.rights import permit_of


class NewPerson(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a new person; `devices` are ids, for the roles cashier and integrator."""

    login: str
    password: str
    role: Role
    devices: list[str] = []


class PersonChange(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a change; what is not sent stays."""

    login: str | None = None
    password: str = ""
    role: Role | None = None
    devices: list[str] | None = None


class OwnPassword(msgspec.Struct, forbid_unknown_fields=True):
    """The body with which a person changes their password."""

    old: str
    password: str


class PersonRecord(msgspec.Struct):
    """A person; `devices` are ids."""

    id: str
    login: str
    role: Role
    devices: list[str]


class PersonList(msgspec.Struct):
    """Everybody who may log in; nobody while no login is required."""

    users: list[PersonRecord]


class UserApi:
    """Creates, lists, changes and deletes people."""

    app = Klein()
    answer_errors(app)

    def __init__(self, access: Access, devices: Devices, default_language: str) -> None:
        self._access, self._devices, self.default_language = access, devices, default_language

    @app.route("/dm/api/v3/users", methods=["GET"])
    def list(self, request: IRequest) -> bytes:
        """Everybody who may log in."""
        return json_answer(request, 200, PersonList([_record(person) for person in self._access.people]))

    @app.route("/dm/api/v3/users", methods=["POST"])
    async def add(self, request: IRequest) -> bytes:
        """Let another person log in; the first login is set with the settings."""
        asked = read_object(request, NewPerson)
        if not self._access.on:
            raise HttpRefusal(409, _LOGIN_FIRST)
        devices = known_devices(self._devices, asked.devices)
        person = await lasting(self._access.add(asked.login, asked.password, asked.role, devices))
        return json_answer(request, 201, _record(person))

    @app.route("/dm/api/v3/users/<id>", methods=["PATCH"])
    async def change(self, request: IRequest, id: str) -> bytes:
        """Change login, password, role or devices; the person's sessions end at once."""
        asked = read_object(request, PersonChange)
        changes = granted(self._devices, asked.role, asked.devices)
        if asked.login is not None:
            changes["login"] = asked.login
        person = await lasting(self._access.change(id, changes, asked.password))
        if person is None:
            raise HttpRefusal(404, NO_SUCH_PERSON)
        return json_answer(request, 200, _record(person))

    @app.route("/dm/api/v3/users/<id>", methods=["DELETE"])
    async def delete(self, request: IRequest, id: str) -> bytes:
        """Delete a person, whose sessions end at once; the last administrator stays."""
        if not await lasting(self._access.remove(id)):
            raise HttpRefusal(404, NO_SUCH_PERSON)
        request.setResponseCode(204)
        return b""

    @app.route("/dm/api/v3/users/me/password", methods=["POST"])
    async def change_own(self, request: IRequest) -> bytes:
        """Change the password of who is logged in; their sessions end at once."""
        asked = read_object(request, OwnPassword)
        if not isinstance(permit_of(request).source, Person):
            raise HttpRefusal(409, _NOBODY_LOGGED_IN)
        address = str(getattr(request.getClientAddress(), "host", ""))
        try:
            await lasting(self._access.change_own(permit_of(request), asked.old, asked.password, address))
        except WrongLogin:
            raise BadSettings("old", "the old password is wrong") from None
        except TryLater as later:
            seconds = math.ceil(later.seconds)
            request.setHeader(b"retry-after", b"%d" % seconds)
            raise HttpRefusal(429, _LATER) from None
        return json_answer(request, 200, Done())


NO_SUCH_PERSON = Text("такої людини немає", "there is no such person")
_LOGIN_FIRST = Text("спершу увімкніть вхід за паролем", "switch the login on first")
_NOBODY_LOGGED_IN = Text("ніхто не ввійшов", "nobody is logged in")
_LATER = Text("забагато спроб, спробуйте за хвилину", "too many attempts, try again in a minute")


def known_devices(devices: Devices, ids: Sequence[str]) -> tuple[str, ...]:
    """``ids``, each once.

    :raises BadSettings: when there is no such device.
    """
    there = {device.row.dev_id for device in devices}
    for id in ids:
        if id not in there:
            raise BadSettings("devices", "the id of a device is expected")
    return tuple(dict.fromkeys(ids))


def granted(devices: Devices, role: Role | None, ids: Sequence[str] | None) -> dict[str, Any]:
    """The changes of role and devices that a body asks for.

    :raises BadSettings: when there is no such device.
    """
    changes: dict[str, Any] = {} if role is None else {"role": role}
    return changes if ids is None else {**changes, "devices": known_devices(devices, ids)}


def _record(person: Person) -> PersonRecord:
    return PersonRecord(person.id, person.login, person.role, [*person.devices])
