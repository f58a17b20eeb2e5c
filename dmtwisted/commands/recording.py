"""Changes by commands, recorded in the database of a service that does not run (`dmtwisted.changes`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dmtwisted.changes import Action, Area, Outcome, command_change
from dmtwisted.commands.shared import operator
from dmtwisted.config import Config
from dmtwisted.store.carry.looking import expect_fit
from dmtwisted.store.carry.recording import end, record
from dmtwisted.store.opening import open_rows
from dmtwisted.store.rows import CarryError, Rows
from dmtwisted.store.values import Change


@contextmanager
def recorded(config: Config, area: Area, action: Action, now: float, after: dict[str, Any]) -> Iterator[None]:
    """Keep a record around the block: begun before it, with its outcome afterwards.

    A service that runs has the database to itself: it records what it sees of the change, at its next start at the
    latest. So it is when there is no database yet.

    :param now: seconds since 1970.
    """
    caller = operator()

    def change(outcome: Outcome) -> Change:
        return command_change(caller, area, action, int(now * 1000), after=after, outcome=outcome)

    with _database(config) as rows:
        if rows is None:
            yield
            return
        with rows.transaction():
            n = record(rows, change(Outcome.BEGUN))
        became = Outcome.FAILED
        try:
            yield
            became = Outcome.DONE
        finally:
            with rows.transaction():
                end(rows, n, change(became).request)


@contextmanager
def _database(config: Config) -> Iterator[Rows | None]:
    """The database, when no service works with it and it is of this version."""
    if config.sqlite_file is not None and not config.sqlite_file.exists():
        yield None
        return
    try:
        rows = open_rows(config.database_url)
    except CarryError:
        yield None
        return
    with rows:
        try:
            rows.keep_others_out(0)
            expect_fit(rows)
        except CarryError:
            yield None
        else:
            yield rows
