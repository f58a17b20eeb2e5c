"""``GET /dm/api/v3/events/stored``: the events of the store in pages, for programs that ask (docs/events.md)."""

from __future__ import annotations

from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.core import Core
from dmtwisted.devices.driver import BadSettings
from dmtwisted.messages.kinds import DeviceName, EventType
from web.answers import json_answer
from web.events import stored_filter
from web.filters import devices_of, given_in, whole
from web.management import answer_errors
from web.rights import permit_of

FILTERS = ("after", "limit", "device", "type", "wait")

LIMIT, LARGEST_LIMIT = 100, 1000

LONGEST_WAIT = 60
"""Seconds that a question may wait for an event."""

LOOKS = 20
"""Reads for one question, so that a filter that nothing passes ends."""


class StoredEventList(msgspec.Struct):
    """A `StoredEventPage` of bodies that are JSON already."""

    events: list[msgspec.Raw]
    next: str
    more: bool
    missed: bool


class StoredEvent(msgspec.Struct):
    """An event; docs/events.md lists the types. `data` has the members of the type."""

    id: str
    type: EventType
    timestamp: str
    device: DeviceName
    data: dict[str, Any]


class StoredEventPage(msgspec.Struct):
    """The next events, in order; `next` is `after` of the next question.

    `more`: there may be more now. `missed`: what came after `after` is not all there any more.
    """

    events: list[StoredEvent]
    next: str
    more: bool
    missed: bool


class StoredEventApi:
    """Events in pages."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language

    @app.route("/dm/api/v3/events/stored", methods=["GET"])
    async def events(self, request: IRequest) -> bytes:
        """The events after a place, for which the question may wait."""
        given, permit = given_in(request, FILTERS), permit_of(request)
        limit = whole(given, "limit", LIMIT, LARGEST_LIMIT)
        wait = 0 if given.get("wait") == "0" else whole(given, "wait", 0, LONGEST_WAIT)
        devices = devices_of(given.get("device", ""), self._core.devices, permit)
        kinds = _types(given.get("type", ""))
        concerns, feed = stored_filter(permit), self._core.feed
        place, missed = await feed.resume(given.get("after") or "0")
        deadline = self._core.clock.steady() + wait
        found: list[msgspec.Raw] = []
        more = True
        for _ in range(LOOKS):
            batch = await feed.read(place, limit - len(found), devices)
            found += [
                msgspec.Raw(message.body)
                for message in batch.messages
                if concerns(message) and (not kinds or message.type in kinds)
            ]
            more, place, missed = batch.until > place, batch.until, missed or batch.gone
            if len(found) >= limit:
                break
            if not more:
                left = deadline - self._core.clock.steady()
                if found or left <= 0 or not await feed.more(place, left):
                    break
        return json_answer(request, 200, StoredEventList(found, await feed.name(place), more, missed))


def _types(text: str) -> frozenset[EventType]:
    """The types in a list with commas between them.

    :raises BadSettings: when one of them is none.
    """
    try:
        return frozenset(EventType(one.strip()) for one in text.split(",") if one.strip())
    except ValueError:
        raise BadSettings("type", f"one of {', '.join(EventType)} is expected") from None
