"""The simulated fiscal server without a socket (docs/reference/http-interface.md#simulated-devices)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime

from protocols.errors import LineLost, NotReached, Silent
from protocols.fiscal.verdicts import Reply
from protocols.simulators.fiscal_calls import Call, Ending
from protocols.simulators.fiscal_server import FiscalServer


class InProcessExchange:
    """Sends requests to ``server`` as `protocols.fiscal.https` does to the real one.

    :param patience: seconds to wait for an answer.
    """

    def __init__(self, server: FiscalServer, clock: IReactorTime, patience: float) -> None:
        self._server, self._clock, self._patience = server, clock, patience

    async def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send one request.

        :raises NotReached: when nothing arrived.
        :raises WireError: any other: it may have arrived, and no whole answer came.
        """
        address = urlsplit(url)
        lower = {name.lower(): value for name, value in headers.items()}
        played = self._server.receive(Call(method, address.path, address.query, lower, body))
        silent = played.ending is Ending.SILENT or played.delay_s > self._patience
        try:
            await self._pause(self._patience if silent else played.delay_s)
        except CancelledError:
            raise LineLost("given up") from None
        if played.ending is Ending.UNREACHABLE:
            raise NotReached("connection refused")
        if silent:
            raise Silent(self._patience)
        if played.reply is None or played.ending is not Ending.WHOLE:
            raise LineLost("the connection broke before the answer was whole")
        return played.reply

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            over: Deferred[None] = Deferred()
            self._clock.callLater(seconds, over.callback, None)
            await over
