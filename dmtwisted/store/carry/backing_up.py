"""Make a backup while the service sells: the database at one moment, and the files of the state folder.

Everything is verified: the copy is checked, its rows are compared with those of the database at that moment, and the
finished archive is read again from the disk before it gets its name.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator
from io import BufferedWriter
from pathlib import Path

from dmtwisted import __version__
from dmtwisted.config import BACKUPS, PRESENCE_FILE
from dmtwisted.crash_points import reached
from dmtwisted.store.carry.archive import (
    DATABASE,
    FORMAT,
    ROWS,
    STATE,
    FileMark,
    Manifest,
    TableMark,
    mark_of,
    unpack,
    write_archive,
    write_rows,
)
from dmtwisted.store.carry.looking import expect_fit, expect_nothing_pending
from dmtwisted.store.carry.moving import Report
from dmtwisted.store.carry.swapping import to_disk
from dmtwisted.store.rows import CarryError, Rows
from dmtwisted.store.schema import shapes
from dmtwisted.store.shapes import Shape, Sum
from dmtwisted.store.sqlite.file import Locked, take_lock
from dmtwisted.store.sqlite.rows import SqliteRows
from dmtwisted.system.files import replace
from dmtwisted.system.portions import PortionedFile

FOLDER = BACKUPS
"""Where backups are put in the state folder, unless a file is named."""

NOT_KEPT = (
    FOLDER,
    PRESENCE_FILE,
    "before-restore-*",
    "restoring-*",
    ".backup*",
    "*.new",
    "*.lock",
    "restore.pending",
    "*.tar.gz",
    "*.before-upgrade-*",
)
"""Names in the state folder that are not state."""

_PART = ".new"


def make_backup(
    rows: Rows, state: Path, leave_out: Iterable[Path], target: Path, now: int, report: Report
) -> Manifest:
    """Write a backup to ``target`` and return its manifest; after a kill at any moment there is no file of that name.

    :param leave_out: files of the state folder that are not state: the database itself, the log.
    :param now: milliseconds since 1970.
    :raises CarryError: when the database is of another version, or the copy differs from it.
    :raises OSError: when a file cannot be written.
    """
    own = state / FOLDER
    for needed in (own, target.parent):
        needed.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        lock = take_lock(str(own / ".backup.lock"), 0)
    except Locked:
        raise CarryError(f"another backup is being made in {own}") from None
    with lock:
        # No other backup is running. The remains of a killed one hold keys and receipts.
        for left in (*own.glob(".backup-*"), *own.glob(f".*{_PART}")):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        expect_nothing_pending(state)
        if target.exists():
            raise CarryError(f"there is a file {target} already", "Name another file with --to.")
        folder = own / f".backup-{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        fresh = target.with_name(f".{target.name}{_PART}")
        fresh.unlink(missing_ok=True)
        try:
            manifest = _gather(rows, state, set(leave_out), folder, now, report)
            total, done = 2 * sum(mark.size for mark in manifest.files.values()), 0

            def advance(size: int) -> None:
                nonlocal done
                done += size
                report("archive", done, total)

            write_archive(fresh, manifest, folder, advance)
            if unpack(fresh, None, advance) != manifest:
                raise CarryError(f"{target}: the file on the disk is not what was written")
            reached("backup.written")
            replace(fresh, target)
            to_disk(target.parent)
            reached("backup.named")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            fresh.unlink(missing_ok=True)
    return manifest


def _gather(rows: Rows, state: Path, leave_out: set[Path], folder: Path, now: int, report: Report) -> Manifest:
    if not rows.one_moment:
        rows.keep_others_out(0)
    expect_fit(rows)
    revision = rows.revision() or ""
    [(newest,)] = rows.ask("SELECT max(at) FROM document")
    files: dict[str, FileMark] = {}
    if isinstance(rows, SqliteRows):
        tables = _copy(rows, folder / DATABASE, report)
        files[DATABASE] = mark_of(folder / DATABASE)
    else:
        (folder / ROWS).mkdir(mode=0o700)
        tables = {}
        for shape in shapes():
            tables[shape.name] = _dump(rows, shape, folder / ROWS / shape.name, report)
            files[ROWS + shape.name] = mark_of(folder / ROWS / shape.name)
    for path in state_files(state, leave_out):
        name = STATE + path.relative_to(state).as_posix()
        copy = folder / name
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        files[name] = mark_of(copy)
    return Manifest(FORMAT, now, __version__, revision, rows.name, newest, tables, files)


def _copy(rows: SqliteRows, path: Path, report: Report) -> dict[str, TableMark]:
    """Copy a SQLite file as it is at one moment, and close it; return the marks of its tables."""
    rows.copy_to(path, report)
    with SqliteRows(path, reading=True, alone=True) as copied:
        wrong = next(copied.faults(), "")
        if wrong:
            raise CarryError(f"the database is damaged, and is not backed up: {wrong}")
        tables = marks(copied, report)
    if tables != marks(rows, report):
        raise CarryError("the copy differs from the database")
    # While it was open, the service could not write all of its log back.
    rows.close()
    return tables


def marks(rows: Rows, report: Report) -> dict[str, TableMark]:
    """The mark of each table."""
    total, done = sum(rows.count(shape) for shape in shapes()), 0
    found = {}
    for shape in shapes():
        read = Sum()
        for page in rows.walk(shape):
            read.add(page)
            report(f"check {shape.name}", done + read.rows, total)
        done += read.rows
        found[shape.name] = TableMark(read.rows, read.hex, rows.counter(shape) if shape.numbered else 0)
    return found


def _dump(rows: Rows, shape: Shape, path: Path, report: Report) -> TableMark:
    read, total = Sum(), rows.count(shape)
    with BufferedWriter(PortionedFile(path, "wb")) as stream:
        for page in rows.walk(shape):
            write_rows(stream, page)
            read.add(page)
            report(f"copy {shape.name}", read.rows, total)
    return TableMark(read.rows, read.hex, rows.counter(shape) if shape.numbered else 0)


def state_files(state: Path, leave_out: Iterable[Path]) -> Iterator[Path]:
    """The files of the state folder that are state, sorted by name."""
    ours = {Path(f"{name}{end}") for name in names_in(state, leave_out) for end in ("", "-wal", "-shm", "-journal")}
    for path in sorted(state.rglob("*")):
        name = path.relative_to(state)
        left_out = name in ours or any(Path(part).match(pattern) for part in name.parts for pattern in NOT_KEPT)
        if not left_out and path.is_file() and not path.is_symlink():
            yield path


def names_in(folder: Path, files: Iterable[Path]) -> set[Path]:
    """The names of those of the files that are in a folder: as given, and by their real paths.

    The configuration may name a folder by a link and the database in it by its real path, or the other way round.
    """
    files = list(files)
    pairs = [(folder, file) for file in files] + [(folder.resolve(), file.resolve()) for file in files]
    return {file.relative_to(top) for top, file in pairs if file.is_relative_to(top)}


def backups(folder: Path) -> list[Path]:
    """The backups in a folder, newest first by name."""
    return sorted(folder.glob("*.tar.gz"), reverse=True)
