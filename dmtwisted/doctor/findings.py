"""What a check finds, in plain words of both languages: how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec

from dmtwisted.needs import Need
from dmtwisted.results import Text


class Level(StrEnum):
    """How serious a finding is."""

    GOOD = "good"
    WARN = "warn"
    """It works now, but needs attention."""
    BAD = "bad"
    """It does not work, or will not after the next start."""


class Check(StrEnum):
    """What is checked, in the order of the report."""

    CONFIGURATION = "configuration"
    PORT = "port"
    ACCESS = "access"
    FILES = "files"
    DISK = "disk"
    CLOCK = "clock"
    CERTIFICATE = "certificate"
    DATABASE = "database"
    BACKUP = "backup"
    SECRETS = "secrets"
    KEYS = "keys"
    TAX = "tax"
    DEVICE = "device"
    PROGRAM = "program"


class Fix(StrEnum):
    """What the service can repair by itself when a person presses the button."""

    NONE = ""
    PERMISSIONS = "permissions"
    FOLDER = "folder"
    CERTIFICATE = "certificate"
    BACKUP = "backup"


NOTHING = Text("", "")


class FindingRecord(msgspec.Struct):
    """One finding; `fix` is what `POST /dm/api/v3/doctor/fix` mends of it, empty when a person has to."""

    check: Check
    level: Level
    about: str
    text: str
    advice: str
    fix: Fix
    code: str = ""
    """The code of what needs a person, as in metrics and events; empty for all else."""


class Finding(NamedTuple):
    """One finding about the file or device ``about``; ``advice`` says what to do."""

    check: Check
    level: Level
    text: Text
    advice: Text = NOTHING
    about: str = ""
    fix: Fix = Fix.NONE
    code: str = ""

    def record(self, language: str) -> FindingRecord:
        """The finding for programs, in one language."""
        text, advice = self.text.for_language(language), self.advice.for_language(language)
        return FindingRecord(self.check, self.level, self.about, text, advice, self.fix, self.code)


def good(check: Check, uk: str, en: str, about: str = "") -> Finding:
    """A finding without a problem."""
    return Finding(check, Level.GOOD, Text(uk, en), about=about)


def warn(check: Check, text: Text, advice: Text, about: str = "", fix: Fix = Fix.NONE) -> Finding:
    """A finding that needs attention."""
    return Finding(check, Level.WARN, text, advice, about, fix)


def bad(check: Check, text: Text, advice: Text, about: str = "", fix: Fix = Fix.NONE) -> Finding:
    """A finding that something does not work."""
    return Finding(check, Level.BAD, text, advice, about, fix)


def of_need(need: Need) -> Finding:
    """What needs a person, as a finding."""
    fix = Fix.BACKUP if need.code == "backup" else Fix.NONE
    return Finding(Check(need.area), Level(need.level), need.words, need.advice, need.device, fix, need.code)


_ORDER = list(Check)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in the order of `Check`."""
    return sorted(findings, key=lambda finding: _ORDER.index(finding.check))


def status(levels: Iterable[str]) -> Literal[0, 1, 2]:
    """The exit status: 0 all is well, 1 something needs attention, 2 something does not work."""
    found = set(levels)
    return 2 if Level.BAD in found else 1 if Level.WARN in found else 0
