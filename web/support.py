"""``/dm/api/v3/log``, ``/diagnostics`` and ``/database``: what whoever looks after the service wants to see of it."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec
from klein import Klein
from twisted.web.iweb import IRequest

from dmtwisted.clock import stamp14, stamp17
from dmtwisted.core import Core
from dmtwisted.results import Refused, Res
from dmtwisted.store.facts import Facts, FileCheck, check_file, facts_of
from web.answers import json_answer, plain_answer
from web.management import answer_errors, lasting

LINES = 200
"""Lines of the log that are told at a time."""

LARGEST_LOG = 8 * 1024 * 1024
"""Bytes of a log file that are handed out, from its end."""


class LogLines(msgspec.Struct):
    """The last lines of the log, and its file when it has one."""

    lines: list[str]
    file: str


class DatabaseVerdict(msgspec.Struct):
    """What a look at the whole file found."""

    dt: str
    ok: bool
    troubles: tuple[str, ...]


class DatabaseChecked(msgspec.Struct):
    """What a look found; `null` for a database that looks after itself."""

    check: DatabaseVerdict | None


class DatabaseRecord(msgspec.Struct):
    """The database: which one, its size in bytes, how much is in it, what the last look found."""

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
    """The database as people see it, with what the last look at it found."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.verdict: FileCheck | None = None
        self.busy = False

    async def facts(self) -> Facts:
        """Which one, how large, how much is in it.

        :raises StoreFailed: when it cannot tell.
        """
        return await facts_of(self._core.config, self._core.store, self._core.clock)

    async def check(self) -> FileCheck | None:
        """Look at all of it; `None` for a database that looks after itself.

        :raises Refused: when somebody does so already.
        """
        if self.busy:
            raise Refused(Res.DEVICE_BUSY, note="it is being looked at")
        self.busy = True
        try:
            self.verdict = await check_file(self._core.config, self._core.clock)
        finally:
            self.busy = False
        return self.verdict


class SupportApi:
    """Log, diagnostics, database."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, database: Database, default_language: str) -> None:
        self._core, self._database, self.default_language = core, database, default_language

    @app.route("/dm/api/v3/log", methods=["GET"])
    async def log(self, request: IRequest) -> bytes:
        """The last lines of the log; ``format=text`` is all that there is, as a file."""
        core = self._core
        if request.args.get(b"format", [b""])[-1] != b"text":
            return json_answer(request, 200, LogLines(tail(core.log_lines), core.config.log.file))
        lines = "".join(core.log_lines).encode("utf-8", "replace")
        if core.config.log.file:
            lines = await core.clock.aside(_end_of, core.config.log.file) or lines
        return self._file(request, b"text/plain; charset=utf-8", "log", lines)

    @app.route("/dm/api/v3/diagnostics", methods=["GET"])
    async def diagnostics(self, request: IRequest) -> bytes:
        """The bundle for whoever helps; see `dmtwisted.diagnostics` for what is in it, and what never is."""
        # A help for one who needs it; the idle service does not carry it in memory.
        from dmtwisted.diagnostics import gather, pack

        files = await gather(self._core, self._database.verdict)
        return self._file(request, b"application/zip", "zip", await self._core.clock.aside(pack, files))

    def _file(self, request: IRequest, kind: bytes, ending: str, content: bytes) -> bytes:
        name = f"dmtwisted-{stamp14(self._core.clock.now())}.{ending}"
        request.setHeader(b"content-disposition", f'attachment; filename="{name}"'.encode())
        return plain_answer(request, kind, content)

    @app.route("/dm/api/v3/database", methods=["GET"])
    async def database(self, request: IRequest) -> bytes:
        """Which one, how large, how much is in it, and what the last look at it found."""
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
        """Look at every page of the file; sales go on meanwhile."""
        return json_answer(request, 200, DatabaseChecked(_verdict(await lasting(self._database.check()))))


def tail(lines: Iterable[str]) -> list[str]:
    """The last lines, without their ends."""
    return [line.rstrip("\n") for line in list(lines)[-LINES:]]


def _verdict(verdict: FileCheck | None) -> DatabaseVerdict | None:
    if verdict is None:
        return None
    return DatabaseVerdict(stamp17(verdict.at), not verdict.troubles, verdict.troubles)


def _end_of(name: str) -> bytes:
    """The end of a log file, from the beginning of a line; empty when it cannot be read."""
    try:
        with open(name, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - LARGEST_LOG))
            content = file.read()
    except OSError:
        return b""
    return content if size <= LARGEST_LOG else content.partition(b"\n")[2]
