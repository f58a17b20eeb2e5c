"""What has to be true after each step of a shop day. The oracle knows what tills asked for, and does its own sums.

The checks read the store, the far ends and the answers, and remember where they were: a step costs what is new.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from dmtwisted.hooks.service import TEST
from dmtwisted.registers import totals
from dmtwisted.store.events import CODES
from dmtwisted.store.sqlite import statements
from dmtwisted.store.values import OperationRow, State
from dmtwisted.store.verification import Walk, verify
from protocols.simulators.ledger import ACCEPTED
from tests.simulated_days.devices import Office, Roll, Terminal
from tests.simulated_days.tills import DONE, LEFT, REFUSED, Task, next_label

if TYPE_CHECKING:
    from tests.simulated_days.world import World

MONEY = frozenset({"sale", "return", "cash_in", "cash_out"})
"""Kinds of documents that have the sum of one task."""

OPEN = ("intended", "unknown")
"""States of an operation whose outcome is not certain."""

PAPER = re.compile(r"DAY(\d+)")


class Oracle:
    """One register as the tasks of its tills make it: numbers, shift, drawer and totals, counted with the fingers."""

    def __init__(self) -> None:
        self.next_number, self.z, self.open = 1, 0, False
        self.drawer = 0
        self.sold, self.returned = [0, 0], [0, 0]
        """Count and sum of this shift's receipts."""
        self.offline = False

    def take(self, kind: str, number: int, kopecks: int, drawer: int) -> None:
        """A document is made."""
        self.next_number = number + 1
        self.drawer += drawer
        if kind in ("sale", "return"):
            line = self.sold if kind == "sale" else self.returned
            line[0] += 1
            line[1] += kopecks
        elif kind == "open":
            self.open, self.sold, self.returned = True, [0, 0], [0, 0]
        elif kind == "z":
            self.z += 1
        elif kind == "close":
            self.open = False
        elif kind in ("offline_begin", "offline_end"):
            self.offline = kind == "offline_begin"

    def seen_in(self, state: totals.RegisterState) -> str:
        """What differs in the stored state of the register; empty when nothing does."""
        ours = self.next_number, self.z, self.open, self.drawer, *self.sold, *self.returned, self.offline
        sums = state.totals
        theirs = (
            *(state.next_number, state.z_number, state.shift_open, state.safe),
            *(sums.count_p, sums.calc_p, sums.count_m, sums.calc_m, state.offline is not None),
        )
        return "" if ours == theirs else f"it is {theirs}, and the documents make {ours}"


class Judge:
    """Looks after each step, and at the end of the day. ``checks`` counts what was compared."""

    def __init__(self, world: World) -> None:
        self.world, self.checks, self.steps = world, 0, 0
        self.tasks: list[Task] = []
        self._sums: dict[tuple[str, int], Task] = {}
        self._by_tag: dict[str, Task] = {}
        self._kopecks = 1000
        self._labels: dict[str, list[str]] = {}
        self._paid: dict[str, bool] = {}
        # What was seen of each book.
        self._walk = Walk([])
        self._events: dict[int, int] = {}
        self._done: set[tuple[int, str, str]] = set()
        self._oracles = {name: Oracle() for name, far in world.far.items() if isinstance(far, Office)}
        self._entries = dict.fromkeys(world.far, 0)
        self._numbers = dict.fromkeys(world.far, 0)
        self.registered: Counter[tuple[str, str, int]] = Counter()
        self.held: Counter[tuple[str, int]] = Counter()
        self._payments: dict[tuple[str, str], int] = {}
        self._unsettled: set[tuple[str, int]] = set()
        self._unbooked: dict[tuple[str, int], int] = {}
        self._waiting: dict[tuple[str, int], str] = {}
        self.copies: Counter[int] = Counter()
        self._places: dict[str, int] = {}
        self._ids: set[str] = set()
        self._got = 0
        self._papers: dict[int, str] = {}
        self._numbers_of = {name: n for n, name in enumerate(world.far, 1)}
        self._names_of = {n: name for name, n in self._numbers_of.items()}

    # What tills ask for and hear

    def next_sum(self) -> int:
        """Kopecks that no other task has."""
        self._kopecks += 1
        return self._kopecks

    def asked(self, task: Task) -> None:
        """A till is about to ask for a task."""
        self.tasks.append(task)
        self._by_tag[task.tag] = task
        if task.kopecks:
            self._sums[task.kind, task.kopecks] = task

    def label(self, task: Task) -> str:
        """The id of a payment's newest try."""
        return self._labels.setdefault(task.tag, [task.tag])[-1]

    def another_label(self, task: Task) -> str:
        """The id of its next try."""
        labels = self._labels.setdefault(task.tag, [task.tag])
        labels.append(next_label(labels[-1]))
        return labels[-1]

    def heard(self, task: Task, answer: dict[str, Any]) -> None:
        """A till got an answer about a task of a register."""
        res, action = answer["res"], answer["res_action"]
        task.res = res
        self.see((action == 0) == (res == 0) and action in (0, 1, 2, 3), f"{task.tag}: res {res}, action {action}")
        if res:
            return
        info = answer["info"]
        receipt = str(info["docno"]), info["doccode"]
        self.see(task.receipt in (None, receipt), f"{task.tag}: was {task.receipt}, is {receipt}")
        self.see(task.heard != REFUSED, f"{task.tag}: was refused for good, and is done")
        task.receipt = receipt
        row = self._db.execute(
            "SELECT document.number, document.fiscal_number FROM operation INDEXED BY operation_fiscal_tag "
            "JOIN document ON document.operation_n = operation.n WHERE operation.device_n = ? "
            "AND operation.kind IN ('fiscal', 'untagged') AND operation.\"key\" = ? "
            "AND operation.state = 'done' AND operation.state <> 'refused' ORDER BY document.n",
            (self._numbers_of[task.device], task.tag),
        ).fetchone()
        stored = None if row is None else (str(row[0]), row[1])
        self.see(stored == receipt, f"{task.tag}: answered with {receipt}, stored is {stored}")

    def paid(self, task: Task, label: str, answer: dict[str, Any]) -> None:
        """A till got an answer about a payment."""
        res, action = answer["res"], answer["res_action"]
        task.res = res
        self.see((action == 0) == (res == 0), f"payment {task.kopecks}: res {res} with action {action}")
        if res == 0:
            self.look()
            self.see(self.held[task.device, task.kopecks] == 1, f"payment {task.kopecks}: approved, and not taken")

    def taken(self, name: str, row: OperationRow) -> bool:
        """What the slip of a terminal says about an operation."""
        order = json.loads(row.request)["order"]
        held = self.held[name, order["sum"]]
        return held > 0 if order["task"] == 1 else held == 0

    def task_of(self, row: OperationRow) -> Task | None:
        """The task of an operation that has its tag."""
        return self._by_tag.get(row.key)

    def given_back(self, task: Task) -> None:
        """Somebody gives the money of a payment back by hand."""
        if self.held[task.terminal, task.kopecks]:
            self.held[task.terminal, task.kopecks] -= 1
            self._unbooked.pop((task.terminal, task.kopecks), None)

    def printed(self, task: Task, answer: dict[str, Any]) -> None:
        """A till got an answer about lines for the printer."""
        self._papers[task.kopecks] = {0: "printed", 2: "unknown"}.get(answer["res_action"], "not printed")

    def looked(self, task: Task, answer: dict[str, Any]) -> None:
        """A till got a report."""
        self.look()
        info = answer["info"]
        if answer["res"] or "summary" not in info:
            return
        oracle = self._oracles[task.device]
        theirs = (
            *(info["receipt"]["count_p"], round(info["summary"]["calc_p"] * 100)),
            *(info["receipt"]["count_m"], round(info["summary"]["calc_m"] * 100)),
        )
        ours = *oracle.sold, *oracle.returned
        self.see(theirs == ours, f"{task.device}: X says {theirs}, the documents make {ours}")

    def clear(self, task: Task) -> None:
        """A till knows what became of a task."""
        self.look()
        self._agree(task)

    def _agree(self, task: Task) -> None:
        """Whether all books agree with what a till knows for certain."""
        if not task.kopecks or task.heard not in (DONE, REFUSED):
            return
        times = 1 if task.heard == DONE else 0
        where = f"{task.kind} {task.kopecks} of {task.till}, {task.heard} ({task.res})"
        if task.kind in MONEY:
            made = self.registered[task.device, task.kind, task.kopecks]
            later = (task.device, int(task.receipt[0])) in self._waiting if task.receipt else False
            self.see(made + later == times, f"{where}: registered {made} times")
        if task.terminal:
            held = self.held[task.terminal, task.kopecks]
            self.see(held == times, f"{where}: paid {held} times")

    # After each step

    def see(self, holds: bool, otherwise: str) -> None:
        """Count one comparison, and tell what does not hold."""
        self.checks += 1
        if not holds:
            self.world.disagree(otherwise)

    @property
    def _db(self) -> Any:
        return self.world.database._db

    def look(self) -> None:
        """Every invariant that holds at every moment, for all that is new."""
        self.steps += 1
        for name, far in self.world.far.items():
            if isinstance(far, Office):
                self._read_office(name, far)
            elif isinstance(far, Terminal):
                self._read_terminal(name, far)
            elif isinstance(far, Roll):
                self._read_paper(far)
        self._read_journal()
        self._read_states()
        self._read_open()
        self._read_events()

    def _read_office(self, name: str, far: Office) -> None:
        """The tax service: numbers without gap, nothing twice, and nothing without an intent in the journal."""
        ledger = far.service._ledger
        while self._entries[name] < len(ledger):
            self._entries[name] += 1
            entry = ledger.entry(self._entries[name])
            if entry.status != ACCEPTED:
                continue
            self._numbers[name] += 1
            number = int(entry.ref)
            self.see(number == self._numbers[name], f"{name}: document {number} in place {self._numbers[name]}")
            if entry.kind in MONEY:
                self._registered(name, entry.kind, entry.sum)
            waits = self._waiting.pop((name, number), None)
            if waits is not None:
                self.see(
                    waits == entry.number, f"{name}: {number} was made offline as {waits}, and is {entry.number}"
                )
                continue
            row = self._document(name, number)
            known = row is not None and row[1:] == (entry.kind, entry.sum)
            self.see(known, f"{name}: the tax service has {number} {entry.kind}, the journal {row}")
            self._unsettled.add((name, number))
        for office, number in list(self._unsettled):
            if office != name:
                continue
            row = self._document(name, number)
            state = row[0] if row is not None else None
            self.see(state not in (None, "refused"), f"{name}: {number} is registered, and {state} in the journal")
            if state == "done":
                self._unsettled.remove((office, number))

    def _registered(self, name: str, kind: str, kopecks: int) -> None:
        self.registered[name, kind, kopecks] += 1
        self.see(self.registered[name, kind, kopecks] == 1, f"{name}: {kind} {kopecks} is registered twice")
        task = self._sums.get((kind, kopecks))
        known = task is not None and task.device == name
        self.see(known, f"{name}: {kind} {kopecks} is registered, and nobody asked for it")
        if task is not None:
            self.see(task.heard != REFUSED, f"{name}: {kind} {kopecks} is registered after it was refused for good")

    def _document(self, name: str, number: int) -> Any:
        """The newest document of that number: its state, kind and sum."""
        return self._db.execute(
            "SELECT state, kind, sum FROM document WHERE device_n = ? AND number = ? ORDER BY n DESC LIMIT 1",
            (self._numbers_of[name], number),
        ).fetchone()

    def _read_terminal(self, name: str, far: Terminal) -> None:
        """A terminal: no payment twice, none that the journal does not know or calls refused."""
        ledger = far.terminal._ledger
        while self._entries[name] < len(ledger):
            self._entries[name] += 1
            entry = ledger.entry(self._entries[name])
            if entry.status != ACCEPTED or entry.kind not in ("payment", "cancel"):
                continue
            if entry.kind == "cancel":
                self.held[name, self._payments[name, entry.ref]] -= 1
                self.see(
                    self.held[name, self._payments[name, entry.ref]] >= 0, f"{name}: {entry.ref} went back twice"
                )
                self._unbooked.pop((name, self._payments[name, entry.ref]), None)
                continue
            self._payments[name, entry.number] = entry.sum
            self.held[name, entry.sum] += 1
            self.see(self.held[name, entry.sum] == 1, f"{name}: {entry.sum} is paid twice")
            known = ("payment", entry.sum) in self._sums or ("sale", entry.sum) in self._sums
            self.see(known, f"{name}: {entry.sum} is paid, and nobody asked for it")
            found = self._payment(name, entry.sum)
            self.see(
                found is not None and found[1] != "refused", f"{name}: {entry.sum} is paid, the journal: {found}"
            )
            if found is not None:
                self._unbooked[name, entry.sum] = found[0]
        for (terminal, kopecks), n in list(self._unbooked.items()):
            if terminal == name:
                [(state,)] = self._db.execute("SELECT state FROM operation WHERE n = ?", (n,)).fetchall()
                self.see(state != "refused", f"{name}: {kopecks} is paid, and refused in the journal")
                if state == "done":
                    del self._unbooked[terminal, kopecks]

    def _payment(self, name: str, kopecks: int) -> tuple[int, str] | None:
        """The newest operation of the terminal that asks for this sum: its number and state."""
        rows = self._db.execute(
            "SELECT n, state, request FROM operation WHERE device_n = ? AND kind = 'pay' ORDER BY n DESC LIMIT 20",
            (self._numbers_of[name],),
        )
        for n, state, request in rows:
            order = json.loads(request)["order"]
            if order["task"] == 1 and order["sum"] == kopecks:
                return n, state
        return None

    def _read_paper(self, roll: Roll) -> None:
        """The printer: no paper twice."""
        for line in roll.torn_off():
            for found in PAPER.findall(line):
                self.copies[int(found)] += 1
                self.see(self.copies[int(found)] == 1, f"the paper of {found} came twice")

    def _read_journal(self) -> None:
        """The journal: the chains verify, each outcome is an event, and each tag has one."""
        while rows := statements.seals(self._db, self._walk.after, 200):
            flaw = self._walk.take(rows)
            self.see(flaw is None, f"the journal is not what was sealed: {flaw}")
            if flaw is not None:
                # The rest cannot be followed any more.
                self._walk.after = rows[-1].n
            for row in rows:
                self.checks += 1
                if row.operation_n:
                    self._outcome(row.n, row.operation_n)

    def _outcome(self, seal: int, n: int) -> None:
        [(event,)] = self._db.execute("SELECT event FROM seal WHERE n = ?", (seal,)).fetchall()
        [(device_n, kind, key, state)] = self._db.execute(
            'SELECT device_n, kind, "key", state FROM operation WHERE n = ?', (n,)
        ).fetchall()
        if event:
            self._events[n] = event
        if kind in ("change", "event"):
            return
        self.see(state in tuple(State), f"operation {n} is {state}")
        self.see(n in self._events, f"operation {n} is {state}, and that is no event")
        name = self._names_of[device_n]
        if event == CODES[State.DONE] and kind in ("fiscal", "untagged", "pkg"):
            self.see((device_n, kind, key) not in self._done, f"{name}: {kind} {key} has two outcomes")
            self._done.add((device_n, kind, key))
            if kind != "pkg":
                self._made(name, n)
        if kind == "pkg" and event in (CODES[State.DONE], CODES[State.REFUSED]) and key in self._by_tag:
            self._saga(self._by_tag[key], event == CODES[State.DONE])

    def _made(self, name: str, n: int) -> None:
        """The documents of an operation that is done: the tax service has them, or gets them later."""
        office = self.world.far[name]
        assert isinstance(office, Office)
        rows = self._db.execute(
            "SELECT number, kind, sum, fiscal_number FROM document WHERE operation_n = ? ORDER BY n", (n,)
        ).fetchall()
        oracle = self._oracles[name]
        for number, kind, kopecks, fiscal_number in rows:
            self.see(number == oracle.next_number, f"{name}: document {number} after {oracle.next_number - 1}")
            task = self._sums.get((kind, kopecks)) if kind in MONEY else None
            self.see(kind not in MONEY or task is not None, f"{name}: {kind} {kopecks} is made, and nobody asked")
            oracle.take(kind, number, kopecks, task.drawer if task is not None else 0)
            ticket = office.service.look_up(number)
            if ticket is None:
                self.see(
                    oracle.offline or kind == "offline_end", f"{name}: {number} {kind} is not at the tax service"
                )
                self._waiting[name, number] = fiscal_number
            else:
                self.see(
                    ticket.number == fiscal_number, f"{name}: {number} is {fiscal_number}, there {ticket.number}"
                )

    def _saga(self, task: Task, done: bool) -> None:
        """A saga has ended: money and receipt, or neither."""
        held = self.held[task.terminal, task.kopecks]
        made = (self._numbers_of[task.device], "fiscal", task.tag) in self._done
        self.see((held, made) == (int(done), done), f"saga {task.kopecks}: done {done}, paid {held}, receipt {made}")

    def _read_states(self) -> None:
        """The registers: state, totals and drawer are what the documents make."""
        for name, oracle in self._oracles.items():
            row = self._db.execute(
                "SELECT state FROM register WHERE device_n = ?", (self._numbers_of[name],)
            ).fetchone()
            if row is not None:
                differs = oracle.seen_in(totals.decode(row[0]))
                self.see(not differs, f"{name}: {differs}")

    def _read_open(self) -> None:
        """What is not certain: one document of a register, one payment of a terminal, at a time."""
        rows = self._db.execute(
            "SELECT device_n, kind, count(*) FROM operation INDEXED BY operation_unresolved "
            "WHERE state IN ('intended', 'unknown') "
            "AND kind IN ('fiscal', 'untagged', 'pay') GROUP BY device_n, kind"
        ).fetchall()
        for device_n, kind, count in rows:
            self.see(count == 1, f"{self._names_of[device_n]}: {count} operations of kind {kind} are open")

    def _read_events(self) -> None:
        """The receiver: each device's events in their order; what comes again has the same id."""
        got = self.world.receiver.got
        while self._got < len(got):
            event = got[self._got]
            self._got += 1
            if event["type"] == TEST:
                continue
            if event["id"] in self._ids:
                self.world.counts["events again"] += 1
                continue
            self._ids.add(event["id"])
            place, device = int(event["id"].partition("-")[0]), event["device"]["id"]
            self.see(place > self._places.get(device, 0), f"event {event['id']} of {device} comes out of order")
            self._places[device] = place

    # At the end

    def end(self) -> None:
        """In peace, when every till knows what it can know: all books agree, and nothing is left to a person."""
        self.look()
        for task in self.tasks:
            self._agree(task)
            if task.heard == LEFT and task.batch:
                made = self.registered[task.device, task.kind, task.kopecks]
                held = self.held[task.terminal, task.kopecks]
                self.see(made == held, f"saga {task.kopecks} of a customer who left: paid {held}, receipt {made}")
        flaw = self._now(verify(self.world.database))
        self.see(flaw is None, f"the journal is not what was sealed: {flaw}")
        rows = self._db.execute(
            "SELECT device_n, kind, \"key\", state FROM operation WHERE state IN ('intended', 'unknown')"
        ).fetchall()
        for device_n, kind, key, state in rows:
            if kind != "doc":
                self.see(False, f"{self._names_of[device_n]}: {kind} {key} is still {state}")
        self.see(not self._waiting, f"{len(self._waiting)} documents were never handed in")
        self.see(not self._unsettled, f"{len(self._unsettled)} documents are registered and not done")
        for name, oracle in self._oracles.items():
            self.see(oracle.offline is False, f"{name} did not come home")
        for kopecks, state in self._papers.items():
            times = self.copies[kopecks]
            self.see(
                state == "unknown" or times == (state == "printed"), f"paper {kopecks} is {state}: {times} copies"
            )
        missing = self.missing_events()
        self.checks += len(self._ids)
        self.see(not missing, f"{len(missing)} events never came: {missing[:5]}")

    def missing_events(self) -> list[int]:
        """The places of the events that the receiver has not got."""
        self._read_events()
        rows = self._db.execute("SELECT n FROM seal WHERE event > 0 AND n > ? ORDER BY n", (self.world.first_event,))
        came = {int(name.partition("-")[0]) for name in self._ids}
        return [n for (n,) in rows.fetchall() if n not in came and self._is_event(n)]

    def _is_event(self, n: int) -> bool:
        """Whether a seal is an event for subscribers."""
        page = self._now(self.world.database.events(n - 1, 1, []))
        return bool(page.events) and page.events[0].n == n and self.world.is_message(page.events[0])

    def _now(self, asked: Any) -> Any:
        """What the store answers at once."""
        came: list[Any] = []
        Deferred.fromCoroutine(asked).addBoth(came.append)
        return came[0]
