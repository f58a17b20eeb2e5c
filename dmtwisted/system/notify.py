"""systemd's notify protocol: status messages to the service manager.

The manager opens a datagram socket and names it in ``NOTIFY_SOCKET``; each datagram has lines ``NAME=VALUE``::

    READY=1\\nSTATUS=serving on http://0.0.0.0:3939/     tasks are accepted
    WATCHDOG=1                                          the reactor runs
    RELOADING=1\\nMONOTONIC_USEC=81234567                files are opened again; READY=1 ends it
    STOPPING=1\\nEXTEND_TIMEOUT_USEC=30000000            running tasks are being finished

Without a socket nothing is sent. Source: sd_notify(3), systemd.service(5).
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
"""Seconds of each request for more time while running tasks end: a card payment takes minutes."""

EVERY = 10.0
"""Seconds between two such requests."""

AGAIN = 1.0
"""Seconds until an important message is sent again to a manager whose socket was full."""


class Notifier:
    """Reports our status to the manager at ``address``.

    :param address: the path of its socket, or with ``@`` in front an abstract name of Linux; empty for none.
    :param watchdog: seconds without a message after which it restarts us; 0 for never.
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
        """The notifier for the variables of the manager, which are removed so that our children do not use them."""
        address = environment.pop("NOTIFY_SOCKET", "")
        usec, pid = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        meant = not pid or pid == str(os.getpid())
        return cls(address, int(usec) / 1e6 if usec.isdecimal() and meant else 0, clock)

    def ready(self, status: str) -> None:
        """Report that tasks are accepted, and start the watchdog messages."""
        self._status = status
        self._send("READY=1", f"STATUS={status}")
        if self._address and self._watchdog and not self._alive.running:
            self._alive.start(self._watchdog / 3)

    def reloading(self) -> None:
        """Report that files are opened again."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def reloaded(self) -> None:
        """Report that they are open."""
        self._send("READY=1", f"STATUS={self._status}")

    def stopping(self) -> None:
        """Report that no new tasks are accepted, and ask for time while running ones end."""
        self._send("STOPPING=1", "STATUS=finishing running tasks")
        if self._address and not self._draining.running:
            self._draining.start(EVERY)

    def stopped(self) -> None:
        """Send nothing more."""
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
            # Its socket is full, and waiting would block the tills. Watchdog messages are sent again anyway; of the
            # others the newest counts.
            if lines[0].startswith(("READY", "STOPPING")):
                self._forget_unsent()
                self._unsent = self._clock.callLater(AGAIN, self._send, *lines)
        except OSError as error:
            # No reason to stop the service; it is logged once.
            if not self._failed:
                self.log.warn("the service manager cannot be notified: {why}", why=str(error))
            self._failed = True
