"""Indexes from which lists are counted and paged without reading the rows of years."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_DONE = sa.text("state = 'done'")


def upgrade() -> None:
    """Put them in the place of the one that was too narrow."""
    op.drop_index("document_at", "document")
    op.create_index(
        "document_done",
        "document",
        ["at", "n", "device_n", "kind", "state"],
        sqlite_where=_DONE,
        postgresql_where=_DONE,
        mssql_where=_DONE,
    )
    op.create_index("operation_list", "operation", ["device_n", "kind", "n", "state", "at"])


def downgrade() -> None:
    """Bring the narrow one back."""
    op.drop_index("operation_list", "operation")
    op.drop_index("document_done", "document")
    op.create_index("document_at", "document", ["device_n", "at"])
