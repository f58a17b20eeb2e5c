"""What a check finds, in plain words of both languages: how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec

from dmtwisted.results import Text


class Level(StrEnum):
    """How it stands."""

    GOOD = "good"
    WARN = "warn"
    """It works now; somebody should see to it."""
    BAD = "bad"
    """It does not work, or will not with the next start."""


class Check(StrEnum):
    """What is looked at, in the order in which it is told."""

    CONFIGURATION = "configuration"
    PORT = "port"
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


class Fix(StrEnum):
    """What the service can mend by itself when a person presses the button."""

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


class Finding(NamedTuple):
    """One finding; ``about`` names the file or device that it is about, ``advice`` says what to do."""

    check: Check
    level: Level
    text: Text
    advice: Text = NOTHING
    about: str = ""
    fix: Fix = Fix.NONE

    def record(self, language: str) -> FindingRecord:
        """The finding for programs, in one language."""
        text, advice = self.text.for_language(language), self.advice.for_language(language)
        return FindingRecord(self.check, self.level, self.about, text, advice, self.fix)


def good(check: Check, uk: str, en: str, about: str = "") -> Finding:
    """All is well."""
    return Finding(check, Level.GOOD, Text(uk, en), about=about)


def warn(check: Check, text: Text, advice: Text, about: str = "", fix: Fix = Fix.NONE) -> Finding:
    """Somebody should see to it."""
    return Finding(check, Level.WARN, text, advice, about, fix)


def bad(check: Check, text: Text, advice: Text, about: str = "", fix: Fix = Fix.NONE) -> Finding:
    """It does not work."""
    return Finding(check, Level.BAD, text, advice, about, fix)


_ORDER = list(Check)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Findings by what they are about, as `Check` has it."""
    return sorted(findings, key=lambda finding: _ORDER.index(finding.check))


def status(levels: Iterable[str]) -> Literal[0, 1, 2]:
    """The exit status: 0 all is well, 1 somebody should look, 2 something does not work."""
    found = set(levels)
    return 2 if Level.BAD in found else 1 if Level.WARN in found else 0
