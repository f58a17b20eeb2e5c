"""The log by days: put aside at midnight in Kyiv, zipped, removed after the days that the settings say."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import tempfile
from datetime import date
from pathlib import Path
from unittest import skipUnless

from twisted.internet.task import Clock
from twisted.logger import Logger, LogPublisher
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.clock import ServiceClock
from dmtwisted.config import LogConfig
from dmtwisted.system.log_files import EVERY, LogFiles, tidy_up
from dmtwisted.system.logs import LineObserver, open_observer
from tests.shop import MORNING

DAY = 86_400


class LogFilesTests(SynchronousTestCase):
    """A log in a folder of the test, on 21 September 2026."""

    def setUp(self) -> None:
        """A file that is opened and looked after."""
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "our.log"
        self.clock = Clock()
        self.clock.advance(MORNING)
        self.days = 7
        self.open()

    def open(self) -> None:
        """Start the service."""
        self.observer: LineObserver = open_observer(LogConfig(file=str(self.file)))
        self.addCleanup(self.observer.close)
        self.files = LogFiles(self.observer, lambda: self.days, ServiceClock(self.clock))
        self.files.start()
        self.addCleanup(self.files.stop)
        self.log = Logger("test", observer=LogPublisher(self.observer))

    def names(self) -> list[str]:
        """The files in the folder."""
        return sorted(file.name for file in self.folder.iterdir())

    def zipped(self, name: str) -> str:
        """What a zipped file holds."""
        return gzip.decompress((self.folder / name).read_bytes()).decode()

    def test_midnight(self) -> None:
        """At midnight in Kyiv the day's lines are put aside and zipped, and a new file goes on."""
        self.log.info("рядок першого дня")
        self.clock.advance(15 * 3600 - EVERY)
        self.assertEqual(self.names(), ["our.log"])
        self.clock.advance(2 * EVERY)
        self.log.info("the second day")
        self.assertEqual(self.names(), ["our.log", "our.log.2026-09-21.gz"])
        self.assertIn("рядок першого дня", self.zipped("our.log.2026-09-21.gz"))
        self.assertIn("the second day", self.file.read_text("utf-8"))

    def test_kept(self) -> None:
        """Files are kept for as many days as the settings say now; those of others are left alone."""
        (self.folder / "our.log.old").write_text("somebody's", "utf-8")
        for _ in range(12):
            self.log.info("a line")
            self.clock.advance(DAY)
        kept = [name for name in self.names() if name.endswith(".gz")]
        self.assertEqual((len(kept), kept[0]), (7, "our.log.2026-09-26.gz"))
        self.days = 2
        self.clock.advance(EVERY)
        self.assertEqual(len([name for name in self.names() if name.endswith(".gz")]), 2)
        self.assertIn("our.log.old", self.names())

    def test_quiet_day(self) -> None:
        """A day without a line leaves no file."""
        self.clock.advance(3 * DAY)
        self.assertEqual(self.names(), ["our.log"])

    def test_restart(self) -> None:
        """A service that starts on another day puts the lines of the last one aside, under its date."""
        self.log.info("yesterday")
        self.files.stop()
        self.observer.close()
        os.utime(self.file, (MORNING - DAY,) * 2)
        self.open()
        self.assertIn("our.log.2026-09-20.gz", self.names())

    def test_crash(self) -> None:
        """What was put aside and not zipped, or half zipped, is zipped at the next look."""
        (self.folder / "our.log.2026-09-20").write_text("whole", "utf-8")
        (self.folder / "our.log.2026-09-20.gz.new").write_bytes(b"half")
        self.clock.advance(EVERY)
        self.assertEqual(self.names(), ["our.log", "our.log.2026-09-20.gz"])
        self.assertEqual(self.zipped("our.log.2026-09-20.gz"), "whole")

    def test_day_comes_twice(self) -> None:
        """Where the clock was moved back nothing that is kept is written over."""
        (self.folder / "our.log.2026-09-21.gz").write_bytes(gzip.compress(b"before"))
        self.log.info("after")
        self.clock.advance(DAY)
        self.assertEqual(self.zipped("our.log.2026-09-21.gz"), "before")
        self.assertIn("after", self.zipped("our.log.2026-09-21-2.gz"))

    @skipUnless(os.name == "posix", "files that are open can be moved")
    def test_taken_away(self) -> None:
        """A file that another program moves away is opened again."""
        self.file.rename(self.folder / "elsewhere")
        self.clock.advance(EVERY)
        self.log.info("goes on")
        self.assertIn("goes on", self.file.read_text("utf-8"))

    @skipUnless(os.name == "posix", "modes of POSIX")
    def test_mode(self) -> None:
        """Neither the new file nor the zipped one is for everybody."""
        self.log.info("a line")
        self.clock.advance(DAY)
        for file in self.folder.iterdir():
            self.assertEqual(stat.S_IMODE(file.stat().st_mode) & 0o007, 0, file)

    def test_cannot_be_moved(self) -> None:
        """While the file cannot be put aside lines go on in it, and the next look tries again."""
        self.log.info("first")

        def fail(*_: object) -> None:
            raise PermissionError("not now")

        with_rename = os.rename
        self.patch(os, "rename", fail)
        self.clock.advance(DAY)
        self.log.info("second")
        self.assertIn("second", self.file.read_text("utf-8"))
        os.rename = with_rename
        self.clock.advance(EVERY)
        self.assertIn("second", self.zipped("our.log.2026-09-21.gz"))

    def test_full_disk(self) -> None:
        """A disk that does not take the zipped file costs no line: the plain one stays."""
        (self.folder / "our.log.2026-09-20").write_text("whole", "utf-8")

        def fail(*_: object) -> None:
            raise OSError("No space left on device")

        self.patch(shutil, "copyfileobj", fail)
        self.assertRaises(OSError, tidy_up, self.file, date(2026, 9, 1))
        self.assertEqual(self.names(), ["our.log", "our.log.2026-09-20"])
