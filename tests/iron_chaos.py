"""Tasks with faults at hardware registers: ``python -m tests.iron_chaos --protocol mg --receipts 2000 --seed 1``.

Each task goes through the real dispatcher, engine, machine and link to the simulated register, in memory and on
simulated clocks. A seed decides which faults occur: answers are lost, late, damaged or old ones of another line;
lines break after any byte; the power fails, and the register keeps or voids what is open; paper ends, the cover is
open, a shift lasts longer than a day; people sell and make Z reports by hand; the service is killed at a write or in
the middle of a document. The till is a correct one: it repeats a task with the same ``tag`` until the answer says
that it is done, or that it never will be; sometimes it gives up and never asks again.

After each task the register's ledger, our store and what the till heard must agree about each tag, and our sums with
the ledger's. What only a person can settle is settled as a person would who reads the register's paper. Differences
are warned of when somebody worked by hand, and never otherwise. The exit status is 1 when anything disagrees.
"""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, NamedTuple
from unittest import TestResult

from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IProtocol
from twisted.internet.task import Clock
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.core import Core
from dmtwisted.devices.driver import REGISTER
from dmtwisted.registers.drivers.datecs import DatecsSettings
from dmtwisted.registers.drivers.datecs_classic import ClassicSettings
from dmtwisted.registers.drivers.ics import IcsSettings
from dmtwisted.registers.drivers.maria import MariaSettings
from dmtwisted.registers.drivers.mg import MgSettings
from dmtwisted.registers.wired.datecs.classic import ClassicMachine
from dmtwisted.registers.wired.datecs.ukrainian import UkrainianMachine
from dmtwisted.registers.wired.driver import wired_driver
from dmtwisted.registers.wired.ics import IcsMachine
from dmtwisted.registers.wired.interface import IMachine
from dmtwisted.registers.wired.maria import MariaMachine
from dmtwisted.registers.wired.mg import MgMachine
from dmtwisted.store.values import State
from protocols.registers.mg.register import SERVICE, MgRegister
from protocols.simulators.datecs_classic_register import ClassicDevice
from protocols.simulators.datecs_register import UkrainianDevice
from protocols.simulators.ics_register import IcsDevice
from protocols.simulators.iron import DAY, AfterCut, Kind, Refuses, Why
from protocols.simulators.maria_register import MariaDevice
from protocols.simulators.mg_register import MgDevice, MgSite
from protocols.simulators.register_line import Fault, What
from tests.batch_desk import Blows
from tests.iron_shop import BreakingDesk, IronShop
from tests.memory_line import MemoryEndpoint
from tests.shop import Shop

Answer = dict[str, Any]

DEVICE = "iron"
PATIENCE = 3000.0
"""The longest time of a task, in seconds of the simulated clock."""

REPEATS = 16
"""How often a till repeats before it would call a person; the last times without new faults."""

PEACE = 9
"""Repeats after which no new fault begins."""

BY_HAND = 50_000_000
"""Kopecks of the first sale by hand; each has an amount of its own, as each task has."""

DIFFERS, SHIFT_CLOSED, NEEDS_Z, UNKNOWN_TAG, PERSON = 3011, 1092, 1100, 1058, 1074

KILLS = ("killed before", "killed after", "failed before", "failed after")
"""What can happen in the middle of a write."""

LINE = (
    *(What.UNHEARD, What.REFUSED, What.LOST, What.BROKEN_BEFORE, What.BROKEN_AFTER, What.SHORT, What.SLOW) * 2,
    What.GARBAGE,
)
POWER = (What.DARK_BEFORE, What.DARK_AFTER)
FRAMES = (What.DAMAGED, What.STORM)
"""Only where frames have a checksum and a busy signal."""

STUCK = (Why.PAPER, Why.COVER, Why.UNSENT)


class Protocol(NamedTuple):
    """A protocol, and how its register numbers what it registers."""

    settings: type[Any]
    device: Callable[[Clock], Any]
    machine: Callable[[MemoryEndpoint, Clock], IMachine]
    drawer: bool = True
    """Whether it tells the cash in its drawer."""
    framed: bool = True
    receipts_only: bool = False
    """Whether it counts receipts of sales and returns only."""


PROTOCOLS = {
    "mg": Protocol(
        MgSettings,
        MgDevice,
        lambda endpoint, clock: MgMachine(MgRegister(clock, endpoint, SERVICE), clock),
        drawer=False,
        framed=False,
    ),
    "datecs": Protocol(DatecsSettings, UkrainianDevice, UkrainianMachine),
    "datecs_classic": Protocol(ClassicSettings, ClassicDevice, ClassicMachine),
    "ics": Protocol(IcsSettings, IcsDevice, IcsMachine),
    "maria": Protocol(MariaSettings, MariaDevice, MariaMachine, receipts_only=True),
}


class Wire(BreakingDesk):
    """A line that breaks after any byte, damages bytes, and may begin with what the last one had not delivered."""

    left: int | None = None
    """Bytes that still arrive at the register before the line breaks."""
    old: float = 0.0
    """How probably a new line begins with the last answer of an earlier one."""
    dice: Random
    _said = b""

    def _accept(self) -> IProtocol | None:
        line: Any = super()._accept()
        if line is None:
            return None
        begin = line.makeConnection

        def begun(transport: Any) -> None:
            write = transport.write

            def say(data: bytes) -> None:
                self._said = data
                write(data)

            transport.write = say
            begin(transport)
            if self._said and self.dice.random() < self.old:
                write(self._said)

        line.makeConnection = begun
        accepted: IProtocol = line
        return accepted

    def _spoiling(self, deliver: Callable[[bytes], object]) -> Callable[[bytes], object]:
        def receive(data: bytes) -> None:
            spoil, self.spoil = self.spoil, None
            data = spoil(data) if spoil else data
            if self.left is None or len(data) < self.left:
                self.left = None if self.left is None else self.left - len(data)
                deliver(data)
                return
            part, self.left = data[: self.left], None
            pump = self.endpoint.pumps[-1]
            if part:
                deliver(part)
            pump.serverIO.loseConnection()

        return receive

    def die(self) -> None:
        """The service's end of every line is gone, and it hears nothing of what the register still says."""
        self.endpoint.accept = lambda: None
        pumps, self.endpoint.pumps = self.endpoint.pumps, []
        for pump in pumps:
            if not pump.serverIO.disconnected:
                pump.server.connectionLost(Failure(ConnectionLost()))
        self.endpoint = MemoryEndpoint(self.clock, self._accept)


class ChaosShop(IronShop):
    """A shop with a register of any protocol, which has a clock of its own and outlives the service."""

    desk: Wire | None

    def __init__(self, case: SynchronousTestCase, name: str) -> None:
        self.driver, self.protocol = name, PROTOCOLS[name]
        super().__init__(case, port=4001)

    def _open(self) -> Core:
        if self.desk is None:
            self.far_clock = Clock()
            self.device: Any = self.protocol.device(self.far_clock)
            self.desk = Wire(self.clock, MgSite(self.device) if self.driver == "mg" else self.device)
        endpoint = self.desk.endpoint
        core = Core(self._config, self.store, self.clock, self.state)
        core.dispatcher.programs.training &= self._warns
        core.devices.drivers[REGISTER, self.driver] = wired_driver(
            self.driver,
            self.driver,
            self.protocol.settings,
            lambda *_: self.protocol.machine(endpoint, self.clock),
            secrets=("password",),
        )
        self._case.successResultOf(Deferred.fromCoroutine(core.open()))
        return core

    def crash(self) -> None:
        """Lose everything but the store and the register, which goes on with what it does."""
        assert self.desk is not None
        self.desk.die()
        Shop.crash(self)


@dataclass
class Task:
    """A task with a tag of its own."""

    tag: str
    kind: str
    kopecks: int
    fiscal: dict[str, Any]
    begun: int = 0
    """How many Z reports the service had made when it began."""
    worked: int = 0
    """How often somebody had worked by hand then."""


@dataclass
class Score:
    """The results of a run; the same seed gives the same results."""

    tasks: Counter[str] = field(default_factory=Counter)
    """By name."""
    counts: Counter[str] = field(default_factory=Counter)
    """Everything else that is counted, by name."""
    faults: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    """Answers by ``res_action`` and ``res``."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Why a person had to look."""
    wrong: list[str] = field(default_factory=list)
    """Every disagreement, as text."""


class Day:
    """A shop with one hardware register, a till, people, and the faults."""

    def __init__(self, case: SynchronousTestCase, name: str, seed: int) -> None:
        self._case, self.dice, self.score = case, Random(f"{name} {seed}"), Score()
        self.shop = ChaosShop(case, name)
        assert self.shop.desk is not None
        self.desk, self.device, self.protocol = self.shop.desk, self.shop.device, self.shop.protocol
        self.desk.dice, self.iron = self.dice, self.device.iron
        self.blows = Blows(case, self.shop)
        self.device.steer = self.steer
        self._rate = 0.0
        self._dies: str = ""
        self._dead = False
        self._struck = False
        self._shifts = self._hands = self.hand_z = 0
        self._n = 0
        # What the judge knows.
        self.tasks: dict[str, Task] = {}
        self.codes: dict[str, str] = {}
        """The numbers that the till was told, by tag."""
        self.open_tags: dict[str, Task] = {}
        """Tasks that the till gave up, and whose operation may be open still."""
        self._seen = 0
        self._made: Counter[tuple[str, int]] = Counter()
        self._codes: dict[tuple[str, int], str] = {}
        self._numbered = 0
        self.shift_open = False
        self._shift_from = 0
        """The place in the ledger from which this shift has its receipts."""
        self.z_since_open = False
        """Whether somebody made a Z report by hand since."""
        self._worked = 0
        """How often somebody worked by hand."""

    # Time

    def wait(self, due: Deferred[Any]) -> Any:
        """The result of ``due`` as time passes; `None` when the service died first."""
        came: list[Any] = []
        due.addBoth(came.append)
        last = self.shop.clock.seconds() + PATIENCE
        while True:
            self.desk.endpoint.flush()
            if came or self.dead:
                break
            if not self._step(last):
                self.score.wrong.append("a task came to no end")
                break
        return came[0] if came else None

    def _step(self, last: float) -> bool:
        clocks = (self.shop.clock, self.shop.far_clock)
        waits = [call.getTime() - clock.seconds() for clock in clocks for call in clock.getDelayedCalls()]
        seconds = max(0.0, min(waits, default=PATIENCE))
        if not waits or self.shop.clock.seconds() + seconds > last:
            return False
        for clock in clocks:
            clock.advance(seconds)
        return True

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        clocks = (self.shop.clock, self.shop.far_clock)
        end = self.shop.clock.seconds() + seconds
        while (left := end - self.shop.clock.seconds()) > 1e-6:
            self.desk.endpoint.flush()
            waits = [call.getTime() - clock.seconds() for clock in clocks for call in clock.getDelayedCalls()]
            step = min(left, max(0.0, min(waits, default=left)))
            for clock in clocks:
                clock.advance(step)
        self.desk.endpoint.flush()

    @property
    def dead(self) -> bool:
        """Whether the service was killed."""
        return self._dead or (self.blows.struck and self.blows.killed)

    def kill(self) -> None:
        """The service dies, and starts again."""
        self.score.counts["kills"] += 1
        self._spare()
        self.shop.crash()

    def _spare(self) -> None:
        self.blows.never()
        self.blows.struck = self._dead = False
        self._dies = ""

    def done(self, asked: Any) -> Any:
        """What the store says."""
        return self._case.successResultOf(Deferred.fromCoroutine(asked))

    # Faults

    def steer(self, name: str) -> Fault | None:
        """What goes wrong with one command."""
        dice = self.dice
        if self._dies and dice.random() < 0.15:
            self._dead, how = True, self._dies
            self._dies = ""
            self.score.faults["killed in a document"] += 1
            return Fault(What.UNHEARD if how == "before" else What.LOST)
        if dice.random() >= self._rate:
            return None
        if dice.random() < 0.12:
            self.iron.settings = replace(self.iron.settings, after_cut=dice.choice(tuple(AfterCut)))
            fault = Fault(dice.choice(POWER), dice.choice((1.0, 5.0, 40.0)))
        else:
            what = dice.choice((*LINE, *FRAMES) if self.protocol.framed else LINE)
            fault = Fault(what, dice.choice((1, 2, 12)) if what is What.SLOW else dice.randrange(1, 60))
        self._struck = True
        self.score.faults[fault.what.name.lower()] += 1
        return fault

    def trouble(self) -> None:
        """Choose what happens during the next request, and what people do before it."""
        dice, faults = self.dice, self.score.faults
        self._rate = dice.choice((0.0, 0.0, 0.02, 0.08, 0.3))
        self.desk.old = dice.choice((0.0, 0.5)) if self.protocol.framed else 0.0
        self.desk.spoil = self.desk.left = None
        if dice.random() < 0.06:
            self.desk.spoil = self._flip
            faults["byte changed on the way"] += 1
        if dice.random() < 0.12:
            self.desk.left = dice.randrange(0, 700)
            faults["line cut at a byte"] += 1
        if dice.random() < 0.06:
            self.blows.at(dice.randint(1, 4), dice.choice(KILLS))
        elif dice.random() < 0.06:
            self._dies = dice.choice(("before", "after"))
        if dice.random() < 0.03:
            self.iron.paper = dice.randrange(0, 12)
            faults["paper out"] += 1
        elif dice.random() < 0.5:
            self.iron.paper = None
        self.iron.cover_open = dice.random() < 0.02
        faults["cover open"] += self.iron.cover_open
        if dice.random() < 0.03:
            self.iron.stuck = dice.choice(STUCK)
            faults["refuses once"] += 1
        if dice.random() < 0.004:
            faults["shift over 24 h"] += 1
            # At once: the service does something every second.
            for clock in (self.shop.clock, self.shop.far_clock):
                clock.advance(DAY)
        self._struck = bool(self._rate or self.desk.spoil or self.desk.left is not None or self.desk.old)

    def people(self) -> None:
        """Somebody works at the register itself, when nothing is open on it."""
        iron = self.iron
        if iron.document is not None or iron.shift_over:
            return
        if iron.paper is not None or iron.cover_open or iron.stuck is not None:
            # They would leave their document open until there is paper.
            return
        try:
            if self.dice.random() < 0.015:
                self._sell_by_hand()
            elif self.dice.random() < 0.003:
                self._z_by_hand()
        except Refuses:
            return

    def _sell_by_hand(self) -> None:
        self._hands += 1
        amount = BY_HAND + self._hands
        owner = self.device if hasattr(self.device, "sell_by_hand") else self.iron
        owner.sell_by_hand(amount)
        self._worked += 1
        self.score.counts["sales by hand"] += 1

    def _z_by_hand(self) -> None:
        self.iron.z_report()
        self.hand_z += 1
        self.z_since_open = True
        self._worked += 1
        self.score.counts["Z by hand"] += 1

    def _flip(self, data: bytes) -> bytes:
        if self.shop.driver == "mg":
            # TCP has a checksum: what arrives there is right.
            return data
        place = self.dice.randrange(len(data))
        return data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :]

    def calm(self) -> None:
        """End all faults."""
        self._spare()
        self._rate, self._struck = 0.0, False
        self.desk.spoil = self.desk.left = None
        self.desk.old = 0.0
        self.iron.paper, self.iron.cover_open, self.iron.stuck = None, False, None

    # The till

    def ask(self, body: dict[str, Any]) -> Answer | None:
        """Send one request and return its answer; `None` when the service dies first."""
        answer = self.wait(self.shop.asked({"ver": 6, "device": DEVICE, **body}))
        if self.dead:
            self.kill()
            return None
        self._spare()
        if not isinstance(answer, bytes):
            self.score.wrong.append(f"{body}: no answer but {answer!r}")
            return None
        decoded: Answer = json.loads(answer)
        action, res = decoded["res_action"], decoded["res"]
        self.score.answers[f"{action}: {res}"] += 1
        if (action == 0) != (res == 0) or (res != 0) != (decoded["task_status"] == 3):
            self.score.wrong.append(f"{body}: res {res} with res_action {action}")
        if res == PERSON:
            self.person(decoded)
        return decoded

    def fiscal(self, fiscal: dict[str, Any], tag: str = "") -> Answer | None:
        """Send one task of the register."""
        return self.ask({"tag": tag, "type": 1, "fiscal": fiscal})

    def until_done(self, task: Task) -> Answer | None:
        """Repeat a task until its outcome is final; `None` when the till gives it up."""
        dice = self.dice
        for attempt in range(REPEATS):
            if attempt >= PEACE:
                self.calm()
            else:
                self.trouble()
                if task.kind != "open" or not attempt:
                    self.people()
            may, must = self.differs()
            answer = self.fiscal(task.fiscal, task.tag)
            if answer is not None:
                if answer["res"] == 0:
                    self.warned(answer, may, must=must and not attempt and task.kind in ("open", "z"))
                    return answer
                if not self._goes_on(task, answer, attempt):
                    return None
            elif attempt < PEACE and dice.random() < 0.02 and task.kopecks:
                return None
            self.score.counts["repeats"] += 1
            self.pass_(31.0 if attempt >= PEACE else dice.choice((0.5, 2.0, 10.0, 31.0)))
        self.score.wrong.append(f"{task.tag}: never done")
        return None

    def _goes_on(self, task: Task, answer: Answer, attempt: int) -> bool:
        """Do what an answer asks for; whether the till repeats the task."""
        res, dice = answer["res"], self.dice
        if answer["res_action"] in (1, 2):
            return not task.kopecks or attempt >= PEACE or dice.random() > 0.02
        if res == SHIFT_CLOSED and task.kind != "open":
            return task.kind != "z" and self.open()
        if res == NEEDS_Z:
            if task.kind == "z":
                return True
            if self.shift_open:
                return self.close() and self.open()
            # Sold by hand before the shift: the service says whose Z it takes.
            self.calm()
            if self.iron.document is None:
                self._z_by_hand()
            return True
        if task.kind in ("return", "cash_out") and task.kopecks > self.iron.drawer:
            return False
        if dice.random() < 0.2 and task.kind not in ("open", "z"):
            return False
        if attempt >= PEACE + 3:
            self.score.wrong.append(f"{task.tag}: refused in peace: {res} {answer['errortxt']}")
            return False
        return True

    def tagged(self, kind: str, fiscal: dict[str, Any], kopecks: int = 0, tag: str = "") -> bool:
        """Do a task with a tag, and have it judged; whether it is done."""
        self._n += 1
        task = Task(tag or f"{kind} {self._n}", kind, kopecks, fiscal, self.iron.z - self.hand_z, self._worked)
        self.tasks[task.tag] = task
        self.score.tasks[kind] += 1
        answer = self.until_done(task)
        if answer is None:
            self.score.counts["given up"] += 1
            self.open_tags[task.tag] = task
        else:
            self.codes[task.tag] = answer["info"]["doccode"]
            self.score.counts["done"] += 1
            if kind in ("open", "z"):
                self.shift_open = kind == "open"
                if kind == "open":
                    self._shift_from, self.z_since_open = len(self.iron.ledger), False
        self.judge(task, answer)
        return answer is not None

    def open(self) -> bool:
        """Open a shift."""
        self._shifts += 1
        return self.tagged("open", {"task": 0})

    def close(self) -> bool:
        """Close it."""
        return self.tagged("z", {"task": 11})

    def sell(self, kind: str = "sale") -> None:
        """A sale or a return for a sum that no other task has."""
        dice, kopecks = self.dice, self._next_sum()
        if kind == "return" and kopecks > self.iron.drawer:
            kind = "sale"
        first = dice.choice((kopecks, kopecks, kopecks // 3))
        rows = [{"code": "1", "name": "Кава", "cnt": 1, "price": _hryvnias(first), "taxgrp": 1}]
        if first != kopecks:
            rest, less = kopecks - first, dice.choice((0, 250))
            price = _hryvnias(rest + less)
            rows.append({"code": "2", "name": "Чай", "cnt": 1, "price": price, "taxgrp": 2, "disc": _hryvnias(less)})
        card = dice.choice((0, 0, kopecks // 4, kopecks))
        cash = kopecks - card
        pays = [{"type": 2, "sum": _hryvnias(card), "rrn": "1", "cardmask": "****1"}] if card else []
        if cash:
            more = dice.choice((0, 10_000)) if kind == "sale" else 0
            pays.append({"type": 0, "sum": _hryvnias(cash + more)})
        receipt = {"sum": _hryvnias(kopecks), "rows": rows, "pays": pays}
        self.tagged(kind, {"task": 1 if kind == "sale" else 2, "receipt": receipt}, kopecks)

    def move(self, kind: str) -> None:
        """Cash in or out."""
        kopecks = self._next_sum()
        cash = {"type": 0, "sum": _hryvnias(kopecks)}
        self.tagged(kind, {"task": 3 if kind == "cash_in" else 4, "cash": cash}, kopecks)

    def _next_sum(self) -> int:
        return 1000 + self._n

    def look(self, task: int) -> None:
        """An X report or the status."""
        self.score.tasks["x" if task == 10 else "status"] += 1
        for attempt in range(REPEATS):
            if attempt >= PEACE:
                self.calm()
            else:
                self.trouble()
                self.people()
            may, must = self.differs()
            answer = self.fiscal({"task": task})
            if answer is not None and answer["res"] == 0:
                self.warned(answer, may, must=must and not self._struck)
                self.judge_sums(answer["info"])
                break
            self.score.counts["repeats"] += 1
            self.pass_(31.0 if attempt >= PEACE else 2.0)
        else:
            why = answer and (answer["errortxt"], answer["aq_errortxt"])
            self.score.wrong.append(f"task {task} is never done: {why}, open there: {self.iron.document}")
        self.judge_all()

    def again(self, look_up: bool) -> None:
        """Ask for the answer of a task that is done, as a repeat or by its tag."""
        if not self.codes:
            return
        tag = self.dice.choice(list(self.codes)[-40:])
        self.score.tasks["look-up" if look_up else "repeat"] += 1
        self.trouble()
        answer = self.ask({"tag": tag}) if look_up else self.fiscal(self.tasks[tag].fiscal, tag)
        if answer is not None and answer["res"] == 0 and answer["info"]["doccode"] != self.codes[tag]:
            self.score.wrong.append(f"{tag}: was {self.codes[tag]}, is {answer['info']['doccode']}")
        elif answer is not None and answer["res"] == UNKNOWN_TAG:
            self.score.wrong.append(f"{tag}: is not known any more")
        self.judge_all()

    # People

    def person(self, answer: Answer) -> None:
        """Settle an open operation as somebody does who reads the register's paper."""
        rows = self.done(self.shop.store.unresolved(self._device_n))
        why = answer["aq_errortxt"] or answer["errortxt"]
        self.score.reasons[" ".join(word for word in why.split() if not word[0].isdigit())[:90]] += 1
        self.score.counts["marked for a person"] += 1
        if not why or not rows:
            self.score.wrong.append(f"{answer['tag']}: a person is asked for nothing: {why!r}, {len(rows)} open")
            return
        row = rows[0]
        task = self.tasks[row.key]
        if task.worked == self._worked:
            self.score.counts["marked for a person, nobody worked by hand"] += 1
        self.read_ledger()
        made = self.made(task) > 0
        self.calm()
        told = self.wait(Deferred.fromCoroutine(self.shop.built(DEVICE).settle(row, made)))
        if isinstance(told, Failure):
            self.score.wrong.append(f"{task.tag}: a person cannot settle it: {told.value}")

    # The judge

    def made(self, task: Task) -> int:
        """How often the register has made what a task asks for."""
        if task.kind == "z":
            made: int = self.iron.z - self.hand_z - task.begun
            return made
        return 0 if task.kind == "open" else self._made[task.kind, task.kopecks]

    def read_ledger(self) -> None:
        """Take note of what the register has registered since."""
        ledger = self.iron.ledger
        for receipt in ledger[self._seen :]:
            kind = receipt.kind.value
            if receipt.kind is Kind.CASH:
                kind = "cash_in" if receipt.total > 0 else "cash_out"
            key = kind, abs(receipt.total)
            self._made[key] += 1
            number = receipt.number
            if self.protocol.receipts_only:
                number = self._numbered = self._numbered + (receipt.kind is not Kind.CASH)
            self._codes[key] = str(number)
            if self._made[key] > 1:
                self.score.wrong.append(f"{key}: registered {self._made[key]} times")
        self._seen = len(ledger)

    def judge(self, task: Task, answer: Answer | None) -> None:
        """Whether all three agree about a task."""
        self.read_ledger()
        made = self.made(task)
        row = self.done(self.shop.store.find(self._device_n, "fiscal", task.tag))
        if answer is not None:
            if row is None or row.state is not State.DONE:
                self.score.wrong.append(f"{task.tag}: answered, and the store says {row and row.state}")
            code = answer["info"]["doccode"]
            expects = task.kind != "open" and not (task.kind == "z" and self.z_since_open)
            if expects and made != 1:
                self.score.wrong.append(f"{task.tag}: answered with {code}, and registered {made} times")
            if task.kopecks and code[:1] != "N" and code != self._codes.get((task.kind, task.kopecks)):
                wanted = self._codes.get((task.kind, task.kopecks))
                self.score.wrong.append(f"{task.tag}: answered with {code}, the register has {wanted}")
            self.score.counts["without a number"] += bool(task.kopecks and code[:1] == "N")
            if task.kind == "z":
                self.judge_sums(answer["info"])
        self.judge_all()

    def judge_all(self) -> None:
        """Whether the store agrees with the ledger about the tasks that the till has given up."""
        self.read_ledger()
        unresolved = {row.key for row in self.done(self.shop.store.unresolved(self._device_n))}
        for task in list(self.open_tags.values()):
            if task.tag in unresolved:
                continue
            row = self.done(self.shop.store.find(self._device_n, "fiscal", task.tag))
            done = row is not None and row.state is State.DONE
            made = self.made(task)
            if task.kind in ("sale", "return", "cash_in", "cash_out"):
                if done != bool(made):
                    self.score.wrong.append(f"{task.tag}: given up; registered {made} times, in the store: {done}")
                if done:
                    self.score.counts["given up and made"] += 1
                del self.open_tags[task.tag]
        books = self.shop.built(DEVICE)._books
        if not unresolved and books.stored is not None:
            self.shift_open = books.state.shift_open
            left = self.iron.document
            if left is not None and left.kind is not Kind.TEXT:
                self.score.wrong.append(f"{left} is left open after task {self._n}")

    def judge_sums(self, info: Answer) -> None:
        """Whether our sums of the shift are those of the ledger, without what was sold by hand."""
        if "summary" not in info:
            return
        self.read_ledger()
        ours = info["receipt"]["count_p"], info["receipt"]["count_m"]
        sums = round(info["summary"]["calc_p"] * 100), round(info["summary"]["calc_m"] * 100)
        there = [receipt for receipt in self.iron.ledger[self._shift_from :] if receipt.total < BY_HAND]
        sold = [receipt.total for receipt in there if receipt.kind is Kind.SALE]
        returned = [receipt.total for receipt in there if receipt.kind is Kind.RETURN]
        if (ours, sums) != ((len(sold), len(returned)), (sum(sold), sum(returned))):
            theirs = len(sold), len(returned), sum(sold), sum(returned)
            self.score.wrong.append(f"shift {self._shifts}: our sums are {ours} {sums}, the ledger's {theirs}")

    def differs(self) -> tuple[bool, bool]:
        """Whether the register may differ from our books because of what people did, and whether it must."""
        ledger, z = self.iron.ledger, self.iron.z + 1
        in_shift = any(receipt.total >= BY_HAND for receipt in ledger[self._shift_from :])
        since_z = any(receipt.total >= BY_HAND for receipt in ledger[-400:] if receipt.z == z)
        # What was sold before the shift is not told by a machine that tells no turnover of cash.
        must = in_shift and (since_z or self.protocol.drawer)
        return since_z or in_shift or self.z_since_open, must

    def warned(self, answer: Answer, may: bool, must: bool) -> None:
        """Whether an answer warns of differences exactly when somebody worked by hand."""
        told = [warning for warning in answer["warnings"] if warning["code"] == DIFFERS]
        self.score.counts["warned of differences"] += len(told)
        if told and not (may or self.differs()[0]):
            self.score.wrong.append(f"{answer['tag']} {answer['task']}: nobody worked by hand: {told}")
        if must and not told:
            self.score.wrong.append(f"{answer['tag']} {answer['task']}: no warning, and somebody worked by hand")

    # The run

    def run(self, number: int, progress: Callable[[int], None] = lambda _: None) -> None:
        """Do so many tasks."""
        dice = self.dice
        self.open()
        while (done := sum(self.score.tasks.values())) < number:
            progress(done)
            lot = dice.random()
            if not self.shift_open:
                self.open()
            elif lot < 0.58:
                self.sell()
            elif lot < 0.66:
                self.sell("return")
            elif lot < 0.72:
                self.move("cash_in")
            elif lot < 0.76:
                self.move("cash_out")
            elif lot < 0.81:
                self.look(10)
            elif lot < 0.86:
                self.look(18)
            elif lot < 0.97:
                self.again(lot < 0.92)
            else:
                self.close()
            if dice.random() < 0.02:
                self.kill()
            self.pass_(dice.choice((0.5, 2.0, 20.0)))
        self.calm()
        if self.shift_open:
            self.close()
        self.finish()

    def finish(self) -> None:
        """See that nothing is open, and that everything that was registered is somebody's."""
        self.calm()
        self.look(18)
        unresolved = self.done(self.shop.store.unresolved(self._device_n))
        if unresolved:
            self.score.wrong.append(f"{len(unresolved)} operations are open")
        known = {(task.kind, task.kopecks) for task in self.tasks.values()}
        for key in self._made:
            if key not in known and key[1] < BY_HAND:
                self.score.wrong.append(f"{key}: registered, and nobody asked for it")

    @property
    def _device_n(self) -> int:
        n: int = self.shop.core.devices.by_name(DEVICE).row.n
        return n


def _hryvnias(kopecks: int) -> str:
    return f"{kopecks // 100}.{kopecks % 100:02d}"


# -- the whole run ---------------------------------------------------------------------------------------------------


class _Stage(SynchronousTestCase):
    """A test case that owns the folder and the patches."""

    play: Any = None

    def runTest(self) -> None:
        """Run nothing."""
        type(self).play(self)
        self.flushLoggedErrors()


def run(name: str, number: int, seed: int, progress: Callable[[int], None] = lambda _: None) -> Score:
    """Do ``number`` tasks at a register of the protocol ``name``; the same seed gives the same run."""
    days: list[Day] = []

    def play(case: SynchronousTestCase) -> None:
        days.append(Day(case, name, seed))
        days[0].run(number, progress)

    result = TestResult()
    type("Stage", (_Stage,), {"play": staticmethod(play)})().run(result)
    for _, trouble in (*result.errors, *result.failures):
        raise AssertionError(trouble)
    return days[0].score


def words(name: str, score: Score) -> str:
    """The results as text."""

    def table(title: str, counted: Counter[str]) -> list[str]:
        return [f"  {title:10} {count:6}  {what}" for what, count in sorted(counted.items()) if count]

    lines = [f"{name}: {sum(score.tasks.values())} tasks, {sum(score.faults.values())} faults."]
    lines += table("tasks", score.tasks) + table("faults", score.faults) + table("counts", score.counts)
    lines += table("answers", score.answers) + table("a person", score.reasons)
    lines += [f"  DISAGREES: {wrong}" for wrong in score.wrong[:20]]
    lines.append(f"  {len(score.wrong)} disagreements.")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Run and print the results; 1 when anything disagrees."""
    parser = ArgumentParser(prog="python -m tests.iron_chaos", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--protocol", choices=[*PROTOCOLS, "all"], default="all", help="of the register")
    parser.add_argument("--receipts", type=int, default=2000, help="how many tasks for each protocol")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same run")
    chosen = parser.parse_args(arguments)
    wrong = 0
    for name in PROTOCOLS if chosen.protocol == "all" else (chosen.protocol,):
        begun = time.monotonic()

        def progress(done: int, name: str = name) -> None:
            if sys.stderr.isatty():
                print(f"\r{name} {done}/{chosen.receipts}", end="", file=sys.stderr)

        score = run(name, chosen.receipts, chosen.seed, progress)
        print(words(name, score))
        print(f"  {time.monotonic() - begun:.0f} s", flush=True)
        wrong += len(score.wrong)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
