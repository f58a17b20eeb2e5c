"""Receipts in a browser: found by whatever is known, summed, saved, sent, and their history."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import Any

from tests.browser.case import BrowserCase
from tests.web_case import sale

PHONE = {"width": 390, "height": 844}
ROWS = "#live-found tbody tr"


class ReceiptTests(BrowserCase):
    """A day of a shop."""

    def setUp(self) -> None:
        """Three sales; the answer to the second one was lost and found by the next task."""
        super().setUp()
        self.open_shift(self.service)
        self.service.execute(sale("sale-1"))
        self.rules({"on": "sale", "then": "lost_after"}, {"on": "probe", "then": "unreachable", "times": 0})
        tea = {"code": "tea-7", "name": "Чай зелений", "cnt": 1, "price": 40, "taxgrp": 1}
        card = {"type": 1, "sum": 40, "rrn": "612345678901", "cardmask": "444433******1234"}
        self.tea = sale("sale-2", sum=40, rows=[tea], pays=[card])
        self.service.execute(self.tea)
        self.rules()
        self.service.execute(sale("sale-3"))

    def rules(self, *rules: dict[str, Any]) -> None:
        """What goes wrong next."""
        self.service.request("PUT", f"{self.service.device()}/scenario", {"rules": list(rules)})

    def find(self, text: str) -> list[str]:
        """The titles of the documents that the search box finds."""
        self.fill("#q", text)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
        return [each.inner_text() for each in self.page.query_selector_all(f"{ROWS} th a")]

    def test_search(self) -> None:
        """The box finds by each thing and keeps what was typed; the file has what is listed; a phone cuts nothing."""
        self.go("/dm/main/receipts")
        self.see("#q")
        for text in ("40,00", "sale-2", "зелений", "tea-7", "1234", "612345678901", "3"):
            self.assertEqual(self.find(text), ["Продаж № 3"], text)
            self.assertEqual(self.page.input_value("#q"), text)
        self.assertEqual(self.find("олена"), [f"Продаж № {n}" for n in (4, 3, 2)] + ["Відкриття зміни № 1"])
        self.assertIn("291,00 грн", self.text("[data-test='1']"))
        with self.page.expect_download() as coming:
            self.click("a[download]")
        text = Path(coming.value.path()).read_text("utf-8-sig")
        rows = list(csv.DictReader(StringIO(text), delimiter=";"))
        self.assertEqual([row["Номер чека"] for row in rows], ["4", "3", "2", "1"])
        self.click("summary:has-text('Фільтри')")
        self.page.select_option("#f-pay", "1")
        self.click(".find details button")
        self.page.wait_for_url("**pay=1*")
        self.assertEqual(len(self.page.query_selector_all(ROWS)), 1)
        self.click(".presets a:has-text('Учора')")
        self.see("#live-found .empty")
        self.click(".presets a:has-text('Сьогодні')")
        self.see(f"{ROWS}:has-text('Продаж № 3')")
        self.page.set_viewport_size(PHONE)
        self.go("/dm/main/receipts")
        self.see(ROWS)
        cut = self.page.evaluate(
            """[...document.querySelectorAll('#live-found td.number')].filter(each => {
                const box = each.getBoundingClientRect();
                return box.width === 0 || box.right > innerWidth || each.scrollWidth > each.clientWidth;
            }).map(each => each.textContent)"""
        )
        self.assertEqual(cut, [])
        self.assertLessEqual(self.page.evaluate("document.documentElement.scrollWidth"), PHONE["width"])

    def test_history(self) -> None:
        """The history tells the lost answer, that it was found, and the till's repeat; the link can be copied."""
        self.go(f"/dm/main/receipts/{self.devices()['test']['dev_id']}/3")
        self.see("#live-way li.bad:has-text('Відповідь податкової не надійшла')")
        self.see("#live-way li:has-text('документ там є')")
        self.assertEqual(self.service.execute(self.tea)["task_status"], 2)
        self.see("#live-way li:has-text('повторила запит і отримала ту саму відповідь')")
        self.picture("history")
        self.says("#copy-link", "Скопійовано")
        self.assertIn("id=TEST_", self.page.get_attribute("#copy-link", "data-copy"))
        self.click("#print")
        self.see("#outcome:has-text('Надруковано')")
        self.assertIn("Пошту в сервісі не налаштовано", self.text())
        members = {"smtp_host": "127.0.0.1", "smtp_port": 9, "mail_from": "shop@example.com"}
        self.service.request("POST", "/dm/main/api/v1/settings", members)
        self.page.reload()
        self.fill("#to", "customer@example.com")
        self.page.keyboard.press("Enter")
        self.see("#outcome h2:has-text('Прийнято до надсилання: c***@example.com')")
