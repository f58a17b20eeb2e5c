"""The pipe to the process of the BPOS1 library: its lines, the library behind them, and the process itself."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessTerminated
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.system.environment import environment
from dmtwisted.terminals.bpos1.process import GRACE, LibraryProcess
from protocols.errors import Garbled, LineLost, Silent
from protocols.simulators.bpos1 import Bpos1Device, Bpos1Library
from protocols.simulators.terminal import Terminal
from protocols.terminals.bpos1 import child
from protocols.terminals.bpos1 import messages as bpos1
from protocols.terminals.bpos1.library import BEAT, SETTLING, Library
from protocols.terminals.bpos1.messages import (
    LONGEST,
    Call,
    Lines,
    Said,
    line_of,
    read_call,
    read_said,
    readable,
)
from protocols.terminals.bpos1.protocol import Bpos1Line, NoLibrary, Pace
from tests.terminal_matrix import shows

GOLDEN: tuple[tuple[Call | Said, bytes], ...] = (
    (
        Call(2, "CommOpenTCP", ["192.0.2.1", "2000"]),
        b'{"n":2,"call":"CommOpenTCP","given":["192.0.2.1","2000"]}\n',
    ),
    (
        Call(5, "Purchase", [12550, 0, 1], ["RRN", "Amount"]),
        b'{"n":5,"call":"Purchase","given":[12550,0,1],"read":["RRN","Amount"]}\n',
    ),
    (Call(5, "Cancel", at_once=True), b'{"n":5,"call":"Cancel","at_once":true}\n'),
    (Said(version="1.10.5.8"), b'{"version":"1.10.5.8"}\n'),
    (Said(absent="no", reason="unregistered"), b'{"absent":"no","reason":"unregistered"}\n'),
    (Said(5, status=9, text="Картка"), '{"n":5,"status":9,"text":"Картка"}\n'.encode()),
    (Said(5, result=0, values={"Amount": 12550}), b'{"n":5,"result":0,"values":{"Amount":12550}}\n'),
    (
        Said(5, result=1, error=4, text="no", values={"ResponseCode": 51}),
        b'{"n":5,"text":"no","result":1,"error":4,"values":{"ResponseCode":51}}\n',
    ),
    (Said(5, failed="com_error: gone"), b'{"n":5,"failed":"com_error: gone"}\n'),
)
"""Lines as docs/reference/bpos1.md has them."""


class LineTests(SynchronousTestCase):
    """Lines and what they mean."""

    wire = "bpos1"

    def test_golden(self) -> None:
        """Each line is written and read as it stands in the reference."""
        for message, line in GOLDEN:
            self.assertEqual(line_of(message), line)
            read = read_call if isinstance(message, Call) else read_said
            self.assertEqual(read(line.strip()), message)

    @shows("golden frames")
    def test_cut_everywhere(self) -> None:
        """Lines are found whole wherever the bytes between them are cut."""
        lines = [line for _, line in GOLDEN]
        whole = b"".join(lines)
        for cut in range(len(whole) + 1):
            feed = Lines()
            found = [*feed.feed(whole[:cut]), *feed.feed(whole[cut:])]
            self.assertEqual(found, [line[:-1] for line in lines])

    def test_endless(self) -> None:
        """A line without an end is given up before it fills the memory."""
        feed = Lines()
        with self.assertRaises(Garbled):
            for _ in range(LONGEST // 1000 + 2):
                list(feed.feed(b"7" * 1000))

    def test_no_line(self) -> None:
        """What is no line of ours is refused at both ends; the process calls and reads only what it knows."""
        for line in (b"", b"{", b"[]", b'{"n":"1"}', b"\xff"):
            self.assertRaises(Garbled, read_said, line)
        for line in (b'{"n":1,"call":"useLogging"}', b'{"n":1,"call":"Ping","read":["Track3"]}', b"x"):
            self.assertRaises(ValueError, read_call, line)

    def test_letters(self) -> None:
        """A text that was taken for Western letters is Cyrillic again; others stay as they are."""
        for text in ("СЛІП ї Є Ґ", "Сума 1.00 № 5"):
            for taken in ("cp1252", "latin-1"):
                self.assertEqual(readable(text.encode("cp1251").decode(taken, "replace")).replace("\ufffd", ""), text)
            self.assertEqual(readable(text), text)
        self.assertEqual((readable("SLIP 1"), readable("")), ("SLIP 1", ""))
        self.assertEqual(readable("\u4e2d"), "\u4e2d")


class LibraryTests(SynchronousTestCase):
    """A call of the library, looked at until its end."""

    def setUp(self) -> None:
        """A simulated library, its port open."""
        self.clock = Clock()
        self.terminal = Terminal(self.clock, duration=8.0)
        self.device = Bpos1Device(self.terminal, self.clock)
        self.com = Bpos1Library(self.device)
        self.com.CommOpenTCP("192.0.2.1", "2000")
        self.said: list[Said] = []
        self.library = Library(self.com, self.said.append, self.clock.seconds)

    def looked(self, seconds: float) -> list[Said]:
        """What is said while time passes."""
        self.said.clear()
        for _ in range(round(seconds * 10)):
            self.library.look()
            self.clock.advance(0.1)
        return list(self.said)

    def test_statuses(self) -> None:
        """Each change is said with its words, a heartbeat in between, and at the end what was to be read."""
        self.terminal.duration = 20.0
        self.library.take(Call(1, "Purchase", [100, 0, 1], ["RRN", "Amount"]))
        said = self.looked(25)
        states = [one.status for one in said if one.text]
        self.assertEqual(states, [9, 1, 6, 3, 5])
        self.assertGreaterEqual(sum(one.status is not None for one in said), 20 / BEAT)
        end = said[-1]
        self.assertEqual((end.result, end.number("Amount")), (0, 100))
        self.assertEqual(end.words("RRN"), self.terminal.entries()[-1].number)

    def test_stale(self) -> None:
        """The result of the call before is not taken for this one's, for a moment."""
        self.device.stale = ("Purchase", SETTLING - 0.05)
        self.library.take(Call(1, "Purchase", [100, 0, 1], ["Amount"]))
        said = self.looked(10)
        self.assertEqual((said[0].status, said[-1].result, said[-1].number("Amount")), (9, 0, 100))

    def test_at_once(self) -> None:
        """Cancel acts on the call that works, and has no end of its own."""
        self.library.take(Call(1, "Purchase", [100, 0, 1]))
        self.looked(0.5)
        self.library.take(Call(1, "Cancel", at_once=True))
        said = self.looked(1)
        self.assertEqual(
            [(one.n, one.result, one.error, one.number("ResponseCode")) for one in said], [(1, 1, 4, 1001)]
        )

    def test_raises(self) -> None:
        """An exception of the library ends the call, whether it is called or looked at."""

        class Broken:
            """A library that fails."""

            def Ping(self) -> None:
                """Nothing."""

            @property
            def LastResult(self) -> int:
                raise OSError("RPC server is gone")

        library = Library(Broken(), self.said.append, self.clock.seconds)
        library.take(Call(1, "Purchase"))
        library.take(Call(2, "Ping"))
        library.look()
        library.look()
        self.assertEqual([(one.n, (one.failed or "")[:7]) for one in self.said], [(1, "Attribu"), (2, "OSError")])

    def test_unconfirmed(self) -> None:
        """The simulated terminal cancels what is not confirmed when the next operation comes."""
        self.terminal.duration = 0
        self.com.Purchase(100, 0, 1)
        self.assertEqual((self.com.LastResult, self.com.TrnStatus), (0, bpos1.APPROVED))
        self.com.Purchase(200, 0, 1)
        self.com.Confirm()
        self.assertEqual(self.com.LastResult, 0)
        self.com.Confirm()
        self.assertEqual((self.com.LastResult, self.com.LastErrorCode), (1, 4))
        self.com.GetTxnNum()
        self.assertEqual(self.com.TxnNum, 2)
        self.com.GetTxnDataByOrder(1)
        self.assertEqual((self.com.TxnType, self.com.TrnStatus, self.com.Amount), (1, bpos1.TAKEN_BACK, 100))
        self.com.GetTxnDataByOrder(3)
        self.assertEqual((self.com.LastResult, self.com.LastErrorCode), (1, 4))
        closed = Bpos1Library(self.device)
        closed.Ping()
        self.assertEqual((closed.LastResult, closed.LastErrorCode), (1, 2))


class ProtocolTests(SynchronousTestCase):
    """The service's end of the pipe."""

    def setUp(self) -> None:
        """A process that has just started."""
        self.clock = Clock()
        self.line = Bpos1Line(self.clock, Pace())
        self.transport = StringTransport()
        self.line.makeConnection(self.transport)

    def say(self, *said: Said) -> None:
        """The process says something."""
        self.line.dataReceived(b"".join(map(line_of, said)))

    def ready(self) -> None:
        """The library is loaded."""
        due = self.line.ready()
        self.say(Said(version="1"))
        self.successResultOf(due)

    def test_absent(self) -> None:
        """A process without the library says why."""
        due = self.line.ready()
        self.say(Said(absent="class not registered", reason="unregistered"))
        error = self.failureResultOf(due, NoLibrary).value
        self.assertEqual((error.kind, error.reason), ("unregistered", "class not registered"))

    def test_never_ready(self) -> None:
        """A process that does not load the library is killed after its time."""
        due = self.line.ready()
        self.clock.advance(Pace().start - 0.01)
        self.assertNoResult(due)
        self.clock.advance(0.02)
        self.failureResultOf(due, Silent)
        self.assertTrue(self.transport.disconnected)

    def test_progress_and_end(self) -> None:
        """Statuses go to the listener, the end to the one who waits; nothing of another call does."""
        self.ready()
        seen: list[Any] = []
        due = self.line.call("Purchase", 100, 0, 1, patience=60, progress=seen.append)
        self.say(Said(1, result=0), Said(version="1"), Said(2, status=9, text="x"), Said(3, status=5))
        self.assertNoResult(due)
        self.assertEqual([said.status for said in seen], [9])
        self.say(Said(2, result=0, values={"Amount": 100}))
        self.assertEqual(self.successResultOf(due).number("Amount"), 100)
        self.say(Said(2, result=0))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_mute(self) -> None:
        """A call without a heartbeat is given up, with whether the terminal had taken it; the process is killed."""
        for taken in (False, True):
            self.setUp()
            self.ready()
            due = self.line.call("Purchase", 100, 0, 1, patience=60)
            for _ in range(3):
                self.clock.advance(Pace().mute - 0.01)
                self.say(Said(2, status=9 if taken else 0))
            self.assertNoResult(due)
            self.clock.advance(Pace().mute + 0.01)
            self.assertEqual(self.failureResultOf(due, Silent).value.taken, taken)
            self.assertTrue(self.transport.disconnected)
            self.failureResultOf(self.line.call("Ping"), LineLost)

    def test_deadline(self) -> None:
        """Heartbeats prolong nothing."""
        self.ready()
        due = self.line.call("Purchase", patience=30)
        for _ in range(29):
            self.clock.advance(1)
            self.say(Said(2, status=9))
        self.assertNoResult(due)
        self.clock.advance(1.01)
        self.failureResultOf(due, Silent)

    def test_ends(self) -> None:
        """The end of the process, noise, an exception of the library and a caller who gives up end the call."""
        self.ready()
        due = self.line.call("Ping")
        self.line.connectionLost(Failure(ProcessTerminated(3)))
        self.failureResultOf(due, LineLost)
        for said, error in ((b"panic!\n", Garbled), (line_of(Said(2, failed="com_error")), LineLost)):
            self.setUp()
            self.ready()
            due = self.line.call("Ping")
            self.line.dataReceived(said)
            self.failureResultOf(due, error)
            self.assertTrue(self.transport.disconnected)
        self.setUp()
        self.ready()
        due = self.line.call("Ping")
        due.cancel()
        self.failureResultOf(due, LineLost)
        self.assertTrue(self.transport.disconnected)


class _Pipes:
    """What the service has of a process."""

    def __init__(self) -> None:
        self.written, self.signals, self.closed = b"", 0, False

    def write(self, data: bytes) -> None:
        """To its input."""
        self.written += data

    def closeStdin(self) -> None:
        """The end of its input."""
        self.closed = True

    def signalProcess(self, name: str) -> None:
        """It is killed."""
        self.signals += name == "KILL"


class ProcessTests(SynchronousTestCase):
    """The process: as a line, and from within."""

    def test_line(self) -> None:
        """A line that is closed lets the process end, and kills it when it does not; one that is dropped kills it."""
        clock = Clock()
        line = Bpos1Line(clock)
        process, pipes = LibraryProcess(clock, line), _Pipes()
        process.makeConnection(pipes)
        ready: Deferred[Said] = line.ready()
        process.outReceived(line_of(Said(version="1")))
        self.successResultOf(ready)
        process.errReceived(b"words of the library\n")
        process.loseConnection()
        process.loseConnection()
        clock.advance(GRACE - 0.1)
        self.assertEqual((pipes.closed, pipes.signals), (True, 0))
        clock.advance(0.2)
        self.assertEqual(pipes.signals, 1)
        process.processEnded(Failure(ProcessTerminated(1)))
        self.successResultOf(line.lost)

    def test_serves(self) -> None:
        """The process calls the library until its input ends; then it closes the port."""

        class Com:
            """A library that is done at once."""

            LastResult, called = 0, ""

            def Ping(self) -> None:
                """Called."""
                self.called += "ping "

            def CommClose(self) -> None:
                """Closed."""
                self.called += "closed"

        said: list[Said] = []
        pumped: list[int] = []
        com = Com()
        commands = io.BytesIO(line_of(Call(1, "Ping")))
        child.serve(commands, said.append, com, lambda: pumped.append(1))
        self.assertEqual(com.called, "ping closed")
        self.assertTrue(pumped)

    def test_absent(self) -> None:
        """Started on a system without the library, it says so in one line and ends."""
        command = [sys.executable, "-m", "protocols.terminals.bpos1.child"]
        done = subprocess.run(command, input=b"", capture_output=True, env=environment(), timeout=60, check=False)
        said = json.loads(done.stdout)
        self.assertEqual(done.returncode, 1)
        wanted = child.UNREGISTERED if sys.platform == "win32" else child.NO_WINDOWS
        self.assertEqual(said["reason"], wanted)
