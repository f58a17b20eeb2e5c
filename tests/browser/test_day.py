"""What an owner sees of the day: the pictures with their tables, and the feed of what happens now."""

from __future__ import annotations

from pathlib import Path

from tests.browser.case import BrowserCase
from tests.web_case import fiscal, sale


class DayTests(BrowserCase):
    """The day in pictures."""

    def test_day(self) -> None:
        """Sales are drawn and can be taken as CSV; what is unfolded stays so when a sale comes in."""
        self.open_shift(self.service)
        self.service.execute(sale("sale-1"))
        self.go("/dm/main/day")
        self.see("#p-sales svg[role=img]")
        self.see("#live-day .totals strong:has-text('125,50')")
        self.click("#t-sales summary")
        self.service.execute(sale("sale-2"))
        self.see("#live-day .totals strong:has-text('251,00')")
        self.see("#t-sales[open] table")
        self.assertIn("251,00", self.text("#t-sales"))
        with self.page.expect_download() as coming:
            self.click("#p-payments a.csv")
        text = Path(coming.value.path()).read_bytes().decode("utf-8-sig")
        self.assertEqual(text.splitlines()[1], "Готівка;251,00;0,00")
        self.picture("day")
        for period in ("week", "month"):
            self.click(f".areas a[href*='period={period}']")
            self.see(f".areas a[href*='period={period}'][aria-current]")
            self.see("#live-day .totals strong:has-text('251,00')")
        self.click("a:has-text('Раніше')")
        self.see("#live-day .totals strong:has-text('0,00')")
        self.click("a:has-text('Пізніше')")
        self.see("#live-day .totals strong:has-text('251,00')")


class FeedTests(BrowserCase):
    """The feed."""

    def sell(self, tag: str) -> None:
        """A sale at the register."""
        self.service.execute(sale(tag))

    def first(self) -> str:
        """The newest line."""
        return self.text("#feed li:first-child")

    def test_feed(self) -> None:
        """What is sold or refused comes by itself; filters, pause and scrolling hold; a break is said."""
        self.open_shift(self.service)
        self.sell("sale-1")
        # The page has caught up with what was before it.
        with self.page.expect_response(lambda it: it.request.resource_type == "fetch" and "/dm/main/feed" in it.url):
            self.go("/dm/main/feed")
        self.see("#feed li:has-text('Продаж № 2: 125,50 грн')")
        self.see("#line:has-text('оновлюються')")
        self.sell("sale-2")
        self.see("#feed li.good:first-child:has-text('Продаж № 3: 125,50 грн')")
        self.assertEqual(len(self.page.query_selector_all("#feed li:has-text('№ 3')")), 1)
        self.service.execute(fiscal(0))
        self.see("#feed li.bad:first-child:has-text('Відмова 1096')")
        # Paused, the line stays in view and the others wait.
        self.click("#pause")
        self.sell("sale-3")
        self.see("#waiting:has-text('1')")
        self.assertIn("1096", self.first())
        self.picture("feed")
        self.click("#waiting")
        self.see("#feed li:first-child:has-text('№ 4')")
        # So it is while the reader looks at older lines.
        for n in range(30):
            self.sell(f"more-{n}")
        self.see("#feed li:first-child:has-text('№ 34')")
        self.page.evaluate("document.querySelector('#feed').scrollTop = 200")
        self.sell("later")
        self.see("#waiting:has-text('1')")
        self.assertIn("№ 34", self.first())
        self.page.evaluate("document.querySelector('#feed').scrollTop = 0")
        self.see("#feed li:first-child:has-text('№ 35')")
        # One device alone.
        self.page.select_option("#f-device", "pos")
        self.page.wait_for_selector("#feed li:has-text('№')", state="detached")
        self.sell("unseen")
        self.service.execute({"device": "pos", "type": 3, "pay": {"task": 1, "sum": 10}})
        self.see("#feed li:has-text('Картка, оплата: 10,00 грн')")
        self.assertNotIn("№", self.text("#feed"))
        self.assertIn("device=pos", self.page.url)
        self.page.select_option("#f-device", "")
        self.see("#feed li:has-text('№ 36')")
        self.restart()
        self.see("#feed-told:has-text('пропущено')")
        self.see("#feed li:has-text('№ 36')")
        self.sell("after")
        self.see("#feed li:has-text('№ 37')")
