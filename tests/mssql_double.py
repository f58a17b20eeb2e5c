"""A stand-in for Microsoft SQL Server: the DB-API of pymssql in front of a real PostgreSQL server.

There is no SQL Server where these tests run. What our store says in T-SQL is parsed by sqlglot's T-SQL dialect, so
what is no T-SQL fails, and runs on PostgreSQL: with real transactions, real locks, real concurrency, connections that
really break. What the stand-in adds of the other server's ways:

* a transaction that a statement fails in is undone whole (``XACT_ABORT ON``), and nothing may begin within another;
* texts are compared without the blanks at their ends, and byte by byte otherwise;
* a body that the driver would write as an empty text is refused unless it is converted;
* a page without rows is refused; a text that is too long is refused;
* application locks of a session, numbers and words of complaints, the driver's own limits of time.

What it cannot show: the server's planner, its lock escalation, its isolation by snapshots, its deadlocks.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from types import ModuleType
from typing import Any

import psycopg2
import pymssql
import sqlglot
from psycopg2 import extensions
from sqlglot import exp

PREFIX = "mssql_"
"""Before the names of the databases that play one of the other server."""

_PLACE = re.compile(r"%[sd]")
_NAMED = re.compile(r"%\((\w+)\)[sd]")
_LOCK = re.compile(r"sp_getapplock @Resource = ('[^']*'|\S+), @LockMode = '(\w+)', .* @LockTimeout = (\S+);")
_UNLOCK = re.compile(r"EXEC sp_releaseapplock @Resource = (\S+),")
_SYSTEM: tuple[tuple[str, list[tuple[Any, ...]]], ...] = (
    ("SELECT 1", [(1,)]),
    ("@@VERSION", [("Microsoft SQL Server 2019 (a stand-in) - 15.0.4000.5",)]),
    ("SERVERPROPERTY('ProductVersion')", [("15.0.4000.5",)]),
    ("schema_name()", [("dbo",)]),
    ("DATABASEPROPERTYEX(DB_NAME(), 'Updateability')", [("READ_WRITE", True)]),
    ("sys.dm_exec_sessions", [("READ COMMITTED",)]),
    ("sys.system_views", [("dm_exec_sessions",)]),
    ("test max support", [("test max support",)]),
)
"""What is asked about the server itself, and what it answers."""


def _complaint(kind: type[Exception], number: int, words: str) -> Exception:
    """A complaint as the driver makes it."""
    return kind((number, words.encode()))


@dataclass(frozen=True)
class _Statement:
    """One statement for PostgreSQL; ``bodies`` are the places whose value is converted to bytes."""

    text: str
    bodies: frozenset[str]


@cache
def translated(batch: str) -> tuple[_Statement, ...]:
    """The statements of a batch with places ``@p1`` and so on, in the words of PostgreSQL.

    :raises sqlglot.errors.ParseError: when it is no T-SQL.
    """
    batch = batch.replace("PRIMARY KEY NONCLUSTERED", "PRIMARY KEY")
    return tuple(_translated(tree) for tree in sqlglot.parse(batch, read="tsql") if tree is not None)


def _translated(tree: Any) -> _Statement:
    if isinstance(tree, exp.Command):
        raise AssertionError(f"the stand-in does not know: {tree.sql('tsql')}")
    first = lock = ""
    for hint in tree.find_all(exp.WithTableHint):
        names = {part.name.upper() for part in hint.expressions}
        assert names <= {"UPDLOCK", "HOLDLOCK", "REPEATABLEREAD", "TABLOCK"}, names
        if "TABLOCK" in names:
            assert isinstance(hint.parent, exp.Table)
            first = f"LOCK TABLE {hint.parent.name} IN SHARE MODE; "
            continue
        lock = " FOR UPDATE" if "UPDLOCK" in names else " FOR SHARE"
    for table in tree.find_all(exp.Table):
        table.set("hints", None)
    for returning in tree.find_all(exp.Returning):
        for column in returning.find_all(exp.Column):
            column.set("table", None)
    bodies = set()
    for convert in list(tree.find_all(exp.Convert)):
        if convert.this.this == exp.DataType.Type.VARBINARY:
            body = convert.expression
            if isinstance(body, exp.Parameter):
                bodies.add(body.this.name)
            convert.replace(exp.Cast(this=body.copy(), to=exp.DataType.build("bytea", dialect="postgres")))
    if isinstance(tree, exp.Create):
        tree = _created(tree)
    if isinstance(tree, exp.Drop):
        # An index has a name of its own in PostgreSQL, not one within its table.
        tree.set("cluster", None)
    text = tree.sql("postgres").replace(" NULLS FIRST", "").replace(" NULLS LAST", "").replace("%", "%%")
    return _Statement(first + re.sub(r"\$(p\w+)", r"%(\1)s", text) + lock, frozenset(bodies))


def _created(tree: exp.Create) -> exp.Create:
    """A table with the types of PostgreSQL that behave as the other server's."""
    for column in list(tree.find_all(exp.ColumnDef)):
        kind = column.args["kind"]
        if kind.this in (exp.DataType.Type.NVARCHAR, exp.DataType.Type.VARCHAR):
            size = kind.expressions[0].sql().replace("MAX", "2147483647")
            check = exp.ColumnConstraint(
                kind=exp.CheckColumnConstraint(this=sqlglot.parse_one(f"char_length({column.name}) <= {size}"))
            )
            bytewise = exp.CollateColumnConstraint(this=exp.to_identifier("C", quoted=True))
            constraints = column.args["constraints"]
            others = [each for each in constraints if not isinstance(each.kind, exp.CollateColumnConstraint)]
            column.set("kind", exp.DataType.build("bpchar", dialect="postgres", udt=True))
            column.set("constraints", [exp.ColumnConstraint(kind=bytewise), *others, check])
        elif kind.this == exp.DataType.Type.VARBINARY:
            column.set("kind", exp.DataType.build("bytea", dialect="postgres"))
        elif kind.this == exp.DataType.Type.BIT:
            column.set("kind", exp.DataType.build("smallint", dialect="postgres"))
    return tree


class Faults:
    """What goes wrong next; each is used up by the first batch that holds its words."""

    def __init__(self) -> None:
        self.lose_question = ""
        """The line breaks before the server has seen the batch."""
        self.lose_answer = ""
        """The line breaks when the server has done what the batch says."""
        self.deadlock = ""
        """The server gives the transaction up for another one's sake."""
        self.happened = 0

    def strikes(self, member: str, batch: str) -> bool:
        """Whether it is the turn of ``member``."""
        words: str = getattr(self, member)
        if not words or words not in batch:
            return False
        setattr(self, member, "")
        self.happened += 1
        return True


class Cursor:
    """A cursor of the driver."""

    arraysize = 1

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.description: Any = None
        self.rowcount = -1
        self._rows: list[tuple[Any, ...]] = []
        self.lastrowid = None

    def execute(self, batch: str, parameters: Any = None) -> None:
        """Run a batch; the rows are those of its last statement that has any."""
        self.description, self.rowcount, self._rows = None, -1, []
        values: dict[str, Any] = {}
        if isinstance(parameters, dict):
            values = {f"p_{name}": value for name, value in parameters.items()}
            batch = _NAMED.sub(r"@p_\1", batch).replace("%%", "%")
        elif parameters is not None:
            # The driver's own way of putting values in, for what it says of values that it cannot put in.
            pymssql._mssql.substitute_params(batch, tuple(parameters))
            values = {f"p{n}": value for n, value in enumerate(parameters, 1)}
            names = iter(values)
            batch = _PLACE.sub(lambda _: f"@{next(names)}", batch).replace("%%", "%")
            assert next(names, None) is None, (batch, values)
        self._connection.run(self, batch, values)

    def executemany(self, batch: str, rows: Sequence[Any]) -> None:
        """Run it for each."""
        for row in rows:
            self.execute(batch, row)

    def answer(self, rows: list[tuple[Any, ...]], width: int = 1) -> None:
        """The rows of a statement."""
        self._rows = [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in rows]
        columns = len(rows[0]) if rows else width
        self.description = [(f"c{n}", 1, None, None, None, None, None) for n in range(columns)]

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rest of the rows."""
        rows, self._rows = self._rows, []
        return rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        return self._rows.pop(0) if self._rows else None

    def close(self) -> None:
        """Nothing is open."""


class Connection:
    """A connection of the driver."""

    def __init__(self, real: Any, autocommit: bool, timeout: int, faults: Faults) -> None:
        self._real, self._autocommit, self._faults = real, autocommit, faults
        self._isolation = ""
        real.autocommit = True
        with real.cursor() as cursor:
            cursor.execute(f"SET search_path TO dbo; SET statement_timeout TO {timeout * 1000}")
        self._begin()

    def _begin(self) -> None:
        if not self._autocommit:
            with self._real.cursor() as cursor:
                cursor.execute("BEGIN")

    @property
    def _within(self) -> bool:
        """Whether a transaction is open."""
        status: int = self._real.info.transaction_status
        return bool(status != extensions.TRANSACTION_STATUS_IDLE)

    def cursor(self) -> Cursor:
        """Another cursor."""
        return Cursor(self)

    def commit(self) -> None:
        """As the driver does, which begins the next transaction at once."""
        if not self._autocommit:
            self._end("COMMIT")

    def rollback(self) -> None:
        """The same."""
        if not self._autocommit and not self._real.closed:
            self._end("ROLLBACK")

    def _end(self, how: str) -> None:
        with self._real.cursor() as cursor:
            cursor.execute(how)
        self._begin()

    def close(self) -> None:
        """Hang up."""
        self._real.close()

    def run(self, cursor: Cursor, batch: str, values: dict[str, Any]) -> None:
        """Run a batch of statements."""
        faults = self._faults
        if faults.strikes("deadlock", batch):
            with self._real.cursor() as real:
                real.execute("ROLLBACK")
            raise _complaint(pymssql.OperationalError, 1205, "Transaction was deadlocked; rerun the transaction.")
        if faults.strikes("lose_question", batch):
            self._real.close()
        lost = faults.strikes("lose_answer", batch)
        try:
            if not self._special(cursor, batch, values):
                for statement in translated(batch):
                    self._run_one(cursor, statement, values)
            if lost:
                self._real.close()
                raise psycopg2.InterfaceError("connection already closed")
        except psycopg2.Error as error:
            raise self._told(error) from error

    def _run_one(self, cursor: Cursor, statement: _Statement, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if isinstance(value, bytes) and name not in statement.bodies:
                raise _complaint(pymssql.OperationalError, 257, "Implicit conversion from varchar to varbinary(max)")
        bound = {name: psycopg2.Binary(v) if isinstance(v, bytes) else v for name, v in values.items()}
        with self._real.cursor() as real:
            real.execute(statement.text, bound)
            cursor.rowcount = real.rowcount
            if real.description:
                cursor.answer(real.fetchall(), len(real.description))

    def _special(self, cursor: Cursor, batch: str, values: dict[str, Any]) -> bool:
        """What sqlglot has no words for: transactions, locks, settings, questions about the server."""
        said = " ".join(batch.split())
        if said == "BEGIN TRANSACTION":
            # Within another one it would only count, and the next COMMIT would keep nothing.
            assert not self._within, "a transaction within a transaction"
            self._plain(cursor, f"BEGIN {self._isolation}")
        elif said == "COMMIT TRANSACTION":
            if not self._within:
                raise _complaint(pymssql.OperationalError, 3902, "The COMMIT has no corresponding BEGIN TRANSACTION.")
            self._plain(cursor, "COMMIT")
        elif said == "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION":
            if self._within or self._real.closed:
                self._plain(cursor, "ROLLBACK")
        elif said.startswith("SET "):
            for setting in said.split("; "):
                name, value = setting.removeprefix("SET ").rsplit(" ", 1)
                if setting == "SET TRANSACTION ISOLATION LEVEL SNAPSHOT":
                    self._isolation = "ISOLATION LEVEL REPEATABLE READ"
                if name.startswith("IDENTITY_INSERT") and value == "OFF":
                    self._reseed(cursor, name.split()[1].strip("[]"))
                if name == "LOCK_TIMEOUT":
                    self._plain(cursor, f"SET lock_timeout TO {int(value)}")
            self._plain(cursor, "SELECT 1")
            cursor.description = None
        elif found := _LOCK.search(said):
            name, mode, patience = (_value(word, values) for word in found.groups())
            shared = "_shared" if mode == "Shared" else ""
            cursor.answer([(self._lock(cursor, name, shared, int(patience)),)])
        elif found := _UNLOCK.search(said):
            self._plain(cursor, "SELECT pg_advisory_unlock(hashtextextended(%s, 0))", _value(found[1], values))
            if cursor.fetchall() != [(True,)]:
                raise _complaint(pymssql.OperationalError, 1223, "Cannot release the application lock")
            cursor.description = None
        elif found := re.fullmatch(r"SELECT OBJECT_ID\('(\w+)'\)", said):
            self._plain(cursor, "SELECT to_regclass(%s)::oid::bigint", found[1])
        elif "FROM sys.tables" in said:
            self._plain(cursor, "SELECT tablename FROM pg_tables WHERE schemaname = 'dbo'")
        elif said.startswith("SELECT snapshot_isolation_state FROM"):
            # As a new database of the server has it: readers see what is committed meanwhile.
            self._plain(cursor, "SELECT 0")
        elif "FROM sys.database_files" in said:
            self._plain(cursor, "SELECT pg_database_size(current_database())::bigint")
        elif found := re.search(r"FROM sys.identity_columns WHERE object_id = OBJECT_ID\('(\w+)'\)", said):
            self._plain(cursor, f"SELECT CASE WHEN is_called THEN last_value END FROM dbo.{found[1]}_n_seq")
        elif found := re.fullmatch(r"DBCC CHECKIDENT \('(\w+)', RESEED, (\d+)\) WITH NO_INFOMSGS", said):
            # A table that never had a row gives the number itself, any other one the next.
            sequence = f"dbo.{found[1]}_n_seq"
            self._plain(cursor, f"SELECT setval('{sequence}', {found[2]}, (SELECT is_called FROM {sequence}))")
            cursor.description = None
        elif "sys.objects" in said:
            # SQLAlchemy looks whether there is a table.
            name = next(value for value in values.values() if value not in ("U", "V", "dbo"))
            self._plain(cursor, "SELECT tablename FROM pg_tables WHERE schemaname = 'dbo' AND tablename = %s", name)
        else:
            for words, rows in _SYSTEM:
                if words == said or (words != "SELECT 1" and words.lower() in said.lower()):
                    self._plain(cursor, "SELECT 1")
                    cursor.answer(rows)
                    return True
            return False
        return True

    def _plain(self, cursor: Cursor, statement: str, *values: Any) -> None:
        with self._real.cursor() as real:
            real.execute(statement, values or None)
            if real.description:
                cursor.answer(real.fetchall())

    def _reseed(self, cursor: Cursor, table: str) -> None:
        """Numbers that were given by hand count as given."""
        sequence = f"dbo.{table}_n_seq"
        newest = f"(SELECT max(n) FROM dbo.{table})"
        used = f"(SELECT last_value FROM {sequence} WHERE is_called)"
        self._plain(cursor, f"SELECT setval('{sequence}', greatest({newest}, {used})) WHERE {newest} IS NOT NULL")

    def _lock(self, cursor: Cursor, name: str, shared: str, milliseconds: int) -> int:
        """0 when the lock is ours, -1 when another session has it."""
        until = time.monotonic() + milliseconds / 1000
        while True:
            self._plain(cursor, f"SELECT pg_try_advisory_lock{shared}(hashtextextended(%s, 0))", name)
            if cursor.fetchall() == [(True,)]:
                return 0
            if time.monotonic() >= until:
                return -1
            time.sleep(0.02)

    def _told(self, error: psycopg2.Error) -> Exception:
        """What the driver says of ``error``; the transaction is undone."""
        words = str(error).strip().split("\n")[0]
        late = isinstance(error, extensions.QueryCanceledError) and "lock timeout" not in words
        if late:
            # The driver gives the connection up with the answer.
            self._real.close()
        if self._real.closed:
            number = 20003 if late else 20004
            return _complaint(pymssql.OperationalError, number, f"DB-Lib error message {number}, severity 9: {words}")
        if self._within:
            with self._real.cursor() as real:
                real.execute("ROLLBACK")
            self._begin()
        name = error.diag.constraint_name or ""
        if isinstance(error, psycopg2.errors.UniqueViolation):
            number = 2627 if name.endswith(("_key", "_pkey")) else 2601
            told = f"Cannot insert duplicate key row in object 'dbo.x' with unique index '{name}'."
            return _complaint(pymssql.IntegrityError, number, f"{told} The duplicate key value is (secret).")
        for kind, number in _NUMBERS:
            if isinstance(error, kind):
                return _complaint(pymssql.OperationalError, number, words)
        return _complaint(pymssql.ProgrammingError, 102, words)


_NUMBERS: tuple[tuple[type[Exception], int], ...] = (
    (psycopg2.errors.CheckViolation, 2628),
    (psycopg2.errors.DeadlockDetected, 1205),
    (psycopg2.errors.LockNotAvailable, 1222),
    (psycopg2.errors.QueryCanceled, 1222),
    (psycopg2.errors.DiskFull, 1105),
    (psycopg2.errors.NumericValueOutOfRange, 8115),
    (psycopg2.errors.ForeignKeyViolation, 547),
    (psycopg2.errors.NotNullViolation, 515),
)


def _value(word: str, values: dict[str, Any]) -> Any:
    """The value of a word of a call: a place, or a literal."""
    return values[word[1:]] if word.startswith("@") else word.strip("'")


def connect(
    faults: Faults,
    server: str = "",
    user: str = "",
    password: str = "",
    database: str = "",
    port: str = "",
    **more: Any,
) -> Connection:
    """A connection, as the driver makes it."""
    try:
        real = psycopg2.connect(
            host=server,
            port=port,
            user=user,
            password=password,
            dbname=f"{PREFIX}{database}",
            connect_timeout=more.get("login_timeout", 60),
            application_name=more.get("appname", "pymssql"),
            client_encoding="UTF8",
        )
    except psycopg2.OperationalError as error:
        words = str(error).strip().split("\n")[0]
        number = 18456 if "authentication failed" in words else 20009
        raise _complaint(pymssql.OperationalError, number, words) from None
    return Connection(real, more.get("autocommit", False), more.get("timeout", 0), faults)


@contextmanager
def installed(faults: Faults | None = None) -> Iterator[None]:
    """Meanwhile an import of the driver returns one that connects to the stand-in."""
    module = ModuleType("pymssql")
    module.__dict__.update({name: value for name, value in vars(pymssql).items() if not name.startswith("__")})
    module.__dict__.update(__version__=vars(pymssql)["__version__"], connect=partial(connect, faults or Faults()))
    before, sys.modules["pymssql"] = sys.modules["pymssql"], module
    try:
        yield
    finally:
        sys.modules["pymssql"] = before
