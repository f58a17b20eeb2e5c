"""The pages of the documentation: what they name exists, examples are well formed, both languages agree."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands.main import MainOptions
from dmtwisted.config import load
from dmtwisted.requests import read_json, read_task
from dmtwisted.results import Res
from tests.manual import HOME, Block, Page, contents, in_both_languages, pages
from tests.test_manual_walk import walked
from tests.web_case import WebCase
from web.openapi.paths import ENTRIES
from web.pages.site import PageSite

_LANGUAGES = (
    "sh console powershell bat cmd service ini nginx dockerfile makefile udev diff text json toml yaml sql promql"
    " html xml http python javascript php java csharp bsl jinja mermaid"
)
LANGUAGES = frozenset(_LANGUAGES.split())
"""Languages of fenced blocks; a block without one is read as commands and text."""

HELP = "translate what is new, or write <!-- English only --> below its heading"

MARKS = {
    "sh": {"", "start", "run", "stopped", "first-sale", "worst-day", "integrating"},
    "python": {"", "first-sale"},
}
"""The words after a language that a test knows."""

_PATH = re.compile(
    r"(?<![\w./…-])(?:https?://)?(?:localhost|127\.0\.0\.1)?(?::3939)?"
    r"(/(?:dm|health|metrics)(?:/[\w.…-]*|/\{\w+\}|/\$\w+|-\w+)*)(?=[\s?\"'`#,;)|.:\[(]|$)"
)
"""A path of the interface."""

NO_PATHS = ("CHANGELOG.md", "security.md")
"""Pages that name paths of refused requests, or paths that no longer exist."""

SHELLS = frozenset({"sh", "console", "powershell", "bat", "cmd", "service", "ini", "dockerfile", ""})


def commands(page: Page) -> Iterator[tuple[str, list[str]]]:
    """Each ``dmtwisted`` command of a page, in its blocks and sentences, with its place."""
    for block in [*page.blocks, *page.indented]:
        if block.language in SHELLS:
            # A command continues in the next line after a backslash, and within a quoted text.
            text = re.sub(r"(\\|\^|`)\n\s*", " ", block.text)
            for line in text.splitlines():
                yield from _of_line(block.where, line)
    for span in page.spans:
        yield from _of_line(page.name, span)


def _of_line(where: str, line: str) -> Iterator[tuple[str, list[str]]]:
    line = re.sub(r"\s#\s.*", "", f" {line}").strip()
    if "twistd" in line.replace("dmtwisted", ""):
        return
    # The user and the container have our name too, and so has the Debian package's question.
    found = re.search(
        r"(?:^|[\s;&|(/\"'=])(?:dmtwisted +)?dmtwisted(?:\.exe)? +(?!dmtwisted\b)((?:[a-z]|--)[^;&|)]*)", line
    )
    if not found or re.match(r"(?:/\S*: )?\w+[.,:]", found[1]):
        return
    try:
        words = shlex.split(found[1].replace("\\", "/"))
    except ValueError:  # a quoted text that continues in the next line
        words = found[1].split()
    yield where, words


def complaint(words: list[str]) -> str:
    """What is wrong with the words of a ``dmtwisted`` command; empty when all are known."""
    options: usage.Options = MainOptions()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        named = {
            name: build for name, short, build, _ in getattr(options, "subCommands", ()) for name in (name, short)
        }
        if word.startswith("-"):
            name, given, _ = word.lstrip("-").partition("=")
            long = {known.rstrip("="): known.endswith("=") for known in options.longOpt}
            short = {known: options.shortOpt[at + 1 : at + 2] == ":" for at, known in enumerate(options.shortOpt)}
            known = long if word.startswith("--") else short
            if name not in known:
                return f"no option {word}"
            if known[name] and not given and rest:
                rest.pop(0)
        elif word in named:
            options = named[word]()
        elif named and re.fullmatch(r"[a-z][a-z-]*", word):
            return f"no command {word}"
    return ""


def targets() -> set[str]:
    """The targets of the Makefile."""
    return set(re.findall(r"^([a-z][a-z-]*):", (HOME / "Makefile").read_text("utf-8"), re.MULTILINE))


def paths() -> re.Pattern[str]:
    """Every path of the interface and of the pages, as one pattern."""
    known = {key.split(" ", 1)[1] for key in ENTRIES} | {str(rule) for rule in PageSite.app.url_map.iter_rules()}
    return re.compile(rf"(?:{'|'.join(map(pattern, known))})/?")


def pattern(path: str) -> str:
    """A pattern for ``path`` with any values for its variables."""
    return re.sub(r"(\\\{\w+\\\}|<(?:\w+:)?\w+>)", r"[^/]+", re.escape(path))


class BlockTests(SynchronousTestCase):
    """Fenced blocks of every page in every language."""

    def blocks(self, *languages: str) -> Iterator[Block]:
        """Every block in one of these languages."""
        for page in pages().values():
            yield from self.blocks_of(page, *languages)

    def blocks_of(self, page: Page, *languages: str) -> list[Block]:
        """Likewise, for one page."""
        return [block for block in page.blocks if not languages or block.language in languages]

    def test_languages(self) -> None:
        """A block in an unknown language is found; so is a word that no test knows."""
        for block in self.blocks():
            self.assertIn(block.language, LANGUAGES | {""}, block.where)
            if block.language in MARKS:
                self.assertIn(block.mark, MARKS[block.language], block.where)

    def test_json(self) -> None:
        """Every JSON block is one or more JSON values, one after the other."""
        for block in self.blocks("json"):
            text, decoder = block.text.strip(), json.JSONDecoder()
            while text:
                try:
                    _, end = decoder.raw_decode(text)
                except ValueError as error:
                    self.fail(f"{block.where}: {error}")
                text = text[end:].strip()

    def test_tasks(self) -> None:
        """The service can read every task in a JSON block or in a command with `curl`."""
        count = 0
        for block in self.blocks("json", "sh"):
            for text in (
                [block.text] if block.language == "json" else re.findall(r"-d '(.*?)'", block.text, re.DOTALL)
            ):
                try:
                    body = json.loads(text)
                except ValueError:
                    continue  # several answers, or a variable of the shell in them
                if isinstance(body, dict) and {"device", "type"} <= set(body) and "res" not in body:
                    count += 1
                    read_task(read_json(text.encode()))
        self.assertGreater(count, 20)

    def test_requests(self) -> None:
        """Every complete request has a method and a path of the interface, and a JSON body."""
        known = [(key.split(" ", 1)[0], pattern(key.split(" ", 1)[1])) for key in ENTRIES]
        count = 0
        for page in pages().values():
            for block in [*self.blocks_of(page, "http"), *page.indented]:
                head, _, body = block.text.partition("\n")
                found = re.fullmatch(r"(GET|POST|PUT|PATCH|DELETE) (\S+)", head)
                self.assertTrue(found or block.language != "http", block.where)
                if found:
                    count += 1
                    right = any(found[1] == method and re.fullmatch(path, found[2]) for method, path in known)
                    self.assertTrue(right, f"{block.where}: {head}")
                    if body.strip() and "device" in json.loads(body) and "type" in json.loads(body):
                        read_task(read_json(body.encode()))
        self.assertGreater(count, 2)

    def test_toml(self) -> None:
        """Every TOML block is a configuration that the service accepts."""
        for number, block in enumerate(self.blocks("toml")):
            file = Path(self.mktemp() + f"{number}.toml")
            file.write_text(block.text, "utf-8")
            try:
                load(file)
            except Exception as error:
                self.fail(f"{block.where}: {error}")

    def test_commands(self) -> None:
        """Every named ``dmtwisted`` command exists, with each of its options."""
        count = 0
        for page in pages().values():
            for where, words in commands(page):
                count += 1
                self.assertEqual(complaint(words), "", f"{where}: dmtwisted {' '.join(words)}")
        self.assertGreater(count, 60)

    def test_targets(self) -> None:
        """Every named target of `make` exists."""
        for page in pages().values():
            texts = [
                *page.spans,
                *(line for block in page.blocks if block.language in SHELLS for line in block.text.splitlines()),
            ]
            for text in texts:
                for target in re.findall(r"(?:^|[&;|] *)make ([a-z][a-z-]*)", text):
                    self.assertIn(target, targets(), f"{page.name}: {text}")

    def test_paths(self) -> None:
        """Every named path is in the OpenAPI document, or is a page of the web interface."""
        known = paths()
        for page in pages().values():
            if page.name.endswith(NO_PATHS):
                continue
            for text in [*page.spans, *(block.text for block in [*page.blocks, *page.indented])]:
                for path in _PATH.findall(text):
                    path = path.rstrip(".:-{")
                    self.assertTrue(known.fullmatch(path) or "…" in path, f"{page.name}: {path}")


class CheckTests(SynchronousTestCase):
    """The checks themselves."""

    def page(self, text: str) -> Page:
        """A page with ``text``."""
        page = Page("README.md")
        page.__dict__["text"] = text
        return page

    def test_commands(self) -> None:
        """A command or option that does not exist is reported; an existing one is not."""
        right = ("db status --json", "backup --to FILE --state var", "tls authority --name a --name b", "run -c x")
        for words in right:
            self.assertEqual(complaint(words.split()), "", words)
        wrong = {"bd status": "bd", "db stat": "stat", "run --potr 1": "--potr", "run -x": "-x"}
        for words, named in wrong.items():
            self.assertIn(named, complaint(words.split()))

    def test_where_commands_are(self) -> None:
        """Commands are found in blocks, over several lines, after others, in sentences; module names do not count."""
        text = "`dmtwisted run`, `dmtwisted.client`.\n\n```sh\ncd x && dmtwisted \\\n  db check  # it reads\n```\n"
        self.assertEqual([words for _, words in commands(self.page(text))], [["db", "check"], ["run"]])

    def test_headings(self) -> None:
        """Anchors are those of code hosts; an English-only part ends with its section; code has no headings."""
        text = "# A\n## Who is `it`?\n### B\n## B\n<!-- English only -->\n### C\n```sh\n# no\n```\n## Д, є!\n"
        page = self.page(text)
        self.assertEqual([each.anchor for each in page.headings], ["a", "who-is-it", "b", "b-1", "c", "д-є"])
        self.assertEqual(page.shared, ([1, 2, 3, 2], []))


FAMILIES = {"register": "registers", "terminal": "card-terminals", "printer": "receipt-printers"}
"""The page of each kind of device."""


class FamilyTests(WebCase):
    """The pages of registers, terminals and printers, in both languages."""

    def test_settings_and_drivers(self) -> None:
        """Each setting in their tables belongs to a driver of that kind, with its default; each driver is named."""
        drivers = self.request("GET", "/dm/api/v3/drivers").json["drivers"]
        for kind, name in FAMILIES.items():
            known: dict[str, set[str]] = {}
            for driver in drivers:
                if driver["kind"] == kind:
                    for setting, default in _defaults(driver["settings_schema"]):
                        known.setdefault(setting, set()).add(default)
            named = {driver["driver"] for driver in drivers if driver["kind"] == kind}
            for page in (pages()[f"docs/{name}.md"], pages()[f"docs/uk/{name}.md"]):
                before = page.text.rpartition("\n## ")[0]  # the last section is about faults
                rows = re.findall(r"^\| *(`[a-z_`, ]+`) *\| *([^|]*?) *\|[^|]*\|$", before, re.MULTILINE)
                self.assertGreater(len(rows), 5, page.name)
                for settings, shown in rows:
                    each = re.findall(r"`(\w+)`", settings)
                    self.assertEqual(set(each) - set(known), set(), page.name)
                    for setting, default in zip(each, shown.replace("`", "").split(", "), strict=False):
                        if re.fullmatch(r"[\d.]+|true|false", default):
                            self.assertIn(default, known[setting], f"{page.name}: {setting}")
                self.assertTrue(named <= set(page.spans) | {"prro", "escpos", "star", "training"}, page.name)

    def test_codes(self) -> None:
        """Each code in their tables of faults is in the catalogue, and both languages have the same codes."""
        for name in FAMILIES.values():
            found = []
            for page in (pages()[f"docs/{name}.md"], pages()[f"docs/uk/{name}.md"]):
                cells = re.findall(r"^\| *(\d{3,4}[^|]*) *\|", page.text, re.MULTILINE)
                found.append([int(code) for cell in cells for code in re.findall(r"\b\d{3,4}\b", cell)])
            self.assertGreater(len(found[0]), 2)
            self.assertEqual(found[0], found[1])
            for code in found[0]:
                self.assertEqual(Res.by_code(code).code, code)


def _defaults(schema: Any) -> Iterator[tuple[str, str]]:
    """Each setting of a driver's JSON Schema, with its default as a page shows it."""
    for name, each in schema["$defs"][schema["$ref"].rpartition("/")[2]]["properties"].items():
        default = each.get("default")
        is_number = isinstance(default, int | Decimal) and not isinstance(default, bool)
        yield name, f"{float(default):g}" if is_number else str(default).lower()


class LinkTests(SynchronousTestCase):
    """Links between pages, on a code host and in the site."""

    def test_links(self) -> None:
        """Every link to a file or heading of the project leads to one."""
        for page in pages().values():
            for link in page.links:
                if re.match(r"[a-z]+:", link):
                    continue
                target, _, anchor = link.partition("#")
                file = (page.path.parent / target).resolve() if target else page.path
                self.assertTrue(file.is_file(), f"{page.name}: {link}")
                if anchor and file.suffix == ".md":
                    known = {heading.anchor for heading in pages()[file.relative_to(HOME).as_posix()].headings}
                    self.assertIn(anchor, known, f"{page.name}: {link}")

    def test_contents(self) -> None:
        """Every page is in the contents once."""
        listed = [page for part in contents() for page in part.pages]
        self.assertEqual(sorted(set(listed)), sorted(listed))
        outside = {"README.md": "readme", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}
        english = {outside.get(name, name.removeprefix("docs/").removesuffix(".md")) for name in pages()}
        english -= {name for name in english if name == "index" or name.startswith("uk/")}
        self.assertEqual(english - set(listed), set())


class LanguageTests(SynchronousTestCase):
    """The Ukrainian pages."""

    def test_same_shape(self) -> None:
        """A Ukrainian page has headings of the same levels, without the sections marked English only."""
        for english, ukrainian in in_both_languages():
            if ukrainian is not None:
                self.assertEqual(ukrainian.shared[0], english.shared[0], f"{ukrainian.name}: {HELP}")

    def test_same_blocks(self) -> None:
        """A Ukrainian page has the same commands and answers as the English one."""
        for english, ukrainian in in_both_languages():
            if ukrainian is not None:
                self.assertEqual(ukrainian.shared[1], english.shared[1], f"{ukrainian.name}: {HELP}")

    def test_every_page(self) -> None:
        """Every page of the user's part exists in Ukrainian."""
        missing = [english.name for english, ukrainian in in_both_languages() if ukrainian is None]
        self.assertEqual(missing, [])

    def test_no_strays(self) -> None:
        """A Ukrainian page has an English one with its name."""
        for name in pages():
            if name.startswith("docs/uk/"):
                self.assertIn(name.replace("docs/uk/", "docs/"), pages())


class OpenTests(SynchronousTestCase):
    """What ``docs/documentation.md`` says about the pages."""

    def test_executed(self) -> None:
        """It names every page whose commands are run, and no other."""
        text = pages()["docs/documentation.md"].text.partition("Executed pages:")[2].partition("**Only checked**")[0]
        named = {f"docs/{page}" for page in re.findall(r"\]\(([\w/-]+\.md)\)", text)}
        self.assertEqual(named, set(walked()))

    def test_checked(self) -> None:
        """It names every page with commands that are run and others that are not."""
        text = pages()["docs/documentation.md"].text.partition("**Only checked**")[2]
        named = {f"docs/{page}" for page in re.findall(r"^\|[^|]*?\]\(([\w/-]+\.md)\)", text, re.MULTILINE)}
        others = {name for name in walked() if any(block.info == "sh" for block in pages()[name].blocks)}
        self.assertEqual(others - named, set())
