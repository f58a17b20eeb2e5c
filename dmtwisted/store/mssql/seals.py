"""The chain of seals (`dmtwisted.store.seals`) in Microsoft SQL Server; the hashes are calculated here.

The row of the device in `chain` is locked while its chain grows, so that the seals are in the order of their numbers;
other devices do not wait for it.
"""

from __future__ import annotations

from typing import Any

from dmtwisted.store.mssql.sessions import Link
from dmtwisted.store.mssql.texts import BODY, kept
from dmtwisted.store.seals import DOCUMENT_COLUMNS, GENESIS, OPERATION_COLUMNS, content_hash, link
from dmtwisted.store.values import ChainRow, ConcludedRow, SealRow, State


def _columns(names: tuple[str, ...]) -> str:
    return ", ".join(f"[{name}]" for name in names)


_OPERATION = f"SELECT {_columns(OPERATION_COLUMNS)} FROM operation WHERE n = %s"
_DOCUMENTS = f"SELECT {_columns(DOCUMENT_COLUMNS)} FROM document WHERE operation_n = %s ORDER BY n"
_STATE = OPERATION_COLUMNS.index("state")


def seal(database: Link, n: int, event: int) -> None:
    """Seal the operation ``n`` as it is now, if it has an outcome; within the transaction that changed it.

    :param event: which outcome the seal tells (`dmtwisted.store.events`).
    """
    row = _read(database, n)
    if row is None or row[_STATE] == State.INTENDED:
        return
    device_n = row[1]
    content = content_hash(row, _documents(database, n))
    before = database.ask("SELECT hash FROM chain WITH (UPDLOCK, HOLDLOCK) WHERE device_n = %s", (device_n,))
    end = link(before[0][0] if before else GENESIS, device_n, n, content)
    if before:
        database.ask(f"UPDATE chain SET [count] = [count] + 1, hash = {BODY} WHERE device_n = %s", (end, device_n))
    else:
        # Two sessions may make the first seal of a device at once: one of them tries again, after the other's seal.
        database.make(
            f"INSERT INTO chain ([count], hash, device_n, anchor, removed) VALUES (1, {BODY}, %s, {BODY}, 0)",
            (end, device_n, GENESIS),
        )
    database.ask(
        f"INSERT INTO seal (device_n, operation_n, content, chain, event) VALUES (%s, %s, {BODY}, {BODY}, %s)",
        (device_n, n, content, end, event),
    )


def _read(database: Link, n: int) -> tuple[Any, ...] | None:
    rows = database.ask(_OPERATION, (n,))
    return _plain(rows[0]) if rows else None


def _documents(database: Link, n: int) -> list[tuple[Any, ...]]:
    return [_plain(row) for row in database.ask(_DOCUMENTS, (n,))]


def _plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row as it was before it was stored: the hash is the same in every database."""
    return tuple(kept(value) if isinstance(value, str) else value for value in row)


def chains(database: Link, attempt: object) -> list[ChainRow]:
    rows = database.ask("SELECT device_n, [count], hash, anchor, removed FROM chain ORDER BY device_n")
    return [ChainRow(*row) for row in rows]


def seals(database: Link, attempt: object, after: int, limit: int) -> list[SealRow]:
    rows = database.ask(
        f"SELECT TOP {int(limit)} n, device_n, operation_n, content, chain FROM seal WHERE n > %s ORDER BY n",
        (after,),
    )
    if not rows:
        return []
    actual = {n: _actual(database, n) for n in sorted({row[2] for row in rows})}
    # Read last: what has changed since we read it has a newer seal by now.
    numbers = ", ".join(str(int(n)) for n in actual)
    newest: dict[int, int] = dict(
        database.ask(f"SELECT operation_n, MAX(n) FROM seal WHERE operation_n IN ({numbers}) GROUP BY operation_n")
    )
    return [
        SealRow(n, device_n, operation_n, content, chain, actual[operation_n], newest.get(operation_n) == n)
        for n, device_n, operation_n, content, chain in rows
    ]


def _actual(database: Link, n: int) -> bytes | None:
    row = _read(database, n)
    if row is None:
        return None
    try:
        return content_hash(row, _documents(database, n))
    except ValueError:
        # Values that our rows never hold.
        return b""


def concluded(database: Link, attempt: object, after: int, limit: int) -> list[ConcludedRow]:
    rows = database.ask(
        f"SELECT TOP {int(limit)} n, device_n, CASE WHEN EXISTS "
        "(SELECT 1 FROM seal WHERE seal.operation_n = operation.n AND seal.n > 0) THEN 1 ELSE 0 END "
        "FROM operation WHERE n > %s AND state <> 'intended' ORDER BY n",
        (after,),
    )
    return [ConcludedRow(n, device_n, bool(sealed)) for n, device_n, sealed in rows]
