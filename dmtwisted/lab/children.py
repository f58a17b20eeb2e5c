"""The service and its peers as processes of their own: started, asked, watched, ended."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol, Self

HOME = Path(__file__).resolve().parents[2]
"""Where our packages lie; children find the same code there."""

HOST = "127.0.0.1"
START_PATIENCE = 20.0
"""Seconds in which a child has to answer."""

STOP_PATIENCE = 15.0
"""Seconds in which a child has to end when it is asked to."""


class NotStarted(Exception):
    """A child that should serve does not."""


class BenchFailed(Exception):
    """The service runs and does not do what is measured."""


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
        lines = [line.split() for line in mounts.read_text("utf-8").splitlines()]
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


def environment() -> dict[str, str]:
    """The environment of a child: it finds our packages where we did."""
    paths = [str(HOME), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


class Process(Protocol):
    """What is needed of a running process; `subprocess.Popen` has it."""

    pid: int

    def poll(self) -> int | None:
        """Its status when it has ended."""

    def wait(self, timeout: float | None = None) -> int:
        """Its status when it ends."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """End it."""


class Child:
    """A server in a process of its own, with its output in ``log``; ends with its ``with`` block."""

    start_patience = START_PATIENCE

    def __init__(self, name: str, command: Sequence[str], port: int, log: Path) -> None:
        self.name, self.port, self.log = name, port, log
        self.command = list(command)
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        """Its process, while it runs."""
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it is ready.

        :raises NotStarted: when it ends instead, or is not ready in time.
        """
        self.spawn()
        self.wait_until_ready()

    def spawn(self) -> None:
        """Start it."""
        with self.log.open("ab") as log:
            whole = [sys.executable, "-m", *self.command]
            self._process = subprocess.Popen(
                whole, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment()
            )

    def wait_until_ready(self) -> None:
        """Return when it answers that it is ready.

        :raises NotStarted: when it ends instead, or is not ready in time.
        """
        assert self._process is not None
        deadline = time.monotonic() + self.start_patience
        while not self._ready():
            status = self._process.poll()
            if status is not None:
                raise NotStarted(f"the {self.name} ended with status {status}: {self.last_words()}")
            if time.monotonic() > deadline:
                late = f"is not ready after {self.start_patience:.0f} s"
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

    def log_text(self) -> str:
        """All that it wrote."""
        return self.log.read_text(errors="replace")

    def last_words(self) -> str:
        """The last line that it wrote."""
        lines = self.log_text().strip().splitlines()
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

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def service_command(state: Path, port: int) -> list[str]:
    """The module and the words that start the real service in training mode on the folder ``state``."""
    return ["dmtwisted.commands.main", "run", "--state", str(state), "--port", str(port), "--training"]


def service(state: Path, port: int, database: str = "") -> Child:
    """The real service in training mode, on the folder ``state``.

    :param database: the URL of its database; empty is a SQLite file in the folder.
    """
    command = service_command(state, port)
    if database:
        config = state.parent / f"{state.name}.toml"
        config.write_text(f"[database]\nurl = {json.dumps(database)}\n")
        command += ["--config", str(config)]
    return Child("service", command, port, state.parent / f"{state.name}.log")


def make_device(child: Child, name: str, kind: str, driver: str, settings: dict[str, object]) -> str:
    """Make a device; return its ``dev_id``.

    :raises BenchFailed: when the service does not.
    """
    wanted = {"device": name, "kind": kind, "driver": driver, "settings": settings}
    status, body = child.ask("POST", "/dm/api/v3/devices", wanted)
    if status != 201:
        raise BenchFailed(f"no {kind} could be made: {status} {body.decode(errors='replace')[:300]}")
    dev_id: str = json.loads(body)["dev_id"]
    return dev_id


def make_register(child: Child, name: str, **settings: object) -> str:
    """Make the training register ``name`` and open its shift; return its ``dev_id``.

    :raises BenchFailed: when the service does not.
    """
    dev_id = make_device(child, name, "register", "training", settings)
    execute(child, opening_body(name))
    return dev_id


def opening_body(name: str) -> str:
    """The task that opens the shift of the register ``name``."""
    fiscal = {"task": 0, "cashier": "Оксана Коваль"}
    return json.dumps({"ver": 6, "device": name, "tag": f"open-{name}", "type": 1, "fiscal": fiscal})


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
        return b"dmtwisted.store.sqlite.writer" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def per_sale(before: Cpu | None, after: Cpu | None, count: int) -> tuple[float, float] | None:
    """Microseconds of service and writer for each of ``count`` sales; `None` when nobody knows."""
    if before is None or after is None or not count:
        return None
    scale = 1e6 / count
    return (after.service - before.service) * scale, (after.writer - before.writer) * scale
