"""The files of the Debian package and of the container, and what they are made of."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from unittest import SkipTest

from packaging.requirements import Requirement
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.config import load
from tests.test_house import ROOT
from tools.audit import audited, everywhere
from tools.bom import main
from tools.pins import BUILD_PINS, COMPILE_PINS, PINS, SOURCE_ONLY, TEST_PINS, wanted

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
        allowed = re.findall(r"^DeviceAllow=(\S+) rw$", UNIT.read_text("utf-8"), re.MULTILINE)
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
    """The versions in packages, the container and on Windows."""

    def pins(self, file: Path) -> dict[str, tuple[str, str, list[str]]]:
        """The pins of a file by name: version, marker, hashes."""
        pin = r"^([a-z0-9-]+)==([\w.]+)(?: ; ([^\\\n]+?))?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$"
        found = re.findall(pin, file.read_text("utf-8"), re.MULTILINE)
        return {name: (version, marker, re.findall(r"sha256:(\w+)", rest)) for name, version, marker, rest in found}

    def test_all(self) -> None:
        """Every required library is pinned within its range, and so is the one for MS SQL: no package can add it."""
        pins = self.pins(PINS)
        for line in wanted("mssql"):
            requirement = Requirement(line)
            version, marker, _ = pins[requirement.name.lower()]
            self.assertIn(version, requirement.specifier, line)
            self.assertEqual(bool(marker), "win32" in line, line)

    def test_suite(self) -> None:
        """The libraries of the suite are pinned within their ranges, the service's own as packages have them."""
        pins = [Requirement(line) for line in TEST_PINS.read_text("utf-8").splitlines() if not line.startswith("#")]
        versions = {pin.name: pin.specifier for pin in pins if not pin.marker or pin.marker.evaluate()}
        packaged = self.pins(PINS)
        for requirement in map(Requirement, wanted("docs", "test")):
            name = requirement.name.lower()
            if name != SOURCE_ONLY and not (requirement.marker and "win32" in str(requirement.marker)):
                [pin] = versions[name]
                self.assertIn(pin.version, requirement.specifier, name)
        for name in {*versions} & {*packaged}:
            self.assertIn(packaged[name][0], versions[name], name)

    def test_hashes(self) -> None:
        """Each line is a pin, a hash of it, or a comment, so pip checks every file that it takes."""
        for file in (PINS, BUILD_PINS, COMPILE_PINS):
            lines = [line for line in file.read_text("utf-8").splitlines() if not line.startswith("#")]
            read = [len(hashes) for _, _, hashes in self.pins(file).values()]
            self.assertEqual(len(read) + sum(read), len(lines), file.name)
        self.assertEqual([*self.pins(BUILD_PINS)], ["setuptools"])

    def test_checked(self) -> None:
        """Each install of a package's parts demands hashes, and takes nothing that would have to be built."""
        for file in (
            DEBIAN / "build.sh",
            PACKAGING / "wheels.sh",
            PACKAGING / "compiled.sh",
            PACKAGING / "windows.sh",
            PACKAGING / "Containerfile",
        ):
            text = re.sub(r"#.*", "", file.read_text("utf-8")).replace("\\\n", " ")
            installs = re.findall(r"pip(?: -\S+)* +(?:install|wheel) .*", text)
            self.assertTrue(installs, file.name)
            for install in installs:
                if not install.endswith('"$work/source"'):
                    self.assertIn("--require-hashes", install)
                    self.assertRegex(install, "--only-binary :all:|--no-build-isolation")

    def test_order(self) -> None:
        """A library that has no wheel is the last, alone: its hash is replaced by that of the wheel that we build."""
        self.assertEqual([name for name in self.pins(PINS)][-1], SOURCE_ONLY)
        self.assertEqual(len(self.pins(PINS)[SOURCE_ONLY][2]), 1)
        self.assertIn(f"pinned {SOURCE_ONLY}", (PACKAGING / "wheels.sh").read_text("utf-8"))


class BillTests(SynchronousTestCase):
    """`tools.bom`"""

    def setUp(self) -> None:
        """An artefact, and what pip says of its parts."""
        self.patch(os, "environ", {**os.environ, "SOURCE_DATE_EPOCH": "1790000000"})
        self.folder, site = Path(self.mktemp()), Path(self.mktemp())
        self.folder.mkdir()
        self.artefact = self.folder / "dmtwisted_1.0_amd64.deb"
        self.artefact.write_bytes(b"a package")
        for name, head in {
            "dmtwisted-1.0": "Requires-Dist: Base[tls] >= 2\nRequires-Dist: ms_sql >= 2; extra == 'mssql'\n"
            "Requires-Dist: never >= 2; extra == 'test'\n",
            "Base-2.0": "License-Expression: MIT\nRequires-Dist: locks>=1; extra == 'tls'\n"
            "Requires-Dist: ms.sql; extra == 'no'\n",
            "locks-1.1": "Classifier: License :: OSI Approved :: BSD License\nLicense: a whole text\n",
            "ms_sql-2.3": "License: LGPL-2.1\n",
        }.items():
            (site / f"{name}.dist-info").mkdir(parents=True)
            name, version = name.split("-")
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{head}"
            (site / f"{name}-{version}.dist-info" / "METADATA").write_text(text, "utf-8")
        taken = {"archive_info": {"hashes": {"sha256": "ab" * 32}}}
        report = {"install": [{"metadata": {"name": "Base"}, "download_info": taken}]}
        site.with_name(site.name + ".json").write_text(json.dumps(report), "utf-8")
        main(self.artefact, [site])
        self.text = (self.folder / (self.artefact.name + ".cdx.json")).read_text("utf-8")
        main(self.artefact, [site])
        self.again = (self.folder / (self.artefact.name + ".cdx.json")).read_text("utf-8")

    def test_parts(self) -> None:
        """It tells the artefact's hash, each part with version, licence and hash, and who requires whom."""
        bill = json.loads(self.text)
        whole = bill["metadata"]["component"]
        self.assertEqual(whole["hashes"][0]["content"], sha256(b"a package").hexdigest())
        parts = {one["name"]: one for one in bill["components"]}
        self.assertEqual([*parts], ["base", "locks", "ms-sql", "DejaVu Sans Mono"])
        self.assertEqual(parts["base"]["hashes"], [{"alg": "SHA-256", "content": "ab" * 32}])
        self.assertEqual(parts["base"]["licenses"], [{"expression": "MIT"}])
        self.assertEqual(parts["locks"]["licenses"], [{"license": {"name": "BSD License"}}])
        self.assertEqual(parts["ms-sql"]["licenses"], [{"license": {"name": "LGPL-2.1"}}])
        graph = {one["ref"].rpartition("/")[2]: one["dependsOn"] for one in bill["dependencies"]}
        self.assertEqual(graph["dmtwisted@1.0"][:-1], ["pkg:pypi/base@2.0", "pkg:pypi/ms-sql@2.3"])
        self.assertEqual(graph["base@2.0"], ["pkg:pypi/locks@1.1"])

    def test_reproducible(self) -> None:
        """The same artefact has the same bill, with the time of the commit."""
        self.assertEqual(self.text, self.again)
        self.assertIn('"timestamp": "2026-09-21T', self.text)

    def test_schema(self) -> None:
        """The schema of CycloneDX 1.6 accepts it."""
        if find_spec("cyclonedx") is None:
            raise SkipTest("cyclonedx-python-lib is not installed here")
        version = import_module("cyclonedx.schema").SchemaVersion.V1_6
        judge = import_module("cyclonedx.validation.json").JsonStrictValidator(version)
        self.assertIsNone(judge.validate_str(self.text))
        self.assertIsNotNone(judge.validate_str(self.text.replace("SHA-256", "CRC")))

    def test_sums(self) -> None:
        """The checksums cover each file beside it, in the form of sha256sum."""
        lines = (self.folder / "SHA256SUMS").read_text("utf-8").splitlines()
        self.assertEqual(
            [line.split("  ")[1] for line in lines], sorted(file.name for file in self.folder.iterdir())[1:]
        )
        for line in lines:
            digest, name = line.split("  ")
            self.assertEqual(sha256((self.folder / name).read_bytes()).hexdigest(), digest)


class AuditTests(SynchronousTestCase):
    """`tools.audit`"""

    def asked(self, *parts: object, text: str = "") -> tuple[int, str]:
        """What is made of an answer of pip-audit."""
        said = text or json.dumps({"dependencies": parts, "fixes": []})
        return audited(
            [sys.executable, "-c", "import sys; print(sys.argv[1]); print('no network', file=sys.stderr)", said]
        )

    def test_windows(self) -> None:
        """What Windows alone installs is audited too, wherever the question is asked."""
        pins = everywhere("a==1 ; sys_platform == 'win32' \\\n    --hash=sha256:00\nb==2 \\\n    --hash=sha256:01\n")
        self.assertEqual(pins, "a==1 \\\n    --hash=sha256:00\nb==2 \\\n    --hash=sha256:01\n")
        self.assertNotIn("win32'", everywhere(PINS.read_text("utf-8")))

    def test_status(self) -> None:
        """0 only if every version was looked at and has no known hole; 1 with the holes; else 2 with one line."""
        good = {"name": "a", "version": "1", "vulns": []}
        bad = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["2.1"]}]}
        left = "Not audited: pip-audit has no data on 1 of 2 versions (Dependency not found: c)"
        unseen = {"name": "c", "skip_reason": "Dependency not found: c"}
        self.assertEqual(self.asked(good), (0, "No known holes in 1 pinned versions"))
        self.assertEqual(self.asked(good, bad), (1, "b 2: CVE-1, fixed in 2.1"))
        self.assertEqual(self.asked(bad, unseen), (1, f"b 2: CVE-1, fixed in 2.1\n{left}"))
        self.assertEqual(self.asked(good, unseen), (2, left))
        self.assertEqual(self.asked(), (2, "Not audited: pip-audit told nothing (no network)"))
        self.assertEqual(self.asked(text="a crash"), (2, "Not audited: pip-audit told nothing (no network)"))


class ScriptTests(SynchronousTestCase):
    """The scripts that dpkg runs as root."""

    def test_syntax(self) -> None:
        """The shell that runs a script can parse it."""
        for script in (*SCRIPTS, DEBIAN / "build.sh", *sorted(PACKAGING.glob("*.sh"))):
            done = subprocess.run(["sh", "-n", str(script)], capture_output=True)
            self.assertEqual((done.returncode, done.stderr), (0, b""), script.name)
            self.assertTrue(script.stat().st_mode & 0o100, script.name)

    def test_only_purge_deletes(self) -> None:
        """The shop's data are deleted in one place: at a purge, when the answer to the question is yes."""
        for script in SCRIPTS:
            deleting = [
                line.strip() for line in script.read_text("utf-8").splitlines() if re.search(r"\brm\b.*\$state", line)
            ]
            self.assertEqual(deleting, ['rm -rf "$state"'] if script.name == "postrm" else [], script.name)
        for name in ("dmtwisted.toml", "templates"):
            self.assertIn("/var/lib/dmtwisted", (DEBIAN / name).read_text("utf-8"))
        template = (DEBIAN / "templates").read_text("utf-8")
        self.assertRegex(template, r"(?m)^Default: false$")
        after = (DEBIAN / "postrm").read_text("utf-8")
        self.assertIn('if [ $delete = true ]; then\n    rm -rf "$state"', after)
        self.assertEqual(re.findall(r"delete=(\w+)", after), ["false", "true"])

    def test_configuration(self) -> None:
        """The service accepts the configurations in the packages, and keeps all its data where the unit allows it."""
        for file in (DEBIAN / "dmtwisted.toml", PACKAGING / "container.toml"):
            self.assertEqual(str(load(file).state), "/var/lib/dmtwisted", file.name)
        self.assertEqual(unit()["Service"]["StateDirectory"], "dmtwisted")
        # Each commented line works too, apart from a database server that does not exist here.
        shown = re.sub(r"(?m)^# (\w+ = )", r"\1", (DEBIAN / "dmtwisted.toml").read_text("utf-8"))
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
        text = re.sub(r"@(\w+)@", lambda found: words[found[1]], (DEBIAN / "control.in").read_text("utf-8"))
        (tree / "DEBIAN" / "control").write_text(text, "utf-8")
        for script in SCRIPTS:
            shutil.copy(script, tree / "DEBIAN")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", tree, file], check=True, capture_output=True)
        output = subprocess.run(["dpkg-deb", "--field", file], check=True, capture_output=True).stdout.decode()
        self.assertIn(f"Depends: {pythons}, libc6", output)


class SearchTests(SynchronousTestCase):
    """Where an installation looks for packages."""

    def test_links(self) -> None:
        """It passes over `build/`: the search follows links, and the Wine prefix has one to the whole disk."""
        setup = RawConfigParser()
        setup.read(ROOT / "setup.cfg", "utf-8")
        self.assertIn("build.*", setup["options.packages.find"]["exclude"].split())


class ContainerTests(SynchronousTestCase):
    """The container file."""

    def test_sources(self) -> None:
        """Every file that it copies exists, and it copies all sources of our wheel."""
        text = (PACKAGING / "Containerfile").read_text("utf-8")
        copied = [line.split()[1:-1] for line in re.findall(r"^COPY (?!--from).*$", text, re.MULTILINE)]
        sources = {source for line in copied for source in line}
        self.assertEqual([source for source in sources if not (ROOT / source).exists()], [])
        self.assertLess({"dmtwisted", "protocols", "web", "twisted", "setup.cfg", "pyproject.toml"}, sources)

    def test_user(self) -> None:
        """The container does not run as root, keeps its data in a volume, and has a health check."""
        text = (PACKAGING / "Containerfile").read_text("utf-8")
        self.assertRegex(text, r"(?m)^USER dmtwisted$")
        self.assertRegex(text, r"(?m)^VOLUME /var/lib/dmtwisted$")
        self.assertRegex(text, r'(?s)HEALTHCHECK .*"dmtwisted", "ready"')
