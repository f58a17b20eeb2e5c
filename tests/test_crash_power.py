"""What a disk may have after a power cut, by the recorded calls of the processes that wrote."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.children import BenchFailed
from dmtwisted.lab.crash.power import SECTOR, Content, Disk, ended, read_calls, touched, tracer


def hexed(text: str | bytes) -> str:
    """As strace writes strings and paths."""
    raw = text.encode() if isinstance(text, str) else text
    return "".join(f"\\x{byte:02x}" for byte in raw)


class RecordTests(SynchronousTestCase):
    """The lines of strace."""

    def test_calls(self) -> None:
        """Calls come in the order of their returns; failed ones are left out, unfinished ones may have happened."""
        name = hexed("/s/a")
        lines = [
            f'7 openat(AT_FDCWD<{hexed("/")}>, "{name}", O_WRONLY|O_CREAT, 0600) = 3<{name}>',
            f'7 openat(AT_FDCWD<{hexed("/")}>, "{name}", O_WRONLY) = -1 ENOENT (No such file)',
            f'7 pwrite64(3<{name}>, "{hexed("ab")}", 2, 512 <unfinished ...>',
            f"8 fsync(4<{name}>) = 0",
            "7 <... pwrite64 resumed>) = 2",
            f"8 fdatasync(4<{name}> <unfinished ...>",
            "8 +++ killed by SIGKILL +++",
        ]
        calls = list(read_calls(lines))
        told = [(call.process, call.name, call.done) for call in calls]
        expected = [(7, "openat"), (8, "fsync"), (7, "pwrite64")]
        self.assertEqual(told, [*((*call, True) for call in expected), (8, "fdatasync", False), (8, "", True)])
        written = calls[2]
        self.assertEqual((written.paths, written.strings, written.numbers[-1]), (["/s/a"], [b"ab"], 512))

    def test_died_on_return(self) -> None:
        """A call on whose return the process died may have happened: strace then names no error."""
        name = hexed("/s/a")
        lines = [
            f'7 pwrite64(3<{name}>, "{hexed("ab")}", 2, 0 <unfinished ...>',
            "8 <... write resumed>) = 1",
            "7 <... pwrite64 resumed>) = -1 (errno 18446744073709551615)",
            "7 +++ killed by SIGKILL +++",
        ]
        calls = [call for call in read_calls(lines) if call.process == 7]
        self.assertEqual([(call.name, call.done) for call in calls], [("pwrite64", False), ("", True)])

    def test_touched(self) -> None:
        """What a call names is known as well as what its descriptors are: a removal may be half done too."""
        name = hexed("/s/a")
        lines = [
            f'7 unlink("{name}") = ?',
            f'7 unlinkat(3<{hexed("/s")}>, "{hexed("b")}", 0) = ?',
            f'7 pwrite64(3<{name}>, "{hexed("c")}", 1, 0) = ?',
        ]
        told = [touched(call) for call in read_calls(lines)]
        self.assertEqual(told, [["/s/a"], ["/s", "/s/b"], ["/s/a"]])

    def test_ended(self) -> None:
        """The record is read when it has the end of every process, for the last call may come with it."""
        ends = ["8 +++ killed by SIGKILL +++", "7 +++ killed by SIGKILL +++"]
        lines = ["7 fsync(4</s/a>) = 0", "8 fsync(4</s/a>) = 0", "5 write(1</o>) = 1", *ends]
        told = [ended(list(read_calls(lines[:count])), 8, 5) for count in range(3, 6)]
        self.assertEqual(told, [False, False, True])


class ContentTests(SynchronousTestCase):
    """One file."""

    def test_synced(self) -> None:
        """What was synced is there after every cut."""
        content = Content(bytearray(b"old"), [(0, b"new"), (3, b"er")])
        content.sync()
        content.since.append((0, b"x" * 2000))
        for seed in range(20):
            cut = Content(bytearray(content.kept), list(content.since))
            cut.cut(random.Random(seed), 0.0)
            self.assertEqual(bytes(cut.kept), b"newer")

    def test_sectors(self) -> None:
        """What was not synced is there by whole sectors, in any order; a gap has zeros."""
        seen = set()
        for seed in range(40):
            content = Content(bytearray(), [(0, b"a" * 3 * SECTOR)])
            content.cut(random.Random(seed), 0.5)
            there = bytes(content.kept)
            sectors = [there[at : at + SECTOR] for at in range(0, len(there), SECTOR)]
            self.assertLessEqual({*sectors}, {b"a" * SECTOR, bytes(SECTOR)})
            seen.add(tuple(sector[0] for sector in sectors))
        self.assertEqual(len(seen), 8)

    def test_size(self) -> None:
        """A size that was not synced may be lost as well."""
        seen = set()
        for seed in range(20):
            content = Content(bytearray(b"abc"), [0])
            content.cut(random.Random(seed), 0.5)
            seen.add(bytes(content.kept))
        self.assertEqual(seen, {b"", b"abc"})


WRITER = """
import os, sqlite3, sys
os.chdir(sys.argv[1])
with open("a.new", "w") as file:
    file.write("hello" * 500)
    file.flush()
    os.fsync(file.fileno())
db = sqlite3.connect("x.db")
db.execute("PRAGMA journal_mode=WAL")
db.execute(f"PRAGMA synchronous={'FULL' if sys.argv[2] == 'keeps' else 'OFF'}")
db.execute("CREATE TABLE t (a)")
for n in range(20):
    db.execute("INSERT INTO t VALUES (?)", (str(n) * 300,))
    db.commit()
os.replace(sys.argv[1] + "/a.new", sys.argv[1] + "/a")
if sys.argv[2] == "keeps":
    folder = os.open(".", os.O_RDONLY)
    os.fsync(folder)
with open("log", "a") as log:
    log.write("one")
    log.flush()
    log.write("two")
os.kill(os.getpid(), 9)
"""


class DiskTests(SynchronousTestCase):
    """A folder, by a real record."""

    def setUp(self) -> None:
        if sys.platform == "win32" or shutil.which("strace") is None:
            self.skipTest("strace is not here (Debian: apt-get install strace)")
        self.top = Path(self.mktemp()).resolve()
        self.top.mkdir()

    def folder(self, way: str) -> tuple[Path, Disk]:
        """A folder that a process wrote in until it was killed, and its disk by the calls."""
        state, record = self.top / "state", self.top / "calls"
        shutil.rmtree(state, ignore_errors=True)
        record.unlink(missing_ok=True)
        state.mkdir()
        (state / "gone").write_text("before", "utf-8")
        disk = Disk(state)
        subprocess.run(
            [*tracer(record), sys.executable, "-c", WRITER, str(state), way], check=False, capture_output=True
        )
        if not record.exists() or "killed by SIGKILL" not in record.read_text("ascii"):
            self.skipTest("strace may not trace here")
        with record.open(encoding="ascii") as lines:
            for call in read_calls(lines):
                disk.do(call)
        return state, disk

    def after_cut(self, way: str, seed: int) -> tuple[bool, int]:
        """Whether the replaced file is whole, and how many rows a database has after a cut."""
        state, disk = self.folder(way)
        disk.cut(random.Random(seed))
        disk.write(state)
        self.assertEqual(disk.differs(state), [])
        count = (
            "import sqlite3, sys\n"
            "db = sqlite3.connect(sys.argv[1])\n"
            "there = db.execute(\"SELECT 1 FROM sqlite_master WHERE name = 't'\").fetchone()\n"
            "print(db.execute('SELECT count(*) FROM t').fetchone()[0] if there else 0)\n"
        )
        done = subprocess.run([sys.executable, "-c", count, str(state / "x.db")], capture_output=True, check=False)
        file = state / "a"
        return file.exists() and file.read_text() == "hello" * 500, int(done.stdout or -1)

    def test_record_is_whole(self) -> None:
        """Played whole the calls give the real files, and a change that they do not have is noticed."""
        state, disk = self.folder("keeps")
        self.assertEqual(disk.differs(state), [])
        (state / "log").write_text("other", "utf-8")
        self.assertEqual(disk.differs(state), [str(state / "log")])

    def test_keeps(self) -> None:
        """A writer that syncs before it tells keeps all: file, name and every row."""
        for seed in range(6):
            self.assertEqual(self.after_cut("keeps", seed), (True, 20))

    def test_does_not_keep(self) -> None:
        """A writer that does not sync loses names and rows, which shows that the cut takes them."""
        found = [self.after_cut("careless", seed) for seed in range(6)]
        self.assertTrue(any(not named for named, _ in found), found)
        self.assertTrue(any(rows < 20 for _, rows in found), found)

    def played(self, state: Path, *lines: str) -> Disk:
        """A folder with these calls; ``{a}`` is the path of a file in it, ``{b}`` of another one."""
        disk = Disk(state, state / "training")
        names = {name: hexed(str(state / name)) for name in "ab"}
        for call in read_calls(line.format(**names) for line in lines):
            disk.do(call)
        return disk

    def test_copied(self) -> None:
        """What the system copied from one file of the folder to another is known; from elsewhere it is refused."""
        state = self.top / "state"
        state.mkdir()
        (state / "a").write_text("hello", "utf-8")
        opened = f'7 openat(AT_FDCWD<{hexed("/")}>, "{{b}}", O_WRONLY|O_CREAT, 0600) = 3<{{b}}>'
        disk = self.played(state, opened, "7 sendfile(3<{b}>, 4<{a}>, [1] => [5], 99) = 4", "7 fsync(3<{b}>) = 0")
        (state / "b").write_text("ello", "utf-8")
        self.assertEqual(disk.differs(state), [])
        other = hexed("/other")
        with self.assertRaises(BenchFailed):
            self.played(state, opened, f"7 sendfile(3<{{b}}>, 4<{other}>, [0] => [5], 99) = 4")

    def test_other_machine(self) -> None:
        """The books of the simulated tax service lose nothing: they are on another machine."""
        state = self.top / "state"
        (state / "training").mkdir(parents=True)
        name = hexed(str(state / "training" / "till.ledger"))
        made = f'7 openat(AT_FDCWD<{hexed("/")}>, "{name}", O_WRONLY|O_CREAT, 0600) = 3<{name}>'
        disk = self.played(state, made, f'7 write(3<{name}>, "{hexed("x")}", 1) = 1')
        disk.cut(random.Random(1))
        disk.write(state)
        self.assertEqual((state / "training" / "till.ledger").read_text("utf-8"), "x")

    def test_folders(self) -> None:
        """A folder whose name was not synced is gone with all that is in it; so is a file of a folder that stays."""
        state = self.top / "state"
        state.mkdir()
        disk = Disk(state)
        (state / "new" / "inner").mkdir(parents=True)
        (state / "new" / "inner" / "file").write_text("x", "utf-8")
        disk.write(state)
        self.assertEqual([*state.iterdir()], [])

    def test_empty_log(self) -> None:
        """The empty log of who read the database meanwhile is nobody's call; one with content is."""
        state = self.top / "state"
        state.mkdir()
        disk = Disk(state)
        log = state / "dmtwisted.db-wal"
        log.touch()
        self.assertEqual(disk.differs(state), [])
        log.write_bytes(b"x")
        self.assertEqual(disk.differs(state), [str(log)])

    def test_died_before(self) -> None:
        """A process that died before its call did nothing: what it wanted has only a place in its memory."""
        state = self.top / "state"
        state.mkdir()
        name = hexed(str(state / "a"))
        lines = [f"7 openat(AT_FDCWD<{name}>, 0x7fa5, O_RDWR|O_CREAT) = ?", f"7 write(3<{name}>, 0x7fa6, 9) = ?"]
        self.assertEqual(self.played(state, *lines).differs(state), [])

    def test_moved_on_return(self) -> None:
        """A process may die while it asks for its place in a file."""
        state = self.top / "state"
        state.mkdir()
        (state / "a").touch()
        made = f'7 openat(AT_FDCWD<{hexed("/")}>, "{{a}}", O_WRONLY|O_CREAT, 0600) = 3<{{a}}>'
        disk = self.played(state, made, "7 lseek(3<{a}>, 0, SEEK_CUR) = -1 (errno 18446744073709551615)")
        self.assertEqual(disk.differs(state), [])

    def test_unknown_call(self) -> None:
        """A call that changes a file in a way that is not played is refused, not left out."""
        state = self.top / "state"
        state.mkdir()
        with self.assertRaises(BenchFailed):
            self.played(
                state,
                f'7 openat(AT_FDCWD<{hexed("/")}>, "{{a}}", O_WRONLY|O_CREAT, 0600) = 3<{{a}}>',
                "7 writev(3<{a}>, [{{iov_base=..., iov_len=2}}], 1) = 2",
            )
