"""Receivers of webhooks in memory that speak HTTP, break off and refuse where they are told; a shop with them."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.protocol import Protocol
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.hooks.service import Hooks
from dmtwisted.hooks.subscribers import Subscriber
from tests.memory_line import MemoryEndpoint
from tests.shop import Shop

HOST = "accounts.example"
URL = f"http://{HOST}:8080/events"


@dataclass(frozen=True)
class Got:
    """One request as a receiver got it; names in ``headers`` are in lower case."""

    host: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The id of the event."""
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        """The body."""
        event: dict[str, Any] = json.loads(self.body)
        return event

    def signed_with(self, secret: str) -> bool:
        """Whether one of the signatures is that of ``secret``, by the specification and not by our signer."""
        signed = b".".join([self.id.encode(), self.headers["webhook-timestamp"].encode(), self.body])
        digest = hmac.new(b64decode(secret[len("whsec_") :]), signed, "sha256").digest()
        return f"v1,{b64encode(digest).decode()}" in self.headers["webhook-signature"].split(" ")


class Receivers:
    """Every receiver of a test, by its host."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.got: list[Got] = []
        """The requests that arrived whole, whatever was answered."""
        self.answers: dict[str, list[bytes]] = {}
        """By host: the next answers; afterwards 204. An empty one breaks off, `SILENCE` never answers."""
        self.always: dict[str, bytes] = {}
        """By host: the answer to everything."""
        self.away: set[str] = set()
        self.most = 0
        """How many connections there were at once."""
        self._endpoints: dict[str, MemoryEndpoint] = {}

    def line(self, host: str, port: int) -> IStreamClientEndpoint:
        """The way to a receiver."""
        if host not in self._endpoints:
            self._endpoints[host] = MemoryEndpoint(
                self.clock, lambda: None if host in self.away else _Session(self, host)
            )
        return self._endpoints[host]

    def flush(self) -> None:
        """Deliver all bytes."""
        ends = [pump.clientIO for endpoint in self._endpoints.values() for pump in endpoint.pumps]
        self.most = max(self.most, sum(not (end.disconnecting or end.disconnected) for end in ends))
        for endpoint in list(self._endpoints.values()):
            endpoint.flush()

    def forget(self) -> None:
        """What is on the lines is gone, as after a kill."""
        for endpoint in self._endpoints.values():
            endpoint.pumps.clear()

    def of(self, host: str = HOST) -> list[Got]:
        """What came to one of them."""
        return [one for one in self.got if one.host == host]


SILENCE = b"-"
OK = b"HTTP/1.1 204 No Content\r\n\r\n"


def answer(status: int, body: bytes = b"", *headers: str) -> bytes:
    """An answer as bytes."""
    lines = [f"HTTP/1.1 {status} So", f"Content-Length: {len(body)}", *headers]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + body


class _Session(Protocol):
    def __init__(self, receivers: Receivers, host: str) -> None:
        self._all, self._host, self._read = receivers, host, b""

    def dataReceived(self, data: bytes) -> None:
        self._read += data
        head, end, body = self._read.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
        if not end or len(body) < int(headers.get("content-length", "0")):
            return
        assert self.transport is not None
        self._all.got.append(Got(self._host, headers, body))
        self._read = b""
        queued = self._all.answers.get(self._host)
        said = queued.pop(0) if queued else self._all.always.get(self._host, OK)
        if said != SILENCE:
            self.transport.write(said)
            self.transport.loseConnection()


class HookShop(Shop):
    """A shop whose events go to ``receivers``."""

    receivers: Receivers

    def __init__(self, case: SynchronousTestCase, **service: Any) -> None:
        self.receivers = Receivers(None)
        super().__init__(case, **service)
        case.addCleanup(self.end)

    def _open(self) -> Any:
        self.receivers.clock = self.clock
        self._case.patch(Hooks, "line", staticmethod(self.receivers.line))
        return super()._open()

    def crash(self) -> None:
        """As in any shop; what was on the line is gone."""
        self.end()
        super().crash()

    def end(self) -> None:
        """End every try, and store nothing more."""
        self.receivers.forget()
        # Tries that wait for others would else be ended by the garbage collector, one waking the next.
        broken, self.store.broken = self.store.broken, True
        self.core.hooks.give_up()
        self.store.broken = broken

    def wait(self, work: Any) -> Any:
        """The result of what must be done by now, or when bytes were delivered."""
        due = Deferred.fromCoroutine(work)
        for _ in range(200):
            self.receivers.flush()
            if due.called:
                break
            self.clock.advance(0.1)
        return self._case.successResultOf(due)

    def subscribe(self, name: str = "accounts", url: str = URL, **wanted: Any) -> tuple[Subscriber, str]:
        """Add a subscriber; also returns its secret."""
        made: tuple[Subscriber, str] = self.wait(
            self.core.hooks.add(name, url, **{"allow_local": url.split("/")[2].partition(":")[0], **wanted})
        )
        self.post()
        return made

    def post(self, seconds: float = 2.0, step: float = 0.25) -> None:
        """Let events go out, for so long."""
        self.receivers.flush()
        for _ in range(round(seconds / step)):
            self.clock.advance(step)
            self.receivers.flush()

    def stop(self) -> None:
        """End in order."""
        closing = Deferred.fromCoroutine(self.core.close())
        for _ in range(100):
            self.receivers.flush()
            if closing.called:
                break
            self.clock.advance(0.1)
        self._case.successResultOf(closing)
