"""Storing the data of sales without selling: the limit of the store alone."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from twisted.internet.defer import Deferred, gatherResults

from dmtwisted.lab.load import Load, summary
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentIntent, Intent, Outcome, State


@dataclass(frozen=True)
class Sizes:
    """Bytes that a sale stores: document, sent document, answer, state of the register."""

    document: int
    sent: int
    answer: int
    state: int

    def __str__(self) -> str:
        """As one types them."""
        return f"{self.document},{self.sent},{self.answer},{self.state}"


USUAL_SIZES = Sizes(1100, 90, 3100, 550)
"""A sale of three items on a training register."""


def sizes(text: str) -> Sizes:
    """``"1100,90,3100,550"`` as sizes.

    :raises ValueError: when these are not four numbers.
    """
    found = [int(part) for part in text.split(",")]
    if len(found) != 4 or min(found) < 1:
        raise ValueError("four positive whole numbers are expected")
    return Sizes(*found)


def sizes_kept(database: Path) -> Sizes:
    """The sizes of the last sale in ``database``, so that the writer alone stores as much."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        row = db.execute(
            "SELECT length(document.value), length(document.sent), length(operation.answer), "
            "length(register.state) FROM document JOIN operation ON operation.n = document.operation_n "
            "JOIN register ON register.device_n = document.device_n "
            "WHERE document.kind = 'sale' AND operation.state = 'done' ORDER BY document.n DESC LIMIT 1"
        ).fetchone()
    return Sizes(*row)


class Keeping:
    """Stores sales of the given sizes, as the engine does: the intent, then the outcome."""

    def __init__(self, store: IStore, kept: Sizes) -> None:
        self._store = store
        self._value, self._sent = b"v" * kept.document, b"s" * kept.sent
        self._answer, self._state = b"a" * kept.answer, b"r" * kept.state

    async def keep(self, device: int, number: int) -> None:
        """Store the sale ``number`` of a register."""
        at = int(time.time() * 1000)
        document = DocumentIntent(number, "sale", 1, at, 19950, self._value, self._sent)
        intent = Intent(device, "fiscal", 1, f"{device}-{number:036d}", b"f" * 16, at, [document])
        reserved = await self._store.reserve(intent)
        numbers = {number: f"TEST_{device}_{number}"}
        await self._store.conclude(Outcome(reserved.n, device, State.DONE, at, 0, self._answer, numbers, self._state))


async def keep_sales(store: IStore, connections: int, seconds: float, kept: Sizes) -> Load:
    """Reserve and conclude sales on ``connections`` registers at once, one after the other on each."""
    keeping = Keeping(store, kept)
    spent: list[int] = []
    clock = time.perf_counter_ns
    begun = clock()
    deadline = begun + int(seconds * 1e9)

    async def till(device: int) -> None:
        for number in count(1):
            asked_at = clock()
            if asked_at >= deadline:
                return
            await keeping.keep(device, number)
            spent.append(clock() - asked_at)

    cpu = time.process_time()
    await gatherResults([Deferred.fromCoroutine(till(device)) for device in range(1, connections + 1)])
    return summary(spent, (clock() - begun) / 1e9, 0, [], time.process_time() - cpu)
