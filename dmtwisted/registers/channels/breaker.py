"""A server that does not answer costs one time-out, not one for each receipt."""

from __future__ import annotations

from collections.abc import Mapping

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from protocols.errors import NotReached, WireError
from protocols.fiscal.client import Exchange
from protocols.fiscal.verdicts import Reply

COSTLY_S = 2.0
"""A failure that took at least so many seconds counts; a refused connection costs no time and does not."""


class Breaker:
    """An exchange that sends a server nothing for a while after it did not answer in time.

    Meanwhile every request fails at once and is known not to have left, except where a caller waits to hear what
    became of a document (`insist`).

    :param pause: seconds without requests.
    """

    log = Logger()

    def __init__(self, exchange: Exchange, clock: IReactorTime, pause: float) -> None:
        self._exchange, self._clock, self._pause = exchange, clock, pause
        self._until = 0.0

    def insist(self) -> None:
        """Let the next request through: a caller waits for what it asks."""
        self._until = 0.0

    async def greet(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Carry a request that nobody waits for, whatever pause lasts; an answer ends the pause.

        :raises WireError: as the exchange does; it neither begins a pause nor makes one longer.
        """
        reply = await self._exchange(method, url, headers, body)
        self._until = 0.0
        return reply

    async def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Carry one request, unless the pause lasts.

        :raises NotReached: when nothing of it left. :raises WireError: in any other way: it left, and no answer came.
        """
        begun = self._clock.seconds()
        # More than the pause is left only when the clock was set back.
        if 0 < self._until - begun <= self._pause:
            raise NotReached(f"it did not answer in time and is asked again in {self._until - begun:.0f} s")
        try:
            return await self._exchange(method, url, headers, body)
        except WireError as error:
            now = self._clock.seconds()
            if now - begun >= COSTLY_S:
                self._until = now + self._pause
                self.log.warn(
                    "no requests to {url} for {pause:g} s: {why}", url=url, pause=self._pause, why=str(error)
                )
            raise
