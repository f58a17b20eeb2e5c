"""What is known of a device: when it last worked, when and how it last failed, and how old that knowledge is.

Its tasks tell, and the questions of `dmtwisted.observing`. Nothing here is stored: after a start nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

from dmtwisted.clock import ServiceClock
from dmtwisted.results import Refused

FRESH_S = 150.0
"""Seconds for which a device counts as working after it worked: two questions may fail to come."""

Health = Literal["good", "bad", "unknown"]
"""It works, as far as is known now; it failed, and has not worked since; nothing is known, or not lately."""


def nothing() -> None:
    """Nobody has to hear of it."""


class Observed:
    """What is known of one device. A task writes it, so writing is cheap."""

    def __init__(self, clock: ServiceClock) -> None:
        self._clock = clock
        self._worked: float | None = None
        self._failed = 0.0
        self._lasting = False
        self.failed_at = 0
        """When it began to fail as it does, in milliseconds since 1970."""
        self.by_task = False
        """Whether a task failed, and not a question alone."""
        self.why: Refused | None = None
        """How it failed, until it works again."""
        self.asked: bool | None = None
        """Whether it can be asked without a task; `None` before the first question."""
        self.changed: Callable[[], None] = nothing
        """Called when it begins to fail, fails in another way, or works again."""

    def worked(self, task: bool = True) -> None:
        """It has done a task, or answered a question."""
        before, self._worked = self._worked, self._clock.steady()
        if self.why is not None:
            if task or not self._lasting:
                self.why = None
                self.changed()
        elif before is None or self._worked - before > FRESH_S:
            self.changed()

    def failed(self, why: Refused, lasting: bool = False, task: bool = True) -> None:
        """It has failed a task, or a question.

        :param lasting: only a task shows that this is over: the device answers questions meanwhile.
        """
        before, self.why, self._lasting = self.why, why, lasting
        self.by_task = task or (before is not None and self.by_task)
        if before is None or before.res is not why.res or before.words() != why.words():
            self._failed, self.failed_at = self._clock.steady(), self._clock.now()
            self.changed()

    @property
    def health(self) -> Health:
        """How it is now."""
        if self.why is not None:
            return "bad"
        age = self.age
        return "good" if age is not None and age <= FRESH_S else "unknown"

    @property
    def age(self) -> float | None:
        """Seconds since it worked; `None` when it has not yet."""
        return None if self._worked is None else self._clock.steady() - self._worked

    @property
    def worked_at(self) -> int:
        """When it last worked, in milliseconds since 1970; 0 when it has not yet."""
        age = self.age
        return 0 if age is None else self._clock.now() - int(age * 1000)

    @property
    def failed_for(self) -> float:
        """Seconds since it began to fail in this way."""
        return self._clock.steady() - self._failed

    def state(self) -> dict[str, Any]:
        """For people and programs; it stays the same while nothing happens."""
        found: dict[str, Any] = {"health": self.health, "asked": self.asked}
        if self.why is not None:
            found["fault"] = {"code": self.why.res.code, **self.why.words()._asdict()}
        return found


@runtime_checkable
class Inquired(Protocol):
    """A device that knows whether it works, and that may be asked."""

    observed: Observed

    async def inquire(self) -> bool | None:
        """Ask the device beside its tasks, without effect; the caller limits the time.

        :returns: true when it works, false when it could not be asked now, `None` when it never can.
        :raises Refused: when it would not work.
        """
