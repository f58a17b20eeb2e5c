"""A program that hears of the documents of registers, whichever service makes them, and what is wrong with that."""

from __future__ import annotations

import json
from collections.abc import Iterable
from threading import Event
from typing import Any

from dmtwisted.lab.children import HOST, BenchFailed, Child
from dmtwisted.lab.crash.books import Findings
from dmtwisted.lab.receiver import Got, Receiver
from dmtwisted.messages.kinds import EventType
from protocols.webhooks import signature

MADE = (
    EventType.DOCUMENT_MADE,
    EventType.SHIFT_OPENED,
    EventType.SHIFT_CLOSED,
    EventType.OFFLINE_BEGUN,
    EventType.OFFLINE_ENDED,
)
"""Events of documents that are valid."""

Document = tuple[str, int, str]
"""Register, local and fiscal number."""


class Listener:
    """A subscriber of documents: each has to be told by one event, signed, those of a register in their order."""

    def __init__(self) -> None:
        self.away = Event()
        """While it is set nothing is answered."""
        self.secret = ""
        self._receiver = Receiver(self._came)
        self._answered: set[str] = set()
        self._read = self._again = 0
        self._told: dict[Document, set[str]] = {}
        self._tags: set[str] = set()
        self._ids: set[str] = set()
        self._places: dict[str, int] = {}
        self._found = Findings()

    def subscribe(self, service: Child) -> None:
        """Hear of every document from now on.

        :raises BenchFailed: when the service refuses it.
        """
        wanted = {"name": "lab", "url": self._receiver.url, "allow_local": HOST, "events": MADE}
        status, answer = service.ask("POST", "/dm/api/v3/webhooks", wanted)
        if status != 201:
            raise BenchFailed(f"no subscriber: {status} {answer[:300]!r}")
        self.secret = json.loads(answer)["secret"]

    def stop(self) -> None:
        """Hear of nothing more."""
        self._receiver.stop()

    def _came(self, got: Got) -> bool:
        if self.away.is_set():
            return False
        self._answered.add(got.headers["webhook-id"])
        return True

    def untold(self, documents: Iterable[Document]) -> list[Document]:
        """Those of which it has taken no event."""
        self._read_on()
        return [one for one in documents if not self._told.get(one, set()) & self._answered]

    def has(self, tag: str) -> bool:
        """Whether an event with this tag came."""
        self._read_on()
        return tag in self._tags

    def judge(self, documents: Iterable[Document]) -> Findings:
        """What is wrong, when everything came that will."""
        found = Findings([f"{one} is told nobody" for one in self.untold(documents)])
        found.doubled += [f"{one} is told by {len(ids)} events" for one, ids in self._told.items() if len(ids) > 1]
        found.add(self._found)
        return found

    def __str__(self) -> str:
        self._read_on()
        return f"{self._read} events came, {self._again} of them again"

    def _read_on(self) -> None:
        with self._receiver.lock:
            fresh = self._receiver.got[self._read :]
        for got in fresh:
            self.hear(got)
        self._read += len(fresh)

    def hear(self, got: Got) -> None:
        """Take what came next."""
        event = got.event
        id, register, sent = event["id"], event["device"]["name"], got.headers
        if signature(self.secret, id, int(sent["webhook-timestamp"]), got.body) != sent["webhook-signature"]:
            self._found.other.append(f"the event {id} has another signature")
        if id in self._ids:
            self._again += 1
            return
        self._ids.add(id)
        place = int(id.partition("-")[0])
        if place < self._places.get(register, 0):
            self._found.other.append(f"{register}: the event {id} came after {self._places[register]}")
        self._places[register] = place
        self._note(register, id, event["data"])

    def _note(self, register: str, id: str, data: dict[str, Any]) -> None:
        self._tags.add(data["tag"])
        for document in data["documents"]:
            self._told.setdefault((register, document["number"], document["fiscal_number"]), set()).add(id)
