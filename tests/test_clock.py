"""Documents have Kyiv time, summer and winter, whatever the machine's time zone."""

from __future__ import annotations

import os
import time
from calendar import timegm
from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase
from zope.interface.verify import verifyObject

from dmtwisted.clock import ServiceClock, kyiv, readable, span, stamp14, stamp17
from tests.specification import promises


def utc(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, ms: int = 0) -> int:
    """A moment in milliseconds since 1970, given in UTC."""
    return timegm((year, month, day, hour, minute, second)) * 1000 + ms


SPRING = utc(2026, 3, 29, 1)
"""When clocks in Kyiv change from 03:00 to 04:00."""
AUTUMN = utc(2026, 10, 25, 1)
"""When clocks in Kyiv change from 04:00 back to 03:00."""
NEW_YEAR = utc(2026, 12, 31, 22)
"""When 2027 begins in Kyiv."""


class StampTests(SynchronousTestCase):
    """Time stamps in answers."""

    def test_winter_and_summer(self) -> None:
        """Kyiv is two hours ahead of UTC in winter and three in summer."""
        self.assertEqual(stamp14(utc(2026, 1, 15, 12, 30, 45)), "20260115143045")
        self.assertEqual(stamp14(utc(2026, 7, 15, 12, 30, 45)), "20260715153045")

    def test_spring(self) -> None:
        """On the last Sunday of March the hour after three is skipped."""
        self.assertEqual(stamp17(SPRING - 1), "20260329025959999")
        self.assertEqual(stamp17(SPRING), "20260329040000000")

    def test_autumn(self) -> None:
        """On the last Sunday of October the hour after three occurs twice."""
        self.assertEqual(stamp17(AUTUMN - 3_600_000), "20261025030000000")
        self.assertEqual(stamp17(AUTUMN - 1), "20261025035959999")
        self.assertEqual(stamp17(AUTUMN), "20261025030000000")
        self.assertEqual(stamp17(AUTUMN + 3_600_000), "20261025040000000")

    def test_year_end(self) -> None:
        """The year ends at midnight in Kyiv."""
        self.assertEqual(stamp17(NEW_YEAR - 1), "20261231235959999")
        self.assertEqual(stamp17(NEW_YEAR), "20270101000000000")

    def test_leap_day(self) -> None:
        """The 29th of February exists in a leap year."""
        self.assertEqual(stamp14(utc(2028, 2, 29, 12)), "20280229140000")

    @promises("2.3.dt.1")
    def test_milliseconds(self) -> None:
        """The long stamp has 17 digits: the milliseconds always have three."""
        for ms, end in ((0, "000"), (7, "007"), (70, "070"), (999, "999")):
            self.assertEqual(stamp17(utc(2026, 9, 21, 6, 5, 4, ms)), f"20260921090504{end}")

    def test_readable(self) -> None:
        """Printed documents have the day first."""
        self.assertEqual(readable(utc(2026, 9, 1, 6, 5, 4, 999)), "01-09-2026 09:05:04")

    def test_machine_elsewhere(self) -> None:
        """A machine in another time zone has Kyiv time on its documents too."""
        before = os.environ.get("TZ")

        def back() -> None:
            os.environ.pop("TZ", None)
            if before is not None:
                os.environ["TZ"] = before
            time.tzset()

        self.addCleanup(back)
        os.environ["TZ"] = "America/New_York"
        time.tzset()
        self.assertEqual(stamp14(utc(2026, 7, 15, 12)), "20260715150000")

    @given(st.datetimes(datetime(1995, 1, 1), datetime(2099, 12, 31), timezones=st.just(UTC)))
    def test_any(self, moment: datetime) -> None:
        """At any moment the stamp is two or three hours ahead of UTC, and its parts agree."""
        at = int((moment - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(milliseconds=1))
        long = stamp17(at)
        self.assertEqual(long, f"{stamp14(at)}{at % 1000:03d}")
        shown = datetime.strptime(stamp14(at), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        self.assertIn(shown - moment.replace(microsecond=0), (timedelta(hours=2), timedelta(hours=3)))
        self.assertEqual(f"{kyiv(at):%d-%m-%Y %H:%M:%S}", readable(at))


class SpanTests(SynchronousTestCase):
    """Time stamps that are given only in part."""

    def test_prefixes(self) -> None:
        """The beginning of a stamp means the whole period that begins with it."""
        for stamp, first, after in (
            ("2026", utc(2025, 12, 31, 22), utc(2026, 12, 31, 22)),
            ("202602", utc(2026, 1, 31, 22), utc(2026, 2, 28, 22)),
            ("202612", utc(2026, 11, 30, 22), utc(2026, 12, 31, 22)),
            ("20260921", utc(2026, 9, 20, 21), utc(2026, 9, 21, 21)),
            ("2026092109", utc(2026, 9, 21, 6), utc(2026, 9, 21, 7)),
            ("202609210905", utc(2026, 9, 21, 6, 5), utc(2026, 9, 21, 6, 6)),
            ("20260921090504", utc(2026, 9, 21, 6, 5, 4), utc(2026, 9, 21, 6, 5, 5)),
        ):
            self.assertEqual(span(stamp), (first, after - 1), stamp)

    def test_days_of_the_change(self) -> None:
        """The day on which summer time begins has 23 hours, the one on which it ends has 25."""
        for stamp, hours in (("20260329", 23), ("20260330", 24), ("20261025", 25), ("20261026", 24)):
            first, last = span(stamp)
            self.assertEqual(last + 1 - first, hours * 3_600_000, stamp)

    def test_hour_that_comes_twice(self) -> None:
        """The hour that occurs twice in autumn is one period."""
        self.assertEqual(span("2026102503"), (AUTUMN - 3_600_000, AUTUMN + 3_600_000 - 1))

    def test_end_of_the_calendar(self) -> None:
        """The last year, month, day, hour, minute and second of the calendar have an end, as "for ever" does."""
        for stamp in ("9999", "999912", "99991231", "9999123123", "999912312359", "99991231235959"):
            self.assertEqual(span(stamp)[1], utc(9999, 12, 31, 21, 59, 59, 999), stamp)

    def test_no_stamps(self) -> None:
        """Any other text, or a date that does not exist, is a `ValueError`."""
        for stamp in (
            *("", "2", "202", "20260", "2026-09-21", " 20260921", "abcd", "٢٠٢٦", "202609210905041"),
            *("202613", "20260230", "20270229", "2026092124", "202609210960", "20260921090460"),
            "0000",
        ):
            self.assertRaises(ValueError, span, stamp)

    @given(st.text(alphabet="0123459 -٠", max_size=15))
    @example("0001")
    @example("00010101000000")
    @example("9999")
    @example("999912")
    @example("99991231")
    @example("9999123123")
    @example("99991231235959")
    def test_any(self, stamp: str) -> None:
        """Any text from a till is a period whose ends have time stamps, or a `ValueError`."""
        try:
            first, last = span(stamp)
        except ValueError:
            return
        # The hour that is skipped in spring is an empty period.
        self.assertGreaterEqual(last + 1, first, stamp)
        self.assertEqual(kyiv(first).year, int(stamp[:4]), stamp)
        self.assertEqual(kyiv(last).year, int(stamp[:4]), stamp)


class ServiceClockTests(SynchronousTestCase):
    """The clock that all parts of the service use."""

    def setUp(self) -> None:
        """The tests' clock below the service's clock."""
        self.reactor = Clock()
        self.reactor.advance(1_789_970_400.5)
        self.clock = ServiceClock(self.reactor)

    def test_interface(self) -> None:
        """It works wherever a reactor's time is expected."""
        verifyObject(IReactorTime, self.clock)

    def test_now(self) -> None:
        """Without an offset the time is the reactor's, in seconds and in milliseconds."""
        self.assertEqual((self.clock.seconds(), self.clock.now()), (1_789_970_400.5, 1_789_970_400_500))
        self.assertEqual(stamp17(self.clock.now()), "20260921090000500")

    def test_offset(self) -> None:
        """An offset moves the time forward or back, and has no effect after its removal."""
        for offset, stamp in ((86_400.0, "20260922090000500"), (-0.5, "20260921090000000"), (0, "20260921090000500")):
            self.clock.offset = offset
            self.assertEqual(stamp17(self.clock.now()), stamp)

    def test_offset_from_the_start(self) -> None:
        """A clock can be made with an offset."""
        self.assertEqual(ServiceClock(self.reactor, -400.5).now(), 1_789_970_000_000)

    def test_waiting_is_not_moved(self) -> None:
        """Waits that began before or after the clock was moved have their right length."""
        called: list[str] = []
        self.clock.callLater(10, called.append, "before")
        self.clock.offset = 1_000_000.0
        self.clock.callLater(10, called.append, "after")
        self.assertEqual(len(self.clock.getDelayedCalls()), 2)
        self.reactor.advance(9.9)
        self.assertEqual(called, [])
        self.reactor.advance(0.1)
        self.assertEqual(called, ["before", "after"])

    def test_cancel(self) -> None:
        """A cancelled wait does not fire."""
        called: list[int] = []
        waiting = self.clock.callLater(10, called.append, 1)
        waiting.cancel()
        self.reactor.advance(20)
        self.assertEqual((called, list(self.clock.getDelayedCalls())), ([], []))
