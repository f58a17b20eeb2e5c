"""Documents found with one search box: number, fiscal number, tag, sum, goods, card, cashier, RRN, authorisation.

Numbers and tags are found by the indexes of the store, however old they are. Everything else is looked for in the
newest documents of the dates, read in small portions, so that no till waits; the result says how far that went.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import NamedTuple

import msgspec

from dmtwisted.clock import kyiv, span
from dmtwisted.devices.devices import Device, register_settings
from dmtwisted.devices.driver import REGISTER
from dmtwisted.documents import documents
from dmtwisted.documents.documents import RETURN, SALE, STORNO, Document, Payment
from dmtwisted.money import NotANumber, kopecks
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, FoundDocument
from dmtwisted.unfinished import FISCAL
from web.filters import LARGEST_NUMBER
from web.receipts import KINDS, ListedDocument, listed, with_tag

PAGE_SIZE = 25
"""Documents on a page."""

BATCH, MOST = 200, 2000
"""Documents that are read at a time, and in all, when every one has to be looked at."""

FILTERS = ("q", "device", "from", "to", "kind", "pay", "state", "real", "sums", "before")
"""Fields of the search form; ``before`` continues where a search ended."""

STATES = ("doubt", "offline", "reversed")
"""What a document can be searched for besides its content."""

STORNO_AFTER = 2 * 86_400_000
"""Milliseconds within which a document is taken back: it is the last one of an open shift then."""

MOST_STORNOS = 1000

_CARD = re.compile(r"[0-9]{4,}")
_CURRENCY = re.compile(r"\s|грн\.?|uah|₴", re.IGNORECASE)


@dataclass(frozen=True)
class Search:
    """A search as a person filled it in, and its mistakes."""

    given: dict[str, str]
    mistakes: tuple[tuple[str, str], ...]
    at_from: int | None = None
    at_to: int | None = None
    page: int = 1

    @property
    def looks(self) -> bool:
        """Whether documents have to be looked at one by one."""
        return any(self.given[name] for name in ("q", "pay", "state", "real", "sums"))


class Row(NamedTuple):
    """A document of the list."""

    document: ListedDocument
    test: bool = True
    pays: tuple[str, ...] = ()
    doubt: bool = False
    """Whether it is not known what became of it."""
    reversed: bool = False
    why: str = ""
    """The key of what matched the search."""


@dataclass
class Sums:
    """Sales and returns of some documents, without what was taken back or is in doubt."""

    count: int = 0
    sales: int = 0
    returns: int = 0


@dataclass(frozen=True)
class SearchResult:
    """One page of found documents; ``partly`` when older ones of the dates were not looked at."""

    documents: Sequence[Row] = ()
    total: int = 0
    page: int = 1
    pages: int = 1
    looked: int = 0
    since: int = 0
    """The time of the oldest document that was looked at."""
    partly: bool = False
    sums: Mapping[bool, Sums] = field(default_factory=dict)
    """Real documents (`False`) and those for training (`True`)."""
    of_page: bool = False
    """Whether the sums are those of the page alone."""


def wanted(given: Mapping[str, str]) -> Search:
    """The search in the fields ``given``."""
    # The fields that there were before the one box; people kept such addresses.
    former = " ".join(filter(None, (given.get(name, "").strip() for name in ("number", "tag", "sum"))))
    given = {name: given.get(name, "").strip() for name in (*FILTERS, "page")}
    given["q"] = given["q"] or former
    mistakes: list[tuple[str, str]] = []
    moments: dict[str, int | None] = {"from": None, "to": None}
    for name, end in (("from", 0), ("to", 1)):
        if given[name]:
            try:
                moments[name] = span(f"{date.fromisoformat(given[name]):%Y%m%d}")[end]
            except ValueError:
                mistakes.append((name, "not_a_date"))
    for name, known in (("kind", KINDS), ("state", STATES), ("real", ("0", "1"))):
        if given[name] not in known:
            given[name] = ""
    before = _whole(given["before"])
    if before is not None:
        moments["to"] = before if moments["to"] is None else min(before, moments["to"])
    page = int(given["page"]) if re.fullmatch(r"[1-9][0-9]{0,5}", given["page"]) else 1
    return Search(given, tuple(mistakes), moments["from"], moments["to"], page)


def presets(now: int) -> list[tuple[str, str, str]]:
    """Usual dates: the key of their name, the first day, the last one."""
    today = kyiv(now).date()
    yesterday, monday = today - timedelta(days=1), today - timedelta(days=today.weekday())
    days = (("today", today, today), ("yesterday", yesterday, yesterday), ("this_week", monday, today))
    return [
        (word, f"{first}", f"{last}") for word, first, last in (*days, ("this_month", today.replace(day=1), today))
    ]


def payments(devices: Iterable[Device]) -> dict[int, str]:
    """The payment kinds of registers by their codes."""
    registers = [device for device in devices if device.kind == REGISTER]
    kinds = {one.code: one.name for device in registers for one in register_settings(device).pay_types if one.enabled}
    return dict(sorted(kinds.items()))


class Finder:
    """One search in the documents of some registers.

    Every method raises `StoreFailed` when the store does not answer.
    """

    def __init__(self, store: IStore, devices: Iterable[Device], asked: Search) -> None:
        self._store, self._asked, given = store, asked, asked.given
        named = given["device"]
        self._registers = {
            device.row.n: device
            for device in devices
            if device.kind == REGISTER and (not named or named in (device.name, device.row.dev_id))
        }
        self._query = DocumentQuery(
            devices=list(self._registers),
            kinds=[given["kind"]] if given["kind"] else [],
            at_from=asked.at_from,
            at_to=asked.at_to,
            limit=BATCH,
        )
        self._match = _Match(given["q"])
        self._looked = self._since = 0
        self._partly = False

    @property
    def _nothing(self) -> bool:
        return bool(not self._registers or self._asked.mistakes)

    async def page(self) -> SearchResult:
        """The page that was asked for, newest documents first."""
        if self._nothing:
            return SearchResult()
        page, first = self._asked.page, (self._asked.page - 1) * PAGE_SIZE
        if self._asked.looks:
            rows = await self._all_looked_at()
            shown, total = rows[first : first + PAGE_SIZE], len(rows)
        else:
            query = msgspec.structs.replace(self._query, limit=PAGE_SIZE, offset=first)
            found = await self._store.find_documents(query)
            doubtful = await self._doubtful() if page == 1 else []
            shown = rows = _newest_first([*doubtful, *await self._rows(found.documents)])
            total = found.total + len(doubtful)
        return SearchResult(
            shown,
            total,
            page,
            max(1, -(-total // PAGE_SIZE)),
            self._looked,
            self._since,
            self._partly,
            _summed(rows),
            of_page=len(rows) < total,
        )

    async def every(self) -> AsyncIterator[Sequence[Row]]:
        """Everything that the pages of the search list, in portions."""
        if self._nothing:
            return
        if self._asked.looks:
            yield await self._all_looked_at()
            return
        yield _newest_first(await self._doubtful())
        query, passed, given = self._query, 0, set[tuple[int, int]]()
        while True:
            page = msgspec.structs.replace(query, offset=passed, counted=False)
            found = (await self._store.find_documents(page)).documents
            # What is added meanwhile comes first; at most it moves what was given already into this portion.
            yield await self._rows([one for one in found if (one.device_n, one.number) not in given])
            if len(found) < BATCH:
                return
            last = found[-1].at
            same = {(one.device_n, one.number) for one in found if one.at == last}
            given, passed = (given | same, passed + len(same)) if last == query.at_to else (same, len(same))
            query = msgspec.structs.replace(query, at_to=last)

    # Looking at documents one by one

    async def _all_looked_at(self) -> list[Row]:
        given = self._asked.given
        found = {_place(row): row for row in await self._doubtful() if self._fits(row)}
        if given["state"] != "doubt":
            exact = await self._by_index() if given["q"] else []
            found |= {_place(row): row for row in exact if self._fits(row)}
            # A fiscal number or a tag names one document; a local number may also be a sum or a code.
            if not any(row.why in ("fiscal_number", "tag") for row in exact):
                await self._look(found)
        return _newest_first(found.values())

    async def _look(self, found: dict[tuple[str, int], Row]) -> None:
        taken_back, offset = await self._taken_back(self._asked.at_from, self._asked.at_to), 0
        while True:
            last = offset + BATCH >= MOST
            asked = msgspec.structs.replace(self._query, offset=offset, counted=last)
            page = await self._store.find_documents(asked)
            for stored in page.documents:
                row = self._row(stored, taken_back)
                if row is not None and self._fits(row):
                    found.setdefault(_place(row), row)
                self._since = stored.at
            offset += len(page.documents)
            if len(page.documents) < BATCH or offset >= MOST:
                self._looked, self._partly = offset, offset < page.total
                return

    async def _by_index(self) -> list[Row]:
        """Documents with this fiscal number, tag or local number, however old."""
        text, query = self._asked.given["q"], self._query
        stored = (await self._store.find_documents(msgspec.structs.replace(query, fiscal_number=text))).documents
        stored = [*stored, *await with_tag(self._store, query, self._registers, text)]
        number = _whole(text)
        if number is not None:
            stored += (await self._store.find_documents(msgspec.structs.replace(query, number=number))).documents
        rows = await self._rows(stored)
        return [row for row in rows if row.why]

    def _fits(self, row: Row) -> bool:
        given = self._asked.given
        if given["q"] and not row.why:
            return False
        if given["pay"] and given["pay"] not in row.pays:
            return False
        if given["real"] and row.test != (given["real"] == "0"):
            return False
        state = given["state"]
        return (
            not state
            or {
                "doubt": row.doubt,
                "offline": row.document.offline,
                "reversed": row.reversed,
            }[state]
        )

    # Rows

    async def _rows(self, stored: Sequence[FoundDocument]) -> list[Row]:
        if not stored:
            return []
        times = [one.at for one in stored]
        taken_back = await self._taken_back(min(times), max(times))
        return [self._row(one, taken_back) or Row(listed(one, self._registers[one.device_n])) for one in stored]

    def _row(self, stored: FoundDocument, taken_back: set[tuple[int, int]], doubt: bool = False) -> Row | None:
        device = self._registers[stored.device_n]
        try:
            value = documents.decode(stored.value)
        except msgspec.MsgspecError:
            return None
        document = listed(stored, device, value)
        return Row(
            document,
            not value.dtype,
            tuple(dict.fromkeys(str(pay.type) for pay in _pays(value))),
            doubt,
            (stored.device_n, stored.number) in taken_back,
            self._match.why(document, value),
        )

    async def _doubtful(self) -> list[Row]:
        """Documents of operations with an unknown outcome, which no list of the store has."""
        found, asked = [], self._asked
        for n in self._registers:
            for operation in await self._store.unresolved(n):
                for paper in operation.documents if operation.kind in FISCAL else ():
                    fits = not asked.given["kind"] or paper.kind == asked.given["kind"]
                    if not (fits and (asked.at_from or 0) <= paper.at <= (asked.at_to or paper.at)):
                        continue
                    number = paper.fiscal_number
                    stored = FoundDocument(n, paper.number, paper.kind, paper.at, number, paper.value, b"")
                    row = self._row(stored, set(), doubt=True)
                    found += [row] if row is not None else []
        return found

    async def _taken_back(self, at_from: int | None, at_to: int | None) -> set[tuple[int, int]]:
        """The documents of the time that a storno took back, by register and number."""
        query = DocumentQuery(
            devices=list(self._registers),
            kinds=[STORNO],
            at_from=at_from,
            at_to=None if at_to is None else at_to + STORNO_AFTER,
            limit=MOST_STORNOS,
            counted=False,
        )
        found = [(one.device_n, _reversed(one)) for one in (await self._store.find_documents(query)).documents]
        return {(n, number) for n, number in found if number is not None}


class _Match:
    """What was typed into the search box, and whether a document has it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._phrase = _Word(text) if text else None
        self._words = [_Word(word) for word in text.split()]

    def why(self, document: ListedDocument, value: Document) -> str:
        """The key of what has the text, or all of its words; empty when nothing has."""
        if self._phrase is None:
            return ""
        whole = self._phrase.why(document, value)
        if whole or len(self._words) < 2:
            return whole
        reasons = [word.why(document, value) for word in self._words]
        return reasons[0] if all(reasons) else ""


class _Word:
    def __init__(self, text: str) -> None:
        self.text, self._folded = text, text.casefold()
        self._sum = _sum_of(text)
        self._is_card = bool(_CARD.fullmatch(text))

    def why(self, document: ListedDocument, value: Document) -> str:
        if self.text == str(document.number):
            return "number"
        if self.text == document.fiscal_number:
            return "fiscal_number"
        if self.text == document.tag:
            return "tag"
        if self._sum is not None and self._sum == document.sum:
            return "sum"
        for pay in _pays(value):
            if self.text == pay.rrn or (pay.auth_code and self._folded == pay.auth_code.casefold()):
                return "found_rrn"
            if self._is_card and pay.cardmask.endswith(self.text):
                return "found_card"
        if value.receipt is not None and any(self._is_good(good) for good in value.receipt.goods):
            return "found_goods"
        return "cashier" if len(self.text) > 1 and self._folded in value.cashier.casefold() else ""

    def _is_good(self, good: documents.Good) -> bool:
        if self.text in (good.code, good.code1, good.code2, good.code3):
            return True
        return len(self.text) > 1 and (self._folded in good.name.casefold() or self.text in good.marks)


def _pays(value: Document) -> tuple[Payment, ...]:
    if value.receipt is not None:
        return value.receipt.pays
    return () if value.cash is None else (value.cash,)


def _reversed(stored: FoundDocument) -> int | None:
    try:
        value = documents.decode(stored.value)
    except msgspec.MsgspecError:
        return None
    return value.reverses.number if value.reverses is not None else None


def _summed(rows: Iterable[Row]) -> dict[bool, Sums]:
    """Sales and returns of the rows; real ones and those for training are never mixed."""
    found: dict[bool, Sums] = defaultdict(Sums)
    for row in rows:
        if row.document.kind not in (SALE, RETURN) or row.doubt or row.reversed:
            continue
        sums = found[row.test]
        sums.count += 1
        if row.document.kind == SALE:
            sums.sales += row.document.sum
        else:
            sums.returns += row.document.sum
    return dict(sorted(found.items()))


def _newest_first(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.document.at, row.document.number), reverse=True)


def _place(row: Row) -> tuple[str, int]:
    return row.document.dev_id, row.document.number


def _whole(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_number and int(text) <= LARGEST_NUMBER else None


def _sum_of(text: str) -> int | None:
    try:
        return kopecks(_CURRENCY.sub("", text).replace(",", "."))
    except NotANumber:
        return None
