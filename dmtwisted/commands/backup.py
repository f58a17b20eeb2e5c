"""``dmtwisted backup`` and ``dmtwisted restore``: everything the service keeps, in one file and back."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.clock import kyiv
from dmtwisted.commands.database import PLACE, configuration, url_of
from dmtwisted.commands.progress import Progress
from dmtwisted.config import Config, ConfigError
from dmtwisted.system.files import replace


class BackupOptions(usage.Options):
    """``dmtwisted backup``"""

    synopsis = "Usage: dmtwisted backup [--to FILE] [options]"
    longdesc = (
        "Make a backup of database, keys and certificates while the service works, and check it. Whoever has the "
        "file can sign as the shop: keep it as carefully as the keys."
    )
    optParameters: ClassVar = [
        *PLACE,
        [
            "to",
            None,
            None,
            "The file to write; without it one named after the time, in backups/ of the state folder.",
        ],
    ]


class RestoreOptions(usage.Options):
    """``dmtwisted restore``"""

    synopsis = "Usage: dmtwisted restore FILE [--yes] [options]"
    longdesc = (
        "Check a backup and put it in the place of what is there. The service has to be stopped. What is replaced is "
        "kept beside it. A PostgreSQL database has to be empty."
    )
    optParameters: ClassVar = [*PLACE]
    optFlags: ClassVar = [["yes", "y", "Do it without asking."]]

    def parseOptions(self, options: Sequence[str] | None = None) -> None:
        """Take the file before the options as well as after them."""
        words = list(options or ())
        if words and not words[0].startswith("-"):
            words.append(words.pop(0))
        super().parseOptions(words)

    def parseArgs(self, file: str) -> None:  # type: ignore[override]
        """One file."""
        self["file"] = file


def run(options: usage.Options) -> int:
    """Do it; 1 and one line of why when it cannot be done."""
    from dmtwisted.store.rows import CarryError

    act: Callable[[usage.Options], int] = restore if isinstance(options, RestoreOptions) else backup
    try:
        return act(options)
    except (CarryError, ConfigError) as error:
        why = str(error)
    except OSError as error:
        why = f"{error.filename or 'a file'}: {error.strerror or error}"
    except KeyboardInterrupt:
        why = "broken off"
    print(f"dmtwisted: {why}", file=sys.stderr)
    return 1


def backup(options: usage.Options) -> int:
    """Make a backup."""
    from dmtwisted.store.carry.backing_up import FOLDER, make_backup
    from dmtwisted.store.opening import open_rows

    config = configuration(options)
    now = int(time.time() * 1000)
    target = Path(options["to"]) if options["to"] else config.state / FOLDER / f"dmtwisted-{_stamp(now)}.tar.gz"
    progress = Progress("steps")
    try:
        with open_rows(url_of(config), reading=True) as rows:
            manifest = make_backup(rows, config.state, no_state(config), target.absolute(), now, progress)
    finally:
        progress.done()
    rows_kept = sum(mark.rows for mark in manifest.tables.values())
    print(f"{target}: {target.stat().st_size / 1e6:,.2f} MB, {rows_kept:,} rows, {len(manifest.files) - 1:,} files")
    print("checked: the copy is whole, and its rows are those of the database")
    return 0


def restore(options: usage.Options) -> int:
    """Put a backup in its place."""
    from dmtwisted.store.carry.archive import read_manifest
    from dmtwisted.store.carry.restoring import restore_file, restore_rows
    from dmtwisted.store.carry.upgrading import upgrade_to
    from dmtwisted.store.opening import open_rows

    config = configuration(options)
    path = Path(options["file"])
    manifest = read_manifest(path)
    print(f"{path}: made {_moment(manifest.made)} by version {manifest.version} of {manifest.database}")
    last = "no document" if manifest.newest is None else f"the last document is of {_moment(manifest.newest)}"
    print(f"{sum(mark.rows for mark in manifest.tables.values()):,} rows; {last}", flush=True)
    print(WARNING)
    if not options["yes"] and not _agreed():
        print("dmtwisted: nothing was done; --yes goes on without asking", file=sys.stderr)
        return 1
    now, progress = int(time.time() * 1000), Progress("steps")

    def upgrade(url: str) -> None:
        upgrade_to(url, "head")

    try:
        if config.sqlite_file is not None:
            file, log = config.sqlite_file, no_state(config)
            old = restore_file(path, config.state, file, log, upgrade, now, progress)
        else:
            url = url_of(config)
            with open_rows(url) as rows:
                old = restore_rows(
                    path, config.state, rows, no_state(config), lambda: upgrade(url), upgrade, now, progress
                )
    finally:
        progress.done()
    print(f"restored; what was there before is in {old}" if old.exists() else "restored; nothing was there before")
    return 0


WARNING = """
What was sold after this moment is not in the backup. Each register asks the tax service for its number before it does
anything, and stops when documents are missing here (docs/databases.md)."""


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return False
    return input("Put it in the place of what is there now? (yes/no) ").strip().lower() == "yes"


def no_state(config: Config) -> list[Path]:
    """Files of the state folder that belong into no backup."""
    # The usual file too where the database is elsewhere: it stayed there as an archive when that moved.
    files = [config.sqlite_file or config.state / "dmtwisted.db", config.state / "dmtwisted.db"]
    return files + ([Path(config.log.file)] if config.log.file else [])


def back_up_old(file: Path, revision: str) -> Path:
    """A copy of a SQLite file of an older version, which this version cannot look into.

    :raises CarryError: when it cannot be made, or the copy is damaged.
    """
    from dmtwisted.store.rows import CarryError

    copy = file.with_name(f"{file.name}.before-upgrade-{revision}-{_stamp(int(time.time() * 1000))}")
    fresh = copy.with_name(f"{copy.name}.new")
    try:
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(fresh)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
            found = target.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise CarryError(f"{file} is damaged, and is not touched: {found}")
        with fresh.open("rb") as stream:
            os.fsync(stream.fileno())
        replace(fresh, copy)
    except sqlite3.Error as error:
        raise CarryError(f"{file}: {error}") from error
    finally:
        fresh.unlink(missing_ok=True)
    return copy


def _stamp(at: int) -> str:
    return f"{kyiv(at):%Y%m%d-%H%M%S}"


def _moment(at: int) -> str:
    return f"{kyiv(at):%Y-%m-%d %H:%M:%S}"
