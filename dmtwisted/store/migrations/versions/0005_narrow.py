"""Indexes in which a sale writes less: none holds what another one has, or what its outcome changes."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_KEY = ["device_n", "kind", "key"]


def _where(condition: str) -> dict[str, Any]:
    return {f"{dialect}_where": sa.text(condition) for dialect in ("sqlite", "postgresql", "mssql")}


def _on_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def upgrade() -> None:
    """Make them anew, in the space of the old ones."""
    op.drop_index("operation_key", "operation")
    op.drop_index("document_fiscal_number", "document")
    if _on_sqlite():
        op.drop_index("operation_list", "operation")
        op.create_index("operation_list", "operation", ["device_n", "kind", "n", "at"])
    op.create_index("operation_key", "operation", _KEY, **_where("kind <> 'fiscal' AND kind <> 'untagged'"))
    op.create_index("operation_refused", "operation", [*_KEY, "n", "state", "at"], **_where("state = 'refused'"))
    op.create_index("document_fiscal_number", "document", ["fiscal_number"], **_where("fiscal_number <> ''"))


def downgrade() -> None:
    """Bring the wide ones back."""
    for name in ("operation_key", "operation_refused"):
        op.drop_index(name, "operation")
    op.drop_index("document_fiscal_number", "document")
    if _on_sqlite():
        op.drop_index("operation_list", "operation")
        op.create_index("operation_list", "operation", ["device_n", "kind", "n", "state", "at"])
    op.create_index("operation_key", "operation", _KEY)
    op.create_index("document_fiscal_number", "document", ["fiscal_number"])
