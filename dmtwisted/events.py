"""Events of the service for listeners: pages and programs.

Without a listener no event is made; a task makes one check and goes on. While there is a listener, and for a while
after the last one left, the newest events are kept, so that a page whose connection broke gets what it missed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from dmtwisted.answers import Warning
from dmtwisted.requests import TYPE_FISCAL, TYPE_PAY, TaskRequest
from dmtwisted.security import shortened

KEPT = 500
"""Events that are kept for a listener that reconnects."""

LONGEST = 500
"""Characters of a text in an event: callers choose names and tags, and many events are kept."""

FREE = frozenset({"tag", "errortxt", "text", "why"})
"""Texts that others write, in which card numbers are masked; names and ids are compared by listeners."""

LINGER = 60.0
"""Seconds for which events are kept after the last listener left: enough for a page to reload."""

OPEN_SHIFT, Z_REPORT = 0, 11
"""Tasks that open and close a shift."""


MONEY = frozenset({1, 2, 3, 4, 14, 15, 16, 17})
"""Tasks that make a document about money."""

BEFORE = 2
"""``task_status`` of an answer that repeats an earlier one."""


class Event(NamedTuple):
    """An event; ``name`` is its place in the order."""

    name: str
    kind: str
    data: dict[str, Any]


class _Warned(msgspec.Struct):
    """The part of an answer that an event needs."""

    res: int = 0
    errortxt: str = ""
    task_status: int = 0
    warnings: list[Warning] = []


class _Printed(msgspec.Struct, frozen=True):
    sum_topay: float = 0


class _Info(msgspec.Struct, frozen=True):
    docno: str = ""
    sum: float = 0
    printinfo: _Printed = _Printed()


class _Told(msgspec.Struct):
    """The part of a successful answer that says what was done."""

    info: _Info = _Info()


_warned_of = msgspec.json.Decoder(_Warned).decode
told_of = msgspec.json.Decoder(_Told).decode


class Events:
    """Publishes events, and keeps the newest ones for listeners that reconnect."""

    log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._listeners: list[Callable[[Event], None]] = []
        self._last_left: float | None = None
        self._operators: list[Callable[[Event], bool]] = []
        self.operator_came: Callable[[], None] = lambda: None
        """Called when there is one more operator."""
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._epoch, self._n = "", 0
        self.pages = 0
        """The listeners that are open pages."""

    @property
    def watched(self) -> bool:
        """Whether there is a listener, or one may reconnect; else no event has to be made."""
        if self._listeners:
            return True
        if self._last_left is None:
            return False
        if self._clock.seconds() - self._last_left <= LINGER:
            return True
        self._last_left = None
        self._kept.clear()
        return False

    @property
    def attended(self) -> bool:
        """Whether somebody looks at a page now; a program that listens day and night is nobody who looks."""
        return self.pages > 0

    def publish(self, kind: str, /, **data: Any) -> None:
        """Publish an event to all listeners, even if one of them fails."""
        if not self.watched:
            return
        self._n += 1
        for name, value in data.items():
            if isinstance(value, str) and (name in FREE or len(value) > LONGEST):
                data[name] = shortened(value, LONGEST)
        event = Event(f"{self._epoch}-{self._n}", kind, data)
        self._kept.append(event)
        for listener in list(self._listeners):
            try:
                listener(event)
            except Exception:
                self.log.failure("a listener failed on an event")

    def listen(self, listener: Callable[[Event], None], since: str = "") -> tuple[list[Event], bool]:
        """Call ``listener`` with every event from now on, until `leave`.

        :param since: the name of the last event that the listener knows; empty for a new one.
        :returns: the events after that, and whether some may be missing, so that the listener has to reload its
            state.
        """
        if not self.watched:
            # Nothing was named while there was no listener, so the names begin again.
            self._epoch, self._n = f"{int(self._clock.seconds() * 1000):x}", 0
        self._listeners.append(listener)
        self._last_left = None
        if not since:
            return [], False
        epoch, _, number = since.rpartition("-")
        oldest = self._n - len(self._kept)
        if epoch != self._epoch or not number.isascii() or not number.isdigit():
            return [], True
        known = int(number)
        if not oldest <= known <= self._n:
            return [], True
        return list(self._kept)[known - oldest :], False

    def leave(self, listener: Callable[[Event], None]) -> None:
        """Stop calling ``listener``."""
        if listener in self._listeners:
            self._listeners.remove(listener)
            if not self._listeners:
                self._last_left = self._clock.seconds()

    # Telephone numbers of customers

    def operate(self, take: Callable[[Event], bool]) -> None:
        """Offer every number to ``take`` from now on, which says whether it took it; until `retire`."""
        self._operators.append(take)
        self.operator_came()

    def retire(self, take: Callable[[Event], bool]) -> None:
        """Offer it no more numbers."""
        if take in self._operators:
            self._operators.remove(take)

    def tell_operators(self, kind: str, /, **data: Any) -> bool:
        """Publish an event to operators alone, and keep it for nobody; whether one of them took it."""
        event = Event(f"{self._epoch}-{self._n}", kind, data)
        return any([take(event) for take in list(self._operators)])

    # Events of tasks

    def begun(self, request: TaskRequest) -> None:
        """A task has come in."""
        self.publish("task_begun", **_named(request))

    def ended(self, request: TaskRequest, answer: bytes) -> None:
        """A task has been answered; each warning in the answer is an event too."""
        try:
            ended = _warned_of(answer)
        except msgspec.MsgspecError:
            # The answer is sent as it is; a page without the event reloads by itself.
            self.log.failure("an answer could not be read for its event")
            return
        self.publish("task_ended", **_named(request), res=ended.res, errortxt=ended.errortxt)
        if not ended.res and ended.task_status != BEFORE:
            self._done(request, answer)
        if request.type == TYPE_FISCAL and request.task in (OPEN_SHIFT, Z_REPORT) and not ended.res:
            self.publish("shift", device=request.device, open=request.task == OPEN_SHIFT)
        for warning in ended.warnings:
            self.publish("warning", device=request.device, code=warning.code, text=warning.wtxt)

    def _done(self, request: TaskRequest, answer: bytes) -> None:
        """Say what a task did with money."""
        moves = request.type == TYPE_FISCAL and request.task in MONEY
        if not (moves or request.type == TYPE_PAY):
            return
        with suppress(msgspec.MsgspecError):
            info = told_of(answer).info
            named = {"device": request.device, "task": request.task}
            if moves:
                self.publish("document", **named, number=info.docno, sum=info.printinfo.sum_topay)
            else:
                self.publish("payment", **named, sum=info.sum)


def _named(request: TaskRequest) -> dict[str, Any]:
    return {"device": request.device, "type": request.type, "task": request.task, "tag": request.tag}
