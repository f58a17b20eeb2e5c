"""Concert V2: sessions of single bytes, and what stays unknown when the line fails."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, fail
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, NotReached, Silent
from protocols.simulators.concert_v2 import ConcertDevice
from protocols.simulators.in_process import InProcessAddress, InProcessEndpoint
from protocols.simulators.terminal import Terminal
from protocols.terminals.concert_v2 import (
    ConcertAnswer,
    ConcertProtocol,
    ConcertRequest,
    ConcertTerminal,
    Deframer,
    Interrupted,
    Kind,
    Mode,
    NotReady,
    NotTaken,
    Result,
    Settings,
    Signal,
    Unanswered,
    frame,
)
from protocols.terminals.stx_frames import (
    Damaged,
    Noise,
    Payload,
)
from tests.terminal_matrix import shows
from tests.vectors.concert_v2 import ASK, CHECK_BYTE, FRAMES, FULL_ANSWER, SHORT_ANSWER, SIGNALS

T = TypeVar("T")

ENQ, ACK, NAK, EOT = (signal.encode() for signal in (Signal.ENQ, Signal.ACK, Signal.NAK, Signal.EOT))
ASK_FRAME, FULL_FRAME, SHORT_FRAME = (vector.frame for vector in FRAMES)


class VectorTests(SynchronousTestCase):
    """Published frames, both ways."""

    def test_both_ways(self) -> None:
        """Every frame is read as its meaning, and its meaning is written as the frame."""
        for vector in FRAMES:
            self.assertEqual(frame(vector.message.encode()), vector.frame, vector.id)
            self.assertEqual(type(vector.message).decode(vector.frame[1:-2]), vector.message, vector.id)
        self.assertEqual(frame(b"0200|123|"), CHECK_BYTE)
        for signal, byte in SIGNALS:
            self.assertEqual((signal.encode(), Deframer().feed(byte)), (byte, [signal]))

    @shows("golden frames", wire="concert-v2")
    def test_cut_everywhere(self) -> None:
        """However a frame is cut, its payload comes out whole and once."""
        for vector in FRAMES:
            for cut in range(len(vector.frame) + 1):
                deframer = Deframer()
                pieces = deframer.feed(vector.frame[:cut]) + deframer.feed(vector.frame[cut:])
                self.assertEqual(pieces, [Payload(vector.frame[1:-2])])

    def test_card(self) -> None:
        """The card's number is masked, also where the terminal did not mask it."""
        self.assertEqual(FULL_ANSWER.card, "4711XXXXXXXX1234")
        self.assertEqual(replace(FULL_ANSWER, report="4970101234567890  000").card, "497010XXXXXX7890")
        self.assertEqual((SHORT_ANSWER.card, replace(FULL_ANSWER, report=" " * 55).card), ("", ""))
        self.assertNotIn("4711", repr(FULL_ANSWER))


class DeframerTests(SynchronousTestCase):
    """What is no frame, and what was one."""

    def test_wrong_check_byte(self) -> None:
        """A frame with any other check byte is damaged."""
        for wrong in range(256):
            if wrong != ASK_FRAME[-1]:
                whole = ASK_FRAME[:-1] + bytes((wrong,))
                self.assertEqual(Deframer().feed(whole), [Damaged(whole)])

    def test_garbage_around(self) -> None:
        """Garbage before and after a frame is noise, and the frame is found."""
        pieces = Deframer().feed(b"\xff?" + ASK_FRAME + b"\x00")
        self.assertEqual(pieces, [Noise(b"\xff?"), Payload(ASK_FRAME[1:-2]), Noise(b"\x00")])

    def test_garbage_inside(self) -> None:
        """A byte too many or too few makes a frame damaged, and the next one is found."""
        for broken in (ASK_FRAME[:9] + b"x" + ASK_FRAME[9:], ASK_FRAME[:9] + ASK_FRAME[10:]):
            self.assertEqual(Deframer().feed(broken + ASK_FRAME), [Damaged(broken), Payload(ASK_FRAME[1:-2])])

    def test_lost_end(self) -> None:
        """When the end of a frame is lost, its repeat is found."""
        pieces = Deframer().feed(ASK_FRAME[:-2] + ASK_FRAME)
        self.assertEqual(pieces, [Damaged(ASK_FRAME[:-2]), Payload(ASK_FRAME[1:-2])])

    def test_no_end(self) -> None:
        """A frame longer than the longest answer is damaged."""
        self.assertIsInstance(Deframer().feed(b"\x02" + b"x" * 90)[0], Damaged)
        self.assertIsInstance(Deframer().feed(b"\x02" + b"x" * 90 + b"\x03x")[0], Damaged)

    @given(st.lists(st.binary(max_size=100) | st.sampled_from([b"\x02" + b"x" * 85, ASK_FRAME, b"\x02", b"\x03"])))
    def test_any_cut(self, pieces: list[bytes]) -> None:
        """Frames and signals are the same however the bytes are cut, also those that are too long."""

        def found(data: Iterable[bytes]) -> list[Signal | Payload | Damaged]:
            deframer = Deframer()
            every = [piece for each in data for piece in deframer.feed(each)]
            return [piece for piece in every if not isinstance(piece, Noise)]

        self.assertEqual(found(pieces), found([b"".join(pieces)]))

    def test_wrong_messages(self) -> None:
        """A wrong length, an unknown code, letters in the amount: garbled."""
        ask, answer = ASK.encode(), FULL_ANSWER.encode()
        for payload in (
            ask[:-1],
            ask + b" ",
            ask[:3] + b"x" + ask[4:],
            ask[:10] + b"7" + ask[11:],
            ask[:11] + b"?" + ask[12:],
            ask[:12] + b"9" + ask[13:],
            ask[:26] + b"C" + ask[27:],
        ):
            self.assertRaises(Garbled, ConcertRequest.decode, payload)
        for payload in (answer[:-1], answer[:5] + b"x" + answer[6:], answer[:24]):
            self.assertRaises(Garbled, ConcertAnswer.decode, payload)
        self.assertRaises(ValueError, ConcertRequest(100_000_000).encode)
        self.assertRaises(ValueError, ConcertAnswer(-1, "0").encode)

    def test_unknown_result(self) -> None:
        """An unknown result code is returned as it came and approves nothing."""
        answer = ConcertAnswer.decode(replace(SHORT_ANSWER, result_code="5").encode())
        self.assertEqual((answer.result_code, answer.result, answer.approved), ("5", None, False))

    @given(st.sampled_from(Mode), st.sampled_from(Kind), st.integers(0, 99_999_999), st.booleans(), st.booleans())
    @settings(max_examples=100, deadline=None)
    def test_any_request(self, mode: Mode, kind: Kind, cents: int, flag: bool, other: bool) -> None:
        """Every request is read back as it was written."""
        ask = ConcertRequest(cents, kind, "07", flag, mode, "980", "T1", other, flag)
        self.assertEqual(ConcertRequest.decode(ask.encode()), ask)

    @given(st.lists(st.binary(max_size=100), max_size=6))
    @settings(max_examples=200, deadline=None)
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Any bytes, cut anyhow, come out as pieces; any payload is a message or `Garbled`."""
        deframer = Deframer()
        for piece in pieces:
            for found in deframer.feed(piece):
                self.assertIsInstance(found, (Signal, Payload, Damaged, Noise))
            for decode in (ConcertRequest.decode, ConcertAnswer.decode):
                try:
                    decode(piece)
                except Garbled:
                    continue


class LineCase(SynchronousTestCase):
    """The till's end with a transport that remembers."""

    def line(self) -> ConcertProtocol:
        """A connected line."""
        self.clock = Clock()
        self.late: list[ConcertAnswer] = []
        line = ConcertProtocol(self.clock, Settings(), self.late.append)
        self.transport = StringTransport()
        line.makeConnection(self.transport)
        return line

    def said(self) -> bytes:
        """What the till said since the last time."""
        said: bytes = self.transport.value()
        self.transport.clear()
        return said

    def asked(self, keep: Any = None) -> tuple[ConcertProtocol, Deferred[ConcertAnswer]]:
        """A line whose request was acknowledged."""
        line = self.line()
        due = line.ask(ASK, 300, keep)
        line.dataReceived(ACK)
        line.dataReceived(ACK)
        self.assertEqual(self.said(), ENQ + ASK_FRAME + EOT)
        return line, due


class LineTests(LineCase):
    """Two sessions make one operation."""

    def test_payment_refused(self) -> None:
        """The published dialogue, byte for byte."""
        line = self.line()
        due = line.ask(ASK, 300)
        self.assertEqual(self.said(), ENQ)
        line.dataReceived(ACK)
        self.assertEqual(self.said(), ASK_FRAME)
        line.dataReceived(ACK)
        self.assertEqual(self.said(), EOT)
        self.clock.advance(120)
        line.dataReceived(ENQ)
        self.assertEqual(self.said(), ACK)
        for byte in SHORT_FRAME:
            line.dataReceived(bytes((byte,)))
        self.assertEqual(self.said(), ACK)
        self.assertNoResult(due)
        line.dataReceived(EOT)
        answer = self.successResultOf(due)
        self.assertEqual((answer, answer.result), (SHORT_ANSWER, Result.REFUSED))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_missing_end_of_session(self) -> None:
        """An answer that is acknowledged counts even when the terminal never ends its session."""
        line, due = self.asked()
        line.dataReceived(ENQ + FULL_FRAME)
        self.clock.advance(1)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)

    def test_not_ready(self) -> None:
        """NAK or EOT to the call means busy: nothing was asked."""
        for busy in (NAK, EOT):
            line = self.line()
            due = line.ask(ASK, 300)
            line.dataReceived(busy)
            self.failureResultOf(due, NotReady)
            self.assertEqual(self.said(), ENQ)

    def test_nobody_answers_the_call(self) -> None:
        """The till calls four times, a second apart, and then knows that nothing was asked."""
        line = self.line()
        due = line.ask(ASK, 300)
        line.dataReceived(b"\xff\xfe")
        self.clock.pump([1, 1, 1])
        self.assertEqual(self.said(), ENQ * 4)
        self.assertNoResult(due)
        self.clock.advance(1)
        self.assertIn("ff fe", str(self.failureResultOf(due, Unanswered).value))
        self.assertEqual(self.said(), EOT)

    def test_request_refused_on_the_link(self) -> None:
        """NAK is met with the very same frame three times; the fourth proves that nothing was taken."""
        line = self.line()
        due = line.ask(ASK, 300)
        line.dataReceived(ACK + NAK + NAK + NAK)
        self.assertEqual(self.said(), ENQ + ASK_FRAME * 4)
        line.dataReceived(NAK)
        self.failureResultOf(due, NotTaken)
        self.assertEqual(self.said(), EOT)

    def test_request_met_with_silence(self) -> None:
        """A request that meets silence is not sent again; its answer, when it comes, still counts."""
        line = self.line()
        due = line.ask(ASK, 300)
        line.dataReceived(ACK)
        self.clock.advance(1)
        self.assertEqual(self.said(), ENQ + ASK_FRAME + EOT)
        self.clock.advance(100)
        line.dataReceived(ENQ + FULL_FRAME + EOT)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)

    def test_request_met_with_silence_for_good(self) -> None:
        """When no answer comes either, the outcome is unknown."""
        line = self.line()
        due = line.ask(ASK, 300)
        line.dataReceived(ACK)
        self.clock.advance(299.9)
        self.assertNoResult(due)
        self.clock.advance(0.1)
        self.assertFalse(self.failureResultOf(due, Silent).value.taken)
        self.assertEqual(self.said(), ENQ + ASK_FRAME + EOT)

    def test_answer_instead_of_an_acknowledgement(self) -> None:
        """A terminal that begins its session at once has read the request."""
        line = self.line()
        due = line.ask(ASK, 300)
        line.dataReceived(ACK + ENQ + FULL_FRAME + EOT)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)
        line = self.line()
        due = line.ask(ASK, 300)
        line.dataReceived(ACK + FULL_FRAME + EOT)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)

    def test_session_instead_of_an_acknowledgement(self) -> None:
        """A terminal that opens its session has read the request, though the answer never comes."""
        line = self.line()
        due = line.ask(ASK, 300)
        line.dataReceived(ACK + ENQ + EOT)
        self.clock.advance(300)
        self.assertTrue(self.failureResultOf(due, Silent).value.taken)

    def test_nothing_is_repeated_later(self) -> None:
        """Once acknowledged, neither time nor stray bytes make the request go out again."""
        line, due = self.asked()
        line.dataReceived(NAK + ACK + EOT + b"\xff")
        self.clock.advance(299.9)
        self.assertEqual(self.said(), b"")
        self.assertNoResult(due)
        self.clock.advance(0.1)
        self.assertTrue(self.failureResultOf(due, Silent).value.taken)

    def test_damaged_answer(self) -> None:
        """A damaged answer gets NAK; its repeat is the answer."""
        line, due = self.asked()
        line.dataReceived(ENQ + FULL_FRAME[:-1] + b"\x00")
        self.assertEqual(self.said(), ACK + NAK)
        line.dataReceived(FULL_FRAME + EOT)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)

    def test_damaged_for_good(self) -> None:
        """A terminal that only sends damaged frames is not asked for ever."""
        line, due = self.asked()
        line.dataReceived(ENQ + (FULL_FRAME[:-1] + b"\x00") * 10)
        self.assertEqual(self.said(), ACK + NAK * 3)
        self.clock.advance(300)
        self.failureResultOf(due, Silent)

    def test_answer_breaks_off(self) -> None:
        """A frame that stops in its middle is asked for again after a second."""
        line, due = self.asked()
        line.dataReceived(ENQ + FULL_FRAME[:40])
        self.clock.advance(1)
        self.assertEqual(self.said(), ACK + NAK)
        line.dataReceived(FULL_FRAME + EOT)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)

    def test_call_without_an_answer(self) -> None:
        """A call of the terminal that brings nothing changes nothing."""
        line, due = self.asked()
        line.dataReceived(ENQ)
        self.clock.advance(2)
        line.dataReceived(ENQ + EOT)
        line.dataReceived(ENQ + FULL_FRAME + EOT)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)

    def test_answer_told_twice(self) -> None:
        """A repeat of the answer is acknowledged again and delivered once."""
        line, due = self.asked()
        line.dataReceived(ENQ + FULL_FRAME + FULL_FRAME + ENQ + FULL_FRAME + EOT)
        self.assertEqual(self.said(), ACK * 5)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)
        self.assertEqual(self.late, [])

    def test_answer_to_something_else(self) -> None:
        """An answer with another amount, register or currency is acknowledged, handed on, and not ours."""
        line, due = self.asked()
        others = [
            replace(FULL_ANSWER, **change) for change in ({"cents": 1}, {"register": "02"}, {"currency": "980"})
        ]
        for other in others:
            line.dataReceived(ENQ + frame(other.encode()) + EOT)
        self.assertEqual(self.late, others)
        self.assertNoResult(due)
        line.dataReceived(ENQ + FULL_FRAME + EOT)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)

    def test_earlier_answer_comes_into_the_call(self) -> None:
        """A terminal that calls while the till calls is heard first, then the till calls again."""
        line = self.line()
        due = line.ask(ASK, 300)
        line.dataReceived(ENQ + FULL_FRAME)
        self.assertEqual(self.late, [FULL_ANSWER], "the same amount, yet from before")
        line.dataReceived(EOT)
        self.assertEqual(self.said(), ENQ + ACK + ACK + ENQ)
        line.dataReceived(ACK + ACK + ENQ + SHORT_FRAME + EOT)
        self.assertEqual(self.successResultOf(due), SHORT_ANSWER)

    def test_answer_while_nobody_asks(self) -> None:
        """An answer after the limit is handed on as late when the line is still there."""
        line, due = self.asked()
        self.clock.advance(300)
        self.failureResultOf(due, Silent)
        self.assertTrue(self.transport.disconnecting)
        line.dataReceived(ENQ + FULL_FRAME + EOT)
        self.assertEqual(self.late, [FULL_ANSWER])

    def test_late_answer_not_kept(self) -> None:
        """A late answer that could not be kept is not acknowledged, so the terminal repeats it."""
        line = self.line()
        self.patch(line, "_late", lambda _: fail(OSError("disk full")))
        line.dataReceived(ENQ + FULL_FRAME)
        self.assertEqual(self.said(), ACK)
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_unreadable_answer(self) -> None:
        """An answer with a right check byte that says nothing readable leaves the outcome unknown."""
        line, due = self.asked()
        line.dataReceived(ENQ + frame(b"x" * 25))
        self.failureResultOf(due, Garbled)

    def test_stored_before_acknowledged(self) -> None:
        """The terminal hears of our acknowledgement only when the answer is stored."""
        stored: Deferred[None] = Deferred()
        line, due = self.asked(lambda _: stored)
        line.dataReceived(ENQ + FULL_FRAME + FULL_FRAME + ENQ)
        self.clock.advance(500)
        self.assertEqual(self.said(), ACK)
        stored.callback(None)
        self.assertEqual(self.said(), ACK)
        line.dataReceived(EOT)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)

    def test_storing_fails(self) -> None:
        """An answer that cannot be stored is not acknowledged, and the caller hears why."""
        line, due = self.asked(lambda _: fail(OSError("disk full")))
        line.dataReceived(ENQ + FULL_FRAME)
        self.failureResultOf(due, OSError)
        self.assertEqual(self.said(), ACK)

    def test_line_lost(self) -> None:
        """Lost before the request it is certain that nothing was taken, afterwards it is unknown."""
        for heard, error in ((b"", NotReached), (ACK, LineLost), (ACK + ACK, LineLost), (ACK + ACK + ENQ, LineLost)):
            line = self.line()
            due = line.ask(ASK, 300)
            line.dataReceived(heard)
            line.connectionLost(Failure(ConnectionLost()))
            self.failureResultOf(due, error)
            self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_line_lost_with_the_answer_here(self) -> None:
        """An answer that is read is not lost with the line, stored already or not."""
        line, due = self.asked()
        line.dataReceived(ENQ + FULL_FRAME)
        line.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)
        stored: Deferred[None] = Deferred()
        line, due = self.asked(lambda _: stored)
        line.dataReceived(ENQ + FULL_FRAME)
        line.connectionLost(Failure(ConnectionDone()))
        self.assertNoResult(due)
        stored.callback(None)
        self.assertEqual(self.successResultOf(due), FULL_ANSWER)

    def test_interrupt(self) -> None:
        """The call can be taken back until the request is on its way."""
        line = self.line()
        due = line.ask(ASK, 300)
        self.assertTrue(line.interrupt())
        self.failureResultOf(due, Interrupted)
        self.assertEqual(self.said(), ENQ + EOT)
        line, due = self.asked()
        self.assertFalse(line.interrupt())
        self.assertNoResult(due)

    def test_nobody_waits_any_more(self) -> None:
        """Cancelling closes the line."""
        line, due = self.asked()
        due.addErrback(lambda _: None)
        due.cancel()
        self.assertTrue(self.transport.disconnecting)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertFalse(line.interrupt())

    def test_ping(self) -> None:
        """A ping is a call that is ended when the terminal listens, after an operation too."""
        line, due = self.asked()
        line.dataReceived(ENQ + FULL_FRAME + EOT)
        self.successResultOf(due)
        self.said()
        pinged = line.ping()
        line.dataReceived(ACK)
        self.successResultOf(pinged)
        self.assertEqual(self.said(), ENQ + EOT)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        pinged = line.ping()
        line.dataReceived(NAK)
        self.failureResultOf(pinged, NotReady)

    def test_closed_before_the_call(self) -> None:
        """Nothing is sent on a line that is closed already."""
        line = self.line()
        line.connectionLost(Failure(ConnectionDone()))
        self.failureResultOf(line.ask(ASK, 300), Unanswered)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    @given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from([ACK, NAK, ENQ, EOT])), max_size=8))
    @settings(max_examples=200, deadline=None)
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Any bytes on the line never raise out of it, never approve, and never make the request go out again."""
        line = self.line()
        due = line.ask(ASK, 300)
        for piece in pieces:
            line.dataReceived(piece)
            self.clock.advance(0.3)
        results: list[object] = []
        due.addBoth(results.append)
        self.clock.pump([1] * 8 + [300])
        self.assertIsInstance(results[0], Failure)
        self.assertLessEqual(self.said().count(ASK_FRAME), 4)


class TerminalTests(SynchronousTestCase):
    """Operations against the simulated device."""

    def setUp(self) -> None:
        """A device that takes a second and a half for an operation."""
        self.clock = Clock()
        self.clock.advance(1_780_000_000)
        self.bank = Terminal(self.clock)
        self.device = ConcertDevice(self.bank, self.clock)
        self.late: list[ConcertAnswer] = []
        self.terminal = self.till()

    def till(self, **changes: Any) -> ConcertTerminal:
        """The service's end."""
        endpoint = InProcessEndpoint(self.device, self.clock)
        return ConcertTerminal(endpoint, self.clock, Settings(answer_wait=60, **changes), self.late.append)

    def scenario(self, on: str, then: str, **more: Any) -> None:
        """What shall go wrong next."""
        self.bank.scenario.replace({"rules": [{"on": on, "then": then, **more}]})

    def run_for(self, work: Coroutine[Any, Any, T], seconds: float = 5) -> Deferred[T]:
        """Let ``work`` have so many seconds."""
        due = Deferred.fromCoroutine(work)
        self.clock.pump([0.1] * int(seconds * 10))
        return due

    def sums(self) -> list[tuple[str, str, int]]:
        """What the device believes: kind, status, sum."""
        return [(entry.kind, entry.status, entry.sum) for entry in self.bank.entries()]

    def test_operations(self) -> None:
        """Payment, cancel and refund; money moves once each."""
        paid = self.successResultOf(self.run_for(self.terminal.pay(1250)))
        self.assertEqual((paid.approved, paid.card, paid.currency), (True, "516875XXXXXX7414", "980"))
        self.assertTrue(self.successResultOf(self.run_for(self.terminal.cancel(1250))).approved)
        self.assertTrue(self.successResultOf(self.run_for(self.terminal.refund(500))).approved)
        self.assertEqual(
            self.sums(), [("payment", "accepted", 1250), ("cancel", "accepted", 1250), ("refund", "accepted", 500)]
        )

    def test_at_once(self) -> None:
        """A device that needs no time at all is understood as well."""
        self.bank.duration = 0
        self.assertTrue(self.successResultOf(self.run_for(self.terminal.pay(1250), 2)).approved)

    def test_short_answers(self) -> None:
        """The short answer says the same without the card."""
        paid = self.successResultOf(self.run_for(self.till(full=False).pay(1250)))
        self.assertEqual((paid.approved, paid.report), (True, None))

    def test_refusals(self) -> None:
        """The bank's refusal is 7, an operation that the bank was not asked for is 9."""
        for code, result in (("51", Result.REFUSED), ("no_link", Result.NOT_VERIFIED), ("busy", Result.NOT_VERIFIED)):
            self.scenario("payment", "refuse", code=code)
            self.assertIs(self.successResultOf(self.run_for(self.terminal.pay(1250))).result, result)

    def test_lost(self) -> None:
        """Lost before or after the approval looks the same from here: unknown. The ledger distinguishes them."""
        for then, entries in (("lost_before", []), ("lost_after", [("payment", "accepted", 1250)])):
            self.scenario("payment", then)
            self.failureResultOf(self.run_for(self.terminal.pay(1250)), LineLost)
            self.assertEqual(self.sums(), entries)

    def test_silent_and_garbage(self) -> None:
        """Silence, and an answer that is damaged each time, leave the outcome unknown."""
        self.scenario("payment", "silent")
        self.failureResultOf(self.run_for(self.terminal.pay(1250), 61), Silent)
        self.assertEqual(self.sums(), [])
        self.scenario("payment", "garbage")
        self.failureResultOf(self.run_for(self.terminal.pay(1250), 61), Silent)
        self.assertEqual(self.sums(), [("payment", "accepted", 1250)])

    def test_nothing_taken(self) -> None:
        """A device that takes no call, or does not listen, took nothing."""
        self.scenario("payment", "unreachable")
        self.failureResultOf(self.run_for(self.terminal.pay(1250)), NotReached)
        for then, error in (("silent", NotReached), ("refuse", NotReady), ("garbage", Unanswered)):
            self.scenario("probe", then, times=0)
            self.failureResultOf(self.run_for(self.terminal.pay(1250)), error)
        self.scenario("probe", "lost_before")
        self.failureResultOf(self.run_for(self.terminal.ping()), NotReached)
        self.assertEqual(self.sums(), [])

    def test_busy(self) -> None:
        """A device that works for another till answers so, and the first payment is paid once."""
        self.bank.duration = 20
        first = self.run_for(self.terminal.pay(1250), 1)
        self.failureResultOf(self.run_for(self.till().pay(700)), NotReady)
        self.clock.pump([1] * 20)
        self.assertTrue(self.successResultOf(first).approved)
        self.assertEqual(self.sums(), [("payment", "accepted", 1250)])

    def test_line_breaks_while_the_customer_pays(self) -> None:
        """The device goes on by itself: the outcome is unknown here and paid there."""
        due = self.run_for(self.terminal.pay(1250), 0.5)
        due.addErrback(lambda _: None)
        due.cancel()
        self.clock.pump([0.5] * 20)
        self.assertEqual(self.sums(), [("payment", "accepted", 1250)])

    def test_ping_and_interrupt(self) -> None:
        """A ping finds the device listening; nothing runs that could be interrupted."""
        self.assertFalse(self.terminal.interrupt())
        self.successResultOf(self.run_for(self.terminal.ping()))
        self.assertFalse(self.terminal.interrupt())

    def line(self) -> tuple[Any, StringTransport]:
        """A line to the device, without a till."""
        line = self.device.buildProtocol(InProcessAddress())
        assert line is not None
        transport = StringTransport()
        line.makeConnection(transport)
        return line, transport

    def test_device_tells_again(self) -> None:
        """An answer that is not acknowledged is sent four times, then forgotten."""
        self.bank.duration = 0
        line, transport = self.line()
        line.dataReceived(ENQ + ASK_FRAME + EOT)
        line.dataReceived(ACK)
        self.clock.pump([1] * 5)
        self.assertEqual(transport.value()[2:3], ENQ)
        told = transport.value()[3:]
        self.assertEqual((told.count(b"\x02"), told[-1:]), (4, EOT))

    def test_device_calls_again(self) -> None:
        """A device whose call is not answered calls four times, then forgets its answer."""
        self.bank.duration = 0
        line, transport = self.line()
        line.dataReceived(ENQ + ASK_FRAME + EOT)
        self.clock.pump([1] * 5)
        self.assertEqual(transport.value(), ACK + ACK + ENQ * 4 + EOT)

    def test_device_refuses_damage(self) -> None:
        """The device answers a damaged or senseless request with NAK."""
        line, transport = self.line()
        line.dataReceived(ENQ + ASK_FRAME[:-1] + b"\x00" + frame(b"x"))
        self.assertEqual(transport.value(), ACK + NAK + NAK)
        self.assertEqual(self.sums(), [])

    @given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([ACK, NAK, ENQ, EOT, ASK_FRAME])), max_size=8))
    @settings(max_examples=100, deadline=None)
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Any bytes never crash the device."""
        self.setUp()
        line, _ = self.line()
        for piece in pieces:
            line.dataReceived(piece)
            self.clock.advance(0.5)
