"""Files on every system: the byte that Windows locks, and names that are replaced while a program reads."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.system.files import LOCKED_BYTE, MOST_NAMED, REPLACE_PAUSES, lock_byte, read_named, replace


class LockTests(SynchronousTestCase):
    """Windows' lock."""

    def test_same_byte(self) -> None:
        """Two processes lock the same byte, also when the file has grown in between and both opened it for appending.

        Windows locks from where the descriptor stands: at the end, the second one would lock another byte than the
        first, and two writers would own one database.
        """
        path = Path(self.mktemp())
        locked: list[int] = []

        def locking(descriptor: int) -> None:
            locked.append(os.lseek(descriptor, 0, os.SEEK_CUR))

        with path.open("a+", encoding="ascii") as first:
            lock_byte(first.fileno(), locking)
            first.write("in use since its first start\n")
            first.flush()
            with path.open("a+", encoding="ascii") as second:
                lock_byte(second.fileno(), locking)
        self.assertEqual(locked, [LOCKED_BYTE, LOCKED_BYTE])
        self.assertEqual(path.read_text("ascii"), "in use since its first start\n")


class ReplaceTests(SynchronousTestCase):
    """A name that changes hands."""

    def setUp(self) -> None:
        """A file and its successor."""
        self.slept: list[float] = []
        self.refusals = 0
        self.name, self.fresh = Path(self.mktemp()), Path(self.mktemp())
        self.name.write_text("old", "utf-8")
        self.fresh.write_text("new", "utf-8")

    def rename(self, fresh: Path, name: Path) -> None:
        """As Windows while a scanner looks at the file."""
        if self.refusals:
            self.refusals -= 1
            raise PermissionError(13, "Access is denied")
        os.replace(fresh, name)

    def test_looked_at(self) -> None:
        """On Windows a file that a program has open for a moment is replaced a moment later."""
        self.refusals = 2
        replace(self.fresh, self.name, "win32", self.rename, self.slept.append)
        self.assertEqual(self.name.read_text("utf-8"), "new")
        self.assertEqual(self.slept, list(REPLACE_PAUSES[:2]))

    def test_held(self) -> None:
        """One that stays held fails in less than a second, and the old one stays."""
        self.refusals = 99
        self.assertRaises(PermissionError, replace, self.fresh, self.name, "win32", self.rename, self.slept.append)
        self.assertEqual(self.name.read_text("utf-8"), "old")
        self.assertLess(sum(self.slept), 1)

    def test_elsewhere(self) -> None:
        """Elsewhere a refusal is one at once."""
        self.refusals = 1
        self.assertRaises(PermissionError, replace, self.fresh, self.name, "linux", self.rename, self.slept.append)
        self.assertEqual(self.slept, [])


class NamedTests(SynchronousTestCase):
    """Files that a setting names."""

    def setUp(self) -> None:
        """A folder for such files, and another one."""
        top = Path(self.mktemp()).absolute()
        self.home, self.elsewhere = top / "home", top / "elsewhere"
        for folder in (self.home, self.elsewhere):
            folder.mkdir(parents=True)
            (folder / "ca.pem").write_bytes(b"content")

    def refused(self, name: object) -> str:
        """Why a file is not read."""
        return str(self.assertRaises(ValueError, read_named, str(name), [self.home]))

    def test_read(self) -> None:
        """A file in the folder is read, by a path with a way round, and by a link from anywhere."""
        link = self.elsewhere / "link.pem"
        link.symlink_to(self.home / "ca.pem")
        for name in (self.home / "ca.pem", self.elsewhere / ".." / "home" / "ca.pem", link):
            self.assertEqual(read_named(str(name), [self.home]), b"content")

    def test_refused(self) -> None:
        """What is outside, absent, no file or too large is refused at once, and nobody can tell which it was."""
        outside = self.home / "outside.pem"
        outside.symlink_to(self.elsewhere / "ca.pem")
        os.mkfifo(self.home / "pipe")
        (self.home / "zero").symlink_to("/dev/zero")
        (self.home / "large").write_bytes(b" " * (MOST_NAMED + 1))
        names = [
            self.home / name for name in ("none", "outside.pem", "pipe", "zero", "large", ".", "ca.pem/x", "../x")
        ]
        others = [
            "/dev/zero",
            "/etc/passwd",
            "/proc/self/environ",
            "/nowhere",
            "",
            "\0",
            "//host/share/x",
            "x" * 5000,
        ]
        self.assertEqual(
            {self.refused(name) for name in (*names, self.elsewhere / "ca.pem", *others)},
            {f"there is no file of at most 1 MB with this name in {self.home}"},
        )

    def test_anywhere(self) -> None:
        """Without folders any small regular file is read, and still nothing else."""
        self.assertEqual(read_named(str(self.elsewhere / "ca.pem"), None), b"content")
        for name in ("/dev/zero", "/nowhere"):
            self.assertRaises(ValueError, read_named, name, None)

    if sys.platform == "win32":
        test_refused.skip = "Windows has no such files."  # type: ignore[attr-defined]
