"""The simulated marks service: the wire and rules of a shop's accounting program (docs/simulators.md#marks-service).

A mark is what a person put into stock. It is sold once, by the first receipt that tells so; another one gets 409, and
so does a repeat of the first, with the first one's own reference. Rules of the scenario name a question ``probe``,
and a mark that is told to be sold ``sale``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from protocols import marks_service as wire
from protocols.errors import LineLost, NotReached, Silent
from protocols.fiscal.verdicts import Reply
from protocols.marks_service import IN_STOCK, SPENT, Item
from protocols.simulators.ledger import ACCEPTED, REFUSED, Ledger
from protocols.simulators.scenario import Scenario, Then

REPEATED = "repeated"
"""The status of a mark that was told by the same receipt before."""


class Mark(msgspec.Struct, forbid_unknown_fields=True):
    """A mark as the service keeps it."""

    mark: str
    status: str = IN_STOCK
    object: str = ""
    stale: bool = False
    sold_at: str = ""
    reference: str = ""


class Mood(msgspec.Struct, forbid_unknown_fields=True):
    """How all of its data is: old, or not to be used at all."""

    stale: bool = False
    frozen: bool = False


class Played(NamedTuple):
    """What becomes of a request: an answer, or how it ends without one."""

    reply: Reply | None
    then: Then = Then.ACCEPT
    delay_s: float = 0.0


class MarksService:
    """The service.

    :param token: that requests must have. :param ledger: the file of its ledger; in memory when absent.
    """

    def __init__(self, clock: IReactorTime, token: str = "", ledger: Path | None = None) -> None:
        self.clock, self.token, self.mood = clock, token, Mood()
        self.marks: dict[str, Mark] = {}
        self.scenario = Scenario()
        self.ledger = Ledger(ledger)
        for told in self.ledger.entries():
            if told.status == ACCEPTED:
                self.marks[told.number] = Mark(told.number, SPENT, sold_at=told.dt, reference=told.ref)

    def put(self, mark: Mark) -> None:
        """A mark comes into stock, or into another state."""
        self.marks[mark.mark] = mark

    def receive(self, method: str, path: str, token: str, body: bytes) -> Played:
        """Do what a request asks for, as the scenario lets it."""
        rule = self.scenario.take("probe" if path == wire.BATCH else "sale")
        if rule is None:
            return Played(self._answer(method, path, token, body))
        delay = rule.delay_ms / 1000
        if rule.then is Then.REFUSE:
            status = int(rule.code) if rule.code.isdecimal() else 503
            return Played(_error(status, "storage_not_ready"), delay_s=delay)
        if rule.then in (Then.LOST_BEFORE, Then.SILENT, Then.UNREACHABLE):
            return Played(None, rule.then, delay)
        reply = self._answer(method, path, token, body)
        if rule.then is Then.GARBAGE:
            reply = Reply(200, reply.headers, b"<html>")
        return Played(None if rule.then is Then.LOST_AFTER else reply, rule.then, delay)

    def _answer(self, method: str, path: str, token: str, body: bytes) -> Reply:
        if token != self.token:
            return _error(401, "unauthorized")
        if self.mood.frozen:
            return _error(503, "frozen")
        try:
            mark = wire.mark_in(path)
            if (method, path) == ("POST", wire.BATCH):
                return self._items(wire.decode(body, wire.Ids).ids)
            if method == "POST" and mark is not None:
                return self._sold(mark, wire.decode(body, wire.Sale))
        except (wire.Unreadable, UnicodeDecodeError) as error:
            return _error(400, str(error))
        return _error(404, "not_found")

    def _items(self, ids: list[str]) -> Reply:
        if len(ids) > wire.MOST_IDS:
            return _error(400, f"more than {wire.MOST_IDS} ids")
        return _reply(200, wire.Items([self._item(mark) for mark in ids], self.mood.stale))

    def _item(self, mark: str) -> Item:
        kept = self.marks.get(mark)
        if kept is None:
            return Item(mark, found=False)
        return Item(mark, True, kept.status, kept.object, kept.status == SPENT, kept.sold_at, kept.stale)

    def _sold(self, mark: str, sale: wire.Sale) -> Reply:
        kept = self.marks.get(mark)
        if kept is None:
            return _error(404, "not_found")
        status = REPEATED if wire.own(kept.reference, sale.receipt_ref) else REFUSED
        if kept.status != SPENT:
            status = ACCEPTED
            kept.status, kept.sold_at, kept.reference = SPENT, sale.sold_at, sale.receipt_ref[: wire.REFERENCE]
        self.ledger.add("sold", status, mark, 0, sale.receipt_ref[: wire.REFERENCE], sale.sold_at)
        return _reply(200 if status == ACCEPTED else 409, wire.Sold(SPENT, kept.sold_at, kept.reference))


def _reply(status: int, value: msgspec.Struct) -> Reply:
    return Reply(status, {"content-type": "application/json"}, wire.encode(value))


def _error(status: int, error: str) -> Reply:
    return Reply(status, {"content-type": "application/json"}, msgspec.json.encode({"error": error}))


class InProcessMarks:
    """Sends requests to ``service`` as `protocols.fiscal.https` does to a real one.

    :param patience: seconds to wait for an answer.
    """

    def __init__(self, service: MarksService, patience: float) -> None:
        self._service, self._patience = service, patience

    async def __call__(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Send one request.

        :raises NotReached: when nothing arrived. :raises WireError: any other: it may have arrived.
        """
        played = self._service.receive(method, urlsplit(url).path, headers.get(wire.TOKEN, ""), body)
        silent = played.then is Then.SILENT or played.delay_s > self._patience
        pause = self._patience if silent else played.delay_s
        if pause:
            over: Deferred[None] = Deferred()
            self._service.clock.callLater(pause, over.callback, None)
            await over
        if played.then is Then.UNREACHABLE:
            raise NotReached("connection refused")
        if silent:
            raise Silent(self._patience)
        if played.reply is None:
            raise LineLost("the connection broke")
        return played.reply


class MarksResource(Resource):
    """The service behind a socket."""

    isLeaf = True

    def __init__(self, service: MarksService) -> None:
        Resource.__init__(self)
        self._service = service

    def render(self, request: Any) -> int:
        """Answer one request, or break its connection as the scenario says."""
        path = request.uri.decode("latin-1").partition("?")[0]
        token = request.getHeader(wire.TOKEN) or ""
        played = self._service.receive(request.method.decode("latin-1"), path, token, request.content.read())
        gone: list[object] = []
        request.notifyFinish().addErrback(gone.append)

        def end() -> None:
            if gone or played.then is Then.SILENT:
                return
            if played.reply is None:
                request.channel.transport.abortConnection()
                return
            request.setResponseCode(played.reply.status)
            request.setHeader("content-type", "application/json")
            request.write(played.reply.body)
            request.finish()

        if played.delay_s:
            self._service.clock.callLater(played.delay_s, end)
        else:
            end()
        return NOT_DONE_YET


def marks_site(service: MarksService) -> Site:
    """The service as a site."""
    return Site(MarksResource(service), reactor=service.clock, timeout=None)
