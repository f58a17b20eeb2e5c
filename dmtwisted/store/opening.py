"""Which store the configuration asks for."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from typing import Any

from dmtwisted.config import Config, ConfigError
from dmtwisted.store.interface import IStore
from dmtwisted.store.migrate import MSSQL, POSTGRES


def check_database(config: Config) -> None:
    """Complain of a database that this version cannot use; nothing is reached for yet.

    :raises ConfigError: when there is no store for it, or its URL is none.
    """
    if config.sqlite_file is None:
        # Here and not above: most services have no such database, and need not carry its driver in memory.
        if config.database.url.startswith(POSTGRES):
            from dmtwisted.store.postgres.sessions import read_url
        else:
            from dmtwisted.store.mssql.sessions import DRIVER, MISSING, read_url

            if find_spec(DRIVER) is None:
                raise ConfigError(f"[database] url: {MISSING}")
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

        store: IStore = SqliteStore(reactor, config.sqlite_file)
    elif config.database.url.startswith(MSSQL):
        from dmtwisted.store.mssql.store import MssqlStore

        store = MssqlStore(reactor, config.database.url, installation(config))
    else:
        from dmtwisted.store.postgres.store import PostgresStore

        store = PostgresStore(reactor, config.database.url, installation(config))
    return store


def installation(config: Config) -> str:
    """The name of this service among others on one database: machine and state folder, the same at each start."""
    return f"{socket.gethostname()}:{config.state}"
