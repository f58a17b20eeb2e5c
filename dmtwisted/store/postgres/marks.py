"""The verbs of excise marks (`dmtwisted.store.interface`) in the SQL of PostgreSQL, and their parts in others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dmtwisted.store.postgres.sessions import Session
from dmtwisted.store.values import MarkMove, MarkRow, Marks, MarkStep, Outcome

ONCE = "mark_once"
"""The constraint that fails when two receipts reserve the same mark at the same moment."""

_MARK = "SELECT mark, device_n, operation_n, number, fiscal_number, at, state FROM mark WHERE mark = ANY(%s)"
_TAKEN = "operation_n <> %s AND (place = 0 OR NOT %s)"

UNLESS_TAKEN = f"NOT EXISTS (SELECT 1 FROM mark WHERE mark = ANY(%s) AND {_TAKEN})"
"""A condition over the values of `taken_values`."""


async def find_marks(session: Session, attempt: object, wanted: list[str]) -> list[MarkRow]:
    rows = await session.ask(f"{_MARK} ORDER BY array_position(%s, mark::text), place", (wanted, wanted))
    return [MarkRow(*row) for row in rows]


def taken_values(asked: Marks) -> tuple[Any, ...]:
    """What `UNLESS_TAKEN` compares."""
    return asked.marks, asked.heir_of, asked.shared


async def taken(session: Session, asked: Marks) -> MarkRow | None:
    """The first of the marks that another receipt holds."""
    rows = await session.ask(
        f"{_MARK} AND {_TAKEN} ORDER BY array_position(%s, mark::text), place LIMIT 1",
        (*taken_values(asked), asked.marks),
    )
    return MarkRow(*rows[0]) if rows else None


def held(asked: Marks, device_n: int, number: int, at: int) -> tuple[str, Sequence[Any]]:
    """Parts of a statement, and their values, that reserve the marks for the operation of ``added``."""
    parts = (
        ", held AS (INSERT INTO mark (mark, place, device_n, operation_n, number, fiscal_number, at, state) "
        f"SELECT m, {'added.n' if asked.shared else '0'}, %s, added.n, %s, '', %s, 'reserved' "
        "FROM added, unnest(%s) AS m"
    )
    # In one order: two receipts with the same marks would else wait for each other.
    values = [device_n, number, at, sorted(asked.marks)]
    if not asked.heir_of:
        return f"{parts})", values
    return (
        f"{parts} WHERE NOT EXISTS (SELECT 1 FROM mark h WHERE h.mark = m AND h.operation_n = %s)), "
        "inherited AS (UPDATE mark SET operation_n = added.n, number = %s, at = %s FROM added "
        "WHERE mark.operation_n = %s)",
        [*values, asked.heir_of, number, at, asked.heir_of],
    )


def moved(outcome: Outcome, step: MarkMove) -> tuple[str, Sequence[Any]]:
    """A part of a statement, and its values, that does the step for the operation of ``op``.

    ``was`` is the operation before: what came back with it comes back once, however often the statement is tried.
    """
    if step.step is MarkStep.SPEND:
        fiscal_number = next(iter(outcome.fiscal_numbers.values()), "")
        what = "UPDATE mark SET state = 'sold', fiscal_number = %s FROM op WHERE mark.operation_n = op.n"
        if not step.marks:
            return f"marked AS ({what})", [fiscal_number]
        return (
            f"marked AS ({what}), found AS (INSERT INTO mark "
            "(mark, place, device_n, operation_n, number, fiscal_number, at, state) "
            f"SELECT m, {'op.n' if step.shared else '0'}, op.device_n, op.n, %s, %s, %s, 'sold' "
            "FROM op, unnest(%s) AS m WHERE NOT EXISTS (SELECT 1 FROM mark WHERE operation_n = op.n) "
            "ON CONFLICT DO NOTHING)",
            [fiscal_number, step.number, fiscal_number, step.at, step.marks],
        )
    if step.step is MarkStep.RELEASE:
        return "marked AS (DELETE FROM mark USING op WHERE mark.operation_n = op.n)", []
    sold = "DELETE FROM mark USING op, was WHERE was.state <> 'done' AND mark.mark = ANY(%s) AND mark.state = 'sold'"
    if step.step is MarkStep.FREE:
        return (
            f"marked AS ({sold} AND mark.place = (SELECT min(s.place) FROM mark s "
            "WHERE s.mark = mark.mark AND s.state = 'sold'))",
            [step.marks],
        )
    return f"marked AS ({sold} AND mark.device_n = op.device_n AND mark.number = %s)", [step.marks, step.number]


async def forget_marks(session: Session, attempt: object, before: int, limit: int) -> int:
    [(forgotten,)] = await session.ask(
        "WITH old AS (SELECT mark, place FROM mark WHERE at < %s AND state = 'sold' ORDER BY at LIMIT %s), "
        "gone AS (DELETE FROM mark USING old WHERE mark.mark = old.mark AND mark.place = old.place RETURNING 1) "
        "SELECT count(*) FROM gone",
        (before, limit),
    )
    return int(forgotten)
