"""Ratios with their spread, and tables, in which every part of ``dmtwisted bench`` reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from dmtwisted.lab.children import filesystem
from dmtwisted.lab.load import Load

Figures = tuple[object, str]
"""The result of a part: for JSON, and as text."""


@dataclass(frozen=True)
class Share:
    """A ratio: the median of its rounds, the lowest and the highest (`share`) or the quartiles (`quartiles`)."""

    median: float
    low: float
    high: float


def share(ratios: Sequence[float]) -> Share:
    """The share over the ``ratios`` of several rounds."""
    return Share(median(ratios), min(ratios), max(ratios))


def quartiles(ratios: Sequence[float]) -> Share:
    """The median of several rounds between the quartiles."""
    low, middle, high = quantiles(ratios, method="inclusive") if len(ratios) > 1 else [ratios[0]] * 3
    return Share(middle, low, high)


def medians(loads: Sequence[Load]) -> tuple[float, float, float]:
    """The median rate, p50 and p99 of several loads."""
    rates, p50s, p99s = zip(*((load.rate, load.p50_ms, load.p99_ms) for load in loads), strict=True)
    return median(rates), median(p50s), median(p99s)


def spread(share: Share) -> str:
    """The ratio as text: ``0.56 (0.49..0.75)``."""
    return f"{share.median:.2f} ({share.low:.2f}..{share.high:.2f})"


def columns(lines: Sequence[Sequence[str]]) -> str:
    """``lines`` of cells as right-aligned columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def with_disk(folder: Path, rows: Sequence[Any], text: str, database: str = "") -> Figures:
    """The rows of a table and its text, with the file system that was measured unless the database is a server's."""
    disk = filesystem(folder)
    words = text if database else f"{text}\n\nThe database was on {disk}."
    return {"filesystem": disk, "rows": [asdict(row) for row in rows]}, words
