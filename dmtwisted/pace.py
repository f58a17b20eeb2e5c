"""The pace of long work beside the tills: how much one step does, and how long the rest after it is.

The speed of the database is measured: each step reports how long it blocked the store, and the time from its question
to its answer shows how long a caller waits for the store, and for a processor, at this moment.
"""

from __future__ import annotations

from collections import deque
from statistics import median

LEAST = 10
"""The size of the first step, and of every step at least."""

QUIET = 3.0
"""Seconds after a sale in which the next one may come at any moment."""

BRIEF, LONG = 0.0005, 0.05
"""Seconds for which a step may block the store while tills sell, and while none does."""

UNFELT = 0.1
"""The share of the normal waiting time that a step may add to it."""

REST, QUIET_REST = 15.0, 0.1
"""The rest after a step as a multiple of the time that it blocked the store, while tills sell and while none does."""

WAITING = 1.0
"""The share of a step's waiting time that is added to its rest: a busy store is left alone for longer."""

LONGEST_REST = 1.0
"""The longest rest, in seconds."""

LAST = 12
"""Steps that are remembered."""


class Pace:
    """The pace of one work.

    :param most: the largest step.
    """

    def __init__(self, most: int) -> None:
        self.size = min(LEAST, most)
        """The size of the next step."""
        self._most = most
        self._costs: deque[float] = deque(maxlen=LAST)
        self._waits: deque[float] = deque(maxlen=LAST)
        self._intents = -1
        self._sold_at = 0.0

    def rest(self, now: float, spent: float, own: float, done: int, intents: int) -> float:
        """How many seconds to rest after a step that has just ended.

        :param spent: seconds from its question to its answer.
        :param own: seconds for which it blocked the store.
        :param done: how much it did; 0 when its size was not ours to choose.
        :param intents: how many intents the store has received: when there are more than before, a till has sold.
        """
        if intents != self._intents:
            self._intents, self._sold_at = intents, now
        selling = 0 <= now - self._sold_at < QUIET
        # The clock may have been set meanwhile.
        waited = max(spent - own, 0.0)
        self._waits.append(waited)
        if done:
            self._costs.append(own / done)
            cost = median(self._costs)
            goal = min(BRIEF + UNFELT * median(self._waits), LONG) if selling else LONG
            fit = int(goal / cost) if cost else self._most
            self.size = min(max(min(fit, 2 * self.size), LEAST), self._most)
        return min(own * (REST if selling else QUIET_REST) + waited * WAITING, LONGEST_REST)
