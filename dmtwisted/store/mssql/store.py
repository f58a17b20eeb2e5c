"""The MS SQL store: each verb is one transaction, run in the thread of a session."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from twisted.internet.task import deferLater

from dmtwisted.store.claims import Owner
from dmtwisted.store.interface import functions_of
from dmtwisted.store.mssql import events, hooks, marks, outbox, retention, seals, statements
from dmtwisted.store.mssql.driver import REVISIONS, read_url
from dmtwisted.store.mssql.sessions import LOCK, UNLOCK, Link, Session
from dmtwisted.store.server_store import ServerStore
from dmtwisted.store.sessions import Attempt, Patience
from dmtwisted.store.values import StoreFailed

FUNCTIONS = functions_of(statements, seals, retention, marks, outbox, events, hooks)
"""The verbs by their names."""

ABILITY = (
    "SELECT CONVERT(NVARCHAR(20), DATABASEPROPERTYEX(DB_NAME(), 'Updateability')), is_read_committed_snapshot_on "
    "FROM sys.databases WHERE name = DB_NAME()"
)

PAUSE = 0.05
"""Seconds between checks whether the server has ended a lost session."""


class MssqlWords:
    """`ClaimWords` for MS SQL: application locks of a session, and the row of the device."""

    async def lock(self, session: Session, device_n: int) -> bool:
        return await _locked(session, resource_of(device_n))

    async def unlock(self, session: Session, device_n: int) -> None:
        await session.ask(UNLOCK, (resource_of(device_n),))

    async def owner(self, session: Session, device_n: int) -> Owner | None:
        rows = await session.ask("SELECT instance, released, turn FROM claim WHERE device_n = %s", (device_n,))
        return (rows[0][0], bool(rows[0][1]), rows[0][2]) if rows else None

    async def take(self, session: Session, device_n: int, instance: str) -> None:
        """Change the row of the device; this waits for every transaction that has locked the row to write."""

        def take(link: Link) -> None:
            link.ask(
                "UPDATE claim SET instance = %s, released = 0, turn = turn + 1 WHERE device_n = %s",
                (instance, device_n),
            )
            if not link.changed:
                link.ask(
                    "INSERT INTO claim (device_n, instance, released, turn) VALUES (%s, %s, 0, 1)",
                    (device_n, instance),
                )

        await session.run(take)

    async def release(self, session: Session, instance: str, locked: Collection[int]) -> None:
        """Mark every row of ours, then unlock: the server may notice the end of the session late."""
        await session.ask("UPDATE claim SET released = 1 WHERE instance = %s", (instance,))
        for device_n in locked:
            await self.unlock(session, device_n)

    async def bury(self, session: Session, names: set[str], patience: Patience) -> None:
        """Wait until the lock that each connection holds is free."""
        until = session.reactor.seconds() + patience.recovery
        for name in sorted(names):
            while not await _locked(session, name):
                if session.reactor.seconds() > until:
                    raise StoreFailed("a lost session does not end at the server")
                await deferLater(session.reactor, PAUSE)
            await session.ask(UNLOCK, (name,))
            names.discard(name)


def resource_of(device_n: int) -> str:
    """The name of the lock of a device."""
    return f"dmtwisted device {device_n}"


async def _locked(session: Session, resource: str) -> bool:
    [(got,)] = await session.ask(LOCK.format(mode="Exclusive"), (resource, 0))
    return bool(got >= 0)


class MssqlStore(ServerStore[Session]):
    """The store in a MS SQL database."""

    words = MssqlWords()
    make_session = Session
    read_url = staticmethod(read_url)
    revisions = REVISIONS

    async def _check_server(self, session: Session) -> None:
        [(ability, snapshots)] = await session.ask(ABILITY)
        if ability != "READ_WRITE":
            raise StoreFailed("the database is read-only")
        if not snapshots:
            self.log.warn(
                "the database has READ_COMMITTED_SNAPSHOT switched off: searches wait for sales (docs/databases.md)"
            )

    async def _run(self, session: Session, verb: str, attempt: Attempt, arguments: tuple[Any, ...]) -> Any:
        return await session.run(lambda link: FUNCTIONS[verb](link, attempt, *arguments))
