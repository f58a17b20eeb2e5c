"""Excise marks that receipts hold, and the outbox of what is told outwards later."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _text(length: int) -> sa.String:
    text = sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")
    return text.with_variant(sa.NVARCHAR(2 * length + 1, collation="Latin1_General_100_BIN2"), "mssql")


def upgrade() -> None:
    """Make both tables, empty."""
    op.create_table(
        "mark",
        sa.Column("mark", _text(64)),
        sa.Column("place", sa.BigInteger, autoincrement=False),
        sa.Column("device_n", _number, nullable=False),
        sa.Column("operation_n", _number, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("fiscal_number", _text(64), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("state", _text(8), nullable=False),
        sa.PrimaryKeyConstraint("mark", "place", name="mark_once"),
    )
    op.create_index("mark_operation", "mark", ["operation_n"])
    op.create_index("mark_at", "mark", ["at"])
    op.create_table(
        "outbox",
        sa.Column("n", _number, primary_key=True, autoincrement=True),
        sa.Column("kind", _text(16), nullable=False),
        sa.Column("device_n", _number, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("state", _text(8), nullable=False),
        sa.Column("why", _text(400), nullable=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("outbox_due", "outbox", ["state", "due"])


def downgrade() -> None:
    """Remove both."""
    op.drop_table("outbox")
    op.drop_table("mark")
