"""Does the service stay the same?  Growth by a slope that outliers do not change, leaks, drift of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from dmtwisted.lab.soak.sampling import Sample

MOST_GROWTH = 3.0
"""Percent by which memory may grow between the end of the warm-up and the end."""

LEAST_RATE = 0.99
"""The share of wanted sales that must be done: otherwise the load was too high for the service."""

EDGE = 60.0
"""Seconds at the beginning and at the end, of which the lowest value counts."""

MOST_PAIRS = 400
"""Points for a slope; of more points only every second, third, ... is used."""


@dataclass(frozen=True)
class Minute:
    """The sales of one minute of the load, and the requests waiting at its end."""

    minute: int
    sales: int
    p50_ms: float
    p99_ms: float
    failures: int = 0
    others: int = 0
    """Look-ups, repeats, reports, payments, print jobs and pages."""
    waiting: int = 0
    samples: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SoakVerdict:
    """The result of a soak.

    :param growth: of the memory of service and writer after the warm-up, in percent; ``anon_growth`` without code
        and files.
    :param drift: the p99 of the last third of the minutes after the warm-up, in relation to that of the first.
    :param wrong: faults, as sentences.
    """

    minutes: float
    judged_minutes: float
    sales: int
    rate: float
    failures: int
    start_mb: float
    growth: float
    anon_growth: float
    writer_growth: float
    leaked: int
    threads: int
    p50_ms: float
    p99_ms: float
    drift: float
    waiting: int
    database_mb: float
    log_mb: float
    wrong: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.wrong


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The median of the slopes between all pairs of points (Theil and Sen); 0 for fewer than two points."""
    step = max(1, len(points) // MOST_PAIRS)
    taken = points[::step]
    slopes = [(y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(taken) for x2, y2 in taken[i + 1 :] if x2 != x1]
    return median(slopes) if slopes else 0.0


def growth(samples: Sequence[Sample], value: Callable[[Sample], float]) -> float:
    """Percent by which a value has grown from the first sample to the last, along its slope."""
    if len(samples) < 2:
        return 0.0
    points = [(each.at, value(each)) for each in samples]
    rise = slope(points)
    # The beginning of the line: the median of the values without their rise.
    begin = median(y - rise * (x - points[0][0]) for x, y in points)
    return 100 * rise * (points[-1][0] - points[0][0]) / begin if begin else 0.0


def kept(samples: Sequence[Sample], value: Callable[[Sample], int]) -> int:
    """How much more is held at the end than at the beginning, without connections that come and go."""
    if not samples:
        return 0
    first = [value(each) for each in samples if each.at <= samples[0].at + EDGE]
    last = [value(each) for each in samples if each.at >= samples[-1].at - EDGE]
    return max(0, min(last) - min(first))


def drift(minutes: Sequence[Minute]) -> float:
    """The median p99 of the last third in relation to that of the first; 1 for too few minutes."""
    third = len(minutes) // 3
    if not third:
        return 1.0
    first = median(each.p99_ms for each in minutes[:third])
    return median(each.p99_ms for each in minutes[-third:]) / first if first else 1.0


def judge(samples: Sequence[Sample], minutes: Sequence[Minute], settle: float, rate: float) -> SoakVerdict:
    """The verdict on ``samples`` and ``minutes``.

    :param settle: seconds at the beginning that do not count, unless there are no later samples.
    :param rate: the wanted sales per second.
    """
    judged = [each for each in samples if each.at >= settle] or list(samples)
    late = [each for each in minutes if each.minute * 60 >= settle] or list(minutes)
    sales, failures = sum(each.sales for each in minutes), sum(each.failures for each in minutes)
    done = sales / (60 * len(minutes)) if minutes else 0.0
    grown = growth(judged, lambda each: each.whole.pss)
    leaked = kept(judged, lambda each: each.whole.descriptors)
    threads = kept(judged, lambda each: each.whole.threads)
    wrong = []
    if grown > MOST_GROWTH:
        wrong.append(f"memory grew by {grown:.1f} %, {MOST_GROWTH:.0f} % are allowed")
    if leaked:
        wrong.append(f"{leaked} descriptors leaked")
    if threads:
        wrong.append(f"{threads} threads more than at the beginning")
    if failures:
        words = next((words for each in minutes for words in each.samples), "")
        wrong.append(f"{failures} requests failed: {words[:200]}")
    if done < LEAST_RATE * rate:
        wrong.append(f"{done:.1f} sales/s were done, {rate:g} were wanted")
    last = samples[-1] if samples else None
    return SoakVerdict(
        minutes=last.at / 60 if last else 0.0,
        judged_minutes=(judged[-1].at - judged[0].at) / 60 if judged else 0.0,
        sales=sales,
        rate=done,
        failures=failures,
        start_mb=median(each.whole.pss for each in judged[:12]) / 1024 if judged else 0.0,
        growth=grown,
        anon_growth=growth(judged, lambda each: each.whole.anon),
        writer_growth=growth(judged, lambda each: each.writer.pss),
        leaked=leaked,
        threads=threads,
        p50_ms=median(each.p50_ms for each in late) if late else 0.0,
        p99_ms=median(each.p99_ms for each in late) if late else 0.0,
        drift=drift(late),
        waiting=max((each.waiting for each in minutes), default=0),
        database_mb=last.database / 1e6 if last else 0.0,
        log_mb=last.log / 1e6 if last else 0.0,
        wrong=tuple(wrong),
    )
