"""ECR17: frames, the till's end of the line, and what becomes of the money when the line fails."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, fail
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, NotReached, Silent
from protocols.simulators.ecr17 import NO_SERVICE, Ecr17Device
from protocols.simulators.in_process import InProcessAddress, InProcessEndpoint
from protocols.simulators.terminal import Terminal
from protocols.terminals.ecr17.answers import (
    Acknowledged,
    CardAnswer,
    PaymentAnswer,
    Receipt,
    ServiceAnswer,
    ServicePart,
    TerminalState,
    decode_answer,
)
from protocols.terminals.ecr17.frames import (
    Acknowledgement,
    Deframer,
    DisplayText,
    Lrc,
    control,
    frame,
)
from protocols.terminals.ecr17.line import Ecr17Protocol, NotOperative, NotTaken, Settings
from protocols.terminals.ecr17.requests import (
    LastResult,
    Payment,
    PaymentKind,
    PrintOnRegister,
    Report,
    ReportKind,
    Reprint,
    Service,
    StatusRequest,
    decode_request,
)
from protocols.terminals.ecr17.terminal import Ecr17Terminal
from protocols.terminals.ecr17.ticket import read_tickets, write_ticket
from protocols.terminals.stx_frames import (
    ACK,
    NAK,
    Damaged,
    Noise,
    Payload,
)
from tests.terminal_matrix import shows
from tests.vectors.ecr17 import (
    ACKNOWLEDGEMENTS,
    ANSWERS,
    APPROVED_PAYMENT,
    BARE,
    PROGRESS,
    REFUSED_PAYMENT,
    REQUESTS,
    SERVICE,
    SERVICE_PARTS,
    TICKET,
)

T = TypeVar("T")


class VectorTests(SynchronousTestCase):
    """Published frames, both ways."""

    def test_requests(self) -> None:
        """Every request encodes to the published bytes and is read back from them."""
        for vector in REQUESTS:
            assert not isinstance(vector.message, bytes)
            self.assertEqual(frame(vector.message.encode(), vector.lrc), vector.frame, vector.id)
            self.assertEqual(decode_request(vector.frame[1:-2]), vector.message, vector.id)

    def test_answers(self) -> None:
        """Every answer is read from the published bytes and encodes to them."""
        for vector in ANSWERS:
            assert not isinstance(vector.message, bytes)
            self.assertEqual(decode_answer(vector.frame[1:-2]), vector.message, vector.id)
            self.assertEqual(frame(vector.message.encode(), vector.lrc), vector.frame, vector.id)

    def test_check_bytes(self) -> None:
        """Bare payloads and acknowledgements carry the published check bytes in each variant."""
        for vector in BARE:
            assert isinstance(vector.message, bytes)
            self.assertEqual(frame(vector.message, vector.lrc), vector.frame, vector.id)
        for byte, lrc, whole in ACKNOWLEDGEMENTS:
            self.assertEqual(control(byte, lrc), whole)
            self.assertEqual(Deframer(lrc).feed(whole), [Acknowledgement(byte == ACK)])

    def test_progress(self) -> None:
        """A line of the display is 20 characters between SOH and EOT."""
        message, whole = PROGRESS
        self.assertEqual(message.encode(), whole)
        self.assertEqual(Deframer().feed(whole), [message])

    @shows("golden frames", wire="ecr17")
    def test_cut_everywhere(self) -> None:
        """However a frame is cut, its payload comes out whole and once."""
        for vector in (*REQUESTS, *ANSWERS, *BARE):
            wanted = [Payload(vector.frame[1:-2])]
            for cut in range(len(vector.frame) + 1):
                deframer = Deframer(vector.lrc)
                self.assertEqual(deframer.feed(vector.frame[:cut]) + deframer.feed(vector.frame[cut:]), wanted)
            deframer = Deframer(vector.lrc)
            pieces = [piece for byte in vector.frame for piece in deframer.feed(bytes((byte,)))]
            self.assertEqual(pieces, wanted)

    def test_card_numbers_are_masked(self) -> None:
        """Six digits, stars, four digits; the whole number is not even in the representation."""
        self.assertEqual(APPROVED_PAYMENT.card, "4111111111", "ten digits: there is nothing left to mask")
        answer = PaymentAnswer("00", pan="0004111111111111111")
        self.assertEqual(answer.card, "411111******1111")
        self.assertNotIn("4111111111111111", repr(answer))

    def test_services(self) -> None:
        """A question to an application, and the pieces of its answer, as the public page lays them out."""
        request, payload = SERVICE
        self.assertEqual((request.encode(), decode_request(payload)), (payload, request))
        for part, payload in SERVICE_PARTS:
            self.assertEqual(decode_answer(payload), part)
            self.assertEqual(decode_answer(part.encode()), part)
        self.assertRaises(ValueError, Service("x" * 1025).encode)
        self.assertRaises(ValueError, Service("").encode)
        for wrong in (payload[:-1], payload + b"x", payload.replace(b"K00000", b"K00009"), payload[:20]):
            self.assertRaises(Garbled, decode_answer, wrong)
        self.assertRaises(Garbled, decode_request, SERVICE[1] + b"x")

    def test_tickets(self) -> None:
        """A receipt is read from however many pieces; what a terminal writes is read back, long lines too."""
        pieces, text = TICKET
        self.assertEqual(read_tickets("".join(pieces)), text)
        self.assertEqual(read_tickets("".join(pieces) * 2), f"{text}\n\n{text}")
        self.assertEqual(read_tickets(""), "")
        wide = "\x7b123456789012abc}\x5e" + "c" * 42 + "d"
        self.assertEqual(read_tickets(wide), f"123456789012\nabc\n{'c' * 42}\nd")
        long = "\n".join(("a" * 24, "b" * 30, "", "end")) + "\n" + "c" * 300
        sent = write_ticket(long)
        self.assertTrue(all(len(piece) <= 200 for piece in sent) and len(sent) > 1)
        folded = "\n".join(("a" * 24, "b" * 24, "b" * 6, "", "end", *["c" * 24] * 12, "c" * 12))
        self.assertEqual(read_tickets("".join(sent)), folded)


class DeframerTests(SynchronousTestCase):
    """What is no frame, and what was one."""

    def test_wrong_check_byte(self) -> None:
        """A frame of another variant is damaged, not read."""
        for lrc in Lrc:
            for other in Lrc:
                piece = Deframer(other).feed(frame(b"123456780s", lrc))[0]
                self.assertIsInstance(piece, Payload if lrc is other else Damaged)

    def test_garbage_around(self) -> None:
        """Garbage before and after a frame is noise, and the frame is found."""
        whole = frame(b"123456780s")
        self.assertEqual(
            Deframer().feed(b"\r\n?" + whole + b"\xff\xfe"),
            [Noise(b"\r\n?"), Payload(b"123456780s"), Noise(b"\xff\xfe")],
        )

    def test_garbage_inside(self) -> None:
        """A frame with a byte too many or too few is damaged, and the next one is found."""
        whole = frame(b"123456780s")
        for broken in (whole[:5] + b"x" + whole[5:], whole[:5] + whole[6:]):
            self.assertEqual(Deframer().feed(broken + whole), [Damaged(broken), Payload(b"123456780s")])

    def test_lost_end(self) -> None:
        """When the end of a frame is lost, its repeat is found."""
        whole = frame(b"123456780s")
        self.assertEqual(Deframer().feed(whole[:-2] + whole), [Damaged(whole[:-2]), Payload(b"123456780s")])

    def test_no_end(self) -> None:
        """An endless frame is noise, not memory."""
        pieces = Deframer().feed(b"\x02" + b"x" * 5000)
        self.assertIsInstance(pieces[0], Noise)
        self.assertEqual(Deframer().feed(b"\x01" + b"x" * 5000)[0], Noise(b"\x01"))

    @given(st.lists(st.binary(max_size=40), max_size=8))
    @settings(max_examples=200, deadline=None)
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Any bytes, cut anyhow, come out as pieces and never as an error."""
        deframer = Deframer()
        for piece in pieces:
            for found in deframer.feed(piece):
                self.assertIsInstance(found, (Payload, Acknowledgement, DisplayText, Damaged, Noise))

    @given(
        st.lists(
            st.binary(max_size=40)
            | st.sampled_from([b"\x02" + b"x" * 1250, b"\x02", b"\x03", b"\x04", *(v.frame for v in REQUESTS[:4])]),
            max_size=8,
        )
    )
    def test_any_cut(self, pieces: list[bytes]) -> None:
        """Frames are the same however the bytes are cut, also after one that is too long."""

        def found(data: Iterable[bytes]) -> list[object]:
            deframer = Deframer()
            every = [piece for each in data for piece in deframer.feed(each)]
            return [piece for piece in every if not isinstance(piece, Noise)]

        self.assertEqual(found(pieces), found([b"".join(pieces)]))

    @given(st.binary(max_size=200), st.sampled_from("EVHeTCsSPXpicGRK?"))
    @settings(max_examples=300, deadline=None)
    def test_any_payload(self, data: bytes, code: str) -> None:
        """Any payload is a message or `Garbled`, on both sides."""
        for payload in (data, b"123456780" + code.encode() + data, b"123456780" + code.encode() + b"00" + data):
            for decode in (decode_answer, decode_request):
                try:
                    decode(payload)
                except Garbled:
                    continue


APPROVED_FRAME = frame(APPROVED_PAYMENT.encode())
REFUSED_FRAME = frame(REFUSED_PAYMENT.encode())
TAKEN, AGAIN = control(ACK), control(NAK)


class LineCase(SynchronousTestCase):
    """The till's end with a transport that remembers."""

    def line(self, **changes: Any) -> Ecr17Protocol:
        """A connected line with the standard check byte."""
        self.clock = Clock()
        self.shown: list[str] = []
        self.receipts: list[Receipt] = []
        self.late: list[object] = []
        line = Ecr17Protocol(
            self.clock,
            Settings(lrc=Lrc.STD, **changes),
            Lrc.STD,
            self.shown.append,
            self.receipts.append,
            self.late.append,
        )
        self.transport = StringTransport()
        line.makeConnection(self.transport)
        return line


class LineTests(LineCase):
    """One question, its acknowledgement, its answer."""

    def test_payment(self) -> None:
        """Request, acknowledgement, progress, answer, acknowledgement."""
        line = self.line()
        due = line.ask(Payment(1250, terminal="12345678"), 300)
        self.assertEqual(self.transport.value(), REQUESTS[1].frame)
        self.transport.clear()
        for byte in TAKEN + PROGRESS[1] + APPROVED_FRAME:
            line.dataReceived(bytes((byte,)))
        self.assertEqual(self.successResultOf(due), APPROVED_PAYMENT)
        self.assertEqual(self.shown, ["IN CORSO"])
        self.assertEqual(self.transport.value(), TAKEN)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    @shows("rule 4")
    def test_money_is_not_repeated_in_silence(self) -> None:
        """A payment that meets silence is sent once, and its outcome is unknown after 8 seconds."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        once = self.transport.value()
        self.clock.pump([2, 2, 2, 1.9])
        self.assertNoResult(due)
        self.clock.advance(0.1)
        self.assertFalse(self.failureResultOf(due, Silent).value.taken)
        self.assertEqual(self.transport.value(), once)
        self.assertTrue(self.transport.disconnecting)

    def test_late_acknowledgement(self) -> None:
        """A slow acknowledgement within that time is good."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        self.clock.pump([2, 2, 2])
        line.dataReceived(TAKEN)
        self.clock.advance(100)
        line.dataReceived(APPROVED_FRAME)
        self.assertEqual(self.successResultOf(due), APPROVED_PAYMENT)

    def test_queries_are_repeated(self) -> None:
        """A query that meets silence is sent three times more, two seconds apart."""
        line = self.line()
        due = line.ask(StatusRequest(), 300)
        once = self.transport.value()
        self.clock.pump([2, 2, 2])
        self.assertEqual(self.transport.value(), once * 4)
        self.assertNoResult(due)
        self.clock.advance(2)
        self.assertIsInstance(self.failureResultOf(due).value, Silent)

    def test_repeats_of_money_as_a_setting(self) -> None:
        """Where a terminal is known to tell a repeat from a new payment, silence is met with repeats."""
        line = self.line(repeat_money=True)
        due = line.ask(Payment(1250), 300)
        once = self.transport.value()
        self.clock.pump([2, 2, 2])
        self.assertEqual(self.transport.value(), once * 4)
        line.dataReceived(AGAIN)
        self.assertIsInstance(self.failureResultOf(due).value, Silent, "one of the four may have been taken")

    def test_refused_frames(self) -> None:
        """Three NAKs are met with the same frame; after the fourth certainly nothing was taken."""
        line = self.line()
        due = line.ask(Payment(1250, terminal="12345678"), 300)
        for _ in range(3):
            line.dataReceived(AGAIN)
        self.assertEqual(self.transport.value(), REQUESTS[1].frame * 4)
        self.assertNoResult(due)
        line.dataReceived(AGAIN)
        self.assertIsInstance(self.failureResultOf(due).value, NotTaken)

    def test_nothing_is_repeated_after_the_acknowledgement(self) -> None:
        """Once acknowledged, neither time nor a stray NAK makes the payment go out again."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN)
        self.transport.clear()
        line.dataReceived(AGAIN)
        self.clock.advance(299.9)
        self.assertEqual(self.transport.value(), b"")
        self.assertNoResult(due)
        self.clock.advance(0.1)
        self.assertTrue(self.failureResultOf(due, Silent).value.taken)

    def test_damaged_acknowledgement(self) -> None:
        """What looks like a damaged acknowledgement is followed by no repeat."""
        line = self.line(repeat_money=True)
        due = line.ask(Payment(1250), 300)
        once = self.transport.value()
        line.dataReceived(bytes((ACK, 3, 0)))
        self.clock.pump([2, 2, 2, 2])
        self.assertIsInstance(self.failureResultOf(due).value, Silent)
        self.assertEqual(self.transport.value(), once)

    @shows("rule 10")
    def test_progress_prolongs_nothing(self) -> None:
        """The wait for the whole operation runs on whatever the display shows."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN)
        for _ in range(29):
            self.clock.advance(10)
            line.dataReceived(PROGRESS[1])
        self.assertNoResult(due)
        self.clock.advance(10)
        self.assertIsInstance(self.failureResultOf(due).value, Silent)

    def test_damaged_answer(self) -> None:
        """A damaged answer gets NAK; its repeat is the answer."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN)
        self.transport.clear()
        line.dataReceived(APPROVED_FRAME[:-1] + b"\x00")
        self.assertEqual(self.transport.value(), AGAIN)
        self.assertNoResult(due)
        line.dataReceived(APPROVED_FRAME)
        self.assertEqual(self.successResultOf(due), APPROVED_PAYMENT)

    def test_answer_told_twice(self) -> None:
        """A repeat of the final answer is acknowledged and otherwise ignored."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN + APPROVED_FRAME)
        self.successResultOf(due)
        self.transport.clear()
        line.dataReceived(APPROVED_FRAME)
        self.assertEqual(self.transport.value(), TAKEN)
        self.assertEqual(self.late, [])

    def test_answer_of_an_earlier_payment(self) -> None:
        """A final answer before our acknowledgement is handed on as late and is not ours."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(APPROVED_FRAME)
        self.assertEqual(self.late, [APPROVED_PAYMENT])
        self.assertNoResult(due)
        line.dataReceived(TAKEN + REFUSED_FRAME)
        self.assertEqual(self.successResultOf(due), REFUSED_PAYMENT)

    def test_late_answer_not_kept(self) -> None:
        """A late answer that could not be kept is not acknowledged, so the terminal repeats it."""
        line = self.line()
        self.patch(line, "_late", lambda _: fail(OSError("disk full")))
        line.dataReceived(APPROVED_FRAME)
        self.assertEqual(self.transport.value(), b"")
        self.assertEqual(len(self.flushLoggedErrors(OSError)), 1)

    def test_failing_listener(self) -> None:
        """A listener that fails does not cost the answer."""
        line = self.line()
        self.patch(line, "_progress", lambda _: 1 // 0)
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN + PROGRESS[1] + APPROVED_FRAME)
        self.assertEqual(self.successResultOf(due), APPROVED_PAYMENT)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)

    def test_answer_after_the_limit(self) -> None:
        """What comes after the wait is handed on as late, and the line is closed."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN)
        self.clock.advance(300)
        self.assertIsInstance(self.failureResultOf(due).value, Silent)
        self.assertTrue(self.transport.disconnecting)
        line.dataReceived(APPROVED_FRAME)
        self.assertEqual(self.late, [APPROVED_PAYMENT])

    def test_stored_before_acknowledged(self) -> None:
        """The terminal hears of our acknowledgement only when the answer is stored, and a repeat changes nothing."""
        line, stored = self.line(), Deferred[None]()
        kept: list[object] = []

        def keep(answer: object) -> Deferred[None]:
            kept.append(answer)
            return stored

        due = line.ask(Payment(1250), 300, keep)
        line.dataReceived(TAKEN)
        self.transport.clear()
        line.dataReceived(APPROVED_FRAME + APPROVED_FRAME)
        self.clock.advance(400)
        self.assertEqual((kept, self.transport.value()), ([APPROVED_PAYMENT], b""))
        stored.callback(None)
        self.assertEqual(self.successResultOf(due), APPROVED_PAYMENT)
        self.assertEqual(self.transport.value(), TAKEN)

    def test_storing_fails(self) -> None:
        """An answer that cannot be stored is not acknowledged, and the caller hears why."""
        line = self.line()
        due = line.ask(Payment(1250), 300, lambda _: fail(OSError("disk full")))
        line.dataReceived(TAKEN)
        self.transport.clear()
        line.dataReceived(APPROVED_FRAME)
        self.failureResultOf(due, OSError)
        self.assertEqual(self.transport.value(), b"")

    def test_line_lost(self) -> None:
        """A line that closes before the answer leaves the outcome unknown."""
        for reason, text in ((ConnectionDone(), "closed"), (ConnectionLost("reset"), "reset")):
            for heard in (b"", TAKEN, TAKEN + APPROVED_FRAME[:-1]):
                line = self.line()
                due = line.ask(Payment(1250), 300)
                line.dataReceived(heard)
                line.connectionLost(Failure(reason))
                self.assertIn(text, str(self.failureResultOf(due, LineLost).value))

    def test_line_lost_while_storing(self) -> None:
        """An answer that is being stored is not lost with the line."""
        line, stored = self.line(), Deferred[None]()
        due = line.ask(Payment(1250), 300, lambda _: stored)
        line.dataReceived(TAKEN + APPROVED_FRAME)
        line.connectionLost(Failure(ConnectionDone()))
        stored.callback(None)
        self.assertEqual(self.successResultOf(due), APPROVED_PAYMENT)

    def test_closed_before_asking(self) -> None:
        """Nothing is sent on a line that is closed already."""
        line = self.line()
        line.connectionLost(Failure(ConnectionDone()))
        self.failureResultOf(line.ask(Payment(1250), 300), NotTaken)

    def test_something_else_on_the_port(self) -> None:
        """A banner instead of an acknowledgement is reported at once, with its first bytes."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(b"SSH-2.0-OpenSSH")
        self.assertIn("53 53 48", str(self.failureResultOf(due, Garbled).value))

    def test_noise_after_the_acknowledgement(self) -> None:
        """A little noise does not cost the answer, a flood of it ends the exchange."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN + b"\xff\x00" + APPROVED_FRAME)
        self.assertEqual(self.successResultOf(due), APPROVED_PAYMENT)
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN + b"\xff" * 300)
        self.failureResultOf(due, Garbled)

    def test_unreadable_answer(self) -> None:
        """An answer that belongs to the question but says nothing readable leaves the outcome unknown."""
        line = self.line()
        due = line.ask(Report(ReportKind.CLOSE), 300)
        line.dataReceived(TAKEN + frame(b"123456780C00" + b"x" * 32))
        self.failureResultOf(due, Garbled)

    def test_unknown_letter(self) -> None:
        """A message with an unknown letter is acknowledged, and the answer is still awaited."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN + frame(b"123456780Q00") + APPROVED_FRAME)
        self.assertEqual(self.successResultOf(due), APPROVED_PAYMENT)

    def test_acknowledged_only(self) -> None:
        """A request without an answer ends with its acknowledgement."""
        line = self.line()
        due = line.ask(PrintOnRegister(True), 300)
        line.dataReceived(TAKEN)
        self.assertEqual(self.successResultOf(due), Acknowledged())

    def test_data_that_nobody_asked_for(self) -> None:
        """Additional data of the bank (`U`) is acknowledged and costs the answer nothing, before it and after it."""
        told = frame(b"123456780U000000003ABC0000000000")
        line = self.line()
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN)
        self.transport.clear()
        line.dataReceived(told + APPROVED_FRAME + told)
        self.assertEqual((self.successResultOf(due), self.transport.value()), (APPROVED_PAYMENT, TAKEN * 3))

    def service(self, *messages: ServicePart) -> Deferred[object]:
        """A question to an application, of whose answer these pieces came."""
        line = self.line()
        due: Deferred[object] = cast(Any, line.ask(Service("<ecrreq/>"), 300))
        line.dataReceived(TAKEN)
        self.transport.clear()
        for message in messages:
            line.dataReceived(frame(message.encode()))
        return due

    def test_service_in_pieces(self) -> None:
        """The answer of an application comes whole, whatever its pieces; each of them is acknowledged."""
        due = self.service(ServicePart("<a>", 1, True), ServicePart("b", 2, True), ServicePart("</a>", 3))
        self.assertEqual(self.successResultOf(due), ServiceAnswer("<a>b</a>"))
        self.assertEqual(self.transport.value(), TAKEN * 3)
        due = self.service(ServicePart("<a/>"))
        self.assertEqual(self.successResultOf(due), ServiceAnswer("<a/>"))

    def test_piece_told_twice(self) -> None:
        """A piece whose acknowledgement was lost comes again, and counts once."""
        due = self.service(ServicePart("<a>", 1, True), ServicePart("<a>", 1, True), ServicePart("</a>", 2))
        self.assertEqual(self.successResultOf(due), ServiceAnswer("<a></a>"))
        self.assertEqual(self.transport.value(), TAKEN * 3)

    def test_piece_missing(self) -> None:
        """Missing pieces, or pieces without an end: the outcome of the application is unknown."""
        for parts in (
            (ServicePart("<a>", 1, True), ServicePart("</a>", 3)),
            (ServicePart("<a>", 2, True),),
            tuple(ServicePart(f"{n}", n, True) for n in range(1, 70)),
        ):
            self.failureResultOf(self.service(*parts), Garbled)
        due = self.service(ServicePart("<a>", 1, True))
        self.clock.advance(300)
        self.failureResultOf(due, Silent)

    def test_receipts(self) -> None:
        """Receipts after the answer are acknowledged, delivered, and waited for."""
        line = self.line(receipt_wait=3)
        due = line.ask(Payment(1250), 300)
        line.dataReceived(TAKEN + APPROVED_FRAME)
        self.successResultOf(due)
        line.leave(3)
        self.clock.advance(2.9)
        self.transport.clear()
        line.dataReceived(frame(Receipt("APPROVATA").encode()))
        self.assertEqual((self.receipts[0].text, self.transport.value()), ("APPROVATA", TAKEN))
        self.clock.advance(2.9)
        self.assertFalse(self.transport.disconnecting)
        self.clock.advance(0.2)
        self.assertTrue(self.transport.disconnecting)

    def test_nobody_waits_any_more(self) -> None:
        """Cancelling closes the line."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        due.addErrback(lambda _: None)
        due.cancel()
        self.assertTrue(self.transport.disconnecting)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_amount_too_large(self) -> None:
        """An amount that does not fit is refused before anything is sent."""
        line = self.line()
        self.assertRaises(ValueError, line.ask, Payment(100_000_000), 300)
        self.assertEqual(self.transport.value(), b"")

    @given(st.lists(st.binary(max_size=60), max_size=6))
    @settings(max_examples=100, deadline=None)
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Any bytes on the line never raise out of it, and never approve anything."""
        line = self.line()
        due = line.ask(Payment(1250), 300)
        for piece in pieces:
            line.dataReceived(piece)
        results: list[object] = []
        due.addBoth(results.append)
        self.clock.pump([2, 2, 2, 2, 300])
        self.assertIsInstance(results[0], Failure)


class DeviceCase(SynchronousTestCase):
    """A terminal and a simulated device at the other end."""

    def setUp(self) -> None:
        """A device that takes a second and a half for an operation."""
        self.clock = Clock()
        self.clock.advance(1_780_000_000)
        self.bank = Terminal(self.clock)
        self.device = Ecr17Device(self.bank, self.clock)
        self.shown: list[str] = []
        self.receipts: list[Receipt] = []
        self.terminal = self.till(Lrc.STD)

    def till(self, lrc: Lrc | None, **changes: Any) -> Ecr17Terminal:
        """The service's end."""
        return Ecr17Terminal(
            InProcessEndpoint(self.device, self.clock),
            self.clock,
            Settings(lrc=lrc, answer_wait=60, **changes),
            self.shown.append,
            self.receipts.append,
        )

    def scenario(self, on: str, then: str, **more: Any) -> None:
        """What shall go wrong next."""
        self.bank.scenario.replace({"rules": [{"on": on, "then": then, **more}]})

    def start(self, work: Coroutine[Any, Any, T]) -> Deferred[T]:
        """Let ``work`` begin."""
        due = Deferred.fromCoroutine(work)
        self.clock.advance(0)
        return due

    def run_for(self, work: Coroutine[Any, Any, T], seconds: float = 5) -> Deferred[T]:
        """Let ``work`` have so many seconds."""
        due = self.start(work)
        self.clock.pump([0.1] * int(seconds * 10))
        return due

    def sums(self) -> list[tuple[str, str, int]]:
        """What the device believes: kind, status, sum."""
        return [(entry.kind, entry.status, entry.sum) for entry in self.bank.entries()]


class TerminalTests(DeviceCase):
    """Operations against the simulated device."""

    def test_payment(self) -> None:
        """A payment is asked once, shown, approved and in the ledger once."""
        answer = self.successResultOf(self.run_for(self.terminal.pay(1250)))
        self.assertTrue(answer.approved)
        self.assertEqual(answer.card, "516875******7414")
        self.assertEqual(self.shown, ["INSERIRE CARTA", "CARTA LETTA", "DIGITARE PIN", "IN CORSO", "STAMPA"])
        self.assertEqual(self.sums(), [("payment", "accepted", 1250)])

    def test_reversal(self) -> None:
        """A reversal names the STAN, takes the money back once, and a second one is refused."""
        paid = self.successResultOf(self.run_for(self.terminal.pay(1250)))
        self.assertTrue(self.successResultOf(self.run_for(self.terminal.reverse(paid.stan))).approved)
        again = self.successResultOf(self.run_for(self.terminal.reverse(paid.stan)))
        self.assertEqual((again.result, again.text), ("01", "GIA STORNATA"))
        self.assertEqual(self.sums()[1], ("cancel", "accepted", 1250))

    def test_card_and_payment(self) -> None:
        """A verified card pays without being asked for again."""
        card = self.successResultOf(self.run_for(self.terminal.verify_card()))
        assert isinstance(card, CardAnswer)
        self.shown.clear()
        answer = self.successResultOf(self.run_for(self.terminal.pay(500, card_present=True)))
        self.assertEqual(answer.card, card.found.card)
        self.assertNotIn("INSERIRE CARTA", self.shown)

    def test_totals_and_session(self) -> None:
        """Totals have the sum; closing returns it once more and empties it."""
        self.run_for(self.terminal.pay(1250))
        self.assertEqual(self.successResultOf(self.run_for(self.terminal.totals())).terminal_total, 1250)
        closed = self.successResultOf(self.run_for(self.terminal.close_session()))
        self.assertEqual((closed.terminal_total, closed.host_total), (1250, 1250))
        self.assertEqual(self.successResultOf(self.run_for(self.terminal.totals())).terminal_total, 0)

    def test_refusals(self) -> None:
        """The bank's refusal carries its code in the text, the terminal's own its result."""
        self.scenario("payment", "refuse", code="51")
        answer = self.successResultOf(self.run_for(self.terminal.pay(1250)))
        self.assertEqual((answer.result, answer.text), ("01", "RIFIUTATA 51"))
        self.scenario("payment", "refuse", code="cancelled")
        self.assertEqual(self.successResultOf(self.run_for(self.terminal.pay(1250))).result, "05")

    def test_preauthorisation_is_switched_off(self) -> None:
        """The device answers a pre-authorisation with the code for what it does not know."""
        answer = self.successResultOf(self.run_for(self.terminal.run(Payment(1250, PaymentKind.PREAUTHORISATION))))
        self.assertEqual(getattr(answer, "result", ""), "09")

    def test_status(self) -> None:
        """The state shows whether the terminal is operative, and a payment queries it first."""
        self.assertIs(self.successResultOf(self.run_for(self.terminal.status())).state, TerminalState.OPERATIVE)
        self.device.state = TerminalState.KEYS
        failure = self.failureResultOf(self.run_for(self.terminal.pay(1250)), NotOperative)
        self.assertIs(failure.value.state, TerminalState.KEYS)
        self.assertEqual(self.sums(), [])

    def test_check_byte_is_found_out(self) -> None:
        """Whichever variant the device uses, the status request finds it and payments use it."""
        for lrc in Lrc:
            self.device.lrc = lrc
            terminal = self.till(None)
            self.assertTrue(self.successResultOf(self.run_for(terminal.pay(100))).approved)
            self.assertIs(terminal.lrc, lrc)

    def test_terminal_that_closes(self) -> None:
        """A terminal that closes its line after each answer is paid on a line of its own, once."""
        self.device.closes = True
        self.assertTrue(self.successResultOf(self.run_for(self.terminal.pay(1250))).approved)
        self.assertTrue(self.successResultOf(self.run_for(self.till(None).pay(700))).approved)
        self.assertEqual(self.sums(), [("payment", "accepted", 1250), ("payment", "accepted", 700)])

    def test_wrong_check_byte_for_good(self) -> None:
        """A device that understands no frame of ours took nothing."""
        self.device.lrc = Lrc.NOEXT
        self.failureResultOf(self.run_for(self.terminal.pay(1250)), NotTaken)
        self.assertEqual(self.sums(), [])

    def test_unreachable(self) -> None:
        """A device that takes no call took nothing either."""
        self.scenario("payment", "unreachable")
        self.failureResultOf(self.run_for(self.terminal.pay(1250)), NotReached)

    def test_busy(self) -> None:
        """While an operation runs nothing is answered: the second caller hears that nothing was taken."""
        self.bank.duration = 40
        first = self.run_for(self.terminal.pay(1250), 0.5)
        self.assertIsNotNone(self.bank.running)
        second = self.run_for(self.till(Lrc.STD).pay(700), 9)
        self.failureResultOf(second, NotTaken)
        self.clock.pump([1] * 40)
        self.successResultOf(first)
        self.assertEqual(self.sums(), [("payment", "accepted", 1250)])

    def test_receipts_to_the_till(self) -> None:
        """After printing is switched over, the receipt comes to the till; with the next operation no more."""
        terminal = self.till(Lrc.STD, receipt_wait=1)
        self.run_for(terminal.print_on_register(True))
        self.successResultOf(self.run_for(terminal.pay(1250)))
        self.assertIn("EUR 12.50", read_tickets("".join(receipt.text for receipt in self.receipts)))
        self.run_for(terminal.run(Reprint(True)))
        told = read_tickets("".join(receipt.text for receipt in self.receipts))
        self.assertEqual(told.count("EUR 12.50"), 2)
        self.receipts.clear()
        self.successResultOf(self.run_for(terminal.pay(700)))
        self.assertEqual(self.receipts, [])

    def test_services(self) -> None:
        """An application on the terminal answers at any length; a terminal without applications says so."""
        answer = self.successResultOf(self.run_for(self.terminal.run(Service("<ecrreq/>"))))
        self.assertEqual(answer, ServiceAnswer(NO_SERVICE))
        self.device.services = lambda xml: f"{xml}{'x' * 3000}"
        answer = self.successResultOf(self.run_for(self.terminal.run(Service("<ecrreq/>"))))
        self.assertEqual(answer, ServiceAnswer(f"<ecrreq/>{'x' * 3000}"))


class RecoveryTests(DeviceCase):
    """The device did the work or not, and the answer was lost (docs/reference/terminals.md#rule-3)."""

    def lose(self, then: str, error: type[Exception]) -> PaymentAnswer | None:
        """Pay with a fault after a snapshot, then recover; what was recovered."""
        self.successResultOf(self.run_for(self.terminal.pay(500)))
        before = self.successResultOf(self.run_for(self.terminal.last()))
        self.scenario("payment", then)
        self.failureResultOf(self.run_for(self.terminal.pay(1250), 70), error)
        found = self.successResultOf(self.run_for(self.terminal.recover(before, 60)))
        assert found is None or isinstance(found, PaymentAnswer)
        return found

    def test_lost_before(self) -> None:
        """The line broke before the request was taken: the snapshot is unchanged, nothing was paid."""
        self.assertIsNone(self.lose("lost_before", LineLost))
        self.assertEqual(self.sums(), [("payment", "accepted", 500)])

    def test_silent(self) -> None:
        """The request met silence: the same."""
        self.assertIsNone(self.lose("silent", Silent))
        self.assertEqual(self.sums(), [("payment", "accepted", 500)])

    def test_lost_after(self) -> None:
        """The approval was lost with the line: it is found again, and paid once."""
        found = self.lose("lost_after", LineLost)
        assert found is not None
        self.assertTrue(found.approved)
        self.assertEqual(self.sums(), [("payment", "accepted", 500), ("payment", "accepted", 1250)])

    def test_garbage(self) -> None:
        """The answer could not be read, nor its repeats: it is found again."""
        found = self.lose("garbage", LineLost)
        assert found is not None
        self.assertTrue(found.approved)

    def test_line_breaks_while_the_customer_pays(self) -> None:
        """The terminal goes on by itself; recovery waits until it is free."""
        before = self.successResultOf(self.run_for(self.terminal.last()))
        due = self.run_for(self.terminal.pay(1250), 0.5)
        self.assertIsNotNone(self.bank.running)
        line = self.terminal._line
        assert line is not None and line.transport is not None
        line.transport.loseConnection()
        self.clock.advance(0)
        self.failureResultOf(due, LineLost)
        found = self.successResultOf(self.run_for(self.terminal.recover(before, 60), 15))
        assert isinstance(found, PaymentAnswer)
        self.assertTrue(found.approved)
        self.assertEqual(self.sums(), [("payment", "accepted", 1250)])

    def test_refused_and_lost(self) -> None:
        """A refusal that was lost is found as a refusal."""
        before = self.successResultOf(self.run_for(self.terminal.last()))
        self.scenario("payment", "refuse", code="51")
        due = self.run_for(self.terminal.pay(1250), 0.5)
        self.assertIsNotNone(self.bank.running)
        line = self.terminal._line
        assert line is not None and line.transport is not None
        line.transport.loseConnection()
        self.clock.advance(0)
        self.failureResultOf(due, LineLost)
        found = self.successResultOf(self.run_for(self.terminal.recover(before, 60), 15))
        assert isinstance(found, PaymentAnswer)
        self.assertEqual(found.result, "01")

    def test_nobody_can_be_asked(self) -> None:
        """As long as the terminal does not answer, the outcome stays unknown."""
        self.scenario("probe", "silent", times=0)
        due = self.start(self.terminal.recover(None, 30))
        self.clock.pump([1] * 28)
        self.assertNoResult(due)
        self.clock.pump([1] * 12)
        self.failureResultOf(due, Silent)


class DeviceTests(DeviceCase):
    """The simulated device by itself."""

    def line(self) -> tuple[Any, StringTransport]:
        """A line to it, without a till."""
        line = self.device.buildProtocol(InProcessAddress())
        assert line is not None
        transport = StringTransport()
        line.makeConnection(transport)
        return line, transport

    def test_repeats_its_answer(self) -> None:
        """An answer that is not acknowledged is sent three times more, then the line is closed."""
        line, transport = self.line()
        line.dataReceived(frame(LastResult().encode()))
        once = transport.value()[3:]
        self.clock.pump([2, 2, 2])
        self.assertEqual(transport.value(), TAKEN + once * 4)
        self.assertFalse(transport.disconnecting)
        self.clock.advance(2)
        self.assertTrue(transport.disconnecting)

    def test_repeats_at_once_when_refused(self) -> None:
        """NAK makes it tell its answer again, ACK ends that."""
        line, transport = self.line()
        line.dataReceived(frame(LastResult().encode()))
        once = transport.value()[3:]
        line.dataReceived(AGAIN)
        line.dataReceived(TAKEN)
        self.clock.advance(10)
        self.assertEqual(transport.value(), TAKEN + once * 2)

    def test_unknown_request(self) -> None:
        """A request it does not know is answered with `09`."""
        line, transport = self.line()
        line.dataReceived(frame(b"123456780Q"))
        answer = decode_answer(transport.value()[4:-2])
        self.assertEqual(getattr(answer, "result", ""), "09")

    @given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([v.frame for v in REQUESTS])), max_size=6))
    @settings(max_examples=100, deadline=None)
    def test_any_bytes(self, pieces: list[bytes]) -> None:
        """Any bytes never crash the device."""
        self.setUp()
        line, _ = self.line()
        for piece in pieces:
            line.dataReceived(piece)
            self.clock.advance(1)
