"""``dmtwisted soak``: hours of ordinary work, and what they do to memory, descriptors, queues and times."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from threading import Thread
from typing import IO, Any, ClassVar

from twisted.python import usage

from dmtwisted.lab.children import (
    HOST,
    BenchFailed,
    Child,
    NotStarted,
    ended_by_signals,
    environment,
    free_port,
    make_register,
    scratch_folder,
    service,
)
from dmtwisted.lab.soak.judging import Minute, Verdict, judge
from dmtwisted.lab.soak.sampling import Sample, gauge, sample

PREFIX, TERMINAL, PRINTER = "soak-", "soak-pos", "soak-prn"

STOPPED = 130
"""The exit status of a soak that somebody ended early."""


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise ValueError(f"{text} is not positive")
    return value


def _count(text: str) -> int:
    return max(1, int(text))


class SoakOptions(usage.Options):
    """``dmtwisted soak``"""

    synopsis = "Usage: dmtwisted soak [options]"
    longdesc = (
        "The real service in training mode, with simulators of a terminal and a printer, each in its own process, "
        "under an open load at a constant rate: sales, look-ups, repeats, reports, Z and new shifts, payments, print "
        "jobs, pages. Tells whether memory grows, descriptors leak or times drift; status 1 when something is wrong. "
        "Ctrl-C ends it with the report so far."
    )
    optParameters: ClassVar = [
        ["minutes", "m", 30.0, "How long.", _positive],
        ["rate", "r", 100.0, "Sales in a second.", _positive],
        ["registers", "n", 16, "Registers that sell.", _count],
        ["settle", None, 5.0, "Minutes at the beginning that do not count: caches fill.", _positive],
        ["shift", None, 10.0, "Minutes of a shift; a register refuses to sell after 24 hours.", _positive],
        ["every", None, 5.0, "Seconds between two looks at the processes.", _positive],
        ["json", "j", None, "Write everything that was measured to this file.", Path],
        ["state", "d", None, "Make the temporary folder in this one: the disk to use."],
    ]


class Soak:
    """The processes, and what has been seen of them."""

    def __init__(self, folder: Path, options: Any, say: Callable[[str], None] = print) -> None:
        self._folder, self._options, self._say = folder, options, say
        self.samples: list[Sample] = []
        self.minutes: list[Minute] = []
        self.stopped = False

    def run(self) -> None:
        """Work until the time is over, or until somebody ends it.

        :raises NotStarted: when a process does not start. :raises BenchFailed: when a device is refused.
        """
        state = self._folder / "state"
        state.mkdir()
        with ExitStack() as stack:
            ports = {
                kind: self._simulator(stack, kind, *more)
                for kind, more in (("terminal", ("--protocol", "ssi-json", "--duration", "0.2")), ("printer", ()))
            }
            child = stack.enter_context(service(state, free_port()))
            self._device(child, TERMINAL, "terminal", "ssi-json", host=HOST, port=ports["terminal"])
            self._device(child, PRINTER, "printer", "escpos", host=HOST, port=ports["printer"], profile="epson")
            for n in range(self._options["registers"]):
                make_register(child, f"{PREFIX}{n}")
            load = stack.enter_context(self._load(child.port))
            stack.callback(load.terminate)
            assert load.stdout is not None
            Thread(target=self._listen, args=(load.stdout,), daemon=True).start()
            try:
                self._watch(child, load, state)
            except (KeyboardInterrupt, SystemExit):
                self.stopped = True

    def _simulator(self, stack: ExitStack, kind: str, *more: str) -> int:
        port, control = free_port(), free_port()
        command = ["dmtwisted.commands.main", "simulate", kind, *more]
        command += ["--listen", f"{HOST}:{port}", "--control", f"{HOST}:{control}"]
        stack.enter_context(FarEnd(kind, command, control, self._folder / f"{kind}.log"))
        return port

    @staticmethod
    def _device(child: Child, device: str, kind: str, driver: str, /, **settings: object) -> None:
        wanted = {"device": device, "kind": kind, "driver": driver, "settings": settings}
        status, body = child.ask("POST", "/dm/api/v3/devices", wanted)
        if status != 201:
            raise BenchFailed(f"no {kind} could be made: {status} {body.decode(errors='replace')[:300]}")

    def _load(self, port: int) -> subprocess.Popen[bytes]:
        options = self._options
        command = [sys.executable, "-m", "dmtwisted.lab.soak.load", "--port", str(port)]
        for name, value in (
            ("registers", options["registers"]),
            ("prefix", PREFIX),
            ("rate", options["rate"]),
            # A little longer, so that the last minute is told.
            ("seconds", options["minutes"] * 60 + 2),
            ("shift", options["shift"] * 60),
            ("terminal", TERMINAL),
            ("printer", PRINTER),
        ):
            command += [f"--{name}", str(value)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment())

    def _listen(self, told: IO[bytes]) -> None:
        for line in told:
            minute = Minute(**json.loads(line))
            self.minutes.append(minute)
            self._say(self._line(minute))

    def _line(self, minute: Minute) -> str:
        last = self.samples[-1] if self.samples else None
        memory = f"{last.whole.pss / 1024:7.1f} MB  {last.whole.descriptors:4} descriptors" if last else ""
        return (
            f"minute {minute.minute + 1:4}  {minute.sales / 60:6.1f} sales/s  p50 {minute.p50_ms:6.1f} ms  "
            f"p99 {minute.p99_ms:7.1f} ms  {minute.failures} failed  {minute.waiting} waiting  {memory}"
        )

    def _watch(self, child: Child, load: subprocess.Popen[bytes], state: Path) -> None:
        begun = time.monotonic()
        log = state.parent / f"{state.name}.log"
        while load.poll() is None:
            unfinished = 0
            try:
                unfinished = gauge(child.ask("GET", "/metrics")[1].decode(), "dmtwisted_unfinished_operations")
            except (OSError, http.client.HTTPException) as error:
                self._say(f"no figures: {error}")
            at = time.monotonic() - begun
            waiting = self.minutes[-1].waiting if self.minutes else 0
            self.samples.append(sample(child.pid, at, state, log, unfinished, waiting))
            time.sleep(self._options["every"])
        if load.returncode:
            raise BenchFailed(f"the load ended with status {load.returncode}")

    def verdict(self) -> Verdict:
        """What has been seen so far."""
        return judge(self.samples, self.minutes, self._options["settle"] * 60, self._options["rate"])


class FarEnd(Child):
    """A simulator; it is ready when its control port answers."""

    def _ready(self) -> bool:
        try:
            return self.ask("GET", "/scenario")[0] == 200
        except (OSError, http.client.HTTPException):
            return False


def words(verdict: Verdict) -> str:
    """The verdict for people."""
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
    """Let it work, and tell; 1 when something is wrong, 130 when it was ended early and nothing was."""
    soak: Soak | None = None
    with ended_by_signals():
        try:
            with scratch_folder(options["state"]) as folder:
                soak = Soak(folder, options, lambda text: print(text, flush=True))
                soak.run()
        except (NotStarted, BenchFailed, OSError, http.client.HTTPException) as error:
            print(f"dmtwisted soak: {error}", file=sys.stderr)
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
