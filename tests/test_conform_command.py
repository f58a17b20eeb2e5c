"""``dmtwisted conform``: what it prints, what it keeps, and its exit status."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

from twisted.logger import globalLogBeginner
from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands import conform
from dmtwisted.commands.conform import ConformOptions, run
from dmtwisted.conformance.levels import saved
from dmtwisted.conformance.stands import STANDS
from dmtwisted.conformance.suite import checks_of
from dmtwisted.devices.drivers import find_drivers


class ConformTests(SynchronousTestCase):
    """The command."""

    def call(self, line: str) -> tuple[int, str]:
        """Exit status, and what was printed."""
        options = ConformOptions()
        options.parseOptions(line.split())
        out = StringIO()
        self.patch(sys, "stdout", out)
        self.patch(sys, "stderr", out)
        self.patch(globalLogBeginner, "beginLoggingTo", lambda *_, **__: None)
        status = run(options)
        self.flushLoggedErrors()
        return status, out.getvalue()

    def test_driver(self) -> None:
        """The failed checks of a driver are printed with their promises, then its level; the exit status shows it."""
        status, told = self.call("--driver caisse-ap")
        self.assertEqual(status, 0)
        self.assertIn("FAILED 2 lost-approval-is-found: The line breaks after the approval", told)
        lacking = "finish, read_card, settlement, totals"
        self.assertIn(f"terminal caisse-ap: level 1 (safe) without {lacking}, suite 3", told)
        self.assertEqual(self.call("--driver caisse-ap --level 2 --only restart-asks")[0], 1)

    def test_wanted_level(self) -> None:
        """Below the wanted level the status is 1."""
        self.assertEqual(self.call("--kind terminal --driver ecr17 --level 3")[0], 1)

    def test_json(self) -> None:
        """As JSON each check of each stand is printed."""
        told = json.loads(self.call("--driver ssi-json --json --only kopecks-are-exact")[1])
        [driver] = told["drivers"]
        self.assertEqual([stand["stand"] for stand in driver["stands"]][1], "terminal ssi-json (two steps)")
        [check] = driver["stands"][0]["checks"]
        self.assertEqual((check["name"], check["passed"]), ("kopecks-are-exact", True))

    def test_list(self) -> None:
        """The checks of a kind can be listed with their promises; none is run."""
        told = self.call("--list --kind terminal")[1]
        self.assertEqual(len(told.splitlines()), 1 + len(checks_of("terminal")))

    def test_stand(self) -> None:
        """A driver that is not installed is looked at by the stand that is named."""
        status, told = self.call("--stand tests.test_conform_command:ZVT --only one-byte-at-a-time -v")
        self.assertEqual(status, 0)
        self.assertIn("terminal zvt (serial): 1 passed, 0 failed", told)
        self.assertNotIn("level", told)

    def test_nobody(self) -> None:
        """A driver, a stand or a kind that is not there is said."""
        status, said = self.call("--driver escpso")
        self.assertEqual(
            (status, said.splitlines()[0]), (1, "dmtwisted: there is no such driver; did you mean escpos?")
        )
        self.assertEqual(self.call("--stand nowhere:STAND")[0], 1)
        for line in ("--kind display", "--save --stand x:Y", "--level 4"):
            self.assertRaises(usage.UsageError, ConformOptions().parseOptions, line.split())

    def test_without_a_stand(self) -> None:
        """A driver that names no stand is said, and does not keep the others from being looked at."""
        found = find_drivers()
        nowhere = replace(found["terminal", "zvt"], name="nowhere", origin="nowhere 1")
        drivers = {("terminal", "nowhere"): nowhere, ("terminal", "ecr17"): found["terminal", "ecr17"]}
        self.patch(conform, "find_drivers", lambda: drivers)
        status, told = self.call("--kind terminal --only kopecks-are-exact -v")
        self.assertIn("the terminal nowhere names no stand", told)
        self.assertIn("passed: 1 kopecks-are-exact", told)
        self.assertEqual((status, self.call("--driver nowhere")[0]), (1, 1))

    def test_save(self) -> None:
        """Levels are kept for drivers of other packages alone: those of the tree have theirs."""
        state = Path(self.mktemp())
        state.mkdir()
        self.call(f"--driver training --kind terminal --save --state {state}")
        self.assertEqual(saved(state), {})
        drivers = find_drivers()
        zvt = replace(drivers["terminal", "caisse-ap"], origin="tiny 1", stand="tests.test_conform_command:TINY")
        self.patch(conform, "find_drivers", lambda: {("terminal", "caisse-ap"): zvt})
        self.call(f"--driver caisse-ap --save --state {state}")
        [(key, found)] = saved(state).items()
        self.assertEqual((key, found.level, found.origin), ("terminal caisse-ap", 1, "tiny 1"))


TINY = STANDS["terminal", "caisse-ap"]
ZVT = STANDS["terminal", "zvt"]
