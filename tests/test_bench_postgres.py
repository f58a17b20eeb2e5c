"""``dmtwisted bench postgres``: its ratios, and the sale that pgbench stores."""

from __future__ import annotations

import shutil
from pathlib import Path
from unittest import skipIf

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread
from twisted.trial.unittest import SynchronousTestCase, TestCase

from dmtwisted.lab.bench import postgres
from dmtwisted.lab.bench.keeping import Keeping, Sizes
from dmtwisted.lab.bench.postgres import bare, figures, last_sale, program, row_of, table
from dmtwisted.lab.children import BenchFailed
from dmtwisted.store.postgres.store import PostgresStore
from tests.postgres_server import MISSING, server

DATABASE = "bench"


class RowTests(SynchronousTestCase):
    """What is made of the rounds."""

    def test_ratios(self) -> None:
        """Rates are medians; each ratio is taken within a round."""
        row = row_of(64, [(100.0, 150.0, 400.0), (200.0, 300.0, 400.0), (120.0, 240.0, 300.0)])
        self.assertEqual((row.one_per_s, row.two_per_s, row.pgbench_per_s), (120.0, 240.0, 400.0))
        self.assertEqual((row.of_pgbench.median, row.of_pgbench.low, row.of_pgbench.high), (0.4, 0.25, 0.5))
        self.assertEqual((row.two_to_one.median, row.two_to_one.high), (1.5, 2.0))
        self.assertEqual(
            table(row).splitlines()[1].split(),
            ["64", "120", "240", "400", "0.40", "(0.25..0.50)", "1.50", "(1.50..2.00)"],
        )

    def test_no_database(self) -> None:
        """Without a database there is nothing to measure."""
        complaint = self.assertRaises(BenchFailed, figures, "postgres", Path(), {"database": None})
        self.assertIn("--database", str(complaint))

    def test_no_program(self) -> None:
        """Without pgbench one line says which package has it."""
        self.patch(shutil, "which", lambda *_, **__: None)
        self.assertIn("apt-get install postgresql", str(self.assertRaises(BenchFailed, program)))


@skipIf(MISSING, MISSING)
class BareTests(TestCase):
    """pgbench."""

    timeout = 60

    async def test_same_bytes(self) -> None:
        """It stores the bytes of the last sale in the same tables, as often as it says, and can be run again."""
        server().empty(DATABASE)
        url = server().url(DATABASE)
        store = PostgresStore(reactor, url, "shop", size=1)
        self.addCleanup(lambda: Deferred.fromCoroutine(store.close()))
        await store.open()
        self.assertRaises(BenchFailed, last_sale, url)
        await Keeping(store, Sizes(20, 10, 30, 5)).keep(1, 1)
        self.assertEqual(last_sale(url)["state"], b"rrrrr".hex())
        folder = Path(self.mktemp())
        folder.mkdir()
        for turn in range(2):
            self.assertGreater(await deferToThread(bare, url, folder, 2, 1, turn), 0)
        stored = (
            "SELECT DISTINCT length(value), length(sent), length(answer), length(r.state), d.state FROM document d "
            "JOIN operation o ON o.n = d.operation_n JOIN register r ON r.device_n = d.device_n "
            "WHERE o.state = 'done'"
        )
        self.assertEqual(server().run(stored, DATABASE), [(20, 10, 30, 5, "done")])
        [(seals, sales)] = server().run(
            "SELECT (SELECT count(*) FROM seal), (SELECT count(*) FROM operation WHERE state = 'done')", DATABASE
        )
        self.assertEqual(seals, sales)

    def test_failed(self) -> None:
        """A script that the server refuses is one line, without the password."""
        self.patch(postgres, "SCRIPT", "SELECT nothing;")
        self.patch(postgres, "last_sale", lambda url: {})
        folder = Path(self.mktemp())
        folder.mkdir()
        complaint = self.assertRaises(BenchFailed, bare, server().url("postgres"), folder, 1, 1, 0)
        self.assertIn("pgbench ended with status", str(complaint))
