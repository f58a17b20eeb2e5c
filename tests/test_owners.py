"""Whose port and whose lock it is, for the person who reads that it is taken."""

from __future__ import annotations

import errno
import os
import socket
import sys
from pathlib import Path
from unittest import skipUnless

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.store.rows import STOP_FIRST, CarryError
from dmtwisted.store.sqlite.file import Locked, take_lock
from dmtwisted.store.sqlite.rows import SqliteRows
from dmtwisted.system import owners
from dmtwisted.system.owners import how_to_ask, in_short, lock_owner, port_owner, taken

TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0F63 0100007F:8F63 01 00000000:00000000 00:00000000 00000000  1000        0 11 1
   1: 00000000:0F63 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 22 1
   2: 00000000:1538 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 33 1
"""


class WordsTests(SynchronousTestCase):
    """What a person reads."""

    def test_in_short(self) -> None:
        """A process is named by its program and its command; options, which may hold secrets, are left out."""
        for words, short in (
            ("/usr/bin/python3 /usr/bin/dmtwisted run --state /x", "dmtwisted run"),
            ("python -X utf8 -u -m dmtwisted.commands.main run --config x", "dmtwisted run"),
            ("python -m dmtwisted.store.sqlite.writer /x/dmtwisted.db", "dmtwisted.store.sqlite.writer"),
            ("python -m", "python"),
            ("python", "python"),
            (r"C:\Python\python.exe C:\x\dmtwisted.exe simulate printer", "dmtwisted simulate"),
            ("/usr/sbin/nginx --password secret", "nginx"),
            ("/usr/bin/mysql -psecret", "mysql"),
        ):
            self.assertEqual(in_short(words.split()), short)
        self.assertEqual(in_short([]), "")

    def test_advice(self) -> None:
        """Where the system does not tell whose port it is, the command that does is named."""
        self.patch(owners, "port_owner", lambda port: "")
        busy = OSError(errno.EADDRINUSE, "in use")
        why, advice = taken(3939, busy)
        self.assertEqual((why, how_to_ask(3939) in advice), ("in use", True))
        self.assertIn("above 1023", taken(80, OSError(errno.EACCES, "denied"))[1])
        self.assertIn("an address of this machine", taken(80, OSError(errno.EADDRNOTAVAIL, "not ours"))[1])
        self.patch(owners, "port_owner", lambda port: "dmtwisted run, process 12")
        why, advice = taken(3939, busy)
        self.assertEqual(
            (why, advice), ("in use (dmtwisted run, process 12)", "Stop that process, or choose another port.")
        )
        self.assertEqual(how_to_ask(80, "win32"), "netstat -ano | findstr :80")
        self.assertEqual(how_to_ask(80, "darwin"), "sudo lsof -nP -iTCP:80 -sTCP:LISTEN")


@skipUnless(sys.platform == "linux", "reads /proc of Linux")
class LinuxTests(SynchronousTestCase):
    """What ``/proc`` tells."""

    def setUp(self) -> None:
        """A machine with a service, its writer, and another user's program."""
        self.proc = Path(self.mktemp()).resolve()
        (self.proc / "net").mkdir(parents=True)
        (self.proc / "net" / "tcp").write_text(TCP, "ascii")
        self.process(700, 1, "/usr/bin/python3", "/usr/bin/dmtwisted", "run", "--state", "/x")
        os.symlink("socket:[22]", self.proc / "700" / "fd" / "5")
        self.process(701, 700, "/usr/bin/python3", "-m", "dmtwisted.store.sqlite.writer", "/x/dmtwisted.db")
        self.process(800, 1, "/usr/bin/python3", "-m", "dmtwisted.store.sqlite.writer", "/y/dmtwisted.db")

    def process(self, number: int, parent: int, *words: str) -> None:
        """A process of the machine."""
        (self.proc / str(number) / "fd").mkdir(parents=True)
        (self.proc / str(number) / "cmdline").write_text("\0".join(words) + "\0", "utf-8")
        (self.proc / str(number) / "stat").write_text(f"{number} (a ) b) S {parent} 1", "ascii")

    def on_it(self) -> None:
        """Look at that machine instead of ours."""
        self.patch(owners, "PROC", self.proc)

    def test_port(self) -> None:
        """A port has the process that listens; of another user's one only the user is known."""
        self.on_it()
        self.assertEqual(port_owner(0x0F63), "dmtwisted run, process 700")
        self.assertEqual(port_owner(0x1538), "a program of the user root")
        self.assertEqual(port_owner(1), "")
        (self.proc / "net" / "tcp").write_text("something\nelse\n", "ascii")
        self.assertEqual(port_owner(0x0F63), "")

    def test_lock(self) -> None:
        """A lock of the writer is its service's; that of a writer that was left alone is its own."""
        self.on_it()
        file = self.mktemp()
        Path(file).touch()
        inode = os.stat(file).st_ino
        for holder, expected in (
            (701, "dmtwisted run, process 700"),
            (800, "dmtwisted.store.sqlite.writer, process 800"),
            (0, ""),
            (9, ""),
        ):
            of_it = f"08:01:{inode} 0 EOF"
            locks = f"1: POSIX  ADVISORY  WRITE 5 {of_it}\n2: FLOCK  ADVISORY  WRITE {holder} {of_it}\n"
            (self.proc / "locks").write_text(locks, "ascii")
            self.assertEqual(lock_owner(file), expected)
        self.assertEqual(lock_owner("/no/such/file"), "")

    def test_here(self) -> None:
        """On this machine it is us: the port, the lock, and the words of a command that finds a database in use."""
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.assertTrue(port_owner(listening.getsockname()[1]).endswith(f"process {os.getpid()}"))
        path = Path(self.mktemp()).resolve()
        with take_lock(f"{path}.lock", 0):
            refused = self.assertRaises(Locked, take_lock, f"{path}.lock", 0)
            self.assertTrue(refused.owner.endswith(f"process {os.getpid()}"), refused.owner)
            with SqliteRows(path) as rows:
                error = self.assertRaises(CarryError, rows.keep_others_out, 0)
            self.assertEqual((str(error), error.advice), (f"{path}: {refused.owner} works with it", STOP_FIRST))
