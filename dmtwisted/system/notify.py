"""What the service manager hears of us: the few lines of systemd's notify protocol.

The manager opens a datagram socket and names it in ``NOTIFY_SOCKET``; each datagram holds lines ``NAME=VALUE``::

    READY=1\\nSTATUS=serving on http://0.0.0.0:3939/     tasks are taken
    WATCHDOG=1                                          the reactor turns
    RELOADING=1\\nMONOTONIC_USEC=81234567                files are opened anew; READY=1 ends it
    STOPPING=1\\nEXTEND_TIMEOUT_USEC=30000000            running tasks are brought to their end

Where nobody named a socket nothing is sent. Source: sd_notify(3), systemd.service(5).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import MutableMapping
from typing import Any

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

EXTENSION = 30.0
"""Seconds that we ask for, again and again, while running tasks end: a card payment takes minutes."""

EVERY = 10.0
"""Seconds between two such requests."""

AGAIN = 1.0
"""Seconds until a manager is told once more that had no room for what it has to know."""


class Notifier:
    """Tells the manager at ``address`` how we are.

    :param address: the path of its socket, or one with ``@`` in front in Linux's own name space; empty for nobody.
    :param watchdog: seconds after which it takes our silence for death; 0 when it does not.
    """

    log = Logger()

    def __init__(self, address: str, watchdog: float, clock: Any) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._watchdog = watchdog
        self._alive = LoopingCall(self._send, "WATCHDOG=1")
        self._draining = LoopingCall(self._ask_for_time)
        self._alive.clock = self._draining.clock = clock
        self._failed = False
        self._status = ""
        self._clock = clock
        self._unsent: IDelayedCall | None = None

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str], clock: Any) -> Notifier:
        """The one that the manager asks for; our own children are not to speak for us, so it is taken out."""
        address = environment.pop("NOTIFY_SOCKET", "")
        usec, pid = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        meant = not pid or pid == str(os.getpid())
        return cls(address, int(usec) / 1e6 if usec.isdecimal() and meant else 0, clock)

    def ready(self, status: str) -> None:
        """Tasks are taken; from now on silence means death."""
        self._status = status
        self._send("READY=1", f"STATUS={status}")
        if self._address and self._watchdog and not self._alive.running:
            self._alive.start(self._watchdog / 3)

    def reloading(self) -> None:
        """Files are being opened anew."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def reloaded(self) -> None:
        """They are."""
        self._send("READY=1", f"STATUS={self._status}")

    def stopping(self) -> None:
        """No new tasks; time is asked for as long as the running ones take."""
        self._send("STOPPING=1", "STATUS=running tasks are brought to their end")
        if self._address and not self._draining.running:
            self._draining.start(EVERY)

    def stopped(self) -> None:
        """Nothing more will be said."""
        for loop in (self._alive, self._draining):
            if loop.running:
                loop.stop()
        self._forget_unsent()

    def _forget_unsent(self) -> None:
        if self._unsent is not None and self._unsent.active():
            self._unsent.cancel()
        self._unsent = None

    def _ask_for_time(self) -> None:
        self._send(f"EXTEND_TIMEOUT_USEC={int(EXTENSION * 1e6)}")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as out:
                out.sendto("\n".join(lines).encode(), self._address)
        except BlockingIOError:
            # It has not read for a while, and waiting for it would keep the tills waiting. That we live is told again
            # anyway; of the rest the newest counts.
            if lines[0].startswith(("READY", "STOPPING")):
                self._forget_unsent()
                self._unsent = self._clock.callLater(AGAIN, self._send, *lines)
        except OSError as error:
            # No reason to stop serving; once is enough to say so.
            if not self._failed:
                self.log.warn("the service manager cannot be told: {why}", why=str(error))
            self._failed = True
