"""The till's HTTP server for notices of terminals (docs/reference/nexo.md#notices).

A terminal that is set up to do so posts each notice to one address of the till, over HTTP or HTTPS. It expects
an empty answer; a notice that was not delivered is not repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.error import CannotListenError
from twisted.internet.interfaces import IDelayedCall, IListeningPort, IReactorTime
from twisted.internet.ssl import PrivateCertificate
from twisted.logger import Logger
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.web.resource import Resource
from twisted.web.server import Request, Site

from protocols.errors import Garbled
from protocols.terminals.nexo.notice import Notice
from protocols.terminals.nexo.sealing import Seal

LONGEST = 100_000
"""Bytes of a notice."""

QUIET = 60.0
"""Seconds after which a silent connection is closed."""

AGAIN = 1.0
"""Seconds between two tries to open a port that is taken."""


class Notices(Resource):
    """Takes notices on any path and calls ``progress`` with each.

    A notice proves nothing and never changes the outcome of an operation.

    :param sender: the terminal's address; empty accepts any.
    """

    isLeaf = True
    log = Logger()

    def __init__(self, progress: Callable[[Notice], object], seal: Seal | None = None, sender: str = "") -> None:
        Resource.__init__(self)
        self._progress, self._seal, self._sender = progress, seal, sender

    def render_POST(self, request: Request) -> bytes:
        """Take one notice; 400 for anything else, 403 for another sender."""
        assert request.content is not None
        if self._sender and getattr(request.getClientAddress(), "host", "") != self._sender:
            request.setResponseCode(403)
            return b""
        message = request.content.read(LONGEST + 1)
        try:
            notice = Notice.decode(message if self._seal is None else self._seal.open(message))
        except Garbled as garbled:
            self.log.warn("a notice that cannot be read: {what}", what=garbled.what)
            request.setResponseCode(400)
            return b""
        self._progress(notice)
        return b""


class NoticePort:
    """A TCP port for the notices of one terminal, open as long as its driver is.

    :param reactor: listens; its time is that of deadlines.
    :param pem: certificate and private key, for HTTPS; empty for HTTP.
    """

    log = Logger()

    def __init__(self, reactor: Any, number: int, pem: str = "", interface: str = "") -> None:
        self.number = number
        self._reactor, self._interface = reactor, interface
        self._tls = PrivateCertificate.loadPEM(pem).options() if pem else None
        self._port: IListeningPort | None = None
        self._again: IDelayedCall | None = None
        self._served: Any = None
        self.why = "it is not open yet"
        """Why it is not open; empty when it is."""

    def open(self, notices: Notices) -> None:
        """Listen; a port in use, for example by the same device before a change, is tried again until `close`."""
        clock: IReactorTime = self._reactor
        site = Site(notices, timeout=QUIET, reactor=clock)
        self._served = site if self._tls is None else TLSMemoryBIOFactory(self._tls, False, site, clock)
        self._listen()

    def _listen(self) -> None:
        self._again = None
        try:
            self._port = self._reactor.listenTCP(self.number, self._served, interface=self._interface)
        except CannotListenError as error:
            if self.why != str(error):
                # Only a warning: payments do not need notices.
                self.log.warn("notices of the terminal cannot be received: {why}", why=str(error))
            self.why = str(error)
            self._again = self._reactor.callLater(AGAIN, self._listen)
        else:
            self.why = ""

    def close(self) -> None:
        """Stop listening."""
        self.why = "it is closed"
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if self._port is not None:
            self._port.stopListening()
            self._port = None
