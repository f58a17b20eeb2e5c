"""The mark of a restored database: the moment of its backup, and the registers that were not compared since.

A register may have sold after that moment, under numbers that the backup does not hold. So each register first asks
the tax service for its next number. When the numbers agree, the register is removed from the mark.
"""

from __future__ import annotations

import msgspec

from dmtwisted.store.interface import IStore

NAME = "restored"
"""The setting that holds the mark."""


class Restored(msgspec.Struct, frozen=True):
    """The moments of the restore and of the backup, in milliseconds since 1970; the registers not compared yet."""

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
    """Record that a register has the same number as the tax service.

    :raises StoreFailed: when that is not confirmed; the register is compared again then.
    """
    # Read again: another register may have been compared meanwhile. If this restores its entry, it is compared twice.
    mark = await read_mark(store)
    if mark is not None:
        left = tuple(n for n in mark.registers if n != device_n)
        await store.change_settings({NAME: msgspec.json.encode(msgspec.structs.replace(mark, registers=left))})
