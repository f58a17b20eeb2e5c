"""Memory and processor time at rest, and the time of a start: ``dmtwisted bench idle`` and ``start``.

Memory is the proportional share (PSS) of each process from ``/proc``: shared memory counts in part, so the sum is the
memory of all processes. A start lasts from creating the process until ``/health/ready`` answers 200.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.lab.bench.figures import Figures
from dmtwisted.lab.bench.loads import shown_rounds
from dmtwisted.lab.children import (
    HOME,
    BenchFailed,
    Child,
    cpu_of,
    execute,
    family,
    free_port,
    is_writer,
    make_device,
    make_register,
    service,
)
from dmtwisted.lab.load import percentile, sale_body

KINDS = (("register", "training"), ("terminal", "training"), ("printer", "training"))
"""Every second device is a register; half of the others are terminals, half are printers."""


@dataclass(frozen=True)
class Process:
    """One process of the service at rest."""

    name: str
    pss_mb: float


@dataclass(frozen=True)
class Idle:
    """The service at rest."""

    devices: int
    sales: int
    processes: list[Process]
    seconds: float
    cpu_percent: float
    """Percent of one processor for all processes together."""

    @property
    def pss_mb(self) -> float:
        """Of all processes."""
        return sum(process.pss_mb for process in self.processes)


@dataclass(frozen=True)
class Start:
    """Starts on existing data, in seconds from creating the process until it is ready."""

    devices: int
    starts: list[float]
    cpu_s: float | None
    """Processor time of a start, the writer's included."""


def pss_mb(pid: int) -> float:
    """Megabytes of a process.

    :raises BenchFailed: where the system does not show it.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    except OSError as error:
        raise BenchFailed(f"this system does not show the memory of a process: {error}") from error
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def idle_report(folder: Path, devices: int, seconds: float, sales: int) -> Idle:
    """Measure the service for ``seconds`` at rest, after a start on existing data and ``sales`` of each register.

    :raises BenchFailed: when something is refused, or the system does not show it.
    """
    child = stopped_service(folder)
    with child:
        fill(child, devices, 0)
    with child:
        sell(child, devices, sales, "idle")
        time.sleep(SETTLING)
        before, begun = cpu_of(child.pid), time.monotonic()
        time.sleep(seconds)
        after, spent = cpu_of(child.pid), time.monotonic() - begun
        if before is None or after is None:
            raise BenchFailed("this system does not show the processor time of a process")
        processes = processes_of(child)
        busy = (after.service + after.writer) - (before.service + before.writer)
    return Idle(devices, sales, processes, spent, 100 * busy / spent)


def processes_of(child: Child) -> list[Process]:
    """The processes of a service with their memory, by name.

    :raises BenchFailed: where the system does not show it.
    """
    found = [Process("writer" if is_writer(pid) else "service", pss_mb(pid)) for pid in family(child.pid)]
    return sorted(found, key=lambda one: one.name)


def start_report(folder: Path, devices: int, rounds: int) -> Start:
    """Start the service ``rounds`` times on the data of an earlier run.

    :raises BenchFailed: when something is refused.
    """
    child = stopped_service(folder)
    starts, cpu = [], []
    with child:
        fill(child, devices, 1)
    for _ in shown_rounds(rounds):
        with started(child) as (seconds, spent):
            starts.append(seconds)
            cpu += [] if spent is None else [spent]
    return Start(devices, starts, median(cpu) if cpu else None)


@contextmanager
def started(child: Child) -> Iterator[tuple[float, float | None]]:
    """Start a service: the seconds until it is ready, and its processor time if that is known.

    :raises BenchFailed: when it ends instead.
    """
    begun = time.monotonic()
    child.spawn()
    try:
        while not _is_ready(child):
            time.sleep(0.005)
        seconds = time.monotonic() - begun
        cpu = cpu_of(child.pid)
        yield seconds, None if cpu is None else cpu.service + cpu.writer
    finally:
        child.stop()


PATIENCE = 60.0
"""Seconds for a start."""

SETTLING = 2.0
"""Seconds from the last sale until the service is at rest."""


def _is_ready(child: Child) -> bool:
    wire = http.client.HTTPConnection("127.0.0.1", child.port, timeout=PATIENCE)
    try:
        wire.request("GET", "/health/ready")
        return wire.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        if not child.alive:
            raise BenchFailed(f"the service ended: {child.last_words()}") from None
        return False
    finally:
        wire.close()


def stopped_service(folder: Path, tree: Path = HOME) -> Child:
    """The service of ``tree``, not started, with an empty state folder in ``folder``."""
    state = folder / "state"
    state.mkdir(parents=True)
    return service(state, free_port(), tree=tree)


def fill(child: Child, devices: int, sales: int) -> None:
    """Create devices, which loads the management interface; each register sells."""
    for n in range(devices):
        kind, driver = KINDS[0 if n % 2 == 0 else 1 + n // 2 % 2]
        if kind != "register":
            make_device(child, f"{kind}-{n}", kind, driver, {})
            continue
        make_register(child, f"register-{n}")
    sell(child, devices, sales, "idle")


def sell(child: Child, devices: int, sales: int, salt: str) -> None:
    """Sell on each register of so many ``devices``."""
    for n in range(0, devices, 2):
        for sale in range(sales):
            execute(child, sale_body(f"register-{n}", f"{salt}-{sale}"))


def words(idle: Idle) -> str:
    """The figures as text."""
    each = ", ".join(f"{process.name} {process.pss_mb:.1f} MB" for process in idle.processes)
    return (
        f"{idle.devices} devices at rest after {idle.sales} sales on each register: {idle.pss_mb:.1f} MB ({each}); "
        f"{idle.cpu_percent:.2f} % of one processor over {idle.seconds:.0f} s"
    )


def start_words(start: Start) -> str:
    """The figures as text."""
    ordered = sorted(int(one * 1e6) for one in start.starts)
    cpu = "" if start.cpu_s is None else f"; {start.cpu_s:.2f} s of processor"
    return (
        f"ready after start with {start.devices} devices, {len(ordered)} starts on existing data: "
        f"p50 {percentile(ordered, 0.5) / 1e6:.2f} s, max {ordered[-1] / 1e6:.2f} s{cpu}"
    )


def as_json(report: Idle | Start) -> dict[str, Any]:
    """The report for programs."""
    more = {"pss_mb": report.pss_mb} if isinstance(report, Idle) else {"p50_s": median(report.starts)}
    return {**asdict(report), **more}


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench idle`` or ``start``."""
    if part == "start":
        start = start_report(folder, chosen["devices"], chosen["rounds"])
        return as_json(start), start_words(start)
    idle = idle_report(folder, chosen["devices"], chosen["seconds"], chosen["sales"])
    return as_json(idle), words(idle)
