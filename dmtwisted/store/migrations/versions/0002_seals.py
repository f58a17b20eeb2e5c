"""A chain of seals over the journal; what is in the journal already is sealed as it is."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from dmtwisted.store.seals import DOCUMENT_COLUMNS, GENESIS, OPERATION_COLUMNS, content_hash, link

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

PAGE = 500
"""Operations in memory at a time; a journal may be much larger than that."""

_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables and seal every operation that has an outcome, in the order of the journal."""
    seal = op.create_table(
        "seal",
        sa.Column("n", _number, primary_key=True, autoincrement=True),
        sa.Column("device_n", _number, nullable=False),
        sa.Column("operation_n", _number, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("chain", sa.LargeBinary, nullable=False),
        sqlite_autoincrement=True,
    )
    chain = op.create_table(
        "chain",
        sa.Column("device_n", _number, primary_key=True, autoincrement=False),
        sa.Column("count", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("anchor", sa.LargeBinary, nullable=False),
        sa.Column("removed", sa.BigInteger, nullable=False),
    )
    assert seal is not None and chain is not None
    ends: dict[int, tuple[int, bytes]] = {}
    database, after = op.get_bind(), 0
    while page := _page(database, after):
        seals = []
        for row, documents in page:
            after, device_n = row[0], row[1]
            count, before = ends.get(device_n, (0, GENESIS))
            content = content_hash(row, documents)
            link_ = link(before, device_n, after, content)
            ends[device_n] = count + 1, link_
            seals.append({"device_n": device_n, "operation_n": after, "content": content, "chain": link_})
        database.execute(seal.insert(), seals)
    if ends:
        database.execute(
            chain.insert(),
            [
                {"device_n": device_n, "count": count, "hash": end, "anchor": GENESIS, "removed": 0}
                for device_n, (count, end) in ends.items()
            ],
        )
    op.create_index("seal_operation", "seal", ["operation_n"])


def _page(database: sa.Connection, after: int) -> list[tuple[tuple[Any, ...], list[tuple[Any, ...]]]]:
    """The next operations that have an outcome, with their documents."""
    operation = sa.table("operation", *map(sa.column, OPERATION_COLUMNS))
    document = sa.table("document", *map(sa.column, (*DOCUMENT_COLUMNS, "operation_n")))
    rows = database.execute(
        sa.select(operation)
        .where(operation.c.n > after, operation.c.state != "intended")
        .order_by(operation.c.n)
        .limit(PAGE)
    ).all()
    papers: dict[int, list[tuple[Any, ...]]] = {row.n: [] for row in rows}
    if rows:
        found = database.execute(
            sa.select(document).where(document.c.operation_n.in_(list(papers))).order_by(document.c.n)
        )
        for paper in found.all():
            papers[paper.operation_n].append(_plain(paper[:-1]))
    return [(_plain(row), papers[row.n]) for row in rows]


def _plain(row: Any) -> tuple[Any, ...]:
    """Some drivers give bodies as views of their own memory."""
    return tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)


def downgrade() -> None:
    """Leave the journal without seals."""
    op.drop_table("chain")
    op.drop_table("seal")
