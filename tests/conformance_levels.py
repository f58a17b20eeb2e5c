"""The levels of the drivers in the tree, as the suite finds them: ``python -m tests.conformance_levels``.

It writes ``dmtwisted/conformance/levels.json``, which the service shows, and the table in ``docs/drivers.md``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from twisted.logger import globalLogBeginner

from dmtwisted.conformance.levels import LEVELS, SUITE, Found, encode, key_of
from dmtwisted.conformance.stands import STANDS
from dmtwisted.conformance.suite import Report, report, stands_of
from dmtwisted.devices.driver import Driver
from dmtwisted.devices.drivers import find_drivers

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "dmtwisted" / "conformance" / "levels.json"
PAGE = ROOT / "docs" / "drivers.md"
BEGIN, END = "<!-- made by python -m tests.conformance_levels -->\n", "<!-- end -->\n"


@cache
def reports(driver: Driver) -> tuple[Report, ...]:
    """What the suite finds about a driver, on each of its stands; run once."""
    return tuple(report(stand) for stand in stands_of(driver))


def own() -> Iterator[Driver]:
    """The drivers of the tree."""
    found = find_drivers()
    yield from (found[key] for key in STANDS)


def levels() -> dict[str, Found]:
    """The level of each."""
    return {key_of(driver): Found(min(each.level for each in reports(driver)), SUITE) for driver in own()}


def tables(found: Mapping[str, Found]) -> str:
    """The levels, and every check with its promise."""
    lines = ["|Driver|Level|What keeps it from the next one|Not tried, for it has none|", "|---|---|---|---|"]
    for driver in own():
        level = found[key_of(driver)].level
        lines.append(
            f"|{driver.kind} `{driver.name}`|{level}, {LEVELS[level]}|{_why(driver, level)}|{_without(driver)}|"
        )
    return "\n".join(lines) + "\n"


def _why(driver: Driver, level: int) -> str:
    names = {
        result.check.name: None
        for each in reports(driver)
        for result in each.failed
        if result.check.level == level + 1
    }
    return "<br>".join(f"`{name}`" for name in names) or "-"


def _without(driver: Driver) -> str:
    words = frozenset[str]().union(*(each.without for each in reports(driver)))
    return ", ".join(sorted(words)) or "-"


def _linked(source: str) -> str:
    return re.sub(r"docs/([\w/-]+\.md(#[\w.-]+)?)", r"[\1](\1)", source)


def page(text: str, found: Mapping[str, Found]) -> str:
    """``text`` with the tables as they are now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables(found)}\n{END}{after}"


def main() -> int:
    """Write the file and the page again."""
    # The checks report the faults that they provoke.
    globalLogBeginner.beginLoggingTo([], redirectStandardIO=False, discardBuffer=True)
    found = levels()
    FILE.write_bytes(encode(found))
    if PAGE.exists():
        PAGE.write_text(page(PAGE.read_text("utf-8"), found), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
