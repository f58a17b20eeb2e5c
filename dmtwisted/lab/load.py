"""Load on the service: each connection sends its next sale when the one before is answered.

With ``--rate`` it sends the next sale when that is due, or as soon afterwards as the one before is answered, and the
time counts from the moment when it was due: a sale that had to wait for a slow one counts as slow too.

A load generator shares the machine with what it measures, so this one does little: bare sockets that stay open,
prepared requests of which only the ``tag`` changes, answers that are searched for ``"res":0`` and not decoded.
``python -m dmtwisted.lab.load --port N`` prints its figures as JSON, in its own process, so that it never shares an
interpreter with a server.
"""

from __future__ import annotations

import argparse
import json
import selectors
import socket
import ssl
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from math import ceil

Maker = Callable[[int], bytes]
"""From the number of a request on its connection to its bytes."""

GRACE = 30.0
"""Seconds to wait for answers when the time is up: without them the figures would look too good."""

SAMPLES = 5
"""Number of failed answers that are kept."""

KNOWN = 20
"""Sales of each register that are looked up."""

SUCCESS = b'"res":0'
"""What the answer to a successful task contains."""

_RECEIVE = 1 << 16


@dataclass(frozen=True)
class Load:
    """Figures of a load: ``count`` and times of successes, ``cpu_us`` processor time of the generator for each."""

    count: int
    seconds: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    failures: int
    samples: list[str] = field(default_factory=list)
    cpu_us: float = 0.0

    @property
    def rate(self) -> float:
        """Successes per second."""
        return self.count / self.seconds if self.seconds else 0.0


class Numbered:
    """HTTP requests to the task endpoint that differ only in ten digits.

    :param body: the request, with `NUMBER` in place of the digits.
    :param most: number of different requests, after which they repeat; 0: unlimited.
    """

    def __init__(self, body: str, most: int = 0) -> None:
        encoded = body.encode()
        head = (
            "POST /dm/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(encoded)}\r\n\r\n"
        )
        self._before, self._after = (head.encode() + encoded).split(NUMBER.encode())
        self._most = most

    def __call__(self, n: int) -> bytes:
        """The request with the number ``n``."""
        return b"%b%010d%b" % (self._before, n % self._most if self._most else n, self._after)


NUMBER = "#" * 10
"""The place of the digits in the body of `Numbered`."""


class Sale(Numbered):
    """The sales of one register; they differ only in the ``tag``."""

    def __init__(self, device: str, salt: str) -> None:
        super().__init__(sale_body(device, f"{salt}-{NUMBER}"))


class LookUp(Numbered):
    """Look-ups of the first ``most`` sales that were made on a register with this ``salt``."""

    def __init__(self, device: str, salt: str, most: int = KNOWN) -> None:
        super().__init__(json.dumps({"ver": 6, "device": device, "type": 0, "tag": f"{salt}-{NUMBER}"}), most)


class Payment(Numbered):
    """Purchases by card at one terminal; they differ only in the ``transaction_id``."""

    def __init__(self, device: str, salt: str) -> None:
        asked = {"ver": 6, "source": "bench", "device": device, "type": 3, "transaction_id": f"{salt}-{NUMBER}"}
        super().__init__(json.dumps({**asked, "pay": {"task": 1, "sum": 19.95}}))


KINDS: dict[str, Callable[[str, str], Maker]] = {"sale": Sale, "look-up": LookUp, "payment": Payment}
"""The kinds of requests: each makes requests from a device and the beginning of its tags."""


def sale_body(device: str, tag: str) -> str:
    """A sale as tills send it: three items, one of them weighed, paid in cash."""
    rows = [
        {"code": "1", "name": "Хліб житній, 0.7 кг", "cnt": 2, "price": 31.5, "cost": 63.0, "taxgrp": 1},
        {"code": "2", "name": "Сир твердий ваговий", "cnt": 0.315, "price": 420, "cost": 132.3, "taxgrp": 1},
        {"code": "3", "name": "Пакет", "cnt": 1, "price": 4.2, "cost": 4.2, "taxgrp": 2},
    ]
    receipt = {"sum": 199.5, "rows": rows, "pays": [{"type": 0, "sum": 199.5}]}
    fiscal = {"task": 1, "cashier": "Оксана Коваль", "receipt": receipt}
    request = {"ver": 6, "source": "bench", "device": device, "tag": tag, "type": 1, "fiscal": fiscal}
    return json.dumps(request, ensure_ascii=False)


def answer_end(data: bytes) -> int:
    """The end of the first answer in ``data``; 0 while it is incomplete.

    :raises ValueError: when it has no Content-Length.
    """
    head_end = data.find(b"\r\n\r\n")
    if head_end < 0:
        return 0
    head = data[:head_end].lower()
    start = head.find(b"\r\ncontent-length:")
    if start < 0:
        raise ValueError("an answer without Content-Length")
    line_end = head.find(b"\r\n", start + 17)
    end = head_end + 4 + int(head[start + 17 : line_end if line_end > 0 else head_end])
    return end if end <= len(data) else 0


def is_success(answer: bytes, wanted: bytes = SUCCESS) -> bool:
    """Whether a complete answer has status 200 and contains ``wanted``."""
    return answer.startswith(b"HTTP/1.1 200") and wanted in answer


def percentile(ordered: Sequence[int], share: float) -> int:
    """The value that ``share`` of ``ordered`` does not exceed; 0 if it is empty."""
    if not ordered:
        return 0
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def summary(spent: list[int], seconds: float, failures: int, samples: list[str], cpu: float) -> Load:
    """The figures of ``spent``, the nanoseconds from each request to its answer."""
    ordered = sorted(spent)
    return Load(
        count=len(ordered),
        seconds=seconds,
        p50_ms=percentile(ordered, 0.5) / 1e6,
        p99_ms=percentile(ordered, 0.99) / 1e6,
        max_ms=percentile(ordered, 1) / 1e6,
        failures=failures,
        samples=samples,
        cpu_us=cpu * 1e6 / len(ordered) if ordered else 0.0,
    )


class LoadConnection:
    """One connection and its current request."""

    __slots__ = ("asked_at", "busy", "make", "n", "rest", "wire")

    def __init__(self, wire: socket.socket, make: Maker) -> None:
        self.wire, self.make = wire, make
        self.n, self.asked_at, self.rest, self.busy = 0, 0, b"", False
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire.setblocking(False)

    def ask(self, due_at: int = 0) -> None:
        """Send the next request.

        :param due_at: when it should have been sent, in nanoseconds; 0 is now.
        :raises OSError: when the connection does not take it.
        """
        request = self.make(self.n)
        self.n += 1
        self.asked_at = due_at or time.perf_counter_ns()
        if self.wire.send(request) != len(request):
            raise OSError("the connection takes no more")

    def receive(self) -> bytes:
        """The complete answer, or nothing yet.

        :raises OSError: when the connection is lost.
        :raises ValueError: when it is not an answer.
        """
        try:
            data = self.wire.recv(_RECEIVE)
        except ssl.SSLWantReadError:
            return b""  # a part of a TLS record
        if not data:
            raise OSError("the connection was closed")
        if self.rest:
            data = self.rest + data
        end = answer_end(data)
        self.rest = data[end:]
        return data[:end]


def connect(stack: ExitStack, host: str, port: int, trusted: ssl.SSLContext | None) -> socket.socket:
    """A connection that is closed with ``stack``, over TLS if ``trusted`` is given.

    :raises OSError: when it cannot be opened.
    """
    wire = stack.enter_context(socket.create_connection((host, port), GRACE))
    return wire if trusted is None else stack.enter_context(trusted.wrap_socket(wire, server_hostname="localhost"))


def drive(
    host: str,
    port: int,
    makers: Sequence[Maker],
    seconds: float,
    limit: int = 0,
    wanted: bytes = SUCCESS,
    trusted: ssl.SSLContext | None = None,
) -> tuple[Load, list[int]]:
    """Load ``host`` with a connection for each of ``makers``, for ``seconds`` or ``limit`` requests (0: no limit).

    Also returns the nanoseconds of each success. A broken connection counts as a failure and is not opened again.

    :param wanted: what a successful answer contains.
    :param trusted: the certificates to trust, over TLS.
    :raises OSError: when a connection cannot be opened.
    """
    spent: list[int] = []
    samples: list[str] = []
    failures = asked = 0
    clock = time.perf_counter_ns
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        lines = []
        for make in makers:
            wire = connect(stack, host, port, trusted)
            lines.append(LoadConnection(wire, make))
            selector.register(wire, selectors.EVENT_READ, lines[-1])
        begun, cpu = clock(), time.process_time()
        ended = begun
        deadline = begun + int(seconds * 1e9)
        for line in lines[:limit] if limit else lines:
            line.ask()
            asked += 1
        under_way = asked
        while under_way:
            ready = selector.select(max(0, deadline - clock()) / 1e9 + GRACE)
            if not ready:
                failures += under_way
                samples.append(f"{under_way} requests were not answered")
                break
            for key, _ in ready:
                line = key.data
                try:
                    answer = line.receive()
                    if not answer:
                        continue
                    ended = clock()
                    if is_success(answer, wanted):
                        spent.append(ended - line.asked_at)
                    else:
                        failures += 1
                        samples.append(answer.decode(errors="replace"))
                    if ended < deadline and (not limit or asked < limit):
                        asked += 1
                        line.ask()
                    else:
                        under_way -= 1
                except (OSError, ValueError) as error:
                    selector.unregister(line.wire)
                    under_way -= 1
                    failures += 1
                    samples.append(str(error))
                del samples[SAMPLES:]
    return summary(spent, (ended - begun) / 1e9, failures, samples, time.process_time() - cpu), spent


def drive_at(host: str, port: int, makers: Sequence[Maker], seconds: float, rate: float) -> tuple[Load, list[int]]:
    """Load ``host`` with ``rate`` requests per second in all, spread over the connections in turn.

    Also returns the nanoseconds of each success, from the moment when it was due. All requests of a broken connection
    count as failures.

    :raises OSError: when a connection cannot be opened.
    """
    spent: list[int] = []
    samples: list[str] = []
    failures = 0
    clock = time.perf_counter_ns
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        lines = []
        for make in makers:
            line = LoadConnection(connect(stack, host, port, None), make)
            lines.append(line)
            selector.register(line.wire, selectors.EVENT_READ, line)
        begun, cpu = clock(), time.process_time()
        total = max(1, round(seconds * rate))
        waiting: list[deque[int]] = [deque() for _ in lines]
        for n in range(total):
            waiting[n % len(lines)].append(begun + int(n * 1e9 / rate))
        ended, left, last_heard = begun, total, begun
        while left and clock() - last_heard < GRACE * 1e9:
            now = clock()
            soonest = now + int(GRACE * 1e9)
            for line, due in zip(lines, waiting, strict=True):
                if due and not line.busy:
                    if due[0] <= now:
                        line.busy = True
                        line.ask(due.popleft())
                    else:
                        soonest = min(soonest, due[0])
            for key, _ in selector.select(max(0, soonest - clock()) / 1e9):
                line = key.data
                try:
                    answer = line.receive()
                    if not answer:
                        continue
                    ended = last_heard = clock()
                    left, line.busy = left - 1, False
                    if is_success(answer):
                        spent.append(ended - line.asked_at)
                    else:
                        failures += 1
                        samples.append(answer.decode(errors="replace"))
                except (OSError, ValueError) as error:
                    selector.unregister(line.wire)
                    due = waiting[lines.index(line)]
                    lost = line.busy + len(due)
                    due.clear()
                    left, failures = left - lost, failures + lost
                    samples.append(str(error))
                del samples[SAMPLES:]
        if left:
            failures += left
            samples.append(f"{left} requests were not answered")
    return summary(spent, (ended - begun) / 1e9, failures, samples, time.process_time() - cpu), spent


def drive_fresh(
    host: str,
    port: int,
    makers: Sequence[Maker],
    seconds: float,
    wanted: bytes = SUCCESS,
    trusted: ssl.SSLContext | None = None,
) -> tuple[Load, list[int]]:
    """As `drive`, with a thread for each of ``makers`` and a new connection for each request.

    A time counts from opening the connection to the answer. Over TLS each connection makes a full handshake.
    """
    spent: list[int] = []
    failures: list[str] = []
    clock = time.perf_counter_ns
    begun, cpu = clock(), time.process_time()
    deadline = begun + int(seconds * 1e9)

    def till(make: Maker) -> None:
        n = 0
        while (asked_at := clock()) < deadline:
            try:
                answer = _asked(host, port, make(n), trusted)
            except (OSError, ValueError) as error:
                failures.append(str(error))
                return
            if is_success(answer, wanted):
                spent.append(clock() - asked_at)
            else:
                failures.append(answer.decode(errors="replace"))
            n += 1

    threads = [threading.Thread(target=till, args=(make,)) for make in makers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return summary(
        spent, (clock() - begun) / 1e9, len(failures), failures[:SAMPLES], time.process_time() - cpu
    ), spent


def _asked(host: str, port: int, request: bytes, trusted: ssl.SSLContext | None) -> bytes:
    with socket.create_connection((host, port), GRACE) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire = plain if trusted is None else trusted.wrap_socket(plain, server_hostname="localhost")
        with wire:
            wire.sendall(request)
            data = b""
            while not (end := answer_end(data)):
                piece = wire.recv(_RECEIVE)
                if not piece:
                    raise OSError("the connection was closed")
                data += piece
            return data[:end]


def trust(path: str | None) -> ssl.SSLContext | None:
    """Trust in the certificate in ``path``; `None`, for no TLS, without one."""
    return ssl.create_default_context(cafile=path) if path else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask the devices ``PREFIX0``, ``PREFIX1`` ...; print the figures; 1 when there is no connection."""
    parser = argparse.ArgumentParser(prog="python -m dmtwisted.lab.load", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--connections", type=int, default=1, help="number of connections, each with its own device")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--limit", type=int, default=0, help="number of requests after which it ends; 0: no limit")
    parser.add_argument("--times", action="store_true", help="print the microseconds of each success too")
    parser.add_argument("--prefix", default="bench-", help="names of the devices without their numbers")
    parser.add_argument("--salt", default="load", help="the beginning of each tag, new for each run")
    parser.add_argument("--kind", choices=sorted(KINDS), default="sale", help="kind of requests")
    parser.add_argument("--wanted", default=SUCCESS.decode(), help="what a successful answer contains")
    parser.add_argument("--trusted", help="use TLS and trust this certificate")
    parser.add_argument("--fresh", action="store_true", help="a new connection for each request")
    parser.add_argument("--rate", type=float, default=0, help="open load: requests per second")
    options = parser.parse_args(arguments)
    make = KINDS[options.kind]
    makers = [make(f"{options.prefix}{n}", f"{options.salt}-{n}") for n in range(options.connections)]
    wanted, trusted = options.wanted.encode(), trust(options.trusted)
    where = (options.host, options.port, makers)
    try:
        if options.fresh:
            load, spent = drive_fresh(*where, options.seconds, wanted, trusted)
        elif options.rate:
            load, spent = drive_at(*where, options.seconds, options.rate)
        else:
            load, spent = drive(*where, options.seconds, options.limit, wanted, trusted)
    except OSError as error:
        print(f"no load on {options.host}:{options.port}: {error}", file=sys.stderr)
        return 1
    times = {"spent_us": [each // 1000 for each in spent]} if options.times else {}
    print(json.dumps({**asdict(load), **times}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
