"""The verbs of subscribers (`dmtwisted.store.interface`) in the SQL of Microsoft SQL Server."""

from __future__ import annotations

from dmtwisted.store.mssql.sessions import Link
from dmtwisted.store.mssql.texts import BODY, keep, kept
from dmtwisted.store.values import DeadLetter, HookCursor


def hook_cursors(link: Link, attempt: object) -> list[HookCursor]:
    rows = link.ask(
        "SELECT subscriber, device_n, told, told_at, attempts, since, due, why FROM hook_cursor "
        "ORDER BY subscriber, device_n"
    )
    return [
        HookCursor(kept(subscriber), device_n, told, told_at, attempts, since, due, kept(why))
        for subscriber, device_n, told, told_at, attempts, since, due, why in rows
    ]


def keep_cursors(link: Link, attempt: object, cursors: list[HookCursor], dead: list[DeadLetter]) -> None:
    link.begin()
    for one in cursors:
        values = (one.told, one.told_at, one.attempts, one.since, one.due, keep(one.why))
        key = (keep(one.subscriber), one.device_n)
        link.ask(
            "UPDATE hook_cursor SET told = %s, told_at = %s, attempts = %s, since = %s, due = %s, why = %s "
            "WHERE subscriber = %s AND device_n = %s AND told <= %s",
            (*values, *key, one.told),
        )
        if not link.changed:
            link.ask(
                "INSERT INTO hook_cursor (told, told_at, attempts, since, due, why, subscriber, device_n) "
                "SELECT %s, %s, %s, %s, %s, %s, %s, %s "
                "WHERE NOT EXISTS (SELECT 1 FROM hook_cursor WHERE subscriber = %s AND device_n = %s)",
                (*values, *key, *key),
            )
    for one_dead in dead:
        letter = one_dead.letter
        link.ask(
            "INSERT INTO outbox (kind, device_n, due, attempts, state, why, payload) "
            f"VALUES (%s, %s, %s, 0, 'dead', %s, {BODY})",
            (letter.kind, letter.device_n, letter.due, keep(one_dead.why), letter.payload),
        )
    link.commit()


def drop_cursors(link: Link, attempt: object, subscriber: str) -> None:
    link.ask("DELETE FROM hook_cursor WHERE subscriber = %s", (keep(subscriber),))
