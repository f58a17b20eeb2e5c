"""The verbs of events (`dmtwisted.store.interface`) in the SQL of Microsoft SQL Server.

A seal gets its number before it is committed, so a lower number may still become visible. A shared lock on the table
waits for all that are about to commit one: what is seen under it is settled.
"""

from __future__ import annotations

from dmtwisted.store.events import end_of_look, events_between, page_of
from dmtwisted.store.mssql.sessions import Link
from dmtwisted.store.mssql.texts import EMPTY, kept
from dmtwisted.store.values import EventPage, EventPlace


def _settled(link: Link) -> int:
    """The last place before which nothing can appear any more."""
    [(top,)] = link.ask("SELECT MAX(n) FROM seal WITH (TABLOCK, HOLDLOCK)")
    return int(top or 0)


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
