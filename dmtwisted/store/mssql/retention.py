"""The verbs of retention (`dmtwisted.store.interface`) in the SQL of Microsoft SQL Server."""

from __future__ import annotations

import time
from collections.abc import Iterable

from dmtwisted.store.mssql.sessions import Link
from dmtwisted.store.mssql.texts import BODY
from dmtwisted.store.queries import OTHERS
from dmtwisted.store.seals import appended, mark, removal
from dmtwisted.store.values import AgedPaper, AgedRow, Cut, State


def aged(link: Link, attempt: object, after: int, limit: int) -> list[AgedRow]:
    rows = link.ask(
        f"SELECT TOP {int(limit)} o.n, o.device_n, o.kind, o.state, o.at, o.ended_at, "
        "CASE WHEN o.kind <> 'pkg' AND EXISTS (SELECT 1 FROM operation p WHERE p.device_n = o.device_n "
        f"AND p.kind = 'pkg' AND p.[key] = o.[key] AND {OTHERS.where}) THEN 1 ELSE 0 END, "
        "CASE WHEN o.kind IN ('pay', 'doc') AND NOT EXISTS (SELECT 1 FROM operation l "
        "WHERE l.device_n = o.device_n AND l.n > o.n AND l.kind IN ('pay', 'doc')) THEN 1 ELSE 0 END "
        "FROM operation o WHERE o.n > %s ORDER BY o.n",
        (after,),
    )
    papers: dict[int, list[AgedPaper]] = {row[0]: [] for row in rows}
    if rows:
        for n, *paper in link.ask(
            "SELECT operation_n, kind, number, shift FROM document "
            f"WHERE operation_n IN ({_numbers(papers)}) ORDER BY n"
        ):
            papers[n].append(AgedPaper(*paper))
    return [
        AgedRow(n, device_n, kind, State(state), at, ended_at, bool(batch), bool(last), papers[n])
        for n, device_n, kind, state, at, ended_at, batch, last in rows
    ]


def cut(link: Link, attempt: object, step: Cut) -> float | None:
    begun = time.perf_counter()
    device_n = step.device_n
    link.begin()
    rows = link.ask(
        "SELECT hash, anchor, removed FROM chain WITH (UPDLOCK, HOLDLOCK) WHERE device_n = %s", (device_n,)
    )
    if not rows or rows[0][1] != step.anchor:
        link.commit()
        return None
    before, anchor, removed = rows[0]
    contents = [(n, removal(n)) for n in step.operations]
    if step.dropped:
        anew: list[tuple[int]] = []
        if step.renewed:
            anew = link.ask(
                f"SELECT operation_n FROM seal WHERE operation_n IN ({_numbers(step.renewed)}) AND n > %s",
                (step.dropped[-1],),
            )
        contents += [(n, content) for n, content in step.renewed.items() if (n,) not in anew]
        [(anchor,)] = link.ask("SELECT chain FROM seal WHERE n = %s", (step.dropped[-1],))
        removed += len(step.dropped)
        contents.append((0, mark(device_n, removed, anchor)))
        link.ask(f"DELETE FROM seal WHERE n IN ({_numbers(step.dropped)})")
    if step.operations:
        link.ask(f"DELETE FROM document WHERE operation_n IN ({_numbers(step.operations)})")
        link.ask(f"DELETE FROM operation WHERE n IN ({_numbers(step.operations)})")
    end = before
    for seal in appended(device_n, before, contents):
        end = seal[-1]
        link.ask(f"INSERT INTO seal (device_n, operation_n, content, chain) VALUES (%s, %s, {BODY}, {BODY})", seal)
    link.ask(
        f"UPDATE chain SET [count] = [count] + %s, hash = {BODY}, anchor = {BODY}, removed = %s WHERE device_n = %s",
        (len(contents), end, anchor, removed, device_n),
    )
    link.commit()
    return time.perf_counter() - begun


def _numbers(numbers: Iterable[int]) -> str:
    """Row numbers as a list in SQL."""
    return ", ".join(str(int(n)) for n in numbers)


def forget_codes(link: Link, attempt: object, device_n: int, shift: int) -> int:
    rows = link.ask("SELECT min(shift) FROM sold_code WHERE device_n = %s AND shift < %s", (device_n, shift))
    oldest = rows[0][0]
    if oldest is None:
        return 0
    gone = link.ask("SELECT count(*) FROM sold_code WHERE device_n = %s AND shift = %s", (device_n, oldest))
    link.ask("DELETE FROM sold_code WHERE device_n = %s AND shift = %s", (device_n, oldest))
    return int(gone[0][0])
