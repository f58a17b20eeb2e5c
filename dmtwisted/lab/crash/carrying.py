"""Kills in the work beside the tasks: retention, migration, move, backup and restore.

Each round works on a copy of one state folder, of a training register that sold a hundred days ago and now. After the
kill the same work is started again, as a user would, and afterwards the rows must be as before.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmtwisted.lab.children import BenchFailed, environment, execute
from dmtwisted.lab.crash.books import Findings
from dmtwisted.lab.crash.databases import Ground
from dmtwisted.lab.crash.parent import Parent
from dmtwisted.lab.crash.power import Power, tracer
from dmtwisted.lab.crash.rounds import Tally
from dmtwisted.lab.crash.shop import KilledService, lasting_port
from dmtwisted.store.carry.backing_up import state_files
from dmtwisted.store.restored import NAME as MARK

OLD_SALES, NEW_SALES = 120, 5
LONG_AGO_S = -100 * 86_400.0
AHEAD = (
    "alembic.command",
    "dmtwisted.commands.backup",
    "dmtwisted.commands.database",
    "sqlalchemy.dialects.sqlite",
)
"""The modules that the commands import."""

LATEST = 60.0
"""Seconds for one step, on a busy machine."""

RESTED = 2.0
"""Seconds without a removal after which retention has ended."""

RETENTION = ("retention.operations-cut", "retention.seals-cut", "retention.codes-forgotten")
MIGRATION = ("migration.begun", "migration.in-transaction", "migration.done")
MOVE = ("move.portion-carried", "move.carried", "move.compared")
BACKUP = ("backup.written", "backup.named")
RESTORE = ("restore.unpacked", "restore.planned", "restore.step-done")
POINTS = (*RETENTION, *MIGRATION, *MOVE, *BACKUP, *RESTORE)


@dataclass(frozen=True)
class Rows:
    """The content of a database: its documents, the number of its operations, and the rest."""

    documents: frozenset[tuple[Any, ...]]
    operations: int
    rest: frozenset[tuple[Any, ...]] = frozenset()
    """Rows of all tables, each after the name of its table."""


REST = {
    "device": "n, dev_id, name, kind, driver, settings",
    "setting": "name, value",
    "operation WHERE kind NOT IN ('change', 'event')": (
        "n, device_n, kind, key, state, at, ended_at, res, answer, request"
    ),
    "document": "n, operation_n, number, shift, at, state, value, sent",
    "register": "device_n, state",
    "sold_code": "device_n, shift, code, taxgrp",
    "mark": "mark, place, device_n, operation_n, number, fiscal_number, at, state",
    "outbox": "n, kind, device_n, due, attempts, state, why, payload",
}
"""Columns that are compared; the mark of a restored database is left out."""


def rows_of(file: Path) -> Rows:
    """Read the content of a database file."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        documents = db.execute("SELECT number, kind, fiscal_number, sum FROM document").fetchall()
        [(operations,)] = db.execute(
            "SELECT count(*) FROM operation WHERE kind NOT IN ('change', 'event')"
        ).fetchall()
        rest = [
            (table.split()[0], *row)
            for table, names in REST.items()
            # The first schema did not have all of them.
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table.split()[0],)).fetchone()
            for row in db.execute(f"SELECT {names} FROM {table}")
        ]
    return Rows(frozenset(documents), operations, frozenset(row for row in rest if row[:2] != ("setting", MARK)))


def compare_rows(before: Rows, after: Rows) -> Findings:
    """The differences."""
    found = Findings()
    found.lost += [f"document {row} is gone" for row in before.documents - after.documents]
    found.doubled += [f"document {row} was not there before" for row in after.documents - before.documents]
    if before.operations != after.operations and not found:
        found.other.append(f"{before.operations} operations became {after.operations}")
    if before.rest != after.rest and not found:
        found.other += [f"a row of {row[0]} is not as it was: {row[1:3]}" for row in before.rest ^ after.rest][:5]
    return found


def compare_kept(ledger: Sequence[tuple[int, int]], before: Rows, after: Rows, last: int) -> Findings:
    """The faults of retention: it removed something young, changed something, or left something old.

    :param ledger: number and sum of each young receipt.
    :param last: the number of the newest old document.
    """
    found = Findings()
    gone = [row for row in before.documents - after.documents if row[0] > last]
    found.lost += [f"the young document {row} is gone" for row in gone]
    numbers = {(row[0], row[3]) for row in (*after.documents, *gone)}
    found.lost += [
        f"the young receipt {number} is gone" for number, kopecks in ledger if (number, kopecks) not in numbers
    ]
    found.doubled += [f"document {row} was not there before" for row in after.documents - before.documents]
    if sum(row[0] <= last for row in after.documents) > OLD_SALES // 2:
        found.other.append("most of what is old is still there")
    return found


def of_first_schema(file: Path, into: Path) -> None:
    """Create a database of the first schema with the rows of ``file``, as far as its tables have columns for them.

    :raises BenchFailed: when that fails.
    """
    making = "import sys; from dmtwisted.store.migrate import upgrade; upgrade(sys.argv[1], '0001')"
    made = subprocess.run(
        [sys.executable, "-c", making, f"sqlite:///{into}"],
        stderr=subprocess.PIPE,
        env=environment(),
        check=False,
        timeout=LATEST,
    )
    if made.returncode:
        raise BenchFailed(f"no database of the first schema: {made.stderr.decode(errors='replace').strip()[-300:]}")
    with closing(sqlite3.connect(into, isolation_level=None)) as db:
        db.execute("ATTACH ? AS whole", (str(file),))
        tables = db.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            if table != "alembic_version" and not table.startswith("sqlite_"):
                columns = [f'"{column[1]}"' for column in db.execute(f'PRAGMA main.table_info("{table}")')]
                names = ", ".join(columns)
                db.execute(f'INSERT INTO main."{table}" ({names}) SELECT {names} FROM whole."{table}"')


class Commands:
    """Runs our commands in child processes."""

    def __init__(self, parent: Parent, folder: Path) -> None:
        self._parent, self._log = parent, folder / "commands.log"

    def killed(self, point: str, power: Power | None, *command: str) -> bool:
        """Run a command and kill it at ``point``; whether it was killed."""
        orders = self._parent.orders
        orders.write_text(f"{point} 1 {time.monotonic_ns()}", "ascii")
        child = self._parent.fork(command, self._log)
        status = child.wait(LATEST * 2)
        if power is not None:
            power.fail(child.pid, self._parent.pid)
        struck = Path(f"{orders}.struck")
        killed = struck.exists() and status < 0
        for left in (orders, struck):
            left.unlink(missing_ok=True)
        return killed

    def run(self, *command: str) -> None:
        """Run a command that has to succeed.

        :raises BenchFailed: when it does not.
        """
        status = self._parent.fork(command, self._log).wait(LATEST * 2)
        if status:
            words = self._log.read_text(errors="replace").strip().splitlines()
            raise BenchFailed(f"{' '.join(command[:2])} ended with {status}: {words[-1] if words else ''}")


class Keeping:
    """A state folder with old and new sales, and rounds on copies of it.

    :param record: where the calls of ``parent`` are recorded, when a kill is a power cut (`Power`).
    """

    def __init__(self, parent: Parent, folder: Path, record: Path | None = None) -> None:
        self._parent, self._folder, self._record = parent, folder, record
        self._commands = Commands(parent, folder)
        self._whole, self._first = folder / "days", folder / "first.db"
        self._young: list[tuple[int, int]] = []
        self._last_old = 0
        self._n = 0

    def fill(self) -> None:
        """Make the old and the new sales for all rounds."""
        self._whole.mkdir()
        with KilledService(self._parent, self._whole, lasting_port(), "--training") as service:
            service.ask("PUT", "/dm/api/v3/training/clock", {"offset_s": LONG_AGO_S})
            for n in range(2):
                _do(service, 0, f"open-{n}")
                for k in range(OLD_SALES // 2):
                    _sell(service, f"old-{n}-{k}", 100 + k)
                _do(service, 11, f"z-{n}")
                self._last_old = max(row[0] for row in rows_of(self._whole / "dmtwisted.db").documents)
            # Nothing becomes too old before a round wants it.
            self._days(service, 3000)
            service.ask("PUT", "/dm/api/v3/training/clock", {"offset_s": 0})
            _do(service, 0, "open-now")
            for k in range(NEW_SALES):
                self._young.append((_sell(service, f"new-{k}", 5000 + k), 5000 + k))

    def _days(self, service: KilledService, days: int) -> None:
        status, answer = service.ask("POST", "/dm/main/api/v1/settings", {"packdays": days, "paydays": days})
        if status != 200 or json.loads(answer)["res"]:
            raise BenchFailed(f"the settings were refused: {answer.decode(errors='replace')[:200]}")

    def one(self, point: str) -> tuple[bool, Findings]:
        """One kill at ``point``, and the same work again: whether it was killed, and the faults."""
        self._n += 1
        whole = self._folder / f"round-{self._n}"
        whole.mkdir()
        state = whole / "days"
        shutil.copytree(self._whole, state)
        kinds: dict[str, Callable[[Path, str], tuple[bool, Findings]]] = {
            "retention": self._retention,
            "migration": self._migration,
            "move": self._move,
            "backup": self._backup,
            "restore": self._restore,
        }
        killed, found = kinds[point.partition(".")[0]](state, point)
        try:
            self._commands.run("db", "check", "--state", str(state))
        except BenchFailed as error:
            found.other.append(str(error))
        if not found:
            shutil.rmtree(whole)
        return killed, found

    def _power(self, state: Path, archive: Path | None = None) -> Power | None:
        """The power of what begins now with these files; nothing of the round runs.

        The books of the simulated tax service are on another machine in truth.
        """
        if self._record is None:
            return None
        os.truncate(self._record, 0)
        folder = state if archive is None else archive.parent
        return Power(folder, self._record, f"{self._folder.name} {self._n}", state / "training")

    def _retention(self, state: Path, point: str) -> tuple[bool, Findings]:
        power = self._power(state)
        with KilledService(self._parent, state, lasting_port(), "--training") as service:
            # A new shift, so that the codes of the last one are no longer needed.
            _do(service, 11, "z-now")
            _do(service, 0, "open-again")
            before = rows_of(state / "dmtwisted.db")
            self._days(service, 40)
            service.order(point)
            service.ask("PUT", "/dm/api/v3/training/clock", {"offset_s": 0})
            _wait(lambda: service.dead, LATEST)
            killed = service.struck()
            if service.dead:
                if power is not None:
                    power.fail(service.pid, self._parent.pid)
                service.start()
            service.ask("PUT", "/dm/api/v3/training/clock", {"offset_s": 0})
            few = OLD_SALES // 2
            _wait(lambda: _old(rows_of(state / "dmtwisted.db"), self._last_old) < few, LATEST)
            # Wait until nothing more is removed, to notice if too much is.
            left = -1
            while left != (left := _old(rows_of(state / "dmtwisted.db"), self._last_old)):
                time.sleep(RESTED)
            # The register continues with its next number.
            number = _sell(service, "after", 7777)
        after = rows_of(state / "dmtwisted.db")
        whole = Rows(before.documents | {row for row in after.documents if row[0] == number}, before.operations)
        return killed, compare_kept([*self._young, (number, 7777)], whole, after, self._last_old)

    def _migration(self, state: Path, point: str) -> tuple[bool, Findings]:
        """Upgrade a database of the first schema by a start of the service, in which the upgrade is killed."""
        file = state / "dmtwisted.db"
        if not self._first.exists():
            of_first_schema(file, self._first)
        shutil.copy(self._first, file)
        before, power = rows_of(file), self._power(state)
        service = KilledService(self._parent, state, lasting_port(), "--training")
        service.order(point)
        service.spawn()
        # A child of the service is killed; the service then reports why it cannot start.
        _wait(lambda: service.dead, LATEST)
        service.kill()
        killed = service.struck()
        if power is not None:
            power.fail(service.pid, self._parent.pid)
        with service:
            pass
        return killed, compare_rows(before, rows_of(file))

    def _move(self, state: Path, point: str) -> tuple[bool, Findings]:
        before, target = rows_of(state / "dmtwisted.db"), state / "moved.db"
        command = ("db", "move", "--state", str(state), "--to", f"sqlite:///{target}")
        killed = self._commands.killed(point, self._power(state), *command)
        self._commands.run(*command)
        os.replace(target, state / "dmtwisted.db")
        return killed, compare_rows(before, rows_of(state / "dmtwisted.db"))

    def _backup(self, state: Path, point: str) -> tuple[bool, Findings]:
        before, files = rows_of(state / "dmtwisted.db"), files_of(state)
        archive = state.with_name("days.tar.gz")
        command = ("backup", "--state", str(state), "--to", str(archive))
        killed = self._commands.killed(point, self._power(state, archive), *command)
        found = Findings()
        if archive.exists() != (point == "backup.named"):
            found.other.append("an archive has its name before it is complete, or not at all")
        archive.unlink(missing_ok=True)
        self._commands.run(*command)
        shutil.rmtree(state)
        state.mkdir()
        self._commands.run("restore", "--yes", "--state", str(state), str(archive))
        found.add(compare_rows(before, rows_of(state / "dmtwisted.db")))
        found.add(compare_files(files, files_of(state)))
        return killed, found

    def _restore(self, state: Path, point: str) -> tuple[bool, Findings]:
        before, files = rows_of(state / "dmtwisted.db"), files_of(state)
        archive = state.with_name("days.tar.gz")
        self._commands.run("backup", "--state", str(state), "--to", str(archive))
        with KilledService(self._parent, state, lasting_port(), "--training") as service:
            _sell(service, "too-late", 3333)
        later = rows_of(state / "dmtwisted.db")
        again = ("restore", "--yes", "--state", str(state), str(archive))
        killed = self._commands.killed(point, self._power(state), *again)
        # The next start of the service completes a decided restore; then the same command does all of it.
        with KilledService(self._parent, state, lasting_port(), "--training"):
            pass
        # Killed before the plan was written nothing has happened; killed later the start completes it.
        begun = compare_rows(later if point == "restore.unpacked" else before, rows_of(state / "dmtwisted.db"))
        self._commands.run(*again)
        archive.unlink()
        found = compare_rows(before, rows_of(state / "dmtwisted.db"))
        found.add(compare_files(files, files_of(state)))
        found.add(begun)
        return killed, found


def files_of(state: Path) -> dict[str, bytes]:
    """The files that a backup must contain besides the database."""
    return {str(path.relative_to(state)): path.read_bytes() for path in state_files(state, [state / "dmtwisted.db"])}


def compare_files(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Findings:
    """Files of the state folder that differ."""
    wrong = [name for name in {*before, *after} if before.get(name) != after.get(name)]
    return Findings(other=[f"the file {name} is not as it was" for name in wrong])


def _old(rows: Rows, last: int) -> int:
    return sum(row[0] <= last for row in rows.documents)


def _wait(reached: Callable[[], bool], patience: float) -> None:
    deadline = time.monotonic() + patience
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.05)


def _do(service: KilledService, task: int, tag: str) -> None:
    execute(service, json.dumps({"ver": 6, "device": "test", "tag": tag, "type": 1, "fiscal": {"task": task}}))


def _sell(service: KilledService, tag: str, kopecks: int) -> int:
    """Make a sale; the local number of its receipt."""
    amount = kopecks / 100
    row = {"code": "1", "name": "Хліб", "cnt": 1, "price": amount, "taxgrp": 1}
    receipt = {"sum": amount, "rows": [row], "pays": [{"type": 0, "sum": amount}]}
    fiscal = {"task": 1, "receipt": receipt}
    answer = execute(service, json.dumps({"ver": 6, "device": "test", "tag": tag, "type": 1, "fiscal": fiscal}))
    return int(json.loads(answer)["info"]["docno"])


def keeping_rounds(rounds: int, points: Sequence[str]) -> list[str]:
    """The points to kill at, each ``rounds`` times.

    :param points: only these; empty for all.
    """
    return [point for point in POINTS if not points or point in points for _ in range(rounds)]


def at_keeping_points(
    turns: Sequence[str], ground: Ground, folder: Path, tallies: list[Tally], stop: threading.Event
) -> None:
    """Kill at each of these points, until a fault is found.

    :param tallies: gets the counts.
    :param stop: when it is set, no further round begins.
    """
    record = folder / "calls" if ground.power else None
    before = () if record is None else tracer(record)
    with Parent(folder / "orders", folder / "parent.log", AHEAD, before) as parent:
        keeping = Keeping(parent, folder, record)
        keeping.fill()
        for point in turns:
            if not tallies or tallies[-1].point != point:
                tallies.append(Tally(point.partition(".")[0], point))
            tally = tallies[-1]
            if stop.is_set():
                return
            tally.rounds += 1
            try:
                killed, found = keeping.one(point)
            except (BenchFailed, OSError, subprocess.TimeoutExpired) as error:
                killed, found = False, Findings(other=[f"{type(error).__name__}: {error}"])
            tally.killed += killed
            tally.add(found)
            if not tally.sound:
                return
