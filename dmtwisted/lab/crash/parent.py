"""A parent process that has imported what a service needs and forks it, so that a start takes a third of the time.

The child runs ``dmtwisted`` with its arguments from the entry point on, as a new process would. Before each fork the
parent checks that only code is inherited: there is one thread and no reactor, whose descriptors both would share.
Modules that need the reactor when they are imported, the web pages, are imported by each child.

`Parent` is the lab's side: it exchanges lines of JSON with ``python -m dmtwisted.lab.crash.parent``. The crash points
are armed there, once for all children (`dmtwisted.crash_points`).
"""

from __future__ import annotations

import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Self

from dmtwisted.crash_points import VARIABLE
from dmtwisted.lab.children import NotStarted, environment

REACTOR = "twisted.internet.reactor"

AHEAD = (
    "dmtwisted.commands.main",
    "dmtwisted.commands.launch",
    "dmtwisted.commands.run",
    "dmtwisted.commands.simulate",
    "dmtwisted.core",
    "dmtwisted.store.opening",
    "dmtwisted.store.sqlite.store",
    "dmtwisted.printing.service",
    "dmtwisted.registers.engine",
    "dmtwisted.registers.wired.register",
    "dmtwisted.terminals.caisse_ap.driver",
    "dmtwisted.terminals.concert_v2.driver",
    "dmtwisted.terminals.ecr17.driver",
    "dmtwisted.terminals.nexo.driver",
    "dmtwisted.terminals.privatbank.driver",
    "dmtwisted.terminals.service",
    "dmtwisted.terminals.ssi.driver",
    "dmtwisted.terminals.zvt.driver",
    "twisted.scripts.twistd",
    "twisted.internet.endpoints",
    "twisted.internet.epollreactor",
    "twisted.internet.ssl",
    "twisted.web.client",
    "twisted.web.server",
    "twisted.web.template",
    "cryptography.x509",
    "OpenSSL.SSL",
    "service_identity",
    "werkzeug.routing",
    "werkzeug.wrappers",
)
"""Modules that are imported before the first fork, if they exist and need no reactor."""


class _NoReactor:
    """Prevents the import of the reactor."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == REACTOR:
            raise ImportError("the reactor belongs to the children")


def import_ahead(names: Sequence[str] = AHEAD) -> list[str]:
    """Import what needs no reactor; returns the names of modules that need it or do not exist."""
    later = []
    guard: Any = _NoReactor()
    sys.meta_path.insert(0, guard)
    try:
        for name in names:
            try:
                import_module(name)
            except ImportError:
                later.append(name)
    finally:
        sys.meta_path.remove(guard)
    return later


def nothing_to_inherit() -> None:
    """Check that a fork inherits only code.

    :raises RuntimeError: when it would inherit more.
    """
    if REACTOR in sys.modules:
        raise RuntimeError("a reactor is installed")
    if threading.active_count() != 1:
        raise RuntimeError("there are threads")


# The process


def serve(orders: IO[str], answers: IO[str], more: Sequence[str] = ()) -> None:
    """Fork children and report their status until the orders end; then kill all children.

    :param more: modules that are imported too.
    """
    import_ahead([*AHEAD, *more])
    # Imported modules are never collected, so that children keep sharing their memory.
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    try:
        _say(answers, {"ready": True, "pid": os.getpid()})
        for line in orders:
            order = json.loads(line)
            if "arguments" in order:
                nothing_to_inherit()
                pid = os.fork()
                if not pid:
                    _become(order["arguments"], order["log"])
                children.add(pid)
                _say(answers, {"pid": pid})
            else:
                done, status = os.waitpid(order["pid"], os.WNOHANG)
                ended = os.waitstatus_to_exitcode(status) if done else None
                if done:
                    children.discard(done)
                _say(answers, {"status": ended})
    finally:
        for pid in children:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _say(answers: IO[str], said: Mapping[str, object]) -> None:
    answers.write(json.dumps(said) + "\n")
    answers.flush()


def _become(arguments: Sequence[str], log: str) -> None:
    """Run as a process that was started with these arguments; never returns."""
    status = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDONLY)
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        for descriptor, instead in ((0, nowhere), (1, output), (2, output)):
            os.dup2(instead, descriptor)
        os.closerange(3, 64)
        # Two children must not draw the same random numbers.
        random.seed()
        import_module("dmtwisted.commands.main").main(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


# The lab's end


class Forked:
    """A child of the parent, with the part of `subprocess.Popen` that the lab needs."""

    def __init__(self, parent: Parent, pid: int) -> None:
        self._parent, self.pid = parent, pid
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its exit status, negative for a signal; `None` while it runs."""
        if self._status is None:
            self._status = self._parent.ask({"pid": self.pid})["status"]
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit status.

        :raises subprocess.TimeoutExpired: after ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            time.sleep(0.005)
        return status

    def _signal(self, number: int) -> None:
        # Its number is not reused before its parent has waited for it.
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self._signal(signal.SIGKILL)


class Parent:
    """Starts the lab's processes.

    :param orders: the file with the order at which point to die, see `dmtwisted.crash_points`.
    :param log: the output of the parent itself.
    :param more: modules that are imported besides `AHEAD`.
    :param before: a command that runs it.
    """

    def __init__(self, orders: Path, log: Path, more: Sequence[str] = (), before: Sequence[str] = ()) -> None:
        self.orders, self._log, self._more, self._before = orders, log, more, before
        self.pid = 0
        """The number of its process."""
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._before, sys.executable, "-m", "dmtwisted.lab.crash.parent", *self._more],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**environment(), VARIABLE: str(self.orders)},
                # Ctrl-C goes to the lab, which ends its children itself.
                start_new_session=True,
            )
        try:
            self.pid = self._read()["pid"]
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it and its remaining children."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def ask(self, order: Mapping[str, object]) -> dict[str, Any]:
        """Its answer to one order.

        :raises NotStarted: when it has ended.
        """
        with self._lock:
            if self._process is None or self._process.stdin is None:
                raise NotStarted("the parent of the processes has ended")
            try:
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
            except OSError as error:
                raise NotStarted(f"the parent of the processes has ended: {error}") from error
            return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise NotStarted(f"the parent of the processes has ended, see {self._log}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def fork(self, arguments: Sequence[str], log: Path) -> Forked:
        """Start ``dmtwisted`` with these arguments; its output is appended to ``log``."""
        return Forked(self, self.ask({"arguments": list(arguments), "log": str(log)})["pid"])


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout, sys.argv[1:])
