"""A shop with all kinds of devices, long names and large sums, and the pages that it has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.browser.case import REAL, BrowserCase
from tests.web_case import fiscal, sale

LONG = "Каса біля виходу в торговому залі номер дванадцять, ряд три"
"""The name of a register; that of the printer begins otherwise."""

GOODS = (
    "Кавомашина автоматична зерноваНадзвичайноДовгаНазваБезЖодногоПробілу, чорна, з капучинатором та підігрівом чашок"
)
CASHIER = "Кривошапка-Тринадцятькорольова Олександра Всеволодівна-Святославівна"
TAG = "zamovlennya-v-internet-mahazyni-" + "0123456789abcdef" * 10
LARGE = 999999999.99

VARIANTS = (
    "/dm/main/receipts?from=2026-01-01&sum=x",
    "/dm/main/receipts?sum=777",
    "/dm/main/day?period=month",
    "/dm/main/codes?q=zzzz",
    "/dm/devices/new?kind=terminal",
    "/dm/devices/new?kind=terminal&bank=sense",
    "/dm/devices/new?kind=terminal&driver=nexo",
    "/dm/devices/new?kind=printer",
    "/dm/devices/new?kind=printer&driver=escpos",
    "/dm/devices/new?kind=register&driver=training",
    "/dm/main/nope",
    "/nope",
    "/login",
)
"""Pages that a query makes, and those that are no route."""


class ShopCase(BrowserCase):
    """A shop that has sold, open to its network, and all of its pages."""

    host = "0.0.0.0"
    long = True
    """Whether to show devices with long names, where there is the choice."""

    def setUp(self) -> None:
        """Sales are made, the last one is in doubt."""
        super().setUp()
        ask, tell = self.service.request, self.service.execute
        self.open_shift(self.service)
        tell(sale("sale-1"))
        settings = {"shopname": LONG, "name": f"ТОВ «{LONG}»"}
        ask(
            "POST",
            "/dm/api/v3/devices",
            {"device": LONG, "kind": "register", "driver": "training", "settings": settings},
        )
        printer = {"device": f"Принтер: {LONG}", "kind": "printer", "driver": "training"}
        ask("POST", "/dm/api/v3/devices", printer)
        row = {"code": "1" * 20, "name": GOODS, "cnt": 1, "price": LARGE, "taxgrp": 1}
        large = sale(TAG, sum=LARGE, rows=[row], pays=[{"type": 0, "sum": LARGE}])
        bodies: list[dict[str, Any]] = [fiscal(0, "open"), large]
        for body in bodies:
            body["device"] = LONG
            body["fiscal"]["cashier"] = CASHIER
            self.assertEqual(tell(body)["res"], 0)
        rules = [{"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0}]
        ask("PUT", f"{self.service.device()}/scenario", {"rules": rules})
        tell(sale("sale-2"))
        ask("POST", "/dm/api/v3/tls/authority", {"names": ["desk.shop.local"]})
        ask("POST", "/dm/api/v3/api-keys", {"name": "Бухгалтерія"})
        ask("POST", "/dm/main/api/v1/prro", {**REAL, "fisid": "4000000001"})

    def paths(self) -> list[str]:
        """The pages: every route for people, on each device that has it, and variants of some."""
        document = json.loads(self.service.request("GET", "/dm/api/v3/openapi.json")[1])
        found = []
        for route, ways in document["paths"].items():
            if "pages" in ways.get("get", {}).get("tags", ()):
                found += [path for path in self._filled(route) if self._is_page(path)]
        return [*found, *VARIANTS]

    def _filled(self, route: str) -> Iterator[str]:
        for dev_id in self._shown() if "{dev_id}" in route else [""]:
            path = route.replace("{dev_id}", dev_id).replace("{number}", "2")
            # Another part is the name of a file.
            if "{" not in path:
                yield path

    def _shown(self) -> list[str]:
        """One device of each driver: those with long names came last."""
        found = self.devices().values()
        wanted = found if self.long else [*found][::-1]
        return list({(device["kind"], device["driver"]): device["dev_id"] for device in wanted}.values())

    def _is_page(self, path: str) -> bool:
        status, body = self.service.request("GET", path)
        return status == 200 and re.match(rb"<!doctype html", body, re.IGNORECASE) is not None
