"""Questions that go to a database server together: what comes while a group is on its way waits for the next group.

One transaction then serves all callers of a group, as in the writer of a SQLite file.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.python.failure import Failure

Q = TypeVar("Q")

ALONE = object()
"""The answer to a question that the group did nothing about: it is to be asked by itself."""

MOST = 128
"""Questions in a group: its statement is some hundred kilobytes."""

SLOW = 0.1
"""Seconds for which a question waits for a group that is on its way, unless that is about the same device."""

_Place = tuple[int, Q, Deferred[Any]]


class Gathering(Generic[Q]):
    """Questions of one verb.

    :param ask: asks a group, and returns the answers in its order.
    """

    def __init__(self, reactor: Any, ask: Callable[[list[Q]], Coroutine[Any, Any, list[Any]]]) -> None:
        self._reactor, self._ask = reactor, ask
        self._waiting: list[_Place[Q]] = []
        self._busy: set[int] = set()
        self._last: list[_Place[Q]] = []
        self._late: IDelayedCall | None = None

    def ask(self, device_n: int, question: Q) -> Deferred[Any]:
        """The answer to a question about a device; it is in no more than one group at a time."""
        due: Deferred[Any] = Deferred()
        self._waiting.append((device_n, question, due))
        if not self._last:
            self._send()
        elif self._late is None:
            self._late = self._reactor.callLater(SLOW, self._send_late)
        return due

    def _send_late(self) -> None:
        self._late = None
        self._send()

    def _send(self) -> None:
        """Send what waits."""
        group: list[_Place[Q]] = []
        left: list[_Place[Q]] = []
        for place in self._waiting:
            if place[0] in self._busy or len(group) == MOST:
                left.append(place)
            else:
                self._busy.add(place[0])
                group.append(place)
        self._waiting, self._last = left, group
        if self._late is not None:
            self._late.cancel()
            self._late = None
        if group:
            if left:
                self._late = self._reactor.callLater(SLOW, self._send_late)
            asked = Deferred.fromCoroutine(self._ask([question for _, question, _ in group]))
            asked.addBoth(self._answered, group)

    def _answered(self, answers: list[Any] | Failure, group: list[_Place[Q]]) -> None:
        self._busy.difference_update(device_n for device_n, _, _ in group)
        if self._last is group or not self._last:
            # Before the callers go on: the server works meanwhile.
            self._send()
        if isinstance(answers, Failure):
            for _, _, due in group:
                due.errback(answers)
        else:
            for (_, _, due), answer in zip(group, answers, strict=True):
                due.callback(answer)
