"""What a page wants of the certificate, done in a process of its own with a time to finish in.

A file that somebody uploads may ask for hours of reckoning before it opens: PKCS#12 names the rounds of its own
password. So it is opened where it can be ended (`dmtwisted.tls_install`), and the service itself carries neither
what comes out of it nor the library that reads it.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, Literal

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IReactorProcess
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

PATIENCE = 20.0
"""Seconds for all of it; an honest file takes one."""


class Order(msgspec.Struct, frozen=True):
    """What shall be done. ``certificate``, ``key`` and ``passphrase`` are what the configuration names, if it does.

    ``file``, ``key_file`` and ``password`` are what was uploaded; ``names`` further names of this machine; ``now``
    the machine's time in seconds since 1970.
    """

    do: Literal["install", "authority", "status"]
    state: str
    now: float
    certificate: str = ""
    key: str = ""
    passphrase: str = ""
    file: bytes = b""
    key_file: bytes = b""
    password: str = ""
    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Order({self.do!r})"


class Told(msgspec.Struct, frozen=True):
    """What came of it: the certificate as `facts` tells it, or why not."""

    error: str = ""
    facts: dict[str, Any] = {}


class Ordered(ProcessProtocol):
    """The process that does it, and the answer that it gives."""

    def __init__(self, order: Order) -> None:
        self._order, self._said = order, bytearray()
        self.told: Deferred[Told] = Deferred()

    def connectionMade(self) -> None:
        """It runs: hand it the order, which nobody else on the machine gets to see."""
        assert self.transport is not None
        self.transport.write(msgspec.json.encode(self._order))
        self.transport.closeStdin()

    def outReceived(self, data: bytes) -> None:
        """A piece of its answer."""
        self._said += data

    def end(self) -> None:
        """It has had its time."""
        assert self.transport is not None
        with suppress(ProcessExitedAlready):
            self.transport.signalProcess("KILL")

    def processEnded(self, reason: Failure) -> None:
        """Its answer is whole, or will never come."""
        try:
            self.told.callback(msgspec.json.decode(bytes(self._said), type=Told))
        except msgspec.MsgspecError:
            self.told.callback(Told("certificate: it takes too long to open, or cannot be opened at all"))


async def ordered(order: Order, reactor: Any, patience: float = PATIENCE) -> Told:
    """Let a process of its own do what is ordered; a reactor of tests does it at once."""
    if not IReactorProcess.providedBy(reactor):
        from dmtwisted.tls_install import perform

        return perform(order)
    processes: Any = reactor
    work = Ordered(order)
    command = [sys.executable, "-c", "from dmtwisted.tls_install import main; main()"]
    processes.spawnProcess(work, sys.executable, command, env=dict(os.environ))
    late = processes.callLater(patience, work.end)
    told = await work.told
    if late.active():
        late.cancel()
    return told
