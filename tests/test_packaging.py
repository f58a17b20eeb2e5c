"""The files of the Debian package and of the container."""

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
"""The highest exposure that systemd-analyze may report for the unit; 10 is a service that may do everything."""


def unit() -> RawConfigParser:
    """The unit; a key that occurs several times has its last value."""
    parsed = RawConfigParser(strict=False, interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment, method-assign]
    parsed.read(UNIT, "utf-8")
    return parsed


class UnitTests(SynchronousTestCase):
    """The unit of systemd."""

    def test_exposure(self) -> None:
        """`systemd-analyze security` finds that the service has few rights."""
        judge = shutil.which("systemd-analyze")
        if judge is None:
            raise SkipTest("there is no systemd-analyze here")
        done = subprocess.run(
            [judge, "security", "--offline=true", "--no-pager", str(UNIT)], capture_output=True, timeout=60
        )
        found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout.decode())
        assert found, (done.stdout, done.stderr)
        self.assertLessEqual(float(found[1]), MOST_EXPOSED)
        # It reports unknown settings on the standard error, and ignores them.
        self.assertEqual(done.stderr.decode(), "")

    def test_devices(self) -> None:
        """Adapters that are plugged in later are allowed: majors are numbers, which systemd need not look up."""
        allowed = re.findall(r"^DeviceAllow=(\S+) rw$", UNIT.read_text(), re.MULTILINE)
        self.assertLess({"char-4", "char-166", "char-188", "char-180", "char-6"}, set(allowed))
        self.assertEqual([one for one in allowed if not re.fullmatch(r"char-\d+", one)], [])
        self.assertEqual(set(unit()["Service"]["SupplementaryGroups"].split()), {"dialout", "lp"})

    def test_stop(self) -> None:
        """Only the service itself stops its writer, and systemd waits while it asks for more time."""
        service = unit()["Service"]
        self.assertEqual((service["Type"], service["KillMode"]), ("notify", "mixed"))
        self.assertGreaterEqual(int(service["TimeoutStopSec"]), 30)
        self.assertEqual(service["Restart"], "on-failure")


class PinsTests(SynchronousTestCase):
    """The versions in packages and containers."""

    def test_all(self) -> None:
        """Every required library is pinned, and so is the one for MS SQL, which a package cannot add later."""
        setup = RawConfigParser(interpolation=None)
        setup.read(ROOT / "setup.cfg", "utf-8")
        wanted = setup["options"]["install_requires"] + setup["options.extras_require"]["mssql"]
        here = [line for line in wanted.split("\n") if line.strip() and "win32" not in line]
        names = {re.split(r"[\[ <>=~;]", line)[0].lower() for line in here}
        pinned = dict(re.findall(r"^([a-z0-9-]+)==([\w.]+)$", (PACKAGING / "pins.txt").read_text(), re.MULTILINE))
        self.assertEqual(names - pinned.keys(), set())


class ScriptTests(SynchronousTestCase):
    """The scripts that dpkg runs as root."""

    def test_syntax(self) -> None:
        """The shell that runs a script can parse it."""
        for script in (*SCRIPTS, DEBIAN / "build.sh", PACKAGING / "pins.sh"):
            done = subprocess.run(["sh", "-n", str(script)], capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""), script.name)
            self.assertTrue(script.stat().st_mode & 0o100, script.name)

    def test_only_purge_deletes(self) -> None:
        """The shop's data are deleted in one place: at a purge, when the answer to the question is yes."""
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
        """The service accepts the configurations in the packages, and keeps all its data where the unit allows it."""
        for file in (DEBIAN / "dmtwisted.toml", PACKAGING / "container.toml"):
            self.assertEqual(str(load(file).state), "/var/lib/dmtwisted", file.name)
        self.assertEqual(unit()["Service"]["StateDirectory"], "dmtwisted")
        # Each commented line works too, apart from a database server that does not exist here.
        shown = re.sub(r"(?m)^# (\w+ = )", r"\1", (DEBIAN / "dmtwisted.toml").read_text())
        file = Path(self.mktemp())
        file.write_text(shown, "utf-8")
        config = load(file)
        self.assertEqual(
            (config.server.host, config.log.format, config.service.training), ("localhost", "json", True)
        )


class PackageTests(SynchronousTestCase):
    """How dpkg-deb reads the description."""

    def test_control(self) -> None:
        """dpkg-deb accepts the description, and the package needs the Python version of its libraries."""
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
        output = subprocess.run(["dpkg-deb", "--field", file], check=True, capture_output=True).stdout.decode()
        self.assertIn(f"Depends: {pythons}, libc6", output)


class ContainerTests(SynchronousTestCase):
    """The container file."""

    def test_sources(self) -> None:
        """Every file that it copies exists, and it copies all sources of our wheel."""
        text = (PACKAGING / "Containerfile").read_text()
        copied = [line.split()[1:-1] for line in re.findall(r"^COPY (?!--from).*$", text, re.MULTILINE)]
        sources = {source for line in copied for source in line}
        self.assertEqual([source for source in sources if not (ROOT / source).exists()], [])
        self.assertLess({"dmtwisted", "protocols", "web", "twisted", "setup.cfg", "pyproject.toml"}, sources)

    def test_user(self) -> None:
        """The container does not run as root, keeps its data in a volume, and has a health check."""
        text = (PACKAGING / "Containerfile").read_text()
        self.assertRegex(text, r"(?m)^USER dmtwisted$")
        self.assertRegex(text, r"(?m)^VOLUME /var/lib/dmtwisted$")
        self.assertRegex(text, r'(?s)HEALTHCHECK .*"dmtwisted", "ready"')
