"""``/dm/api/v3/backups``: creates backups in the background, lists them, sends them to the owner alone.

A backup is enough to sign as the shop. So a caller needs a session or an API key to download one, and HTTPS from
another machine (docs/security.md).
"""

from __future__ import annotations

from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.backups import BackupProgress, Backups
from dmtwisted.changes import Action, Area
from dmtwisted.clock import stamp17
from dmtwisted.core import Core
from web.answers import json_answer, not_found
from web.gate import is_at_the_machine
from web.management import HttpRefusal, answer_errors


class BackupRecord(msgspec.Struct):
    """A backup in the folder; `whole` is whether its manifest can be read; the rest was checked when it was made."""

    name: str
    size: int
    dt: str
    rows: int
    whole: bool


class BackupStatus(msgspec.Struct):
    """`running` while a backup is being made; `error` is why the last one failed."""

    running: BackupProgress | None
    error: str


class BackupList(msgspec.Struct):
    """The newest backups, and what `BackupStatus` says."""

    backups: list[BackupRecord]
    running: BackupProgress | None
    error: str


def why_kept(core: Core, request: Any) -> str:
    """Why this caller may not download a backup; empty when it may."""
    if not core.access.on:
        return "a backup is handed out only when the login is switched on"
    if not request.isSecure() and not is_at_the_machine(request):
        return "a backup leaves this machine only over HTTPS"
    return ""


class BackupApi:
    """Backups for programs and for the settings page."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, backups: Backups, default_language: str) -> None:
        self._core, self._backups, self.default_language = core, backups, default_language

    @app.route("/dm/api/v3/backups", methods=["GET"])
    async def listed(self, request: IRequest) -> bytes:
        """The newest backups, and the progress of the running one."""
        found = [
            BackupRecord(one.name, one.size, stamp17(one.at), one.rows, one.whole)
            for one in await self._backups.found()
        ]
        return json_answer(request, 200, BackupList(found, self._backups.running, self._backups.trouble))

    @app.route("/dm/api/v3/backups", methods=["POST"])
    def begin(self, request: IRequest) -> bytes:
        """Start a backup; events report its progress. Sales go on meanwhile."""
        self._backups.begin()
        return json_answer(request, 202, BackupStatus(self._backups.running, self._backups.trouble))

    @app.route("/dm/api/v3/backups/<name>", methods=["GET"])
    async def download(self, request: IRequest, name: str) -> Any:
        """A backup as a file: only with the login switched on, and from another machine only over HTTPS."""
        why = why_kept(self._core, request)
        if why:
            raise HttpRefusal(403, why)
        path = self._backups.file(name)
        if path is None:
            return not_found(request, self.default_language)
        # Imported on demand: it would cost the idle service half a megabyte.
        from twisted.web.static import File

        await self._core.changes.keep(Area.BACKUP, Action.DOWNLOADED, subject=name)
        self._backups.log.warn("the backup {name} was downloaded", name=name)
        request.setHeader(b"content-disposition", f'attachment; filename="{name}"'.encode())
        request.setHeader(b"cache-control", b"no-store")
        file = File(str(path))
        # A browser would unpack a file with a content encoding.
        file.type, file.encoding = "application/gzip", None
        return file
