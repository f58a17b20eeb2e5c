"""How far subscribers have got the events of each device."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _text(length: int) -> sa.String:
    text = sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")
    return text.with_variant(sa.NVARCHAR(2 * length + 1, collation="Latin1_General_100_BIN2"), "mssql")


def upgrade() -> None:
    """Make the table, empty."""
    op.create_table(
        "hook_cursor",
        sa.Column("subscriber", _text(36)),
        sa.Column("device_n", _number, autoincrement=False),
        sa.Column("told", sa.BigInteger, nullable=False),
        sa.Column("told_at", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.Column("due", sa.BigInteger, nullable=False),
        sa.Column("why", _text(400), nullable=False),
        sa.PrimaryKeyConstraint("subscriber", "device_n"),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("hook_cursor")
