"""Each verb of the store (`dmtwisted.store.interface`) in the SQL of PostgreSQL.

A verb that writes is one statement, and so one round trip and one transaction: its parts are written as one ``WITH``.
A lost session cannot leave a transaction open.

The same statement checks which service writes for a device: the row of `claim` names it, and stays locked against a
takeover until the statement has ended. So a service that was cut off, or a delayed statement of it, changes nothing
once another service has taken the device over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from dmtwisted.store.claims import ClaimedElsewhere
from dmtwisted.store.gathering import ALONE
from dmtwisted.store.postgres import marks, outbox
from dmtwisted.store.postgres.seals import CONCLUDED, SEALED, SEALED_WITH_PAPERS
from dmtwisted.store.postgres.sessions import Prepared, Session
from dmtwisted.store.queries import (
    OPERATION,
    OTHERS,
    PAPER,
    TAGGED,
    Conditions,
    by_key,
    documents_wanted,
    operations_wanted,
    read_operation,
    read_operations,
)
from dmtwisted.store.sessions import Attempt, Lost, Rows
from dmtwisted.store.values import (
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
    StoreFailed,
)

TRIES = 10
"""How often a tag may be used and refused again between our statements before the verb fails."""

_OPERATION = OPERATION.format(empty="''::bytea")

_WHOLE = (
    f"WITH o AS MATERIALIZED (SELECT * FROM {{source}} WHERE {{where}}) SELECT {_OPERATION}, {PAPER} "
    "FROM (SELECT * FROM o {limit}) o LEFT JOIN document d ON d.operation_n = o.n ORDER BY o.n, d.n"
)
"""Operations with their documents at one moment."""

_OF_KEY = "device_n = %s::bigint AND kind = %s::text AND key = %s::text"
_NEWEST = "ORDER BY n DESC LIMIT 1"
KNOWN = Prepared("known", _WHOLE.format(source="operation", where=f"{_OF_KEY} AND {TAGGED.where}", limit=""))
FIND = Prepared("find", _WHOLE.format(source=by_key(), where=f"{_OF_KEY} AND state = 'done'", limit=_NEWEST))
LATEST = Prepared("latest", _WHOLE.format(source=by_key(), where=_OF_KEY, limit=_NEWEST))


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
            f"WHERE device_n = %s AND kind = %s AND {OTHERS.where} AND key = %s AND token = %s",
            (device_n, change.kind, change.subject, attempt.token),
        )
        if rows:
            return rows
    return await session.ask(
        f"WITH what AS ({statement}), op AS (INSERT INTO operation "
        "(device_n, kind, task, key, fingerprint, state, at, ended_at, request, token) "
        f"SELECT max(n), %s, 0, %s, ''::bytea, 'done', %s, %s, %s, %s FROM what HAVING count(*) > 0 "
        f"RETURNING *), {SEALED} SELECT DISTINCT n FROM {wanted}",
        (*values, change.kind, change.subject, change.at, change.at, change.request, attempt.token),
    )


# The journal

CHANGED_TOO_FAST = "the operations of the tag change too fast"

_MINE = "WITH mine AS MATERIALIZED (SELECT instance, device_n FROM claim WHERE device_n = %s FOR SHARE), "
_MINE_BY_OPERATION = (
    "WITH mine AS MATERIALIZED (SELECT c.instance, c.device_n FROM operation o JOIN claim c USING (device_n) "
    "WHERE o.n = %s FOR SHARE OF c), "
)
_UNLESS_ELSEWHERE = "NOT EXISTS (SELECT 1 FROM mine WHERE instance <> %s)"


_RESERVE = """
WITH {first}asked AS MATERIALIZED (
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::int[], %s::text[], %s::bytea[], %s::bigint[], %s::bytea[],
    %s::bytea[]) WITH ORDINALITY AS a (device_n, kind, task, key, fingerprint, at, request, token, place)),
mine AS MATERIALIZED (
    SELECT instance, device_n FROM claim WHERE device_n = ANY(%s::bigint[]) ORDER BY device_n FOR SHARE),
added AS (
    INSERT INTO operation (device_n, kind, task, key, fingerprint, at, state, request, token)
    SELECT device_n, kind, task, key, fingerprint, at, 'intended', request, token FROM asked
    WHERE NOT EXISTS (SELECT 1 FROM mine WHERE mine.device_n = asked.device_n AND instance <> %s::text){unless}
    ORDER BY place ON CONFLICT DO NOTHING RETURNING n, device_n, token),
papers AS (
    INSERT INTO document (operation_n, device_n, number, kind, shift, at, sum, state, value, sent)
    SELECT n, device_n, p.number, p.kind, p.shift, p.at, p.sum, 'intended', p.value, p.sent
    FROM unnest(%s::bytea[], %s::bigint[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bytea[],
    %s::bytea[]) WITH ORDINALITY AS p (token, number, kind, shift, at, sum, value, sent, place)
    JOIN added USING (token) ORDER BY p.place){last}
SELECT added.n, mine.instance FROM asked LEFT JOIN added USING (token)
LEFT JOIN mine ON mine.device_n = asked.device_n ORDER BY place"""
"""Adds the intents of several callers; without a number for those whose key is known or whose device is not ours."""

RESERVE = Prepared("reserve", _RESERVE.format(first="", unless="", last=""))


def _reserve_values(instance: str, asked: Sequence[tuple[bytes, Intent]]) -> list[Any]:
    """The values of `RESERVE` for the intents of some marks of questions."""
    meant = [
        (
            *(intent.device_n, intent.kind, intent.task, intent.key),
            *(intent.fingerprint, intent.at, intent.request or None, token),
        )
        for token, intent in asked
    ]
    papers = [
        (token, paper.number, paper.kind, paper.shift, paper.at, paper.sum, paper.value, paper.sent)
        for token, intent in asked
        for paper in intent.documents
    ]
    devices, *columns = _columns(meant, 8)
    return [devices, *columns, devices, instance, *_columns(papers, 8)]


async def reserve_together(session: Session, instance: str, asked: Sequence[tuple[bytes, Intent]]) -> list[Any]:
    rows = await session.ask(RESERVE, _reserve_values(instance, asked), len(asked) > 1)
    return [ALONE if n is None else Reserved(n, None) for n, _ in rows]


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
    known = read_operations(await session.ask(KNOWN, (intent.device_n, intent.kind, intent.key)))
    if known:
        return Reserved(known[0].n, known[0])
    taken = None if intent.marks is None else await marks.taken(session, intent.marks)
    return None if taken is None else Reserved(0, None, taken)


def _mark_taken(intent: Intent, error: StoreFailed) -> bool:
    """Whether another receipt reserved one of its marks at this moment: the next try says which."""
    return intent.marks is not None and marks.ONCE in str(error)


async def _insert(session: Session, attempt: Attempt, intent: Intent) -> tuple[int | None, str | None]:
    """The number of the new operation, if there is one, and the service that has claimed its device, if any."""
    values = _reserve_values(attempt.instance, [(attempt.token, intent)])
    if intent.marks is None:
        [(n, owner)] = await session.ask(RESERVE, values)
        return n, owner
    paper = intent.documents[0]
    held, more = marks.held(intent.marks, intent.device_n, paper.number, paper.at)
    free = f"free AS (SELECT {marks.UNLESS_TAKEN} AS free), "
    [(n, owner)] = await session.ask(
        _RESERVE.format(first=free, unless=" AND (SELECT free FROM free)", last=held),
        [*marks.taken_values(intent.marks), *values, *more],
    )
    return n, owner


_CONCLUDE = """
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::bigint[], %s::int[], %s::bytea[], %s::bytea[],
    %s::bytea[]) WITH ORDINALITY AS a (n, device_n, state, at, res, answer, request, register, place)),
mine AS MATERIALIZED (
    SELECT instance, device_n FROM claim WHERE device_n = ANY(%s::bigint[]) ORDER BY device_n FOR SHARE),
op AS (
    UPDATE operation o SET state = a.state, ended_at = a.at, res = a.res, answer = a.answer,
        request = coalesce(a.request, o.request)
    FROM asked a WHERE o.n = a.n
    AND NOT EXISTS (SELECT 1 FROM mine WHERE mine.device_n = a.device_n AND instance <> %s::text)
    RETURNING o.*),
accepted AS MATERIALIZED (
    SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS f (operation_n, number, fiscal_number)),
papers AS (
    UPDATE document d SET state = CASE WHEN p.fiscal_number IS NULL THEN p.state ELSE 'done' END,
        fiscal_number = coalesce(p.fiscal_number, d.fiscal_number)
    FROM (
        SELECT t.n, op.state, f.fiscal_number FROM op JOIN document t ON t.operation_n = op.n
        LEFT JOIN accepted f ON f.operation_n = op.n AND f.number = t.number
        WHERE f.number IS NOT NULL OR (op.state <> 'done' AND t.state <> 'done')) p
    WHERE d.n = p.n RETURNING d.*),
sold AS (
    INSERT INTO sold_code (device_n, shift, code, taxgrp)
    SELECT a.device_n, s.shift, s.code, s.taxgrp
    FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::int[]) AS s (n, shift, code, taxgrp)
    JOIN asked a USING (n) JOIN op USING (n) ON CONFLICT DO NOTHING),
reg AS (
    INSERT INTO register (device_n, state)
    SELECT a.device_n, a.register FROM asked a JOIN op USING (n) WHERE a.register IS NOT NULL ORDER BY a.device_n
    ON CONFLICT (device_n) DO UPDATE SET state = excluded.state),
{more}{sealed}
SELECT op.n, mine.instance, a.device_n FROM asked a LEFT JOIN op ON op.n = a.n
LEFT JOIN mine ON mine.device_n = a.device_n ORDER BY place"""
"""Keeps the outcomes of several callers, each of another device; without a number for those that it does not keep."""

CONCLUDE = Prepared("conclude", _CONCLUDE.format(more="", sealed=CONCLUDED))


def _conclude_values(instance: str, outcomes: Sequence[Outcome]) -> list[Any]:
    """The values of `CONCLUDE`."""
    became = [
        (
            *(outcome.n, outcome.device_n, outcome.state.value, outcome.at, outcome.res),
            *(outcome.answer or None, outcome.request or None, outcome.register_state),
        )
        for outcome in outcomes
    ]
    accepted = [(outcome.n, *named) for outcome in outcomes for named in outcome.fiscal_numbers.items()]
    sold = [(outcome.n, outcome.shift, *code) for outcome in outcomes for code in outcome.sold.items()]
    numbers, devices, *columns = _columns(became, 8)
    return [numbers, devices, *columns, devices, instance, *_columns(accepted, 3), *_columns(sold, 4)]


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[Any]:
    """The values in each column, as arrays."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * width
    # A text with whole numbers is read several times as fast as each of them by itself.
    return [
        f"{{{','.join(map(str, column))}}}" if column and type(column[0]) is int else column for column in columns
    ]


async def conclude_together(session: Session, instance: str, asked: Sequence[tuple[bytes, Outcome]]) -> list[Any]:
    values = _conclude_values(instance, [outcome for _, outcome in asked])
    rows = await session.ask(CONCLUDE, values, len(asked) > 1)
    return [ALONE if n is None else None for n, _, _ in rows]


async def conclude(session: Session, attempt: Attempt, outcome: Outcome) -> None:
    values = _conclude_values(attempt.instance, [outcome])
    if not outcome.letters and outcome.marks is None:
        _check_written(await session.ask(CONCLUDE, values), attempt, outcome.n)
        return
    # As all parts of the statement see it: the operation before the statement.
    more = "was AS (SELECT state FROM operation WHERE n = %s), "
    values.append(outcome.n)
    for part, added in (
        outbox.posted(outcome.letters) if outcome.letters else ("", ()),
        ("", ()) if outcome.marks is None else marks.moved(outcome, outcome.marks),
    ):
        if part:
            more += f"{part}, "
            values += added
    _check_written(await session.ask(_CONCLUDE.format(more=more, sealed=CONCLUDED), values), attempt, outcome.n)


async def conclude_at_once(session: Session, attempt: Attempt, intent: Intent, outcome: Outcome) -> Reserved:
    if attempt.again:
        # Did the first try, whose answer was lost, store it?
        rows = await session.ask(
            "SELECT n FROM operation WHERE device_n = %s AND kind = %s AND key = %s AND token = %s "
            f"AND {TAGGED.where}",
            (intent.device_n, intent.kind, intent.key, attempt.token),
        )
        if rows:
            return Reserved(rows[0][0], None)
    for _ in range(TRIES):
        try:
            async with _transaction(session):
                reserved = await _reserve(session, attempt, intent)
                if reserved is not None and reserved.known is None and reserved.taken is None:
                    await conclude(session, attempt, replace(outcome, n=reserved.n))
        except StoreFailed as error:
            if not _mark_taken(intent, error):
                raise
        else:
            if reserved is not None:
                return reserved
    raise StoreFailed(CHANGED_TOO_FAST)


async def conclude_at_once_together(
    session: Session, instance: str, asked: Sequence[tuple[bytes, Intent, Outcome]]
) -> list[Any]:
    async with _transaction(session):
        answers = await reserve_together(session, instance, [(token, intent) for token, intent, _ in asked])
        kept = [
            (token, replace(outcome, n=reserved.n))
            for reserved, (token, _, outcome) in zip(answers, asked, strict=True)
            if reserved is not ALONE
        ]
        if kept and ALONE in await conclude_together(session, instance, kept):
            raise StoreFailed("not every outcome of a group could be stored")
    return answers


@asynccontextmanager
async def _transaction(session: Session) -> AsyncIterator[None]:
    """Several questions in one transaction; the server undoes it with the end of the session, too."""
    name = session.name
    try:
        # The driver expects rows of each question.
        await session.ask("BEGIN; SELECT 1")
        yield
    except Lost:
        raise
    except BaseException:
        try:
            await session.ask("ROLLBACK; SELECT 1")
        except StoreFailed:
            # Nobody may get a session that is in the middle of something.
            session.close()
        raise
    try:
        await session.ask("COMMIT; SELECT 1")
    except StoreFailed as error:
        # It may be done all the same.
        session.close()
        raise Lost(name, str(error)) from None


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
    return _one(read_operations(await session.ask(FIND, (device_n, kind, key))))


async def latest(session: Session, attempt: Attempt, device_n: int, kind: str, key: str) -> OperationRow | None:
    if key:
        return _one(read_operations(await session.ask(LATEST, (device_n, kind, key))))
    where = "device_n = %s AND kind = %s AND kind IN ('pay', 'doc') ORDER BY n DESC LIMIT 1"
    return _one(await _operations(session, where, (device_n, kind)))


async def unresolved(session: Session, attempt: Attempt, device_n: int | None) -> list[OperationRow]:
    where = "state IN ('intended', 'unknown')"
    if device_n is None:
        return await _operations(session, where, ())
    return await _operations(session, f"{where} AND device_n = %s", (device_n,))


async def find_operations(session: Session, attempt: Attempt, query: OperationQuery) -> FoundOperations:
    found = operations_wanted(query, "%s")
    source = by_key(*query.kinds) if query.key else "operation"
    count, counted = _counted(query, found, source)
    rows = await session.ask(
        f"SELECT t.total, {_OPERATION} FROM ({count}) t "
        f"LEFT JOIN (SELECT * FROM {source} WHERE {found.where} ORDER BY n DESC LIMIT %s OFFSET %s) o ON true "
        "ORDER BY o.n DESC",
        (*counted, *found.values, query.limit, query.offset),
    )
    operations = [read_operation(row[1:]) for row in rows if row[1] is not None]
    return FoundOperations(rows[0][0] if query.counted else query.offset + len(operations), operations)


def _counted(query: OperationQuery | DocumentQuery, found: Conditions, source: str) -> tuple[str, list[int | str]]:
    """The statement that counts what a query finds, with its values; a page that is not counted needs a row too."""
    if not query.counted:
        return "SELECT 0 AS total", []
    return f"SELECT count(*) AS total FROM {source} WHERE {found.where}", found.values


async def find_documents(session: Session, attempt: Attempt, query: DocumentQuery) -> FoundDocuments:
    found = documents_wanted(query, "%s")
    # As the indexes of documents have it.
    found.when("state <> 'refused'")
    order = "DESC" if query.newest_first else "ASC"
    count, counted = _counted(query, found, "document")
    rows = await session.ask(
        "SELECT t.total, d.device_n, d.number, d.kind, d.at, d.fiscal_number, d.value, coalesce(o.answer, ''::bytea) "
        f"FROM ({count}) t LEFT JOIN "
        f"(SELECT * FROM document WHERE {found.where} ORDER BY at {order}, n {order} LIMIT %s OFFSET %s) d ON true "
        f"LEFT JOIN operation o ON o.n = d.operation_n ORDER BY d.at {order}, d.n {order}",
        (*counted, *found.values, query.limit, query.offset),
    )
    documents = [FoundDocument(*row[1:]) for row in rows if row[1] is not None]
    return FoundDocuments(rows[0][0] if query.counted else query.offset + len(documents), documents)


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


async def _operations(session: Session, where: str, values: tuple[Any, ...]) -> list[OperationRow]:
    """Operations with their documents, oldest first."""
    return read_operations(await session.ask(_WHOLE.format(source="operation", where=where, limit=""), values))


def _one(found: list[OperationRow]) -> OperationRow | None:
    return found[0] if found else None


def _places(values: Any) -> str:
    return ", ".join(["%s"] * len(values))


def _rows(rows: Any, width: int) -> str:
    row = f"({', '.join(['%s'] * width)})"
    return ", ".join([row] * len(rows))


def _flat(rows: Any) -> list[Any]:
    return [value for row in rows for value in row]
