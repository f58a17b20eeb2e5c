"""Tills that sell on the real service and never give a sale up, and the judge who holds all books against each other.

Tills do what correct tills do: each sale has a tag of its own, and whoever gets no answer repeats the same tag until
there is one. Afterwards what they were told, the stored answers, the journal in the database, the ledger of the
simulated tax service and the X-report have to agree.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import partial
from threading import Event
from typing import Self

from dmtwisted.lab.children import BenchFailed, Child, make_register
from dmtwisted.lab.crash.books import Entry, Findings, Sold, accepted, compare_books
from dmtwisted.lab.crash.wire import ANSWER_PATIENCE, TillConnection, shown

REGISTERS = 4
TILLS = 8

# A till


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
        self.wire: Callable[[int], TillConnection] = TillConnection
        """Makes its connection."""

    def move_to(self, port: int) -> None:
        """Sell at another service from now on."""
        self._port = port

    def sell_until(self, stop: Event) -> None:
        """Sell; return when ``stop`` is set and the sale under way is answered.

        :raises BenchFailed: when a sale is refused or is never answered.
        """
        wire = self.wire(self._port)
        try:
            while not stop.is_set():
                self._n += 1
                self.sold.append(self._sell(wire, f"{self._name}-{self._n}", self._dice.randint(1, 99999)))
        finally:
            wire.close()

    def _sell(self, wire: TillConnection, tag: str, kopecks: int) -> Sold:
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

    def _pause(self, wire: TillConnection) -> None:
        self.repeats += 1
        wire.move_to(self._port)
        time.sleep(self._dice.uniform(0.002, 0.02))


# The books


def look_up(port: int, sold: Iterable[Sold]) -> Findings:
    """Ask for each tag; its stored answer has to be the one that was given."""
    found = Findings()
    wire = TillConnection(port)
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
    wire = TillConnection(port)
    try:
        return accepted(wire.ask("GET", f"/dm/api/v3/devices/{dev_id}/ledger")["entries"])
    finally:
        wire.close()


def check_totals(port: int, register: str, sold: Iterable[Sold]) -> Findings:
    """The X-report has to count and to add up the answered sales."""
    found = Findings()
    sums = [sale.sum for sale in sold]
    wire = TillConnection(port)
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
