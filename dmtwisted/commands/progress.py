"""The progress of long work: a bar on a terminal, a plain line now and then elsewhere.

It goes to the standard error, so that the standard output has nothing but results.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Self, TextIO, TypeVar

from dmtwisted.commands.console import is_terminal

T = TypeVar("T")

WIDTH = 24
"""Characters of the bar."""

REDRAW, LINE = 0.1, 10.0
"""Seconds between two drawings of the bar, and between two lines where there is no terminal."""

BEFORE_GUESS = 2.0
"""Seconds after which the time that is left is worth a guess."""


class ProgressBar:
    """Call it with what is being done, how much is done and how much there is; it ends with its ``with`` block.

    It writes no codes of terminals: a bar is drawn over the last one, which every console understands.
    """

    def __init__(self, unit: str = "rows", stream: TextIO | None = None) -> None:
        self._unit, self._stream = unit, stream or sys.stderr
        self._bar = is_terminal(self._stream) and not os.environ.get("NO_COLOR")
        self._begun = time.monotonic()
        self._first = self._total = 0
        self._shown = self._begun - (REDRAW if self._bar else 0.0)
        self._drawn = 0
        self._doing = ""
        self._steps = 0

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
        text = f"{share:4.0%}  {done:,} of {total:,} {self._unit}{self._pace(done, now)}  {doing}"
        if self._bar:
            full = round(share * WIDTH)
            self._draw(f"[{'#' * full}{'.' * (WIDTH - full)}] {text}")
        else:
            self._stream.write(f"{text}\n")
            self._stream.flush()

    def step(self, doing: str, total: int) -> None:
        """Show that one more of ``total`` steps begins, each of which takes a while."""
        if self._bar:
            self._shown = 0.0
        self(doing, min(self._steps, total), total)
        self._steps += 1

    def each(self, things: Sequence[T], doing: Callable[[T], str]) -> Iterator[T]:
        """Each of ``things`` as a step."""
        for thing in things:
            self.step(doing(thing), len(things))
            yield thing

    def say(self, line: str) -> None:
        """Print a result of the work, above the bar."""
        self.clear()
        print(line, flush=True)

    def _pace(self, done: int, now: float) -> str:
        """How fast it goes and how long it will take; nothing before that can be known."""
        spent, of_it = now - self._begun, done - self._first
        if not of_it or spent < min(BEFORE_GUESS, LINE):
            return ""
        left = round((self._total - done) * spent / of_it)
        pace = of_it / spent
        words = f", {pace:,.0f}/s" if pace >= 10 else ""
        return f"{words}, {left // 60}:{left % 60:02} left"

    def _draw(self, line: str) -> None:
        # A line that is wrapped could not be drawn over.
        line = line[: shutil.get_terminal_size().columns - 1]
        self._stream.write(f"\r{line}{' ' * (self._drawn - len(line))}")
        self._stream.flush()
        self._drawn = len(line)

    def clear(self) -> None:
        """Remove the bar."""
        if self._drawn:
            self._stream.write(f"\r{' ' * self._drawn}\r")
            self._stream.flush()
            self._drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the bar."""
        self.clear()
