"""What the package for Debian and the container are made of."""

from __future__ import annotations

import re
import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.config import load
from tests.test_house import ROOT

PACKAGING = ROOT / "packaging"
DEBIAN = PACKAGING / "debian"
UNIT = DEBIAN / "dmtwisted.service"

SCRIPTS = [DEBIAN / name for name in ("postinst", "prerm", "postrm")]

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


class PinsTests(SynchronousTestCase):
    """The versions that packages and containers are made of."""

    def test_all(self) -> None:
        """Every library that the service needs is pinned, and MS SQL's, which nobody could add to a package."""
        setup = RawConfigParser(interpolation=None)
        setup.read(ROOT / "setup.cfg", "utf-8")
        wanted = setup["options"]["install_requires"] + setup["options.extras_require"]["mssql"]
        here = [line for line in wanted.split("\n") if line.strip() and "win32" not in line]
        names = {re.split(r"[\[ <>=~;]", line)[0].lower() for line in here}
        pinned = dict(re.findall(r"^([a-z0-9-]+)==([\w.]+)$", (PACKAGING / "pins.txt").read_text(), re.MULTILINE))
        self.assertEqual(names - pinned.keys(), set())


class ScriptTests(SynchronousTestCase):
    """What dpkg runs as root."""

    def test_syntax(self) -> None:
        """Every script can be read by the shell that runs it."""
        for script in (*SCRIPTS, DEBIAN / "build.sh", PACKAGING / "pins.sh"):
            done = subprocess.run(["sh", "-n", str(script)], capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""), script.name)
            self.assertTrue(script.stat().st_mode & 0o100, script.name)

    def test_only_purge_deletes(self) -> None:
        """The shop's data are deleted at one place: after a purge, when the answer to the question is yes."""
        for script in SCRIPTS:
            deleting = [
                line.strip() for line in script.read_text().splitlines() if re.search(r"\brm\b.*\$state", line)
            ]
            self.assertEqual(deleting, ['rm -rf "$state"'] if script.name == "postrm" else [], script.name)
        for name in ("dmtwisted.toml", "templates"):
            self.assertIn("/var/lib/dmtwisted", (DEBIAN / name).read_text())
        template = (DEBIAN / "templates").read_text()
        self.assertRegex(template, r"(?m)^Default: false$")
        after = (DEBIAN / "postrm").read_text()
        self.assertIn('if [ $delete = true ]; then\n    rm -rf "$state"', after)
        self.assertEqual(re.findall(r"delete=(\w+)", after), ["false", "true"])

    def test_configuration(self) -> None:
        """The configurations that come along are taken by the service, and keep all of it where the unit says."""
        for file in (DEBIAN / "dmtwisted.toml", PACKAGING / "container.toml"):
            self.assertEqual(str(load(file).state), "/var/lib/dmtwisted", file.name)
        self.assertEqual(unit()["Service"]["StateDirectory"], "dmtwisted")
        # Each line that is only shown can be used as well, but for a database server that is not there.
        shown = re.sub(r"(?m)^# (\w+ = )", r"\1", (DEBIAN / "dmtwisted.toml").read_text())
        file = Path(self.mktemp())
        file.write_text(shown, "utf-8")
        config = load(file)
        self.assertEqual(
            (config.server.host, config.log.format, config.service.training), ("127.0.0.1", "json", True)
        )


class PackageTests(SynchronousTestCase):
    """What dpkg-deb makes of the description."""

    def test_control(self) -> None:
        """dpkg-deb takes the description, and the package needs a Python that its libraries are made for."""
        if shutil.which("dpkg-deb") is None:
            raise SkipTest("there is no dpkg-deb here")
        tree, file = Path(self.mktemp()).absolute(), Path(self.mktemp()).absolute()
        (tree / "DEBIAN").mkdir(parents=True)
        pythons = "python3 (>= 3.11), python3 (<< 3.14~)"
        words = {"VERSION": "1.2", "ARCHITECTURE": "amd64", "SIZE": "1", "PYTHON": pythons}
        text = re.sub(r"@(\w+)@", lambda found: words[found[1]], (DEBIAN / "control.in").read_text())
        (tree / "DEBIAN" / "control").write_text(text)
        for script in SCRIPTS:
            shutil.copy(script, tree / "DEBIAN")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, file], check=True, capture_output=True)
        told = subprocess.run(["dpkg-deb", "--field", file], check=True, capture_output=True).stdout.decode()
        self.assertIn(f"Depends: {pythons}, libc6", told)


class ContainerTests(SynchronousTestCase):
    """The container file."""

    def test_sources(self) -> None:
        """Whatever it copies is there, and all that our wheel is made of is copied."""
        text = (PACKAGING / "Containerfile").read_text()
        copied = [line.split()[1:-1] for line in re.findall(r"^COPY (?!--from).*$", text, re.MULTILINE)]
        sources = {source for line in copied for source in line}
        self.assertEqual([source for source in sources if not (ROOT / source).exists()], [])
        self.assertLess({"dmtwisted", "protocols", "web", "twisted", "setup.cfg", "pyproject.toml"}, sources)

    def test_user(self) -> None:
        """It does not run as root, keeps its data in a volume, and is looked at by the probe."""
        text = (PACKAGING / "Containerfile").read_text()
        self.assertRegex(text, r"(?m)^USER dmtwisted$")
        self.assertRegex(text, r"(?m)^VOLUME /var/lib/dmtwisted$")
        self.assertRegex(text, r'(?s)HEALTHCHECK .*"dmtwisted", "ready"')
