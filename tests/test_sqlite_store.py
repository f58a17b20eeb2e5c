"""The SQLite file and its writer process: what was answered survives kills, full disks and wrong files."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from unittest import skipUnless

from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList, gatherResults
from twisted.internet.error import ProcessExitedAlready
from twisted.internet.interfaces import IReactorProcess, IReactorTime
from twisted.internet.task import Clock, deferLater
from twisted.logger import capturedLogs
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase, TestCase
from zope.interface import directlyProvides

from dmtwisted.store.interface import IStore
from dmtwisted.store.migrate import upgrade
from dmtwisted.store.revisions import head
from dmtwisted.store.sqlite import store as sqlite
from dmtwisted.store.sqlite.file import sqlite_revision
from dmtwisted.store.sqlite.store import SqliteStore
from dmtwisted.store.sqlite.wire import BY_NAME, DONE, Deframer, frame, pack
from dmtwisted.store.values import OperationQuery, State, StoreDamaged, StoreFailed
from dmtwisted.system import processes
from tests.change_contract import ChangeContract
from tests.event_contract import EventContract
from tests.mark_contract import MarkContract
from tests.retention_contract import RetentionContract
from tests.seal_contract import SealContract
from tests.specification import promises
from tests.store_contract import TILL, StoreCase, StoreContract, intent, kept, outcome, paper, row

if sys.platform != "win32":
    from twisted.internet.process import ProcessWriter

T = TypeVar("T")

WRITER, MIGRATION, LOOK = "dmtwisted.store.sqlite.writer", "dmtwisted.store.migrate", "dmtwisted.store.sqlite.damage"

WITH_PATIENCE = (
    "import sys; from dmtwisted.store.sqlite import writer; writer.LOCK_PATIENCE = {seconds}; "
    "sys.exit(writer.main(sys.argv[1]))"
)
"""The writer, but that it waits so long for a file that another one has."""

NO_ROOM = (
    "import resource, signal, sys; from dmtwisted.store.sqlite import writer; "
    "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY)); "
    "sys.exit(writer.main(sys.argv[1], 'reading' in sys.argv[2:]))"
)
"""The writer on a disk that takes not a byte."""

AS_NOBODY = (
    "import os, sys; from dmtwisted.store.sqlite import writer; os.geteuid() or os.seteuid(65534); "
    "sys.exit(writer.main(sys.argv[1], 'reading' in sys.argv[2:]))"
)
"""The writer without the rights of an administrator."""

BROKEN_PAGES = (
    "import sys; from dmtwisted.store.sqlite import writer\n"
    "def broken(db): raise writer.sqlite3.DatabaseError('database disk image is malformed')\n"
    "writer.TABLE[0].run = broken\n"
    "sys.exit(writer.main(sys.argv[1]))"
)
"""The writer, but that it finds the table of devices broken."""

TELLING = (
    "import pathlib, sys, time; from dmtwisted.store.sqlite import writer; nap = time.sleep; "
    "time.sleep = lambda seconds: (pathlib.Path(sys.argv[1] + '.waits').touch(), nap(seconds)); "
    "sys.exit(writer.main(sys.argv[1]))"
)
"""The writer, but that it leaves a mark beside the file while it waits."""


THREADED = processes.ThreadedProcess


@cache
def empty_database() -> bytes:
    """A file that is up to date and holds nothing: made once, for opening is quick without a migration."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "empty.db")
        upgrade(f"sqlite:///{path}")
        return path.read_bytes()


class _Watched:
    """The real reactor, which remembers what it was asked for and can start a program of the test instead."""

    def __init__(self) -> None:
        directlyProvides(self, IReactorProcess, IReactorTime)
        self.full = False
        self.started: list[str] = []
        self.instead: dict[str, str] = {}
        self.options: list[dict[str, Any]] = []
        self.calls: list[Any] = []
        self.running: list[Any] = []
        self._ended: list[Deferred[None]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(reactor, name)

    def callLater(self, delay: float, function: Any, *arguments: Any, **named: Any) -> Any:
        """As the reactor does."""
        self.calls.append(reactor.callLater(delay, function, *arguments, **named))
        return self.calls[-1]

    def spawnProcess(
        self, protocol: Any, executable: str, args: Any, env: Any = None, path: Any = None, **options: Any
    ) -> Any:
        """As the reactor does, or the program that is to run instead of the module."""
        if self.full:
            raise BlockingIOError("no more processes")
        command = list(args)
        module = command[2]
        self.started.append(module)
        self.options.append(options)
        if module in self.instead:
            command[1:3] = ["-c", self.instead[module]]
        ended: Deferred[None] = Deferred()
        self._ended.append(ended)
        process_ended = protocol.processEnded

        def remember(reason: Failure) -> None:
            self.running.remove(process)
            process_ended(reason)
            ended.callback(None)

        protocol.processEnded = remember
        if sys.platform == "win32":
            process = THREADED(reactor, protocol, command, env)
        else:
            process = reactor.spawnProcess(protocol, executable, command, env, path, **options)
        self.running.append(process)
        return process

    @property
    def due(self) -> list[Any]:
        """The calls that are still to come."""
        return [call for call in self.calls if call.active()]

    async def kill(self) -> None:
        """End what runs as ``kill -9`` does, and wait until it has."""
        for process in self.running:
            with contextlib.suppress(ProcessExitedAlready):
                process.signalProcess("KILL")
        await DeferredList([ended for ended in self._ended if not ended.called])

    async def clean(self) -> None:
        """Leave nothing to the next test."""
        while self.due or self.running:
            for call in self.due:
                call.cancel()
            await self.kill()


def _by_reactor(watched: _Watched, protocol: Any, command: list[str], env: Any) -> Any:
    return watched.spawnProcess(protocol, command[0], command, env)


class _SqliteCase(StoreCase):
    """Stores on a file of the test."""

    timeout = 200
    integrity_error = sqlite3.IntegrityError

    def file(self, content: bytes | None = None) -> Path:
        """A path in a new folder, with a file of ``content`` if given."""
        folder = Path(self.mktemp()).absolute()
        folder.mkdir()
        self.path = folder / "tills.db"
        if content is not None:
            self.path.write_bytes(content)
        return self.path

    def store(self, path: Path) -> SqliteStore:
        """A store on ``path`` that is not open yet; its reactor is ``self.reactor``."""
        self.reactor = _Watched()
        # Where threads wait at the pipes, the reactor is not asked.
        self.patch(processes, "ThreadedProcess", _by_reactor)
        store = SqliteStore(self.reactor, path)
        self.addCleanup(lambda watched: Deferred.fromCoroutine(watched.clean()), self.reactor)
        self.addCleanup(lambda: Deferred.fromCoroutine(store.close()))
        return store

    async def opened(self) -> IStore:
        """A store on an empty database."""
        return await self.opened_sqlite()

    async def opened_sqlite(self) -> SqliteStore:
        """A store on an empty database."""
        store = self.store(self.file(empty_database()))
        await store.open()
        return store

    def bypass(self, statement: str) -> None:
        """Run ``statement`` on the file."""
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute(statement)

    async def cannot_open(self, path: Path) -> str:
        """Why a store cannot be opened on ``path``."""
        return str(await self.refused(self.store(path).open(), StoreFailed))

    async def until(self, condition: Callable[..., object], *arguments: object) -> None:
        """Wait until ``condition`` holds, which other processes bring about."""
        while not condition(*arguments):
            await deferLater(reactor, 0.01)

    async def until_answered(self, store: SqliteStore) -> None:
        """Wait until a store that lost its writer answers again."""
        await self.until(lambda: store.writer_pid is not None)
        await store.settings()


def _asked(question: Awaitable[T]) -> Deferred[T]:
    """``question``, asked now."""
    return Deferred.fromCoroutine(question)  # type: ignore[arg-type]


class SqliteStoreTests(_SqliteCase, StoreContract, TestCase):
    """The contract."""


class SqliteChangeTests(_SqliteCase, ChangeContract, TestCase):
    """Changes of the service."""


class SqliteEventTests(_SqliteCase, EventContract, TestCase):
    """Events."""


class SqliteSealTests(_SqliteCase, SealContract, RetentionContract, MarkContract, TestCase):
    """The contracts of seals and of what grows old."""


class OpenTests(_SqliteCase, TestCase):
    """From a path to a store that answers."""

    async def test_new_file(self) -> None:
        """Without a file one is made, brought to the newest schema and served."""
        path = self.file()
        store = self.store(path)
        await store.open()
        self.assertEqual(self.reactor.started, [MIGRATION, WRITER])
        self.assertEqual(sqlite_revision(path), head())
        n = (await store.reserve(intent(TILL, "a", paper(1)))).n
        self.assertEqual([known.n for known in await store.unresolved(None)], [n])

    @promises("1.1.2.1")
    async def test_nothing_to_migrate(self) -> None:
        """A file that is up to date is served at once by one process, started in a way that Windows has too."""
        store = self.store(self.file(empty_database()))
        self.assertIs(store.writer_pid, None)
        for _ in range(2):
            await store.open()
        self.assertEqual(self.reactor.started, [WRITER])
        self.assertEqual(store.writer_pid, self.reactor.running[0].pid)
        # Windows knows no mapping of descriptors.
        self.assertNotIn("childFDs", self.reactor.options[0])

    async def test_odd_path(self) -> None:
        """The folder may have any name, also one that would mean something in a URL."""
        # Windows has no question mark in names.
        mark = "&" if sys.platform == "win32" else "?"
        folder = self.file().parent / f"100% %41 #1 a{mark}mode=ro&x=1;y 'Каса 🧾'"
        folder.mkdir()
        store = self.store(folder / "tills.db")
        await store.open()
        await store.change_settings({"a": b"1"})
        await store.close()
        self.assertEqual(sorted(each.name for each in folder.iterdir()), ["tills.db", "tills.db.lock"])
        self.assertEqual(list(folder.parent.iterdir()), [folder])
        store = self.store(folder / "tills.db")
        await store.open()
        self.assertEqual(self.reactor.started, [WRITER])
        self.assertEqual(await store.settings(), {"a": b"1"})

    async def test_wrong_path(self) -> None:
        """What cannot be opened is a complaint with its path and the reason, and no process is left."""
        letter = self.file(b"This is a letter to the tax service. " * 100)
        too_long = "No such file or directory" if sys.platform == "win32" else "File name too long"
        for path, reason in (
            (letter, "file is not a database"),
            (letter.parent, "unable to open database file"),
            (letter.parent / "no" / "tills.db", "No such file or directory"),
            (letter.parent / ("x" * 300), too_long),
        ):
            complaint = await self.cannot_open(path)
            self.assertTrue(complaint.startswith(f"{path}: "), complaint)
            self.assertIn(reason, complaint)
            self.assertEqual(self.reactor.running, [])
        self.assertEqual(letter.read_bytes(), b"This is a letter to the tax service. " * 100)

    async def test_newer_version(self) -> None:
        """A file that a newer version has changed is not touched by this one."""
        path = self.file(empty_database())
        self.bypass("UPDATE alembic_version SET version_num = '9999'")
        before = path.read_bytes()
        self.assertEqual(await self.cannot_open(path), f"{path} was made by a newer version (revision 9999)")
        self.assertEqual(path.read_bytes(), before)
        self.assertEqual(self.reactor.started, [])

    async def test_migration_fails(self) -> None:
        """When the schema cannot be brought up to date, the store says why, even when the process was killed."""
        path = self.file(b"")
        self.bypass("CREATE TABLE device (serial TEXT)")
        self.assertIn("table device already exists", await self.cannot_open(path))
        store = self.store(self.file(b""))
        self.reactor.instead[MIGRATION] = "import os; os.kill(os.getpid(), 9)"
        await self.refused(store.open(), StoreFailed)
        self.reactor.instead.clear()
        await store.open()
        self.assertEqual(await store.devices(), [])

    async def test_writer_does_not_start(self) -> None:
        """When the writer cannot open the file, or dies, the store fails, leaves nothing, and can be opened later."""
        path = self.file(empty_database())
        lock = path.parent / "tills.db.lock"
        lock.mkdir()
        store = self.store(path)
        complaint = str(await self.refused(store.open(), StoreFailed))
        self.assertIn("Permission denied" if sys.platform == "win32" else "Is a directory", complaint)
        self.assertEqual((self.reactor.running, self.reactor.due), ([], []))
        lock.rmdir()
        self.reactor.instead[WRITER] = "raise SystemExit('no memory')"
        with capturedLogs() as told:
            complaint = str(await self.refused(store.open(), StoreFailed))
        self.assertEqual(complaint, "the process that writes the database ended")
        self.assertIn("no memory", str([event.get("text") for event in told]))
        self.assertEqual((self.reactor.running, self.reactor.due), ([], []))
        self.reactor.instead.clear()
        await store.open()
        self.assertEqual(await store.devices(), [])

    async def test_no_process(self) -> None:
        """Where the system starts no more processes the store fails, and can be opened later."""
        for content in (None, empty_database()):
            store = self.store(self.file(content))
            self.reactor.full = True
            self.assertIn("no more processes", str(await self.refused(store.open(), StoreFailed)))
        self.reactor.full = False
        await store.open()
        self.assertEqual(await store.devices(), [])


class OneServiceTests(_SqliteCase, TestCase):
    """A file has one service."""

    async def test_second_store(self) -> None:
        """A second store on the same file is refused, and the first one works on."""
        first = await self.opened_sqlite()
        second = self.store(self.path)
        self.reactor.instead[WRITER] = WITH_PATIENCE.format(seconds=0.1)
        complaint = str(await self.refused(second.open(), StoreFailed))
        self.assertTrue(complaint.startswith("another service uses this database"), complaint)
        await self.refused(second.settings(), StoreFailed)
        await first.change_settings({"a": b"1"})
        await first.close()
        await second.open()
        self.assertEqual(await second.settings(), {"a": b"1"})

    async def test_predecessor(self) -> None:
        """A store waits a while for the writer of its predecessor, which has still something to finish."""
        first = await self.opened_sqlite()
        second = self.store(self.path)
        self.reactor.instead[WRITER] = TELLING
        opening = _asked(second.open())
        await self.until(Path(f"{self.path}.waits").exists)
        self.assertNoResult(opening)
        await first.change_settings({"a": b"1"})
        await first.close()
        await opening
        self.assertEqual(await second.settings(), {"a": b"1"})

    async def test_closed_while_waiting(self) -> None:
        """A store that is closed while it waits for the file of another one does not wait for it to the end."""
        await self.opened_sqlite()
        second = self.store(self.path)
        self.reactor.instead[WRITER] = WITH_PATIENCE.format(seconds=60)
        opening = _asked(second.open()).addErrback(lambda reason: reason.trap(StoreFailed))
        await second.close()
        await opening
        self.assertEqual((self.reactor.running, self.reactor.due), ([], []))


class CloseTests(_SqliteCase, TestCase):
    """The orderly end."""

    async def test_reopened(self) -> None:
        """What was answered is there after close and open, in the same store and in another one."""
        store = await self.opened_sqlite()
        device = await store.add_device("id-1", "till", "register", "training", b"{}")
        n = (await store.reserve(intent(TILL, "a", paper(1)))).n
        await store.conclude(outcome(n, State.UNKNOWN, register_state=b"state"))
        for again in (store, self.store(self.path)):
            await store.close()
            store = again
            await store.open()
            self.assertEqual(self.reactor.started.count(MIGRATION), 0)
            self.assertEqual(await store.devices(), [device])
            self.assertEqual([known.n for known in await store.unresolved(None)], [n])
            self.assertEqual(await store.register_state(TILL), b"state")

    async def test_finishes(self) -> None:
        """Whatever was asked before the close is done and answered; then the one file holds everything."""
        store = await self.opened_sqlite()
        asked = [_asked(store.reserve(intent(TILL, f"tag {n}", paper(n, value=bytes(50_000))))) for n in range(100)]
        await store.close()
        reserved = [self.successResultOf(each).n for each in asked]
        self.assertEqual(self.reactor.running, [])
        store = self.store(self.file(self.path.read_bytes()))
        await store.open()
        self.assertEqual([known.n for known in await store.unresolved(None)], reserved)

    async def test_closed(self) -> None:
        """A store that is closed, or was never opened, fails every verb at once; closing it again is no mistake."""
        for opened in (False, True):
            store = await self.opened_sqlite() if opened else self.store(self.file())
            for _ in range(2):
                await store.close()
                self.failureResultOf(_asked(store.settings()), StoreFailed)
                self.failureResultOf(_asked(store.change_settings({"a": b"1"})), StoreFailed)
                self.assertEqual((self.reactor.running, self.reactor.due, store.writer_pid), ([], [], None))

    async def test_while_opening(self) -> None:
        """A store that is closed while it opens, with a migration or without, has no process afterwards."""
        for content in (None, empty_database()):
            store = self.store(self.file(content))
            opening = _asked(store.open()).addErrback(lambda reason: reason.trap(StoreFailed))
            self.assertEqual(len(self.reactor.running), 1)
            await store.close()
            await opening
            self.assertEqual((self.reactor.running, self.reactor.due), ([], []))
            self.assertEqual(len(self.reactor.started), 1)
            self.failureResultOf(_asked(store.settings()), StoreFailed)


class _Watching:
    """A reactor that only counts how often somebody begins or ends to wait for a file."""

    def __init__(self) -> None:
        self.told = 0

    def addWriter(self, file: object) -> None:
        """Somebody waits."""
        self.told += 1

    addReader = removeWriter = removeReader = addWriter


class _Way:
    """The way to a writer: Twisted's own end of a real pipe."""

    def __init__(self, test: SynchronousTestCase) -> None:
        self.reactor, self.pid, (self._out, into) = _Watching(), 1, os.pipe()
        os.set_blocking(self._out, False)
        self.pipes = {0: ProcessWriter(self.reactor, self, 0, into)}
        for end in (self._out, into):
            test.addCleanup(os.close, end)
        self.write = self.pipes[0].write

    def closeStdin(self) -> None:
        """No question will follow."""

    def arrived(self) -> bytes:
        """What has come out since."""
        parts = []
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self._out, 1 << 20):
                parts.append(part)
        return b"".join(parts)


@skipUnless(sys.platform != "win32", "processes have other pipes there")
class PortionTests(SynchronousTestCase):
    """When questions go out."""

    def setUp(self) -> None:
        """A writer that answers when the test says so."""
        self.clock, self.way, self.verb = Clock(), _Way(self), BY_NAME["settings"]
        self.writer = sqlite._Writer(print, print, self.clock.callLater)
        self.writer.transport = self.way  # type: ignore[assignment]

    def ask(self, count: int) -> int:
        """Ask so many questions; how many arrive before the reactor's next turn."""
        for _ in range(count):
            self.writer.ask(self.verb, ())
        return len(list(Deframer().feed(self.way.arrived())))

    def test_portions(self) -> None:
        """Whoever asks alone does not wait for the reactor; many that ask together go out in portions."""
        answer = pack({})
        self.assertEqual(self.ask(1), 1)
        self.writer.outReceived(frame(1, DONE, answer))
        self.assertEqual(self.ask(2), 2)
        self.writer.outReceived(frame(2, DONE, answer) + frame(3, DONE, answer))
        self.assertEqual(self.ask(sqlite.ENOUGH), sqlite.ENOUGH)
        self.assertEqual(self.ask(sqlite.ENOUGH - 1), 0)
        told = self.way.reactor.told
        self.assertEqual(self.ask(1), sqlite.ENOUGH)
        self.assertEqual(self.way.reactor.told - told, 1)

    def test_rest(self) -> None:
        """Questions that are not enough for a portion go out in the reactor's next turn, or when the store closes."""
        answer = pack({})
        self.ask(2)
        self.writer.outReceived(frame(1, DONE, answer) + frame(2, DONE, answer))
        self.assertEqual(self.ask(2), 0)
        self.clock.advance(0)
        self.assertEqual(self.ask(0), 2)
        self.assertEqual(self.ask(1), 0)
        self.writer.finish().send(None)
        self.assertEqual(self.ask(0), 1)
        self.clock.advance(0)
        self.assertEqual(self.ask(0), 0)

    def test_alone(self) -> None:
        """A lone question goes straight into the pipe: the reactor has nothing to wait for."""
        told = self.way.reactor.told
        self.assertEqual(self.ask(1), 1)
        # Once, to be told of a writer that has ended.
        self.assertEqual(self.way.reactor.told - told, 1)

    def test_full(self) -> None:
        """What a full pipe does not take goes when it does, each question once and in its place."""
        long = BY_NAME["change_settings"]
        arrived = b""
        for size in (1 << 20, 10, 1 << 18, 10):
            self.writer.ask(long, ({"a": bytes(size)}, None))
            arrived += self.way.arrived()
        while part := (self.way.pipes[0].doWrite(), self.way.arrived())[1]:
            arrived += part
        self.assertEqual([seq for seq, *_ in Deframer().feed(arrived)], [1, 2, 3, 4])

    def test_nobody_reads(self) -> None:
        """A question to a writer that has just ended is kept for the reactor, which will notice the end."""
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, self.way._out)
        os.close(nothing)
        due = self.writer.ask(self.verb, ())
        self.assertNoResult(due)
        self.assertTrue(self.way.pipes[0]._tempDataBuffer or self.way.pipes[0].dataBuffer)


class QueueTests(_SqliteCase, TestCase):
    """The one internal queue."""

    @promises("1.9b.1.2", "1.9b.1.3", "1.9b.1.4")
    async def test_one_queue(self) -> None:
        """Look-ups, edits of settings and receipts of any register are answered in the order in which they came."""
        store = await self.opened_sqlite()
        order: list[int] = []
        asked: list[Deferred[Any]] = []

        def ask(question: Awaitable[object]) -> None:
            asked.append(_asked(question).addCallback(note, len(asked)))

        def note(answer: object, position: int) -> object:
            order.append(position)
            return answer

        for turn in range(10):
            ask(store.reserve(intent(TILL, f"tag {turn}", paper(turn, value=bytes(30_000)))))
            ask(store.devices())
            ask(store.change_settings({"turn": b"%d" % turn}))
            ask(store.reserve(intent(TILL + 1, f"tag {turn}", paper(turn))))
            ask(store.unresolved(None))
            ask(store.settings())
        answers = await gatherResults(asked)
        self.assertEqual(order, list(range(60)))
        # Each look-up has seen all that was asked for before it, and nothing that came after.
        self.assertEqual([len(seen) for seen in answers[4::6]], list(range(2, 22, 2)))
        self.assertEqual([seen["turn"] for seen in answers[5::6]], [b"%d" % turn for turn in range(10)])

    async def test_lists_beside(self) -> None:
        """Lists stand beside the queue: each shows whatever was asked before it, and no receipt waits for it."""
        store = await self.opened_sqlite()
        asked: list[Deferred[Any]] = []
        for turn in range(1, 11):
            asked.append(_asked(store.reserve(intent(TILL, f"tag {turn}", paper(turn)))))
            asked.append(_asked(store.find_operations(OperationQuery())))
        answers = await gatherResults(asked)
        for turn, seen in enumerate(answers[1::2], 1):
            self.assertGreaterEqual(seen.total, turn)
            self.assertIn(f"tag {turn}", [row.key for row in seen.operations])

    async def test_closed_before_lists(self) -> None:
        """A store that is closed answers the lists that it was asked for."""
        store = await self.opened_sqlite()
        await self.operation(store, "sold", State.DONE, paper(1))
        asked = [_asked(store.find_operations(OperationQuery())) for _ in range(5)]
        await store.close()
        self.assertEqual([seen.total for seen in await gatherResults(asked)], [1] * 5)
        self.assertFalse(Path(f"{self.path}-wal").exists())

    async def test_given_up(self) -> None:
        """A caller who no longer waits does not disturb the answers of the others."""
        store = await self.opened_sqlite()
        first, second = _asked(store.reserve(intent(TILL, "a"))), _asked(store.settings())
        first.addErrback(lambda _: None)
        first.cancel()
        self.assertEqual(await second, {})
        self.assertEqual(len(await store.unresolved(None)), 1)

    async def test_signals(self) -> None:
        """Being asked to end, with the whole terminal or alone, the writer works on: the service decides."""
        store = await self.opened_sqlite()
        pid = store.writer_pid
        for signal in ("INT", "TERM"):
            self.reactor.running[0].signalProcess(signal)
            await store.change_settings({signal: b""})
        self.assertEqual(await store.settings(), {"INT": b"", "TERM": b""})
        self.assertEqual((store.writer_pid, self.reactor.started), (pid, [WRITER]))


class KilledTests(_SqliteCase, TestCase):
    """The writer dies by ``kill -9``."""

    async def test_many_questions(self) -> None:
        """Of many questions each is answered and durable, or has failed; none is half there, none waits for ever."""
        store = await self.opened_sqlite()
        meant = [intent(TILL, f"tag {n}", paper(n, value=bytes(20_000)), paper(1000 + n)) for n in range(300)]
        asked = [_asked(store.reserve(each)) for each in meant]
        asked[20].addCallback(self._kill)
        answers = await DeferredList(asked, consumeErrors=True)
        answered = {reserved.n: one for (done, reserved), one in zip(answers, meant, strict=True) if done}
        failed = [reason for done, reason in answers if not done]
        self.assertGreater(len(answered), 20)
        self.assertGreater(len(failed), 0)
        for reason in failed:
            assert isinstance(reason, Failure)
            reason.trap(StoreFailed)
        await self.until(lambda: self.reactor.due)
        self._restart()
        await self.until_answered(store)
        found = {known.n: known for known in await store.unresolved(None)}
        for n, one in answered.items():
            expected = row(n, one, State.INTENDED, *(kept(each, State.INTENDED) for each in one.documents))
            self.assertEqual(found[n], expected)
        self.assertEqual({len(known.documents) for known in found.values()}, {2})
        # A caller whose verb failed asks again and gets the one row that there is.
        again = [(await store.reserve(each)).n for each in meant]
        self.assertEqual(len(set(again)), 300)
        self.assertEqual([known.n for known in await store.unresolved(None)], sorted(again))
        self.assertTrue(set(found) <= set(again))

    def _kill(self, answer: object) -> object:
        self.reactor.running[0].signalProcess("KILL")
        return answer

    def _gave_up(self, starts: int) -> bool:
        """Whether so many writers were started and none of them runs."""
        return len(self.reactor.started) == starts and not self.reactor.running

    def _restart(self) -> None:
        """Let the pause before the next start be over."""
        (restart,) = self.reactor.due
        restart.reset(0)

    async def test_started_again(self) -> None:
        """The store starts its writer again without being reopened; meanwhile every verb fails at once."""
        store = await self.opened_sqlite()
        n = (await store.reserve(intent(TILL, "a", paper(1)))).n
        for turn in range(1, 3):
            before = store.writer_pid
            await self.reactor.kill()
            self.assertIs(store.writer_pid, None)
            self.failureResultOf(_asked(store.settings()), StoreFailed)
            self._restart()
            await self.until_answered(store)
            self.assertEqual(self.reactor.started, [WRITER] * (turn + 1))
            self.assertNotEqual(store.writer_pid, before)
            self.assertEqual((await store.reserve(intent(TILL, "a", paper(1)))).n, n)

    async def test_does_not_start(self) -> None:
        """A writer that cannot be started is tried again and again until it can."""
        store = await self.opened_sqlite()
        self.reactor.instead[WRITER] = "raise SystemExit(3)"
        await self.reactor.kill()
        for starts in (2, 3):
            self._restart()
            await self.until(self._gave_up, starts)
            self.failureResultOf(_asked(store.settings()), StoreFailed)
        self.reactor.instead.clear()
        self._restart()
        await self.until_answered(store)
        self.assertEqual(self.reactor.started, [WRITER] * 4)

    async def test_closed_while_starting(self) -> None:
        """A store that is closed while its writer starts again has no process afterwards."""
        store = await self.opened_sqlite()
        await self.reactor.kill()
        self._restart()
        await self.until(lambda: self.reactor.running)
        await store.close()
        self.assertEqual((self.reactor.running, self.reactor.due), ([], []))

    async def test_before_restart(self) -> None:
        """Closed when its writer has died a store starts no other one; opened again, then or at once, it has one."""
        store = await self.opened_sqlite()
        await self.reactor.kill()
        await store.close()
        self.assertEqual((self.reactor.running, self.reactor.due), ([], []))
        self.assertEqual(self.reactor.started, [WRITER])
        await store.open()
        await self.reactor.kill()
        await store.open()
        self.assertEqual((len(self.reactor.running), self.reactor.due), (1, []))
        self.assertEqual(self.reactor.started, [WRITER] * 3)

    async def test_killed_while_closing(self) -> None:
        """A close completes even when the writer is killed meanwhile; waiting callers get a failure."""
        store = await self.opened_sqlite()
        asked = [_asked(store.reserve(intent(TILL, f"tag {n}", paper(n, value=bytes(20_000))))) for n in range(300)]
        closing_store = _asked(store.close())
        self.reactor.running[0].signalProcess("KILL")
        await closing_store
        answers = await DeferredList(asked, consumeErrors=True)
        for reason in [found for _, found in answers if isinstance(found, Failure)]:
            self.assertIsInstance(reason.value, StoreFailed)
        # The first may have been answered before the kill.
        self.assertFalse(all(done for done, _ in answers))
        self.assertEqual((self.reactor.running, self.reactor.due), ([], []))
        self.assertEqual(self.reactor.started, [WRITER])


class DamageTests(_SqliteCase, TestCase):
    """A file that others have had their hands on."""

    async def test_damaged_page(self) -> None:
        """Where the file is damaged verbs fail, the rest of it is served, and the writer lives on."""
        store = await self.opened_sqlite()
        await store.close()
        with closing(sqlite3.connect(self.path)) as database:
            (page,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'device'").fetchone()
            (size,) = database.execute("PRAGMA page_size").fetchone()
        with self.path.open("r+b") as file:
            file.seek((page - 1) * size)
            file.write(b"\xff" * size)
        before = self.path.read_bytes()
        damage = str(await self.refused(store.open(), StoreDamaged))
        self.assertIn("malformed", damage)
        await store.open_damaged(damage)
        self.assertEqual(str(await self.refused(store.devices(), StoreFailed)), "database disk image is malformed")
        for asked in (
            store.add_device("id-2", "prn", "printer", "training", b"{}"),
            store.change_settings({"a": b"1"}),
            store.find(TILL, "fiscal", "never sold"),
        ):
            self.assertEqual(str(await self.refused(asked, StoreFailed)), damage)
        self.assertEqual(await store.settings(), {})
        # Lists are read too, though no till would wait for them.
        self.assertEqual((await store.find_operations(OperationQuery())).total, 0)
        await store.close()
        self.assertEqual(self.path.read_bytes(), before)

    async def test_damaged_while_open(self) -> None:
        """A large file is looked at while it is used; from the first broken page on it is only read."""
        self.patch(sqlite, "SMALL", 0)
        self.patch(sqlite, "LOOK_AFTER", 0)
        store = await self.opened_sqlite()
        await store.change_settings({"a": b"1"})
        await self.until(lambda: self.reactor.started == [WRITER, LOOK] and self.reactor.running[1:] == [])
        self.assertEqual(store.damage, "")
        await store.close()
        await store.open()
        with self.path.open("r+b") as file:
            file.seek(3 * 4096)
            file.write(b"\xff" * 4096)
        await self.until(lambda: bool(store.damage))
        self.assertIn("malformed", store.damage)
        await self.refused(store.change_settings({"a": b"2"}), StoreFailed)
        self.assertEqual(await store.settings(), {"a": b"1"})

    async def test_damage_told_by_a_question(self) -> None:
        """A question that meets a broken page is enough: nothing is written from then on."""
        store = await self.opened_sqlite()
        self.reactor.instead[WRITER] = BROKEN_PAGES
        await store.close()
        await store.open()
        await self.refused(store.devices(), StoreFailed)
        self.assertIn("malformed", store.damage)
        self.assertEqual(str(await self.refused(store.change_settings({"a": b"2"}), StoreFailed)), store.damage)

    @skipUnless(sys.platform == "linux", "only Linux can limit the files of another process")
    async def test_full_at_start(self) -> None:
        """Where the disk takes nothing at the start the file is read; with room again it is opened as ever."""
        store = await self.opened_sqlite()
        await store.change_settings({"a": b"1"})
        await store.close()
        self.reactor.instead[WRITER] = NO_ROOM
        damage = str(await self.refused(store.open(), StoreDamaged))
        await store.open_damaged(damage)
        self.assertEqual(await store.settings(), {"a": b"1"})
        self.assertEqual(str(await self.refused(store.change_settings({"a": b"2"}), StoreFailed)), damage)
        await store.close()
        self.reactor.instead.clear()
        again = self.store(self.path)
        await again.open()
        await again.change_settings({"a": b"2"})

    @skipUnless(hasattr(os, "seteuid"), "needs rights as POSIX has them")
    async def test_no_rights(self) -> None:
        """A file that others may write and we may not is only read; the first sale does not fail because of it."""
        # A folder that everyone can enter: the folders of a test may be closed to others.
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name, "tills.db")
        path.write_bytes(empty_database())
        store = self.store(path)
        await store.open()
        await store.change_settings({"a": b"1"})
        await store.close()
        for file, mode in ((path, 0o444), (Path(f"{path}.lock"), 0o666), (path.parent, 0o777)):
            file.chmod(mode)
        self.reactor.instead[WRITER] = AS_NOBODY
        damage = str(await self.refused(store.open(), StoreDamaged))
        self.assertIn("readonly database", damage)
        await store.open_damaged(damage)
        self.assertEqual(await store.settings(), {"a": b"1"})
        self.assertEqual(str(await self.refused(store.change_settings({"a": b"2"}), StoreFailed)), damage)

    async def test_emptied(self) -> None:
        """A file that lost its content is not a new one: its registers would restart their numbers."""
        store = await self.opened_sqlite()
        await store.close()
        self.path.write_bytes(b"")
        self.assertIn("is empty", str(await self.refused(store.open(), StoreDamaged)))
        self.assertEqual(self.path.read_bytes(), b"")

    async def test_emptied_by_a_link(self) -> None:
        """A file that is called by a link, and lost all it had, is no new one either."""
        store = await self.opened_sqlite()
        await store.close()
        link = self.path.with_name("link.db")
        link.symlink_to(self.path)
        linked = self.store(link)
        self.path.write_bytes(b"")
        self.assertIn("is empty", str(await self.refused(linked.open(), StoreDamaged)))

    async def test_log_stays(self) -> None:
        """A damaged file whose writer was killed stays as it is, to the last byte, and so does its log."""
        store = await self.opened_sqlite()
        await store.close()
        await store.open()
        await store.change_settings({"a": b"1"})
        assert store.writer_pid is not None
        os.kill(store.writer_pid, 9)
        await store.close()
        with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            (page,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'device'").fetchone()
        log = Path(f"{self.path}-wal")
        whole = self.path.read_bytes()
        # A page in the middle, and the one by which a file is known.
        for place in ((page - 1) * 4096, 0):
            self.path.write_bytes(whole[:place] + b"\xff" * 4096 + whole[place + 4096 :])
            before = self.path.read_bytes(), log.read_bytes()
            self.assertTrue(before[1])
            await self.refused(self.store(self.path).open(), StoreDamaged)
            # Not compared byte by byte, which would take minutes.
            self.assertTrue((self.path.read_bytes(), log.read_bytes()) == before)

    async def test_log_not_passed_over(self) -> None:
        """A damaged file is not read without its log: the newest receipts are there alone."""
        store = await self.opened_sqlite()
        await store.change_settings({"a": b"1"})
        assert store.writer_pid is not None
        os.kill(store.writer_pid, 9)
        await store.close()
        log = Path(f"{self.path}-wal")
        self.assertTrue(log.stat().st_size)
        other = self.store(self.path)
        self.path.write_bytes(b"letter" + self.path.read_bytes()[6:])
        damage = str(await self.refused(other.open(), StoreDamaged))
        await other.open_damaged(damage)
        await self.refused(other.settings(), StoreFailed)


@skipUnless(sys.platform == "linux", "only Linux can limit the files of another process")
class FullDiskTests(_SqliteCase, TestCase):
    """No more bytes for the file."""

    def _limit(self, store: SqliteStore, size: int | None) -> None:
        """Let the writer make no file longer than ``size``."""
        assert sys.platform == "linux" and store.writer_pid is not None
        import resource

        unlimited = resource.RLIM_INFINITY
        limit = unlimited if size is None else size
        resource.prlimit(store.writer_pid, resource.RLIMIT_FSIZE, (limit, unlimited))

    async def _full(self) -> SqliteStore:
        """A store with a setting, a receipt and not a byte more."""
        store = await self.opened_sqlite()
        await store.change_settings({"a": b"1"})
        await self.operation(store, "sold", State.DONE, paper(1))
        self._limit(store, os.path.getsize(f"{self.path}-wal"))
        return store

    async def test_writes_fail(self) -> None:
        """Without space every verb that writes fails, and nothing of it is there afterwards."""
        store = await self._full()
        for asked in (
            store.change_settings({"a": b"2"}),
            store.reserve(intent(TILL, "b", paper(2))),
            store.add_device("id-1", "till", "register", "training", b"{}"),
            store.change_settings({"b": bytes(1_000_000)}),
        ):
            await self.refused(asked, StoreFailed)
        self.assertEqual(await store.settings(), {"a": b"1"})
        self.assertEqual(await store.unresolved(None), [])
        self.assertEqual(await store.devices(), [])

    async def test_reads_beside_writes(self) -> None:
        """Without space a till that asks what became of its receipt is answered, also among receipts of others."""
        store = await self._full()
        writes, reads = [], []
        for n in range(20):
            writes.append(_asked(store.reserve(intent(TILL, f"tag {n}", paper(10 + n)))))
            reads.append(_asked(store.find(TILL, "fiscal", "sold")))
        for done, reason in await DeferredList(writes, consumeErrors=True):
            self.assertFalse(done)
            assert isinstance(reason, Failure)
            reason.trap(StoreFailed)
        for found in await gatherResults(reads):
            assert found is not None
            self.assertEqual((found.key, found.answer), ("sold", b"{}"))

    async def test_space_again(self) -> None:
        """When there is space again everything works, without a restart of anything."""
        store = await self._full()
        await self.refused(store.change_settings({"a": b"2"}), StoreFailed)
        self._limit(store, None)
        await store.change_settings({"a": b"3"})
        n = (await store.reserve(intent(TILL, "b", paper(2)))).n
        self.assertEqual(self.reactor.started, [WRITER])
        await store.close()
        await store.open()
        self.assertEqual(await store.settings(), {"a": b"3"})
        self.assertEqual([known.n for known in await store.unresolved(None)], [n])
