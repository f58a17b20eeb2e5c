"""A server that does not answer costs one time-out, not one for each receipt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from protocols.errors import NotReached, WireError
from protocols.fiscal.client import Exchange
from protocols.fiscal.verdicts import Reply

Call = Callable[[str, bytes, float], Awaitable[bytes]]
"""As `protocols.fiscal.cabinet.client.Call`, which is loaded only with a register that needs it."""

T = TypeVar("T")
Carry = Callable[[], Awaitable[T]]

COSTLY_S = 2.0
"""A failure that took at least so many seconds counts; a refused connection costs no time and does not."""


class Pausing:
    """Sends a server nothing for a while after it did not answer in time.

    Meanwhile every request fails at once and is known not to have left, except where a caller waits to hear what
    became of a document (`insist`).

    :param pause: seconds without requests.
    """

    log = Logger()

    def __init__(self, clock: IReactorTime, pause: float) -> None:
        self._clock, self._pause = clock, pause
        self._until = 0.0

    def insist(self) -> None:
        """Let the next request through: a caller waits for what it asks."""
        self._until = 0.0

    async def greeted(self, carry: Carry[T]) -> T:
        """Carry a request that nobody waits for, whatever pause lasts; an answer ends the pause.

        :raises WireError: as ``carry`` does; it neither begins a pause nor makes one longer.
        """
        reply = await carry()
        self._until = 0.0
        return reply

    async def carried(self, carry: Carry[T], where: str) -> T:
        """Carry one request, unless the pause lasts.

        :raises NotReached: when nothing of it left. :raises WireError: in any other way: it left, and no answer came.
        """
        begun = self._clock.seconds()
        # More than the pause is left only when the clock was set back.
        if 0 < self._until - begun <= self._pause:
            raise NotReached(f"it did not answer in time and is asked again in {self._until - begun:.0f} s")
        try:
            return await carry()
        except WireError as error:
            now = self._clock.seconds()
            if now - begun >= COSTLY_S:
                self._until = now + self._pause
                self.log.warn(
                    "no requests to {url} for {pause:g} s: {why}", url=where, pause=self._pause, why=str(error)
                )
            raise


class Breaker(Pausing):
    """An exchange by HTTP with such pauses."""

    def __init__(self, exchange: Exchange, clock: IReactorTime, pause: float) -> None:
        super().__init__(clock, pause)
        self._exchange = exchange

    async def greet(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Carry a request as `greeted` does."""
        return await self.greeted(lambda: self._exchange(method, url, headers, body))

    async def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Carry a request as `carried` does."""
        return await self.carried(lambda: self._exchange(method, url, headers, body), url)


class CallBreaker(Pausing):
    """Calls by gRPC with such pauses."""

    def __init__(self, call: Call, clock: IReactorTime, pause: float) -> None:
        super().__init__(clock, pause)
        self._call = call

    async def greet(self, method: str, request: bytes, deadline: float) -> bytes:
        """Make a call as `greeted` does."""
        return await self.greeted(lambda: self._call(method, request, deadline))

    async def __call__(self, method: str, request: bytes, deadline: float) -> bytes:
        """Make a call as `carried` does."""
        return await self.carried(lambda: self._call(method, request, deadline), method)
