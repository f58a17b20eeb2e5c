"""The service manager is notified in its own protocol, and correctly."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import suppress as suppressing
from pathlib import Path
from unittest import skipUnless

from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.system.notify import AGAIN, EVERY, Notifier


class Manager:
    """The manager's end of the socket."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(f"\0{address[1:]}" if address.startswith("@") else address)
        self.socket.setblocking(False)

    def heard(self) -> list[str]:
        """Each datagram since the last time."""
        found = []
        while True:
            try:
                found.append(self.socket.recv(4096).decode())
            except BlockingIOError:
                return found


@skipUnless(hasattr(socket, "AF_UNIX"), "a manager with such a socket is on POSIX only")
class NotifierTests(SynchronousTestCase):
    """What is sent, and when."""

    def setUp(self) -> None:
        """A manager that listens on a socket in a folder of the test."""
        folder = Path(self.mktemp())
        folder.mkdir()
        # Relative: the path of such a socket may hold a hundred bytes only.
        self.address = os.path.relpath(folder / "notify")
        self.manager = Manager(self.address)
        self.addCleanup(self.manager.socket.close)
        self.clock = Clock()
        self.environment = {"NOTIFY_SOCKET": self.address, "WATCHDOG_USEC": "60000000", "PATH": "/bin"}

    def notifier(self) -> Notifier:
        """Ours, as the environment asks for it."""
        made = Notifier.from_environment(self.environment, self.clock)
        self.addCleanup(made.stopped)
        return made

    def test_ready(self) -> None:
        """Ready is sent with our address, and watchdog messages only from then on, three times within the limit."""
        ours = self.notifier()
        self.clock.advance(100)
        self.assertEqual(self.manager.heard(), [])
        ours.ready("serving on http://0.0.0.0:3939/")
        self.assertEqual(self.manager.heard(), ["READY=1\nSTATUS=serving on http://0.0.0.0:3939/", "WATCHDOG=1"])
        for _ in range(3):
            self.clock.advance(20)
        self.assertEqual(self.manager.heard(), ["WATCHDOG=1"] * 3)

    def test_environment(self) -> None:
        """What the manager said to us is not handed on to our children."""
        self.notifier()
        self.assertEqual(self.environment, {"PATH": "/bin"})

    def test_no_watchdog(self) -> None:
        """A manager that does not watch us, or watches another process, gets no watchdog messages."""
        for watched in ({}, {"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "soon"}):
            self.environment = {"NOTIFY_SOCKET": self.address, **watched}
            self.notifier().ready("well")
            self.clock.advance(60)
            self.assertEqual(self.manager.heard(), ["READY=1\nSTATUS=well"])

    def test_stopping(self) -> None:
        """While running tasks end more time is asked for, again and again, and nothing once they have."""
        ours = self.notifier()
        ours.stopping()
        self.clock.advance(EVERY)
        said = self.manager.heard()
        self.assertEqual(said[0].splitlines()[0], "STOPPING=1")
        self.assertEqual(said[1:], ["EXTEND_TIMEOUT_USEC=30000000"] * 2)
        ours.stopped()
        self.clock.advance(10 * EVERY)
        self.assertEqual(self.manager.heard(), [])

    def test_reload(self) -> None:
        """A reload begins with its time on the monotonic clock and ends with ready and the same status."""
        ours = self.notifier()
        ours.ready("well")
        self.manager.heard()
        ours.reloading()
        ours.reloaded()
        began, ended = self.manager.heard()
        self.assertRegex(began, r"^RELOADING=1\nMONOTONIC_USEC=\d+$")
        self.assertEqual(ended, "READY=1\nSTATUS=well")

    @skipUnless(sys.platform == "linux", "a name space of Linux")
    def test_abstract(self) -> None:
        """An address that begins with ``@`` is one without a file."""
        address = f"@dmtwisted-{os.getpid()}"
        manager = Manager(address)
        self.addCleanup(manager.socket.close)
        Notifier(address, 0, self.clock).ready("well")
        self.assertEqual(manager.heard(), ["READY=1\nSTATUS=well"])

    def test_nobody(self) -> None:
        """Without a manager nothing is sent, and nothing runs."""
        self.environment = {}
        ours = self.notifier()
        ours.ready("well")
        ours.stopping()
        self.assertEqual((self.manager.heard(), self.clock.getDelayedCalls()), ([], []))

    def test_manager_busy(self) -> None:
        """A manager with a full socket gets the ready message again; watchdog messages wait until then."""
        ours = self.notifier()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, suppressing(BlockingIOError):
            other.setblocking(False)
            for _ in range(100_000):
                other.sendto(b"STATUS=of somebody else", self.address)
        ours.ready("well")
        self.assertNotIn("READY=1\nSTATUS=well", self.manager.heard())
        self.clock.advance(AGAIN)
        self.assertEqual(self.manager.heard(), ["READY=1\nSTATUS=well"])

    def test_manager_gone(self) -> None:
        """A missing manager does not stop the service, and is logged once."""
        ours = Notifier("no-such-folder/notify", 60, self.clock)
        self.addCleanup(ours.stopped)
        with capturedLogs() as told:
            ours.ready("well")
            self.clock.advance(20)
        self.assertEqual(len(told), 1)
