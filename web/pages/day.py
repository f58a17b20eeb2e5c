"""What the shop did on each day: sales, refusals, waiting and offline times, from what is stored.

A day is read page by page in the background, with rests, so that no till waits for it; a page shows the days that are
ready. Of the current day only the last minutes are read again, because documents come in the order of their time. A
document whose outcome was unknown is read again too, and the whole day once an hour. Of what is not read again only
sums are kept: a storno of such a receipt lets the day be read anew.
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from msgspec import MsgspecError
from msgspec.structs import replace
from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.clock import ServiceClock, kyiv, span
from dmtwisted.documents import documents
from dmtwisted.documents.documents import OFFLINE_BEGIN, OFFLINE_END, RETURN, SALE, STORNO
from dmtwisted.printing.jobs import KIND as JOB
from dmtwisted.registers import kept
from dmtwisted.registers.bookkeeping import KIND, UNTAGGED
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, FoundDocument, OperationQuery, OperationRow, State
from dmtwisted.terminals import journal
from dmtwisted.terminals.interface import Task

PAGE = 100
"""Documents or operations read at a time: the service does nothing else while it takes them apart."""

PATIENCE = 0.3
"""Seconds that a page waits for its figures; then it shows those that are there."""

LONGEST_REST = 0.05
"""Seconds after a portion, at most; a rest is as long as the portion took."""

OVERLAP, MOST_OVERLAP = 60_000, 15 * 60_000
"""Milliseconds before the newest document that are read again: always, and for operations that were open."""

AFRESH, SETTLED, KEPT_FOR = 3_600_000, 25 * 3_600_000, 24 * 3_600_000
"""Milliseconds after which a day is read again; after which a day that is over changes no more, as a storno belongs
to the shift of its sale; and after which such a day is read again all the same."""

MOST_DAYS, MOST_WANTED = 100, 70
"""Days that are kept, and days that wait to be read."""

LOOK_BACK = 31 * 86_400_000
"""Milliseconds before a day in which the beginning of an offline time is looked for."""

PAYS = (
    *(Task.PAYMENT, Task.REFUND, Task.CANCEL, Task.TRANSFER, Task.CASH_ISSUE),
    *(Task.INSTALMENTS, Task.INSTALMENTS_REFUND),
)
"""Tasks of a terminal whose time counts: a customer waits."""

Key = tuple[int, bool | None]
"""A device, and whether what it made is fiscal; `None` when it made no document on that day."""

Wanted = Callable[[int, bool | None], bool]

Waits: TypeAlias = "array[int]"
"""Milliseconds that somebody waited, each of one document or payment."""

LONGEST_WAIT = (1 << 32) - 1
"""The longest of them that is kept."""


def _hours() -> list[int]:
    return [0] * 24


def _waits() -> list[Waits]:
    return [array("I") for _ in range(24)]


@dataclass
class Part:
    """What one device did, or several: kopecks, numbers of receipts and milliseconds, by the hour."""

    sales: list[int] = field(default_factory=_hours)
    returns: list[int] = field(default_factory=_hours)
    sold: list[int] = field(default_factory=_hours)
    returned: list[int] = field(default_factory=_hours)
    paid: dict[str, list[int]] = field(default_factory=dict)
    """Sales and returns by the name of the payment type."""
    tax: list[Waits] = field(default_factory=_waits)
    """From sending a document to its confirmation."""
    cards: list[Waits] = field(default_factory=_waits)
    """From the order to the terminal to its end, with the customer's part in it."""
    refused: Counter[int] = field(default_factory=Counter)
    """By result code."""

    def copy(self, fresh: Container[int]) -> Part:
        """The same, to whose ``fresh`` hours something can be added: the waits of the others are shared."""
        tax, cards = (
            [waits[:] if hour in fresh else waits for hour, waits in enumerate(all_of)]
            for all_of in (self.tax, self.cards)
        )
        counts = [*self.sales], [*self.returns], [*self.sold], [*self.returned]
        return Part(*counts, {name: [*sums] for name, sums in self.paid.items()}, tax, cards, Counter(self.refused))

    def add(self, other: Part) -> None:
        """Add what another device did, or the same one on another day."""
        for name in ("sales", "returns", "sold", "returned", "tax", "cards"):
            mine = getattr(self, name)
            mine[:] = [here + there for here, there in zip(mine, getattr(other, name), strict=True)]
        for name, (sold, back) in other.paid.items():
            sums = self.paid.setdefault(name, [0, 0])
            sums[0] += sold
            sums[1] += back
        self.refused.update(other.refused)


class Away(NamedTuple):
    """An offline time of a register within a day, in milliseconds since 1970; ``end`` is `None` while it lasts."""

    device_n: int
    fiscal: bool | None
    begin: int
    end: int | None


@dataclass(frozen=True)
class Day:
    """One day as it was at ``at``; ``unread`` documents are damaged and not counted."""

    at: int
    parts: dict[Key, Part]
    away: tuple[Away, ...] = ()
    unread: int = 0

    def total(self, wanted: Wanted) -> Part:
        """The parts that are ``wanted``, together."""
        return total([self], wanted)


def total(days: Iterable[Day], wanted: Wanted) -> Part:
    """The parts of all ``days`` that are ``wanted``, together."""
    sums = Part()
    for day in days:
        for key, part in day.parts.items():
            if wanted(*key):
                sums.add(part)
    return sums


class _Paper(NamedTuple):
    at: int
    hour: int
    kind: str
    fiscal: bool
    sum: int
    pays: tuple[tuple[str, int], ...]


class _Ended(NamedTuple):
    at: int
    device_n: int
    fiscal: bool | None
    hour: int
    res: int
    tax: list[int]
    card: int | None


@dataclass
class _Reading:
    """What was read of a day so far, by the numbers of documents and operations: reading twice counts once."""

    day: str
    first: int
    last: int
    since: int
    newest: int = 0
    open_at: int = 0
    """The oldest operation that was open at the last read."""
    papers: dict[tuple[int, int], _Paper] = field(default_factory=dict)
    reversed: set[tuple[int, int]] = field(default_factory=set)
    breaks: dict[tuple[int, int], tuple[int, bool, bool]] = field(default_factory=dict)
    """Of each document that begins or ends an offline session: its time, whether it begins one, and is fiscal."""
    unread: set[tuple[int, int]] = field(default_factory=set)
    ended: dict[int, _Ended] = field(default_factory=dict)
    makes: dict[int, bool] = field(default_factory=dict)
    """Of each device that made a document: whether one was fiscal."""
    settled: dict[Key, Part] = field(default_factory=dict)
    """What is not read again, before ``settled_to``."""
    settled_to: int = 0
    numbers: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The first and the last document of each device that is settled."""
    stale: bool = False
    """Whether something settled was taken back: the day has to be read anew."""

    @property
    def begin(self) -> int:
        """From where it has to be read."""
        if not self.newest:
            return self.first
        overlap = min(self.newest - OVERLAP, self.open_at or self.newest)
        return max(self.first, overlap, self.newest - MOST_OVERLAP)

    def take(self, found: FoundDocument) -> None:
        """Count a document."""
        if found.at < self.settled_to:
            return
        if found.at <= self.last:
            self.newest = max(self.newest, found.at)
        place = found.device_n, found.number
        try:
            value = documents.decode(found.value)
        except MsgspecError:
            self.unread.add(place)
            return
        fiscal = bool(value.dtype)
        if found.kind == STORNO:
            if value.reverses is not None:
                self._take_back(found.device_n, value.reverses.number)
        elif found.kind in (OFFLINE_BEGIN, OFFLINE_END):
            self.breaks[place] = found.at, found.kind == OFFLINE_BEGIN, fiscal
        else:
            pays = value.receipt.pays if value.receipt is not None else ()
            sums = tuple((pay.name, pay.sum) for pay in pays)
            self.papers[place] = _Paper(found.at, kyiv(found.at).hour, found.kind, fiscal, value.sum, sums)
            self.makes[found.device_n] = self.makes.get(found.device_n, False) or fiscal

    def _take_back(self, device_n: int, number: int) -> None:
        first, last = self.numbers.get(device_n, (0, -1))
        self.stale |= first <= number <= last and (device_n, number) not in self.reversed
        self.reversed.add((device_n, number))

    def end(self, row: OperationRow) -> None:
        """Count an operation that has ended."""
        if row.state not in (State.DONE, State.REFUSED) or row.at < self.settled_to:
            return
        tax: list[int] = []
        fiscal, card = None, None
        if row.kind in (KIND, UNTAGGED):
            for number, way in kept.decode(row.request).way.items():
                paper = self.papers.get((row.device_n, number))
                fiscal = paper.fiscal if paper is not None else fiscal
                if way.sent and way.answered:
                    tax.append(_wait(way.sent, way.answered))
        elif row.kind == journal.KIND and row.task in PAYS and row.ended_at is not None:
            # Of one that was cleared up later the end says nothing about the terminal.
            with suppress(MsgspecError):
                card = None if journal.operation_of(row).record.unheard else _wait(row.at, row.ended_at)
        res = row.res if row.state is State.REFUSED else 0
        self.ended[row.n] = _Ended(row.at, row.device_n, fiscal, kyiv(row.at).hour, res, tax, card)

    def settle(self) -> None:
        """Keep only the sums of what the next read does not read."""
        # An operation may begin a little before its document.
        before = self.begin - OVERLAP
        papers = {place: paper for place, paper in self.papers.items() if paper.at < before}
        ended = {n: one for n, one in self.ended.items() if one.at < before}
        _count(self.settled, papers, ended, self.reversed)
        for device_n, number in papers:
            first, last = self.numbers.get(device_n, (number, number))
            self.numbers[device_n] = min(first, number), max(last, number)
            del self.papers[device_n, number]
        for n in ended:
            del self.ended[n]
        self.settled_to = max(self.settled_to, before)

    def figures(self, now: int) -> Day:
        """The day as far as it was read."""
        fresh = {one.hour for one in self.ended.values()}
        counted = {key: part.copy(fresh) for key, part in self.settled.items()}
        _count(counted, self.papers, self.ended, self.reversed)
        parts: dict[Key, Part] = {}
        for (device_n, fiscal), part in counted.items():
            key = device_n, self.makes.get(device_n) if fiscal is None else fiscal
            if parts.setdefault(key, part) is not part:
                parts[key].add(part)
        return Day(now, parts, tuple(self._away()), len(self.unread))

    def _away(self) -> Iterable[Away]:
        open_ones: dict[int, tuple[int, bool]] = {}
        for place, (at, begins, fiscal) in sorted(self.breaks.items(), key=lambda one: (one[1][0], one[0])):
            begun = open_ones.pop(place[0], None)
            if begins:
                open_ones[place[0]] = begun or (max(at, self.first), fiscal)
            elif begun is not None and at >= self.first:
                yield Away(place[0], begun[1], begun[0], at)
        for device_n, (at, fiscal) in open_ones.items():
            yield Away(device_n, fiscal, at, None)


def _wait(begin: int, end: int) -> int:
    return min(max(end - begin, 0), LONGEST_WAIT)


def _count(
    parts: dict[Key, Part],
    papers: Mapping[tuple[int, int], _Paper],
    ended: Mapping[int, _Ended],
    reversed: Container[tuple[int, int]],
) -> None:
    """Add documents that were not ``reversed``, and operations, to ``parts``."""
    for place, paper in papers.items():
        if place in reversed:
            continue
        part = parts.setdefault((place[0], paper.fiscal), Part())
        back = paper.kind == RETURN
        (part.returns if back else part.sales)[paper.hour] += paper.sum
        (part.returned if back else part.sold)[paper.hour] += 1
        for name, amount in paper.pays:
            part.paid.setdefault(name, [0, 0])[back] += amount
    for one in ended.values():
        part = parts.setdefault((one.device_n, one.fiscal), Part())
        part.tax[one.hour].extend(one.tax)
        if one.card is not None:
            part.cards[one.hour].append(one.card)
        if one.res:
            part.refused[one.res] += 1


@dataclass
class _Waiting:
    days: set[str]
    due: Deferred[None]


class Figures:
    """The figures of days, ``yyyyMMdd`` in Kyiv."""

    log = Logger()

    def __init__(self, store: IStore, clock: ServiceClock) -> None:
        self._store, self._clock = store, clock
        self._days: OrderedDict[str, Day] = OrderedDict()
        self._now: _Reading | None = None
        self._wanted: list[str] = []
        self._waiting: list[_Waiting] = []
        self._reads = False

    async def of(self, days: Sequence[str], patience: float = PATIENCE) -> dict[str, Day]:
        """The figures of those ``days`` that are ready within ``patience`` seconds; the others are being read.

        :raises StoreFailed: when the store does not answer.
        """
        now = self._clock.now()
        missing = [day for day in days if self._is_old(day, now)]
        if missing:
            # What was asked for last comes first: somebody looks at it.
            self._wanted = [*missing, *(day for day in self._wanted if day not in missing)][:MOST_WANTED]
            waiting = _Waiting(set(missing), Deferred())
            self._waiting.append(waiting)
            if not self._reads:
                Deferred.fromCoroutine(self._read_all()).addErrback(self._failed)
            with suppress(TimeoutError):
                await waiting.due.addTimeout(patience, self._clock)
            if waiting in self._waiting:
                self._waiting.remove(waiting)
        return {day: self._days[day] for day in days if day in self._days}

    def reads(self, days: Iterable[str]) -> bool:
        """Whether some of ``days`` are still being read, so that a later look shows more."""
        return not {*days}.isdisjoint(self._wanted)

    def _is_old(self, day: str, now: int) -> bool:
        known = self._days.get(day)
        if known is None:
            return True
        _, last = span(day)
        if now <= last:
            return True
        return not 0 <= now - known.at < (KEPT_FOR if known.at > last + SETTLED else AFRESH)

    async def _read_all(self) -> None:
        self._reads = True
        try:
            while self._wanted:
                day = self._wanted[0]
                self._days[day] = await self._read(day)
                self._days.move_to_end(day)
                while len(self._days) > MOST_DAYS:
                    self._days.popitem(last=False)
                if day in self._wanted:
                    self._wanted.remove(day)
                for waiting in list(self._waiting):
                    waiting.days.discard(day)
                    if not waiting.days:
                        self._waiting.remove(waiting)
                        waiting.due.callback(None)
        finally:
            self._reads = False

    def _failed(self, failure: Failure) -> None:
        self._wanted.clear()
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.due.errback(failure)
        if not waiting:
            self.log.warn("figures could not be read: {why}", why=failure.getErrorMessage())

    async def _read(self, day: str) -> Day:
        now = self._clock.now()
        first, last = span(day)
        reading = self._now if self._now is not None and self._now.day == day else None
        if reading is None or not 0 <= now - reading.since < AFRESH:
            reading = _Reading(day, first, last, now)
        begin = reading.begin
        open_at = 0
        if now <= last:
            open_at = min((row.at for row in await self._store.unresolved(None)), default=0)
        if not reading.newest:
            await self._look_back(reading)
        kinds = [SALE, RETURN, STORNO, OFFLINE_BEGIN, OFFLINE_END]
        async for found in self._documents(DocumentQuery(kinds=kinds, at_from=begin, at_to=last)):
            for document in found:
                reading.take(document)
        if now > last:
            # A receipt may be taken back after midnight, in the shift of its sale.
            query = DocumentQuery(kinds=[STORNO], at_from=last + 1, at_to=last + SETTLED)
            async for found in self._documents(query):
                for document in found:
                    reading.take(document)
        if reading.stale:
            self._now = None
            return await self._read(day)
        async for rows in self._operations(begin, last):
            for row in rows:
                reading.end(row)
        reading.open_at = open_at
        if now <= last:
            reading.settle()
            self._now = reading
        return reading.figures(now)

    async def _look_back(self, reading: _Reading) -> None:
        """Find who was offline when the day began."""
        query = DocumentQuery(
            kinds=[OFFLINE_BEGIN, OFFLINE_END],
            at_from=reading.first - LOOK_BACK,
            at_to=reading.first - 1,
            limit=PAGE,
            counted=False,
        )
        seen = set()
        for document in (await self._store.find_documents(query)).documents:
            if document.device_n not in seen:
                seen.add(document.device_n)
                if document.kind == OFFLINE_BEGIN:
                    reading.take(document)

    async def _documents(self, query: DocumentQuery) -> AsyncIterator[list[FoundDocument]]:
        """Everything that the query finds, oldest first; what is added meanwhile comes last and moves nothing."""
        passed = 0
        while True:
            begun = self._clock.steady()
            asked = replace(query, newest_first=False, limit=PAGE, offset=passed, counted=False)
            found = (await self._store.find_documents(asked)).documents
            yield found
            if len(found) < PAGE:
                return
            last = found[-1].at
            passed = sum(row.at == last for row in found) + (passed if last == query.at_from else 0)
            query = replace(query, at_from=last)
            await self._rest(begun)

    async def _operations(self, first: int, last: int) -> AsyncIterator[list[OperationRow]]:
        below = None
        kinds = [KIND, UNTAGGED, journal.KIND, JOB]
        while True:
            begun = self._clock.steady()
            query = OperationQuery(kinds=kinds, at_from=first, at_to=last, below=below, limit=PAGE, counted=False)
            found = (await self._store.find_operations(query)).operations
            yield found
            if len(found) < PAGE:
                return
            below = found[-1].n
            await self._rest(begun)

    async def _rest(self, begun: float) -> None:
        """Leave the processor to the tills for as long as the last portion took."""
        spent = self._clock.steady() - begun
        if spent > 0:
            await deferLater(self._clock, min(spent, LONGEST_REST), lambda: None)
