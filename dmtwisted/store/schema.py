"""The one schema of every database, as SQLAlchemy tables; alembic revisions carry it forward.

Migrations and commands import this. The service does not: its SQL is written out (for example in
:mod:`dmtwisted.store.sqlite.statements`), so that neither of its processes loads SQLAlchemy.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    NVARCHAR,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    create_mock_engine,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Dialect

from dmtwisted.store.shapes import Shape

metadata = MetaData()

# SQLite numbers rows by itself only in a column of exactly this type.
_number = BigInteger().with_variant(Integer, "sqlite")


def _text(length: int) -> String:
    """Text that is compared byte by byte: no two texts are equal, however alike they look.

    Indexes over it also survive a new version of the system's language tables. An index over a language's collation
    may no longer find its entries after such a change.
    """
    text = String(length).with_variant(String(length, collation="C"), "postgresql")
    # MS SQL counts pairs of bytes, and a character may take two of them; one more is for the mark of `mssql.texts`.
    return text.with_variant(NVARCHAR(2 * length + 1, collation="Latin1_General_100_BIN2"), "mssql")


def _index_of_some(name: str, where: str, *columns: Column[Any], unique: bool = False) -> Index:
    """An index over the rows that fulfil a condition."""
    condition = text(where)
    return Index(
        name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition, mssql_where=condition
    )


def _on_a_server(*_: object, dialect: Dialect, **__: object) -> bool:
    return dialect.name != "sqlite"


device = Table(
    "device",
    metadata,
    Column("n", _number, primary_key=True, autoincrement=True, comment="never used again, even after deletion"),
    Column("dev_id", _text(36), nullable=False, unique=True, comment="GUID shown to clients"),
    Column("name", _text(200), nullable=False, unique=True, comment="`device` of requests"),
    Column("kind", _text(16), nullable=False, comment="register, printer, terminal, other"),
    Column("driver", _text(64), nullable=False, comment="name of the driver within its kind"),
    Column("settings", LargeBinary, nullable=False, comment="JSON of the driver's settings"),
    sqlite_autoincrement=True,
)

setting = Table(
    "setting",
    metadata,
    Column("name", _text(64), primary_key=True, comment="name of the service setting"),
    Column("value", LargeBinary, nullable=False, comment="JSON of its value"),
)

operation = Table(
    "operation",
    metadata,
    Column("n", _number, primary_key=True, autoincrement=True, comment="order of the journal"),
    Column("device_n", _number, nullable=False, comment="the device; stays when the device is deleted"),
    Column("kind", _text(8), nullable=False, comment="fiscal, untagged, pay, doc, pkg, change, event"),
    Column("task", Integer, nullable=False, comment="task number inside the kind"),
    Column("key", _text(200), nullable=False, comment="tag or transaction_id"),
    Column("fingerprint", LargeBinary, nullable=False, comment="hash of what was asked for"),
    Column("state", _text(8), nullable=False, comment="intended, done, refused, unknown"),
    Column("at", BigInteger, nullable=False, comment="begin, milliseconds since 1970"),
    Column("ended_at", BigInteger, nullable=True, comment="outcome, milliseconds since 1970"),
    Column("res", Integer, nullable=False, server_default="0", comment="result code of the outcome"),
    Column("answer", LargeBinary, nullable=True, comment="the answer as it was given, byte for byte"),
    Column("request", LargeBinary, nullable=True, comment="JSON: what was asked for, and how far it came"),
    Column("token", LargeBinary, nullable=True, comment="mark of the request, for when a server's answer is lost"),
    sqlite_autoincrement=True,
)

# The database itself ensures one receipt for one tag; a refused receipt frees its tag. By their key all others are in
# one of the next two indexes, so that a sale writes its tag once.
_index_of_some(
    "operation_fiscal_tag",
    "kind IN ('fiscal', 'untagged') AND state <> 'refused'",
    operation.c.device_n,
    operation.c.kind,
    operation.c.key,
    unique=True,
)
_index_of_some(
    "operation_key",
    "kind <> 'fiscal' AND kind <> 'untagged'",
    operation.c.device_n,
    operation.c.kind,
    operation.c.key,
)
# Lists of refused operations are counted by this index alone, too.
_index_of_some(
    "operation_refused",
    "state = 'refused'",
    operation.c.device_n,
    operation.c.kind,
    operation.c.key,
    operation.c.n,
    operation.c.state,
    operation.c.at,
)
_index_of_some("operation_unresolved", "state IN ('intended', 'unknown')", operation.c.device_n)

# Lists of operations are counted and paged by this index alone. In SQLite the two before it tell the states, so that
# an outcome changes nothing here. A server writes an entry for each new version of a row anyway.
_listed = operation.c.device_n, operation.c.kind, operation.c.n
Index("operation_list", *_listed, operation.c.at).ddl_if("sqlite")
Index("operation_list", *_listed, operation.c.state, operation.c.at).ddl_if(callable_=_on_a_server)

# The last payment of a terminal, the last jobs of a printer; sales write nothing into this index.
_index_of_some("operation_latest", "kind IN ('pay', 'doc')", operation.c.device_n, operation.c.n)

document = Table(
    "document",
    metadata,
    Column("n", _number, primary_key=True, autoincrement=True, comment="order in which they were drawn up"),
    Column("operation_n", _number, ForeignKey("operation.n"), nullable=False, comment="operation it is part of"),
    Column("device_n", _number, nullable=False, comment="the register"),
    Column("number", BigInteger, nullable=False, comment="local number, continuous over the register's life"),
    Column("kind", _text(16), nullable=False, comment="open, sale, return, cash_in, cash_out, z, close, ..."),
    Column("shift", BigInteger, nullable=False, comment="number of the shift's Z"),
    Column("at", BigInteger, nullable=False, comment="time of the document, milliseconds since 1970"),
    Column("sum", BigInteger, nullable=False, comment="kopecks"),
    Column("state", _text(8), nullable=False, comment="as for operations"),
    Column("fiscal_number", _text(64), nullable=False, server_default="", comment="given by the tax service"),
    Column("value", LargeBinary, nullable=False, comment="JSON of the document"),
    Column("sent", LargeBinary, nullable=False, comment="the exact bytes for the wire"),
    Index("document_operation", "operation_n"),
    sqlite_autoincrement=True,
)

# A document gets its number with its outcome.
_index_of_some("document_fiscal_number", "fiscal_number <> ''", document.c.fiscal_number)

# Lists of receipts are counted and paged by this index alone. SQLite would look the state up if it were not in it.
_index_of_some(
    "document_done",
    "state = 'done'",
    document.c.at,
    document.c.n,
    document.c.device_n,
    document.c.kind,
    document.c.state,
)

# A summary report reads the Z-reports of years, not the receipts between them.
_index_of_some("document_z", "kind = 'z'", document.c.device_n, document.c.shift)

# A local number is used once; a refused document gives it back.
_index_of_some("document_number", "state <> 'refused'", document.c.device_n, document.c.number, unique=True)

register = Table(
    "register",
    metadata,
    Column("device_n", _number, primary_key=True, autoincrement=False, comment="the register"),
    Column("state", LargeBinary, nullable=False, comment="JSON: shift, numbers, totals, cash"),
)

sold_code = Table(
    "sold_code",
    metadata,
    Column("device_n", _number, autoincrement=False, comment="the register"),
    Column("shift", BigInteger, autoincrement=False, comment="number of the shift's Z"),
    Column("code", _text(255), comment="item code"),
    Column("taxgrp", Integer, nullable=False, comment="tax group under which the shift sold it"),
    # This key is too long for MS SQL to keep the rows themselves in its order.
    PrimaryKeyConstraint("device_n", "shift", "code", mssql_clustered=False),
)

# A row for each mark that a receipt holds; it is deleted when the mark may be sold again.
mark = Table(
    "mark",
    metadata,
    Column("mark", _text(64), comment="the excise mark, as the till sent it"),
    Column("place", BigInteger, autoincrement=False, comment="0: the whole; else the operation that sold a part"),
    Column("device_n", _number, nullable=False, comment="the register"),
    Column("operation_n", _number, nullable=False, comment="the operation; stays when that is removed"),
    Column("number", BigInteger, nullable=False, comment="local number of the receipt"),
    Column("fiscal_number", _text(64), nullable=False, comment="of the receipt, empty while it is reserved"),
    Column("at", BigInteger, nullable=False, comment="time of the receipt, milliseconds since 1970"),
    Column("state", _text(8), nullable=False, comment="reserved, sold"),
    # The database itself ensures that a mark is sold once.
    PrimaryKeyConstraint("mark", "place", name="mark_once"),
    Index("mark_operation", "operation_n"),
    Index("mark_at", "at"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("n", _number, primary_key=True, autoincrement=True, comment="order of writing"),
    Column("kind", _text(16), nullable=False, comment="who sends it"),
    Column("device_n", _number, nullable=False, comment="the device whose settings say where to; 0: none"),
    Column("due", BigInteger, nullable=False, comment="milliseconds since 1970, not to be tried earlier"),
    Column("attempts", Integer, nullable=False, comment="tries that have begun"),
    Column("state", _text(8), nullable=False, comment="waiting, dead"),
    Column("why", _text(400), nullable=False, comment="how the last try failed"),
    Column("payload", LargeBinary, nullable=False, comment="what only its sender understands"),
    Index("outbox_due", "state", "due"),
    sqlite_autoincrement=True,
)

hook_cursor = Table(
    "hook_cursor",
    metadata,
    Column("subscriber", _text(36), comment="its id in the settings"),
    Column("device_n", _number, autoincrement=False, comment="the device whose events these are"),
    Column("told", BigInteger, nullable=False, comment="place of the last event that needs no more"),
    Column(
        "told_at", BigInteger, nullable=False, comment="when one was taken last, milliseconds since 1970; 0: never"
    ),
    Column("attempts", Integer, nullable=False, comment="tries that failed since then"),
    Column("since", BigInteger, nullable=False, comment="when the first of them was; 0: there is none"),
    Column("due", BigInteger, nullable=False, comment="not to be tried earlier"),
    Column("why", _text(400), nullable=False, comment="how the last one failed"),
    PrimaryKeyConstraint("subscriber", "device_n"),
)

# Added to, never changed; retention removes the oldest of a device (`dmtwisted.store.seals`).
seal = Table(
    "seal",
    metadata,
    Column("n", _number, primary_key=True, autoincrement=True, comment="order of the chain"),
    Column("device_n", _number, nullable=False, comment="the device whose chain it is in"),
    Column("operation_n", _number, nullable=False, comment="the operation; 0: a mark of retention"),
    Column("content", LargeBinary, nullable=False, comment="SHA-256 of the operation with its documents"),
    Column("chain", LargeBinary, nullable=False, comment="SHA-256 of the seal before it and of this one"),
    Column("event", Integer, nullable=False, server_default="0", comment="0: none; 1 done, 2 refused, 3 unknown"),
    Index("seal_operation", "operation_n"),
    sqlite_autoincrement=True,
)

chain = Table(
    "chain",
    metadata,
    Column("device_n", _number, primary_key=True, autoincrement=False, comment="the device"),
    Column("count", BigInteger, nullable=False, comment="how many seals it was ever given"),
    Column("hash", LargeBinary, nullable=False, comment="chain of the newest seal"),
    Column("anchor", LargeBinary, nullable=False, comment="chain of the last seal that retention removed"),
    Column("removed", BigInteger, nullable=False, comment="how many seals retention removed"),
)

# Only a database that several services may share has rows here.
claim = Table(
    "claim",
    metadata,
    Column("device_n", _number, primary_key=True, autoincrement=False, comment="the device"),
    Column("instance", _text(255), nullable=False, comment="the service that works with it, or did so last"),
    Column("released", Boolean, nullable=False, comment="whether that service released it in order"),
    Column("turn", BigInteger, nullable=False, comment="how often it was taken, by any service"),
)

OWN_BUSINESS = frozenset({"claim"})
"""Tables about which service works with what at the moment; they are never copied."""


@cache
def shapes() -> tuple[Shape, ...]:
    """Every table with data of the shop, each after the tables that its rows refer to."""
    found = []
    for table in metadata.sorted_tables:
        if table.name in OWN_BUSINESS:
            continue
        key = tuple(column.name for column in table.primary_key)
        found.append(
            Shape(
                table.name,
                tuple(column.name for column in table.columns),
                tuple(column.type.python_type for column in table.columns),
                tuple(column.type.__visit_name__ == "big_integer" for column in table.columns),
                key,
                # SQLAlchemy's own default is "auto", which means yes for the one number of a key.
                len(key) == 1 and table.columns[key[0]].autoincrement is True,
            )
        )
    return tuple(found)


def all_tables() -> frozenset[str]:
    """The names of all tables of the schema."""
    return frozenset(shape.name for shape in shapes()) | OWN_BUSINESS


@cache
def ddl() -> tuple[str, ...]:
    """The statements that make the whole schema in an empty SQLite database."""
    made: list[str] = []
    dialect = sqlite.dialect()
    engine = create_mock_engine("sqlite://", lambda element, *_: made.append(str(element.compile(dialect=dialect))))
    metadata.create_all(engine, checkfirst=False)
    tables = [statement for statement in made if "CREATE TABLE" in statement]
    return *tables, *sorted(set(made) - set(tables))
