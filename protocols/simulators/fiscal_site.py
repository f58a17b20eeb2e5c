"""The simulated fiscal server as a web resource that also breaks connections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.internet.protocol import Protocol
from twisted.web.iweb import IRequest
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from protocols.fiscal.bodies import compress
from protocols.fiscal.https import headers_in
from protocols.fiscal.verdicts import Reply
from protocols.simulators.fiscal_calls import Call, Ending, Played
from protocols.simulators.fiscal_server import FiscalServer
from protocols.simulators.fiscal_stamps import PATH, StampProvider
from protocols.simulators.scenario import Then


class FiscalResource(Resource):
    """Answers ``/fs/doc``, ``/fs/pck`` and ``/fs/cmd``; other paths as the server does."""

    isLeaf = True

    def __init__(self, server: FiscalServer, stamps: StampProvider | None = None) -> None:
        Resource.__init__(self)
        self._server, self._stamps = server, stamps

    def render(self, request: IRequest) -> bytes | int:
        """Answer one request, or break its connection as the scenario says."""
        assert request.content is not None
        if self._stamps is not None and request.path == PATH:
            return self._stamps.render(request)
        path, _, query = request.uri.decode("latin-1").partition("?")
        headers = headers_in(request.requestHeaders)
        call = Call(request.method.decode("latin-1"), path, query, headers, request.content.read())
        played = self._server.receive(call)
        if "gzip" in headers.get("accept-encoding", "") and played.reply is not None:
            played = replace(played, reply=_compressed(played.reply))
        connection = _Connection(request, played)
        if played.delay_s:
            self._server.clock.callLater(played.delay_s, connection.end)
        else:
            connection.end()
        return NOT_DONE_YET


LEAST_COMPRESSED = 200
"""Bytes of the shortest answer that is compressed."""


def _compressed(reply: Reply) -> Reply:
    """``reply`` as gzip, if it is long enough."""
    if len(reply.body) < LEAST_COMPRESSED:
        return reply
    return Reply(reply.status, {**reply.headers, "content-encoding": "gzip"}, compress(reply.body))


class _Connection:
    """The connection of one request, which the client may have closed."""

    def __init__(self, request: Any, played: Played) -> None:
        self._request, self._played, self._gone = request, played, False
        finished: Deferred[None] = request.notifyFinish()
        finished.addErrback(self._hung_up)

    def _hung_up(self, reason: object) -> None:
        self._gone = True

    def end(self) -> None:
        """End the request as its outcome says."""
        if self._gone or self._played.ending is Ending.SILENT:
            return
        if self._played.reply is None:
            self._request.channel.transport.abortConnection()
        elif self._played.ending is Ending.HALF:
            self._begin(self._played.reply)
            self._request.write(self._played.reply.body[: len(self._played.reply.body) // 2])
            # The client receives what was written, and then the end.
            self._request.channel.loseConnection()
        else:
            self._begin(self._played.reply)
            self._request.write(self._played.reply.body)
            self._request.finish()

    def _begin(self, reply: Reply) -> None:
        self._request.setResponseCode(reply.status)
        for name, value in reply.headers.items():
            self._request.setHeader(name, value)
        if reply.status != 204:
            self._request.setHeader("content-length", str(len(reply.body)))


class HangUp(Protocol):
    """Closes a connection at once, before TLS starts."""

    def connectionMade(self) -> None:
        transport = self.transport
        assert transport is not None
        getattr(transport, "abortConnection", transport.loseConnection)()


class FiscalSite(Site):
    """The site of the server; it refuses connections while the first rule is `unreachable` for `any`.

    :param behind_tls: whether a TLS factory wraps it, which cannot refuse a connection itself.
    :param stamps: the time-stamp provider at ``/tsp``, if any.
    """

    def __init__(
        self,
        server: FiscalServer,
        reactor: IReactorTime | None = None,
        behind_tls: bool = False,
        stamps: StampProvider | None = None,
    ) -> None:
        Site.__init__(self, FiscalResource(server, stamps), reactor=reactor or server.clock, timeout=None)
        self._server, self._behind_tls = server, behind_tls

    def buildProtocol(self, addr: IAddress | None) -> Any:
        """A connection, unless a rule says that the server is unreachable."""
        rules = self._server.scenario.document()["rules"]
        if rules and rules[0]["then"] == Then.UNREACHABLE and rules[0]["on"] == "any":
            self._server.scenario.take("any")
            return HangUp() if self._behind_tls else None
        return Site.buildProtocol(self, addr)
