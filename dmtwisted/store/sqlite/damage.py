"""Check a SQLite file: ``python -m dmtwisted.store.sqlite.damage FILE`` reads each of its pages.

The writer checks a small file before the first question. A large file takes longer than a start may take: a separate
process of low priority checks it while the service already sells.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

SMALL = 8 << 20
"""Bytes up to which a file is checked before it is used: some tens of milliseconds."""

SIGNS = (
    "malformed",
    "is not a database",
    "disk is full",
    "disk I/O error",
    "readonly database",
    "unable to open database file",
    "Permission denied",
    "No space left",
    "Read-only file system",
    "is empty, though",
)
"""Errors of the system and of SQLite for a file of ours that is unusable."""

BROKEN = ("malformed", "is not a database")
"""Errors of SQLite for content that it cannot read."""

EMPTIED = "is empty, though a service has worked with it"


def means_damage(text: str) -> bool:
    """Whether an error about a file means that the file can only be read."""
    return any(sign in text for sign in SIGNS)


def means_broken_pages(text: str) -> bool:
    """Whether an error about a question means that the file is broken."""
    return any(sign in text for sign in BROKEN)


def quick_look(db: sqlite3.Connection) -> str:
    """The first fault in the pages of a file, in words that `means_damage` knows; empty when there is none."""
    try:
        found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else f"the database is malformed: {' '.join(found.split())}"


def open_for_reading(path: str) -> sqlite3.Connection:
    """The file as far as it can be read; nothing is written into it, nor beside it where that is possible.

    :raises sqlite3.Error: when it cannot be read.
    """
    uri = Path(path).absolute().as_uri()
    try:
        return _connected(f"{uri}?mode=ro")
    except sqlite3.Error:
        log = Path(f"{path}-wal")
        # The content of the log is not in the file: without it the newest receipts would seem to be missing.
        if log.exists() and log.stat().st_size:
            raise
        return _connected(f"{uri}?mode=ro&immutable=1")


def _connected(uri: str) -> sqlite3.Connection:
    db = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.Error:
        # Windows can neither replace nor remove a file that is open.
        db.close()
        raise
    return db


def main(path: str) -> int:
    """Print the first fault; return 1 when there is one, 2 when it cannot be found out."""
    with suppress(AttributeError, OSError):
        os.nice(10)
    try:
        with closing(open_for_reading(path)) as db:
            found = quick_look(db)
    except sqlite3.Error as error:
        found = str(error)
        if not means_damage(found):
            print(found)
            return 2
    print(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
