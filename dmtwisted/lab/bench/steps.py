"""The time of each step of a sale while a till waits for it: ``dmtwisted bench steps``.

The service is started with timers in its steps (`dmtwisted.lab.bench.timed`), for each number of connections. The
load measures the whole time for a till; the rest beside the steps is sockets, HTTP, and waiting for the service.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmtwisted.commands.progress import ProgressBar
from dmtwisted.lab.bench.figures import Figures, columns, with_disk
from dmtwisted.lab.bench.loads import PREFIX, load_on
from dmtwisted.lab.bench.timed import STEPS
from dmtwisted.lab.children import BenchFailed, Child, free_port, make_register, service_command
from dmtwisted.lab.load import Load, percentile

WHOLE = "what the till sees"


@dataclass(frozen=True)
class Step:
    """One step, in milliseconds."""

    name: str
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Report:
    """The steps for one number of connections, and the sales per second."""

    connections: int
    sales_per_s: float
    steps: list[Step]


def report_of(connections: int, spent: Mapping[str, Sequence[int]], load: Load) -> Report:
    """The figures from the nanoseconds of each step, and of the load."""
    steps = []
    for name in STEPS:
        ordered = sorted(spent[name])
        steps.append(Step(name, percentile(ordered, 0.5) / 1e6, percentile(ordered, 0.99) / 1e6))
    inside = sorted(map(sum, zip(*(spent[name] for name in STEPS), strict=True)))
    steps.append(Step("all of these", percentile(inside, 0.5) / 1e6, percentile(inside, 0.99) / 1e6))
    steps.append(Step(WHOLE, load.p50_ms, load.p99_ms))
    return Report(connections, load.rate, steps)


def table(reports: Sequence[Report]) -> str:
    """The reports side by side: p50 and p99 of each step in milliseconds."""
    head = ["step"]
    for one in reports:
        head += [f"{one.connections}: p50 ms", "p99 ms"]
    lines = [head]
    for place, step in enumerate(reports[0].steps):
        line = [step.name]
        for one in reports:
            line += [f"{one.steps[place].p50_ms:.2f}", f"{one.steps[place].p99_ms:.2f}"]
        lines.append(line)
    rates = ", ".join(f"{one.sales_per_s:.0f} at {one.connections}" for one in reports)
    return f"{columns(lines)}\n\nSales a second: {rates} connections."


def steps_report(folder: Path, connections: Sequence[int], seconds: float) -> list[Report]:
    """Measure with everything in ``folder``.

    :raises BenchFailed: when a sale fails, or the service left no figures.
    :raises NotStarted: when the service does not start.
    """
    with ProgressBar("measurements") as progress:
        each = progress.each(connections, lambda number: f"{number} connections")
        return [_at(folder, number, seconds) for number in each]


def _at(folder: Path, connections: int, seconds: float) -> Report:
    state, file = folder / f"state-{connections}", folder / f"steps-{connections}.json"
    state.mkdir()
    port = free_port()
    _, *words = service_command(state, port)
    command = ["dmtwisted.lab.bench.timed", str(file), *words]
    with Child("service", command, port, folder / f"steps-{connections}.log") as child:
        for n in range(connections):
            make_register(child, f"{PREFIX}{n}")
        load = load_on(child, connections, seconds, "steps")
    if not file.is_file():
        raise BenchFailed(f"the service left no figures: {child.last_words()}")
    spent = json.loads(file.read_text("ascii"))
    if not spent[STEPS[0]]:
        raise BenchFailed("the service saw no sale")
    return report_of(connections, spent, load)


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench steps``."""
    reports = steps_report(folder, chosen["connections"], chosen["seconds"])
    return with_disk(folder, reports, table(reports))
