"""One request over HTTPS: what counts as sent, trusted certificates, and time limits."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from OpenSSL import SSL
from OpenSSL.crypto import X509, PKey
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.error import ConnectionRefusedError, DNSLookupError
from twisted.internet.interfaces import IAddress, IProtocolFactory, IStreamClientEndpoint
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.ssl import CertificateOptions
from twisted.internet.task import Clock
from twisted.internet.testing import MemoryReactorClock
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.client import URI
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, NotReached, Silent
from protocols.fiscal.client import FiscalServer as Client
from protocols.fiscal.document_xml import encode
from protocols.fiscal.https import HttpsExchange, ServerEndpoints, roots_in
from protocols.fiscal.signatures import open_unsigned, unsigned
from protocols.fiscal.verdicts import Accepted, Answered, NotSent, Refused, Reply, Unknown
from protocols.simulators.fiscal_register import Registration
from protocols.simulators.fiscal_server import FiscalServer
from protocols.simulators.fiscal_site import FiscalSite
from protocols.simulators.in_process import InProcessAddress, Pipe
from tests.fiscal_papers import KYIV, REGISTER, TIN, Shop

HOST = "fs.test"
START = datetime(2026, 9, 21, 9, tzinfo=KYIV).timestamp()


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _issued(name: str, issuer: str, key: Any, signer: Any, authority: bool) -> x509.Certificate:
    # OpenSSL goes by the machine's own clock.
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(authority, None), critical=True)
    )
    if not authority:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    return builder.sign(signer, hashes.SHA256())


@cache
def authority() -> tuple[bytes, X509, PKey]:
    """A root of our own as PEM, and a certificate for `HOST` with its key."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root = _issued("Test root", "Test root", root_key, root_key, True)
    certificate = _issued(HOST, "Test root", key, root_key, False)
    pem = root.public_bytes(serialization.Encoding.PEM)
    return pem, X509.from_cryptography(certificate), PKey.from_cryptography_key(key)


class TcpPipe(Pipe):
    """An end of a line in memory with the knob that TLS turns on TCP."""

    def setTcpNoDelay(self, enabled: bool) -> None:
        """Nothing to do in memory."""


@implementer(IStreamClientEndpoint)
class Noting:
    """A line to a server in memory that notes what arrives."""

    def __init__(self, device: IProtocolFactory, clock: Clock, received: list[bytes]) -> None:
        self._device, self._clock = _Overhearing(device, received), clock

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        """Open a line, unless the server takes no call."""
        far = self._device.buildProtocol(InProcessAddress())
        near = protocolFactory.buildProtocol(InProcessAddress())
        if far is None or near is None:
            return fail(ConnectionRefusedError())
        here, there = TcpPipe(self._clock), TcpPipe(self._clock)
        here.other, there.other, here.protocol, there.protocol = there, here, near, far
        far.makeConnection(there)
        near.makeConnection(here)
        return succeed(near)


class _Overhearing(Factory):
    noisy = False

    def __init__(self, inner: IProtocolFactory, received: list[bytes]) -> None:
        self._inner, self._received = inner, received

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """The server's end, with an ear in front."""
        protocol = self._inner.buildProtocol(addr)  # type: ignore[arg-type]
        if protocol is None:
            return None
        deliver, received = protocol.dataReceived, self._received
        received.append(b"")
        number = len(received) - 1

        def listen(data: bytes) -> None:
            received[number] += data
            deliver(data)

        protocol.dataReceived = listen  # type: ignore[method-assign]
        return protocol


@implementer(IStreamClientEndpoint)
class Refusing:
    """A way that leads nowhere: it fails with ``error``, or never comes to an end."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error
        self.cancelled = False

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[Any]:
        """Fail, or wait for ever."""
        if self._error is not None:
            return fail(self._error)
        return Deferred(self._cancel)

    def _cancel(self, _: Deferred[Any]) -> None:
        self.cancelled = True


class Scripted(Protocol):
    """A server with one answer to everything."""

    def __init__(self, words: bytes, ends: bool) -> None:
        self._words, self._ends = words, ends

    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(self._words)
        self._words = b""
        if self._ends:
            self.transport.loseConnection()


class HttpsCase(SynchronousTestCase):
    """A server and an exchange that reaches it in memory."""

    secure = True

    def setUp(self) -> None:
        """Start both on one clock."""
        self.clock = Clock()
        self.clock.advance(START)
        self.server = FiscalServer(self.clock, (Registration(REGISTER, tin=TIN),))
        self.addCleanup(self.server.close)
        self.shop = Shop(self.clock.seconds)
        self.received: list[bytes] = []
        self.over(FiscalSite(self.server, behind_tls=self.secure))

    def over(self, device: IProtocolFactory, roots: bytes | None = None) -> None:
        """Reach ``device`` from now on, over TLS when this case is about that."""
        if self.secure:
            _, certificate, key = authority()
            options = CertificateOptions(privateKey=key, certificate=certificate, method=SSL.TLS_METHOD)
            device = TLSMemoryBIOFactory(options, False, device, self.clock)
        self.by(lambda host, port: Noting(device, self.clock, self.received), roots)

    def by(self, line: Callable[[str, int], IStreamClientEndpoint], roots: bytes | None = None) -> None:
        """Reach whatever ``line`` leads to from now on."""
        trusted = roots_in(authority()[0] if roots is None else roots) if roots != b"" else None
        self.exchange = HttpsExchange(self.clock, ServerEndpoints(self.clock, trusted, 10, line), 40)
        scheme = "https" if self.secure else "http"
        self.client = Client(self.exchange, unsigned, open_unsigned, f"{scheme}://{HOST}:8643/fs")

    def carry(self, seconds: float = 0.0) -> None:
        """Let bytes travel, and time pass."""
        for _ in range(60):
            self.clock.advance(0)
        if seconds:
            self.clock.advance(seconds)
            self.carry()

    def result(self, asking: Any, seconds: float = 0.0) -> Any:
        """What a call comes to within ``seconds``."""
        waiting = Deferred.fromCoroutine(asking)
        self.carry(seconds)
        return self.successResultOf(waiting)

    def open(self, seconds: float = 0.0) -> Any:
        """What becomes of the opening of a shift."""
        document = self.shop.open()
        self.shop.next = 1
        return self.result(self.client.register(encode(document), document), seconds)

    def failure(self, kind: type[Exception], seconds: float = 0.0) -> Exception:
        """What a request fails with."""
        scheme = "https" if self.secure else "http"
        asked = self.exchange("POST", f"{scheme}://{HOST}/fs/doc", {"Content-Type": "a/b"}, b"body")
        waiting: Deferred[Reply] = Deferred.fromCoroutine(asked)
        self.carry(seconds)
        error = self.failureResultOf(waiting, kind).value
        assert isinstance(error, kind)
        return error

    def rule(self, on: str, then: str, **more: object) -> None:
        """Let one thing go wrong next."""
        self.server.scenario.replace({"rules": [{"on": on, "then": then, **more}]})


class WholeTests(HttpsCase):
    """Over TLS, with a certificate of our own root."""

    def test_registered(self) -> None:
        """A document is registered, a question answered; each has a connection of its own."""
        self.assertIsInstance(self.open(), Accepted)
        self.assertIsInstance(self.result(self.client.state(REGISTER)), Answered)
        self.assertIsInstance(self.result(self.client.state_of_server()), Answered)
        self.assertEqual(len(self.received), 3)

    def test_refused(self) -> None:
        """A refusal arrives with its code."""
        self.shop.next = 5
        document = self.shop.open()
        refused = self.result(self.client.register(encode(document), document))
        self.assertEqual((type(refused), refused.code), (Refused, 7))

    def test_nothing_in_the_clear(self) -> None:
        """Nothing of a document can be read on the line."""
        self.open()
        self.assertNotIn(b"POST", self.received[0])

    def test_unknown_issuer(self) -> None:
        """A server with an untrusted issuer receives nothing."""
        _, certificate, key = authority()
        options = CertificateOptions(privateKey=key, certificate=certificate)
        device = TLSMemoryBIOFactory(options, False, FiscalSite(self.server), self.clock)
        self.by(lambda host, port: Noting(device, self.clock, self.received), b"")
        self.assertIsInstance(self.open(), NotSent)
        self.assertEqual(self.server.entries(), [])

    def test_other_name(self) -> None:
        """A certificate for another name is as good as none."""
        asked = self.exchange("POST", "https://other.test/fs/doc", {"Content-Type": "a/b"}, b"body")
        waiting: Deferred[Reply] = Deferred.fromCoroutine(asked)
        self.carry()
        self.failureResultOf(waiting, NotReached)
        self.assertEqual(len(self.received), 1)

    def test_no_tls(self) -> None:
        """A server that speaks no TLS is not reached."""
        self.by(
            lambda host, port: Noting(
                Factory.forProtocol(lambda: Scripted(b"HTTP/1.1 200 OK\r\n\r\n", True)), self.clock, self.received
            )
        )
        self.failure(NotReached)

    def test_silent_handshake(self) -> None:
        """A server that takes the call and never answers TLS is not reached, after the time to connect."""
        self.by(lambda host, port: Noting(Factory.forProtocol(Protocol), self.clock, self.received))
        waiting = Deferred.fromCoroutine(self.exchange("POST", f"https://{HOST}/fs/doc", {}, b"body"))
        self.carry(9.9)
        self.assertNoResult(waiting)
        self.carry(0.1)
        self.failureResultOf(waiting, NotReached)

    def test_unreachable(self) -> None:
        """A server that closes the connection before TLS is complete is not reached."""
        self.rule("any", "unreachable")
        self.assertIsInstance(self.open(), NotSent)
        self.assertEqual(self.server.entries(), [])
        self.assertIsInstance(self.open(), Accepted)

    def test_lost_after(self) -> None:
        """A line that breaks after the document was registered leaves it unknown."""
        self.rule("open", "lost_after")
        self.assertIsInstance(self.open(), Unknown)
        self.assertEqual(len(self.server.entries()), 1)

    def test_half(self) -> None:
        """Half of an answer leaves it unknown."""
        self.rule("open", "garbage")
        self.assertIsInstance(self.open(), Unknown)
        self.assertEqual(len(self.server.entries()), 1)


class PlainTests(HttpsCase):
    """Over plain HTTP, where the bytes can be looked at."""

    secure = False

    def test_request(self) -> None:
        """The request has path, type and length, is compressed, and asks for its line to be closed."""
        self.assertIsInstance(self.open(), Accepted)
        head, _, body = self.received[0].partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        self.assertEqual(lines[0], b"POST /fs/doc HTTP/1.1")
        for expected in (b"Content-Type: application/octet-stream", b"Content-Encoding: gzip", b"Connection: close"):
            self.assertIn(expected, lines)
        self.assertIn(b"Content-Length: %d" % len(body), lines)
        self.assertEqual(gzip.decompress(body), encode(self.shop.open()))

    def test_lost_before(self) -> None:
        """A connection that breaks before anything happened is unknown as well."""
        self.rule("open", "lost_before")
        self.assertIsInstance(self.open(), Unknown)
        self.assertEqual(self.server.entries(), [])

    def test_half(self) -> None:
        """Half of an answer is a broken line, not a short answer."""
        self.rule("open", "garbage")
        self.assertIsInstance(self.open(), Unknown)

    def test_silent(self) -> None:
        """A server that says nothing is waited for 40 seconds, and then the line is closed."""
        self.rule("open", "silent")
        document = self.shop.open()
        waiting = Deferred.fromCoroutine(self.client.register(encode(document), document))
        self.carry(39.9)
        self.assertNoResult(waiting)
        self.carry(0.1)
        self.assertIsInstance(self.successResultOf(waiting), Unknown)

    def test_given_up(self) -> None:
        """A request that is given up meanwhile may have arrived: its outcome is unknown, and the line is closed."""
        self.rule("open", "silent")
        document = self.shop.open()
        waiting = Deferred.fromCoroutine(self.client.register(encode(document), document))
        self.carry(13)
        self.assertNoResult(waiting)
        waiting.cancel()
        self.assertEqual(self.successResultOf(waiting), Unknown("given up"))

    def test_late(self) -> None:
        """A later answer is ignored."""
        self.rule("open", "accept", delay_ms=50_000)
        self.assertIsInstance(self.open(40), Unknown)
        self.carry(20)
        self.assertEqual(len(self.server.entries()), 1)

    def test_unreachable(self) -> None:
        """A server that takes no call is not reached."""
        self.rule("any", "unreachable")
        self.assertIsInstance(self.open(), NotSent)
        self.assertIsInstance(self.open(), Accepted)

    def test_no_way(self) -> None:
        """A refused connection and an unknown name are not reached, with their reason."""
        for error in (ConnectionRefusedError(), DNSLookupError("fs.test")):
            self.by(lambda host, port, error=error: Refusing(error))  # type: ignore[misc]
            self.assertTrue(str(self.failure(NotReached)))

    def test_no_connection(self) -> None:
        """A connection that does not come about is given up after its time."""
        nowhere = Refusing()
        self.by(lambda host, port: nowhere)
        self.failure(NotReached, 10)
        self.assertTrue(nowhere.cancelled)

    def test_bad_address(self) -> None:
        """A malformed address is not reached."""
        for url in ("ftp://fs.test/fs", "http://фс.test/fs"):
            waiting = Deferred.fromCoroutine(self.exchange("POST", url, {}, b""))
            self.failureResultOf(waiting, NotReached)

    def scripted(self, words: bytes, ends: bool = True) -> None:
        """Reach a server that says ``words``."""
        self.over(Factory.forProtocol(lambda: Scripted(words, ends)))

    def test_no_http(self) -> None:
        """Anything but HTTP, and half of a head, is a broken connection."""
        for words in (b"hello\r\n\r\n", b"HTTP/1.1 200 O", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", b""):
            self.scripted(words)
            self.failure(LineLost)

    def test_no_length(self) -> None:
        """An answer without a length ends with its line."""
        self.scripted(b"HTTP/1.1 200 OK\r\nX-Test: 1\r\n\r\nwords")
        asked = self.exchange("POST", f"http://{HOST}/fs/doc", {}, b"")
        reply = self.result(asked)
        self.assertEqual((reply.status, reply.headers["x-test"], reply.body), (200, "1", b"words"))

    def test_endless(self) -> None:
        """An answer without end is not read to its end."""
        self.scripted(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(9 * 1024 * 1024), False)
        self.failure(Garbled)

    def test_sent_on(self) -> None:
        """A document goes to the address that was named, and to no other."""
        self.scripted(b"HTTP/1.1 307 See there\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n")
        reply = self.result(self.exchange("POST", f"http://{HOST}/fs/doc", {}, b"body"))
        self.assertEqual((reply.status, len(self.received)), (307, 1))

    def test_cookies(self) -> None:
        """Cookies are not kept."""
        self.scripted(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n")
        for _ in range(2):
            self.result(self.exchange("POST", f"http://{HOST}/fs/doc", {}, b"body"))
        self.assertNotIn(b"cookie", self.received[-1].lower())

    def test_half_and_silence(self) -> None:
        """An answer that stops in its middle is given up after its time."""
        self.scripted(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", False)
        self.failure(Silent, 40)


class RefusingTests(SynchronousTestCase):
    """A server whose every address refuses."""

    def test_soon(self) -> None:
        """It is told almost at once: a till waits for it."""
        clock = MemoryReactorClock()
        reached = ServerEndpoints(clock).endpointForURI(URI.fromBytes(b"http://127.0.0.1:8609/"))
        failing = reached.connect(Factory.forProtocol(Protocol))
        [(_, _, factory, _, _)] = clock.tcpClients
        [connector] = clock.connectors
        factory.clientConnectionFailed(connector, Failure(ConnectionRefusedError()))
        clock.advance(0.05)
        self.failureResultOf(failing, NotReached)


class RootTests(SynchronousTestCase):
    """Certificates from a file."""

    def test_several(self) -> None:
        """Every certificate of a file is read, with words between them."""
        pem = authority()[0]
        self.assertEqual(len(roots_in(b"root:\n" + pem + b"\nanother:\n" + pem)), 2)

    def test_none(self) -> None:
        """A file without certificate, or with a broken one, is refused."""
        pem = authority()[0]
        for wrong in (b"", b"words", pem.replace(b"M", b"!"), pem[:-30]):
            self.assertRaises(ValueError, roots_in, wrong)
