"""Break the disk under the service while tills sell, let it be well again, and count what the tills hold in hand.

``python -m tests.crash.disk_rounds --rounds 30 --seed 7`` runs the real service in training mode. Eight tills sell on
four registers and repeat as correct tills do. In each round the disk fails the writer of the database in one way for
a while:

=============  ===================================================================================================
``kept``       `fsync` and `fdatasync` fail with EIO: nobody knows what the disk has
``kept-some``  every third of them does
``written``    `pwrite` fails with EIO
``refused``    `pwrite` fails with ENOSPC, as a disk that is full or has a quota
``slow``       `fsync` and `fdatasync` take 0.3 s each
``killed``     `fsync` and `fdatasync` fail, and the writer is killed while they do
``restarted``  the same, and the service is killed with it and started again when the disk is well
``full``       the disk is truly full: a small file system, filled up by another file and emptied again
=============  ===================================================================================================

Faults are injected by ``strace``, into the calls of the writer alone. Meanwhile an earlier receipt is looked up, and
every refusal has to be one that a till repeats. Afterwards the service has to sell again without a restart, and the
books are compared as after kills (`tests.crash.kill_rounds`). It needs Linux, ``strace`` and the right to trace;
``full`` needs the right to mount, and says so where it is missing.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dmtwisted.lab.children import BenchFailed, Child, NotStarted, ended_by_signals, family, free_port, is_writer
from dmtwisted.lab.crash.books import Entry, Findings, Sold, read_journal
from dmtwisted.lab.crash.wire import BUSY, NOT_STORED, TillConnection, shown
from tests.crash.desk import Desk

SYNCS, WRITES = "fsync,fdatasync", "pwrite64"

FAULTS = {
    "kept": (SYNCS, "error=EIO"),
    "kept-some": (SYNCS, "error=EIO:when=2+3"),
    "written": (WRITES, "error=EIO"),
    "refused": (WRITES, "error=ENOSPC"),
    "slow": (SYNCS, "delay_enter=300000"),
    "killed": (SYNCS, "error=EIO"),
    "restarted": (SYNCS, "error=EIO"),
}
"""Calls and what becomes of them, as strace says it."""

KINDS = (*FAULTS, "full")

SIZE_MB = 96
"""Of the small file system."""

WELL_AGAIN = 10.0
"""Seconds within which a sale has to succeed when the disk is well."""

START_PATIENCE, SALE_PATIENCE = 90.0, 60.0
"""Seconds to be ready, and to be answered; a shared machine takes its time."""

MAY_BE_HEARD = {0, BUSY, NOT_STORED}
"""What a till may hear; 1082 is "not stored", to be repeated."""


@dataclass(frozen=True)
class Round:
    """How the disk fails, after how many seconds of load, and for how many."""

    kind: str
    after: float
    lasts: float


def plan(seed: int, rounds: int, kinds: Sequence[str] = KINDS) -> list[Round]:
    """The same rounds for the same seed; each kind comes in its turn."""
    dice = random.Random(seed)
    return [Round(kinds[n % len(kinds)], dice.uniform(0.1, 0.4), dice.uniform(0.3, 1.2)) for n in range(rounds)]


class CountingWire(TillConnection):
    """A till's connection that counts what it hears."""

    def __init__(self, heard: Counter[int], port: int) -> None:
        super().__init__(port)
        self._heard = heard

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer, counted."""
        answer = super().ask(method, path, body)
        if isinstance(answer, dict) and "res" in answer:
            self._heard[int(answer["res"])] += 1
        return answer


class BadDisk(Desk):
    """A service with its database on its own disk, its tills, and the faults of that disk."""

    def __init__(self, folder: Path, disk: Path, seed: int) -> None:
        port = free_port()
        config = folder / "dmtwisted.toml"
        config.write_text(
            f"[service]\nstate = '{folder / 'state'}'\n[database]\nurl = 'sqlite:///{disk / 'dmtwisted.db'}'\n",
            "utf-8",
        )
        command = ["dmtwisted.commands.main", "run", "--config", str(config), "--port", str(port), "--training"]
        child = Child("service", command, port, folder / "service.log")
        child.start_patience = START_PATIENCE
        super().__init__(child, seed, SALE_PATIENCE)
        self._disk = disk
        self.heard: Counter[int] = Counter()
        self.faults: Counter[str] = Counter()
        self.slowest_again = self.slowest_sale = 0.0
        self.looked_up = 0
        for till in self._tills:
            till.wire = partial(CountingWire, self.heard)

    def read_journal(self) -> tuple[dict[str, list[Entry]], Findings]:
        """What the file says."""
        return read_journal(self._disk)

    def strike(self, turn: Round) -> None:
        """Break the disk as the round says, look at what is still served, and mend it."""
        service, writer = self._service.pid, self._writer()
        known = self.sold[-1:]
        if turn.kind == "full":
            with self._filled():
                self._suffer(turn, known)
        else:
            with injected(writer, *FAULTS[turn.kind]):
                self._suffer(turn, known)
                if turn.kind in ("killed", "restarted"):
                    _kill(writer)
                if turn.kind == "restarted":
                    self._service.kill()
        if turn.kind == "restarted":
            self._service.start()
        begun = time.monotonic()
        self._sell_again()
        self.slowest_again = max(self.slowest_again, time.monotonic() - begun)
        if turn.kind not in ("killed", "restarted") and (self._service.pid, self._writer()) != (service, writer):
            self.found.other.append(f"{turn.kind}: somebody had to be started again")
        self.faults[turn.kind] += 1

    def _suffer(self, turn: Round, known: Sequence[Sold]) -> None:
        time.sleep(turn.lasts)
        if not known:
            return
        wire = TillConnection(self._service.port)
        try:
            for _ in range(50):
                answer = wire.ask(
                    "POST", "/dm/execute", {"device": known[0].register, "tag": known[0].tag, "type": 0}
                )
                if answer["res"] != BUSY:
                    break
                time.sleep(0.02)
        finally:
            wire.close()
        if answer["res"] == 0:
            self.looked_up += 1
        elif answer["res"] not in MAY_BE_HEARD:
            self.found.other.append(f"{turn.kind}: a look-up is answered {shown(answer)}")

    def _sell_again(self) -> None:
        """Wait until the tills have sold something more."""
        before, deadline = len(self.sold), time.monotonic() + WELL_AGAIN
        while len(self.sold) == before:
            if time.monotonic() > deadline:
                self.found.other.append("the disk is well, and nothing is sold")
                return
            time.sleep(0.02)

    def look_at_what_was_heard(self) -> None:
        """No client may have had an answer other than success, busy and "not stored"."""
        wrong = sorted(set(self.heard) - MAY_BE_HEARD)
        if wrong:
            self.found.other.append(f"tills heard {wrong}")

    @contextmanager
    def _filled(self) -> Iterator[None]:
        ballast = self._disk / "ballast"
        try:
            with ballast.open("wb", buffering=0) as stream, suppress(OSError):
                while stream.write(b"\0" * (1 << 16)):
                    pass
            yield
        finally:
            ballast.unlink()

    def _writer(self) -> int:
        deadline = time.monotonic() + WELL_AGAIN
        while time.monotonic() < deadline:
            for pid in family(self._service.pid):
                if is_writer(pid):
                    return pid
            time.sleep(0.02)
        raise BenchFailed("the service has no writer process")


@contextmanager
def injected(pid: int, calls: str, what: str) -> Iterator[None]:
    """Let ``calls`` of the process ``pid``, of all its threads, fail."""
    command = ["strace", "-q", "-f", "-p", str(pid), "-o", "/dev/null", "-e", f"trace={calls}"]
    tracer = subprocess.Popen([*command, "-e", f"inject={calls}:{what}"], stderr=subprocess.PIPE)
    try:
        _expect_traced(pid, tracer)
        yield
    finally:
        tracer.send_signal(signal.SIGINT)
        try:
            tracer.wait(2)
        except subprocess.TimeoutExpired:
            # It waits for ever for a process that was killed under it.
            tracer.kill()
            tracer.wait()


def _expect_traced(pid: int, tracer: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with suppress(OSError):
            if "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text("ascii"):
                return
        if tracer.poll() is not None:
            break
        time.sleep(0.01)
    raise BenchFailed(f"strace cannot trace: {(tracer.stderr.read() if tracer.stderr else b'').decode().strip()}")


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextmanager
def small_disk(folder: Path) -> Iterator[bool]:
    """A small file system at ``folder``; whether there is one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "dmtwisted-disk", str(folder)]
    mounted = hasattr(os, "geteuid") and subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the rounds; 0 when nothing is lost, doubled, missing or otherwise wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.disk_rounds", description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", help="only these, with commas")
    parser.add_argument("--state", help="make the temporary folder in this one")
    options = parser.parse_args(arguments)
    kinds = options.kinds.split(",") if options.kinds else list(KINDS)
    if shutil.which("strace") is None and kinds != ["full"]:
        print("there is no strace here: only a truly full disk can be tried (--kinds full)", file=sys.stderr)
        return 2
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-disk-", dir=options.state)).resolve()
    faultless = True
    try:
        if set(kinds) - {"full"}:
            some = [kind for kind in kinds if kind != "full"]
            disk = folder / "disk"
            disk.mkdir()
            full = sum(kind == "full" for kind in kinds)
            rounds = options.rounds - full * options.rounds // len(kinds)
            faultless = _play(folder / "broken", disk, plan(options.seed, rounds, some), options.seed)
        if "full" in kinds:
            with small_disk(folder / "small") as mounted:
                if mounted:
                    turns = plan(options.seed, max(1, options.rounds // len(kinds)), ["full"])
                    faultless &= _play(folder / "full", folder / "small", turns, options.seed)
                else:
                    print("full: no file system can be mounted here, so this was not tried")
    except (NotStarted, BenchFailed, OSError, http.client.HTTPException) as error:
        faultless = False
        print(error, file=sys.stderr)
    if faultless:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"what there is of files and logs stays in {folder}", file=sys.stderr)
    return int(not faultless)


def _play(folder: Path, disk: Path, turns: Sequence[Round], seed: int) -> bool:
    folder.mkdir()
    print(f"{len(turns)} rounds with the seed {seed}", flush=True)
    with ExitStack() as held:
        held.enter_context(ended_by_signals())
        desk = held.enter_context(BadDisk(folder, disk, seed))
        for n, turn in enumerate(turns, 1):
            desk.play(turn.after, partial(desk.strike, turn))
            desk.slowest_sale = max(desk.slowest_sale, desk.slowest)
            if n % 8 == 0 or desk.found:
                desk.compare()
                print(f"round {n}: {len(desk.sold)} sales, {desk.repeats} repeats: {desk.found}", flush=True)
            if desk.found:
                break
        desk.compare()
        desk.look_up_everything()
        desk.look_at_what_was_heard()
    found = desk.found
    for sentence in [*found.lost, *found.doubled, *found.gaps, *found.other][:20]:
        print(sentence)
    print(f"disks broken: {', '.join(f'{kind} {count}' for kind, count in desk.faults.items())}")
    print(f"tills heard: {', '.join(f'{res} {count} times' for res, count in sorted(desk.heard.items()))}")
    print(f"look-ups answered on a broken disk: {desk.looked_up} of {sum(desk.faults.values())}")
    print(f"selling again {desk.slowest_again:.2f} s after the disk was well; slowest sale {desk.slowest_sale:.1f} s")
    print(f"{len(desk.sold)} sales, {desk.found_again} of them had happened and were answered to a repeat")
    print(found)
    return not found


if __name__ == "__main__":
    sys.exit(main())
