"""The books that have to agree: the answers to tills, the journal, and the ledgers of the simulated devices."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any


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
    """Faults, as sentences."""

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
        """Add what is new in ``more``."""
        for kind in fields(self):
            mine = getattr(self, kind.name)
            mine += [sentence for sentence in getattr(more, kind.name) if sentence not in mine]

    def copy(self) -> Findings:
        """The same sentences, apart from those that are added later."""
        return Findings(*(list(getattr(self, kind.name)) for kind in fields(self)))

    def since(self, before: Findings) -> Findings:
        """The sentences that are not in ``before``."""
        both = ((getattr(self, kind.name), getattr(before, kind.name)) for kind in fields(self))
        return Findings(*([sentence for sentence in now if sentence not in then] for now, then in both))


def compare_books(
    register: str,
    sold: Sequence[Sold],
    ledger: Sequence[Entry],
    journal: Iterable[Entry],
    warned: Mapping[int, str] = MappingProxyType({}),
) -> Findings:
    """Compare the books of one register.

    ``sold`` are all sales of its tills (each was answered in the end), ``ledger`` what the tax service accepted, in
    order, ``journal`` the documents that are done in the database. ``warned`` has, by sum, the warnings in the answer
    to a till without tags: only what they name may be there a second time.
    """
    found = Findings()
    sales = [entry for entry in ledger if entry.kind == "sale"]
    taken = Counter((entry.number, entry.fiscal_number, entry.sum) for entry in sales)
    answered = Counter((int(sale.docno), sale.doccode, sale.sum) for sale in sold)
    for sale in sold:
        receipt = int(sale.docno), sale.doccode, sale.sum
        if not taken[receipt]:
            found.lost.append(f"{register}: {sale} is not in the ledger")
        elif answered[receipt] > taken[receipt]:
            found.lost.append(f"{register}: {sale} shares its receipt with another tag")
    for receipt, times in taken.items():
        if times > answered[receipt] and receipt[1] not in warned.get(receipt[2], ""):
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


def accepted(entries: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """What the tax service accepted, in order, by its ledger; without online copies that were revoked."""
    taken = [entry for entry in entries if entry["status"] == "accepted"]
    # The reversal has the number of the offline session's opening document that ordered it, and names the copy.
    revoked = {entry["ref"] for entry in taken if _is_revocation(entry)}
    return [
        Entry(entry["kind"], int(entry["ref"]), entry["number"], entry["sum"])
        for entry in taken
        if not _is_revocation(entry) and entry["number"] not in revoked
    ]


FIRST_OF_SHIFT, UNCOUNTED = "open", "numbers"
"""Documents of protocol B: the first one of a shift, and the one that has the next number and leaves it free."""


def accepted_by_cabinet(
    entries: Iterable[Mapping[str, Any]], journal: Iterable[Entry], found: Findings
) -> list[Entry]:
    """What the cabinet's server accepted, in order, without online copies that were deleted.

    Its numbers begin again with each shift: gaps in them are added to ``found``. The entries get the numbers of the
    documents in ``journal`` that have their fiscal numbers; 0 is a document that is not there.
    """
    taken = [entry for entry in entries if entry["status"] == "accepted"]
    deleted = {entry["ref"] for entry in taken if entry["kind"] == "storno"}
    there = [entry for entry in taken if entry["kind"] != "storno" and entry["number"] not in deleted]
    numbers = {entry.fiscal_number: entry.number for entry in journal}
    due = 1
    for entry in there:
        first = entry["kind"] == FIRST_OF_SHIFT
        if int(entry["ref"]) != (0 if first else due):
            found.gaps.append(
                f"{entry['kind']} {entry['number']} has the number {entry['ref']} in its shift, not {due}"
            )
        due = 1 if first else int(entry["ref"]) + (entry["kind"] != UNCOUNTED)
    return [Entry(entry["kind"], numbers.get(entry["number"], 0), entry["number"], entry["sum"]) for entry in there]


def _is_revocation(entry: Mapping[str, Any]) -> bool:
    return entry["kind"] == "storno" and ".1." in entry["number"]


Rows = Callable[[str], Iterable[tuple[Any, ...]]]
"""Runs SQL that every supported database understands."""


def read_journal(state: Path, may_stay_open: str = "") -> tuple[dict[str, list[Entry]], Findings]:
    """The documents that are done, by the name of their register, and the faults of the SQLite database.

    :param may_stay_open: as in `judge_journal`.
    """
    with closing(sqlite3.connect(f"file:{state / 'dmtwisted.db'}?mode=ro", uri=True)) as db:
        journal, found = judge_journal(db.execute, may_stay_open)
        [(verdict,)] = db.execute("PRAGMA integrity_check(1)").fetchall()
        if verdict != "ok":
            found.other.append(f"the database is damaged: {verdict}")
    return journal, found


def judge_journal(rows: Rows, may_stay_open: str = "") -> tuple[dict[str, list[Entry]], Findings]:
    """The documents that are done, by the name of their register, and the faults of the operations.

    :param may_stay_open: the kind of operations whose outcome only a person can determine.
    """
    found = Findings()
    journal: dict[str, list[Entry]] = {}
    for name, *entry in rows(
        "SELECT device.name, document.kind, number, fiscal_number, sum FROM document "
        "JOIN device ON device.n = device_n WHERE state = 'done' ORDER BY document.n"
    ):
        journal.setdefault(name, []).append(Entry(*entry))
    for name, key, became, kind in rows(
        'SELECT device.name, "key", state, operation.kind FROM operation JOIN device ON device.n = device_n '
        "WHERE state NOT IN ('done', 'refused')"
    ):
        if kind != may_stay_open:
            found.other.append(f"{name}: the operation {key} is still {became}")
    for name, key, times in rows(
        'SELECT device.name, "key", count(*) FROM operation JOIN device ON device.n = device_n '
        "WHERE state = 'done' AND operation.kind NOT IN ('change', 'event') "
        "GROUP BY 1, 2, operation.kind HAVING count(*) > 1"
    ):
        found.doubled.append(f"{name}: the journal has {key} {times} times")
    return journal, found


# A whole shop

DONE, REFUSED, PERSON = "done", "refused", "asks a person"
"""The last answer to a till: it happened, it did not, or a person has to look."""


@dataclass(frozen=True)
class TillTask:
    """One task of a till. No other task in the shop has its sum in kopecks, which identifies it in all books.

    :param terminal: the terminal for the payment, if any.
    :param receipt: local and fiscal number in the answer; `None` without a receipt.
    :param paper: the outcome of printing; empty when nothing was printed.
    :param why: the answer that left it to a person.
    """

    kopecks: int
    heard: str
    terminal: str = ""
    tag: str = ""
    receipt: tuple[int, str] | None = None
    paper: str = ""
    why: str = ""
    refusable: bool = False
    """Whether a simulated device had a reason to refuse it."""
    warned: str = ""
    """The warnings in the answer to a till without tags."""
    mark: str = ""
    """The excise mark of its item."""
    mail: str = ""
    """The customer's address."""


@dataclass(frozen=True)
class Books:
    """The other books: ledgers of tax service and terminals, the journal, printed copies by sum."""

    ledger: Sequence[Entry]
    journal: Sequence[Entry]
    terminals: Mapping[str, Sequence[Mapping[str, Any]]]
    papers: Mapping[int, int]


def compare_shop(register: str, tasks: Sequence[TillTask], books: Books) -> Findings:
    """Compare all books of a shop with one register.

    This finds missing receipts, payments without a receipt or with two, and second printed copies. What was left to a
    person may have happened once or not at all, but never twice.
    """
    sold = [
        Sold(register, task.tag, task.kopecks, str(task.receipt[0]), task.receipt[1])
        for task in tasks
        if task.receipt is not None
    ]
    warned = {task.kopecks: task.warned for task in tasks if task.warned}
    found = compare_books(register, sold, books.ledger, books.journal, warned)
    paid = {(task.terminal, task.kopecks): task for task in tasks if task.terminal}
    for terminal, entries in books.terminals.items():
        held = net_payments(entries)
        found.doubled += _given_back(entries, terminal)
        for kopecks in set(held) - {kopecks for name, kopecks in paid if name == terminal}:
            found.doubled.append(f"{terminal}: {kopecks} was paid and no till knows it")
        for (name, kopecks), task in paid.items():
            if name == terminal:
                _judge_money(task, held[kopecks], found)
    refusals = {
        (name, entry["sum"])
        for name, entries in books.terminals.items()
        for entry in entries
        if entry["status"] != "accepted"
    }
    for task in tasks:
        if task.heard == REFUSED and not task.refusable and (task.terminal, task.kopecks) not in refusals:
            found.lost.append(f"{task.kopecks}: refused without a reason: {task.why}")
        copies = books.papers.get(task.kopecks, 0)
        if copies > 1:
            found.doubled.append(f"{task.kopecks}: {copies} copies on paper")
        elif task.paper == DONE and not copies:
            found.lost.append(f"{task.kopecks}: it was not printed")
        elif task.paper == REFUSED and copies:
            found.doubled.append(f"{task.kopecks}: it was printed, but the till was answered that it was not")
    return found


@dataclass(frozen=True)
class HeldMark:
    """An excise mark as the database has it: the local number of its receipt, its state and its operation's."""

    mark: str
    number: int
    state: str
    operation: str


def read_marks(rows: Rows) -> tuple[list[HeldMark], int]:
    """The excise marks of the database, and how many letters wait to be told, dead ones too."""
    held = rows(
        "SELECT mark.mark, mark.number, mark.state, coalesce(operation.state, 'gone') FROM mark "
        "LEFT JOIN operation ON operation.n = mark.operation_n"
    )
    [(letters,)] = rows("SELECT count(*) FROM outbox")
    return [HeldMark(*row) for row in held], letters


def compare_marks(
    tasks: Sequence[TillTask], held: Sequence[HeldMark], letters: int, told: Iterable[Mapping[str, Any]]
) -> Findings:
    """Compare the excise marks of tills and database with what the marks service was told.

    This finds marks that are sold twice, spent without a document, kept back though nothing is open, or not told.
    """
    found = Findings()
    sold = {task.mark: task.receipt[0] for task in tasks if task.mark and task.receipt is not None}
    for row in held:
        if row.state != "sold" or row.operation != "done":
            found.other.append(f"the mark {row.mark} is {row.state}, its operation is {row.operation}")
        elif sold.get(row.mark) != row.number:
            found.doubled.append(f"the mark {row.mark} is spent by receipt {row.number}, and no till has that")
    for mark in sold.keys() - {row.mark for row in held}:
        found.lost.append(f"the mark {mark} was sold, and the database does not know it")
    if letters:
        found.other.append(f"{letters} letters to the marks service are left")
    statuses: dict[str, list[str]] = {}
    for entry in told:
        statuses.setdefault(entry["number"], []).append(entry["status"])
    for mark, came in statuses.items():
        if came.count("accepted") > 1 or "refused" in came or mark not in sold:
            found.doubled.append(f"the marks service was told of {mark}: {', '.join(came)}")
    if not letters:
        for mark in sold.keys() - statuses.keys():
            found.lost.append(f"the marks service was not told of {mark}")
    return found


def compare_mails(tasks: Sequence[TillTask], came: Iterable[tuple[str, str]]) -> Findings:
    """Compare the receipts with what the mail server has taken: addresses with the `Message-ID`.

    A receipt may come again after a kill, as the same message.
    """
    found = Findings()
    wanted = {task.mail for task in tasks if task.mail and task.receipt is not None}
    messages: dict[str, set[str]] = {}
    for to, message in came:
        messages.setdefault(to, set()).add(message)
    found.lost += [f"the receipt to {to} was not mailed" for to in sorted(wanted - messages.keys())]
    for to, ids in messages.items():
        if to not in wanted:
            found.doubled.append(f"an e-mail went to {to}, whose receipt no till has")
        elif len(ids) > 1:
            found.doubled.append(f"{len(ids)} different e-mails went to {to}")
    return found


def net_payments(entries: Iterable[Mapping[str, Any]]) -> Counter[int]:
    """How often a terminal has charged each sum and not refunded it."""
    done = [entry for entry in entries if entry["status"] == "accepted"]
    back = {entry["ref"] for entry in done if entry["kind"] == "cancel"}
    return Counter(entry["sum"] for entry in done if entry["kind"] == "payment" and entry["number"] not in back)


def _given_back(entries: Iterable[Mapping[str, Any]], terminal: str) -> list[str]:
    """Payments that were refunded more than once, as sentences."""
    back = Counter(entry["ref"] for entry in entries if (entry["kind"], entry["status"]) == ("cancel", "accepted"))
    return [f"{terminal}: {number} was refunded {times} times" for number, times in back.items() if times > 1]


def _judge_money(task: TillTask, times: int, found: Findings) -> None:
    where = f"{task.terminal}: {task.kopecks} was paid {times} times, and the till was answered: {task.heard}"
    if times > 1 or (times and task.heard == REFUSED):
        found.doubled.append(where)
    elif not times and task.heard == DONE:
        found.lost.append(where)
