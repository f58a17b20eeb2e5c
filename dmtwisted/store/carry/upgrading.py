"""Run the missing revisions of a database one by one."""

from __future__ import annotations

from dmtwisted.store import migrate
from dmtwisted.store.revisions import revisions
from dmtwisted.store.rows import CarryError


def due(revision: str | None) -> list[str]:
    """The revisions after this one, oldest first."""
    return [step for step in revisions() if revision is None or step > revision]


def upgrade_to(url: str, revision: str) -> None:
    """Bring the database at ``url`` to a revision: all of it or nothing.

    :raises CarryError: when that fails.
    """
    try:
        migrate.upgrade(url, revision)
    except Exception as error:
        lines = str(getattr(error, "orig", None) or error).splitlines()
        why = lines[0] if lines else type(error).__name__
        raise CarryError(f"the database could not be brought up to date: {why}") from error
