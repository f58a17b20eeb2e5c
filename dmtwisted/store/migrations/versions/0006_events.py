"""Which outcome each seal is of: events are handed out from there. What was sealed before is no event."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; no row is written for it, but by editions of MS SQL that keep the default in each."""
    op.add_column("seal", sa.Column("event", sa.Integer, nullable=False, server_default="0"))


def downgrade() -> None:
    """Forget which seals were events."""
    op.drop_column("seal", "event", mssql_drop_default=True)
