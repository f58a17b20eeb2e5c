"""A backup is one moment of everything, made while the service sells; it comes back whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
import time
import tomllib
from contextlib import closing, redirect_stderr, redirect_stdout
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock, skipIf, skipUnless

import msgspec
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands.launch import finish_restore
from dmtwisted.commands.main import main
from dmtwisted.config import Config, ConfigError, DatabaseConfig, ServiceConfig
from dmtwisted.store.carry import archive, backing_up, restoring, swapping
from dmtwisted.store.carry.archive import Manifest, TableMark, read_manifest
from dmtwisted.store.carry.backing_up import FOLDER, marks, state_files
from dmtwisted.store.carry.swapping import PLAN, planned
from dmtwisted.store.migrate import upgrade
from dmtwisted.store.opening import open_rows
from dmtwisted.store.restored import NAME as RESTORED
from dmtwisted.store.revisions import MOVING, head
from dmtwisted.store.rows import SCHEMA, CarryError, Rows
from dmtwisted.store.sqlite import rows as sqlite_rows
from dmtwisted.store.sqlite.file import take_lock
from dmtwisted.store.sqlite.rows import SqliteRows
from dmtwisted.store.sqlite.wire import FUNCTIONS
from dmtwisted.store.sqlite.writer import connect
from dmtwisted.system import files
from tests.filler import fill
from tests.postgres_server import MISSING, PASSWORD, server
from tests.rights import OWNER_ONLY
from tests.store_contract import TILL, intent, paper

_names = count(1)

KEY = "00" * 32 + "\n"

KILLED_AT_EVERY_STEP = """
import os, pathlib, shutil, signal, sys
from unittest import mock
import dmtwisted.store.carry.restoring, dmtwisted.store.carry.upgrading
from dmtwisted.commands.main import main

before, state, backup = map(pathlib.Path, sys.argv[1:])
left = 0

def counted(name):
    real = getattr(os, name)

    def step(*given, **named):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)

    return step

for steps in range(1, 1000):
    folder = state / str(steps)
    shutil.copytree(before, folder)
    left = steps
    child = os.fork()
    if not child:
        os.close(1)
        os.open(os.devnull, os.O_WRONLY)
        for name in ("open", "rename", "replace", "unlink", "fsync", "mkdir", "rmdir"):
            setattr(os, name, counted(name))
        try:
            main(["restore", str(backup), "--yes", "--state", str(folder)])
        finally:
            os._exit(0)
    if not os.waitpid(child, 0)[1]:
        break
print(steps)
"""
"""Restore into one copy after the other, each time killed one step of the file system later."""


class PowerCut(BaseException):
    """The power goes."""


def nobody(doing: str, done: int, total: int) -> None:
    """A report that is not used."""


class BackupCase(SynchronousTestCase):
    """A state folder with a database, a key and a ledger."""

    def setUp(self) -> None:
        """The folder."""
        self.folder = Path(self.mktemp()).absolute()
        self.state = self.folder / "state"
        self.state.mkdir(parents=True)
        self.path = self.state / "dmtwisted.db"
        self.archive = self.folder / "kept" / "backup.tar.gz"

    def fill(self, receipts: int = 30) -> None:
        """A history and what belongs to it."""
        fill(self.path, receipts, answer=200, document=100)
        (self.state / "secret.key").write_text(KEY, "utf-8")
        (self.state / "training").mkdir()
        (self.state / "training" / "x.ledger").write_text("a sale\n", "utf-8")

    def command(self, *arguments: str) -> tuple[int, str, str]:
        """Status, output and complaint of ``dmtwisted``."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err), self.assertRaises(SystemExit) as ended:
            main([*arguments, "--state", str(self.state)])
        return int(str(ended.exception.code or 0)), out.getvalue(), err.getvalue()

    def backup(self) -> Manifest:
        """Make one."""
        status, _, err = self.command("backup", "--to", str(self.archive))
        self.assertEqual(status, 0, err)
        return read_manifest(self.archive)

    def restored(self) -> str:
        """Restore it; return the output."""
        status, out, err = self.command("restore", str(self.archive), "--yes")
        self.assertEqual(status, 0, err)
        return out

    def refused(self) -> str:
        """Why it is not restored; everything is as it was then."""
        before = contents(self.state)
        status, _, err = self.command("restore", str(self.archive), "--yes")
        self.assertEqual((status, len(err.splitlines()) <= 2), (1, True), err)
        self.assertEqual(contents(self.state), before)
        return err

    def configured(self, url: str) -> str:
        """A configuration file that names this database."""
        file = self.folder / f"{next(_names)}.toml"
        file.write_text(f"[database]\nurl = {json.dumps(url)}\n", "utf-8")
        return str(file)

    def broken_off(self, *options: str) -> None:
        """A restore with these options that the power cuts off after its plan, before any file is in its place."""

        def reached(point: str) -> None:
            if point == "restore.planned":
                raise PowerCut

        with mock.patch.object(restoring, "reached", reached), redirect_stdout(io.StringIO()):
            self.assertRaises(PowerCut, main, ["restore", *options, "--yes", "--state", str(self.state)])
        self.assertTrue(planned(self.state))

    def marks(self, path: Path | None = None) -> dict[str, TableMark]:
        """What the tables amount to, without what a restore notes."""
        return marks_of(path or self.path)


def marks_of(path: Path) -> dict[str, TableMark]:
    """What the tables of a file amount to, without what a restore notes."""
    with SqliteRows(path) as rows:
        return marks_without_notes(rows)


def marks_without_notes(rows: Rows) -> dict[str, TableMark]:
    """What the tables amount to, without the mark of a restore, and without the records of commands."""
    [(records,)] = rows.ask("SELECT count(*) FROM operation WHERE kind = 'change' AND device_n = 0")
    rows.ask(f"DELETE FROM setting WHERE name = '{RESTORED}'")
    rows.ask("DELETE FROM operation WHERE kind = 'change' AND device_n = 0")
    for table in ("seal", "chain"):
        rows.ask(f"DELETE FROM {table} WHERE device_n = 0")
    found = marks(rows, nobody)
    for table in ("operation", "seal"):
        found[table] = msgspec.structs.replace(found[table], counter=found[table].counter - records)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that is state."""
    passing = (".lock", "-wal", "-shm")
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(passing)
    }


class MakeTests(BackupCase):
    """``dmtwisted backup``"""

    def test_what_is_in_it(self) -> None:
        """Database, key and ledgers are in one file that its owner alone may read, with what they amount to."""
        self.fill()
        manifest = self.backup()
        self.assertEqual(manifest.tables, self.marks())
        self.assertEqual(manifest.revision, head())
        self.assertEqual(set(manifest.files), {"database.sqlite", "state/secret.key", "state/training/x.ledger"})
        self.assertEqual(stat.S_IMODE(self.archive.stat().st_mode), OWNER_ONLY)
        with tarfile.open(self.archive) as tar:
            self.assertEqual(set(tar.getnames()), {"manifest.json", *manifest.files})

    def test_usual_place(self) -> None:
        """Without a name it is put in the state folder, and is in no later backup."""
        self.fill()
        for _ in range(2):
            self.assertEqual(self.command("backup")[0], 0)
            [made] = (self.state / FOLDER).glob("*.tar.gz")
            self.assertEqual(len(read_manifest(made).files), 3)
            made.replace(self.folder / made.name)

    def test_log_is_free(self) -> None:
        """While the archive is written, the service can write its log back: the log does not grow until the end."""
        self.fill()
        busy = []

        def written(*given: Any) -> None:
            with closing(connect(str(self.path))) as db:
                db.execute("INSERT INTO setting (name, value) VALUES ('a', x'')")
                busy.append(db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
            archive.write_archive(*given)

        self.patch(backing_up, "write_archive", written)
        self.assertEqual(self.command("backup")[0], 0)
        self.assertEqual(busy, [0])

    def test_while_it_sells(self) -> None:
        """While the writer writes a backup is one moment of the database; no sale waits for it and none is lost."""
        self.fill(200)
        self.patch(sqlite_rows, "COPY_PAGES", 2)
        ended, sold, enough = threading.Event(), [], threading.Event()

        def sell() -> None:
            with closing(connect(str(self.path))) as db:
                for number in count(1):
                    if ended.is_set():
                        return
                    db.execute("BEGIN IMMEDIATE")
                    sold.append(FUNCTIONS["reserve"](db, intent(TILL, f"new {number}", paper(10**6 + number))).n)
                    db.execute("COMMIT")
                    if number == 6:
                        enough.set()

        def written(*given: Any) -> None:
            enough.wait(60)
            archive.write_archive(*given)

        self.patch(backing_up, "write_archive", written)
        till = threading.Thread(target=sell)
        till.start()
        try:
            with take_lock(f"{self.path}.lock", 0):
                manifest = self.backup()
        finally:
            ended.set()
            till.join()
        self.assertGreater(len(sold), 5)
        self.assertEqual(manifest.tables["operation"].rows, manifest.tables["document"].rows)
        self.assertLess(manifest.tables["operation"].rows, 200 + len(sold))
        self.assertEqual(self.marks()["operation"].rows, 200 + len(sold))
        # The moment is one that there was.
        self.assertEqual(manifest.tables["operation"].counter, manifest.tables["operation"].rows)

    def test_one_at_a_time(self) -> None:
        """While one is made no other one is, and what a killed one has left is removed by the next."""
        self.fill()
        folder = self.state / FOLDER
        (folder / ".backup-0123").mkdir(parents=True)
        (folder / ".backup-0123" / "database.sqlite").write_text("receipts", "utf-8")
        with take_lock(str(folder / ".backup.lock"), 0):
            status, _, err = self.command("backup")
            self.assertEqual(status, 1)
            self.assertIn("another backup is being made", err)
        self.backup()
        self.assertEqual([path.name for path in folder.iterdir()], [".backup.lock"])

    def test_never_over_another(self) -> None:
        """A file that is there is not written over."""
        self.fill()
        self.backup()
        before = self.archive.read_bytes()
        status, _, err = self.command("backup", "--to", str(self.archive))
        self.assertEqual(status, 1)
        self.assertIn(f"there is a file {self.archive} already", err)
        self.assertEqual(self.archive.read_bytes(), before)

    def test_damaged(self) -> None:
        """Of a damaged database there is no backup, and nothing is left of the attempt."""
        self.fill(300)
        with closing(sqlite3.connect(self.path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        content = bytearray(self.path.read_bytes())
        middle = len(content) // 2 // 4096 * 4096
        content[middle : middle + 8192] = b"\xaa" * 8192
        self.path.write_bytes(content)
        status, _, err = self.command("backup", "--to", str(self.archive))
        self.assertEqual(status, 1)
        self.assertIn("damaged", err)
        self.assertEqual(err.count("\n"), 1)
        self.assertEqual(list(self.archive.parent.iterdir()), [])
        self.assertEqual([path.name for path in (self.state / FOLDER).iterdir()], [".backup.lock"])

    def test_what_is_no_state(self) -> None:
        """Database, logs and journal are none of the files, whatever link the folder or the database is called by."""
        self.fill()
        for end in ("-wal", "-shm", "-journal"):
            Path(f"{self.path}{end}").touch()
        link, file = self.folder / "link", self.folder / "link.db"
        link.symlink_to(self.state)
        file.symlink_to(self.path)
        for state in (self.state, link):
            for database in (self.path, link / self.path.name, file):
                found = [path.relative_to(state).as_posix() for path in state_files(state, [database])]
                self.assertEqual(found, ["secret.key", "training/x.ledger"])

    def test_nothing_there(self) -> None:
        """Where no database is there is no backup, and none is made."""
        status, _, err = self.command("backup")
        self.assertEqual((status, self.path.exists()), (1, False))
        self.assertIn(f"there is no database {self.path}", err)

    def test_disk_full(self) -> None:
        """On a full disk the backup fails with one line, and nothing is left of it."""
        self.fill()

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device", str(self.archive))

        self.patch(backing_up, "replace", full)
        status, _, err = self.command("backup", "--to", str(self.archive))
        self.assertEqual(status, 1)
        self.assertIn("No space left on device", err)
        self.assertEqual(list(self.archive.parent.iterdir()), [])


class RestoreTests(BackupCase):
    """``dmtwisted restore``"""

    def test_comes_back(self) -> None:
        """Database and files are as they were; what was there is kept beside them."""
        self.fill()
        before = self.marks()
        self.backup()
        with closing(connect(str(self.path))) as db:
            FUNCTIONS["remove_device"](db, 1)
        later = self.marks()
        (self.state / "secret.key").write_text("another key", "utf-8")
        (self.state / "new.txt").write_text("new", "utf-8")
        out = self.restored()
        self.assertEqual(self.marks(), before)
        self.assertEqual((self.state / "secret.key").read_text("utf-8"), KEY)
        self.assertEqual(stat.S_IMODE((self.state / "secret.key").stat().st_mode), OWNER_ONLY)
        self.assertFalse((self.state / "new.txt").exists())
        [old] = self.state.glob("before-restore-*")
        self.assertIn(str(old), out)
        self.assertEqual(self.marks(old / "dmtwisted.db"), later)
        self.assertEqual((old / "state" / "secret.key").read_text("utf-8"), "another key")
        self.assertEqual((old / "state" / "new.txt").read_text("utf-8"), "new")
        self.assertEqual(list(self.state.glob("restoring-*")), [])

    def test_into_nothing(self) -> None:
        """A new machine gets everything from the backup alone."""
        self.fill()
        before = self.marks()
        self.backup()
        self.state = self.folder / "new"
        self.restored()
        self.assertEqual(self.marks(self.state / "dmtwisted.db"), before)
        self.assertEqual((self.state / "training" / "x.ledger").read_text("utf-8"), "a sale\n")

    def test_over_what_is_no_database(self) -> None:
        """A damaged file does not stand in the way, and is kept."""
        self.fill()
        before = self.marks()
        self.backup()
        self.path.write_bytes(b"This is a letter. " * 100)
        self.restored()
        self.assertEqual(self.marks(), before)
        [old] = self.state.glob("before-restore-*")
        self.assertTrue((old / "dmtwisted.db").read_bytes().startswith(b"This is a letter."))

    def test_log_goes_along(self) -> None:
        """What the replaced file has in its log stays with it, and comes never to the restored one."""
        self.fill()
        before = self.marks()
        self.backup()
        keep_log = "import sqlite3, sys, os; d = sqlite3.connect(sys.argv[1]); d.execute('PRAGMA journal_mode=WAL');"
        keep_log += "d.execute(\"INSERT INTO setting VALUES ('late', x'')\"); d.commit(); os._exit(0)"
        subprocess.run([sys.executable, "-c", keep_log, str(self.path)], check=True)
        self.assertTrue(Path(f"{self.path}-wal").stat().st_size)
        self.restored()
        self.assertEqual(self.marks(), before)
        [old] = self.state.glob("before-restore-*")
        with closing(sqlite3.connect(old / "dmtwisted.db")) as db:
            self.assertEqual(db.execute("SELECT name FROM setting WHERE name = 'late'").fetchall(), [("late",)])

    def test_in_use(self) -> None:
        """While the service works nothing is replaced."""
        self.fill()
        self.backup()
        with take_lock(f"{self.path}.lock", 0):
            self.assertIn("works with it", self.refused())

    def test_asks(self) -> None:
        """Without `--yes`, and without a terminal to ask, nothing is done."""
        self.fill()
        self.backup()
        before = contents(self.state)
        self.patch(sys, "stdin", io.StringIO("yes\n"))
        status, out, err = self.command("restore", str(self.archive))
        self.assertEqual(status, 1)
        self.assertIn("nothing was restored", err)
        self.assertIn("the last document is of 2023-11-15", out)
        self.assertEqual(contents(self.state), before)

    def test_damaged(self) -> None:
        """A backup that is cut off or changed anywhere is refused with one line, and nothing is replaced."""
        self.fill()
        self.backup()
        whole = self.archive.read_bytes()
        places = [1, 200, len(whole) // 2, len(whole) - 5]
        for place in places:
            self.archive.write_bytes(whole[:place])
            self.assertIn(str(self.archive), self.refused())
            self.archive.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            self.assertIn(str(self.archive), self.refused())

    def test_something_else(self) -> None:
        """What is no backup of ours is refused."""
        self.fill()
        self.archive.parent.mkdir()
        self.archive.write_bytes(b"letter")
        self.assertIn("not a complete backup", self.refused())
        with tarfile.open(self.archive, "w:gz") as tar:
            tar.add(self.state / "secret.key", "../../outside")
        self.assertIn("not a backup of this service", self.refused())
        self.archive.unlink()
        self.assertIn("No such file", self.refused())

    def test_outside(self) -> None:
        """A member that would lie outside of the folder is refused."""
        self.fill()
        manifest = self.backup()
        with tarfile.open(self.archive) as tar:
            kept = tar.extractfile("state/secret.key")
            assert kept is not None
            key = kept.read()
        about = json.loads(json.dumps({name: [mark.size, mark.sha256] for name, mark in manifest.files.items()}))
        size, digest = about["state/secret.key"]
        text = json.dumps(
            {
                "format": 1,
                "made": 0,
                "version": "",
                "revision": head(),
                "database": "",
                "newest": None,
                "tables": {},
                "files": {"state/../../outside": {"size": size, "sha256": digest}},
            }
        ).encode()
        with tarfile.open(self.archive, "w:gz") as tar:
            for name, body in (("manifest.json", text), ("state/../../outside", key)):
                info = tarfile.TarInfo(name)
                info.size = len(body)
                tar.addfile(info, io.BytesIO(body))
        self.assertIn("does not belong in a backup", self.refused())
        self.assertFalse((self.folder / "outside").exists())

    def pack(self, files: dict[str, bytes], *members: tuple[tarfile.TarInfo, bytes], **said: int) -> None:
        """An archive of ``files``, with other sizes in its manifest, and ``members`` behind them."""
        marks = {
            name: {"size": said.get(Path(name).stem, len(body)), "sha256": hashlib.sha256(body).hexdigest()}
            for name, body in files.items()
        }
        told = {"format": 1, "made": 0, "version": "", "revision": head(), "database": "", "newest": None}
        text = json.dumps({**told, "tables": {}, "files": marks}).encode()
        with tarfile.open(self.archive, "w:gz") as tar:
            for name, body in {"manifest.json": text, **files}.items():
                info = tarfile.TarInfo(name)
                info.size = len(body)
                tar.addfile(info, io.BytesIO(body))
            for info, body in members:
                tar.addfile(info, io.BytesIO(body))

    def refused_at_once(self) -> str:
        """Why it is not restored; no member was written, and the folder for them is gone."""
        written: list[Path] = []
        copied = archive._copied

        def watched(source: Any, path: Path | None, *others: Any) -> Any:
            written.extend(() if path is None else (path,))
            return copied(source, path, *others)

        with mock.patch.object(archive, "_copied", watched):
            why = self.refused()
        self.assertEqual((written, list(self.state.glob("restoring-*"))), ([], []), why)
        return why

    def test_hostile(self) -> None:
        """An archive made to fill the disk or the memory is refused before anything of it is written."""
        self.fill()
        self.archive.parent.mkdir()
        zeros, database = bytes(30 << 20), b"SQLite format 3\0" + os.urandom(100_000)
        links = []
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            links.append(tarfile.TarInfo("state/x"))
            links[-1].type, links[-1].linkname = kind, "/etc/passwd"
        sparse = tarfile.TarInfo("state/x")
        sparse.pax_headers = {"GNU.sparse.size": "1000000000", "GNU.sparse.map": "0,0", "GNU.sparse.name": "state/x"}
        wide = tarfile.TarInfo("state/x")
        wide.pax_headers = {"comment": "x" * (30 << 20)}
        large = tarfile.TarInfo("state/x")
        large.size = len(zeros)
        hostile: list[tuple[dict[str, bytes], list[tuple[tarfile.TarInfo, bytes]], dict[str, int]]] = [
            ({"database.sqlite": b"SQLite format 3\0" + zeros}, [], {}),
            ({"database.sqlite": database, "state/x": zeros}, [], {"x": 10}),
            ({"database.sqlite": database, "state/x": b"y"}, [], {"x": 10**15}),
            ({"database.sqlite": database, "state/x": b"y"}, [], {"x": -5}),
            ({"database.sqlite": database, "/etc/x": b"y"}, [], {}),
            ({"database.sqlite": os.urandom(100_000)}, [], {}),
            ({"database.sqlite": database}, [(large, zeros)], {}),
            ({"database.sqlite": database, "state/x": b""}, [(wide, b"")], {}),
            ({"database.sqlite": database, "state/x": b""}, [(sparse, b"")], {}),
            *(({"database.sqlite": database}, [(link, b"")], {}) for link in links),
        ]
        for content, members, said in hostile:
            self.pack(content, *members, **said)
            self.refused_at_once()

    def test_damaged_writes_nothing(self) -> None:
        """The hashes of all members are compared before the first is written."""
        self.fill()
        self.backup()
        whole = bytearray(self.archive.read_bytes())
        whole[-6] ^= 1
        self.archive.write_bytes(whole)
        self.assertIn("not a complete backup", self.refused_at_once())

    def test_no_room(self) -> None:
        """A backup for which the disk has no room is refused before anything is written."""
        self.fill()
        self.backup()
        usage = mock.Mock(free=1 << 20)
        with mock.patch.object(archive, "disk_usage", lambda folder: usage):
            self.assertIn("MB are free", self.refused_at_once())

    def test_newer(self) -> None:
        """A backup of a newer version is refused."""
        self.fill()
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute("UPDATE alembic_version SET version_num = '9999'")
        status, _, err = self.command("backup", "--to", str(self.archive))
        self.assertEqual(status, 1)
        self.assertIn("9999", err)

    def test_marks_registers(self) -> None:
        """A restored database says of which moment it is, and which registers were not compared since."""
        self.fill()
        manifest = self.backup()
        self.restored()
        with closing(sqlite3.connect(self.path)) as db:
            [(value,)] = db.execute("SELECT value FROM setting WHERE name = ?", (RESTORED,))
        found = json.loads(value)
        self.assertEqual((found["backup"], found["registers"]), (manifest.made, [1, 2, 3, 4]))

    def test_file_of_old_days(self) -> None:
        """A file of the backup with the database's name does not overwrite the restored database."""
        self.fill()
        now, then = self.folder / "now.db", self.state / "shop.db"
        self.path.rename(now)
        before = self.marks(now)
        fill(then, 2)
        status, _, err = self.command(
            "backup", "--config", self.configured(f"sqlite:///{now}"), "--to", str(self.archive)
        )
        self.assertEqual(status, 0, err)
        self.assertIn("state/shop.db", read_manifest(self.archive).files)
        there = self.configured(f"sqlite:///{then}")
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", there)
        self.assertEqual(status, 0, err)
        self.assertEqual(self.marks(then), before)

    def test_plan_ends_on_the_disk(self) -> None:
        """The end of the plan is on the disk: carried out again it would take the log of who works there by then."""
        self.fill()
        self.backup()
        through, seen = swapping.to_disk, []

        def seen_through(folder: Path) -> None:
            seen.append((folder, planned(self.state)))
            through(folder)

        self.patch(swapping, "to_disk", seen_through)
        self.restored()
        self.assertEqual(seen[-1], (self.state, False))

    def test_pending(self) -> None:
        """While a restore is not finished nothing is backed up, moved or upgraded: half of it is of before."""
        self.fill()
        before = self.marks()
        self.backup()
        self.broken_off(str(self.archive))
        second, target = self.folder / "second.tar.gz", self.folder / "target.db"
        for command in (
            ("backup", "--to", str(second)),
            ("db", "move", "--to", f"sqlite:///{target}"),
            ("db", "upgrade"),
        ):
            status, _, err = self.command(*command)
            self.assertEqual((status, err.count("\n")), (1, 1), err)
            self.assertIn("start the service, or restore once more", err)
        self.assertEqual((second.exists(), target.exists()), (False, False))
        finish_restore(Config(service=ServiceConfig(state=str(self.state))))
        self.assertEqual(self.command("backup", "--to", str(second))[0], 0)
        self.assertEqual(self.marks(), before)

    def test_files_in_one_folder(self) -> None:
        """Of two services with their databases in one folder one is restored while a plan of the other waits."""
        self.fill()
        disk = self.folder / "disk"
        disk.mkdir()
        one, other = disk / "one.db", disk / "other.db"
        self.path.rename(one)
        fill(other, 2)
        before = self.marks(one)
        config = self.configured(f"sqlite:///{one}")
        self.assertEqual(self.command("backup", "--config", config, "--to", str(self.archive))[0], 0)
        self.broken_off(str(self.archive), "--config", config)
        waiting, self.state = self.state, self.folder / "state of the other"
        status, _, err = self.command(
            "restore", str(self.archive), "--yes", "--config", self.configured(f"sqlite:///{other}")
        )
        self.assertEqual(status, 0, err)
        one.unlink()
        finish_restore(
            Config(database=DatabaseConfig(url=f"sqlite:///{one}"), service=ServiceConfig(state=str(waiting)))
        )
        self.assertEqual(self.marks(one), before)
        self.assertEqual(list(disk.glob("restoring-*")), [])

    def test_another_disk(self) -> None:
        """A folder of the state folder that is another disk is reported before anything is replaced."""
        self.fill()
        self.backup()
        mounted = self.state / "training"
        self.patch(restoring, "_disk", lambda folder: folder == mounted)
        self.assertIn(f"{mounted} is on another disk", self.refused())
        self.assertFalse(planned(self.state))

    @skipUnless(hasattr(os, "fork"), "needs fork and kill -9")
    def test_killed_at_every_step(self) -> None:
        """Killed at any step, everything is as before or, after the next start of the service, as in the backup."""
        fill(self.path, 2, registers=1, answer=20, document=20)
        (self.state / "secret.key").write_text(KEY, "utf-8")
        self.backup()
        with closing(connect(str(self.path))) as db:
            FUNCTIONS["change_settings"](db, {"later": b""})
        (self.state / "secret.key").write_text("later", "utf-8")
        copies = self.folder / "copies"
        copies.mkdir()
        done = subprocess.run(
            [
                sys.executable,
                "-W",
                "ignore",
                "-c",
                KILLED_AT_EVERY_STEP,
                *map(str, (self.state, copies, self.archive)),
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            timeout=400,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        later, kept, decided = self.marks(), read_manifest(self.archive).tables, set()
        for step in range(1, int(done.stdout) + 1):
            state = copies / str(step)
            decided.add(planned(state))
            finish_restore(Config(service=ServiceConfig(state=str(state))))
            key, found = (state / "secret.key").read_text("utf-8"), self.marks(state / "dmtwisted.db")
            if key == "later":
                self.assertEqual(found, later, f"step {step}")
            else:
                self.assertEqual((key, found), (KEY, kept), f"step {step}")
            self.assertFalse((state / PLAN).exists())
        self.assertEqual(decided, {True, False})
        self.assertEqual(key, KEY)

    def test_recorded(self) -> None:
        """The restored database says who restored it, from what, and is sealed; the backup before it does not."""
        self.fill()
        self.backup()
        self.restored()
        with SqliteRows(self.path, reading=True) as rows:
            [(key, request)] = rows.ask("SELECT \"key\", request FROM operation WHERE kind = 'change'")
        told = json.loads(request)
        self.assertEqual((key, told["by"], told["action"]), ("database", "command", "restored"))
        self.assertEqual((told["subject"], bool(told["name"])), (self.archive.name, True))
        self.assertEqual(set(told["after"]), {"made", "version", "database"})
        status, out, err = self.command("db", "check", "--state", str(self.state))
        self.assertEqual((status, "no faults" in out), (0, True), out + err)

    def test_restore_under_way(self) -> None:
        """A service does not start while another process completes a restore."""
        (self.state / PLAN).write_text('{"steps": [], "folders": []}', "utf-8")
        config = Config(service=ServiceConfig(state=str(self.state)))
        with take_lock(f"{self.path}.lock", 0):
            self.assertRaises(ConfigError, finish_restore, config)
        finish_restore(config)
        self.assertFalse((self.state / PLAN).exists())


@skipIf(MISSING, MISSING)
class ServerTests(BackupCase):
    """A database on a server."""

    def database(self, tables: bool = False) -> str:
        """The options of an empty database."""
        name = f"kept{next(_names)}"
        server().run(f"CREATE DATABASE {name}")
        self.addCleanup(server().run, f"DROP DATABASE {name} WITH (FORCE)")
        return self.configured(server().url(name))

    def test_without_tools(self) -> None:
        """A backup of PostgreSQL needs no program of the server's, and comes back into an empty database."""
        self.fill()
        before = self.marks()
        one, other = self.database(), self.database()
        status, _, err = self.command("db", "move", "--to", _url(one))
        self.assertEqual(status, 0, err)
        with open_rows(_url(one)) as rows:
            self.assertEqual(marks_without_notes(rows), before)
            before = marks(rows, nobody)
        self.path.unlink()
        status, _, err = self.command("backup", "--config", one, "--to", str(self.archive))
        self.assertEqual(status, 0, err)
        manifest = read_manifest(self.archive)
        self.assertEqual(manifest.tables, before)
        self.assertNotIn(PASSWORD, str(manifest))
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", other)
        self.assertEqual(status, 0, err)
        with open_rows(_url(other)) as rows:
            self.assertEqual(marks_without_notes(rows), before)
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", other)
        self.assertEqual(status, 1)
        self.assertIn("holds data already", err)

    def test_after_a_killed_one(self) -> None:
        """A restore waits until the server has noticed the end of a command that was killed."""
        self.fill()
        self.backup()
        config = self.database()
        killed = open_rows(_url(config))
        self.addCleanup(killed.close)
        killed.keep_others_out(0)
        self.patch(time, "sleep", lambda _: killed.close())
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", config)
        self.assertEqual(status, 0, err)

    def test_into_the_other_kind(self) -> None:
        """A backup of SQLite comes back into PostgreSQL, and one of PostgreSQL into SQLite."""
        self.fill()
        before = self.marks()
        self.backup()
        config = self.database()
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", config)
        self.assertEqual(status, 0, err)
        self.archive = self.folder / "second.tar.gz"
        status, _, err = self.command("backup", "--config", config, "--to", str(self.archive))
        self.assertEqual(status, 0, err)
        self.path.unlink()
        self.restored()
        self.assertEqual(self.marks(), before)

    def test_disk_full(self) -> None:
        """No service works with restored rows beside files of before: without a plan for them it is not let in."""
        self.fill()
        self.backup()
        config = self.database()
        self.path.unlink()
        (self.state / "secret.key").write_text("of the new machine", "utf-8")

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device", str(self.state / PLAN))

        command = ("restore", str(self.archive), "--yes", "--config", config)
        with mock.patch.object(restoring, "write_plan", full):
            status, _, err = self.command(*command)
        self.assertEqual((status, "No space left on device" in err), (1, True), err)
        with open_rows(_url(config)) as rows:
            self.assertEqual(rows.revision(), MOVING)
        self.assertEqual((self.state / "secret.key").read_text("utf-8"), "of the new machine")
        status, _, err = self.command(*command)
        self.assertEqual(status, 0, err)
        self.assertEqual((self.state / "secret.key").read_text("utf-8"), KEY)

    def test_rows_in_place(self) -> None:
        """The same of rows that were backed up as rows."""
        self.fill()
        one, other = self.database(), self.database()
        self.assertEqual(self.command("db", "move", "--to", _url(one))[0], 0)
        self.assertEqual(self.command("backup", "--config", one, "--to", str(self.archive))[0], 0)
        let_in = []

        def written(*given: Any) -> None:
            with open_rows(_url(other)) as rows:
                let_in.append(rows.revision())
            swapping.write_plan(*given)

        self.patch(restoring, "write_plan", written)
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", other)
        self.assertEqual((status, let_in), (0, [MOVING]), err)

    def test_service_meanwhile(self) -> None:
        """A service that starts while files come into their places does not carry out the same plan."""
        self.fill()
        self.backup()
        config = self.database()
        self.path.unlink()
        (self.state / "secret.key").write_text("of before", "utf-8")
        service = Config(database=DatabaseConfig(url=_url(config)), service=ServiceConfig(state=str(self.state)))
        refused: list[Exception] = []

        def starting(new: Path, place: Path) -> None:
            if not refused:
                refused.append(self.assertRaises(ConfigError, finish_restore, service))
            files.replace(new, place)

        self.patch(swapping, "replace", starting)
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", config)
        self.assertEqual(status, 0, err)
        self.assertEqual((self.state / "secret.key").read_text("utf-8"), KEY)
        [kept] = self.state.glob("before-restore-*/state/secret.key")
        self.assertEqual(kept.read_text("utf-8"), "of before")
        # The lock is free again.
        finish_restore(service)

    def test_another_disk(self) -> None:
        """A folder that is another disk is reported before the database is touched."""
        self.fill()
        self.backup()
        config, mounted = self.database(), self.state / "training"
        self.patch(restoring, "_disk", lambda folder: folder == mounted)
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", config)
        self.assertEqual((status, f"{mounted} is on another disk" in err), (1, True), err)
        with open_rows(_url(config)) as rows:
            self.assertEqual(rows.tables(), set())

    def test_begun_by_another_version(self) -> None:
        """A database into which another version began to restore is not gone on with."""
        self.fill()
        one, other = self.database(), self.database()
        self.assertEqual(self.command("db", "move", "--to", _url(one))[0], 0)
        self.assertEqual(self.command("backup", "--config", one, "--to", str(self.archive))[0], 0)
        upgrade(_url(other), "0002")
        with open_rows(_url(other)) as rows:
            rows.begin_notes()
            self.assertEqual(rows.notes()[SCHEMA], "0002")
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", other)
        self.assertEqual((status, "another version" in err), (1, True), err)

    def test_broken_off(self) -> None:
        """No service works with a database whose restore was interrupted; the next restore starts again."""
        self.fill()
        before = self.marks()
        one, other = self.database(), self.database()
        self.assertEqual(self.command("db", "move", "--to", _url(one))[0], 0)
        self.assertEqual(self.command("backup", "--config", one, "--to", str(self.archive))[0], 0)
        self.patch(restoring, "set_mark", lambda *_: (_ for _ in ()).throw(CarryError("the power went")))
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", other)
        self.assertEqual((status, "the power went" in err), (1, True))
        with open_rows(_url(other)) as rows:
            self.assertEqual(rows.revision(), "moving")
        self.patch(restoring, "set_mark", lambda *_: None)
        status, _, err = self.command("restore", str(self.archive), "--yes", "--config", other)
        self.assertEqual(status, 0, err)
        with open_rows(_url(other)) as rows:
            self.assertEqual(marks_without_notes(rows), before)


def _url(config: str) -> str:
    url: str = tomllib.loads(Path(config).read_text("utf-8"))["database"]["url"]
    return url
