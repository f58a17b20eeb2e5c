"""One task at a time for each device (specification 1.9).

A busy register refuses the next task at once; printers and terminals let tasks wait for a while, in their order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, TypeVar

from twisted.internet.defer import DeferredLock, TimeoutError
from twisted.internet.interfaces import IReactorTime

from dmtwisted.results import Refused, Res

T = TypeVar("T")

MINI_QUEUE = 15.0
"""Seconds that a task waits for a busy printer or terminal (specification 1.9, 8)."""

QUESTION = 15.0
"""Seconds that a task waits for the end of a question; a busy register refuses tasks behind other tasks only."""


async def acquire(lock: DeferredLock, until: float, clock: IReactorTime) -> None:
    """Take ``lock`` by ``until``, a moment of ``clock``.

    :raises Refused: 1105 when it is still taken then.
    """
    if not lock.locked:
        lock.acquire()
        return
    left = until - clock.seconds()
    if left <= 0:
        raise Refused(Res.DEVICE_BUSY)
    try:
        await lock.acquire().addTimeout(left, clock)
    except TimeoutError:
        raise Refused(Res.DEVICE_BUSY) from None


class Turns:
    """The turns of tasks at one device.

    :param clock: a steady one.
    :param patience: seconds that a task may wait for its turn; 0 refuses at once.
    :param own: takes the device over where several services share it; refuses when another service owns it.
    """

    def __init__(
        self, clock: IReactorTime, patience: float, own: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._clock, self._patience, self._own = clock, patience, own
        self._lock = DeferredLock()
        self._lent = False

    @property
    def busy(self) -> bool:
        """Whether a task is running now; a question (`lend`) is none."""
        return self._lock.locked and not self._lent

    @property
    def taken(self) -> bool:
        """Whether the next task has to wait, be it for a question."""
        return self._lock.locked

    async def lend(self, question: Callable[[], Awaitable[T]]) -> T | Literal[False]:
        """Ask the device ``question`` between two tasks; a task that comes meanwhile waits for its end.

        :returns: its answer; false when the device is taken now.
        """
        if self._lock.locked:
            return False
        self._lock.acquire()
        self._lent = True
        try:
            answer = await question()
        except GeneratorExit:
            # It is collected as garbage, and so is who waits for the turn: nobody can take it any more.
            raise
        except BaseException:
            self._take_back()
            raise
        self._take_back()
        return answer

    def _take_back(self) -> None:
        self._lent = False
        self._lock.release()

    def turn(self) -> DeferredLock:
        """Within ``async with turns.turn()`` no other task has the device; the turn may take long to come.

        For work that is not a task: only task endpoints answer 1105 (specification 1.9).
        """
        # The lock itself: a generator around it could be collected before the coroutine inside, and closing that
        # coroutine would then end in "generator didn't stop after athrow()".
        return self._lock

    def owned(self) -> DeferredLock | _Owned:
        """As `turn`, and this service owns the device.

        :raises Refused: 1105, on entry, when another service owns it.
        """
        return self._lock if self._own is None else _Owned(self._lock, self._own)

    def deadline(self) -> float:
        """When a task gives up that begins to wait now; one for all the queues that it waits in."""
        return self._clock.seconds() + (QUESTION if self._lent else self._patience)

    async def take(self, until: float | None = None) -> None:
        """Begin the turn of a task; the caller gives it back.

        :param until: the deadline of a task that waits in other queues too.
        :raises Refused: 1105 when the device stays busy for the whole patience, or another service owns it.
        """
        if not self._lock.locked:
            # Without one more coroutine: every sale comes here.
            self._lock.acquire()
        else:
            await acquire(self._lock, self.deadline() if until is None else until, self._clock)
        if self._own is not None:
            try:
                await self._own()
            except BaseException:
                self._lock.release()
                raise

    def give_back(self) -> None:
        """End the turn; the task that has waited longest is next."""
        self._lock.release()


class _Owned:
    """A turn at a device that this service has to own."""

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
