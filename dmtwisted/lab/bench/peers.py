"""The service next to the same sale written plainly with other frameworks: ``dmtwisted bench peers``.

The peers are in ``tests/peers`` of the source tree: FastAPI with uvicorn, aiohttp with uvloop, and both again with
shared commits, the next step of optimization; the leanest one shares commits and calculates nothing. Each round
measures all of them one after the other under the same load, each with its own file; the order changes with each
round. The ratio within a round counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.lab.bench.figures import Figures, Share, columns, medians, share, spread, with_disk
from dmtwisted.lab.bench.loads import PREFIX, load_on, measured, shown_rounds
from dmtwisted.lab.children import (
    HOME,
    BenchFailed,
    Child,
    execute,
    free_port,
    make_register,
    opening_body,
    service,
)
from dmtwisted.lab.load import Load

OURS = "dmtwisted"
PEERS = {
    "FastAPI + uvicorn": ("fastapi",),
    "aiohttp + uvloop": ("aiohttp",),
    "FastAPI + uvicorn, shared commits": ("fastapi", "--shared"),
    "aiohttp + uvloop, shared commits": ("aiohttp", "--shared"),
    "aiohttp + uvloop, leanest": ("leanest",),
}
"""The peers by name, with their arguments."""

WARM_UP = 1.0
"""Seconds of load before the measurements."""


@dataclass(frozen=True)
class Turn:
    """One measurement: name, load, and the processor time of a sale over all processes, in µs."""

    name: str
    load: Load
    cpu_us: float | None


Round = Sequence[Turn]


@dataclass(frozen=True)
class Row:
    """One line of the table; medians of the rounds, the ratios taken within each round."""

    connections: int
    name: str
    sales_per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float | None
    ours_to_it: Share | None
    """Our sales in relation to those of this peer; `None` for ourselves."""


def rows_of(connections: int, rounds: Sequence[Round]) -> list[Row]:
    """A row for each server with so many ``connections``; ours first."""
    names = sorted({turn.name for turn in rounds[0]}, key=[OURS, *PEERS].index)
    by_name = {name: [next(turn for turn in one if turn.name == name) for one in rounds] for name in names}
    rows = []
    for name, turns in by_name.items():
        known = [turn.cpu_us for turn in turns if turn.cpu_us is not None]
        ratios = [ours.load.rate / turn.load.rate for ours, turn in zip(by_name[OURS], turns, strict=True)]
        rows.append(
            Row(
                connections,
                name,
                *medians([turn.load for turn in turns]),
                median(known) if known else None,
                None if name == OURS else share(ratios),
            )
        )
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as text."""
    lines = [["connections", "", "sales/s", "p50 ms", "p99 ms", "µs/sale", "dmtwisted is (min..max)"]]
    for row in rows:
        cpu = "" if row.cpu_us is None else f"{row.cpu_us:.0f}"
        ratio = "" if row.ours_to_it is None else f"{spread(row.ours_to_it)} times"
        figures = [f"{row.sales_per_s:.0f}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}"]
        lines.append([str(row.connections), row.name, *figures, cpu, ratio])
    return columns(lines)


def missing() -> str:
    """Why the peers cannot run here; empty when they can."""
    if not (HOME / "tests" / "peers").is_dir():
        return "the peers are part of the source tree (tests/peers), which is missing here"
    for module in ("fastapi", "uvicorn", "aiohttp", "uvloop", "httptools"):
        if find_spec(module) is None:
            return f"{module} is not installed: pip install -e '.[bench]' installs what the peers need"
    return ""


def peers_report(folder: Path, connections: Sequence[int], seconds: float, rounds: int) -> list[Row]:
    """Measure with everything in ``folder``.

    :raises BenchFailed: when the peers are missing, or a sale fails.
    :raises NotStarted: when one of the processes does not start.
    """
    if why := missing():
        raise BenchFailed(why)
    most = max(connections)
    state = folder / "state"
    state.mkdir()
    rounds_of: dict[int, list[Round]] = {number: [] for number in connections}
    with ExitStack() as running:
        children = {OURS: running.enter_context(service(state, free_port()))}
        for n in range(most):
            make_register(children[OURS], f"{PREFIX}{n}")
        for name, words in PEERS.items():
            children[name] = child = running.enter_context(_peer(folder, name, words, most))
            for n in range(most):
                execute(child, opening_body(f"{PREFIX}{n}"))
        for child in children.values():
            load_on(child, most, WARM_UP, "warm-up")
        order = list(children)
        for turn in shown_rounds(rounds):
            for number in connections:
                salt = f"{number}-{turn}"
                rounds_of[number].append([_measured(name, children[name], number, seconds, salt) for name in order])
            order = order[1:] + order[:1]
    return [row for number in sorted(set(connections)) for row in rows_of(number, rounds_of[number])]


def _measured(name: str, child: Child, connections: int, seconds: float, salt: str) -> Turn:
    load, cpu = measured(child, connections, seconds, salt)
    return Turn(name, load, None if cpu is None else sum(cpu))


def _peer(folder: Path, name: str, words: Sequence[str], registers: int) -> Child:
    port = free_port()
    command = ["tests.peers", *words, "--port", str(port), "--database", str(folder / f"{port}.sqlite")]
    return Child(name, [*command, "--registers", str(registers)], port, folder / f"{port}.log")


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench peers``."""
    rows = peers_report(folder, chosen["connections"], chosen["seconds"], chosen["rounds"])
    return with_disk(folder, rows, table(rows))
