"""The day in pictures: each is a table, drawn as a chart, and given as CSV; all from `web.pages.day`.

Real and training sales are never in one picture: what is fiscal at a register that really sends is real.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from statistics import quantiles
from typing import Any

from dmtwisted.access.roles import Permit
from dmtwisted.clock import kyiv, span
from dmtwisted.core import Core
from dmtwisted.devices.devices import Device
from dmtwisted.devices.driver import REGISTER
from dmtwisted.documents.accounts import money
from dmtwisted.registers.interface import TaxServiceRegister
from dmtwisted.results import Res
from web.filters import covered
from web.pages.chart import Band, Chart, band, chart, hours_of
from web.pages.day import PATIENCE, Day, Figures, Part, Wanted, total
from web.pages.words import speaker

DAY, WEEK, MONTH = "day", "week", "month"
PERIODS = (DAY, WEEK, MONTH)

Cell = str | int | Decimal | None


@dataclass(frozen=True)
class Period:
    """A day, a week or a month; ``days`` that have come, those to compare with, and its neighbours."""

    kind: str
    first: date
    last: date
    today: date

    @property
    def days(self) -> list[date]:
        """Its days up to today."""
        return _dates(self.first, min(self.last, self.today))

    @property
    def before(self) -> list[date]:
        """The days that it is compared with: yesterday and a week ago, or the week before."""
        if self.kind == DAY:
            return [self.first - timedelta(days=1), self.first - timedelta(days=7)]
        return [day - timedelta(days=7) for day in _dates(self.first, self.last)] if self.kind == WEEK else []

    @property
    def earlier(self) -> date:
        """A day of the period before."""
        return self.first - timedelta(days=1)

    @property
    def later(self) -> date | None:
        """A day of the next period, when it has come."""
        following = self.last + timedelta(days=1)
        return following if following <= self.today else None


FIRST_DAY = date(2000, 1, 1)


def period_of(given: Mapping[str, str], now: int) -> Period:
    """The period that a query names; without a date, or with a wrong one, that of today."""
    today = kyiv(now).date()
    kind = given.get("period", DAY)
    kind = kind if kind in PERIODS else DAY
    try:
        wanted = date.fromisoformat(given.get("date", ""))
    except ValueError:
        wanted = today
    wanted = max(FIRST_DAY, min(wanted, today))
    if kind == WEEK:
        first = wanted - timedelta(days=wanted.weekday())
        return Period(kind, first, first + timedelta(days=6), today)
    if kind == MONTH:
        first = wanted.replace(day=1)
        return Period(kind, first, (first + timedelta(days=32)).replace(day=1) - timedelta(days=1), today)
    return Period(kind, wanted, wanted, today)


def _dates(first: date, last: date) -> list[date]:
    return [first + timedelta(days=after) for after in range((last - first).days + 1)]


def key_of(day: date) -> str:
    """The day as `web.pages.day.Figures` names it."""
    return f"{day:%Y%m%d}"


@dataclass(frozen=True)
class BandRow:
    """The offline times of one register on one day, for the axis of a day."""

    label: str
    bands: tuple[Band, ...]


@dataclass(frozen=True)
class Picture:
    """A picture: ``head`` and ``rows`` are its table, which its CSV has too.

    ``note`` is the key of what has to be known of the figures. One without a ``chart`` has ``shares`` of 100 beside
    its rows, or ``bands``.
    """

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    chart: Chart | None = None
    shares: tuple[float, ...] = ()
    bands: tuple[BandRow, ...] = ()


NAMES = ("sales", "payments", "registers", "returns", "tax", "cards", "refusals", "offline")
"""The pictures in their order."""


class Gallery:
    """The pictures of a period.

    :param real: whether of real sales, or of those for training.
    """

    def __init__(
        self, core: Core, permit: Permit, period: Period, found: Mapping[str, Day], real: bool, language: str
    ) -> None:
        self._core, self._period = core, period
        self._language, self._say = language, speaker(language)
        self._wanted = wanted_of(core, permit, real)
        self.days = [(day, found[key_of(day)]) for day in period.days if key_of(day) in found]
        self._parts = {key: found[key].total(self._wanted) for key in map(key_of, self._days()) if key in found}
        self.total = Part()
        for day, _ in self.days:
            self.total.add(self._parts[key_of(day)])

    def _days(self) -> Iterator[date]:
        yield from self._period.days
        yield from self._period.before

    def pictures(self) -> list[Picture]:
        """All of them."""
        return [self.picture(name) for name in NAMES]

    def picture(self, name: str) -> Picture:
        """One of `NAMES`."""
        drawn: Picture = getattr(self, f"_{name}")()
        return drawn

    # What is drawn over the hours of a day, or over the days of a week or month

    def _sales(self) -> Picture:
        axis, slots = self._slots()
        words: list[str] = ["sales"]
        values: list[list[int | None]] = [[slot.sales for slot in slots]]
        if self._period.kind == DAY:
            for word, day in zip(("yesterday", "week_ago"), self._period.before, strict=True):
                before = self._part(day)
                words.append(word)
                values.append([None if before is None else before.sales[int(slot.label)] for slot in slots])
        elif self._period.kind == WEEK:
            parts = [self._part(day) for day in self._period.before]
            words.append("week_before")
            values.append([None if part is None else sum(part.sales) for part in parts])
        rows = zip((slot.label for slot in slots), *(map(_money, column) for column in values), strict=True)
        drawn = chart([slot.label for slot in slots], list(zip(words, values, strict=True)))
        return Picture("sales", (axis, *map(self._say, words)), tuple(rows), chart=drawn)

    def _returns(self) -> Picture:
        axis, slots = self._slots()
        rows = tuple((slot.label, slot.returned, _money(slot.returns)) for slot in slots)
        drawn = chart([slot.label for slot in slots], [("returns", [slot.returns for slot in slots])])
        head = (axis, self._say("receipts_count"), self._say("returns"))
        return Picture("returns", head, rows, chart=drawn if any(self.total.returned) else None)

    def _tax(self) -> Picture:
        return self._waits("tax")

    def _cards(self) -> Picture:
        return self._waits("cards")

    def _waits(self, name: str) -> Picture:
        axis, slots = self._slots()
        waits = [slot.tax if name == "tax" else slot.cards for slot in slots]
        halves, most = [_quantile(one, 50) for one in waits], [_quantile(one, 95) for one in waits]
        labels = [slot.label for slot in slots]
        rows = tuple(zip(labels, map(len, waits), halves, most, strict=True))
        drawn = chart(labels, [("p50", halves), ("p95", most)], bars=False, unit=1, least=100)
        head = (axis, self._say("count"), self._say("p50"), self._say("p95"))
        return Picture(name, head, rows, f"note_{name}", drawn if any(waits) else None)

    def _slots(self) -> tuple[str, list[_Slot]]:
        """The head of the first column, and what each hour or day has; a day that is not read yet has nothing."""
        if self._period.kind == DAY:
            part = self.total
            sales = [part.sales, *(one.sales for one in map(self._part, self._period.before) if one)]
            hours = hours_of(*sales, part.sold, part.returned, [*map(len, part.tax)], [*map(len, part.cards)])
            return self._say("hour"), [_hour(part, hour) for hour in hours]
        days = _dates(self._period.first, self._period.last)
        return self._say("day_column"), [_day(self._part(day), day) for day in days]

    def _part(self, day: date) -> Part | None:
        """What was done on a day; `None` when it is not read yet, or has not come."""
        return self._parts.get(key_of(day))

    # What is shared among payment types, registers, result codes

    def _payments(self) -> Picture:
        paid = sorted(self.total.paid.items(), key=lambda one: (-one[1][0], one[0]))
        rows = tuple((name, _money(sold), _money(back)) for name, (sold, back) in paid)
        head = (self._say("payment_type"), self._say("sales"), self._say("returns"))
        return Picture("payments", head, rows, shares=_shares([sold for _, (sold, _) in paid]))

    def _registers(self) -> Picture:
        sums: dict[int, list[int]] = {}
        for _, day in self.days:
            for (n, fiscal), part in day.parts.items():
                count = sum(part.sold) + sum(part.returned)
                if count and self._wanted(n, fiscal):
                    own = sums.setdefault(n, [0, 0, 0])
                    own[:] = own[0] + sum(part.sales), own[1] + count, own[2] + sum(part.returns)
        found = sorted((-sales, self._name(n), count, back) for n, (sales, count, back) in sums.items())
        rows = tuple((name, _money(-sales), count, _money(back)) for sales, name, count, back in found)
        say = self._say
        head = (say("register"), say("sales"), say("receipts_count"), say("returns"))
        return Picture("registers", head, rows, shares=_shares([-sales for sales, *_ in found]))

    def _refusals(self) -> Picture:
        found = sorted(self.total.refused.items(), key=lambda one: (-one[1], one[0]))
        rows = tuple((code, self._meaning(code), count) for code, count in found)
        head = (self._say("code_column"), self._say("meaning"), self._say("count"))
        return Picture("refusals", head, rows, "note_refusals", shares=_shares([count for _, count in found]))

    def _offline(self) -> Picture:
        rows: list[tuple[Cell, ...]] = []
        drawn = []
        for day, figures in self.days:
            first, last = span(key_of(day))
            times: dict[str, list[tuple[int, int]]] = {}
            for away in figures.away:
                if self._wanted(away.device_n, away.fiscal):
                    end = min(last, figures.at) if away.end is None else away.end
                    times.setdefault(self._name(away.device_n), []).append((away.begin, end))
            for name, stretches in sorted(times.items()):
                label = name if self._period.kind == DAY else f"{day:%d.%m} {name}"
                drawn.append(BandRow(label, tuple(band(first, last, *one) for one in stretches)))
                for begin, end in stretches:
                    minutes = -(-(end - begin) // 60_000)
                    rows.append((name, f"{kyiv(begin):%d.%m %H:%M}", f"{kyiv(end):%d.%m %H:%M}", minutes))
        say = self._say
        head = (say("register"), say("begin_column"), say("end_column"), say("minutes"))
        return Picture("offline", head, tuple(rows), bands=tuple(drawn))

    def _name(self, n: int) -> str:
        name = next((device.name for device in self._core.devices if device.row.n == n), "")
        return name or self._say("deleted_device") + f" {n}"

    def _meaning(self, code: int) -> str:
        try:
            return Res.by_code(code).text.for_language(self._language)
        except KeyError:
            return ""


@dataclass(frozen=True)
class _Slot:
    """An hour or a day on the axis; a value is `None` when the day is not read."""

    label: str
    sales: int | None
    returns: int | None
    returned: int | None
    tax: Sequence[int]
    cards: Sequence[int]


def _hour(part: Part, hour: int) -> _Slot:
    return _Slot(
        f"{hour}", part.sales[hour], part.returns[hour], part.returned[hour], part.tax[hour], part.cards[hour]
    )


def _day(part: Part | None, day: date) -> _Slot:
    label = f"{day:%d.%m}"
    if part is None:
        return _Slot(label, None, None, None, [], [])
    tax, cards = ([wait for hour in hours for wait in hour] for hours in (part.tax, part.cards))
    return _Slot(label, sum(part.sales), sum(part.returns), sum(part.returned), tax, cards)


def _money(kopecks: int | None) -> Decimal | None:
    return None if kopecks is None else money(kopecks)


def _quantile(values: Sequence[int], percent: int) -> int | None:
    """The value that ``percent`` of the values do not exceed; `None` without any."""
    if len(values) < 2:
        return values[0] if values else None
    return round(quantiles(values, n=100, method="inclusive")[percent - 1])


def _shares(values: Sequence[int]) -> tuple[float, ...]:
    largest = max([*values, 1])
    return tuple(round(100 * max(value, 0) / largest, 1) for value in values)


# Real and training


def wanted_of(core: Core, permit: Permit, real: bool) -> Wanted:
    """Which parts belong to the picture of one who may see the devices of ``permit``."""
    numbers = {device.row.n for device in covered(core.devices, permit)}
    kinds = {device.row.n: _reality(core, device) for device in core.devices}

    def wanted(device_n: int, fiscal: bool | None) -> bool:
        if permit.bound and device_n not in numbers:
            return False
        sends, tests = kinds.get(device_n, (not core.config.service.training, False))
        return real is (sends and (not tests if fiscal is None else fiscal))

    return wanted


def _reality(core: Core, device: Device) -> tuple[bool, bool]:
    """Whether what it does is real, and whether it makes test documents only."""
    if device.kind != REGISTER:
        return device.simulator is None, False
    tests = isinstance(device.built, TaxServiceRegister) and bool(getattr(device.settings, "testing", False))
    return device.sends, tests


def kinds_of(core: Core, permit: Permit, days: Iterable[Day]) -> list[bool]:
    """Which pictures there are: real ones, those for training, or both."""
    days = list(days)
    found = {device.sends for device in covered(core.devices, permit) if device.kind == REGISTER}
    for real in (True, False):
        wanted = wanted_of(core, permit, real)
        sold = (part.sold + part.returned for day in days for key, part in day.parts.items() if wanted(*key))
        if any(map(any, sold)):
            found.add(real)
    return sorted(found or {not core.config.service.training}, reverse=True)


# What the pages show


REAL, TRAINING = "real", "training"


async def gallery(
    core: Core, figures: Figures, permit: Permit, given: Mapping[str, str], language: str, patience: float = PATIENCE
) -> tuple[Gallery, dict[str, Any]]:
    """The pictures that a query asks for, and what else their page shows.

    :raises StoreFailed: when the store does not answer.
    """
    period = period_of(given, core.clock.now())
    keys = [key_of(day) for day in (*period.days, *period.before)]
    found = await figures.of(keys, patience)
    there = [found[key_of(day)] for day in period.days if key_of(day) in found]
    kinds = kinds_of(core, permit, there)
    asked = given.get("sales") == REAL if given.get("sales") in (REAL, TRAINING) else kinds[0]
    real = asked if asked in kinds else kinds[0]
    chosen = period.first if period.kind == DAY else _date_of(given, period)
    return Gallery(core, permit, period, found, real, language), {
        "period": period,
        "periods": PERIODS,
        "chosen": chosen,
        "kinds": kinds,
        "real": real,
        "days": len(period.days),
        "missing": len(period.days) - len(there),
        "reading": figures.reads(keys),
        "unread": sum(day.unread for day in there),
        "at": max((day.at for day in there), default=0),
    }


def _date_of(given: Mapping[str, str], period: Period) -> date:
    """The date that a person chose, or today, or the first day."""
    with suppress(ValueError):
        chosen = date.fromisoformat(given.get("date", ""))
        if period.first <= chosen <= period.last:
            return chosen
    return period.today if period.first <= period.today <= period.last else period.first


@dataclass(frozen=True)
class Today:
    """Today's sales for the overview; training sales beside real ones are ``apart``."""

    total: Part
    chart: Chart
    real: bool
    apart: Part | None
    ready: bool
    reading: bool
    """Whether a later look shows more."""


async def today(core: Core, figures: Figures, permit: Permit) -> Today:
    """Today's sales so far.

    :raises StoreFailed: when the store does not answer.
    """
    key = key_of(kyiv(core.clock.now()).date())
    found = [*(await figures.of([key])).values()]
    reading = figures.reads([key])
    kinds = kinds_of(core, permit, found)
    sums = [total(found, wanted_of(core, permit, real)) for real in kinds]
    hours = hours_of(sums[0].sales)
    drawn = chart([f"{hour}" for hour in hours], [("sales", [sums[0].sales[hour] for hour in hours])])
    return Today(sums[0], drawn, kinds[0], sums[1] if len(sums) > 1 else None, bool(found), reading)
