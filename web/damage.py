"""What every page shows while the database is damaged: what is wrong, and how a backup is restored."""

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
    """The one page there is then. Nobody has to log in for it: the login may be what cannot be read.

    What it tells of files is for those alone who would not have to log in.
    """

    isLeaf = True
    open_to_all = True

    def __init__(self, core: Core, default_language: str) -> None:
        super().__init__()
        self._core = core
        self._pages = Pages(default_language, core.config.service.training, lambda: False, lambda: False)

    def render(self, request: Request) -> bytes:
        """The page, as something that is not available now."""
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
    """The newest backups in the state folder; what is none of ours is passed over."""
    # Needed on a bad day only.
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
