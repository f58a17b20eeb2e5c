"""The rooms of the house, and the part of ``docs/architecture.md`` that is made of them: ``python -m tools.house``.

`ROOMS` is the whole order: a room may import the rooms on the lines before its own, and nothing else of the house.
What a room explains is the first sentence of its docstring. A new room is one line here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: written by python -m tools.house -->", "<!-- end of the rooms -->"

ROOMS = (
    "protocols",
    "protocols.grpc",
    "protocols.fiscal",
    "protocols.smtp",
    "protocols.printers",
    "protocols.terminals",
    "protocols.registers",
    "protocols.simulators",
    "dmtwisted.crash_points",
    "dmtwisted.pace",
    "dmtwisted.results",
    "dmtwisted.wording",
    "dmtwisted.money",
    "dmtwisted.security",
    "dmtwisted.hardened",
    "dmtwisted.host_names",
    "dmtwisted.client",
    "dmtwisted.clock",
    "dmtwisted.config",
    "dmtwisted.requests",
    "dmtwisted.plain_sales",
    "dmtwisted.turns",
    "dmtwisted.system",
    "dmtwisted.documents",
    "dmtwisted.tally",
    "dmtwisted.answers",
    "dmtwisted.secrets",
    "dmtwisted.windows",
    "dmtwisted.store",
    "dmtwisted.outbox",
    "dmtwisted.events",
    "dmtwisted.messages",
    "dmtwisted.changes",
    "dmtwisted.setting_row",
    "dmtwisted.devices.driver",
    "dmtwisted.observed",
    "dmtwisted.printing",
    "dmtwisted.terminals",
    "dmtwisted.registers",
    "dmtwisted.devices",
    "dmtwisted.finding",
    "dmtwisted.service_settings",
    "dmtwisted.mail",
    "dmtwisted.hooks",
    "dmtwisted.goods",
    "dmtwisted.access",
    "dmtwisted.programs",
    "dmtwisted.receipts",
    "dmtwisted.homecoming",
    "dmtwisted.watching",
    "dmtwisted.observing",
    "dmtwisted.unfinished",
    "dmtwisted.needs",
    "dmtwisted.print_forms",
    "dmtwisted.papers",
    "dmtwisted.batch",
    "dmtwisted.retention",
    "dmtwisted.dispatch",
    "dmtwisted.cloud",
    "dmtwisted.closing",
    "dmtwisted.classic",
    "dmtwisted.conformance",
    "dmtwisted.core",
    "dmtwisted.diagnostics",
    "dmtwisted.metrics",
    "dmtwisted.backups",
    "dmtwisted.backup_process",
    "dmtwisted.state_folder",
    "dmtwisted.doctor",
    "dmtwisted.commands",
    "dmtwisted.lab",
    "web",
    "twisted.plugins.dmtwisted_plugin",
)
"""From the ground up."""


@dataclass(frozen=True)
class Import:
    """One import of a module of the house by another; both by their full names."""

    importer: str
    imported: str
    hidden: bool
    """Whether it is within a function."""


@cache
def modules() -> Mapping[str, Path]:
    """Every module of the house by its full name."""
    found = {}
    for floor in sorted({room.split(".")[0] for room in ROOMS}):
        for path in (ROOT / floor).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    # It holds the version and nothing else.
    del found["dmtwisted"]
    return found


@cache
def imports() -> tuple[Import, ...]:
    """Every import between modules of the house, for types too."""
    return tuple(found for name in sorted(modules()) for found in _imports_of(name))


def _imports_of(name: str) -> Iterator[Import]:
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(modules()[name].read_text("utf-8")), False)]
    while waiting:
        node, hidden = waiting.pop()
        hidden = hidden or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        waiting += ((child, hidden) for child in ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = [_module(node.module, alias.name) for alias in node.names]
        else:
            continue
        yield from (Import(name, one, hidden) for one in dict.fromkeys(named) if one in modules() and one != name)


def _module(package: str, name: str) -> str:
    return f"{package}.{name}" if f"{package}.{name}" in modules() else package


def room_of(module: str) -> str | None:
    """The room of a module: the longest name in `ROOMS` that it begins with."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((name for name in names if name in ROOMS), None)


def upwards() -> list[Import]:
    """Imports of a room by one that is before it in the order."""
    place = {room: number for number, room in enumerate(ROOMS)}
    return [found for found in imports() if place[_room(found.importer)] < place[_room(found.imported)]]


def _room(module: str) -> str:
    room = room_of(module)
    assert room is not None, f"{module} belongs to no room"
    return room


def circles() -> list[tuple[str, ...]]:
    """Modules that import each other, directly or around others; each circle once."""
    known = {name: {found.imported for found in imports() if found.importer == name} for name in modules()}
    reached: dict[str, set[str]] = {}
    for name in known:
        seen: set[str] = set()
        waiting = list(known[name])
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += known[one]
        reached[name] = seen
    rings = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in known
        if name in reached[name]
    }
    return sorted(rings)


def rooms_above() -> dict[str, set[str]]:
    """For each room the rooms that it imports directly, without those that it reaches through another one."""
    direct: dict[str, set[str]] = {room: set() for room in ROOMS}
    for found in imports():
        importer, imported = room_of(found.importer), room_of(found.imported)
        if importer and imported and importer != imported:
            direct[importer].add(imported)
    beyond: dict[str, set[str]] = {}
    for room in ROOMS:
        beyond[room] = direct[room].union(*(beyond.get(low, set()) for low in direct[room]))
    return {
        room: {low for low in lows if not any(low in beyond.get(other, set()) for other in lows)}
        for room, lows in direct.items()
    }


def explained(room: str) -> str:
    """The first sentence of the room's docstring, without its citations."""
    words = " ".join(
        (ast.get_docstring(ast.parse(modules()[room].read_text("utf-8"))) or "").split("\n\n")[0].split()
    )
    sentence = re.split(r"(?<=[.]) ", re.sub(r" \([^()]*\)", "", words))[0]
    return sentence.rstrip(".:").replace("``", "`")


def page_part() -> str:
    """The table of the rooms and the graph of their imports, as Markdown."""
    lines = [BEGIN, "", "|Room|Explains|", "|---|---|"]
    lines += [f"|`{_place(room)}`|{explained(room)}|" for room in reversed(ROOMS)]
    lines += [
        "",
        "An arrow is an import; imports that follow from other arrows are left out.",
        "",
        "```mermaid",
        "graph TD",
    ]
    lines += [
        ";".join(f"{_short(room)}-->{_short(low)}" for low in sorted(lows))
        for room, lows in rooms_above().items()
        if lows
    ]
    return "\n".join([*lines, "```", "", END])


def _place(room: str) -> str:
    return room.replace(".", "/") + ("/" if modules()[room].name == "__init__.py" else ".py")


def _short(room: str) -> str:
    return room.removeprefix("dmtwisted.").replace(".", "_")


def main() -> None:
    """Write the rooms into the page."""
    text = PAGE.read_text("utf-8")
    PAGE.write_text(text[: text.index(BEGIN)] + page_part() + text[text.index(END) + len(END) :], "utf-8")


if __name__ == "__main__":
    main()
