"""The verbs of retention (`dmtwisted.store.interface`) in the SQL of PostgreSQL."""

from __future__ import annotations

import time
from typing import Any

from dmtwisted.store.postgres.sessions import Session
from dmtwisted.store.seals import appended, mark, removal
from dmtwisted.store.values import AgedPaper, AgedRow, Cut, State, StoreFailed

TRIES = 20
"""How often another session may add to a chain between our two statements."""


async def aged(session: Session, attempt: object, after: int, limit: int) -> list[AgedRow]:
    rows = await session.ask(
        "SELECT o.n, o.device_n, o.kind, o.state, o.at, o.ended_at, o.kind <> 'pkg' AND EXISTS (SELECT 1 "
        "FROM operation p WHERE p.device_n = o.device_n AND p.kind = 'pkg' AND p.key = o.key), "
        "o.kind IN ('pay', 'doc') AND NOT EXISTS (SELECT 1 FROM operation l "
        "WHERE l.device_n = o.device_n AND l.n > o.n AND l.kind IN ('pay', 'doc')), d.kind, d.number, d.shift "
        "FROM (SELECT * FROM operation WHERE n > %s ORDER BY n LIMIT %s) o "
        "LEFT JOIN document d ON d.operation_n = o.n ORDER BY o.n, d.n",
        (after, limit),
    )
    found: dict[int, AgedRow] = {}
    for n, device_n, kind, state, at, ended_at, batch, last, *paper in rows:
        row = found.setdefault(n, AgedRow(n, device_n, kind, State(state), at, ended_at, batch, last, []))
        if paper[0] is not None:
            row.documents.append(AgedPaper(*paper))
    return list(found.values())


async def cut(session: Session, attempt: object, step: Cut) -> float | None:
    last = step.dropped[-1] if step.dropped else 0
    for _ in range(TRIES):
        rows = await session.ask(
            "SELECT hash, anchor, removed, (SELECT chain FROM seal WHERE n = %s), "
            "ARRAY(SELECT operation_n FROM seal WHERE operation_n = ANY(%s::bigint[]) AND n > %s) "
            "FROM chain WHERE device_n = %s",
            (last, list(step.renewed), last, step.device_n),
        )
        if not rows or rows[0][1] != step.anchor:
            return None
        before, anchor, removed, dropped, anew = rows[0]
        contents = [(n, removal(n)) for n in step.operations]
        contents += [(n, content) for n, content in step.renewed.items() if n not in anew]
        if step.dropped:
            anchor, removed = dropped, removed + len(step.dropped)
            contents.append((0, mark(step.device_n, removed, anchor)))
        seals = appended(step.device_n, before, contents)
        if not seals:
            return 0.0
        begun = time.perf_counter()
        if await _cut(session, step, before, seals, anchor, removed):
            return time.perf_counter() - begun
        # A sale came in between: the chain continues from there.
    raise StoreFailed("the chain of seals grows too fast")


async def _cut(
    session: Session,
    step: Cut,
    before: bytes,
    seals: list[tuple[int, int, bytes, bytes]],
    anchor: bytes,
    removed: int,
) -> bool:
    """Whether the chain still ended ``before``, and all of it was done."""
    rows = ", ".join(["(%s, %s, %s, %s, %s)"] * len(seals))
    values: list[Any] = [
        *(len(seals), seals[-1][-1], anchor, removed, step.device_n, before),
        *(value for index, seal in enumerate(seals) for value in (index, *seal)),
        *(step.dropped, step.operations, step.operations),
    ]
    [(done,)] = await session.ask(
        "WITH head AS (UPDATE chain SET count = count + %s, hash = %s, anchor = %s, removed = %s "
        "WHERE device_n = %s AND hash = %s RETURNING 1), "
        "added AS (INSERT INTO seal (device_n, operation_n, content, chain) "
        f"SELECT v.device_n, v.operation_n, v.content, v.chain FROM head, (VALUES {rows}) "
        "AS v (i, device_n, operation_n, content, chain) ORDER BY v.i), "
        "seals AS (DELETE FROM seal WHERE n = ANY(%s::bigint[]) AND EXISTS (SELECT 1 FROM head)), "
        "papers AS (DELETE FROM document WHERE operation_n = ANY(%s::bigint[]) AND EXISTS (SELECT 1 FROM head)), "
        "gone AS (DELETE FROM operation WHERE n = ANY(%s::bigint[]) AND EXISTS (SELECT 1 FROM head)) "
        "SELECT EXISTS (SELECT 1 FROM head)",
        values,
    )
    return bool(done)


async def forget_codes(session: Session, attempt: object, device_n: int, shift: int) -> int:
    [(forgotten,)] = await session.ask(
        "WITH gone AS (DELETE FROM sold_code WHERE device_n = %s AND shift = "
        "(SELECT min(shift) FROM sold_code WHERE device_n = %s AND shift < %s) RETURNING 1) "
        "SELECT count(*) FROM gone",
        (device_n, device_n, shift),
    )
    return int(forgotten)
