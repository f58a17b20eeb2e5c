"""How much of a long work beside the tills is done at once, and how long it rests after that.

Nobody guesses how quick a database is: each step tells by the time from its question to its answer. In that it has
also waited for the tills, and for a processor. The quickest of the last steps has hardly waited; it tells what a step
itself takes, and so how long a sale that comes meanwhile has to wait for it.
"""

from __future__ import annotations

from collections import deque

FIRST, LEAST = 10, 10
"""How much the first step does, and every step at least."""

QUIET = 3.0
"""Seconds after a sale in which the next one may come at any moment."""

BRIEF, LONG = 0.005, 0.05
"""Seconds that a step may take while tills sell, and while none does."""

LAST = 12
"""Of how many steps the quickest counts."""

REST, QUIET_REST = 1.0, 0.1
"""How much longer than a step itself takes the rest after it is, while tills sell and while none does."""

WAITING = 0.25
"""What of the time that a step had to wait is added to its rest: a busy store is left alone for longer."""

LONGEST_REST = 1.0
"""Seconds of a rest at most."""


class Pace:
    """The pace of one work.

    :param most: how much a step may do.
    """

    def __init__(self, most: int) -> None:
        self.size = min(FIRST, most)
        """How much the next step should do."""
        self._most = most
        self._costs: deque[float] = deque(maxlen=LAST)
        self._intents = -1
        self._sold_at = 0.0

    def rest(self, now: float, spent: float, done: int, intents: int) -> float:
        """How many seconds to rest after a step that has just ended.

        :param spent: seconds from its question to its answer.
        :param done: how much it did; 0 when that was not for us to choose.
        :param intents: how many intents the store was ever given: when there are more, a till has sold.
        """
        if intents != self._intents:
            self._intents, self._sold_at = intents, now
        selling = 0 <= now - self._sold_at < QUIET
        # Somebody may have set the clock meanwhile.
        own = spent = max(spent, 0.0)
        if done:
            self._costs.append(spent / done)
            cost = min(self._costs)
            own = cost * done
            fit = int((BRIEF if selling else LONG) / cost) if cost else self._most
            # A small step is dearer for each: no reason to make the next one much smaller or larger.
            self.size = min(max(min(fit, 2 * self.size), LEAST), self._most)
        rest = own * (REST if selling else QUIET_REST) + (spent - own) * WAITING
        return min(rest, LONGEST_REST)
