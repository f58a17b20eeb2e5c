"""
Write ``docs/traceability.md``: which test proves which sentence of the specification.

``python -m tests.traceability`` writes the page anew; with ``--check`` it only compares, and exits with 1
when the page differs. The marks are read from the imported test classes, so a test that a class inherits
from a contract is listed once for each implementation. A test that is skipped on this machine is listed all
the same: the page has to read alike everywhere.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import unittest
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final

from tests.specification import MARK, PARTS, WITHOUT_TEST, Part

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "traceability.md"
COMMAND: Final = "python -m tests.traceability"

INTRODUCTION: Final = f"""\
# Traceability

This page is written by `{COMMAND}` from the marks `@promises(...)` on the tests, and
`tests/test_traceability.py` fails when it no longer tells what the marks say; do not edit it by hand. Each
row is one rule of the specification: its id, which is its place there, the rule in our own words
(`tests/specification.py`), and the tests that prove it. A test case without a method proves the rule by all
its tests. Where there is none, the reason is told. Part 6 holds no rule; the codes of part 7 are listed one by
one in [result-codes.md](result-codes.md). One test runs by `python -m twisted.trial tests.` followed by its name
as it stands here.
"""

NOBODY: Final = "not yet"
"""Said of a sentence that has neither a test nor a reason."""


def import_tests(folder: Path, package: str) -> tuple[list[ModuleType], list[str]]:
    """Import the modules ``test_*.py`` below ``folder``; return them, and a line for each that failed."""
    modules: list[ModuleType] = []
    failures: list[str] = []
    for path in sorted(folder.rglob("test_*.py")):
        name = ".".join((package, *path.relative_to(folder).with_suffix("").parts))
        try:
            modules.append(importlib.import_module(name))
        except Exception as error:  # whatever a module raises, the others still have marks to tell
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
    """Return the page: a table for each part, and how much of each part has tests."""
    blocks = [INTRODUCTION]
    counts = []
    for part in parts:
        rows = [
            f"| {sentence.id} | {_cell(sentence.text)} | {_tests(sentence.id, marks)} |"
            for sentence in part.sentences
        ]
        head = [f"## Part {part.number}: {part.title}", "", "| id | sentence | tests |", "|---|---|---|"]
        blocks.append("\n".join([*head, *rows]) + "\n")
        proved = sum(sentence.id in marks for sentence in part.sentences)
        counts.append(f"- Part {part.number}: {proved} of {len(part.sentences)} sentences have tests.\n")
    return "\n".join([*blocks, "## Count\n", "".join(counts)])


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def _tests(sentence: str, marks: Mapping[str, Sequence[str]]) -> str:
    names = marks.get(sentence, ())
    return "<br>".join(f"`{name}`" for name in names) or f"none: {WITHOUT_TEST.get(sentence, NOBODY)}"


def main(arguments: Sequence[str] | None = None, page: Path = PAGE) -> int:
    """Write the page, or compare it; return the exit status, which is 1 when something is amiss."""
    parser = argparse.ArgumentParser(
        prog=COMMAND, description="Write docs/traceability.md from the marks on the tests."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the page differs")
    options = parser.parse_args(arguments)

    modules, failures = import_tests(ROOT / "tests", "tests")
    for failure in failures:
        print(f"{failure}; its marks are missing", file=sys.stderr)
    text = render(PARTS, read_marks(modules))
    if options.check:
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            print(f"{page} is not what the marks say now; `{COMMAND}` writes it anew", file=sys.stderr)
            return 1
    else:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8", newline="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
