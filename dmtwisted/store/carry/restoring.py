"""Restore a backup, after everything in it was checked."""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dmtwisted.clock import kyiv
from dmtwisted.crash_points import reached
from dmtwisted.store.carry.archive import DATABASE, ROWS, STATE, Manifest, TableMark, read_rows, unpack
from dmtwisted.store.carry.backing_up import marks, names_in, state_files
from dmtwisted.store.carry.moving import PATIENCE, SOURCE, Ready, Report, begin, catch_up, expect_same_schema, move
from dmtwisted.store.carry.recording import record
from dmtwisted.store.carry.swapping import Step, carry_out, planned, to_disk, write_plan
from dmtwisted.store.restored import NAME, Restored
from dmtwisted.store.revisions import MOVING, head
from dmtwisted.store.rows import NOTES, PAGE, CarryError, Rows
from dmtwisted.store.schema import shapes
from dmtwisted.store.shapes import Row, pages
from dmtwisted.store.sqlite.file import Locked, take_lock
from dmtwisted.store.sqlite.rows import SqliteRows
from dmtwisted.store.urls import SQLITE
from dmtwisted.store.values import Change

Upgrade = Callable[[str], None]
"""Brings the database at a URL to the schema of this version."""


def _not_newer(path: Path, manifest: Manifest) -> None:
    if manifest.revision > head():
        raise CarryError(f"{path}: made by a newer version ({manifest.version}, schema {manifest.revision})")


def _counted(path: Path, report: Report) -> Callable[[int], None]:
    done, total = 0, 0

    def advance(size: int) -> None:
        nonlocal done
        done += size
        report("read", done, max(total, done))

    return advance


def restore_file(
    backup: Path, state: Path, database: Path, leave_out: Iterable[Path], upgrade: Upgrade, now: int, report: Report,
    change: Change | None = None,
) -> Path:  # fmt: skip
    """Replace the SQLite file ``database`` and the files of the state folder by those of a backup.

    :param now: milliseconds since 1970.
    :param change: the record of the restore, which the restored database gets.
    :return: the folder with the replaced files.
    :raises CarryError: when the backup is damaged or newer, or the database is in use.
    :raises OSError: when a file cannot be written; then nothing was replaced, or the next start continues.
    """
    lock = SqliteRows(database)
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with lock:
        lock.keep_others_out(0)
        mark = secrets.token_hex(4)
        folder, beside = state / f"restoring-{mark}", database.parent / f"restoring-{mark}-{database.name}"
        with _staging(state, folder, beside):
            _sweep(database.parent, f"-{database.name}")
            manifest = unpack(backup, folder, _counted(backup, report))
            _not_newer(backup, manifest)
            beside.mkdir(mode=0o700)
            fresh = beside / "database"
            if manifest.whole_file:
                shutil.move(folder / DATABASE, fresh)
                _prove(fresh, manifest, report)
                upgrade(f"{SQLITE}{fresh}")
            else:
                upgrade(f"{SQLITE}{fresh}")
                with SqliteRows(fresh) as rows:
                    _load(folder, manifest, rows, backup.name, report)
            with SqliteRows(fresh) as rows:
                set_mark(rows, manifest, now, change)
                rows.settle()
            old = _unused(state / f"before-restore-{_stamp(now)}")
            old_database = old if database.parent == state else _unused(database.parent / old.name)
            logs = [Path(f"{database}{end}") for end in ("-wal", "-shm", "-journal")]
            # The log is moved away with its file, and first: it belongs to no other file.
            steps: list[Step] = [(None, log, old_database / log.name) for log in logs]
            steps.append((fresh, database, old_database / database.name))
            steps += _state_steps(folder, state, old, [database, *leave_out])
            _expect_renamable(steps)
            _through(folder, beside)
            reached("restore.unpacked")
            write_plan(state, steps, [folder, beside])
            reached("restore.planned")
    return old_database


def restore_rows(
    backup: Path, state: Path, target: Rows, leave_out: Iterable[Path], make: Callable[[], None],
    upgrade: Upgrade, now: int, report: Report, change: Change | None = None,
) -> Path:  # fmt: skip
    """Put the rows of a backup into the empty database ``target``, and its files into the state folder.

    :return: the folder with the replaced files.
    :raises CarryError: when the backup is damaged or newer, or the database is in use or not empty.
    :raises OSError: when a file cannot be written.
    """
    target.keep_others_out(PATIENCE)
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # A starting service takes the same lock before it carries out a plan.
        files = take_lock(str(state / "restore.lock"), 0)
    except Locked:
        raise CarryError(f"{state}: another restore is running") from None
    folder = state / f"restoring-{secrets.token_hex(4)}"
    old = _unused(state / f"before-restore-{_stamp(now)}")

    def decide() -> None:
        # Before any service can use the database: the first one must find the files that belong to it.
        _through(folder)
        write_plan(state, steps, [folder])

    with files, _staging(state, folder):
        manifest = unpack(backup, folder, _counted(backup, report))
        _not_newer(backup, manifest)
        steps = list(_state_steps(folder, state, old, leave_out))
        _expect_renamable(steps)
        if manifest.whole_file:
            _prove(folder / DATABASE, manifest, report)
            upgrade(f"{SQLITE}{folder / DATABASE}")
            with SqliteRows(folder / DATABASE) as rows:
                set_mark(rows, manifest, now, change)
                move(rows, target, make, report, anew=True, ready=decide)
        else:
            if manifest.revision != head():
                raise CarryError(
                    f"{backup}: rows of an older version (schema {manifest.revision}); that version restores it"
                )
            if target.revision() == MOVING and NOTES in target.tables():
                expect_same_schema(target)
                target.clear()
            else:
                begin(target, make, f"the backup {backup.name}")
            _load(folder, manifest, target, backup.name, report, now, decide, change)
    return old


@contextmanager
def _staging(state: Path, *folders: Path) -> Iterator[None]:
    """Finish an earlier plan, stage files in ``folders``, then carry out the plan that was written meanwhile.

    The folders are removed when there is a failure before the plan.
    """
    if planned(state):
        carry_out(state)
    _sweep(state)
    folders[0].mkdir(mode=0o700, parents=True)
    try:
        yield
    except BaseException:
        if not planned(state):
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
        raise
    carry_out(state)


def _prove(path: Path, manifest: Manifest, report: Report) -> None:
    """Check that a SQLite file is whole and holds what the manifest says."""
    with SqliteRows(path, reading=True, alone=True) as rows:
        wrong = next(rows.faults(), "")
        if wrong:
            raise CarryError(f"the database in the backup is damaged: {wrong}")
        if manifest.revision == head() and marks(rows, report) != manifest.tables:
            raise CarryError("the rows in the backup differ from those that were backed up")


def _load(
    folder: Path, manifest: Manifest, target: Rows, name: str, report: Report, marked: int | None = None,
    ready: Ready = lambda: None, change: Change | None = None,
) -> None:  # fmt: skip
    """Insert the rows, then compare the database with the manifest.

    :param ready: called when that is done, before services can use the database.
    """
    if manifest.revision != head():
        raise CarryError(f"rows of an older version (schema {manifest.revision}) need that version")
    if target.revision() != MOVING:
        target.begin_notes()
    with target.transaction():
        target.note(SOURCE, f"the backup {name}")
    total = sum(mark.rows for mark in manifest.tables.values())
    done = 0
    for shape in shapes():
        with (folder / ROWS / shape.name).open("rb") as stream:
            for page in pages(read_rows(stream, shape), PAGE):
                with target.transaction():
                    target.add(shape, page)
                done += len(page)
                report(f"restore {shape.name}", done, total)
        if shape.numbered:
            with target.transaction():
                target.set_counter(shape, manifest.tables[shape.name].counter)
    catch_up(target, report)
    if _without_counters(marks(target, report)) != _without_counters(manifest.tables):
        raise CarryError("the restored rows differ from those that were backed up")
    if marked is not None:
        set_mark(target, manifest, marked, change)
    ready()
    target.end_notes(head())


def _without_counters(tables: dict[str, TableMark]) -> dict[str, tuple[int, str]]:
    return {name: (mark.rows, mark.sum) for name, mark in tables.items()}


def set_mark(rows: Rows, manifest: Manifest, now: int, change: Change | None = None) -> None:
    """Mark the database as restored: no register may sell before its numbers were compared.

    :param change: the record of the restore.
    """
    registers = [n for (n,) in rows.ask("SELECT n FROM device WHERE kind = 'register' ORDER BY n")]
    value = msgspec.json.encode(Restored(now, manifest.made, tuple(registers)))
    shape = next(shape for shape in shapes() if shape.name == "setting")
    with rows.transaction():
        rows.ask(f"DELETE FROM setting WHERE name = '{NAME}'")
        row: Row = tuple({"name": NAME, "value": value}[column] for column in shape.columns)
        rows.add(shape, [row])
        if change is not None:
            record(rows, change)


def _state_steps(folder: Path, state: Path, old: Path, leave_out: Iterable[Path]) -> Iterator[Step]:
    """The steps for the files of the state folder: those of the backup replace the present ones."""
    staged = folder / STATE
    left_out = list(leave_out)
    # A file that is not state here must not be restored either: an old file could replace the database.
    not_coming = [staged / name for name in names_in(state, left_out)]
    coming = {path.relative_to(staged) for path in state_files(staged, not_coming)}
    there = {path.relative_to(state) for path in state_files(state, left_out)}
    for name in sorted(coming | there):
        yield (staged / name if name in coming else None, state / name, old / "state" / name)


def _expect_renamable(steps: Iterable[Step]) -> None:
    """Check that no folder in the state folder is on another disk: a plan must be carried out by renaming alone.

    :raises CarryError: when one is.
    """
    for new, place, old in steps:
        if len({_disk(path.parent) for path in (new, place, old) if path is not None}) > 1:
            raise CarryError(f"{place.parent} is on another disk; unmount it, restore, and copy its files back")


def _disk(folder: Path) -> int:
    """The disk of a folder, even of one that does not exist yet."""
    # Only folders: where one file system is laid over another, files may report the disk of the lower one.
    while not folder.is_dir():
        folder = folder.parent
    return folder.stat().st_dev


def _sweep(folder: Path, whose: str = "") -> None:
    """Remove the files of a restore that was killed before its plan existed: they hold keys and receipts.

    :param whose: how their names end. Several services may keep their files in one folder, each with its own plan.
    """
    for left in folder.glob("restoring-*"):
        if re.fullmatch(f"restoring-[0-9a-f]+{re.escape(whose)}", left.name):
            shutil.rmtree(left, ignore_errors=True)


def _through(*folders: Path) -> None:
    """Bring the names below these folders to the disk, where the system allows it."""
    for top in folders:
        for path in (top, *top.rglob("*")):
            if path.is_dir():
                to_disk(path)


def _unused(path: Path) -> Path:
    """``path``, or a similar path that does not exist."""
    found, number = path, 1
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}-{number}")
    return found


def _stamp(now: int) -> str:
    return f"{kyiv(now):%Y%m%d-%H%M%S}"
