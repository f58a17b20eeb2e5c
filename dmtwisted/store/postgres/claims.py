"""The claims in the SQL of PostgreSQL: advisory locks of a session, and the row of the device."""

from __future__ import annotations

from collections.abc import Collection

from twisted.internet.task import deferLater

from dmtwisted.store.claims import Owner
from dmtwisted.store.postgres.sessions import Session
from dmtwisted.store.sessions import Patience
from dmtwisted.store.values import StoreFailed

# The number of the table is part of the key, so that services in other schemas of the database have their own locks.
_KEYS = "(('claim'::regclass::oid::bigint - 2147483648)::int, %s)"
LOCK, UNLOCK = f"SELECT pg_try_advisory_lock{_KEYS}", f"SELECT pg_advisory_unlock{_KEYS}"
OWNER = "SELECT instance, released, turn FROM claim WHERE device_n = %s"
TAKE = """
INSERT INTO claim (device_n, instance, released, turn) VALUES (%s, %s, false, 1)
ON CONFLICT (device_n) DO UPDATE SET instance = excluded.instance, released = false, turn = claim.turn + 1 RETURNING 1
"""
RELEASE = "UPDATE claim SET released = true WHERE instance = %s; SELECT pg_advisory_unlock_all()"

GONE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = ANY(%s) AND datname = current_database() AND pid <> pg_backend_pid()
"""


class PostgresWords:
    """`ClaimWords` for PostgreSQL."""

    async def lock(self, session: Session, device_n: int) -> bool:
        [(locked,)] = await session.ask(LOCK, (device_n,))
        return bool(locked)

    async def unlock(self, session: Session, device_n: int) -> None:
        await session.ask(UNLOCK, (device_n,))

    async def owner(self, session: Session, device_n: int) -> Owner | None:
        rows = await session.ask(OWNER, (device_n,))
        return (rows[0][0], rows[0][1], rows[0][2]) if rows else None

    async def take(self, session: Session, device_n: int, instance: str) -> None:
        """Change the row of the device; this waits for every statement that has locked the row to write."""
        await session.ask(TAKE, (device_n, instance))

    async def release(self, session: Session, instance: str, locked: Collection[int]) -> None:
        await session.ask(RELEASE, (instance,))

    async def bury(self, session: Session, names: set[str], patience: Patience) -> None:
        """End the sessions at the server, and wait until they are gone."""
        lost = sorted(names)
        until = session.reactor.seconds() + patience.recovery
        while await session.ask(GONE, (lost,)):
            if session.reactor.seconds() > until:
                raise StoreFailed("a lost session does not end at the server")
            await deferLater(session.reactor, 0.02)
        names.difference_update(lost)
