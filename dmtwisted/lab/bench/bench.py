"""``dmtwisted bench``: each part measures one thing that matters to a shop (docs/performance.md)."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from twisted.python import usage

from dmtwisted.commands.console import FAILED, WRONG_USAGE, complain
from dmtwisted.config import ConfigError
from dmtwisted.lab.bench.options import PARTS, BenchOptions
from dmtwisted.lab.children import BenchFailed, NotStarted, ended_by_signals, scratch_folder
from dmtwisted.system.files import describe_error


def run(options: BenchOptions) -> int:
    """Measure a part; 1 after one line that says why it cannot be measured."""
    part, chosen = str(options.subCommand), options.subOptions
    with ended_by_signals():
        try:
            with scratch_folder(chosen.get("state")) as folder:
                # Only the part that is measured is imported. Its function `figures` returns `Figures`.
                data, text = import_module(module_of(part, chosen)).figures(part, folder, chosen)
        except (ConfigError, NotStarted, BenchFailed, OSError) as error:
            complain(describe_error(error) if isinstance(error, OSError) else str(error), command="dmtwisted bench")
            return FAILED
    print(json.dumps(data) if chosen.get("json") else text)
    return 0


def module_of(part: str, chosen: Any) -> str:
    """The module that measures a part with these options."""
    name = PARTS[part].module
    if part == "sales" and chosen["database"]:
        name = "tasks"
    elif part == "history" and chosen["remove"]:
        name = "removal"
    return f"dmtwisted.lab.bench.{name}"


def main(arguments: Sequence[str] | None = None) -> int:
    """``python -m dmtwisted.lab.bench.bench``, without the rest of the command line."""
    options = BenchOptions()
    try:
        options.parseOptions(arguments)
    except usage.UsageError as error:
        complain(str(error), command="dmtwisted bench")
        return WRONG_USAGE
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
