"""The PostgreSQL store: each verb is one statement, so one round trip and one transaction.

The verbs of a sale are one statement for all sales that come together.
"""

from __future__ import annotations

from typing import Any

from dmtwisted.store.interface import functions_of
from dmtwisted.store.postgres import events, hooks, marks, outbox, retention, seals, statements
from dmtwisted.store.postgres.claims import PostgresWords
from dmtwisted.store.postgres.sessions import REVISIONS, Session, read_url
from dmtwisted.store.server_store import ServerStore, Together
from dmtwisted.store.sessions import Attempt

FUNCTIONS = functions_of(statements, seals, retention, marks, outbox, events, hooks)
"""The verbs by their names."""

TOGETHER: dict[str, Together[Session]] = {
    "reserve": statements.reserve_together,
    "conclude": statements.conclude_together,
    "conclude_at_once": statements.conclude_at_once_together,
}
"""The verbs of a sale, for several callers at once."""


class PostgresStore(ServerStore[Session]):
    """The store in a PostgreSQL database."""

    words = PostgresWords()
    make_session = Session
    read_url = staticmethod(read_url)
    revisions = REVISIONS
    together = TOGETHER

    async def _check_server(self, session: Session) -> None:
        if session.fsync != "on":
            self.log.warn(
                "the database server runs with fsync={fsync}: it may lose receipts in a power cut",
                fsync=session.fsync,
            )

    async def _run(self, session: Session, verb: str, attempt: Attempt, arguments: tuple[Any, ...]) -> Any:
        return await FUNCTIONS[verb](session, attempt, *arguments)
