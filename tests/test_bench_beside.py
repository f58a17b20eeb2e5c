"""Sales are measured alone and beside something else, in turn, and what fails beside them is not overlooked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.bench import beside
from dmtwisted.lab.bench.beside import ALL, Over, in_turns, once, repeated, row_of, table
from dmtwisted.lab.bench.figures import Share
from dmtwisted.lab.bench.history import History
from dmtwisted.lab.bench.options import BenchOptions
from dmtwisted.lab.children import BenchFailed
from tests.shop import Shop


class TurnTests(SynchronousTestCase):
    """Windows and ratios."""

    def setUp(self) -> None:
        """Something whose begin and end are noted."""
        self.seen: list[str] = []
        self.most = 99
        self.told: list[str] = []

    @contextmanager
    def block(self) -> Iterator[Over]:
        """It is done within this."""
        self.seen.append("begin")
        yield lambda: float(len(self.seen) > self.most)
        self.seen.append("end")

    def window(self, salt: str) -> float:
        """A window of sales; those beside take longer with each round."""
        kind, _, number = salt.split("-")
        self.seen.append(f"{kind}-{number}")
        return 2.0 if kind == "alone" else 2.0 * (int(number) + 1)

    def test_turns(self) -> None:
        """Sales alone come first in one round and last in the next one."""
        row = in_turns("backup", self.block, self.window, 2)
        self.assertEqual(" ".join(self.seen), "alone-0 begin beside-0 end begin beside-1 end alone-1")
        self.assertEqual((row.alone_ms, row.beside_ms, row.ratio), (2.0, 3.0, Share(1.5, 1.25, 1.75)))

    def test_once(self) -> None:
        """A removal happens once, after all windows alone."""
        once("removal", self.block, self.window, 2, 500, self.told.append)
        self.assertEqual(" ".join(self.seen), "alone-0 alone-1 begin beside-0 beside-1 end")
        self.assertEqual(self.told, [])

    def test_ends(self) -> None:
        """Only windows during which the removal ran to their end count; it says how many receipts all would need."""
        self.patch(beside, "time", SimpleNamespace(monotonic=iter((0.0, 20.0)).__next__))
        self.most = 5
        row = once("removal", self.block, self.window, 3, 500, self.told.append)
        self.assertEqual(" ".join(self.seen), "alone-0 alone-1 alone-2 begin beside-0 beside-1 end")
        self.assertEqual((row.alone_ms, row.beside_ms), (2.0, 2.0))
        self.assertIn("--receipts 23000", *self.told)

    def test_ends_soon(self) -> None:
        """A removal that ends within the first window was not measured."""
        self.most = 3
        with self.assertRaises(BenchFailed):
            once("removal", self.block, self.window, 2, 500, self.told.append)

    def test_table(self) -> None:
        """The table has the ratio of each."""
        self.assertIn("1.50 (1.25..1.75)", table([row_of("forms", [2.0, 2.0], [2.0, 4.0])]))

    def test_options(self) -> None:
        """Everything that is known is measured."""
        options: Any = BenchOptions()
        options.parseOptions(["beside"])
        self.assertEqual(options.subOptions["what"], [*ALL])


class RepeatedTests(SynchronousTestCase):
    """What is repeated beside sales."""

    def test_repeated(self) -> None:
        """It is repeated until the end of the block, and has ended then."""
        done: list[threading.Thread] = []
        twice = threading.Event()

        def work() -> None:
            done.append(threading.current_thread())
            if len(done) > 1:
                twice.set()

        with repeated(work):
            self.assertTrue(twice.wait(30))
        self.assertFalse(done[0].is_alive())

    def test_failed(self) -> None:
        """When it fails the sales beside it count for nothing."""

        def work() -> None:
            raise BenchFailed("a print form is missing")

        with self.assertRaises(BenchFailed) as raised, repeated(work):
            pass
        self.assertIn("a print form is missing", str(raised.exception))


class WorkTests(SynchronousTestCase):
    """What is asked of the service meanwhile, in memory."""

    def once(self, work: Any) -> None:
        """Do a work once."""
        self.patch(beside, "repeated", lambda work: work())
        ALL[work](self.child, 40)

    def setUp(self) -> None:
        """A service with a history."""
        case = self
        self.shop = shop = Shop(self)
        shop.add("history-0")
        shop.open_shift("history-0")
        receipt = {
            "sum": 10,
            "rows": [{"code": "1", "name": "Хліб", "cnt": 1, "price": 10, "cost": 10, "taxgrp": 1}],
            "pays": [{"type": 0, "sum": 10}],
        }
        shop.fiscal(1, "first", "history-0", receipt=receipt)
        shop.fiscal(11, device="history-0")
        history = History(shop.store._db, 40, int(shop.clock.seconds() * 1000))
        for n in range(40):
            history.keep(n)
        history.end()
        shop.crash()
        self.asked: list[tuple[str, str]] = []

        class Service:
            running: Any = None
            error = ""
            log = ""

            def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
                case.asked.append((method, path.partition("?")[0]))
                if path == "/dm/execute":
                    return 200, json.dumps(shop.ask(body.encode()), separators=(",", ":")).encode()
                if "backups" in path:
                    status = 202 if method == "POST" else 200
                    return status, json.dumps({"backups": [], "running": None, "error": self.error}).encode()
                if "webhooks" in path:
                    return (201, b'{"id": "%d"}' % len(case.asked)) if method == "POST" else (204, b"")
                return 200, b""

            def log_text(self) -> str:
                return self.log

        self.child: Any = Service()

    def test_forms(self) -> None:
        """A receipt of the history has its forms."""
        self.once("forms")
        self.assertEqual(self.asked, [("POST", "/dm/execute")])

    def test_report(self) -> None:
        """A year is asked for as the accountant's file and as a summary, which succeeds."""
        self.patch(time, "time", self.shop.clock.seconds)
        self.once("report")
        self.assertEqual(self.asked, [("GET", "/dm/api/v3/accounts"), ("POST", "/dm/execute")])

    def test_backup(self) -> None:
        """A backup is begun and awaited; one that failed is an error."""
        self.once("backup")
        self.assertEqual(self.asked, [("POST", "/dm/api/v3/backups"), ("GET", "/dm/api/v3/backups")])
        self.child.error = "no space left"
        self.assertRaises(BenchFailed, self.once, "backup")

    def test_subscribers(self) -> None:
        """Ten subscribers are added and removed again."""
        with ALL["subscribers"](self.child, 40) as over:
            self.assertEqual(self.asked, [("POST", "/dm/api/v3/webhooks")] * 10)
            self.assertEqual(over(), 0)
        removed = [("DELETE", f"/dm/api/v3/webhooks/{n}") for n in range(1, 11)]
        self.assertEqual(self.asked[10:], removed)

    def test_removal(self) -> None:
        """The service's log says when a removal has ended, and how long it took."""
        with ALL["removal"](self.child, 40) as over:
            self.child.log = "5 old operations were removed in 7 s, with 5 sea"
            self.assertEqual(over(), 0)
            self.child.log += "ls"
            self.assertEqual(over(), 7)
        with ALL["removal"](self.child, 40) as over:
            self.assertEqual(over(), 0)

    def test_no_source_tree(self) -> None:
        """Without the source tree there are no attacks."""
        self.patch(beside, "HOME", Path(self.mktemp()))
        with self.assertRaises(BenchFailed), ALL["attacks"](self.child, 40):
            pass
