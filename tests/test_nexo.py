"""nexo: messages, seals, and what became of a payment whose answer was lost."""

from __future__ import annotations

import base64
import json
from collections.abc import Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st
from OpenSSL import SSL
from service_identity import VerificationError
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, fail
from twisted.internet.error import CannotListenError, ConnectionDone, ConnectionRefusedError, DNSLookupError
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.client import Agent, ResponseNeverReceived
from twisted.web.iweb import IAgent, IPolicyForHTTPS
from twisted.web.server import Site
from zope.interface import implementer
from zope.interface.verify import verifyObject

from protocols.errors import Garbled, LineLost, NotReached, Silent
from protocols.http import OneEndpoint
from protocols.simulators.in_process import InProcessEndpoint
from protocols.simulators.nexo import NexoDevice
from protocols.simulators.terminal import Terminal
from protocols.terminals.amounts import NOT_A_SUM
from protocols.terminals.nexo.messages import (
    Abort,
    CardAnswer,
    Category,
    Diagnose,
    GetTotals,
    Header,
    NexoAnswer,
    Payment,
    PaymentAnswer,
    PlainAnswer,
    ReadCard,
    Receipt,
    Reconcile,
    Reference,
    ReleaseCard,
    Response,
    Result,
    Reversal,
    Status,
    StatusAnswer,
    Total,
    TotalsAnswer,
    Transaction,
    decode_answer,
    decode_request,
    encode_answer,
    encode_request,
    new_service_id,
)
from protocols.terminals.nexo.notice import Notice, Shown, Step
from protocols.terminals.nexo.notices import AGAIN, NoticePort, Notices
from protocols.terminals.nexo.sealing import Keys, Seal
from protocols.terminals.nexo.terminal import NexoTerminal, Settings, TerminalTrust, local_agent
from protocols.terminals.nexo.tree import integer, minor, money, read, reported, text
from tests.certificates import key_pem, make_certificate, make_key
from tests.certificates import pem as certificates_pem
from tests.terminal_matrix import shows
from tests.vectors.nexo import (
    ANSWERS,
    CIPHER_KEY,
    HMAC_KEY,
    IV,
    KEY_IDENTIFIER,
    KEY_VERSION,
    NONCE,
    PASSPHRASE,
    PLAINTEXT,
    POI_ID,
    REQUESTS,
    SALE,
    SEALED,
)

T = TypeVar("T")

MEMBERS = (
    "Response",
    "Result",
    "PaymentResult",
    "AmountsResp",
    "AuthorizedAmount",
    "PaymentReceipt",
    "POIData",
    "RepeatedMessageResponse",
    "RepeatedResponseMessageBody",
    "PaymentResponse",
    "TransactionTotals",
    "PaymentTotals",
    "OutputContent",
    "OutputText",
)
"""Names under which a message may hold anything."""


def exact(document: bytes | str) -> object:
    """A JSON document with its numbers as they are written."""
    return json.loads(document, parse_float=Decimal)


SEAL = Seal(PASSPHRASE, KEY_IDENTIFIER, KEY_VERSION)


class VectorTests(SynchronousTestCase):
    """Published messages, both ways."""

    def test_requests(self) -> None:
        """Every request is read as its meaning and written with the same members."""
        for vector in REQUESTS:
            self.assertEqual(decode_request(vector.json.encode()), (vector.header, vector.message), vector.id)
            self.assertEqual(
                exact(encode_request(vector.header, cast(Any, vector.message))), exact(vector.json), vector.id
            )

    def test_answers(self) -> None:
        """Every answer is read as its meaning."""
        for vector in ANSWERS:
            self.assertEqual(decode_answer(vector.json.encode()), (vector.header, vector.message), vector.id)

    def test_written_answers(self) -> None:
        """Every answer is written with the same members, but for three that say nothing new."""
        for vector in ANSWERS:
            wanted = cast(Any, exact(vector.json))
            result = wanted["SaleToPOIResponse"].get("PaymentResponse", {}).get("PaymentResult", {})
            for idle in ("PaymentType", "OnlineFlag"):
                result.pop(idle, None)
            self.assertEqual(exact(encode_answer(vector.header, cast(Any, vector.message))), wanted, vector.id)

    @shows("golden frames", wire="nexo")
    def test_cut_everywhere(self) -> None:
        """A message that breaks off is garbled wherever it breaks off."""
        for vector in (*REQUESTS, *ANSWERS):
            whole = vector.json.encode()
            for cut in range(len(whole)):
                self.assertRaises(Garbled, decode_answer, whole[:cut])
                self.assertRaises(Garbled, decode_request, whole[:cut])

    def test_details(self) -> None:
        """Details come as a URL's query or as JSON in base64; both are read."""
        details = cast(PaymentAnswer, ANSWERS[3].message).response.details
        self.assertEqual(details["message"], "NOT_ENOUGH_BALANCE")
        self.assertEqual(details["refusalReason"], "210 Not enough balance")
        packed = base64.b64encode(b'{"additionalData": {"tid": "1"}, "store": "2"}').decode()
        self.assertEqual(Response(Result.SUCCESS, additional=packed).details, {"tid": "1", "store": "2"})

    def test_card(self) -> None:
        """The card's number is masked, also where the terminal did not mask it."""
        self.assertEqual(cast(PaymentAnswer, ANSWERS[2].message).card, "541333****9999")
        self.assertEqual(
            replace(cast(PaymentAnswer, ANSWERS[2].message), masked_pan="5413330000009999").card, "541333******9999"
        )
        self.assertNotIn("541333", repr(ANSWERS[2].message))


class MessageTests(SynchronousTestCase):
    """Messages without a published sample."""

    def test_requests_both_ways(self) -> None:
        """Every request is read as it was written."""
        original, about = Transaction("RRN1", "2026-01-01T10:00:05+00:00"), Reference("Payment", "1", "POS1")
        for request in (
            Payment(SALE, 500, "UAH", refund=True),
            Payment(SALE, 500, "UAH", cash=100),
            Payment(SALE, 500, "UAH", card=original),
            Reversal(SALE, original),
            Reversal(SALE, original, 250),
            Status(about, reprint=False),
            Abort(about),
            ReadCard(SALE),
            ReadCard(SALE, loyalty=True),
            ReleaseCard(),
            Diagnose(host=True),
            GetTotals(),
            Reconcile(),
        ):
            header = Header(request.category, "0000000009", "POS1", POI_ID)
            self.assertEqual(decode_request(encode_request(header, request)), (header, request))

    def test_answers_both_ways(self) -> None:
        """Every answer is read as it was written."""
        good = Response(Result.SUCCESS)
        found = PaymentAnswer(good, SALE, SALE, 500, 100, "UAH", "1", "541333 **** 9999", "mc", ("ICC",))
        slip = (Receipt("CustomerReceipt", ("СУМА 5.00 грн", "a=b&c")),)
        gone = PaymentAnswer(good, None, SALE, 250, category=Category.REVERSAL)
        repeats = Header("Reversal", "1", "POS1", POI_ID)
        answers: tuple[NexoAnswer, ...] = (
            replace(found, receipts=slip),
            gone,
            StatusAnswer(good, gone, repeats),
            CardAnswer(good, SALE, "541333 **** 9999", "mc"),
            TotalsAnswer(good, (Total("Debit", 2, 700, "UAH"), Total("Credit", 1, 100, "UAH"))),
            TotalsAnswer(good, category=Category.RECONCILIATION),
            PlainAnswer(good, Category.DIAGNOSIS),
        )
        for answer in answers:
            header = Header(answer.category, "0000000009", "POS1", POI_ID)
            self.assertEqual(decode_answer(encode_answer(header, answer)), (header, answer))

    def test_oddities_do_not_cost_the_outcome(self) -> None:
        """An approval with senseless members around it is still an approval."""
        message = cast(Any, json.loads(ANSWERS[2].json))
        body = message["SaleToPOIResponse"]["PaymentResponse"]
        body["PaymentReceipt"] = [None, {"OutputContent": 7}]
        body["PaymentResult"]["PaymentInstrumentData"] = "card"
        body["PaymentResult"]["AmountsResp"] = {"AuthorizedAmount": "abc"}
        body["POIData"] = {"POITransactionID": {"TransactionID": 17}}
        _, answer = decode_answer(json.dumps(message).encode())
        assert isinstance(answer, PaymentAnswer) and answer.transaction is not None
        self.assertTrue(answer.approved)
        self.assertEqual((answer.approved_amount, answer.transaction.id, answer.masked_pan), (NOT_A_SUM, "17", ""))

    def test_reported_amounts(self) -> None:
        """An approved amount is exact, missing, or none at all; one below zero is read as it is."""
        for value, amount in ((10.99, 1099), ("10.99", 1099), (-1, -100), ("NaN", NOT_A_SUM), (0.001, NOT_A_SUM)):
            self.assertEqual(reported(read(json.dumps({"Amount": value}).encode()), "Amount"), amount, value)
        self.assertEqual((reported({"Amount": None}, "Amount"), reported({}, "Amount")), (None, None))

    def test_no_outcome(self) -> None:
        """An answer that does not say how it went is garbled, as is one about nothing known."""
        for old, new in (('"Success"', '"Perhaps"'), ('"Result"', '"Results"'), ('"Payment"', '"Dance"')):
            self.assertRaises(Garbled, decode_answer, ANSWERS[2].json.replace(old, new).encode())

    def test_sums(self) -> None:
        """Amounts are exact both ways, and anything that is not an amount is `None`."""
        self.assertEqual(str(money(1099)), "10.99")
        for written, hundredths in (
            ("10.99", 1099),
            ("10", 1000),
            ("0.1", 10),
            ('"7.50"', 750),
            ("10.999", None),
            ("1e400", None),
            ("1e999999999999", None),
            ('"NaN"', None),
            ("null", None),
            ("true", None),
        ):
            self.assertEqual(minor(read(b'{"a": %s}' % written.encode()), "a"), hundredths, written)

    def test_members(self) -> None:
        """A number is read where text is due and the other way round; anything else counts as absent."""
        tree = read(b'{"n": 7, "t": "8", "l": [], "b": true, "x": "x"}')
        self.assertEqual([text(tree, name) for name in "ntlbz"], ["7", "8", "", "", ""])
        self.assertEqual([integer(tree, name) for name in "ntlbxz"], [7, 8, 0, 0, 0, 0])

    def test_service_ids(self) -> None:
        """Identifiers have ten characters at most and differ."""
        found = {new_service_id() for _ in range(1000)}
        self.assertEqual((len(found), {len(each) for each in found}), (1000, {10}))

    def test_rejection(self) -> None:
        """An event instead of an answer is garbled, and the error has its text."""
        error = self.assertRaises(Garbled, decode_answer, Notice("Reject", "message=bad").encode(POI_ID))
        self.assertIn("Reject: message=bad", str(error))

    def test_display(self) -> None:
        """A text of the terminal's display is a notice."""
        shown = {"OutputText": [{"Text": "Insert card"}], "PredefinedContent": {"ReferenceID": "event=TENDER"}}
        request = {"DisplayOutput": [{"OutputContent": shown}]}
        message = {"SaleToPOIRequest": {"MessageHeader": {"MessageCategory": "Display"}, "DisplayRequest": request}}
        self.assertEqual(Notice.decode(json.dumps(message).encode()), Notice("Display", "Insert card", step="TENDER"))

    @given(st.binary(max_size=200))
    @settings(max_examples=200, deadline=None)
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes are a message or `Garbled`, on both sides."""
        for decode in (decode_answer, decode_request, Notice.decode, SEAL.open):
            try:
                cast(Any, decode)(data)
            except Garbled:
                continue

    @given(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(MEMBERS),
                    inner,
                    max_size=5,
                )
            ),
            max_leaves=12,
        ),
        st.sampled_from(Category),
    )
    @settings(max_examples=300, deadline=None)
    def test_any_tree(self, body: object, category: Category) -> None:
        """Any JSON in place of a body is a message or `Garbled`."""
        header = dict(Header(category, "1", "POS1", POI_ID).tree("Response"))
        for kind in ("Request", "Response"):
            message = {f"SaleToPOI{kind}": {"MessageHeader": header, f"{category}{kind}": body}}
            for decode in (decode_answer, decode_request):
                try:
                    cast(Any, decode)(json.dumps(message).encode())
                except Garbled:
                    continue


class SealTests(SynchronousTestCase):
    """The encryption of local messages."""

    def seal(self, **changes: Any) -> Seal:
        """The published key with the published nonce."""
        wanted: dict[str, Any] = {"passphrase": PASSPHRASE, "identifier": KEY_IDENTIFIER, "version": KEY_VERSION}
        return Seal(**{**wanted, **changes}, new_nonce=lambda: NONCE)

    def test_keys(self) -> None:
        """The passphrase gives the published keys, and they do not show."""
        keys = Keys.of(PASSPHRASE)
        self.assertEqual((keys.hmac_key, keys.cipher_key, keys.iv), (HMAC_KEY, CIPHER_KEY, IV))
        self.assertEqual(repr(keys), "Keys()")

    def test_published_message(self) -> None:
        """The published message is sealed to the published one, and opened again."""
        self.assertEqual(exact(self.seal().seal(PLAINTEXT.encode())), exact(SEALED))
        self.assertEqual(self.seal().open(SEALED.encode()), PLAINTEXT.encode())

    def test_changed_on_its_way(self) -> None:
        """A seal that was changed anywhere does not open."""
        for name in ("NexoBlob", "Nonce", "Hmac"):
            for place in (0, 7, 15):
                message = cast(Any, json.loads(SEALED))
                content = message["SaleToPOIRequest"]
                holder = content if name == "NexoBlob" else content["SecurityTrailer"]
                data = bytearray(base64.b64decode(holder[name]))
                data[place] ^= 1
                holder[name] = base64.b64encode(data).decode()
                self.assertRaises(Garbled, self.seal().open, json.dumps(message).encode())

    def test_wrong_keys(self) -> None:
        """Another passphrase, key name or version does not open it."""
        for change in ({"passphrase": "x"}, {"identifier": "key2"}, {"version": 2}):
            self.assertRaises(Garbled, self.seal(**change).open, SEALED.encode())

    def test_wrong_lengths(self) -> None:
        """Missing, short or senseless members of a seal are garbled."""
        for name, value in (
            ("NexoBlob", ""),
            ("NexoBlob", "AAAA"),
            ("NexoBlob", "?"),
            ("Nonce", "AAAA"),
            ("Hmac", "AAAA"),
            ("Hmac", None),
        ):
            message = cast(Any, json.loads(SEALED))
            content = message["SaleToPOIRequest"]
            holder = content if name == "NexoBlob" else content["SecurityTrailer"]
            holder[name] = value
            self.assertRaises(Garbled, self.seal().open, json.dumps(message).encode())
        self.assertRaises(Garbled, self.seal().open, PLAINTEXT.encode())

    def test_never_the_same_nonce(self) -> None:
        """The same message is sealed differently each time."""
        seal = Seal(PASSPHRASE, KEY_IDENTIFIER)
        first, second = seal.seal(PLAINTEXT.encode()), seal.seal(PLAINTEXT.encode())
        self.assertNotEqual(first, second)
        self.assertEqual(seal.open(first), seal.open(second))


@implementer(IAgent)
class FailingAgent:
    """Fails every request with one error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def request(self, method: bytes, uri: bytes, headers: Any = None, bodyProducer: Any = None) -> Deferred[Any]:
        """Fail."""
        return fail(self._error)


class DeviceCase(SynchronousTestCase):
    """The till's end, and a simulated device behind HTTP in memory."""

    seal: Seal | None = None

    def setUp(self) -> None:
        """A device that takes a second and a half for an operation."""
        self.clock = Clock()
        self.clock.advance(1_780_000_000)
        self.bank = Terminal(self.clock)
        self.device = NexoDevice(self.bank, self.clock, POI_ID, self.seal)
        self.terminal = self.till()

    def till(self, **changes: Any) -> NexoTerminal:
        """The service's end."""
        wanted: dict[str, Any] = {"url": "http://terminal/nexo", "poi_id": POI_ID, "sale_id": "POS1"}
        endpoint = InProcessEndpoint(self.device.site(), self.clock)
        agent = Agent.usingEndpointFactory(cast(Any, self.clock), OneEndpoint(endpoint))
        return NexoTerminal(agent, self.clock, Settings(**{**wanted, "answer_wait": 60, **changes}), self.seal)

    def scenario(self, *rules: dict[str, Any]) -> None:
        """What shall go wrong next."""
        self.bank.scenario.replace({"rules": list(rules)})

    def run_for(self, work: Coroutine[Any, Any, T], seconds: float = 4) -> Deferred[T]:
        """Let ``work`` have so many seconds."""
        due = Deferred.fromCoroutine(work)
        self.clock.pump([0.1] * int(seconds * 10))
        return due

    def sums(self) -> list[tuple[str, str, int]]:
        """What the device believes: kind, status, sum."""
        return [(entry.kind, entry.status, entry.sum) for entry in self.bank.entries()]


class TerminalTests(DeviceCase):
    """Operations against the simulated device."""

    def test_payment(self) -> None:
        """A payment is approved, returned with its card, and in the ledger once."""
        paid = self.successResultOf(self.run_for(self.terminal.pay("a1", "T1", 1099)))
        assert paid.transaction is not None and paid.sale is not None
        self.assertEqual((paid.approved, paid.approved_amount, paid.currency), (True, 1099, "UAH"))
        self.assertEqual((paid.card, paid.brand, paid.entry_modes), ("516875****7414", "mc", ("Contactless",)))
        self.assertEqual((paid.sale.id, paid.sale.at[:4]), ("T1", "2026"))
        self.assertIn("10.99 грн", "\n".join(paid.receipts[0].lines))
        self.assertEqual(self.sums(), [("payment", "accepted", 1099)])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_reversal_and_refund(self) -> None:
        """A reversal names the terminal's transaction, also for a part of it; a refund names none."""
        paid = self.successResultOf(self.run_for(self.terminal.pay("a1", "T1", 1000)))
        assert paid.transaction is not None
        part = self.successResultOf(self.run_for(self.terminal.reverse("a2", "T2", paid.transaction, 400)))
        self.assertEqual((part.approved, part.approved_amount), (True, 400))
        rest = self.successResultOf(self.run_for(self.terminal.reverse("a3", "T3", paid.transaction)))
        self.assertEqual(rest.approved_amount, 600)
        again = self.successResultOf(self.run_for(self.terminal.reverse("a4", "T4", paid.transaction)))
        self.assertEqual(again.response.condition, "NotAllowed")
        unknown = self.successResultOf(self.run_for(self.terminal.reverse("a5", "T5", SALE)))
        self.assertEqual(unknown.response.condition, "NotFound")
        self.assertTrue(self.successResultOf(self.run_for(self.terminal.refund("a6", "T6", 300))).approved)
        self.assertEqual(
            [entry[::2] for entry in self.sums() if entry[1] == "accepted"],
            [("payment", 1000), ("cancel", 400), ("cancel", 600), ("refund", 300)],
        )

    def test_card_first(self) -> None:
        """A card that was read pays without being asked for again, once."""
        card = self.successResultOf(self.run_for(self.terminal.read_card("c1", "T1")))
        assert card.transaction is not None
        paid = self.successResultOf(self.run_for(self.terminal.pay("a1", "T1", 500, card=card.transaction)))
        self.assertEqual(paid.masked_pan, card.masked_pan)
        again = self.successResultOf(self.run_for(self.terminal.pay("a2", "T1", 500, card=card.transaction)))
        self.assertEqual(again.response.condition, "NotFound")
        card = self.successResultOf(self.run_for(self.terminal.read_card("c2", "T1")))
        self.successResultOf(self.run_for(self.terminal.release_card()))
        assert card.transaction is not None
        released = self.successResultOf(self.run_for(self.terminal.pay("a3", "T1", 500, card=card.transaction)))
        self.assertEqual(released.response.condition, "NotFound")

    def test_cash(self) -> None:
        """Cash is part of the amount; without it the rest is a partial approval."""
        paid = self.successResultOf(self.run_for(self.terminal.pay("a1", "T1", 1500, cash=500)))
        self.assertEqual((paid.approved_amount, paid.cash), (1500, 500))
        self.scenario({"on": "payment", "then": "accept", "code": "no_cash"})
        less = self.successResultOf(self.run_for(self.terminal.pay("a2", "T1", 1500, cash=500)))
        self.assertEqual((less.response.result, less.approved_amount, less.cash), (Result.PARTIAL, 1000, 0))

    def test_partial(self) -> None:
        """A partial approval has the approved amount."""
        self.scenario({"on": "payment", "then": "accept", "code": "partial:700"})
        paid = self.successResultOf(self.run_for(self.terminal.pay("a1", "T1", 1099)))
        self.assertEqual((paid.response.result, paid.approved_amount), (Result.PARTIAL, 700))

    def test_totals(self) -> None:
        """Totals tell the open batch, reconciliation closes it."""
        self.run_for(self.terminal.pay("a1", "T1", 1099))
        wanted = (Total("Debit", 1, 1099, "UAH"),)
        self.assertEqual(self.successResultOf(self.run_for(self.terminal.totals())).totals, wanted)
        closed = self.successResultOf(self.run_for(self.terminal.reconcile("r1")))
        self.assertEqual((closed.totals, closed.category), (wanted, Category.RECONCILIATION))
        self.assertEqual(self.successResultOf(self.run_for(self.terminal.totals())).totals, ())

    def test_refusals(self) -> None:
        """The bank's refusal carries its code, the terminal's own its condition."""
        for code, condition in (
            ("51", "Refusal"),
            ("wrong_pin", "WrongPIN"),
            ("no_link", "UnreachableHost"),
            ("cancelled", "Cancel"),
            ("busy", "Busy"),
            ("LoggedOut", "LoggedOut"),
        ):
            self.scenario({"on": "payment", "then": "refuse", "code": code})
            refused = self.successResultOf(self.run_for(self.terminal.pay(new_service_id(), "T1", 1099)))
            self.assertEqual((refused.approved, refused.response.condition), (False, condition))
            if code == "51":
                self.assertEqual(refused.response.details["refusalReason"], "51 refused")

    def test_wrong_currency_and_terminal(self) -> None:
        """Another currency, or a message for another terminal, is refused before anything happens."""
        refused = self.successResultOf(self.run_for(self.till(currency="EUR").pay("a1", "T1", 1099)))
        self.assertEqual(refused.response.condition, "PaymentRestriction")
        other = self.till(poi_id="V400m-1")
        refused = self.successResultOf(self.run_for(other.pay("a1", "T1", 1099)))
        self.assertEqual(refused.response.condition, "UnavailableDevice")
        self.assertEqual(self.sums(), [])

    def test_same_service_id(self) -> None:
        """The same ServiceID does nothing twice."""
        self.run_for(self.terminal.pay("a1", "T1", 1099))
        again = self.successResultOf(self.run_for(self.terminal.pay("a1", "T1", 1099)))
        self.assertEqual(again.response.condition, "MessageFormat")
        self.assertEqual(self.sums(), [("payment", "accepted", 1099)])

    def test_busy(self) -> None:
        """A second operation gets the answer that the terminal is busy; the first one is done once."""
        self.bank.duration = 20
        first = self.run_for(self.terminal.pay("a1", "T1", 1099), 1)
        second = self.successResultOf(self.run_for(self.terminal.pay("a2", "T2", 700)))
        self.assertEqual(second.response.condition, "Busy")
        self.clock.pump([1] * 20)
        self.assertTrue(self.successResultOf(first).approved)
        self.assertEqual(self.sums(), [("payment", "accepted", 1099)])

    def test_abort(self) -> None:
        """An abort before the bank is asked ends the payment as aborted; later the approval comes all the same."""
        self.bank.duration = 10
        due = self.run_for(self.terminal.pay("a1", "T1", 1099), 1)
        self.assertIsNone(self.successResultOf(self.run_for(self.terminal.abort(Category.PAYMENT, "a1"), 1)))
        self.assertEqual(self.successResultOf(due).response.condition, "Aborted")
        due = self.run_for(self.terminal.pay("a2", "T1", 1099), 7)
        self.assertIsNone(self.successResultOf(self.run_for(self.terminal.abort(Category.PAYMENT, "a2"), 1)))
        self.clock.pump([1] * 5)
        self.assertTrue(self.successResultOf(due).approved)

    def test_diagnosis(self) -> None:
        """A diagnosis says that the terminal works."""
        self.assertIs(self.successResultOf(self.run_for(self.terminal.diagnose())).response.result, Result.SUCCESS)

    def test_kept(self) -> None:
        """The answer is kept before the caller has it; when that fails the caller hears of it."""
        kept: list[NexoAnswer] = []
        answer = self.successResultOf(self.run_for(self.terminal.pay("a1", "T1", 1099, keep=kept.append)))
        self.assertEqual(kept, [answer])
        failing = self.terminal.pay("a2", "T1", 1099, keep=lambda _: fail(OSError("disk full")))
        self.failureResultOf(self.run_for(failing), OSError)


class SealedTerminalTests(TerminalTests):
    """The same with sealed messages."""

    def setUp(self) -> None:
        """Give both ends the same key."""
        self.seal = Seal(PASSPHRASE, KEY_IDENTIFIER, KEY_VERSION)
        super().setUp()

    def test_unsealed(self) -> None:
        """A till without the key gets nothing done, and a terminal without it is not believed."""
        self.seal = None
        self.failureResultOf(self.run_for(self.till().pay("a1", "T1", 1099)), Garbled)
        self.assertEqual(self.sums(), [])
        self.device = NexoDevice(self.bank, self.clock, POI_ID)
        self.seal = Seal(PASSPHRASE, KEY_IDENTIFIER, KEY_VERSION)
        self.failureResultOf(self.run_for(self.till().pay("a1", "T1", 1099)), Garbled)
        self.assertEqual(self.sums(), [])

    def test_other_key(self) -> None:
        """A till with another passphrase gets nothing done."""
        self.seal = Seal("other", KEY_IDENTIFIER, KEY_VERSION)
        self.failureResultOf(self.run_for(self.till().pay("a1", "T1", 1099)), Garbled)
        self.assertEqual(self.sums(), [])


class RecoveryTests(DeviceCase):
    """The device did the work or not, and the answer was lost (docs/reference/terminals.md#rule-3)."""

    def lose(self, then: str, error: type[Exception], seconds: float = 4) -> PaymentAnswer | None:
        """Pay with a fault, then recover; what was recovered."""
        self.scenario({"on": "payment", "then": then})
        self.failureResultOf(self.run_for(self.terminal.pay("a1", "T1", 1099), seconds), error)
        return self.successResultOf(self.run_for(self.terminal.recover(Category.PAYMENT, "a1", 60)))

    def test_lost_before(self) -> None:
        """The connection broke before anything happened: the terminal knows nothing, nothing was paid."""
        self.assertIsNone(self.lose("lost_before", LineLost))
        self.assertEqual(self.sums(), [])

    def test_silent(self) -> None:
        """No answer came within the limit: the same."""
        self.assertIsNone(self.lose("silent", Silent, 61))
        self.assertEqual(self.sums(), [])

    def test_lost_after(self) -> None:
        """The approval was lost with the connection: it is found by its ServiceID, and paid once."""
        found = self.lose("lost_after", LineLost)
        assert found is not None
        self.assertEqual((found.approved, found.approved_amount), (True, 1099))
        self.assertEqual(self.sums(), [("payment", "accepted", 1099)])

    def test_garbage(self) -> None:
        """The answer could not be read: it is found again."""
        found = self.lose("garbage", Garbled)
        assert found is not None
        self.assertTrue(found.approved)

    def test_unreachable(self) -> None:
        """A device that takes no call took nothing."""
        self.scenario({"on": "payment", "then": "unreachable"})
        self.failureResultOf(self.run_for(self.terminal.pay("a1", "T1", 1099)), NotReached)
        self.assertEqual(self.sums(), [])

    def test_still_running(self) -> None:
        """While the customer pays it is in progress; it is asked every five seconds until the end is known."""
        self.bank.duration = 20
        due = self.run_for(self.terminal.pay("a1", "T1", 1099), 1)
        due.addErrback(lambda _: None)
        due.cancel()
        asked: list[str] = []
        post = self.terminal._post

        def watched(message: bytes, wait: float) -> Any:
            asked.append(decode_request(message)[0].service_id)
            return post(message, wait)

        self.patch(self.terminal, "_post", watched)
        recovered = self.run_for(self.terminal.recover(Category.PAYMENT, "a1", 60), 14)
        self.assertNoResult(recovered)
        self.assertEqual((len(asked), len(set(asked))), (3, 3))
        self.clock.pump([0.5] * 30)
        found = self.successResultOf(recovered)
        assert found is not None
        self.assertTrue(found.approved)
        self.assertEqual(self.sums(), [("payment", "accepted", 1099)])

    def test_running_for_ever(self) -> None:
        """When it is in progress to the last, the outcome stays unknown."""
        self.bank.duration = 500
        due = self.run_for(self.terminal.pay("a1", "T1", 1099), 1)
        due.addErrback(lambda _: None)
        due.cancel()
        recovered = self.run_for(self.terminal.recover(Category.PAYMENT, "a1", 30), 24)
        self.assertNoResult(recovered)
        self.clock.pump([1] * 10)
        self.assertTrue(self.failureResultOf(recovered, Silent).value.taken, "it has the request")

    def test_cannot_be_asked(self) -> None:
        """While the terminal does not answer, the query is repeated; the last failure is raised."""
        self.scenario({"on": "probe", "then": "lost_before", "times": 2})
        self.run_for(self.terminal.pay("a1", "T1", 1099))
        found = self.successResultOf(self.run_for(self.terminal.recover(Category.PAYMENT, "a1", 60), 12))
        assert found is not None
        self.assertTrue(found.approved)
        self.scenario({"on": "probe", "then": "lost_before", "times": 0})
        self.failureResultOf(self.run_for(self.terminal.recover(Category.PAYMENT, "a1", 12), 13), LineLost)

    def test_reversal(self) -> None:
        """A reversal is recovered by its own ServiceID and category."""
        paid = self.successResultOf(self.run_for(self.terminal.pay("a1", "T1", 1099)))
        assert paid.transaction is not None
        self.scenario({"on": "cancel", "then": "lost_after"})
        self.failureResultOf(self.run_for(self.terminal.reverse("a2", "T2", paid.transaction)), LineLost)
        found = self.successResultOf(self.run_for(self.terminal.recover(Category.REVERSAL, "a2", 60)))
        assert found is not None
        self.assertEqual(found.approved_amount, 1099)

    def test_another_operation(self) -> None:
        """An answer about another operation settles nothing."""
        good = PaymentAnswer(Response(Result.SUCCESS), approved_amount=1099)
        for answer in (
            StatusAnswer(Response(Result.SUCCESS), good, Header(Category.PAYMENT, "a9", "POS1", POI_ID)),
            StatusAnswer(Response(Result.SUCCESS), replace(good, category=Category.REVERSAL)),
            StatusAnswer(Response(Result.SUCCESS)),
            StatusAnswer(Response(Result.FAILURE, "LoggedOut")),
        ):
            self.patch(self.device, "_status", lambda header, about, answer=answer: answer)
            recovered = self.run_for(self.terminal.recover(Category.PAYMENT, "a1", 60))
            self.failureResultOf(recovered, Garbled)

    def test_answer_to_another_question(self) -> None:
        """An answer with another ServiceID, till or terminal is not ours."""
        for change in ({"service_id": "a9"}, {"sale_id": "POS2"}, {"poi_id": "V400m-1"}, {"category": "Reversal"}):
            header = replace(Header(Category.PAYMENT, "a1", "POS1", POI_ID), **change)
            answer = PaymentAnswer(Response(Result.SUCCESS), category=Category(header.category))
            body = encode_answer(header, answer)
            self.patch(self.device, "_sealed", lambda _, body=body: body)
            self.failureResultOf(self.run_for(self.terminal.pay("a1", "T1", 1099)), Garbled)

    def test_before_the_connection(self) -> None:
        """A refused connection, an unknown name and a certificate that we do not accept: nothing was sent."""
        untrusted = SSL.Error([("SSL routines", "", "certificate verify failed")])
        for error in (
            ConnectionRefusedError(),
            DNSLookupError(),
            ResponseNeverReceived([Failure(untrusted)]),
            ResponseNeverReceived([Failure(VerificationError(errors=[]))]),
        ):
            terminal = NexoTerminal(FailingAgent(error), self.clock, Settings("http://terminal/nexo", POI_ID))
            self.failureResultOf(self.run_for(terminal.diagnose()), NotReached)
        other = ResponseNeverReceived([Failure(SSL.Error([("SSL routines", "", "unexpected eof")]))])
        terminal = NexoTerminal(FailingAgent(other), self.clock, Settings("http://terminal/nexo", POI_ID))
        self.failureResultOf(self.run_for(terminal.diagnose()), LineLost)

    def test_another_page(self) -> None:
        """An HTTP error is reported with its number and first bytes."""
        terminal = self.till(url="http://terminal/other")
        error = self.failureResultOf(self.run_for(terminal.diagnose()), Garbled).value
        self.assertIn("HTTP 404", str(error))

    def test_redirect(self) -> None:
        """A redirect is reported and not followed: no other server gets the message."""

        def away(request: Any) -> bytes:
            request.setResponseCode(303)
            request.setHeader("location", "/elsewhere")
            return b""

        self.patch(self.device, "render_POST", away)
        error = self.failureResultOf(self.run_for(self.terminal.pay("a1", "T1", 1099)), Garbled).value
        self.assertIn("HTTP 303", str(error))

    def test_restart_of_the_device(self) -> None:
        """What was paid before the device restarted is found afterwards."""
        ledger = Path(self.mktemp())
        self.bank = Terminal(self.clock, ledger)
        self.device = NexoDevice(self.bank, self.clock, POI_ID)
        self.terminal = self.till()
        self.assertIsNotNone(self.lose("lost_after", LineLost))
        self.bank.close()
        self.bank = Terminal(self.clock, ledger)
        self.addCleanup(self.bank.close)
        self.device = NexoDevice(self.bank, self.clock, POI_ID)
        found = self.successResultOf(self.run_for(self.till().recover(Category.PAYMENT, "a1", 60)))
        assert found is not None
        self.assertEqual(found.approved_amount, 1099)


class DeviceTests(DeviceCase):
    """The simulated device by itself."""

    def test_unreadable(self) -> None:
        """A message that it cannot read is answered with the event Reject, and moves no money."""
        due = Deferred.fromCoroutine(self.terminal._post(b'{"SaleToPOIRequest": {}}', 10))
        self.clock.pump([0.1] * 5)
        notice = Notice.decode(self.successResultOf(due))
        self.assertEqual(notice.event, "Reject")

    @given(st.binary(max_size=100))
    @settings(max_examples=50, deadline=None)
    def test_any_bytes(self, data: bytes) -> None:
        """Any bytes never crash the device, nor move money."""
        self.setUp()
        due = Deferred.fromCoroutine(self.terminal._post(data, 10))
        self.clock.pump([0.1] * 5)
        self.successResultOf(due)
        self.assertEqual(self.sums(), [])


class NoticeTests(SynchronousTestCase):
    """What terminals post to the till."""

    def post(self, notices: Notices, body: bytes, sender: str = "192.0.2.1") -> int:
        """Post ``body``; the HTTP status."""

        class Posted:
            content = BytesIO(body)
            code = 200

            def setResponseCode(self, code: int) -> None:
                self.code = code

            def getClientAddress(self) -> IPv4Address:
                return IPv4Address("TCP", sender, 40000)

        posted = Posted()
        self.assertEqual(notices.render_POST(cast(Any, posted)), b"")
        return posted.code

    def test_told(self) -> None:
        """A notice is delivered, sealed or not; anything else is refused."""
        told: list[Notice] = []
        wire = Notice("CardInserted", "x=1").encode(POI_ID)
        self.assertEqual(self.post(Notices(told.append), wire), 200)
        seal = Seal(PASSPHRASE, KEY_IDENTIFIER)
        self.assertEqual(self.post(Notices(told.append, seal), seal.seal(wire)), 200)
        self.assertEqual(told, [Notice("CardInserted", "x=1")] * 2)
        self.assertEqual(self.post(Notices(told.append, seal), wire), 400)
        self.assertEqual(self.post(Notices(told.append), b"["), 400)
        self.assertEqual(len(told), 2)

    def test_steps(self) -> None:
        """A step of an operation is delivered with its ServiceID, as the manufacturer documents it, and its text."""
        wire = b"""{"SaleToPOIRequest": {"DisplayRequest": {"DisplayOutput": [{"OutputContent": {"PredefinedContent":
            {"ReferenceID": "TransactionID=oLkO001517998574&TimeStamp=2018-02-07T10%3a16%3a14Z&event=PIN_ENTERED"},
            "OutputFormat": "MessageRef"}, "Device": "CashierDisplay", "InfoQualify": "Status"}]}, "MessageHeader":
            {"ProtocolVersion": "3.0", "SaleID": "POS1", "MessageClass": "Device", "MessageCategory": "Display",
            "ServiceID": "a1", "POIID": "V400m-1", "MessageType": "Request", "DeviceID": "1517998561"}}}"""
        self.assertEqual(Notice.decode(wire), Notice("Display", "", "a1", "PIN_ENTERED"))
        for step in Step:
            shown = Shown(step, "a1", "POS1", "7", "T1", "2026-09-21T09:00:00+03:00").encode(POI_ID)
            self.assertEqual(Notice.decode(shown), Notice("Display", "", "a1", step))

    def test_strangers(self) -> None:
        """If the terminal's address is known, notices of other senders are refused."""
        told: list[Notice] = []
        wire = Notice("CardInserted").encode(POI_ID)
        notices = Notices(told.append, None, "192.0.2.1")
        self.assertEqual((self.post(notices, wire, "192.0.2.2"), told), (403, []))
        self.assertEqual((self.post(notices, wire), len(told)), (200, 1))

    @given(st.binary(max_size=300))
    def test_anything(self, body: bytes) -> None:
        """Any bytes are delivered or refused."""
        self.assertIn(self.post(Notices(lambda _: None), body), (200, 400))


class NoticePortTests(SynchronousTestCase):
    """Where notices are heard."""

    def setUp(self) -> None:
        """A reactor whose first port is taken as long as ``taken``."""
        self.reactor = MemoryReactorClock()
        self.taken = False
        listen = self.reactor.listenTCP

        def listen_unless_taken(number: int, *arguments: Any, **named: Any) -> Any:
            if self.taken:
                raise CannotListenError("", number, OSError("in use"))
            return listen(number, *arguments, **named)

        self.patch(self.reactor, "listenTCP", listen_unless_taken)

    def test_http(self) -> None:
        """It listens at once, and takes a notice as any HTTP server does."""
        told: list[Notice] = []
        port = NoticePort(self.reactor, 8888, "", "::")
        self.assertTrue(port.why)
        port.open(Notices(told.append))
        [(number, site, _, interface)] = self.reactor.tcpServers
        self.assertEqual((number, interface, port.why), (8888, "::", ""))
        post_notice(self, cast(Any, site), Notice("CardInserted").encode(POI_ID))
        self.assertEqual(told, [Notice("CardInserted")])
        port.close()

    def test_https(self) -> None:
        """With a certificate it speaks HTTPS."""
        key = make_key()
        pem = (certificates_pem(make_certificate(1_780_000_000, key)) + key_pem(key)).decode()
        port = NoticePort(self.reactor, 8443, pem)
        port.open(Notices(lambda _: None))
        [(number, served, _, _)] = self.reactor.tcpServers
        assert isinstance(served, TLSMemoryBIOFactory)
        self.assertEqual((number, type(served.wrappedFactory)), (8443, Site))

    def test_taken(self) -> None:
        """A port that is taken is tried again each second, until it is free or not wanted any more."""
        self.taken = True
        port = NoticePort(self.reactor, 8888)
        port.open(Notices(lambda _: None))
        self.assertIn("8888", port.why)
        self.reactor.advance(AGAIN)
        self.taken = False
        self.assertEqual(self.reactor.tcpServers, [])
        self.reactor.advance(AGAIN)
        self.assertEqual((len(self.reactor.tcpServers), port.why), (1, ""))
        port.close()
        self.taken = True
        other = NoticePort(self.reactor, 8888)
        other.open(Notices(lambda _: None))
        other.close()
        self.assertEqual(self.reactor.getDelayedCalls(), [])


def post_notice(case: SynchronousTestCase, site: Site, message: bytes) -> None:
    """Post ``message`` to a server in memory, which has to take it."""
    protocol: Any = site.buildProtocol(IPv4Address("TCP", "192.0.2.1", 40000))
    transport = StringTransport(peerAddress=IPv4Address("TCP", "192.0.2.1", 40000))
    protocol.makeConnection(transport)
    head = f"POST /notices HTTP/1.1\r\nHost: till\r\nConnection: close\r\nContent-Length: {len(message)}\r\n\r\n"
    protocol.dataReceived(head.encode() + message)
    case.assertTrue(transport.value().startswith(b"HTTP/1.1 200"), transport.value())
    protocol.connectionLost(Failure(ConnectionDone()))


def root_certificate() -> bytes:
    """A certificate that signs itself, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Terminal root")])
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)


class TcpTransport(StringTransport):
    """A transport that remembers, with the knob that HTTP turns on TCP."""

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Nothing to do in memory."""


class TrustTests(SynchronousTestCase):
    """TLS to a terminal in the shop."""

    def test_name(self) -> None:
        """The certificate's name is the one that was set, else the host of the address."""
        root = root_certificate()
        for name, wanted in (("V400m-1.terminal.example", b"V400m-1.terminal.example"), ("", b"till.example")):
            trust = TerminalTrust([root], name)
            verifyObject(IPolicyForHTTPS, trust)
            creator = trust.creatorForNetloc(b"till.example", 8443)
            self.assertEqual(creator._hostnameBytes, wanted)

    def test_tls_and_nothing_else(self) -> None:
        """Requests go to the terminal's port, with a limit for the connection; a failed connection is reported."""
        reactor = MemoryReactorClock()
        agent = local_agent(reactor, [root_certificate()], "V400m-1.terminal.example", connect_wait=5)
        terminal = NexoTerminal(agent, reactor, Settings("https://192.0.2.1:8443/nexo", POI_ID))
        due = Deferred.fromCoroutine(terminal.diagnose())
        _, port, factory, timeout, _ = reactor.tcpClients[0]
        self.assertEqual((port, timeout), (8443, 5))
        transport = TcpTransport()
        protocol = factory.buildProtocol(cast(Any, None))
        assert protocol is not None
        protocol.makeConnection(transport)
        self.assertTrue(transport.value().startswith(b"\x16\x03"), "a TLS handshake comes first")
        self.assertNotIn(b"POST", transport.value())
        protocol.connectionLost(Failure(ConnectionDone()))
        self.failureResultOf(due, LineLost)
        self.assertEqual(len(reactor.tcpClients), 1, "it is not sent again")

    def test_no_tls(self) -> None:
        """A peer on the terminal's port without TLS is reported with its first bytes, and gets no payment data."""
        reactor = MemoryReactorClock()
        agent = local_agent(reactor, [root_certificate()], "V400m-1.terminal.example")
        verifyObject(IAgent, agent)
        terminal = NexoTerminal(agent, reactor, Settings("https://192.0.2.1:8443/nexo", POI_ID))
        due = Deferred.fromCoroutine(terminal.diagnose())
        _, _, factory, _, _ = reactor.tcpClients[0]
        transport = TcpTransport()
        protocol = factory.buildProtocol(cast(Any, None))
        assert protocol is not None
        protocol.makeConnection(transport)
        protocol.dataReceived(b"SSH-2.0-Open")
        protocol.dataReceived(b"SSH_9.6\r\n")
        self.assertTrue(transport.disconnecting)
        self.assertNotIn(b"POST", transport.value())
        protocol.connectionLost(Failure(ConnectionDone()))
        error = self.failureResultOf(due, Garbled).value
        self.assertIn(b"SSH-2.0".hex(" "), str(error))
