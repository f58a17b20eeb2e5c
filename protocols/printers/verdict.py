"""The result of a print job: four outcomes, the same for every connection (docs/reference/printers.md#outcomes)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How far a print job got."""

    PRINTED = "printed"
    """The printer or its queue reports that the job is done."""
    ACCEPTED = "accepted"
    """All bytes were taken; nothing is known about the paper."""
    NOT_PRINTED = "not_printed"
    """Nothing was taken, or all of it was withdrawn: a repetition cannot print twice."""
    UNKNOWN = "unknown"
    """Part of it may be on paper: a repetition may print twice."""


@dataclass(frozen=True)
class Verdict:
    """The result of one print job; ``reason`` is an English explanation, possibly empty.

    ``job`` is the job's number in its print queue, `None` without a queue or when the number is unknown.
    """

    outcome: Outcome
    reason: str = ""
    job: int | None = None
