"""Each verb of the store (`dmtwisted.store.interface`) in the SQL of Microsoft SQL Server.

A verb that writes is one transaction of plain statements, run in the thread of its session without waiting for the
reactor in between. With ``XACT_ABORT`` a statement that fails undoes all of it. A verb that writes for a device first
reads the device's row of `claim` and keeps it locked against a takeover until the transaction has ended: so a service
that was cut off changes nothing once another service has the device.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple, replace

from dmtwisted.store.claims import ClaimedElsewhere
from dmtwisted.store.events import CODES, HAPPENED, NOTHING
from dmtwisted.store.mssql import marks, outbox
from dmtwisted.store.mssql.driver import public_words
from dmtwisted.store.mssql.seals import seal
from dmtwisted.store.mssql.sessions import TRIES, Duplicate, Link
from dmtwisted.store.mssql.texts import BODY, EMPTY, keep, kept
from dmtwisted.store.queries import (
    OPERATION,
    PAPER,
    TAGGED,
    Conditions,
    by_key,
    documents_wanted,
    operations_wanted,
    read_operation,
    read_operations,
)
from dmtwisted.store.sessions import Attempt
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

TAG_INDEX = "operation_fiscal_tag"

Query = OperationQuery | DocumentQuery

_OPERATION = OPERATION.format(empty=EMPTY)
_OF_KEY = "device_n = %s AND kind = %s AND [key] = %s"


def devices(link: Link, attempt: Attempt) -> list[DeviceRow]:
    rows = link.ask("SELECT n, dev_id, name, kind, driver, settings FROM device ORDER BY n")
    return [DeviceRow(n, dev_id, kept(name), *rest) for n, dev_id, name, *rest in rows]


def add_device(
    link: Link,
    attempt: Attempt,
    dev_id: str,
    name: str,
    kind: str,
    driver: str,
    settings: bytes,
    change: Change | None = None,
) -> DeviceRow:
    link.begin()
    try:
        [(n,)] = link.ask(
            "INSERT INTO device (dev_id, name, kind, driver, settings) "
            f"OUTPUT inserted.n VALUES (%s, %s, %s, %s, {BODY})",
            (dev_id, keep(name), kind, driver, settings),
        )
    except Duplicate:
        # Did the first try, whose answer was lost, store it? Its id is unique.
        rows = link.ask("SELECT n FROM device WHERE dev_id = %s AND name = %s", (dev_id, keep(name)))
        if not (rows and attempt.again):
            raise NameTaken(name) from None
        n = rows[0][0]
    else:
        _record(link, attempt, change, n)
        link.commit()
    return DeviceRow(n, dev_id, name, kind, driver, settings)


def change_device(
    link: Link, attempt: Attempt, n: int, name: str, settings: bytes, change: Change | None = None
) -> None:
    link.begin()
    try:
        link.ask(f"UPDATE device SET name = %s, settings = {BODY} WHERE n = %s", (keep(name), settings, n))
    except Duplicate:
        raise NameTaken(name) from None
    _record(link, attempt, change, n)
    link.commit()


def remove_device(link: Link, attempt: Attempt, n: int, change: Change | None = None) -> None:
    link.begin()
    link.ask("DELETE FROM device WHERE n = %s", (n,))
    _record(link, attempt, change, n)
    link.commit()


def settings(link: Link, attempt: Attempt) -> dict[str, bytes]:
    return {kept(name): value for name, value in link.ask("SELECT name, value FROM setting")}


def change_settings(link: Link, attempt: Attempt, changes: dict[str, bytes], change: Change | None = None) -> None:
    if not changes:
        return
    link.begin()
    # Always in the same order, so that two changes of the same settings never wait for each other.
    for name, value in sorted(changes.items()):
        link.change(
            f"UPDATE setting SET value = {BODY} WHERE name = %s",
            f"INSERT INTO setting (value, name) VALUES ({BODY}, %s)",
            (value, keep(name)),
        )
    _record(link, attempt, change, 0)
    link.commit()


def record(link: Link, attempt: Attempt, change: Change) -> int:
    link.begin()
    n = _record(link, attempt, change, change.device_n)
    link.commit()
    return n


def _record(link: Link, attempt: Attempt, change: Change | None, device_n: int) -> int:
    """Keep a change within the transaction, and return its number; the first try may have kept it already."""
    if change is None:
        return 0
    subject = keep(change.subject)
    if attempt.again:
        rows = link.ask(
            f"SELECT n FROM {by_key(change.kind)} WHERE {_OF_KEY} AND token = {BODY}",
            (device_n, change.kind, subject, attempt.token),
        )
        if rows:
            return int(rows[0][0])
    [(n,)] = link.ask(
        "INSERT INTO operation (device_n, kind, task, [key], fingerprint, state, at, ended_at, request, token) "
        f"OUTPUT inserted.n VALUES (%s, %s, 0, %s, {BODY}, 'done', %s, %s, {BODY}, {BODY})",
        (device_n, change.kind, subject, b"", change.at, change.at, change.request, attempt.token),
    )
    seal(link, n, HAPPENED)
    return int(n)


# The journal


def reserve(link: Link, attempt: Attempt, intent: Intent) -> Reserved:
    return _reserve(link, attempt, intent, None)


def conclude_at_once(link: Link, attempt: Attempt, intent: Intent, outcome: Outcome) -> Reserved:
    return _reserve(link, attempt, intent, outcome)


def _reserve(link: Link, attempt: Attempt, intent: Intent, outcome: Outcome | None) -> Reserved:
    device_n, kind, key = intent.device_n, intent.kind, keep(intent.key)
    for _ in range(TRIES):
        if attempt.again:
            # Did the first try, whose answer was lost, store it?
            _expect_ours(link, attempt, device_n)
            rows = link.ask(
                f"SELECT n FROM {by_key(kind)} WHERE {_OF_KEY} AND state = %s AND token = {BODY}",
                (device_n, kind, key, "intended" if outcome is None else outcome.state.value, attempt.token),
            )
            if rows:
                return Reserved(rows[0][0], None)
        link.begin()
        _expect_ours(link, attempt, device_n)
        taken = None if intent.marks is None else marks.taken(link, intent.marks)
        try:
            n = _insert(link, attempt, intent)
            if taken is not None:
                link.undo()
                return Reserved(0, None, taken)
            if intent.marks is not None:
                marks.hold(link, n, intent)
        except Duplicate as duplicate:
            if marks.ONCE in str(duplicate):
                # Another receipt reserved a mark at this moment: the next turn says which.
                continue
            if TAG_INDEX not in str(duplicate):
                raise StoreFailed(public_words(duplicate)) from None
            known = _operations(link, f"{_OF_KEY} AND {TAGGED.where}", (device_n, kind, key))
            if known:
                return Reserved(known[0].n, known[0])
            # Refused between our two statements, so its key is free again.
        else:
            if outcome is not None:
                _conclude(link, attempt, replace(outcome, n=n))
            link.commit()
            return Reserved(n, None)
    raise StoreFailed("the operations of the tag change too fast")


def _expect_ours(link: Link, attempt: Attempt, device_n: int) -> None:
    """Check that no other service has the device; within a transaction that stays so until its end.

    :raises ClaimedElsewhere: when another service has it.
    """
    rows = link.ask("SELECT instance FROM claim WITH (REPEATABLEREAD) WHERE device_n = %s", (device_n,))
    if rows and rows[0][0] != attempt.instance:
        raise ClaimedElsewhere(device_n, rows[0][0])


def _insert(link: Link, attempt: Attempt, intent: Intent) -> int:
    device_n, kind, task, key, fingerprint, at, documents, request, _ = astuple(intent)
    [(n,)] = link.ask(
        "INSERT INTO operation (device_n, kind, task, [key], fingerprint, state, at, request, token) "
        f"OUTPUT inserted.n VALUES (%s, %s, %s, %s, {BODY}, 'intended', %s, {BODY}, {BODY})",
        (device_n, kind, task, keep(key), fingerprint, at, request or None, attempt.token),
    )
    for paper in documents:
        link.ask(
            "INSERT INTO document (operation_n, device_n, number, kind, shift, at, sum, state, value, sent) "
            f"VALUES (%s, %s, %s, %s, %s, %s, %s, 'intended', {BODY}, {BODY})",
            (n, device_n, *astuple(paper)),
        )
    return int(n)


def conclude(link: Link, attempt: Attempt, outcome: Outcome) -> None:
    link.begin()
    _expect_ours(link, attempt, outcome.device_n)
    _conclude(link, attempt, outcome)
    link.commit()


def _conclude(link: Link, attempt: Attempt, outcome: Outcome) -> None:
    if outcome.letters or outcome.marks is not None:
        stored = attempt.again and bool(
            link.ask("SELECT 1 FROM operation WHERE n = %s AND state = 'done'", (outcome.n,))
        )
        outbox.put_in(link, () if stored else outcome.letters)
        if outcome.marks is not None:
            marks.move(link, outcome, outcome.marks, stored)
    link.ask(
        f"UPDATE operation SET state = %s, ended_at = %s, res = %s, answer = {BODY}, "
        f"request = COALESCE({BODY}, request) WHERE n = %s",
        (outcome.state.value, outcome.at, outcome.res, outcome.answer or None, outcome.request or None, outcome.n),
    )
    _expect_changed(link, outcome.n)
    for number, fiscal_number in outcome.fiscal_numbers.items():
        _accept(link, outcome.n, number, fiscal_number)
    if outcome.state is not State.DONE:
        # An accepted document stays accepted, whatever the outcome of the later ones.
        link.ask(
            "UPDATE document SET state = %s WHERE operation_n = %s AND state <> 'done'",
            (outcome.state.value, outcome.n),
        )
    for code, group in outcome.sold.items():
        sold = outcome.device_n, outcome.shift, keep(code)
        if not link.ask("SELECT 1 FROM sold_code WHERE device_n = %s AND shift = %s AND code = %s", sold):
            link.ask("INSERT INTO sold_code (device_n, shift, code, taxgrp) VALUES (%s, %s, %s, %s)", (*sold, group))
    if outcome.register_state is not None:
        link.change(
            f"UPDATE register SET state = {BODY} WHERE device_n = %s",
            f"INSERT INTO register (state, device_n) VALUES ({BODY}, %s)",
            (outcome.register_state, outcome.device_n),
        )
    seal(link, outcome.n, CODES.get(outcome.state, NOTHING))


def note(link: Link, attempt: Attempt, n: int, request: bytes) -> None:
    _begin_for(link, attempt, n)
    link.ask(f"UPDATE operation SET request = {BODY} WHERE n = %s", (request, n))
    _expect_changed(link, n)
    # The end of a change is told; how far another operation came is not.
    told = link.ask(f"SELECT 1 FROM operation WHERE n = %s AND kind = '{CHANGE}'", (n,))
    seal(link, n, HAPPENED if told else NOTHING)
    link.commit()


def accept_document(link: Link, attempt: Attempt, n: int, number: int, fiscal_number: str) -> None:
    _begin_for(link, attempt, n)
    _accept(link, n, number, fiscal_number)
    _expect_changed(link, n)
    seal(link, n, NOTHING)
    link.commit()


def _begin_for(link: Link, attempt: Attempt, n: int) -> None:
    """Begin to change the operation ``n``, after a check that no other service has its device."""
    link.begin()
    for (device_n,) in link.ask("SELECT device_n FROM operation WHERE n = %s", (n,)):
        _expect_ours(link, attempt, device_n)


def _accept(link: Link, n: int, number: int, fiscal_number: str) -> None:
    link.ask(
        "UPDATE document SET state = 'done', fiscal_number = %s WHERE operation_n = %s AND number = %s",
        (keep(fiscal_number), n, number),
    )


def _expect_changed(link: Link, n: int) -> None:
    """
    :raises StoreFailed: when the last statement found no row to change.
    """
    if not link.changed:
        raise StoreFailed(f"there is no operation {n}, or no such document of it")


# Searches


def find(link: Link, attempt: Attempt, device_n: int, kind: str, key: str) -> OperationRow | None:
    return _newest(link, f"{_OF_KEY} AND state = 'done'", (device_n, kind, keep(key)), by_key(kind))


def latest(link: Link, attempt: Attempt, device_n: int, kind: str, key: str) -> OperationRow | None:
    if key:
        return _newest(link, _OF_KEY, (device_n, kind, keep(key)), by_key(kind))
    return _newest(link, "device_n = %s AND kind = %s AND kind IN ('pay', 'doc')", (device_n, kind))


def unresolved(link: Link, attempt: Attempt, device_n: int | None) -> list[OperationRow]:
    where = "state IN ('intended', 'unknown')"
    if device_n is None:
        return _operations(link, where, ())
    return _operations(link, f"{where} AND device_n = %s", (device_n,))


def find_operations(link: Link, attempt: Attempt, query: OperationQuery) -> FoundOperations:
    found = operations_wanted(query, "%s", keep)
    source = by_key(*query.kinds) if query.key else "operation"
    total, rows = _page(link, found, query, f"SELECT {_OPERATION} FROM", source, "o", "n DESC", "")
    return FoundOperations(total, [read_operation(row, kept) for row in rows])


def find_documents(link: Link, attempt: Attempt, query: DocumentQuery) -> FoundDocuments:
    found = documents_wanted(query, "%s", keep)
    # As the indexes of documents have it.
    found.when("state <> 'refused'")
    order = "DESC" if query.newest_first else "ASC"
    total, rows = _page(
        link,
        found,
        query,
        f"SELECT d.device_n, d.number, d.kind, d.at, d.fiscal_number, d.value, COALESCE(o.answer, {EMPTY}) FROM",
        "document",
        "d",
        f"at {order}, n {order}",
        " JOIN operation o ON o.n = d.operation_n",
    )
    documents = [
        FoundDocument(device_n, number, kind, at, kept(fiscal_number), value, answer)
        for device_n, number, kind, at, fiscal_number, value, answer in rows
    ]
    return FoundDocuments(total, documents)


def sent_documents(
    link: Link, attempt: Attempt, device_n: int, number_from: int, limit: int
) -> list[tuple[int, bytes]]:
    rows = link.ask(
        f"SELECT TOP {int(limit)} number, sent FROM document WHERE device_n = %s AND number >= %s "
        "AND state = 'done' AND state <> 'refused' ORDER BY number",
        (device_n, number_from),
    )
    return [(number, sent) for number, sent in rows]


def sold_codes(link: Link, attempt: Attempt, device_n: int, shift: int) -> dict[str, int]:
    rows = link.ask("SELECT code, taxgrp FROM sold_code WHERE device_n = %s AND shift = %s", (device_n, shift))
    return {kept(code): group for code, group in rows}


def register_state(link: Link, attempt: Attempt, device_n: int) -> bytes | None:
    rows = link.ask("SELECT state FROM register WHERE device_n = %s", (device_n,))
    return rows[0][0] if rows else None


def _newest(link: Link, where: str, values: tuple[Any, ...], source: str = "operation") -> OperationRow | None:
    found = _operations(link, where, values, "TOP 1 ", " ORDER BY n DESC", source)
    return found[0] if found else None


def _operations(
    link: Link,
    where: str,
    values: tuple[Any, ...],
    first: str = "",
    order: str = "",
    source: str = "operation",
) -> list[OperationRow]:
    """Operations with their documents, oldest first."""
    rows = link.ask(
        f"SELECT {_OPERATION}, {PAPER} FROM (SELECT {first}* FROM {source} WHERE {where}{order}) o "
        "LEFT JOIN document d ON d.operation_n = o.n ORDER BY o.n, d.n",
        values,
    )
    return read_operations(rows, kept)


def _page(
    link: Link, found: Conditions, query: Query, select: str, table: str, alias: str, order: str, join: str
) -> tuple[int, list[tuple[Any, ...]]]:
    """The number of all rows, and a page of them."""
    total = None
    if query.counted:
        [(total,)] = link.ask(f"SELECT COUNT_BIG(*) FROM {table} WHERE {found.where}", found.values)
    if not query.limit or total == 0:
        # The server does not accept a page without rows.
        return total or 0, []
    outer = ", ".join(f"{alias}.{part}" for part in order.split(", "))
    rows = link.ask(
        f"{select} (SELECT * FROM {table} WHERE {found.where} ORDER BY {order} "
        f"OFFSET {int(query.offset)} ROWS FETCH NEXT {int(query.limit)} ROWS ONLY) {alias}{join} ORDER BY {outer}",
        found.values,
    )
    return query.offset + len(rows) if total is None else total, rows
