"""The rows of a Microsoft SQL Server database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from dmtwisted.store.mssql.driver import REVISIONS, load_driver, public_words, read_url
from dmtwisted.store.mssql.sessions import IN_USE, LOCK, SET_UP, UNLOCK
from dmtwisted.store.mssql.texts import BODY, keep, kept
from dmtwisted.store.rows import NOTES, PAGE, STOP_FIRST, CarryError, Rows
from dmtwisted.store.schema import shapes
from dmtwisted.store.shapes import Key, Row, Shape
from dmtwisted.store.urls import CONNECT_WAIT
from dmtwisted.store.values import StoreFailed

AT_ONCE = 100
"""Rows in one statement: the driver writes their values into its text."""

TABLES = "SELECT name FROM sys.tables WHERE schema_id = SCHEMA_ID()"
SIZE = "SELECT SUM(CAST(size AS BIGINT)) * 8192 FROM sys.database_files"
COUNTER = "SELECT CONVERT(BIGINT, last_value) FROM sys.identity_columns WHERE object_id = OBJECT_ID('{table}')"
SNAPSHOTS = "SELECT snapshot_isolation_state FROM sys.databases WHERE database_id = DB_ID()"
ORPHANS = "SELECT d.n FROM document d LEFT JOIN operation o ON o.n = d.operation_n WHERE o.n IS NULL ORDER BY d.n"


class MssqlRows(Rows):
    """The database that ``url`` names.

    :param reading: see one moment of it if the server allows that, otherwise what is committed.
    :raises CarryError: when it cannot be reached.
    """

    revisions = REVISIONS
    notes_columns = (
        "(name NVARCHAR(64) COLLATE Latin1_General_100_BIN2 NOT NULL PRIMARY KEY, value NVARCHAR(4000) NOT NULL)"
    )

    def __init__(self, url: str, reading: bool = False) -> None:
        try:
            self._driver = load_driver()
            parameters: dict[str, Any] = read_url(url)
        except (StoreFailed, ValueError) as error:
            raise CarryError(str(error)) from None
        self.name = f"MS SQL database {parameters['database']} at {parameters['server']}"
        self._alone = False
        self._sorted: dict[str, list[Row]] = {}
        try:
            self._connection = self._driver.connect(
                **parameters, charset="UTF-8", login_timeout=CONNECT_WAIT, autocommit=True
            )
            self._cursor = self._connection.cursor()
            self._cursor.execute("; ".join(SET_UP))
            self._cursor.execute(SNAPSHOTS)
            self.one_moment = reading and bool(self._cursor.fetchall()[0][0])
            if self.one_moment:
                self._cursor.execute("SET TRANSACTION ISOLATION LEVEL SNAPSHOT")
                self._cursor.execute("BEGIN TRANSACTION")
        except self._driver.Error as error:
            raise CarryError(f"the database cannot be reached: {public_words(error)}") from None

    def close(self) -> None:
        """End the session, and before it its lock: the server notices the end of a session a little later."""
        if self._alone:
            with suppress(self._driver.Error):
                self._cursor.execute(UNLOCK, (IN_USE,))
        self._connection.close()

    def keep_others_out(self, patience: float) -> None:
        """Take the lock that every session of every service shares: then none works, and none can start."""
        if not self._alone:
            [(got,)] = self._asked(LOCK.format(mode="Exclusive"), (IN_USE, int(patience * 1000)))
            if got < 0:
                raise CarryError(f"{self.name}: a service or another command works with it", STOP_FIRST)
            self._alone = True

    def freeze(self) -> None:
        """Nothing to do: the session with the lock is alone."""

    def tables(self) -> set[str]:
        return {name for (name,) in self.ask(TABLES)}

    def size(self) -> int:
        return int(self.ask(SIZE)[0][0] or 0)

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        return self._asked(statement, ())

    def _asked(self, statement: str, values: Sequence[Any], place: str = "") -> list[Row]:
        try:
            self._cursor.execute(statement, tuple(values) or None)
            rows = self._cursor.fetchall() if self._cursor.description else []
        except self._driver.Error as error:
            raise CarryError(f"{self.name}: {place}{public_words(error)}") from error
        return [tuple(map(_read, row)) for row in rows]

    def page(self, shape: Shape, after: Key | None, limit: int = PAGE) -> list[Row]:
        """The next rows. Rows with a text in their key are sorted here: the server has another order."""
        if any(shape.types[shape.columns.index(name)] is str for name in shape.key):
            if shape.name not in self._sorted:
                found = self._asked(f"SELECT {shape.listed} FROM {shape.name}", (), f"{shape.name}: ")
                self._sorted[shape.name] = sorted(found, key=shape.key_of)
            rows = self._sorted[shape.name]
            return [row for row in rows if after is None or shape.key_of(row) > tuple(after)][:limit]
        where, values = _behind(shape.key, after)
        statement = f"SELECT TOP {limit} {shape.listed} FROM {shape.name} {where} ORDER BY {shape.order}"
        return self._asked(statement, values, f"{shape.name}: ")

    def add(self, shape: Shape, rows: list[Row]) -> None:
        self._sorted.pop(shape.name, None)
        if shape.numbered:
            # A session may set the numbers of one table at a time.
            self.ask(f"SET IDENTITY_INSERT {shape.name} ON")
        one = ", ".join(BODY if kind is bytes else "%s" for kind in shape.types)
        for begin in range(0, len(rows), AT_ONCE):
            part = rows[begin : begin + AT_ONCE]
            places = ", ".join([f"({one})"] * len(part))
            try:
                values = [keep(value) if isinstance(value, str) else value for row in part for value in row]
            except StoreFailed as error:
                raise CarryError(f"{self.name}: {_unfit(shape, part)!r}: {error}") from None
            self._asked(f"INSERT INTO {shape.name} ({shape.listed}) VALUES {places}", values, f"{shape.name}: ")
        if shape.numbered:
            self.ask(f"SET IDENTITY_INSERT {shape.name} OFF")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.ask("BEGIN TRANSACTION")
        try:
            yield
            self.ask("COMMIT TRANSACTION")
        except BaseException:
            try:
                self._cursor.execute("IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION")
            except self._driver.Error:
                """The session is gone, and its transaction too."""
            raise

    def counter(self, shape: Shape) -> int:
        found = self.ask(COUNTER.format(table=shape.name))
        return int(found[0][0] or 0) if found else 0

    def set_counter(self, shape: Shape, number: int) -> None:
        if number > self.counter(shape):
            # In a table that never had a row the next row gets this very number.
            number += 0 if self.count(shape) else 1
            self.ask(f"DBCC CHECKIDENT ('{shape.name}', RESEED, {number}) WITH NO_INFOMSGS")

    def note(self, name: str, value: str) -> None:
        self._asked(f"DELETE FROM {NOTES} WHERE name = %s", (name,))
        self._asked(f"INSERT INTO {NOTES} (name, value) VALUES (%s, %s)", (name, value))

    def clear(self) -> None:
        self._sorted.clear()
        for shape in reversed(shapes()):
            self.ask(f"DELETE FROM {shape.name}")
        self.ask("DELETE FROM claim")

    def faults(self) -> Iterator[str]:
        """Documents without their operation; the server's own `DBCC CHECKDB` checks the pages."""
        for (n,) in self.ask(ORPHANS):
            yield f"document n={n}: the row of operation that it belongs to is missing"


def _read(value: Any) -> Any:
    return kept(value) if isinstance(value, str) else value


def _behind(key: Sequence[str], after: Key | None) -> tuple[str, list[Any]]:
    """The condition for rows after this key; the server cannot compare several columns at once."""
    if after is None:
        return "", []
    cases, values = [], []
    for place, name in enumerate(key):
        parts = [*(f'"{same}" = %s' for same in key[:place]), f'"{name}" > %s']
        cases.append(f"({' AND '.join(parts)})")
        values += [keep(value) if isinstance(value, str) else value for value in after[: place + 1]]
    return f"WHERE {' OR '.join(cases)}", values


def _unfit(shape: Shape, rows: list[Row]) -> str:
    """The first row with a text that cannot be stored."""
    unfit = next(row for row in rows if any(isinstance(value, str) and "\0" in value for value in row))
    return shape.name_of(shape.key_of(unfit))
