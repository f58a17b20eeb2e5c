"""The site made of the pages: without warnings, complete without a network, searchable in both languages."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from tests.manual import SITE
from tests.site import build

FORMS = (
    "зміна зміну зміни зміною змін змінам змінами",
    "чек чека чеки чеку чеком чеків чеках",
    "каса касу каси касою кас касами",
    "повернення повернень поверненню поверненням",
    "оплата оплату оплати оплатою оплат",
    "термінал термінала терміналом термінали терміналів",
    "принтер принтера принтери принтером",
    "друкувати друкує друкують",
    "податкова податкової податкову податковій",
    "копія копію копії копій копією",
)
"""Words of the pages in several forms."""


class SearchTests(SynchronousTestCase):
    """The search of the site."""

    def setUp(self) -> None:
        """The stemmer, which Sphinx loads with its settings."""
        if find_spec("sphinx") is None:
            raise SkipTest("there is no Sphinx here: pip install '.[docs]'")
        name = spec_from_file_location("ukrainian", SITE / "ukrainian.py")
        assert name is not None and name.loader is not None
        self.module: Any = module_from_spec(name)
        name.loader.exec_module(self.module)

    def test_forms(self) -> None:
        """All forms of a word are found by any of them; English words have their own stemmer."""
        search = self.module.SearchBoth({})
        for forms in FORMS:
            self.assertEqual(len({search.stem(form) for form in forms.split()}), 1, forms)
        self.assertEqual(search.stem("receipts"), search.stem("receipt"))

    def test_page(self) -> None:
        """The search page removes the same endings as the index."""
        if shutil.which("node") is None:
            raise SkipTest("there is no node here")
        words = [*(form for forms in FORMS for form in forms.split()), "receipts", "заcтосунок", "віддалення"]
        asked = (
            f"const s = new Stemmer(); console.log(JSON.stringify({json.dumps(words)}.map((w) => s.stemWord(w))));"
        )
        script = self.module.SearchBoth.js_stemmer_code + asked
        output = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout
        search = self.module.SearchBoth({})
        self.assertEqual(json.loads(output), [search.stem(word) for word in words])


class SiteTests(SynchronousTestCase):
    """The site as built."""

    def test_strict(self) -> None:
        """The site is built without a warning, and loads nothing from other hosts."""
        if find_spec("sphinx") is None or find_spec("myst_parser") is None or find_spec("furo") is None:
            if os.environ.get("CI") == "true":
                self.fail("the site cannot be made: pip install '.[docs]'")
            raise SkipTest("there is no Sphinx here: pip install '.[docs]'")
        folder = Path(self.mktemp()).absolute()
        done = build(folder / "site", folder / "source")
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
        for page in (folder / "site").rglob("*.html"):
            text = page.read_text("utf-8")
            fetched = re.findall(
                r"<(?:link|script|img|iframe|source)\b[^>]*?(?:href|src)=\"((?:https?:)?//[^\"]*)\"", text
            )
            self.assertEqual(fetched, [], page.name)
        for sheet in (folder / "site" / "_static").rglob("*.css"):
            self.assertNotRegex(sheet.read_text("utf-8"), r"(@import|url\()\s*[\"']?(https?:)?//", sheet.name)
        # The search index has Ukrainian words without endings, those of titles in a list of their own.
        index = json.loads(
            (folder / "site" / "searchindex.js").read_text("utf-8").removeprefix("Search.setIndex(")[:-1]
        )
        for words, word in (("terms", "готівк"), ("titleterms", "змін")):
            found = index[words][word]
            self.assertIn(
                "uk/registers", {index["docnames"][page] for page in (found if isinstance(found, list) else [found])}
            )
