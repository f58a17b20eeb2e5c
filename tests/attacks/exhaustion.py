"""Exhaustion: connections, listeners, pipelines, large documents, hashes, log and memory of a real process.

While an attack goes on, a till asks for a register's state every few milliseconds on a connection of its own: the
longest wait of the calmest of some tries is what the attack itself costs, whatever else the machine does.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.attacks.desk import STRANGER, Desk, ProcessDesk
from tests.attacks.variants import HIGH, LOW, MEDIUM, Family, Stage
from tests.test_service_process import HOST
from tests.web_case import fiscal, sale

EXHAUSTION = Family("exhaustion", "Exhaustion")

LONGEST_PAUSE = 0.05
"""Seconds that no request may keep the reactor from the others."""

SLACK = 0.1
"""Seconds that a busy machine adds to the longest wait of a till."""

MORE_MEMORY = 96 << 20
"""Bytes by which the service may grow."""

TRIES = 5


class Till:
    """Asks again and again, and keeps the longest time it waited."""

    def __init__(self, desk: ProcessDesk) -> None:
        self._desk, self._stop = desk, threading.Event()
        self.longest, self.asked = 0.0, 0
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self) -> Till:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _ask(self) -> None:
        head = f"GET /health/live HTTP/1.1\r\nHost: {self._desk.host}\r\n\r\n".encode()
        with socket.create_connection((HOST, self._desk.service.port), 60) as line:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while not self._stop.is_set():
                begun = time.perf_counter()
                line.sendall(head)
                heard = b""
                while not heard.endswith(b"}"):
                    piece = line.recv(4096)
                    if not piece:
                        return
                    heard += piece
                self.longest = max(self.longest, time.perf_counter() - begun)
                self.asked += 1
                self._stop.wait(0.005)


@contextmanager
def bounded(desk: ProcessDesk) -> Iterator[None]:
    """The process lives and has not grown much."""
    before = desk.memory
    yield
    assert desk.alive, "the service ended"
    grown = desk.memory - before
    assert grown < MORE_MEMORY, f"the service grew by {grown >> 20} MB"


def calmly(desk: ProcessDesk, attack: Callable[[ProcessDesk], None]) -> None:
    """``attack`` keeps nobody waiting, in the calmest of some tries."""
    pauses = []
    for _ in range(TRIES):
        with bounded(desk), Till(desk) as till:
            attack(desk)
        assert till.asked, "the till was never served"
        pauses.append(till.longest)
        if till.longest < LONGEST_PAUSE + SLACK:
            return
    raise AssertionError(f"a till waited for {min(pauses) * 1000:.0f} ms")


def post(desk: ProcessDesk, body: object, path: str = "/dm/execute") -> None:
    """A task whose answer is read to its end."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = desk.ask("POST", path, raw)
    assert answer.status in (200, 400, 413), answer.status


def codes(count: int, length: int, task: int = 1) -> dict[str, object]:
    """A print job with many codes."""
    lines = "".join(f"%qr {'x' * length}\n" for _ in range(count))
    return {"device": "prn", "type": 2, "doc": {"task": task, "text": lines}}


def rows(count: int) -> dict[str, object]:
    """A sale of many rows."""
    one = {"code": "1", "name": "Кава", "cnt": 1, "price": 1, "taxgrp": 1}
    return sale("many", sum=count, rows=[one] * count, pays=[{"type": 0, "sum": count}])


BIG = 4 * 1024 * 1024 - 200


@EXHAUSTION.each(
    {
        "codes-100": ("100 QR codes of 2,300 characters in one job", lambda: (codes(100, 2300), "/dm/execute")),
        "codes-9000": ("9,000 bar codes in one job", lambda: (codes(9000, 13), "/dm/execute")),
        "codes-prn": (
            "the same on the path for printers, as a picture",
            lambda: (codes(100, 2300, 5), "/dm/execute-prn"),
        ),
        "rows-60000": ("a sale of 60,000 rows", lambda: (rows(28_000), "/dm/execute")),
        "rows-forms": (
            "2,000 rows with picture and PDF",
            lambda: ({**rows(2000), "need_pf_img": 2, "need_pf_pdf": 2}, "/dm/execute"),
        ),
        "name-4mb": (
            "an item's name of 4 MB",
            lambda: (
                sale("x", rows=[{"code": "1", "name": "x" * (BIG - 500), "cnt": 1, "price": 1, "taxgrp": 1}]),
                "/dm/execute",
            ),
        ),
        "members-4mb": (
            "200,000 unknown members",
            lambda: ({**fiscal(18), "x": {f"m{n}": 1 for n in range(200_000)}}, "/dm/execute"),
        ),
        "numbers-4mb": ("1,900,000 numbers", lambda: (b'{"x":[' + b"1," * 1_900_000 + b"1]}", "/dm/execute")),
        "texts-4mb": ("a million empty texts", lambda: (b'{"x":[' + b'"",' * 1_000_000 + b'""]}', "/dm/execute")),
        "objects-4mb": ("a million empty objects", lambda: (b'{"x":[' + b"{}," * 1_000_000 + b"{}]}", "/dm/execute")),
        "deep-4mb": ("4 MB of opening brackets", lambda: (b"[" * BIG, "/dm/execute")),
        "escapes-4mb": ("4 MB of escapes", lambda: (b'{"device":"' + b"\\u0041" * 690_000 + b'"}', "/dm/execute")),
        "digits-4mb": ("a number of 4 million digits", lambda: (b'{"x":' + b"9" * (BIG - 10) + b"}", "/dm/execute")),
        "cards-4mb": (
            "4 MB of digits that may be card numbers, in a text",
            lambda: (b'{"device":"' + b"4111 1111 " * 400_000 + b'"}', "/dm/execute"),
        ),
        "tag-4mb": ("a tag of 4 MB", lambda: (sale("x" * (BIG - 1000)), "/dm/execute")),
        "settings-4mb": (
            "settings of 4 MB",
            lambda: (b'{"supmail":"' + b"x" * (BIG - 20) + b'"}', "/dm/main/api/v1/settings"),
        ),
        "batch-4mb": ("a batch of 28,000 rows", lambda: (rows(28_000), "/dm/execute-pkg")),
        "pictures-9000": (
            "9,000 tiny pictures in one job",
            lambda: (
                {
                    "device": "prn",
                    "type": 2,
                    "doc": {"task": 1, "text": "%image data:image/png;base64,iVBORw0KGgo=\n" * 9000},
                },
                "/dm/execute",
            ),
        ),
    },
    "It is done or refused with a code; no till waits longer than 50 ms for it, and the memory stays.",
    HIGH,
    Stage.PROCESS,
    quick=False,
)
def one_body(desk: ProcessDesk, make: Callable[[], tuple[object, str]]) -> None:
    """One request that costs much."""
    body, path = make()
    raw = body if isinstance(body, bytes) else json.dumps(body, separators=(",", ":")).encode()
    before = len(desk.ledger())
    calmly(desk, lambda desk: post(desk, raw, path))
    desk.sold += len(desk.ledger()) - before


@EXHAUSTION.each(
    {
        "connections-500": ("500 connections that say nothing", 500, b""),
        "connections-half": (
            "500 connections with half a request",
            500,
            b"POST /dm/execute HTTP/1.1\r\nHost: x\r\nContent-Le",
        ),
        "connections-body": (
            "300 connections that promise a body",
            300,
            b"POST /dm/execute HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n{",
        ),
        "connections-chunk": (
            "300 connections in the middle of a chunk",
            300,
            b"POST /dm/execute HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\nx",
        ),
    },
    "Tills are served beside them as before, and {0} of them cost no more memory than they sent.",
    HIGH,
    Stage.PROCESS,
    quick=False,
)
def many_connections(desk: ProcessDesk, count: int, says: bytes) -> None:
    """Held connections."""

    def attack(desk: ProcessDesk) -> None:
        with contextlib.ExitStack() as held:
            for _ in range(count):
                line = held.enter_context(desk.connect())
                line.sendall(says)
            time.sleep(0.3)
            desk.sell()

    calmly(desk, attack)


@EXHAUSTION.each(
    {
        "pipeline-unread": ("3,000 requests in one pipeline whose answers nobody reads", b"/dm/main/api/v1/settings"),
        "pipeline-unread-page": ("3,000 requests for a page whose answers nobody reads", b"/dm/main/"),
        "pipeline-unread-openapi": (
            "3,000 requests for the description of the API, unread",
            b"/dm/api/v3/openapi.json",
        ),
    },
    "The service answers no further ahead than the client reads: its memory stays, and tills are served.",
    HIGH,
    Stage.PROCESS,
    quick=False,
)
def unread_pipeline(desk: ProcessDesk, path: bytes) -> None:
    """Answers that pile up."""
    one = b"GET " + path + b" HTTP/1.1\r\nHost: " + desk.host.encode() + b"\r\n\r\n"

    def attack(desk: ProcessDesk) -> None:
        with desk.connect() as line:
            line.settimeout(1)
            with contextlib.suppress(TimeoutError, ConnectionError):
                for _ in range(30):
                    line.sendall(one * 100)
            time.sleep(0.5)

    calmly(desk, attack)


@EXHAUSTION.one(
    "listeners",
    "300 listeners to the events from one computer",
    "One client cannot take every place: another computer still hears events.",
    MEDIUM,
    Stage.PROCESS,
    quick=False,
)
def listeners(desk: ProcessDesk) -> None:
    """All places of the event stream."""
    ask = f"GET /dm/api/v3/events HTTP/1.1\r\nHost: {desk.host}\r\n\r\n".encode()
    with contextlib.ExitStack() as held:
        for _ in range(300):
            held.enter_context(desk.connect(STRANGER)).sendall(ask)
        time.sleep(0.5)
        own = held.enter_context(desk.connect())
        own.sendall(ask)
        own.settimeout(5)
        assert b" 200 " in own.recv(4096)[:20], "there is no place left"


@EXHAUSTION.each(
    {
        "hashes": ("40 logins at once", 40),
        "hashes-long": ("40 logins at once with passwords of 10,000 letters", 10_000),
    },
    "Most are refused before any hash; one hash at a time is calculated, beside the tills.",
    MEDIUM,
    Stage.PROCESS,
    quick=False,
)
def hashes(desk: ProcessDesk, length: int) -> None:
    """Costly passwords; without a login none is calculated at all."""
    body = json.dumps({"login": "admin", "pass": "x" * length}).encode()

    def attack(desk: ProcessDesk) -> None:
        head = f"POST /login HTTP/1.1\r\nHost: {desk.host}\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        with contextlib.ExitStack() as held:
            for _ in range(40):
                held.enter_context(desk.connect()).sendall(head.encode() + body)
            time.sleep(0.5)

    calmly(desk, attack)


@EXHAUSTION.one(
    "log-growth",
    "2,000 requests that are refused, each with 1 KB in every text",
    "The log grows by no more than a line of some hundred bytes for each.",
    LOW,
    Stage.PROCESS,
    quick=False,
)
def log_growth(desk: ProcessDesk) -> None:
    """A log that is filled."""
    before = len(desk.service.printed)
    body = json.dumps(
        {"device": "x" * 1000, "tag": "y" * 200, "source": "z" * 1000, "type": 1, "fiscal": {"task": 1}}
    )
    one = f"POST /dm/execute HTTP/1.1\r\nHost: {desk.host}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    desk.send(*[one * 50] * 40)
    grown = len(desk.service.printed) - before
    assert grown < 2000 * 3500, f"{grown} bytes for 2,000 requests"


@EXHAUSTION.one(
    "aborted",
    "500 requests whose connection is reset at once",
    "Nothing is left of them: tasks end, descriptors are closed, tills are served.",
    MEDIUM,
    Stage.PROCESS,
    quick=False,
)
def aborted(desk: ProcessDesk) -> None:
    """Resets."""
    body = json.dumps(fiscal(18)).encode()
    ask = f"POST /dm/execute HTTP/1.1\r\nHost: {desk.host}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    def attack(desk: ProcessDesk) -> None:
        for _ in range(500):
            line = desk.connect()
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            line.sendall(ask)
            line.close()

    calmly(desk, attack)


@EXHAUSTION.one(
    "tags",
    "500 sales with a new tag each that the register refuses",
    "Nothing is stored of what was refused before its intent: the database stays as large.",
    LOW,
)
def refused_tags(desk: Desk) -> None:
    """Rows of a journal by force."""
    for n in range(500):
        answer = desk.execute(sale(f"refused-{n}", sum=1))
        assert answer["res"] > 0, answer
