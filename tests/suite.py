"""The whole suite, and what of it could not run here: ``python -m tests.suite``.

Trial runs the tests; the last lines name what was skipped and why, and close with the counts alone on a line.
On a machine with ``CI=true`` nothing may be missing, so a skip there is a failure.
"""

from __future__ import annotations

import os
import sys
from typing import cast

from twisted.trial.reporter import TestResult, TreeReporter
from twisted.trial.runner import TestLoader, TrialRunner

ALLOWED = frozenset({"slow"})
"""Reasons for skipping that CI accepts: parts of the suite that have a make target of their own."""


class Reporter(TreeReporter):
    """Trial's tree, which stays short: only what went wrong is told."""

    def startTest(self, test: object) -> None:
        """Nothing to say before a test."""
        TestResult.startTest(self, test)

    def addSuccess(self, test: object) -> None:
        """Nothing to say of what went well."""
        TestResult.addSuccess(self, test)

    def endLine(self, message: str, color: str) -> None:
        """Only errors have lines, and those are told at the end."""


def main() -> int:
    """Run every test; the exit status tells whether all is well."""
    runner = TrialRunner(Reporter, mode=None, workingDirectory="_trial_temp", logfile="test.log")
    suite = TestLoader().loadByName("tests", recurse=True)
    result = cast(TestResult, runner.run(suite))
    skipped = [(test.id(), str(reason)) for test, reason in result.skips]
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}")
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    missing = [name for name, reason in skipped if reason not in ALLOWED]
    if os.environ.get("CI") == "true" and missing:
        print("a skip is a failure here: what these tests need was to be installed")
        failed += len(missing)
    print(f"{result.successes} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed or not result.successes else 0


if __name__ == "__main__":
    sys.exit(main())
