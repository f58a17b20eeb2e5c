"""The verbs of events (`dmtwisted.store.interface`) in the SQL of PostgreSQL.

A seal gets its number before it is committed, so a lower number may still become visible. Whoever is about to commit
one holds a lock on the table from before the number was taken until after the commit. So a place is settled once all
those have ended that held the lock when its number was seen.
"""

from __future__ import annotations

from twisted.internet.task import deferLater

from dmtwisted.store.events import end_of_look, events_between, page_of
from dmtwisted.store.postgres.sessions import Session
from dmtwisted.store.values import EventPage, EventPlace, StoreFailed

PAUSE, TRIES = 0.005, 400
"""Seconds between two looks at those that write, and how many looks."""

_WRITING = (
    "SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND relation = 'seal'::regclass "
    "AND mode = 'RowExclusiveLock' AND granted AND pid <> pg_backend_pid() "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)

# The locks are read after the numbers: a statement sees rows as of its begin, and locks as they are.
_TOP = f"SELECT coalesce(max(n), 0), ARRAY({_WRITING}) FROM seal"
_STILL = f"SELECT ARRAY({_WRITING} AND virtualtransaction = ANY(%s))"


async def _settled(session: Session) -> int:
    """The last place before which nothing can appear any more.

    :raises StoreFailed: when one that writes does not end.
    """
    [(top, writing)] = await session.ask(_TOP)
    for _ in range(TRIES):
        if not writing:
            return int(top)
        await deferLater(session.reactor, PAUSE)
        [(writing,)] = await session.ask(_STILL, (writing,))
    raise StoreFailed("the database did not finish in time")


async def events(session: Session, attempt: object, after: int, limit: int, devices: list[int]) -> EventPage:
    top = await _settled(session)
    [(chain, first)] = await session.ask(
        "SELECT (SELECT chain FROM seal WHERE n = %s), (SELECT min(n) FROM seal WHERE n > %s)", (after, after)
    )
    end = end_of_look(after, first, top)
    statement = events_between("%s", "''::bytea", devices, last=" LIMIT %s")
    rows = await session.ask(statement, (after, end, limit)) if end > after else []
    return page_of(rows, limit, end, chain or b"")


async def last_event(session: Session, attempt: object) -> EventPlace:
    top = await _settled(session)
    rows = await session.ask("SELECT n, chain FROM seal WHERE n = %s", (top,))
    return EventPlace(*rows[0]) if rows else EventPlace(top, b"")
