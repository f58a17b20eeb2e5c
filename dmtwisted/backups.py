"""Backups that a page asks for: made in a process of its own while the service sells, listed, handed out.

The process does what ``dmtwisted backup`` does, so the archive has been read whole and compared with the database
before it gets its name; one that was broken off has no name and is not listed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from dmtwisted.clock import kyiv
from dmtwisted.config import BACKUPS, Config
from dmtwisted.core import Core
from dmtwisted.results import Refused, Res

PATIENCE = 3600.0
"""Seconds that a backup may take before it is given up."""

PACE = 0.5
"""Seconds between two lines of progress."""

LISTED = 50
"""Backups that are listed, the newest."""

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,100}\.tar\.gz")
"""How a backup in the folder is named."""

WORK = "dmtwisted.backups:back_up"


class Order(msgspec.Struct, frozen=True):
    """What the process has to know; ``now`` in milliseconds since 1970."""

    url: str
    state: str
    log: str
    now: int
    database: str

    def __repr__(self) -> str:
        # The URL may hold a password.
        return "Order()"


class Progress(msgspec.Struct, frozen=True):
    """How far it has come, as the process tells it line by line."""

    doing: str = ""
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class Found:
    """A backup in the folder; ``at`` in milliseconds since 1970, ``size`` in bytes.

    ``whole`` is whether it still says what it is: what it holds was checked when it was made.
    """

    name: str
    size: int
    at: int
    rows: int
    whole: bool


def order_of(config: Config, now: int) -> Order:
    """A backup of the service with this configuration."""
    from dmtwisted.store.migrate import SQLITE

    url = config.database.url if config.sqlite_file is None else f"{SQLITE}{config.sqlite_file}"
    database = str(config.sqlite_file or config.state / "dmtwisted.db")
    return Order(url, str(config.state), config.log.file, now, database)


def back_up(given: bytes) -> bytes:
    """Make a backup; why not when it fails. Runs in a process of its own, which alone carries what it takes."""
    from dmtwisted.store.carry.backing_up import make_backup
    from dmtwisted.store.rows import CarryError, open_rows

    asked = msgspec.json.decode(given, type=Order)
    state = Path(asked.state)
    target = state / BACKUPS / f"dmtwisted-{kyiv(asked.now):%Y%m%d-%H%M%S}.tar.gz"
    leave_out = [Path(asked.database), state / "dmtwisted.db", *([Path(asked.log)] if asked.log else [])]
    try:
        with open_rows(asked.url, reading=True) as rows:
            make_backup(rows, state, leave_out, target, int(time.time() * 1000), _teller())
    except (CarryError, OSError) as error:
        return str(error).encode()
    return b""


def _teller() -> Callable[[str, int, int], None]:
    """Tells how far it is, now and then."""
    from dmtwisted.system.apart import tell

    last = 0.0

    def told(doing: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= PACE:
            last = time.monotonic()
            tell(msgspec.json.encode(Progress(doing, done, total)))

    return told


class Backups:
    """The backups of a running service."""

    log = Logger()

    def __init__(self, core: Core, publish: Callable[..., None]) -> None:
        self._core, self._publish = core, publish
        self.running: Progress | None = None
        """How far the one that is being made has come."""
        self.trouble = ""
        """Why the last one failed; empty when it did not."""

    @property
    def folder(self) -> Path:
        """Where they are."""
        return (self._core.state or self._core.config.state) / BACKUPS

    def begin(self) -> None:
        """Make one in the background.

        :raises Refused: when one is being made.
        """
        if self.running is not None:
            raise Refused(Res.DEVICE_BUSY, note="a backup is being made")
        self.running, self.trouble = Progress(), ""
        Deferred.fromCoroutine(self.make()).addErrback(lambda why: self.log.failure("a backup failed", why))

    async def make(self) -> str:
        """Make one; why not when it fails, empty when it is done."""
        self.running = self.running or Progress()
        why = "it broke off"
        try:
            order = msgspec.json.encode(order_of(self._core.config, self._core.clock.now()))
            said = await self._core.clock.apart(WORK, order, PATIENCE, self._heard)
            why = "it took too long, or broke off" if said is None else said.decode("utf-8", "replace")
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
            self.running = msgspec.json.decode(line, type=Progress)
        except msgspec.MsgspecError:
            # Whatever a library has to say there.
            return
        now = self.running
        self._publish("backup", doing=now.doing, done=now.done, total=now.total, ended=False, error="")

    async def found(self) -> list[Found]:
        """The newest backups in the folder, newest first."""
        return await self._core.clock.aside(_found, self.folder)

    def file(self, name: str) -> Path | None:
        """The file of a backup; `None` when there is none of that name."""
        path = self.folder / name
        return path if NAME.fullmatch(name) and not path.is_symlink() and path.is_file() else None


def _found(folder: Path) -> list[Found]:
    from dmtwisted.store.carry.archive import read_manifest
    from dmtwisted.store.rows import CarryError

    told = []
    for path in sorted(folder.glob("*.tar.gz"), key=lambda path: path.stat().st_mtime, reverse=True)[:LISTED]:
        if not NAME.fullmatch(path.name) or path.is_symlink() or not path.is_file():
            continue
        about = path.stat()
        try:
            manifest = read_manifest(path)
        except (CarryError, OSError):
            told.append(Found(path.name, about.st_size, int(about.st_mtime * 1000), 0, False))
            continue
        rows = sum(mark.rows for mark in manifest.tables.values())
        told.append(Found(path.name, about.st_size, manifest.made, rows, True))
    return told
