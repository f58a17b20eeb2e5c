"""The books that have to agree: what tills were told, the journal, and what far ends have done."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
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


def accepted(entries: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """What a tax service took, in its order, out of its ledger; without online copies that a begin revoked."""
    taken = [entry for entry in entries if entry["status"] == "accepted"]
    # The reversal bears the number of the offline begin that ordered it, and names the copy.
    revoked = {entry["ref"] for entry in taken if _is_revocation(entry)}
    return [
        Entry(entry["kind"], int(entry["ref"]), entry["number"], entry["sum"])
        for entry in taken
        if not _is_revocation(entry) and entry["number"] not in revoked
    ]


def _is_revocation(entry: Mapping[str, Any]) -> bool:
    return entry["kind"] == "storno" and ".1." in entry["number"]


Rows = Callable[[str], Iterable[tuple[Any, ...]]]
"""Asks a database something in SQL that every one of them understands."""


def read_journal(state: Path, may_stay_open: str = "") -> tuple[dict[str, list[Entry]], Findings]:
    """The documents that are done, by the name of their register, and what is wrong with the SQLite database.

    :param may_stay_open: as in `judge_journal`.
    """
    with closing(sqlite3.connect(f"file:{state / 'dmtwisted.db'}?mode=ro", uri=True)) as db:
        journal, found = judge_journal(db.execute, may_stay_open)
        [(verdict,)] = db.execute("PRAGMA integrity_check(1)").fetchall()
        if verdict != "ok":
            found.other.append(f"the database is damaged: {verdict}")
    return journal, found


def judge_journal(rows: Rows, may_stay_open: str = "") -> tuple[dict[str, list[Entry]], Findings]:
    """The documents that are done, by the name of their register, and what is wrong with the operations.

    :param may_stay_open: the kind of operations whose outcome only a person can know.
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
        "WHERE state = 'done' GROUP BY 1, 2, operation.kind HAVING count(*) > 1"
    ):
        found.doubled.append(f"{name}: the journal has {key} {times} times")
    return journal, found


# A whole shop

DONE, REFUSED, PERSON = "done", "refused", "asks a person"
"""What a till heard in the end: it happened, it did not, or a person has to look."""


@dataclass(frozen=True)
class Deed:
    """One thing that a till did. Its sum in kopecks is its own in the whole shop, and so its name in all books.

    :param terminal: the terminal that was to take the money, if any.
    :param receipt: local and fiscal number as the till heard them; `None` when there was to be no receipt.
    :param paper: what became of its paper; empty when none was asked for.
    :param why: the answer by which it was left to a person.
    """

    kopecks: int
    heard: str
    terminal: str = ""
    tag: str = ""
    receipt: tuple[int, str] | None = None
    paper: str = ""
    why: str = ""
    refusable: bool = False
    """Whether a far end had a reason to refuse it."""


@dataclass(frozen=True)
class Books:
    """What everybody else has: ledgers of tax service and terminals, the journal, copies on paper by sum."""

    ledger: Sequence[Entry]
    journal: Sequence[Entry]
    terminals: Mapping[str, Sequence[Mapping[str, Any]]]
    papers: Mapping[int, int]


def compare_shop(register: str, deeds: Sequence[Deed], books: Books) -> Findings:
    """Hold all books of a shop with one register against each other.

    A receipt that nobody has, a payment without its receipt or with two, a second copy of a paper: all of that is
    found. What a till was told to leave to a person may have happened once or not at all, but never twice.
    """
    sold = [
        Sold(register, deed.tag, deed.kopecks, str(deed.receipt[0]), deed.receipt[1])
        for deed in deeds
        if deed.receipt is not None
    ]
    found = compare_books(register, sold, books.ledger, books.journal)
    told = {(deed.terminal, deed.kopecks): deed for deed in deeds if deed.terminal}
    for terminal, entries in books.terminals.items():
        held = net_payments(entries)
        found.doubled += _given_back(entries, terminal)
        for kopecks in set(held) - {kopecks for name, kopecks in told if name == terminal}:
            found.doubled.append(f"{terminal}: {kopecks} was taken and no till knows of it")
        for (name, kopecks), deed in told.items():
            if name == terminal:
                _judge_money(deed, held[kopecks], found)
    refusals = {
        (name, entry["sum"])
        for name, entries in books.terminals.items()
        for entry in entries
        if entry["status"] != "accepted"
    }
    for deed in deeds:
        if deed.heard == REFUSED and not deed.refusable and (deed.terminal, deed.kopecks) not in refusals:
            found.lost.append(f"{deed.kopecks}: refused for good, though nobody had a reason to: {deed.why}")
        copies = books.papers.get(deed.kopecks, 0)
        if copies > 1:
            found.doubled.append(f"{deed.kopecks}: {copies} copies on paper")
        elif deed.paper == DONE and not copies:
            found.lost.append(f"{deed.kopecks}: its paper never came out")
        elif deed.paper == REFUSED and copies:
            found.doubled.append(f"{deed.kopecks}: there is a paper, and the till heard of none")
    return found


def net_payments(entries: Iterable[Mapping[str, Any]]) -> Counter[int]:
    """How often a terminal has taken each sum and not given it back."""
    done = [entry for entry in entries if entry["status"] == "accepted"]
    back = {entry["ref"] for entry in done if entry["kind"] == "cancel"}
    return Counter(entry["sum"] for entry in done if entry["kind"] == "payment" and entry["number"] not in back)


def _given_back(entries: Iterable[Mapping[str, Any]], terminal: str) -> list[str]:
    """What was given back more than once, in sentences."""
    back = Counter(entry["ref"] for entry in entries if (entry["kind"], entry["status"]) == ("cancel", "accepted"))
    return [f"{terminal}: {number} was given back {times} times" for number, times in back.items() if times > 1]


def _judge_money(deed: Deed, times: int, found: Findings) -> None:
    where = f"{deed.terminal}: {deed.kopecks} was taken {times} times, and the till heard: {deed.heard}"
    if times > 1 or (times and deed.heard == REFUSED):
        found.doubled.append(where)
    elif not times and deed.heard == DONE:
        found.lost.append(where)
