"""Which test shows what becomes of a fault on which terminal's wire, and which keeps which recovery rule.

``python -m tests.terminal_matrix`` writes the tables into ``docs/reference/terminals.md``; a test compares. A test
is marked by `shows`; the wire is that of its class, so an inherited test counts for each class that has one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

T = TypeVar("T")

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "reference" / "terminals.md"
BEGIN, END = "<!-- made by python -m tests.terminal_matrix -->\n", "<!-- end -->\n"

MARK: Final = "shown_by"

WIRES: Final = ("privatbank-json", "ssi-json", "bpos1", "zvt", "ecr17", "caisse-ap", "concert-v2", "nexo")

FAULTS: Final[dict[str, str]] = {
    "golden frames": "golden frames cut at every byte",
    "cut": "cut after any byte of a payment",
    "garbage before": "garbage before the final message",
    "garbage inside": "garbage inside it",
    "garbage after": "garbage after it",
    "wrong checksum": "wrong checksum",
    "wrong length": "wrong length",
    "duplicate final": "final message twice",
    "late final": "final message after the deadline",
    "drop before": "line lost before the request",
    "drop after request": "line lost during the payment",
    "drop after approval": "line lost before the approval",
    "busy": "busy with another till",
    "interrupt too late": "interrupt after an approval",
    "partial": "partial approval",
    "another sum": "more, zero or no number approved",
    "journal full": "journal full",
    "settlement in doubt": "general report while unknown",
    "restart": "restart with an open operation",
    "two clients": "two clients at once",
    "another protocol": "another protocol on the port",
}
"""What may go wrong, by the words of the marks."""

LACKING: Final[dict[tuple[str, str], str]] = {
    ("wrong checksum", "privatbank-json"): "none",
    ("wrong checksum", "bpos1"): "none",
    ("wrong checksum", "caisse-ap"): "none",
}
"""What a wire cannot meet, and why: it has no checksum."""

RULES: Final = range(1, 20)
"""The recovery rules, docs/reference/terminals.md#recovery-rules."""


def shows(*marks: str, wire: str = "") -> Callable[[T], T]:
    """Mark a test by faults it meets and rules it keeps (such as ``"rule 3"``).

    :param wire: whose; empty for that of the test's class.
    :raises ValueError: for an unknown mark.
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
"""Mark, wire (or nothing), name of the test, and the caller's answer (or nothing)."""


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
    """The tables, without blanks around the cells: faults, those with one answer behind every wire, rules."""
    lines = [_row(("Fault", *WIRES, "Tests")), _row(["---"] * (len(WIRES) + 2))]
    alike = [_row(("Fault", "Every wire", "Tests")), _row(["---"] * 3)]
    for fault, text in FAULTS.items():
        cells = [_cell(found, fault, wire) for wire in WIRES]
        if len(set(cells)) == 1:
            alike.append(_row((text, cells[0], _names(found, fault))))
        else:
            lines.append(_row((text, *cells, _names(found, fault))))
    lines += ["", *alike, "", _row(("Rule", "Tests")), _row(("---", "---"))]
    lines += [_row((f"[{n}](#rule-{n})", _names(found, f"rule {n}"))) for n in RULES]
    return "\n".join(lines) + "\n"


def _row(cells: Iterable[str]) -> str:
    return f"|{'|'.join(cells)}|"


def _cell(found: list[Marked], fault: str, wire: str) -> str:
    """The answers after ``fault``; all different ones of a wire in several shapes."""
    said = {told for mark, on, _, told in found if (mark, on) == (fault, wire)}
    if not said:
        return LACKING.get((fault, wire), "**no**")
    return ", ".join(sorted(said - {""})) or "tested"


def _names(found: list[Marked], wanted: str) -> str:
    """The tests of a mark, each name once, whichever classes have it."""
    names = {name.rpartition(".")[2] for mark, _, name, _ in found if mark == wanted}
    return "<br>".join(f"`{name}`" for name in sorted(names))


def page(text: str, found: list[Marked]) -> str:
    """``text`` with the tables as they are now."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables(found)}\n{END}{after}"


def main() -> int:
    """Write the page again."""
    found = list(marked())
    PAGE.write_text(page(PAGE.read_text("utf-8"), found), "utf-8")
    for gap in gaps(found):
        print(f"no test: {gap}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
