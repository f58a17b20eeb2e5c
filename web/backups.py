"""``/dm/api/v3/backups``: backups made in the background, listed, and handed out to the owner alone.

Whoever has a backup can sign as the shop, so one leaves the machine only to somebody who has logged in (or shows a
key of a service with a login), and over the network only encrypted (docs/security.md).
"""

from __future__ import annotations

from typing import Any

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.backups import BackupProgress, Backups
from dmtwisted.clock import stamp17
from dmtwisted.core import Core
from dmtwisted.results import Refused, Res
from web.answers import error_answer, json_answer, language_of, not_found
from web.gate import is_at_the_machine
from web.management import answer_errors


class BackupRecord(msgspec.Struct):
    """A backup in the folder; `whole` is whether it still says what it is: it was checked when it was made."""

    name: str
    size: int
    dt: str
    rows: int
    whole: bool


class BackupStatus(msgspec.Struct):
    """`running` while one is being made; `error` is why the last one failed."""

    running: BackupProgress | None
    error: str


class BackupList(msgspec.Struct):
    """The newest backups, and what `BackupStatus` says."""

    backups: list[BackupRecord]
    running: BackupProgress | None
    error: str


def why_kept(core: Core, request: Any) -> str:
    """Why no backup is handed out to this caller; empty when it is."""
    if not core.access.on:
        return "a backup is handed out only when the login is switched on"
    if not request.isSecure() and not is_at_the_machine(request):
        return "a backup leaves this machine only over HTTPS"
    return ""


class BackupApi:
    """Backups for programs, and for the page's button."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, backups: Backups, default_language: str) -> None:
        self._core, self._backups, self.default_language = core, backups, default_language

    @app.route("/dm/api/v3/backups", methods=["GET"])
    async def listed(self, request: IRequest) -> bytes:
        """The newest backups, and how far the one has come that is being made."""
        found = [
            BackupRecord(one.name, one.size, stamp17(one.at), one.rows, one.whole)
            for one in await self._backups.found()
        ]
        return json_answer(request, 200, BackupList(found, self._backups.running, self._backups.trouble))

    @app.route("/dm/api/v3/backups", methods=["POST"])
    def begin(self, request: IRequest) -> bytes:
        """Begin a backup; events tell how far it is. Sales go on meanwhile."""
        self._backups.begin()
        return json_answer(request, 202, BackupStatus(self._backups.running, self._backups.trouble))

    @app.route("/dm/api/v3/backups/<name>", methods=["GET"])
    def download(self, request: IRequest, name: str) -> Any:
        """A backup as a file: only with the login switched on, and from another machine only over HTTPS."""
        why = why_kept(self._core, request)
        if why:
            return error_answer(
                request, 403, Refused(Res.MALFORMED, why), language_of(request, self.default_language)
            )
        path = self._backups.file(name)
        if path is None:
            return not_found(request, self.default_language)
        # For the one who asks; the idle service does not carry it in memory.
        from twisted.web.static import File

        self._backups.log.warn("the backup {name} was handed out", name=name)
        request.setHeader(b"content-disposition", f'attachment; filename="{name}"'.encode())
        request.setHeader(b"cache-control", b"no-store")
        file = File(str(path))
        # As it is: a browser would unpack what is told to be packed.
        file.type, file.encoding = "application/gzip", None
        return file
