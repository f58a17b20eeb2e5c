"""Backups that a page asks for: made in a separate process while the service sells, listed, and handed out.

The process (`dmtwisted.backup_process`) does what ``dmtwisted backup`` does: the archive is read and compared with
the database before it gets its name. An interrupted backup has no name and is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from dmtwisted.changes import Action, Area, NotDone
from dmtwisted.config import BACKUPS, Config
from dmtwisted.core import Core
from dmtwisted.results import Refused, Res, Text
from dmtwisted.store.carry.archive import read_manifest
from dmtwisted.store.rows import CarryError
from dmtwisted.store.urls import SQLITE
from dmtwisted.store.values import StoreFailed
from dmtwisted.system.apart import apart
from dmtwisted.system.processes import BACKGROUND

PATIENCE = 3600.0
"""Seconds after which a backup is aborted."""

LISTED = 50
"""Backups that are listed, the newest."""

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}\.tar\.gz")
"""The names of backups in the folder."""

WORK = "dmtwisted.backup_process:back_up"
"""The function that makes a backup. Only its process loads what that takes."""


class Order(msgspec.Struct, frozen=True):
    """The arguments of the process; ``now`` in milliseconds since 1970."""

    url: str
    state: str
    log: str
    now: int
    database: str

    def __repr__(self) -> str:
        # The URL may hold a password.
        return "Order()"


class BackupProgress(msgspec.Struct, frozen=True):
    """The progress of a backup, as the process reports it line by line."""

    doing: str = ""
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class Found:
    """A backup in the folder; ``at`` in milliseconds since 1970, ``size`` in bytes.

    ``whole``: its manifest can be read; the content was checked when it was made.
    """

    name: str
    size: int
    at: int
    rows: int
    whole: bool


def order_of(config: Config, now: int) -> Order:
    """The order for a backup of the service with this configuration."""
    url = config.database.url if config.sqlite_file is None else f"{SQLITE}{config.sqlite_file}"
    database = str(config.sqlite_file or config.state / "dmtwisted.db")
    return Order(url, str(config.state), config.log.file, now, database)


class Backups:
    """The backups of a running service."""

    log = Logger()

    def __init__(self, core: Core, publish: Callable[..., None]) -> None:
        self._core, self._publish = core, publish
        self.running: BackupProgress | None = None
        """The progress of the backup that is being made."""
        self.trouble = ""
        """Why the last backup failed; empty when it did not."""

    @property
    def folder(self) -> Path:
        """The folder of the backups."""
        return (self._core.state or self._core.config.state) / BACKUPS

    def begin(self) -> None:
        """Begin a backup in the background.

        :raises Refused: when one is being made already.
        """
        if self.running is not None:
            raise Refused(Res.NOT_NOW, note=Text("резервна копія вже створюється", "a backup is being made"))
        self.running, self.trouble = BackupProgress(), ""
        Deferred.fromCoroutine(self.make()).addErrback(lambda why: self.log.failure("a backup failed", why))

    async def make(self) -> str:
        """Make a backup; return the reason of a failure, empty when it is done."""
        self.running = self.running or BackupProgress()
        why = "it was interrupted"
        try:
            async with self._core.changes.about(Area.BACKUP, Action.CREATED):
                order = msgspec.json.encode(order_of(self._core.config, self._core.clock.now()))
                said = await apart(self._core.reactor, WORK, order, PATIENCE, self._heard, BACKGROUND)
                why = "it took too long, or was interrupted" if said is None else said.decode("utf-8", "replace")
                if why:
                    raise NotDone(why)
        except StoreFailed as error:
            why = str(error)
        finally:
            self.running, self.trouble = None, why
            self._publish("backup", doing="", done=0, total=0, ended=True, error=why)
        if why:
            self.log.error("no backup was made: {why}", why=why)
        else:
            self.log.info("a backup was made")
        return why

    def _heard(self, line: bytes) -> None:
        try:
            self.running = msgspec.json.decode(line, type=BackupProgress)
        except msgspec.MsgspecError:
            # Output of a library.
            return
        now = self.running
        self._publish("backup", doing=now.doing, done=now.done, total=now.total, ended=False, error="")

    async def found(self) -> list[Found]:
        """The newest backups in the folder, newest first."""
        return await self._core.clock.aside(_found, self.folder)

    def file(self, name: str) -> Path | None:
        """The file of a backup; `None` when there is no backup of that name."""
        path = self.folder / name
        return path if NAME.fullmatch(name) and not path.is_symlink() and path.is_file() else None


def _found(folder: Path) -> list[Found]:
    found = []
    for path in sorted(folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime, reverse=True)[:LISTED]:
        if not NAME.fullmatch(path.name) or path.is_symlink() or not path.is_file():
            continue
        about = path.stat()
        try:
            manifest = read_manifest(path)
        except (CarryError, OSError):
            found.append(Found(path.name, about.st_size, int(about.st_mtime * 1000), 0, False))
            continue
        rows = sum(mark.rows for mark in manifest.tables.values())
        found.append(Found(path.name, about.st_size, manifest.made, rows, True))
    return found
