"""What has to be told outwards after an outcome: letters in the store, tried until they are told.

A letter is stored in the transaction of the outcome that it tells of (`dmtwisted.store.values.Outcome`), so it exists
exactly when that does. Each kind of letter has a sender. A try begins with a lease: until its end nobody else tries
the letter, whatever happens to this process. *Power fails before the letter is dropped:* it is tried once more, so a
receiver gets it once, or twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import LetterRow, StoreFailed

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 5_000, 3_600_000
"""Milliseconds until the second try; each later pause is twice as long, up to an hour."""

CHECK_S = 300.0
"""Seconds after which the store is looked at anyway: another service on the database may have left letters."""


class Later(Exception):
    """The letter was not told, or may not have been: it is tried again after a pause."""


class Never(Exception):
    """The letter will not be taken, however often it is tried: it is dead until a person decides."""


Send = Callable[[LetterRow], Awaitable[None]]
"""Tells one letter; returns when it was taken, else raises `Later` or `Never`."""


class Outbox:
    """Tells letters, each kind by its own sender, one at a time and beside the other kinds.

    Without letters it costs a question at the start and one every `CHECK_S`.
    """

    def __init__(self, store: IStore, clock: ServiceClock) -> None:
        self._store, self._clock = store, clock
        self._lanes: dict[str, _Lane] = {}

    def tell_by(self, kind: str, send: Send, lease_s: float) -> None:
        """Letters of this kind go to ``send``; said before `start`.

        :param lease_s: more seconds than one try takes; after a kill a letter waits for so long.
        """
        self._lanes[kind] = _Lane(kind, send, lease_s, self._store, self._clock)

    def start(self) -> None:
        """Begin with what is due."""
        for lane in self._lanes.values():
            lane.start()

    def posted(self) -> None:
        """Letters were stored, which are due at once."""
        for lane in self._lanes.values():
            lane.wake()

    async def stop(self) -> None:
        """Begin no more tries; return when those under way have ended."""
        for lane in self._lanes.values():
            await lane.stop()


class _Lane:
    """The letters of one kind."""

    log = Logger()

    def __init__(self, kind: str, send: Send, lease_s: float, store: IStore, clock: ServiceClock) -> None:
        self._kind, self._send, self._store, self._clock = kind, send, store, clock
        self._lease = int(lease_s * 1000)
        self._running = self._busy = self._woken = False
        self._next: IDelayedCall | None = None
        self._over: Deferred[None] | None = None

    def start(self) -> None:
        self._running = True
        self.wake()

    def wake(self) -> None:
        if not self._running:
            return
        if self._busy:
            self._woken = True
            return
        self._forget()
        self._busy = True
        Deferred.fromCoroutine(self._work())

    async def stop(self) -> None:
        self._running = False
        self._forget()
        if self._busy:
            self._over = Deferred()
            await self._over

    def _forget(self) -> None:
        if self._next is not None:
            self._next.cancel()
            self._next = None

    async def _work(self) -> None:
        """Tell what is due, then wait for the next one; never raises."""
        pause = CHECK_S
        try:
            while self._running and await self._one():
                pass
            due = await self._store.next_letter([self._kind])
            if due is not None:
                pause = min(max((due - self._clock.now()) / 1000, 0.1), CHECK_S)
        except StoreFailed as error:
            self.log.warn("letters of {kind} wait for the database: {why}", kind=self._kind, why=str(error))
        except Exception:
            self.log.failure("letters of {kind} wait", kind=self._kind)
        self._busy = False
        if self._over is not None:
            self._over.callback(None)
        elif self._running:
            woken, self._woken = self._woken, False
            self._next = self._clock.callLater(0 if woken else pause, self._due)

    def _due(self) -> None:
        self._next = None
        self.wake()

    async def _one(self) -> bool:
        """Try one letter; return whether another may be due."""
        now = self._clock.now()
        taken = await self._store.take_letters([self._kind], now, now + self._lease, 1)
        for letter in taken:
            reached("outbox.taken")
            try:
                await self._send(letter)
            except Later as error:
                due = self._clock.now() + pause_after(letter)
                self.log.warn("a letter of {kind} is tried again: {why}", kind=self._kind, n=letter.n, why=str(error))
                await self._store.put_letter(letter.n, due, False, str(error)[:400])
            except Never as error:
                self.log.error("a letter of {kind} is dead: {why}", kind=self._kind, n=letter.n, why=str(error))
                await self._store.put_letter(letter.n, letter.due, True, str(error)[:400])
            else:
                reached("outbox.told")
                await self._store.drop_letter(letter.n)
        return bool(taken)


def pause_after(letter: LetterRow) -> int:
    """Milliseconds until a letter that failed is tried again."""
    return pause_ms(letter.n, letter.attempts, LONGEST_PAUSE_MS)


def pause_ms(n: int, attempts: int, longest: int) -> int:
    """Milliseconds until what failed is tried again; spread, so that many do not come at one moment.

    :param n: tells it from others. :param attempts: how often it failed.
    """
    whole = min(FIRST_PAUSE_MS << min(attempts - 1, 20), longest)
    return whole - Random(n * 31 + attempts).randrange(whole // 5)
