"""Two source trees are measured in turn, each as itself, and their ratios are taken within each round."""

from __future__ import annotations

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from twisted.python import usage
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from dmtwisted.lab.bench import against, commits, idle
from dmtwisted.lab.bench.against import Row, figures, in_turns, rows_of, table
from dmtwisted.lab.bench.figures import Share, quartiles
from dmtwisted.lab.bench.keeping import Sizes
from dmtwisted.lab.bench.options import BenchOptions
from dmtwisted.lab.children import (
    HOME,
    BenchFailed,
    Child,
    NotStarted,
    environment,
    interpreter,
    scratch_folder,
    service,
)


def chosen(*words: str) -> Any:
    """The options of ``dmtwisted bench against``."""
    options = BenchOptions()
    options.parseOptions(["against", *words])
    return options.subOptions


class OptionsTests(SynchronousTestCase):
    """What is asked for."""

    def test_defaults(self) -> None:
        """Everything is measured, sales at the usual numbers of connections."""
        self.assertEqual(chosen()["what"], [*against.MEASURED])
        self.assertEqual(chosen("--what", "start, sales")["what"], ["start", "sales"])
        self.assertEqual(chosen()["connections"], [1, 8, 64])

    def test_unknown(self) -> None:
        """What cannot be measured is an error of use."""
        self.assertRaises(usage.UsageError, chosen, "--what", "sales,weather")

    def test_incomplete(self) -> None:
        """Without a tree, or with one database for two trees, nothing is started."""
        for words in ([], ["--tree", ".", "--database", "postgresql://x/y"]):
            self.assertRaises(BenchFailed, figures, "against", Path(), chosen(*words))


class TreeTests(SynchronousTestCase):
    """A service of another tree."""

    def test_own_python(self) -> None:
        """Another tree runs with its own Python and imports its own packages; ours as before."""
        tree = Path(self.mktemp())
        self.assertRaises(NotStarted, interpreter, tree)
        python = tree / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        python.parent.mkdir(parents=True)
        python.touch()
        self.assertEqual(interpreter(tree), str(python))
        self.assertEqual(interpreter(), sys.executable)
        for each in (tree, HOME):
            self.assertEqual(environment(each)["PYTHONPATH"].split(os.pathsep)[0], str(each))

    def test_told(self) -> None:
        """The service of a tree is told it; else it is ours."""
        state = Path(self.mktemp())
        self.assertEqual(service(state, 1, tree=state).tree, state)
        self.assertEqual(service(state, 1).tree, HOME)


class TurnTests(SynchronousTestCase):
    """Rounds and ratios."""

    def test_turns(self) -> None:
        """Each round begins with the tree that the round before it ended with; a salt is used once for each tree."""
        seen: list[tuple[str, str]] = []
        trees: Any = ["this", "other"]

        def measure(child: Any, salt: str) -> dict[str, float]:
            seen.append((child, salt))
            return {"per second": len(child)}

        pairs = in_turns(trees, measure, range(3))
        self.assertEqual([name for name, _ in seen], ["this", "other", "other", "this", "this", "other"])
        self.assertEqual(len(set(seen)), 6)
        self.assertEqual(pairs, [({"per second": 4}, {"per second": 5})] * 3)

    def test_ratios(self) -> None:
        """A ratio is of this tree to the other one in one round; a figure that a round lacks has no row."""
        pairs = [
            ({"per second": 20.0, "processor µs": 1.0}, {"per second": 10.0, "processor µs": 1.0}),
            ({"per second": 90.0}, {"per second": 30.0}),
            ({"per second": 40.0, "processor µs": 1.0}, {"per second": 10.0, "processor µs": 1.0}),
        ]
        (row,) = rows_of("sales at 8: ", pairs)
        self.assertEqual(row, Row("sales at 8: per second", 10.0, 40.0, Share(3.0, 2.5, 3.5)))
        self.assertIn("3.00 (2.50..3.50)", table([row]))

    def test_quartiles(self) -> None:
        """Quartiles need two rounds; one round is its own."""
        self.assertEqual(quartiles([1.0, 2.0, 3.0, 4.0, 100.0]), Share(3.0, 2.0, 4.0))
        self.assertEqual(quartiles([2.0]), Share(2.0, 2.0, 2.0))

    def test_loads(self) -> None:
        """Every number of connections is measured in turn on both, with what the load is to look for."""
        asked: list[tuple[int, int, tuple[str, ...]]] = []

        def measured(child: Any, number: int, seconds: float, salt: str, *more: str) -> Any:
            asked.append((child.port, number, more))
            return child.load, (300.0, 100.0 * child.port)

        class Load:
            rate, p50_ms, p99_ms = 100.0, 2.0, 5.0

        children: Any = [Child("service", [], port, Path()) for port in (1, 2)]
        for child in children:
            child.load = Load
        self.patch(against, "measured", measured)
        self.patch(against, "load_on", lambda *_: None)
        rows = against._loads("sales", children, chosen("--connections", "1,8", "--rounds", "2"), "--wanted", "x")
        self.assertEqual([port for port, _, _ in asked], [1, 2, 1, 2, 2, 1, 2, 1])
        self.assertEqual({more for *_, more in asked}, {("--wanted", "x")})
        names = ["per second", "p50 ms", "p99 ms", "processor µs"]
        self.assertEqual([row.what for row in rows], [f"sales at {n}: {name}" for n in (1, 8) for name in names])
        self.assertEqual(rows[3].ratio.median, 400 / 500)


class StartTests(SynchronousTestCase):
    """A start and its end."""

    def test_stopped(self) -> None:
        """A service that ends instead of being ready is an error, and is stopped."""
        done: list[str] = []

        def refuse(child: Child) -> bool:
            raise BenchFailed("the service ended: port in use")

        child = Child("service", [], 1, Path())
        self.patch(child, "spawn", lambda: done.append("spawn"))
        self.patch(child, "stop", lambda: done.append("stop"))
        self.patch(idle, "_is_ready", refuse)
        with self.assertRaises(BenchFailed), idle.started(child):
            done.append("measured")
        self.assertEqual(done, ["spawn", "stop"])


class CommitTests(SynchronousTestCase):
    """``dmtwisted bench commits``"""

    def test_two_commits(self) -> None:
        """Each pair is two transactions that keep the bytes of a sale, and is timed as a whole."""
        with closing(sqlite3.connect(":memory:")) as db:
            db.executescript(commits.TABLES)
            seen: list[str] = []
            db.set_trace_callback(seen.append)
            ticks = iter(range(0, 10**9, 10**6))
            spent = commits.two_commits(db, Sizes(10, 20, 30, 40), 0.004, lambda: next(ticks))
            self.assertEqual((spent, seen.count("COMMIT")), ([10**6] * 2, 4))
            rows = db.execute("SELECT length(document), length(sent), length(answer) FROM sale").fetchall()
            self.assertEqual(rows, [(10, 20, 30)] * 2)
            self.assertEqual(db.execute("SELECT length(state) FROM register").fetchall(), [(40,)])

    def test_ratios(self) -> None:
        """The ratio is that of the till to the commits of the same round."""
        p50, p99 = commits.rows_of([((3.0, 8.0), (2.0, 4.0)), ((6.0, 8.0), (3.0, 4.0)), ((2.0, 8.0), (2.0, 4.0))])
        self.assertEqual((p50.till_ms, p50.commits_ms, p50.ratio), (3.0, 2.0, Share(1.5, 1.25, 1.75)))
        self.assertEqual(p99.ratio, Share(2.0, 2.0, 2.0))
        self.assertIn("1.50 (1.25..1.75)", commits.table([p50, p99]))


class MeasuredTests(SynchronousTestCase):
    """Real services."""

    def setUp(self) -> None:
        """These start processes."""
        if not os.environ.get("DMTWISTED_SLOW"):
            raise SkipTest("set DMTWISTED_SLOW=1 to start services and a tax service")

    def test_against(self) -> None:
        """A tree next to itself: sales, receipts that are offline, starts."""
        options = chosen("--connections", "2", "--seconds", "0.3", "--rounds", "2", "--devices", "2")
        for measure in against.MEASURED.values():
            with scratch_folder(None) as folder:
                self.assertTrue(all(row.this > 0 for row in measure(folder, [HOME, HOME], ["", ""], options)))

    def test_commits(self) -> None:
        """A till and bare commits."""
        with scratch_folder(None) as folder:
            self.assertTrue(all(row.commits_ms > 0 for row in commits.commits_report(folder, 0.3, 2)))
