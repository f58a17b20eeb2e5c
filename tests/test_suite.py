"""The runner of the suite: what it runs, what it watches for, and how it closes."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from twisted.logger import Logger
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.system import logs
from tests import suite, windows_suite
from tests.canaries import CANARIES, Watch, leaks
from tests.reporter import RESULT, SuiteReporter
from tests.suite import HERE, SLOW, WINDOWS, closing_lines, run_windows_part
from tests.web_case import WebCase
from tests.windows_suite import Run
from tests.worker import VARIABLE


class ModulesTests(SynchronousTestCase):
    """What is run."""

    def test_all(self) -> None:
        """Trial looks into packages only, so every folder that holds tests is one."""
        folders = {path.parent for path in HERE.rglob("test_*.py")}
        self.assertIn(HERE / "browser", folders)
        for folder in folders:
            self.assertTrue((folder / "__init__.py").exists(), folder)

    def test_slow_part(self) -> None:
        """The one reason for a skip that is no failure anywhere is the one that the slow part gives."""
        from tests.test_crash import RoundsTests

        self.assertTrue((getattr(RoundsTests, "skip", "") or SLOW).startswith(SLOW))


class ReporterTests(SynchronousTestCase):
    """What the reporter leaves of a run."""

    def test_failures(self) -> None:
        """Each test that went wrong is named with the last line of its reason."""

        class Cases(SynchronousTestCase):
            def test_fails(self) -> None:
                self.assertEqual(1, 2)

            def test_raises(self) -> None:
                raise ValueError("the first line\nthe last")

            def test_passes(self) -> None:
                """Nothing is wrong."""

        records = Path(self.mktemp())
        records.mkdir()
        self.patch(os, "environ", {VARIABLE: str(records)})
        reporter = SuiteReporter(StringIO())
        for name in ("test_fails", "test_raises", "test_passes"):
            Cases(name).run(reporter)
        reporter.done()
        outcome = json.loads((records / RESULT).read_text("utf-8"))
        names = [(name.rpartition(".")[2], why) for name, why in outcome["failures"]]
        self.assertEqual(names, [("test_fails", "1 != 2"), ("test_raises", "the last")])
        self.assertEqual((outcome["passed"], outcome["skipped"]), (1, []))


class WindowsPartTests(SynchronousTestCase):
    """What the Windows Python adds."""

    def added(self, passed: int = 5, failures: Sequence[tuple[str, str]] = (), missing: str = "") -> dict[str, Any]:
        """The record of trial afterwards; before, one test passed and one runs on Windows only."""
        records = Path(self.mktemp())
        records.mkdir()
        outcome = {"passed": 1, "failures": [], "skipped": [("tests.test_a", f"{WINDOWS}: COM")]}
        (records / RESULT).write_text(json.dumps(outcome), "utf-8")
        self.patch(windows_suite, "missing", lambda: missing)
        self.patch(windows_suite, "run", lambda names: Run([], counts=Counter(passed=passed), failures=[*failures]))
        run_windows_part(records)
        after: dict[str, Any] = json.loads((records / RESULT).read_text("utf-8"))
        return after

    def test_ran(self) -> None:
        """What it ran is added, and what was skipped elsewhere no longer counts."""
        self.assertEqual(
            self.added(failures=[("b", "why")]), {"passed": 6, "failures": [["b", "why"]], "skipped": []}
        )

    def test_nothing_passed(self) -> None:
        """A Python that ran nothing is a failure."""
        self.assertEqual(self.added(0)["failures"], [["tests.windows_suite", "no test passed"]])

    def test_missing(self) -> None:
        """Without Wine it is skipped with the reason, as is what only it can run."""
        skipped = self.added(missing="no Wine")["skipped"]
        self.assertEqual(skipped[1:], [["tests.windows_suite", "no Wine"]])


class ClosingLinesTests(SynchronousTestCase):
    """The last lines, and the exit status."""

    def closing(self, ci: str = "", leaks: Sequence[str] = (), **outcome: object) -> tuple[int, list[str]]:
        """The exit status and the lines for an outcome; by default two tests passed."""
        records = Path(self.mktemp())
        records.mkdir()
        (records / RESULT).write_text(json.dumps({"passed": 2, "failures": [], "skipped": [], **outcome}), "utf-8")
        worker = {"seconds": {"tests.test_b": 3, "tests.test_a": 9}, "leaks": list(leaks)}
        (records / "7.json").write_text(json.dumps(worker), "utf-8")
        self.patch(os, "environ", {"CI": ci})
        self.patch(suite, "FOLDER", records / "nothing")
        printed = StringIO()
        with redirect_stdout(printed):
            status = closing_lines(records, 0)
        return status, printed.getvalue().splitlines()

    def test_passed(self) -> None:
        """The slowest modules come first, and the counts stand alone on the last line."""
        status, lines = self.closing()
        self.assertEqual(status, 0)
        self.assertEqual(lines, ["slowest: tests.test_a 9 s, tests.test_b 3 s", "2 passed, 0 failed, 0 skipped"])

    def test_skipped(self) -> None:
        """A skip is named with its reason; with ``CI=true`` it fails, unless it belongs to the slow part."""
        skipped = [("tests.test_a.ATests.test_it", "no browser")]
        self.assertEqual(self.closing(skipped=skipped)[0], 0)
        status, lines = self.closing("true", skipped=skipped)
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed, 1 skipped"))
        self.assertIn("skipped: tests.test_a.ATests.test_it: no browser", lines)
        self.assertEqual(self.closing("true", skipped=[("tests.test_a.ATests.test_it", f"{SLOW} to wait")])[0], 0)

    def test_failed(self) -> None:
        """A failure is named with the last line of its reason, before the counts."""
        status, lines = self.closing(failures=[("tests.test_a.ATests.test_it", "1 != 2")])
        self.assertEqual(status, 1)
        self.assertEqual(lines[-2:], ["failed: tests.test_a.ATests.test_it: 1 != 2", "2 passed, 1 failed, 0 skipped"])

    def test_leaked(self) -> None:
        """A card number that a process saw is a failure."""
        status, lines = self.closing(leaks=["tests.test_a: log: 4111"])
        self.assertEqual((status, lines[-1]), (1, "2 passed, 1 failed, 0 skipped"))

    def test_nothing_ran(self) -> None:
        """A run without a test, or without a result, is no success."""
        self.assertEqual(self.closing(passed=0)[0], 1)
        with redirect_stdout(StringIO()):
            self.assertEqual(closing_lines(Path("nothing"), 1), 1)


class LeaksTests(SynchronousTestCase):
    """Card numbers in what tests leave behind."""

    def test_found(self) -> None:
        """A whole card number is found in any file, a masked one is none, and trial's own log is not read."""
        folder = Path(self.mktemp())
        (folder / "state").mkdir(parents=True)
        self.assertEqual(leaks(folder), [])
        (folder / "state" / "dmtwisted.db").write_bytes(b"\x00\xff" + CANARIES[0] + b"\x00")
        (folder / "service.log").write_text("paid by 411111******1111", "utf-8")
        (folder / "test.log").write_bytes(CANARIES[0])
        self.assertEqual(leaks(folder), [f"{folder / 'state' / 'dmtwisted.db'}: {CANARIES[0].decode()}"])
        # Taken away again: the suite looks at what this test leaves behind, too.
        (folder / "state" / "dmtwisted.db").unlink()


class WatchTests(WebCase):
    """Card numbers on their way to a store, a caller or a log."""

    planted = b"4012888888881881"
    """No card number that the suite looks for: this test must not fail it."""

    def setUp(self) -> None:
        """A service that is looked at."""
        self.watch = Watch(lambda: "here", (self.planted,))
        self.watch.begin()
        self.addCleanup(self.watch.end)
        super().setUp()

    def places(self) -> set[str]:
        """Where the card number was seen."""
        return {line.split(": ")[1] for line in self.watch.found}

    def test_nothing(self) -> None:
        """A day without card numbers is quiet."""
        self.open_shift()
        self.assertEqual(self.sell("1")["res"], 0)
        self.assertEqual(self.watch.found, [])

    def test_store_and_answers(self) -> None:
        """What a caller calls its sale is kept in the store, though in memory, and is in the answer."""
        self.open_shift()
        self.sell(self.planted.decode())
        self.assertEqual(self.places(), {"store", "answer", "HTTP answer"})
        self.assertEqual(self.watch.found[0].split(": ")[2], self.planted.decode())

    def test_log(self) -> None:
        """A log that forgets to mask is found out; ours does not, so there is nothing to find."""
        log = Logger(namespace="dmtwisted.test")
        log.debug("paid by {card}", card=self.planted.decode())
        self.assertEqual(self.places(), set())
        self.patch(logs, "mask_cards", str)
        log.debug("paid by {card}", card=self.planted.decode())
        self.assertEqual(self.places(), {"log"})

    def test_shapes(self) -> None:
        """Digits in groups, bytes in hex and two digits a byte are card numbers too; a masked one is none."""
        digits = self.planted.decode()
        for text in ("4012 8888 8888 1881", self.planted.hex(" "), self.planted.hex(), "40 12 88 88 88 88 18 81"):
            self.watch.found.clear()
            self.watch.look("log", f"frame {text} end")
            self.assertEqual(self.places(), {"log"}, text)
        self.watch.found.clear()
        self.watch.look("log", f"{digits[:6]}******{digits[-4:]}")
        self.assertEqual(self.watch.found, [])

    def test_end(self) -> None:
        """Afterwards everything is as it was."""
        self.watch.end()
        self.open_shift()
        self.sell(self.planted.decode())
        self.assertEqual(self.watch.found, [])
