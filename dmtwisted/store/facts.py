"""Facts about the database for the operator: which one it is, its size and content, and whether it is whole.

A SQLite file is read in a thread, by a separate connection: sales must not wait while a million receipts are counted.
Other stores are asked by their own verbs.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from dmtwisted.clock import ServiceClock
from dmtwisted.config import Config
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import CHANGE, EVENT, DocumentQuery, OperationQuery, State, StoreFailed

UNFINISHED = (State.INTENDED, State.UNKNOWN)

MOST_TROUBLES = 20
"""Faults that are reported: one is enough to act."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The database at a glance; sizes in bytes, moments in milliseconds since 1970, `None` when not known."""

    kind: str
    place: str
    """The file, or the server and the name of the database; never login or password."""
    size: int | None = None
    revision: str = ""
    receipts: int = 0
    """Fiscal documents of every kind."""
    operations: int = 0
    """Entries of the journal: tasks, payments, prints."""
    unfinished: int = 0
    oldest: int | None = None
    """The time of the oldest document."""


class FileCheck(msgspec.Struct, frozen=True):
    """The result of a check of every page of the file; ``troubles`` is empty when it is whole."""

    at: int
    troubles: tuple[str, ...] = ()


async def facts_of(config: Config, store: IStore, clock: ServiceClock) -> Facts:
    """The facts of the database of ``config``.

    :raises StoreFailed: when the database cannot answer.
    """
    file = config.sqlite_file
    if file is not None and file.exists():
        return await clock.aside(facts_of_file, file)
    operations = await store.find_operations(OperationQuery(limit=1))
    unfinished = await store.find_operations(OperationQuery(states=list(UNFINISHED), limit=1))
    documents = await store.find_documents(DocumentQuery(newest_first=False, limit=1))
    kind, place = _server(config.database.url)
    return Facts(
        kind=kind,
        place=place,
        receipts=documents.total,
        operations=operations.total,
        unfinished=unfinished.total,
        oldest=documents.documents[0].at if documents.documents else None,
    )


async def check_file(config: Config, clock: ServiceClock) -> FileCheck | None:
    """Check every page of a SQLite file; `None` for other databases, which check themselves."""
    file = config.sqlite_file
    if file is None or not file.exists():
        return None
    return FileCheck(clock.now(), await clock.aside(_troubles_of, file))


def facts_of_file(file: Path) -> Facts:
    """The facts of a SQLite file; blocks while its rows are counted.

    :raises StoreFailed: when it cannot be read.
    """
    try:
        with closing(_open(file)) as db:
            (receipts, oldest) = db.execute(
                "SELECT count(*), min(at) FROM document WHERE state = ?", (State.DONE,)
            ).fetchone()
            (operations,) = db.execute(
                "SELECT count(*) FROM operation WHERE kind NOT IN (?, ?)", (CHANGE, EVENT)
            ).fetchone()
            (unfinished,) = db.execute("SELECT count(*) FROM operation WHERE state IN (?, ?)", UNFINISHED).fetchone()
            (revision,) = db.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.Error as error:
        raise StoreFailed(str(error)) from None
    return Facts(
        kind="SQLite",
        place=str(file),
        size=_size(file),
        revision=str(revision),
        receipts=receipts,
        operations=operations,
        unfinished=unfinished,
        oldest=oldest,
    )


def _troubles_of(file: Path) -> tuple[str, ...]:
    try:
        with closing(_open(file)) as db:
            found = [str(line) for (line,) in db.execute(f"PRAGMA integrity_check({MOST_TROUBLES})")]
            if found == ["ok"]:
                found = [
                    f"{table} {row}: the row that it belongs to is missing"
                    for table, row, *_ in db.execute("PRAGMA foreign_key_check").fetchmany(MOST_TROUBLES)
                ]
    except sqlite3.Error as error:
        return (str(error),)
    return tuple(found)


def _open(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)


def _size(file: Path) -> int:
    """The size of the file and its write-ahead log."""
    total = 0
    for name in (file, file.with_name(f"{file.name}-wal")):
        try:
            total += name.stat().st_size
        except OSError:
            continue
    return total


def _server(url: str) -> tuple[str, str]:
    """Kind and place of a database on a server: its name and address, without login and password."""
    kinds = {"postgresql": "PostgreSQL", "mssql": "MS SQL"}
    try:
        parts = urlsplit(url)
        place = f"{parts.hostname or 'localhost'}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "?", ""
    return kinds.get(parts.scheme.partition("+")[0], "SQLite"), place if parts.scheme in kinds else ""
