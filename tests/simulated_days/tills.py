"""The programs at the counters: each stores its tag, repeats as docs/integrating.md says, and never makes another.

A program may lose its patience, or the answer on its way: then it repeats like one whose line broke. Some customers
leave before it is clear what became of their sale, and nobody asks again.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine
from contextvars import copy_context
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

from twisted.internet.defer import Deferred

from dmtwisted.registers.unheard import caller

if TYPE_CHECKING:
    from tests.simulated_days.judge import Judge
    from tests.simulated_days.world import World

Answer = dict[str, Any]

REGISTER_S, PAYMENT_S, BATCH_S, PRINTER_S = 20.0, 310.0, 340.0, 21.0
"""Seconds that a program waits for an answer."""

UNCLEAR_S = 90.0
"""After so many seconds a program shows "not clear yet", keeps the tag and asks again later."""

PEACE_S = 1200.0
"""The same in peace, when a person would have been called long before."""

BATCH_TERMINALS = {"r1": "pos1", "r2": "pos2"}
"""The terminal of each register in batch mode; plain payments go to the till's own one."""

OPEN_ALREADY, SHIFT_CLOSED, BUSY, NOT_STORED = 1096, 1092, 1105, 1082
NOT_FOUND, NOT_TAKEN, IN_DOUBT = 5013, 5014, 5022
TELLS_NOTHING = (BUSY, NOT_STORED)
"""What an answer says about this request only, and nothing about an earlier one."""

DONE, REFUSED, UNCLEAR, LEFT = "done", "refused", "unclear", "left"
"""What a program knows of a task; ``left``: the customer left, and nobody asks again."""

LOST_ANSWER, HASTY, CUSTOMER_LEAVES = 0.02, 0.03, 0.3
"""How probably an answer is lost on its way, a program waits for some seconds only, and a customer leaves."""


@dataclass
class Task:
    """One task of a till. Its ``kopecks`` belong to no other task: by them it is found in all books."""

    till: str
    device: str
    kind: str
    tag: str
    kopecks: int = 0
    drawer: int = 0
    """What it puts into the drawer; negative: what it takes out."""
    terminal: str = ""
    fiscal: Answer = field(default_factory=dict)
    batch: bool = False
    printer: str = ""
    heard: str = UNCLEAR
    res: int = 0
    receipt: tuple[str, str] | None = None
    """Local and fiscal number."""
    papers: list[str] = field(default_factory=list)
    """What each answer said about its paper."""


class Till:
    """One program at one register and its terminal.

    :param chief: whether it opens and closes the shift.
    """

    def __init__(self, world: World, judge: Judge, name: str, register: str, terminal: str, chief: bool) -> None:
        self.world, self.judge, self.name = world, judge, name
        self.register, self.terminal, self.chief = register, terminal, chief
        self.dice = Random(f"{world.seed} {name}")
        self.later: list[Task] = []
        self._n = 0
        self._done: list[Task] = []

    # The day

    async def work(self, tasks: int) -> None:
        """Do so many tasks, with customers between them."""
        dice, world = self.dice, self.world
        if self.chief:
            await self.fiscal("open", {"task": 0})
        for n in range(tasks):
            await world.sleep(dice.choice((0.05, 0.5, 2.0, 8.0)))
            await self.one(dice.random())
            if self.later and dice.random() < 0.1:
                await self.again(self.later.pop(0))
            if self.chief and n == tasks // 2 and dice.random() < 0.5:
                await self.fiscal("z", {"task": 11})
                await self.fiscal("open", {"task": 0})

    async def one(self, lot: float) -> None:
        """One task, drawn."""
        if lot < 0.36:
            await self.sell("sale", printer="")
        elif lot < 0.44:
            await self.sell("sale", printer="prn")
        elif lot < 0.51:
            await self.sell("return", printer="")
        elif lot < 0.57:
            await self.move("cash_in", 3)
        elif lot < 0.61:
            await self.move("cash_out", 4)
        elif lot < 0.78:
            await self.sell("sale", printer="", batch=True)
        elif lot < 0.88:
            await self.pay_and_sell()
        elif lot < 0.91:
            await self.look(10)
        elif lot < 0.94:
            await self.look(18)
        elif lot < 0.98:
            await self.look_up()
        else:
            await self.print()

    async def finish(self) -> None:
        """In peace: ask for everything that is not clear, and close the shift."""
        for task in self.later:
            await self.again(task)
        if self.chief:
            await self.fiscal("z", {"task": 11})

    # Tasks

    def _task(self, kind: str, device: str = "", **members: Any) -> Task:
        self._n += 1
        tag = str(UUID(int=self.dice.getrandbits(128), version=4))
        task = Task(self.name, device or self.register, kind, tag, **members)
        self.judge.asked(task)
        return task

    async def fiscal(self, kind: str, fiscal: Answer) -> Task:
        """A task of the register without money."""
        task = self._task(kind, fiscal=fiscal)
        await self.until_clear(task)
        return task

    async def sell(self, kind: str, printer: str, batch: bool = False) -> None:
        """A sale or return, in cash or with a card in batch mode."""
        kopecks = self.judge.next_sum()
        type_, sign = (2 if batch else 0), (1 if kind == "sale" else -1)
        receipt = receipt_of(kopecks, {"type": type_, "sum": hryvnias(kopecks)})
        task = self._task(
            kind,
            kopecks=kopecks,
            drawer=0 if batch else sign * kopecks,
            terminal=BATCH_TERMINALS[self.register] if batch else "",
            fiscal={"task": 1 if kind == "sale" else 2, "receipt": receipt},
            batch=batch,
            printer=printer,
        )
        await self.until_clear(task)

    async def move(self, kind: str, number: int) -> None:
        """Cash into the drawer, or out of it."""
        kopecks = self.judge.next_sum()
        cash = {"type": 0, "sum": hryvnias(kopecks)}
        drawer = kopecks if kind == "cash_in" else -kopecks
        task = self._task(kind, kopecks=kopecks, drawer=drawer, fiscal={"task": number, "cash": cash})
        await self.until_clear(task)

    async def pay_and_sell(self) -> None:
        """A payment by card, and its receipt with the card's data."""
        kopecks = self.judge.next_sum()
        paying = self._task("payment", self.terminal, kopecks=kopecks, terminal=self.terminal)
        answer = await self.pay(paying, UNCLEAR_S)
        if answer is None:
            return
        pay = {"type": 2, "sum": hryvnias(kopecks), "rrn": answer["info"].get("rrn", "1"), "cardmask": "****1"}
        selling = self._task("sale", kopecks=kopecks, fiscal={"task": 1, "receipt": receipt_of(kopecks, pay)})
        await self.until_clear(selling)

    async def look(self, number: int) -> None:
        """An X report, or the status."""
        task = self._task("look", fiscal={"task": number})
        answer = await self.send(body_of(task), REGISTER_S)
        if answer is not None:
            self.judge.looked(task, answer)

    async def look_up(self) -> None:
        """The answer of an earlier task, by its tag or as a whole repeat."""
        if not self._done:
            return
        task = self.dice.choice(self._done[-30:])
        body = body_of(task) if self.dice.random() < 0.5 else {"ver": 6, "device": task.device, "tag": task.tag}
        answer = await self.send(body, REGISTER_S, task.batch, task.printer)
        if answer is not None:
            self.judge.heard(task, answer)

    async def print(self) -> None:
        """Lines on paper, once: they have no tag."""
        kopecks = self.judge.next_sum()
        task = self._task("paper", "prn", kopecks=kopecks, printer="prn")
        doc = {"lines": [{"t": name_of(kopecks)}]}
        answer = await self.send({"ver": 6, "device": "prn", "type": 2, "doc": doc}, PRINTER_S)
        if answer is not None:
            self.judge.printed(task, answer)

    async def again(self, task: Task) -> None:
        """Ask once more for what was not clear."""
        if task.kind == "payment":
            await self.pay(task, PEACE_S if self.world.peace else UNCLEAR_S)
        else:
            await self.until_clear(task)

    # The rules of docs/integrating.md

    async def until_clear(self, task: Task) -> None:
        """Repeat a task of a register until its answer says that it is done, or that it never will be."""
        world, pause = self.world, 0.25
        until = world.clock.seconds() + (PEACE_S if world.peace else UNCLEAR_S)
        opened = 0
        while True:
            answer = await self.send(body_of(task), BATCH_S if task.batch else REGISTER_S, task.batch, task.printer)
            if answer is not None:
                res, action = answer["res"], answer["res_action"]
                self.judge.heard(task, answer)
                if action == 0:
                    self._clear(task, DONE)
                    return
                if res == OPEN_ALREADY and task.kind == "open":
                    self._clear(task, DONE)
                    return
                if res == SHIFT_CLOSED and task.kind not in ("open", "z") and opened < 3:
                    opened += 1
                    await self.fiscal("open", {"task": 0})
                    continue
                if action == 3:
                    self._clear(task, REFUSED)
                    return
            if world.clock.seconds() > until:
                break
            await world.sleep(pause)
            pause = min(2 * pause, 2.0)
        self._not_clear(task)

    async def pay(self, task: Task, patience: float) -> Answer | None:
        """A payment: looked for before it is made, and asked for until it is clear; the answer when it was taken."""
        world, label, asking, pause = self.world, self.judge.label(task), task.res != 0, 0.5
        until = world.clock.seconds() + patience
        while world.clock.seconds() <= until:
            pay = {"task": 17} if asking else {"task": 1, "sum": hryvnias(task.kopecks)}
            body = {"ver": 6, "device": task.device, "type": 3, "source": self.name, "pay": pay}
            answer = await self.send({**body, "transaction_id": label, "transaction_search": 2}, PAYMENT_S)
            task.res = task.res or 1
            if answer is None:
                asking = True
            else:
                res, action, known = answer["res"], answer["res_action"], asking and answer["task"] != 17
                self.judge.paid(task, label, answer)
                if action == 0:
                    self._clear(task, DONE)
                    return answer
                if res == NOT_TAKEN or (res == IN_DOUBT and known):
                    label, asking = self.judge.another_label(task), False
                elif res == NOT_FOUND:
                    asking = False
                elif res == IN_DOUBT or action == 2:
                    asking = True
                elif res not in TELLS_NOTHING or known:
                    # Declined, or it was not there: the cashier sees it, and nothing was taken.
                    self._clear(task, REFUSED)
                    return None
            await world.sleep(pause)
            pause = min(2 * pause, 5.0)
        self._not_clear(task)
        return None

    def _clear(self, task: Task, heard: str) -> None:
        task.heard = heard
        if heard == DONE and task.kind != "payment":
            self._done.append(task)
        self.judge.clear(task)

    def _not_clear(self, task: Task) -> None:
        if self.world.peace:
            self.world.disagree(f"{task.till} {task.kind} {task.kopecks}: not clear in peace, {task.res}")
        elif task.kopecks and self.dice.random() < CUSTOMER_LEAVES:
            task.heard = LEFT
        else:
            self.later.append(task)

    # The line

    async def send(self, body: Answer, patience: float, batch: bool = False, printer: str = "") -> Answer | None:
        """The answer to a request; `None` when none came in time, or at all."""
        world, life = self.world, self.world.life
        if life is None or not life.open or world.sleeps:
            # The connection is refused, or nobody is awake who takes it.
            return None
        received: list[bool | None] = [None]
        raw, name = json.dumps(body).encode(), body.get("tag") or body.get("transaction_id")

        async def run() -> bytes:
            caller.set(lambda: received[0])
            return await life.core.dispatcher.execute(raw, "en", printer, batch)

        if not world.peace and self.dice.random() < HASTY:
            patience = self.dice.uniform(0.05, 5.0)
        due: Deferred[bytes | None] = Deferred()
        late = world.clock.callLater(patience, due.callback, None)

        def came(answer: bytes | None) -> None:
            if not due.called:
                late.cancel()
                due.callback(answer)

        copy_context().run(self._begin, life, run()).addCallback(came)
        answer = await due
        if answer is None or (not world.peace and self.dice.random() < LOST_ANSWER):
            received[0] = False
            world.happened(self.name, f"no answer to {name}")
            return None
        received[0] = True
        told: Answer = json.loads(answer)
        world.happened(
            self.name, f"{body.get('tag') or body.get('transaction_id')} {told['res']} {told['res_action']}"
        )
        return told

    def _begin(self, life: Any, run: Coroutine[Any, Any, bytes]) -> Deferred[bytes | None]:
        due: Deferred[bytes | None] = life.ask(run)
        return due


def name_of(kopecks: int) -> str:
    """The name of the goods, by which a task is found on paper."""
    return f"DAY{kopecks}"


def hryvnias(kopecks: int) -> str:
    """A sum as requests have it."""
    return f"{kopecks // 100}.{kopecks % 100:02d}"


def receipt_of(kopecks: int, pay: Answer) -> Answer:
    """A receipt with one item."""
    row = {"code": "1", "name": name_of(kopecks), "cnt": 1, "price": hryvnias(kopecks), "taxgrp": 1}
    return {"sum": hryvnias(kopecks), "rows": [row], "pays": [pay]}


def body_of(task: Task) -> Answer:
    """The request of a task, the same each time."""
    return {"ver": 6, "source": task.till, "device": task.device, "tag": task.tag, "type": 1, "fiscal": task.fiscal}


def next_label(label: str) -> str:
    """The id of another try, which a program that lost its state finds again."""
    return str(uuid5(UUID(label), "again"))
