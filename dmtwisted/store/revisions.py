"""The revisions of the schema, and which of them this version works with."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent / "migrations"

REVISION = "SELECT version_num FROM alembic_version"
"""Asks a database for its revision, in a table that there need not be."""

MOVING = "moving"
"""Stands in place of the revision while rows are moved into a database; no service works with such a database."""


def revisions() -> list[str]:
    """Every revision, oldest first: they are files named after their number."""
    names = (HERE / "versions").glob("[0-9]*.py")
    return sorted(match[0] for name in names if (match := re.match(r"\d+", name.name)))


def head() -> str:
    """The newest revision."""
    return revisions()[-1]


def unfit(revision: str) -> str:
    """Why a service cannot work with a database of this revision, as a predicate; empty when it can."""
    if revision == MOVING:
        return "is the target of a move that is not finished; run `dmtwisted db move` once more"
    return f"was made by a newer version (revision {revision})" if revision > head() else ""
