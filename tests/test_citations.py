"""Citations in code and pages lead to something in the repository: a page, a heading, a rule of the specification.

``python -m tests.test_citations`` prints the citations that do not.
"""

# mypy: disallow-untyped-calls=False
# (trial's assertions have no annotations)

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from twisted.trial.unittest import SynchronousTestCase

from tests.manual import HOME, Page, pages

FOLDERS = ("dmtwisted", "docs", "packaging", "protocols", "tests", "tools", "twisted", "web")
KINDS = frozenset({".html", ".js", ".md", ".py", ".toml"})

RULES = "docs/reference/specification.md"
"""The page of the specification's rules."""

_GAP = r"\s+(?:(?:#|//|\*)\s+)?"
"""Between the words of a citation, which may continue in the next line of a comment."""

_NUMBER = r"\d{1,2}[a-z]?(?:\.[\w-]+)*(?!\w)"

_PAGE = re.compile(r"(?<![\w/.{}*+-])((?:\.\.?/)*\w[\w./-]*\.md)\b(?:#([\w-]+(?:\.[\w-]+)*))?")
_SPECIFICATION = re.compile(rf"[Ss]pecification,?{_GAP}({_NUMBER}(?:(?:,|{_GAP}(?:and|or|to)){_GAP}{_NUMBER})*)")
_ELSEWHERE = re.compile(
    rf"\b(?:http-api|fiscal-server|style-guide|redesign|[Dd]esign{_GAP}\d+)\b"
    rf"|[\w-]+\.md,?{_GAP}\d+(?:\.\d+)*"
    rf"|\((?:excise|law|printers|registers|stack|terminals){_GAP}\d+(?:\.\d+)*"
)
_ROW = re.compile(r"^\|(\d[^|]*)\|", re.MULTILINE)
"""A row of the page of rules, which begins with the rule's id."""
_RULE = re.compile(rf"(?<![\"'\w])[Rr]ules?{_GAP}\d+")
"""A rule without its page; ``@shows("rule 3")`` is a mark of a test."""


def files() -> Iterator[Path]:
    """Every file that may cite something."""
    yield HOME / "Makefile"
    yield from (path for path in HOME.iterdir() if path.suffix in KINDS and path.is_file())
    for folder in FOLDERS:
        yield from (path for path in (HOME / folder).rglob("*") if path.suffix in KINDS)


def complaints(name: str, text: str) -> list[str]:
    """Citations in ``text``, the content of the file ``name``, that lead nowhere: line, citation, reason."""
    found = sorted([*_pages(name, text), *_rules(text), *_elsewhere(name, text)])
    return [f"{name}:{text.count(chr(10), 0, at) + 1}: {' '.join(cited.split())}: {why}" for at, cited, why in found]


def _pages(name: str, text: str) -> Iterator[tuple[int, str, str]]:
    for match in _PAGE.finditer(text):
        cited, anchor = match.groups()
        page = _page(name, cited)
        if page is None:
            yield match.start(), cited, "no such page"
        elif anchor and anchor not in page.anchors:
            yield match.start(), match[0], "no such anchor"


def _page(name: str, cited: str) -> Page | None:
    """The page that the file ``name`` means: from the project's folder, from its own, or by its name alone."""
    folders = [HOME] if cited.startswith("docs/") else [HOME, (HOME / name).parent]
    for folder in folders:
        path = (folder / cited).resolve()
        if path.is_file() and path.is_relative_to(HOME):
            return _known(path.relative_to(HOME).as_posix())
    # A program that writes a page has links as they are in the page; the English one has the shortest path.
    tail = cited if name.endswith(".md") else re.sub(r"^(\.\.?/)+", "", cited)
    found = [known for known in pages() if known.endswith(f"/{tail}")]
    return pages()[min(found, key=len)] if found else None


@lru_cache
def _known(name: str) -> Page:
    return pages().get(name) or Page(name)


def _rules(text: str) -> Iterator[tuple[int, str, str]]:
    for match in _SPECIFICATION.finditer(text):
        for number in re.findall(_NUMBER, match[1]):
            if not any(place == number or place.startswith(f"{number}.") for place in _places()):
                yield match.start(), f"specification {number}", "no such rule or section"


@lru_cache
def _places() -> frozenset[str]:
    """The numbers of parts and sections, and the ids of rules."""
    page = _known(RULES)
    sections = {heading.text.split()[0].rstrip(".") for heading in page.headings}
    return frozenset(sections.union(_ROW.findall(page.prose)))


def _elsewhere(name: str, text: str) -> Iterator[tuple[int, str, str]]:
    for match in _ELSEWHERE.finditer(text):
        yield match.start(), match[0], "not a page with an anchor"
    if not name.startswith("docs/reference/"):
        for match in _RULE.finditer(text):
            yield match.start(), match[0], "a rule of which page?"


def remaining() -> list[str]:
    """Every complaint about the repository, except for the examples of this module."""
    names = (path.relative_to(HOME).as_posix() for path in files() if path != Path(__file__))
    return [line for name in sorted(names) for line in complaints(name, (HOME / name).read_text("utf-8"))]


class RepositoryTests(SynchronousTestCase):
    """The repository itself."""

    def test_citations(self) -> None:
        """Each citation leads to something in the repository."""
        found = remaining()
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_contributing(self) -> None:
        """Links of CONTRIBUTING.md lead to files and folders; `tests.test_manual` sees to the pages of the site."""
        for link in _known("CONTRIBUTING.md").links:
            self.assertTrue(":" in link or (HOME / link.partition("#")[0]).exists(), link)


class FinderTests(SynchronousTestCase):
    """Right and wrong citations."""

    right: ClassVar[dict[str, str]] = {
        "a page": "(docs/registers.md)",
        "a heading": "docs/reference/http-interface.md#number-formats.",
        "a page beside this one": "[day](registers.md#settings)",
        "a page one folder up": "[en](../registers.md)",
        "a part of the path": '"index.md"',
        "names that are made": 'f"docs/{name}.md", "docs/*.md", "*.md", "+word.added.md"',
        "a link that a program writes": "(../result-codes.md#registers)",
        "an address": "https://example.com/a/NOTES.md",
        "a part": "(specification 8)",
        "a section": "# as specification\n    # 4.7 says.",
        "several": "(specification 2.2, 4.4 and 1.9d, 1051)",
        "a rule": "specification 8.port, 1.9d.3",
        "rules of several sentences": "specification 5.5a, 2.2.tag",
        "a mark": '@shows("rule 3", "rule 16")',
        "other words": "by design, rules of 3, http api",
    }
    wrong: ClassVar[dict[str, str]] = {
        "no page": "docs/registres.md",
        "no page in its folder": "(../registers.md)",
        "no page of that name": "see stack.md",
        "no heading": "docs/registers.md#no-such-heading",
        "an id as an anchor": "docs/reference/specification.md#1.9d.3",
        "no part": "specification 12",
        "no section": "specification 4.8",
        "no rule": "Specification, 2.2.tga",
        "no id": "specification 1.99",
        "the second of two": "specification 4.7, 4.8",
        "a section in the next line": "specification\n# 4.8",
        "a page's section": "docs/registers.md 6.3",
        "another document": "(http-api 2.21)",
        "another page": "fiscal-server 7.1",
        "a design": "(design 10)",
        "a guide": "style-guide 9",
        "a family": "(printers 6)",
        "a bare rule": "(rule 18)",
        "bare rules": "# Rules\n# 3 to 5",
    }

    def test_right(self) -> None:
        """A citation that leads to something has no complaint."""
        for what, text in self.right.items():
            where = {"a page one folder up": "docs/uk/x.md", "a link that a program writes": "tools/x.py"}
            self.assertEqual(complaints(where.get(what, "docs/x.md"), text), [], what)

    def test_wrong(self) -> None:
        """A citation that leads nowhere has one."""
        for what, text in self.wrong.items():
            self.assertEqual(len(complaints("docs/x.md", text)), 1, what)

    def test_complaint(self) -> None:
        """The complaint has file, line, citation and reason, in the order of the text."""
        text = "one\ntwo (rule\n# 3)\nspecification 4.8\n"
        self.assertEqual(
            complaints("dmtwisted/x.py", text),
            [
                "dmtwisted/x.py:2: rule # 3: a rule of which page?",
                "dmtwisted/x.py:4: specification 4.8: no such rule or section",
            ],
        )

    def test_rules_at_home(self) -> None:
        """Pages that number rules may name them by number."""
        self.assertEqual(complaints("docs/reference/terminals.md", "after rule 3"), [])

    def test_files(self) -> None:
        """Code, pages, scripts, settings and the Makefile are read."""
        found = {path.relative_to(HOME).as_posix() for path in files()}
        wanted = {"Makefile", "README.md", "pyproject.toml", "web/static/page.js", "docs/index.md"}
        self.assertEqual(wanted - found, set())


if __name__ == "__main__":
    print("\n".join(remaining()))
