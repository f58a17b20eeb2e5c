"""Charts as geometry; the template draws them as SVG, without scripts.

Series differ by their shape as well as by their colour: bars, circles on a line, diamonds on a broken line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 210
"""Size of the drawing in its own units; the page scales it."""

LEFT, RIGHT, TOP, BOTTOM = 100, 8, 14, 28
"""Space around the values for the scale and the labels."""

GAP = 4
"""Between two bars."""

LETTER = 12
"""The width of a letter of a label, on a phone."""

SHAPES = ("bar", "circle", "diamond")


@dataclass(frozen=True)
class Point:
    """One value: a bar from ``y`` down by ``height``, or a mark at ``x`` and ``y``."""

    label: str
    value: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Series:
    """The values of one kind; ``lines`` join neighbours, there is a gap where a value is missing."""

    word: str
    shape: str
    points: tuple[Point, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class ScaleLine:
    """One line of the scale, with its value in the unit of the scale."""

    value: int
    y: float


@dataclass(frozen=True)
class Chart:
    """A drawing; ``ticks`` are the labels below it and their places."""

    series: tuple[Series, ...]
    lines: tuple[ScaleLine, ...]
    ticks: tuple[tuple[str, float], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    foot: int = HEIGHT - BOTTOM


def chart(
    labels: Sequence[str],
    series: Sequence[tuple[str, Sequence[int | None]]],
    bars: bool = True,
    unit: int = 100,
    least: int = 10_000,
) -> Chart:
    """The chart of ``series``, each with its word and a value for each label.

    :param bars: whether the first one has bars; all others are lines.
    :param unit: what the numbers at the scale count, in units of the values.
    :param least: the smallest end of the scale.
    """
    top = scale_of(max((value or 0 for _, values in series for value in values), default=0), least)
    room, step = HEIGHT - TOP - BOTTOM, (WIDTH - LEFT - RIGHT) / max(len(labels), 1)
    drawn = []
    for at, (word, values) in enumerate(series):
        shape = SHAPES[at if bars else at + 1]
        points: list[Point] = []
        lines: list[list[str]] = [[]]
        for place, (label, value) in enumerate(zip(labels, values, strict=True)):
            if value is None:
                lines.append([])
                continue
            height = round(room * max(value, 0) / top, 1)
            x, y = LEFT + place * step, round(TOP + room - height, 1)
            if shape == "bar":
                points.append(Point(label, value, round(x + GAP / 2, 1), y, round(step - GAP, 1), height))
                continue
            middle = round(x + step / 2, 1)
            points.append(Point(label, value, middle, y, 0, 0))
            lines[-1].append(f"{middle},{y}")
        drawn.append(Series(word, shape, tuple(points), tuple(" ".join(line) for line in lines if len(line) > 1)))
    scale = tuple(ScaleLine(top * part // 4 // unit, round(TOP + room * (4 - part) / 4, 1)) for part in (0, 2, 4))
    width = sum(LETTER * (len(label) + 1) for label in labels)
    every = max(1, -(-width // (WIDTH - LEFT - RIGHT)))
    ticks = tuple(
        (label, round(LEFT + (place + 0.5) * step, 1)) for place, label in enumerate(labels) if place % every == 0
    )
    return Chart(tuple(drawn), scale, ticks)


def hours_of(*series: Sequence[int]) -> range:
    """The hours of a usual shop's day, and more of them when there is a value outside."""
    there = [hour for values in series for hour, value in enumerate(values) if value]
    return range(min([8, *there]), max([20, *there]) + 1)


def scale_of(largest: int, least: int = 10_000) -> int:
    """The end of a scale: 1, 2 or 5 times a power of ten, at least ``least``, which is a power of ten itself."""
    end = least
    while True:
        for factor in (1, 2, 5):
            if largest <= end * factor:
                return end * factor
        end *= 10


@dataclass(frozen=True)
class Band:
    """A stretch of time on the axis of a day."""

    x: float
    width: float


BAND_WIDTH, BAND_HEIGHT = 720, 40
"""Size of the axis of a day."""


def band(first: int, last: int, begin: int, end: int) -> Band:
    """The time from ``begin`` to ``end`` on the axis of the day from ``first`` to ``last``."""
    length = last - first + 1
    x = BAND_WIDTH * (max(begin, first) - first) / length
    # The shortest one is still to be seen.
    width = max(BAND_WIDTH * (min(end, last) - max(begin, first)) / length, 3)
    return Band(round(min(x, BAND_WIDTH - 3), 1), round(width, 1))
