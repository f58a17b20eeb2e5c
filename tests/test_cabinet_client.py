"""The client of the cabinet's server: what its answers prove."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from OpenSSL.crypto import X509, PKey
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.ssl import CertificateOptions
from twisted.internet.task import Clock
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.trial.unittest import SynchronousTestCase

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.fiscal.cabinet.client import CabinetCall, CabinetServer
from protocols.fiscal.cabinet.messages import (
    METHODS,
    Check,
    CheckRequest,
    CheckRequestId,
    CheckResponse,
    Status,
    path_of,
)
from protocols.fiscal.https import roots_in
from protocols.fiscal.verdicts import Answered, Malformed, NotSent, Refused, Unknown
from protocols.grpc.server import ServerFactory
from protocols.grpc.statuses import CallFailed, Code
from tests.grpc_pair import PairEndpoint
from tests.test_fiscal_https import HOST, authority

CHECK = Check("4000000001", 20260921090502, b"signed", 1, 1)

T = TypeVar("T")


def result(work: Awaitable[T]) -> Deferred[T]:
    """What a coroutine comes to."""

    async def awaited() -> T:
        return await work

    return Deferred.fromCoroutine(awaited())


async def sign(content: bytes) -> bytes:
    """Sign visibly."""
    return b"<" + content + b">"


class VerdictTests(SynchronousTestCase):
    """Answers and errors as verdicts."""

    def setUp(self) -> None:
        """A server whose answer a test decides."""
        self.calls: list[tuple[str, bytes, float]] = []
        self.answer: bytes | WireError = CheckResponse("wuBKGM848z4").encode()
        self.server = CabinetServer(self.call, sign, 40)

    async def call(self, method: str, request: bytes, deadline: float) -> bytes:
        """Carry one call."""
        self.calls.append((method, request, deadline))
        if isinstance(self.answer, WireError):
            raise self.answer
        return self.answer

    def sent(self, answer: bytes | WireError) -> Any:
        """The verdict on a document that is answered so."""
        self.answer = answer
        return self.successResultOf(result(self.server.send(CHECK)))

    def test_methods(self) -> None:
        """Each question is its method with its own request, whose register's number is signed."""
        asked = CheckRequest(b"<4000000001>")
        questions: list[tuple[Callable[[], Awaitable[object]], str, Any]] = [
            (lambda: self.server.send(CHECK), "sendChkV2", CHECK),
            (lambda: self.server.ping(CHECK), "ping", CHECK),
            (lambda: self.server.last("4000000001"), "lastChk", asked),
            (lambda: self.server.delete_last("4000000001"), "delLastChk", asked),
            (lambda: self.server.delete("x1", "4000000001"), "delLastChkId", CheckRequestId("x1", b"<4000000001>")),
            (lambda: self.server.status("4000000001"), "statusRro", asked),
            (lambda: self.server.info("4000000001"), "infoRro", asked),
        ]
        for question, method, request in questions:
            shape = METHODS[method][1]
            answer = shape()
            self.answer = answer.encode()
            self.assertEqual(self.successResultOf(result(question())), Answered(answer))
            self.assertEqual(self.calls[-1], (method, request.encode(), 40))
        self.assertEqual({method for method, _, _ in self.calls}, {*METHODS})

    def test_refused(self) -> None:
        """Each of the server's refusals comes with its text."""
        for status in Status:
            if status < 0:
                refusal = CheckResponse(status=status, error_message="ні")
                self.assertEqual(self.sent(refusal.encode()), Refused(status, "ні"))

    def test_odd(self) -> None:
        """An answer that cannot be read, or without a known status, leaves the outcome unknown."""
        for answer in (b"", b"\x0a", b"<html>", *(CheckResponse(status=odd).encode() for odd in (0, 2, -17))):
            self.assertIsInstance(self.sent(answer), Malformed)

    def test_not_sent(self) -> None:
        """Only what certainly was not processed is not sent."""
        self.assertEqual(self.sent(NotReached("refused")), NotSent("refused"))
        statuses = [CallFailed(code) for code in Code]
        for error in (*statuses, Silent(30), Silent(30, taken=True), LineLost(), Garbled("noise")):
            self.assertEqual(self.sent(error), Unknown(str(error)))


class CabinetCallTests(SynchronousTestCase):
    """Calls to an address over TLS in memory."""

    def setUp(self) -> None:
        """A server with a certificate of our own root."""
        self.clock = Clock()
        self.asked: list[tuple[str, bytes]] = []
        self.root, self.certificate, self.key = authority()

    async def handle(self, path: str, request: bytes) -> bytes:
        """Register everything."""
        self.asked.append((path, request))
        return CheckResponse("id").encode()

    def lines(self, host: str, port: int) -> IStreamClientEndpoint:
        """The way to the server."""
        self.address = host, port
        return self.endpoint

    def sent(self, url: str, roots: list[X509], tls: tuple[X509, PKey] | None) -> Any:
        """The verdict on a document that is sent to an address."""
        factory: Any = ServerFactory(self.clock, self.handle)
        if tls is not None:
            options = CertificateOptions(certificate=tls[0], privateKey=tls[1])
            factory = TLSMemoryBIOFactory(options, False, factory, self.clock)
        self.endpoint = PairEndpoint(lambda: factory.buildProtocol(None))
        call = CabinetCall(self.clock, url, roots, line=self.lines)
        verdict = result(CabinetServer(call, sign, 40).send(CHECK))
        for _ in range(50):
            self.endpoint.run()
            self.clock.advance(0.01)
        self.clock.advance(60)
        return self.successResultOf(verdict)

    def test_verified(self) -> None:
        """A server with the name that its certificate bears gets the document."""
        verdict = self.sent(f"https://{HOST}:9443", roots_in(self.root), (self.certificate, self.key))
        self.assertEqual(verdict, Answered(CheckResponse("id")))
        self.assertEqual((self.asked, self.address), ([(path_of("sendChkV2"), CHECK.encode())], (HOST, 9443)))

    def test_not_verified(self) -> None:
        """A server whom nobody vouches for, or with another name, gets nothing."""
        self.assertIsInstance(self.sent(f"https://{HOST}:9443", [], (self.certificate, self.key)), NotSent)
        other = self.sent("https://other.test", roots_in(self.root), (self.certificate, self.key))
        self.assertIsInstance(other, NotSent)
        self.assertEqual(self.asked, [])

    def test_plain(self) -> None:
        """A simulator may do without TLS; but a server that is asked for TLS may not."""
        self.assertIsInstance(self.sent("http://localhost:8000", [], None), Answered)
        self.assertIsInstance(self.sent("https://localhost:8000", [], None), NotSent)

    def test_no_address(self) -> None:
        """Anything else is no address."""
        for url in ("prro.tax.gov.ua:443", "ftp://x", "https://ї"):
            self.assertRaises(ValueError, CabinetCall, self.clock, url)
