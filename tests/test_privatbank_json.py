"""PrivatBank JSON: bytes and values, one line, how it opens, and a whole terminal at the other end."""

from __future__ import annotations

import contextlib
from collections.abc import Coroutine
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import example, given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.protocol import Protocol
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, NotReached, Silent
from protocols.simulators.privatbank_json import GARBAGE, PrivatbankSimulator
from protocols.simulators.terminal import Terminal
from protocols.terminals.amounts import NOT_A_SUM
from protocols.terminals.privatbank_json.amounts import amount_text, kopecks_of
from protocols.terminals.privatbank_json.line import Pace, PrivatbankLine
from protocols.terminals.privatbank_json.messages import (
    LONGEST,
    SERVICE,
    Deframer,
    DiscountCard,
    PresentedCard,
    Reply,
    Request,
    frame,
)
from protocols.terminals.privatbank_json.opening import Opening
from protocols.terminals.privatbank_json.recovery import Finding, Snapshot, Wanted, judge
from protocols.terminals.privatbank_json.requests import (
    INSTALMENT_REFUNDS,
    INSTALMENTS,
    METHODS,
    Audit,
    Cashback,
    CheckConnection,
    GetReceiptInfo,
    GetTerminalInfo,
    Instalments,
    InstalmentsRefund,
    PingDevice,
    PrintReceiptNum,
    Purchase,
    ReadCardDiscount,
    Refund,
    ServiceGeneric,
    Verify,
    Withdrawal,
    WithdrawalPartly,
    read_primary,
)
from protocols.terminals.privatbank_json.terminal import PrivatbankTerminal
from tests.memory_line import MemoryEndpoint
from tests.terminal_matrix import shows
from tests.vectors.privatbank_json import MALFORMED, RECEIVED, SENT

_Value = TypeVar("_Value")

WIRES = [vector.wire for vector in SENT] + [vector.wire for vector in RECEIVED]


def fed(*pieces: bytes) -> list[bytes]:
    """The messages that come of the pieces."""
    deframer = Deframer()
    return [payload for piece in pieces for payload in deframer.feed(piece)]


def service(name: str, **params: str) -> bytes:
    """A service message of the terminal, on the wire."""
    return frame(Reply(SERVICE, {"msgType": name, **params}).encode())


def purchased(code: str = "0000", **params: str) -> bytes:
    """The answer to a purchase, on the wire."""
    return frame(Reply("Purchase", {"responseCode": code, **params}, code != "0000").encode())


PING_OK = frame(Reply("PingDevice", {"code": "00", "responseCode": "0000"}).encode())


class FrameTests(SynchronousTestCase):
    """Messages in a stream."""

    @shows("golden frames", wire="privatbank-json")
    def test_cut_anywhere(self) -> None:
        """Every golden message comes whole out of a stream that is cut at any byte."""
        for wire in WIRES:
            whole = fed(wire)
            self.assertEqual(len(whole), 1, wire)
            for cut in range(len(wire) + 1):
                self.assertEqual(fed(wire[:cut], wire[cut:]), whole, (cut, wire))

    def test_byte_by_byte(self) -> None:
        """All golden messages one after the other come in their order out of single bytes."""
        stream = b"".join(WIRES)
        self.assertEqual(
            fed(*(stream[at : at + 1] for at in range(len(stream)))), [wire.strip(b"\0") for wire in WIRES]
        )

    def test_several_at_once(self) -> None:
        """Messages that arrive together are separated, and empty pieces between them are skipped."""
        self.assertEqual(fed(b"\0\0{1}\0\0 \0{2}\0{3"), [b"{1}", b"{2}"])

    def test_frame(self) -> None:
        """A frame is the message and a zero byte."""
        self.assertEqual(frame(b"{}"), b"{}\x00")

    def test_longest(self) -> None:
        """A message of the longest allowed size comes through; one byte more is refused and then forgotten."""
        self.assertEqual([len(payload) for payload in fed(b"x" * LONGEST + b"\0")], [LONGEST])
        deframer = Deframer()
        self.assertEqual(list(deframer.feed(b"x" * LONGEST)), [])
        with self.assertRaises(Garbled):
            list(deframer.feed(b"x"))
        self.assertEqual(list(deframer.feed(b"{}\0")), [b"{}"])

    @given(st.lists(st.binary(max_size=80)))
    def test_anything(self, pieces: list[bytes]) -> None:
        """Any bytes, cut in any way, give the same messages as in one piece."""
        self.assertEqual(fed(*pieces), fed(b"".join(pieces)))


class SentTests(SynchronousTestCase):
    """What the register writes."""

    def test_read(self) -> None:
        """Each golden message of a register is read as the method that it is."""
        for vector in SENT:
            (payload,) = fed(vector.wire)
            request = Request.decode(payload)
            if isinstance(vector.asks, str):
                self.assertEqual(request, Request(SERVICE, {"msgType": vector.asks}), vector.meaning)
            else:
                self.assertEqual(read_primary(request), vector.asks, vector.meaning)

    def test_written(self) -> None:
        """Each golden message of a register is written byte for byte again."""
        for vector in SENT:
            (payload,) = fed(vector.wire)
            self.assertEqual(frame(Request.decode(payload).encode()), vector.wire.lstrip(b"\0"), vector.meaning)

    def test_methods_written(self) -> None:
        """A method is written as in the golden message, save for what the vendor's examples leave out."""
        looser = {
            "Purchase": {"facepay": "false"},  # an older client leaves it out; some models refuse without
            "ServiceRefPbP": {"amount": "350.00"},  # the document prints it without the decimals that it asks for
        }
        for vector in SENT:
            (payload,) = fed(vector.wire)
            request = Request.decode(payload)
            if not isinstance(vector.asks, str):
                more = looser.get(request.method)
                params = {**request.params, **more} if request.params and more else request.params
                self.assertEqual(
                    vector.asks.request().encode(), Request(request.method, params, request.prompt).encode()
                )

    def test_purchase(self) -> None:
        """A purchase always has discount, merchant and facepay, in the document's order."""
        self.assertEqual(
            Purchase(12550).request().encode(),
            b'{"method":"Purchase","step":0,"params":'
            b'{"amount":"125.50","discount":"","merchantId":"0","facepay":"false"}}',
        )

    def test_refund(self) -> None:
        """A refund names the RRN after the merchant."""
        self.assertEqual(
            Refund(100, rrn="014721391803", sub_merchant="A1").request().encode(),
            b'{"method":"Refund","step":0,"params":{"amount":"1.00","discount":"","merchantId":"0",'
            b'"rrn":"014721391803","subMerchant":"A1"}}',
        )

    def test_generic(self) -> None:
        """A service of the bank travels with its number, parameter and merchant."""
        self.assertEqual(
            ServiceGeneric(60, "6", "046", "6").request().params,
            {"amount": "0.60", "param": "6", "srvNum": "046", "merchantId": "6"},
        )

    def test_every_method(self) -> None:
        """Every method comes back from its own message, instalments under each of their names."""
        known = {
            "amount": "0.60",
            "discount": "",
            "merchantId": "2",
            "rrn": "1",
            "invoiceNumber": "3",
            "amountOfParts": "4",
            "agreementNum": "5",
            "param": "6",
            "srvNum": "046",
            "amountCash": "7.00",
            "addamount": "0.50",
            "approvalCode": "8",
        }
        self.assertEqual({*INSTALMENTS, *INSTALMENT_REFUNDS} - set(METHODS), set())
        for name, cls in METHODS.items():
            asked = read_primary(Request(name, known))
            self.assertIsInstance(asked, cls)
            self.assertEqual(asked.method, name)
            self.assertEqual(read_primary(Request.decode(asked.request().encode())), asked)

    def test_unreadable(self) -> None:
        """A method without its amount, or with a strange one, is refused, and so is a strange method."""
        self.assertRaises(ValueError, read_primary, Request("Purchase", {"discount": ""}))
        self.assertRaises(ValueError, read_primary, Request("Purchase", {"amount": "1.2.3"}))
        self.assertRaises(ValueError, read_primary, Request("ServicePbP", {"amount": "1.00", "amountOfParts": "x"}))
        self.assertRaises(LookupError, read_primary, Request("PrintHTML"))

    @given(st.binary(max_size=200))
    @example(b'{"method":"ReadBonusCard","prompt":{"line":[1,{"text":[]}]},"params":[]}')
    @example(b'{"method":"ServicePbP","params":{"amount":"1","amountOfParts":"' + b"9" * 5000 + b'"}}')
    def test_anything(self, payload: bytes) -> None:
        """Any bytes are a message or none, and whatever is a message is a method or not."""
        with contextlib.suppress(Garbled, LookupError, ValueError):
            read_primary(Request.decode(payload))

    def test_money_or_not(self) -> None:
        """What moves money is known of each method."""
        self.assertTrue(Cashback(1, 1).moves_money and Withdrawal("1").moves_money and Instalments(1, 2).moves_money)
        self.assertFalse(GetReceiptInfo().moves_money or PingDevice().moves_money)


class AmountTests(SynchronousTestCase):
    """Sums on the wire."""

    def test_both_separators(self) -> None:
        """Point and comma are read, and whole numbers too."""
        self.assertEqual(
            [kopecks_of(text) for text in ("0.60", "0,60", "350", "1500.00", "0.6")], [60, 60, 35000, 150000, 60]
        )

    def test_nothing_else(self) -> None:
        """Signs, blanks, several separators and three decimals are no amounts."""
        for text in ("", "-1.00", "1 000", "1.2.3", "1.234", ".5", "١", "1e3"):
            self.assertRaises(ValueError, kopecks_of, text)

    @given(st.integers(min_value=0, max_value=10**12))
    def test_there_and_back(self, kopecks: int) -> None:
        """Every amount is read as it was written."""
        self.assertEqual(kopecks_of(amount_text(kopecks)), kopecks)


class ReceivedTests(SynchronousTestCase):
    """What the terminal writes."""

    def test_read(self) -> None:
        """Each golden message of a terminal is read with its method, code and words."""
        for vector in RECEIVED:
            (payload,) = fed(vector.wire)
            reply = Reply.decode(payload)
            told = (reply.method, reply.message_type, reply.code, reply.error, reply.text)
            self.assertEqual(
                told, (vector.method, vector.message_type, vector.code, vector.error, vector.text), vector.meaning
            )

    def test_written(self) -> None:
        """A golden message that was read and written is read the same again."""
        for vector in RECEIVED:
            (payload,) = fed(vector.wire)
            reply = Reply.decode(payload)
            self.assertEqual(Reply.decode(reply.encode()), reply, vector.meaning)

    def test_transaction(self) -> None:
        """The full set of an approved purchase is read into its fields and written back member for member."""
        (vector,) = (each for each in RECEIVED if "full field set" in each.meaning)
        (payload,) = fed(vector.wire)
        reply = Reply.decode(payload)
        told = reply.transaction
        self.assertEqual((told.amount, told.discount, told.invoice_number), (60, 0, "999999"))
        self.assertEqual((told.rrn, told.approval_code, told.pan), ("9999999999999", "999999", "4731XXXXXXXX9838"))
        self.assertEqual(told.params(), dict(reply.params))

    def test_cashback(self) -> None:
        """A cash issue has the cash and whether it passed."""
        (vector,) = (each for each in RECEIVED if each.method == "Cashback")
        (payload,) = fed(vector.wire)
        told = Reply.decode(payload).transaction
        self.assertEqual((told.amount, told.amount_cash, told.result_cashback), (130, 100, True))

    def test_lists(self) -> None:
        """Merchants and masks are read by their numbers, gaps included."""
        lists = [Reply.decode(fed(each.wire)[0]).numbered for each in RECEIVED if each.message_type.endswith("List")]
        self.assertEqual([sorted(each) for each in lists], [[3, 4, 5, 6, 12], [1, 2, 3]])

    def test_malformed(self) -> None:
        """A malformed message is refused, and the one after it is read."""
        for vector in MALFORMED:
            bad, good = fed(vector.wire + PING_OK)
            self.assertRaises(Garbled, Reply.decode, bad)
            self.assertEqual(Reply.decode(good).code, "0000")

    def test_garbage_around(self) -> None:
        """Noise before or inside a message spoils that message only; noise after it spoils the next one."""
        for noisy in (b"\xff\x01" + PING_OK, PING_OK[:9] + b"\xff" + PING_OK[9:]):
            bad, good = fed(noisy + PING_OK)
            self.assertRaises(Garbled, Reply.decode, bad)
            self.assertEqual(Reply.decode(good).code, "0000")
        good, bad = fed(PING_OK + b"\xff" + PING_OK)
        self.assertEqual(Reply.decode(good).code, "0000")
        self.assertRaises(Garbled, Reply.decode, bad)

    def test_quirks(self) -> None:
        """Misspelt keys, blanks in names and values, numbers for text and a quoted flag are all read."""
        for key in ("errorDescription", "errorDescritption", "errorDecsription", "errorDecription"):
            reply = Reply.decode(
                b'{"error" : "true" , "%s":" no ", " method":" Purchase ",'
                b'"params":{"responseCode":51,"amount":0.60,"rrn " :123,"pan":null,"more":{"a":[1]}}}' % key.encode()
            )
            self.assertEqual((reply.method, reply.error, reply.text, reply.code), ("Purchase", True, "no", "0051"))
            self.assertEqual((reply.transaction.amount, reply.transaction.rrn), (60, "123"))

    def test_receipt_as_it_is(self) -> None:
        """The blanks of a slip stay: they are its layout."""
        reply = Reply.decode('{"method":"Audit","params":{"receipt":"   ЗВІТ\\n 1  "}}'.encode())
        self.assertEqual(reply.transaction.receipt, "   ЗВІТ\n 1  ")

    def test_unreadable_amount(self) -> None:
        """An approval whose amount cannot be read is an approval, but over no sum; a blank one names none."""
        for text in ("?", "-100.00", "NaN", "1e9", "1.005", "9999999999999.00"):
            reply = Reply.decode(purchased(amount=text, amountCash="?")[:-1])
            self.assertTrue(reply.approved)
            self.assertEqual((reply.transaction.amount, reply.transaction.amount_cash), (NOT_A_SUM, NOT_A_SUM), text)
        self.assertIsNone(Reply.decode(purchased(amount="")[:-1]).transaction.amount)

    def test_code_decides(self) -> None:
        """An error flag beside the code of success does not make a refusal of it."""
        self.assertTrue(Reply("Purchase", {"responseCode": "0000"}, True).approved)
        self.assertTrue(Reply("Purchase", {"responseCode": "0010"}).approved)
        self.assertFalse(Reply("Purchase", {"responseCode": "0051"}, False).approved)
        self.assertFalse(Reply("Purchase", {}).approved)

    def test_no_message(self) -> None:
        """JSON that is no object, or has no method, is no message."""
        for payload in (b"[]", b"1", b'"x"', b"{}", b'{"method":null}', b"[" * 100_000, b"\xff"):
            self.assertRaises(Garbled, Reply.decode, payload)

    def test_secrets(self) -> None:
        """The text of a message for the log shows neither tracks nor the whole card number."""
        reply = Reply("ReadCardBank", {"track2": "4731000011119838=2512", "pan": "4731000011119838", "hash": "ab12"})
        self.assertNotIn("0000111", repr(reply))
        self.assertNotIn("ab12", repr(reply))
        self.assertIn("473100******9838", repr(reply))
        self.assertNotIn("9838=2512", repr(DiscountCard(track2="4731000011119838=2512")))

    @given(st.binary(max_size=200))
    def test_anything(self, payload: bytes) -> None:
        """Any bytes are a message or none."""
        try:
            reply = Reply.decode(payload)
        except Garbled:
            return
        self.assertEqual(Reply.decode(reply.encode()), reply)

    @given(st.dictionaries(st.text(max_size=9), st.text(max_size=9)), st.text(max_size=9))
    def test_any_members(self, params: dict[str, str], code: str) -> None:
        """Whatever members a message has, it can be asked for everything."""
        reply = Reply("Purchase", {**params, "responseCode": code, "amount": code, "1": code})
        self.assertEqual(reply.transaction.response_code, code)
        self.assertEqual(reply.numbered[1], code)
        self.assertEqual((reply.busy, reply.unknown_method, bool(repr(reply))), (False, False, True))


class LineTests(SynchronousTestCase):
    """One connection: what is due, what is late, and when it is too late."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.late: list[Reply] = []
        self.fresh()
        self.line.handshake()
        self.hear(PING_OK)
        self.wrote()

    def fresh(self) -> PrivatbankLine:
        """A new line on which nothing was said yet."""
        self.line = PrivatbankLine(self.clock, Pace(), self.late.append)
        self.transport = StringTransport()
        self.line.makeConnection(self.transport)
        return self.line

    def wrote(self) -> list[Request]:
        """What the line wrote since it was asked last; pauses between messages are over."""
        self.clock.advance(0.1)
        data = self.transport.value()
        self.transport.clear()
        return [Request.decode(payload) for payload in fed(data)]

    def asked(self) -> list[str]:
        """The same, by the names of what was asked."""
        return [(request.params or {}).get("msgType", request.method) for request in self.wrote()]

    def hear(self, *frames: bytes) -> None:
        """Let the terminal say something."""
        self.line.dataReceived(b"".join(frames))

    def test_handshake(self) -> None:
        """The first message is a ping behind a zero byte, exactly as in the vendor's dump."""
        answer = self.fresh().handshake()
        self.assertEqual(self.transport.value(), SENT[0].wire)
        self.hear(RECEIVED[0].wire)
        self.assertTrue(self.successResultOf(answer).approved)

    def test_handshake_unanswered(self) -> None:
        """A ping waits three seconds, then the terminal is silent and the line given up."""
        answer = self.fresh().handshake()
        self.clock.advance(2.99)
        self.assertNoResult(answer)
        self.clock.advance(0.02)
        self.assertEqual(self.failureResultOf(answer, Silent).value.seconds, 3.0)
        self.assertFalse(self.line.usable)

    def test_another_protocol(self) -> None:
        """A banner instead of an answer is reported with its first bytes, whether the peer stays or closes."""
        answer = self.fresh().handshake()
        self.hear(b"SSH-2.0-OpenSSH_9.6\r\n")
        self.clock.advance(3)
        self.assertIn(b"SSH-2.0", self.failureResultOf(answer, Garbled).value.data)
        answer = self.fresh().handshake()
        self.hear(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        self.line.connectionLost()
        self.assertIn(b"HTTP/1.1", self.failureResultOf(answer, Garbled).value.data)

    def test_half_message_first(self) -> None:
        """The rest of a message to another client does not break the handshake."""
        answer = self.fresh().handshake()
        self.hear(b'unt":"0.60"},"error":false}\0', PING_OK)
        self.assertTrue(self.successResultOf(answer).approved)

    def test_purchase(self) -> None:
        """A purchase is answered by the terminal's own reply to it."""
        answer = self.line.ask(Purchase(60))
        self.assertEqual(self.asked(), ["Purchase"])
        self.hear(next(each.wire for each in RECEIVED if "full field set" in each.meaning))
        self.assertEqual(self.successResultOf(answer).transaction.amount, 60)

    def test_busy(self) -> None:
        """A busy terminal's service message is the answer to the request that waits."""
        answer = self.line.ask(Purchase(60))
        self.hear(service("deviceBusy"))
        self.assertTrue(self.successResultOf(answer).busy)
        self.assertFalse(self.line.at_work)

    def test_unknown_method(self) -> None:
        """A method that the terminal does not have is answered so."""
        answer = self.line.ask(Purchase(60))
        self.hear(service(" methodNotImplemented"))
        self.assertTrue(self.successResultOf(answer).unknown_method)

    def test_busy_too_late_to_be_true(self) -> None:
        """When the operation has shown progress, "busy" and "unknown method" do not end it."""
        answer = self.line.ask(Purchase(60), progress=lambda _: None)
        self.clock.advance(1.1)
        self.hear(service("getLastStatMsgCode", LastStatMsgCode="3"))
        self.hear(service("deviceBusy"), service("methodNotImplemented"))
        self.assertNoResult(answer)
        self.assertEqual([reply.message_type for reply in self.late], ["deviceBusy", "methodNotImplemented"])
        self.hear(purchased())
        self.assertTrue(self.successResultOf(answer).approved)

    def test_other_method(self) -> None:
        """An answer to another method goes to the late ones."""
        answer = self.line.ask(Purchase(60))
        self.hear(frame(Reply("Refund", {"responseCode": "0000"}).encode()))
        self.assertNoResult(answer)
        self.assertEqual([reply.method for reply in self.late], ["Refund"])

    @shows("rule 10")
    def test_deadline(self) -> None:
        """A purchase waits for 300 seconds and not longer; progress does not prolong it."""
        answer = self.line.ask(Purchase(60), progress=lambda _: None)
        for _ in range(2990):
            self.clock.advance(0.1)
            if b"getLastStatMsgCode" in self.transport.value():
                self.transport.clear()
                self.hear(service("getLastStatMsgCode", LastStatMsgCode="9"))
        self.assertNoResult(answer)
        self.clock.advance(1.1)
        error = self.failureResultOf(answer, Silent).value
        self.assertEqual((error.seconds, error.taken), (300.0, True), "its progress shows that it has the request")

    def test_late_answer(self) -> None:
        """An answer after the deadline goes to the late ones, and no later purchase gets it."""
        given_up = self.line.ask(Purchase(60), patience=5)
        self.clock.advance(5)
        self.assertFalse(self.failureResultOf(given_up, Silent).value.taken)
        self.wrote()
        following = self.line.ask(Purchase(70))
        self.assertEqual(self.asked(), ["PingDevice"])
        self.hear(purchased(amount="0.60"))
        self.assertNoResult(following)
        self.assertEqual([reply.transaction.amount for reply in self.late], [60])
        self.hear(PING_OK)
        self.assertEqual([(request.params or {})["amount"] for request in self.wrote()], ["0.70"])
        self.hear(purchased(amount="0.70"))
        self.assertEqual(self.successResultOf(following).transaction.amount, 70)

    def test_still_at_work(self) -> None:
        """While the operation that was given up still runs, the next one does not leave."""
        given_up = self.line.ask(Purchase(60), patience=5)
        self.clock.advance(5)
        self.failureResultOf(given_up, Silent)
        following = self.line.ask(Purchase(70))
        self.hear(service("deviceBusy"))
        self.assertTrue(self.successResultOf(following).busy)
        self.assertEqual(self.asked(), ["Purchase", "PingDevice"])

    def test_no_ping_answered(self) -> None:
        """When the terminal does not answer between two operations, the second one is reported as not sent."""
        self.line.ask(Purchase(60), patience=5).addErrback(lambda _: None)
        self.clock.advance(5)
        following = self.line.ask(Purchase(70))
        self.clock.advance(3)
        self.failureResultOf(following, NotReached)
        self.assertEqual(self.asked(), ["Purchase", "PingDevice"])

    def test_repeated_answer(self) -> None:
        """An answer that comes twice answers once: the second one is late, even when a purchase follows at once."""
        first = self.line.ask(Purchase(60))
        self.hear(purchased("1001"))
        self.assertEqual(self.successResultOf(first).code, "1001")
        second = self.line.ask(Purchase(60))
        self.hear(purchased("1001"))
        self.assertEqual(self.asked(), ["Purchase", "PingDevice"])
        self.hear(PING_OK)
        self.assertEqual(self.asked(), ["Purchase"])
        self.assertNoResult(second)
        self.hear(purchased("0000"))
        self.assertTrue(self.successResultOf(second).approved)
        self.assertEqual([reply.code for reply in self.late], ["1001"])

    def test_new_line(self) -> None:
        """On a new line the answer to the client before is not that to the first purchase."""
        answer = self.fresh().ask(Purchase(70))
        self.assertEqual(self.asked(), ["PingDevice"])
        self.hear(purchased(amount="0.60"), PING_OK)
        self.assertEqual(self.asked(), ["Purchase"])
        self.assertNoResult(answer)
        self.assertEqual([reply.transaction.amount for reply in self.late], [60])

    def test_query_between(self) -> None:
        """When a query was answered between two purchases, the second one leaves without a ping."""
        self.line.ask(Purchase(60))
        self.hear(purchased())
        self.clock.advance(0.1)
        self.line.ask(GetReceiptInfo())
        self.hear(frame(Reply("GetReceiptInfo", {"invoiceNumber": "1"}).encode()))
        self.line.ask(Purchase(70))
        self.assertEqual(self.asked(), ["Purchase", "GetReceiptInfo", "Purchase"])

    def test_polls(self) -> None:
        """The progress code is asked for each second and shown, until the purchase ends."""
        shown: list[int] = []
        answer = self.line.ask(Purchase(60), progress=shown.append)
        self.wrote()
        self.clock.advance(0.89)
        self.assertEqual(self.transport.value(), b"")
        for code in ("9", "1", "x", "6"):
            self.clock.advance(1.0)
            self.assertEqual(self.asked(), ["getLastStatMsgCode"])
            self.hear(service("getLastStatMsgCode", LastStatMsgCode=code))
        self.assertEqual(shown, [9, 1, 6])
        self.hear(purchased())
        self.assertTrue(self.successResultOf(answer).approved)
        self.clock.advance(60)
        self.assertEqual(self.asked(), [])

    def test_poll_unanswered(self) -> None:
        """A poll without an answer is asked again later and does not harm the purchase."""
        shown: list[int] = []
        answer = self.line.ask(Purchase(60), progress=shown.append)
        self.clock.pump([0.5] * 20)
        self.assertEqual(self.asked(), ["Purchase", "getLastStatMsgCode", "getLastStatMsgCode"])
        self.hear(service("getLastStatMsgCode", LastStatMsgCode="3"), purchased())
        self.assertTrue(self.successResultOf(answer).approved)
        self.assertEqual(shown, [3])

    def test_poll_unknown(self) -> None:
        """A terminal that knows no progress codes is not asked for them again, and the purchase goes on."""
        answer = self.line.ask(Purchase(60), progress=lambda _: None)
        self.clock.advance(1)
        self.hear(service("methodNotImplemented"))
        self.clock.advance(30)
        self.assertEqual(self.asked(), ["Purchase", "getLastStatMsgCode"])
        self.assertNoResult(answer)

    def test_display_breaks(self) -> None:
        """An error in the progress listener does not stop the purchase."""

        def broken(_: int) -> None:
            raise RuntimeError("no display")

        answer = self.line.ask(Purchase(60), progress=broken)
        self.clock.advance(1)
        self.hear(service("getLastStatMsgCode", LastStatMsgCode="3"), purchased())
        self.assertTrue(self.successResultOf(answer).approved)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)

    def test_gap(self) -> None:
        """Two messages leave at least a tenth of a second apart, in their order."""
        self.line.ask(Purchase(60))
        self.line.interrupt()
        self.assertNotIn(b"interrupt", self.transport.value())
        self.clock.advance(0.09)
        self.assertNotIn(b"interrupt", self.transport.value())
        self.assertEqual(self.asked(), ["Purchase", "interrupt"])

    def test_cancelled_before_it_left(self) -> None:
        """A purchase that is given up before it left does not leave any more."""
        self.line.service("getMaskList")
        given_up = self.line.ask(Purchase(60))
        given_up.cancel()
        self.failureResultOf(given_up, CancelledError)
        self.assertEqual(self.asked(), ["getMaskList"])
        self.clock.advance(1)
        self.assertEqual(self.asked(), [])

    def test_services_in_turn(self) -> None:
        """Of several service messages the second one leaves when the first one is answered or given up."""
        merchants, masks, result = map(self.line.service, ("getMerchantList", "getMaskList", "getLastResult"))
        self.assertEqual(self.asked(), ["getMerchantList"])
        self.hear(service("getMerchantList", **{"1": "А"}))
        self.assertEqual(self.successResultOf(merchants).numbered, {1: "А"})
        self.clock.advance(4.9)
        self.assertNoResult(masks)
        self.clock.advance(0.2)
        self.failureResultOf(masks, Silent)
        self.hear(service("getLastResult", LastResult="0"))
        self.assertEqual(self.successResultOf(result).params["LastResult"], "0")

    def test_interrupt_is_a_wish(self) -> None:
        """After an interrupt the purchase still ends by its own answer, which may be an approval."""
        answer = self.line.ask(Purchase(60))
        wish = self.line.interrupt()
        self.clock.advance(0.1)
        self.hear(service(" interruptTransmitted"))
        self.assertEqual(self.successResultOf(wish).message_type, "interruptTransmitted")
        self.assertNoResult(answer)
        self.hear(purchased())
        self.assertTrue(self.successResultOf(answer).approved)

    def test_correction(self) -> None:
        """At the code 11 the card is returned, and a correction is answered while the purchase goes on."""
        opened = self.line.read_card(Purchase(60))
        self.clock.advance(1)
        self.hear(service("getLastStatMsgCode", LastStatMsgCode="11"))
        self.assertEqual(self.asked()[-1], "getDiscountName")
        self.hear(next(each.wire for each in RECEIVED if each.message_type == "getDiscountName"))
        card = PresentedCard("someDiscountGroup", "123456******9876", "071")
        self.assertEqual(self.successResultOf(opened.card), card)
        corrected = self.line.correct(2, 1)
        (request,) = self.wrote()
        self.assertEqual(request.params, {"msgType": "correctTransaction", "amount": "0.02", "discount": "0.01"})
        self.hear(next(each.wire for each in RECEIVED if each.message_type == "correctionTransmitted"))
        self.assertFalse(self.successResultOf(corrected).error)
        self.assertNoResult(opened.ended)
        self.hear(purchased(amount="0.02"))
        self.assertEqual(self.successResultOf(opened.ended).transaction.amount, 2)

    def test_correction_refused(self) -> None:
        """A refused correction leaves the purchase with its first sum."""
        opened = self.line.read_card(Purchase(60))
        corrected = self.line.correct(2)
        self.clock.advance(0.1)
        self.hear(next(each.wire for each in RECEIVED if each.message_type == "correctTransaction"))
        self.assertTrue(self.successResultOf(corrected).error)
        self.hear(purchased(amount="0.60"))
        self.assertEqual(self.successResultOf(opened.ended).transaction.amount, 60)
        self.assertIsNone(self.successResultOf(opened.card))

    def test_correction_late(self) -> None:
        """The late answer to one correction does not answer the next one."""
        self.line.ask(Purchase(60))
        first = self.line.correct(2)
        self.clock.advance(5.2)
        self.failureResultOf(first, Silent)
        second = self.line.correct(3)
        self.assertEqual(self.asked(), ["Purchase", "correctTransaction", "correctTransaction"])
        self.hear(service("correctionTransmitted"))
        self.assertNoResult(second)
        self.hear(frame(Reply(SERVICE, {"msgType": "correctTransaction"}, True).encode()))
        self.assertTrue(self.successResultOf(second).error)

    def test_card_never_asked(self) -> None:
        """A purchase that fails before the card returns no card, and its error."""
        opened = self.line.read_card(Purchase(60))
        self.line.connectionLost()
        self.assertIsNone(self.successResultOf(opened.card))
        self.failureResultOf(opened.ended, LineLost)

    def test_line_lost(self) -> None:
        """A line that breaks fails what waits, and nothing more is asked on it."""
        answer, wish = self.line.ask(Purchase(60)), self.line.interrupt()
        self.line.connectionLost()
        self.failureResultOf(answer, LineLost)
        self.failureResultOf(wish, NotReached)
        self.failureResultOf(self.line.ask(PingDevice()), NotReached)
        self.failureResultOf(self.line.service("identify"), NotReached)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_noise(self) -> None:
        """Bytes that are no message end the purchase in doubt and close the line."""
        for noise in (GARBAGE, b"\xff", b"ERROR", b'{"method":00}\0', b"{" * (LONGEST + 1)):
            self.setUp()
            answer = self.line.ask(Purchase(60))
            self.hear(noise)
            self.failureResultOf(answer, Garbled)
            self.assertTrue(self.transport.disconnecting)
            self.hear(purchased())
            self.assertFalse(self.line.usable)

    def test_nobody_waits(self) -> None:
        """An error in the listener for late replies does not stop the line."""

        def broken(_: Reply) -> None:
            raise RuntimeError("no store")

        line = PrivatbankLine(self.clock, Pace(), broken)
        line.makeConnection(StringTransport())
        line.dataReceived(purchased())
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.assertTrue(line.usable)

    @given(st.lists(st.sampled_from([*WIRES, *(each.wire for each in MALFORMED), b"\0", b"{", b"\xff"]), max_size=8))
    def test_anything(self, frames: list[bytes]) -> None:
        """Whatever the terminal says, every question ends once, and none twice."""
        clock = Clock()
        line = PrivatbankLine(clock)
        line.makeConnection(StringTransport())
        ends: list[object] = []
        line.ask(Purchase(60), progress=lambda _: None).addBoth(ends.append)
        line.service("identify").addBoth(ends.append)
        for data in frames:
            line.dataReceived(data)
            clock.advance(0.6)
        line.connectionLost()
        self.assertEqual(len(ends), 2)


class Recorder(Protocol):
    """A peer that sends one thing, ``greeting``, and then only reads."""

    def __init__(self, greeting: bytes = b"") -> None:
        self.greeting = greeting

    def dataReceived(self, data: bytes) -> None:
        """Say it at the first word."""
        greeting, self.greeting = self.greeting, b""
        assert self.transport is not None
        if greeting:
            self.transport.write(greeting)


class _WithTerminal(SynchronousTestCase):
    """A register and a simulated terminal, on one clock."""

    opening = Opening(thorough=False)
    adjust = 0.0

    def setUp(self) -> None:
        self.clock = Clock()
        self.clock.advance(1_790_000_000)
        self.device = self.started()
        self.late: list[Reply] = []
        self.shown: list[int] = []
        self.wire = MemoryEndpoint(self.clock, lambda: self.device.buildProtocol(None))
        self.desk = PrivatbankTerminal(self.wire, self.clock, Pace(), self.opening, self.late.append)

    def started(self) -> PrivatbankSimulator:
        """The terminal as it is switched on."""
        return PrivatbankSimulator(Terminal(self.clock, hold=20), self.clock, adjust=self.adjust)

    def rule(self, on: str, then: str, **more: object) -> None:
        """Add what shall go wrong next."""
        scenario = self.device.terminal.scenario
        scenario.replace({"rules": [*scenario.document()["rules"], {"on": on, "then": then, **more}]})

    def run_(self, work: Coroutine[Deferred[Any], Any, _Value]) -> _Value:
        """What the work comes to."""
        return self.successResultOf(self.wire.wait(Deferred.fromCoroutine(work)))

    def begun(self, work: Coroutine[Deferred[Any], Any, _Value], seconds: float) -> Deferred[_Value]:
        """Work that has been under way for some seconds."""
        result = Deferred.fromCoroutine(work)
        self.wire.advance(seconds)
        return result

    def ledger(self) -> list[tuple[str, str, int]]:
        """What the terminal believes has happened: kind, status, kopecks."""
        return [(entry.kind, entry.status, entry.sum) for entry in self.device.terminal.entries()]


class OpeningTests(_WithTerminal):
    """How a line comes about."""

    opening = Opening()

    def test_reference_sequence(self) -> None:
        """Ping, identify and staying are three connections, with nothing else said on them."""
        self.assertTrue(self.run_(self.desk.ping()).approved)
        asked = [[Request.decode(payload) for payload in fed(heard)] for heard in self.wire.sent]
        ping, identify = Request("PingDevice"), Request(SERVICE, {"msgType": "identify"})
        self.assertEqual(asked, [[ping], [identify], [ping]])
        self.assertEqual([heard[:1] for heard in self.wire.sent], [b"\0", b"{", b"{"])

    def test_one_connection(self) -> None:
        """Where the setting says so, one connection is enough, and it stays for later operations."""
        self.desk.opening = Opening(thorough=False)
        self.run_(self.desk.ping())
        self.run_(self.desk.run(Purchase(100)))
        self.run_(self.desk.service("getMerchantList"))
        self.assertEqual(len(self.wire.sent), 1)

    @shows("rule 12")
    def test_second_program(self) -> None:
        """When another program holds the terminal, every try meets silence, and the error is `Silent`."""
        other = PrivatbankTerminal(self.wire, self.clock)
        self.run_(other.ping())
        failed = self.wire.wait(Deferred.fromCoroutine(self.desk.ping()))
        self.failureResultOf(failed, Silent)
        self.assertEqual(len(self.wire.sent), 3 + self.opening.tries)
        self.assertEqual(len(self.wire.pumps), 1, "no line of ours stays behind")

    def test_half_opened(self) -> None:
        """A terminal that answers the ping and then nothing is given up, and no line to it stays open."""
        self.wire.accept = lambda: Recorder(PING_OK)
        failed = self.wire.wait(Deferred.fromCoroutine(self.desk.ping()))
        self.failureResultOf(failed, Silent)
        self.assertEqual((len(self.wire.sent), self.wire.pumps), (2 * self.opening.tries, []))

    @shows("rule 13")
    def test_old_session(self) -> None:
        """A terminal that holds on to the client it had before is reached after pauses."""
        self.run_(self.desk.ping())
        self.device.lingers = 6.0
        self.wire.hang_up()
        self.desk.opening = Opening(thorough=False, tries=4, pause=1.0)
        self.assertTrue(self.run_(self.desk.run(Purchase(100))).approved)

    def test_refused(self) -> None:
        """Where nothing listens nothing is waited for."""
        self.rule("any", "unreachable")
        self.failureResultOf(Deferred.fromCoroutine(self.desk.run(Purchase(100))), NotReached)
        self.assertEqual(self.ledger(), [])

    def test_another_protocol(self) -> None:
        """If another protocol answers, its first bytes are reported, without a second try."""
        self.wire.accept = lambda: Recorder(b"220 mail ESMTP\r\n")
        failed = self.wire.wait(Deferred.fromCoroutine(self.desk.run(Purchase(100))))
        self.assertIn(b"220 mail", self.failureResultOf(failed, Garbled).value.data)
        self.assertEqual(len(self.wire.sent), 1)

    def test_busy(self) -> None:
        """A terminal at work is reached too, and says that it is busy."""
        self.device.terminal.purchase(500)
        self.assertTrue(self.run_(self.desk.ping()).busy)

    def test_at_the_same_time(self) -> None:
        """Two callers at once open one line between them."""
        first = Deferred.fromCoroutine(self.desk.service("getMerchantList"))
        self.run_(self.desk.service("getMaskList"))
        self.assertTrue(self.successResultOf(self.wire.wait(first)).numbered)
        self.assertEqual(len(self.wire.sent), 3)

    def test_closed(self) -> None:
        """A closed terminal is free for others, and reached again when it is asked again."""
        self.run_(self.desk.ping())
        self.run_(self.desk.close())
        self.assertIsNone(self.device.client)
        self.assertTrue(self.run_(self.desk.ping()).approved)


class OperationTests(_WithTerminal):
    """Operations of a day, with a whole terminal at the other end."""

    def test_pay(self) -> None:
        """A payment is approved with everything a register needs of it, and progress is shown on the way."""
        self.device.terminal.duration = 6.0
        reply = self.run_(self.desk.run(Purchase(12550), progress=self.shown.append))
        told = reply.transaction
        self.assertEqual((reply.code, told.amount, told.txn_type, told.trn_status), ("0000", 12550, "1", "1"))
        self.assertTrue(all((told.rrn, told.approval_code, told.invoice_number, told.pan, told.payment_system)))
        self.assertIn("125.50", told.receipt)
        self.assertEqual([code for code in (9, 1, 6, 3, 5) if code not in self.shown], [])
        self.assertEqual(self.ledger(), [("payment", "accepted", 12550)])

    def test_declined(self) -> None:
        """The bank's refusal comes with its code and a slip, and without a number to cancel by."""
        self.rule("payment", "refuse", code="51")
        reply = self.run_(self.desk.run(Purchase(100)))
        self.assertEqual((reply.code, reply.error, reply.approved), ("0051", True, False))
        self.assertEqual((reply.transaction.rrn, reply.transaction.invoice_number), ("", ""))
        self.assertIn("ВІДМОВА", reply.transaction.receipt)

    def test_terminal_refuses(self) -> None:
        """The terminal's own refusals come with the codes of the document, and nothing but the code."""
        for cause, code in (
            ("cancelled", "1001"),
            ("journal_full", "1003"),
            ("no_link", "1004"),
            ("no_paper", "1005"),
        ):
            self.rule("payment", "refuse", code=cause)
            reply = self.run_(self.desk.run(Purchase(100)))
            self.assertEqual((reply.code, set(reply.params), reply.error), (code, {"responseCode"}, True))

    def test_partial(self) -> None:
        """A partial approval has the approved sum under the code 0010, without an error."""
        self.rule("payment", "accept", code="partial:1500")
        reply = self.run_(self.desk.run(Purchase(2000)))
        self.assertEqual(
            (reply.code, reply.error, reply.approved, reply.transaction.amount), ("0010", False, True, 1500)
        )

    def test_busy_from_elsewhere(self) -> None:
        """A terminal that works for another till says so, and nothing is booked."""
        self.rule("payment", "refuse", code="busy")
        self.assertTrue(self.run_(self.desk.run(Purchase(100))).busy)
        self.assertEqual(self.ledger(), [])

    def test_void(self) -> None:
        """A payment is cancelled once by its invoice number; another time, or after the settlement, it is not."""
        paid = self.run_(self.desk.run(Purchase(300))).transaction
        reply = self.run_(self.desk.run(Withdrawal(paid.invoice_number)))
        self.assertEqual((reply.code, reply.transaction.txn_type, reply.transaction.amount), ("0000", "3", 300))
        self.assertEqual(self.run_(self.desk.run(Withdrawal(paid.invoice_number))).code, "1008")
        again = self.run_(self.desk.run(Purchase(400))).transaction
        self.assertEqual(self.run_(self.desk.run(Verify())).code, "0000")
        self.assertEqual(self.run_(self.desk.run(Withdrawal(again.invoice_number))).code, "1000")

    def test_void_of_nothing(self) -> None:
        """A cancel without a number, or with 0, cancels nothing, not even the last payment."""
        self.run_(self.desk.run(Purchase(300)))
        for number in ("", "0", "000", "x"):
            self.assertEqual(self.run_(self.desk.run(Withdrawal(number))).code, "1000")
        self.assertEqual(self.ledger(), [("payment", "accepted", 300)])

    def test_partly(self) -> None:
        """A part of a payment is cancelled, and then the rest of it."""
        number = self.run_(self.desk.run(Purchase(300))).transaction.invoice_number
        self.assertEqual(self.run_(self.desk.run(WithdrawalPartly(100, number))).transaction.amount, 100)
        self.assertEqual(self.run_(self.desk.run(Withdrawal(number))).transaction.amount, 200)

    def test_refund(self) -> None:
        """A refund goes by the RRN of the payment; an unknown RRN is refused by the bank."""
        paid = self.run_(self.desk.run(Purchase(300))).transaction
        reply = self.run_(self.desk.run(Refund(100, rrn=paid.rrn)))
        self.assertEqual((reply.code, reply.transaction.txn_type, reply.transaction.amount), ("0000", "2", 100))
        self.assertEqual(self.run_(self.desk.run(Refund(100, rrn="000000000001"))).code, "0025")
        self.assertEqual(self.run_(self.desk.run(Refund(100, rrn=""))).code, "1000")

    def test_cashback(self) -> None:
        """Goods and cash come as one sum; when the cash is not given the code is 0010."""
        told = self.run_(self.desk.run(Cashback(100, 5000))).transaction
        self.assertEqual((told.amount, told.amount_cash, told.result_cashback), (5100, 5000, True))
        self.rule("payment", "accept", code="no_cash")
        reply = self.run_(self.desk.run(Cashback(100, 5000)))
        told = reply.transaction
        self.assertEqual((reply.code, told.amount, told.result_cashback), ("0010", 100, False))

    def test_instalments(self) -> None:
        """Instalments give an agreement's number, by which they are refunded."""
        told = self.run_(self.desk.run(Instalments(90000, 6))).transaction
        self.assertTrue(told.agreement_number)
        self.assertTrue(self.run_(self.desk.run(InstalmentsRefund(90000, told.agreement_number))).approved)
        self.assertTrue(self.run_(self.desk.run(ServiceGeneric(500, "6", "046"))).approved)

    def test_reports(self) -> None:
        """Totals leave the batch open, the general report closes it, and an empty batch is not closed."""
        self.assertEqual(self.run_(self.desk.run(Verify())).code, "0001")
        self.run_(self.desk.run(Purchase(300)))
        for _ in range(2):
            self.assertIn("3.00", self.run_(self.desk.run(Audit())).transaction.receipt)
        self.assertIn("3.00", self.run_(self.desk.run(Verify())).transaction.receipt)
        self.assertEqual(self.run_(self.desk.run(Verify())).code, "0001")

    def test_slip_again(self) -> None:
        """The slip of an operation comes again without money moving."""
        paid = self.run_(self.desk.run(Purchase(300))).transaction
        self.assertEqual(self.run_(self.desk.run(PrintReceiptNum())).transaction.receipt, paid.receipt)
        self.assertEqual(
            self.run_(self.desk.run(PrintReceiptNum(paid.invoice_number))).transaction.receipt, paid.receipt
        )
        missing = self.run_(self.desk.run(PrintReceiptNum("77")))
        self.assertEqual((missing.code, missing.transaction.receipt), ("1000", ""))

    def test_last(self) -> None:
        """The last operation is returned with its own code, or the answer that there is none."""
        self.assertEqual((self.run_(self.desk.last()).error, self.run_(self.desk.last()).code), (True, "1000"))
        paid = self.run_(self.desk.run(Purchase(300))).transaction
        self.assertEqual(self.run_(self.desk.last()).transaction.rrn, paid.rrn)
        self.rule("payment", "refuse", code="51")
        self.run_(self.desk.run(Purchase(300)))
        refused = self.run_(self.desk.last())
        self.assertEqual((refused.code, refused.error, refused.transaction.invoice_number), ("0051", False, ""))

    def test_questions(self) -> None:
        """Merchants, masks, versions, the connection to the bank and the last operation's state can be queried."""
        self.assertEqual(self.run_(self.desk.service("getMerchantList")).numbered, {1: "МАГАЗИН"})
        self.assertEqual(self.run_(self.desk.service("getMaskList")).numbered, {1: "DM000001"})
        self.assertIn("DM000001", self.run_(self.desk.run(GetTerminalInfo())).params["version"])
        self.assertTrue(self.run_(self.desk.run(CheckConnection())).approved)
        self.assertEqual(self.run_(self.desk.service("getLastResult")).params["LastResult"], "0")
        self.assertEqual(self.run_(self.desk.service("getLastStatMsgCode")).params["LastStatMsgCode"], "0")

    def test_discount_card(self) -> None:
        """A discount card is read; when none is shown the terminal's reply is what comes back."""
        self.assertTrue(DiscountCard.read(self.run_(self.desk.run(ReadCardDiscount())).params).was_read)
        self.rule("probe", "refuse", code="timeout")
        self.assertFalse(DiscountCard.read(self.run_(self.desk.run(ReadCardDiscount())).params).was_read)

    def test_interrupt(self) -> None:
        """An interrupt before the bank is asked ends the payment as cancelled; later it does not."""
        self.device.terminal.duration = 5.0
        paying = self.begun(self.desk.run(Purchase(300)), 0.5)
        self.assertEqual(self.run_(self.desk.interrupt()).message_type, "interruptTransmitted")
        self.assertEqual(self.successResultOf(self.wire.wait(paying)).code, "1001")
        paying = self.begun(self.desk.run(Purchase(400)), 3.4)
        self.run_(self.desk.interrupt())
        self.assertTrue(self.successResultOf(self.wire.wait(paying)).approved)
        self.assertEqual(self.ledger(), [("payment", "refused", 300), ("payment", "accepted", 400)])

    def test_terse(self) -> None:
        """A terminal that prints by itself and fills in the code alone has approved all the same."""
        self.device.terse = True
        reply = self.run_(self.desk.run(Purchase(300)))
        self.assertEqual((reply.approved, reply.transaction.amount), (True, None))

    def test_not_implemented(self) -> None:
        """A method that this terminal does not have is not a refusal."""
        self.assertTrue(self.run_(self.desk.run(METHODS["GetBalance"]())).unknown_method)

    def test_second_client(self) -> None:
        """While one client is served, a second one hears nothing, and the first one is not disturbed."""
        self.run_(self.desk.ping())
        wire = self.device.buildProtocol(None)
        assert wire is not None
        transport = StringTransport()
        wire.makeConnection(transport)
        wire.dataReceived(SENT[0].wire)
        self.assertEqual(transport.value(), b"")
        self.assertTrue(self.run_(self.desk.run(Purchase(100))).approved)
        wire.connectionLost()
        self.assertTrue(self.run_(self.desk.ping()).approved)


class CorrectionTests(_WithTerminal):
    """Tasks 6 and 7: the card first, the sum afterwards."""

    adjust = 3.0

    def test_corrected(self) -> None:
        """The card is returned, the sum changed, and the purchase ends with the new one."""
        opened = self.run_(self.desk.read_card(6000))
        card = self.successResultOf(self.wire.wait(opened.card))
        assert card is not None
        self.assertRegex(card.pan, r"^\d{6}\*+\d{4}$")
        self.assertFalse(self.run_(self.desk.correct(5500)).error)
        self.assertEqual(self.successResultOf(self.wire.wait(opened.ended)).transaction.amount, 5500)

    def test_nobody_comes(self) -> None:
        """Without a correction in time, the purchase goes on with the first sum."""
        opened = self.run_(self.desk.read_card(6000))
        self.successResultOf(self.wire.wait(opened.card))
        self.wire.advance(19)
        self.assertNoResult(opened.ended)
        self.assertEqual(self.successResultOf(self.wire.wait(opened.ended)).transaction.amount, 6000)

    def test_given_up(self) -> None:
        """An interrupt at the card ends the purchase without money."""
        opened = self.run_(self.desk.read_card(6000))
        self.successResultOf(self.wire.wait(opened.card))
        self.run_(self.desk.interrupt())
        self.assertEqual(self.successResultOf(self.wire.wait(opened.ended)).code, "1001")

    def test_too_late(self) -> None:
        """A correction outside the window is refused, and one with a strange sum too."""
        self.assertTrue(self.run_(self.desk.correct(1)).error)
        opened = self.run_(self.desk.read_card(6000))
        self.successResultOf(self.wire.wait(opened.card))
        self.assertTrue(self.run_(self.desk.correct(0)).error)

    def test_plain_payment(self) -> None:
        """A payment that asks for no card stops only for a moment."""
        self.assertEqual(self.run_(self.desk.run(Purchase(6000))).transaction.amount, 6000)

    def test_ended_without_card(self) -> None:
        """A purchase refused at the card returns no card."""
        self.rule("payment", "refuse", code="cancelled")
        opened = self.run_(self.desk.read_card(6000))
        self.assertIsNone(self.successResultOf(self.wire.wait(opened.card)))
        self.assertEqual(self.successResultOf(self.wire.wait(opened.ended)).code, "1001")


class DoubtTests(_WithTerminal):
    """Lost answers: nothing is sent twice, and the query afterwards finds what it can."""

    def setUp(self) -> None:
        """Start with a receipt in the batch, which the snapshot needs."""
        super().setUp()
        self.run_(self.desk.run(Purchase(100)))
        self.before = Snapshot.of(self.run_(self.desk.last()))
        self.began = self.device.terminal.now().replace(tzinfo=None)

    def lose(self, then: str, kopecks: int = 500, **more: object) -> BaseException:
        """A payment that meets the rule, and how it failed."""
        self.rule("payment", then, **more)
        failed = self.wire.wait(Deferred.fromCoroutine(self.desk.run(Purchase(kopecks), patience=20)))
        error = self.failureResultOf(failed).value
        assert isinstance(error, BaseException)
        return error

    def resolve(self, kopecks: int = 500) -> Finding:
        """What the question afterwards finds, asked when the terminal is free."""
        while self.run_(self.desk.ping()).busy:
            self.wire.advance(2)
        now = self.device.terminal.now().replace(tzinfo=None)
        return judge(Wanted("1", frozenset({kopecks}), self.began, now), self.before, self.run_(self.desk.last()))

    def payments(self) -> int:
        """How often the terminal was paid since the first time."""
        return len([entry for entry in self.ledger() if entry[0] == "payment"]) - 1

    def test_before(self) -> None:
        """A line that breaks before the request is taken: no money moved, and that is found."""
        self.assertIsInstance(self.lose("lost_before"), LineLost)
        self.assertEqual((self.resolve(), self.payments()), (Finding.NOTHING, 0))

    def test_after(self) -> None:
        """A line that breaks after the approval: the receipt is found to be ours."""
        self.assertIsInstance(self.lose("lost_after"), LineLost)
        self.assertEqual((self.resolve(), self.payments()), (Finding.OURS, 1))

    def test_garbage(self) -> None:
        """An unreadable answer is found to be an approval."""
        self.assertIsInstance(self.lose("garbage"), Garbled)
        self.assertEqual((self.resolve(), self.payments()), (Finding.OURS, 1))

    def test_silent(self) -> None:
        """A terminal that never answers is asked afterwards on the same line."""
        self.assertIsInstance(self.lose("silent"), Silent)
        self.assertEqual((self.resolve(), self.payments()), (Finding.NOTHING, 0))

    def test_declined_and_lost(self) -> None:
        """A refusal that was lost leaves no receipt to know it by, so a person has to look."""
        self.rule("payment", "refuse", code="51", delay_ms=30_000)
        failed = self.wire.wait(Deferred.fromCoroutine(self.desk.run(Purchase(500), patience=20)))
        self.failureResultOf(failed, Silent)
        self.assertEqual((self.resolve(), self.payments()), (Finding.UNKNOWN, 1))

    def test_still_at_work(self) -> None:
        """A terminal that still works is waited for before anything is concluded."""
        self.rule("payment", "accept", delay_ms=50_000)
        failed = self.wire.wait(Deferred.fromCoroutine(self.desk.run(Purchase(500), patience=20)))
        self.failureResultOf(failed, Silent)
        self.assertEqual(self.payments(), 0)
        self.assertEqual((self.resolve(), self.payments()), (Finding.OURS, 1))
        self.assertEqual([reply.transaction.amount for reply in self.late], [500])

    def test_after_a_new_connection(self) -> None:
        """An answer that comes on the next connection goes to the late ones, and no other payment takes it."""
        self.device.answers_newcomer = True
        self.rule("payment", "accept", delay_ms=10_000)
        paying = self.begun(self.desk.run(Purchase(500)), 1)
        self.wire.hang_up()
        self.failureResultOf(paying, LineLost)
        self.assertTrue(self.run_(self.desk.run(Purchase(700))).busy)
        self.wire.advance(12)
        self.assertEqual([reply.transaction.amount for reply in self.late], [500])
        self.assertEqual(self.run_(self.desk.run(Purchase(700))).transaction.amount, 700)

    def test_repeated_answer(self) -> None:
        """A terminal that says everything twice is believed once."""
        self.device.repeats = 2
        self.assertEqual(self.run_(self.desk.run(Purchase(500))).transaction.amount, 500)
        self.assertEqual(self.run_(self.desk.run(Purchase(600))).transaction.amount, 600)
        self.assertEqual([reply.transaction.amount for reply in self.late], [500, 600])

    def test_never_twice(self) -> None:
        """Whatever happens to the line, one call asks for the payment once."""
        for then in ("lost_before", "lost_after", "silent", "garbage"):
            asked = sum(heard.count(b'"Purchase"') for heard in self.wire.sent)
            self.lose(then)
            self.assertEqual(sum(heard.count(b'"Purchase"') for heard in self.wire.sent), asked + 1, then)

    def test_query_lost(self) -> None:
        """A question that is lost concludes nothing: it fails and may be asked again."""
        self.lose("lost_after")
        self.rule("probe", "lost_before", times=3)
        failed = self.wire.wait(Deferred.fromCoroutine(self.desk.last()))
        self.failureResultOf(failed, LineLost)
        self.assertEqual(self.resolve(), Finding.OURS)


class JudgeTests(SynchronousTestCase):
    """What a last receipt proves."""

    BEGUN = datetime(2026, 9, 21, 10, 0, 0)
    BEFORE = Snapshot("000040", "21.09.2026", "09:00:00", "1")

    def told(self, **changes: str) -> Reply:
        """A last receipt that is ours in every respect but the changed ones."""
        ours = {"invoiceNumber": "000041", "amount": "5.00", "date": "21.09.2026", "time": "10:00:20", "rrn": "2"}
        return Reply("GetReceiptInfo", {**ours, "txnType": "1", "responseCode": "0000", **changes})

    def judged(self, told: Reply, before: Snapshot = BEFORE) -> Finding:
        """The finding for a payment of 5.00 that was given up after a minute."""
        return judge(Wanted("1", frozenset({500}), self.BEGUN, self.BEGUN + timedelta(minutes=1)), before, told)

    def test_ours(self) -> None:
        """A new number with our sum, kind and time is ours, also when the terminal does not tell the kind."""
        self.assertIs(self.judged(self.told()), Finding.OURS)
        self.assertIs(self.judged(self.told(txnType="")), Finding.OURS)

    def test_nothing_new(self) -> None:
        """The very receipt of the snapshot proves that nothing was booked since."""
        told = self.told(invoiceNumber="000040", time="09:00:00", rrn="1")
        self.assertIs(self.judged(told), Finding.NOTHING)

    @shows("rule 6")
    def test_somebody_elses(self) -> None:
        """Another sum, kind or time, an old number or a time that cannot be read prove nothing."""
        for changes in (
            {"amount": "5.01"},
            {"amount": ""},
            {"txnType": "3"},
            {"time": "08:00:00"},
            {"date": "22.09.2026"},
            {"date": "?"},
            {"invoiceNumber": "000040"},
            {"invoiceNumber": ""},
        ):
            self.assertIs(self.judged(self.told(**changes)), Finding.UNKNOWN, changes)

    def test_clock_of_the_terminal(self) -> None:
        """The terminal's clock may differ by two minutes and not more."""
        self.assertIs(self.judged(self.told(time="09:58:00")), Finding.OURS)
        self.assertIs(self.judged(self.told(time="09:57:59")), Finding.UNKNOWN)
        self.assertIs(self.judged(self.told(time="10:03:00")), Finding.OURS)
        self.assertIs(self.judged(self.told(time="10:03:01")), Finding.UNKNOWN)

    def test_no_receipt(self) -> None:
        """A terminal without a receipt, before or now, proves nothing."""
        none = Reply("GetReceiptInfo", {"responseCode": "1000"}, True, "Cannot get receipt")
        self.assertIs(self.judged(none), Finding.UNKNOWN)
        self.assertIs(self.judged(none, Snapshot()), Finding.UNKNOWN)
        self.assertIs(self.judged(self.told(), Snapshot.of(none)), Finding.UNKNOWN)
        self.assertIs(self.judged(Reply(SERVICE, {"msgType": "deviceBusy"})), Finding.UNKNOWN)


class SimulatorTests(SynchronousTestCase):
    """The terminal's end of the wire by itself."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.terminal = Terminal(self.clock, duration=0)
        self.device = PrivatbankSimulator(self.terminal, self.clock)

    def said(self, *pieces: bytes) -> list[Reply]:
        """What the terminal answers to the pieces, on a connection of its own."""
        wire = self.device.buildProtocol(None)
        assert wire is not None
        transport = StringTransport()
        wire.makeConnection(transport)
        for piece in pieces:
            wire.dataReceived(piece)
        wire.connectionLost()
        return [Reply.decode(payload) for payload in fed(transport.value())]

    def test_golden(self) -> None:
        """Every golden message of a register is answered, cut in two or not."""
        for vector in SENT:
            names = []
            for cut in (0, len(vector.wire) // 2):
                (reply,) = self.said(vector.wire[:cut], vector.wire[cut:])
                names.append((reply.method, reply.message_type))
            self.assertEqual(names[0], names[1], vector.meaning)

    def test_flush(self) -> None:
        """The leading zero byte of a ping flushes half a message that came before it."""
        (reply,) = self.said(b'{"method":"Purch', SENT[0].wire)
        self.assertEqual((reply.method, reply.code), ("PingDevice", "0000"))

    def test_discount_wanted(self) -> None:
        """A purchase without the discount member is refused, as some models do."""
        (reply,) = self.said(frame(Request("Purchase", {"amount": "1.00", "merchantId": "0"}).encode()))
        self.assertEqual((reply.code, reply.error), ("1000", True))
        self.assertEqual(self.terminal.entries(), [])

    def test_strange_amount(self) -> None:
        """An amount that is none ends with 1000."""
        (reply,) = self.said(frame(Request("Purchase", {"amount": "1,2,3", "discount": ""}).encode()))
        self.assertEqual(reply.code, "1000")

    def test_busy(self) -> None:
        """A primary method while another runs is answered as busy, a service message by its own answer."""
        self.terminal.duration = 5
        purchase = frame(Purchase(100).request().encode())
        asks = frame(Request(SERVICE, {"msgType": "getLastResult"}).encode())
        busy, result = self.said(purchase, frame(GetTerminalInfo().request().encode()), asks)
        self.assertTrue(busy.busy)
        self.assertEqual(result.params["LastResult"], "2")

    def test_restart(self) -> None:
        """A terminal that was switched off and on remembers its batch."""
        path = Path(self.mktemp())
        first = Terminal(self.clock, path, duration=0)
        self.device = PrivatbankSimulator(first, self.clock)
        self.said(frame(Purchase(300).request().encode()))
        first.close()
        again = Terminal(self.clock, path, duration=0)
        self.addCleanup(again.close)
        self.device = PrivatbankSimulator(again, self.clock)
        (reply,) = self.said(frame(GetReceiptInfo().request().encode()))
        self.assertEqual(reply.transaction.amount, 300)

    @given(st.lists(st.binary(max_size=60) | st.sampled_from(WIRES), max_size=5))
    def test_anything(self, pieces: list[bytes]) -> None:
        """Any bytes leave the terminal alive."""
        self.said(*pieces)
        (reply,) = self.said(SENT[0].wire)
        self.assertEqual(reply.code, "0000")

    @given(
        st.sampled_from([*METHODS, SERVICE]),
        st.dictionaries(
            st.sampled_from(["amount", "discount", "merchantId", "rrn", "invoiceNumber", "msgType", "amountCash"]),
            st.text(max_size=12) | st.sampled_from(["1.00", "1", "correctTransaction", "0"]),
        ),
    )
    def test_any_members(self, method: str, params: dict[str, str]) -> None:
        """Whatever members a method has, it is answered once."""
        self.assertEqual(len(self.said(frame(Request(method, params).encode()))), 1)
