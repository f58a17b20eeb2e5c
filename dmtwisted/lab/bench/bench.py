"""``dmtwisted bench``: each part measures one thing that a shop feels; docs/performance.md tells the figures."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from twisted.python import usage

from dmtwisted.config import SQLITE, Config, ConfigError, DatabaseConfig, ServiceConfig
from dmtwisted.lab.bench.loads import load_on
from dmtwisted.lab.bench.options import BenchOptions
from dmtwisted.lab.children import BenchFailed, NotStarted, ended_by_signals, filesystem, scratch_folder

__all__ = ["BenchOptions", "load_on", "main", "run"]

Part = Callable[[Path, Any], str]
"""Measures in a folder what its options say, and tells it: as words, or as JSON when that is asked for."""


def run(options: BenchOptions) -> int:
    """Measure what was asked for; 1 with one clear line when it cannot be measured."""
    chosen: Any = options.subOptions
    if options.subCommand == "sign":
        print(_sign(chosen))
        return 0
    with ended_by_signals():
        try:
            with scratch_folder(chosen["state"]) as folder:
                told = PARTS[options.subCommand or ""](folder, chosen)
        except (ConfigError, NotStarted, BenchFailed, OSError) as error:
            print(f"dmtwisted bench: {error}", file=sys.stderr)
            return 1
    print(told)
    return 0


def _sign(chosen: Any) -> str:
    from dmtwisted.lab.bench.sign import as_json, signing_report, words

    report = signing_report(chosen["count"], chosen["rounds"])
    return json.dumps(as_json(report)) if chosen["json"] else words(report)


def _sales(folder: Path, chosen: Any) -> str:
    if chosen["database"]:
        return _tasks("sales")(folder, chosen)
    from dmtwisted.lab.bench.sales import sales_report, table

    rows = sales_report(folder, chosen["connections"], chosen["seconds"], chosen["rounds"])
    return _told(folder, [asdict(row) for row in rows], table(rows), chosen)


def _peers(folder: Path, chosen: Any) -> str:
    from dmtwisted.lab.bench.peers import peers_report, table

    rows = peers_report(folder, chosen["connections"], chosen["seconds"], chosen["rounds"])
    return _told(folder, [asdict(row) for row in rows], table(rows), chosen)


def _tasks(which: str) -> Part:
    def part(folder: Path, chosen: Any) -> str:
        from dmtwisted.lab.bench import tasks as bench_tasks

        measure = {
            "sales": bench_tasks.sales,
            "look-ups": bench_tasks.look_ups,
            "busy": bench_tasks.busy,
            "payments": bench_tasks.payments,
        }
        asked = (chosen["connections"], chosen["seconds"], chosen["rounds"], chosen["database"])
        rows = measure[which](folder, *asked)
        return _told(folder, [asdict(row) for row in rows], bench_tasks.table(rows), chosen)

    return part


def _open(folder: Path, chosen: Any) -> str:
    from dmtwisted.lab.bench.tasks import open_load, table

    asked = (chosen["rates"], chosen["connections"], chosen["seconds"], chosen["rounds"], chosen["database"])
    rows = open_load(folder, *asked)
    return _told(folder, [asdict(row) for row in rows], table(rows, "sales/s due"), chosen)


def _steps(folder: Path, chosen: Any) -> str:
    from dmtwisted.lab.bench.steps import steps_report, table

    reports = steps_report(folder, chosen["connections"], chosen["seconds"])
    return _told(folder, [asdict(one) for one in reports], table(reports), chosen)


def _tls(folder: Path, chosen: Any) -> str:
    from dmtwisted.lab.bench.tls import table, tls_report

    rows = tls_report(folder, chosen["connections"], chosen["seconds"], chosen["rounds"])
    return _told(folder, [asdict(row) for row in rows], table(rows), chosen)


def _idle(folder: Path, chosen: Any) -> str:
    from dmtwisted.lab.bench.idle import as_json, idle_report, words

    report = idle_report(folder, chosen["devices"], chosen["seconds"], chosen["sales"])
    return json.dumps(as_json(report)) if chosen["json"] else words(report)


def _start(folder: Path, chosen: Any) -> str:
    from dmtwisted.lab.bench.idle import as_json, start_report, start_words

    report = start_report(folder, chosen["devices"], chosen["rounds"])
    return json.dumps(as_json(report)) if chosen["json"] else start_words(report)


def _told(folder: Path, rows: Any, words: str, chosen: Any) -> str:
    disk = filesystem(folder)
    if chosen["json"]:
        return json.dumps({"filesystem": disk, "rows": rows})
    return words if chosen.get("database") else f"{words}\n\nThe database lay on {disk}."


def _writer(folder: Path, chosen: Any) -> str:
    from dmtwisted.lab.bench.writer import writer_alone

    database = chosen["database"] or f"{SQLITE}{folder / 'writer.sqlite'}"
    config = Config(database=DatabaseConfig(database), service=ServiceConfig(state=str(folder)))
    return json.dumps(asdict(writer_alone(config, chosen["connections"], chosen["seconds"], chosen["sizes"])))


def _tax(folder: Path, chosen: Any) -> str:
    from dmtwisted.lab.bench.tax import as_json, tax_report, words

    report = tax_report(folder, chosen["registers"], chosen["delay"], chosen["rounds"], not chosen["plain"])
    return json.dumps(as_json(report)) if chosen["json"] else words(report)


def _history(folder: Path, chosen: Any) -> str:
    def tell(text: str) -> None:
        print(f"{text} ...", file=sys.stderr)

    if chosen["remove"]:
        from dmtwisted.lab.bench import removal as bench_removal

        removal = bench_removal.measure(folder, chosen["receipts"], chosen["tills"], chosen["rate"], tell)
        return json.dumps(asdict(removal)) if chosen["json"] else bench_removal.words(removal)
    from dmtwisted.lab.bench.history import as_json, measure, words

    report = measure(folder, chosen["receipts"], tell)
    return json.dumps(as_json(report)) if chosen["json"] else words(report)


PARTS: Mapping[str, Part] = {
    "sales": _sales,
    "peers": _peers,
    "open": _open,
    "steps": _steps,
    "look-ups": _tasks("look-ups"),
    "busy": _tasks("busy"),
    "payments": _tasks("payments"),
    "tls": _tls,
    "idle": _idle,
    "start": _start,
    "writer": _writer,
    "tax": _tax,
    "history": _history,
}
"""What needs a folder, by name; each module is imported when it is wanted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m dmtwisted.lab.bench.bench``, without the rest of the command line."""
    options = BenchOptions()
    try:
        options.parseOptions(arguments)
    except usage.UsageError as error:
        print(f"dmtwisted bench: {error}", file=sys.stderr)
        return 2
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
