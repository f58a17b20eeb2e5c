"""``dmtwisted backup`` and ``dmtwisted restore``: everything the service keeps, in one file and back."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.changes import Action, Area, command_change
from dmtwisted.commands.console import FAILED, complain
from dmtwisted.commands.options import PLACE, CommandOptions, FileOptions
from dmtwisted.commands.progress import ProgressBar
from dmtwisted.commands.shared import configuration, expect_database, expect_state, moment, operator, stamp, status_of
from dmtwisted.config import BACKUPS, Config
from dmtwisted.store.carry.archive import read_manifest
from dmtwisted.store.carry.backing_up import make_backup
from dmtwisted.store.carry.restoring import restore_file, restore_rows
from dmtwisted.store.carry.upgrading import upgrade_to
from dmtwisted.store.opening import open_rows
from dmtwisted.store.rows import CarryError


class BackupOptions(CommandOptions):
    """``dmtwisted backup``"""

    synopsis = "[--to FILE] [options]"
    longdesc = (
        "Back up the database, keys and certificates while the service runs, and verify the backup. Anyone who has "
        "the file can sign as the shop: protect it like the keys."
    )
    optParameters: ClassVar = [
        *PLACE,
        [
            "to",
            None,
            None,
            "The file to write; by default one named by the time, in backups/ of the state folder.",
        ],
    ]


class RestoreOptions(FileOptions):
    """``dmtwisted restore``"""

    synopsis = "FILE [--yes] [options]"
    longdesc = (
        "Verify a backup and replace the current data with it. The service must be stopped. The replaced data is "
        "kept beside it. A PostgreSQL database must be empty."
    )
    optParameters: ClassVar = [*PLACE]
    optFlags: ClassVar = [["yes", "y", "Do not ask for confirmation."]]


def run(options: usage.Options) -> int:
    """Back up or restore; 1 after one line that says why it failed."""
    if isinstance(options, RestoreOptions):
        return status_of(lambda: restore(options), CarryError, interrupted=RESTORE_LEFT)
    return status_of(lambda: backup(options), CarryError, interrupted="no backup was made, and nothing was changed")


def backup(options: usage.Options) -> int:
    """Make a backup."""
    config = expect_database(expect_state(configuration(options)))
    now = int(time.time() * 1000)
    target = Path(options["to"]) if options["to"] else config.state / BACKUPS / f"dmtwisted-{stamp(now)}.tar.gz"
    with ProgressBar("steps") as progress, open_rows(config.database_url, reading=True) as rows:
        manifest = make_backup(rows, config.state, no_state(config), target.absolute(), now, progress)
    rows_kept = sum(mark.rows for mark in manifest.tables.values())
    print(f"{target}: {target.stat().st_size / 1e6:,.2f} MB, {rows_kept:,} rows, {len(manifest.files) - 1:,} files")
    print("verified: the copy is complete, and its rows are equal to those of the database")
    return 0


def restore(options: usage.Options) -> int:
    """Replace the current data with a backup."""
    config = expect_state(configuration(options), to_make=True)
    path = Path(options["file"])
    manifest = read_manifest(path)
    print(f"{path}: made {moment(manifest.made)} by version {manifest.version} of {manifest.database}")
    last = "no document" if manifest.newest is None else f"the last document is of {moment(manifest.newest)}"
    print(f"{sum(mark.rows for mark in manifest.tables.values()):,} rows; {last}", flush=True)
    print(WARNING)
    if not options["yes"] and not _agreed():
        complain("nothing was restored", "--yes skips the question.")
        return FAILED
    now, log = int(time.time() * 1000), no_state(config)

    def upgrade(url: str) -> None:
        upgrade_to(url, "head")

    facts = {"made": moment(manifest.made), "version": manifest.version, "database": manifest.database}
    change = command_change(operator(), Area.DATABASE, Action.RESTORED, now, subject=path.name, after=facts)
    with ProgressBar("steps") as progress:
        if config.sqlite_file is not None:
            old = restore_file(path, config.state, config.sqlite_file, log, upgrade, now, progress, change)
        else:
            url = config.database_url
            with open_rows(url) as rows:
                old = restore_rows(
                    path, config.state, rows, log, lambda: upgrade(url), upgrade, now, progress, change
                )
    print(f"restored; the previous data is in {old}" if old.exists() else "restored; there was no previous data")
    return 0


WARNING = """
Sales after this moment are not in the backup. Before its next document each register asks the tax service for its
number, and stops when documents are missing here (docs/databases.md)."""


RESTORE_LEFT = "nothing was replaced, or the next start of the service completes the restore"


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return False
    return input("Replace the current data with it? (yes/no) ").strip().lower() == "yes"


def no_state(config: Config) -> list[Path]:
    """Files of the state folder that do not belong in a backup."""
    # The usual file too where the database is elsewhere: it stayed there as an archive when that moved.
    files = [config.sqlite_file or config.state / "dmtwisted.db", config.state / "dmtwisted.db"]
    return files + ([Path(config.log.file)] if config.log.file else [])
