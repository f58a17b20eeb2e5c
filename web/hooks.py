"""``/dm/api/v3/webhooks``: programs that get events, their secrets, a test, and what they never took."""

from __future__ import annotations

from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.changes import Action, Area
from dmtwisted.clock import stamp17
from dmtwisted.core import Core
from dmtwisted.hooks.service import Dead
from dmtwisted.hooks.subscribers import Subscriber
from dmtwisted.hooks.ways import Waiting
from dmtwisted.messages.kinds import EventType
from dmtwisted.results import Text
from dmtwisted.wording import wording
from web.answers import json_answer, language_of
from web.management import HttpRefusal, OneAtATime, answer_errors, lasting, read_object
from web.users import known_devices

TESTING = Text("пробна подія вже надсилається", "a test is already on its way")
NO_SUCH = Text("такого отримувача немає", "there is no such subscriber")
NO_SUCH_LETTER = Text("такої події в списку немає", "there is no such event in the list")


class NewWebhook(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a new subscriber; without `events` it gets all of them, without `devices` those of all.

    `allow_local` lists hosts that may be inside this machine or without https, `ca` certificates (PEM) to trust.
    """

    name: str
    url: str
    events: list[EventType] = []
    devices: list[str] = []
    enabled: bool = True
    allow_local: str = ""
    ca: str = ""


class WebhookChange(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a change; what is not sent stays."""

    name: str | None = None
    url: str | None = None
    events: list[EventType] | None = None
    devices: list[str] | None = None
    enabled: bool | None = None
    allow_local: str | None = None
    ca: str | None = None


class WebhookRecord(msgspec.Struct):
    """A subscriber without its secret.

    `waiting` events have not reached it, `more` says that there are others behind them; the oldest happened at
    `waiting_since`. `told` is when it took one last. While it fails: since when, why, and when it is tried next.
    `old_until`: until then the secret before signs, too. `gone`: its address answered 410, which disabled it.
    """

    id: str
    name: str
    url: str
    events: list[EventType]
    devices: list[str]
    enabled: bool
    allow_local: str
    ca: str
    old_until: str
    gone: bool
    waiting: int
    more: bool
    waiting_since: str
    told: str
    failing_since: str
    why: str
    next: str
    dead: int


class WebhookList(msgspec.Struct):
    """Every subscriber."""

    webhooks: list[WebhookRecord]


class WebhookMade(msgspec.Struct):
    """A new secret; no other answer shows it."""

    id: str
    name: str
    secret: str
    old_until: str


class WebhookTested(msgspec.Struct):
    """The receiver's answer to a test: its status, 0 without one, its beginning, and why it does not count."""

    taken: bool
    status: int
    answer: str
    why: str


class DeadEvent(msgspec.Struct):
    """An event that its subscriber never took; `event` is its id, `waits` says that it is about to be sent again."""

    n: int
    event: str
    type: str
    device: str
    dt: str
    waits: bool
    why: str


class DeadList(msgspec.Struct):
    """The oldest thousand of them."""

    dead: list[DeadEvent]


async def webhooks_of(core: Core, language: str) -> list[WebhookRecord]:
    """The subscribers of a service, and how they are."""
    dead = await core.hooks.all_dead()
    return [_record(core, one, dead.get(one.id, []), language) for one in core.hooks.subscribers]


def _record(core: Core, one: Subscriber, dead: list[Dead], language: str) -> WebhookRecord:
    waiting, now = core.hooks.waiting(one.id), core.clock.now()
    return WebhookRecord(
        id=one.id,
        name=one.name,
        url=one.url,
        events=[EventType(kind) for kind in one.events],
        devices=[*one.devices],
        enabled=one.enabled,
        allow_local=one.allow_local,
        ca=one.ca,
        old_until=_stamp(one.old_until if one.old_until > now else 0),
        gone=bool(one.gone_at),
        waiting=waiting.number if waiting else 0,
        more=waiting is not None and waiting.more,
        waiting_since=_stamp(waiting.since if waiting else 0),
        told=_stamp(waiting.told_at if waiting else 0),
        failing_since=_stamp(waiting.failing_since if waiting else 0),
        why=wording(waiting.why).for_language(language) if waiting and waiting.why else "",
        next=_stamp(waiting.next if waiting else 0),
        dead=len(dead),
    )


async def shown_hooks(core: Core, language: str) -> list[tuple[Subscriber, Waiting | None, str, list[DeadEvent]]]:
    """The subscribers for their page: what waits for each, its last failure, and what it never took."""
    found, dead = [], await core.hooks.all_dead()
    for one in core.hooks.subscribers:
        waiting = core.hooks.waiting(one.id)
        why = wording(waiting.why).for_language(language) if waiting and waiting.why else ""
        found.append((one, waiting, why, _listed(core, dead.get(one.id, []), language)))
    return found


def _listed(core: Core, dead: list[Dead], language: str) -> list[DeadEvent]:
    names = {device.row.n: device.name for device in core.devices}
    return [_dead(one, names.get(one.device_n, ""), language) for one in dead]


def _dead(dead: Dead, device: str, language: str) -> DeadEvent:
    told, why = dead.told, wording(dead.why).for_language(language)
    return DeadEvent(dead.n, told.id, told.type, device, stamp17(told.at), dead.waits, why)


def _stamp(at: int) -> str:
    return stamp17(at) if at else ""


class HookApi:
    """Creates, lists, changes, tests and deletes subscribers."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self._hooks, self.default_language = core, core.hooks, default_language
        self._testing = OneAtATime(TESTING)

    @app.route("/dm/api/v3/webhooks", methods=["GET"])
    async def list(self, request: IRequest) -> bytes:
        """Programs that get events, what waits for each, and how its last failure was."""
        found = await webhooks_of(self._core, self._language(request))
        return json_answer(request, 200, WebhookList(found))

    @app.route("/dm/api/v3/webhooks", methods=["POST"])
    async def add(self, request: IRequest) -> bytes:
        """Let a program get the events from now on; this answer is the only one that shows its secret."""
        asked = read_object(request, NewWebhook)
        wanted = _fitting(self._core, msgspec.structs.asdict(asked))
        made, secret = await lasting(self._hooks.add(**wanted))
        return json_answer(request, 201, WebhookMade(made.id, made.name, secret, ""))

    @app.route("/dm/api/v3/webhooks/<id>", methods=["PATCH"])
    async def change(self, request: IRequest, id: str) -> bytes:
        """Change a subscriber; enabled again, it gets what it has missed, as far as the journal still has it."""
        asked = msgspec.structs.asdict(read_object(request, WebhookChange))
        changes = _fitting(self._core, {name: value for name, value in asked.items() if value is not None})
        one = await lasting(self._hooks.subscribers.change(id, changes))
        if one is None:
            raise HttpRefusal(404, NO_SUCH)
        dead = await self._hooks.dead(id)
        return json_answer(request, 200, _record(self._core, one, dead, self._language(request)))

    @app.route("/dm/api/v3/webhooks/<id>", methods=["DELETE"])
    async def remove(self, request: IRequest, id: str) -> bytes:
        """Delete a subscriber with all that waits for it; it gets nothing more."""
        if not await lasting(self._hooks.remove(id)):
            raise HttpRefusal(404, NO_SUCH)
        request.setResponseCode(204)
        return b""

    @app.route("/dm/api/v3/webhooks/<id>/rotate", methods=["POST"])
    async def rotate(self, request: IRequest, id: str) -> bytes:
        """A new secret; for a day events are signed with the old one, too."""
        made = await lasting(self._hooks.subscribers.rotate(id))
        if made is None:
            raise HttpRefusal(404, NO_SUCH)
        one, secret = made
        return json_answer(request, 200, WebhookMade(one.id, one.name, secret, stamp17(one.old_until)))

    @app.route("/dm/api/v3/webhooks/<id>/test", methods=["POST"])
    async def test(self, request: IRequest, id: str) -> bytes:
        """Send a test event, and wait for the receiver's answer; a disabled subscriber gets it, too."""
        one = self._one(id)
        with self._testing:
            tested = await lasting(self._hooks.test(one))
        why = wording(tested.why).for_language(self._language(request)) if tested.why else ""
        return json_answer(request, 200, WebhookTested(tested.taken, tested.status, tested.text, why))

    @app.route("/dm/api/v3/webhooks/<id>/dead", methods=["GET"])
    async def dead(self, request: IRequest, id: str) -> bytes:
        """Events that a subscriber never took, and that are not tried any more by themselves."""
        self._one(id)
        dead = await self._hooks.dead(id)
        return json_answer(request, 200, DeadList(_listed(self._core, dead, self._language(request))))

    @app.route("/dm/api/v3/webhooks/<id>/dead/retry", methods=["POST"])
    async def retry_all(self, request: IRequest, id: str) -> bytes:
        """Send all of these events again, each once, in the background."""
        self._one(id)
        await lasting(self._hooks.again(id))
        return await self.dead(request, id)

    @app.route("/dm/api/v3/webhooks/<id>/dead/<int:n>/retry", methods=["POST"])
    async def retry(self, request: IRequest, id: str, n: int) -> bytes:
        """Send one of these events again, once, in the background."""
        if not await lasting(self._hooks.again(id, n)):
            raise HttpRefusal(404, NO_SUCH_LETTER)
        return await self.dead(request, id)

    @app.route("/dm/api/v3/webhooks/<id>/dead/<int:n>", methods=["DELETE"])
    async def drop(self, request: IRequest, id: str, n: int) -> bytes:
        """Remove one of these events: its subscriber never gets it."""
        one = self._one(id)
        if not await lasting(self._hooks.drop(id, n)):
            raise HttpRefusal(404, NO_SUCH_LETTER)
        await self._core.changes.keep(Area.WEBHOOK, Action.DELETED, subject=f"{one.name}: {n}")
        request.setResponseCode(204)
        return b""

    def _one(self, id: str) -> Subscriber:
        one = self._hooks.subscribers.by_id(id)
        if one is None:
            raise HttpRefusal(404, NO_SUCH)
        return one

    def _language(self, request: IRequest) -> str:
        return language_of(request, self.default_language)


def _fitting(core: Core, members: dict[str, Any]) -> dict[str, Any]:
    """The members of a request as a subscriber has them.

    :raises BadSettings: when a device is unknown.
    """
    if "events" in members:
        members["events"] = tuple(str(kind) for kind in members["events"])
    if "devices" in members:
        members["devices"] = known_devices(core.devices, members["devices"])
    return members
