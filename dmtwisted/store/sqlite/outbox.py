"""The verbs of the outbox (`dmtwisted.store.interface`) in the SQL of SQLite."""

from __future__ import annotations

import sqlite3
from typing import Any

from dmtwisted.store.values import Letter, LetterRow

_LETTER = "n, kind, device_n, due, attempts, state = 'dead', why, payload"


def post(db: sqlite3.Connection, letters: list[Letter]) -> None:
    db.executemany(
        "INSERT INTO outbox (kind, device_n, due, attempts, state, why, payload) "
        "VALUES (?, ?, ?, 0, 'waiting', '', ?)",
        [(letter.kind, letter.device_n, letter.due, letter.payload) for letter in letters],
    )


def next_letter(db: sqlite3.Connection, kinds: list[str]) -> int | None:
    found: int | None = db.execute(
        f"SELECT min(due) FROM outbox WHERE state = 'waiting' AND kind IN ({', '.join('?' * len(kinds))})", kinds
    ).fetchone()[0]
    return found


def take_letters(db: sqlite3.Connection, kinds: list[str], now: int, until: int, limit: int) -> list[LetterRow]:
    rows = db.execute(
        "UPDATE outbox SET due = ?, attempts = attempts + 1 WHERE n IN (SELECT n FROM outbox WHERE state = 'waiting' "
        f"AND due <= ? AND kind IN ({', '.join('?' * len(kinds))}) ORDER BY due, n LIMIT ?) RETURNING {_LETTER}",
        (until, now, *kinds, limit),
    )
    return sorted(map(_letter, rows.fetchall()), key=lambda letter: letter.n)


def put_letter(db: sqlite3.Connection, n: int, due: int, dead: bool, why: str) -> None:
    db.execute(
        "UPDATE outbox SET due = ?, state = ?, why = ? WHERE n = ?", (due, "dead" if dead else "waiting", why, n)
    )


def drop_letter(db: sqlite3.Connection, n: int) -> None:
    db.execute("DELETE FROM outbox WHERE n = ?", (n,))


def find_letters(db: sqlite3.Connection, kinds: list[str], dead: bool, limit: int, after: int) -> list[LetterRow]:
    rows = db.execute(
        f"SELECT {_LETTER} FROM outbox WHERE state = ? AND n > ? "
        f"AND kind IN ({', '.join('?' * len(kinds))}) ORDER BY n LIMIT ?",
        ("dead" if dead else "waiting", after, *kinds, limit),
    )
    return list(map(_letter, rows.fetchall()))


def _letter(row: tuple[Any, ...]) -> LetterRow:
    n, kind, device_n, due, attempts, dead, why, payload = row
    return LetterRow(n, kind, device_n, due, attempts, bool(dead), why, payload)
