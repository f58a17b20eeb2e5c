"""Loads on a server, each made by a child process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from dmtwisted.commands.progress import ProgressBar
from dmtwisted.lab.children import BenchFailed, Child, cpu_of, environment, per_sale
from dmtwisted.lab.load import Load

WARM_UP = 0.5
"""Seconds of load before the measurements, for imports and caches."""

PREFIX = "bench-"
"""The registers are called ``bench-0``, ``bench-1`` ..."""

Costs = tuple[float, float] | None
"""Microseconds of service and writer; `None` when unknown."""


def load_on(child: Child, connections: int, seconds: float, salt: str, *more: str) -> Load:
    """The load of ``connections`` on ``child``; ``more`` are further arguments of `dmtwisted.lab.load`.

    :raises BenchFailed: when a request failed.
    """
    return timed_load_on(child, connections, seconds, salt, *more)[0]


def timed_load_on(child: Child, connections: int, seconds: float, salt: str, *more: str) -> tuple[Load, list[int]]:
    """As `load_on`, with the microseconds of each success.

    :raises BenchFailed: when a request failed.
    """
    arguments = ["--port", str(child.port), "--connections", str(connections), "--seconds", str(seconds)]
    arguments += ["--prefix", PREFIX, "--salt", salt, "--times"]
    found = json_of(["dmtwisted.lab.load", *arguments, *more])
    spent = found.pop("spent_us")
    load = Load(**found)
    if load.failures or not load.count:
        words = load.samples[0] if load.samples else "no answer"
        raise BenchFailed(f"{load.failures} of {load.count + load.failures} requests failed: {words[-300:]}")
    return load, spent


def measured(child: Child, connections: int, seconds: float, salt: str, *more: str) -> tuple[Load, Costs]:
    """As `load_on`, with the processor time of service and writer in µs for each success."""
    before = cpu_of(child.pid)
    load = load_on(child, connections, seconds, salt, *more)
    return load, per_sale(before, cpu_of(child.pid), load.count)


def json_of(command: Sequence[str]) -> Any:
    """The JSON that a child process prints.

    :raises BenchFailed: when it fails.
    """
    whole = [sys.executable, "-m", *command]
    done = subprocess.run(whole, capture_output=True, env=environment(), check=False)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise BenchFailed(f"{command[0]} ended with status {done.returncode}: {words[-1] if words else ''}")
    return json.loads(done.stdout)


def shown_rounds(count: int, doing: str = "measuring") -> Iterator[int]:
    """The number of each round, which is shown on the standard error."""
    with ProgressBar("rounds") as progress:
        yield from progress.each(range(count), lambda n: doing)


def report_progress(text: str) -> None:
    """Print what a long measurement does now."""
    print(f"{text} ...", file=sys.stderr)
