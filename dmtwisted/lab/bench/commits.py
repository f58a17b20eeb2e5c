"""A lone till next to two bare commits of the same bytes on the same disk: ``dmtwisted bench commits``.

A sale cannot take less than its two commits. The bare ones are made by SQLite with ``synchronous=FULL`` in this
process, with no HTTP, no other process, no index and no seal, in turn with the till.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.lab.bench.figures import Figures, Share, columns, quartiles, spread, with_disk
from dmtwisted.lab.bench.keeping import Sizes, sizes_kept
from dmtwisted.lab.bench.loads import WARM_UP, load_on, shown_rounds
from dmtwisted.lab.bench.tasks import selling
from dmtwisted.lab.load import percentile

TABLES = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=FULL;
CREATE TABLE sale (n INTEGER PRIMARY KEY, document BLOB, sent BLOB, answer BLOB);
CREATE TABLE register (n INTEGER PRIMARY KEY, state BLOB);
"""


@dataclass(frozen=True)
class Row:
    """One figure: of the till, of the commits, and the first in relation to the second."""

    what: str
    till_ms: float
    commits_ms: float
    ratio: Share
    """Between its quartiles."""


def two_commits(
    db: sqlite3.Connection, kept: Sizes, seconds: float, clock: Callable[[], int] = time.perf_counter_ns
) -> list[int]:
    """The nanoseconds of each pair of commits that keeps what a sale keeps, for so many ``seconds``."""
    document, sent, answer, state = (b"x" * size for size in (kept.document, kept.sent, kept.answer, kept.state))
    spent: list[int] = []
    deadline = clock() + int(seconds * 1e9)
    while (begun := clock()) < deadline:
        with db:
            n = db.execute("INSERT INTO sale (document, sent) VALUES (?, ?)", (document, sent)).lastrowid
        with db:
            db.execute("UPDATE sale SET answer = ? WHERE n = ?", (answer, n))
            db.execute("INSERT OR REPLACE INTO register VALUES (1, ?)", (state,))
        spent.append(clock() - begun)
    return spent


def rows_of(rounds: Sequence[tuple[tuple[float, float], tuple[float, float]]]) -> list[Row]:
    """The rows of p50 and p99, from those of the till and of the commits in each round."""
    rows = []
    for place, what in enumerate(("p50", "p99")):
        till, bare = ([one[turn][place] for one in rounds] for turn in (0, 1))
        ratios = [ours / theirs for ours, theirs in zip(till, bare, strict=True)]
        rows.append(Row(what, median(till), median(bare), quartiles(ratios)))
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as text."""
    lines = [["", "a sale, ms", "two commits, ms", "sale to commits (quartiles)"]]
    lines += [[row.what, f"{row.till_ms:.2f}", f"{row.commits_ms:.2f}", spread(row.ratio)] for row in rows]
    return columns(lines)


def commits_report(folder: Path, seconds: float, rounds: int) -> list[Row]:
    """Measure with everything in ``folder``.

    :raises BenchFailed: when a sale fails.
    """
    with selling(folder, 1, "") as child, closing(sqlite3.connect(folder / "bare.sqlite")) as db:
        db.executescript(TABLES)
        load_on(child, 1, WARM_UP, "warm-up")
        kept = sizes_kept(folder / "state" / "dmtwisted.db")
        found = []
        for turn in shown_rounds(rounds):
            till = load_on(child, 1, seconds, f"till-{turn}")
            bare = sorted(two_commits(db, kept, seconds))
            shares = percentile(bare, 0.5) / 1e6, percentile(bare, 0.99) / 1e6
            found.append(((till.p50_ms, till.p99_ms), shares))
    return rows_of(found)


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench commits``."""
    rows = commits_report(folder, chosen["seconds"], chosen["rounds"])
    return with_disk(folder, rows, table(rows))
