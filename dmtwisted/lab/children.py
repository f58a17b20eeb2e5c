"""The service and simulated devices as child processes: started, asked, watched, stopped."""

from __future__ import annotations

import base64
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Protocol, Self

from dmtwisted.system.supervised import COMPLAINT

HOME = Path(__file__).resolve().parents[2]
"""The folder of our packages, from which children import too."""

HOST = "127.0.0.1"
START_PATIENCE = 60.0
"""Seconds within which a child has to answer."""

STOP_PATIENCE = 15.0
"""Seconds within which a child has to end when it is asked to."""

PORTS = range(23_000, 32_768)
"""Ports that Linux and Windows give to no connection, so that none takes one before the program that it is for."""

_asked = count(random.randrange(len(PORTS)))

TIN, KEY_PASSWORD = "34554363", "tax-test"
"""The payer of the simulated tax service, and the password of the cashier's key that it makes."""


class NotStarted(Exception):
    """A child process did not become ready."""


class BenchFailed(Exception):
    """The service runs, but does not do what is measured."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Make SIGTERM run every ``finally``, as Ctrl-C does, so that no child is left behind."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def scratch_folder(parent: str | None) -> Iterator[Path]:
    """A temporary folder.

    :raises BenchFailed: when there is no such parent.
    """
    if parent is not None and not Path(parent).is_dir():
        raise BenchFailed(f"--state: there is no folder {parent}")
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-bench-", dir=parent)).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def filesystem(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The file system of ``folder``, such as ``ext4``; on ``tmpfs`` durable writes cost and prove nothing."""
    try:
        lines = [line.split() for line in mounts.read_text("utf-8").splitlines()]
    except OSError:
        return "a file system of unknown kind"
    above = [Path(line[1]) for line in lines]
    kinds = {len(at.parts): line[2] for at, line in zip(above, lines, strict=True) if at in folder.parents}
    return kinds[max(kinds)] if kinds else "a file system of unknown kind"


def free_port() -> int:
    """A port that is free now; another one at each call."""
    while True:
        port = PORTS[next(_asked) % len(PORTS)]
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            return port


def environment(tree: Path = HOME) -> dict[str, str]:
    """The environment of a child, which imports the packages of ``tree``, as its own children do.

    The current folder is no place to import from: it may be another tree.
    """
    paths = [str(tree), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}


def interpreter(tree: Path = HOME) -> str:
    """The Python of ``tree``: another source tree has its own.

    :raises NotStarted: when it has none.
    """
    if tree == HOME:
        return sys.executable
    own = tree / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not own.is_file():
        raise NotStarted(f"there is no {own}: a source tree needs its own environment (make run)")
    return str(own)


class Process(Protocol):
    """The part of `subprocess.Popen` that is needed."""

    pid: int

    def poll(self) -> int | None:
        """Its exit status; `None` while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit status."""

    def terminate(self) -> None:
        """Ask it to end."""

    def kill(self) -> None:
        """Kill it."""


class Child:
    """A server in a child process, with its output in ``log``; it is stopped at the end of its ``with`` block."""

    start_patience = START_PATIENCE
    ready_path = "/health/ready"
    """It is ready when it answers a request for this path with 200."""

    def __init__(self, name: str, command: Sequence[str], port: int, log: Path, tree: Path = HOME) -> None:
        self.name, self.port, self.log, self.tree = name, port, log, tree
        self.command = list(command)
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        """The number of its process, while it runs."""
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
            whole = [interpreter(self.tree), "-m", *self.command]
            self._process = subprocess.Popen(
                whole, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(self.tree)
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
            return self.ask("GET", self.ready_path)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        """One request on its own connection: status and body."""
        wire = self._connection()
        try:
            head = {"Content-Type": "application/json"} if body is not None else {}
            text = body if isinstance(body, str) else json.dumps(body)
            wire.request(method, path, None if body is None else text.encode(), head)
            answer = wire.getresponse()
            return answer.status, answer.read()
        finally:
            wire.close()

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(HOST, self.port, timeout=START_PATIENCE)

    def log_text(self) -> str:
        """Its whole output."""
        return self.log.read_text(errors="replace")

    def last_words(self) -> str:
        """Why it did not start, or the last line of its output."""
        lines = self.log_text().strip().splitlines()
        complaints = [line.removeprefix(COMPLAINT) for line in lines if line.startswith(COMPLAINT)]
        return (complaints or lines or ["no output"])[-1]

    def kill(self) -> None:
        """Kill it, and return when it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Ask it to end; kill it if it does not."""
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


class Simulator(Child):
    """A simulated device or tax service, asked at its control port."""

    ready_path = "/scenario"

    def set_rules(self, *rules: Mapping[str, object]) -> None:
        """Set what goes wrong from now on.

        :raises BenchFailed: when it refuses the rules.
        """
        status, body = self.ask("PUT", "/scenario", {"rules": list(rules)})
        if status != 200:
            raise BenchFailed(f"the rules were refused: {body.decode(errors='replace')[:300]}")


def simulator_command(*words: str) -> tuple[list[str], int, int]:
    """The arguments of ``dmtwisted`` that start a simulator, its port and its control port."""
    port, control = free_port(), free_port()
    listen = ["--listen", f"{HOST}:{port}", "--control", f"{HOST}:{control}"]
    return ["simulate", *words, *listen], port, control


def simulator(folder: Path, name: str, *words: str) -> tuple[Simulator, int]:
    """A simulator with its log in ``folder``, and its port; ``words`` follow ``dmtwisted simulate``."""
    arguments, port, control = simulator_command(*words)
    return Simulator(name, ["dmtwisted.commands.main", *arguments], control, folder / f"{name}.log"), port


def service_command(state: Path, port: int) -> list[str]:
    """The module and arguments that start the real service in training mode with the folder ``state``."""
    return ["dmtwisted.commands.main", "run", "--state", str(state), "--port", str(port), "--training"]


def service(state: Path, port: int, database: str = "", tree: Path = HOME) -> Child:
    """The real service of ``tree`` in training mode, with the folder ``state``.

    :param database: the URL of its database; by default a SQLite file in the folder.
    """
    command = service_command(state, port)
    if database:
        config = state.parent / f"{state.name}.toml"
        config.write_text(f"[database]\nurl = {json.dumps(database)}\n", "utf-8")
        command += ["--config", str(config)]
    return Child("service", command, port, state.parent / f"{state.name}.log", tree)


def make_device(child: Child, name: str, kind: str, driver: str, settings: dict[str, object]) -> str:
    """Create a device; return its ``dev_id``.

    :raises BenchFailed: when the service refuses it.
    """
    wanted = {"device": name, "kind": kind, "driver": driver, "settings": settings}
    status, body = child.ask("POST", "/dm/api/v3/devices", wanted)
    if status != 201:
        raise BenchFailed(f"no {kind} could be created: {status} {body.decode(errors='replace')[:300]}")
    dev_id: str = json.loads(body)["dev_id"]
    return dev_id


def make_register(child: Child, name: str, **settings: object) -> str:
    """Create the training register ``name`` and open its shift; return its ``dev_id``.

    :raises BenchFailed: when the service refuses it.
    """
    dev_id = make_device(child, name, "register", "training", settings)
    execute(child, opening_body(name))
    return dev_id


def root_in(keys: Path) -> str:
    """The certificate of a simulated tax service as PEM."""
    raw = base64.encodebytes((keys / "root.cer").read_bytes()).decode()
    return f"-----BEGIN CERTIFICATE-----\n{raw}-----END CERTIFICATE-----\n"


def upload_key(child: Child, dev_id: str, keys: Path) -> None:
    """Give a register the cashier's key from the folder of the simulated tax service.

    :raises BenchFailed: when the service refuses it.
    """
    key = {"key": base64.b64encode((keys / "cashier.p12").read_bytes()).decode(), "password": KEY_PASSWORD}
    answer = json.loads(child.ask("POST", f"/dm/main/api/v1/prro/sign?dev_id={dev_id}", key)[1])
    if answer["res"]:
        raise BenchFailed(f"the key was refused: {answer['errortxt'][:300]}")


def opening_body(name: str) -> str:
    """The task that opens the shift of the register ``name``."""
    fiscal = {"task": 0, "cashier": "Оксана Коваль"}
    return json.dumps({"ver": 6, "device": name, "tag": f"open-{name}", "type": 1, "fiscal": fiscal})


def execute(child: Child, body: str) -> bytes:
    """The answer to a task.

    :raises BenchFailed: when the task does not succeed.
    """
    status, answer = child.ask("POST", "/dm/execute", body)
    if status != 200 or json.loads(answer)["res"] != 0:
        raise BenchFailed(f"a task was refused: {status} {answer.decode(errors='replace')[:300]}")
    return answer


# What processes cost


@dataclass(frozen=True)
class Cpu:
    """Seconds of processor time that the service and its writer have used so far."""

    service: float
    writer: float


def stat_cpu(text: str) -> tuple[int, int]:
    """The parent and the processor ticks (user and system) in a ``/proc/PID/stat``."""
    # The name in brackets may itself contain spaces and brackets.
    fields = text[text.rindex(")") + 2 :].split()
    return int(fields[1]), int(fields[11]) + int(fields[12])


def family(pid: int) -> dict[int, int]:
    """The ticks of the process ``pid`` and of its descendants; empty where there is no ``/proc``."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent, spent = stat_cpu(stat.read_text("utf-8"))
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
    """What the service ``pid`` and its writer have used; `None` where there is no ``/proc``."""
    ticks = family(pid)
    if not ticks:
        return None
    of_writer = sum(spent for member, spent in ticks.items() if is_writer(member))
    second = os.sysconf("SC_CLK_TCK")
    return Cpu((sum(ticks.values()) - of_writer) / second, of_writer / second)


def is_writer(pid: int) -> bool:
    """Whether ``pid`` is the store's writer of a SQLite file."""
    try:
        return b"dmtwisted.store.sqlite.writer" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def per_sale(before: Cpu | None, after: Cpu | None, count: int) -> tuple[float, float] | None:
    """Microseconds of service and writer for each of ``count`` sales; `None` when unknown."""
    if before is None or after is None or not count:
        return None
    scale = 1e6 / count
    return (after.service - before.service) * scale, (after.writer - before.writer) * scale
