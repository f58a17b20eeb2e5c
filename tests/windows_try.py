"""The installer for Windows in a fresh Wine prefix: ``python -m tests.windows_try [--rounds N] [--tree FOLDER]``.

Silent installation, the sale of the README, HTTPS, kills of the service amid sales, stop and start, an upgrade and a
broken upgrade amid sales, uninstallation; each step with its seconds, and all books compared as `tests.crash` does.
The installers are those of ``packaging/windows/build.sh`` with the older libraries that Wine 8 can load.

What Wine 8 cannot do is done here or left out: it does not restart a failed service (this program starts it),
accounts have no rights of their own, the firewall takes any rule, the event log keeps nothing.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from dmtwisted.lab.children import BenchFailed, Child, NotStarted, ended_by_signals, free_port, is_writer
from dmtwisted.lab.crash.books import Entry, Findings, read_journal
from dmtwisted.lab.crash.wire import TillConnection
from tests.crash.desk import Desk

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "windows-try"
BUILD = ROOT / "packaging" / "windows" / "build.sh"

PATIENCE = 300.0
"""Seconds that a sale may take, restarts under Wine included; every program of Windows has twice that."""

NEWER, BROKEN = "99.0", "99.1"
"""Versions that are installed over ours: the same program, and one that never says that it is ready."""

VICTIMS = ("service", "host", "both", "host")
"""Who is killed, in turns: the service; Windows' own process, which supervises it; the service and its writer.

The supervisor forgets earlier ends with its process, so it never gives up here.
"""

SALE = """{"device": "test", "tag": "sale-1", "type": 1, "fiscal": {"task": 1, "receipt": {"sum": 125.50,
  "rows": [{"name": "Кава", "cnt": 1, "price": 125.50, "taxgrp": 1}], "pays": [{"type": 0, "sum": 200}]}}}"""


class Failed(Exception):
    """Something is not as it has to be."""


def expect(found: object, wanted: object, what: str) -> None:
    """Both have to be equal.

    :raises Failed: when they are not.
    """
    if found != wanted:
        raise Failed(f"{what}: {found!r} instead of {wanted!r}")


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print what is done, and how long it took."""
    print(f"{name} ...", flush=True)
    begun = time.monotonic()
    yield
    print(f"{name}: {time.monotonic() - begun:.1f} s", flush=True)


# Windows


class Prefix:
    """A fresh Wine prefix; a program of it runs all the time, since the service manager ends with the last one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.drive = folder / "drive_c"
        self.program = self.drive / "Program Files" / "dmtwisted"
        self._environment = {**os.environ, "WINEPREFIX": str(folder), "WINEDEBUG": "-all", "LC_ALL": "C.UTF-8"}
        self._keeper: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Prefix:
        shutil.rmtree(self.folder, ignore_errors=True)
        # A pipe would stay open in the processes that it leaves behind.
        quiet = subprocess.DEVNULL
        subprocess.run(["wineboot", "--init"], env=self._environment, check=True, stdout=quiet, stderr=quiet)
        # Else the service manager of that start, which would end, and a new one would both answer.
        subprocess.run(["wineserver", "-k", "-w"], env=self._environment, check=False, timeout=PATIENCE)
        self._keeper = subprocess.Popen(
            ["wine", "cmd"],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=quiet,
            stderr=quiet,
        )
        # Wine 8 begins as Windows 7, which is too old.
        version = ["wine", "reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f"]
        subprocess.run(version, env=self._environment, check=True, stdout=quiet, stderr=quiet)
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["wineserver", "-k"], env=self._environment, check=False)
        if self._keeper is not None:
            self._keeper.wait()

    def run(self, *words: str, wanted: int = 0) -> str:
        """Run a program of Windows; its output.

        :raises Failed: when its exit status is not ``wanted``.
        """
        # By pipes: CPython under Wine does not start with its output in a file.
        done = subprocess.run(
            ["wine", *words],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=2 * PATIENCE,
            check=False,
        )
        output = done.stdout.decode(errors="replace")
        if done.returncode != wanted:
            raise Failed(f"{' '.join(words)}: status {done.returncode}\n{output}{self.log()}")
        return output

    def install(self, installer: Path, *options: str, wanted: int = 0) -> None:
        """Run an installer."""
        self.run(str(installer), *options, wanted=wanted)

    def versions(self) -> list[str]:
        """The versions that are there; of another one only what its last process had open may be left."""
        return [python.parent.name for python in self.program.glob("versions/*/python.exe")]

    def log(self) -> str:
        """What the installer did."""
        with suppress(OSError):
            return (self.program / "setup.log").read_text("utf-8")
        return ""

    def command(self, *words: str, wanted: int = 0) -> str:
        """Run a ``dmtwisted`` command of the version that is installed."""
        return self.run("cmd", "/c", r"C:\Program Files\dmtwisted\dmtwisted.cmd", *words, wanted=wanted)

    def pids(self, *words: bytes) -> list[int]:
        """The processes of this prefix with one of these words in their command line."""
        ours = b"WINEPREFIX=" + str(self.folder).encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                line = (process / "cmdline").read_bytes()
                if any(word in line for word in words) and ours in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
        return found


class Installed(Child):
    """The service as Windows runs it."""

    start_patience = PATIENCE

    def __init__(self, prefix: Prefix, port: int) -> None:
        super().__init__("service", [], port, prefix.drive / "tills" / "dmtwisted.log")
        self.prefix = prefix

    def start(self) -> None:
        """Start it by the service manager, unless it runs, and wait until it is ready."""
        self.prefix.command("service", "start")
        self.wait_until_ready()

    def stop(self) -> None:
        """Stop it by the service manager."""
        self.prefix.command("service", "stop")

    def restart(self) -> None:
        """Both."""
        self.stop()
        self.start()

    def wait_until_ready(self) -> None:
        """Return when it answers that it is ready.

        :raises NotStarted: when it is not in time.
        """
        deadline = time.monotonic() + self.start_patience
        while not self._ready():
            if time.monotonic() > deadline:
                raise NotStarted(f"the service is not ready: {self.last_words()}")
            time.sleep(0.2)


class Shop(Desk):
    """Tills at that service."""

    def __init__(self, service: Installed, state: Path, seed: int) -> None:
        super().__init__(service, seed, PATIENCE)
        self._installed, self._state = service, state
        self.slowest_start = 0.0

    def __exit__(self, *_: object) -> None:
        """It is uninstalled later."""

    def read_journal(self) -> tuple[dict[str, list[Entry]], Findings]:
        """What the file says; two systems must not have it open at once."""
        self._installed.stop()
        try:
            return read_journal(self._state)
        finally:
            self._installed.start()

    def kill(self, victim: str) -> None:
        """Kill whom the round says, and see the service ready again."""
        prefix = self._installed.prefix
        # One that was killed or stopped may still be on its way out.
        self._wait(lambda: len(prefix.pids(b"--until-input-ends")) == len(prefix.pids(b"pythonservice.exe")) == 1)
        service, host = prefix.pids(b"--until-input-ends"), prefix.pids(b"pythonservice.exe")
        begun = time.monotonic()
        killed = host if victim == "host" else service
        if victim == "both":
            killed = service + [pid for pid in prefix.pids(b"sqlite.writer") if is_writer(pid)]
        for pid in killed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if victim == "host":
            # What Windows' recovery action does a minute later. The service itself ends when its input does.
            self._wait(lambda: not prefix.pids(b"--until-input-ends"))
            self._installed.start()
        else:
            self._wait(lambda: service != prefix.pids(b"--until-input-ends") != [])
            self._installed.wait_until_ready()
        self.slowest_start = max(self.slowest_start, time.monotonic() - begun)

    def _wait(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not reached():
            if time.monotonic() > deadline:
                raise Failed("a killed service does not end, or has not one successor")
            time.sleep(0.1)

    def verdict(self, what: str) -> None:
        """Compare all books.

        :raises Failed: when something is lost, doubled or otherwise wrong.
        """
        self.compare()
        self.look_up_everything()
        sold, again = len(self.sold), self.found_again
        print(f"  {what}: {sold} sales, {self.repeats} repeats, {again} found again: {self.found}", flush=True)
        if self.found:
            found = self.found
            raise Failed("\n".join([*found.lost, *found.doubled, *found.gaps, *found.other][:20]))


# Installers


def build(tree: Path) -> Path:
    """The installer of what is in ``tree``; not compressed, to save minutes."""
    environment = {**os.environ, "WINDOWS_TREE": str(tree), "WINDOWS_QUICK": "yes"}
    done = subprocess.run([BUILD, WORK / "dist"], env=environment, check=True, stdout=subprocess.PIPE)
    return Path(done.stdout.decode().split("\n")[-2])


def other(tree: Path, version: str) -> Path:
    """An installer of another version; the broken one never says that it is ready."""
    copy = WORK / "other"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(tree, copy, copy_function=os.link)
    site = copy / "Lib" / "site-packages"
    change(site / "dmtwisted" / "__init__.py", r'__version__ = ".*"', f'__version__ = "{version}"')
    if version == BROKEN:
        change(site / "web" / "site.py", r"Health\(lambda: core.ready,", "Health(lambda: False,")
    return build(copy)


def change(file: Path, old: str, new: str) -> None:
    """Write a changed file in place of a linked one, and remove what was compiled of it."""
    text, times = re.subn(old, new, file.read_text("utf-8"))
    expect(times, 1, f"{old} in {file}")
    file.unlink()
    file.write_text(text, "utf-8")
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


# The steps


def sell(port: int, tag: str) -> None:
    """The sale of the README, and the same request again."""
    wire = TillConnection(port)
    try:
        opening = {"device": "test", "tag": "open-1", "type": 1, "fiscal": {"task": 0, "cashier": "Olena"}}
        expect(wire.ask("POST", "/dm/execute", opening)["res"], 0, "the opening")
        sale = {**json.loads(SALE), "tag": tag}
        first, second = (wire.ask("POST", "/dm/execute", sale) for _ in range(2))
        expect([one["task_status"] for one in (first, second)], [1, 2], "a sale and its repeat")
        expect(first["info"]["docno"], second["info"]["docno"], "the receipt of the repeat")
    finally:
        wire.close()


def ask_by_https(prefix: Prefix, service: Installed, config: str) -> None:
    """Give the service a certificate, ask it by HTTPS, take the certificate away."""
    prefix.command("tls", "authority", "--config", config)
    service.stop()
    prefix.command("service", "start")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    wire = http.client.HTTPSConnection("127.0.0.1", service.port, timeout=30, context=context)
    wire.request("GET", "/health/ready")
    answer = wire.getresponse()
    expect((answer.status, json.loads(answer.read())), (200, {"status": "ok"}), "the answer by HTTPS")
    wire.close()
    prefix.command("tls", "remove", "--config", config)
    service.stop()
    service.start()


def play(prefix: Prefix, tree: Path, rounds: int, seed: int) -> None:
    """All steps."""
    port = free_port()
    state = prefix.drive / "tills" / "data"
    config = prefix.drive / "shop" / "shop.toml"
    config.parent.mkdir()
    config.write_text(
        f"[server]\nport = {port}\n\n[service]\ntraining = true\nstate = 'C:\\tills\\data'\n\n"
        "[log]\nfile = 'C:\\tills\\dmtwisted.log'\n",
        "utf-8",
    )
    service = Installed(prefix, port)
    with step("installer is built"):
        installer = build(tree)
    print(f"  {installer.name}: {installer.stat().st_size / 1e6:.0f} MB, not compressed")
    options = ("/S", r"/CONFIG=C:\shop\shop.toml", "/FIREWALL")
    with step("wrong options are refused"):
        prefix.install(installer, *options, "/PORT=1", wanted=5)
        expect(list(prefix.program.glob("versions/*")), [], "files")
    with step("installer, silently, until the service is ready"):
        prefix.install(installer, *options)
        service.wait_until_ready()
    menu = prefix.drive / "ProgramData/Microsoft/Windows/Start Menu/Programs/dmtwisted"
    expect(len(list(menu.glob("*.lnk"))), 4, "entries of the Start menu")
    with step("the sale of the README"):
        sell(port, "sale-1")
    with step("HTTPS with a certificate of its own"):
        ask_by_https(prefix, service, r"C:\shop\shop.toml")
    with Shop(service, state, seed) as shop:
        dice = random.Random(seed)
        with step(f"{rounds} kills amid sales"):
            for n in range(rounds):
                shop.play(dice.uniform(0.2, 1.5), partial(shop.kill, VICTIMS[n % len(VICTIMS)]))
        print(f"  ready again after {shop.slowest_start:.1f} s at the latest")
        with step("books after the kills"):
            shop.verdict("after the kills")
        with step("stop and start by the service manager amid sales"):
            shop.play(1, service.restart)
        expect(prefix.command("service", "status").strip(), "running", "the state")
        with step("newer version is built"):
            newer = other(tree, NEWER)
        with step("upgrade amid sales"):
            shop.play(1, partial(prefix.install, newer, *options))
        expect(prefix.command("--version").strip(), f"dmtwisted {NEWER}", "the version")
        expect(prefix.versions(), [NEWER], "versions")
        with step("broken version is built"):
            broken = other(tree, BROKEN)
        with step("broken upgrade amid sales, and back"):
            shop.play(1, partial(prefix.install, broken, *options, wanted=3))
        expect(prefix.command("--version").strip(), f"dmtwisted {NEWER}", "the version")
        with step("repair"):
            prefix.install(newer, *options)
            service.wait_until_ready()
        expect(prefix.versions(), [f"{NEWER}-2"], "versions")
        with step("books after upgrade, way back and repair"):
            shop.verdict("in all")
    with step("uninstaller"):
        prefix.run(r"C:\Program Files\dmtwisted\uninstall.exe", "/S")
        deadline = time.monotonic() + PATIENCE
        # It goes on in a copy of itself.
        while prefix.program.exists() and time.monotonic() < deadline:
            time.sleep(0.2)
    expect((prefix.program.exists(), menu.exists()), (False, False), "the folder and the menu")
    expect(prefix.pids(b"pythonservice.exe", b"--until-input-ends"), [], "processes")
    for key in (r"HKLM\System\CurrentControlSet\Services\dmtwisted", r"HKLM\Software\dmtwisted"):
        prefix.run("reg", "query", key, wanted=1)
    expect((state / "dmtwisted.db").exists() and config.exists(), True, "the receipts")


def main(arguments: Sequence[str] | None = None) -> int:
    """Play it all; 0 when everything is as it has to be."""
    parser = argparse.ArgumentParser(prog="python -m tests.windows_try", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tree", type=Path, help="what `build.sh tree` has filled with WINDOWS_OLDER")
    given = parser.parse_args(arguments)
    WORK.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    try:
        with ended_by_signals():
            tree = given.tree
            if tree is None:
                tree = WORK / "tree"
                with step("Python for Windows and libraries for Wine are fetched"):
                    environment = {**os.environ, "WINDOWS_OLDER": "yes"}
                    subprocess.run([BUILD, "tree", tree], env=environment, check=True)
            with Prefix(WORK / "prefix") as prefix:
                play(prefix, tree, given.rounds, given.seed)
    except (Failed, NotStarted, BenchFailed, OSError, subprocess.SubprocessError) as error:
        print(f"failed: {error}", file=sys.stderr)
        return 1
    print(
        "Wine 8, not Windows: no restart by the service manager, no rights of accounts and folders, no delayed start,"
        " no event log, a firewall that takes any rule, no windows of the installer."
    )
    print(f"all steps: {time.monotonic() - begun:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
