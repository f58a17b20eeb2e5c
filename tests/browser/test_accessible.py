"""Every page in both languages and schemes as axe-core sees it, and whether everything on it can be read.

axe-core is no part of the project: its file is looked for where ``AXE_CORE`` says, else in the cache of the user,
where ``npm pack axe-core`` was unpacked. Without it these tests are skipped and say so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import SkipTest

from tests.browser.case import BrowserCase, browser
from tests.browser.shop import ShopCase

NO_AXE = "axe-core is not here (npm pack axe-core, or AXE_CORE)"
AXE = Path(os.environ.get("AXE_CORE") or Path.home() / ".cache" / "axe-core" / "package" / "axe.min.js")

DESK, PHONE = (1366, 768), (390, 844)
"""Screens of a computer at a till, and of a phone."""

MOST_OF_PHONE = 110
"""How much of a phone's height sections and warnings may take."""

FIRST_PAGE = 60 * 1024
"""The most bytes of the first page with everything that it loads."""

SLOW = 4.0
"""Seconds to the first page, ten times what it takes."""

UNREADABLE = """() => {
    const found = [];
    const tell = (each, why) => found.push(`${why}: ${each.outerHTML.slice(0, 160)}`);
    if (document.documentElement.scrollWidth > innerWidth) found.push("the page scrolls sideways");
    for (const each of document.querySelectorAll("body *")) {
        if (!each.checkVisibility({ visibilityProperty: true })) continue;
        // The text of a field moves with the caret; a wide table has a bar of its own, on a computer.
        if (each.closest("input, textarea, select, .unseen, .words, .skip, .icon")) continue;
        if (innerWidth > 640 && each.matches(".scroll")) continue;
        if (each.closest("svg")) {
            const [part, whole] = [each, each.closest("svg")].map((one) => one.getBoundingClientRect());
            const out = part.left < whole.left - 1 || part.right > whole.right + 1;
            if (each.matches("text") && out) tell(each, "cut off");
        } else if (each.clientWidth && each.scrollWidth > each.clientWidth + 1) {
            tell(each, "wider than its place");
        } else if (getComputedStyle(each).overflowY === "hidden" && each.scrollHeight > each.clientHeight + 1) {
            tell(each, "higher than its place");
        }
    }
    return found;
}"""
"""What cannot be read on the page, because its place is too small."""

TOO_SMALL = """() => [...document.querySelectorAll("button, .button, select, header nav a")]
    .filter((each) => each.offsetParent && each.getBoundingClientRect().height < 36)
    .map((each) => `too small for a finger: ${each.outerHTML}`)"""


class EveryPageTests(ShopCase):
    """One service and one browser for all of it: starting them is what takes the time."""

    width, height = DESK

    def violations(self, rules: str = "") -> list[Any]:
        """What axe-core finds on the page."""
        found = self.page.evaluate(f"axe.run({rules}).then(told => told.violations)")
        return [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found]

    def resize(self, size: tuple[int, int]) -> None:
        """Look at the page on another screen."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})

    def faults_of(self, path: str, language: str, axe: str) -> Iterator[Any]:
        """What is wrong with a page, on both screens and in both schemes."""
        self.page.emulate_media(color_scheme="light")
        self.resize(PHONE)
        self.go(f"{path}{'&' if '?' in path else '?'}lang={language}")
        if self.page.query_selector("header"):
            top = self.page.evaluate("document.querySelector('main').getBoundingClientRect().top")
            yield from [f"the content begins at {top}"] if top > MOST_OF_PHONE else []
        self.resize(DESK)
        # Everything unfolded; the lists of the header lie over the page.
        self.page.evaluate(
            "document.querySelectorAll('details:not(header *)').forEach(each => { each.open = true; })"
        )
        yield from self.page.evaluate(UNREADABLE)
        # By the debugger's way, which the page's own policy does not stand before.
        self.page.evaluate(axe)
        yield from self.violations()
        self.page.emulate_media(color_scheme="dark")
        yield from self.violations("{runOnly: ['color-contrast']}")
        self.resize(PHONE)
        yield from self.page.evaluate(UNREADABLE)
        yield from self.page.evaluate(TOO_SMALL)

    def test_every_page(self) -> None:
        """axe-core finds nothing, and no text is cut off: in both languages and schemes, on a desk and a phone."""
        if not AXE.exists():
            raise SkipTest(NO_AXE)
        axe = AXE.read_text("utf-8")
        found = {
            (path, language): faults
            for path in self.paths()
            for language in ("uk", "en")
            if (faults := list(self.faults_of(path, language, axe)))
        }
        self.assertEqual(found, {}, "\n".join(f"{page}: {each}" for page, those in found.items() for each in those))

    def test_menu(self) -> None:
        """On a phone the sections and what needs a person open from the header, also without scripts and mouse."""
        size = {"width": PHONE[0], "height": PHONE[1]}
        context = browser().new_context(locale=self.language, viewport=size, java_script_enabled=False)
        self.addCleanup(context.close)
        page = context.new_page()
        page.goto(f"http://localhost:{self.service.port}/dm/main/")
        page.click(".needs summary")
        box = page.locator(".needs-list ul").bounding_box()
        self.assertTrue(box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0], box)
        page.click(".needs summary")
        self.assertFalse(page.is_visible("header nav"))
        page.focus("header .menu summary")
        page.keyboard.press("Enter")
        page.click("header nav a[href='/dm/main/receipts']")
        page.wait_for_selector("h1:text('Чеки')")

    def test_copy(self) -> None:
        """A button copies a fiscal number and says so."""
        dev_id = self.devices()["test"]["dev_id"]
        self.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.go(f"/dm/main/receipts/{dev_id}/2?lang=en")
        self.says("button[data-copy^='TEST_']", "Copied")
        self.assertEqual(
            self.page.evaluate("navigator.clipboard.readText()"), self.page.get_attribute("[data-copy]", "data-copy")
        )


class FirstPageTests(BrowserCase):
    """The first page of a service that was just installed, for a browser that was never here."""

    width, height = DESK

    def test_light(self) -> None:
        """It is at most 60 KB with everything, and soon to be used."""
        wire = self.page.context.new_cdp_session(self.page)
        wire.send("Network.enable")
        received: list[float] = []
        wire.on("Network.loadingFinished", lambda told: received.append(told["encodedDataLength"]))
        self.go("/dm/main/")
        self.page.wait_for_load_state("load")
        self.see("#line:not(:empty)")
        kilobytes, answers = sum(received) / 1024, len(received)
        self.assertGreater(answers, 5)
        self.assertLessEqual(sum(received), FIRST_PAGE)
        took = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
        # The calmest of three: what else the machine does is not the page's.
        for _ in range(3):
            usable = self.page.evaluate(took) / 1000
            if usable < SLOW:
                break
            self.restart()
            self.go("/dm/main/")
        print(f"first page: {kilobytes:.1f} KB in {answers} answers, usable after {usable:.2f} s")
        self.assertLess(usable, SLOW)
