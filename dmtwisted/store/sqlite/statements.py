"""Each verb of the store (`dmtwisted.store.interface`) in the SQL of SQLite, on an open connection.

The writer process and the memory store run the same functions, so tests in memory prove what the file does. A
function neither begins nor commits a transaction: its caller does.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import astuple, replace

from dmtwisted.store.events import CODES, HAPPENED, NOTHING
from dmtwisted.store.queries import (
    FISCAL,
    OTHERS,
    TAGGED,
    Conditions,
    Part,
    documents_wanted,
    operations_wanted,
    parts,
)
from dmtwisted.store.seals import (
    DOCUMENT_COLUMNS,
    GENESIS,
    OPERATION_COLUMNS,
    appended,
    content_hash,
    link,
    mark,
    removal,
)
from dmtwisted.store.sqlite import marks, outbox
from dmtwisted.store.values import (
    CHANGE,
    AgedPaper,
    AgedRow,
    ChainRow,
    Change,
    ConcludedRow,
    Cut,
    DeviceRow,
    DocumentQuery,
    DocumentRow,
    FoundDocument,
    FoundDocuments,
    FoundOperations,
    Intent,
    NameTaken,
    OperationQuery,
    OperationRow,
    Outcome,
    Reserved,
    SealRow,
    State,
)

_DEVICE = "SELECT n, dev_id, name, kind, driver, settings FROM device"
_OPERATION = (
    "SELECT n, device_n, kind, task, \"key\", fingerprint, state, at, res, coalesce(answer, x''), "
    "coalesce(request, x''), ended_at FROM operation"
)
_DOCUMENT = (
    "SELECT number, kind, shift, at, sum, state, fiscal_number, value, sent FROM document "
    "WHERE operation_n = ? ORDER BY n"
)


def _columns(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


_SEALED = _columns(OPERATION_COLUMNS)
_SEALED_OPERATION = f"SELECT {_SEALED} FROM operation WHERE n = ?"
_EVERY_DEVICE = "SELECT device_n FROM chain UNION SELECT n FROM device"
"""Every device with a history: deleted ones too, once one of their operations had an outcome."""

_STATE, _KIND = OPERATION_COLUMNS.index("state"), OPERATION_COLUMNS.index("kind")

_OF_KEY = 'device_n = ? AND kind = ? AND "key" = ?'
_TAGGED_DONE = f"{_OPERATION} WHERE {_OF_KEY} AND {TAGGED.where} AND state = 'done'"
_NEWEST_DONE = f"{_OPERATION} WHERE {_OF_KEY} AND {OTHERS.where} AND state = 'done' ORDER BY n DESC LIMIT 1"

_NUMBERED, _LIST = Part("", "1 = 1"), Part("operation_list", "1 = 1")
_REFUSED = Part("operation_refused", "state = 'refused'")
_OPEN = Part("operation_unresolved", "state IN ('intended', 'unknown')")
_PLACE_OF = {
    State.REFUSED: _REFUSED,
    State.INTENDED: Part(_OPEN.name, f"{_OPEN.where} AND state = 'intended'"),
    State.UNKNOWN: Part(_OPEN.name, f"{_OPEN.where} AND state = 'unknown'"),
}

_SEALED_DOCUMENTS = f"SELECT {_columns(DOCUMENT_COLUMNS)} FROM document WHERE operation_n = ? ORDER BY n"

_INTENDED = (
    'SELECT o.device_n, o.task, o.at, o.kind, o."key", o.fingerprint, o.request, '
    + ", ".join(f'd."{name}"' for name in DOCUMENT_COLUMNS)
    + " FROM operation o LEFT JOIN document d ON d.operation_n = o.n WHERE o.n = ? ORDER BY d.n"
)
"""What an outcome leaves of an operation as it is, and its documents; one row for each of them."""

_ITS_OWN = 7
"""How many columns of it are the operation's."""


def devices(db: sqlite3.Connection) -> list[DeviceRow]:
    return [DeviceRow(*row) for row in db.execute(f"{_DEVICE} ORDER BY n")]


def add_device(
    db: sqlite3.Connection,
    dev_id: str,
    name: str,
    kind: str,
    driver: str,
    settings: bytes,
    change: Change | None = None,
) -> DeviceRow:
    added = db.execute(
        "INSERT INTO device (dev_id, name, kind, driver, settings) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT DO NOTHING RETURNING n",
        (dev_id, name, kind, driver, settings),
    ).fetchone()
    if added is None:
        raise NameTaken(name)
    _recorded(db, change, added[0])
    return DeviceRow(added[0], dev_id, name, kind, driver, settings)


def change_device(db: sqlite3.Connection, n: int, name: str, settings: bytes, change: Change | None = None) -> None:
    if db.execute("SELECT 1 FROM device WHERE name = ? AND n <> ?", (name, n)).fetchone():
        raise NameTaken(name)
    with _wiping(db):
        db.execute("UPDATE device SET name = ?, settings = ? WHERE n = ?", (name, settings, n))
    _recorded(db, change, n)


def remove_device(db: sqlite3.Connection, n: int, change: Change | None = None) -> None:
    with _wiping(db):
        db.execute("DELETE FROM device WHERE n = ?", (n,))
    _recorded(db, change, n)


@contextmanager
def _wiping(db: sqlite3.Connection) -> Iterator[None]:
    """Overwrite in the file what is deleted or replaced: settings of earlier versions held plain secrets."""
    db.execute("PRAGMA secure_delete=ON").fetchall()
    try:
        yield
    finally:
        db.execute("PRAGMA secure_delete=OFF").fetchall()


def settings(db: sqlite3.Connection) -> dict[str, bytes]:
    return dict(db.execute("SELECT name, value FROM setting").fetchall())


def change_settings(db: sqlite3.Connection, changes: dict[str, bytes], change: Change | None = None) -> None:
    db.executemany(
        "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        changes.items(),
    )
    _recorded(db, change)


def record(db: sqlite3.Connection, change: Change) -> int:
    rows = db.execute(
        'INSERT INTO operation (device_n, kind, task, "key", fingerprint, state, at, ended_at, request) '
        f"VALUES (?, ?, 0, ?, x'', 'done', ?, ?, ?) RETURNING {_SEALED}",
        (change.device_n, change.kind, change.subject, change.at, change.at, change.request),
    ).fetchall()
    _seal(db, rows, HAPPENED)
    return int(rows[0][0])


def _recorded(db: sqlite3.Connection, change: Change | None, device_n: int = 0) -> None:
    """Keep what was changed by the same verb."""
    if change is not None:
        record(db, replace(change, device_n=device_n))


def reserve(db: sqlite3.Connection, intent: Intent) -> Reserved:
    *columns, documents, request, asked = astuple(intent)
    taken = None if asked is None else marks.taken(db, asked)
    # Not RETURNING, which costs as much again as the statement itself.
    added = (
        None
        if taken is not None
        else db.execute(
            'INSERT INTO operation (device_n, kind, task, "key", fingerprint, at, state, request) '
            "VALUES (?, ?, ?, ?, ?, ?, 'intended', ?) ON CONFLICT DO NOTHING",
            (*columns, request or None),
        )
    )
    if added is None or not added.rowcount:
        known = db.execute(
            f"{_OPERATION} WHERE {_OF_KEY} AND {TAGGED.where}",
            (intent.device_n, intent.kind, intent.key),
        ).fetchone()
        return Reserved(0, None, taken) if known is None else Reserved(known[0], _operation(db, known))
    n = added.lastrowid
    assert n is not None
    for paper in documents:
        db.execute(
            "INSERT INTO document (operation_n, device_n, number, kind, shift, at, sum, state, value, sent) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, 'intended', ?, ?)",
            (n, intent.device_n, *astuple(paper)),
        )
    if asked is not None:
        marks.hold(db, n, intent)
    return Reserved(n, None)


def conclude(db: sqlite3.Connection, outcome: Outcome) -> None:
    n, answer, state = outcome.n, outcome.answer or None, outcome.state.value
    if outcome.letters:
        outbox.post(db, outcome.letters)
    if outcome.marks is not None:
        marks.move(db, outcome, outcome.marks)
    found = db.execute(_INTENDED, (n,)).fetchall()
    content = b""
    if found:
        device_n, task, at, kind, key, fingerprint, request = found[0][:_ITS_OWN]
        request = outcome.request or request
        db.execute(
            "UPDATE operation SET state = ?, ended_at = ?, res = ?, answer = ?, request = ? WHERE n = ?",
            (state, outcome.at, outcome.res, answer, request, n),
        )
        papers = [_paper_after(db, outcome, row[_ITS_OWN:]) for row in found if row[_ITS_OWN] is not None]
        content = content_hash(
            (n, device_n, task, at, outcome.at, outcome.res, kind, key, fingerprint, state, answer, request), papers
        )
    if outcome.sold:
        db.executemany(
            "INSERT INTO sold_code (device_n, shift, code, taxgrp) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(outcome.device_n, outcome.shift, code, group) for code, group in outcome.sold.items()],
        )
    if outcome.register_state is not None:
        db.execute(
            "INSERT INTO register (device_n, state) VALUES (?, ?) "
            "ON CONFLICT (device_n) DO UPDATE SET state = excluded.state",
            (outcome.device_n, outcome.register_state),
        )
    if found and outcome.state is not State.INTENDED:
        _add_seal(db, n, device_n, content, CODES[outcome.state])


def conclude_at_once(db: sqlite3.Connection, intent: Intent, outcome: Outcome) -> Reserved:
    reserved = reserve(db, intent)
    if reserved.known is None and reserved.taken is None:
        conclude(db, replace(outcome, n=reserved.n))
    return reserved


def _paper_after(db: sqlite3.Connection, outcome: Outcome, paper: tuple[Any, ...]) -> tuple[Any, ...]:
    """Store what an outcome changes of a document; its sealed columns as they are now."""
    n, device_n, number, shift, at, total, kind, state, fiscal_number, value, sent = paper
    if number in outcome.fiscal_numbers:
        state, fiscal_number = "done", outcome.fiscal_numbers[number]
    elif outcome.state is not State.DONE and state != "done":
        # An accepted document stays accepted, whatever the outcome of the later ones.
        state = outcome.state.value
    else:
        return paper
    db.execute("UPDATE document SET state = ?, fiscal_number = ? WHERE n = ?", (state, fiscal_number, n))
    return n, device_n, number, shift, at, total, kind, state, fiscal_number, value, sent


def note(db: sqlite3.Connection, n: int, request: bytes) -> None:
    noted = db.execute(f"UPDATE operation SET request = ? WHERE n = ? RETURNING {_SEALED}", (request, n)).fetchall()
    # The end of a change is told; how far another operation came is not.
    _seal(db, noted, HAPPENED if noted and noted[0][_KIND] == CHANGE else NOTHING)


def accept_document(db: sqlite3.Connection, n: int, number: int, fiscal_number: str) -> None:
    db.execute(
        "UPDATE document SET state = 'done', fiscal_number = ? WHERE operation_n = ? AND number = ?",
        (fiscal_number, n, number),
    )
    _seal(db, db.execute(_SEALED_OPERATION, (n,)).fetchall(), NOTHING)


def _seal(db: sqlite3.Connection, rows: list[tuple[Any, ...]], event: int) -> None:
    """Seal an operation as it is now, if it has an outcome.

    :param event: which outcome the seal tells (`dmtwisted.store.events`).
    :param rows: its columns in the order of the encoding; empty when there is no such operation.
    """
    if not rows or rows[0][_STATE] == State.INTENDED:
        return
    row = rows[0]
    n, device_n = row[:2]
    _add_seal(db, n, device_n, content_hash(row, db.execute(_SEALED_DOCUMENTS, (n,))), event)


def _add_seal(db: sqlite3.Connection, n: int, device_n: int, content: bytes, event: int) -> None:
    before = db.execute("SELECT hash FROM chain WHERE device_n = ?", (device_n,)).fetchone()
    chain = link(GENESIS if before is None else before[0], device_n, n, content)
    db.execute(
        "INSERT INTO seal (device_n, operation_n, content, chain, event) VALUES (?, ?, ?, ?, ?)",
        (device_n, n, content, chain, event),
    )
    if before is None:
        db.execute("INSERT INTO chain VALUES (?, 1, ?, ?, 0)", (device_n, chain, GENESIS))
    else:
        db.execute("UPDATE chain SET count = count + 1, hash = ? WHERE device_n = ?", (chain, device_n))


def find(db: sqlite3.Connection, device_n: int, kind: str, key: str) -> OperationRow | None:
    row = db.execute(_TAGGED_DONE if kind in FISCAL else _NEWEST_DONE, (device_n, kind, key)).fetchone()
    return None if row is None else _operation(db, row)


def latest(db: sqlite3.Connection, device_n: int, kind: str, key: str) -> OperationRow | None:
    if key:
        where = parts(kind)
        newest = f"SELECT max(n) FROM ({_numbers(where, _OF_KEY)})"
        row = db.execute(f"{_OPERATION} WHERE n = ({newest})", (device_n, kind, key) * len(where)).fetchone()
    else:
        of_all = "INDEXED BY operation_latest WHERE device_n = ? AND kind = ? AND kind IN ('pay', 'doc')"
        row = db.execute(f"{_OPERATION} {of_all} ORDER BY n DESC LIMIT 1", (device_n, kind)).fetchone()
    return None if row is None else _operation(db, row)


def find_operations(db: sqlite3.Connection, query: OperationQuery) -> FoundOperations:
    found, where, but = _places(query)
    if (query.key or query.kinds) and not query.devices and _NUMBERED not in where and _OPEN not in where:
        # Payments and print jobs may be few among years of receipts: the indexes have them after their device.
        found.when(f"device_n IN ({_EVERY_DEVICE})")
    numbers, left_out = _numbers(where, found.where), [_numbers([part], found.where) for part in but]
    values = found.values * (len(where) + len(but))
    # The newest of all come by their number, and are soon enough.
    paged = f"SELECT n FROM operation WHERE {found.where}" if where == [_LIST] and not values else numbers
    paged += "".join(f" AND n NOT IN ({one})" for one in left_out)
    rows = db.execute(
        f"{_OPERATION} WHERE n IN (SELECT n FROM ({paged}) ORDER BY n DESC LIMIT ? OFFSET ?) ORDER BY n DESC",
        (*values, query.limit, query.offset),
    ).fetchall()
    counts = " - ".join(f"(SELECT count(*) FROM ({one}))" for one in (numbers, *left_out))
    total = _total(db, f"SELECT {counts}", values, query, len(rows))
    return FoundOperations(total, [OperationRow(*(*row[:-2], [], *row[-2:])) for row in rows])


def _places(query: OperationQuery) -> tuple[Conditions, list[Part], list[Part]]:
    """The conditions of a search, where what fulfils them is, each in one place, and which of it is left out."""
    found = operations_wanted(query, "?")
    wanted = set(query.states)
    if query.n is not None:
        return found, [_NUMBERED], []
    if query.key:
        return found, parts(*query.kinds), []
    if not wanted:
        return found, [_LIST], []
    if State.DONE in wanted:
        # Nearly all are done. An entry of the list does not hold the state; the few of other states have places.
        others = [part for state, part in _PLACE_OF.items() if state not in wanted]
        return operations_wanted(replace(query, states=[]), "?"), [_LIST], others
    return found, [_REFUSED] * (State.REFUSED in wanted) + [_OPEN] * bool(wanted - {State.REFUSED}), []


def _numbers(where: Sequence[Part], which: str) -> str:
    """The numbers of the operations in some places that fulfil a condition."""
    return " UNION ALL ".join(
        f"SELECT n FROM operation {part.name and f'INDEXED BY {part.name}'} WHERE {part.where} AND {which}"
        for part in where
    )


def find_documents(db: sqlite3.Connection, query: DocumentQuery) -> FoundDocuments:
    found = documents_wanted(query, "?")
    # SQLite would choose an index that begins with the register, and read its whole history.
    source = "document INDEXED BY document_done"
    if query.fiscal_number:
        source = "document INDEXED BY document_fiscal_number"
    elif query.number is not None:
        source = "document INDEXED BY document_number"
        # As that index has it.
        found.when("state <> 'refused'")
        if not query.devices:
            found.when(f"device_n IN ({_EVERY_DEVICE})")
    elif query.kinds == ["z"]:
        source = "document INDEXED BY document_z"
    order = "DESC" if query.newest_first else "ASC"
    # Skipped rows are only counted; bodies and answers are read for the page alone.
    rows = db.execute(
        "SELECT d.device_n, d.number, d.kind, d.at, d.fiscal_number, d.value, coalesce(o.answer, x'') "
        f"FROM document d JOIN operation o ON o.n = d.operation_n WHERE d.n IN (SELECT n FROM {source} "
        f"WHERE {found.where} ORDER BY at {order}, n {order} LIMIT ? OFFSET ?) ORDER BY d.at {order}, d.n {order}",
        (*found.values, query.limit, query.offset),
    ).fetchall()
    total = _total(db, f"SELECT count(*) FROM {source} WHERE {found.where}", found.values, query, len(rows))
    return FoundDocuments(total, [FoundDocument(*row) for row in rows])


def _total(
    db: sqlite3.Connection,
    count: str,
    values: Sequence[int | str],
    query: OperationQuery | DocumentQuery,
    found: int,
) -> int:
    """How many there are in all, when ``found`` are on the page."""
    # A page with room left is the last one: nothing to count.
    if not query.counted or (found < query.limit and (found or not query.offset)):
        return query.offset + found
    (total,) = db.execute(count, values).fetchone()
    return int(total)


def sent_documents(db: sqlite3.Connection, device_n: int, number_from: int, limit: int) -> list[tuple[int, bytes]]:
    return db.execute(
        "SELECT number, sent FROM document WHERE device_n = ? AND number >= ? "
        "AND state = 'done' AND state <> 'refused' ORDER BY number LIMIT ?",
        (device_n, number_from, limit),
    ).fetchall()


def sold_codes(db: sqlite3.Connection, device_n: int, shift: int) -> dict[str, int]:
    rows = db.execute("SELECT code, taxgrp FROM sold_code WHERE device_n = ? AND shift = ?", (device_n, shift))
    return dict(rows.fetchall())


def unresolved(db: sqlite3.Connection, device_n: int | None) -> list[OperationRow]:
    # The index is named, or SQLite would read the whole journal to get the rows in their order.
    open_ones = f"{_OPERATION} INDEXED BY {_OPEN.name} WHERE {_OPEN.where}"
    if device_n is None:
        rows = db.execute(f"{open_ones} ORDER BY n").fetchall()
    else:
        rows = db.execute(f"{open_ones} AND device_n = ? ORDER BY n", (device_n,)).fetchall()
    return [_operation(db, row) for row in rows]


def register_state(db: sqlite3.Connection, device_n: int) -> bytes | None:
    row = db.execute("SELECT state FROM register WHERE device_n = ?", (device_n,)).fetchone()
    return None if row is None else row[0]


def chains(db: sqlite3.Connection) -> list[ChainRow]:
    rows = db.execute("SELECT device_n, count, hash, anchor, removed FROM chain ORDER BY device_n")
    return [ChainRow(*row) for row in rows]


def seals(db: sqlite3.Connection, after: int, limit: int) -> list[SealRow]:
    rows = db.execute(
        "SELECT n, device_n, operation_n, content, chain, NOT EXISTS "
        "(SELECT 1 FROM seal later WHERE later.operation_n = seal.operation_n AND later.n > seal.n) "
        "FROM seal WHERE n > ? ORDER BY n LIMIT ?",
        (after, limit),
    ).fetchall()
    return [
        SealRow(n, device_n, operation_n, content, chain, _actual(db, operation_n), bool(newest))
        for n, device_n, operation_n, content, chain, newest in rows
    ]


def _actual(db: sqlite3.Connection, n: int) -> bytes | None:
    row = db.execute(_SEALED_OPERATION, (n,)).fetchone()
    if row is None:
        return None
    try:
        return content_hash(row, db.execute(_SEALED_DOCUMENTS, (n,)))
    except (ValueError, sqlite3.OperationalError):
        # Values that our rows never hold, or a text that is not UTF-8.
        return b""


def concluded(db: sqlite3.Connection, after: int, limit: int) -> list[ConcludedRow]:
    rows = db.execute(
        "SELECT n, device_n, EXISTS (SELECT 1 FROM seal WHERE seal.operation_n = operation.n AND seal.n > 0) "
        "FROM operation WHERE n > ? AND state <> 'intended' ORDER BY n LIMIT ?",
        (after, limit),
    )
    return [ConcludedRow(n, device_n, bool(sealed)) for n, device_n, sealed in rows]


def aged(db: sqlite3.Connection, after: int, limit: int) -> list[AgedRow]:
    rows = db.execute(
        "SELECT n, device_n, kind, state, at, ended_at, kind <> 'pkg' AND EXISTS (SELECT 1 FROM operation p "
        f'WHERE p.device_n = o.device_n AND p.kind = \'pkg\' AND p."key" = o."key" AND {OTHERS.where}), '
        "kind IN ('pay', 'doc') AND NOT EXISTS (SELECT 1 FROM operation l INDEXED BY operation_latest "
        "WHERE l.device_n = o.device_n AND l.n > o.n AND l.kind IN ('pay', 'doc')) "
        "FROM operation o WHERE n > ? ORDER BY n LIMIT ?",
        (after, limit),
    ).fetchall()
    return [
        AgedRow(
            *(n, device_n, kind, State(state), at, ended_at, bool(batch), bool(last)),
            [
                AgedPaper(*paper)
                for paper in db.execute("SELECT kind, number, shift FROM document WHERE operation_n = ?", (n,))
            ],
        )
        for n, device_n, kind, state, at, ended_at, batch, last in rows
    ]


def cut(db: sqlite3.Connection, step: Cut) -> float | None:
    begun = time.perf_counter()
    device_n = step.device_n
    found = db.execute(
        "UPDATE chain SET anchor = anchor WHERE device_n = ? AND anchor = ? RETURNING hash, anchor, removed",
        (device_n, step.anchor),
    ).fetchall()
    if not found:
        return None
    [(before, anchor, removed)] = found
    contents = [(n, removal(n)) for n in step.operations]
    if step.dropped:
        sealed_again = "SELECT 1 FROM seal WHERE operation_n = ? AND n > ?"
        contents += [
            (n, content)
            for n, content in step.renewed.items()
            if db.execute(sealed_again, (n, step.dropped[-1])).fetchone() is None
        ]
        (anchor,) = db.execute("SELECT chain FROM seal WHERE n = ?", (step.dropped[-1],)).fetchone()
        removed += len(step.dropped)
        contents.append((0, mark(device_n, removed, anchor)))
        db.executemany("DELETE FROM seal WHERE n = ?", [(n,) for n in step.dropped])
    seals = appended(device_n, before, contents)
    db.executemany("DELETE FROM document WHERE operation_n = ?", [(n,) for n in step.operations])
    db.executemany("DELETE FROM operation WHERE n = ?", [(n,) for n in step.operations])
    db.executemany("INSERT INTO seal (device_n, operation_n, content, chain) VALUES (?, ?, ?, ?)", seals)
    db.execute(
        "UPDATE chain SET count = count + ?, hash = ?, anchor = ?, removed = ? WHERE device_n = ?",
        (len(seals), seals[-1][-1] if seals else before, anchor, removed, device_n),
    )
    return time.perf_counter() - begun


def forget_codes(db: sqlite3.Connection, device_n: int, shift: int) -> int:
    return db.execute(
        "DELETE FROM sold_code WHERE device_n = ? "
        "AND shift = (SELECT min(shift) FROM sold_code WHERE device_n = ? AND shift < ?)",
        (device_n, device_n, shift),
    ).rowcount


def _operation(db: sqlite3.Connection, row: tuple[Any, ...]) -> OperationRow:
    papers = db.execute(_DOCUMENT, (row[0],)).fetchall()
    return OperationRow(*(*row[:-2], [DocumentRow(*paper) for paper in papers], *row[-2:]))
