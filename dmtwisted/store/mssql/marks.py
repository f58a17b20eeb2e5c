"""The verbs of excise marks (`dmtwisted.store.interface`) in the SQL of Microsoft SQL Server, and steps of others."""

from __future__ import annotations

from dmtwisted.store.mssql.sessions import Link
from dmtwisted.store.mssql.texts import keep, kept
from dmtwisted.store.values import Intent, MarkMove, MarkRow, Marks, MarkStep, Outcome

ONCE = "mark_once"
"""The constraint that fails when two receipts reserve the same mark at the same moment."""

_COLUMNS = "mark, device_n, operation_n, number, fiscal_number, at, state"


def find_marks(link: Link, attempt: object, wanted: list[str]) -> list[MarkRow]:
    return [row for mark in wanted for row in _rows(link, "mark = %s ORDER BY place", (keep(mark),))]


def _rows(link: Link, where: str, values: tuple[object, ...]) -> list[MarkRow]:
    rows = link.ask(f"SELECT {_COLUMNS} FROM mark WHERE {where}", values)
    return [
        MarkRow(kept(mark), device_n, operation_n, number, kept(fiscal_number), at, state)
        for mark, device_n, operation_n, number, fiscal_number, at, state in rows
    ]


def taken(link: Link, asked: Marks) -> MarkRow | None:
    """The first of the marks that another receipt holds."""
    which = " AND place = 0" if asked.shared else ""
    for mark in asked.marks:
        found = _rows(link, f"mark = %s AND operation_n <> %s{which} ORDER BY place", (keep(mark), asked.heir_of))
        if found:
            return found[0]
    return None


def hold(link: Link, n: int, intent: Intent) -> None:
    """Reserve the marks of a new operation.

    :raises Duplicate: when another receipt reserved one at this moment.
    """
    assert intent.marks is not None
    number, at = intent.documents[0].number, intent.documents[0].at
    if intent.marks.heir_of:
        link.ask(
            "UPDATE mark SET operation_n = %s, number = %s, at = %s WHERE operation_n = %s",
            (n, number, at, intent.marks.heir_of),
        )
    # In one order: two receipts with the same marks would else wait for each other.
    for mark in sorted(intent.marks.marks):
        if not link.ask("SELECT 1 FROM mark WHERE mark = %s AND operation_n = %s", (keep(mark), n)):
            row = MarkRow(mark, intent.device_n, n, number, "", at, "reserved")
            _insert(link, row, n if intent.marks.shared else 0)


def _insert(link: Link, row: MarkRow, place: int) -> None:
    values = (keep(row.mark), row.device_n, row.operation_n, row.number, keep(row.fiscal_number), row.at, row.state)
    link.ask(f"INSERT INTO mark ({_COLUMNS}, place) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", (*values, place))


def move(link: Link, outcome: Outcome, step: MarkMove, again: bool) -> None:
    """The step with marks that belongs to an outcome.

    :param again: whether the outcome is stored already, by a first try whose answer was lost.
    """
    if step.step is MarkStep.SPEND:
        fiscal_number = next(iter(outcome.fiscal_numbers.values()), "")
        link.ask(
            "UPDATE mark SET state = 'sold', fiscal_number = %s WHERE operation_n = %s",
            (keep(fiscal_number), outcome.n),
        )
        place = outcome.n if step.shared else 0
        for mark in () if link.changed else step.marks:
            if not link.ask("SELECT 1 FROM mark WHERE mark = %s AND place = %s", (keep(mark), place)):
                row = MarkRow(mark, outcome.device_n, outcome.n, step.number, fiscal_number, step.at, "sold")
                _insert(link, row, place)
    elif step.step is MarkStep.RELEASE:
        link.ask("DELETE FROM mark WHERE operation_n = %s", (outcome.n,))
    elif not again:
        for mark in step.marks:
            if step.step is MarkStep.FREE:
                where: tuple[str, tuple[object, ...]] = (
                    "place = (SELECT min(place) FROM mark WHERE mark = %s AND state = 'sold')",
                    (keep(mark),),
                )
            else:
                where = "device_n = %s AND number = %s", (outcome.device_n, step.number)
            link.ask(f"DELETE FROM mark WHERE mark = %s AND state = 'sold' AND {where[0]}", (keep(mark), *where[1]))


def forget_marks(link: Link, attempt: object, before: int, limit: int) -> int:
    rows = link.ask(
        f"SELECT TOP {int(limit)} mark, place FROM mark WHERE at < %s AND state = 'sold' ORDER BY at", (before,)
    )
    for key in rows:
        link.ask("DELETE FROM mark WHERE mark = %s AND place = %s", key)
    return len(rows)
