"""The page of the law's rules: what each rule names is there, and the page is the one that the tool writes."""

# mypy: disallow-untyped-calls=False
# (trial's assertions have no annotations)

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from twisted.python.reflect import namedAny
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.documents import law
from dmtwisted.documents.catalogue import PayType, TaxGroup
from dmtwisted.documents.law import Since
from dmtwisted.registers.offline_time import LONGEST_MONTH_OFFLINE, longest_session
from dmtwisted.registers.prro.settings import PrroSettings
from tools.law_page import DPS, GUESS, NOT_KEPT, OUTSIDE, PRESS, RULES, TEXT, UNCLEAR, VENDOR, page

ROOT = Path(__file__).parent.parent

IDS = (
    [f"O{n}" for n in range(1, 9)]
    + [f"P{n}" for n in range(1, 6)]
    + [f"F{n}" for n in range(1, 6)]
    + ["Q1", "Q2", "C1", "C2", "C3"]
    + [f"G{n}" for n in range(1, 6)]
    + ["T1", "T2", "T3"]
    + [f"D{n}" for n in range(1, 8)]
    + ["X1"]
    + [f"M{n}" for n in range(1, 9)]
)
"""Every rule that was found."""


class LawTests(SynchronousTestCase):
    """The table of the rules."""

    def test_page(self) -> None:
        """`docs/law.md` is what `python -m tools.law_page` prints."""
        self.assertEqual((ROOT / "docs" / "law.md").read_text("utf-8"), page(), "make docs writes it")

    def test_every_rule(self) -> None:
        """Every rule that was found is in the table once, also one that is outside or unclear; there are over 40."""
        self.assertEqual([rule.id for rule in RULES], IDS)
        self.assertGreaterEqual(len(RULES), 40)

    def test_source(self) -> None:
        """Every rule has a source and says how sure it is."""
        for rule in RULES:
            self.assertTrue(rule.rule and rule.source, rule.id)
            self.assertIn(rule.sure, (TEXT, DPS, VENDOR, PRESS, GUESS), rule.id)
            self.assertRegex(rule.since, r"^(|20\d\d(-\d\d-\d\d)?)$", rule.id)

    def test_kept(self) -> None:
        """A rule that is kept has its module and a test, which exist; any other one says why it is not kept."""
        for rule in RULES:
            if not rule.kept:
                self.assertEqual(rule.test, "", rule.id)
                self.assertRegex(rule.remark, rf"^({OUTSIDE}|{UNCLEAR}|{NOT_KEPT}): ", rule.id)
                continue
            self.assertTrue((ROOT / rule.kept).is_file(), rule.id)
            self.assertTrue(callable(namedAny(rule.test)), rule.id)
            self.assertTrue(rule.test.rpartition(".")[2].startswith("test_"), rule.id)
            self.assertNotRegex(rule.remark, f"^({OUTSIDE}|{NOT_KEPT})", rule.id)

    def test_setting(self) -> None:
        """The settings that rules name exist: of a register, a tax group or a payment type."""
        known = {field.name for kind in (PrroSettings, TaxGroup, PayType) for field in msgspec.structs.fields(kind)}
        named = {name for rule in RULES for name in re.findall(r"\w+", rule.setting)}
        self.assertEqual(named - known, set())

    def test_one_place(self) -> None:
        """The numbers of the table are those that the code uses."""
        self.assertEqual((longest_session(PrroSettings()), LONGEST_MONTH_OFFLINE), (35 * 3_600_000, 168 * 3_600_000))
        text = page()
        for words in ("36 hours offline", "168 hours in a calendar", "every 1800 seconds", "64 characters"):
            self.assertIn(words, text)


class DatedTests(SynchronousTestCase):
    """Numbers of the law that change on a day."""

    def test_on(self) -> None:
        """The last row counts whose day has come, from that day on."""
        rows = (Since("", 1), Since("2025-10-01", 2), Since("2027-01-01", 3))
        days = ("1999-01-01", "2025-09-30", "2025-10-01", "2026-12-31", "2027-01-01", "2031-05-05")
        self.assertEqual([law.on(day, rows) for day in days], [1, 1, 2, 2, 3, 3])

    def test_cash(self) -> None:
        """Cash is rounded to 10 kopecks, and to 50 from 1 October 2025."""
        self.assertEqual([law.on(day, law.CASH_STEPS) for day in ("2025-09-30", "2025-10-01")], [10, 50])
