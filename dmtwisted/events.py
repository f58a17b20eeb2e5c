"""What happens in the service, told to whoever looks on just now: a page, a program.

Nobody has to look, and then nothing is made for it: a task asks one question and goes on. While somebody looks, and
for a while after the last one left, the newest events are kept, so that a page whose line broke hears what it missed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from dmtwisted.answers import Warning
from dmtwisted.requests import TYPE_FISCAL, TaskRequest

KEPT = 500
"""Events that are kept for a listener that comes back."""

LINGER = 60.0
"""Seconds for which events are kept when the last listener has left: a page that is loaded anew is back by then."""

OPEN_SHIFT, Z_REPORT = 0, 11
"""Tasks that open and close a shift (http-api 2.1)."""


class Event(NamedTuple):
    """Something that happened: ``kind`` says what, ``data`` the rest; ``name`` is its place in the order."""

    name: str
    kind: str
    data: dict[str, Any]


class _Warned(msgspec.Struct):
    """What an event takes of an answer."""

    res: int = 0
    errortxt: str = ""
    warnings: list[Warning] = []


_warned_of = msgspec.json.Decoder(_Warned).decode


class Events:
    """Tells listeners what happens, and those who come back what they missed."""

    log = Logger()

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._listeners: list[Callable[[Event], None]] = []
        self._last_left: float | None = None
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._epoch, self._n = "", 0

    @property
    def watched(self) -> bool:
        """Whether anybody hears of an event, now or on coming back; without it nothing needs to be made up."""
        if self._listeners:
            return True
        if self._last_left is None:
            return False
        if self._clock.seconds() - self._last_left <= LINGER:
            return True
        self._last_left = None
        self._kept.clear()
        return False

    def publish(self, kind: str, /, **data: Any) -> None:
        """Tell of something; a listener that fails is in nobody's way."""
        if not self.watched:
            return
        self._n += 1
        event = Event(f"{self._epoch}-{self._n}", kind, data)
        self._kept.append(event)
        for told in list(self._listeners):
            try:
                told(event)
            except Exception:
                self.log.failure("an event could not be told")

    def listen(self, told: Callable[[Event], None], since: str = "") -> tuple[list[Event], bool]:
        """Tell ``told`` of every event from now on, until `leave`.

        :param since: the name of the last event that the listener knows; empty for a new one.
        :returns: the events after that, and whether some may be missing: then the listener looks anew at everything.
        """
        if not self.watched:
            # Whatever happened while nobody looked has no name, so the names begin anew.
            self._epoch, self._n = f"{int(self._clock.seconds() * 1000):x}", 0
        self._listeners.append(told)
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

    def leave(self, told: Callable[[Event], None]) -> None:
        """Tell ``told`` no more."""
        if told in self._listeners:
            self._listeners.remove(told)
            if not self._listeners:
                self._last_left = self._clock.seconds()

    # What tasks tell

    def begun(self, request: TaskRequest) -> None:
        """A task has come in."""
        self.publish("task_begun", **_named(request))

    def ended(self, request: TaskRequest, answer: bytes) -> None:
        """A task has been answered; what its answer warns of is told too."""
        try:
            told = _warned_of(answer)
        except msgspec.MsgspecError:
            # The answer goes out as it is; a page that hears nothing of it looks again by itself.
            self.log.failure("an answer could not be told")
            return
        self.publish("task_ended", **_named(request), res=told.res, errortxt=told.errortxt)
        if request.type == TYPE_FISCAL and request.task in (OPEN_SHIFT, Z_REPORT) and not told.res:
            self.publish("shift", device=request.device, open=request.task == OPEN_SHIFT)
        for warning in told.warnings:
            self.publish("warning", device=request.device, code=warning.code, text=warning.wtxt)


def _named(request: TaskRequest) -> dict[str, Any]:
    return {"device": request.device, "type": request.type, "task": request.task, "tag": request.tag}
