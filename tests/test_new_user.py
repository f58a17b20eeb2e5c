"""What the README promises, tried by somebody who has nothing else: in a shell, a program, a page in a browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from unittest import SkipTest

from tests.test_service_process import HOME, HOST, ProcessCase, Service

README = HOME / "README.md"
PAGES = Path(__file__).parent / "pages"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_PATIENCE = 60.0
"""Seconds for a browser to start, run a page and end, on a machine that has other things to do."""


def blocks(info: str) -> list[str]:
    """The fenced blocks of the README whose info string is ``info``."""
    if not README.exists():
        raise SkipTest("there is no README.md yet")
    return re.findall(rf"^```{re.escape(info)}\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def values(text: str) -> list[Any]:
    """The JSON values that stand in ``text`` one after the other, as ``curl -s`` prints them."""
    found, decoder = [], json.JSONDecoder()
    text = text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].strip()
    return found


class _NewUser(ProcessCase):
    """Somebody in front of a service that has just been started."""

    def setUp(self) -> None:
        """A service in training mode."""
        super().setUp()
        self.service: Service = self.run_service()

    def here(self, text: str) -> str:
        """``text`` of the README with the port on which our service listens."""
        self.assertIn("localhost:3939", text)
        return text.replace("localhost:3939", f"localhost:{self.service.port}")

    def output_of(self, command: Sequence[str], text: str) -> str:
        """What ``command`` prints when it is given ``text`` on its standard input; it has to succeed."""
        if shutil.which(command[0]) is None:
            raise SkipTest(f"there is no {command[0]} here")
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, cwd=self.folder, timeout=BROWSER_PATIENCE
        )
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        return done.stdout.decode()

    def shell(self, info: str) -> str:
        """What the blocks ``info`` print, pasted one after the other into a shell."""
        if shutil.which("curl") is None:
            raise SkipTest("there is no curl here")
        found = blocks(info)
        self.assertGreaterEqual(len(found), 1, f"the README has no block `{info}`")
        return self.output_of(["sh", "-eu"], self.here("\n".join(found)))


class ReadmeTests(_NewUser):
    """The examples of the README, as they stand there."""

    def test_shell(self) -> None:
        """The first sale, pasted into a shell, succeeds; and pasted again, it is found and not done twice."""
        opened, sold = values(self.shell("sh first-sale"))
        self.assertEqual([(answer["res"], answer["task_status"]) for answer in (opened, sold)], [(0, 1), (0, 1)])
        [entry] = self.service.sales()
        self.assertEqual((entry["number"], entry["sum"]), (sold["info"]["doccode"], 12550))
        again = values(self.shell("sh first-sale"))
        self.assertEqual([(answer["res"], answer["task_status"]) for answer in again], [(0, 2), (0, 2)])
        self.assertEqual(len(self.service.sales()), 1)

    def test_shown_answer(self) -> None:
        """The answer that the README shows is the one that comes, but for the time of day."""
        _, sold = values(self.shell("sh first-sale"))
        [shown] = [json.loads(block) for block in blocks("json")]
        self.assertEqual(_without_times(_cut(sold, shown)), _without_times(shown))

    def test_worst_day(self) -> None:
        """The README's worst day: the first answer is unknown, the repeat has the receipt, and it exists once."""
        self.shell("sh first-sale")
        _, *answers = values(self.shell("sh worst-day"))
        [shown] = [json.loads(block) for block in blocks("json worst-day")]
        self.assertEqual(_cut(answers, shown), shown)
        self.assertEqual([entry["number"] for entry in self.service.sales()][1:], [answers[1]["info"]["doccode"]])


def _cut(value: Any, pattern: Any) -> Any:
    """``value`` with those members only that ``pattern`` has too."""
    if isinstance(value, dict) and isinstance(pattern, dict):
        return {name: _cut(value.get(name), pattern[name]) for name in pattern}
    if isinstance(value, list) and isinstance(pattern, list) and len(value) == len(pattern):
        return [_cut(*both) for both in zip(value, pattern, strict=True)]
    return value


def _without_times(value: Any) -> Any:
    """``value`` with zeros in place of every date and time."""
    if isinstance(value, dict):
        return {name: _without_times(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_without_times(member) for member in value]
    if isinstance(value, str):
        value = re.sub(r"^(\d{14}|\d{17}|\d\d-\d\d-\d{4} \d\d:\d\d:\d\d)$", "0", value)
        return re.sub(r"&date=\d{8}&time=\d{6}&", "&date=0&time=0&", value)
    return value


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, format: str, *args: object) -> None:
        """No access log."""


class BrowserTests(_NewUser):
    """A till that is a page in a browser, from another origin than the service's."""

    def page_server(self) -> int:
        """The port on which the pages of a shop are served."""
        server = ThreadingHTTPServer((HOST, 0), partial(_Quiet, directory=str(PAGES)))
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def opened(self, url: str) -> str:
        """The page at ``url`` as it looks when its script has ended."""
        browser = next(filter(None, map(shutil.which, BROWSERS)), None)
        if browser is None:
            why = f"there is no browser here, none of {', '.join(BROWSERS)}"
            if os.environ.get("CI") == "true":
                self.fail(why)
            raise SkipTest(why)
        flags = [
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
            *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
            *(f"--user-data-dir={self.folder / 'browser'}", "--virtual-time-budget=10000", "--dump-dom"),
        ]
        running = subprocess.Popen(
            [browser, *flags, url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            page, _ = running.communicate(timeout=BROWSER_PATIENCE)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
                running.communicate()
        return page.decode()

    def test_till(self) -> None:
        """A page that was written from the README opens the shift if need be, sells, and shows the fiscal number."""
        url = f"http://{HOST}:{self.page_server()}/till.html?service=http://localhost:{self.service.port}"
        for sales in (1, 2):
            page = self.opened(url)
            entries = self.service.sales()
            self.assertEqual(len(entries), sales, page)
            self.assertIn(f'<output id="number">{entries[-1]["number"]}</output>', page)
            self.assertIn('<p id="problem"></p>', page)
            self.assertEqual(entries[-1]["sum"], 4500)
