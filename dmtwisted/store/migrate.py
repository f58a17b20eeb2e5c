"""Bring a database to the schema of this version: ``python -m dmtwisted.store.migrate URL``.

Without an argument the URL comes in the environment, as ``DMTWISTED_DATABASE_URL``: arguments can be read by
everybody on the machine, and a URL may hold a password.

A process of its own, run only when there is something to do, so that the service never carries SQLAlchemy and
alembic in memory. Each revision runs in one transaction with its mark in ``alembic_version``: killed at any
moment, the database is either before or after it, never between. Of several that begin at the same time one works
and the others wait for it, then find nothing left to do.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from dmtwisted.crash_points import reached

if TYPE_CHECKING:
    from sqlalchemy.engine import URL, Engine

HERE = Path(__file__).parent / "migrations"

SQLITE = "sqlite:///"
"""How the URL of a SQLite file begins; what follows is its path."""

POSTGRES = "postgresql://"
"""How the URL of a PostgreSQL database begins, as libpq reads it."""

MSSQL = "mssql://"
"""How the URL of an MS SQL database begins (docs/databases.md)."""

URL_VARIABLE = "DMTWISTED_DATABASE_URL"
"""The variable of the environment in which the URL is looked for when it is no argument."""

CONNECT_WAIT = 10
"""Seconds to reach a database server."""


def head() -> str:
    """The newest revision: revisions are files named after their number."""
    names = (HERE / "versions").glob("[0-9]*.py")
    return max(match[0] for name in names if (match := re.match(r"\d+", name.name)))


MOVING = "moving"
"""What stands for a revision while rows are being moved into a database: no service works with such a one."""


def unfit(revision: str) -> str:
    """What is in the way of working with a database of this revision, as a predicate; empty when nothing is."""
    if revision == MOVING:
        return "is the target of a move that is not finished; run `dmtwisted db move` once more"
    return f"was made by a newer version (revision {revision})" if revision > head() else ""


def sqlite_revision(path: Path) -> str | None:
    """The revision of a SQLite file; `None` when it is absent or empty.

    :raises OSError: when the system does not take the path.
    :raises sqlite3.Error: when it is no readable database.
    """
    if not path.exists():
        return None
    # Who may write, and is the last one to close the file, brings the log into it: into a damaged one too. Without a
    # log there may be a journal, which only who may write can roll back.
    mode = "ro" if _has_log(path) else "rw"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=5)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
            return None
        row = db.execute("SELECT version_num FROM alembic_version").fetchone()
        return None if row is None else str(row[0])


def _has_log(path: Path) -> bool:
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False


def upgrade(url: str, revision: str = "head") -> None:
    """Run every revision that the database at ``url`` has not seen yet, up to ``revision``.

    :raises sqlalchemy.exc.SQLAlchemyError: when the database does not let us.
    :raises alembic.util.CommandError: when it has a revision that we do not know.
    :raises ImportError: when its driver is not installed.
    """
    from alembic import command
    from alembic.config import Config

    config = Config()
    # A doubled %, for alembic reads its options as those of an ini file.
    config.set_main_option("script_location", str(HERE).replace("%", "%%"))
    config.attributes["engine"] = _engine(url)
    command.upgrade(config, revision)


def _engine(url: str) -> Engine:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    parsed = _parsed(url)
    if url.startswith(MSSQL):
        from dmtwisted.store.mssql.sessions import migrating_connection

        return create_engine(
            "mssql+pymssql://",
            creator=lambda: migrating_connection(url, CONNECT_WAIT),
            poolclass=NullPool,
            # Since SQL Server 2012: bodies of any length, and no question about it.
            deprecate_large_types=True,
        )
    if not url.startswith(POSTGRES):
        return create_engine(parsed, poolclass=NullPool)
    import psycopg2

    # The driver reads the URL itself, so that it means the same here and in the service.
    return create_engine(
        "postgresql+psycopg2://",
        creator=lambda: psycopg2.connect(url, connect_timeout=CONNECT_WAIT),
        poolclass=NullPool,
    )


def _parsed(url: str) -> URL:
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError

    if url.startswith(SQLITE):
        # The rest is the path as it stands: a folder may be named with what means something in a URL.
        return URL.create("sqlite", database=url.removeprefix(SQLITE))
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    # An @ within a password makes its end part of the host, which drivers tell in their complaints.
    if parsed is None or "@" in (parsed.host or ""):
        # Not with the words of the parser, who may repeat what is a password.
        raise ArgumentError("this is no URL of a database; write signs in names and passwords as %40 and the like")
    return parsed


@cache
def ddl() -> tuple[str, ...]:
    """The statements that make the whole schema in an empty SQLite database."""
    from sqlalchemy.dialects import sqlite
    from sqlalchemy.schema import CreateIndex, CreateTable

    from dmtwisted.store.schema import metadata

    dialect = sqlite.dialect()
    statements = []
    for table in metadata.sorted_tables:
        statements.append(str(CreateTable(table).compile(dialect=dialect)))
        indexes = sorted(table.indexes, key=lambda index: str(index.name))
        statements += [str(CreateIndex(index).compile(dialect=dialect)) for index in indexes]
    return tuple(statements)


def main(url: str) -> int:
    """Upgrade the database at ``url``; one clear line, without a password, when it cannot be done."""
    from alembic.util import CommandError
    from sqlalchemy.exc import SQLAlchemyError

    from dmtwisted.store.sqlite.writer import LOCK_PATIENCE, Locked, take_lock

    try:
        if url.startswith(SQLITE):
            with take_lock(f"{url.removeprefix(SQLITE)}.lock", LOCK_PATIENCE):
                reached("migration.begun")
                upgrade(url)
                reached("migration.done")
        else:
            upgrade(url)
    except (Locked, OSError, ImportError, CommandError, SQLAlchemyError) as error:
        why = str(getattr(error, "orig", None) or error).splitlines()[0]
        print(f"the database could not be brought up to date: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.environ.get(URL_VARIABLE, "")))
