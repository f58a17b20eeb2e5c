"""The journal of changes: who changed what in the service, from where, when, and how it was before and after.

A change is an operation of the kind ``change`` in the journal of sales, so it is sealed in the same chain:
``dmtwisted db check`` names a record that was changed, removed, put in or moved. Its `key` is the `Area`, its device
the one that was changed, or 0, and its `request` a `Record` as JSON.

What is in the database is changed in the same transaction as its record is kept. What is not (files, devices, a
download) gets a record before it begins, and the record its outcome afterwards: after a power cut in between it says
``begun``.

Secrets are never in a record, nor is a hash of one: it says that they changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.results import Refused
from dmtwisted.security import HIDDEN, is_secret, mask_cards
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Change, OperationRow, StoreFailed

CHANGED = "changed"
"""In place of a secret's new value."""

LONGEST_VALUE = 1000
"""Bytes of a value as JSON; of a longer one its length and its SHA-256 are kept."""

MOST_MEMBERS = 100
"""Members in ``before`` and in ``after``; devices without a driver may have any number."""


class Area(StrEnum):
    """What was changed."""

    DEVICE = "device"
    SETTINGS = "settings"
    LOGIN = "login"
    API_KEY = "api_key"
    USER = "user"
    REGISTER_KEY = "register_key"
    MODE = "mode"
    SETTLEMENT = "settlement"
    CERTIFICATE = "certificate"
    BACKUP = "backup"
    DATABASE = "database"
    SUPPORT = "support"
    FILES = "files"
    TRAINING = "training"
    MAIL = "mail"
    """What a customer was to get."""
    GOODS = "goods"
    WEBHOOK = "webhook"


class Action(StrEnum):
    """What happened to it."""

    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    REPLACED = "replaced"
    INSTALLED = "installed"
    ISSUED = "issued"
    RELOADED = "reloaded"
    WENT_OFFLINE = "went_offline"
    WENT_ONLINE = "went_online"
    APPROVED = "approved"
    REFUSED = "refused"
    DOWNLOADED = "downloaded"
    RESTORED = "restored"
    MOVED = "moved"
    MENDED = "mended"


class By(StrEnum):
    """How the service knows who changed something."""

    LOGIN = "login"
    KEY = "key"
    MACHINE = "machine"
    """Nobody logged in, no key: a program or a page on the machine of the service."""
    NETWORK = "network"
    """The same, on another machine."""
    COMMAND = "command"
    """The command line; the name is the user of the operating system."""
    SERVICE = "service"


class Outcome(StrEnum):
    """What became of a change."""

    DONE = "done"
    BEGUN = "begun"
    """It is under way, or the power failed before its end was stored."""
    FAILED = "failed"


class Caller(msgspec.Struct, frozen=True):
    """Who changes something: a login, the name of an API key, a user of the operating system; and from where."""

    by: By
    name: str = ""
    address: str = ""


_NOBODY = Caller(By.SERVICE)

CALLER: ContextVar[Caller] = ContextVar("caller", default=_NOBODY)
"""Who asked for what runs now; `web.gate` and the commands set it."""


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """The part of a change that only this module reads; ``before`` and ``after`` hold the members that differ."""

    by: By
    action: Action
    name: str = ""
    address: str = ""
    subject: str = ""
    """The name of what was changed."""
    id: str = ""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    outcome: Outcome = Outcome.DONE
    why: str = ""
    """The result code or the kind of error with which it failed."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Record).decode


def record_of(row: OperationRow) -> Record:
    """The record in a row of the journal; an empty one if someone has made it unreadable."""
    try:
        return _decode(row.request)
    except msgspec.MsgspecError:
        return Record(By.SERVICE, Action.CHANGED, why="unreadable")


class NotDone(Exception):
    """Ends the block of `Changes.about` as failed, and nothing else; the text is the reason."""


class Hidden:
    """A secret: compared, never shown."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hidden) and self._value == other._value

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self._value)


def shown(value: Any, by: str) -> Any:
    """``value`` as a record has it: without secrets and card numbers, of bounded length.

    :param by: in place of a secret.
    """
    value = _masked(value, by)
    text = _encode(value)
    if len(text) <= LONGEST_VALUE:
        return value
    return {"sha256": hashlib.sha256(text).hexdigest(), "length": len(text)}


def _masked(value: Any, by: str) -> Any:
    if isinstance(value, Hidden):
        return by if value else ""
    if isinstance(value, dict):
        return {str(name): _masked(_guarded(str(name), member), by) for name, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(member, by) for member in value]
    if isinstance(value, str):
        return _LOGIN_IN_URL.sub(rf"\1{HIDDEN}@", mask_cards(value))
    return value if isinstance(value, int | float | bool | None) else _masked(msgspec.to_builtins(value), by)


_LOGIN_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/@\s]+@", re.IGNORECASE)


def _guarded(name: str, value: Any) -> Any:
    return Hidden(value) if is_secret(name) and isinstance(value, str | dict) else value


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The members that differ, as they were and as they are; secrets as `HIDDEN` and `CHANGED`."""
    old: dict[str, Any] = {}
    new: dict[str, Any] = {}
    for name in {**before, **after}:
        was, is_now = (_guarded(name, side.get(name)) for side in (before, after))
        if was != is_now and len(old) < MOST_MEMBERS and len(new) < MOST_MEMBERS:
            if name in before:
                old[name] = shown(was, HIDDEN)
            if name in after:
                new[name] = shown(is_now, CHANGED)
    return old, new


class Changes:
    """Makes the records, in the name of the `CALLER`."""

    log = Logger()

    def __init__(self, store: IStore, clock: ServiceClock) -> None:
        self._store, self._clock = store, clock

    def change(
        self,
        area: Area,
        action: Action,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        *,
        subject: str = "",
        id: str = "",
    ) -> Change:
        """The record of a change, for the verb of the store that makes it."""
        return Change(area, self._clock.now(), _encode(_record(action, before or {}, after or {}, subject, id)))

    async def keep_own(self, area: Area, action: Action, subject: str, device_n: int) -> None:
        """Keep the record of what the service did by itself, if that is possible."""
        record = replace(_record(action, {}, {}, subject, ""), by=By.SERVICE, name="", address="")
        try:
            await self._store.record(Change(area, self._clock.now(), _encode(record), device_n))
        except StoreFailed as error:
            self.log.warn("not recorded: {area} {action}: {why}", area=area, action=action, why=str(error))

    async def keep(
        self,
        area: Area,
        action: Action,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        *,
        subject: str = "",
        must: bool = True,
    ) -> None:
        """Keep the record of something that needs no outcome, such as a download, before it begins.

        :param must: whether it may only happen with a record.
        :raises StoreFailed: when that cannot be kept.
        """
        if self._damaged(area, action):
            return
        try:
            await self._store.record(self.change(area, action, before, after, subject=subject))
        except StoreFailed as error:
            if must:
                raise
            self.log.warn("not recorded: {area} {action}: {why}", area=area, action=action, why=str(error))

    @asynccontextmanager
    async def about(
        self,
        area: Area,
        action: Action,
        before: Mapping[str, Any] | None = None,
        *,
        subject: str = "",
        id: str = "",
        device_n: int = 0,
    ) -> AsyncIterator[dict[str, Any]]:
        """Keep a record around a change of something that is not in the database.

        The block may fill the dictionary that it gets with what is so afterwards. An exception in it makes the record
        say that it failed; `NotDone` ends there.

        :raises StoreFailed: when the record cannot be kept; then nothing was done.
        """
        after: dict[str, Any] = {}
        if self._damaged(area, action):
            with suppress(NotDone):
                yield after
            return
        begun = replace(_record(action, before or {}, {}, subject, id), outcome=Outcome.BEGUN)
        n = await self._store.record(Change(area, self._clock.now(), _encode(begun), device_n))
        try:
            yield after
        except BaseException as error:
            await self._end(n, replace(begun, outcome=Outcome.FAILED, why=_reason(error)))
            if not isinstance(error, NotDone):
                raise
            return
        old, new = differences(before or {}, after) if after else (begun.before, {})
        await self._end(n, replace(begun, outcome=Outcome.DONE, before=old, after=new))

    async def _end(self, n: int, record: Record) -> None:
        try:
            await self._store.note(n, _encode(record))
        except StoreFailed as error:
            # It has happened. The record says that it began, which is true.
            self.log.error("the end of the change {n} is not recorded: {why}", n=n, why=str(error))

    def _damaged(self, area: Area, action: Action) -> bool:
        """Whether nothing can be recorded: what rescues a damaged database must still be possible."""
        if self._store.damage:
            self.log.warn("not recorded, the database is only read: {area} {action}", area=area, action=action)
        return bool(self._store.damage)


def _reason(error: BaseException) -> str:
    """Without texts that callers choose."""
    if isinstance(error, NotDone):
        return mask_cards(str(error))[:LONGEST_VALUE]
    return str(error.res.code) if isinstance(error, Refused) else type(error).__name__


def command_change(caller: Caller, area: Area, action: Action, at: int, **facts: Any) -> Change:
    """The record of a change by a command, which stores it by itself.

    :param facts: the members of a `Record`.
    """
    record = Record(caller.by, action, caller.name, caller.address, **facts)
    return Change(area, at, _encode(record))


def _record(action: Action, before: Mapping[str, Any], after: Mapping[str, Any], subject: str, id: str) -> Record:
    caller = CALLER.get()
    old, new = differences(before, after)
    return Record(caller.by, action, caller.name, caller.address, subject, id, old, new)
