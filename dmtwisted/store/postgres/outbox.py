"""The verbs of the outbox (`dmtwisted.store.interface`) in the SQL of PostgreSQL, and its part in an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmtwisted.store.postgres.sessions import Session
from dmtwisted.store.sessions import Attempt
from dmtwisted.store.values import Letter, LetterRow

_LETTER = "n, kind, device_n, due, attempts, state = 'dead', why, payload"
_INTO = "INSERT INTO outbox (kind, device_n, due, attempts, state, why, payload)"


def posted(letters: Sequence[Letter]) -> tuple[str, Sequence[Any]]:
    """A part of a statement, and its values, that keeps letters with the outcome of ``op``.

    ``was`` is the operation before: a statement that is tried again keeps them once.
    """
    rows = ", ".join(["(%s, %s::bigint, %s::bigint, %s)"] * len(letters))
    return (
        f"posted AS ({_INTO} SELECT v.kind, v.device_n, v.due, 0, 'waiting', '', v.payload FROM op, was, "
        f"(VALUES {rows}) AS v (kind, device_n, due, payload) WHERE was.state <> 'done')",
        [part for letter in letters for part in (letter.kind, letter.device_n, letter.due, letter.payload)],
    )


async def post(session: Session, attempt: Attempt, letters: list[Letter]) -> None:
    # A first try, whose answer was lost, may have kept them: a letter is rather told twice than not at all.
    for letter in letters:
        await session.ask(
            f"{_INTO} VALUES (%s, %s, %s, 0, 'waiting', '', %s) RETURNING n",
            (letter.kind, letter.device_n, letter.due, letter.payload),
        )


async def next_letter(session: Session, attempt: object, kinds: list[str]) -> int | None:
    [(found,)] = await session.ask("SELECT min(due) FROM outbox WHERE state = 'waiting' AND kind = ANY(%s)", (kinds,))
    return None if found is None else int(found)


async def take_letters(
    session: Session, attempt: object, kinds: list[str], now: int, until: int, limit: int
) -> list[LetterRow]:
    rows = await session.ask(
        "UPDATE outbox SET due = %s, attempts = attempts + 1 WHERE n IN (SELECT n FROM outbox "
        "WHERE state = 'waiting' AND due <= %s AND kind = ANY(%s) ORDER BY due, n LIMIT %s FOR UPDATE SKIP LOCKED) "
        f"RETURNING {_LETTER}",
        (until, now, kinds, limit),
    )
    return [LetterRow(*row) for row in sorted(rows)]


async def put_letter(session: Session, attempt: object, n: int, due: int, dead: bool, why: str) -> None:
    await session.ask(
        "UPDATE outbox SET due = %s, state = %s, why = %s WHERE n = %s RETURNING n",
        (due, "dead" if dead else "waiting", why, n),
    )


async def drop_letter(session: Session, attempt: object, n: int) -> None:
    await session.ask("DELETE FROM outbox WHERE n = %s RETURNING n", (n,))


async def find_letters(
    session: Session, attempt: object, kinds: list[str], dead: bool, limit: int, after: int
) -> list[LetterRow]:
    rows = await session.ask(
        f"SELECT {_LETTER} FROM outbox WHERE state = %s AND kind = ANY(%s) AND n > %s ORDER BY n LIMIT %s",
        ("dead" if dead else "waiting", kinds, after, limit),
    )
    return [LetterRow(*row) for row in rows]
