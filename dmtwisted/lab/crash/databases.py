"""Where the killed service keeps its data: a SQLite file in its state folder, or a database of a PostgreSQL server.

The service is killed, not the server: for that see ``make outages``.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import psycopg2

from dmtwisted.lab.children import BenchFailed
from dmtwisted.lab.crash.books import Rows

_numbers = count(1)


@dataclass(frozen=True)
class Ground:
    """What the shops of a run stand on.

    :param server: the URL of a PostgreSQL server's database from which others can be created; empty for SQLite.
    :param power: a kill is a power cut: unsynced writes are lost too.
    """

    server: str = ""
    power: bool = False

    @property
    def way(self) -> str:
        """Its name in results."""
        return "power" if self.power else "postgresql" if self.server else "sqlite"

    def database(self) -> Database:
        """A database for one shop."""
        return PostgresDatabase(self.server) if self.server else SqliteFile()


SQLITE = Ground()


class Database(Protocol):
    """The database of one shop."""

    def configure(self, state: Path) -> Sequence[str]:
        """Make it ready for a service with this state folder; returns more arguments of the service."""

    def rows(self, state: Path) -> AbstractContextManager[Rows]:
        """Read it."""

    def damage(self, state: Path) -> str:
        """What is wrong with its files; empty when nothing is."""

    def remove(self) -> None:
        """Leave nothing behind."""


class SqliteFile:
    """The file in the state folder."""

    def configure(self, state: Path) -> list[str]:
        """Nothing: it is what a service has without settings."""
        return []

    @contextmanager
    def rows(self, state: Path) -> Iterator[Rows]:
        """Read it beside the service."""
        with closing(sqlite3.connect(f"file:{state / 'dmtwisted.db'}?mode=ro", uri=True)) as db:
            yield db.execute

    def damage(self, state: Path) -> str:
        """What its own check says."""
        with self.rows(state) as rows:
            [(verdict,)] = rows("PRAGMA integrity_check(1)")
        return "" if verdict == "ok" else f"the database is damaged: {verdict}"

    def remove(self) -> None:
        """Its folder goes with the shop."""


class PostgresDatabase:
    """A database of its own on a server.

    :param server: the URL of a database from which others can be created.
    """

    def __init__(self, server: str) -> None:
        self._server = server
        self._name = f"crashlab_{os.getpid()}_{next(_numbers)}"

    @property
    def url(self) -> str:
        """Its URL."""
        return urlunsplit(urlsplit(self._server)._replace(path=f"/{self._name}"))

    def configure(self, state: Path) -> list[str]:
        """Create it, and name it to the service.

        :raises BenchFailed: when the server does not.
        """
        self._order(f'CREATE DATABASE "{self._name}"')
        config = state.parent / f"{state.name}.toml"
        config.write_text(f"[database]\nurl = {json.dumps(self.url)}\n", "utf-8")
        return ["--config", str(config)]

    def _order(self, statement: str) -> None:
        try:
            with closing(psycopg2.connect(self._server)) as connection:
                connection.autocommit = True
                connection.cursor().execute(statement)
        except psycopg2.Error as error:
            raise BenchFailed(f"{statement}: {error}") from None

    @contextmanager
    def rows(self, state: Path) -> Iterator[Rows]:
        """Read it beside the service."""
        with closing(psycopg2.connect(self.url)) as connection:
            connection.set_session(readonly=True, autocommit=True)

            def run(statement: str) -> Iterable[tuple[Any, ...]]:
                with connection.cursor() as cursor:
                    cursor.execute(statement)
                    found: list[tuple[Any, ...]] = cursor.fetchall()
                    return found

            yield run

    def damage(self, state: Path) -> str:
        """Its files are the server's."""
        return ""

    def remove(self) -> None:
        """Drop it."""
        self._order(f'DROP DATABASE IF EXISTS "{self._name}" WITH (FORCE)')
