"""The service with timers in the steps of a sale: ``python -m dmtwisted.lab.bench.timed FILE run ...``.

Only for ``dmtwisted bench steps``. It is the real service, whose crash points (`dmtwisted.crash_points`) and a few
more places record the time, which costs a few microseconds per sale. At its end it writes the nanoseconds of each
step to FILE as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from dmtwisted import crash_points
from dmtwisted.system.logs import request_id

STEPS = ("reading", "engine", "intent", "device", "receipt", "outcome", "answer")
"""The steps of a sale in order; each ends where the next one begins."""

ENDS = {
    "begun": "",
    "read": "reading",
    "document.before-intent": "engine",
    "document.intent-stored": "intent",
    "document.submitted": "device",
    "outcome.about-to-be-stored": "receipt",
    "document.outcome-stored": "outcome",
    "ended": "answer",
}
"""The step that each moment ends; the first moment only begins one."""


class Watch:
    """The moments of the running tasks.

    :param whose: identifies the current task.
    """

    def __init__(self, whose: Callable[[], object], clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._whose, self._clock = whose, clock
        self._under_way: dict[object, dict[str, int]] = {}
        self.spent: dict[str, list[int]] = {step: [] for step in STEPS}

    def reached(self, moment: str) -> None:
        """A task has reached this moment; a sale is complete at its end."""
        if moment == "begun":
            self._under_way[self._whose()] = {moment: self._clock()}
            return
        moments = self._under_way.get(self._whose())
        if moments is None or moment not in ENDS:
            return
        moments[moment] = self._clock()
        if moment == "ended":
            del self._under_way[self._whose()]
            self._keep(moments)

    def _keep(self, moments: dict[str, int]) -> None:
        if len(moments) < len(ENDS):
            return  # without a document: a look-up, a refusal
        before = moments["begun"]
        for moment, step in ENDS.items():
            if step:
                self.spent[step].append(moments[moment] - before)
                before = moments[moment]


def watch(steps: Watch) -> None:
    """Report every step of a sale to ``steps``; called before the service is imported."""
    crash_points.reached = steps.reached

    # The names as those modules use them, which is not what they export.
    dispatch: Any = import_module("dmtwisted.dispatch")
    bookkeeping: Any = import_module("dmtwisted.registers.bookkeeping")
    decoded, read = dispatch.plain_sale, dispatch.read_task

    def plain_sale(body: bytes) -> Any:
        found = decoded(body)
        if found is not None:
            steps.reached("read")
        return found

    def read_task(*arguments: Any) -> Any:
        found = read(*arguments)
        steps.reached("read")
        return found

    execute = dispatch.Dispatcher.execute

    async def timed(self: Any, *arguments: Any, **more: Any) -> bytes:
        steps.reached("begun")
        try:
            answer: bytes = await execute(self, *arguments, **more)
            return answer
        finally:
            steps.reached("ended")

    made = bookkeeping.Outcome

    def outcome(*arguments: Any, **members: Any) -> Any:
        steps.reached("outcome.about-to-be-stored")
        return made(*arguments, **members)

    dispatch.plain_sale, dispatch.read_task = plain_sale, read_task
    dispatch.Dispatcher.execute, bookkeeping.Outcome = timed, outcome


def main(arguments: list[str]) -> int:
    """Run the service, and write the figures at its end."""
    file, *words = arguments
    steps = Watch(request_id.get)
    watch(steps)
    sys.argv = ["dmtwisted", *words]
    try:
        import_module("dmtwisted.commands.main").main()
        return 0
    finally:
        Path(file).write_text(json.dumps(steps.spent), "ascii")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
