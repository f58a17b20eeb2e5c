"""Keeps the service running: starts it, restarts it when it ends, gives up, stops it; on any system.

::

              started          reports that it serves
    (start) ─────────▶ starting ────────────────▶ running ──┐
                         │  ▲                        │      │ asked to stop
             ends, or is │  │ pause: 1, 4, 15, 60 s  │ ends ▼
             too slow    ▼  │                        │   stopping ──ends──▶ stopped
                        down ◀───────────────────────┘      │
                         │                                   └─ does not end: killed, with its children
                         └─ five times in a row ──▶ gives up; the system has its own rules

When the service dies, nothing is lost, because of its journal. So the supervisor repairs nothing, and knows only one
line, one pipe and an exit status of the service (`dmtwisted.system.supervised`). Its caller provides a child to
start, a clock, a way to wait, and gets reports (`IKeeper`); on Windows that is `dmtwisted.windows`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from threading import Event
from typing import Protocol

from dmtwisted.system.supervised import CANNOT_LISTEN

TICK = 0.2
"""Seconds between two checks of the child."""

HINT = 10.0
"""Seconds within which the system gets the next report during a start or a stop."""

PAUSES = (1.0, 4.0, 15.0, 60.0)
"""Seconds before the service is started again, after its first end, its second one …"""

GIVE_UP_AFTER = len(PAUSES) + 1
"""Ends in a row after which the supervisor gives up."""

STEADY = 600.0
"""Seconds of service after which earlier ends are forgotten."""

START_PATIENCE = 600.0
"""Seconds within which the service must serve: an upgrade may have to rewrite a large database first."""

STOP_PATIENCE = 90.0
"""Seconds to finish running tasks. A longer payment is interrupted, and the next start queries the terminal."""

END_PATIENCE = 10.0
"""Seconds for a killed process to end."""


class State(Enum):
    """The state of the service."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class What(Enum):
    """Events for the administrator's log: number, severity (0 information, 1 warning, 2 error), text."""

    STARTED = 1, 0, "The service accepts requests."
    STOPPED = 2, 0, "The service has stopped."
    CRASHED = 3, 2, "The service ended unexpectedly (status {status}) and is restarted in {pause:g} s. {words}"
    PORT_TAKEN = 4, 2, "The service cannot listen: another program uses its port. {words}"
    GAVE_UP = 5, 2, "The service ended {times} times in a row and is not restarted any more. {words}"
    TOO_SLOW = 6, 1, "The service did not accept requests within {seconds:g} s and is restarted. {words}"
    ENDED = 7, 1, "The service did not stop within {seconds:g} s and was killed. No receipt is lost."
    NOT_STARTED = 8, 2, "The service cannot be started: {words}"

    def __init__(self, number: int, severity: int, words: str) -> None:
        self.number, self.severity, self.words = number, severity, words


class GaveUp(Exception):
    """The service does not keep running; the text is its last line."""


class IChild(Protocol):
    """One run of the service: a process with its children."""

    @property
    def serving(self) -> bool:
        """Whether it has reported that it accepts requests."""

    def status(self) -> int | None:
        """Its exit status; `None` while it runs."""

    def last_words(self) -> str:
        """Its last line for people; empty without output."""

    def ask_to_stop(self) -> None:
        """Ask it to finish and end."""

    def end(self) -> None:
        """Kill it with its children."""

    def forget(self) -> None:
        """Release its resources."""


class IKeeper(Protocol):
    """The caller of the supervisor, which gets its reports."""

    def report(self, state: State, patience: float) -> None:
        """The current state; the next report comes within ``patience`` seconds."""

    def tell(self, what: What, words: str) -> None:
        """An event for the administrator."""


class Supervisor:
    """Keeps one service running until `stop`.

    :param start: starts the service; raises `OSError` when it cannot.
    :param wait: waits some seconds or until `stop`; replaced in tests.
    """

    def __init__(
        self,
        start: Callable[[], IChild],
        keeper: IKeeper,
        seconds: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
    ) -> None:
        self._start, self._keeper, self._seconds = start, keeper, seconds
        self._asked = Event()
        self._wait = self._rest if wait is None else wait
        self._ends = 0
        self.state = State.STOPPED

    def stop(self) -> None:
        """Stop the service; from any thread, at any time, any number of times."""
        self._asked.set()

    def run(self) -> None:
        """Keep the service running; return when it was stopped.

        :raises GaveUp: when it does not keep running.
        """
        self._become(State.STARTING)
        while not self._asked.is_set():
            status, words = self._run_once()
            if not self._asked.is_set():
                self._pause(status, words)
        self._become(State.STOPPED)
        self._tell(What.STOPPED)

    def _run_once(self) -> tuple[int | None, str]:
        """Start the service and wait for its end; status and last line."""
        try:
            child = self._start()
        except OSError as error:
            words = error.strerror or str(error)
            self._tell(What.NOT_STARTED, words=words)
            return None, words
        try:
            self._watch(child)
            return child.status(), child.last_words()
        finally:
            child.forget()

    def _watch(self, child: IChild) -> None:
        began = self._seconds()
        served_at: float | None = None
        while child.status() is None:
            if self._asked.is_set():
                self._stop(child)
                break
            now = self._seconds()
            if child.serving and served_at is None:
                served_at = now
                self._become(State.RUNNING)
                self._tell(What.STARTED)
            elif served_at is not None and now - served_at >= STEADY:
                self._ends = 0
            elif served_at is None and now - began >= START_PATIENCE:
                self._tell(What.TOO_SLOW, seconds=START_PATIENCE, words=child.last_words())
                self._end(child)
                break
            self._tick()

    def _pause(self, status: int | None, words: str) -> None:
        """Wait before the next start.

        :raises GaveUp: after too many ends in a row.
        """
        self._ends += 1
        if CANNOT_LISTEN in words:
            self._tell(What.PORT_TAKEN, words=words)
        if self._ends >= GIVE_UP_AFTER:
            self._tell(What.GAVE_UP, times=self._ends, words=words)
            raise GaveUp(words)
        pause = PAUSES[self._ends - 1]
        self._tell(What.CRASHED, status=status, pause=pause, words=words)
        until = self._seconds() + pause
        while not self._asked.is_set() and self._seconds() < until:
            self._tick()

    def _stop(self, child: IChild) -> None:
        self._become(State.STOPPING)
        child.ask_to_stop()
        if not self._ended_within(child, STOP_PATIENCE):
            self._tell(What.ENDED, seconds=STOP_PATIENCE)
            self._end(child)

    def _end(self, child: IChild) -> None:
        child.end()
        self._ended_within(child, END_PATIENCE)

    def _ended_within(self, child: IChild, patience: float) -> bool:
        until = self._seconds() + patience
        while child.status() is None and self._seconds() < until:
            self._tick()
        return child.status() is not None

    def _tick(self) -> None:
        if self.state is not State.RUNNING:
            self._keeper.report(self.state, HINT)
        self._wait(TICK)

    def _rest(self, seconds: float) -> None:
        # After `stop` the event is set, and would not wait for the child.
        if self._asked.is_set():
            time.sleep(seconds)
        else:
            self._asked.wait(seconds)

    def _become(self, state: State) -> None:
        self.state = state
        self._keeper.report(state, HINT)

    def _tell(self, what: What, **details: object) -> None:
        self._keeper.tell(what, what.words.format(**details).strip())
