"""How alembic reaches the database: one transaction for each revision, begun by us and not by the driver."""

from __future__ import annotations

from typing import Any

from alembic import context
from sqlalchemy import create_engine, event
from sqlalchemy.pool import NullPool

from dmtwisted.store.schema import metadata

engine = create_engine(context.config.attributes["url"], poolclass=NullPool)

if engine.dialect.name == "sqlite":

    @event.listens_for(engine, "connect")
    def _driver_begins_nothing(connection: Any, _record: Any) -> None:
        # The driver would leave table changes outside of any transaction.
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


with engine.connect() as connection:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        transaction_per_migration=True,
        transactional_ddl=True,
        render_as_batch=engine.dialect.name == "sqlite",
    )
    with context.begin_transaction():
        context.run_migrations()
