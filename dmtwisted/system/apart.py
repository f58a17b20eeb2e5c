"""Work on untrusted files, in a child process that can be killed.

A key file names the number of hash rounds for its password, so a malicious one takes days to open, and a thread
cannot be killed. A process can; it also leaves the interpreter free for tills, and its memory is released at its end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IReactorProcess
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from dmtwisted.system.environment import environment
from dmtwisted.system.processes import stand_back, start


class Apart(ProcessProtocol):
    """The process, its input and its output."""

    def __init__(self, given: bytes, on_line: Callable[[bytes], None] | None = None) -> None:
        self._given, self._output = given, bytearray()
        self._on_line, self._line = on_line, bytearray()
        self.done: Deferred[bytes | None] = Deferred()

    def connectionMade(self) -> None:
        """It runs: send the input through a pipe, which no other process can read."""
        assert self.transport is not None
        self.transport.write(self._given)
        self.transport.closeStdin()
        self._given = b""

    def outReceived(self, data: bytes) -> None:
        """A piece of its output."""
        self._output += data

    def errReceived(self, data: bytes) -> None:
        """A piece of its progress: complete lines are passed on."""
        self._line += data
        *lines, rest = bytes(self._line).split(b"\n")
        self._line[:] = rest[-LONGEST_LINE:]
        if self._on_line is not None:
            for line in lines:
                self._on_line(line)

    def end(self) -> None:
        """Kill it after its time."""
        assert self.transport is not None
        with suppress(ProcessExitedAlready):
            self.transport.signalProcess("KILL")

    def processEnded(self, reason: Failure) -> None:
        """Its output is complete, or will never be."""
        self.done.callback(bytes(self._output) if getattr(reason.value, "exitCode", 1) == 0 else None)


LONGEST_LINE = 4096
"""Bytes of an incomplete line that are kept."""


async def apart(
    reactor: Any,
    work: str,
    given: bytes,
    patience: float,
    on_line: Callable[[bytes], None] | None = None,
    nice: int = 0,
) -> bytes | None:
    """The result of the function ``work`` (``module:name``) for ``given``; `None` when it failed.

    With a test reactor, which has no processes, it runs at once.

    :param patience: seconds after which the process is killed.
    :param on_line: gets each line that the work reports (`tell`).
    :param nice: how much further back than the service the process stands.
    """
    if not IReactorProcess.providedBy(reactor):
        result: bytes = _function(work)(given)
        return result
    processes: Any = reactor
    process = Apart(given, on_line)
    command = [sys.executable, "-m", "dmtwisted.system.apart", work, str(nice)]
    start(processes, process, command, environment())
    late = processes.callLater(patience, process.end)
    done = await process.done
    if late.active():
        late.cancel()
    return done


def tell(line: bytes) -> None:
    """Report a line of progress, from within the work."""
    sys.stderr.buffer.write(line + b"\n")
    sys.stderr.buffer.flush()


def _function(work: str) -> Any:
    module, _, name = work.partition(":")
    return getattr(import_module(module), name)


def main() -> None:
    """The process: from standard input to standard output."""
    # Before the imports, which take a processor for a second.
    stand_back(int(sys.argv[2]))
    sys.stdout.buffer.write(_function(sys.argv[1])(sys.stdin.buffer.read()))


if __name__ == "__main__":
    main()
