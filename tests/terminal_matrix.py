"""Which test shows what becomes of a fault on which terminal's wire, and which keeps which recovery rule.

``python -m tests.terminal_matrix`` writes both tables into ``docs/terminals.md``; a test compares. A test is marked
by `shows`; the wire is that of its class, so a test that is inherited counts for each class that has one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "terminals.md"
BEGIN, END = "<!-- made by python -m tests.terminal_matrix -->\n", "<!-- end -->\n"

MARK: Final = "shown_by"

WIRES: Final = ("privatbank-json", "ssi-json", "zvt", "ecr17", "caisse-ap", "concert-v2", "nexo")

FAULTS: Final[dict[str, str]] = {
    "golden frames": "Every golden frame cut at every byte: the codec waits, or says that it is none",
    "cut": "The line breaks after any byte of a payment",
    "garbage before": "Garbage before the final word",
    "garbage inside": "Garbage inside it",
    "garbage after": "Garbage after it",
    "wrong checksum": "Wrong checksum",
    "wrong length": "Wrong length",
    "duplicate final": "The final word twice",
    "late final": "The final word after the time limit",
    "drop before": "The line breaks before the request is taken",
    "drop after request": "The line breaks while the customer pays",
    "drop after approval": "The line breaks before the approval is told",
    "busy": "Busy with another till",
    "interrupt too late": "An interrupt that loses to an approval",
    "partial": "A part is approved",
    "journal full": "The terminal's journal is full",
    "settlement in doubt": "A general report while an operation is in doubt",
    "restart": "The service restarts with an open row",
    "two clients": "Two clients at once: 15 s, then 1105",
    "another protocol": "Another protocol on the port",
}
"""What may go wrong, by the words of the marks."""

LACKING: Final[dict[tuple[str, str], str]] = {
    ("wrong checksum", "privatbank-json"): "no checksum on this wire",
    ("wrong checksum", "caisse-ap"): "no checksum on this wire",
}
"""What a wire cannot meet, and why."""

RULES: Final[dict[int, str]] = {
    1: "Intent before the first byte, outcome before the answer",
    2: "Three outcomes: approved, refused, unknown",
    3: "Ask before 411 or 1016",
    4: "Never send money twice by ourselves",
    5: "The device is blocked while in doubt",
    6: "Somebody else's receipt is not ours",
    7: "Store first, then acknowledge, then print",
    8: "An interrupt is a wish",
    9: "A partial approval is told with its own sum",
    10: "Deadlines in layers",
    11: "Progress is watched and told",
    12: "One master; silence after a good connect is 5068",
    13: "Ready is not a socket that is open",
    14: "No general report while in doubt",
    15: "The slip again, without money",
    16: "A cancel never becomes a refund",
    17: "Another protocol on the port is told by its first bytes",
    18: "Late frames are matched, never the next task's answer",
    19: "Card numbers masked, tracks and PIN blocks nowhere",
}
"""The recovery rules of the reference (terminals.md 3), in short."""


def shows(*marks: str, wire: str = "") -> Callable[[T], T]:
    """Mark a test by faults it meets and rules it keeps (``rule 3``).

    :param wire: whose; empty for that of the test's class.
    :raises ValueError: for a mark that nobody knows.
    """
    known = {*FAULTS, *(f"rule {n}" for n in RULES)}
    for mark in marks:
        if mark not in known:
            raise ValueError(f"there is no fault and no rule {mark!r}")

    def mark_it(test: T) -> T:
        setattr(test, MARK, (*getattr(test, MARK, ()), *((mark, wire) for mark in marks)))
        return test

    return mark_it


Marked = tuple[str, str, str, str]
"""Mark, wire (or nothing), name of the test, and what a caller hears (or nothing)."""


def marked() -> Iterator[Marked]:
    """Every mark of every test class."""
    # Imported here, for the test modules import the marks from above.
    from tests.traceability import import_tests

    modules, failures = import_tests(Path(__file__).parent, "tests")
    if failures:
        raise ImportError("\n".join(failures))
    for module in modules:
        for case in vars(module).values():
            if not (isinstance(case, type) and case.__module__ == module.__name__):
                continue
            for name in dir(case):
                for mark, wire in getattr(getattr(case, name), MARK, ()) if name.startswith("test") else ():
                    home = f"{module.__name__.removeprefix('tests.')}.{case.__qualname__}"
                    tells = getattr(case, "tells", None)
                    yield mark, wire or _wire(case), f"{home}.{name}", tells(mark) if tells is not None else ""


def _wire(case: Any) -> str:
    wire = getattr(case, "wire", "")
    return wire if isinstance(wire, str) else ""


def gaps(found: list[Marked]) -> list[str]:
    """Faults that a wire can meet and no test does, and rules that no test keeps."""
    seen = {(mark, wire) for mark, wire, *_ in found}
    missing = [f"{fault} at {wire}" for fault in FAULTS for wire in WIRES if _missing(fault, wire, seen)]
    return missing + [f"rule {n}" for n in RULES if not any(mark == f"rule {n}" for mark, *_ in found)]


def _missing(fault: str, wire: str, seen: set[tuple[str, str]]) -> bool:
    return (fault, wire) not in seen and (fault, wire) not in LACKING


def tables(found: list[Marked]) -> str:
    """Both tables."""
    lines = [f"| Fault | {' | '.join(WIRES)} | Tests |", f"|{'---|' * (len(WIRES) + 2)}"]
    for fault, text in FAULTS.items():
        cells = [_cell(found, fault, wire) for wire in WIRES]
        lines.append(f"| {text} | {' | '.join(cells)} | {_names(found, fault)} |")
    lines += ["", "| Rule | | Tests |", "|---|---|---|"]
    lines += [f"| {n} | {text} | {_names(found, f'rule {n}')} |" for n, text in RULES.items()]
    return "\n".join(lines) + "\n"


def _cell(found: list[Marked], fault: str, wire: str) -> str:
    """What a caller hears after ``fault``; of a wire in several shapes each that differs."""
    said = {told for mark, on, _, told in found if (mark, on) == (fault, wire)}
    if not said:
        return LACKING.get((fault, wire), "**no**")
    return ", ".join(sorted(said - {""})) or "tested"


def _names(found: list[Marked], wanted: str) -> str:
    """The tests of a mark: those of one name in one line, whichever classes have them."""
    homes: dict[str, set[str]] = {}
    for mark, _, name, _ in found:
        if mark == wanted:
            home, _, test = name.rpartition(".")
            homes.setdefault(test, set()).add(home.partition(".")[0])
    return "; ".join(f"`{test}` in {', '.join(sorted(modules))}" for test, modules in sorted(homes.items()))


def page(text: str, found: list[Marked]) -> str:
    """``text`` with the tables as they are now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables(found)}\n{END}{after}"


def main() -> int:
    """Write the page anew."""
    found = list(marked())
    PAGE.write_text(page(PAGE.read_text("utf-8"), found), "utf-8")
    for gap in gaps(found):
        print(f"no test: {gap}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
