"""A person in front of the pages: a service, an empty browser, and a count of clicks.

The browser is the machine's own Chromium, driven by Playwright. Without either the tests say so and are skipped; on a
machine with ``CI=true`` that is a failure, as every skip is there (`tests.suite`). Nothing may be asked of any other
machine, no script may fail, and no page may break its own rules of content: each test ends by looking at that.

With ``DMTWISTED_PICTURES`` set to a folder the tests leave pictures of the pages there, for the documentation.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest import SkipTest

from PIL import Image

from dmtwisted.lab.children import free_port
from tests.test_service_process import HOST, RUN, ProcessCase, Service

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PATIENCE = 90_000
"""Milliseconds in which a page has to show what it is to show."""

REAL = {"device": "real", "prro_type": 1, "confirm_real": True}
"""A register that sends real documents, for the interface that adds one."""

# Made whole now: the tests run in a folder of their own.
PICTURES = os.path.abspath(os.environ["DMTWISTED_PICTURES"]) if os.environ.get("DMTWISTED_PICTURES") else ""


class BrowserCase(ProcessCase):
    """A service in training mode, and a person with a browser."""

    language = "uk-UA"
    scheme = "light"
    width, height = 1200, 900
    host = "127.0.0.1"
    """Where the service listens; beyond this machine every page warns of it."""

    def setUp(self) -> None:
        """A fresh service, a fresh browser."""
        super().setUp()
        chromium = browser()
        shutil.copytree(_first_state(), self.folder / "state")
        self.service: Service = self.start()
        self.clicks = 0
        self.faults: list[str] = []
        # The browser is one for all tests, with an empty profile of its own; each test begins without any memory.
        context = chromium.new_context(
            locale=self.language,
            color_scheme=self.scheme,
            viewport={"width": self.width, "height": self.height},
            reduced_motion="reduce",
        )
        self.addCleanup(context.close)
        context.set_default_timeout(PATIENCE)
        self.page: Any = context.new_page()
        self.page.on("pageerror", lambda error: self.faults.append(f"a script failed: {error}"))
        self.page.on("console", self._said)
        self.page.on("request", self._asked)

    def tearDown(self) -> None:
        """No error of the page went unnoticed."""
        self.assertEqual(self.faults, [])

    def _said(self, message: Any) -> None:
        # A browser also reports answers like 422, which the pages deal with.
        if message.type == "error" and "Failed to load resource" not in message.text and "ERR_" not in message.text:
            self.faults.append(f"the browser complains: {message.text}")

    def _asked(self, request: Any) -> None:
        here = (f"http://{HOST}:", f"http://localhost:{self.service.port}/", "data:", "blob:")
        if not request.url.startswith(here):
            self.faults.append(f"something else was asked: {request.url}")

    def start(self, *options: str) -> Service:
        """The service on its address, on the state that the last one left."""
        return self.run_service("--config", self.config(f'[server]\nhost = "{self.host}"\n'), *options)

    def restart(self) -> None:
        """Kill the service as a power cut does, and start it again on its port."""
        port = self.service.port
        self.service.process.kill()
        self.service.wait()
        self.service = self.start("--port", str(port))

    # What a person does

    def go(self, path: str) -> None:
        """Type an address."""
        self.page.goto(f"http://localhost:{self.service.port}{path}")

    def click(self, selector: str) -> None:
        """Click once."""
        self.clicks += 1
        self.see(selector)
        self.page.click(selector)

    def says(self, selector: str, text: str) -> None:
        """Click, and hear what the page says for a moment."""
        heard = "window.heard ||= document.querySelector('#said').textContent"
        watch = "observe(document.querySelector('#said'), {childList: true})"
        self.see(selector)
        self.page.evaluate(f"new MutationObserver(() => {{ {heard}; }}).{watch}")
        self.click(selector)
        self.page.wait_for_function("text => (window.heard || '').includes(text)", arg=text)

    def fill(self, selector: str, text: str) -> None:
        """Write into a field."""
        self.see(selector)
        self.page.fill(selector, text)

    def see(self, selector: str) -> Any:
        """Wait until something is to be seen, and the page is whole."""
        found = self.page.wait_for_selector(selector)
        # On a page that is just coming things are there before the script that gives them a meaning.
        self.page.wait_for_load_state("load")
        return found

    def text(self, selector: str = "main") -> str:
        """What is to be read there."""
        found: str = self.page.inner_text(selector)
        return found

    def outcome(self) -> str:
        """What the page says of what was done."""
        self.see("#outcome:not([hidden]) h2")
        return self.text("#outcome")

    def devices(self) -> dict[str, Any]:
        """The devices of the service by their names."""
        found = json.loads(self.service.request("GET", "/dm/api/v3/devices")[1])["devices"]
        return {device["device"]: device for device in found}

    def ledger(self, kind: str) -> list[Any]:
        """What the tax service has taken of ``kind``."""
        entries = json.loads(self.service.request("GET", f"{self.service.device()}/ledger")[1])["entries"]
        return [entry for entry in entries if (entry["kind"], entry["status"]) == (kind, "accepted")]

    def picture(self, name: str) -> None:
        """Save a picture of the page for the documentation, on request."""
        if PICTURES:
            self.page.mouse.move(0, 0)
            with suppress(Exception):
                self.page.wait_for_load_state("networkidle", timeout=1000)
            picture = Image.open(BytesIO(self.page.screenshot(full_page=True)))
            # Pages have few colours: a palette makes the files a third as large.
            picture.convert("RGB").quantize(64).save(Path(PICTURES) / f"ui-{name}.png", optimize=True)


@cache
def _first_state() -> Path:
    """What a service leaves that was started in an empty folder and stopped at once.

    Making the tables takes as long as all the rest of a start; each test begins with a copy of its own.
    """
    folder = Path(mkdtemp(prefix="dmtwisted-browser-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    service = Service(folder, [*RUN, "--training", "--state", str(folder / "state"), "--port", str(free_port())])
    try:
        service.wait_until_ready()
        service.process.terminate()
        service.wait()
    finally:
        service.end()
    return folder / "state"


@cache
def browser(*flags: str) -> Any:
    """A browser with ``flags`` besides the usual ones, the same at each call; it ends with this process.

    :raises SkipTest: when there is no browser here, or no Playwright.
    """
    running = _playwright()
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        raise SkipTest(f"there is no browser here, none of {', '.join(BROWSERS)}")
    return running.chromium.launch(executable_path=path, args=[*FLAGS, *flags])


@cache
def _playwright() -> Any:
    # A process can have one only.
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise SkipTest("playwright is not installed: pip install playwright") from None
    running = sync_playwright().start()
    atexit.register(running.stop)
    return running
