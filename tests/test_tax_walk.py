"""The first day of ``docs/reference/tax-service.md``, walked in a shell with the real programs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import SkipTest

from dmtwisted.lab.children import environment, free_port
from tests.test_new_user import values
from tests.test_service_process import PATIENCE, ProcessCase

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "tax-service.md"
MARK = "--- next block"

START_PATIENCE = 60.0
"""Seconds for both programs to start, on a machine that has other things to do."""

VARIES = frozenset({"signinfo"})
"""Members that hold the day on which the page is read."""


class WalkTests(ProcessCase):
    """An administrator who follows the page."""

    def test_first_day(self) -> None:
        """Every command does what the page says, and prints what the page shows below it."""
        if shutil.which("curl") is None or shutil.which("sh") is None:
            raise SkipTest("there is no curl or no shell here")
        started, *walked = self.blocks()
        ports = {name: str(free_port()) for name in ("3939", "8609", "8610")}
        for line in started[0].splitlines():
            self.run_behind(self.here(line, ports))
        script = f"\necho; echo '{MARK}'\n".join(commands for commands, _ in walked)
        self.wait_for(ports)
        done = subprocess.run(
            ["sh", "-eu"],
            input=self.here(script, ports).encode(),
            capture_output=True,
            cwd=self.folder,
            timeout=4 * PATIENCE,
        )
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        outputs = done.stdout.decode().split(MARK)
        self.assertEqual(len(outputs), len(walked))
        for (commands, wanted), output in zip(walked, outputs, strict=True):
            told = values(output)
            self.assertEqual(len(told), len(values(wanted)), commands)
            for found, part in zip(told, values(wanted), strict=True):
                self.assertHolds(found, part, commands)

    def blocks(self) -> list[tuple[str, str]]:
        """The commands of the section, each with the answers that stand below."""
        text = PAGE.read_text("utf-8").split("## First day", 1)[1].split("\n## ", 1)[0]
        found: list[tuple[str, str]] = []
        for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if language == "sh":
                found.append((block, ""))
            else:
                found[-1] = (found[-1][0], block)
        self.assertEqual([bool(answers) for _, answers in found], [False] + [True] * (len(found) - 1))
        return found

    def here(self, text: str, ports: dict[str, str]) -> str:
        """``text`` with ports that are free."""
        for port, free in ports.items():
            text = re.sub(rf"\b{port}\b", free, text)
        return text

    def run_behind(self, line: str) -> None:
        """Start one of the programs; it is gone after the test."""
        words = line.split()
        self.assertEqual(words[0], "dmtwisted")
        with (self.folder / f"{words[1]}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dmtwisted.commands.main", *words[1:]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=environment(),
            )
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.terminate)

    def wait_for(self, ports: dict[str, str]) -> None:
        """Return once both programs answer."""
        for address in (f"{ports['3939']}/health/ready", f"{ports['8610']}/state"):
            words = ["curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{address}"]
            deadline = time.monotonic() + START_PATIENCE
            while subprocess.run(words).returncode:
                if time.monotonic() > deadline:
                    told = subprocess.run(["curl", "-sv", words[-1]], capture_output=True)
                    logs = [log.read_text("utf-8") for log in self.folder.glob("*.log")]
                    self.fail("\n".join([*logs, (told.stdout + told.stderr).decode()]))
                time.sleep(0.05)

    def assertHolds(self, found: Any, part: Any, where: str) -> None:
        """``found`` has everything that ``part`` shows, whatever it has besides."""
        if isinstance(part, dict):
            self.assertIsInstance(found, dict, where)
            for name, value in part.items():
                self.assertIn(name, found, where)
                if name not in VARIES:
                    self.assertHolds(found[name], value, f"{where}{name}")
        elif isinstance(part, list):
            self.assertGreaterEqual(len(found), len(part), where)
            for one, value in zip(found, part, strict=False):
                self.assertHolds(one, value, where)
        else:
            self.assertEqual(found, part, f"{where}: {json.dumps(found, ensure_ascii=False)}")
