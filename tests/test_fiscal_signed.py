"""Client and simulated server with real signatures: an authority, a cashier's key and a server's key of our own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from protocols.fiscal import packages
from protocols.fiscal.client import FiscalServer as Client
from protocols.fiscal.crypto.authority import Authority, Identity
from protocols.fiscal.crypto.errors import CryptoError
from protocols.fiscal.crypto.signing import sign
from protocols.fiscal.crypto.verifying import verify
from protocols.fiscal.document_xml import Document, encode
from protocols.fiscal.error_codes import Code
from protocols.fiscal.signatures import Signed, WrongSignature
from protocols.fiscal.verdicts import Accepted, Answered, PackageTaken, Refused, Unknown
from protocols.simulators.fiscal_in_process import InProcessExchange
from protocols.simulators.fiscal_register import Operator, Registration
from protocols.simulators.fiscal_server import FiscalServer
from tests.fiscal_papers import KYIV, REGISTER, TIN, Shop

START = datetime(2026, 9, 21, 9, tzinfo=KYIV).timestamp()


class SignedTests(SynchronousTestCase):
    """Documents, packages and questions as they travel in earnest."""

    def setUp(self) -> None:
        """An authority that certified a cashier and the server, both on one clock."""
        self.clock = Clock()
        self.clock.advance(START)
        self.authority = Authority(self.now())
        self.cashier = self.authority.cashier("Касир", TIN)
        operator = Operator(self.cashier.certificate.key_id.hex(), "Касир", chief=True)
        self.shop = Shop(self.clock.seconds)
        self.serve(self.authority.issue("Fiscal server"), operator)

    def serve(self, key: Identity, *operators: Operator) -> None:
        """Have a server that signs with ``key``."""
        registration = Registration(REGISTER, tin=TIN, operators=operators)
        self.server = FiscalServer(
            self.clock,
            (registration,),
            open=self.opened,
            seal=lambda content: sign(content, key.key, key.certificate),
        )
        exchange = InProcessExchange(self.server, self.clock, 30)
        self.client = Client(exchange, self.sign, self.opened, "http://fs/fs")

    def now(self) -> datetime:
        """The time of everybody."""
        return datetime.fromtimestamp(self.clock.seconds(), UTC)

    def opened(self, message: bytes) -> Signed:
        """Open a message signed by a key of the authority."""
        try:
            verdict = verify(message, self.now(), self.authority.trust)
        except CryptoError as error:
            raise WrongSignature(str(error)) from None
        if not verdict.valid or verdict.signer is None:
            raise WrongSignature("; ".join(map(str, verdict.faults)))
        return Signed(verdict.content, verdict.signer.key_id.hex(), verdict.signer.subject.common)

    async def sign(self, content: bytes) -> bytes:
        """Sign as the cashier."""
        return self.signed(content)

    def signed(self, content: bytes) -> bytes:
        """What the cashier signed."""
        return sign(content, self.cashier.key, self.cashier.certificate)

    def result(self, asking: Any) -> Any:
        """What a call comes to."""
        return self.successResultOf(Deferred.fromCoroutine(asking))

    def hand_in(self, document: Document, sent: bytes | None = None) -> Any:
        """What becomes of a document."""
        return self.result(self.client.register(sent or self.signed(encode(document)), document))

    def test_online(self) -> None:
        """A signed document is registered, its ticket verified, and the server names who opened the shift."""
        self.assertIsInstance(self.hand_in(self.shop.open()), Accepted)
        state = self.result(self.client.state(REGISTER))
        assert isinstance(state, Answered)
        self.assertEqual(state.value.subject_key_id, self.cashier.certificate.key_id.hex())
        self.assertIsInstance(self.result(self.client.fetch(REGISTER, 1)), Answered)

    def test_changed(self) -> None:
        """A document that was changed after it was signed is refused, one that is not signed too."""
        document = self.shop.open()
        sent = self.signed(encode(document)).replace(b"<CASHIER>\xca", b"<CASHIER>\xcb")
        for wrong in (sent, encode(document)):
            refused = self.hand_in(document, wrong)
            self.assertEqual((type(refused), refused.code), (Refused, Code.CRYPTOGRAPHY_ERROR))

    def test_other_key(self) -> None:
        """A key of the authority's that has no right to the register is refused."""
        self.cashier = self.authority.cashier("Інший", TIN)
        refused = self.hand_in(self.shop.open())
        self.assertEqual(refused.code, Code.OPERATOR_ACCESS_TO_TRANSACTIONS_REGISTRAR_NOT_GRANTED)

    def test_foreign_server(self) -> None:
        """A ticket signed by an untrusted server proves nothing."""
        self.serve(Authority(self.now()).issue("Fiscal server"))
        self.assertIsInstance(self.hand_in(self.shop.open()), Unknown)
        self.assertEqual(len(self.server.entries()), 1)

    def test_package(self) -> None:
        """Offline documents are chained by the bytes that were signed, and taken as a signed package."""
        opened = self.hand_in(self.shop.open())
        session = opened.session
        self.shop.seal = self.signed
        sent = (
            self.shop.begin(session.id, session.seed),
            self.shop.made(self.shop.sale()),
            self.shop.made(self.shop.sale()),
            self.shop.end(),
        )
        taken = self.result(self.client.hand_in(self.signed(packages.join(sent))))
        self.assertIsInstance(taken, PackageTaken, str(taken))
        self.assertIsNotNone(taken.session)
