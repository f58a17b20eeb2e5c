"""A marks service over HTTP: asked before a sale, told after it (docs/reference/http-interface.md#marks-service).

It is asked before anything of the sale is stored, for at most `ASK_S` seconds. What the service does not answer, or
answers from old data, is for the register's settings to decide. That a mark was sold is a letter of the outbox: it is
tried until the service takes it, or says that this very receipt had told it before.
"""

from __future__ import annotations

from typing import Any

import msgspec
from twisted.logger import Logger

from dmtwisted.answers import Warning
from dmtwisted.clock import ServiceClock, kyiv
from dmtwisted.documents.documents import Document
from dmtwisted.outbox import Later, Never
from dmtwisted.registers import marks
from dmtwisted.registers.settings import RegisterSettings
from dmtwisted.results import Refused, Res, Text, joined
from dmtwisted.store.values import LetterRow
from dmtwisted.wording import wording
from protocols import marks_service as wire
from protocols.errors import WireError
from protocols.fiscal.client import Exchange
from protocols.fiscal.https import HttpsExchange, ServerEndpoints
from protocols.fiscal.verdicts import Reply

ASK_S = 2.5
"""Seconds for a whole question: the till waits for it."""


def to_service(reactor: Any) -> Exchange:
    """The exchange over the network."""
    return HttpsExchange(reactor, ServerEndpoints(reactor, None, ASK_S), ASK_S)


class HttpMarks:
    """The marks service of one register."""

    log = Logger()

    def __init__(self, settings: RegisterSettings, clock: ServiceClock, exchange: Exchange) -> None:
        self._settings, self._clock, self._exchange = settings, clock, exchange
        self._url, self._headers = settings.marks_url.rstrip("/"), wire.headers(settings.marks_token)

    async def check(self, document: Document, found: list[str], language: str) -> list[Warning]:
        """Ask for the marks of a sale: see `dmtwisted.registers.marks.IMarks`."""
        try:
            items = [item for some in wire.portions(found) for item in await self._items(some)]
        except (WireError, wire.Unreadable) as error:
            away = joined(Text("сховище марок", "the marks service"), wording(error))
            return [self._unchecked(away, self._settings.marks_offline, language)]
        old = []
        for mark, item in zip(found, items, strict=True):
            why = self._trouble(item)
            if why is not None:
                raise Refused(Res.MARK_REFUSED, marks.position_of(document, mark), marks.shown(mark), why)
            if item.stale or not item.found:
                old.append(marks.shown(mark))
        if not old:
            return []
        named = ", ".join(old)
        text = Text(f"сховище марок не має нових даних про {named}", f"the marks service has no new data of {named}")
        return [self._unchecked(text, self._settings.marks_stale, language)]

    def _unchecked(self, why: Text, policy: str, language: str) -> Warning:
        if policy == "refuse":
            raise Refused(Res.MARKS_UNCHECKED, why)
        return Warning.of(Res.MARKS_UNCHECKED, language, why)

    def _trouble(self, item: wire.Item) -> Text | None:
        """Why a mark may not be sold here; an old or unknown one may, if the settings say so."""
        if not item.found:
            return None
        if item.sold or item.status != wire.IN_STOCK:
            when = f" {item.sold_at}" if item.sold_at else ""
            return Text(
                f"стан у сховищі марок {item.status}{when}", f"its state in the marks service is {item.status}{when}"
            )
        ours = self._settings.marks_object
        if ours and item.eo_object_code != ours:
            return Text(
                f"сховище марок має її на об’єкті {item.eo_object_code}, а не {ours}",
                f"the marks service has it at {item.eo_object_code}, not at {ours}",
            )
        return None

    async def _items(self, ids: list[str]) -> list[wire.Item]:
        """What the service knows of at most `wire.MOST_IDS` marks.

        :raises WireError: when there is no whole answer. :raises Unreadable: when it is none to the question.
        """
        reply = await self._asked("POST", wire.BATCH, wire.encode(wire.Ids(ids)))
        if reply.status != 200:
            raise wire.Unreadable(f"HTTP {reply.status}")
        answer = wire.decode(reply.body, wire.Items)
        if answer.frozen:
            raise wire.Unreadable("frozen")
        if [item.unique_identifier for item in answer.items] != ids:
            raise wire.Unreadable("other marks than asked for")
        return [msgspec.structs.replace(item, stale=True) for item in answer.items] if answer.stale else answer.items

    async def _asked(self, method: str, path: str, body: bytes) -> Reply:
        return await self._exchange(method, self._url + path, self._headers, body)

    async def tell(self, letter: LetterRow) -> None:
        """Tell that a mark was sold: see `dmtwisted.outbox.Send`."""
        sold = marks.decode(letter.payload)
        moment = kyiv(sold.at).isoformat(timespec="seconds")
        body = wire.encode(wire.Sale(sold.register, sold.reference, moment))
        try:
            reply = await self._asked("POST", wire.sold_path(sold.mark), body)
        except WireError as error:
            raise Later(str(error)) from error
        if reply.status == 200:
            return
        name = marks.shown(sold.mark)
        if reply.status == 404:
            # It keeps no such mark, as of paper ones: there is nothing to write off.
            self.log.info("the marks service does not know {mark}", mark=name)
            return
        if reply.status == 409:
            try:
                before = wire.decode(reply.body, wire.Sold)
            except wire.Unreadable as error:
                raise Later(str(error)) from error
            if wire.own(before.receipt_ref, sold.reference):
                return
            raise Never(
                f"{name} was sold before by {before.receipt_ref} at {before.sold_at}, now by {sold.reference}"
            )
        if reply.status == 400:
            raise Never(f"{name}: HTTP 400")
        raise Later(f"HTTP {reply.status}")
