"""The whole suite, and what of it could not run here: ``python -m tests.suite [MODULE ...]``.

Trial runs the tests in as many processes as there are processors; then the Windows Python runs its part under Wine,
where ``make windows-env`` made one. The last lines name the slowest modules, what was skipped and what failed, each
with its reason, and close with the counts alone on a line. With ``CI=true`` nothing may be missing, so a skip there
is a failure, but for the slow part, which has make targets of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import windows_suite
from tests.canaries import leaks
from tests.reporter import RESULT
from tests.worker import VARIABLE

HERE = Path(__file__).parent

SLOW = "set DMTWISTED_SLOW=1"
"""How the reason of a test begins that belongs to the slow part."""

WINDOWS = "only on Windows"
"""How the reason of a test begins that the Windows Python runs."""

MOST_PROCESSES = 4

FOLDER = Path("_trial_temp")
"""Where tests may leave things; each process has a folder of its own in it."""

SLOWEST = 8
"""Modules whose times are named."""


def run_trial(names: Sequence[str], records: Path) -> int:
    """Run the tests of ``names``; the processes leave their records in ``records``. Returns trial's exit status."""
    jobs = max(1, min(MOST_PROCESSES, os.cpu_count() or 1))
    path = os.pathsep.join(filter(None, (str(HERE / "trial"), os.environ.get("PYTHONPATH", ""))))
    command = [
        sys.executable,
        "-m",
        "twisted.trial",
        f"--jobs={jobs}",
        "--reporter=suite",
        f"--temp-directory={FOLDER}",
    ]
    return subprocess.run(
        [*command, *names], env={**os.environ, "PYTHONPATH": path, VARIABLE: str(records)}
    ).returncode


def run_windows_part(records: Path) -> None:
    """Run what is different on Windows by its Python, under Wine; add what came of it to the record of trial."""
    result = records / RESULT
    if not result.exists():
        return
    outcome = json.loads(result.read_text("utf-8"))
    if why := windows_suite.missing():
        outcome["skipped"].append(("tests.windows_suite", why))
    else:
        done = windows_suite.run(windows_suite.PART)
        outcome["passed"] += done.counts["passed"]
        outcome["failures"] += done.wrong()
        outcome["skipped"] = [each for each in outcome["skipped"] if not each[1].startswith(WINDOWS)]
    result.write_text(json.dumps(outcome), "utf-8")


def closing_lines(records: Path, status: int) -> int:
    """Print what a reader of the last lines has to know; return the exit status of the suite."""
    result = records / RESULT
    if not result.exists():
        print(f"trial ended with status {status} and no result")
        print("0 passed, 1 failed, 0 skipped")
        return 1
    outcome = json.loads(result.read_text("utf-8"))
    passed, failed, skipped = outcome["passed"], len(outcome["failures"]), outcome["skipped"]
    workers = [json.loads(file.read_text("utf-8")) for file in records.glob("*.json") if file != result]
    seconds = sum((Counter(worker["seconds"]) for worker in workers), Counter[str]())
    print("slowest:", ", ".join(f"{name} {taken:.0f} s" for name, taken in seconds.most_common(SLOWEST)))
    for name, reason in skipped:
        print(f"skipped: {name}: {reason}")
    for name, why in outcome["failures"]:
        print(f"failed: {name}: {why}")
    for leak in [*(leak for worker in workers for leak in worker["leaks"]), *leaks(FOLDER)]:
        print(f"a card number was written: {leak}")
        failed += 1
    missing = [name for name, reason in skipped if not reason.startswith(SLOW)]
    if os.environ.get("CI") == "true" and missing:
        print("a skip is a failure here: what these tests need was to be installed")
        failed += len(missing)
    if not workers:
        print("no process of the suite left a record")
        failed += 1
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


def main() -> int:
    """Run the tests; the exit status is 0 when all passed."""
    with TemporaryDirectory(prefix="suite-") as folder:
        status = run_trial(sys.argv[1:] or ["tests"], Path(folder))
        if not sys.argv[1:]:
            run_windows_part(Path(folder))
        return closing_lines(Path(folder), status)


if __name__ == "__main__":
    sys.exit(main())
