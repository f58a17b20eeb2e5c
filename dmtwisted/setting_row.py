"""One subject of the service's settings as one typed row of the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec
from twisted.internet.defer import DeferredLock

from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Change, StoreFailed

T = TypeVar("T")


class SettingRow(Generic[T]):
    """A value stored under ``name``; ``default`` is used while nothing is stored.

    A change counts when the store has confirmed it. After a failure the stored value is not known, so it is read
    again before the next change.

    :param record: makes the record of a change from the values before and after (`dmtwisted.changes`).
    """

    def __init__(self, store: IStore, name: str, kind: type[T], default: T, record: Callable[[T, T], Change]) -> None:
        self._store, self._name, self._kind, self._record = store, name, kind, record
        self._value, self._confirmed = default, True
        self._lock = DeferredLock()

    @property
    def value(self) -> T:
        """The value as it was last confirmed."""
        return self._value

    async def open(self) -> None:
        """Read the stored value.

        :raises StoreFailed: when it cannot be read: an unreadable login must not count as no login.
        """
        self._value = await self.kept()
        self._confirmed = True

    async def kept(self) -> T:
        """The value in the store now: another service on the same database may have changed it.

        :raises StoreFailed: when it cannot be read.
        """
        kept = (await self._store.settings()).get(self._name)
        if kept is None:
            return self._value
        try:
            return msgspec.json.decode(kept, type=self._kind)
        except msgspec.MsgspecError as error:
            raise StoreFailed(f"the setting {self._name} cannot be read: {error}") from None

    async def refresh(self) -> None:
        """Read the stored value again, between two changes: another service may have changed it.

        :raises StoreFailed: when it cannot be read.
        """
        async with self._lock:
            await self.open()

    async def change(self, changed: Callable[[T], T]) -> T:
        """Store what ``changed`` makes of the value; changes come one after another.

        :raises StoreFailed: when the store does not confirm it; exceptions of ``changed`` pass through.
        """
        async with self._lock:
            if not self._confirmed:
                await self.open()
            value = changed(self._value)
            if value != self._value:
                self._confirmed = False
                changes = {self._name: msgspec.json.encode(value)}
                await self._store.change_settings(changes, self._record(self._value, value))
                self._value, self._confirmed = value, True
            return value
