"""The status of a database, read while the service works with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dmtwisted.store.carry.swapping import planned
from dmtwisted.store.revisions import head, unfit
from dmtwisted.store.rows import CarryError, Rows
from dmtwisted.store.schema import shapes

UNFINISHED = (
    'SELECT d.name, o.kind, o."key", o.state, o.at FROM operation o LEFT JOIN device d ON d.n = o.device_n '
    "WHERE o.state IN ('intended', 'unknown') ORDER BY o.n"
)
CLAIMS = (
    "SELECT d.name, c.instance, c.released FROM claim c LEFT JOIN device d ON d.n = c.device_n ORDER BY c.device_n"
)
PERIOD = "SELECT min(at), max(at) FROM document"


@dataclass(frozen=True)
class Unfinished:
    """An operation without a final outcome; ``at`` is in milliseconds since 1970."""

    device: str
    kind: str
    key: str
    state: str
    at: int


@dataclass(frozen=True)
class Claimed:
    """The service that works with a device, or did so last."""

    device: str
    instance: str
    released: bool


@dataclass(frozen=True)
class Status:
    """The content of a database; times are milliseconds since 1970, `None` when there is no document."""

    name: str
    revision: str | None
    size: int
    rows: dict[str, int] = field(default_factory=dict)
    oldest: int | None = None
    newest: int | None = None
    unfinished: list[Unfinished] = field(default_factory=list)
    claims: list[Claimed] = field(default_factory=list)


def look(rows: Rows) -> Status:
    """The status of a database; only name and size when it has another revision.

    :raises CarryError: when it cannot be read.
    """
    revision = rows.revision()
    if revision != head():
        return Status(rows.name, revision, rows.size())
    [(oldest, newest)] = rows.ask(PERIOD)
    return Status(
        rows.name,
        revision,
        rows.size(),
        {shape.name: rows.count(shape) for shape in shapes()},
        oldest,
        newest,
        [Unfinished(row[0] or "(deleted device)", *row[1:]) for row in rows.ask(UNFINISHED)],
        [Claimed(name or "(deleted device)", instance, bool(free)) for name, instance, free in rows.ask(CLAIMS)],
    )


def fitness(revision: str | None) -> str:
    """Why this version cannot work with a database, as a predicate; empty when it can."""
    if revision == head():
        return ""
    if revision is None:
        return "is not a database of this service"
    return unfit(revision) or "is of an older version; `dmtwisted db upgrade` brings it up to date"


def expect_fit(rows: Rows) -> None:
    """Check that a database is of this version.

    :raises CarryError: when it is not.
    """
    unfit = fitness(rows.revision())
    if unfit:
        raise CarryError(f"{rows.name} {unfit}")


def expect_nothing_pending(state: Path) -> None:
    """Check that no restore was interrupted after its plan was written: only some of the files would be restored.

    :raises CarryError: when there is such a restore.
    """
    if planned(state):
        raise CarryError(f"a restore into {state} is not finished; start the service, or restore once more")
