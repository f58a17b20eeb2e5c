"""Time stamps of a register's documents, and the simulated provider of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from treq.testing import StubTreq
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import NotReached, WireError
from protocols.fiscal.crypto import oids
from protocols.fiscal.crypto.authority import stamp_answer
from protocols.fiscal.crypto.errors import Malformed
from protocols.fiscal.crypto.signed_message import read
from protocols.fiscal.crypto.signing import signature_of, with_stamp
from protocols.fiscal.crypto.timestamps import (
    ANSWER_TYPE,
    REQUEST_TYPE,
    NoStamp,
    ask_for_stamp,
    new_nonce,
    read_stamp_answer,
)
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.document_xml import encode
from protocols.fiscal.error_codes import Code
from protocols.fiscal.verdicts import Accepted, Reply
from protocols.simulators.fiscal_stamps import REFUSAL
from tests.prro_shop import PrroShop, keys
from tests.shop import sale
from tests.test_tax_simulator import ServiceCase

URL = "http://tsp.test/"


class Provider:
    """The way to a provider in memory, which may go wrong."""

    def __init__(self, shop: PrroShop) -> None:
        self._shop = shop
        self.who = keys().authority.issue("Stamps", stamps=True)
        self.error: WireError | None = None
        self.reply: Reply | None = None
        self.asked: list[str] = []

    async def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Carry one question."""
        self.asked.append(f"{method} {url} {headers['Content-Type']}")
        if self.error is not None:
            raise self.error
        moment = datetime.fromtimestamp(self._shop.clock.seconds(), UTC)
        return self.reply or Reply(200, {}, stamp_answer(body, self.who, lambda: moment))


class RegisterTests(SynchronousTestCase):
    """A register that stamps."""

    def shop_with(self, stamps: str) -> PrroShop:
        """A shop whose register `one` is open."""
        shop = PrroShop(self, time_stamps="off")
        shop.stamps = self.provider = Provider(shop)
        shop.settings("one", time_stamps=stamps, time_stamp_url=URL)
        shop.load_key("one", keys().cashier)
        self.assertEqual(shop.fiscal(0, device="one")["res"], 0)
        return shop

    def sell(self, shop: PrroShop, tag: str = "") -> dict[str, Any]:
        """The answer to a sale."""
        return shop.fiscal(1, tag, "one", receipt=sale(50))

    def stamped(self, shop: PrroShop) -> list[bool]:
        """Which of the documents that the tax service has are stamped, by a stamp that holds."""
        found = []
        for stored in shop.far_end.books.registers[4_000_000_202].documents.values():
            verdict = verify(stored.sent, keys().authority._now, keys().authority.trust, keys().authority.trust)
            self.assertEqual(verdict.faults, ())
            found.append(verdict.stamp is not None)
        return found

    def test_must(self) -> None:
        """Each online document has its stamp, offline ones have none; without a stamp there is no document: 1069."""
        shop = self.shop_with("must")
        shop.settings("one", offline_allowed=False)
        self.assertEqual(self.sell(shop)["res"], 0)
        self.provider.error = NotReached("connection refused")
        answer = self.sell(shop, "a")
        self.assertEqual((answer["res"], answer["res_action"]), (1069, 1))
        self.assertIn("у з’єднанні відмовлено", answer["errortxt"])
        self.provider.error = None
        self.assertEqual(self.sell(shop, "a")["res"], 0)
        shop.settings("one", offline_allowed=True)
        shop.done(shop.built().go_offline("uk"))
        self.assertEqual(self.sell(shop)["res"], 0)
        shop.done(shop.built().go_online("uk"))
        self.assertEqual(self.stamped(shop), [True, True, True, False, False, False])
        self.assertEqual(set(self.provider.asked), {f"POST {URL} {REQUEST_TYPE}"})

    def test_provider_away(self) -> None:
        """A register that may go offline does so when the provider is away: documents made offline need no stamp."""
        shop = self.shop_with("must")
        self.provider.error = NotReached("connection refused")
        answer = self.sell(shop, "a")
        self.assertEqual((answer["res"], answer["info"]["isoffline"]), (0, True))
        self.provider.error = None
        shop.clock.pump([1] * 62)
        self.assertEqual(shop.kinds(), ["open", "offline_begin", "sale", "offline_end"])
        self.assertFalse(self.sell(shop)["info"]["isoffline"])

    def test_provider_stays_away(self) -> None:
        """A register that asks before each offline receipt does not go to and fro for want of stamps."""
        shop = self.shop_with("must")
        shop.settings("one", offline_probe_before_receipt=True)
        self.provider.error = NotReached("connection refused")
        for _ in range(3):
            self.assertEqual(self.sell(shop)["info"]["isoffline"], True)
        self.assertEqual(shop.kinds(), ["open"])
        self.provider.error = None
        shop.clock.pump([1] * 62)
        self.assertFalse(self.sell(shop)["info"]["isoffline"])

    def test_try(self) -> None:
        """A stamp that is not given costs nothing but its question."""
        shop = self.shop_with("try")
        for reply in (Reply(200, {}, REFUSAL), Reply(200, {}, b"<html>"), Reply(503, {}, b"")):
            self.provider.reply = reply
            self.assertEqual(self.sell(shop)["res"], 0)
        self.provider.reply = None
        self.assertEqual(self.sell(shop)["res"], 0)
        self.assertEqual(self.stamped(shop), [True, False, False, False, True])

    def test_wrong_stamp(self) -> None:
        """A stamp for something else, or by a key that is not for stamps, does not count."""
        shop = self.shop_with("must")
        other = ask_for_stamp(b"other", 1)
        moment = datetime.fromtimestamp(shop.clock.seconds(), UTC)
        self.provider.reply = Reply(200, {}, stamp_answer(other, self.provider.who, lambda: moment))
        self.assertEqual(self.sell(shop)["res"], 1069)
        self.provider.reply, self.provider.who = None, keys().cashier
        self.assertEqual(self.sell(shop)["res"], 1069)
        self.assertEqual(shop.kinds(), ["open"])

    def test_off(self) -> None:
        """Unless it is set, no provider is asked."""
        shop = self.shop_with("off")
        self.assertEqual(self.sell(shop)["res"], 0)
        self.assertEqual((self.stamped(shop), self.provider.asked), ([False, False], []))

    def test_no_provider(self) -> None:
        """A missing provider in certificate and settings is reported."""
        shop = self.shop_with("try")
        shop.settings("one", time_stamp_url="", time_stamps="must")
        self.assertIn("names no provider", self.sell(shop)["errortxt"])

    def test_stamped_already(self) -> None:
        """A message that a signing agent has stamped is not stamped again."""
        shop = self.shop_with("must")
        stored = list(shop.far_end.books.registers[4_000_000_202].documents.values())[-1]
        stamps = shop.built()._way._stamps
        self.assertEqual(shop.done(stamps.stamped(stored.sent)), stored.sent)


class SimulatedTests(ServiceCase):
    """The provider beside the simulated tax service."""

    def setUp(self) -> None:
        """A server that wants stamps."""
        self.begin("--stamps")
        self.treq: Any = StubTreq(self.site.resource)

    def asked(self, signature: bytes, nonce: int) -> Deferred[Any]:
        """The answer that is due to a question."""
        question = ask_for_stamp(signature, nonce)
        due: Deferred[Any] = self.treq.post("http://fs/tsp", data=question)
        return due

    def token(self, signature: bytes) -> bytes:
        """The token that is given for ``signature``."""
        nonce = new_nonce()
        answer = self.successResultOf(self.asked(signature, nonce))
        self.assertEqual(answer.headers.getRawHeaders(b"content-type"), [ANSWER_TYPE.encode()])
        body = self.successResultOf(answer.content())
        return read_stamp_answer(body, signature, nonce, self.trust)

    def test_accepted(self) -> None:
        """A document with a stamp of this provider is taken, one without is not; the provider counts."""
        document = self.shop.open()
        bare = self.signer.sign(encode(document))
        self.assertEqual(self.result(self.client.register(bare, document)).code, Code.CRYPTOGRAPHY_ERROR)
        stamped = with_stamp(bare, self.token(signature_of(bare)))
        self.assertIn(oids.SIGNATURE_TIME_STAMP, read(stamped).signers[0].unsigned)
        self.assertIsInstance(self.result(self.client.register(stamped, document)), Accepted)
        state = self.simulation.json("GET", "/state")["stamps"]
        self.assertEqual(state, {"answers": "granted", "given": 1})

    def test_refusals(self) -> None:
        """It refuses, answers garbage or stays silent as set, and refuses anything but a request."""
        self.simulation.json("POST", "/stamping", {"answers": "refused"})
        self.assertRaises(NoStamp, self.token, b"x")
        self.simulation.json("POST", "/stamping", {"answers": "garbage"})
        self.assertRaises(Malformed, self.token, b"x")
        self.simulation.json("POST", "/stamping", {"answers": "silent"})
        self.assertNoResult(self.asked(b"x", 1))
        self.simulation.json("POST", "/stamping")
        answer = self.successResultOf(self.treq.post("http://fs/tsp", data=b"nothing"))
        self.assertEqual(self.successResultOf(answer.content()), REFUSAL)
        status, _, body = self.simulation.ask("POST", "/stamping", {"answers": "perhaps"})
        self.assertEqual((status, json.loads(body)["errors"][0]["path"]), (422, "answers"))

    def test_slow(self) -> None:
        """It may take its time."""
        self.simulation.json("POST", "/stamping", {"delay_ms": 5000})
        due = self.asked(b"x", 1)
        self.clock.advance(4.9)
        self.assertNoResult(due)
        self.clock.advance(0.2)
        self.treq.flush()
        self.assertEqual(self.successResultOf(due).code, 200)
