"""The register's end of a line on which commands bear numbers: for simulators, and for the service as a register."""

from __future__ import annotations

from typing import ClassVar

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from protocols.registers.datecs.frames import DatecsFrame, Deframer
from protocols.registers.numbered import Sign
from protocols.registers.numbered_device import DeviceEnd, Played

STATUS = b"\x80" * 6


class End(DeviceEnd[DatecsFrame]):
    """A register that is told when it is done."""

    signs: ClassVar = {Sign.REFUSED: b"\x15", Sign.BUSY: b"\x16"}

    def __init__(self, clock: Clock, played: Played, running: list[Deferred[bytes]]) -> None:
        super().__init__(clock, Deframer(), played)
        self.running = running

    def execute(self, frame: DatecsFrame) -> Deferred[bytes]:
        """Begin."""
        due = Deferred[bytes]()
        self.running.append(due)
        return due


class DeviceEndTests(SynchronousTestCase):
    """Numbers, signs, lost lines."""

    def setUp(self) -> None:
        self.clock, self.played = Clock(), Played()
        self.running: list[Deferred[bytes]] = []
        self.end, self.transport = self.line()

    def line(self) -> tuple[End, StringTransport]:
        """Another line to the same register."""
        end, transport = End(self.clock, self.played, self.running), StringTransport()
        end.makeConnection(transport)
        return end, transport

    def ask(self, number: int = 0x20, code: int = 0x65) -> bytes:
        """A command comes; the frame of its answer, which is not sent yet."""
        self.end.dataReceived(DatecsFrame(number, code, b"000000;").encode())
        return DatecsFrame(number, code, b"0000;1;", STATUS).encode()

    def test_slow(self) -> None:
        """Busy signals every 60 ms until it is done, then the answer, then nothing."""
        answer = self.ask()
        self.clock.pump([0.06] * 10)
        self.assertEqual(self.transport.value(), b"\x16" * 11)
        self.transport.clear()
        self.running[0].callback(answer)
        self.clock.pump([0.06] * 10)
        self.assertEqual((self.transport.value(), self.clock.getDelayedCalls()), (answer, []))

    def test_again(self) -> None:
        """The same number is answered again and not executed, whatever it carries, on any line."""
        answer = self.ask()
        self.running[0].callback(answer)
        self.ask(code=0x64)
        self.end, transport = self.line()
        self.ask()
        self.assertEqual((len(self.running), transport.value()), (1, answer))
        self.ask(number=0x21)
        self.assertEqual(len(self.running), 2)

    def test_while_running(self) -> None:
        """A command that comes while another runs is not executed, and the same one not twice."""
        self.ask()
        self.ask()
        self.ask(number=0x21)
        self.assertEqual(len(self.running), 1)

    def test_taken_over(self) -> None:
        """A running command that comes again on another line is answered there, with busy signals until then."""
        answer = self.ask()
        self.end, transport = self.line()
        self.ask()
        self.transport.clear()
        self.clock.pump([0.06, 0.06])
        self.running[0].callback(answer)
        self.assertEqual((self.transport.value(), transport.value()), (b"", b"\x16" * 3 + answer))
        self.assertEqual((len(self.running), self.clock.getDelayedCalls()), (1, []))

    def test_damaged(self) -> None:
        """A damaged command is asked for again; noise is not."""
        frame = DatecsFrame(0x20, 0x65, b"000000;").encode()
        self.end.dataReceived(frame[:-2] + b"?\x03")
        self.end.dataReceived(b"noise\x15")
        self.assertEqual((self.transport.value(), self.running), (b"\x15", []))

    def test_lost(self) -> None:
        """A command whose line breaks goes on; the next line gets its answer for the same number."""
        answer = self.ask()
        self.end.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.running[0].callback(answer)
        self.end, transport = self.line()
        self.ask()
        self.assertEqual((len(self.running), transport.value()), (1, answer))

    def test_failed(self) -> None:
        """A command that fails has no answer, and the same number is executed again."""
        self.ask()
        self.running[0].errback(ValueError("no"))
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.ask()
        self.assertEqual(len(self.running), 2)
