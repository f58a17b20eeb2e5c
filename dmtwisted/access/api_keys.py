"""API keys, which programs send instead of logging in (specification 2.4, 5.5b)."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterator
from typing import Annotated, Any
from uuid import uuid4

import msgspec
from msgspec import Meta

from dmtwisted.access.roles import Role, check_devices
from dmtwisted.changes import Action, Area, Changes, Hidden
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.setting_row import SettingRow
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Change

KEY_BYTES = 32
"""Random bytes of a new key."""

LONGEST_KEY = 1000
"""Characters of a key that the user brings."""

WEAK_LENGTH, WEAK_VARIETY = 16, 6
"""A key with fewer characters, or fewer different ones, could be guessed."""

LONGEST_NAME = 100
MOST_KEYS = 100

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class ApiKey(msgspec.Struct, frozen=True):
    """The stored part of a key: enough to recognize it, but not to use it."""

    id: str
    name: str
    """The name that its owner gave it."""
    hash: str
    """SHA-256 of the key in hexadecimal digits; a random key of 256 bits needs no slower hash."""
    made_at: Annotated[int, Meta(description="Milliseconds since 1970")]
    weak: bool = False
    """Whether it could be guessed; the hash does not show it."""
    role: Role = Role.ADMINISTRATOR
    """What it may do; keys of earlier versions opened everything."""
    devices: tuple[str, ...] = ()
    """The ids of its devices, if its role is for some."""


def _shown(key: ApiKey | None) -> dict[str, object]:
    """A key for the journal of changes."""
    if key is None:
        return {}
    facts = {"name": key.name, "weak": key.weak, "key": Hidden(key.hash)}
    return {**facts, "role": key.role, "devices": list(key.devices)}


class ApiKeys:
    """The valid keys.

    :param ended: called after a key was changed or deleted.
    """

    def __init__(self, store: IStore, clock: ServiceClock, ended: Callable[[], None] = lambda: None) -> None:
        self._clock, self._changes, self._ended = clock, Changes(store, clock), ended
        self._row = SettingRow[tuple[ApiKey, ...]](store, "api_keys", tuple[ApiKey, ...], (), self._changed)

    async def open(self) -> None:
        """Read them from the store.

        :raises StoreFailed: when that fails.
        """
        await self._row.open()

    def _changed(self, before: tuple[ApiKey, ...], after: tuple[ApiKey, ...]) -> Change:
        """The record of the change of one key."""
        old, new = ({key.id: key for key in side} for side in (before, after))
        [(id, key)] = {id: key for id, key in {**old, **new}.items() if old.get(id) != new.get(id)}.items()
        action = Action.CREATED if id not in old else Action.DELETED if id not in new else Action.REPLACED
        if action is Action.REPLACED and old[id].hash == new[id].hash:
            action = Action.CHANGED
        sides = (_shown(side.get(id)) for side in (old, new))
        return self._changes.change(Area.API_KEY, action, *sides, subject=key.name, id=id)

    def __iter__(self) -> Iterator[ApiKey]:
        return iter(self._row.value)

    def fits(self, key: bytes) -> bool:
        """Whether ``key`` is valid; it is compared with every key in constant time."""
        return self.known(key) is not None

    def known(self, key: bytes) -> ApiKey | None:
        """The stored part of ``key``; `None` when it is not valid."""
        digest = hashlib.sha256(key).hexdigest()
        found = None
        for known in self:
            if hmac.compare_digest(known.hash, digest):
                found = known
        return found

    async def make(
        self, name: str, key: str = "", role: Role = Role.ADMINISTRATOR, devices: tuple[str, ...] = ()
    ) -> tuple[ApiKey, str]:
        """Add a key called ``name``; also returns the key itself, which cannot be read later.

        :param key: an existing key of any format (specification 2.4), for a program whose key cannot be changed; by
            default a new one.
        :param devices: the ids of its devices, if ``role`` is for some.
        :raises BadSettings: when the name or the key is invalid.
        :raises StoreFailed: when it could not be stored.
        """
        _check_name(name)
        if len(key) > LONGEST_KEY:
            raise BadSettings("key", f"at most {LONGEST_KEY} characters are taken")
        check_devices(role, devices)
        # No header can carry these.
        if _CONTROL.search(key):
            raise BadSettings("key", "no control characters are allowed")
        if key != key.strip():
            raise BadSettings("key", "no spaces are allowed at its ends")
        weak = bool(key) and (len(key) < WEAK_LENGTH or len(set(key)) < WEAK_VARIETY)
        key = key or secrets.token_urlsafe(KEY_BYTES)
        hash = hashlib.sha256(key.encode()).hexdigest()
        made = ApiKey(str(uuid4()), name, hash, self._clock.now(), weak, role, devices)

        def added(keys: tuple[ApiKey, ...]) -> tuple[ApiKey, ...]:
            if len(keys) >= MOST_KEYS:
                raise BadSettings("name", f"there are {MOST_KEYS} keys already; delete one first")
            if any(hmac.compare_digest(known.hash, hash) for known in keys):
                raise BadSettings("key", "this key exists already")
            return (*keys, made)

        await self._row.change(added)
        return made, key

    async def replace(self, id: str) -> tuple[ApiKey, str] | None:
        """Replace the key ``id``, which becomes invalid, with a new one; `None` when there is no such key.

        :raises StoreFailed: when it is unknown which of them is stored.
        """
        key = secrets.token_urlsafe(KEY_BYTES)
        hash, now = hashlib.sha256(key.encode()).hexdigest(), self._clock.now()

        def replaced(keys: tuple[ApiKey, ...]) -> tuple[ApiKey, ...]:
            return tuple(
                msgspec.structs.replace(known, hash=hash, made_at=now, weak=False) if known.id == id else known
                for known in keys
            )

        try:
            after = await self._row.change(replaced)
        finally:
            self._ended()
        return next(((known, key) for known in after if known.id == id), None)

    async def change(self, id: str, changes: dict[str, Any]) -> ApiKey | None:
        """Change the name, role or devices of the key ``id``; `None` when there is no such key.

        :raises BadSettings: when the name is invalid, or the devices do not fit the role.
        :raises StoreFailed: when it is unknown whether it was changed.
        """

        def changed(known: ApiKey) -> ApiKey:
            after = msgspec.structs.replace(known, **changes)
            _check_name(after.name)
            check_devices(after.role, after.devices)
            return after

        try:
            after = await self._row.change(lambda keys: tuple(changed(one) if one.id == id else one for one in keys))
        finally:
            self._ended()
        return next((known for known in after if known.id == id), None)

    async def remove(self, id: str) -> bool:
        """Delete the key ``id``; whether there was one.

        :raises StoreFailed: when it is unknown whether it was deleted.
        """
        before = len(self._row.value)
        try:
            after = await self._row.change(lambda keys: tuple(known for known in keys if known.id != id))
        finally:
            self._ended()
        return len(after) < before


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadSettings("name", f"a name of 1 to {LONGEST_NAME} characters is expected")
