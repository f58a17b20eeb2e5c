"""The PostgreSQL store: each verb is one statement, so one round trip and one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dmtwisted.store.interface import functions_of
from dmtwisted.store.postgres import retention, seals, statements
from dmtwisted.store.postgres.claims import PostgresWords
from dmtwisted.store.postgres.sessions import Session, read_url
from dmtwisted.store.server_store import POOL, ServerStore
from dmtwisted.store.sessions import Attempt, Patience

FUNCTIONS = functions_of(statements, seals, retention)
"""The verbs by their names."""

REVISION = "SELECT to_regclass('alembic_version') IS NOT NULL"
VERSION = "SELECT version_num FROM alembic_version"


class PostgresStore(ServerStore[Session]):
    """The store in the PostgreSQL database that ``url`` names.

    :raises ValueError: when the URL is not valid; the text repeats nothing of it.
    """

    def __init__(
        self, reactor: Any, url: str, installation: str, patience: Patience | None = None, size: int = POOL
    ) -> None:
        super().__init__(reactor, url, installation, PostgresWords(), patience, size)
        self._parameters = read_url(url)

    def _session(self, lost: Callable[[Session], None], back: Callable[[Session], None]) -> Session:
        return Session(self._reactor, self._parameters, self._names, self._patience, lost, back)

    async def _greet(self, session: Session) -> list[str]:
        if session.fsync != "on":
            self.log.warn(
                "the database server runs with fsync={fsync}: it may lose receipts in a power cut",
                fsync=session.fsync,
            )
        [(known,)] = await session.ask(REVISION)
        return [row[0] for row in await session.ask(VERSION)] if known else []

    async def _run(self, session: Session, verb: str, attempt: Attempt, arguments: tuple[Any, ...]) -> Any:
        return await FUNCTIONS[verb](session, attempt, *arguments)
