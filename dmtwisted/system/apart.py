"""Work on what a stranger sent, in a process of its own that can be ended.

A key file names the rounds of its own password, so opening one that somebody made for the purpose takes days, and a
thread cannot be ended. A process can; it also leaves the interpreter to the tills meanwhile, and takes along whatever
memory it needed.
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
from dmtwisted.system.processes import start


class Apart(ProcessProtocol):
    """The process, what it is given, and what it gives back."""

    def __init__(self, given: bytes, told: Callable[[bytes], None] | None = None) -> None:
        self._given, self._said = given, bytearray()
        self._told, self._line = told, bytearray()
        self.done: Deferred[bytes | None] = Deferred()

    def connectionMade(self) -> None:
        """It runs: hand over the work by a pipe, which nobody else on the machine gets to see."""
        assert self.transport is not None
        self.transport.write(self._given)
        self.transport.closeStdin()
        self._given = b""

    def outReceived(self, data: bytes) -> None:
        """A piece of what it gives back."""
        self._said += data

    def errReceived(self, data: bytes) -> None:
        """A piece of what it tells on the way: whole lines go on."""
        self._line += data
        *lines, rest = bytes(self._line).split(b"\n")
        self._line[:] = rest[-LONGEST_LINE:]
        if self._told is not None:
            for line in lines:
                self._told(line)

    def end(self) -> None:
        """It has had its time."""
        assert self.transport is not None
        with suppress(ProcessExitedAlready):
            self.transport.signalProcess("KILL")

    def processEnded(self, reason: Failure) -> None:
        """What it gave back is whole, or will never be."""
        self.done.callback(bytes(self._said) if getattr(reason.value, "exitCode", 1) == 0 else None)


LONGEST_LINE = 4096
"""Bytes of a line that is not whole yet."""


async def apart(
    reactor: Any, work: str, given: bytes, patience: float, told: Callable[[bytes], None] | None = None
) -> bytes | None:
    """What the function ``work``, spelled ``module:name``, makes of ``given``; `None` when it did not end well.

    A reactor of tests, which has no processes, does it at once.

    :param patience: in seconds.
    :param told: hears each line of what it tells on the way (`tell`).
    """
    if not IReactorProcess.providedBy(reactor):
        here: bytes = _function(work)(given)
        return here
    processes: Any = reactor
    process = Apart(given, told)
    command = [sys.executable, "-m", "dmtwisted.system.apart", work]
    start(processes, process, command, environment())
    late = processes.callLater(patience, process.end)
    done = await process.done
    if late.active():
        late.cancel()
    return done


def tell(line: bytes) -> None:
    """From within the work: a line for whoever waits for it."""
    sys.stderr.buffer.write(line + b"\n")
    sys.stderr.buffer.flush()


def _function(work: str) -> Any:
    module, _, name = work.partition(":")
    return getattr(import_module(module), name)


def main() -> None:
    """The process: from the standard input to the standard output."""
    sys.stdout.buffer.write(_function(sys.argv[1])(sys.stdin.buffer.read()))


if __name__ == "__main__":
    main()
