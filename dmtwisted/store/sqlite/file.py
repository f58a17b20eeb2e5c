"""A SQLite file for every process that works with it: the lock beside it, and the revision of its schema."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import IO

from dmtwisted.store.revisions import REVISION
from dmtwisted.system.files import lock_file
from dmtwisted.system.owners import lock_owner

LOCK_PATIENCE = 10.0
"""Seconds to wait for the writer of a killed service to finish its last batch and release the file."""

IN_USE = "another service uses this database"
"""Why a file cannot be locked; its owner follows."""


class Locked(Exception):
    """Another process works with this file: ``owner``, if the system tells."""

    def __init__(self, owner: str = "") -> None:
        super().__init__(f"{IN_USE}{f' ({owner})' if owner else ''}")
        self.owner = owner


def true_lock(path: str) -> str:
    """The lock beside a file's real path, even when the file is named by a link."""
    file = path.removesuffix(".lock")
    return os.path.realpath(file) + path[len(file) :]


def take_lock(path: str, patience: float) -> IO[str]:
    """The lock of a database file, held while the returned file is open.

    :raises Locked: when another process still has it after ``patience`` seconds.
    """
    held = open(true_lock(path), "a+", encoding="utf-8")  # noqa: SIM115 - the open file is the lock
    deadline = time.monotonic() + patience
    while True:
        try:
            lock_file(held.fileno())
            return held
        except OSError:
            if time.monotonic() >= deadline:
                held.close()
                raise Locked(lock_owner(true_lock(path))) from None
            time.sleep(0.02)


def sqlite_revision(path: Path) -> str | None:
    """The revision of a SQLite file; `None` when it is absent or empty.

    :raises OSError: when the system does not accept the path.
    :raises sqlite3.Error: when it is not a readable database.
    """
    if not path.exists():
        return None
    # A connection that may write and is the last to close the file brings the log into it, even into a damaged file.
    # Without a log there may be a journal, which only a connection that may write can roll back.
    mode = "ro" if _has_log(path) else "rw"
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=5)) as db:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone():
            return None
        row = db.execute(REVISION).fetchone()
        return None if row is None else str(row[0])


def _has_log(path: Path) -> bool:
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except FileNotFoundError:
        return False
