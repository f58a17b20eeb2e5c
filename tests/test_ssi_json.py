"""SSI JSON: frames and values, one line, and a whole terminal at the other end."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Coroutine
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from protocols.checksums import lrc
from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.simulators.ssi_json import GARBAGE, SsiSimulator
from protocols.simulators.terminal import Terminal
from protocols.terminals.amounts import NOT_A_SUM
from protocols.terminals.ssi_json.line import SsiLine
from protocols.terminals.ssi_json.messages import (
    LONGEST,
    PREFIX,
    Deframer,
    Merchant,
    Misframed,
    Reply,
    Request,
    Result,
    Stage,
    frame,
)
from protocols.terminals.ssi_json.requests import (
    METHODS,
    CashBack,
    GetLastResult,
    GetStatus,
    GetTerminalInfo,
    PingDevice,
    Purchase,
    Refund,
    Void,
    XReport,
    ZReport,
    read_method,
)
from protocols.terminals.ssi_json.terminal import Finding, SsiTerminal, StatusListener, judge
from tests.memory_line import MemoryEndpoint
from tests.terminal_matrix import shows
from tests.vectors.ssi_json import MALFORMED, RECEIVED, SENT

_Value = TypeVar("_Value")

WIRES = [vector.wire for vector in SENT] + [vector.wire for vector in RECEIVED]

UID = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
OTHER = "0b0e1f2a-1111-4222-8333-444455556666"


def fed(*pieces: bytes) -> list[bytes]:
    """The messages that come of the pieces."""
    deframer = Deframer()
    return [payload for piece in pieces for payload in deframer.feed(piece)]


def said(method: str, **more: Any) -> bytes:
    """A reply of the terminal, on the wire."""
    return frame(Reply(method, **more).encode())


class FrameTests(SynchronousTestCase):
    """Frames in a stream."""

    @shows("golden frames", wire="ssi-json")
    def test_cut_anywhere(self) -> None:
        """Every golden frame comes whole out of a stream that is cut at any byte."""
        for wire in WIRES:
            for cut in range(len(wire) + 1):
                self.assertEqual(fed(wire[:cut], wire[cut:]), [wire[5:-1]], (cut, wire))

    def test_byte_by_byte(self) -> None:
        """All golden frames one after the other come in their order out of single bytes."""
        stream = b"".join(WIRES)
        self.assertEqual(fed(*(stream[at : at + 1] for at in range(len(stream)))), [wire[5:-1] for wire in WIRES])

    def test_frame(self) -> None:
        """Each golden frame is made again from its data, byte for byte."""
        for wire in WIRES:
            self.assertEqual(frame(wire[5:-1]), wire)

    def test_longest(self) -> None:
        """The longest data that a length can tell goes through, and one byte more is not sent."""
        self.assertEqual(fed(frame(b"x" * LONGEST)), [b"x" * LONGEST])
        self.assertRaises(ValueError, frame, b"x" * (LONGEST + 1))

    def test_wrong_checksum(self) -> None:
        """A wrong checksum is E02, with every golden frame and the recorded bad one."""
        for wire in [*(wire[:-1] + bytes([wire[-1] ^ 1]) for wire in WIRES), *(each.wire for each in MALFORMED)]:
            with self.assertRaises(Misframed) as caught:
                fed(wire)
            self.assertEqual(caught.exception.code, "E02")
        self.assertEqual([each.code for each in MALFORMED], ["E02"])

    def test_wrong_length(self) -> None:
        """A length that is too small is a fault; with one that is too large the frame is waited for."""
        payload = b'{"method":"GetStatus"}'
        tail = payload + bytes([lrc(payload)])
        for length in range(len(payload)):
            with self.assertRaises(Misframed):
                fed(PREFIX + length.to_bytes(2, "big") + tail)
        self.assertEqual(fed(PREFIX + (len(payload) + 1).to_bytes(2, "big") + tail), [])

    def test_garbage(self) -> None:
        """Noise before or inside a frame is a fault with its first bytes; noise after it is the next fault."""
        wire = WIRES[0]
        with self.assertRaises(Misframed) as caught:
            fed(b"SSH-2.0", wire)
        self.assertEqual((caught.exception.code, caught.exception.data), ("E01", b"SSH-2.0"))
        self.assertRaises(Misframed, fed, wire[:9] + b"\xff" + wire[9:])
        deframer = Deframer()
        self.assertEqual(list(deframer.feed(wire)), [wire[5:-1]])
        self.assertRaises(Misframed, list, deframer.feed(b"\x00"))

    def test_never_again(self) -> None:
        """After a fault nothing is taken from the stream, not even a good frame."""
        deframer = Deframer()
        self.assertRaises(Misframed, list, deframer.feed(b"\x02\x67"))
        self.assertRaises(Misframed, list, deframer.feed(WIRES[0]))

    @given(st.lists(st.binary(max_size=40) | st.sampled_from(WIRES), max_size=6))
    def test_anything(self, pieces: list[bytes]) -> None:
        """Any bytes, cut in any way, give the same messages as in one piece, or a fault in both cases."""

        def tried(*data: bytes) -> tuple[list[bytes], bool]:
            deframer, taken = Deframer(), []
            try:
                for piece in data:
                    for payload in deframer.feed(piece):
                        taken.append(payload)  # noqa: PERF402 - what came before the fault counts
            except Misframed:
                return taken, True
            return taken, False

        self.assertEqual(tried(*pieces), tried(b"".join(pieces)))


class SentTests(SynchronousTestCase):
    """What the register writes."""

    def test_read(self) -> None:
        """Each golden frame of a register is read as the method that it is."""
        for vector in SENT:
            request = Request.decode(vector.wire[5:-1])
            self.assertEqual((read_method(request), request.step), (vector.asks, vector.step), vector.meaning)

    def test_written(self) -> None:
        """Each method is written with the members of its golden frame in their order, without blanks."""
        for vector in SENT:
            compact = json.dumps(json.loads(vector.wire[5:-1]), separators=(",", ":")).encode()
            self.assertEqual(vector.asks.request(vector.step).encode(), compact, vector.meaning)

    def test_purchase(self) -> None:
        """A purchase names sum, currency, merchant and our own number."""
        self.assertEqual(
            Purchase(24500, merchant_id="M1", transaction_uid=UID, discounted_amount=24000).request("2").encode(),
            b'{"method":"Purchase","step":"2","params":{"transAmount":"24500","transCurrency":"980",'
            b'"merchantId":"M1","transactionUid":"%s","discountedAmount":"24000"}}' % UID.encode(),
        )

    def test_every_method(self) -> None:
        """Every method comes back from its own message."""
        known = {
            "transAmount": "60",
            "merchantId": "M1",
            "rrn": "1",
            "invoiceNum": "2",
            "cashAmount": "3",
            "authCode": "4",
            "endAmount": "5",
            "transactionUid": UID,
            "isDetailReport": "true",
        }
        for name, cls in METHODS.items():
            asked = read_method(Request(name, known))
            self.assertIsInstance(asked, cls)
            self.assertEqual(read_method(Request.decode(asked.request().encode())), asked)

    def test_unreadable(self) -> None:
        """A method without a member, with a strange number, or of a strange name is refused."""
        self.assertRaises(ValueError, read_method, Request("Purchase", {"merchantId": "M1"}))
        self.assertRaises(ValueError, read_method, Request("Purchase", {"merchantId": "M1", "transAmount": "1.5"}))
        self.assertRaises(LookupError, read_method, Request("PrintXml"))

    @given(st.binary(max_size=200))
    def test_anything(self, payload: bytes) -> None:
        """Any bytes are a message or none, and whatever is a message is a method or not."""
        with contextlib.suppress(Garbled, LookupError, ValueError):
            read_method(Request.decode(payload))


class ReceivedTests(SynchronousTestCase):
    """What the terminal writes."""

    def test_read(self) -> None:
        """Each golden frame of a terminal is read with its method, error, status and result."""
        for vector in RECEIVED:
            reply = Reply.decode(vector.wire[5:-1])
            told = (reply.method, reply.code, reply.status, reply.stage)
            self.assertEqual(told, (vector.method, vector.code, vector.status, vector.stage), vector.meaning)

    def test_written(self) -> None:
        """Each golden frame of a terminal is written again, byte for byte."""
        for vector in RECEIVED:
            self.assertEqual(frame(Reply.decode(vector.wire[5:-1]).encode()), vector.wire, vector.meaning)

    def test_result(self) -> None:
        """The result of an approved purchase is read into its fields."""
        (vector,) = (each for each in RECEIVED if each.stage is Stage.APPROVED)
        told = Reply.decode(vector.wire[5:-1]).result
        self.assertEqual((told.trans_amount, told.rrn, told.auth_code), (1250, "123456789012", "A1B2C3"))
        self.assertEqual((told.invoice_num, told.merchant_id, told.terminal_id), ("17", "M1", "T1"))

    def test_reported_sums(self) -> None:
        """A sum is kopecks, missing, below zero as it is, or none at all."""
        texts = {"1250": 1250, "": None, "-100": -100, "NaN": NOT_A_SUM, "1.5": NOT_A_SUM, "9" * 16: NOT_A_SUM}
        for text, kopecks in texts.items():
            self.assertEqual(Result.read({"transAmount": text}).trans_amount, kopecks, text)

    def test_verdicts(self) -> None:
        """Hyphens and underscores mean the same, and what is no known success is a refusal."""
        for word, verdict in (
            ("APPROVED", Stage.APPROVED),
            ("APPROVED-ONLINE", Stage.APPROVED),
            ("approved_offline", Stage.APPROVED),
            ("OK", Stage.APPROVED),
            ("COMPLETED", Stage.APPROVED),
            ("FIRST-STEP-COMPLETED", Stage.FIRST_STEP),
            ("CANCELLED", Stage.CANCELLED),
            ("CANCELLED_BEFORE_START", Stage.CANCELLED),
            ("DECLINED-ONLINE", Stage.DECLINED),
            ("DISAPPROVED", Stage.DECLINED),
            ("", Stage.MISSING),
        ):
            self.assertIs(Reply("GetLastResult", {"transactionResult": word}).stage, verdict, word)

    def test_status_inside(self) -> None:
        """A status among the params counts as one beside them."""
        self.assertEqual(Reply.decode(b'{"method":"GetStatus","params":{"status":"s04"}}').status, "S04")

    def test_errors(self) -> None:
        """An error is shown by its code, by its flag, or by both; without either there is none."""
        self.assertEqual(Reply.decode(b'{"method":"Void","error":true,"errorCode":"E06"}').code, "E06")
        self.assertEqual(Reply.decode(b'{"method":"Void","error":false,"errorCode":"e06"}').code, "E06")
        self.assertEqual(Reply.decode(b'{"method":"Void","error":"true"}').code, "E00")
        self.assertEqual(Reply.decode(b'{"method":"Void","errorCode":"0"}').code, "")

    def test_times(self) -> None:
        """Both ways of writing the time are read, and one that cannot be read is none."""
        at = datetime(2026, 9, 21, 10, 5, 7)
        self.assertEqual(Result(date="21/09/2026", time="10:05:07").at, at)
        self.assertEqual(Result(transaction_date="21092026", transaction_time="100507").at, at)
        self.assertIsNone(Result(date="2026-09-21", time="10:05").at)

    def test_merchants(self) -> None:
        """A detailed list of merchants is read, and anything else is an empty one."""
        reply = Reply.decode(b'{"method":"X","params":{"merchantList":[{"merchantId":"M1","terminalId":"T","x":1}]}}')
        self.assertEqual(reply.merchants, [Merchant("M1", "T", "")])
        self.assertEqual(Reply.decode(reply.encode()), reply)
        self.assertEqual(Reply("X", {"merchantList": "{}"}).merchants, [])
        self.assertEqual(Reply("X").merchants, [])

    def test_no_message(self) -> None:
        """Data that is not a JSON object is E03."""
        for payload in (b"[]", b"", b"x", b"\xff", b"[" * 60_000):
            with self.assertRaises(Misframed) as caught:
                Reply.decode(payload)
            self.assertEqual(caught.exception.code, "E03")

    @given(st.binary(max_size=200))
    def test_anything(self, payload: bytes) -> None:
        """Any bytes are a message or none."""
        try:
            reply = Reply.decode(payload)
        except Garbled:
            return
        self.assertEqual(Reply.decode(reply.encode()).params, reply.params)

    @given(st.text(max_size=9), st.text(max_size=20))
    def test_any_members(self, value: str, more: str) -> None:
        """Whatever the members hold, the reply can be asked for everything."""
        reply = Reply("X", {"transAmount": value, "merchantList": more, "transactionResult": value, "date": more})
        self.assertEqual(reply.result.transaction_result, value)
        self.assertIsNone(reply.result.at)
        self.assertEqual((reply.merchants if more.strip() != "[]" else [], bool(repr(reply))), ([], True))


class LineTests(SynchronousTestCase):
    """One connection: what is due, what is late, and when it is too late."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.late: list[Reply] = []
        self.line = SsiLine(self.clock, self.late.append)
        self.transport = StringTransport()
        self.line.makeConnection(self.transport)

    def test_reply(self) -> None:
        """The reply of the method that was asked for answers it."""
        answer = self.line.ask(PingDevice().request(), 15)
        self.assertEqual(fed(self.transport.value()), [b'{"method":"PingDevice"}'])
        self.line.dataReceived(said("PingDevice"))
        self.assertEqual(self.successResultOf(answer), Reply("PingDevice"))

    def test_deadline(self) -> None:
        """A reply is waited for as long as was said; then the line is closed, and what comes is not taken."""
        answer = self.line.ask(PingDevice().request(), 15)
        self.clock.advance(14.9)
        self.assertNoResult(answer)
        self.clock.advance(0.2)
        self.assertEqual(self.failureResultOf(answer, Silent).value.seconds, 15)
        self.assertTrue(self.transport.disconnecting)
        self.line.dataReceived(said("PingDevice"))
        self.assertFalse(self.line.usable)

    def test_other_method(self) -> None:
        """A reply to another method, and a second reply, go to the late ones."""
        answer = self.line.ask(GetStatus().request(), 15)
        self.line.dataReceived(said("Purchase") + said("GetStatus", status="S00") + said("GetStatus", status="S03"))
        self.assertEqual(self.successResultOf(answer).status, "S00")
        self.assertEqual([reply.method for reply in self.late], ["Purchase", "GetStatus"])

    def test_unread_request(self) -> None:
        """An error without a method answers whatever was asked: the terminal could not read it."""
        answer = self.line.ask(GetStatus().request(), 15)
        self.line.dataReceived(said("", error=True, error_code="E03"))
        self.assertEqual(self.successResultOf(answer).code, "E03")

    def test_noise(self) -> None:
        """Bytes that are no frame end the exchange at once, with the first of them, and close the line."""
        for noise in (GARBAGE, b"HTTP/1.1 400", MALFORMED[0].wire, frame(b"[]")):
            line, transport = SsiLine(self.clock), StringTransport()
            line.makeConnection(transport)
            answer = line.ask(GetStatus().request(), 15)
            line.dataReceived(noise)
            self.assertTrue(self.failureResultOf(answer, Garbled).value.data)
            self.assertTrue(transport.disconnecting)

    def test_lost(self) -> None:
        """A line that breaks fails what is due, and nothing more is sent on it."""
        answer = self.line.ask(GetStatus().request(), 15)
        self.line.connectionLost()
        self.failureResultOf(answer, LineLost)
        self.failureResultOf(self.line.ask(GetStatus().request(), 15), NotReached)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_nobody_listens(self) -> None:
        """An error in the listener for late replies does not stop the line."""

        def broken(_: Reply) -> None:
            raise RuntimeError("no store")

        line = SsiLine(self.clock, broken)
        line.makeConnection(StringTransport())
        line.dataReceived(said("Purchase"))
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.assertTrue(line.usable)

    @given(st.lists(st.binary(max_size=30) | st.sampled_from([*WIRES, MALFORMED[0].wire]), max_size=6))
    def test_anything(self, pieces: list[bytes]) -> None:
        """Whatever the terminal says, a question ends once."""
        line = SsiLine(self.clock)
        line.makeConnection(StringTransport())
        ends: list[object] = []
        line.ask(GetLastResult().request(), 15).addBoth(ends.append)
        for data in pieces:
            line.dataReceived(data)
        line.connectionLost()
        self.assertEqual(len(ends), 1)


class Banner(Protocol):
    """A peer of another protocol that sends a banner."""

    def connectionMade(self) -> None:
        """Say it."""
        assert self.transport is not None
        self.transport.write(b"SSH-2.0-OpenSSH_9.6\r\n")


class Scripted(Protocol):
    """A terminal that is always idle, takes everything, and sends the given replies."""

    def __init__(self, replies: dict[str, list[Reply]]) -> None:
        self.replies = replies

    def dataReceived(self, data: bytes) -> None:
        """Give the next reply of the method."""
        (payload,) = fed(data)
        method = Request.decode(payload).method
        replies = self.replies.get(method, [Reply(method, status="S00" if method == "GetStatus" else "")])
        assert self.transport is not None
        self.transport.write(frame((replies.pop(0) if len(replies) > 1 else replies[0]).encode()))


class Desk(SsiTerminal):
    """A till with one method for a purchase, in one step or two."""

    two_steps = True

    async def pay(
        self,
        kopecks: int,
        merchant: str,
        uid: str,
        patience: float | None = None,
        progress: StatusListener | None = None,
    ) -> Reply:
        """Take ``kopecks`` from a card."""
        purchase = Purchase(kopecks, merchant_id=merchant, transaction_uid=uid or None)
        if not self.two_steps:
            return await self.run(purchase, patience=patience, progress=progress)
        read = await self.begin(purchase, patience, progress)
        return await self.finish(purchase, patience=patience, progress=progress) if read.waits else read


class _WithTerminal(SynchronousTestCase):
    """A register and a simulated terminal, on one clock."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(1_790_000_000)
        self.device = SsiSimulator(Terminal(self.clock, hold=20), self.clock)
        self.late: list[Reply] = []
        self.shown: list[str] = []
        self.wire = MemoryEndpoint(self.clock, lambda: self.device.buildProtocol(None))
        self.desk = Desk(self.wire, self.clock, late=self.late.append)

    def rule(self, on: str, then: str, **more: object) -> None:
        """Add what shall go wrong next."""
        scenario = self.device.terminal.scenario
        scenario.replace({"rules": [*scenario.document()["rules"], {"on": on, "then": then, **more}]})

    def run_(self, work: Coroutine[Deferred[Any], Any, _Value]) -> _Value:
        """What the work comes to."""
        return self.successResultOf(self.wire.wait(Deferred.fromCoroutine(work)))

    def failed(self, work: Coroutine[Deferred[Any], Any, object]) -> WireError:
        """How the work failed."""
        error = self.failureResultOf(self.wire.wait(Deferred.fromCoroutine(work))).value
        assert isinstance(error, WireError)
        return error

    def begun(self, work: Coroutine[Deferred[Any], Any, _Value], seconds: float) -> Deferred[_Value]:
        """Work that has been under way for some seconds."""
        result = Deferred.fromCoroutine(work)
        self.wire.advance(seconds)
        return result

    def ledger(self) -> list[tuple[str, str, int]]:
        """What the terminal believes has happened: kind, status, kopecks."""
        return [(entry.kind, entry.status, entry.sum) for entry in self.device.terminal.entries()]

    def scripted(self, **replies: list[Reply]) -> None:
        """Put an idle terminal at the other end that gives these replies by method, the last one for good."""

        def far() -> Scripted:
            return Scripted(replies)

        self.wire.accept = far

    def asked(self, method: str) -> int:
        """How often the register asked for a method."""
        return sum(heard.count(b'"method":"%s"' % method.encode()) for heard in self.wire.sent)


class OperationTests(_WithTerminal):
    """Operations of a day, with a whole terminal at the other end."""

    def test_pay(self) -> None:
        """A payment goes in two steps and ends with everything a register needs of it."""
        reply = self.run_(self.desk.pay(12550, "M1", UID, progress=self.shown.append))
        told = reply.result
        self.assertEqual((reply.approved, told.trans_amount, told.transaction_uid), (True, 12550, UID))
        self.assertTrue(all((told.rrn, told.auth_code, told.invoice_num, told.pan, told.bin_name, told.at)))
        self.assertEqual(self.ledger(), [("payment", "accepted", 12550)])
        self.assertIn("S08", self.shown)
        self.assertEqual(self.shown[-1], "S00")
        self.assertIn("125.50", self.run_(self.desk.slip()).result.receipt)

    def test_one_step(self) -> None:
        """Asked for in one step, or with firmware that stops nowhere, a payment ends the same way."""
        self.desk.two_steps = False
        self.assertTrue(self.run_(self.desk.pay(100, "M1", UID)).approved)
        self.assertEqual(self.asked("Purchase"), 1)
        self.desk.two_steps, self.device.one_step = True, True
        self.assertTrue(self.run_(self.desk.pay(200, "M1", OTHER)).approved)
        self.assertEqual(self.asked("Purchase"), 2)

    def test_one_question_each(self) -> None:
        """Each connection carries one request, and the next begins a quarter of a second later or more."""
        self.run_(self.desk.pay(100, "M1", UID))
        self.assertEqual([len(fed(heard)) for heard in self.wire.sent], [1] * len(self.wire.sent))
        times = self.device.requested_at
        self.assertEqual([late - early for early, late in pairwise(times) if late - early < 0.249], [])

    def test_kept_line(self) -> None:
        """Where the setting says so, one line serves them all."""
        self.desk.keeps_line = True
        self.assertTrue(self.run_(self.desk.pay(100, "M1", UID)).approved)
        self.assertEqual(len(self.wire.sent), 1)
        self.run_(self.desk.close())
        self.assertIsNone(self.device.client)
        self.run_(self.desk.ping())
        self.assertEqual(len(self.wire.sent), 2)

    def test_card_first(self) -> None:
        """The card is returned after the first step, and the second one takes another sum."""
        purchase = Purchase(6000, merchant_id="M1", transaction_uid=UID)
        read = self.run_(self.desk.begin(purchase))
        self.assertEqual((read.waits, read.stage), (True, Stage.FIRST_STEP))
        self.assertRegex(read.result.pan, r"^\d{6}\*+\d{4}$")
        self.assertEqual(self.ledger(), [])
        done = self.run_(self.desk.finish(purchase, 5500))
        self.assertEqual((done.approved, done.result.trans_amount), (True, 5500))

    def test_given_up_at_the_card(self) -> None:
        """An interrupt between the steps ends the purchase without money, and so the second step finds it."""
        purchase = Purchase(6000, merchant_id="M1", transaction_uid=UID)
        self.run_(self.desk.begin(purchase))
        self.assertEqual(self.run_(self.desk.interrupt()).code, "")
        self.wire.advance(2)
        self.assertIs(self.run_(self.desk.find(UID)).stage, Stage.CANCELLED)
        self.assertIs(self.run_(self.desk.finish(purchase)).stage, Stage.CANCELLED)
        self.assertEqual(self.ledger(), [("payment", "refused", 6000)])

    def test_went_on_alone(self) -> None:
        """When the terminal took the money without the second step, the reply to the refused step has the result."""
        purchase = Purchase(6000, merchant_id="M1", transaction_uid=UID)
        self.run_(self.desk.begin(purchase))
        self.wire.advance(25)
        reply = self.run_(self.desk.finish(purchase, 5500))
        self.assertEqual((reply.approved, reply.result.trans_amount), (True, 6000))

    def test_second_step_of_another(self) -> None:
        """A second step with another sum or another number is refused, and the first one still waits."""
        purchase = Purchase(6000, merchant_id="M1", transaction_uid=UID)
        self.run_(self.desk.begin(purchase))
        other_sum = Purchase(7000, merchant_id="M1", transaction_uid=UID)
        self.assertTrue(self.run_(self.desk.finish(other_sum)).waits)
        other_uid = Purchase(6000, merchant_id="M1", transaction_uid=OTHER)
        self.assertEqual(self.run_(self.desk.finish(other_uid)).code, "E21")
        self.assertTrue(self.run_(self.desk.finish(purchase)).approved)

    def test_declined(self) -> None:
        """The bank's refusal comes as a result with its code."""
        self.rule("payment", "refuse", code="51")
        reply = self.run_(self.desk.pay(100, "M1", UID))
        self.assertEqual((reply.stage, reply.result.response_code, reply.code), (Stage.DECLINED, "0051", ""))

    def test_refused_at_once(self) -> None:
        """An operation that the terminal refuses to begin gets its error instead of the acknowledgement."""
        for cause, code in (("settle_first", "E15"), ("journal_full", "E15"), ("no_paper", "E18"), ("busy", "E06")):
            self.rule("payment", "refuse", code=cause)
            reply = self.run_(self.desk.pay(100, "M1", f"uid-{cause}"))
            self.assertEqual((reply.code, reply.stage), (code, Stage.MISSING))
        self.assertEqual(self.run_(self.desk.pay(100, "M9", OTHER)).code, "E07")

    def test_refused_later(self) -> None:
        """A refusal during the operation is in the result, with the error's number."""
        self.rule("payment", "refuse", code="no_link")
        reply = self.run_(self.desk.pay(100, "M1", UID))
        self.assertEqual((reply.stage, reply.result.error_details), (Stage.DECLINED, "E10"))

    def test_cancelled_by_the_customer(self) -> None:
        """A key on the terminal ends the payment as cancelled."""
        self.rule("payment", "refuse", code="cancelled")
        self.assertIs(self.run_(self.desk.pay(100, "M1", UID)).stage, Stage.CANCELLED)

    def test_busy(self) -> None:
        """A terminal at work refuses another operation, and its own is not disturbed."""
        self.device.terminal.duration = 10
        paying = self.begun(self.desk.pay(100, "M1", UID), 2)
        self.assertEqual(self.run_(self.desk.run(Void("1", OTHER))).code, "E06")
        self.assertTrue(self.successResultOf(self.wire.wait(paying)).approved)

    def test_interrupt(self) -> None:
        """An interrupt before the bank is asked cancels; while the bank is asked it is refused, and money moves."""
        self.desk.two_steps = False
        self.device.terminal.duration = 10
        paying = self.begun(self.desk.pay(300, "M1", UID), 1)
        self.assertEqual(self.run_(self.desk.interrupt()).code, "")
        self.assertIs(self.successResultOf(self.wire.wait(paying)).stage, Stage.CANCELLED)
        paying = self.begun(self.desk.pay(400, "M1", OTHER), 7)
        self.assertEqual(self.run_(self.desk.interrupt()).code, "E08")
        self.assertTrue(self.successResultOf(self.wire.wait(paying)).approved)
        self.assertEqual(self.ledger(), [("payment", "refused", 300), ("payment", "accepted", 400)])

    def test_void(self) -> None:
        """A payment is cancelled once by its number; a number that is none cancels nothing."""
        number = self.run_(self.desk.pay(300, "M1", UID)).result.invoice_num
        for wrong in ("", "0", "x", "9" * 20):
            self.assertEqual(self.run_(self.desk.run(Void(wrong, OTHER))).code, "E20")
        reply = self.run_(self.desk.run(Void(number, OTHER)))
        self.assertEqual((reply.approved, reply.result.original_trn_name), (True, "Void"))
        again = self.run_(self.desk.run(Void(number, "third")))
        self.assertEqual((again.stage, again.result.error_details), (Stage.DECLINED, "E21"))

    def test_refund(self) -> None:
        """A refund goes by the RRN of the payment."""
        rrn = self.run_(self.desk.pay(300, "M1", UID)).result.rrn
        reply = self.run_(self.desk.run(Refund(100, merchant_id="M1", rrn=rrn, transaction_uid=OTHER)))
        self.assertEqual((reply.approved, reply.result.original_trn_name), (True, "Refund"))
        self.assertFalse(
            self.run_(
                self.desk.run(Refund(100, merchant_id="M1", rrn="000000000001", transaction_uid="third"))
            ).approved
        )
        self.assertEqual(
            self.run_(self.desk.run(Refund(100, merchant_id="M1", rrn="", transaction_uid="fourth"))).code, "E04"
        )

    def test_cashback(self) -> None:
        """Goods and cash are taken as one sum."""
        told = self.run_(self.desk.run(CashBack(100, 5000, merchant_id="M1", transaction_uid=UID))).result
        self.assertEqual((told.trans_amount, told.cash_amount), (5100, 5000))

    def test_reports(self) -> None:
        """Totals leave the batch open, the general report closes it, and each has its slip."""
        number = self.run_(self.desk.pay(300, "M1", UID)).result.invoice_num
        self.assertIn("3.00", self.run_(self.desk.report(XReport("M1"))).result.receipt)
        self.assertEqual(self.run_(self.desk.report(ZReport("M1"))).code, "")
        self.assertIn("3.00", self.run_(self.desk.report_slip()).result.receipt)
        self.assertEqual(self.run_(self.desk.run(Void(number, OTHER))).result.error_details, "E20")
        self.rule("settlement", "refuse", code="no_link")
        self.assertEqual(self.run_(self.desk.report(ZReport("M1"))).code, "E10")
        self.assertEqual(self.run_(self.desk.report(XReport("M7"))).code, "E07")

    def test_questions(self) -> None:
        """Merchants, model, the connection to the bank and the status can be queried."""
        self.assertEqual(self.run_(self.desk.ping()).code, "")
        self.assertEqual(self.run_(self.desk.merchants()).merchants, [Merchant("M1", "DM000001", "МАГАЗИН")])
        self.assertEqual(
            self.run_(self.desk.ask(GetTerminalInfo().request())).params["terminalSerialNumber"], "DM000001"
        )
        self.assertEqual(self.run_(self.desk.echo("M1")).code, "")
        self.assertEqual(self.run_(self.desk.echo("M9")).code, "E07")
        self.assertEqual(self.run_(self.desk.status()), "S00")
        self.assertEqual(self.run_(self.desk.last()).code, "E20")

    def test_status_inside(self) -> None:
        """A terminal that puts its status among the params is followed too."""
        self.device.status_inside = True
        self.assertTrue(self.run_(self.desk.pay(100, "M1", UID)).approved)

    def test_display_breaks(self) -> None:
        """An error in the progress listener does not stop the payment."""

        def broken(_: str) -> None:
            raise RuntimeError("no display")

        self.assertTrue(self.run_(self.desk.pay(100, "M1", UID, progress=broken)).approved)
        self.assertTrue(self.flushLoggedErrors(RuntimeError))


class DoubtTests(_WithTerminal):
    """Lost replies: nothing is sent twice, and the uid finds the outcome."""

    def test_before(self) -> None:
        """A line that breaks before the request is taken: the terminal knows of no such operation."""
        self.rule("payment", "lost_before")
        self.assertIsInstance(self.failed(self.desk.pay(500, "M1", UID)), LineLost)
        self.assertEqual(self.run_(self.desk.find(UID)).code, "E20")
        self.assertEqual((self.ledger(), self.asked("Purchase")), ([], 1))

    def test_after(self) -> None:
        """A line that breaks after the request was taken: the first step waits, and no money moved yet."""
        self.rule("payment", "lost_after")
        self.assertIsInstance(self.failed(self.desk.pay(500, "M1", UID)), LineLost)
        self.assertTrue(self.run_(self.desk.find(UID)).waits)
        self.assertEqual((self.ledger(), self.asked("Purchase")), ([], 1))

    def test_after_one_step(self) -> None:
        """An operation in one step whose acknowledgement was lost or unreadable is found approved."""
        self.desk.two_steps = False
        for uid, then, error in ((UID, "lost_after", LineLost), (OTHER, "garbage", Garbled)):
            self.rule("payment", then)
            self.assertIsInstance(self.failed(self.desk.pay(500, "M1", uid)), error)
            self.assertTrue(self.run_(self.desk.find(uid)).approved)
        self.assertEqual((len(self.ledger()), self.asked("Purchase")), (2, 2))

    def test_silent(self) -> None:
        """A terminal that does not acknowledge in 15 seconds is asked afterwards."""
        self.rule("payment", "silent")
        error = self.failed(self.desk.pay(500, "M1", UID))
        assert isinstance(error, Silent)
        self.assertEqual((error.seconds, error.taken), (15, False))
        self.assertEqual(self.run_(self.desk.find(UID)).code, "E20")

    def test_result_lost(self) -> None:
        """After the approval the question for the result may be lost in any way: it is asked again."""
        for n, then in enumerate(("lost_before", "lost_after", "garbage", "silent")):
            self.desk.two_steps = False
            self.rule("probe", then)
            self.assertTrue(self.run_(self.desk.pay(500, "M1", f"uid-{n}")).approved)
        self.assertEqual((len(self.ledger()), self.asked("Purchase")), (4, 4))

    def test_power_cut(self) -> None:
        """Polls that are lost on the way do not end the operation."""
        self.device.terminal.duration = 20
        paying = self.begun(self.desk.pay(500, "M1", UID), 1)
        for _ in range(5):
            self.wire.hang_up()
            self.wire.advance(0.45)
        self.assertTrue(self.successResultOf(self.wire.wait(paying)).approved)

    def test_deadline(self) -> None:
        """An operation that does not end in its time is in doubt, and found when it has ended."""
        self.desk.two_steps = False
        self.rule("payment", "accept", delay_ms=40_000)
        error = self.failed(self.desk.pay(500, "M1", UID, patience=20))
        assert isinstance(error, Silent)
        self.assertEqual((error.seconds, error.taken), (20, True))
        self.assertEqual(self.ledger(), [])
        self.assertTrue(self.run_(self.desk.find(UID)).approved)

    def test_never_ends(self) -> None:
        """An operation that the terminal does not end in time stays in doubt."""
        self.rule("payment", "accept", delay_ms=400_000)
        self.failed(self.desk.pay(500, "M1", UID, patience=20))
        self.wire.advance(25)
        self.assertIsInstance(self.failed(self.desk.find(UID, patience=10)), Silent)

    def test_repeated_replies(self) -> None:
        """A terminal that says everything twice is believed once."""
        self.device.repeats = 2
        self.assertTrue(self.run_(self.desk.pay(500, "M1", UID)).approved)
        self.assertIn("Purchase", [reply.method for reply in self.late])
        self.assertEqual(self.asked("Purchase"), 2)

    def test_somebody_elses_result(self) -> None:
        """The result of another operation is never taken for ours."""
        told = Result(transaction_result="APPROVED", transaction_uid=OTHER, trans_amount=500).filled()
        self.scripted(GetResultByUid=[Reply("GetResultByUid", told)])
        self.assertIsInstance(self.failed(self.desk.pay(500, "M1", UID, patience=20)), Silent)
        self.assertIsInstance(self.failed(self.desk.find(UID)), Garbled)
        self.assertEqual({reply.result.transaction_uid for reply in self.late}, {OTHER})

    def test_result_not_there_yet(self) -> None:
        """A terminal that is idle before its result is there is asked again, for five seconds."""
        name = "GetResultByUid"
        approved = Reply(name, {"transactionResult": "APPROVED"})
        nothing, working = Reply(name, {}, True, "E20"), Reply(name, {}, True, "E22")
        self.scripted(GetResultByUid=[nothing, working, nothing, approved])
        self.assertTrue(self.run_(self.desk.pay(500, "M1", UID)).approved)
        self.scripted(GetResultByUid=[nothing])
        began = self.clock.seconds()
        self.assertEqual(self.run_(self.desk.pay(500, "M1", UID)).code, "E20")
        self.assertTrue(5 <= self.clock.seconds() - began < 8)

    def test_second_result_not_there_yet(self) -> None:
        """After the second step the result of the first one is not taken for the last word."""
        name = "GetResultByUid"
        first = Reply(name, {"transactionResult": "FIRST_STEP_COMPLETED"})
        self.scripted(GetResultByUid=[first, first, Reply(name, {"transactionResult": "APPROVED"})])
        self.assertTrue(self.run_(self.desk.pay(500, "M1", UID)).approved)
        self.assertEqual(self.asked("Purchase"), 2)

    def test_found_when_done(self) -> None:
        """An idle terminal that says it still works at the operation is waited for."""
        name = "GetResultByUid"
        working = Reply(name, {}, True, "E22")
        self.scripted(GetResultByUid=[working, working, Reply(name, {"transactionResult": "APPROVED"})])
        self.assertTrue(self.run_(self.desk.find(UID)).approved)

    def test_old_result(self) -> None:
        """Without a uid an old result is not taken: a new one is waited for, and without it there is doubt."""
        self.desk.two_steps = False
        old = Reply("GetLastResult", {"transactionResult": "APPROVED", "rrn": "1"})
        new = Reply("GetLastResult", {"transactionResult": "APPROVED", "rrn": "2"})
        self.scripted(GetLastResult=[old, old, old, new])
        self.assertEqual(self.run_(self.desk.pay(500, "M1", "")).result.rrn, "2")
        self.scripted(GetLastResult=[old])
        self.assertIsInstance(self.failed(self.desk.pay(500, "M1", "")), Garbled)

    def test_without_uid(self) -> None:
        """Without a uid the last result is compared with that from before, and only a new one is taken."""
        self.desk.two_steps = False
        self.run_(self.desk.pay(100, "M1", UID))
        reply = self.run_(self.desk.pay(100, "M1", ""))
        self.assertEqual((reply.approved, reply.result.transaction_uid), (True, ""))
        self.assertEqual(self.asked("GetResultByUid"), 1)

    def test_without_uid_nor_result(self) -> None:
        """Without a uid, and without the last result from before, nothing is sent."""
        self.rule("probe", "lost_before")
        self.assertIsInstance(self.failed(self.desk.pay(100, "M1", "")), NotReached)
        self.assertEqual(self.asked("Purchase"), 0)

    def test_not_reached(self) -> None:
        """Where nothing listens nothing was sent."""
        self.rule("any", "unreachable")
        self.assertIsInstance(self.failed(self.desk.pay(100, "M1", UID)), NotReached)
        self.assertEqual(self.wire.sent, [])

    def test_another_protocol(self) -> None:
        """If another protocol answers, its first bytes are reported."""
        self.wire.accept = Banner
        error = self.failed(self.desk.ping())
        assert isinstance(error, Garbled)
        self.assertTrue(error.data.startswith(b"SSH-2.0"))

    def test_second_program(self) -> None:
        """While another program holds the terminal a ping meets silence."""
        wire = self.device.buildProtocol(None)
        assert wire is not None
        wire.makeConnection(StringTransport())
        error = self.failed(self.desk.ping())
        assert isinstance(error, Silent)
        self.assertEqual(error.seconds, 3)
        wire.connectionLost()
        self.assertEqual(self.run_(self.desk.ping()).code, "")


class JudgeTests(SynchronousTestCase):
    """What a last result proves of an operation without a uid."""

    BEGUN = datetime(2026, 9, 21, 10, 0, 0)
    ASKED = Refund(500, merchant_id="M1", rrn="1")

    def told(self, **changes: str) -> Reply:
        """A last result that is ours in every respect but the changed ones."""
        ours = {"originalTrnName": "Refund", "transactionResult": "APPROVED", "transAmount": "500"}
        return Reply("GetLastResult", {**ours, "date": "21/09/2026", "time": "10:00:20", "rrn": "2", **changes})

    def judged(self, told: Reply, before: Reply | None = None) -> Finding:
        """The finding for a refund of 5.00 that was given up after a minute."""
        nothing = Reply("GetLastResult", {}, True, "E20")
        return judge(self.ASKED, self.BEGUN, self.BEGUN + timedelta(minutes=1), before or nothing, told)

    def test_ours(self) -> None:
        """A new result of our kind, sum and time is ours, approved or not."""
        self.assertIs(self.judged(self.told()), Finding.OURS)
        self.assertIs(self.judged(self.told(transactionResult="DECLINED")), Finding.OURS)
        self.assertIs(self.judged(self.told(), self.told(rrn="1")), Finding.OURS)

    def test_nothing_new(self) -> None:
        """The very result from before proves that nothing happened since."""
        self.assertIs(self.judged(self.told(), self.told()), Finding.NOTHING)

    @shows("rule 6")
    def test_somebody_elses(self) -> None:
        """Another kind, sum or time, or no result at all, prove nothing."""
        for changes in (
            {"originalTrnName": "Purchase"},
            {"transAmount": "501"},
            {"transAmount": ""},
            {"time": "09:57:59"},
            {"time": "10:03:01"},
            {"date": ""},
            {"transactionResult": ""},
        ):
            self.assertIs(self.judged(self.told(**changes)), Finding.UNKNOWN, changes)
        nothing = Reply("GetLastResult", {}, True, "E20")
        self.assertIs(self.judged(nothing), Finding.UNKNOWN)

    def test_sum_not_asked(self) -> None:
        """A cancel asks for no sum, so kind and time decide."""
        told = self.told(originalTrnName="Void", transAmount="7")
        before = Reply("GetLastResult", {}, True, "E20")
        self.assertIs(judge(Void("1"), self.BEGUN, self.BEGUN, before, told), Finding.OURS)


class SimulatorTests(SynchronousTestCase):
    """The terminal's end of the wire by itself."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.terminal = Terminal(self.clock, duration=0)
        self.device = SsiSimulator(self.terminal, self.clock)
        self.transport = StringTransport()

    def told(self, *pieces: bytes) -> list[Reply]:
        """What the terminal answers to the pieces, on a connection of its own."""
        wire = self.device.buildProtocol(None)
        assert wire is not None
        self.transport = StringTransport()
        wire.makeConnection(self.transport)
        for piece in pieces:
            wire.dataReceived(piece)
        wire.connectionLost()
        return [Reply.decode(payload) for payload in fed(self.transport.value())]

    def test_golden(self) -> None:
        """Every golden frame of a register is answered by its own method, cut in two or not."""
        for vector in SENT:
            for cut in (0, len(vector.wire) // 2):
                (reply,) = self.told(vector.wire[:cut], vector.wire[cut:])
                self.assertEqual(reply.method, Request.decode(vector.wire[5:-1]).method)

    def test_faults(self) -> None:
        """A fault in a frame is answered by its error, and the connection ends."""
        for wire, code in ((b"GET / HTTP/1.1", "E01"), (MALFORMED[0].wire, "E02"), (frame(b"[1]"), "E03")):
            (reply,) = self.told(wire, SENT[0].wire)
            self.assertEqual(reply.code, code)
            self.assertTrue(self.transport.disconnecting)

    def test_unknown(self) -> None:
        """A method that it does not have, and one without its members, have their errors."""
        self.assertEqual(self.told(frame(Request("PrintXml").encode()))[0].code, "E05")
        self.assertEqual(self.told(frame(Request("Purchase").encode()))[0].code, "E04")
        self.assertEqual(self.told(frame(Request("VoidPreauth", {"invoiceNum": "1"}).encode()))[0].code, "E05")

    def test_uid_once(self) -> None:
        """A uid names one operation: the same one again is refused, and no money moves."""
        purchase = frame(Purchase(100, merchant_id="M1", transaction_uid=UID).request().encode())
        self.assertEqual([self.told(purchase)[0].code for _ in range(2)], ["", "E21"])
        self.assertEqual(len(self.terminal.entries()), 1)

    def test_restart(self) -> None:
        """A terminal that was switched off and on finds an operation by its uid."""
        path = Path(self.mktemp())
        first = Terminal(self.clock, path, duration=0)
        self.device = SsiSimulator(first, self.clock)
        self.told(frame(Purchase(300, merchant_id="M1", transaction_uid=UID).request().encode()))
        first.close()
        again = Terminal(self.clock, path, duration=0)
        self.addCleanup(again.close)
        self.device = SsiSimulator(again, self.clock)
        (reply,) = self.told(frame(Request("GetResultByUid", {"transactionUid": UID}).encode()))
        self.assertEqual((reply.approved, reply.result.trans_amount), (True, 300))

    @given(st.lists(st.binary(max_size=60) | st.sampled_from(WIRES), max_size=5))
    def test_anything(self, pieces: list[bytes]) -> None:
        """Any bytes leave the terminal alive."""
        self.told(*pieces)
        self.assertEqual(self.told(SENT[0].wire)[0].code, "")

    @given(
        st.sampled_from([*METHODS, "X"]),
        st.dictionaries(
            st.sampled_from(["transAmount", "merchantId", "rrn", "invoiceNum", "cashAmount", "transactionUid"]),
            st.text(max_size=12) | st.sampled_from(["100", "M1", "1"]),
        ),
        st.sampled_from(["", "1", "2", "x"]),
    )
    def test_any_members(self, method: str, params: dict[str, str], step: str) -> None:
        """Whatever members a method has, it is answered once."""
        self.assertEqual(len(self.told(frame(Request(method, params, step).encode()))), 1)
