"""Ratios with their spread, and tables, as every part of ``dmtwisted bench`` tells them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Share:
    """A ratio: the median of its rounds, and how far they lie apart."""

    median: float
    low: float
    high: float


def share(ratios: Sequence[float]) -> Share:
    """The share that the ``ratios`` of several rounds come to."""
    return Share(median(ratios), min(ratios), max(ratios))


def spread(share: Share) -> str:
    """The ratio as people read it: ``0.56 (0.49..0.75)``."""
    return f"{share.median:.2f} ({share.low:.2f}..{share.high:.2f})"


def columns(lines: Sequence[Sequence[str]]) -> str:
    """``lines`` of cells under each other, flush right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
