"""Child processes and their pipes, on every system.

Where the reactor watches pipes, it starts the child. On Windows Twisted can only look at them now and then, a tenth
of a second apart when there was little to do, and a sale asks its writer three times. There a thread waits at each
pipe instead (`ThreadedProcess`), and the child hears and is heard at once.

============  =====================================================================================
thread        does
============  =====================================================================================
input         writes what waits, in order; closes the pipe when that is asked for
output        reads, and hands each piece to the reactor's thread
complaints    likewise
end           waits for the process after both have been read to their end, and tells of it last
============  =====================================================================================
"""

from __future__ import annotations

import os
import subprocess
import sys
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

NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""On Windows: a child without a console of its own on the screen."""


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
    """A child with a thread at each of its pipes; everything else happens in the reactor's thread.

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
        """Have ``data`` written to its input; a child that has ended takes nothing."""
        if not self._closed and data:
            self._waiting.put(bytes(data))

    def writeSequence(self, data: Iterable[bytes]) -> None:
        """Have all of ``data`` written to its input."""
        self.write(b"".join(data))

    def writeToChild(self, childFD: int, data: bytes) -> None:
        """Have ``data`` written to its input, the one descriptor that there is.

        :raises KeyError: for any other.
        """
        if childFD:
            raise KeyError(childFD)
        self.write(data)

    def closeStdin(self) -> None:
        """Close its input after what waits."""
        if not self._closed:
            self._closed = True
            self._waiting.put(None)

    def closeStdout(self) -> None:
        """Its output is read to the end all the same: on Windows closing a pipe that a thread reads hangs."""

    closeStderr = closeStdout

    def closeChildFD(self, descriptor: int) -> None:
        """Close one of its pipes."""
        if not descriptor:
            self.closeStdin()

    def loseConnection(self) -> None:
        """Close its input; it ends when it has seen that."""
        self.closeStdin()

    def signalProcess(self, signalID: str | int) -> None:
        """End it at once; Windows knows no other signal.

        :raises ProcessExitedAlready: when it has ended.
        """
        if self._process is None or self._process.poll() is not None:
            raise ProcessExitedAlready()
        self._process.kill()

    def getHost(self) -> Any:
        """Nothing to tell of a pipe."""

    getPeer = getHost

    # In threads

    def _thread(self, work: Any, *given: Any) -> Thread:
        # Nobody waits for them when the service ends: the child's end ends them.
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
        for reader in readers:
            reader.join()
        self._tell(self._ended, self._process.wait())

    def _tell(self, what: Any, *given: Any) -> None:
        self._reactor.callFromThread(what, *given)

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
