"""A store that can fail once, and a process that can die in the middle of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.values import StoreFailed

VERBS = frozenset(
    {
        *("reserve", "note", "conclude", "conclude_at_once", "accept_document"),
        *("latest", "unresolved", "find", "register_state"),
    }
)
"""The calls that count: those by which services store and look up operations."""


class Mortal:
    """The store of one process: it can fail once, and a dead process gets no answer any more.

    :param verbs: the calls that count.
    """

    def __init__(self, store: MemoryStore, verbs: frozenset[str] = VERBS) -> None:
        self._store, self._verbs = store, verbs
        self.dead = False
        self.asked: list[str] = []
        """The calls that counted since the last `fail_at`."""
        self._left, self._happens = 0, False
        self._instead: Callable[[], None] | None = None

    def fail_at(self, n: int, happens: bool, instead: Callable[[], None] | None = None) -> None:
        """Fail at the ``n``-th call from now, 0 for never; with ``happens`` the call has its effect.

        :param instead: called at that moment in place of the failure; a call is answered after it, unless it kills.
        """
        self._left, self._happens, self._instead = n, happens, instead
        self.asked = []

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._store, name)
        if not callable(verb):
            return verb

        async def ask(*arguments: Any) -> Any:
            if self.dead:
                await Deferred()
            counts = name in self._verbs
            fails = counts and self._left == 1
            if counts:
                self.asked.append(name)
                self._left -= self._left > 0
            if not fails:
                return await verb(*arguments)
            answer = await verb(*arguments) if self._happens else None
            if self._instead is None:
                raise StoreFailed("the disk is full")
            self._instead()
            if self.dead:
                await Deferred()
            return answer if self._happens else await verb(*arguments)

        return ask
