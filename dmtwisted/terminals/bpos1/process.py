"""The library's process as a line: started by `connect`, killed when the line is dropped."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from twisted.internet.address import _ProcessAddress
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IDelayedCall, IProtocol, IProtocolFactory, IStreamClientEndpoint, ITransport
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from dmtwisted.system.environment import environment
from dmtwisted.system.processes import start
from protocols.errors import NotReached
from protocols.terminals.bpos1.child import NO_WINDOWS
from protocols.terminals.bpos1.protocol import NoLibrary
from protocols.terminals.lines import stop

COMMAND = (sys.executable, "-m", "protocols.terminals.bpos1.child")

GRACE = 3.0
"""Seconds in which a process ends by itself after its input was closed."""


@implementer(IStreamClientEndpoint)
class LibraryEndpoint:
    """Starts a process of the library for each line.

    :param platform: the system; there is no such library but for Windows.
    """

    def __init__(self, reactor: Any, command: Sequence[str] = COMMAND, platform: str = sys.platform) -> None:
        self._reactor, self._command, self._platform = reactor, command, platform

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Start a process.

        :raises NotReached: when it does not start; the Deferred fails with it.
        """
        if self._platform != "win32":
            return fail(NoLibrary(NO_WINDOWS, f"the library is for Windows only, this system is {self._platform}"))
        line = protocolFactory.buildProtocol(_ProcessAddress())
        if line is None:
            return fail(NotReached("the line was given up"))
        try:
            start(self._reactor, LibraryProcess(self._reactor, line), self._command, environment())
        except OSError as error:
            return fail(NotReached(f"the library's process does not start: {error}"))
        return succeed(line)


@implementer(ITransport)
class LibraryProcess(ProcessProtocol):
    """The process; its protocol's transport."""

    log = Logger()

    def __init__(self, reactor: Any, line: IProtocol) -> None:
        self._reactor, self._line = reactor, line
        self._killing: IDelayedCall | None = None

    # For the line

    def write(self, data: bytes) -> None:
        """Write to the process."""
        assert self.transport is not None
        self.transport.write(data)

    def writeSequence(self, data: Iterable[bytes]) -> None:
        """Write all of ``data``."""
        self.write(b"".join(data))

    def loseConnection(self) -> None:
        """Let the process close its port and end; kill it when it does not."""
        if self._killing is None and self.transport is not None:
            self.transport.closeStdin()
            self._killing = self._reactor.callLater(GRACE, self.abortConnection)

    def abortConnection(self) -> None:
        """Kill the process."""
        if self.transport is not None:
            with suppress(ProcessExitedAlready):
                self.transport.signalProcess("KILL")

    def getPeer(self) -> Any:
        """Pipes have no address."""
        return _ProcessAddress()

    getHost = getPeer

    # Of the process

    def connectionMade(self) -> None:
        """It runs."""
        self._line.makeConnection(self)

    def outReceived(self, data: bytes) -> None:
        """Its lines."""
        self._line.dataReceived(data)

    def errReceived(self, data: bytes) -> None:
        """What it and its library have to say."""
        for words in data.decode("utf-8", "replace").splitlines():
            self.log.info("the library's process: {words}", words=words)

    def processEnded(self, reason: Failure) -> None:
        """It has ended, by itself or not."""
        stop(self._killing)
        self._line.connectionLost(reason)
