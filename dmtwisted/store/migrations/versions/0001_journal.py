"""Devices, settings, the journal of operations, fiscal documents and register states."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _text(length: int) -> sa.String:
    text = sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")
    return text.with_variant(sa.NVARCHAR(2 * length + 1, collation="Latin1_General_100_BIN2"), "mssql")


_not_refused = "state <> 'refused'"
_fiscal_tag = "kind IN ('fiscal', 'untagged') AND state <> 'refused'"
_latest = "kind IN ('pay', 'doc')"
_unresolved = "state IN ('intended', 'unknown')"


def _where(condition: str) -> dict[str, Any]:
    return {f"{dialect}_where": sa.text(condition) for dialect in ("sqlite", "postgresql", "mssql")}


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "device",
        sa.Column("n", _number, primary_key=True, autoincrement=True),
        sa.Column("dev_id", _text(36), nullable=False, unique=True),
        sa.Column("name", _text(200), nullable=False, unique=True),
        sa.Column("kind", _text(16), nullable=False),
        sa.Column("driver", _text(64), nullable=False),
        sa.Column("settings", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "setting",
        sa.Column("name", _text(64), primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "operation",
        sa.Column("n", _number, primary_key=True, autoincrement=True),
        sa.Column("device_n", _number, nullable=False),
        sa.Column("kind", _text(8), nullable=False),
        sa.Column("task", sa.Integer, nullable=False),
        sa.Column("key", _text(200), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary, nullable=False),
        sa.Column("state", _text(8), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger, nullable=True),
        sa.Column("res", sa.Integer, nullable=False, server_default="0"),
        sa.Column("answer", sa.LargeBinary, nullable=True),
        sa.Column("request", sa.LargeBinary, nullable=True),
        sa.Column("token", sa.LargeBinary, nullable=True),
        sqlite_autoincrement=True,
    )
    op.create_index("operation_key", "operation", ["device_n", "kind", "key"])
    fiscal_tag = ["device_n", "kind", "key"]
    op.create_index("operation_fiscal_tag", "operation", fiscal_tag, unique=True, **_where(_fiscal_tag))
    op.create_index("operation_latest", "operation", ["device_n", "n"], **_where(_latest))
    op.create_index("operation_unresolved", "operation", ["device_n"], **_where(_unresolved))
    op.create_table(
        "document",
        sa.Column("n", _number, primary_key=True, autoincrement=True),
        sa.Column("operation_n", _number, sa.ForeignKey("operation.n"), nullable=False),
        sa.Column("device_n", _number, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("kind", _text(16), nullable=False),
        sa.Column("shift", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("sum", sa.BigInteger, nullable=False),
        sa.Column("state", _text(8), nullable=False),
        sa.Column("fiscal_number", _text(64), nullable=False, server_default=""),
        sa.Column("value", sa.LargeBinary, nullable=False),
        sa.Column("sent", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("document_operation", "document", ["operation_n"])
    op.create_index("document_fiscal_number", "document", ["fiscal_number"])
    op.create_index("document_at", "document", ["device_n", "at"])
    op.create_index("document_z", "document", ["device_n", "shift"], **_where("kind = 'z'"))
    op.create_index("document_number", "document", ["device_n", "number"], unique=True, **_where(_not_refused))
    op.create_table(
        "register",
        sa.Column("device_n", _number, primary_key=True, autoincrement=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "sold_code",
        sa.Column("device_n", _number, autoincrement=False),
        sa.Column("shift", sa.BigInteger, autoincrement=False),
        sa.Column("code", _text(255)),
        sa.Column("taxgrp", sa.Integer, nullable=False),
        # MS SQL keeps the rows themselves in the order of a key only when that is shorter.
        sa.PrimaryKeyConstraint("device_n", "shift", "code", mssql_clustered=False),
    )
    op.create_table(
        "claim",
        sa.Column("device_n", _number, primary_key=True, autoincrement=False),
        sa.Column("instance", _text(255), nullable=False),
        sa.Column("released", sa.Boolean, nullable=False),
        sa.Column("turn", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """There is nothing before the first revision; a backup is the way back."""
    raise RuntimeError("the first revision cannot be taken back")
