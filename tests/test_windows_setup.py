"""What the installer for Windows does with the service, its options and its texts; against a stand-in for Windows."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from dmtwisted.commands import service as command
from dmtwisted.commands.main import MainOptions
from dmtwisted.config import Config, ServerConfig, load
from tests.test_house import ROOT
from tests.test_windows_service import WindowsCase

INSTALLER = ROOT / "packaging" / "windows"
TEXTS = (INSTALLER / "texts.nsh").read_text("utf-8")


class SetupCase(WindowsCase):
    """An installer, and what it says."""

    def setUp(self) -> None:
        """One that finds the service ready at once."""
        super().setUp()
        self.said: list[str] = []
        self.reasons = [""]
        self.base = Path(self.mktemp()).resolve()
        self.fails: dict[str, int] = {}
        self.restart()

    def restart(self) -> None:
        """Another run of the installer."""
        clock = [0.0]

        def wait(seconds: float) -> None:
            clock[0] += seconds

        self.work = self.setup.Setup(self.ready, self.said.append, self.execute, lambda: clock[0], wait)

    def ready(self, config: Config) -> str:
        """The health address: each reason once, the last one from then on."""
        return self.reasons.pop(0) if len(self.reasons) > 1 else self.reasons[0]

    def execute(self, line: Any) -> Any:
        """Programs of Windows, and commands of the former version."""
        self.ran.append(list(line))
        status = next((self.fails[word] for word in line if word in self.fails), 0)
        if not status and line[-3:-1] == ["install", "--config"]:
            # The former version registers itself.
            self.windows.options["dmtwisted", "Python"] = line[0]
            self.windows.starts = True
            self.reasons = [self.after_return]
        return CompletedProcess(line, status, "", "no space left" if status else "")

    after_return = ""

    def version(self, name: str) -> Path:
        """A version beside the others, which runs this test; its interpreter."""
        python = self.base / "versions" / name / "python.exe"
        python.parent.mkdir(parents=True)
        python.write_bytes(b"")
        self.patch(sys, "executable", str(python))
        return python

    def install(self, line: str = "/S", **_: Any) -> Any:
        """The exit status of the installer."""
        self.restart()
        return int(self.work.install(line))

    def words(self) -> list[str]:
        """What the former version was asked to do."""
        return [" ".join(line[5:7]) for line in self.ran if line[3:4] == ["-m"] or "dmtwisted.commands.main" in line]


class InstallTests(SetupCase):
    """A first installation."""

    def test_first(self) -> None:
        """The service is installed, started and ready; its configuration has the port and folder of the options."""
        state = self.base / "our tills"
        self.assertEqual(self.install(f'/S /PORT=4000 "/STATE={state}"'), 0)
        config = load(self.folder / "dmtwisted.toml")
        self.assertEqual((config.server.port, config.state), (4000, state))
        self.assertEqual(self.installed.state, 4)
        protected = [line[1] for line in self.ran if line[0] == "icacls" and "/inheritance:r" in line]
        self.assertEqual(protected, [str(self.folder), str(state)])
        self.assertEqual([line for line in self.ran if line[0] == "netsh"], [])
        self.assertEqual(self.said[-1], "the service is ready")

    def test_firewall(self) -> None:
        """On request, and then only once, the firewall lets tills in; the rule has the port of the configuration."""
        self.assertEqual(self.install("/S /FIREWALL /PORT=4000"), 0)
        removed, added = (line for line in self.ran if line[0] == "netsh")
        self.assertIn("delete", removed)
        self.assertLess({"add", "name=dmtwisted", "localport=4000", "profile=private,domain"}, set(added))

    def test_own_configuration(self) -> None:
        """One's own configuration is used where it lies, and its account may read it."""
        own = Path(self.mktemp()).resolve()
        own.write_text("[server]\nport = 4001\n", "utf-8")
        self.assertEqual(self.install(f"/S /CONFIG={own}"), 0)
        self.assertEqual(self.windows.options["dmtwisted", "Config"], str(own))

    def test_refused(self) -> None:
        """Options that are wrong, unknown or against the configuration are refused before anything changes."""
        taken = Path(self.mktemp()).resolve()
        taken.mkdir()
        (taken / "photo.jpg").write_bytes(b"")
        own = Path(self.mktemp()).resolve()
        own.write_text("[server]\nport = 4001\n", "utf-8")
        wrong = Path(self.mktemp()).resolve()
        wrong.write_text("[server]\nprot = 4001\n", "utf-8")
        for line, why in {
            "/S /PROT=4000": "unknown option /PROT",
            "/S 4000": "not an option: 4000",
            "/S /PORT=no": "from 1 to 65535",
            "/S /PORT=70000": "from 1 to 65535",
            "/S /STATE=data": "whole path",
            f"/S /STATE={taken}": "empty or a new folder",
            f"/S /STATE={ROOT.anchor}": "empty or a new folder",
            f"/S /CONFIG={own}.missing": "no file",
            f"/S /CONFIG={wrong}": "prot",
            f"/S /CONFIG={own} /PORT=4000": "has 4001",
            f"/S /CONFIG={own} /STATE={taken}": f"/STATE={taken}",
        }.items():
            self.said.clear()
            self.assertEqual(self.install(line), 5, line)
            self.assertIn(why, self.said[-1])
            self.assertEqual((self.windows.services, self.folder.exists()), ({}, False))

    def test_not_ready(self) -> None:
        """A first installation that does not become ready stays, for doctor and log, and says why."""
        self.reasons = ["127.0.0.1:3939: HTTP 503"]
        self.assertEqual(self.install(), 6)
        self.assertIn("HTTP 503", self.said[-1])
        self.assertIn("dmtwisted", self.windows.services)

    def test_ready_a_little_later(self) -> None:
        """The health address may answer a little after the service reports that it serves."""
        self.reasons = ["connection refused", "connection refused", ""]
        self.assertEqual(self.install(), 0)


class UpgradeTests(SetupCase):
    """An installation over another one."""

    def setUp(self) -> None:
        """The former version runs, and has data."""
        super().setUp()
        self.former = self.version("1.0")
        self.assertEqual(self.install(), 0)
        data = self.folder / "data" / "dmtwisted.db"
        data.parent.mkdir()
        data.write_bytes(b"")
        self.newer = self.version("1.1")
        self.said.clear()
        self.ran.clear()

    def python(self) -> str:
        """The registered interpreter."""
        return self.windows.options["dmtwisted", "Python"]

    def test_upgrade(self) -> None:
        """The former version makes a backup and stops; the new one serves; the files of all others go."""
        (self.base / "versions" / "0.9").mkdir()
        self.assertEqual(self.install(), 0)
        self.assertEqual((self.python(), self.installed.state), (str(self.newer), 4))
        self.assertEqual([*(self.base / "versions").iterdir()], [self.newer.parent])
        [backup] = [line for line in self.ran if "backup" in line]
        self.assertEqual(backup[0], str(self.former))
        self.assertEqual(self.ran.index(backup), 0)
        self.assertIn("the service has stopped", self.said)

    def test_repair(self) -> None:
        """The same version again is an upgrade too, also over an interpreter that is gone."""
        self.former.unlink()
        self.assertEqual(self.install(), 0)
        self.assertEqual([line for line in self.ran if "backup" in line], [])
        self.assertEqual(self.python(), str(self.newer))

    def test_elsewhere(self) -> None:
        """A former version that was not installed by us keeps its files."""
        other = self.base / "venv" / "python.exe"
        other.parent.mkdir()
        other.write_bytes(b"")
        self.windows.options["dmtwisted", "Python"] = str(other)
        self.assertEqual(self.install(), 0)
        self.assertTrue(other.exists())

    def test_no_backup(self) -> None:
        """Without a backup nothing changes, and the former version is not even stopped."""
        self.fails = {"backup": 1}
        self.assertEqual(self.install(), 5)
        self.assertEqual((self.python(), self.installed.state), (str(self.former), 4))
        self.assertIn("no space left", self.said[-1])

    def test_back(self) -> None:
        """A new version that does not become ready, or does not start, leaves the former one serving."""
        for broken in ("ready", "start", "install"):
            self.windows.options["dmtwisted", "Python"] = str(self.former)
            if broken == "ready":
                self.reasons = ["HTTP 503"]
            elif broken == "start":
                self.windows.starts = False
            else:
                self.patch(self.control, "install", lambda *a, **k: 1 // 0)
            self.assertEqual(self.install(), 3, broken)
            self.assertEqual((self.python(), self.installed.state), (str(self.former), 4))
            self.assertTrue(self.former.exists())
            self.assertEqual(self.said[-1], "the former version serves again")

    def test_no_way_back(self) -> None:
        """If the former version does not serve again either, that is another status."""
        self.reasons = ["HTTP 503"]
        self.after_return = "HTTP 503"
        self.assertEqual(self.install(), 4)
        self.reasons = ["HTTP 503"]
        self.fails = {"service": 1}
        self.assertEqual(self.install(), 4)
        self.assertIn("no space left", self.said[-1])

    def test_same_options_again(self) -> None:
        """The command line of the first installation can be used for an upgrade."""
        self.assertEqual(self.install(f'/S /PORT=3939 /STATE="{self.folder / "data"}"'), 0)


class UninstallTests(SetupCase):
    """Removing it."""

    def test_kept(self) -> None:
        """Service, event log source and firewall rule go, the receipts stay."""
        self.install("/S /FIREWALL")
        self.assertEqual(int(self.work.uninstall("/S")), 0)
        self.assertEqual((self.windows.services, self.windows.sources), ({}, []))
        self.assertTrue((self.folder / "dmtwisted.toml").exists())
        self.assertIn("delete", self.ran[-1])

    def test_deleted(self) -> None:
        """Asked for it deletes the data folder; a state folder elsewhere is only named."""
        state = self.base / "tills"
        self.install(f"/S /STATE={state}")
        self.assertEqual(int(self.work.uninstall("/S /DELETE-DATA")), 0)
        self.assertEqual((self.folder.exists(), state.exists()), (False, True))
        self.assertIn(f"{state} stays", self.said[-1])

    def test_twice(self) -> None:
        """A service that is gone already is no obstacle; an option that is unknown is."""
        self.assertEqual(int(self.work.uninstall("/S")), 0)
        self.assertEqual(int(self.work.uninstall("/S /DELETE-DTA")), 5)

    def test_does_not_stop(self) -> None:
        """A service that does not stop is not removed, and its data is not touched."""
        self.install()
        self.patch(self.control, "stop", self.no)
        self.assertEqual(int(self.work.uninstall("/S /DELETE-DATA")), 5)
        self.assertTrue((self.folder / "dmtwisted.toml").exists())

    def no(self) -> None:
        """It does not stop."""
        raise self.control.ControlFailed("the service did not answer in time")


class CommandTests(SetupCase):
    """``dmtwisted service setup`` and ``uninstall``."""

    def test_commands(self) -> None:
        """The command line comes by the environment; what was done stands in a file of the installer's folder."""
        prefix = self.base / "versions" / "1.0"
        prefix.mkdir(parents=True)
        out = io.StringIO()
        self.patch(sys, "stdout", out)
        self.patch(sys, "prefix", str(prefix))
        self.patch(self.setup, "Setup", lambda ready, say: self.setup_of(say))
        self.patch(os, "environ", {"DMTWISTED_SETUP": "/S /PORT=1 /NO"})
        for words, status in (("setup", 5), ("uninstall", 5)):
            options = MainOptions()
            options.parseOptions(["service", words])
            self.assertEqual(command.run(options.subOptions, "win32"), status)
        self.assertEqual(out.getvalue().count("unknown option /NO"), 2)
        self.assertRegex((self.base / "setup.log").read_text("utf-8"), r"^\d{4}-.* refused, .*/NO\n$")

    def setup_of(self, say: Any) -> Any:
        """The installer with this way to speak."""
        self.work._say = say
        return self.work

    def test_ready(self) -> None:
        """What nobody answers for is not ready; any free port cannot be asked."""
        self.assertIn("127.0.0.1:1", command.not_ready(Config(server=ServerConfig(host="localhost", port=1))))
        self.assertEqual(command.not_ready(Config(server=ServerConfig(port=0))), "")


class ScriptTests(SetupCase):
    """The files of the installer."""

    def test_languages(self) -> None:
        """Every text is there in both languages, with the same options, and is used; no other text is shown."""
        found = re.findall(r'^!insertmacro text (\w+) \\?\s*"([^"]*)" \\?\s*"([^"]*)"$', TEXTS, re.MULTILINE)
        self.assertEqual(len(found), len(re.findall(r"^!insertmacro text ", TEXTS, re.MULTILINE)))
        script = (INSTALLER / "setup.nsi").read_text("utf-8")
        self.assertEqual({name for name, _, _ in found}, set(re.findall(r"\$\(([A-Z_]+)\)", script)))
        for name, uk, en in found:
            for pattern in (r"(?<![\w.])/[A-Z?][A-Z-]*(?==|\b)", r"\$\w+|\\\w+\.log"):
                self.assertEqual(re.findall(pattern, uk), re.findall(pattern, en), name)
            if name != "MENU_PAGE":
                self.assertRegex(uk, "[а-яіїєґ]")
                self.assertNotRegex(en, "[а-яіїєґ]")
        self.assertNotRegex(script, r'MessageBox \S+ "[^$]')

    def test_options(self) -> None:
        """The help, the pages and the code have the same options."""
        [(_, help_uk, help_en)] = re.findall(r'text (HELP) \\\s*"([^"]*)" \\\s*"([^"]*)"', TEXTS)
        expected = {"S", "PORT", "STATE", "CONFIG", "FIREWALL", "D"}
        for text in (help_uk, help_en):
            self.assertEqual(set(re.findall(r"\n/([A-Z]+)\b", text.replace(r"$\n", "\n"))), expected)
        x = ROOT / "x"
        self.setup.read(f'/S /PORT=1 /STATE={x} "/CONFIG={x} y" /FIREWALL /DELETE-DATA')
        for page in (ROOT / "docs/windows.md", ROOT / "docs/uk/windows.md"):
            named = set(re.findall(r"(?<![\w/])/([A-Z][A-Z-]*)\b", page.read_text("utf-8")))
            self.assertLessEqual(expected | {"DELETE-DATA"}, named, page)

    def test_statuses(self) -> None:
        """Each status of the installer is told by the script and by the pages."""
        script = (INSTALLER / "setup.nsi").read_text("utf-8")
        for outcome in self.setup.Outcome:
            if outcome:
                self.assertIn(f"fail {outcome:d} $(", script)
                for page in (ROOT / "docs/windows.md", ROOT / "docs/uk/windows.md"):
                    self.assertRegex(page.read_text("utf-8"), rf"\|{outcome:d}\|")
