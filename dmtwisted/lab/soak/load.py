"""Open load: requests become due at a constant rate, whether the ones before are answered or not.

Each till sells on its own register over an open connection, one request at a time. Requests that become due meanwhile
wait, and their time counts from that moment, so a service that stalls gets no less load.
``python -m dmtwisted.lab.soak.load --port N`` prints one line of JSON for each minute, in its own process.
"""

from __future__ import annotations

import argparse
import json
import selectors
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass

from dmtwisted.lab.load import SAMPLES, Sale, answer_end, is_success, percentile
from dmtwisted.lab.soak.judging import Minute

LONGEST = 30.0
"""Seconds after which an unanswered request has failed, and its till opens a new connection."""

LOOK_UP, REPEAT, REPORT = 10, 25, 100
"""Numbers of sales of a till after which a look-up, a repeat of the same tag, an X report follows."""

SALE, OTHER = "sale", "other"


@dataclass(frozen=True)
class Asked:
    """A request: when it became due, in nanoseconds, and what counts as its success."""

    due: int
    kind: str
    raw: bytes
    task: bool = True
    """Whether the answer has to contain ``res`` 0; for a page the status is enough."""


def post(body: object) -> bytes:
    """A task as a request."""
    text = json.dumps(body, ensure_ascii=False).encode()
    return (
        b"POST /dm/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(text), text)
    )


def get(path: str) -> bytes:
    """A page as a request."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Language: uk\r\n\r\n".encode()


def whole_end(data: bytes) -> int:
    """The end of the one answer in ``data``; 0 while it is incomplete. Pages are chunked.

    :raises ValueError: when it has no Content-Length.
    """
    head_end = data.find(b"\r\n\r\n")
    if head_end >= 0 and b"\r\ntransfer-encoding: chunked" in data[:head_end].lower():
        # A connection has only one answer at a time, so nothing follows its last chunk.
        return len(data) if data.endswith(b"\r\n0\r\n\r\n") else 0
    return answer_end(data)


class Till:
    """The requests of one till: sales with what follows them, and now and then a new shift.

    :param shift: seconds of a shift; the first one is shorter, so that not all shifts end at once.
    """

    def __init__(self, device: str, salt: str, number: int, tills: int, shift: float) -> None:
        self.device, self.salt = device, f"{salt}-{number}"
        self._sale = Sale(device, self.salt)
        self._sold = 0
        self._shift = shift
        self._closes_at = shift * (number + 1) / tills

    def due(self, at: float, now: int) -> Iterator[Asked]:
        """Requests that become due with the next sale, ``at`` seconds after the beginning."""
        if at >= self._closes_at:
            self._closes_at += self._shift
            for task, name in ((11, "z"), (0, "open")):
                fiscal = {"task": task, "cashier": "Оксана Коваль"}
                tag = f"{name}-{self.salt}-{round(at)}"
                yield self._asked(now, {"ver": 6, "device": self.device, "tag": tag, "type": 1, "fiscal": fiscal})
        self._sold += 1
        yield Asked(now, SALE, self._sale(self._sold))
        if self._sold % LOOK_UP == 0:
            yield self._asked(now, {"ver": 6, "device": self.device, "tag": f"{self.salt}-{self._sold:010d}"})
        if self._sold % REPEAT == 0:
            yield Asked(now, OTHER, self._sale(self._sold))
        if self._sold % REPORT == 0:
            fiscal = {"task": 10, "cashier": "Оксана Коваль"}
            yield self._asked(now, {"ver": 6, "device": self.device, "tag": "", "type": 1, "fiscal": fiscal})

    @staticmethod
    def _asked(now: int, body: object) -> Asked:
        return Asked(now, OTHER, post(body))


class NowAndThen:
    """A request every ``every`` seconds, made by a function of its number."""

    def __init__(self, every: float, make: Callable[[int], bytes], task: bool = True) -> None:
        self._every, self._make, self._task = every, make, task
        self._next, self._n = every / 2, 0

    def due(self, at: float, now: int) -> Iterator[Asked]:
        """Requests that become due ``at`` seconds after the beginning."""
        if at >= self._next:
            self._next += self._every
            self._n += 1
            yield Asked(now, OTHER, self._make(self._n), self._task)


PAGES = (
    "/dm/main/",
    "/metrics",
    "/dm/api/v3/receipts?page_size=50",
    "/dm/",
    "/health/ready",
    "/dm/api/v3/operations?page_size=50",
    "/dm/api/v3/devices",
    "/dm/main/receipts",
)
"""Pages that an administrator opens, in turn."""


def payment(device: str, salt: str) -> Callable[[int], bytes]:
    """Payments by card at the terminal ``device``."""

    def make(n: int) -> bytes:
        pay = {"task": 1, "sum": 10 + n % 90, "transaction_id": f"{salt}-{n}"}
        return post({"ver": 6, "device": device, "type": 3, "pay": pay})

    return make


def print_job(device: str) -> Callable[[int], bytes]:
    """Jobs at the printer ``device``."""
    lines = [{"text": "Кава 51.00"}, {"text": "Дякуємо!"}]
    return lambda n: post({"ver": 6, "device": device, "type": 2, "doc": {"lines": [*lines, {"text": f"№ {n}"}]}})


class QueuedConnection:
    """A connection with its current request and the waiting ones."""

    def __init__(self, place: tuple[str, int], selector: selectors.BaseSelector) -> None:
        self._place, self._selector = place, selector
        self.waiting: deque[Asked] = deque()
        self.under_way: Asked | None = None
        self._sent_at = 0
        self._rest = b""
        self._wire: socket.socket | None = None

    def add(self, asked: Asked) -> None:
        """Queue ``asked``, or send it if there is no current request."""
        self.waiting.append(asked)
        self.go_on()

    def go_on(self) -> None:
        """Send the next waiting request if there is no current one.

        :raises OSError: when there is no connection.
        """
        if self.under_way is not None or not self.waiting:
            return
        if self._wire is None:
            self._wire = socket.create_connection(self._place, LONGEST)
            self._wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(self._wire, selectors.EVENT_READ, self)
        self.under_way, self._sent_at = self.waiting.popleft(), time.monotonic_ns()
        self._wire.sendall(self.under_way.raw)

    def receive(self) -> bytes:
        """The complete answer, or nothing yet.

        :raises OSError: when the connection is lost. :raises ValueError: when it is not an answer.
        """
        assert self._wire is not None
        data = self._wire.recv(1 << 18)
        if not data:
            raise ConnectionResetError("the service closed the connection")
        self._rest += data
        end = whole_end(self._rest)
        answer, self._rest = self._rest[:end], self._rest[end:]
        return answer

    def drop(self) -> None:
        """Close the connection; the current request has failed."""
        if self._wire is not None:
            self._selector.unregister(self._wire)
            self._wire.close()
        self._wire, self.under_way, self._rest = None, None, b""

    def overdue(self, now: int) -> bool:
        """Whether the answer takes too long; waiting for its turn does not count."""
        return self.under_way is not None and now - self._sent_at > LONGEST * 1e9


class Counted:
    """The counts of one minute."""

    def __init__(self) -> None:
        self.spent: list[int] = []
        self.others = self.failures = 0
        self.samples: list[str] = []

    def answered(self, asked: Asked, answer: bytes, now: int) -> None:
        """Count an answer."""
        good = is_success(answer) if asked.task else answer.startswith(b"HTTP/1.1 200")
        if not good:
            self.failed(asked.raw[:60].decode("latin-1") + " -> " + answer[-300:].decode("utf-8", "replace"))
        elif asked.kind == SALE:
            self.spent.append(now - asked.due)
        else:
            self.others += 1

    def failed(self, why: str) -> None:
        """Count a failure."""
        self.failures += 1
        if len(self.samples) < SAMPLES:
            self.samples.append(why)

    def minute(self, number: int, waiting: int) -> Minute:
        """The figures of the minute that ends now."""
        spent = sorted(self.spent)
        return Minute(
            minute=number,
            sales=len(spent),
            p50_ms=percentile(spent, 0.5) / 1e6,
            p99_ms=percentile(spent, 0.99) / 1e6,
            failures=self.failures,
            others=self.others,
            waiting=waiting,
            samples=self.samples,
        )


def drive(
    place: tuple[str, int],
    tills: Sequence[Till],
    more: Sequence[NowAndThen],
    rate: float,
    seconds: float,
    tell: Callable[[Minute], None],
    minute: float = 60.0,
) -> None:
    """Sell for ``seconds`` at ``rate`` sales per second, spread over the tills; report each minute."""
    clock = time.monotonic_ns
    with selectors.DefaultSelector() as selector, ExitStack() as stack:
        lines = [QueuedConnection(place, selector) for _ in tills]
        asides = [QueuedConnection(place, selector) for _ in more]
        for line in (*lines, *asides):
            stack.callback(line.drop)
        begun, counted, number, sent = clock(), Counted(), 0, 0
        while (at := (clock() - begun) / 1e9) < seconds:
            while sent / rate <= at:
                due = begun + int(sent / rate * 1e9)
                line = lines[sent % len(tills)]
                for asked in tills[sent % len(tills)].due(sent / rate, due):
                    with _counting(line, counted):
                        line.add(asked)
                sent += 1
            for line, now_and_then in zip(asides, more, strict=True):
                for asked in now_and_then.due(at, clock()):
                    with _counting(line, counted):
                        line.add(asked)
            if at >= (number + 1) * minute:
                tell(counted.minute(number, sum(len(line.waiting) for line in lines)))
                counted, number = Counted(), number + 1
                for line in (*lines, *asides):
                    if line.overdue(clock()):
                        counted.failed("no answer in time")
                        line.drop()
            for key, _ in selector.select(max(0.0, min(sent / rate - at, 0.05))):
                with _counting(key.data, counted):
                    _receive(key.data, counted, clock())


def _receive(line: QueuedConnection, counted: Counted, now: int) -> None:
    answer = line.receive()
    if answer:
        asked, line.under_way = line.under_way, None
        if asked is not None:
            counted.answered(asked, answer, now)
        line.go_on()


@contextmanager
def _counting(line: QueuedConnection, counted: Counted) -> Iterator[None]:
    """Count a failure on ``line``, and close it."""
    try:
        yield
    except (OSError, ValueError) as error:
        counted.failed(str(error))
        line.drop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Sell on the registers ``PREFIX0``, ``PREFIX1`` ...; pay, print and open pages meanwhile."""
    parser = argparse.ArgumentParser(prog="python -m dmtwisted.lab.soak.load", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--registers", type=int, default=16)
    parser.add_argument("--prefix", default="soak-")
    parser.add_argument("--rate", type=float, default=100.0, help="sales per second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--shift", type=float, default=600.0, help="seconds of a shift")
    parser.add_argument("--salt", default="soak")
    parser.add_argument("--terminal", default="", help="the terminal to pay at")
    parser.add_argument("--printer", default="", help="the printer to print at")
    asked = parser.parse_args(arguments)
    tills = [Till(f"{asked.prefix}{n}", asked.salt, n, asked.registers, asked.shift) for n in range(asked.registers)]
    more = [NowAndThen(2.0, lambda n: get(PAGES[n % len(PAGES)]), task=False)]
    if asked.terminal:
        more.append(NowAndThen(3.0, payment(asked.terminal, asked.salt)))
    if asked.printer:
        more.append(NowAndThen(2.0, print_job(asked.printer)))

    def tell(minute: Minute) -> None:
        print(json.dumps(asdict(minute), ensure_ascii=False), flush=True)

    drive((asked.host, asked.port), tills, more, asked.rate, asked.seconds, tell)
    return 0


if __name__ == "__main__":
    sys.exit(main())
