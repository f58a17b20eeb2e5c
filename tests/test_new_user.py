"""The promises of the README to a new user: in a shell, a program, a page in a browser."""

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
"""The longest time of a browser to start, run a page and end, in seconds, on a busy machine."""


def blocks(info: str) -> list[str]:
    """The fenced blocks of the README whose info string is ``info``."""
    if not README.exists():
        raise SkipTest("there is no README.md yet")
    return re.findall(rf"^```{re.escape(info)}\n(.*?)^```$", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def values(text: str) -> list[Any]:
    """The JSON values in ``text``, one after the other, as ``curl -s`` prints them."""
    found, decoder = [], json.JSONDecoder()
    text = text.strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].strip()
    return found


class _NewUser(ProcessCase):
    """A new user of a service that has just started."""

    def setUp(self) -> None:
        """A service in training mode."""
        super().setUp()
        self.service: Service = self.run_service()

    def here(self, text: str) -> str:
        """``text`` of the README with the port of our service."""
        self.assertIn("localhost:3939", text)
        return text.replace("localhost:3939", f"localhost:{self.service.port}")

    def output_of(self, command: Sequence[str], text: str) -> str:
        """The output of ``command`` with ``text`` as its standard input; it must succeed."""
        if shutil.which(command[0]) is None:
            raise SkipTest(f"there is no {command[0]} here")
        done = subprocess.run(
            command, input=text.encode(), capture_output=True, cwd=self.folder, timeout=BROWSER_PATIENCE
        )
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""))
        return done.stdout.decode()

    def shell(self, info: str) -> str:
        """The output of the blocks ``info``, pasted one after the other into a shell."""
        if shutil.which("curl") is None:
            raise SkipTest("there is no curl here")
        found = blocks(info)
        self.assertGreaterEqual(len(found), 1, f"the README has no block `{info}`")
        return self.output_of(["sh", "-eu"], self.here("\n".join(found)))


class ReadmeTests(_NewUser):
    """The examples of the README, unchanged."""

    def test_shell(self) -> None:
        """The first sale, pasted into a shell, succeeds; pasted again, it is found and not made twice."""
        opened, sold = values(self.shell("sh first-sale"))
        self.assertEqual([(answer["res"], answer["task_status"]) for answer in (opened, sold)], [(0, 1), (0, 1)])
        [entry] = self.service.sales()
        self.assertEqual((entry["number"], entry["sum"]), (sold["info"]["doccode"], 12550))
        again = values(self.shell("sh first-sale"))
        self.assertEqual([(answer["res"], answer["task_status"]) for answer in again], [(0, 2), (0, 2)])
        self.assertEqual(len(self.service.sales()), 1)

    def test_shown_answer(self) -> None:
        """The answer in the README is the real one, but for the time of day."""
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
    """``value`` with only those members that ``pattern`` has too."""
    if isinstance(value, dict) and isinstance(pattern, dict):
        return {name: _cut(value.get(name), pattern[name]) for name in pattern}
    if isinstance(value, list) and isinstance(pattern, list) and len(value) == len(pattern):
        return [_cut(*both) for both in zip(value, pattern, strict=True)]
    return value


def _without_times(value: Any) -> Any:
    """``value`` with zeros in every date and time."""
    if isinstance(value, dict):
        return {name: _without_times(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_without_times(member) for member in value]
    if isinstance(value, str):
        value = re.sub(r"^(\d{14}|\d{17}|\d\d-\d\d-\d{4} \d\d:\d\d:\d\d)$", "0", value)
        return re.sub(r"&date=\d{8}&time=\d{6}&", "&date=0&time=0&", value)
    return value


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


class BrowserTests(_NewUser):
    """A till that is a page in a browser, from another origin than the service."""

    def page_server(self) -> int:
        """The port that serves the pages of a shop."""
        server = ThreadingHTTPServer((HOST, 0), partial(_Quiet, directory=str(PAGES)))
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server.server_address[1]

    def opened(self, url: str) -> str:
        """The page at ``url`` after its script has ended."""
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
        """A page made from the README opens the shift if necessary, sells, and shows the fiscal number."""
        url = f"http://{HOST}:{self.page_server()}/till.html?service=http://localhost:{self.service.port}"
        for sales in (1, 2):
            page = self.opened(url)
            entries = self.service.sales()
            self.assertEqual(len(entries), sales, page)
            self.assertIn(f'<output id="number">{entries[-1]["number"]}</output>', page)
            self.assertIn('<p id="problem"></p>', page)
            self.assertEqual(entries[-1]["sum"], 4500)
