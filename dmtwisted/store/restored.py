"""The mark that a restored database bears: of which moment it is, and which registers were not compared since.

After that moment a register may have gone on, under numbers that the backup knows nothing of. So each register asks
its far end for the number at which it stands before it does anything, and is taken out of the mark when that is its
own.
"""

from __future__ import annotations

import msgspec

from dmtwisted.store.interface import IStore

NAME = "restored"
"""The setting that holds the mark."""


class Restored(msgspec.Struct, frozen=True):
    """When it was restored, and of which moment the backup is, in milliseconds since 1970; registers not compared."""

    at: int
    backup: int
    registers: tuple[int, ...] = ()


async def read_mark(store: IStore) -> Restored | None:
    """The mark; `None` in a database that was never restored.

    :raises StoreFailed: when it cannot be read.
    """
    kept = (await store.settings()).get(NAME)
    return None if kept is None else msgspec.json.decode(kept, type=Restored)


async def compared(store: IStore, device_n: int) -> None:
    """Keep that a register stands where its far end does.

    :raises StoreFailed: when that is not confirmed; it is asked once more then.
    """
    # Read again: another register may have been compared meanwhile. One that is put back by that is asked twice.
    mark = await read_mark(store)
    if mark is not None:
        left = tuple(n for n in mark.registers if n != device_n)
        await store.change_settings({NAME: msgspec.json.encode(msgspec.structs.replace(mark, registers=left))})
