"""What `tests.windows_suite` has the Windows Python run: ``python -m tests.windows_worker MODULE ...``.

Each outcome is a line of JSON behind `MARK`, written at once: of a test that hangs or ends the process the start is
known.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from twisted.trial.reporter import TestResult
from twisted.trial.runner import TestLoader

from tests.not_on_windows import reason

MARK = b"\x1e"
"""How a line of ours begins; tests may print, too."""


class Told(TestResult):
    """Tells each outcome at once."""

    def __init__(self, stream: int) -> None:
        super().__init__()
        self._stream = stream

    def tell(self, name: str, outcome: str, text: str = "") -> None:
        """One outcome of one test."""
        os.write(self._stream, MARK + json.dumps([name, outcome, text]).encode() + b"\n")

    def startTest(self, test: Any) -> None:
        """A test begins."""
        super().startTest(test)
        self.tell(test.id(), "begun")

    def addSuccess(self, test: Any) -> None:
        """It passed."""
        super().addSuccess(test)
        self.tell(test.id(), "passed")

    def addError(self, test: Any, error: Any) -> None:
        """It ended with an error."""
        super().addError(test, error)
        self.tell(test.id(), "failed", self._getFailure(error).getTraceback())

    def addFailure(self, test: Any, fail: Any) -> None:
        """It did not keep its promise."""
        super().addFailure(test, fail)
        self.tell(test.id(), "failed", self._getFailure(fail).getTraceback())

    def addSkip(self, test: Any, reason: Any) -> None:
        """It skipped itself."""
        super().addSkip(test, reason)
        self.tell(test.id(), "skipped", str(reason))


def tests(suite: Any) -> Iterator[Any]:
    """The tests in ``suite``, which may be one."""
    if not hasattr(suite, "__iter__"):
        yield suite
        return
    for one in suite:
        yield from tests(one)


def main() -> None:
    """Run the modules one after the other."""
    told = Told(os.dup(1))
    folder = Path("_trial_windows", str(os.getpid()))
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    for name in sys.argv[1:]:
        for test in tests(TestLoader().loadByName(name)):
            if excluded := reason(test.id()):
                told.tell(test.id(), "excluded", excluded)
            else:
                test(told)
        told.tell(name, "over")


if __name__ == "__main__":
    main()
