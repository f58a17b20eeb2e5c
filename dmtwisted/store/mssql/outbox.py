"""The verbs of the outbox (`dmtwisted.store.interface`) in the SQL of Microsoft SQL Server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dmtwisted.store.mssql.sessions import Link
from dmtwisted.store.mssql.texts import BODY, keep, kept
from dmtwisted.store.values import Letter, LetterRow

_LETTER = "n, kind, device_n, due, attempts, state, why, payload"


def post(link: Link, attempt: object, letters: list[Letter]) -> None:
    link.begin()
    put_in(link, letters)
    link.commit()


def put_in(link: Link, letters: Iterable[Letter]) -> None:
    """Keep letters, within the transaction of the verb."""
    for letter in letters:
        link.ask(
            "INSERT INTO outbox (kind, device_n, due, attempts, state, why, payload) "
            f"VALUES (%s, %s, %s, 0, 'waiting', '', {BODY})",
            (letter.kind, letter.device_n, letter.due, letter.payload),
        )


def next_letter(link: Link, attempt: object, kinds: list[str]) -> int | None:
    [(found,)] = link.ask(
        f"SELECT min(due) FROM outbox WHERE state = 'waiting' AND kind IN ({', '.join(['%s'] * len(kinds))})", kinds
    )
    return None if found is None else int(found)


def take_letters(link: Link, attempt: object, kinds: list[str], now: int, until: int, limit: int) -> list[LetterRow]:
    rows = link.ask(
        f"SELECT TOP {int(limit)} {_LETTER} FROM outbox WHERE state = 'waiting' AND due <= %s "
        f"AND kind IN ({', '.join(['%s'] * len(kinds))}) ORDER BY due, n",
        (now, *kinds),
    )
    taken = []
    for n, kind, device_n, due, attempts, state, why, payload in rows:
        # Another service may have taken it since.
        link.ask("UPDATE outbox SET due = %s, attempts = attempts + 1 WHERE n = %s AND due = %s", (until, n, due))
        if link.changed:
            taken.append(_letter((n, kind, device_n, until, attempts + 1, state, why, payload)))
    return sorted(taken, key=lambda letter: letter.n)


def put_letter(link: Link, attempt: object, n: int, due: int, dead: bool, why: str) -> None:
    link.ask(
        "UPDATE outbox SET due = %s, state = %s, why = %s WHERE n = %s",
        (due, "dead" if dead else "waiting", keep(why), n),
    )


def drop_letter(link: Link, attempt: object, n: int) -> None:
    link.ask("DELETE FROM outbox WHERE n = %s", (n,))


def find_letters(
    link: Link, attempt: object, kinds: list[str], dead: bool, limit: int, after: int
) -> list[LetterRow]:
    rows = link.ask(
        f"SELECT TOP {int(limit)} {_LETTER} FROM outbox WHERE state = %s AND n > %s "
        f"AND kind IN ({', '.join(['%s'] * len(kinds))}) ORDER BY n",
        ("dead" if dead else "waiting", after, *kinds),
    )
    return list(map(_letter, rows))


def _letter(row: tuple[Any, ...]) -> LetterRow:
    n, kind, device_n, due, attempts, state, why, payload = row
    return LetterRow(n, kind, device_n, due, attempts, state == "dead", kept(why), payload)
