"""The verbs of events (`dmtwisted.store.interface`) in the SQL of Microsoft SQL Server.

A seal gets its number before it is committed, so a lower number may still become visible. A shared lock on the table
waits for all that are about to commit one: what is seen under it is settled. Whoever writes later waits behind it, so
it gives up soon and comes again: a transaction that hangs would else stop every till.
"""

from __future__ import annotations

import time

from dmtwisted.store.events import end_of_look, events_between, page_of
from dmtwisted.store.mssql.sessions import Link
from dmtwisted.store.mssql.texts import EMPTY, kept
from dmtwisted.store.values import EventPage, EventPlace, StoreFailed

HOLD_MS = 20
"""Milliseconds for which tills may wait behind a look."""

PAUSE, TRIES = 0.1, 20
"""Seconds between two looks, and how many looks."""


def _settled(link: Link) -> int:
    """The last place before which nothing can appear any more.

    :raises StoreFailed: when one that writes does not end.
    """
    for _ in range(TRIES):
        rows = link.ask_within(HOLD_MS, "SELECT MAX(n) FROM seal WITH (TABLOCK, HOLDLOCK)")
        if rows is not None:
            return int(rows[0][0] or 0)
        time.sleep(PAUSE)
    raise StoreFailed("the database did not finish in time")


def events(link: Link, attempt: object, after: int, limit: int, devices: list[int]) -> EventPage:
    top = _settled(link)
    [(first,)] = link.ask("SELECT MIN(n) FROM seal WHERE n > %s", (after,))
    at = link.ask("SELECT chain FROM seal WHERE n = %s", (after,))
    end = end_of_look(after, first, top)
    statement = events_between("%s", EMPTY, devices, first=f"TOP {int(limit)} ")
    rows = link.ask(statement, (after, end)) if end > after else []
    return page_of(rows, limit, end, at[0][0] if at else b"", kept)


def last_event(link: Link, attempt: object) -> EventPlace:
    top = _settled(link)
    rows = link.ask("SELECT n, chain FROM seal WHERE n = %s", (top,))
    return EventPlace(*rows[0]) if rows else EventPlace(top, b"")
