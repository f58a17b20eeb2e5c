"""``/dm/api/v3/changes``: the journal of changes in pages, and all of it as a file (`dmtwisted.changes`)."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Mapping
from io import StringIO
from typing import Any

import msgspec
from klein import Klein
from msgspec.structs import asdict, replace
from twisted.web.iweb import IRequest

from dmtwisted.access.roles import Permit
from dmtwisted.changes import Action, Area, By, Outcome, record_of
from dmtwisted.clock import stamp14, stamp17
from dmtwisted.core import Core
from dmtwisted.devices.devices import Devices
from dmtwisted.devices.driver import BadSettings
from dmtwisted.documents.accounts import FORMULA
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import CHANGE, OperationQuery, OperationRow
from web.answers import Flow, json_answer
from web.filters import PageOf, devices_of, given_in, moment_of, page_of
from web.management import answer_errors
from web.rights import permit_of

FILTERS = ("device", "kind", "from", "to")
"""The filters of a list and of a file (docs/reference/http-interface.md#lists)."""

AT_ONCE = 200
"""Changes that are read together for a file."""

FORMATS = {"csv": b"text/csv; charset=utf-8", "json": b"application/json"}


class ChangeRecord(msgspec.Struct):
    """A change: what was done to what, by whom, from where; of `before` and `after` only what differs.

    `by` is how the caller is known: a login or a key with its `name`, a program on the machine or in the network
    without one, the command line with its user, the service itself. `begun` is the outcome of a change that is under
    way, or that a power cut has interrupted.
    """

    id: int
    dt: str
    kind: str
    action: Action
    by: By
    name: str
    address: str
    subject: str
    subject_id: str
    before: dict[str, Any]
    after: dict[str, Any]
    outcome: Outcome
    why: str


class ChangeList(msgspec.Struct):
    """A page of changes, newest first."""

    paging: PageOf
    changes: list[ChangeRecord]


class ChangeFile(msgspec.Struct):
    """Every change that the filters let through, newest first."""

    changes: list[ChangeRecord]


class ChangeApi:
    """The journal of changes."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language

    @app.route("/dm/api/v3/changes", methods=["GET"])
    async def changes(self, request: IRequest) -> bytes:
        """Changes of the service: who changed what, from where, when, and how it was before."""
        given = given_in(request, (*FILTERS, "page", "page_size"))
        page, size = page_of(given)
        query = replace(query_of(given, self._core.devices, permit_of(request)), limit=size, offset=(page - 1) * size)
        found = await self._core.store.find_operations(query)
        paging = PageOf(page, size, found.total)
        return json_answer(request, 200, ChangeList(paging, [listed(row) for row in found.operations]))

    @app.route("/dm/api/v3/changes/export", methods=["GET"])
    async def export(self, request: Any) -> bytes:
        """All changes that the filters let through as one file, newest first; ``format`` is csv or json."""
        given = given_in(request, (*FILTERS, "format"))
        kind = given.get("format") or "csv"
        if kind not in FORMATS:
            raise BadSettings("format", f"{' or '.join(FORMATS)} is expected")
        query = query_of(given, self._core.devices, permit_of(request))
        request.setHeader(b"content-type", FORMATS[kind])
        name = f"changes-{stamp14(self._core.clock.now())}.{kind}"
        request.setHeader(b"content-disposition", f'attachment; filename="{name}"'.encode())
        if request.method == b"HEAD":
            return b""
        flow, parts = Flow(request, self._core.clock), _as_csv if kind == "csv" else _as_json
        try:
            async for part in parts(_all(self._core.store, query)):
                await flow.write(part)
        finally:
            flow.end()
        return b""


def query_of(given: Mapping[str, str], devices: Devices, permit: Permit) -> OperationQuery:
    """The query for changes.

    :raises BadSettings: with the name of the first filter that does not fit.
    """
    kind = given.get("kind", "")
    if kind and kind not in set(Area):
        raise BadSettings("kind", f"one of {', '.join(Area)} is expected")
    return OperationQuery(
        devices=devices_of(given.get("device", ""), devices, permit),
        kinds=[CHANGE],
        key=kind,
        at_from=moment_of(given, "from", 0),
        at_to=moment_of(given, "to", 1),
    )


def listed(row: OperationRow) -> ChangeRecord:
    """A change as the interface shows it."""
    record = asdict(record_of(row))
    return ChangeRecord(id=row.n, dt=stamp17(row.at), kind=row.key, subject_id=record.pop("id"), **record)


async def _all(store: IStore, query: OperationQuery) -> AsyncIterator[list[ChangeRecord]]:
    """Every change in portions; what is added meanwhile moves nothing."""
    below = None
    while True:
        found = (await store.find_operations(replace(query, limit=AT_ONCE, below=below, counted=False))).operations
        if not found:
            return
        yield [listed(row) for row in found]
        below = found[-1].n


async def _as_csv(pages: AsyncIterator[list[ChangeRecord]]) -> AsyncIterator[bytes]:
    """Lines that a spreadsheet opens, and takes for text."""
    yield "\ufeff".encode() + _lines([ChangeRecord.__struct_fields__])
    async for page in pages:
        yield _lines([[_cell(value) for value in msgspec.structs.astuple(record)] for record in page])


def _lines(rows: Any) -> bytes:
    text = StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> str:
    text = msgspec.json.encode(value).decode() if isinstance(value, dict) else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


async def _as_json(pages: AsyncIterator[list[ChangeRecord]]) -> AsyncIterator[bytes]:
    """A `ChangeFile`."""
    yield b'{"changes":['
    between = b""
    async for page in pages:
        yield between + b",\n".join(map(msgspec.json.encode, page))
        between = b",\n"
    yield b"]}\n"
