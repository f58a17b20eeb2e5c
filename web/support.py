"""``/dm/api/v3/log``, ``/diagnostics`` and ``/database``: what support needs to see of the service."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.changes import Action, Area
from dmtwisted.clock import stamp14, stamp17
from dmtwisted.core import Core
from dmtwisted.store.facts import Facts, FileCheck, check_file, facts_of
from web.answers import json_answer, plain_answer
from web.management import CHECKING, OneAtATime, answer_errors, lasting

LINES = 200
"""Lines of the log in one answer."""

LARGEST_LOG = 8 * 1024 * 1024
"""Bytes of a log file that are sent, from its end."""


class LogLines(msgspec.Struct):
    """The last lines of the log; `file` is empty when it has no file, `last` the number of the last line."""

    lines: list[str]
    file: str
    last: int


class DatabaseVerdict(msgspec.Struct):
    """What a check of the whole file found."""

    dt: str
    ok: bool
    troubles: tuple[str, ...]


class DatabaseChecked(msgspec.Struct):
    """What a check found; `null` for a database server, which checks itself."""

    check: DatabaseVerdict | None


class DatabaseRecord(msgspec.Struct):
    """The database: which one, its size in bytes, how much it contains, what the last check found."""

    database: str
    place: str
    size: int | None
    revision: str
    receipts: int
    operations: int
    unfinished: int
    oldest: str
    check: DatabaseVerdict | None


class Database:
    """Facts about the database, and the result of the last check."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.verdict: FileCheck | None = None
        self._checking = OneAtATime(CHECKING)

    async def facts(self) -> Facts:
        """Which one, how large, how much it contains.

        :raises StoreFailed: when the database does not answer.
        """
        return await facts_of(self._core.config, self._core.store, self._core.clock)

    async def check(self) -> FileCheck | None:
        """Check all of it; `None` for a database server, which checks itself.

        :raises Refused: when a check is already running.
        """
        with self._checking:
            self.verdict = await check_file(self._core.config, self._core.clock)
        return self.verdict


class SupportApi:
    """Log, diagnostics, database."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, database: Database, default_language: str) -> None:
        self._core, self._database, self.default_language = core, database, default_language

    @app.route("/dm/api/v3/log", methods=["GET"])
    async def log(self, request: IRequest) -> bytes:
        """The last lines of the log, or those after a number; with ``format=text`` the whole log as a file."""
        core = self._core
        if request.args.get(b"format", [b""])[-1] != b"text":
            after = request.args.get(b"after", [b""])[-1]
            last = core.log_lines.written
            new = max(last - int(after), 0) if after.isdigit() and len(after) < 19 else LINES
            return json_answer(request, 200, LogLines(tail(core.log_lines, new), core.config.log.file, last))
        lines = "".join(core.log_lines).encode("utf-8", "replace")
        if core.config.log.file:
            lines = await core.clock.aside(_end_of, core.config.log.file) or lines
        return self._file(request, b"text/plain; charset=utf-8", "log", lines)

    @app.route("/dm/api/v3/diagnostics", methods=["GET"])
    async def diagnostics(self, request: IRequest) -> bytes:
        """The bundle for support; `dmtwisted.diagnostics` lists what it contains and what it never does."""
        # Imported on demand: it would cost the idle service a third of a megabyte.
        from dmtwisted.diagnostics import gather, pack

        # It is needed most when the database does not answer.
        await self._core.changes.keep(Area.SUPPORT, Action.DOWNLOADED, must=False)
        files = await gather(self._core, self._database.verdict)
        return self._file(request, b"application/zip", "zip", await self._core.clock.aside(pack, files))

    def _file(self, request: IRequest, kind: bytes, ending: str, content: bytes) -> bytes:
        name = f"dmtwisted-{stamp14(self._core.clock.now())}.{ending}"
        request.setHeader(b"content-disposition", f'attachment; filename="{name}"'.encode())
        return plain_answer(request, kind, content)

    @app.route("/dm/api/v3/database", methods=["GET"])
    async def database(self, request: IRequest) -> bytes:
        """Which one, how large, how much it contains, and what the last check found."""
        facts = await self._database.facts()
        record = DatabaseRecord(
            database=facts.kind,
            place=facts.place,
            size=facts.size,
            revision=facts.revision,
            receipts=facts.receipts,
            operations=facts.operations,
            unfinished=facts.unfinished,
            oldest="" if facts.oldest is None else stamp17(facts.oldest),
            check=_verdict(self._database.verdict),
        )
        return json_answer(request, 200, record)

    @app.route("/dm/api/v3/database/check", methods=["POST"])
    async def check(self, request: IRequest) -> bytes:
        """Check every page of the file; sales go on meanwhile."""
        return json_answer(request, 200, DatabaseChecked(_verdict(await lasting(self._database.check()))))


def tail(lines: Iterable[str], most: int = LINES) -> list[str]:
    """The last lines, without line ends."""
    every = list(lines)
    return [line.rstrip("\n") for line in every[max(len(every) - most, 0) :]]


def _verdict(verdict: FileCheck | None) -> DatabaseVerdict | None:
    if verdict is None:
        return None
    return DatabaseVerdict(stamp17(verdict.at), not verdict.troubles, verdict.troubles)


def _end_of(name: str) -> bytes:
    """The end of a log file, from the start of a line; empty when it cannot be read."""
    try:
        with open(name, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LARGEST_LOG))
            content = file.read()
    except OSError:
        return b""
    return content if size <= LARGEST_LOG else content.partition(b"\n")[2]
