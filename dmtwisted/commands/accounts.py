"""``dmtwisted accounts``: receipts and Z reports of a period as files for the accountant."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, ClassVar

from msgspec import MsgspecError
from twisted.python import usage

from dmtwisted.clock import day_of, span
from dmtwisted.commands.options import PLACE, FileOptions
from dmtwisted.commands.progress import ProgressBar
from dmtwisted.commands.shared import configuration, expect_database, status_of
from dmtwisted.documents import documents
from dmtwisted.documents.accounts import TABLES, XML_END, Accounts, Numbered, csv_head, csv_lines, xml_head, xml_lines
from dmtwisted.store.carry.looking import expect_fit
from dmtwisted.store.opening import open_rows
from dmtwisted.store.rows import CarryError, Rows

XML, CSV, CSV_SEMICOLON = "xml", "csv", "csv-semicolon"

DAY = 86_400_000
"""Milliseconds."""

_ROWS = "SELECT device_n, fiscal_number, value FROM document WHERE state = 'done'"


class AccountsOptions(FileOptions):
    """``dmtwisted accounts``"""

    synopsis = "FOLDER [options]"
    longdesc = (
        "Write receipts and Z reports of a period into FOLDER: a CSV file for each table, or accounts.xml. "
        "The service may be running."
    )
    optParameters: ClassVar = [
        *PLACE,
        ["from", None, "", "Start of the period: yyyy, yyyyMM or yyyyMMdd; by default the first document."],
        ["to", None, "", "End of the period, included; by default the last document."],
        ["device", None, "", "Name of one register, as it is in its documents."],
        ["format", None, CSV, "csv, csv-semicolon (for spreadsheets in Ukrainian) or xml."],
    ]
    written: ClassVar = {"to": "DATE", "format": "FORMAT"}

    def postOptions(self) -> None:
        """Check the period and the format.

        :raises UsageError: when one of them does not fit.
        """
        if self["format"] not in (XML, CSV, CSV_SEMICOLON):
            raise usage.UsageError("--format: csv, csv-semicolon or xml is expected")
        for name in ("from", "to"):
            try:
                self[f"{name}_at"] = span(self[name].replace("-", ""))[name == "to"] if self[name] else None
            except ValueError as error:
                raise usage.UsageError(f"--{name}: {error}") from None


def run(options: usage.Options) -> int:
    """Write the files; 1 after one line that says why it failed."""
    left = f"the files in {options['file']} are not complete; repeat the command"
    return status_of(lambda: write(options), CarryError, interrupted=left)


def write(options: usage.Options) -> int:
    """Write the files."""
    folder, form = Path(options["file"]), options["format"]
    config = expect_database(configuration(options))
    with open_rows(config.database_url, reading=True) as rows, ExitStack() as stack:
        expect_fit(rows)
        folder.mkdir(parents=True, exist_ok=True)
        names = {"": "accounts.xml"} if form == XML else {table: f"{table}.csv" for table in TABLES}
        files: dict[str, BinaryIO] = {
            table: stack.enter_context((folder / name).open("wb")) for table, name in names.items()
        }
        for table, file in files.items():
            file.write(csv_head(table, form == CSV_SEMICOLON) if table else xml_head(int(time.time() * 1000)))
        found = 0
        for lines in _lines(rows, options, stack.enter_context(ProgressBar("days"))):
            found += bool(lines)
            for table, file in files.items():
                file.write(csv_lines(table, lines, form == CSV_SEMICOLON) if table else xml_lines(lines))
        if form == XML:
            files[""].write(XML_END)
    print(f"{folder}: {found:,} documents in {', '.join(names.values())}")
    return 0


def _lines(rows: Rows, options: usage.Options, progress: ProgressBar) -> Iterator[list[Numbered]]:
    """The lines of each document of the period, oldest first; a day is read at a time."""
    [(first, last)] = rows.ask("SELECT min(at), max(at) FROM document WHERE state = 'done'")
    if first is None:
        return
    begin = first if options["from_at"] is None else max(options["from_at"], first)
    end = last if options["to_at"] is None else min(options["to_at"], last)
    accounts, at = Accounts(), begin
    while at <= end:
        progress(f"documents of {day_of(at)}", (at - begin) // DAY, (end - begin) // DAY + 1)
        until = min(span(day_of(at).replace("-", ""))[1], end)
        for register, fiscal_number, value in rows.ask(f"{_ROWS} AND at >= {at} AND at <= {until} ORDER BY at, n"):
            try:
                document = documents.decode(value)
            except MsgspecError:
                continue
            if options["device"] not in ("", document.caller.device):
                continue
            if accounts.incomplete(register, document):
                earlier = f"AND device_n = {register} AND shift = {document.shift} AND at < {begin}"
                for _, _, before in rows.ask(f"{_ROWS} {earlier}"):
                    accounts.count(register, documents.decode(before))
            yield accounts.lines(register, document, fiscal_number)
        at = until + 1
