"""The SQLite store: the service's end of the writer process.

Questions that come while the writer is busy wait in the pipe and are committed together. When the writer dies,
waiting callers get `StoreFailed`; the outcome of their questions is in the file.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred, DeferredLock, fail
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IDelayedCall, IReactorProcess, IReactorTime
from twisted.internet.protocol import ProcessProtocol
from twisted.logger import Logger
from twisted.python.failure import Failure

from dmtwisted.store.interface import READS, IStore
from dmtwisted.store.migrating import run_migration
from dmtwisted.store.revisions import head, unfit
from dmtwisted.store.sqlite.damage import EMPTIED, SMALL, means_broken_pages, means_damage
from dmtwisted.store.sqlite.file import Locked, sqlite_revision, take_lock, true_lock
from dmtwisted.store.sqlite.left_log import write_again
from dmtwisted.store.sqlite.wire import BY_NAME, DONE, READY, Deframer, Verb, failure, frame
from dmtwisted.store.urls import SQLITE
from dmtwisted.store.values import NameTaken, StoreDamaged, StoreFailed
from dmtwisted.system.environment import environment
from dmtwisted.system.processes import start

if sys.platform == "linux":
    import fcntl

RESTART_PAUSE = 0.2
"""Seconds before a writer that died is started again."""

LOOK_AFTER = 2.0
"""Seconds after a start before a large file is checked: tasks that waited for the start go first."""

PROVING = frozenset({"find", "latest"})
"""Verbs whose `None` means to a till that there is no receipt; in a damaged file it proves nothing."""

ENOUGH = 4
"""Questions that are sent at once while others are still being asked, so that the writer does not wait for them all.

Fewer would share too few commits. Whoever asks alone does not wait.
"""

PIPE_SIZE = 1 << 20
"""Bytes that may wait in the pipe to the writer, where the system allows a choice."""


class SqliteStore(IStore):
    """The store in the file ``path``, owned by a separate writer process."""

    log = Logger()

    def __init__(self, reactor: Any, path: Path) -> None:
        self._reactor, self._path = reactor, path
        self._turn = DeferredLock()  # opening, closing and starting again: one after the other
        self._closing = False
        self._starting: _Writer | None = None
        self._writer: _Writer | None = None
        self._again: IDelayedCall | None = None
        self._look: IDelayedCall | None = None
        self._looking: _Look | None = None
        assert IReactorProcess.providedBy(reactor) and IReactorTime.providedBy(reactor)

    async def open(self) -> None:
        """Bring the file up to date and start its writer.

        :raises StoreDamaged: when the file is damaged or not accessible, or the disk is full.
        :raises StoreFailed: when another service has locked it, or it cannot be used for another reason.
        """
        async with self._turn:
            self._closing = False
            self._forget_restart()
            if self._writer is not None:
                return
            try:
                await self._open()
            except StoreFailed as error:
                if means_damage(str(error)) and self._path.is_file():
                    raise StoreDamaged(str(error)) from error
                raise
            if self._path.stat().st_size > SMALL:
                self._look = self._reactor.callLater(LOOK_AFTER, self._look_at_all)

    async def _open(self) -> None:
        try:
            if self._emptied():
                raise StoreFailed(f"{self._path} {EMPTIED}")
            self._keep_what_was_left()
            current = sqlite_revision(self._path)
        except (OSError, sqlite3.Error) as error:
            raise StoreFailed(f"{self._path}: {error}") from error
        if current is not None and unfit(current):
            raise StoreFailed(f"{self._path} {unfit(current)}")
        if current != head():
            await run_migration(self._reactor, [f"{SQLITE}{self._path}"], {}, f"{self._path}: ")
        await self._start()

    def _emptied(self) -> bool:
        """Whether the file has lost its content: the writer leaves a mark in the lock file."""
        lock = Path(true_lock(f"{self._path}.lock"))
        return self._path.is_file() and not self._path.stat().st_size and lock.is_file() and lock.stat().st_size > 0

    def _keep_what_was_left(self) -> None:
        """Write the log of a dead writer to the disk again: even reading the file relies on it."""
        if os.path.exists(f"{self._path}-wal"):
            # A process that has the lock is alive, and knows what it has written.
            with suppress(Locked), take_lock(f"{self._path}.lock", 0):
                write_again(str(self._path))

    async def open_damaged(self, damage: str) -> None:
        """Serve what can be read of a file that `open` has refused; the file is not changed.

        :raises StoreFailed: when no process can be started, or another service works with the file.
        """
        async with self._turn:
            self.damage = damage
            await self._start()

    async def close(self) -> None:
        """Let the writer finish its questions and end; afterwards there is no process and no pending call."""
        self._closing = True
        self._forget_restart()
        self._forget_look()
        if self._starting is not None:
            self._starting.kill()
        async with self._turn:
            writer, self._writer = self._writer, None
            if writer is not None:
                await writer.finish()

    @property
    def writer_pid(self) -> int | None:
        """The process that owns the file, for measuring it."""
        return None if self._writer is None else self._writer.pid

    @property
    def _how(self) -> list[str]:
        return ["reading"] if self.damage else []

    def _look_at_all(self) -> None:
        self._look = None
        self._looking = _Look(self._looked)
        try:
            command = [sys.executable, "-m", "dmtwisted.store.sqlite.damage", str(self._path)]
            start(self._reactor, self._looking, command, environment())
        except OSError as error:
            self._looking = None
            self.log.warn("{path} could not be checked: {why}", path=self._path, why=str(error))

    def _looked(self, found: str, damaged: bool) -> None:
        self._looking = None
        if damaged:
            self._found_damage(found)
        elif found and not self._closing:
            self.log.warn("{path} could not be checked: {why}", path=self._path, why=found)

    def _forget_look(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None
        if self._looking is not None:
            self._looking.kill()

    def _found_damage(self, text: str) -> None:
        """From now on nothing is written, so that what is whole stays whole."""
        if not self.damage:
            self.damage = f"{self._path}: {text}"
            self.log.critical("the database is damaged and from now on only read: {why}", why=self.damage)

    async def _start(self) -> None:
        """Start a writer; a failure leaves no process behind.

        :raises StoreFailed: when it cannot open the file, or the store is closed meanwhile.
        """
        if self._closing:
            raise StoreFailed("the database is being closed")
        self._starting = writer = _Writer(self._ended, self._suspect, self._reactor.callLater)
        try:
            command = [sys.executable, "-m", "dmtwisted.store.sqlite.writer", str(self._path), *self._how]
            start(self._reactor, writer, command, environment())
            await writer.ready
        except OSError as error:
            raise StoreFailed(f"no process for the database: {error}") from error
        except StoreFailed:
            await writer.gone
            raise
        finally:
            self._starting = None
        self._writer = writer

    def _ended(self, writer: _Writer) -> None:
        if self._writer is writer:
            self._writer = None
            self.log.error("the writer of {path} ended; starting it again", path=self._path)
            self._restart_after(RESTART_PAUSE)

    def _restart_after(self, pause: float) -> None:
        if not self._closing:
            self._again = self._reactor.callLater(pause, lambda: Deferred.fromCoroutine(self._restart()))

    def _forget_restart(self) -> None:
        if self._again is not None:
            self._again.cancel()
            self._again = None

    async def _restart(self) -> None:
        self._again = None
        async with self._turn:
            try:
                await self._start()
            except StoreFailed as error:
                self.log.error("the writer does not start: {why}", why=str(error))
                self._restart_after(RESTART_PAUSE * 10)

    def _ask(self, verb: str, arguments: tuple[Any, ...]) -> Deferred[Any]:
        if self._writer is None:
            return fail(StoreFailed("the database is being opened again"))
        if self.damage:
            return self._ask_damaged(self._writer, verb, arguments)
        return self._writer.ask(BY_NAME[verb], arguments)

    def _ask_damaged(self, writer: _Writer, verb: str, arguments: tuple[Any, ...]) -> Deferred[Any]:
        if verb not in READS:
            return fail(StoreFailed(self.damage))
        asked = writer.ask(BY_NAME[verb], arguments)
        return asked.addCallback(self._proven) if verb in PROVING else asked

    def _proven(self, value: Any) -> Any:
        if value is None:
            raise StoreFailed(self.damage)
        return value

    def _suspect(self, error: Exception) -> None:
        """A question has failed: check whether broken pages are the reason."""
        if isinstance(error, StoreFailed) and means_broken_pages(str(error)):
            self._found_damage(str(error))


class _Process(ProcessProtocol):
    """A process that can be ended at once."""

    def kill(self) -> None:
        """End it; its answers are not needed any more."""
        assert self.transport is not None
        with suppress(ProcessExitedAlready):
            self.transport.signalProcess("KILL")


class _Look(_Process):
    """The process that checks every page.

    :param report: called with its output and whether the file is damaged.
    """

    def __init__(self, report: Callable[[str, bool], None]) -> None:
        self._report, self._output = report, b""

    def outReceived(self, data: bytes) -> None:
        """Collect its output."""
        self._output += data

    def processEnded(self, reason: Failure) -> None:
        """Report its result."""
        status = getattr(reason.value, "exitCode", None)
        self._report(self._output.decode(errors="replace").strip(), status == 1)


class _Writer(_Process):
    """One run of the writer process, with the questions that it has not answered."""

    log = Logger()

    def __init__(
        self,
        ended: Callable[[_Writer], None],
        suspect: Callable[[Exception], None],
        later: Callable[[float, Callable[[], None]], IDelayedCall],
    ) -> None:
        self._report_end, self._suspect, self._later = ended, suspect, later
        self._deframer = Deframer()
        self._waiting: dict[int, tuple[Verb, Deferred[Any]]] = {}
        self._seq = READY
        self._unsent: list[bytes] = []
        self._enough = 1
        self._rest: IDelayedCall | None = None
        self.pid: int | None = None
        self.ready: Deferred[None] = Deferred()
        self.gone: Deferred[None] = Deferred()

    def ask(self, verb: Verb, arguments: tuple[Any, ...]) -> Deferred[Any]:
        """Send one question; fire with its value or the writer's failure."""
        try:
            body = verb.pack_arguments(arguments)
        except StoreFailed as error:
            return fail(error)
        self._seq = seq = (self._seq + 1) & 0xFFFFFFFF or 1
        due: Deferred[Any] = Deferred()
        self._waiting[seq] = verb, due
        self._unsent.append(frame(seq, verb.index, body))
        if len(self._unsent) >= self._enough:
            self._send()
        elif self._rest is None:
            self._rest = self._later(0, self._send_rest)
        return due

    def _send(self) -> None:
        """Send what was asked."""
        questions = b"".join(self._unsent)
        self._unsent.clear()
        assert self.transport is not None
        left = questions[_taken_at_once(self.transport, questions) :]
        if left:
            self.transport.write(left)

    def _send_rest(self) -> None:
        """Send the questions of a turn of the reactor that were not enough."""
        self._rest = None
        if self._unsent:
            self._send()

    async def finish(self) -> None:
        """Close the writer's input; return when it has ended."""
        assert self.transport is not None
        if self._unsent:
            self._send()
        self.transport.closeStdin()
        await self.gone

    def connectionMade(self) -> None:
        """The process runs; its first frame says whether it could open the file."""
        assert self.transport is not None
        self.pid = self.transport.pid
        _widen(self.transport)

    def outReceived(self, data: bytes) -> None:
        """Pass each answer to its caller."""
        answers = list(self._deframer.feed(data))
        self._enough = 1 if len(answers) == 1 else ENOUGH
        for seq, status, body in answers:
            if seq == READY:
                if status == DONE:
                    self.ready.callback(None)
                else:
                    self.ready.errback(failure(status, body))
                continue
            verb, due = self._waiting.pop(seq)
            try:
                value = verb.value(status, body)
            except (StoreFailed, NameTaken) as error:
                self._suspect(error)
                due.errback(error)
            else:
                due.callback(value)

    def errReceived(self, data: bytes) -> None:
        """Log the traceback of a writer that dies of an internal error."""
        self.log.error("the writer of the database: {text}", text=data.decode(errors="replace"))

    def processEnded(self, reason: Failure) -> None:
        """No answers will come any more: fail the waiting callers."""
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None
        waiting, self._waiting = self._waiting, {}
        self._report_end(self)
        lost = StoreFailed("the process that writes the database ended")
        if not self.ready.called:
            self.ready.errback(lost)
        for _, due in waiting.values():
            due.errback(lost)
        self.gone.callback(None)


def _taken_at_once(transport: Any, question: bytes) -> int:
    """How many bytes the pipe takes now, none while others wait for it.

    Through the transport each write costs four more system calls, for a reactor that has nothing to do.
    """
    pipe = getattr(transport, "pipes", {}).get(0)
    if pipe is None or pipe.dataBuffer or pipe._tempDataBuffer:
        return 0
    taken = pipe.writeSomeData(question)
    # A pipe that nobody reads: the transport notices that too, and tells who has to know.
    return taken if isinstance(taken, int) and taken > 0 else 0


def _widen(transport: Any) -> None:
    """Let more questions wait in the pipe, where the system allows it."""
    if sys.platform == "linux":
        with suppress(AttributeError, KeyError, OSError, ProcessExitedAlready):
            fcntl.fcntl(transport.pipes[0].fileno(), fcntl.F_SETPIPE_SZ, PIPE_SIZE)
