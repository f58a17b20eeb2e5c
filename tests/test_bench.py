"""The benchmark reads its command line, calculates shares, and measures processes correctly."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from contextlib import closing, redirect_stdout
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python import usage
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from dmtwisted.lab.bench import bench
from dmtwisted.lab.bench import sales as bench_sales
from dmtwisted.lab.bench import sign as bench_sign
from dmtwisted.lab.bench.figures import Share
from dmtwisted.lab.bench.keeping import USUAL_SIZES, Sizes, keep_sales, sizes_kept
from dmtwisted.lab.bench.options import BenchOptions, numbers
from dmtwisted.lab.bench.sales import Round, Row, row_of, table
from dmtwisted.lab.bench.sign import Report, signing_report, typical_receipt
from dmtwisted.lab.bench.sign import words as told_by
from dmtwisted.lab.bench.tax import Beside, beside_report, beside_words, tax_report
from dmtwisted.lab.bench.tax import Report as TaxReport
from dmtwisted.lab.bench.tax import Round as TaxRound
from dmtwisted.lab.bench.tax import as_json as tax_as_json
from dmtwisted.lab.bench.tax import words as tax_words
from dmtwisted.lab.children import Cpu, NotStarted, cpu_of, filesystem, per_sale, scratch_folder, stat_cpu
from dmtwisted.lab.load import Load
from dmtwisted.store.schema import ddl
from dmtwisted.store.sqlite.memory import MemoryStore
from dmtwisted.store.sqlite.statements import conclude, reserve
from dmtwisted.store.values import DocumentIntent, Intent, Outcome, State
from protocols.fiscal.check_xml import Check
from protocols.fiscal.crypto.arithmetic import PLAIN
from protocols.fiscal.document_xml import decode
from protocols.simulators.fiscal_arithmetic import receipt_faults


class OptionsTests(SynchronousTestCase):
    """``dmtwisted bench``"""

    def parse(self, *words: str) -> Any:
        """The options of these words."""
        options = BenchOptions()
        options.parseOptions(words)
        return options

    def test_defaults(self) -> None:
        """Without options 1, 8 and 64 connections are measured three times for five seconds."""
        options = self.parse("sales").subOptions
        self.assertEqual(options["connections"], [1, 8, 64])
        self.assertEqual((options["seconds"], options["rounds"]), (5.0, 3))
        self.assertEqual((options["state"], options["json"]), (None, 0))

    def test_given(self) -> None:
        """What is given is taken as numbers."""
        options = self.parse("sales", "--connections", "2,16", "--seconds", "0.5", "--rounds", "1", "--json")
        chosen = options.subOptions
        self.assertEqual((chosen["connections"], chosen["seconds"], chosen["rounds"]), ([2, 16], 0.5, 1))
        self.assertTrue(chosen["json"])

    def test_nonsense(self) -> None:
        """Numbers that cannot be meant are an error of use."""
        for words in ("--connections 0", "--connections 1,x", "--seconds 0", "--rounds -1"):
            self.assertRaises(usage.UsageError, self.parse, "sales", *words.split())

    def test_no_measurement(self) -> None:
        """One of the measurements has to be named."""
        self.assertRaises(usage.UsageError, self.parse)

    def test_numbers(self) -> None:
        """Numbers stand between commas."""
        self.assertEqual(numbers("1, 8,64"), [1, 8, 64])

    def test_sizes(self) -> None:
        """The sizes of a sale are exactly four numbers."""
        self.assertEqual(self.parse("writer", "--sizes", "1,2,3,4").subOptions["sizes"], Sizes(1, 2, 3, 4))
        self.assertEqual(self.parse("writer").subOptions["sizes"], USUAL_SIZES)
        self.assertRaises(usage.UsageError, self.parse, "writer", "--sizes", "1,2,3")


def load(rate: float, p50: float = 1.0, p99: float = 2.0) -> Load:
    """A load of ten seconds."""
    return Load(int(rate * 10), 10.0, p50, p99, 3.0, 0, [], 15.0)


class RowTests(SynchronousTestCase):
    """From rounds to the table."""

    rounds = (
        Round(load(1000, 1.0, 9.0), load(1250), load(2000), (300.0, 100.0)),
        Round(load(900, 3.0, 7.0), load(1000), load(3000), (500.0, 120.0)),
        Round(load(1200, 2.0, 8.0), load(2000), load(1500), (400.0, 110.0)),
    )

    def test_medians(self) -> None:
        """A row has the median of the rounds, each figure for itself."""
        row = row_of(8, self.rounds, 4000)
        self.assertEqual((row.connections, row.sales_per_s, row.p50_ms, row.p99_ms), (8, 1000, 2.0, 8.0))
        self.assertEqual((row.service_cpu_us, row.writer_cpu_us), (400.0, 110.0))
        self.assertEqual(row.without_engine_per_s, 1250)
        self.assertEqual((row.plain_per_s, row.writer_per_s, row.of_writer), (2000, 4000, 0.25))

    def test_share_of_each_round(self) -> None:
        """The share of a peer is taken within each round: the machine is noisy for both."""
        self.assertEqual(row_of(8, self.rounds, 4000).of_without_engine, Share(0.8, 0.6, 0.9))
        self.assertEqual(row_of(8, self.rounds, 4000).of_plain, Share(0.5, 0.3, 0.8))

    def test_table(self) -> None:
        """The table has a line for each number of connections."""
        rows = [row_of(number, self.rounds, 4000) for number in (1, 64)]
        lines = table(rows).splitlines()
        self.assertEqual(len(lines), 3)
        self.assertIn("service µs/sale", lines[0])
        self.assertEqual(
            " ".join(lines[2].split()), "64 1000 2.0 8.0 400 110 0.80 (0.60..0.90) 0.50 (0.30..0.80) 0.25"
        )
        self.assertEqual(len({len(line) for line in lines}), 1)

    def test_table_without_processors(self) -> None:
        """Without processor times their columns are left out."""
        rounds = [Round(one.sales, one.without_engine, one.plain, None) for one in self.rounds]
        lines = table([row_of(1, rounds, 4000)]).splitlines()
        self.assertNotIn("µs", lines[0])
        self.assertEqual(" ".join(lines[1].split()), "1 1000 2.0 8.0 0.80 (0.60..0.90) 0.50 (0.30..0.80) 0.25")


class ProcessTests(SynchronousTestCase):
    """What processes cost."""

    def test_stat(self) -> None:
        """Parent and ticks are found behind a name of any spelling."""
        text = "4711 (a (b) c) S 17 4711 4711 0 -1 4194560 9 0 0 0 123 45 6 7 20 0 1 0 99"
        self.assertEqual(stat_cpu(text), (17, 168))

    def test_ourselves(self) -> None:
        """Our own processor time is found where there is a ``/proc``."""
        cpu = cpu_of(os.getpid())
        if not Path("/proc/self/stat").exists():
            self.assertIsNone(cpu)
        else:
            assert cpu is not None
            self.assertGreater(cpu.service, 0)

    def test_per_sale(self) -> None:
        """The difference is divided by the sales; without figures or sales it is unknown."""
        before, after = Cpu(1.0, 0.5), Cpu(3.0, 1.0)
        self.assertEqual(per_sale(before, after, 1000), (2000.0, 500.0))
        self.assertIsNone(per_sale(before, after, 0))
        self.assertIsNone(per_sale(None, after, 10))

    def test_filesystem(self) -> None:
        """The nearest mount above a folder is its file system."""
        mounts = Path(self.mktemp())
        mounts.write_text("a / ext4 rw 0 0\nb /tmp tmpfs rw 0 0\nc /tmp/deep xfs rw 0 0\n", "utf-8")
        self.assertEqual(filesystem(Path("/tmp/scratch"), mounts), "tmpfs")
        self.assertEqual(filesystem(Path("/tmp/deep/scratch"), mounts), "xfs")
        self.assertEqual(filesystem(Path("/tmpx/scratch"), mounts), "ext4")

    def test_filesystem_unknown(self) -> None:
        """Where the system does not tell, it is called unknown."""
        self.assertIn("unknown", filesystem(Path("/tmp/x"), Path(self.mktemp())))

    def test_scratch_folder(self) -> None:
        """The temporary folder is gone afterwards, also after a failure."""
        home = Path(self.mktemp())
        home.mkdir()
        with self.assertRaises(KeyError), scratch_folder(str(home)) as folder:
            (folder / "file").write_text("something", "utf-8")
            raise KeyError
        self.assertEqual(list(home.iterdir()), [])


class NotStartedTests(SynchronousTestCase):
    """A service that does not start."""

    def test_one_clear_line(self) -> None:
        """When something that is measured does not start, the exit status is 1 and one line says why."""
        said: list[str] = []

        def refuse(*_: object) -> list[Row]:
            raise NotStarted("the service ended with status 1: port in use")

        self.patch(bench_sales, "sales_report", refuse)
        self.patch(sys.stderr, "write", said.append)
        options = BenchOptions()
        home = Path(self.mktemp())
        home.mkdir()
        options.parseOptions(["sales", "--state", str(home)])
        self.assertEqual(bench.run(options), 1)
        self.assertEqual("".join(said), "dmtwisted bench: the service ended with status 1: port in use\n")


class KeepSalesTests(SynchronousTestCase):
    """The writer alone."""

    def test_sizes_of_a_database(self) -> None:
        """What a sale takes in the database of the service is what the writer alone is given to keep."""
        path = Path(self.mktemp())
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            for statement in ddl():
                db.execute(statement)
            document = DocumentIntent(1, "sale", 1, 0, 100, b"v" * 11, b"s" * 12)
            n = reserve(db, Intent(1, "fiscal", 1, "tag", b"", 0, [document])).n
            conclude(db, Outcome(n, 1, State.DONE, 0, 0, b"a" * 13, {1: "TEST_1"}, b"r" * 14))
        self.assertEqual(sizes_kept(path), Sizes(11, 12, 13, 14))

    def test_each_sale_is_kept(self) -> None:
        """Every sale that is counted is an operation of the journal, done, with its receipt."""
        store = MemoryStore()
        self.successResultOf(Deferred.fromCoroutine(store.open()))
        load = self.successResultOf(Deferred.fromCoroutine(keep_sales(store, 1, 0.01, USUAL_SIZES)))
        self.assertGreaterEqual(load.count, 1)
        self.assertEqual(self.successResultOf(Deferred.fromCoroutine(store.unresolved(None))), [])
        first = self.successResultOf(Deferred.fromCoroutine(store.find(1, "fiscal", f"1-{1:036d}")))
        assert first is not None
        self.assertEqual(len(first.answer), USUAL_SIZES.answer)


class SignTests(SynchronousTestCase):
    """``dmtwisted bench sign``"""

    def test_report(self) -> None:
        """Both ways sign the same receipt in turns; the words say what was signed and how far rounds differ."""
        ticks = iter(range(0, 10**9, 10**6))
        busy = iter(range(0, 10**9, 10**5))
        report = signing_report(2, 3, lambda: next(ticks), lambda: next(busy))
        self.assertEqual({(row.cpu_p50_ms, row.cpu_p95_ms) for row in report.rows}, {(0.1, 0.1)})
        self.assertEqual(
            [(row.p50_ms, row.p95_low_ms, row.p95_high_ms) for row in report.rows], [(1, 1, 1)] * len(report.rows)
        )
        self.assertEqual(report.rows[0].by, "plain Python")
        self.assertEqual(len(report.rows) == 1, bool(report.why_plain))
        told = told_by(report)
        for part in (f"{report.receipt_bytes} bytes", "m = 257", "3 rounds of 2", "plain Python", "1.00 to 1.00 ms"):
            self.assertIn(part, told)

    def test_receipt(self) -> None:
        """What is signed is a receipt that keeps to the schema and adds up."""
        check = decode(typical_receipt())
        assert isinstance(check, Check)
        self.assertEqual(list(receipt_faults(check)), [])

    def test_alone(self) -> None:
        """Without the library only plain Python is measured, and the reason is shown."""
        self.patch(bench_sign, "ways", lambda: ([PLAIN], "it has no curves"))
        report = signing_report(1, 1)
        self.assertEqual(len(asdict(report)["rows"]), 1)
        self.assertIn("not used: it has no curves", told_by(report))

    def test_run(self) -> None:
        """The command measures as often as its options say."""
        options = BenchOptions()
        options.parseOptions(["sign", "--count", "3", "--rounds", "2", "--json"])
        asked: list[tuple[int, int]] = []

        def measured(count: int, rounds: int) -> Report:
            asked.append((count, rounds))
            return Report(1, 2, 257, count, rounds, [])

        self.patch(bench_sign, "signing_report", measured)
        with redirect_stdout(StringIO()) as out:
            self.assertEqual(bench.run(options), 0)
        self.assertEqual((asked, json.loads(out.getvalue())["count"]), ([(3, 2)], 3))


class TaxTests(SynchronousTestCase):
    """``dmtwisted bench tax``"""

    report = TaxReport(
        2, 1000.0, True, [TaxRound([1050.0, 1090.0]), TaxRound([1120.0, 1060.0])], [TaxRound([1040.0])]
    )

    def test_defaults(self) -> None:
        """Without options it is two registers at a tax service that takes a second, over TLS."""
        options = BenchOptions()
        options.parseOptions(["tax"])
        chosen: Any = options.subOptions
        self.assertEqual((chosen["registers"], chosen["delay"], chosen["rounds"]), (2, 1.0, 10))
        self.assertFalse(chosen["plain"])

    def test_figures(self) -> None:
        """A round lasts until the last till has its receipt; what is above the delay is ours."""
        told = tax_as_json(self.report)
        self.assertEqual((told["all_ms"]["p50"], told["all_ms"]["max"]), (1090.0, 1120.0))
        self.assertEqual(told["one_ms"]["p95"], 1040.0)
        lines = tax_words(self.report).splitlines()
        self.assertEqual(lines[-2].split(), ["1", "1040", "1040", "1040", "40"])
        self.assertEqual(lines[-1].split(), ["2", "1090", "1120", "1120", "90"])

    def test_beside(self) -> None:
        """A sale on protocol B is compared with the one on A of the same round."""
        beside = Beside(1000.0, True, {"a": [1100.0, 1000.0, 1200.0], "b": [1100.0, 1100.0, 1080.0]})
        self.assertEqual(beside.ratio, Share(1.0, 0.95, 1.05))
        lines = beside_words(beside).splitlines()
        self.assertEqual([line.split() for line in lines[2:4]], [["a", "1100", "100"], ["b", "1100", "100"]])
        self.assertEqual(lines[-1], "B to A: 1.00 (0.95..1.05).")

    def test_measured(self) -> None:
        """The real service at the simulated tax service: every sale is fiscalised, none faster than that answers."""
        if not os.environ.get("DMTWISTED_SLOW"):
            raise SkipTest("set DMTWISTED_SLOW=1 to start the service and the tax service")
        with scratch_folder(None) as folder:
            report = tax_report(folder, 2, 0.2, 2, tls=False)
        self.assertEqual([len(one.spent_ms) for one in report.rounds + report.alone], [2, 2, 1, 1])
        self.assertGreaterEqual(min(min(one.spent_ms) for one in report.rounds), 200.0)
        with scratch_folder(None) as folder:
            beside = beside_report(folder, 0.2, 2, tls=True)
        self.assertGreaterEqual(min(min(spent) for spent in beside.spent_ms.values()), 200.0)
