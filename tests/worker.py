"""What the suite records in each process that runs tests: the time of each module, and written card numbers.

Trial starts the processes and hands them tests one by one. The first test of a process imports the package `tests`,
which calls `begin`; the records are written when the process ends, into the folder that the suite names.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

VARIABLE = "DMTWISTED_SUITE"
"""Names the folder for the records; set by the suite for its own processes only."""


def begin() -> None:
    """Record the tests of this process from now on, if it is one that the suite started to run tests."""
    if VARIABLE not in os.environ or not sys.argv[0].endswith("workertrial.py"):
        return
    # Taken away: programs that tests start are no part of the suite.
    folder = os.environ.pop(VARIABLE)
    from tests.canaries import Watch

    running, seconds = "", Counter[str]()
    watch = Watch(lambda: running)
    run = SynchronousTestCase.run

    def recorded(case: Any, result: Any) -> Any:
        nonlocal running
        running, since = case.id(), time.perf_counter()
        try:
            return run(case, result)
        finally:
            seconds[case.__module__] += time.perf_counter() - since  # type: ignore[assignment]

    def end() -> None:
        watch.end()
        record = {"seconds": seconds, "leaks": watch.found}
        Path(folder, f"{os.getpid()}.json").write_text(json.dumps(record), "utf-8")

    SynchronousTestCase.run = recorded  # type: ignore[method-assign]
    watch.begin()
    atexit.register(end)
