"""A service that measures how long it blocks: ``python -m tests.heartbeat run --training …``.

Processor time of the reactor's thread counts, turn by turn, so that other work of the machine does not. On SIGUSR1
the longest turn since the last time is written to the file `turns`, with that of a fixed work, which says how fast
the machine is at this moment.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from time import thread_time
from typing import Any

from dmtwisted.commands.main import main

FILE = "turns"


def work() -> float:
    """Seconds of a fixed work of the kind that requests are."""
    begun = thread_time()
    text = json.dumps([{"name": str(n), "cnt": n / 7} for n in range(3000)])
    for _ in range(3):
        json.loads(text)
    return thread_time() - begun


class Heartbeat:
    """Watches the turns of a reactor."""

    def __init__(self, reactor: Any) -> None:
        self._longest, self._begun = 0.0, thread_time()
        self._wait = reactor.doIteration
        reactor.doIteration = self._turn
        signal.signal(signal.SIGUSR1, self._tell)

    def _turn(self, delay: float | None) -> None:
        self._wait(delay)
        now = thread_time()
        self._longest, self._begun = max(self._longest, now - self._begun), now

    def _tell(self, *_: object) -> None:
        longest, self._longest = self._longest, 0.0
        speed = min(work() for _ in range(5))
        temporary = Path(FILE + ".new")
        temporary.write_text(json.dumps([longest, speed]), "utf-8")
        temporary.replace(FILE)
        self._begun = thread_time()


if __name__ == "__main__":
    from twisted.internet import reactor

    Heartbeat(reactor)
    main(sys.argv[1:])
