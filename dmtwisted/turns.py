"""One task at a time for each device (specification 1.9).

A register refuses whoever comes while it works; printers and terminals let others wait in the order in which
they came, for a while. Patience is the only difference, so there is one mechanism.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from twisted.internet.defer import DeferredLock, TimeoutError
from twisted.internet.interfaces import IReactorTime

from dmtwisted.results import Refused, Res

MINI_QUEUE = 15.0
"""Seconds that a task waits for a busy printer or terminal (specification 1.9, 8)."""


class Turns:
    """Whose turn it is at one device.

    :param patience: seconds that a task may wait for its turn; 0 refuses at once.
    :param own: sees to it that the device is this service's, where others share it; refuses when it is not.
    """

    def __init__(
        self, clock: IReactorTime, patience: float, own: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._clock, self._patience, self._own = clock, patience, own
        self._lock = DeferredLock()

    @property
    def busy(self) -> bool:
        """Whether a task is running now."""
        return self._lock.locked

    def turn(self) -> DeferredLock:
        """The device is the caller's alone inside of ``async with turns.turn()``, however long that takes to come.

        For what is no task: only task endpoints answer 1105 (specification 1.9).
        """
        # The lock as it is. Around it, a generator could be collected before the coroutine that stands inside of it,
        # and closing that coroutine would then end in "generator didn't stop after athrow()".
        return self._lock

    def owned(self) -> DeferredLock | _Owned:
        """As `turn`, and the device is this service's, where others share it.

        :raises Refused: 1105, on the way in, when another service has it.
        """
        return self._lock if self._own is None else _Owned(self._lock, self._own)

    async def take(self) -> None:
        """Begin the turn of a task; whoever took it gives it back.

        :raises Refused: 1105 when the device is busy and stays so for the whole patience, or another service has it.
        """
        if not self._lock.locked:
            # Ours at once: there is nothing to wait for, and this is on the way of every sale.
            self._lock.acquire()
        elif not self._patience:
            raise Refused(Res.DEVICE_BUSY)
        else:
            try:
                await self._lock.acquire().addTimeout(self._patience, self._clock)
            except TimeoutError:
                raise Refused(Res.DEVICE_BUSY) from None
        if self._own is not None:
            try:
                await self._own()
            except BaseException:
                self._lock.release()
                raise

    def give_back(self) -> None:
        """End the turn; the one who has waited longest is next."""
        self._lock.release()


class _Owned:
    """A turn at a device that has to be ours."""

    def __init__(self, lock: DeferredLock, own: Callable[[], Awaitable[None]]) -> None:
        self._lock, self._own = lock, own

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        try:
            await self._own()
        except BaseException:
            self._lock.release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
