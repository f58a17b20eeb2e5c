"""The register's end of one connection to an SSI terminal (docs/reference/ssi-json.md#frame)."""

from __future__ import annotations

from collections.abc import Callable

from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.interfaces import IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from protocols.errors import Garbled, LineLost, NotReached, WireError
from protocols.terminals.lines import drop, ignore, notify, silent
from protocols.terminals.ssi_json.messages import Deframer, Reply, Request, frame

LateReply = Callable[[Reply], object]


class SsiLine(Protocol):
    """One connection: one request at a time, and its reply.

    When a reply does not come the line is closed, so that a late one cannot answer the next request.

    :param clock: for the deadline.
    :param late: called with each reply without a request.
    """

    log = Logger()

    def __init__(self, clock: IReactorTime, late: LateReply = ignore) -> None:
        self._clock, self._late = clock, late
        self._deframer = Deframer()
        self._asked: Request | None = None
        self._due: Deferred[Reply] | None = None
        self._open = False
        self._lost: Deferred[None] = Deferred()

    @property
    def usable(self) -> bool:
        """Whether the line is open."""
        return self._open

    def ask(self, request: Request, patience: float) -> Deferred[Reply]:
        """Send ``request``; fire with its reply.

        :raises NotReached: when the line is closed: nothing was sent.
        :raises WireError: `Silent`, `LineLost` or `Garbled`; the terminal may have taken the request.
        """
        if not self._open:
            return fail(NotReached("the line is closed"))
        assert self._due is None and self.transport is not None, "one request at a time"
        self._asked, self._due = request, Deferred(lambda _: self._give_up())
        self.log.debug("to the terminal: {request!r}", request=request)
        due = self._due
        self.transport.write(frame(request.encode()))
        return due.addTimeout(patience, self._clock, silent)

    def close(self) -> Deferred[None]:
        """Close the line; fires when it is closed."""
        if not self._open:
            return succeed(None)
        closed: Deferred[None] = Deferred()
        self._lost.addCallback(closed.callback)
        assert self.transport is not None
        self.transport.loseConnection()
        return closed

    def connectionMade(self) -> None:
        """Be ready for a request."""
        self._open = True

    def dataReceived(self, data: bytes) -> None:
        """Take the reply; noise ends the exchange and the line."""
        if not self._open:
            return
        try:
            for payload in self._deframer.feed(data):
                self._read(Reply.decode(payload))
        except Garbled as garbled:
            self.log.warn("the line is closed: {reason}", reason=garbled)
            self._abort(garbled)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        """Fail what is due; the terminal may still have taken the request."""
        self._end(LineLost(reason.getErrorMessage()))
        lost, self._lost = self._lost, Deferred()
        lost.callback(None)

    def _read(self, reply: Reply) -> None:
        self.log.debug("from the terminal: {reply!r}", reply=reply)
        if self._due is not None and self._asked is not None and _answers(reply, self._asked):
            due, self._due = self._due, None
            due.callback(reply)
            return
        self.log.info("a late reply: {reply!r}", reply=reply)
        notify(self._late, reply)

    def _give_up(self) -> None:
        self._due = None
        self._abort(LineLost("the line was closed"))

    def _abort(self, error: WireError) -> None:
        self._end(error)
        assert self.transport is not None
        drop(self.transport)

    def _end(self, error: WireError) -> None:
        self._open = False
        due, self._due = self._due, None
        if due is not None:
            due.errback(error)


def _answers(reply: Reply, asked: Request) -> bool:
    """Whether a reply is that of the request; the reply to an unreadable request names no method."""
    return reply.method.lower() == asked.method.lower() or (not reply.method and bool(reply.code))
