"""What is known of a print job after its bytes were handed over: four words, the same for every way to a printer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How far a print job came."""

    PRINTED = "printed"
    """The printer, or the queue before it, says that the job is done."""
    ACCEPTED = "accepted"
    """All bytes were taken and go on their way; nothing is known about the paper."""
    NOT_PRINTED = "not_printed"
    """Nothing was taken, or it was given back whole: printing anew cannot print twice."""
    UNKNOWN = "unknown"
    """Some of it may be on paper: printing anew may print twice."""


@dataclass(frozen=True)
class Verdict:
    """What became of one print job; ``reason`` is for people, in English, empty when there is nothing to add.

    ``job`` is the number that a print queue gave the job, `None` where there is no queue or no number is known.
    """

    outcome: Outcome
    reason: str = ""
    job: int | None = None

    @property
    def may_repeat(self) -> bool:
        """Whether the job can be printed anew without any danger of a second copy."""
        return self.outcome is Outcome.NOT_PRINTED
