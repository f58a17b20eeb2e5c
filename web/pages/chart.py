"""A bar chart as geometry; the template draws it as SVG, without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 720, 190
"""Size of the drawing in its own units; the page scales it."""

LEFT, RIGHT, TOP, BOTTOM = 64, 8, 14, 26
"""Space around the bars for the scale and the hours."""

GAP = 4
"""Between two bars."""


@dataclass(frozen=True)
class Bar:
    """One bar; ``value`` in kopecks."""

    hour: int
    value: int
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The place of its hour."""
        return round(self.x + self.width / 2, 1)


@dataclass(frozen=True)
class ScaleLine:
    """One line of the scale; ``value`` in kopecks."""

    value: int
    y: float


@dataclass(frozen=True)
class Chart:
    """A drawn day."""

    bars: tuple[Bar, ...]
    lines: tuple[ScaleLine, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    foot: int = HEIGHT - BOTTOM


def chart(sales: Sequence[int]) -> Chart:
    """The chart of a day's ``sales`` by the hour, in kopecks.

    It shows the hours of a usual shop's day, and more of them when there were sales.
    """
    sold = [hour for hour, value in enumerate(sales) if value]
    first, last = min([8, *sold]), max([20, *sold])
    top = scale_of(max([*sales, 0]))
    room, step = HEIGHT - TOP - BOTTOM, (WIDTH - LEFT - RIGHT) / (last - first + 1)
    bars = []
    for hour in range(first, last + 1):
        height = round(room * max(sales[hour], 0) / top, 1)
        x = round(LEFT + (hour - first) * step + GAP / 2, 1)
        bars.append(Bar(hour, sales[hour], x, round(TOP + room - height, 1), round(step - GAP, 1), height))
    lines = tuple(ScaleLine(top * part // 4, round(TOP + room * (4 - part) / 4, 1)) for part in (0, 2, 4))
    return Chart(tuple(bars), lines)


def scale_of(largest: int) -> int:
    """The end of a scale for ``largest`` kopecks: 1, 2 or 5 times a power of ten, and at least 100 hryvnias."""
    end = 10_000
    while True:
        for factor in (1, 2, 5):
            if largest <= end * factor:
                return end * factor
        end *= 10
