"""The verbs of excise marks (`dmtwisted.store.interface`) in the SQL of SQLite, and steps of other verbs."""

from __future__ import annotations

import sqlite3

from dmtwisted.store.values import Intent, MarkMove, MarkRow, Marks, MarkStep, Outcome

_MARK = "SELECT mark, device_n, operation_n, number, fiscal_number, at, state FROM mark WHERE mark = ?"


def find_marks(db: sqlite3.Connection, wanted: list[str]) -> list[MarkRow]:
    return [MarkRow(*row) for mark in wanted for row in db.execute(f"{_MARK} ORDER BY place", (mark,))]


def taken(db: sqlite3.Connection, asked: Marks) -> MarkRow | None:
    """The first of the marks that another receipt holds."""
    for mark in asked.marks:
        row = db.execute(
            f"{_MARK} AND operation_n <> ? AND (place = 0 OR NOT ?) ORDER BY place LIMIT 1",
            (mark, asked.heir_of, asked.shared),
        ).fetchone()
        if row is not None:
            return MarkRow(*row)
    return None


def hold(db: sqlite3.Connection, n: int, intent: Intent) -> None:
    """Reserve the marks of a new operation."""
    assert intent.marks is not None
    number, at = intent.documents[0].number, intent.documents[0].at
    if intent.marks.heir_of:
        db.execute(
            "UPDATE mark SET operation_n = ?, number = ?, at = ? WHERE operation_n = ?",
            (n, number, at, intent.marks.heir_of),
        )
    place = n if intent.marks.shared else 0
    _insert(db, [(mark, place, intent.device_n, n, number, "", at, "reserved") for mark in intent.marks.marks])


def _insert(db: sqlite3.Connection, rows: list[tuple[object, ...]]) -> None:
    db.executemany(
        "INSERT INTO mark (mark, place, device_n, operation_n, number, fiscal_number, at, state) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        rows,
    )


def move(db: sqlite3.Connection, outcome: Outcome, step: MarkMove) -> None:
    """The step with marks that belongs to an outcome."""
    if step.step is MarkStep.SPEND:
        fiscal_number = next(iter(outcome.fiscal_numbers.values()), "")
        held = db.execute(
            "UPDATE mark SET state = 'sold', fiscal_number = ? WHERE operation_n = ?", (fiscal_number, outcome.n)
        ).rowcount
        if step.marks and not held:
            place = outcome.n if step.shared else 0
            more = (place, outcome.device_n, outcome.n, step.number, fiscal_number, step.at, "sold")
            _insert(db, [(mark, *more) for mark in step.marks])
    elif step.step is MarkStep.RELEASE:
        db.execute("DELETE FROM mark WHERE operation_n = ?", (outcome.n,))
    elif step.step is MarkStep.FREE:
        db.executemany(
            "DELETE FROM mark WHERE mark = ? AND state = 'sold' AND place = "
            "(SELECT min(place) FROM mark sold WHERE sold.mark = mark.mark AND sold.state = 'sold')",
            [(mark,) for mark in step.marks],
        )
    else:
        db.executemany(
            "DELETE FROM mark WHERE mark = ? AND state = 'sold' AND device_n = ? AND number = ?",
            [(mark, outcome.device_n, step.number) for mark in step.marks],
        )


def forget_marks(db: sqlite3.Connection, before: int, limit: int) -> int:
    return db.execute(
        "DELETE FROM mark WHERE rowid IN "
        "(SELECT rowid FROM mark WHERE at < ? AND state = 'sold' ORDER BY at LIMIT ?)",
        (before, limit),
    ).rowcount
