"""The verbs of subscribers (`dmtwisted.store.interface`) in the SQL of PostgreSQL."""

from __future__ import annotations

from dmtwisted.store.postgres.sessions import Session
from dmtwisted.store.values import DeadLetter, HookCursor

_COLUMNS = ("subscriber", "device_n", "told", "told_at", "attempts", "since", "due", "why")
_LISTED = ", ".join(_COLUMNS)
_KEEP = (
    f"INSERT INTO hook_cursor ({_LISTED}) SELECT * FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::bigint[], "
    "%s::int[], %s::bigint[], %s::bigint[], %s::text[]) ON CONFLICT (subscriber, device_n) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[2:])
    + " WHERE hook_cursor.told <= excluded.told"
)
_BURY = (
    "INSERT INTO outbox (kind, device_n, due, attempts, state, why, payload) SELECT kind, device_n, due, 0, 'dead', "
    "why, payload FROM unnest(%s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::bytea[]) "
    "AS v (kind, device_n, due, why, payload)"
)


async def hook_cursors(session: Session, attempt: object) -> list[HookCursor]:
    rows = await session.ask(f"SELECT {_LISTED} FROM hook_cursor ORDER BY subscriber, device_n")
    return [HookCursor(*row) for row in rows]


async def keep_cursors(session: Session, attempt: object, cursors: list[HookCursor], dead: list[DeadLetter]) -> None:
    # A first try, whose answer was lost, may have kept them: a letter rather stays twice than not at all.
    letters = [
        [one.letter.kind for one in dead],
        [one.letter.device_n for one in dead],
        [one.letter.due for one in dead],
        [one.why for one in dead],
        [one.letter.payload for one in dead],
    ]
    await session.ask(
        f"WITH buried AS ({_BURY}) {_KEEP} RETURNING subscriber",
        (*letters, *([getattr(one, name) for one in cursors] for name in _COLUMNS)),
    )


async def drop_cursors(session: Session, attempt: object, subscriber: str) -> None:
    await session.ask("DELETE FROM hook_cursor WHERE subscriber = %s RETURNING device_n", (subscriber,))
