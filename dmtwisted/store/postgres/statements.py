"""Each verb of the store (`dmtwisted.store.interface`) in the SQL of PostgreSQL.

A verb that writes is one statement, and so one round trip and one transaction: its parts are written as one ``WITH``.
A lost session cannot leave a transaction open.

The same statement checks which service writes for a device: the row of `claim` names it, and stays locked against a
takeover until the statement has ended. So a service that was cut off, or a delayed statement of it, changes nothing
once another service has taken the device over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple, replace

from dmtwisted.store.claims import ClaimedElsewhere
from dmtwisted.store.postgres import marks, outbox
from dmtwisted.store.postgres.seals import SEALED, SEALED_WITH_PAPERS
from dmtwisted.store.postgres.sessions import Session
from dmtwisted.store.queries import (
    OPERATION,
    PAPER,
    documents_wanted,
    operations_wanted,
    read_operation,
    read_operations,
)
from dmtwisted.store.sessions import Attempt, Lost, Rows
from dmtwisted.store.values import (
    CHANGE,
    Change,
    DeviceRow,
    DocumentQuery,
    FoundDocument,
    FoundDocuments,
    FoundOperations,
    Intent,
    NameTaken,
    OperationQuery,
    OperationRow,
    Outcome,
    Reserved,
    State,
    StoreFailed,
)

TRIES = 10
"""How often a tag may be used and refused again between our statements before the verb fails."""

_OPERATION = OPERATION.format(empty="''::bytea")

_WHOLE = (
    f"WITH o AS MATERIALIZED (SELECT * FROM operation WHERE {{where}}) SELECT {_OPERATION}, {PAPER} "
    "FROM (SELECT * FROM o {limit}) o LEFT JOIN document d ON d.operation_n = o.n ORDER BY o.n, d.n"
)
"""Operations with their documents at one moment."""


async def devices(session: Session, attempt: Attempt) -> list[DeviceRow]:
    rows = await session.ask("SELECT n, dev_id, name, kind, driver, settings FROM device ORDER BY n")
    return [DeviceRow(*row) for row in rows]


async def add_device(
    session: Session,
    attempt: Attempt,
    dev_id: str,
    name: str,
    kind: str,
    driver: str,
    settings: bytes,
    change: Change | None = None,
) -> DeviceRow:
    rows = await _changed(
        session,
        attempt,
        change,
        None,
        "INSERT INTO device (dev_id, name, kind, driver, settings) VALUES (%s, %s, %s, %s, %s) "
        "ON CONFLICT DO NOTHING RETURNING n",
        (dev_id, name, kind, driver, settings),
    )
    if not rows and attempt.again:
        # Did the first try, whose answer was lost, store it? Its id is unique.
        rows = await session.ask("SELECT n FROM device WHERE dev_id = %s AND name = %s", (dev_id, name))
    if not rows:
        raise NameTaken(name)
    return DeviceRow(rows[0][0], dev_id, name, kind, driver, settings)


async def change_device(
    session: Session, attempt: Attempt, n: int, name: str, settings: bytes, change: Change | None = None
) -> None:
    for _ in range(TRIES):
        changed = await _changed(
            session,
            attempt,
            change,
            n,
            "UPDATE device SET name = %s, settings = %s WHERE n = %s AND NOT EXISTS "
            "(SELECT 1 FROM device taken WHERE taken.name = %s AND taken.n <> %s) RETURNING n",
            (name, settings, n, name, n),
        )
        if changed:
            return
        known = await session.ask("SELECT n FROM device WHERE n = %s OR name = %s", (n, name))
        if any(other != n for (other,) in known):
            raise NameTaken(name)
        if not known:
            return
        # The name became free between our two statements.
    raise StoreFailed("the names of the devices change too fast")


async def remove_device(session: Session, attempt: Attempt, n: int, change: Change | None = None) -> None:
    await _changed(session, attempt, change, n, "DELETE FROM device WHERE n = %s RETURNING n", (n,))


async def settings(session: Session, attempt: Attempt) -> dict[str, bytes]:
    return dict(await session.ask("SELECT name, value FROM setting"))


async def change_settings(
    session: Session, attempt: Attempt, changes: dict[str, bytes], change: Change | None = None
) -> None:
    if changes:
        # Always in the same order, so that two changes of the same settings never wait for each other.
        ordered = sorted(changes.items())
        await _changed(
            session,
            attempt,
            change,
            0,
            f"INSERT INTO setting (name, value) VALUES {_rows(ordered, 2)} "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING 0 AS n",
            _flat(ordered),
        )


async def record(session: Session, attempt: Attempt, change: Change) -> int:
    where = change.device_n
    [(n,)] = await _changed(session, attempt, change, where, "SELECT %s::bigint AS n", (where,), "op")
    return int(n)


async def _changed(
    session: Session,
    attempt: Attempt,
    change: Change | None,
    device_n: int | None,
    statement: str,
    values: Sequence[Any],
    wanted: str = "what",
) -> Rows:
    """The rows of a statement that returns the number ``n`` of a device, or 0; ``change`` is kept with it.

    :param device_n: that number, if it is known before.
    :param wanted: ``op`` for the number of the record instead.
    """
    if change is None:
        return await session.ask(statement, values)
    if attempt.again and device_n is not None:
        # Did the first try, whose answer was lost, store it?
        rows = await session.ask(
            f"SELECT {'n' if wanted == 'op' else 'device_n'} FROM operation "
            f"WHERE device_n = %s AND kind = '{CHANGE}' AND key = %s AND token = %s",
            (device_n, change.subject, attempt.token),
        )
        if rows:
            return rows
    return await session.ask(
        f"WITH what AS ({statement}), op AS (INSERT INTO operation "
        "(device_n, kind, task, key, fingerprint, state, at, ended_at, request, token) "
        f"SELECT max(n), '{CHANGE}', 0, %s, ''::bytea, 'done', %s, %s, %s, %s FROM what HAVING count(*) > 0 "
        f"RETURNING *), {SEALED} SELECT DISTINCT n FROM {wanted}",
        (*values, change.subject, change.at, change.at, change.request, attempt.token),
    )


# The journal

CHANGED_TOO_FAST = "the operations of the tag change too fast"

_MINE = "WITH mine AS MATERIALIZED (SELECT instance, device_n FROM claim WHERE device_n = %s FOR SHARE), "
_MINE_BY_OPERATION = (
    "WITH mine AS MATERIALIZED (SELECT c.instance, c.device_n FROM operation o JOIN claim c USING (device_n) "
    "WHERE o.n = %s FOR SHARE OF c), "
)
_UNLESS_ELSEWHERE = "NOT EXISTS (SELECT 1 FROM mine WHERE instance <> %s)"


async def reserve(session: Session, attempt: Attempt, intent: Intent) -> Reserved:
    for _ in range(TRIES):
        if attempt.again:
            # Did the first try, whose answer was lost, store it?
            rows = await session.ask(
                "SELECT n FROM operation WHERE device_n = %s AND kind = %s AND key = %s AND token = %s "
                "AND state = 'intended' AND NOT EXISTS (SELECT 1 FROM claim WHERE device_n = %s AND instance <> %s)",
                (intent.device_n, intent.kind, intent.key, attempt.token, intent.device_n, attempt.instance),
            )
            if rows:
                return Reserved(rows[0][0], None)
        try:
            reserved = await _reserve(session, attempt, intent)
        except StoreFailed as error:
            if not _mark_taken(intent, error):
                raise
        else:
            if reserved is not None:
                return reserved
    raise StoreFailed(CHANGED_TOO_FAST)


async def _reserve(session: Session, attempt: Attempt, intent: Intent) -> Reserved | None:
    """One try; `None` when the operation that had the key was refused meanwhile."""
    n, owner = await _insert(session, attempt, intent)
    if n is not None:
        return Reserved(n, None)
    if owner is not None and owner != attempt.instance:
        raise ClaimedElsewhere(intent.device_n, owner)
    known = await _operations(
        session,
        "device_n = %s AND kind = %s AND key = %s AND state <> 'refused'",
        (intent.device_n, intent.kind, intent.key),
    )
    if known:
        return Reserved(known[0].n, known[0])
    taken = None if intent.marks is None else await marks.taken(session, intent.marks)
    return None if taken is None else Reserved(0, None, taken)


def _mark_taken(intent: Intent, error: StoreFailed) -> bool:
    """Whether another receipt reserved one of its marks at this moment: the next try says which."""
    return intent.marks is not None and marks.ONCE in str(error)


async def _insert(session: Session, attempt: Attempt, intent: Intent) -> tuple[int | None, str | None]:
    """The number of the new operation, if there is one, and the service that has claimed its device, if any."""
    *columns, documents, request, asked = astuple(intent)
    values: list[Any] = [intent.device_n, *columns, request or None, attempt.token, attempt.instance]
    papers = unless_taken = ""
    if asked is not None:
        unless_taken = f" AND {marks.UNLESS_TAKEN}"
        values += marks.taken_values(asked)
    if documents:
        kept = [(index, *astuple(paper)) for index, paper in enumerate(documents)]
        values += [intent.device_n, *_flat(kept)]
        papers = (
            ", papers AS (INSERT INTO document "
            "(operation_n, device_n, number, kind, shift, at, sum, state, value, sent) "
            "SELECT added.n, %s, p.number, p.kind, p.shift, p.at, p.sum, 'intended', p.value, p.sent FROM added, "
            f"(VALUES {_rows(kept, 8)}) AS p (i, number, kind, shift, at, sum, value, sent) ORDER BY p.i)"
        )
    if asked is not None:
        held, more = marks.held(asked, intent.device_n, intent.documents[0].number, intent.documents[0].at)
        papers += held
        values += more
    [(n, owner)] = await session.ask(
        f"{_MINE} added AS (INSERT INTO operation "
        "(device_n, kind, task, key, fingerprint, at, state, request, token) "
        f"SELECT %s, %s, %s, %s, %s, %s, 'intended', %s::bytea, %s WHERE {_UNLESS_ELSEWHERE}{unless_taken} "
        f"ON CONFLICT DO NOTHING RETURNING n){papers} "
        "SELECT (SELECT n FROM added), (SELECT instance FROM mine)",
        values,
    )
    return n, owner


async def conclude(session: Session, attempt: Attempt, outcome: Outcome) -> None:
    parts = [
        f"{_MINE} op AS (UPDATE operation SET state = %s, ended_at = %s, res = %s, answer = %s::bytea, "
        f"request = coalesce(%s::bytea, request) WHERE n = %s AND {_UNLESS_ELSEWHERE} RETURNING *)"
    ]
    values: list[Any] = [
        outcome.device_n,
        outcome.state.value,
        outcome.at,
        outcome.res,
        outcome.answer or None,
        outcome.request or None,
        outcome.n,
        attempt.instance,
    ]
    numbers = outcome.fiscal_numbers
    seal = SEALED
    if numbers or outcome.state is not State.DONE:
        accepted = f"d.number IN ({_places(numbers)})" if numbers else "false"
        named = (
            f"CASE d.number {'WHEN %s THEN %s ' * len(numbers)}ELSE fiscal_number END" if numbers else "fiscal_number"
        )
        # An accepted document stays accepted, whatever the outcome of the later ones.
        others = "false" if outcome.state is State.DONE else "d.state <> 'done'"
        parts.append(
            f"papers AS (UPDATE document d SET state = CASE WHEN {accepted} THEN 'done' ELSE %s END, "
            f"fiscal_number = {named} FROM op WHERE d.operation_n = op.n AND ({accepted} OR {others}) "
            "RETURNING d.*)"
        )
        seal = SEALED_WITH_PAPERS
        values += [*numbers, outcome.state.value, *_flat(numbers.items()), *numbers]
    if outcome.sold:
        sold = [(code, group) for code, group in outcome.sold.items()]
        parts.append(
            "sold AS (INSERT INTO sold_code (device_n, shift, code, taxgrp) SELECT %s, %s, v.code, v.taxgrp "
            f"FROM op, (VALUES {_rows(sold, 2)}) AS v (code, taxgrp) ON CONFLICT DO NOTHING)"
        )
        values += [outcome.device_n, outcome.shift, *_flat(sold)]
    if outcome.register_state is not None:
        parts.append(
            "reg AS (INSERT INTO register (device_n, state) SELECT %s, %s FROM op "
            "ON CONFLICT (device_n) DO UPDATE SET state = excluded.state)"
        )
        values += [outcome.device_n, outcome.register_state]
    if outcome.letters or outcome.marks is not None:
        # As all parts of the statement see it: the operation before the statement.
        parts.append("was AS (SELECT state FROM operation WHERE n = %s)")
        values.append(outcome.n)
    for part, more in (
        outbox.posted(outcome.letters) if outcome.letters else ("", ()),
        ("", ()) if outcome.marks is None else marks.moved(outcome, outcome.marks),
    ):
        if part:
            parts.append(part)
            values += more
    parts.append(seal)
    rows = await session.ask(
        f"{', '.join(parts)} SELECT (SELECT n FROM op), (SELECT instance FROM mine), (SELECT device_n FROM mine)",
        values,
    )
    _check_written(rows, attempt, outcome.n)


async def conclude_at_once(session: Session, attempt: Attempt, intent: Intent, outcome: Outcome) -> Reserved:
    if attempt.again:
        # Did the first try, whose answer was lost, store it?
        rows = await session.ask(
            "SELECT n FROM operation WHERE device_n = %s AND kind = %s AND key = %s AND token = %s",
            (intent.device_n, intent.kind, intent.key, attempt.token),
        )
        if rows:
            return Reserved(rows[0][0], None)
    for _ in range(TRIES):
        # The driver expects rows of each question.
        await session.ask("BEGIN; SELECT 1")
        try:
            reserved = await _reserve(session, attempt, intent)
            if reserved is not None and reserved.known is None and reserved.taken is None:
                await conclude(session, attempt, replace(outcome, n=reserved.n))
            await session.ask("COMMIT; SELECT 1")
        except Lost:
            # The server undoes it with the end of the session.
            raise
        except BaseException as error:
            await session.ask("ROLLBACK; SELECT 1")
            if not isinstance(error, StoreFailed) or not _mark_taken(intent, error):
                raise
        else:
            if reserved is not None:
                return reserved
    raise StoreFailed(CHANGED_TOO_FAST)


async def note(session: Session, attempt: Attempt, n: int, request: bytes) -> None:
    rows = await session.ask(
        f"{_MINE_BY_OPERATION} op AS (UPDATE operation SET request = %s WHERE n = %s AND {_UNLESS_ELSEWHERE} "
        f"RETURNING *), {SEALED} "
        "SELECT (SELECT n FROM op), (SELECT instance FROM mine), (SELECT device_n FROM mine)",
        (n, request, n, attempt.instance),
    )
    _check_written(rows, attempt, n)


async def accept_document(session: Session, attempt: Attempt, n: int, number: int, fiscal_number: str) -> None:
    rows = await session.ask(
        f"{_MINE_BY_OPERATION} papers AS (UPDATE document SET state = 'done', fiscal_number = %s "
        f"WHERE operation_n = %s AND number = %s AND {_UNLESS_ELSEWHERE} RETURNING *), "
        "op AS MATERIALIZED (SELECT * FROM operation WHERE n IN (SELECT operation_n FROM papers)), "
        f"{SEALED_WITH_PAPERS} "
        "SELECT (SELECT n FROM papers), (SELECT instance FROM mine), (SELECT device_n FROM mine)",
        (n, fiscal_number, n, number, attempt.instance),
    )
    _check_written(rows, attempt, n)


def _check_written(rows: Rows, attempt: Attempt, n: int) -> None:
    """
    :raises ClaimedElsewhere: when another service has the device of the operation ``n``.
    :raises StoreFailed: when there is no such operation.
    """
    [(written, owner, device_n)] = rows
    if written is None:
        if owner is not None and owner != attempt.instance:
            raise ClaimedElsewhere(device_n, owner)
        raise StoreFailed(f"there is no operation {n}, or no such document of it")


# Searches


async def find(session: Session, attempt: Attempt, device_n: int, kind: str, key: str) -> OperationRow | None:
    where = "device_n = %s AND kind = %s AND key = %s AND state = 'done'"
    return _one(await _operations(session, where, (device_n, kind, key), "ORDER BY n DESC LIMIT 1"))


async def latest(session: Session, attempt: Attempt, device_n: int, kind: str, key: str) -> OperationRow | None:
    if key:
        where = "device_n = %s AND kind = %s AND key = %s"
        return _one(await _operations(session, where, (device_n, kind, key), "ORDER BY n DESC LIMIT 1"))
    where = "device_n = %s AND kind = %s AND kind IN ('pay', 'doc') ORDER BY n DESC LIMIT 1"
    return _one(await _operations(session, where, (device_n, kind)))


async def unresolved(session: Session, attempt: Attempt, device_n: int | None) -> list[OperationRow]:
    where = "state IN ('intended', 'unknown')"
    if device_n is None:
        return await _operations(session, where, ())
    return await _operations(session, f"{where} AND device_n = %s", (device_n,))


async def find_operations(session: Session, attempt: Attempt, query: OperationQuery) -> FoundOperations:
    found = operations_wanted(query, "%s")
    rows = await session.ask(
        f"SELECT t.total, {_OPERATION} FROM (SELECT count(*) AS total FROM operation WHERE {found.where}) t "
        f"LEFT JOIN (SELECT * FROM operation WHERE {found.where} ORDER BY n DESC LIMIT %s OFFSET %s) o ON true "
        "ORDER BY o.n DESC",
        (*found.values, *found.values, query.limit, query.offset),
    )
    return FoundOperations(rows[0][0], [read_operation(row[1:]) for row in rows if row[1] is not None])


async def find_documents(session: Session, attempt: Attempt, query: DocumentQuery) -> FoundDocuments:
    found = documents_wanted(query, "%s")
    # As the indexes of documents have it.
    found.when("state <> 'refused'")
    order = "DESC" if query.newest_first else "ASC"
    rows = await session.ask(
        "SELECT t.total, d.device_n, d.number, d.kind, d.at, d.fiscal_number, d.value, coalesce(o.answer, ''::bytea) "
        f"FROM (SELECT count(*) AS total FROM document WHERE {found.where}) t LEFT JOIN "
        f"(SELECT * FROM document WHERE {found.where} ORDER BY at {order}, n {order} LIMIT %s OFFSET %s) d ON true "
        f"LEFT JOIN operation o ON o.n = d.operation_n ORDER BY d.at {order}, d.n {order}",
        (*found.values, *found.values, query.limit, query.offset),
    )
    return FoundDocuments(rows[0][0], [FoundDocument(*row[1:]) for row in rows if row[1] is not None])


async def sent_documents(
    session: Session, attempt: Attempt, device_n: int, number_from: int, limit: int
) -> list[tuple[int, bytes]]:
    rows = await session.ask(
        "SELECT number, sent FROM document WHERE device_n = %s AND number >= %s "
        "AND state = 'done' AND state <> 'refused' ORDER BY number LIMIT %s",
        (device_n, number_from, limit),
    )
    return [(number, sent) for number, sent in rows]


async def sold_codes(session: Session, attempt: Attempt, device_n: int, shift: int) -> dict[str, int]:
    return dict(
        await session.ask("SELECT code, taxgrp FROM sold_code WHERE device_n = %s AND shift = %s", (device_n, shift))
    )


async def register_state(session: Session, attempt: Attempt, device_n: int) -> bytes | None:
    rows = await session.ask("SELECT state FROM register WHERE device_n = %s", (device_n,))
    return rows[0][0] if rows else None


async def _operations(session: Session, where: str, values: tuple[Any, ...], limit: str = "") -> list[OperationRow]:
    """Operations with their documents, oldest first."""
    return read_operations(await session.ask(_WHOLE.format(where=where, limit=limit), values))


def _one(found: list[OperationRow]) -> OperationRow | None:
    return found[0] if found else None


def _places(values: Any) -> str:
    return ", ".join(["%s"] * len(values))


def _rows(rows: Any, width: int) -> str:
    row = f"({', '.join(['%s'] * width)})"
    return ", ".join([row] * len(rows))


def _flat(rows: Any) -> list[Any]:
    return [value for row in rows for value in row]
