"""Look-ups, busy registers, card payments, open load, and sales on any database.

``dmtwisted bench look-ups``, ``busy``, ``payments``, ``open`` and ``sales --database``. The service is the real one,
with its own folder or database. The share of the plain resource shows the cost of the answer beyond HTTP.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

from dmtwisted.lab.bench.figures import Figures, Share, columns, medians, share, spread, with_disk
from dmtwisted.lab.bench.loads import PREFIX, WARM_UP, load_on, measured, shown_rounds
from dmtwisted.lab.bench.sales import plain_peer
from dmtwisted.lab.children import (
    HOME,
    HOST,
    BenchFailed,
    Child,
    free_port,
    make_device,
    make_register,
    service,
    simulator,
)
from dmtwisted.lab.load import KNOWN, Load, sale_body

TERMINAL = "pos-"
"""The terminals are ``pos-0``, ``pos-1`` ..."""

BUSY = b'"res":1105'
"""What the answer of a busy register contains."""


@dataclass(frozen=True)
class Turn:
    """One measurement: connections or requests per second, the load, processor time in µs, a peer."""

    number: float
    load: Load
    cpu_us: tuple[float, float] | None
    peer: Load | None = None


@dataclass(frozen=True)
class Row:
    """One line of the table; medians of the rounds."""

    number: float
    per_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    service_cpu_us: float | None
    writer_cpu_us: float | None
    of_plain: Share | None


def rows_of(turns: Sequence[Turn]) -> list[Row]:
    """A row for each number, in order."""
    rows = []
    for number in sorted({turn.number for turn in turns}):
        of_it = [turn for turn in turns if turn.number == number]
        cpu = [turn.cpu_us for turn in of_it if turn.cpu_us is not None]
        ratios = [turn.load.rate / turn.peer.rate for turn in of_it if turn.peer is not None]
        rows.append(
            Row(
                number,
                *medians([turn.load for turn in of_it]),
                max(turn.load.max_ms for turn in of_it),
                median(one[0] for one in cpu) if cpu else None,
                median(one[1] for one in cpu) if cpu else None,
                share(ratios) if ratios else None,
            )
        )
    return rows


def table(rows: Sequence[Row], what: str = "connections") -> str:
    """The rows as text, without unknown columns; ``what`` names the numbers."""
    head = [what, "per second", "p50 ms", "p99 ms", "max ms", "service µs", "writer µs"]
    lines = [[*head, "of plain resource (min..max)"]]
    for row in rows:
        line = [f"{row.number:g}", f"{row.per_s:.0f}", f"{row.p50_ms:.2f}", f"{row.p99_ms:.2f}", f"{row.max_ms:.1f}"]
        line += ["" if cpu is None else f"{cpu:.0f}" for cpu in (row.service_cpu_us, row.writer_cpu_us)]
        lines.append([*line, "" if row.of_plain is None else spread(row.of_plain)])
    known = [any(line[place] for line in lines[1:]) for place in range(len(lines[0]))]
    return columns([[cell for cell, shown in zip(line, known, strict=True) if shown] for line in lines])


@contextmanager
def selling(folder: Path, registers: int, database: str, tree: Path = HOME, **settings: object) -> Iterator[Child]:
    """The service of ``tree`` with training registers with ``settings`` and open shifts.

    :raises BenchFailed: when the database is not empty, since its receipts must not be mixed with ours.
    """
    state = folder / "state"
    state.mkdir(parents=True)
    with service(state, free_port(), database, tree) as child:
        if database:
            _, answer = child.ask("GET", "/dm/api/v3/operations?page_size=1")
            if json.loads(answer)["paging"]["total"]:
                raise BenchFailed("the database is not empty")
        for n in range(registers):
            make_register(child, f"{PREFIX}{n}", **settings)
        yield child


def _measured(child: Child, number: int, seconds: float, salt: str, *more: str) -> Turn:
    return Turn(number, *measured(child, number, seconds, salt, *more))


def sales(folder: Path, connections: Sequence[int], seconds: float, rounds: int, database: str) -> list[Row]:
    """Sales as fast as they are answered, each connection on its own register, on any database."""
    most = max(connections)
    with selling(folder, most, database) as child, plain_peer(folder, child) as plain:
        for one in (child, plain):
            load_on(one, most, WARM_UP, "warm-up")
        turns = []
        for turn in shown_rounds(rounds):
            for number in connections:
                one_turn = _measured(child, number, seconds, f"sales-{number}-{turn}")
                peer = load_on(plain, number, seconds, "peer")
                turns.append(Turn(number, one_turn.load, one_turn.cpu_us, peer))
        return rows_of(turns)


def look_ups(folder: Path, connections: Sequence[int], seconds: float, rounds: int, database: str) -> list[Row]:
    """Look-ups by tag of receipts that were just made, each connection on its own register."""
    most = max(connections)
    with selling(folder, most, database) as child, plain_peer(folder, child) as plain:
        # The sales that are looked up.
        for n in range(most):
            wire = http.client.HTTPConnection(HOST, child.port, timeout=30)
            for tag in range(KNOWN):
                body = sale_body(f"{PREFIX}{n}", f"known-{n}-{tag:010d}").encode()
                wire.request("POST", "/dm/execute", body, {"Content-Type": "application/json"})
                if b'"res":0' not in wire.getresponse().read():
                    raise BenchFailed("a sale was refused")
            wire.close()
        kind = ("--kind", "look-up")
        load_on(child, most, WARM_UP, "known", *kind)
        load_on(plain, most, WARM_UP, "known", *kind)
        return _beside(child, plain, connections, seconds, rounds, "known", kind)


def busy(folder: Path, connections: Sequence[int], seconds: float, rounds: int, database: str) -> list[Row]:
    """The answers of busy registers, each in the middle of a sale.

    :raises BenchFailed: when ``seconds`` is longer than a sale can last.
    """
    if seconds > LONGEST_SALE - STARTING:
        raise BenchFailed(
            f"a sale lasts at most {LONGEST_SALE:.0f} s: --seconds {LONGEST_SALE - STARTING:.0f} or less"
        )
    most = max(connections)
    with selling(folder, most, database, wait_s=LONGEST_SALE + 1) as child, plain_peer(folder, child) as plain:
        load_on(child, most, WARM_UP, "warm-up")
        kind = ("--kind", "sale", "--wanted", BUSY.decode())
        with Held(child, [f"{PREFIX}{n}" for n in range(most)]) as held:
            return _beside(child, plain, connections, seconds, rounds, "busy", kind, held)


def _beside(
    child: Child,
    plain: Child,
    connections: Sequence[int],
    seconds: float,
    rounds: int,
    salt: str,
    kind: tuple[str, ...],
    held: Held | None = None,
) -> list[Row]:
    turns = []
    for _ in shown_rounds(rounds):
        for number in connections:
            if held is not None:
                held.hold(seconds + STARTING)
            turn = _measured(child, number, seconds, salt, *kind)
            peer = load_on(plain, number, seconds, salt, *kind[:2])
            turns.append(Turn(number, turn.load, turn.cpu_us, peer))
    return rows_of(turns)


LONGEST_SALE = 55.0
"""Seconds of the sale of a busy register, which waits a little longer for its device."""

STARTING = 10.0
"""Seconds for the process of a load besides its load."""


class Held:
    """Registers that are in the middle of a sale."""

    def __init__(self, child: Child, names: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._child, self._names, self._clock = child, names, clock
        devices = json.loads(child.ask("GET", "/dm/api/v3/devices")[1])["devices"]
        self._ids = [row["dev_id"] for row in devices if row["device"] in names]
        self._wires: list[http.client.HTTPConnection] = []
        self._until = 0.0

    def hold(self, seconds: float) -> None:
        """Keep them busy for ``seconds`` from now; if necessary wait for the end of their sales first.

        :raises BenchFailed: when a register does not become busy.
        """
        if self._until - self._clock() >= seconds:
            return
        self._let_go()
        rule = {"on": "sale", "then": "accept", "delay_ms": int(LONGEST_SALE * 1000)}
        for dev_id in self._ids:
            status, answer = self._child.ask("PUT", f"/dm/api/v3/devices/{dev_id}/scenario", {"rules": [rule]})
            if status != 200:
                raise BenchFailed(f"the rule was refused: {status} {answer[:300]!r}")
        self._until = self._clock() + LONGEST_SALE
        for name in self._names:
            wire = http.client.HTTPConnection(HOST, self._child.port)
            wire.request("POST", "/dm/execute", sale_body(name, "").encode(), {"Content-Type": "application/json"})
            self._wires.append(wire)
        for name in self._names:
            # A look-up has no effect if it comes before the sale.
            asked = json.dumps({"ver": 6, "device": name, "type": 0, "tag": "unknown"})
            while BUSY not in self._child.ask("POST", "/dm/execute", asked)[1]:
                if self._clock() > self._until:
                    raise BenchFailed(f"{name} is not busy")
                time.sleep(0.01)

    def _let_go(self) -> None:
        for wire in self._wires:
            wire.getresponse().read()
            wire.close()
        self._wires.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for wire in self._wires:
            wire.close()


def payments(folder: Path, connections: Sequence[int], seconds: float, rounds: int, database: str) -> list[Row]:
    """Payments at simulated terminals in child processes, over their protocol, with customers who take no time."""
    with selling(folder, 0, database) as child, ExitStack() as running:
        for n in range(max(connections)):
            words = ("terminal", "--protocol", "privatbank-json", "--duration", "0")
            device, port = simulator(folder, f"terminal-{n}", *words)
            running.enter_context(device)
            settings = {"host": HOST, "port": port}
            make_device(child, f"{TERMINAL}{n}", "terminal", "privatbank-json", settings)
        kind = ("--kind", "payment", "--prefix", TERMINAL)
        load_on(child, max(connections), WARM_UP, "warm-up", *kind)
        return rows_of(
            [
                _measured(child, number, seconds, f"pay-{number}-{turn}", *kind)
                for turn in shown_rounds(rounds)
                for number in connections
            ]
        )


def open_load(
    folder: Path, rates: Sequence[int], connections: int, seconds: float, rounds: int, database: str
) -> list[Row]:
    """Sales at constant rates; times count from the moment when a sale is due."""
    turns = []
    with selling(folder, connections, database) as child:
        load_on(child, connections, WARM_UP, "warm-up")
        for turn in shown_rounds(rounds):
            for rate in rates:
                one = _measured(child, connections, seconds, f"open-{rate}-{turn}", "--rate", str(rate))
                turns.append(Turn(rate, one.load, one.cpu_us))
    return rows_of(turns)


def figures(part: str, folder: Path, chosen: Any) -> Figures:
    """Measure ``dmtwisted bench look-ups``, ``busy``, ``payments``, ``open`` or ``sales --database``."""
    asked = (chosen["connections"], chosen["seconds"], chosen["rounds"], chosen["database"])
    if part == "open":
        rows = open_load(folder, chosen["rates"], *asked)
        return with_disk(folder, rows, table(rows, "sales/s due"), chosen["database"])
    rows = {"sales": sales, "look-ups": look_ups, "busy": busy, "payments": payments}[part](folder, *asked)
    return with_disk(folder, rows, table(rows), chosen["database"])
