"""The suite by the Windows Python: what it leaves out, and how it goes on after a test that hangs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO

from twisted.trial.unittest import SynchronousTestCase

from tests import windows_suite
from tests.not_on_windows import EXCLUDED, reason
from tests.windows_suite import PART, Run, modules

WORKER = """
import json, sys
def tell(*line):
    print(chr(30) + json.dumps(line), flush=True)
for name in sys.argv[1:]:
    tell(name + ".A.test_a", "begun", "")
    if name == "dies":
        sys.exit("no memory")
    if name == "hangs":
        sys.stdin.read()
    tell(name + ".A.test_a", "passed", "")
    tell(name + ".A.test_b", "excluded", "by fork")
    tell(name, "over", "")
    if name == "leaves":
        import subprocess
        subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"])
"""
"""A process that runs modules; some of them do not end well."""


class ExcludedTests(SynchronousTestCase):
    """What is left out."""

    def test_known(self) -> None:
        """Each line names a module, a class or a test that there is, with a reason."""
        for name, why in EXCLUDED.items():
            module, *inside = name.split(".")
            found: object = import_module(f"tests.{module}")
            for part in inside:
                found = getattr(found, part, None) or import_module(f"tests.{module}.{part}")
            self.assertGreater(len(why), 10, name)

    def test_reason(self) -> None:
        """A line holds for all that is in the module or class, and for nothing else; what nobody listed runs."""
        with_class, without = "test_sqlite_store.FullDiskTests", "tests.test_sqlite_store.OpenTests.test_new_file"
        self.assertEqual(reason(f"tests.{with_class}.test_any"), EXCLUDED[with_class])
        self.assertEqual((reason(without), reason("tests.test_new")), ("", ""))
        self.assertIn("tests.test_suite", modules())
        self.assertNotIn("tests.test_device_file", modules())

    def test_part(self) -> None:
        """What runs at every change is a part of all."""
        self.assertLessEqual(set(PART), set(modules()))


class RunTests(SynchronousTestCase):
    """Modules in processes."""

    def ran(self, names: Sequence[str]) -> tuple[Run, str]:
        """What came of modules, and what was printed."""
        run = Run(list(names), (sys.executable, "-c", WORKER))
        with redirect_stdout(StringIO()) as told:
            run.work()
        return run, told.getvalue()

    def test_counted(self) -> None:
        """Outcomes are counted, and reasons kept."""
        run, _ = self.ran(["a", "b", "c"])
        self.assertEqual(dict(run.counts), {"passed": 3, "excluded": 3})
        self.assertEqual(dict(run.reasons), {("excluded", "by fork"): 3})
        self.assertEqual(set(run.seconds), {"a", "b", "c"})

    def test_dies(self) -> None:
        """A test that ends the process has failed, with the last words; the modules after it run."""
        self.patch(windows_suite, "PROCESSES", 1)
        run, told = self.ran(["a", "dies", "b", "c", "d"])
        self.assertEqual((run.counts["passed"], run.counts["failed"]), (4, 1))
        self.assertIn("[FAILED] dies.A.test_a\nthe process ended with status 1\n\nno memory", told)

    def test_leaves(self) -> None:
        """A program that a test left running, with the output of its own, holds nothing up."""
        run, _ = self.ran(["leaves", "a"])
        self.assertEqual((run.counts["passed"], run.counts["failed"]), (2, 0))

    def test_hangs(self) -> None:
        """So has one from which nothing is heard for too long."""
        self.patch(windows_suite, "SILENCE", 5.0)
        run, told = self.ran(["hangs", "a"])
        self.assertEqual((run.counts["passed"], run.counts["failed"]), (1, 1))
        self.assertIn("[FAILED] hangs.A.test_a\nsilent for", told)
