"""A parent that has imported what a service needs and forks it: a start takes a third of its time.

The child runs ``dmtwisted`` with its arguments, from its entry on, as a fresh process would. Before each fork the
parent makes sure that there is nothing to inherit but code: one thread, and no reactor, whose descriptors both would
share. What needs the reactor when it is imported, the web pages, each child imports itself.

`Parent` is the lab's end: it speaks by lines of JSON to ``python -m dmtwisted.lab.crash.parent``. The crash points
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
"""What is imported before the first fork, as far as it needs no reactor and is there."""


class _NoReactor:
    """Refuses the reactor to whoever imports it."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == REACTOR:
            raise ImportError("the reactor belongs to the children")


def import_ahead(names: Sequence[str] = AHEAD) -> list[str]:
    """Import what needs no reactor; the names of what does, or is not there."""
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
    """See that a fork would take over nothing but code.

    :raises RuntimeError: when it would.
    """
    if REACTOR in sys.modules:
        raise RuntimeError("a reactor is installed")
    if threading.active_count() != 1:
        raise RuntimeError("there are threads")


# The process


def serve(orders: IO[str], answers: IO[str], more: Sequence[str] = ()) -> None:
    """Fork, and tell what became of the children, until the orders end; then no child is left.

    :param more: what else is imported ahead.
    """
    import_ahead([*AHEAD, *more])
    # What was imported is never collected, so that children go on sharing it.
    gc.collect()
    gc.freeze()
    children: set[int] = set()
    try:
        _say(answers, {"ready": True})
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
    """Be a process that was started with these arguments; never returns."""
    status = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDONLY)
        output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        for descriptor, instead in ((0, nowhere), (1, output), (2, output)):
            os.dup2(instead, descriptor)
        os.closerange(3, 64)
        # Two lives of one service must not draw the same numbers.
        random.seed()
        from dmtwisted.commands.main import main

        main(arguments)
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
    """A child of the parent, with what the lab needs of `subprocess.Popen`."""

    def __init__(self, parent: Parent, pid: int) -> None:
        self._parent, self.pid = parent, pid
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its status when it has ended, negative by a signal."""
        if self._status is None:
            self._status = self._parent.ask({"pid": self.pid})["status"]
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Its status when it ends.

        :raises subprocess.TimeoutExpired: when that is not within ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            time.sleep(0.005)
        return status

    def _signal(self, number: int) -> None:
        # Until we have heard of its end nobody else can have its number.
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

    :param orders: the file of orders to die, see `dmtwisted.crash_points`.
    :param log: what the parent itself writes, if anything.
    :param more: what its children import besides `AHEAD`.
    """

    def __init__(self, orders: Path, log: Path, more: Sequence[str] = ()) -> None:
        self.orders, self._log, self._more = orders, log, more
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dmtwisted.lab.crash.parent", *self._more],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**environment(), VARIABLE: str(self.orders)},
                # Ctrl-C is for the lab, which ends its children itself.
                start_new_session=True,
            )
        try:
            self._heard()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it, and whatever of its children is left."""
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
            return self._heard()

    def _heard(self) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise NotStarted(f"the parent of the processes has ended, see {self._log}")
        heard: dict[str, Any] = json.loads(line)
        return heard

    def fork(self, arguments: Sequence[str], log: Path) -> Forked:
        """Start ``dmtwisted`` with these arguments; what it writes goes behind what is in ``log``."""
        return Forked(self, self.ask({"arguments": list(arguments), "log": str(log)})["pid"])


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout, sys.argv[1:])
