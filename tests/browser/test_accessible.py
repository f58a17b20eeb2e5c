"""Every page in both schemes as axe-core sees it, and on the screen of a phone.

axe-core is no part of the project: its file is looked for where ``AXE_CORE`` says, else in the cache of the user,
where ``npm pack axe-core`` was unpacked. Without it these tests are skipped and say so.
"""

from __future__ import annotations

import os
from pathlib import Path
from unittest import SkipTest

from tests.browser.case import REAL, BrowserCase
from tests.web_case import sale

NO_AXE = "axe-core is not here (npm pack axe-core, or AXE_CORE)"
AXE = Path(os.environ.get("AXE_CORE") or Path.home() / ".cache" / "axe-core" / "package" / "axe.min.js")


class ShopCase(BrowserCase):
    """A shop that has sold, open to its network, and all of its pages."""

    host = "0.0.0.0"

    def setUp(self) -> None:
        """A sale is made, and another one is in doubt."""
        super().setUp()
        self.open_shift(self.service)
        self.service.execute(sale("sale-1"))
        rules = [{"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0}]
        self.service.request("PUT", f"{self.service.device()}/scenario", {"rules": rules})
        self.service.execute(sale("sale-2"))
        self.service.request("POST", "/dm/api/v3/tls/authority", {"names": ["desk.shop.local"]})
        self.service.request("POST", "/dm/api/v3/api-keys", {"name": "Бухгалтерія"})
        made = {**REAL, "fisid": "4000000001"}
        self.service.request("POST", "/dm/main/api/v1/prro", made)

    def paths(self) -> list[str]:
        """The pages."""
        ids = {name: device["dev_id"] for name, device in self.devices().items()}
        return [
            "/dm/main/",
            "/dm/main/first",
            f"/dm/main/registers/{ids['test']}",
            "/dm/main/sell",
            f"/dm/main/registers/{ids['test']}/sell",
            "/dm/main/goods",
            "/dm/main/receipts",
            "/dm/main/receipts?from=2026-01-01&sum=x",
            f"/dm/main/receipts/{ids['test']}/2",
            "/dm/main/console",
            "/dm/main/codes",
            "/dm/main/settings",
            "/dm/api",
            "/dm/main/settings/certificate",
            "/dm/main/settings/database",
            "/dm/main/settings/doctor",
            "/dm/main/settings/mail",
            "/dm/main/settings/log",
            "/dm/main/settings/changes",
            "/dm/main/nope",
            "/login",
            "/dm/",
            "/dm/devices/new",
            "/dm/devices/new?kind=printer",
            "/dm/devices/new?kind=printer&driver=escpos",
            "/dm/devices/new?kind=register&driver=training",
            *(f"/dm/devices/{dev_id}" for dev_id in ids.values()),
        ]


class EveryPageTests(ShopCase):
    """One service and one browser for all of it: starting them is what takes the time."""

    def violations(self, path: str) -> None:
        """See that axe-core finds nothing on the page, everything unfolded."""
        self.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        # By the debugger's way, which the page's own policy does not stand before.
        self.page.evaluate(self.axe)
        found = self.page.evaluate("axe.run().then(told => told.violations)")
        broken = [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found]
        self.assertEqual(broken, [], path)

    def narrow(self, path: str) -> None:
        """See that the page fits a phone, and that whatever is to be pressed is large enough for a finger."""
        self.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
        self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), PHONE[0], path)
        small = self.page.evaluate(
            """[...document.querySelectorAll('button, .button, select, header nav a')]
                .filter(each => each.offsetParent && each.getBoundingClientRect().height < 36)
                .map(each => each.outerHTML)"""
        )
        self.assertEqual(small, [], path)
        self.page.set_viewport_size({"width": self.width, "height": self.height})

    def test_every_page(self) -> None:
        """axe-core finds nothing on any page, by day in Ukrainian and by night in English, and each fits a phone."""
        if not AXE.exists():
            raise SkipTest(NO_AXE)
        self.axe = AXE.read_text("utf-8")
        for path in self.paths():
            self.page.emulate_media(color_scheme="light")
            self.go(path)
            self.violations(path)
            self.narrow(path)
            self.page.emulate_media(color_scheme="dark")
            self.go(f"{path}{'&' if '?' in path else '?'}lang=en")
            self.violations(path)
        self.go("/dm/main/?lang=en")
        self.see(".exposed")
        self.picture("overview-dark")


PHONE = (360, 740)
"""The screen of a small phone."""
