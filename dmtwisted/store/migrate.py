"""Bring a database to the schema of this version: ``python -m dmtwisted.store.migrate URL``.

A process of its own, run only when there is something to do, so that the service never carries SQLAlchemy and
alembic in memory. Each revision runs in one transaction with its mark in ``alembic_version``: killed at any
moment, the database is either before or after it, never between.
"""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).parent / "migrations"


def head() -> str:
    """The newest revision: revisions are files named after their number."""
    names = (HERE / "versions").glob("[0-9]*.py")
    return max(match[0] for name in names if (match := re.match(r"\d+", name.name)))


def sqlite_revision(path: Path) -> str | None:
    """The revision of a SQLite file; `None` when it is absent or empty.

    :raises sqlite3.Error: when it is no readable database.
    """
    if not path.exists():
        return None
    with closing(sqlite3.connect(f"file:{path}?mode=rw", uri=True, timeout=5)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
            return None
        row = db.execute("SELECT version_num FROM alembic_version").fetchone()
        return None if row is None else str(row[0])


def upgrade(url: str, revision: str = "head") -> None:
    """Run every revision that ``url`` has not seen yet, up to ``revision``."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(HERE))
    config.attributes["url"] = url
    command.upgrade(config, revision)


def ddl() -> list[str]:
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
    return statements


def main(url: str) -> int:
    """Upgrade ``url``; one clear line when it cannot be done."""
    from sqlalchemy.exc import SQLAlchemyError

    from dmtwisted.store.writer import LOCK_PATIENCE, Locked, take_lock

    try:
        if url.startswith("sqlite:///"):
            with take_lock(f"{url.removeprefix('sqlite:///')}.lock", LOCK_PATIENCE):
                upgrade(url)
        else:
            upgrade(url)
    except (Locked, OSError, SQLAlchemyError) as error:
        why = str(getattr(error, "orig", None) or error).splitlines()[0]
        print(f"{url}: the database could not be brought up to date: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
