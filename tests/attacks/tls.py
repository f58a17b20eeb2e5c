"""TLS: old versions, weak ciphers, plaintext at its port, hellos that never end or never fit."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable
from typing import Any

from OpenSSL import SSL
from twisted.internet.address import IPv4Address

from tests.attacks.desk import _Complaining
from tests.attacks.variants import CRITICAL, HIGH, LOW, MEDIUM, Family, Stage
from tests.test_sessions import PASSWORD, SETTINGS
from tests.test_tls import HttpsCase, TlsClient, Wire, client_context
from tests.web_case import EXECUTE, JSON_TYPE, fiscal
from web.connection import IDLE_CONNECTION

TLS = Family("tls", "TLS")

STATUS = json.dumps(fiscal(18)).encode()
LOGIN = json.dumps(
    {"usr_uiauth": True, "usr_login": "a", "usr_pass": PASSWORD * 3, "usr_confpass": PASSWORD * 3}
).encode()


class _Lent(HttpsCase):
    """A test that is never run: it lends its service behind TLS."""

    def runTest(self) -> None:
        """Nothing."""


class Port:
    """The port of a service with a certificate, and one connection of the attacker to it."""

    def __init__(self) -> None:
        self.case = _Lent()
        self.case.setUp()
        self.line, self.wire = self.call()

    def call(self) -> tuple[Any, Wire]:
        """A new connection, before any byte."""
        line: Any = self.case.factory.buildProtocol(IPv4Address("TCP", "127.0.0.1", 50000))
        line.wrappedProtocol.callLater = self.case.shop.clock.callLater
        wire = Wire(peerAddress=IPv4Address("TCP", "127.0.0.1", 50000), lenient=True)
        line.makeConnection(wire)
        return line, wire

    def hear(self, data: bytes, piece: int = 1 << 14) -> bytes:
        """What comes back for raw bytes."""
        for start in range(0, len(data), piece):
            if self.wire.disconnecting or self.wire.disconnected:
                break
            self.line.dataReceived(data[start : start + piece])
        self.case.shop.clock.advance(0)
        heard: bytes = self.wire.value()
        return heard

    def serves(self) -> None:
        """A till that speaks TLS is served."""
        answer = self.case.connect().ask("POST", EXECUTE, STATUS, [JSON_TYPE])
        assert answer.status == 200 and answer.json["res"] == 0, answer

    def close(self) -> None:
        """The end."""
        self.case._runCleanups(_Complaining())


def on_port(attempt: Callable[..., None]) -> Callable[..., None]:
    """``attempt`` at a port; afterwards a till is served there."""

    def tried(desk: None, *values: Any) -> None:
        port = Port()
        try:
            attempt(port, *values)
            port.serves()
        finally:
            port.close()

    return tried


def hello(
    version: int = 0x0303, ciphers: bytes = b"\x13\x01\xc0\x2f", extensions: bytes = b"", record: int = 0x0301
) -> bytes:
    """A ClientHello, written by hand (RFC 8446 4.1.2)."""
    body = struct.pack(">H", version) + os.urandom(32) + b"\0" + struct.pack(">H", len(ciphers)) + ciphers + b"\x01\0"
    body += struct.pack(">H", len(extensions)) + extensions
    shake = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"".join(
        b"\x16" + struct.pack(">HH", record, len(part)) + part
        for part in (shake[start : start + 16_000] for start in range(0, len(shake), 16_000))
    )


def extension(kind: int, body: bytes) -> bytes:
    """One extension."""
    return struct.pack(">HH", kind, len(body)) + body


def server_name(name: bytes) -> bytes:
    """SNI."""
    entry = b"\0" + struct.pack(">H", len(name)) + name
    return extension(0, struct.pack(">H", len(entry)) + entry)


@TLS.each(
    {
        "ssl2": (
            "the hello of SSL 2",
            b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + b"\x01\x00\x80" * 7 + bytes(16),
        ),
        "ssl3": ("SSL 3", hello(0x0300, b"\x00\x0a", record=0x0300)),
        "tls10": ("TLS 1.0", hello(0x0301, b"\xc0\x13")),
        "tls11": ("TLS 1.1", hello(0x0302, b"\xc0\x13")),
        "version-zero": ("version 0.0", hello(0)),
        "null-cipher": ("no encryption as the only cipher", hello(ciphers=b"\x00\x01\x00\x02\x00\x3b")),
        "export-cipher": ("ciphers for export", hello(ciphers=b"\x00\x03\x00\x06\x00\x08")),
        "rc4": ("RC4", hello(ciphers=b"\x00\x04\x00\x05\xc0\x11\xc0\x07")),
        "des": ("DES and triple DES", hello(ciphers=b"\x00\x09\x00\x0a\xc0\x12\xc0\x08")),
        "anonymous": ("ciphers without a certificate", hello(ciphers=b"\x00\x34\x00\x6d\xc0\x18\xc0\x19")),
        "cbc": ("CBC with SHA-1 without forward secrecy", hello(ciphers=b"\x00\x2f\x00\x35")),
        "rsa-exchange": ("RSA key exchange with GCM", hello(ciphers=b"\x00\x9c\x00\x9d")),
        "no-ciphers": ("no cipher at all", hello(ciphers=b"")),
        "odd-ciphers": ("half a cipher", hello(ciphers=b"\x13")),
        "unknown-ciphers": ("30,000 ciphers that nobody knows", hello(ciphers=b"\xfa\xfa" * 30_000)),
    },
    "The handshake fails: nothing weaker than TLS 1.2 with an authenticated cipher and forward secrecy is agreed on.",
    HIGH,
    Stage.ALONE,
)
@on_port
def weak(port: Port, data: bytes) -> None:
    """A hello of other times."""
    heard = port.hear(data)
    # A handshake record (22) with a ServerHello (2) would be an agreement.
    assert not (heard[:1] == b"\x16" and heard[5:6] == b"\x02"), heard[:50].hex()


@TLS.each(
    {
        "http": ("HTTP at the port of HTTPS", b"POST /dm/execute HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"),
        "http-login": ("a login over HTTP at that port", b"POST /login HTTP/1.1\r\nHost: x\r\n\r\n"),
        "h2-preface": ("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        "starttls": ("STARTTLS", b"EHLO x\r\nSTARTTLS\r\n"),
        "zeros": ("100,000 zero bytes", bytes(100_000)),
        "noise": ("100,000 random bytes", os.urandom(100_000)),
        "alert": ("an alert as the first record", b"\x15\x03\x03\0\x02\x02\x28"),
        "data-first": ("data before the handshake", b"\x17\x03\x03\0\x10" + bytes(16)),
        "ccs-first": ("1,000 changes of cipher first", b"\x14\x03\x03\0\x01\x01" * 1000),
        "finished-first": ("the end of a handshake as its beginning", b"\x16\x03\x03\0\x10\x14\0\0\x0c" + bytes(12)),
        "heartbeat": ("a heartbeat that asks for 64 KB", b"\x18\x03\x02\0\x03\x01\xff\xff"),
        "record-huge": ("a record of 64 KB", b"\x16\x03\x01\xff\xff" + bytes(65_535)),
        "record-empty": ("10,000 empty records", b"\x16\x03\x01\0\0" * 10_000),
        "shake-16mb": (
            "a handshake message that says it is 16 MB",
            b"\x16\x03\x01\x40\0\x01\xff\xff\xff" + bytes(16_380),
        ),
        "extensions-cut": ("extensions that are longer than the hello", hello(extensions=b"\0\0\xff\xff")),
        "extension-many": ("10,000 extensions", hello(extensions=extension(0xFAFA, b"") * 10_000)),
        "hello-request": ("a server's hello from a client", b"\x16\x03\x03\0\x04\x02\0\0\0"),
    },
    "No request is read from it: a TLS alert or silence, the connection ends, and nothing of HTTP comes back.",
    MEDIUM,
    Stage.ALONE,
)
@on_port
def no_tls(port: Port, data: bytes) -> None:
    """What is no TLS, or no hello."""
    heard = port.hear(data)
    assert not heard.startswith(b"HTTP") and b"res" not in heard, heard[:100]
    if not port.wire.disconnecting:
        port.case.shop.clock.advance(IDLE_CONNECTION + 1)
        assert port.wire.disconnecting or port.wire.disconnected, "it stays for ever"


@TLS.each(
    {
        "sni-other": ("the name of another site", b"evil.example"),
        "sni-long": ("a name of 5,000 letters", b"x" * 5000),
        "sni-nul": ("a name with a zero byte", b"localhost\0.evil.example"),
        "sni-ip": ("an address as the name", b"127.0.0.1"),
        "sni-bytes": ("bytes as the name", b"\xff\xfe\x00\x0a"),
        "sni-path": ("a path as the name", b"../../etc/passwd"),
        "sni-empty": ("an empty name", b""),
    },
    "The name chooses nothing: the one certificate or an alert, and no file of that name is looked for.",
    LOW,
    Stage.ALONE,
)
@on_port
def sni(port: Port, name: bytes) -> None:
    """A name in the hello."""
    groups = extension(10, b"\0\x02\0\x1d") + extension(13, b"\0\x04\x04\x03\x08\x04")
    heard = port.hear(hello(ciphers=b"\xc0\x2b\xc0\x2f", extensions=server_name(name) + groups))
    assert heard[:1] in (b"\x15", b"\x16", b""), heard[:20].hex()


@TLS.each(
    {
        "drip-hello": ("a hello, one byte every two seconds", hello(), 2.0),
        "drip-records": (
            "a hello in records of one byte",
            b"".join(b"\x16\x03\x01\0\x01" + hello()[5:][n : n + 1] for n in range(60)),
            3.0,
        ),
        "drip-nothing": ("nothing after the connection", b"", 1.0),
    },
    "A handshake that does not end is ended by us, within two minutes and a half.",
    HIGH,
    Stage.ALONE,
)
@on_port
def drip(port: Port, data: bytes, pause: float) -> None:
    """A slow hello."""
    clock = port.case.shop.clock
    for byte in data[:55]:
        clock.advance(pause)
        if port.wire.disconnecting:
            return
        port.line.dataReceived(bytes([byte]))
    clock.advance(IDLE_CONNECTION + 1)
    assert port.wire.disconnecting or port.wire.disconnected


@TLS.each(
    {
        "renegotiate": ("a new handshake inside the connection, 50 times", "renegotiate"),
        "client-certificate": ("a client's certificate, unasked", "certificate"),
        "alpn-h2": ("HTTP/2 by ALPN alone", "alpn"),
        "resumed": ("a session of TLS from before the login was set", "resumed"),
    },
    "It is refused or ignored: no second handshake, no HTTP/2, and no rights by TLS.",
    MEDIUM,
    Stage.ALONE,
)
@on_port
def agreed(port: Port, what: str) -> None:
    """After or within a right handshake."""
    if what == "alpn":
        try:
            client = port.case.connect(alpn=[b"h2"])
        except SSL.Error:
            return
        assert client.connection.get_alpn_proto_negotiated() in (b"", b"http/1.1")
        return
    context = client_context(most=SSL.TLS1_2_VERSION)
    if what == "certificate":
        certificate, key = port.case.pair()
        context.use_certificate_file(str(certificate))
        context.use_privatekey_file(str(key))
    client = port.case.connect(context)
    if what == "renegotiate":
        before = client.connection.get_finished()
        for _ in range(50):
            try:
                client.connection.renegotiate()
                client.connection.do_handshake()
            except SSL.WantReadError:
                client.pass_on()
            except SSL.Error:
                break
        assert client.connection.get_finished() == before, "it shook hands again"
        return
    session = client.connection.get_session()
    assert client.ask("POST", SETTINGS, LOGIN, [JSON_TYPE]).json["res"] == 0
    second = TlsClient(port.case.factory, port.case.shop.clock, context)
    if session is not None:
        second.connection.set_session(session)
    second.shake_hands()
    assert second.ask("GET", SETTINGS).status == 302
    assert client.ask("POST", SETTINGS, b'{"usr_uiauth": false}', [JSON_TYPE]).status == 302
    second.hang_up()


@TLS.one(
    "cookie-plain",
    "the session of HTTPS, asked for over HTTP",
    "The cookie is Secure, and redirects stay with https.",
    CRITICAL,
    Stage.ALONE,
)
@on_port
def cookie(port: Port) -> None:
    """What a browser would send in the clear."""
    client = port.case.connect()
    assert client.ask("POST", SETTINGS, LOGIN, [JSON_TYPE]).json["res"] == 0
    body = json.dumps({"login": "a", "pass": PASSWORD * 3}).encode()
    assert "; Secure" in (client.ask("POST", "/login", body, [JSON_TYPE]).header("set-cookie") or "")
    assert (client.ask("GET", "/dm/main/").header("location") or "").startswith("https://")
