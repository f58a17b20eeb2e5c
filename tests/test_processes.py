"""Child processes with threads at their pipes, as on Windows: real ones, and the service's store among them."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

from twisted.internet import reactor as _reactor
from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone, ProcessExitedAlready, ProcessTerminated
from twisted.internet.interfaces import IProcessTransport
from twisted.internet.protocol import ProcessProtocol
from twisted.internet.threads import deferToThread
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase
from zope.interface.verify import verifyObject

from dmtwisted.store.sqlite import store as sqlite
from dmtwisted.store.sqlite.store import SqliteStore
from dmtwisted.system import apart, processes
from dmtwisted.system.environment import environment
from dmtwisted.system.processes import ThreadedProcess, start

reactor: Any = _reactor

ECHO = "import sys; data = sys.stdin.buffer.read(); sys.stderr.write(str(len(data))); sys.stdout.buffer.write(data)"


class Keeper(ProcessProtocol):
    """Keeps what the child says, and how it ended."""

    def __init__(self) -> None:
        self.said = {1: b"", 2: b""}
        self.lost: list[int] = []
        self.exited = False
        self.heard: Deferred[None] = Deferred()
        self.ended: Deferred[Any] = Deferred()

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        """Keep ``data``."""
        self.said[childFD] += data
        if not self.heard.called:
            self.heard.callback(None)

    def childConnectionLost(self, childFD: int) -> None:
        """Keep which pipe it was."""
        self.lost.append(childFD)

    def processExited(self, reason: Failure) -> None:
        """It is gone."""
        self.exited = True

    def processEnded(self, reason: Failure) -> None:
        """It is gone, and all that it said was heard."""
        assert self.exited
        self.ended.callback(reason.value)


class ThreadedProcessTests(TestCase):
    """One child."""

    timeout = 200

    def begun(self, script: str) -> tuple[Keeper, ThreadedProcess]:
        """A child that runs ``script``."""
        keeper = Keeper()
        start(reactor, keeper, [sys.executable, "-c", script], environment(), "win32")
        transport: Any = keeper.transport
        verifyObject(IProcessTransport, transport)
        return keeper, transport

    async def test_both_ways(self) -> None:
        """A megabyte of any bytes goes in and comes back; errors are read apart; the end is reported last."""
        keeper, child = self.begun(ECHO)
        self.assertIsInstance(child.pid, int)
        every = bytes(range(256)) * 2048
        child.write(every)
        child.writeSequence([every, b""])
        child.writeToChild(0, b"end")
        child.closeStdin()
        child.write(b"too late")
        self.assertIsInstance(await keeper.ended, ProcessDone)
        self.assertEqual(keeper.said[1], every * 2 + b"end")
        self.assertEqual(keeper.said[2], str(len(every) * 2 + 3).encode())
        self.assertEqual(sorted(keeper.lost), [0, 1, 2])
        self.assertIsNone(child.pid)

    async def test_status(self) -> None:
        """The status of a child is reported; writing to it and killing it afterwards has no effect."""
        keeper, child = self.begun("raise SystemExit(7)")
        ended = await keeper.ended
        self.assertIsInstance(ended, ProcessTerminated)
        self.assertEqual(ended.exitCode, 7)
        child.write(b"x")
        child.loseConnection()
        self.assertRaises(ProcessExitedAlready, child.signalProcess, "KILL")

    async def test_killed(self) -> None:
        """A child that does not end is ended."""
        keeper, child = self.begun("import time; print('ready', flush=True); time.sleep(600)")
        await keeper.heard
        child.signalProcess("KILL")
        self.assertIsInstance(await keeper.ended, ProcessTerminated)

    async def test_held_open(self) -> None:
        """A child whose pipes another process has is reported as failed at its end; what that one says is dropped."""
        self.patch(processes, "LAST_WORDS", 0.1)
        heir = "import sys; sys.stdin.read(); print('late')"
        said = "print('mine', flush=True); os.read(0, 1)"
        leave = f"subprocess.Popen([sys.executable, '-c', {heir!r}], close_fds=False)"
        keeper, child = self.begun(f"import os, subprocess, sys; {said}; {leave}; os._exit(0)")
        threads = [thread for thread in threading.enumerate() if thread.name.startswith(f"child-{child.pid}-")]
        self.assertEqual(len(threads), 4)
        await keeper.heard
        child.write(b"x")
        self.assertIsInstance(await keeper.ended, ProcessTerminated)
        # Its input is closed now, so the other process ends, too.
        for thread in threads:
            await deferToThread(thread.join)
        self.assertEqual(keeper.said[1].split(), [b"mine"])

    async def test_descriptors(self) -> None:
        """Closing its output leaves it to be read; other descriptors than its input take nothing."""
        keeper, child = self.begun(ECHO)
        self.assertRaises(KeyError, child.writeToChild, 3, b"x")
        child.closeStdout()
        child.closeChildFD(2)
        child.write(b"heard")
        child.closeChildFD(0)
        await keeper.ended
        self.assertEqual(keeper.said[1], b"heard")

    async def test_large_answer_to_a_deaf_child(self) -> None:
        """A child that does not read its input can end, and blocks nothing."""
        keeper, child = self.begun("import os; os.close(0); print('ready', flush=True)")
        child.write(b"x" * (4 << 20))
        await keeper.ended
        self.assertEqual(keeper.said[1].strip(), b"ready")

    def test_absent(self) -> None:
        """A program that is not there is an error at once."""
        self.assertRaises(OSError, start, reactor, Keeper(), ["/no/such/program"], {}, "win32")


class UsersTests(TestCase):
    """Who starts children."""

    timeout = 200

    def setUp(self) -> None:
        """As on Windows."""
        self.begun: list[str] = []

        def as_there(reactor: Any, protocol: Any, command: Any, env: Any) -> None:
            self.begun.append(command[2])
            processes.start(reactor, protocol, command, env, "win32")

        self.patch(sqlite, "start", as_there)
        self.patch(apart, "start", as_there)

    async def test_store(self) -> None:
        """The store works through its writer, survives that it is killed, and closes without a process left."""
        path = Path(self.mktemp())
        store = SqliteStore(reactor, path)
        await store.open()
        try:
            await store.change_settings({"a": b"1"})
            self.assertEqual(dict(await store.settings()), {"a": b"1"})
            killed = store._writer
            assert killed is not None
            killed.kill()
            await killed.gone
            while store._writer is None:
                waited: Deferred[None] = Deferred()
                reactor.callLater(0.02, waited.callback, None)
                await waited
            self.assertEqual(dict(await store.settings()), {"a": b"1"})
        finally:
            await store.close()
        self.assertEqual(self.begun, ["dmtwisted.store.sqlite.writer"] * 2)

    async def test_apart(self) -> None:
        """Work in a process of its own is done and given back."""
        given = b"ab" * 100_000
        self.assertEqual(await apart.apart(reactor, "tests.test_apart:double", given, 30), given * 2)
        self.assertEqual(self.begun, ["dmtwisted.system.apart"])
