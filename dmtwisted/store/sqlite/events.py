"""The verbs of events (`dmtwisted.store.interface`) in the SQL of SQLite, where the order is that of the commits."""

from __future__ import annotations

import sqlite3

from dmtwisted.store.events import end_of_look, events_between, page_of
from dmtwisted.store.values import EventPage, EventPlace


def events(db: sqlite3.Connection, after: int, limit: int, devices: list[int]) -> EventPage:
    chain, first, top = db.execute(
        "SELECT (SELECT chain FROM seal WHERE n = ?), (SELECT min(n) FROM seal WHERE n > ?), "
        "(SELECT coalesce(max(n), 0) FROM seal)",
        (after, after),
    ).fetchone()
    end = end_of_look(after, first, top)
    statement = events_between("?", "x''", devices, last=" LIMIT ?")
    return page_of(db.execute(statement, (after, end, limit)), limit, end, chain or b"")


def last_event(db: sqlite3.Connection) -> EventPlace:
    row = db.execute("SELECT n, chain FROM seal ORDER BY n DESC LIMIT 1").fetchone()
    return EventPlace(0, b"") if row is None else EventPlace(*row)
