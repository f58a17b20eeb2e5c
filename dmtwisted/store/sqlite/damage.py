"""Is a SQLite file whole? ``python -m dmtwisted.store.sqlite.damage FILE`` looks at each of its pages.

A small file is looked at by its writer before the first question. A large one takes longer than a start may take: it
is looked at by a process of its own, of low priority, while the service sells already.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing, suppress
from pathlib import Path

SMALL = 8 << 20
"""Bytes up to which a file is looked at before it is used: some tens of milliseconds."""

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
"""What the system and SQLite say of a file that cannot be worked with, though it is ours."""

BROKEN = ("malformed", "is not a database")
"""What SQLite says of content that it cannot make sense of."""

EMPTIED = "is empty, though a service has worked with it"


def tells_of_damage(text: str) -> bool:
    """Whether a complaint about a file means that it can be read at best."""
    return any(sign in text for sign in SIGNS)


def tells_of_broken_pages(text: str) -> bool:
    """Whether a complaint about a question means that the file is broken."""
    return any(sign in text for sign in BROKEN)


def quick_look(db: sqlite3.Connection) -> str:
    """The first fault in the pages of a file, in words that `tells_of_damage` knows; empty when there is none."""
    try:
        found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == "ok" else f"the database is malformed: {' '.join(found.split())}"


def open_for_reading(path: str) -> sqlite3.Connection:
    """The file as far as it can be read; nothing is written, neither into it nor beside it where that is possible.

    :raises sqlite3.Error: when it cannot be read.
    """
    uri = Path(path).absolute().as_uri()
    try:
        db = sqlite3.connect(f"{uri}?mode=ro", uri=True, isolation_level=None)
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
        return db
    except sqlite3.Error:
        log = Path(f"{path}-wal")
        # What the log holds is not in the file: without it the newest receipts would seem not to be there.
        if log.exists() and log.stat().st_size:
            raise
        db = sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True, isolation_level=None)
        db.execute("SELECT 1 FROM sqlite_master").fetchone()
        return db


def main(path: str) -> int:
    """Print the first fault; 1 when there is one, 2 when nobody can tell."""
    with suppress(AttributeError, OSError):
        os.nice(10)
    try:
        with closing(open_for_reading(path)) as db:
            found = quick_look(db)
    except sqlite3.Error as error:
        found = str(error)
        if not tells_of_damage(found):
            print(found)
            return 2
    print(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
