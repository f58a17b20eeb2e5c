"""One e-mail to one receiver, handed to a mail server (RFC 5321) by `twisted.mail`.

======================  ==========================================================================
server                  client
======================  ==========================================================================
``220``                 ``EHLO``
``250 STARTTLS``        ``STARTTLS``, TLS, ``EHLO`` again; or TLS before the first byte
``250 AUTH``            ``AUTH``, if there is a login
``235``                 ``MAIL FROM``
``250``                 ``RCPT TO``: a ``5xx`` here says that there is no such receiver
``250``                 ``DATA``
``354``                 the message; until the next answer it is unknown whether it was taken
``250``                 ``QUIT``
======================  ==========================================================================
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from OpenSSL.SSL import Error as TlsError
from service_identity.exceptions import VerificationError
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Factory, connectionDone
from twisted.internet.ssl import optionsForClientTLS, platformTrust
from twisted.protocols.tls import TLSMemoryBIOFactory, TLSMemoryBIOProtocol
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.fiscal.https import ExtraRoots, ReadyEndpoint, roots_in

# It asks for the name of this machine when it is imported, which can wait for DNS, and fails for a Cyrillic name.
_getfqdn = socket.getfqdn
socket.getfqdn = lambda name="": "localhost"
try:
    from twisted.mail._cred import CramMD5ClientAuthenticator, LOGINAuthenticator
    from twisted.mail.smtp import SUCCESS, ESMTPClient, PLAINAuthenticator
finally:
    socket.getfqdn = _getfqdn

# Twisted has no types for it.
_Client: Any = ESMTPClient

CONNECT_S = 15.0
"""Seconds to connect."""

PATIENCE_S = 60.0
"""Seconds for one e-mail, after that."""

NO_CODE = -1
"""In place of a server's code when it said nothing."""

NAME = b"[127.0.0.1]"
"""What the client calls itself: a shop's computer has no name that others know (RFC 5321, 4.1.3)."""

LONGEST_WORDS = 200
"""Characters that are kept of a server's answer."""

OF_THE_LOGIN = frozenset({530, 534, 535, 538})
"""Answers that speak of the login whatever they answer (RFC 4954, 6)."""


@dataclass(frozen=True)
class MailServer:
    """A mail server and how to speak to it.

    :param security: `starttls` and `tls` never go on without TLS and the right certificate; the others have none.
    :param ca: certificates in PEM to trust besides the machine's.
    """

    host: str
    port: int
    security: Literal["starttls", "tls", "local", "plain"]
    ca: str = ""
    login: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True)
class Mail:
    """A message and its envelope; ``content`` has lines that end with CRLF."""

    sender: str
    receiver: str
    content: bytes


class Declined(WireError):
    """The server did not take it; ``for_good`` is whether it never will."""

    def __init__(self, code: int, words: str, for_good: bool = False) -> None:
        super().__init__(f"{code} {words}" if code != NO_CODE else words)
        self.code, self.for_good = code, for_good


class Submission(_Client):  # type: ignore[misc]
    """The client's end; ``done`` fires once, when the server has taken the message or not.

    :param tls: makes the TLS of a connection that begins without.
    """

    transport: Any
    # Its record of the dialogue would hold the password and the receiver.
    debug = False
    heloFallback = False

    def __init__(self, server: MailServer, mail: Mail, tls: Any) -> None:
        super().__init__(server.password.encode(), tls, NAME)
        self.requireTransportSecurity = server.security in ("starttls", "tls")
        self.requireAuthentication = bool(server.login)
        self._mail, self._step, self._from_first_byte = mail, "", server.security == "tls"
        self.done: Deferred[None] = Deferred(self._give_up)
        for authenticator in (CramMD5ClientAuthenticator, PLAINAuthenticator, LOGINAuthenticator):
            if server.login:
                self.registerAuthenticator(authenticator(server.login.encode()))

    def _give_up(self, done: Deferred[None]) -> None:
        if self.transport is not None:
            self.transport.abortConnection()

    def _settle(self, why: WireError | None) -> None:
        if not self.done.called:
            self.done.errback(Failure(why)) if why is not None else self.done.callback(None)
        self.sendLine(b"QUIT")
        self.transport.loseConnection()

    def connectionMade(self) -> None:
        """Wait for the greeting."""
        super().connectionMade()
        self._tlsMode = self._from_first_byte

    def lineLengthExceeded(self, line: bytes) -> None:
        """A line without end."""
        self._settle(Garbled("an answer without end"))

    def esmtpState_starttls(self, code: int, resp: bytes) -> None:
        """Begin TLS, unless more came in the same breath: that would count as if it had come through TLS."""
        if self.clearLineBuffer():
            self._settle(Garbled("words that came before TLS and would count as protected"))
            return
        # Twisted's way needs a reactor that carries the TLS library.
        line: Any = self.transport
        wrapped: Any = TLSMemoryBIOProtocol(TLSMemoryBIOFactory(self.context, True, Factory()), self, False)
        line.protocol = self.transport = wrapped
        wrapped.makeConnection(line)
        self._tlsMode = True
        self.esmtpState_ehlo(code, resp)

    def getMailFrom(self) -> str:
        """The sender."""
        return self._mail.sender

    def getMailTo(self) -> list[bytes]:
        """The receiver."""
        self._step = "receiver"
        return [self._mail.receiver.encode("ascii")]

    def smtpState_data(self, code: int, resp: bytes) -> None:
        """Send the message."""
        self._step = "message"
        self._expected, self._okresponse = SUCCESS, self.smtpState_msgSent
        stuffed = re.sub(rb"(?m)^\.", b"..", self._mail.content)
        self.transport.write(stuffed if stuffed.endswith(b"\r\n") else stuffed + b"\r\n")
        self.sendLine(b".")

    def smtpState_msgSent(self, code: int, resp: bytes | str) -> None:
        """The answer to the message, or the one that came in its place."""
        if self._step == "message" and code in SUCCESS:
            self._settle(None)
            return
        # For a refused receiver it is a text of Twisted.
        words = self.toAddressesResult[-1][2] if isinstance(resp, str) and self.toAddressesResult else resp
        for_good = bool(self._step) and 500 <= code < 600 and code not in OF_THE_LOGIN
        self._settle(Declined(code, self._clean(words), for_good))

    def sendError(self, exc: Exception) -> None:
        """The dialogue ended before the message."""
        code, resp = getattr(exc, "code", NO_CODE), getattr(exc, "resp", b"") or str(exc)
        self._settle(Declined(code, self._clean(resp)))

    def _clean(self, words: bytes | str) -> str:
        """The server's words in one line, without the receiver, whom servers like to repeat."""
        text = words.decode("utf-8", "replace") if isinstance(words, bytes) else words
        text = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
        return re.sub(re.escape(self._mail.receiver), "***", text, flags=re.IGNORECASE)[:LONGEST_WORDS]

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """The connection is gone, perhaps before the answer."""
        super().connectionLost(reason)
        if not self.done.called:
            self.done.errback(Failure(LineLost(_words(reason))))


class _Submissions(Factory):
    noisy = False

    def __init__(self, made: Submission) -> None:
        self._made = made

    def buildProtocol(self, addr: object) -> Submission:
        return self._made


Line = Callable[[str, int], IStreamClientEndpoint]
"""Makes the endpoint of a host and port."""


async def submit(server: MailServer, mail: Mail, reactor: Any, line: Line | None = None) -> None:
    """Hand ``mail`` to ``server``; returns when the server has taken it.

    :raises Declined: when it did not.
    :raises WireError: any other: it may have been taken.
    """
    clock: IReactorTime = reactor
    endpoint = line(server.host, server.port) if line else HostnameEndpoint(reactor, server.host, server.port)
    tls = None
    if server.security in ("starttls", "tls"):
        try:
            trust: Any = ExtraRoots(roots_in(server.ca.encode())) if server.ca else platformTrust()
            tls = optionsForClientTLS(server.host, trustRoot=trust)
        except ValueError as error:
            raise Declined(NO_CODE, str(error)) from None
    at_once = tls if server.security == "tls" else None
    protocol = Submission(server, mail, tls)
    try:
        await ReadyEndpoint(endpoint, clock, at_once, CONNECT_S).connect(_Submissions(protocol))
    except NotReached as error:
        raise Declined(NO_CODE, f"the mail server is not reached: {error.reason}") from None
    await protocol.done.addTimeout(PATIENCE_S, clock, _late)


def _late(result: object, seconds: float) -> Failure:
    return Failure(Silent(seconds))


def _words(failure: Failure) -> str:
    error = failure.value
    if isinstance(error, VerificationError):
        return "the server has the certificate of another name"
    if isinstance(error, TlsError):
        reasons = [reason[-1] for reason in error.args[0]] if error.args and isinstance(error.args[0], list) else []
        return f"TLS failed: {', '.join(reasons) or 'the server closed the line'}"
    return str(error) or type(error).__name__
