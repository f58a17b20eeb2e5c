"""How fast the service sells, next to the ceilings that bound it: ``dmtwisted bench sales``.

Absolute figures say more about a machine, and about its last minute, than about the service. So each round
runs the service and two peers of `web.plain` after each other under the same load, and the table gives shares:

- of the same HTTP resource without the engine: it reads the task, keeps in the store what a sale keeps, answers;
- of the same HTTP resource without engine and store: it reads the task and answers;
- of the writer of the store alone (``dmtwisted bench writer``), which talks to nobody.

The service is the real one, started as a child with a folder of its own; every connection sells on a training
register of its own, since a register refuses a second task while it works.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import react
from twisted.python import usage

from dmtwisted.commands.children import (
    BenchFailed,
    Child,
    NotStarted,
    cpu_of,
    ended_by_signals,
    environment,
    execute,
    filesystem,
    free_port,
    make_register,
    per_sale,
    scratch_folder,
    service,
)
from dmtwisted.commands.keeping import USUAL_SIZES, Sizes, keep_sales, sizes, sizes_kept
from dmtwisted.commands.load import Load, sale_body
from dmtwisted.config import SQLITE, Config, ConfigError, DatabaseConfig, ServiceConfig
from dmtwisted.store.opening import check_database, store_of
from dmtwisted.store.values import OperationQuery, StoreFailed

PREFIX = "bench-"
"""The registers are called ``bench-0``, ``bench-1`` ..."""

WARM_UP = 0.5
"""Seconds of load before anything is measured: the first requests pay for imports and caches."""


# The command line


def numbers(text: str) -> list[int]:
    """``"1,8,64"`` as numbers.

    :raises ValueError: when one of them is not a positive whole number.
    """
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise ValueError(f"{min(found)} is not positive")
    return found


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise ValueError(f"{text} is not positive")
    return value


def _count(text: str) -> int:
    return numbers(text)[0]


class SalesOptions(usage.Options):
    """``dmtwisted bench sales``"""

    synopsis = "Usage: dmtwisted bench sales [options]"
    longdesc = "Durable sales over HTTP, next to the plain resource and to the store's writer alone."
    optParameters = [  # noqa: RUF012 - read by twisted.python.usage
        ["connections", "c", [1, 8, 64], "Numbers of connections, separated by commas.", numbers],
        ["seconds", "s", 5.0, "How long each measurement takes.", _positive],
        ["rounds", "r", 3, "How often each measurement is repeated, in turn with the others.", _count],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
    ]
    optFlags = [["json", "j", "Print the figures as JSON."]]  # noqa: RUF012


class WriterOptions(usage.Options):
    """``dmtwisted bench writer``"""

    synopsis = "Usage: dmtwisted bench writer [options]"
    longdesc = "The store alone: what a sale keeps, from so many sales at once. Prints JSON."
    optParameters = [  # noqa: RUF012
        ["connections", "c", 8, "How many sales are under way at once.", _count],
        ["seconds", "s", 5.0, "How long the measurement takes.", _positive],
        ["sizes", None, USUAL_SIZES, "Bytes of document, sent document, answer and register state.", sizes],
        ["database", None, None, "The URL of an empty PostgreSQL database to measure, instead of a SQLite file."],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
    ]


class SignOptions(usage.Options):
    """``dmtwisted bench sign``"""

    synopsis = "Usage: dmtwisted bench sign [options]"
    longdesc = "Signing a typical receipt, in plain Python and by the machine's libcrypto where it can be used."
    optParameters = [  # noqa: RUF012
        ["count", "c", 100, "Signatures in each round.", _count],
        ["rounds", "r", 5, "How often each way has its turn.", _count],
    ]
    optFlags = [["json", "j", "Print the figures as JSON."]]  # noqa: RUF012


class TaxOptions(usage.Options):
    """``dmtwisted bench tax``"""

    synopsis = "Usage: dmtwisted bench tax [options]"
    longdesc = "A sale on each of several registers at the same moment, at a simulated tax service that is slow."
    optParameters = [  # noqa: RUF012
        ["registers", "n", 2, "How many registers sell at the same moment.", _count],
        ["delay", None, 1.0, "Seconds that the tax service takes for each answer.", _positive],
        ["rounds", "r", 10, "How often it is measured.", _count],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
    ]
    optFlags = [  # noqa: RUF012
        ["plain", None, "Plain HTTP to the tax service instead of TLS."],
        ["json", "j", "Print the figures as JSON."],
    ]


class HistoryOptions(usage.Options):
    """``dmtwisted bench history``"""

    synopsis = "Usage: dmtwisted bench history [options]"
    longdesc = (
        "A long history of receipts next to a short one: start, look-ups, lists, and selling while half of it is "
        "removed. A million receipts take 5 GB and half an hour."
    )
    optParameters = [  # noqa: RUF012
        ["receipts", "n", 100_000, "Receipts of the long history.", _count],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
    ]
    optFlags = [["json", "j", "Print the figures as JSON."]]  # noqa: RUF012


class BenchOptions(usage.Options):
    """``dmtwisted bench``"""

    synopsis = "Usage: dmtwisted bench sales|writer|sign|tax|history [options]"
    subCommands = [  # noqa: RUF012
        ["sales", None, SalesOptions, "Durable sales over HTTP, next to their ceilings."],
        ["writer", None, WriterOptions, "The store's writer alone."],
        ["sign", None, SignOptions, "Signing a receipt for the tax service."],
        ["tax", None, TaxOptions, "Registers at a slow tax service."],
        ["history", None, HistoryOptions, "What years of receipts do to the service."],
    ]

    def postOptions(self) -> None:
        """One of the measurements has to be named."""
        if not self.subCommand:
            raise usage.UsageError("say what to measure: sales, writer, sign, tax or history")


def run(options: BenchOptions) -> int:
    """Measure what was asked for; 1 with one clear line when it cannot be measured."""
    chosen: Any = options.subOptions
    if options.subCommand == "sign":
        return _sign(chosen)
    with ended_by_signals():
        try:
            with scratch_folder(chosen["state"]) as folder:
                if options.subCommand == "tax":
                    return _tax(folder, chosen)
                if options.subCommand == "writer":
                    database = chosen["database"] or f"{SQLITE}{folder / 'writer.sqlite'}"
                    config = Config(database=DatabaseConfig(database), service=ServiceConfig(state=str(folder)))
                    alone = _writer_alone(config, chosen["connections"], chosen["seconds"], chosen["sizes"])
                    print(json.dumps(asdict(alone)))
                    return 0
                if options.subCommand == "history":
                    _history(folder, chosen)
                    return 0
                rows = _sales(folder, chosen["connections"], chosen["seconds"], chosen["rounds"])
                disk = filesystem(folder)
        except (ConfigError, NotStarted, BenchFailed, OSError) as error:
            print(f"dmtwisted bench: {error}", file=sys.stderr)
            return 1
    if chosen["json"]:
        print(json.dumps({"filesystem": disk, "rows": [asdict(row) for row in rows]}))
    else:
        print(f"{table(rows)}\n\nThe database lay on {disk}.")
    return 0


def _sign(chosen: Any) -> int:
    from dmtwisted.commands.bench_sign import as_json, signing_report, words

    report = signing_report(chosen["count"], chosen["rounds"])
    print(json.dumps(as_json(report)) if chosen["json"] else words(report))
    return 0


def _tax(folder: Path, chosen: Any) -> int:
    from dmtwisted.commands.bench_tax import as_json, tax_report, words

    report = tax_report(folder, chosen["registers"], chosen["delay"], chosen["rounds"], not chosen["plain"])
    print(json.dumps(as_json(report)) if chosen["json"] else words(report))
    return 0


def _history(folder: Path, chosen: Any) -> None:
    from dmtwisted.commands.bench_history import as_json, measure, words

    report = measure(folder, chosen["receipts"], lambda text: print(f"{text} ...", file=sys.stderr))
    print(json.dumps(as_json(report)) if chosen["json"] else words(report))


# Sales


@dataclass(frozen=True)
class Round:
    """One measurement of the service and those of its peers right after it."""

    sales: Load
    without_engine: Load
    plain: Load
    cpu_us: tuple[float, float] | None


@dataclass(frozen=True)
class Share:
    """A ratio: the median of its rounds, and how far they lie apart."""

    median: float
    low: float
    high: float


def share(ratios: Sequence[float]) -> Share:
    """The share that the ``ratios`` of several rounds come to."""
    return Share(median(ratios), min(ratios), max(ratios))


@dataclass(frozen=True)
class Row:
    """One line of the table: a number of connections. Medians of the rounds; times in ms, processor in µs."""

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
    rate = median(one.sales.rate for one in rounds)
    known = [one.cpu_us for one in rounds if one.cpu_us is not None]
    return Row(
        connections=connections,
        sales_per_s=rate,
        p50_ms=median(one.sales.p50_ms for one in rounds),
        p99_ms=median(one.sales.p99_ms for one in rounds),
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
    """The rows as people read them; columns that nobody knows are left out."""
    with_cpu = all(row.service_cpu_us is not None for row in rows)
    head = ["connections", "sales/s", "p50 ms", "p99 ms"]
    head += ["service µs/sale", "writer µs/sale"] if with_cpu else []
    head += ["of the same without engine (min..max)", "without engine and store", "of writer alone"]
    lines = [head]
    for row in rows:
        line = [str(row.connections), f"{row.sales_per_s:.0f}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}"]
        if row.service_cpu_us is not None and row.writer_cpu_us is not None and with_cpu:
            line += [f"{row.service_cpu_us:.0f}", f"{row.writer_cpu_us:.0f}"]
        line += [_spread(row.of_without_engine), _spread(row.of_plain), f"{row.of_writer:.2f}"]
        lines.append(line)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _spread(share: Share) -> str:
    return f"{share.median:.2f} ({share.low:.2f}..{share.high:.2f})"


def _sales(folder: Path, connections: Sequence[int], seconds: float, rounds: int) -> list[Row]:
    measured: dict[int, list[Round]] = {number: [] for number in connections}
    state = folder / "state"
    state.mkdir()
    with service(state, free_port()) as selling:
        for n in range(max(connections)):
            make_register(selling, f"{PREFIX}{n}")
        answer = folder / "answer.json"
        answer.write_bytes(execute(selling, sale_body(f"{PREFIX}0", "the-one-for-the-plain-resource")))
        kept = sizes_kept(state / "dmtwisted.db")
        with (
            _peer(folder, "plain resource", answer) as plain,
            _peer(folder, "resource with a store", answer, kept) as without_engine,
        ):
            for child in (selling, without_engine, plain):
                load_on(child, max(connections), WARM_UP, "warm-up")
            for turn in range(rounds):
                for number in connections:
                    before = cpu_of(selling.pid)
                    sales = load_on(selling, number, seconds, f"sales-{number}-{turn}")
                    cpu = per_sale(before, cpu_of(selling.pid), sales.count)
                    kept_alone = load_on(without_engine, number, seconds, "peer")
                    answered = load_on(plain, number, seconds, "peer")
                    measured[number].append(Round(sales, kept_alone, answered, cpu))
    return [
        row_of(number, measured[number], _writer_child(folder, number, seconds, kept))
        for number in sorted(set(connections))
    ]


def _peer(folder: Path, name: str, answer: Path, kept: Sizes | None = None) -> Child:
    """The same HTTP resource without the engine; with a store when it is told what to keep."""
    port = free_port()
    command = ["web.plain", "--port", str(port), "--answer", str(answer)]
    if kept is not None:
        command += ["--sizes", ",".join(map(str, astuple(kept))), "--state", str(folder)]
    return Child(name, command, port, folder / f"{port}.log")


def load_on(child: Child, connections: int, seconds: float, salt: str) -> Load:
    """The load of so many connections on ``child``, made by a process of its own."""
    arguments = ["--port", str(child.port), "--connections", str(connections), "--seconds", str(seconds)]
    found = _json_of(["dmtwisted.commands.load", *arguments, "--prefix", PREFIX, "--salt", salt])
    load = Load(**found)
    if load.failures or not load.count:
        words = load.samples[0] if load.samples else "nothing was answered"
        raise BenchFailed(f"{load.failures} of {load.count + load.failures} sales failed: {words[-300:]}")
    return load


def _json_of(command: Sequence[str]) -> Any:
    """What a child prints as JSON when it ends; it does not outlive us."""
    whole = [sys.executable, "-m", *command]
    done = subprocess.run(whole, capture_output=True, env=environment(), check=False)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise BenchFailed(f"{command[0]} ended with status {done.returncode}: {words[-1] if words else ''}")
    return json.loads(done.stdout)


# The writer alone


def _writer_child(folder: Path, connections: int, seconds: float, kept: Sizes) -> float:
    arguments = ["--connections", str(connections), "--seconds", str(seconds), "--state", str(folder)]
    arguments += ["--sizes", ",".join(map(str, astuple(kept)))]
    load = Load(**_json_of(["dmtwisted.commands.bench", "writer", *arguments]))
    if not load.count:
        raise BenchFailed("the writer kept nothing")
    return load.rate


def _writer_alone(config: Config, connections: int, seconds: float, kept: Sizes) -> Load:
    """What the store alone does with so many sales at once. It takes the reactor, so once in a process.

    :raises BenchFailed: when the store fails, or is not empty: nobody's receipts get sales of ours among them.
    """
    check_database(config)
    seen: list[Load] = []
    complaints: list[str] = []

    async def measure(reactor: Any) -> None:
        store = store_of(config, reactor)
        try:
            await store.open()
            if await store.devices() or (await store.find_operations(OperationQuery(limit=0))).total:
                complaints.append("the database is not empty")
            else:
                seen.append(await keep_sales(store, connections, seconds, kept))
        except StoreFailed as error:
            complaints.append(str(error))
        finally:
            await store.close()

    try:
        react(lambda reactor: Deferred.fromCoroutine(measure(reactor)))
    except SystemExit as end:
        if end.code:
            raise BenchFailed("the store failed") from end
    if complaints:
        raise BenchFailed(complaints[0])
    return seen[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m dmtwisted.commands.bench``, without the rest of the command line."""
    options = BenchOptions()
    try:
        options.parseOptions(arguments)
    except usage.UsageError as error:
        print(f"dmtwisted bench: {error}", file=sys.stderr)
        return 2
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
