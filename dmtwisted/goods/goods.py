"""The list of goods: kept in the settings of the store, searched in memory, changed with a record in the journal.

The store keeps it in `PARTS` settings, so that a change of one item writes a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated
from zlib import crc32

import msgspec
from msgspec import Meta
from twisted.internet.defer import DeferredLock

from dmtwisted.changes import Action, Area, Changes
from dmtwisted.devices.driver import BadSettings
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import Change, StoreFailed

MOST_GOODS = 20_000
PARTS = 32
"""Settings that the list is spread over, by the item's code."""

LARGEST_PRICE = 10**9
"""Kopecks: ten million hryvnias."""

_TEXT = r"^[^\x00-\x1f\x7f]*$"
_GIVEN = r"^[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?$"

CodeText = Annotated[str, Meta(max_length=64, pattern=_GIVEN)]


class Item(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """What the shop sells under one code; ``price`` is kopecks, 0 when the cashier names it."""

    code: CodeText
    name: Annotated[str, Meta(max_length=200, pattern=_GIVEN)]
    price: Annotated[int, Meta(ge=0, le=LARGEST_PRICE)]
    barcode: Annotated[str, Meta(max_length=64, pattern=_TEXT)] = ""
    taxgrp: Annotated[str, Meta(pattern=r"^[0-9]{0,3}$")] = ""
    """The tax group's code; empty is the register's default."""
    unit: Annotated[str, Meta(max_length=20, pattern=_TEXT)] = ""
    uktzed: Annotated[str, Meta(pattern=r"^[0-9]{0,10}$")] = ""
    excise: bool = False
    """Whether each unit has an excise mark."""


class Taken(msgspec.Struct):
    """What an import does: items that come, change, go, and stay."""

    added: int
    changed: int
    removed: int
    total: int


class Goods:
    """The goods of the shop. Another service on the same database may change them: `load` reads them again."""

    def __init__(self, store: IStore, changes: Changes) -> None:
        self._store, self._changes = store, changes
        self._items: dict[str, Item] | None = None
        self._lock = DeferredLock()
        self._ordered: list[tuple[str, Item]] = []
        self._scanned: dict[str, Item] = {}

    async def load(self) -> Mapping[str, Item]:
        """The items by their codes, as the store has them.

        :raises StoreFailed: when they cannot be read.
        """
        kept = await self._store.settings()
        items: dict[str, Item] = {}
        try:
            for n in range(PARTS):
                for item in _decode(kept.get(_place(n), b"[]")):
                    items[item.code] = item
        except msgspec.MsgspecError as error:
            raise StoreFailed(f"the list of goods cannot be read: {error}") from None
        if items != self._items:
            self._items, self._ordered = items, []
        return items

    async def find(self, words: str, limit: int = 50, offset: int = 0) -> tuple[list[Item], int]:
        """Items whose code or bar code is ``words``, else those with all of the words; and how many there are.

        :raises StoreFailed: when they cannot be read.
        """
        if self._items is None:
            await self.load()
        assert self._items is not None
        if len(self._ordered) != len(self._items):
            self._ordered = sorted(
                (f"{item.name} {item.code} {item.barcode}".casefold(), item) for item in self._items.values()
            )
            self._scanned = {item.barcode: item for item in self._items.values() if item.barcode}
        given = words.strip()
        exact = self._scanned.get(given) or self._items.get(given)
        if exact is not None:
            return [exact], 1
        wanted = given.casefold().split()
        found = [item for text, item in self._ordered if all(word in text for word in wanted)]
        return found[offset : offset + limit], len(found)

    async def save(self, item: Item) -> bool:
        """Add an item, or replace the one with its code; returns whether it is new.

        :raises BadSettings: when another item has its bar code, or the list is full.
        :raises StoreFailed: when the store does not confirm it.
        """

        def change(items: dict[str, Item]) -> tuple[Item | None, Item | None]:
            twin = next((one for one in items.values() if item.barcode and one.barcode == item.barcode), None)
            if twin is not None and twin.code != item.code:
                raise BadSettings("barcode", f"the item {twin.code} has this bar code")
            before = items.get(item.code)
            items[item.code] = item
            return before, item

        return (await self._change_one(change)) is None

    async def remove(self, code: str) -> bool:
        """Remove the item with this code; returns whether there was one.

        :raises StoreFailed: when the store does not confirm it.
        """
        return await self._change_one(lambda items: (items.pop(code, None), None)) is not None

    async def take(self, items: Iterable[Item], instead: bool, dry: bool = False) -> Taken:
        """Add or replace items, or have them ``instead`` of all others.

        :param dry: only say what it would do.
        :raises BadSettings: when a bar code would stand for two items, or there would be too many.
        :raises StoreFailed: when the store does not confirm it.
        """
        given = {item.code: item for item in items}
        async with self._lock:
            before = await self.load()
            after = {**({} if instead else before), **given}
            _check(after)
            added = sum(code not in before for code in given)
            taken = Taken(
                added,
                sum(code in before and before[code] != item for code, item in given.items()),
                len(before) + added - len(after),
                len(after),
            )
            if not dry and after != before:
                action = Action.REPLACED if instead else Action.CHANGED
                record = self._changes.change(
                    Area.GOODS, action, {"total": len(before)}, msgspec.to_builtins(taken), subject="import"
                )
                await self._keep(dict(before), after, record)
        return taken

    async def _change_one(self, change: Callable[[dict[str, Item]], tuple[Item | None, Item | None]]) -> Item | None:
        """Make a change of one item; returns the item as it was."""
        async with self._lock:
            before = await self.load()
            after = dict(before)
            was, now = change(after)
            if was == now:
                return was
            if len(after) > MOST_GOODS:
                raise BadSettings("code", f"at most {MOST_GOODS} items")
            action = Action.CREATED if was is None else Action.DELETED if now is None else Action.CHANGED
            one = now or was
            assert one is not None
            record = self._changes.change(Area.GOODS, action, _told(was), _told(now), subject=one.name, id=one.code)
            await self._keep(dict(before), after, record)
            return was

    async def _keep(self, before: dict[str, Item], after: dict[str, Item], record: Change) -> None:
        self._items, self._ordered = None, []
        old, new = _parts(before), _parts(after)
        rows = {_place(n): msgspec.json.encode(new[n]) for n in range(PARTS) if old[n] != new[n]}
        await self._store.change_settings(rows, record)
        self._items = after


_decode = msgspec.json.Decoder(list[Item]).decode


def _place(n: int) -> str:
    return f"goods.{n}"


def _parts(items: Mapping[str, Item]) -> list[list[Item]]:
    parts: list[list[Item]] = [[] for _ in range(PARTS)]
    for item in items.values():
        parts[crc32(item.code.encode()) % PARTS].append(item)
    return parts


def _told(item: Item | None) -> dict[str, object]:
    return {} if item is None else {name: getattr(item, name) for name in Item.__struct_fields__}


def _check(items: Mapping[str, Item]) -> None:
    if len(items) > MOST_GOODS:
        raise BadSettings("file", f"at most {MOST_GOODS} items")
    seen: dict[str, str] = {}
    for item in items.values():
        if item.barcode and seen.setdefault(item.barcode, item.code) != item.code:
            raise BadSettings("file", f"the items {seen[item.barcode]} and {item.code} have one bar code")
