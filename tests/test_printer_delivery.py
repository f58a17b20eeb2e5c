"""Delivery of a job: whatever printer and line do, it ends in the right one of four outcomes."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, succeed
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IStreamClientEndpoint
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, NotReached, Silent
from protocols.printers.commands import Command, Cut, Drawer, Image, Mark, Text
from protocols.printers.compose import Job, compose
from protocols.printers.delivery import (
    CAUSES,
    CHUNK,
    MOST_NOISE,
    POLL,
    Delivery,
    DeliveryVerdict,
    Inquiry,
    Patience,
    deliver,
    inquire,
)
from protocols.printers.profiles import PROFILES, Profile
from protocols.printers.talk import FLUSH
from protocols.printers.verdict import Outcome

EPSON, CLONE, STAR = PROFILES["epson"], PROFILES["zjiang-58"], PROFILES["star"]
RECEIPT = (Text("ФІСКАЛЬНИЙ ЧЕК"), Cut())
LONG: tuple[Command, ...] = (*(Text(f"рядок {number}") for number in range(400)), Cut())

ASKED = b"\x10\x04\x01\x10\x04\x02\x10\x04\x03\x10\x04\x04"
FINE = b"\x12\x12\x12\x12"
"""No errors, in answer to all four queries."""
TURN = b"\x10\x00\x00\x00"
"""The automatic status after switching it on."""
DONE = b"\x00"
"""The answer to the mark."""

PRINTED, ACCEPTED, NOT_PRINTED, UNKNOWN = Outcome.PRINTED, Outcome.ACCEPTED, Outcome.NOT_PRINTED, Outcome.UNKNOWN


class Halves(StringTransport):
    """A line whose two directions end apart."""

    shut = False

    def loseWriteConnection(self) -> None:
        """End the direction to the printer."""
        self.shut = True


class Printer:
    """The printer's side, controlled by the test."""

    def __init__(self, job: Job, rate: int = 0, line: type[StringTransport] = StringTransport) -> None:
        self.clock = Clock()
        self.job = job
        self.delivery = Delivery(job, self.clock, Patience(), rate)
        self.transport = line()
        self.verdicts: list[DeliveryVerdict] = []
        self.delivery.done.addCallback(self.verdicts.append)
        self.delivery.makeConnection(self.transport)

    def says(self, data: bytes) -> None:
        """The printer says ``data``."""
        self.delivery.dataReceived(data)

    def wrote(self) -> bytes:
        """The bytes written since the last call."""
        data: bytes = self.transport.value()
        self.transport.clear()
        return data

    def breaks(self, cleanly: bool = False) -> None:
        """The line breaks, or closes cleanly."""
        self.delivery.connectionLost(Failure(ConnectionDone() if cleanly else ConnectionLost()))

    @property
    def verdict(self) -> tuple[Outcome, str] | None:
        """Outcome and cause of the verdict, if there is one."""
        if not self.verdicts:
            return None
        (verdict,) = self.verdicts
        return verdict.outcome, verdict.cause


def epson() -> Printer:
    """A printer that proves what it printed."""
    return Printer(compose(RECEIPT, EPSON))


class AskTests(SynchronousTestCase):
    """The state is queried before anything is sent."""

    def test_questions(self) -> None:
        """The queries print nothing: reset, automatic status, four states."""
        self.assertEqual(epson().wrote().hex(" "), "1b 40 1d 61 ff 10 04 01 10 04 02 10 04 03 10 04 04")

    def test_job_follows(self) -> None:
        """The job is sent when the printer is ready, not earlier."""
        printer = epson()
        printer.wrote()
        printer.says(FINE)
        self.assertEqual(printer.wrote(), b"")
        printer.says(TURN)
        self.assertEqual(printer.wrote(), printer.job.data)

    def test_cannot_print(self) -> None:
        """If the printer cannot print, the verdict comes immediately with its cause, and nothing prints."""
        cases = {
            b"\x1a\x36\x12\x72": "cover",
            b"\x1a\x32\x12\x72": "paper",
            b"\x1a\x52\x1a\x12": "cutter",
            b"\x1a\x52\x16\x12": "mechanical",
            b"\x1a\x52\x52\x12": "overheat",
            b"\x1a\x52\x32\x12": "unrecoverable",
            b"\x1a\x12\x12\x12": "offline",
        }
        for answers, cause in cases.items():
            printer = epson()
            printer.wrote()
            printer.says(answers)
            self.assertEqual(printer.verdict, (NOT_PRINTED, cause))
            self.assertEqual(
                (printer.wrote(), printer.verdicts[0].sent, printer.transport.disconnecting), (b"", 0, True)
            )
            status = printer.verdicts[0].status
            assert status is not None
            self.assertEqual((status.reason, status.raw), (cause, answers))

    def test_near_end(self) -> None:
        """Paper near end still prints, and the verdict contains it."""
        printer = epson()
        printer.says(b"\x12\x12\x12\x1e" + TURN.replace(b"\0\0", b"\0\x03", 1))
        printer.says(DONE)
        self.assertEqual(printer.verdict, (PRINTED, ""))

    def test_asked_twice(self) -> None:
        """A silent printer that should answer is queried again after a second, and given up after five."""
        printer = epson()
        printer.wrote()
        printer.clock.advance(0.99)
        self.assertEqual(printer.wrote(), b"")
        printer.clock.advance(0.01)
        self.assertEqual(printer.wrote().hex(" "), "10 04 01 10 04 02 10 04 03 10 04 04")
        printer.clock.pump([1, 2.99])
        self.assertEqual((printer.verdict, printer.wrote()), (None, b""))
        printer.clock.advance(0.01)
        self.assertEqual(printer.verdict, (NOT_PRINTED, "silent"))

    def test_late_answer(self) -> None:
        """An answer to the second query suffices."""
        printer = epson()
        printer.clock.advance(1)
        printer.says(FINE + TURN + DONE)
        printer.says(DONE)
        self.assertEqual(printer.verdict, (PRINTED, ""))

    def test_clone_that_is_silent(self) -> None:
        """A silent clone gets the job after two seconds."""
        printer = Printer(compose(RECEIPT, CLONE))
        printer.clock.pump([1, 0.99])
        self.assertNotIn(printer.job.data, printer.wrote())
        printer.clock.advance(0.01)
        self.assertEqual(printer.wrote(), printer.job.data)

    def test_never_asked(self) -> None:
        """A printer that never answers is not queried, and the job is sent immediately."""
        printer = Printer(compose(RECEIPT, replace(CLONE, answers=False)))
        self.assertEqual(printer.wrote(), printer.job.stream)

    def test_not_our_turn(self) -> None:
        """A printer that answers in real time but not in turn gets nothing, after one attempt to free it."""
        printer = epson()
        printer.says(FINE)
        printer.wrote()
        printer.clock.advance(1)
        self.assertEqual(printer.wrote(), FLUSH + b"\x1b@\x1da\xff")
        printer.clock.pump([1, 2.99])
        self.assertIsNone(printer.verdict)
        printer.clock.advance(0.01)
        self.assertEqual((printer.verdict, printer.wrote()), ((NOT_PRINTED, "busy"), b""))

    def test_ready_late(self) -> None:
        """A printer that is ready within five seconds gets its job, also after two queries."""
        printer = epson()
        printer.says(FINE)
        printer.clock.pump([1, 1, 2.9])
        printer.wrote()
        printer.says(TURN)
        self.assertEqual(printer.wrote(), printer.job.data)

    def test_freed(self) -> None:
        """A printer in the middle of a broken picture answers in turn after NUL bytes, and prints."""
        printer = epson()
        printer.says(FINE)
        printer.clock.advance(1)
        printer.wrote()
        printer.says(TURN)
        self.assertEqual(printer.wrote(), printer.job.data)

    def test_stopped(self) -> None:
        """A printer that sends XOFF before the job, and no XON, is busy."""
        printer = Printer(compose(RECEIPT, CLONE))
        printer.says(b"\x13" + FINE)
        printer.clock.pump([1, 1, 3])
        self.assertEqual(printer.verdict, (NOT_PRINTED, "busy"))

    def test_line_breaks(self) -> None:
        """A line breaks during the query: nothing was printed."""
        for cleanly in (True, False):
            printer = epson()
            printer.breaks(cleanly)
            self.assertEqual(printer.verdict, (NOT_PRINTED, "lost"))

    def test_drawer_without_paper(self) -> None:
        """The drawer opens even without paper."""
        printer = Printer(compose((Drawer(),), EPSON))
        printer.wrote()
        printer.says(b"\x1a\x32\x12\x72")
        self.assertEqual(printer.wrote(), b"\x10\x14\x01\x00\x01" + ASKED)
        printer.says(b"\x1e\x32\x12\x72")
        printer.breaks(cleanly=True)
        self.assertEqual(printer.verdict, (ACCEPTED, ""))


class ProofTests(SynchronousTestCase):
    """The printer proves the job, or does not."""

    def sent(self, job: Job | None = None) -> Printer:
        """A printer that took the whole job."""
        printer = Printer(job or compose(RECEIPT, EPSON))
        printer.says(FINE + TURN if printer.job.profile.automatic else FINE)
        printer.wrote()
        return printer

    def test_printed(self) -> None:
        """The answer in turn proves the job, and the line is closed."""
        printer = self.sent()
        self.assertIsNone(printer.verdict)
        printer.says(DONE)
        self.assertEqual(printer.verdict, (PRINTED, ""))
        self.assertTrue(printer.transport.disconnecting)
        self.assertEqual(printer.verdicts[0].sent, len(printer.job.data))

    def test_stale_proof(self) -> None:
        """The answer to an earlier job's mark proves nothing."""
        printer = epson()
        printer.says(FINE + DONE + TURN)
        printer.wrote()
        printer.clock.advance(9)
        self.assertIsNone(printer.verdict)
        printer.says(DONE)
        self.assertEqual(printer.verdict, (PRINTED, ""))

    def test_named_proof(self) -> None:
        """Of named answers only the expected one proves the job."""
        profile = replace(EPSON, completion="process-id")
        printer = self.sent(compose(RECEIPT, profile, [b"AB01"]))
        printer.says(b"\x37\x22AB00\x00" + DONE)
        self.assertIsNone(printer.verdict)
        printer.says(b"\x37\x22AB01\x00")
        self.assertEqual(printer.verdict, (PRINTED, ""))

    def test_several(self) -> None:
        """A job with two marks is printed when both have been answered."""
        printer = self.sent(compose((Text("a"), Mark(), Text("b")), EPSON))
        printer.says(DONE)
        self.assertIsNone(printer.verdict)
        printer.says(DONE)
        self.assertEqual(printer.verdict, (PRINTED, ""))

    def test_no_proof(self) -> None:
        """Without a proof the state is queried once more, then the job is unknown, never earlier."""
        printer = self.sent()
        paper = printer.job.dots / 400
        printer.clock.advance(10 + paper - 0.01)
        self.assertEqual(printer.wrote(), b"")
        printer.clock.advance(0.01)
        self.assertEqual(printer.wrote().hex(" "), "10 04 01 10 04 02 10 04 03 10 04 04")
        printer.says(b"\x1a\x32\x12\x72")
        self.assertIsNone(printer.verdict)
        printer.clock.advance(1)
        self.assertEqual(printer.verdict, (UNKNOWN, "paper"))
        status = printer.verdicts[0].status
        assert status is not None
        self.assertEqual(status.paper, "out")

    def test_silent_at_the_end(self) -> None:
        """A printer that becomes silent during the job leaves it unknown."""
        printer = self.sent()
        printer.clock.pump([60, 1])
        self.assertEqual(printer.verdict, (UNKNOWN, "unproven"))

    def test_proof_at_the_last_look(self) -> None:
        """A proof that comes during the last query still counts."""
        printer = self.sent()
        printer.clock.advance(60)
        printer.says(FINE + DONE)
        self.assertEqual(printer.verdict, (PRINTED, ""))

    def test_longer_paper(self) -> None:
        """A longer job has a longer time limit."""
        printer = self.sent(compose(LONG, EPSON))
        self.assertGreater(printer.job.dots, 9000)
        printer.clock.advance(10 + 9000 / 400)
        self.assertEqual((printer.wrote(), printer.verdict), (b"", None))

    def test_paper_ends(self) -> None:
        """Paper ends during the job and is replaced in time: the rest is printed and proven."""
        printer = self.sent()
        printer.says(b"\x18\x00\x0f\x00")
        printer.clock.advance(5)
        self.assertIsNone(printer.verdict)
        printer.says(b"\x10\x00\x00\x00" + DONE)
        self.assertEqual(printer.verdict, (PRINTED, ""))

    def test_line_breaks(self) -> None:
        """A line that breaks before the proof leaves the job unknown, however it is closed."""
        for cleanly in (True, False):
            printer = self.sent()
            printer.breaks(cleanly)
            self.assertEqual(printer.verdict, (UNKNOWN, "lost"))

    def test_accepted(self) -> None:
        """Without a proof, an answer after the job means accepted, and the line is closed."""
        printer = self.sent(compose(RECEIPT, CLONE))
        self.assertFalse(printer.transport.disconnecting)
        printer.says(FINE)
        self.assertTrue(printer.transport.disconnecting)
        self.assertIsNone(printer.verdict)
        printer.breaks(cleanly=True)
        self.assertEqual(printer.verdict, (ACCEPTED, ""))

    def test_arrived_and_stands(self) -> None:
        """A printer that took the whole job and stopped may print it later: unknown, with the cause."""
        printer = self.sent(compose(RECEIPT, CLONE))
        printer.says(b"\x1a\x32\x12\x72")
        self.assertEqual(printer.verdict, (UNKNOWN, "paper"))

    def test_no_answer_behind(self) -> None:
        """A printer that answered before the job but not after it leaves it unknown."""
        printer = self.sent(compose(RECEIPT, CLONE))
        printer.clock.advance(10 + printer.job.dots / 400 - 0.01)
        self.assertIsNone(printer.verdict)
        printer.clock.advance(0.01)
        self.assertEqual(printer.verdict, (UNKNOWN, "stalled"))

    def test_not_carried(self) -> None:
        """A line that breaks before it is drained, or never drains, leaves the job unknown."""
        mute = replace(CLONE, answers=False)
        printer = Printer(compose(RECEIPT, mute))
        self.assertTrue(printer.transport.disconnecting)
        printer.breaks()
        self.assertEqual(printer.verdict, (UNKNOWN, "lost"))
        printer = Printer(compose(RECEIPT, mute))
        printer.clock.advance(9.99)
        self.assertIsNone(printer.verdict)
        printer.clock.advance(0.01)
        self.assertEqual(printer.verdict, (UNKNOWN, "stalled"))

    def test_mute(self) -> None:
        """A printer that could prove the job but has never answered is not waited for."""
        printer = Printer(compose(RECEIPT, PROFILES["citizen"]))
        printer.clock.pump([1, 1])
        printer.breaks(cleanly=True)
        self.assertEqual(printer.verdict, (ACCEPTED, ""))

    def silent(self) -> Printer:
        """A printer that never answered, after the end of the line went to it."""
        printer = Printer(compose(RECEIPT, CLONE), line=Halves)
        printer.clock.pump([1, 1])
        assert isinstance(printer.transport, Halves)
        self.assertEqual((printer.transport.shut, printer.transport.disconnecting), (True, False))
        printer.clock.advance(5)
        self.assertIsNone(printer.verdict)
        printer.delivery.writeConnectionLost()
        return printer

    def test_reads(self) -> None:
        """A printer that never answers, and closes the line at its end, has read the job: accepted."""
        printer = self.silent()
        printer.clock.advance(2)
        printer.delivery.readConnectionLost()
        self.assertEqual((printer.verdict, printer.clock.getDelayedCalls()), ((ACCEPTED, ""), []))
        self.assertTrue(printer.transport.disconnecting)

    def test_reads_nothing(self) -> None:
        """A printer that never answers and does not come to the end of the line may have read nothing: unproven."""
        printer = self.silent()
        printer.clock.advance(2 + printer.job.dots / 400 - 0.01)
        self.assertIsNone(printer.verdict)
        printer.clock.advance(0.01)
        self.assertEqual(printer.verdict, (UNKNOWN, "unproven"))
        self.assertTrue(printer.transport.disconnecting)

    def test_answering_printer_is_let_go(self) -> None:
        """A printer that answered behind the job need not close the line."""
        printer = Printer(compose(RECEIPT, CLONE), line=Halves)
        printer.says(FINE)
        printer.says(FINE)
        assert isinstance(printer.transport, Halves)
        self.assertEqual((printer.transport.shut, printer.transport.disconnecting), (False, True))

    def test_one_verdict(self) -> None:
        """Data after the verdict changes nothing."""
        printer = self.sent()
        printer.says(DONE)
        printer.says(b"\x1a" * 10 + DONE)
        printer.clock.advance(100)
        printer.breaks()
        self.assertEqual(printer.verdict, (PRINTED, ""))
        self.assertEqual(printer.clock.getDelayedCalls(), [])


class FlowTests(SynchronousTestCase):
    """Pauses requested by the printer or the line."""

    def sending(self, rate: int = 0) -> Printer:
        """A long job before it is sent."""
        printer = Printer(compose(LONG, EPSON), rate)
        self.assertGreater(len(printer.job.data), 3 * CHUNK)
        printer.says(FINE)
        printer.wrote()
        return printer

    def test_full_line(self) -> None:
        """Nothing is written while the line is full, and nothing is lost."""
        printer = self.sending()
        printer.delivery.pauseProducing()
        printer.says(TURN)
        self.assertEqual(printer.wrote(), b"")
        printer.delivery.resumeProducing()
        self.assertEqual(printer.wrote(), printer.job.data)

    def test_producer(self) -> None:
        """The delivery is the line's producer as long as it has data to write."""
        printer = Printer(compose(LONG, EPSON), rate=CHUNK)
        printer.says(FINE + TURN)
        self.assertIs(printer.transport.producer, printer.delivery)
        self.assertTrue(printer.transport.streaming)
        printer.clock.pump([1] * 20)
        self.assertIsNone(printer.transport.producer)

    def test_xoff(self) -> None:
        """XOFF pauses the job between two chunks, XON resumes it."""
        printer = self.sending(rate=CHUNK)
        printer.says(TURN)
        self.assertEqual(printer.wrote(), printer.job.data[:CHUNK])
        printer.says(b"\x13")
        printer.clock.advance(5)
        self.assertEqual(printer.wrote(), b"")
        printer.says(b"\x11")
        self.assertEqual(printer.wrote(), printer.job.data[CHUNK : 2 * CHUNK])

    def test_stalled(self) -> None:
        """An endless pause leaves a job that began unknown, and the rest is dropped."""
        printer = self.sending(rate=CHUNK)
        printer.says(TURN)
        printer.says(b"\x13")
        printer.clock.advance(1)
        printer.clock.advance(9.99)
        self.assertIsNone(printer.verdict)
        printer.clock.advance(0.01)
        self.assertEqual(printer.verdict, (UNKNOWN, "stalled"))
        self.assertEqual((printer.verdicts[0].sent, printer.transport.disconnecting), (CHUNK, True))

    def test_stalled_at_once(self) -> None:
        """A line is full before the first byte of the job: nothing was printed."""
        printer = self.sending()
        printer.delivery.pauseProducing()
        printer.says(TURN)
        printer.clock.advance(10)
        self.assertEqual(printer.verdict, (NOT_PRINTED, "busy"))

    def test_slow_line(self) -> None:
        """On a line without flow control the byte rate is limited."""
        printer = self.sending(rate=960)
        printer.says(TURN)
        total = len(printer.wrote())
        seconds = 0
        while total < len(printer.job.data):
            printer.clock.advance(1)
            seconds += 1
            total += len(printer.wrote())
            self.assertLessEqual(total, CHUNK + seconds * 960)
        self.assertGreaterEqual(seconds, (len(printer.job.data) - CHUNK) // 960)

    def test_broken_in_the_middle(self) -> None:
        """A line that breaks during the job leaves it unknown."""
        printer = self.sending(rate=CHUNK)
        printer.says(TURN)
        printer.breaks()
        self.assertEqual(printer.verdict, (UNKNOWN, "lost"))
        self.assertEqual(printer.verdicts[0].sent, CHUNK)


class NoiseTests(SynchronousTestCase):
    """Printers that send too much."""

    def test_flood_before(self) -> None:
        """Endless noise before the job: nothing was printed."""
        printer = epson()
        printer.says(b"\xff" * MOST_NOISE)
        self.assertIsNone(printer.verdict)
        printer.says(b"\xff")
        self.assertEqual(printer.verdict, (NOT_PRINTED, "noise"))

    def test_flood_after(self) -> None:
        """Endless noise after the job leaves it unknown."""
        printer = epson()
        printer.says(FINE + TURN)
        printer.says(b"\xff" * (MOST_NOISE + 1))
        self.assertEqual(printer.verdict, (UNKNOWN, "noise"))

    def test_changes_without_end(self) -> None:
        """A printer that sends endless automatic status is given up too."""
        printer = epson()
        printer.says(FINE + TURN)
        for _ in range(20):
            printer.says(TURN * 1000)
        self.assertEqual(printer.verdict, (UNKNOWN, "noise"))

    @settings(max_examples=200, deadline=None)
    @given(
        st.sampled_from(["epson", "zjiang-58", "star"]),
        st.lists(
            st.one_of(st.binary(max_size=30), st.sampled_from([FINE, TURN, DONE, b"\x13", b"\x11"])), max_size=8
        ),
        st.booleans(),
    )
    def test_any_answers(self, name: str, answers: list[bytes], breaks: bool) -> None:
        """Whatever a printer sends, there is one verdict, and it promises no more than was sent."""
        printer = Printer(compose(RECEIPT, PROFILES[name]))
        for answer in answers:
            if printer.verdict is None:
                printer.says(answer)
                printer.clock.advance(0.5)
        if breaks and printer.verdict is None:
            printer.breaks()
        for _ in range(200):
            printer.clock.advance(0.5)
        verdict = printer.verdict
        assert verdict is not None
        written = printer.transport.value()
        if verdict[0] is NOT_PRINTED:
            self.assertNotIn(printer.job.data, written)
        else:
            self.assertIn(printer.job.data, written)
        self.assertIn(verdict[1], {"", *CAUSES})


class CancelTests(SynchronousTestCase):
    """The caller can cancel."""

    def test_before(self) -> None:
        """Cancelled before the job was sent: nothing was printed, and the line is closed."""
        printer = epson()
        printer.delivery.done.cancel()
        self.assertEqual(printer.verdict, (NOT_PRINTED, "cancelled"))
        self.assertTrue(printer.transport.disconnecting)

    def test_after(self) -> None:
        """Cancelled after the job was sent: unknown."""
        printer = epson()
        printer.says(FINE + TURN)
        printer.delivery.done.addTimeout(5, printer.clock)
        printer.clock.advance(5)
        self.assertEqual(printer.verdict, (UNKNOWN, "cancelled"))

    def test_when_taken(self) -> None:
        """Cancelled when the last byte was taken: unknown, and no further query is sent."""
        printer = epson()
        printer.delivery.taken.addCallback(lambda _: printer.delivery.done.cancel())
        printer.says(FINE + TURN)
        self.assertEqual(printer.verdict, (UNKNOWN, "cancelled"))
        self.assertEqual(printer.clock.getDelayedCalls(), [])

    def test_words(self) -> None:
        """Every cause has a text."""
        printer = epson()
        printer.delivery.done.cancel()
        self.assertEqual(printer.verdicts[0].reason, CAUSES["cancelled"])
        self.assertIs(printer.verdicts[0].outcome, Outcome.NOT_PRINTED)


class StarTests(SynchronousTestCase):
    """Star printers, whose proof is a counter."""

    @staticmethod
    def state(count: int, flags: int = 0, paper: int = 0) -> bytes:
        """A state of nine bytes."""
        counted = (count & 0x07) << 1 | (count & 0x18) << 2
        return bytes([0x23, 0x06, flags, 0, 0, paper, 0, counted, 0])

    def test_printed(self) -> None:
        """The counter is first set to a number of its own; one more proves the job."""
        printer = Printer(compose(RECEIPT, STAR))
        self.assertEqual(printer.wrote().hex(" "), "1b 40 1b 06 01")
        printer.says(self.state(1))
        self.assertEqual(printer.wrote(), b"\x1b\x1eE\0" + b"\x17" * 20 + b"\x1b\x06\x01")
        printer.says(self.state(2))
        self.assertEqual(printer.wrote(), b"")
        printer.clock.advance(POLL)
        self.assertEqual(printer.wrote(), b"\x1b\x06\x01")
        printer.says(self.state(20))
        self.assertEqual(printer.wrote(), printer.job.data + b"\x1b\x06\x01")
        printer.says(self.state(20))
        printer.clock.advance(POLL)
        self.assertEqual(printer.wrote(), b"\x1b\x06\x01")
        printer.says(self.state(21))
        self.assertEqual(printer.verdict, (PRINTED, ""))

    def test_other_number(self) -> None:
        """A high counter is set to a low number, which an earlier job cannot reach."""
        printer = Printer(compose(RECEIPT, STAR))
        printer.wrote()
        printer.says(self.state(31))
        self.assertEqual(printer.wrote().count(b"\x17"), 4)

    def test_cannot_print(self) -> None:
        """An open cover and the end of the paper are reported immediately."""
        for state, cause in ((self.state(0, flags=0x28), "cover"), (self.state(0, 0x08, paper=0x08), "paper")):
            printer = Printer(compose(RECEIPT, STAR))
            printer.says(state)
            self.assertEqual(printer.verdict, (NOT_PRINTED, cause))

    def test_not_our_turn(self) -> None:
        """A printer whose counter does not reach our number gets nothing."""
        printer = Printer(compose(RECEIPT, STAR))
        printer.says(self.state(3))
        printer.clock.pump([1, 1, 2.9])
        self.assertIsNone(printer.verdict)
        printer.clock.advance(0.1)
        self.assertEqual(printer.verdict, (NOT_PRINTED, "busy"))
        self.assertNotIn(printer.job.data, printer.wrote())

    def test_wakes_up_late(self) -> None:
        """A first state during the job causes no command and proves nothing."""
        printer = Printer(compose(LONG, replace(STAR, reliable=False)), rate=CHUNK)
        printer.clock.pump([1, 1])
        printer.wrote()
        printer.says(self.state(3))
        printer.clock.advance(1)
        self.assertEqual(printer.wrote(), printer.job.data[CHUNK : 2 * CHUNK])
        printer.clock.pump([1] * 4)
        self.assertEqual(printer.wrote(), printer.job.data[2 * CHUNK :] + b"\x1b\x06\x01")
        printer.says(self.state(4))
        printer.breaks(cleanly=True)
        self.assertEqual(printer.verdict, (ACCEPTED, ""))

    def test_no_counter(self) -> None:
        """A model without a counter accepts the job."""
        printer = Printer(compose(RECEIPT, STAR))
        state = bytes.fromhex("0f060000000000")
        printer.says(state)
        self.assertFalse(printer.transport.disconnecting)
        printer.says(state)
        printer.breaks(cleanly=True)
        self.assertEqual(printer.verdict, (ACCEPTED, ""))


class InquiryTests(SynchronousTestCase):
    """Status queries without printing."""

    def asking(self, profile: Profile = EPSON) -> tuple[Inquiry, StringTransport, Clock]:
        """A pending query."""
        clock, transport = Clock(), StringTransport()
        inquiry = Inquiry(profile, clock)
        inquiry.makeConnection(transport)
        return inquiry, transport, clock

    def test_state(self) -> None:
        """The state is returned, and styles are not reset."""
        inquiry, transport, clock = self.asking()
        self.assertEqual(transport.value().hex(" "), "10 04 01 10 04 02 10 04 03 10 04 04")
        inquiry.dataReceived(b"\x12\x12\x12\x1e")
        status = self.successResultOf(inquiry.done)
        self.assertEqual((status.online, status.paper, status.reason), (True, "near_end", None))
        self.assertEqual((transport.disconnecting, clock.getDelayedCalls()), (True, []))

    def test_star(self) -> None:
        """A Star printer is queried in its language; its counter does not change."""
        inquiry, transport, _ = self.asking(STAR)
        self.assertEqual(transport.value().hex(" "), "1b 06 01")
        inquiry.dataReceived(StarTests.state(0, flags=0x28))
        self.assertEqual(self.successResultOf(inquiry.done).reason, "cover")
        self.assertEqual(transport.value().hex(" "), "1b 06 01")

    def test_silent(self) -> None:
        """Two queries, two seconds, then silent."""
        inquiry, transport, clock = self.asking()
        clock.pump([1, 0.99])
        self.assertNoResult(inquiry.done)
        clock.advance(0.01)
        self.assertEqual(self.failureResultOf(inquiry.done, Silent).value.args, ("no answer in 2 s",))
        self.assertTrue(transport.disconnecting)

    def test_some_answers(self) -> None:
        """A printer that answers only one query has a partly known state."""
        inquiry, _, clock = self.asking()
        inquiry.dataReceived(b"\x1a")
        clock.pump([1, 1])
        status = self.successResultOf(inquiry.done)
        self.assertEqual((status.online, status.paper), (False, None))

    def test_noise(self) -> None:
        """Noise is not a state."""
        inquiry, _, clock = self.asking()
        inquiry.dataReceived(b"HTTP/1.0 400")
        clock.pump([1, 1])
        self.failureResultOf(inquiry.done, Garbled)

    def test_flood(self) -> None:
        """Endless noise ends the query."""
        inquiry, transport, _ = self.asking()
        inquiry.dataReceived(b"\xff" * (MOST_NOISE + 1))
        self.failureResultOf(inquiry.done, Garbled)
        self.assertTrue(transport.disconnecting)

    def test_line_breaks(self) -> None:
        """A broken line is reported."""
        inquiry, _, _ = self.asking()
        inquiry.connectionLost(Failure(ConnectionLost()))
        self.failureResultOf(inquiry.done, LineLost)


@implementer(IStreamClientEndpoint)
class Endpoint:
    """An endpoint: a `StringTransport`, a refusal, or a connection that never opens."""

    def __init__(self, result: str = "connected") -> None:
        self.result = result
        self.transport = StringTransport()
        self.protocol: IProtocol | None = None

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect, or not."""
        if self.result == "never":
            return Deferred()
        if self.result == "refused":
            connecting: Deferred[IProtocol] = Deferred()
            connecting.errback(ConnectionLost("refused"))
            return connecting
        self.protocol = protocolFactory.buildProtocol(None)  # type: ignore[arg-type]
        assert self.protocol is not None
        self.protocol.makeConnection(self.transport)
        return succeed(self.protocol)


class ConnectTests(SynchronousTestCase):
    """Jobs and queries to an address."""

    def test_delivered(self) -> None:
        """A job is delivered over a connection of its own."""
        endpoint = Endpoint()
        verdict = deliver(endpoint, Delivery(compose(RECEIPT, EPSON), Clock()), Clock())
        assert endpoint.protocol is not None
        endpoint.protocol.dataReceived(FINE + TURN)
        endpoint.protocol.dataReceived(DONE)
        self.assertIs(self.successResultOf(verdict).outcome, PRINTED)

    def test_not_reached(self) -> None:
        """Connection refused or not opened in time: nothing was printed."""
        self.assertEqual(
            self.successResultOf(
                deliver(Endpoint("refused"), Delivery(compose(RECEIPT, EPSON), Clock()), Clock())
            ).cause,
            "unreachable",
        )
        clock = Clock()
        verdict = deliver(Endpoint("never"), Delivery(compose(RECEIPT, EPSON), clock), clock)
        clock.advance(4.99)
        self.assertNoResult(verdict)
        clock.advance(0.01)
        self.assertEqual(self.successResultOf(verdict).outcome, NOT_PRINTED)

    def test_cancelled(self) -> None:
        """The caller can cancel a delivery at any time."""
        endpoint = Endpoint()
        verdict = deliver(endpoint, Delivery(compose(RECEIPT, EPSON), Clock()), Clock())
        verdict.cancel()
        self.assertEqual(self.successResultOf(verdict).cause, "cancelled")

    def test_inquired(self) -> None:
        """A query has a connection of its own; a refused connection is reported."""
        endpoint = Endpoint()
        status = inquire(endpoint, EPSON, Clock())
        assert endpoint.protocol is not None
        endpoint.protocol.dataReceived(FINE)
        self.assertTrue(self.successResultOf(status).online)
        self.failureResultOf(inquire(Endpoint("refused"), EPSON, Clock()), NotReached)


class StripTests(SynchronousTestCase):
    """Sending pictures."""

    def test_long_picture(self) -> None:
        """A picture is sent completely, chunk by chunk."""
        printer = Printer(compose((Image(384, b"\xff" * 48 * 200),), EPSON))
        printer.says(FINE)
        printer.wrote()
        printer.says(TURN)
        self.assertEqual(printer.wrote(), printer.job.data)
