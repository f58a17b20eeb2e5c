"""Calls to one server over a connection that is kept (docs/reference/tax-service.md#answers).

A kept connection saves a sale two or three round trips. It may have died unnoticed, so one that was quiet for a while
answers a PING first: a call is written only where somebody reads. A call that a kept connection certainly did not get
through is made once more on a new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from protocols.errors import LineLost, NotReached, Silent, WireError

if TYPE_CHECKING:
    from protocols.grpc.connection import ClientConnection

CONNECT_S = 10.0
"""Seconds for name, TCP, TLS and the server's first frame together."""

QUIET_S = 5.0
"""Seconds after which a kept connection is asked by a PING before a call. Servers close connections that send many
PINGs without calls, so there are no others."""

PING_S = 3.0
"""Seconds to wait for the answer to a PING; then a new connection is opened."""

IDLE_S = 300.0
"""Seconds without a call after which the connection is closed."""


class Channel:
    """Calls to one server; several may be due at once.

    :param endpoint: to the server, with TLS or without; its failures are `NotReached`.
    :param authority: the server's name, with its port when that is not the usual one.
    :param patience: seconds to connect.
    :param idle: seconds without a call after which the connection is closed.
    """

    def __init__(
        self,
        clock: IReactorTime,
        endpoint: IStreamClientEndpoint,
        authority: str,
        secure: bool,
        patience: float = CONNECT_S,
        idle: float = IDLE_S,
    ) -> None:
        self._clock, self._endpoint, self._patience = clock, endpoint, patience
        self._authority, self._scheme, self._idle = authority, "https" if secure else "http", idle
        self._turn = DeferredLock()
        self._kept: ClientConnection | None = None

    async def __call__(self, path: str, request: bytes, deadline: float) -> bytes:
        """Make one call, connecting included.

        :param deadline: seconds.
        :raises NotReached: when the server certainly has not processed it.
        :raises WireError: any other: it may have.
        """
        until = self._clock.seconds() + deadline
        connection, fresh = await self._connection(until)
        try:
            return await connection.call(path, request, self._left(until))
        except NotReached:
            if fresh:
                raise
        connection, _ = await self._connection(until)
        return await connection.call(path, request, self._left(until))

    def close(self) -> None:
        """Close the connection; calls that are due lose their answers."""
        if self._kept is not None and self._kept.usable:
            self._kept.leave()

    def _left(self, until: float) -> float:
        left = until - self._clock.seconds()
        if left <= 0:
            raise NotReached("no time left")
        return left

    async def _connection(self, until: float) -> tuple[ClientConnection, bool]:
        """A connection that answers, and whether it is new."""
        patience = min(self._left(until), self._patience)
        found: Deferred[tuple[ClientConnection, bool]] = Deferred.fromCoroutine(self._found())

        def late(result: object, seconds: float) -> Failure:
            return Failure(NotReached(f"no connection in {seconds:g} s"))

        try:
            return await found.addTimeout(patience, self._clock, late)
        except CancelledError:
            raise NotReached("given up") from None

    async def _found(self) -> tuple[ClientConnection, bool]:
        await self._turn.acquire()
        try:
            if self._kept is not None and await self._alive(self._kept):
                return self._kept, False
            self._kept = await self._opened()
            return self._kept, True
        finally:
            self._turn.release()

    async def _alive(self, kept: ClientConnection) -> bool:
        if not kept.usable or kept.quiet_s < QUIET_S:
            return kept.usable
        try:
            await kept.ping().addTimeout(PING_S, self._clock, _unheard)
        except WireError as error:
            kept.break_off(error)
        return kept.usable

    async def _opened(self) -> ClientConnection:
        from protocols.grpc.connection import ClientConnection

        connection = ClientConnection(self._clock, self._authority, self._scheme, self._idle)
        try:
            await self._endpoint.connect(Factory.forProtocol(lambda: connection))
            await connection.ready()
        except Exception as error:
            if connection.transport is not None:
                connection.break_off(LineLost("given up"))
            if isinstance(error, NotReached | CancelledError):
                raise
            raise NotReached(str(error) or type(error).__name__) from error
        return connection


def _unheard(result: object, seconds: float) -> Failure:
    return Failure(Silent(seconds))
