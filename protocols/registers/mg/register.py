"""An MG register over HTTP: one request at a time, each on its own connection (docs/reference/registers.md#mg).

A POST is never sent twice, except when the register answers 401, which proves that it did nothing: its challenge has
changed. So every command comes behind a reading request, which brings the challenge.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError
from twisted.internet.interfaces import IProtocol, IProtocolFactory, IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web.client import Agent, HTTPConnectionPool, ResponseDone, ResponseFailed
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers
from twisted.web.iweb import IResponse
from zope.interface import implementer

from protocols.errors import Garbled, LineLost, NotReached, Silent, WireError
from protocols.http import Body, OneEndpoint
from protocols.registers.mg import documents
from protocols.registers.mg.digest import Challenge, Login
from protocols.registers.mg.documents import Document, Entry, FormSum, State
from protocols.registers.troubles import DeviceRefused

SERVICE = Login("service", "751426")
"""The user of the factory, as the vendor publishes it."""

MOST_ANSWER = 4_000_000
"""Bytes of the longest answer."""

Z_REPORT, X_REPORT, Z_WITH_GOODS = 0, 10, 20
"""Reports of `MgRegister.report`."""

log = Logger()


@dataclass(frozen=True)
class Patience:
    """How long to wait, in seconds (L)."""

    connect: float = 3.0
    answer: float = 15.0
    receipt: float = 30.0
    report: float = 90.0


PATIENCE = Patience()


@implementer(IStreamClientEndpoint)
class _Reaching:
    """An endpoint whose failures are `NotReached`."""

    def __init__(self, inner: IStreamClientEndpoint, clock: IReactorTime, patience: float) -> None:
        self._inner, self._clock, self._patience = inner, clock, patience

    def connect(self, protocolFactory: IProtocolFactory) -> Deferred[IProtocol]:
        """Connect, or fail in time."""
        setattr(protocolFactory, "noisy", False)  # noqa: B010 - not in the interface
        opening = self._inner.connect(protocolFactory)
        return opening.addTimeout(self._patience, self._clock, self._late).addErrback(self._failed)

    def _late(self, _: object, seconds: float) -> Failure:
        return Failure(NotReached(f"no connection in {seconds:g} s"))

    def _failed(self, failure: Failure) -> Failure:
        if failure.check(NotReached):
            return failure
        if failure.check(ConnectError) and not str(failure.value):
            return Failure(NotReached("connection refused"))
        return Failure(NotReached(_words(failure)))


class _Collected(Protocol):
    """Collects the body of an answer."""

    def __init__(self, whole: Deferred[bytes]) -> None:
        self._whole, self._parts, self._held = whole, list[bytes](), 0

    def dataReceived(self, data: bytes) -> None:
        self._held += len(data)
        if self._held <= MOST_ANSWER:
            self._parts.append(data)
        elif not self._whole.called:
            self._whole.errback(Failure(Garbled("an answer without end")))
            self.abandon()

    def abandon(self) -> None:
        """Read no further."""
        if self.transport is not None:
            getattr(self.transport, "abortConnection", self.transport.loseConnection)()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if self._whole.called:
            return
        if reason.check(ResponseDone, PotentialDataLoss):
            self._whole.callback(b"".join(self._parts))
        else:
            self._whole.errback(Failure(LineLost(_words(reason))))


class MgRegister:
    """A register.

    :param endpoint: to its port 80; `protocols.serial.TcpEndpoint`.
    :param random: bytes for the login; a stand-in in tests.
    """

    def __init__(
        self,
        reactor: Any,
        endpoint: IStreamClientEndpoint,
        login: Login = SERVICE,
        patience: Patience = PATIENCE,
        host: str = "register",
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        pool = HTTPConnectionPool(reactor, persistent=False)
        pool.retryAutomatically = False
        reaching = _Reaching(endpoint, reactor, patience.connect)
        self._agent = Agent.usingEndpointFactory(reactor, OneEndpoint(reaching), pool)
        self._clock: IReactorTime = reactor
        self._login, self._patience, self._host, self._random = login, patience, host, random
        self._challenge: Challenge | None = None
        self._count = 0
        self._busy = False

    # What it knows.

    async def state(self) -> State:
        """The state.

        :raises WireError: it is not known.
        """
        return State.of(documents.read(await self._get("/cgi/state")))

    async def information(self) -> dict[str, Any]:
        """Numbers of the register: ``dev_zn`` serial, ``dev_fn`` fiscal, ``dev_nn`` tax."""
        return documents.read(await self._get("/cgi/dev_info"))

    async def journal(self, first: int) -> list[Entry]:
        """The entries of the journal from ``first``."""
        return documents.entries_of(documents.read_any(await self._get(f"/cgi/chk?id={first}")))

    async def sums(self) -> list[FormSum]:
        """The turnover of each form of payment."""
        return documents.form_sums(documents.read_any(await self._get("/cgi/rep/pay")))

    async def table(self, name: str) -> Any:
        """A table: ``Pay``, ``Tax``, ``Oper``, ``Hdr`` …"""
        return documents.read_any(await self._get(f"/cgi/tbl/{name}"))

    # What it does.

    async def register(self, document: Document) -> Entry:
        """Have a whole document registered and printed.

        :raises DeviceRefused: the register did not take it.
        :raises NotReached: nothing was sent.
        :raises WireError: the outcome is unknown: `State.chk_id` before and after, and `journal`, tell it.
        """
        given = documents.read(await self._act("POST", "/cgi/chk", document.encode(), self._patience.receipt))
        return Entry.of(given)

    async def report(self, kind: int) -> None:
        """Print a report: `Z_REPORT`, `X_REPORT` or `Z_WITH_GOODS`.

        :raises WireError: as `register`; the number of the Z report, in the state, tells.
        """
        await self._act("GET", f"/cgi/proc/printreport?{kind}", b"", self._patience.report)

    async def proceed(self, name: str) -> None:
        """Another deed: ``openbox``, ``lastreceipt``, ``setclock``, ``sound``, ``feedpaper``, ``register``.

        :raises WireError: as `register`.
        """
        await self._act("GET", f"/cgi/proc/{name}", b"", self._patience.receipt)

    # Requests.

    async def _get(self, uri: str) -> bytes:
        body = await self._ask("GET", uri, b"", self._patience.answer)
        # An answer of state has errors too, as a condition of the printer.
        if not uri.startswith("/cgi/state"):
            _refuse(body)
        return body

    async def _act(self, method: str, uri: str, body: bytes, limit: float) -> bytes:
        answer = await self._ask(method, uri, body, limit)
        _refuse(answer)
        return answer

    async def _ask(self, method: str, uri: str, body: bytes, limit: float) -> bytes:
        assert not self._busy
        self._busy = True
        try:
            for _ in range(2):
                status, answer, challenge = await self._timed(method, uri, body, limit)
                if status != 401:
                    break
                # A new challenge: it did nothing, and may be asked once more.
                self._challenge, self._count = challenge, 0
                if challenge is None:
                    break
        finally:
            self._busy = False
        if status == 401:
            raise DeviceRefused("401", documents.meaning(0x32))
        if status != 200:
            raise Garbled(f"the answer has status {status}", answer)
        return answer

    async def _timed(self, method: str, uri: str, body: bytes, limit: float) -> tuple[int, bytes, Challenge | None]:
        exchange = Deferred[tuple[int, bytes, Challenge | None]].fromCoroutine(self._carry(method, uri, body))

        def late(_: object, seconds: float) -> Failure:
            return Failure(Silent(seconds, True))

        return await exchange.addTimeout(limit, self._clock, late)

    async def _carry(self, method: str, uri: str, body: bytes) -> tuple[int, bytes, Challenge | None]:
        headers = Headers({"Accept-Encoding": ["deflate"], "User-Agent": ["dmtwisted"]})
        if body:
            headers.setRawHeaders("Content-Type", ["application/json"])
        if self._challenge is not None:
            self._count += 1
            cnonce = self._random(8).hex()
            authorization = self._login.authorization(self._challenge, method, uri, self._count, cnonce)
            headers.setRawHeaders("Authorization", [authorization])
        url = f"http://{self._host}{uri}".encode("ascii")
        try:
            response: IResponse = await self._agent.request(method.encode(), url, headers, Body(body))
            content = await _content(response)
        except WireError:
            raise
        except Exception as error:
            raise LineLost(_words(Failure(error))) from error
        given = response.headers.getRawHeaders("WWW-Authenticate", [""])[0]
        return response.code, _inflated(response, content), Challenge.decode(given)


def _refuse(body: bytes) -> None:
    refusal = documents.refusal_in(documents.read_any(body)) if body.strip() else None
    if refusal is not None:
        raise refusal


def _content(response: IResponse) -> Deferred[bytes]:
    def abandon(_: Deferred[bytes]) -> None:
        collected.abandon()

    whole: Deferred[bytes] = Deferred(abandon)
    collected = _Collected(whole)
    response.deliverBody(collected)
    return whole


def _inflated(response: IResponse, content: bytes) -> bytes:
    """The body as it was before `deflate`, with the header of zlib or without."""
    if response.headers.getRawHeaders("Content-Encoding", [""])[0].lower() != "deflate":
        return content
    for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
        stream = zlib.decompressobj(bits)
        try:
            plain = stream.decompress(content, MOST_ANSWER)
        except zlib.error:
            continue
        if stream.eof:
            return plain
    raise Garbled("the answer cannot be decompressed", content)


def _words(failure: Failure) -> str:
    error = failure.value
    if isinstance(error, ResponseFailed):
        told = [_words(each) for each in error.reasons if str(each.value)]
        return "; ".join(told) or "the connection was lost"
    if isinstance(error, CancelledError):
        return "given up"
    return str(error) or type(error).__name__
