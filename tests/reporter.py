"""How the suite reports while it runs: a line of progress now and then, and every failure in full at the end."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from twisted.trial.reporter import Reporter

from tests.worker import VARIABLE

STEP = 250
"""Tests between two lines of progress."""

RESULT = "result.json"
"""The file with the outcome, in the folder that the suite names."""


class SuiteReporter(Reporter):
    """Trial's own reporter with progress; `tests.suite` writes the closing lines from what it leaves in `RESULT`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._since = time.monotonic()

    def _wrong(self) -> int:
        return len(self.failures) + len(self.errors) + len(self.unexpectedSuccesses)

    def _failures(self) -> list[tuple[str, str]]:
        """Each test that went wrong, with the last line of why."""
        wrong = [(test.id(), why) for test, why in [*self.failures, *self.errors]]
        texts = [(name, why if isinstance(why, str) else why.getErrorMessage()) for name, why in wrong]
        texts += [(test.id(), "it was expected to fail") for test, _ in self.unexpectedSuccesses]
        return [(name, text.strip().rpartition("\n")[2]) for name, text in texts]

    def stopTest(self, test: Any) -> None:
        """One test is over."""
        super().stopTest(test)
        if self.testsRun % STEP == 0:
            minutes, seconds = divmod(int(time.monotonic() - self._since), 60)
            print(f"{minutes}:{seconds:02} {self.testsRun} tests, {self._wrong()} failed, at {test.id()}", flush=True)

    def done(self) -> None:
        """The run is over."""
        super().done()
        skipped = [(test.id(), str(reason)) for test, reason in self.skips]
        outcome = {"passed": self.successes, "failures": self._failures(), "skipped": skipped}
        Path(os.environ[VARIABLE], RESULT).write_text(json.dumps(outcome), "utf-8")
