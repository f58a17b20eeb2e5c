"""The histories of the benchmark are what a service itself would have kept."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands.bench import BenchOptions
from dmtwisted.commands.bench_history import REGISTERS, SHORT, History, Report, as_json, tag_of, words
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
        report = Report(5, 1.0, 3.0, pair, pair, 2.0, {"/list": pair}, 7, 9.0, pair, 2.0)
        self.assertIn(f"5 receipts against {SHORT}", words(report))
        self.assertIn("/list, ms: 2.0 against 1.0", words(report))
        self.assertEqual(as_json(report)["removed"], 7)


ROW = {"code": "1", "name": "Хліб", "cnt": 1, "price": 10, "cost": 10, "taxgrp": 1}
PAY = {"type": 0, "sum": 10}
