"""A program that hears of every receipt of a desk, whichever service makes it, and takes nothing at times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from threading import Event

from dmtwisted.lab.children import HOST, BenchFailed, Child
from dmtwisted.lab.crash.books import Findings, Sold
from dmtwisted.lab.receiver import Got, Receiver
from protocols.webhooks import signature


class Listener:
    """A subscriber of receipts."""

    def __init__(self) -> None:
        self.away = Event()
        """While it is set nothing is answered."""
        self._taken: set[str] = set()
        self._secret = ""
        self._receiver = Receiver(self._came)

    def subscribe(self, service: Child) -> None:
        """Hear of every receipt from now on.

        :raises BenchFailed: when the service refuses it.
        """
        wanted = {"name": "rounds", "url": self._receiver.url, "allow_local": HOST, "events": ["document.made"]}
        status, answer = service.ask("POST", "/dm/api/v3/webhooks", wanted)
        if status != 201:
            raise BenchFailed(f"no subscriber: {status} {answer[:300]!r}")
        self._secret = json.loads(answer)["secret"]

    def stop(self) -> None:
        """Hear of nothing more."""
        self._receiver.stop()

    def _came(self, got: Got) -> bool:
        if self.away.is_set():
            return False
        self._taken.add(got.event["data"]["tag"])
        return True

    def untold(self, sold: Sequence[Sold]) -> list[Sold]:
        """The sales of which it has taken no event."""
        return [sale for sale in sold if sale.tag not in self._taken]

    def __str__(self) -> str:
        with self._receiver.lock:
            ids = [got.headers["webhook-id"] for got in self._receiver.got]
        return f"{len(ids)} events came, {len(ids) - len(set(ids))} of them again"

    def judge(self, sold: Sequence[Sold]) -> Findings:
        """What is wrong with what came, in its order."""
        with self._receiver.lock:
            return judge(self._receiver.got, self._secret, sold)


def judge(came: Sequence[Got], secret: str, sold: Sequence[Sold]) -> Findings:
    """Each sale has to be told, by one event, signed; those of a register first in the order of their numbers."""
    found, ids, newest = Findings(), dict[str, set[str]](), dict[str, int]()
    seen: set[str] = set()
    for got in came:
        event, sent = got.event, got.headers
        tag, register = event["data"]["tag"], event["device"]["name"]
        ids.setdefault(tag, set()).add(event["id"])
        if signature(secret, event["id"], int(sent["webhook-timestamp"]), got.body) != sent["webhook-signature"]:
            found.other.append(f"the event {event['id']} has another signature")
        if event["id"] in seen:
            continue
        seen.add(event["id"])
        number = event["data"]["documents"][0]["number"]
        if number < newest.get(register, 0):
            found.other.append(f"{register}: receipt {number} is told after {newest[register]}")
        newest[register] = number
    found.lost += [f"{sale} is told nobody" for sale in sold if sale.tag not in ids]
    found.doubled += [f"{tag} is told by {len(each)} events" for tag, each in ids.items() if len(each) > 1]
    return found
