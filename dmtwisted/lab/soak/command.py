"""``dmtwisted soak``: hours of ordinary work, and their effect on memory, descriptors, queues and times."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import IO, Any, ClassVar

from dmtwisted.commands.console import complain
from dmtwisted.commands.options import CommandOptions
from dmtwisted.commands.progress import ProgressBar
from dmtwisted.commands.shared import positive
from dmtwisted.lab import children
from dmtwisted.lab.soak.judging import Minute, SoakVerdict, judge
from dmtwisted.lab.soak.sampling import Sample, gauge, sample
from dmtwisted.system.files import describe_error

PREFIX, TERMINAL, PRINTER = "soak-", "soak-pos", "soak-prn"

STOPPED = 130
"""The exit status of a soak that was ended early."""


def _count(text: str) -> int:
    return max(1, int(text))


class SoakOptions(CommandOptions):
    """``dmtwisted soak``"""

    longdesc = (
        "Run the service in training mode with a simulated terminal and printer under a constant rate of sales, "
        "look-ups, repeats, reports, shifts, payments, print jobs and pages. Report whether memory grows, "
        "descriptors leak or times drift. Exit status 1 when something is wrong. Ctrl-C ends it with a report."
    )
    optParameters: ClassVar = [
        ["minutes", "m", 30.0, "Duration in minutes.", positive],
        ["rate", "r", 100.0, "Sales per second.", positive],
        ["registers", "n", 16, "Number of registers.", _count],
        ["settle", None, 5.0, "Minutes at the beginning that do not count, while caches fill.", positive],
        ["shift", None, 10.0, "Minutes of a shift; a register refuses sales after 24 hours.", positive],
        ["every", None, 5.0, "Seconds between two measurements of the processes.", positive],
        ["json", "j", None, "Write all measurements to this file.", Path],
        ["state", "d", None, "Create the temporary folder in this one: the disk to use."],
    ]


class Soak:
    """The processes and their measurements."""

    def __init__(self, folder: Path, options: Any, progress: ProgressBar) -> None:
        self._folder, self._options, self._progress = folder, options, progress
        self.samples: list[Sample] = []
        self.minutes: list[Minute] = []
        self.stopped = False

    def run(self) -> None:
        """Work until the time is over, or until it is interrupted.

        :raises NotStarted: when a process does not start. :raises BenchFailed: when a device is refused.
        """
        state = self._folder / "state"
        state.mkdir()
        with ExitStack() as stack:
            words = ("terminal", "--protocol", "ssi-json", "--duration", "0.2")
            terminal, terminal_port = children.simulator(self._folder, "terminal", *words)
            printer, printer_port = children.simulator(self._folder, "printer", "printer")
            for device in (terminal, printer):
                stack.enter_context(device)
            child = stack.enter_context(children.service(state, children.free_port()))
            children.make_device(
                child, TERMINAL, "terminal", "ssi-json", {"host": children.HOST, "port": terminal_port}
            )
            settings = {"host": children.HOST, "port": printer_port, "profile": "epson"}
            children.make_device(child, PRINTER, "printer", "escpos", settings)
            for n in range(self._options["registers"]):
                children.make_register(child, f"{PREFIX}{n}")
            load = stack.enter_context(self._load(child.port))
            stack.callback(load.terminate)
            assert load.stdout is not None
            Thread(target=self._listen, args=(load.stdout,), daemon=True).start()
            try:
                self._watch(child, load, state)
            except (KeyboardInterrupt, SystemExit):
                self.stopped = True

    def _load(self, port: int) -> subprocess.Popen[bytes]:
        options = self._options
        command = [sys.executable, "-m", "dmtwisted.lab.soak.load", "--port", str(port)]
        for name, value in (
            ("registers", options["registers"]),
            ("prefix", PREFIX),
            ("rate", options["rate"]),
            # A little longer, so that the last minute is reported.
            ("seconds", options["minutes"] * 60 + 2),
            ("shift", options["shift"] * 60),
            ("terminal", TERMINAL),
            ("printer", PRINTER),
        ):
            command += [f"--{name}", str(value)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=children.environment())

    def _listen(self, output: IO[bytes]) -> None:
        for line in output:
            minute = Minute(**json.loads(line))
            self.minutes.append(minute)
            self._progress.say(self._line(minute))

    def _line(self, minute: Minute) -> str:
        last = self.samples[-1] if self.samples else None
        memory = f"{last.whole.pss / 1024:7.1f} MB  {last.whole.descriptors:4} descriptors" if last else ""
        return (
            f"minute {minute.minute + 1:4}  {minute.sales / 60:6.1f} sales/s  p50 {minute.p50_ms:6.1f} ms  "
            f"p99 {minute.p99_ms:7.1f} ms  {minute.failures} failed  {minute.waiting} waiting  {memory}"
        )

    def _watch(self, child: children.Child, load: subprocess.Popen[bytes], state: Path) -> None:
        begun = time.monotonic()
        log = state.parent / f"{state.name}.log"
        while load.poll() is None:
            unfinished = 0
            try:
                unfinished = gauge(child.ask("GET", "/metrics")[1].decode(), "dmtwisted_unfinished_operations")
            except (OSError, http.client.HTTPException) as error:
                self._progress.say(f"no metrics: {error}")
            at = time.monotonic() - begun
            self._progress("selling", int(at), int(self._options["minutes"] * 60))
            waiting = self.minutes[-1].waiting if self.minutes else 0
            self.samples.append(sample(child.pid, at, state, log, unfinished, waiting))
            time.sleep(self._options["every"])
        if load.returncode:
            raise children.BenchFailed(f"the load ended with status {load.returncode}")

    def verdict(self) -> SoakVerdict:
        """The verdict so far."""
        return judge(self.samples, self.minutes, self._options["settle"] * 60, self._options["rate"])


def words(verdict: SoakVerdict) -> str:
    """The verdict as text."""
    found = [
        f"{verdict.minutes:.1f} minutes, {verdict.sales:,} sales, {verdict.rate:.1f} in a second, "
        f"{verdict.failures} requests failed",
        f"memory (PSS of service and writer): {verdict.start_mb:.1f} MB, {verdict.growth:+.1f} % in "
        f"{verdict.judged_minutes:.1f} minutes after the warm-up; without code and files "
        f"{verdict.anon_growth:+.1f} %; the writer alone {verdict.writer_growth:+.1f} %",
        f"{verdict.leaked} descriptors leaked, {verdict.threads} threads more",
        f"p50 {verdict.p50_ms:.1f} ms, p99 {verdict.p99_ms:.1f} ms, drift of p99 {verdict.drift:.2f}; "
        f"at most {verdict.waiting} requests waiting at the end of a minute",
        f"database {verdict.database_mb:.0f} MB, log {verdict.log_mb:.0f} MB",
    ]
    return "\n".join([*found, *(f"WRONG: {each}" for each in verdict.wrong)])


def run(options: SoakOptions) -> int:
    """Run and report; 1 when something is wrong, 130 when it was ended early without a fault."""
    soak: Soak | None = None
    with children.ended_by_signals(), ProgressBar("s") as progress:
        try:
            with children.scratch_folder(options["state"]) as folder:
                soak = Soak(folder, options, progress)
                soak.run()
        except (children.NotStarted, children.BenchFailed, OSError, http.client.HTTPException) as error:
            complain(describe_error(error) if isinstance(error, OSError) else str(error), command="dmtwisted soak")
            if soak is None or not soak.samples:
                return 1
            soak.stopped = True
    verdict = soak.verdict()
    print(words(verdict))
    if options["json"] is not None:
        whole = {
            "verdict": asdict(verdict),
            "stopped": soak.stopped,
            "minutes": [asdict(each) for each in soak.minutes],
            "samples": [asdict(each) for each in soak.samples],
        }
        options["json"].write_text(json.dumps(whole, ensure_ascii=False) + "\n", "utf-8")
    if not verdict.good:
        return 1
    return STOPPED if soak.stopped else 0
