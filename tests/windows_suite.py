"""The suite by a real Python for Windows under Wine: ``python -m tests.windows_suite [--part | MODULE ...]``.

``make windows-env`` makes that Python. A few processes run a handful of modules each; one that is silent for too long
is ended, the test that it was at has failed, and the modules after it go on in a new process. The last lines say what
was excluded and why, and the counts. What Wine does, Windows may still do otherwise.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.not_on_windows import reason
from tests.windows_worker import MARK

ROOT = Path(__file__).parent.parent
WINDOWS = ROOT / "build" / "windows"
PYTHON = WINDOWS / "python" / "python.exe"

PROCESSES = max(1, min(4, os.cpu_count() or 1))

AT_ONCE = 6
"""Most modules that a process is given: starting one takes seconds."""

SILENCE = 300.0
"""Seconds for one test; trial itself ends one that waits for a Deferred after 120."""

END_PATIENCE = 30.0
"""Seconds for the end of a process that has run all it was given."""

PART = (
    "tests.test_run",
    "tests.test_windows_service",
    "tests.test_service_process",
    "tests.test_processes",
    "tests.test_serial",
    "tests.test_serial_windows",
    "tests.test_windows_spooler",
    "tests.test_bpos1_windows",
    "tests.test_sqlite_store",
    "tests.test_writer",
    "tests.test_files",
    "tests.test_tls",
    "tests.test_tls_service",
    "tests.test_logs",
)
"""What runs at every change: what is different on Windows."""


def environment() -> dict[str, str]:
    """Where Wine finds its prefix, and Python this tree; what was compiled is kept, or each start takes long."""
    wine = {"WINEPREFIX": str(WINDOWS / "prefix"), "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8"}
    return {**os.environ, **wine, "PYTHONPATH": "D:\\", "PYTHONDONTWRITEBYTECODE": ""}


def modules() -> list[str]:
    """Every test module that is not excluded as a whole."""
    names = (".".join(file.relative_to(ROOT).with_suffix("").parts) for file in (ROOT / "tests").rglob("test_*.py"))
    return sorted(name for name in names if not reason(name))


@dataclass
class Run:
    """What is still to run, and what came of the rest."""

    waiting: list[str]
    command: Sequence[str] = ("wine", str(PYTHON), "-m", "tests.windows_worker")
    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> list[str]:
        """The modules for one process."""
        with self.lock:
            many = min(AT_ONCE, -(-len(self.waiting) // (2 * PROCESSES)))
            taken, self.waiting[:many] = self.waiting[:many], []
        return taken

    def note(self, test: str, outcome: str, text: str) -> None:
        """Count an outcome; show a failure at once."""
        with self.lock:
            self.counts[outcome] += 1
            if outcome in ("excluded", "skipped"):
                self.reasons[outcome, text] += 1
            if outcome == "failed":
                print(f"[FAILED] {test}\n{text}", flush=True)
                self.failures.append((test, text.strip().rpartition("\n")[2]))

    def wrong(self) -> list[tuple[str, str]]:
        """What failed, and why; a run in which nothing passed has failed, too."""
        return self.failures or ([] if self.counts["passed"] else [("tests.windows_suite", "no test passed")])

    def over(self, module: str, since: float) -> float:
        """A module is over; the time of now."""
        now = time.monotonic()
        with self.lock:
            self.seconds[module] = round(now - since)
        print(f"{module}: {now - since:.0f} s", flush=True)
        return now

    def work(self) -> None:
        """Run modules until none waits."""
        while names := self.take():
            while names:
                names = self.process(names)

    def process(self, names: Sequence[str]) -> list[str]:
        """Run ``names`` in one process; those that it did not come to are returned."""
        process = subprocess.Popen(
            [*self.command, *names],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None
        current, rest, since, tail, heard = "", list(names), time.monotonic(), [b""], b""
        silent = False
        # Not to the end of its output, which programs that it started and left may hold open.
        while rest:
            silent = not select.select([process.stdout], [], [], SILENCE)[0]
            data = b"" if silent else os.read(process.stdout.fileno(), 1 << 16)
            if not data:
                break
            *lines, heard = (heard + data).split(b"\n")
            for line in lines:
                head, mark, told = line.partition(MARK)
                if not mark:
                    tail = [*tail[-30:], head]
                    continue
                name, outcome, text = json.loads(told)
                if outcome == "begun":
                    current = name
                elif outcome == "over":
                    current, since = "", self.over(name, since)
                    rest.remove(name)
                else:
                    self.note(name, outcome, text)
        process.stdin.close()
        try:
            status = process.wait(0 if silent else END_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        process.stdout.close()
        if not rest:
            return []
        said = b"\n".join(tail).decode(errors="replace")
        why = f"silent for {SILENCE:.0f} s" if silent else f"the process ended with status {status}"
        self.note(current or rest[0], "failed", f"{why}\n{said}")
        return rest[1:]


def missing() -> str:
    """Why nothing can run here; empty when it can."""
    if shutil.which("wine") is None:
        return "there is no Wine on this machine (Debian: apt-get install wine)"
    return "" if PYTHON.exists() else "there is no Python for it: make windows-env"


def run(names: Iterable[str]) -> Run:
    """Run the modules, tell what was excluded and how long it took, and return what came of them."""
    since = time.monotonic()
    work = Run(list(names))
    # Wine ends its service manager with the last process; this one waits for the end of its standard input.
    keeper = subprocess.Popen(
        ["wine", str(PYTHON), "-c", "import sys; sys.stdin.read()"],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    threads = [threading.Thread(target=work.work) for _ in range(PROCESSES)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        subprocess.run(["wineserver", "-k"], env=environment(), check=False)
        keeper.wait()
    for (outcome, text), count in sorted(work.reasons.items()):
        print(f"{outcome}: {count}: {text}")
    print("slowest under Wine:", ", ".join(f"{name} {taken} s" for name, taken in work.seconds.most_common(8)))
    counts, taken = work.counts, time.monotonic() - since
    print(f"{len(work.seconds)} modules by the Windows Python in {taken:.0f} s: {counts['passed']} passed,", end=" ")
    print(f"{counts['failed']} failed, {counts['excluded']} excluded, {counts['skipped']} skipped", flush=True)
    return work


def main() -> int:
    """Run what the command line names; all by default. The exit status is 0 when all passed."""
    if why := missing():
        print(why)
        return 1
    names = sys.argv[1:]
    return 1 if run(PART if names == ["--part"] else names or modules()).wrong() else 0


if __name__ == "__main__":
    sys.exit(main())
