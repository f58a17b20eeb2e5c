"""A Wine of its own: programs of the Windows Python in it, the service, and cables that end in its COM ports."""

from __future__ import annotations

import atexit
import http.client
import os
import pty
import select
import shutil
import ssl
import subprocess
import tempfile
import threading
import tty
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from unittest import SkipTest

from dmtwisted.lab.children import free_port
from tests.test_service_process import HOME, PATIENCE, RUN, ProcessCase, Service, until
from tests.windows_suite import PYTHON, WINDOWS, environment, missing

PREFIX = WINDOWS / "prefix"
"""A prefix as Wine makes it, which takes longer than to copy it."""

START = 120.0
"""Seconds in which a Windows program has to be up, beside the rest of a suite."""

PORTS = 6
"""COM1 to COM6."""


MISSING = missing()
"""Why these tests cannot run here; empty when they can."""


class Wine:
    """A prefix whose port COM1 is whatever ``com1`` in ``ports`` leads to at the time, and so on."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dmtwisted-wine-"))
        self.ports = self.folder / "ports"
        self.ports.mkdir()
        self.environment = {**environment(), "WINEPREFIX": str(self.folder), "PYTHONPATH": f"Z:{HOME}"}
        subprocess.run(("cp", "--archive", f"{PREFIX}/.", self.folder), check=True, timeout=START)
        lines = [f'"COM{n}"="{self.ports}/com{n}"' for n in range(1, PORTS + 1)]
        told = self.folder / "ports.reg"
        told.write_text("\n".join(["REGEDIT4", "", r"[HKEY_LOCAL_MACHINE\Software\Wine\Ports]", *lines, ""]), "utf-8")
        self.run("wine", "regedit", "/S", f"Z:{told}")
        # The ports are read when the server starts.
        self._stop()
        # Wine's own programs live, and keep the output of the first of ours open, as long as any program runs.
        self._keeper = subprocess.Popen(
            ("wine", "cmd"),
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def run(self, *command: str, folder: Path | None = None) -> str:
        """What a program prints that ends with status 0."""
        process = subprocess.Popen(
            command,
            env=self.environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout is not None
        output, end, said = process.stdout.fileno(), os.pidfd_open(process.pid), b""
        # Not to the end of its output, which Wine's own programs that it started hold open.
        while (ready := select.select([output, end], [], [], START)[0]) and ready != [end]:
            data = os.read(output, 1 << 16)
            said += data
            if not data:
                break
        os.close(end)
        status = process.wait(START) if ready else self._end(process)
        process.stdout.close()
        assert status == 0, (command, status, said.decode("utf-8", "replace"))
        return said.decode("utf-8", "replace")

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> str:
        process.kill()
        process.wait()
        return f"it was silent for {START:.0f} s"

    def python(self, *words: str, folder: Path | None = None) -> str:
        """What the Windows Python prints."""
        return self.run("wine", str(PYTHON), *words, folder=folder)

    def _stop(self) -> None:
        # It fails when there is nothing to end.
        subprocess.run(("wineserver", "--kill"), env=self.environment, capture_output=True, timeout=PATIENCE)
        self.run("wineserver", "--wait")

    def end(self) -> None:
        """End everything in the prefix, and the prefix."""
        self._stop()
        self._keeper.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)


class WindowsService(Service):
    """The service under Wine. Its output goes through a pipe: a file as standard output ends Wine's Python."""

    trust: ssl.SSLContext | None = None
    """What its callers trust when it speaks HTTPS."""

    def __init__(self, wine: Wine, folder: Path, command: Sequence[str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._said: list[bytes] = []
        self.process = subprocess.Popen(
            ["wine", str(PYTHON), *command],
            env=wine.environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.port = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        self._said.extend(self.process.stdout)

    def wait_until_ready(self) -> None:
        """Return when it says on which port it serves, and is ready there."""
        self.port = until(self._port, "no port was printed", START)
        until(self._ready, "the service is not ready", START)

    def connect(self) -> http.client.HTTPConnection:
        """A connection to it."""
        if self.trust is None:
            return super().connect()
        return http.client.HTTPSConnection(self.host, self.port, timeout=PATIENCE, context=self.trust)

    @property
    def printed(self) -> str:
        """What it wrote so far."""
        return b"".join(self._said).decode("utf-8", "replace")

    complaints = printed

    def stop(self) -> int:
        """Stop it as its supervisor does; its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait()


@cache
def _shared() -> Wine:
    made = Wine()
    atexit.register(made.end)
    return made


class WineCase(ProcessCase):
    """Tests of the service under Wine; each process of the suite makes one prefix."""

    def setUp(self) -> None:
        """A prefix.

        :raises SkipTest: when there can be none.
        """
        if MISSING:
            raise SkipTest(MISSING)
        super().setUp()
        self.wine = _shared()

    def spawn(self, *command: str) -> WindowsService:
        """A service under Wine that has just been started; it stops when its standard input ends."""
        service = WindowsService(self.wine, self.folder, [*command, "--until-input-ends"])
        self.addCleanup(service.end)
        return service

    def windows_service(self, trust: ssl.SSLContext | None = None) -> WindowsService:
        """A service in training mode that is ready."""
        service = self.spawn(*RUN, "--training", "--state", "state", "--port", str(free_port()))
        service.trust = trust
        service.wait_until_ready()
        return service

    def cable(self, number: int) -> Cable:
        """A cable from a COM port to a device."""
        cable = Cable(self.wine.ports / f"com{number}", self.folder / f"device{number}")
        self.addCleanup(cable.end)
        return cable


class Cable:
    """A serial cable between a COM port and a Linux program: bytes pass both ways until it is cut.

    :param port: the file of the COM port; it exists while the cable is plugged in.
    :param device: the file of the serial port at the device's end.
    """

    def __init__(self, port: Path, device: Path) -> None:
        self.device, self._port = device, port
        self.sent = b""
        """What was written at the COM port so far."""
        self._far, self._far_other = _terminal(device)
        self._near, self._near_other = _terminal(port)
        self._plugged, self._held, self._over = True, False, False
        self._order: Callable[[], None] = self._unplug
        self._obeyed = threading.Event()
        self._bell, self._button = os.pipe()
        self._carrier = threading.Thread(target=self._carry, daemon=True)
        self._carrier.start()

    def cut(self) -> None:
        """Unplug the adapter: the port hangs up and is gone."""
        self._tell(self._unplug)

    def plug(self) -> None:
        """Plug the adapter in again: there is a new port under the old name."""
        self._tell(self._plug)

    def hold(self, on: bool) -> None:
        """Let the device read nothing: what is written waits in the port."""

        def order() -> None:
            self._held = on

        self._tell(order)

    def end(self) -> None:
        """Take both ends away."""
        self._tell(self._finish)
        self._carrier.join(PATIENCE)
        for file in (self._far, self._far_other, self._bell, self._button):
            os.close(file)

    def _tell(self, order: Callable[[], None]) -> None:
        self._obeyed.clear()
        self._order = order
        os.write(self._button, b"!")
        assert self._obeyed.wait(PATIENCE)

    def _unplug(self) -> None:
        self._plugged = False
        self._port.unlink()
        for file in (self._near, self._near_other):
            os.close(file)

    def _plug(self) -> None:
        self._near, self._near_other = _terminal(self._port)
        self._plugged = True

    def _finish(self) -> None:
        if self._plugged:
            self._unplug()
        self._over = True

    def _carry(self) -> None:
        while not self._over:
            near = [self._near] if self._plugged and not self._held else []
            readable = select.select([self._bell, self._far, *near], [], [])[0]
            if self._bell in readable:
                os.read(self._bell, 1)
                self._order()
                self._obeyed.set()
                continue
            if self._near in readable:
                data = os.read(self._near, 4096)
                self.sent += data
                os.write(self._far, data)
            if self._far in readable:
                data = os.read(self._far, 4096)
                if self._plugged:
                    os.write(self._near, data)


def _terminal(file: Path) -> tuple[int, int]:
    """A new pseudo terminal that ``file`` leads to; its other end stays open here, so that ours never hangs up."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    new = file.with_name(f"{file.name}.new")
    new.symlink_to(os.ttyname(theirs))
    new.replace(file)
    return ours, theirs
