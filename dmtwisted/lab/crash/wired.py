"""Hardware registers in the lab: a shop of them, their scenes, and the three books that have to agree.

The simulated registers outlive the service, with whatever is open on them. Their ledgers are compared with the
journal and with what tills were answered.
"""

from __future__ import annotations

import http.client
import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dmtwisted.lab.children import HOST, BenchFailed, Simulator
from dmtwisted.lab.crash.books import DONE, REFUSED, Entry, Findings, TillTask
from dmtwisted.lab.crash.databases import SQLITE, Ground
from dmtwisted.lab.crash.parent import Parent
from dmtwisted.lab.crash.scenes import BUSY, DOCUMENT, NOT_STORED, PATIENCE, Play, Scene, patiently, pause
from dmtwisted.lab.crash.shop import ForkedChild, Shop, lasting_port
from dmtwisted.lab.crash.wire import shown

MACHINES: Mapping[str, tuple[str, ...]] = {
    "mg": (),
    "datecs": (),
    "datecs_classic": ("--after-cut", "voids"),
    "ics": (),
    "maria": (),
}
"""The drivers, with options of their simulators: an open document outlives a power cut, or it does not."""

OPEN, SALE, RETURN, CASH_IN, CASH_OUT, Z = "open", "sale", "return", "cash_in", "cash_out", "z"
TASKS = {OPEN: 0, SALE: 1, RETURN: 2, CASH_IN: 3, CASH_OUT: 4, Z: 11}
LEDGER = frozenset({SALE, RETURN, CASH_IN, CASH_OUT})
"""What the ledger of a register has; of Z reports it has the last number."""

COUNTS_RECEIPTS = frozenset({"maria"})
"""Registers whose numbers leave out cash and voided documents."""

UNSOLVABLE = 1074
NO_NUMBER = "N"
"""Before our number, in the place of the number that a register did not tell."""

FLOAT_KOPECKS = 1_000_000
"""The cash at the beginning, for returns."""

SLOW_MS = 150
"""What a closing takes in random rounds, so that a kill meets it."""

DARK_MS = 800
"""How long the power is off."""

OPENS_S = 3.0
"""Seconds within which a document opens on the register, or the round goes on without."""

DARK = "at random, power cut"
"""The name of rounds without a point in which the register loses its power too."""


@dataclass(frozen=True)
class WiredTask(TillTask):
    """A task of a hardware register.

    :param why: the answer that left it to a person, or the one that refused it.
    """

    register: str = ""
    kind: str = SALE


class Machine(ForkedChild, Simulator):
    """A simulated register; it keeps its books in memory."""

    def __init__(self, parent: Parent, name: str, port: int, folder: Path) -> None:
        control = lasting_port()
        ports = ("--listen", f"{HOST}:{port}", "--control", f"{HOST}:{control}")
        named = ("--protocol", name.replace("_", "-"), *MACHINES[name])
        super().__init__(parent, name, ["simulate", "register", *named, *ports], control, folder / f"{name}.log")

    def entries(self) -> list[Entry]:
        """Its ledger."""
        rows = json.loads(self.ask("GET", "/ledger")[1])["entries"]
        if self.name in COUNTS_RECEIPTS:
            for number, row in enumerate((row for row in rows if row["kind"] in (SALE, RETURN)), 1):
                row["number"] = str(number)
        return [Entry(row["kind"], row["n"], row["number"], row["sum"]) for row in rows]

    def state(self) -> dict[str, Any]:
        """Its state."""
        told: dict[str, Any] = json.loads(self.ask("GET", "/state")[1])
        return told

    def cut_power(self, seconds: float) -> None:
        """Switch it off for so long."""
        self.ask("POST", "/power_cut", {"seconds": seconds})


class WiredShop(Shop):
    """A shop with a hardware register of each kind, and nothing else."""

    def __init__(self, folder: Path, ground: Ground = SQLITE) -> None:
        super().__init__(folder, ground=ground)
        self.machines: dict[str, Machine] = {}

    def _open(self) -> None:
        ports = {name: lasting_port() for name in MACHINES}
        for name, port in ports.items():
            self.machines[name] = machine = Machine(self.parent, name, port, self.folder)
            self._held.callback(machine.stop)
            machine.spawn()
        for machine in self.machines.values():
            machine.wait_until_ready()
        self._held.callback(self.service.stop)
        self.service.start()
        for name, port in ports.items():
            self.ids[name] = self._device(*(name, "register", name), host=HOST, port=port, default_taxgrp=1)
            do(self, name, OPEN)
            do(self, name, CASH_IN, FLOAT_KOPECKS + self.next_sum())

    def calm(self) -> None:
        """Let everything work from now on."""
        for machine in self.machines.values():
            machine.set_rules()

    def online(self) -> bool:
        """Whether the service answers: tills repeat until the outcome is known."""
        self.ask("GET", "/dm/api/v3/devices")
        return True

    def settle(self, terminal: str) -> None:
        """Settle the open document of a register as a person does: by its tape."""
        made = {(entry.kind, entry.sum) for entry in self.machines[terminal].entries()}
        unfinished = self.ask("GET", "/dm/api/v3/operations?state=unfinished")["operations"]
        for row in unfinished:
            if row["device"] == terminal:
                kind, _, kopecks = row["key"].partition("-")
                outcome = "approved" if (kind, int(kopecks)) in made else "refused"
                self.ask("POST", f"/dm/api/v3/operations/{row['id']}/settle", {"outcome": outcome})

    def left_to_a_person(self) -> tuple[list[str], int]:
        """Tasks that were left to a person, all as what no register tells: see `Shop.left_to_a_person`."""
        return [], sum(bool(task.why) and task.heard == DONE for task in self.tasks)

    def compare(self) -> None:
        """Compare all books; the tills do not work meanwhile."""
        journal, found = self.read_journal()
        tasks = [task for task in self.tasks if isinstance(task, WiredTask)]
        for name, machine in self.machines.items():
            own = [task for task in tasks if task.register == name]
            books = machine.entries(), int(machine.state()["z"]), journal.get(name, [])
            found.add(compare_register(name, own, *books))
        self.found.add(found)


# The books


def compare_register(
    name: str, tasks: Sequence[WiredTask], ledger: Sequence[Entry], last_z: int, journal: Iterable[Entry]
) -> Findings:
    """Compare what tills heard with the ledger of a register and with the journal.

    :param last_z: the number of the register's last Z report; its first one is 1.
    """
    found = Findings()
    there = Counter((entry.kind, entry.sum) for entry in ledger)
    numbers = {(entry.kind, entry.sum): entry.fiscal_number for entry in ledger}
    kept = list(journal)
    stored = Counter((entry.kind, entry.sum) for entry in kept if entry.kind in LEDGER)
    answered = {(task.kind, task.kopecks) for task in tasks if task.heard == DONE}
    for task in tasks:
        what = task.kind, task.kopecks
        if task.heard == REFUSED:
            found.lost.append(f"{name}: {what} was refused: {task.why}")
        if task.heard != DONE or task.receipt is None:
            continue
        number, code = task.receipt
        if (task.kind, number, code) not in {(entry.kind, entry.number, entry.fiscal_number) for entry in kept}:
            found.lost.append(f"{name}: {what} was answered as {task.receipt} and is not in the journal")
        if task.kind in LEDGER:
            if not there[what]:
                found.lost.append(f"{name}: {what} was answered and is not on the register")
            elif not code.startswith(NO_NUMBER) and code != numbers[what]:
                found.other.append(f"{name}: {what} was answered as {code} and is {numbers[what]}")
    for what, times in there.items():
        if times > 1 or what not in answered:
            found.doubled.append(
                f"{name}: {what} is on the register {times} times, tills have it: {what in answered}"
            )
    for what, times in stored.items():
        if times > 1:
            found.doubled.append(f"{name}: the journal has {what} {times} times")
        elif not there[what]:
            found.other.append(f"{name}: {what} of the journal is not on the register")
    wanted, reports = (sum(each.kind == Z for each in book) for book in (tasks, kept))
    for made, where in ((last_z, "on the register"), (reports, "in the journal")):
        if made != wanted:
            wrong = found.doubled if made > wanted else found.lost
            wrong.append(f"{name}: {made} Z reports are {where}, and tills made {wanted}")
    return found


# The scenes


def _body(name: str, kind: str, kopecks: int) -> dict[str, object]:
    amount = kopecks / 100
    fiscal: dict[str, object] = {"task": TASKS[kind]}
    if kind in (SALE, RETURN):
        row = {"code": str(kopecks), "name": f"LAB{kopecks}", "cnt": 1, "price": amount, "taxgrp": 1}
        fiscal["receipt"] = {"sum": amount, "rows": [row], "pays": [{"type": 0, "sum": amount}]}
    elif kind in (CASH_IN, CASH_OUT):
        fiscal["cash"] = {"type": 0, "sum": amount}
    return {"ver": 6, "device": name, "tag": f"{kind}-{kopecks}", "type": 1, "fiscal": fiscal}


def _heard(shop: Shop, name: str, body: Mapping[str, object]) -> tuple[dict[str, Any], str]:
    """The last answer to a task, repeated until its outcome is known, and the one that left it to a person."""
    asking, left = shop.wire(), ""
    deadline = time.monotonic() + PATIENCE
    try:
        while time.monotonic() < deadline:
            try:
                answer: dict[str, Any] = asking.ask("POST", "/dm/execute", body)
            except (OSError, http.client.HTTPException):
                pause()
                continue
            if answer["res"] == UNSOLVABLE:
                left = shown(answer)
                patiently(partial(shop.settle, name))
            elif answer["res"] not in (BUSY, NOT_STORED) and answer["res_action"] not in (1, 2):
                return answer, left
            pause()
    finally:
        asking.close()
    raise BenchFailed(f"{body['tag']} on {name} did not end within {PATIENCE:.0f} s")


def do(shop: Shop, name: str, kind: str, kopecks: int = 0) -> None:
    """Have a register do a task, until the till knows its outcome."""
    kopecks = kopecks or shop.next_sum()
    body = _body(name, kind, kopecks)
    answer, left = _heard(shop, name, body)
    if answer["res"]:
        shop.add(WiredTask(kopecks, REFUSED, tag=str(body["tag"]), why=shown(answer), register=name, kind=kind))
        return
    receipt = int(answer["info"]["docno"]), answer["info"]["doccode"]
    shop.add(WiredTask(kopecks, DONE, tag=str(body["tag"]), receipt=receipt, why=left, register=name, kind=kind))


def one(shop: Shop, name: str, kind: str) -> None:
    """One document."""
    do(shop, name, kind)


def cash(shop: Shop, name: str) -> None:
    """Cash is put in and taken out."""
    do(shop, name, CASH_IN)
    do(shop, name, CASH_OUT)


def shift(shop: Shop, name: str) -> None:
    """A Z report and the next opening."""
    do(shop, name, Z)
    do(shop, name, OPEN)


def broken(shop: Shop, name: str, then: str, delay_ms: int = 0) -> None:
    """A sale whose line breaks while its document is open; a broken line is tried once more."""
    with _rule(shop, name, SALE, then, times=2, delay_ms=delay_ms):
        do(shop, name, SALE)


@contextmanager
def _rule(shop: Shop, name: str, on: str, then: str, **more: object) -> Iterator[None]:
    assert isinstance(shop, WiredShop)
    shop.machines[name].set_rules({"on": on, "then": then, **more})
    try:
        yield
    finally:
        shop.machines[name].set_rules()


LOST = {"document.doubt-stored": 1, "collision.asked": 1}
REMEMBERS = frozenset({"datecs", "datecs_classic", "ics"})
"""Registers that answer a command again on a new line: a lost answer is no doubt there."""


def _scenes(name: str) -> Iterator[Scene]:
    yield Scene(f"sale on {name}", partial(one, name=name, kind=SALE), DOCUMENT)
    yield Scene(f"return on {name}", partial(one, name=name, kind=RETURN), DOCUMENT)
    yield Scene(f"cash on {name}", partial(cash, name=name), dict.fromkeys(DOCUMENT, 2))
    yield Scene(f"Z on {name}", partial(shift, name=name), {**DOCUMENT, "document.first-accepted": 1})
    yield Scene(f"close on {name} broken", partial(broken, name=name, then="lost_before"), LOST)
    points = {"document.submitted": 1} if name in REMEMBERS else LOST
    yield Scene(f"answer of {name} lost", partial(broken, name=name, then="lost_after"), points)
    yield Scene(f"power of {name} lost", partial(broken, name=name, then="unreachable", delay_ms=DARK_MS), LOST)


WIRED: tuple[Scene, ...] = tuple(scene for name in MACHINES for scene in _scenes(name))
"""The tasks of each hardware register, with the points of its scene."""


# At random


@dataclass(frozen=True)
class Moment:
    """One kill while a document is open on a register.

    :param after: seconds from its opening.
    :param dark: seconds for which the register loses its power at the same time; 0: it keeps it.
    """

    name: str
    kind: str
    after: float
    dark: float = 0.0

    @property
    def scene(self) -> str:
        """What its row is called."""
        return f"open on {self.name}"

    def play(self) -> Play:
        """The task meanwhile."""
        return partial(one, name=self.name, kind=self.kind)

    def awaited(self, shop: WiredShop, number: int) -> None:
        """Return in the middle of the document.

        :param number: of the register's last document before it.
        """
        deadline = time.monotonic() + OPENS_S
        while time.monotonic() < deadline:
            state = shop.machines[self.name].state()
            if state["document"] is not None or state["number"] != number:
                break
        time.sleep(self.after)


def moments(seed: int, number: int) -> list[Moment]:
    """Kills of all registers in turn; the same for the same seed."""
    dice = random.Random(f"moments {seed}")
    names = list(MACHINES)
    return [
        Moment(
            names[n % len(names)],
            dice.choice((SALE, SALE, RETURN, CASH_IN)),
            dice.uniform(0, SLOW_MS / 1000),
            dice.uniform(0.2, 1.0) if dice.random() < 0.5 else 0.0,
        )
        for n in range(number)
    ]
