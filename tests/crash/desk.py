"""Tills that sell on the real service and never give a sale up, and the judge who holds all books against each other.

Tills do what correct tills do: each sale has a tag of its own, and whoever gets no answer repeats the same tag until
there is one. Afterwards what they were told, the stored answers, the journal in the database, the ledger of the
simulated tax service and the X-report have to agree.
"""

from __future__ import annotations

import http.client
import json
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Self

from dmtwisted.commands.children import (
    HOST,
    BenchFailed,
    Child,
    make_register,
)

REGISTERS = 4
TILLS = 8

ANSWER_PATIENCE = 30.0
"""Seconds in which every sale has to be answered, kills and restarts included."""

BUSY, NOT_STORED = 1105, 1082

# What is found


@dataclass(frozen=True)
class Sold:
    """A sale as its till knows it; ``sum`` in kopecks."""

    register: str
    tag: str
    sum: int
    docno: str
    doccode: str


@dataclass(frozen=True)
class Entry:
    """A receipt in one of the books: its kind, local number, fiscal number and sum in kopecks."""

    kind: str
    number: int
    fiscal_number: str
    sum: int


@dataclass
class Findings:
    """What is wrong, in sentences."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.gaps or self.other)

    def __str__(self) -> str:
        counts = f"lost {len(self.lost)}, doubled {len(self.doubled)}, gaps {len(self.gaps)}"
        return f"{counts}, otherwise wrong {len(self.other)}" if self.other else counts

    def add(self, more: Findings) -> None:
        """Take over what is in ``more`` and not yet known."""
        for mine, theirs in (
            (self.lost, more.lost),
            (self.doubled, more.doubled),
            (self.gaps, more.gaps),
            (self.other, more.other),
        ):
            mine += [sentence for sentence in theirs if sentence not in mine]


def compare_books(register: str, sold: Sequence[Sold], ledger: Sequence[Entry], journal: Iterable[Entry]) -> Findings:
    """Hold the books of one register against each other.

    ``sold`` is every sale that its tills began (each was answered in the end), ``ledger`` what the tax
    service took, in order, ``journal`` what the database has as done.
    """
    found = Findings()
    sales = [entry for entry in ledger if entry.kind == "sale"]
    taken = Counter((entry.number, entry.fiscal_number, entry.sum) for entry in sales)
    told = Counter((int(sale.docno), sale.doccode, sale.sum) for sale in sold)
    for sale in sold:
        receipt = int(sale.docno), sale.doccode, sale.sum
        if not taken[receipt]:
            found.lost.append(f"{register}: {sale} is not in the ledger")
        elif told[receipt] > taken[receipt]:
            found.lost.append(f"{register}: {sale} shares its receipt with another tag")
    for receipt, times in taken.items():
        if times > told[receipt]:
            found.doubled.append(f"{register}: receipt {receipt} is in the ledger and no till has it")
    numbers = [entry.number for entry in ledger]
    for place, number in enumerate(numbers, 1):
        if number != place:
            found.gaps.append(f"{register}: the ledger has number {number} in place {place}")
            break
    kept = {entry.number: entry for entry in journal}
    for entry in ledger:
        if kept.pop(entry.number, None) != entry:
            found.lost.append(f"{register}: {entry} is not in the journal")
    for entry in kept.values():
        found.other.append(f"{register}: {entry} of the journal is not in the ledger")
    return found


# A till


def shown(answer: object) -> str:
    """The beginning of an answer, for messages."""
    return json.dumps(answer, default=str, ensure_ascii=False)[:300]


class Wire:
    """A connection that stays open while it can."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=ANSWER_PATIENCE)

    def move_to(self, port: int) -> None:
        """Ask another service from now on."""
        if self._connection.port != port:
            self._connection.close()
            self._connection.port = port

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The decoded answer; money in it is `Decimal`.

        :raises OSError: or `http.client.HTTPException` when there is none.
        """
        try:
            text = None if body is None else json.dumps(body).encode()
            self._connection.request(method, path, text, {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            whole = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        if answer.status != 200:
            raise BenchFailed(f"{method} {path}: status {answer.status}: {whole[:300]!r}")
        return json.loads(whole, parse_float=Decimal)

    def execute(self, body: dict[str, object], again: Callable[[], None], patience: float = ANSWER_PATIENCE) -> Any:
        """The answer to a task that may be repeated: it is, until it is answered by success or definitely.

        ``again`` is called before each repeat, for so many seconds at the most.
        """
        deadline = time.monotonic() + patience
        while True:
            try:
                answer = self.ask("POST", "/dm/execute", body)
                words = shown(answer)
                if answer["res"] not in (BUSY, NOT_STORED) and answer["res_action"] not in (1, 2):
                    return answer
            except (OSError, http.client.HTTPException) as error:
                words = repr(error)
            if time.monotonic() > deadline:
                raise BenchFailed(f"{body['tag']} was not answered in {patience:.0f} s: {words}")
            again()

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


class Till:
    """One client; it has at most one sale under way and never gives it up.

    :param patience: seconds in which every sale has to be answered.
    """

    def __init__(self, port: int, register: str, name: str, seed: int, patience: float) -> None:
        self.sold: list[Sold] = []
        self.repeats = self.found_again = 0
        self.slowest = 0.0
        """Seconds from the first time that a sale was sent to its answer, at the most."""
        self._port, self._register, self._name = port, register, name
        self._dice = random.Random(seed)
        self._n = 0
        self._patience = patience

    def move_to(self, port: int) -> None:
        """Sell at another service from now on."""
        self._port = port

    def sell_until(self, stop: Event) -> None:
        """Sell; return when ``stop`` is set and the sale under way is answered.

        :raises BenchFailed: when a sale is refused or is never answered.
        """
        wire = Wire(self._port)
        try:
            while not stop.is_set():
                self._n += 1
                self.sold.append(self._sell(wire, f"{self._name}-{self._n}", self._dice.randint(1, 99999)))
        finally:
            wire.close()

    def _sell(self, wire: Wire, tag: str, kopecks: int) -> Sold:
        amount = kopecks / 100
        row = {"code": "1", "name": "Хліб", "cnt": 1, "price": amount, "taxgrp": 1}
        receipt = {"sum": amount, "rows": [row], "pays": [{"type": 0, "sum": amount}]}
        fiscal = {"task": 1, "cashier": self._name, "receipt": receipt}
        request = {"ver": 6, "device": self._register, "tag": tag, "type": 1, "fiscal": fiscal}
        begun = time.monotonic()
        answer = wire.execute(request, partial(self._pause, wire), self._patience)
        self.slowest = max(self.slowest, time.monotonic() - begun)
        if answer["res"] != 0 or answer["tag"] != tag:
            raise BenchFailed(f"{tag} was refused: {shown(answer)}")
        # Answered before, and the answer was lost: this one comes out of the journal.
        self.found_again += answer["task_status"] == 2
        info = answer["info"]
        return Sold(self._register, tag, kopecks, info["docno"], info["doccode"])

    def _pause(self, wire: Wire) -> None:
        self.repeats += 1
        wire.move_to(self._port)
        time.sleep(self._dice.uniform(0.002, 0.02))


# The books


def look_up(port: int, sold: Iterable[Sold]) -> Findings:
    """Ask for each tag; its stored answer has to be the one that was given."""
    found = Findings()
    wire = Wire(port)
    try:
        for sale in sold:
            request: dict[str, object] = {"ver": 6, "device": sale.register, "tag": sale.tag, "type": 0}
            answer = wire.execute(request, lambda: time.sleep(0.005))
            if answer["res"] != 0:
                found.lost.append(f"{sale} is not found: {answer['res']} {answer['errortxt']}")
            elif (answer["info"]["docno"], answer["info"]["doccode"]) != (sale.docno, sale.doccode):
                found.lost.append(f"{sale} is now {answer['info']['docno']} {answer['info']['doccode']}")
    finally:
        wire.close()
    return found


def look_up_all(port: int, sold: Sequence[Sold]) -> Findings:
    """The same for many sales, the registers side by side."""
    by_register: dict[str, list[Sold]] = {}
    for sale in sold:
        by_register.setdefault(sale.register, []).append(sale)
    found = Findings()
    with ThreadPoolExecutor(REGISTERS) as threads:
        for findings in threads.map(lambda sales: look_up(port, sales), by_register.values()):
            found.add(findings)
    return found


def read_ledger(port: int, dev_id: str) -> list[Entry]:
    """What the simulated tax service took, in its order."""
    wire = Wire(port)
    try:
        entries = wire.ask("GET", f"/dm/api/v3/devices/{dev_id}/ledger")["entries"]
    finally:
        wire.close()
    return [
        Entry(entry["kind"], int(entry["ref"]), entry["number"], entry["sum"])
        for entry in entries
        if entry["status"] == "accepted"
    ]


Rows = Callable[[str], Iterable[tuple[Any, ...]]]
"""Asks a database something in SQL that every one of them understands."""


def read_journal(state: Path) -> tuple[dict[str, list[Entry]], Findings]:
    """The documents that are done, by the name of their register, and what is wrong with the SQLite database."""
    with closing(sqlite3.connect(f"file:{state / 'dmtwisted.db'}?mode=ro", uri=True)) as db:
        journal, found = judge_journal(db.execute)
        [(verdict,)] = db.execute("PRAGMA integrity_check(1)").fetchall()
        if verdict != "ok":
            found.other.append(f"the database is damaged: {verdict}")
    return journal, found


def judge_journal(rows: Rows) -> tuple[dict[str, list[Entry]], Findings]:
    """The documents that are done, by the name of their register, and what is wrong with the operations."""
    found = Findings()
    journal: dict[str, list[Entry]] = {}
    for name, *entry in rows(
        "SELECT device.name, document.kind, number, fiscal_number, sum FROM document "
        "JOIN device ON device.n = device_n WHERE state = 'done' ORDER BY document.n"
    ):
        journal.setdefault(name, []).append(Entry(*entry))
    for name, key, became in rows(
        'SELECT device.name, "key", state FROM operation JOIN device ON device.n = device_n '
        "WHERE state NOT IN ('done', 'refused')"
    ):
        found.other.append(f"{name}: the operation {key} is still {became}")
    for name, key, times in rows(
        'SELECT device.name, "key", count(*) FROM operation JOIN device ON device.n = device_n '
        "WHERE state = 'done' GROUP BY 1, 2 HAVING count(*) > 1"
    ):
        found.doubled.append(f"{name}: the journal has {key} {times} times")
    return journal, found


def check_totals(port: int, register: str, sold: Iterable[Sold]) -> Findings:
    """The X-report has to count and to add up the answered sales."""
    found = Findings()
    sums = [sale.sum for sale in sold]
    wire = Wire(port)
    try:
        request = {"ver": 6, "device": register, "tag": "", "type": 1, "fiscal": {"task": 10}}
        answer = wire.execute(request, lambda: time.sleep(0.005))
    finally:
        wire.close()
    if answer["res"] != 0:
        found.other.append(f"{register}: no X-report: {answer['res']} {answer['errortxt']}")
        return found
    info = answer["info"]
    total = sum((pay["sum_p"] for pay in info["pays"]), Decimal(0)) * 100
    seen = info["receipt"]["count_p"], total, info["safe"] * 100
    if seen != (len(sums), sum(sums), sum(sums)):
        found.other.append(
            f"{register}: {len(sums)} sales of {sum(sums)} kopecks, the X-report says "
            f"{seen[0]} of {seen[1]} with {seen[2]} in the drawer"
        )
    return found


# The desk


class Desk:
    """A service and its tills, and books to hold against each other."""

    def __init__(self, service: Child, seed: int, patience: float = ANSWER_PATIENCE) -> None:
        self.found = Findings()
        self._service = service
        self._registers: dict[str, str] = {}
        self._names = [f"register-{n}" for n in range(REGISTERS)]
        self._tills = [
            Till(service.port, self._names[n % REGISTERS], f"till-{n}", seed * 1000 + n, patience)
            for n in range(TILLS)
        ]

    @property
    def sold(self) -> list[Sold]:
        """Every sale, by till."""
        return [sale for till in self._tills for sale in till.sold]

    @property
    def repeats(self) -> int:
        """How often a till had to repeat."""
        return sum(till.repeats for till in self._tills)

    @property
    def found_again(self) -> int:
        """How many sales had happened and were answered only to a repeat."""
        return sum(till.found_again for till in self._tills)

    @property
    def slowest(self) -> float:
        """Seconds that a sale took at the most, repeats included; asking forgets them."""
        seconds = max(till.slowest for till in self._tills)
        for till in self._tills:
            till.slowest = 0.0
        return seconds

    def __enter__(self) -> Self:
        self._service.start()
        try:
            self._registers = {name: make_register(self._service, name) for name in self._names}
        except BaseException:
            self._service.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._service.stop()

    def play(self, after: float, strike: Callable[[], None]) -> None:
        """One round: load, a blow and what it takes to recover, and a look at what was sold meanwhile."""
        before = [len(till.sold) for till in self._tills]
        stop = Event()
        with ThreadPoolExecutor(TILLS) as threads:
            try:
                selling = [threads.submit(till.sell_until, stop) for till in self._tills]
                time.sleep(after)
                strike()
            finally:
                stop.set()
        for sales in selling:
            fault = sales.exception()
            if isinstance(fault, BenchFailed):
                self.found.other.append(str(fault))
            elif fault is not None:
                raise fault
        fresh = [sale for till, known in zip(self._tills, before, strict=True) for sale in till.sold[known:]]
        self.found.add(look_up_all(self._service.port, fresh))

    def compare(self) -> None:
        """Hold all books against each other; the tills rest meanwhile."""
        journal, findings = self.read_journal()
        self.found.add(findings)
        for name, dev_id in self._registers.items():
            sold = [sale for sale in self.sold if sale.register == name]
            ledger = read_ledger(self._service.port, dev_id)
            self.found.add(compare_books(name, sold, ledger, journal.get(name, [])))
            self.found.add(check_totals(self._service.port, name, sold))

    def look_up_everything(self) -> None:
        """Ask for every tag that was ever answered."""
        self.found.add(look_up_all(self._service.port, self.sold))

    def read_journal(self) -> tuple[dict[str, list[Entry]], Findings]:
        """The documents that are done, by register, and what is wrong with the database."""
        raise NotImplementedError("a desk says where its database is")
