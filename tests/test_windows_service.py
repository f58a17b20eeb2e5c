"""The service of Windows: its wrapper, its installation, its command; against a stand-in for Windows."""

from __future__ import annotations

import inspect
import io
import sys
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest.mock import patch

from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.commands import service as command
from dmtwisted.commands.main import MainOptions
from dmtwisted.config import load
from dmtwisted.system.supervisor import STOP_PATIENCE, GaveUp, State, What
from tests import windows_doubles
from tests.specification import promises
from tests.windows_services import Windows

OURS = ("service", "control", "setup")
"""Modules of ``dmtwisted.windows`` that take pywin32 as they find it."""


class WindowsCase(SynchronousTestCase):
    """A machine with Windows, and our modules as they are there."""

    def setUp(self) -> None:
        """Make them."""
        self.windows = Windows()
        # The dictionary itself changes: the import statement of our modules looks at no other.
        modules = patch.dict(sys.modules, self.windows.modules())
        modules.start()
        self.addCleanup(modules.stop)
        for name in OURS:
            sys.modules.pop(f"dmtwisted.windows.{name}", None)
        self.service = import_module("dmtwisted.windows.service")
        self.control = import_module("dmtwisted.windows.control")
        self.setup = import_module("dmtwisted.windows.setup")
        # A package keeps its modules as attributes, too.
        package = sys.modules["dmtwisted.windows"]
        for name in OURS:
            self.patch(package, name, getattr(self, name))
        self.folder = Path(self.mktemp()).resolve()
        self.ran: list[list[str]] = []
        self.patch(self.control, "data_folder", lambda: self.folder)
        self.patch(self.control, "execute", self.execute)
        self.refused = ""

    def execute(self, line: Any) -> Any:
        """Programs of Windows."""
        self.ran.append(list(line))
        return CompletedProcess(line, 1 if self.refused else 0, "", self.refused)

    def install(self, **more: Any) -> list[str]:
        """Install the service."""
        done: list[str] = self.control.install(run=self.execute, **more)
        return done

    @property
    def installed(self) -> Any:
        """The service, as Windows knows it."""
        return self.windows.services["dmtwisted"]


class WrapperTests(WindowsCase):
    """Between Windows and the supervisor."""

    def setUp(self) -> None:
        """A service that Windows has made."""
        super().setUp()
        self.made = self.service.DmtwistedService(["dmtwisted"])

    def last(self) -> Any:
        """The last report."""
        return self.made.reported[-1]

    def test_states(self) -> None:
        """Each state is reported as Windows calls it; checkpoints move while something is pending."""
        for state in (State.STARTING, State.STARTING, State.RUNNING, State.STOPPING, State.STOPPING):
            self.made.report(state, 10)
        states = [(status, checkpoint, hint) for status, _, checkpoint, hint in self.made.reported]
        self.assertEqual(states, [(2, 1, 10_000), (2, 2, 10_000), (4, 0, 10_000), (3, 1, 10_000), (3, 2, 10_000)])

    def test_accepted(self) -> None:
        """It can be stopped, and hears early of a shutdown; while it starts Windows asks for neither."""
        self.made.report(State.RUNNING, 10)
        self.assertEqual(self.last()[1], 0x101)
        self.made.report(State.STARTING, 10)
        self.assertEqual(self.last()[1], 0)

    def test_stopped(self) -> None:
        """Stopping and a shutdown tell the supervisor and come back at once, with the time that it may take."""
        for control in (1, 15):
            self.setUp()
            self.made.ServiceCtrlHandlerEx(control, 0, None)
            self.assertEqual(self.last(), (3, 0x101, 1, int(STOP_PATIENCE * 1000)))
            self.made.SvcRun()
            self.assertEqual([what[1] for what in self.windows.events], [What.STOPPED.number])

    def test_other_controls(self) -> None:
        """Other controls have no effect; the state is reported on request."""
        self.made.ServiceCtrlHandlerEx(99, 0, None)
        self.assertEqual(self.made.reported, [])
        self.made._supervisor.state = State.RUNNING
        self.made.ServiceCtrlHandlerEx(4, 0, None)
        self.assertEqual(self.last()[0], 4)

    def test_given_up(self) -> None:
        """A service that does not stay up ends with an exception, by which pywin32 reports a failure to Windows."""
        self.patch(self.service, "ServiceChild", self.no_child)
        self.made._supervisor._wait = lambda seconds: None
        clock = iter(range(10**9))
        self.made._supervisor._seconds = lambda: next(clock)
        self.assertRaises(GaveUp, self.made.SvcRun)
        self.assertEqual(self.windows.events[-1][1:3], (What.GAVE_UP.number, 1))

    def no_child(self, given: list[str], env: dict[str, str], group: Any) -> None:
        """Python is not there any more."""
        self.assertEqual(env["PYTHONUTF8"], "1")
        raise FileNotFoundError(2, "The system cannot find the file specified")

    def test_command(self) -> None:
        """The child is the interpreter and the configuration that were there when it was installed."""
        self.install()
        started: list[list[str]] = []
        self.patch(self.service, "ServiceChild", lambda given, env, group: started.append(given))
        self.made._start()
        [line] = started
        self.assertEqual(line[0], sys.executable)
        self.assertEqual(line[line.index("--config") + 1], str(self.folder / "dmtwisted.toml"))
        self.assertIn("--until-input-ends", line)
        self.assertEqual(self.windows.open_handles, 0)

    def test_events(self) -> None:
        """The event log gets number, severity and text under our name; a full one does not stop the service."""
        for what, kind in ((What.STARTED, 4), (What.ENDED, 2), (What.PORT_TAKEN, 1)):
            self.made.tell(what, "words")
            self.assertEqual(self.windows.events[-1], ("dmtwisted", what.number, kind, ["words"]))
        self.windows.log_is_full = True
        self.made.tell(What.CRASHED, "words")

    def test_job(self) -> None:
        """What is ended is ended with all its children; where jobs are forbidden, by itself."""

        class Process:
            """A child."""

            pid = 42
            killed = False

            def kill(self) -> None:
                """End it."""
                self.killed = True

        process = Process()
        self.service.job_of(process)()
        self.assertEqual((self.windows.ended_jobs, process.killed), ([[42]], False))
        self.windows.jobs_forbidden = True
        self.service.job_of(process)()
        self.assertTrue(process.killed)


class InstallTests(WindowsCase):
    """Installing and removing."""

    @promises("1.1.2.1")
    def test_service(self) -> None:
        """The service begins with Windows, a little later, under an account of its own without a password."""
        done = self.install()
        self.assertEqual(self.installed.python_class, "dmtwisted.windows.service.DmtwistedService")
        given = {name: self.installed.given[name] for name in ("start", "account", "password")}
        self.assertEqual(given, {"start": 2, "account": r"NT SERVICE\dmtwisted", "password": ""})
        self.assertIs(self.installed.recovery[3], True)
        self.assertEqual(self.windows.sources, ["dmtwisted"])
        self.assertEqual(self.windows.options["dmtwisted", "Python"], sys.executable)
        self.assertEqual(self.windows.open_handles, 0)
        self.assertTrue(any("netsh advfirewall" in line and "localport=3939" in line for line in done), done)

    def test_class(self) -> None:
        """The class in the service's registration can be imported by its name."""
        self.install()
        module, _, name = self.installed.python_class.rpartition(".")
        self.assertIs(getattr(import_module(module), name), self.service.DmtwistedService)

    def test_recovery(self) -> None:
        """Windows starts it again later and later, also after an orderly end with an error; a shutdown waits."""
        self.install()
        actions = self.installed.recovery[2]
        self.assertEqual(actions["Actions"], ((1, 60_000), (1, 300_000), (1, 900_000)))
        self.assertEqual(set(actions), {"ResetPeriod", "RebootMsg", "Command", "Actions"})
        self.assertIs(self.installed.recovery[4], True)
        self.assertGreater(self.installed.recovery[7], STOP_PATIENCE * 1000)

    def test_manual(self) -> None:
        """Who wants to start it by hand can."""
        self.install(manual=True)
        self.assertEqual((self.installed.given["start"], self.installed.recovery[3]), (3, False))

    def test_unknown_to_the_system(self) -> None:
        """What is optional and unknown to the system is left out, with a warning; any other error is one."""
        self.windows.unknown_levels = {3, 4}
        done = self.install()
        self.assertEqual(set(self.installed.recovery), {2, 7})
        warnings = [line for line in done if line.startswith("warning")]
        self.assertEqual(["delayed start" in warnings[0], "giving up" in warnings[1]], [True, True])
        self.patch(self.control, "UNKNOWN_LEVEL", 0)
        self.assertIn("(124)", str(self.assertRaises(self.control.ControlFailed, self.install)))

    def test_configuration(self) -> None:
        """A configuration is made with data and log in the folder, can be read, and is never written over."""
        self.install()
        file = self.folder / "dmtwisted.toml"
        config = load(file)
        self.assertEqual((config.state, config.log.file), (self.folder / "data", str(self.folder / "dmtwisted.log")))
        file.write_text("[server]\nport = 4000\n", "utf-8")
        done = self.install()
        self.assertEqual(file.read_text("utf-8"), "[server]\nport = 4000\n")
        self.assertTrue(any("localport=4000" in line for line in done))

    def test_own_configuration(self) -> None:
        """One's own configuration is taken, and has to be there."""
        self.assertRaises(self.control.ControlFailed, self.install, config=Path("missing.toml"))
        self.assertEqual(self.windows.services, {})
        own = Path(self.mktemp())
        own.write_text("", "utf-8")
        self.install(config=own)
        self.assertEqual(self.windows.options["dmtwisted", "Config"], str(own.absolute()))
        self.assertIn(["icacls", str(own.absolute()), "/grant", r"NT SERVICE\dmtwisted:R", "/Q"], self.ran)
        self.install()
        self.assertEqual(self.windows.options["dmtwisted", "Config"], str(own.absolute()))

    def test_rights(self) -> None:
        """The folder is for system, administrators and service alone, by numbers where names are translated."""
        self.install()
        [line] = self.ran
        self.assertEqual(line[:4], ["icacls", str(self.folder), "/inheritance:r", "/grant:r"])
        rights = [part for part in line if part.endswith(":(OI)(CI)F")]
        self.assertEqual(
            [part.split(":")[0] for part in rights], ["*S-1-5-18", "*S-1-5-32-544", r"NT SERVICE\dmtwisted"]
        )
        self.refused = "Access is denied."
        self.assertIn("icacls", str(self.assertRaises(self.control.ControlFailed, self.install)))

    def test_again(self) -> None:
        """Installing over an older version brings it up to date and keeps everything else."""
        self.install()
        self.installed.python_class = "old.Class"
        self.assertTrue(any("existed" in line for line in self.install()))
        self.assertEqual(self.installed.python_class, "dmtwisted.windows.service.DmtwistedService")

    def test_python_of_one_user(self) -> None:
        """A Python in a user's own folder is refused before anything changes: the service could not read it."""
        self.patch(sys, "prefix", r"C:\Users\olena\AppData\Local\Programs\Python\Python312")
        self.patch(self.control.os, "environ", {"USERPROFILE": r"C:\Users\olena"})
        self.assertIn("for all users", str(self.assertRaises(self.control.ControlFailed, self.install)))
        self.assertEqual(self.windows.services, {})

    def test_no_administrator(self) -> None:
        """A user without administrator rights gets a message how to get them."""
        self.windows.administrator = False
        for act in (self.install, self.control.start, self.control.stop, self.control.remove):
            self.assertIn("administrator", str(self.assertRaises(self.control.ControlFailed, act)))

    def test_removed(self) -> None:
        """Removing stops the service, takes it and its source away, and leaves the data, saying where they are."""
        self.install()
        self.control.start()
        done = self.control.remove()
        self.assertEqual((self.windows.services, self.windows.sources), ({}, []))
        self.assertTrue((self.folder / "dmtwisted.toml").exists())
        self.assertIn(str(self.folder), done[0])

    def test_not_installed(self) -> None:
        """What is not installed can be neither started nor removed, and the words say what to do."""
        for act in (self.control.start, self.control.stop, self.control.remove, self.control.status):
            self.assertIn("service install", str(self.assertRaises(self.control.ControlFailed, act)))

    def test_started_and_stopped(self) -> None:
        """Starting or stopping twice is fine; a service that does not start is reported, with where to look."""
        self.install()
        self.assertEqual(self.control.status(), (False, "stopped"))
        for act, runs in ((self.control.stop, False), (self.control.start, True), (self.control.start, True)):
            act()
            self.assertEqual(self.control.status()[0], runs)
        self.control.stop()
        self.windows.starts = False
        self.assertIn("event log", str(self.assertRaises(self.control.ControlFailed, self.control.start)))

    def start(self, patience: float) -> list[str]:
        """Start it, with a clock that moves by each wait; what was said meanwhile."""
        clock = [0.0]
        said: list[str] = []

        def wait(seconds: float) -> None:
            clock[0] += seconds

        self.control.start(patience, said.append, lambda: clock[0], wait)
        return said

    def test_slow_start(self) -> None:
        """While it starts it is told every ten seconds how far it is."""
        self.install()
        self.windows.coming = [2] * 50
        self.assertEqual(self.start(120), ["starting for 10 s", "starting for 20 s"])

    def test_start_without_end(self) -> None:
        """A start ends after the stated time, with the last of the event log and of the log."""
        self.install()
        (self.folder / "dmtwisted.log").write_text("one\ntwo\nthree\nзайнято\n", "utf-8")
        self.windows.events = [("other", 1, 1, ["nothing"]), ("dmtwisted", 3, 1, ["ended unexpectedly"])]
        self.windows.coming = [2] * 1000
        text = str(self.assertRaises(self.control.ControlFailed, self.start, 30))
        self.assertEqual(
            text.splitlines()[:-1],
            [
                "the service is still starting after 30 s, and goes on",
                "event log: ended unexpectedly",
                *("log: two", "log: three", "log: зайнято"),
            ],
        )
        self.assertEqual((len(self.windows.coming), self.windows.open_handles), (1000 - 61, 0))

    def test_shown(self) -> None:
        """The Start menu opens the page; checks and log, which others may not read, as an administrator."""
        opened: list[tuple[str, ...]] = []
        show = lambda what: self.control.show(what, lambda *words: opened.append(words))  # noqa: E731
        self.assertRaises(self.control.ControlFailed, show, "page")
        self.install()
        for what in ("page", "doctor", "log"):
            show(what)
        page, doctor, log = opened
        self.assertEqual(page, ("http://localhost:3939/",))
        self.assertEqual(doctor[:2], ("cmd.exe", "runas"))
        self.assertIn(f'doctor --config "{self.folder / "dmtwisted.toml"}"', doctor[2])
        self.assertEqual(log, ("notepad.exe", "runas", f'"{self.folder / "dmtwisted.log"}"'))
        (self.folder / "dmtwisted.toml").write_text("[server]\nhost = '10.0.0.5'\nport = 80\n", "utf-8")
        self.install()
        for what in ("page", "log"):
            show(what)
        self.assertEqual(opened[3:], [("http://10.0.0.5:80/",), ("eventvwr.msc",)])


class CommandTests(WindowsCase):
    """``dmtwisted service``."""

    def setUp(self) -> None:
        """Somewhere to print to."""
        super().setUp()
        self.out, self.complaints = io.StringIO(), io.StringIO()
        self.patch(sys, "stdout", self.out)
        self.patch(sys, "stderr", self.complaints)

    def run_it(self, *words: str, platform: str = "win32") -> int:
        """Its exit status."""
        options = MainOptions()
        options.parseOptions(["service", *words])
        return command.run(options.subOptions, platform)

    def test_elsewhere(self) -> None:
        """On Linux it says that it is for Windows, and does nothing."""
        for words in (["install"], ["status"], ["remove"]):
            self.assertEqual(self.run_it(*words, platform="linux"), 1)
        self.assertIn("for Windows", self.complaints.getvalue())
        self.assertEqual(self.windows.services, {})

    def test_walk(self) -> None:
        """Install, start, look, stop, remove: each says what it did."""
        self.patch(
            self.control.install, "__kwdefaults__", {**self.control.install.__kwdefaults__, "run": self.execute}
        )
        for words, status, said in (
            (["install", "--manual"], 0, "installed"),
            (["status"], 3, "stopped"),
            (["start"], 0, "accepts requests"),
            (["status"], 0, "running"),
            (["stop"], 0, "has stopped"),
            (["remove"], 0, "its data stays"),
        ):
            self.assertEqual(self.run_it(*words), status, words)
            self.assertIn(said, self.out.getvalue())
        self.assertEqual(self.run_it("start"), 1)
        self.assertIn("not installed", self.complaints.getvalue())

    def test_no_pywin32(self) -> None:
        """Without pywin32 it says what is missing."""
        self.patch(sys, "modules", {**sys.modules, "win32serviceutil": None, "pywintypes": None})
        self.assertEqual(self.run_it("status"), 1)
        self.assertIn("pip install pywin32", self.complaints.getvalue())

    def test_what(self) -> None:
        """What to do has to be said."""
        self.assertRaises(UsageError, self.run_it)


class ElsewhereTests(SynchronousTestCase):
    """Machines without pywin32."""

    def test_import(self) -> None:
        """The modules can be imported, and stay small: nothing of the service comes along."""
        for name in ("dmtwisted.windows.service", "dmtwisted.windows.control", "dmtwisted.windows.child"):
            import_module(name)


class DoublesTests(SynchronousTestCase):
    """The stand-ins for pywin32 beside pywin32 itself."""

    if sys.platform != "win32":
        skip = "only on Windows: pywin32 is there"

    def test_same(self) -> None:
        """Every name of a stand-in is there, with the same number; what is Python takes the same parameters."""
        for double in (*Windows().modules().values(), *windows_doubles.modules().values()):
            real = import_module(double.__name__)
            for name, ours in vars(double).items():
                if name.startswith("__"):
                    continue
                place, theirs = f"{double.__name__}.{name}", getattr(real, name)
                if isinstance(ours, int):
                    self.assertEqual(theirs, ours, place)
                elif inspect.isfunction(theirs):
                    self.assertEqual(_parameters(ours), _parameters(theirs), place)
                else:
                    self.assertTrue(callable(theirs), place)


def _parameters(function: Any) -> list[tuple[str, Any]]:
    return [(one.name, one.default) for one in inspect.signature(function).parameters.values()]
