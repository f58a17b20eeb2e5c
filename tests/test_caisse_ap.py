"""Caisse-AP over IP: fields, the end of a message, and what stays unknown when the line fails."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, NotReached, Silent
from protocols.simulators.caisse_ap import CaisseApDevice
from protocols.simulators.in_process import InProcessAddress, InProcessEndpoint
from protocols.simulators.terminal import Terminal
from protocols.terminals.caisse_ap import (
    Action,
    CaisseApAnswer,
    CaisseApProtocol,
    CaisseApRequest,
    CaisseApTerminal,
    Deframer,
    Detail,
    Done,
    Settings,
    encode_fields,
)
from tests.terminal_matrix import shows
from tests.vectors.caisse_ap import (
    APPROVED,
    DEBIT,
    MESSAGES,
    NOBODY_CAME,
    decode_fields,
)

T = TypeVar("T")

APPROVED_BYTES = MESSAGES[1].data


class VectorTests(SynchronousTestCase):
    """Captured messages, both ways."""

    def test_both_ways(self) -> None:
        """Every captured message is read as its meaning and written to the same bytes."""
        for vector in MESSAGES:
            fields = decode_fields(vector.data)
            read = (
                CaisseApRequest.of(fields)
                if isinstance(vector.message, CaisseApRequest)
                else CaisseApAnswer.of(fields)
            )
            self.assertEqual(read, vector.message, vector.id)
            self.assertEqual(vector.message.encode(), vector.data, vector.id)

    @shows("golden frames", wire="caisse-ap")
    def test_cut_everywhere(self) -> None:
        """However a message is cut, its fields come out whole."""
        for vector in MESSAGES:
            for cut in range(len(vector.data) + 1):
                deframer = Deframer()
                deframer.feed(vector.data[:cut])
                deframer.feed(vector.data[cut:])
                self.assertEqual(deframer.fields, decode_fields(vector.data))
                self.assertTrue(deframer.between_fields)

    @shows("golden frames", wire="caisse-ap")
    def test_broken_off_everywhere(self) -> None:
        """A message that breaks off is never read as a whole one that says something else."""
        for cut in range(len(APPROVED_BYTES)):
            try:
                answer = CaisseApAnswer.of(decode_fields(APPROVED_BYTES[:cut]))
            except (Garbled, KeyError):
                continue
            self.assertTrue(answer.approved)


class FieldTests(SynchronousTestCase):
    """What makes fields and what does not."""

    def test_wrong_fields(self) -> None:
        """A field twice, a length past the end, no CZ first, a length that is none: garbled."""
        for message in (
            b"CZ0040300CZ0040300",
            b"CZ0050300",
            b"CJ012012345678901",
            b"CZ0040300BA0x10",
            b"CZ0040300ba0010",
            b"CZ0040300\x00A0010",
            b"HTTP/1.1 400 Bad Request",
        ):
            self.assertRaises(Garbled, decode_fields, message)

    def test_garbage_is_told_early(self) -> None:
        """The first bytes of something else are enough to know it."""
        for first in (b"H", b"\x02", b"C0", b"CA", b"CZx"):
            self.assertRaises(Garbled, Deframer().feed, first)

    def test_any_order_and_unknown_fields(self) -> None:
        """Fields may come in any order behind CZ, and unknown ones are kept aside."""
        fields = decode_fields(APPROVED_BYTES)
        turned = {"CZ": fields["CZ"], **dict(reversed(list(fields.items())[1:])), "ZZ": "1"}
        answer = CaisseApAnswer.of(decode_fields(encode_fields(turned)))
        self.assertEqual(replace(answer, more=APPROVED.more), APPROVED)
        self.assertEqual(answer.more, {"CF": "1010000000", "ZZ": "1"})

    def test_wrong_values(self) -> None:
        """Values that do not fit are refused before they are sent."""
        for fields in ({"C": "1"}, {"C1": "1"}, {"CZ": "1" * 1000}, {"CZ": "é"}):
            self.assertRaises(ValueError, encode_fields, fields)
        self.assertRaises(ValueError, CaisseApRequest(Action.DEBIT, 10**12).encode)

    def test_small_amounts(self) -> None:
        """An amount has two digits at least, and is compared as a number."""
        ask = CaisseApRequest(Action.DEBIT, 5)
        self.assertIn(b"CB00205", ask.encode())
        fields = decode_fields(ask.encode()) | {"CB": "0005", "AE": "10"}
        self.assertTrue(CaisseApAnswer.of(fields).belongs_to(ask))

    def test_secrets_are_not_shown(self) -> None:
        """Card number, expiry and slip are not in the representation of an answer."""
        shown = repr(replace(APPROVED, slip="CARTE 4970101234567890"))
        for secret in ("837662", "2710", "4970"):
            self.assertNotIn(secret, shown)

    @given(st.lists(st.binary(max_size=40), max_size=6))
    @settings(max_examples=200, deadline=None)
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Any bytes are fields or `Garbled`."""
        deframer = Deframer()
        try:
            for piece in pieces:
                deframer.feed(piece)
        except Garbled:
            return
        self.assertLessEqual(sum(map(len, deframer.fields.values())), sum(map(len, pieces)))
        whole = Deframer()
        whole.feed(b"".join(pieces))
        self.assertEqual((whole.fields, whole.between_fields), (deframer.fields, deframer.between_fields))

    @given(st.dictionaries(st.from_regex(r"\A[A-Z]{2}\Z"), st.text("0123456789AB", max_size=12)))
    @settings(max_examples=200, deadline=None)
    def test_any_fields(self, more: dict[str, str]) -> None:
        """Any values in the fields of an answer are an answer or `Garbled`."""
        fields = decode_fields(APPROVED_BYTES) | more
        try:
            CaisseApAnswer.of(fields)
            CaisseApRequest.of(fields)
        except Garbled:
            return


class LineCase(SynchronousTestCase):
    """The till's end with a transport that remembers."""

    def ask(self, question: CaisseApRequest = DEBIT) -> tuple[CaisseApProtocol, Deferred[CaisseApAnswer]]:
        """A question that was just sent."""
        self.clock = Clock()
        line = CaisseApProtocol(self.clock, quiet=0.5)
        self.transport = StringTransport()
        line.makeConnection(self.transport)
        return line, line.ask(question, 300)


class LineTests(LineCase):
    """One question, one answer."""

    def test_answer_in_pieces(self) -> None:
        """Byte by byte the answer comes together; half a second of quiet ends it, and the line is closed."""
        line, due = self.ask()
        self.assertEqual(self.transport.value(), MESSAGES[0].data)
        for byte in APPROVED_BYTES:
            self.clock.advance(0.4)
            line.dataReceived(bytes((byte,)))
        self.clock.advance(0.4)
        self.assertNoResult(due)
        self.clock.advance(0.2)
        self.assertEqual(self.successResultOf(due), APPROVED)
        self.assertTrue(self.transport.disconnecting)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_answer_and_end(self) -> None:
        """The end of the line ends the answer at once."""
        line, due = self.ask()
        line.dataReceived(APPROVED_BYTES)
        line.connectionLost(Failure(ConnectionDone()))
        self.assertEqual(self.successResultOf(due), APPROVED)

    def test_line_lost(self) -> None:
        """The end of the line without an answer leaves the outcome unknown."""
        for reason in (ConnectionDone(), ConnectionLost("reset")):
            line, due = self.ask()
            line.connectionLost(Failure(reason))
            self.failureResultOf(due, LineLost)

    def test_answer_breaks_off(self) -> None:
        """An answer cut inside a field, or before it says how it went, is no answer."""
        for cut in (1, 9, 50, 70, len(APPROVED_BYTES) - 1):
            line, due = self.ask()
            line.dataReceived(APPROVED_BYTES[:cut])
            line.connectionLost(Failure(ConnectionDone()))
            self.failureResultOf(due, Garbled)

    def test_garbage(self) -> None:
        """Garbage before, inside or behind the answer ends the wait at once."""
        for data in (b"\xff" + APPROVED_BYTES, APPROVED_BYTES[:60] + b"\xff" + APPROVED_BYTES[60:]):
            line, due = self.ask()
            line.dataReceived(data)
            self.failureResultOf(due, Garbled)
        line, due = self.ask()
        line.dataReceived(APPROVED_BYTES + b"\xff\xff")
        self.failureResultOf(due, Garbled)

    def test_answer_to_another_question(self) -> None:
        """Another amount, register, currency or action makes it the answer to another request."""
        for other in (
            replace(DEBIT, cents=1235),
            replace(DEBIT, register="02"),
            replace(DEBIT, currency="980"),
            replace(DEBIT, action=Action.CREDIT),
            replace(DEBIT, protocol_id="000000000001"),
        ):
            line, due = self.ask(other)
            line.dataReceived(APPROVED_BYTES)
            self.clock.advance(1)
            self.failureResultOf(due, Garbled)

    def test_partial_approval(self) -> None:
        """Less is the answer to another request, unless less was allowed."""
        less = replace(APPROVED, ask=replace(DEBIT, cents=1000)).encode()
        line, due = self.ask(replace(DEBIT, partial=True))
        line.dataReceived(less)
        self.clock.advance(1)
        self.assertEqual(self.successResultOf(due).ask.cents, 1000)
        line, due = self.ask(DEBIT)
        line.dataReceived(less)
        self.clock.advance(1)
        self.failureResultOf(due, Garbled)

    def test_too_late(self) -> None:
        """Without an answer in 300 s the outcome is unknown; a later answer is dropped."""
        line, due = self.ask()
        self.clock.advance(299.9)
        self.assertNoResult(due)
        self.clock.advance(0.1)
        self.failureResultOf(due, Silent)
        line.dataReceived(APPROVED_BYTES)
        self.clock.advance(1)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_closed_before_asking(self) -> None:
        """Nothing is sent on a line that is closed already."""
        line = CaisseApProtocol(Clock(), 0.5)
        line.makeConnection(StringTransport())
        line.connectionLost(Failure(ConnectionDone()))
        self.failureResultOf(line.ask(DEBIT, 300), NotReached)

    def test_nobody_waits_any_more(self) -> None:
        """Cancelling closes the line."""
        _, due = self.ask()
        due.addErrback(lambda _: None)
        due.cancel()
        self.assertTrue(self.transport.disconnecting)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    @given(st.lists(st.binary(max_size=60), max_size=5))
    @settings(max_examples=100, deadline=None)
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Any bytes on the line never raise out of it, and never approve anything."""
        line, due = self.ask()
        for piece in pieces:
            line.dataReceived(piece)
        results: list[object] = []
        due.addBoth(results.append)
        self.clock.advance(300)
        self.assertIsInstance(results[0], Failure)


class TerminalTests(SynchronousTestCase):
    """Operations against the simulated device."""

    def setUp(self) -> None:
        """A device that takes a second and a half for an operation."""
        self.clock = Clock()
        self.clock.advance(1_780_000_000)
        self.bank = Terminal(self.clock)
        self.device = CaisseApDevice(self.bank, self.clock)
        self.endpoint = InProcessEndpoint(self.device, self.clock)
        self.terminal = CaisseApTerminal(self.endpoint, self.clock, Settings(answer_wait=60))

    def scenario(self, on: str, then: str, **more: Any) -> None:
        """What shall go wrong next."""
        self.bank.scenario.replace({"rules": [{"on": on, "then": then, **more}]})

    def run_for(self, work: Coroutine[Any, Any, T], seconds: float = 4) -> Deferred[T]:
        """Let ``work`` have so many seconds."""
        due = Deferred.fromCoroutine(work)
        self.clock.pump([0.1] * int(seconds * 10))
        return due

    def sums(self) -> list[tuple[str, str, int]]:
        """What the device believes: kind, status, sum."""
        return [(entry.kind, entry.status, entry.sum) for entry in self.bank.entries()]

    def test_operations(self) -> None:
        """Payment, cancel, refund and duplicate; money moves once each."""
        paid = self.successResultOf(self.run_for(self.terminal.pay(1250)))
        self.assertTrue(paid.approved)
        self.assertEqual((paid.pan, paid.application), ("516875######7414", "00B"))
        self.assertTrue(self.successResultOf(self.run_for(self.terminal.cancel(1250))).approved)
        self.assertTrue(self.successResultOf(self.run_for(self.terminal.refund(500))).approved)
        self.assertTrue(self.successResultOf(self.run_for(self.terminal.reprint())).approved)
        self.assertEqual(
            self.sums(), [("payment", "accepted", 1250), ("cancel", "accepted", 1250), ("refund", "accepted", 500)]
        )

    def test_kept(self) -> None:
        """The answer is kept before the caller has it."""
        kept: list[CaisseApAnswer] = []
        answer = self.successResultOf(self.run_for(self.terminal.pay(1250, keep=kept.append)))
        self.assertEqual(kept, [answer])

    def test_refusals(self) -> None:
        """Refusals come with the wire's own detail."""
        for code, detail in (
            ("51", Detail.REFUSED),
            ("timeout", Detail.INPUT_TIMEOUT),
            ("cancelled", Detail.ABANDONED),
            ("05", Detail.FORBIDDEN),
        ):
            self.scenario("payment", "refuse", code=code)
            answer = self.successResultOf(self.run_for(self.terminal.pay(1250)))
            self.assertEqual((answer.done, answer.detail), (Done.NOT_DONE, detail))

    def test_currency(self) -> None:
        """A currency that the device does not take is refused before anything happens."""
        terminal = CaisseApTerminal(self.endpoint, self.clock, Settings(currency="840"))
        self.assertIs(self.successResultOf(self.run_for(terminal.pay(1250))).detail, Detail.CURRENCY)
        self.assertEqual(self.sums(), [])

    def test_lost(self) -> None:
        """Lost before or after the approval looks the same from here: unknown. The ledger distinguishes them."""
        for then, entries in (("lost_before", []), ("lost_after", [("payment", "accepted", 1250)])):
            self.scenario("payment", then)
            self.failureResultOf(self.run_for(self.terminal.pay(1250)), LineLost)
            self.assertEqual(self.sums(), entries)

    def test_silent_and_garbage(self) -> None:
        """Silence and garbage leave the outcome unknown too."""
        self.scenario("payment", "silent")
        self.failureResultOf(self.run_for(self.terminal.pay(1250), 61), Silent)
        self.scenario("payment", "garbage")
        self.failureResultOf(self.run_for(self.terminal.pay(1250)), Garbled)
        self.assertEqual(self.sums(), [("payment", "accepted", 1250)])

    def test_unreachable(self) -> None:
        """A device that takes no call took nothing."""
        self.scenario("payment", "unreachable")
        self.failureResultOf(self.run_for(self.terminal.pay(1250)), NotReached)
        self.assertEqual(self.sums(), [])

    def test_partial_without_leave(self) -> None:
        """Less than was asked, without having been allowed, is not taken for the sum."""
        self.scenario("payment", "accept", code="partial:1000")
        self.failureResultOf(self.run_for(self.terminal.pay(1250)), Garbled)

    def test_busy(self) -> None:
        """A device that waits for a card ignores the second request; the first is paid once."""
        self.bank.duration = 100
        first = self.run_for(CaisseApTerminal(self.endpoint, self.clock).pay(1250), 1)
        self.failureResultOf(self.run_for(self.terminal.pay(700), 61), Silent)
        self.clock.pump([1] * 60)
        self.successResultOf(first)
        self.assertEqual(self.sums(), [("payment", "accepted", 1250)])

    def test_line_breaks_while_the_customer_pays(self) -> None:
        """The device goes on by itself: the outcome is unknown here and paid there."""
        due = self.run_for(self.terminal.pay(1250), 0.5)
        due.addErrback(lambda _: None)
        due.cancel()
        self.clock.pump([0.5] * 5)
        self.assertEqual(self.sums(), [("payment", "accepted", 1250)])

    def test_ping(self) -> None:
        """A ping is a connection and nothing else."""
        self.successResultOf(self.run_for(self.terminal.ping()))
        self.scenario("payment", "unreachable")
        self.failureResultOf(self.run_for(self.terminal.ping()), NotReached)

    def line(self) -> tuple[Any, StringTransport]:
        """A line to the device, without a till."""
        line = self.device.buildProtocol(InProcessAddress())
        assert line is not None
        transport = StringTransport()
        line.makeConnection(transport)
        return line, transport

    def test_format_errors(self) -> None:
        """The device answers a message it cannot read with AE 01 and AF 09, an unknown action with 12."""
        for message, detail in (
            (b"CZ0040300CZ0040300", "09"),
            (DEBIT.encode().replace(b"CD0010", b"CD0017"), "12"),
            (DEBIT.encode().replace(b"CB0041234", b"CB00412x4"), "09"),
            (DEBIT.encode().replace(b"CJ012012345678901", b"CJ01201234567890\xff"), "09"),
        ):
            line, transport = self.line()
            line.dataReceived(message)
            self.clock.advance(1)
            fields = decode_fields(transport.value())
            self.assertEqual((fields["AE"], fields["AF"]), ("01", detail))
        self.assertEqual(self.sums(), [])

    def test_answer_at_once(self) -> None:
        """Asked to answer at once, the device says no more than that it has taken the request."""
        line, transport = self.line()
        line.dataReceived(replace(DEBIT, at_once=True).encode())
        self.clock.advance(0.1)
        answer = CaisseApAnswer.of(decode_fields(transport.value()))
        self.assertEqual((answer.done, answer.approved), (Done.TAKEN, False))

    def test_nobody_came(self) -> None:
        """The captured refusal is what the device says when no card is shown."""
        self.scenario("refund", "refuse", code="timeout")
        line, transport = self.line()
        line.dataReceived(MESSAGES[2].data)
        self.clock.pump([0.1] * 30)
        self.assertEqual(CaisseApAnswer.of(decode_fields(transport.value())), NOBODY_CAME)

    @given(st.lists(st.one_of(st.binary(max_size=60), st.just(DEBIT.encode()[:40])), max_size=5))
    @settings(max_examples=100, deadline=None)
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Any bytes never crash the device, nor move money."""
        self.setUp()
        line, _ = self.line()
        for piece in pieces:
            line.dataReceived(piece)
            self.clock.advance(1)
        self.assertEqual(self.sums(), [])
