"""The progress of long work: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import IO, Self

WIDTH = 30
"""Characters of the bar."""

REDRAW, LINE = 0.1, 10.0
"""Seconds between two drawings of the bar, and between two lines where there is no terminal."""


class ProgressBar:
    """Call it with what is being done, how much is done and how much there is; it ends with its ``with`` block."""

    def __init__(self, unit: str = "rows", stream: IO[str] | None = None) -> None:
        self._unit, self._stream = unit, stream or sys.stderr
        self._bar = self._stream.isatty()
        self._begun = time.monotonic()
        self._first = self._total = 0
        self._shown = self._begun - (REDRAW if self._bar else 0.0)
        self._drawn = False
        self._doing = ""

    def __call__(self, doing: str, done: int, total: int) -> None:
        """Show the progress, if enough time has passed."""
        now = time.monotonic()
        if not self._doing or total != self._total:
            # Another part of the work, with a pace of its own.
            self._first, self._begun, self._total = done, now, total
        self._doing = doing
        if now - self._shown < (REDRAW if self._bar else LINE):
            return
        self._shown = now
        share = min(done / total, 1.0) if total else 1.0
        pace = (done - self._first) / max(now - self._begun, 0.001)
        text = f"{share:4.0%}  {done:,} of {total:,} {self._unit}, {pace:,.0f}/s  {doing}"
        if self._bar:
            full = round(share * WIDTH)
            self._stream.write(f"\r[{'#' * full}{'.' * (WIDTH - full)}] {text}\x1b[K")
            self._drawn = True
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Clear the bar."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False
