"""What the package for Debian and the container are made of."""

from __future__ import annotations

import re
import shutil
import subprocess
from configparser import RawConfigParser
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from tests.test_house import ROOT

DEBIAN = ROOT / "packaging" / "debian"
UNIT = DEBIAN / "dmtwisted.service"

MOST_EXPOSED = 2.0
"""What systemd-analyze may say of the unit; 10 is a service that may do everything."""


def unit() -> RawConfigParser:
    """The unit; of keys that come several times the last value."""
    parsed = RawConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment, method-assign]
    parsed.read(UNIT, "utf-8")
    return parsed


class UnitTests(SynchronousTestCase):
    """The unit of systemd."""

    def test_exposure(self) -> None:
        """systemd's own judge finds that the service may do little."""
        judge = shutil.which("systemd-analyze")
        if judge is None:
            raise SkipTest("there is no systemd-analyze here")
        done = subprocess.run(
            [judge, "security", "--offline=true", "--no-pager", str(UNIT)], capture_output=True, timeout=60
        )
        found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout.decode())
        assert found, (done.stdout, done.stderr)
        self.assertLessEqual(float(found[1]), MOST_EXPOSED)
        # What it does not know it says on the standard error, and leaves out.
        self.assertEqual(done.stderr.decode(), "")

    def test_devices(self) -> None:
        """Adapters that are plugged in later count: majors are given by number, which systemd need not look up."""
        allowed = re.findall(r"^DeviceAllow=(\S+) rw$", UNIT.read_text(), re.MULTILINE)
        self.assertLess({"char-4", "char-166", "char-188", "char-180", "char-6"}, set(allowed))
        self.assertEqual([one for one in allowed if not re.fullmatch(r"char-\d+", one)], [])
        self.assertEqual(set(unit()["Service"]["SupplementaryGroups"].split()), {"dialout", "lp"})

    def test_stop(self) -> None:
        """Nobody but the service itself ends its writer, and it is waited for while it asks for time."""
        service = unit()["Service"]
        self.assertEqual((service["Type"], service["KillMode"]), ("notify", "mixed"))
        self.assertGreaterEqual(int(service["TimeoutStopSec"]), 30)
        self.assertEqual(service["Restart"], "on-failure")
