"""What every page shows while the database is damaged: what is wrong, and how to restore a backup."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from twisted.web.resource import Resource
from twisted.web.server import Request

from dmtwisted.core import Core
from web.pages.rendering import Pages

MOST_BACKUPS = 10
"""Backups that are shown, the newest."""


@dataclass(frozen=True)
class FoundBackup:
    """A backup in the state folder; ``made`` and ``newest`` (its last document) are milliseconds since 1970."""

    file: str
    made: int
    newest: int | None


class DamagePage(Resource):
    """The only page then. It needs no login, because the login may be what cannot be read.

    It shows names of files only where the service has no login.
    """

    isLeaf = True
    open_to_all = True

    def __init__(self, core: Core, default_language: str) -> None:
        super().__init__()
        self._core = core
        self._pages = Pages(default_language, core.config.service.training, lambda: False)

    def render(self, request: Request) -> bytes:
        """The page, with 503."""
        core = self._core
        trusted = not core.access.on
        return self._pages.page(
            request,
            "damaged.html",
            503,
            damage=core.store.damage if trusted else "",
            backups=found_backups(core.config.state) if trusted else [],
            state=str(core.config.state) if trusted else "",
        )


def found_backups(state: Path) -> list[FoundBackup]:
    """The newest backups in the state folder; other files are skipped."""
    # Imported on demand: it would cost the idle service most of a megabyte.
    from dmtwisted.store.carry.archive import read_manifest
    from dmtwisted.store.carry.backing_up import FOLDER, backups
    from dmtwisted.store.rows import CarryError

    found = []
    for path in backups(state / FOLDER)[:MOST_BACKUPS]:
        try:
            manifest = read_manifest(path)
        except (CarryError, OSError):
            continue
        found.append(FoundBackup(str(path), manifest.made, manifest.newest))
    return found
