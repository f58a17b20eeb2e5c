"""The verbs of subscribers (`dmtwisted.store.interface`) in the SQL of SQLite."""

from __future__ import annotations

import sqlite3

from dmtwisted.store.values import DeadLetter, HookCursor

_COLUMNS = "subscriber, device_n, told, told_at, attempts, since, due, why"
_KEEP = (
    f"INSERT INTO hook_cursor ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subscriber, device_n) "
    "DO UPDATE SET told = excluded.told, told_at = excluded.told_at, attempts = excluded.attempts, "
    "since = excluded.since, due = excluded.due, why = excluded.why WHERE told <= excluded.told"
)


def hook_cursors(db: sqlite3.Connection) -> list[HookCursor]:
    rows = db.execute(f"SELECT {_COLUMNS} FROM hook_cursor ORDER BY subscriber, device_n")
    return [HookCursor(*row) for row in rows.fetchall()]


def keep_cursors(db: sqlite3.Connection, cursors: list[HookCursor], dead: list[DeadLetter]) -> None:
    db.executemany(
        _KEEP,
        [
            (one.subscriber, one.device_n, one.told, one.told_at, one.attempts, one.since, one.due, one.why)
            for one in cursors
        ],
    )
    db.executemany(
        "INSERT INTO outbox (kind, device_n, due, attempts, state, why, payload) VALUES (?, ?, ?, 0, 'dead', ?, ?)",
        [(one.letter.kind, one.letter.device_n, one.letter.due, one.why, one.letter.payload) for one in dead],
    )


def drop_cursors(db: sqlite3.Connection, subscriber: str) -> None:
    db.execute("DELETE FROM hook_cursor WHERE subscriber = ?", (subscriber,))
