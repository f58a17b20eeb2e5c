"""Certificates and HTTPS: what is served, what is refused, and what is replaced while connections stay open."""

from __future__ import annotations

import getpass
import json
import os
import shutil
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, NoEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509 import verification
from cryptography.x509.oid import ExtendedKeyUsageOID
from OpenSSL import SSL
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from dmtwisted.access import authority as authority_module
from dmtwisted.access import tls_install
from dmtwisted.access.authority import (
    AUTHORITY_FILE,
    AUTHORITY_KEY,
    authority_file,
    issue,
    make_authority,
    names_of_this_machine,
    permits,
)
from dmtwisted.access.certificates import BadCertificate, Identity, check, read_any, read_pem, remarks
from dmtwisted.access.tls import LOOK_EVERY, LiveCertificate, check_before_start
from dmtwisted.commands.main import main
from dmtwisted.config import INSTALLED, ConfigError, TlsConfig
from dmtwisted.core import Core
from dmtwisted.store.sqlite.memory import MemoryStore
from tests.certificates import key_pem, make_certificate, make_key, pem, write_pair
from tests.rights import OWNER_ONLY
from tests.shop import MORNING, Shop
from tests.specification import promises
from tests.test_sessions import PASSWORD, SETTINGS
from tests.web_case import HttpAnswer, WebCase, _take, request_bytes
from web.site import Door


class WithFolder(SynchronousTestCase):
    """Tests with a folder for certificates."""

    def setUp(self) -> None:
        """An empty folder."""
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def pair(self, **more: Any) -> tuple[Path, Path]:
        """Files of a certificate that is good at `MORNING` unless ``more`` says otherwise."""
        key = more.pop("key", None) or make_key()
        return write_pair(self.folder, make_certificate(MORNING, key, **more), key)


class ReadTests(WithFolder):
    """Reading certificates from files."""

    def why(self, file: Path, key: Path, passphrase: str = "") -> str:
        """Why the files are not taken, in one line that names one of them."""
        error = str(self.assertRaises(BadCertificate, read_pem, file, key, passphrase))
        self.assertNotIn("\n", error)
        self.assertIn(str(self.folder), error)
        return error

    def test_good(self) -> None:
        """Certificate and key are read, with the names that they are for."""
        identity = read_pem(*self.pair(names=("desk.shop.local", "localhost")))
        self.assertEqual((identity.subject, identity.names), ("desk", ("desk.shop.local", "localhost")))
        self.assertEqual(identity.days_left(MORNING), 100)
        check(identity, MORNING, self.folder)

    def test_one_file(self) -> None:
        """Both may be in one file, in either order."""
        file, key = self.pair()
        for content in (file.read_bytes() + key.read_bytes(), key.read_bytes() + file.read_bytes()):
            both = self.folder / "both.pem"
            both.write_bytes(content)
            self.assertEqual(read_pem(both, both).subject, "desk")

    def test_chain(self) -> None:
        """A chain is put in order, whatever order the file has it in, and what does not belong to it is left out."""
        root, middle, leaf = make_key(), make_key(), make_key()
        top = make_certificate(MORNING, root, "root", is_authority=True)
        between = make_certificate(MORNING, middle, "middle", issuer=(top, root), is_authority=True)
        own = make_certificate(MORNING, leaf, "desk", issuer=(between, middle))
        stranger = make_certificate(MORNING, make_key(), "stranger")
        file, key = write_pair(self.folder, own, leaf)
        for order in ((own, between, top), (top, between, own), (stranger, between, own, top)):
            file.write_bytes(pem(*order))
            identity = read_pem(file, key)
            self.assertEqual([one.subject for one in identity.above], [between.subject, top.subject])
            self.assertEqual((identity.subject, identity.issuer), ("desk", "middle"))

    def test_unreadable(self) -> None:
        """Files that are not there, are folders, are empty or hold something else are named."""
        file, key = self.pair()
        gone = self.folder / "gone"
        self.assertIn(f"{gone}: cannot be read", self.why(gone, key))
        self.assertIn(f"{gone}: cannot be read", self.why(file, gone))
        self.assertIn(f"{self.folder}: cannot be read", self.why(self.folder, key))
        for content in (b"", b"nonsense", b"\x00\xff", key.read_bytes()):
            file.write_bytes(content)
            self.assertIn(f"{file}: holds no certificate", self.why(file, key))
        file, key = self.pair()
        for content in (b"", b"nonsense", file.read_bytes(), b"-----BEGIN "):
            key.write_bytes(content)
            self.assertIn(f"{key}: holds no private key", self.why(file, key))

    def test_damaged(self) -> None:
        """A key or certificate whose bytes were changed is named."""
        file, key = self.pair()
        begin, body, *rest = key.read_bytes().split(b"\n")
        key.write_bytes(b"\n".join([begin, body[::-1], *rest]))
        self.assertIn(f"{key}: the key is damaged", self.why(file, key))
        file, key = self.pair()
        begin, body, *rest = file.read_bytes().split(b"\n")
        file.write_bytes(b"\n".join([begin, body[::-1], *rest]))
        self.assertIn(str(file), self.why(file, key))

    def test_other_key(self) -> None:
        """A key of another certificate is reported as such."""
        file, key = self.pair()
        key.write_bytes(key_pem(make_key()))
        self.assertIn("does not belong", self.why(file, key))

    def test_passphrase(self) -> None:
        """An encrypted key opens by its passphrase alone; one in the clear does not mind that there is one."""
        file, key = self.pair()
        identity = read_pem(file, key)
        key.write_bytes(identity.key_pem("correct horse"))
        self.assertEqual(read_pem(file, key, "correct horse").subject, "desk")
        self.assertIn("passphrase is missing", self.why(file, key))
        self.assertIn("passphrase is wrong", self.why(file, key, "battery staple"))
        key.write_bytes(identity.key_pem())
        self.assertEqual(read_pem(file, key, "correct horse").subject, "desk")

    def test_pkcs12(self) -> None:
        """A PKCS#12 file opens by its password, and brings its chain along."""
        root, leaf = make_key(), make_key()
        top = make_certificate(MORNING, root, "root", is_authority=True)
        own = make_certificate(MORNING, leaf, "desk", issuer=(top, root))
        file = self.folder / "desk.pfx"
        for password in ("sesame", ""):
            secret: Any = BestAvailableEncryption(password.encode()) if password else NoEncryption()
            file.write_bytes(serialize_key_and_certificates(b"desk", leaf, own, [top], secret))
            identity = read_any(file, password)
            self.assertEqual((identity.subject, len(identity.above)), ("desk", 1))
            self.assertRaises(BadCertificate, read_any, file, "wrong")
        file.write_bytes(serialize_key_and_certificates(b"desk", None, None, [top], NoEncryption()))
        self.assertIn("no private key", str(self.assertRaises(BadCertificate, read_any, file)))

    def test_written_as_read(self) -> None:
        """What is written out is read back the same."""
        identity = read_pem(*self.pair())
        file, key = self.folder / "a", self.folder / "b"
        file.write_bytes(identity.certificates_pem())
        key.write_bytes(identity.key_pem("x"))
        self.assertEqual(read_pem(file, key, "x").leaf, identity.leaf)


SIGNED_WITH_SHA1 = b"""-----BEGIN CERTIFICATE-----
MIIBGDCBvwIUSsY36MbEaHf2kLaOjd4DfdyxzRMwCQYHKoZIzj0EATAPMQ0wCwYD
VQQDDARyb290MCAXDTI2MTEyMTE4MjcwOVoYDzIxMjYxMDI4MTgyNzA5WjAOMQww
CgYDVQQDDANvbGQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAToWLWpD3eNxEur
wR9QQHf6DUZw/+ORBg8WcnZCEkYW9iOHeYn/mH91OV4FJhMKdNR5S34xcBLRkyWk
NLbnIDhAMAkGByqGSM49BAEDSQAwRgIhAP7Y1bjdY/L8nVv5CD5hART3JOJE4sZx
KRslLxNDxSwbAiEA9LCcw+EP81M1qzzYKvlFIGSH9pm9UXP8c7HJ1oU/jWs=
-----END CERTIFICATE-----
"""
"""Of `old`, made with OpenSSL by an authority that signs with SHA-1: the library of the tests refuses to."""


class CheckTests(WithFolder):
    """What is looked at before anybody is served."""

    def why(self, **more: Any) -> str:
        """Why a certificate is not served at `MORNING`."""
        identity = read_pem(*self.pair(**more))
        return str(self.assertRaises(BadCertificate, check, identity, MORNING, Path("desk.pem")))

    def test_expired(self) -> None:
        """An expired certificate is refused with the day of its end."""
        self.assertEqual(self.why(begins=-20, ends=-2), "desk.pem: expired on 2026-09-19")

    def test_to_the_second(self) -> None:
        """A certificate is good to the last second, and from the first one on."""
        identity = read_pem(*self.pair(begins=0, ends=1))
        for moment, is_good in ((-1, False), (0, True), (86399, True), (86400, False)):
            if is_good:
                check(identity, MORNING + moment, Path("x"))
            else:
                self.assertRaises(BadCertificate, check, identity, MORNING + moment, Path("x"))

    def test_not_yet(self) -> None:
        """One that is not valid yet is refused with the day of its beginning."""
        self.assertEqual(self.why(begins=2), "desk.pem: valid only from 2026-09-23 on")

    def test_weak_rsa(self) -> None:
        """RSA needs 2048 bits."""
        self.assertIn("1024 bits", self.why(key=rsa.generate_private_key(65537, 1024)))
        check(read_pem(*self.pair(key=rsa.generate_private_key(65537, 2048))), MORNING, Path("x"))

    def test_weak_curve(self) -> None:
        """A curve needs 256 bits."""
        self.assertIn("secp224r1", self.why(key=ec.generate_private_key(ec.SECP224R1())))

    def test_weak_signature(self) -> None:
        """A certificate that is vouched for with SHA-1 is refused."""
        identity = Identity(make_key(), x509.load_pem_x509_certificate(SIGNED_WITH_SHA1))
        in_2030 = 1_900_000_000
        error = self.assertRaises(BadCertificate, check, identity, in_2030, Path("desk.pem"))
        self.assertEqual(str(error), "desk.pem: weak, old is signed with SHA1")

    def test_remarks(self) -> None:
        """The owner is warned of a near end, of missing names, and of a key that others can read."""
        file, key = self.pair(ends=13, names=())
        key.chmod(0o644)
        told = remarks(read_pem(file, key), MORNING, key)
        self.assertIn("it ends in 13 days, on 2026-10-04", told)
        self.assertEqual(len(told), 3 if os.name == "posix" else 2)
        file, key = self.pair(ends=14)
        self.assertEqual(remarks(read_pem(file, key), MORNING, key), [])

    def test_remark_on_the_kind_of_key(self) -> None:
        """A key that browsers do not know is remarked."""
        key = ed25519.Ed25519PrivateKey.generate()
        identity = Identity(key, issue(make_authority(MORNING, ["desk"]), ["desk"], MORNING).leaf)
        self.assertIn("P-256", remarks(identity, MORNING)[0])


class Wire(StringTransport):
    """What a socket is to a server, in memory."""

    def setTcpNoDelay(self, enabled: bool) -> None:
        """There is nothing that waits."""


class TlsClient:
    """A client's end of a TLS connection to a door, in memory."""

    def __init__(self, factory: Any, clock: Clock, context: SSL.Context | None = None, alpn: Any = None) -> None:
        context = context or client_context()
        if alpn is not None:
            context.set_alpn_protos(alpn)
        self._clock = clock
        self.connection = SSL.Connection(context, None)
        self.connection.set_connect_state()
        self._server = factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 50000))
        wrapped: Any = self._server.wrappedProtocol
        wrapped.callLater = clock.callLater
        self.transport = Wire(peerAddress=IPv4Address("TCP", "127.0.0.1", 50000), lenient=True)
        self._server.makeConnection(self.transport)

    def shake_hands(self) -> None:
        """Agree on how to speak.

        :raises SSL.Error: when that fails.
        """
        for _ in range(4):
            try:
                self.connection.do_handshake()
            except SSL.WantReadError:
                self.pass_on()
        self.connection.do_handshake()
        self.pass_on()

    def pass_on(self) -> None:
        """Bring what each end has written to the other one."""
        for _ in range(4):
            try:
                while True:
                    self._server.dataReceived(self.connection.bio_read(1 << 16))
            except SSL.WantReadError:
                pass
            self._clock.advance(0)
            if self.transport.value():
                self.connection.bio_write(self.transport.value())
                self.transport.clear()

    def ask(self, method: str, path: str, body: bytes = b"", headers: Any = ()) -> HttpAnswer:
        """The answer to a request."""
        self.connection.send(request_bytes(method, path, body, headers))
        self.pass_on()
        answer, rest = _take(self.connection.recv(1 << 20), method)
        assert not rest
        return answer

    @property
    def subject(self) -> str:
        """Whom the server says it is."""
        certificate = self.connection.get_peer_certificate(as_cryptography=True)
        assert certificate is not None
        return str(certificate.subject.rfc4514_string())

    def hang_up(self) -> None:
        """Be gone."""
        self._server.connectionLost(Failure(ConnectionDone()))


def client_context(
    least: int = SSL.TLS1_2_VERSION, most: int = SSL.TLS1_3_VERSION, ciphers: bytes = b""
) -> SSL.Context:
    """The terms of a client that trusts everybody."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.set_min_proto_version(least)
    context.set_max_proto_version(most)
    if ciphers:
        context.set_cipher_list(ciphers)
    return context


class HttpsCase(WithFolder):
    """Tests of a whole service behind TLS."""

    def setUp(self) -> None:
        """A service with a certificate of `desk`."""
        super().setUp()
        self.shop = Shop(self)
        self.files = self.pair()
        config = TlsConfig(str(self.files[0]), str(self.files[1]))
        self.shop._config = replace(self.shop._config, tls=config)
        self.shop.crash()
        certificate = self.shop.core.certificate
        assert certificate is not None
        self.certificate = certificate
        self.factory = certificate.around(Door(self.shop.core))

    def connect(self, context: SSL.Context | None = None, alpn: Any = None) -> TlsClient:
        """A client that has agreed with the service."""
        client = TlsClient(self.factory, self.shop.clock, context, alpn)
        self.addCleanup(client.hang_up)
        client.shake_hands()
        return client


class HttpsTests(HttpsCase):
    """A service that speaks HTTPS."""

    @promises("1.4.2")
    def test_served(self) -> None:
        """A request over TLS is answered as ever, by whom the certificate names."""
        client = self.connect()
        self.assertEqual(client.subject, "CN=desk")
        self.assertEqual(client.ask("GET", "/health/live").json, {"status": "ok"})
        self.assertEqual(client.ask("GET", "/dm/api/v1/sys_info").json["https"], True)

    @promises("1.4a.1", "1.4b.1.1")
    def test_no_http(self) -> None:
        """Plain HTTP gets no answer on this listener, and the connection is closed."""
        client = TlsClient(self.factory, self.shop.clock)
        client._server.dataReceived(request_bytes("GET", "/health/live"))
        self.shop.clock.advance(0)
        self.assertTrue(client.transport.disconnecting or client.transport.disconnected)
        self.assertNotIn(b"HTTP", client.transport.value())
        client.hang_up()

    def test_versions(self) -> None:
        """TLS 1.2 and 1.3 are spoken, 1.1 is not."""
        for version, name in ((SSL.TLS1_2_VERSION, "TLSv1.2"), (SSL.TLS1_3_VERSION, "TLSv1.3")):
            client = self.connect(client_context(version, version))
            self.assertEqual(client.connection.get_protocol_version_name(), name)
        old = client_context(SSL.TLS1_1_VERSION, SSL.TLS1_1_VERSION, b"ALL:@SECLEVEL=0")
        self.assertRaises(SSL.Error, self.connect, old)

    def test_ciphers(self) -> None:
        """No suite with CBC or without forward secrecy is agreed on."""
        for suite in (b"ECDHE-ECDSA-AES128-GCM-SHA256", b"ECDHE-ECDSA-CHACHA20-POLY1305"):
            client = self.connect(client_context(most=SSL.TLS1_2_VERSION, ciphers=suite))
            self.assertEqual(client.connection.get_cipher_name(), suite.decode())
        for suite in (b"ECDHE-ECDSA-AES128-SHA", b"ECDHE-ECDSA-AES256-SHA384", b"AES128-GCM-SHA256"):
            context = client_context(most=SSL.TLS1_2_VERSION, ciphers=suite + b":@SECLEVEL=0")
            self.assertRaises(SSL.Error, self.connect, context)

    def test_no_http2(self) -> None:
        """HTTP/2 is not agreed on, not even with a client that would like it best."""
        client = self.connect(alpn=[b"h2", b"http/1.1"])
        self.assertEqual(client.connection.get_alpn_proto_negotiated(), b"http/1.1")
        client = self.connect(alpn=[b"h2"])
        self.assertEqual(client.connection.get_alpn_proto_negotiated(), b"")
        self.assertEqual(client.ask("GET", "/health/live").status, 200)

    @promises("1.4b.1.2")
    def test_cookie_and_location(self) -> None:
        """Over HTTPS the cookie is for HTTPS alone, and blocked requests are led to an https address."""
        client = self.connect()
        change = {"usr_uiauth": True, "usr_login": "a", "usr_pass": PASSWORD, "usr_confpass": PASSWORD}
        kind = [("Content-Type", "application/json")]
        self.assertEqual(client.ask("POST", SETTINGS, json.dumps(change).encode(), kind).json["res"], 0)
        self.assertEqual(client.ask("GET", SETTINGS).header("location"), "https://localhost:3939/login")
        self.assertEqual(
            client.ask("GET", "/dm/main/").header("location"), "https://localhost:3939/login?next=/dm/main/"
        )
        login = json.dumps({"login": "a", "pass": PASSWORD}).encode()
        self.assertIn("; Secure", client.ask("POST", "/login", login, kind).header("set-cookie") or "")

    def test_silent(self) -> None:
        """Who connects and never agrees is not waited for without end."""
        client = TlsClient(self.factory, self.shop.clock)
        self.shop.clock.advance(121)
        self.assertTrue(client.transport.disconnecting or client.transport.disconnected)
        client.hang_up()

    def test_no_such_certificate(self) -> None:
        """A service whose certificate cannot be served does not open, and does not speak HTTP instead."""
        self.files[0].write_bytes(b"")
        core = Core(self.shop._config, MemoryStore(), self.shop.clock, None)
        self.failureResultOf(Deferred.fromCoroutine(core.open()), BadCertificate)
        self.assertFalse(core.ready)


class ReplacementTests(HttpsCase):
    """A certificate that is replaced while the service runs."""

    def write(self, name: str, **more: Any) -> None:
        """Replace both files with those of another certificate."""
        key = make_key()
        write_pair(self.folder, make_certificate(MORNING, key, name, **more), key)

    def look(self, times: int = 2) -> None:
        """Let so many looks at the files pass."""
        for _ in range(times):
            self.shop.clock.advance(LOOK_EVERY)

    def test_interface(self) -> None:
        """It is what Twisted asks for."""
        verifyObject(IOpenSSLServerConnectionCreator, self.certificate)

    def test_new_connections(self) -> None:
        """New connections get the new certificate; one that is open goes on with the old one."""
        before = self.connect()
        self.write("new desk")
        self.look()
        after = self.connect()
        self.assertEqual((before.subject, after.subject), ("CN=desk", "CN=new desk"))
        for client in (before, after):
            self.assertEqual(client.ask("GET", "/health/live").status, 200)

    def test_not_half_written(self) -> None:
        """Files that are still changing are not taken."""
        self.write("new desk")
        self.look(1)
        self.assertEqual(self.connect().subject, "CN=desk")
        key = make_key()
        write_pair(self.folder, make_certificate(MORNING, key, "newer desk"), key)
        os.utime(self.files[0], ns=(1, 1))
        self.look(1)
        self.assertEqual(self.connect().subject, "CN=desk")
        self.look(1)
        self.assertEqual(self.connect().subject, "CN=newer desk")

    def test_broken(self) -> None:
        """A broken replacement is logged once and the old one stays; the next good one is taken."""
        log = WebCase.logged(self)  # type: ignore[arg-type]
        for name, more in (("expired", {"begins": -9, "ends": -1}), ("early", {"begins": 1})):
            self.write(name, **more)
            self.look(10)
            self.assertEqual(self.connect().subject, "CN=desk")
        self.files[0].unlink()
        self.look(10)
        self.assertEqual(self.connect().subject, "CN=desk")
        self.assertEqual(log.getvalue().count("cannot be used, the old one stays"), 3)
        self.assertIn("cannot be read", self.certificate.status()["error"])
        self.write("new desk")
        self.look()
        self.assertEqual(self.connect().subject, "CN=new desk")
        self.assertEqual(self.certificate.status()["error"], "")

    def test_by_api(self) -> None:
        """`POST /dm/api/v3/tls/reload` takes it at once; a broken one is 422 and the old one stays."""
        client = self.connect()
        self.write("new desk")
        told = client.ask("POST", "/dm/api/v3/tls/reload", b"{}")
        self.assertEqual((told.status, told.json["subject"]), (200, "new desk"))
        self.assertEqual(self.connect().subject, "CN=new desk")
        self.files[0].write_bytes(b"nonsense")
        told = client.ask("POST", "/dm/api/v3/tls/reload", b"{}")
        self.assertEqual((told.status, told.json["res"]), (422, 2000))
        self.assertIn(str(self.files[0]), told.json["errortxt"])
        self.assertEqual(self.connect().subject, "CN=new desk")

    def test_by_signal(self) -> None:
        """What a signal asks for never fails: what is wrong goes to the log."""
        log = WebCase.logged(self)  # type: ignore[arg-type]
        self.files[0].write_bytes(b"nonsense")
        self.certificate.reload_or_log()
        self.assertIn("the old one stays", log.getvalue())
        self.write("new desk")
        self.certificate.reload_or_log()
        self.assertEqual(self.connect().subject, "CN=new desk")

    def test_status(self) -> None:
        """The API returns names, issuer and days left."""
        told = self.connect().ask("GET", "/dm/api/v3/tls").json
        self.assertEqual((told["subject"], told["names"], told["days_left"]), ("desk", ["localhost"], 100))
        self.assertEqual((told["warnings"], told["error"]), ([], ""))

    def test_reminded(self) -> None:
        """Its owner is reminded once a day when its end is near, and it is served to the end and after."""
        log = WebCase.logged(self)  # type: ignore[arg-type]
        self.write("short", ends=3)
        self.look()
        for _ in range(20):
            self.shop.clock.advance(3600)
        self.assertEqual(log.getvalue().count("it ends in"), 1)
        for _ in range(4):
            self.shop.clock.advance(86400)
        self.assertGreater(log.getvalue().count("it ends in"), 3)
        self.assertEqual(self.connect().subject, "CN=short")

    def test_closed(self) -> None:
        """A service that is closed looks at the files no more."""
        self.successResultOf(Deferred.fromCoroutine(self.shop.core.close()))
        self.write("new desk")
        self.look(3)
        self.assertEqual(self.certificate.status()["subject"], "desk")

    def test_no_secret_in_messages(self) -> None:
        """The passphrase is in no message."""
        self.files[1].write_bytes(read_pem(*self.files).key_pem("correct horse"))
        config = TlsConfig(str(self.files[0]), str(self.files[1]), "battery staple")
        error = self.assertRaises(BadCertificate, LiveCertificate(config, self.shop.clock).open)
        self.assertNotIn("battery", str(error))


class StartTests(WithFolder):
    """The look before the start."""

    def test_good(self) -> None:
        """A good certificate lets the service start."""
        file, key = self.pair()
        check_before_start(TlsConfig(str(file), str(key)), MORNING)

    def test_bad(self) -> None:
        """A bad one is one line that names section and file."""
        file, key = self.pair(begins=-9, ends=-1)
        error = self.assertRaises(ConfigError, check_before_start, TlsConfig(str(file), str(key)), MORNING)
        self.assertEqual(str(error), f"[tls] {file}: expired on 2026-09-20")


class AuthorityTests(SynchronousTestCase):
    """A local authority."""

    def test_trusted(self) -> None:
        """A client that trusts the authority accepts what it issued, by every name and address, and by no other."""
        authority = make_authority(time.time(), ["desk.local"])
        identity = issue(authority, ["Desk.local", "127.0.0.1", "::1", "desk.local"], time.time())
        self.assertEqual(identity.names, ("desk.local", "127.0.0.1", "::1"))
        store = verification.Store([authority.leaf])
        for name in identity.names:
            subject: Any = x509.DNSName(name) if name == "desk.local" else x509.IPAddress(ip_address(name))
            verification.PolicyBuilder().store(store).build_server_verifier(subject).verify(identity.leaf, [])
        other = verification.PolicyBuilder().store(store).build_server_verifier(x509.DNSName("evil.example"))
        self.assertRaises(verification.VerificationError, other.verify, identity.leaf, [])

    def test_no_authority_over_others(self) -> None:
        """What was issued cannot issue anything itself."""
        authority = make_authority(MORNING, ["desk"])
        leaf = issue(authority, ["desk"], MORNING).leaf
        self.assertFalse(leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca)
        own = authority.leaf.extensions.get_extension_for_class(x509.BasicConstraints).value
        self.assertEqual((own.ca, own.path_length), (True, 0))

    def test_not_longer_than_the_authority(self) -> None:
        """A certificate ends with its authority at the latest."""
        authority = make_authority(MORNING, ["desk"])
        late = MORNING + 3600 * 86400
        self.assertEqual(issue(authority, ["desk"], late).ends_at, authority.ends_at)

    def test_names(self) -> None:
        """An invalid host name is refused, and so is a missing one."""
        authority = make_authority(MORNING)
        for names in ([], ["a b"], ["https://desk"], ["x" * 64], [""], ["каса"]):
            self.assertRaises(ValueError, issue, authority, names, MORNING)

    def test_limited(self) -> None:
        """An authority signs for the names and networks of this machine and those of its making, as servers only."""
        self.patch(
            authority_module, "names_of_this_machine", lambda: ["till", "localhost", "127.0.0.1", "192.168.1.5"]
        )
        authority = make_authority(MORNING, ["desk.shop.local", "192.0.2.200", "8.8.8.8", "fd00:1::5"])
        found = authority.leaf.extensions.get_extension_for_class(x509.NameConstraints)
        self.assertTrue(found.critical)
        self.assertIsNone(found.value.excluded_subtrees)
        for name, may in (
            *(("till", True), ("TILL", True), ("a.till", True), ("desk.shop.local", True), ("localhost", True)),
            *(("192.168.1.77", True), ("192.168.2.5", False), ("127.0.0.1", True), ("127.0.0.2", False)),
            *(("8.8.8.8", True), ("8.8.8.9", False), ("fd00:1::99", True), ("fd00:1:0:1::5", False), ("::2", False)),
            *(("shop.local", False), ("evil.example", False), ("mytill", False), ("till.example", False)),
        ):
            self.assertEqual(permits(authority.leaf, name), may, name)
        self.assertIn("tls authority --new", str(self.assertRaises(ValueError, issue, authority, ["x.y"], MORNING)))
        purposes = authority.leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        self.assertEqual(list(purposes), [ExtendedKeyUsageOID.SERVER_AUTH])

    def test_stolen_key(self) -> None:
        """A certificate for another site, made with the authority's key, is refused by a client that trusts it."""
        authority = make_authority(time.time())
        free = Identity(authority.key, without_limits(authority))
        self.assertTrue(permits(free.leaf, "bank.example"))
        forged = issue(free, ["bank.example"], time.time())
        builder = verification.PolicyBuilder().store(verification.Store([authority.leaf]))
        client = builder.build_server_verifier(x509.DNSName("bank.example"))
        self.assertRaises(verification.VerificationError, client.verify, forged.leaf, [])

    def test_this_machine(self) -> None:
        """This machine is at least localhost, by name and both addresses, each once."""
        names = names_of_this_machine()
        self.assertLessEqual({"localhost", "127.0.0.1", "::1"}, set(names))
        self.assertEqual(len(names), len(set(names)))


def without_limits(authority: Identity) -> x509.Certificate:
    """The certificate of an authority as earlier versions made it."""
    own = authority.leaf
    builder = x509.CertificateBuilder(
        own.issuer,
        own.subject,
        own.public_key(),
        own.serial_number,
        own.not_valid_before_utc,
        own.not_valid_after_utc,
    )
    for extension in own.extensions:
        if not isinstance(extension.value, x509.NameConstraints | x509.ExtendedKeyUsage):
            builder = builder.add_extension(extension.value, extension.critical)
    return builder.sign(authority.key, hashes.SHA256())


class CommandTests(WithFolder):
    """``dmtwisted tls``"""

    def run_command(self, *arguments: str, config: str | None = None) -> tuple[int, str, str]:
        """Exit status, output and complaints of a command."""
        place = ["--state", str(self.folder / "state")]
        if config is not None:
            (self.folder / "config.toml").write_text(config, "utf-8")
            place += ["--config", str(self.folder / "config.toml")]
        out, err = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            error = self.assertRaises(SystemExit, main, ["tls", *arguments, *place])
        return int(error.code or 0), out.getvalue(), err.getvalue()

    def good(self, **more: Any) -> tuple[Path, Path]:
        """Files of a certificate that is good now."""
        key = make_key()
        return write_pair(self.folder, make_certificate(time.time(), key, **more), key)

    def section(self, printed: str) -> str:
        """The section for the configuration that a command printed."""
        return printed[printed.index("[tls]") :].split("\n\n")[0]

    def test_install(self) -> None:
        """An installed certificate is private, and the configuration that is printed serves it."""
        file, key = self.good()
        status, out, err = self.run_command("install", str(file), "--key", str(key))
        self.assertEqual((status, err), (0, ""))
        installed = self.folder / "state" / "tls" / INSTALLED
        if os.name == "posix":
            self.assertEqual(installed.stat().st_mode & 0o777, OWNER_ONLY)
        status, out, _ = self.run_command("status", config=self.section(out))
        self.assertEqual(status, 0)
        self.assertIn("99 days left", out)

    def test_install_pkcs12(self) -> None:
        """PKCS#12 is taken with its password, and refused without."""
        key = make_key()
        file = self.folder / "desk.p12"
        own = make_certificate(time.time(), key)
        file.write_bytes(serialize_key_and_certificates(b"x", key, own, None, BestAvailableEncryption(b"sesame")))
        status, out, _ = self.run_command("install", str(file), "--password", "sesame")
        self.assertEqual((status, "[tls]" in out), (0, True))
        status, _, err = self.run_command("install", str(file))
        self.assertEqual((status, err.count("\n")), (1, 1))
        self.patch(getpass, "getpass", lambda prompt: "sesame")
        self.assertEqual(self.run_command("install", str(file), "--password", "-")[0], 0)

    def test_install_over(self) -> None:
        """Where the configuration names places, they are written, the key encrypted when it has a passphrase."""
        file, key = self.good(name="new desk")
        config = '[tls]\ncertificate = "a.pem"\nkey = "b.pem"\npassphrase = "correct horse"\n'
        status, out, _ = self.run_command("install", str(file), "--key", str(key), config=config)
        self.assertEqual((status, "running service" in out), (0, True))
        self.assertIn(b"ENCRYPTED", (self.folder / "b.pem").read_bytes())
        identity = read_pem(self.folder / "a.pem", self.folder / "b.pem", "correct horse")
        self.assertEqual(identity.subject, "new desk")

    def test_install_refused(self) -> None:
        """A certificate that could not be served is not installed: status 1 and one line."""
        file, key = self.good(begins=-9, ends=-1)
        status, out, err = self.run_command("install", str(file), "--key", str(key))
        self.assertEqual((status, out, err.count("\n")), (1, "", 1))
        self.assertIn("expired", err)
        self.assertFalse((self.folder / "state").exists())

    def test_status(self) -> None:
        """The status is 1 with one line when the service would not start; a missing certificate is not a fault."""
        status, out, _ = self.run_command("status")
        self.assertEqual((status, "HTTP" in out), (0, True))
        file, key = self.good(begins=-9, ends=-1)
        config = f"[tls]\ncertificate = '{file}'\nkey = '{key}'\n"
        status, out, err = self.run_command("status", config=config)
        self.assertEqual((status, err.startswith("dmtwisted: ")), (1, True))
        self.assertIn("-2 days left", out)
        file.unlink()
        self.assertEqual(self.run_command("status", config=config)[0], 1)

    def test_authority(self) -> None:
        """An authority is made once, its certificate is given away and its key is not, and the leaf is installed."""
        status, out, err = self.run_command("authority", "--name", "desk.shop.local", "--name", "192.0.2.7")
        self.assertEqual((status, err), (0, ""))
        folder = self.folder / "state" / "tls"
        first = (folder / AUTHORITY_FILE).read_bytes()
        if os.name == "posix":
            self.assertEqual((folder / AUTHORITY_KEY).stat().st_mode & 0o777, OWNER_ONLY)
        installed = folder / INSTALLED
        identity = read_pem(installed, installed)
        self.assertLessEqual({"localhost", "127.0.0.1", "desk.shop.local", "192.0.2.7"}, set(identity.names))
        for word in ("certutil", "update-ca-certificates", "keytool", str(folder / AUTHORITY_FILE), "[tls]"):
            self.assertIn(word, out)
        before = installed.read_bytes()
        self.assertEqual(self.run_command("authority")[0], 0)
        self.assertEqual((folder / AUTHORITY_FILE).read_bytes(), first)
        self.assertNotEqual(installed.read_bytes(), before)

    def test_new_authority(self) -> None:
        """A name that the authority may not sign for needs a new one; the machine's own is left out and said."""
        state = self.folder / "state"
        self.assertEqual(self.run_command("authority")[0], 0)
        first = authority_file(state).read_bytes()
        status, _, err = self.run_command("authority", "--name", "desk.shop.example")
        self.assertEqual((status, err.count("\n")), (1, 1))
        self.assertIn("dmtwisted tls authority --new", err)
        self.patch(tls_install, "names_of_this_machine", lambda: ["localhost", "moved.example"])
        status, out, _ = self.run_command("authority")
        self.assertEqual(status, 0)
        self.assertIn("warning: moved.example: the local authority may not sign for it", out)
        installed = state / "tls" / INSTALLED
        self.assertEqual(read_pem(installed, installed).names, ("localhost",))
        self.assertEqual(authority_file(state).read_bytes(), first)
        status, out, _ = self.run_command("authority", "--new", "--name", "desk.shop.example")
        self.assertEqual((status, "Created the authority" in out), (0, True))
        self.assertNotEqual(authority_file(state).read_bytes(), first)
        self.assertIn("desk.shop.example", read_pem(installed, installed).names)

    def test_mistakes(self) -> None:
        """A wrong name, a wrong configuration and a missing file are one line and status 1."""
        for arguments, config in (
            (("authority", "--name", "a b"), None),
            (("status",), "[tls]\nnonsense = 1"),
            (("install", str(self.folder / "gone")), None),
        ):
            status, _, err = self.run_command(*arguments, config=config)
            self.assertEqual((status, err.count("\n")), (1, 1), err)

    def test_nothing_asked(self) -> None:
        """Without a command it says which there are."""
        with redirect_stderr(StringIO()) as err:
            self.assertRaises(SystemExit, main, ["tls"])
        self.assertRegex(err.getvalue(), r"(?s)  install .*  status .*  authority ")
