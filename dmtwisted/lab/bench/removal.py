"""The effect on tills of removing half of a long history: ``dmtwisted bench history --remove``.

Tills sell at a constant rate before, during and after the removal. A sale's time counts from the moment when it was
due, so a sale that waits for a slow one counts as slow too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.lab.bench.figures import Figures
from dmtwisted.lab.bench.history import fill
from dmtwisted.lab.bench.loads import report_progress, timed_load_on
from dmtwisted.lab.children import BenchFailed, Child, family, free_port, make_register, service
from dmtwisted.lab.load import percentile

WINDOW = 10.0
"""Seconds of one measurement during the removal."""

ALONE = 3
"""How many times longer the measurements before and after it are."""

STARTS = 3
"""Number of starts with the whole history."""

PATIENCE = 3600.0
"""Seconds within which the removal has to end."""

ENDED = re.compile(r"(\d+) old operations were removed in (\d+) s, with (\d+) seals")
"""The line in the service's log at its end."""


@dataclass(frozen=True)
class Sales:
    """Sales of one phase: count, rate per second, and times in milliseconds."""

    count: int
    rate: float
    p50_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True)
class Removal:
    """The figures."""

    operations: int
    seals: int
    seconds: int
    tills: int
    rate: float
    """Wanted sales per second; 0: as many as possible."""
    before: Sales
    beside: Sales
    after: Sales
    worst_p99_ms: float
    """The p99 of the worst measurement during the removal."""
    ratio: float
    """The p99 during the removal in relation to the median of before and after."""
    start_s: float
    """Seconds from the command to readiness: the median of `STARTS`."""


def measure(folder: Path, receipts: int, tills: int, rate: float, tell: Callable[[str], None]) -> Removal:
    """Make a history in ``folder`` and remove half of it."""
    state = folder / "long"
    state.mkdir()
    tell(f"filling {receipts} receipts")
    fill(state, receipts)
    return remove(state, tills, rate, tell)


def remove(state: Path, tills: int, rate: float, tell: Callable[[str], None]) -> Removal:
    """Remove the old half of the history of ``state`` while tills sell."""
    start_s = median(_start(state) for _ in range(STARTS))
    tell(f"it starts in {start_s:.2f} s")
    with service(state, free_port()) as child:
        for n in range(tills):
            make_register(child, f"bench-{n}")
        tell("waiting until the whole file was checked, as after each start")
        quiet(child)
        _sell(child, tills, rate, "warm-up", 1)
        tell(f"{tills} tills alone")
        before, _ = _sell(child, tills, rate, "before", ALONE)
        tell(f"they had a p99 of {before.p99_ms:.1f} ms")
        logged = len(child.log_text())
        status, answer = child.ask("PUT", "/dm/api/v3/training/clock", {"offset_s": 0})
        if status != 200:
            raise BenchFailed(f"the removal could not be started: {status} {answer[:300]!r}")
        begun = time.monotonic()
        spent: list[int] = []
        seconds, worst = 0.0, 0.0
        while (ended := ENDED.search(child.log_text()[logged:])) is None:
            if time.monotonic() - begun > PATIENCE:
                raise BenchFailed("the removal does not end")
            part, times = _sell(child, tills, rate, f"beside-{len(spent)}", 1)
            spent += times
            seconds += part.count / part.rate
            worst = max(worst, part.p99_ms)
            tell(f"{time.monotonic() - begun:4.0f} s of removal: {part.rate:.0f} sales/s, p99 {part.p99_ms:.1f} ms")
        tell(f"{tills} tills alone once more")
        after, _ = _sell(child, tills, rate, "after", ALONE)
    beside = _sales(spent, seconds)
    operations, lasted, seals = map(int, ended.groups())
    return Removal(
        operations=operations,
        seals=seals,
        seconds=lasted,
        tills=tills,
        rate=rate,
        before=before,
        beside=beside,
        after=after,
        worst_p99_ms=worst,
        ratio=beside.p99_ms / median((before.p99_ms, after.p99_ms)),
        start_s=start_s,
    )


def _start(state: Path) -> float:
    begun = time.monotonic()
    with service(state, free_port()):
        return time.monotonic() - begun


def _sell(child: Child, tills: int, rate: float, salt: str, windows: int) -> tuple[Sales, list[int]]:
    load, spent = timed_load_on(child, tills, WINDOW * windows, salt, "--rate", str(rate))
    return _sales(spent, load.seconds), spent


def _sales(spent: list[int], seconds: float) -> Sales:
    ordered = sorted(spent)
    p50, p99, most = (percentile(ordered, share) / 1000 for share in (0.5, 0.99, 1))
    return Sales(len(spent), len(spent) / seconds, p50, p99, most)


def quiet(child: Child) -> None:
    """Wait until the check of a large file has ended."""
    time.sleep(3.0)
    while any(_looks(member) for member in family(child.pid)):
        time.sleep(0.5)


def _looks(pid: int) -> bool:
    try:
        return b"dmtwisted.store.sqlite.damage" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def words(removal: Removal) -> str:
    """The report as text."""
    how = f"{removal.rate:.0f} sales/s" if removal.rate else "as many sales as possible"
    lines = [
        f"{removal.operations} operations and {removal.seals} seals removed in {removal.seconds} s "
        f"beside {removal.tills} tills with {how}",
        *(
            f"{name}: {sales.count} sales, {sales.rate:.0f}/s, p50 {sales.p50_ms:.1f} ms, "
            f"p99 {sales.p99_ms:.1f} ms, at most {sales.max_ms:.0f} ms"
            for name, sales in (("before", removal.before), ("beside", removal.beside), ("after", removal.after))
        ),
        f"the p99 of a sale beside is {removal.ratio:.2f} of that alone; the worst window had "
        f"{removal.worst_p99_ms:.1f} ms",
        f"start until ready with all of it: {removal.start_s:.2f} s",
    ]
    return "\n".join(lines)


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench history --remove``."""
    removal = measure(folder, chosen["receipts"], chosen["tills"], chosen["rate"], report_progress)
    return asdict(removal), words(removal)
