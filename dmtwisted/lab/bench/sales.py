"""Sales next to their upper limits: ``dmtwisted bench sales``.

Absolute figures depend more on the machine, and on its load, than on the service. So each round runs the service and
two variants of `web.plain` one after the other under the same load, and the table shows the sales in relation

- to the same HTTP resource without the engine, which reads the task, stores the data of a sale, and answers;
- to the same HTTP resource without engine and store, which reads the task and answers;
- to the writer of the store alone (``dmtwisted bench writer``).

The service is the real one, a child process with its own folder. Each connection sells on its own training register,
because a busy register refuses a second task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.lab.bench.figures import Figures, Share, columns, medians, share, spread, with_disk
from dmtwisted.lab.bench.keeping import Sizes, sizes_kept
from dmtwisted.lab.bench.loads import PREFIX, WARM_UP, json_of, load_on, measured, shown_rounds
from dmtwisted.lab.children import (
    BenchFailed,
    Child,
    execute,
    free_port,
    make_register,
    service,
)
from dmtwisted.lab.load import Load, sale_body


@dataclass(frozen=True)
class Round:
    """One measurement of the service, and those of its peers right after it."""

    sales: Load
    without_engine: Load
    plain: Load
    cpu_us: tuple[float, float] | None


@dataclass(frozen=True)
class Row:
    """One line of the table, for a number of connections: medians of the rounds."""

    connections: int
    sales_per_s: float
    p50_ms: float
    p99_ms: float
    service_cpu_us: float | None
    writer_cpu_us: float | None
    without_engine_per_s: float
    of_without_engine: Share
    plain_per_s: float
    of_plain: Share
    writer_per_s: float
    of_writer: float
    generator_cpu_us: float


def row_of(connections: int, rounds: Sequence[Round], writer_per_s: float) -> Row:
    """The figures of ``rounds`` with so many ``connections``."""
    rate, p50_ms, p99_ms = medians([one.sales for one in rounds])
    known = [one.cpu_us for one in rounds if one.cpu_us is not None]
    return Row(
        connections=connections,
        sales_per_s=rate,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        service_cpu_us=median(cpu[0] for cpu in known) if known else None,
        writer_cpu_us=median(cpu[1] for cpu in known) if known else None,
        without_engine_per_s=median(one.without_engine.rate for one in rounds),
        of_without_engine=share([one.sales.rate / one.without_engine.rate for one in rounds]),
        plain_per_s=median(one.plain.rate for one in rounds),
        of_plain=share([one.sales.rate / one.plain.rate for one in rounds]),
        writer_per_s=writer_per_s,
        of_writer=rate / writer_per_s,
        generator_cpu_us=median(one.sales.cpu_us for one in rounds),
    )


def table(rows: Sequence[Row]) -> str:
    """The rows as text, without unknown columns."""
    with_cpu = all(row.service_cpu_us is not None for row in rows)
    head = ["connections", "sales/s", "p50 ms", "p99 ms"]
    head += ["service µs/sale", "writer µs/sale"] if with_cpu else []
    head += ["of the same without engine (min..max)", "without engine and store", "of writer alone"]
    lines = [head]
    for row in rows:
        line = [str(row.connections), f"{row.sales_per_s:.0f}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}"]
        if row.service_cpu_us is not None and row.writer_cpu_us is not None and with_cpu:
            line += [f"{row.service_cpu_us:.0f}", f"{row.writer_cpu_us:.0f}"]
        line += [spread(row.of_without_engine), spread(row.of_plain), f"{row.of_writer:.2f}"]
        lines.append(line)
    return columns(lines)


def sales_report(folder: Path, connections: Sequence[int], seconds: float, rounds: int) -> list[Row]:
    """Measure with everything in ``folder``.

    :raises BenchFailed: when a sale fails.
    :raises NotStarted: when a process does not start.
    """
    rounds_of: dict[int, list[Round]] = {number: [] for number in connections}
    state = folder / "state"
    state.mkdir()
    with service(state, free_port()) as selling:
        for n in range(max(connections)):
            make_register(selling, f"{PREFIX}{n}")
        answer = _answer(folder, selling)
        kept = sizes_kept(state / "dmtwisted.db")
        with (
            _peer(folder, "plain resource", answer) as plain,
            _peer(folder, "resource with a store", answer, kept) as without_engine,
        ):
            for child in (selling, without_engine, plain):
                load_on(child, max(connections), WARM_UP, "warm-up")
            for turn in shown_rounds(rounds):
                for number in connections:
                    sales, cpu = measured(selling, number, seconds, f"sales-{number}-{turn}")
                    kept_alone = load_on(without_engine, number, seconds, "peer")
                    answered = load_on(plain, number, seconds, "peer")
                    rounds_of[number].append(Round(sales, kept_alone, answered, cpu))
    return [
        row_of(number, rounds_of[number], _writer_child(folder, number, seconds, kept))
        for number in sorted(set(connections))
    ]


def plain_peer(folder: Path, selling: Child) -> Child:
    """The same HTTP resource, which answers everything with a sale of ``selling``."""
    return _peer(folder, "plain resource", _answer(folder, selling))


def _answer(folder: Path, selling: Child) -> Path:
    answer = folder / "answer.json"
    answer.write_bytes(execute(selling, sale_body(f"{PREFIX}0", "the-one-for-the-plain-resource")))
    return answer


def _peer(folder: Path, name: str, answer: Path, kept: Sizes | None = None) -> Child:
    """The same HTTP resource without the engine; with a store if sizes are given."""
    port = free_port()
    command = ["web.plain", "--port", str(port), "--answer", str(answer)]
    if kept is not None:
        command += ["--sizes", str(kept), "--state", str(folder)]
    return Child(name, command, port, folder / f"{port}.log")


def _writer_child(folder: Path, connections: int, seconds: float, kept: Sizes) -> float:
    arguments = ["--connections", str(connections), "--seconds", str(seconds), "--state", str(folder)]
    arguments += ["--sizes", str(kept)]
    load = Load(**json_of(["dmtwisted.lab.bench.bench", "writer", *arguments]))
    if not load.count:
        raise BenchFailed("the writer stored nothing")
    return load.rate


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench sales``."""
    rows = sales_report(folder, chosen["connections"], chosen["seconds"], chosen["rounds"])
    return with_disk(folder, rows, table(rows))
