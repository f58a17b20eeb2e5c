"""
Write ``docs/reference/specification.md``: the rules of the specification, and the tests that prove each of them.

``python -m tests.traceability`` writes the page; with ``--check`` it only compares, and exits with 1 when the page
differs. The marks are read from the imported test classes, so a test that a class inherits from a contract is
listed once for each implementation. A test that is skipped on this machine is listed too: the page has to be the
same everywhere.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import unittest
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

from tests.specification import MARK, PARTS, SECTIONS, WITHOUT_TEST, Part, Sentence

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "reference" / "specification.md"
COMMAND: Final = "python -m tests.traceability"

INTRODUCTION: Final = f"""\
# Specification

The rules of the interface that this service implements, in our own words. Code cites them as "specification 4.7": a
part, a section or the id of a rule. What they leave open is in [HTTP interface](http-interface.md).

`{COMMAND}` writes this page from `tests/specification.py` and the marks `@promises(...)` on the tests; do
not edit it. One test runs by `python -m twisted.trial tests.` and its name; a shell expands names in braces. The name
of a class means all its tests. Part 6 has no rules.
"""

HEAD: Final = "|Id|Rule|Tests|\n|---|---|---|\n"
"""The head of a section's table."""

CODES: Final = {"7.1": "all-devices", "7.2": "registers", "7.3": "terminals", "7.4": "printers"}
"""Where the codes of a section are listed, on the page of result codes."""

UNPROVED: Final = "not yet"
"""The reason given for a rule without a test and without a reason."""


def import_tests(folder: Path, package: str) -> tuple[list[ModuleType], list[str]]:
    """Import the modules ``test_*.py`` below ``folder``; return them, and a line for each that failed."""
    modules: list[ModuleType] = []
    failures: list[str] = []
    for path in sorted(folder.rglob("test_*.py")):
        name = ".".join((package, *path.relative_to(folder).with_suffix("").parts))
        try:
            modules.append(importlib.import_module(name))
        except Exception as error:  # any error: the other modules still have marks
            failures.append(f"{name} cannot be imported: {type(error).__name__}: {error}")
    return modules, failures


def read_marks(modules: Iterable[ModuleType]) -> dict[str, list[str]]:
    """Return the names of the marked tests for each sentence's id, in alphabetical order."""
    found: dict[str, set[str]] = {}
    for module in modules:
        for case in vars(module).values():
            if isinstance(case, type) and issubclass(case, unittest.TestCase):
                for ids, name in _marked(case):
                    for sentence in ids:
                        found.setdefault(sentence, set()).add(name)
    return {sentence: sorted(names) for sentence, names in found.items()}


def _marked(case: type[unittest.TestCase]) -> Iterator[tuple[tuple[str, ...], str]]:
    methods = [name for name in dir(case) if name.startswith("test") and callable(getattr(case, name))]
    home = f"{case.__module__.removeprefix('tests.')}.{case.__qualname__}"
    if methods:  # a base class without a test of its own proves nothing
        yield getattr(case, MARK, ()), home
    for method in methods:
        yield getattr(getattr(case, method), MARK, ()), f"{home}.{method}"


def render(parts: Iterable[Part], marks: Mapping[str, Sequence[str]]) -> str:
    """Return the page: parts, sections, a row for each rule, and how many rules of each part have tests."""
    blocks, counts = [INTRODUCTION], []
    for part in parts:
        blocks.append(f"## {part.number}. {part.title}\n")
        sections: dict[str, list[str]] = {"": []}
        sections |= {name: [] for name in SECTIONS if name.startswith(f"{part.number}.")}
        for sentence in part.sentences:
            found = re.match(r"\d+\.\d+", sentence.id)
            section = found[0] if found and found[0] in sections else ""
            sections[section].append(_rule(sentence, marks))
        for name, rules in sections.items():
            if name:
                blocks.append(f"### {name} {SECTIONS[name]}\n")
            blocks += ["".join([HEAD, *rules])] if rules else []
            if name in CODES:
                blocks.append(f"[Result codes](../result-codes.md#{CODES[name]}).\n")
        proved = sum(sentence.id in marks for sentence in part.sentences)
        counts.append(f"|{part.number}|{len(part.sentences)}|{proved}|\n")
    return "\n".join([*blocks, "## Count\n", "|Part|Rules|Tested|\n|---|---|---|\n" + "".join(counts)])


def _rule(sentence: Sentence, marks: Mapping[str, Sequence[str]]) -> str:
    tests = "<br>".join(f"`{name}`" for name in braced(marks.get(sentence.id, ())))
    proof = tests or f"none: {WITHOUT_TEST.get(sentence.id, UNPROVED)}"
    return f"|{sentence.id}|{sentence.text}|{proof}|\n"


def braced(names: Iterable[str]) -> list[str]:
    """The dotted ``names``, with what several share written once: ``a.B.c`` and ``a.D.c`` are ``a.{B,D}.c``."""
    inside: dict[str, list[str]] = {}
    for name in names:
        head, _, rest = name.partition(".")
        inside.setdefault(head, []).append(rest)
    heads: dict[str, list[str]] = {}
    for head, rests in inside.items():
        # A class in the list includes all its tests.
        heads.setdefault("" if "" in rests else _either(braced(rests)), []).append(head)
    shared: list[str] = []
    for rest, these in heads.items():
        shared += [f"{_either(these)}.{rest}"] if rest else these
    return shared


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{{{','.join(names)}}}"


def main(arguments: Sequence[str] | None = None, page: Path = PAGE) -> int:
    """Write the page, or compare it; return the exit status, which is 1 when something is wrong."""
    parser = argparse.ArgumentParser(
        prog=COMMAND, description="Write docs/reference/specification.md from the marks on the tests."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page differs")
    options = parser.parse_args(arguments)

    modules, failures = import_tests(ROOT / "tests", "tests")
    for failure in failures:
        print(f"{failure}; its marks are missing", file=sys.stderr)
    text = render(PARTS, read_marks(modules))
    if options.check:
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            print(f"{page} is not what the marks say now; `{COMMAND}` writes it again", file=sys.stderr)
            return 1
    else:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8", newline="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
