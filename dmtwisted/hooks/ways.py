"""One subscriber: the lanes of its devices, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from twisted.internet.defer import CancelledError, Deferred, DeferredSemaphore
from twisted.internet.task import deferLater
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.hooks.cursors import Cursors
from dmtwisted.hooks.lanes import AGAIN_S, LONGEST_PAUSE_MS, MOST_OF_LANE, Failed, Held, Lane, happened_at
from dmtwisted.hooks.subscribers import Subscriber
from dmtwisted.messages.feed import Feed
from dmtwisted.messages.kinds import Message
from dmtwisted.store.values import HookCursor, StoreFailed

MOST_POSTS, MOST_OF_ONE = 8, 2
"""Requests at once, and of them to one subscriber: a slow one does not stop the others."""

READ = 200
"""Events that are read for all lanes together."""

MOST_HELD = 2000
"""Events that the lanes of one subscriber hold together; each holds one at least."""

CHECK_S = 60.0
"""Seconds after which the store is asked anyway: another service on it may have left events, or subscribers."""

OWNED_S = 1.0
"""Seconds between two looks whether a service without devices has one, which cost no question."""

SAVED_AFTER = 1000
"""Places after which also the lanes without events are noted, so that the next start reads only these again."""


class Waiting(NamedTuple):
    """What has not reached a subscriber yet, and how it was the last time."""

    number: int
    more: bool
    """Whether there are more than ``number``."""
    since: int
    """When the oldest of them happened, in milliseconds since 1970; 0 when none waits."""
    told_at: int
    """When it took an event the last time; 0 for never."""
    failing_since: int
    why: str
    next: int
    """When the next try is due that waits for its pause; 0 without one."""


class Common(NamedTuple):
    """What all ways use."""

    feed: Feed
    cursors: Cursors
    clock: ServiceClock
    posts: DeferredSemaphore
    send: Callable[[Subscriber, str, bytes], Awaitable[None]]
    """Makes one try. Raises `Failed`."""
    gone: Callable[[str], Awaitable[None]]
    owned: Callable[[], list[int] | None]
    """The devices whose events this service hands on; `None` for all."""
    alone: Callable[[], Awaitable[None]]
    """Sees to what belongs to no device, if no other service does."""


class Way:
    """The events on their way to one subscriber, until `stop`.

    :param known: how far its lanes were. :param begun: devices that have had an event.
    """

    log = Logger()

    def __init__(self, subscriber: Subscriber, common: Common, known: dict[int, HookCursor], begun: set[int]) -> None:
        self.subscriber, self._common, self._known, self._begun = subscriber, common, known, begun
        self.id, self.name = subscriber.id, subscriber.name
        self.feed, self.cursors, self.clock = common.feed, common.cursors, common.clock
        self._slots = DeferredSemaphore(MOST_OF_ONE)
        self._lanes: dict[int, Lane] = {}
        self._until = 0
        self._reading: Deferred[None] | None = None
        self._over: Deferred[None] | None = None
        self.running = True
        self.place = max([subscriber.since, *(one.told for one in known.values())])
        """Up to here every event was offered to its lane."""
        self._saved = self.place

    def start(self) -> None:
        """Begin."""
        self._reading = Deferred.fromCoroutine(self._read())

    def stop(self) -> None:
        """Hand out nothing more, not even what is under way."""
        self.running = False
        if self._reading is not None:
            self._reading.cancel()
        for lane in self._lanes.values():
            lane.stop()

    async def close(self) -> None:
        """Begin no more tries; return when those under way have ended and everything is noted."""
        self.running = False
        if self._reading is not None:
            self._reading.cancel()
        for lane in self._lanes.values():
            lane.rest()
        if any(lane.busy for lane in self._lanes.values()):
            self._over = Deferred()
            await self._over
        try:
            await self.save()
        except StoreFailed as error:
            self.log.warn("how far {name} is was not noted: {why}", name=self.name, why=str(error))

    def ended(self) -> None:
        """A lane has nothing more to do now."""
        if self._over is not None and not any(lane.busy for lane in self._lanes.values()):
            over, self._over = self._over, None
            over.callback(None)

    def change(self, subscriber: Subscriber) -> None:
        """Go on for the subscriber as it is now; a new address is tried at once."""
        moved = (subscriber.url, subscriber.allow_local, subscriber.ca) != (
            self.subscriber.url,
            self.subscriber.allow_local,
            self.subscriber.ca,
        )
        self.subscriber, self.name = subscriber, subscriber.name
        if moved:
            self.hurry()

    def hurry(self) -> None:
        """Try now what waits for its pause."""
        self._until = 0
        for lane in self._lanes.values():
            lane.hurry()

    def taken_over(self, device_n: int, cursor: HookCursor | None) -> None:
        """Hand on the events of a device from where another service has stopped."""
        lane = self._lanes.pop(device_n, None)
        if lane is not None:
            lane.stop()
        if cursor is not None:
            self._known[device_n] = cursor
        self.owned(device_n)

    def owned(self, device_n: int) -> None:
        """Begin with a device, which this service has from now on."""
        self._lane(device_n).wake()

    # For the lanes

    @property
    def room(self) -> int:
        """How many events a lane may read, and hold."""
        return max(1, min(MOST_OF_LANE, MOST_HELD // max(len(self._lanes), 1)))

    def wants(self, message: Message) -> bool:
        """Whether the subscriber wants this event."""
        return self.subscriber.wants(message.type) and self.subscriber.wants_of(message.device.id)

    def owns(self, device_n: int) -> bool:
        """Whether this service hands on the events of a device."""
        owned = self._common.owned()
        return owned is None or device_n in owned

    def pause(self, due: int) -> float | None:
        """The seconds until a lane whose next try is ``due`` may go on; `None` for now."""
        left = max(due, self._until) - self.clock.now()
        return max(left / 1000, 0.1) if left > 0 else None

    def hold(self, until: int) -> None:
        """Try nothing before this moment: the receiver asks for it."""
        self._until = until

    async def gone(self) -> None:
        """The address is gone for good."""
        await self._common.gone(self.id)

    async def send(self, message: Message) -> None:
        """Make one try, when it is its turn among all.

        :raises Held: when the receiver has asked for a pause meanwhile.
        :raises Failed: when the event was not taken.
        """
        async with self._slots, self._common.posts:
            if not self.running or self.pause(0) is not None:
                raise Held
            try:
                await self._common.send(self.subscriber, message.id, message.body)
            except Failed as failed:
                if failed.pause_s is not None:
                    # Before the next one gets this place.
                    self.hold(self.clock.now() + min(int(failed.pause_s * 1000), LONGEST_PAUSE_MS))
                raise

    # Reading

    async def _read(self) -> None:
        """Offer each event to the lane of its device; never raises."""
        try:
            owned = self._common.owned()
            for device_n in {*self._begun, *self._known} if owned is None else owned:
                self._lane(device_n)
            while self.running:
                await self._read_on()
        except CancelledError:
            pass

    async def _read_on(self) -> None:
        """Read what is next; a fault of ours or of the database only makes it later."""
        try:
            await self._read_next()
        except CancelledError:
            raise
        except StoreFailed as error:
            self.log.warn("events wait for the database: {why}", why=str(error))
            await deferLater(self.clock, AGAIN_S)
        except Exception:
            self.log.failure("events for {name} wait", name=self.name)
            await deferLater(self.clock, AGAIN_S)

    async def _read_next(self) -> None:
        owned = self._common.owned()
        if owned is not None and not owned:
            await self._rest()
            await self._common.alone()
            return
        batch = await self.feed.read(self.place, READ, owned or [])
        for message in batch.messages:
            self._lane(message.device_n).offer(message)
        moved, self.place = batch.until > self.place, max(batch.until, self.place)
        for device_n in owned or []:
            self._lane(device_n)
        for device_n, lane in list(self._lanes.items()):
            if owned is None or device_n in owned:
                lane.passed(self.place)
            elif moved:
                lane.left_out()
        if self.place - self._saved >= SAVED_AFTER:
            await self.save()
        if not moved:
            await self._common.alone()
            await self.feed.more(self.place, CHECK_S)

    async def _rest(self) -> None:
        """Wait until something is ours, or it is time to see whether another service has stopped."""
        until = self.clock.steady() + CHECK_S
        while self.clock.steady() < until and not self._common.owned():
            await deferLater(self.clock, OWNED_S)

    def _lane(self, device_n: int) -> Lane:
        lane = self._lanes.get(device_n)
        if lane is None:
            cursor = self._known.get(device_n) or HookCursor(self.id, device_n, self.subscriber.since)
            lane = self._lanes[device_n] = Lane(self, cursor)
            lane.wake()
        return lane

    async def save(self) -> None:
        """Note how far the lanes are, also those without events."""
        moved = [lane for lane in self._lanes.values() if not lane.busy and lane.at > lane.cursor.told]
        for lane in moved:
            lane.note()
        self._saved = self.place
        if moved:
            await self.cursors.keep([lane.cursor for lane in moved])

    def known(self) -> dict[int, HookCursor]:
        """How far its lanes are."""
        return {**self._known, **{device_n: lane.cursor for device_n, lane in self._lanes.items()}}

    # What a person sees

    def waiting(self) -> Waiting:
        """What waits here."""
        lanes, now = list(self._lanes.values()), self.clock.now()
        queued = [message for lane in lanes for message in lane.waiting]
        # Of a lane whose last event is dead nothing waits any more.
        failing = [lane.cursor for lane in lanes if lane.cursor.attempts and (lane.waiting or lane.behind)]
        first = min(failing, key=lambda cursor: cursor.since, default=None)
        due = [max(cursor.due, self._until) for cursor in failing if max(cursor.due, self._until) > now]
        return Waiting(
            len(queued),
            any(lane.behind for lane in lanes),
            min((happened_at(message.body) for message in queued), default=0),
            max((lane.cursor.told_at for lane in lanes), default=0),
            first.since if first else 0,
            first.why if first else "",
            min(due, default=0),
        )
