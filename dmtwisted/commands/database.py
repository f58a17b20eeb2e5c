"""``dmtwisted db``: show the database, check it, upgrade it, move it into another one."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from twisted.python import usage

from dmtwisted.changes import Action, Area, command_change
from dmtwisted.commands.options import PLACE, CommandOptions, Group, options_class
from dmtwisted.commands.progress import ProgressBar
from dmtwisted.commands.shared import configuration, expect_database, moment, operator, stamp, status_of
from dmtwisted.config import SQLITE
from dmtwisted.store.carry import checking, moving
from dmtwisted.store.carry.looking import expect_nothing_pending, fitness, look
from dmtwisted.store.carry.upgrading import due, upgrade_to
from dmtwisted.store.opening import open_rows
from dmtwisted.store.rows import CarryError
from dmtwisted.system.files import replace

MOST_LISTED = 20
"""Operations that are listed one by one."""

PATIENCE = 2.0
"""Seconds to wait for a process that is about to close the database."""


StatusOptions = options_class(
    "Show what the database contains. The service may be running.", flags=[["json", None, "Print JSON."]]
)
UpgradeOptions = options_class(
    "Upgrade the database to the schema of this version, as the service does when it starts. A SQLite file is copied "
    "first.",
)
CheckOptions = options_class(
    "Read every row and verify the file, its indexes, references and seals. Exit status 1 when something is wrong. "
    "The service may be running.",
)


class MoveOptions(CommandOptions):
    """``dmtwisted db move``"""

    synopsis = "--to URL [options]"
    longdesc = (
        "Copy every row into the empty database at URL, of the same kind or another. The service must be stopped. "
        "After an interruption the same command continues. The source does not change."
    )
    optParameters: ClassVar = [
        *PLACE,
        [
            "to",
            None,
            None,
            "sqlite:///FILE or {postgresql|mssql}://USER:PASSWORD@HOST/DATABASE; - reads stdin.",
        ],
    ]
    written: ClassVar = {"to": "URL"}
    optFlags: ClassVar = [["anew", None, "Start from the first row, even if an earlier run has copied some."]]

    def postOptions(self) -> None:
        """Require the target."""
        if not self["to"]:
            raise usage.UsageError("--to URL is expected")


class DatabaseOptions(Group):
    """``dmtwisted db``"""

    subCommands: ClassVar[list[Any]] = [
        ["status", None, StatusOptions, "Show what the database contains."],
        ["upgrade", None, UpgradeOptions, "Upgrade it to the schema of this version."],
        ["check", None, CheckOptions, "Read and verify every row."],
        ["move", None, MoveOptions, "Copy every row into another database."],
    ]


def run(options: DatabaseOptions) -> int:
    """Run the sub-command; 1 after one line that says why it failed."""
    commands: dict[str, Callable[[usage.Options], int]] = {
        "status": status,
        "upgrade": upgrade,
        "check": check,
        "move": move,
    }
    command = str(options.subCommand)
    left = INTERRUPTED_LEAVES.get(command, "nothing was changed")
    return status_of(lambda: commands[command](options.subOptions), CarryError, interrupted=left)


INTERRUPTED_LEAVES = {
    "upgrade": "each step is done or not done; repeat the command, or start the service",
    "move": "the old database did not change; the same command continues the copy",
}
"""What Ctrl-C leaves behind."""


def status(options: usage.Options) -> int:
    """Show what the database contains."""
    with open_rows(expect_database(configuration(options)).database_url, reading=True) as rows:
        found = look(rows)
    if options["json"]:
        print(json.dumps(asdict(found), ensure_ascii=False))
        return 0
    unfit = fitness(found.revision)
    print(f"{found.name}, {found.size / 1e6:,.1f} MB")
    print(f"schema {found.revision or 'none'}: it {unfit or 'is of this version'}")
    for name, count in found.rows.items():
        print(f"{count:>12,} {name}")
    if found.oldest is not None and found.newest is not None:
        print(f"documents from {moment(found.oldest)} to {moment(found.newest)}")
    print(f"{len(found.unfinished)} unfinished operations")
    for one in found.unfinished[:MOST_LISTED]:
        print(f"  {one.device}: {one.kind} {one.key}, {one.state} since {moment(one.at)}")
    for claim in found.claims:
        print(f"{claim.device} {'was last with' if claim.released else 'is with'} {claim.instance}")
    return 1 if unfit else 0


def check(options: usage.Options) -> int:
    """Read and verify every row."""
    url = expect_database(configuration(options)).database_url
    with ProgressBar() as progress, open_rows(url, reading=True) as rows:
        print(rows.name)
        found = checking.check(rows, progress)
    _print_sums(found.sums.items())
    for fault in found.faults:
        print(f"WRONG: {fault}")
    print("no faults" if not found.faults else f"{len(found.faults)} faults")
    return 1 if found.faults else 0


def _print_sums(sums: Iterable[tuple[str, Any]]) -> None:
    for name, total in sums:
        print(f"{total.rows:>12,} {name:<10} {total.hex[:32]}")


def upgrade(options: usage.Options) -> int:
    """Upgrade the database to the schema of this version."""
    config = expect_database(configuration(options), to_make=True)
    url = config.database_url
    with open_rows(url) as rows:
        rows.keep_others_out(PATIENCE)
        expect_nothing_pending(config.state)
        begun = rows.revision()
        steps = due(begun)
        if not steps:
            unfit = fitness(begun)
            if unfit:
                raise CarryError(f"{rows.name} {unfit}")
            print(f"{rows.name} is of this version already (schema {begun})")
            return 0
        if begun is not None and config.sqlite_file is not None:
            print(f"copy of the old file: {back_up_old(config.sqlite_file, begun)}", flush=True)
        with ProgressBar("revisions") as progress:
            for number, step in enumerate(steps):
                progress(step, number, len(steps))
                upgrade_to(url, step)
        print(f"{rows.name}: upgraded from schema {begun or 'none'} to {steps[-1]}")
    return 0


def back_up_old(file: Path, revision: str) -> Path:
    """A copy of a SQLite file of an older version, whose rows this version cannot read.

    :raises CarryError: when it cannot be made, or the copy is damaged.
    """
    copy = file.with_name(f"{file.name}.before-upgrade-{revision}-{stamp(int(time.time() * 1000))}")
    fresh = copy.with_name(f"{copy.name}.new")
    try:
        os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(fresh)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
            found = target.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise CarryError(f"{file} is damaged and was not changed: {found}")
        # Windows syncs a file that is open for writing only.
        with fresh.open("r+b") as stream:
            os.fsync(stream.fileno())
        replace(fresh, copy)
    except sqlite3.Error as error:
        raise CarryError(f"{file}: {error}") from error
    finally:
        fresh.unlink(missing_ok=True)
    return copy


def move(options: usage.Options) -> int:
    """Copy every row into another database."""
    config = expect_database(configuration(options))
    to = sys.stdin.readline().strip() if options["to"] == "-" else str(options["to"])
    if to.startswith(SQLITE):
        to = f"{SQLITE}{Path(to.removeprefix(SQLITE)).absolute()}"
    with ProgressBar() as progress, open_rows(config.database_url) as source, open_rows(to) as target:
        print(f"from {source.name}\nto   {target.name}", flush=True)
        source.keep_others_out(moving.PATIENCE)
        expect_nothing_pending(config.state)
        facts = {"before": {"database": source.name}, "after": {"database": target.name}}
        change = command_change(operator(), Area.DATABASE, Action.MOVED, int(time.time() * 1000), **facts)
        moved = moving.move(
            source, target, lambda: upgrade_to(to, "head"), progress, bool(options["anew"]), change=change
        )
    _print_sums(moved.sums.items())
    print(f"moved and compared: equal ({moved.carried:,} rows by this run)")
    print("the old database did not change; this setting makes the service use the new one:\n")
    print(f"[database]\nurl = {json.dumps(to, ensure_ascii=False)}" if to.startswith(SQLITE) else _line(to))
    return 0


def _line(url: str) -> str:
    """The setting that names a server's database, without its password."""
    return f'[database]\nurl = "{url.partition("://")[0]}://…"    # the URL given by --to'
