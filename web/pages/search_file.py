"""What a search found as a table for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dmtwisted.clock import ServiceClock, kyiv, stamp14
from dmtwisted.documents.accounts import BOM, csv_cell, csv_rows, money
from web.answers import Flow
from web.pages.search import Finder, Row
from web.pages.words import Say, speaker

COLUMNS = (
    *("time", "register", "document", "number", "fiscal_number", "sum", "cashier", "tag"),
    *("kind_of_register", "state"),
)
"""The keys of the columns' names."""


async def send_found(request: Any, finder: Finder, language: str, clock: ServiceClock) -> None:
    """Answer with all rows of a search; a caller that reads slowly makes it wait."""
    say, semicolons = speaker(language), language == "uk"
    request.setHeader(b"content-type", b"text/csv; charset=utf-8")
    request.setHeader(b"content-disposition", f'attachment; filename="receipts-{stamp14(clock.now())}.csv"'.encode())
    if request.method == b"HEAD":
        return
    flow = Flow(request, clock)
    try:
        await flow.write(BOM + csv_rows([[say(column) for column in COLUMNS]], semicolons))
        async for rows in finder.every():
            lines = ([csv_cell(value, semicolons) for value in _line(row, say)] for row in rows)
            await flow.write(csv_rows(lines, semicolons))
    finally:
        flow.end()


def _line(row: Row, say: Say) -> Iterator[object]:
    one = row.document
    yield f"{kyiv(one.at):%Y-%m-%d %H:%M:%S}"
    yield one.device
    yield say(f"kind_{one.kind}")
    yield one.number
    yield one.fiscal_number
    yield money(one.sum)
    yield one.cashier
    yield one.tag
    yield say("test" if row.test else "real")
    marks = (("state_unknown", row.doubt), ("is_reversed", row.reversed), ("offline", one.offline))
    yield ", ".join(say(word) for word, there in marks if there)
