"""How fast the service sells, next to the ceilings that bound it: ``dmtwisted bench sales``.

Absolute figures say more about a machine, and about its last minute, than about the service. So each round
runs the service and the plain resource of `web.plain` after each other under the same load. The table gives
shares: of the plain resource, which reads and answers but sells nothing, and of the writer of the store
alone (``dmtwisted bench writer``), which keeps what a sale keeps and talks to nobody.

The service is the real one, started as a child with a folder of its own; every connection sells on a training
register of its own, since a register refuses a second task while it works.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, astuple, dataclass
from itertools import count
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import react
from twisted.python import usage

from dmtwisted.commands.load import Load, sale_body, summary
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentIntent, Intent, Outcome, State

HOME = Path(__file__).resolve().parents[2]
"""Where our packages lie; children find the same code there."""

HOST = "127.0.0.1"
START_PATIENCE = 20.0
"""Seconds in which a child has to answer."""

STOP_PATIENCE = 15.0
"""Seconds in which a child has to end when it is asked to."""

PREFIX = "bench-"
"""The registers are called ``bench-0``, ``bench-1`` ..."""

WARM_UP = 0.5
"""Seconds of load before anything is measured: the first requests pay for imports and caches."""


class NotStarted(Exception):
    """A child that should serve does not."""


class BenchFailed(Exception):
    """The service runs and does not do what is measured."""


# The command line


def numbers(text: str) -> list[int]:
    """``"1,8,64"`` as numbers.

    :raises ValueError: when one of them is not a positive whole number.
    """
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise ValueError(f"{min(found)} is not positive")
    return found


@dataclass(frozen=True)
class Sizes:
    """How many bytes a sale keeps: document, its bytes for the wire, answer, state of the register."""

    document: int
    sent: int
    answer: int
    state: int


USUAL_SIZES = Sizes(1100, 90, 3100, 550)
"""A sale of three items on a training register."""


def sizes(text: str) -> Sizes:
    """``"1100,90,3100,550"`` as sizes.

    :raises ValueError: when these are not four numbers.
    """
    document, sent, answer, state = numbers(text)
    return Sizes(document, sent, answer, state)


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
    longdesc = "The store's writer alone: what a sale keeps, from so many sales at once. Prints JSON."
    optParameters = [  # noqa: RUF012
        ["connections", "c", 8, "How many sales are under way at once.", _count],
        ["seconds", "s", 5.0, "How long the measurement takes.", _positive],
        ["sizes", None, USUAL_SIZES, "Bytes of document, sent document, answer and register state.", sizes],
        ["state", "d", None, "Make the temporary folder in this one: the disk to measure."],
    ]


class BenchOptions(usage.Options):
    """``dmtwisted bench``"""

    synopsis = "Usage: dmtwisted bench sales|writer [options]"
    subCommands = [  # noqa: RUF012
        ["sales", None, SalesOptions, "Durable sales over HTTP, next to their ceilings."],
        ["writer", None, WriterOptions, "The store's writer alone."],
    ]

    def postOptions(self) -> None:
        """One of the measurements has to be named."""
        if not self.subCommand:
            raise usage.UsageError("say what to measure: sales or writer")


def run(options: BenchOptions) -> int:
    """Measure what was asked for; 1 with one clear line when it cannot be measured."""
    chosen: Any = options.subOptions
    with ended_by_signals():
        try:
            with scratch_folder(chosen["state"]) as folder:
                if options.subCommand == "writer":
                    alone = _writer_alone(folder, chosen["connections"], chosen["seconds"], chosen["sizes"])
                    print(json.dumps(asdict(alone)))
                    return 0
                rows = _sales(folder, chosen["connections"], chosen["seconds"], chosen["rounds"])
                disk = filesystem(folder)
        except (NotStarted, BenchFailed, OSError) as error:
            print(f"dmtwisted bench: {error}", file=sys.stderr)
            return 1
    if chosen["json"]:
        print(json.dumps({"filesystem": disk, "rows": [asdict(row) for row in rows]}))
    else:
        print(f"{table(rows)}\n\nThe database lay on {disk}.")
    return 0


# Children


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM leaves through every ``finally``, as Ctrl-C does, so that no child is left behind."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def scratch_folder(parent: str | None) -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-bench-", dir=parent)).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def filesystem(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """What ``folder`` lies on, such as ``ext4``; on ``tmpfs`` durable writes cost and prove nothing."""
    try:
        lines = [line.split() for line in mounts.read_text().splitlines()]
    except OSError:
        return "a file system of unknown kind"
    above = [Path(line[1]) for line in lines]
    kinds = {len(at.parts): line[2] for at, line in zip(above, lines, strict=True) if at in folder.parents}
    return kinds[max(kinds)] if kinds else "a file system of unknown kind"


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _environment() -> dict[str, str]:
    paths = [str(HOME), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


class Child:
    """A server in a process of its own, with its output in ``log``; ends with its ``with`` block."""

    def __init__(self, name: str, command: Sequence[str], port: int, log: Path) -> None:
        self.name, self.port = name, port
        self._command, self._log = [sys.executable, "-m", *command], log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process, while it runs."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it is ready.

        :raises NotStarted: when it ends instead, or is not ready in time.
        """
        self.spawn()
        self.wait_until_ready()

    def spawn(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment()
            )

    def wait_until_ready(self) -> None:
        """Return when it answers that it is ready.

        :raises NotStarted: when it ends instead, or is not ready in time.
        """
        assert self._process is not None
        deadline = time.monotonic() + START_PATIENCE
        while not self._ready():
            status = self._process.poll()
            if status is not None:
                raise NotStarted(f"the {self.name} ended with status {status}: {self.last_words()}")
            if time.monotonic() > deadline:
                late = f"is not ready after {START_PATIENCE:.0f} s"
                raise NotStarted(f"the {self.name} {late}: {self.last_words()}")
            time.sleep(0.02)

    def _ready(self) -> bool:
        try:
            return self.ask("GET", "/health/ready")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """One request on a connection of its own: status and body."""
        wire = http.client.HTTPConnection(HOST, self.port, timeout=START_PATIENCE)
        try:
            head = {"Content-Type": "application/json"} if body is not None else {}
            text = body if isinstance(body, str) else json.dumps(body)
            wire.request(method, path, None if body is None else text.encode(), head)
            answer = wire.getresponse()
            return answer.status, answer.read()
        finally:
            wire.close()

    def last_words(self) -> str:
        """The last line that it wrote."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def kill(self) -> None:
        """End it as a power cut of the process would; return when it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask it to end, and see to it that it does."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()

    def __enter__(self) -> Child:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def service(state: Path, port: int) -> Child:
    """The real service in training mode, on the folder ``state``."""
    command = ["dmtwisted.commands.main", "run", "--state", str(state), "--port", str(port), "--training"]
    return Child("service", command, port, state.parent / f"{state.name}.log")


def make_register(child: Child, name: str) -> str:
    """Make the training register ``name`` and open its shift; return its ``dev_id``.

    :raises BenchFailed: when the service does not.
    """
    wanted = {"device": name, "kind": "register", "driver": "training", "settings": {}}
    status, body = child.ask("POST", "/dm/api/v3/devices", wanted)
    if status != 201:
        raise BenchFailed(f"no register could be made: {status} {body.decode(errors='replace')[:300]}")
    fiscal = {"task": 0, "cashier": "Оксана Коваль"}
    opening = {"ver": 6, "device": name, "tag": f"open-{name}", "type": 1, "fiscal": fiscal}
    execute(child, json.dumps(opening))
    dev_id: str = json.loads(body)["dev_id"]
    return dev_id


def execute(child: Child, body: str) -> bytes:
    """The answer to a task that has to succeed.

    :raises BenchFailed: when it does not.
    """
    status, answer = child.ask("POST", "/dm/execute", body)
    if status != 200 or json.loads(answer)["res"] != 0:
        raise BenchFailed(f"a task was refused: {status} {answer.decode(errors='replace')[:300]}")
    return answer


# What processes cost


@dataclass(frozen=True)
class Cpu:
    """Seconds of processor time that the service and its writer have taken so far."""

    service: float
    writer: float


def stat_cpu(text: str) -> tuple[int, int]:
    """The parent and the ticks (own, user and system) in a ``/proc/PID/stat``."""
    # The name in brackets may itself hold blanks and brackets.
    fields = text[text.rindex(")") + 2 :].split()
    return int(fields[1]), int(fields[11]) + int(fields[12])


def family(pid: int) -> dict[int, int]:
    """The ticks of the process ``pid`` and of its descendants; nobody where there is no ``/proc``."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent, spent = stat_cpu(stat.read_text())
        except OSError:
            continue  # ended meanwhile
        member = int(stat.parent.name)
        ticks[member] = spent
        children.setdefault(parent, []).append(member)
    members = [pid]
    for member in members:
        members += children.get(member, ())
    return {member: ticks[member] for member in members if member in ticks}


def cpu_of(pid: int) -> Cpu | None:
    """What the service ``pid`` and its writer have taken; `None` where there is no ``/proc``."""
    ticks = family(pid)
    if not ticks:
        return None
    of_writer = sum(spent for member, spent in ticks.items() if is_writer(member))
    second = os.sysconf("SC_CLK_TCK")
    return Cpu((sum(ticks.values()) - of_writer) / second, of_writer / second)


def is_writer(pid: int) -> bool:
    """Whether ``pid`` is a process that writes a SQLite file for the store."""
    try:
        return b"dmtwisted.store.writer" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def per_sale(before: Cpu | None, after: Cpu | None, count: int) -> tuple[float, float] | None:
    """Microseconds of service and writer for each of ``count`` sales; `None` when nobody knows."""
    if before is None or after is None or not count:
        return None
    scale = 1e6 / count
    return (after.service - before.service) * scale, (after.writer - before.writer) * scale


# Sales


@dataclass(frozen=True)
class Round:
    """One measurement of the service and the one of the plain resource right after it."""

    sales: Load
    plain: Load
    cpu_us: tuple[float, float] | None


@dataclass(frozen=True)
class Share:
    """A ratio: the median of its rounds, and how far they lie apart."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """One line of the table: a number of connections. Medians of the rounds; times in ms, processor in µs."""

    connections: int
    sales_per_s: float
    p50_ms: float
    p99_ms: float
    service_cpu_us: float | None
    writer_cpu_us: float | None
    plain_per_s: float
    of_plain: Share
    writer_per_s: float
    of_writer: float
    generator_cpu_us: float


def row_of(connections: int, rounds: Sequence[Round], writer_per_s: float) -> Row:
    """The figures of ``rounds`` with so many ``connections``."""
    rate = median(one.sales.rate for one in rounds)
    shares = [one.sales.rate / one.plain.rate for one in rounds]
    known = [one.cpu_us for one in rounds if one.cpu_us is not None]
    return Row(
        connections=connections,
        sales_per_s=rate,
        p50_ms=median(one.sales.p50_ms for one in rounds),
        p99_ms=median(one.sales.p99_ms for one in rounds),
        service_cpu_us=median(cpu[0] for cpu in known) if known else None,
        writer_cpu_us=median(cpu[1] for cpu in known) if known else None,
        plain_per_s=median(one.plain.rate for one in rounds),
        of_plain=Share(median(shares), min(shares), max(shares)),
        writer_per_s=writer_per_s,
        of_writer=rate / writer_per_s,
        generator_cpu_us=median(one.sales.cpu_us for one in rounds),
    )


def table(rows: Sequence[Row]) -> str:
    """The rows as people read them; columns that nobody knows are left out."""
    with_cpu = all(row.service_cpu_us is not None for row in rows)
    head = ["connections", "sales/s", "p50 ms", "p99 ms"]
    head += ["service µs/sale", "writer µs/sale"] if with_cpu else []
    head += ["of plain resource (min..max)", "of writer alone"]
    lines = [head]
    for row in rows:
        line = [str(row.connections), f"{row.sales_per_s:.0f}", f"{row.p50_ms:.1f}", f"{row.p99_ms:.1f}"]
        if row.service_cpu_us is not None and row.writer_cpu_us is not None and with_cpu:
            line += [f"{row.service_cpu_us:.0f}", f"{row.writer_cpu_us:.0f}"]
        plain = row.of_plain
        line += [f"{plain.median:.2f} ({plain.low:.2f}..{plain.high:.2f})", f"{row.of_writer:.2f}"]
        lines.append(line)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)


def _sales(folder: Path, connections: Sequence[int], seconds: float, rounds: int) -> list[Row]:
    measured: dict[int, list[Round]] = {number: [] for number in connections}
    state = folder / "state"
    state.mkdir()
    with service(state, free_port()) as selling:
        for n in range(max(connections)):
            make_register(selling, f"{PREFIX}{n}")
        answer = folder / "answer.json"
        answer.write_bytes(execute(selling, sale_body(f"{PREFIX}0", "the-one-for-the-plain-resource")))
        port = free_port()
        command = ["web.plain", "--port", str(port), "--answer", str(answer)]
        with Child("plain resource", command, port, folder / "plain.log") as plain:
            for child in (selling, plain):
                _load(child, max(connections), WARM_UP, "warm-up")
            for turn in range(rounds):
                for number in connections:
                    before = cpu_of(selling.pid)
                    sales = _load(selling, number, seconds, f"sales-{number}-{turn}")
                    cpu = per_sale(before, cpu_of(selling.pid), sales.count)
                    measured[number].append(Round(sales, _load(plain, number, seconds, "plain"), cpu))
    kept = sizes_kept(state / "dmtwisted.db")
    return [
        row_of(number, measured[number], _writer_child(folder, number, seconds, kept))
        for number in sorted(set(connections))
    ]


def _load(child: Child, connections: int, seconds: float, salt: str) -> Load:
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
    done = subprocess.run(whole, capture_output=True, env=_environment(), check=False)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise BenchFailed(f"{command[0]} ended with status {done.returncode}: {words[-1] if words else ''}")
    return json.loads(done.stdout)


# The writer alone


def sizes_kept(database: Path) -> Sizes:
    """What the last sale in ``database`` took, so that the writer alone keeps as much."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        row = db.execute(
            "SELECT length(document.value), length(document.sent), length(operation.answer), "
            "length(register.state) FROM document JOIN operation ON operation.n = document.operation_n "
            "JOIN register ON register.device_n = document.device_n "
            "WHERE document.kind = 'sale' AND operation.state = 'done' ORDER BY document.n DESC LIMIT 1"
        ).fetchone()
    return Sizes(*row)


def _writer_child(folder: Path, connections: int, seconds: float, kept: Sizes) -> float:
    arguments = ["--connections", str(connections), "--seconds", str(seconds), "--state", str(folder)]
    arguments += ["--sizes", ",".join(map(str, astuple(kept)))]
    load = Load(**_json_of(["dmtwisted.commands.bench", "writer", *arguments]))
    if not load.count:
        raise BenchFailed("the writer kept nothing")
    return load.rate


def _writer_alone(folder: Path, connections: int, seconds: float, kept: Sizes) -> Load:
    """What the store alone does with so many sales at once. It takes the reactor, so once in a process."""
    seen: list[Load] = []

    async def measure(reactor: Any) -> None:
        from dmtwisted.store.sqlite import SqliteStore

        store = SqliteStore(reactor, folder / "writer.sqlite")
        await store.open()
        try:
            seen.append(await keep_sales(store, connections, seconds, kept))
        finally:
            await store.close()

    try:
        react(lambda reactor: Deferred.fromCoroutine(measure(reactor)))
    except SystemExit as end:
        if end.code:
            raise BenchFailed("the store failed") from end
    return seen[0]


async def keep_sales(store: IStore, connections: int, seconds: float, kept: Sizes) -> Load:
    """Reserve and conclude sales on so many registers at once, each one after the other."""
    value, sent = b"v" * kept.document, b"s" * kept.sent
    answer, state = b"a" * kept.answer, b"r" * kept.state
    spent: list[int] = []
    clock = time.perf_counter_ns
    begun = clock()
    deadline = begun + int(seconds * 1e9)

    async def till(device: int) -> None:
        for number in count(1):
            asked_at = clock()
            if asked_at >= deadline:
                return
            at = int(time.time() * 1000)
            document = DocumentIntent(number, "sale", 1, at, 19950, value, sent)
            key = f"{device}-{number:036d}"
            intent = Intent(device, "fiscal", 1, key, b"f" * 16, at, [document])
            reserved = await store.reserve(intent)
            fiscal_numbers = {number: f"TEST_{device}_{number}"}
            await store.conclude(Outcome(reserved.n, device, State.DONE, at, 0, answer, fiscal_numbers, state))
            spent.append(clock() - asked_at)

    cpu = time.process_time()
    await gatherResults([Deferred.fromCoroutine(till(device)) for device in range(1, connections + 1)])
    return summary(spent, (clock() - begun) / 1e9, 0, [], time.process_time() - cpu)


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
