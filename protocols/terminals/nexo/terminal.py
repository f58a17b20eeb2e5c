"""A nexo terminal as the service uses it: one POST for each message (docs/reference/nexo.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from OpenSSL import SSL
from service_identity import VerificationError
from treq.client import HTTPClient
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.error import ConnectError, ConnectionClosed, DNSLookupError, NoRouteError, TimeoutError
from twisted.internet.interfaces import IProtocolFactory, IReactorTime, IStreamClientEndpoint
from twisted.internet.ssl import Certificate, optionsForClientTLS, trustRootFromCertificates
from twisted.internet.task import deferLater
from twisted.logger import Logger
from twisted.protocols.policies import ProtocolWrapper, WrappingFactory
from twisted.python.failure import Failure
from twisted.web._newclient import ParseError
from twisted.web.client import (
    URI,
    Agent,
    HTTPConnectionPool,
    RequestGenerationFailed,
    RequestTransmissionFailed,
    ResponseFailed,
    ResponseNeverReceived,
)
from twisted.web.http_headers import Headers
from twisted.web.iweb import IAgent, IAgentEndpointFactory, IBodyProducer, IPolicyForHTTPS, IResponse
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.http import Body
from protocols.terminals.lines import expect, silent
from protocols.terminals.nexo.messages import (
    Abort,
    CardAnswer,
    Category,
    Condition,
    Diagnose,
    GetTotals,
    Header,
    NexoAnswer,
    Payment,
    PaymentAnswer,
    PlainAnswer,
    ReadCard,
    Reconcile,
    Reference,
    ReleaseCard,
    Request,
    Response,
    Result,
    Reversal,
    Status,
    StatusAnswer,
    TotalsAnswer,
    Transaction,
    decode_answer,
    encode_request,
    new_service_id,
)
from protocols.terminals.nexo.sealing import Seal

PORT = 8443

LONGEST_BODY = 1_000_000
"""Bytes of the longest answer that is read."""

Keep = Callable[[NexoAnswer], object]
"""Stores an answer before it is returned; may return a Deferred."""


@dataclass(frozen=True)
class Settings:
    """What is known of one terminal; times in seconds.

    :param url: where it takes messages, ``https://192.168.1.50:8443/nexo``.
    :param poi_id: model and serial number, ``V400m-346403161``; :param sale_id: the till's own name.
    :param currency: three letters.
    :param answer_wait: how long the answer to an operation may take; the customer is part of it.
    :param query_wait: how long the answer to a query may take.
    :param ask_again: pause between two queries while the operation goes on.
    """

    url: str
    poi_id: str
    sale_id: str = "dmtwisted"
    currency: str = "UAH"
    answer_wait: float = 300.0
    query_wait: float = 15.0
    ask_again: float = 5.0


class NexoTerminal:
    """The till's end.

    Every operation takes a ``service_id`` from `new_service_id`, to be stored before the call: with it `recover`
    finds the outcome. After `NotReached` nothing was sent; after any other `WireError` the outcome is unknown.

    :param agent: sends the requests: `local_agent`, or one that leads to a simulator.
    :param seal: the shared key; without one messages are protected by TLS only.
    """

    log = Logger()

    def __init__(self, agent: IAgent, clock: IReactorTime, settings: Settings, seal: Seal | None = None) -> None:
        self._client = HTTPClient(agent, data_to_body_producer=Body)
        self._clock, self.settings, self._seal = clock, settings, seal

    async def pay(
        self,
        service_id: str,
        transaction_id: str,
        amount: int,
        *,
        cash: int = 0,
        card: Transaction | None = None,
        keep: Keep | None = None,
    ) -> PaymentAnswer:
        """Take ``amount`` hundredths.

        :param transaction_id: the till's own name for the sale.
        :param cash: part of the amount that is given in cash.
        :param card: what `read_card` returned; that card pays.
        """
        request = Payment(self._sale(transaction_id), amount, self.settings.currency, cash=cash, card=card)
        return expect(await self._operate(request, service_id, keep), PaymentAnswer)

    async def refund(
        self, service_id: str, transaction_id: str, amount: int, keep: Keep | None = None
    ) -> PaymentAnswer:
        """Give ``amount`` hundredths back on the card that is shown."""
        request = Payment(self._sale(transaction_id), amount, self.settings.currency, refund=True)
        return expect(await self._operate(request, service_id, keep), PaymentAnswer)

    async def reverse(
        self,
        service_id: str,
        transaction_id: str,
        original: Transaction,
        amount: int | None = None,
        keep: Keep | None = None,
    ) -> PaymentAnswer:
        """Give the money of the terminal's transaction ``original`` back: all of it, or ``amount`` hundredths."""
        request = Reversal(self._sale(transaction_id), original, amount)
        return expect(await self._operate(request, service_id, keep), PaymentAnswer)

    async def read_card(self, service_id: str, transaction_id: str, loyalty: bool = False) -> CardAnswer:
        """Ask for a card and keep it for `pay`, until `release_card`."""
        request = ReadCard(self._sale(transaction_id), loyalty)
        return expect(await self._operate(request, service_id, None), CardAnswer)

    async def release_card(self) -> PlainAnswer:
        """Release the card that was read."""
        return expect(await self._query(ReleaseCard()), PlainAnswer)

    async def totals(self) -> TotalsAnswer:
        """The sums of the open batch."""
        return expect(await self._query(GetTotals()), TotalsAnswer)

    async def reconcile(self, service_id: str, keep: Keep | None = None) -> TotalsAnswer:
        """Close the batch with the bank."""
        return expect(await self._operate(Reconcile(), service_id, keep), TotalsAnswer)

    async def diagnose(self, host: bool = False) -> PlainAnswer:
        """Ask whether the terminal works, and with ``host`` whether it reaches its bank."""
        return expect(await self._query(Diagnose(host)), PlainAnswer)

    async def abort(self, category: Category, service_id: str) -> None:
        """Ask an operation to stop; its own answer shows whether it did (docs/reference/terminals.md#rule-8)."""
        request = Abort(self._about(category, service_id))
        await self._exchange(request, new_service_id(), self.settings.query_wait, may_be_empty=True)

    async def status(self, category: Category, service_id: str) -> StatusAnswer:
        """Query the outcome of an operation once."""
        return expect(await self._query(Status(self._about(category, service_id))), StatusAnswer)

    async def recover(self, category: Category, service_id: str, wait: float) -> PaymentAnswer | None:
        """Find the lost answer of an operation (docs/reference/nexo.md#recovery).

        Queries under a new ServiceID each time while the operation goes on or the terminal does not answer, at most
        for ``wait`` seconds.

        :return: the lost answer; `None` when the terminal never began.
        :raises WireError: the outcome stays unknown.
        """
        end = self._clock.seconds() + wait
        while True:
            try:
                answer = await self.status(category, service_id)
            except (NotReached, Silent, LineLost) as error:
                if self._clock.seconds() + self.settings.ask_again >= end:
                    raise
                self.log.info("the terminal does not answer queries yet: {error}", error=str(error))
            else:
                if answer.response.condition == Condition.NOT_FOUND:
                    return None
                if answer.repeated is not None:
                    repeats = answer.repeats
                    if answer.repeated.category is not category or (repeats and repeats.service_id != service_id):
                        raise Garbled("the answer is about another operation")
                    return answer.repeated
                if answer.response.condition not in (Condition.IN_PROGRESS, Condition.BUSY):
                    raise Garbled(f"the terminal does not know the outcome: {answer.response.condition!r}")
                if self._clock.seconds() + self.settings.ask_again >= end:
                    raise Silent(wait, taken=answer.response.condition == Condition.IN_PROGRESS)
            await deferLater(self._clock, self.settings.ask_again)

    # Messages.

    def _sale(self, transaction_id: str) -> Transaction:
        now = datetime.fromtimestamp(self._clock.seconds(), UTC)
        return Transaction(transaction_id, now.isoformat(timespec="seconds"))

    def _about(self, category: Category, service_id: str) -> Reference:
        return Reference(category, service_id, self.settings.sale_id)

    async def _operate(self, request: Request, service_id: str, keep: Keep | None) -> NexoAnswer:
        answer = await self._exchange(request, service_id, self.settings.answer_wait)
        if keep is not None:
            await maybeDeferred(keep, answer)
        return answer

    async def _query(self, request: Request) -> NexoAnswer:
        return await self._exchange(request, new_service_id(), self.settings.query_wait)

    async def _exchange(
        self, request: Request, service_id: str, wait: float, may_be_empty: bool = False
    ) -> NexoAnswer:
        """Send one message and read the answer.

        :param may_be_empty: an empty body means that the terminal took the message.
        """
        header = Header(request.category, service_id, self.settings.sale_id, self.settings.poi_id)
        message = encode_request(header, request)
        body = await self._post(message if self._seal is None else self._seal.seal(message), wait)
        if may_be_empty and not body.lstrip().startswith(b"{"):
            return PlainAnswer(Response(Result.SUCCESS), request.category)
        answered, answer = decode_answer(body if self._seal is None else self._seal.open(body))
        if answered != header:
            raise Garbled(f"the answer is to {answered.category} {answered.service_id} of {answered.sale_id}")
        return answer

    async def _post(self, message: bytes, wait: float) -> bytes:
        """The body of the answer."""
        due = self._request(message)
        due.addTimeout(wait, self._clock, silent)
        try:
            status, body = await due
        except WireError:
            raise
        except (ConnectError, DNSLookupError, NoRouteError, TimeoutError) as error:
            raise NotReached(str(error)) from error
        except (ResponseNeverReceived, RequestGenerationFailed, RequestTransmissionFailed, ResponseFailed) as error:
            reasons = [reason.value for reason in error.reasons]
            words = "; ".join(str(reason) or type(reason).__name__ for reason in reasons)
            if _distrusted(reasons):
                raise NotReached(f"its certificate is not accepted: {words}") from error
            for reason in reasons:
                if isinstance(reason, ParseError):
                    # The first bytes show what answers there (docs/reference/terminals.md#rule-17).
                    raise Garbled("the peer does not speak HTTP", reason.data or b"") from error
            raise LineLost(words) from error
        except ConnectionClosed as error:
            raise LineLost(str(error)) from error
        if status != 200:
            raise Garbled(f"HTTP {status}", body)
        return body

    def _request(self, message: bytes) -> Deferred[tuple[int, bytes]]:
        async def exchange() -> tuple[int, bytes]:
            response = await self._client.post(
                self.settings.url,
                data=message,
                headers=Headers({"Content-Type": ["application/json"]}),
                # Only this terminal may have the message, and only once.
                allow_redirects=False,
                unbuffered=True,
                reactor=cast(Any, self._clock),
            )
            body = bytearray()

            def take(data: bytes) -> None:
                if len(body) <= LONGEST_BODY:
                    body.extend(data)

            await response.collect(take)
            if len(body) > LONGEST_BODY:
                raise Garbled("an answer without an end")
            return response.code, bytes(body)

        return Deferred.fromCoroutine(exchange())


def _distrusted(reasons: list[BaseException]) -> bool:
    """Whether TLS ended before the request was sent, because the terminal's certificate is not trusted."""
    return bool(reasons) and all(
        isinstance(reason, VerificationError)
        or (isinstance(reason, SSL.Error) and "certificate verify failed" in str(reason))
        for reason in reasons
    )


# -- TLS ------------------------------------------------------------------------------------------------------------


@implementer(IPolicyForHTTPS)
class TerminalTrust:
    """Trusts terminals whose certificate leads to one of ``roots`` (PEM) and carries ``name``.

    A terminal is reached by its address, but its certificate has a name of its manufacturer.
    """

    def __init__(self, roots: list[bytes], name: str) -> None:
        self._roots = trustRootFromCertificates([Certificate.loadPEM(root) for root in roots])
        self._name = name

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        """How a connection to ``hostname`` is secured."""
        return optionsForClientTLS(self._name or hostname.decode("ascii"), self._roots)


TLS_RECORDS = (0x14, 0x15, 0x16, 0x17)
"""The first byte of each record of TLS."""


class _FirstBytes(ProtocolWrapper):
    """A line on which TLS is expected; a peer that sends anything else is cut off."""

    def dataReceived(self, data: bytes) -> None:
        """Pass records on; the first bytes decide."""
        factory = cast(_TlsOnly, self.factory)
        if factory.foreign:
            return
        if not factory.heard and data[0] not in TLS_RECORDS:
            factory.foreign = data
            assert self.transport is not None
            self.transport.loseConnection()
            return
        factory.heard = True
        super().dataReceived(data)  # type: ignore[no-untyped-call]


class _TlsOnly(WrappingFactory):
    """Makes one `_FirstBytes`."""

    protocol = _FirstBytes
    noisy = False
    heard = False
    foreign = b""


@implementer(IStreamClientEndpoint)
class _Listening:
    """Opens lines, and keeps the first bytes of the last one that were not TLS."""

    def __init__(self, endpoint: IStreamClientEndpoint) -> None:
        self._endpoint = endpoint
        self._factory: _TlsOnly | None = None

    def connect(self, factory: IProtocolFactory) -> Deferred[Any]:
        """Open a line."""
        self._factory = _TlsOnly(cast(Any, factory))  # type: ignore[no-untyped-call]
        opening: Deferred[Any] = self._endpoint.connect(cast(Any, self._factory))
        return opening.addCallback(lambda wrapper: wrapper.wrappedProtocol)

    @property
    def foreign(self) -> bytes:
        """The first bytes of a peer that does not speak TLS; empty for TLS and for silence."""
        return b"" if self._factory is None else self._factory.foreign


@implementer(IAgent, IAgentEndpointFactory)
class LocalAgent:
    """Sends requests to a terminal in the shop's own network, a new connection for each.

    :param trust: which certificates are accepted.
    """

    def __init__(self, reactor: Any, trust: TerminalTrust, connect_wait: float) -> None:
        pool = HTTPConnectionPool(reactor, persistent=False)
        # A request that moves money goes out once, whatever happens to its connection.
        pool.retryAutomatically = False
        self._reactor, self._trust, self._connect_wait = reactor, trust, connect_wait
        self._agent = Agent.usingEndpointFactory(reactor, self, pool)
        self._lines: list[_Listening] = []

    def endpointForURI(self, uri: URI) -> IStreamClientEndpoint:
        """The way to ``uri``, with TLS on it."""
        endpoint = HostnameEndpoint(self._reactor, uri.host, uri.port, timeout=self._connect_wait)
        self._lines.append(_Listening(endpoint))
        way: IStreamClientEndpoint = wrapClientTLS(self._trust.creatorForNetloc(uri.host, uri.port), self._lines[-1])
        return way

    def request(
        self, method: bytes, uri: bytes, headers: Headers | None = None, bodyProducer: IBodyProducer | None = None
    ) -> Deferred[IResponse]:
        """Send one request; fails with `Garbled` when the peer does not speak TLS: nothing was sent then."""
        self._lines.clear()
        due: Deferred[IResponse] = self._agent.request(method, uri, headers, bodyProducer)
        lines, self._lines = self._lines, []

        def explain(failure: Failure) -> Failure:
            foreign = b"".join(line.foreign for line in lines)
            return Failure(Garbled("the peer does not speak TLS", foreign)) if foreign else failure

        return due.addErrback(explain)


def local_agent(reactor: Any, roots: list[bytes], name: str, connect_wait: float = 5.0) -> IAgent:
    """Sends requests to a terminal in the shop's own network, a new connection for each.

    :param roots: certificates (PEM) that the terminal's certificate must lead to.
    :param name: the name in the terminal's certificate; empty for the host of the address.
    """
    return LocalAgent(reactor, TerminalTrust(roots, name), connect_wait)
