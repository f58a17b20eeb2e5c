"""``dmtwisted db``: look at the database, check it, bring it up to date, move it into another one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from twisted.python import usage

from dmtwisted.clock import kyiv
from dmtwisted.commands.progress import Progress
from dmtwisted.config import Config, ConfigError, Overrides, load
from dmtwisted.store.urls import SQLITE

PLACE: list[list[object]] = [
    ["config", "c", None, "The configuration file (TOML)."],
    ["state", None, None, "The state folder; goes before the file."],
]

MOST_TOLD = 20
"""Operations that are listed one by one."""


class StatusOptions(usage.Options):
    """``dmtwisted db status``"""

    synopsis = "Usage: dmtwisted db status [options]"
    longdesc = "Tell what there is in the database; may be asked while the service works."
    optParameters: ClassVar = [*PLACE]
    optFlags: ClassVar = [["json", None, "As JSON, for programs."]]


class UpgradeOptions(usage.Options):
    """``dmtwisted db upgrade``"""

    synopsis = "Usage: dmtwisted db upgrade [options]"
    longdesc = (
        "Bring the database to the schema of this version, as the service itself does at its start. Of a SQLite "
        "file a copy is made first."
    )
    optParameters: ClassVar = [*PLACE]


class CheckOptions(usage.Options):
    """``dmtwisted db check``"""

    synopsis = "Usage: dmtwisted db check [options]"
    longdesc = (
        "Read every row: is the file whole, do indexes and references fit, is each row what was kept? Status 1 "
        "when something is wrong. May be asked while the service works."
    )
    optParameters: ClassVar = [*PLACE]


class MoveOptions(usage.Options):
    """``dmtwisted db move``"""

    synopsis = "Usage: dmtwisted db move --to URL [options]"
    longdesc = (
        "Bring every row into the empty database at URL, of another kind or of the same one. The service has to be "
        "stopped. Broken off at any moment, the same command goes on with it. The source stays as it is."
    )
    optParameters: ClassVar = [
        *PLACE,
        ["to", None, None, "Where to: sqlite:///FILE, {postgresql|mssql}://USER:PASSWORD@HOST/DATABASE; - reads it."],
    ]
    optFlags: ClassVar = [["anew", None, "Begin from the first row, though an earlier run has brought some."]]

    def postOptions(self) -> None:
        """The target has to be named."""
        if not self["to"]:
            raise usage.UsageError("say where to: --to URL")


class DatabaseOptions(usage.Options):
    """``dmtwisted db``"""

    synopsis = "Usage: dmtwisted db status|upgrade|check|move [options]"
    subCommands: ClassVar = [
        ["status", None, StatusOptions, "Tell what there is in the database."],
        ["upgrade", None, UpgradeOptions, "Bring it to the schema of this version."],
        ["check", None, CheckOptions, "Read and check every row."],
        ["move", None, MoveOptions, "Bring every row into another database."],
    ]

    def postOptions(self) -> None:
        """One of them has to be named."""
        if not self.subCommand:
            raise usage.UsageError("say what to do: status, upgrade, check or move")


def run(options: DatabaseOptions) -> int:
    """Do it; 1 and one line of why when it cannot be done."""
    from dmtwisted.store.rows import CarryError

    commands: dict[str, Callable[[usage.Options], int]] = {
        "status": status,
        "upgrade": upgrade,
        "check": check,
        "move": move,
    }
    try:
        return commands[str(options.subCommand)](options.subOptions)
    except (CarryError, ConfigError) as error:
        why = str(error)
    except OSError as error:
        why = f"{error.filename or 'a file'}: {error.strerror or error}"
    except KeyboardInterrupt:
        why = "broken off"
    print(f"dmtwisted: {why}", file=sys.stderr)
    return 1


def configuration(options: usage.Options) -> Config:
    """What the options say of the place of the database.

    :raises ConfigError: when the configuration cannot be used.
    """
    return load(
        Path(options["config"]) if options["config"] else None,
        Overrides(state=Path(options["state"]) if options["state"] else None),
    )


def url_of(config: Config) -> str:
    """The URL of the service's database."""
    return config.database.url if config.sqlite_file is None else f"{SQLITE}{config.sqlite_file}"


def status(options: usage.Options) -> int:
    """Tell what there is."""
    from dataclasses import asdict

    from dmtwisted.store.carry.looking import fitness, look
    from dmtwisted.store.opening import open_rows

    with open_rows(url_of(configuration(options)), reading=True) as rows:
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
        print(f"documents from {_moment(found.oldest)} to {_moment(found.newest)}")
    print(f"{len(found.unfinished)} unfinished operations")
    for one in found.unfinished[:MOST_TOLD]:
        print(f"  {one.device}: {one.kind} {one.key}, {one.state} since {_moment(one.at)}")
    for claim in found.claims:
        print(f"{claim.device} {'was last with' if claim.released else 'is with'} {claim.instance}")
    return 1 if unfit else 0


def _moment(at: int) -> str:
    return f"{kyiv(at):%Y-%m-%d %H:%M:%S}"


def check(options: usage.Options) -> int:
    """Read every row."""
    from dmtwisted.store.carry.checking import check as check_rows
    from dmtwisted.store.opening import open_rows

    progress = Progress()
    with open_rows(url_of(configuration(options)), reading=True) as rows:
        print(rows.name)
        found = check_rows(rows, progress)
    progress.done()
    for name, total in found.sums.items():
        print(f"{total.rows:>12,} {name:<10} {total.hex[:32]}")
    for fault in found.faults:
        print(f"WRONG: {fault}")
    print("nothing is wrong" if not found.faults else f"{len(found.faults)} faults")
    return 1 if found.faults else 0


def upgrade(options: usage.Options) -> int:
    """Bring the database up to date."""
    from dmtwisted.store.carry.looking import expect_nothing_pending, fitness
    from dmtwisted.store.carry.upgrading import due, upgrade_to
    from dmtwisted.store.opening import open_rows
    from dmtwisted.store.rows import CarryError

    config = configuration(options)
    url = url_of(config)
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
            from dmtwisted.commands.backup import back_up_old

            print(f"the file as it was: {back_up_old(config.sqlite_file, begun)}", flush=True)
        progress = Progress("revisions")
        for number, step in enumerate(steps):
            progress(step, number, len(steps))
            upgrade_to(url, step)
        progress.done()
        print(f"{rows.name}: schema {begun or 'none'} became {steps[-1]}")
    return 0


PATIENCE = 2.0
"""Seconds to wait for somebody who is just ending with the database."""


def move(options: usage.Options) -> int:
    """Bring every row into another database."""
    from dmtwisted.store.carry import moving
    from dmtwisted.store.carry.looking import expect_nothing_pending
    from dmtwisted.store.carry.upgrading import upgrade_to
    from dmtwisted.store.opening import open_rows

    config = configuration(options)
    to = sys.stdin.readline().strip() if options["to"] == "-" else str(options["to"])
    if to.startswith(SQLITE):
        to = f"{SQLITE}{Path(to.removeprefix(SQLITE)).absolute()}"
    progress = Progress()
    with open_rows(url_of(config)) as source, open_rows(to) as target:
        print(f"from {source.name}\nto   {target.name}", flush=True)
        source.keep_others_out(moving.PATIENCE)
        expect_nothing_pending(config.state)
        moved = moving.move(source, target, lambda: upgrade_to(to, "head"), progress, bool(options["anew"]))
    progress.done()
    for name, total in moved.sums.items():
        print(f"{total.rows:>12,} {name:<10} {total.hex[:32]}")
    print(f"moved and compared: equal ({moved.carried:,} rows by this run)")
    print("the old database stays as it was; this line of the configuration makes the service use the new one:\n")
    file = to if to.startswith(SQLITE) else ""
    print(f"[database]\nurl = {json.dumps(file, ensure_ascii=False)}" if file else _line(to))
    return 0


def _line(url: str) -> str:
    """The line of the configuration that names a server's database, without its password."""
    return f'[database]\nurl = "{url.partition("://")[0]}://…"    # as it was given after --to'
