"""Make the documentation site: ``python -m tests.site [FOLDER]``, by default into ``build/site``.

The pages are in ``docs/``, written for code hosts. Here they are arranged for Sphinx: the README and the changelog
beside them, links changed accordingly, the contents from ``docs/site/navigation.toml``. A dead link, a missing
anchor or a page in no contents ends the command with status 1.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.manual import DOCS, HOME, SITE, contents, pages

OUTSIDE = {"README.md": "readme", "CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}
"""Pages outside of ``docs/``, and their names in the site."""


def lay_out(folder: Path) -> None:
    """Copy all sources of the site into ``folder``, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("site", "*.md"))
    for name, page in pages().items():
        target = folder / f"{OUTSIDE[name]}.md" if name in OUTSIDE else folder / Path(name).relative_to("docs")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_turned(name, page.text) + _tree(name), "utf-8")
    (folder / "contents.json").write_text(json.dumps(_contents(), ensure_ascii=False), "utf-8")


def _turned(name: str, text: str) -> str:
    """``text`` with its links as they are within the site."""
    if name in OUTSIDE:
        text = re.sub(r"(\]\(|src=\")docs/", r"\1", text)
    for outside, inside in OUTSIDE.items():
        # A page of docs/ leaves docs/ to reach a page outside; in the site that is one step less.
        text = re.sub(rf"\]\((?:\.\./)((?:\.\./)*){outside}", rf"](\1{inside}.md", text)
        text = text.replace(f"]({outside}", f"]({inside}.md") if name in OUTSIDE else text
    return text


def _contents() -> dict[str, list[dict[str, object]]]:
    """The contents in each language: a title and the pages of each part."""
    found: dict[str, list[dict[str, object]]] = {"en": [], "uk": []}
    for part in contents():
        own = [f"uk/{page}" for page in part.pages if f"docs/uk/{page}.md" in pages()]
        found["en"].append({"title": part.english, "pages": list(part.pages)})
        rest = [page for page in part.pages if f"uk/{page}" not in own] if not part.both else []
        found["uk"].append({"title": part.ukrainian, "pages": [*own, *rest]})
    return {tongue: [part for part in parts if part["pages"]] for tongue, parts in found.items()}


def _tree(name: str) -> str:
    """The contents for Sphinx at the end of a start page, hidden."""
    if name == "docs/index.md":
        listed = [page for part in contents() for page in part.pages]
        listed += ["uk/index"] if "docs/uk/index.md" in pages() else []
    elif name == "docs/uk/index.md":
        own = (page.removeprefix("docs/uk/").removesuffix(".md") for page in pages() if page.startswith("docs/uk/"))
        order = [page for part in contents() for page in part.pages]
        listed = sorted((page for page in own if page != "index"), key=order.index)
    else:
        return ""
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(listed) + "\n```\n"


def build(target: Path, source: Path) -> subprocess.CompletedProcess[str]:
    """Make the site in ``target`` from the sources in ``source``; every warning is an error."""
    lay_out(source)
    words = ("-W", "--keep-going", "-q", "-E", "-b", "html", "-d", str(source.parent / f"{source.name}-read"))
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *words, "-c", str(SITE), str(source), str(target)],
        capture_output=True,
        text=True,
        cwd=HOME,
    )


def main() -> None:
    """Make the site and print its address."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HOME / "build" / "site"
    done = build(target, HOME / "build" / "site-source")
    print(done.stdout + done.stderr, end="", file=sys.stderr)
    if done.returncode:
        sys.exit(1)
    print(f"open {target / 'index.html'}")


if __name__ == "__main__":
    main()
