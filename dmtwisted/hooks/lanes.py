"""The events of one device on their way to one subscriber: one at a time, in order, until each is taken or dead.

A lane knows the place of the last event that was taken, or that its subscriber does not want. That is durable before
the next event goes out, so after a kill the last one may come twice, with the same id, and none is left out.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import Protocol

import msgspec
from msgspec.structs import replace
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.crash_points import reached
from dmtwisted.hooks.cursors import Cursors
from dmtwisted.messages.feed import Feed
from dmtwisted.messages.kinds import Message
from dmtwisted.outbox import pause_ms
from dmtwisted.store.values import DeadLetter, HookCursor, Letter, StoreFailed

HOOK = "hook"
"""The kind of a letter that holds an event which a subscriber never took."""

MOST_OF_LANE = 50
"""Events that are read, and held, for one lane at most."""

LONGEST_PAUSE_MS = 4 * 3600 * 1000
"""Milliseconds between two tries at most."""

MOST_TRIES, OLD_MS = 29, 3 * 24 * 3600 * 1000
"""An event is dead after so many failures in a row when it is older than this: with the pauses both are three days.

Failures alone would end early for a receiver that asks for short pauses, the age alone after a holiday or with a
wrong clock.
"""

AGAIN_S = 5.0
"""Seconds after a fault of ours until a lane goes on."""

LONGEST_WHY = 400


class Told(msgspec.Struct, frozen=True):
    """The payload of a dead letter."""

    subscriber: str
    id: str
    type: str
    at: int
    """When it happened, in milliseconds since 1970."""
    body: bytes


class Failed(Exception):
    """An event was not taken; the text says why.

    :param pause_s: the seconds that the receiver asks for.
    """

    def __init__(self, why: str, pause_s: float | None = None, gone: bool = False) -> None:
        super().__init__(why)
        self.pause_s, self.gone = pause_s, gone


class Held(Exception):
    """Nothing was tried: the receiver has asked for a pause meanwhile."""


class Way(Protocol):
    """What a lane knows of its subscriber (`dmtwisted.hooks.ways`)."""

    id: str
    name: str
    running: bool
    place: int

    @property
    def room(self) -> int:
        """How many events a lane may read, and hold."""

    feed: Feed
    cursors: Cursors
    clock: ServiceClock

    def wants(self, message: Message) -> bool:
        """Whether the subscriber wants this event."""

    def owns(self, device_n: int) -> bool:
        """Whether this service hands on the events of a device."""

    def pause(self, due: int) -> float | None:
        """The seconds until a lane whose next try is ``due`` may go on; `None` for now."""

    def hold(self, until: int) -> None:
        """Try nothing before this moment: the receiver asks for it."""

    def ended(self) -> None:
        """A lane has nothing more to do now."""

    async def gone(self) -> None:
        """The address is gone for good."""

    async def send(self, message: Message) -> None:
        """Make one try, when it is its turn among all.

        :raises Held: when the receiver has asked for a pause meanwhile.
        :raises Failed: when the event was not taken.
        """


class Lane:
    """The events of one device for one subscriber."""

    log = Logger()

    def __init__(self, way: Way, cursor: HookCursor) -> None:
        self._way, self.cursor = way, cursor
        self.at = self._read = cursor.told
        """The place of the last event that needs no more: taken, dead or not wanted."""
        self._queue: deque[Message] = deque()
        self.behind = cursor.told < way.place
        """Whether there may be events in the store that are not in the queue and will not be offered."""
        self.busy = self._stopped = False
        self._next: IDelayedCall | None = None
        self._under_way: Deferred[None] | None = None

    # What comes in

    def offer(self, message: Message) -> None:
        """Take an event that was read for all lanes."""
        if self.behind or message.place <= self._read:
            return
        if len(self._queue) >= self._way.room:
            # It reads by itself when it comes to that.
            self.behind = True
            return
        self._queue.append(message)
        self._read = message.place
        self._came()

    def passed(self, place: int) -> None:
        """Everything up to ``place`` was offered."""
        if self.behind:
            self._came()
        elif not self._queue and not self.busy:
            self.at = self._read = max(self.at, place)

    def left_out(self) -> None:
        """Something was read without the events of this device: it was another service's, for a moment at least."""
        self.behind = True
        self._came()

    def _came(self) -> None:
        """There is more; while the next try waits for its pause, that changes nothing."""
        if self._next is None:
            self.wake()

    def note(self) -> None:
        """Take what was passed into the cursor."""
        self.cursor = replace(self.cursor, told=self.at)

    @property
    def waiting(self) -> list[Message]:
        """The next events that wait."""
        return [one for one in self._queue if self._way.wants(one)]

    # What goes out

    def wake(self) -> None:
        """Go on, if something is due."""
        if self.busy or not self._running:
            return
        self.rest()
        self.busy = True
        Deferred.fromCoroutine(self._work())

    def hurry(self) -> None:
        """Try now what waits for its pause."""
        self.cursor = replace(self.cursor, due=0)
        self.wake()

    @property
    def _running(self) -> bool:
        return self._way.running and not self._stopped

    def stop(self) -> None:
        """Begin no more tries, and end the one that is under way."""
        self._stopped = True
        self.rest()
        if self._under_way is not None:
            self._under_way.cancel()

    def rest(self) -> None:
        """Begin no more tries by itself."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    async def _work(self) -> None:
        """Hand out what is due, then wait for the next; never raises."""
        pause: float | None = None
        try:
            while self._running and pause is None and (self._queue or self.behind):
                if not self._way.owns(self.cursor.device_n):
                    # Another service goes on from the cursor, and so do we when it is ours again.
                    self._queue.clear()
                    self._read, self.behind = self.at, True
                    break
                if not self._queue:
                    await self._catch_up()
                elif not self._way.wants(self._queue[0]):
                    self.at = self._queue.popleft().place
                else:
                    pause = self._way.pause(self.cursor.due) or await self._one(self._queue[0])
        except StoreFailed as error:
            self.log.warn("events wait for the database: {why}", why=str(error))
            pause = AGAIN_S
        except Exception:
            self.log.failure("events of a device wait")
            pause = AGAIN_S
        self.busy = False
        self._way.ended()
        if self._running and pause is not None:
            self._next = self._way.clock.callLater(pause, self._due)

    def _due(self) -> None:
        self._next = None
        self.wake()

    async def _catch_up(self) -> None:
        """Read the next events of this device from the store."""
        batch = await self._way.feed.read(self._read, self._way.room, [self.cursor.device_n])
        self._queue.extend(batch.messages)
        self._read = max(self._read, batch.until)
        self.behind = self._read < self._way.place
        if not self._queue:
            self.at = self._read

    async def _one(self, message: Message) -> float | None:
        """Try one event; return the seconds until it is tried again, `None` when the next one follows."""
        way = self._way
        self._under_way = Deferred.fromCoroutine(way.send(message))
        try:
            await self._under_way
        except Held:
            return way.pause(self.cursor.due)
        except CancelledError:
            return AGAIN_S
        except Failed as failed:
            return await self._failed(message, failed) if self._running else None
        finally:
            self._under_way = None
        reached("hook.told")
        now = way.clock.now()
        await self._keep(
            replace(self.cursor, told=message.place, told_at=now, attempts=0, since=0, due=0, why=""), message
        )
        return None

    async def _failed(self, message: Message, failed: Failed) -> float | None:
        way, now = self._way, self._way.clock.now()
        if failed.gone:
            await way.gone()
            return AGAIN_S
        attempts = self.cursor.attempts + 1
        pause = pause_ms(message.place, attempts, LONGEST_PAUSE_MS)
        if failed.pause_s is not None:
            pause = min(max(pause, int(failed.pause_s * 1000)), LONGEST_PAUSE_MS)
            way.hold(now + pause)
        cursor = replace(
            self.cursor, attempts=attempts, since=self.cursor.since or now, why=str(failed)[:LONGEST_WHY]
        )
        happened = happened_at(message.body)
        if attempts >= MOST_TRIES and now - happened > OLD_MS:
            self.log.error("{name} never took an event: {why}", name=way.name, why=cursor.why)
            told = Told(way.id, message.id, message.type, happened, message.body)
            letter = Letter(HOOK, message.device_n, now, msgspec.json.encode(told))
            await self._keep(replace(cursor, told=message.place), message, DeadLetter(letter, cursor.why))
            return None
        self.log.warn("{name} did not take an event: {why}", name=way.name, why=cursor.why)
        self.cursor = replace(cursor, due=now + pause)
        await way.cursors.keep([self.cursor])
        return way.pause(self.cursor.due)

    async def _keep(self, cursor: HookCursor, message: Message, dead: DeadLetter | None = None) -> None:
        """Make durable that ``message`` is done with, then go on to the next."""
        await self._way.cursors.keep([cursor], [] if dead is None else [dead])
        self.cursor, self.at = cursor, message.place
        if self._queue and self._queue[0] is message:
            self._queue.popleft()


class _Timed(msgspec.Struct):
    timestamp: datetime


def happened_at(body: bytes) -> int:
    """When the event in ``body`` happened, in milliseconds since 1970."""
    return int(msgspec.json.decode(body, type=_Timed).timestamp.timestamp() * 1000)
