"""${message}."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "${up_revision}"
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Say what changes."""
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    """A backup is the way back."""
    raise RuntimeError("revisions are not taken back")
