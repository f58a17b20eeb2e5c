"""The rows of a PostgreSQL database, by ``COPY`` in its binary format."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import Any

import psycopg2

from dmtwisted.store.postgres.sessions import REVISIONS, first_line, read_url
from dmtwisted.store.rows import NOTES, PAGE, PUT_OFF, STOP_FIRST, Away, CarryError, Rows
from dmtwisted.store.schema import all_tables, shapes
from dmtwisted.store.shapes import Key, Row, Shape
from dmtwisted.store.urls import CONNECT_WAIT

SESSION = "dmtwisted-db"
"""The name of our sessions at the server; those of a service begin with ``dmtwisted`` and a blank."""

ONE_COMMAND = 0x646D7478
"""The advisory lock of commands that change everything or must see nothing change: one at a time."""

BUSY = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'dmtwisted %'"
)
LOCK = f"SELECT pg_try_advisory_lock({ONE_COMMAND})"
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
INVALID = (
    "SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
    "WHERE relnamespace = current_schema()::regnamespace AND NOT indisvalid"
)
REFERENCES = (
    "SELECT conrelid::regclass::text, quote_ident(conname), format('ALTER TABLE %s ADD CONSTRAINT %I %s', "
    "conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint "
    "WHERE connamespace = current_schema()::regnamespace AND contype = 'f'"
)
"""The foreign keys, with the statements that make them."""

INDEXES = (
    "SELECT quote_ident(relname), pg_get_indexdef(indexrelid) FROM pg_index "
    "JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = current_schema()::regnamespace "
    "AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)"
)
"""The indexes, except those of keys."""

ORPHANS = (
    "SELECT d.n FROM document d LEFT JOIN operation o ON o.n = d.operation_n WHERE o.n IS NULL ORDER BY d.n LIMIT 20"
)

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_SHORT, _LONG, _HUGE = struct.Struct(">h"), struct.Struct(">i"), struct.Struct(">q")
_LONG_FIELD, _HUGE_FIELD = struct.Struct(">ii"), struct.Struct(">iq")
_NULL = _LONG.pack(-1)


class PostgresRows(Rows):
    """The database that ``url`` names.

    :param reading: see one moment of it, which is possible while the service writes.
    :raises CarryError: when it cannot be reached.
    """

    revisions = REVISIONS
    notes_columns = "(name varchar(64) PRIMARY KEY, value text NOT NULL)"

    def __init__(self, url: str, reading: bool = False) -> None:
        try:
            parameters = read_url(url)
            self.name = f"PostgreSQL database {parameters['dbname']} at {parameters.get('host', 'this machine')}"
            self._connection = psycopg2.connect(url, connect_timeout=CONNECT_WAIT, application_name=SESSION)
        except (ValueError, psycopg2.Error) as error:
            raise CarryError(f"the database cannot be reached: {first_line(error)}") from None
        self._connection.autocommit = True
        self._cursor = self._connection.cursor()
        # The progress of a move is in the same transaction as its rows; only the last step waits for the disk.
        self.ask("SET synchronous_commit TO off; SET client_encoding TO 'UTF8'; SET jit TO off; SELECT 1")
        # For the indexes that are made when all rows are in.
        self.ask("SET maintenance_work_mem TO '128MB'")
        if reading:
            self._cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def close(self) -> None:
        """End the session, and before it its lock: the server notices the end of a session a little later."""
        with suppress(psycopg2.Error):
            self._cursor.execute("ROLLBACK")
            self._cursor.execute("SELECT pg_advisory_unlock_all()")
        self._connection.close()

    def keep_others_out(self, patience: float) -> None:
        """Exclude other commands and services; a service that starts meanwhile cannot write."""
        deadline = time.monotonic() + patience
        # The server notices the end of a killed command a little later.
        while not self.ask(LOCK)[0][0]:
            if time.monotonic() > deadline:
                raise CarryError(f"{self.name}: another command works with it; wait for it to end")
            time.sleep(0.1)
        while self.ask(BUSY)[0][0]:
            if time.monotonic() > deadline:
                raise CarryError(f"{self.name}: a service works with it", STOP_FIRST)
            time.sleep(0.1)

    def freeze(self) -> None:
        """Lock the tables against writing, in a transaction that lasts until `close`."""
        self.ask("BEGIN")
        self.ask("SET LOCAL lock_timeout TO 5000")
        self.ask(f"LOCK TABLE {', '.join(shape.name for shape in shapes())} IN SHARE MODE")

    def tables(self) -> set[str]:
        return {name for (name,) in self.ask(TABLES)}

    def size(self) -> int:
        return int(self.ask("SELECT pg_database_size(current_database())")[0][0])

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with self._errors():
            self._cursor.execute(statement)
            return self._cursor.fetchall() if self._cursor.description else []

    @contextmanager
    def _errors(self, place: str = "") -> Iterator[None]:
        try:
            yield
        except (psycopg2.Error, UnicodeError) as error:
            kind = Away if self._connection.closed else CarryError
            raise kind(f"{self.name}: {place}{first_line(error)}") from error

    def page(self, shape: Shape, after: Key | None, limit: int = PAGE) -> list[Row]:
        with self._errors(f"{shape.name}: "):
            places = ", ".join(["%s"] * len(after or ()))
            where = (
                "" if after is None else self._cursor.mogrify(f"WHERE ({shape.order}) > ({places})", after).decode()
            )
        return self._read(shape, f"{where} ORDER BY {shape.order} LIMIT {limit}")

    def pick(self, shape: Shape, column: str, numbers: Collection[int]) -> list[Row]:
        return self._read(
            shape, f"WHERE {column} = ANY ('{{{', '.join(map(str, numbers))}}}') ORDER BY {shape.order}"
        )

    def _read(self, shape: Shape, which: str) -> list[Row]:
        query = f'SELECT {shape.listed} FROM "{shape.name}" {which}'
        stream = BytesIO()
        with self._errors(f"{shape.name}: "):
            self._cursor.copy_expert(f"COPY ({query}) TO STDOUT (FORMAT binary)", stream)
        return list(_unpack(shape, stream.getvalue()))

    def add(self, shape: Shape, rows: list[Row]) -> None:
        statement = f'COPY "{shape.name}" ({shape.listed}) FROM STDIN (FORMAT binary)'
        with self._errors(f"{shape.name}: "):
            try:
                packed = _pack(shape, rows)
            except (struct.error, ValueError):
                raise CarryError(f"{self.name}: {_unfit(shape, rows)}") from None
            self._cursor.copy_expert(statement, BytesIO(packed))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.ask("BEGIN")
        try:
            yield
            self.ask("COMMIT")
        except BaseException:
            if not self._connection.closed:
                self._cursor.execute("ROLLBACK")
            raise

    def counter(self, shape: Shape) -> int:
        sequence = self._sequence(shape)
        [(number,)] = self.ask(f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}")
        return int(number)

    def set_counter(self, shape: Shape, number: int) -> None:
        """Set the sequence."""
        number = max(number, self.counter(shape))
        if number:
            self.ask(f"SELECT setval('{self._sequence(shape)}', {number})")

    def _sequence(self, shape: Shape) -> str:
        return str(self.ask(f"SELECT pg_get_serial_sequence('{shape.name}', '{shape.key[0]}')")[0][0])

    def put_off_all(self) -> None:
        """References and indexes, except those of keys."""
        for table, name, statement in self.ask(REFERENCES):
            self.note(f"{PUT_OFF[1]}{name}", statement)
            self.ask(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        for name, statement in self.ask(INDEXES):
            self.note(f"{PUT_OFF[0]}{name}", statement)
            self.ask(f"DROP INDEX {name}")

    def note(self, name: str, value: str) -> None:
        with self._errors():
            self._cursor.execute(
                f"INSERT INTO {NOTES} (name, value) VALUES (%s, %s) "
                "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (name, value),
            )

    def end_notes(self, revision: str, last: Callable[[], object] = lambda: None) -> None:
        """The last step of a move; its commit brings all before it to the disk."""
        self.ask("SET synchronous_commit TO on")
        super().end_notes(revision, last)
        # After many new rows: without this the first searches would be planned as for empty tables.
        self.ask("ANALYZE")

    def clear(self) -> None:
        self.ask(f"TRUNCATE {', '.join(sorted(all_tables()))} RESTART IDENTITY")

    def faults(self) -> Iterator[str]:
        """Indexes that were never finished, and documents without their operation."""
        for (index,) in self.ask(INVALID):
            yield f"the index {index} is not valid; REINDEX INDEX {index} rebuilds it"
        for (n,) in self.ask(ORPHANS):
            yield f"document n={n}: the row of operation that it belongs to is missing"


def _pack(shape: Shape, rows: list[Row]) -> bytes:
    """Rows in the server's binary format: for each value its length and its bytes."""
    begin = _SHORT.pack(len(shape.columns))
    parts = [_SIGNATURE]
    append = parts.append
    writers = [_WRITERS[kind, wide] for kind, wide in zip(shape.types, shape.wide, strict=True)]
    for row in rows:
        append(begin)
        for value, write in zip(row, writers, strict=True):
            append(_NULL if value is None else write(value))
    append(_END)
    return b"".join(parts)


def _unfit(shape: Shape, rows: list[Row]) -> str:
    """The first row that cannot be stored, and why."""
    for row in rows:
        try:
            _pack(shape, [row])
        except (struct.error, ValueError) as error:
            return f"{shape.name_of(shape.key_of(row))!r} cannot be stored: {error}"
    return f"{shape.name}: rows that cannot be stored"


def _write_bytes(value: bytes) -> bytes:
    return _LONG.pack(len(value)) + value


def _write_text(value: str) -> bytes:
    if "\0" in value:
        raise ValueError("PostgreSQL cannot store a text with the character NUL")
    return _write_bytes(value.encode())


_WRITERS: dict[tuple[type, bool], Callable[[Any], bytes]] = {
    (int, True): lambda value: _HUGE_FIELD.pack(8, value),
    (int, False): lambda value: _LONG_FIELD.pack(4, value),
    (str, False): _write_text,
    (bytes, False): _write_bytes,
    (bool, False): lambda value: _write_bytes(b"\1" if value else b"\0"),
}


def _unpack(shape: Shape, data: bytes) -> Iterator[Row]:
    """The rows from the server's binary format."""
    # Written out for speed: it is the largest part of a move outside the databases.
    kinds = [(kind, wide) for kind, wide in zip(shape.types, shape.wide, strict=True)]
    long, huge, number = _LONG.unpack_from, _HUGE.unpack_from, _LONG.size
    place = len(_SIGNATURE)
    while data[place : place + 2] != _END:
        place += 2
        row: list[Any] = []
        for kind, wide in kinds:
            (length,) = long(data, place)
            place += number
            if length < 0:
                row.append(None)
                continue
            if kind is int:
                row.append(huge(data, place)[0] if wide else long(data, place)[0])
            elif kind is bytes:
                row.append(data[place : place + length])
            elif kind is str:
                row.append(data[place : place + length].decode())
            else:
                row.append(data[place] != 0)
            place += length
        yield tuple(row)
