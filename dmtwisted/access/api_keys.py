"""API keys: what programs show instead of logging in (specification 2.4, 5.5.2)."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from typing import Annotated
from uuid import uuid4

import msgspec
from msgspec import Meta

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.setting_row import SettingRow
from dmtwisted.store.interface import IStore

KEY_BYTES = 32
"""Random bytes of a key that is made here."""

SHORTEST_KEY, LONGEST_KEY = 16, 200
"""Characters of a key that somebody brings along: a shorter one could be guessed."""

LONGEST_NAME = 100
MOST_KEYS = 100


class ApiKey(msgspec.Struct, frozen=True):
    """What is kept of a key: enough to know it again, too little to use it."""

    id: str
    name: str
    """What its owner calls it."""
    hash: str
    """SHA-256 of the key in hexadecimal digits; a random key of 256 bits needs no slower hash."""
    made_at: Annotated[int, Meta(description="Milliseconds since 1970")]


class ApiKeys:
    """The keys that are known."""

    def __init__(self, store: IStore, clock: ServiceClock) -> None:
        self._clock = clock
        self._row = SettingRow[tuple[ApiKey, ...]](store, "api_keys", tuple[ApiKey, ...], ())

    async def open(self) -> None:
        """Read them from the store.

        :raises StoreFailed: when that fails.
        """
        await self._row.open()

    def __iter__(self) -> Iterator[ApiKey]:
        return iter(self._row.value)

    def fits(self, key: bytes) -> bool:
        """Whether ``key`` is one of them; every one is compared, in the same time."""
        digest = hashlib.sha256(key).hexdigest()
        found = False
        for known in self:
            found |= hmac.compare_digest(known.hash, digest)
        return found

    async def make(self, name: str, key: str = "") -> tuple[ApiKey, str]:
        """A new key called ``name``, and the key itself, which nobody can ask for again.

        :param key: one that is in use already, as it is set in a program that cannot be changed; empty makes one.
        :raises BadSettings: when the name or the key does not fit.
        :raises StoreFailed: when it could not be kept.
        """
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise BadSettings("name", f"a name of 1 to {LONGEST_NAME} characters is expected")
        if key and not (SHORTEST_KEY <= len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
            raise BadSettings(
                "key", f"{SHORTEST_KEY} to {LONGEST_KEY} letters, digits and signs of ASCII are expected"
            )
        if key != key.strip():
            raise BadSettings("key", "no blanks are taken at its ends")
        key = key or secrets.token_urlsafe(KEY_BYTES)
        hash = hashlib.sha256(key.encode()).hexdigest()
        made = ApiKey(str(uuid4()), name, hash, self._clock.now())

        def added(keys: tuple[ApiKey, ...]) -> tuple[ApiKey, ...]:
            if len(keys) >= MOST_KEYS:
                raise BadSettings("name", f"there are {MOST_KEYS} keys already; delete one first")
            if any(hmac.compare_digest(known.hash, hash) for known in keys):
                raise BadSettings("key", "this key is known already")
            return (*keys, made)

        await self._row.change(added)
        return made, key

    async def replace(self, id: str) -> tuple[ApiKey, str] | None:
        """Another key in the place of the key ``id``, which opens nothing any more; `None` when there is none.

        :raises StoreFailed: when nobody knows which of them is kept.
        """
        key = secrets.token_urlsafe(KEY_BYTES)
        hash, now = hashlib.sha256(key.encode()).hexdigest(), self._clock.now()

        def replaced(keys: tuple[ApiKey, ...]) -> tuple[ApiKey, ...]:
            return tuple(
                msgspec.structs.replace(known, hash=hash, made_at=now) if known.id == id else known for known in keys
            )

        after = await self._row.change(replaced)
        return next(((known, key) for known in after if known.id == id), None)

    async def remove(self, id: str) -> bool:
        """Forget the key ``id``; whether there was one.

        :raises StoreFailed: when nobody knows whether it is forgotten.
        """
        before = len(self._row.value)
        return len(await self._row.change(lambda keys: tuple(known for known in keys if known.id != id))) < before
