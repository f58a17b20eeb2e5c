"""The commands of the user's pages, unchanged, in a shell, with the real programs.

A block ``sh start`` has programs that keep running, ``sh run`` has commands, ``sh stopped`` has commands for which
the service is stopped and started again. A block ``json`` or ``text`` after commands is their output: every member
and every line in it must be printed. The Ukrainian pages have the same blocks (`tests.test_manual`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from threading import Timer
from typing import Any
from unittest import SkipTest

from twisted.trial.unittest import SynchronousTestCase

from dmtwisted.lab.children import environment, free_port
from tests.certificates import make_certificate, make_key, write_pair
from tests.manual import Block, contents, pages
from tests.test_new_user import values
from tests.test_service_process import PATIENCE

MARK = "--- end of block"
PORTS = ("3939", "8609", "8610", "9100", "3941", "2000", "3940", "3950")
"""Ports in the pages; each is replaced by a free one."""

PLACES = {
    "/etc/dmtwisted.toml": "desk.toml",
    "/mnt/usb/": "usb/",
    " cashier.p12": " tax-service/cashier.p12",
}
"""Folders in the pages, and their replacements: the key is that of the rehearsal."""

VARIES = frozenset({"refundid", "signinfo"})
"""Members that contain the day on which the test runs."""

START_PATIENCE = 60.0
"""The longest time for a program to start or end, in seconds, on a busy machine."""


def walked() -> list[str]:
    """The pages to run, in the order of the contents: each one continues with the files of the last."""
    names = [f"docs/{page}.md" for part in contents() for page in part.pages]
    return [
        name for name in names if name in pages() and any(block.info == "sh run" for block in pages()[name].blocks)
    ]


class Desk:
    """The machine of a reader: one folder, one shell, programs in the background."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dmtwisted-manual-"))
        self._ports = {port: str(free_port()) for port in PORTS}
        command = self.folder / "bin" / "dmtwisted"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dmtwisted.commands.main "$@"\n', "utf-8")
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        self._environment = environment()
        self._environment["PATH"] = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        self._environment["LC_ALL"] = "C.UTF-8"
        self._environment["DMTWISTED_KEY_PASSWORD"] = "tax-test"
        self._bring()
        self._behind: dict[str, subprocess.Popen[bytes]] = {}
        self._shell: subprocess.Popen[bytes] | None = None

    def _bring(self) -> None:
        """What a reader has at the beginning: a configuration, a memory stick, a new disk, a bought certificate."""
        state = json.dumps(str(self.folder / "var"))
        configuration = f"[server]\nport = {self._ports['3939']}\n\n[service]\nstate = {state}\n"
        (self.folder / "desk.toml").write_text(configuration, "utf-8")
        (self.folder / "usb").mkdir()
        (self.folder / "disk").mkdir()
        key = make_key()
        write_pair(self.folder, make_certificate(time.time(), key), key)

    def here(self, text: str) -> str:
        """``text`` with free ports, and with folders below this one."""
        for place, ours in PLACES.items():
            text = text.replace(place, ours)
        for port, free in self._ports.items():
            text = re.sub(rf"(?<![\d.]){port}(?!\d)", free, text)
        return text

    def start(self, line: str) -> None:
        """Start a program that keeps running, and return when it answers."""
        words = self.here(line).split()
        assert words[0] == "dmtwisted", line
        log = self.folder / f"{len(self._behind)}.log"
        with log.open("wb") as out:
            running = subprocess.Popen(
                [sys.executable, "-m", "dmtwisted.commands.main", *words[1:]],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=self.folder,
                env=self._environment,
                start_new_session=True,
            )
        self._behind[line] = running
        found = re.search(r"--(?:control|port|listen) (?:\S+:)?(\d+)(?!.* --control)", " ".join(words))
        assert found, line
        # The agent refuses a client without a certificate, which shows that it runs.
        path, how = {"run": ("health/ready", "-sf"), "signer": ("key", "-s")}.get(words[1], ("state", "-sf"))
        asked = ["curl", how, "-o", "/dev/null", f"http://127.0.0.1:{found[1]}/{path}"]
        deadline = time.monotonic() + START_PATIENCE
        while subprocess.run(asked).returncode:
            assert running.poll() is None and time.monotonic() < deadline, f"{line}: {log.read_text('utf-8')}"
            time.sleep(0.05)

    def stop(self, line: str) -> None:
        """Stop a program that was started by ``line``, as Ctrl-C does."""
        running = self._behind.pop(line)
        running.send_signal(signal.SIGTERM)
        running.wait(START_PATIENCE)

    def run(self, text: str) -> str:
        """The output of the commands, which must succeed."""
        if self._shell is None or self._shell.poll() is not None:
            self._shell = subprocess.Popen(
                ["sh", "-u"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env=self._environment,
            )
        assert self._shell.stdin is not None and self._shell.stdout is not None
        # A command that never ends is killed, and then its block fails.
        watch = Timer(2 * START_PATIENCE, self._shell.kill)
        watch.start()
        script = f"set -e\n{self.here(text)}\nset +e; echo; echo '{MARK}'\n"
        self._shell.stdin.write(script.encode())
        self._shell.stdin.flush()
        said: list[str] = []
        try:
            for line in iter(self._shell.stdout.readline, b""):
                if line.decode().rstrip() == MARK:
                    return "".join(said)
                said.append(line.decode())
        finally:
            watch.cancel()
        raise AssertionError(f"a command failed in\n{text}\n{''.join(said)}")

    @property
    def service(self) -> str:
        """The line that started the service."""
        [line] = [line for line in self._behind if line.startswith("dmtwisted run")]
        return line

    def close(self) -> None:
        """Stop everything, and remove the folder."""
        if self._shell is not None and self._shell.stdin is not None:
            self._shell.stdin.close()
            self._shell.wait(PATIENCE)
        for running in self._behind.values():
            running.kill()
            running.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class WalkTests(SynchronousTestCase):
    """A reader who follows the pages from the first one on."""

    def test_every_page(self) -> None:
        """Every command works as its page says, and prints what the page shows below it."""
        if shutil.which("curl") is None or shutil.which("sh") is None:
            raise SkipTest("there is no curl or no shell here")
        desk = Desk()
        self.addCleanup(desk.close)
        names = walked()
        self.assertEqual(names[0], "docs/first-receipt.md")
        for name in names:
            output: str | None = None
            for block in pages()[name].blocks:
                if block.language in ("json", "text") and output is not None:
                    self.compare(block, desk.here(block.text), output)
                output = self.follow(desk, block)

    def follow(self, desk: Desk, block: Block) -> str | None:
        """Do what a block says; return its output, if it has one to compare."""
        if block.info == "sh start":
            for line in block.text.splitlines():
                desk.start(line)
        elif block.info == "sh run":
            return desk.run(block.text)
        elif block.info == "sh stopped":
            line = desk.service
            desk.stop(line)
            output = desk.run(block.text)
            desk.start(line)
            return output
        return None

    def compare(self, block: Block, shown: str, output: str) -> None:
        """The output has everything that the page shows; it may have more."""
        if block.language == "text":
            lines = [line.strip() for line in output.splitlines()]
            for line in shown.splitlines():
                self.assertIn(line.strip(), lines, f"{block.where}: {output}")
            return
        found, wanted = values(output), values(shown)
        self.assertEqual(len(found), len(wanted), f"{block.where}: {output}")
        for one, part in zip(found, wanted, strict=True):
            self.holds(one, part, block.where)

    def holds(self, found: Any, part: Any, where: str) -> None:
        """``found`` has everything that ``part`` has."""
        if isinstance(part, dict):
            self.assertIsInstance(found, dict, where)
            for name, value in part.items():
                self.assertIn(name, found, f"{where}: {json.dumps(found, ensure_ascii=False)}")
                if name not in VARIES:
                    self.holds(found[name], value, f"{where}.{name}")
        elif isinstance(part, list):
            self.assertGreaterEqual(len(found), len(part), f"{where}: {found}")
            for one, value in zip(found, part, strict=False):
                self.holds(one, value, where)
        else:
            self.assertEqual(found, part, where)
