"""Today's sales by the hour, without reading the whole day for each page.

The day is read once, then only its last minutes, because documents come in the order of their time. The exception is
a document whose outcome was unknown for a while; for its sake the whole day is read again once an hour.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dmtwisted.clock import kyiv, span
from dmtwisted.documents import documents
from dmtwisted.documents.documents import RETURN, SALE, STORNO
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, FoundDocument

PAGE = 200
"""Documents read at a time, because tills wait for the same store."""

MOST = 4000
"""The most documents that are read of a day; with more the chart says that it is incomplete."""

OVERLAP = 15 * 60_000
"""Milliseconds before the newest document that are read again."""

AFRESH = 3_600_000
"""Milliseconds after which the whole day is read again."""


@dataclass(frozen=True)
class Hours:
    """The figures of a day in kopecks; ``sales`` has 24 members."""

    sales: tuple[int, ...]
    sold: int
    returned: int
    count: int
    whole: bool
    """Whether every document was counted."""


@dataclass
class _Read:
    """The documents of a day: hour, kind and sum by register and number."""

    day: str
    since: int
    newest: int
    documents: dict[tuple[int, int], tuple[int, str, int]] = field(default_factory=dict)
    reversed: set[tuple[int, int]] = field(default_factory=set)
    whole: bool = True


class DaySales:
    """The sales of the current day, of all registers together."""

    def __init__(self, store: IStore) -> None:
        self._store = store
        self._read: _Read | None = None

    async def until(self, now: int) -> Hours:
        """The sales of the day of ``now``, up to now.

        :raises StoreFailed: when the store does not answer.
        """
        day = f"{kyiv(now):%Y%m%d}"
        first, last = span(day)
        read = self._read
        if read is None or read.day != day or not 0 <= now - read.since < AFRESH:
            read = _Read(day, now, first)
        await self._go_on(read, max(first, read.newest - OVERLAP), last)
        self._read = read
        return _hours(read)

    async def _go_on(self, read: _Read, first: int, last: int) -> None:
        offset = 0
        while True:
            found = await self._store.find_documents(
                DocumentQuery(
                    kinds=[SALE, RETURN, STORNO],
                    at_from=first,
                    at_to=last,
                    newest_first=False,
                    limit=PAGE,
                    offset=offset,
                )
            )
            for document in found.documents:
                _take(read, document)
            offset += len(found.documents)
            if len(found.documents) < PAGE:
                return
            if offset >= MOST:
                read.whole = False
                return


def _take(read: _Read, found: FoundDocument) -> None:
    read.newest = max(read.newest, found.at)
    value = documents.decode(found.value)
    if found.kind == STORNO:
        if value.reverses is not None:
            read.reversed.add((found.device_n, value.reverses.number))
        return
    read.documents[found.device_n, found.number] = kyiv(found.at).hour, found.kind, value.sum


def _hours(read: _Read) -> Hours:
    sales = [0] * 24
    returned = count = 0
    for key, (hour, kind, amount) in read.documents.items():
        if key in read.reversed:
            continue
        count += 1
        if kind == SALE:
            sales[hour] += amount
        else:
            returned += amount
    return Hours(tuple(sales), sum(sales), returned, count, read.whole)
