"""The log file by days: a file for each day, compressed, and deleted after `logdays`.

::

    dmtwisted.log                  today
    dmtwisted.log.2026-11-20.gz    the day before

Days are those of Kyiv. Lines that come while the file is replaced wait in memory and go into the new one. When
another program such as logrotate moves the file, a new one is opened. The next check completes what a crash
interrupted.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from pathlib import Path

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from dmtwisted.clock import ServiceClock, kyiv
from dmtwisted.system.files import replace
from dmtwisted.system.logs import FILE_MODE, LineObserver

EVERY = 30.0
"""Seconds between two checks."""

_DATED = re.compile(r"\.(\d{4}-\d\d-\d\d)(-\d+)?(\.gz)?")


class LogFiles:
    """Rotates the file of ``observer``.

    :param days: how many days old files are kept.
    """

    log = Logger()

    def __init__(self, observer: LineObserver, days: Callable[[], int], clock: ServiceClock) -> None:
        self._observer, self._days, self._clock = observer, days, clock
        self._path = Path(observer.path)
        last = observer.written_at
        self._day = self._today() if last is None else kyiv(int(last * 1000)).date()
        self._working = False
        self._loop = LoopingCall(self.look)
        self._loop.clock = clock

    def start(self) -> None:
        """Check now and from now on."""
        self._loop.start(EVERY)

    def stop(self) -> None:
        """Stop checking."""
        if self._loop.running:
            self._loop.stop()

    def look(self) -> None:
        """Begin a new file on a new day, or when the file was moved; never raises."""
        today = self._today()
        try:
            if today != self._day and self._path.exists() and self._path.stat().st_size:
                self._observer.turn_over(partial(self._put_aside, self._day))
            elif self._observer.was_taken_away():
                self._observer.turn_over(lambda: None)
            self._day = today
        except OSError as error:
            # The lines continue in the old file; the next check tries again.
            self.log.error("the log of {day} cannot be renamed: {why}", day=str(self._day), why=str(error))
        if not self._working:
            self._working = True
            Deferred.fromCoroutine(self._tidy_up(today))

    def reopen(self) -> None:
        """Open the file again, after another program has moved it; never raises."""
        try:
            self._observer.turn_over(lambda: None)
        except OSError as error:
            self.log.error("the log cannot be opened again: {why}", why=str(error))

    def _put_aside(self, day: date) -> None:
        os.rename(self._path, self._name_for(day))

    def _name_for(self, day: date) -> Path:
        """An unused name for that day: after a change of the clock a day can come twice."""
        name = self._path.with_name(f"{self._path.name}.{day}")
        number = 1
        while name.exists() or Path(f"{name}.gz").exists():
            number += 1
            name = self._path.with_name(f"{self._path.name}.{day}-{number}")
        return name

    async def _tidy_up(self, today: date) -> None:
        try:
            await self._clock.aside(tidy_up, self._path, today - timedelta(days=self._days()))
        except OSError as error:
            self.log.error("old logs cannot be compressed or deleted: {why}", why=str(error))
        finally:
            self._working = False

    def _today(self) -> date:
        return kyiv(self._clock.now()).date()


def tidy_up(path: Path, oldest: date) -> None:
    """Compress the files of earlier days of the log ``path``, and delete those before ``oldest``; for a thread.

    :raises OSError: when that fails.
    """
    for file in sorted(path.parent.glob(f"{path.name}.*")):
        dated = _DATED.fullmatch(file.name.removeprefix(path.name))
        if dated is None:
            continue
        if date.fromisoformat(dated[1]) < oldest:
            file.unlink(missing_ok=True)
        elif dated[3] is None:
            _zip(file)


def _zip(file: Path) -> None:
    import gzip  # only once a day, in a thread

    zipped = Path(f"{file}.gz")
    fresh = Path(f"{zipped}.new")
    fresh.unlink(missing_ok=True)
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with (
            file.open("rb") as source,
            os.fdopen(handle, "wb") as raw,
            gzip.GzipFile(file.name, "wb", 6, raw) as packed,
        ):
            shutil.copyfileobj(source, packed, 1 << 20)
        replace(fresh, zipped)
    except BaseException:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    file.unlink()
