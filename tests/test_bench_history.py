"""The histories of the benchmark are what a service itself would have kept."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import ILogObserver, LogEvent, Logger, formatEvent
from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase
from zope.interface import implementer

from dmtwisted.clock import ServiceClock
from dmtwisted.lab.bench.history import REGISTERS, SHORT, History, Report, tag_of, words
from dmtwisted.lab.bench.options import BenchOptions
from dmtwisted.lab.bench.removal import ENDED, Removal, Sales
from dmtwisted.lab.bench.removal import words as removal_words
from dmtwisted.retention import DAY, Retention
from dmtwisted.secrets import Secrets
from dmtwisted.service_settings import ServiceSettings
from dmtwisted.store.sqlite import statements
from dmtwisted.store.verification import verify
from tests.shop import Shop


class HistoryTests(SynchronousTestCase):
    """``dmtwisted bench history``"""

    def test_options(self) -> None:
        """A hundred thousand receipts, unless it is said how many."""
        options: Any = BenchOptions()
        options.parseOptions(["history"])
        self.assertEqual(options.subOptions["receipts"], 100_000)
        options.parseOptions(["history", "-n", "1000000", "--json"])
        self.assertEqual((options.subOptions["receipts"], options.subOptions["json"]), (1_000_000, 1))

    def test_history(self) -> None:
        """Registers find the receipts of a history by their tags, and its journal is whole."""
        shop = Shop(self)
        shop.add("history-0")
        shop.open_shift("history-0")
        self.assertEqual(
            shop.fiscal(1, "first", "history-0", receipt={"sum": 10, "rows": [ROW], "pays": [PAY]})["res"], 0
        )
        self.assertEqual(shop.fiscal(11, device="history-0")["res"], 0)
        history = History(shop.store._db, 400, int(shop.clock.seconds() * 1000))
        for n in range(400):
            history.keep(n)
        history.end()
        self.assertIs(self.successResultOf(Deferred.fromCoroutine(verify(shop.store))), None)
        shop.crash()
        for n in (0, 17, 399):
            device = f"history-{n % REGISTERS}"
            self.assertEqual(shop.look_up(tag_of(n % REGISTERS, n), device)["res"], 0)
            self.assertEqual(shop.fiscal(18, device=device)["res"], 0)

    def test_words(self) -> None:
        """The report names the long history first."""
        pair = (1.0, 2.0)
        report = Report(5, 1.0, 3.0, pair, pair, 2.0, (4.0, 6.0), 1.5, {"/list": pair})
        self.assertIn(f"5 receipts against {SHORT}", words(report))
        self.assertIn("/list, ms: 2.0 against 1.0", words(report))
        self.assertIn("from a cold disk, p50 ms: 6.00 against 4.00, ratio 1.50", words(report))
        self.assertNotIn("cold", words(replace(report, cold_p50=None, cold_ratio=None)))


class RemovalTests(SynchronousTestCase):
    """``dmtwisted bench history --remove``"""

    def test_options(self) -> None:
        """Eight tills with eighty sales a second, unless it is said otherwise; 0 is as many as there can be."""
        options: Any = BenchOptions()
        options.parseOptions(["history", "--remove"])
        chosen = options.subOptions
        self.assertEqual((chosen["remove"], chosen["tills"], chosen["rate"]), (1, 8, 80))
        options.parseOptions(["history", "--remove", "--tills", "4", "--rate", "0"])
        self.assertEqual((options.subOptions["tills"], options.subOptions["rate"]), (4, 0.0))
        self.assertRaises(UsageError, options.parseOptions, ["history", "--remove", "--rate", "-1"])

    def test_end(self) -> None:
        """It finds the end of a removal in the service's log."""
        told: list[LogEvent] = []

        @implementer(ILogObserver)
        def observe(event: LogEvent) -> None:
            told.append(event)

        self.patch(Retention, "log", Logger(observer=observe))
        # How long the store really takes is no matter of the clock of this test.
        self.patch(statements, "time", SimpleNamespace(perf_counter=lambda: 0.0))
        shop = Shop(self)
        shop.add("history-0")
        shop.open_shift("history-0")
        for tag in ("first", "second"):
            receipt = {"sum": 10, "rows": [ROW], "pays": [PAY]}
            self.assertEqual(shop.fiscal(1, tag, "history-0", receipt=receipt)["res"], 0)
        self.assertEqual(shop.fiscal(11, device="history-0")["res"], 0)
        clock = Clock()
        clock.advance(shop.clock.seconds() + 50 * DAY / 1000)
        later = ServiceClock(clock)
        settings = ServiceSettings(shop.store, Secrets(None), later)
        removing = Deferred.fromCoroutine(Retention(shop.store, settings, later).remove())
        clock.pump([0.01] * 100)
        self.successResultOf(removing)
        [ended] = [ENDED.search(formatEvent(event)) for event in told]
        assert ended is not None
        self.assertGreaterEqual(int(ended[1]), 1)
        self.assertEqual(ended[2], "0")

    def test_words(self) -> None:
        """The report shows the ratio and its parts."""
        alone, beside = Sales(2400, 80.0, 2.0, 5.0, 9.0), Sales(48_000, 79.5, 3.0, 8.0, 70.0)
        told = removal_words(Removal(500_000, 510_000, 600, 8, 80.0, alone, beside, alone, 12.0, 1.6, 0.85))
        self.assertIn("500000 operations and 510000 seals removed in 600 s beside 8 tills with 80 sales/s", told)
        self.assertIn("beside: 48000 sales, 80/s, p50 3.0 ms, p99 8.0 ms", told)
        self.assertIn("1.60 of that alone", told)
        self.assertIn("with all of it: 0.85 s", told)


ROW = {"code": "1", "name": "Хліб", "cnt": 1, "price": 10, "cost": 10, "taxgrp": 1}
PAY = {"type": 0, "sum": 10}
