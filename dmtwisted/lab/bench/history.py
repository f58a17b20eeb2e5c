"""Whether years of receipts make the service slow: ``dmtwisted bench history``.

Two services of the same build, with a short history and a long one, get the same requests in turn; the ratios count.
The history consists of a real receipt and a real Z-report, stored by the store's own statements with different tags,
numbers and times, and with seals. Half of it is too old to be kept; `dmtwisted.lab.bench.removal` measures how that
is removed.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dmtwisted.commands.progress import ProgressBar
from dmtwisted.lab.bench.figures import Figures
from dmtwisted.lab.bench.loads import report_progress
from dmtwisted.lab.children import (
    HOST,
    START_PATIENCE,
    BenchFailed,
    Child,
    execute,
    free_port,
    make_register,
    service,
)
from dmtwisted.lab.load import percentile, sale_body
from dmtwisted.registers import totals
from dmtwisted.service_settings import Settings
from dmtwisted.store.sqlite.wire import FUNCTIONS
from dmtwisted.store.sqlite.writer import connect
from dmtwisted.store.values import DocumentIntent, Intent, Outcome, State

SHORT = 1000
"""Receipts of the short history."""

REGISTERS = 10
"""Number of registers of a history."""

DAYS = 2 * Settings().packdays
"""Its days: half of it is too old to be kept."""

DAY = 86_400_000
PORTION = 2000
"""Receipts per transaction."""

LOOK_UPS, ROUNDS = 300, 5
"""Look-ups per round, and number of rounds."""


@dataclass(frozen=True)
class Report:
    """The figures; times in milliseconds unless named otherwise. Pairs are of the short and the long history."""

    receipts: int
    fill_s: float
    size_mb: float
    start_s: tuple[float, float]
    look_up_p50: tuple[float, float]
    look_up_ratio: float
    cold_p50: tuple[float, float] | None
    """Look-ups whose file was dropped from the system's memory right before; `None` where that is not possible."""
    cold_ratio: float | None
    lists: dict[str, tuple[float, float]]


def measure(folder: Path, receipts: int, tell: Callable[[str], None]) -> Report:
    """Make both histories in ``folder`` and measure them."""
    states = [folder / "short", folder / "long"]
    for state, count in zip(states, (SHORT, receipts), strict=True):
        state.mkdir()
        begun = time.monotonic()
        tell(f"filling {count} receipts")
        fill(state, count)
        fill_s = time.monotonic() - begun
    size_mb = (states[1] / "dmtwisted.db").stat().st_size / 1e6
    children = [service(state, free_port()) for state in states]
    try:
        begins: list[list[float]] = [[], []]
        for _ in range(3):
            for child, starts in zip(children, begins, strict=True):
                child.stop()
                begun = time.monotonic()
                child.start()
                starts.append(time.monotonic() - begun)
        tell("look-ups and lists")
        p50 = _pair(_look_ups(children, (SHORT, receipts)))
        files = [state / "dmtwisted.db" for state in states]
        cold = _pair(_look_ups(children, (SHORT, receipts), files)) if CAN_FORGET else None
        lists = {path: _pair(_times(children, path)) for path in LISTS}
    finally:
        for child in children:
            child.stop()
    return Report(
        receipts=receipts,
        fill_s=fill_s,
        size_mb=size_mb,
        start_s=_pair([median(starts) for starts in begins]),
        look_up_p50=p50,
        look_up_ratio=p50[1] / p50[0],
        cold_p50=cold,
        cold_ratio=None if cold is None else cold[1] / cold[0],
        lists=lists,
    )


LISTS = (
    "/dm/api/v3/receipts?page_size=50",
    "/dm/api/v3/receipts?page_size=50&page=10",
    "/dm/api/v3/receipts?page_size=50&device=history-3",
    "/dm/api/v3/operations?page_size=50",
    "/dm/api/v3/operations?page_size=50&page=10",
    "/dm/api/v3/operations?page_size=50&device=history-3",
    "/dm/api/v3/operations?page_size=50&state=unfinished",
    "/dm/api/v3/jobs?page_size=50",
)
"""Lists that people open."""


def tag_of(register: int, number: int) -> str:
    """The tag of a receipt of the history: as long as those of tills, in random order."""
    return f"{random.Random(register << 32 | number).getrandbits(128):032x}"


# Filling


def fill(state: Path, receipts: int) -> None:
    """Make a database with ``receipts`` on `REGISTERS` registers, with a shift each day."""
    child = service(state, free_port())
    with child:
        make_register(child, "history-0")
        execute(child, sale_body("history-0", "the-first"))
        execute(child, json.dumps({"ver": 6, "device": "history-0", "type": 1, "fiscal": {"task": 11}}))
    with closing(connect(str(state / "dmtwisted.db"))) as db, ProgressBar("receipts") as progress:
        db.execute("PRAGMA synchronous=OFF")
        history = History(db, receipts, int(time.time() * 1000))
        for first in range(0, receipts, PORTION):
            progress("making a history", first, receipts)
            db.execute("BEGIN")
            for n in range(first, min(first + PORTION, receipts)):
                history.keep(n)
            db.execute("COMMIT")
        db.execute("BEGIN")
        history.end()
        db.execute("COMMIT")


class History:
    """Receipts in order up to ``now``, with a Z-report after those of each day.

    :param db: a store in which a register ``history-0`` has opened a shift, sold once and closed the shift.
    """

    def __init__(self, db: Any, receipts: int, now: int) -> None:
        self._db, self._receipts = db, receipts
        self._begin = now - DAYS * DAY
        shown = "o.kind, o.task, o.fingerprint, o.request, o.answer, d.kind, d.sum, d.value, d.sent"
        rows = db.execute(f"SELECT o.n, {shown} FROM operation o JOIN document d ON d.operation_n = o.n ORDER BY d.n")
        self._samples: dict[str, list[Any]] = {}
        by_operation: dict[int, list[Any]] = {}
        for n, *row in rows.fetchall():
            by_operation.setdefault(n, []).append(row)
        for papers in by_operation.values():
            self._samples[papers[0][5]] = papers
        first = db.execute("SELECT n, driver, settings FROM device WHERE name = 'history-0'").fetchone()
        (self._stored,) = db.execute("SELECT state FROM register WHERE device_n = ?", (first[0],)).fetchone()
        self._devices = [first[0]]
        for n in range(1, REGISTERS):
            added = FUNCTIONS["add_device"](db, f"history-{n}", f"history-{n}", "register", *first[1:])
            self._devices.append(added.n)
        begun = totals.decode(self._stored)
        self._numbers = [begun.next_number] + [1] * (REGISTERS - 1)
        self._shifts = [begun.shift] + [1] * (REGISTERS - 1)
        self._last = list(self._numbers)
        self._days = [0] * REGISTERS

    def keep(self, n: int) -> None:
        """Store the receipt ``n``."""
        register = n % REGISTERS
        at = self._begin + n * DAYS * DAY // self._receipts
        day = n * DAYS // self._receipts
        if day != self._days[register]:
            self._days[register] = day
            self._operation("z", register, at, "")
            self._shifts[register] += 1
        self._last[register] = self._numbers[register]
        self._operation("sale", register, at, tag_of(register, n))

    def end(self) -> None:
        """Close every shift, and update the state of the registers."""
        for register, device_n in enumerate(self._devices):
            self._operation("z", register, self._begin + DAYS * DAY - 1, "")
            state = totals.decode(self._stored)
            state.next_number, state.z_number = self._numbers[register], self._shifts[register]
            state.last.number, state.last_receipt = self._numbers[register] - 1, self._last[register]
            state.shift_open = False
            self._db.execute(
                "INSERT INTO register (device_n, state) VALUES (?, ?) "
                "ON CONFLICT (device_n) DO UPDATE SET state = excluded.state",
                (device_n, totals.encode(state)),
            )

    def _operation(self, kind: str, register: int, at: int, tag: str) -> None:
        device_n = self._devices[register]
        papers, numbers = [], {}
        for _, _, _, _, _, paper, total, value, sent in self._samples[kind]:
            number = self._numbers[register]
            self._numbers[register] += 1
            papers.append(DocumentIntent(number, paper, self._shifts[register], at, total, value, sent))
            numbers[number] = f"TEST_{device_n}_{number}"
        sample = self._samples[kind][0]
        intent = Intent(
            device_n, sample[0], sample[1], tag or f"z {numbers}", sample[2], at, papers, sample[3] or b""
        )
        n = FUNCTIONS["reserve"](self._db, intent).n
        FUNCTIONS["conclude"](self._db, Outcome(n, device_n, State.DONE, at + 20, 0, sample[4], numbers, None))


# Asking


def _pair(values: list[float]) -> tuple[float, float]:
    return values[0], values[1]


CAN_FORGET = hasattr(os, "posix_fadvise")


def forget(path: Path) -> None:
    """Drop a file from the system's memory, as far as it is on the disk: the next reads are from there."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _look_ups(children: list[Child], counts: tuple[int, int], cold: Sequence[Path] = ()) -> list[float]:
    """The median of look-ups by tag at each service, in turn; the files in ``cold`` are dropped before each one."""
    dice = random.Random(1)
    spent: list[list[int]] = [[], []]
    wires = [http.client.HTTPConnection(HOST, child.port, timeout=START_PATIENCE) for child in children]
    for _ in range(ROUNDS):
        for wire, count, times in zip(wires, counts, spent, strict=True):
            for _ in range(LOOK_UPS):
                n = dice.randrange(count)
                register = n % REGISTERS
                body = json.dumps({"ver": 6, "device": f"history-{register}", "type": 0, "tag": tag_of(register, n)})
                for file in cold:
                    forget(file)
                begun = time.perf_counter_ns()
                wire.request("POST", "/dm/execute", body, {"Content-Type": "application/json"})
                answer = wire.getresponse().read()
                times.append(time.perf_counter_ns() - begun)
                if b'"res":0' not in answer:
                    raise BenchFailed(f"a receipt of the history was not found: {answer[:300]!r}")
    for wire in wires:
        wire.close()
    return [percentile(sorted(times), 0.5) / 1e6 for times in spent]


def _times(children: list[Child], path: str) -> list[float]:
    """The median time of a list at each service."""
    spent: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for child, times in zip(children, spent, strict=True):
            begun = time.perf_counter()
            status, answer = child.ask("GET", path)
            times.append((time.perf_counter() - begun) * 1000)
            if status != 200:
                raise BenchFailed(f"{path}: {status} {answer[:300]!r}")
    return [median(times) for times in spent]


def words(report: Report) -> str:
    """The report as text."""
    starts, look_ups = report.start_s, report.look_up_p50
    cold = []
    if report.cold_p50 is not None:
        short, long = report.cold_p50
        cold = [f"from a cold disk, p50 ms: {long:.2f} against {short:.2f}, ratio {report.cold_ratio:.2f}"]
    lines = [
        f"{report.receipts} receipts against {SHORT}: {report.size_mb:.0f} MB, filled in {report.fill_s:.0f} s",
        f"start until ready, s: {starts[1]:.2f} against {starts[0]:.2f}",
        f"look-up by tag, p50 ms: {look_ups[1]:.2f} against {look_ups[0]:.2f}, ratio {report.look_up_ratio:.2f}",
        *cold,
        *(f"{path}, ms: {times[1]:.1f} against {times[0]:.1f}" for path, times in report.lists.items()),
    ]
    return "\n".join(lines)


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench history``."""
    report = measure(folder, chosen["receipts"], report_progress)
    return asdict(report), words(report)
