"""Every page in both schemes as axe-core sees it, and on the screen of a phone.

axe-core is no part of the project: its file is looked for where ``AXE_CORE`` says, else in the cache of the user,
where ``npm pack axe-core`` was unpacked. Without it these tests are skipped and say so.
"""

from __future__ import annotations

import os
from pathlib import Path
from unittest import SkipTest

from tests.browser.case import BrowserCase
from tests.web_case import sale

NO_AXE = "axe-core is not here (npm pack axe-core, or AXE_CORE)"
AXE = Path(os.environ.get("AXE_CORE") or Path.home() / ".cache" / "axe-core" / "package" / "axe.min.js")


class _EveryPage(BrowserCase):
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
        made = {"device": "real", "prro_type": 1, "fisid": "4000000001"}
        self.service.request("POST", "/dm/main/api/v1/prro", made)

    def paths(self) -> list[str]:
        """The pages."""
        ids = {name: device["dev_id"] for name, device in self.devices().items()}
        return [
            "/dm/main/",
            "/dm/main/first",
            f"/dm/main/registers/{ids['test']}",
            "/dm/main/receipts",
            "/dm/main/receipts?from=2026-01-01&sum=x",
            f"/dm/main/receipts/{ids['test']}/2",
            "/dm/main/console",
            "/dm/main/codes",
            "/dm/main/settings",
            "/dm/api",
            "/dm/main/settings/certificate",
            "/dm/main/settings/database",
            "/dm/main/settings/log",
            "/dm/main/nope",
            "/dm/",
            "/dm/devices/new",
            "/dm/devices/new?kind=printer",
            "/dm/devices/new?kind=printer&driver=escpos",
            "/dm/devices/new?kind=register&driver=training",
            *(f"/dm/devices/{dev_id}" for dev_id in ids.values()),
        ]


class _Axe(_EveryPage):
    def check_all(self) -> None:
        """Look at every page, everything unfolded, questions asked."""
        if not AXE.exists():
            raise SkipTest(NO_AXE)
        source = AXE.read_text("utf-8")
        for path in self.paths():
            self.go(path)
            if path == "/dm/api":
                self.see("#interface section")
            self.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
            # By the debugger's way, which the page's own policy does not stand before.
            self.page.evaluate(source)
            found = self.page.evaluate("axe.run().then(told => told.violations)")
            broken = [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in found]
            self.assertEqual(broken, [], path)


class LightTests(_Axe):
    """By day."""

    def test_axe(self) -> None:
        """axe-core finds nothing to complain of in light colours."""
        self.check_all()


class DarkTests(_Axe):
    """By night."""

    scheme = "dark"
    language = "en-US"

    def test_axe(self) -> None:
        """axe-core finds nothing to complain of in dark colours, in English."""
        self.check_all()
        self.go("/dm/main/")
        self.see(".exposed")
        self.picture("overview-dark")


class PhoneTests(_EveryPage):
    """On a small screen."""

    width, height = 360, 740

    def test_narrow(self) -> None:
        """No page is wider than the screen of a phone, and whatever is to be pressed is large enough for a finger."""
        for path in self.paths():
            self.go(path)
            self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), self.width, path)
            small = self.page.evaluate(
                """[...document.querySelectorAll('button, .button, select, header nav a')]
                    .filter(each => each.offsetParent && each.getBoundingClientRect().height < 36)
                    .map(each => each.outerHTML)"""
            )
            self.assertEqual(small, [], path)
        self.go("/dm/main/")
        self.picture("phone")
