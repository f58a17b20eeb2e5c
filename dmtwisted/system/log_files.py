"""The log file by days: each day's lines in a file of their own, zipped, and gone after `logdays`.

::

    dmtwisted.log                  today
    dmtwisted.log.2026-11-20.gz    the day before

Days are Kyiv's. Lines that come while the file changes hands wait in memory and go into the new one. A file that
somebody else takes away, such as logrotate, is opened anew. What a crash leaves half done is done at the next look.
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
"""Seconds between two looks."""

_DATED = re.compile(r"\.(\d{4}-\d\d-\d\d)(-\d+)?(\.gz)?")


class LogFiles:
    """Looks after the file of ``observer``.

    :param days: how long the files of earlier days are kept.
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
        """Look now and from now on."""
        self._loop.start(EVERY)

    def stop(self) -> None:
        """Look no more."""
        if self._loop.running:
            self._loop.stop()

    def look(self) -> None:
        """Begin a new file when a day has passed, or when the file is gone; never raises."""
        today = self._today()
        try:
            if today != self._day and self._path.exists() and self._path.stat().st_size:
                self._observer.turn_over(partial(self._put_aside, self._day))
            elif self._observer.was_taken_away():
                self._observer.turn_over(lambda: None)
            self._day = today
        except OSError as error:
            # Today's lines go on in the file as it is; the next look tries again.
            self.log.error("the log of {day} cannot be put aside: {why}", day=str(self._day), why=str(error))
        if not self._working:
            self._working = True
            Deferred.fromCoroutine(self._tidy_up(today))

    def reopen(self) -> None:
        """Open the file anew now, for whoever has just moved it away; never raises."""
        try:
            self._observer.turn_over(lambda: None)
        except OSError as error:
            self.log.error("the log cannot be opened anew: {why}", why=str(error))

    def _put_aside(self, day: date) -> None:
        os.rename(self._path, self._name_for(day))

    def _name_for(self, day: date) -> Path:
        """A name of that day that is free: a clock that was moved makes a day come twice."""
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
            self.log.error("old logs cannot be tidied up: {why}", why=str(error))
        finally:
            self._working = False

    def _today(self) -> date:
        return kyiv(self._clock.now()).date()


def tidy_up(path: Path, oldest: date) -> None:
    """Zip the files of earlier days of the log ``path``, and remove those from before ``oldest``; for a thread.

    :raises OSError: when the disk does not take it.
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
    import gzip

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
