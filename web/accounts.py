"""``/dm/api/v3/accounts``: receipts and Z reports of a period as a file (`dmtwisted.documents.accounts`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from klein import Klein
from msgspec import MsgspecError
from msgspec.structs import replace

from dmtwisted.clock import stamp14
from dmtwisted.core import Core
from dmtwisted.devices.driver import BadSettings
from dmtwisted.documents import documents
from dmtwisted.documents.accounts import TABLES, XML_END, Accounts, Numbered, csv_head, csv_lines, xml_head, xml_lines
from dmtwisted.store.interface import IStore
from dmtwisted.store.values import DocumentQuery, FoundDocument
from web.answers import Flow
from web.filters import devices_of, given_in, moment_of
from web.management import answer_errors
from web.rights import permit_of

CSV, CSV_SEMICOLON, XML = "csv", "csv-semicolon", "xml"
FORMATS = {CSV: b"text/csv; charset=utf-8", CSV_SEMICOLON: b"text/csv; charset=utf-8", XML: b"application/xml"}

AT_ONCE = 40
"""Documents that are read together."""


class AccountsApi:
    """The accountant's files."""

    app = Klein()
    answer_errors(app)

    def __init__(self, core: Core, default_language: str) -> None:
        self._core, self.default_language = core, default_language

    @app.route("/dm/api/v3/accounts", methods=["GET"])
    async def accounts(self, request: Any) -> bytes:
        """Receipts and Z reports of a period, oldest first: one table as CSV, or all of it as XML."""
        given = given_in(request, ("device", "from", "to", "table", "format"))
        form, table = given.get("format") or CSV, given.get("table") or "documents"
        if form not in FORMATS:
            raise BadSettings("format", f"one of {', '.join(FORMATS)} is expected")
        if table not in TABLES:
            raise BadSettings("table", f"one of {', '.join(TABLES)} is expected")
        # As the field of a page gives a date.
        given |= {name: given[name].replace("-", "") for name in ("from", "to") if name in given}
        query = DocumentQuery(
            devices=devices_of(given.get("device", ""), self._core.devices, permit_of(request)),
            at_from=moment_of(given, "from", 0),
            at_to=moment_of(given, "to", 1),
            newest_first=False,
        )
        now = self._core.clock.now()
        name = "accounts" if form == XML else table
        request.setHeader(b"content-type", FORMATS[form])
        kind = "xml" if form == XML else "csv"
        request.setHeader(b"content-disposition", f'attachment; filename="{name}-{stamp14(now)}.{kind}"'.encode())
        if request.method == b"HEAD":
            return b""
        flow = Flow(request, self._core.clock)
        try:
            await flow.write(xml_head(now) if form == XML else csv_head(table, form == CSV_SEMICOLON))
            async for lines in lines_of(self._core.store, query, flow.rest):
                await flow.write(xml_lines(lines) if form == XML else csv_lines(table, lines, form == CSV_SEMICOLON))
            await flow.write(XML_END if form == XML else b"")
        finally:
            flow.end()
        return b""


async def lines_of(
    store: IStore, query: DocumentQuery, rest: Callable[[], Awaitable[None]]
) -> AsyncIterator[list[Numbered]]:
    """The lines of each document that the query finds, oldest first.

    :param rest: called after each document that is only counted.
    """
    accounts = Accounts()
    async for row in _all(store, query):
        try:
            document = documents.decode(row.value)
        except MsgspecError:
            continue
        if accounts.incomplete(row.device_n, document):
            # The shift began before the period.
            shift = DocumentQuery(
                devices=[row.device_n],
                shift_from=document.shift,
                shift_to=document.shift,
                at_to=(query.at_from or 0) - 1,
                newest_first=False,
            )
            async for earlier in _all(store, shift):
                accounts.count(row.device_n, documents.decode(earlier.value))
                await rest()
        yield accounts.lines(row.device_n, document, row.fiscal_number)


async def _all(store: IStore, query: DocumentQuery) -> AsyncIterator[FoundDocument]:
    """Everything that the query finds, in portions; what is added meanwhile comes last and moves nothing."""
    passed = 0
    while True:
        found = (await store.find_documents(replace(query, limit=AT_ONCE, offset=passed, counted=False))).documents
        for row in found:
            yield row
        if len(found) < AT_ONCE:
            return
        last = found[-1].at
        passed = sum(row.at == last for row in found) + (passed if last == query.at_from else 0)
        query = replace(query, at_from=last)
