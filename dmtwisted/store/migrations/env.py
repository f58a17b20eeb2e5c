"""How alembic reaches the database: one transaction for each revision, begun by us and not by the driver."""

from __future__ import annotations

from typing import Any

from alembic import context
from alembic.util import CommandError
from sqlalchemy import event

from dmtwisted.crash_points import reached
from dmtwisted.store.schema import metadata

LOCK = 0x646D7477
"""The advisory lock that one migration at a time holds: any number that others on the server do not use."""

MSSQL_LOCK = (
    "DECLARE @got INT; EXEC @got = sp_getapplock @Resource = 'dmtwisted migration', @LockMode = 'Exclusive', "
    "@LockOwner = 'Session', @LockTimeout = 600000; SELECT @got"
)
"""The same in MS SQL, by a name and for ten minutes at the longest."""

engine = context.config.attributes["engine"]

if engine.dialect.name == "sqlite":

    @event.listens_for(engine, "connect")
    def _driver_begins_nothing(connection: Any, _record: Any) -> None:
        # The driver would leave table changes outside of any transaction.
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


with engine.connect() as connection:
    if engine.dialect.name == "postgresql":
        # Of the session, not of a transaction: each revision has a transaction of its own.
        connection.exec_driver_sql(f"SELECT pg_advisory_lock({LOCK})")
        connection.commit()
    if engine.dialect.name == "mssql":
        [(got,)] = connection.exec_driver_sql(MSSQL_LOCK).fetchall()
        connection.commit()
        if got < 0:
            raise CommandError("another migration works with the database")
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transaction_per_migration=True,
        transactional_ddl=True,
        on_version_apply=lambda **_: reached("migration.in-transaction"),
        render_as_batch=engine.dialect.name == "sqlite",
    )
    with context.begin_transaction():
        context.run_migrations()
