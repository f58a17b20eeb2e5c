"""The pages of the documentation as data: the pages, their headings, links and fenced blocks.

Pages are Markdown as code hosts show it. Only what the pages use is parsed. `tests.test_manual` checks the pages with
it, `tests.site` makes the site.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from textwrap import dedent

HOME = Path(__file__).parent.parent
DOCS = HOME / "docs"
SITE = DOCS / "site"
ENGLISH_ONLY = "<!-- English only -->"
"""After a heading: the Ukrainian page does not have this section."""

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<info>[^`\n]*)\n(?P<text>.*?)^ *(?P=fence) *$", re.DOTALL | re.MULTILINE
)
_INDENTED = re.compile(r"\n\n((?: {4}\S.*\n)+)")
_HEADING = re.compile(r"^(#{1,6}) +(.+?) *#*$", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: Page
    info: str
    text: str
    line: int

    @property
    def language(self) -> str:
        """The first word of its info string."""
        return self.info.split()[0] if self.info.split() else ""

    @property
    def mark(self) -> str:
        """The rest of its info string: how it is tested."""
        return " ".join(self.info.split()[1:])

    @property
    def where(self) -> str:
        """Page and line."""
        return f"{self.page.name}:{self.line}"


@dataclass(frozen=True)
class Heading:
    """One heading: its level from 1, its text, the anchor that leads to it, its line, whether it is English only."""

    level: int
    text: str
    anchor: str
    line: int
    english_only: bool


@dataclass(frozen=True)
class Page:
    """One page, by its path below the project's folder."""

    name: str

    @property
    def path(self) -> Path:
        """Its file."""
        return HOME / self.name

    @cached_property
    def text(self) -> str:
        """Its text."""
        return self.path.read_text("utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        """Its fenced blocks; a block within a list loses the list's indentation."""
        found = []
        for match in _FENCE.finditer(self.text):
            indent = len(match["indent"])
            text = "".join(
                line[indent:] if line[:indent].isspace() else line for line in match["text"].splitlines(True)
            )
            found.append(Block(self, match["info"].strip(), text, self.text.count("\n", 0, match.start()) + 1))
        return found

    @property
    def indented(self) -> list[Block]:
        """Its blocks indented by four blanks: text, requests and commands without a language."""
        return [
            Block(self, "", dedent(match[1]), self.prose.count("\n", 0, match.start(1)) + 1)
            for match in _INDENTED.finditer(self.prose)
        ]

    @cached_property
    def prose(self) -> str:
        """Its text without fenced blocks, whose lines are blank."""
        return _FENCE.sub(lambda found: "\n" * found[0].count("\n"), self.text)

    @cached_property
    def headings(self) -> list[Heading]:
        """Its headings, with anchors as code hosts and the site make them."""
        found: list[Heading] = []
        seen: dict[str, int] = {}
        skipping = 0
        for match in _HEADING.finditer(self.prose):
            level, text = len(match[1]), re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[2])
            anchor = re.sub(r"[^\w\- ]", "", text.lower().strip()).replace(" ", "-")
            count = seen.get(anchor, 0)
            seen[anchor] = count + 1
            if not skipping or level <= skipping:
                skipping = level if self.prose[match.end() :].lstrip().startswith(ENGLISH_ONLY) else 0
            line = self.prose.count("\n", 0, match.start()) + 1
            found.append(Heading(level, text, f"{anchor}-{count}" if count else anchor, line, bool(skipping)))
        return found

    @cached_property
    def anchors(self) -> set[str]:
        """What may be cited after ``#``."""
        return {heading.anchor for heading in self.headings}

    @property
    def shared(self) -> tuple[list[int], list[tuple[str, str]]]:
        """What both languages have in common: the levels of the headings, and the blocks."""
        blocks = []
        for block in self.blocks:
            above = [heading for heading in self.headings if heading.line < block.line]
            if not (above and above[-1].english_only):
                # A block without a language is a drawing, with its own words in each language.
                blocks.append((block.info, block.text if block.info else ""))
        return [heading.level for heading in self.headings if not heading.english_only], blocks

    @property
    def links(self) -> list[str]:
        """The targets of its links and pictures, outside of code."""
        return _LINK.findall(_CODE.sub("", self.prose))

    @property
    def spans(self) -> list[str]:
        """Its code within sentences."""
        return [" ".join(match[2].split()) for match in _CODE.finditer(self.prose)]


@lru_cache(maxsize=1)
def pages() -> dict[str, Page]:
    """Every page by its path: the README, the guide for contributors, the changelog, and all of ``docs/``."""
    names = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
    names += sorted(path.relative_to(HOME).as_posix() for path in DOCS.rglob("*.md") if SITE not in path.parents)
    return {name: Page(name) for name in names}


@dataclass(frozen=True)
class Part:
    """One part of the contents: its titles, whether its pages are in both languages, and the pages."""

    english: str
    ukrainian: str
    both: bool
    pages: tuple[str, ...]


def contents() -> list[Part]:
    """The contents of the site, without missing pages; pages that no part names are in the last part."""
    found = tomllib.loads((SITE / "navigation.toml").read_text("utf-8"))["part"]
    there = {name.removeprefix("docs/").removesuffix(".md") for name in pages()} | {
        "readme",
        "contributing",
        "changelog",
    }
    there -= {"README", "CONTRIBUTING", "CHANGELOG", "index"}
    english = {name for name in there if not name.startswith("uk/")}
    named = {page for part in found for page in part["pages"]}
    parts = []
    for part in found:
        listed = [page for page in part["pages"] if page in english]
        if part is found[-1]:
            listed += sorted(english - named)
        parts.append(Part(part["en"], part["uk"], part.get("both", False), tuple(listed)))
    return parts


def in_both_languages() -> Iterator[tuple[Page, Page | None]]:
    """Each page of the user's part, and its Ukrainian page if there is one; then every other Ukrainian page."""
    wanted = {"index", *(page for part in contents() if part.both for page in part.pages)}
    there = {name[len("docs/uk/") : -len(".md")] for name in pages() if name.startswith("docs/uk/")}
    for name in sorted(wanted | there):
        yield pages()[f"docs/{name}.md"], pages().get(f"docs/uk/{name}.md")
