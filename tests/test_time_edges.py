"""Edges of time: limits to the millisecond from both sides, nights of a clock change, ends of months and years, and
clocks that a person sets.

The table of `docs/reliability.md` links here.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.task import Clock
from twisted.logger import Logger, LogPublisher
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.access.login_sessions import API_IDLE, PAGE_IDLE, Sessions
from dmtwisted.clock import KYIV, ServiceClock, steady_timers, wall
from dmtwisted.closing import _last_time
from dmtwisted.config import LogConfig
from dmtwisted.registers.channels.breaker import COSTLY_S, Breaker
from dmtwisted.registers.totals import OfflineMonth
from dmtwisted.retention import ages
from dmtwisted.store.values import State
from dmtwisted.system.log_files import EVERY, LogFiles
from dmtwisted.system.logs import open_observer
from protocols.errors import NotReached, Silent
from tests.test_offline_switch import AWAY, GONE, HOUR, SwitchCase
from tests.test_retention import NOW, aged

MS = 0.0015
"""A little more than a millisecond, because seconds are binary fractions."""

HOUR_MS = HOUR * 1000

SHIFT_IS_OLD, TOO_LONG, BLOCKED = 3003, 1062, 1042


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, fold: int = 0) -> float:
    """A moment in Kyiv time, in seconds since 1970."""
    return datetime(year, month, day, hour, minute, tzinfo=KYIV, fold=fold).timestamp()


class RegisterCase(SwitchCase):
    """A training register whose shift was opened at a given moment."""

    def begin(self, moment: float) -> None:
        """Set the clock to ``moment``, and open a shift."""
        self.assertEqual(self.shop.fiscal(11)["res"], 0)
        self.shop.clock.advance(moment - self.shop.clock.seconds())
        self.shop.open_shift()

    def until(self, moment: float) -> None:
        """Let time pass."""
        self.shop.clock.advance(moment - self.shop.clock.seconds())

    def warnings(self) -> list[int]:
        """The status."""
        return [warning["code"] for warning in self.shop.fiscal(18)["warnings"]]


class LimitTests(RegisterCase):
    """The limits of registers."""

    def test_35_hours(self) -> None:
        """35 hours offline to the millisecond are allowed; one millisecond more is 1062."""
        self.shop.scenario(*GONE)
        self.shop.sell()
        self.shop.clock.advance(35 * HOUR)
        self.assertEqual(self.shop.sell()["res"], 0)
        self.shop.clock.advance(MS)
        self.assertEqual(self.shop.sell()["res"], TOO_LONG)

    def test_168_hours(self) -> None:
        """168 hours in a month to the millisecond are allowed; one more is 1042, and no session begins."""
        self.set_state(offline_month=OfflineMonth("202609", 166 * HOUR_MS))
        self.assertEqual(self.go("offline"), 0)
        self.shop.clock.advance(2 * HOUR)
        self.assertEqual(self.shop.sell()["res"], 0)
        self.shop.clock.advance(MS)
        self.assertEqual(self.shop.sell()["res"], BLOCKED)
        self.assertEqual(self.go("online"), 0)
        for spent, code in ((168 * HOUR_MS - 1, 0), (168 * HOUR_MS, BLOCKED)):
            self.set_state(offline_month=OfflineMonth("202609", spent))
            self.assertEqual(self.go("offline"), code)
            if not code:
                self.assertEqual(self.go("online"), 0)

    def test_24_hours(self) -> None:
        """A shift of 24 hours is not too old; a millisecond later it is: also on days of 23 and of 25 hours."""
        for begun in (at(2026, 9, 22, 9), at(2026, 10, 24, 12), at(2027, 3, 27, 12)):
            self.begin(begun)
            self.shop.clock.advance(24 * HOUR)
            self.assertNotIn(SHIFT_IS_OLD, self.warnings())
            self.shop.clock.advance(MS)
            self.assertIn(SHIFT_IS_OLD, self.warnings())

    def test_40_and_90_days(self) -> None:
        """Data are kept for their full number of days; a millisecond later they may be deleted."""
        rules = ages(NOW, 40, 90, 30)
        for kind, days in (("fiscal", 40), ("untagged", 40), ("doc", 40), ("pay", 90), ("pkg", 90)):
            at_edge = aged(kind, days)
            self.assertFalse(rules.goes(at_edge), kind)
            over = aged(kind, days, ended_at=at_edge.ended_at - 1, at=at_edge.at - 1)  # type: ignore[operator]
            self.assertTrue(rules.goes(over), kind)
            self.assertFalse(rules.goes(aged(kind, days * 9, state=State.UNKNOWN)), kind)


class NightTests(RegisterCase):
    """A register in the nights of a clock change."""

    def test_35_hours_over_a_change(self) -> None:
        """35 hours are elapsed hours, not hours of the wall clock; the offline sales are accepted afterwards."""
        for begun in (at(2026, 10, 24, 18), at(2027, 3, 27, 18)):
            self.begin(begun)
            self.assertEqual(self.go("offline"), 0)
            self.shop.clock.advance(35 * HOUR)
            self.assertEqual(self.shop.sell()["res"], 0)
            self.shop.clock.advance(MS)
            self.assertEqual(self.shop.sell()["res"], TOO_LONG)
            before = len(self.shop.ledger(kind="sale"))
            self.assertEqual(self.go("online"), 0)
            self.assertEqual(len(self.shop.ledger(kind="sale")), before + 1)
            self.assertEqual(self.shop.sell()["res"], 0)

    def test_hour_that_comes_twice(self) -> None:
        """In the hour that occurs twice, receipts continue online and offline, each once and in order."""
        for year, day, away in ((2026, 25, 99), (2027, 31, 0), (2028, 29, 1)):
            self.begin(at(year, 10, day, 1))
            moments = (at(year, 10, day, 3, 50), at(year, 10, day, 3, 10, fold=1), at(year, 10, day, 4, 5))
            sold = []
            for n, moment in enumerate(moments):
                self.until(moment)
                if n == away:
                    self.assertEqual(self.go("offline"), 0)
                    self.shop.scenario(*GONE)
                answer = self.shop.sell()
                self.assertEqual(answer["res"], 0, (year, moment))
                sold.append(answer["info"]["doccode"])
            if away < len(moments):
                self.shop.scenario()
                self.assertEqual(self.go("online"), 0, year)
            self.assertEqual([entry.number for entry in self.shop.ledger(kind="sale")][-3:], sold)
            self.assertEqual(self.shop.fiscal(11)["res"], 0)
            self.shop.open_shift()

    def test_hour_that_is_not_there(self) -> None:
        """For a register, a second before the skipped hour and a second after it are two seconds apart."""
        gap = at(2027, 3, 28, 4)
        self.begin(gap - HOUR)
        self.until(gap - 1)
        self.assertEqual(self.shop.sell()["info"]["dt"], "20270328025959")
        self.until(gap + 1)
        self.assertEqual(self.shop.sell()["info"]["dt"], "20270328040001")

    def test_set_time_of_closing(self) -> None:
        """A shift with a closing time is due in both nights, also at a time that is skipped or occurs twice."""
        for now, expected in (
            (at(2027, 3, 28, 12), at(2027, 3, 28, 4, 30)),
            (at(2027, 3, 28, 2, 59), at(2027, 3, 27, 3, 30)),
            (at(2026, 10, 25, 12), at(2026, 10, 25, 3, 30)),
            (at(2026, 10, 25, 3, 29), at(2026, 10, 24, 3, 30)),
            (at(2026, 10, 25, 3, 30), at(2026, 10, 25, 3, 30)),
        ):
            self.assertEqual(_last_time("03:30", int(now * 1000)), int(expected * 1000), now)


class MonthTests(RegisterCase):
    """Ends of months and years."""

    def test_every_month(self) -> None:
        """The hours of a month count until its last millisecond in Kyiv, in each month of several years."""
        for year in range(2024, 2032):
            for month in range(1, 13):
                spent = OfflineMonth(f"{year}{month:02d}", 5)
                after = int(at(year + month // 12, month % 12 + 1, 1) * 1000)
                self.assertEqual((spent.before(after - 1), spent.before(after)), (5, 0), (year, month))
                self.assertEqual(OfflineMonth(f"{year - 1}{month:02d}", 5).before(after - 1), 0)

    def test_new_year(self) -> None:
        """The last millisecond of a year is blocked by the hours of December; the first one of the next is not."""
        midnight = at(2027, 1, 1)
        self.begin(midnight - HOUR)
        self.set_state(offline_month=OfflineMonth("202612", 168 * HOUR_MS))
        self.until(midnight - MS)
        self.assertEqual(self.go("offline"), BLOCKED)
        self.until(midnight + MS)
        self.assertEqual(self.go("offline"), 0)
        self.assertEqual(self.shop.sell()["info"]["dt"], "20270101000000")

    def test_session_over_new_year(self) -> None:
        """A session counts in the month in which it began; the next month begins without its hours."""
        midnight = at(2027, 1, 1)
        self.begin(midnight - HOUR)
        self.assertEqual(self.go("offline"), 0)
        self.until(midnight + 9 * HOUR)
        self.assertEqual(self.shop.sell()["res"], 0)
        self.assertEqual(self.go("online"), 0)
        self.assertEqual(self.state().offline_month, OfflineMonth("202612", 10 * HOUR_MS))
        self.assertEqual(self.state().offline_month.before(int(self.shop.clock.seconds() * 1000)), 0)

    def test_shift_over_new_year(self) -> None:
        """A shift that is open over New Year counts, reports and closes as any other."""
        midnight = at(2027, 1, 1)
        self.begin(midnight - HOUR)
        self.shop.sell()
        self.until(midnight + HOUR)
        self.shop.sell()
        report = self.shop.fiscal(11)
        self.assertEqual((report["res"], report["info"]["receipt"]["count_p"]), (0, 2))


class SetClockTests(RegisterCase):
    """A clock that is set forward and back; waits have their right length."""

    def set_by(self, seconds: float) -> None:
        """Set the clock."""
        self.shop.core.clock.offset += seconds

    def test_shift(self) -> None:
        """A shift survives both: numbers continue, nothing is doubled, and it closes."""
        for step in (-2 * HOUR, 2 * HOUR, 5 * HOUR, -5 * HOUR, -24 * HOUR):
            self.set_by(step)
            self.assertEqual(self.shop.sell(tag=f"t{step}")["res"], 0, step)
            self.assertEqual(self.shop.sell(tag=f"t{step}")["task_status"], 2, step)
        self.assertEqual(len(self.shop.ledger(kind="sale")), 5)
        self.assertEqual(self.shop.fiscal(11)["info"]["receipt"]["count_p"], 5)

    def test_comes_home(self) -> None:
        """A register whose clock is set back by a day while it is offline goes online as soon as it can."""
        self.shop.scenario(*GONE)
        self.assertEqual(self.shop.sell()["res"], 0)
        self.shop.clock.advance(61)
        self.assertFalse(self.is_online())
        self.set_by(-24 * HOUR)
        self.shop.scenario()
        self.shop.clock.pump([1] * 70)
        self.assertTrue(self.is_online())

    def test_stays_offline_in_its_time(self) -> None:
        """A clock that is set forward past the limit and back again uses up no offline hours."""
        self.shop.scenario(AWAY)
        self.assertEqual(self.shop.sell()["res"], 0)
        self.set_by(36 * HOUR)
        self.assertEqual(self.shop.sell()["res"], TOO_LONG)
        self.set_by(-36 * HOUR)
        self.assertEqual(self.shop.sell()["res"], 0)

    def test_turns_are_measured(self) -> None:
        """The duration of a task is never negative, whatever the clock does meanwhile."""
        for step in (-HOUR, HOUR):
            self.shop.scenario({"on": "sale", "then": "accept", "delay_ms": 500})
            due = self.shop.asked({"ver": 6, "device": "test", "tag": "", "type": 1, "fiscal": {"task": 10}})
            self.set_by(step)
            self.shop.clock.advance(1)
            self.successResultOf(due)
        took = self.shop.core.dispatcher.tally.took["fiscal"]
        self.assertTrue(0 <= took.total < 10, took.total)


class SessionTests(SynchronousTestCase):
    """Sessions of the pages (10 minutes) and of the interface (15)."""

    def setUp(self) -> None:
        """An open session."""
        self.clock = ServiceClock(Clock())
        self.sessions = Sessions(self.clock)
        self.token = self.sessions.begin()

    def test_both_sides(self) -> None:
        """A millisecond before 10 and 15 minutes it is valid; at 10 no longer for pages, at 15 for nothing."""
        self.clock.offset += PAGE_IDLE - MS
        self.assertTrue(self.sessions.renew(self.token, page=True))
        self.clock.offset += PAGE_IDLE
        self.assertFalse(self.sessions.renew(self.token, page=True))
        self.clock.offset += API_IDLE - MS
        self.assertTrue(self.sessions.renew(self.token))
        self.clock.offset += API_IDLE
        self.assertFalse(self.sessions.renew(self.token))

    def test_set_back(self) -> None:
        """A clock set back by a moment ends no session; set back by more than the idle time, it ends all sessions."""
        self.clock.offset -= PAGE_IDLE - 1
        self.assertTrue(self.sessions.renew(self.token, page=True))
        self.clock.offset += API_IDLE - 1
        self.assertTrue(self.sessions.renew(self.token))
        self.clock.offset -= 24 * HOUR
        self.assertFalse(self.sessions.renew(self.token))

    def test_set_forward(self) -> None:
        """A clock that is set forward ends a session as elapsed time does."""
        self.clock.offset += 24 * HOUR
        self.assertFalse(self.sessions.renew(self.token))


class LogTests(SynchronousTestCase):
    """The log files of each day."""

    def setUp(self) -> None:
        """A folder."""
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def days(self, begin: float, *steps: float) -> list[str]:
        """The days whose files were put aside, when a line is written after each step."""
        clock = Clock()
        clock.advance(begin)
        service = ServiceClock(clock)
        observer = open_observer(LogConfig(file=str(self.folder / f"{begin:.0f}.log")))
        self.addCleanup(observer.close)
        files = LogFiles(observer, lambda: 99, service)
        files._day = files._today()
        files.start()
        self.addCleanup(files.stop)
        log = Logger("test", observer=LogPublisher(observer))
        log.info("a line")
        for step in steps:
            service.offset += step
            clock.advance(EVERY)
            log.info("a line")
        found = self.folder.glob(f"{begin:.0f}.log.*")
        return sorted(file.name.removeprefix(f"{begin:.0f}.log.").removesuffix(".gz") for file in found)

    def test_edges(self) -> None:
        """A day ends at midnight in Kyiv: also at ends of months and years, and on days of 23 or 25 hours."""
        for midnight, day in (
            (at(2027, 1, 1), "2026-12-31"),
            (at(2026, 10, 26), "2026-10-25"),
            (at(2027, 3, 29), "2027-03-28"),
            (at(2028, 3, 1), "2028-02-29"),
        ):
            self.assertEqual(self.days(midnight - 3 * EVERY, 0.0), [], day)
            self.assertEqual(self.days(midnight - EVERY - 1, 0.0, 0.0), [day])

    def test_set_clock(self) -> None:
        """A clock that is set over midnight and back begins a new file each time, and loses none."""
        noon = at(2026, 11, 21, 12)
        names = self.days(noon, 24 * HOUR, -24 * HOUR, 24 * HOUR)
        self.assertEqual(names, ["2026-11-21", "2026-11-21-2", "2026-11-22"])


class BreakerTests(SynchronousTestCase):
    """A server that is not asked for a while."""

    def test_set_back(self) -> None:
        """A clock that is set back does not extend the pause after which a server is asked again."""
        clock = ServiceClock(Clock())
        asked: list[str] = []

        async def slow(method: str, url: str, headers: Any, body: bytes) -> Any:
            asked.append(url)
            clock.offset += COSTLY_S
            raise Silent(COSTLY_S)

        breaker = Breaker(slow, clock, 60)

        def ask() -> Deferred[Any]:
            return Deferred.fromCoroutine(breaker("GET", "there", {}, b""))

        self.failureResultOf(ask(), Silent)
        self.failureResultOf(ask(), NotReached)
        clock.offset -= HOUR
        self.failureResultOf(ask(), Silent)
        self.assertEqual(len(asked), 2)


class TimerTests(SynchronousTestCase):
    """The timers of the reactor."""

    def setUp(self) -> None:
        """A reactor for the tests, and a machine whose clock can be set."""
        self.reactor: Any = SelectReactor()
        self.addCleanup(self.reactor.removeAll)
        self.set_by = 0.0
        machine = time.time
        self.patch(time, "time", lambda: machine() + self.set_by)
        steady_timers(self.reactor)
        self.done: list[str] = []

    def turn(self, seconds: float) -> None:
        """Run the reactor for some time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.done:
            self.reactor.runUntilCurrent()
            time.sleep(0.005)

    def test_set_back(self) -> None:
        """A clock that is set back by an hour extends no time-out."""
        self.reactor.callLater(0.05, self.done.append, "in time")
        self.set_by = -3600
        self.turn(10)
        self.assertEqual(self.done, ["in time"])

    def test_set_forward(self) -> None:
        """A clock that is set forward makes no timer fire early."""
        self.reactor.callLater(60, self.done.append, "too early")
        self.set_by = 3600
        self.turn(0.1)
        self.assertEqual(self.done, [])
        self.reactor.getDelayedCalls()[0].cancel()

    def test_time_of_day(self) -> None:
        """The time of day is always the machine's, also for the service's clock."""
        clock = ServiceClock(self.reactor)
        began = clock.steady()
        self.set_by = 86_400
        for seconds in (wall(self.reactor), clock.seconds(), clock.now() / 1000):
            self.assertApproximates(seconds, time.time(), 5)
        self.assertApproximates(clock.steady(), began, 5)

    def test_once(self) -> None:
        """A second installation changes nothing."""
        seconds = self.reactor.seconds
        steady_timers(self.reactor)
        self.assertIs(self.reactor.seconds, seconds)
