"""A line on which commands bear numbers: repeats, signs, deadlines, lines cut at every byte."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, NotReached, Silent
from protocols.registers.datecs.frames import DatecsFrame
from protocols.registers.datecs.link import PATIENCE, DatecsLink, numbers
from protocols.registers.numbered import MOST_NOISE, Numbers
from protocols.registers.troubles import NotTaken

NAK, SYN = b"\x15", b"\x16"
STATUS = b"\x80\x80\x80\x80\x91\x88"


class LinkTests(SynchronousTestCase):
    """The till's end of a line to a Datecs register."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.numbers = numbers()
        self.link, self.transport = self.line()

    def line(self) -> tuple[DatecsLink, StringTransport]:
        """A new line to the same register."""
        link, transport = DatecsLink(self.clock, self.numbers), StringTransport()
        link.makeConnection(transport)
        return link, transport

    def ask(self, limit: float = 5.0) -> tuple[Deferred[DatecsFrame], DatecsFrame, bytes]:
        """Ask for the state: what waits, the answer that is due, and what was sent."""
        self.transport.clear()
        due = self.link.ask(0xA0, b"000000;", limit)
        return due, DatecsFrame(self.numbers.used, 0xA0, b"0000;", STATUS), self.transport.value()

    def test_answer(self) -> None:
        """An answer in pieces of any size ends the wait, and no timer is left."""
        due, answer, sent = self.ask()
        self.assertEqual(sent, DatecsFrame(0x20, 0xA0, b"000000;").encode())
        for byte in answer.encode():
            self.assertNoResult(due)
            self.link.dataReceived(bytes([byte]))
        self.assertEqual((self.successResultOf(due), self.clock.getDelayedCalls()), (answer, []))

    def test_numbers(self) -> None:
        """Every command has the next number; after the last comes the first."""
        for expected in (*range(0x20, 0x80), 0x20):
            due, answer, sent = self.ask()
            self.link.dataReceived(answer.encode())
            self.assertEqual((self.successResultOf(due).number, sent[2]), (expected, expected))
        self.assertEqual(Numbers(1, 3, used=7).next, 1)

    def test_silence(self) -> None:
        """The same bytes go out again every 500 ms, four times in all; then the outcome is unknown."""
        due, _, sent = self.ask()
        for copies in (1, 2, 3, 4):
            self.clock.advance(0.499)
            self.assertNoResult(due)
            self.assertEqual(self.transport.value(), sent * copies)
            self.clock.advance(0.001)
        error = self.failureResultOf(due, Silent).value
        self.assertEqual((error.taken, self.transport.value()), (False, sent * 4))
        self.assertFalse(self.transport.disconnecting)

    def test_refused(self) -> None:
        """After NAK the same bytes go out at once; a command refused four times did nothing."""
        due, _, sent = self.ask()
        for copies in (2, 3, 4):
            self.link.dataReceived(NAK)
            self.assertEqual(self.transport.value(), sent * copies)
        self.assertNoResult(due)
        self.link.dataReceived(NAK)
        self.failureResultOf(due, NotTaken)

    def test_refused_after_silence(self) -> None:
        """When one copy met silence, NAK to the others proves nothing."""
        due, _, _ = self.ask()
        self.clock.advance(0.5)
        self.link.dataReceived(NAK * 3)
        self.failureResultOf(due, Silent)

    def test_busy(self) -> None:
        """Busy signals make the wait for the next byte start again, and never the whole limit."""
        due, _, sent = self.ask(limit=120)
        for _ in range(2000):
            self.clock.advance(0.0599)
            self.link.dataReceived(SYN)
        self.assertNoResult(due)
        self.assertEqual(self.transport.value(), sent)
        self.clock.advance(0.3)
        self.assertTrue(self.failureResultOf(due, Silent).value.taken)

    def test_busy_then_answer(self) -> None:
        """Thousands of busy signals at once stand before an answer."""
        due, answer, _ = self.ask()
        self.link.dataReceived(SYN * 3000 + answer.encode())
        self.assertEqual(self.successResultOf(due), answer)

    def test_busy_then_silent(self) -> None:
        """After busy signals that end, the bytes go out again, and the register repeats its answer."""
        due, answer, sent = self.ask()
        self.link.dataReceived(SYN)
        self.clock.advance(0.5)
        self.assertEqual(self.transport.value(), sent * 2)
        self.link.dataReceived(answer.encode())
        self.successResultOf(due)

    def test_cut_at_every_byte(self) -> None:
        """An answer that stops at any byte is asked for again, and the repeated one is read."""
        whole = DatecsFrame(0x20, 0xA0, b"0000;", STATUS).encode()
        for cut in range(len(whole)):
            due, answer, sent = self.ask()
            self.link.dataReceived(answer.encode()[:cut])
            self.clock.advance(0.5)
            self.assertEqual(self.transport.value(), sent * 2)
            self.link.dataReceived(answer.encode())
            self.assertEqual(self.successResultOf(due), answer)

    def test_damaged_at_every_byte(self) -> None:
        """An answer with any byte damaged is asked for again, and never taken for another."""
        whole = DatecsFrame(0x20, 0xA0, b"0000;", STATUS).encode()
        for place in range(len(whole)):
            for bit in (0x01, 0x10, 0x80):
                due, answer, sent = self.ask()
                raw = answer.encode()
                self.link.dataReceived(raw[:place] + bytes([raw[place] ^ bit]) + raw[place + 1 :])
                self.assertNoResult(due)
                self.clock.advance(0.5)
                self.assertIn(sent * 2, self.transport.value())
                self.link.dataReceived(answer.encode())
                self.assertEqual(self.successResultOf(due), answer)

    def test_slow_bytes(self) -> None:
        """Each byte of an answer makes the wait for the next one start again."""
        due, answer, sent = self.ask(limit=60)
        for byte in answer.encode():
            self.clock.advance(0.499)
            self.link.dataReceived(bytes([byte]))
        self.assertEqual((self.successResultOf(due), self.transport.value()), (answer, sent))

    def test_line_lost_at_every_byte(self) -> None:
        """A line that breaks at any byte of an answer fails the command at once."""
        whole = DatecsFrame(0x20, 0xA0, b"0000;", STATUS).encode()
        for cut in range(len(whole)):
            self.link, self.transport = self.line()
            due, answer, _ = self.ask()
            self.link.dataReceived(answer.encode()[:cut])
            self.link.connectionLost(Failure(ConnectionLost()))
            self.failureResultOf(due, LineLost)
            self.assertEqual(self.clock.getDelayedCalls(), [])
            self.failureResultOf(self.link.ask(0xA0, b"", 1), NotReached)
            self.successResultOf(self.link.lost)

    def test_late(self) -> None:
        """The answer to a command that was given up is not taken for that to the next."""
        first, late, _ = self.ask(limit=0.3)
        self.clock.advance(0.3)
        self.failureResultOf(first, Silent)
        second, answer, _ = self.ask()
        self.link.dataReceived(late.encode())
        self.assertNoResult(second)
        self.link.dataReceived(answer.encode())
        self.assertEqual(self.successResultOf(second), answer)

    def test_cancelled(self) -> None:
        """A cancelled command leaves no timer, and its answer is not taken for that to the next."""
        due, late, _ = self.ask()
        due.addErrback(lambda _: None)
        due.cancel()
        self.assertEqual(self.clock.getDelayedCalls(), [])
        second, _, _ = self.ask()
        self.link.dataReceived(late.encode())
        self.assertNoResult(second)

    def test_answer_to_another(self) -> None:
        """An answer with our number and another command's code proves nothing."""
        due, answer, _ = self.ask()
        self.link.dataReceived(DatecsFrame(answer.number, 0x65, b"0000;47;", STATUS).encode())
        self.failureResultOf(due, Garbled)

    def test_greeting(self) -> None:
        """The first answer on a line may be an old one: it is taken and means nothing."""
        due = self.link.greet(0xA0, b"000000;", 5)
        old = DatecsFrame(self.numbers.used, 0x65, b"0000;47;", STATUS)
        self.link.dataReceived(old.encode())
        self.assertEqual(self.successResultOf(due), old)

    def test_again(self) -> None:
        """After the line broke, the same bytes go out with the same number on the next line."""
        due, answer, sent = self.ask()
        self.link.connectionLost(Failure(ConnectionLost()))
        self.failureResultOf(due, LineLost)
        self.link, self.transport = self.line()
        again = self.link.ask(0xA0, b"000000;", 5, again=True)
        self.assertEqual(self.transport.value(), sent)
        self.link.dataReceived(answer.encode())
        self.successResultOf(again)

    def test_noise(self) -> None:
        """Noise around an answer is skipped; a line with nothing else is closed."""
        due, answer, _ = self.ask()
        self.link.dataReceived(b"\x00" * MOST_NOISE + answer.encode() + b"\xff")
        self.successResultOf(due)
        due, _, _ = self.ask()
        self.link.dataReceived(b"HTTP/1.1 400 " * MOST_NOISE)
        self.failureResultOf(due, Garbled)
        self.assertTrue(self.transport.disconnecting)

    def test_unasked(self) -> None:
        """What comes while nothing is due is ignored."""
        self.link.dataReceived(SYN + NAK + b"x" + DatecsFrame(0x21, 0x30, b"0000;").encode())
        due, answer, _ = self.ask()
        self.link.dataReceived(answer.encode())
        self.successResultOf(due)

    def test_does_not_fit(self) -> None:
        """Data that does not fit uses no number, and the next command goes out."""
        self.assertRaises(ValueError, self.link.ask, 0x24, b"x" * 300, 5)
        _, _, sent = self.ask()
        self.assertEqual(sent[2], 0x20)

    def test_doubled(self) -> None:
        """Behind a converter everything may take twice as long."""
        self.assertEqual(PATIENCE.doubled().reply_wait, 1.0)
