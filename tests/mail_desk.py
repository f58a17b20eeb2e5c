"""A mail server in memory that speaks SMTP by the server of `twisted.mail`, breaks off where it is told, and a shop
that has it."""

from __future__ import annotations

import time
from collections.abc import Callable
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from functools import cache
from typing import Any

from OpenSSL.crypto import X509, PKey
from twisted.cred.checkers import InMemoryUsernamePasswordDatabaseDontUse
from twisted.cred.portal import Portal
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IProtocol, IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.internet.ssl import CertificateOptions
from twisted.mail.imap4 import PLAINCredentials
from twisted.mail.interfaces import IMessageDelivery, IMessageSMTP
from twisted.mail.smtp import ESMTP, SMTPServerError, User
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.test.iosim import FakeTransport
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from dmtwisted.mail.service import CustomerPost
from tests.certificates import make_certificate, make_key, pem
from tests.memory_line import MemoryEndpoint
from tests.shop import Shop, sale


@cache
def certificate(name: str = "mail.example.com") -> tuple[str, CertificateOptions]:
    """A certificate for ``name`` in PEM, and a server's end of TLS with it."""
    key = make_key()
    made = make_certificate(time.time(), key, names=(name,))
    return pem(made).decode(), CertificateOptions(
        privateKey=PKey.from_cryptography_key(key), certificate=X509.from_cryptography(made)
    )


def start_tls(transport: Any, context: Any, normal: bool = True) -> bool:
    """Real TLS between two ends in memory, from here on."""
    inner = transport.protocol
    outer = TLSMemoryBIOProtocol(TLSMemoryBIOFactory(context, not transport.isServer, None), inner, False)  # type: ignore[arg-type]
    transport.protocol = outer
    outer.makeConnection(transport)
    inner.transport = outer
    return True


LOGIN, PASSWORD = "shop@example.com", "a пароль"

_Server: Any = ESMTP


class MailServerDouble:
    """What was taken, and what goes wrong.

    :param encrypts: whether it offers STARTTLS.
    """

    def __init__(self, encrypts: bool = True) -> None:
        self.encrypts = encrypts
        self.certificate = certificate()[1]
        self.taken: list[tuple[str, bytes]] = []
        """Receiver and content of each message."""
        self.refused: dict[str, tuple[int, str]] = {}
        """By `MAIL`, `RCPT` or `DATA`: the answer that refuses."""
        self.away = self.tls_first = False
        self.after_starttls = b""
        """What somebody adds to the answer to STARTTLS."""
        self.cut: tuple[int, bool] | None = None
        """The answer at which the connection breaks, and whether it was sent."""
        self.broke = False
        """Whether that happened."""
        self.heard: list[str] = []
        """The logins."""
        self.endpoint: MemoryEndpoint | None = None

    def accept(self) -> IProtocol | None:
        """The server's end of a new connection."""
        if self.away:
            return None
        if not self.tls_first:
            return _Session(self)
        assert self.endpoint is not None
        inner = Factory.forProtocol(lambda: _Session(self))
        wrapped = TLSMemoryBIOFactory(self.certificate, False, inner, self.endpoint.clock)
        return wrapped.buildProtocol(IPv4Address("TCP", "127.0.0.1", 40000))

    def line(self, clock: Any) -> Callable[[str, int], IStreamClientEndpoint]:
        """The way to the server."""
        self.endpoint = self.endpoint or MemoryEndpoint(clock, self.accept)
        endpoint = self.endpoint
        return lambda host, port: endpoint

    def flush(self) -> None:
        """Deliver all bytes."""
        if self.endpoint is not None:
            self.endpoint.flush()

    @property
    def mails(self) -> list[EmailMessage]:
        """The messages, parsed."""
        return [message_from_bytes(content, policy=default) for _, content in self.taken]


class _Session(_Server):  # type: ignore[misc]
    def __init__(self, double: MailServerDouble) -> None:
        super().__init__({b"PLAIN": PLAINCredentials}, double.certificate if double.encrypts else None)
        self._double, self._answers = double, 0
        self.host = b"mail.example.com"
        checker = InMemoryUsernamePasswordDatabaseDontUse(**{LOGIN: PASSWORD.encode()})
        self.portal = Portal(self, [checker])
        self.delivery = _Delivery(double)

    def requestAvatar(self, avatar: bytes, mind: object, *interfaces: object) -> Deferred[Any]:
        self._double.heard.append(avatar.decode())
        return succeed((IMessageDelivery, self.delivery, lambda: None))

    def connectionMade(self) -> None:
        # It tells the client where the client is.
        self.transport.getPeer = lambda: IPv4Address("TCP", "127.0.0.1", 40000)
        super().connectionMade()

    def setTimeout(self, period: float | None) -> float | None:
        return None

    def _messageHandled(self, results: Any) -> None:
        if "DATA" in self._double.refused:
            code, words = self._double.refused["DATA"]
            self.sendCode(code, words.encode())
        else:
            super()._messageHandled(results)

    def sendCode(self, code: int, message: bytes = b"") -> None:
        self._answers += 1
        if message.startswith(b"Begin TLS") and self._double.after_starttls:
            self.transport.write(b"220 go\r\n" + self._double.after_starttls)
            return
        cut = self._double.cut
        if cut is None or cut[0] != self._answers or cut[1]:
            super().sendCode(code, message)
        if cut is not None and cut[0] == self._answers:
            self._double.cut, self._double.broke = None, True
            self.transport.loseConnection()


@implementer(IMessageDelivery)
class _Delivery:
    def __init__(self, double: MailServerDouble) -> None:
        self._double = double

    def _see(self, step: str) -> None:
        if step in self._double.refused:
            code, words = self._double.refused[step]
            raise SMTPServerError(code, words)

    def receivedHeader(self, helo: object, origin: object, recipients: object) -> bytes:
        return b"Received: by the test"

    def validateFrom(self, helo: object, origin: Any) -> Any:
        self._see("MAIL")
        return origin

    def validateTo(self, user: User) -> Callable[[], Any]:
        self._see("RCPT")
        return lambda: _Message(self._double, str(user.dest))


@implementer(IMessageSMTP)
class _Message:
    def __init__(self, double: MailServerDouble, to: str) -> None:
        self._double, self._to = double, to
        self._lines: list[bytes] = []

    def lineReceived(self, line: bytes) -> None:
        self._lines.append(line)

    def eomReceived(self) -> Deferred[None]:
        if "DATA" not in self._double.refused:
            self._double.taken.append((self._to, b"\r\n".join(self._lines) + b"\r\n"))
        return succeed(None)

    def connectionLost(self) -> None:
        pass


MAIL = {
    "smtp_host": "mail.example.com",
    "smtp_login": LOGIN,
    "smtp_password": PASSWORD,
    "smtp_ca": certificate()[0],
    "mail_from": "receipts@shop.example.com",
}
"""Settings of a service with e-mail."""


class MailShop(Shop):
    """A shop whose mail goes to ``server``."""

    server: MailServerDouble

    def __init__(self, case: SynchronousTestCase, **service: Any) -> None:
        case.patch(FakeTransport, "startTLS", start_tls)
        self.server = MailServerDouble()
        super().__init__(case, **service)

    def _open(self) -> Any:
        self._case.patch(CustomerPost, "line", staticmethod(self.server.line(self.clock)))
        return super()._open()

    def crash(self) -> None:
        """As in any shop; what was on the line is gone."""
        if self.server.endpoint is not None:
            self.server.endpoint.pumps.clear()
        super().crash()

    def configure(self, **changes: Any) -> None:
        """Change settings of the service."""
        self._case.successResultOf(Deferred.fromCoroutine(self.core.settings.change(changes)))

    def sell_to(self, tag: str = "", amount: float = 100, **userinfo: Any) -> dict[str, Any]:
        """The answer to a sale with a customer."""

        body = {"device": "test", "type": 1, "tag": tag, "fiscal": {"task": 1, "receipt": sale(amount)}}
        return self.ask({**body, "userinfo": userinfo}, "en")

    def post(self, seconds: float = 0) -> None:
        """Let letters go out, for so long."""
        self.server.flush()
        for _ in range(int(seconds)):
            self.clock.advance(1)
            self.server.flush()

    def left(self, dead: bool = False) -> list[Any]:
        """The letters in the store."""
        return self._case.successResultOf(Deferred.fromCoroutine(self.core.post.waiting(dead)))
