"""The whole suite, and what of it could not run here: ``python -m tests.suite``.

Trial runs the tests, shared out among as many processes as there are processors. The last lines name what was
skipped and why, and close with the counts alone on a line. On a machine with ``CI=true`` nothing may be missing, so a
skip there is a failure, but for the slow part, which has make targets of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from twisted.trial.reporter import TestResult, TreeReporter
from twisted.trial.runner import TestLoader, TestSuite, TrialRunner

from tests.canaries import TRIAL_LOG, Watch, leaks

HERE = Path(__file__).parent

SLOW = "set DMTWISTED_SLOW=1"
"""How the reason of a test begins that belongs to the slow part."""

MOST_PROCESSES = 4

FOLDER = Path("_trial_temp")
"""Where tests may leave things; each process has a folder of its own in it."""


class Reporter(TreeReporter):
    """Trial's tree, which stays short: only what went wrong is told."""

    running = ""
    """The test that runs."""

    def startTest(self, test: object) -> None:
        """Nothing to say before a test."""
        Reporter.running = cast(Any, test).id()
        TestResult.startTest(self, test)

    def addSuccess(self, test: object) -> None:
        """Nothing to say of what went well."""
        TestResult.addSuccess(self, test)

    def endLine(self, message: str, color: str) -> None:
        """Only errors have lines, and those are told at the end."""


def modules() -> list[str]:
    """Every test module, the longest first."""
    found = sorted(HERE.rglob("test_*.py"), key=lambda path: (-path.stat().st_size, path))
    return [".".join(("tests", *path.relative_to(HERE).with_suffix("").parts)) for path in found]


def run(names: Sequence[str], folder: Path) -> dict[str, Any]:
    """Run these modules here, and tell how that went."""
    suite = TestSuite([TestLoader().loadByName(name) for name in names])
    runner = TrialRunner(Reporter, mode=None, workingDirectory=str(folder), logfile=TRIAL_LOG)
    watch = Watch(lambda: Reporter.running)
    watch.begin()
    result = cast(TestResult, runner.run(suite))
    watch.end()
    return {
        "leaks": watch.found,
        "passed": result.successes,
        "failed": len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses),
        "skipped": [(test.id(), str(reason)) for test, reason in result.skips],
    }


def run_part(part: int, names: Sequence[str]) -> subprocess.Popen[bytes]:
    """Begin to run these modules in a process of their own, which leaves its result in a file."""
    command = [sys.executable, "-m", "tests.suite", str(part), *names]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def outcome(part: int) -> Path:
    """The file with the result of a part."""
    return FOLDER / f"part-{part}.json"


def main() -> int:
    """Run every test; the exit status tells whether all is well."""
    if len(sys.argv) > 2:
        part, names = int(sys.argv[1]), sys.argv[2:]
        outcome(part).write_text(json.dumps(run(names, FOLDER / f"part-{part}")))
        return 0
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("part-*.json"):
        old.unlink()
    count = max(1, min(MOST_PROCESSES, os.cpu_count() or 1))
    # Dealt like cards, the longest first, so that no process is left with all the long ones.
    dealt = [modules()[part::count] for part in range(count)]
    running = [run_part(part, names) for part, names in enumerate(dealt)]
    passed, failed, skipped, leaked = 0, 0, [], []
    for number, process in enumerate(running):
        said, _ = process.communicate()
        sys.stdout.write(said.decode(errors="replace"))
        if not outcome(number).exists():
            print(f"part {number} of the suite ended with status {process.returncode} and no result")
            failed += 1
            continue
        told = json.loads(outcome(number).read_text())
        passed, failed = passed + told["passed"], failed + told["failed"]
        skipped += told["skipped"]
        leaked += told["leaks"]
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}")
    for leak in [*leaked, *leaks(FOLDER)]:
        print(f"a card number was written: {leak}")
        failed += 1
    missing = [name for name, reason in skipped if not reason.startswith(SLOW)]
    if os.environ.get("CI") == "true" and missing:
        print("a skip is a failure here: what these tests need was to be installed")
        failed += len(missing)
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
