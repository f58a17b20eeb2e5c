"""Who gets events: programs with an address, what each of them wants, and its secret."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from dmtwisted.changes import Action, Area, Changes, Hidden
from dmtwisted.clock import ServiceClock
from dmtwisted.devices.driver import BadSettings
from dmtwisted.hardened import BadList
from dmtwisted.hooks.addresses import check_url
from dmtwisted.secrets import Secrets
from dmtwisted.setting_row import SettingRow
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Change
from protocols.webhooks import written

SECRET_BYTES = 32
"""Random bytes of a secret."""

BOTH_MS = 24 * 3600 * 1000
"""Milliseconds for which a replaced secret signs beside the new one."""

LONGEST_NAME, LONGEST_URL, LONGEST_LIST, LONGEST_CA = 100, 2000, 1000, 65_536
MOST_SUBSCRIBERS = 50


class Subscriber(msgspec.Struct, frozen=True):
    """A program that gets events, as the store has it."""

    id: str
    name: str
    """The name that a person gave it."""
    url: str
    secret: str
    """Sealed, as it is written."""
    made_at: Annotated[int, Meta(description="Milliseconds since 1970")]
    since: int
    """The number of the last event before it: it gets those after."""
    events: tuple[str, ...] = ()
    """The types that it wants; empty for all."""
    devices: tuple[str, ...] = ()
    """The ids of the devices whose events it wants; empty for all, and for those of the service."""
    enabled: bool = True
    allow_local: str = ""
    """Hosts that may be inside this machine, or without TLS."""
    ca: str = ""
    """Certificates (PEM) that its address is trusted by, besides the usual."""
    old_secret: str = ""
    """The secret before, sealed."""
    old_until: int = 0
    """Until when that one signs, too."""
    gone_at: int = 0
    """When its address answered that it is gone (410), which disabled it; 0 otherwise."""

    def __repr__(self) -> str:
        return f"Subscriber({self.name!r}, {place_of(self.url)})"

    def wants(self, kind: str) -> bool:
        """Whether it wants events of this type."""
        return not self.events or kind in self.events

    def wants_of(self, dev_id: str) -> bool:
        """Whether it wants the events of this device; the empty one is the service."""
        return not self.devices or dev_id in self.devices


def place_of(url: str) -> str:
    """The part of an address that is no secret: those of chats have one in their path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _shown(one: Subscriber | None) -> dict[str, object]:
    """A subscriber for the journal of changes."""
    if one is None:
        return {}
    kept = {"name": one.name, "place": place_of(one.url), "url": Hidden(one.url), "enabled": one.enabled}
    wanted = {"events": list(one.events), "devices": list(one.devices), "allow_local": one.allow_local}
    return {**kept, **wanted, "ca": one.ca, "secret": Hidden(one.secret), "gone": bool(one.gone_at)}


class Subscribers:
    """The subscribers, and their changes.

    :param known_types: the types of events that there are.
    """

    def __init__(self, store: IStore, secrets: Secrets, clock: ServiceClock, known_types: frozenset[str]) -> None:
        self._store, self._secrets, self._clock = store, secrets, clock
        self._known_types = known_types
        self._changes = Changes(store, clock)
        self._row = SettingRow[tuple[Subscriber, ...]](
            store, "subscribers", tuple[Subscriber, ...], (), self._changed
        )
        self.changed: Callable[[], None] = lambda: None
        """Called after each change."""

    async def open(self) -> None:
        """Read them from the store.

        :raises StoreFailed: when that fails.
        """
        await self._row.open()

    async def refresh(self) -> None:
        """Read them again: another service on the same database may have changed them.

        :raises StoreFailed: when that fails.
        """
        before = self._row.value
        await self._row.refresh()
        if self._row.value != before:
            self.changed()

    def __iter__(self) -> Iterator[Subscriber]:
        return iter(self._row.value)

    def by_id(self, id: str) -> Subscriber | None:
        """The subscriber with this id."""
        return next((one for one in self if one.id == id), None)

    def secrets_of(self, one: Subscriber) -> list[str]:
        """The secrets that sign now, in clear, the newest first.

        :raises SecretsError: when they cannot be read.
        """
        sealed = [one.secret, *([one.old_secret] if self._clock.now() < one.old_until else [])]
        return [self._secrets.read(each, _place(one.id)) for each in sealed]

    def _changed(self, before: tuple[Subscriber, ...], after: tuple[Subscriber, ...]) -> Change:
        """The record of the change of one subscriber."""
        old, new = ({one.id: one for one in side} for side in (before, after))
        [(id, one)] = {id: one for id, one in {**old, **new}.items() if old.get(id) != new.get(id)}.items()
        action = Action.CREATED if id not in old else Action.DELETED if id not in new else Action.CHANGED
        if action is Action.CHANGED and old[id].secret != new[id].secret:
            action = Action.REPLACED
        sides = (_shown(side.get(id)) for side in (old, new))
        return self._changes.change(Area.WEBHOOK, action, *sides, subject=one.name, id=id)

    async def add(self, name: str, url: str, since: int, **wanted: Any) -> tuple[Subscriber, str]:
        """Add a subscriber; also returns its secret, which cannot be read later.

        :param since: the number of the newest event. :param wanted: other members of `Subscriber`.
        :raises BadSettings: when a member is invalid.
        :raises SecretsError: when the secret cannot be sealed.
        :raises StoreFailed: when it could not be stored.
        """
        id, secret = str(uuid4()), _new_secret()
        sealed = self._secrets.seal(secret, _place(id))
        made = Subscriber(id, name, url, sealed, self._clock.now(), since, **wanted)
        self._check(made)

        def added(known: tuple[Subscriber, ...]) -> tuple[Subscriber, ...]:
            if len(known) >= MOST_SUBSCRIBERS:
                raise BadSettings("name", f"there are {MOST_SUBSCRIBERS} already; delete one first")
            return (*known, made)

        await self._change(added)
        return made, secret

    async def change(self, id: str, changes: dict[str, Any]) -> Subscriber | None:
        """Change members of a subscriber; `None` for an unknown one.

        :raises BadSettings: when a member is invalid.
        :raises StoreFailed: when it is unknown whether it was changed.
        """

        def changed(one: Subscriber) -> Subscriber:
            after = replace(one, **changes)
            if after.enabled and not one.enabled:
                after = replace(after, gone_at=0)
            self._check(after)
            return after

        return await self._replace(id, changed)

    async def gone(self, id: str) -> None:
        """Disable a subscriber whose address is gone.

        :raises StoreFailed: when it is unknown whether that is stored.
        """
        now = self._clock.now()
        await self._replace(id, lambda one: replace(one, enabled=False, gone_at=now) if one.enabled else one)

    async def rotate(self, id: str) -> tuple[Subscriber, str] | None:
        """Give a subscriber a new secret, beside which the old one signs for a day; `None` for an unknown one.

        :raises SecretsError: when it cannot be sealed.
        :raises StoreFailed: when it is unknown which of them is stored.
        """
        secret = _new_secret()
        sealed, until = self._secrets.seal(secret, _place(id)), self._clock.now() + BOTH_MS
        one = await self._replace(id, lambda one: replace(one, secret=sealed, old_secret=one.secret, old_until=until))
        return None if one is None else (one, secret)

    async def remove(self, id: str) -> bool:
        """Remove a subscriber; whether there was one.

        :raises StoreFailed: when it is unknown whether it was removed.
        """
        there = False

        def removed(known: tuple[Subscriber, ...]) -> tuple[Subscriber, ...]:
            nonlocal there
            there = any(one.id == id for one in known)
            return tuple(one for one in known if one.id != id)

        await self._change(removed)
        return there

    async def _replace(self, id: str, changed: Callable[[Subscriber], Subscriber]) -> Subscriber | None:
        after = await self._change(lambda known: tuple(changed(one) if one.id == id else one for one in known))
        return next((one for one in after if one.id == id), None)

    async def _change(
        self, changed: Callable[[tuple[Subscriber, ...]], tuple[Subscriber, ...]]
    ) -> tuple[Subscriber, ...]:
        try:
            # Else what another service has changed would be undone.
            await self._row.refresh()
            return await self._row.change(changed)
        finally:
            self.changed()

    def _check(self, one: Subscriber) -> None:
        """See that a subscriber is in order.

        :raises BadSettings: with the name of what is wrong.
        """
        if not one.name.strip() or len(one.name) > LONGEST_NAME or not one.name.isprintable():
            raise BadSettings("name", f"a name of 1 to {LONGEST_NAME} characters is expected")
        for name, most in (("url", LONGEST_URL), ("allow_local", LONGEST_LIST), ("ca", LONGEST_CA)):
            if len(getattr(one, name)) > most:
                raise BadSettings(name, f"a text of at most {most} characters is expected")
        for at, kind in enumerate(one.events):
            if kind not in self._known_types:
                raise BadSettings(f"events[{at}]", f"there is no event {kind}")
        try:
            check_url(one.url, one.allow_local)
        except BadList as error:
            raise BadSettings("allow_local", str(error)) from None
        except ValueError as error:
            raise BadSettings("url", str(error).removeprefix("url: ")) from None
        if one.ca and "-----BEGIN CERTIFICATE-----" not in one.ca:
            raise BadSettings("ca", "certificates in PEM are expected")


def _new_secret() -> str:
    return written(secrets.token_bytes(SECRET_BYTES))


def _place(id: str) -> str:
    """What the secret of a subscriber is sealed for."""
    return f"webhook {id}"
