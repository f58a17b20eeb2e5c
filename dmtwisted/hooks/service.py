"""All subscribers at work: who gets events, what waits for them, a test, and what was never taken."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
from twisted.internet.defer import Deferred, DeferredSemaphore, gatherResults
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock
from dmtwisted.devices.devices import Devices
from dmtwisted.hardened import BadList
from dmtwisted.hooks.cursors import Cursors
from dmtwisted.hooks.lanes import HOOK, Failed, Told
from dmtwisted.hooks.subscribers import Subscriber, Subscribers
from dmtwisted.hooks.ways import CHECK_S, MOST_POSTS, Common, Waiting, Way
from dmtwisted.messages.feed import Feed
from dmtwisted.messages.kinds import EventType
from dmtwisted.outbox import Never, Outbox
from dmtwisted.secrets import Secrets, SecretsError
from dmtwisted.service_settings import ServiceSettings
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import HookCursor, LetterRow, StoreFailed
from protocols.errors import NotReached, WireError
from protocols.webhooks import headers

TEST = "webhook.test"
"""The type of the event that only a test sends."""

MOST = 1000
"""Dead letters of a subscriber that are listed, and those of all that are read at a time."""

LEASE_S = 120.0
"""Seconds for one try of a dead letter."""

SILENT_S = 60.0
"""Seconds after a failure in which dead letters of the same subscriber are not tried: they would all wait for it."""

AGAIN_S = 5.0
"""Seconds until the store is asked again that did not answer."""

DAY_MS = 86_400_000

GONE = 410
REDIRECTS = range(300, 400)
"""Statuses of HTTP: the address is gone for good; it is elsewhere."""


class Tested(NamedTuple):
    """What became of a test: the receiver's answer, or why there is none."""

    taken: bool
    status: int
    text: str
    why: str


class Dead(NamedTuple):
    """An event that its subscriber never took."""

    n: int
    told: Told
    device_n: int
    waits: bool
    """Whether it is about to be sent again."""
    why: str


class Hooks:
    """Hands the events of the journal to subscribers, of those devices that this service has."""

    log = Logger()
    line: Any = None
    """Makes the endpoint of a host and a port (`dmtwisted.hooks.posting.Line`); TCP by name when absent."""

    def __init__(
        self,
        store: IStore,
        secrets: Secrets,
        settings: ServiceSettings,
        clock: ServiceClock,
        reactor: Any,
        devices: Devices,
        feed: Feed,
        outbox: Outbox,
    ) -> None:
        self._store, self._settings, self._clock, self._reactor = store, settings, clock, reactor
        self._devices, self._outbox = devices, outbox
        self.subscribers = Subscribers(store, secrets, clock, frozenset(EventType))
        self.subscribers.changed = self._follow
        self._feed = feed
        self._common = Common(
            feed,
            Cursors(store, clock),
            clock,
            DeferredSemaphore(MOST_POSTS),
            self._send,
            self._gone,
            self._owned,
            self._alone,
        )
        devices.sharing.taken.append(self.taken_over)
        devices.sharing.resumed.append(self._resumed)
        self._ways: dict[str, Way] = {}
        self._known: dict[str, dict[int, HookCursor]] = {}
        self._begun: set[int] = set()
        self._keeping_up = LoopingCall(self._keep_up)
        self._keeping_up.clock = clock
        self._failed_at: dict[str, float] = {}
        self._running = self._ready = False
        outbox.tell_by(HOOK, self._once_more, LEASE_S)

    # At work

    def start(self) -> None:
        """Begin, when the store says how far everybody is."""
        self._running = True
        Deferred.fromCoroutine(self._start())

    async def _start(self) -> None:
        while self._running and not self._ready:
            try:
                self._begun |= {chain.device_n for chain in await self._store.chains()}
                for cursor in await self._store.hook_cursors():
                    self._learn(cursor)
                self._ready = True
            except StoreFailed as error:
                self.log.warn("subscribers wait for the database: {why}", why=str(error))
                await deferLater(self._clock, AGAIN_S)
        self._follow()
        if self._devices.sharing.shared and self._running:
            self._keeping_up.start(CHECK_S, now=False)

    async def _keep_up(self) -> None:
        """Learn of subscribers that another service has changed."""
        with suppress(StoreFailed):
            await self.subscribers.refresh()

    def _follow(self) -> None:
        """Let exactly the enabled subscribers get events."""
        if not (self._running and self._ready):
            return
        wanted = {one.id: one for one in self.subscribers if one.enabled}
        for id in [id for id in self._ways if id not in wanted]:
            way = self._ways.pop(id)
            way.stop()
            self._known[id] = way.known()
        for id, one in wanted.items():
            if id in self._ways:
                self._ways[id].change(one)
            else:
                self._ways[id] = Way(one, self._common, self._known.pop(id, {}), self._begun)
                self._ways[id].start()

    def _owned(self) -> list[int] | None:
        """The devices whose events this service hands on; `None` for all."""
        sharing = self._devices.sharing
        if not sharing.shared:
            return None
        there = {device.row.n for device in self._devices}
        self._begun |= there
        ours = [n for n in there if not sharing.may_be_another(n)]
        return [0, *(self._begun - there - {0}), *ours] if sharing.has_house else ours

    async def _alone(self) -> None:
        """See to the events that belong to no device, if no other service does."""
        if await self._devices.sharing.own_house():
            self._begun |= {chain.device_n for chain in await self._store.chains()}
            there = {device.row.n for device in self._devices}
            await self.taken_over(0, *(self._begun - there - {0}))

    async def taken_over(self, *devices: int) -> None:
        """Go on with the events of devices where another service has stopped."""
        await self.subscribers.refresh()
        rows = {(one.subscriber, one.device_n): one for one in await self._store.hook_cursors()}
        for (id, device_n), cursor in rows.items():
            if device_n in devices and id not in self._ways:
                self._learn(cursor)
        for id, way in self._ways.items():
            for device_n in devices:
                way.taken_over(device_n, rows.get((id, device_n)))

    def _learn(self, cursor: HookCursor) -> None:
        """Know how far a subscriber is that gets nothing now."""
        known = self._known.setdefault(cursor.subscriber, {})
        if cursor.device_n not in known or known[cursor.device_n].told <= cursor.told:
            known[cursor.device_n] = cursor

    def _resumed(self, device_n: int) -> None:
        for way in self._ways.values():
            way.owned(device_n)

    async def stop(self) -> None:
        """Begin no more tries; return when those under way have ended, and how far everybody is is noted."""
        self._running = False
        if self._keeping_up.running:
            self._keeping_up.stop()
        ways = list(self._ways.values())
        await gatherResults([Deferred.fromCoroutine(way.close()) for way in ways])

    def give_up(self) -> None:
        """End the tries that are under way: they are made again after the next start."""
        self._common.cursors.end()
        for way in self._ways.values():
            way.stop()

    # One try

    async def _send(self, subscriber: Subscriber, id: str, body: bytes) -> None:
        """Make one try.

        :raises Failed: when the event was not taken.
        """
        status, pause_s, _, why = await self._post(subscriber, id, body)
        if why:
            raise Failed(why, pause_s, status == GONE)

    async def _post(self, subscriber: Subscriber, id: str, body: bytes) -> tuple[int, float | None, str, str]:
        """The status of a receiver's answer, the pause that it asks for, its text, and why it has not taken it."""
        try:
            secrets = self.subscribers.secrets_of(subscriber)
            signed = headers(secrets, id, int(self._clock.seconds()), body)
            answered = await (await self._clock.aside(_posting)).post(
                self._reactor, subscriber.url, signed, body, subscriber.allow_local, subscriber.ca, self.line
            )
        except NotReached as error:
            return 0, None, "", f"the receiver is not reached: {error.reason}"
        except (WireError, SecretsError, BadList, ValueError) as error:
            return 0, None, "", str(error) or type(error).__name__
        why = "" if answered.taken else f"the receiver answered {answered.status}"
        if answered.status in REDIRECTS:
            why += ", and redirects are not followed"
        return answered.status, answered.pause_s, answered.text, why

    async def test(self, subscriber: Subscriber) -> Tested:
        """Send an event of the type `TEST` that no journal has, and nothing else; also to a disabled subscriber."""
        id = f"test-{uuid4().hex}"
        body = msgspec.json.encode(
            {
                "id": id,
                "type": TEST,
                "timestamp": f"{datetime.fromtimestamp(self._clock.now() / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}",
                "device": {"id": "", "name": "", "kind": ""},
                "data": {},
            }
        )
        status, _, text, why = await self._post(subscriber, id, body)
        if not why and subscriber.id in self._ways:
            self._ways[subscriber.id].hurry()
        return Tested(not why, status, text, why)

    async def _gone(self, id: str) -> None:
        """The address of a subscriber is gone for good."""
        one = self.subscribers.by_id(id)
        self.log.error("{name} is disabled: its address is gone", name=one.name if one else "")
        await self.subscribers.gone(id)

    # Subscribers

    async def add(self, name: str, url: str, **wanted: Any) -> tuple[Subscriber, str]:
        """Add a subscriber, which gets the events from now on; raises as `Subscribers.add`."""
        return await self.subscribers.add(name, url, await self._feed.end(), **wanted)

    async def remove(self, id: str) -> bool:
        """Remove a subscriber with all that waits for it; whether there was one.

        :raises StoreFailed: when it is unknown whether it was removed.
        """
        if not await self.subscribers.remove(id):
            return False
        self._known.pop(id, None)
        # What was under way when it was removed is kept before that is forgotten.
        await self._common.cursors.keep([])
        await self._store.drop_cursors(id)
        for dead in (False, True):
            async for row, told in self._letters(dead):
                if told.subscriber == id:
                    await self._store.drop_letter(row.n)
        return True

    def waiting(self, id: str) -> Waiting | None:
        """What waits for a subscriber; `None` when it gets nothing."""
        way = self._ways.get(id)
        return None if way is None else way.waiting()

    # What was never taken

    async def all_dead(self) -> dict[str, list[Dead]]:
        """For each subscriber the oldest events that it never took; those first that are about to be sent again."""
        found: dict[str, list[Dead]] = {}
        for dead in (False, True):
            async for row, told in self._letters(dead):
                of_one = found.setdefault(told.subscriber, [])
                if len(of_one) < MOST:
                    of_one.append(Dead(row.n, told, row.device_n, not dead, row.why))
        return found

    async def dead(self, id: str) -> list[Dead]:
        """Those of one subscriber."""
        return (await self.all_dead()).get(id, [])

    async def _letters(self, dead: bool) -> AsyncIterator[tuple[LetterRow, Told]]:
        """Every letter of a subscriber that waits, or is dead, oldest first."""
        after = 0
        while rows := await self._store.find_letters([HOOK], dead, MOST, after):
            for row in rows:
                yield row, msgspec.json.decode(row.payload, type=Told)
            after = rows[-1].n

    async def again(self, id: str, n: int | None = None) -> bool:
        """Send dead letters once more, in the background: that with the number ``n``, or all; whether there are any.

        :raises StoreFailed: when that is not stored.
        """
        self._failed_at.pop(id, None)
        found = False
        for dead in (False, True):
            async for row, told in self._letters(dead):
                if told.subscriber == id and n in (None, row.n):
                    found = True
                    await self._store.put_letter(row.n, self._clock.now(), False, row.why)
        self._outbox.posted()
        return found

    async def drop(self, id: str, n: int) -> bool:
        """Remove a dead letter; whether there was one.

        :raises StoreFailed: when it is unknown whether it was removed.
        """
        if n not in {dead.n for dead in await self.dead(id)}:
            return False
        await self._store.drop_letter(n)
        return True

    async def _once_more(self, letter: LetterRow) -> None:
        """Try a dead letter once.

        :raises Never: when it was not taken.
        """
        told = msgspec.json.decode(letter.payload, type=Told)
        one = self.subscribers.by_id(told.subscriber)
        if one is None or not one.enabled:
            raise Never("the subscriber is disabled")
        failed_at, now = self._failed_at.get(one.id), self._clock.steady()
        if failed_at is not None and now - failed_at < SILENT_S:
            raise Never(letter.why)
        try:
            async with self._common.posts:
                await self._send(one, told.id, told.body)
        except Failed as failed:
            self._failed_at[one.id] = self._clock.steady()
            raise Never(str(failed)) from None
        self._failed_at.pop(one.id, None)

    async def forget_old(self) -> None:
        """Remove dead letters that are older than receipts are kept, and what is left of removed subscribers.

        A removal that was broken off left it, or another service that was at work for them.
        """
        known = {cursor.subscriber for cursor in await self._store.hook_cursors()}
        # Afterwards: whoever has a cursor is stored already.
        await self.subscribers.refresh()
        for id in known:
            if self.subscribers.by_id(id) is None:
                await self._store.drop_cursors(id)
        before, old = self._clock.now() - self._settings.now.packdays * DAY_MS, 0
        async for row, told in self._letters(dead=True):
            removed = self.subscribers.by_id(told.subscriber) is None
            if removed or row.due < before:
                old += not removed
                await self._store.drop_letter(row.n)
        if old:
            self.log.warn("{count} events that no subscriber took are too old and were removed", count=old)


def _posting() -> ModuleType:
    # Lazy: HTTP and TLS take some MB, and most services have no subscriber.
    from dmtwisted.hooks import posting

    return posting
