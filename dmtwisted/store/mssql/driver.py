"""The driver of Microsoft SQL Server: whether it is installed, its arguments from a URL, the texts of its errors."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from dmtwisted.store.urls import MSSQL, NOT_A_URL
from dmtwisted.store.values import StoreFailed

DRIVER = "pymssql"
MISSING = "the driver of MS SQL is not installed: pip install 'dmtwisted[mssql]'"

PORT = 1433

REVISIONS = "SELECT OBJECT_ID('alembic_version')"
"""Asks the server whether it has a table of revisions."""

LOST_NUMBERS = frozenset(
    {0, 596, 6005, 18456, 20002, 20003, 20004, 20006, 20009, 20017, 20019, 20047},
)
"""Error numbers of DB-Library without a connection or for an overdue answer, and of a server that shuts down."""


def load_driver() -> Any:
    """The driver.

    :raises StoreFailed: when it is not installed.
    """
    try:
        # An optional dependency.
        import pymssql
    except ImportError:
        raise StoreFailed(MISSING) from None
    return pymssql


def read_url(url: str) -> dict[str, str]:
    """The parts of a ``mssql://`` URL: ``server``, ``port``, ``user``, ``password``, ``database``, ``encryption``.

    :raises ValueError: when it is not one; the text repeats nothing of it, because it may hold a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or PORT
    except ValueError:
        raise ValueError(NOT_A_URL) from None
    database = unquote(parts.path.removeprefix("/"))
    if not url.startswith(MSSQL) or not parts.hostname or parts.netloc.count("@") > 1 or parts.fragment:
        raise ValueError(NOT_A_URL)
    if not database or "/" in database:
        raise ValueError("the name of a database is expected at the end of the URL")
    options = dict(parse_qsl(parts.query))
    encryption = options.pop("encryption", "request")
    if options or encryption not in ("off", "request", "require"):
        raise ValueError("after the name of the database only ?encryption=off, request or require is expected")
    return {
        "server": unquote(parts.hostname),
        "port": str(port),
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "database": database,
        "encryption": encryption,
    }


def number_of(error: BaseException) -> int:
    """The number of an error of server or driver; 0 when it has none."""
    first: Any = error.args[0] if error.args else 0
    while isinstance(first, tuple) and first:
        first = first[0]
    return first if isinstance(first, int) else 0


def words_of(error: BaseException) -> str:
    """The first line of an error, without its number."""
    last: Any = error.args[-1] if error.args else ""
    while isinstance(last, tuple) and last:
        last = last[-1]
    text = last.decode(errors="replace") if isinstance(last, bytes) else str(last)
    # The server's own text, if there is one, comes before the driver's, on the same line.
    said, _, made = text.strip().partition("DB-Lib error message")
    lines = said.strip().splitlines() or made.splitlines()[1:] or made.splitlines()
    return lines[0].strip() if lines else type(error).__name__


def public_words(error: BaseException) -> str:
    """The part of an error that may be shown: without the values of a row, which the server quotes."""
    return words_of(error).partition(" The duplicate key value is")[0]
