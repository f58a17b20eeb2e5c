"""Keeps the service running: starts it, notices its end, starts it again, gives up, stops it; on any system.

::

              started          says that it serves
    (start) ─────────▶ starting ────────────────▶ running ──┐
                         │  ▲                        │      │ asked to stop
             ends, or is │  │ pause: 1, 4, 15, 60 s  │ ends ▼
             too slow    ▼  │                        │   stopping ──ends──▶ stopped
                        down ◀───────────────────────┘      │
                         │                                   └─ does not end: ended, with all its children
                         └─ five times in a row ──▶ gives up: whoever keeps us has rules of his own

Where the service dies, nothing is lost: that is what its journal is for. So the supervisor neither asks nor repairs,
and what it knows of the service is one line, one pipe and an exit status (`dmtwisted.system.supervised`). Its caller
gives it a child to start, a clock, a way to wait, and ears for what happens (`IKeeper`); on Windows that is
`dmtwisted.windows`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from threading import Event
from typing import Protocol

from dmtwisted.system.supervised import CANNOT_LISTEN

TICK = 0.2
"""Seconds between two looks at the child."""

HINT = 10.0
"""Seconds within which whoever waits for a start or a stop hears of us again."""

PAUSES = (1.0, 4.0, 15.0, 60.0)
"""Seconds before the service is started again, after its first end, its second one …"""

GIVE_UP_AFTER = len(PAUSES) + 1
"""Ends in a row after which somebody else has to decide."""

STEADY = 600.0
"""Seconds of service after which earlier ends are forgotten."""

START_PATIENCE = 600.0
"""Seconds until a service has to serve: an upgrade may have to rewrite a large database first."""

STOP_PATIENCE = 90.0
"""Seconds to finish what is under way. A payment may take longer; ended in it, the terminal is asked at the start."""

END_PATIENCE = 10.0
"""Seconds that the system may take to end what was ended by force."""


class State(Enum):
    """What the service is doing, for whoever asks us."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"


class What(Enum):
    """What happened, for a log that administrators read: number, gravity (0 well, 1 look, 2 bad), words."""

    STARTED = 1, 0, "The service takes requests."
    STOPPED = 2, 0, "The service has stopped."
    CRASHED = 3, 2, "The service ended by itself (status {status}) and is started again in {pause:g} s. {words}"
    PORT_TAKEN = 4, 2, "The service cannot listen: another program uses its port. {words}"
    GAVE_UP = 5, 2, "The service ended {times} times in a row and is left alone now. {words}"
    TOO_SLOW = 6, 1, "The service did not take requests within {seconds:g} s and is started again. {words}"
    ENDED = 7, 1, "The service did not stop within {seconds:g} s and was ended. No receipt is lost by that."
    NOT_STARTED = 8, 2, "The service cannot be started: {words}"

    def __init__(self, number: int, gravity: int, words: str) -> None:
        self.number, self.gravity, self.words = number, gravity, words


class GaveUp(Exception):
    """The service does not stay up; the text says how it ended the last time."""


class IChild(Protocol):
    """One life of the service: a process with its children."""

    @property
    def serving(self) -> bool:
        """Whether it has said that it takes requests."""

    def status(self) -> int | None:
        """Its exit status; `None` while it lives."""

    def last_words(self) -> str:
        """What it said last, for people; empty when it said nothing."""

    def ask_to_stop(self) -> None:
        """Let it finish and end."""

    def end(self) -> None:
        """End it at once, with its children."""

    def forget(self) -> None:
        """Let go of what is left of it."""


class IKeeper(Protocol):
    """Who keeps the supervisor, and wants to hear of it."""

    def report(self, state: State, patience: float) -> None:
        """So it stands now, and the next report comes within ``patience`` seconds; called again while it lasts."""

    def tell(self, what: What, words: str) -> None:
        """Something happened that an administrator wants to read about."""


class Supervisor:
    """Keeps one service running until it is told to stop.

    :param start: begins a new life of the service; `OSError` when it cannot.
    :param wait: waits so many seconds, or until it is told to stop; a stand-in in tests.
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
        """Have the service stopped; from any thread, at any time, as often as one likes."""
        self._asked.set()

    def run(self) -> None:
        """Keep the service running; return when it was stopped.

        :raises GaveUp: when it does not stay up.
        """
        self._become(State.STARTING)
        while not self._asked.is_set():
            status, words = self._one_life()
            if not self._asked.is_set():
                self._come_to_terms(status, words)
        self._become(State.STOPPED)
        self._tell(What.STOPPED)

    def _one_life(self) -> tuple[int | None, str]:
        """Start the service and see it through to its end; status and last words."""
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

    def _come_to_terms(self, status: int | None, words: str) -> None:
        """Wait before the next start.

        :raises GaveUp: when there is none.
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
        # Told to stop, we wait for the child, not for being told.
        if self._asked.is_set():
            time.sleep(seconds)
        else:
            self._asked.wait(seconds)

    def _become(self, state: State) -> None:
        self.state = state
        self._keeper.report(state, HINT)

    def _tell(self, what: What, **details: object) -> None:
        self._keeper.tell(what, what.words.format(**details).strip())
