"""Bring a database to the schema of this version: ``python -m dmtwisted.store.migrate URL``.

Without an argument the URL is taken from the environment variable ``DMTWISTED_DATABASE_URL``: everyone on the machine
can read arguments, and a URL may hold a password.

The service starts this as a separate process, and only when a revision is missing, so that the service itself never
loads SQLAlchemy and alembic. Each revision and its mark in ``alembic_version`` are one transaction: after a kill at
any moment the database is either before or after the revision. When several migrations begin at once, one runs; the
others wait for it and then find nothing to do.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import create_engine
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from dmtwisted.crash_points import reached
from dmtwisted.store import revisions
from dmtwisted.store.mssql.driver import read_url
from dmtwisted.store.sqlite.file import LOCK_PATIENCE, Locked, take_lock
from dmtwisted.store.urls import CONNECT_WAIT, MSSQL, NOT_A_URL, POSTGRES, SQLITE, URL_VARIABLE


def upgrade(url: str, revision: str = "head") -> None:
    """Run every revision that the database at ``url`` has not seen yet, up to ``revision``.

    :raises sqlalchemy.exc.SQLAlchemyError: when the database refuses.
    :raises alembic.util.CommandError: when the database has an unknown revision.
    :raises ImportError: when the database's driver is not installed.
    """
    config = Config()
    # A doubled %: alembic reads its options like those of an ini file.
    config.set_main_option("script_location", str(revisions.HERE).replace("%", "%%"))
    config.attributes["engine"] = _engine(url)
    command.upgrade(config, revision)


def _engine(url: str) -> Engine:
    parsed = _parsed(url)

    def connect() -> Any:
        driver: Any = engine.dialect.loaded_dbapi
        if url.startswith(MSSQL):
            parameters: dict[str, Any] = {**read_url(url)}
            return driver.connect(**parameters, charset="UTF-8", login_timeout=CONNECT_WAIT)
        # The driver reads the URL itself, so that it means the same here and in the service.
        return driver.connect(url, connect_timeout=CONNECT_WAIT)

    if url.startswith(MSSQL):
        # Large types are deprecated since SQL Server 2012: so bodies may have any length.
        engine = create_engine("mssql+pymssql://", creator=connect, poolclass=NullPool, deprecate_large_types=True)
    elif url.startswith(POSTGRES):
        engine = create_engine("postgresql+psycopg2://", creator=connect, poolclass=NullPool)
    else:
        engine = create_engine(parsed, poolclass=NullPool)
    return engine


def _parsed(url: str) -> URL:
    if url.startswith(SQLITE):
        # The rest is the path as it is: a folder's name may hold signs that have a meaning in a URL.
        return URL.create("sqlite", database=url.removeprefix(SQLITE))
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    # An @ within a password makes its end part of the host, which drivers repeat in their errors.
    if parsed is None or "@" in (parsed.host or ""):
        # Without the parser's own text, which may repeat a password.
        raise ArgumentError(NOT_A_URL)
    return parsed


def main(url: str) -> int:
    """Upgrade the database at ``url``; one clear line, without a password, when it cannot be done."""
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
