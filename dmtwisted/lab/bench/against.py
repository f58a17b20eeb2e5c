"""The service of this source tree next to that of another one: ``dmtwisted bench against --tree TREE``.

Both run at the same time, each with its own interpreter, folder or database; one rests while the other is measured.
Rounds go this one, the other, the other, this one ...; a ratio is taken within each round, and their median is shown
between the quartiles. The load is the same for both, made by this tree.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.lab.bench.figures import Figures, Share, columns, quartiles, spread, with_disk
from dmtwisted.lab.bench.idle import SETTLING, fill, processes_of, sell, started, stopped_service
from dmtwisted.lab.bench.loads import PREFIX, WARM_UP, load_on, measured, shown_rounds
from dmtwisted.lab.bench.tasks import selling
from dmtwisted.lab.bench.tax import FIRST, make_prro, prro_service, tax_service
from dmtwisted.lab.children import HOME, BenchFailed, Child

Found = Mapping[str, float]
"""Figures of one measurement by their names."""

Pair = tuple[Found, Found]
"""The figures of this tree and of the other one in one round."""

Measure = Callable[[Child, str], Found]
"""Measure a service; the text begins the tags of its sales."""


@dataclass(frozen=True)
class Row:
    """One figure: the medians of both trees, and this one in relation to the other."""

    what: str
    other: float
    this: float
    ratio: Share
    """Between its quartiles."""


OFFLINE = {"offline_allowed": True, "offline_probe_before_receipt": False}
"""Settings of a register that is offline: asking the tax service takes 0.3 s, and would be all that is measured."""


def in_turns(trees: Sequence[Child], measure: Measure, rounds: Iterable[int]) -> list[Pair]:
    """Measure both in each round, in turn first."""
    pairs = []
    for number in rounds:
        found = {turn: measure(trees[turn], f"against-{number}") for turn in ((0, 1), (1, 0))[number % 2]}
        pairs.append((found[0], found[1]))
    return pairs


def rows_of(what: str, pairs: Sequence[Pair]) -> list[Row]:
    """A row for each figure that is known of both trees in each round; ``what`` precedes its name."""
    known = [name for name in pairs[0][0] if all(name in found for pair in pairs for found in pair)]
    rows = []
    for name in known:
        this, other = ([pair[turn][name] for pair in pairs] for turn in (0, 1))
        ratios = [ours / theirs for ours, theirs in zip(this, other, strict=True)]
        rows.append(Row(f"{what}{name}", median(other), median(this), quartiles(ratios)))
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as text."""
    lines = [["", "other tree", "this tree", "this to other (quartiles)"]]
    return columns(lines + [[row.what, f"{row.other:.4g}", f"{row.this:.4g}", spread(row.ratio)] for row in rows])


def loaded(connections: int, seconds: float, *more: str) -> Measure:
    """Measures sales on so many connections; ``more`` are further arguments of `dmtwisted.lab.load`."""

    def measure(child: Child, salt: str) -> Found:
        load, cpu = measured(child, connections, seconds, f"{salt}-{connections}", *more)
        found = {"per second": load.rate, "p50 ms": load.p50_ms, "p99 ms": load.p99_ms}
        return found if cpu is None else {**found, "processor µs": sum(cpu)}

    return measure


def sales(folder: Path, trees: Sequence[Path], databases: Sequence[str], chosen: Any) -> list[Row]:
    """Sales on training registers."""
    most = max(chosen["connections"])
    with ExitStack() as running:
        children = [
            running.enter_context(selling(folder / f"sales-{turn}", most, database, tree))
            for turn, (tree, database) in enumerate(zip(trees, databases, strict=True))
        ]
        return _loads("sales", children, chosen)


def offline(folder: Path, trees: Sequence[Path], databases: Sequence[str], chosen: Any) -> list[Row]:
    """Receipts on registers that are offline, because the simulated tax service has ended."""
    numbers = [FIRST + n for n in range(max(chosen["connections"]))]
    with ExitStack() as running:
        children = []
        for turn, tree in enumerate(trees):
            (own := folder / f"offline-{turn}").mkdir()
            child = running.enter_context(prro_service(own, tree))
            with tax_service(own, numbers, tls=False) as server:
                for n, number in enumerate(numbers):
                    make_prro(child, f"{PREFIX}{n}", number, n + 1, server, **OFFLINE)
            children.append(child)
        return _loads("offline receipts", children, chosen, "--wanted", '"isoffline":true')


def _loads(what: str, children: Sequence[Child], chosen: Any, *more: str) -> list[Row]:
    for child in children:
        load_on(child, max(chosen["connections"]), WARM_UP, "warm-up", *more)
    pairs: dict[int, list[Pair]] = {number: [] for number in chosen["connections"]}
    for turn in shown_rounds(chosen["rounds"]):
        for number in chosen["connections"]:
            pairs[number] += in_turns(children, loaded(number, chosen["seconds"], *more), [turn])
    return [row for number, found in pairs.items() for row in rows_of(f"{what} at {number}: ", found)]


def start(folder: Path, trees: Sequence[Path], databases: Sequence[str], chosen: Any) -> list[Row]:
    """Starts on existing data, and the memory at rest after a sale on each register."""
    children = [stopped_service(folder / f"start-{turn}", tree) for turn, tree in enumerate(trees)]
    devices = chosen["devices"]
    for child in children:
        with child:
            fill(child, devices, 1)

    def measure(child: Child, salt: str) -> Found:
        with started(child) as (seconds, cpu):
            sell(child, devices, 1, salt)
            time.sleep(SETTLING)
            found = {"ready after s": seconds, "MB at rest": sum(process.pss_mb for process in processes_of(child))}
        return found if cpu is None else {**found, "processor s": cpu}

    return rows_of(f"start, {devices} devices: ", in_turns(children, measure, shown_rounds(chosen["rounds"])))


MEASURED = {"sales": sales, "offline": offline, "start": start}


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench against``.

    :raises BenchFailed: without another tree, or with only one database.
    """
    if not chosen["tree"]:
        raise BenchFailed("--tree is missing: the source tree to compare with, with its own .venv")
    trees = [HOME, Path(chosen["tree"]).resolve()]
    databases = [chosen["database"], chosen["other-database"]]
    if bool(databases[0]) != bool(databases[1]):
        raise BenchFailed("--database and --other-database belong together: each tree needs its own")
    rows = [row for name in chosen["what"] for row in MEASURED[name](folder, trees, databases, chosen)]
    return with_disk(folder, rows, table(rows), databases[0])
