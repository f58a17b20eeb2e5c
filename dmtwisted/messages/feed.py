"""Hands out events from the store, to any number of readers that each know how far they have read.

Readers near the end share what is read and rendered; one that is far behind reads the store for itself. Nothing is
read while nobody waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from dmtwisted.messages.bodies import NameOf, message_of
from dmtwisted.messages.kinds import Message
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import StoreFailed

LOOK_S = 0.25
"""Seconds between two looks into the store while somebody waits: one question, most of which find nothing."""

PAUSE_S = 2.0
"""Seconds until the next look after the store failed."""

PAGE = 100
"""The most events that are read together."""

STRETCH = 0.002
"""Seconds that a read may take without a rest, which is as long: readers far behind leave tills half of the time."""

KEPT = 1 << 20
"""Bytes of messages in memory for readers near the end."""


class Batch(NamedTuple):
    """The next messages, and the place up to which they are all; whether retention has removed others of them."""

    messages: list[Message]
    until: int
    gone: bool = False


class Feed:
    """The events of the store as messages.

    :param name_of: the name of a device by its number, also of one that is gone.
    """

    log = Logger()

    def __init__(self, store: IStore, clock: IReactorTime, name_of: NameOf) -> None:
        self._store, self._clock, self._name_of = store, clock, name_of
        self._kept: deque[Message] = deque()
        self._from = self._until = self._size = 0
        self._waiting: list[_Waiter] = []
        self._looking = self._stopped = False
        self._next: IDelayedCall | None = None

    async def end(self) -> int:
        """The place after which everything is still to come.

        :raises StoreFailed: when the store cannot be read.
        """
        return (await self._store.last_event()).n

    async def resume(self, name: str) -> tuple[int, bool]:
        """The place at which a reader goes on that knows the message with this id, and whether it missed some.

        Only a place that retention has removed is known to have missed some; `read` tells what else is gone. An id
        that is not of this store, as after a restore, goes on at the end.
        A place without the rest of an id is taken as it is.

        :raises StoreFailed: when the store cannot be read.
        """
        place, dash, chain = name.partition("-")
        end = await self.end()
        if not (place.isascii() and place.isdigit()) or len(place) > LONGEST_PLACE or int(place) > end:
            return end, True
        n = int(place)
        if not dash:
            return n, False
        known = (await self._store.events(n, 1, [])).chain
        if not known:
            return n, True
        return (n, False) if known[:4].hex() == chain else (end, True)

    async def name(self, place: int) -> str:
        """What a reader who has read up to a place gives back to go on there (`resume`), as the id of an event is.

        :raises StoreFailed: when the store cannot be read.
        """
        chain = (await self._store.events(place, 1, [])).chain
        return f"{place}-{chain[:4].hex()}" if chain else str(place)

    async def read(self, after: int, limit: int = PAGE, devices: Collection[int] = ()) -> Batch:
        """The next messages after a place, of some devices or of all; at most ``limit``.

        There may be more when it returns none, as long as ``until`` is beyond ``after``.

        :raises StoreFailed: when the store cannot be read.
        """
        if self._looking_on and self._from <= after < self._until:
            return self._near(after, limit, devices)
        begun = self._clock.seconds()
        page = await self._store.events(after, min(limit, PAGE), sorted(devices))
        made = [message_of(row, self._name_of) for row in page.events]
        spent = self._clock.seconds() - begun
        if spent >= STRETCH:
            await deferLater(self._clock, min(spent, LOOK_S))
        return Batch([message for message in made if message is not None], page.until, page.gone)

    async def more(self, after: int, seconds: float) -> bool:
        """Wait until there may be something after a place, at most so long; return whether there may be.

        The caller has read everything up to that place.

        :raises StoreFailed: when the service stops.
        """
        if self._stopped:
            raise StoreFailed("the database is being closed")
        if not self._looking_on:
            self._kept.clear()
            self._from = self._until = after
            self._size = 0
            self._look_in(0)
        elif after < self._until:
            return True
        waiter = _Waiter(after)
        self._waiting.append(waiter)
        late = self._clock.callLater(seconds, waiter.end, False)
        try:
            return await waiter.due
        finally:
            if late.active():
                late.cancel()
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def soon(self) -> None:
        """Something may have been stored: look for those that wait."""
        if self._waiting:
            self._look_in(0)

    def stop(self) -> None:
        """Let nobody wait any more."""
        self._stopped = True
        for waiter in list(self._waiting):
            waiter.end(False)
        self._waiting.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    @property
    def _looking_on(self) -> bool:
        """Whether what is kept in memory goes on to grow."""
        return self._looking or self._next is not None

    def _near(self, after: int, limit: int, devices: Collection[int]) -> Batch:
        found: list[Message] = []
        for message in self._kept:
            if message.place > after and (not devices or message.device_n in devices):
                found.append(message)
                if len(found) == limit:
                    return Batch(found, message.place)
        return Batch(found, self._until)

    def _look_in(self, seconds: float) -> None:
        if self._looking:
            return
        if self._next is not None:
            if seconds and self._next.active():
                return
            self._next.cancel()
        self._next = self._clock.callLater(seconds, self._look)

    def _look(self) -> None:
        self._next = None
        if self._waiting:
            self._looking = True
            Deferred.fromCoroutine(self._looked())

    async def _looked(self) -> None:
        """Read what is new, and wake those that wait for it; never raises."""
        pause = LOOK_S
        try:
            page = await self._store.events(self._until, PAGE, [])
            made = filter(None, (message_of(row, self._name_of) for row in page.events))
            self._keep(list(made))
            self._until = page.until
            if len(page.events) == PAGE:
                pause = 0.0
        except StoreFailed:
            # What was missed is read later.
            pause = PAUSE_S
        except Exception:
            self.log.failure("the events could not be read")
            pause = PAUSE_S
        # While they are woken they may read, and wait again.
        for waiter in [waiter for waiter in self._waiting if waiter.after < self._until]:
            self._waiting.remove(waiter)
            waiter.end(True)
        self._looking = False
        if self._waiting:
            self._look_in(pause)

    def _keep(self, messages: list[Message]) -> None:
        self._kept.extend(messages)
        self._size += sum(len(message.body) for message in messages)
        while self._size > KEPT:
            gone = self._kept.popleft()
            self._from = gone.place
            self._size -= len(gone.body)


LONGEST_PLACE = 18
"""Digits of a place."""


class _Waiter:
    """One that waits for what comes after a place."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.due: Deferred[bool] = Deferred()

    def end(self, found: bool) -> None:
        if not self.due.called:
            self.due.callback(found)
