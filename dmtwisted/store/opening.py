"""Open the database that the configuration or a URL names.

The back ends are imported here, each when it is needed: a service must not load the drivers of databases that it does
not use.
"""

from __future__ import annotations

import socket
from importlib.util import find_spec
from typing import Any

from dmtwisted.config import Config, ConfigError
from dmtwisted.store.interface import IStore
from dmtwisted.store.mssql import driver as mssql
from dmtwisted.store.rows import CarryError, Rows
from dmtwisted.store.urls import MSSQL, POSTGRES, SQLITE


def check_database(config: Config) -> None:
    """Check that this version can use the configured database; nothing is connected yet.

    :raises ConfigError: when there is no store for it, or its URL is not valid.
    """
    if config.sqlite_file is None:
        if config.database.url.startswith(POSTGRES):
            from dmtwisted.store.postgres.sessions import read_url
        else:
            read_url = mssql.read_url
            if find_spec(mssql.DRIVER) is None:
                raise ConfigError(f"[database] url: {mssql.MISSING}")
        try:
            read_url(config.database.url)
        except ValueError as error:
            raise ConfigError(f"[database] url: {error}") from None


def store_of(config: Config, reactor: Any) -> IStore:
    """The store, not open yet.

    :raises ConfigError: as `check_database` does.
    """
    check_database(config)
    if config.sqlite_file is not None:
        from dmtwisted.store.sqlite.store import SqliteStore

        return SqliteStore(reactor, config.sqlite_file)
    if config.database.url.startswith(MSSQL):
        from dmtwisted.store.mssql.store import MssqlStore

        return MssqlStore(reactor, config.database.url, installation(config))
    from dmtwisted.store.postgres.store import PostgresStore

    return PostgresStore(reactor, config.database.url, installation(config))


def installation(config: Config) -> str:
    """The name of this service among others on one database: machine and state folder, the same at each start."""
    return f"{socket.gethostname()}:{config.state}"


def open_rows(url: str, reading: bool = False) -> Rows:
    """The rows of the database that ``url`` names, for commands.

    :param reading: only read, and see one moment of it, while a service may work with it.
    :raises CarryError: when it cannot be reached, or there is no store for its kind.
    """
    if url.startswith(SQLITE):
        from dmtwisted.store.sqlite.rows import SqliteRows

        return SqliteRows(url.removeprefix(SQLITE), reading)
    if url.startswith(POSTGRES):
        from dmtwisted.store.postgres.rows import PostgresRows

        return PostgresRows(url, reading)
    if url.startswith(MSSQL):
        from dmtwisted.store.mssql.rows import MssqlRows

        return MssqlRows(url, reading)
    raise CarryError("this is not the URL of a database that there is a store for")
