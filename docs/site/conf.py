"""Sphinx's settings for the documentation site; `python -m tests.site` makes the site by them.

Everything that a page needs comes with the site: no font, script or picture is fetched from elsewhere, and the search
is a file of its own that works without a server.
"""

from __future__ import annotations

import gettext
import json
import sys
from pathlib import Path
from typing import Any

import sphinx
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))
from ukrainian import SearchBoth

project = "dmtwisted"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
language = "en"
html_search_language = "uk"
html_show_copyright = False
myst_heading_anchors = 4
# A block whose language has no colours is shown without them: what it says is checked by the tests.
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_title = "dmtwisted"
html_copy_source = False
html_show_sphinx = False
html_permalinks_icon = "#"
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

_UKRAINIAN = gettext.translation("sphinx", Path(sphinx.__file__).parent / "locale", ["uk_UA"], fallback=True)
_WORDS = {"Search": "Пошук", "On this page": "На цій сторінці", "Contents": "Зміст", "Back to top": "Угору"}


def _said(text: str) -> str:
    """``text`` of the theme in Ukrainian."""
    return _WORDS.get(text) or _UKRAINIAN.gettext(text)


def _with_contents(app: Sphinx, name: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Give a page the contents of its language, the way to the other one, and the words around it."""
    pages = json.loads((Path(app.srcdir) / "contents.json").read_text("utf-8"))
    tongue = "uk" if name.startswith("uk/") else "en"
    titles = app.env.titles
    context["contents"] = [
        (part["title"], [(page, titles[page].astext()) for page in part["pages"]]) for part in pages[tongue]
    ]
    other = name.removeprefix("uk/") if tongue == "uk" else f"uk/{name}"
    start = "index" if tongue == "uk" else "uk/index"
    context["other_language"] = next((page for page in (other, start) if page in titles), None)
    context["tongue"] = tongue
    if tongue == "uk":
        context.update(language="uk", _=_said, gettext=_said)


def setup(app: Sphinx) -> None:
    """Hook in."""
    app.add_search_language(SearchBoth)
    for unknown in ("bsl", "service", "udev"):
        app.add_lexer(unknown, TextLexer)
    app.connect("html-page-context", _with_contents, priority=900)
