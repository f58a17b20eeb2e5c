"""Watches the real service: each write to a journal in memory as a transition of the table."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from twisted.python.monkey import MonkeyPatcher

from dmtwisted.batch.saga import Step
from dmtwisted.store.sqlite.memory import MemoryStore
from tests.life_model.table import INTENDED, NONE, TABLES, UNKNOWN

Seen = Counter[tuple[str, str, str, str]]
"""How often each transition came: kind, state before, verb, state after."""

NEW = ("reserve", "conclude_at_once")
CHANGES = ("conclude", "note", "accept_document")


@contextmanager
def watched() -> Iterator[Seen]:
    """Every transition in any store in memory, as long as this lasts."""
    seen, ask = Seen(), MemoryStore._ask

    def watching(store: MemoryStore, verb: str, arguments: tuple[Any, ...]) -> Any:
        db = store._db
        if db is None or (verb not in NEW and verb not in CHANGES):
            return ask(store, verb, arguments)
        if verb in CHANGES:
            n = arguments[0].n if verb == "conclude" else arguments[0]
            before = _state(db, n)
            answer = ask(store, verb, arguments)
        else:
            last = _newest(db)
            answer = ask(store, verb, arguments)
            n = _newest(db)
            before = None if n == last else (_kind(db, n), NONE)
        after = _state(db, n)
        if before is not None and after is not None and not store.broken:
            seen[*before, verb, after[1]] += 1
        return answer

    patch = MonkeyPatcher((MemoryStore, "_ask", watching))
    patch.patch()
    try:
        yield seen
    finally:
        patch.restore()


def _newest(db: sqlite3.Connection) -> int:
    [(n,)] = db.execute("SELECT coalesce(max(n), 0) FROM operation").fetchall()
    return int(n)


def _kind(db: sqlite3.Connection, n: int) -> str:
    [(kind,)] = db.execute("SELECT kind FROM operation WHERE n = ?", (n,)).fetchall()
    return "fiscal" if kind == "untagged" else str(kind)


def _state(db: sqlite3.Connection, n: int) -> tuple[str, str] | None:
    """Kind and state of an operation, with how far it came; `None` for one of another kind."""
    row = db.execute("SELECT state, request FROM operation WHERE n = ?", (n,)).fetchone()
    if row is None or _kind(db, n) not in TABLES:
        return None
    kind, (state, request) = _kind(db, n), row
    if kind == "fiscal":
        asked = "SELECT 1 FROM document WHERE operation_n = ? AND state = 'done'"
        half = state in (INTENDED, UNKNOWN) and db.execute(asked, (n,)).fetchone()
        return kind, f"{state} half" if half else state
    members = json.loads(request)
    if kind == "pkg":
        return kind, f"{state} {members.get('step', Step.PAYING)}"
    return kind, "sent" if state == INTENDED and members.get("sent") else state
