"""Child processes and their pipes, on every system.

Where the reactor can watch pipes, it starts the child. On Windows Twisted only polls them, up to a tenth of a second
apart, and a sale asks its writer three times. There a thread waits at each pipe instead (`ThreadedProcess`), without
delay.

=============  =====================================================================================
thread         task
=============  =====================================================================================
input          writes the waiting data in order; closes the pipe on request
output, error  read, and pass each piece to the reactor's thread
end            waits for the process, then a while for what it has said, and reports its status
=============  =====================================================================================
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Any

from twisted.internet.error import ProcessDone, ProcessExitedAlready, ProcessTerminated
from twisted.internet.interfaces import IProcessTransport
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure
from zope.interface import implementer

PIECE = 1 << 16
"""Bytes read at once."""

LAST_WORDS = 5.0
"""Seconds after the end of a child for reading what it has said; another process can hold its pipes open for ever."""

NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""On Windows: no console window for the child."""


BACKGROUND = 19
"""How much further back than the service a process stands whose work nobody waits for."""


def stand_back(steps: int) -> None:
    """Let this process stand back behind others that want a processor, where the system has such an order."""
    if hasattr(os, "nice"):
        os.nice(steps)


def start(
    reactor: Any,
    protocol: ProcessProtocol,
    command: Sequence[str],
    env: Mapping[str, str],
    platform: str = sys.platform,
) -> None:
    """Start ``command`` and connect ``protocol`` to it.

    :raises OSError: when it cannot be started.
    """
    if platform == "win32":
        ThreadedProcess(reactor, protocol, command, env)
    else:
        reactor.spawnProcess(protocol, command[0], list(command), env=dict(env))


@implementer(IProcessTransport)
class ThreadedProcess:
    """A child process with a thread at each pipe; everything else happens in the reactor's thread.

    :raises OSError: when it cannot be started.
    """

    def __init__(
        self, reactor: Any, protocol: ProcessProtocol, command: Sequence[str], env: Mapping[str, str]
    ) -> None:
        self._reactor, self._protocol = reactor, protocol
        pipe = subprocess.PIPE
        self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
            list(command), stdin=pipe, stdout=pipe, stderr=pipe, env=dict(env), bufsize=0, creationflags=NO_WINDOW
        )
        self.pid: int | None = self._process.pid
        self._waiting: SimpleQueue[bytes | None] = SimpleQueue()
        self._closed = False
        protocol.makeConnection(self)
        readers = [self._thread(self._read, number) for number in (1, 2)]
        self._thread(self._feed)
        self._thread(self._wait, readers)

    # In the reactor's thread

    def write(self, data: bytes) -> None:
        """Write ``data`` to its input, unless it has ended."""
        if not self._closed and data:
            self._waiting.put(bytes(data))

    def writeSequence(self, data: Iterable[bytes]) -> None:
        """Write all of ``data`` to its input."""
        self.write(b"".join(data))

    def writeToChild(self, childFD: int, data: bytes) -> None:
        """Write ``data`` to its input, descriptor 0.

        :raises KeyError: for any other.
        """
        if childFD:
            raise KeyError(childFD)
        self.write(data)

    def closeStdin(self) -> None:
        """Close its input after the waiting data."""
        if not self._closed:
            self._closed = True
            self._waiting.put(None)

    def closeStdout(self) -> None:
        """Do nothing, and read its output to the end: on Windows closing a pipe that a thread reads hangs."""

    closeStderr = closeStdout

    def closeChildFD(self, descriptor: int) -> None:
        """Close its input; other pipes stay open."""
        if not descriptor:
            self.closeStdin()

    def loseConnection(self) -> None:
        """Close its input, after which it ends."""
        self.closeStdin()

    def signalProcess(self, signalID: str | int) -> None:
        """Kill it; Windows has no other signal.

        :raises ProcessExitedAlready: when it has ended.
        """
        if self._process is None or self._process.poll() is not None:
            raise ProcessExitedAlready()
        self._process.kill()

    def getHost(self) -> Any:
        """Pipes have no address."""

    getPeer = getHost

    # In threads

    def _thread(self, work: Any, *given: Any) -> Thread:
        # The service does not wait for them at its end: they end with the child.
        thread = Thread(target=work, args=given, name=f"child-{self.pid}-{work.__name__.strip('_')}", daemon=True)
        thread.start()
        return thread

    def _feed(self) -> None:
        assert self._process is not None and self._process.stdin is not None
        pipe = self._process.stdin
        with suppress(OSError):
            while (data := self._waiting.get()) is not None:
                view = memoryview(data)
                while view:
                    view = view[pipe.write(view) or 0 :]
        with suppress(OSError):
            pipe.close()
        self._tell(self._protocol.childConnectionLost, 0)

    def _read(self, number: int) -> None:
        assert self._process is not None
        pipe = self._process.stdout if number == 1 else self._process.stderr
        assert pipe is not None
        with suppress(OSError):
            while data := os.read(pipe.fileno(), PIECE):
                self._tell(self._protocol.childDataReceived, number, data)
        with suppress(OSError):
            pipe.close()
        self._tell(self._protocol.childConnectionLost, number)

    def _wait(self, readers: Sequence[Thread]) -> None:
        assert self._process is not None
        status = self._process.wait()
        until = time.monotonic() + LAST_WORDS
        for reader in readers:
            reader.join(max(0, until - time.monotonic()))
        # Nobody is to take half of a result for the whole: without the end of its output it has failed.
        incomplete = any(reader.is_alive() for reader in readers)
        self._tell(self._ended, status or int(incomplete))

    def _tell(self, what: Any, *given: Any) -> None:
        self._reactor.callFromThread(self._told, what, given)

    # In the reactor's thread again

    def _told(self, what: Any, given: Sequence[Any]) -> None:
        # The end is the last thing that a protocol is told.
        if self._process is not None:
            what(*given)

    def _ended(self, status: int) -> None:
        self.closeStdin()
        self._process = self.pid = None
        if status == 0:
            reason = Failure(ProcessDone(status))
        elif status < 0:
            reason = Failure(ProcessTerminated(signal=-status))
        else:
            reason = Failure(ProcessTerminated(status))
        self._protocol.processExited(reason)
        self._protocol.processEnded(reason)
