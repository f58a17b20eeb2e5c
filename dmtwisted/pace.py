"""How much of a long work beside the tills is done at once, and how long it rests after that.

Nobody guesses how quick a database is: each step tells how long it kept the store for itself, and by the time from
its question to its answer how long one has to wait for the store at this moment, and for a processor.
"""

from __future__ import annotations

from collections import deque
from statistics import median

LEAST = 10
"""How much the first step does, and every step at least."""

QUIET = 3.0
"""Seconds after a sale in which the next one may come at any moment."""

BRIEF, LONG = 0.0005, 0.05
"""Seconds for which a step may keep the store while tills sell, and while none does."""

UNFELT = 0.1
"""Which part of the time that one has to wait anyway a step may add to it."""

REST, QUIET_REST = 15.0, 0.1
"""How much longer than a step keeps the store the rest after it is, while tills sell and while none does."""

WAITING = 1.0
"""What of the time that a step had to wait is added to its rest: a busy store is left alone for longer."""

LONGEST_REST = 1.0
"""Seconds of a rest at most."""

LAST = 12
"""Steps that are remembered."""


class Pace:
    """The pace of one work.

    :param most: how much a step may do.
    """

    def __init__(self, most: int) -> None:
        self.size = min(LEAST, most)
        """How much the next step should do."""
        self._most = most
        self._costs: deque[float] = deque(maxlen=LAST)
        self._waits: deque[float] = deque(maxlen=LAST)
        self._intents = -1
        self._sold_at = 0.0

    def rest(self, now: float, spent: float, own: float, done: int, intents: int) -> float:
        """How many seconds to rest after a step that has just ended.

        :param spent: seconds from its question to its answer.
        :param own: seconds for which it kept the store.
        :param done: how much it did; 0 when that was not for us to choose.
        :param intents: how many intents the store was ever given: when there are more, a till has sold.
        """
        if intents != self._intents:
            self._intents, self._sold_at = intents, now
        selling = 0 <= now - self._sold_at < QUIET
        # Somebody may have set the clock meanwhile.
        waited = max(spent - own, 0.0)
        self._waits.append(waited)
        if done:
            self._costs.append(own / done)
            cost = median(self._costs)
            goal = min(BRIEF + UNFELT * median(self._waits), LONG) if selling else LONG
            fit = int(goal / cost) if cost else self._most
            self.size = min(max(min(fit, 2 * self.size), LEAST), self._most)
        return min(own * (REST if selling else QUIET_REST) + waited * WAITING, LONGEST_REST)
