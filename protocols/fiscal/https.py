"""One request over HTTPS, with errors that show whether it was sent (docs/reference/tax-service.md#answers).

Each request has its own connection: the server may close one that is kept open just when the next document is sent,
and then its outcome is unknown. Nothing is written before the connection is made and the server's certificate is
verified, so every failure up to there is `NotReached`; after it the outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from OpenSSL.crypto import X509
from OpenSSL.SSL import Context
from twisted.internet._sslverify import IOpenSSLTrustRoot
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.endpoints import HostnameEndpoint
from twisted.internet.interfaces import (
    IAddress,
    IHandshakeListener,
    IOpenSSLClientConnectionCreator,
    IProtocol,
    IProtocolFactory,
    IReactorTime,
    IStreamClientEndpoint,
)
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.ssl import Certificate, optionsForClientTLS, platformTrust
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.python.failure import Failure
from twisted.web.client import URI, Agent, HTTPConnectionPool, ResponseDone, ResponseFailed
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgentEndpointFactory, IResponse
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.fiscal.bodies import MOST_ANSWER_BYTES
from protocols.fiscal.verdicts import Reply
from protocols.http import Body

CONNECT_S = 10.0
"""Seconds for name, TCP and TLS together."""

BETWEEN_S = 0.05
"""Seconds until the next address of a name is tried, or all are known to refuse: the till waits for that."""

ANSWER_S = 30.0
"""Seconds for the whole answer, after that."""


# Twisted has no public name for this interface, though its documentation says to implement it.
@implementer(IOpenSSLTrustRoot)
class ExtraRoots:
    """Trusts the machine's certificates and ``certificates``."""

    def __init__(self, certificates: list[X509]) -> None:
        self._certificates = certificates

    def _addCACertsToContext(self, context: Context) -> None:
        platformTrust()._addCACertsToContext(context)
        store = context.get_cert_store()
        assert store is not None
        for certificate in self._certificates:
            store.add_cert(certificate)


def roots_in(pem: bytes) -> list[X509]:
    """The certificates of a PEM file.

    :raises ValueError: when there is none, or one cannot be read.
    """
    end = b"-----END CERTIFICATE-----"
    parts = [part[part.index(b"-----BEGIN") :] + end for part in pem.split(end) if b"-----BEGIN" in part]
    try:
        found = [Certificate.loadPEM(part).original for part in parts]
    except Exception as error:
        raise ValueError(f"a certificate cannot be read ({error})") from None
    if not found:
        raise ValueError("there is no certificate in it")
    return found


@implementer(IHandshakeListener)
class _Verified(Protocol):
    """Connects the real protocol once the TLS handshake is complete."""

    def __init__(self, factory: IProtocolFactory, address: IAddress | None, ready: Deferred[IProtocol]) -> None:
        self._factory, self._address, self._ready = factory, address, ready
        self._real: IProtocol | None = None

    def handshakeCompleted(self) -> None:
        # A certificate for another name closes the connection only after this call.
        if getattr(self.transport, "disconnecting", False) or self._ready.called:
            return
        real = self._factory.buildProtocol(self._address)  # type: ignore[arg-type]
        assert real is not None and self.transport is not None
        self._real = real
        real.makeConnection(self.transport)
        self._ready.callback(real)

    def dataReceived(self, data: bytes) -> None:
        if self._real is not None:
            self._real.dataReceived(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._real is not None:
            self._real.connectionLost(reason)
        elif not self._ready.called:
            self._ready.errback(reason)


class _VerifiedFactory(Factory):
    noisy = False

    def __init__(self, factory: IProtocolFactory, ready: Deferred[IProtocol]) -> None:
        self._factory, self._ready = factory, ready

    def buildProtocol(self, addr: IAddress | None) -> _Verified:
        return _Verified(self._factory, addr, self._ready)


@implementer(IStreamClientEndpoint)
class ReadyEndpoint:
    """Connects; the connection is ready when a request may be written.

    :param trust: makes the TLS of a connection; `None` without TLS.
    :param patience: seconds for all of it.
    """

    def __init__(
        self,
        inner: IStreamClientEndpoint,
        clock: IReactorTime,
        trust: IOpenSSLClientConnectionCreator | None,
        patience: float,
    ) -> None:
        self._inner, self._clock, self._trust, self._patience = inner, clock, trust, patience

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect.

        :raises NotReached: when there is no connection, for any reason.
        """
        # The device logs its requests; Twisted's factories need not.
        setattr(protocolFactory, "noisy", False)  # noqa: B010 - not in the interface
        if self._trust is None:
            ready: Deferred[IProtocol] = self._inner.connect(protocolFactory)
        else:
            ready = self._verified(protocolFactory, self._trust)
        ready.addTimeout(self._patience, self._clock, self._late)
        return ready.addErrback(_not_reached)

    def _verified(self, factory: IProtocolFactory, trust: IOpenSSLClientConnectionCreator) -> Deferred[IProtocol]:
        opened: list[IProtocol] = []

        def abandon(_: Deferred[IProtocol]) -> None:
            line.cancel()
            for protocol in opened:
                transport = getattr(protocol, "transport", None)
                if transport is not None:
                    transport.abortConnection()

        def failed(failure: Failure) -> None:
            if not ready.called:
                ready.errback(failure)

        ready: Deferred[IProtocol] = Deferred(abandon)
        secured = TLSMemoryBIOFactory(trust, True, _VerifiedFactory(factory, ready), self._clock)
        line = self._inner.connect(secured)
        line.addCallbacks(opened.append, failed)
        return ready

    def _late(self, result: object, seconds: float) -> Failure:
        return Failure(NotReached(f"no connection in {seconds:g} s"))


def _not_reached(failure: Failure) -> Failure:
    if failure.check(NotReached):
        return failure
    return Failure(NotReached(_words(failure)))


@implementer(IAgentEndpointFactory)
class ServerEndpoints:
    """Makes the endpoint of each address.

    :param roots: certificates to trust besides the machine's (the setting `server_ca`).
    :param patience: seconds to connect, with TLS.
    :param line: makes the endpoint of a host and port; TCP by name when absent.
    :param spoken: what TLS offers to speak, as ALPN names it.
    """

    def __init__(
        self,
        reactor: Any,
        roots: list[X509] | None = None,
        patience: float = CONNECT_S,
        line: Callable[[str, int], IStreamClientEndpoint] | None = None,
        spoken: list[bytes] | None = None,
    ) -> None:
        self._clock: IReactorTime = reactor
        self._patience, self._spoken = patience, spoken
        self._line = line or (lambda host, port: HostnameEndpoint(reactor, host, port, attemptDelay=BETWEEN_S))
        self._trust: Any = ExtraRoots(roots) if roots else platformTrust()

    def endpointForURI(self, uri: URI) -> ReadyEndpoint:
        """The endpoint for one address."""
        host = uri.host.decode("ascii")
        line = self._line(host, uri.port)
        trust = None
        if uri.scheme == b"https":
            trust = optionsForClientTLS(host, trustRoot=self._trust, acceptableProtocols=self._spoken)
        return ReadyEndpoint(line, self._clock, trust, self._patience)


class _Collected(Protocol):
    """Collects an answer's body, up to the allowed size.

    :param beginning: so many bytes are enough, and fewer when the answer breaks off; `None` for all of them.
    """

    def __init__(self, whole: Deferred[bytes], beginning: int | None) -> None:
        self._whole, self._parts, self._held = whole, list[bytes](), 0
        self._beginning = beginning

    def dataReceived(self, data: bytes) -> None:
        self._held += len(data)
        if self._held <= MOST_ANSWER_BYTES:
            self._parts.append(data)
        elif not self._whole.called and self._beginning is None:
            self._whole.errback(Failure(Garbled("an answer without end")))
            self.abandon()
        if self._beginning is not None and self._held >= self._beginning:
            self.abandon()

    def end(self) -> None:
        """Give what there is, when that is enough."""
        if self._beginning is not None and not self._whole.called:
            self._whole.callback(b"".join(self._parts)[: self._beginning])

    def abandon(self) -> None:
        """Read no further."""
        self.end()
        transport = self.transport
        if transport is not None:
            getattr(transport, "abortConnection", transport.loseConnection)()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.end()
        if self._whole.called:
            return
        # Without a length the end of the connection ends the answer; the reader notices half of one.
        if reason.check(ResponseDone, PotentialDataLoss):
            self._whole.callback(b"".join(self._parts))
        else:
            self._whole.errback(Failure(LineLost(_words(reason))))


class HttpsExchange:
    """Sends requests to a server, each over its own connection.

    :param endpoints: to the server; their failures are `NotReached`.
    :param patience: seconds for the whole exchange, with connecting.
    :param beginning: bytes of an answer's body that are read, for a caller whom its status tells all; an answer that
        breaks off or ends late counts then, too. `None` for whole answers alone.
    """

    def __init__(
        self,
        reactor: Any,
        endpoints: IAgentEndpointFactory,
        patience: float = CONNECT_S + ANSWER_S,
        beginning: int | None = None,
    ) -> None:
        pool = HTTPConnectionPool(reactor, persistent=False)
        pool.retryAutomatically = False
        self._agent = Agent.usingEndpointFactory(reactor, endpoints, pool)
        self._clock: IReactorTime = reactor
        self._patience, self._beginning = patience, beginning

    async def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send one request.

        :raises NotReached: when nothing was sent.
        :raises WireError: any other: it was sent, and no whole answer came.
        """
        exchange = Deferred[Reply].fromCoroutine(self._carry(method, url, headers, body))
        exchange.addTimeout(self._patience, self._clock, self._late)
        return await exchange

    def _late(self, result: Reply | Failure, seconds: float) -> Reply | Failure:
        return result if isinstance(result, Reply) else Failure(Silent(seconds))

    async def _carry(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        sent = Headers({name: [value] for name, value in headers.items()})
        sent.setRawHeaders("User-Agent", ["dmtwisted"])
        if not url.startswith(("https://", "http://")) or not url.isascii():
            raise NotReached(f"{url} is not an address")
        try:
            response: IResponse = await self._agent.request(method.encode(), url.encode(), sent, Body(body))
            content = await _content(response, self._beginning)
        except WireError:
            raise
        except Exception as error:
            raise LineLost(_words(Failure(error))) from error
        return Reply(response.code, headers_in(response.headers), content)


def _content(response: IResponse, beginning: int | None) -> Deferred[bytes]:
    def abandon(_: Deferred[bytes]) -> None:
        collected.abandon()

    whole: Deferred[bytes] = Deferred(abandon)
    collected = _Collected(whole, beginning)
    response.deliverBody(collected)
    return whole


def _words(failure: Failure) -> str:
    """The text of a failure; a failed answer contains failures."""
    error = failure.value
    if isinstance(error, ResponseFailed):
        told = [_words(each) for each in error.reasons if str(each.value)]
        return "; ".join(told or map(_words, error.reasons))
    if isinstance(error, CancelledError):
        return "given up"
    return str(error) or type(error).__name__


def headers_in(headers: Headers) -> dict[str, str]:
    """The last value of each header, by its name in lower case."""
    found = headers.getAllRawHeaders()
    return {name.decode("latin-1").lower(): values[-1].decode("latin-1") for name, values in found if values}
