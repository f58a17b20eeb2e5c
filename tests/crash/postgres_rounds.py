"""Take the PostgreSQL server away from under a selling service, again and again, and count what the tills hold.

``python -m tests.crash.postgres_rounds --rounds 30 --seed 7`` runs the real service in training mode on a server of
its own. Eight tills sell on four registers; whoever gets no answer repeats the same tag until there is one. After a
random time something happens to the server:

``fast``        it is restarted in order, throwing out whoever is connected
``immediate``   it ends at once and has to recover when it starts
``kill``        ``kill -9`` for all its processes, then a start
``sessions``    every session of the service is ended by ``pg_terminate_backend``, several times in a row
``tables full`` the disk of its tables is full for a while, then there is room again
``log full``    the disk of its write-ahead log is full: it ends in a panic, and starts when there is room again
``taken over``  the service itself dies by ``kill -9``, and a second one on the same database goes on with its
                registers; only when asked for by ``--takeovers``, for it takes half a minute

The service is never restarted. A subscriber hears of every receipt; around a takeover it takes nothing, so that the
second service has to send what the first one could not. Then the books are compared: what the tills were told, the
stored answers, the journal in the database, the ledger of the simulated tax service, the X-report, what came to the
subscriber; ``dmtwisted db check`` reads every row and seal. The server writes durably (``fsync=on``). The full disks
are small file systems in memory, which only root may make; without them those two are left out, and that is said. It
needs a PostgreSQL server's programs on this machine.
"""

from __future__ import annotations

import argparse
import errno
import http.client
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Self

import psycopg2

from dmtwisted.lab.children import (
    BenchFailed,
    Child,
    NotStarted,
    ended_by_signals,
    environment,
    free_port,
    make_register,
)
from dmtwisted.lab.crash.books import Entry, Findings, Sold, judge_journal
from dmtwisted.lab.crash.listener import Document, Listener
from tests.crash.desk import TILLS, Desk, Till, look_up
from tests.postgres_server import DURABLE, MISSING, Server

DATABASE = "tills"
TABLES, LOG = "400m", "64m"
"""Sizes of the small disks: the tables have room for what all rounds sell."""

OUTAGES = ("fast", "immediate", "kill", "sessions")
FULL_DISKS = ("tables full", "log full")
TAKEN_OVER = "taken over"

TAKEOVER_PATIENCE = 90.0
"""Seconds in which a second service has to sell on the registers of a dead one; its pause alone is 30."""

AWAY = 1.0
"""Seconds before a takeover in which the subscriber takes nothing."""

PIECE = bytes(1 << 16)


@dataclass(frozen=True)
class Round:
    """What happens after how many seconds of load, and for how many seconds it lasts."""

    after: float
    kind: str
    lasts: float


def plan(seed: int, rounds: int, kinds: Sequence[str]) -> list[Round]:
    """The same rounds for the same seed; each kind in its turn."""
    dice = random.Random(seed)
    return [Round(dice.uniform(0.2, 0.8), kinds[n % len(kinds)], dice.uniform(0.0, 1.5)) for n in range(rounds)]


@dataclass
class Tally:
    """What the rounds of one kind came to.

    ``away`` is the longest time that the server did not take what it should, ``slowest`` the longest that a sale
    took, both in seconds.
    """

    rounds: int = 0
    sales: int = 0
    repeats: int = 0
    found_again: int = 0
    away: float = 0.0
    slowest: float = 0.0


# The disks


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path | None]:
    """A small file system at ``folder``; `None` where we may make none."""
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        made = subprocess.run(mounting, capture_output=True, check=False).returncode == 0
    except OSError:
        made = False
    try:
        yield folder if made else None
    finally:
        if made:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """A file that takes all the room there is."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(PIECE) == len(PIECE):
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    return ballast


# The desk


def config_of(server: Server, state: Path, port: int) -> list[str]:
    """The command of a service in training mode on the server, with its configuration beside its state folder."""
    file = state.parent / f"{state.name}.toml"
    file.write_text(
        f'[server]\nport = {port}\n[database]\nurl = "{server.url(DATABASE)}"\n'
        f'[service]\ntraining = true\nstate = "{state}"\n',
        "utf-8",
    )
    return ["dmtwisted.commands.main", "run", "--config", str(file)]


def service_on(server: Server, state: Path) -> Child:
    """A service that is not started yet."""
    port = free_port()
    return Child("service", config_of(server, state, port), port, state.parent / f"{state.name}.log")


def document_of(sale: Sold) -> Document:
    """The document of a sale."""
    return sale.register, int(sale.docno), sale.doccode


class Once(Event):
    """Set at the second look."""

    def is_set(self) -> bool:
        """Whether it was looked at before."""
        before = super().is_set()
        self.set()
        return before


class Outages(Desk):
    """A service on a PostgreSQL server, its tills, and the process that stops the server.

    :param tables: the disk of the tables, if it has one of its own; ``log`` is that of the write-ahead log.
    """

    def __init__(self, server: Server, folder: Path, seed: int, tables: Path | None, log: Path | None) -> None:
        self._server, self._folder, self._tables, self._log = server, folder, tables, log
        state = folder / "state"
        state.mkdir()
        super().__init__(service_on(server, state), seed, TAKEOVER_PATIENCE)
        self._state = state
        self.refused = 0
        """How often the server itself was seen to have no room."""
        self.panics = 0
        self.handed_over = 0
        """Sales of which nobody was told when their service died."""
        self.listener = Listener()
        self.away = 0.0
        """Seconds that the last blow took, until the server was up again."""

    def __enter__(self) -> Self:
        super().__enter__()
        self.listener.subscribe(self._service)
        # A register at rest, with one receipt that has to be found at all times.
        make_register(self._service, "quiet")
        self._quiet = Till(self._service.port, "quiet", "quiet", 0, TAKEOVER_PATIENCE)
        self._quiet.sell_until(Once())
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.listener.stop()

    def compare(self) -> None:
        """Hold all books against each other, and what the subscriber got."""
        super().compare()
        documents = [document_of(sale) for sale in self.sold]
        self._until(lambda: not self.listener.untold(documents))
        self.found.add(self.listener.judge(documents))

    def read_journal(self) -> tuple[dict[str, list[Entry]], Findings]:
        """What the database says."""
        return judge_journal(lambda statement: self._server.run(statement, DATABASE))

    def strike(self, turn: Round) -> None:
        """Do what the round says, and see the server up again."""
        blows: dict[str, Callable[[float], None]] = {
            "fast": partial(self._restart, self._server.stop),
            "immediate": partial(self._restart, self._server.quit),
            "kill": partial(self._restart, self._server.kill),
            "sessions": self._end_sessions,
            "tables full": self._fill_tables,
            "log full": self._fill_log,
            TAKEN_OVER: lambda _: self._take_over(),
        }
        begun = time.monotonic()
        blows[turn.kind](turn.lasts)
        self.away = time.monotonic() - begun

    def check_database(self) -> None:
        """Let ``dmtwisted db check`` read every row and every seal."""
        command = [sys.executable, "-m", "dmtwisted.commands.main", "db", "check"]
        file = self._state.parent / f"{self._state.name}.toml"
        checked = subprocess.run(
            [*command, "--config", str(file)], capture_output=True, text=True, env=environment(), check=False
        )
        if checked.returncode:
            self.found.other.append(f"dmtwisted db check: {checked.stdout.strip()[-500:]} {checked.stderr[-300:]}")

    def _restart(self, end: Callable[[], None], lasts: float) -> None:
        end()
        time.sleep(lasts)
        self._server.start()

    def _end_sessions(self, lasts: float) -> None:
        for _ in range(6):
            self._server.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'dmtwisted %'"
            )
            time.sleep(lasts / 6)

    def _fill_tables(self, lasts: float) -> None:
        assert self._tables is not None
        ballast = fill(self._tables)
        try:
            # What was free within the tables' own files goes first.
            deadline = time.monotonic() + 5
            while not self._is_full() and time.monotonic() < deadline:
                time.sleep(0.05)
            self.refused += self._is_full()
            # Who only reads needs no room.
            self.found.add(look_up(self._service.port, self._quiet.sold))
            time.sleep(lasts)
        finally:
            ballast.unlink()

    def _is_full(self) -> bool:
        """Whether the server cannot make a table larger."""
        statement = "BEGIN; CREATE TABLE room AS SELECT repeat('x', 2000) FROM generate_series(1, 200); ROLLBACK"
        try:
            self._server.run(statement, DATABASE)
        except psycopg2.errors.DiskFull:
            return True
        return False

    def _fill_log(self, lasts: float) -> None:
        assert self._log is not None
        # As for a copy of the server that is away: nothing of the log is used again meanwhile.
        self._server.run("SELECT pg_create_physical_replication_slot('copy', true)")
        ballast = fill(self._log)
        try:
            deadline = time.monotonic() + 5
            while self._answers() and time.monotonic() < deadline:
                time.sleep(0.02)
            self.panics += not self._answers()
            time.sleep(lasts)
        finally:
            ballast.unlink()
        deadline = time.monotonic() + 10
        while not self._answers():
            # It tries to recover by itself first, and ends when it cannot.
            if not self._server.running:
                self._server.start()
            elif time.monotonic() > deadline:
                self._restart(self._server.kill, 0)
            time.sleep(0.05)
        self._server.run("SELECT pg_drop_replication_slot('copy')")

    def _answers(self) -> bool:
        try:
            self._server.run("SELECT 1", DATABASE)
        except psycopg2.OperationalError:
            return False
        return True

    def _take_over(self) -> None:
        """Kill the service; a second one, which has been standing by, has its tills and registers from now on."""
        state = self._folder / f"state-{time.monotonic_ns()}"
        state.mkdir()
        # Both services send their documents to one simulated tax service.
        (state / "training").symlink_to(self._state / "training")
        shutil.copy2(self._state / "secret.key", state)
        other = service_on(self._server, state)
        other.start()
        self.listener.away.set()
        time.sleep(AWAY)
        self._service.kill()
        before = [document_of(sale) for sale in self.sold]
        self.handed_over += len(self.listener.untold(before))
        self.listener.away.clear()
        self._service = other
        for till in self._tills:
            till.move_to(other.port)
        # Who sells at the second service has moved its register there, and the events that wait.
        self._until(lambda: len(self.sold) >= len(before) + 2 * TILLS)
        self._until(lambda: not self.listener.untold(before))

    def _until(self, reached: Callable[[], bool]) -> None:
        """Wait until it is so, at most as long as a takeover may take."""
        deadline = time.monotonic() + TAKEOVER_PATIENCE
        while not reached() and time.monotonic() < deadline:
            time.sleep(0.1)


# The rounds


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the rounds; 0 when nothing is lost, doubled, missing or otherwise wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.crash.postgres_rounds",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--takeovers", type=int, default=0, help="takeovers at the end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=(*OUTAGES, *FULL_DISKS), help="this kind; may be repeated")
    options = parser.parse_args(arguments)
    if MISSING:
        print(MISSING, file=sys.stderr)
        return 1
    folder = Path(tempfile.mkdtemp(prefix="dmtwisted-outages-")).resolve()
    folder.chmod(0o755)
    evidence = False
    try:
        evidence = not _play(folder, options)
    except (NotStarted, BenchFailed, OSError, psycopg2.Error, http.client.HTTPException) as error:
        evidence = True
        print(error, file=sys.stderr)
    finally:
        if not evidence:
            shutil.rmtree(folder, ignore_errors=True)
    if evidence:
        print(f"the state folder and the log stay in {folder}", file=sys.stderr)
    return int(evidence)


def _play(folder: Path, options: argparse.Namespace) -> bool:
    with ended_by_signals(), small_disk(folder / "tables", TABLES) as tables, small_disk(folder / "log", LOG) as log:
        kinds = options.only or (*OUTAGES, *(FULL_DISKS if tables and log else ()))
        if not (tables and log):
            print("no small disks can be made here: the rounds with full disks are left out")
        server = Server(DURABLE, log)
        try:
            where = ""
            if tables is not None:
                server.give(tables)
                server.run(f"CREATE TABLESPACE small LOCATION '{tables}'")
                where = " TABLESPACE small"
            server.run(f"CREATE DATABASE {DATABASE}{where}")
            turns = plan(options.seed, options.rounds, kinds)
            turns += [Round(0.5, TAKEN_OVER, 0.0)] * options.takeovers
            return _rounds(Outages(server, folder, options.seed, tables, log), turns)
        finally:
            server.remove()


def _rounds(desk: Outages, turns: Sequence[Round]) -> bool:
    """Play the rounds and tell what is found; whether that is nothing."""
    tallies: dict[str, Tally] = {}
    with desk:
        for n, turn in enumerate(turns, 1):
            before = len(desk.sold), desk.repeats, desk.found_again
            desk.play(turn.after, partial(desk.strike, turn))
            tally = tallies.setdefault(turn.kind, Tally())
            tally.rounds += 1
            tally.sales += len(desk.sold) - before[0]
            tally.repeats += desk.repeats - before[1]
            tally.found_again += desk.found_again - before[2]
            tally.away = max(tally.away, desk.away)
            tally.slowest = max(tally.slowest, desk.slowest)
            if n % 10 == 0 or desk.found:
                desk.compare()
                print(f"round {n}: {len(desk.sold)} sales, {desk.repeats} repeats: {desk.found}", flush=True)
            if desk.found:
                break
        desk.compare()
        desk.look_up_everything()
        desk.check_database()
    for sentence in [*desk.found.lost, *desk.found.doubled, *desk.found.gaps, *desk.found.other][:20]:
        print(sentence)
    print(table(tallies))
    print(f"no room seen {desk.refused} times, panics {desk.panics}")
    print(f"{len(desk.sold)} sales, {desk.found_again} of them had happened and were answered to a repeat")
    print(f"{desk.listener}; of {desk.handed_over} sales the service told nobody before it died")
    print(desk.found)
    return not desk.found


def table(tallies: dict[str, Tally]) -> str:
    """The tallies as a table of a documentation page."""
    head = "| what happened | rounds | sales | repeats | answered from the journal | longest outage | slowest sale |"
    lines = [head, "|" + "---|" * 7]
    lines += [
        f"| {kind} | {each.rounds} | {each.sales} | {each.repeats} | {each.found_again} "
        f"| {each.away:.1f} s | {each.slowest:.1f} s |"
        for kind, each in tallies.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
