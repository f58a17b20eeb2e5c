"""``dmtwisted run``: the command line of twistd, and on Windows the reactor."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from unittest import mock

from twisted.application import app
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands import run as module
from dmtwisted.commands.launch import LaunchOptions
from dmtwisted.commands.main import main
from dmtwisted.commands.run import arguments, choose_reactor, run
from dmtwisted.config import Config, ConfigError, DatabaseConfig
from dmtwisted.system.environment import environment

NOBODY_ASKED = """
import sys
from unittest import mock
from dmtwisted.commands import main, run
seen = lambda *_: print("twisted.internet.reactor" in sys.modules)
with mock.patch.object(run, "choose_reactor", lambda _: None), mock.patch.object(run.app, "run", seen):
    main.main(["run", "--config", sys.argv[1]])
"""


class RunTests(SynchronousTestCase):
    """Before twistd takes over."""

    def options(self, *words: str) -> LaunchOptions:
        """What was asked for."""
        options = LaunchOptions()
        options.parseOptions(list(words))
        return options

    def test_arguments(self) -> None:
        """Every option reaches twistd; Windows' twistd knows no file for the number of its process."""
        asked = self.options("--state", "d", "--port", "1", "--training", "--until-input-ends")
        ours = ["dmtwisted", "--state", "d", "--port", "1", "--training", "--until-input-ends"]
        self.assertEqual(arguments(asked, "linux"), ["twistd", "--nodaemon", "--pidfile=", *ours])
        self.assertEqual(arguments(asked, "win32"), ["twistd", "--nodaemon", *ours])

    def test_reactor(self) -> None:
        """On Windows completion ports are chosen; but not with PostgreSQL, whose driver has sockets of its own."""
        chosen: list[str] = []
        ports = ModuleType("twisted.internet.iocpreactor")
        ports.__dict__["install"] = lambda: chosen.append("iocp")
        with mock.patch.dict(sys.modules, {ports.__name__: ports}):
            choose_reactor(Config(database=DatabaseConfig("postgresql://till@db/tills")))
            self.assertEqual(chosen, [])
            choose_reactor(Config(database=DatabaseConfig("mssql://till@db/tills")))
            choose_reactor(Config())
        self.assertEqual(chosen, ["iocp"] * 2)

    def test_order(self) -> None:
        """The reactor is chosen before twistd runs, and not at all elsewhere."""
        done: list[str] = []
        self.patch(module, "choose_reactor", lambda config: done.append("reactor"))
        self.patch(app, "run", lambda *_: done.append("twistd"))
        self.patch(sys, "argv", sys.argv)
        for platform, expected in (("win32", ["reactor", "twistd"]), ("linux", ["twistd"])):
            done.clear()
            self.assertEqual(run(self.options("--state", "d"), platform), 0)
            self.assertEqual(done, expected)

    def test_nobody_asked_before(self) -> None:
        """Nothing that is loaded until then has asked for a reactor: the first who does gets the default."""
        config = Path(self.mktemp())
        config.write_text(f"[service]\nstate = '{config.resolve().parent}'\n", "utf-8")
        command = [sys.executable, "-c", NOBODY_ASKED, str(config)]
        ended = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((ended.stdout.strip(), ended.stderr), ("False", ""))

    def test_no_tls(self) -> None:
        """A service with a certificate does not start where the TLS library cannot be loaded, and says why."""
        config = Path(self.mktemp())
        config.write_text("[tls]\ncertificate = 'desk.pem'\nkey = 'desk.key'\n", "utf-8")
        with mock.patch.dict(sys.modules, {"dmtwisted.access.tls": None}):
            refused = self.assertRaises(ConfigError, self.options("--config", str(config)).load)
        self.assertIn("HTTPS needs the TLS library, which does not load: ", str(refused))

    def test_letters(self) -> None:
        """Where a pipe's code page has no Ukrainian letters UTF-8 is written; else single letters are escaped."""
        for page, written in (("cp1252", "Кава ☕".encode()), ("cp1251", "Кава ".encode("cp1251") + rb"\u2615")):
            raw = io.BytesIO()
            stream = io.TextIOWrapper(raw, encoding=page)
            self.patch(sys, "stderr", stream)
            with mock.patch.object(sys, "stdout", io.StringIO()):
                self.assertRaises(SystemExit, main, ["Кава ☕"])
            stream.flush()
            self.assertIn(written, raw.getvalue())
