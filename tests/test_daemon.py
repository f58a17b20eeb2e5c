"""The service as a daemon: by twistd with the options that people know, and under a service manager."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from unittest import skipUnless

from dmtwisted.commands.launch import acting_as
from dmtwisted.lab.children import family, free_port, is_writer
from tests.test_service_process import HOME, HOST, PATIENCE, RUN, ProcessCase, Service, until
from tests.web_case import fiscal, sale

TWISTD = ("-c", "from twisted.scripts.twistd import run; run()")
NOBODY = "nobody"

on_linux = skipUnless(sys.platform == "linux", "daemons and /proc are looked at on Linux")


def alive(pid: int) -> bool:
    """Whether the process still runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def uid_of(pid: int) -> set[int]:
    """Every kind of user id of a process: real, effective, saved, of files."""
    found = re.search(r"^Uid:\s+(.*)$", Path(f"/proc/{pid}/status").read_text("utf-8"), re.MULTILINE)
    assert found
    return set(map(int, found[1].split()))


class DaemonCase(ProcessCase):
    """A daemon of twistd."""

    def setUp(self) -> None:
        """Where its files are."""
        super().setUp()
        self.pid_file, self.log = self.folder / "our.pid", self.folder / "our.log"
        self.port = free_port()

    def start(self, *options: str) -> tuple[int, str]:
        """What the command that starts the daemon ends with, and what it says."""
        self.addCleanup(self.see_it_gone)
        files = ("--pidfile", str(self.pid_file), "--logfile", str(self.log))
        done = subprocess.run(
            [sys.executable, *TWISTD, *files, *options],
            capture_output=True,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(HOME)},
            timeout=60,
        )
        return done.returncode, (done.stdout + done.stderr).decode()

    def see_it_gone(self) -> None:
        """Nothing of a test is left behind."""
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(self.pid_file.read_text("utf-8")), signal.SIGKILL)

    @property
    def service(self) -> Service:
        """The way to it over HTTP."""
        made = Service.__new__(Service)
        made.port = self.port
        return made

    def ready(self) -> int:
        """Its process, as soon as it takes tasks."""

        def asked() -> bool | None:
            try:
                return self.service.request("GET", "/health/ready")[0] == 200 or None
            except OSError:
                return None

        until(asked, "the daemon is not ready")
        return int(self.pid_file.read_text("utf-8"))

    def options(self) -> tuple[str, ...]:
        """Those of the service."""
        return ("dmtwisted", "--training", "--state", str(self.folder / "state"), "--port", str(self.port))


@on_linux
class TwistdTests(DaemonCase):
    """``twistd --pidfile --logfile --uid --gid dmtwisted``"""

    def test_life(self) -> None:
        """It leaves the terminal, writes its pid and its log, opens a moved log again on request, drains and ends."""
        self.assertEqual(self.start(*self.options()), (0, ""))
        pid = self.ready()
        self.assertNotEqual(os.getsid(pid), os.getsid(0))
        self.assertEqual(self.service.execute(fiscal(0, "open"))["res"], 0)
        self.assertIn(f"serving on http://127.0.0.1:{self.port}/", self.log.read_text("utf-8"))

        self.log.rename(self.folder / "moved.log")
        os.kill(pid, signal.SIGHUP)
        until(lambda: self.log.exists() or None, "the log is not opened anew")

        rules = {"rules": [{"on": "sale", "then": "accept", "delay_ms": 3000}]}
        path = self.service.device()
        self.service.request("PUT", f"{path}/scenario", rules)
        selling = self.service.connect()
        self.addCleanup(selling.close)
        selling.request("POST", "/dm/execute", json.dumps(sale("slow")), {"Content-Type": "application/json"})
        until(lambda: json.loads(self.service.request("GET", path)[1])["state"]["busy"] or None, "no sale has begun")
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(json.loads(selling.getresponse().read())["res"], 0)
        until(lambda: not alive(pid) or None, "it does not end")
        self.assertFalse(self.pid_file.exists())
        self.assertIn("stopped", self.log.read_text("utf-8"))

    def test_user(self) -> None:
        """With ``--uid`` and ``--gid`` service, writer and every file are that user's, the state folder included."""
        uid, gid = self.user()
        # A relative state folder, in a folder that only root may write: root makes it and gives it away.
        state = self.folder / "made" / "state"
        config = self.config(f'[server]\nhost = "{HOST}"\nport = {self.port}\n[service]\nstate = "made/state"\n')
        logs = self.folder / "logs"
        logs.mkdir()
        os.chown(logs, uid, gid)
        self.log, self.pid_file = logs / "our.log", logs / "our.pid"
        status = self.start("--uid", str(uid), "--gid", str(gid), "dmtwisted", "--training", "--config", config)
        self.assertEqual(status[0], 0, status)
        pid = self.ready()
        processes = [pid, *filter(is_writer, family(pid))]
        self.assertEqual((len(processes), set().union(*map(uid_of, processes))), (2, {uid}))
        self.assertEqual(self.service.execute(fiscal(0, "open"))["res"], 0)
        owners = {file.name: file.stat().st_uid for file in [state, self.log, *state.rglob("*")]}
        self.assertEqual({name: owner for name, owner in owners.items() if owner != uid}, {})
        self.assertIn("dmtwisted.db", owners)
        os.kill(pid, signal.SIGTERM)
        until(lambda: not alive(pid) or None, "it does not end")
        self.assertFalse(self.pid_file.exists())

    def user(self) -> tuple[int, int]:
        """The user to become: `nobody` if that is allowed and `nobody` can run this Python, else the current one."""
        if os.geteuid() == 0:
            import pwd

            other = pwd.getpwnam(NOBODY)
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                subprocess.run(
                    [sys.executable, "-c", "import twisted, dmtwisted, os; os.listdir('.')"],
                    capture_output=True,
                    check=True,
                    cwd=self.folder,
                    env={**os.environ, "PYTHONPATH": str(HOME)},
                    user=other.pw_uid,
                    group=other.pw_gid,
                    extra_groups=[],
                )
                return other.pw_uid, other.pw_gid
        return os.getuid(), os.getgid()

    def test_cannot_start(self) -> None:
        """A daemon that finds its database to be another program's says so in its log and leaves no number behind."""
        state = self.folder / "state"
        state.mkdir()
        with closing(sqlite3.connect(state / "dmtwisted.db")) as database:
            database.execute("CREATE TABLE device (whose TEXT)")
        # A number from before a power cut is no obstacle.
        self.pid_file.write_text("999999999", "utf-8")
        self.assertEqual(self.start(*self.options())[0], 0)
        until(lambda: "cannot start" in self.log.read_text("utf-8") or None, "nothing is said")
        until(lambda: not self.pid_file.exists() or None, "its number is left behind")

    def test_taken(self) -> None:
        """What can be known before it leaves the terminal ends the command with its reason, advice and status 1."""
        with socket.create_server((HOST, 0)) as taken:
            self.port = taken.getsockname()[1]
            status, said = self.start(*self.options())
        self.assertEqual((status, said.count("\n"), "cannot listen" in said), (1, 2, True), said)
        self.assertFalse(self.pid_file.exists())


@on_linux
class ActingTests(ProcessCase):
    """Being another user for a while."""

    def test_oneself(self) -> None:
        """Without another user, or with the current one, nothing changes."""
        before = os.geteuid(), os.getegid(), os.getgroups()
        for user in ((None, None), (os.geteuid(), None), (os.geteuid(), os.getegid()), (None, os.getegid())):
            with acting_as(*user):
                self.assertEqual((os.geteuid(), os.getegid()), before[:2])
            self.assertEqual((os.geteuid(), os.getegid(), os.getgroups()), before)


@on_linux
class ManagerTests(ProcessCase):
    """Under a service manager such as systemd."""

    def setUp(self) -> None:
        """A manager that listens."""
        super().setUp()
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        address = f"dmtwisted-{os.getpid()}-{time.monotonic_ns()}"
        self.manager.bind(f"\0{address}")
        self.manager.settimeout(PATIENCE)
        self.patch(os, "environ", {**os.environ, "NOTIFY_SOCKET": f"@{address}", "WATCHDOG_USEC": "3000000"})

    def hear(self) -> str:
        """The next message."""
        return self.manager.recv(4096).decode()

    def test_life(self) -> None:
        """Ready means that tasks are accepted; it reports that it lives, reloads at a hangup, and stops."""
        service = self.spawn(*RUN, "--training", "--state", "state", "--port", str(free_port()))
        ready = self.hear()
        # Nothing is waited for: the service manager knows, and tills may sell.
        service.port = service._port() or 0
        self.assertTrue(ready.startswith(f"READY=1\nSTATUS=serving on http://127.0.0.1:{service.port}/"), ready)
        self.assertEqual(service.request("GET", "/health/ready")[0], 200)
        self.assertEqual(service.execute(fiscal(0, "open"))["res"], 0)
        self.assertEqual([self.hear(), self.hear()], ["WATCHDOG=1"] * 2)
        environment = Path(f"/proc/{service.writer}/environ").read_bytes()
        self.assertNotIn(b"NOTIFY_SOCKET", environment)
        service.process.send_signal(signal.SIGHUP)
        told = [self.hear()]
        while not told[-1].startswith("READY"):
            told.append(self.hear())
        self.assertIn("RELOADING=1", "\n".join(told))
        service.process.terminate()
        self.assertEqual(service.wait(), 0)
        self.manager.setblocking(False)
        told = []
        with contextlib.suppress(BlockingIOError):
            while True:
                told.append(self.hear())
        self.assertIn("STOPPING=1", "\n".join(told))
        # It also goes on reporting that it lives until it has stopped.
        self.assertIn("EXTEND_TIMEOUT_USEC=", [each for each in told if each != "WATCHDOG=1"][-1])
